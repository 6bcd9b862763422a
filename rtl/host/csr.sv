// Control and status registers: an AXI4-Lite slave, one access at a time (3 clocks a write, 4 a
// read), and the event counters of every folder. In the 128 clocks after reset nothing is counted,
// written or read.
//
// The map is spec/card.rdl, for readers docs/HOST_INTERFACE.md, "Registers". A write to a read-only or unknown address
// does nothing; reading an unknown one gives 0. Responses are always OKAY.
module csr
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import reply_pkg::*;
  import store_pkg::*;
  import csr_pkg::*;
  import config_pkg::Config;
#(
  /// Connections of this build, for software to read.
  parameter int unsigned Conns = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// AXI4-Lite, AMBA AXI and ACE protocol specification, part B.
  input  logic [11:0]              s_axil_awaddr,
  input  logic                     s_axil_awvalid,
  output logic                     s_axil_awready,
  input  logic [31:0]              s_axil_wdata,
  input  logic [3:0]               s_axil_wstrb,
  input  logic                     s_axil_wvalid,
  output logic                     s_axil_wready,
  output logic [1:0]               s_axil_bresp,
  output logic                     s_axil_bvalid,
  input  logic                     s_axil_bready,
  input  logic [11:0]              s_axil_araddr,
  input  logic                     s_axil_arvalid,
  output logic                     s_axil_arready,
  output logic [31:0]              s_axil_rdata,
  output logic [1:0]               s_axil_rresp,
  output logic                     s_axil_rvalid,
  input  logic                     s_axil_rready,
  /// Settings.
  output logic                     enable_o,
  output net_cfg_t                 net_o,
  output store_cfg_t               store_o,
  output logic [127:0]             secret_o,
  output logic [14:0]              conn_limit_o,
  output logic [15:0]              time_wait_ms_o,
  output seconds_t                 keep_alive_s_o,
  output seconds_t                 idle_s_o,
  output logic [23:0]              hold_max_o,
  output logic                     guard_o,
  output logic                     pause_o,
  output logic                     upstream_o,
  output logic [20:0]              item_max_o,
  output csr_trace_t               trace_o,
  output logic [5:0]               trace_record_o,
  /// What the host says the time is; it has said so before this clock.
  output logic                     time_o,
  output logic [31:0]              seconds_o,
  output logic [9:0]               milliseconds_o,
  /// Milliseconds for which ticks were not delivered: for one clock, else 0.
  output logic [9:0]               slept_o,
  /// The index is to be made zero: for one clock.
  output logic                     zero_o,
  output laddr_t                   rx_base_o,
  output laddr_t                   tx_base_o,
  /// State.
  input  logic                     idle_i,
  input  logic                     timers_i,
  input  logic                     short_i,
  input  logic                     zeroing_i,
  input  logic                     refused_i,
  input  logic [14:0]              conns_i,
  /// Where a connection stands that host software has asked about.
  input  logic                     about_valid_i,
  input  about_t                   about_i,
  /// A record of `trace`, the one that was asked for.
  input  logic [31:0]              trace_clock_i,
  input  csr_trace_points_t        trace_points_i,
  /// One-clock pulses; bit i counts into register i of its group.
  input  logic [NetCounts-1:0]     net_count_i,
  input  logic [TcpCounts-1:0]     tcp_count_i,
  input  logic [IngressCounts-1:0] ingress_count_i,
  input  logic [EgressCounts-1:0]  egress_count_i,
  input  logic [StoreCounts-1:0]   store_count_i,
  /// An access is under way: the clock must run.
  output logic                     busy_o
);

  logic we, write, read, clearing, bus_busy;
  logic [9:0] waddr, raddr;
  logic [3:0] wstrb;
  logic [31:0] wdata, rdata;

  lib_axil u_axil (
    .clk_i,
    .rst_ni,
    .s_axil_awaddr,
    .s_axil_awvalid,
    .s_axil_awready,
    .s_axil_wdata,
    .s_axil_wstrb,
    .s_axil_wvalid,
    .s_axil_wready,
    .s_axil_bresp,
    .s_axil_bvalid,
    .s_axil_bready,
    .s_axil_araddr,
    .s_axil_arvalid,
    .s_axil_arready,
    .s_axil_rdata,
    .s_axil_rresp,
    .s_axil_rvalid,
    .s_axil_rready,
    .hold_i (clearing),
    .we_o   (we),
    .write_o(write),
    .waddr_o(waddr),
    .wdata_o(wdata),
    .wstrb_o(wstrb),
    .re_o   (read),
    .raddr_o(raddr),
    .rdata_i(rdata),
    .busy_o (bus_busy)
  );
  assign busy_o = bus_busy || time_o || zero_o || slept_o != '0 || clearing;

  // ---------------------------------------------------------------- settings
  // A word a register; those that mean nothing stay 0. A RAM holds the same: what is read back, and the
  // bytes that a write leaves as they are, come from there without a multiplexer of all registers. While the
  // counters become zero, so do its words: as many.
  logic [31:0] reg_q[CsrWords];

  logic is_setting_q;
  logic [6:0] clear_q;
  logic [31:0] setting, written;

  always_comb begin
    for (int b = 0; b < 4; b++) written[8*b+:8] = wstrb[b] ? wdata[8*b+:8] : setting[8*b+:8];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      is_setting_q <= 1'b0;
      time_o       <= 1'b0;
      slept_o      <= '0;
      zero_o       <= 1'b0;
      clear_q      <= '0;
      reg_q        <= '{default: '0};
    end else begin
      is_setting_q <= we && csr_is_setting(int'(waddr));
      time_o       <= is_setting_q && waddr[6:0] == CsrUnixSeconds[6:0];
      slept_o      <= (is_setting_q && waddr[6:0] == CsrSlept[6:0]) ? written[9:0] : '0;
      zero_o       <= is_setting_q && waddr[6:0] == CsrIndexZero[6:0] && written[0];
      if (clearing) clear_q <= clear_q + 1'b1;
      if (is_setting_q) begin
        for (int unsigned w = 0; w < CsrWords; w++)
        if (csr_is_setting(w) && waddr[6:0] == 7'(w)) reg_q[w] <= written;
      end
    end
  end

  lib_ram #(
    .Width(32),
    .Depth(CsrWords)
  ) u_settings (
    .clk_i,
    .we_i   (is_setting_q || clearing),
    .waddr_i(clearing ? clear_q : waddr[6:0]),
    .wbe_i  (1'b1),
    .wdata_i(clearing ? '0 : written),
    .re_i   (we || read),
    .raddr_i(read ? raddr[6:0] : waddr[6:0]),
    .rdata_o(setting)
  );

  csr_settings_t set;
  assign set = csr_settings(reg_q);
  assign enable_o         = set.enable;
  assign net_o.mac        = {set.mac_high, set.mac_low};
  assign net_o.ip         = set.ip;
  assign net_o.ip6[0]     = link_local(net_o.mac);
  assign net_o.ip6[1]     = set.ip6_fixed;
  assign net_o.ip6[2]     = set.ip6_auto;
  assign net_o.tcp_port   = set.tcp_port;
  assign net_o.udp_port   = set.udp_port;
  assign net_o.redis_port = set.redis_port;
  assign net_o.mtu        = set.mtu;
  assign net_o.vlan       = set.vlan;
  assign seconds_o        = set.unix_seconds;
  assign milliseconds_o   = set.milliseconds;
  assign rx_base_o        = {2'b00, set.rx_ring_base};
  assign tx_base_o        = {2'b00, set.tx_ring_base};
  assign item_max_o       = set.item_max;
  assign conn_limit_o     = set.max_conns;
  assign time_wait_ms_o   = set.time_wait_ms;
  assign keep_alive_s_o   = set.keep_alive_seconds;
  assign idle_s_o         = set.idle_seconds;
  assign hold_max_o       = set.hold_max;
  assign guard_o          = set.redis_clients.guard;
  assign pause_o          = set.redis_clients.pause;
  assign upstream_o       = Config.upstream && set.upstream;
  assign secret_o         = set.tcp_secret;
  assign trace_o          = set.trace;
  assign trace_record_o   = set.trace_record;

  assign store_o.index_base = {2'b00, set.index_base};
  assign store_o.log_base   = {2'b00, set.log_base};
  assign store_o.index_bits = set.index_bits;
  assign store_o.log_lines  = set.log_lines;
  assign store_o.item_max   = set.item_max;
  assign store_o.one_way    = set.one_way;
  assign store_o.upstream   = upstream_o;
  assign store_o.mix_key    = set.hash_mix;
  assign store_o.nh_key     = set.hash_nh;

  // ---------------------------------------------------------------- counters
  // 128 behind the settings, 16 behind them: those that have no room in their group. A register before them: events
  // come from everywhere.
  logic [31:0] count, count_more;
  logic [127:0] event_q;
  logic [15:0] more_q;
  logic unused_clearing, unused_write;
  assign unused_write = write;
  always_ff @(posedge clk_i) begin
    event_q <= {
      CsrStoreRoom'(store_count_i),
      CsrEgressRoom'(egress_count_i),
      CsrIngressRoom'(ingress_count_i),
      CsrTcpRoom'(tcp_count_i),
      CsrNetRoom'(net_count_i)
    };
    more_q  <= {
      CsrTcpMoreRoom'(tcp_count_i[TcpCounts-1:CsrTcpRoom]),
      CsrNetMoreRoom'(net_count_i[NetCounts-1:CsrNetRoom])
    };
  end
  lib_counters #(
    .N    (128),
    .Width(32)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .event_i   (event_q),
    .re_i      (read && raddr[9:7] == 3'b001),
    .index_i   (raddr[6:0]),
    .count_o   (count),
    .clearing_o(clearing)
  );
  lib_counters #(
    .N    (16),
    .Width(32)
  ) u_more (
    .clk_i,
    .rst_ni,
    .event_i   (more_q),
    .re_i      (read && raddr[9:4] == 6'b010000),
    .index_i   (raddr[3:0]),
    .count_o   (count_more),
    .clearing_o(unused_clearing)
  );

  // ---------------------------------------------------------------- reads
  about_t about_q;
  logic about_told_q;  // flips with each
  always_ff @(posedge clk_i) begin
    if (!rst_ni) about_told_q <= 1'b0;
    else if (about_valid_i) about_told_q <= !about_told_q;
    if (!rst_ni) about_q <= '0;
    else if (about_valid_i) about_q <= about_i;
  end

  csr_status_t status;
  assign status = '{
          idle: idle_i,
          timers: timers_i,
          due: short_i,
          zeroing: zeroing_i,
          refused: refused_i,
          default: '0
      };
  csr_variant_t variant;
  assign variant = '{
          fast_meta: Config.fast_meta,
          fast_binary: Config.fast_binary,
          fast_redis: Config.fast_redis,
          udp: Config.udp,
          ipv6: Config.ipv6,
          upstream: Config.upstream,
          trace: Config.trace,
          default: '0
      };
  csr_about_t about;
  assign about = '{
          conn: about_q.conn,
          there: about_q.there,
          left: about_q.left,
          toggle: about_told_q,
          default: '0
      };

  always_comb begin
    unique case (raddr)
      CsrId:        rdata = CsrIdValue;
      CsrConns:     rdata = Conns;
      CsrStatus:    rdata = status;
      CsrOpenConns: rdata = 32'(conns_i);
      CsrAbout:     rdata = about;
      CsrVariant:   rdata = variant;
      CsrTraceClock:  rdata = trace_clock_i;
      CsrTracePoints: rdata = trace_points_i;
      default: begin
        if (raddr[9:4] == 6'b010000) rdata = count_more;
        else if (raddr[9:8] != 2'b00) rdata = '0;
        else if (raddr[7]) rdata = count;
        else rdata = setting;
      end
    endcase
  end

endmodule
