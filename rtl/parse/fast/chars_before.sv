// The characters that stand before a lane, the last one first; zeros before the first lane.
// Combinational: three choices among four.
module chars_before #(
  /// Type of a character, or of what is known of one.
  parameter type T = logic [7:0],
  /// Characters that are wanted.
  parameter int unsigned N = 8
) (
  input  T [63:0]    line_i,  // the last one stands before none
  input  logic [5:0] lane_i,
  output T [N-1:0]   before_o
);

  T [N+62:0] padded;
  T [N+14:0] by16;
  T [N+2:0]  by4;
  T [N-1:0]  by1;
  always_comb begin
    padded         = '0;
    padded[N+62:N] = line_i[62:0];
    by16 = lane_i[5] ? (lane_i[4] ? padded[48+:N+15] : padded[32+:N+15]) :
                       (lane_i[4] ? padded[16+:N+15] : padded[0+:N+15]);
    by4  = lane_i[3] ? (lane_i[2] ? by16[12+:N+3] : by16[8+:N+3]) :
                       (lane_i[2] ? by16[4+:N+3] : by16[0+:N+3]);
    by1  = lane_i[1] ? (lane_i[0] ? by4[3+:N] : by4[2+:N]) : (lane_i[0] ? by4[1+:N] : by4[0+:N]);
    for (int unsigned i = 0; i < N; i++) before_o[i] = by1[N-1-i];
  end

endmodule
