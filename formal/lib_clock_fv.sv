// The clock never goes back, and is never behind what it was told.
`include "fv.svh"
`include "lib_assert.svh"

module lib_clock_fv
  import wirekv_pkg::*;
(
  input logic        clk_i,
  input logic        tick_i,
  input logic        set_i,
  input logic [31:0] seconds_i,
  input logic [9:0]  milliseconds_i
);
  `FV_RESET

  now_t unused_now;
  lib_clock dut (
    .clk_i,
    .rst_ni,
    .tick_i,
    .set_i,
    .seconds_i,
    .milliseconds_i,
    .now_o(unused_now)
  );

  // No second has more, and the last one of 32 bits has not come.
  `FV_ASSUME(Few, milliseconds_i < 10'd1000)
  `FV_ASSUME(Early, dut.told_q.seconds != '1)

  logic before_q;
  logic [41:0] told_q, time_q;  // a clock ago
  always_ff @(posedge clk_i) begin
    before_q <= rst_ni;
    told_q   <= dut.told_q;
    time_q   <= dut.time_q;
  end
  `ASSERT(NeverBack, !before_q || dut.time_q >= time_q)
  `ASSERT(Follows, !before_q || dut.time_q >= told_q)
  `ASSERT(OfThese, !before_q || dut.time_q == time_q || dut.time_q == told_q)
  `ASSERT(Parts, dut.told_q.ms < 10'd1000 && dut.time_q.ms < 10'd1000)

  // Reached
  `FV_COVER(NextSecond, before_q && dut.time_q.seconds != time_q[41:10] && dut.told_q.ms == '0)
  `FV_COVER(Waits, dut.time_q > dut.told_q)
endmodule
