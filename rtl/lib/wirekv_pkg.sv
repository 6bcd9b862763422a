// Types that every part of the card shares.
package wirekv_pkg;

  /// A memory line and a bus beat: 64 bytes, lane 0 = bits 7:0 = the first byte on the wire.
  typedef logic [511:0] line_t;
  typedef logic [63:0] strb_t;
  /// Line address: byte address / 64.
  typedef logic [33:0] laddr_t;
  /// Connection id; the low $clog2(Conns) bits are used.
  typedef logic [13:0] conn_t;

  /// A beat of a byte stream: every beat but the last carries 64 bytes; an empty packet is one
  /// beat of length 0 with `last`.
  typedef struct packed {
    line_t      data;
    logic [6:0] len;
    logic       last;
  } beat_t;

  /// A beat of AXI4-Stream.
  typedef struct packed {
    line_t data;
    strb_t keep;
    logic  last;
  } axis_t;

  /// A write of the lanes in `strb` of one line.
  typedef struct packed {
    laddr_t addr;
    line_t  data;
    strb_t  strb;
  } line_write_t;

  /// The lanes from the first to the last one of a line.
  typedef struct packed {
    logic [5:0] first;
    logic [5:0] last;
  } lanes_t;

  /// UNIX time in milliseconds.
  typedef logic [47:0] msec_t;

  /// The card's clock, which never goes back: now, and when the present second began.
  typedef struct packed {
    msec_t ms;
    msec_t second;
  } now_t;

  /// Each connection has a receive and a transmit ring of this many bytes. A byte's place in its
  /// ring is its TCP sequence number modulo the ring's size.
  localparam int unsigned RingBytes = 65536;
  localparam int unsigned RingLines = RingBytes / 64;

endpackage
