// lib_align gives lib_pack what the proof of lib_pack assumes: chunks that lie in their line, and
// `first` with exactly the first beat of a packet. And it strips what it was asked to.
`include "fv.svh"
`include "lib_assert.svh"

module lib_align_fv (
  input logic         clk_i,
  input logic         s_valid_i,
  input logic [511:0] s_data_i,
  input logic [6:0]   s_len_i,
  input logic         s_last_i,
  input logic [5:0]   s_skip_i,
  input logic         m_ready_i
);
  `FV_RESET
  `FV_ASSUME(Beats, s_len_i == 7'd64 || (s_last_i && s_len_i < 7'd64))

  logic s_ready, m_valid, m_last;
  logic [511:0] m_data;
  logic [6:0] m_len;
  lib_align dut (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o(s_ready),
    .s_data_i,
    .s_len_i,
    .s_last_i,
    .s_skip_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m_data),
    .m_len_o  (m_len),
    .m_last_o (m_last)
  );

  logic open_q;  // inside a packet
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (s_valid_i && s_ready) open_q <= !s_last_i;
  end

  `ASSERT(First, dut.u_pack.s_first_i == !open_q)
  `ASSERT(Lane0, dut.u_pack.s_offset_i == '0)
  `ASSERT(Later, !open_q || (dut.start == '0 && dut.len == s_len_i))
  logic [6:0] rest;
  assign rest = s_len_i - 7'(s_skip_i);
  `ASSERT(Strips, open_q || dut.start == s_skip_i)
  `ASSERT(Keeps, open_q || dut.len == (rest[6] && s_len_i != 7'd64 ? '0 : rest))

  // Reached
  `FV_COVER(Long, open_q && s_valid_i && s_ready && s_last_i)
  `FV_COVER(Cuts, s_valid_i && s_ready && !open_q && dut.start != '0 && dut.len != '0 && !s_last_i)
  `FV_COVER(CutsAll, s_valid_i && s_ready && !open_q && s_len_i != '0 && dut.len == '0)
  `FV_COVER(Comes, m_valid && m_ready_i && m_last && m_len != '0)
endmodule
