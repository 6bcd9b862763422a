// Adds several numbers, by pairs. Combinational.
module lib_sum #(
  /// How many: a power of two, 2 or more.
  parameter int unsigned N = 8,
  /// Bits of the sum, modulo which it is.
  parameter int unsigned Width = 32
) (
  input  logic [N-1:0][Width-1:0] terms_i,
  output logic [Width-1:0]        sum_o
);

  if (N < 2 || N != 2 ** $clog2(N)) begin : gen_bad_n
    $error("%m: N must be a power of two, at least 2");
  end

  // Node 1 is the sum, node n that of nodes 2n and 2n + 1; the terms come from node N on.
  logic [2*N-1:1][Width-1:0] node;
  assign node[2*N-1:N] = terms_i;
  assign sum_o         = node[1];
  for (genvar n = 1; n < N; n++) begin : gen_node
    lib_add #(
      .Width(Width)
    ) u_add (
      .a_i  (node[2*n]),
      .b_i  (node[2*n+1]),
      .sum_o(node[n])
    );
  end

endmodule
