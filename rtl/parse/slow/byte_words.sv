// What the words of a request line have said so far, and its numbers. Latency 1, initiation interval 1.
module byte_words
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input  logic       clk_i,
  /// A line begins, or goes on where the job before has left it (MdKeys, MdValue).
  input  logic       begin_i,
  input  logic       old_i,
  input  ctx_t       ctx_i,
  /// A word of so many characters has ended; what it is by its spelling, and as a number. `indented`: more
  /// spaces are before it than before a command.
  input  logic       word_i,
  input  logic [7:0] chars_i,
  input  word_t      spelled_i,
  input  num_t       num_i,
  input  logic       indented_i,
  /// The key that is read has become too long.
  input  logic       too_long_i,
  output line_info_t line_o,
  output numbers_t   numbers_o,
  output logic       flags_o,      // they are not 0
  /// The command is a meta command. The word that begins or goes on is a key, or a flag of such a command.
  output logic       meta_o,
  output logic       is_key_o,
  output logic       is_flag_o
);

  logic [4:0] index;
  logic counts, first_q;  // no word has ended yet
  logic [31:0] signed32;
  assign index    = line_o.words;
  assign counts   = index != WordsMax;
  assign signed32 = num_i.neg ? -num_i.value[31:0] : num_i.value[31:0];

  // What the next word is, and whether it is the first, stands in flip-flops: what becomes of a character hangs on it.
  cmd_e cmd;
  logic [4:0] words;
  always_comb begin
    cmd   = line_o.cmd;
    words = line_o.words;
    if (begin_i) begin
      cmd   = CmdUnknown;
      words = old_i ? 5'd2 : 5'd0;
      if (old_i && ctx_i.mode == MdKeys)
        cmd = ctx_i.touch ? (ctx_i.cas_out ? CmdGats : CmdGat) : (ctx_i.cas_out ? CmdGets : CmdGet);
    end
    if (word_i && first_q) cmd = spelled_i.cmd;
    if (word_i && counts) words = index + 5'd1;
  end
  always_ff @(posedge clk_i) begin
    meta_o    <= is_meta(cmd);
    is_key_o  <= is_get(cmd) ? words >= (is_gat(cmd) ? 5'd2 : 5'd1) :
        words == 5'd1 && (is_store(cmd) || is_meta(cmd) ||
                          cmd inside {CmdDelete, CmdIncr, CmdDecr, CmdTouch});
    // Behind the key, or the length.
    is_flag_o <= is_meta(cmd) && words >= ((cmd == CmdMetaSet) ? 5'd3 : 5'd2);
  end

  // Which number the word is.
  typedef enum logic [2:0] {
    FdNone,
    FdFlags,
    FdExptime,
    FdLength,
    FdNumber
  } field_e;
  field_e field;
  always_comb begin
    field = FdNone;
    if (meta_o) begin
      if (line_o.cmd == CmdMetaSet && index == 5'd2) field = FdLength;
    end else if (is_store(line_o.cmd)) begin
      unique case (index)
        5'd2:    field = FdFlags;
        5'd3:    field = FdExptime;
        5'd4:    field = FdLength;
        5'd5:    field = (line_o.cmd == CmdCas) ? FdNumber : FdNone;
        default: field = FdNone;
      endcase
    end else if (index == 5'd2) begin
      if (line_o.cmd inside {CmdIncr, CmdDecr}) field = FdNumber;
      if (line_o.cmd == CmdTouch) field = FdExptime;
    end else if (index == 5'd1) begin
      if (is_gat(line_o.cmd) || line_o.cmd == CmdFlush) field = FdExptime;
      if (line_o.cmd == CmdVerbosity) field = FdNumber;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      line_o <= '0;
      flags_o <= 1'b0;
      {numbers_o.relative, numbers_o.expiry} <= '0;  // Redis only
      if (old_i) begin
        line_o.klen <= ctx_i.klen;
        if (ctx_i.mode == MdKeys) begin
          line_o.bad        <= ctx_i.noreply;
          line_o.exptime_ok <= 1'b1;
        end else begin
          line_o.noreply <= ctx_i.noreply;
        end
      end
    end
    if (too_long_i) begin
      line_o.key_long <= 1'b1;
      line_o.bad      <= line_o.bad || is_get(line_o.cmd);
    end
    if (word_i) begin
      line_o.noreply <= spelled_i.noreply;
      if (counts) line_o.http <= spelled_i.http;
      if (first_q) begin
        line_o.foreign  <= spelled_i.foreign;
        line_o.indented <= indented_i;
      end
      if (index == 5'd2) line_o.zero <= spelled_i.zero;
      if (is_key_o) line_o.klen <= chars_i;
      unique case (field)
        FdFlags: begin
          line_o.flags_ok <= num_i.ok_unsigned;
          flags_o         <= num_i.value != '0;
          numbers_o.flags <= num_i.value[31:0];
        end
        FdExptime: begin
          line_o.exptime_ok <= num_i.ok_signed;
          numbers_o.exptime <= signed32;
        end
        FdLength: begin
          line_o.length_ok <= num_i.ok_signed;
          line_o.length    <= signed32;
        end
        FdNumber: begin
          line_o.number_ok <= num_i.ok_unsigned;
          numbers_o.number <= num_i.value;
        end
        default: ;
      endcase
    end
    line_o.cmd   <= cmd;
    line_o.words <= words;
    first_q      <= words == '0;
  end

endmodule
