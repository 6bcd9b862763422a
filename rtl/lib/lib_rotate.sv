// Rotates the bytes of a line towards higher lanes: three levels of four-way multiplexers, of one LUT a
// bit each. Combinational.
//
// A module of its own because a mapper that has levels to spare takes up to five LUTs a bit for these
// three: synthesis keeps it apart.
(* keep_hierarchy = "yes" *)
module lib_rotate
  import lib_pkg::*;
(
  input  logic [511:0] data_i,
  /// By so many lanes; lane 0 follows lane 63.
  input  logic [5:0]   lanes_i,
  output logic [511:0] data_o
);

  assign data_o = rotl_bytes(data_i, lanes_i);

endmodule
