// Frames from the host: kept until complete, so that a slow host does not hold up the wire. A frame
// longer than any MTU is dropped. Latency 2, initiation interval 1.
module tx_host
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Frames from the host.
  input  logic [511:0] s_axis_tdata,
  input  logic [63:0]  s_axis_tkeep,
  input  logic         s_axis_tvalid,
  output logic         s_axis_tready,
  input  logic         s_axis_tlast,
  /// Whole frames.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output beat_t        m_beat_o,
  /// A frame was dropped.
  output logic         long_o
);

  localparam int unsigned BeatsMax = 142;  // 9,088 bytes
  localparam int unsigned Depth = 256;

  if (BeatsMax > Depth) begin : gen_bad_depth
    $error("%m: a frame must fit");
  end

  // Beats of the frame so far; stops at BeatsMax.
  logic [7:0] beats_q;
  logic fire, long_frame, room;

  assign s_axis_tready = room;
  assign fire          = s_axis_tvalid && room;
  assign long_frame    = beats_q == 8'(BeatsMax);
  assign long_o        = fire && s_axis_tlast && long_frame;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beats_q <= '0;
    else if (fire) beats_q <= s_axis_tlast ? '0 : long_frame ? beats_q : beats_q + 8'd1;
  end

  // verilator lint_off PINCONNECTEMPTY
  lib_commit_fifo #(
    .T    (beat_t),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i (fire && !long_frame),
    .s_ready_o (room),
    .s_data_i  ('{data: s_axis_tdata, len: keep_len(s_axis_tkeep), last: s_axis_tlast}),
    .commit_i  (fire && s_axis_tlast && !long_frame),
    .rollback_i(long_o),
    .m_valid_o,
    .m_ready_i,
    .m_data_o  (m_beat_o),
    .free_o    ()
  );
  // verilator lint_on PINCONNECTEMPTY

endmodule
