// Binary number to decimal digits. Latency 7, of up to 32 bits 6; initiation interval 1.
//
// Each nibble contributes a known decimal number; the digits of all of them are summed column by
// column, and three rounds of carries make digits of the column sums.
module bin2dec #(
  /// Bits of the number, up to 64.
  parameter int unsigned Width = 64,
  /// Decimal digits: enough for 2**Width - 1.
  parameter int unsigned Digits = 20
) (
  input  logic                        clk_i,
  /// Number in.
  input  logic                        valid_i,
  input  logic [Width-1:0]            bin_i,
  /// Digits of the number that came 7, or 6, clocks earlier; digit 0 has weight 1. They hold until the
  /// next number arrives.
  output logic [Digits-1:0][3:0]      digit_o,
  /// The digit, or one above it, is not 0; so is digit 0.
  output logic [Digits-1:0]           shown_o,
  /// Digits without leading zeros, at least 1.
  output logic [$clog2(Digits+1)-1:0] count_o
);

  localparam int unsigned Nibbles = (Width + 3) / 4;
  localparam int unsigned Groups = (Nibbles + 3) / 4;
  localparam int unsigned CountW = $clog2(Digits + 1);
  localparam bit Narrow = Groups <= 2;  // the columns' sums are taken apart as they are made
  localparam int unsigned First = Narrow ? 2 : 3;  // stage of the first carries

  if (Width > 64 || Digits > 20) begin : gen_bad_width
    $error("%m: at most 64 bits, 20 digits");
  end

  typedef logic [15:0][3:0] table_t;

  /// Decimal digit `digit` of n * 16**nibble, for n = 0..15.
  function automatic table_t digit_table(input int unsigned nibble, input int unsigned digit);
    logic [63:0] weight, scale;
    weight = 64'd1 << (4 * nibble);
    scale  = 64'd1;
    for (int unsigned i = 0; i < digit; i++) scale = scale * 64'd10;
    for (int unsigned n = 0; n < 16; n++)
    digit_table[n] = (nibble >= Nibbles) ? 4'd0 : 4'(((64'(n) * weight) / scale) % 64'd10);
  endfunction

  typedef logic [159:0][7:0] split_t;

  /// Tens and ones of 0..159.
  function automatic split_t split_table();
    for (int unsigned n = 0; n < 160; n++) split_table[n] = {4'(n / 10), 4'(n % 10)};
  endfunction
  localparam split_t Split = split_table();

  // Stage k works in the clock in which valid[k] is set.
  logic [First+3:0] valid;
  assign valid[0] = valid_i;
  always_ff @(posedge clk_i) valid[First+3:1] <= valid[First+2:0];

  // ------------------------------------------------ columns: sums of up to four, then of all
  logic [Groups*16-1:0] bin;
  assign bin = (Groups * 16)'(bin_i);
  logic [Groups-1:0][Digits-1:0][5:0] part_q;
  for (genvar g = 0; g < Groups; g++) begin : gen_group
    for (genvar d = 0; d < Digits; d++) begin : gen_digit
      localparam table_t Table0 = digit_table(4 * g, d);
      localparam table_t Table1 = digit_table(4 * g + 1, d);
      localparam table_t Table2 = digit_table(4 * g + 2, d);
      localparam table_t Table3 = digit_table(4 * g + 3, d);
      always_ff @(posedge clk_i) begin
        if (valid[0])
          part_q[g][d] <= (6'(Table0[bin[16*g+:4]]) + 6'(Table1[bin[16*g+4+:4]])) +
                          (6'(Table2[bin[16*g+8+:4]]) + 6'(Table3[bin[16*g+12+:4]]));
      end
    end
  end

  logic [Digits-1:0][7:0] column, whole;
  always_comb begin
    column = '0;
    for (int d = 0; d < Digits; d++) for (int g = 0; g < Groups; g++) column[d] += 8'(part_q[g][d]);
  end
  if (Narrow) begin : gen_narrow
    assign whole = column;
  end else begin : gen_wide
    logic [Digits-1:0][7:0] sum_q;
    always_ff @(posedge clk_i) if (valid[1]) sum_q <= column;
    assign whole = sum_q;
  end

  // ------------------------------------------------ carries: up to 14, then up to 2, then 1
  logic [Digits-1:0][3:0] tens1_q, ones1_q, ones2_q, sum3_q;
  logic [Digits-1:0][1:0] tens2_q;
  logic [Digits-1:0] gen_q, prop_q;  // gives a carry; passes one on
  always_ff @(posedge clk_i) begin
    if (valid[First-1]) begin
      for (int d = 0; d < Digits; d++) {tens1_q[d], ones1_q[d]} <= Split[whole[d]];
    end
    if (valid[First]) begin
      for (int d = 0; d < Digits; d++) begin
        logic [4:0] sum;
        sum = 5'(ones1_q[d]) + ((d == 0) ? '0 : 5'(tens1_q[(d==0)?0 : d-1]));
        tens2_q[d] <= (sum >= 5'd20) ? 2'd2 : (sum >= 5'd10) ? 2'd1 : 2'd0;
        ones2_q[d] <= 4'(sum - ((sum >= 5'd20) ? 5'd20 : (sum >= 5'd10) ? 5'd10 : 5'd0));
      end
    end
    if (valid[First+1]) begin
      for (int d = 0; d < Digits; d++) begin
        logic [3:0] sum;
        sum = ones2_q[d] + ((d == 0) ? '0 : 4'(tens2_q[(d==0)?0 : d-1]));
        sum3_q[d] <= sum;
        gen_q[d]  <= sum >= 4'd10;
        prop_q[d] <= sum >= 4'd9;
      end
    end
  end

  // An adder's carry chain is the decimal carry chain: bit d of the sum shows the carry into d.
  logic [Digits-1:0] carry;
  assign carry = (prop_q + gen_q) ^ prop_q ^ gen_q;
  logic [Digits-1:0][3:0] digit_q;
  always_ff @(posedge clk_i) begin
    if (valid[First+2]) begin
      for (int d = 0; d < Digits; d++) begin
        logic [3:0] sum;
        sum = sum3_q[d] + 4'(carry[d]);
        digit_q[d] <= (sum >= 4'd10) ? sum - 4'd10 : sum;
      end
    end
  end

  // ------------------------------------------------ count
  logic [CountW-1:0] count;
  logic [Digits-1:0] shown;
  always_comb begin
    for (int d = 0; d < Digits; d++) shown[d] = d == 0 || (digit_q >> 4 * d) != '0;
    count = CountW'(1);
    for (int d = 1; d < Digits; d++) if (digit_q[d] != '0) count = CountW'(d + 1);
  end
  always_ff @(posedge clk_i) begin
    if (valid[First+3]) begin
      digit_o <= digit_q;
      shown_o <= shown;
      count_o <= count;
    end
  end

endmodule
