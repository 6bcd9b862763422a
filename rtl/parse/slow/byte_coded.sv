// A key in base64 to its bytes, a character a clock: of four letters the third gives the first byte, the fourth the
// second one, and the character behind them the third. As memcached has it: what is no letter is passed over, and
// what stands behind four with a pad is not looked at, but counts.
module byte_coded
  import parse_pkg::*;
(
  input  logic       clk_i,
  /// A key begins.
  input  logic       begin_i,
  /// Its next character, or the one behind it, which is no letter.
  input  logic       valid_i,
  input  letter_t    char_i,
  /// It gives this byte.
  output logic       put_o,
  output logic [7:0] byte_o,
  /// Bytes so far; so far it is a key.
  output logic [7:0] len_o,
  output logic       good_o,
  /// One of them ends a word in a line: no text has this key.
  output logic       unfit_o
);

  logic letter;
  logic [7:0] code;
  logic [5:0] six;
  assign letter = char_i.six;
  assign code   = char_i.code;
  always_comb begin
    unique case (code) inside
      ["A":"Z"]: six = 6'(code - "A");
      ["a":"z"]: six = 6'(code - "a" + 8'd26);
      ["0":"9"]: six = 6'(code - "0" + 8'd52);
      "+":       six = 6'd62;
      "/":       six = 6'd63;
      default:   six = '0;
    endcase
  end

  logic [11:0] bits_q;    // of the letters before
  logic [1:0] letters_q;  // of the four
  logic [1:0] pads_q;
  logic [2:0] pads;
  logic third_q;          // a byte is left of the last four
  logic ended_q, bad_q;
  assign pads = 3'(pads_q) + 3'(char_i.pad);

  always_comb begin
    put_o  = third_q;
    byte_o = bits_q[7:0];
    if (letter && !ended_q) begin
      unique case (letters_q)
        2'd2: {put_o, byte_o} = {1'b1, bits_q[11:4]};
        2'd3: {put_o, byte_o} = {pads <= 3'd1, bits_q[9:2]};
        default: ;
      endcase
    end
    put_o &= valid_i;
  end
  assign good_o = len_o != '0 && letters_q == '0 && !bad_q;

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      len_o     <= '0;
      letters_q <= '0;
      pads_q    <= '0;
      third_q   <= 1'b0;
      ended_q   <= 1'b0;
      bad_q     <= 1'b0;
      unfit_o   <= 1'b0;
    end else if (valid_i) begin
      third_q <= 1'b0;
      if (put_o) len_o <= len_o + 8'd1;
      if (put_o && byte_o inside {8'h00, "\n", " "}) unfit_o <= 1'b1;
      if (letter) begin
        letters_q <= letters_q + 2'd1;
        pads_q    <= pads[1:0];
        if (letters_q == '1) begin
          pads_q  <= '0;
          third_q <= pads == '0 && !ended_q;
          ended_q <= ended_q || pads != '0;
          bad_q   <= bad_q || (pads > 3'd2 && !ended_q);
        end
      end
    end
    if (valid_i && letter) bits_q <= {bits_q[5:0], six};
  end

endmodule
