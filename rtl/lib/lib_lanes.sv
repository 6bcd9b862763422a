// The lanes of a line below a number, 0 to 64. Combinational.
//
// A module of its own because a mapper makes a part of this anew for each bit of a lane that is
// masked by it: synthesis keeps it apart.
(* keep_hierarchy = "yes" *)
module lib_lanes (
  input  logic [6:0]  n_i,
  output logic [63:0] below_o
);

  assign below_o = lib_pkg::lanes_below(n_i);

endmodule
