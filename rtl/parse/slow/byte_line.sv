// Reads a request line character by character: parts it into words, gathers keys and text for host software,
// and keeps what the words say. A binary request's header, extras and key are such a line, whose one word is
// the key; of Redis' protocol the arguments are words. Latency 1 from a character, initiation interval 1.
module byte_line
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// The clock's present second began then, in milliseconds.
  input  msec_t      second_i,
  /// A line begins here, for the first time, or goes on where the job before has left it (MdKeys, MdValue).
  input  logic       begin_i,
  input  logic       fresh_i,
  input  place_t     from_i,
  input  logic       old_i,
  input  ctx_t       ctx_i,
  /// It comes by the host's request port.
  input  logic       port_i,
  /// Redis: all of it is text for host software; it is read for the second time, see byte_resp, and as a meta
  /// command with its key in base64.
  input  logic       whole_i,
  input  logic       sure_i,
  input  logic [20:0] item_max_i,
  /// Its next character, and its place.
  input  logic       valid_i,
  input  letter_t    char_i,
  input  place_t     place_i,
  output logic       take_o,
  /// Redis: bytes of an argument are passed unread, see byte_resp.
  input  logic        jump_i,
  input  logic        jump_all_i,
  input  logic [13:0] jump_len_i,
  /// With a character: a word ends before it, of which the next clock takes note (word_i); else the line does.
  output logic       word_end_o,
  output logic       line_end_o,
  /// Redis: a value begins behind it, and more of the command behind that. Nothing that gates run, which is known
  /// with a character or with word_i. With word_i: so many replies follow. Arguments that are not complete; where it is.
  output logic       value_o,
  output logic       odd_o,
  /// With word_i, in a meta command: its key is base64.
  output logic       coded_o,
  output logic       array_o,
  output resp_count_t left_o,
  output resp_place_t resp_place_o,
  /// Redis: it has more than a stranger may send.
  output logic       large_o,
  input  logic       word_i,
  /// What the words say.
  output line_info_t line_o,
  /// Redis: what they say of the command's value, which is passed and counted.
  output logic [13:0] skip_o,
  output logic       pairs_o,
  output numbers_t   numbers_o,
  output logic       flags_o,
  output binary_t    binary_o,
  output resp_t      resp_o,
  output logic       reset_o,
  /// Where the line and the last word in it began; the last character was the line's end; one was a NUL, behind which
  /// nothing of the line counts.
  output place_t     line_pos_o,
  output place_t     word_pos_o,
  output logic       eol_o,
  output logic       nul_o,
  /// The word so far: it has characters, so many; it is a key, it has become too long for one.
  output logic       any_o,
  output logic [7:0] chars_o,
  output logic       is_key_o,
  output logic       too_long_o,
  /// Characters of the text for host software so far, at most 256. Not in Redis' protocol.
  output logic [8:0] text_o,
  /// What was gathered, key or text; it goes out now, since it is full.
  output logic       full_o,
  output line_t      data_o,
  output logic [6:0] len_o
);

  /// Spaces before the command of an overlong `get` line (memcached's try_read_command_ascii).
  localparam int unsigned IndentMax = 100;

  num_t num;
  logic [8:0] chars_q;  // at most 256
  logic any_q;          // not 0
  word_t spelled;
  logic is_host, delimits, word_char, word_begins, put, put_space, keeps, indented;
  logic
      binary,
      header_begin,
      header_key_begin,
      header_key,
      header_key_end,
      header_end,
      words_meta,
      words_key,
      words_flags;
  line_info_t words_line, header_line, text_line;
  numbers_t words_numbers, header_numbers, meta_numbers;
  logic header_flags, meta_flag, meta_flags, meta_quiet, meta_touch, meta_creates;
  meta_t meta;
  opaque_t opaque;
  op_e meta_op;
  reply_e meta_fault;
  logic [63:0] meta_unique_no, meta_chosen_no, meta_initial_no;
  logic eol_q;
  logic
      resp,
      framed,
      resp_put,
      resp_data,
      resp_word_end,
      resp_end,
      resp_any,
      resp_last,
      resp_key,
      resp_value,
      resp_odd;
  logic [7:0] resp_chars;
  line_info_t resp_line;
  numbers_t resp_numbers;
  logic decodes, coded_put, coded_good, coded_unfit, meta_coded;
  logic [7:0] coded_byte, coded_len;
  logic nul_q, resp_q, binary_q, text_q, sure_text_q;
  logic space_q;  // a space is to be put before more text

  assign nul_o      = nul_q && text_q;
  assign delimits   = char_i.eol || char_i.blank || char_i.nul;
  assign binary     = ctx_i.binary.is;
  assign resp       = ctx_i.resp.is;
  assign framed     = binary || resp;
  // Long before there is a character it is known what it is one of.
  always_ff @(posedge clk_i) begin
    resp_q      <= resp;
    binary_q    <= binary;
    text_q      <= !framed;
    sure_text_q <= sure_i && !framed;
  end
  assign word_char  = valid_i && !delimits && !nul_q && text_q;
  // What a word says is known late. So until the next one begins it stays, as all that is for host software does.
  assign word_begins = word_char && !any_q && !is_host;
  assign decodes    = sure_text_q && words_meta && words_key;
  assign coded_o    = meta_coded && !framed;
  assign chars_o    = resp ? resp_chars : decodes ? coded_len : chars_q[7:0];
  assign any_o      = resp ? resp_any : any_q;
  assign word_end_o = resp ? resp_word_end : binary ? header_key_end : valid_i && delimits && any_o;
  assign line_end_o = resp ? resp_end : binary ? header_end : valid_i && char_i.eol && !any_o;
  assign eol_o      = resp ? resp_last : eol_q;
  assign value_o    = resp && resp_value;
  assign odd_o      = resp && resp_odd;
  assign is_host    = line_o.cmd == CmdHost;
  assign put_space  = word_char && is_host && space_q;
  assign take_o     = valid_i && !put_space;
  // A key that is too long is none; of other words the beginning tells what they are.
  assign too_long_o = word_char && is_key_o && chars_q == 9'(KeyMax);
  assign keeps      = is_key_o ? !line_o.key_long && !line_o.bad && !too_long_o :
                                 is_host || !any_q || !len_o[6];
  // Host software gets the header, too.
  assign put        = resp_q ? resp_put : binary_q ? valid_i && (header_begin || header_key)
                                               : (decodes ? coded_put : word_char) && keeps;
  assign full_o     = put && len_o[6] && !word_begins;
  assign indented   = 14'(word_pos_o - line_pos_o) > 14'(IndentMax);

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      line_pos_o <= from_i;
      chars_q    <= '0;
      any_q      <= 1'b0;
      text_o     <= '0;
      space_q    <= 1'b0;
      nul_q      <= 1'b0;
    end
    if (valid_i) eol_q <= binary || char_i.eol;
    if (valid_i && char_i.nul) nul_q <= 1'b1;
    if (resp && valid_i && !any_o) word_pos_o <= place_i;
    if (word_char && !put_space) begin
      if (!any_o) word_pos_o <= place_i;
      any_q <= 1'b1;
      if (!chars_q[8]) chars_q <= chars_q + 9'd1;
    end
    if (put_space) space_q <= 1'b0;
    if (put && !text_o[8]) text_o <= text_o + 9'd1;
    if (word_i) begin
      chars_q <= '0;
      any_q   <= 1'b0;
      space_q <= 1'b1;
    end
  end

  byte_gather u_gather (
    .clk_i,
    .clear_i(begin_i || (binary && valid_i && header_key_begin && !is_host) ||
             (word_i && resp) || word_begins),
    .put_i  (put),
    .char_i (put_space ? " " : decodes ? coded_byte : char_i.code),
    .data_o,
    .len_o
  );

  byte_coded u_coded (
    .clk_i,
    .begin_i,
    .valid_i(valid_i && decodes && !nul_q),
    .char_i,
    .put_o  (coded_put),
    .byte_o (coded_byte),
    .len_o  (coded_len),
    .good_o (coded_good),
    .unfit_o(coded_unfit)
  );

  keyword u_keyword (
    .head_i(data_o[127:0]),
    .len_i (len_o),
    .word_o(spelled)
  );

  byte_number u_number (
    .clk_i,
    .clear_i(begin_i || word_i),
    .valid_i(resp ? resp_data : word_char && !(meta_flag && !any_o)),
    .char_i,
    .num_o  (num)
  );

  byte_words u_words (
    .clk_i,
    .begin_i,
    .old_i,
    .ctx_i,
    .word_i,
    .chars_i   (chars_o),
    .spelled_i (spelled),
    .num_i     (num),
    .indented_i(indented),
    .too_long_i(too_long_o),
    .line_o    (words_line),
    .numbers_o (words_numbers),
    .flags_o   (words_flags),
    .meta_o    (words_meta),
    .is_key_o  (words_key),
    .is_flag_o (meta_flag)
  );

  byte_meta u_meta (
    .clk_i,
    .second_i,
    .begin_i,
    .cmd_i       (words_line.cmd),
    .flag_i      (meta_flag),
    .valid_i     (word_char),
    .char_i      (char_i.code),
    .word_i,
    .chars_i     (chars_q),
    .num_i       (num),
    .coded_i     (sure_i && coded_good),
    .unfit_i     (coded_unfit),
    .coded_o     (meta_coded),
    .meta_o      (meta),
    .opaque_o    (opaque),
    .quiet_o     (meta_quiet),
    .touch_o     (meta_touch),
    .op_o        (meta_op),
    .numbers_o   (meta_numbers),
    .flags_o     (meta_flags),
    .unique_no_o (meta_unique_no),
    .chosen_no_o (meta_chosen_no),
    .initial_no_o(meta_initial_no),
    .creates_o   (meta_creates),
    .fault_o     (meta_fault)
  );
  always_comb begin
    text_line = words_line;
    if (words_meta) begin
      text_line.noreply     = meta_quiet;
      text_line.meta        = meta;
      text_line.opaque      = opaque;
      text_line.touch       = meta_touch;
      text_line.op          = meta_op;
      text_line.flags_fault = meta_fault;
      text_line.unique_no   = meta_unique_no;
      text_line.chosen_no   = meta_chosen_no;
      text_line.initial_no  = meta_initial_no;
      text_line.creates     = meta_creates;
    end
  end

  byte_header u_header (
    .clk_i,
    .begin_i,
    .old_i,
    .ctx_i,
    .port_i,
    .valid_i  (valid_i && binary),
    .byte_i   (char_i.code),
    .header_o (header_begin),
    .key_o    (header_key),
    .key_begin_o(header_key_begin),
    .key_end_o(header_key_end),
    .end_o    (header_end),
    .line_o   (header_line),
    .numbers_o(header_numbers),
    .flags_o  (header_flags),
    .binary_o
  );

  byte_resp u_resp (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .begin_i,
    .fresh_i,
    .old_i,
    .ctx_i,
    .whole_i,
    .sure_i,
    .valid_i   (valid_i && resp),
    .byte_i    (char_i.code),
    .word_i,
    .jump_i,
    .jump_all_i,
    .jump_len_i,
    .num_i     (num),
    .head_i    (data_o[127:0]),
    .len_i     (len_o),
    .put_o     (resp_put),
    .data_o    (resp_data),
    .word_end_o(resp_word_end),
    .end_o     (resp_end),
    .value_o   (resp_value),
    .odd_o     (resp_odd),
    .any_o     (resp_any),
    .last_o    (resp_last),
    .key_o     (resp_key),
    .array_o,
    .chars_o   (resp_chars),
    .left_o,
    .line_o    (resp_line),
    .numbers_o (resp_numbers),
    .resp_o,
    .place_o   (resp_place_o),
    .reset_o,
    .large_o
  );

  assign line_o    = resp ? resp_line : binary ? header_line : text_line;
  assign skip_o    = resp_line.length[13:0];
  assign pairs_o   = resp_line.pairs;
  // In text and binary a number is there two clocks before its record; how many replies follow is not.
  numbers_t numbers_q;
  always_ff @(posedge clk_i) begin
    numbers_q <= words_numbers;
    if (words_meta) numbers_q <= meta_numbers;
    if (binary) numbers_q <= header_numbers;
  end
  assign numbers_o = resp ? resp_numbers : numbers_q;
  assign flags_o   = !resp && (binary ? header_flags : words_meta ? meta_flags :
                                                                                 words_flags);
  assign is_key_o  = resp ? resp_key : binary ? !is_host : words_key;

endmodule
