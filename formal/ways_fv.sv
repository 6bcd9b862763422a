// ways: a key is there from when it was put to when its entry came out, with its number; every entry that was put comes out
// once, and none that was not. Each number is in use once, as the asker's.
`include "fv.svh"
`include "lib_assert.svh"

module ways_fv
  import aside_pkg::*;
#(
  parameter int unsigned Sets = 2,
  parameter int unsigned Ways = 2
) (
  input logic            clk_i,
  input logic            clear_i,
  input logic            valid_i,
  input way_e            op_i,
  input logic      [2:0] hash_i,
  input logic      [2:0] number_i,
  input logic [Ways-1:0] ways_i,
  input logic      [2:0] chosen_i
);
  `FV_RESET

  logic clearing, ready, done, hit, out, clear, take;
  logic [2:0] number;
  way_e op1_q, op2_q, op3_q;
  logic [2:0] hash1_q, hash2_q, hash3_q, number1_q, number2_q, number3_q, valid_q;
  logic blank1_q, blank2_q, blank3_q;
  assign clear = clear_i && valid_q == '0 && !valid_i && !done;
  assign take  = valid_i && ready;
  ways #(
    .Sets   (Sets),
    .Ways   (Ways),
    .TagW   (2),
    .NumberW(3)
  ) dut (
    .clk_i,
    .rst_ni,
    .clear_i   (clear),
    .clearing_o(clearing),
    .valid_i,
    .ready_o   (ready),
    .op_i,
    .hash_i    (64'(hash_i)),
    .number_i,
    .ways_i,
    .done_o    (done),
    .hit_o     (hit),
    .out_o     (out),
    .number_o  (number)
  );
  `FV_ASSUME(Ops, op_i inside {WayLook, WayPut, WayTake, WayDrop})
  `FV_ASSUME(SomeWays, ways_i != '0)

  // Numbers that are inside, or on their way; the asker has the others.
  logic [7:0] inside_q;
  `FV_ASSUME(Owned, !(valid_i && op_i == WayPut) || !inside_q[number_i])

  logic [2:0] chosen_q, entry_q;
  logic there_q, mine;  // what is done is done to the chosen key
  assign mine = hash3_q == chosen_q && op3_q != WayDrop;
  always_ff @(posedge clk_i) begin
    {op3_q, op2_q, op1_q}             <= {op2_q, op1_q, op_i};
    {hash3_q, hash2_q, hash1_q}       <= {hash2_q, hash1_q, hash_i};
    {number3_q, number2_q, number1_q} <= {number2_q, number1_q, number_i};
    {blank3_q, blank2_q, blank1_q}    <= {blank2_q, blank1_q, clearing};
    valid_q                           <= rst_ni ? {valid_q[1:0], take} : '0;
    if (!rst_ni) chosen_q <= chosen_i;
    if (!rst_ni || clear) begin
      inside_q <= '0;
      there_q  <= 1'b0;
    end else begin
      if (done && out) inside_q[number] <= 1'b0;
      if (take && op_i == WayPut) inside_q[number_i] <= 1'b1;
      if (done && out && there_q && number == entry_q) there_q <= 1'b0;
      if (done && op3_q == WayPut && mine && !blank3_q) begin
        there_q <= 1'b1;
        entry_q <= number3_q;
      end
    end
  end

  `ASSERT(Done, done == valid_q[2])
  `ASSERT(Hit, !(done && mine) || hit == there_q)
  `ASSERT(Number, !(done && mine && there_q) || number == entry_q)
  `ASSERT(ComesOut, !(done && mine && there_q && op3_q != WayLook) || out)
  `ASSERT(StaysIn, !(done && op3_q == WayLook) || !out)
  `ASSERT(Inside, !(done && out) || inside_q[number])
  `ASSERT(DropFindsNone, !(done && op3_q == WayDrop) || !hit)
  `ASSERT(OnlyThere, !(done && op3_q == WayTake) || out == hit)
  `ASSERT(Refused, !(done && op3_q == WayPut && blank3_q) || (out && number == number3_q))

  // Reached
  `FV_COVER(Displaces, done && op3_q == WayPut && out && !hit && !blank3_q)
  `FV_COVER(Replaces, done && op3_q == WayPut && hit && mine)
  `FV_COVER(Takes, done && op3_q == WayTake && hit && mine)
  `FV_COVER(Drops, done && op3_q == WayDrop && out && there_q && number == entry_q)
  `FV_COVER(Forgets, clear && there_q)
endmodule
