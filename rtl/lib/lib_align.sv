// Strips the first bytes of each packet and moves the rest to lane 0. Latency 3, initiation
// interval 1.
//
// A packet that becomes empty gives one beat of length 0.
`include "lib_assert.svh"

module lib_align (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Packets; len is 64 in every beat but the last.
  input  logic         s_valid_i,
  output logic         s_ready_o,
  input  logic [511:0] s_data_i,
  input  logic [6:0]   s_len_i,
  input  logic         s_last_i,
  /// Bytes to strip, taken with the first beat.
  input  logic [5:0]   s_skip_i,
  /// Packets.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output logic [511:0] m_data_o,
  output logic [6:0]   m_len_o,
  output logic         m_last_o
);

  typedef struct packed {
    logic [511:0] data;
    logic [6:0]   len;
    logic         last;
  } beat_t;

  // ------------------------------------------------ hold: a beat, until its successor is here
  // A line is the rest of the held beat behind `skip` and the front of its successor: 64 bytes of
  // both, from `skip` on.
  logic hold_valid_q, open_q, advance, fire, accept, ends;
  beat_t hold_q;
  logic [5:0] skip_q;
  logic [6:0] rest, front;

  assign s_ready_o = advance;
  assign accept    = s_valid_i && advance;
  assign fire      = hold_valid_q && advance && (hold_q.last || s_valid_i);
  assign rest      = (hold_q.len > 7'(skip_q)) ? hold_q.len - 7'(skip_q) : '0;
  assign front     = hold_q.last ? '0 : (s_len_i < 7'(skip_q)) ? s_len_i : 7'(skip_q);
  // Nothing is left of the successor.
  assign ends      = !hold_q.last && s_last_i && s_len_i <= 7'(skip_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hold_valid_q <= 1'b0;
      open_q       <= 1'b0;
    end else begin
      if (accept) open_q <= !s_last_i;
      if (accept) hold_valid_q <= !(open_q && ends);
      else if (fire) hold_valid_q <= 1'b0;
    end
    if (accept) begin
      hold_q <= '{data: s_data_i, len: s_len_i, last: s_last_i};
      if (!open_q) skip_q <= s_skip_i;
    end
  end

  // ------------------------------------------------ line: 64 bytes of both, at three levels
  typedef logic [(64+12+3)*8-1:0] coarse_t;
  logic line_valid_q, line_last_q, out_ready;
  logic [6:0] line_len_q;
  logic [3:0] line_skip_q;
  coarse_t line_q;

  function automatic coarse_t by16(input logic [1023:0] bytes, input logic [1:0] n);
    coarse_t [3:0] steps;
    for (int i = 0; i < 4; i++) steps[i] = coarse_t'(bytes >> (8 * 16 * i));
    return n[1] ? (n[0] ? steps[3] : steps[2]) : (n[0] ? steps[1] : steps[0]);
  endfunction

  assign advance = !line_valid_q || out_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) line_valid_q <= 1'b0;
    else if (advance) line_valid_q <= fire;
    if (fire) begin
      line_q      <= by16({s_data_i, hold_q.data}, skip_q[5:4]);
      line_skip_q <= skip_q[3:0];
      line_len_q  <= rest + front;
      line_last_q <= hold_q.last || ends;
    end
  end

  beat_t line, out;
  lib_shift u_shift (
    .data_i (line_q),
    .lanes_i(line_skip_q),
    .data_o (line.data)
  );
  assign line.len  = line_len_q;
  assign line.last = line_last_q;

  lib_skid_buffer #(
    .T(beat_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_valid_q),
    .s_ready_o(out_ready),
    .s_data_i (line),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (out)
  );
  assign m_data_o = out.data;
  assign m_len_o  = out.len;
  assign m_last_o = out.last;

  `ASSERT(Whole, !s_valid_i || s_len_i == 7'd64 || (s_last_i && s_len_i < 7'd64))

endmodule
