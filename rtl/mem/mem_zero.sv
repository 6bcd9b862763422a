// Makes the index' memory zero before the card is enabled, as no card's memory is zero when it starts: a line of even and one
// of odd buckets a clock, through the ports that nobody uses yet. 2 clocks from the start to the first lines.
//
// Of all memory only the index is read before it is written: a way of a bucket says whether there is an entry. An item's
// lines in the log are read for an entry alone, and the bytes of a ring when they have come.
module mem_zero
  import wirekv_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  /// Begins. It does nothing once the card has been enabled.
  input  logic              start_i,
  /// The index: its first line, an even one, and log2 of its lines, 1 or more.
  input  laddr_t            base_i,
  input  logic        [4:0] bits_i,
  /// The card is to be enabled, and it is: not before all is zero.
  input  logic              enable_i,
  output logic              enable_o,
  /// Goes on. Memory has refused a line since the last start.
  output logic              busy_o,
  output logic              refused_o,
  /// The two ports: they are used for this, a line is written, and where.
  output logic              zero_o,
  output logic              wr_valid_o,
  output laddr_t      [1:0] wr_addr_o,
  input  logic        [1:0] wr_ready_i,
  /// Nothing is under way; a write was refused.
  input  logic        [1:0] quiet_i,
  input  logic        [1:0] bad_i
);

  // Pairs of lines, of which 2^26 make the largest index.
  logic [26:0] left_q;
  logic [32:0] pair_q;
  logic zero_q, more_q, end_q;

  // Enabled at any time since the reset: caches hold lines of the index then.
  logic used_q;
  always_ff @(posedge clk_i) used_q <= rst_ni && (used_q || enable_o);

  assign busy_o     = zero_q;
  assign zero_o     = zero_q;
  assign wr_valid_o = more_q && &wr_ready_i;
  assign wr_addr_o  = {pair_q, 1'b1, pair_q, 1'b0};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      zero_q    <= 1'b0;
      more_q    <= 1'b0;
      end_q     <= 1'b0;
      enable_o  <= 1'b0;
      refused_o <= 1'b0;
    end else begin
      enable_o <= enable_i && !zero_q && !start_i;
      // What was written last is seen by quiet_i a clock later.
      end_q <= zero_q && !more_q;
      if (!zero_q) begin
        if (start_i && !used_q && !enable_o) begin
          zero_q    <= 1'b1;
          more_q    <= 1'b1;
          refused_o <= 1'b0;
        end
      end else begin
        if (wr_valid_o && left_q == '0) more_q <= 1'b0;
        if (end_q && &quiet_i) zero_q <= 1'b0;
        if (bad_i != '0) refused_o <= 1'b1;
      end
    end
    if (!zero_q) begin
      left_q <= 27'((28'd1 << bits_i) >> 1) - 27'd1;
      pair_q <= base_i[33:1];
    end else if (wr_valid_o) begin
      left_q <= left_q - 1'b1;
      pair_q <= pair_q + 1'b1;
    end
  end

  logic unused_base;
  assign unused_base = base_i[0];

endmodule
