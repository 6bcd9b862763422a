// Behind a part that can be reset while it gives frames: keeps a frame until it is complete, and gives it with its length. The
// rest of a frame that a reset has cut off never comes, so what there is of it is dropped. Latency 3 from a frame's last
// beat, initiation interval 1. This module is not reset with that part.
`include "lib_assert.svh"

module frame_hold
  import wirekv_pkg::*;
#(
  /// Beats that are kept. The longest frame has fewer: one that had more would never be complete.
  parameter int unsigned Depth = 512
) (
  input  logic        clk_i,
  /// Of this module.
  input  logic        rst_ni,
  /// The part in front of it is in reset.
  input  logic        reset_i,
  /// Frames in: each beat has a byte, and all but the last have 64.
  input  logic        s_valid_i,
  output logic        s_ready_o,
  input  axis_t       s_data_i,
  /// Frames out, each with its bytes from its first beat on.
  output logic        m_valid_o,
  input  logic        m_ready_i,
  output line_t       m_data_o,
  output logic        m_last_o,
  output logic [15:0] m_bytes_o
);

  logic fifo_ready, unused_lengths_ready, lengths_room_q, push, ends;
  assign s_ready_o = fifo_ready && lengths_room_q && !reset_i;
  assign push      = s_valid_i && s_ready_o;
  assign ends      = push && s_data_i.last;

  line_t head;
  logic head_valid, take;
  logic [$clog2(Depth+1)-1:0] unused_free;
  lib_commit_fifo #(
    .T    (line_t),
    .Depth(Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .s_valid_i (push),
    .s_ready_o (fifo_ready),
    .s_data_i  (s_data_i.data),
    .commit_i  (ends),
    .rollback_i(reset_i),
    .m_valid_o (head_valid),
    .m_ready_i (take),
    .m_data_o  (head),
    .free_o    (unused_free)
  );

  // ---------------------------------------------------------------- lengths
  // Lanes 0 to n are kept: bit b of n is whether the number of multiples of 2**b in 1 to n is odd.
  logic [9:0] beat_q;
  logic [5:0] lane;
  always_comb begin
    lane = '0;
    for (int unsigned b = 0; b < 6; b++)
    for (int unsigned i = 2 ** b; i < 64; i += 2 ** b) lane[b] ^= s_data_i.keep[i];
  end

  logic length_q;
  logic [15:0] end_q;  // the frame's last byte
  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_i) beat_q <= '0;
    else if (push) beat_q <= s_data_i.last ? '0 : beat_q + 1'b1;
    length_q <= rst_ni && ends;
    if (push) end_q <= {beat_q, lane};
  end

  logic [15:0] length;
  logic length_valid;
  logic [5:0] lengths;
  lib_fifo #(
    .T    (logic [15:0]),
    .Depth(32)
  ) u_lengths (
    .clk_i,
    .rst_ni,
    .s_valid_i(length_q),
    .s_ready_o(unused_lengths_ready),
    .s_data_i (end_q),
    .m_valid_o(length_valid),
    .m_ready_i(take && head_valid && m_last_o),
    .m_data_o (length),
    .level_o  (lengths)
  );
  // One is on its way there, and one may follow it.
  always_ff @(posedge clk_i) lengths_room_q <= lengths < 6'd28;

  // ---------------------------------------------------------------- out
  logic [9:0] out_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_q <= '0;
    else if (m_valid_o && m_ready_i) out_q <= m_last_o ? '0 : out_q + 1'b1;
  end
  assign m_valid_o = head_valid && length_valid;
  assign take      = m_ready_i && length_valid;
  assign m_data_o  = head;
  assign m_last_o  = out_q == length[15:6];
  assign m_bytes_o = length + 1'b1;

  `ASSERT(LengthRoom, !length_q || unused_lengths_ready)

endmodule
