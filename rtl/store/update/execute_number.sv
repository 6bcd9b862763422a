// incr and decr of what execute_add leaves: reads the number that the item holds, makes the sum, and puts it into the
// log as a new item, whose place goes into the key's way. Where there is none, the number that the request gives is
// the sum, and a key without a way gets one. A clock for two characters, and those that the log takes.
//
// The new digits are made of the old ones, a clock for each that changes; the number that is added becomes digits while
// the old ones are read. What is no plain sum of digits - another length, a sign, a number that is new - is made of the
// binary sum, in 36 clocks.
//
// A value of less than TextMax bytes keeps its length, with blanks behind a sum that is shorter. A longer one
// becomes as short as the sum: each time all of it would be written anew. So that nobody is kept waiting for long, a
// number ends within TextMax bytes, and a value of ValueMax or more holds none.
//
// Redis' numbers are signed and written without a blank, a plus or a zero in front; where there is none it
// counts from 0.
//
// A meta command's item without a value is made likewise: where there is none, or for one that is to be stale.
module execute_number
  import wirekv_pkg::*;
  import lib_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Begin with the item of the request in act.
  input  logic       start_i,
  input  op_t        op_i,
  input  item_t      item_i,
  input  logic [63:0] unique_no_i,
  /// The line in which its value begins; get a line: it stands here from the next clock on; see
  /// execute_line.
  output line_no_t   line_o,
  output logic       line_get_o,
  input  logic       line_there_i,
  /// It is one that the request has anyway, in this slot.
  output logic       near_o,
  output log_slot_t  near_slot_o,
  input  line_t      line_data_i,
  input  logic       line_bad_i,
  /// The new item, and its value; its key goes with it, and is all told.
  output logic       own_valid_o,
  input  logic       own_ready_i,
  output put_t       own_o,
  output logic       ownb_valid_o,
  input  logic       ownb_ready_i,
  output beat_t      ownb_o,
  output logic       key_tell_o,
  input  logic       key_all_told_i,
  /// Its place.
  input  off_t       own_off_i,
  /// The sum; write it into the key's way; end with that, when the way back is free.
  output sum_t       sum_o,
  output logic       write_o,
  /// Give the key a way for it; that is done.
  output logic       insert_o,
  input  logic       insert_done_i,
  input  logic       way_ready_i,
  input  logic       out_free_i,
  output logic       done_o
);

  typedef enum logic [3:0] {
    NuIdle,
    NuLine,
    NuGet,
    NuParse,
    NuLast,    // its last digits become part of it
    NuOperand,
    NuSum,
    NuAdd,     // digit by digit
    NuSign,    // the sum is made into digits; Redis: it may be below 0
    NuDigits,
    NuTrim,
    NuPut,
    NuBeats,
    NuWrite,
    NuInsert
  } state_e;

  typedef enum logic [1:0] {
    PaBlank,
    PaSign,
    PaDigit,
    PaEnd
  } parse_e;

  typedef struct packed {
    parse_e     at;
    logic       negative;
    logic [6:0] chars;  // to come
    logic       ends;
    logic       digit;  // the last character is one of the number's
  } parse_t;

  /// A character further. Redis takes no other than those of a number that it writes; `short`: of one character.
  function automatic parse_t parsed(input parse_t was, input logic [7:0] char, input logic resp,
                                    input logic short);
    logic blank, odd;
    blank = char == 8'h20 || (char >= 8'h09 && char <= 8'h0d);
    odd   = resp && !(is_digit(char) && (char != "0" || was.at == PaDigit ||
                                         (was.at == PaBlank && short))) &&
        !(was.at == PaBlank && char == "-");
    parsed       = was;
    parsed.digit = 1'b0;
    if (was.at == PaDigit && (blank || char == '0) && !resp) parsed.ends = 1'b1;
    if (!parsed.ends) begin
      parsed.chars = was.chars - 7'd1;
      parsed.digit = is_digit(char) && !odd;
      if (odd) begin
        parsed.at = PaEnd;
      end else if (is_digit(char)) begin
        parsed.at = PaDigit;
      end else if (was.at == PaBlank && (char == "+" || char == "-")) begin
        parsed.at       = PaSign;
        parsed.negative = char == "-";
      end else if (!(was.at == PaBlank && blank)) begin
        parsed.at = PaEnd;
      end
      parsed.ends = parsed.at == PaEnd || was.chars == 7'd1;
    end
  endfunction

  state_e state_q, state_d;
  parse_t parse_q, parse_first, parse;
  localparam int unsigned TextMax = 64;
  localparam int unsigned ValueMax = 8192;

  logic resp, get, delete, hollow, overflows, makes, adds, sums, below_q, overflow_q;
  logic less;
  logic [64:0] more;
  logic [4:0] pair_q;   // of lanes, the one behind it; behind the last one the next line is read
  logic skip_q;         // of the first pair the second lane only
  logic [22:0] value_at;
  logic value_long_q, text_long_q, over_q, fits, ok_q, bad_q, off_ok, ends, own_done;
  logic [63:0] operand_q, summed, value_q, bin_q;
  logic [70:0] acc_q, acc_next;  // beyond 64 bits it is over
  logic digit_q, two_q;  // one is to be added, or two
  logic [1:0][3:0] digit_values_q;
  logic [6:0] digits_value;
  logic [79:0] bcd_q;
  logic [4:0] steps_q;
  logic steps_on_q;
  // The number's digits, the first one in front, without zeros in front of it.
  localparam int unsigned DigitMax = 20;
  logic [DigitMax-1:0][3:0] digits_q;
  logic [4:0] count_q, at_q;  // how many; the one that is added to
  logic carry_q, last_q, last_known_q, added, redo, adds_q;
  logic [4:0] digit_sum;
  logic [3:0] digit_added;
  logic [5:0] len;  // of the value
  off_t off_q;
  logic [5:0] lines_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      NuIdle:
      if (start_i) begin
        state_d = (item_i.alive && !hollow) ? NuLine : NuOperand;
      end
      NuLine:    if (value_long_q) state_d = NuWrite;
                 else if (line_there_i) state_d = NuGet;
      NuGet:     state_d = line_bad_i ? NuWrite : NuParse;
      NuParse:   if (parse.ends) state_d = NuLast;
                 else if (pair_q == '0) state_d = NuLine;
      NuLast:    state_d = NuOperand;
      NuOperand: state_d = NuSum;
      NuSum:     state_d = hollow ? NuPut : NuAdd;
      NuAdd:     if (!ok_q) state_d = NuWrite;
                 else if (!adds_q || redo) state_d = NuSign;
                 else if (added) state_d = NuPut;
      NuSign:    state_d = NuDigits;
      NuDigits:  if (steps_q == '0) state_d = NuTrim;
      NuTrim:    if (steps_q == '0) state_d = NuPut;
      NuPut:     if (own_ready_i) state_d = NuBeats;
      NuBeats, NuWrite:
                 if (state_q == NuBeats && !own_done) state_d = NuBeats;
                 else if (insert_o) state_d = NuInsert;
                 else state_d = done_o ? NuIdle : NuWrite;
      NuInsert:  if (insert_done_i) state_d = NuIdle;
      default:   state_d = NuIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= NuIdle;
    else state_q <= state_d;
  end

  // ---------------------------------------------------------------- parse
  // The parser goes over the value's bytes where they stand in the line read last, which it takes a clock before.
  logic [1:0][7:0] chars_q;
  assign value_at   = 23'({item_i.off.pos[1:0], 4'h0}) + 23'd16 + 23'(op_i.req.klen);
  assign line_o     = item_i.off.pos[27:2] + line_no_t'(value_at[22:6]);
  assign line_get_o = state_q == NuLine && !value_long_q;

  // The lines of the request, by their number in the item.
  logic [2:0] number_q, number_d;
  logic near_q;
  log_slot_t near_slot_q;
  always_comb begin
    number_d = number_q;
    if (state_q == NuIdle) number_d = 3'(value_at[8:6]);
    else if (line_there_i) number_d = number_q + 3'd1;
  end
  always_ff @(posedge clk_i) begin
    number_q    <= number_d;
    near_q      <= item_i.hit && number_d < op_i.found.count;
    near_slot_q <= in_bank(op_i.slots[number_d], op_i.found.off.pos[2] ^ number_d[0]);
  end
  assign near_o      = line_get_o && near_q;
  assign near_slot_o = near_slot_q;

  assign parse_first = skip_q ? parse_q : parsed(parse_q, chars_q[0], resp, item_i.vlen == 21'd1);
  assign parse       = parsed(parse_first, chars_q[1], resp, item_i.vlen == 21'd1);
  assign fits       = !item_i.alive || (parse_q.at == PaDigit && !over_q &&
      !(text_long_q && parse_q.chars == '0) &&
      (resp ? parse_q.chars == '0 && (acc_q[63] == 1'b0 || (parse_q.negative && acc_q[62:0] == '0))
            : !(parse_q.negative && operand_q[63])));
  assign resp       = op_i.req.resp.is;
  assign overflows  = resp && summed[63] != operand_q[63] &&
      (operand_q[63] == op_i.req.num[63]) == (op_i.req.op == OpIncr);
  assign get        = op_i.req.op == OpGet;
  assign delete     = op_i.req.op == OpDelete;
  assign hollow     = get || delete;
  assign makes      = hollow || (fits && !overflows);
  // A sum of digits: of numbers that are not below 0, and neither is the sum.
  assign sums       = op_i.req.op == OpIncr;
  assign more       = 65'(operand_q) + 65'(op_i.req.num);
  assign less       = operand_q < op_i.req.num;
  assign adds       = item_i.alive && !parse_q.negative && !(sums ? more[64] : less) &&
      !(resp && op_i.req.num[63]);
  always_comb begin
    summed = (less && !resp) ? '0 : operand_q - op_i.req.num;
    if (sums) summed = more[63:0];
    if (!item_i.alive && !resp) summed = op_i.req.hash;
  end

  // Digits are added a clock after they were read.
  assign acc_next = (two_q ? {1'b0, acc_q[63:0], 6'd0} + {2'd0, acc_q[63:0], 5'd0}
                           : {4'd0, acc_q[63:0], 3'd0}) +
      (two_q ? {5'd0, acc_q[63:0], 2'd0} : {6'd0, acc_q[63:0], 1'd0}) + 71'(digits_value);
  assign digits_value = two_q ? 7'(digit_values_q[0]) * 7'd10 + 7'(digit_values_q[1])
                              : 7'(digit_values_q[0]);
  always_ff @(posedge clk_i) begin
    digit_q           <= state_q == NuParse && ((parse_first.digit && !skip_q) || parse.digit);
    two_q             <= parse_first.digit && !skip_q && parse.digit;
    digit_values_q[0] <= (parse_first.digit && !skip_q) ? chars_q[0][3:0] : chars_q[1][3:0];
    digit_values_q[1] <= chars_q[1][3:0];
    if (state_q == NuIdle) begin
      acc_q  <= '0;
      over_q <= 1'b0;
    end else if (digit_q) begin
      acc_q <= acc_next;
    end
    if (state_q != NuIdle) over_q <= over_q || acc_q[70:64] != '0;
    operand_q <= !item_i.alive ? '0 : parse_q.negative ? -acc_q[63:0] : acc_q[63:0];
  end

  always_ff @(posedge clk_i) begin
    chars_q <= line_data_i[16*pair_q+:16];
    unique case (state_q)
      NuIdle: begin
        pair_q       <= value_at[5:1];
        skip_q       <= value_at[0];
        value_long_q <= item_i.vlen >= 21'(ValueMax);
        text_long_q  <= item_i.vlen > 21'(TextMax);
        // The one that ends it may stand behind it.
        parse_q      <= '{at: PaBlank, negative: 1'b0, digit: 1'b0, ends: item_i.vlen == '0,
                          chars: (item_i.vlen > 21'(TextMax)) ? 7'(TextMax + 1) : item_i.vlen[6:0]};
        ok_q         <= 1'b0;
        bad_q        <= 1'b0;
        below_q      <= 1'b0;
        overflow_q   <= 1'b0;
      end
      NuGet: begin
        bad_q  <= line_bad_i;
        pair_q <= pair_q + 5'd1;
      end
      NuParse: begin
        if (pair_q != '0) pair_q <= pair_q + 5'd1;
        parse_q <= parse;
        skip_q  <= 1'b0;
      end
      NuSum: begin
        ok_q       <= makes;
        adds_q     <= adds;
        overflow_q <= fits && overflows;
        value_q    <= summed;
      end
      NuSign:
      if (resp && value_q[63]) begin
        below_q <= 1'b1;
        value_q <= -value_q;
      end
      default: ;
    endcase
  end

  // ---------------------------------------------------------------- digits
  // They come one by one: from the value, from the sum's converter, or from the sum of two.
  logic put_digit, put_second, zeros, adding;
  logic [3:0] new_digit;
  logic [4:0] put_at;
  logic short_number;
  assign short_number = op_i.req.num[63:16] == '0;
  assign adding       = state_q == NuAdd && last_known_q;
  // No zeros in front.
  assign zeros        = count_q == '0 && digit_values_q[0] == '0;
  always_comb begin
    put_digit  = digit_q;
    put_second = two_q && !zeros;
    new_digit  = (two_q && zeros) ? digit_values_q[1] : digit_values_q[0];
    put_at     = count_q;
    if (state_q == NuTrim) begin
      put_digit  = 1'b1;
      put_second = 1'b0;
      new_digit  = bcd_q[79:76];
    end else if (state_q == NuAdd) begin
      put_digit  = adding;
      put_second = 1'b0;
      new_digit  = digit_added;
      put_at     = at_q;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(DigitMax); i++) begin
      if (put_digit && put_at == 5'(i)) digits_q[i] <= new_digit;
      if (put_digit && put_second && put_at == 5'(i - 1)) digits_q[i] <= digit_values_q[1];
    end
    if (state_q inside {NuIdle, NuSign}) count_q <= '0;
    else if (put_digit && !adding && (count_q != '0 || new_digit != '0))
      count_q <= count_q + 5'd1 + 5'(put_second);
  end

  // A zero has a digit, too.
  logic [4:0] count;
  assign count = (count_q == '0) ? 5'd1 : count_q;

  // The last digit first. It is read a clock before.
  logic [3:0] old_q;
  logic [4:0] next_at;
  assign digit_sum   = sums ? 5'(old_q) + 5'(bcd_q[3:0]) + 5'(carry_q)
                            : 5'(old_q) - 5'(bcd_q[3:0]) - 5'(carry_q);
  logic carries;
  assign carries     = sums ? digit_sum >= 5'd10 : digit_sum[4];
  assign digit_added = digit_sum[3:0] + (!carries ? 4'd0 : sums ? 4'd6 : 4'd10);
  assign next_at     = (adding ? at_q : count) - 5'd1;
  assign added       = adding && last_q && !carries;
  assign redo        = adding && at_q == '0 && (!added || (digit_added == '0 && count != 5'd1));
  always_ff @(posedge clk_i) begin
    // Behind this one no digit is added.
    last_q       <= (adding ? {4'd0, bcd_q[79:8]} : bcd_q[79:4]) == '0;
    last_known_q <= !steps_on_q;
    if (state_q == NuSum || adding) begin
      at_q    <= next_at;
      old_q   <= digits_q[next_at];
      carry_q <= adding && carries;
    end
  end

  // The converter: at first of the number that is added. Digits move out of it at either end.
  always_ff @(posedge clk_i) begin
    if (state_q inside {NuIdle, NuSign}) begin
      bin_q      <= short_number ? {op_i.req.num[15:0], 48'd0} : op_i.req.num;
      steps_q    <= short_number ? 5'd3 : 5'd15;
      steps_on_q <= 1'b1;
      bcd_q      <= '0;
      if (state_q == NuSign) begin
        bin_q   <= (resp && value_q[63]) ? -value_q : value_q;
        steps_q <= 5'd15;
      end
    end else if (steps_on_q) begin
      {bcd_q, bin_q} <= double_dabble({bcd_q, bin_q});
      steps_q        <= (state_q == NuDigits && steps_q == '0) ? 5'(DigitMax - 1) : steps_q - 5'd1;
      steps_on_q     <= steps_q != '0;
    end else if (adding) begin
      bcd_q <= bcd_q >> 4;
    end else if (state_q == NuTrim) begin
      bcd_q   <= bcd_q << 4;
      steps_q <= steps_q - 5'd1;
    end
  end

  line_t text;
  marks_t marks;
  always_comb begin
    for (int i = 0; i < 64; i++)
    text[8*i+:8] = (i < int'(DigitMax) && 5'(i) < count) ? {4'h3, digits_q[i%int'(DigitMax)]}
                                                         : 8'h20;
    if (below_q) text = {text[503:0], 8'h2d};
    len = 6'(count);
    if (resp) len = 6'(count) + 6'(below_q);
    else if (item_i.alive && item_i.vlen < 21'(TextMax) && item_i.vlen[5:0] > 6'(count))
      len = item_i.vlen[5:0];
    // It has the old one's marks, unless it is longer.
    marks = '0;
    if (item_i.alive && !resp && item_i.vlen[12:0] >= 13'(count)) marks = item_i.marks;
    if (hollow) begin
      len   = '0;
      marks = '{coded: delete && !op_i.req.meta.voids && item_i.marks.coded, won: get,
                stale: op_i.req.meta.stale};
    end
  end

  // ---------------------------------------------------------------- the new item
  // Key and value; the log takes the last of the key with the value's first bytes.
  logic value_sent_q, keeps_unique;
  logic [31:0] flags;
  logic [63:0] unique_no_q;
  msec_t expiry;
  logic [8:0] bytes_q;  // with its header
  always_ff @(posedge clk_i) begin
    if (state_q == NuPut) off_q <= own_off_i;
    // The old item may leave the log while the new one waits for its place.
    if (state_q == NuIdle) unique_no_q <= unique_no_i;
    bytes_q <= 9'd16 + 9'(op_i.req.klen) + 9'(len);
    if (state_q == NuBeats) lines_q <= 6'(lines_of(off_q.pos[1:0], 22'(bytes_q)));
    value_sent_q <= state_q == NuBeats && (value_sent_q || ownb_ready_i);
  end
  always_comb begin
    flags  = item_i.alive ? item_i.flags : '0;
    expiry = (item_i.alive && !op_i.req.meta.sets_time) ? item_i.expiry : op_i.req.expiry;
    if (get && op_i.req.meta.n_last) expiry = op_i.req.num[47:0];
    // Who only loses his value keeps his CAS unique.
    keeps_unique = delete && !op_i.req.meta.stale;
    if (delete && op_i.req.meta.voids) {flags, expiry} = {op_i.req.flags, op_i.req.expiry};
    // An item that was to be copied has lost its value meanwhile. The copy has the time that was asked for.
    if (op_i.req.key_stored && op_i.req.meta.sets_time) expiry = item_i.stored_expiry;
  end
  // A clock before, where its length is known.
  assign own_valid_o  = state_q == NuPut || (state_q == NuAdd && state_d == NuPut);
  assign own_o        = '{start: 1'b1, own_lines: 1'b0, ends: 1'b0, conn: '0,
                           udp: op_i.req.udp, db: op_i.req.db,
                          klen: op_i.req.klen, vlen: 21'(len),
                          flags: flags, marks: marks,
                          chosen: op_i.req.meta.chosen || keeps_unique,
                          chosen_no: op_i.req.meta.chosen ? op_i.req.chosen_no : unique_no_q,
                          expiry: expiry,
                          off: '0,
                          done: '0};
  assign ownb_valid_o = state_q == NuBeats && !value_sent_q;
  assign ownb_o       = '{data: text, len: 7'(len), last: 1'b1};
  assign key_tell_o   = state_q == NuBeats;
  assign own_done     = value_sent_q && key_all_told_i;

  assign off_ok  = off_q.lap != '0;
  assign sum_o   = '{made: state_q inside {NuBeats, NuWrite, NuInsert} && ok_q &&
                         (off_ok || !hollow),
                     bad: bad_q,
                     value: value_q, negative: below_q,
                     reply: overflow_q ? RpOverflow : bad_q ? RpNoMemory : RpNonNumeric, off: off_q,
                     lines: lines_q};
  assign ends     = state_q == NuWrite || (state_q == NuBeats && own_done);
  assign insert_o = ends && ok_q && off_ok && !item_i.found;
  assign write_o  = ends && ok_q && off_ok && out_free_i && item_i.found;
  assign done_o   = ends && !insert_o && out_free_i && (!ok_q || !off_ok || way_ready_i);

endmodule
