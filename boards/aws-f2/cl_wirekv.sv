// WireKV as the custom logic of an AWS F2 instance: frames come from rings in the instance's memory and go there (rtl/link on
// PCIM); registers are behind OCL, the card's from 0, the link's from 0x1000; memory is HBM at 250 MHz.
//
// A function-level reset of the instance's drains the link, then resets card and link. The ports are those of the shell, by its
// names; docs/boards/AWS_F2.md lists those that are not used, and what they are tied to.
module cl_wirekv #(
  /// Of the function that the instance sees: device and vendor, subsystem and its vendor.
  parameter logic [31:0] Id0 = 32'hf010_1d0f,
  parameter logic [31:0] Id1 = 32'h1d51_fedc,
  /// AXI ports of HBM for each of the card's six.
  parameter int unsigned Ways = 4
) (
  /// 250 MHz of everything but HBM's reference; its reset; HBM's reference, 100 MHz.
  input  logic         clk_main_a0,
  input  logic         rst_main_n,
  input  logic         clk_hbm_ref,
  /// Function-level reset.
  input  logic         sh_cl_flr_assert,
  output logic         cl_sh_flr_done,
  /// State of the shell and of this logic.
  output logic [31:0]  cl_sh_status0,
  output logic [31:0]  cl_sh_status1,
  output logic [31:0]  cl_sh_status2,
  output logic [31:0]  cl_sh_id0,
  output logic [31:0]  cl_sh_id1,
  input  logic [31:0]  sh_cl_ctl0,
  input  logic [31:0]  sh_cl_ctl1,
  input  logic [31:0]  sh_cl_ctl2,
  input  logic [15:0]  sh_cl_status_vdip,
  output logic [15:0]  cl_sh_status_vled,
  input  logic [1:0]   sh_cl_pwr_state,
  output logic         cl_sh_dma_wr_full,
  output logic         cl_sh_dma_rd_full,
  /// PCIM: the instance's memory, by its physical addresses (AXI4).
  output logic [15:0]  cl_sh_pcim_awid,
  output logic [63:0]  cl_sh_pcim_awaddr,
  output logic [7:0]   cl_sh_pcim_awlen,
  output logic [2:0]   cl_sh_pcim_awsize,
  output logic [1:0]   cl_sh_pcim_awburst,
  output logic [3:0]   cl_sh_pcim_awcache,
  output logic         cl_sh_pcim_awlock,
  output logic [2:0]   cl_sh_pcim_awprot,
  output logic [3:0]   cl_sh_pcim_awqos,
  output logic [54:0]  cl_sh_pcim_awuser,
  output logic         cl_sh_pcim_awvalid,
  input  logic         sh_cl_pcim_awready,
  output logic [15:0]  cl_sh_pcim_wid,
  output logic [511:0] cl_sh_pcim_wdata,
  output logic [63:0]  cl_sh_pcim_wstrb,
  output logic         cl_sh_pcim_wlast,
  output logic [63:0]  cl_sh_pcim_wuser,
  output logic         cl_sh_pcim_wvalid,
  input  logic         sh_cl_pcim_wready,
  input  logic [15:0]  sh_cl_pcim_bid,
  input  logic [1:0]   sh_cl_pcim_bresp,
  input  logic         sh_cl_pcim_bvalid,
  output logic         cl_sh_pcim_bready,
  output logic [15:0]  cl_sh_pcim_arid,
  output logic [63:0]  cl_sh_pcim_araddr,
  output logic [7:0]   cl_sh_pcim_arlen,
  output logic [2:0]   cl_sh_pcim_arsize,
  output logic [1:0]   cl_sh_pcim_arburst,
  output logic [3:0]   cl_sh_pcim_arcache,
  output logic         cl_sh_pcim_arlock,
  output logic [2:0]   cl_sh_pcim_arprot,
  output logic [3:0]   cl_sh_pcim_arqos,
  output logic [54:0]  cl_sh_pcim_aruser,
  output logic         cl_sh_pcim_arvalid,
  input  logic         sh_cl_pcim_arready,
  input  logic [15:0]  sh_cl_pcim_rid,
  input  logic [511:0] sh_cl_pcim_rdata,
  input  logic [1:0]   sh_cl_pcim_rresp,
  input  logic         sh_cl_pcim_rlast,
  input  logic [63:0]  sh_cl_pcim_ruser,
  input  logic         sh_cl_pcim_rvalid,
  output logic         cl_sh_pcim_rready,
  input  logic [1:0]   cfg_max_payload,
  input  logic [2:0]   cfg_max_read_req,
  /// Pins of a DDR4 module, for sh_ddr.
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
  output logic         RST_DIMM_N,
  input  logic [7:0]   sh_cl_ddr_stat_addr,
  input  logic [31:0]  sh_cl_ddr_stat_wdata,
  input  logic         sh_cl_ddr_stat_wr,
  input  logic         sh_cl_ddr_stat_rd,
  input  logic [2:0]   sh_cl_ddr_stat_user,
  output logic         cl_sh_ddr_stat_ack,
  output logic [31:0]  cl_sh_ddr_stat_rdata,
  output logic [7:0]   cl_sh_ddr_stat_int,
  /// Interrupts.
  output logic [15:0]  cl_sh_apppf_irq_req,
  input  logic [15:0]  sh_cl_apppf_irq_ack,
  /// PCIS: BAR4 of the application's function (AXI4).
  input  logic [15:0]  sh_cl_dma_pcis_awid,
  input  logic [63:0]  sh_cl_dma_pcis_awaddr,
  input  logic [7:0]   sh_cl_dma_pcis_awlen,
  input  logic [2:0]   sh_cl_dma_pcis_awsize,
  input  logic [1:0]   sh_cl_dma_pcis_awburst,
  input  logic [3:0]   sh_cl_dma_pcis_awcache,
  input  logic         sh_cl_dma_pcis_awlock,
  input  logic [2:0]   sh_cl_dma_pcis_awprot,
  input  logic [3:0]   sh_cl_dma_pcis_awqos,
  input  logic [54:0]  sh_cl_dma_pcis_awuser,
  input  logic         sh_cl_dma_pcis_awvalid,
  output logic         cl_sh_dma_pcis_awready,
  input  logic [15:0]  sh_cl_dma_pcis_wid,
  input  logic [511:0] sh_cl_dma_pcis_wdata,
  input  logic [63:0]  sh_cl_dma_pcis_wstrb,
  input  logic         sh_cl_dma_pcis_wlast,
  input  logic [63:0]  sh_cl_dma_pcis_wuser,
  input  logic         sh_cl_dma_pcis_wvalid,
  output logic         cl_sh_dma_pcis_wready,
  output logic [15:0]  cl_sh_dma_pcis_bid,
  output logic [1:0]   cl_sh_dma_pcis_bresp,
  output logic         cl_sh_dma_pcis_bvalid,
  input  logic         sh_cl_dma_pcis_bready,
  input  logic [15:0]  sh_cl_dma_pcis_arid,
  input  logic [63:0]  sh_cl_dma_pcis_araddr,
  input  logic [7:0]   sh_cl_dma_pcis_arlen,
  input  logic [2:0]   sh_cl_dma_pcis_arsize,
  input  logic [1:0]   sh_cl_dma_pcis_arburst,
  input  logic [3:0]   sh_cl_dma_pcis_arcache,
  input  logic         sh_cl_dma_pcis_arlock,
  input  logic [2:0]   sh_cl_dma_pcis_arprot,
  input  logic [3:0]   sh_cl_dma_pcis_arqos,
  input  logic [54:0]  sh_cl_dma_pcis_aruser,
  input  logic         sh_cl_dma_pcis_arvalid,
  output logic         cl_sh_dma_pcis_arready,
  output logic [15:0]  cl_sh_dma_pcis_rid,
  output logic [511:0] cl_sh_dma_pcis_rdata,
  output logic [1:0]   cl_sh_dma_pcis_rresp,
  output logic         cl_sh_dma_pcis_rlast,
  output logic [63:0]  cl_sh_dma_pcis_ruser,
  output logic         cl_sh_dma_pcis_rvalid,
  input  logic         sh_cl_dma_pcis_rready,
  /// OCL: BAR0 of the application's function (AXI4-Lite).
  input  logic [31:0]  ocl_cl_awaddr,
  input  logic [54:0]  ocl_cl_awuser,
  input  logic         ocl_cl_awvalid,
  output logic         cl_ocl_awready,
  input  logic [31:0]  ocl_cl_wdata,
  input  logic [3:0]   ocl_cl_wstrb,
  input  logic         ocl_cl_wvalid,
  output logic         cl_ocl_wready,
  output logic [1:0]   cl_ocl_bresp,
  output logic         cl_ocl_bvalid,
  input  logic         ocl_cl_bready,
  input  logic [31:0]  ocl_cl_araddr,
  input  logic [54:0]  ocl_cl_aruser,
  input  logic         ocl_cl_arvalid,
  output logic         cl_ocl_arready,
  output logic [31:0]  cl_ocl_rdata,
  output logic [1:0]   cl_ocl_rresp,
  output logic         cl_ocl_rvalid,
  input  logic         ocl_cl_rready,
  /// SDA: BAR4 of the management function (AXI4-Lite).
  input  logic [31:0]  sda_cl_awaddr,
  input  logic         sda_cl_awvalid,
  output logic         cl_sda_awready,
  input  logic [31:0]  sda_cl_wdata,
  input  logic [3:0]   sda_cl_wstrb,
  input  logic         sda_cl_wvalid,
  output logic         cl_sda_wready,
  output logic [1:0]   cl_sda_bresp,
  output logic         cl_sda_bvalid,
  input  logic         sda_cl_bready,
  input  logic [31:0]  sda_cl_araddr,
  input  logic         sda_cl_arvalid,
  output logic         cl_sda_arready,
  output logic [31:0]  cl_sda_rdata,
  output logic [1:0]   cl_sda_rresp,
  output logic         cl_sda_rvalid,
  input  logic         sda_cl_rready,
  /// JTAG of a debug bridge.
  input  logic         drck,
  input  logic         shift,
  input  logic         tdi,
  input  logic         update,
  input  logic         sel,
  output logic         tdo,
  input  logic         tms,
  input  logic         tck,
  input  logic         runtest,
  input  logic         reset,
  input  logic         capture,
  input  logic         bscanid_en,
  /// Counters of 4 ns.
  input  logic [63:0]  sh_cl_glcount0,
  input  logic [63:0]  sh_cl_glcount1,
  /// The shell's monitor of each stack of HBM, in clk_hbm_ref.
  input  logic         hbm_apb_preset_n_1,
  output logic [21:0]  hbm_apb_paddr_1,
  output logic [2:0]   hbm_apb_pprot_1,
  output logic         hbm_apb_psel_1,
  output logic         hbm_apb_penable_1,
  output logic         hbm_apb_pwrite_1,
  output logic [31:0]  hbm_apb_pwdata_1,
  output logic [3:0]   hbm_apb_pstrb_1,
  output logic         hbm_apb_pready_1,
  output logic [31:0]  hbm_apb_prdata_1,
  output logic         hbm_apb_pslverr_1,
  input  logic         hbm_apb_preset_n_0,
  output logic [21:0]  hbm_apb_paddr_0,
  output logic [2:0]   hbm_apb_pprot_0,
  output logic         hbm_apb_psel_0,
  output logic         hbm_apb_penable_0,
  output logic         hbm_apb_pwrite_0,
  output logic [31:0]  hbm_apb_pwdata_0,
  output logic [3:0]   hbm_apb_pstrb_0,
  output logic         hbm_apb_pready_0,
  output logic [31:0]  hbm_apb_prdata_0,
  output logic         hbm_apb_pslverr_0,
  /// PCIe between cards.
  input  logic         PCIE_EP_PERSTN,
  input  logic         PCIE_EP_REF_CLK_P,
  input  logic         PCIE_EP_REF_CLK_N,
  output logic [7:0]   PCIE_EP_TXP,
  output logic [7:0]   PCIE_EP_TXN,
  input  logic [7:0]   PCIE_EP_RXP,
  input  logic [7:0]   PCIE_EP_RXN,
  output logic         PCIE_RP_PERSTN,
  input  logic         PCIE_RP_REF_CLK_P,
  input  logic         PCIE_RP_REF_CLK_N,
  output logic [7:0]   PCIE_RP_TXP,
  output logic [7:0]   PCIE_RP_TXN,
  input  logic [7:0]   PCIE_RP_RXP,
  input  logic [7:0]   PCIE_RP_RXN
);

  localparam int unsigned NumHbm = 6 * Ways;

  // ---------------------------------------------------------------- resets
  // The shell's; that of card and link, which is also what a function-level reset ends with; memory's, once.
  logic [1:0] sync_q;
  logic rst_nq, drained, hold, busy, flr_q, up_q;
  initial {sync_q, rst_nq, up_q} = '0;
  assign hold = drained || flr_q;
  always_ff @(posedge clk_main_a0) begin
    sync_q <= {sync_q[0], rst_main_n};
    rst_nq <= sync_q[1] && !(drained && !busy) && !(flr_q && sh_cl_flr_assert);
    flr_q  <= sync_q[1] && ((drained && !busy) || (flr_q && sh_cl_flr_assert));
    up_q   <= up_q || sync_q[1];
  end
  assign cl_sh_flr_done = flr_q;

  // ---------------------------------------------------------------- registers
  logic [11:0] csr_awaddr, csr_araddr;
  logic [31:0] csr_wdata;
  logic [3:0] csr_wstrb;
  logic [1:0] csr_awvalid, csr_awready, csr_wvalid, csr_wready, csr_bvalid;
  logic [1:0] csr_arvalid, csr_arready, csr_rvalid;
  logic [1:0][1:0] csr_bresp, csr_rresp;
  logic [1:0][31:0] csr_rdata;
  logic csr_bready, csr_rready;
  axil_windows #(
    .Windows(2)
  ) u_windows (
    .clk_i         (clk_main_a0),
    .rst_ni        (sync_q[1]),
    .hold_i        (hold),
    .busy_o        (busy),
    .s_axil_awaddr (ocl_cl_awaddr),
    .s_axil_awvalid(ocl_cl_awvalid),
    .s_axil_awready(cl_ocl_awready),
    .s_axil_wdata  (ocl_cl_wdata),
    .s_axil_wstrb  (ocl_cl_wstrb),
    .s_axil_wvalid (ocl_cl_wvalid),
    .s_axil_wready (cl_ocl_wready),
    .s_axil_bresp  (cl_ocl_bresp),
    .s_axil_bvalid (cl_ocl_bvalid),
    .s_axil_bready (ocl_cl_bready),
    .s_axil_araddr (ocl_cl_araddr),
    .s_axil_arvalid(ocl_cl_arvalid),
    .s_axil_arready(cl_ocl_arready),
    .s_axil_rdata  (cl_ocl_rdata),
    .s_axil_rresp  (cl_ocl_rresp),
    .s_axil_rvalid (cl_ocl_rvalid),
    .s_axil_rready (ocl_cl_rready),
    .m_axil_awaddr (csr_awaddr),
    .m_axil_awvalid(csr_awvalid),
    .m_axil_awready(csr_awready),
    .m_axil_wdata  (csr_wdata),
    .m_axil_wstrb  (csr_wstrb),
    .m_axil_wvalid (csr_wvalid),
    .m_axil_wready (csr_wready),
    .m_axil_bresp  (csr_bresp),
    .m_axil_bvalid (csr_bvalid),
    .m_axil_bready (csr_bready),
    .m_axil_araddr (csr_araddr),
    .m_axil_arvalid(csr_arvalid),
    .m_axil_arready(csr_arready),
    .m_axil_rdata  (csr_rdata),
    .m_axil_rresp  (csr_rresp),
    .m_axil_rvalid (csr_rvalid),
    .m_axil_rready (csr_rready)
  );

  // ---------------------------------------------------------------- the link
  logic rx_room;
  logic [2:0][511:0] down_data, up_data;
  logic [2:0][63:0] down_keep, up_keep;
  logic [2:0] down_valid, down_ready, down_last, up_valid, up_ready, up_last;
  logic [2:0] awid;
  logic [5:0] arid;
  link u_link (
    .clk_i         (clk_main_a0),
    .rst_ni        (rst_nq),
    .flr_assert_i  (sh_cl_flr_assert),
    .flr_done_o    (drained),
    .s_axil_awaddr (csr_awaddr),
    .s_axil_awvalid(csr_awvalid[1]),
    .s_axil_awready(csr_awready[1]),
    .s_axil_wdata  (csr_wdata),
    .s_axil_wstrb  (csr_wstrb),
    .s_axil_wvalid (csr_wvalid[1]),
    .s_axil_wready (csr_wready[1]),
    .s_axil_bresp  (csr_bresp[1]),
    .s_axil_bvalid (csr_bvalid[1]),
    .s_axil_bready (csr_bready),
    .s_axil_araddr (csr_araddr),
    .s_axil_arvalid(csr_arvalid[1]),
    .s_axil_arready(csr_arready[1]),
    .s_axil_rdata  (csr_rdata[1]),
    .s_axil_rresp  (csr_rresp[1]),
    .s_axil_rvalid (csr_rvalid[1]),
    .s_axil_rready (csr_rready),
    .m_axi_awid    (awid),
    .m_axi_awaddr  (cl_sh_pcim_awaddr),
    .m_axi_awlen   (cl_sh_pcim_awlen),
    .m_axi_awsize  (cl_sh_pcim_awsize),
    .m_axi_awburst (cl_sh_pcim_awburst),
    .m_axi_awvalid (cl_sh_pcim_awvalid),
    .m_axi_awready (sh_cl_pcim_awready),
    .m_axi_wdata   (cl_sh_pcim_wdata),
    .m_axi_wstrb   (cl_sh_pcim_wstrb),
    .m_axi_wlast   (cl_sh_pcim_wlast),
    .m_axi_wvalid  (cl_sh_pcim_wvalid),
    .m_axi_wready  (sh_cl_pcim_wready),
    .m_axi_bid     (sh_cl_pcim_bid[2:0]),
    .m_axi_bresp   (sh_cl_pcim_bresp),
    .m_axi_bvalid  (sh_cl_pcim_bvalid),
    .m_axi_bready  (cl_sh_pcim_bready),
    .m_axi_arid    (arid),
    .m_axi_araddr  (cl_sh_pcim_araddr),
    .m_axi_arlen   (cl_sh_pcim_arlen),
    .m_axi_arsize  (cl_sh_pcim_arsize),
    .m_axi_arburst (cl_sh_pcim_arburst),
    .m_axi_arvalid (cl_sh_pcim_arvalid),
    .m_axi_arready (sh_cl_pcim_arready),
    .m_axi_rid     (sh_cl_pcim_rid[5:0]),
    .m_axi_rdata   (sh_cl_pcim_rdata),
    .m_axi_rresp   (sh_cl_pcim_rresp),
    .m_axi_rlast   (sh_cl_pcim_rlast),
    .m_axi_rvalid  (sh_cl_pcim_rvalid),
    .m_axi_rready  (cl_sh_pcim_rready),
    .m_axis_tdata  (down_data),
    .m_axis_tkeep  (down_keep),
    .m_axis_tvalid (down_valid),
    .m_axis_tready (down_ready),
    .m_axis_tlast  (down_last),
    .room_i        ({2'b11, rx_room}),
    .s_axis_tdata  (up_data),
    .s_axis_tkeep  (up_keep),
    .s_axis_tvalid (up_valid),
    .s_axis_tready (up_ready),
    .s_axis_tlast  (up_last)
  );
  assign cl_sh_pcim_awid = 16'(awid);
  assign cl_sh_pcim_arid = 16'(arid);

  // ---------------------------------------------------------------- the card and its memory
  logic [NumHbm-1:0] hbm_awvalid, hbm_awready, hbm_wvalid, hbm_wready, hbm_wlast;
  logic [NumHbm-1:0] hbm_bvalid, hbm_bready, hbm_arvalid, hbm_arready;
  logic [NumHbm-1:0] hbm_rvalid, hbm_rready, hbm_rlast;
  logic [NumHbm-1:0][33:0] hbm_awaddr, hbm_araddr;
  logic [NumHbm-1:0][255:0] hbm_wdata, hbm_rdata;
  logic [NumHbm-1:0][31:0] hbm_wstrb;
  logic [NumHbm-1:0][1:0] hbm_bresp, hbm_rresp;
  board_card #(
    .Ways       (Ways),
    .ChannelBits(29)
  ) u_card (
    .clk_i         (clk_main_a0),
    .rst_ni        (rst_nq),
    .mem_rst_ni    (up_q),
    .rx_room_o     (rx_room),
    .s_axis_tdata  (down_data),
    .s_axis_tkeep  (down_keep),
    .s_axis_tvalid (down_valid),
    .s_axis_tready (down_ready),
    .s_axis_tlast  (down_last),
    .m_axis_tdata  (up_data),
    .m_axis_tkeep  (up_keep),
    .m_axis_tvalid (up_valid),
    .m_axis_tready (up_ready),
    .m_axis_tlast  (up_last),
    .s_axil_awaddr (csr_awaddr),
    .s_axil_awvalid(csr_awvalid[0]),
    .s_axil_awready(csr_awready[0]),
    .s_axil_wdata  (csr_wdata),
    .s_axil_wstrb  (csr_wstrb),
    .s_axil_wvalid (csr_wvalid[0]),
    .s_axil_wready (csr_wready[0]),
    .s_axil_bresp  (csr_bresp[0]),
    .s_axil_bvalid (csr_bvalid[0]),
    .s_axil_bready (csr_bready),
    .s_axil_araddr (csr_araddr),
    .s_axil_arvalid(csr_arvalid[0]),
    .s_axil_arready(csr_arready[0]),
    .s_axil_rdata  (csr_rdata[0]),
    .s_axil_rresp  (csr_rresp[0]),
    .s_axil_rvalid (csr_rvalid[0]),
    .s_axil_rready (csr_rready),
    .m_hbm_awvalid (hbm_awvalid),
    .m_hbm_awready (hbm_awready),
    .m_hbm_awaddr  (hbm_awaddr),
    .m_hbm_wvalid  (hbm_wvalid),
    .m_hbm_wready  (hbm_wready),
    .m_hbm_wdata   (hbm_wdata),
    .m_hbm_wstrb   (hbm_wstrb),
    .m_hbm_wlast   (hbm_wlast),
    .m_hbm_bvalid  (hbm_bvalid),
    .m_hbm_bready  (hbm_bready),
    .m_hbm_bresp   (hbm_bresp),
    .m_hbm_arvalid (hbm_arvalid),
    .m_hbm_arready (hbm_arready),
    .m_hbm_araddr  (hbm_araddr),
    .m_hbm_rvalid  (hbm_rvalid),
    .m_hbm_rready  (hbm_rready),
    .m_hbm_rdata   (hbm_rdata),
    .m_hbm_rresp   (hbm_rresp),
    .m_hbm_rlast   (hbm_rlast)
  );

  logic hbm_ready;
  hbm_stacks #(
    .Used(NumHbm)
  ) u_hbm (
    .clk_i        (clk_main_a0),
    .ref_clk_i    (clk_hbm_ref),
    .up_i         (up_q),
    .ready_o      (hbm_ready),
    .s_axi_awvalid(hbm_awvalid),
    .s_axi_awready(hbm_awready),
    .s_axi_awaddr (hbm_awaddr),
    .s_axi_wvalid (hbm_wvalid),
    .s_axi_wready (hbm_wready),
    .s_axi_wdata  (hbm_wdata),
    .s_axi_wstrb  (hbm_wstrb),
    .s_axi_wlast  (hbm_wlast),
    .s_axi_bvalid (hbm_bvalid),
    .s_axi_bready (hbm_bready),
    .s_axi_bresp  (hbm_bresp),
    .s_axi_arvalid(hbm_arvalid),
    .s_axi_arready(hbm_arready),
    .s_axi_araddr (hbm_araddr),
    .s_axi_rvalid (hbm_rvalid),
    .s_axi_rready (hbm_rready),
    .s_axi_rdata  (hbm_rdata),
    .s_axi_rresp  (hbm_rresp),
    .s_axi_rlast  (hbm_rlast),
    .mon_preset_ni({hbm_apb_preset_n_1, hbm_apb_preset_n_0}),
    .mon_paddr_o  ({hbm_apb_paddr_1, hbm_apb_paddr_0}),
    .mon_psel_o   ({hbm_apb_psel_1, hbm_apb_psel_0}),
    .mon_penable_o({hbm_apb_penable_1, hbm_apb_penable_0}),
    .mon_pwrite_o ({hbm_apb_pwrite_1, hbm_apb_pwrite_0}),
    .mon_pwdata_o ({hbm_apb_pwdata_1, hbm_apb_pwdata_0}),
    .mon_pready_o ({hbm_apb_pready_1, hbm_apb_pready_0}),
    .mon_prdata_o ({hbm_apb_prdata_1, hbm_apb_prdata_0}),
    .mon_pslverr_o({hbm_apb_pslverr_1, hbm_apb_pslverr_0})
  );
  assign {hbm_apb_pprot_1, hbm_apb_pprot_0, hbm_apb_pstrb_1, hbm_apb_pstrb_0} = '0;

  // ---------------------------------------------------------------- what is not used
  assign cl_sh_id0         = Id0;
  assign cl_sh_id1         = Id1;
  assign cl_sh_status0     = 32'(hbm_ready);
  assign cl_sh_status1     = '0;
  assign cl_sh_status2     = '0;
  assign cl_sh_status_vled = 16'(hbm_ready);

  assign {cl_sh_pcim_awcache, cl_sh_pcim_awlock, cl_sh_pcim_awprot, cl_sh_pcim_awqos} = '0;
  assign {cl_sh_pcim_awuser, cl_sh_pcim_wid, cl_sh_pcim_wuser} = '0;
  assign {cl_sh_pcim_arcache, cl_sh_pcim_arlock, cl_sh_pcim_arprot, cl_sh_pcim_arqos} = '0;
  assign cl_sh_pcim_aruser = '0;

  // The shell ends accesses to PCIS and SDA by itself.
  assign {cl_sh_dma_wr_full, cl_sh_dma_rd_full} = '0;
  assign {cl_sh_dma_pcis_awready, cl_sh_dma_pcis_wready, cl_sh_dma_pcis_arready} = '0;
  assign {cl_sh_dma_pcis_bid, cl_sh_dma_pcis_bresp, cl_sh_dma_pcis_bvalid} = '0;
  assign {cl_sh_dma_pcis_rid, cl_sh_dma_pcis_rdata, cl_sh_dma_pcis_rresp} = '0;
  assign {cl_sh_dma_pcis_rlast, cl_sh_dma_pcis_ruser, cl_sh_dma_pcis_rvalid} = '0;
  assign {cl_sda_awready, cl_sda_wready, cl_sda_bresp, cl_sda_bvalid} = '0;
  assign {cl_sda_arready, cl_sda_rdata, cl_sda_rresp, cl_sda_rvalid} = '0;

  assign cl_sh_apppf_irq_req = '0;
  assign tdo = 1'b0;
  assign {PCIE_EP_TXP, PCIE_EP_TXN, PCIE_RP_PERSTN, PCIE_RP_TXP, PCIE_RP_TXN} = '0;

  // The shell wants an sh_ddr, even without a controller in it: it holds the module's pins.
  assign cl_sh_ddr_stat_ack   = 1'b1;
  assign cl_sh_ddr_stat_rdata = '0;
  assign cl_sh_ddr_stat_int   = '0;
  // verilator lint_off PINCONNECTEMPTY
  sh_ddr #(
    .DDR_PRESENT(0)
  ) u_ddr (
    .clk                   (clk_main_a0),
    .rst_n                 (1'b1),
    .stat_clk              (clk_main_a0),
    .stat_rst_n            (1'b1),
    .CLK_DIMM_DP,
    .CLK_DIMM_DN,
    .M_ACT_N,
    .M_MA,
    .M_BA,
    .M_BG,
    .M_CKE,
    .M_ODT,
    .M_CS_N,
    .M_CLK_DN,
    .M_CLK_DP,
    .M_PAR,
    .M_DQ,
    .M_ECC,
    .M_DQS_DP,
    .M_DQS_DN,
    .cl_RST_DIMM_N         (RST_DIMM_N),
    .cl_sh_ddr_axi_awid    ('0),
    .cl_sh_ddr_axi_awaddr  ('0),
    .cl_sh_ddr_axi_awlen   ('0),
    .cl_sh_ddr_axi_awsize  ('0),
    .cl_sh_ddr_axi_awvalid (1'b0),
    .cl_sh_ddr_axi_awburst ('0),
    .cl_sh_ddr_axi_awuser  ('0),
    .cl_sh_ddr_axi_awready (),
    .cl_sh_ddr_axi_wdata   ('0),
    .cl_sh_ddr_axi_wstrb   ('0),
    .cl_sh_ddr_axi_wlast   (1'b0),
    .cl_sh_ddr_axi_wvalid  (1'b0),
    .cl_sh_ddr_axi_wready  (),
    .cl_sh_ddr_axi_bid     (),
    .cl_sh_ddr_axi_bresp   (),
    .cl_sh_ddr_axi_bvalid  (),
    .cl_sh_ddr_axi_bready  (1'b0),
    .cl_sh_ddr_axi_arid    ('0),
    .cl_sh_ddr_axi_araddr  ('0),
    .cl_sh_ddr_axi_arlen   ('0),
    .cl_sh_ddr_axi_arsize  ('0),
    .cl_sh_ddr_axi_arvalid (1'b0),
    .cl_sh_ddr_axi_arburst ('0),
    .cl_sh_ddr_axi_aruser  ('0),
    .cl_sh_ddr_axi_arready (),
    .cl_sh_ddr_axi_rid     (),
    .cl_sh_ddr_axi_rdata   (),
    .cl_sh_ddr_axi_rresp   (),
    .cl_sh_ddr_axi_rlast   (),
    .cl_sh_ddr_axi_rvalid  (),
    .cl_sh_ddr_axi_rready  (1'b0),
    .sh_ddr_stat_bus_addr  ('0),
    .sh_ddr_stat_bus_wdata ('0),
    .sh_ddr_stat_bus_wr    (1'b0),
    .sh_ddr_stat_bus_rd    (1'b0),
    .sh_ddr_stat_bus_ack   (),
    .sh_ddr_stat_bus_rdata (),
    .ddr_sh_stat_int       (),
    .sh_cl_ddr_is_ready    ()
  );
  // verilator lint_on PINCONNECTEMPTY

  logic unused_inputs;
  assign unused_inputs = ^{
    sh_cl_ctl0, sh_cl_ctl1, sh_cl_ctl2, sh_cl_status_vdip, sh_cl_pwr_state,
    sh_cl_pcim_bid, sh_cl_pcim_rid, sh_cl_pcim_ruser, cfg_max_payload, cfg_max_read_req,
    sh_cl_ddr_stat_addr, sh_cl_ddr_stat_wdata, sh_cl_ddr_stat_wr, sh_cl_ddr_stat_rd,
    sh_cl_ddr_stat_user, sh_cl_apppf_irq_ack,
    sh_cl_dma_pcis_awid, sh_cl_dma_pcis_awaddr, sh_cl_dma_pcis_awlen, sh_cl_dma_pcis_awsize,
    sh_cl_dma_pcis_awburst, sh_cl_dma_pcis_awcache, sh_cl_dma_pcis_awlock, sh_cl_dma_pcis_awprot,
    sh_cl_dma_pcis_awqos, sh_cl_dma_pcis_awuser, sh_cl_dma_pcis_awvalid,
    sh_cl_dma_pcis_wid, sh_cl_dma_pcis_wdata, sh_cl_dma_pcis_wstrb, sh_cl_dma_pcis_wlast,
    sh_cl_dma_pcis_wuser, sh_cl_dma_pcis_wvalid, sh_cl_dma_pcis_bready,
    sh_cl_dma_pcis_arid, sh_cl_dma_pcis_araddr, sh_cl_dma_pcis_arlen, sh_cl_dma_pcis_arsize,
    sh_cl_dma_pcis_arburst, sh_cl_dma_pcis_arcache, sh_cl_dma_pcis_arlock, sh_cl_dma_pcis_arprot,
    sh_cl_dma_pcis_arqos, sh_cl_dma_pcis_aruser, sh_cl_dma_pcis_arvalid, sh_cl_dma_pcis_rready,
    ocl_cl_awuser, ocl_cl_aruser,
    sda_cl_awaddr, sda_cl_awvalid, sda_cl_wdata, sda_cl_wstrb, sda_cl_wvalid, sda_cl_bready,
    sda_cl_araddr, sda_cl_arvalid, sda_cl_rready,
    drck, shift, tdi, update, sel, tms, tck, runtest, reset, capture, bscanid_en,
    sh_cl_glcount0, sh_cl_glcount1,
    PCIE_EP_PERSTN, PCIE_EP_REF_CLK_P, PCIE_EP_REF_CLK_N, PCIE_EP_RXP, PCIE_EP_RXN,
    PCIE_RP_REF_CLK_P, PCIE_RP_REF_CLK_N, PCIE_RP_RXP, PCIE_RP_RXN
  };

endmodule
