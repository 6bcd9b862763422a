// mem_zero with the two ports that it writes through.
module zero_tb
  import wirekv_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  laddr_t             base_i,
  input  logic [4:0]         bits_i,
  input  logic               enable_i,
  output logic               enable_o,
  output logic               busy_o,
  output logic               refused_o,
  input  logic [1:0]         wr_valid_i,
  output logic [1:0]         wr_ready_o,
  input  line_write_t        wr_i,
  output logic [1:0]         wr_done_o,
  output logic [1:0]         wr_bad_o,
  output logic [1:0]         m_axi_awvalid,
  input  logic [1:0]         m_axi_awready,
  output logic [1:0][39:0]   m_axi_awaddr,
  output logic [1:0]         m_axi_wvalid,
  input  logic [1:0]         m_axi_wready,
  output logic [1:0][511:0]  m_axi_wdata,
  output logic [1:0][63:0]   m_axi_wstrb,
  input  logic [1:0]         m_axi_bvalid,
  input  logic [1:0][1:0]    m_axi_bresp
);

  logic zero, zero_valid;
  laddr_t [1:0] zero_addr;
  logic [1:0] zero_bad, quiet;

  mem_zero dut (
    .clk_i,
    .rst_ni,
    .start_i,
    .base_i,
    .bits_i,
    .enable_i,
    .enable_o,
    .busy_o,
    .refused_o,
    .zero_o    (zero),
    .wr_valid_o(zero_valid),
    .wr_addr_o (zero_addr),
    .wr_ready_i(wr_ready_o),
    .quiet_i   (quiet),
    .bad_i     (zero_bad)
  );

  for (genvar p = 0; p < 2; p++) begin : gen_port
    mem_axi u_axi (
      .clk_i,
      .rst_ni,
      .wr_valid_i   (wr_valid_i[p]),
      .wr_ready_o   (wr_ready_o[p]),
      .wr_i,
      .wr_done_o    (wr_done_o[p]),
      .wr_bad_o     (wr_bad_o[p]),
      .zero_i       (zero),
      .zero_valid_i (zero_valid),
      .zero_addr_i  (zero_addr[p]),
      .zero_bad_o   (zero_bad[p]),
      .quiet_o      (quiet[p]),
      .rd_valid_i   (1'b0),
      .rd_ready_o   (),
      .rd_addr_i    ('0),
      .rdat_valid_o (),
      .rdat_o       (),
      .rdat_bad_o   (),
      .m_axi_awvalid(m_axi_awvalid[p]),
      .m_axi_awready(m_axi_awready[p]),
      .m_axi_awaddr (m_axi_awaddr[p]),
      .m_axi_wvalid (m_axi_wvalid[p]),
      .m_axi_wready (m_axi_wready[p]),
      .m_axi_wdata  (m_axi_wdata[p]),
      .m_axi_wstrb  (m_axi_wstrb[p]),
      .m_axi_bvalid (m_axi_bvalid[p]),
      .m_axi_bresp  (m_axi_bresp[p]),
      .m_axi_bready (),
      .m_axi_arvalid(),
      .m_axi_arready(1'b1),
      .m_axi_araddr (),
      .m_axi_rvalid (1'b0),
      .m_axi_rready (),
      .m_axi_rdata  ('0),
      .m_axi_rresp  ('0),
      .m_axi_rlast  (1'b1)
    );
  end

endmodule
