// Room before bytes: what of the log may be taken for what nobody has sent yet. Says of each item that comes in parts,
// of its parts and of long copies whether they get their places, and where. An answer takes 2 clocks, and where spare
// rooms have to be looked at 11.
//
// An item that comes in parts has its room from the start, and that evicts others before its bytes have come, if they
// ever do. So such rooms have a budget of an eighth of the log: what is taken comes back with the bytes, or within a
// minute.
//
// Who finds too little left gets one of Rooms spare rooms, which are made as they are needed. A spare room may be taken
// from an item of which no further KiB has come for IdleMs, or that was begun a second ago, from the one that waits
// longest: who only begins items soon takes them from himself, and moves the log no further. Where an item was completed the next one begins behind it, as long
// as any item fits there; so a room is given up, and a new one made, only for half as many bytes as it has.
//
// A place in a spare room may be in an older context, too. So it is known of each connection whether its item is in
// one, and a part is written only if the room is still its connection's. Nobody has ever seen the CAS unique of an item
// that was not completed.
//
// What execute makes of an item's whole value for a few bytes that came is a copy. Of those that ask here, there may be
// an eighth of the log a minute; when half of that is used the connections that copy are made to wait, see scheduler_queue,
// and who cannot be, a datagram's sender, gets none.
`include "lib_assert.svh"

module log_rooms
  import request_pkg::*;
  import wirekv_pkg::*;
  import store_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// One-clock pulse each millisecond.
  input  logic        tick_i,
  /// Size of the log in lines, and what of it is valid.
  input  logic [25:0] log_lines_i,
  input  log_range_t  range_i,
  /// Something asks for its place, as long as it stands: an item or a part, of a request or of execute, of so many lines.
  input  logic        ask_i,
  input  put_t        put_i,
  input  logic        own_i,
  input  logic [26:0] lines_i,
  /// The answer stands. It gets none; an item gets it in a spare room, here, else at the head; its lines are lent.
  output logic        known_o,
  output logic        refuse_o,
  output logic        room_o,
  output low_lap_t    lap_o,
  output line_no_t    line_o,
  output logic        lent_o,
  /// Before that: a spare room is made for it, so it takes so many lines.
  output logic        grow_o,
  output logic [26:0] grow_lines_o,
  /// It is over; it has got its place, which is this one.
  input  logic        over_i,
  input  logic        got_i,
  input  low_lap_t    lap_i,
  input  line_no_t    line_i,
  /// Behind the item that has got its place a spare room has so many lines left, here, until they are marked.
  output logic        rest_o,
  input  logic        rest_go_i,
  output low_lap_t    rest_lap_o,
  output line_no_t    rest_line_o,
  output logic [26:0] rest_lines_o,
  /// A line that was lent was written.
  input  logic        back_i,
  /// Much has been copied: who copies is to wait.
  output logic        late_o,
  /// Ticks are needed.
  output logic        timer_o
);

  localparam int unsigned Rooms = 4;
  localparam int unsigned RoomW = $clog2(Rooms);
  /// A power of two.
  localparam int unsigned IdleMs = 64;
  /// Lines of the largest item, however small the log.
  localparam int unsigned LargestItem = 16640;

  typedef logic [26:0] lines_t;
  typedef logic [15:0] size_t;
  typedef logic [RoomW-1:0] room_no_t;
  typedef logic [9:0] age_t;  // milliseconds; 1023: so many or more

  typedef enum logic [3:0] {
    RmIdle,
    RmRead,   // what is left, and whether it is in a spare room
    RmJudge,
    RmLook,   // at one spare room after the other
    RmChoose,
    RmGrow,
    RmGrown,  // where it fits is known again
    RmKnown,
    RmKeep,   // what has become of the room
    RmRest    // what is left of it behind the item
  } state_e;

  typedef enum logic [1:0] {
    KnRefused,
    KnHead,
    KnRoom,   // in a spare room, or a part of what is in one
    KnGrown   // in a spare room that is made
  } kind_e;

  typedef struct packed {
    logic        there;
    logic        owned;  // by this connection, whose item has so many lines
    conn_t       conn;
    size_t       item;
    logic [10:0] kib;    // of its value have come
    low_lap_t    lap;
    line_no_t    line;
    size_t       size;
  } spare_t;

  state_e state_q, state_d;
  kind_e kind_q;
  logic start_q, own_q, ends_q, udp_q, got_q, gone_q, looks, at_head;
  conn_t conn_q;
  lines_t need_q;
  logic [10:0] kib_q;

  // ---------------------------------------------------------------- budgets
  logic ages_q;  // some room's time runs
  lines_t budget_q, drip_q, owed_q, spare_q, lent_q, copied_q, may_copy_q, copy_q, drip, back;
  logic lends_q, copies_q;  // there is enough left
  assign drip    = tick_i ? drip_q : '0;
  assign back    = drip + lines_t'(back_i);
  assign timer_o = owed_q != '0 || copied_q != '0 || ages_q;
  always_ff @(posedge clk_i) begin
    budget_q <= (lines_t'(log_lines_i[25:3]) < lines_t'(LargestItem)) ? lines_t'(LargestItem)
                                                                     : lines_t'(log_lines_i[25:3]);
    drip_q     <= (budget_q >> 16) + 27'd1;
    spare_q    <= budget_q - owed_q - lent_q;
    may_copy_q <= budget_q - copied_q - copy_q;
    lends_q    <= need_q <= spare_q;
    copies_q   <= need_q <= may_copy_q && !(udp_q && late_o);
    late_o     <= copied_q > budget_q >> 1;
    if (!rst_ni) begin
      lent_q   <= '0;
      copy_q   <= '0;
      owed_q   <= '0;
      copied_q <= '0;
    end else begin
      lent_q   <= (got_i && start_q && lent_o) ? need_q : '0;
      copy_q   <= (got_i && own_q) ? need_q : '0;
      owed_q   <= (owed_q > back) ? lent_q + owed_q - back : lent_q;
      copied_q <= (copied_q > drip) ? copy_q + copied_q - drip : copy_q;
    end
  end

  // ---------------------------------------------------------------- whose item is in a spare room
  // A bit for each connection, the request port's too. Written before any part of its item comes.
  logic in_spare;
  lib_ram #(
    .Width(1),
    .Depth(2 ** $bits(conn_t))
  ) u_in_spare (
    .clk_i,
    .we_i   (got_q && start_q && !own_q),
    .waddr_i(conn_q),
    .wbe_i  (1'b1),
    .wdata_i(kind_q != KnHead),
    .re_i   (state_q == RmRead),
    .raddr_i(conn_q),
    .rdata_o(in_spare)
  );

  // ---------------------------------------------------------------- spare rooms
  // As many lines as two of the largest item, or a sixteenth of a small log.
  size_t most_q;
  always_ff @(posedge clk_i)
    most_q <= (log_lines_i[25:4] > 22'(2 * LargestItem)) ? 16'(2 * LargestItem) : log_lines_i[19:4];
  assign grow_lines_o = lines_t'(most_q);

  spare_t [Rooms-1:0] rooms_q;
  age_t [Rooms-1:0] age_q;  // since the last KiB
  age_t [Rooms-1:0] since_q;  // since the item was begun

  // They are looked at one after the other: read, compared, judged. What the log has given up is none any more.
  logic [2:0] look_q;
  // verilator lint_off UNUSEDSIGNAL
  spare_t seen_q;  // not what its item takes
  // verilator lint_on UNUSEDSIGNAL
  spare_t room, room_d;
  age_t seen_age_q, age_q2, age, best_age_q;
  logic seen_old_q, old_q;
  room_no_t seen_no_q, no_q, room_no_q;
  logic seen_look_q, look_done_q, seen_valid_q, valid_q;
  off_sight_t sight_q;
  logic there_q, large_q, mine_q, busy_q, by_tail_q, idle, stands, good, best_q, none_q;
  line_no_t ahead_q;  // of the tail

  assign looks  = state_q inside {RmIdle, RmLook};
  assign stands = there_q && off_stands(sight_q);
  // Nor what it gives up soon.
  assign good   = stands && !(by_tail_q && ahead_q < line_no_t'(log_lines_i[25:2]));
  assign age    = busy_q ? age_q2 : '1;
  assign idle   = old_q || age >= age_t'(IdleMs);

  always_ff @(posedge clk_i) begin
    look_q       <= (state_q == RmJudge) ? '0 : look_q + 3'd1;
    seen_valid_q <= rst_ni && looks;
    valid_q      <= rst_ni && seen_valid_q;
    seen_look_q  <= state_q == RmLook && look_q < 3'(Rooms);
    look_done_q  <= seen_look_q;
    seen_no_q    <= look_q[RoomW-1:0];
    no_q         <= seen_no_q;
    seen_q       <= rooms_q[look_q[RoomW-1:0]];
    seen_age_q   <= age_q[look_q[RoomW-1:0]];
    age_q2       <= seen_age_q;
    seen_old_q   <= since_q[look_q[RoomW-1:0]] == '1;
    old_q        <= seen_old_q;
    there_q      <= seen_q.there;
    sight_q      <= off_sight('{lap: seen_q.lap[7:0], pos: {seen_q.line, 2'b00}}, range_i);
    by_tail_q    <= (seen_q.lap[7:0] == range_i.lap[7:0]) == range_i.tail_lap;
    ahead_q      <= seen_q.line - range_i.tail[27:2];
    large_q      <= lines_t'(seen_q.size) >= need_q;
    mine_q       <= seen_q.owned && seen_q.conn == conn_q;
    busy_q       <= seen_q.owned;

    if (state_q == RmJudge) begin
      best_q     <= 1'b0;
      best_age_q <= '0;
      none_q     <= 1'b0;
    end else if (look_done_q) begin
      if (start_q ? good && large_q && idle && (!best_q || age > best_age_q) : stands && mine_q)
      begin
        best_q     <= 1'b1;
        best_age_q <= age;
        room_no_q  <= no_q;
      end
      if (!there_q || (!good && idle)) begin
        none_q <= 1'b1;
        if (!best_q) room_no_q <= no_q;
      end
    end
  end

  // ---------------------------------------------------------------- the answer
  assign at_head = own_q ? copies_q : start_q ? lends_q : !in_spare;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      RmIdle:   if (ask_i) state_d = RmRead;
      RmRead:   state_d = RmJudge;
      RmJudge:  state_d = (own_q || at_head) ? RmKnown : RmLook;
      RmLook:   if (look_q == 3'(Rooms + 2)) state_d = RmChoose;
      RmChoose: state_d = RmGrow;
      RmGrow:   state_d = grow_o ? RmGrown : RmKnown;
      RmGrown:  state_d = RmKnown;
      RmKnown:  if (over_i) state_d = (kind_q inside {KnRoom, KnGrown}) ? RmKeep : RmIdle;
      RmKeep:   state_d = (got_q && start_q) ? RmRest : RmIdle;
      RmRest:   if (!rest_o || rest_go_i) state_d = RmIdle;
      default:  state_d = RmIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= RmIdle;
    else state_q <= state_d;
    if (state_q == RmIdle) begin
      start_q <= put_i.start;
      own_q   <= own_i;
      ends_q  <= put_i.ends;
      udp_q   <= put_i.udp;
      kib_q   <= put_i.done[20:10];
      conn_q  <= put_i.conn;
      need_q  <= lines_i;
    end
    if (state_q == RmJudge) kind_q <= at_head ? KnHead : KnRefused;
    if (state_q == RmChoose) begin
      if (best_q) kind_q <= KnRoom;
      else if (start_q && none_q && need_q <= lines_t'(most_q)) kind_q <= KnGrown;
    end
  end

  assign known_o  = state_q == RmKnown;
  // It may be given up while it is waited for the place to be taken.
  assign refuse_o = kind_q == KnRefused || (room_o && gone_q);
  assign room_o   = start_q && kind_q == KnRoom;
  assign lent_o   = !own_q && kind_q == KnHead;
  assign grow_o   = state_q == RmGrow && kind_q == KnGrown;
  assign lap_o    = room.lap;
  assign line_o   = room.line;

  // ---------------------------------------------------------------- what becomes of the room
  low_lap_t new_lap_q;
  line_no_t new_line_q, rest_line, rest_line_q;
  size_t rest, rest_q;
  low_lap_t rest_lap_q;
  assign room         = rooms_q[room_no_q];
  assign rest_o       = state_q == RmRest && rest_q != '0;
  assign rest_lap_o   = rest_lap_q;
  assign rest_line_o  = rest_line_q;
  assign rest_lines_o = lines_t'(rest_q);
  always_comb begin
    room_d = room;
    if (kind_q == KnGrown)
      room_d = '{there: 1'b1, lap: new_lap_q, line: new_line_q, size: most_q, default: '0};
    if (start_q) {room_d.owned, room_d.conn, room_d.item} = {1'b1, conn_q, need_q[15:0]};
    room_d.kib = start_q ? '0 : kib_q;
    rest_line = room_d.line + line_no_t'(room_d.item);
    rest      = room_d.size - room_d.item;
    // The next one begins behind it, if any fits there.
    if (ends_q) begin
      room_d.owned = 1'b0;
      room_d.line  = rest_line;
      room_d.size  = rest;
      room_d.there = room_d.size >= most_q >> 1;
    end
  end
  always_ff @(posedge clk_i) begin
    got_q <= got_i;
    if (state_q == RmKeep) {rest_lap_q, rest_line_q, rest_q} <= {room_d.lap, rest_line, rest};
    gone_q <= !off_valid('{lap: room.lap[7:0], pos: {room.line, 2'b00}}, range_i);
    if (state_q == RmKnown) {new_lap_q, new_line_q} <= {lap_i, line_i};
    ages_q <= 1'b0;
    for (int unsigned r = 0; r < Rooms; r++) begin
      if (rooms_q[r].there && rooms_q[r].owned && since_q[r] != '1) ages_q <= 1'b1;
      if (tick_i && age_q[r] != '1) age_q[r] <= age_q[r] + 1'b1;
      if (tick_i && since_q[r] != '1) since_q[r] <= since_q[r] + 1'b1;
      if (valid_q && no_q == room_no_t'(r) && !stands) rooms_q[r].there <= 1'b0;
      // Of what its connection has begun before nothing more comes.
      if (state_q == RmJudge && start_q && !own_q && rooms_q[r].conn == conn_q)
        rooms_q[r].owned <= 1'b0;
      if (state_q == RmKeep && got_q && !own_q && kind_q inside {KnRoom, KnGrown} &&
          room_no_q == room_no_t'(r)) begin
        rooms_q[r] <= room_d;
        if (start_q) since_q[r] <= '0;
        if (start_q || room_d.kib != room.kib) age_q[r] <= '0;
      end
      if (!rst_ni) rooms_q[r].there <= 1'b0;
    end
  end

  `ASSERT(Got, !got_i || (over_i && known_o && !refuse_o))
  `ASSERT(Owned, !(state_q == RmKeep && got_q && !start_q) || (room.owned && room.conn == conn_q))

endmodule
