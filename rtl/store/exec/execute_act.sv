// Acts on the request whose item check has found: the one place where anything happens. Plain
// gets, sets that replace what check has found, deletions, touches, and records without a key act at once; a cas, and
// who tells or compares an expiry, a clock later; others from StAct. What takes longer - to find the item step by step,
// to insert, incr and decr - is somebody else's, who is started here and says when it is done.
module execute_act
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  msec_t       now_i,
  input  log_range_t  range_i,
  /// Stages: the request in check goes on into act; there is none, nor in act; the one in act,
  /// and its item.
  input  logic        go_i,
  input  op_t         check_i,
  /// The items are copies of another server's: what a get does not find is for host software, see execute_room.
  input  logic        upstream_i,
  input  logic        idle_i,
  input  logic        valid_i,
  input  op_t         op_i,
  input  item_t       item_i,
  /// The request takes no steps; it ends as it is decided; it ends; it ends behind steps. What a
  /// set writes, for who is behind it.
  output logic        run_o,
  output logic        fast_done_o,
  output logic        done_o,
  output logic        slow_done_o,
  output commit_t     commit_o,
  /// What it does, unless it is skipped.
  output decision_t   decision_o,
  output logic        skip_o,
  /// Buckets of other epochs are empty. A new one is due: no request may look at its buckets.
  output epochs_t     epochs_o,
  /// Pulse: no item is left.
  output logic        flushed_o,
  output logic        hold_o,
  /// Starts and ends of the steps: renew its buckets, walk on, find the item, insert it, make the sum, extend the value.
  output logic        renew_o,
  input  logic        renew_done_i,
  output logic        walk_o,
  input  logic        walk_done_i,
  output logic        find_o,
  input  logic        find_done_i,
  output logic        insert_o,
  input  logic        insert_done_i,
  /// Its key is new, and an entry may be put in in passing; a way is free; it is put in. Nothing waits for the port;
  /// nothing is on its way.
  output logic        may_fill_o,
  input  logic        free_i,
  output logic        fill_o,
  /// Its way may be written in passing; it is.
  output logic        may_clear_o,
  output logic        clear_o,
  /// It is a number that may be added to in passing, as far as its item says, which is decided; begin. It is odd; its
  /// sum is made, and to be written into its way.
  input  logic        may_add_i,
  output logic        add_o,
  input  logic        add_odd_i,
  input  logic        added_i,
  /// It may be appended to behind the request; it is begun; it has its place.
  input  logic        may_append_i,
  output logic        append_o,
  input  logic        appended_i,
  input  logic        fill_ready_i,
  input  logic        fill_idle_i,
  output logic        sum_o,
  input  logic        sum_done_i,
  input  sum_t        sum_i,
  output logic        extend_o,
  input  logic        extend_done_i,
  input  extended_t   extended_i,
  /// Its key's version is asked for; it is there.
  output logic        version_ask_o,
  input  logic        version_done_i,
  input  logic [63:0] version_i,
  /// Its key: tell it, a beat was told; the rest of a long one is on its way.
  output logic        key_tell_o,
  output logic        key_told_o,
  input  beat_t       key_i,
  input  logic        key_more_i,
  /// The header of the item that it stores is to get the old one's expiry: its line is got, and it is there.
  output logic        keep_o,
  output logic        keep_get_o,
  input  logic        line_there_i,
  input  log_slot_t   rsp_slot_i,
  /// An insert or a sum may begin: its buckets are read, and its number's line is looked for.
  output logic        prepare_o,
  /// Index: write its way, count its use.
  output logic        way_write_o,
  output logic        way_use_o,
  input  logic        way_ready_i,
  /// The way of the prefetched item may be written.
  input  logic        fetched_ready_i,
  /// Log cache: write port.
  output logic        wr_valid_o,
  input  logic        wr_ready_i,
  output log_slot_t   wr_slot_o,
  output line_no_t    wr_line_o,
  output line_t       wr_data_o,
  output strb_t       wr_strb_o,
  /// Value bytes to send, or lines to release; the keys of values, in lines, the last one with its
  /// result; results. All of them can be taken.
  output logic        read_valid_o,
  input  logic        read_ready_i,
  output read_t       read_o,
  output logic        rkey_valid_o,
  input  logic        rkey_ready_i,
  output line_t       rkey_o,
  output logic        res_valid_o,
  input  logic        res_ready_i,
  output res_t        res_o,
  output logic        out_free_o,
  /// The request in check has read a header that is patched. One is, its line must stay.
  output logic        stale_o,
  output logic        patches_o,
  /// Requests for host software, and their text.
  output logic        hreq_valid_o,
  input  logic        hreq_ready_i,
  output hreq_t       hreq_o,
  output logic        hkey_valid_o,
  input  logic        hkey_ready_i,
  output beat_t       hkey_o
);

  typedef enum logic [3:0] {
    StRun,      // act on what check has decided
    StRenew,    // before it may write: its buckets get the present epoch
    StWalk,     // to the next bucket that has an item
    StFind,
    StFound,    // it stands, and what is to be done is decided
    StKey,      // the reply's key, before anything is done
    StAct,      // act on what the steps have found, or on what needs more than a clock
    StInsert,
    StSum,
    StExtend,
    StKeep,     // wait for the line of the new item's header
    StKept,     // write the old item's expiry into it
    StVersion,
    StHost,
    StHostText
  } state_e;

  state_e state_q, state_d, ready;
  decision_t does;
  // verilator lint_off UNUSEDSIGNAL
  decision_t does_q;  // what it replies and leaves is not waited for
  // verilator lint_on UNUSEDSIGNAL
  room_t room;
  ctx_t ctx, last;
  logic in_run, out_free, fast_set, fast_done, acts, act_ends, done, slow_done, host_done;
  logic keeps, kept_q, shows_key, tells_key, bucket_ok, key_waits, keys_go;
  logic patch_q;  // a header is to be patched
  logic steady_q, emits, meta_key, plain_q, plain_get, plain_get_q, plain_set_q, meta_q;
  logic compares_q, times_q, finds, fast_fill, key_left;
  logic plain_delete_q, plain_touch_q, plain_cas_q, touches_q, fast_delete, fast_cas, fast_rest;
  logic plain_add_q, fast_add, adds, plain_append_q, fast_append;
  logic stood_q, late, looked, stores, parts;
  logic copy_q, misses;  // what it asks for may be another server's; it is not here

  execute_decide u_decide (
    .clk_i,
    .range_i,
    .op_i,
    .item_i,
    .extended_i,
    .sum_i,
    .compares_i  (compares_q),
    .decision_o  (does)
  );

  // In StAct it stands for a clock: what the steps do follows from registers.
  logic shows_key_q;
  always_ff @(posedge clk_i) begin
    does_q      <= does;
    shows_key_q <= shows_key;
  end

  execute_room u_room (
    .clk_i,
    .rst_ni,
    .go_i,
    .check_i,
    .upstream_i,
    .op_i,
    .item_i,
    .valid_i,
    .done_i (done),
    .misses_i(misses),
    .sends_i(read_o.send),
    .kind_i (res_o.kind),
    .reply_i(res_o.reply),
    .ctx_i  (ctx),
    .copied_i(does_q.grows ? extended_i.copied : '0),
    .room_o (room),
    .last_o (last)
  );

  // Redis: the time until, or at which, the item expires, rounded to what is told. Known once the item stands for a
  // clock.
  logic signed [48:0] from, from_q, time_d;
  msec_t time_q;
  resp_form_e form;
  assign form   = check_i.req.resp.form;
  assign from   = (form inside {RfTtl, RfPttl}) ? {1'b0, now_i} : '0;
  assign time_d = $signed({1'b0, item_i.expiry}) - from_q;
  always_ff @(posedge clk_i) begin
    if (go_i) from_q <= from - ((form inside {RfTtl, RfExpiretime}) ? 49'sd500 : '0);
    time_q <= time_d[48] ? '0 : time_d[47:0];
  end

  // Redis: a sum begins with what its record says, and goes on up to the last key, or the job's end.
  logic sums_q;
  logic [31:0] total_q, so_far, total;
  assign so_far = sums_q ? total_q : op_i.req.num[63:32];
  // Whether it is there is known last.
  assign total  = (op_i.req.op inside {OpGet, OpDelete} && item_i.alive) ? so_far + 1'b1 : so_far;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) sums_q <= 1'b0;
    else if (done)
      sums_q <= op_i.req.resp.is && op_i.req.resp.form == RfSum && !op_i.req.last_key &&
                !op_i.req.last && op_i.req.op inside {OpGet, OpDelete} && !room.skip;
    if (done) total_q <= total;
  end

  execute_result u_result (
    .range_i,
    .version_i,
    .total_i   (total),
    .time_i    (time_q),
    .op_i,
    .item_i,
    .decision_i(does),
    .room_i    (room),
    .misses_i  (misses),
    .keyed_i   (shows_key || tells_key),
    .last_i    (last),
    .sum_i,
    .extended_i,
    .emits_o   (emits),
    .res_o,
    .read_o,
    .ctx_o     (ctx)
  );

  // ---------------------------------------------------------------- when
  // An entry that waits for the port keeps all out; one that is on its way those that look into other buckets.
  assign in_run    = state_q == StRun && valid_i && room.settled && fill_ready_i && !patch_q &&
      (fill_idle_i || !op_i.alone);
  assign out_free  = res_ready_i && read_ready_i && rkey_ready_i;
  // What the request alone says of that is known before it is in act. (A stored key is not compared in check, so a set
  // that hits has none.)
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      plain_q     <= !check_i.found.lookup && !(check_i.req.op inside {OpHost, OpWalk, OpVersion});
      copy_q      <= upstream_i && check_i.req.op == OpGet &&
          (check_i.req.udp || check_i.req.conn != HostConn);
      meta_q      <= check_i.req.meta.is;
      plain_get_q <= check_i.req.op == OpGet && !check_i.req.meta.vivifies &&
          !check_i.req.meta.recaches;
      // For whichever item there is, and no other is left.
      plain_delete_q <= check_i.req.op == OpDelete && !check_i.req.key_stored &&
          (check_i.req.resp.is || (check_i.req.num == '0 && !check_i.req.touch)) &&
          !(check_i.req.meta.is && (check_i.req.meta.stale || check_i.req.meta.voids ||
                                    shows(check_i.req.meta.show, ShKey)));
      plain_touch_q  <= check_i.req.op == OpTouch && !check_i.req.key_stored &&
          !check_i.req.meta.is;
      // Nor stored for a unique that is only older.
      plain_cas_q    <= check_i.req.op == OpCas && !check_i.req.key_stored &&
          check_i.req.off.lap != '0 && !check_i.req.meta.stale &&
          !shows(check_i.req.meta.show, ShKey);
      plain_add_q    <= check_i.req.op inside {OpIncr, OpDecr} && !check_i.req.key_stored &&
          !check_i.req.binary.is && !check_i.req.meta.is && check_i.req.num[63:16] == '0;
      plain_append_q <= is_extend(check_i.req.op) && !check_i.req.key_stored &&
          !check_i.req.binary.is && !check_i.req.meta.is && check_i.req.off.lap != '0;
      touches_q      <= check_i.req.op == OpTouch ||
          (check_i.req.op == OpGet && check_i.req.touch);
      // A CAS unique, a number, whether an expiry may be set, or is soon, a walk's place.
      compares_q  <= check_i.req.op inside {OpCas, OpWalk} ||
          (check_i.req.op inside {OpIncr, OpDecr} &&
           (check_i.req.binary.is || check_i.req.meta.is)) ||
          is_extend(check_i.req.op) || check_i.req.meta.recaches ||
          (check_i.req.op == OpTouch && check_i.req.resp.is) ||
          (check_i.req.op == OpDelete && !check_i.req.resp.is &&
           (check_i.req.num != '0 || check_i.req.touch));
      times_q     <= check_i.req.op == OpGet && check_i.req.resp.is &&
          is_time(check_i.req.resp.form);
      plain_set_q <= check_i.req.op == OpSet && check_i.req.off.lap != '0 &&
          !shows(check_i.req.meta.show, ShKey) &&
          !(check_i.req.resp.is && (check_i.req.touch || check_i.req.resp.form == RfBulk));
    end
  end
  assign misses    = copy_q && !item_i.alive && !room.skip;
  // Whoever finds a stale item first marks it.
  assign plain_get = plain_get_q && !(meta_q && item_i.claims);
  assign fast_set  = plain_set_q && item_i.renewed_hit;
  assign may_fill_o = valid_i && plain_set_q && item_i.new_key;
  assign fast_fill  = plain_set_q && item_i.new_key && free_i;
  assign fill_o    = fast_done && fast_fill && !room.skip && does.stores;
  // What finds nothing leaves its buckets as they are.
  assign may_clear_o = valid_i && (plain_delete_q || plain_add_q || plain_append_q);
  assign fast_delete = plain_delete_q && (item_i.renewed_hit || item_i.new_key);
  assign fast_cas    = plain_cas_q && (item_i.renewed_hit || item_i.new_key);
  assign fast_rest   = fast_delete || fast_cas || (plain_touch_q && item_i.decided);
  assign fast_add    = plain_add_q && may_add_i && !add_odd_i;
  assign add_o       = in_run && !room.skip && fast_add;
  assign adds        = added_i && sum_i.off.lap != '0;
  assign fast_append = plain_append_q && may_append_i;
  assign append_o    = in_run && !room.skip && fast_append;
  assign clear_o     = fast_done && !room.skip && ((fast_delete && does.clears) || adds ||
      (appended_i && extended_i.stored));
  // What is compared with its item is known when that stands for a clock.
  assign late      = compares_q || times_q;
  assign looked    = stood_q || !late;
  assign fast_done = in_run && out_free && (room.skip || plain_q ||
      (plain_get && looked && item_i.decided && !(key_left && shows_key)) ||
      ((fast_set || (fast_rest && looked) || added_i || appended_i) &&
       fetched_ready_i) || fast_fill);
  // Who looks at it knows that the request in act, if there is one, ends in this clock.
  assign stores    = fast_set || (fast_cas && does.stores);
  assign commit_o  = '{valid: valid_i && stores && !room.skip, line: op_i.found.line,
                       way: item_i.fetched_way, off: op_i.req.off};
  // What it stores may have left the log before its turn: then nothing is written there.
  logic new_valid_q;
  always_ff @(posedge clk_i) new_valid_q <= off_valid(op_i.req.off, range_i);
  assign keeps     = does_q.keeps && !room.skip && new_valid_q;
  assign acts      = state_q == StAct && out_free && fill_idle_i &&
      (steady_q || !late) && (kept_q || !keeps) &&
      !(shows_key_q && key_more_i);

  // What comes before the end: writes must be taken, inserts and sums take longer. A long key needs
  // further clocks.
  assign bucket_ok = !does_q.writes || way_ready_i;
  assign shows_key = does.get && !op_i.req.resp.is && !op_i.req.meta.vivifies &&
      ((op_i.req.binary.is || op_i.req.meta.is) ?
           (op_i.req.binary.key || meta_key) && (item_i.alive || !(op_i.req.noreply || copy_q)) :
           item_i.alive);
  assign meta_key  = shows(op_i.req.meta.show, ShKey);
  // Whatever it will say.
  assign tells_key = meta_key && (!does.get || op_i.req.meta.vivifies) && op_i.found.lookup;
  assign key_waits = state_q == StAct && shows_key_q && !key_i.last;
  assign key_left  = !key_i.last || key_more_i;
  assign keys_go   = out_free && !key_more_i &&
      (state_q == StKey || (state_q == StAct && !room.skip && key_waits) ||
       (in_run && !room.skip && plain_get && item_i.decided && shows_key && !key_i.last));
  assign act_ends  = acts && (room.skip || (!does_q.inserts && !does_q.sums && !does_q.grows &&
                                            bucket_ok && !key_waits));
  assign host_done = op_i.req.key_stored ? hreq_valid_o && hreq_ready_i
                                         : hkey_valid_o && hkey_ready_i && key_i.last;
  assign slow_done = act_ends || insert_done_i || sum_done_i || extend_done_i || host_done ||
      (version_ask_o && version_done_i && out_free);
  assign done      = fast_done || slow_done;

  assign ready = tells_key ? StKey : StAct;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StRun:
      if (in_run && !room.skip) begin
        if (op_i.req.op == OpHost) state_d = StHost;
        else if (op_i.req.op == OpVersion) state_d = StVersion;
        else if (walk_o) state_d = StWalk;
        else if (renew_o) state_d = StRenew;
        else if (finds) state_d = StFind;
        else if (!plain_q && !plain_get && !fast_set && !fast_fill && !fast_rest && !fast_add &&
                 !fast_append)
          state_d = ready;
      end
      StRenew:    if (renew_done_i) state_d = finds ? StFind : ready;
      StWalk:     if (walk_done_i) state_d = StFind;
      StFind:     if (find_done_i) state_d = StFound;
      StFound:    state_d = ready;
      StKey:      if (keys_go && key_i.last) state_d = StAct;
      StAct:
      if (acts) begin
        if (sum_o) state_d = StSum;
        else if (extend_o) state_d = StExtend;
        else if (insert_o) state_d = StInsert;
        else if (act_ends) state_d = StRun;
      end else if (keeps && !kept_q && (steady_q || !compares_q)) begin
        state_d = StKeep;
      end
      StKeep:     if (line_there_i) state_d = StKept;
      StKept:     if (wr_ready_i) state_d = StAct;
      StInsert:   if (insert_done_i) state_d = StRun;
      StSum:      if (sum_done_i || insert_done_i) state_d = StRun;
      StExtend:   if (extend_done_i) state_d = StRun;
      StVersion:  if (slow_done) state_d = StRun;
      StHost:     if (hreq_valid_o && hreq_ready_i) state_d = host_done ? StRun : StHostText;
      StHostText: if (host_done) state_d = StRun;
      default:    state_d = StRun;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StRun;
    else state_q <= state_d;
  end

  assign renew_o     = in_run && !room.skip && op_i.found.lookup && !item_i.renewed && !fast_fill &&
      !fast_rest && (!does.get || op_i.req.meta.vivifies);
  assign walk_o      = in_run && !room.skip && op_i.req.op == OpWalk;
  assign finds       = (state_q == StWalk && walk_done_i) ||
      (((in_run && !room.skip && op_i.found.lookup && !renew_o) ||
        (state_q == StRenew && renew_done_i)) &&
       (!item_i.decided || (tells_key && op_i.req.key_stored)));
  assign insert_o    = acts && does_q.inserts;
  assign sum_o       = acts && does_q.sums;
  assign extend_o    = acts && does_q.grows;
  assign run_o       = state_q == StRun;
  assign version_ask_o = state_q == StVersion;
  assign fast_done_o = fast_done;
  assign done_o      = done;
  assign slow_done_o = slow_done;
  assign decision_o  = does;
  assign skip_o      = room.skip;
  assign out_free_o  = out_free;

  // ---------------------------------------------------------------- what
  // Who is behind may have read other buckets meanwhile.
  assign prepare_o   = state_q == StAct;
  assign way_write_o = (!room.skip && ((acts && does_q.writes) || (fast_done && stores))) ||
      clear_o;
  assign way_use_o   = !room.skip && (acts || fast_done) && does.get && item_i.alive && item_i.hit;

  // The steps begin a clock later than it is known that they are needed.
  always_ff @(posedge clk_i) find_o <= rst_ni && finds;

  // In StRun or in StAct, and the item stands for a clock.
  always_ff @(posedge clk_i) begin
    stood_q  <= rst_ni && state_q == StRun && valid_i && !fast_done;
    steady_q <= rst_ni && state_q == StAct && !slow_done;
  end

  // Expiry and marks are patched where they stand, bytes 3 and 8 to 13 of the header, from the clock behind the
  // request on: so the order at the cache's memory port waits for nothing that is decided. Nobody acts before it is
  // done, nor is the line given back (patches_o), and who has read it reads it again.
  // So are expiry and marks where a SET keeps them, in the new item's header.
  localparam int unsigned LineBits = 12;  // of a line; two that are alike only cost clocks
  head_t patch, patch_head_q;
  logic [27:0] patch_pos_q;
  log_slot_t patch_slot_q;
  logic patched_q;  // in the clock before
  logic [LineBits-1:0] check_line;
  always_comb begin
    patch = '{
        expiry: does.touch ? op_i.req.expiry : item_i.expiry,
        marks: '{
            coded: item_i.marks.coded,
            won: item_i.marks.won || does.wins,
            stale: item_i.marks.stale
        },
        vlen: item_i.vlen,
        default: '0
    };
    if (state_q == StKeep) begin
      patch.expiry = item_i.expiry;
      patch.marks  = '{coded: op_i.req.meta.coded, won: item_i.marks.won,
                       stale: op_i.req.meta.stale};
      patch.vlen   = op_i.req.vlen;
    end
  end
  always_ff @(posedge clk_i) begin
    patch_q   <= rst_ni && ((patch_q && !wr_ready_i) || (!room.skip &&
        ((fast_done && does.patches) || (act_ends && does_q.patches))));
    patched_q <= rst_ni && patch_q;
    kept_q    <= rst_ni && !slow_done && (kept_q || state_q == StKept);
    if (!patch_q && state_q != StKept) begin
      patch_head_q <= patch;
      patch_pos_q  <= (state_q == StKeep) ? op_i.req.off.pos : item_i.off.pos;
      patch_slot_q <= (state_q == StKeep) ? rsp_slot_i : item_i.slot;
    end
  end
  assign keep_o     = keeps;
  assign keep_get_o = state_q == StKeep;
  assign wr_valid_o = patch_q || state_q == StKept;
  assign wr_slot_o  = patch_slot_q;
  assign wr_line_o  = patch_pos_q[27:2];
  assign wr_data_o  = {4{patch_head_q}};
  assign wr_strb_o  = strb_t'(16'h3F08) << {patch_pos_q[1:0], 4'h0};
  assign check_line = check_i.found.off.pos[2+:LineBits];
  assign patches_o  = patch_q;
  assign stale_o    = check_i.found.cand &&
      ((valid_i && touches_q && check_line == item_i.off.pos[2+:LineBits]) ||
       ((patch_q || patched_q) && check_line == patch_pos_q[2+:LineBits]));

  // Nobody looks at buckets in the clock behind it: it is alone, and its record stands.
  logic flush_q;
  always_ff @(posedge clk_i) flush_q <= rst_ni && fast_done && !room.skip && op_i.req.op == OpFlush;

  execute_epoch u_epoch (
    .clk_i,
    .rst_ni,
    .now_i,
    .lap_i    (range_i.lap[6]),
    .flush_i  (flush_q),
    .expiry_i (op_i.req.expiry),
    .hold_o,
    .flushed_o,
    .idle_i   (state_q == StRun && idle_i),
    .epochs_o
  );

  // Every lookup's item lines are released by the reader, in order.
  assign read_valid_o = done && (op_i.found.count != '0 || read_o.send);
  assign res_valid_o  = done && emits;
  assign rkey_valid_o = keys_go || (done && !room.skip && shows_key);
  assign rkey_o       = key_i.data;

  // Text of Redis' protocol, and bytes as they are, come in parts.
  assign parts        = op_i.req.resp.is || op_i.req.resp.all;
  assign hreq_valid_o = state_q == StHost && !key_more_i && out_free;
  assign hreq_o       = '{
          conn: op_i.req.conn,
          udp: op_i.req.udp,
          resp: op_i.req.resp.is,
          begins: parts && op_i.req.vlen == '0 && !op_i.req.key_stored,
          more: parts && !op_i.req.last_key && !op_i.req.key_stored,
          stranger: parts && !op_i.req.resp.met,
          all: op_i.req.resp.all,
          db: op_i.req.db,
          row: config_pkg::Config.upstream ? row_e'(op_i.req.flags[1:0]) : RwStart,
          left: config_pkg::Config.upstream ? op_i.req.num[31:0] : '0,
          len: op_i.req.klen
      };
  assign hkey_valid_o = state_q == StHostText && out_free;
  assign hkey_o       = key_i;
  assign key_tell_o   = state_q inside {StRun, StKey, StAct, StHostText};
  assign key_told_o   = keys_go || (hkey_valid_o && hkey_ready_i);

endmodule
