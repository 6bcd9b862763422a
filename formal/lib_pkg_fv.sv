// Lane masks, the lowest bit, and rotl_bytes, for each distance: the proof of lib_pack uses it then. lib_rotate and
// lib_shift do the same by steps. A decimal digit before it is doubled.
`include "fv.svh"
`include "lib_assert.svh"

module lib_pkg_fv
  import lib_pkg::*;
(
  input logic         clk_i,
  input logic [511:0] data_i,
  input logic [5:0]   lanes_i,
  input logic [63:0]  bits_i
);
  `FV_RESET

  for (genvar n = 0; n < 64; n++) begin : gen_distance
    `ASSERT(Rotates, rotl_bytes(data_i, 6'(n)) == {data_i << 8 * n | data_i >> 8 * (64 - n)})
    `ASSERT(From, lanes_from(6'(n)) == ~((64'd1 << n) - 64'd1))
    `ASSERT(Lowest, lowest(bits_i) [n] == (bits_i[n] && (bits_i & ((64'd1 << n) - 64'd1)) == '0))
    `ASSERT(Below, lanes_below(7'(n)) == (64'd1 << n) - 64'd1)
  end

  logic [511:0] rotated;
  lib_rotate u_rotate (
    .data_i,
    .lanes_i,
    .data_o (rotated)
  );
  `ASSERT(RotatesBySteps, rotated == rotl_bytes(data_i, lanes_i))
  logic [127:0] shifted;
  lib_shift #(
    .Lanes(16)
  ) u_shift (
    .data_i (data_i[247:0]),
    .lanes_i(lanes_i[3:0]),
    .data_o (shifted)
  );
  `ASSERT(ShiftsBySteps, shifted == 128'(data_i[247:0] >> {lanes_i[3:0], 3'd0}))
  `ASSERT(Dabbled, bits_i[3:0] > 4'd9 || dabbled(bits_i[3:0]
          ) == (bits_i[3:0] < 4'd5 ? bits_i[3:0] : bits_i[3:0] + 4'd3))
  `ASSERT(BelowAll, lanes_below(7'd64) == '1)
endmodule
