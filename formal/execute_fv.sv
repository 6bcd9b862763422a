// execute, seen through one way of one bucket: what a request takes for that way's content when it acts
// is what was committed last, by whichever request and step, however the stages overlap, wait, and
// read again; and so are the buckets that the steps look into.
//
// The index' caches are as line_cache_fv shows them to be: a read gives what was written before its
// clock, a pinned line stands in one slot. What of the log is valid moves as log_allocator_fv shows, within a lap: the head
// comes up to a tail that was told before, after which execute was clear, and the reader of what appends have it read.
// So here is shown that execute is clear when it says so (its assertion Clear), and that nothing was written over what
// it has used (Held).
// All other inputs, the log's lines among them, say anything.
// Four buckets a bank. A place of the log stands in one way at most. Not seen here: records of bytes that
// nobody knows (they become OpReply).
`include "fv.svh"
`include "lib_assert.svh"

module execute_fv
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import store_pkg::*;
(
  input logic             clk_i,
  // The way that is seen, and what is in it.
  input logic             bank_i,
  input logic [1:0]       line_i,
  input logic [2:0]       way_i,
  input way_t             content_i,
  input epoch_t           epoch_i,
  input msec_t            now_i,
  // The log: at first; where the head moves, the next tail and that it is told, that the head may come up to it.
  input log_range_t       range_i,
  input logic [27:0]      head_i,
  input logic [27:0]      tail_i,
  input logic             tail_lap_i,
  input logic             news_i,
  input logic             pass_i,
  input logic             req_valid_i,
  input req_t             req_i,
  input serial_t          stamp_i,
  input found_t           found_i,
  input logic             key_valid_i,
  input beat_t            key_i,
  input serial_t          taken_i,
  input serial_t          written_i,
  input off_t             own_off_i,
  input logic             own_ready_i,
  input logic             ownk_ready_i,
  input logic             ownb_ready_i,
  // What the read ports give of all other ways and buckets.
  input line_t [1:0]      other_i,
  input logic [1:0]       wr_ready_i,
  input logic [1:0]       acq_ready_i,
  input logic [1:0]       rsp_valid_i,
  input logic [1:0]       lines_valid_i,
  input bank_slot_t [1:0] lines_slot_i,
  input logic             line_acq_ready_i,
  input logic             line_rsp_valid_i,
  input log_slot_t        line_slot_i,
  input line_t            line_data_i,
  input logic             line_bad_i,
  input logic             line_wr_ready_i,
  input logic             read_ready_i,
  input logic             chunk_valid_i,
  input chunk_t           chunk_i,
  input logic             rkey_ready_i,
  input logic             res_ready_i,
  input logic             hreq_ready_i,
  input logic             hkey_ready_i
);
  `FV_RESET

  localparam logic [4:0] IndexBits = 5'd3;

  // ------------------------------------------------ the way that is seen
  logic bank_q;
  logic [1:0] line_q;
  logic [2:0] way_q;
  way_t content_q;
  epoch_t epoch_q;  // of its bucket
  always_ff @(posedge clk_i) if (!rst_ni) {bank_q, line_q, way_q} <= {bank_i, line_i, way_i};

  // ------------------------------------------------ requests
  logic req_ready, found_ready, key_ready, held_q;
  found_t found;
  function automatic logic [1:0] half(input line_no_t line);
    return line[1:0];
  endfunction
  always_comb begin
    found = found_i;
    found.lookup = req_i.op inside {OpGet, OpSet, OpAdd, OpReplace, OpCas, OpDelete, OpIncr,
                                    OpDecr, OpTouch,
                                    OpTooBig, OpAppend, OpPrepend};
    for (int b = 0; b < 2; b++) begin
      found.line[b] = line_no_t'(half(found_i.line[b]));
      found.slot[b] = index_slot_t'(half(found_i.line[b]));
    end
  end
  // Both come together here: who waits for the other is next's business alone.
  `FV_STREAM(gen_req, req_valid_i, req_ready, {req_i, stamp_i, found_i})
  `FV_STREAM(gen_key, key_valid_i, key_ready, key_i)
  `FV_ASSUME(no_bad, req_i.op <= OpWalk)

  // ------------------------------------------------ the index' caches
  logic [1:0] rd_en, wr_valid, acq_valid, rsp_ready, rel;
  index_slot_t [1:0] rd_slot, rsp_slot;
  line_t [1:0] rd_data;
  index_slot_t wr_slot;
  line_no_t wr_line, acq_line;
  line_t wr_data;
  strb_t wr_strb;
  logic [7:0][6:0] way_strb;
  bucket_t wr_bucket;
  logic [1:0] acquired_q;
  logic acq_hint;
  line_t [1:0] rd_q;
  logic put;
  assign put      = wr_valid[bank_q] && wr_ready_i[bank_q] && wr_line[1:0] == line_q;
  assign rsp_slot = {2{index_slot_t'(acquired_q)}};
  assign rd_data  = rd_q;
  assign wr_bucket = wr_data;
  assign way_strb  = wr_strb[55:0];

  bucket_t seen;
  always_comb begin
    seen             = other_i[bank_q];
    seen.ways[way_q] = content_q;
    seen.epoch       = epoch_q;
  end
  always_ff @(posedge clk_i) begin
    if (|(acq_valid & acq_ready_i) && !acq_hint) acquired_q <= acq_line[1:0];
    for (int b = 0; b < 2; b++) begin
      if (rd_en[b]) rd_q[b] <= (1'(b) == bank_q && rd_slot[b][1:0] == line_q) ? seen : other_i[b];
    end
    if (!rst_ni) begin
      content_q <= content_i;
      epoch_q   <= epoch_i;
    end else if (put) begin
      if (way_strb[way_q][0]) content_q <= wr_bucket.ways[way_q];
      if (wr_strb[58]) epoch_q <= wr_bucket.epoch;
    end
  end
  `ASSERT(InItsSlot, wr_valid == '0 || wr_slot[1:0] == wr_line[1:0])
  // A way, the epoch: never a part of one.
  `ASSERT(WholeWays, wr_valid == '0 || way_strb[way_q] == '0 || way_strb[way_q] == '1)
  `ASSERT(WholeEpochs, wr_valid == '0 || wr_strb[63:58] == '0 || wr_strb[63:58] == '1)

  // ------------------------------------------------ the log
  log_range_t range_q;
  logic [28:0] told, next, passed_q;
  logic [27:0] head;
  logic tell_q, waits_q, clear;
  assign told = {range_q.tail_lap, range_q.tail};
  assign next = {tail_lap_i, tail_i};
  assign head = (head_i > range_q.head && (passed_q[28] || head_i <= passed_q[27:0])) ? head_i
                                                                                  : range_q.head;
  always_ff @(posedge clk_i) begin
    tell_q <= 1'b0;
    if (!rst_ni) begin
      range_q  <= range_i;
      passed_q <= {range_i.tail_lap, range_i.tail};
      waits_q  <= 1'b0;
    end else begin
      range_q.head <= head;
      if (!waits_q && news_i && next > told) begin
        {range_q.tail_lap, range_q.tail} <= next;
        tell_q  <= 1'b1;
        waits_q <= 1'b1;
      end else if (waits_q && !tell_q && clear && pass_i &&
                   dut.u_append.puts_q == dut.u_append.read_q) begin
        passed_q <= told;
        waits_q  <= 1'b0;
      end
    end
  end
  logic laps;
  assign laps = range_i.lap[7:0] != '0 && range_i.last_lap[7:0] != '0 &&
      range_i.lap[7:0] != range_i.last_lap[7:0];
  `FV_ASSUME(two_laps, laps)
  `FV_ASSUME(behind, range_i.tail_lap || range_i.head <= range_i.tail)

  // ------------------------------------------------ jobs
  // Each record is its job's first one, or behind one that is not its last. All of a job are a datagram's, or none is. A
  // piece of host software's answer has a job for itself.
  logic over_q, udp_q, hosts_q, goes_on;
  assign goes_on = req_i.udp == udp_q && req_i.op != OpHostData && (!hosts_q || req_i.op == OpEnd);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) over_q <= 1'b1;
    else if (req_valid_i && req_ready) over_q <= req_i.last || req_i.op == OpEnd;
    if (req_valid_i && req_ready) begin
      udp_q   <= req_i.udp;
      hosts_q <= req_i.op == OpHostData;
    end
  end
  `FV_ASSUME(of_jobs, !req_valid_i || req_i.first == over_q)
  `FV_ASSUME(of_one, !req_valid_i || over_q || goes_on)

  // ------------------------------------------------ the reader
  // What appends have read comes four clocks behind its job at the earliest, and for each job once.
  logic [2:0] asked_q;
  logic [3:0] due_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= '0;
    else asked_q <= {asked_q[1:0], dut.u_append.read_valid_o && dut.u_append.read_ready_i};
    if (!rst_ni) due_q <= '0;
    else due_q <= due_q + 4'(asked_q[2]) - 4'(dut.u_append.push && chunk_i.last);
  end
  `FV_ASSUME(asked_for, !dut.u_append.push || due_q != '0)

  // ------------------------------------------------ execute
  // verilator lint_off PINCONNECTEMPTY
  execute #(
    .Versions(2)
  ) dut (
    .clk_i,
    .rst_ni,
    .now_i,
    .index_bits_i        (IndexBits),
    .one_way_i           (1'b0),
    .upstream_i          (1'b0),
    .item_max_i          (21'd1048576),
    .range_i             (range_q),
    .tell_i              (tell_q),
    .clear_o             (clear),
    .req_valid_i,
    .req_ready_o         (req_ready),
    .req_i,
    .stamp_i,
    .bad_valid_i         (1'b0),
    .bad_conn_i          ('0),
    .job_over_o          (),
    .job_over_conn_o     (),
    .found_valid_i       (req_valid_i),
    .found_ready_o       (found_ready),
    .found_i             (found),
    .key_valid_i,
    .key_ready_o         (key_ready),
    .key_i,
    .taken_i,
    .written_i,
    .own_valid_o         (),
    .own_ready_i,
    .own_o               (),
    .ownk_valid_o        (),
    .ownk_ready_i,
    .ownk_o              (),
    .ownb_valid_o        (),
    .ownb_ready_i,
    .ownb_o              (),
    .ownb_start_o        (),
    .ownb_bad_o          (),
    .own_off_i,
    .bucket_rd_en_o      (rd_en),
    .bucket_rd_slot_o    (rd_slot),
    .bucket_rd_data_i    (rd_data),
    .bucket_wr_valid_o   (wr_valid),
    .bucket_wr_ready_i   (wr_ready_i),
    .bucket_wr_slot_o    (wr_slot),
    .bucket_wr_line_o    (wr_line),
    .bucket_wr_data_o    (wr_data),
    .bucket_wr_strb_o    (wr_strb),
    .bucket_acq_valid_o  (acq_valid),
    .bucket_acq_ready_i  (acq_ready_i),
    .bucket_acq_line_o   (acq_line),
    .bucket_acq_hint_o   (acq_hint),
    .bucket_rsp_valid_i  (rsp_valid_i),
    .bucket_rsp_ready_o  (rsp_ready),
    .bucket_rsp_slot_i   (rsp_slot),
    .bucket_request_rel_o(),
    .bucket_rel_o        (rel),
    .request_rsp_valid_i (lines_valid_i),
    .request_rsp_ready_o (),
    .request_rsp_slot_i  (lines_slot_i),
    .acq_valid_o         (),
    .acq_ready_i         (line_acq_ready_i),
    .acq_line_o          (),
    .rsp_valid_i         (line_rsp_valid_i),
    .rsp_ready_o         (),
    .rsp_bank_o          (),
    .rsp_slot_i          (line_slot_i),
    .rel_o               (),
    .rd_en_o             (),
    .rd_slot_o           (),
    .rd_data_i           (line_data_i),
    .rd_bad_i            (line_bad_i),
    .wr_valid_o          (),
    .wr_ready_i          (line_wr_ready_i),
    .wr_slot_o           (),
    .wr_line_o           (),
    .wr_data_o           (),
    .wr_strb_o           (),
    .read_valid_o        (),
    .read_ready_i,
    .read_o              (),
    .patches_o           (),
    .chunk_valid_i,
    .chunk_ready_o       (),
    .chunk_i,
    .rkey_valid_o        (),
    .rkey_ready_i,
    .rkey_o              (),
    .res_valid_o         (),
    .res_ready_i,
    .res_o               (),
    .hreq_valid_o        (),
    .hreq_ready_i,
    .hreq_o              (),
    .hkey_valid_o        (),
    .hkey_ready_i,
    .hkey_o              (),
    .count_o             (),
    .idle_o              ()
  );
  // verilator lint_on PINCONNECTEMPTY

  `FV_ASSUME(one_way, $onehot0(dut.u_find.u_compare.offs_q))

  // ------------------------------------------------ what acts takes for the way's content
  logic mine, present, lives, tag_fits, decides, tags, offs;
  bucket_t [1:0] now;
  assign mine     = dut.act.found.lookup && half(dut.act.found.line[bank_q]) == line_q;
  assign present  = epoch_q == dut.epochs.now || epoch_q == dut.epochs.last;
  assign lives    = content_q.off.lap != '0 && present;
  assign tag_fits = lives && content_q.tag == dut.act.found.hash[63:50];
  // The stages' turn: what check found decides, or says where the steps look.
  assign decides  = dut.u_act.in_run && !dut.skip && mine;
  assign tags     = dut.u_find.checked.tags[{bank_q, way_q}];
  assign offs     = dut.u_find.checked.offs[{bank_q, way_q}];
  `ASSERT(Tags, !decides || tags == tag_fits)
  `ASSERT(Offs, !decides || offs == (tag_fits && content_q.off == dut.act.found.off))

  // What was forgotten does not come back with its bucket's next epoch.
  `ASSERT(Forgotten, !(put && wr_strb[58]) || present || way_strb[way_q][0])

  // An entry that goes in in passing, and the renewal that comes with it, write over nothing that is there.
  logic fills;
  assign fills = put && dut.u_index.fill.valid && way_strb[way_q][0];
  logic ahead;  // no way names a place that is given later
  assign ahead = content_q.off.lap == range_q.lap[7:0] && content_q.off.pos >= range_q.head;
  `FV_ASSUME(not_ahead, !ahead)
  `ASSERT(Fills, !fills || !present || !off_valid(content_q.off, range_q))

  // The steps that go on: the buckets that they look into, in the clock after they were read.
  logic look_q, other_q;
  assign now = rd_data;
  always_ff @(posedge clk_i) begin
    look_q  <= rst_ni && mine && !dut.act_done &&
        (dut.u_index.read_i || dut.u_index.insert_buckets);
    other_q <= rst_ni && rsp_ready[bank_q] && rsp_valid_i[bank_q] && acquired_q == line_q;
  end
  logic same;
  assign same = now[bank_q].ways[way_q] == content_q && now[bank_q].epoch == epoch_q;
  `ASSERT(Steps, !(look_q || other_q) || same)

  // ------------------------------------------------ reached
  `FV_SEEN(written, put && way_strb[way_q][0])
  `FV_COVER(Hits, decides && dut.u_find.checked.hit && offs && written)
  logic commit_way, near_way, looks;
  assign commit_way = dut.u_find.u_compare.commit_same[bank_q] &&
      dut.u_find.u_compare.commit_i.way[{bank_q, way_q}];
  assign near_way   = dut.u_find.u_compare.near_same[bank_q] &&
      dut.u_find.u_compare.near_q.way[{bank_q, way_q}];
  assign looks      = dut.moves.go && dut.check.found.lookup;
  `FV_COVER(Commits, looks && commit_way)
  `FV_COVER(Near, looks && near_way)
  `FV_COVER(Again, dut.moves.further && dut.check.lines == 3'd1 && written)
  `FV_COVER(Inserts, dut.u_index.u_insert.done_o && put)
  `FV_COVER(FillsSeen, fills && written)
  `FV_COVER(Clears, dut.clear && put)
  `FV_COVER(Stale, dut.stale && dut.check.found.lookup && put)
  `FV_COVER(Moves, dut.u_index.u_insert.moved_o && put)
endmodule
