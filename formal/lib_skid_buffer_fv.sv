// A word chosen by the prover comes out behind exactly the words that went in before it.
`include "fv.svh"
`include "lib_assert.svh"

module lib_skid_buffer_fv (
  input logic       clk_i,
  input logic       s_valid_i,
  input logic [3:0] s_data_i,
  input logic       m_ready_i,
  input logic       choose_i
);
  `FV_RESET

  typedef logic [3:0] word_t;
  logic s_ready, m_valid;
  word_t m_data;
  lib_skid_buffer #(
    .T(word_t)
  ) dut (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o(s_ready),
    .s_data_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m_data)
  );

  // The chosen word, and how many are before it.
  logic seen_q;
  word_t word_q;
  logic [1:0] ahead_q, level_q;
  logic push, pop;
  assign push = s_valid_i && s_ready;
  assign pop  = m_valid && m_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q  <= 1'b0;
      level_q <= '0;
    end else begin
      level_q <= level_q + 2'(push) - 2'(pop);
      if (push && choose_i && !seen_q) begin
        seen_q  <= 1'b1;
        word_q  <= s_data_i;
        ahead_q <= level_q - 2'(pop);
      end else if (seen_q && pop) begin
        seen_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
    end
  end

  `ASSERT(Valid, m_valid == (level_q != '0))
  `ASSERT(Room, s_ready == (level_q != 2'd2))
  `ASSERT(Order, !(seen_q && m_valid && ahead_q == '0) || m_data == word_q)

  // Invariants
  `ASSERT(Level, level_q == 2'(dut.valid_q) + 2'(!dut.room_q))
  `ASSERT(Behind, !seen_q || ahead_q < level_q)
  `ASSERT(Second, !(seen_q && ahead_q == 2'd1) || dut.mem_q[!dut.head_q] == word_q)

  // Reached
  `FV_SEEN(filled, !s_ready)
  `FV_COVER(Fills, !s_ready)
  `FV_COVER(Empties, filled && !m_valid)
  `FV_COVER(ComesOut, filled && seen_q && pop && ahead_q == '0)
  `FV_COVER(InAndOut, push && pop && level_q == 2'd1)
endmodule
