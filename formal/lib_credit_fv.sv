// What was taken and not given back is never more than there are places, and each place can be had.
`include "fv.svh"
`include "lib_assert.svh"

module lib_credit_fv #(
  parameter int unsigned Depth = 4
) (
  input logic clk_i,
  input logic take_i,
  input logic give_i
);
  `FV_RESET

  // Things on their way or in the queue.
  logic [$clog2(Depth+1)-1:0] out_q;
  logic [$clog2(Depth+1)-1:0] left;
  logic ok, take, give;
  assign take = take_i && ok;
  assign give = give_i && out_q != '0;

  lib_credit #(
    .Depth(Depth)
  ) dut (
    .clk_i,
    .rst_ni,
    .take_i(take),
    .give_i(give),
    .ok_o  (ok),
    .left_o(left)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_q <= '0;
    else out_q <= out_q + ($bits(out_q))'(take) - ($bits(out_q))'(give);
  end

  `ASSERT(Room, 32'(out_q) <= Depth)
  `ASSERT(Had, ok == (32'(out_q) < Depth))

  // Invariant
  `ASSERT(Sum, 32'(left) + 32'(out_q) == Depth)

  // Reached
  `FV_SEEN(used_up, !ok)
  `FV_COVER(UsedUp, !ok)
  `FV_COVER(AllBack, used_up && out_q == '0)
  `FV_COVER(TakeAndGive, take && give)
endmodule
