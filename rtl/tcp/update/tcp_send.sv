// Choice of the segment to send, the segment itself, and what becomes of the connection by it: the
// last stages of tcp_tcb, with their registers. Latency 3, initiation interval 1.
//
//   limit    how much may be sent
//   choose   which segment is sent
//   finish   timers and queues; the segment

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_send
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// measure, limit, choose, finish hold an event.
  input  logic [3:0]  valid_i,
  /// Ticks since reset; the largest payload that we take.
  input  logic [19:0] now_i,
  input  logic [13:0] own_mss_i,
  /// measure.
  input  tcb_t        tcb_i,
  input  measure_t    measure_i,
  /// limit: what the peer's SACK options leave to be sent.
  input  hole_t       hole_i,
  /// choose: an ACK is to have a SACK option; finish: what it says.
  input  logic        sack_i,
  input  spans_t      spans_i,
  /// finish: the same event; what becomes of the word (`rtt` stays).
  output measure_t    measure_o,
  output tcb_t        tcb_o,
  output sent_t       sent_o,
  /// Ask for a visit: 0 fast, 1 slow, 2 wait, 3 more.
  output logic [3:0]  push_o,
  output logic        cmd_valid_o,
  output txcmd_t      cmd_o
);

  // ---------------------------------------------------------------- limit
  tcb_t li_tcb_q;
  measure_t li_q;
  always_ff @(posedge clk_i) begin
    if (valid_i[0]) begin
      li_tcb_q <= tcb_i;
      li_q     <= measure_i;
    end
  end

  typedef struct packed {
    logic [16:0] wnd_room;  // what the peer's window leaves
    logic [13:0] want;      // what a segment could carry
    logic [13:0] again;     // the same, from snd_una
    logic        again_all; // ... and that is all there is
    logic        ack_due;
    logic [16:0] gain;      // window that the peer does not know of
    logic        fin_out;
    logic        waits;     // something is unacknowledged, or waits for a shut window
    logic [15:0] wnd;       // header field
    logic [16:0] adv;
    logic [19:0] deadline;
    // tail-loss probe
    logic [16:0] tail_off;  // the last segment, from snd_una
    logic [13:0] tail_len;
    logic        one;       // one segment is in flight
    logic [16:0] tail_one;  // ticks to a probe then
    logic [16:0] tail_many; // ... or else
  } limit_t;

  // Ticks to a probe: twice the SRTT, TailMin at least, and `more`, or the RTO if that is sooner. Each comparison is
  // made of both, so that none waits for another.
  function automatic logic [16:0] tail_time(input logic [16:0] srtt2, input logic [16:0] rto,
                                            input logic [16:0] more);
    logic signed [17:0] ahead;
    ahead = 18'(rto) - 18'(more);
    if ($signed({1'b0, srtt2}) >= ahead || $signed(18'(TailMin)) >= ahead) return rto;
    return (srtt2 < 17'(TailMin)) ? 17'(TailMin) + more : srtt2 + more;
  endfunction

  limit_t li;
  logic [16:0] li_unsent, li_unacked, li_mss, li_most, li_out, li_srtt2;
  always_comb begin
    li_mss     = 17'(li_tcb_q.mss);
    // Never more than a ring, but for the FIN.
    li_unsent  = li_q.unsent[31] ? '0 : li_q.unsent[16:0];
    li_unacked = li_q.unacked[31] ? '0 : li_q.unacked[16:0];
    li.wnd_room = minus(li_tcb_q.snd_wnd, li_q.flight);
    li.want    = (hole_i.hole && !hole_i.recovery) ? hole_i.len : 14'(lesser(li_unsent, li_mss));
    // What was sent before, and nothing behind it: windows say nothing about it. Of a shut one a byte is
    // tried.
    li_most    = li_q.probe ? 17'd1 : lesser(li_q.sent, li_mss);
    li.again   = (hole_i.hole && hole_i.first) ? hole_i.len : 14'(lesser(li_unacked, li_most));
    li.again_all = !(hole_i.hole && hole_i.first) && li_unacked <= li_most;
    li.ack_due = li_tcb_q.pend >= li_q.mss2;
    li.gain    = minus(li_q.free, li_tcb_q.adv);
    li.fin_out = li_q.unsent[31];
    li.waits   = li_tcb_q.snd_max != li_tcb_q.snd_una ||
        (li_tcb_q.snd_wnd == '0 && li_unsent != '0);
    // The window is told in units of 128 bytes, or up to 65535 bytes.
    li.wnd     = li_tcb_q.ws_ok ? 16'(li_q.free[16:7]) : (li_q.free[16]) ? '1 : li_q.free[15:0];
    li.adv     = li_tcb_q.ws_ok ? {li_q.free[16:7], 7'd0} : {1'b0, li.wnd};
    li.deadline = now_i + 20'(li_tcb_q.rtt.rto);
    li_out       = li_q.flight - 17'(li.fin_out);
    li.tail_off  = minus(li_out, li_mss);
    li.tail_len  = 14'(lesser(li_out, li_mss));
    li.one       = li_q.flight <= li_mss;
    // From 65,536 ticks on the RTO is sooner: they say no more, and no sum overflows.
    li_srtt2     = li_tcb_q.rtt.srtt[18] ? 17'h10000 : li_tcb_q.rtt.srtt[18:2];
    li.tail_one  = tail_time(li_srtt2, 17'(li_tcb_q.rtt.rto), 17'(AckMax));
    li.tail_many = tail_time(li_srtt2, 17'(li_tcb_q.rtt.rto), '0);
  end

  // ---------------------------------------------------------------- choose
  tcb_t ch_tcb_q;
  measure_t ch_q;
  limit_t ch_li_q;
  hole_t ch_hole_q;
  logic [19:0] ch_now_q;  // as limit saw it
  always_ff @(posedge clk_i) begin
    ch_now_q <= now_i;
    if (valid_i[1]) begin
      ch_hole_q <= hole_i;
      ch_tcb_q <= li_tcb_q;
      ch_q     <= li_q;
      ch_li_q  <= li;
    end
  end

  // A segment that is short of the windows alone waits for the next ACK (no silly windows); with
  // nothing in flight none would come.
  logic cwnd_short, wnd_short, short_, ch_first, ch_data, ch_fin, ch_update, ch_due;
  logic hole, hole_due, skip, tail_again, goes, whole, part, ends, has, fixed;
  logic unsent_none, unsent_want;
  logic [13:0] ch_usable;
  logic [31:0] hole_seq, fixed_seq;
  typedef struct packed {
    logic        valid;
    logic        data;   // carries data or FIN from seq on
    logic        fin;
    logic        psh;
    logic        owe;    // quiet, and it would have been valid
    logic        more;   // there may be something left to send
    logic        waits;  // something is unacknowledged, or waits for a shut window
    logic        pends;  // bytes taken are not acknowledged
    logic        hole;   // it fills one, or is the last one once more
    logic        skip;   // snd_nxt goes on to hole_seq
    logic [31:0] hole_seq;
    logic [13:0] len;
    logic [31:0] seq;
  } choice_t;
  choice_t ch;

  always_comb begin
    cwnd_short = ch_hole_q.room < 17'(ch_li_q.want) && !ch_q.tail;
    wnd_short  = ch_li_q.wnd_room < 17'(ch_li_q.want);
    short_     = cwnd_short || wnd_short;
    ch_usable  = 14'(lesser(ch_hole_q.room, ch_li_q.wnd_room));
    // A SACK option leaves no room for data in the first beat: they follow in a segment of their own.
    ch_first = ch_q.force_ack && sack_i && !ch_q.tail;
    // A probe is new data, whatever cwnd says, or else the last segment.
    tail_again = ch_q.tail && (ch_li_q.want == '0 || wnd_short);
    // What is lost goes before what is new, what may be just late behind that (RFC 6675, NextSeg).
    hole_due = ch_hole_q.recovery && ch_hole_q.hole && ch_q.send && !ch_q.from_una &&
        ch_hole_q.room >= 17'(ch_hole_q.len) &&
        (ch_hole_q.lost || ch_li_q.want == '0 || wnd_short);
    hole     = hole_due && !ch_first;
    skip     = ch_hole_q.skip && ch_q.send && !ch_q.from_una;
    hole_seq = ch_tcb_q.snd_una + 32'(ch_q.tail ? ch_li_q.tail_off : ch_hole_q.off);
    // From snd_nxt on: all that a segment could carry, or what the windows leave of it. Which one is known
    // late, so what it says is not waited for: windows that leave less leave something unsent.
    goes    = ch_q.send && !skip && !ch_hole_q.redo && !ch_first;
    whole   = goes && !short_;
    part    = goes && short_ && ch_q.flight == '0;
    ch.len  = ch_q.from_una ? ch_li_q.again : tail_again ? ch_li_q.tail_len :
        hole ? ch_hole_q.len : whole ? ch_li_q.want : part ? ch_usable : '0;
    unsent_none = ch_q.unsent == '0;
    unsent_want = ch_q.unsent == 32'(ch_li_q.want);
    ends    = unsent_none || (whole && unsent_want);
    ch.psh  = ch_q.from_una ? ch_li_q.again_all : tail_again || (!hole && ends);
    // FIN follows the last byte at once; it needs no window.
    ch_fin  = ch_tcb_q.close && (ch_q.from_una ? ch_li_q.again_all && !ch_tcb_q.fin_acked :
        ch_q.send && (tail_again ? ch_li_q.fin_out : !ch_li_q.fin_out && !hole && ends));
    has     = (whole && ch_li_q.want != '0) ||
        (part && ch_hole_q.room != '0 && ch_li_q.wnd_room != '0);
    ch_data = ch_fin || (ch_q.from_una ? ch_li_q.again != '0 :
        tail_again ? ch_li_q.tail_len != '0 : hole || has);
    ch_update = ch_q.send && !ch_tcb_q.adv[16] && !ch_tcb_q.adv[15] && ch_li_q.gain >= ch_q.mss2 &&
        !ch_tcb_q.fin_rcvd;
    ch.fin  = ch_fin && !ch_q.quiet;
    ch.data = ch_data && !ch_q.quiet;
    ch_due  = ch_data || ch_q.force_ack || ch_q.blind || ch_q.rst || ch_q.keep ||
        (ch_q.send && ch_li_q.ack_due) || ch_update;
    ch.valid = ch_due && !ch_q.quiet;
    ch.owe   = ch_due && ch_q.quiet;
    ch.more = (ch_q.from_una && !ch_q.probe) || hole_due || skip || ch_hole_q.redo ||
        (ch_q.send && !ch.psh &&
        (ch_first ? ch_li_q.want != '0 : whole && ch_li_q.want != '0));
    ch.hole = (hole || tail_again) && !ch_q.quiet;
    ch.skip = skip;
    ch.hole_seq = hole_seq;
    ch.waits = ch_li_q.waits;
    ch.pends = ch_tcb_q.pend != '0;
    fixed     = ch_q.blind || ch_q.from_una || ch_q.keep;
    fixed_seq = ch_q.blind ? ch_q.who.seq : ch_tcb_q.snd_una - 32'(!ch_q.from_una);
    if (fixed) ch.seq = fixed_seq;
    else if (hole || tail_again) ch.seq = hole_seq;
    // A bare ACK stands where the peer expects it: behind all we sent, not beyond a shut window.
    else if (has || (ch_tcb_q.close && ch_q.send && !ch_li_q.fin_out && ends) ||
             ch_tcb_q.snd_wnd == '0)
      ch.seq = ch_tcb_q.snd_nxt;
    else ch.seq = ch_tcb_q.snd_max;
  end

  // ---------------------------------------------------------------- finish
  tcb_t fi_tcb_q;
  measure_t fi_q;
  limit_t fi_li_q;
  choice_t fi_ch_q;
  logic [19:0] fi_tail_one_q, fi_tail_many_q;  // `deadline` of a tail-loss probe
  logic fi_none_q;  // nothing was in flight
  // Zeros in a word and nothing sent give zeros: with these the table is cleared.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fi_tcb_q <= '0;
      fi_ch_q  <= '0;
    end else if (valid_i[2]) begin
      fi_tcb_q <= ch_tcb_q;
      fi_ch_q  <= ch;
    end
    if (valid_i[2]) begin
      fi_q    <= ch_q;
      fi_li_q <= ch_li_q;
      fi_tail_one_q  <= ch_now_q + 20'(ch_li_q.tail_one);
      fi_tail_many_q <= ch_now_q + 20'(ch_li_q.tail_many);
      fi_none_q <= ch_q.flight == '0;
    end
  end

  logic fi_live, fi_waiting, fi_rst, fi_new, fi_one, fi_tail;
  logic [19:0] fi_tail_at, fi_sooner;
  logic [31:0] fi_end;
  logic fi_half;  // half of which the carry is made that adds the FIN
  assign fi_live = fi_tcb_q.state == StOpen;
  assign {fi_end, fi_half} = {fi_ch_q.seq, 1'b1} + {18'd0, fi_ch_q.len, fi_ch_q.fin};
  assign fi_rst  = fi_q.rst || fi_q.stray;
  // The timer runs while something is unacknowledged, or the window is shut before waiting data.
  assign fi_waiting = fi_ch_q.data || fi_ch_q.waits;

  // A probe comes after two round trips; after more if one segment is in flight, as its ACK may be late.
  assign fi_new     = fi_ch_q.data && !fi_q.from_una && !fi_ch_q.hole;
  assign fi_tail    = fi_q.tail_ok && fi_waiting;
  assign fi_one     = fi_new ? fi_none_q : fi_li_q.one;
  assign fi_tail_at = fi_one ? fi_tail_one_q : fi_tail_many_q;
  assign fi_sooner  = fi_tail_at - fi_tcb_q.deadline;

  assign measure_o    = fi_q;
  assign sent_o.data  = fi_ch_q.data;
  assign sent_o.again = fi_ch_q.seq != fi_tcb_q.snd_max;
  assign sent_o.tail  = fi_ch_q.data && fi_q.tail;
  assign sent_o.fills = fi_ch_q.data && (fi_ch_q.hole || fi_q.from_una);
  assign sent_o.end_  = near_t'(fi_end);

  always_comb begin
    tcb_o = fi_tcb_q;
    // Whatever is sent acknowledges.
    if (fi_ch_q.valid && !fi_q.blind) begin
      tcb_o.pend    = '0;
      tcb_o.adv     = fi_li_q.adv;
      tcb_o.owe_ack = 1'b0;
    end
    if (fi_ch_q.owe) begin
      tcb_o.owe_ack   = fi_tcb_q.owe_ack || fi_q.force_ack;
      tcb_o.owe_again = fi_tcb_q.owe_again || fi_q.from_una;
    end
    if (fi_ch_q.data && seq_lt(fi_tcb_q.snd_max, fi_end)) tcb_o.snd_max = fi_end;
    if (fi_ch_q.skip) tcb_o.snd_nxt = fi_ch_q.hole_seq;
    else if (fi_ch_q.data && !fi_q.from_una && !fi_ch_q.hole) tcb_o.snd_nxt = fi_end;
    if (fi_ch_q.fin && !fi_tcb_q.fin_rcvd) tcb_o.fin_first = 1'b1;
    if (fi_live) begin
      tcb_o.tm_on = fi_waiting;
      if (fi_q.restart || !fi_tcb_q.tm_on) begin
        tcb_o.deadline = fi_tail ? fi_tail_at : fi_li_q.deadline;
        if (!fi_tcb_q.tail[1]) tcb_o.tail = fi_tail ? TailArmed : TailNone;
      end else if (fi_tail && fi_tcb_q.tail == TailArmed && fi_new && fi_sooner[19]) begin
        tcb_o.deadline = fi_tail_at;
      end
    end
    if (sent_o.tail) tcb_o.tail = fi_ch_q.hole ? TailAgain : TailNew;
    push_o[3] = fi_tcb_q.tell_closed || (fi_live && fi_ch_q.more) || fi_ch_q.owe;
    push_o[2] = fi_tcb_q.state == StTimeWait && !fi_tcb_q.over;
    push_o[1] = fi_live;
    push_o[0] = fi_live && (fi_waiting || (fi_ch_q.pends && !fi_ch_q.valid));
    push_o = push_o & ~{fi_tcb_q.in_more, fi_tcb_q.in_wait, fi_tcb_q.in_slow, fi_tcb_q.in_fast};
    if (push_o[3]) tcb_o.in_more = 1'b1;
    if (push_o[2]) tcb_o.in_wait = 1'b1;
    if (push_o[1]) tcb_o.in_slow = 1'b1;
    if (push_o[0]) tcb_o.in_fast = 1'b1;
  end

  always_comb begin
    cmd_o             = '0;
    cmd_o.conn        = fi_q.who.conn;
    cmd_o.seg.peer    = fi_q.who.peer;
    cmd_o.seg.seq     = fi_ch_q.seq;
    cmd_o.refusal     = fi_q.refuse;
    cmd_o.seg.ack     = !fi_q.blind ? fi_tcb_q.rcv_nxt : fi_q.who.has_ack ? fi_q.who.ack : '0;
    cmd_o.seg.flags.ack = !fi_q.blind || fi_q.who.has_ack;
    cmd_o.seg.flags.rst = fi_rst;
    cmd_o.seg.flags.syn = fi_q.synack;
    cmd_o.seg.flags.fin = fi_ch_q.fin || fi_q.refuse;
    cmd_o.seg.flags.psh = (fi_ch_q.len != '0 && fi_ch_q.psh) || fi_q.refuse;
    cmd_o.seg.wnd     = fi_rst ? '0 : fi_q.blind ? '1 : fi_li_q.wnd;
    cmd_o.seg.len     = fi_q.refuse ? 16'(refusal_bytes(fi_q.who.peer.redis)) : 16'(fi_ch_q.len);
    cmd_o.seg.mss_valid = fi_q.synack;
    cmd_o.seg.mss     = 16'(own_mss(own_mss_i, ours_of(fi_q.who.peer) != OursIp4));
    cmd_o.seg.ws_valid = fi_q.synack && fi_q.who.ws_valid;
    cmd_o.seg.ws      = 4'd7;
    cmd_o.seg.sack_ok = fi_q.synack && fi_q.who.sack_ok;
    cmd_o.seg.narrow = fi_q.narrow && !fi_q.blind;
    cmd_o.seg.times  = fi_q.times;
    if (fi_q.blind) cmd_o.seg.times.value = fi_ch_q.seq;
    if (!fi_q.blind && !fi_rst && fi_ch_q.len == '0) cmd_o.seg.sack = spans_i;
    // Beside timestamps there is room for three.
    if (fi_q.times.valid) cmd_o.seg.sack[Spans-1] = '0;
  end
  assign cmd_valid_o = valid_i[3] && fi_ch_q.valid;

endmodule
