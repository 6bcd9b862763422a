// Made by spec/gen.py from spec/card.rdl: `make spec`.
// Addresses are those of bytes; csr.sv counts words.
package csr_pkg;

  /// On every WireKV card "WKV1".
  localparam logic [9:0] CsrId = 10'('h000 / 4);
  localparam logic [31:0] CsrIdValue = 32'h574B5631;
  /// Connections that this build of the card has room for.
  localparam logic [9:0] CsrConns = 10'('h004 / 4);
  /// What goes on.
  localparam logic [9:0] CsrStatus = 10'('h008 / 4);
  /// Open connections.
  localparam logic [9:0] CsrOpenConns = 10'('h00C / 4);
  /// UNIX time. A write tells the card the time, with `MILLISECONDS`.
  localparam logic [9:0] CsrUnixSeconds = 10'('h014 / 4);
  /// The answer to the last question about a connection.
  localparam logic [9:0] CsrAbout = 10'('h0C0 / 4);
  /// So much time, at least 1 ms, has passed without ticks, see sleep.
  localparam logic [9:0] CsrSlept = 10'('h0C8 / 4);
  /// What this build of the card has, see `config_pkg`.
  localparam logic [9:0] CsrVariant = 10'('h0CC / 4);
  /// A write of 1 makes the memory of the index zero, of `INDEX_BASE` and `INDEX_BITS`. Only before
  /// the first `ENABLE`, which waits for it; later a write does nothing.
  localparam logic [9:0] CsrIndexZero = 10'('h0D0 / 4);
  /// When that was, from `TRACE.on` on.
  localparam logic [9:0] CsrTraceClock = 10'('h0E0 / 4);
  /// What happened in that clock. 0: there is no such record.
  localparam logic [9:0] CsrTracePoints = 10'('h0E4 / 4);

  /// What goes on.
  typedef struct packed {
    logic [26:0] zero_5;
    logic refused;
    logic zeroing;
    logic due;
    logic timers;
    logic idle;
  } csr_status_t;

  /// How the card treats Redis' clients, see passwords and pauses.
  typedef struct packed {
    logic pause;
    logic guard;
  } csr_redis_clients_t;

  /// The answer to the last question about a connection.
  typedef struct packed {
    logic toggle;
    logic [12:0] zero_18;
    logic left;
    logic there;
    logic [1:0] zero_14;
    logic [13:0] conn;
  } csr_about_t;

  /// What this build of the card has, see `config_pkg`.
  typedef struct packed {
    logic [24:0] zero_7;
    logic trace;
    logic upstream;
    logic ipv6;
    logic udp;
    logic fast_redis;
    logic fast_binary;
    logic fast_meta;
  } csr_variant_t;

  /// Marks a connection, see trace.
  typedef struct packed {
    logic on;
    logic [15:0] port;
  } csr_trace_t;

  /// What happened in that clock. 0: there is no such record.
  typedef struct packed {
    logic [18:0] zero_13;
    logic framed;
    logic sent;
    logic send;
    logic reply;
    logic value;
    logic result;
    logic execute;
    logic hash;
    logic log;
    logic request;
    logic arrived;
    logic segment;
    logic frame;
  } csr_trace_points_t;

  /// Words below the counters: settings stand there.
  localparam int unsigned CsrWords = 128;

  /// Whether a word is a setting.
  function automatic logic csr_is_setting(input int unsigned word);
    return word inside {
      ['h010 / 4 : 'h06C / 4],
      ['h080 / 4 : 'h0BC / 4],
      ['h0C4 / 4 : 'h0C8 / 4],
      ['h0D0 / 4 : 'h0DC / 4],
      ['h100 / 4 : 'h17C / 4]
    };
  endfunction

  /// All settings that hardware reads.
  typedef struct packed {
    logic enable;
    logic [31:0] unix_seconds;
    logic [31:0] mac_low;
    logic [15:0] mac_high;
    logic [31:0] ip;
    logic [15:0] tcp_port;
    logic [15:0] udp_port;
    logic [15:0] mtu;
    logic [31:0] index_base;
    logic [31:0] log_base;
    logic [31:0] rx_ring_base;
    logic [31:0] tx_ring_base;
    logic [4:0] index_bits;
    logic [25:0] log_lines;
    logic [20:0] item_max;
    logic [14:0] max_conns;
    logic [9:0] milliseconds;
    logic [15:0] time_wait_ms;
    logic [15:0] keep_alive_seconds;
    logic [15:0] idle_seconds;
    logic [3:0][31:0] tcp_secret;
    logic [3:0][31:0] hash_mix;
    logic [3:0][31:0] ip6_fixed;
    logic [3:0][31:0] ip6_auto;
    logic [15:0] redis_port;
    logic [23:0] hold_max;
    logic one_way;
    csr_redis_clients_t redis_clients;
    logic [11:0] vlan;
    logic upstream;
    csr_trace_t trace;
    logic [5:0] trace_record;
    logic [31:0][31:0] hash_nh;
  } csr_settings_t;

  /// Them, where they stand.
  function automatic csr_settings_t csr_settings(input logic [31:0] words[CsrWords]);
    csr_settings.enable = words['h010 / 4][0];
    csr_settings.unix_seconds = words['h014 / 4];
    csr_settings.mac_low = words['h018 / 4];
    csr_settings.mac_high = words['h01C / 4][15:0];
    csr_settings.ip = words['h020 / 4];
    csr_settings.tcp_port = words['h024 / 4][15:0];
    csr_settings.udp_port = words['h028 / 4][15:0];
    csr_settings.mtu = words['h02C / 4][15:0];
    csr_settings.index_base = words['h030 / 4];
    csr_settings.log_base = words['h034 / 4];
    csr_settings.rx_ring_base = words['h038 / 4];
    csr_settings.tx_ring_base = words['h03C / 4];
    csr_settings.index_bits = words['h040 / 4][4:0];
    csr_settings.log_lines = words['h044 / 4][25:0];
    csr_settings.item_max = words['h048 / 4][20:0];
    csr_settings.max_conns = words['h04C / 4][14:0];
    csr_settings.milliseconds = words['h050 / 4][9:0];
    csr_settings.time_wait_ms = words['h054 / 4][15:0];
    csr_settings.keep_alive_seconds = words['h058 / 4][15:0];
    csr_settings.idle_seconds = words['h05C / 4][15:0];
    for (int w = 0; w < 4; w++) csr_settings.tcp_secret[w] = words['h060/4+w];
    for (int w = 0; w < 4; w++) csr_settings.hash_mix[w] = words['h080/4+w];
    for (int w = 0; w < 4; w++) csr_settings.ip6_fixed[w] = words['h090/4+w];
    for (int w = 0; w < 4; w++) csr_settings.ip6_auto[w] = words['h0A0/4+w];
    csr_settings.redis_port = words['h0B0 / 4][15:0];
    csr_settings.hold_max = words['h0B4 / 4][23:0];
    csr_settings.one_way = words['h0B8 / 4][0];
    csr_settings.redis_clients.guard = words['h0BC / 4][0];
    csr_settings.redis_clients.pause = words['h0BC / 4][1];
    csr_settings.vlan = words['h0C4 / 4][11:0];
    csr_settings.upstream = words['h0D4 / 4][0];
    csr_settings.trace.port = words['h0D8 / 4][15:0];
    csr_settings.trace.on = words['h0D8 / 4][16];
    csr_settings.trace_record = words['h0DC / 4][5:0];
    for (int w = 0; w < 32; w++) csr_settings.hash_nh[w] = words['h100/4+w];
  endfunction

  /// Counters that there can be in each group.
  localparam int unsigned CsrNetRoom = 32;
  localparam int unsigned CsrTcpRoom = 32;
  localparam int unsigned CsrIngressRoom = 14;
  localparam int unsigned CsrEgressRoom = 14;
  localparam int unsigned CsrStoreRoom = 36;
  localparam int unsigned CsrNetMoreRoom = 8;
  localparam int unsigned CsrTcpMoreRoom = 8;

endpackage
