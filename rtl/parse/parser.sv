// Makes requests of the bytes of jobs: the fast path reads what it understands at a glance, one request
// a clock, and leaves each other one to the slow path, which reads a byte a clock. Both give their
// records to the same queues, never at the same time.
module parser
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it (-I), in bytes.
  input  logic [20:0] item_max_i,
  input  now_t        now_i,
  /// The items are copies of another server's. From a job's first request that is no plain GET on, all of its bytes are
  /// for host software; but for the request port's.
  input  logic        upstream_i,
  /// Jobs, and the lines that hold their bytes.
  input  logic        job_valid_i,
  output logic        job_ready_o,
  input  job_t        job_i,
  /// Others wait: see lines.
  input  logic    press_i,
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
  output logic        putk_valid_o,
  input  logic        putk_ready_i,
  output beat_t       putk_o,
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

  logic
      room,
      item_room,
      item_valid,
      key_room,
      key_request,
      key_item,
      line_line,
      line_rollback,
      byte_line,
      byte_rollback;
  out_t line_out, byte_out;
  logic line_turn;
  numbers_t line_numbers, byte_numbers;
  beat_t item;
  logic lines_idle, byte_idle, requests_idle;

  // Between the two engines.
  logic start, first, read, begun, done, over, untouched;
  logic byte_item_valid, byte_item_ready, byte_item_text, text_moves;
  place_t from, job_start, job_stop, place, byte_item_place;
  line_no_t kept;
  job_t job;
  line_no_t coming, line;
  line_t data;
  logic [13:0] byte_item_len;

  fast_path u_lines (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .upstream_i,
    .job_valid_i,
    .job_ready_o,
    .job_i,
    .press_i,
    .raw_valid_i,
    .raw_ready_o,
    .raw_i,
    .byte_start_o     (start),
    .byte_from_o      (from),
    .byte_first_o     (first),
    .byte_job_o       (job),
    .byte_job_start_o (job_start),
    .byte_job_stop_o  (job_stop),
    .coming_o         (coming),
    .byte_read_i      (read),
    .byte_line_i      (line),
    .byte_data_o      (data),
    .byte_begun_i     (begun),
    .byte_place_i     (place),
    .byte_kept_i      (kept),
    .byte_done_i      (done),
    .byte_over_i      (over),
    .byte_records_i   (!untouched),
    .byte_item_valid_i(byte_item_valid),
    .byte_item_ready_o(byte_item_ready),
    .byte_item_place_i(byte_item_place),
    .byte_item_len_i  (byte_item_len),
    .byte_item_text_i (byte_item_text),
    .byte_text_moves_o(text_moves),
    .room_i           (room),
    .turn_o           (line_turn),
    .out_o            (line_out),
    .numbers_o        (line_numbers),
    .item_room_i      (item_room),
    .item_valid_o     (item_valid),
    .key_room_i       (key_room),
    .key_request_o    (key_request),
    .key_item_o       (key_item),
    .item_o           (item),
    .line_o           (line_line),
    .rollback_o       (line_rollback),
    .idle_o           (lines_idle)
  );

  slow_path u_byte (
    .clk_i,
    .rst_ni,
    .second_i    (now_i.second),
    .item_max_i,
    .upstream_i,
    .start_i     (start),
    .from_i      (from),
    .first_i     (first),
    .job_i       (job),
    .job_start_i (job_start),
    .job_stop_i  (job_stop),
    .coming_i    (coming),
    .read_o      (read),
    .line_o      (line),
    .data_i      (data),
    .begun_o     (begun),
    .place_o     (place),
    .kept_o      (kept),
    .done_o      (done),
    .over_o      (over),
    .first_o     (untouched),
    .room_i      (room),
    .out_o       (byte_out),
    .numbers_o   (byte_numbers),
    .item_valid_o(byte_item_valid),
    .item_ready_i(byte_item_ready),
    .item_place_o(byte_item_place),
    .item_len_o  (byte_item_len),
    .item_text_o (byte_item_text),
    .text_moves_i(text_moves),
    .line_done_o (byte_line),
    .error_o,
    .rollback_o  (byte_rollback),
    .host_o,
    .idle_o      (byte_idle)
  );

  request_queue u_requests (
    .clk_i,
    .rst_ni,
    .now_i,
    .byte_i        (byte_out),
    .byte_numbers_i(byte_numbers),
    .line_i        (line_out),
    .line_numbers_i(line_numbers),
    .line_turn_i   (line_turn),
    .item_valid_i  (item_valid),
    .key_request_i (key_request),
    .key_item_i    (key_item),
    .item_i        (item),
    .room_o        (room),
    .item_room_o   (item_room),
    .key_room_o    (key_room),
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
    .putk_valid_o,
    .putk_ready_i,
    .putk_o,
    .putb_valid_o,
    .putb_ready_i,
    .putb_o,
    .idle_o        (requests_idle)
  );

  assign line_o     = line_line || byte_line;
  assign rollback_o = line_rollback || byte_rollback;
  assign wait_o     = !room && !lines_idle;
  assign idle_o     = lines_idle && byte_idle && requests_idle;

endmodule
