// A word chosen by the prover comes out behind exactly the committed words that went in before it,
// or vanishes with the rollback that it belongs to.
`include "fv.svh"
`include "lib_assert.svh"

module lib_commit_fifo_fv #(
  parameter int unsigned Depth = 4
) (
  input logic       clk_i,
  input logic       s_valid_i,
  input logic [1:0] s_data_i,
  input logic       commit_i,
  input logic       rollback_i,
  input logic       m_ready_i,
  input logic       choose_i
);
  `FV_RESET
  `FV_ASSUME(OneEnd, !(commit_i && rollback_i))

  localparam int unsigned CountW = $clog2(Depth + 1);
  typedef logic [1:0] word_t;
  typedef logic [CountW-1:0] count_t;
  logic s_ready, m_valid;
  word_t m_data;
  count_t free;
  lib_commit_fifo #(
    .T    (word_t),
    .Depth(Depth)
  ) dut (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o(s_ready),
    .s_data_i,
    .commit_i,
    .rollback_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m_data),
    .free_o   (free)
  );

  // Committed and uncommitted words; the chosen one, and how many are before it.
  count_t done_q, open_q, ahead_q, ahead_d;
  logic seen_q, seen_d, push, pop;
  word_t word_q;
  assign push = s_valid_i && s_ready;
  assign pop  = m_valid && m_ready_i;

  always_comb begin
    seen_d  = seen_q;
    ahead_d = ahead_q - count_t'(pop);
    if (seen_q && pop && ahead_q == '0) seen_d = 1'b0;
    if (!seen_q && push && choose_i) begin
      seen_d  = 1'b1;
      ahead_d = done_q + open_q - count_t'(pop);
    end
    if (rollback_i && ahead_d >= done_q - count_t'(pop)) seen_d = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      done_q <= '0;
      open_q <= '0;
      seen_q <= 1'b0;
    end else begin
      done_q <= done_q - count_t'(pop) + (commit_i ? open_q + count_t'(push) : '0);
      open_q <= (commit_i || rollback_i) ? '0 : open_q + count_t'(push);
      seen_q <= seen_d;
      if (!seen_q && push && choose_i) word_q <= s_data_i;
    end
    ahead_q <= ahead_d;
  end

  `ASSERT(Room, s_ready == (done_q + open_q != count_t'(Depth)))
  `ASSERT(Free, free == count_t'(Depth) - done_q - open_q)
  `ASSERT(NothingEarly, !m_valid || done_q != '0)
  `ASSERT(Order, !(seen_q && m_valid && ahead_q == '0) || m_data == word_q)

  // Invariants
  function automatic int unsigned wrap(input int unsigned place);
    return (place >= Depth) ? place - Depth : place;
  endfunction
  logic head;  // the oldest word has left the memory for the output
  word_t stored;
  if (Depth <= 32) begin : gen_small
    assign head   = 1'b0;
    assign stored = dut.gen_small.mem_q[wrap(32'(dut.raddr_q) + 32'(ahead_q))];
    `ASSERT(Visible, m_valid == (done_q != '0))
  end else begin : gen_large
    // A word shows up two clocks after its commit at the latest.
    logic late_q;
    always_ff @(posedge clk_i) late_q <= rst_ni && done_q != '0 && !pop;
    assign head   = dut.gen_large.head_q;
    assign stored = dut.gen_large.u_ram.mem_q[
                    wrap(32'(dut.raddr_q) + 32'(ahead_q) - 32'(head))];
    `ASSERT(Visible, !late_q || m_valid)
    `ASSERT(Output, !(seen_q && head && ahead_q == '0) || m_data == word_q)
  end
  `ASSERT(FreeCount, dut.free_q == free)
  `ASSERT(SpareCount, dut.spare_q == free + open_q)
  `ASSERT(AnyFlag, dut.any_q == (done_q != count_t'(head)))
  `ASSERT(NotOver, 32'(done_q) + 32'(open_q) <= Depth)
  `ASSERT(HeadCounts, !head || done_q != '0)
  `ASSERT(Read, 32'(dut.raddr_q) < Depth)
  `ASSERT(Start, 32'(dut.start_q) == wrap(32'(dut.raddr_q) + 32'(done_q) - 32'(head)))
  `ASSERT(Write, 32'(dut.waddr_q) == wrap(32'(dut.start_q) + 32'(open_q)))
  `ASSERT(Behind, !seen_q || ahead_q < done_q + open_q)
  `ASSERT(Stored, !seen_q || (head && ahead_q == '0) || stored == word_q)

  // Reached
  `FV_SEEN(filled, done_q == count_t'(Depth))
  `FV_COVER(Fills, done_q == count_t'(Depth))
  `FV_COVER(FillsOpen, open_q == count_t'(Depth) && rollback_i)
  `FV_COVER(Empties, filled && done_q == '0 && !m_valid)
  `FV_COVER(ComesOut, filled && seen_q && pop && ahead_q == '0)
  `FV_COVER(Vanishes, seen_q && rollback_i && !seen_d && done_q != '0)
  `FV_COVER(CommitsLast, commit_i && push && open_q != '0)
endmodule
