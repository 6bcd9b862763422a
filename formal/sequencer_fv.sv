// Every byte of a job goes to exactly one place: to one request, to the slow path, or back to the
// connection; in order, whatever places were read. What is taken back goes elsewhere as a whole.
`include "fv.svh"
`include "lib_assert.svh"

module sequencer_fv
  import wirekv_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input logic   clk_i,
  input logic   job_valid_i,
  input place_t job_start_i,
  input logic [13:0] job_len_i,
  input logic   job_plain_i,
  input logic   job_foreign_i,
  input logic   job_again_i,
  input logic   job_late_i,
  input logic   cand_valid_i,
  input place_t cand_place_i,
  input logic [11:0] cand_size_i,
  input logic   cand_ending_i,
  input logic   cand_key_i,
  input logic   cand_good_i,
  input logic   cand_unfinished_i,
  input logic   cand_open_i,
  input logic   cand_tail_i,
  input logic   cand_whole_i,
  input logic   cand_record_i,
  input logic   cand_more_i,
  input logic   cand_resp_i,
  input logic [6:0] cand_count_i,
  input logic   act_ready_i,
  input logic   byte_ready_i,
  input logic   byte_begun_i,
  input place_t byte_place_i,
  input line_no_t byte_kept_i,
  input logic   byte_done_i,
  input logic   byte_over_i,
  input logic   byte_records_i
);
  `FV_RESET

  localparam logic [1:0] StWalk = 2'd0;  // of walker
  logic job_ready, cand_ready, walk_valid, taken;
  logic byte_q, byte_done;  // the slow path works; is done
  assign byte_done = byte_q && byte_begun_i && byte_done_i;
  walk_t walk;
  place_t stop, next;
  line_no_t oldest, at_line;
  assign stop = job_start_i + job_len_i;
  assign next = cand_place_i + 14'(cand_size_i);

  sequencer dut (
    .clk_i,
    .rst_ni,
    .job_valid_i,
    .job_ready_o (job_ready),
    .job_start_i,
    .job_stop_i  (stop),
    .job_plain_i,
    .job_foreign_i,
    .job_again_i,
    .job_late_i,
    .cand_valid_i,
    .cand_ready_o(cand_ready),
    .cand_place_i,
    .cand_next_i (next),
    .cand_ending_i,
    .cand_key_i,
    .cand_good_i,
    .cand_unfinished_i,
    .cand_open_i,
    .cand_tail_i,
    .cand_whole_i,
    .cand_record_i,
    .cand_more_i,
    .cand_resp_i,
    .cand_count_i,
    .walk_valid_o(walk_valid),
    .act_ready_i,
    .byte_ready_i,
    .walk_taken_o(taken),
    .walk_o      (walk),
    .byte_first_o(),
    .keys_o      (),
    .byte_begun_i,
    .byte_place_i,
    .byte_kept_i,
    .byte_done_i (byte_done),
    .byte_over_i,
    .byte_records_i,
    .at_line_o   (at_line),
    .oldest_o    (oldest)
  );

  `FV_STREAM(Job, job_valid_i, job_ready, {job_start_i, job_len_i, job_plain_i, job_foreign_i,
                                           job_again_i})
  `FV_STREAM(Cand, cand_valid_i, cand_ready, {cand_place_i, cand_size_i, cand_ending_i, cand_key_i,
                                              cand_good_i, cand_unfinished_i, cand_open_i,
                                              cand_tail_i, cand_whole_i, cand_record_i,
                                              cand_more_i, cand_resp_i, cand_count_i})
  `FV_ASSUME(JobLen, job_len_i <= 14'(JobBytes))
  // The end of a job that is not there yet does not come; what was read has bytes, and each line of
  // keys ends with a request.
  `FV_ASSUME(Ends, !(cand_valid_i && cand_ending_i) || job_valid_i)
  `FV_ASSUME(Size, cand_size_i >= 12'd1 && cand_size_i <= 12'd2000)
  // Only the head of a request line is open, if there are bytes behind its window; it is not understood yet.
  `FV_ASSUME(Open, !cand_open_i || (!cand_good_i && !cand_key_i && !cand_unfinished_i))
  `FV_ASSUME(Record, cand_record_i || (cand_more_i && !cand_resp_i))

  // [start, kept) went to requests that count, [kept, known) to keys that may be taken back; the byte
  // engine works on what begins at `kept`, has come to `byte_at`, and may go back to `byte_kept`.
  logic
      fresh_q, over_q, waits_q, any_q;  // any_q: records count; waits_q: records may be taken back
  logic begun_q;
  place_t kept_q, known_q, kept, known, byte_at_q;
  line_no_t byte_kept_q;
  assign kept  = fresh_q ? job_start_i : kept_q;
  assign known = fresh_q ? job_start_i : known_q;

  logic acts;
  assign acts = walk_valid && (walk.kind == WkByte ? byte_ready_i : act_ready_i);
  `ASSERT(Taken, taken == acts)
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fresh_q <= 1'b1;
      over_q  <= 1'b0;
      waits_q <= 1'b0;
      any_q   <= 1'b0;
      byte_q  <= 1'b0;
    end else begin
      if (acts) begin
        fresh_q <= 1'b0;
        kept_q  <= kept;
        known_q <= known;
        if (walk.kind == WkRequest) begin
          known_q <= next;
          if (walk.commit) kept_q <= next;
          waits_q <= !walk.commit && (waits_q || cand_record_i);
          any_q   <= any_q || walk.commit;
        end else begin
          over_q    <= walk.kind == WkEnd;
          byte_q    <= walk.kind == WkByte;
          begun_q   <= 1'b0;
          byte_at_q <= kept;
          byte_kept_q <= kept.line;
          waits_q   <= 1'b0;
        end
      end
      if (byte_q && byte_begun_i) begin
        begun_q   <= 1'b1;
        byte_at_q <= byte_place_i;
        byte_kept_q <= byte_kept_i;
      end
      if (byte_done) begin
        byte_q  <= 1'b0;
        over_q  <= byte_over_i;
        kept_q  <= byte_place_i;
        known_q <= byte_place_i;
        any_q   <= byte_records_i;
      end
      if (job_ready) begin
        fresh_q <= 1'b1;
        over_q  <= 1'b0;
        any_q   <= 1'b0;
      end
    end
  end

  // It begins where it is told to, goes forward, or back as far as it has kept lines, which it gives
  // up one after the other, and stays in the job; records that went out stay.
  `FV_ASSUME(Begins, !(byte_q && byte_begun_i && !begun_q) || byte_place_i == byte_at_q)
  `FV_ASSUME(Begun, !(byte_q && begun_q) || byte_begun_i)
  `FV_ASSUME(Inside,
             !(byte_q && byte_begun_i) || (14'(byte_place_i - kept_q) <= 14'(stop - kept_q)))
  logic keeps;
  assign keeps = 8'(byte_kept_i - byte_kept_q) <= 8'(byte_place_i.line - byte_kept_q);
  `FV_ASSUME(Keeps, !(byte_q && byte_begun_i) || keeps)
  `FV_ASSUME(Records, !(byte_done && any_q) || byte_records_i)

  logic request;
  assign request = acts && walk.kind == WkRequest;
  `ASSERT(Read, !request || cand_valid_i)
  `ASSERT(Foreign, !request || !job_foreign_i)
  `ASSERT(InOrder, !request || (!over_q && !byte_q && cand_place_i == known))
  `ASSERT(Within, !(acts && walk.kind == WkRequest) || 14'(next - job_start_i) <= job_len_i)
  `ASSERT(RestOnce,
          !(acts && walk.kind inside {WkByte, WkEnd}) || (!over_q && !byte_q && walk.from == kept))
  `ASSERT(TakenBack, !acts || walk.back == (walk.kind != WkRequest && waits_q))
  `ASSERT(First, !acts || walk.first == (!any_q && (walk.back || !waits_q)))
  `ASSERT(AllOfIt, !job_ready || over_q || (acts && walk.kind == WkEnd && kept == stop))
  // The next job waits for more than what is left, but behind a late one.
  logic leaves;
  assign leaves = acts && walk.kind == WkEnd && kept != stop &&
      !(job_late_i && walk.rem == '0 && any_q);
  `ASSERT(LeftOver, !leaves || walk.rem > 32'(14'(stop - kept)))
  `ASSERT(LinesStay, fresh_q || over_q || byte_q || 8'(kept_q.line - oldest) == '0)
  // Of what the slow path reads, nothing has gone; and what it has read goes by and by.
  // Until it has begun, what was known stays so.
  `ASSERT(BytesStay, !byte_q || dut.at_q == (begun_q ? byte_at_q : known_q))
  `ASSERT(BytesGo, !byte_q || oldest == byte_kept_q)

  // Invariants.
  `ASSERT(Fresh, dut.fresh_q || !fresh_q || dut.state_q == StWalk)
  `ASSERT(JobStays, dut.fresh_q || job_valid_i)
  `ASSERT(FreshAt, dut.fresh_q || !fresh_q || (dut.at_q == job_start_i && !dut.keys_q))
  `ASSERT(FreshState, !dut.fresh_q || (fresh_q && !dut.keys_q && dut.state_q == StWalk))
  `ASSERT(States, dut.state_q != 2'd3)
  `ASSERT(NoKeysThere, dut.state_q == StWalk || !dut.keys_q)
  `ASSERT(Byte, byte_q == (dut.state_q == 2'd1) && !(byte_q && (over_q || fresh_q || dut.fresh_q)))
  `ASSERT(ByteInside, !byte_q || 14'(byte_at_q - job_start_i) <= job_len_i)
  `ASSERT(ByteBehind, !byte_q || 14'(kept_q - job_start_i) <= 14'(byte_at_q - job_start_i))
  `ASSERT(OverOnce, !over_q || (!dut.fresh_q && !fresh_q))
  `ASSERT(Over, over_q == (dut.state_q == 2'd2))
  `ASSERT(At, fresh_q || over_q || byte_q || (dut.at_q == known_q && job_valid_i))
  `ASSERT(Line, fresh_q || over_q || byte_q || kept_q == (dut.keys_q ? dut.line_q : dut.at_q))
  `ASSERT(KnownInside, fresh_q || 14'(known_q - job_start_i) <= job_len_i)
  `ASSERT(KeptFirst, fresh_q || 14'(kept_q - job_start_i) <= 14'(known_q - job_start_i))
  `ASSERT(Waits, waits_q == dut.pending_q && (!waits_q || (dut.keys_q && !over_q && !byte_q)))
  `ASSERT(Any, fresh_q ? !any_q && !dut.begun_q && !waits_q : any_q == dut.begun_q)
  `ASSERT(Tailed,
          !dut.tailed_q || (dut.state_q == StWalk && !dut.keys_q && !dut.fresh_q && job_valid_i))
  `ASSERT(NoKeys, dut.keys_q || fresh_q || over_q || byte_q || kept_q == known_q)

  // Reached
  logic after_q = 1'b0;  // the slow path has read a request of this job
  always_ff @(posedge clk_i) after_q <= (after_q || (byte_done && !byte_over_i)) && !job_ready;
  `FV_COVER(Request, acts && walk.kind == WkRequest && walk.commit)
  `FV_COVER(Keys, acts && walk.kind == WkRequest && !walk.commit && waits_q)
  `FV_COVER(KeysCount, acts && walk.kind == WkRequest && walk.commit && waits_q)
  `FV_COVER(TakesBack, acts && walk.back && any_q)
  `FV_COVER(Bytes, acts && walk.kind == WkByte && any_q)
  `FV_COVER(Late, acts && walk.kind == WkEnd && job_late_i && kept != stop && any_q)
  `FV_COVER(AllUsed, acts && walk.kind == WkEnd && kept == stop && any_q)
  `FV_COVER(Leaves, acts && walk.kind == WkEnd && kept != stop && any_q)
  `FV_COVER(ForeignBytes, acts && walk.kind == WkByte && after_q && job_foreign_i)
  `FV_COVER(BytesThenRequest, acts && walk.kind == WkRequest && after_q)
  logic tail_q = 1'b0;  // a head stands open
  always_ff @(posedge clk_i) tail_q <= dut.tailed_q;
  `FV_COVER(Tail, acts && walk.kind == WkRequest && tail_q)
  `FV_COVER(TailCut, acts && walk.kind == WkEnd && kept != stop && tail_q)
  `FV_COVER(BytesOver, byte_done && byte_over_i && any_q)
endmodule
