// A part that is reset while frames pass it, between the two modules that keep them whole.
module frames_tb
  import wirekv_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         part_rst_ni,
  input  logic         room_i,
  input  logic [511:0] s_axis_tdata,
  input  logic [63:0]  s_axis_tkeep,
  input  logic         s_axis_tlast,
  input  logic         s_axis_tvalid,
  output logic         s_axis_tready,
  output logic [511:0] m_axis_tdata,
  output logic [63:0]  m_axis_tkeep,
  output logic         m_axis_tlast,
  output logic [15:0]  m_axis_tuser,
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  /// A frame has begun to enter the part.
  output logic         entered_o
);

  axis_t in, part_in, part_out;
  logic in_valid, in_ready, out_valid, out_ready, reset_q;
  logic [4:0] unused_level;
  assign in = '{data: s_axis_tdata, keep: s_axis_tkeep, last: s_axis_tlast};
  initial reset_q = 1'b1;
  always_ff @(posedge clk_i) reset_q <= !part_rst_ni;

  frame_gate u_gate (
    .clk_i,
    .reset_i  (reset_q),
    .room_i,
    .s_valid_i(s_axis_tvalid),
    .s_ready_o(s_axis_tready),
    .s_data_i (in),
    .m_valid_o(in_valid),
    .m_ready_i(in_ready),
    .m_data_o (part_in)
  );

  lib_fifo #(
    .T    (axis_t),
    .Depth(16)
  ) u_part (
    .clk_i,
    .rst_ni   (!reset_q),
    .s_valid_i(in_valid),
    .s_ready_o(in_ready),
    .s_data_i (part_in),
    .m_valid_o(out_valid),
    .m_ready_i(out_ready),
    .m_data_o (part_out),
    .level_o  (unused_level)
  );

  frame_hold u_hold (
    .clk_i,
    .rst_ni,
    .reset_i  (reset_q),
    .s_valid_i(out_valid && !reset_q),
    .s_ready_o(out_ready),
    .s_data_i (part_out),
    .m_valid_o(m_axis_tvalid),
    .m_ready_i(m_axis_tready),
    .m_data_o (m_axis_tdata),
    .m_last_o (m_axis_tlast),
    .m_bytes_o(m_axis_tuser)
  );
  assign m_axis_tkeep = '1;

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) if (in_valid && in_ready) begun_q <= !part_in.last;
  assign entered_o = in_valid && in_ready && !begun_q;

endmodule
