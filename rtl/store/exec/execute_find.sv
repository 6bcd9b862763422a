// Finds the item of a request's key. Check compares the prefetched item; what that cannot decide -
// a key that stands in the log, a tag that was another key's, an item stored after the prefetch - is
// looked up again here step by step: each way with the key's tag, each line of its item.
module execute_find
  import wirekv_pkg::*;
  import request_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  input  msec_t         now_i,
  input  log_range_t    range_i,
  input  epochs_t       epochs_i,
  /// Keys; the rest of a long one is on its way, of that of the request in act.
  input  logic          key_valid_i,
  output logic          key_ready_o,
  input  beat_t         key_i,
  output logic          key_more_o,
  output logic          act_key_more_o,
  /// Stages, see execute_stages.
  input  logic          run_i,
  input  moves_t        moves_i,
  input  op_t           next_i,
  input  op_t           check_i,
  input  op_t           act_i,
  input  logic          check_more_i,
  input  logic [2:0]    check_line_i,
  input  logic          check_further_i,
  output logic          check_there_o,
  input  commit_t       commit_i,
  input  logic          act_ends_i,
  /// The request in act takes its steps; they have ended; it has ended behind steps.
  input  logic          start_i,
  output logic          done_o,
  input  logic          slow_done_i,
  output item_t         item_o,
  /// Of a walk: ways that are tried, and where they are.
  input  logic [15:0]   walk_ways_i,
  input  walk_place_t   walk_place_i,  // a way is tried
  /// Tell its key, see execute_key.
  input  logic          tell_i,
  input  logic          told_i,
  output beat_t         key_o,
  output logic          key_all_told_o,
  /// Its buckets are to be read, and stand here from the next clock on. A way of them (one-hot)
  /// that an insert wants to have; the way that was picked last.
  output logic          buckets_o,
  input  bucket_t [1:0] buckets_i,
  output logic [1:0]    epoch_fits_o,
  output logic [15:0]   given_o,
  input  logic [15:0]   pick_i,
  output way_t          way_o,
  /// A sum may need lines of the item from this one on, or who keeps an expiry this one; gets one, see
  /// execute_line.
  input  logic          sum_seek_i,
  input  line_no_t      sum_line_i,
  input  logic          sum_get_i,
  /// It stands in this slot anyway.
  input  logic          near_i,
  input  log_slot_t     near_slot_i,
  output logic          line_there_o,
  /// Its item's lines are needed no more.
  input  logic          release_i,
  /// Log cache: class ClassExecute, read port.
  output logic          acq_valid_o,
  input  logic          acq_ready_i,
  output line_no_t      acq_line_o,
  input  logic          rsp_valid_i,
  output logic          rsp_ready_o,
  output logic          rsp_bank_o,
  input  log_slot_t     rsp_slot_i,
  output log_rel_t      rel_o,
  output logic          rd_en_o,
  output log_slot_t     rd_slot_o,
  input  line_t         rd_data_i,
  input  logic          rd_bad_i
);

  typedef enum logic [3:0] {
    FdIdle,
    FdStored,     // a stored key's lines, one after the other
    FdStoredCopy,
    FdBuckets,    // read the buckets again; wait for the rest of a long key
    FdPick,       // take a way whose tag fits
    FdValid,      // is its item still there?
    FdLine,       // the item's lines, one after the other
    FdCompare,
    FdJudge       // known a clock later, since what comes out of the cache is late
  } state_e;

  function automatic way_t one_of(input bucket_t [1:0] buckets, input logic [15:0] ways);
    one_of = '0;
    for (int b = 0; b < 2; b++)
    for (int w = 0; w < 8; w++) if (ways[8*b+w]) one_of |= buckets[b].ways[w];
  endfunction

  state_e state_q, state_d;
  way_t way_q;         // under test, or picked for the insert
  logic [2:0] line_q;  // line of its item
  logic [2:0] last_line;
  logic [15:0] todo_q, todo, pick, pick_q, found_way_q;
  logic slow_q, slow_found_q, found_bank_q;  // the steps have looked; and found it
  // Its key stands in the log and cannot be read: whoever has its tag is taken for it, and is not stored anew.
  logic unread_q;
  logic [7:0] klen;
  // verilator lint_off UNUSEDSIGNAL
  head_t stored_head;  // of an item that came in several parts
  // verilator lint_on UNUSEDSIGNAL
  msec_t stored_expiry_q;
  // Of the item that was prefetched, or found by the steps; and the slot of its first line.
  off_t off_q;
  log_slot_t slot_q;
  logic key_more, line_fits, head_there, line_there, line_seek, line_get, line_release;
  line_no_t line;
  line_t expected;
  checked_t checked;
  logic walks;
  always_ff @(posedge clk_i) if (moves_i.go) walks <= check_i.req.op == OpWalk;

  assign pick       = (state_q == FdPick) ? 16'(lib_pkg::lowest(64'(todo_q))) : pick_i;
  assign todo       = todo_q & ~pick;
  // It has lines of its own, and a chosen CAS unique may stand in front of it.
  assign stored_head = way_q.off.pos[0] ? rd_data_i[255:128] : rd_data_i[127:0];
  assign klen       = unread_q ? '0 : act_i.req.klen;
  assign last_line  = 3'((10'({way_q.off.pos[1:0], 4'h0}) + 10'd15 + 10'(klen)) >> 6);
  assign head_there = state_q == FdCompare && line_q == '0;

  // ---------------------------------------------------------------- steps
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      FdIdle:
      if (start_i) begin
        state_d = FdBuckets;
        if (act_i.req.key_stored && act_i.req.off.lap != '0 && checked.place_valid)
          state_d = FdStored;
      end
      FdStored:     if (line_there) state_d = FdStoredCopy;
      FdStoredCopy: state_d = (rd_bad_i || line_q == last_line) ? FdBuckets : FdStored;
      FdBuckets:    if (!key_more) state_d = FdPick;
      FdPick:       state_d = (todo_q == '0) ? FdIdle : FdValid;
      FdValid:      state_d = off_valid(way_q.off, range_i) ? FdLine : FdPick;
      FdLine:       if (line_there) state_d = FdCompare;
      FdCompare:    state_d = FdJudge;
      FdJudge: begin
        if (!line_fits) state_d = FdPick;
        else state_d = (line_q == last_line) ? FdIdle : FdLine;
      end
      default:      state_d = FdIdle;
    endcase
  end
  assign done_o       = (state_q == FdPick && todo_q == '0) ||
      (state_q == FdJudge && line_fits && line_q == last_line);
  assign buckets_o    = state_q == FdBuckets;
  assign line_seek    = start_i || state_q == FdValid;
  assign line         = (state_q == FdIdle) ? act_i.req.off.pos[27:2] : way_q.off.pos[27:2];
  assign line_get     = (state_q == FdStored && !key_more) || state_q == FdLine;
  assign line_release = state_q == FdBuckets || (state_q == FdJudge && !line_fits);
  assign line_there_o = line_there;
  assign key_more_o   = key_more;
  assign way_o        = way_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= FdIdle;
      slow_q  <= 1'b0;
    end else begin
      state_q <= state_d;
      if (slow_done_i) slow_q <= 1'b0;
      else if (state_q == FdBuckets) slow_q <= 1'b1;
    end

    if (moves_i.go) unread_q <= 1'b0;
    else if (state_q == FdStoredCopy && rd_bad_i) unread_q <= 1'b1;
    if (moves_i.go) begin
      off_q  <= check_i.found.off;
      slot_q <= in_bank(check_i.slots[0], check_i.found.off.pos[2]);
    end
    if (state_q == FdPick || pick_i != '0) way_q <= one_of(buckets_i, pick);
    unique case (state_q)
      FdIdle:
      if (start_i) begin
        // The prefetched item was compared already, unless its key was not there.
        todo_q       <= walks ? walk_ways_i :
            act_i.req.key_stored ? checked.tags : checked.tags & ~checked.offs;
        slow_found_q <= 1'b0;
        line_q       <= '0;
        if (act_i.req.key_stored) way_q.off <= act_i.req.off;
      end
      FdStoredCopy: begin
        line_q <= line_q + 3'd1;
        if (line_q == '0) stored_expiry_q <= stored_head.expiry;
      end
      FdBuckets: line_q <= '0;
      FdPick: begin
        pick_q <= pick;
        todo_q <= todo;
        line_q <= '0;
      end
      FdLine: if (line_there && line_q == '0) slot_q <= rsp_slot_i;
      FdJudge: begin
        line_q <= line_q + 3'd1;
        if (line_fits && line_q == last_line) begin
          slow_found_q <= 1'b1;
          off_q        <= way_q.off;
          found_way_q  <= pick_q;
          found_bank_q <= pick_q[15:8] != '0;
        end
      end
      default: ;
    endcase
  end

  logic found;
  assign found = slow_q ? slow_found_q : checked.hit;

  // A walk tells where to go on: behind the item that it tells, or behind ways that hold none; and of an item
  // header and key. Known a clock after the steps have ended.
  walk_place_t walk_at, walk_on_q;
  logic [20:0] walk_len_q;
  always_comb begin
    walk_at     = walk_place_i;
    walk_at.way = '1;
    for (int w = 0; w < 8; w++)
    if (slow_found_q && (found_way_q[w] || found_way_q[8+w])) walk_at.way = 3'(w);
  end
  always_ff @(posedge clk_i) begin
    walk_on_q  <= walk_at + 31'd1;
    walk_len_q <= '0;
    if (slow_found_q && checked.unexpired) walk_len_q <= 21'(HeadBytes) + 21'(checked.klen);
  end

  assign item_o = '{
          decided: checked.decided,
          hit: checked.hit,
          new_key: checked.new_key,
          found: found,
          alive: found && checked.unexpired,
          way: slow_q ? found_way_q : checked.offs,
          bank: slow_q ? found_bank_q : checked.bank,
          fetched_way: checked.offs,
          fetched_bank: checked.bank,
          fetched_brief: !checked.from_1024 && !checked.vlen[9],
          off: off_q,
          slot: slot_q,
          place_valid: checked.place_valid && !unread_q,
          unread: unread_q,
          flags: walks ? 32'(walk_on_q) : checked.flags,
          bare: checked.bare,
          expiry: checked.expiry,
          marks: checked.marks,
          claims: checked.claims,
          chosen: checked.chosen,
          chosen_no: checked.chosen_no,
          vlen: walks ? walk_len_q : checked.vlen,
          from_1024: !walks && checked.from_1024,
          from_16: walks || checked.from_16,
          empty: !checked.from_1024 && !checked.from_16 && checked.vlen[3:0] == '0,
          uses: checked.uses,
          renewed: checked.renewed,
          renewed_hit: checked.renewed_hit,
          stored_expiry: stored_expiry_q
      };

  // ---------------------------------------------------------------- what is compared, with what
  execute_key u_key (
    .clk_i,
    .rst_ni,
    .s_valid_i    (key_valid_i),
    .s_ready_o    (key_ready_o),
    .s_i          (key_i),
    .more_o       (key_more),
    .act_more_o   (act_key_more_o),
    .moves_i,
    .next_keyed_i (next_i.keyed),
    .run_i,
    .unit_i       (way_q.off.pos[1:0]),
    .line_i       (line_q),
    .check_unit_i (check_i.found.off.pos[1:0]),
    .check_line_i,
    .check_more_i,
    .check_there_o,
    .next_unit_i  (next_i.found.off.pos[1:0]),
    .expected_o   (expected),
    .copy_i       (state_q == FdStoredCopy),
    .data_i       (rd_data_i),
    .check_klen_i (check_i.req.klen),
    .tell_i,
    .told_i,
    .beat_o       (key_o),
    .all_told_o   (key_all_told_o)
  );

  execute_compare u_compare (
    .clk_i,
    .now_i,
    .range_i,
    .epochs_i,
    .moves_i,
    .op_i         (check_i),
    .further_i    (check_further_i),
    .commit_i,
    .act_ends_i,
    .buckets_i,
    .epoch_fits_o,
    .given_o,
    .run_i,
    .check_line_i,
    .next_line_i  (next_i.lines != 3'd1),
    .next_unit_i  (next_i.found.off.pos[1:0]),
    .next_lap_i   (next_i.found.off.lap),
    .next_klen_i  (next_i.req.klen),
    .next_named_i (next_i.req.op == OpCont || next_i.req.key_stored),
    .way_off_i    (way_q.off),
    .line_i       (line_q),
    .act_klen_i   (klen),
    .head_i       (head_there),
    .any_i        (walks || unread_q),
    .data_i       (rd_data_i),
    .bad_i        (rd_bad_i),
    .expected_i   (expected),
    .line_fits_o  (line_fits),
    .checked_o    (checked)
  );

  execute_line u_line (
    .clk_i,
    .rst_ni,
    .moves_i,
    .next_i,
    .check_i,
    .check_line_i,
    .seek_i   (line_seek || sum_seek_i),
    .line_i   (sum_seek_i ? sum_line_i : line),
    .get_i    (line_get || sum_get_i),
    .near_i,
    .near_slot_i,
    .there_o  (line_there),
    .release_i(line_release || release_i || slow_done_i),
    .acq_valid_o,
    .acq_ready_i,
    .acq_line_o,
    .rsp_valid_i,
    .rsp_ready_o,
    .rsp_bank_o,
    .rsp_slot_i,
    .rel_o,
    .rd_en_o,
    .rd_slot_o
  );

endmodule
