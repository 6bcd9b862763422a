// A RISC-V machine with a network port: core, RAM, two NICs of which one is used, watchdog. Frames in, frames out; between
// them is software. It only wires the modules of rtl/machine to the rings of rtl/link; docs/MACHINE.md describes it.
//
// The NIC with DMA is the card's link on this RAM: its channel of the wire. The other two channels are not used.
module machine
  import wirekv_pkg::*;
  import machine_pkg::*;
  import link_pkg::Channels;
#(
  /// Bytes of RAM, a power of two from 64 KiB to 1 GiB.
  parameter int unsigned RamBytes = 8 << 20,
  /// Bytes at its beginning that only the loader writes: the program.
  parameter int unsigned RomBytes = 65536,
  /// Clocks without a sign of life until the core is reset.
  parameter int unsigned WatchdogClocks = 1 << 22
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// The core runs: its program is there. Low: it is in reset.
  input  logic         run_i,
  /// Lines of the program, from address 0 on, while it does not run.
  input  logic         load_valid_i,
  output logic         load_ready_o,
  input  line_addr_t   load_addr_i,
  input  line_t        load_data_i,
  /// Addresses, and which NIC.
  input  machine_cfg_t cfg_i,
  /// Unix time in seconds.
  input  logic [31:0]  time_i,
  /// Frames from the wire: taken at once.
  input  line_t        s_axis_rx_tdata,
  input  strb_t        s_axis_rx_tkeep,
  input  logic         s_axis_rx_tvalid,
  input  logic         s_axis_rx_tlast,
  /// Frames to the wire.
  output line_t        m_axis_tx_tdata,
  output strb_t        m_axis_tx_tkeep,
  output logic         m_axis_tx_tvalid,
  input  logic         m_axis_tx_tready,
  output logic         m_axis_tx_tlast,
  /// Co-processor: which one it is, 0 for none, as software reads it. A custom instruction with its function
  /// ({funct7, funct3}) and both operands; one is under way at a time, and the core waits for its result. Without a
  /// co-processor software issues none.
  input  logic [31:0]  accel_i,
  output logic         cfu_cmd_valid_o,
  input  logic         cfu_cmd_ready_i,
  output logic [9:0]   cfu_cmd_function_o,
  output logic [31:0]  cfu_cmd_a_o,
  output logic [31:0]  cfu_cmd_b_o,
  input  logic         cfu_rsp_valid_i,
  output logic         cfu_rsp_ready_o,
  input  logic [31:0]  cfu_rsp_i,
  /// The core is in reset: who was asked for a result keeps it.
  output logic         core_rst_o,
  /// A byte of a message; it is taken at once.
  output logic         console_valid_o,
  output logic [7:0]   console_o,
  /// The core was reset by the watchdog so often.
  output logic [31:0]  restarts_o,
  /// Frames from the wire that found no room.
  output logic [31:0]  dropped_o,
  /// The core waits for a frame, and nothing moves beside it. The link is not looked at: it is quiet 64 clocks later.
  output logic         idle_o
);

  // ---------------------------------------------------------------- core
  logic alive, waits;
  logic i_stb, i_ack, i_err, d_stb, d_we, d_ack, d_err;
  logic i_cyc, d_cyc;
  logic [29:0] i_adr, d_adr;
  logic [3:0] d_sel;
  logic [31:0] d_dat, bus_dat;
  logic [2:0] d_cti;

  machine_watchdog #(
    .Clocks(WatchdogClocks)
  ) u_watchdog (
    .clk_i,
    .rst_ni,
    .run_i,
    .alive_i   (alive),
    .core_rst_o,
    .restarts_o
  );

  logic unused_core;
  logic [31:0] unused_i_mosi;
  logic [3:0] unused_i_sel;
  logic [2:0] unused_i_cti;
  logic [3:0] unused_bte;
  VexRiscv u_core (
    .clk                                  (clk_i),
    .reset                                (core_rst_o),
    .externalResetVector                  (32'd0),
    .timerInterrupt                       (1'b0),
    .softwareInterrupt                    (1'b0),
    .externalInterruptArray               (32'd0),
    .CfuPlugin_bus_cmd_valid              (cfu_cmd_valid_o),
    .CfuPlugin_bus_cmd_ready              (cfu_cmd_ready_i),
    .CfuPlugin_bus_cmd_payload_function_id(cfu_cmd_function_o),
    .CfuPlugin_bus_cmd_payload_inputs_0   (cfu_cmd_a_o),
    .CfuPlugin_bus_cmd_payload_inputs_1   (cfu_cmd_b_o),
    .CfuPlugin_bus_rsp_valid              (cfu_rsp_valid_i),
    .CfuPlugin_bus_rsp_ready              (cfu_rsp_ready_o),
    .CfuPlugin_bus_rsp_payload_outputs_0  (cfu_rsp_i),
    .iBusWishbone_CYC                     (i_cyc),
    .iBusWishbone_STB                     (i_stb),
    .iBusWishbone_ACK                     (i_ack || i_err),
    .iBusWishbone_WE                      (unused_core),
    .iBusWishbone_ADR                     (i_adr),
    .iBusWishbone_DAT_MISO                (bus_dat),
    .iBusWishbone_DAT_MOSI                (unused_i_mosi),
    .iBusWishbone_SEL                     (unused_i_sel),
    .iBusWishbone_ERR                     (i_err),
    .iBusWishbone_CTI                     (unused_i_cti),
    .iBusWishbone_BTE                     (unused_bte[1:0]),
    .dBusWishbone_CYC                     (d_cyc),
    .dBusWishbone_STB                     (d_stb),
    .dBusWishbone_ACK                     (d_ack || d_err),
    .dBusWishbone_WE                      (d_we),
    .dBusWishbone_ADR                     (d_adr),
    .dBusWishbone_DAT_MISO                (bus_dat),
    .dBusWishbone_DAT_MOSI                (d_dat),
    .dBusWishbone_SEL                     (d_sel),
    .dBusWishbone_ERR                     (d_err),
    .dBusWishbone_CTI                     (d_cti),
    .dBusWishbone_BTE                     (unused_bte[3:2])
  );

  // ---------------------------------------------------------------- buses, RAM, registers
  logic core_re, core_we, dma_re, dma_rready, dma_we, dma_wready, written, dma_idle;
  line_addr_t core_raddr, dma_raddr;
  ram_write_t core_write, dma_write;
  line_t ram_rdata;
  logic io_valid, io_ready, link_ready, regs_ready;
  io_req_t io;
  logic [31:0] link_rdata, regs_rdata, pio_rdata;

  machine_bus #(
    .RamBytes(RamBytes),
    .RomBytes(RomBytes)
  ) u_bus (
    .clk_i,
    .rst_ni,
    .i_stb_i   (i_stb && i_cyc),
    .i_adr_i   (i_adr),
    .i_ack_o   (i_ack),
    .i_err_o   (i_err),
    .d_stb_i   (d_stb && d_cyc),
    .d_we_i    (d_we),
    .d_adr_i   (d_adr),
    .d_sel_i   (d_sel),
    .d_dat_i   (d_dat),
    .d_more_i  (d_cti == 3'b010),
    .d_ack_o   (d_ack),
    .d_err_o   (d_err),
    .dat_o     (bus_dat),
    .re_o      (core_re),
    .raddr_o   (core_raddr),
    .rdata_i   (ram_rdata),
    .we_o      (core_we),
    .write_o   (core_write),
    .io_valid_o(io_valid),
    .io_o      (io),
    .io_ready_i(io_ready),
    .io_rdata_i(io.link ? link_rdata : regs_rdata)
  );
  assign io_ready = io.link ? link_ready : regs_ready;

  machine_ram #(
    .Bytes(RamBytes)
  ) u_ram (
    .clk_i,
    .core_re_i   (core_re),
    .core_raddr_i(core_raddr),
    .core_we_i   (core_we),
    .core_write_i(core_write),
    .dma_re_i    (dma_re),
    .dma_rready_o(dma_rready),
    .dma_raddr_i (dma_raddr),
    .dma_we_i    (dma_we),
    .dma_wready_o(dma_wready),
    .dma_write_i (dma_write),
    .rdata_o     (ram_rdata)
  );

  logic rx_valid, rx_ready, rx_empty, rx_lost, unused_kept, pio_we, pio_frame;
  axis_t rx_in, rx;
  logic [9:0] unused_rx_free;
  machine_regs #(
    .RamBytes(RamBytes)
  ) u_regs (
    .clk_i,
    .rst_ni,
    .core_rst_i     (core_rst_o),
    .valid_i        (io_valid && !io.link),
    .req_i          (io),
    .ready_o        (regs_ready),
    .rdata_o        (regs_rdata),
    .cfg_i,
    .time_i,
    .accel_i,
    .restarts_i     (restarts_o),
    .drop_i         (rx_lost),
    .dropped_o,
    .pio_i          (pio_rdata),
    .event_i        (written),
    .frame_i        (pio_frame),
    .pio_we_o       (pio_we),
    .alive_o        (alive),
    .waits_o        (waits),
    .console_valid_o,
    .console_o
  );

  // ---------------------------------------------------------------- NICs
  assign rx_in     = '{data: s_axis_rx_tdata, keep: s_axis_rx_tkeep, last: s_axis_rx_tlast};
  assign pio_frame = cfg_i.pio && rx_valid;
  lib_frame_fifo u_rx (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_axis_rx_tvalid),
    .s_data_i (rx_in),
    .kept_o   (unused_kept),
    .lost_o   (rx_lost),
    .m_valid_o(rx_valid),
    .m_ready_i(rx_ready),
    .m_data_o (rx),
    .empty_o  (rx_empty),
    .free_o   (unused_rx_free)
  );

  logic pio_ready, pio_tx_valid;
  axis_t pio_tx;
  machine_pio u_pio (
    .clk_i,
    .rst_ni,
    .clear_i  (core_rst_o),
    .we_i     (pio_we),
    .word_i   (io.word),
    .wdata_i  (io.data),
    .rdata_o  (pio_rdata),
    .s_valid_i(pio_frame),
    .s_ready_o(pio_ready),
    .s_data_i (rx),
    .m_valid_o(pio_tx_valid),
    .m_ready_i(m_axis_tx_tready && cfg_i.pio),
    .m_data_o (pio_tx)
  );

  logic [11:0] axil_addr;
  logic awvalid, awready, wvalid, wready, bvalid, arvalid, arready, rvalid;
  logic [31:0] axil_wdata, axil_rdata;
  machine_axil u_axil (
    .clk_i,
    .rst_ni,
    .valid_i       (io_valid && io.link),
    .req_i         (io),
    .ready_o       (link_ready),
    .rdata_o       (link_rdata),
    .m_axil_addr   (axil_addr),
    .m_axil_awvalid(awvalid),
    .m_axil_awready(awready),
    .m_axil_wdata  (axil_wdata),
    .m_axil_wvalid (wvalid),
    .m_axil_wready (wready),
    .m_axil_bvalid (bvalid),
    .m_axil_arvalid(arvalid),
    .m_axil_arready(arready),
    .m_axil_rdata  (axil_rdata),
    .m_axil_rvalid (rvalid)
  );

  logic [2:0] axi_awid, axi_bid;
  logic [63:0] axi_awaddr, axi_araddr;
  logic axi_awvalid, axi_awready, axi_wlast, axi_wvalid, axi_wready, axi_bvalid;
  logic [1:0] axi_bresp, axi_rresp;
  line_t axi_wdata, axi_rdata;
  logic [5:0] axi_arid, axi_rid;
  logic [7:0] axi_arlen;
  logic axi_arvalid, axi_arready, axi_rlast, axi_rvalid;
  axis_t down;
  logic down_valid, up_ready;
  logic [Channels-2:0][511:0] unused_data;
  logic [Channels-2:0][63:0] unused_keep;
  logic [Channels-2:0] unused_valid, unused_last, unused_up_ready;
  logic unused_flr;
  logic [7:0] unused_awlen;
  logic [2:0] unused_awsize, unused_arsize;
  logic [1:0] unused_awburst, unused_arburst, unused_axil_bresp, unused_axil_rresp;
  logic [63:0] unused_wstrb;
  logic unused_bready, unused_rready;
  link #(
    .Reads    (4),
    .DownLines(256)
  ) u_link (
    .clk_i,
    .rst_ni,
    .flr_assert_i  (1'b0),
    .flr_done_o    (unused_flr),
    .s_axil_awaddr (axil_addr),
    .s_axil_awvalid(awvalid),
    .s_axil_awready(awready),
    .s_axil_wdata  (axil_wdata),
    .s_axil_wstrb  (4'hF),
    .s_axil_wvalid (wvalid),
    .s_axil_wready (wready),
    .s_axil_bresp  (unused_axil_bresp),
    .s_axil_bvalid (bvalid),
    .s_axil_bready (1'b1),
    .s_axil_araddr (axil_addr),
    .s_axil_arvalid(arvalid),
    .s_axil_arready(arready),
    .s_axil_rdata  (axil_rdata),
    .s_axil_rresp  (unused_axil_rresp),
    .s_axil_rvalid (rvalid),
    .s_axil_rready (1'b1),
    .m_axi_awid    (axi_awid),
    .m_axi_awaddr  (axi_awaddr),
    .m_axi_awlen   (unused_awlen),
    .m_axi_awsize  (unused_awsize),
    .m_axi_awburst (unused_awburst),
    .m_axi_awvalid (axi_awvalid),
    .m_axi_awready (axi_awready),
    .m_axi_wdata   (axi_wdata),
    .m_axi_wstrb   (unused_wstrb),
    .m_axi_wlast   (axi_wlast),
    .m_axi_wvalid  (axi_wvalid),
    .m_axi_wready  (axi_wready),
    .m_axi_bid     (axi_bid),
    .m_axi_bresp   (axi_bresp),
    .m_axi_bvalid  (axi_bvalid),
    .m_axi_bready  (unused_bready),
    .m_axi_arid    (axi_arid),
    .m_axi_araddr  (axi_araddr),
    .m_axi_arlen   (axi_arlen),
    .m_axi_arsize  (unused_arsize),
    .m_axi_arburst (unused_arburst),
    .m_axi_arvalid (axi_arvalid),
    .m_axi_arready (axi_arready),
    .m_axi_rid     (axi_rid),
    .m_axi_rdata   (axi_rdata),
    .m_axi_rresp   (axi_rresp),
    .m_axi_rlast   (axi_rlast),
    .m_axi_rvalid  (axi_rvalid),
    .m_axi_rready  (unused_rready),
    .m_axis_tdata  ({unused_data, down.data}),
    .m_axis_tkeep  ({unused_keep, down.keep}),
    .m_axis_tvalid ({unused_valid, down_valid}),
    .m_axis_tready ({2'b11, m_axis_tx_tready && !cfg_i.pio}),
    .m_axis_tlast  ({unused_last, down.last}),
    .room_i        ('1),
    .s_axis_tdata  ({1024'd0, rx.data}),
    .s_axis_tkeep  ({128'd0, rx.keep}),
    .s_axis_tvalid ({2'b00, rx_valid && !cfg_i.pio}),
    .s_axis_tready ({unused_up_ready, up_ready}),
    .s_axis_tlast  ({2'b00, rx.last})
  );
  assign rx_ready = cfg_i.pio ? pio_ready : up_ready;

  machine_dma #(
    .RamBytes(RamBytes),
    .RomBytes(RomBytes)
  ) u_dma (
    .clk_i,
    .rst_ni,
    .load_valid_i,
    .load_ready_o,
    .load_addr_i,
    .load_data_i,
    .s_axi_awid   (axi_awid),
    .s_axi_awaddr (axi_awaddr),
    .s_axi_awvalid(axi_awvalid),
    .s_axi_awready(axi_awready),
    .s_axi_wdata  (axi_wdata),
    .s_axi_wlast  (axi_wlast),
    .s_axi_wvalid (axi_wvalid),
    .s_axi_wready (axi_wready),
    .s_axi_bid    (axi_bid),
    .s_axi_bresp  (axi_bresp),
    .s_axi_bvalid (axi_bvalid),
    .s_axi_arid   (axi_arid),
    .s_axi_araddr (axi_araddr),
    .s_axi_arlen  (axi_arlen),
    .s_axi_arvalid(axi_arvalid),
    .s_axi_arready(axi_arready),
    .s_axi_rid    (axi_rid),
    .s_axi_rdata  (axi_rdata),
    .s_axi_rresp  (axi_rresp),
    .s_axi_rlast  (axi_rlast),
    .s_axi_rvalid (axi_rvalid),
    .re_o         (dma_re),
    .rready_i     (dma_rready),
    .raddr_o      (dma_raddr),
    .rdata_i      (ram_rdata),
    .we_o         (dma_we),
    .wready_i     (dma_wready),
    .write_o      (dma_write),
    .written_o    (written),
    .idle_o       (dma_idle)
  );

  assign m_axis_tx_tdata  = cfg_i.pio ? pio_tx.data : down.data;
  assign m_axis_tx_tkeep  = cfg_i.pio ? pio_tx.keep : down.keep;
  assign m_axis_tx_tvalid = cfg_i.pio ? pio_tx_valid : down_valid;
  assign m_axis_tx_tlast  = cfg_i.pio ? pio_tx.last : down.last;
  assign idle_o           = waits && rx_empty && dma_idle && !m_axis_tx_tvalid;

endmodule
