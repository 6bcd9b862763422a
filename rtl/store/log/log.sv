// The log's appender: gives each item its place at the head (log_allocator), lays header, key and value out
// in lines (log_packer) and writes these into the log's line cache (log_write). A place is given 3 clocks
// after the request; initiation interval 1, or the number of lines that the item touches; its lines are
// in the cache about 15 clocks after its bytes.

module log
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// One-clock pulse each millisecond.
  input  logic        tick_i,
  /// Size of the log in lines.
  input  logic [25:0] log_lines_i,
  /// Memory has failed.
  input  logic        bad_i,
  /// Items from requests, the keys of those that start, and the bytes of values. Each is
  /// answered, in order, when it is counted in taken_o; a start by its place: lap 0 if it is refused.
  input  logic        put_valid_i,
  output logic        put_ready_o,
  input  put_t        put_i,
  input  logic        putk_valid_i,
  output logic        putk_ready_o,
  input  beat_t       putk_i,  // its length is in the item
  input  logic        putb_valid_i,
  output logic        putb_ready_o,
  input  beat_t       putb_i,
  output logic        off_valid_o,
  output off_t        off_o,
  /// Items from execute (incr, decr, append, prepend) or pieces, one at a time; off_o stands in the clock
  /// in which one is taken. A beat's first byte is in lane ownb_start_i, lane 0 behind lane 63, and beats but
  /// the last may be shorter than 64, too. The header of a bad value says that it is none; its first beat tells.
  input  logic        own_valid_i,
  output logic        own_ready_o,
  input  put_t        own_i,
  input  logic        ownk_valid_i,
  output logic        ownk_ready_o,
  input  beat_t       ownk_i,
  input  logic        ownb_valid_i,
  output logic        ownb_ready_o,
  input  beat_t       ownb_i,
  input  logic [5:0]  ownb_start_i,
  input  logic        ownb_bad_i,
  /// What is valid. Registered.
  output log_range_t  range_o,
  /// Whoever uses a place that was valid, see log_fence.
  output logic        tell_o,
  input  logic        stages_clear_i,
  output logic        mark_o,
  input  logic        reader_clear_i,
  /// Items and pieces taken, and of these written: what a record's stamp compares to.
  output serial_t     taken_o,
  output serial_t     written_o,
  /// Pulses: an item got its place; the log wrapped; an item was refused.
  output logic        item_o,
  output logic        lap_o,
  output logic        refuse_o,
  /// The log's line cache: class ClassAppend and a write port.
  output logic        acq_valid_o,
  input  logic        acq_ready_i,
  output line_no_t    acq_line_o,
  output logic        acq_fresh_o,
  input  logic        rsp_valid_i,
  output logic        rsp_ready_o,
  output logic        rsp_bank_o,
  input  log_slot_t   rsp_slot_i,
  output log_rel_t    rel_o,
  output logic        wr_valid_o,
  input  logic        wr_ready_i,
  output log_slot_t   wr_slot_o,
  output line_no_t    wr_line_o,
  output line_t       wr_data_o,
  output strb_t       wr_strb_o,
  output logic        idle_o,
  /// Much has been copied: who copies is to wait.
  output logic        late_o,
  /// Ticks are needed.
  output logic        timer_o
);

  logic piece_valid, piece_ready, line_valid, line_ready, part, place_idle, lay_idle, write_idle;
  log_piece_t piece;
  log_line_t line;

  log_allocator u_place (
    .clk_i,
    .rst_ni,
    .tick_i,
    .log_lines_i,
    .bad_i,
    .put_valid_i,
    .put_ready_o,
    .put_i,
    .off_valid_o,
    .off_o,
    .own_valid_i,
    .own_ready_o,
    .own_i,
    .piece_valid_o(piece_valid),
    .piece_ready_i(piece_ready),
    .piece_o      (piece),
    .back_i       (part),
    .range_o,
    .tell_o,
    .stages_clear_i,
    .mark_o,
    .reader_clear_i,
    .taken_o,
    .item_o,
    .lap_o,
    .refuse_o,
    .late_o,
    .idle_o       (place_idle),
    .timer_o
  );

  log_packer u_lay (
    .clk_i,
    .rst_ni,
    .piece_valid_i(piece_valid),
    .piece_ready_o(piece_ready),
    .piece_i      (piece),
    .putk_valid_i,
    .putk_ready_o,
    .putk_i,
    .putb_valid_i,
    .putb_ready_o,
    .putb_i,
    .ownk_valid_i,
    .ownk_ready_o,
    .ownk_i,
    .ownb_valid_i,
    .ownb_ready_o,
    .ownb_i,
    .ownb_start_i,
    .ownb_bad_i,
    .m_valid_o    (line_valid),
    .m_ready_i    (line_ready),
    .m_o          (line),
    .part_o       (part),
    .idle_o       (lay_idle)
  );

  log_write u_write (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_valid),
    .s_ready_o(line_ready),
    .s_i      (line),
    .written_o,
    .acq_valid_o,
    .acq_ready_i,
    .acq_line_o,
    .acq_fresh_o,
    .rsp_valid_i,
    .rsp_ready_o,
    .rsp_bank_o,
    .rsp_slot_i,
    .rel_o,
    .wr_valid_o,
    .wr_ready_i,
    .wr_slot_o,
    .wr_line_o,
    .wr_data_o,
    .wr_strb_o,
    .idle_o   (write_idle)
  );

  assign idle_o = place_idle && lay_idle && write_idle && taken_o == written_o;

endmodule
