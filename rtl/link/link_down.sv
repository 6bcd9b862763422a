// A channel's way from the host to the card: what the host has produced is asked for as soon as there is room for it, put
// in order and given to the card. Latency 3 from the doorbell to the request, 7 from a frame's last line to its first beat.
module link_down
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// As link_order's.
  parameter int unsigned Lines = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// See link_life.
  input  logic                     clear_i,
  input  logic                     sweep_i,
  input  logic [$clog2(Lines)-1:0] sweep_line_i,
  input  logic                     run_i,
  /// Slots of the ring, minus one.
  input  index_t                   mask_i,
  /// The host moves its index.
  input  logic                     door_we_i,
  input  index_t                   door_i,
  /// Slots to read.
  output logic                     req_valid_o,
  input  logic                     req_ready_i,
  output burst_t                   req_o,
  /// Lines that were read, in any order.
  input  logic                     line_valid_i,
  input  index_t                   line_index_i,
  input  line_t                    line_i,
  input  logic                     line_bad_i,
  /// Frames to the card; one begins if there is room for it.
  output logic                     m_valid_o,
  input  logic                     m_ready_i,
  output axis_t                    m_data_o,
  input  logic                     room_i,
  /// Slots that were taken out of the ring; nothing is left of what the host has produced.
  output index_t                   index_o,
  output logic                     empty_o,
  /// No frame is on its way.
  output logic                     idle_o,
  output fault_t                   fault_o,
  output index_t                   place_o,
  output logic                     frame_o,
  output bytes_t                   bytes_o
);

  index_t producer;
  logic door_bad, lines_idle, frames_idle;
  fault_t walk_fault;

  // ---------------------------------------------------------------- what the host has produced
  index_t end_q;
  always_ff @(posedge clk_i) end_q <= end_of(index_o, mask_i);
  link_door u_door (
    .clk_i,
    .rst_ni,
    .clear_i,
    .we_i   (door_we_i && run_i),
    .value_i(door_i),
    .room_i (index_t'(end_q - producer)),
    .index_o(producer),
    .bad_o  (door_bad)
  );

  // ---------------------------------------------------------------- what is asked for
  index_t asked_q;
  logic full;
  assign full = index_t'(asked_q - index_o) > index_t'(Lines - BurstSlots);
  assign req_o.index = asked_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      asked_q     <= '0;
      req_valid_o <= 1'b0;
    end else if (req_valid_o) begin
      if (req_ready_i) begin
        req_valid_o <= 1'b0;
        asked_q     <= asked_q + index_t'(req_o.slots);
      end
    end else begin
      req_valid_o <= run_i && !full && producer != asked_q;
    end
    if (!req_valid_o) req_o.slots <= in_block(asked_q[2:0], to_eight(producer - asked_q), 4'd8);
  end

  // ---------------------------------------------------------------- what has come
  logic slot_valid, slot_ready;
  line_t slot;
  link_order #(
    .Lines(Lines)
  ) u_order (
    .clk_i,
    .rst_ni,
    .clear_i,
    .sweep_i,
    .sweep_line_i,
    .run_i,
    .producer_i(producer),
    .line_valid_i,
    .line_index_i,
    .line_i,
    .line_bad_i,
    .m_valid_o (slot_valid),
    .m_ready_i (slot_ready),
    .m_data_o  (slot),
    .index_o,
    .idle_o    (lines_idle),
    .frame_o,
    .bytes_o,
    .fault_o   (walk_fault),
    .place_o
  );

  link_unframe u_unframe (
    .clk_i,
    .rst_ni,
    .s_valid_i(slot_valid),
    .s_ready_o(slot_ready),
    .s_data_i (slot),
    .room_i,
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .idle_o   (frames_idle)
  );

  assign empty_o = index_o == producer;
  assign idle_o  = lines_idle && frames_idle;
  always_comb begin
    fault_o           = walk_fault;
    fault_o.down_door = door_bad;
  end

endmodule
