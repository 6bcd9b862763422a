// Makes room for preambles in front of frames: frames in, slots of whole frames out. Latency 3 from a frame's last beat, interval 1;
// a frame's last bytes may take a slot more than it has beats.
//
// Frames stand four lanes higher in slots, always: to move them is wiring. A frame's preamble is known at its end, so it is
// kept beside the slots. A frame is dropped whole if it is longer than a
// ring or MaxFrame, or if the channel does not run from its first beat to its last.
`include "lib_assert.svh"

module link_frame
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// Slots that are kept, more than MaxSlots.
  parameter int unsigned Depth = 512
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// See link_life.
  input  logic       run_i,
  input  logic       live_i,
  /// Slots of the ring, minus one.
  input  index_t     mask_i,
  /// Frames of the card: each beat has a byte, and the last one those of its lowest lanes.
  input  logic       s_valid_i,
  output logic       s_ready_o,
  input  axis_t      s_data_i,
  /// Slots; the first and the last of a frame. Bytes of the frame, whose preamble goes into the first one.
  output logic       m_valid_o,
  input  logic       m_ready_i,
  output line_t      m_data_o,
  output logic       m_first_o,
  output logic       m_last_o,
  output bytes_t     m_bytes_o,
  /// A frame is here, with its slots and bytes.
  output logic       frame_o,
  output logic [7:0] slots_o,
  output bytes_t     bytes_o,
  /// A frame was dropped.
  output logic       drop_o
);

  // ---------------------------------------------------------------- in: beats become slots
  logic [7:0] slot_q, limit_q;  // slots of the frame so far; so many it may have
  logic [31:0] carry_q;
  logic flush_q, drop_q, lengths_room, fifo_ready;
  logic beat, flush, push, over, spills, ends, drop;

  assign spills    = s_data_i.last && s_data_i.keep[60];
  assign s_ready_o = !flush_q && ((fifo_ready && lengths_room) || !run_i);
  assign beat      = s_valid_i && s_ready_o;
  assign over      = drop_q || !run_i || slot_q == limit_q;
  assign flush     = flush_q && (fifo_ready || !run_i);
  assign push      = (beat || flush) && !over;
  assign ends      = (beat && s_data_i.last && !spills) || flush;
  assign drop      = ends && over;

  always_ff @(posedge clk_i) begin
    limit_q <= mask_i[7] ? 8'(MaxSlots) : mask_i[7:0] + 1'b1;
    if (!rst_ni) begin
      slot_q  <= '0;
      flush_q <= 1'b0;
      drop_q  <= 1'b0;
    end else begin
      if (ends) slot_q <= '0;
      else if (push) slot_q <= slot_q + 1'b1;
      if (ends) drop_q <= 1'b0;
      else if (beat && over) drop_q <= 1'b1;
      if (beat) flush_q <= spills;
      else if (ends) flush_q <= 1'b0;
    end
    if (beat) carry_q <= s_data_i.data[511:480];
  end

  line_t stored;
  logic stored_valid, take;
  logic [$clog2(Depth+1)-1:0] unused_free;
  lib_commit_fifo #(
    .T    (line_t),
    .Depth(Depth)
  ) u_slots (
    .clk_i,
    .rst_ni    (rst_ni && live_i),
    .s_valid_i (push),
    .s_ready_o (fifo_ready),
    .s_data_i  ({s_data_i.data[479:0], carry_q}),
    .commit_i  (ends && !over),
    .rollback_i(drop),
    .m_valid_o (stored_valid),
    .m_ready_i (take),
    .m_data_o  (stored),
    .free_o    (unused_free)
  );

  // ---------------------------------------------------------------- lengths
  logic [7:0] beat_q;  // beats before this one
  logic [5:0] lane;    // its last lane
  // Lanes 1 to n are kept: bit b of n is whether the number of multiples of 2**b among them is odd.
  always_comb begin
    lane = '0;
    for (int unsigned b = 0; b < 6; b++)
    for (int unsigned i = 2 ** b; i < 64; i += 2 ** b) lane[b] ^= s_data_i.keep[i];
  end

  logic frame_q;
  logic [7:0] slots_q;
  bytes_t end_q;  // the frame's last byte
  always_ff @(posedge clk_i) begin
    frame_q <= rst_ni && ends && !over;
    drop_o  <= rst_ni && drop;
    slots_q <= slot_q + 1'b1;
    if (beat) end_q <= {beat_q, lane};
    if (!rst_ni) beat_q <= '0;
    else if (beat) beat_q <= s_data_i.last ? '0 : beat_q + 1'b1;
  end
  assign frame_o = frame_q;
  assign slots_o = slots_q;
  assign bytes_o = end_q + 1'b1;

  bytes_t length;
  logic length_valid, unused_length_ready, first;
  logic [5:0] lengths;
  lib_fifo #(
    .T    (bytes_t),
    .Depth(32)
  ) u_lengths (
    .clk_i,
    .rst_ni   (rst_ni && live_i),
    .s_valid_i(frame_q),
    .s_ready_o(unused_length_ready),
    .s_data_i (bytes_o),
    .m_valid_o(length_valid),
    .m_ready_i(take && stored_valid && first),
    .m_data_o (length),
    .level_o  (lengths)
  );
  // One is on its way there, and one may follow it.
  always_ff @(posedge clk_i) lengths_room <= lengths < 6'd28;

  // ---------------------------------------------------------------- out
  logic [8:0] left_q, left;
  assign first     = left_q == '0;
  assign left      = first ? more_slots(length) : left_q - 1'b1;
  assign m_valid_o = stored_valid && (!first || length_valid);
  assign m_last_o  = left == '0;
  assign take      = m_ready_i && (!first || length_valid);
  assign m_data_o  = stored;
  assign m_first_o = first;
  assign m_bytes_o = length;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !live_i) left_q <= '0;
    else if (m_valid_o && m_ready_i) left_q <= left;
  end

  `ASSERT(LengthRoom, !frame_q || unused_length_ready)
  `ASSERT(Kept, !s_valid_i || s_data_i.keep[0] && (s_data_i.keep & (s_data_i.keep + 1'b1)) == '0)

endmodule
