// Keys that have become candidates, for the core: first how many bytes a key has, then they, four at a time. A clock a word.
module aside_candidates
  import wirekv_pkg::*;
  import aside_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Lines of keys; the number of bytes stands beside each.
  input  logic        s_valid_i,
  output logic        s_ready_o,
  input  candidate_t  s_data_i,
  /// What comes next, which is then taken: a number of bytes, 0 if there is no key; four of these.
  input  logic        take_i,
  output logic [31:0] word_o,
  /// What is left of a key that was begun vanishes.
  input  logic        drop_i
);

  localparam int unsigned Words = 16;  // of a line
  typedef logic [5:0] place_t;

  logic begun_q, drops_q, last_word, last_of_line, last_line, pop;
  place_t place_q, words_q;
  logic [Words-1:0][31:0] line;
  assign line         = s_data_i.data;
  assign last_word    = place_q + 1'b1 == words_q;
  assign last_of_line = place_q[3:0] == '1;
  assign last_line    = ({place_q[5:4], 4'hF} + 7'd1) >= 7'(words_q);
  assign word_o       = !s_valid_i ? '0 : begun_q ? line[place_q[3:0]] : 32'(s_data_i.klen);
  assign pop          = s_valid_i && begun_q &&
      (drops_q || (take_i && (last_word || last_of_line)));
  assign s_ready_o    = pop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      drops_q <= 1'b0;
    end else begin
      drops_q <= begun_q && (drops_q || drop_i) && !(pop && last_line);
      if (take_i && s_valid_i && !begun_q) begun_q <= 1'b1;
      else if (pop && (drops_q ? last_line : last_word)) begun_q <= 1'b0;
    end
    if (!begun_q) words_q <= place_t'((9'(s_data_i.klen) + 9'd3) >> 2);
    if (!begun_q) place_q <= '0;
    else if (drops_q && pop) place_q <= {place_q[5:4] + 2'd1, 4'd0};
    else if (take_i && s_valid_i) place_q <= place_q + 1'b1;
  end

endmodule
