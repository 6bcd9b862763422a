// Gives each item its place at the head of the log, and each further part the place where its bytes go on.
// A place is given 3 clocks after the request; initiation interval 1, and 2 where there is a gap in front of the item.
//
// When memory has not taken or given what it was asked, all that was stored is given up: the log goes
// on in a lap of which nothing is valid. So no one sees an older state than he left, wherever it was.
//
// Places only grow; an item never wraps, so the end of a lap may stay unused. What is in front of the head
// is given up early, and the head waits for those who still use it: see log_fence.
//
// Whatever the head leaves out gets a mark, so that the log can be read by its headers: the end of a lap, the end of a
// line in front of an item that must begin one, and what is left of a spare room.
//
// An item that comes in several parts has its room from the start, and that evicts others before its
// bytes have come, if they ever do. How much of the log may go that way says log_rooms.
`include "lib_assert.svh"

module log_allocator
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// One-clock pulse each millisecond.
  input  logic       tick_i,
  /// Size of the log in lines.
  input  logic [25:0] log_lines_i,
  /// Memory has failed.
  input  logic       bad_i,
  /// Items from requests; each is answered, in order: a start by its place, lap 0 if it is refused.
  input  logic       put_valid_i,
  output logic       put_ready_o,
  input  put_t       put_i,
  output logic       off_valid_o,
  output off_t       off_o,
  /// Items from execute or pieces, one at a time; off_o stands in the clock in which one is taken.
  input  logic       own_valid_i,
  output logic       own_ready_o,
  input  put_t       own_i,
  /// They, with their places.
  output logic       piece_valid_o,
  input  logic       piece_ready_i,
  output log_piece_t piece_o,
  /// A line of an item that comes in parts was written.
  input  logic       back_i,
  /// What is valid. Registered.
  output log_range_t range_o,
  /// Whoever uses a place that was valid, see log_fence.
  output logic       tell_o,
  input  logic       stages_clear_i,
  output logic       mark_o,
  input  logic       reader_clear_i,
  /// Items and pieces taken.
  output serial_t    taken_o,
  /// Pulses: an item got its place; the log wrapped; an item was refused.
  output logic       item_o,
  output logic       lap_o,
  output logic       refuse_o,
  /// See log_rooms.
  output logic       late_o,
  /// Nothing in flight here.
  output logic       idle_o,
  /// Ticks are needed.
  output logic       timer_o
);

  typedef logic [28:0] units_t;  // places and sizes in units of 16 bytes

  // ---------------------------------------------------------------- size: what an item needs
  // Three stages to its place: size, limit (the last start with which it fits), take.
  // What execute makes of a whole value for a few bytes is a copy; up to 2 to the power of this units it is free.
  localparam int unsigned CopyBits = 5;
  typedef struct packed {
    logic        own;
    put_t        put;
    units_t      need;
    logic [31:0] cont_byte;  // of a continued item: where its bytes go on
  } sized_t;

  units_t size;
  sized_t size_d, size_q, limit_q;
  logic size_valid_q, limit_valid_q, size_go, limit_go, own_sent_q, from_own;
  logic [21:0] item_bytes;
  put_t first_put;
  log_range_t range_q;

  assign size       = units_t'({log_lines_i, 2'b00});
  // Execute waits for its item, so it goes first; it is offered until it has its place.
  assign from_own   = own_valid_i && !own_sent_q;
  assign first_put  = from_own ? own_i : put_i;
  assign item_bytes = 22'd16 + 22'(first_put.klen) + 22'(first_put.vlen) +
      (first_put.chosen ? 22'(HeadBytes) : '0);
  always_comb begin
    size_d.own       = from_own;
    size_d.put       = first_put;
    size_d.need      = first_put.own_lines ? (units_t'(item_bytes) + 29'd63) >> 6 << 2
                                           : (units_t'(item_bytes) + 29'd15) >> 4;
    size_d.cont_byte = {first_put.off.pos, 4'h0} + 32'd16 + 32'(first_put.klen) +
        32'(first_put.done);
  end
  assign size_go     = !size_valid_q || limit_go;
  assign put_ready_o = size_go && !from_own;

  // ---------------------------------------------------------------- limit
  units_t last_start_q, half_q;  // the last start at which it fits
  logic too_large_q, take;
  logic asks, asks_q;  // it needs more room than bytes of it have come
  logic still_q, stays;  // of a continued item: it is still in the log
  logic room_known, room_refuse, in_room, room_lent, grow;
  logic [26:0] grow_lines;
  assign limit_go = !limit_valid_q || take;
  assign asks     = size_q.own ? size_q.put.start && size_q.need[28:CopyBits] != '0 :
      !size_q.put.start || size_q.put.own_lines;
  assign stays    = still_q && off_valid(limit_q.put.off, range_q);

  always_ff @(posedge clk_i) begin
    half_q <= size >> 1;
    if (!rst_ni) begin
      size_valid_q  <= 1'b0;
      limit_valid_q <= 1'b0;
      own_sent_q    <= 1'b0;
    end else begin
      if (size_go) size_valid_q <= from_own || put_valid_i;
      if (limit_go) limit_valid_q <= size_valid_q;
      if (own_ready_o) own_sent_q <= 1'b0;
      else if (from_own && size_go) own_sent_q <= 1'b1;
    end
    if (size_go) size_q <= size_d;
    if (limit_go) begin
      limit_q      <= size_q;
      asks_q       <= asks;
      last_start_q <= size - size_q.need;
      too_large_q  <= size_q.need > half_q;
    end
    if (grow) begin
      limit_q.need <= {grow_lines, 2'b00};
      last_start_q <= size - {grow_lines, 2'b00};
    end
    // Nothing is written there for some clocks after it is no longer valid.
    still_q <= limit_go ? off_valid(size_q.put.off, range_q) : stays;
  end

  // ---------------------------------------------------------------- take: its place
  // Where it does not fit or not begin the head moves on first, to the next lap or line.
  logic fits, free, refused, aligned, go, places, moves, placed, marks, room_rest;
  logic [35:0] lap_q, lap_next, lap_last_q;
  logic [27:0] head_q;
  off_t place;
  log_piece_t piece;
  logic piece_ready;
  units_t gap, gap_rest;
  low_lap_t room_lap, rest_lap;
  line_no_t room_line, rest_line;

  assign lap_next = (lap_q[7:0] == '1) ? lap_q + 36'd2 : lap_q + 36'd1;
  assign fits     = units_t'(head_q) <= last_start_q;
  // An item with lines of its own begins one, and a chosen CAS unique is in its header's line.
  assign aligned  = head_q[1:0] == '0 ||
      !(limit_q.put.own_lines || (limit_q.put.chosen && head_q[1:0] == '1));
  assign refused  = (limit_q.put.start ? too_large_q : !still_q) || (asks_q && room_refuse);
  assign places   = limit_q.put.start && !refused && !in_room;
  assign go     = limit_valid_q && piece_ready && !room_rest && (!asks_q || room_known);
  assign moves  = go && places && !(fits && aligned) && free;
  assign take   = go && (!places || (free && fits && aligned));
  assign placed = take && places;
  assign marks  = room_rest || (places && !(fits && aligned));
  assign gap    = fits ? 29'd4 - 29'(head_q[1:0]) : size - 29'(head_q);

  // Beyond every lap that a place was given in, and so is the lap before it.
  logic [35:0] lap_far, lap_new;
  assign lap_far = lap_q + 36'd4;
  assign lap_new = (lap_far[7:0] == '0) ? lap_q + 36'd5 : lap_far;

  always_comb begin
    place = '{lap: lap_q[7:0], pos: head_q};
    if (in_room) place = '{lap: room_lap[7:0], pos: {room_line, 2'b00}};
    // The header; in front of it is the unique.
    place.pos += 28'(limit_q.put.chosen);
    if (refused) place = '0;
    piece.mark      = marks;
    piece.own       = limit_q.own && !marks;
    piece.start     = limit_q.put.start || marks;
    piece.parts     = asks_q && room_lent && !marks;
    piece.drop      = refused && !marks;
    piece.head      = '{chosen: limit_q.put.chosen, lines: limit_q.put.own_lines,
                        lap: in_room ? room_lap : low_lap_t'(lap_q),
                        db: limit_q.put.db, expiry: limit_q.put.expiry, flags: limit_q.put.flags,
                        marks: limit_q.put.marks, vlen: limit_q.put.vlen,
                        klen: limit_q.put.klen};
    piece.chosen_no = limit_q.put.chosen_no;
    if (limit_q.put.start) {piece.line, piece.lane} = {place.pos, 4'h0};
    else {piece.line, piece.lane} = limit_q.cont_byte;
    if (marks) begin
      piece.head = '{lap: room_rest ? rest_lap : low_lap_t'(lap_q), vlen: 21'(MarkGap),
                     flags: 32'(room_rest ? gap_rest : gap), default: '0};
      {piece.line, piece.lane} = room_rest ? {rest_line, 6'd0} : {head_q, 4'h0};
    end
  end
  // Of a piece that execute adds to an item: where that is, if it still is.
  assign off_o       = (limit_q.put.start || refused) ? place : limit_q.put.off;
  assign off_valid_o = take && !limit_q.own;
  assign own_ready_o = take && limit_q.own;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      lap_q      <= 36'd1;
      lap_last_q <= 36'd255;
      head_q     <= '0;
    end else begin
      if (placed) begin
        head_q <= head_q + limit_q.need[27:0];
      end else if (moves && fits) begin
        head_q <= {head_q[27:2] + 26'd1, 2'b00};
      end else if (moves) begin
        head_q     <= '0;
        lap_q      <= lap_next;
        lap_last_q <= lap_q;
      end
      if (bad_i) begin
        lap_q      <= lap_new;
        lap_last_q <= (lap_far[7:0] == '0) ? lap_far : lap_q + 36'd3;
      end
    end
  end

  // ---------------------------------------------------------------- room before bytes
  logic at_room;
  assign in_room       = asks_q && at_room;
  assign gap_rest[1:0] = '0;
  log_rooms u_rooms (
    .clk_i,
    .rst_ni,
    .tick_i,
    .log_lines_i,
    .range_i     (range_q),
    .ask_i       (limit_valid_q && asks_q),
    .put_i       (limit_q.put),
    .own_i       (limit_q.own),
    .lines_i     (limit_q.need[28:2]),
    .known_o     (room_known),
    .refuse_o    (room_refuse),
    .room_o      (at_room),
    .lap_o       (room_lap),
    .line_o      (room_line),
    .lent_o      (room_lent),
    .grow_o      (grow),
    .grow_lines_o(grow_lines),
    .over_i      (take),
    .got_i       (take && asks_q && !refused),
    .lap_i       (low_lap_t'(lap_q)),
    .line_i      (place.pos[27:2]),
    .rest_o      (room_rest),
    .rest_go_i   (piece_ready),
    .rest_lap_o  (rest_lap),
    .rest_line_o (rest_line),
    .rest_lines_o(gap_rest[28:2]),
    .back_i,
    .late_o,
    .timer_o
  );

  // ---------------------------------------------------------------- tail
  logic [27:0] tail;
  logic tail_lap;
  log_fence u_fence (
    .clk_i,
    .rst_ni,
    .size_i        (size),
    .head_i        (head_q),
    .want_i        (limit_valid_q && limit_q.put.start && !refused),
    .need_i        (limit_q.need),
    .fits_i        (fits),
    .free_o        (free),
    .go_i          (limit_go),
    .next_need_i   (size_q.need),
    .wraps_i       (moves && !fits),
    .tail_o        (tail),
    .tail_lap_o    (tail_lap),
    .tell_o,
    .stages_clear_i,
    .mark_o,
    .reader_clear_i
  );
  always_ff @(posedge clk_i)
    range_q <= '{
        lap: lap_q,
        last_lap: lap_last_q,
        head: head_q,
        tail: tail,
        tail_lap: tail_lap
    };
  assign range_o = range_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) taken_o <= '0;
    else if (take && !piece.drop) taken_o <= taken_o + 1'b1;
    item_o   <= rst_ni && take && limit_q.put.start && !refused;
    lap_o    <= rst_ni && moves && !fits;
    refuse_o <= rst_ni && take && piece.drop;
  end

  logic [2:0] unused_level;
  lib_fifo #(
    .T    (log_piece_t),
    .Depth(4)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(take || room_rest || (moves && gap != '0)),
    .s_ready_o(piece_ready),
    .s_data_i (piece),
    .m_valid_o(piece_valid_o),
    .m_ready_i(piece_ready_i),
    .m_data_o (piece_o),
    .level_o  (unused_level)
  );

  assign idle_o = !put_valid_i && !own_valid_i && !size_valid_q && !limit_valid_q &&
      !room_rest && !piece_valid_o;

  `ASSERT(HeadInside, units_t'(head_q) <= size)
  // Bytes of an item that the head has come to again would be another's.
  `ASSERT(PartStands, !(take && !limit_q.put.start && still_q) || off_intact(
          limit_q.put.off, '{lap: lap_q, last_lap: lap_last_q, head: head_q, default: '0}))

endmodule
