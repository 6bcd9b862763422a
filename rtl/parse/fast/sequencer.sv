// Knows where a job's next request must start, and so which of the places that were read are
// requests: those before it stand inside of another request, the one exactly there is the next; if
// there is none, or it was not understood, the slow path reads one request there. So every byte of
// a job belongs to one request, to the slow path, or to the connection's next job, and to one only.
// Answers in the same clock, one place a clock.
`include "lib_assert.svh"

module sequencer
  import wirekv_pkg::*;
  import parse_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// The job, until its end has been reached: its bytes are [start, stop).
  input  logic   job_valid_i,
  output logic   job_ready_o,
  input  place_t job_start_i,
  input  place_t job_stop_i,
  /// It begins with a request; what others begin with is for the slow path.
  input  logic   job_plain_i,
  /// The fast path does not read its protocol: all of it is for the slow path.
  input  logic   job_foreign_i,
  /// A value that goes on beyond the job is read again later, even if the job begins with its request.
  input  logic   job_again_i,
  /// It has taken long: it ends in front of the next request, once one has gone out.
  input  logic   job_late_i,
  /// What was read, in order, each job's end included. These fields decide.
  input  logic   cand_valid_i,
  output logic   cand_ready_o,
  input  place_t cand_place_i,
  input  place_t cand_next_i,
  input  logic   cand_ending_i,
  input  logic   cand_key_i,
  input  logic   cand_good_i,
  input  logic   cand_unfinished_i,
  input  logic   cand_open_i,
  input  logic   cand_tail_i,
  input  logic   cand_whole_i,  // it knows its length, even if the job has not all of it
  input  logic   cand_record_i,
  input  logic   cand_more_i,
  input  logic   cand_resp_i,  // Redis: the first part tells how many keys follow
  input  logic [6:0] cand_count_i,
  /// What becomes of it.
  output logic   walk_valid_o,
  /// A request or a job's end is taken; something for the slow path is.
  input  logic   act_ready_i,
  input  logic   byte_ready_i,
  output logic   walk_taken_o,
  output walk_t  walk_o,
  /// If it is for the slow path: nothing of the job has gone out. As walk_o.first, known early.
  output logic   byte_first_o,
  /// The place is in a line of keys.
  output logic   keys_o,
  /// How far the slow path has come, once it has begun, and the first line that it may read again, in
  /// which case it goes back. It is done: there the next request starts, or nothing more of the job
  /// counts; records of the job have gone out.
  input  logic   byte_begun_i,
  input  place_t byte_place_i,
  input  line_no_t byte_kept_i,
  input  logic   byte_done_i,
  input  logic   byte_over_i,
  input  logic   byte_records_i,
  /// No places before this line are wanted, as was known a clock ago; lines before this one are not
  /// needed here any more.
  output line_no_t at_line_o,
  output line_no_t oldest_o
);

  /// Keys of a line that may wait for its end. More, or a line of so many bytes, are the slow path's.
  localparam int unsigned KeysMax = 256;
  localparam int unsigned LineMax = 1856;

  typedef enum logic [1:0] {
    StWalk,
    StByte,  // the slow path works
    StOver   // nothing more of this job counts
  } state_e;

  state_e state_q;
  logic fresh_q;             // nothing of the job has been looked at
  place_t at_q, line_q;  // what is next; start of the line of keys
  logic keys_q;  // at_q is in a line of keys
  logic tailed_q;  // a line begins at at_q whose tail comes next, or it has no end in the job
  line_no_t kept_q;  // StByte: first line that is needed
  logic begun_q, pending_q;  // records of the job were committed, or wait for it
  logic [$clog2(KeysMax)-1:0] count_q;
  logic [6:0] left_q, keys_left;  // Redis: keys of the line that are to come, and behind this one
  logic more;
  logic long_q;  // the line of keys has LineMax bytes before at_q

  // Places compare modulo their range: the sign of their difference alone.
  function automatic logic is_before(input place_t a, input place_t b);
    return 1'(14'(a - b) >> 13);
  endfunction
  place_t at, from;
  logic passed, here, fits;
  logic [13:0] left, size;
  assign at     = fresh_q ? job_start_i : at_q;
  assign from   = keys_q ? line_q : at;
  assign passed = is_before(cand_place_i, at);
  assign here   = cand_place_i == at && cand_key_i == keys_q;
  assign fits   = !is_before(job_stop_i, cand_next_i);
  assign left   = job_stop_i - from;
  assign size   = cand_next_i - from;
  assign keys_left = cand_key_i ? left_q - 7'd1 : cand_count_i;
  assign more      = cand_resp_i ? keys_left != '0 : cand_more_i;

  // What it is: one of these, else it is for the slow path. Each for itself, as whether it fits is late.
  logic starts, counts, opens, none, sound, request, over, cut_value, cut_line, cut_late;
  assign starts    = (fresh_q && !job_plain_i) || (job_foreign_i && at != job_stop_i);
  assign counts    = !cand_ending_i && !starts;
  assign opens     = counts && here && cand_open_i && (cand_tail_i || fits);
  assign none      = (counts && passed) || opens;
  assign sound     = cand_good_i && !(keys_q && (&count_q || long_q));
  assign cut_late  = job_late_i && begun_q && !keys_q;
  assign request   = counts && here && sound && fits && !cut_late;
  assign over      = cand_ending_i && !starts && at == job_stop_i && !keys_q;
  assign cut_value = counts && here && cand_whole_i &&
      (cand_good_i || (cand_open_i && !cand_tail_i)) &&
      (job_again_i || begun_q) && !fits;
  assign cut_line  = (counts && here && !cand_good_i && cand_unfinished_i && !(keys_q && long_q)) ||
      (cand_ending_i && !starts && tailed_q);

  always_comb begin
    walk_o       = '0;
    walk_o.kind  = request ? WkRequest : (over || cut_value || cut_line || cut_late) ? WkEnd :
        none ? WkNone : WkByte;
    walk_o.from  = from;
    walk_o.first = !begun_q && !pending_q;
    if (cut_value) walk_o.rem = 32'(size);
    if (cut_line) walk_o.rem = 32'(left) + 32'd1;
    walk_o.back   = walk_o.kind inside {WkEnd, WkByte} && pending_q;
    walk_o.commit = walk_o.kind == WkEnd || (request && !more);
    walk_o.more   = more;
    walk_o.left   = keys_left;
    if (walk_o.back) walk_o.first = !begun_q;
  end

  logic acts, advance, ends, bytes;
  assign acts         = state_q == StWalk && job_valid_i && (cand_valid_i || starts);
  assign walk_valid_o = acts && !none;
  assign advance      = acts && act_ready_i && request;
  assign ends         = walk_valid_o && act_ready_i && walk_o.kind == WkEnd;
  assign bytes        = acts && byte_ready_i && walk_o.kind == WkByte;
  assign walk_taken_o = advance || ends || bytes;
  assign keys_o       = keys_q;
  // What waits is taken back.
  assign byte_first_o = !begun_q;
  // Places go on to be read while the slow path works, so that lines come.
  always_comb begin
    unique case (state_q)
      StWalk:  cand_ready_o = acts && (none || ((request || over) && act_ready_i));
      StByte:  cand_ready_o = passed && !cand_ending_i;
      default: cand_ready_o = 1'b1;
    endcase
  end
  assign job_ready_o = cand_valid_i && cand_ending_i && state_q != StByte &&
                       (state_q != StWalk || (job_valid_i && over && act_ready_i));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= StWalk;
      fresh_q   <= 1'b1;
      keys_q    <= 1'b0;
      tailed_q  <= 1'b0;
      begun_q   <= 1'b0;
      pending_q <= 1'b0;
    end else begin
      if (walk_taken_o || (acts && none)) fresh_q <= 1'b0;
      if (advance) begin
        keys_q    <= more;
        begun_q   <= begun_q || (!more && (pending_q || cand_record_i));
        pending_q <= more && (pending_q || cand_record_i);
      end
      if (walk_taken_o || job_ready_o) tailed_q <= 1'b0;
      else if (acts && opens) tailed_q <= cand_tail_i;
      if (ends || bytes) begin
        keys_q    <= 1'b0;
        pending_q <= 1'b0;
        state_q   <= ends ? StOver : StByte;
      end
      if (state_q == StByte && byte_done_i) begin
        begun_q <= byte_records_i;
        state_q <= byte_over_i ? StOver : StWalk;
      end
      if (job_ready_o) begin
        state_q <= StWalk;
        fresh_q <= 1'b1;
        begun_q <= 1'b0;
      end
    end
  end

  // Only what is next waits for the decision. The others count for nothing unless it is that request: what is
  // known of a line of keys while there is none, and of what does not fit the job, which can't become a request
  // any more.
  logic steps;
  assign steps = counts && here && sound && act_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) at_q <= '0;
    else begin
      unique case (state_q)
        // Until there is a job this is the end of the one before.
        StWalk:  at_q <= advance ? cand_next_i : job_valid_i ? at : at_q;
        StByte:  if (byte_begun_i) at_q <= byte_place_i;
        default: at_q <= job_stop_i;
      endcase
    end
    if (state_q == StWalk) kept_q <= from.line;
    else if (byte_begun_i) kept_q <= byte_kept_i;
    if (!keys_q) line_q <= at;
    if (!keys_q) count_q <= '0;
    else if (steps) count_q <= count_q + 1'b1;
    if (!keys_q || steps) begin
      left_q <= keys_left;
      long_q <= size >= 14'(LineMax);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) at_line_o <= '0;
    else at_line_o <= at_q.line;
  end
  assign oldest_o = (state_q == StByte) ? kept_q : keys_q ? line_q.line : at_q.line;

  `ASSERT(ByteFirst, !(walk_valid_o && walk_o.kind == WkByte) || walk_o.first == byte_first_o)

endmodule
