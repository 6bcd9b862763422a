// The fast path: jobs and their bytes in, one request a clock out, for requests that it understands
// at a glance (decode); the others are read by the slow path, one after the other. Requests leave in
// order. Latency 12 from a line to the request in it, where that follows the request before at once; 9 to the first
// request of a job that comes in one line, with nothing before it.
//
// Received lines are kept until sequencer, slow path and payload mover are through with them. Places where requests may
// start are read ahead of knowing that they do; sequencer picks those that are.
`include "lib_assert.svh"

module fast_path
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::HostConn;
  import parse_pkg::*;
  import config_pkg::Config;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it (-I), in bytes.
  input  logic [20:0] item_max_i,
  /// What is no plain GET is for the slow path, and so for host software; but for the request port's.
  input  logic        upstream_i,
  /// Jobs, and the lines that hold their bytes, one at the least.
  input  logic        job_valid_i,
  output logic        job_ready_o,
  input  job_t        job_i,
  /// Others wait: a job that has taken long ends in front of its next request.
  input  logic        press_i,
  input  logic        raw_valid_i,
  output logic        raw_ready_o,
  input  raw_t        raw_i,
  /// To the slow path: one request, or what an earlier job has left of it, of the job that stands here.
  output logic        byte_start_o,
  output place_t      byte_from_o,
  output logic        byte_first_o,
  output job_t        byte_job_o,
  output place_t      byte_job_start_o,
  output place_t      byte_job_stop_o,
  output line_no_t    coming_o,
  /// Its lines, a clock later.
  input  logic        byte_read_i,
  input  line_no_t    byte_line_i,
  output line_t       byte_data_o,
  /// How far it has come, and where it leaves off: see sequencer.
  input  logic        byte_begun_i,
  input  place_t      byte_place_i,
  input  line_no_t    byte_kept_i,
  input  logic        byte_done_i,
  input  logic        byte_over_i,
  input  logic        byte_records_i,
  /// Item data for the payload mover, or text; some of that is on its way.
  input  logic        byte_item_valid_i,
  output logic        byte_item_ready_o,
  input  place_t      byte_item_place_i,
  input  logic [13:0] byte_item_len_i,
  input  logic        byte_item_text_i,
  output logic        byte_text_moves_o,
  /// Requests, in their turn; their numbers come a clock later.
  input  logic        room_i,
  output logic        turn_o,
  output out_t        out_o,
  output numbers_t    numbers_o,
  /// Item data; it counts at once. With room there is for 4 more.
  input  logic        item_room_i,
  output logic        item_valid_o,
  output beat_t       item_o,
  /// Or keys of requests, and of items; likewise.
  input  logic        key_room_i,
  output logic        key_request_o,
  output logic        key_item_o,
  /// Pulses: a request line, one that is not complete.
  output logic        line_o,
  output logic        rollback_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  // ---------------------------------------------------------------- jobs, and where their bytes are
  typedef struct packed {
    place_t start;
    place_t stop;
    logic   plain;
    logic   foreign;
    logic   again;
    logic   plain_only;  // what is no plain GET is not for gates
  } bounds_t;

  bounds_t placed, waiting, bounds_q, next_bounds_q;
  job_t job;
  logic placed_ready, unused_jobs_room, waiting_valid, next_q, job_valid, job_pop;
  logic [2:0] unused_waiting;
  logic [3:0] unused_jobs;
  line_no_t next_line_q;
  logic [5:0] lane;
  logic [6:0] low;    // behind its last byte, from its first line or the one behind on
  line_no_t next_line;
  always_comb begin
    placed.start.line = next_line_q;
    lane              = job_i.udp ? 6'd8 : job_i.ctx.rx_ptr[5:0];
    placed.start.lane = (job_i.visit.len == '0 && !job_i.udp) ? 6'd0 : lane;
    placed.stop       = placed.start + job_i.visit.len;
    placed.foreign    = (!Config.fast_binary && job_i.ctx.binary.is) ||
        (!Config.fast_redis && job_i.ctx.resp.is);
    placed.plain      = job_i.udp ||
        (!job_i.visit.host && !job_i.ctx.cont && job_i.ctx.mode == MdLine && !job_i.visit.whole);
    placed.again      = job_i.udp || job_i.visit.len != 14'(JobBytes);
    placed.plain_only = upstream_i && (job_i.udp || job_i.visit.conn != HostConn);
    low    = 7'(lane) + 7'(job_i.visit.len[5:0]);
    next_line = (job_i.visit.len == '0) ? next_line_q + 8'd1 :
        (next_line_q + job_i.visit.len[13:6]) + ((low > 7'd64) ? 8'd2 : (low != '0) ? 8'd1 : 8'd0);
  end
  assign job_ready_o = placed_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) next_line_q <= '0;
    else if (job_valid_i && placed_ready) next_line_q <= next_line;
  end

  // Places come later than jobs, so the two clocks here cost no time.
  lib_fifo #(
    .T    (job_t),
    .Depth(8),
    .Ultra(1)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(job_valid_i && placed_ready),
    .s_ready_o(unused_jobs_room),
    .s_data_i (job_i),
    .m_valid_o(job_valid),
    .m_ready_i(job_pop),
    .m_data_o (job),
    .level_o  (unused_jobs)
  );

  lib_fifo #(
    .T    (bounds_t),
    .Depth(4)
  ) u_bounds (
    .clk_i,
    .rst_ni,
    .s_valid_i(job_valid_i),
    .s_ready_o(placed_ready),
    .s_data_i (placed),
    .m_valid_o(waiting_valid),
    .m_ready_i(!next_q),
    .m_data_o (waiting),
    .level_o  (unused_waiting)
  );

  // What the sequencer compares at once stands in flip-flops: of the job that stands at the queue's end, and of
  // the next one.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) next_q <= 1'b0;
    else next_q <= job_valid && !job_pop && (next_q || waiting_valid);
    if (!job_valid || job_pop) bounds_q <= next_q ? next_bounds_q : waiting;
    if (!next_q) next_bounds_q <= waiting;
  end

  // Six have bounds at the most, and a job's come when it does.
  `ASSERT(RoomForJobs, unused_jobs_room)
  `ASSERT(BoundsCome, job_valid || !next_q)

  // ---------------------------------------------------------------- lines, and where to look
  logic we, start_valid, start_ready_q;
  line_no_t coming, oldest;
  line_t data;
  logic [63:0] cr, lf;
  start_t found, start;
  cand_t waits, cand;
  line_no_t at_line;

  line_scan u_scan (
    .clk_i,
    .rst_ni,
    .raw_valid_i,
    .raw_ready_o,
    .raw_i,
    .oldest_i     (oldest),
    .skip_i       (at_line),
    .we_o         (we),
    .line_o       (coming),
    .data_o       (data),
    .cr_o         (cr),
    .lf_o         (lf),
    .start_ready_i(start_ready_q),
    .start_valid_o(start_valid),
    .start_o      (found)
  );

  // Behind a queue synthesis does not see that something never comes. What is read of a job of such a protocol counts
  // for nothing.
  always_comb begin
    start = found;
    start.binary &= Config.fast_binary;
    start.resp &= Config.fast_redis;
    cand = waits;
    if (!Config.fast_meta) {cand.meta, cand.flags} = '0;
    if (!Config.fast_binary) cand.binary = '0;
    if (!Config.fast_redis) {cand.resp, cand.form, cand.count, cand.timed} = '0;
  end

  // What is known of the lines beside their bytes.
  typedef struct packed {
    logic       last;
    logic [6:0] stop;
  } end_t;
  (* ram_style = "distributed" *) end_t end_q[KeptLines];
  (* ram_style = "distributed" *) logic [63:0] cr_q[KeptLines];
  (* ram_style = "distributed" *) logic [63:0] lf_q[KeptLines];
  always_ff @(posedge clk_i) begin
    if (we) begin
      end_q[coming[KeptW-1:0]] <= '{last: raw_i.last, stop: raw_i.stop};
      cr_q[coming[KeptW-1:0]]  <= cr;
      lf_q[coming[KeptW-1:0]]  <= lf;
    end
  end

  // ---------------------------------------------------------------- read ahead
  line_t window;
  end_t behind;
  logic read_valid, short;
  cand_t read, judged;
  logic cand_valid, cand_here, cand_pop, unused_room;
  logic [5:0] cand_level;

  assign behind = end_q[start.place.line[KeptW-1:0]+KeptW'(1)];
  assign short  = start.last || (behind.last && behind.stop <= 7'(start.place.lane));

  line_window u_window (
    .clk_i,
    .we_i   (we),
    .wline_i(coming[KeptW-1:0]),
    .wdata_i(data),
    .place_i(start.place),
    .alone_i(start.last),
    .data_o (window)
  );

  // memcached counts the key, of up to 250 bytes, the value, 4 for flags, and 59.
  logic [10:0] value_max_q;
  always_ff @(posedge clk_i) begin
    value_max_q <= (item_max_i >= 21'(ValueMax + 320)) ? 11'(ValueMax) :
        (item_max_i >= 21'd320) ? 11'(item_max_i - 21'd320) : '0;
  end

  logic words_valid, flags_valid;
  flag_words_t words;
  flags_t flags;
  logic [5:0] words_level;
  decode u_decode (
    .clk_i,
    .rst_ni,
    .value_max_i(value_max_q),
    .valid_i    (start_valid),
    .start_i    (start),
    .short_i    (short),
    .data_i     (window),
    .valid_o    (read_valid),
    .cand_o     (read),
    .words_valid_o(words_valid),
    .words_o    (words)
  );

  // A line of keys is as plain as its first part.
  always_comb begin
    judged       = read;
    judged.plain = Config.upstream && (read.key ||
        (read.op == OpGet && !read.touch && !(read.resp && (read.timed || read.form != RfBulk))) ||
        (read.op == OpReply && read.resp && read.form == RfArray));
  end

  // There is room for all that is on its way.
  localparam int unsigned CandDepth = 32;
  localparam int unsigned OnTheWay = 10;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) start_ready_q <= 1'b0;
    else
      start_ready_q <= cand_level <= 6'(CandDepth - OnTheWay) &&
          words_level <= 6'(CandDepth - OnTheWay);
  end

  // What a meta command's flags say is there when it is its turn, or it waits.
  if (Config.fast_meta) begin : gen_flags
    meta_flags #(
      .Depth(CandDepth)
    ) u_flags (
      .clk_i,
      .rst_ni,
      .s_valid_i(words_valid),
      .s_words_i(words),
      .level_o  (words_level),
      .m_valid_o(flags_valid),
      .m_ready_i(cand_pop && cand.flags && cand_here),
      .m_flags_o(flags)
    );
  end else begin : gen_no_flags
    assign {words_level, flags_valid, flags} = '0;
  end

  lib_fifo #(
    .T    (cand_t),
    .Depth(CandDepth)
  ) u_cands (
    .clk_i,
    .rst_ni,
    .s_valid_i(read_valid),
    .s_ready_o(unused_room),
    .s_data_i (judged),
    .m_valid_o(cand_valid),
    .m_ready_i(cand_pop && cand_here),
    .m_data_o (waits),
    .level_o  (cand_level)
  );

  assign cand_here = cand_valid && (!cand.flags || flags_valid);

  // ---------------------------------------------------------------- which of them are requests
  walk_t walk;
  logic walk_valid, walk_taken, walk_keys, act_room, act_busy, mover_busy;
  line_no_t walk_oldest;

  logic plain;
  assign plain = !bounds_q.plain_only || (cand.plain && (!cand.flags || flags.plain));

  // A datagram has no other job. The next job may be told so of the one before for a clock, in which it has nothing that
  // has gone out.
  localparam int unsigned Long = 2048;
  logic [$clog2(Long)-1:0] clocks_q;
  logic late_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !job_valid || job_pop) clocks_q <= '0;
    else if (clocks_q != '1) clocks_q <= clocks_q + 1'b1;
    late_q <= rst_ni && clocks_q == '1 && press_i && !job.udp;
  end

  sequencer u_sequencer (
    .clk_i,
    .rst_ni,
    .job_valid_i      (job_valid),
    .job_ready_o      (job_pop),
    .job_start_i      (bounds_q.start),
    .job_stop_i       (bounds_q.stop),
    .job_plain_i      (bounds_q.plain),
    .job_foreign_i    (bounds_q.foreign),
    .job_again_i      (bounds_q.again),
    .job_late_i       (late_q),
    .cand_valid_i     (cand_here),
    .cand_ready_o     (cand_pop),
    .cand_place_i     (cand.place),
    .cand_next_i      (cand.next),
    .cand_ending_i    (cand.ending),
    .cand_key_i       (cand.key),
    .cand_good_i      (cand.good && (!cand.flags || flags.good) && plain),
    .cand_unfinished_i(cand.unfinished),
    .cand_open_i      (cand.open),
    .cand_tail_i      (cand.tail),
    .cand_whole_i     (cand.store || cand.binary.is || cand.resp),
    .cand_record_i    (cand.record),
    .cand_more_i      (cand.more),
    .cand_resp_i      (cand.resp),
    .cand_count_i     (cand.count),
    .walk_valid_o     (walk_valid),
    .act_ready_i      (act_room && room_i),
    .byte_ready_i     (!turn_o),
    .walk_taken_o     (walk_taken),
    .walk_o           (walk),
    .byte_first_o     (byte_first_o),
    .keys_o           (walk_keys),
    .byte_begun_i,
    .byte_place_i,
    .byte_kept_i,
    .byte_done_i,
    .byte_over_i,
    .byte_records_i,
    .at_line_o        (at_line),
    .oldest_o         (walk_oldest)
  );

  // The slow path starts when all records before are on their way.
  logic keys_move;
  assign turn_o           = act_busy || (keys_move && !byte_begun_i);
  assign byte_start_o     = walk_valid && walk.kind == WkByte && !turn_o;
  assign byte_from_o      = walk.from;
  assign byte_job_o       = job;
  assign byte_job_start_o = bounds_q.start;
  assign byte_job_stop_o  = bounds_q.stop;
  assign coming_o         = coming;

  // ---------------------------------------------------------------- a request leaves
  logic crlf, item_go, item_ready, item_waits;
  item_t item, byte_item;
  assign byte_item = '{
          place: byte_item_place_i,
          len: byte_item_len_i,
          request: byte_item_text_i,
          default: '0
      };
  place_t act_cr, act_lf;
  // An item's data ends with CR LF, or was bad.
  assign crlf = cr_q[act_cr.line[KeptW-1:0]][act_cr.lane] &&
                lf_q[act_lf.line[KeptW-1:0]][act_lf.lane];

  issue u_act (
    .clk_i,
    .rst_ni,
    .take_i      (walk_taken),
    .free_o      (act_room),
    .walk_i      (walk),
    .keys_i      (walk_keys),
    .cand_i      (cand),
    .flags_i     (flags),
    .job_i       (job),
    .job_start_i (bounds_q.start),
    .coming_i    (coming),
    .cr_o        (act_cr),
    .lf_o        (act_lf),
    .crlf_i      (crlf),
    .out_o,
    .numbers_o,
    .item_valid_o(item_go),
    .item_ready_i(item_ready),
    .item_o      (item),
    .item_waits_o(item_waits),
    .keys_move_i (keys_move),
    .line_o,
    .rollback_o,
    .busy_o      (act_busy)
  );

  // ---------------------------------------------------------------- item data, lines for the slow path
  logic mover_holds;
  place_t mover_place;
  line_t mover_data;
  line_no_t mover_line;

  line_window #(
    .Early(0)
  ) u_values (
    .clk_i,
    .we_i   (we),
    .wline_i(coming[KeptW-1:0]),
    .wdata_i(data),
    .place_i(byte_read_i ? '{line: byte_line_i, lane: '0} : mover_place),
    .alone_i(1'b0),
    .data_o (mover_data)
  );
  assign byte_data_o = mover_data;

  payload_mover u_payload (
    .clk_i,
    .rst_ni,
    .item_valid_i(item_go || byte_item_valid_i),
    .item_ready_o(item_ready),
    .item_i      (byte_item_valid_i ? byte_item : item),
    .coming_i    (coming),
    .wait_i      (byte_read_i),
    .place_o     (mover_place),
    .data_i      (mover_data),
    .room_i      (item_room_i),
    .valid_o     (item_valid_o),
    .beat_o      (item_o),
    .key_room_i  (key_room_i),
    .key_request_o(key_request_o),
    .key_item_o  (key_item_o),
    .keys_move_o (keys_move),
    .holds_o     (mover_holds),
    .line_o      (mover_line),
    .busy_o      (mover_busy)
  );
  assign byte_item_ready_o = item_ready;
  assign byte_text_moves_o = keys_move;

  // The oldest of those who need lines says what is kept.
  always_comb begin
    oldest = walk_oldest;
    if (item_waits) oldest = item.place.line;
    if (mover_holds) oldest = mover_line;
  end

  assign idle_o = !job_valid_i && !raw_valid_i && !waiting_valid && !job_valid && !cand_valid &&
                  !act_busy && !mover_busy;

  `ASSERT(CandRoom, !(read_valid && !unused_room))
  `ASSERT(LinesKept, !mover_holds || line_no_t'(coming - mover_line) <= line_no_t'(KeptLines))
  `ASSERT(OneItem, !(item_go && byte_item_valid_i))

endmodule
