// Understands request lines: pieces in, request records, keys and item data out. One piece a
// clock; latency 3 from the piece that completes a request to its record.
//
// Records and key beats of a line become visible at its end. A line that the job does not hold
// completely is taken back and read again by the connection's next job; a SET whose data exceeds
// a job goes to the log in parts, a long `get` line is left between two keys.
`include "lib_assert.svh"

module decode
  import wirekv_pkg::*;
  import proto_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it (-I): key, value, 4 if it has flags, and ItemOverhead.
  input  logic [20:0] item_max_i,
  /// UNIX seconds.
  input  logic [31:0] now_i,
  /// Pieces of jobs. A slow piece and its number stay until the next one.
  input  logic        piece_valid_i,
  input  piece_t      piece_i,
  input  num_t        num_i,
  input  logic [63:0] value_i,
  output logic        job_pop_o,
  input  job_t        job_i,
  /// To the scanner.
  output logic        room_o,
  output resume_t    verdict_o,
  /// Requests and their keys.
  output logic        req_valid_o,
  input  logic        req_ready_i,
  output req_t        req_o,
  output logic        key_valid_o,
  input  logic        key_ready_i,
  output beat_t       key_o,
  /// Items for the log.
  output logic        put_valid_o,
  input  logic        put_ready_i,
  output put_t        put_o,
  input  off_t        put_off_i,
  output logic        putb_valid_o,
  input  logic        putb_ready_i,
  output beat_t       putb_o,
  /// Pulses.
  output logic        line_o,
  output logic        error_o,
  output logic        rollback_o,
  output logic        host_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  /// What memcached adds to an item: its header, CAS unique, a NUL and CRLF.
  localparam int unsigned ItemOverhead = 59;
  /// Longest key.
  localparam int unsigned KeyMax = 250;
  /// A line longer than this need not be kept in one piece.
  localparam int unsigned LineMax = 2048;
  /// A `get` line goes on in parts when this many beats of its keys wait for its end.
  localparam int unsigned KeysMax = 384;

  typedef enum logic [2:0] {
    FdNone,
    FdFlags,
    FdExptime,
    FdLength,
    FdNumber
  } field_e;

  /// What is known of the line so far.
  typedef struct packed {
    cmd_e        cmd;
    op_e         op;        // of a line begun in an earlier job
    logic        old;       // begun in an earlier job: see the job's context
    logic [3:0]  words;     // complete ones, at most 8
    logic [8:0]  chars;     // of the word so far, at most 511
    logic        nul;       // the rest counts for nothing
    logic [7:0]  klen;
    logic        key_long;
    logic        flags_ok;
    logic        flags_set;
    logic        exptime_ok;
    logic        number_ok;
    logic        length_ok;
    logic        length_neg;
    logic        length_big;
    logic [26:0] length;
    logic        zero;      // third word is "0"
    logic        noreply;   // last word is "noreply"
    logic        eager;     // commit the keys of a `get` as they come
    logic        partial;   // a `get` line that was committed in part
    logic        bad;       // a `get` line with a key too long
  } line_info_t;

  function automatic logic is_get(input cmd_e cmd);
    return cmd inside {CmdGet, CmdGets, CmdGat, CmdGats};
  endfunction
  function automatic logic is_gat(input cmd_e cmd);
    return cmd inside {CmdGat, CmdGats};
  endfunction
  function automatic logic is_store(input cmd_e cmd);
    return cmd inside {CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend};
  endfunction
  function automatic op_e op_of(input cmd_e cmd);
    unique case (cmd)
      CmdSet:     return OpSet;
      CmdAdd:     return OpAdd;
      CmdReplace: return OpReplace;
      CmdCas:     return OpCas;
      CmdDelete:  return OpDelete;
      CmdIncr:    return OpIncr;
      CmdDecr:    return OpDecr;
      CmdTouch:   return OpTouch;
      CmdFlush:   return OpFlush;
      default:    return OpGet;
    endcase
  endfunction

  // ---------------------------------------------------------------- the line with this piece
  line_info_t line_q, line_was, line_d;
  // The line's end needs most of the fields, not all.
  // verilator lint_off UNUSEDSIGNAL
  line_info_t line_now;
  // verilator lint_on UNUSEDSIGNAL
  logic dead_q, dead;           // nothing of the rest of the job counts
  logic [13:0] line_pos_q, line_pos, word_pos_q, word_pos;
  logic [8:0] keys_q;           // key beats not committed
  logic late_q;                 // a slow line's end waits
  logic [1:0] late_step_q;
  logic [31:0] rest_q;          // of item data or bytes to discard, behind this job

  ctx_t ctx;
  assign ctx = job_i.ctx;

  logic text, value, skip, empty_job;
  logic word_done, single, is_key, key_too_long;
  logic [6:0] n;
  logic [8:0] chars;
  logic [3:0] index;
  field_e field;

  always_comb begin
    line_was = line_q;
    dead     = dead_q;
    line_pos = line_pos_q;
    word_pos = word_pos_q;
    if (piece_i.sof && piece_valid_i) begin
      line_was = '0;
      dead     = 1'b0;
      line_pos = '0;
      word_pos = '0;
      line_was.eager = !job_i.udp && ctx.mode inside {MdKeys, MdLong};
      if (!job_i.udp && ctx.mode == MdKeys) begin
        line_was.cmd        = ctx.touch ? (ctx.cas_out ? CmdGats : CmdGat) :
                                          (ctx.cas_out ? CmdGets : CmdGet);
        line_was.words      = 4'd2;
        line_was.old        = 1'b1;
        line_was.partial    = 1'b1;
        line_was.exptime_ok = 1'b1;
        line_was.bad        = ctx.noreply;
      end
      if (!job_i.udp && ctx.mode == MdValue) begin
        line_was.op      = ctx.op;
        line_was.old     = 1'b1;
        line_was.klen    = ctx.klen;
        line_was.noreply = ctx.noreply;
      end
    end

    empty_job = piece_valid_i && piece_i.sof && (job_i.host || ctx.cont) && !job_i.udp;
    text      = piece_valid_i && piece_i.kind == PcText && !dead && !empty_job;
    value     = piece_valid_i && piece_i.kind == PcValue && !dead;
    skip      = piece_valid_i && piece_i.kind == PcSkip && !dead;

    n         = line_was.nul ? 7'd0 : piece_i.n;
    single    = line_was.chars == '0;
    chars     = (line_was.chars[8]) ? line_was.chars : line_was.chars + 9'(n);
    word_done = text && piece_i.ends && !line_was.nul && chars != '0;
    index     = line_was.words;
    line_d    = line_was;
    field     = FdNone;
    is_key    = 1'b0;

    if (text) begin
      line_d.chars = (piece_i.ends || line_was.nul) ? '0 : chars;
      if (piece_i.nul) line_d.nul = 1'b1;
      if (index == '0) begin
        if (word_done) line_d.cmd = single ? piece_i.cmd : CmdUnknown;
      end else if (is_get(line_was.cmd)) begin
        is_key = !is_gat(line_was.cmd) || index >= 4'd2;
      end else begin
        is_key = index == 4'd1 && (is_store(line_was.cmd) || line_was.cmd inside
                                   {CmdDelete, CmdIncr, CmdDecr, CmdTouch});
      end
      if (is_key) begin
        line_d.klen     = chars[7:0];
        line_d.key_long = chars > 9'(KeyMax);
      end
      if (word_done) begin
        line_d.words   = (index == 4'd8) ? 4'd8 : index + 4'd1;
        line_d.noreply = single && piece_i.noreply;
        if (index == 4'd2) line_d.zero = single && piece_i.zero;
        // Which number the word is.
        if (is_store(line_was.cmd)) begin
          unique case (index)
            4'd2:    field = FdFlags;
            4'd3:    field = FdExptime;
            4'd4:    field = FdLength;
            4'd5:    field = (line_was.cmd == CmdCas) ? FdNumber : FdNone;
            default: field = FdNone;
          endcase
        end else if (index == 4'd2) begin
          if (line_was.cmd inside {CmdIncr, CmdDecr}) field = FdNumber;
          if (line_was.cmd == CmdTouch) field = FdExptime;
        end else if (index == 4'd1) begin
          if (is_gat(line_was.cmd) || line_was.cmd == CmdFlush) field = FdExptime;
          if (line_was.cmd == CmdVerbosity) field = FdNumber;
        end
        unique case (field)
          FdFlags: begin
            line_d.flags_ok  = single && num_i.ok_unsigned;
            line_d.flags_set = num_i.nonzero;
          end
          FdExptime: line_d.exptime_ok = single && num_i.ok_signed;
          FdLength: begin
            line_d.length_ok  = single && num_i.ok_signed;
            line_d.length_neg = num_i.neg && num_i.nonzero;
            line_d.length_big = num_i.big;
            line_d.length     = num_i.low8;
          end
          FdNumber: line_d.number_ok = single && num_i.ok_unsigned;
          default: ;
        endcase
      end
    end
    key_too_long = is_key && is_get(line_was.cmd) && line_d.key_long && !line_was.bad;
    if (key_too_long) line_d.bad = 1'b1;
    line_now = late_q ? line_q : line_d;
  end

  // ---------------------------------------------------------------- text for host software
  // Words joined by one space; a beat goes out when the next byte would not fit.
  line_t gather_q, gather_d;
  logic [6:0] gather_len_q, gather_len_d;
  logic [8:0] gather_total_q, gather_total_d;
  logic gather, gather_full, gather_space;
  logic [1023:0] gathered;
  logic [7:0] gathered_len;
  line_t piece_bytes;
  assign piece_bytes = piece_i.data & ~({512{1'b1}} << {piece_i.n, 3'b000});

  always_comb begin
    gather         = text && n != '0 && line_d.cmd == CmdHost && (index != '0 || word_done);
    gather_space   = gather && single && index != '0;
    gather_d       = gather_q;
    gather_len_d   = gather_len_q;
    gather_total_d = gather_total_q;
    gathered       = '0;
    gathered_len   = 8'(gather_len_q);
    gather_full    = 1'b0;
    if (gather) begin
      gathered_len = 8'(gather_len_q) + 8'(gather_space) + 8'(n);
      gathered     = {512'd0, gather_q} |
                     (({512'd0, piece_bytes} << {gather_space, 3'b000} |
                       (gather_space ? 1024'h20 : 1024'd0)) << {gather_len_q, 3'b000});
      gather_full  = gathered_len > 8'd64;
      gather_d     = gather_full ? gathered[1023:512] : gathered[511:0];
      gather_len_d = gather_full ? 7'(gathered_len - 8'd64) : gathered_len[6:0];
      if (!gather_total_q[8]) gather_total_d = gather_total_q + 9'(gather_space) + 9'(n);
      if (gathered_len[7] && gathered_len[0]) gather_total_d = '1;  // 129: over the limit anyway
    end
  end

  // ---------------------------------------------------------------- the line's end
  // Most lines are decided with their last piece; these need a clock in between: a bad `get` line
  // (its records are taken back first), host text (its last beat), a long number for a length.
  logic eol, late, decide, udp;
  logic [31:0] length_q, length32, vlen, need, taken;
  logic [13:0] avail, line_len;
  logic words_ok, short_command, bad_format, too_big, unsupported;
  logic late_go;

  assign udp      = job_i.udp;
  assign eol      = text && piece_i.eol;
  assign late     = eol && piece_i.slow && ((line_d.cmd == CmdHost && !udp) || line_d.bad ||
                    (is_store(line_d.cmd) && line_d.length_ok && line_d.length_big &&
                     !piece_i.eof));
  assign late_go  = late_q && late_step_q == (is_store(line_q.cmd) ? 2'd3 : 2'd1);
  assign decide   = (eol && !late) || late_go;
  assign avail    = job_i.len - piece_i.pos;
  assign line_len = piece_i.pos - line_pos;

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
  op_e op;
  logic noreply, use_exptime, key_goes;
  logic get_record;   // this piece completes a key of a `get`

  always_comb begin
    get_record = word_done && is_key && is_get(line_was.cmd) && !line_d.bad &&
                 (line_was.exptime_ok || !is_gat(line_was.cmd));

    length32 = length_q;
    vlen     = (line_now.length_big && late_q) ? length32 : 32'(line_now.length);
    need     = vlen + 32'd2;

    short_command = line_now.words == '0;
    unique case (line_now.cmd)
      CmdGet, CmdGets, CmdGat, CmdGats: words_ok = line_now.words >= 4'd2;
      CmdSet, CmdAdd, CmdReplace, CmdAppend, CmdPrepend:
        words_ok = line_now.words inside {4'd5, 4'd6};
      CmdCas:                     words_ok = line_now.words inside {4'd6, 4'd7};
      CmdIncr, CmdDecr, CmdTouch: words_ok = line_now.words inside {4'd3, 4'd4};
      CmdDelete:                  words_ok = line_now.words inside {4'd2, 4'd3, 4'd4};
      CmdFlush:                   words_ok = line_now.words <= 4'd3;
      CmdVerbosity:               words_ok = line_now.words inside {4'd2, 4'd3};
      default:                    words_ok = 1'b1;
    endcase

    bad_format = line_now.key_long || !line_now.flags_ok || !line_now.exptime_ok ||
                 !line_now.length_ok || (line_now.cmd == CmdCas && !line_now.number_ok) ||
                 (line_now.length_big ? late_q && (length32[31] || length32[30:0] > 31'h7ffffffd) :
                                        line_now.length_neg);
    too_big     = 33'(vlen) + 33'(line_now.klen) + (line_now.flags_set ? 33'd4 : 33'd0) +
                  33'(ItemOverhead) > 33'(item_max_i);
    unsupported = line_now.cmd inside {CmdAppend, CmdPrepend};

    action      = AcReply;
    reply       = RpError;
    op          = op_of(line_now.cmd);
    noreply     = line_now.noreply;
    use_exptime = 1'b0;
    key_goes    = 1'b0;

    if (short_command || !words_ok) begin
      noreply = 1'b0;
    end else begin
      unique case (line_now.cmd)
        CmdGet, CmdGets, CmdGat, CmdGats: begin
          noreply = 1'b0;
          if (is_gat(line_now.cmd) && !line_now.exptime_ok) reply = RpBadExptime;
          else if (line_now.bad) reply = RpBadFormat;
          else if (get_record) action = AcEndOfGet;
          else reply = RpEnd;
        end
        CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend: begin
          if (bad_format) begin
            reply = RpBadFormat;
          end else if (line_now.length_big && !late_q) begin
            action = AcBack;
          end else if (too_big) begin
            action   = AcSwallow;
            reply    = RpTooLarge;
            op       = (line_now.cmd == CmdSet) ? OpTooBig : OpReply;
            key_goes = line_now.cmd == CmdSet;
          end else if (unsupported) begin
            action = AcSwallow;
            reply  = RpUnsupported;
            op     = OpReply;
          end else if (need <= 32'(avail)) begin
            action = AcStore;
          end else if (!udp && !piece_i.eof && line_pos == '0 &&
                       job_i.len == 14'(JobBytes)) begin
            action = AcStorePart;
          end else begin
            action = AcBack;
          end
        end
        CmdDelete: begin
          if (line_now.words == 4'd2) noreply = 1'b0;
          if (line_now.words > 4'd2 &&
              !((line_now.words == 4'd3) ? (line_now.zero || line_now.noreply) :
                                           (line_now.zero && line_now.noreply)))
            reply = RpBadDelete;
          else if (line_now.key_long) reply = RpBadFormat;
          else action = AcOp;
          key_goes = action == AcOp;
        end
        CmdIncr, CmdDecr: begin
          if (line_now.key_long) reply = RpBadFormat;
          else if (!line_now.number_ok) reply = RpBadDelta;
          else action = AcOp;
          key_goes = action == AcOp;
        end
        CmdTouch: begin
          use_exptime = 1'b1;
          if (line_now.key_long) reply = RpBadFormat;
          else if (!line_now.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
          key_goes = action == AcOp;
        end
        CmdFlush: begin
          use_exptime = line_now.words > (line_now.noreply ? 4'd2 : 4'd1);
          if (use_exptime && !line_now.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
        end
        CmdVerbosity: reply = line_now.number_ok ? RpOk : RpBadFormat;
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
        default: noreply = 1'b0;
      endcase
    end
    taken = (need - 32'd2 < 32'(avail)) ? need - 32'd2 : 32'(avail);
  end

  // ---------------------------------------------------------------- what goes out
  typedef enum logic [1:0] {
    OsOwn,   // the record's own
    OsNew,   // of the item begun last, first use
    OsSame   // of the item whose offset was used last
  } off_sel_e;

  typedef struct packed {
    req_t        req;
    off_sel_e    off_sel;
    logic        use_flags;
    logic        use_exptime;
    logic        use_number;
  } out_rec_t;

  typedef struct packed {
    logic [13:0] pos;
    mode_e       mode;
    logic [31:0] rem;
    logic        bad;
  } end_t;

  logic rec_push, rec_commit, rec_back, key_push, key_commit, key_back;
  logic putb_push, putb_commit, putb_back, put_push;
  out_rec_t rec_d;
  logic [13:0] rec_pos;        // bytes of the job consumed with the record
  beat_t key_d, putb_d;
  put_t put_d;
  end_t end_d, end_q;
  logic end_go_q, end_go_d;    // the job ends with the next clock
  logic dead_d, line_reset, part_commit;
  logic first_q, first_kept_q;
  resume_t verdict;
  logic [31:0] rest, rest_d;

  logic [20:0] vlen_q, vlen_line;
  op_e op_line;
  assign op_line   = line_was.old && ctx.mode == MdValue ? line_was.op : op_of(line_was.cmd);
  assign vlen_line = line_was.old ? ctx.vlen : vlen_q;

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
    dead_d      = dead;
    line_reset  = 1'b0;
    part_commit = 1'b0;
    rest        = (piece_i.sof && piece_valid_i) ? ctx.rem - 32'(job_i.len) : rest_q;
    rest_d      = rest;
    verdict     = '0;

    rec_d              = '0;
    rec_d.req.op       = OpReply;
    rec_d.req.udp      = udp;
    rec_d.req.conn     = job_i.conn;
    rec_d.req.first    = first_q;
    rec_d.req.tx_ptr   = job_i.tx_ptr;
    rec_d.req.tx_space = job_i.tx_space;
    rec_d.req.noreply  = noreply;
    rec_d.req.klen     = line_now.klen;
    rec_d.req.rx_ptr   = ctx.rx_ptr;
    if (line_now.old || empty_job) begin
      rec_d.req.hash    = ctx.hash;
      rec_d.req.off     = ctx.off;
      rec_d.req.exptime = ctx.exptime;
      rec_d.req.num     = ctx.num;
    end
    rec_d.req.cas_out  = line_now.cmd inside {CmdGets, CmdGats};
    rec_d.req.touch    = is_gat(line_now.cmd);
    rec_d.req.ctx_op   = op;
    rec_pos          = piece_i.pos;

    key_d.data = piece_bytes;
    key_d.len  = piece_i.n;
    key_d.last = piece_i.ends;
    putb_d     = key_d;

    put_d           = '0;
    put_d.start     = 1'b1;
    put_d.klen      = line_now.klen;
    put_d.vlen      = vlen[20:0];

    if (empty_job) begin
      // A piece of the host's answer, or the rest of a value.
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
        end_d.rem          = '0;
        end_d.mode         = !job_i.host_final ? MdHost : job_i.host_close ? MdQuit : MdLine;
      end else begin
        rec_d.req.op         = OpCont;
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
      rec_pos      = '0;
      end_d.pos      = '0;
      end_d.bad      = ctx.noreply;
      end_go_d       = 1'b1;
      dead_d         = 1'b1;
    end

    if (text) begin
      if (is_key && n != '0 && !line_d.key_long && !line_d.bad) begin
        key_push  = 1'b1;
        putb_push = is_store(line_was.cmd);
      end
      putb_d.last = 1'b0;
      if (gather_full) begin
        key_push   = !gather_total_d[8];
        key_d.data = gathered[511:0];
        key_d.len  = 7'd64;
        key_d.last = 1'b0;
      end
      if (key_too_long) begin
        rec_back = 1'b1;
        key_back = 1'b1;
      end
      if (get_record) begin
        rec_push           = 1'b1;
        rec_d.req.op       = OpGet;
        rec_d.req.ctx_op   = OpGet;
        rec_d.req.noreply  = 1'b0;
        rec_d.req.reply    = RpNone;
        rec_d.req.last_key = piece_i.eol;
        rec_d.use_exptime  = is_gat(line_was.cmd) && !line_was.old;
        rec_d.req.mode     = piece_i.eol ? MdLine : MdKeys;
        part_commit        = !piece_i.eol && (keys_q >= 9'(KeysMax) || line_was.eager);
        rec_commit         = piece_i.eol || part_commit;
        key_commit         = rec_commit;
      end
    end

    if (decide) begin
      line_reset    = 1'b1;
      verdict.valid = piece_i.slow && !piece_i.eof;
      verdict.kind  = VdLine;
      end_d.pos     = piece_i.pos;
      end_d.mode    = MdLine;
      end_d.rem     = '0;
      end_d.bad     = 1'b0;
      if (!get_record || late_q) begin
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
          verdict.count  = (need < 32'(avail)) ? need[13:0] : avail;
          verdict.final_ = need <= 32'(avail);
          rest_d         = need - 32'(avail);
          end_d.mode     = MdSwallow;
          end_d.rem      = need;
        end
        AcStore, AcStorePart: begin
          line_reset      = 1'b0;
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
          dead_d         = 1'b1;
        end
        AcQuit: begin
          verdict.kind = VdDrop;
          end_d.mode   = MdQuit;
          dead_d       = 1'b1;
        end
        default: begin
          key_back     = 1'b1;
          putb_back    = 1'b1;
          verdict.kind = VdDrop;
          end_d.pos    = line_pos;
          end_d.rem    = 32'(line_len) + need;
          if (end_d.rem > JobBytes) end_d.rem = 32'(JobBytes);
          if (line_now.length_big && !late_q) end_d.rem = 32'(line_len) + 32'd1;
          if (line_len > 14'(LineMax)) end_d.mode = MdQuit;
          dead_d       = 1'b1;
        end
      endcase
      end_go_d = piece_i.eof;
    end else if (text && piece_i.eof && !eol) begin
      // The line goes on beyond the job.
      end_go_d  = 1'b1;
      dead_d    = 1'b1;
      key_back  = !rec_commit;
      rec_back  = !rec_commit;
      putb_back = 1'b1;
      end_d.bad = 1'b0;
      end_d.rem = 32'(line_len) + 32'd1;
      end_d.pos = line_pos;
      end_d.mode = MdLine;
      if (is_get(line_d.cmd) && line_d.bad && (line_d.partial || line_len > 14'(LineMax))) begin
        end_d.pos  = piece_i.pos;
        end_d.mode = MdKeys;
        end_d.rem  = '0;
        end_d.bad  = 1'b1;
      end else if (line_d.partial || part_commit) begin
        end_d.pos  = piece_i.ends ? piece_i.pos : word_pos;
        end_d.mode = MdKeys;
        end_d.rem  = piece_i.ends ? 32'd0 : 32'(piece_i.pos - word_pos) + 32'd1;
      end else if (line_len > 14'(LineMax) &&
                   !(line_d.cmd inside {CmdGet, CmdGets} && !line_d.eager)) begin
        end_d.pos  = piece_i.pos;
        end_d.mode = MdQuit;
        end_d.rem  = '0;
      end else if (line_len == 14'(JobBytes)) begin
        end_d.mode = MdLong;
        end_d.rem  = '0;
      end
    end

    if (value) begin
      putb_push   = piece_i.n != '0 || !line_was.old;
      putb_commit = 1'b1;
      putb_d.last = piece_i.last;
      // Only the first piece of a later part announces it.
      put_push       = piece_i.sof && ctx.rem != 32'd2;
      if (line_was.old) begin
        put_d.start = 1'b0;
        put_d.vlen  = ctx.vlen;
        put_d.off   = ctx.off;
        put_d.done  = ctx.vlen + 21'd2 - ctx.rem[20:0];
      end
      if (piece_i.last) begin
        rec_push             = 1'b1;
        rec_commit           = 1'b1;
        rec_d.req.op         = op_line;
        rec_d.req.ctx_op     = op_line;
        rec_d.req.reply      = RpNone;
        rec_d.req.noreply    = line_was.noreply;
        rec_d.req.klen       = line_was.klen;
        rec_d.req.vlen       = vlen_line;
        rec_d.req.key_stored = line_was.old;
        rec_d.off_sel        = line_was.old ? OsOwn : OsNew;
        rec_d.use_flags      = !line_was.old;
        rec_d.use_exptime    = !line_was.old;
        rec_d.use_number     = !line_was.old && op_line == OpCas;
        key_commit           = 1'b1;
        end_d.pos            = piece_i.pos;
        end_d.mode           = MdLine;
        end_d.rem            = '0;
        end_d.bad            = line_was.noreply;
        line_reset           = 1'b1;
        if (!piece_i.final_) begin
          rec_d.req.op   = OpPart;
          rec_d.req.mode = MdValue;
          rec_d.req.rem  = rest;
          end_d.mode     = MdValue;
          end_d.rem      = rec_d.req.rem;
          line_reset     = 1'b0;
          dead_d         = 1'b1;
        end else if (!piece_i.crlf) begin
          rec_d.req.op    = OpReply;
          rec_d.req.reply = line_was.noreply ? RpNone : RpBadChunk;
          key_commit      = 1'b0;
          key_back        = 1'b1;
        end
        end_go_d = piece_i.eof;
      end
    end

    if (skip && piece_i.last) begin
      end_d.pos  = piece_i.pos;
      end_d.mode = piece_i.final_ ? MdLine : MdSwallow;
      end_d.rem  = piece_i.final_ ? '0 : rest;
      end_d.bad  = 1'b0;
      line_reset = piece_i.final_;
      end_go_d   = piece_i.eof;
    end

    if (piece_valid_i && dead && piece_i.eof) end_go_d = 1'b1;

    // The last record of the job.
    if (end_go_q) begin
      rec_push             = 1'b1;
      rec_commit           = 1'b1;
      rec_d.req.op         = OpEnd;
      rec_d.req.reply      = RpNone;
      rec_d.req.mode       = end_q.mode;
      rec_d.req.rem        = end_q.rem;
      rec_pos            = end_q.pos;
      rec_d.off_sel        = (!line_q.old && end_q.mode == MdValue) ? OsSame : OsOwn;
      rec_d.req.noreply    = end_q.bad;
      rec_d.req.key_stored = line_q.old;
      rec_d.req.klen       = line_q.klen;
      rec_d.req.vlen       = line_q.old ? ctx.vlen : vlen_q;
      rec_d.req.ctx_op     = (line_q.old && ctx.mode == MdValue) ? line_q.op : op_of(line_q.cmd);
      rec_d.req.cas_out    = line_q.cmd inside {CmdGets, CmdGats};
      rec_d.req.touch      = is_gat(line_q.cmd);
      rec_d.use_exptime    = !line_q.old && end_q.mode inside {MdKeys, MdValue};
      rec_d.use_number     = !line_q.old && end_q.mode == MdValue;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      line_q         <= '0;
      dead_q         <= 1'b0;
      late_q         <= 1'b0;
      end_go_q       <= 1'b0;
      first_q        <= 1'b1;
      first_kept_q   <= 1'b1;
      keys_q         <= '0;
      gather_q       <= '0;
      gather_len_q   <= '0;
      gather_total_q <= '0;
    end else begin
      if (piece_valid_i) begin
        line_q         <= line_d;
        dead_q         <= dead_d;
        line_pos_q     <= line_pos;
        word_pos_q     <= (piece_i.ends || !text) ? piece_i.pos : word_pos;
        gather_q       <= gather_d;
        gather_len_q   <= gather_len_d;
        gather_total_q <= gather_total_d;
        if (part_commit) line_q.partial <= 1'b1;
      end
      if (late) begin
        late_q      <= 1'b1;
        late_step_q <= 2'd1;
      end else begin
        late_step_q <= late_step_q + 2'd1;
        if (late_go) late_q <= 1'b0;
      end
      if (decide) dead_q <= dead_d;
      if (decide || end_go_q) begin
        gather_q       <= '0;
        gather_len_q   <= '0;
        gather_total_q <= '0;
      end
      if (line_reset) begin
        line_q     <= '0;
        line_pos_q <= piece_i.pos;
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
    if (piece_valid_i || decide) begin
      end_q  <= end_d;
      rest_q <= rest_d;
    end
    if (decide && put_push) vlen_q <= vlen[20:0];
  end

  assign job_pop_o  = end_go_q;
  assign verdict_o  = verdict;
  assign line_o     = line_reset;
  assign error_o    = decide && action == AcReply && reply inside {RpError, RpBadFormat,
                      RpBadExptime, RpBadDelta, RpBadDelete};
  assign rollback_o = (decide && action == AcBack) || (text && piece_i.eof && !eol);
  assign host_o     = decide && action == AcHost;

  // ---------------------------------------------------------------- numbers catch up
  // A word's value comes two clocks after the word; its record waits that long.
  field_e field1_q, field2_q;
  logic neg1_q, neg2_q;
  logic [31:0] flags_q, flags, exptime_q, exptime, signed32;
  logic [63:0] number_q, number;
  assign signed32 = neg2_q ? -value_i[31:0] : value_i[31:0];
  assign flags    = (field2_q == FdFlags) ? value_i[31:0] : flags_q;
  assign exptime  = (field2_q == FdExptime) ? signed32 : exptime_q;
  assign number   = (field2_q == FdNumber) ? value_i : number_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      field1_q <= FdNone;
      field2_q <= FdNone;
    end else begin
      field1_q <= field;
      field2_q <= field1_q;
    end
    neg1_q <= num_i.neg;
    neg2_q <= neg1_q;
    if (field2_q == FdFlags) flags_q <= value_i[31:0];
    if (field2_q == FdExptime) exptime_q <= signed32;
    if (field2_q == FdNumber) number_q <= value_i;
    if (field2_q == FdLength) length_q <= signed32;
  end

  // memcached's times: seconds up to 30 days are relative, more are absolute; negative is past.
  function automatic logic [31:0] absolute(input logic [31:0] time_, input logic [31:0] now);
    if (time_ == '0) return '0;
    if (time_[31]) return 32'd1;
    if (time_ <= 32'd2592000) return now + time_;
    return time_;
  endfunction

  logic [31:0] when_;
  assign when_ = absolute(exptime, now_i);

  out_rec_t rec1_q, rec2_q;
  logic [13:0] rec1_pos_q;
  logic rec1_push_q, rec1_commit_q, rec1_back_q, rec2_push_q, rec2_commit_q, rec2_back_q;
  logic put1_push_q, put2_push_q;
  put_t put1_q, put2_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {rec1_push_q, rec1_commit_q, rec1_back_q} <= '0;
      {rec2_push_q, rec2_commit_q, rec2_back_q} <= '0;
      {put1_push_q, put2_push_q} <= '0;
    end else begin
      {rec1_push_q, rec1_commit_q, rec1_back_q} <= {rec_push, rec_commit, rec_back};
      {rec2_push_q, rec2_commit_q, rec2_back_q} <= {rec1_push_q, rec1_commit_q, rec1_back_q};
      {put1_push_q, put2_push_q} <= {put_push, put1_push_q};
    end
    if (rec_push) begin
      rec1_q     <= rec_d;
      rec1_pos_q <= rec_pos;
    end
    if (rec1_push_q) begin
      rec2_q            <= rec1_q;
      rec2_q.req.rx_ptr <= rec1_q.req.rx_ptr + 32'(rec1_pos_q);
    end
    if (put_push) put1_q <= put_d;
    if (put1_push_q) put2_q <= put1_q;
  end

  typedef struct packed {
    req_t     req;
    off_sel_e off_sel;
  } stored_t;

  stored_t store_rec, head;
  put_t store_put;
  always_comb begin
    store_rec.req     = rec2_q.req;
    store_rec.off_sel = rec2_q.off_sel;
    if (rec2_q.use_flags) store_rec.req.flags = flags;
    if (rec2_q.use_exptime)
      store_rec.req.exptime = (rec2_q.req.op == OpFlush && exptime[31]) ? '0 : when_;
    if (rec2_q.use_number) store_rec.req.num = number;
    store_put = put2_q;
    if (put2_q.start) begin
      store_put.flags   = flags;
      store_put.exptime = when_;
    end
  end

  // ---------------------------------------------------------------- queues
  localparam int unsigned ReqDepth  = 512;
  localparam int unsigned KeyDepth  = 512;
  localparam int unsigned PutbDepth = 256;
  localparam int unsigned PutDepth  = 16;
  localparam int unsigned Slack     = 16;  // results of the pieces that may still come

  logic head_valid, head_ready;
  logic [3:0] unused_ready;  // always there for what `room_o` promised
  logic [$clog2(ReqDepth+1)-1:0] req_free;
  logic [$clog2(KeyDepth+1)-1:0] key_free;
  logic [$clog2(PutbDepth+1)-1:0] putb_free;
  logic [$clog2(PutDepth+1)-1:0] put_level;
  logic room_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) room_q <= 1'b0;
    else
      room_q <= 32'(req_free) >= Slack && 32'(key_free) >= Slack && 32'(putb_free) >= Slack &&
                32'(put_level) <= PutDepth - 10;
  end
  assign room_o = room_q;

  lib_cfifo #(
    .T    (stored_t),
    .Depth(ReqDepth)
  ) u_req (
    .clk_i,
    .rst_ni,
    .s_valid_i (rec2_push_q),
    .s_ready_o (unused_ready[0]),
    .s_data_i  (store_rec),
    .commit_i  (rec2_commit_q),
    .rollback_i(rec2_back_q),
    .m_valid_o (head_valid),
    .m_ready_i (head_ready),
    .m_data_o  (head),
    .free_o    (req_free)
  );

  logic key1_push_q, key1_commit_q, key1_back_q, putb1_push_q, putb1_commit_q, putb1_back_q;
  beat_t key1_q, putb1_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {key1_push_q, key1_commit_q, key1_back_q}    <= '0;
      {putb1_push_q, putb1_commit_q, putb1_back_q} <= '0;
    end else begin
      {key1_push_q, key1_commit_q, key1_back_q}    <= {key_push, key_commit, key_back};
      {putb1_push_q, putb1_commit_q, putb1_back_q} <= {putb_push, putb_commit, putb_back};
    end
    if (key_push) key1_q <= key_d;
    if (putb_push) putb1_q <= putb_d;
  end

  lib_cfifo #(
    .T    (beat_t),
    .Depth(KeyDepth)
  ) u_key (
    .clk_i,
    .rst_ni,
    .s_valid_i (key1_push_q),
    .s_ready_o (unused_ready[1]),
    .s_data_i  (key1_q),
    .commit_i  (key1_commit_q),
    .rollback_i(key1_back_q),
    .m_valid_o (key_valid_o),
    .m_ready_i (key_ready_i),
    .m_data_o  (key_o),
    .free_o    (key_free)
  );

  lib_cfifo #(
    .T    (beat_t),
    .Depth(PutbDepth)
  ) u_putb (
    .clk_i,
    .rst_ni,
    .s_valid_i (putb1_push_q),
    .s_ready_o (unused_ready[2]),
    .s_data_i  (putb1_q),
    .commit_i  (putb1_commit_q),
    .rollback_i(putb1_back_q),
    .m_valid_o (putb_valid_o),
    .m_ready_i (putb_ready_i),
    .m_data_o  (putb_o),
    .free_o    (putb_free)
  );

  logic puth_valid, off_s_ready, off_valid, off_take;
  lib_fifo #(
    .T    (put_t),
    .Depth(PutDepth)
  ) u_put (
    .clk_i,
    .rst_ni,
    .s_valid_i(put2_push_q),
    .s_ready_o(unused_ready[3]),
    .s_data_i (store_put),
    .m_valid_o(puth_valid),
    .m_ready_i(put_ready_i && off_s_ready),
    .m_data_o (put_o),
    .level_o  (put_level)
  );
  assign put_valid_o = puth_valid && off_s_ready;

  // Where the log put the items whose records are still to come.
  off_t off_head, off_last_q;
  logic [5:0] off_level;
  lib_fifo #(
    .T    (off_t),
    .Depth(32)
  ) u_off (
    .clk_i,
    .rst_ni,
    .s_valid_i(put_valid_o && put_ready_i && put_o.start),
    .s_ready_o(off_s_ready),
    .s_data_i (put_off_i),
    .m_valid_o(off_valid),
    .m_ready_i(off_take),
    .m_data_o (off_head),
    .level_o  (off_level)
  );

  assign req_valid_o = head_valid && (head.off_sel != OsNew || off_valid);
  assign head_ready  = req_ready_i && (head.off_sel != OsNew || off_valid);
  assign off_take    = req_valid_o && req_ready_i && head.off_sel == OsNew;
  always_comb begin
    req_o = head.req;
    if (head.off_sel == OsNew) req_o.off = off_head;
    if (head.off_sel == OsSame) req_o.off = off_last_q;
  end
  always_ff @(posedge clk_i) if (off_take) off_last_q <= off_head;

  assign idle_o = !piece_valid_i && !late_q && !end_go_q && !rec1_push_q && !rec2_push_q &&
                  req_free == ($clog2(ReqDepth+1))'(ReqDepth) && !putb_valid_o && !puth_valid &&
                  !key_valid_o && off_level == '0;

  `ASSERT(QueuesHold, !(rec2_push_q && !unused_ready[0]) && !(key1_push_q && !unused_ready[1]) &&
                      !(putb1_push_q && !unused_ready[2]) && !(put2_push_q && !unused_ready[3]))
  `ASSERT(OneThingAtATime, !(piece_valid_i && (end_go_q || late_q)))

endmodule
