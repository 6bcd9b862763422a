// Control and status registers: an AXI4-Lite slave, one access at a time (2 clocks a write, 4 a
// read), and the event counters of every folder. In the 128 clocks after reset nothing is counted,
// written or read.
//
// The map stands in docs/ARCHITECTURE.md, "Registers". A write to a read-only or unknown address
// does nothing; reading an unknown one gives 0. Responses are always OKAY.
module csr
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
#(
  /// Connections of this build, for software to read.
  parameter int unsigned Conns = 1024
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// AXI4-Lite, AMBA AXI and ACE protocol specification, part B.
  input  logic [11:0]            s_axil_awaddr,
  input  logic                   s_axil_awvalid,
  output logic                   s_axil_awready,
  input  logic [31:0]            s_axil_wdata,
  input  logic [3:0]             s_axil_wstrb,
  input  logic                   s_axil_wvalid,
  output logic                   s_axil_wready,
  output logic [1:0]             s_axil_bresp,
  output logic                   s_axil_bvalid,
  input  logic                   s_axil_bready,
  input  logic [11:0]            s_axil_araddr,
  input  logic                   s_axil_arvalid,
  output logic                   s_axil_arready,
  output logic [31:0]            s_axil_rdata,
  output logic [1:0]             s_axil_rresp,
  output logic                   s_axil_rvalid,
  input  logic                   s_axil_rready,
  /// Settings.
  output logic                   enable_o,
  output net_cfg_t               net_o,
  output store_cfg_t             store_o,
  output logic [127:0]           secret_o,
  output logic [14:0]            conn_limit_o,
  output logic [15:0]            time_wait_ms_o,
  output seconds_t               keep_alive_s_o,
  output seconds_t               idle_s_o,
  output logic [23:0]            hold_max_o,
  output logic                   guard_o,
  output logic                   pause_o,
  output logic [20:0]            item_max_o,
  /// What the host says the time is; it has said so before this clock.
  output logic                   time_o,
  output logic [31:0]            seconds_o,
  output logic [9:0]             milliseconds_o,
  /// Milliseconds for which ticks were not delivered: for one clock, else 0.
  output logic [9:0]             slept_o,
  output laddr_t                 rx_base_o,
  output laddr_t                 tx_base_o,
  /// State.
  input  logic                   idle_i,
  input  logic                   timers_i,
  input  logic                   short_i,
  input  logic [14:0]            conns_i,
  /// Where a connection stands that host software has asked about.
  input  logic                   about_valid_i,
  input  about_t                 about_i,
  /// One-clock pulses; bit i counts into register i of its group.
  input  logic [NetCounts-1:0]   net_count_i,
  input  logic [TcpCounts-1:0]   tcp_count_i,
  input  logic [FrontCounts-1:0] front_count_i,
  input  logic [BackCounts-1:0]  back_count_i,
  input  logic [StoreCounts-1:0] store_count_i,
  /// An access is under way: the clock must run.
  output logic                   busy_o
);

  // Those of net and tcp beyond their 32 stand in a group of their own.
  localparam int unsigned NetMore = NetCounts - 32;
  localparam int unsigned TcpMore = TcpCounts - 32;
  if (NetMore > 8 || TcpMore > 8 || StoreCounts > 36 || FrontCounts > 14 || BackCounts > 14)
  begin : gen_misuse
    $error("%m: too many counters for the register map");
  end

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

  // ---------------------------------------------------------------- settings, words 0..127
  // A word a register; those that mean nothing stay 0. A RAM holds the same: what is read back, and the
  // bytes that a write leaves as they are, come from there without a multiplexer of all registers. While the
  // counters become zero, so do its words: as many.
  localparam int unsigned Words = 128;
  function automatic logic used(input int unsigned word);
    return word inside {['h010 / 4 : 'h06C / 4], ['h080 / 4 : 'h0BC / 4], 'h0C4 / 4, 'h0C8 / 4,
                        ['h100 / 4 : 'h17C / 4]};
  endfunction
  logic [31:0] reg_q[Words];

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
      write_q <= we && used(int'(waddr));
      time_o  <= write_q && waddr_q == 7'('h014 / 4);
      slept_o <= (write_q && waddr_q == 7'('h0C8 / 4)) ? written[9:0] : '0;
      if (clearing) clear_q <= clear_q + 1'b1;
      if (write_q) begin
        for (int unsigned w = 0; w < Words; w++)
        if (used(w) && waddr_q == 7'(w)) reg_q[w] <= written;
      end
    end
    waddr_q <= waddr[6:0];
    wdata_q <= s_axil_wdata;
    wstrb_q <= s_axil_wstrb;
  end

  lib_ram #(
    .Width(32),
    .Depth(Words)
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

  assign enable_o       = reg_q['h010 / 4][0];
  assign net_o.mac      = {reg_q['h01C / 4][15:0], reg_q['h018 / 4]};
  assign net_o.ip       = reg_q['h020 / 4];
  assign net_o.ip6[0]   = link_local(net_o.mac);
  assign net_o.ip6[1]   = {reg_q['h09C / 4], reg_q['h098 / 4], reg_q['h094 / 4], reg_q['h090 / 4]};
  assign net_o.ip6[2]   = {reg_q['h0AC / 4], reg_q['h0A8 / 4], reg_q['h0A4 / 4], reg_q['h0A0 / 4]};
  assign net_o.tcp_port = reg_q['h024 / 4][15:0];
  assign net_o.udp_port = reg_q['h028 / 4][15:0];
  assign net_o.redis_port = reg_q['h0B0 / 4][15:0];
  assign net_o.mtu      = reg_q['h02C / 4][15:0];
  assign net_o.vlan     = reg_q['h0C4 / 4][11:0];
  assign seconds_o      = reg_q['h014 / 4];
  assign milliseconds_o = reg_q['h050 / 4][9:0];
  assign rx_base_o      = {2'b00, reg_q['h038 / 4]};
  assign tx_base_o      = {2'b00, reg_q['h03C / 4]};
  assign item_max_o     = reg_q['h048 / 4][20:0];
  assign conn_limit_o   = reg_q['h04C / 4][14:0];
  assign time_wait_ms_o = reg_q['h054 / 4][15:0];
  assign keep_alive_s_o = reg_q['h058 / 4][15:0];
  assign idle_s_o       = reg_q['h05C / 4][15:0];
  assign hold_max_o     = reg_q['h0B4 / 4][23:0];
  assign guard_o        = reg_q['h0BC / 4][0];
  assign pause_o        = reg_q['h0BC / 4][1];
  assign secret_o       = {reg_q['h06C / 4], reg_q['h068 / 4], reg_q['h064 / 4], reg_q['h060 / 4]};

  assign store_o.index_base = {2'b00, reg_q['h030 / 4]};
  assign store_o.log_base   = {2'b00, reg_q['h034 / 4]};
  assign store_o.index_bits = reg_q['h040 / 4][4:0];
  assign store_o.log_lines  = reg_q['h044 / 4][25:0];
  assign store_o.item_max   = reg_q['h048 / 4][20:0];
  assign store_o.one_way    = reg_q['h0B8 / 4][0];
  assign store_o.mix_key    = {reg_q['h08C / 4], reg_q['h088 / 4], reg_q['h084 / 4],
                               reg_q['h080 / 4]};
  for (genvar w = 0; w < 32; w++) begin : gen_nh_key
    assign store_o.nh_key[w] = reg_q['h100/4+w];
  end

  // ---------------------------------------------------------------- counters, words 128..271
  // A register before them: events come from everywhere.
  logic [31:0] count, count_more;
  logic [127:0] event_q;
  logic [15:0] more_q;
  logic unused_clearing;
  always_ff @(posedge clk_i) begin
    event_q <= {
      36'(store_count_i), 14'(back_count_i), 14'(front_count_i), tcp_count_i[31:0],
      net_count_i[31:0]
    };
    more_q  <= {8'(tcp_count_i[TcpCounts-1:32]), 8'(net_count_i[NetCounts-1:32])};
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
        10'h000: s_axil_rdata <= 32'h574B5631;
        10'h001: s_axil_rdata <= Conns;
        10'h002: s_axil_rdata <= {29'b0, short_i, timers_i, idle_i};
        10'h003: s_axil_rdata <= {17'b0, conns_i};
        10'h030: begin
          s_axil_rdata <= {about_told_q, 13'b0, about_q.left, about_q.there, 2'b0, about_q.conn};
        end
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
