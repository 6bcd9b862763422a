// Control and status registers: an AXI4-Lite slave, one access at a time (2 clocks a write, 4 a
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
  output logic [20:0]              item_max_o,
  /// What the host says the time is; it has said so before this clock.
  output logic                     time_o,
  output logic [31:0]              seconds_o,
  output logic [9:0]               milliseconds_o,
  /// Milliseconds for which ticks were not delivered: for one clock, else 0.
  output logic [9:0]               slept_o,
  output laddr_t                   rx_base_o,
  output laddr_t                   tx_base_o,
  /// State.
  input  logic                     idle_i,
  input  logic                     timers_i,
  input  logic                     short_i,
  input  logic [14:0]              conns_i,
  /// Where a connection stands that host software has asked about.
  input  logic                     about_valid_i,
  input  about_t                   about_i,
  /// One-clock pulses; bit i counts into register i of its group.
  input  logic [NetCounts-1:0]     net_count_i,
  input  logic [TcpCounts-1:0]     tcp_count_i,
  input  logic [IngressCounts-1:0] ingress_count_i,
  input  logic [EgressCounts-1:0]  egress_count_i,
  input  logic [StoreCounts-1:0]   store_count_i,
  /// An access is under way: the clock must run.
  output logic                     busy_o
);

  logic we, clearing, reading;
  logic [2:0] read_q;  // a read under way, by stage
  logic [9:0] waddr, raddr_q;
  assign waddr = s_axil_awaddr[11:2];
  assign we = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid && !reading && !clearing;
  assign s_axil_awready = we;
  assign s_axil_wready  = we;
  assign s_axil_bresp   = 2'b00;
  assign s_axil_rresp   = 2'b00;
  assign reading = read_q != '0 || s_axil_rvalid;
  assign s_axil_arready = s_axil_arvalid && !reading && !clearing;
  assign busy_o = s_axil_awvalid || s_axil_wvalid || s_axil_bvalid || time_o || slept_o != '0 ||
                  s_axil_arvalid || reading || clearing;

  logic [1:0] unused_addr;
  assign unused_addr = s_axil_awaddr[1:0] | s_axil_araddr[1:0];

  // ---------------------------------------------------------------- settings
  // A word a register; those that mean nothing stay 0. A RAM holds the same: what is read back, and the
  // bytes that a write leaves as they are, come from there without a multiplexer of all registers. While the
  // counters become zero, so do its words: as many.
  logic [31:0] reg_q[CsrWords];

  logic write_q;
  logic [6:0] waddr_q, clear_q;
  logic [3:0] wstrb_q;
  logic [31:0] wdata_q, setting, written;

  always_comb begin
    for (int b = 0; b < 4; b++) written[8*b+:8] = wstrb_q[b] ? wdata_q[8*b+:8] : setting[8*b+:8];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s_axil_bvalid <= 1'b0;
      write_q       <= 1'b0;
      time_o        <= 1'b0;
      slept_o       <= '0;
      clear_q       <= '0;
      reg_q         <= '{default: '0};
    end else begin
      if (we) s_axil_bvalid <= 1'b1;
      else if (s_axil_bready) s_axil_bvalid <= 1'b0;
      write_q <= we && csr_is_setting(int'(waddr));
      time_o  <= write_q && waddr_q == CsrUnixSeconds[6:0];
      slept_o <= (write_q && waddr_q == CsrSlept[6:0]) ? written[9:0] : '0;
      if (clearing) clear_q <= clear_q + 1'b1;
      if (write_q) begin
        for (int unsigned w = 0; w < CsrWords; w++)
        if (csr_is_setting(w) && waddr_q == 7'(w)) reg_q[w] <= written;
      end
    end
    waddr_q <= waddr[6:0];
    wdata_q <= s_axil_wdata;
    wstrb_q <= s_axil_wstrb;
  end

  lib_ram #(
    .Width(32),
    .Depth(CsrWords)
  ) u_settings (
    .clk_i,
    .we_i   (write_q || clearing),
    .waddr_i(clearing ? clear_q : waddr_q),
    .wbe_i  (1'b1),
    .wdata_i(clearing ? '0 : written),
    .re_i   (we || read_q[0]),
    .raddr_i(read_q[0] ? raddr_q[6:0] : waddr[6:0]),
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
  assign secret_o         = set.tcp_secret;

  assign store_o.index_base = {2'b00, set.index_base};
  assign store_o.log_base   = {2'b00, set.log_base};
  assign store_o.index_bits = set.index_bits;
  assign store_o.log_lines  = set.log_lines;
  assign store_o.item_max   = set.item_max;
  assign store_o.one_way    = set.one_way;
  assign store_o.mix_key    = set.hash_mix;
  assign store_o.nh_key     = set.hash_nh;

  // ---------------------------------------------------------------- counters
  // 128 behind the settings, 16 behind them: those that have no room in their group. A register before them: events
  // come from everywhere.
  logic [31:0] count, count_more;
  logic [127:0] event_q;
  logic [15:0] more_q;
  logic unused_clearing;
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
    .re_i      (read_q[0] && raddr_q[9:7] == 3'b001),
    .index_i   (raddr_q[6:0]),
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
    .re_i      (read_q[0] && raddr_q[9:4] == 6'b010000),
    .index_i   (raddr_q[3:0]),
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
  assign status = '{idle: idle_i, timers: timers_i, due: short_i, default: '0};
  csr_variant_t variant;
  assign variant = '{
          fast_meta: Config.fast_meta,
          fast_binary: Config.fast_binary,
          fast_redis: Config.fast_redis,
          udp: Config.udp,
          ipv6: Config.ipv6,
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

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q        <= '0;
      s_axil_rvalid <= 1'b0;
    end else begin
      read_q <= {read_q[1:0], s_axil_arready};
      if (read_q[2]) s_axil_rvalid <= 1'b1;
      else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    end
    if (s_axil_arready) raddr_q <= s_axil_araddr[11:2];
    if (read_q[2]) begin
      unique case (raddr_q)
        CsrId:        s_axil_rdata <= CsrIdValue;
        CsrConns:     s_axil_rdata <= Conns;
        CsrStatus:    s_axil_rdata <= status;
        CsrOpenConns: s_axil_rdata <= 32'(conns_i);
        CsrAbout:     s_axil_rdata <= about;
        CsrVariant:   s_axil_rdata <= variant;
        default: begin
          if (raddr_q[9:4] == 6'b010000) s_axil_rdata <= count_more;
          else if (raddr_q[9:8] != 2'b00) s_axil_rdata <= '0;
          else if (raddr_q[7]) s_axil_rdata <= count;
          else s_axil_rdata <= setting;
        end
      endcase
    end
  end

endmodule
