// Reads a request line, or a key of a line of keys, at once: which command, the key at lane 0, all
// numbers. Latency 6, initiation interval 1, no back-pressure.
//
// What fits no form (decode_form: odd spacing, a sign before a number, an error) is not `good`: the byte
// engine reads it.
//
// Of a line of more than 64 bytes the head says what it is, and the tail all that stands behind its key (see line_scan).
// So the head is no more than `open`, and what is given behind the tail is in its place. A key that does not stand in
// the head's window is `moved`: somebody else reads it. In Redis' and the binary protocol the head tells its length.
module decode
  import lib_pkg::*;
  import wirekv_pkg::*;
  import request_pkg::*;
  import parse_pkg::*;
  import config_pkg::Config;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Longest value that is taken.
  input  logic [10:0] value_max_i,
  /// Where to read.
  input  logic        valid_i,
  input  start_t      start_i,
  /// The job has no bytes behind the 64 from there on.
  input  logic        short_i,
  /// A clock later: those bytes; zeros behind the job's end.
  input  line_t       data_i,
  output logic        valid_o,
  output cand_t       cand_o,
  /// A clock before a candidate with flags: they are to be read.
  output logic        words_valid_o,
  output flag_words_t words_o
);

  /// Without the lowest bit that is set.
  function automatic logic [63:0] others(input logic [63:0] bits);
    return bits & (bits - 64'd1);
  endfunction

  function automatic logic is_meta_form(input form_e form);
    return Config.fast_meta && form inside {FmMetaGet, FmMetaSet};
  endfunction

  // What a number's reader must know of a character.
  typedef struct packed {
    logic       blank;
    logic       other;  // no digit
    logic [3:0] low;
  } char_t;
  typedef char_t [63:0] chars_t;

  // ---------------------------------------------------------------- where
  logic [5:0] valid_q;
  start_t start1_q;
  logic short1_q;
  always_ff @(posedge clk_i) begin
    valid_q  <= rst_ni ? {valid_q[4:0], valid_i} : '0;
    start1_q <= start_i;
    short1_q <= short_i;
  end

  // ---------------------------------------------------------------- kinds of characters; command
  what_t what1, text_what1, inline_what1;
  logic [8:0] from1;
  logic key1;
  // An inline command is told from a key by its letter; no head has it.
  assign key1 = start1_q.key && !(start1_q.resp && data_i[6]);
  decode_form u_form (
    .key_i (start1_q.key),
    .head_i(data_i[63:0]),
    .what_o(text_what1),
    .from_o(from1)
  );
  assign what1 = start1_q.resp ? inline_what1 : text_what1;

  resp_what_t resp2;
  logic [4:0] resp_key_at2;
  logic [7:0] resp_klen3;
  logic [8:0] resp_end3;
  if (Config.fast_redis) begin : gen_resp
    decode_resp u_resp (
      .clk_i,
      .valid_i  (valid_q[0]),
      .key_i    (key1),
      .data_i,
      .inline_o (inline_what1),
      .valid1_i (valid_q[1]),
      .what_o   (resp2),
      .key_at_o (resp_key_at2),
      .klen_o   (resp_klen3),
      .key_end_o(resp_end3)
    );
  end else begin : gen_no_resp
    assign {inline_what1, resp2, resp_key_at2, resp_klen3, resp_end3} = '0;
  end

  // A tail goes on with what its head has said, and lanes count from there: `base` is where the key begins.
  typedef logic signed [9:0] base_t;
  what_t head_what_q, what1_of;
  place_t head_place_q;
  base_t base1, base_of_tail1;
  logic [8:0] from1_of;
  always_ff @(posedge clk_i) begin
    if (valid_q[0] && start1_q.head) begin
      head_what_q  <= what1;
      head_place_q <= start1_q.place;
    end
  end
  always_comb begin
    base_of_tail1 = base_t'({6'd0, head_what_q.key}) - base_t'(14'(start1_q.place - head_place_q));
    what1_of      = (start1_q.tail && !start1_q.resp) ? head_what_q : what1;
    base1         = start1_q.tail ? base_of_tail1 : base_t'({6'd0, what1.key});
    from1_of      = from1;
    if (start1_q.resp) for (int i = 0; i < 9; i++) from1_of[i] = inline_what1.key <= 4'(i);
    else if (start1_q.tail) for (int i = 0; i < 9; i++) from1_of[i] = base_of_tail1 <= base_t'(i);
  end

  start_t start2_q;
  place_t place2_q;  // of the head
  base_t base2_q;
  logic short2_q;
  line_t data2_q;
  logic [63:0] blank2_q, eol2_q, cr2_q, nul2_q;
  chars_t chars2_q;
  what_t what2_q;
  logic [8:0] from2_q;  // lanes of the key, or behind it
  always_ff @(posedge clk_i) begin
    if (valid_q[0]) begin
      planes_t bits;
      logic [63:0] lf, cr, blank, other, front;
      bits  = bit_planes(data_i);
      lf    = is_char(bits, 8'h0a);
      cr    = is_char(bits, 8'h0d);
      blank = is_char(bits, 8'h20);
      // No digit: 0 to 7, or 8 and 9.
      other = ~(is_char(bits, 8'h30, 8'hf8) | is_char(bits, 8'h38, 8'hfe));
      // Redis: a length's `$` stands behind a line's end.
      front = start1_q.resp ? is_char(bits, "$") & {cr[61:0], 2'd0} & {lf[62:0], 1'b0} : blank;
      for (int unsigned i = 0; i < 64; i++)
      chars2_q[i] <= '{blank: front[i], other: other[i], low: data_i[8*i+:4]};
      blank2_q <= blank;
      // Redis: or what parts or quotes an inline command's words, blanks aside.
      nul2_q <= start1_q.resp ?
          is_char(bits, 8'h00, 8'he0) | is_char(bits, 8'h22) | is_char(bits, 8'h27) :
          is_char(bits, 8'h00);
      from2_q  <= from1_of;
      what2_q  <= what1_of;
      base2_q  <= base1;
      place2_q <= start1_q.tail ? head_place_q : start1_q.place;
      eol2_q   <= lf | (cr & {1'b0, lf[63:1]});
      cr2_q    <= cr;
      data2_q  <= data_i;
      start2_q <= start1_q;
      start2_q.key <= key1;
      short2_q <= short1_q;
    end
  end

  // ---------------------------------------------------------------- two words' ends; where the key is
  // Behind a binary header the key stands behind so many extras; in text it is at most 8 lanes in.
  // Behind the beginning of a command of Redis' protocol it may be up to 21 lanes in. It is shifted by
  // multiples of 8, 4 and 1 lanes, a clock for each.
  logic inline2;
  logic [4:0] key_at2;
  logic [5:0] key_at_of2;
  // Redis: of a tail's head.
  resp_what_t head_resp_q, resp2_of;
  logic [4:0] head_key_at_q;
  logic [1:0] by4_2, by4_3_q, by1_3_q, by1_4_q;
  always_comb begin
    inline2 = is_inline(what2_q.form);
    key_at2 = (start2_q.resp && !inline2) ? resp_key_at2 : 5'(what2_q.key);
    by4_2   = 2'(key_at2[2]);
    if (start2_q.binary) begin
      key_at2 = 5'd24;
      by4_2   = data2_q[35] ? 2'd2 : 2'(data2_q[34]);
    end
    key_at_of2 = start2_q.binary ? 6'd24 + {2'd0, data2_q[35:34], 2'd0} : 6'(key_at2);
    if (start2_q.resp && start2_q.tail) key_at_of2 = 6'(head_key_at_q);
  end
  assign resp2_of = start2_q.tail ? head_resp_q : resp2;
  always_ff @(posedge clk_i) begin
    if (valid_q[1] && start2_q.head) begin
      head_resp_q   <= inline2 ? '0 : resp2;
      head_key_at_q <= resp_key_at2;
    end
  end
  // Redis: of SET a tail may have an option, EX, PX, NX or XX.
  // Or the number is in the head, and only a value's length in the tail: they are split.
  logic option2, split2;
  resp_what_t what_of2;
  assign option2 = start2_q.tail && resp2_of.options != '0;
  assign split2  = start2_q.tail && resp2_of.store && resp2_of.number && resp_end3 < 9'd56;
  always_comb begin
    logic [7:0] letter;
    logic named, timed;
    letter   = data2_q[8*6+:8] & 8'hdf;
    timed    = letter inside {"E", "P"};
    named    = (timed || letter inside {"N", "X"}) && (data2_q[8*7+:8] & 8'hdf) == "X" &&
        data2_q[8*2+:32] == {16'h0a0d, "2$"} && data2_q[8*8+:16] == 16'h0a0d;
    what_of2 = resp2_of;
    if (split2) what_of2.number = 1'b0;
    if (option2) begin
      what_of2.found   = resp2_of.found && named && resp2_of.options == (timed ? 2'd2 : 2'd1);
      what_of2.number  = timed;
      what_of2.seconds = letter == "E";
      if (letter == "N") what_of2.op = OpAdd;
      if (letter == "X") what_of2.op = OpReplace;
    end
  end
  always_ff @(posedge clk_i) begin
    by4_3_q <= by4_2;
    by1_3_q <= key_at2[1:0];
    by1_4_q <= by1_3_q;
  end
  resp_what_t resp3_q;
  logic option3_q, split3_q;  // Redis: a tail of a kind of its own, see below
  start_t start3_q;
  place_t place3_q;
  base_t base3_q;
  logic [5:0] key_at3_q;
  what_t what3_q;
  logic short3_q;
  line_t data3_q, key3_q;
  logic [63:0] end1_3_q, end2_3_q, rest3_q, line_end3_q, eol3_q, cr3_q, crlf3_q, length3_q, nul3_q;
  chars_t chars3_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[1]) begin
      logic [63:0] ends;
      ends = (blank2_q | eol2_q) & {{55{1'b1}}, from2_q};
      end1_3_q    <= lowest(ends);
      end2_3_q    <= lowest(others(ends));
      rest3_q     <= others(others(ends));
      line_end3_q <= lowest(eol2_q);
      eol3_q      <= eol2_q;
      cr3_q       <= cr2_q;
      // A length of a value, of up to four digits, may end here.
      for (int unsigned i = 0; i < 64; i++) begin
        logic length;
        length = 1'b0;
        for (int unsigned j = 2; j <= 5 && j <= i; j++) length |= chars2_q[i-j].blank;
        length3_q[i] <= cr2_q[i] && eol2_q[i] && length;
      end
      crlf3_q     <= cr2_q & eol2_q;
      nul3_q      <= nul2_q & {{55{1'b1}}, from2_q};
      chars3_q    <= chars2_q;
      data3_q     <= data2_q;
      unique case (key_at2[4:3])
        2'd0:    key3_q <= data2_q;
        2'd1:    key3_q <= 512'(data2_q[511:64]);
        2'd2:    key3_q <= 512'(data2_q[511:128]);
        default: key3_q <= 512'(data2_q[511:192]);
      endcase
      what3_q  <= what2_q;
      resp3_q  <= what_of2;
      option3_q <= option2;
      split3_q  <= split2;
      start3_q <= start2_q;
      place3_q <= place2_q;
      base3_q  <= base2_q;
      key_at3_q <= key_at_of2;
      short3_q <= short2_q;
    end
  end

  // Redis: how long the key is, and where it ends.
  logic [7:0] head_klen_q, resp_klen3_of;
  logic [8:0] head_end_q;
  logic joins3;  // a tail begins where its head's key ends
  always_ff @(posedge clk_i) begin
    if (valid_q[2] && start3_q.head) begin
      head_klen_q <= resp_klen3;
      head_end_q  <= resp_end3;
    end
  end
  assign resp_klen3_of = start3_q.tail ? head_klen_q : resp_klen3;
  assign joins3        = start3_q.place == place3_q + 14'(head_end_q);

  // Redis: words are lines. Behind the key, or an option, `$` stands two lanes further, and behind that a length: of a
  // number one digit, after which lines end behind the number, and behind the length of a value; of a value all
  // digits up to where a line ends. A tail begins where its head's key ends; one that has an option 8 lanes before that ends.
  localparam logic [5:0] OptionEnd = 6'd8;
  logic [5:0] from3;  // the lane behind that digit, or where it stands
  logic [63:0] far3, behind3, number3, length3;  // where a number and a value's length may end
  assign from3 = (option3_q ? OptionEnd : start3_q.tail ? 6'd0 : resp_end3[5:0]) +
      (resp3_q.number ? 6'd4 : 6'd3);
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) begin
      far3[i]    = i > 3 && 9'(i - 3) > resp_end3;
      behind3[i] = start3_q.tail ? i > 2 && (i > 4 || !resp3_q.number) && (i > 12 || !option3_q) :
          (i > 0 && far3[(i+63)%64]) || (far3[i] && !resp3_q.number);
    end
    number3 = crlf3_q & behind3;
    length3 = length3_q & (resp3_q.number ? {behind3[60:0], 3'd0} : behind3);
  end

  // ---------------------------------------------------------------- their lanes; three more ends
  start_t start4_q;
  place_t place4_q;
  base_t base4_q;
  logic [5:0] key_at4_q;
  what_t what4_q;
  logic short4_q;
  line_t data4_q, key4_q;
  logic [63:0] end3_4_q, end4_4_q, rest4_q, eol4_q;
  logic [5:0] lane1_4_q, lane2_4_q, line_end4_q;
  logic inline3, any4_q, whole4_q, crlf4_q, last1_4_q, last2_4_q, nul4_q;
  assign inline3 = is_inline(what3_q.form);
  chars_t chars4_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      end3_4_q    <= lowest(start3_q.resp ? number3 : rest3_q);
      // Of ms the length is the second word.
      end4_4_q    <= (!start3_q.resp && what3_q.form == FmMetaSet) ? end2_3_q :
                     lowest(start3_q.resp ? length3 : others(rest3_q));
      rest4_q     <= others(others(rest3_q));
      eol4_q      <= eol3_q;
      lane1_4_q   <= lane_of(end1_3_q);
      lane2_4_q   <= (start3_q.resp && !inline3) ? from3 : lane_of(end2_3_q);
      line_end4_q <= lane_of(line_end3_q);
      any4_q      <= end1_3_q != '0;
      whole4_q    <= line_end3_q != '0;
      crlf4_q     <= |(line_end3_q & cr3_q);
      last1_4_q   <= |(end1_3_q & eol3_q);
      last2_4_q   <= |(end2_3_q & eol3_q);
      nul4_q      <= |(nul3_q & ((inline3 ? line_end3_q : end1_3_q) - 64'd1));
      chars4_q    <= chars3_q;
      data4_q     <= data3_q;
      unique case (by4_3_q)
        2'd0:    key4_q <= key3_q;
        2'd1:    key4_q <= 512'(key3_q[511:32]);
        default: key4_q <= 512'(key3_q[511:64]);
      endcase
      what4_q     <= what3_q;
      start4_q    <= start3_q;
      place4_q    <= place3_q;
      base4_q     <= base3_q;
      key_at4_q   <= key_at3_q;
      short4_q    <= short3_q;
    end
  end

  // Where words end behind a meta command's key, or the length behind that, as far as its line goes.
  logic meta3, meta4;
  logic [63:0] flag_ends4_q, flag_ends5_q;
  line_t data5_q;
  assign meta3 = is_meta_form(what3_q.form);
  assign meta4 = is_meta_form(what4_q.form);
  always_ff @(posedge clk_i) begin
    if (valid_q[2] && meta3)
      flag_ends4_q <= (rest3_q | ((what3_q.form == FmMetaSet) ? '0 : end2_3_q)) &
          (line_end3_q | (line_end3_q - 64'd1));
    if (valid_q[3] && meta4) begin
      flag_ends5_q <= flag_ends4_q;
      data5_q      <= data4_q;
    end
  end

  // verilator lint_off UNUSEDSIGNAL
  resp_what_t resp4_q, resp5_q, resp6_q;  // less and less of it
  // verilator lint_on UNUSEDSIGNAL
  logic [7:0] resp_klen4_q, resp_klen5_q;
  logic [8:0] resp_len4_q, resp_len5_q;
  logic resp_good4_q, resp_good5_q, resp_good5, resp_good6_q, number_ok5, inline5, inline_good5;
  logic [63:0] lines4_q;
  logic resp_ends5_q;  // a line ends behind a number's length
  logic option4_q, option5_q, option6_q, split4_q, split5_q, split6_q;
  // A head with a number whose value's length is in a tail.
  logic splits5_q, splits5, splits6_q;
  logic ended5_q;  // what it must have may be in its window
  assign splits5 = splits5_q && !ended5_q;
  // A head whose key ends where a tail may begin; a key beyond the window.
  logic resp_open4_q, resp_open5_q, resp_open6_q, resp_open6, resp_moved4_q, resp_moved5_q;
  logic resp_args3;
  assign resp_args3 = (resp3_q.store && resp3_q.options == '0) || resp3_q.number;
  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      resp4_q       <= resp3_q;
      resp_klen4_q  <= resp_klen3_of;
      lines4_q       <= crlf3_q;
      {option4_q, split4_q} <= {option3_q, split3_q};
      resp_len4_q   <= option3_q ? 9'(OptionEnd) + 9'd2 :
          resp3_q.keyed ? resp_end3 + 9'd2 : 9'(resp3_q.len);
      resp_moved4_q <= resp3_q.keyed && (start3_q.tail || resp_end3 > 9'd64);
      resp_good4_q  <= resp3_q.found &&
          (!start3_q.tail || option3_q || split3_q || (joins3 && resp_args3)) &&
          (!resp3_q.keyed || (resp_klen3_of != '0 && !(start3_q.key && resp_end3 > 9'd64)));
      resp_open4_q  <= resp3_q.found && start3_q.head && resp_args3 && resp_klen3 != '0 &&
          resp_end3 >= 9'd56;
    end
    if (valid_q[3]) begin
      {option5_q, split5_q} <= {option4_q, split4_q};
      ended5_q      <= resp4_q.store ? end4_4_q != '0 : end3_4_q != '0;
      splits5_q     <= resp4_q.number && resp4_q.store && start4_q.head && resp_len4_q < 9'd58;
      resp5_q       <= resp4_q;
      resp_klen5_q  <= resp_klen4_q;
      resp_len5_q   <= resp_len4_q;
      resp_moved5_q <= resp_moved4_q;
      resp_good5_q  <= resp_good4_q;
      resp_ends5_q  <= lines4_q[lane2_4_q];
      resp_open5_q  <= resp_open4_q;
    end
    if (valid_q[4]) begin
      {option6_q, split6_q} <= {option5_q, split5_q};
      splits6_q    <= splits5 && resp_good5_q && number_ok5;
      resp6_q      <= resp5_q;
      resp_good6_q <= inline5 ? inline_good5 : resp_good5;
      resp_open6_q <= resp_open5_q;
    end
  end

  // ---------------------------------------------------------------- numbers a and b, length
  localparam int unsigned Digits = 10;  // longest number
  localparam int unsigned LengthDigits = 4;  // of a value's length
  localparam int unsigned NoreplyBytes = 8;
  localparam logic [8*NoreplyBytes-1:0] NoreplyTail = {" noreply"};
  localparam int unsigned UniqueDigits = 16;  // of a CAS unique, the last word
  localparam int unsigned TailBytes = UniqueDigits + 1;

  // The characters before an end, the last one first.
  char_t [Digits:0] a4, b4;
  char_t [LengthDigits:0] length4;
  logic [TailBytes-1:0][7:0] tail4;
  chars_before #(
    .T(char_t),
    .N(Digits + 1)
  ) u_a (
    .line_i  (chars4_q),
    .lane_i  (lane2_4_q),
    .before_o(a4)
  );
  logic [5:0] lane3_4;
  assign lane3_4 = lane_of(end3_4_q);
  chars_before #(
    .T(char_t),
    .N(Digits + 1)
  ) u_b (
    .line_i  (chars4_q),
    .lane_i  (lane3_4),
    .before_o(b4)
  );
  chars_before #(
    .T(char_t),
    .N(LengthDigits + 1)
  ) u_length (
    .line_i  (chars4_q),
    .lane_i  (lane_of(end4_4_q)),
    .before_o(length4)
  );
  chars_before #(
    .T(logic [7:0]),
    .N(TailBytes)
  ) u_tail (
    .line_i  (data4_q),
    .lane_i  (line_end4_q),
    .before_o(tail4)
  );

  start_t start5_q;
  place_t place5_q;
  logic [5:0] key_at5_q;
  what_t what5_q;
  logic short5_q;
  line_t key5_q;
  logic [5:0] lane1_5_q, lane2_5_q, lane3_5_q, lane4_5_q;
  base_t klen5;
  logic [7:0] klen5_q;
  logic [6:0] line_len5_q;
  logic long5_q;  // the key has more than 250 bytes
  logic any5_q, whole5_q, crlf5_q, nul5_q, noreply5, shows5_q;
  logic [NoreplyBytes-1:0] tail5_q;  // each is as in noreply
  char_t [UniqueDigits:0] unique5_q;
  assign noreply5 = &tail5_q;
  assign klen5    = base_t'({4'd0, lane1_4_q}) - base4_q;
  logic last1_5_q, last2_5_q, last3_5_q, last4_5_q, last5_5_q;
  char_t [Digits:0] a5_q, b5_q;
  char_t [LengthDigits:0] length5_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[3]) begin
      lane1_5_q   <= lane1_4_q;
      lane2_5_q   <= lane2_4_q;
      lane3_5_q   <= lane3_4;
      lane4_5_q   <= lane_of(end4_4_q);
      a5_q        <= a4;
      b5_q        <= b4;
      klen5_q     <= klen5[7:0];
      long5_q     <= klen5 > base_t'(KeyMax);
      line_len5_q <= 7'(line_end4_q) + (crlf4_q ? 7'd2 : 7'd1);
      for (int unsigned i = 0; i < NoreplyBytes; i++) tail5_q[i] <= tail4[i] == NoreplyTail[8*i+:8];
      for (int unsigned i = 0; i <= UniqueDigits; i++)
      unique5_q[i] <= '{
          blank: tail4[i] == " ",
          other: !(tail4[i] inside {[8'h30 : 8'h39]}),
          low: tail4[i][3:0]
      };
      shows5_q    <= whole4_q && tail4[0] == "v" && line_end4_q == lane1_4_q + 6'd2;
      any5_q      <= any4_q;
      whole5_q    <= whole4_q;
      crlf5_q     <= crlf4_q;
      last1_5_q   <= last1_4_q;
      last2_5_q   <= last2_4_q;
      last3_5_q   <= |(end3_4_q & eol4_q);
      last4_5_q   <= |(end4_4_q & eol4_q);
      last5_5_q   <= |(lowest(rest4_q) & eol4_q);
      nul5_q      <= nul4_q;
      length5_q   <= length4;
      unique case (by1_4_q)
        2'd0:    key5_q <= key4_q;
        2'd1:    key5_q <= 512'(key4_q[511:8]);
        2'd2:    key5_q <= 512'(key4_q[511:16]);
        default: key5_q <= 512'(key4_q[511:24]);
      endcase
      what5_q     <= what4_q;
      start5_q    <= start4_q;
      place5_q    <= place4_q;
      key_at5_q   <= key_at4_q;
      short5_q    <= short4_q;
    end
  end

  // A line with flags is whole in its window.
  logic flags5;
  assign flags5 = is_meta_form(what5_q.form) &&
      !(start5_q.tail || start5_q.key || start5_q.binary || start5_q.resp) &&
      whole5_q && !last1_5_q && !((what5_q.form == FmMetaSet) ? last4_5_q : shows5_q);
  assign words_valid_o = valid_q[4] && flags5;
  assign words_o = '{
          data: data5_q,
          ends: flag_ends5_q,
          blank: (what5_q.form == FmMetaSet) ? lane4_5_q : lane1_5_q,
          op: what5_q.op
      };

  // ---------------------------------------------------------------- digits
  // Digits of the word, as long as nothing else has come; `ok`: a blank came before them. Of a shorter one zeros follow,
  // which are no blanks.
  typedef char_t [UniqueDigits:0] word_t;
  typedef logic [UniqueDigits-1:0][3:0] word_digits_t;
  function automatic word_digits_t digits_of(input word_t chars, output logic ok);
    logic [UniqueDigits:0] other;
    for (int unsigned i = 0; i <= UniqueDigits; i++) other[i] = chars[i].other;
    ok = 1'b0;
    for (int unsigned i = 1; i <= UniqueDigits; i++)
    ok |= chars[i].blank && (other << (UniqueDigits + 1 - i)) == '0;
    for (int unsigned i = 0; i < UniqueDigits; i++)
    digits_of[i] = ((other << (UniqueDigits - i)) == '0) ? chars[i].low : '0;
  endfunction

  word_digits_t unique5, unique6_q;
  logic unique_ok5;
  always_comb unique5 = digits_of(unique5_q, unique_ok5);

  // Redis: a number behind the key has as many digits as it says, one to nine, and no zero in front. Nor has a length,
  // which stands behind it, or behind the key.
  logic length_ok5, length_stands5;
  logic [Digits-1:0][3:0] length5;
  always_comb begin
    number_ok5 = 1'b0;
    for (int unsigned i = 1; i < Digits; i++) begin
      logic digits;
      digits = b5_q[i-1].low != '0;
      for (int unsigned j = 0; j < i; j++) digits &= !b5_q[j].other;
      number_ok5 |= digits && a5_q[0].low == 4'(i);
    end
    number_ok5 &= a5_q[1].blank && !a5_q[0].other && resp_ends5_q &&
        7'(lane3_5_q) == 7'(lane2_5_q) + 7'(a5_q[0].low) + 7'd2;
    // Longer ones have no blank before them here.
    length5        = 40'(digits_of(word_t'(length5_q), length_ok5));
    length_stands5 = 1'b0;
    for (int unsigned i = 1; i <= LengthDigits; i++) begin
      logic digits;
      digits = i == 1 || length5_q[i-1].low != '0;
      for (int unsigned j = 0; j < i; j++) digits &= !length5_q[j].other;
      length_stands5 |= digits && length5_q[i].blank &&
          7'(lane4_5_q) == (resp5_q.number ? 7'(lane3_5_q) + 7'd3 : 7'(lane2_5_q)) + 7'(i);
    end
  end
  assign resp_good5 = resp_good5_q && (!resp5_q.number || number_ok5) &&
      (!resp5_q.store || option5_q || ((resp5_q.number || a5_q[0].blank) && length_stands5));

  // An inline command is whole in its window, and so is its value.
  assign inline5 = is_inline(what5_q.form);
  always_comb begin
    unique case (what5_q.form)
      FmInlineKey: inline_good5 = last1_5_q && klen5_q != '0;
      FmInlineSet:
      inline_good5 = last2_5_q && klen5_q != '0 && lane2_5_q != lane1_5_q + 6'd1 &&
          crlf5_q && !last1_5_q;
      default: inline_good5 = klen5_q == '0 && last1_5_q;
    endcase
    inline_good5 &= whole5_q && !nul5_q;
  end

  logic [8:0] binary_len5;
  logic [7:0] binary_klen5;
  frame_t frame6;
  if (Config.fast_binary) begin : gen_binary
    decode_binary u_binary (
      .clk_i,
      .value_max_i,
      .valid_i   (valid_q[3]),
      .valid1_i  (valid_q[4]),
      .data_i    (data4_q),
      .head_len_o(binary_len5),
      .klen_o    (binary_klen5),
      .frame_o   (frame6)
    );
  end else begin : gen_no_binary
    assign {binary_len5, binary_klen5, frame6} = '0;
  end

  // verilator lint_off UNUSEDSIGNAL
  start_t start6_q;  // all but `last`
  what_t what6_q;    // all but where the key starts
  // verilator lint_on UNUSEDSIGNAL
  line_t key6_q;
  logic [1:0][6:0] length6_q;
  logic [Digits+1:0][3:0] a6_q;
  logic [Digits-1:0][3:0] b6_q;
  place_t behind6_q;  // behind the line or the part of it
  place_t place6_q;
  logic [5:0] key_at6_q;
  logic [7:0] klen6_q;
  logic open6_q, tail_ok6_q, moved6_q;
  // Of a head: its key ends in its window, and how long it is; it has a NUL there.
  logic head_any_q, head_nul_q, tail_ok5;
  logic [7:0] head_klen5_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[4] && start5_q.head) begin
      head_any_q   <= any5_q;
      head_nul_q   <= nul5_q;
      head_klen5_q <= klen5_q;
    end
  end
  // Wherever the key ends, both have to say so; of several keys none has a tail.
  assign tail_ok5 = start5_q.clean && !head_nul_q && (!head_any_q || head_klen5_q == klen5_q) &&
      (what5_q.form != FmKey || last1_5_q);
  logic found6_q;  // it is a command, or a key of a line of keys
  logic fits6_q, length_ok6_q, noreply6_q, shows6_q, flags6_q, last1_6_q, unfinished6_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[4]) begin
      logic [Digits-1:0][3:0] a, b;
      logic a_ok, b_ok;
      logic [8:0] len;
      logic [7:0] klen;
      logic framed5;
      framed5 = start5_q.binary || (start5_q.resp && !inline5);
      a = 40'(digits_of(word_t'(a5_q), a_ok));
      b = 40'(digits_of(word_t'(b5_q), b_ok));
      // Redis: the one number is behind the key's length, or 1. Of seconds milliseconds are made.
      if (!start5_q.resp) a6_q <= 48'(a);
      else if (resp5_q.number) a6_q <= resp5_q.seconds ? {b[Digits-2:0], 12'd0} : 48'(b);
      else if (!split5_q) a6_q <= 48'(!resp5_q.store);
      b6_q <= b;
      unique6_q <= unique5;
      for (int unsigned i = 0; i < 2; i++) length6_q[i] <= Tens[length5[2*i+1]] + 7'(length5[2*i]);
      if (inline5) length6_q <= {7'd0, 7'(lane2_5_q - lane1_5_q) - 7'd1};
      length_ok6_q <= length_ok5 || inline5;
      // The words are those of the form.
      unique case (what5_q.form)
        FmKey:    fits6_q <= any5_q && klen5_q != '0 && !nul5_q;
        FmGat:    fits6_q <= any5_q && klen5_q == '0 && !last1_5_q && a_ok && !last2_5_q;
        FmStore:
        fits6_q <= klen5_q != '0 && !nul5_q && a_ok && b_ok && whole5_q &&
            (last4_5_q || (last5_5_q && noreply5));
        FmCas:
        fits6_q <= klen5_q != '0 && !nul5_q && a_ok && b_ok && whole5_q &&
            !last4_5_q && last5_5_q && unique_ok5;
        FmMetaGet:
        fits6_q <= any5_q && klen5_q != '0 && !nul5_q && (last1_5_q || shows5_q || flags5);
        FmMetaSet: fits6_q <= klen5_q != '0 && !nul5_q && whole5_q && (last4_5_q || flags5);
        FmDelete:
        fits6_q <= any5_q && klen5_q != '0 && !nul5_q && (last1_5_q || (last2_5_q && noreply5));
        default:
        fits6_q <= any5_q && klen5_q != '0 && !nul5_q && a_ok &&
            (last2_5_q || (last3_5_q && noreply5));
      endcase
      unique case (what5_q.form)
        FmDelete: noreply6_q <= !last1_5_q;
        FmStore:  noreply6_q <= !last4_5_q;
        FmCas, FmMetaGet, FmMetaSet: noreply6_q <= 1'b0;
        default:  noreply6_q <= !last2_5_q;
      endcase
      klen = !framed5 ? klen5_q : start5_q.resp ? resp_klen5_q : binary_klen5;
      len  = !framed5 ? 9'(line_len5_q) :
          start5_q.resp ? (splits5 ? 9'(lane3_5_q) :
                              (resp5_q.store && !option5_q) ? 9'(lane4_5_q) + 9'd2 :
                              resp5_q.number ? 9'(lane3_5_q) + 9'd2 : resp_len5_q) :
          binary_len5;
      if (!framed5 && what5_q.form == FmKey && !last1_5_q) len = 9'(lane1_5_q) + 9'd1;
      if (!framed5 && what5_q.form == FmGat) len = 9'(lane2_5_q) + 9'd1;
      if (what5_q.form == FmInlineSet) len = 9'(lane1_5_q) + 9'd1;
      // No length is shorter than this.
      if (start5_q.resp && resp_open5_q && !ended5_q) len = resp_len5_q + 9'd4;
      behind6_q     <= start5_q.place + 14'(len);
      unfinished6_q <= !whole5_q && short5_q;
      tail_ok6_q    <= !start5_q.tail || (tail_ok5 && !long5_q);
      open6_q       <= start5_q.head && !framed5 && !whole5_q && !short5_q && !nul5_q &&
          what5_q.key != '0 && what5_q.form != FmGat && !(what5_q.form == FmKey && any5_q);
      moved6_q      <= start5_q.resp ? resp_moved5_q :
          start5_q.binary ? binary_len5 > 9'd64 : start5_q.tail;
      place6_q      <= place5_q;
      key_at6_q     <= key_at5_q;
      key6_q        <= key5_q & bytes_of(lanes_below({1'b0, klen[5:0]}));
      klen6_q       <= klen;
      last1_6_q     <= last1_5_q;
      shows6_q      <= !last1_5_q && !flags5;
      flags6_q      <= flags5;
      what6_q       <= what5_q;
      found6_q      <= start5_q.key || what5_q.key != '0;
      start6_q      <= start5_q;
    end
  end

  // ---------------------------------------------------------------- the whole
  logic fits6;
  logic [13:0] length6;
  assign length6 = Hundreds[length6_q[1]] + 14'(length6_q[0]);
  assign fits6   = length_ok6_q && length6 <= 14'(value_max_i);

  // The value of a head that options may follow; they do where it ends.
  logic head_fits_q;
  place_t head_value_q, head_next_q;
  logic [10:0] head_vlen_q;
  logic options6, joins6;
  assign resp_open6 = resp_open6_q && !resp_good6_q;
  assign options6 = resp6_q.options != '0 && !start6_q.tail;
  assign joins6   = head_fits_q && start6_q.place == head_next_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[5] && start6_q.head) begin
      head_fits_q  <= splits6_q || (options6 && resp_good6_q && fits6);
      head_value_q <= behind6_q;
      head_vlen_q  <= length6[10:0];
      head_next_q  <= behind6_q + (splits6_q ? 14'd0 : length6);  // two bytes before what follows
    end
  end

  always_comb begin
    logic store;
    store  = what6_q.form inside {FmStore, FmCas, FmMetaSet};

    cand_o            = '0;
    cand_o.place      = place6_q;
    cand_o.ending     = start6_q.ending;
    cand_o.key        = start6_q.key;
    cand_o.good       = found6_q && fits6_q && tail_ok6_q &&
                        (!store || fits6);
    cand_o.unfinished = unfinished6_q;
    cand_o.open       = open6_q;
    cand_o.tail       = 1'b1;
    cand_o.moved      = moved6_q;
    cand_o.key_at     = key_at6_q;
    cand_o.value      = behind6_q;
    cand_o.next       = store ? behind6_q + length6 + 14'd2 : behind6_q;
    cand_o.op         = what6_q.op;
    cand_o.record     = what6_q.form != FmGat;
    cand_o.keys       = what6_q.form inside {FmKey, FmGat};
    cand_o.more       = what6_q.form == FmGat || (what6_q.form == FmKey && !last1_6_q);
    cand_o.store      = store;
    cand_o.noreply    = noreply6_q && !cand_o.keys;
    cand_o.cas_out    = what6_q.cas_out;
    cand_o.touch      = what6_q.touch;
    cand_o.exptime_a  = !store;
    cand_o.klen       = klen6_q;
    cand_o.vlen       = length6[10:0];
    cand_o.a.high     = four(a6_q[11:8]);
    cand_o.a.mid      = four(a6_q[7:4]);
    cand_o.a.low      = four(a6_q[3:0]);
    cand_o.b.high     = 14'(Tens[b6_q[9]] + 7'(b6_q[8]));
    cand_o.b.mid      = four(b6_q[7:4]);
    cand_o.b.low      = four(b6_q[3:0]);
    for (int unsigned i = 0; i < 4; i++) cand_o.unique_no[i] = four(unique6_q[4*i+:4]);
    cand_o.data       = key6_q;
    cand_o.meta       = is_meta_form(what6_q.form);
    cand_o.shows      = shows6_q;
    cand_o.flags      = flags6_q;
    if (cand_o.meta) begin
      {cand_o.a, cand_o.b} = '0;
      cand_o.a.low         = 14'(what6_q.op == OpIncr);
    end
    if (start6_q.resp) begin
      cand_o.good       = resp_good6_q && !options6 && ((option6_q || split6_q) ? joins6 : 1'b1) &&
          (option6_q || !resp6_q.store || fits6);
      cand_o.unfinished = 1'b0;
      cand_o.open       = options6 ? resp_good6_q && fits6 : resp_open6 || splits6_q;
      cand_o.tail       = 1'b0;
      cand_o.next       = (resp6_q.store && !resp_open6 && !splits6_q && !option6_q) ?
          behind6_q + length6 + 14'd2 : behind6_q;
      if (option6_q) {cand_o.value, cand_o.vlen} = {head_value_q, head_vlen_q};
      cand_o.op         = resp6_q.op;
      cand_o.record     = 1'b1;
      cand_o.keys       = 1'b0;
      cand_o.more       = 1'b0;
      cand_o.store      = resp6_q.store;
      cand_o.resp       = 1'b1;
      cand_o.meta       = 1'b0;
      cand_o.form       = resp6_q.form;
      cand_o.count      = resp6_q.count;
      cand_o.noreply    = 1'b0;
      cand_o.cas_out    = 1'b0;
      cand_o.touch      = 1'b0;
      cand_o.exptime_a  = 1'b0;
      cand_o.timed      = (resp6_q.number || split6_q) && !(resp6_q.op inside {OpIncr, OpDecr});
      cand_o.b          = '0;
    end
    if (start6_q.binary) begin
      cand_o.good       = frame6.good;
      cand_o.meta       = 1'b0;
      cand_o.unfinished = 1'b0;
      cand_o.open       = 1'b0;
      cand_o.next       = behind6_q + 14'(frame6.vlen);
      cand_o.op         = frame6.op;
      cand_o.record     = 1'b1;
      cand_o.keys       = 1'b0;
      cand_o.more       = 1'b0;
      cand_o.store      = frame6.store;
      cand_o.binary     = '{is: 1'b1, key: binary_key(frame6.opcode), opcode: frame6.opcode,
                            opaque: frame6.opaque};
      cand_o.noreply    = frame6.quiet;
      cand_o.cas_out    = 1'b1;
      cand_o.touch      = frame6.touch;
      cand_o.exptime_a  = !frame6.store;
      cand_o.vlen       = frame6.vlen;
      cand_o.a          = 42'(frame6.first);
      cand_o.b          = 42'(frame6.second);
    end
  end
  assign valid_o = valid_q[5];

endmodule
