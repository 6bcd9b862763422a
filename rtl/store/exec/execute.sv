// Executes requests in order: the one place where anything happens. Takes each request with its
// lines already in the caches, looks into the buckets again, compares header and key, acts, and
// says what to reply. Latency 3 clocks for a hit; initiation interval 1 for gets, deletions, sets of keys that
// are there or new and records without a key (see execute_stages for longer keys), 2 where an item's
// expiry is set or told or its CAS unique decides, 4 for others. incr and decr: see execute_add and execute_number;
// append and prepend: execute_append and execute_extend.
//
//   next -> fetch -> check: compare -> act: decide, room, result -> way back
//                      |                |         |          |
//                    find: step by step -      insert      add, number; append, extend
//                                                fill: of new keys, where a way is free
//
// Three stages: fetch (read buckets and item), check (tags, header, key) and act. Gets, sets, cas, deletions, touches,
// counters, appends and records that need no lookup overlap; anything else that may write keeps the next out. Who has
// read what is written then, or is not written yet, reads it again.
// What check cannot decide is looked up again step by step; sets of new keys in full buckets and odd numbers take steps,
// too. Whoever is behind waits, and reads again.
//
// This module is the wiring.
`include "lib_assert.svh"

module execute
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
#(
  /// Keys that may have a version at once, see execute_versions.
  parameter int unsigned Versions = 4096
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  msec_t             now_i,
  /// log2 of the number of buckets.
  input  logic [4:0]        index_bits_i,
  /// Entries move from even buckets to odd ones only.
  input  logic              one_way_i,
  /// The items are copies of another server's.
  input  logic              upstream_i,
  /// Largest item as memcached counts it.
  input  logic [20:0]       item_max_i,
  input  log_range_t        range_i,
  /// From the clock after tell_i on: no request here has checked a place before the clock of tell_i.
  input  logic              tell_i,
  output logic              clear_o,
  /// Requests with the log's count of puts taken before them; what lookup found; their keys.
  input  logic              req_valid_i,
  output logic              req_ready_o,
  input  req_t              req_i,
  input  serial_t           stamp_i,
  /// Records of this connection come from bytes that nobody knows, up to the end of its job.
  input  logic              bad_valid_i,
  input  conn_t             bad_conn_i,
  /// Pulse: the last record of this connection's job is taken.
  output logic              job_over_o,
  output conn_t             job_over_conn_o,
  input  logic              found_valid_i,
  output logic              found_ready_o,
  input  found_t            found_i,
  input  logic              key_valid_i,
  output logic              key_ready_o,
  input  beat_t             key_i,
  /// Puts taken and written by the log.
  input  serial_t           taken_i,
  input  serial_t           written_i,
  /// Items made here (incr, decr, append, prepend).
  output logic              own_valid_o,
  input  logic              own_ready_i,
  output put_t              own_o,
  output logic              ownk_valid_o,
  input  logic              ownk_ready_i,
  output beat_t             ownk_o,
  output logic              ownb_valid_o,
  input  logic              ownb_ready_i,
  output beat_t             ownb_o,
  output logic [5:0]        ownb_start_o,
  output logic              ownb_bad_o,
  input  off_t              own_off_i,
  /// Index caches, banks 0 and 1: read port, write port, class ClassExecute, releases.
  output logic [1:0]        bucket_rd_en_o,
  output index_slot_t [1:0] bucket_rd_slot_o,
  input  line_t [1:0]       bucket_rd_data_i,
  output logic [1:0]        bucket_wr_valid_o,
  input  logic [1:0]        bucket_wr_ready_i,
  output index_slot_t       bucket_wr_slot_o,
  output line_no_t          bucket_wr_line_o,
  output line_t             bucket_wr_data_o,
  output strb_t             bucket_wr_strb_o,
  output logic [1:0]        bucket_acq_valid_o,
  input  logic [1:0]        bucket_acq_ready_i,
  output line_no_t          bucket_acq_line_o,
  output logic              bucket_acq_hint_o,
  input  logic [1:0]        bucket_rsp_valid_i,
  output logic [1:0]        bucket_rsp_ready_o,
  input  index_slot_t [1:0] bucket_rsp_slot_i,
  output logic              bucket_request_rel_o,
  output logic [1:0]        bucket_rel_o,
  /// Log cache: responses of ClassRequest in both banks, class ClassExecute, read port, write port.
  input  logic [1:0]        request_rsp_valid_i,
  output logic [1:0]        request_rsp_ready_o,
  input  bank_slot_t [1:0]  request_rsp_slot_i,
  output logic              acq_valid_o,
  input  logic              acq_ready_i,
  output line_no_t          acq_line_o,
  input  logic              rsp_valid_i,
  output logic              rsp_ready_o,
  output logic              rsp_bank_o,
  input  log_slot_t         rsp_slot_i,
  output log_rel_t          rel_o,
  output logic              rd_en_o,
  output log_slot_t         rd_slot_o,
  input  line_t             rd_data_i,
  input  logic              rd_bad_i,
  output logic              wr_valid_o,
  input  logic              wr_ready_i,
  output log_slot_t         wr_slot_o,
  output line_no_t          wr_line_o,
  output line_t             wr_data_o,
  output strb_t             wr_strb_o,
  /// Value bytes to send, or lines to release.
  output logic              read_valid_o,
  input  logic              read_ready_i,
  output read_t             read_o,
  /// A header is written of the item that was told last.
  output logic              patches_o,
  /// Pieces of the values that were read for an item made here.
  input  logic              chunk_valid_i,
  output logic              chunk_ready_o,
  input  chunk_t            chunk_i,
  /// The keys of values, in lines; the last one of a key comes with its result.
  output logic              rkey_valid_o,
  input  logic              rkey_ready_i,
  output line_t             rkey_o,
  /// Results.
  output logic              res_valid_o,
  input  logic              res_ready_i,
  output res_t              res_o,
  /// Requests for host software.
  output logic              hreq_valid_o,
  input  logic              hreq_ready_i,
  output hreq_t             hreq_o,
  output logic              hkey_valid_o,
  input  logic              hkey_ready_i,
  output beat_t             hkey_o,
  output logic [StoreCounts-1:0] count_o,
  output logic              idle_o
);

  // ---------------------------------------------------------------- stages
  op_t next, check, act;
  moves_t moves;
  logic next_valid, next_idle, wait_index, wait_lines, wait_log;
  logic
      check_more,
      check_further,
      check_there,
      act_valid,
      stages_idle,
      run,
      fast_done,
      act_done,
      slow_done;
  logic [2:0] check_line;
  logic skip, key_more, act_key_more, hold, may_fill, way_free, fill, fill_ready, fill_idle;
  logic may_clear, clear, stale, fill_stale, patch_stale, unwritten;
  logic [15:0] given;

  execute_next u_next (
    .clk_i,
    .rst_ni,
    .req_valid_i,
    .req_ready_o,
    .req_i,
    .stamp_i,
    .found_valid_i,
    .found_ready_o,
    .found_i,
    .bad_valid_i,
    .bad_conn_i,
    .job_over_o,
    .job_over_conn_o,
    .rsp_valid_i (request_rsp_valid_i),
    .rsp_ready_o (request_rsp_ready_o),
    .rsp_slot_i  (request_rsp_slot_i),
    .written_i,
    .valid_o     (next_valid),
    .take_i      (moves.fetch),
    .op_o        (next),
    .wait_index_o(wait_index),
    .wait_lines_o(wait_lines),
    .wait_log_o  (wait_log),
    .idle_o      (next_idle)
  );

  assign stale = fill_stale || patch_stale || unwritten;
  execute_stages u_stages (
    .clk_i,
    .rst_ni,
    .next_valid_i  (next_valid && !hold && (!next.keyed || (key_valid_i && !key_more))),
    .next_i        (next),
    .run_i         (run),
    .fast_done_i   (fast_done),
    .act_done_i    (act_done),
    .stale_i       (stale),
    .key_there_i   (check_there),
    .moves_o       (moves),
    .check_o       (check),
    .check_more_o  (check_more),
    .check_line_o  (check_line),
    .check_further_o(check_further),
    .act_valid_o   (act_valid),
    .act_o         (act),
    .idle_o        (stages_idle)
  );

  // ---------------------------------------------------------------- find
  item_t item;
  commit_t commit;
  beat_t key;
  way_t way;
  logic
      find_start,
      find_done,
      find_buckets,
      key_tell,
      add_tell,
      append_tell,
      sum_tell,
      extend_tell,
      rest_ready,
      key_told,
      key_all_told,
      own_key,
      own_key_taken;
  logic [1:0] epoch_fits;
  logic [15:0] pick;
  epochs_t epochs;
  logic walk_start, walk_done;
  logic [15:0] walk_ways;
  walk_place_t walk_place;
  logic sum_get, sum_near, keep, keep_get, line_there, prepare, extend_start;
  log_slot_t sum_near_slot;
  line_no_t sum_line;

  execute_find u_find (
    .clk_i,
    .rst_ni,
    .now_i,
    .range_i,
    .epochs_i      (epochs),
    .key_valid_i,
    .key_ready_o,
    .key_i,
    .key_more_o    (key_more),
    .act_key_more_o(act_key_more),
    .run_i         (run),
    .moves_i       (moves),
    .next_i        (next),
    .check_i       (check),
    .act_i         (act),
    .check_more_i  (check_more),
    .check_line_i  (check_line),
    .check_further_i(check_further),
    .check_there_o (check_there),
    .commit_i      (commit),
    .act_ends_i    (fast_done),
    .start_i       (find_start),
    .done_o        (find_done),
    .slow_done_i   (slow_done),
    .item_o        (item),
    .walk_ways_i   (walk_ways),
    .walk_place_i  (walk_place),
    .tell_i        (key_tell || add_tell || append_tell || sum_tell || extend_tell),
    .told_i        (key_told || (own_key && own_key_taken)),
    .key_o         (key),
    .key_all_told_o(key_all_told),
    .buckets_o     (find_buckets),
    .buckets_i     (bucket_rd_data_i),
    .epoch_fits_o  (epoch_fits),
    .given_o       (given),
    .pick_i        (pick),
    .way_o         (way),
    .sum_seek_i    (prepare),
    .sum_line_i    (keep ? act.req.off.pos[27:2] : sum_line),
    .sum_get_i     (sum_get || keep_get),
    .near_i        (sum_near),
    .near_slot_i   (sum_near_slot),
    .line_there_o  (line_there),
    .release_i     (extend_start),
    .acq_valid_o,
    .acq_ready_i,
    .acq_line_o,
    .rsp_valid_i,
    .rsp_ready_o,
    .rsp_bank_o,
    .rsp_slot_i,
    .rel_o,
    .rd_en_o,
    .rd_slot_o,
    .rd_data_i,
    .rd_bad_i
  );

  // ---------------------------------------------------------------- act
  decision_t does;
  sum_t sum, add_sum, number_sum;
  logic add_may, add_start, add_odd, added, append_may, append_start, appends, appended;
  extended_t extended, append_extended, extend_extended;
  logic extend_done, extend_write, act_read, append_read, extend_read;
  read_t act_job, append_job, extend_job;
  logic
      renew_start,
      renew_done,
      insert_start,
      insert_done,
      sum_start,
      sum_done,
      sum_write,
      sum_insert,
      way_write,
      way_use,
      way_ready,
      fetched_ready;
  logic out_free, flushed, moved, evicted, version_ask, version_done;
  logic [63:0] version;

  execute_act u_act (
    .clk_i,
    .rst_ni,
    .now_i,
    .range_i,
    .go_i         (moves.go),
    .check_i      (check),
    .upstream_i,
    .idle_i       (stages_idle && fill_idle),
    .valid_i      (act_valid),
    .op_i         (act),
    .item_i       (item),
    .run_o        (run),
    .fast_done_o  (fast_done),
    .done_o       (act_done),
    .slow_done_o  (slow_done),
    .commit_o     (commit),
    .decision_o   (does),
    .skip_o       (skip),
    .epochs_o     (epochs),
    .flushed_o    (flushed),
    .hold_o       (hold),
    .renew_o      (renew_start),
    .renew_done_i (renew_done),
    .walk_o       (walk_start),
    .walk_done_i  (walk_done),
    .find_o       (find_start),
    .find_done_i  (find_done),
    .insert_o     (insert_start),
    .insert_done_i(insert_done),
    .may_fill_o   (may_fill),
    .free_i       (way_free),
    .fill_o       (fill),
    .may_clear_o  (may_clear),
    .clear_o      (clear),
    .may_add_i    (add_may),
    .add_o        (add_start),
    .add_odd_i    (add_odd),
    .added_i      (added),
    .may_append_i (append_may),
    .append_o     (append_start),
    .appended_i   (appended),
    .fill_ready_i (fill_ready),
    .fill_idle_i  (fill_idle),
    .sum_o        (sum_start),
    .sum_done_i   (sum_done),
    .sum_i        (sum),
    .extend_o     (extend_start),
    .extend_done_i(extend_done),
    .extended_i   (extended),
    .version_ask_o(version_ask),
    .version_done_i(version_done),
    .version_i    (version),
    .key_tell_o   (key_tell),
    .key_told_o   (key_told),
    .key_i        (key),
    .key_more_i   (act_key_more),
    .keep_o       (keep),
    .keep_get_o   (keep_get),
    .line_there_i (line_there),
    .rsp_slot_i,
    .prepare_o    (prepare),
    .way_write_o  (way_write),
    .way_use_o    (way_use),
    .way_ready_i  (way_ready),
    .fetched_ready_i(fetched_ready),
    .wr_valid_o,
    .wr_ready_i,
    .wr_slot_o,
    .wr_line_o,
    .wr_data_o,
    .wr_strb_o,
    .read_valid_o (act_read),
    .read_ready_i,
    .read_o       (act_job),
    .rkey_valid_o,
    .rkey_ready_i,
    .rkey_o,
    .res_valid_o,
    .res_ready_i,
    .res_o,
    .out_free_o   (out_free),
    .stale_o      (patch_stale),
    .patches_o,
    .hreq_valid_o,
    .hreq_ready_i,
    .hreq_o,
    .hkey_valid_o,
    .hkey_ready_i,
    .hkey_o
  );

  logic sum_put, sum_beat_valid, own_taken, own_free, unwritten_idle;
  put_t sum_item;
  beat_t sum_beat;
  logic add_put, add_beat_valid;
  put_t add_item;
  beat_t add_beat;

  execute_add u_add (
    .clk_i,
    .rst_ni,
    .moves_i       (moves),
    .next_i        (next),
    .check_i       (check),
    .check_line_i  (check_line),
    .line_data_i   (rd_data_i),
    .op_i          (act),
    .item_i        (item),
    .may_o         (add_may),
    .start_i       (add_start),
    .run_i         (run),
    .end_i         (fast_done),
    .odd_o         (add_odd),
    .ready_o       (added),
    .sum_o         (add_sum),
    .own_valid_o   (add_put),
    .own_ready_i   (own_taken),
    .own_o         (add_item),
    .own_off_i,
    .ownb_valid_o  (add_beat_valid),
    .ownb_ready_i,
    .ownb_o        (add_beat),
    .key_tell_o    (add_tell),
    .key_all_told_i(key_all_told)
  );
  assign sum = add_sum.made ? add_sum : number_sum;

  execute_number u_number (
    .clk_i,
    .rst_ni,
    .start_i       (sum_start),
    .op_i          (act),
    .item_i        (item),
    .unique_no_i   (does.unique_no),
    .line_o        (sum_line),
    .line_get_o    (sum_get),
    .near_o        (sum_near),
    .near_slot_o   (sum_near_slot),
    .line_there_i  (line_there),
    .line_data_i   (rd_data_i),
    .line_bad_i    (rd_bad_i),
    .own_valid_o   (sum_put),
    .own_ready_i   (own_taken),
    .own_o         (sum_item),
    .ownb_valid_o  (sum_beat_valid),
    .ownb_ready_i  (rest_ready),
    .ownb_o        (sum_beat),
    .key_tell_o    (sum_tell),
    .key_all_told_i(key_all_told),
    .own_off_i,
    .sum_o         (number_sum),
    .write_o       (sum_write),
    .insert_o      (sum_insert),
    .insert_done_i (insert_done),
    .way_ready_i   (way_ready),
    .out_free_i    (out_free),
    .done_o        (sum_done)
  );

  logic append_put, append_beat_valid, append_idle;
  put_t append_item;
  beat_t append_beat;
  logic [5:0] append_lane;

  execute_append u_append (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .range_i,
    .go_i          (moves.go),
    .check_i       (check),
    .op_i          (act),
    .item_i        (item),
    .may_o         (append_may),
    .start_i       (append_start),
    .end_i         (fast_done),
    .active_o      (appends),
    .ready_o       (appended),
    .extended_o    (append_extended),
    .read_valid_o  (append_read),
    .read_ready_i,
    .read_o        (append_job),
    .chunk_valid_i,
    .chunk_i,
    .own_valid_o   (append_put),
    .own_ready_i   (own_taken),
    .own_o         (append_item),
    .own_off_i,
    .ownb_valid_o  (append_beat_valid),
    .ownb_ready_i,
    .ownb_o        (append_beat),
    .ownb_start_o  (append_lane),
    .ownb_bad_o    (ownb_bad_o),
    .key_tell_o    (append_tell),
    .key_all_told_i(key_all_told),
    .idle_o        (append_idle)
  );

  logic extend_put, extend_beat_valid, extend_last, extend_ready;
  put_t extend_item;
  beat_t extend_beat;

  execute_extend u_extend (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .range_i,
    .go_i          (moves.go),
    .check_i       (check),
    .start_i       (extend_start),
    .op_i          (act),
    .item_i        (item),
    .read_valid_o  (extend_read),
    .read_ready_i,
    .read_o        (extend_job),
    .chunk_valid_i (chunk_valid_i && append_idle),
    .chunk_ready_o (extend_ready),
    .chunk_i,
    .own_valid_o   (extend_put),
    .own_ready_i   (own_taken),
    .own_o         (extend_item),
    .ownb_valid_o  (extend_beat_valid),
    .ownb_ready_i  (rest_ready),
    .ownb_last_o   (extend_last),
    .key_tell_o    (extend_tell),
    .key_all_told_i(key_all_told),
    .own_off_i,
    .extended_o    (extend_extended),
    .write_o       (extend_write),
    .way_ready_i   (way_ready),
    .out_free_i    (out_free),
    .done_o        (extend_done)
  );

  assign extended      = appends ? append_extended : extend_extended;
  assign chunk_ready_o = !append_idle || extend_ready;

  // Only one of them makes an item. It stands until the log takes it, and a register parts what follows from the
  // old item from what the log makes of it. Values come in the order of their items.
  logic own_there;
  always_comb begin
    own_there = append_idle && (add_put || sum_put || extend_put);
    if (append_put) own_there = !add_beat_valid;
  end
  always_ff @(posedge clk_i) begin
    own_valid_o <= rst_ni && own_there && own_free && !own_taken;
    own_o       <= append_put ? append_item : extend_put ? extend_item :
                   add_put ? add_item : sum_item;
  end
  assign own_taken = own_valid_o && own_ready_i;

  execute_unwritten u_unwritten (
    .clk_i,
    .rst_ni,
    .put_i    (own_taken && own_off_i.lap != '0),
    .op_i     (act),
    .free_o   (own_free),
    .idle_o   (unwritten_idle),
    .check_i  (check),
    .waits_o  (unwritten),
    .taken_i,
    .written_i
  );

  // What was added or appended may wait for the log when its request has ended.
  assign rest_ready   = ownb_ready_i && !add_beat_valid;
  assign ownb_valid_o = append_beat_valid || add_beat_valid || sum_beat_valid || extend_beat_valid;
  assign extend_beat  = '{data: chunk_i.data, len: chunk_i.len, last: extend_last};
  always_comb begin
    ownb_o       = sum_beat;
    ownb_start_o = '0;
    if (extend_beat_valid) {ownb_o, ownb_start_o} = {extend_beat, chunk_i.start};
    if (add_beat_valid) {ownb_o, ownb_start_o} = {add_beat, 6'd0};
    if (append_beat_valid) {ownb_o, ownb_start_o} = {append_beat, append_lane};
  end
  `ASSERT(OneBeat, !append_beat_valid || !(add_beat_valid || sum_beat_valid || extend_beat_valid))
  assign read_valid_o = act_read || append_read || extend_read;
  assign read_o       = append_read ? append_job : extend_read ? extend_job : act_job;

  // Who waits for a place of his own looks again at what he reads from then on. Else who was in act must have ended: a
  // place is checked as its request leaves check.
  logic before_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || stages_idle || own_valid_o) before_q <= 1'b0;
    else if (tell_i) before_q <= 1'b1;
    else if (act_done) before_q <= 1'b0;
  end
  assign clear_o = !before_q;

