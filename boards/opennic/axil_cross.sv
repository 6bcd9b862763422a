// AXI4-Lite from one clock to another, whatever their phase: one access at a time, which stands still in registers while a bit
// that flips tells of it. It takes two to three clocks of each side to be seen there, so about 12 clocks of 125 MHz in all
// between 125 and 250 MHz.
//
// A reset holds both sides for longer than the bits take. An access that it meets is answered with SLVERR.
module axil_cross (
  /// The side of the bus. Its accesses have whole words.
  input  logic        s_clk_i,
  input  logic        s_rst_ni,
  input  logic [31:0] s_axil_awaddr,
  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic [1:0]  s_axil_bresp,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  input  logic [31:0] s_axil_araddr,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,
  /// The side of the registers.
  input  logic        m_clk_i,
  input  logic        m_rst_ni,
  output logic [31:0] m_axil_awaddr,
  output logic        m_axil_awvalid,
  input  logic        m_axil_awready,
  output logic [31:0] m_axil_wdata,
  output logic [3:0]  m_axil_wstrb,
  output logic        m_axil_wvalid,
  input  logic        m_axil_wready,
  input  logic [1:0]  m_axil_bresp,
  input  logic        m_axil_bvalid,
  output logic        m_axil_bready,
  output logic [31:0] m_axil_araddr,
  output logic        m_axil_arvalid,
  input  logic        m_axil_arready,
  input  logic [31:0] m_axil_rdata,
  input  logic [1:0]  m_axil_rresp,
  input  logic        m_axil_rvalid,
  output logic        m_axil_rready
);

  localparam logic [1:0] SlvErr = 2'b10;

  // ---------------------------------------------------------------- the bus' side
  // Answers outlive a reset: who asked waits for them.
  logic asked_q, asked_write_q, last_q, req_q, answer_q;
  logic [31:0] addr_q, data_q;
  (* ASYNC_REG = "TRUE" *) logic [1:0] ack_sync_q;
  logic take, write, answer;
  logic ack_q, resp_bad_q;
  logic [31:0] result_q;
  initial {asked_q, answer_q} = '0;

  assign write          = s_axil_awvalid && s_axil_wvalid && !(s_axil_arvalid && last_q);
  assign take           = s_rst_ni && !asked_q && !answer_q && (write || s_axil_arvalid);
  assign s_axil_awready = take && write;
  assign s_axil_wready  = take && write;
  assign s_axil_arready = take && !write;
  assign answer         = asked_q && (!s_rst_ni || ack_sync_q[1] == req_q);

  always_ff @(posedge s_clk_i) begin
    ack_sync_q <= s_rst_ni ? {ack_sync_q[0], ack_q} : '0;
    asked_q    <= take || (asked_q && !answer);
    answer_q   <= answer || (answer_q && !(asked_write_q ? s_axil_bready : s_axil_rready));
    if (!s_rst_ni) begin
      {req_q, last_q} <= '0;
    end else if (take) begin
      req_q  <= !req_q;
      last_q <= write;
    end
    if (take) begin
      asked_write_q <= write;
      addr_q        <= write ? s_axil_awaddr : s_axil_araddr;
      data_q        <= s_axil_wdata;
    end
    if (answer) begin
      s_axil_bresp <= (!s_rst_ni || resp_bad_q) ? SlvErr : '0;
      s_axil_rdata <= s_rst_ni ? result_q : '1;
    end
  end
  assign s_axil_rresp  = s_axil_bresp;
  assign s_axil_bvalid = answer_q && asked_write_q;
  assign s_axil_rvalid = answer_q && !asked_write_q;

  // ---------------------------------------------------------------- the registers' side
  (* ASYNC_REG = "TRUE" *) logic [1:0] req_sync_q;
  logic seen_q, busy_q, begins, done;
  assign begins = req_sync_q[1] != seen_q;
  assign done   = busy_q && (m_axil_bvalid || m_axil_rvalid);

  always_ff @(posedge m_clk_i) begin
    if (!m_rst_ni) begin
      {req_sync_q, seen_q, busy_q, ack_q} <= '0;
      {m_axil_awvalid, m_axil_wvalid, m_axil_arvalid} <= '0;
    end else begin
      req_sync_q     <= {req_sync_q[0], req_q};
      seen_q         <= req_sync_q[1];
      busy_q         <= begins || (busy_q && !done);
      m_axil_awvalid <= (begins && asked_write_q) || (m_axil_awvalid && !m_axil_awready);
      m_axil_wvalid  <= (begins && asked_write_q) || (m_axil_wvalid && !m_axil_wready);
      m_axil_arvalid <= (begins && !asked_write_q) || (m_axil_arvalid && !m_axil_arready);
      if (done) ack_q <= seen_q;
    end
    if (done) begin
      result_q   <= m_axil_rdata;
      resp_bad_q <= (m_axil_bvalid ? m_axil_bresp : m_axil_rresp) != '0;
    end
  end

  assign m_axil_awaddr = addr_q;
  assign m_axil_araddr = addr_q;
  assign m_axil_wdata  = data_q;
  assign m_axil_wstrb  = '1;
  assign m_axil_bready = busy_q;
  assign m_axil_rready = busy_q;

endmodule
