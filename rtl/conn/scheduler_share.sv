// What jobs take of the pipe. They end in the order in which they began, so a job has taken what has passed since the one
// before it ended, or since it began but for the pipe's length: what waits behind it has waited so long.
//
// Of each connection there is a mean, in which the last job has a quarter. Whose mean is many times that of the least of
// those who had jobs lately is *dear*, see scheduler_queue. Lately is a time in which a client that waits for its replies asks
// again, and whoever waited when it began has had a job; it stands still while jobs of others wait behind one that is dear.
// All datagrams together are one such connection; the request port's jobs say nothing of the least.
//
// It tells, too, when so much is on its way that more would only wait there.
// Latency 1; of full_o 3.
`include "lib_assert.svh"

module scheduler_share
  import conn_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  /// A job begins, one ends; dear: it was let in as one.
  input  logic  begin_i,
  input  logic  begin_dear_i,
  input  logic  end_i,
  input  logic  end_dear_i,
  /// What jobs of the one that begins were known to take, and of one that ends, a clock later than end_i.
  input  cost_t begin_cost_i,
  input  logic  ended_i,
  input  cost_t ended_cost_i,
  /// The mean of a connection whose job has ended, or that waits for one.
  input  logic  mean_valid_i,
  input  cost_t mean_i,
  /// So many connections wait for a job.
  input  logic [15:0] waiting_i,
  /// Of these no one's jobs are cheap.
  input  logic  all_dear_i,
  /// The same of a datagram's.
  input  logic  udp_begin_i,
  input  logic  udp_end_i,
  /// Clocks since the job before the one that ends has ended.
  output took_t since_o,
  /// Whose mean is so much is dear.
  output bar_t  bar_o,
  /// So much is little.
  output cost_t quantum_o,
  /// There are others than those who have very much.
  output logic  press_o,
  /// No job is on its way; so much is that more would only wait there, where who comes first is first.
  output logic  empty_o,
  output logic  full_o,
  /// There were no others for so long that one who has his replies would have asked again.
  output logic  alone_o
);

  localparam int unsigned Times = 8;
  localparam bar_t Least = 13'd16;
  localparam bar_t Much = 13'd2048;
  localparam cost_t Little = 12'd4;
  localparam int unsigned Window = 512;  // two of these are lately
  localparam int unsigned Alone = 1024;
  // Clocks that keep the pipe full, also where memory answers after 100; and of one job at most, so that there are five.
  localparam int unsigned Full = 640;
  localparam cost_t Most = 12'd128;

  logic [15:0] all_q, cheap_q;  // on their way
  took_t clocks_q;
  logic [$clog2(Alone):0] alone_q;
  logic [$clog2(Window)-1:0] window_q;
  logic [15:0] left_q;  // jobs that have to end in it
  cost_t udp_q, before_q, now_q, low_q, low_d;
  logic waits;
  logic mean_valid_q;
  cost_t mean_q;
  always_ff @(posedge clk_i) begin
    mean_valid_q <= rst_ni && mean_valid_i;
    mean_q       <= mean_i;
  end
  assign waits   = cheap_q != '0 && all_q != cheap_q;
  assign since_o = clocks_q;
  function automatic logic [17:0] most_of(input cost_t cost);
    return 18'((cost < Most) ? cost : Most);
  endfunction
  logic [17:0] sum_q, begun_q, ended_q;  // the last two in the clock before
  always_ff @(posedge clk_i) begin
    begun_q <= (rst_ni && begin_i) ? most_of(begin_cost_i) : '0;
    ended_q <= (rst_ni && ended_i) ? most_of(ended_cost_i) : '0;
  end
  always_comb begin
    low_d = now_q;
    if (mean_valid_q && mean_q < low_d) low_d = mean_q;
    if (udp_end_i && udp_q < low_d) low_d = udp_q;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      all_q    <= '0;
      cheap_q  <= '0;
      window_q <= '0;
      left_q   <= '0;
      udp_q    <= '0;
      before_q <= '1;
      now_q    <= '1;
    end else begin
      all_q   <= all_q + 16'(begin_i) + 16'(udp_begin_i) - 16'(end_i) - 16'(udp_end_i);
      cheap_q <= cheap_q + 16'(begin_i && !begin_dear_i) + 16'(udp_begin_i) -
                 16'(end_i && !end_dear_i) - 16'(udp_end_i);
      now_q <= low_d;
      if (left_q != '0) left_q <= left_q - 16'(end_i || udp_end_i);
      if (!waits) begin
        if (window_q != '1) window_q <= window_q + 1'b1;
        else if (left_q == '0) begin
          window_q <= '0;
          left_q   <= (all_q + waiting_i) << 1;
          before_q <= low_d;
          now_q    <= '1;
        end
      end
      if (udp_end_i) udp_q <= mean_of(kept_of(udp_q), clocks_q);
    end
    if (!rst_ni || end_i || udp_end_i || all_q == '0) clocks_q <= '0;
    else if (clocks_q != '1) clocks_q <= clocks_q + 1'b1;
    low_q   <= (now_q < before_q) ? now_q : before_q;
    bar_o   <= (low_q >= cost_t'(2 ** $bits(bar_t) / Times)) ? '1 :
               (bar_t'(low_q) * bar_t'(Times) < Least) ? Least : bar_t'(low_q) * bar_t'(Times);
    quantum_o <= (low_q < Little) ? Little : low_q;
    press_o <= bar_o < Much;
    if (!rst_ni) sum_q <= '0;
    else sum_q <= sum_q + begun_q - ended_q;
    full_o <= sum_q >= 18'(Full);
    empty_o <= all_q == '0 && !begin_i && !udp_begin_i;
    if (!rst_ni || cheap_q != '0 || !all_dear_i) alone_q <= '0;
    else if (!alone_o) alone_q <= alone_q + 1'b1;
  end

  assign alone_o = alone_q[$clog2(Alone)];

  `ASSERT(Known, all_q >= cheap_q && all_q >= 16'(end_i) + 16'(udp_end_i))
  `ASSERT(KnownCheap, cheap_q >= 16'(end_i && !end_dear_i) + 16'(udp_end_i))

endmodule
