// A line out of 79 bytes, or fewer out of as many and 15, from one of the first 16 on: two levels of four-way
// multiplexers, of one LUT a bit each (lib_mux4). Combinational.
module lib_shift #(
  /// Bytes that come out.
  parameter int unsigned Lanes = 64
) (
  input  logic [8*Lanes+119:0] data_i,
  input  logic [3:0]           lanes_i,
  output logic [8*Lanes-1:0]   data_o
);

  logic [8*Lanes+23:0] by4;
  lib_mux4 #(
    .Width(8 * Lanes + 24),
    .Step (32)
  ) u_by4 (
    .data_i,
    .steps_i(lanes_i[3:2]),
    .data_o (by4)
  );
  lib_mux4 #(
    .Width(8 * Lanes),
    .Step (8)
  ) u_by1 (
    .data_i (by4),
    .steps_i(lanes_i[1:0]),
    .data_o
  );

endmodule
