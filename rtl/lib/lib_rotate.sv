// Rotates the bytes of a line towards higher lanes: three levels of four-way multiplexers, of one LUT a
// bit each (lib_mux4). Combinational.
module lib_rotate (
  input  logic [511:0] data_i,
  /// By so many lanes; lane 0 follows lane 63.
  input  logic [5:0]   lanes_i,
  output logic [511:0] data_o
);

  // From three steps below on, and less far the further it goes.
  logic [511:0] by16, by4;
  lib_mux4 #(
    .Step(128)
  ) u_by16 (
    .data_i ({data_i, data_i[511:128]}),
    .steps_i(~lanes_i[5:4]),
    .data_o (by16)
  );
  lib_mux4 #(
    .Step(32)
  ) u_by4 (
    .data_i ({by16, by16[511:416]}),
    .steps_i(~lanes_i[3:2]),
    .data_o (by4)
  );
  lib_mux4 #(
    .Step(8)
  ) u_by1 (
    .data_i ({by4, by4[511:488]}),
    .steps_i(~lanes_i[1:0]),
    .data_o
  );

endmodule
