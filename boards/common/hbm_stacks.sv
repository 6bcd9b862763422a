// The two stacks of HBM of an UltraScale+ device, through AMD's IP: 32 AXI3 ports of 256 bits, of which Used have what this card
// asks for, and the rest nothing. Adds the constants of mem_stripe's bursts. The IP is the user's: an instance of cl_hbm,
// as AWS' kit has it and boards/opennic/hbm.tcl makes it.
//
// Nothing is asked before both stacks are calibrated. Calibration begins once, when the clocks are there; a later reset of
// the card or the shell does not touch the memory.
module hbm_stacks #(
  /// Ports in use, the lowest.
  parameter int unsigned Used = 24,
  localparam int unsigned All = 32
) (
  /// Of the AXI ports; 100 MHz, of the stacks and their configuration.
  input  logic                   clk_i,
  input  logic                   ref_clk_i,
  /// The clocks are there, and stay.
  input  logic                   up_i,
  /// Both stacks are calibrated.
  output logic                   ready_o,
  /// AXI3, element c = port c: bursts of two beats of 32 bytes, answers in order.
  input  logic [Used-1:0]        s_axi_awvalid,
  output logic [Used-1:0]        s_axi_awready,
  input  logic [Used-1:0][33:0]  s_axi_awaddr,
  input  logic [Used-1:0]        s_axi_wvalid,
  output logic [Used-1:0]        s_axi_wready,
  input  logic [Used-1:0][255:0] s_axi_wdata,
  input  logic [Used-1:0][31:0]  s_axi_wstrb,
  input  logic [Used-1:0]        s_axi_wlast,
  output logic [Used-1:0]        s_axi_bvalid,
  input  logic [Used-1:0]        s_axi_bready,
  output logic [Used-1:0][1:0]   s_axi_bresp,
  input  logic [Used-1:0]        s_axi_arvalid,
  output logic [Used-1:0]        s_axi_arready,
  input  logic [Used-1:0][33:0]  s_axi_araddr,
  output logic [Used-1:0]        s_axi_rvalid,
  input  logic [Used-1:0]        s_axi_rready,
  output logic [Used-1:0][255:0] s_axi_rdata,
  output logic [Used-1:0][1:0]   s_axi_rresp,
  output logic [Used-1:0]        s_axi_rlast,
  /// A shell's monitor of each stack (APB), in the reference clock, if WIREKV_HBM_MONITOR is defined.
  input  logic [1:0]             mon_preset_ni,
  output logic [1:0][21:0]       mon_paddr_o,
  output logic [1:0]             mon_psel_o,
  output logic [1:0]             mon_penable_o,
  output logic [1:0]             mon_pwrite_o,
  output logic [1:0][31:0]       mon_pwdata_o,
  output logic [1:0]             mon_pready_o,
  output logic [1:0][31:0]       mon_prdata_o,
  output logic [1:0]             mon_pslverr_o
);

  // ---------------------------------------------------------------- start
  // In each clock the signal of the other one is taken twice.
  logic once_q;
  (* ASYNC_REG = "TRUE" *) logic [1:0] ref_up_q;
  (* ASYNC_REG = "TRUE" *) logic [1:0] ready_q;
  logic [1:0] complete;
  initial once_q = 1'b0;
  always_ff @(posedge clk_i) begin
    once_q  <= once_q || up_i;
    ready_q <= {ready_q[0], complete == '1 && once_q};
  end
  always_ff @(posedge ref_clk_i) ref_up_q <= {ref_up_q[0], once_q};
  assign ready_o = ready_q[1];

  // ---------------------------------------------------------------- ports
  logic [All-1:0] awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [All-1:0] arvalid, arready, rvalid, rready, rlast;
  logic [All-1:0][33:0] awaddr, araddr;
  logic [All-1:0][255:0] wdata, rdata;
  logic [All-1:0][31:0] wstrb;
  logic [All-1:0][1:0] bresp, rresp;
  assign awvalid       = All'(s_axi_awvalid & {Used{ready_o}});
  assign wvalid        = All'(s_axi_wvalid & {Used{ready_o}});
  assign arvalid       = All'(s_axi_arvalid & {Used{ready_o}});
  assign s_axi_awready = awready[Used-1:0] & {Used{ready_o}};
  assign s_axi_wready  = wready[Used-1:0] & {Used{ready_o}};
  assign s_axi_arready = arready[Used-1:0] & {Used{ready_o}};
  assign awaddr        = (34 * All)'(s_axi_awaddr);
  assign araddr        = (34 * All)'(s_axi_araddr);
  assign wdata         = (256 * All)'(s_axi_wdata);
  assign wstrb         = (32 * All)'(s_axi_wstrb);
  assign wlast         = All'(s_axi_wlast);
  assign bready        = All'(s_axi_bready);
  assign rready        = All'(s_axi_rready);
  assign s_axi_bvalid  = bvalid[Used-1:0];
  assign s_axi_bresp   = bresp[Used-1:0];
  assign s_axi_rvalid  = rvalid[Used-1:0];
  assign s_axi_rdata   = rdata[Used-1:0];
  assign s_axi_rresp   = rresp[Used-1:0];
  assign s_axi_rlast   = rlast[Used-1:0];

  // Answers of ports that ask nothing, numbers of requests that have one each, parity, temperatures.
  logic unused;
  assign unused = ^{bvalid, bresp, rvalid, rdata, rresp, rlast, awready, wready, arready};

  // ---------------------------------------------------------------- the IP
`ifndef WIREKV_HBM_MONITOR
  assign {mon_paddr_o, mon_psel_o, mon_penable_o, mon_pwrite_o} = '0;
  assign {mon_pwdata_o, mon_pready_o, mon_prdata_o, mon_pslverr_o} = '0;
  logic unused_monitor;
  assign unused_monitor = ^mon_preset_ni;
`endif

  // Port N has its pins by number, which is text of two digits.
  `define HBM_PORT(N, C) \
    .AXI_``N``_ACLK(clk_i), \
    .AXI_``N``_ARESET_N(once_q), \
    .AXI_``N``_ARID('0), \
    .AXI_``N``_ARADDR(araddr[C]), \
    .AXI_``N``_ARLEN(4'd1), \
    .AXI_``N``_ARSIZE(3'd5), \
    .AXI_``N``_ARBURST(2'd1), \
    .AXI_``N``_ARVALID(arvalid[C]), \
    .AXI_``N``_ARREADY(arready[C]), \
    .AXI_``N``_AWID('0), \
    .AXI_``N``_AWADDR(awaddr[C]), \
    .AXI_``N``_AWLEN(4'd1), \
    .AXI_``N``_AWSIZE(3'd5), \
    .AXI_``N``_AWBURST(2'd1), \
    .AXI_``N``_AWVALID(awvalid[C]), \
    .AXI_``N``_AWREADY(awready[C]), \
    .AXI_``N``_WDATA(wdata[C]), \
    .AXI_``N``_WDATA_PARITY('0), \
    .AXI_``N``_WSTRB(wstrb[C]), \
    .AXI_``N``_WLAST(wlast[C]), \
    .AXI_``N``_WVALID(wvalid[C]), \
    .AXI_``N``_WREADY(wready[C]), \
    .AXI_``N``_BID(), \
    .AXI_``N``_BRESP(bresp[C]), \
    .AXI_``N``_BVALID(bvalid[C]), \
    .AXI_``N``_BREADY(bready[C]), \
    .AXI_``N``_RID(), \
    .AXI_``N``_RDATA(rdata[C]), \
    .AXI_``N``_RDATA_PARITY(), \
    .AXI_``N``_RRESP(rresp[C]), \
    .AXI_``N``_RLAST(rlast[C]), \
    .AXI_``N``_RVALID(rvalid[C]), \
    .AXI_``N``_RREADY(rready[C])
  // Stack S. Its configuration is the IP's own.
  `define HBM_STACK(S) \
    .HBM_REF_CLK_``S(ref_clk_i), \
    .APB_``S``_PCLK(ref_clk_i), \
    .APB_``S``_PRESET_N(ref_up_q[1]), \
    .APB_``S``_PADDR('0), \
    .APB_``S``_PSEL(1'b0), \
    .APB_``S``_PENABLE(1'b0), \
    .APB_``S``_PWRITE(1'b0), \
    .APB_``S``_PWDATA('0), \
    .APB_``S``_PRDATA(), \
    .APB_``S``_PREADY(), \
    .APB_``S``_PSLVERR(), \
    .DRAM_``S``_STAT_CATTRIP(), \
    .DRAM_``S``_STAT_TEMP(), \
    .apb_complete_``S(complete[S])
  `define HBM_MONITOR(S) \
    .MON_APB_``S``_PRESET_N(mon_preset_ni[S]), \
    .APB_``S``_PADDR_MON(mon_paddr_o[S]), \
    .APB_``S``_PSEL_MON(mon_psel_o[S]), \
    .APB_``S``_PENABLE_MON(mon_penable_o[S]), \
    .APB_``S``_PWRITE_MON(mon_pwrite_o[S]), \
    .APB_``S``_PWDATA_MON(mon_pwdata_o[S]), \
    .APB_``S``_PREADY_MON(mon_pready_o[S]), \
    .APB_``S``_PRDATA_MON(mon_prdata_o[S]), \
    .APB_``S``_PSLVERR_MON(mon_pslverr_o[S])

  // verilator lint_off PINCONNECTEMPTY
  // verilog_lint: waive-start module-port
  cl_hbm u_hbm (
    `HBM_PORT(00, 0),
    `HBM_PORT(01, 1),
    `HBM_PORT(02, 2),
    `HBM_PORT(03, 3),
    `HBM_PORT(04, 4),
    `HBM_PORT(05, 5),
    `HBM_PORT(06, 6),
    `HBM_PORT(07, 7),
    `HBM_PORT(08, 8),
    `HBM_PORT(09, 9),
    `HBM_PORT(10, 10),
    `HBM_PORT(11, 11),
    `HBM_PORT(12, 12),
    `HBM_PORT(13, 13),
    `HBM_PORT(14, 14),
    `HBM_PORT(15, 15),
    `HBM_PORT(16, 16),
    `HBM_PORT(17, 17),
    `HBM_PORT(18, 18),
    `HBM_PORT(19, 19),
    `HBM_PORT(20, 20),
    `HBM_PORT(21, 21),
    `HBM_PORT(22, 22),
    `HBM_PORT(23, 23),
    `HBM_PORT(24, 24),
    `HBM_PORT(25, 25),
    `HBM_PORT(26, 26),
    `HBM_PORT(27, 27),
    `HBM_PORT(28, 28),
    `HBM_PORT(29, 29),
    `HBM_PORT(30, 30),
    `HBM_PORT(31, 31),
`ifdef WIREKV_HBM_MONITOR
    `HBM_MONITOR(0),
    `HBM_MONITOR(1),
`endif
    `HBM_STACK(0),
    `HBM_STACK(1)
  );
  // verilog_lint: waive-stop module-port
  // verilator lint_on PINCONNECTEMPTY
  `undef HBM_PORT
  `undef HBM_STACK
  `undef HBM_MONITOR

endmodule
