// The head comes to no place that somebody holds, whatever the size of the log and of the items.
//
// One holder is seen: at any time he takes a place that is valid then, first in execute's stages, then in the reader, and
// leaves it at any time. What execute and the reader promise is assumed: they are clear when he, if the tail was told
// (marked) behind his check, has left. execute's own assertions (Clear) and reader_fv show it. Memory does not fail here: a
// lap that is given up moves no place. log_rooms says anything: what it lends is not seen here, but where that is taken from
// the head.
`include "fv.svh"
`include "lib_assert.svh"

// In its place: it says anything, but that what has just grown is known two clocks later.
module log_rooms
  import request_pkg::*;
  import wirekv_pkg::*;
  import store_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  // verilator lint_off UNUSEDSIGNAL
  input  logic        tick_i,
  input  logic [25:0] log_lines_i,
  input  log_range_t  range_i,
  input  logic        ask_i,
  input  put_t        put_i,
  input  logic        own_i,
  input  logic [26:0] lines_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic        known_o,
  output logic        refuse_o,
  output logic        room_o,
  output low_lap_t    lap_o,
  output line_no_t    line_o,
  output logic        lent_o,
  output logic        grow_o,
  output logic [26:0] grow_lines_o,
  // verilator lint_off UNUSEDSIGNAL
  input  logic        over_i,
  input  logic        got_i,
  input  low_lap_t    lap_i,
  input  line_no_t    line_i,
  input  logic        rest_go_i,
  input  logic        back_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic        rest_o,
  output low_lap_t    rest_lap_o,
  output line_no_t    rest_line_o,
  output logic [26:0] rest_lines_o,
  output logic        late_o,
  output logic        timer_o
);
  logic grown_q;
  always_ff @(posedge clk_i) grown_q <= rst_ni && grow_o;
  assign grow_o       = ask_i && put_i.start && !grown_q && log_allocator_fv.grow_i;
  assign known_o      = !grow_o && !grown_q && log_allocator_fv.known_i;
  assign refuse_o     = log_allocator_fv.refuse_i;
  assign room_o       = log_allocator_fv.room_i;
  assign lent_o       = log_allocator_fv.lent_i;
  assign lap_o        = log_allocator_fv.room_lap_i;
  assign line_o       = log_allocator_fv.room_line_i;
  assign grow_lines_o = log_allocator_fv.grow_lines_i;
  assign rest_o       = log_allocator_fv.rest_i;
  assign rest_lap_o   = '0;
  assign rest_line_o  = '0;
  assign rest_lines_o = '0;
  assign late_o       = 1'b0;
  assign timer_o      = 1'b0;
endmodule

