// Reads the lines that are kept, a character a clock from any place on: where it is told to go, 6 clocks
// later. In text CR LF is one character; a CR that ends the job is none, as its LF may still come.
module byte_reader
  import wirekv_pkg::*;
  import parse_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  /// Go to this place. Pulse.
  input  logic     go_i,
  input  place_t   place_i,
  /// Every byte is one character.
  input  logic     binary_i,
  /// The job's end. First line that has not come.
  input  place_t   stop_i,
  input  line_no_t coming_i,
  /// This line is wanted: it comes a clock later.
  output logic     read_o,
  output line_no_t line_o,
  input  line_t    data_i,
  /// The next character, and its place; or the job is over, with a CR there or nothing.
  output logic     valid_o,
  output letter_t  char_o,
  output logic     over_o,
  output place_t   place_o,
  input  logic     take_i
);

  line_t line_q;
  logic line_valid_q, reading_q;  // the line that is read now is there; is on its way
  place_t at_q;                   // behind `next_q`
  logic [7:0] next_q;
  logic next_valid_q, next_lf, ends, load, shift, drops, valid_q, cr_q, moves, wants;

  assign next_lf = next_q == 8'h0a;
  assign ends    = at_q == stop_i;
  // The CR in front of a LF.
  assign drops   = valid_q && cr_q && next_valid_q && next_lf;
  assign shift   = !valid_q || drops || (valid_o && take_i);
  assign load    = !next_valid_q || shift;
  assign moves   = load && line_valid_q && !ends;
  assign wants   = !line_valid_q && !read_o && !reading_q && !ends &&
                   $signed(coming_i - at_q.line) > 0;
  assign line_o  = at_q.line;
  assign valid_o = valid_q && (!cr_q || (next_valid_q && !next_lf));
  assign over_o  = ends && !next_valid_q && (!valid_q || cr_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || go_i) begin
      line_valid_q <= 1'b0;
      read_o       <= 1'b0;
      reading_q    <= 1'b0;
      next_valid_q <= 1'b0;
      valid_q      <= 1'b0;
    end else begin
      read_o    <= wants;
      reading_q <= read_o;
      if (reading_q) line_valid_q <= 1'b1;
      if (load) next_valid_q <= moves;
      if (moves && &at_q.lane) line_valid_q <= 1'b0;
      if (shift) valid_q <= next_valid_q;
    end
    if (reading_q) line_q <= data_i;
    if (go_i) begin
      at_q    <= place_i;
      place_o <= place_i;
    end else begin
      if (moves) at_q <= at_q + 14'd1;
      if (valid_o && take_i) place_o <= place_o + (char_o.crlf ? 14'd2 : 14'd1);
    end
    if (moves) next_q <= line_q[8*at_q.lane+:8];
    if (shift) begin
      cr_q         <= next_q == 8'h0d && !binary_i;
      char_o.code  <= next_q;
      char_o.eol   <= next_lf;
      char_o.crlf  <= drops;
      char_o.blank <= next_q == 8'h20;
      char_o.nul   <= next_q == 8'h00;
      char_o.digit <= next_q inside {[8'h30 : 8'h39]};
      char_o.space <= next_q inside {8'h09, 8'h0b, 8'h0c, 8'h0d};
      char_o.six   <= next_q inside {["A" : "Z"], ["a" : "z"], ["0" : "9"], "+", "/", "="};
      char_o.pad   <= next_q == "=";
    end
  end

endmodule
