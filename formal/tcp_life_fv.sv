// The life of a connection's id, from the lookup that gives it to the table that gives it back: it is free,
// open or dying, each exactly once (half-open it is never: nothing is kept of a handshake, see tcp_cookie).
// It is given back once, not before the session was told that the connection is over and has said that
// nothing of it is left; and once both is so and its time is over, at once: none is lost. That is what
// formal/tcp_lookup_fv assumes of who gives ids back (Deletes).
`include "fv.svh"
`include "lib_assert.svh"

module tcp_life_fv
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input logic        clk_i,
  input logic        go_i,
  input event_t      ev_i,
  input tcb_t        tcb_i,      // all of the word that says nothing of its life: anything
  input peer_t       peer_i,
  input silence_t    silence_i,
  input logic [31:0] now_i,
  input logic [15:0] time_wait_i,
  input seconds_t    second_i,
  input seconds_t    keep_alive_i,
  input seconds_t    idle_i,
  input logic        pressed_i,
  input logic        rare_i,
  input logic [16:0] jump_i,
  input logic [3:0]  ooo_i,
  input sack_t       sack_i
);
  `FV_RESET

  // What the word says of its life; as tcp_table clears it.
  state_e state_q;
  logic released_q, over_q, tell_q;
  tcb_t tcb;
  always_comb begin
    tcb             = tcb_i;
    tcb.state       = state_q;
    tcb.released    = released_q;
    tcb.over        = over_q;
    tcb.tell_closed = tell_q;
  end

  work_t diff, work;
  class_t found;
  logic fresh;
  tcp_diff u_diff (
    .now_i,
    .second_i,
    .keep_alive_i,
    .idle_i,
    .ev_i     (ev_i),
    .tcb_i    (tcb),
    .peer_i,
    .silence_i,
    .fresh_o  (fresh),
    .work_o   (diff)
  );
  tcp_class u_class (
    .work_i (diff),
    .class_o(found)
  );
  always_comb begin
    work        = diff;
    work.class_ = found;
  end

  tcb_t next;
  silence_t unused_silence;
  act_t act;
  signs_t unused_signs;
  logic [TcpCounts-1:0] unused_count;
  tcp_update u_update (
    .now_i      (now_i[19:0]),
    .time_wait_i,
    .pressed_i,
    .rare_i,
    .work_i     (work),
    .ooo_jump_i (jump_i),
    .ooo_some_i (ooo_i[0]),
    .ooo_past_i (ooo_i[1]),
    .ooo_place_i(ooo_i[2]),
    .sack_i,
    .tcb_o      (next),
    .silence_o  (unused_silence),
    .act_o      (act),
    .signs_o    (unused_signs),
    .count_o    (unused_count)
  );

  // ------------------------------------------------ lookup and session
  // The lookup gave the id, and has not got it back; the session was told of its beginning and end, and has
  // given the last answer.
  logic live_q, told_open_q, told_closed_q, answered_q;
  logic go, is_seg, release_id;
  assign is_seg     = ev_i.kind == KdSeg || ev_i.kind == KdTooBig;
  assign release_id = ev_i.kind == KdApp && ev_i.release_id;
  // A segment of no connection has no word: tcp_tcb keeps nothing of it.
  assign go = rst_ni && go_i && !(is_seg && !ev_i.found.hit);
  // A new connection gets an id that is free, by an ACK.
  tcp_flags_t flags;
  logic ack_alone, nobodys;
  assign flags     = ev_i.found.seg.flags;
  assign ack_alone = flags.ack && !flags.syn && !flags.rst;
  assign nobodys   = ev_i.found.early || ev_i.found.refused;
  `FV_ASSUME(Fresh, !(go && fresh) || (!live_q && ack_alone))
  `FV_ASSUME(Found, !(go && is_seg && ev_i.found.hit) || !nobodys)
  `FV_ASSUME(Kinds, ev_i.kind <= KdWait && (!ev_i.found.fresh || ev_i.kind == KdSeg))
  // The session commands what is open, and answers the end once. Memory may refuse something of anybody at any time.
  logic refused;
  assign refused = ev_i.reset && !ev_i.close && !release_id;
  `FV_ASSUME(Commands, !(go && ev_i.kind == KdApp) || refused || (told_open_q && !answered_q))
  `FV_ASSUME(Answers, !(go && release_id) || told_closed_q)

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q       <= StFree;
      released_q    <= 1'b0;
      over_q        <= 1'b0;
      tell_q        <= 1'b0;
      live_q        <= 1'b0;
      told_open_q   <= 1'b0;
      told_closed_q <= 1'b0;
      answered_q    <= 1'b0;
    end else if (go) begin
      state_q    <= next.state;
      released_q <= next.released;
      over_q     <= next.over;
      tell_q     <= next.tell_closed;
      if (fresh) begin
        live_q        <= 1'b1;
        told_open_q   <= 1'b0;
        told_closed_q <= 1'b0;
        answered_q    <= 1'b0;
      end
      if (act.open) told_open_q <= 1'b1;
      if (act.closed) told_closed_q <= 1'b1;
      if (release_id) answered_q <= 1'b1;
      if (act.free_id) live_q <= 1'b0;
    end
  end

  // ------------------------------------------------ each id is in one place
  logic is_open, dying;
  assign is_open = state_q == StOpen;
  assign dying   = state_q == StTimeWait || state_q == StDead;
  `ASSERT(Live, live_q == (is_open || dying))
  `ASSERT(FreeOnce, !(go && act.free_id) || (live_q && next.state == StFree))
  `ASSERT(FreeAnswered, !(go && act.free_id) || answered_q || release_id)
  `ASSERT(FreeOver, !(go && act.free_id && state_q == StTimeWait) || next.over || is_seg)
  `ASSERT(OpenOnce, !(go && act.open) || (fresh && !live_q))
  `ASSERT(OpenAlways, !(go && fresh) || act.open)
  `ASSERT(ClosedOnce, !(go && act.closed) || (live_q && told_open_q && !told_closed_q))
  `ASSERT(NotReopened, !(go && !fresh && !is_open) || next.state != StOpen)
  // ------------------------------------------------ and gets on
  `ASSERT(ToldOpen, !live_q || told_open_q)
  `ASSERT(ToldClosed, !live_q || (is_open ? !told_closed_q && !tell_q : told_closed_q != tell_q))
  `ASSERT(FreeTold, live_q || !tell_q)
  `ASSERT(Answered, !live_q || answered_q == released_q)
  `ASSERT(AnsweredLast, !live_q || !answered_q || told_closed_q)
  `ASSERT(DeadWaits, !(live_q && state_q == StDead) || !released_q)
  `ASSERT(OverWaits, !(live_q && state_q == StTimeWait && over_q) || !released_q)
  // A visit ends TIME_WAIT when its time is over.
  logic time_over;
  assign time_over = go && ev_i.kind == KdWait && (diff.diff.expired || ev_i.hurry);
  `ASSERT(TimeEnds, !(time_over && state_q == StTimeWait) || next.over)

  // ------------------------------------------------ reached
  `FV_SEEN(freed, go && act.free_id)
  `FV_COVER(Opens, go && act.open)
  `FV_COVER(OpensAgain, go && act.open && freed)
  `FV_COVER(FreedByTime, go && act.free_id && ev_i.kind == KdWait)
  `FV_COVER(FreedByAnswer, go && act.free_id && release_id && state_q == StDead)
  `FV_COVER(FreedBySyn, go && act.free_id && is_seg)
endmodule
