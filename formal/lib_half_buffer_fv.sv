// A word chosen by the prover comes out behind exactly the words that went in before it.
`include "fv.svh"
`include "lib_assert.svh"

module lib_half_buffer_fv (
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
  lib_half_buffer #(
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

  // The chosen word, while it is inside.
  logic seen_q, level_q, push, pop;
  word_t word_q;
  assign push = s_valid_i && s_ready;
  assign pop  = m_valid && m_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q  <= 1'b0;
      level_q <= 1'b0;
    end else begin
      level_q <= push || (level_q && !pop);
      seen_q  <= (push && choose_i) || (seen_q && !pop);
    end
    if (push && choose_i) word_q <= s_data_i;
  end

  `ASSERT(Valid, m_valid == level_q)
  `ASSERT(Room, s_ready == (!level_q || m_ready_i))
  `ASSERT(Order, !seen_q || (level_q && m_data == word_q))

  // Reached
  `FV_SEEN(filled, !s_ready)
  `FV_COVER(Fills, !s_ready)
  `FV_COVER(Empties, filled && !m_valid)
  `FV_COVER(ComesOut, filled && seen_q && pop)
  `FV_COVER(InAndOut, push && pop)
endmodule
