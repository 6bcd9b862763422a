// Lane masks, the lowest bit, and rotl_bytes, for each distance: what it is used for in lib_pack, it may then be used for in the
// proof of lib_pack.
`include "fv.svh"
`include "lib_assert.svh"

module lib_pkg_fv
  import lib_pkg::*;
(
  input logic         clk_i,
  input logic [511:0] data_i,
  input logic [63:0]  bits_i
);
  `FV_RESET

  for (genvar n = 0; n < 64; n++) begin : gen_distance
    `ASSERT(Rotates, rotl_bytes(data_i, 6'(n)) == {data_i << 8 * n | data_i >> 8 * (64 - n)})
    `ASSERT(From, lanes_from(6'(n)) == ~((64'd1 << n) - 64'd1))
    `ASSERT(Lowest, lowest(bits_i) [n] == (bits_i[n] && (bits_i & ((64'd1 << n) - 64'd1)) == '0))
    `ASSERT(Below, lanes_below(7'(n)) == (64'd1 << n) - 64'd1)
  end
  `ASSERT(BelowAll, lanes_below(7'd64) == '1)
endmodule
