// Round-robin arbiter of N streams; a packet is never interrupted. Combinational (latency 0),
// initiation interval 1.
`include "lib_assert.svh"

module lib_arb #(
  /// Type of a beat (packed).
  parameter type T = logic,
  /// Streams, 2 or more.
  parameter int unsigned N = 2
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  /// Streams in; s_last_i ends a packet (tie to '1 where every beat is one).
  input  logic [N-1:0]         s_valid_i,
  output logic [N-1:0]         s_ready_o,
  input  T     [N-1:0]         s_data_i,
  input  logic [N-1:0]         s_last_i,
  /// Stream out, with the number of the stream it comes from.
  output logic                 m_valid_o,
  input  logic                 m_ready_i,
  output T                     m_data_o,
  output logic                 m_last_o,
  output logic [$clog2(N)-1:0] m_idx_o
);

  if (N < 2) begin : gen_bad_n
    $error("%m: N must be 2 or more");
  end

  typedef logic [$clog2(N)-1:0] idx_t;

  // The stream that was granted last; while held_q it keeps the grant.
  idx_t idx_q, pick;
  logic held_q;

  // The next stream behind idx_q that has something, else the first that has.
  always_comb begin
    pick = idx_q;
    for (int i = N - 1; i >= 0; i--) if (s_valid_i[i]) pick = idx_t'(i);
    for (int i = N - 1; i >= 0; i--) if (s_valid_i[i] && i > int'(idx_q)) pick = idx_t'(i);
  end

  assign m_idx_o   = held_q ? idx_q : pick;
  assign m_valid_o = held_q ? s_valid_i[idx_q] : |s_valid_i;
  assign m_data_o  = s_data_i[m_idx_o];
  assign m_last_o  = s_last_i[m_idx_o];

  always_comb begin
    s_ready_o = '0;
    s_ready_o[m_idx_o] = m_ready_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      idx_q  <= '0;
      held_q <= 1'b0;
    end else if (m_valid_o) begin
      // A stalled offer is held too: it must stay stable.
      idx_q  <= m_idx_o;
      held_q <= !(m_ready_i && m_last_o);
    end
  end

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, {m_data_o, m_last_o, m_idx_o})
  `ASSERT(ReadyOneHot, (s_ready_o & (s_ready_o - 1'b1)) == '0)

endmodule
