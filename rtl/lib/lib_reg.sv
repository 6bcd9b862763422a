// Register stage of a stream that cuts both directions: no output depends combinationally on an
// input. Latency 1, initiation interval 1.
`include "lib_assert.svh"

module lib_reg #(
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

  // The skid register takes the one beat that was promised room while the output is stalled.
  logic valid_q, skid_valid_q, stall;
  T data_q, skid_q;

  assign stall     = valid_q && !m_ready_i;
  assign s_ready_o = !skid_valid_q;
  assign m_valid_o = valid_q;
  assign m_data_o  = data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q      <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (stall) begin
      skid_valid_q <= skid_valid_q || s_valid_i;
    end else begin
      valid_q      <= skid_valid_q || s_valid_i;
      skid_valid_q <= 1'b0;
    end
    if (!stall) begin
      if (skid_valid_q) data_q <= skid_q;
      else if (s_valid_i) data_q <= s_data_i;
    end
    if (s_valid_i && stall && !skid_valid_q) skid_q <= s_data_i;
  end

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, m_data_o)
  `ASSERT(SkidBehindData, !skid_valid_q || valid_q)

endmodule
