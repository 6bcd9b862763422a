// Makes requests of the bytes of jobs: the line engine reads what it understands at a glance, one
// request a clock, and leaves the rest of a job to the scanner (tokens, words, decode). Both give
// their records to the same queues, never at the same time.
module parser
  import wirekv_pkg::*;
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it (-I), in bytes.
  input  logic [20:0] item_max_i,
  /// UNIX seconds.
  input  logic [31:0] now_i,
  /// Jobs, and the lines that hold their bytes.
  input  logic        job_valid_i,
  output logic        job_ready_o,
  input  job_t        job_i,
  input  logic        raw_valid_i,
  output logic        raw_ready_o,
  input  raw_t        raw_i,
  /// Requests, and their keys; a record's key beats are there no later than the record.
  output logic        req_valid_o,
  input  logic        req_ready_i,
  output req_t        req_o,
  output logic        key_valid_o,
  input  logic        key_ready_i,
  output beat_t       key_o,
  /// Items, and further parts of them, for the log, which answers each in the same clock or later, in order: a
  /// start by its place.
  output logic        put_valid_o,
  input  logic        put_ready_i,
  output put_t        put_o,
  input  logic        put_off_valid_i,
  input  off_t        put_off_i,
  output logic        putb_valid_o,
  input  logic        putb_ready_i,
  output beat_t       putb_o,
  /// Pulses: a request line; of these an error, one to be read again, one for the host; a clock in
  /// which there was no room.
  output logic        line_o,
  output logic        error_o,
  output logic        rollback_o,
  output logic        host_o,
  output logic        wait_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  logic scan_valid, scan_ready, scanned, beat_valid, beat_ready, room, item_room, item_valid;
  job_t scan_job, head, step_job;
  logic [5:0] scan_lane;
  beat_t beat, item;
  out_t line_out, out;
  numbers_t numbers;
  logic lines_line, lines_rollback, scan_line, scan_rollback;
  logic piece_valid, head_pop, step_valid, line_end, dead, neg;
  piece_t piece;
  num_t num;
  logic [63:0] value;
  resume_t verdict, words_verdict;
  step_t step;
  field_e field;
  logic signed [21:0] value_max;
  logic [31:0] length;
  logic lines_idle, tokens_idle, decode_idle, requests_idle;

  lines u_lines (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .job_valid_i,
    .job_ready_o,
    .job_i,
    .raw_valid_i,
    .raw_ready_o,
    .raw_i,
    .scan_valid_o(scan_valid),
    .scan_ready_i(scan_ready),
    .scan_o      (scan_job),
    .scan_lane_o (scan_lane),
    .scanned_i   (scanned),
    .beat_valid_o(beat_valid),
    .beat_ready_i(beat_ready),
    .beat_o      (beat),
    .room_i      (room),
    .out_o       (line_out),
    .numbers_o   (numbers),
    .item_room_i (item_room),
    .item_valid_o(item_valid),
    .item_o      (item),
    .line_o      (lines_line),
    .rollback_o  (lines_rollback),
    .idle_o      (lines_idle)
  );

  tokens u_tokens (
    .clk_i,
    .rst_ni,
    .job_valid_i  (scan_valid),
    .job_ready_o  (scan_ready),
    .job_i        (scan_job),
    .lane_i       (scan_lane),
    .beat_valid_i (beat_valid),
    .beat_ready_o (beat_ready),
    .beat_i       (beat),
    .room_i       (room),
    .item_room_i  (item_room),
    .words_verdict_i(words_verdict),
    .decode_verdict_i(verdict),
    .piece_valid_o(piece_valid),
    .piece_o      (piece),
    .num_o        (num),
    .value_o      (value),
    .job_pop_i    (head_pop),
    .job_o        (head),
    .idle_o       (tokens_idle)
  );

  words u_words (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .piece_valid_i(piece_valid),
    .piece_i      (piece),
    .num_i        (num),
    .job_i        (head),
    .job_pop_o    (head_pop),
    .line_end_i   (line_end),
    .dead_i       (dead),
    .step_valid_o (step_valid),
    .step_o       (step),
    .job_o        (step_job),
    .field_o      (field),
    .neg_o        (neg),
    .value_max_o  (value_max),
    .verdict_o    (words_verdict)
  );

  decode u_decode (
    .clk_i,
    .rst_ni,
    .step_valid_i (step_valid),
    .step_i       (step),
    .job_i        (step_job),
    .value_max_i  (value_max),
    .length_i     (length),
    .done_o       (scanned),
    .line_end_o   (line_end),
    .dead_o       (dead),
    .verdict_o    (verdict),
    .out_o        (out),
    .line_o       (scan_line),
    .error_o,
    .rollback_o   (scan_rollback),
    .host_o,
    .idle_o       (decode_idle)
  );

  requests u_requests (
    .clk_i,
    .rst_ni,
    .now_i,
    .field_i (field),
    .neg_i   (neg),
    .value_i (value),
    .length_o(length),
    .out_i   (out),
    .line_i  (line_out),
    .numbers_i(numbers),
    .item_valid_i(item_valid),
    .item_i  (item),
    .room_o  (room),
    .item_room_o(item_room),
    .req_valid_o,
    .req_ready_i,
    .req_o,
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .put_valid_o,
    .put_ready_i,
    .put_o,
    .put_off_valid_i,
    .put_off_i,
    .putb_valid_o,
    .putb_ready_i,
    .putb_o,
    .idle_o  (requests_idle)
  );

  assign line_o     = scan_line || lines_line;
  assign rollback_o = scan_rollback || lines_rollback;
  assign wait_o     = !room && !(tokens_idle && lines_idle);
  assign idle_o     = lines_idle && tokens_idle && !step_valid && decode_idle && requests_idle;

endmodule
