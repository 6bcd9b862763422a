// A line out of 79 bytes, or fewer out of as many and 15, from one of the first 16 on: two levels of four-way
// multiplexers, of one LUT a bit each. Combinational.
//
// A module of its own for the same reason as lib_rotate.
(* keep_hierarchy = "yes" *)
module lib_shift #(
  /// Bytes that come out.
  parameter int unsigned Lanes = 64
) (
  input  logic [8*Lanes+119:0] data_i,
  input  logic [3:0]           lanes_i,
  output logic [8*Lanes-1:0]   data_o
);

  logic [8*Lanes+23:0] by4;
  assign by4    = (8 * Lanes + 24)'(data_i >> {lanes_i[3:2], 5'd0});
  assign data_o = (8 * Lanes)'(by4 >> {lanes_i[1:0], 3'd0});

endmodule
