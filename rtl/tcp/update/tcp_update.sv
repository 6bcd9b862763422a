// The state machine of a connection (RFC 9293, section 3.10.7): what an event does to it, and what
// it makes the card do. Congestion control and RTO get signs of it, and write their parts of the
// word themselves. The update stage of tcp_tcb. Combinational.

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_update
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  /// Ticks since reset, and of TIME_WAIT; places are short, see tcp_tcb.
  input  logic [19:0] now_i,
  input  logic [15:0] time_wait_i,
  input  logic        pressed_i,
  /// Slow visits are rare.
  input  logic        rare_i,
  input  work_t       work_i,
  /// What is kept out of order: see tcp_ooo.
  input  logic [16:0] ooo_jump_i,
  input  logic        ooo_some_i,
  input  logic        ooo_past_i,
  input  logic        ooo_place_i,
  /// What the peer tells by SACK options: see tcp_score.
  input  sack_t       sack_i,
  /// What becomes of the connection's words (`cong` and `rtt` stay).
  output tcb_t        tcb_o,
  output silence_t    silence_o,
  output act_t        act_o,
  output signs_t      signs_o,
  output logic [TcpCounts-1:0] count_o
);

  event_t ev;
  found_t found;
  seg_t seg;
  tcb_t tcb;
  silence_t silence;
  diff_t diff;
  class_t class_;
  assign ev      = work_i.ev;
  assign found   = ev.found;
  assign seg     = found.seg;
  assign tcb     = work_i.tcb;
  assign silence = work_i.silence;
  assign diff    = work_i.diff;
  assign class_  = work_i.class_;

  logic known, ended, replace, in_order, whole, fresh_data, ooo_data, over;
  logic heard, seq_ok, is_open, is_wait, is_shut, good, again, said_all, unread;

  always_comb begin
    tcb_o     = tcb;
    silence_o = silence;
    act_o     = '0;
    signs_o   = '0;
    over      = 1'b0;
    count_o   = '0;

    is_open = tcb.state == StOpen;
    is_wait = tcb.state == StTimeWait;
    is_shut = tcb.snd_wnd == '0;
    // Where the peer closed first, or reset, it is as if there were no connection; but what began
    // it and comes late must not begin it again.
    ended   = found.hit && is_wait && !tcb.fin_first;
    known   = found.hit && (is_open || (is_wait && tcb.fin_first));
    // RFC 9293 lets a newer SYN reuse a connection in TIME_WAIT; a stranger's does not.
    replace = is_wait && diff.same_link && !class_.seq_before;

    // seq <= rcv_nxt <= seq + len
    in_order   = (class_.seq_before || class_.seq_eq) && !class_.end_[31];
    seq_ok     = in_order || class_.seq_inside;
    whole      = class_.end_ <= 32'(diff.free);
    // We have closed, and all that was said has arrived (a RST might overtake it).
    said_all   = tcb.close && !diff.ack_end[31];
    fresh_data = in_order && class_.end_ != '0 && !tcb.fin_rcvd && !said_all;
    ooo_data   = class_.ooo && !tcb.fin_rcvd && !tcb.close;

    heard  = ev.kind == KdSeg && known && is_open;
    good   = heard && !seg.flags.rst && !seg.flags.syn && seg.flags.ack && seq_ok &&
             !class_.ack_bad && !diff.stale;
    unread = good && said_all && !tcb.fin_rcvd && class_.has_data && !class_.end_[31] &&
             class_.end_ != '0;
    // Sent again because our ACK was lost, or to hear one: not taken, but only the peer knows these
    // numbers. A peer that heard no ACK while its router failed over sends nothing else.
    again  = ev.kind == KdSeg && known &&
             !seg.flags.rst && !seg.flags.syn && seg.flags.ack && class_.seq_recent &&
             (class_.ack_same || class_.ack_new) && !diff.stale;

    unique case (ev.kind)
      KdSeg: begin
        count_o[TcpCountSegsIn] = 1'b1;
        if (diff.twin) begin
          count_o[TcpCountTwins] = 1'b1;
        end else if (found.early) begin
          count_o[TcpCountEarly] = 1'b1;
        end else if (found.crowded) begin
          count_o[TcpCountCrowded] = 1'b1;
        end else if (found.refused) begin
          act_o.refuse = 1'b1;
        end else if (class_.syn_only && (!known || replace)) begin
          act_o.synack = 1'b1;
          // What was in TIME_WAIT makes room, so that the peer's ACK opens a new connection.
          if (known || ended) begin
            tcb_o.state   = tcb.released ? StFree : StDead;
            act_o.free_id = tcb.released;
            act_o.above   = diff.isn_below;
          end
        end else if (!known) begin
          // An id that is just being given back: what comes now may be for the next connection,
          // and is sent again.
          act_o.stray = !seg.flags.rst && (!found.hit || ended);
        end else if (is_wait) begin
          act_o.ack       = !seg.flags.rst && !seg.flags.syn && class_.has;
          act_o.challenge = !seg.flags.rst && seg.flags.syn;
        end else begin
          if (seg.flags.rst) begin
            if (class_.seq_eq) begin
              over = 1'b1;
              tcb_o.fin_first = 1'b0;
              tcb_o.owe_ack   = 1'b0;
              count_o[TcpCountResetsIn] = 1'b1;
            end else begin
              act_o.challenge = class_.seq_inside;
            end
          end else if (seg.flags.syn) begin
            act_o.challenge = 1'b1;
          end else if (diff.stale) begin
            // PAWS (RFC 7323, section 5.3). A bare ACK was just overtaken.
            act_o.ack = seg.flags.ack && class_.has;
            count_o[TcpCountPaws] = seg.flags.ack;
          end else if (seg.flags.ack) begin
            // Whoever sent data waits for this ACK, and no ACK answers it: never held back.
            act_o.ack       = !seq_ok && class_.has;
            act_o.challenge = (!seq_ok && !class_.has) || (seq_ok && class_.ack_bad);
          end
        end
        if (good || again) begin
          act_o.own = 1'b1;
          // Who only has to close its half has a minute, whatever it says.
          if (!tcb.fin_acked) begin
            silence_o.heard  = diff.second;
            silence_o.probed = 1'b0;
          end
        end
        count_o[TcpCountMoved] = act_o.own && !found.fresh && !diff.same_link;
      end

      // Anybody can say so: who knows no sequence number in flight changes nothing (RFC 5927). What
      // is in flight goes again at once, and is no sign of congestion.
      KdTooBig: begin
        if (!found.hit || !is_open || !class_.quoted) begin
          count_o[TcpCountPathMtuStrays] = 1'b1;
        end else if (class_.smaller) begin
          signs_o.smaller = 1'b1;
          signs_o.rewind  = 1'b1;
          tcb_o.mss       = class_.path_mss;
          silence_o.low   = diff.second[9:0];
          act_o.send      = 1'b1;
          act_o.restart   = 1'b1;
          count_o[TcpCountPathMtu] = 1'b1;
        end
      end

      KdApp: begin
        if (ev.release_id) begin
          tcb_o.released = 1'b1;
          act_o.free_id  = tcb.state == StDead || (is_wait && tcb.over);
        end else if (is_open) begin
          // Whoever resets it because of its ring's memory does not know where it stands.
          if (!tcb.close && !ev.reset) begin
            act_o.credit = !diff.seq[31];
            if (act_o.credit) tcb_o.credit = seg.seq;
            if (act_o.credit && !class_.seq_eq) silence_o.asked = diff.second;
            if (!diff.ack[31]) tcb_o.tx_end = seg.ack;
            tcb_o.close = ev.close;
          end
          act_o.send = 1'b1;
          if (ev.reset) begin
            act_o.rst         = 1'b1;
            tcb_o.state       = StDead;
            tcb_o.tell_closed = 1'b1;
            count_o[TcpCountResetsOut] = 1'b1;
          end
        end
      end

      KdMore: begin
        tcb_o.in_more = 1'b0;
        if (tcb.tell_closed) begin
          tcb_o.tell_closed = 1'b0;
          act_o.closed      = 1'b1;
        end
        act_o.send   = is_open;
        act_o.ack    = tcb.owe_ack;
        act_o.rexmit = is_open && tcb.owe_again;
        tcb_o.owe_ack   = 1'b0;
        tcb_o.owe_again = 1'b0;
      end

      KdFast: begin
        tcb_o.in_fast = 1'b0;
        act_o.send    = is_open;
        act_o.ack     = is_open && tcb.pend != '0;
        if (is_open && diff.expired && tcb.tail == TailArmed) begin
          act_o.tail    = 1'b1;
          act_o.restart = 1'b1;
          count_o[TcpCountTailProbes] = 1'b1;
        end else if (is_open && diff.expired) begin
          signs_o.expired = 1'b1;
          tcb_o.tries     = tcb.tries + 4'd1;
          act_o.restart   = 1'b1;
          if (tcb.tries == (is_shut ? 4'(ShutTries) : 4'(DataTries))) begin
            tcb_o.state  = StDead;
            act_o.rst    = 1'b1;
            act_o.closed = 1'b1;
            count_o[TcpCountShut]      = is_shut;
            count_o[TcpCountGiveUps]   = !is_shut;
            count_o[TcpCountResetsOut] = 1'b1;
          end else begin
            // Start again at snd_una (RFC 6298); the window may hold more than it did.
            signs_o.rewind = 1'b1;
            if (is_shut) begin
              act_o.probe = 1'b1;
              count_o[TcpCountProbes] = 1'b1;
            end else begin
              signs_o.lost = 1'b1;
              // Perhaps the path swallows what is too big for it, and no router says so.
              if (class_.hole) begin
                tcb_o.mss     = 14'(class_.hole_mss);
                silence_o.low = diff.second[9:0];
              end
              count_o[TcpCountBlackHoles] = class_.hole;
              count_o[TcpCountTimeouts]   = 1'b1;
            end
          end
        end
      end

      KdSlow: begin
        tcb_o.in_slow = 1'b0;
        if (long_ago(diff.heard)) silence_o.heard = diff.second - LongAgo;
        if (long_ago(diff.asked)) silence_o.asked = diff.second - LongAgo;
        if (!diff.told) tcb_o.told_on = 1'b0;
        // Another path may take more (RFC 1191, section 6.3); if not, the MSS falls as before.
        if (diff.rises) tcb_o.mss = silence.mss;
        if (is_open) begin
          if ((diff.silent && silence.probed &&
               diff.keep >= (pressed_i ? 16'(KeepPressed) : 16'(KeepEnd))) ||
              (tcb.fin_acked &&
               diff.heard > (pressed_i ? 16'(Fin2Pressed) : 16'(Fin2End)))) begin
            tcb_o.state  = StDead;
            act_o.rst    = 1'b1;
            act_o.closed = 1'b1;
            count_o[TcpCountGiveUps]   = 1'b1;
            count_o[TcpCountResetsOut] = 1'b1;
          end else begin
            act_o.keep = diff.silent && (!silence.probed || rare_i ||
                                         diff.keep % 16'(KeepEvery) == '0);
            if (act_o.keep && !silence.probed) begin
              silence_o.heard  = silence.heard + diff.keep;
              silence_o.probed = 1'b1;
            end
            count_o[TcpCountKeepAlives] = act_o.keep;
            // As if the peer had closed its half: what it asked for is still answered.
            act_o.idle = diff.bored && !tcb.close;
            if (act_o.idle) silence_o.asked = diff.second;
            count_o[TcpCountIdle] = act_o.idle;
          end
        end
      end

      default: begin  // KdWait
        tcb_o.in_wait = 1'b0;
        // An entry may be left from an earlier life of the id: then the time is not over.
        if (is_wait && (diff.expired || ev.hurry)) begin
          tcb_o.over    = 1'b1;
          act_o.free_id = tcb.released;
          count_o[TcpCountRecycled] = !diff.expired;
        end
      end
    endcase

    if (signs_o.rewind) begin
      tcb_o.tail      = TailNone;
      tcb_o.snd_nxt   = tcb.snd_una;
      tcb_o.owe_again = 1'b0;
    end

    if (good) begin
      act_o.send = 1'b1;
      act_o.open = found.fresh;
      if (found.times.valid && class_.stamps) silence_o.stamps.recent = found.times.value;
      count_o[TcpCountOpened] = found.fresh;
      // ---- the ACK
      signs_o.acked = class_.ack_new;
      // Of a peer that tells what it has it is that which counts, and not the window (RFC 6675).
      signs_o.dup   = class_.ack_same && diff.sent != '0 && !class_.has &&
                      (sack_i.told ? sack_i.news : class_.wnd_same && diff.wnd != '0);
      // Was the probe's segment lost? If it comes twice it was not (RFC 8985, section 7.4.2).
      if (sack_i.past && (tcb.tail == TailNew || (tcb.tail == TailAgain && (sack_i.twice ||
          sack_i.beyond || (class_.ack_same && !class_.has && !sack_i.told))))) begin
        tcb_o.tail   = TailNone;
        signs_o.tail = tcb.tail == TailAgain && !sack_i.twice && sack_i.beyond;
      end
      if (class_.ack_new) begin
        tcb_o.snd_una   = seg.ack;
        tcb_o.owe_again = 1'b0;
        if (diff.nxt_behind) tcb_o.snd_nxt = seg.ack;
        tcb_o.tries     = '0;
        tcb_o.fin_acked = class_.ack_fin;
        act_o.restart   = 1'b1;
        act_o.acked     = 1'b1;
        silence_o.asked = diff.second;
      end
      // What fills a hole is older than what is kept behind it (RFC 9293's SND.WL1).
      if (!class_.seq_before && !diff.ack[31] && !(class_.seq_eq && ooo_some_i)) begin
        tcb_o.snd_wnd = diff.wnd;
        tcb_o.max_wnd = class_.max_wnd;
        if (is_shut && diff.wnd != '0) begin
          // The window opens: forget the probes and their backoff.
          signs_o.opens = 1'b1;
          act_o.restart = 1'b1;
          tcb_o.tries   = '0;
        end
      end
      // ---- the data: in order, or kept until they are. A FIN that comes too early is not.
      act_o.in_order = fresh_data;
      act_o.keep_ooo = ooo_data && ooo_place_i;
      if (fresh_data) begin
        act_o.take = whole ? class_.end_[16:0] : diff.free;
        act_o.jump = ooo_jump_i;
      end else if (act_o.keep_ooo) begin
        act_o.take = whole ? {1'b0, seg.len} : class_.ooo_room;
      end
      act_o.to_ring = act_o.take != '0 && !tcb.close;
      act_o.data    = act_o.to_ring && fresh_data;
      act_o.fin     = seg.flags.fin && in_order && whole && !unread && !tcb.fin_rcvd &&
                      !ooo_past_i;
      if (act_o.fin) tcb_o.fin_rcvd = 1'b1;
      // What is out of order, or fills a hole, is answered at once (RFC 5681, section 4.2).
      act_o.ack = !unread && class_.has &&
                  (!fresh_data || !whole || seg.flags.fin || ooo_some_i);
      count_o[TcpCountOooKept] = act_o.keep_ooo;
      count_o[TcpCountOooFull] = ooo_data && !ooo_place_i;
    end
    if (unread) begin
      // From here on it is as if there were no connection.
      over        = 1'b1;
      act_o.stray = 1'b1;
      tcb_o.fin_first = 1'b0;
      tcb_o.owe_ack   = 1'b0;
      count_o[TcpCountUnread] = 1'b1;
    end

    count_o[TcpCountDropped] = ev.kind == KdSeg && class_.has_data && (act_o.take == '0 || !whole);

    // ---- both halves closed
    if (good && tcb.fin_acked) tcb_o.fin_acked = 1'b1;
    if (good && tcb_o.fin_rcvd && tcb_o.fin_acked) over = 1'b1;
    if (over) begin
      act_o.closed   = 1'b1;
      tcb_o.state    = StTimeWait;
      tcb_o.deadline = now_i + 20'(time_wait_i);
      tcb_o.tm_on    = 1'b1;
    end
    if (act_o.free_id) begin
      tcb_o.state   = StFree;
      tcb_o.owe_ack = 1'b0;
    end
    if (tcb_o.state == StFree || tcb_o.state == StDead) begin
      tcb_o.tm_on = 1'b0;
      tcb_o.pend  = '0;
    end
    count_o[TcpCountClosed] = act_o.closed;
  end

endmodule
