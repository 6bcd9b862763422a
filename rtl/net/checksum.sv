// One's-complement sum of the 16-bit words of a packet, for the checksums of TCP, UDP and ICMP.
// Latency 2 from the last beat, initiation interval 1: one-beat packets may come back to back. Without a
// carry chain: see sum3 and sum6.
// Kept apart in synthesis: a mapper with levels to spare takes half as many LUTs again for it.
(* keep_hierarchy = "yes" *)
module checksum
  import net_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// A beat; a packet's beats may have gaps between them.
  input  logic         valid_i,
  input  logic         first_i,
  input  logic         last_i,
  input  logic [511:0] data_i,
  /// Lanes of the beat that count.
  input  logic [63:0]  lanes_i,
  /// Added to the sum; sampled with the first beat.
  input  logic [16:0]  init_i,
  /// Three words with the packet's sum, in the byte order of the lanes (swapped).
  output logic         valid_o,
  output word_t [2:0]  sum_o
);

  localparam int unsigned Words = 32;  // of a beat
  localparam int unsigned Threes = Words / 3;
  localparam int unsigned Kept = 12;

  logic kept_valid_q, kept_first_q, kept_last_q;
  logic [16:0] kept_init_q;
  word_t [Kept-1:0] kept_q;

  // Functions, so that the simulator works only when there is a beat.

  /// 32 words, those that count, as twelve: first three as two, so that a LUT sees each with its mask.
  function automatic word_t [Kept-1:0] keep(input logic [511:0] data, input logic [63:0] lanes);
    word_t [Words-1:0] words;
    word_t [21:0] rows;
    for (int i = 0; i < Words; i++) begin
      words[i] = data[16*i+:16] & {{8{lanes[2*i+1]}}, {8{lanes[2*i]}}};
    end
    rows[21:20] = words[31:30];
    for (int i = 0; i < Threes; i++) rows[2*i+:2] = sum3(words[3*i+:3]);
    for (int i = 0; i < 3; i++) keep[3*i+:3] = sum6(rows[6*i+:6]);
    keep[11:9] = sum6({word_t'(0), word_t'(0), rows[21:18]});
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      kept_valid_q <= 1'b0;
      valid_o      <= 1'b0;
    end else begin
      kept_valid_q <= valid_i;
      valid_o      <= kept_valid_q && kept_last_q;
    end
    if (valid_i) begin
      kept_q       <= keep(data_i, lanes_i);
      kept_first_q <= first_i;
      kept_last_q  <= last_i;
      kept_init_q  <= init_i;
    end
    if (kept_valid_q) begin
      sum_o <= sum6(
          {
            sum6({sum6(kept_q[11:6]), sum6(kept_q[5:0])}),
            kept_first_q ? {word_t'(0), word_t'(kept_init_q[16]), kept_init_q[15:0]} : sum_o
          }
      );
    end
  end

endmodule
