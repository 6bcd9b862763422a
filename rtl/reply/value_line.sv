// Numbers of a reply as text: " <flags> <bytes>[ <cas unique>]\r\n" behind a VALUE line's key,
// "<number>\r\n" alone, or Redis' "$<number>\r\n" and a meta command's "VA <number>\r\n", behind the end of another
// value. Latency 9, initiation interval 1, no back-pressure.
module value_line (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// Numbers stand here; they are taken, which is known later. `line`: flags and bytes; `has_num`: the CAS unique, or the number alone.
  input  logic             here_i,
  input  logic             valid_i,
  input  logic             line_i,
  input  logic             has_num_i,
  /// Redis: it is the length of a value, and the CR LF of the value before stands in front of it.
  input  logic             bulk_i,
  /// A meta command: it is such a length, too, behind "VA ".
  input  logic             meta_i,
  input  logic             behind_i,
  /// Some of it is wanted: else the length is 0.
  input  logic             wanted_i,
  /// Of the number only the thousands.
  input  logic             thousands_i,
  input  logic [31:0]      flags_i,
  input  logic [20:0]      bytes_i,
  input  logic [63:0]      num_i,
  /// Another one's number, in a clock in which none of these is taken that has one; 7 clocks later its digits.
  input  logic             lent_i,
  input  logic [63:0]      lent_num_i,
  output logic [19:0][3:0] digit_o,
  output logic [19:0]      shown_o,
  output logic [4:0]       count_o,
  /// Text out; its end is at the highest lane.
  output logic             valid_o,
  output logic [41:0][7:0] text_o,
  output logic [5:0]       len_o
);

  localparam int unsigned FlagDigits = 10, ByteDigits = 7, NumDigits = 20;
  // To the digits of the number; flags and bytes have theirs a clock before.
  localparam int unsigned DecimalStages = 7;

  logic [FlagDigits-1:0][3:0] flag_digit;
  logic [ByteDigits-1:0][3:0] byte_digit;
  logic [NumDigits-1:0][3:0] num_digit, number_digit;
  logic [FlagDigits-1:0] flag_shown;
  logic [ByteDigits-1:0] byte_shown;
  logic [NumDigits-1:0] num_shown, number_shown;
  logic [3:0] flag_count;
  logic [2:0] byte_count;
  logic [4:0] num_count, number_count;

  bin2dec #(
    .Width (32),
    .Digits(FlagDigits)
  ) u_flags (
    .clk_i,
    .valid_i(here_i && line_i),
    .bin_i  (flags_i),
    .digit_o(flag_digit),
    .shown_o(flag_shown),
    .count_o(flag_count)
  );
  bin2dec #(
    .Width (21),
    .Digits(ByteDigits)
  ) u_bytes (
    .clk_i,
    .valid_i(here_i && line_i),
    .bin_i  (bytes_i),
    .digit_o(byte_digit),
    .shown_o(byte_shown),
    .count_o(byte_count)
  );
  // Kept by synthesis, or it makes each digit's tables of both numbers.
  (* keep *) logic [63:0] num;
  assign num = lent_i ? lent_num_i : num_i;
  bin2dec #(
    .Width (64),
    .Digits(NumDigits)
  ) u_num (
    .clk_i,
    .valid_i(lent_i || (here_i && has_num_i)),
    .bin_i  (num),
    .digit_o(num_digit),
    .shown_o(num_shown),
    .count_o(num_count)
  );
  assign digit_o = num_digit;
  assign shown_o = num_shown;
  assign count_o = num_count;

  // Beside the numbers.
  logic [DecimalStages+1:0] valid_q;
  logic [DecimalStages-1:0] line_q, has_num_q, bulk_q, meta_q, behind_q, thousands_q, wanted_q;
  logic line, line_early, has_num, bulk, meta, behind, thousands, wanted;
  logic [1:0] prefix;  // characters in front of a length
  always_ff @(posedge clk_i) begin
    valid_q   <= rst_ni ? {valid_q[DecimalStages:0], valid_i} : '0;
    line_q    <= {line_q[DecimalStages-2:0], line_i};
    has_num_q <= {has_num_q[DecimalStages-2:0], has_num_i};
    meta_q      <= {meta_q[DecimalStages-2:0], meta_i};
    bulk_q      <= {bulk_q[DecimalStages-2:0], bulk_i};
    behind_q    <= {behind_q[DecimalStages-2:0], behind_i};
    thousands_q <= {thousands_q[DecimalStages-2:0], thousands_i};
    wanted_q    <= {wanted_q[DecimalStages-2:0], wanted_i};
  end
  assign bulk      = bulk_q[DecimalStages-1];
  assign meta      = meta_q[DecimalStages-1];
  assign prefix    = meta ? 2'd3 : bulk ? 2'd1 : 2'd0;
  assign behind    = behind_q[DecimalStages-1];
  assign thousands = thousands_q[DecimalStages-1];
  assign wanted    = wanted_q[DecimalStages-1];
  assign number_digit = thousands ? (4 * NumDigits)'(num_digit[NumDigits-1:3]) : num_digit;
  assign number_shown = thousands ? {3'b0, num_shown[NumDigits-1:4], 1'b1} : num_shown;
  assign number_count = !thousands ? num_count : (num_count > 5'd3) ? num_count - 5'd3 : 5'd1;
  assign line    = line_q[DecimalStages-1];
  assign line_early = line_q[DecimalStages-2];
  assign has_num = has_num_q[DecimalStages-1];
  assign valid_o = valid_q[DecimalStages+1];

  // ------------------------------------------------ fields: a space and digits, at the field's end
  // Where digits end shows in those that are shown, without a comparison with their count.
  function automatic logic [7:0] char(input logic [3:0] digit, input logic shown,
                                      input logic front);
    return shown ? {4'h3, digit} : front ? 8'h20 : 8'h00;
  endfunction

  logic [FlagDigits:0] flag_there, flag_front;  // front: in front of the digits, or one of them
  logic [ByteDigits:0] byte_there, byte_front;
  assign flag_there = {1'b0, flag_shown};
  assign flag_front = {flag_shown, 1'b1};
  assign byte_there = {1'b0, byte_shown};
  assign byte_front = {byte_shown, 1'b1};
  logic [FlagDigits:0][7:0] flag_q;
  logic [ByteDigits:0][7:0] byte_q;
  logic [2:0] flag_shift_q;
  logic [5:0] line_len_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[DecimalStages-2]) begin
      for (int unsigned i = 0; i <= FlagDigits; i++)
      flag_q[FlagDigits-i] <= !line_early ? '0 : char(
          (i == FlagDigits) ? '0 : flag_digit[i%FlagDigits], flag_there[i], flag_front[i]
      );
      for (int unsigned i = 0; i <= ByteDigits; i++)
      byte_q[ByteDigits-i] <= !line_early ? '0 : char(
          (i == ByteDigits) ? '0 : byte_digit[i%ByteDigits], byte_there[i], byte_front[i]
      );
      flag_shift_q <= 3'(ByteDigits) - byte_count;
      line_len_q   <= line_early ? 6'(flag_count) + 6'(byte_count) + 6'd2 : '0;
    end
  end

  // ------------------------------------------------ flags up to bytes; the number's field
  localparam int unsigned LineLanes = FlagDigits + ByteDigits + 2;
  logic [NumDigits:0] num_there, num_front, front1, front2, behind_at, behind1;
  assign num_there = {1'b0, number_shown};
  assign num_front = {number_shown, 1'b1} & ~num_there;
  assign behind_at = !behind ? '0 : meta ? num_front << 3 : bulk ? num_front << 1 : num_front;
  assign front1    = num_front << 1;
  assign front2    = num_front << 2;
  assign behind1   = behind_at << 1;
  logic [LineLanes-1:0][7:0] line_text_q;
  logic [NumDigits:0][7:0] num_q;
  logic [4:0] shift_q;
  logic [5:0] before_q, len_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[DecimalStages-1]) begin
      line_text_q <= ((8 * LineLanes)'(flag_q) << {flag_shift_q, 3'b000}) |
                     {byte_q, {(8 * (FlagDigits + 1)) {1'b0}}};
      for (int unsigned i = 0; i <= NumDigits; i++) begin
        num_q[NumDigits-i] <= !has_num ? '0 : char(
            (i == NumDigits) ? '0 : number_digit[i%NumDigits], num_there[i], num_front[i]
        );
        if (bulk && num_front[i]) num_q[NumDigits-i] <= "$";
        if (meta && front1[i]) num_q[NumDigits-i] <= "A";
        if (meta && front2[i]) num_q[NumDigits-i] <= "V";
        if (behind_at[i]) num_q[NumDigits-i] <= 8'h0a;
        if (behind1[i]) num_q[NumDigits-i] <= 8'h0d;
      end
      shift_q  <= has_num ? 5'(NumDigits) - number_count : 5'(NumDigits + 1);
      before_q <= !wanted ? '0 : line_len_q;
      len_q    <= !wanted ? '0 : !has_num ? 6'd2 : 6'(number_count) +
          (line ? 6'd3 : 6'd2) + 6'(prefix) + (behind ? 6'd2 : 6'd0);
    end
  end

  // ------------------------------------------------ both up to the number, and the line's end
  logic [LineLanes+NumDigits:0][7:0] all;
  assign all = ((8 * (LineLanes + NumDigits + 1))'(line_text_q) << {shift_q, 3'b000}) |
               {num_q, {(8 * LineLanes) {1'b0}}};
  always_ff @(posedge clk_i) begin
    if (valid_q[DecimalStages]) begin
      text_o <= {8'h0a, 8'h0d, all};
      len_o  <= before_q + len_q;
    end
  end

endmodule
