// An access to a register as AXI4-Lite has it. One at a time; latency that of the registers and 1.
module machine_axil
  import machine_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// An access. It stands until it is answered.
  input  logic        valid_i,
  input  io_req_t     req_i,
  output logic        ready_o,
  output logic [31:0] rdata_o,
  /// AXI4-Lite.
  output logic [11:0] m_axil_addr,
  output logic        m_axil_awvalid,
  input  logic        m_axil_awready,
  output logic [31:0] m_axil_wdata,
  output logic        m_axil_wvalid,
  input  logic        m_axil_wready,
  input  logic        m_axil_bvalid,
  output logic        m_axil_arvalid,
  input  logic        m_axil_arready,
  input  logic [31:0] m_axil_rdata,
  input  logic        m_axil_rvalid
);

  // What the registers have taken of it.
  logic aw_q, w_q, ar_q;
  assign m_axil_addr    = {req_i.word, 2'b00};
  assign m_axil_wdata   = req_i.data;
  assign m_axil_awvalid = valid_i && req_i.we && !aw_q;
  assign m_axil_wvalid  = valid_i && req_i.we && !w_q;
  assign m_axil_arvalid = valid_i && !req_i.we && !ar_q;
  assign ready_o        = m_axil_bvalid || m_axil_rvalid;
  assign rdata_o        = m_axil_rdata;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || ready_o) {aw_q, w_q, ar_q} <= '0;
    else begin
      if (m_axil_awvalid && m_axil_awready) aw_q <= 1'b1;
      if (m_axil_wvalid && m_axil_wready) w_q <= 1'b1;
      if (m_axil_arvalid && m_axil_arready) ar_q <= 1'b1;
    end
  end

endmodule