module log_allocator_fv
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input logic        clk_i,
  input logic        tick_i,
  input logic [25:0] lines_i,
  input logic        put_valid_i,
  input put_t        put_i,
  input logic        own_valid_i,
  input put_t        own_i,
  input logic        piece_ready_i,
  input logic        back_i,
  // The holder: the place that he checks, that he does so, goes to the reader, leaves.
  input off_t        place_i,
  input logic        check_i,
  input logic        read_i,
  input logic        leave_i,
  input logic        stages_clear_i,
  input logic        reader_clear_i,
  // What log_rooms says.
  input logic        known_i,
  input logic        refuse_i,
  input logic        room_i,
  input logic        lent_i,
  input logic        grow_i,
  input low_lap_t    room_lap_i,
  input line_no_t    room_line_i,
  input logic        rest_i,
  input logic [26:0] grow_lines_i
);
  `FV_RESET
  // A room is whole lines, no more than fit into the log.
  `FV_ASSUME(rooms, grow_lines_i != '0 && grow_lines_i <= 27'(lines_i >> 4))

  // Any size, which stays.
  logic [25:0] lines_q;
  always_ff @(posedge clk_i) lines_q <= lines_i;
  `FV_ASSUME(same_lines, lines_i == lines_q && lines_i != '0)

  logic
      put_ready, own_ready, off_valid_now, piece_valid, tell, mark, item, lap, refuse, idle, timer;
  off_t off;
  log_piece_t piece;
  log_range_t range;
  serial_t taken;
  `FV_STREAM(gen_put, put_valid_i, put_ready, put_i)
  `FV_STREAM(gen_own, own_valid_i, own_ready, own_i)

  log_allocator dut (
    .clk_i,
    .rst_ni,
    .tick_i,
    .log_lines_i   (lines_i),
    .bad_i         (1'b0),
    .put_valid_i,
    .put_ready_o   (put_ready),
    .put_i,
    .off_valid_o   (off_valid_now),
    .off_o         (off),
    .own_valid_i,
    .own_ready_o   (own_ready),
    .own_i,
    .piece_valid_o (piece_valid),
    .piece_ready_i,
    .piece_o       (piece),
    .back_i,
    .range_o       (range),
    .tell_o        (tell),
    .stages_clear_i,
    .mark_o        (mark),
    .reader_clear_i,
    .taken_o       (taken),
    .item_o        (item),
    .lap_o         (lap),
    .refuse_o      (refuse),
    .idle_o        (idle),
    .timer_o       (timer)
  );

  // ------------------------------------------------ the holder
  logic stages_q, reader_q;  // where he is
  logic old_q;  // in the stages: a tail was told since; in the reader: it has been marked since
  off_t place_q;
  logic up_q = 1'b0;  // the range follows the reset
  always_ff @(posedge clk_i) up_q <= rst_ni;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      stages_q <= 1'b0;
      reader_q <= 1'b0;
    end else if (stages_q || reader_q) begin
      if (leave_i) begin
        stages_q <= 1'b0;
        reader_q <= 1'b0;
        old_q    <= 1'b0;
      end else if (stages_q && read_i) begin
        stages_q <= 1'b0;
        reader_q <= 1'b1;
        old_q    <= 1'b0;
      end else if ((stages_q && tell) || (reader_q && mark)) begin
        old_q <= 1'b1;
      end
    end else begin
      stages_q <= up_q && check_i && off_valid(place_i, range);
      old_q    <= 1'b0;
      place_q  <= place_i;
    end
  end
  // Who was told of leaves the stages before they are clear.
  `FV_ASSUME(stages, !(stages_clear_i && stages_q && old_q))
  `FV_ASSUME(reader, !(reader_clear_i && reader_q && old_q))

  // ------------------------------------------------ what is shown
  log_range_t now;  // what will be in the range
  assign now = '{
          lap: dut.lap_q,
          last_lap: dut.lap_last_q,
          head: dut.head_q,
          tail: dut.tail,
          tail_lap: dut.tail_lap
      };
  logic held, this_lap;
  assign held     = stages_q || reader_q;
  assign this_lap = place_q.lap == dut.lap_q[7:0];
  `ASSERT(Held, !held || off_intact(place_q, now))
  // Nor to his item's first line.
  `ASSERT(HeldLine, !held || this_lap || 29'({place_q.pos[27:2], 2'b00}) >= 29'(dut.head_q))

  // ------------------------------------------------ invariants
  localparam logic [2:0] Choose = 3'd3, Told = 3'd4, Tell = 3'd5, Stages = 3'd6, Reader = 3'd7;
  logic [2:0] state;
  log_range_t passed;
  assign state = dut.u_fence.state_q;
  always_comb begin
    passed          = now;
    passed.tail     = dut.u_fence.passed_q.pos;
    passed.tail_lap = dut.u_fence.passed_q.in_lap;
  end
  logic [7:0] lap_before;  // laps with low byte 0 are left out
  assign lap_before = (dut.lap_q[7:0] == 8'd1) ? 8'd255 : dut.lap_q[7:0] - 8'd1;
  `ASSERT(Laps, dut.lap_q[7:0] != '0 && dut.lap_last_q[7:0] == lap_before)
  `ASSERT(OnePlace, !(stages_q && reader_q))
  // Whoever holds is not before the tail that was passed; who was not told of, not before the one that is told.
  `ASSERT(NotPassed, !held || off_valid(place_q, passed))
  logic waited;  // he is waited for, or will be
  assign waited = (state == Stages && (reader_q || old_q)) ||
      (state == Reader && reader_q && old_q);
  `ASSERT(Waited, !held || !(state inside {Stages, Reader}) || waited || off_valid(place_q, now))
  // What is to be written was not passed, and from the stages on it was seen against the tail that is told.
  off_t part;
  assign part = dut.limit_q.put.off;
  `ASSERT(Part, !(dut.limit_valid_q && dut.still_q) || off_valid(part, passed))
  logic part_told;
  assign part_told = dut.limit_valid_q && dut.still_q && state inside {Stages, Reader};
  `ASSERT(PartTold, !part_told || off_valid(part, now))
  `ASSERT(Free, !dut.u_fence.in_lap_q || dut.u_fence.passed_q.in_lap)

  // What an item needs, and where it may begin: of a tail that was passed some time ago.
  logic starts, lines_only;
  logic [28:0] need, room;
  assign starts     = dut.limit_valid_q && dut.limit_q.put.start;
  assign need       = dut.limit_q.need;
  assign room       = dut.u_fence.start_q + need;
  assign lines_only = dut.limit_q.put.own_lines;
  `ASSERT(Sizes, dut.half_q == dut.size >> 1 || !up_q)
  logic next_whole, here_whole, passed_now, in_room;
  logic [28:0] behind;  // that was passed
  assign next_whole = dut.size_valid_q && dut.size_q.put.start && dut.size_q.put.own_lines;
  assign here_whole = !lines_only || need[1:0] == '0;
  assign passed_now = dut.u_fence.passed_q.in_lap;
  assign behind     = 29'(dut.u_fence.passed_q.pos);
  assign in_room     = dut.u_fence.start_q <= room && room >= need && room <= behind;
  `ASSERT(Wholes, !next_whole || dut.size_q.need[1:0] == '0)
  `ASSERT(LastStart, !starts || dut.last_start_q == dut.size - need)
  `ASSERT(NotLarge, !starts || dut.too_large_q || need <= dut.size)
  `ASSERT(Whole, !starts || here_whole)
  // In the clock behind the one in which it gets a whole spare room that is not known yet, nor taken.
  logic grown;
  assign grown = dut.u_rooms.grown_q;
  logic free_room;
  assign free_room = dut.u_fence.in_lap_q ? need <= behind : passed_now || in_room;
  `ASSERT(Room, !(starts && dut.u_fence.room_q && !grown) || free_room)

  // Of the queue behind: lib_fifo_fv shows what it needs.
  logic [1:0] pieces;
  assign pieces = dut.u_pieces.waddr_q - dut.u_pieces.raddr_q;
  `ASSERT(Level, dut.u_pieces.level_q <= 3'd4 && pieces == dut.u_pieces.level_q[1:0])

  // ------------------------------------------------ reached
  `FV_SEEN(held_once, held && reader_q && old_q)
  `FV_COVER(Waits, held_once && dut.limit_valid_q && !dut.free)
endmodule
