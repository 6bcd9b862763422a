// Decides request lines: steps in, request records, keys and item data out. One step a clock,
// answered in the same clock.
//
// Records and key beats of a line become visible at its end. A line that the job does not hold
// completely is taken back and read again by the connection's next job; a SET whose data exceeds
// a job goes to the log in parts, a `get` line beyond a job is left between two keys.
`include "lib_assert.svh"

module decode
  import wirekv_pkg::*;
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Steps and their job. A slow step stays until the next one.
  input  logic        step_valid_i,
  input  step_t       step_i,
  input  job_t        job_i,
  input  logic signed [21:0] value_max_i,
  /// The line's length field in full; two clocks after its step.
  input  logic [31:0] length_i,
  /// Pulse: the job's last record goes out.
  output logic        done_o,
  /// A slow line is over; the rest of the job does not count.
  output logic        line_end_o,
  output logic        dead_o,
  /// To the scanner.
  output resume_t     verdict_o,
  /// Requests, keys and item data.
  output out_t        out_o,
  /// Pulses.
  output logic        line_o,
  output logic        error_o,
  output logic        rollback_o,
  output logic        host_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  /// Longest key.
  localparam int unsigned KeyMax = 250;
  /// A line longer than this need not be kept in one piece.
  localparam int unsigned LineMax = 2048;
  /// A `get` line goes on in parts when this many beats of its keys wait for its end.
  localparam int unsigned KeysMax = 384;

  function automatic op_e op_of(input cmd_e cmd);
    unique case (cmd)
      CmdSet:     return OpSet;
      CmdAdd:     return OpAdd;
      CmdReplace: return OpReplace;
      CmdCas:     return OpCas;
      CmdAppend:  return OpAppend;
      CmdPrepend: return OpPrepend;
      CmdDelete:  return OpDelete;
      CmdIncr:    return OpIncr;
      CmdDecr:    return OpDecr;
      CmdTouch:   return OpTouch;
      CmdFlush:   return OpFlush;
      default:    return OpGet;
    endcase
  endfunction

  logic [8:0] keys_q;           // key beats not committed
  logic late_q;                 // a slow line's end waits
  logic [1:0] late_step_q;
  logic partial_q, partial;  // a `get` line that was committed in part
  logic [31:0] rest_q;          // of item data or bytes to discard, behind this job

  // Short names; not every field is needed here.
  // verilator lint_off UNUSEDSIGNAL
  ctx_t ctx;
  piece_t piece;
  line_info_t line;
  // verilator lint_on UNUSEDSIGNAL
  assign ctx     = job_i.ctx;
  assign piece   = step_i.piece;
  assign line    = step_i.line;
  assign partial = partial_q || (line.old && is_get(line.cmd));

  logic text, value, skip, empty_job;
  assign text      = step_valid_i && step_i.text;
  assign value     = step_valid_i && step_i.value;
  assign skip      = step_valid_i && step_i.skip;
  assign empty_job = step_valid_i && step_i.empty_job;

  // ---------------------------------------------------------------- text for host software
  // Words joined by one space; a beat goes out when the next byte would not fit.
  line_t gather_q, gather_d;
  logic [6:0] gather_len_q, gather_len_d;
  logic [8:0] gather_total_q, gather_total_d;
  logic gather, gather_full, gather_space;
  logic [1023:0] gathered;
  logic [7:0] gathered_len;
  line_t piece_bytes;
  assign piece_bytes = piece.data & ~({512{1'b1}} << {piece.n, 3'b000});

  always_comb begin
    gather         = step_valid_i && step_i.host_text;
    gather_space   = gather && step_i.word_start && !step_i.first_word;
    gather_d       = gather_q;
    gather_len_d   = gather_len_q;
    gather_total_d = gather_total_q;
    gathered       = '0;
    gathered_len   = 8'(gather_len_q);
    gather_full    = 1'b0;
    if (gather) begin
      gathered_len = 8'(gather_len_q) + 8'(gather_space) + 8'(piece.n);
      gathered     = {512'd0, gather_q} |
                     (({512'd0, piece_bytes} << {gather_space, 3'b000} |
                       (gather_space ? 1024'h20 : 1024'd0)) << {gather_len_q, 3'b000});
      gather_full  = gathered_len > 8'd64;
      gather_d     = gather_full ? gathered[1023:512] : gathered[511:0];
      gather_len_d = gather_full ? 7'(gathered_len - 8'd64) : gathered_len[6:0];
      if (!gather_total_q[8]) gather_total_d = gather_total_q + 9'(gather_space) + 9'(piece.n);
      if (gathered_len[7] && gathered_len[0]) gather_total_d = '1;  // 129: over the limit anyway
    end
  end

  // ---------------------------------------------------------------- the line's end
  // Most lines are decided with their last piece; these need a clock in between: a bad `get` line
  // (its records are taken back first), host text (its last beat), a long number for a length.
  logic eol, late, decide, udp;
  logic [31:0] vlen, need, taken;
  logic words_ok, bad_format, too_big;
  logic late_go;

  assign udp     = job_i.udp;
  assign eol     = text && piece.eol;
  assign late    = eol && piece.slow && ((line.cmd == CmdHost && !udp) || line.bad ||
                   (is_store(line.cmd) && line.length_ok && line.length_big));
  assign late_go = late_q && late_step_q == (is_store(line.cmd) ? 2'd2 : 2'd1);
  assign decide  = (eol && !late) || late_go;

  typedef enum logic [3:0] {
    AcReply,
    AcEndOfGet,   // the record went out with the last key
    AcOp,
    AcStore,      // data follows, all of it in this job
    AcStorePart,  // data follows, not all of it in this job
    AcSwallow,
    AcHost,
    AcQuit,
    AcBack        // the job holds too little: read it again
  } action_e;

  action_e action;
  reply_e reply;
  op_e op, line_op;
  logic noreply, use_exptime, key_goes;
  logic get_record;  // this step completes a key of a `get`

  always_comb begin
    get_record = step_valid_i && step_i.get_key;
    vlen       = late_q ? length_i : 32'(line.length);
    need       = vlen + 32'd2;

    unique case (line.cmd)
      CmdGet, CmdGets, CmdGat, CmdGats: words_ok = line.words >= 5'd2;
      CmdSet, CmdAdd, CmdReplace, CmdAppend, CmdPrepend:
        words_ok = line.words inside {5'd5, 5'd6};
      CmdCas:                     words_ok = line.words inside {5'd6, 5'd7};
      CmdIncr, CmdDecr, CmdTouch: words_ok = line.words inside {5'd3, 5'd4};
      CmdDelete:                  words_ok = line.words inside {5'd2, 5'd3, 5'd4};
      CmdFlush:                   words_ok = line.words <= 5'd3;
      CmdVerbosity:               words_ok = line.words inside {5'd2, 5'd3};
      default:                    words_ok = 1'b1;
    endcase

    bad_format = line.key_long || !line.flags_ok || !line.exptime_ok ||
                 !line.length_ok || (line.cmd == CmdCas && !line.number_ok) ||
                 (line.length_big ? late_q && (length_i[31] || length_i[30:0] > 31'h7ffffffd) :
                                    line.length_neg);
    too_big     = late_q ? 33'(length_i) > 33'(value_max_i) : line.too_big;

    line_op     = op_of(line.cmd);
    action      = AcReply;
    reply       = RpError;
    op          = line_op;
    noreply     = line.noreply;
    use_exptime = 1'b0;
    key_goes    = 1'b0;

    if (line.words == '0 || !words_ok) begin
      noreply = 1'b0;
    end else begin
      unique case (line.cmd)
        CmdGet, CmdGets, CmdGat, CmdGats: begin
          noreply = 1'b0;
          if (is_gat(line.cmd) && !line.exptime_ok) reply = RpBadExptime;
          else if (line.bad) reply = RpBadFormat;
          else if (get_record) action = AcEndOfGet;
          else reply = RpEnd;
        end
        CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend: begin
          if (bad_format) begin
            reply = RpBadFormat;
          end else if (too_big) begin
            action   = AcSwallow;
            reply    = RpTooLarge;
            op       = (line.cmd == CmdSet) ? OpTooBig : OpReply;
            key_goes = line.cmd == CmdSet;
          end else if (need <= 32'(piece.left)) begin
            action = AcStore;
          end else if (!udp && !piece.eof && step_i.line_pos == '0 &&
                       job_i.len == 14'(JobBytes)) begin
            action = AcStorePart;
          end else begin
            action = AcBack;
          end
        end
        CmdDelete: begin
          if (line.words == 5'd2) noreply = 1'b0;
          if (line.words > 5'd2 &&
              !((line.words == 5'd3) ? (line.zero || line.noreply) :
                                           (line.zero && line.noreply)))
            reply = RpBadDelete;
          else if (line.key_long) reply = RpBadFormat;
          else action = AcOp;
          key_goes = action == AcOp;
        end
        CmdIncr, CmdDecr: begin
          if (line.key_long) reply = RpBadFormat;
          else if (!line.number_ok) reply = RpBadDelta;
          else action = AcOp;
          key_goes = action == AcOp;
        end
        CmdTouch: begin
          use_exptime = 1'b1;
          if (line.key_long) reply = RpBadFormat;
          else if (!line.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
          key_goes = action == AcOp;
        end
        CmdFlush: begin
          use_exptime = line.words > (line.noreply ? 5'd2 : 5'd1);
          if (use_exptime && !line.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
        end
        CmdVerbosity: reply = line.number_ok ? RpOk : RpBadFormat;
        CmdVersion: begin
          noreply = 1'b0;
          reply   = RpVersion;
        end
        CmdQuit: begin
          noreply = 1'b0;
          action  = AcQuit;
        end
        CmdHost: begin
          noreply = 1'b0;
          if (!udp && gather_total_q <= 9'(KeyMax)) action = AcHost;
        end
        default: begin
          noreply = 1'b0;
          // A browser that was tricked into talking to a cache.
          if (line.foreign && line.http) action = AcQuit;
        end
      endcase
    end
    taken = (vlen < 32'(piece.left)) ? vlen : 32'(piece.left);
  end

  // ---------------------------------------------------------------- what goes out
  typedef struct packed {
    logic [13:0] pos;
    mode_e       mode;
    logic [31:0] rem;
    logic        bad;
  } end_t;

  logic rec_push, rec_commit, rec_back, key_push, key_commit, key_back;
  logic putb_push, putb_commit, putb_back, put_push;
  record_t rec_d;
  beat_t key_d, putb_d;
  put_t put_d;
  end_t end_d, end_q;
  logic end_go_q, end_go_d;  // the job ends with the next clock
  logic line_over, part_commit;
  logic first_q, first_kept_q;
  resume_t verdict;
  logic [31:0] rest, rest_d;

  logic [20:0] vlen_q, vlen_line;
  logic make_dead;
  assign vlen_line = line.old ? ctx.vlen : vlen_q;

  always_comb begin
    rec_push    = 1'b0;
    rec_commit  = 1'b0;
    rec_back    = 1'b0;
    key_push    = 1'b0;
    key_commit  = 1'b0;
    key_back    = 1'b0;
    putb_push   = 1'b0;
    putb_commit = 1'b0;
    putb_back   = 1'b0;
    put_push    = 1'b0;
    end_go_d    = 1'b0;
    end_d       = end_q;
    make_dead   = 1'b0;
    line_over   = 1'b0;
    part_commit = 1'b0;
    rest        = (piece.sof && step_valid_i) ? ctx.rem - 32'(job_i.len) : rest_q;
    rest_d      = rest;
    verdict     = '0;

    rec_d              = '0;
    rec_d.req.op       = OpReply;
    rec_d.req.udp      = udp;
    rec_d.req.conn     = job_i.conn;
    rec_d.req.first    = first_q && !job_i.begun;
    rec_d.req.tx_ptr   = job_i.tx_ptr;
    rec_d.req.tx_space = job_i.tx_space;
    rec_d.req.noreply  = noreply;
    rec_d.req.klen     = line.klen;
    rec_d.req.rx_ptr   = ctx.rx_ptr;
    if (line.old || empty_job) begin
      rec_d.req.hash    = ctx.hash;
      rec_d.req.off     = ctx.off;
      rec_d.req.exptime = ctx.exptime;
      rec_d.req.num     = ctx.num;
    end
    rec_d.req.cas_out  = line.cmd inside {CmdGets, CmdGats};
    rec_d.req.touch    = is_gat(line.cmd);
    rec_d.req.ctx_op   = line_op;
    rec_d.pos          = piece.pos;

    key_d.data = piece_bytes;
    key_d.len  = piece.n;
    key_d.last = piece.ends;
    putb_d     = key_d;

    put_d           = '0;
    put_d.start     = 1'b1;
    put_d.klen      = line.klen;
    put_d.vlen      = vlen[20:0];

    if (empty_job) begin
      // A piece of the host's answer, asking for the next one, or the rest of a value.
      rec_push         = 1'b1;
      rec_commit       = 1'b1;
      rec_d.req.reply  = RpNone;
      rec_d.req.noreply = ctx.noreply;
      end_d.rem        = ctx.rem;
      end_d.mode       = ctx.mode;
      if (job_i.host) begin
        rec_d.req.op       = OpHostData;
        rec_d.req.host_len = job_i.host_len;
        rec_d.req.noreply  = 1'b0;
        end_d.rem          = 32'(!job_i.host_final);
        end_d.mode         = !job_i.host_final ? MdHost : job_i.host_close ? MdQuit : MdLine;
      end else if (ctx.mode == MdHost) begin
        rec_d.req.op         = OpHost;
        rec_d.req.key_stored = 1'b1;
        rec_d.req.klen       = '0;
        rec_d.req.noreply    = 1'b0;
        end_d.rem            = '0;
      end else begin
        // append and prepend go on themselves.
        rec_d.req.op         = (ctx.op inside {OpAppend, OpPrepend}) ? ctx.op : OpCont;
        rec_d.req.ctx_op     = ctx.op;
        rec_d.req.key_stored = 1'b1;
        rec_d.req.klen       = ctx.klen;
        rec_d.req.vlen       = ctx.vlen;
        rec_d.req.cas_out    = ctx.cas_out;
        rec_d.req.touch      = ctx.touch;
        rec_d.req.last_key   = ctx.last_key;
        rec_d.req.cont_start = ctx.cont_start;
      end
      rec_d.req.mode = end_d.mode;
      rec_d.req.rem  = end_d.rem;
      rec_d.pos      = '0;
      end_d.pos      = '0;
      end_d.bad      = ctx.noreply;
      end_go_d       = 1'b1;
      make_dead   = 1'b1;
    end

    if (text) begin
      if (step_i.key_beat) begin
        key_push  = 1'b1;
        putb_push = is_store(line.cmd);
      end
      putb_d.last = 1'b0;
      if (gather_full) begin
        key_push   = !gather_total_d[8];
        key_d.data = gathered[511:0];
        key_d.len  = 7'd64;
        key_d.last = 1'b0;
      end
      if (step_i.key_too_long) begin
        rec_back = 1'b1;
        key_back = 1'b1;
      end
      if (get_record) begin
        rec_push           = 1'b1;
        rec_d.req.op       = OpGet;
        rec_d.req.ctx_op   = OpGet;
        rec_d.req.noreply  = 1'b0;
        rec_d.req.reply    = RpNone;
        rec_d.req.last_key = piece.eol;
        rec_d.use_exptime  = is_gat(line.cmd) && !line.old;
        rec_d.req.mode     = piece.eol ? MdLine : MdKeys;
        // Once a part of the line is out, every key follows as soon as it is complete, so that the
        // job's end has nothing but a broken-off key to take back.
        part_commit        = !piece.eol && (keys_q >= 9'(KeysMax) || line.eager || partial);
        rec_commit         = piece.eol || part_commit;
        key_commit         = rec_commit;
      end
    end

    if (decide) begin
      line_over    = 1'b1;
      verdict.valid = piece.slow && !piece.eof;
      verdict.kind  = VdLine;
      end_d.pos     = piece.pos;
      end_d.mode    = MdLine;
      end_d.rem     = '0;
      end_d.bad     = 1'b0;
      if (!get_record) begin
        rec_push        = action inside {AcReply, AcOp, AcSwallow, AcHost};
        rec_commit      = 1'b1;
        rec_d.req.reply = noreply ? RpNone : reply;
      end
      unique case (action)
        AcReply: begin
          // END goes with the keys before it; any other reply stands for the whole line.
          key_commit = reply == RpEnd;
          key_back   = reply != RpEnd;
          putb_back = 1'b1;
        end
        AcEndOfGet: ;
        AcOp: begin
          rec_d.req.op      = op;
          rec_d.req.reply   = RpNone;
          rec_d.use_exptime = use_exptime;
          rec_d.use_number  = op inside {OpIncr, OpDecr};
          key_commit        = 1'b1;
        end
        AcSwallow: begin
          rec_d.req.op   = op;
          rec_d.req.vlen = vlen[20:0];
          rec_d.req.mode = MdSwallow;
          rec_d.req.rem  = need;
          key_commit     = key_goes;
          key_back       = !key_goes;
          putb_back      = 1'b1;
          verdict.kind   = VdSkip;
          verdict.count  = (need < 32'(piece.left)) ? need[13:0] : piece.left;
          verdict.final_ = need <= 32'(piece.left);
          rest_d         = need - 32'(piece.left);
          end_d.mode     = MdSwallow;
          end_d.rem      = need;
        end
        AcStore, AcStorePart: begin
          line_over      = 1'b0;
          put_push        = 1'b1;
          put_d.own_lines = action == AcStorePart;
          putb_commit     = 1'b1;
          verdict.kind    = VdValue;
          verdict.count   = taken[13:0];
          verdict.final_  = action == AcStore;
          rest_d          = need - taken;
        end
        AcHost: begin
          rec_d.req.op   = OpHost;
          rec_d.req.klen = gather_total_q[7:0];
          rec_d.req.mode = MdHost;
          rec_d.req.reply = RpNone;
          key_push       = 1'b1;
          key_d.data     = gather_q;
          key_d.len      = gather_len_q;
          key_d.last     = 1'b1;
          key_commit     = 1'b1;
          verdict.kind   = VdDrop;
          end_d.mode     = MdHost;
          make_dead   = 1'b1;
        end
        AcQuit: begin
          verdict.kind = VdDrop;
          end_d.mode   = MdQuit;
          make_dead = 1'b1;
        end
        default: begin
          key_back     = 1'b1;
          putb_back    = 1'b1;
          verdict.kind = VdDrop;
          end_d.pos    = step_i.line_pos;
          end_d.rem    = 32'(step_i.line_len) + need;
          if (end_d.rem > JobBytes) end_d.rem = 32'(JobBytes);
          if (step_i.line_len > 14'(LineMax)) end_d.mode = MdQuit;
          make_dead = 1'b1;
        end
      endcase
      end_go_d = piece.eof;
    end else if (text && piece.eof && !eol) begin
      // The line goes on beyond the job.
      end_go_d  = 1'b1;
      make_dead = 1'b1;
      key_back  = !rec_commit;
      rec_back  = !rec_commit;
      putb_back = 1'b1;
      end_d.bad = 1'b0;
      end_d.rem = 32'(step_i.line_len) + 32'd1;
      end_d.pos = step_i.line_pos;
      end_d.mode = MdLine;
      if (is_get(line.cmd) && line.bad && (partial || step_i.line_len > 14'(LineMax))) begin
        end_d.pos  = piece.pos;
        end_d.mode = MdKeys;
        end_d.rem  = '0;
        end_d.bad  = 1'b1;
      end else if (partial || part_commit) begin
        end_d.pos  = piece.ends ? piece.pos : step_i.word_pos;
        end_d.mode = MdKeys;
        end_d.rem  = piece.ends ? 32'd0 : 32'(piece.pos - step_i.word_pos) + 32'd1;
      end else if (step_i.line_len > 14'(LineMax) &&
                   !(line.cmd inside {CmdGet, CmdGets} && !line.eager && !line.indented &&
                     !line.foreign)) begin
        end_d.pos  = piece.pos;
        end_d.mode = MdQuit;
        end_d.rem  = '0;
      end else if (step_i.line_len == 14'(JobBytes)) begin
        end_d.mode = MdLong;
        end_d.rem  = '0;
      end
    end

    if (value) begin
      putb_push   = piece.n != '0 || !line.old;
      putb_commit = 1'b1;
      putb_d.last = piece.last;
      // Only the first piece of a later part announces it.
      put_push       = piece.sof && ctx.rem != 32'd2;
      if (line.old) begin
        put_d.start = 1'b0;
        put_d.vlen  = ctx.vlen;
        put_d.off   = ctx.off;
        put_d.done  = ctx.vlen + 21'd2 - ctx.rem[20:0];
      end
      if (piece.last) begin
        rec_push             = 1'b1;
        rec_commit           = 1'b1;
        rec_d.req.op         = line_op;
        rec_d.req.ctx_op     = line_op;
        rec_d.req.reply      = RpNone;
        rec_d.req.noreply    = line.noreply;
        rec_d.req.klen       = line.klen;
        rec_d.req.vlen       = vlen_line;
        rec_d.req.key_stored = line.old;
        rec_d.off_sel        = line.old ? OsOwn : OsNew;
        rec_d.use_flags      = !line.old;
        rec_d.use_exptime    = !line.old;
        rec_d.use_number     = !line.old && line_op == OpCas;
        key_commit           = 1'b1;
        end_d.pos            = piece.pos;
        end_d.mode           = MdLine;
        end_d.rem            = '0;
        end_d.bad            = line.noreply;
        line_over           = 1'b1;
        if (!piece.final_) begin
          rec_d.req.op   = OpPart;
          rec_d.req.mode = MdValue;
          rec_d.req.rem  = rest;
          end_d.mode     = MdValue;
          end_d.rem      = rec_d.req.rem;
          line_over     = 1'b0;
          make_dead   = 1'b1;
        end else if (!piece.crlf) begin
          rec_d.req.op    = OpReply;
          rec_d.req.reply = line.noreply ? RpNone : RpBadChunk;
          key_commit      = 1'b0;
          key_back        = 1'b1;
        end
        end_go_d = piece.eof;
      end
    end

    if (skip && piece.last) begin
      end_d.pos  = piece.pos;
      end_d.mode = piece.final_ ? MdLine : MdSwallow;
      end_d.rem  = piece.final_ ? '0 : rest;
      end_d.bad  = 1'b0;
      line_over = piece.final_;
      end_go_d   = piece.eof;
    end

    if (step_valid_i && step_i.ignored && piece.eof) end_go_d = 1'b1;

    // The last record of the job.
    if (end_go_q) begin
      rec_push             = 1'b1;
      rec_commit           = 1'b1;
      rec_d.req.op         = OpEnd;
      rec_d.req.reply      = RpNone;
      rec_d.req.mode       = end_q.mode;
      rec_d.req.rem        = end_q.rem;
      rec_d.pos            = end_q.pos;
      rec_d.off_sel        = (!line.old && end_q.mode == MdValue) ? OsSame : OsOwn;
      rec_d.req.noreply    = end_q.bad;
      rec_d.req.key_stored = line.old;
      rec_d.req.klen       = line.klen;
      rec_d.req.vlen       = line.old ? ctx.vlen : vlen_q;
      rec_d.req.ctx_op     = line_op;
      rec_d.req.cas_out    = line.cmd inside {CmdGets, CmdGats};
      rec_d.req.touch      = is_gat(line.cmd);
      rec_d.use_exptime    = !line.old && end_q.mode inside {MdKeys, MdValue};
      rec_d.use_number     = !line.old && end_q.mode == MdValue;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      late_q         <= 1'b0;
      end_go_q       <= 1'b0;
      first_q        <= 1'b1;
      first_kept_q   <= 1'b1;
      partial_q      <= 1'b0;
      keys_q         <= '0;
      gather_q       <= '0;
      gather_len_q   <= '0;
      gather_total_q <= '0;
    end else begin
      if (gather) begin
        gather_q       <= gather_d;
        gather_len_q   <= gather_len_d;
        gather_total_q <= gather_total_d;
      end
      if (line_over || end_go_q) partial_q <= 1'b0;
      else if (part_commit) partial_q <= 1'b1;
      if (late) begin
        late_q      <= 1'b1;
        late_step_q <= 2'd1;
      end else begin
        late_step_q <= late_step_q + 2'd1;
        if (late_go) late_q <= 1'b0;
      end
      if (decide || end_go_q) begin
        gather_q       <= '0;
        gather_len_q   <= '0;
        gather_total_q <= '0;
      end
      end_go_q <= end_go_d;
      // The first record of a job stays the first until it can't be taken back any more.
      if (end_go_q) begin
        first_q      <= 1'b1;
        first_kept_q <= 1'b1;
      end else begin
        if (rec_back) first_q <= first_kept_q;
        else if (rec_push) first_q <= 1'b0;
        if (rec_commit) first_kept_q <= first_q && !rec_push;
      end
      if (key_commit || key_back) keys_q <= '0;
      else if (key_push) keys_q <= keys_q + 9'd1;
    end
    if (step_valid_i || decide) begin
      end_q  <= end_d;
      rest_q <= rest_d;
    end
    if (decide && put_push) vlen_q <= vlen[20:0];
  end

  assign done_o     = end_go_q;
  assign line_end_o = decide && piece.slow && line_over;
  assign dead_o     = decide && make_dead;
  assign verdict_o  = verdict;
  assign line_o     = line_over;
  assign error_o    = decide && action == AcReply && reply inside {RpError, RpBadFormat,
                      RpBadExptime, RpBadDelta, RpBadDelete};
  assign rollback_o = (decide && action == AcBack) || (text && piece.eof && !eol);
  assign host_o     = decide && action == AcHost;

  assign idle_o = !step_valid_i && !late_q && !end_go_q;

  always_comb begin
    out_o.rec_do   = '{push: rec_push, commit: rec_commit, back: rec_back};
    out_o.rec      = rec_d;
    out_o.key_do   = '{push: key_push, commit: key_commit, back: key_back};
    out_o.key      = key_d;
    out_o.putb_do  = '{push: putb_push, commit: putb_commit, back: putb_back};
    out_o.putb     = putb_d;
    out_o.put_push = put_push;
    out_o.put      = put_d;
  end

  `ASSERT(OneThingAtATime, !(step_valid_i && (end_go_q || late_q)))

endmodule
