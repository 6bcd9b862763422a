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
  typedef logic [N-1:0] hot_t;

  // The streams behind the one that was granted last, which is the one below them; while held_q it keeps
  // the grant. As a bit for each, so that no number is compared on the way from valid to ready.
  hot_t above_q, last, above, pick, hot;
  logic held_q;
  assign last = ~above_q & {1'b1, above_q[N-1:1]};

  // Without the adder of lib_pkg's: no carry chain on that way.
  function automatic hot_t lowest(input hot_t valid);
    logic seen = 1'b0;
    for (int unsigned i = 0; i < N; i++) begin
      lowest[i] = valid[i] && !seen;
      seen |= valid[i];
    end
  endfunction

  // The next stream behind the last that has something, else the first that has.
  assign above = s_valid_i & above_q;
  assign pick  = (above != '0) ? lowest(above) : lowest(s_valid_i);
  assign hot   = held_q ? last : pick;

  always_comb begin
    m_idx_o = '0;
    for (int unsigned i = 0; i < N; i++) if (hot[i]) m_idx_o |= idx_t'(i);
  end
  assign m_valid_o = held_q ? (s_valid_i & last) != '0 : s_valid_i != '0;
  assign m_data_o  = s_data_i[m_idx_o];
  assign m_last_o  = s_last_i[m_idx_o];
  assign s_ready_o = m_ready_i ? hot : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      above_q <= ~hot_t'(1);
      held_q  <= 1'b0;
    end else if (m_valid_o) begin
      // A stalled offer is held too: it must stay stable.
      above_q <= ~(hot | (hot - 1'b1));
      held_q  <= !(m_ready_i && m_last_o);
    end
  end

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, {m_data_o, m_last_o, m_idx_o})
  `ASSERT(ReadyOneHot, (s_ready_o & (s_ready_o - 1'b1)) == '0)

endmodule
