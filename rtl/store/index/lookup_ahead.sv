// Has the buckets fetched that an insert will look into: where neither of a request's buckets has room, an entry
// moves to its other bucket, which is in the other bank, and execute asks one entry after the other. These
// are the first of them: more would drive others out of the cache before their time. Latency 5 clocks, and
// what the caches need to take the hints.

module lookup_ahead
  import store_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// Of a bucket's line in its bank.
  input  line_no_t               mask_i,
  /// Such a request stands here until it may go on; it goes.
  input  logic                   valid_i,
  output logic                   done_o,
  input  logic                   go_i,
  /// Its buckets, and the tags in the first ways of each.
  input  line_no_t [1:0]         line_i,
  input  logic [1:0][AheadWays-1:0][13:0] tags_i,
  /// The caches: hints.
  output logic [1:0]             hint_valid_o,
  input  logic [1:0]             hint_ready_i,
  output line_no_t [1:0]         hint_line_o
);

  logic [$clog2(AheadWays)-1:0] way_q;
  logic next;
  assign next = valid_i && !done_o && (hint_valid_o & ~hint_ready_i) == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hint_valid_o <= '0;
      way_q        <= '0;
      done_o       <= 1'b0;
    end else begin
      hint_valid_o <= next ? '1 : hint_valid_o & ~hint_ready_i;
      if (next) way_q <= way_q + 1'b1;
      if (next && way_q == '1) done_o <= 1'b1;
      else if (go_i) done_o <= 1'b0;
    end
    if (next)
      for (int b = 0; b < 2; b++)
      hint_line_o[b] <= line_i[1-b] ^ (other_line(tags_i[1-b][way_q]) & mask_i);
  end

endmodule
