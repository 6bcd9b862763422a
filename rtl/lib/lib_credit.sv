// Credits for the places of a queue that is far away: who sends something on the way there takes one,
// who takes it out of the queue gives it back. So what is on its way never finds the queue full,
// however long the way is. Latency 1 from a give to `ok_o`.
`include "lib_assert.svh"

module lib_credit #(
  /// Places, 1 or more.
  parameter int unsigned Depth = 16
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// One credit is taken; only while `ok_o`.
  input  logic take_i,
  /// One comes back; only one that was taken in a clock before.
  input  logic give_i,
  /// There is one to take.
  output logic ok_o,
  /// So many are there to take.
  output logic [$clog2(Depth+1)-1:0] left_o
);

  typedef logic [$clog2(Depth+1)-1:0] count_t;

  // ok_q says that left_q is not 0: everything waits for it.
  count_t left_q;
  logic ok_q;
  assign ok_o   = ok_q;
  assign left_o = left_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= count_t'(Depth);
      ok_q   <= 1'b1;
    end else begin
      if (take_i != give_i) left_q <= take_i ? left_q - 1'b1 : left_q + 1'b1;
      ok_q <= give_i || (ok_q && !(take_i && left_q == count_t'(1)));
    end
  end

  `ASSERT(Take, !take_i || ok_o)
  `ASSERT(Give, !give_i || left_q != count_t'(Depth))

endmodule
