// No bit is set, by a carry chain: of many that come late it is faster than a tree, and takes fewer LUTs.
// Combinational (latency 0).

module lib_carry_nor #(
  /// Bits, two groups or more of them.
  parameter int unsigned N = 4,
  // verilator lint_off UNUSEDPARAM
  /// So many make one of the chain; divides N.
  parameter int unsigned Group = 2
  // verilator lint_on UNUSEDPARAM
) (
  input  logic [N-1:0] bits_i,
  output logic         none_o
);

  if (N % Group != 0) begin : gen_misuse
    $error("%m: Group must divide N");
  end

`ifdef VERILATOR
  assign none_o = bits_i == '0;
`else
  localparam int unsigned Groups = N / Group;
  logic [Groups-1:0] none, unused_sum;
  for (genvar g = 0; g < Groups; g++) begin : gen_group
    assign none[g] = bits_i[Group*g+:Group] == '0;
  end
  assign {none_o, unused_sum} = (Groups + 1)'(none) + 1'b1;
`endif

endmodule
