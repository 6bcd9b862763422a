// Reads what the fast path does not understand at a glance: one request, or what an earlier job has left
// of one, a character a clock. It knows every form: odd spacing, errors, numbers of any length, text for host
// software, binary requests, lines and values longer than a job. Values do not pass here; the payload mover has them. So it has
// text of Redis' protocol, whose long arguments are passed unread.
//
// Records and key beats of a line become visible at its end. A line that the job does not hold completely is
// taken back and read again by the connection's next job; a SET whose data exceeds a job goes to the log in
// parts, a `get` line beyond a job is left between two keys.
`include "lib_assert.svh"

module slow_path
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import parse_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The clock's present second began then, in milliseconds.
  input  msec_t       second_i,
  /// Largest item as memcached counts it (-I): key, value, 4 if it has flags, and ItemOverhead.
  input  logic [20:0] item_max_i,
  /// All of a job's bytes from its first request that is no plain GET on are for host software, as they are; but for
  /// the request port's.
  input  logic        upstream_i,
  /// Read from this place of the job on. Pulse, when idle. The job stands until it is done.
  input  logic        start_i,
  input  place_t      from_i,
  input  logic        first_i,
  input  job_t        job_i,
  input  place_t      job_start_i,
  input  place_t      job_stop_i,
  /// First line that has not come. A line that is wanted comes a clock later.
  input  line_no_t    coming_i,
  output logic        read_o,
  output line_no_t    line_o,
  input  line_t       data_i,
  /// Once it has begun: how far it has come, and the first line that it may read again.
  output logic        begun_o,
  output place_t      place_o,
  output line_no_t    kept_o,
  /// Done: there the next request starts, or the rest of the job does not count. Nothing of the job has gone
  /// out. Pulse.
  output logic        done_o,
  output logic        over_o,
  output logic        first_o,
  /// Requests; their numbers come a clock later.
  input  logic        room_i,
  output out_t        out_o,
  output numbers_t    numbers_o,
  /// For the payload mover: item data, or text for host software, of which some is on its way there.
  output logic        item_valid_o,
  input  logic        item_ready_i,
  output place_t      item_place_o,
  output logic [13:0] item_len_o,
  output logic        item_text_o,
  input  logic        text_moves_i,
  /// Pulses.
  output logic        line_done_o,
  output logic        error_o,
  output logic        rollback_o,
  output logic        host_o,
  /// Nothing to do.
  output logic        idle_o
);

  /// Text of a command of Redis' protocol that goes to host software at once.
  localparam int unsigned PartBytes = KeyMax;
  /// A command of Redis' protocol that is shorter is read again if gates turn out not to run it.
  localparam int unsigned KeepMax = 2560;
  /// A line longer than this need not be kept in one piece.
  localparam int unsigned LineMax = 2048;
  /// A `get` line goes on in parts when this many beats of its keys wait for its end.
  localparam int unsigned KeysMax = 384;

  byte_e state_q;

  // The job, as it was when it was begun: so much hangs on it that it stands in flip-flops here.
  job_t job_q;
  place_t start_q, stop_q;
  ctx_t ctx;
  logic plain_only_q;  // see upstream_i
  always_ff @(posedge clk_i) begin
    if (state_q == ByIdle) begin
      plain_only_q <= upstream_i && (job_i.udp || job_i.visit.conn != HostConn);
      job_q   <= job_i;
      start_q <= job_start_i;
      stop_q  <= job_stop_i;
    end
  end
  assign ctx = job_q.ctx;

  // ---------------------------------------------------------------- what is read
  logic go, char_valid, char_over, char_take;
  place_t go_place;
  letter_t char;
  place_t place;  // of the next character
  byte_reader u_reader (
    .clk_i,
    .rst_ni,
    .go_i    (go),
    .place_i (go_place),
    .binary_i(ctx.binary.is || ctx.resp.is),
    .stop_i  (stop_q),
    .coming_i,
    .read_o,
    .line_o,
    .data_i,
    .valid_o (char_valid),
    .char_o  (char),
    .over_o  (char_over),
    .place_o  (place),
    .take_i  (char_take)
  );

  // Begins a clock after it is told to, since that is known late; what comes with it is taken as long as nothing is
  // read. What an earlier job has left: keys or a value; a value; bytes to discard.
  logic begins_q, fresh_q, old_q, value_q, discard_q;
  place_t line_pos;
  logic eager_q;  // commit the keys of a `get` as they come
  logic waits, is_new, is_old, is_text, empty;
  place_t from_q;
  assign waits  = state_q == ByIdle && !begins_q;
  assign is_new = job_q.udp || from_q != start_q;
  assign is_old = !is_new && ctx.mode inside {MdKeys, MdValue};
  assign is_text = in_text(ctx.mode, ctx.resp.form);
  assign empty  = !is_new && (job_q.visit.host || ctx.cont || ctx.mode == MdHost);
  // A command that gates do not run is read again, as text for host software, which goes on in the connection's
  // next jobs if it is longer than this one; or at once if it is too large for a stranger and the host may have to
  // say so. Of what is broken off, since replies are out, the connection ends.
  // Pairs of an MSET are stored when the last one is known to be there: all is read a second time then. So is a meta
  // command whose key turns out to be in base64.
  logic again, whole_q, proven, sure_q, broken_q, gives_up, goes_on;
  // It goes to host software from within a line of keys. It is to be passed on as it is; what is read turns out to be no plain GET, so it is from where its line begins.
  logic resumes_q, raw, strict, odd_word, odd_line, odd_length, unplain;
  assign raw = whole_q && plain_only_q && !empty;
  always_ff @(posedge clk_i) begin
    begins_q <= rst_ni && (start_i || again || proven);
    fresh_q  <= start_i;
    from_q   <= waits ? from_i : line_pos;
    if (waits) whole_q <= job_i.visit.whole || in_text(job_i.ctx.mode, job_i.ctx.resp.form);
    else if (again) whole_q <= 1'b1;
    if (waits || again) sure_q <= 1'b0;
    else if (proven) sure_q <= 1'b1;
  end

  line_info_t line;
  // In BySkip: only Redis' values are passed so, and who reads the other protocols is not waited for.
  logic [13:0] skip_len;
  logic skip_pairs;
  // Redis: bytes of text that no record has, and where they begin; those that the next one has; it is the last one. An
  // argument is passed, up to its end or to the job's.
  logic [13:0] untold_q, jump_len;
  place_t untold_at_q;
  logic [7:0] part_len;
  logic ended_q, tells, part, last_part, far_q, jumps, jump_all;
  binary_t binary;  // of the request; `is` of its job
  logic
      flags_set,
      word_end,
      line_end,
      eol,
      any,
      nul,
      is_key,
      too_long,
      full,
      value_skip,
      odd,
      coded,
      array,
      reset,
      big,
      part_due;
  resp_t resp;
  resp_count_t left;
  resp_place_t resp_place;
  logic [7:0] chars;
  logic [8:0] text;
  place_t word_pos;
  line_t beat_data;
  logic [6:0] beat_len;
  logic reads;
  assign part_due = whole_q &&
      (untold_q >= 14'(PartBytes) || (char_over && untold_q != '0));
  assign reads    = state_q == ByRead && char_valid && room_i && !part_due && !far_q;
  byte_line u_line (
    .clk_i,
    .rst_ni,
    .second_i,
    .begin_i   (begins_q),
    .fresh_i   (fresh_q),
    .from_i    (from_q),
    .old_i     (is_old),
    .ctx_i     (ctx),
    .port_i    (job_q.visit.conn == HostConn && !job_q.udp),
    .whole_i   (whole_q),
    .sure_i    (sure_q),
    .item_max_i,
    .valid_i   (reads),
    .char_i    (char),
    .place_i   (place),
    .take_o    (char_take),
    .jump_i    (jumps),
    .jump_all_i(jump_all),
    .jump_len_i(jump_len),
    .word_i    (state_q == ByWord),
    .word_end_o(word_end),
    .line_end_o(line_end),
    .value_o   (value_skip),
    .odd_o     (odd),
    .coded_o   (coded),
    .array_o   (array),
    .left_o    (left),
    .resp_place_o(resp_place),
    .large_o   (big),
    .line_o    (line),
    .skip_o    (skip_len),
    .pairs_o   (skip_pairs),
    .numbers_o,
    .flags_o   (flags_set),
    .binary_o  (binary),
    .resp_o    (resp),
    .reset_o   (reset),
    .line_pos_o(line_pos),
    .word_pos_o(word_pos),
    .eol_o     (eol),
    .nul_o     (nul),
    .any_o     (any),
    .chars_o   (chars),
    .text_o    (text),
    .is_key_o  (is_key),
    .too_long_o(too_long),
    .full_o    (full),
    .data_o    (beat_data),
    .len_o     (beat_len)
  );

  // ---------------------------------------------------------------- what the line says
  logic [1:0] tail;  // bytes behind a value
  assign tail = ctx.binary.is ? 2'd0 : 2'd2;

  logic signed [22:0] value_max_q, pair_max_q;
  logic [13:0] line_len_q, left_q;  // bytes of the line, and of the job behind it
  logic line_long_q;
  logic [31:0] need_q, rest_q;  // of data and CR LF, or to discard; behind this job
  logic [31:0] both_q;          // of the line and these
  logic [13:0] again_q;         // the same, of one job at most
  logic [1:0] wait_q;
  logic too_big_q, fits_q, last_key_q, cr_last;
  logic told_q;        // some of the text for host software is a part
  logic skipped_q;     // what is behind the value is read, too
  place_t value_place_q;
  logic [13:0] beyond;  // from here to behind the value
  order_t order, order_q;
  // The line does not change in ByLine, and takes too long to be understood in the clock in which it is told.
  line_info_t line_q;
  always_ff @(posedge clk_i) line_q <= line;
  always_ff @(posedge clk_i) begin
    wait_q      <= (state_q == ByLine) ? wait_q + 2'd1 : '0;
    value_max_q <= $signed(23'(item_max_i)) - 23'(ItemOverhead) - 23'(line.klen) -
                   (flags_set ? 23'd4 : 23'd0);
    pair_max_q  <= $signed(23'(item_max_i)) - 23'sd512;
    too_big_q   <= $signed({1'b0, line_q.length}) > 33'(value_max_q);
    need_q      <= (value_q || discard_q) ? ctx.rem : line_q.length + 32'(tail);
    left_q      <= stop_q - place;
    line_len_q  <= place - line_pos;
    line_long_q <= line_len_q > 14'(LineMax);
    if (state_q == ByLine) begin
      fits_q <= skipped_q || need_q <= 32'(left_q);
      rest_q <= need_q - 32'(left_q);
      both_q <= need_q + 32'(line_len_q);
    end
    again_q <= (both_q > 32'(JobBytes)) ? 14'(JobBytes) : both_q[13:0];
    if (state_q == ByDecide) order_q <= order;
  end

  byte_command u_order (
    .line_i     (line_q),
    .binary_i   (binary),
    .resp_i     (ctx.resp.is),
    .broken_i   (broken_q),
    .udp_i      (job_q.udp),
    .value_i    (value_q),
    .discard_i  (discard_q),
    .last_key_i (last_key_q),
    .too_big_i  (too_big_q),
    .fits_i     (fits_q),
    .part_i     (!job_q.udp && left_q != '0 && line_pos == start_q &&
                 job_q.visit.len == 14'(JobBytes)),
    .text_fits_i(text <= 9'(KeyMax)),
    .order_o    (order)
  );

  // ---------------------------------------------------------------- what is done
  logic plain_cmd, plain_cmd_q, plain_q;  // its command is that of a plain GET; all of it is one
  logic strict_q;
  logic reads_keys, acts, stores, ends, get_key, partial_q, partial_now, value_done, part_done;
  logic [8:0] keys_q;  // key beats not committed
  place_t next_q;      // behind the value
  assign acts     = state_q == ByAct && room_i && item_ready_i && !text_moves_i &&
                    (plain_q || !strict_q);
  assign stores   = order_q.action inside {AcStore, AcStorePart};
  // The job ends with it. The context of the next one says which database was chosen.
  assign ends     = order_q.action inside {AcStorePart, AcHost, AcSelect, AcQuit, AcBack} ||
                    (order_q.action == AcSwallow && !fits_q);

  assign reads_keys  = is_get(line.cmd) || line.many;
  assign get_key     = state_q == ByWord && is_key && reads_keys && !line.bad &&
                       (plain_cmd_q || !strict_q) && !binary.is &&
                       (line.exptime_ok || !is_gat(line.cmd));
  // Once a part of the line is out, every key follows as soon as it is complete, so that the job's
  // end has nothing but a broken-off key to take back.
  assign partial_now = get_key && !eol && (keys_q >= 9'(KeysMax) || eager_q || partial_q);
  assign value_done  = state_q == ByValue && (char_valid || binary.is || ctx.resp.is);
  assign part_done   = state_q == ByTail && order_q.action == AcStorePart &&
                       (char_valid || char_over);

  // A value that goes on in a later job, with more of the command behind it, is read again.
  logic skip_fits, long_pair, more_pairs, may_again;
  place_t skip_end;
  assign skip_end  = place + skip_len + 14'(tail);
  assign more_pairs = line.pairs && left != '0;
  // Of a length all of this is known with its LF.
  logic skip_long_q, pair_long_q, pair_far_q;
  logic [13:0] skip_need_q;
  always_ff @(posedge clk_i) begin
    skip_long_q <= resp_place.number > 30'(ValueMax);
    pair_long_q <= $signed({2'b0, resp_place.number[20:0]}) > pair_max_q;
    skip_need_q <= 14'(resp_place.number[10:0]) + 14'd3;
    // Behind a value there is room for one more key. So far the line's length is without the LF.
    pair_far_q  <= line_len_q > 14'(KeepMax - 324) - 14'(resp_place.number[10:0]);
  end
  // Of the clock before, which was the length's LF; a value that is longer than ValueMax is not passed.
  assign skip_fits = left_q >= skip_need_q;
  assign beyond    = place + (skipped_q ? 14'd0 : need_q[13:0]);
  // So long a command's lines stay, so that it can be read again, and its value be stored. Of text only a meta
  // command may have to be.
  // The line's beginning stands long before anything asks for this.
  logic short, last_short, keeps;
  place_t limit_q, last_q;
  always_ff @(posedge clk_i) begin
    limit_q <= line_pos + 14'(KeepMax);
    last_q  <= line_pos + 14'(KeepMax - 1);
  end
  assign short      = 1'(14'(place - limit_q) >> 13);
  assign last_short = place == last_q;
  assign may_again = ctx.resp.is ? !whole_q && !partial_q
                                 : !sure_q && (line.words == '0 || is_meta(line.cmd));
  assign keeps     = ((may_again && !ctx.binary.is) || (plain_only_q && !partial_q)) && short &&
                     state_q inside {ByRead, ByWord, BySkip, ByLine, ByDecide, ByAct, ByCut};
  assign place_o   = raw ? untold_at_q : place;
  logic text_kept;
  assign text_kept = whole_q && (state_q inside {ByRead, ByJump, ByPart} || raw);
  assign kept_o    = text_kept ? untold_at_q.line : keeps ? line_pos.line : place.line;
  // Only keys may go on without end.
  assign again     = (odd && !partial_q && short) || unplain ||
                     (ctx.resp.is && reads && last_short && !whole_q && !line.many) ||
                     (state_q == BySkip && (skip_long_q || long_pair));
  assign long_pair = skip_pairs && (pair_far_q || pair_long_q);
  assign proven    = (state_q == BySkip && skip_pairs && left == '0 && skip_fits && !again) ||
                     (coded && !sure_q && short);
  // How much of the line there is takes a clock.
  logic settled_q;
  logic [13:0] line_at_q, word_at_q, so_far_q;
  always_ff @(posedge clk_i) begin
    settled_q <= state_q == ByCut && !text_moves_i;
    line_at_q <= line_pos - start_q;
    word_at_q <= (any ? word_pos : place) - start_q;
    so_far_q  <= stop_q - line_pos;
  end
  // A word that is a key says it in text and Redis' protocol, else the whole line does. The line is kept up to KeepMax
  // bytes, of which it is not waited for more than LineMax.
  logic plain_order, judged_q;
  assign plain_cmd   = ctx.resp.is ? line.cmd == CmdGet && resp.form == RfBulk
                                   : line.cmd inside {CmdGet, CmdGets, CmdMetaGet};
  assign plain_order = (order_q.action == AcEndOfGet || order_q.op == OpGet) && plain_cmd_q &&
      (order_q.action inside {AcEndOfGet, AcOp} || order_q.reply == RpEnd) && !line.wrong &&
      !(line_q.meta.coded || line_q.meta.vivifies || line_q.meta.recaches || line_q.touch ||
        shows(line_q.meta.show, ShTime));
  assign odd_word    = state_q == ByWord && is_key && !binary.is && !plain_cmd_q;
  // What is to be done is judged in ByAct's first clock. A command, and whether it must be plain, stand two clocks before
  // its next word.
  always_ff @(posedge clk_i) begin
    judged_q    <= state_q == ByAct;
    plain_q     <= state_q == ByAct && plain_order;
    plain_cmd_q <= plain_cmd;
    strict_q    <= strict;
  end
  assign odd_line    = state_q == ByAct && judged_q && !plain_q;
  assign odd_length  = (reads && last_short) ||
      (state_q == ByCut && settled_q &&
       (job_q.udp ? so_far_q != '0 : !binary.is && so_far_q > 14'(LineMax)));
  assign strict      = plain_only_q && !whole_q && !partial_q && !value_q && !discard_q;
  assign unplain     = strict && (odd_word || odd_line || odd_length);
  assign gives_up  = ctx.resp.is && broken_q;
  assign goes_on   = ctx.resp.is && whole_q && state_q == ByCut && settled_q &&
      (is_text || so_far_q == 14'(JobBytes) || (ctx.resp.all && big));

  always_comb begin
    go       = begins_q;
    go_place = from_q;
    if (acts && (ends || order_q.action inside {AcStore, AcSwallow})) begin
      // To the job's last byte, to the CR LF behind the value, or behind what is discarded.
      go       = 1'b1;
      go_place = ends ? stop_q - 14'd1 : beyond - (stores ? 14'(tail) : 14'd0);
    end
    if (state_q == BySkip) begin
      go       = 1'b1;
      go_place = skip_end;
    end
    if (jumps) begin
      go       = 1'b1;
      go_place = jump_all ? place + resp_place.bulk[13:0] : stop_q;
    end
    if (value_done) begin
      go       = 1'b1;
      go_place = next_q;
    end
  end

  // ---------------------------------------------------------------- Redis: text for host software
  assign jumps    = state_q == ByJump;
  assign jump_all = resp_place.bulk <= 21'(left_q);
  assign jump_len = jump_all ? resp_place.bulk[13:0] : left_q;
  assign part_len = (untold_q >= 14'(PartBytes)) ? 8'(PartBytes) : untold_q[7:0];
  assign tells    = state_q == ByPart && room_i && item_ready_i;
  assign part     = tells && !ended_q;
  assign last_part = untold_q <= 14'(PartBytes);
  always_ff @(posedge clk_i) begin
    // Less is read sooner. In the clock behind a jump this is the argument before.
    far_q <= state_q == ByRead && whole_q && resp_place.phase == PhData &&
        resp_place.bulk[20:6] != '0;
    if (begins_q) ended_q <= 1'b0;
    else if (state_q == ByRead) ended_q <= line_end;
    if (begins_q) begin
      untold_q    <= raw ? stop_q - from_q : '0;
      untold_at_q <= from_q;
    end else if (reads) begin
      untold_q <= untold_q + 14'd1;
    end else if (jumps) begin
      untold_q <= untold_q + jump_len;
    end else if (part) begin
      untold_q    <= untold_q - 14'(part_len);
      untold_at_q <= untold_at_q + 14'(part_len);
    end
  end

  end_t end_q, leaves, leaves_end;
  byte_leave #(
    .LineMax(LineMax)
  ) u_leave (
    .state_i    (state_q),
    .job_i      (job_q),
    .job_start_i(start_q),
    .line_i     (line),
    .line_at_i  (line_at_q),
    .word_at_i  (word_at_q),
    .so_far_i   (so_far_q),
    .place_i    (place),
    .behind_i   (next_q),
    .eol_i      (eol),
    .nul_i      (nul),
    .eager_i    (eager_q),
    .partial_i  (partial_q),
    .action_i   (order_q.action),
    .line_long_i(line_long_q),
    .again_i    (again_q),
    .need_i     (need_q),
    .rest_i     (rest_q),
    .cr_last_i  (cr_last),
    .goes_on_i  (goes_on),
    .raw_i      (raw),
    .end_i      (end_q),
    .leaves_o   (leaves),
    .end_o      (leaves_end)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= ByIdle;
    end else begin
      unique case (state_q)
        ByIdle:
        if (begins_q) begin
          state_q <= empty ? ByEmpty : raw ? (job_q.udp ? ByEnd : ByPart) :
                     (!is_new && ctx.mode inside {MdValue, MdSwallow}) ? ByLine : ByRead;
        end
        ByEmpty: if (room_i) state_q <= ByEnd;
        ByRead: begin
          if (part_due) state_q <= ByPart;
          else if (char_over) state_q <= ByCut;
          else if (far_q) state_q <= ByJump;
          else if (again) state_q <= ByIdle;
          else if (odd && reads) state_q <= ByCut;
          else if (value_skip) state_q <= BySkip;
          else if (word_end) state_q <= ByWord;
          else if (line_end) state_q <= whole_q ? ByPart : ByLine;
        end
        ByJump:   state_q <= ByRead;
        ByWord:   state_q <= (again || proven) ? ByIdle : eol ? ByLine : ByRead;
        BySkip:   state_q <= (again || proven) ? ByIdle : skip_fits ? ByRead : ByCut;
        ByPart:
        if (tells) state_q <= raw ? (last_part ? ByEnd : ByPart) : ended_q ? ByLine : ByRead;
        ByLine:   if (wait_q == 2'd2) state_q <= ByDecide;
        ByDecide: state_q <= ByAct;
        ByAct:
        if (unplain) state_q <= ByIdle;
        else if (acts) state_q <= ends ? ByTail : (order_q.action == AcStore) ? ByValue : ByDone;
        ByValue: if (value_done) state_q <= more_pairs ? ByRead : ByDone;
        ByTail:  if (char_valid || char_over) state_q <= ByEnd;
        ByCut:
        if (unplain) state_q <= ByIdle;
        else if (settled_q && (!goes_on || room_i)) state_q <= gives_up ? ByLine : ByEnd;
        default: state_q <= ByIdle;  // ByEnd, ByDone
      endcase
    end
    if (begins_q) begin
      old_q     <= is_old || is_text;
      value_q   <= !is_new && ctx.mode == MdValue;
      discard_q <= !is_new && ctx.mode == MdSwallow;
      eager_q   <= !is_new && ctx.mode inside {MdKeys, MdLong};
      partial_q <= !is_new && ctx.mode == MdKeys && !is_text;
    end else if (partial_now) begin
      partial_q <= 1'b1;
    end
    if (begins_q) begin
      resumes_q  <= !is_new && job_q.visit.whole && ctx.mode == MdKeys;
      skipped_q  <= 1'b0;
      told_q     <= is_text;
      broken_q   <= 1'b0;
    end else begin
      if (state_q == BySkip) skipped_q <= 1'b1;
      if (state_q == BySkip) value_place_q <= place;
      if (odd && reads) broken_q <= 1'b1;
      if (part) told_q <= 1'b1;
    end
    last_key_q <= !begins_q && (last_key_q || (get_key && eol));
    if (acts) next_q <= beyond;
    if (state_q != ByEnd) end_q <= leaves_end;
  end

  // ---------------------------------------------------------------- what goes out
  queue_t rec_do, key_do, putk_do;
  put_t item;
  logic put_push, key_push;
  logic cut;
  logic good;  // CR LF is where it should be; Redis does not look
  assign cut      = state_q == ByCut && settled_q && !goes_on && !unplain;
  assign good     = binary.is || ctx.resp.is || (char.eol && char.crlf);
  assign key_push = (full || (state_q == ByWord && is_key && !line.key_long && !line.bad)) &&
      (!line.pairs || sure_q);
  always_comb begin
    rec_do         = '0;
    key_do         = '0;
    putk_do        = '0;
    // Text for host software that is too long stays here.
    key_do.push    = key_push && !(line.cmd == CmdHost && text >= 9'(KeyMax));
    putk_do.push   = key_push && is_store(line.cmd);
    rec_do.push    = get_key || (array && state_q == ByWord);
    rec_do.commit  = get_key && (eol || partial_now);
    key_do.commit  = rec_do.commit;
    rec_do.back    = (too_long && is_get(line.cmd)) || cut || again || proven;
    key_do.back    = rec_do.back;
    putk_do.back   = cut || again || proven;
    if (part) rec_do.push = 1'b1;
    if (goes_on && room_i) begin
      rec_do.commit = 1'b1;
      key_do.commit = 1'b1;
    end

    if ((state_q == ByEmpty && room_i) || state_q == ByEnd) begin
      rec_do.push   = 1'b1;
      rec_do.commit = 1'b1;
      // Beats that are still on their way count when they come, and nobody is taken to be there before them.
      if (raw) key_do.commit = 1'b1;
    end
    if (acts) begin
      rec_do.push   = order_q.action inside {AcReply, AcOp, AcHost, AcSelect} ||
                      (order_q.action == AcQuit && (binary.is || ctx.resp.is)) ||
                      (order_q.action == AcSwallow && !discard_q);
      rec_do.commit = 1'b1;
      unique case (order_q.action)
        AcReply: begin
          // END goes with the keys before it; any other reply stands for the whole line.
          key_do.commit = order_q.reply == RpEnd;
          key_do.back   = order_q.reply != RpEnd;
          putk_do.back  = 1'b1;
        end
        AcOp: key_do.commit = 1'b1;
        AcSwallow: begin
          key_do.commit = order_q.op == OpTooBig;
          key_do.back   = order_q.op != OpTooBig;
          putk_do.back  = 1'b1;
        end
        AcStore, AcStorePart: putk_do.commit = 1'b1;
        AcHost: begin
          key_do.push   = !ctx.resp.is;
          key_do.commit = 1'b1;
        end
        AcBack: begin
          key_do.back  = 1'b1;
          putk_do.back = 1'b1;
        end
        default: ;
      endcase
    end
    if (value_done || part_done) begin
      rec_do.push   = 1'b1;
      rec_do.commit = 1'b1;
      key_do.back   = value_done && !good;
      key_do.commit = !key_do.back;
    end
  end

  // Only CR LF may lack, or LF.
  assign cr_last      = !binary.is && rest_q == 32'd1;
  assign put_push     = acts && stores && !(value_q && !binary.is && ctx.rem == 32'd2);
  assign item_valid_o = put_push || tells;
  assign item_text_o  = tells;
  assign item_place_o = tells ? untold_at_q : skipped_q ? value_place_q : place;
  assign item_len_o   = tells ? 14'(part_len) :
      fits_q ? need_q[13:0] - 14'(tail) : left_q - 14'(cr_last);
  always_comb begin
    item           = '0;
    item.start     = !value_q;
    item.own_lines = order_q.action == AcStorePart && !value_q;
    item.ends      = fits_q || cr_last || (!binary.is && rest_q == 32'd2);
    item.conn      = job_q.visit.conn;
    item.db        = ctx.db;
    item.klen      = line.klen;
    item.vlen      = value_q ? ctx.vlen : line.length[20:0];
    item.marks     = '{coded: line.meta.coded, won: 1'b0, stale: 1'b0};
    item.chosen    = line.meta.chosen;
    item.chosen_no = line.chosen_no;
    if (value_q) begin
      item.off  = ctx.off;
      item.done = ctx.vlen + 21'(tail) - ctx.rem[20:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || key_do.commit || key_do.back) keys_q <= '0;
    else if (key_do.push) keys_q <= keys_q + 9'd1;
  end

  // The first record of a job stays the first until it can't be taken back any more.
  logic first_q, first_kept_q;
  always_ff @(posedge clk_i) begin
    if (waits) begin
      first_q      <= first_i;
      first_kept_q <= first_i;
    end else begin
      if (rec_do.back) first_q <= first_kept_q;
      else if (rec_do.push) first_q <= 1'b0;
      if (rec_do.commit) first_kept_q <= first_q && !rec_do.push;
    end
  end

  logic selects;
  db_t db, db_q;
  assign selects = state_q == ByAct && order_q.action == AcSelect;
  assign db      = reset ? '0 : selects ? numbers_o.number[3:0] : db_q;
  always_ff @(posedge clk_i) begin
    if (begins_q) db_q <= ctx.db;
    else db_q <= db;
  end

  record_t rec;
  byte_record u_record (
    .job_i      (job_q),
    .db_i        (db),
    .line_i      (line),
    .binary_i    (binary),
    .resp_i      (resp),
    .left_i      (left),
    .told_i      (told_q),
    .array_i     (array),
    .part_i      (part),
    .raw_i       (raw),
    .raw_last_i  (last_part),
    .resumes_i   (resumes_q),
    .place_i     (resp_place),
    .old_i       (old_q),
    .first_i     (first_q),
    .leaves_i    (leaves),
    .empty_i     (state_q == ByEmpty),
    .key_i       (state_q == ByWord),
    .klen_i      (chars),
    .last_key_i  (eol),
    .line_valid_i(state_q == ByAct),
    .order_i     (order_q),
    .text_len_i  ((ctx.resp.is || raw) ? part_len : text[7:0]),
    .value_i     (state_q inside {ByValue, ByTail}),
    .last_part_i (state_q == ByValue),
    .crlf_i      (good),
    .end_i       (state_q == ByEnd),
    .record_o    (rec)
  );

  assign out_o = '{
          rec_do: rec_do,
          rec: rec,
          key_do: key_do,
          putk_do: putk_do,
          key: '{data: beat_data, len: beat_len, last: !full},
          put_push: put_push,
          put: item
      };

  assign begun_o     = state_q != ByIdle;
  assign done_o      = state_q inside {ByEnd, ByDone};
  assign over_o      = state_q == ByEnd;
  assign first_o     = first_kept_q;
  assign line_done_o = (acts && !stores && !discard_q && order_q.action != AcBack) ||
      (value_done && !more_pairs);
  assign error_o     = acts && order_q.action == AcReply &&
                       order_q.reply inside {RpError, RpBadFormat, RpBadExptime, RpBadDelta,
                                             RpBadDelete};
  assign rollback_o  = (acts && order_q.action == AcBack) || cut;
  assign host_o      = (acts && order_q.action == AcHost) || (raw && state_q == ByEnd);
  assign idle_o      = waits;

  `ASSERT(Waits, !start_i || waits)
  `ASSERT(SkipPlace, state_q != BySkip || 14'(place - line_pos) == line_len_q + 14'd1)

endmodule
