// The link between a host and a card, and on its way to host memory one of the faults that PCIM's checker must find: fault_i is
// its number, 0 for none.
module pcim_tb #(
  parameter int unsigned Reads = 64
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [3:0]   fault_i,
  input  logic         flr_assert_i,
  output logic         flr_done_o,
  input  logic [11:0]  s_axil_awaddr,
  input  logic         s_axil_awvalid,
  output logic         s_axil_awready,
  input  logic [31:0]  s_axil_wdata,
  input  logic [3:0]   s_axil_wstrb,
  input  logic         s_axil_wvalid,
  output logic         s_axil_wready,
  output logic [1:0]   s_axil_bresp,
  output logic         s_axil_bvalid,
  input  logic         s_axil_bready,
  input  logic [11:0]  s_axil_araddr,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  output logic [2:0]   m_axi_awid,
  output logic [63:0]  m_axi_awaddr,
  output logic [7:0]   m_axi_awlen,
  output logic [2:0]   m_axi_awsize,
  output logic [1:0]   m_axi_awburst,
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [511:0] m_axi_wdata,
  output logic [63:0]  m_axi_wstrb,
  output logic         m_axi_wlast,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  input  logic [2:0]   m_axi_bid,
  input  logic [1:0]   m_axi_bresp,
  input  logic         m_axi_bvalid,
  output logic         m_axi_bready,
  output logic [5:0]   m_axi_arid,
  output logic [63:0]  m_axi_araddr,
  output logic [7:0]   m_axi_arlen,
  output logic [2:0]   m_axi_arsize,
  output logic [1:0]   m_axi_arburst,
  output logic         m_axi_arvalid,
  input  logic         m_axi_arready,
  input  logic [5:0]   m_axi_rid,
  input  logic [511:0] m_axi_rdata,
  input  logic [1:0]   m_axi_rresp,
  input  logic         m_axi_rlast,
  input  logic         m_axi_rvalid,
  output logic         m_axi_rready,
  input  logic [2:0]   room_i,
  output logic [511:0] m0_data,
  output logic [63:0]  m0_keep,
  output logic         m0_last,
  output logic         m0_valid,
  input  logic         m0_ready,
  input  logic [511:0] s0_data,
  input  logic [63:0]  s0_keep,
  input  logic         s0_last,
  input  logic         s0_valid,
  output logic         s0_ready,
  output logic [511:0] m1_data,
  output logic [63:0]  m1_keep,
  output logic         m1_last,
  output logic         m1_valid,
  input  logic         m1_ready,
  input  logic [511:0] s1_data,
  input  logic [63:0]  s1_keep,
  input  logic         s1_last,
  input  logic         s1_valid,
  output logic         s1_ready,
  output logic [511:0] m2_data,
  output logic [63:0]  m2_keep,
  output logic         m2_last,
  output logic         m2_valid,
  input  logic         m2_ready,
  input  logic [511:0] s2_data,
  input  logic [63:0]  s2_keep,
  input  logic         s2_last,
  input  logic         s2_valid,
  output logic         s2_ready
);

  logic [5:0] arid;
  logic [63:0] araddr, awaddr, wstrb;
  logic [7:0] awlen;
  logic [2:0] awsize;
  logic wlast, wvalid, rready, bready;
  link_tb #(
    .Reads(Reads)
  ) u_link (
    .m_axi_arid  (arid),
    .m_axi_araddr(araddr),
    .m_axi_awaddr(awaddr),
    .m_axi_awlen (awlen),
    .m_axi_awsize(awsize),
    .m_axi_wstrb (wstrb),
    .m_axi_wlast (wlast),
    .m_axi_wvalid(wvalid),
    .m_axi_rvalid(m_axi_rvalid && fault_i != 4'd8),
    .m_axi_bvalid(m_axi_bvalid && fault_i != 4'd10),
    .m_axi_rready(rready),
    .m_axi_bready(bready),
    .*
  );

  // Data are held back for longer than 8 us.
  logic [11:0] late_q;
  always_ff @(posedge clk_i) late_q <= !rst_ni || !wvalid ? '0 : late_q + 12'(late_q != '1);

  assign m_axi_awlen  = awlen;
  // Beats from a page's last line on, so those behind the first are in the next page.
  assign m_axi_awaddr = fault_i == 4'd1 && awlen != '0 ? {awaddr[63:12], 12'hfc0} : awaddr;
  assign m_axi_arid   = fault_i == 4'd2 ? '0 : arid;
  assign m_axi_awsize = fault_i == 4'd3 ? 3'd5 : awsize;
  assign m_axi_wvalid = wvalid && (fault_i != 4'd4 || late_q > 12'd2000);
  assign m_axi_wlast  = wlast || fault_i == 4'd5;
  assign m_axi_wstrb  = fault_i == 4'd6 ? wstrb & ~64'h2000 : wstrb;
  // 7: more reads than the checker allows, which takes a parameter.
  assign m_axi_rready = rready && fault_i != 4'd8;
  assign m_axi_araddr = fault_i == 4'd9 ? araddr ^ (64'd1 << 45) : araddr;
  assign m_axi_bready = bready && fault_i != 4'd10;

endmodule
