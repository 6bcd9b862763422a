// Event counters in a RAM: a short counter for each event, which is emptied into its word in turn.
// A read takes the turn of its counter, so what it gives is exact. Latency of a read 2; reads at
// least three clocks apart. Words wrap.
`include "lib_assert.svh"

module lib_counters #(
  /// Counters; a power of two, 4 or more.
  parameter int unsigned N = 128,
  /// Bits of a counter.
  parameter int unsigned Width = 32
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  /// Bit i: event i happened in this clock. Not counted while clearing_o.
  input  logic [N-1:0]         event_i,
  /// Read a counter; count_o stands two clocks later and has all events of this clock and before.
  /// Not while clearing_o.
  input  logic                 re_i,
  input  logic [$clog2(N)-1:0] index_i,
  output logic [Width-1:0]     count_o,
  /// After reset, for N clocks: the words become zero.
  output logic                 clearing_o
);

  if (N < 4 || (N & (N - 1)) != 0) begin : gen_misuse
    $error("%m: N must be a power of two, 4 or more");
  end

  localparam int unsigned IndexW = $clog2(N);
  // A turn comes after N clocks and the reads in them, one in three: less than 2N.
  localparam int unsigned ShortW = IndexW + 1;
  typedef logic [IndexW-1:0] index_t;
  typedef logic [ShortW-1:0] short_t;
  typedef logic [Width-1:0] count_t;

  // Stages: whose turn it is; the short counter is emptied, its word read; their sum is written.
  logic clearing_q, empty_q, visit_q, wrote_q;
  index_t turn_q, now_q, visited_q, where_q;
  short_t [N-1:0] short_q;
  short_t add_q;
  count_t word, base, sum, sum_q;

  assign clearing_o = clearing_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      turn_q     <= '0;
      empty_q    <= 1'b0;
      visit_q    <= 1'b0;
      wrote_q    <= 1'b0;
      short_q    <= '0;
    end else begin
      if (clearing_q && turn_q == '1) clearing_q <= 1'b0;
      if (!re_i) turn_q <= turn_q + 1'b1;
      empty_q <= !clearing_q;
      visit_q <= empty_q;
      wrote_q <= visit_q;
      if (!clearing_q) begin
        for (int i = 0; i < N; i++) begin
          if (event_i[i]) short_q[i] <= short_q[i] + 1'b1;
        end
      end
      if (empty_q) short_q[now_q] <= short_t'(event_i[now_q]);
    end
    now_q     <= re_i ? index_i : turn_q;
    visited_q <= now_q;
    add_q     <= short_q[now_q];
    where_q   <= visited_q;
    sum_q     <= sum;
  end

  // A read and the turn may meet in one counter: then its word is still on the way to the RAM.
  assign base    = (wrote_q && where_q == visited_q) ? sum_q : word;
  assign sum     = base + count_t'(add_q);
  assign count_o = sum;

  lib_ram #(
    .Width(Width),
    .Depth(N)
  ) u_words (
    .clk_i,
    .we_i   (clearing_q || visit_q),
    .waddr_i(clearing_q ? turn_q : visited_q),
    .wbe_i  (1'b1),
    .wdata_i(clearing_q ? '0 : sum),
    .re_i   (1'b1),
    .raddr_i(now_q),
    .rdata_o(word)
  );

  for (genvar i = 0; i < N; i++) begin : gen_short
    `ASSERT(NotFull, !(event_i[i] && short_q[i] == '1 && now_q != index_t'(i)))
  end
  `ASSERT(ReadsWhenClear, !(re_i && clearing_q))

endmodule
