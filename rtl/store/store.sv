// The key-value store: hash -> lookup -> execute -> reader, and the log's appender beside them,
// over four line caches (even buckets, odd buckets, even and odd lines of the log). A get of a short item
// takes 25 clocks and two memory reads, or none if its lines are on chip; initiation interval see execute.sv.
`include "lib_assert.svh"

module store
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
  import trace_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// Settings; fixed while enabled.
  input  store_cfg_t             cfg_i,
  input  msec_t                  now_i,
  /// One-clock pulse each millisecond.
  input  logic                   tick_i,
  input  logic                   enable_i,
  /// Requests in order, and the keys of those that have one.
  input  logic                   req_valid_i,
  output logic                   req_ready_o,
  input  req_t                   req_i,
  input  logic                   key_valid_i,
  output logic                   key_ready_o,
  input  beat_t                  key_i,
  /// The job of this connection has bytes that nobody knows: its records have no effect, and its
  /// connection is reset.
  input  logic                   bad_valid_i,
  input  conn_t                  bad_conn_i,
  /// Pulse: the last record of this connection's job is past the point where that counts.
  output logic                   job_over_o,
  output conn_t                  job_over_conn_o,
  /// Items for the log, the keys of those that start, and the bytes of values. Each start is
  /// answered, in order, by its place; lap 0 means that the log refused the item.
  input  logic                   put_valid_i,
  output logic                   put_ready_o,
  input  put_t                   put_i,
  input  logic                   putk_valid_i,
  output logic                   putk_ready_o,
  input  beat_t                  putk_i,
  input  logic                   putb_valid_i,
  output logic                   putb_ready_o,
  input  beat_t                  putb_i,
  output logic                   put_off_valid_o,
  output off_t                   put_off_o,
  /// Results; beside each RsValue its key (if head) in lines, and the pieces of its value.
  output logic                   res_valid_o,
  input  logic                   res_ready_i,
  output res_t                   res_o,
  output logic                   rkey_valid_o,
  input  logic                   rkey_ready_i,
  output line_t                  rkey_o,
  output logic                   chunk_valid_o,
  input  logic                   chunk_ready_i,
  output chunk_t                 chunk_o,
  /// Requests for host software with their text.
  output logic                   hreq_valid_o,
  input  logic                   hreq_ready_i,
  output hreq_t                  hreq_o,
  output logic                   hkey_valid_o,
  input  logic                   hkey_ready_i,
  output beat_t                  hkey_o,
  /// Memory: 0 even buckets, 1 odd buckets, 2 even lines of the log, 3 odd ones.
  output logic [3:0]             wr_valid_o,
  input  logic [3:0]             wr_ready_i,
  output line_write_t [3:0]      wr_o,
  input  logic [3:0]             wr_done_i,
  output logic [3:0]             rd_valid_o,
  input  logic [3:0]             rd_ready_i,
  output laddr_t [3:0]           rd_addr_o,
  input  logic [3:0]             rdat_valid_i,
  input  line_t [3:0]            rdat_i,
  /// Beside wr_done_i and rdat_i: memory refused.
  input  logic [3:0]             wr_bad_i,
  input  logic [3:0]             rdat_bad_i,
  /// Events, see store_count_e.
  output logic [StoreCounts-1:0] count_o,
  output logic                   idle_o,
  /// For the trace: the connection that is marked, and what happens here.
  input  trace_conn_t            marked_i,
  output trace_store_t           trace_o,
  /// Much has been copied: who copies is to wait.
  output logic                   late_o,
  /// Ticks are needed.
  output logic                   timer_o
);

  localparam int unsigned InFlight = 320;

  // ---------------------------------------------------------------- requests and keys come in
  typedef struct packed {
    req_t    req;
    serial_t stamp;  // the log's count of puts that came before
  } stamped_t;

  typedef struct packed {
    logic        lookup;
    logic        store;
    logic        insert;
    logic        brief;
    logic        marked;
    serial_t     stamp;
    logic [7:0]  klen;
    logic [20:0] vlen;
    off_t        off;
  } info_t;

  logic keyed, enter, last_beat;
  logic hash_ready, reqs_room, keys_room;
  serial_t taken, written;
  assign keyed       = brings_key(req_i.op, req_i.key_stored);
  assign last_beat   = !keyed || key_i.last;
  assign enter       = enable_i && req_valid_i && (!keyed || key_valid_i) && hash_ready &&
      reqs_room && keys_room;
  assign req_ready_o = enter && last_beat;
  assign key_ready_o = enter && keyed;

  logic reqs_valid, reqs_pop, keys_valid, keys_pop;
  stamped_t reqs;
  beat_t keys;
  logic [$clog2(InFlight+1)-1:0] reqs_level, unused_keys;

  lib_fifo #(
    .T    (stamped_t),
    .Depth(InFlight)
  ) u_reqs (
    .clk_i,
    .rst_ni,
    .s_valid_i(enter && last_beat),
    .s_ready_o(reqs_room),
    .s_data_i ({req_i, taken}),
    .m_valid_o(reqs_valid),
    .m_ready_i(reqs_pop),
    .m_data_o (reqs),
    .level_o  (reqs_level)
  );

  // What its stamp is compared with has not gone half around.
  `ASSERT(StampsReach, !reqs_valid || reached(taken, reqs.stamp))

  lib_fifo #(
    .T    (beat_t),
    .Depth(InFlight)
  ) u_keys (
    .clk_i,
    .rst_ni,
    .s_valid_i(enter && keyed),
    .s_ready_o(keys_room),
    .s_data_i (key_i),
    .m_valid_o(keys_valid),
    .m_ready_i(keys_pop),
    .m_data_o (keys),
    .level_o  (unused_keys)
  );

  // ---------------------------------------------------------------- hash
  info_t info, hashed_info;
  logic hashed_valid, hashed_ready;
  logic [63:0] hashed;
  assign info = '{
          lookup: is_lookup(req_i.op),
          store: req_i.op inside {OpSet, OpCas},
          insert: req_i.op inside {OpSet, OpAdd},
          brief: req_i.op inside {OpSet, OpCas, OpDelete, OpTouch},
          marked: same('{!req_i.udp, req_i.conn}, marked_i),
          stamp: taken,
          klen: req_i.klen,
          vlen: req_i.vlen,
          off: req_i.off
      };

  hash #(
    .T(info_t)
  ) u_hash (
    .clk_i,
    .rst_ni,
    .nh_key_i (cfg_i.nh_key),
    .mix_key_i(cfg_i.mix_key),
    .s_valid_i(enter),
    .s_ready_o(hash_ready),
    .s_beat_i (key_i),
    .known_i  (!keyed),
    .hash_i   (req_i.hash),
    .db_i     (req_i.db),
    .info_i   (info),
    .m_valid_o(hashed_valid),
    .m_ready_i(hashed_ready),
    .m_hash_o (hashed),
    .m_info_o (hashed_info)
  );

  // ---------------------------------------------------------------- lookup
  log_range_t range;
  logic found_valid, found_ready;
  found_t found;

  // Ports of the index caches: class 0 lookup, class 1 execute; read port 0 lookup, 1 execute.
  logic [1:0][1:0] bkt_acq_valid, bkt_acq_ready, bkt_rsp_valid, bkt_rsp_ready, bkt_rd_en;
  line_no_t [1:0][1:0] bkt_acq_line;
  index_slot_t [1:0][1:0] bkt_rsp_slot, bkt_rd_slot;
  line_t [1:0][1:0] bkt_rd_data;
  logic [1:0][1:0][3:0] bkt_rel;
  logic [1:0] bkt_wr_valid, bkt_wr_ready, bkt_idle;
  index_slot_t bkt_wr_slot;
  line_no_t bkt_wr_line;
  line_t bkt_wr_data;
  strb_t bkt_wr_strb;

  // Ports of the log's cache: classes see store_pkg; write port 0 execute, 1 appender.
  logic [3:0] log_acq_valid, log_acq_ready, log_acq_fresh;
  logic [3:0] log_rsp_valid, log_rsp_ready, log_rsp_bank;
  line_no_t [3:0] log_acq_line;
  log_slot_t [3:0] log_rsp_slot;
  log_rel_t [3:0] log_rel;
  logic [1:0] log_wr_valid, log_wr_ready;
  log_slot_t log_rd_slot;
  log_slot_t [1:0] log_wr_slot;
  line_t log_rd_data;
  line_t [1:0] log_wr_data;
  logic [1:0] pair_valid, pair_ready, pair_en, pair_bad;
  bank_slot_t [1:0] pair_slot, pair_rd_slot;
  line_t [1:0] pair_data;
  logic [1:0] req_acq_valid, req_acq_ready, req_rsp_valid, req_rsp_ready;
  line_no_t [1:0] req_acq_line;
  bank_slot_t [1:0] req_rsp_slot;
  line_no_t [1:0] log_wr_line;
  strb_t [1:0] log_wr_strb;
  logic log_idle, log_rd_en, log_rd_bad;
  logic [1:0][1:0] unused_bad;  // a bucket that cannot be read is empty: see BadBucket

  // Lines that memory has refused.
  mem_said_t [3:0] said;
  logic [3:0] ask, ask_go, ask_bad, ask_gone, give_up;
  line_no_t [3:0] ask_line;
  for (genvar p = 0; p < 4; p++) begin : gen_bad_lines
    bad_lines u_bad_lines (
      .clk_i,
      .rst_ni,
      .said_i    (said[p]),
      .ask_i     (ask[p]),
      .ask_line_i(ask_line[p]),
      .go_o      (ask_go[p]),
      .bad_o     (ask_bad[p]),
      .gone_i    (ask_gone[p]),
      .full_o    (give_up[p])
    );
  end

  logic [1:0]
      look_acq_valid, look_rsp_ready, hint_valid, exe_acq_valid, exe_rsp_ready, exe_rd_en, exe_rel;
  line_no_t [1:0] look_acq_line, hint_line;
  line_no_t exe_acq_line;
  logic exe_acq_hint;
  index_slot_t [1:0] look_rd_slot, exe_rd_slot;
  logic look_rd_en, exe_request_rel, exe_idle;

  for (genvar b = 0; b < 2; b++) begin : gen_bank
    // Lookup's hints come in behind what execute acquires.
    assign bkt_acq_valid[b] = {exe_acq_valid[b] || hint_valid[b], look_acq_valid[b]};
    assign bkt_acq_line[b]  = {exe_acq_valid[b] ? exe_acq_line : hint_line[b], look_acq_line[b]};
    assign bkt_rsp_ready[b] = {exe_rsp_ready[b], look_rsp_ready[b]};
    assign bkt_rd_en[b]     = {exe_rd_en[b], look_rd_en};
    assign bkt_rd_slot[b]   = {exe_rd_slot[b], look_rd_slot[b]};
    assign bkt_rel[b]       = {4'(exe_rel[b]), 4'(exe_request_rel)};

    line_cache #(
      .Sets   (IndexSets),
      .Ways   (IndexWays),
      .Classes(2),
      .OwnWays(IndexOwnWays),
      .Avoid  (IndexAvoid),
      .HintWays(IndexHintWays),
      .Waiting({9'(WalkAhead), 9'd256}),
      .Reads  (2),
      .Writes (1),
      .Split  (1'b1),
      .Ultra  (1'b1),
      .Shift  (1),
      .Low    (b),
      .RenewEvery(128),
      .Anew   (BucketAnew),
      .BadLine(BadBucket)
    ) u_cache (
      .clk_i,
      .rst_ni,
      .base_i          (cfg_i.index_base),
      .acq_valid_i     (bkt_acq_valid[b]),
      .acq_ready_o     (bkt_acq_ready[b]),
      .acq_line_i      (bkt_acq_line[b]),
      .acq_fresh_i     ('0),
      .acq_hint_i      ({exe_acq_hint || !exe_acq_valid[b], 1'b0}),
      .rsp_valid_o     (bkt_rsp_valid[b]),
      .rsp_ready_i     (bkt_rsp_ready[b]),
      .rsp_slot_o      (bkt_rsp_slot[b]),
      .rel_i           (bkt_rel[b]),
      .rd_en_i         (bkt_rd_en[b]),
      .rd_slot_i       (bkt_rd_slot[b]),
      .rd_data_o       (bkt_rd_data[b]),
      .rd_bad_o        (unused_bad[b]),
      .wr_valid_i      (bkt_wr_valid[b]),
      .wr_ready_o      (bkt_wr_ready[b]),
      .wr_slot_i       (bkt_wr_slot),
      .wr_line_i       (bkt_wr_line),
      .wr_data_i       (bkt_wr_data),
      .wr_strb_i       (bkt_wr_strb),
      .mem_wr_valid_o  (wr_valid_o[b]),
      .mem_wr_ready_i  (wr_ready_i[b]),
      .mem_wr_o        (wr_o[b]),
      .mem_wr_done_i   (wr_done_i[b]),
      .mem_rd_valid_o  (rd_valid_o[b]),
      .mem_rd_ready_i  (rd_ready_i[b]),
      .mem_rd_addr_o   (rd_addr_o[b]),
      .mem_rdat_valid_i(rdat_valid_i[b]),
      .mem_rdat_i      (rdat_i[b]),
      .mem_rdat_bad_i  (rdat_bad_i[b]),
      .mem_wr_bad_i    (wr_bad_i[b]),
      .said_o          (said[b]),
      .ask_o           (ask[b]),
      .ask_line_o      (ask_line[b]),
      .go_i            (ask_go[b]),
      .bad_i           (ask_bad[b]),
      .gone_o          (ask_gone[b]),
      .idle_o          (bkt_idle[b])
    );
  end

  log_cache u_log_cache (
    .clk_i,
    .rst_ni,
    .base_i          (cfg_i.log_base),
    .acq_valid_i     (log_acq_valid),
    .acq_ready_o     (log_acq_ready),
    .acq_line_i      (log_acq_line),
    .acq_fresh_i     (log_acq_fresh),
    .rsp_valid_o     (log_rsp_valid),
    .rsp_ready_i     (log_rsp_ready),
    .rsp_bank_i      (log_rsp_bank),
    .rsp_slot_o      (log_rsp_slot),
    .rel_i           (log_rel),
    .req_acq_valid_i (req_acq_valid),
    .req_acq_ready_o (req_acq_ready),
    .req_acq_line_i  (req_acq_line),
    .req_rsp_valid_o (req_rsp_valid),
    .req_rsp_ready_i (req_rsp_ready),
    .req_rsp_slot_o  (req_rsp_slot),
    .pair_valid_o    (pair_valid),
    .pair_ready_i    (pair_ready),
    .pair_slot_o     (pair_slot),
    .pair_en_i       (pair_en),
    .pair_rd_slot_i  (pair_rd_slot),
    .pair_data_o     (pair_data),
    .pair_bad_o      (pair_bad),
    .rd_en_i         (log_rd_en),
    .rd_slot_i       (log_rd_slot),
    .rd_data_o       (log_rd_data),
    .rd_bad_o        (log_rd_bad),
    .wr_valid_i      (log_wr_valid),
    .wr_ready_o      (log_wr_ready),
    .wr_slot_i       (log_wr_slot),
    .wr_line_i       (log_wr_line),
    .wr_data_i       (log_wr_data),
    .wr_strb_i       (log_wr_strb),
    .mem_wr_valid_o  (wr_valid_o[3:2]),
    .mem_wr_ready_i  (wr_ready_i[3:2]),
    .mem_wr_o        (wr_o[3:2]),
    .mem_wr_done_i   (wr_done_i[3:2]),
    .mem_rd_valid_o  (rd_valid_o[3:2]),
    .mem_rd_ready_i  (rd_ready_i[3:2]),
    .mem_rd_addr_o   (rd_addr_o[3:2]),
    .mem_rdat_valid_i(rdat_valid_i[3:2]),
    .mem_rdat_i      (rdat_i[3:2]),
    .mem_rdat_bad_i  (rdat_bad_i[3:2]),
    .mem_wr_bad_i    (wr_bad_i[3:2]),
    .said_o          (said[3:2]),
    .ask_o           (ask[3:2]),
    .ask_line_o      (ask_line[3:2]),
    .go_i            (ask_go[3:2]),
    .bad_i           (ask_bad[3:2]),
    .gone_o          (ask_gone[3:2]),
    .idle_o          (log_idle)
  );
  assign log_acq_fresh[2:0]         = '0;
  assign log_acq_valid[ClassRequest] = 1'b0;
  assign log_acq_line[ClassRequest]  = '0;
  assign log_rsp_ready[ClassRequest] = 1'b0;
  assign log_rsp_bank[ClassRequest]  = 1'b0;
  assign log_rsp_ready[ClassReader]  = 1'b0;
  assign log_rsp_bank[ClassReader]   = 1'b0;

  lookup u_lookup (
    .clk_i,
    .rst_ni,
    .index_bits_i      (cfg_i.index_bits),
    .range_i           (range),
    .s_valid_i         (hashed_valid),
    .s_ready_o         (hashed_ready),
    .hash_i            (hashed),
    .lookup_i          (hashed_info.lookup),
    .store_i           (hashed_info.store),
    .insert_i          (hashed_info.insert),
    .brief_i           (hashed_info.brief),
    .stamp_i           (hashed_info.stamp),
    .written_i         (written),
    .klen_i            (hashed_info.klen),
    .vlen_i            (hashed_info.vlen),
    .off_i             (hashed_info.off),
    .bucket_acq_valid_o(look_acq_valid),
    .bucket_acq_ready_i({bkt_acq_ready[1][0], bkt_acq_ready[0][0]}),
    .bucket_acq_line_o (look_acq_line),
    .bucket_rsp_valid_i({bkt_rsp_valid[1][0], bkt_rsp_valid[0][0]}),
    .bucket_rsp_ready_o(look_rsp_ready),
    .bucket_rsp_slot_i ({bkt_rsp_slot[1][0], bkt_rsp_slot[0][0]}),
    .bucket_rd_en_o    (look_rd_en),
    .bucket_rd_slot_o  (look_rd_slot),
    .bucket_rd_data_i  ({bkt_rd_data[1][0], bkt_rd_data[0][0]}),
    .hint_valid_o      (hint_valid),
    .hint_ready_i      ({bkt_acq_ready[1][1], bkt_acq_ready[0][1]} & ~exe_acq_valid),
    .hint_line_o       (hint_line),
    .log_acq_valid_o   (req_acq_valid),
    .log_acq_ready_i   (req_acq_ready),
    .log_acq_line_o    (req_acq_line),
    .m_valid_o         (found_valid),
    .m_ready_i         (found_ready),
    .m_found_o         (found),
    .idle_i            (exe_idle)
  );

  // ---------------------------------------------------------------- log
  logic own_valid, own_ready, ownk_valid, ownk_ready, ownb_valid, ownb_ready, append_idle;
  logic item, lap, refuse, bad_read_q, bad_write_q, tell, stages_clear, mark, reader_clear;
  put_t own;
  beat_t ownk, ownb;
  logic [5:0] ownb_start;
  logic ownb_bad;

  log u_log (
    .clk_i,
    .rst_ni,
    .tick_i,
    .log_lines_i (cfg_i.log_lines),
    .bad_i       (give_up != '0),
    .put_valid_i (put_valid_i && enable_i),
    .put_ready_o,
    .put_i,
    .putk_valid_i,
    .putk_ready_o,
    .putk_i,
    .putb_valid_i,
    .putb_ready_o,
    .putb_i,
    .own_valid_i (own_valid),
    .own_ready_o (own_ready),
    .own_i       (own),
    .ownk_valid_i(ownk_valid),
    .ownk_ready_o(ownk_ready),
    .ownk_i      (ownk),
    .ownb_valid_i(ownb_valid),
    .ownb_ready_o(ownb_ready),
    .ownb_i      (ownb),
    .ownb_start_i(ownb_start),
    .ownb_bad_i  (ownb_bad),
    .off_valid_o (put_off_valid_o),
    .off_o       (put_off_o),
    .range_o     (range),
    .tell_o      (tell),
    .stages_clear_i(stages_clear),
    .mark_o      (mark),
    .reader_clear_i(reader_clear),
    .taken_o     (taken),
    .written_o   (written),
    .item_o      (item),
    .lap_o       (lap),
    .refuse_o    (refuse),
    .acq_valid_o (log_acq_valid[ClassAppend]),
    .acq_ready_i (log_acq_ready[ClassAppend]),
    .acq_line_o  (log_acq_line[ClassAppend]),
    .acq_fresh_o (log_acq_fresh[ClassAppend]),
    .rsp_valid_i (log_rsp_valid[ClassAppend]),
    .rsp_ready_o (log_rsp_ready[ClassAppend]),
    .rsp_bank_o  (log_rsp_bank[ClassAppend]),
    .rsp_slot_i  (log_rsp_slot[ClassAppend]),
    .rel_o       (log_rel[ClassAppend]),
    .wr_valid_o  (log_wr_valid[1]),
    .wr_ready_i  (log_wr_ready[1]),
    .wr_slot_o   (log_wr_slot[1]),
    .wr_line_o   (log_wr_line[1]),
    .wr_data_o   (log_wr_data[1]),
    .wr_strb_o   (log_wr_strb[1]),
    .idle_o      (append_idle),
    .late_o,
    .timer_o
  );

  // ---------------------------------------------------------------- execute
  logic read_valid, read_ready, read_idle, out_valid, out_ready, exe_patches;
  logic chunk_valid, chunk_own, chunk_own_ready;
  read_t read;
  res_t out;
  logic [StoreCounts-1:0] exe_count;

  execute u_execute (
    .clk_i,
    .rst_ni,
    .now_i,
    .index_bits_i        (cfg_i.index_bits),
    .one_way_i           (cfg_i.one_way),
    .upstream_i          (cfg_i.upstream),
    .item_max_i          (cfg_i.item_max),
    .range_i             (range),
    .tell_i              (tell),
    .clear_o             (stages_clear),
    .req_valid_i         (reqs_valid),
    .req_ready_o         (reqs_pop),
    .req_i               (reqs.req),
    .stamp_i             (reqs.stamp),
    .bad_valid_i,
    .bad_conn_i,
    .job_over_o,
    .job_over_conn_o,
    .found_valid_i       (found_valid),
    .found_ready_o       (found_ready),
    .found_i             (found),
    .key_valid_i         (keys_valid),
    .key_ready_o         (keys_pop),
    .key_i               (keys),
    .taken_i             (taken),
    .written_i           (written),
    .own_valid_o         (own_valid),
    .own_ready_i         (own_ready),
    .own_o               (own),
    .ownk_valid_o        (ownk_valid),
    .ownk_ready_i        (ownk_ready),
    .ownk_o              (ownk),
    .ownb_valid_o        (ownb_valid),
    .ownb_ready_i        (ownb_ready),
    .ownb_o              (ownb),
    .ownb_start_o        (ownb_start),
    .ownb_bad_o          (ownb_bad),
    .own_off_i           (put_off_o),
    .bucket_rd_en_o      (exe_rd_en),
    .bucket_rd_slot_o    (exe_rd_slot),
    .bucket_rd_data_i    ({bkt_rd_data[1][1], bkt_rd_data[0][1]}),
    .bucket_wr_valid_o   (bkt_wr_valid),
    .bucket_wr_ready_i   (bkt_wr_ready),
    .bucket_wr_slot_o    (bkt_wr_slot),
    .bucket_wr_line_o    (bkt_wr_line),
    .bucket_wr_data_o    (bkt_wr_data),
    .bucket_wr_strb_o    (bkt_wr_strb),
    .bucket_acq_valid_o  (exe_acq_valid),
    .bucket_acq_ready_i  ({bkt_acq_ready[1][1], bkt_acq_ready[0][1]}),
    .bucket_acq_line_o   (exe_acq_line),
    .bucket_acq_hint_o   (exe_acq_hint),
    .bucket_rsp_valid_i  ({bkt_rsp_valid[1][1], bkt_rsp_valid[0][1]}),
    .bucket_rsp_ready_o  (exe_rsp_ready),
    .bucket_rsp_slot_i   ({bkt_rsp_slot[1][1], bkt_rsp_slot[0][1]}),
    .bucket_request_rel_o(exe_request_rel),
    .bucket_rel_o        (exe_rel),
    .request_rsp_valid_i (req_rsp_valid),
    .request_rsp_ready_o (req_rsp_ready),
    .request_rsp_slot_i  (req_rsp_slot),
    .acq_valid_o         (log_acq_valid[ClassExecute]),
    .acq_ready_i         (log_acq_ready[ClassExecute]),
    .acq_line_o          (log_acq_line[ClassExecute]),
    .rsp_valid_i         (log_rsp_valid[ClassExecute]),
    .rsp_ready_o         (log_rsp_ready[ClassExecute]),
    .rsp_bank_o          (log_rsp_bank[ClassExecute]),
    .rsp_slot_i          (log_rsp_slot[ClassExecute]),
    .rel_o               (log_rel[ClassExecute]),
    .rd_en_o             (log_rd_en),
    .rd_slot_o           (log_rd_slot),
    .rd_data_i           (log_rd_data),
    .rd_bad_i            (log_rd_bad),
    .wr_valid_o          (log_wr_valid[0]),
    .wr_ready_i          (log_wr_ready[0]),
    .wr_slot_o           (log_wr_slot[0]),
    .wr_line_o           (log_wr_line[0]),
    .wr_data_o           (log_wr_data[0]),
    .wr_strb_o           (log_wr_strb[0]),
    .read_valid_o        (read_valid),
    .read_ready_i        (read_ready),
    .read_o              (read),
    .patches_o           (exe_patches),
    .chunk_valid_i       (chunk_valid && chunk_own),
    .chunk_ready_o       (chunk_own_ready),
    .chunk_i             (chunk_o),
    .rkey_valid_o,
    .rkey_ready_i,
    .rkey_o,
    .res_valid_o         (out_valid),
    .res_ready_i         (out_ready),
    .res_o               (out),
    .hreq_valid_o,
    .hreq_ready_i,
    .hreq_o,
    .hkey_valid_o,
    .hkey_ready_i,
    .hkey_o,
    .count_o             (exe_count),
    .idle_o              (exe_idle)
  );

  lib_skid_buffer #(
    .T(res_t)
  ) u_res (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_valid),
    .s_ready_o(out_ready),
    .s_data_i (out),
    .m_valid_o(res_valid_o),
    .m_ready_i(res_ready_i),
    .m_data_o (res_o)
  );

  // ---------------------------------------------------------------- reader
  reader u_reader (
    .clk_i,
    .rst_ni,
    .s_valid_i    (read_valid),
    .s_ready_o    (read_ready),
    .s_i          (read),
    .hold_i       (exe_patches),
    .mark_i       (mark),
    .clear_o      (reader_clear),
    .range_i      (range),
    .acq_valid_o  (log_acq_valid[ClassReader]),
    .acq_ready_i  (log_acq_ready[ClassReader]),
    .acq_line_o   (log_acq_line[ClassReader]),
    .rsp_valid_i  (pair_valid),
    .rsp_ready_o  (pair_ready),
    .rsp_slot_i   (pair_slot),
    .rel_o        (log_rel[ClassReader]),
    .request_rel_o(log_rel[ClassRequest]),
    .rd_en_o      (pair_en),
    .rd_slot_o    (pair_rd_slot),
    .rd_data_i    (pair_data),
    .rd_bad_i     (pair_bad),
    .chunk_valid_o(chunk_valid),
    .chunk_ready_i(chunk_own ? chunk_own_ready : chunk_ready_i),
    .chunk_o,
    .chunk_own_o  (chunk_own),
    .idle_o       (read_idle)
  );

  assign chunk_valid_o = chunk_valid && !chunk_own;

  assign trace_o = '{
          hash: hashed_valid && hashed_ready && hashed_info.marked,
          execute: '{reqs_valid && reqs_pop && !reqs.req.udp, reqs.req.conn},
          value: '{out_valid && out_ready && out.kind == RsValue, out.udp ? HostConn : out.conn}
      };

  // ---------------------------------------------------------------- events, idle
  always_comb begin
    count_o                     = exe_count;
    count_o[StoreCountItems]    = item;
    count_o[StoreCountLaps]     = lap;
    count_o[StoreCountNoMemory] = refuse;
    count_o[StoreCountBadReads]  = bad_read_q;
    count_o[StoreCountBadWrites] = bad_write_q;
  end

  always_ff @(posedge clk_i) begin
    bad_read_q  <= rst_ni && (rdat_valid_i & rdat_bad_i) != '0;
    bad_write_q <= rst_ni && (wr_done_i & wr_bad_i) != '0;
  end

  // A request stays in u_reqs until execute takes it, so what is in between needs no flag.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) idle_o <= 1'b0;
    else
      idle_o <= !req_valid_i && !put_valid_i && reqs_level == '0 && exe_idle && read_idle &&
        append_idle && (&bkt_idle) && log_idle && !res_valid_o && !hreq_valid_o && !hkey_valid_o;
  end

endmodule
