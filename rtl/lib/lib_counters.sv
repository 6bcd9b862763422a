// Event counters in a RAM: a short counter for each event, with which its word catches up in turn.
// A read takes the turn of its counter, so what it gives is exact. Latency of a read 2; reads at
// least three clocks apart. Words wrap.
//
// The lowest bits of a word and its short counter count the same events, so none of them is ever cleared:
// a word becomes the next number that ends like the short counter. That one is a shift register with
// feedback, which takes two LUTs whatever its length; only at its turn it is made a number.
`include "lib_assert.svh"

module lib_counters #(
  /// Counters; a power of two, 4 to 256.
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

  if (N < 4 || N > 256 || (N & (N - 1)) != 0) begin : gen_misuse
    $error("%m: N must be a power of two, 4 to 256");
  end

  localparam int unsigned IndexW = $clog2(N);
  // A turn comes after N clocks and the reads in them, one in three: less than 2N. That is at most half of
  // a short counter's numbers, so it came around if its highest bit was set and no longer is.
  localparam int unsigned ShortW = IndexW + 2;
  typedef logic [IndexW-1:0] index_t;
  typedef logic [ShortW-1:0] short_t;
  typedef logic [Width-1:0] count_t;

  if (Width <= ShortW) begin : gen_narrow
    $error("%m: Width must be more than the bits of N, and two");
  end

  // Taps of a maximal sequence, by length; zero is one more state, behind the highest bit alone.
  localparam logic [10:3][9:0] Taps = {
    10'h240, 10'h110, 10'h0b8, 10'h060, 10'h030, 10'h014, 10'h00c, 10'h006
  };
  function automatic short_t next(input short_t code);
    return {code[ShortW-2:0], ^(code & short_t'(Taps[ShortW])) ^ (code[ShortW-2:0] == '0)};
  endfunction

  // How many events each state stands for.
  typedef short_t [2**ShortW-1:0] numbers_t;
  function automatic numbers_t numbers();
    short_t code;
    code = '0;
    for (int unsigned n = 0; n < 2 ** ShortW; n++) begin
      numbers[code] = short_t'(n);
      code = next(code);
    end
  endfunction
  localparam numbers_t Number = numbers();

  // Stages: whose turn it is; the short counter and its word are read; what it becomes is written.
  logic clearing_q, look_q, visit_q, again_q;
  index_t turn_q, now_q, visited_q;
  short_t [N-1:0] short_q;
  short_t flipped_q, low;
  logic around;
  count_t word, base, sum, sum_q;

  assign clearing_o = clearing_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      turn_q     <= '0;
      look_q     <= 1'b0;
      visit_q    <= 1'b0;
      again_q    <= 1'b0;
      short_q    <= '0;
    end else begin
      if (clearing_q && turn_q == '1) clearing_q <= 1'b0;
      if (!re_i) turn_q <= turn_q + 1'b1;
      look_q  <= !clearing_q;
      visit_q <= look_q;
      again_q <= visit_q && visited_q == now_q;
      if (!clearing_q) begin
        for (int four = 0; four < N; four += 4)
        if (event_i[four+:4] != '0)
          for (int i = four; i < four + 4; i++) if (event_i[i]) short_q[i] <= next(short_q[i]);
      end
    end
    now_q     <= re_i ? index_i : turn_q;
    visited_q <= now_q;
    flipped_q <= ~short_q[now_q];
    sum_q     <= sum;
  end

  // A read and the turn may meet in one counter: then its word is still on the way to the RAM.
  assign base    = again_q ? sum_q : word;
  // Synthesis takes a register that is a table's address into the table, and has one behind it: the choice among all
  // counters and the table would come in one clock. A register that holds the address's complement stays.
  assign low     = Number[~flipped_q];
  assign around  = base[ShortW-1] && !low[ShortW-1];
  assign sum     = {base[Width-1:ShortW] + (Width - ShortW)'(around), low};
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

  `ASSERT(ReadsWhenClear, !(re_i && clearing_q))

endmodule
