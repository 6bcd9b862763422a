// Answers to reads of a ring, in the order of the reads: lines that were kept, and memory's. Latency lib_fifo's
// and 1, initiation interval 1.
`include "lib_assert.svh"

module ring_order
  import wirekv_pkg::*;
#(
  /// Reads under way at most.
  parameter int unsigned MaxReads = 512,
  /// Bits of a ring's number.
  parameter int unsigned RingW = 10
) (
  input  logic  clk_i,
  input  logic  rst_ni,
  /// A read of this ring; its line was kept, or memory has been asked.
  input  logic  s_valid_i,
  input  logic [RingW-1:0] ring_i,
  input  logic  kept_i,
  input  line_t kept_line_i,
  /// Memory's answers in order, taken at once.
  input  logic  mem_rdat_valid_i,
  input  line_t mem_rdat_i,
  input  logic  mem_rdat_bad_i,
  /// The next answer is one of these, of that ring: whether it may be given out, and is bad; it is.
  output logic  turn_o,
  output logic [RingW-1:0] turn_ring_o,
  input  logic  known_i,
  input  logic  distrust_i,
  output logic  gone_o,
  /// Answers. A bad one is zero.
  output logic  m_valid_o,
  input  logic  m_ready_i,
  output line_t m_line_o,
  output logic  m_bad_o,
  /// Reads without an answer here.
  output logic  idle_o
);

  typedef struct packed {
    line_t data;
    logic  bad;
  } answer_t;
  typedef logic [$clog2(MaxReads+1)-1:0] reads_t;

  logic
      next_valid,
      next_kept,
      choose_kept,
      unused_kept_valid,
      answer_valid,
      kept_turn,
      answer_turn,
      chosen_valid,
      chosen_ready;
  line_t kept_line;
  answer_t answer, chosen, out;
  reads_t under_way;
  reads_t [1:0] unused_level;
  logic [2:0] unused_room;

  // Whether the line of the next read was kept; twice, as a bit that chooses 513 is late everywhere else.
  lib_fifo #(
    .T    (logic [RingW+1:0]),
    .Depth(MaxReads)
  ) u_order (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o(unused_room[0]),
    .s_data_i ({ring_i, {2{kept_i}}}),
    .m_valid_o(next_valid),
    .m_ready_i(chosen_valid && chosen_ready),
    .m_data_o ({turn_ring_o, next_kept, choose_kept}),
    .level_o  (under_way)
  );

  lib_fifo #(
    .T    (line_t),
    .Depth(MaxReads),
    .Ultra(MaxReads > 32)
  ) u_kept (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && kept_i),
    .s_ready_o(unused_room[1]),
    .s_data_i (kept_line_i),
    .m_valid_o(unused_kept_valid),
    .m_ready_i(kept_turn && chosen_ready),
    .m_data_o (kept_line),
    .level_o  (unused_level[0])
  );

  lib_fifo #(
    .T    (answer_t),
    .Depth(MaxReads),
    .Ultra(MaxReads > 32)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .s_valid_i(mem_rdat_valid_i),
    .s_ready_o(unused_room[2]),
    .s_data_i ('{data: mem_rdat_i, bad: mem_rdat_bad_i}),
    .m_valid_o(answer_valid),
    .m_ready_i(answer_turn && known_i && chosen_ready),
    .m_data_o (answer),
    .level_o  (unused_level[1])
  );
  `ASSERT(Room, ({mem_rdat_valid_i, s_valid_i && kept_i, s_valid_i} & ~unused_room) == '0)

  assign kept_turn    = next_valid && next_kept;
  assign answer_turn  = next_valid && !next_kept;
  assign chosen_valid = kept_turn || (answer_turn && answer_valid && known_i);
  assign turn_o       = answer_turn;
  assign gone_o       = answer_turn && answer_valid && known_i && chosen_ready;
  assign chosen.bad   = !choose_kept && (answer.bad || distrust_i);
  assign chosen.data  = choose_kept ? kept_line : chosen.bad ? '0 : answer.data;
  `ASSERT(KeptIsThere, !kept_turn || unused_kept_valid)

  // Into a register: all that reads lines begins with wide shifts.
  lib_half_buffer #(
    .T(answer_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(chosen_valid),
    .s_ready_o(chosen_ready),
    .s_data_i (chosen),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (out)
  );
  assign m_line_o = out.data;
  assign m_bad_o  = out.bad;
  assign idle_o   = under_way == '0 && !m_valid_o;

endmodule
