// One AXI4-Lite bus for several register files of 4 KiB each, one after another from address 0. One access at a time; it takes
// three clocks beside the register file's own. None is taken in a reset: the bus may leave it earlier. What is beyond the last
// window is answered with DECERR, a read with ones.
module axil_windows #(
  /// Register files.
  parameter int unsigned Windows = 2
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// No access begins; one is under way.
  input  logic                     hold_i,
  output logic                     busy_o,
  /// The bus.
  input  logic [31:0]              s_axil_awaddr,
  input  logic                     s_axil_awvalid,
  output logic                     s_axil_awready,
  input  logic [31:0]              s_axil_wdata,
  input  logic [3:0]               s_axil_wstrb,
  input  logic                     s_axil_wvalid,
  output logic                     s_axil_wready,
  output logic [1:0]               s_axil_bresp,
  output logic                     s_axil_bvalid,
  input  logic                     s_axil_bready,
  input  logic [31:0]              s_axil_araddr,
  input  logic                     s_axil_arvalid,
  output logic                     s_axil_arready,
  output logic [31:0]              s_axil_rdata,
  output logic [1:0]               s_axil_rresp,
  output logic                     s_axil_rvalid,
  input  logic                     s_axil_rready,
  /// The register files, element w at 0x1000 w.
  output logic [11:0]              m_axil_awaddr,
  output logic [Windows-1:0]       m_axil_awvalid,
  input  logic [Windows-1:0]       m_axil_awready,
  output logic [31:0]              m_axil_wdata,
  output logic [3:0]               m_axil_wstrb,
  output logic [Windows-1:0]       m_axil_wvalid,
  input  logic [Windows-1:0]       m_axil_wready,
  input  logic [Windows-1:0][1:0]  m_axil_bresp,
  input  logic [Windows-1:0]       m_axil_bvalid,
  output logic                     m_axil_bready,
  output logic [11:0]              m_axil_araddr,
  output logic [Windows-1:0]       m_axil_arvalid,
  input  logic [Windows-1:0]       m_axil_arready,
  input  logic [Windows-1:0][31:0] m_axil_rdata,
  input  logic [Windows-1:0][1:0]  m_axil_rresp,
  input  logic [Windows-1:0]       m_axil_rvalid,
  output logic                     m_axil_rready
);

  localparam logic [1:0] DecErr = 2'b11;
  typedef logic [Windows-1:0] windows_t;

  function automatic windows_t window(input logic [31:0] addr);
    for (int unsigned w = 0; w < Windows; w++) window[w] = addr[31:12] == 20'(w);
  endfunction

  // The access: its window, none if there is no such one.
  logic up_q, busy_q, write_q, last_q;
  windows_t window_q;
  logic [11:0] addr_q;
  logic take, wants_write, wants_read, write, done;

  assign wants_write    = s_axil_awvalid && s_axil_wvalid;
  assign wants_read     = s_axil_arvalid;
  // Of both the one that was not the last.
  assign write          = wants_write && !(wants_read && last_q);
  assign take           = up_q && !busy_q && !hold_i && (wants_write || wants_read);
  assign s_axil_awready = take && write;
  assign s_axil_wready  = take && write;
  assign s_axil_arready = take && !write;
  assign done           = (s_axil_bvalid && s_axil_bready) || (s_axil_rvalid && s_axil_rready);
  assign busy_o         = busy_q;

  // Its answer.
  logic [1:0] resp;
  logic [31:0] data;
  logic answered;
  always_comb begin
    {resp, data} = '0;
    for (int unsigned w = 0; w < Windows; w++) begin
      if (window_q[w]) resp |= write_q ? m_axil_bresp[w] : m_axil_rresp[w];
      if (window_q[w]) data |= m_axil_rdata[w];
    end
    if (window_q == '0) {resp, data} = {DecErr, 32'hffff_ffff};
  end
  assign answered = busy_q && !s_axil_bvalid && !s_axil_rvalid &&
      (window_q == '0 || (window_q & (write_q ? m_axil_bvalid : m_axil_rvalid)) != '0);

  always_ff @(posedge clk_i) begin
    up_q <= rst_ni;
    if (!rst_ni) begin
      {busy_q, last_q, s_axil_bvalid, s_axil_rvalid} <= '0;
      {m_axil_awvalid, m_axil_wvalid, m_axil_arvalid} <= '0;
    end else begin
      if (take) begin
        last_q         <= write;
        m_axil_awvalid <= write ? window(s_axil_awaddr) : '0;
        m_axil_wvalid  <= write ? window(s_axil_awaddr) : '0;
        m_axil_arvalid <= write ? '0 : window(s_axil_araddr);
      end else begin
        m_axil_awvalid <= m_axil_awvalid & ~m_axil_awready;
        m_axil_wvalid  <= m_axil_wvalid & ~m_axil_wready;
        m_axil_arvalid <= m_axil_arvalid & ~m_axil_arready;
      end
      busy_q <= take || (busy_q && !done);
      if (answered) {s_axil_bvalid, s_axil_rvalid} <= {write_q, !write_q};
      else if (done) {s_axil_bvalid, s_axil_rvalid} <= '0;
    end
    if (take) begin
      write_q     <= write;
      window_q    <= window(write ? s_axil_awaddr : s_axil_araddr);
      addr_q      <= write ? s_axil_awaddr[11:0] : s_axil_araddr[11:0];
      m_axil_wdata <= s_axil_wdata;
      m_axil_wstrb <= s_axil_wstrb;
    end
    if (answered) begin
      s_axil_bresp <= resp;
      s_axil_rresp <= resp;
      s_axil_rdata <= data;
    end
  end

  assign m_axil_awaddr = addr_q;
  assign m_axil_araddr = addr_q;
  assign m_axil_bready = answered;
  assign m_axil_rready = answered;

endmodule
