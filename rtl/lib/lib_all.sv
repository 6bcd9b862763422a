// All bits are set, by a carry chain: of many that come late it is faster than a tree, and takes fewer LUTs.
// Combinational (latency 0).

module lib_all #(
  /// Bits, 2 or more.
  parameter int unsigned N = 2
) (
  input  logic [N-1:0] bits_i,
  output logic         all_o
);

  logic [N-1:0] unused_sum;
  assign {all_o, unused_sum} = (N + 1)'(bits_i) + 1'b1;

endmodule
