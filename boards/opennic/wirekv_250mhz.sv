// WireKV as the plugin of the 250 MHz box of AMD's OpenNIC shell, on boards with HBM. CMAC port 0 is the card's wire; PF 0 has
// the punt port's frames, PF 1 packets of the punt queue. A frame passes in whole or not at all, whenever the card is reset.
//
// To the shell each frame's length is known from its first beat on, so frames out are kept until they are complete.
module wirekv_250mhz
  import wirekv_pkg::*;
#(
  /// Address bits of a channel of HBM: 29 where both stacks have 16 GiB (U55C), 28 for 8 GiB (U50, U280).
  parameter int unsigned ChannelBits = 29,
  /// AXI ports of HBM for each of the card's six.
  parameter int unsigned Ways = 4,
  localparam int unsigned Pfs = 2
) (
  /// Registers, in axil_aclk.
  input  logic               s_axil_awvalid,
  input  logic [31:0]        s_axil_awaddr,
  output logic               s_axil_awready,
  input  logic               s_axil_wvalid,
  input  logic [31:0]        s_axil_wdata,
  output logic               s_axil_wready,
  output logic               s_axil_bvalid,
  output logic [1:0]         s_axil_bresp,
  input  logic               s_axil_bready,
  input  logic               s_axil_arvalid,
  input  logic [31:0]        s_axil_araddr,
  output logic               s_axil_arready,
  output logic               s_axil_rvalid,
  output logic [31:0]        s_axil_rdata,
  output logic [1:0]         s_axil_rresp,
  input  logic               s_axil_rready,
  /// Frames of the host, element f = PF f. Here and below, tuser of what comes says nothing that is not known.
  input  logic [Pfs-1:0]     s_axis_qdma_h2c_tvalid,
  input  logic [512*Pfs-1:0] s_axis_qdma_h2c_tdata,
  input  logic [64*Pfs-1:0]  s_axis_qdma_h2c_tkeep,
  input  logic [Pfs-1:0]     s_axis_qdma_h2c_tlast,
  input  logic [16*Pfs-1:0]  s_axis_qdma_h2c_tuser_size,
  input  logic [16*Pfs-1:0]  s_axis_qdma_h2c_tuser_src,
  input  logic [16*Pfs-1:0]  s_axis_qdma_h2c_tuser_dst,
  output logic [Pfs-1:0]     s_axis_qdma_h2c_tready,
  /// Frames for the host.
  output logic [Pfs-1:0]     m_axis_qdma_c2h_tvalid,
  output logic [512*Pfs-1:0] m_axis_qdma_c2h_tdata,
  output logic [64*Pfs-1:0]  m_axis_qdma_c2h_tkeep,
  output logic [Pfs-1:0]     m_axis_qdma_c2h_tlast,
  output logic [16*Pfs-1:0]  m_axis_qdma_c2h_tuser_size,
  output logic [16*Pfs-1:0]  m_axis_qdma_c2h_tuser_src,
  output logic [16*Pfs-1:0]  m_axis_qdma_c2h_tuser_dst,
  input  logic [Pfs-1:0]     m_axis_qdma_c2h_tready,
  /// Frames to the wire.
  output logic               m_axis_adap_tx_250mhz_tvalid,
  output logic [511:0]       m_axis_adap_tx_250mhz_tdata,
  output logic [63:0]        m_axis_adap_tx_250mhz_tkeep,
  output logic               m_axis_adap_tx_250mhz_tlast,
  output logic [15:0]        m_axis_adap_tx_250mhz_tuser_size,
  output logic [15:0]        m_axis_adap_tx_250mhz_tuser_src,
  output logic [15:0]        m_axis_adap_tx_250mhz_tuser_dst,
  input  logic               m_axis_adap_tx_250mhz_tready,
  /// Frames from the wire. They may wait: the shell keeps one and a half of the longest, and drops others whole.
  input  logic               s_axis_adap_rx_250mhz_tvalid,
  input  logic [511:0]       s_axis_adap_rx_250mhz_tdata,
  input  logic [63:0]        s_axis_adap_rx_250mhz_tkeep,
  input  logic               s_axis_adap_rx_250mhz_tlast,
  input  logic [15:0]        s_axis_adap_rx_250mhz_tuser_size,
  input  logic [15:0]        s_axis_adap_rx_250mhz_tuser_src,
  input  logic [15:0]        s_axis_adap_rx_250mhz_tuser_dst,
  output logic               s_axis_adap_rx_250mhz_tready,
  /// Reset in axil_aclk, for one clock or more; done when the card is out of it.
  input  logic               mod_rstn,
  output logic               mod_rst_done,
  /// 100 MHz of the board for HBM, 125 MHz of registers, 250 MHz of frames.
  input  logic               ref_clk_100mhz,
  input  logic               axil_aclk,
  input  logic               axis_aclk
);

  localparam int unsigned NumHbm = 6 * Ways;
  localparam logic [15:0] Pf0 = 16'h0001;
  localparam logic [15:0] Pf1 = 16'h0002;
  localparam logic [15:0] Wire0 = 16'h0040;

  // ---------------------------------------------------------------- reset
  // 128 clocks of 125 MHz, so that it is seen in both clocks; also behind the configuration.
  logic [7:0] count_q;
  initial count_q = '0;
  always_ff @(posedge axil_aclk) begin
    if (!mod_rstn) count_q <= '0;
    else if (!count_q[7]) count_q <= count_q + 1'b1;
  end
  assign mod_rst_done = count_q[7] && mod_rstn;

  (* ASYNC_REG = "TRUE" *) logic [1:0] sync_q;
  logic rst_nq, up_q, card_down;
  logic [3:0] down_q;
  initial {sync_q, rst_nq, up_q, down_q} = '0;
  always_ff @(posedge axis_aclk) begin
    sync_q <= {sync_q[0], count_q[7]};
    rst_nq <= sync_q[1];
    up_q   <= up_q || rst_nq;
    down_q <= {down_q[2:0], !rst_nq};
  end
  // The reset passes some registers in the card, so it ends there later than here.
  assign card_down = !rst_nq || down_q != '0;

  // ---------------------------------------------------------------- registers
  logic [31:0] awaddr, wdata, araddr, rdata;
  logic [3:0] wstrb;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [1:0] bresp, rresp;
  axil_cross u_cross (
    .s_clk_i       (axil_aclk),
    .s_rst_ni      (count_q[7]),
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
    .m_clk_i       (axis_aclk),
    .m_rst_ni      (rst_nq),
    .m_axil_awaddr (awaddr),
    .m_axil_awvalid(awvalid),
    .m_axil_awready(awready),
    .m_axil_wdata  (wdata),
    .m_axil_wstrb  (wstrb),
    .m_axil_wvalid (wvalid),
    .m_axil_wready (wready),
    .m_axil_bresp  (bresp),
    .m_axil_bvalid (bvalid),
    .m_axil_bready (bready),
    .m_axil_araddr (araddr),
    .m_axil_arvalid(arvalid),
    .m_axil_arready(arready),
    .m_axil_rdata  (rdata),
    .m_axil_rresp  (rresp),
    .m_axil_rvalid (rvalid),
    .m_axil_rready (rready)
  );

  logic unused_busy;
  logic [11:0] csr_awaddr, csr_araddr;
  logic [31:0] csr_wdata, csr_rdata;
  logic [3:0] csr_wstrb;
  logic csr_awvalid, csr_awready, csr_wvalid, csr_wready, csr_bvalid, csr_bready;
  logic csr_arvalid, csr_arready, csr_rvalid, csr_rready;
  logic [1:0] csr_bresp, csr_rresp;
  axil_windows #(
    .Windows(1)
  ) u_windows (
    .clk_i         (axis_aclk),
    .rst_ni        (rst_nq),
    .hold_i        (1'b0),
    .busy_o        (unused_busy),
    .s_axil_awaddr (awaddr),
    .s_axil_awvalid(awvalid),
    .s_axil_awready(awready),
    .s_axil_wdata  (wdata),
    .s_axil_wstrb  (wstrb),
    .s_axil_wvalid (wvalid),
    .s_axil_wready (wready),
    .s_axil_bresp  (bresp),
    .s_axil_bvalid (bvalid),
    .s_axil_bready (bready),
    .s_axil_araddr (araddr),
    .s_axil_arvalid(arvalid),
    .s_axil_arready(arready),
    .s_axil_rdata  (rdata),
    .s_axil_rresp  (rresp),
    .s_axil_rvalid (rvalid),
    .s_axil_rready (rready),
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

  // ---------------------------------------------------------------- frames
  // Channels as everywhere: wire, punt port (PF 0), punt queue (PF 1).
  logic rx_room;
  logic [2:0] in_valid, in_ready, down_valid, down_ready, up_valid, up_ready;
  logic [2:0] out_valid, out_ready, out_last;
  axis_t [2:0] in, down, up;
  line_t [2:0] out;
  logic [2:0][15:0] out_bytes;
  logic [2:0][511:0] down_data, up_data;
  logic [2:0][63:0] down_keep, up_keep;
  logic [2:0] down_last, up_last;

  assign in_valid = {s_axis_qdma_h2c_tvalid, s_axis_adap_rx_250mhz_tvalid};
  assign {s_axis_qdma_h2c_tready, s_axis_adap_rx_250mhz_tready} = in_ready;
  assign in[0] = '{
          data: s_axis_adap_rx_250mhz_tdata,
          keep: s_axis_adap_rx_250mhz_tkeep,
          last: s_axis_adap_rx_250mhz_tlast
      };
  for (genvar f = 0; f < Pfs; f++) begin : gen_pf
    assign in[f+1] = '{
            data: s_axis_qdma_h2c_tdata[512*f+:512],
            keep: s_axis_qdma_h2c_tkeep[64*f+:64],
            last: s_axis_qdma_h2c_tlast[f]
        };
  end
  logic unused_tuser;
  assign unused_tuser = ^{
    s_axis_qdma_h2c_tuser_size,
    s_axis_qdma_h2c_tuser_src,
    s_axis_qdma_h2c_tuser_dst,
    s_axis_adap_rx_250mhz_tuser_size,
    s_axis_adap_rx_250mhz_tuser_src,
    s_axis_adap_rx_250mhz_tuser_dst
  };

  for (genvar c = 0; c < 3; c++) begin : gen_channel
    frame_gate u_gate (
      .clk_i    (axis_aclk),
      .reset_i  (card_down),
      .room_i   (c != 0 || rx_room),
      .s_valid_i(in_valid[c]),
      .s_ready_o(in_ready[c]),
      .s_data_i (in[c]),
      .m_valid_o(down_valid[c]),
      .m_ready_i(down_ready[c]),
      .m_data_o (down[c])
    );
    assign down_data[c] = down[c].data;
    assign down_keep[c] = down[c].keep;
    assign down_last[c] = down[c].last;

    assign up[c]        = '{data: up_data[c], keep: up_keep[c], last: up_last[c]};
    frame_hold u_hold (
      .clk_i    (axis_aclk),
      .rst_ni   (up_q),
      .reset_i  (card_down),
      .s_valid_i(up_valid[c]),
      .s_ready_o(up_ready[c]),
      .s_data_i (up[c]),
      .m_valid_o(out_valid[c]),
      .m_ready_i(out_ready[c]),
      .m_data_o (out[c]),
      .m_last_o (out_last[c]),
      .m_bytes_o(out_bytes[c])
    );
  end

  // The shell takes tkeep of all ones, since it knows the length.
  assign out_ready                        = {m_axis_qdma_c2h_tready, m_axis_adap_tx_250mhz_tready};
  assign m_axis_adap_tx_250mhz_tvalid     = out_valid[0];
  assign m_axis_adap_tx_250mhz_tdata      = out[0];
  assign m_axis_adap_tx_250mhz_tkeep      = '1;
  assign m_axis_adap_tx_250mhz_tlast      = out_last[0];
  assign m_axis_adap_tx_250mhz_tuser_size = out_bytes[0];
  assign m_axis_adap_tx_250mhz_tuser_src  = Pf0;
  assign m_axis_adap_tx_250mhz_tuser_dst  = Wire0;
  assign m_axis_qdma_c2h_tvalid           = out_valid[2:1];
  assign m_axis_qdma_c2h_tdata            = out[2:1];
  assign m_axis_qdma_c2h_tkeep            = '1;
  assign m_axis_qdma_c2h_tlast            = out_last[2:1];
  assign m_axis_qdma_c2h_tuser_size       = out_bytes[2:1];
  assign m_axis_qdma_c2h_tuser_src        = {Wire0, Wire0};
  assign m_axis_qdma_c2h_tuser_dst        = {Pf1, Pf0};

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
    .ChannelBits(ChannelBits)
  ) u_card (
    .clk_i         (axis_aclk),
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
    .s_axil_awvalid(csr_awvalid),
    .s_axil_awready(csr_awready),
    .s_axil_wdata  (csr_wdata),
    .s_axil_wstrb  (csr_wstrb),
    .s_axil_wvalid (csr_wvalid),
    .s_axil_wready (csr_wready),
    .s_axil_bresp  (csr_bresp),
    .s_axil_bvalid (csr_bvalid),
    .s_axil_bready (csr_bready),
    .s_axil_araddr (csr_araddr),
    .s_axil_arvalid(csr_arvalid),
    .s_axil_arready(csr_arready),
    .s_axil_rdata  (csr_rdata),
    .s_axil_rresp  (csr_rresp),
    .s_axil_rvalid (csr_rvalid),
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

  // No shell watches the stacks here.
  // verilator lint_off PINCONNECTEMPTY
  hbm_stacks #(
    .Used(NumHbm)
  ) u_hbm (
    .clk_i        (axis_aclk),
    .ref_clk_i    (ref_clk_100mhz),
    .up_i         (up_q),
    .ready_o      (),
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
    .mon_preset_ni('0),
    .mon_paddr_o  (),
    .mon_psel_o   (),
    .mon_penable_o(),
    .mon_pwrite_o (),
    .mon_pwdata_o (),
    .mon_pready_o (),
    .mon_prdata_o (),
    .mon_pslverr_o()
  );
  // verilator lint_on PINCONNECTEMPTY

endmodule
