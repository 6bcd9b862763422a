// Adds two numbers. Combinational.
//
// A module of its own because synthesis makes of a sum of several a tree of full adders, with two LUTs a bit
// for each: it keeps this one apart, and a sum made of it is one carry chain for each "+", a LUT a bit.
(* keep_hierarchy = "yes" *)
module lib_add #(
  /// Bits; what is carried out of them is lost.
  parameter int unsigned Width = 32
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic [Width-1:0] sum_o
);

  assign sum_o = a_i + b_i;

endmodule
