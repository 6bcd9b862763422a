// One grant at a time, packets are not interrupted, and a source that keeps asking sees at most
// N-1 packets of others pass.
`include "fv.svh"
`include "lib_assert.svh"

module lib_arb_fv #(
  parameter int unsigned N = 3
) (
  input logic              clk_i,
  input logic [N-1:0]      s_valid_i,
  input logic [N-1:0][1:0] s_data_i,
  input logic [N-1:0]      s_last_i,
  input logic              m_ready_i
);
  `FV_RESET

  localparam int unsigned IdxW = $clog2(N);
  typedef logic [1:0] word_t;
  logic [N-1:0] s_ready;
  logic m_valid, m_last;
  word_t m_data;
  logic [IdxW-1:0] m_idx;
  lib_arb #(
    .T(word_t),
    .N(N)
  ) dut (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o(s_ready),
    .s_data_i,
    .s_last_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m_data),
    .m_last_o (m_last),
    .m_idx_o  (m_idx)
  );

  for (genvar i = 0; i < N; i++) begin : gen_source
    `FV_STREAM(Source, s_valid_i[i], s_ready[i], {s_data_i[i], s_last_i[i]})
  end

  // A packet that has begun, or a beat that is offered, belongs to one source until its end.
  logic open_q;
  logic [IdxW-1:0] owner_q;
  // A source chosen by the prover, and how many packets of others ended while it asked.
  logic [IdxW-1:0] chosen_q;
  logic [IdxW:0] passed_q;

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen_q;
    if (!rst_ni) begin
      open_q   <= 1'b0;
      passed_q <= '0;
    end else begin
      if (m_valid && m_ready_i) begin
        open_q  <= !m_last;
        owner_q <= m_idx;
      end
      if (!s_valid_i[chosen_q] || m_idx == chosen_q) passed_q <= '0;
      else if (m_valid && m_ready_i && m_last) passed_q <= passed_q + 1'b1;
    end
  end
  `FV_ASSUME(Chosen, 32'(chosen_q) < N)

  `ASSERT(Whole, !(open_q && m_valid) || m_idx == owner_q)
  `ASSERT(OneGrant, s_ready == ((m_ready_i && (m_valid || dut.held_q)) ? N'(1) << m_idx : '0))
  `ASSERT(Takes, !m_valid || s_valid_i[m_idx])
  `ASSERT(Works, m_valid || open_q || s_valid_i == '0)
  `ASSERT(Data, !m_valid || (m_data == s_data_i[m_idx] && m_last == s_last_i[m_idx]))
  `ASSERT(Fair, 32'(passed_q) < N)

  // Invariants: with every packet that passes, the grant comes nearer to the chosen source.
  logic [IdxW-1:0] last;
  always_comb begin
    last = '0;
    for (int i = 0; i < int'(N); i++) if (!dut.above_q[i]) last = IdxW'(i);
  end
  `ASSERT(BitsFromSomewhereOn, !dut.above_q[0] && (~dut.above_q & (~dut.above_q + 1'b1)) == '0)
  logic [IdxW:0] left;  // steps from the last grant to the chosen source, 1..N
  assign left = (chosen_q > last) ? chosen_q - last : (IdxW + 1)'(N) + chosen_q - last;
  logic [IdxW:0] under_way;
  assign under_way = (IdxW + 1)'(dut.held_q && last != chosen_q);
  `ASSERT(Nearer, passed_q == '0 || 32'(passed_q) + 32'(left) + 32'(under_way) <= N)
  `ASSERT(Held, !open_q || (dut.held_q && last == owner_q))
  `ASSERT(HeldValid, !dut.held_q || open_q || s_valid_i[last])

  // Reached
  for (genvar i = 0; i < N; i++) begin : gen_reached
    logic granted;
    assign granted = m_valid && m_ready_i && m_idx == IdxW'(i);
    `FV_COVER(Granted, granted && m_last && open_q && s_valid_i == '1)
  end
  `FV_COVER(Passed, 32'(passed_q) == N - 1)
  `FV_COVER(Gap, open_q && !m_valid && s_valid_i != '0)
endmodule
