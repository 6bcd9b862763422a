// Register stage of a stream that cuts what comes with the data, and not ready: half of lib_skid_buffer, for
// where ready goes no further than to what the data waits in. Latency 1, initiation interval 1.
`include "lib_assert.svh"

module lib_half_buffer #(
  /// Type of a beat.
  parameter type T = logic
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Stream in.
  input  logic s_valid_i,
  output logic s_ready_o,
  input  T     s_data_i,
  /// Stream out.
  output logic m_valid_o,
  input  logic m_ready_i,
  output T     m_data_o
);

  assign s_ready_o = !m_valid_o || m_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) m_valid_o <= 1'b0;
    else if (s_ready_o) m_valid_o <= s_valid_i;
    if (s_ready_o) m_data_o <= s_data_i;
  end

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, m_data_o)

endmodule
