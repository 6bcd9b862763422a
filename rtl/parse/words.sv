// Keeps what the words of a request line say, and tells of each piece what it is in its line.
// Latency 1, initiation interval 1.
//
// A plain `set`, `add` or `replace` line is answered to the scanner at once, so that the item data
// follows as soon as possible; decode, a clock later, comes to the same verdict.
module words
  import wirekv_pkg::*;
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it (-I): key, value, 4 if it has flags, and ItemOverhead.
  input  logic [20:0] item_max_i,
  /// Pieces of jobs, numbers beside them; the head of the jobs is taken with a job's first piece.
  input  logic        piece_valid_i,
  input  piece_t      piece_i,
  input  num_t        num_i,
  input  job_t        job_i,
  output logic        job_pop_o,
  /// From decode, about a slow line: it is over, the rest of the job does not count.
  input  logic        line_end_i,
  input  logic        dead_i,
  /// Steps; the last one and its job stay until the next.
  output logic        step_valid_o,
  output step_t       step_o,
  output job_t        job_o,
  /// Which number a step is, beside it.
  output field_e      field_o,
  output logic        neg_o,
  /// Bytes that the value may have.
  output logic signed [21:0] value_max_o,
  output resume_t     verdict_o
);

  /// Longest key.
  localparam int unsigned KeyMax = 250;
  /// Spaces before the command of an overlong `get` line (memcached's try_read_command_ascii).
  localparam int unsigned IndentMax = 100;

  logic valid_q, dead_q, fresh_q;
  step_t step_q, step_d;
  job_t job_q;
  logic [13:0] line_pos_q, word_pos_q;
  logic signed [21:0] value_max_q;

  line_info_t was, now;
  logic dead, text, word_done, single, is_key, in_job;
  logic [6:0] n;
  logic [8:0] chars;
  logic [4:0] index;
  // A short name; not every field is needed here.
  // verilator lint_off UNUSEDSIGNAL
  ctx_t ctx;
  // verilator lint_on UNUSEDSIGNAL
  assign ctx = job_i.ctx;

  field_e field;

  always_comb begin
    was  = fresh_q ? '0 : step_q.line;
    dead = dead_q;
    if (piece_i.sof) begin
      was  = '0;
      dead = 1'b0;
      if (!job_i.udp) begin
        was.eager = ctx.mode inside {MdKeys, MdLong};
        was.old   = ctx.mode inside {MdKeys, MdValue};
      end
      if (was.old) begin
        was.noreply = ctx.noreply && ctx.mode == MdValue;
        was.bad     = ctx.noreply && ctx.mode == MdKeys;
        was.klen    = ctx.klen;
        was.words   = 5'd2;
        if (ctx.mode == MdKeys) begin
          was.exptime_ok = 1'b1;
          was.cmd        = ctx.touch ? (ctx.cas_out ? CmdGats : CmdGat) :
                                       (ctx.cas_out ? CmdGets : CmdGet);
        end else begin
          unique case (ctx.op)
            OpAdd:     was.cmd = CmdAdd;
            OpReplace: was.cmd = CmdReplace;
            OpCas:     was.cmd = CmdCas;
            OpAppend:  was.cmd = CmdAppend;
            OpPrepend: was.cmd = CmdPrepend;
            default:   was.cmd = CmdSet;
          endcase
        end
      end
    end

    in_job    = !(piece_i.sof && (ctx.mode == MdHost || ctx.cont) && !job_i.udp) && !dead;
    text      = piece_i.kind == PcText && in_job;
    n         = was.nul ? 7'd0 : piece_i.n;
    single    = was.chars == '0;
    chars     = was.chars[8] ? was.chars : was.chars + 9'(n);
    word_done = text && piece_i.ends && !was.nul && chars != '0;
    index     = was.words;

    step_d            = '0;
    step_d.piece      = piece_i;
    step_d.text       = text;
    step_d.value      = piece_i.kind == PcValue && in_job;
    step_d.skip       = piece_i.kind == PcSkip && in_job;
    step_d.empty_job  = !in_job && !dead;
    step_d.ignored    = dead;
    step_d.word_start = single;
    step_d.first_word = index == '0;
    step_d.line_pos   = piece_i.sof ? '0 : line_pos_q;
    step_d.line_len   = piece_i.pos - step_d.line_pos;
    step_d.word_pos   = piece_i.sof ? '0 : word_pos_q;

    now    = was;
    field  = FdNone;
    is_key = 1'b0;
    if (text) begin
      now.chars = (piece_i.ends || was.nul) ? '0 : chars;
      if (piece_i.nul) now.nul = 1'b1;
      if (single && n != '0) begin
        if (index == '0) now.foreign = piece_i.word.foreign;
        if (index != WordsMax) now.http = piece_i.word.http;
      end
      if (index == '0) begin
        if (word_done) begin
          now.cmd      = single ? piece_i.word.cmd : CmdUnknown;
          now.indented = step_d.word_pos - step_d.line_pos > 14'(IndentMax);
        end
      end else if (is_get(was.cmd)) begin
        is_key = !is_gat(was.cmd) || index >= 5'd2;
      end else begin
        is_key = index == 5'd1 &&
            (is_store(was.cmd) || was.cmd inside {CmdDelete, CmdIncr, CmdDecr, CmdTouch});
      end
      if (is_key) begin
        now.klen = chars[7:0];
        // The last byte of an unfinished word may be the CR of a line whose LF is still to come.
        now.key_long = chars > (piece_i.ends ? 9'(KeyMax) : 9'(KeyMax + 1));
      end
      if (word_done) begin
        now.words   = (index == WordsMax) ? WordsMax : index + 5'd1;
        now.noreply = single && piece_i.word.noreply;
        if (index == 5'd2) now.zero = single && piece_i.word.zero;
      end
      // A number ends within its word's first piece.
      if (single && n != '0) begin
        if (is_store(was.cmd)) begin
          unique case (index)
            5'd2:    field = FdFlags;
            5'd3:    field = FdExptime;
            5'd4:    field = FdLength;
            5'd5:    field = (was.cmd == CmdCas) ? FdNumber : FdNone;
            default: field = FdNone;
          endcase
        end else if (index == 5'd2) begin
          if (was.cmd inside {CmdIncr, CmdDecr}) field = FdNumber;
          if (was.cmd == CmdTouch) field = FdExptime;
        end else if (index == 5'd1) begin
          if (is_gat(was.cmd) || was.cmd == CmdFlush) field = FdExptime;
          if (was.cmd == CmdVerbosity) field = FdNumber;
        end
        unique case (field)
          FdFlags: begin
            now.flags_ok  = num_i.ok_unsigned;
            now.flags_set = num_i.nonzero;
          end
          FdExptime: now.exptime_ok = num_i.ok_signed;
          FdLength: begin
            now.length_ok  = num_i.ok_signed;
            now.length_neg = num_i.neg && num_i.nonzero;
            now.length_big = num_i.big;
            now.length     = num_i.low8;
            now.too_big    = 28'(num_i.low8) > 28'(value_max_q);
          end
          FdNumber: now.number_ok = num_i.ok_unsigned;
          default: ;
        endcase
      end
    end
    step_d.key_too_long = is_key && is_get(was.cmd) && now.key_long && !was.bad;
    if (step_d.key_too_long) now.bad = 1'b1;
    step_d.key_beat  = is_key && n != '0 && !now.key_long && !now.bad;
    step_d.get_key   = word_done && is_key && is_get(was.cmd) && !now.bad &&
                       (was.exptime_ok || !is_gat(was.cmd));
    step_d.host_text = text && n != '0 && now.cmd == CmdHost && (index != '0 || word_done);
    step_d.line      = now;
  end

  // The key and the flags came two or more pieces before the length.
  always_ff @(posedge clk_i) begin
    value_max_q <= 22'(item_max_i) - 22'(ItemOverhead) - 22'(step_q.line.klen) -
                   (step_q.line.flags_set ? 22'd4 : 22'd0);
  end
  assign value_max_o = value_max_q;

  // A line of five good words whose data is in the job.
  always_comb begin
    verdict_o        = '0;
    verdict_o.valid  = piece_valid_i && !piece_i.sof && !dead_q && !fresh_q && piece_i.slow &&
                       !piece_i.eof && piece_i.n != '0 && step_q.line.chars == '0 &&
                       !step_q.line.nul && step_q.line.words == 5'd4 &&
                       step_q.line.cmd inside {CmdSet, CmdAdd, CmdReplace} &&
                       !step_q.line.key_long && step_q.line.flags_ok && step_q.line.exptime_ok &&
                       num_i.ok_signed && !num_i.neg && !num_i.big && !value_max_q[21] &&
                       28'(num_i.low8) <= 28'(value_max_q) &&
                       28'(num_i.low8) + 28'd2 <= 28'(piece_i.left);
    verdict_o.kind   = VdValue;
    verdict_o.count  = num_i.low8[13:0];
    verdict_o.final_ = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      field_o <= FdNone;
      dead_q  <= 1'b0;
      fresh_q <= 1'b0;
    end else begin
      valid_q <= piece_valid_i;
      field_o <= piece_valid_i ? field : FdNone;
      if (piece_valid_i) begin
        fresh_q <= text ? piece_i.eol && !piece_i.slow :
                          (step_d.value || step_d.skip) && piece_i.last && piece_i.final_;
        dead_q  <= dead || step_d.empty_job ||
                   (step_d.value && piece_i.last && !piece_i.final_);
      end
      if (line_end_i) fresh_q <= 1'b1;
      if (dead_i) dead_q <= 1'b1;
    end
    if (piece_valid_i) begin
      step_q <= step_d;
      neg_o  <= num_i.neg;
      if (piece_i.sof) job_q <= job_i;
      if (!text || piece_i.eol) line_pos_q <= piece_i.pos;
      else line_pos_q <= step_d.line_pos;
      word_pos_q <= (!text || piece_i.ends) ? piece_i.pos : step_d.word_pos;
    end
  end

  assign job_pop_o    = piece_valid_i && piece_i.sof;
  assign step_valid_o = valid_q;
  assign step_o       = step_q;
  assign job_o        = job_q;

endmodule
