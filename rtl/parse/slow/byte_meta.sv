// The flags of a meta command, words of a letter and mostly something behind it, in any order: what they ask for,
// or what is wrong with them. Latency 1, initiation interval 1.
module byte_meta
  import wirekv_pkg::*;
  import request_pkg::*;
  import parse_pkg::*;
(
  input  logic       clk_i,
  /// The clock's present second began then, in milliseconds.
  input  msec_t      second_i,
  /// A line begins.
  input  logic       begin_i,
  /// Its command, as soon as it is known; the word that is read is a flag.
  input  cmd_e       cmd_i,
  input  logic       flag_i,
  /// Its next character, the number of those before it.
  input  logic       valid_i,
  input  logic [7:0] char_i,
  /// It has ended and has so many characters, at most 256; all but the first one as a number.
  input  logic       word_i,
  input  logic [8:0] chars_i,
  input  num_t       num_i,
  /// The key was read as base64, and is.
  input  logic       coded_i,
  /// No text has what it says.
  input  logic       unfit_i,
  /// With a word: it says that it is to be.
  output logic       coded_o,
  /// What they say; times are times of the clock.
  output meta_t      meta_o,
  output opaque_t    opaque_o,
  output logic       quiet_o,
  output logic       touch_o,    // mg: T
  output op_e        op_o,
  output numbers_t   numbers_o,
  output logic       flags_o,    // they are not 0
  output logic [63:0] unique_no_o,
  output logic [63:0] chosen_no_o,
  output logic [63:0] initial_no_o,
  output logic       creates_o,  // N; md: C, whatever the number is
  /// Or what is wrong.
  output reply_e     fault_o
);

  logic [7:0] letter_q, second_q;
  msec_t time_t_q, time_n_q, time_r_q, time_;
  logic [31:0] client_q;
  logic [63:0] unique_q, delta_q, initial_q;
  logic [127:0] seen_q;
  logic [7:0] mode_q;
  reply_e fatal_q, reason_q;
  logic n_last_q, bad_q, long_opaque_q;
  logic get, set, delete, sum;
  assign get    = cmd_i == CmdMetaGet;
  assign set    = cmd_i == CmdMetaSet;
  assign delete = cmd_i == CmdMetaDelete;
  assign sum    = cmd_i == CmdMetaSum;

  // ---------------------------------------------------------------- a word's letter; an opaque token
  always_ff @(posedge clk_i) begin
    if (valid_i && flag_i) begin
      if (chars_i == '0) letter_q <= char_i;
      if (chars_i == 9'd1) second_q <= char_i;
      for (int unsigned i = 0; i < OpaqueMax; i++)
      if (letter_q == "O" && chars_i == 9'(i + 1)) opaque_o.text[i] <= char_i;
    end
    if (word_i && flag_i && letter_q == "O") opaque_o.len <= 5'(chars_i - 9'd1);
  end

  // ---------------------------------------------------------------- what it is
  logic known, here, good, again;
  show_e show;
  // The word has ended a clock before it is a word.
  logic [31:0] signed32_q;
  always_ff @(posedge clk_i) signed32_q <= num_i.neg ? -num_i.value[31:0] : num_i.value[31:0];
  assign time_    = absolute(signed32_q, second_i, 1'b0);
  assign again    = letter_q >= 8'd127 || seen_q[letter_q[6:0]];
  always_comb begin
    known = letter_q inside {"b", "N", "T", "R", "l", "h", "O", "P", "L", "k", "s", "t", "c",
                             "f", "v", "u", "q", "x", "I", "F", "C", "E", "M", "J", "D"};
    // These need more of an item than it has.
    here = !(get && letter_q inside {"h", "l"});

    good = 1'b1;
    unique case (letter_q)
      "b":                     good = coded_i;
      "N", "T", "R":           good = num_i.ok_signed;
      "F", "C", "E", "J", "D": good = num_i.ok_unsigned;
      "M":                     good = chars_i == 9'd2;
      default: ;
    endcase

    show = ShNone;
    unique case (letter_q)
      "k":     show = ShKey;
      "O":     show = ShOpaque;
      "s":     if (get || set) show = ShSize;
      "t":     if (get || sum) show = ShTime;
      "c":     if (!delete) show = ShUnique;
      "f":     if (get) show = ShFlags;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      meta_o        <= '0;
      seen_q        <= '0;
      fatal_q       <= RpNone;
      reason_q      <= RpBadFormat;
      bad_q         <= 1'b0;
      long_opaque_q <= 1'b0;
      n_last_q      <= 1'b0;
      time_t_q      <= '0;
      time_n_q      <= '0;
      time_r_q      <= '0;
      client_q      <= '0;
      unique_q      <= '0;
      initial_q     <= '0;
      chosen_no_o   <= '0;
      delta_q       <= 64'd1;
      mode_q        <= '0;
    end else if (word_i && flag_i && fatal_q == RpNone) begin
      if (again) begin
        fatal_q <= RpDuplicate;
      end else if (!known || !here) begin
        fatal_q <= RpInvalid;
      end else begin
        seen_q[letter_q[6:0]] <= 1'b1;
        if (!good) bad_q <= 1'b1;
        unique case (letter_q)
          "N": begin
            time_n_q <= time_;
            n_last_q <= 1'b1;
          end
          "T": begin
            time_t_q <= time_;
            n_last_q <= 1'b0;
          end
          "R": begin
            time_r_q      <= time_;
            meta_o.r_late <= seen_q[7'("T")];
          end
          "F":     client_q <= num_i.value[31:0];
          "C":     unique_q <= num_i.value;
          "E":     chosen_no_o <= num_i.value;
          "J":     initial_q <= num_i.value;
          "D":     delta_q <= num_i.value;
          "M":     mode_q <= second_q;
          "O":     long_opaque_q <= chars_i > 9'(OpaqueMax + 1);
          default: ;
        endcase
        if (!good) begin
          unique case (letter_q)
            "b":                     reason_q <= RpBadKey;
            "N", "T", "R", "C", "E": reason_q <= RpBadToken;
            "M":                     reason_q <= RpBadModeLen;
            "J":                     reason_q <= RpBadInitial;
            "D":                     reason_q <= RpBadMetaDelta;
            default:                 ;
          endcase
        end
        if (show != ShNone) begin
          for (int unsigned i = 0; i < Shows; i++)
          if (meta_o.show[i] == ShNone && (i == 0 || meta_o.show[(i+Shows-1)%Shows] != ShNone))
            meta_o.show[i] <= show;
        end
        if (show == ShTime) begin
          meta_o.retimed <= seen_q[7'("T")];
          meta_o.made    <= seen_q[7'("N")] && (sum || get);
        end
        if (letter_q == "v") meta_o.value <= get || sum;
        if (letter_q == "T") meta_o.sets_time <= sum || delete;
        if (letter_q == "R") meta_o.recaches <= get;
        if (letter_q == "I") meta_o.stale <= set || delete;
        if (letter_q == "x") meta_o.voids <= delete;
        // To ms 0 is none; of others an item may get it.
        if (letter_q == "E") meta_o.chosen <= !set || num_i.value != '0;
        if (letter_q == "b") {meta_o.coded, meta_o.unfit} <= {1'b1, unfit_i};
        if (letter_q inside {"N", "T"}) meta_o.n_last <= get && letter_q == "N";
        if (letter_q == "N") meta_o.vivifies <= get;
      end
    end
    if (!begin_i && cmd_i inside {CmdMetaGet, CmdMetaSet, CmdMetaDelete, CmdMetaSum}) begin
      meta_o.is  <= 1'b1;
      meta_o.get <= get;
    end
  end

  assign coded_o = word_i && flag_i && letter_q == "b" && fatal_q == RpNone;

  // ---------------------------------------------------------------- all of them together
  logic mode_ok, grows, creates;
  assign creates = seen_q[7'("N")];
  assign grows = set && mode_q inside {"A", "P"};
  always_comb begin
    op_o    = OpGet;
    mode_ok = 1'b1;
    if (delete) op_o = OpDelete;
    if (set) begin
      op_o    = OpSet;
      mode_ok = mode_q inside {8'd0, "S", "E", "A", "P", "R"};
      unique case (mode_q)
        "E":     op_o = OpAdd;
        "A":     op_o = OpAppend;
        "P":     op_o = OpPrepend;
        "R":     op_o = OpReplace;
        default: ;
      endcase
      if (seen_q[7'("C")] && op_o inside {OpSet, OpReplace}) op_o = OpCas;
    end
    if (sum) begin
      mode_ok = mode_q inside {8'd0, "I", "+", "D", "-"};
      op_o    = (mode_q inside {"D", "-"}) ? OpDecr : OpIncr;
    end
  end

  always_comb begin
    fault_o = RpNone;
    if (long_opaque_q) fault_o = RpLongOpaque;
    if (!mode_ok) fault_o = set ? RpBadSetMode : RpBadSumMode;
    if (bad_q) fault_o = reason_q;
    if (fatal_q != RpNone) fault_o = fatal_q;
    if ((delete || sum) && (fatal_q != RpNone || bad_q)) fault_o = RpInvalidOrDuplicate;
  end

  assign quiet_o      = seen_q[7'("q")];
  assign touch_o      = get && seen_q[7'("T")];
  assign flags_o      = client_q != '0;
  assign creates_o    = (creates && (grows || sum)) || (delete && seen_q[7'("C")]);
  assign unique_no_o  = get ? 64'(time_r_q) : unique_q;
  assign initial_no_o = initial_q;
  always_comb begin
    numbers_o         = '0;
    numbers_o.flags   = client_q;
    numbers_o.expiry  = ((grows && creates) || (sum && n_last_q)) ? time_n_q : time_t_q;
    numbers_o.number  = sum ? delta_q : get ? 64'(time_n_q) : unique_q;
  end

endmodule
