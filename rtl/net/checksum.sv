// One's-complement sum of the 16-bit words of a packet, for the checksums of TCP, UDP and ICMP.
// Latency 3 from the last beat, initiation interval 1: one-beat packets may come back to back.
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
  /// Only lanes from .. below-1 of the beat count.
  input  logic [5:0]   from_i,
  input  logic [6:0]   below_i,
  /// Added to the sum; sampled with the first beat.
  input  logic [16:0]  init_i,
  /// The sum, words in the byte order of the lanes (swapped); unfolded. A packet has fewer than
  /// 2^11 beats, so it does not overflow.
  output logic         valid_o,
  output logic [31:0]  sum_o
);

  logic mask_valid_q, mask_first_q, mask_last_q, part_valid_q, part_first_q, part_last_q;
  logic [16:0] mask_init_q, part_init_q;
  logic [7:0][17:0] quad_q;
  logic [20:0] beat_q;

  // A function, so that the simulator works only when there is a beat.
  function automatic logic [7:0][17:0] quads(input logic [511:0] data);
    for (int i = 0; i < 8; i++) begin
      quads[i] = (18'(data[64*i+:16]) + 18'(data[64*i+16+:16])) +
          (18'(data[64*i+32+:16]) + 18'(data[64*i+48+:16]));
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mask_valid_q <= 1'b0;
      part_valid_q <= 1'b0;
      valid_o      <= 1'b0;
    end else begin
      mask_valid_q <= valid_i;
      part_valid_q <= mask_valid_q;
      valid_o      <= part_valid_q && part_last_q;
    end
    if (valid_i) begin
      quad_q       <= quads(data_i & bits_below(below_i) & ~bits_below({1'b0, from_i}));
      mask_first_q <= first_i;
      mask_last_q  <= last_i;
      mask_init_q  <= init_i;
    end
    if (mask_valid_q) begin
      beat_q <= ((21'(quad_q[0]) + 21'(quad_q[1])) + (21'(quad_q[2]) + 21'(quad_q[3]))) +
          ((21'(quad_q[4]) + 21'(quad_q[5])) + (21'(quad_q[6]) + 21'(quad_q[7])));
      part_first_q <= mask_first_q;
      part_last_q  <= mask_last_q;
      part_init_q  <= mask_init_q;
    end
    if (part_valid_q) begin
      sum_o <= (part_first_q ? 32'(part_init_q) : sum_o) + 32'(beat_q);
    end
  end

endmodule
