// What gates answer: results of a job whose requests are plain GETs and all find their entries, or nothing at all. Compares
// keys, takes values out of their lines. Latency 3 from the last line of a job's last entry; initiation interval a line, a
// clock more for a job that is not answered.
//
// Results, keys and values of a job wait until it is known whether all of it can be answered. Then they leave, or vanish. A
// job that finds no room by itself alone is not answered.
`include "lib_assert.svh"

module aside_answer
  import wirekv_pkg::*;
  import lib_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import aside_pkg::*;
#(
  /// Values of jobs that wait, in lines: a job that has more is not answered.
  parameter int unsigned Values = 512,
  /// Likewise requests, and lines of their keys.
  parameter int unsigned Results = 64,
  /// Lines of candidates' keys that wait.
  parameter int unsigned Candidates = 64
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Unix time in seconds.
  input  logic [31:0] seconds_i,
  /// Requests, what was found for each, the beats of their keys, and the lines of the entries that were found.
  input  logic        ask_valid_i,
  output logic        ask_ready_o,
  input  ask_t        ask_i,
  input  logic        found_valid_i,
  output logic        found_ready_o,
  input  found_t      found_i,
  input  logic        key_valid_i,
  output logic        key_ready_o,
  input  beat_t       key_i,
  input  logic        line_valid_i,
  output logic        line_ready_o,
  input  line_t       line_i,
  input  logic        line_last_i,
  /// Results of jobs; one that is not answered has an end alone. Keys and values stand beside them, see encode.
  output logic        res_valid_o,
  input  logic        res_ready_i,
  output res_t        res_o,
  output logic        rkey_valid_o,
  input  logic        rkey_ready_i,
  output line_t       rkey_o,
  output logic        chunk_valid_o,
  input  logic        chunk_ready_i,
  output chunk_t      chunk_o,
  /// A job that ends now is not answered.
  input  logic        gives_up_i,
  /// One-clock pulse for each job, in order: whether it is answered.
  output logic        verdict_o,
  output logic        answered_o,
  /// Keys that have become candidates.
  output logic        hot_valid_o,
  input  logic        hot_ready_i,
  output candidate_t  hot_o,
  /// One-clock pulses: a GET has found its entry; a candidate found no room.
  output logic        hit_o,
  output logic        hot_lost_o,
  output logic        idle_o
);

  if ($bits(entry_t) != 8 * EntryBytes) begin : gen_bad_entry
    $error("%m: EntryBytes is not what an entry begins with");
  end
  localparam int unsigned Head = 64 - EntryBytes;  // bytes of a key that its entry's first line has
  typedef logic [$clog2(EntryLines)-1:0] step_t;
  typedef logic [EntryBytes*8-1:0] tail_t;

  // ---------------------------------------------------------------- take: a line of an entry, a beat of its key
  logic head, key_here, line_here, go, last, next_ready, key_done_q, lines_done_q;
  step_t step_q;
  tail_t tail_q;
  logic [EntryBytes-1:0] tail_lanes_q;
  strb_t below;
  assign head          = ask_valid_i && found_valid_i;
  assign key_here      = ask_i.plain && !key_done_q;
  assign line_here     = found_i.there && !lines_done_q;
  assign go            = head && (!key_here || key_valid_i) && (!line_here || line_valid_i) &&
      next_ready;
  assign last          = (!key_here || key_i.last) && (!line_here || line_last_i);
  assign key_ready_o   = go && key_here;
  assign line_ready_o  = go && line_here;
  assign ask_ready_o   = go && last;
  assign found_ready_o = go && last;
  assign below         = key_here ? lanes_below(key_i.len) : '0;

  typedef struct packed {
    ask_t       ask;
    logic       there;
    logic       hot;
    logic       first;  // of its request
    logic       last;
    logic       keyed;  // with a beat of its key
    line_t      key;
    line_t      line;
    step_t      step;
    logic [5:0] start;  // where the value begins: lane, line
    step_t      at;
  } work_t;
  work_t work, next_q, work_q;
  logic next_valid_q, work_valid_q, move, stall;
  line_t wanted_q;
  strb_t lanes_q;
  logic [8:0] value_at;
  assign value_at = 9'(EntryBytes) + 9'(ask_i.klen);
  assign work = '{
          ask: ask_i,
          there: found_i.there,
          hot: found_i.hot,
          first: step_q == '0,
          last: last,
          keyed: key_here,
          key: key_i.data,
          line: line_i,
          step: step_q,
          start: value_at[5:0],
          at: step_t'(value_at[8:6])
      };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q       <= '0;
      key_done_q   <= 1'b0;
      lines_done_q <= 1'b0;
      tail_lanes_q <= '0;
    end else if (go) begin
      step_q       <= last ? '0 : step_q + 1'b1;
      key_done_q   <= !last && (key_done_q || (key_here && key_i.last));
      lines_done_q <= !last && (lines_done_q || (line_here && line_last_i));
      tail_lanes_q <= last ? '0 : below[63:Head];
    end
    if (go) begin
      tail_q   <= key_i.data[511:8*Head];
      wanted_q <= {key_i.data[8*Head-1:0], tail_q};
      lanes_q  <= {below[Head-1:0], tail_lanes_q};
      next_q   <= work;
    end
  end

  // ---------------------------------------------------------------- compare, and hold a line until the next one is there
  strb_t alike;
  logic alike_q;
  always_comb begin
    for (int unsigned i = 0; i < 64; i++)
    alike[i] = !lanes_q[i] || next_q.line[8*i+:8] == wanted_q[8*i+:8];
  end
  assign next_ready = !next_valid_q || !work_valid_q || move;
  assign move       = work_valid_q && (work_q.last || next_valid_q) && !stall;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_valid_q <= 1'b0;
      work_valid_q <= 1'b0;
    end else begin
      if (next_ready) next_valid_q <= go;
      if (!work_valid_q || move) work_valid_q <= next_valid_q;
    end
    if (!work_valid_q || move) begin
      work_q  <= next_q;
      alike_q <= &alike;
    end
  end

  // ---------------------------------------------------------------- the entry
  entry_t entry, entry_q;
  logic right_q, done_q, right, done, empty, sends, shows_key;
  logic [10:0] left, left_q;
  assign entry   = work_q.first ? work_q.line[8*EntryBytes-1:0] : entry_q;
  // A value of no bytes is one empty piece, and may begin behind the last line.
  assign empty   = entry.vlen == '0;
  assign sends   = work_q.there &&
      (empty ? work_q.last : work_q.step >= work_q.at && (work_q.first || !done_q));
  assign left    = (empty || work_q.step == work_q.at) ? entry.vlen : left_q;
  assign done    = (!work_q.first && done_q) || (sends && left <= 11'd64);
  assign right   = work_q.there && (work_q.first || right_q) && alike_q &&
      entry.klen == work_q.ask.klen &&
      (entry.deadline == '0 || seconds_i < entry.deadline);
  // As the card: a text's key is told, others' if they ask for it.
  assign shows_key = (work_q.ask.binary.is || work_q.ask.meta.is) ?
      work_q.ask.binary.key || shows(work_q.ask.meta.show, ShKey) : 1'b1;

  chunk_t chunk;
  assign chunk = '{
          data: merge_lanes(lanes_from(work_q.start), work_q.line, next_q.line),
          start: work_q.start,
          len: (left > 11'd64) ? 7'd64 : 7'(left),
          last: left <= 11'd64,
          bad: 1'b0
      };

  always_ff @(posedge clk_i) begin
    if (move) begin
      entry_q <= entry;
      right_q <= right;
      done_q  <= done;
      left_q  <= left - 11'd64;
    end
  end

  // ---------------------------------------------------------------- the job: all of it, or none
  // Where a job's own words fill a queue, nobody would ever take them.
  logic failed_q, six_q, any_q, closes_q, fails, answers, ends, six;
  logic res_room, rkey_room, chunk_room, res_push, rkey_push, chunk_push, commit, rollback;
  logic res_full, rkey_full, chunk_full, waits, overflow;
  assign res_full   = res_push && !res_room;
  assign rkey_full  = rkey_push && !rkey_room;
  assign chunk_full = chunk_push && !chunk_room;
  assign waits      = (res_full && res_valid_o) || (rkey_full && rkey_valid_o) ||
      (chunk_full && chunk_valid_o);
  assign overflow   = res_full || rkey_full || chunk_full;

  assign six        = work_q.ask.first ? work_q.ask.six : six_q;
  assign fails      = failed_q ||
      (work_q.ask.plain ? !(right && done) : !work_q.ask.nothing || !any_q) ||
      (work_q.ask.ends && (!work_q.ask.whole || gives_up_i));
  assign ends       = work_valid_q && work_q.last && work_q.ask.ends;
  assign stall      = closes_q || (waits && !failed_q);
  // The end of a job that fails goes alone, behind what vanishes.
  assign chunk_push = work_valid_q && sends && !failed_q && !closes_q &&
      (work_q.last || next_valid_q);
  assign rkey_push  = work_valid_q && work_q.keyed && shows_key && !failed_q && !closes_q &&
      (work_q.last || next_valid_q);
  assign res_push   = (work_valid_q && work_q.last && !fails) || closes_q;
  assign answers    = ends && !fails && !overflow;
  assign commit     = (move && answers) || (closes_q && res_room);
  assign rollback   = move && ends && !answers;
  assign verdict_o  = move && ends;
  assign answered_o = answers;
  assign hit_o      = move && work_q.last && work_q.ask.plain && right && done;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      failed_q <= 1'b0;
      closes_q <= 1'b0;
      any_q    <= 1'b0;
    end else begin
      if (move) begin
        failed_q <= !ends && ((work_q.last && fails) || failed_q || overflow);
        any_q    <= !ends && (any_q || work_q.ask.plain);
      end
      closes_q <= rollback || (closes_q && !res_room);
    end
    if (move) six_q <= six;
  end

  // Of a result what an answer by gates can be.
  typedef struct packed {
    logic   value;
    logic   last;
    logic   keyed;
    ask_t   ask;
    entry_t entry;
  } said_t;
  said_t said, saying;
  always_comb begin
    said = '{
        value: work_q.ask.plain && !closes_q,
        last: work_q.ask.ends || closes_q,
        keyed: shows_key,
        ask: work_q.ask,
        entry: entry
    };
    if (closes_q) {said.ask.first, said.ask.six} = {1'b1, six_q};
  end

  logic [$clog2(Results+1)-1:0] unused_res, unused_rkey;
  logic [$clog2(Values+1)-1:0] unused_chunk;
  lib_commit_fifo #(
    .T    (said_t),
    .Depth(Results)
  ) u_results (
    .clk_i,
    .rst_ni,
    .s_valid_i (res_push && (move || closes_q)),
    .s_ready_o (res_room),
    .s_data_i  (said),
    .commit_i  (commit),
    .rollback_i(rollback),
    .m_valid_o (res_valid_o),
    .m_ready_i (res_ready_i),
    .m_data_o  (saying),
    .free_o    (unused_res)
  );
  lib_commit_fifo #(
    .T    (line_t),
    .Depth(Results)
  ) u_keys (
    .clk_i,
    .rst_ni,
    .s_valid_i (rkey_push && move),
    .s_ready_o (rkey_room),
    .s_data_i  (work_q.key),
    .commit_i  (commit),
    .rollback_i(rollback),
    .m_valid_o (rkey_valid_o),
    .m_ready_i (rkey_ready_i),
    .m_data_o  (rkey_o),
    .free_o    (unused_rkey)
  );
  lib_commit_fifo #(
    .T    (chunk_t),
    .Depth(Values)
  ) u_values (
    .clk_i,
    .rst_ni,
    .s_valid_i (chunk_push && move),
    .s_ready_o (chunk_room),
    .s_data_i  (chunk),
    .commit_i  (commit),
    .rollback_i(rollback),
    .m_valid_o (chunk_valid_o),
    .m_ready_i (chunk_ready_i),
    .m_data_o  (chunk_o),
    .free_o    (unused_chunk)
  );

  always_comb begin
    res_o             = '0;
    res_o.kind        = saying.value ? RsValue : RsEnd;
    res_o.udp         = 1'b1;
    res_o.first       = saying.ask.first;
    res_o.last        = saying.last;
    res_o.tx_ptr      = 32'(saying.ask.six);
    res_o.binary      = saying.ask.binary;
    res_o.meta        = saying.ask.meta;
    res_o.opaque      = saying.ask.opaque;
    res_o.shows       = 1'b1;
    res_o.marks.coded = saying.ask.meta.unfit;
    res_o.keyed       = saying.value && saying.keyed;
    res_o.head        = 1'b1;
    res_o.tail        = 1'b1;
    res_o.last_key    = saying.ask.last_key;
    res_o.cas_out     = saying.ask.cas_out;
    res_o.klen        = saying.ask.klen;
    res_o.flags       = saying.entry.flags;
    res_o.vlen        = 21'(saying.entry.vlen);
    res_o.num         = saying.entry.unique_no;
    res_o.unique_no   = saying.entry.unique_no;
  end

  // ---------------------------------------------------------------- candidates
  logic hot_push, hot_room, hot_bad, hot_bad_q;
  candidate_t candidate;
  logic [$clog2(Candidates+1)-1:0] unused_hot;
  assign candidate  = '{klen: work_q.ask.klen, data: work_q.key};
  assign hot_push   = move && work_q.hot && work_q.keyed;
  assign hot_bad    = (hot_push && !hot_room) || (hot_bad_q && !work_q.first);
  assign hot_lost_o = move && work_q.last && work_q.hot && hot_bad;
  always_ff @(posedge clk_i) if (move) hot_bad_q <= hot_bad;
  lib_commit_fifo #(
    .T    (candidate_t),
    .Depth(Candidates)
  ) u_candidates (
    .clk_i,
    .rst_ni,
    .s_valid_i (hot_push),
    .s_ready_o (hot_room),
    .s_data_i  (candidate),
    .commit_i  (move && work_q.last && work_q.hot && !hot_bad),
    .rollback_i(hot_lost_o),
    .m_valid_o (hot_valid_o),
    .m_ready_i (hot_ready_i),
    .m_data_o  (hot_o),
    .free_o    (unused_hot)
  );

  assign idle_o = !ask_valid_i && !next_valid_q && !work_valid_q && !closes_q && !res_valid_o &&
      !rkey_valid_o && !chunk_valid_o;

  logic unused;
  assign unused = ^{entry.unused_high, entry.unused_low};

  `ASSERT(LinesOfHits, !line_valid_i || !head || line_here || !found_i.there || lines_done_q)
  `ASSERT(StepsEnd, !go || last || step_q != '1)

endmodule
