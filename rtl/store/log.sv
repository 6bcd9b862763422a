// The log's appender: gives each item its place at the head and writes header, key and value into
// the log's line cache. A place is given 3 clocks after the request, initiation interval 3 and 1
// more for every beat; an item's lines are in the cache about 10 clocks after its last beat.
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
  /// Items from requests; off_o stands in the clock in which a start is taken, lap 0: refused.
  input  logic        put_valid_i,
  output logic        put_ready_o,
  input  put_t        put_i,
  input  logic        putb_valid_i,
  output logic        putb_ready_o,
  input  beat_t       putb_i,
  /// Items from execute (incr and decr); off_o as well.
  input  logic        own_valid_i,
  output logic        own_ready_o,
  input  put_t        own_i,
  input  logic        ownb_valid_i,
  output logic        ownb_ready_o,
  input  beat_t       ownb_i,
  output off_t        off_o,
  /// What is valid. Registered.
  output log_range_t  range_o,
  /// Items and pieces taken, and of these written: what a record's stamp compares to.
  output logic [7:0]  taken_o,
  output logic [7:0]  written_o,
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
  input  log_slot_t   rsp_slot_i,
  output logic [3:0]  rel_o,
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

  // ---------------------------------------------------------------- place
  typedef enum logic [1:0] {
    PlIdle,
    PlSize,
    PlFit,
    PlTake
  } place_e;

  typedef struct packed {
    logic        drop;   // refused, or already overtaken: the data go nowhere
    logic        own;
    logic        start;
    logic        parts;  // of an item that comes in parts
    logic [2:0]  key_beats;
    head_t       head;
    line_no_t    line;   // where the first byte goes
    logic [5:0]  lane;
  } piece_t;

  place_e state_q;
  logic own_q, fits_q, large_q, still_q;
  put_t put_q;
  units_t size, need_q, start_q, next;
  logic [27:0] next_q;
  line_no_t next_line;
  logic [35:0] lap_q, lap_next, lap_last_q;
  logic [27:0] head_q;
  logic [31:0] cont_byte_q;
  off_t place;
  piece_t piece, data_piece;
  logic piece_valid, piece_ready, take, data_valid, data_ready;
  logic [2:0] unused_pieces;
  log_range_t range_q;
  typedef logic [26:0] lines_t;
  lines_t spare_q;  // that may be given out before their bytes have come

  assign size     = units_t'({log_lines_i, 2'b00});
  assign next_line = head_q[27:2] + 26'(head_q[1:0] != '0);
  assign next     = start_q + need_q;
  assign lap_next = (lap_q[7:0] == '1) ? lap_q + 36'd2 : lap_q + 36'd1;

  // Beyond every lap that a place was given in, and so is the lap before it.
  logic [35:0] lap_far, lap_new;
  assign lap_far = lap_q + 36'd4;
  assign lap_new = (lap_far[7:0] == '0) ? lap_q + 36'd5 : lap_far;

  always_comb begin
    place = fits_q ? '{lap: lap_q[7:0], pos: start_q[27:0]} : '{lap: lap_next[7:0], pos: '0};
    if (large_q) place = '0;
    piece.own       = own_q;
    piece.start     = put_q.start;
    piece.parts     = put_q.own_lines || !put_q.start;
    piece.drop      = put_q.start ? large_q : !still_q;
    piece.key_beats = put_q.start ? 3'((9'(put_q.klen) + 9'd63) >> 6) : '0;
    piece.head      = '{lap: fits_q ? lap_q[31:0] : lap_next[31:0], exptime: put_q.exptime,
                        flags: put_q.flags, vlen: 24'(put_q.vlen), klen: put_q.klen};
    if (put_q.start) {piece.line, piece.lane} = {place.pos, 4'h0};
    else {piece.line, piece.lane} = cont_byte_q;
  end
  assign off_o       = place;
  assign take        = state_q == PlTake && piece_ready;
  assign piece_valid = state_q == PlTake;
  assign put_ready_o = take && !own_q;
  assign own_ready_o = take && own_q;

  logic [21:0] item_bytes;
  assign item_bytes = 22'd16 + 22'(put_q.klen) + 22'(put_q.vlen);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= PlIdle;
      own_q      <= 1'b0;
      lap_q      <= 36'd1;
      lap_last_q <= 36'd255;
      head_q     <= '0;
    end else begin
      unique case (state_q)
        PlIdle:
        if (put_valid_i || own_valid_i) begin
          // Execute waits for its item, so it goes first.
          own_q   <= own_valid_i;
          put_q   <= own_valid_i ? own_i : put_i;
          state_q <= PlSize;
        end
        PlSize: begin
          start_q <= put_q.own_lines ? {1'b0, next_line, 2'b00} : units_t'(head_q);
          need_q  <= put_q.own_lines ? (units_t'(item_bytes) + 29'd63) >> 6 << 2
                                     : (units_t'(item_bytes) + 29'd15) >> 4;
          cont_byte_q <= {put_q.off.pos, 4'h0} + 32'(item_bytes) - 32'(put_q.vlen) +
              32'(put_q.done);
          still_q <= off_valid(put_q.off, range_q);
          state_q <= PlFit;
        end
        PlFit: begin
          fits_q  <= next <= size;
          next_q  <= next[27:0];
          large_q <= need_q > size >> 1 || (put_q.own_lines && need_q[28:2] > spare_q);
          state_q <= PlTake;
        end
        PlTake:
        if (piece_ready) begin
          state_q <= PlIdle;
          if (put_q.start && !large_q) begin
            head_q <= fits_q ? next_q : need_q[27:0];
            if (!fits_q) begin
              lap_q      <= lap_next;
              lap_last_q <= lap_q;
            end
          end
        end
      endcase
      if (bad_i) begin
        lap_q      <= lap_new;
        lap_last_q <= lap_new - 36'd1;
      end
    end
  end

  // ---------------------------------------------------------------- room before bytes
  // The largest item, however small the log.
  localparam lines_t LeastBudget = 27'd16640;
  lines_t budget_q, owed_q, lent_q, back;
  logic written_chunk_q;

  assign back    = (tick_i ? (budget_q >> 16) + 27'd1 : '0) + lines_t'(written_chunk_q);
  assign timer_o = owed_q != '0;
  always_ff @(posedge clk_i) begin
    budget_q <= (lines_t'(log_lines_i[25:3]) < LeastBudget) ? LeastBudget
                                                           : lines_t'(log_lines_i[25:3]);
    spare_q  <= budget_q - owed_q;
    if (!rst_ni) begin
      lent_q <= '0;
      owed_q <= '0;
    end else begin
      lent_q <= (take && put_q.start && put_q.own_lines && !large_q) ? need_q[28:2] : '0;
      owed_q <= lent_q + ((owed_q > back) ? owed_q - back : '0);
    end
  end

  // The tail: head - (size - margin), in this lap or in the one before.
  units_t margin_q, limit_q;
  always_ff @(posedge clk_i) begin
    margin_q         <= ((size >> 2) < Margin) ? size >> 2 : Margin;
    limit_q          <= size - margin_q;
    range_q.lap      <= lap_q;
    range_q.last_lap <= lap_last_q;
    range_q.head     <= head_q;
    range_q.tail_lap <= units_t'(head_q) >= limit_q;
    range_q.tail     <= (units_t'(head_q) >= limit_q) ? head_q - limit_q[27:0]
                                                      : head_q + margin_q[27:0];
  end
  assign range_o = range_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) taken_o <= '0;
    else if (take && !piece.drop) taken_o <= taken_o + 1'b1;
    item_o   <= rst_ni && take && put_q.start && !large_q;
    lap_o    <= rst_ni && take && put_q.start && !large_q && !fits_q;
    refuse_o <= rst_ni && take && piece.drop;
  end

  lib_fifo #(
    .T    (piece_t),
    .Depth(4)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(piece_valid),
    .s_ready_o(piece_ready),
    .s_data_i (piece),
    .m_valid_o(data_valid),
    .m_ready_i(data_ready),
    .m_data_o (data_piece),
    .level_o  (unused_pieces)
  );

  // ---------------------------------------------------------------- header, key, value to lines
  logic [2:0] keys_q;  // key beats taken
  logic headed_q, begun_q;  // header sent; first beat of a continued item sent
  logic in_valid, join_valid, join_ready, in_last, header, beat_go, in_key;
  beat_t in;
  line_t join_line;
  strb_t join_strb;
  logic join_last, join_out, join_out_ready, where_room, where_valid;

  assign in_valid = data_piece.own ? ownb_valid_i : putb_valid_i;
  assign in       = data_piece.own ? ownb_i : putb_i;
  assign in_key   = keys_q != data_piece.key_beats;
  assign in_last  = in.last && !in_key;
  // The header is a chunk of its own in front of the first beat.
  assign header   = data_piece.start && !headed_q && !data_piece.drop;
  assign join_valid = data_valid && where_room && !data_piece.drop && (header || in_valid);
  assign beat_go  = data_valid && !header && in_valid &&
      (data_piece.drop || (join_ready && where_room));
  assign data_ready   = beat_go && in_last;
  always_ff @(posedge clk_i) written_chunk_q <= join_valid && join_ready && data_piece.parts;
  assign putb_ready_o = data_valid && !data_piece.own && !header &&
      (data_piece.drop || (join_ready && where_room));
  assign ownb_ready_o = data_valid && data_piece.own && !header &&
      (data_piece.drop || (join_ready && where_room));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      keys_q   <= '0;
      headed_q <= 1'b0;
      begun_q  <= 1'b0;
    end else begin
      if (join_valid && join_ready && header) headed_q <= 1'b1;
      if (beat_go) begin
        begun_q <= 1'b1;
        if (in_key) keys_q <= keys_q + 1'b1;
      end
      if (data_ready) begin
        keys_q   <= '0;
        headed_q <= 1'b0;
        begun_q  <= 1'b0;
      end
    end
  end

  logic first;
  assign first = header || (!data_piece.start && !begun_q);

  lib_join u_join (
    .clk_i,
    .rst_ni,
    .s_valid_i (join_valid),
    .s_ready_o (join_ready),
    .s_data_i  (header ? line_t'(data_piece.head) : in.data),
    .s_start_i ('0),
    .s_len_i   (header ? 7'd16 : in.len),
    .s_first_i (first),
    .s_offset_i(data_piece.lane),
    .s_last_i  (!header && in_last),
    .m_valid_o (join_out),
    .m_ready_i (join_out_ready),
    .m_data_o  (join_line),
    .m_strb_o  (join_strb),
    .m_last_o  (join_last)
  );

  // Where each piece's lines begin, beside the join.
  line_no_t where, line_q, line;
  logic within_q;
  logic [3:0] unused_where;
  lib_fifo #(
    .T    (line_no_t),
    .Depth(8)
  ) u_where (
    .clk_i,
    .rst_ni,
    .s_valid_i(join_valid && join_ready && first),
    .s_ready_o(where_room),
    .s_data_i (data_piece.line),
    .m_valid_o(where_valid),
    .m_ready_i(join_out && join_out_ready && join_last),
    .m_data_o (where),
    .level_o  (unused_where)
  );

  // ---------------------------------------------------------------- lines to the cache
  typedef struct packed {
    logic     none;   // the value ended with the line before
    logic     last;
    line_no_t line;
    line_t    data;
    strb_t    strb;
  } out_t;

  out_t out_in, out;
  logic none, acq_room, out_room, out_valid, out_pop;
  logic [3:0] unused_out, unused_acq;
  assign line           = within_q ? line_q : where;
  assign none           = join_strb == '0;
  assign join_out_ready = where_valid && out_room && acq_room;

  // A write from the line's beginning: nobody needs what the line held before.
  lib_fifo #(
    .T    (logic [$bits(line_no_t):0]),
    .Depth(8)
  ) u_acq (
    .clk_i,
    .rst_ni,
    .s_valid_i(join_out && where_valid && out_room && !none),
    .s_ready_o(acq_room),
    .s_data_i ({line, join_strb[0]}),
    .m_valid_o(acq_valid_o),
    .m_ready_i(acq_ready_i),
    .m_data_o ({acq_line_o, acq_fresh_o}),
    .level_o  (unused_acq)
  );
  assign out_in = '{none: none, last: join_last, line: line, data: join_line, strb: join_strb};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) within_q <= 1'b0;
    else if (join_out && join_out_ready) within_q <= !join_last;
    if (join_out && join_out_ready) line_q <= line + 1'b1;
  end

  lib_fifo #(
    .T    (out_t),
    .Depth(8)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(join_out && join_out_ready),
    .s_ready_o(out_room),
    .s_data_i (out_in),
    .m_valid_o(out_valid),
    .m_ready_i(out_pop),
    .m_data_o (out),
    .level_o  (unused_out)
  );

  assign wr_valid_o  = out_valid && !out.none && rsp_valid_i;
  assign wr_slot_o   = rsp_slot_i;
  assign wr_line_o   = out.line;
  assign wr_data_o   = out.data;
  assign wr_strb_o   = out.strb;
  assign out_pop     = out_valid && (out.none || (rsp_valid_i && wr_ready_i));
  assign rsp_ready_o = out_valid && !out.none && wr_ready_i;
  assign rel_o       = 4'(out_pop && !out.none);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) written_o <= '0;
    else if (out_pop && out.last) written_o <= written_o + 1'b1;
  end

  assign idle_o = state_q == PlIdle && !put_valid_i && !own_valid_i && !data_valid &&
      taken_o == written_o;

  `ASSERT(HeadInside, units_t'(head_q) <= size)

endmodule
