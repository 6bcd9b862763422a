// The link: frames between the card and rings in host memory. Three channels each way, the wire, the host port and the punt
// queue; an AXI4 master on host memory, and registers behind AXI4-Lite. A shell's function-level reset drains it.
//
// It wires the modules of rtl/link; docs/rtl/LINK.md describes rings and registers. A reset (rst_ni) is one of the bus, too.
module link
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// Reads of host memory at once, 2 to 64. AWS F2's shell takes 32.
  parameter int unsigned Reads = 32,
  /// Lines that each channel keeps of what it has read, a power of two: more than Reads * 8, or that is the limit.
  parameter int unsigned DownLines = 1024,
  /// Lines that each channel keeps of what it is to write, 256 or more.
  parameter int unsigned UpLines = 512
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// Function-level reset: asked for, and done.
  input  logic                       flr_assert_i,
  output logic                       flr_done_o,
  /// Registers (AXI4-Lite).
  input  logic [11:0]                s_axil_awaddr,
  input  logic                       s_axil_awvalid,
  output logic                       s_axil_awready,
  input  logic [31:0]                s_axil_wdata,
  input  logic [3:0]                 s_axil_wstrb,
  input  logic                       s_axil_wvalid,
  output logic                       s_axil_wready,
  output logic [1:0]                 s_axil_bresp,
  output logic                       s_axil_bvalid,
  input  logic                       s_axil_bready,
  input  logic [11:0]                s_axil_araddr,
  input  logic                       s_axil_arvalid,
  output logic                       s_axil_arready,
  output logic [31:0]                s_axil_rdata,
  output logic [1:0]                 s_axil_rresp,
  output logic                       s_axil_rvalid,
  input  logic                       s_axil_rready,
  /// Host memory (AXI4): incrementing bursts of up to eight beats of 64 bytes. A board's top widens the ids.
  output logic [2:0]                 m_axi_awid,
  output logic [63:0]                m_axi_awaddr,
  output logic [7:0]                 m_axi_awlen,
  output logic [2:0]                 m_axi_awsize,
  output logic [1:0]                 m_axi_awburst,
  output logic                       m_axi_awvalid,
  input  logic                       m_axi_awready,
  output logic [511:0]               m_axi_wdata,
  output logic [63:0]                m_axi_wstrb,
  output logic                       m_axi_wlast,
  output logic                       m_axi_wvalid,
  input  logic                       m_axi_wready,
  input  logic [2:0]                 m_axi_bid,
  input  logic [1:0]                 m_axi_bresp,
  input  logic                       m_axi_bvalid,
  output logic                       m_axi_bready,
  output logic [5:0]                 m_axi_arid,
  output logic [63:0]                m_axi_araddr,
  output logic [7:0]                 m_axi_arlen,
  output logic [2:0]                 m_axi_arsize,
  output logic [1:0]                 m_axi_arburst,
  output logic                       m_axi_arvalid,
  input  logic                       m_axi_arready,
  input  logic [5:0]                 m_axi_rid,
  input  logic [511:0]               m_axi_rdata,
  input  logic [1:0]                 m_axi_rresp,
  input  logic                       m_axi_rlast,
  input  logic                       m_axi_rvalid,
  output logic                       m_axi_rready,
  /// Frames to the card (AXI4-Stream), element c = channel c: wire, host port, punt queue. A frame begins only while
  /// room_i says so (`rx_room_o` of the card for the wire).
  output logic [Channels-1:0][511:0] m_axis_tdata,
  output logic [Channels-1:0][63:0]  m_axis_tkeep,
  output logic [Channels-1:0]        m_axis_tvalid,
  input  logic [Channels-1:0]        m_axis_tready,
  output logic [Channels-1:0]        m_axis_tlast,
  input  logic [Channels-1:0]        room_i,
  /// Frames of the card, likewise.
  input  logic [Channels-1:0][511:0] s_axis_tdata,
  input  logic [Channels-1:0][63:0]  s_axis_tkeep,
  input  logic [Channels-1:0]        s_axis_tvalid,
  output logic [Channels-1:0]        s_axis_tready,
  input  logic [Channels-1:0]        s_axis_tlast
);

  // ---------------------------------------------------------------- function-level reset
  // From the clock in which it is asked for until all is quiet, and it is asked for no more. The channels know of it two
  // clocks later.
  logic flr_q, heard_q, asked_q;
  logic [Channels-1:0] quiet;
  always_ff @(posedge clk_i) begin
    flr_q      <= rst_ni && (flr_assert_i || (flr_q && !flr_done_o));
    heard_q    <= rst_ni && flr_q;
    asked_q    <= rst_ni && flr_q && heard_q;
    flr_done_o <= rst_ni && flr_q && (flr_done_o ? flr_assert_i : quiet == '1 && asked_q);
  end

  // ---------------------------------------------------------------- registers
  link_cfg_t cfg;
  channel_cfg_t [Channels-1:0] channels;
  logic [Channels-1:0] down_door, up_door;
  index_t door;
  told_t [Channels-1:0] told;
  event_t [Channels-1:0] events;
  bytes_t [Channels-1:0] down_bytes, up_bytes;

  link_csr #(
    .Reads(Reads)
  ) u_csr (
    .clk_i,
    .rst_ni,
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
    .flr_i       (flr_q),
    .link_o      (cfg),
    .channel_o   (channels),
    .down_door_o (down_door),
    .up_door_o   (up_door),
    .door_o      (door),
    .told_i      (told),
    .event_i     (events),
    .down_bytes_i(down_bytes),
    .up_bytes_i  (up_bytes)
  );

  // ---------------------------------------------------------------- channels
  logic [Channels-1:0] read_valid, read_ready, read_open, line_valid;
  burst_t [Channels-1:0] read_req, write_req;
  index_t line_index;
  line_t line;
  logic line_bad;
  logic [Channels-1:0] write_valid, write_ready, slot_valid, slot_ready;
  line_t [Channels-1:0] slot;
  logic [Channels-1:0] slot_first;
  bytes_t [Channels-1:0] slot_bytes;
  logic [Channels-1:0] told_valid, told_ready, told_done, answer, refused;
  slot_addr_t [Channels-1:0] down_base, up_base;
  index_t [Channels-1:0] down_mask, up_mask;

  for (genvar c = 0; c < Channels; c++) begin : gen_channel
    axis_t from_card, to_card;
    assign from_card = '{
            data: s_axis_tdata[c],
            keep: s_axis_tkeep[c],
            last: s_axis_tlast[c]
        };
    assign m_axis_tdata[c] = to_card.data;
    assign m_axis_tkeep[c] = to_card.keep;
    assign m_axis_tlast[c] = to_card.last;
    assign down_base[c]    = channels[c].down_base;
    assign down_mask[c]    = channels[c].down_mask;
    assign up_base[c]      = channels[c].up_base;
    assign up_mask[c]      = channels[c].up_mask;

    link_channel #(
      .DownLines(DownLines),
      .UpLines  (UpLines)
    ) u_channel (
      .clk_i,
      .rst_ni,
      .link_i       (cfg),
      .cfg_i        (channels[c]),
      .flr_i        (flr_q),
      .down_door_i  (down_door[c]),
      .up_door_i    (up_door[c]),
      .door_i       (door),
      .read_valid_o (read_valid[c]),
      .read_ready_i (read_ready[c]),
      .read_o       (read_req[c]),
      .read_open_i  (read_open[c]),
      .line_valid_i (line_valid[c]),
      .line_index_i (line_index),
      .line_i       (line),
      .line_bad_i   (line_bad),
      .write_valid_o(write_valid[c]),
      .write_ready_i(write_ready[c]),
      .write_o      (write_req[c]),
      .slot_valid_o (slot_valid[c]),
      .slot_ready_i (slot_ready[c]),
      .slot_o       (slot[c]),
      .slot_first_o (slot_first[c]),
      .slot_bytes_o (slot_bytes[c]),
      .answer_i     (answer[c]),
      .refused_i    (refused[c]),
      .told_valid_o (told_valid[c]),
      .told_ready_i (told_ready[c]),
      .told_done_i  (told_done[c]),
      .told_o       (told[c]),
      .m_valid_o    (m_axis_tvalid[c]),
      .m_ready_i    (m_axis_tready[c]),
      .m_data_o     (to_card),
      .room_i       (room_i[c]),
      .s_valid_i    (s_axis_tvalid[c]),
      .s_ready_o    (s_axis_tready[c]),
      .s_data_i     (from_card),
      .quiet_o      (quiet[c]),
      .event_o      (events[c]),
      .down_bytes_o (down_bytes[c]),
      .up_bytes_o   (up_bytes[c])
    );
  end

  // ---------------------------------------------------------------- host memory
  slots_t ar_slots, aw_slots;
  slot_addr_t ar_addr, aw_addr;
  link_read #(
    .Reads(Reads)
  ) u_read (
    .clk_i,
    .rst_ni,
    .base_i       (down_base),
    .mask_i       (down_mask),
    .req_valid_i  (read_valid),
    .req_ready_o  (read_ready),
    .req_i        (read_req),
    .open_o       (read_open),
    .line_valid_o (line_valid),
    .line_index_o (line_index),
    .line_o       (line),
    .line_bad_o   (line_bad),
    .m_axi_arvalid,
    .m_axi_arready,
    .m_axi_arid,
    .m_axi_araddr (ar_addr),
    .m_axi_arslots(ar_slots),
    .m_axi_rvalid,
    .m_axi_rid,
    .m_axi_rdata,
    .m_axi_rresp,
    .m_axi_rlast
  );

  link_write u_write (
    .clk_i,
    .rst_ni,
    .status_base_i(cfg.status_base),
    .base_i       (up_base),
    .mask_i       (up_mask),
    .req_valid_i  (write_valid),
    .req_ready_o  (write_ready),
    .req_i        (write_req),
    .line_valid_i (slot_valid),
    .line_ready_o (slot_ready),
    .line_i       (slot),
    .line_first_i (slot_first),
    .line_bytes_i (slot_bytes),
    .told_valid_i (told_valid),
    .told_ready_o (told_ready),
    .told_i       (told),
    .answer_o     (answer),
    .told_done_o  (told_done),
    .refused_o    (refused),
    .m_axi_awvalid,
    .m_axi_awready,
    .m_axi_awid,
    .m_axi_awaddr (aw_addr),
    .m_axi_awslots(aw_slots),
    .m_axi_wvalid,
    .m_axi_wready,
    .m_axi_wdata,
    .m_axi_wlast,
    .m_axi_bvalid,
    .m_axi_bid,
    .m_axi_bresp
  );

  assign m_axi_araddr  = {ar_addr, 6'd0};
  assign m_axi_arlen   = 8'(ar_slots - 4'd1);
  assign m_axi_arsize  = 3'd6;
  assign m_axi_arburst = 2'b01;
  assign m_axi_rready  = 1'b1;
  assign m_axi_awaddr  = {aw_addr, 6'd0};
  assign m_axi_awlen   = 8'(aw_slots - 4'd1);
  assign m_axi_awsize  = 3'd6;
  assign m_axi_awburst = 2'b01;
  assign m_axi_wstrb   = '1;
  assign m_axi_bready  = 1'b1;

endmodule
