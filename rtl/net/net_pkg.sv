// What net/ exchanges with tcp/ and the UDP side of proto/.
package net_pkg;

  /// Addresses that the card answers to. `mtu` is the largest IP packet sent.
  typedef struct packed {
    logic [47:0] mac;
    logic [31:0] ip;
    logic [15:0] tcp_port;
    logic [15:0] udp_port;  // 0: UDP off
    logic [15:0] mtu;
  } net_cfg_t;

  /// The other end, as its frames name it.
  typedef struct packed {
    logic [47:0] mac;
    logic        vlan_valid;
    logic [15:0] vlan_tci;
    logic [31:0] ip;
    logic [15:0] port;
  } peer_t;

  /// TCP header flags, the order of RFC 9293's header.
  typedef struct packed {
    logic cwr;
    logic ece;
    logic urg;
    logic ack;
    logic psh;
    logic rst;
    logic syn;
    logic fin;
  } tcp_flags_t;

  /// A received segment whose checksums are right; travels beside every beat of its payload.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    tcp_flags_t  flags;
    logic [15:0] wnd;        // as in the header, unscaled
    logic [15:0] len;        // payload bytes
    logic        mss_valid;  // options of a SYN
    logic [15:0] mss;
    logic        ws_valid;
    logic [3:0]  ws;
  } seg_t;

  /// A segment to send; travels beside every beat of its payload.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    tcp_flags_t  flags;
    logic [15:0] wnd;
    logic [15:0] len;
    logic        mss_valid;  // send an MSS option (SYN only)
    logic [15:0] mss;
    logic        ws_valid;   // send a window-scale option (SYN only)
    logic [3:0]  ws;
  } txseg_t;

  /// A UDP datagram in either direction; `len` counts UDP payload bytes (1..mtu-28).
  typedef struct packed {
    peer_t       peer;
    logic [15:0] len;
  } dgram_t;

  /// Counters of net: one-clock pulses on `count_o`, bit = value.
  typedef enum logic [4:0] {
    NetCountRxFrames,     // frames from the wire
    NetCountRxTcp,        // segments given to tcp
    NetCountRxUdp,        // datagrams given to proto
    NetCountRxReply,      // ARP and echo requests taken for an answer
    NetCountRxHost,       // frames given to the host
    NetCountRxBadIp,      // dropped: IPv4 version, header length below 5 or header checksum
    NetCountRxBadTcp,     // dropped: TCP checksum
    NetCountRxBadUdp,     // dropped: UDP checksum
    NetCountRxBadIcmp,    // dropped: echo request with a wrong checksum
    NetCountRxBadLength,  // dropped: lengths that contradict each other or the frame
    NetCountRxFullTcp,    // dropped: no room, tcp was too slow
    NetCountRxFullUdp,    // dropped: no room, proto was too slow
    NetCountRxFullReply,  // dropped: no room, the wire was too slow for the answers
    NetCountRxFullHost,   // dropped: no room, the host was too slow
    NetCountRxDisabled,   // dropped: came before `enable`
    NetCountTxFrames,     // frames to the wire
    NetCountTxTcp,        // of these: segments
    NetCountTxUdp,        // of these: datagrams
    NetCountTxReply,      // of these: ARP and echo replies
    NetCountTxHost,       // of these: from the host
    NetCountTxHostLong    // dropped: frame from the host longer than 9,088 bytes
  } net_count_e;
  localparam int unsigned NetCounts = 21;

endpackage
