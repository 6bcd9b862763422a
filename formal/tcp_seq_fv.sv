// Arithmetic of sequence numbers: what tcp_diff and tcp_class say of 32 bits, and of their 18 low ones, is
// what holds of numbers that never wrap. The prover chooses those, anywhere, as far from each other as they
// can be.
`include "fv.svh"
`include "lib_assert.svh"

module tcp_seq_fv
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input logic        clk_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  // Without wrap: ours from SND.UNA on, the peer's from RCV.NXT on, time.
  input logic [39:0] una_i,
  input logic [39:0] nxt_i,
  input logic [39:0] max_i,
  input logic [39:0] end_i,
  input logic [39:0] ack_i,
  input logic [39:0] recover_i,
  input logic [39:0] timed_i,
  input logic [39:0] rcv_nxt_i,
  input logic [39:0] read_i,
  input logic [39:0] seq_i,
  input logic [39:0] now_i,
  input logic [39:0] deadline_i,
  input logic [39:0] recent_i,
  input logic [39:0] value_i,
  input event_t      ev_i,
  input tcb_t        tcb_i,
  input peer_t       peer_i,
  input silence_t    silence_i,
  input seconds_t    second_i
);
  `FV_RESET

  typedef logic signed [41:0] far_t;
  localparam far_t RingFar = far_t'(RingBytes);
  function automatic far_t of(input logic [39:0] number);
    return far_t'({2'b0, number});
  endfunction
  function automatic far_t less(input logic [39:0] a, input logic [39:0] b);
    return of(a) - of(b);
  endfunction

  // ------------------------------------------------ the comparisons by themselves
  logic [31:0] ahead;
  assign ahead = b_i - a_i;
  `ASSERT(is_before, seq_lt(a_i, b_i) == (ahead >= 32'd1 && ahead <= 32'h8000_0000))
  `ASSERT(is_one_way, !(seq_lt(a_i, b_i) && seq_lt(b_i, a_i)) || ahead == 32'h8000_0000)
  `ASSERT(is_other, a_i == b_i || seq_lt(a_i, b_i) || seq_lt(b_i, a_i))
  // 18 bits say the same of two that are less than 2^17 apart.
  logic near;
  assign near = ahead < 32'h2_0000 || -ahead < 32'h2_0000;
  `ASSERT(is_near_same, !near || near_lt(near_t'(a_i), near_t'(b_i)) == seq_lt(a_i, b_i))

  // ------------------------------------------------ an event and its connection
  event_t ev;
  tcb_t tcb;
  silence_t silence;
  always_comb begin
    ev                 = ev_i;
    ev.kind            = KdSeg;
    ev.found.fresh     = 1'b0;
    ev.found.seg.seq   = seq_i[31:0];
    ev.found.seg.ack   = ack_i[31:0];
    ev.found.times.value = value_i[31:0];
    silence              = silence_i;
    silence.stamps.recent = recent_i[31:0];
    tcb                = tcb_i;
    tcb.snd_una        = una_i[31:0];
    tcb.snd_nxt        = nxt_i[31:0];
    tcb.snd_max        = max_i[31:0];
    tcb.tx_end         = end_i[31:0];
    tcb.cong.recover   = recover_i[17:0];
    tcb.rtt.seq        = timed_i[17:0];
    tcb.rcv_nxt        = rcv_nxt_i[31:0];
    tcb.credit         = read_i[31:0];
    tcb.deadline       = deadline_i[19:0];
  end
  // SND.UNA - 1 <= recover <= SND.MAX, what is timed is under way; a ring, and a FIN each way.
  far_t nxt, max, last, recover, timed, unread, seq, ack, late, newer, fin_rcvd;
  assign nxt      = less(nxt_i, una_i);
  assign max      = less(max_i, una_i);
  assign last     = less(end_i, una_i);
  assign recover  = less(recover_i, una_i);
  assign timed    = less(timed_i, una_i);
  assign ack      = less(ack_i, una_i);
  assign unread   = less(rcv_nxt_i, read_i);
  assign seq      = less(seq_i, rcv_nxt_i);
  assign late     = less(now_i, deadline_i);
  assign newer    = less(value_i, recent_i);
  assign fin_rcvd = far_t'(tcb_i.fin_rcvd);
  `FV_ASSUME(Ours, nxt >= 0 && max >= nxt && max <= last + 1 && last <= RingFar)
  `FV_ASSUME(Recover, recover >= -1 && recover <= max)
  `FV_ASSUME(Timed, timed > 0 && timed <= max)
  `FV_ASSUME(Theirs, unread >= fin_rcvd && unread <= RingFar + fin_rcvd)
  `FV_ASSUME(Windows, tcb_i.snd_wnd <= Ring && tcb_i.max_wnd <= Ring && tcb_i.ws <= 4'd14)
  // A segment's numbers are read as the nearest ones to ours.
  localparam far_t Half = 42'sh8000_0000;
  `FV_ASSUME(Segment, seq >= -Half && seq < Half && ack >= -Half && ack < Half)
  `FV_ASSUME(Stamps, newer >= -Half && newer < Half)
  `FV_ASSUME(Visited, late >= -42'sh8_0000 && late < 42'sh8_0000)

  work_t work;
  class_t found;
  logic unused_fresh;
  tcp_diff u_diff (
    .now_i       (now_i[31:0]),
    .second_i,
    .keep_alive_i('0),
    .idle_i      ('0),
    .ev_i        (ev),
    .tcb_i       (tcb),
    .peer_i,
    .silence_i   (silence),
    .fresh_o     (unused_fresh),
    .work_o      (work)
  );
  tcp_class u_class (
    .work_i (work),
    .class_o(found)
  );

  // ------------------------------------------------ distances
  far_t sent, free, stop, len;
  assign sent = max;
  assign free = RingFar - unread + fin_rcvd;
  assign len  = far_t'({26'd0, ev_i.found.seg.len});
  assign stop = seq + len;
  `ASSERT(is_sent, far_t'({25'd0, work.diff.sent}) == sent)
  `ASSERT(is_free, far_t'({25'd0, work.diff.free}) == free)
  `ASSERT(is_seq, far_t'($signed(work.diff.seq)) == seq)
  `ASSERT(is_ack, far_t'($signed(work.diff.ack)) == ack)
  `ASSERT(is_expired, work.diff.expired == (tcb_i.tm_on && late >= 0))
  logic [29:0] wnd;
  assign wnd = 30'(ev_i.found.seg.wnd) << tcb_i.ws;
  `ASSERT(is_wnd, work.diff.wnd == ((wnd > 30'(RingBytes)) ? Ring : wnd[16:0]))

  // ------------------------------------------------ where the segment lies
  `ASSERT(is_seq_eq, found.seq_eq == (seq == 0))
  `ASSERT(is_seq_before, found.seq_before == (seq < 0))
  `ASSERT(is_seq_inside, found.seq_inside == (seq >= 0 && seq <= free))
  `ASSERT(is_seq_recent, found.seq_recent == (seq < 0 && seq >= -RingFar))
  `ASSERT(is_ooo, found.ooo == (seq > 0 && seq < free && len != 0))
  `ASSERT(is_end_, seq > 42'sh7fff_0000 || far_t'($signed(found.end_)) == stop)
  // ---- and its ACK
  logic is_new;
  assign is_new = ack > 0 && ack <= sent;
  `ASSERT(is_ack_new, found.ack_new == is_new)
  `ASSERT(is_ack_same, found.ack_same == (ack == 0))
  `ASSERT(is_ack_bad, found.ack_bad == (ack > sent || ack < -far_t'({25'd0, tcb_i.max_wnd})))
  `ASSERT(is_ack_fin, found.ack_fin == (ack == last + 1))
  `ASSERT(is_nxt_behind, !is_new || work.diff.nxt_behind == (ack > nxt))
  `ASSERT(is_rtt_past, !is_new || work.diff.rtt_past == (ack >= timed))
  logic stale;  // PAWS
  assign stale = silence_i.stamps.on && ev_i.found.times.valid && newer < 0 &&
      second_i - silence_i.heard < LongAgo;
  `ASSERT(is_stale, work.diff.stale == stale)
  `ASSERT(is_rec_past, !is_new || work.diff.rec_past == (ack >= recover))
  `ASSERT(is_rec_beyond, !is_new || work.diff.rec_beyond == (ack > recover))
  `ASSERT(is_una_past_rec, work.diff.una_past_rec == (recover < 0))
  `ASSERT(is_una_before_rec, work.diff.una_before_rec == (recover > 0))
  `ASSERT(is_quoted, found.quoted == (ack >= 0 && ack < sent))

  // ------------------------------------------------ reached
  `FV_COVER(Wraps, is_new && ack_i[31:0] < una_i[31:0])
  `FV_COVER(WrapsNear, is_new && work.diff.rec_past && ack_i[17:0] < recover_i[17:0])
  `FV_COVER(Bad, found.ack_bad)
  `FV_COVER(Fin, found.ack_fin && found.ack_new)
  `FV_COVER(Edge, found.seq_inside && seq == RingFar)
endmodule
