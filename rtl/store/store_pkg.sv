// The store's memory formats and settings.
package store_pkg;
  import wirekv_pkg::*;
  import proto_pkg::*;

  /// Settings written by the host before the card is enabled.
  typedef struct packed {
    laddr_t           index_base;   // 64-byte buckets
    logic [4:0]       index_bits;   // log2 of the number of buckets, 4..27
    laddr_t           log_base;
    logic [25:0]      log_lines;    // size of the log
    logic [31:0]      now;          // UNIX seconds
    logic [31:0][31:0] nh_key;      // hash: NH key words
    logic [1:0][63:0] mix_key;      // hash: odd multipliers of the finaliser
  } store_cfg_t;

  /// A way of a bucket. lap == 0 marks a free way: the log starts at lap 1, and laps skip 0.
  typedef struct packed {
    logic [13:0] tag;
    off_t        off;    // 36 bits
    logic [5:0]  lines;  // lines the item touches; 63: that many or more
  } way_t;

  /// A bucket: ways are byte-aligned so that one of them can be written alone by byte strobes.
  /// Byte 7w..7w+6 = way w, bytes 56..57 = use counts (2 bits a way), 58..63 = ghosts (unused).
  typedef struct packed {
    logic [47:0]     ghosts;
    logic [7:0][1:0] uses;
    way_t [7:0]      ways;
  } bucket_t;

  /// Item header, the first 16 bytes of an item; key, then value follow without a gap.
  typedef struct packed {
    logic [31:0] lap;      // low bits of the full lap the item was written in: a stale way never
                           // takes other bytes for its item
    logic [31:0] exptime;
    logic [31:0] flags;
    logic [23:0] vlen;
    logic [7:0]  klen;     // byte 0
  } head_t;

endpackage
