// The card with what every board adds: a pulse each millisecond, and its memory ports spread over HBM's. Streams and registers
// are those of `card`; element c of a stream's ports is the wire, the punt port, the punt queue, as in rtl/link.
//
// Port p of the card has the Ways channels of HBM from Ways * p on, each through the AXI port that is next to it.
module board_card #(
  /// Frequency of clk_i in Hz.
  parameter int unsigned ClockHz = 250_000_000,
  /// AXI ports of HBM for each of the card's: 1, 2 or 4.
  parameter int unsigned Ways = 4,
  /// Address bits of a channel of HBM: 29 where both stacks have 16 GiB, 28 for 8 GiB.
  parameter int unsigned ChannelBits = 29,
  localparam int unsigned NumMem = 6,
  localparam int unsigned NumHbm = NumMem * Ways
) (
  input  logic                     clk_i,
  /// Of the card, and of its memory's ports. The second comes once, at the start.
  input  logic                     rst_ni,
  input  logic                     mem_rst_ni,
  /// The card has room for one more segment, see card.sv.
  output logic                     rx_room_o,
  /// Frames to the card.
  input  logic [2:0][511:0]        s_axis_tdata,
  input  logic [2:0][63:0]         s_axis_tkeep,
  input  logic [2:0]               s_axis_tvalid,
  output logic [2:0]               s_axis_tready,
  input  logic [2:0]               s_axis_tlast,
  /// Frames of the card.
  output logic [2:0][511:0]        m_axis_tdata,
  output logic [2:0][63:0]         m_axis_tkeep,
  output logic [2:0]               m_axis_tvalid,
  input  logic [2:0]               m_axis_tready,
  output logic [2:0]               m_axis_tlast,
  /// Registers.
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
  /// HBM, element c = port c, see hbm_stacks.
  output logic [NumHbm-1:0]        m_hbm_awvalid,
  input  logic [NumHbm-1:0]        m_hbm_awready,
  output logic [NumHbm-1:0][33:0]  m_hbm_awaddr,
  output logic [NumHbm-1:0]        m_hbm_wvalid,
  input  logic [NumHbm-1:0]        m_hbm_wready,
  output logic [NumHbm-1:0][255:0] m_hbm_wdata,
  output logic [NumHbm-1:0][31:0]  m_hbm_wstrb,
  output logic [NumHbm-1:0]        m_hbm_wlast,
  input  logic [NumHbm-1:0]        m_hbm_bvalid,
  output logic [NumHbm-1:0]        m_hbm_bready,
  input  logic [NumHbm-1:0][1:0]   m_hbm_bresp,
  output logic [NumHbm-1:0]        m_hbm_arvalid,
  input  logic [NumHbm-1:0]        m_hbm_arready,
  output logic [NumHbm-1:0][33:0]  m_hbm_araddr,
  input  logic [NumHbm-1:0]        m_hbm_rvalid,
  output logic [NumHbm-1:0]        m_hbm_rready,
  input  logic [NumHbm-1:0][255:0] m_hbm_rdata,
  input  logic [NumHbm-1:0][1:0]   m_hbm_rresp,
  input  logic [NumHbm-1:0]        m_hbm_rlast
);

  logic tick;
  lib_millisecond #(
    .ClockHz(ClockHz)
  ) u_millisecond (
    .clk_i,
    .rst_ni,
    .tick_o(tick)
  );

  // ---------------------------------------------------------------- the card
  logic [NumMem-1:0] awvalid, awready, wvalid, wready, bvalid, bready;
  logic [NumMem-1:0] arvalid, arready, rvalid, rready, rlast;
  logic [NumMem-1:0][39:0] awaddr, araddr;
  logic [NumMem-1:0][511:0] wdata, rdata;
  logic [NumMem-1:0][63:0] wstrb;
  logic [NumMem-1:0][1:0] bresp, rresp;

  // This clock does not stop.
  // verilator lint_off PINCONNECTEMPTY
  card u_card (
    .clk_i,
    .rst_ni,
    .tick_i            (tick),
    .s_axis_rx_tdata   (s_axis_tdata[0]),
    .s_axis_rx_tkeep   (s_axis_tkeep[0]),
    .s_axis_rx_tvalid  (s_axis_tvalid[0]),
    .s_axis_rx_tready  (s_axis_tready[0]),
    .s_axis_rx_tlast   (s_axis_tlast[0]),
    .rx_room_o,
    .rx_syn_room_o     (),
    .m_axis_tx_tdata   (m_axis_tdata[0]),
    .m_axis_tx_tkeep   (m_axis_tkeep[0]),
    .m_axis_tx_tvalid  (m_axis_tvalid[0]),
    .m_axis_tx_tready  (m_axis_tready[0]),
    .m_axis_tx_tlast   (m_axis_tlast[0]),
    .m_axis_host_tdata (m_axis_tdata[1]),
    .m_axis_host_tkeep (m_axis_tkeep[1]),
    .m_axis_host_tvalid(m_axis_tvalid[1]),
    .m_axis_host_tready(m_axis_tready[1]),
    .m_axis_host_tlast (m_axis_tlast[1]),
    .s_axis_host_tdata (s_axis_tdata[1]),
    .s_axis_host_tkeep (s_axis_tkeep[1]),
    .s_axis_host_tvalid(s_axis_tvalid[1]),
    .s_axis_host_tready(s_axis_tready[1]),
    .s_axis_host_tlast (s_axis_tlast[1]),
    .m_axis_exc_tdata  (m_axis_tdata[2]),
    .m_axis_exc_tkeep  (m_axis_tkeep[2]),
    .m_axis_exc_tvalid (m_axis_tvalid[2]),
    .m_axis_exc_tready (m_axis_tready[2]),
    .m_axis_exc_tlast  (m_axis_tlast[2]),
    .s_axis_exc_tdata  (s_axis_tdata[2]),
    .s_axis_exc_tkeep  (s_axis_tkeep[2]),
    .s_axis_exc_tvalid (s_axis_tvalid[2]),
    .s_axis_exc_tready (s_axis_tready[2]),
    .s_axis_exc_tlast  (s_axis_tlast[2]),
    .s_axil_awaddr,
    .s_axil_awvalid,
    .s_axil_awready,
    .s_axil_wdata,
    .s_axil_wstrb,
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
    .m_axi_awvalid     (awvalid),
    .m_axi_awready     (awready),
    .m_axi_awaddr      (awaddr),
    .m_axi_wvalid      (wvalid),
    .m_axi_wready      (wready),
    .m_axi_wdata       (wdata),
    .m_axi_wstrb       (wstrb),
    .m_axi_bvalid      (bvalid),
    .m_axi_bresp       (bresp),
    .m_axi_bready      (bready),
    .m_axi_arvalid     (arvalid),
    .m_axi_arready     (arready),
    .m_axi_araddr      (araddr),
    .m_axi_rvalid      (rvalid),
    .m_axi_rready      (rready),
    .m_axi_rdata       (rdata),
    .m_axi_rresp       (rresp),
    .m_axi_rlast       (rlast),
    .idle_o            (),
    .timers_o          (),
    .short_o           ()
  );
  // verilator lint_on PINCONNECTEMPTY

  // ---------------------------------------------------------------- its memory
  for (genvar p = 0; p < NumMem; p++) begin : gen_port
    logic [Ways-1:0][ChannelBits-1:0] way_awaddr, way_araddr;
    mem_stripe #(
      .Ways    (Ways),
      .Low     (p < 4 ? 1 : 0),
      .AddrBits(ChannelBits)
    ) u_stripe (
      .clk_i,
      .rst_ni       (mem_rst_ni),
      .s_axi_awvalid(awvalid[p]),
      .s_axi_awready(awready[p]),
      .s_axi_awaddr (awaddr[p]),
      .s_axi_wvalid (wvalid[p]),
      .s_axi_wready (wready[p]),
      .s_axi_wdata  (wdata[p]),
      .s_axi_wstrb  (wstrb[p]),
      .s_axi_bvalid (bvalid[p]),
      .s_axi_bready (bready[p]),
      .s_axi_bresp  (bresp[p]),
      .s_axi_arvalid(arvalid[p]),
      .s_axi_arready(arready[p]),
      .s_axi_araddr (araddr[p]),
      .s_axi_rvalid (rvalid[p]),
      .s_axi_rready (rready[p]),
      .s_axi_rdata  (rdata[p]),
      .s_axi_rresp  (rresp[p]),
      .s_axi_rlast  (rlast[p]),
      .m_axi_awvalid(m_hbm_awvalid[Ways*p+:Ways]),
      .m_axi_awready(m_hbm_awready[Ways*p+:Ways]),
      .m_axi_awaddr (way_awaddr),
      .m_axi_wvalid (m_hbm_wvalid[Ways*p+:Ways]),
      .m_axi_wready (m_hbm_wready[Ways*p+:Ways]),
      .m_axi_wdata  (m_hbm_wdata[Ways*p+:Ways]),
      .m_axi_wstrb  (m_hbm_wstrb[Ways*p+:Ways]),
      .m_axi_wlast  (m_hbm_wlast[Ways*p+:Ways]),
      .m_axi_bvalid (m_hbm_bvalid[Ways*p+:Ways]),
      .m_axi_bready (m_hbm_bready[Ways*p+:Ways]),
      .m_axi_bresp  (m_hbm_bresp[Ways*p+:Ways]),
      .m_axi_arvalid(m_hbm_arvalid[Ways*p+:Ways]),
      .m_axi_arready(m_hbm_arready[Ways*p+:Ways]),
      .m_axi_araddr (way_araddr),
      .m_axi_rvalid (m_hbm_rvalid[Ways*p+:Ways]),
      .m_axi_rready (m_hbm_rready[Ways*p+:Ways]),
      .m_axi_rdata  (m_hbm_rdata[Ways*p+:Ways]),
      .m_axi_rresp  (m_hbm_rresp[Ways*p+:Ways]),
      .m_axi_rlast  (m_hbm_rlast[Ways*p+:Ways])
    );

    // The channel's number is above the address in it.
    for (genvar w = 0; w < Ways; w++) begin : gen_way
      localparam logic [33:0] Channel = 34'(Ways * p + w) << ChannelBits;
      assign m_hbm_awaddr[Ways*p+w] = Channel | 34'(way_awaddr[w]);
      assign m_hbm_araddr[Ways*p+w] = Channel | 34'(way_araddr[w]);
    end
  end

endmodule
