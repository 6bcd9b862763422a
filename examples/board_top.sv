// What a board adds to the card: the millisecond's pulse, and the constants of AXI4. The streams go to the board's MAC
// (rx, tx) and to its DMA engine (host, exc), AXI4-Lite to its bus, the six AXI4 ports to its memory.
module board_top #(
  parameter int unsigned ClockHz = 250_000_000,
  parameter int unsigned Conns = 1024,
  localparam int unsigned NumMem = 6
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  // The wire.
  input  logic [511:0]             s_axis_rx_tdata,
  input  logic [63:0]              s_axis_rx_tkeep,
  input  logic                     s_axis_rx_tvalid,
  output logic                     s_axis_rx_tready,
  input  logic                     s_axis_rx_tlast,
  output logic [511:0]             m_axis_tx_tdata,
  output logic [63:0]              m_axis_tx_tkeep,
  output logic                     m_axis_tx_tvalid,
  input  logic                     m_axis_tx_tready,
  output logic                     m_axis_tx_tlast,
  // Host software: frames, and requests.
  output logic [511:0]             m_axis_host_tdata,
  output logic [63:0]              m_axis_host_tkeep,
  output logic                     m_axis_host_tvalid,
  input  logic                     m_axis_host_tready,
  output logic                     m_axis_host_tlast,
  input  logic [511:0]             s_axis_host_tdata,
  input  logic [63:0]              s_axis_host_tkeep,
  input  logic                     s_axis_host_tvalid,
  output logic                     s_axis_host_tready,
  input  logic                     s_axis_host_tlast,
  output logic [511:0]             m_axis_exc_tdata,
  output logic [63:0]              m_axis_exc_tkeep,
  output logic                     m_axis_exc_tvalid,
  input  logic                     m_axis_exc_tready,
  output logic                     m_axis_exc_tlast,
  input  logic [511:0]             s_axis_exc_tdata,
  input  logic [63:0]              s_axis_exc_tkeep,
  input  logic                     s_axis_exc_tvalid,
  output logic                     s_axis_exc_tready,
  input  logic                     s_axis_exc_tlast,
  // Its registers.
  input  logic [11:0]              s_axil_awaddr,
  input  logic                     s_axil_awvalid,
  output logic                     s_axil_awready,
  input  logic [31:0]              s_axil_wdata,
  input  logic [3:0]               s_axil_wstrb,
  input  logic                     s_axil_wvalid,
  output logic                     s_axil_wready,
  output logic [1:0]               s_axil_bresp,
  output logic                     s_axil_bvalid,
  input  logic                     s_axil_bready,
  input  logic [11:0]              s_axil_araddr,
  input  logic                     s_axil_arvalid,
  output logic                     s_axil_arready,
  output logic [31:0]              s_axil_rdata,
  output logic [1:0]               s_axil_rresp,
  output logic                     s_axil_rvalid,
  input  logic                     s_axil_rready,
  // Memory: index (2), log (2), receive rings, transmit rings.
  output logic [NumMem-1:0][39:0]  m_axi_awaddr,
  output logic [NumMem-1:0][7:0]   m_axi_awlen,
  output logic [NumMem-1:0][2:0]   m_axi_awsize,
  output logic [NumMem-1:0][1:0]   m_axi_awburst,
  output logic [NumMem-1:0]        m_axi_awvalid,
  input  logic [NumMem-1:0]        m_axi_awready,
  output logic [NumMem-1:0][511:0] m_axi_wdata,
  output logic [NumMem-1:0][63:0]  m_axi_wstrb,
  output logic [NumMem-1:0]        m_axi_wlast,
  output logic [NumMem-1:0]        m_axi_wvalid,
  input  logic [NumMem-1:0]        m_axi_wready,
  input  logic [NumMem-1:0][1:0]   m_axi_bresp,
  input  logic [NumMem-1:0]        m_axi_bvalid,
  output logic [NumMem-1:0]        m_axi_bready,
  output logic [NumMem-1:0][39:0]  m_axi_araddr,
  output logic [NumMem-1:0][7:0]   m_axi_arlen,
  output logic [NumMem-1:0][2:0]   m_axi_arsize,
  output logic [NumMem-1:0][1:0]   m_axi_arburst,
  output logic [NumMem-1:0]        m_axi_arvalid,
  input  logic [NumMem-1:0]        m_axi_arready,
  input  logic [NumMem-1:0][511:0] m_axi_rdata,
  input  logic [NumMem-1:0][1:0]   m_axi_rresp,
  input  logic [NumMem-1:0]        m_axi_rlast,
  input  logic [NumMem-1:0]        m_axi_rvalid,
  output logic [NumMem-1:0]        m_axi_rready
);

  // A pulse each millisecond.
  logic tick_i;
  lib_millisecond #(
    .ClockHz(ClockHz)
  ) u_millisecond (
    .clk_i,
    .rst_ni,
    .tick_o(tick_i)
  );

  // One beat of 64 bytes each.
  assign {m_axi_awlen, m_axi_arlen} = '0;
  assign {m_axi_awsize, m_axi_arsize} = {2 * NumMem{3'd6}};
  assign {m_axi_awburst, m_axi_arburst} = {2 * NumMem{2'd1}};
  assign m_axi_wlast = '1;

  // This MAC does not wait, and this clock does not stop.
  // verilator lint_off PINCONNECTEMPTY
  card #(
    .Conns(Conns)
  ) u_card (
    .rx_room_o    (),
    .rx_syn_room_o(),
    .idle_o       (),
    .timers_o     (),
    .short_o      (),
    .*
  );
  // verilator lint_on PINCONNECTEMPTY

endmodule
