// lib_fifo: a word chosen by the prover comes out behind exactly the words that went in before it.
`include "fv.svh"
`include "lib_assert.svh"

module lib_fifo_fv #(
  parameter int unsigned Depth = 4,
  parameter bit Block = Depth > 32,
  parameter bit Early = 0
) (
  input logic       clk_i,
  input logic       s_valid_i,
  input logic [1:0] s_data_i,
  input logic       m_ready_i,
  input logic       choose_i
);
  `FV_RESET

  localparam int unsigned CountW = $clog2(Depth + 1);
  typedef logic [1:0] word_t;
  typedef logic [CountW-1:0] count_t;
  logic s_ready, m_valid;
  word_t m_data;
  count_t level;
  lib_fifo #(
    .T    (word_t),
    .Depth(Depth),
    .Block(Block),
    .Early(Early)
  ) dut (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o(s_ready),
    .s_data_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m_data),
    .level_o  (level)
  );

  // The chosen word, and how many are before it.
  count_t level_q, ahead_q;
  logic seen_q, push, pop;
  word_t word_q;
  assign push = s_valid_i && s_ready;
  assign pop  = m_valid && m_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      level_q <= '0;
      seen_q  <= 1'b0;
    end else begin
      level_q <= level_q + count_t'(push) - count_t'(pop);
      if (push && choose_i && !seen_q) begin
        seen_q  <= 1'b1;
        word_q  <= s_data_i;
        ahead_q <= level_q - count_t'(pop);
      end else if (seen_q && pop) begin
        seen_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
    end
  end

  `ASSERT(Level, level == level_q)
  `ASSERT(Room, s_ready == (level_q != count_t'(Depth)))
  `ASSERT(NothingInvented, !m_valid || level_q != '0)
  `ASSERT(Order, !(seen_q && m_valid && ahead_q == '0) || m_data == word_q)

  // Invariants
  function automatic int unsigned wrap(input int unsigned place);
    return (place >= Depth) ? place - Depth : place;
  endfunction
  logic [1:0] head;  // so many have left the memory for the output, or were never there
  word_t stored;
  if (!Block) begin : gen_small
    assign head   = '0;
    assign stored = dut.gen_small.mem_q[wrap(32'(dut.raddr_q) + 32'(ahead_q))];
    `ASSERT(Visible, m_valid == (level_q != '0))
  end else begin : gen_large
    logic early;  // one is in the register
    if (Early) begin : gen_early
      assign early = dut.gen_large.gen_early.valid_q;
      `ASSERT(Next,
              !(seen_q && dut.gen_large.head_q && 32'(ahead_q) == 32'(early)) ||
                        dut.gen_large.head == word_q)
    end else begin : gen_late
      assign early = 1'b0;
    end
    assign head = 2'(dut.gen_large.head_q) + 2'(early);
    assign stored = dut.gen_large.u_ram.mem_q[
                    wrap(32'(dut.raddr_q) + 32'(ahead_q) - 32'(head))];
    // A word shows up two clocks after its push at the latest.
    logic late_q;
    always_ff @(posedge clk_i) late_q <= rst_ni && level_q != '0 && !pop;
    `ASSERT(Visible, !late_q || m_valid)
    `ASSERT(Output, !(seen_q && m_valid && ahead_q == '0) || m_data == word_q)
  end
  `ASSERT(NotOver, 32'(level_q) <= Depth)
  `ASSERT(HeadCounts, 32'(head) <= 32'(level_q))
  `ASSERT(Read, 32'(dut.raddr_q) < Depth)
  `ASSERT(Write, dut.waddr_q == wrap(32'(dut.raddr_q) + 32'(level_q) - 32'(head)))
  `ASSERT(Behind, !seen_q || ahead_q < level_q)
  `ASSERT(Stored, !seen_q || 32'(ahead_q) < 32'(head) || stored == word_q)

  // Reached
  `FV_SEEN(filled, !s_ready)
  `FV_COVER(Fills, !s_ready)
  `FV_COVER(Empties, filled && level_q == '0 && !m_valid)
  `FV_COVER(LastOfAll, seen_q && ahead_q == count_t'(Depth - 1))
  `FV_COVER(ComesOut, filled && seen_q && pop && ahead_q == '0)
  `FV_COVER(InAndOut, push && pop)
endmodule
