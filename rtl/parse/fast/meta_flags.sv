// Reads the flags of meta commands in which nothing is odd: letters that the command has a use for, each once and with one
// blank in front, of which some have a number of up to nine digits behind them, or an opaque token. Of all others it says
// that they are not good; the slow path reads those. Lines in order, a flag a clock; latency 8, and a clock a flag.
`include "lib_assert.svh"

module meta_flags
  import lib_pkg::*;
  import wirekv_pkg::*;
  import request_pkg::*;
  import parse_pkg::*;
#(
  /// Lines that may wait.
  parameter int unsigned Depth = 32
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// A line; no back-pressure, but so many wait.
  input  logic        s_valid_i,
  input  flag_words_t s_words_i,
  output logic [$clog2(Depth+1)-1:0] level_o,
  /// What its flags say.
  output logic        m_valid_o,
  input  logic        m_ready_i,
  output flags_t      m_flags_o
);

  // ---------------------------------------------------------------- lines that wait
  typedef struct packed {
    logic [63:0] ends;
    logic [5:0]  blank;
    op_e         op;
  } line_words_t;
  line_words_t words_in, words;
  logic words_valid, words_take, data_pop;
  logic [1:0] unused_room;
  logic unused_data_valid;
  logic [$clog2(Depth+1)-1:0] unused_level;
  // verilator lint_off UNUSEDSIGNAL
  line_t data;  // no word begins at lane 0
  // verilator lint_on UNUSEDSIGNAL
  assign words_in = '{ends: s_words_i.ends, blank: s_words_i.blank, op: s_words_i.op};
  lib_fifo #(
    .T    (line_words_t),
    .Depth(Depth),
    .Ultra(1)
  ) u_words (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i),
    .s_ready_o(unused_room[0]),
    .s_data_i (words_in),
    .m_valid_o(words_valid),
    .m_ready_i(words_take),
    .m_data_o (words),
    .level_o  (unused_level)
  );
  lib_fifo #(
    .T    (line_t),
    .Depth(Depth),
    .Ultra(1)
  ) u_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i),
    .s_ready_o(unused_room[1]),
    .s_data_i (s_words_i.data),
    .m_valid_o(unused_data_valid),
    .m_ready_i(data_pop),
    .m_data_o (data),
    .level_o  (level_o)
  );

  // ---------------------------------------------------------------- split: a word a clock
  logic line_q, fresh_q, room_q, last_word;
  logic [63:0] ends_q, others;  // where words end that are still to be read
  logic [5:0] blank_q, end_lane;  // in front of the next one; behind it
  op_e op_q;
  assign others     = ends_q & (ends_q - 64'd1);
  assign last_word  = others == '0;
  assign end_lane   = lane_of(lowest(ends_q));
  assign words_take = words_valid && room_q && (!line_q || last_word);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) line_q <= 1'b0;
    else if (!line_q || last_word) line_q <= words_take;
    fresh_q <= words_take;
    if (words_take) begin
      ends_q  <= words.ends;
      blank_q <= words.blank;
      op_q    <= words.op;
    end else begin
      ends_q  <= others;
      blank_q <= end_lane;
    end
  end

  // ---------------------------------------------------------------- align: the word at lane 0
  typedef struct packed {
    logic first;  // of its line
    logic last;
    op_e  op;
  } turn_t;
  localparam int unsigned WordMax = OpaqueMax + 1;
  typedef logic [WordMax-1:0][7:0] word_t;
  logic [3:1] valid_q;
  turn_t turn1_q, turn2_q, turn3_q;
  logic [5:0] blank1_q, end1_q, len2_q;
  word_t word2, word2_q;
  always_comb begin
    logic [63+48:0][7:0] all;
    logic [WordMax+14:0][7:0] by16;
    logic [WordMax+2:0][7:0] by4;
    all  = (112 * 8)'(data[511:8]);  // from behind the blank on
    by16 = all[16*blank1_q[5:4]+:WordMax+15];
    by4  = by16[4*blank1_q[3:2]+:WordMax+3];
    word2 = by4[blank1_q[1:0]+:WordMax];
  end
  assign data_pop = valid_q[1] && turn1_q.last;
  always_ff @(posedge clk_i) begin
    valid_q  <= rst_ni ? {valid_q[2:1], line_q} : '0;
    turn1_q  <= '{first: fresh_q, last: last_word, op: op_q};
    blank1_q <= blank_q;
    end1_q   <= end_lane;
    turn2_q  <= turn1_q;
    turn3_q  <= turn2_q;
    if (valid_q[1]) begin
      word2_q <= word2;
      len2_q  <= end1_q - blank1_q - 6'd1;
    end
  end

  // ---------------------------------------------------------------- know: what it is
  typedef struct packed {
    logic key, token, size, left, unique_no, client;  // shown
    logic value, quiet, keep, seconds, stale, flags, delta, mode;
  } letter_t;
  localparam int unsigned Digits = 9;
  letter_t letter2, letter3_q;
  logic get, set, delete, sum, good2, good3_q, decr3_q;
  logic [4:0] token_len3_q;
  logic [OpaqueMax-1:0][7:0] token3_q;
  logic [Digits-1:0][3:0] digits2;
  logic [3:0] high3_q;
  logic [13:0] mid3_q, low3_q;
  assign get    = turn2_q.op == OpGet;
  assign set    = turn2_q.op == OpSet;
  assign delete = turn2_q.op == OpDelete;
  assign sum    = turn2_q.op == OpIncr;
  always_comb begin
    logic number_ok, token_ok, alone;
    letter2 = '0;
    unique case (word2_q[0])
      "k":     letter2.key = 1'b1;
      "O":     letter2.token = 1'b1;
      "s":     letter2.size = get || set;
      "t":     letter2.left = get || sum;
      "c":     letter2.unique_no = !delete;
      "f":     letter2.client = get;
      "v":     letter2.value = get || sum;
      "q":     letter2.quiet = 1'b1;
      "u":     letter2.keep = get;
      "T":     letter2.seconds = 1'b1;
      "I":     letter2.stale = set || delete;
      "F":     letter2.flags = set;
      "D":     letter2.delta = sum;
      "M":     letter2.mode = sum;
      default: ;
    endcase

    // The last digit is the lowest one.
    for (int unsigned d = 0; d < Digits; d++) begin
      digits2[d] = '0;
      for (int unsigned n = d + 1; n <= Digits; n++)
      if (len2_q[3:0] == 4'(n + 1)) digits2[d] = word2_q[n-d][3:0];
    end
    number_ok = len2_q inside {[6'd2 : 6'(Digits + 1)]};
    for (int unsigned i = 1; i <= Digits; i++) number_ok &= is_digit(word2_q[i]) || 6'(i) >= len2_q;
    token_ok = len2_q <= 6'(WordMax);
    for (int unsigned i = 1; i < WordMax; i++)
    token_ok &= word2_q[i] inside {[8'h21 : 8'h7e]} || 6'(i) >= len2_q;
    alone = len2_q == 6'd1;
    good2 = letter2.token ? token_ok && len2_q != '0 :
        (letter2.seconds || letter2.flags || letter2.delta) ? number_ok :
        letter2.mode ? len2_q == 6'd2 && word2_q[1] inside {"I", "D", "+", "-"} :
        alone && letter2 != '0;
  end
  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      letter3_q    <= letter2;
      good3_q      <= good2;
      decr3_q      <= word2_q[1] inside {"D", "-"};
      token_len3_q <= 5'(len2_q - 6'd1);
      token3_q     <= word2_q[WordMax-1:1];
      high3_q      <= digits2[8];
      mid3_q       <= four(digits2[7:4]);
      low3_q       <= four(digits2[3:0]);
    end
  end

  // ---------------------------------------------------------------- gather: all of a line
  localparam int unsigned ShowsW = $clog2(Shows + 1);
  letter_t seen_q, seen3;
  logic [ShowsW-1:0] count_q, count3;
  flags_t flags_q, flags3;
  show_e show3;
  logic [31:0] number3;
  logic done_q;
  assign number3 = 32'(high3_q) * 32'd100000000 + (32'(mid3_q) * 32'd10000 + 32'(low3_q));
  always_comb begin
    seen3  = seen_q;
    count3 = count_q;
    flags3 = flags_q;
    if (turn3_q.first) begin
      seen3         = '0;
      count3        = '0;
      flags3.good   = 1'b1;
      flags3.show   = '0;
      flags3.number = 32'(turn3_q.op == OpIncr);
      flags3.decr   = 1'b0;
      flags3.retimed = 1'b0;
      flags3.seconds = '0;
    end
    show3 = ShNone;
    if (letter3_q.key) show3 = ShKey;
    if (letter3_q.token) show3 = ShOpaque;
    if (letter3_q.size) show3 = ShSize;
    if (letter3_q.left) show3 = ShTime;
    if (letter3_q.unique_no) show3 = ShUnique;
    if (letter3_q.client) show3 = ShFlags;
    if (!good3_q || (seen3 & letter3_q) != '0) flags3.good = 1'b0;
    for (int unsigned i = 0; i < Shows; i++) if (count3 == ShowsW'(i)) flags3.show[i] = show3;
    if (show3 != ShNone && count3 != ShowsW'(Shows)) count3 = count3 + 1'b1;
    if (letter3_q.left) flags3.retimed = seen3.seconds;
    if (letter3_q.flags || letter3_q.delta) flags3.number = number3;
    if (letter3_q.seconds) flags3.seconds = number3;
    if (letter3_q.mode) flags3.decr = decr3_q;
    if (letter3_q.token) flags3.opaque = '{len: token_len3_q, text: token3_q};
    seen3 = seen3 | letter3_q;
    flags3.quiet = seen3.quiet;
    flags3.value = seen3.value;
    flags3.timed = seen3.seconds;
    flags3.plain = !seen3.seconds && !seen3.left;
    flags3.stale = seen3.stale;
  end
  always_ff @(posedge clk_i) begin
    done_q <= rst_ni && valid_q[3] && turn3_q.last;
    if (valid_q[3]) begin
      seen_q  <= seen3;
      count_q <= count3;
      flags_q <= flags3;
    end
  end

  // So many lines may be on their way here, and one begin.
  localparam int unsigned OnTheWay = 8;
  localparam int unsigned Results = 16;
  logic unused_out_room;
  logic [$clog2(Results+1)-1:0] out_level;
  always_ff @(posedge clk_i) room_q <= rst_ni && 32'(out_level) <= Results - OnTheWay;
  lib_fifo #(
    .T    (flags_t),
    .Depth(Results),
    .Ultra(1)
  ) u_flags (
    .clk_i,
    .rst_ni,
    .s_valid_i(done_q),
    .s_ready_o(unused_out_room),
    .s_data_i (flags_q),
    .m_valid_o(m_valid_o),
    .m_ready_i(m_ready_i),
    .m_data_o (m_flags_o),
    .level_o  (out_level)
  );

  `ASSERT(RoomForLines, !s_valid_i || &unused_room)
  `ASSERT(DataThere, !valid_q[1] || unused_data_valid)
  `ASSERT(RoomForFlags, !done_q || unused_out_room)

endmodule
