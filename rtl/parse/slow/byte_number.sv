// Reads a decimal number as strtol and strtoul do: white space, a sign, digits, then the word's end or
// white space and anything. Latency 1 from a character, initiation interval 1.
module byte_number
  import parse_pkg::*;
(
  input  logic    clk_i,
  /// A word begins behind this clock; else the next character of it.
  input  logic    clear_i,
  input  logic    valid_i,
  input  letter_t char_i,
  /// If the word ends here.
  output num_t    num_o
);

  typedef enum logic [2:0] {
    StSpace,
    StSign,
    StDigits,
    StBehind,
    StBad
  } state_e;

  state_e state_q;
  logic neg_q, over_q, digits;
  logic [63:0] value_q;
  logic [67:0] value_d;

  assign digits  = char_i.digit && state_q inside {StSpace, StSign, StDigits};
  assign value_d = {1'b0, value_q, 3'd0} + {3'd0, value_q, 1'b0} + 68'(char_i.code[3:0]);

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      state_q <= StSpace;
      neg_q   <= 1'b0;
      over_q  <= 1'b0;
      value_q <= '0;
    end else if (valid_i) begin
      if (digits) begin
        state_q <= StDigits;
        value_q <= value_d[63:0];
        over_q  <= over_q || value_d[67:64] != '0;
      end else begin
        unique case (state_q)
          StSpace: begin
            neg_q <= char_i.code == "-";
            if (!char_i.space) state_q <= (char_i.code inside {"+", "-"}) ? StSign : StBad;
          end
          StDigits: state_q <= char_i.space ? StBehind : StBad;
          StBehind: ;
          default: state_q <= StBad;
        endcase
      end
    end
  end

  logic ok;
  assign ok                = state_q inside {StDigits, StBehind} && !over_q;
  assign num_o.ok_unsigned = ok && !(neg_q && value_q != '0);
  assign num_o.ok_signed   = ok && (!value_q[63] || (neg_q && value_q[62:0] == '0));
  assign num_o.neg         = neg_q;
  assign num_o.value       = value_q;

endmodule
