// Gathers characters to beats: a key, a line's text for host software, a word that is looked up. Of what is
// more than a beat, each character behind it begins the next one. Latency 1, initiation interval 1.
module byte_gather
  import wirekv_pkg::*;
(
  input  logic       clk_i,
  /// What was gathered has left, or does not count.
  input  logic       clear_i,
  /// A character; the first of a new beat if the beat is full or cleared now.
  input  logic       put_i,
  input  logic [7:0] char_i,
  output line_t      data_o,
  output logic [6:0] len_o
);

  // That there is a character is known late.
  logic begins, first;
  assign begins = clear_i || (put_i && len_o[6]);
  assign first  = clear_i || len_o[6] || len_o == '0;

  always_ff @(posedge clk_i) begin
    if (begins) len_o <= 7'(put_i);
    else if (put_i) len_o <= len_o + 7'd1;
    if (put_i || begins) begin
      for (int unsigned i = 0; i < 64; i++) begin
        if (put_i && ((i == 0) ? first : !clear_i && len_o == 7'(i))) data_o[8*i+:8] <= char_i;
        else if (begins) data_o[8*i+:8] <= '0;
      end
    end
  end

endmodule
