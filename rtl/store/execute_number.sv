// incr and decr: reads the number that the item holds, makes the sum, and puts it into the log as a
// new item, whose place goes into the key's way. Where there is none, the number that the request gives is
// the sum, and a key without a way gets one. A clock a character, 16 for the digits, and those
// that the log takes.
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
  // verilator lint_off UNUSEDSIGNAL
  input  op_t        op_i,
  input  item_t      item_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [63:0] unique_no_i,
  /// The line in which its value begins; get a line: it stands here from the next clock on; see
  /// execute_line.
  output line_no_t   line_o,
  output logic       line_get_o,
  input  logic       line_there_i,
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
  /// Its place; puts taken and written by the log.
  input  off_t       own_off_i,
  input  serial_t    taken_i,
  input  serial_t    written_i,
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
    NuOperand,
    NuSum,
    NuSign,    // Redis: a sum below 0
    NuDigits,
    NuTrim,
    NuPut,
    NuBeats,
    NuWritten,
    NuInsert
  } state_e;

  typedef enum logic [1:0] {
    PaBlank,
    PaSign,
    PaDigit,
    PaEnd
  } parse_e;

  state_e state_q, state_d;
  parse_e parse_q;
  localparam int unsigned TextMax = 64;
  localparam int unsigned ValueMax = 8192;

  logic resp, get, delete, hollow, odd, overflows, makes, below_q, overflow_q;
  logic [6:0] chars_q;  // to come
  logic [5:0] lane_q;   // of the one behind it; behind lane 63 the value goes on in the next line
  logic [22:0] value_at;
  logic
      value_long_q,
      text_long_q,
      negative_q,
      over_q,
      parsed,
      fits,
      ok_q,
      bad_q,
      off_ok,
      written,
      own_done;
  logic [63:0] acc_q, operand_q, summed, value_q, bin_q;
  logic [67:0] acc_next;
  logic digit_q;  // one is to be added
  logic [3:0] digit_value_q;
  logic [79:0] bcd_q;
  logic [4:0] digits_q, steps_q;
  logic [5:0] len_q;  // of the value
  off_t off_q;
  logic [5:0] lines_q;
  serial_t stamp_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      NuIdle:    if (start_i) state_d = (item_i.alive && !hollow) ? NuLine : NuOperand;
      NuLine:    if (value_long_q) state_d = NuWritten;
                 else if (line_there_i) state_d = NuGet;
      NuGet:     state_d = line_bad_i ? NuWritten : NuParse;
      NuParse:   if (parsed) state_d = NuOperand;
                 else if (lane_q == '0 && chars_q != 7'd1) state_d = NuLine;
      NuOperand: state_d = NuSum;
      NuSum:     state_d = hollow ? NuPut : !makes ? NuWritten : resp ? NuSign : NuDigits;
      NuSign:    state_d = NuDigits;
      NuDigits:  if (steps_q == '0) state_d = NuTrim;
      NuTrim:    if (bcd_q[79:76] != '0 || digits_q == 5'd1) state_d = NuPut;
      NuPut:     if (own_ready_i) state_d = NuBeats;
      NuBeats:   if (own_done) state_d = NuWritten;
      NuWritten: if (insert_o) state_d = NuInsert;
                 else if (done_o) state_d = NuIdle;
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
  logic [7:0] char_q;
  logic char_blank, char_digit;
  assign value_at   = 23'({item_i.off.pos[1:0], 4'h0}) + 23'd16 + 23'(op_i.req.klen);
  assign line_o     = item_i.off.pos[27:2] + line_no_t'(value_at[22:6]);
  assign line_get_o = state_q == NuLine && !value_long_q;
  assign char_blank = char_q == 8'h20 || (char_q >= 8'h09 && char_q <= 8'h0d);
  assign char_digit = char_q >= 8'h30 && char_q <= 8'h39;
  assign acc_next   = 68'({acc_q, 3'b000}) + 68'({acc_q, 1'b0}) + 68'(digit_value_q);
  assign parsed     = over_q || parse_q == PaEnd || chars_q == '0 ||
      (parse_q == PaDigit && (char_blank || char_q == '0) && !resp);
  assign fits       = !item_i.alive || (parse_q == PaDigit && !over_q &&
      !(text_long_q && chars_q == '0) &&
      (resp ? chars_q == '0 && (acc_q[63] == 1'b0 || (negative_q && acc_q[62:0] == '0))
            : !(negative_q && operand_q[63])));
  // What Redis does not take for a number's character.
  assign odd        = resp && !(char_digit && (char_q != "0" || parse_q == PaDigit ||
      (parse_q == PaBlank && item_i.vlen == 21'd1))) && !(parse_q == PaBlank && char_q == "-");
  assign resp       = op_i.req.resp.is;
  assign overflows  = resp && summed[63] != operand_q[63] &&
      (operand_q[63] == op_i.req.num[63]) == (op_i.req.op == OpIncr);
  assign get        = op_i.req.op == OpGet;
  assign delete     = op_i.req.op == OpDelete;
  assign hollow     = get || delete;
  assign makes      = hollow || (fits && !overflows);
  always_comb begin
    summed = (operand_q < op_i.req.num && !resp) ? '0 : operand_q - op_i.req.num;
    if (op_i.req.op == OpIncr) summed = operand_q + op_i.req.num;
    if (!item_i.alive && !resp) summed = op_i.req.hash;
  end

  // A digit is added a clock after it was read: the number is there one clock after the last was, before it is
  // an operand.
  always_ff @(posedge clk_i) begin
    digit_q       <= state_q == NuParse && !parsed && !odd && char_digit;
    digit_value_q <= char_q[3:0];
    if (state_q == NuIdle) begin
      acc_q  <= '0;
      over_q <= 1'b0;
    end else if (digit_q) begin
      acc_q  <= acc_next[63:0];
      over_q <= over_q || acc_next[67:64] != '0;
    end
    operand_q <= !item_i.alive ? '0 : negative_q ? -acc_q : acc_q;
  end

  always_ff @(posedge clk_i) begin
    char_q <= line_data_i[8*lane_q+:8];
    unique case (state_q)
      NuIdle: begin
        lane_q       <= value_at[5:0];
        value_long_q <= item_i.vlen >= 21'(ValueMax);
        text_long_q  <= item_i.vlen > 21'(TextMax);
        // The one that ends it may stand behind it.
        chars_q      <= (item_i.vlen > 21'(TextMax)) ? 7'(TextMax + 1) : item_i.vlen[6:0];
        parse_q      <= PaBlank;
        negative_q   <= 1'b0;
        ok_q         <= 1'b0;
        bad_q        <= 1'b0;
        below_q      <= 1'b0;
        overflow_q   <= 1'b0;
      end
      NuGet: begin
        bad_q  <= line_bad_i;
        lane_q <= lane_q + 6'd1;
      end
      NuParse:
      if (!parsed) begin
        if (lane_q != '0) lane_q <= lane_q + 6'd1;
        chars_q <= chars_q - 7'd1;
        if (odd) begin
          parse_q <= PaEnd;
        end else if (char_digit) begin
          parse_q <= PaDigit;
        end else if (parse_q == PaBlank && (char_q == "+" || char_q == "-")) begin
          parse_q    <= PaSign;
          negative_q <= char_q == "-";
        end else if (!(parse_q == PaBlank && char_blank)) begin
          parse_q <= PaEnd;
        end
      end
      NuSum: begin
        ok_q       <= makes;
        overflow_q <= fits && overflows;
        value_q    <= summed;
      end
      NuSign:
      if (value_q[63]) begin
        below_q <= 1'b1;
        value_q <= -value_q;
      end
      default: ;
    endcase
  end

  // ---------------------------------------------------------------- digits
  // Digits move out of the converter.
  line_t text;
  marks_t marks_q;
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      NuSum: begin
        bin_q    <= summed;
        bcd_q    <= '0;
        steps_q  <= 5'd15;
        digits_q <= 5'd20;
        len_q    <= '0;
        marks_q  <= '{coded: delete && !op_i.req.meta.voids && item_i.marks.coded, won: get,
                      stale: op_i.req.meta.stale};
      end
      NuSign: if (value_q[63]) bin_q <= -value_q;
      NuDigits: begin
        {bcd_q, bin_q} <= double_dabble({bcd_q, bin_q});
        steps_q <= steps_q - 5'd1;
      end
      NuTrim:
      if (bcd_q[79:76] == '0 && digits_q != 5'd1) begin
        bcd_q    <= bcd_q << 4;
        digits_q <= digits_q - 5'd1;
      end else begin
        len_q <= 6'(digits_q);
        if (resp) len_q <= 6'(digits_q) + 6'(below_q);
        else if (item_i.alive && item_i.vlen < 21'(TextMax) && item_i.vlen[5:0] > 6'(digits_q))
          len_q <= item_i.vlen[5:0];
        // It has the old one's marks, unless it is longer.
        marks_q <= '0;
        if (item_i.alive && !resp && item_i.vlen[12:0] >= 13'(digits_q)) marks_q <= item_i.marks;
      end
      default: ;
    endcase
  end
  always_comb begin
    for (int i = 0; i < 64; i++)
    text[8*i+:8] = (i < 20 && 5'(i) < digits_q) ? {4'h3, bcd_q[4*(19-(i%20))+:4]} : 8'h20;
    if (below_q) text = {text[503:0], 8'h2d};
  end

  // ---------------------------------------------------------------- the new item
  // Key and value; the log takes the last of the key with the value's first bytes.
  logic value_sent_q, keeps_unique;
  logic [31:0] flags;
  logic [63:0] unique_no_q;
  msec_t expiry;
  logic [8:0] bytes_q;  // with its header
  always_ff @(posedge clk_i) begin
    if (state_q == NuPut) begin
      off_q   <= own_off_i;
      stamp_q <= taken_i + 1'b1;
    end
    // The old item may leave the log while the new one waits for its place.
    if (state_q == NuIdle) unique_no_q <= unique_no_i;
    bytes_q <= 9'd16 + 9'(op_i.req.klen) + 9'(len_q);
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
  assign own_valid_o  = state_q == NuPut;
  assign own_o        = '{start: 1'b1, own_lines: 1'b0, ends: 1'b0, conn: '0,
                           udp: op_i.req.udp, db: op_i.req.db,
                          klen: op_i.req.klen, vlen: 21'(len_q),
                          flags: flags, marks: marks_q,
                          chosen: op_i.req.meta.chosen || keeps_unique,
                          chosen_no: op_i.req.meta.chosen ? op_i.req.chosen_no : unique_no_q,
                          expiry: expiry,
                          off: '0,
                          done: '0};
  assign ownb_valid_o = state_q == NuBeats && !value_sent_q;
  assign ownb_o       = '{data: text, len: 7'(len_q), last: 1'b1};
  assign key_tell_o   = state_q == NuBeats;
  assign own_done     = value_sent_q && key_all_told_i;

  assign off_ok  = off_q.lap != '0;
  assign written = reached(written_i, stamp_q);
  assign sum_o   = '{made: state_q inside {NuWritten, NuInsert} && ok_q && (off_ok || !hollow),
                     bad: bad_q,
                     value: value_q, negative: below_q,
                     reply: overflow_q ? RpOverflow : bad_q ? RpNoMemory : RpNonNumeric, off: off_q,
                     lines: lines_q};
  assign insert_o = state_q == NuWritten && ok_q && off_ok && written && !item_i.found;
  assign write_o = state_q == NuWritten && ok_q && off_ok && written && out_free_i && item_i.found;
  assign done_o  = state_q == NuWritten && !insert_o && out_free_i &&
      (!ok_q || !off_ok || (written && way_ready_i));

endmodule
