// How often a key was asked for, about: a count-min sketch that counts every GET, with conservative update. Latency 3,
// interval 1.
//
// Each row counts a key where a part of its hash says; the least of its counters is the estimate, and only those that are
// the least count on. So an estimate is too high where other keys have all its counters, and otherwise exact. It is too low
// only if a counter is asked for again within three clocks, which counts once, and while counters are halved.
//
// A key is hot for one clock, when its estimate becomes the threshold; and again when that happens anew after a halving. So
// whoever queues hot keys need not know which it has queued.
`include "lib_assert.svh"

module sketch #(
  /// Rows: each makes it less likely that an estimate is too high. With Width, no more than the bits of a hash.
  parameter int unsigned Rows = 4,
  /// Counters of a row, a power of two: as many as the cache has entries, or more.
  parameter int unsigned Width = 16384,
  /// Bits of a counter, which stays at its highest number.
  parameter int unsigned CountW = 8
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// Estimates that make a key hot; 0: none is.
  input  logic [CountW-1:0] threshold_i,
  /// Halves all counters, in eight clocks for each of a row; a GET in the eighth is not counted. Nothing if it goes on.
  input  logic              age_i,
  output logic              ageing_o,
  /// A GET, of a key with this hash.
  input  logic              valid_i,
  input  logic [63:0]       hash_i,
  /// Three clocks later, if it was counted: how often it was asked for, this time included.
  output logic              valid_o,
  output logic [CountW-1:0] estimate_o,
  /// That has become the threshold.
  output logic              hot_o
);

  localparam int unsigned IndexW = $clog2(Width);
  if (Width < 2 || (Width & (Width - 1)) != 0 || Rows < 1 || Rows * IndexW > 64) begin : gen_misuse
    $error("%m: Width must be a power of two, and Rows * log2(Width) no more than 64");
  end
  typedef logic [IndexW-1:0] index_t;
  typedef logic [CountW-1:0] count_t;

  // ---------------------------------------------------------------- sweep: after reset to zero, then to the half
  logic zeroing_q, ageing_q, sweep, last;
  logic [2:0] turn_q;
  index_t place_q;
  assign sweep    = zeroing_q || (ageing_q && turn_q == '1);
  assign last     = place_q == '1;
  assign ageing_o = zeroing_q || ageing_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      zeroing_q <= 1'b1;
      ageing_q  <= 1'b0;
      place_q   <= '0;
    end else begin
      if (sweep) place_q <= place_q + 1'b1;
      if (sweep && last) zeroing_q <= 1'b0;
      if (sweep && last) ageing_q <= 1'b0;
      else if (age_i && !zeroing_q) ageing_q <= 1'b1;
    end
    turn_q <= ageing_q ? turn_q + 1'b1 : '0;
  end

  // ---------------------------------------------------------------- read, least, write
  logic zero1_q, half1_q, count1_q, zero2_q, half2_q, count2_q;
  index_t [Rows-1:0] index, index1_q, index2_q;
  count_t [Rows-1:0] word, word2_q, next;
  count_t least, more;
  logic [Rows-1:0] is_least, write;

  always_comb begin
    for (int unsigned r = 0; r < Rows; r++) index[r] = sweep ? place_q : hash_i[r*IndexW+:IndexW];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      zero1_q  <= 1'b0;
      half1_q  <= 1'b0;
      count1_q <= 1'b0;
      zero2_q  <= 1'b0;
      half2_q  <= 1'b0;
      count2_q <= 1'b0;
      valid_o  <= 1'b0;
    end else begin
      zero1_q  <= zeroing_q;
      half1_q  <= sweep && !zeroing_q;
      count1_q <= valid_i && !sweep;
      zero2_q  <= zero1_q;
      half2_q  <= half1_q;
      count2_q <= count1_q;
      valid_o  <= count2_q;
    end
    index1_q   <= index;
    index2_q   <= index1_q;
    word2_q    <= word;
    estimate_o <= more;
    hot_o      <= count2_q && least != '1 && more == threshold_i;
  end

  always_comb begin
    // None of the others is less. All such have the same number, so it is their OR.
    is_least = '1;
    least    = '0;
    for (int unsigned r = 0; r < Rows; r++) begin
      for (int unsigned s = 0; s < Rows; s++) if (word2_q[s] < word2_q[r]) is_least[r] = 1'b0;
      least |= is_least[r] ? word2_q[r] : '0;
    end
    more = (least == '1) ? least : least + 1'b1;
    for (int unsigned r = 0; r < Rows; r++) begin
      write[r] = zero2_q || half2_q || (count2_q && is_least[r]);
      next[r]  = zero2_q ? '0 : half2_q ? word2_q[r] >> 1 : more;
    end
  end

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    lib_ram #(
      .Width(CountW),
      .Depth(Width)
    ) u_counters (
      .clk_i,
      .we_i   (write[r]),
      .waddr_i(index2_q[r]),
      .wbe_i  (1'b1),
      .wdata_i(next[r]),
      .re_i   (1'b1),
      .raddr_i(index[r]),
      .rdata_o(word[r])
    );
  end

  `ASSERT(HotOnce, !hot_o || (valid_o && estimate_o != '0))

endmodule
