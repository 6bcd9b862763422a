// The pins of AWS' sh_ddr, with nothing behind them: the card does not use the DDR4 module.
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNUSEDPARAM
module sh_ddr #(
  /// A controller is there.
  parameter bit DDR_PRESENT = 1
) (
  input  logic         clk,
  input  logic         rst_n,
  input  logic         stat_clk,
  input  logic         stat_rst_n,
  /// The module.
  input  logic         CLK_DIMM_DP,
  input  logic         CLK_DIMM_DN,
  output logic         M_ACT_N,
  output logic [17:0]  M_MA,
  output logic [1:0]   M_BA,
  output logic [1:0]   M_BG,
  output logic [1:0]   M_CKE,
  output logic [1:0]   M_ODT,
  output logic [1:0]   M_CS_N,
  output logic [1:0]   M_CLK_DN,
  output logic [1:0]   M_CLK_DP,
  output logic         M_PAR,
  inout  wire  [63:0]  M_DQ,
  inout  wire  [7:0]   M_ECC,
  inout  wire  [17:0]  M_DQS_DP,
  inout  wire  [17:0]  M_DQS_DN,
  output logic         cl_RST_DIMM_N,
  /// AXI4.
  input  logic [15:0]  cl_sh_ddr_axi_awid,
  input  logic [63:0]  cl_sh_ddr_axi_awaddr,
  input  logic [7:0]   cl_sh_ddr_axi_awlen,
  input  logic [2:0]   cl_sh_ddr_axi_awsize,
  input  logic         cl_sh_ddr_axi_awvalid,
  input  logic [1:0]   cl_sh_ddr_axi_awburst,
  input  logic         cl_sh_ddr_axi_awuser,
  output logic         cl_sh_ddr_axi_awready,
  input  logic [511:0] cl_sh_ddr_axi_wdata,
  input  logic [63:0]  cl_sh_ddr_axi_wstrb,
  input  logic         cl_sh_ddr_axi_wlast,
  input  logic         cl_sh_ddr_axi_wvalid,
  output logic         cl_sh_ddr_axi_wready,
  output logic [15:0]  cl_sh_ddr_axi_bid,
  output logic [1:0]   cl_sh_ddr_axi_bresp,
  output logic         cl_sh_ddr_axi_bvalid,
  input  logic         cl_sh_ddr_axi_bready,
  input  logic [15:0]  cl_sh_ddr_axi_arid,
  input  logic [63:0]  cl_sh_ddr_axi_araddr,
  input  logic [7:0]   cl_sh_ddr_axi_arlen,
  input  logic [2:0]   cl_sh_ddr_axi_arsize,
  input  logic         cl_sh_ddr_axi_arvalid,
  input  logic [1:0]   cl_sh_ddr_axi_arburst,
  input  logic         cl_sh_ddr_axi_aruser,
  output logic         cl_sh_ddr_axi_arready,
  output logic [15:0]  cl_sh_ddr_axi_rid,
  output logic [511:0] cl_sh_ddr_axi_rdata,
  output logic [1:0]   cl_sh_ddr_axi_rresp,
  output logic         cl_sh_ddr_axi_rlast,
  output logic         cl_sh_ddr_axi_rvalid,
  input  logic         cl_sh_ddr_axi_rready,
  /// Its statistics.
  input  logic [7:0]   sh_ddr_stat_bus_addr,
  input  logic [31:0]  sh_ddr_stat_bus_wdata,
  input  logic         sh_ddr_stat_bus_wr,
  input  logic         sh_ddr_stat_bus_rd,
  output logic         sh_ddr_stat_bus_ack,
  output logic [31:0]  sh_ddr_stat_bus_rdata,
  output logic [7:0]   ddr_sh_stat_int,
  output logic         sh_cl_ddr_is_ready
);

  assign {M_ACT_N, M_MA, M_BA, M_BG, M_CKE, M_ODT, M_CS_N, M_CLK_DN, M_CLK_DP, M_PAR} = '0;
  assign cl_RST_DIMM_N = 1'b0;
  assign {M_DQ, M_ECC, M_DQS_DP, M_DQS_DN} = 'z;
  assign {cl_sh_ddr_axi_awready, cl_sh_ddr_axi_wready, cl_sh_ddr_axi_arready} = '0;
  assign {cl_sh_ddr_axi_bid, cl_sh_ddr_axi_bresp, cl_sh_ddr_axi_bvalid} = '0;
  assign {cl_sh_ddr_axi_rid, cl_sh_ddr_axi_rdata, cl_sh_ddr_axi_rresp} = '0;
  assign {cl_sh_ddr_axi_rlast, cl_sh_ddr_axi_rvalid} = '0;
  assign {sh_ddr_stat_bus_ack, sh_ddr_stat_bus_rdata, ddr_sh_stat_int, sh_cl_ddr_is_ready} = '0;

endmodule
// verilator lint_on UNUSEDPARAM
// verilator lint_on UNUSEDSIGNAL
