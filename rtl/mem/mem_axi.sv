// One memory port: whole lines on the inside, single-beat AXI4 on the outside (len 0, size 6, one
// id, wlast 1; a board's top adds those constants). Latency 1 for a write, 1 + 1 for a read on top
// of the memory's, initiation interval 1.
module mem_axi
  import wirekv_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Writes; wr_done_o pulses once for each, in order, when it has reached memory.
  input  logic         wr_valid_i,
  output logic         wr_ready_o,
  input  line_write_t  wr_i,
  output logic         wr_done_o,
  /// Reads, answered in order.
  input  logic         rd_valid_i,
  output logic         rd_ready_o,
  input  laddr_t       rd_addr_i,
  output logic         rdat_valid_o,
  input  logic         rdat_ready_i,
  output line_t        rdat_o,
  /// AXI4. Address and data of a write are independent; each may be taken first.
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [39:0]  m_axi_awaddr,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  output logic [511:0] m_axi_wdata,
  output logic [63:0]  m_axi_wstrb,
  input  logic         m_axi_bvalid,
  output logic         m_axi_bready,
  output logic         m_axi_arvalid,
  input  logic         m_axi_arready,
  output logic [39:0]  m_axi_araddr,
  input  logic         m_axi_rvalid,
  output logic         m_axi_rready,
  input  logic [511:0] m_axi_rdata
);

  typedef struct packed {
    line_t data;
    strb_t strb;
  } wdata_t;

  logic aw_ready, w_ready;
  laddr_t aw_addr, ar_addr;
  wdata_t wdata;

  assign wr_ready_o   = aw_ready && w_ready;
  assign wr_done_o    = m_axi_bvalid;
  assign m_axi_bready = 1'b1;
  assign m_axi_awaddr = {aw_addr, 6'd0};
  assign m_axi_araddr = {ar_addr, 6'd0};
  assign m_axi_wdata  = wdata.data;
  assign m_axi_wstrb  = wdata.strb;

  lib_reg #(
    .T(laddr_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .s_valid_i(wr_valid_i && w_ready),
    .s_ready_o(aw_ready),
    .s_data_i (wr_i.addr),
    .m_valid_o(m_axi_awvalid),
    .m_ready_i(m_axi_awready),
    .m_data_o (aw_addr)
  );

  lib_reg #(
    .T(wdata_t)
  ) u_w (
    .clk_i,
    .rst_ni,
    .s_valid_i(wr_valid_i && aw_ready),
    .s_ready_o(w_ready),
    .s_data_i ('{data: wr_i.data, strb: wr_i.strb}),
    .m_valid_o(m_axi_wvalid),
    .m_ready_i(m_axi_wready),
    .m_data_o (wdata)
  );

  lib_reg #(
    .T(laddr_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .s_valid_i(rd_valid_i),
    .s_ready_o(rd_ready_o),
    .s_data_i (rd_addr_i),
    .m_valid_o(m_axi_arvalid),
    .m_ready_i(m_axi_arready),
    .m_data_o (ar_addr)
  );

  lib_reg #(
    .T(line_t)
  ) u_r (
    .clk_i,
    .rst_ni,
    .s_valid_i(m_axi_rvalid),
    .s_ready_o(m_axi_rready),
    .s_data_i (m_axi_rdata),
    .m_valid_o(rdat_valid_o),
    .m_ready_i(rdat_ready_i),
    .m_data_o (rdat_o)
  );

endmodule
