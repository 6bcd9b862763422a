// The connection table and everything that decides about a connection: one pipe that segments,
// commands of the session and timer visits go through, one event a clock. Latency 9 (a segment's
// verdict: 5), initiation interval 1; an event waits while another one of its connection is inside.
//
//   pick     next event, round robin; a full output holds back only the events that need it, and
//            makes segments and commands quiet
//   fetch    no event of this connection inside: read its word
//   diff     distances between sequence numbers, time since
//   class    where the segment lies, what its ACK is
//   update   the new state, as far as RFC 9293 section 3.10.7 goes
//   measure  bytes in flight, bytes to send, windows; verdict out
//   limit    how much may be sent
//   choose   which segment is sent
//   finish   timers and queues; segment out; write the word
//
// One event sends at most one segment. A connection with more to send puts itself into the `more`
// queue, once. A quiet event sends none and leaves it to `more`: what comes in never waits for room
// to send, or a few that read much would keep everybody's segments out.
`include "lib_assert.svh"

module tcp_tcb
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Ticks since reset.
  input  logic [19:0]  now_i,
  /// The largest payload that we send, and take.
  input  logic [13:0]  own_mss_i,
  input  logic [15:0]  time_wait_i,
  /// Seconds of silence before the first keep-alive probe; 0: none is sent.
  input  seconds_t     keep_alive_i,
  /// Seconds without a request after which a connection is closed; 0: it stays.
  input  seconds_t     idle_i,
  /// Places are short: who does not answer a keep-alive probe loses its own.
  input  logic         pressed_i,
  /// What may be sent to strangers: challenge ACKs and RSTs. Each one sent is told.
  input  logic         challenge_ok_i,
  output logic         challenge_o,
  input  logic         stray_ok_i,
  output logic         stray_o,
  /// Events.
  input  logic         seg_valid_i,
  output logic         seg_ready_o,
  input  found_t       seg_i,
  input  logic         app_valid_i,
  output logic         app_ready_o,
  input  app_t         app_i,
  /// Visits: 0 fast, 1 slow, 2 wait.
  input  logic [2:0]   visit_valid_i,
  output logic [2:0]   visit_ready_o,
  input  conn_t [2:0]  visit_i,
  /// A visit of TIME_WAIT is to end it at once.
  input  logic         hurry_i,
  /// Ask for a visit of push_conn_o.
  output logic [2:0]   push_o,
  output conn_t        push_conn_o,
  /// Verdicts; room for PipeRoom more.
  output logic         verdict_valid_o,
  output verdict_t     verdict_o,
  input  logic         verdict_room_i,
  /// Segments to send; room for PipeRoom more.
  output logic         cmd_valid_o,
  output txcmd_t       cmd_o,
  input  logic         cmd_room_i,
  /// Ids whose connection is over; room for PipeRoom more.
  output logic         del_valid_o,
  output conn_t        del_o,
  input  logic         del_room_i,
  /// Changes of the number of ids that count against the limit, and of open connections.
  output logic         unused_o,
  output logic         opened_o,
  output logic         closed_o,
  output logic [TcpCounts-1:0] count_o,
  output logic         idle_o
);

  // Each stage hands whole structs to the next; what no later stage reads falls away in synthesis.
  // verilator lint_off UNUSEDSIGNAL

  localparam int unsigned IdW = $clog2(Conns);
  localparam int unsigned Stages = 7;  // diff .. finish
  localparam logic [16:0] Ring = 17'(RingBytes);

  // ---------------------------------------------------------------- sums
  /// a - b, not below 0.
  function automatic logic [16:0] minus(input logic [16:0] a, input logic [16:0] b);
    return (a > b) ? a - b : '0;
  endfunction
  /// a + b, not above the ring.
  function automatic logic [16:0] plus(input logic [16:0] a, input logic [16:0] b);
    logic [17:0] sum;
    sum = {1'b0, a} + {1'b0, b};
    return (sum > {1'b0, Ring}) ? Ring : sum[16:0];
  endfunction
  function automatic logic [16:0] lesser(input logic [16:0] a, input logic [16:0] b);
    return (a < b) ? a : b;
  endfunction
  function automatic logic [16:0] greater(input logic [16:0] a, input logic [16:0] b);
    return (a > b) ? a : b;
  endfunction

  /// Sends again all from snd_una on. Duplicate ACKs that come of it mean nothing (RFC 6582).
  function automatic tcb_t rewind(input tcb_t tcb);
    rewind           = tcb;
    rewind.snd_nxt   = tcb.snd_una;
    rewind.owe_again = 1'b0;
    rewind.recover   = near_t'(tcb.snd_max);
    rewind.in_rec    = 1'b0;
    rewind.dupacks   = '0;
  endfunction

  /// Both are reached the same way: MAC address and VLAN. Priority bits do not matter.
  function automatic logic same_link(input peer_t a, input peer_t b);
    return a.mac == b.mac && a.vlan_valid == b.vlan_valid &&
           (!a.vlan_valid || a.vlan_tci[11:0] == b.vlan_tci[11:0]);
  endfunction

  // ---------------------------------------------------------------- clear the table after reset
  logic [IdW:0] clear_q;
  logic cleared;
  assign cleared = clear_q[IdW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (!cleared) clear_q <= clear_q + 1'b1;
  end

  // ---------------------------------------------------------------- pick
  typedef enum logic [2:0] {
    SrcSeg,
    SrcApp,
    SrcMore,
    SrcFast,
    SrcSlow,
    SrcWait
  } src_e;
  localparam int unsigned Srcs = 6;

  logic more_valid, more_ready, unused_more_ready;
  logic [3:0] push_q;  // more, wait, slow, fast
  logic [IdW-1:0] more_id;
  logic [$clog2(Conns+1)-1:0] more_level;

  lib_fifo #(
    .T    (logic [IdW-1:0]),
    .Depth(Conns)
  ) u_more (
    .clk_i,
    .rst_ni,
    .s_valid_i(push_q[3]),
    .s_ready_o(unused_more_ready),
    .s_data_i (push_conn_o[IdW-1:0]),
    .m_valid_o(more_valid),
    .m_ready_i(more_ready),
    .m_data_o (more_id),
    .level_o  (more_level)
  );
  `ASSERT(fits_more_room, !push_q[3] || unused_more_ready)

  logic pick_valid, pick_ready, busy, fetch;
  event_t pick_q, pick;
  logic [Srcs-1:0] want, grant, after_q, masked;
  logic room, app_room, seg_room;

  // The session may wait for its commands before it takes events, so commands need no room for
  // verdicts (an event that one causes is sent by `more`).
  assign room     = cleared && del_room_i && pick_ready;
  assign app_room = cmd_room_i || !app_i.reset;
  // Nothing remembers an answer to a SYN: it waits, and so do segments behind it.
  assign seg_room = cmd_room_i || !(seg_i.seg.flags.syn || seg_i.refused);
  assign want = {visit_valid_i, more_valid, app_valid_i, seg_valid_i} & {Srcs{room}} &
                {{4{verdict_room_i && cmd_room_i}}, app_room, verdict_room_i && seg_room};
  assign masked = want & after_q;
  assign grant  = (|masked) ? masked & (~masked + 1'b1) : want & (~want + 1'b1);

  assign seg_ready_o   = grant[SrcSeg];
  assign app_ready_o   = grant[SrcApp];
  assign more_ready    = grant[SrcMore];
  assign visit_ready_o = grant[SrcWait:SrcFast];

  always_comb begin
    pick = '0;
    pick.found = seg_i;
    unique case (1'b1)
      grant[SrcApp]: begin
        pick.kind          = KdApp;
        pick.close         = app_i.close;
        pick.reset         = app_i.reset;
        pick.release_id    = app_i.release_id;
        pick.found.conn    = app_i.conn;
        pick.found.seg.seq = app_i.rx_ptr;
        pick.found.seg.ack = app_i.tx_ptr;
      end
      grant[SrcMore]: begin
        pick.kind       = KdMore;
        pick.found.conn = conn_t'(more_id);
      end
      grant[SrcFast]: begin
        pick.kind       = KdFast;
        pick.found.conn = visit_i[0];
      end
      grant[SrcSlow]: begin
        pick.kind       = KdSlow;
        pick.found.conn = visit_i[1];
      end
      grant[SrcWait]: begin
        pick.kind       = KdWait;
        pick.hurry      = hurry_i;
        pick.found.conn = visit_i[2];
      end
      default: pick.kind = seg_i.seg.too_big ? KdTooBig : KdSeg;
    endcase
    pick.quiet = !cmd_room_i;
  end

  // Round robin: the sources above the last one go first.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) after_q <= '0;
    else if (|grant) after_q <= ~((grant - 1'b1) | grant);
  end

  lib_reg #(
    .T(event_t)
  ) u_pick (
    .clk_i,
    .rst_ni,
    .s_valid_i(|grant),
    .s_ready_o(pick_ready),
    .s_data_i (pick),
    .m_valid_o(pick_valid),
    .m_ready_i(!busy),
    .m_data_o (pick_q)
  );

  // ---------------------------------------------------------------- fetch
  // The stages behind, diff first. A word is written at the end of the last one. A segment of no
  // connection has no word, so nobody waits for it.
  logic stranger;
  logic [Stages-1:0] valid_q, held_q;
  logic [Stages-1:0][IdW-1:0] id_q;
  assign stranger = (pick_q.kind == KdSeg || pick_q.kind == KdTooBig) && !pick_q.found.hit;
  always_comb begin
    busy = 1'b0;
    for (int unsigned s = 0; s < Stages; s++) begin
      busy |= held_q[s] && id_q[s] == pick_q.found.conn[IdW-1:0];
    end
    if (stranger) busy = 1'b0;
  end
  assign fetch = pick_valid && !busy;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      held_q  <= '0;
    end else begin
      valid_q <= {valid_q[Stages-2:0], fetch};
      held_q  <= {held_q[Stages-2:0], fetch && !stranger};
    end
    id_q <= {id_q[Stages-2:0], pick_q.found.conn[IdW-1:0]};
  end

  tcb_t ram_tcb, write_tcb;
  logic write;
  logic [IdW-1:0] write_id;
  lib_ram #(
    .Width($bits(tcb_t)),
    .Depth(Conns)
  ) u_tcb (
    .clk_i,
    .we_i   (write || !cleared),
    .waddr_i(cleared ? write_id : clear_q[IdW-1:0]),
    .wbe_i  (1'b1),
    .wdata_i(cleared ? write_tcb : '0),
    .re_i   (fetch),
    .raddr_i(pick_q.found.conn[IdW-1:0]),
    .rdata_o(ram_tcb)
  );

  // Where a connection's segments go: to the sender of the last one that fitted.
  peer_t ram_peer, write_peer;
  logic write_peer_on;
  lib_ram #(
    .Width($bits(peer_t)),
    .Depth(Conns)
  ) u_peer (
    .clk_i,
    .we_i   (write_peer_on),
    .waddr_i(write_id),
    .wbe_i  (1'b1),
    .wdata_i(write_peer),
    .re_i   (fetch),
    .raddr_i(pick_q.found.conn[IdW-1:0]),
    .rdata_o(ram_peer)
  );

  // How long nothing was heard. Written before the connection leaves the pipe.
  silence_t ram_silence, write_silence;
  logic write_silence_on;
  logic [IdW-1:0] write_silence_id;
  lib_ram #(
    .Width($bits(silence_t)),
    .Depth(Conns)
  ) u_silence (
    .clk_i,
    .we_i   (write_silence_on),
    .waddr_i(write_silence_id),
    .wbe_i  (1'b1),
    .wdata_i(write_silence),
    .re_i   (fetch),
    .raddr_i(pick_q.found.conn[IdW-1:0]),
    .rdata_o(ram_silence)
  );

  // ---------------------------------------------------------------- diff
  typedef struct packed {
    logic [31:0] seq;       // seq - rcv_nxt; rx_ptr - credit
    logic [31:0] ack;       // ack - snd_una; tx_ptr - tx_end
    logic [31:0] ack_end;   // ack - tx_end
    logic [16:0] sent;      // sent and not acknowledged
    logic [16:0] free;      // room in the receive ring
    logic [16:0] wnd;       // the peer's window in bytes
    logic [15:0] rtt;       // since the timed segment
    logic        expired;
    logic        rtt_past;  // the ACK covers the timed segment
    logic        rec_past;  // ... and everything that was lost
    logic        rec_beyond;  // ... and more
    logic        una_past_rec;
    logic        same_link;  // the segment comes from where the connection's segments go
    logic        told;       // a challenge ACK was sent a moment ago
    logic        nxt_behind;  // the ACK is beyond snd_nxt
    logic        isn_below;  // our number for a SYN is not above what was sent
    logic        silent;     // keep-alive probes are due
    seconds_t    keep;       // seconds since the first one
    logic        bored;      // no request came for too long
  } diff_t;

  event_t diff_ev_q;
  diff_t diff;
  tcb_t diff_tcb, fresh;
  peer_t diff_peer;
  assign diff_tcb  = ram_tcb;
  assign diff_peer = ram_peer;
  always_ff @(posedge clk_i) if (fetch) diff_ev_q <= pick_q;

  logic diff_app;
  seg_t diff_seg;
  logic [19:0] diff_late;
  logic [29:0] diff_wnd;
  logic [11:0] diff_told;
  logic diff_fresh;  // a new connection: nothing lies between it and the segment
  logic [31:0] diff_above;
  assign diff_fresh = diff_ev_q.kind == KdSeg && diff_ev_q.found.fresh;
  assign diff_above = diff_ev_q.found.isn - diff_tcb.snd_max - 32'(RingBytes);
  assign diff_app  = diff_ev_q.kind == KdApp;
  assign diff_seg  = diff_ev_q.found.seg;
  assign diff_late = now_i - diff_tcb.deadline;
  // A connection without scaling keeps ws = 0.
  assign diff_wnd  = 30'(diff_seg.wnd) <<
      (diff_fresh ? diff_ev_q.found.agreed.ws : diff_tcb.ws);
  assign diff_told = now_i[17:6] - diff_tcb.told_at;

  always_comb begin
    diff.seq  = diff_seg.seq - (diff_app ? diff_tcb.credit : diff_tcb.rcv_nxt);
    diff.ack  = diff_seg.ack - (diff_app ? diff_tcb.tx_end : diff_tcb.snd_una);
    diff.ack_end = diff_seg.ack - diff_tcb.tx_end;
    diff.sent = 17'(diff_tcb.snd_max - diff_tcb.snd_una);
    // The FIN takes a number but no room.
    diff.free = 17'(diff_tcb.credit + 32'(diff_tcb.fin_rcvd) - diff_tcb.rcv_nxt) + Ring;
    diff.wnd  = (|diff_wnd[29:16]) ? Ring : diff_wnd[16:0];
    diff.rtt  = now_i[15:0] - diff_tcb.rtt_time;
    diff.expired      = diff_tcb.tm_on && !diff_late[19];
    // For an ACK of something new, so all of these are near each other.
    diff.rtt_past     = !near_lt(near_t'(diff_seg.ack), diff_tcb.rtt_seq);
    diff.rec_past     = !near_lt(near_t'(diff_seg.ack), diff_tcb.recover);
    diff.rec_beyond   = near_lt(diff_tcb.recover, near_t'(diff_seg.ack));
    diff.una_past_rec = near_lt(diff_tcb.recover, near_t'(diff_tcb.snd_una));
    diff.nxt_behind   = seq_lt(diff_tcb.snd_nxt, diff_seg.ack);
    diff.same_link    = same_link(diff_seg.peer, diff_peer);
    diff.told         = diff_tcb.told_on && diff_told < 12'(ToldUnits);
    diff.isn_below    = diff_above[31];
    // While something is to be acknowledged, that is asked for.
    diff.silent       = keep_alive_i != '0 && ram_silence.heard >= keep_alive_i &&
        !diff_tcb.tm_on;
    diff.keep         = ram_silence.heard - keep_alive_i;
    diff.bored        = idle_i != '0 && ram_silence.asked >= idle_i;
    if (diff_fresh) begin
      diff.seq     = '0;
      diff.ack     = '0;
      diff.ack_end = '0;
      diff.sent    = '0;
      diff.free    = Ring;
      diff.told    = 1'b0;
    end
  end

  tcp_fresh u_fresh (
    .old_i   (diff_tcb),
    .seq_i   (diff_seg.seq),
    .ack_i   (diff_seg.ack),
    .agreed_i(diff_ev_q.found.agreed),
    .wnd_i   (diff.wnd),
    .tcb_o   (fresh)
  );

  // ---------------------------------------------------------------- class
  typedef struct packed {
    logic        syn_only;
    logic        seq_eq;      // seq = rcv_nxt
    logic        seq_before;  // seq < rcv_nxt
    logic        seq_inside;  // in the window
    logic        seq_recent;  // less than a ring before rcv_nxt: sent again, or a keep-alive probe
    logic        has;         // carries data or FIN
    logic        has_data;
    logic        ooo;         // carries data for the ring, but none for rcv_nxt
    logic [16:0] ooo_room;    // for so many bytes from seq on there is room
    logic [31:0] end_;        // seq + len - rcv_nxt
    logic        ack_new;
    logic        ack_same;
    logic        ack_bad;     // of something never sent, or too old to be honest (RFC 5961, 5.2)
    near_t       ack_less1;
    logic        ack_fin;     // covers our FIN
    logic        wnd_same;
    logic        in_ss;       // slow start
    logic [16:0] cwnd_mss;    // cwnd + mss
    logic [16:0] grow_ss;     // slow start's growth
    logic [17:0] ca_sum;
    logic [16:0] partial;     // cwnd after a partial ACK
    logic [16:0] max_wnd;     // with this segment's window
    logic [16:0] half;        // new ssthresh
    logic [16:0] half_fast;   // the same without what limited transmit has sent
    logic [16:0] mss2;
    logic signed [17:0] rtt_err;  // measured - srtt
    logic [15:0] rto2;        // backed off
    logic        quoted;      // KdTooBig: the segment is not acknowledged
    logic        smaller;     // ... and bigger than the path takes
    logic        hole;        // a timeout lowers the MSS to hole_mss
    logic [10:0] hole_mss;
  } class_t;

  event_t class_ev_q;
  diff_t class_diff_q;
  tcb_t class_tcb_q;
  peer_t class_peer_q;
  silence_t class_silence_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[0]) begin
      class_peer_q <= diff_peer;
      class_ev_q   <= diff_ev_q;
      class_diff_q <= diff;
      class_tcb_q  <= diff_fresh ? fresh : diff_tcb;
      class_silence_q <= diff_fresh ? '0 : ram_silence;
    end
  end

  class_t class_;
  seg_t class_seg;
  logic [16:0] rto_twice, class_left, class_back;
  logic class_recent_ack;
  assign class_seg = class_ev_q.found.seg;
  assign rto_twice  = {class_tcb_q.rto, 1'b0};
  assign class_left = minus(class_tcb_q.cwnd, class_diff_q.ack[16:0]);
  // snd_una - ack, where it is no more than twice the ring.
  assign class_back = 17'(-class_diff_q.ack[16:0]);
  assign class_recent_ack = &class_diff_q.ack[31:17] && class_back != '0 &&
      class_back <= class_tcb_q.max_wnd;

  always_comb begin
    class_.syn_only   = class_seg.flags.syn && !class_seg.flags.ack && !class_seg.flags.rst;
    class_.seq_eq     = class_diff_q.seq == '0;
    class_.seq_before = class_diff_q.seq[31];
    class_.seq_inside = class_diff_q.seq[31:17] == '0 &&
                        class_diff_q.seq[16:0] <= class_diff_q.free;
    class_.seq_recent = &class_diff_q.seq[31:16];
    class_.has        = class_seg.len != '0 || class_seg.flags.fin;
    class_.has_data   = class_seg.len != '0;
    class_.ooo_room   = class_diff_q.free - class_diff_q.seq[16:0];
    class_.ooo        = class_diff_q.seq[31:17] == '0 && class_diff_q.seq != '0 &&
        class_diff_q.seq[16:0] < class_diff_q.free && class_seg.len != '0;
    class_.end_       = class_diff_q.seq + 32'(class_seg.len);
    class_.ack_same   = class_diff_q.ack == '0;
    class_.ack_new    = class_diff_q.ack[31:17] == '0 && class_diff_q.ack != '0 &&
        class_diff_q.ack[16:0] <= class_diff_q.sent;
    class_.ack_bad    = !class_.ack_same && !class_.ack_new && !class_recent_ack;
    class_.ack_less1  = near_t'(class_seg.ack - 32'd1);
    class_.ack_fin    = class_diff_q.ack_end == 32'd1;
    class_.wnd_same   = class_diff_q.wnd == class_tcb_q.snd_wnd;
    class_.in_ss      = class_tcb_q.cwnd < class_tcb_q.ssthresh;
    class_.mss2       = 17'({class_tcb_q.mss, 1'b0});
    class_.cwnd_mss   = plus(class_tcb_q.cwnd, 17'(class_tcb_q.mss));
    class_.grow_ss    = lesser(class_diff_q.ack[16:0], class_.mss2);
    class_.ca_sum     = 18'(class_tcb_q.ca_count) + 18'(class_diff_q.ack[16:0]);
    // What left the network goes off, one segment comes back (RFC 6582, section 3.2, step 3).
    class_.partial    = class_left + ((class_diff_q.ack[16:0] >= 17'(class_tcb_q.mss) ||
        class_left < 17'(class_tcb_q.mss)) ? 17'(class_tcb_q.mss) : '0);
    class_.max_wnd    = greater(class_tcb_q.max_wnd, class_diff_q.wnd);
    class_.half       = greater({1'b0, class_diff_q.sent[16:1]}, class_.mss2);
    class_.half_fast  = (class_tcb_q.cwnd < class_diff_q.sent) ?
        greater({1'b0, class_tcb_q.cwnd[16:1]}, class_.mss2) : class_.half;
    class_.rtt_err    = 18'(class_diff_q.rtt) - 18'(class_tcb_q.srtt[18:3]);
    class_.quoted     = class_diff_q.ack[31:17] == '0 &&
        class_diff_q.ack[16:0] < class_diff_q.sent;
    class_.smaller    = class_seg.mss < 16'(class_tcb_q.mss);
    // Of less than that no segment is too big.
    class_.hole_mss   = (class_tcb_q.tries > 4'd2) ? HoleMssLeast : HoleMss;
    class_.hole       = class_tcb_q.tries > 4'd1 && class_tcb_q.mss > 14'(class_.hole_mss) &&
        class_diff_q.sent > 17'(class_.hole_mss);
    class_.rto2       = (rto_twice > 17'(RtoMax)) ? 16'(RtoMax) : rto_twice[15:0];
  end

  // ---------------------------------------------------------------- update
  typedef struct packed {
    logic        rst;       // send RST: the connection ends
    // answers to a segment by itself, whatever connection there is
    logic        synack;    // send SYN and ACK
    logic        stray;     // send RST: there is no such connection
    logic        refuse;    // say that there is no place, and FIN
    logic        above;     // our number for the SYN is to be moved
    logic        ack;       // send at least an ACK
    logic        challenge; // the same, if it was not done too often
    logic        own;       // the sender is the peer: its segments go there from now on
    logic        rexmit;    // send again what is at snd_una
    logic        probe;     // ... one byte of it, whatever the window
    logic        keep;      // send the keep-alive probe
    logic        send;      // send what may be sent
    logic        restart;   // set the timer anew
    logic        sample;    // compute the timeout from the measured round trips
    logic        fin;       // the peer's FIN is taken
    logic        idle;      // the session is told that the peer will send no more
    logic        free_id;
    logic        open;
    logic        acked;
    logic        data;
    logic        closed;
    logic [16:0] take;      // payload bytes taken
    logic        to_ring;   // ... and wanted
    logic        keep_ooo;  // ... though some are missing before them
    logic [16:0] jump;      // rcv_nxt goes on by so many bytes: these, and those kept behind them
    logic        credit;    // the session has read
  } act_t;

  event_t up_ev_q;
  diff_t up_diff_q;
  tcb_t up_tcb_q;
  class_t up_q;
  peer_t up_peer_q;
  silence_t up_silence_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[1]) begin
      up_peer_q <= class_peer_q;
      up_ev_q   <= class_ev_q;
      up_diff_q <= class_diff_q;
      up_tcb_q  <= class_tcb_q;
      up_silence_q <= class_silence_q;
      up_q      <= class_;
    end
  end

  seg_t up_seg;
  found_t up_found;
  assign up_found = up_ev_q.found;
  assign up_seg   = up_found.seg;
  // Duplicate ACKs so far, with those that came as one.
  logic [2:0] dups;
  assign dups = 3'(up_tcb_q.dupacks) + 3'd1 + 3'(up_found.dups);

  tcb_t up_next;
  silence_t up_silence;
  act_t act;
  logic known, ended, replace, in_order, whole, fresh_data, ooo_data, over;
  logic heard, seq_ok, is_open, is_wait, is_shut, good, again, said_all, unread;
  logic [17:0] ca_left;
  logic [17:0] rtt_abs;
  logic [TcpCounts-1:0] up_count;

  // What came out of order goes through all stages beside the rest.
  logic [16:0] ooo_jump;
  logic ooo_some, ooo_past, ooo_place, ooo_sack;
  spans_t fi_spans;
  near_t diff_room;
  assign diff_room = near_t'(diff_fresh ? diff_seg.seq : diff_tcb.credit) + near_t'(RingBytes);

  tcp_ooo #(
    .Conns(Conns)
  ) u_ooo (
    .clk_i,
    .rst_ni,
    .valid_i  (valid_q[5:0]),
    .fetch_i  (fetch),
    .id_i     (pick_q.found.conn[IdW-1:0]),
    .from_i   (near_t'(pick_q.found.seg.seq)),
    .len_i    (pick_q.found.seg.len),
    .fresh_i  (diff_fresh),
    .sack_ok_i(diff_ev_q.found.agreed.sack_ok),
    .edge_i   (diff_room),
    .rcv_nxt_i(near_t'(class_tcb_q.rcv_nxt)),
    .jump_o   (ooo_jump),
    .some_o   (ooo_some),
    .past_o   (ooo_past),
    .place_o  (ooo_place),
    .take_i   (good && fresh_data),
    .keep_i   (act.keep_ooo),
    .clear_i  (act.open),
    .sack_o   (ooo_sack),
    .spans_o  (fi_spans)
  );

  always_comb begin
    up_next  = up_tcb_q;
    up_silence = up_silence_q;
    act      = '0;
    over     = 1'b0;
    up_count = '0;

    is_open = up_tcb_q.state == StOpen;
    is_wait = up_tcb_q.state == StTimeWait;
    is_shut = up_tcb_q.snd_wnd == '0;
    // Where the peer closed first, or reset, it is as if there were no connection; but what began
    // it and comes late must not begin it again.
    ended   = up_found.hit && is_wait && !up_tcb_q.fin_first;
    known   = up_found.hit && (is_open || (is_wait && up_tcb_q.fin_first));
    // RFC 9293 lets a newer SYN reuse a connection in TIME_WAIT; a stranger's does not.
    replace = is_wait && up_diff_q.same_link && !up_q.seq_before;

    // seq <= rcv_nxt <= seq + len
    in_order   = (up_q.seq_before || up_q.seq_eq) && !up_q.end_[31];
    seq_ok     = in_order || up_q.seq_inside;
    whole      = up_q.end_ <= 32'(up_diff_q.free);
    // We have closed, and all that was said has arrived (a RST might overtake it).
    said_all   = up_tcb_q.close && !up_diff_q.ack_end[31];
    fresh_data = in_order && up_q.end_ != '0 && !up_tcb_q.fin_rcvd && !said_all;
    ooo_data   = up_q.ooo && !up_tcb_q.fin_rcvd && !up_tcb_q.close;

    heard  = up_ev_q.kind == KdSeg && known && is_open;
    good   = heard && !up_seg.flags.rst && !up_seg.flags.syn && up_seg.flags.ack && seq_ok &&
             !up_q.ack_bad;
    unread = good && said_all && !up_tcb_q.fin_rcvd && up_q.has_data && !up_q.end_[31] &&
             up_q.end_ != '0;
    // Sent again because our ACK was lost, or to hear one: not taken, but only the peer knows these
    // numbers. A peer that heard no ACK while its router failed over sends nothing else.
    again  = up_ev_q.kind == KdSeg && known &&
             !up_seg.flags.rst && !up_seg.flags.syn && up_seg.flags.ack && up_q.seq_recent &&
             (up_q.ack_same || up_q.ack_new);

    ca_left      = up_q.ca_sum - 18'(up_tcb_q.cwnd);
    rtt_abs      = up_q.rtt_err[17] ? -up_q.rtt_err : up_q.rtt_err;

    unique case (up_ev_q.kind)
      KdSeg: begin
        up_count[TcpCountSegsIn] = 1'b1;
        if (up_found.early) begin
          up_count[TcpCountEarly] = 1'b1;
        end else if (up_found.refused) begin
          act.refuse = 1'b1;
        end else if (up_q.syn_only && (!known || replace)) begin
          act.synack = 1'b1;
          // What was in TIME_WAIT makes room, so that the peer's ACK opens a new connection.
          if (known || ended) begin
            up_next.state = up_tcb_q.released ? StFree : StDead;
            act.free_id   = up_tcb_q.released;
            act.above     = up_diff_q.isn_below;
          end
        end else if (!known) begin
          // An id that is just being given back: what comes now may be for the next connection,
          // and is sent again.
          act.stray = !up_seg.flags.rst && (!up_found.hit || ended);
        end else if (is_wait) begin
          act.ack       = !up_seg.flags.rst && !up_seg.flags.syn && up_q.has;
          act.challenge = !up_seg.flags.rst && up_seg.flags.syn;
        end else begin
          if (up_seg.flags.rst) begin
            if (up_q.seq_eq) begin
              over = 1'b1;
              up_next.fin_first = 1'b0;
              up_next.owe_ack   = 1'b0;
              up_count[TcpCountResetsIn] = 1'b1;
            end else begin
              act.challenge = up_q.seq_inside;
            end
          end else if (up_seg.flags.syn) begin
            act.challenge = 1'b1;
          end else if (up_seg.flags.ack) begin
            // Whoever sent data waits for this ACK, and no ACK answers it: never held back.
            act.ack       = !seq_ok && up_q.has;
            act.challenge = (!seq_ok && !up_q.has) || (seq_ok && up_q.ack_bad);
          end
        end
        if (good || again) begin
          act.own = 1'b1;
          // Who only has to close its half has a minute, whatever it says.
          if (!up_tcb_q.fin_acked) up_silence.heard = '0;
        end
        up_count[TcpCountMoved] = act.own && !up_found.fresh && !up_diff_q.same_link;
      end

      // Anybody can say so: who knows no sequence number in flight changes nothing (RFC 5927). What
      // is in flight goes again at once, and is no sign of congestion.
      KdTooBig: begin
        if (!up_found.hit || !is_open || !up_q.quoted) begin
          up_count[TcpCountPathMtuStrays] = 1'b1;
        end else if (up_q.smaller) begin
          if (up_tcb_q.in_rec) up_next.cwnd = up_tcb_q.ssthresh;
          up_next      = rewind(up_next);
          up_next.mss  = 14'(up_seg.mss);
          act.send     = 1'b1;
          act.restart  = 1'b1;
          up_count[TcpCountPathMtu] = 1'b1;
        end
      end

      KdApp: begin
        if (up_ev_q.release_id) begin
          up_next.released = 1'b1;
          act.free_id = up_tcb_q.state == StDead || (is_wait && up_tcb_q.over);
        end else if (is_open) begin
          if (!up_tcb_q.close) begin
            act.credit = !up_diff_q.seq[31];
            if (act.credit) up_next.credit = up_seg.seq;
            if (act.credit && !up_q.seq_eq) up_silence.asked = '0;
            if (!up_diff_q.ack[31]) up_next.tx_end = up_seg.ack;
            up_next.close = up_ev_q.close;
          end
          act.send = 1'b1;
          if (up_ev_q.reset) begin
            act.rst             = 1'b1;
            up_next.state       = StDead;
            up_next.tell_closed = 1'b1;
            up_count[TcpCountResetsOut] = 1'b1;
          end
        end
      end

      KdMore: begin
        up_next.in_more = 1'b0;
        if (up_tcb_q.tell_closed) begin
          up_next.tell_closed = 1'b0;
          act.closed          = 1'b1;
        end
        act.send   = is_open;
        act.ack    = up_tcb_q.owe_ack;
        act.rexmit = is_open && up_tcb_q.owe_again;
        up_next.owe_ack   = 1'b0;
        up_next.owe_again = 1'b0;
      end

      KdFast: begin
        up_next.in_fast = 1'b0;
        act.send        = is_open;
        act.ack         = is_open && up_tcb_q.pend != '0;
        if (is_open && up_diff_q.expired) begin
          up_next.rto   = up_q.rto2;
          up_next.tries = up_tcb_q.tries + 4'd1;
          act.restart   = 1'b1;
          if (up_tcb_q.tries == (is_shut ? 4'(ShutTries) : 4'(DataTries))) begin
            up_next.state = StDead;
            act.rst       = 1'b1;
            act.closed    = 1'b1;
            up_count[TcpCountShut]      = is_shut;
            up_count[TcpCountGiveUps]   = !is_shut;
            up_count[TcpCountResetsOut] = 1'b1;
          end else begin
            // Start again at snd_una (RFC 6298); the window may hold more than it did.
            up_next = rewind(up_next);
            if (is_shut) begin
              act.probe = 1'b1;
              up_count[TcpCountProbes] = 1'b1;
            end else begin
              if (up_tcb_q.tries == '0) up_next.ssthresh = up_q.half;
              // Perhaps the path swallows what is too big for it, and no router says so.
              if (up_q.hole) up_next.mss = 14'(up_q.hole_mss);
              up_count[TcpCountBlackHoles] = up_q.hole;
              up_next.cwnd     = 17'(up_next.mss);
              up_next.ca_count = '0;
              up_count[TcpCountTimeouts] = 1'b1;
            end
          end
        end
      end

      KdSlow: begin
        up_next.in_slow = 1'b0;
        if (up_silence_q.heard != '1) up_silence.heard = up_silence_q.heard + 16'd1;
        if (up_silence_q.asked != '1) up_silence.asked = up_silence_q.asked + 16'd1;
        if (!up_diff_q.told) up_next.told_on = 1'b0;
        if (is_open) begin
          if ((up_diff_q.silent &&
               up_diff_q.keep >= (pressed_i ? 16'(KeepPressed) : 16'(KeepEnd))) ||
              (up_tcb_q.fin_acked &&
               up_silence_q.heard >= (pressed_i ? 16'(Fin2Pressed) : 16'(Fin2End)))) begin
            up_next.state = StDead;
            act.rst       = 1'b1;
            act.closed    = 1'b1;
            up_count[TcpCountGiveUps]   = 1'b1;
            up_count[TcpCountResetsOut] = 1'b1;
          end else begin
            act.keep = up_diff_q.silent && up_diff_q.keep % 16'(KeepEvery) == '0;
            up_count[TcpCountKeepAlives] = act.keep;
            // As if the peer had closed its half: what it asked for is still answered.
            act.idle = up_diff_q.bored && !up_tcb_q.close;
            if (act.idle) up_silence.asked = '0;
            up_count[TcpCountIdle] = act.idle;
          end
        end
      end

      default: begin  // KdWait
        up_next.in_wait = 1'b0;
        // An entry may be left from an earlier life of the id: then the time is not over.
        if (is_wait && (up_diff_q.expired || up_ev_q.hurry)) begin
          up_next.over = 1'b1;
          act.free_id  = up_tcb_q.released;
          up_count[TcpCountRecycled] = !up_diff_q.expired;
        end
      end
    endcase

    if (good) begin
      act.send = 1'b1;
      act.open = up_found.fresh;
      up_count[TcpCountOpened] = up_found.fresh;
      // ---- the ACK
      if (up_q.ack_new) begin
        up_next.snd_una   = up_seg.ack;
        up_next.owe_again = 1'b0;
        if (up_diff_q.nxt_behind) up_next.snd_nxt = up_seg.ack;
        up_next.tries     = '0;
        up_next.dupacks   = '0;
        up_next.fin_acked = up_q.ack_fin;
        act.restart       = 1'b1;
        act.acked         = 1'b1;
        up_silence.asked  = '0;
        if (up_diff_q.rec_beyond) up_next.recover = up_q.ack_less1;
        if (up_tcb_q.in_rec && !up_diff_q.rec_past) begin
          // a partial ACK: the next segment is lost as well (RFC 6582)
          act.rexmit   = 1'b1;
          up_next.cwnd = up_q.partial;
        end else if (up_tcb_q.in_rec) begin
          up_next.in_rec = 1'b0;
          up_next.cwnd   = up_tcb_q.ssthresh;
        end else if (up_q.in_ss) begin
          up_next.cwnd = plus(up_tcb_q.cwnd, up_q.grow_ss);
        end else if (!ca_left[17]) begin
          up_next.cwnd     = up_q.cwnd_mss;
          up_next.ca_count = (ca_left > 18'(Ring)) ? '0 : ca_left[16:0];
        end else begin
          up_next.ca_count = up_q.ca_sum[16:0];
        end
        if (up_tcb_q.rtt_on && up_diff_q.rtt_past) begin
          up_next.rtt_on    = 1'b0;
          up_next.rtt_valid = 1'b1;
          act.sample        = 1'b1;
          if (!up_tcb_q.rtt_valid) begin
            up_next.srtt   = {up_diff_q.rtt, 3'b0};
            up_next.rttvar = {1'b0, up_diff_q.rtt, 1'b0};
          end else begin
            up_next.srtt   = up_tcb_q.srtt + {up_q.rtt_err[17], up_q.rtt_err};
            up_next.rttvar = up_tcb_q.rttvar + rtt_abs - {2'b0, up_tcb_q.rttvar[17:2]};
          end
        end
      end else if (up_q.ack_same && up_diff_q.sent != '0 && !up_q.has && up_q.wnd_same &&
                   up_diff_q.wnd != '0) begin
        // a duplicate ACK: something arrived behind a hole
        if (up_tcb_q.in_rec) up_next.cwnd = up_q.cwnd_mss;
        else if (up_tcb_q.dupacks != 2'd3) begin
          up_next.dupacks = (dups > 3'd3) ? 2'd3 : dups[1:0];
          if (up_next.dupacks == 2'd3 && up_diff_q.una_past_rec) begin
            act.rexmit       = 1'b1;
            act.restart      = 1'b1;
            up_next.in_rec   = 1'b1;
            up_next.recover  = near_t'(up_tcb_q.snd_max);
            up_next.ssthresh = up_q.half_fast;
            up_next.cwnd     = plus(up_q.half_fast, up_q.mss2 + 17'(up_tcb_q.mss));
            up_count[TcpCountFastRexmits] = 1'b1;
          end
        end
      end
      // What fills a hole is older than what is kept behind it (RFC 9293's SND.WL1).
      if (!up_q.seq_before && !up_diff_q.ack[31] && !(up_q.seq_eq && ooo_some)) begin
        up_next.snd_wnd = up_diff_q.wnd;
        up_next.max_wnd = up_q.max_wnd;
        if (is_shut && up_diff_q.wnd != '0) begin
          // The window opens: forget the probes and their backoff.
          act.restart   = 1'b1;
          act.sample    = up_next.rtt_valid;
          up_next.rto   = 16'(RtoInit);
          up_next.tries = '0;
        end
      end
      // ---- the data: in order, or kept until they are. A FIN that comes too early is not.
      act.keep_ooo = ooo_data && ooo_place;
      if (fresh_data) begin
        act.take = whole ? up_q.end_[16:0] : up_diff_q.free;
        act.jump = ooo_jump;
      end else if (act.keep_ooo) begin
        act.take = whole ? {1'b0, up_seg.len} : up_q.ooo_room;
      end
      act.to_ring = act.take != '0 && !up_tcb_q.close;
      act.data    = act.to_ring && fresh_data;
      act.fin     = up_seg.flags.fin && in_order && whole && !unread && !up_tcb_q.fin_rcvd &&
                    !ooo_past;
      if (act.fin) up_next.fin_rcvd = 1'b1;
      // What is out of order, or fills a hole, is answered at once (RFC 5681, section 4.2).
      act.ack = !unread && up_q.has && (!fresh_data || !whole || up_seg.flags.fin || ooo_some);
      up_count[TcpCountOooKept] = act.keep_ooo;
      up_count[TcpCountOooFull] = ooo_data && !ooo_place;
    end
    if (unread) begin
      // From here on it is as if there were no connection.
      over      = 1'b1;
      act.stray = 1'b1;
      up_next.fin_first = 1'b0;
      up_next.owe_ack   = 1'b0;
      up_count[TcpCountUnread] = 1'b1;
    end

    up_count[TcpCountDropped] = up_ev_q.kind == KdSeg && up_q.has_data &&
                                (act.take == '0 || !whole);

    // ---- both halves closed
    if (good && up_tcb_q.fin_acked) up_next.fin_acked = 1'b1;
    if (good && up_next.fin_rcvd && up_next.fin_acked) over = 1'b1;
    if (over) begin
      act.closed       = 1'b1;
      up_next.state    = StTimeWait;
      up_next.deadline = now_i + 20'(time_wait_i);
      up_next.tm_on    = 1'b1;
    end
    if (act.free_id) begin
      up_next.state   = StFree;
      up_next.owe_ack = 1'b0;
    end
    if (up_next.state == StFree || up_next.state == StDead) begin
      up_next.tm_on = 1'b0;
      up_next.pend  = '0;
    end
    up_count[TcpCountClosed] = act.closed;
  end

  // ---------------------------------------------------------------- measure
  typedef struct packed {
    conn_t       conn;
    logic        own;   // peer is to be kept
    peer_t       peer;
    // of an answer to a segment by itself
    logic [31:0] seq, ack;
    logic        has_ack;
    logic        ws_valid;
    logic        sack_ok;
  } who_t;

  event_t me_ev_q;
  peer_t me_peer_q;
  tcb_t me_tcb_q, me_next;
  act_t me_q;
  diff_t me_diff_q;
  class_t me_class_q;
  logic [TcpCounts-1:0] me_count_q;
  logic me_was_open_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      me_ev_q    <= up_ev_q;
      me_peer_q  <= up_peer_q;
      me_tcb_q   <= up_next;
      write_silence <= up_silence;
      me_q       <= act;
      me_diff_q  <= up_diff_q;
      me_class_q <= up_q;
      me_was_open_q <= up_tcb_q.state == StOpen;
    end
    me_count_q <= valid_q[2] ? up_count : '0;
  end

  logic me_valid;
  assign me_valid = valid_q[3];

  assign write_silence_on = held_q[3];
  assign write_silence_id = me_ev_q.found.conn[IdW-1:0];

  // Held back: a connection's challenge ACKs if one was just sent (two peers that challenge each
  // other's would never end), everybody's if there are very many, and so are RSTs to strangers
  // (RFC 5961, section 7). Neither is worth a wait for room.
  logic me_challenge, me_stray;
  assign me_challenge = me_q.challenge && !me_diff_q.told && challenge_ok_i && !me_ev_q.quiet;
  assign me_stray     = me_q.stray && stray_ok_i && !me_ev_q.quiet;
  assign challenge_o  = me_valid && me_challenge;
  assign stray_o      = me_valid && me_stray;
  always_comb begin
    count_o = me_count_q;
    count_o[TcpCountSegsOut]        = cmd_valid_o;
    count_o[TcpCountChallenges]     = challenge_o;
    count_o[TcpCountChallengesHeld] = me_valid && me_q.challenge && !me_challenge;
    count_o[TcpCountStrays]         = stray_o;
    count_o[TcpCountStraysHeld]     = me_valid && me_q.stray && !me_stray;
  end

  // Open connections count against the limit.
  assign unused_o = me_valid && me_was_open_q && me_tcb_q.state != StOpen;
  assign opened_o = me_valid && me_q.open;
  assign closed_o = me_valid && me_q.closed;

  verdict_t verdict;
  seg_t me_seg;
  logic [31:0] rx_ptr;
  logic [15:0] me_rto;
  logic [18:0] me_rto_sum;
  assign me_seg = me_ev_q.found.seg;
  assign rx_ptr = me_tcb_q.rcv_nxt + 32'(me_q.jump);
  assign me_rto_sum = 19'(me_tcb_q.srtt[18:3]) +
      ((me_tcb_q.rttvar == '0) ? 19'd1 : 19'(me_tcb_q.rttvar));
  assign me_rto = (me_rto_sum < 19'(RtoMin)) ? 16'(RtoMin) :
      (me_rto_sum > 19'(RtoMax)) ? 16'(RtoMax) : me_rto_sum[15:0];

  logic me_seg_len;
  assign me_seg_len = me_ev_q.kind == KdSeg && me_class_q.has_data;
  always_comb begin
    verdict = '{
        conn: me_ev_q.found.conn,
        len: me_seg_len ? me_seg.len : '0,
        skip: me_class_q.seq_before ? 16'(-me_diff_q.seq[15:0]) : '0,
        take: me_q.to_ring ? me_q.take[15:0] : '0,
        open: me_q.open,
        acked: me_q.acked,
        data: me_q.data,
        fin: me_q.fin || me_q.idle,
        closed: me_q.closed,
        rx_from: me_q.keep_ooo ? me_seg.seq : me_tcb_q.rcv_nxt,
        rx_ptr: rx_ptr,
        tx_ptr: me_tcb_q.snd_una - 32'(me_tcb_q.fin_acked)
    };
  end
  assign verdict_o       = verdict;
  assign verdict_valid_o = me_valid &&
      (me_seg_len || me_q.open || me_q.acked || me_q.data || me_q.fin || me_q.idle ||
       me_q.closed);

  always_comb begin
    me_next = me_tcb_q;
    me_next.rcv_nxt = rx_ptr + 32'(me_q.fin);
    // After close nobody reads: the ring stays empty.
    if (me_tcb_q.close && (me_q.fin || !me_tcb_q.fin_rcvd)) me_next.credit = rx_ptr;
    me_next.pend = plus(me_tcb_q.pend, me_q.jump);
    me_next.adv  = minus(me_tcb_q.adv, me_q.jump);
    if (me_q.sample) me_next.rto = me_rto;
    if (me_challenge) begin
      me_next.told_on = 1'b1;
      me_next.told_at = now_i[17:6];
    end
  end

  typedef struct packed {
    logic        quiet;     // nothing may be sent now
    logic        send;      // segments of an open connection may go
    logic        from_una;  // from snd_una, not from snd_nxt
    logic        probe;
    logic        force_ack;
    logic        blind;     // an answer to a segment by itself
    logic        synack, rst, stray, refuse, keep, restart, free_id;
    logic [16:0] flight;
    logic [31:0] unsent;    // from snd_nxt; -1: FIN is out
    logic [31:0] unacked;   // from snd_una
    logic [16:0] wnd;       // smaller of cwnd and the peer's window
    logic [16:0] free;
    logic [16:0] mss2;
  } measure_t;

  measure_t me;
  who_t me_who;
  logic [16:0] me_cwnd;
  always_comb begin
    // The first two duplicate ACKs let a new segment go each, or a small window would never see the
    // third (limited transmit, RFC 3042).
    me_cwnd = me_tcb_q.cwnd;
    if (!me_tcb_q.in_rec && me_diff_q.una_past_rec) begin
      if (me_tcb_q.dupacks == 2'd1) me_cwnd = plus(me_tcb_q.cwnd, 17'(me_tcb_q.mss));
      if (me_tcb_q.dupacks == 2'd2) me_cwnd = plus(me_tcb_q.cwnd, me_class_q.mss2);
    end
    me.quiet     = me_ev_q.quiet;
    me.send      = me_q.send && me_tcb_q.state == StOpen;
    me.from_una  = (me_q.rexmit || me_q.probe) && me_tcb_q.state == StOpen;
    me.probe     = me_q.probe;
    me.force_ack = me_q.ack || me_challenge;
    me.blind     = me_q.synack || me_stray || me_q.refuse;
    me.synack    = me_q.synack;
    me.rst       = me_q.rst;
    me.stray     = me_stray;
    me.refuse    = me_q.refuse;
    me.keep      = me_q.keep;
    me.restart   = me_q.restart;
    me.free_id   = me_q.free_id;
    me.flight    = 17'(me_tcb_q.snd_nxt - me_tcb_q.snd_una);
    me.unsent    = me_tcb_q.tx_end - me_tcb_q.snd_nxt;
    me.unacked   = me_tcb_q.tx_end - me_tcb_q.snd_una;
    me.wnd       = lesser(me_cwnd, me_tcb_q.snd_wnd);
    me.free      = me_tcb_q.close ? Ring : me_q.credit ? me_diff_q.free + me_diff_q.seq[16:0] :
        me_diff_q.free - me_q.jump;
    me.mss2      = me_class_q.mss2;
    me_who = '{
        conn: me_ev_q.found.conn,
        own: me_q.own,
        // Nothing about a connection goes to anybody but its peer.
        peer: (me_q.own || me_q.synack || me_q.stray || me_q.refuse) ? me_seg.peer : me_peer_q,
        // Above all that the peer's last connection sent, if that was in TIME_WAIT, so that nothing
        // of it fits the new one (RFC 9293, section 3.6.1). The cookie's highest bit says nothing.
        seq: me_q.synack ? me_ev_q.found.isn ^ {me_q.above, 31'd0} :
             me_seg.flags.ack ? me_seg.ack : '0,
        ack: me_seg.seq + 32'(me_seg.len) + 32'(me_seg.flags.syn) + 32'(me_seg.flags.fin),
        has_ack: me_q.synack || me_q.refuse || !me_seg.flags.ack,
        ws_valid: me_seg.ws_valid,
        sack_ok: me_seg.sack_ok
    };
  end

  // ---------------------------------------------------------------- limit
  tcb_t li_tcb_q;
  measure_t li_q;
  who_t li_who_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[3]) begin
      li_tcb_q <= me_next;
      li_q     <= me;
      li_who_q <= me_who;
    end
  end

  typedef struct packed {
    logic [16:0] usable;    // what the windows leave
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
  } limit_t;

  limit_t li;
  logic [16:0] li_unsent, li_unacked, li_mss;
  always_comb begin
    li_mss     = 17'(li_tcb_q.mss);
    // Never more than a ring, but for the FIN.
    li_unsent  = li_q.unsent[31] ? '0 : li_q.unsent[16:0];
    li_unacked = li_q.unacked[31] ? '0 : li_q.unacked[16:0];
    li.usable  = minus(li_q.wnd, li_q.flight);
    li.want    = 14'(lesser(li_unsent, li_mss));
    li.again   = 14'(lesser(li_unacked, li_q.probe ? 17'd1 : li_mss));
    li.again_all = li_unacked <= (li_q.probe ? 17'd1 : li_mss);
    li.ack_due = li_tcb_q.pend >= li_q.mss2;
    li.gain    = minus(li_q.free, li_tcb_q.adv);
    li.fin_out = li_q.unsent[31];
    li.waits   = li_tcb_q.snd_max != li_tcb_q.snd_una ||
        (li_tcb_q.snd_wnd == '0 && li_unsent != '0);
    // The window is told in units of 128 bytes, or up to 65535 bytes.
    li.wnd     = li_tcb_q.ws_ok ? 16'(li_q.free[16:7]) : (li_q.free[16]) ? '1 : li_q.free[15:0];
    li.adv     = li_tcb_q.ws_ok ? {li_q.free[16:7], 7'd0} : {1'b0, li.wnd};
    li.deadline = now_i + 20'(li_tcb_q.rto);
  end

  // ---------------------------------------------------------------- choose
  tcb_t ch_tcb_q;
  measure_t ch_q;
  limit_t ch_li_q;
  who_t ch_who_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[4]) begin
      ch_tcb_q <= li_tcb_q;
      ch_q     <= li_q;
      ch_li_q  <= li;
      ch_who_q <= li_who_q;
    end
  end

  // A segment that is short of the windows alone waits for the next ACK (no silly windows); with
  // nothing in flight none would come.
  logic short_, hold, ch_first, ch_data, ch_fin, ch_update, ch_due;
  logic [13:0] ch_len;
  typedef struct packed {
    logic        valid;
    logic        data;   // carries data or FIN from seq on
    logic        fin;
    logic        psh;
    logic        owe;    // quiet, and it would have been valid
    logic        more;   // there may be something left to send
    logic        waits;  // something is unacknowledged, or waits for a shut window
    logic        pends;  // bytes taken are not acknowledged
    logic [13:0] len;
    logic [31:0] seq;
  } choice_t;
  choice_t ch;

  always_comb begin
    short_  = ch_li_q.usable < 17'(ch_li_q.want);
    hold    = short_ && ch_q.flight != '0;
    // A SACK option leaves no room for data in the first beat: they follow in a segment of their own.
    ch_first = ch_q.force_ack && ooo_sack;
    ch_len  = ch_q.from_una ? ch_li_q.again : !ch_q.send || hold || ch_first ? '0 :
        short_ ? ch_li_q.usable[13:0] : ch_li_q.want;
    ch.psh  = ch_q.from_una ? ch_li_q.again_all : ch_q.unsent == 32'(ch_len);
    // FIN follows the last byte at once; it needs no window.
    ch_fin  = ch_tcb_q.close && ch.psh &&
        (ch_q.from_una ? !ch_tcb_q.fin_acked : ch_q.send && !ch_li_q.fin_out);
    ch_data = ch_len != '0 || ch_fin;
    ch_update = ch_q.send && !ch_tcb_q.adv[16] && !ch_tcb_q.adv[15] && ch_li_q.gain >= ch_q.mss2 &&
        !ch_tcb_q.fin_rcvd;
    ch.len  = ch_len;
    ch.fin  = ch_fin && !ch_q.quiet;
    ch.data = ch_data && !ch_q.quiet;
    ch_due  = ch_data || ch_q.force_ack || ch_q.blind || ch_q.rst || ch_q.keep ||
        (ch_q.send && ch_li_q.ack_due) || ch_update;
    ch.valid = ch_due && !ch_q.quiet;
    ch.owe   = ch_due && ch_q.quiet;
    ch.more = (ch_q.from_una && !ch_q.probe) || (ch_q.send && !ch.psh &&
        (ch_first ? ch_li_q.want != '0 : ch_len != '0 && !short_));
    ch.waits = ch_li_q.waits;
    ch.pends = ch_tcb_q.pend != '0;
    if (ch_q.blind) ch.seq = ch_who_q.seq;
    else if (ch_q.from_una) ch.seq = ch_tcb_q.snd_una;
    else if (ch_q.keep) ch.seq = ch_tcb_q.snd_una - 32'd1;
    // A bare ACK stands where the peer expects it: behind all we sent, not beyond a shut window.
    else if (ch_data || ch_tcb_q.snd_wnd == '0) ch.seq = ch_tcb_q.snd_nxt;
    else ch.seq = ch_tcb_q.snd_max;
  end

  // ---------------------------------------------------------------- finish
  tcb_t fi_tcb_q;
  measure_t fi_q;
  limit_t fi_li_q;
  who_t fi_who_q;
  choice_t fi_ch_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[5]) begin
      fi_tcb_q <= ch_tcb_q;
      fi_q     <= ch_q;
      fi_li_q  <= ch_li_q;
      fi_who_q <= ch_who_q;
      fi_ch_q  <= ch;
    end
  end

  logic fi_valid, fi_new, fi_rst;
  logic [31:0] fi_end, fi_max;
  tcb_t fi;
  assign fi_valid = held_q[6];
  assign fi_end   = fi_ch_q.seq + 32'(fi_ch_q.len) + 32'(fi_ch_q.fin);
  assign fi_new   = seq_lt(fi_tcb_q.snd_max, fi_end);
  assign fi_max   = (fi_ch_q.data && fi_new) ? fi_end : fi_tcb_q.snd_max;
  assign fi_rst   = fi_q.rst || fi_q.stray;

  logic fi_live, fi_waiting;
  logic [3:0] push;
  always_comb begin
    fi = fi_tcb_q;
    fi_live = fi_tcb_q.state == StOpen;
    if (fi_ch_q.valid && !fi_q.blind) begin
      fi.pend = '0;
      fi.adv  = fi_li_q.adv;
    end
    // Whatever is sent acknowledges.
    if (fi_ch_q.valid && !fi_q.blind) fi.owe_ack = 1'b0;
    if (fi_ch_q.owe) begin
      fi.owe_ack   = fi_tcb_q.owe_ack || fi_q.force_ack;
      fi.owe_again = fi_tcb_q.owe_again || fi_q.from_una;
    end
    fi.snd_max = fi_max;
    if (fi_ch_q.data && !fi_q.from_una) fi.snd_nxt = fi_end;
    if (fi_ch_q.fin && !fi_tcb_q.fin_rcvd) fi.fin_first = 1'b1;
    // Time one segment of new data at a time; never one that is sent again (Karn).
    if (fi_ch_q.data) begin
      if (fi_ch_q.seq != fi_tcb_q.snd_max) fi.rtt_on = 1'b0;
      else if (!fi_tcb_q.rtt_on) begin
        fi.rtt_on   = 1'b1;
        fi.rtt_seq  = near_t'(fi_end);
        fi.rtt_time = now_i[15:0];
      end
    end
    // The timer runs while something is unacknowledged, or the window is shut before waiting data.
    fi_waiting = fi_ch_q.data || fi_ch_q.waits;
    if (fi_live) begin
      fi.tm_on = fi_waiting;
      if (fi_q.restart || !fi_tcb_q.tm_on) fi.deadline = fi_li_q.deadline;
    end
    push[3] = fi_tcb_q.tell_closed || (fi_live && fi_ch_q.more) || fi_ch_q.owe;
    push[2] = fi_tcb_q.state == StTimeWait && !fi_tcb_q.over;
    push[1] = fi_live;
    push[0] = fi_live && (fi_waiting || (fi_ch_q.pends && !fi_ch_q.valid));
    push = push & ~{fi_tcb_q.in_more, fi_tcb_q.in_wait, fi_tcb_q.in_slow, fi_tcb_q.in_fast};
    if (push[3]) fi.in_more = 1'b1;
    if (push[2]) fi.in_wait = 1'b1;
    if (push[1]) fi.in_slow = 1'b1;
    if (push[0]) fi.in_fast = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    push_q      <= (rst_ni && fi_valid) ? push : '0;
    push_conn_o <= fi_who_q.conn;
  end
  assign push_o = push_q[2:0];

  assign write       = fi_valid;
  assign write_tcb   = fi;
  assign write_id    = fi_who_q.conn[IdW-1:0];
  assign write_peer_on = fi_valid && fi_who_q.own;
  assign write_peer    = fi_who_q.peer;
  assign del_valid_o = fi_valid && fi_q.free_id;
  assign del_o       = fi_who_q.conn;

  always_comb begin
    cmd_o             = '0;
    cmd_o.conn        = fi_who_q.conn;
    cmd_o.seg.peer    = fi_who_q.peer;
    cmd_o.seg.seq     = fi_ch_q.seq;
    cmd_o.refusal     = fi_q.refuse;
    cmd_o.seg.ack     = !fi_q.blind ? fi_tcb_q.rcv_nxt : fi_who_q.has_ack ? fi_who_q.ack : '0;
    cmd_o.seg.flags.ack = !fi_q.blind || fi_who_q.has_ack;
    cmd_o.seg.flags.rst = fi_rst;
    cmd_o.seg.flags.syn = fi_q.synack;
    cmd_o.seg.flags.fin = fi_ch_q.fin || fi_q.refuse;
    cmd_o.seg.flags.psh = (fi_ch_q.len != '0 && fi_ch_q.psh) || fi_q.refuse;
    cmd_o.seg.wnd     = fi_rst ? '0 : fi_q.blind ? '1 : fi_li_q.wnd;
    cmd_o.seg.len     = fi_q.refuse ? 16'(RefusalBytes) : 16'(fi_ch_q.len);
    cmd_o.seg.mss_valid = fi_q.synack;
    cmd_o.seg.mss     = 16'(own_mss_i);
    cmd_o.seg.ws_valid = fi_q.synack && fi_who_q.ws_valid;
    cmd_o.seg.ws      = 4'd7;
    cmd_o.seg.sack_ok = fi_q.synack && fi_who_q.sack_ok;
    if (!fi_q.blind && !fi_rst && fi_ch_q.len == '0) cmd_o.seg.sack = fi_spans;
  end
  assign cmd_valid_o = valid_q[6] && fi_ch_q.valid;

  assign idle_o = cleared && !pick_valid && valid_q == '0 && push_q == '0 && more_level == '0;

  `ASSERT(quiet, !cmd_valid_o || !fi_q.quiet)
  `ASSERT(conn_in_range, !fetch || 32'(pick_q.found.conn) < Conns)
  `ASSERT(order, !fi_valid || fi.state != StOpen || !seq_lt(fi.snd_max, fi.snd_nxt))
  `ASSERT(una, !fi_valid || fi.state != StOpen || !seq_lt(fi.snd_nxt, fi.snd_una))
  if ($bits(tcb_t) > 512) begin : gen_big_tcb
    $error("%m: the hot state of a connection exceeds 64 bytes");
  end

endmodule
