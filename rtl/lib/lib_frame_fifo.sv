// FIFO of frames for a source that does not wait: takes each beat at once and keeps whole frames. A frame that finds no room
// is dropped whole. Latency 2 from a frame's last beat (lib_commit_fifo), a beat each clock.
module lib_frame_fifo
  import wirekv_pkg::*;
#(
  /// Beats kept: a longest frame, 145, and more.
  parameter int unsigned Depth = 512
) (
  input  logic  clk_i,
  input  logic  rst_ni,
  /// Frames in. A beat is taken at once.
  input  logic  s_valid_i,
  input  axis_t s_data_i,
  /// With a frame's last beat: it is here, whole.
  output logic  kept_o,
  /// For one clock: the frame that comes finds no room.
  output logic  lost_o,
  /// Frames out.
  output logic  m_valid_o,
  input  logic  m_ready_i,
  output axis_t m_data_o,
  /// Nothing is here, and nothing comes.
  output logic  empty_o,
  /// Beats for which there is room.
  output logic [$clog2(Depth+1)-1:0] free_o
);

  localparam int unsigned CountW = $clog2(Depth + 1);
  logic room, dropping_q;
  assign lost_o  = s_valid_i && !dropping_q && !room;
  assign kept_o  = s_valid_i && !dropping_q && room && s_data_i.last;
  assign empty_o = free_o == CountW'(Depth) && !s_valid_i && !dropping_q;

  lib_commit_fifo #(
    .T    (axis_t),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i (s_valid_i && !dropping_q),
    .s_ready_o (room),
    .s_data_i,
    .commit_i  (kept_o),
    .rollback_i(lost_o),
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .free_o
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) dropping_q <= 1'b0;
    else if (s_valid_i) dropping_q <= (dropping_q || !room) && !s_data_i.last;
  end

endmodule
