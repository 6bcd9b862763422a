// A line out of 79 bytes, from one of the first 16 on: two levels of four-way multiplexers, of one
// LUT a bit each. Combinational.
//
// A module of its own for the same reason as lib_rotate.
(* keep_hierarchy = "yes" *)
module lib_shift (
  input  logic [79*8-1:0] data_i,
  input  logic [3:0]      lanes_i,
  output logic [511:0]    data_o
);

  logic [67*8-1:0] by4;
  assign by4    = (67 * 8)'(data_i >> {lanes_i[3:2], 5'd0});
  assign data_o = 512'(by4 >> {lanes_i[1:0], 3'd0});

endmodule
