// Registers from a slow bus: the crossing into the card's clock, and two windows behind it, as their bench takes them.
module axil_tb (
  input  logic         clk_i,
  input  logic         slow_clk_i,
  input  logic         rst_ni,
  input  logic         slow_rst_ni,
  input  logic         hold_i,
  output logic         busy_o,
  input  logic [31:0]  s_axil_awaddr,
  input  logic         s_axil_awvalid,
  output logic         s_axil_awready,
  input  logic [31:0]  s_axil_wdata,
  input  logic         s_axil_wvalid,
  output logic         s_axil_wready,
  output logic [1:0]   s_axil_bresp,
  output logic         s_axil_bvalid,
  input  logic         s_axil_bready,
  input  logic [31:0]  s_axil_araddr,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  output logic [11:0]  m0_axil_awaddr,
  output logic         m0_axil_awvalid,
  input  logic         m0_axil_awready,
  output logic [31:0]  m0_axil_wdata,
  output logic [3:0]   m0_axil_wstrb,
  output logic         m0_axil_wvalid,
  input  logic         m0_axil_wready,
  input  logic [1:0]   m0_axil_bresp,
  input  logic         m0_axil_bvalid,
  output logic         m0_axil_bready,
  output logic [11:0]  m0_axil_araddr,
  output logic         m0_axil_arvalid,
  input  logic         m0_axil_arready,
  input  logic [31:0]  m0_axil_rdata,
  input  logic [1:0]   m0_axil_rresp,
  input  logic         m0_axil_rvalid,
  output logic         m0_axil_rready,
  output logic [11:0]  m1_axil_awaddr,
  output logic         m1_axil_awvalid,
  input  logic         m1_axil_awready,
  output logic [31:0]  m1_axil_wdata,
  output logic [3:0]   m1_axil_wstrb,
  output logic         m1_axil_wvalid,
  input  logic         m1_axil_wready,
  input  logic [1:0]   m1_axil_bresp,
  input  logic         m1_axil_bvalid,
  output logic         m1_axil_bready,
  output logic [11:0]  m1_axil_araddr,
  output logic         m1_axil_arvalid,
  input  logic         m1_axil_arready,
  input  logic [31:0]  m1_axil_rdata,
  input  logic [1:0]   m1_axil_rresp,
  input  logic         m1_axil_rvalid,
  output logic         m1_axil_rready
);

  logic [31:0] awaddr;
  logic awvalid;
  logic awready;
  logic [31:0] wdata;
  logic [3:0] wstrb;
  logic wvalid;
  logic wready;
  logic [1:0] bresp;
  logic bvalid;
  logic bready;
  logic [31:0] araddr;
  logic arvalid;
  logic arready;
  logic [31:0] rdata;
  logic [1:0] rresp;
  logic rvalid;
  logic rready;

  axil_cross u_cross (
    .s_clk_i (slow_clk_i),
    .s_rst_ni(slow_rst_ni),
    .s_axil_awaddr,
    .s_axil_awvalid,
    .s_axil_awready,
    .s_axil_wdata,
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
    .m_clk_i (clk_i),
    .m_rst_ni(rst_ni),
    .m_axil_awaddr(awaddr),
    .m_axil_awvalid(awvalid),
    .m_axil_awready(awready),
    .m_axil_wdata(wdata),
    .m_axil_wstrb(wstrb),
    .m_axil_wvalid(wvalid),
    .m_axil_wready(wready),
    .m_axil_bresp(bresp),
    .m_axil_bvalid(bvalid),
    .m_axil_bready(bready),
    .m_axil_araddr(araddr),
    .m_axil_arvalid(arvalid),
    .m_axil_arready(arready),
    .m_axil_rdata(rdata),
    .m_axil_rresp(rresp),
    .m_axil_rvalid(rvalid),
    .m_axil_rready(rready)
  );

  logic [11:0] m_awaddr, m_araddr;
  logic [31:0] m_wdata;
  logic [3:0] m_wstrb;
  logic m_bready, m_rready;
  assign m0_axil_awaddr = m_awaddr;
  assign m0_axil_araddr = m_araddr;
  assign m0_axil_wdata  = m_wdata;
  assign m0_axil_wstrb  = m_wstrb;
  assign m0_axil_bready = m_bready && m0_axil_bvalid;
  assign m0_axil_rready = m_rready && m0_axil_rvalid;
  assign m1_axil_awaddr = m_awaddr;
  assign m1_axil_araddr = m_araddr;
  assign m1_axil_wdata  = m_wdata;
  assign m1_axil_wstrb  = m_wstrb;
  assign m1_axil_bready = m_bready && m1_axil_bvalid;
  assign m1_axil_rready = m_rready && m1_axil_rvalid;
  // The reset comes here later than to the crossing.
  logic [5:0] late_q;
  initial late_q = '0;
  always_ff @(posedge clk_i) late_q <= {late_q[4:0], rst_ni};

  axil_windows #(
    .Windows(2)
  ) u_windows (
    .clk_i,
    .rst_ni        (late_q[5]),
    .hold_i,
    .busy_o,
    .s_axil_awaddr(awaddr),
    .s_axil_awvalid(awvalid),
    .s_axil_awready(awready),
    .s_axil_wdata(wdata),
    .s_axil_wstrb(wstrb),
    .s_axil_wvalid(wvalid),
    .s_axil_wready(wready),
    .s_axil_bresp(bresp),
    .s_axil_bvalid(bvalid),
    .s_axil_bready(bready),
    .s_axil_araddr(araddr),
    .s_axil_arvalid(arvalid),
    .s_axil_arready(arready),
    .s_axil_rdata(rdata),
    .s_axil_rresp(rresp),
    .s_axil_rvalid(rvalid),
    .s_axil_rready(rready),
    .m_axil_awaddr(m_awaddr),
    .m_axil_awvalid({m1_axil_awvalid, m0_axil_awvalid}),
    .m_axil_awready({m1_axil_awready, m0_axil_awready}),
    .m_axil_wdata(m_wdata),
    .m_axil_wstrb(m_wstrb),
    .m_axil_wvalid({m1_axil_wvalid, m0_axil_wvalid}),
    .m_axil_wready({m1_axil_wready, m0_axil_wready}),
    .m_axil_bresp({m1_axil_bresp, m0_axil_bresp}),
    .m_axil_bvalid({m1_axil_bvalid, m0_axil_bvalid}),
    .m_axil_bready(m_bready),
    .m_axil_araddr(m_araddr),
    .m_axil_arvalid({m1_axil_arvalid, m0_axil_arvalid}),
    .m_axil_arready({m1_axil_arready, m0_axil_arready}),
    .m_axil_rdata({m1_axil_rdata, m0_axil_rdata}),
    .m_axil_rresp({m1_axil_rresp, m0_axil_rresp}),
    .m_axil_rvalid({m1_axil_rvalid, m0_axil_rvalid}),
    .m_axil_rready(m_rready)
  );

endmodule
