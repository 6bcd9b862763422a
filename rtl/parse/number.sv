// Reads a decimal number as strtol and strtoul do: white space, a sign, digits, then the word's end
// or white space. Latency 2 to the early results, 4 to the value; initiation interval 1.
//
// A number must end within the word's first 32 characters; what ends it stands among chars_i.
module number
  import front_pkg::*;
(
  input  logic        clk_i,
  /// A word.
  input  logic        valid_i,
  input  chars_t      chars_i,
  /// Two clocks later.
  output num_t        num_o,
  /// Four clocks later: the magnitude modulo 2^64.
  output logic [63:0] value_o
);

  // ---------------------------------------------------------------- find the digits
  // Bit b is set in 32 less the place.
  typedef logic [5:0][32:0] turns_t;
  function automatic turns_t turn_bits();
    for (int unsigned b = 0; b < 6; b++) begin
      for (int unsigned i = 0; i < 33; i++) turn_bits[b][i] = 1'(((32 - i) >> b) & 1);
    end
  endfunction
  localparam turns_t TurnBit = turn_bits();

  logic [32:0] sign, start, first, stop;
  logic [5:0] turn;
  logic [127:0] nib_masked, nib_coarse;
  always_comb begin
    sign  = chars_i.minus | chars_i.plus;
    start = (chars_i.space + 33'd1) & ~chars_i.space;
    first = (start & ~sign) | ((start & sign) << 1);
    // A carry runs through the digits and stops behind the last one.
    stop = (chars_i.digit + first) & ~chars_i.digit;
    // The last digit goes to nibble 0, in two steps. What stands before the digits is zeros.
    for (int unsigned b = 0; b < 6; b++) turn[b] = |(stop & TurnBit[b]);
    for (int unsigned i = 0; i < 32; i++) begin
      nib_masked[4*(31-i)+:4] = chars_i.digit[i] ? chars_i.low[i] : 4'd0;
    end
    nib_coarse = nib_masked >> {turn[5:2], 4'b0000};
  end

  logic [127:0] nib_coarse_q;
  logic [1:0] turn_q;
  logic [31:0][3:0] nib;
  logic ok_q, neg_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      nib_coarse_q <= nib_coarse;
      turn_q       <= turn[1:0];
      ok_q         <= |(first & chars_i.digit) && |(stop & chars_i.ender);
      neg_q        <= |(start & chars_i.minus);
    end
  end
  assign nib = nib_coarse_q >> {turn_q, 2'b00};

  // ---------------------------------------------------------------- groups of digits
  function automatic logic [26:0] eight(input logic [7:0][3:0] d);
    logic [3:0][6:0] two;
    logic [1:0][13:0] four;
    for (int unsigned i = 0; i < 4; i++) two[i] = Tens[d[2*i+1]] + 7'(d[2*i]);
    for (int unsigned i = 0; i < 2; i++) four[i] = Hundreds[two[2*i+1]] + 14'(two[2*i]);
    return 27'(four[1]) * 27'd10000 + 27'(four[0]);
  endfunction

  localparam logic [79:0] MaxUnsigned = 80'h1844_6744_0737_0955_1615;
  localparam logic [79:0] MaxSigned = 80'h0922_3372_0368_5477_5807;
  localparam logic [79:0] MaxNegative = 80'h0922_3372_0368_5477_5808;

  logic valid_q, valid2_q, valid3_q;
  logic [79:0] bcd;
  logic over, nonzero;
  logic [26:0] mid_q;
  logic [13:0] top_q;
  assign bcd     = nib[19:0];
  assign over    = |nib[31:20];
  assign nonzero = |nib;

  always_ff @(posedge clk_i) begin
    valid_q  <= valid_i;
    valid2_q <= valid_q;
    valid3_q <= valid2_q;
    if (valid_q) begin
      num_o.ok_unsigned <= ok_q && !over && bcd <= MaxUnsigned && !(neg_q && nonzero);
      num_o.ok_signed   <= ok_q && !over && bcd <= (neg_q ? MaxNegative : MaxSigned);
      num_o.neg         <= neg_q;
      num_o.nonzero     <= nonzero;
      num_o.big         <= |nib[31:8];
      num_o.low8       <= eight(nib[7:0]);
      mid_q             <= eight(nib[15:8]);
      top_q             <= 14'(eight({16'd0, nib[19:16]}));
    end
  end

  // ---------------------------------------------------------------- the whole
  logic [53:0] low_q;
  logic [13:0] high_q;
  always_ff @(posedge clk_i) begin
    if (valid2_q) begin
      low_q  <= 54'(mid_q) * 54'd100000000 + 54'(num_o.low8);
      high_q <= top_q;
    end
    if (valid3_q) value_o <= 64'(high_q) * 64'd10000000000000000 + 64'(low_q);
  end

endmodule
