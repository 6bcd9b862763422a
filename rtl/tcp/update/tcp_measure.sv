// What follows from an event: the verdict on its segment, the windows, bytes in flight, bytes to
// send; and who gets an answer, if not too many were given. The measure stage of tcp_tcb.
// Combinational.

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_measure
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  /// Ticks since reset; what may be sent to strangers, see tcp_tcb.
  input  logic [31:0] now_i,
  input  logic        challenge_ok_i,
  input  logic        stray_ok_i,
  /// There is an event.
  input  logic        valid_i,
  input  work_t       work_i,
  input  act_t        act_i,
  /// The peer takes SACK options; it has told that it has something behind a hole.
  input  logic        sack_ok_i,
  input  logic        sacked_i,
  /// What becomes of the word (`rtt` stays).
  output tcb_t        tcb_o,
  output measure_t    measure_o,
  /// News for the scheduler, or payload to take off.
  output logic        verdict_valid_o,
  output verdict_t    verdict_o,
  /// Of these each one sent is told.
  output logic        challenge_o,
  output logic        stray_o,
  /// Events so far, and these.
  input  logic [TcpCounts-1:0] count_i,
  output logic [TcpCounts-1:0] count_o
);

  event_t ev;
  seg_t seg;
  tcb_t tcb;
  diff_t diff;
  class_t class_;
  stamps_t stamps;
  logic has_payload, challenge, stray;
  logic [31:0] rx_ptr;
  assign ev     = work_i.ev;
  assign seg    = ev.found.seg;
  assign tcb    = work_i.tcb;
  assign diff   = work_i.diff;
  assign class_ = work_i.class_;
  assign stamps = work_i.silence.stamps;
  assign has_payload = ev.kind == KdSeg && class_.has_data;
  assign rx_ptr = tcb.rcv_nxt + 32'(act_i.jump);

  // Held back: a connection's challenge ACKs if one was just sent (two peers that challenge each
  // other's would never end), everybody's if there are very many, and so are RSTs to strangers
  // (RFC 5961, section 7). Neither is worth a wait for room.
  assign challenge   = act_i.challenge && !diff.told && challenge_ok_i && !ev.quiet;
  assign stray       = act_i.stray && stray_ok_i && !ev.quiet;
  assign challenge_o = valid_i && challenge;
  assign stray_o     = valid_i && stray;
  always_comb begin
    count_o = count_i;
    count_o[TcpCountChallenges]     = challenge_o;
    count_o[TcpCountChallengesHeld] = valid_i && act_i.challenge && !challenge;
    count_o[TcpCountStrays]         = stray_o;
    count_o[TcpCountStraysHeld]     = valid_i && act_i.stray && !stray;
  end

  always_comb begin
    verdict_o = '{
        conn: ev.found.conn,
        len: has_payload ? seg.len : '0,
        skip: 16'(seg.opt_len) + (class_.seq_before ? 16'(-diff.seq[15:0]) : '0),
        take: act_i.to_ring ? act_i.take[15:0] : '0,
        redis: seg.peer.redis,
        open: act_i.open,
        acked: act_i.acked,
        data: act_i.data,
        fin: act_i.fin || act_i.idle,
        closed: act_i.closed,
        rx_from: act_i.keep_ooo ? seg.seq : tcb.rcv_nxt,
        rx_ptr: rx_ptr,
        tx_ptr: tcb.snd_una - 32'(tcb.fin_acked)
    };
  end
  assign verdict_valid_o = valid_i &&
      (has_payload || act_i.open || act_i.acked || act_i.data || act_i.fin || act_i.idle ||
       act_i.closed);

  always_comb begin
    tcb_o = tcb;
    tcb_o.rcv_nxt = rx_ptr + 32'(act_i.fin);
    // After close nobody reads: the ring stays empty.
    if (tcb.close && (act_i.fin || !tcb.fin_rcvd)) tcb_o.credit = rx_ptr;
    tcb_o.pend = plus(tcb.pend, act_i.jump);
    tcb_o.adv  = minus(tcb.adv, act_i.jump);
    if (challenge) begin
      tcb_o.told_on = 1'b1;
      tcb_o.told_at = now_i[17:6];
    end
  end

  always_comb begin
    measure_o.quiet     = ev.quiet;
    measure_o.send      = act_i.send && tcb.state == StOpen;
    measure_o.from_una  = (act_i.rexmit || act_i.probe) && tcb.state == StOpen;
    measure_o.probe     = act_i.probe;
    measure_o.tail      = act_i.tail && tcb.state == StOpen;
    // RFC 8985, section 7.2.
    measure_o.tail_ok   = sack_ok_i && !sacked_i && !tcb.cong.in_rec && tcb.tries == '0 &&
        !tcb.tail[1] && !act_i.tail && tcb.rtt.valid && tcb.snd_nxt == tcb.snd_max &&
        tcb.snd_wnd != '0;
    measure_o.force_ack = act_i.ack || challenge;
    measure_o.blind     = act_i.synack || stray || act_i.refuse;
    measure_o.synack    = act_i.synack;
    measure_o.rst       = act_i.rst;
    measure_o.stray     = stray;
    measure_o.refuse    = act_i.refuse;
    measure_o.keep      = act_i.keep;
    measure_o.restart   = act_i.restart;
    measure_o.free_id   = act_i.free_id;
    // The path takes less than what no segment falls below.
    measure_o.narrow    = tcb.mss == 14'(HoleMssLeast) - times_len(stamps.on) &&
        tcb.mss != work_i.silence.mss;
    measure_o.times     = '{
        valid: stamps.on,
        value: now_i + stamps.offset,
        echo: stamps.recent
    };
    if (measure_o.blind) begin
      measure_o.times.valid = act_i.synack ? seg.times_ok : act_i.refuse && ev.found.times.valid;
      measure_o.times.echo  = act_i.synack ? seg.ack : ev.found.times.value;
    end
    measure_o.flight    = 17'(tcb.snd_nxt - tcb.snd_una);
    measure_o.sent      = 17'(tcb.snd_max - tcb.snd_una);
    measure_o.unsent    = tcb.tx_end - tcb.snd_nxt;
    measure_o.unacked   = tcb.tx_end - tcb.snd_una;
    measure_o.free      = tcb.close ? Ring :
        act_i.credit ? diff.free + diff.seq[16:0] : diff.free - act_i.jump;
    measure_o.mss2      = class_.mss2;
    measure_o.who       = '{
        conn: ev.found.conn,
        own: act_i.own,
        // Nothing about a connection goes to anybody but its peer.
        peer: (act_i.own || act_i.synack || act_i.stray || act_i.refuse) ? seg.peer : work_i.peer,
        // Above all that the peer's last connection sent, if that was in TIME_WAIT, so that nothing
        // of it fits the new one (RFC 9293, section 3.6.1).
        seq: act_i.synack ? ev.found.isn + (act_i.above ? other_half(ev.found.carries) : '0) :
            seg.flags.ack ? seg.ack : '0,
        ack: seg.seq + 32'(seg.len) + 32'(seg.flags.syn) + 32'(seg.flags.fin),
        has_ack: act_i.synack || act_i.refuse || !seg.flags.ack,
        ws_valid: seg.ws_valid,
        sack_ok: seg.sack_ok
    };
  end

endmodule
