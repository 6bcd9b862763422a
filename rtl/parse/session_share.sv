// What jobs take of the pipe. They end in the order in which they began, so a job has taken what has passed since the one
// before it ended, or since it began if there was none: what waits behind it has waited so long.
//
// Jobs of a connection whose last one took much are *dear*. Who is dear is alone when no other job has been on its way for
// Alone clocks, in which a client that waits for its replies asks again. Datagrams and the request port's jobs are not dear.
// Latency 1.
`include "lib_assert.svh"

module session_share
  import request_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  /// A job begins, is it dear; one ends, was it.
  input  logic  begin_i,
  input  logic  begin_dear_i,
  input  logic  end_i,
  input  logic  end_dear_i,
  /// The same of a datagram's.
  input  logic  udp_begin_i,
  input  logic  udp_end_i,
  /// What the job that ends has taken.
  output cost_t cost_o,
  /// Who is dear is alone.
  output logic  alone_o
);

  localparam int unsigned Alone = 1024;
  localparam int unsigned UnitW = $clog2(CostUnit);

  logic [15:0] all_q, cheap_q;  // on their way
  logic [$bits(cost_t)+UnitW-1:0] clocks_q;
  logic [$clog2(Alone)-1:0] alone_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      all_q   <= '0;
      cheap_q <= '0;
    end else begin
      all_q   <= all_q + 16'(begin_i) + 16'(udp_begin_i) - 16'(end_i) - 16'(udp_end_i);
      cheap_q <= cheap_q + 16'(begin_i && !begin_dear_i) + 16'(udp_begin_i) -
                 16'(end_i && !end_dear_i) - 16'(udp_end_i);
    end
    if (!rst_ni || end_i || udp_end_i || all_q == '0) clocks_q <= '0;
    else if (clocks_q != '1) clocks_q <= clocks_q + 1'b1;
    if (!rst_ni || cheap_q != '0) alone_q <= '0;
    else if (alone_q != '1) alone_q <= alone_q + 1'b1;
    alone_o <= rst_ni && alone_q == '1 && cheap_q == '0;
  end
  assign cost_o = clocks_q[UnitW+:$bits(cost_t)];

  `ASSERT(Known, all_q >= cheap_q && all_q >= 16'(end_i) + 16'(udp_end_i))
  `ASSERT(KnownCheap, cheap_q >= 16'(end_i && !end_dear_i) + 16'(udp_end_i))

endmodule
