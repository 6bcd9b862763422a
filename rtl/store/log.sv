// The log's appender: gives each item its place at the head and writes header, key and value into
// the log's line cache. A place is given 3 clocks after the request; initiation interval 1, or the
// number of lines that the item touches; its lines are in the cache about 12 clocks after its bytes.
//
// When memory has not taken or given what it was asked, all that was stored is given up: the log goes
// on in a lap of which nothing is valid. So no one sees an older state than he left, wherever it was.
//
// Places only grow; an item never wraps, so the end of a lap may stay unused. What of the log is
// valid follows from the head: a margin in front of it is given up early, so that whoever reads an
// item that was valid a moment ago is not overtaken.
//
// An item that comes in several parts has its room from the start, and that evicts others before its
// bytes have come, if they ever do. So such rooms have a budget of an eighth of the log: what is
// taken comes back with the bytes, or within a minute; who finds too little is refused.
`include "lib_assert.svh"

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
  // verilator lint_off UNUSEDSIGNAL
  input  beat_t       putk_i,  // its length is in the item
  // verilator lint_on UNUSEDSIGNAL
  input  logic        putb_valid_i,
  output logic        putb_ready_o,
  input  beat_t       putb_i,
  output logic        off_valid_o,
  output off_t        off_o,
  /// Items from execute (incr, decr, append, prepend) or pieces, one at a time; off_o stands in the clock
  /// in which one is taken. A beat's first byte is in lane ownb_start_i, lane 0 behind lane 63, and beats but the
  /// last may be shorter than 64, too.
  input  logic        own_valid_i,
  output logic        own_ready_o,
  input  put_t        own_i,
  input  logic        ownk_valid_i,
  output logic        ownk_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  beat_t       ownk_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic        ownb_valid_i,
  output logic        ownb_ready_o,
  input  beat_t       ownb_i,
  input  logic [5:0]  ownb_start_i,
  /// What is valid. Registered.
  output log_range_t  range_o,
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
  /// Ticks are needed.
  output logic        timer_o
);

  typedef logic [28:0] units_t;  // places and sizes in units of 16 bytes

  // 1 MiB + 64 KiB: more than all readers can have in flight.
  localparam units_t Margin = 29'd69632;

  localparam int unsigned OutDepth = 16;  // lines that wait for their slot

  // ---------------------------------------------------------------- size: what an item needs
  // Three stages to its place: size, limit (the last start with which it fits), take.
  typedef logic [26:0] lines_t;
  typedef struct packed {
    logic        own;
    put_t        put;
    units_t      need;
    logic [31:0] cont_byte;  // of a continued item: where its bytes go on
    logic        still;      // and whether it is still in the log
  } sized_t;

  typedef struct packed {
    logic        drop;   // refused, or already overtaken: the data go nowhere
    logic        own;
    logic        start;
    logic        parts;  // of an item that comes in parts
    head_t       head;
    line_no_t    line;   // where the first byte goes
    logic [5:0]  lane;
  } piece_t;

  units_t size;
  sized_t size_d, size_q, limit_q;
  logic size_valid_q, limit_valid_q, size_go, limit_go, limit_first_q, own_sent_q, from_own;
  logic [21:0] item_bytes;
  put_t first_put;
  log_range_t range_q;

  assign size       = units_t'({log_lines_i, 2'b00});
  // Execute waits for its item, so it goes first; it is offered until it has its place.
  assign from_own   = own_valid_i && !own_sent_q;
  assign first_put  = from_own ? own_i : put_i;
  assign item_bytes = 22'd16 + 22'(first_put.klen) + 22'(first_put.vlen);
  always_comb begin
    size_d.own       = from_own;
    size_d.put       = first_put;
    size_d.need      = first_put.own_lines ? (units_t'(item_bytes) + 29'd63) >> 6 << 2
                                           : (units_t'(item_bytes) + 29'd15) >> 4;
    size_d.cont_byte = {first_put.off.pos, 4'h0} + 32'd16 + 32'(first_put.klen) +
        32'(first_put.done);
    size_d.still     = off_valid(first_put.off, range_q);
  end
  assign size_go     = !size_valid_q || limit_go;
  assign put_ready_o = size_go && !from_own;

  // ---------------------------------------------------------------- limit
  units_t last_start_q, half_q;  // the last start at which it fits
  logic too_large_q, take;
  logic [1:0] lend_q;  // clocks until what was lent is counted
  assign limit_go = !limit_valid_q || take;

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
      last_start_q <= size - size_q.need;
      too_large_q  <= size_q.need > half_q;
    end
    limit_first_q <= limit_go;
  end

  // ---------------------------------------------------------------- take: its place
  logic fits, refused, own_lines, aligned, budget_known;
  logic [35:0] lap_q, lap_next, lap_last_q;
  logic [27:0] head_q, head_next;
  off_t place;
  piece_t piece, data_piece;
  logic piece_ready, data_valid, data_ready, parts_large_q;
  logic [2:0] unused_pieces;
  lines_t spare_q;  // that may be given out before their bytes have come

  assign lap_next  = (lap_q[7:0] == '1) ? lap_q + 36'd2 : lap_q + 36'd1;
  assign fits      = units_t'(head_q) <= last_start_q;
  assign head_next = fits ? head_q + limit_q.need[27:0] : limit_q.need[27:0];
  // An item with lines of its own first moves the head to the next line, and waits until all that
  // was lent before is known.
  assign own_lines    = limit_q.put.start && limit_q.put.own_lines;
  assign aligned      = !own_lines || head_q[1:0] == '0 || !fits;
  assign budget_known = !own_lines || (!limit_first_q && lend_q == '0);
  assign refused      = too_large_q || (own_lines && parts_large_q);

  // Beyond every lap that a place was given in, and so is the lap before it.
  logic [35:0] lap_far, lap_new;
  assign lap_far = lap_q + 36'd4;
  assign lap_new = (lap_far[7:0] == '0) ? lap_q + 36'd5 : lap_far;

  always_comb begin
    place = fits ? '{lap: lap_q[7:0], pos: head_q} : '{lap: lap_next[7:0], pos: '0};
    if (refused) place = '0;
    piece.own       = limit_q.own;
    piece.start     = limit_q.put.start;
    piece.parts     = limit_q.put.own_lines || !limit_q.put.start;
    piece.drop      = limit_q.put.start ? refused : !limit_q.still;
    piece.head      = '{lap: fits ? lap_q[31:0] : lap_next[31:0], exptime: limit_q.put.exptime,
                        flags: limit_q.put.flags, vlen: 24'(limit_q.put.vlen),
                        klen: limit_q.put.klen};
    if (limit_q.put.start) {piece.line, piece.lane} = {place.pos, 4'h0};
    else {piece.line, piece.lane} = limit_q.cont_byte;
  end
  // Of a piece that execute adds to an item: where that is, if it still is.
  assign off_o       = limit_q.put.start ? place : limit_q.still ? limit_q.put.off : '0;
  assign take        = limit_valid_q && piece_ready && budget_known && (aligned || refused);
  assign off_valid_o = take && !limit_q.own;
  assign own_ready_o = take && limit_q.own;

  logic placed;
  assign placed = take && limit_q.put.start && !refused;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      lap_q      <= 36'd1;
      lap_last_q <= 36'd255;
      head_q     <= '0;
    end else begin
      if (placed) begin
        head_q <= head_next;
        if (!fits) begin
          lap_q      <= lap_next;
          lap_last_q <= lap_q;
        end
      end else if (limit_valid_q && !aligned) begin
        head_q <= {head_q[27:2] + 26'd1, 2'b00};
      end
      if (bad_i) begin
        lap_q      <= lap_new;
        lap_last_q <= lap_new - 36'd1;
      end
    end
    parts_large_q <= limit_q.need[28:2] > spare_q;
  end

  // ---------------------------------------------------------------- room before bytes
  // The largest item, however small the log.
  localparam lines_t LeastBudget = 27'd16640;
  lines_t budget_q, owed_q, lent_q, back;
  logic written_line_q;

  assign back    = (tick_i ? (budget_q >> 16) + 27'd1 : '0) + lines_t'(written_line_q);
  assign timer_o = owed_q != '0;
  always_ff @(posedge clk_i) begin
    budget_q <= (lines_t'(log_lines_i[25:3]) < LeastBudget) ? LeastBudget
                                                           : lines_t'(log_lines_i[25:3]);
    spare_q  <= budget_q - owed_q;
    if (!rst_ni) begin
      lent_q <= '0;
      lend_q <= '0;
      owed_q <= '0;
    end else begin
      lent_q <= (placed && own_lines) ? limit_q.need[28:2] : '0;
      lend_q <= (placed && own_lines) ? 2'd3 : lend_q - 2'(lend_q != '0);
      owed_q <= lent_q + ((owed_q > back) ? owed_q - back : '0);
    end
  end

  // The tail: head - (size - margin), in this lap or in the one before.
  units_t margin_q, reach_q;
  always_ff @(posedge clk_i) begin
    margin_q         <= ((size >> 2) < Margin) ? size >> 2 : Margin;
    reach_q          <= size - margin_q;
    range_q.lap      <= lap_q;
    range_q.last_lap <= lap_last_q;
    range_q.head     <= head_q;
    range_q.tail_lap <= units_t'(head_q) >= reach_q;
    range_q.tail     <= (units_t'(head_q) >= reach_q) ? head_q - reach_q[27:0]
                                                      : head_q + margin_q[27:0];
  end
  assign range_o = range_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) taken_o <= '0;
    else if (take && !piece.drop) taken_o <= taken_o + 1'b1;
    item_o   <= rst_ni && placed;
    lap_o    <= rst_ni && placed && !fits;
    refuse_o <= rst_ni && take && piece.drop;
  end

  lib_fifo #(
    .T    (piece_t),
    .Depth(4)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(take),
    .s_ready_o(piece_ready),
    .s_data_i (piece),
    .m_valid_o(data_valid),
    .m_ready_i(data_ready),
    .m_data_o (data_piece),
    .level_o  (unused_pieces)
  );

  // ---------------------------------------------------------------- values to lines
  logic in_valid, join_valid, join_ready, beat_go, begun_q;
  beat_t in;
  line_t join_line;
  strb_t join_strb;
  logic join_last, join_out, join_out_ready, where_room, where_valid;
  logic [5:0] value_lane;

  assign in_valid   = data_piece.own ? ownb_valid_i : putb_valid_i;
  assign in         = data_piece.own ? ownb_i : putb_i;
  assign join_valid = data_valid && where_room && !data_piece.drop && in_valid;
  assign beat_go    = data_valid && where_room && in_valid && (data_piece.drop || join_ready);
  assign data_ready   = beat_go && in.last;
  assign putb_ready_o = beat_go && !data_piece.own;
  assign ownb_ready_o = beat_go && data_piece.own;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begun_q <= 1'b0;
    else if (beat_go) begun_q <= !in.last;
  end

  lib_join u_join (
    .clk_i,
    .rst_ni,
    .s_valid_i (join_valid),
    .s_ready_o (join_ready),
    .s_data_i  (in.data),
    .s_start_i (data_piece.own ? ownb_start_i : '0),
    .s_len_i   (in.len),
    .s_first_i (!begun_q),
    .s_offset_i(value_lane),
    .s_last_i  (in.last),
    .m_valid_o (join_out),
    .m_ready_i (join_out_ready),
    .m_data_o  (join_line),
    .m_strb_o  (join_strb),
    .m_last_o  (join_last)
  );

  // The pieces whose value has begun, beside the join: what their lines need of them, and where the
  // key ends, counted from the beginning of the first line.
  typedef struct packed {
    logic       drop;
    logic       own;
    logic       start;
    logic       parts;
    head_t      head;
    line_no_t   line;
    logic [1:0] unit;        // of the first byte in its line
    logic [2:0] key_beats;
    logic [2:0] head_lines;  // lines before the value
    logic [5:0] head_lane;   // where it begins
  } where_t;

  where_t where_in, where;
  logic where_pop;
  logic [3:0] unused_where;
  always_comb begin
    where_in.drop      = data_piece.drop;
    where_in.own       = data_piece.own;
    where_in.start     = data_piece.start;
    where_in.parts     = data_piece.parts;
    where_in.head      = data_piece.head;
    where_in.line      = data_piece.line;
    where_in.unit      = data_piece.lane[5:4];
    where_in.key_beats = data_piece.start ? 3'((9'(data_piece.head.klen) + 9'd63) >> 6) : '0;
    {where_in.head_lines, where_in.head_lane} =
        9'({data_piece.lane[5:4], 4'h0}) + 9'd16 + 9'(data_piece.head.klen);
  end
  // It goes on behind header and key.
  assign value_lane = data_piece.start ? where_in.head_lane : data_piece.lane;

  lib_fifo #(
    .T    (where_t),
    .Depth(8)
  ) u_where (
    .clk_i,
    .rst_ni,
    .s_valid_i(beat_go && !begun_q),
    .s_ready_o(where_room),
    .s_data_i (where_in),
    .m_valid_o(where_valid),
    .m_ready_i(where_pop),
    .m_data_o (where),
    .level_o  (unused_where)
  );

  // ---------------------------------------------------------------- header and key in front
  // Line n of an item has the end of the key's beat n - 1 and the beginning of beat n. Where the
  // key ends within a line, the value's first line is laid over it.
  logic [2:0] number_q;  // lines so far
  logic in_head, key_beat, key_valid, line_valid, line_go, line_last, out_room;
  line_t key, prior, prior_q, head_line, line_data;
  strb_t head_strb, line_strb;

  assign key        = where.own ? ownk_i.data : putk_i.data;
  assign key_valid  = where.own ? ownk_valid_i : putk_valid_i;

  // Of an item that is dropped only the key is taken.
  assign in_head    = where.start && number_q < where.head_lines;
  assign key_beat   = number_q < where.key_beats;
  assign line_valid = where_valid && (!key_beat || key_valid) &&
      (where.drop || in_head || join_out);
  assign line_go    = line_valid && (where.drop || out_room);
  assign line_last  = where.drop ? number_q + 3'd1 >= where.key_beats : !in_head && join_last;
  assign where_pop  = line_go && line_last;
  assign putk_ready_o   = line_go && key_beat && !where.own;
  assign ownk_ready_o   = line_go && key_beat && where.own;
  assign join_out_ready = line_go && !where.drop && !in_head;

  // The header stands where a beat before the key would end.
  assign prior = (number_q == '0) ? {where.head, 384'd0} : prior_q;
  always_comb begin
    unique case (where.unit)
      2'd0: head_line = {key[383:0], prior[511:384]};
      2'd1: head_line = {key[255:0], prior[511:256]};
      2'd2: head_line = {key[127:0], prior[511:128]};
      2'd3: head_line = prior;
    endcase
    // From the item's first byte to the key's last.
    head_strb = '1;
    if (number_q == '0) head_strb = {64{1'b1}} << {where.unit, 4'h0};
    if (number_q == where.head_lines) head_strb &= ~({64{1'b1}} << where.head_lane);
    if (!where.start || number_q > where.head_lines) head_strb = '0;
    line_strb = head_strb | (in_head ? '0 : join_strb);
    for (int b = 0; b < 64; b++)
    line_data[8*b+:8] = head_strb[b] ? head_line[8*b+:8] : join_line[8*b+:8];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) number_q <= '0;
    else if (where_pop) number_q <= '0;
    else if (line_go && (where.drop || number_q <= where.head_lines)) number_q <= number_q + 3'd1;
    if (line_go && key_beat) prior_q <= key;
    written_line_q <= line_go && !where.drop && where.parts;
  end

  // ---------------------------------------------------------------- lines to the cache
  typedef struct packed {
    logic     last;
    line_no_t line;
    line_t    data;
    strb_t    strb;
  } out_t;

  out_t out_in, out;
  logic out_valid, out_pop, within_q;
  line_no_t line, line_q;
  logic [4:0] unused_out;
  assign line   = within_q ? line_q : where.line;
  assign out_in = '{last: line_last, line: line, data: line_data, strb: line_strb};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) within_q <= 1'b0;
    else if (line_go && !where.drop) within_q <= !line_last;
    if (line_go) line_q <= line + 1'b1;
  end

  lib_fifo #(
    .T    (out_t),
    .Depth(OutDepth)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_go && !where.drop),
    .s_ready_o(out_room),
    .s_data_i (out_in),
    .m_valid_o(out_valid),
    .m_ready_i(out_pop),
    .m_data_o (out),
    .level_o  (unused_out)
  );

  // In the next clock it is seen what is to be done for the line. One stays acquired as long as items
  // follow that lie in it.
  typedef struct packed {
    logic none;  // nothing: the value ended with the line before
    logic same;  // it is the one before
  } kind_t;

  kind_t kind_in, kind;
  logic laid_valid_q, kind_valid, open_q, close, unused_acq_room, unused_kind_room;
  line_no_t laid_line_q, open_line_q;  // open_line_q: acquired last
  strb_t laid_strb_q;
  logic [4:0] unused_kind, unused_acq;
  assign kind_in.none = laid_strb_q == '0;
  assign kind_in.same = open_q && laid_line_q == open_line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      laid_valid_q <= 1'b0;
      open_q       <= 1'b0;
    end else begin
      laid_valid_q <= line_go && !where.drop;
      if (laid_valid_q && !kind_in.none) open_q <= 1'b1;
      else if (close) open_q <= 1'b0;
    end
    laid_line_q <= line;
    laid_strb_q <= line_strb;
    if (laid_valid_q && !kind_in.none) open_line_q <= laid_line_q;
  end

  // Both have room as long as u_out had: a line leaves that one last.
  lib_fifo #(
    .T    (kind_t),
    .Depth(OutDepth)
  ) u_kind (
    .clk_i,
    .rst_ni,
    .s_valid_i(laid_valid_q),
    .s_ready_o(unused_kind_room),
    .s_data_i (kind_in),
    .m_valid_o(kind_valid),
    .m_ready_i(out_pop),
    .m_data_o (kind),
    .level_o  (unused_kind)
  );

  // A write from the line's beginning: nobody needs what the line held before.
  lib_fifo #(
    .T    (logic [$bits(line_no_t):0]),
    .Depth(OutDepth)
  ) u_acq (
    .clk_i,
    .rst_ni,
    .s_valid_i(laid_valid_q && !kind_in.none && !kind_in.same),
    .s_ready_o(unused_acq_room),
    .s_data_i ({laid_line_q, laid_strb_q[0]}),
    .m_valid_o(acq_valid_o),
    .m_ready_i(acq_ready_i),
    .m_data_o ({acq_line_o, acq_fresh_o}),
    .level_o  (unused_acq)
  );
  `ASSERT(LaidRoom, !laid_valid_q || (unused_acq_room && unused_kind_room))

  // A register before the cache: its memory port's order does not depend on how a line was found.
  logic held_q;  // the line written last is still acquired
  log_slot_t held_slot_q;
  logic [2:0] quiet_q;  // clocks in which nothing came
  logic write_valid_q, write_none_q, write_free;
  out_t write_q;
  assign write_free  = !write_valid_q || write_none_q || wr_ready_i;
  assign rsp_ready_o = kind_valid && !kind.none && !kind.same && write_free;
  assign out_pop     = kind_valid && write_free && (kind.none || kind.same || rsp_valid_i);
  assign rsp_bank_o  = out.line[0];
  assign wr_valid_o  = write_valid_q && !write_none_q;
  assign wr_slot_o   = held_slot_q;
  assign wr_line_o   = write_q.line;
  assign wr_data_o   = write_q.data;
  assign wr_strb_o   = write_q.strb;
  assign close       = held_q && quiet_q == '1 && !out_valid && !write_valid_q;
  always_comb begin
    rel_o = '0;
    rel_o[held_slot_q[LogWayW]] = 4'(held_q && ((rsp_ready_o && rsp_valid_i) || close));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q        <= 1'b0;
      quiet_q       <= '0;
      write_valid_q <= 1'b0;
      written_o     <= '0;
    end else begin
      if (rsp_ready_o && rsp_valid_i) held_q <= 1'b1;
      else if (close) held_q <= 1'b0;
      if (out_valid || write_valid_q) quiet_q <= '0;
      else if (quiet_q != '1) quiet_q <= quiet_q + 3'd1;
      if (write_free) write_valid_q <= out_pop;
      if (write_valid_q && write_free && write_q.last) written_o <= written_o + 1'b1;
    end
    if (rsp_ready_o && rsp_valid_i) held_slot_q <= rsp_slot_i;
    if (out_pop) begin
      write_q      <= out;
      write_none_q <= kind.none;
    end
  end

  assign idle_o = !put_valid_i && !own_valid_i && !size_valid_q && !limit_valid_q && !data_valid &&
      !where_valid && !held_q && taken_o == written_o;

  `ASSERT(HeadInside, units_t'(head_q) <= size)

endmodule
