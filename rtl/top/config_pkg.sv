// Variants of the card: what a build of it has. The preprocessor's WIREKV_CONFIG names one of them, or is another
// value of config_t; a tool's -D or +define sets it. Without it the card is `Default`.
package config_pkg;

  typedef struct packed {
    /// Connections that can be open at once: a power of two, 16 to 16,384.
    logic [31:0] conns;
    /// The fast path reads these protocols beside memcached's classic text. If it does not, the slow path reads them,
    /// with the same replies.
    logic        fast_meta;
    logic        fast_binary;
    logic        fast_redis;
    /// Datagrams are served. Else they go to the host port, as frames for a closed port do.
    logic        udp;
    /// The card has IPv6 addresses. Else such frames go to the host port.
    logic        ipv6;
    /// The card can stand before another server, see UPSTREAM in docs/HOST_INTERFACE.md.
    logic        upstream;
    /// What a marked connection's requests pass can be read clock by clock, see TRACE in docs/HOST_INTERFACE.md.
    logic        trace;
    /// Sets of each of the two caches of index lines: a power of two, at least 128.
    logic [31:0] index_sets;
    /// Sets of each bank of the cache of log lines: a power of two, at least 256.
    logic [31:0] log_sets;
    /// Lines of each of the two caches of ring lines: a power of two, at least 1,024.
    logic [31:0] ring_lines;
  } config_t;

  localparam config_t Default = '{
      conns: 1024,
      fast_meta: 1'b1,
      fast_binary: 1'b1,
      fast_redis: 1'b1,
      udp: 1'b1,
      ipv6: 1'b1,
      upstream: 1'b1,
      trace: 1'b0,
      index_sets: 512,
      log_sets: 1024,
      ring_lines: 4096
  };

  /// Classic text and Redis' protocol over IPv4's TCP.
  localparam config_t Small = '{
      conns: 64,
      fast_meta: 1'b0,
      fast_binary: 1'b0,
      fast_redis: 1'b1,
      udp: 1'b0,
      ipv6: 1'b0,
      upstream: 1'b0,
      trace: 1'b0,
      index_sets: 128,
      log_sets: 256,
      ring_lines: 1024
  };

  /// As many connections as there can be.
  localparam config_t Full = '{
      conns: 16384,
      fast_meta: 1'b1,
      fast_binary: 1'b1,
      fast_redis: 1'b1,
      udp: 1'b1,
      ipv6: 1'b1,
      upstream: 1'b1,
      trace: 1'b0,
      index_sets: 512,
      log_sets: 1024,
      ring_lines: 4096
  };

  /// For people to see a request on its way.
  localparam config_t Traced = '{
      conns: 1024,
      fast_meta: 1'b1,
      fast_binary: 1'b1,
      fast_redis: 1'b1,
      udp: 1'b1,
      ipv6: 1'b1,
      upstream: 1'b1,
      trace: 1'b1,
      index_sets: 512,
      log_sets: 1024,
      ring_lines: 4096
  };

`ifdef WIREKV_CONFIG
  localparam config_t Config = `WIREKV_CONFIG;
`else
  localparam config_t Config = Default;
`endif

endpackage
