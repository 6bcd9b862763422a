// The lines of meta commands' replies that show something beside a status: " s100 Oabc kname ..." in the order of the
// request's flags. A piece of a line a clock, and two more a line: its status, and what ends it; of a key of more than 62
// bytes a line of it a clock, in base64 a letter a clock. It takes a key when those before it have been taken, so that the
// one that is there is its own. Latency 16 from a result to its line.
//
// Numbers go through value_line's converter, and what else a line has beside them (`desc_t`) in step with it. A piece that
// ends in another of the 64-byte lines than it begins in takes a clock more.
`include "lib_assert.svh"

module meta_line
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import reply_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  input  msec_t     now_i,
  /// Make the line of this result, or there is none, and only its key is dropped.
  input  logic      valid_i,
  output logic      ready_o,
  input  res_t      res_i,  // some of it
  input  logic      drop_i,
  /// Its key comes behind so many lines of others' keys; so many have been taken.
  input  key_turn_t turn_i,
  input  key_turn_t taken_i,
  /// A number, and 7 clocks later its digits, without zeros in front.
  output logic             number_valid_o,
  output logic [63:0]      number_o,
  input  logic [19:0][3:0] digit_i,
  input  logic [19:0]      shown_i,
  input  logic [4:0]       count_i,
  /// Lines of keys, turned so that the first byte stands at lane KeyAt.
  input  logic      key_valid_i,
  output logic      key_pop_o,
  /// A pulse: a key was dropped.
  output logic      dropped_o,
  input  line_t     key_i,
  /// A line is made, and so long.
  output logic      len_valid_o,
  input  logic      len_ready_i,
  output logic [9:0] len_o,
  /// Its bytes: full lines but for the last.
  output logic      line_valid_o,
  input  logic      line_ready_i,
  output line_t     line_o
);

  // ---------------------------------------------------------------- what is asked for
  typedef enum logic [3:0] {
    WdDone,
    WdNotStored,
    WdExists,
    WdMissing,
    WdNotFound,
    WdForEver,
    WdEnd,        // the line's end, and what is told of a get's item by itself, in front of it
    WdEndWon,
    WdEndWonStale,
    WdEndStaleWins,
    WdEndWins,
    WdEndMade,    // likewise, of an item without a value
    WdCoded
  } word_e;
  localparam int unsigned WordMax = 6;
  typedef logic [WordMax-1:0][7:0] chars_t;  // first character at lane 0
  function automatic chars_t chars(input word_e word);
    unique case (word)
      WdNotStored:    return 48'("SN");
      WdExists:       return 48'("XE");
      WdMissing:      return 48'("NE");
      WdNotFound:     return 48'("FN");
      WdForEver:      return 48'("1-t ");
      WdEnd:          return 48'("\n\x0d");
      WdEndWon:       return 48'("\n\x0dZ ");
      WdEndWonStale:  return "\n\x0dX Z ";
      WdEndStaleWins: return "\n\x0dW X ";
      WdEndWins:      return 48'("\n\x0dW ");
      WdEndMade:      return "\n\x0d\n\x0dW ";
      WdCoded:        return 48'("b ");
      default:        return 48'("DH");
    endcase
  endfunction
  function automatic logic [2:0] chars_length(input word_e word);
    unique case (word)
      WdForEver, WdEndWon, WdEndWins:           return 3'd4;
      WdEndWonStale, WdEndStaleWins, WdEndMade: return 3'd6;
      default:                                  return 3'd2;
    endcase
  endfunction

  // For its pieces, and for those who make lines of them.
  typedef struct packed {
    logic              drop;
    logic              counts;    // a number
    logic              valued;    // VA
    word_e             status;
    word_e             ending;
    show_e [Shows-1:0] show;      // what is still to show, the next at 0
    logic              shows;     // more than key and opaque token
    logic              for_ever;
    msec_t             left;      // milliseconds to live; the last three digits are not told
    logic [20:0]       vlen;
    logic [31:0]       flags;
    logic [63:0]       unique_no;
    logic [63:0]       num;
  } head_t;
  typedef struct packed {
    logic       coded;  // the key is shown in base64
    logic [7:0] klen;
    key_turn_t  turn;
    opaque_t    opaque;
  } part_t;

  // What was set to have expired has less than no time, as 32 bits.
  localparam msec_t Over = 48'd4294967295000;
  localparam int unsigned Results = 8;
  head_t head_in_q, head_in, head;
  part_t part_in_q, part;
  logic in_q, over_q, ready_q, hollow, head_valid, head_pop, part_pop;
  msec_t now_q, now_less_q;
  logic [3:0] level, unused_level;
  // Some clocks are between this and the queue.
  logic [1:0] unused_ready;
  logic unused_part_valid;
  assign ready_o = ready_q;
  // A value of no bytes, which is here: an item that was made by its get.
  assign hollow = res_i.kind == RsReply && res_i.reply == RpFound && res_i.meta.value;
  always_ff @(posedge clk_i) begin
    in_q       <= rst_ni && valid_i && ready_q;
    ready_q    <= rst_ni && level <= 4'(Results - 3);
    now_q      <= now_i;
    now_less_q <= now_i - 48'd999;
    over_q     <= res_i.expiry <= now_q;

    head_in_q.drop   <= drop_i;
    head_in_q.counts    <= res_i.kind == RsNumber;
    head_in_q.valued <= res_i.kind != RsReply || hollow;
    unique case (res_i.reply)
      RpNotStored: head_in_q.status <= WdNotStored;
      RpExists:    head_in_q.status <= WdExists;
      RpNotFound:  head_in_q.status <= res_i.meta.get ? WdMissing : WdNotFound;
      default:     head_in_q.status <= WdDone;
    endcase
    unique case ({
      res_i.marks.won, res_i.marks.stale, res_i.wins
    })
      3'b001:  head_in_q.ending <= hollow ? WdEndMade : WdEndWins;
      3'b011:  head_in_q.ending <= WdEndStaleWins;
      3'b100:  head_in_q.ending <= WdEndWon;
      3'b110:  head_in_q.ending <= WdEndWonStale;
      default: head_in_q.ending <= WdEnd;
    endcase
    head_in_q.show      <= res_i.meta.show;
    head_in_q.shows     <= res_i.shows;
    head_in_q.for_ever  <= res_i.expiry == '0;
    head_in_q.left      <= res_i.expiry - now_less_q;
    head_in_q.vlen      <= res_i.vlen;
    head_in_q.flags     <= res_i.flags;
    head_in_q.unique_no <= res_i.unique_no;
    head_in_q.num       <= res_i.num;
    part_in_q <= '{
        coded: res_i.marks.coded,
        klen: res_i.klen,
        turn: turn_i,
        opaque: res_i.opaque
    };
  end
  always_comb begin
    head_in = head_in_q;
    if (over_q) head_in.left = Over;
  end
  lib_fifo #(
    .T    (head_t),
    .Depth(Results)
  ) u_heads (
    .clk_i,
    .rst_ni,
    .s_valid_i(in_q),
    .s_ready_o(unused_ready[0]),
    .s_data_i (head_in),
    .m_valid_o(head_valid),
    .m_ready_i(head_pop),
    .m_data_o (head),
    .level_o  (unused_level)
  );
  lib_fifo #(
    .T    (part_t),
    .Depth(Results)
  ) u_parts (
    .clk_i,
    .rst_ni,
    .s_valid_i(in_q),
    .s_ready_o(unused_ready[1]),
    .s_data_i (part_in_q),
    .m_valid_o(unused_part_valid),
    .m_ready_i(part_pop),
    .m_data_o (part),
    .level_o  (level)
  );

  // ---------------------------------------------------------------- one piece after the other
  typedef enum logic [2:0] {
    PcWord,
    PcNumber,
    PcCount,   // of a number its digits' number
    PcOpaque,
    PcKey,
    PcDrop
  } piece_e;
  typedef enum logic [1:0] {
    FrNothing,
    FrLetter,  // a blank and that
    FrValue    // VA and that, which is a blank
  } front_e;
  typedef struct packed {
    piece_e     kind;
    word_e      word;
    front_e     front;
    logic [7:0] letter;
    logic       thousands;
    logic       last;
  } desc_t;

  typedef enum logic [1:0] {
    SqStatus,
    SqShow,
    SqSum,
    SqTail
  } seq_e;
  seq_e seq_q;
  show_e [Shows-1:0] show_q;
  show_e show;
  logic step, puts, credit, is_number;
  desc_t desc;
  logic [63:0] number;
  assign show     = show_q[0];
  assign step     = head_valid && credit;
  assign head_pop = step && puts && desc.last;
  always_comb begin
    puts      = 1'b1;
    desc      = '{kind: PcWord, word: head.status, front: FrNothing, letter: "s", default: '0};
    is_number = 1'b0;
    number    = 64'(head.vlen);
    unique case (seq_q)
      SqStatus:
      if (head.drop) begin
        desc.kind = PcDrop;
        desc.last = 1'b1;
      end else if (head.valued) begin
        is_number  = 1'b1;
        desc.kind  = head.counts ? PcCount : PcNumber;
        desc.front = FrValue;
        desc.letter = " ";
        if (head.counts) number = head.num;
      end
      SqShow: begin
        puts       = head.shows || show inside {ShKey, ShOpaque, ShNone};
        desc.front = FrLetter;
        desc.kind  = PcNumber;
        is_number  = puts;
        unique case (show)
          ShKey: begin
            is_number   = 1'b0;
            desc.kind   = PcKey;
            desc.letter = "k";
          end
          ShOpaque: begin
            is_number   = 1'b0;
            desc.kind   = PcOpaque;
            desc.letter = "O";
          end
          ShTime: begin
            number         = 64'(head.left);
            desc.letter    = "t";
            desc.thousands = 1'b1;
            if (head.for_ever) begin
              is_number = 1'b0;
              desc.kind = PcWord;
              desc.word = WdForEver;
            end
          end
          ShUnique: begin
            number      = head.unique_no;
            desc.letter = "c";
          end
          ShFlags: begin
            number      = 64'(head.flags);
            desc.letter = "f";
          end
          ShNone: begin
            is_number = 1'b0;
            desc.kind = PcWord;
            desc.word = head.ending;
            desc.last = !head.counts;
          end
          default: ;
        endcase
      end
      SqSum: begin
        is_number = 1'b1;
        desc.kind = PcNumber;
        number    = head.num;
      end
      SqTail: begin
        desc.word = WdEnd;
        desc.last = 1'b1;
      end
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seq_q <= SqStatus;
    end else if (step) begin
      unique case (seq_q)
        SqStatus: if (!head.drop) seq_q <= SqShow;
        SqShow:   if (show == ShNone) seq_q <= head.counts ? SqSum : SqStatus;
        SqSum:    seq_q <= SqTail;
        default:  seq_q <= SqStatus;
      endcase
    end
    if (step) show_q <= (seq_q == SqStatus) ? head.show : {ShNone, show_q[Shows-1:1]};
  end

  // ---------------------------------------------------------------- numbers
  localparam int unsigned Digits = 20;
  localparam int unsigned Stages = 7;
  typedef struct packed {
    desc_t                  desc;
    logic [Digits-1:0][3:0] digit;
    logic [Digits-1:0]      shown;
    logic [4:0]             count;
  } piece_t;
  always_ff @(posedge clk_i) begin
    number_valid_o <= rst_ni && step && is_number;
    if (step && is_number) number_o <= number;
  end
  logic [Stages:0] there_q;
  desc_t [Stages:0] desc_q;
  always_ff @(posedge clk_i) begin
    there_q <= rst_ni ? {there_q[Stages-1:0], step && puts} : '0;
    desc_q  <= {desc_q[Stages-1:0], desc};
  end

  // Of the digits of a time the last three are not shown, of a sum's their number is.
  piece_t piece_in, piece;
  always_comb begin
    piece_in.desc  = desc_q[Stages];
    piece_in.digit = digit_i;
    piece_in.shown = shown_i;
    piece_in.count = count_i;
    if (piece_in.desc.thousands) begin
      piece_in.digit = (4 * Digits)'(digit_i[Digits-1:3]);
      piece_in.shown = {3'b0, shown_i[Digits-1:4], 1'b1};
      piece_in.count = (count_i > 5'd3) ? count_i - 5'd3 : 5'd1;
    end
    if (piece_in.desc.kind == PcCount) begin
      piece_in.digit[0] = (count_i >= 5'd20) ? 4'(count_i - 5'd20) :
          (count_i >= 5'd10) ? 4'(count_i - 5'd10) : count_i[3:0];
      piece_in.digit[1] = (count_i >= 5'd20) ? 4'd2 : 4'd1;
      piece_in.shown    = (count_i >= 5'd10) ? Digits'(3) : Digits'(1);
      piece_in.count    = (count_i >= 5'd10) ? 5'd2 : 5'd1;
    end
  end
  localparam int unsigned Pieces = 16;
  logic piece_valid, piece_pop;
  logic unused_piece_ready;
  logic [4:0] unused_pieces;
  lib_credit #(
    .Depth(Pieces)
  ) u_credit (
    .clk_i,
    .rst_ni,
    .take_i(step && puts),
    .give_i(piece_pop),
    .ok_o  (credit),
    // verilator lint_off PINCONNECTEMPTY
    .left_o()
    // verilator lint_on PINCONNECTEMPTY
  );
  lib_fifo #(
    .T    (piece_t),
    .Depth(Pieces)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(there_q[Stages]),
    .s_ready_o(unused_piece_ready),
    .s_data_i (piece_in),
    .m_valid_o(piece_valid),
    .m_ready_i(piece_pop),
    .m_data_o (piece),
    .level_o  (unused_pieces)
  );

  // ---------------------------------------------------------------- lay: a piece's bytes in lanes of their own
  // Numbers and letters in front end at KeyAt, keys, opaque tokens and words begin there. With a letter in front 62 bytes
  // of a key fit.
  localparam int unsigned FrontLen = 2;
  typedef enum logic [1:0] {
    LaPiece,
    LaKey,      // lines of a key
    LaLetters,  // of base64
    LaCoded     // says that they are
  } lay_e;
  lay_e lay_q;
  logic splits_q;  // the second part of a piece is written
  logic go, lays, fresh_q, room_q, mine, short_key, key_over, key_takes, key_ends, last_line;
  logic [7:0] at_q, left_q;  // character of the key; its bytes from there on
  logic [1:0] letter_q;      // of four
  logic [5:0] left_bits_q;   // of its byte before
  logic pads_q;              // its last letter has been there
  logic [7:0] key_byte;
  word_e word;
  line_t key;                // turned back
  assign mine      = key_valid_i && taken_i == part.turn;
  assign short_key = !part.coded && part.klen <= 8'(64 - FrontLen);
  assign key       = {key_i[8*KeyAt-1:0], key_i[511:8*KeyAt]};
  assign key_byte  = key_over ? '0 : key[8*at_q[5:0]+:8];
  // In base64 there is a letter to come behind the last byte, and pads up to four.
  assign key_over  = left_q == '0;
  assign key_takes = letter_q != '1 && !key_over;
  assign key_ends  = key_over && letter_q == '1;
  assign last_line = left_q <= 8'd64;
  assign word      = (lay_q == LaCoded) ? WdCoded : piece.desc.word;
  always_comb begin
    go        = piece_valid && (!fresh_q || room_q);
    lays      = 1'b1;
    piece_pop = 1'b0;
    key_pop_o = 1'b0;
    unique case (lay_q)
      LaPiece: begin
        if (piece.desc.kind == PcKey && short_key) go &= mine;
        go &= !splits_q;
        lays      = piece.desc.kind != PcDrop;
        piece_pop = go && !(piece.desc.kind == PcDrop || (piece.desc.kind == PcKey && !short_key));
        key_pop_o = go && piece.desc.kind == PcKey && short_key;
      end
      LaKey: begin
        go        = mine && !splits_q;
        lays      = piece.desc.kind != PcDrop;
        piece_pop = go && last_line;
        key_pop_o = go;
      end
      LaLetters: begin
        go        = (mine || !key_takes) && !splits_q;
        key_pop_o = go && key_takes && (at_q[5:0] == '1 || left_q == 8'd1);
      end
      LaCoded: begin
        go        = !splits_q;
        piece_pop = go;
      end
    endcase
  end
  assign part_pop  = piece_pop && piece.desc.last;
  assign dropped_o = piece_pop && piece.desc.kind == PcDrop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      lay_q   <= LaPiece;
      fresh_q <= 1'b1;
    end else if (go) begin
      unique case (lay_q)
        LaPiece:
        if (!piece_pop) lay_q <= (part.coded && piece.desc.kind == PcKey) ? LaLetters : LaKey;
        LaKey:     if (last_line) lay_q <= LaPiece;
        LaLetters: if (key_ends) lay_q <= LaCoded;
        LaCoded:   lay_q <= LaPiece;
      endcase
      fresh_q <= part_pop;
    end
    unique case (lay_q)
      LaPiece: begin
        left_q <= part.klen;
        at_q   <= '0;
      end
      LaKey: if (go) left_q <= left_q - 8'd64;
      LaLetters:
      if (go && key_takes) begin
        left_q <= left_q - 8'd1;
        at_q   <= at_q + 8'd1;
      end
      default: ;
    endcase
    // Behind a key's last byte there is a letter with its last bits, if any are left, then pads.
    if (lay_q != LaLetters) begin
      letter_q <= '0;
      pads_q   <= 1'b0;
    end else if (go) begin
      letter_q    <= letter_q + 2'd1;
      pads_q      <= key_over && letter_q != '1;
      left_bits_q <= key_byte[5:0];
    end
  end

  // A number is shown from its first digit on, and its front stands before that.
  logic [Digits+2:0] digits_end, digits_end1;
  logic [KeyAt-1:0][7:0] number_text;
  logic [63:0][7:0] text;
  logic [5:0] start;
  logic [6:0] len;
  assign digits_end  = {2'b0, piece.shown, 1'b1} & ~{3'b0, piece.shown};
  assign digits_end1 = digits_end << 1;
  always_comb begin
    number_text = '0;
    for (int unsigned i = 0; i < Digits + 3; i++) begin
      number_text[KeyAt-1-i] = digits_end[i] ? piece.desc.letter :
          !digits_end1[i] ? "V" : (piece.desc.front == FrValue) ? "A" : " ";
      if (i < Digits && piece.shown[i%Digits])
        number_text[KeyAt-1-i] = {4'h3, piece.digit[i%Digits]};
    end

    text = key_i;
    if (lay_q != LaKey) begin
      if (piece.desc.kind inside {PcNumber, PcCount}) begin
        text[KeyAt-1:0] = number_text;
      end else begin
        text[KeyAt-1] = piece.desc.letter;
        text[KeyAt-2] = " ";
      end
      if (piece.desc.kind == PcOpaque) text[KeyAt+:OpaqueMax] = part.opaque.text;
    end
    if (lay_q == LaCoded || piece.desc.kind == PcWord) text[KeyAt+:WordMax] = chars(word);
    if (lay_q == LaLetters) text[KeyAt] = pads_q ? "=" : key_byte;

    start = 6'(KeyAt);
    len   = (left_q > 8'd64) ? 7'd64 : left_q[6:0];
    unique case (lay_q)
      LaPiece:
      unique case (piece.desc.kind)
        PcNumber, PcCount: begin
          len   = 7'(piece.count) + ((piece.desc.front == FrValue) ? 7'd3 :
                                    (piece.desc.front == FrLetter) ? 7'd2 : 7'd0);
          start = 6'(KeyAt) - len[5:0];
        end
        PcOpaque: begin
          len   = 7'(part.opaque.len) + 7'(FrontLen);
          start = 6'(KeyAt - FrontLen);
        end
        PcKey: begin
          len   = short_key ? 7'(part.klen) + 7'(FrontLen) : 7'(FrontLen);
          start = 6'(KeyAt - FrontLen);
        end
        default: len = 7'(chars_length(piece.desc.word));
      endcase
      LaKey:     ;
      LaLetters: len = 7'd1;
      LaCoded:   len = 7'(chars_length(WdCoded));
    endcase
  end

  // A letter of base64 is made of the byte that stands in its place, and bits of the one before.
  logic laid_q, last_q, letter_of_q;
  logic [1:0] letter_of_four_q;
  logic [5:0] letter_bits_q, start_q;
  logic [6:0] len_q;
  logic [63:0][7:0] text_q, text_of;
  always_ff @(posedge clk_i) begin
    laid_q <= rst_ni && (splits_q ? laid_q : go && lays);
    if (go) begin
      text_q           <= text;
      start_q          <= start;
      len_q            <= len;
      last_q           <= piece.desc.last;
      letter_of_q      <= lay_q == LaLetters && !pads_q;
      letter_of_four_q <= letter_q;
      letter_bits_q    <= left_bits_q;
    end
  end
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
    logic [5:0] six;
    unique case (letter_of_four_q)
      2'd0: six = text_q[KeyAt][7:2];
      2'd1: six = {letter_bits_q[1:0], text_q[KeyAt][7:4]};
      2'd2: six = {letter_bits_q[3:0], text_q[KeyAt][7:6]};
      2'd3: six = letter_bits_q;
    endcase
    text_of = text_q;
    if (letter_of_q) text_of[KeyAt] = letter_64(six);
  end

  // ---------------------------------------------------------------- turn: to their lanes of the lines
  // What is written behind a piece's end, the next one replaces.
  localparam int unsigned Lines = 32;
  typedef logic [$clog2(Lines)-1:0] row_t;
  // Of the line that is made, or comes next; of the one behind the reply; of the next one to read.
  row_t row_q, behind, read_q;
  logic [9:0] at_end, so_far_q;  // bytes with this piece, and before it
  logic turns, splits;
  strb_t below_at;
  line_t turned;
  assign turns  = laid_q && !splits_q;
  assign at_end = so_far_q + 10'(len_q);
  assign splits = 7'(so_far_q[5:0]) + len_q > 7'd64;
  assign behind = row_q + row_t'(at_end[9:6]) + row_t'(at_end[5:0] != '0);
  lib_lanes u_at (
    .n_i    ({1'b0, so_far_q[5:0]}),
    .below_o(below_at)
  );
  lib_rotate u_rotate (
    .data_i (text_of),
    .lanes_i(so_far_q[5:0] - start_q),
    .data_o (turned)
  );
  line_t turned_q;
  strb_t write_q;
  logic we_q, ends_q, made_q;  // ends: with this piece's second part
  row_t to_row_q, behind_q;
  logic [9:0] made_len_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      so_far_q <= '0;
      row_q    <= '0;
    end else if (turns) begin
      so_far_q <= last_q ? '0 : at_end;
      if (last_q) row_q <= behind;
    end
    splits_q <= rst_ni && turns && splits;
    we_q     <= rst_ni && (turns || splits_q);
    made_q   <= rst_ni && (splits_q ? ends_q : turns && last_q && !splits);
    if (turns) begin
      made_len_q <= at_end;
      behind_q   <= behind;
      ends_q     <= last_q;
      turned_q   <= turned;
    end
    write_q  <= splits_q ? '1 : ~below_at;
    to_row_q <= splits_q ? to_row_q + 1'b1 : row_q + row_t'(so_far_q[9:6]);
    // One line may be on its way here, and another one begin.
    room_q <= rst_ni && row_t'(row_q - read_q) < row_t'(Lines / 2);
  end

  // ---------------------------------------------------------------- lines
  row_t there_row_q;  // behind those that can be read
  logic read, line_q;
  assign read         = read_q != there_row_q && (!line_q || line_ready_i);
  assign line_valid_o = line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q      <= '0;
      there_row_q <= '0;
      line_q      <= 1'b0;
    end else begin
      if (read) read_q <= read_q + 1'b1;
      if (made_q) there_row_q <= behind_q;
      line_q <= read || (line_q && !line_ready_i);
    end
  end
  lib_ram #(
    .Width    (512),
    .Depth    (Lines),
    .ByteWidth(8),
    .Ultra    (1)
  ) u_lines (
    .clk_i,
    .we_i   (we_q),
    .waddr_i(to_row_q),
    .wbe_i  (write_q),
    .wdata_i(turned_q),
    .re_i   (read),
    .raddr_i(read_q),
    .rdata_o(line_o)
  );

  logic unused_len_ready;
  logic [$clog2(Lines+1)-1:0] unused_lens;
  lib_fifo #(
    .T    (logic [9:0]),
    .Depth(Lines)
  ) u_lens (
    .clk_i,
    .rst_ni,
    .s_valid_i(made_q),
    .s_ready_o(unused_len_ready),
    .s_data_i (made_len_q),
    .m_valid_o(len_valid_o),
    .m_ready_i(len_ready_i),
    .m_data_o (len_o),
    .level_o  (unused_lens)
  );

  `ASSERT(RoomForResults, !in_q || &unused_ready)
  `ASSERT(RoomForPieces, !there_q[Stages] || unused_piece_ready)
  `ASSERT(RoomForLines, !made_q || unused_len_ready)
  `ASSERT(PartThere, !piece_valid || unused_part_valid)
  `ASSERT(LineThere, !line_ready_i || line_valid_o)

endmodule
