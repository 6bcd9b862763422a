// An event meets its connection: distances between their sequence numbers, times since. A new
// connection begins here, with nothing between it and the segment. The diff stage of tcp_tcb.
// Combinational.

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_diff
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  /// Ticks and seconds since reset; limits of silence in seconds, see tcp_tcb.
  input  logic [31:0] now_i,
  input  seconds_t    second_i,
  input  seconds_t    keep_alive_i,
  input  seconds_t    idle_i,
  input  event_t      ev_i,
  /// The connection's words.
  input  tcb_t        tcb_i,
  input  peer_t       peer_i,
  input  silence_t    silence_i,
  /// The connection is new.
  output logic        fresh_o,
  output work_t       work_o
);

  /// Both are reached the same way: MAC address and VLAN. Priority bits do not matter.
  function automatic logic same_link(input peer_t a, input peer_t b);
    return a.mac == b.mac && a.vlan_valid == b.vlan_valid &&
           (!a.vlan_valid || a.vlan_tci[11:0] == b.vlan_tci[11:0]);
  endfunction

  /// A segment's window in bytes, at most a ring. A connection without scaling keeps ws = 0.
  function automatic logic [16:0] window(input logic [15:0] wnd, input logic [3:0] ws);
    logic [15:0] beyond;  // by each scale
    for (int s = 0; s < 16; s++) beyond[s] = (wnd >> (16 - s)) != '0;
    window = beyond[ws] ? Ring : 17'(wnd) << ws;
  endfunction

  diff_t diff;
  tcb_t fresh;
  silence_t begins;
  agreed_t agreed;
  times_t times;
  stamps_t stamps;
  seconds_t heard, asked;
  logic [9:0] low;
  logic [31:0] age;    // behind TS.Recent
  logic [15:0] since;  // when what is measured was sent
  seg_t seg;
  logic app;
  logic [19:0] late;
  logic [11:0] told;
  logic [31:0] above;
  logic twin;
  event_t ev;
  assign fresh_o = ev_i.found.fresh;
  assign times   = ev_i.found.times;
  always_comb begin
    agreed     = ev_i.found.agreed;
    agreed.mss = agreed.mss - times_len(times.valid);
    // The SYN-ACK said its own number, which only its peer could foretell; from there our clock goes on.
    begins     = '{
        heard: second_i,
        asked: second_i,
        mss: agreed.mss,
        stamps: '{on: times.valid, offset: seg.ack - now_i, recent: times.value},
        default: '0
    };
  end
  assign seg   = ev_i.found.seg;
  assign app   = ev_i.kind == KdApp;
  // The second in which something happened is not over: a wait is longer than so many.
  assign heard  = second_i - silence_i.heard;
  assign asked  = second_i - silence_i.asked;
  assign low    = second_i[9:0] - silence_i.low;
  assign stamps = silence_i.stamps;
  assign age    = times.value - stamps.recent;
  assign late  = now_i[19:0] - tcb_i.deadline;
  assign told  = now_i[17:6] - tcb_i.told_at;
  assign above = ev_i.found.isn - tcb_i.snd_max - 32'(RingBytes);

  // A connection that is new has no address in its words yet, and one only resembles it.
  assign twin = (ev_i.kind == KdSeg || ev_i.kind == KdTooBig) && ev_i.found.hit && !fresh_o &&
      seg.peer.ip != peer_i.ip;
  always_comb begin
    ev = ev_i;
    if (twin) ev.found.hit = 1'b0;
  end

  always_comb begin
    diff.seq  = seg.seq - (app ? tcb_i.credit : tcb_i.rcv_nxt);
    diff.ack  = seg.ack - (app ? tcb_i.tx_end : tcb_i.snd_una);
    diff.ack_end = seg.ack - tcb_i.tx_end;
    diff.sent = 17'(tcb_i.snd_max - tcb_i.snd_una);
    // The FIN takes a number but no room.
    diff.free = 17'(tcb_i.credit + 32'(tcb_i.fin_rcvd) - tcb_i.rcv_nxt) + Ring;
    diff.wnd  = window(seg.wnd, fresh_o ? ev_i.found.agreed.ws : tcb_i.ws);
    // What timestamps measure holds of segments that were sent again, too (RFC 7323, section 4).
    since     = stamps.on ? times.echo[15:0] - stamps.offset[15:0] : tcb_i.rtt.since;
    diff.rtt  = now_i[15:0] - since;
    // What was heard 18 hours ago says nothing more (RFC 7323, section 5.5).
    diff.stale = stamps.on && times.valid && age[31] && !long_ago(heard);
    diff.expired      = tcb_i.tm_on && !late[19];
    // For an ACK of something new, so all of these are near each other.
    diff.rtt_past     = !near_lt(near_t'(seg.ack), tcb_i.rtt.seq);
    diff.rtt_told     = !stamps.on || times.valid;
    diff.rec_past     = !near_lt(near_t'(seg.ack), tcb_i.cong.recover);
    diff.rec_beyond   = near_lt(tcb_i.cong.recover, near_t'(seg.ack));
    diff.una_past_rec = near_lt(tcb_i.cong.recover, near_t'(tcb_i.snd_una));
    diff.una_before_rec = near_lt(near_t'(tcb_i.snd_una), tcb_i.cong.recover);
    diff.nxt_behind   = seq_lt(tcb_i.snd_nxt, seg.ack);
    diff.twin         = twin;
    diff.same_link    = same_link(seg.peer, peer_i);
    diff.told         = tcb_i.told_on && told < 12'(ToldUnits);
    diff.isn_below    = above[31];
    // While something is to be acknowledged, that is asked for.
    diff.second       = second_i;
    diff.heard        = heard;
    diff.asked        = asked;
    diff.silent       = keep_alive_i != '0 && heard > keep_alive_i && !tcb_i.tm_on;
    diff.keep         = heard - keep_alive_i - 16'd1;
    diff.bored        = idle_i != '0 && asked > idle_i;
    diff.rises        = tcb_i.mss != silence_i.mss && low >= 10'(MssLow);
    if (fresh_o) begin
      diff.seq     = '0;
      diff.ack     = '0;
      diff.ack_end = '0;
      diff.sent    = '0;
      diff.free    = Ring;
      diff.told    = 1'b0;
      diff.stale   = 1'b0;
    end
  end

  tcp_fresh u_fresh (
    .old_i   (tcb_i),
    .seq_i   (seg.seq),
    .ack_i   (seg.ack),
    .agreed_i(agreed),
    .wnd_i   (diff.wnd),
    .tcb_o   (fresh)
  );

  assign work_o = '{
          ev: ev,
          tcb: fresh_o ? fresh : tcb_i,
          peer: peer_i,
          silence: fresh_o ? begins : silence_i,
          diff: diff,
          class_: '0
      };

endmodule
