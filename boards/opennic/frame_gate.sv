// In front of a part that can be reset while frames come: a frame is let in whole or not at all. Latency 0, initiation
// interval 1. This module is not reset with that part.
module frame_gate
  import wirekv_pkg::*;
(
  input  logic  clk_i,
  /// The part behind it is in reset. Nothing is taken then; the rest of a frame that has begun is dropped behind it.
  input  logic  reset_i,
  /// A frame may begin.
  input  logic  room_i,
  /// Frames in.
  input  logic  s_valid_i,
  output logic  s_ready_o,
  input  axis_t s_data_i,
  /// Frames out.
  output logic  m_valid_o,
  input  logic  m_ready_i,
  output axis_t m_data_o
);

  logic inside_q, cut_q, open;
  initial {inside_q, cut_q} = '0;

  assign open      = !reset_i && !cut_q && (inside_q || room_i);
  assign m_valid_o = s_valid_i && open;
  assign s_ready_o = !reset_i && (cut_q || (open && m_ready_i));
  assign m_data_o  = s_data_i;

  always_ff @(posedge clk_i) begin
    if (s_valid_i && s_ready_o) begin
      inside_q <= !s_data_i.last;
      if (s_data_i.last) cut_q <= 1'b0;
    end
    if (reset_i && inside_q) cut_q <= 1'b1;
  end

endmodule
