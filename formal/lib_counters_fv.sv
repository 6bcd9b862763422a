// lib_counters: a read of a counter that the prover chooses gives the events since reset, modulo the
// word: its short counter never comes around unseen while reads are three clocks apart.
`include "fv.svh"
`include "lib_assert.svh"

module lib_counters_fv #(
  parameter int unsigned N = 4
) (
  input logic                 clk_i,
  input logic [N-1:0]         event_i,
  input logic                 re_i,
  input logic [$clog2(N)-1:0] index_i,
  input logic [$clog2(N)-1:0] chosen_i
);
  `FV_RESET

  localparam int unsigned Width = 5;
  localparam int unsigned IndexW = $clog2(N);
  typedef logic [IndexW-1:0] index_t;
  logic [Width-1:0] count;
  logic clearing;
  lib_counters #(
    .N    (N),
    .Width(Width)
  ) dut (
    .clk_i,
    .rst_ni,
    .event_i,
    .re_i,
    .index_i,
    .count_o   (count),
    .clearing_o(clearing)
  );

  index_t chosen_q;
  logic [1:0] rest_q;  // clocks in which no read may come
  logic [Width-1:0] total_q;  // events of the chosen counter
  logic [Width-1:0] then_q;  // the same, one clock ago
  logic read_q, read2_q;  // it was read in the clock before, or two clocks ago
  // As in the stage in which a short counter is read.
  logic [1:0] rest1_q;
  index_t turn1_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      chosen_q <= chosen_i;
      rest_q   <= '0;
      total_q  <= '0;
      read_q   <= 1'b0;
      read2_q  <= 1'b0;
      rest1_q  <= '0;
      turn1_q  <= '0;
    end else begin
      rest_q <= re_i ? 2'd2 : (rest_q != '0) ? rest_q - 2'd1 : '0;
      if (!clearing) total_q <= total_q + Width'(event_i[chosen_q]);
      read_q  <= re_i && index_i == chosen_q;
      read2_q <= read_q;
      rest1_q <= rest_q;
      turn1_q <= dut.turn_q;
    end
    then_q <= total_q;
  end
  `FV_ASSUME(ReadsApart, !re_i || (rest_q == '0 && !clearing))

  `ASSERT(Exact, !read2_q || count == then_q)

  // Invariants: where the events are, and how many there can be.
  logic on_the_way;
  logic [Width-1:0] word;
  assign on_the_way = dut.visit_q && dut.visited_q == chosen_q;
  assign word       = dut.u_words.mem_q[chosen_q];
  localparam int unsigned ShortW = IndexW + 2;
  typedef logic [ShortW-1:0] short_t;
  short_t number, seen, since, taken;
  assign number = dut.Number[dut.short_q[chosen_q]];
  assign seen   = on_the_way ? dut.low : short_t'(word);
  assign since  = number - seen;  // events since the counter's last turn
  assign taken  = seen - short_t'(word);  // and in that turn, while its word has not caught up
  `ASSERT(Zero, !clearing || (total_q == '0 && dut.short_q[chosen_q] == '0))
  `ASSERT(Still, !clearing || (!dut.look_q && !dut.visit_q))
  `ASSERT(Sum, clearing || total_q == word + Width'(taken) + Width'(since))
  `ASSERT(Base, !on_the_way || dut.base == word)
  `ASSERT(Cleared, !clearing || chosen_q >= dut.turn_q || word == '0)
  index_t passed;  // turns since its own
  assign passed = turn1_q - chosen_q - index_t'(1);
  // In its own, in each of these, and in those in which another was read instead: one in three.
  logic [31:0] most;
  assign most = 1 + 32'(passed) + (32'(passed) + 32'(rest1_q)) / 2;
  `ASSERT(Few, clearing || 32'(since) <= most)
  `ASSERT(Visited, !read_q || (dut.look_q && dut.now_q == chosen_q))
  `ASSERT(Read, !read2_q || on_the_way)
  // One step of the turn, or a read instead of it.
  logic stepped;
  assign stepped = dut.turn_q == turn1_q + index_t'(1) && dut.now_q == turn1_q;
  `ASSERT(Turn, !dut.look_q || (rest_q == 2'd2 ? dut.turn_q == turn1_q : stepped))
  `ASSERT(Rest, rest_q == 2'd2 || rest_q == ((rest1_q != '0) ? rest1_q - 2'd1 : '0))

  // Reached
  `FV_SEEN(wrapped, total_q == '1)
  `FV_COVER(Counts, read2_q && count == Width'(3))
  `FV_COVER(Wraps, wrapped && total_q == '0)
  `FV_COVER(InItsTurn, dut.look_q && dut.now_q == chosen_q && event_i[chosen_q])
  `FV_COVER(ReadInstead, re_i && index_i != dut.turn_q)
endmodule