`ifdef LIB_ASSERT_ON
  // A request in act that has checked its place before the last tell_i: it did so as it left check.
  logic act_old_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || moves.go || own_valid_o) act_old_q <= 1'b0;
    else if (tell_i) act_old_q <= 1'b1;
  end
  `ASSERT(Clear, !clear_o || !(act_valid && act_old_q))

  // The head has not come to the item that a request has used, but for who has got a place of his own meanwhile.
  logic own_q;
  always_ff @(posedge clk_i) own_q <= rst_ni && !act_done && (own_q || own_taken);
  `ASSERT(Held, !(act_done && act.found.lookup && item.found && !skip && !own_q) || off_intact(
          item.off, range_i))
`endif

  // Their keys wait, too.
  assign own_key = (add_tell || append_tell || sum_tell || extend_tell) && !key_all_told;
  logic [2:0] unused_keys;
  lib_fifo #(
    .T    (beat_t),
    .Depth(4)
  ) u_ownk (
    .clk_i,
    .rst_ni,
    .s_valid_i(own_key),
    .s_ready_o(own_key_taken),
    .s_data_i (key),
    .m_valid_o(ownk_valid_o),
    .m_ready_i(ownk_ready_i),
    .m_data_o (ownk_o),
    .level_o  (unused_keys)
  );

  // ---------------------------------------------------------------- index
  execute_index u_index (
    .clk_i,
    .rst_ni,
    .index_bits_i,
    .range_i,
    .one_way_i,
    .epoch_i      (epochs.now),
    .moves_i      (moves),
    .next_i       (next),
    .check_i      (check),
    .op_i         (act),
    .item_i       (item),
    .decision_i   (does),
    .sum_i        (sum),
    .extended_i   (extended),
    .read_i       (prepare || find_buckets || sum_insert),
    .write_i      (way_write || sum_write || extend_write),
    .use_i        (way_use),
    .way_ready_o  (way_ready),
    .fetched_ready_o(fetched_ready),
    .renew_i      (renew_start),
    .renew_done_o (renew_done),
    .walk_i       (walk_start),
    .walk_done_o  (walk_done),
    .flushed_i    (flushed),
    .walk_ways_o  (walk_ways),
    .walk_place_o (walk_place),
    .insert_i     (insert_start || sum_insert),
    .out_free_i   (out_free),
    .insert_done_o(insert_done),
    .act_done_i   (act_done),
    .given_i      (given),
    .may_fill_i   (may_fill),
    .free_o       (way_free),
    .fill_i       (fill),
    .may_clear_i  (may_clear),
    .clear_i      (clear),
    .stale_o      (fill_stale),
    .fill_ready_o (fill_ready),
    .fill_idle_o  (fill_idle),
    .buckets_i    (bucket_rd_data_i),
    .epoch_fits_i (epoch_fits),
    .pick_o       (pick),
    .way_i        (way),
    .rd_en_o      (bucket_rd_en_o),
    .rd_slot_o    (bucket_rd_slot_o),
    .wr_valid_o   (bucket_wr_valid_o),
    .wr_ready_i   (bucket_wr_ready_i),
    .wr_slot_o    (bucket_wr_slot_o),
    .wr_line_o    (bucket_wr_line_o),
    .wr_data_o    (bucket_wr_data_o),
    .wr_strb_o    (bucket_wr_strb_o),
    .acq_valid_o  (bucket_acq_valid_o),
    .acq_ready_i  (bucket_acq_ready_i),
    .acq_line_o   (bucket_acq_line_o),
    .acq_hint_o   (bucket_acq_hint_o),
    .rsp_valid_i  (bucket_rsp_valid_i),
    .rsp_ready_o  (bucket_rsp_ready_o),
    .rsp_slot_i   (bucket_rsp_slot_i),
    .rel_o        (bucket_rel_o),
    .moved_o      (moved),
    .evicted_o    (evicted)
  );
  // Behind the writes of its entry; only one request can end while one waits for the port.
  logic [1:0] rel_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) rel_q <= '0;
    else if (fill_ready) rel_q <= {rel_q[0], act_done && act.found.lookup};
    else if (act_done && act.found.lookup) rel_q[0] <= 1'b1;
  end
  assign bucket_request_rel_o = rel_q[1] && fill_ready;
  `ASSERT(RelRoom, fill_ready || !rel_q[0] || !(act_done && act.found.lookup))

  // ---------------------------------------------------------------- versions
  // Who never expires anyway does not change if he is told not to.
  logic retimed, changed;
  assign retimed = does.touch && item.alive && (item.expiry != '0 || act.req.expiry != '0);
  assign changed = does.stores || does.clears || retimed || sum.made || extended.stored;

  execute_versions #(
    .Depth(Versions)
  ) u_versions (
    .clk_i,
    .rst_ni,
    .change_i (act_done && !skip && changed),
    .hash_i   (act.found.hash),
    .ask_i    (version_ask),
    .done_o   (version_done),
    .version_o(version)
  );

  // ---------------------------------------------------------------- counters
  execute_count u_count (
    .clk_i,
    .rst_ni,
    .done_i      (act_done),
    .skip_i      (skip),
    .op_i        (act),
    .item_i      (item),
    .decision_i  (does),
    .extended_i  (extended),
    .slow_i      (find_buckets),
    .inserted_i  (insert_done || fill),
    .moved_i     (moved),
    .evicted_i   (evicted),
    .wait_index_i(wait_index),
    .wait_lines_i(wait_lines),
    .wait_log_i  (wait_log),
    .wait_back_i (act_valid && !out_free),
    .count_o
  );

  assign idle_o = next_idle && stages_idle && fill_idle && unwritten_idle && !patches_o &&
      rel_q == '0;

endmodule
