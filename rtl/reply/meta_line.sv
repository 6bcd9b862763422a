// The line of a meta command's reply that shows something beside a status: " s100 Oabc kname ..." in the order
// of the request's flags. A character a clock, and 16 clocks for a number; results behind it wait meanwhile, and it
// for those before it. So the key that is there is its own. Of a key in base64 each fourth letter takes no byte.
`include "lib_assert.svh"

module meta_line
  import wirekv_pkg::*;
  import lib_pkg::*;
  import request_pkg::*;
  import reply_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  input  msec_t      now_i,
  /// Make the line of this result, which stands until it is taken; nothing before it waits for a key.
  input  logic       start_i,
  // verilator lint_off UNUSEDSIGNAL
  input  res_t       res_i,  // some of it
  // verilator lint_on UNUSEDSIGNAL
  /// Lines of keys, turned so that the first byte stands at lane KeyAt.
  input  logic       key_valid_i,
  output logic       key_pop_o,
  input  line_t      key_i,
  /// The line is made, or there is none, and only the key was dropped: so long it is.
  output logic       done_o,
  input  logic       taken_i,
  output logic [9:0] len_o,
  /// Its bytes: full lines but for the last.
  output logic       line_valid_o,
  input  logic       line_ready_i,
  output line_t      line_o
);

  typedef enum logic [4:0] {
    MlIdle,
    MlDrop,     // a key that nobody shows
    MlWord,     // some characters
    MlLoad,     // a number
    MlConvert,  // to digits
    MlTrim,     // without the zeros in front
    MlDigits,
    MlNext,     // the next flag
    MlOpaque,
    MlKey,
    MlEnd,
    MlFlush,
    MlDone = 5'd16  // a bit of its own: the results wait for it
  } state_e;

  // Which number it is: the sum, for its length; this, or a value's; a flag's; the sum, behind the line.
  typedef enum logic [1:0] {
    NoCount,
    NoLength,
    NoFlag,
    NoSum
  } which_e;

  localparam int unsigned WordMax = 6;

  state_e state_q, behind_q;
  which_e which_q;
  logic has_sum, hollow, put, put_q, last_key, last_digit, for_ever;
  logic [WordMax-1:0][7:0] word_q;  // first character at lane 0
  logic [2:0] word_left_q;
  show_e [Shows-1:0] show_q, shows_rest;  // what is still to show, the next at 0
  show_e show;
  double_dabble_t digits, number_q;
  logic [3:0] steps_q;
  logic [4:0] digits_q, count_q;  // left; of the sum
  logic thousands_q;              // the last three are not shown
  logic [7:0] at_q;               // character of the key or the opaque token
  logic [7:0] rest_q;             // bytes of the key from there on
  logic coded;                    // the key is shown in base64
  logic [1:0] letter_q;           // of four
  logic key_over, key_takes, key_goes, key_ends;
  logic [5:0] left_bits_q;        // of its byte before
  logic pads_q;                   // its last letter has been there
  logic [7:0] char, char_q, letter_or_char;
  // It stands for a letter of base64; for which of four, and with these bits of the byte before.
  logic letter_of, letter_of_q;
  logic [1:0] letter_of_four_q;
  logic [5:0] letter_bits_q;
  logic [9:0] len_q;
  line_t line_q;
  logic push_q;

  assign has_sum  = res_i.kind == RsNumber;
  // A value of no bytes, which is here: an item that was made by its get.
  assign hollow   = res_i.kind == RsReply && res_i.reply == RpFound && res_i.meta.value;
  assign show     = show_q[0];
  assign shows_rest = {ShNone, show_q[Shows-1:1]};
  assign for_ever = show == ShTime && res_i.expiry == '0;
  assign done_o   = state_q[4];
  assign len_o    = len_q;

  function automatic logic [15:0] status(input reply_e reply, input logic get);
    unique case (reply)
      RpNotStored: return "SN";
      RpExists:    return "XE";
      RpNotFound:  return get ? "NE" : "FN";
      default:     return "DH";
    endcase
  endfunction
  /// The line's end, and what is told of a get's item by itself, in front of it.
  function automatic logic [8*WordMax-1:0] end_word(input logic won, input logic stale,
                                                    input logic wins, input logic empty);
    unique case ({
      won, stale, wins
    })
      3'b001:  return empty ? "\n\x0d\n\x0dW " : 48'("\n\x0dW ");
      3'b011:  return "\n\x0dW X ";
      3'b100:  return 48'("\n\x0dZ ");
      3'b110:  return "\n\x0dX Z ";
      default: return 48'("\n\x0d");
    endcase
  endfunction
  function automatic logic [2:0] end_length(input logic won, input logic stale, input logic wins,
                                            input logic empty);
    unique case ({
      won, stale, wins
    })
      3'b000:  return 3'd2;
      3'b011, 3'b110: return 3'd6;
      default: return empty ? 3'd6 : 3'd4;
    endcase
  endfunction
  logic worded;  // an error has no flags
  assign worded = res_i.kind inside {RsValue, RsNumber} || (res_i.kind == RsReply &&
      res_i.reply inside {RpStored, RpDeleted, RpFound, RpNotStored, RpExists, RpNotFound});

  // ---------------------------------------------------------------- numbers
  logic [63:0] number;
  // Milliseconds to live, the last three of whose digits are left out. What was set to have expired
  // has less than no time, as 32 bits.
  msec_t left_q;
  logic over_q;
  always_ff @(posedge clk_i) begin
    left_q <= res_i.expiry + 48'd999 - now_i;
    over_q <= res_i.expiry <= now_i;
  end
  always_comb begin
    number = res_i.unique_no;
    unique case (which_q)
      NoCount, NoSum: number = res_i.num;
      NoLength:       number = has_sum ? 64'(count_q) : 64'(res_i.vlen);
      default:
      unique case (show)
        ShSize:  number = 64'(res_i.vlen);
        ShFlags: number = 64'(res_i.flags);
        ShTime:  number = over_q ? 64'd4294967295000 : 64'(left_q);
        default: ;
      endcase
    endcase
  end

  // ---------------------------------------------------------------- one after the other
  logic shown;
  logic [7:0] letter;
  always_comb begin
    shown  = res_i.shows;
    letter = "s";
    unique case (show)
      ShKey: begin
        shown  = 1'b1;
        letter = "k";
      end
      ShOpaque: begin
        shown  = 1'b1;
        letter = "O";
      end
      ShTime:   letter = "t";
      ShUnique: letter = "c";
      ShFlags:  letter = "f";
      default:  ;
    endcase
  end
  assign coded      = res_i.marks.coded;
  // In base64 there is a letter to come behind the last byte, and pads up to four.
  assign key_over   = rest_q == '0;
  assign key_takes  = state_q == MlKey && !(coded && (letter_q == '1 || key_over));
  assign key_goes   = state_q == MlKey && (key_valid_i || !key_takes);
  assign last_key   = rest_q == 8'd1;
  assign key_ends   = coded ? key_over && letter_q == '1 : last_key;
  assign last_digit = digits_q == (thousands_q ? 5'd4 : 5'd1);
  assign digits     = double_dabble(number_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= MlIdle;
    end else begin
      unique case (state_q)
        MlIdle: if (start_i) state_q <= worded ? MlWord : res_i.keyed ? MlDrop : MlDone;
        MlDrop: if (key_valid_i && 9'(at_q) + 9'd64 >= 9'(res_i.klen)) state_q <= MlDone;
        MlWord: if (word_left_q == 3'd1) state_q <= behind_q;
        MlLoad: state_q <= MlConvert;
        MlConvert: if (steps_q == '0) state_q <= MlTrim;
        MlTrim:
        if (number_q.bcd[79:76] != '0 || last_digit)
          state_q <= (which_q == NoCount) ? MlLoad : MlDigits;
        MlDigits: if (last_digit) state_q <= (which_q == NoSum) ? MlEnd : MlNext;
        MlNext:
        if (show == ShNone) state_q <= MlEnd;
        else if (shown) state_q <= MlWord;
        MlOpaque: if (at_q == 8'(res_i.opaque.len)) state_q <= MlNext;
        MlKey: if (key_goes && key_ends) state_q <= coded ? MlWord : MlNext;
        MlEnd: state_q <= MlWord;
        MlFlush: if (!put_q) state_q <= MlDone;
        default: if (taken_i) state_q <= MlIdle;
      endcase
    end

    unique case (state_q)
      MlIdle: begin
        show_q      <= res_i.meta.show;
        at_q        <= '0;
        which_q     <= has_sum ? NoCount : NoLength;
        word_q      <= 48'(status(res_i.reply, res_i.meta.get));
        word_left_q <= 3'd2;
        behind_q    <= MlNext;
        if (res_i.kind != RsReply || hollow) begin
          word_q      <= 48'(" AV");
          word_left_q <= 3'd3;
          behind_q    <= MlLoad;
        end
      end
      MlDrop: if (key_valid_i) at_q <= at_q + 8'd64;
      MlWord: begin
        word_q      <= word_q >> 8;
        word_left_q <= word_left_q - 3'd1;
        at_q        <= '0;
        rest_q      <= res_i.klen;
      end
      MlTrim:
      if (which_q == NoCount) begin
        count_q <= digits_q;
        if (number_q.bcd[79:76] != '0 || last_digit) which_q <= NoLength;
      end
      MlDigits: if (last_digit && which_q == NoFlag) show_q <= shows_rest;
      MlNext: begin
        which_q     <= NoFlag;
        word_q      <= for_ever ? 48'("1-t ") : {32'd0, letter, 8'h20};
        word_left_q <= for_ever ? 3'd4 : 3'd2;
        behind_q    <= for_ever ? MlNext : (show == ShKey) ? MlKey :
                       (show == ShOpaque) ? MlOpaque : MlLoad;
        if (!shown || for_ever) show_q <= shows_rest;
      end
      MlOpaque: begin
        at_q <= at_q + 8'd1;
        if (at_q == 8'(res_i.opaque.len)) show_q <= shows_rest;
      end
      MlKey:
      if (key_goes) begin
        if (key_takes) begin
          at_q   <= at_q + 8'd1;
          rest_q <= rest_q - 8'd1;
        end
        if (key_ends) show_q <= shows_rest;
        word_q      <= 48'("b ");
        word_left_q <= 3'd2;
        behind_q    <= MlNext;
      end
      MlEnd: begin
        which_q     <= NoSum;
        // Behind a sum there is nothing more to tell.
        word_q      <= end_word(res_i.marks.won, res_i.marks.stale, res_i.wins, hollow);
        word_left_q <= end_length(res_i.marks.won, res_i.marks.stale, res_i.wins, hollow);
        behind_q    <= (has_sum && which_q != NoSum) ? MlLoad : MlFlush;
      end
      default: ;
    endcase

    unique case (state_q)
      MlLoad: number_q <= '{bcd: '0, bin: number};
      MlConvert: begin
        number_q <= digits;
        steps_q  <= steps_q - 4'd1;
        digits_q <= 5'd20;
      end
      MlTrim:
      if (number_q.bcd[79:76] == '0 && !last_digit) begin
        number_q.bcd <= number_q.bcd << 4;
        digits_q     <= digits_q - 5'd1;
      end
      MlDigits: begin
        number_q.bcd <= number_q.bcd << 4;
        digits_q     <= digits_q - 5'd1;
      end
      default: ;
    endcase
    if (state_q != MlConvert) steps_q <= '1;
    thousands_q <= which_q == NoFlag && show == ShTime;
  end

  // ---------------------------------------------------------------- characters to lines
  logic [5:0] six;
  logic [7:0] key_byte;
  line_t key;  // turned back
  assign key       = {key_i[8*KeyAt-1:0], key_i[511:8*KeyAt]};
  assign key_byte  = key_over ? '0 : key[8*at_q[5:0]+:8];
  assign key_pop_o = key_valid_i && (state_q == MlDrop ||
                                     (key_takes && (at_q[5:0] == '1 || last_key)));
  // Behind a key's last byte there is a letter with its last bits, if any are left, then pads.
  always_ff @(posedge clk_i) begin
    if (state_q != MlKey) begin
      letter_q <= '0;
      pads_q   <= 1'b0;
    end else if (key_goes) begin
      letter_q    <= letter_q + 2'd1;
      pads_q      <= key_over && letter_q != '1;
      left_bits_q <= key_byte[5:0];
    end
  end
  always_comb begin
    put       = 1'b0;
    char      = word_q[0];
    letter_of = 1'b0;
    unique case (state_q)
      MlWord: put = 1'b1;
      MlDigits: begin
        put  = 1'b1;
        char = {4'h3, number_q.bcd[79:76]};
      end
      MlOpaque: begin
        put  = at_q != 8'(res_i.opaque.len);
        char = res_i.opaque.text[at_q[4:0]];
      end
      MlKey: begin
        put       = key_goes;
        char      = (coded && pads_q) ? "=" : key_byte;
        letter_of = coded && !pads_q;
      end
      default: ;
    endcase
  end

  // A character stands in a register before it has its place, for a letter of base64 the byte that it is of.
  function automatic logic [7:0] letter_64(input logic [5:0] n);
    unique case (n) inside
      [6'd0 : 6'd25]:  return "A" + 8'(n);
      [6'd26 : 6'd51]: return "a" - 8'd26 + 8'(n);
      [6'd52 : 6'd61]: return "0" - 8'd52 + 8'(n);
      6'd62:           return "+";
      6'd63:           return "/";
    endcase
  endfunction
  always_comb begin
    unique case (letter_of_four_q)
      2'd0: six = char_q[7:2];
      2'd1: six = {letter_bits_q[1:0], char_q[7:4]};
      2'd2: six = {letter_bits_q[3:0], char_q[7:6]};
      2'd3: six = letter_bits_q;
    endcase
  end
  assign letter_or_char = letter_of_q ? letter_64(six) : char_q;
  always_ff @(posedge clk_i) begin
    put_q            <= rst_ni && put;
    char_q           <= char;
    letter_of_q      <= letter_of;
    letter_of_four_q <= letter_q;
    letter_bits_q    <= left_bits_q;
    push_q <= rst_ni && ((put_q && len_q[5:0] == '1) ||
                         (state_q == MlFlush && !put_q && len_q[5:0] != '0));
    if (state_q == MlIdle) len_q <= '0;
    else if (put_q) len_q <= len_q + 10'd1;
    for (int unsigned i = 0; i < 64; i++)
    if (put_q && len_q[5:0] == 6'(i)) line_q[8*i+:8] <= letter_or_char;
  end

  // As many as the longest reply has.
  logic [3:0] unused_level;
  // verilator lint_off UNUSEDSIGNAL
  logic room;  // only the assertion looks at it
  // verilator lint_on UNUSEDSIGNAL
  lib_fifo #(
    .T    (line_t),
    .Depth(8),
    .Ultra(1)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(push_q),
    .s_ready_o(room),
    .s_data_i (line_q),
    .m_valid_o(line_valid_o),
    .m_ready_i(line_ready_i),
    .m_data_o (line_o),
    .level_o  (unused_level)
  );

  `ASSERT(Room, !push_q || room)

endmodule
