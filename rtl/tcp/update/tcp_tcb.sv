// The connection table and everything that decides about a connection: one pipe that segments,
// commands of the scheduler and timer visits go through, one event a clock. Latency 9 (a segment's
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
// Here are the registers between the stages. What a stage does stands in the module of its name
// (pick and fetch: tcp_pick; limit, choose and finish: tcp_send), the records between them in
// tcb_pkg. Four things take several stages: tcp_congestion, tcp_rto, tcp_ooo and tcp_score.
//
// One event sends at most one segment. A connection with more to send puts itself into the `more`
// queue, once. A quiet event sends none and leaves it to `more`: what comes in never waits for room
// to send, or a few that read much would keep everybody's segments out.
`include "lib_assert.svh"

module tcp_tcb
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024,
  /// See tcp_share; less only in tests.
  parameter int unsigned Patience = 2048
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Ticks and seconds since reset.
  input  logic [31:0]  now_i,
  input  seconds_t     second_i,
  /// The largest payload that we send, and take.
  input  logic [13:0]  own_mss_i,
  input  logic [15:0]  time_wait_i,
  /// Seconds of silence before the first keep-alive probe; 0: none is sent.
  input  seconds_t     keep_alive_i,
  /// Seconds without a request after which a connection is closed; 0: it stays.
  input  seconds_t     idle_i,
  /// Places are short: who does not answer a keep-alive probe loses its own.
  input  logic         pressed_i,
  /// Slow visits come each RareSeconds, as tcp_timers was told.
  input  logic         rare_i,
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
  /// A connection that is to be reset, as far as it is open: memory does not keep its bytes.
  input  logic         refused_valid_i,
  output logic         refused_ready_o,
  input  conn_t        refused_i,
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

  // ---------------------------------------------------------------- pick
  event_t pick_ev;
  logic cleared, fetch, pick_idle;
  logic [3:0] push, push_q;  // more, wait, slow, fast
  logic [Stages-1:0] valid, held;  // diff .. finish hold an event; one of a connection
  logic me_valid, me_held, fi_held;
  assign me_valid = valid[3];
  assign me_held  = held[3];
  assign fi_held  = held[6];

  tcp_pick #(
    .Conns   (Conns),
    .Patience(Patience)
  ) u_pick (
    .clk_i,
    .rst_ni,
    .ready_i    (cleared),
    .seg_valid_i,
    .seg_ready_o,
    .seg_i,
    .app_valid_i,
    .app_ready_o,
    .app_i,
    .refused_valid_i,
    .refused_ready_o,
    .refused_i,
    .visit_valid_i,
    .visit_ready_o,
    .visit_i,
    .hurry_i,
    .more_i     (push_q[3]),
    .more_conn_i(push_conn_o),
    .verdict_room_i,
    .cmd_room_i,
    .del_room_i,
    .fetch_o    (fetch),
    .ev_o       (pick_ev),
    .valid_o    (valid),
    .held_o     (held),
    .idle_o     (pick_idle)
  );

  // ---------------------------------------------------------------- fetch
  tcb_t ram_tcb, write_tcb;
  peer_t ram_peer;
  silence_t ram_silence;
  work_t me_q;
  measure_t fi;

  tcp_table #(
    .Conns(Conns)
  ) u_table (
    .clk_i,
    .rst_ni,
    .ready_o        (cleared),
    .read_i         (fetch),
    .read_id_i      (pick_ev.found.conn[IdW-1:0]),
    .tcb_o          (ram_tcb),
    .peer_o         (ram_peer),
    .silence_o      (ram_silence),
    .write_i        (fi_held),
    .write_id_i     (fi.who.conn[IdW-1:0]),
    .tcb_i          (write_tcb),
    .write_peer_i   (fi_held && fi.who.own),
    .peer_i         (fi.who.peer),
    .write_silence_i(me_held),
    .silence_id_i   (me_q.ev.found.conn[IdW-1:0]),
    .silence_i      (me_q.silence)
  );

  // ---------------------------------------------------------------- diff
  event_t diff_ev_q;
  always_ff @(posedge clk_i) diff_ev_q <= pick_ev;  // whether it goes on is known late

  work_t diff;
  logic diff_fresh;
  tcp_diff u_diff (
    .now_i,
    .second_i,
    .keep_alive_i,
    .idle_i,
    .ev_i     (diff_ev_q),
    .tcb_i    (ram_tcb),
    .peer_i   (ram_peer),
    .silence_i(ram_silence),
    .fresh_o  (diff_fresh),
    .work_o   (diff)
  );

  // ---------------------------------------------------------------- class
  work_t class_q;
  always_ff @(posedge clk_i) if (valid[0]) class_q <= diff;

  class_t class_;
  tcp_class u_class (
    .work_i (class_q),
    .class_o(class_)
  );

  // ---------------------------------------------------------------- update
  work_t up_q;
  always_ff @(posedge clk_i) begin
    if (valid[1]) begin
      up_q        <= class_q;
      up_q.class_ <= class_;
    end
  end

  tcb_t up_tcb;
  silence_t up_silence;
  act_t act;
  signs_t signs;
  cong_t up_cong;
  rtt_t up_rtt;
  logic up_rexmit, up_fast;
  logic [TcpCounts-1:0] up_count;
  logic [16:0] ooo_jump;
  logic ooo_some, ooo_past, ooo_place, ooo_sack;
  logic me_sacked, me_sack_ok;
  sack_t sack;

  tcp_update u_update (
    .now_i      (now_i[19:0]),
    .time_wait_i,
    .pressed_i,
    .rare_i,
    .work_i     (up_q),
    .ooo_jump_i (ooo_jump),
    .ooo_some_i (ooo_some),
    .ooo_past_i (ooo_past),
    .ooo_place_i(ooo_place),
    .sack_i     (sack),
    .tcb_o      (up_tcb),
    .silence_o  (up_silence),
    .act_o      (act),
    .signs_o    (signs),
    .count_o    (up_count)
  );

  // ---------------------------------------------------------------- measure
  act_t me_act_q;
  logic [TcpCounts-1:0] me_count_q, me_count;
  logic me_was_open_q;
  always_ff @(posedge clk_i) begin
    if (valid[2]) begin
      me_q          <= up_q;
      me_q.tcb      <= up_tcb;
      me_q.tcb.cong <= up_cong;
      me_q.tcb.rtt  <= up_rtt;
      if (up_fast) me_q.tcb.tail <= TailNone;
      me_q.silence  <= up_silence;
      me_act_q         <= act;
      me_act_q.rexmit  <= act.rexmit || up_rexmit;
      me_act_q.restart <= act.restart || up_fast;
      me_was_open_q    <= up_q.tcb.state == StOpen;
    end
    me_count_q <= valid[2] ? up_count : '0;
    me_count_q[TcpCountFastRexmits] <= valid[2] && up_fast;
  end

  tcb_t me_tcb, me_next;
  rtt_t me_rtt;
  logic [16:0] me_cwnd;
  measure_t me;

  tcp_measure u_measure (
    .now_i,
    .challenge_ok_i,
    .stray_ok_i,
    .valid_i  (me_valid),
    .work_i   (me_q),
    .act_i    (me_act_q),
    .sack_ok_i(me_sack_ok),
    .sacked_i (me_sacked),
    .tcb_o    (me_tcb),
    .measure_o(me),
    .verdict_valid_o,
    .verdict_o,
    .challenge_o,
    .stray_o,
    .count_i  (me_count_q),
    .count_o  (me_count)
  );

  // Open connections count against the limit.
  assign unused_o = me_valid && me_was_open_q && me_q.tcb.state != StOpen;
  assign opened_o = me_valid && me_act_q.open;
  assign closed_o = me_valid && me_act_q.closed;
  always_comb begin
    me_next     = me_tcb;
    me_next.rtt = me_rtt;
    count_o     = me_count;
    count_o[TcpCountSegsOut] = cmd_valid_o;
  end

  // ---------------------------------------------------------------- limit, choose, finish
  tcb_t fi_tcb;
  rtt_t fi_rtt;
  sent_t fi_sent;
  spans_t fi_spans;
  hole_t hole;

  tcp_send u_send (
    .clk_i,
    .rst_ni,
    .valid_i  (valid[6:3]),
    .now_i    (now_i[19:0]),
    .own_mss_i,
    .tcb_i    (me_next),
    .measure_i(me),
    .hole_i   (hole),
    .sack_i   (ooo_sack),
    .spans_i  (fi_spans),
    .measure_o(fi),
    .tcb_o    (fi_tcb),
    .sent_o   (fi_sent),
    .push_o   (push),
    .cmd_valid_o,
    .cmd_o
  );

  always_comb begin
    write_tcb     = fi_tcb;
    write_tcb.rtt = fi_rtt;
  end
  assign del_valid_o = fi_held && fi.free_id;
  assign del_o       = fi.who.conn;

  always_ff @(posedge clk_i) begin
    push_q      <= (rst_ni && fi_held) ? push : '0;
    push_conn_o <= fi.who.conn;
  end
  assign push_o = push_q[2:0];
  assign idle_o = cleared && pick_idle && push_q == '0;

  // ---------------------------------------------------------------- in several stages
  tcp_congestion u_congestion (
    .clk_i,
    .valid_i    (valid[1]),
    .class_i    (class_q),
    .up_i       (up_q),
    .up_signs_i (signs),
    .up_mss_i   (up_tcb.mss),
    .up_sack_i  (sack),
    .up_cong_o  (up_cong),
    .up_rexmit_o(up_rexmit),
    .up_fast_o  (up_fast),
    .me_i       (me_q),
    .me_sacked_i(me_sacked),
    .me_cwnd_o  (me_cwnd)
  );

  tcp_rto u_rto (
    .clk_i,
    .valid_i      (valid[2:1]),
    .class_rtt_i  (class_q.tcb.rtt),
    .class_ticks_i(class_q.diff.rtt),
    .up_rtt_i     (up_q.tcb.rtt),
    .up_ticks_i   (up_q.diff.rtt),
    .up_past_i    (up_q.diff.rtt_past),
    .up_told_i    (up_q.diff.rtt_told),
    .up_signs_i   (signs),
    .up_rtt_o     (up_rtt),
    .me_rtt_i     (me_q.tcb.rtt),
    .me_rtt_o     (me_rtt),
    .fi_rtt_i     (fi_tcb.rtt),
    .fi_sent_i    (fi_sent),
    .fi_stamps_i  (fi.times.valid),
    .fi_now_i     (now_i[15:0]),
    .fi_rtt_o     (fi_rtt)
  );

  tcp_ooo #(
    .Conns(Conns)
  ) u_ooo (
    .clk_i,
    .rst_ni,
    .valid_i  (valid[5:0]),
    .fetch_i  (fetch),
    .id_i     (pick_ev.found.conn[IdW-1:0]),
    .from_i   (near_t'(pick_ev.found.seg.seq)),
    .len_i    (pick_ev.found.seg.len),
    .fresh_i  (diff_fresh),
    .sack_ok_i(diff_ev_q.found.agreed.sack_ok),
    .edge_i   (near_t'(diff.tcb.credit) + near_t'(RingBytes)),
    .rcv_nxt_i(near_t'(class_q.tcb.rcv_nxt)),
    .jump_o   (ooo_jump),
    .some_o   (ooo_some),
    .past_o   (ooo_past),
    .place_o  (ooo_place),
    .take_i   (act.in_order),
    .keep_i   (act.keep_ooo),
    .clear_i  (act.open),
    .sack_ok_o(me_sack_ok),
    .sack_o   (ooo_sack),
    .spans_o  (fi_spans)
  );

  tcp_score #(
    .Conns(Conns)
  ) u_score (
    .clk_i,
    .rst_ni,
    .valid_i    (valid),
    .held_i     (held),
    .fetch_i    (fetch),
    .id_i       (pick_ev.found.conn[IdW-1:0]),
    .diff_i     (diff),
    .diff_fresh_i(diff_fresh),
    .class_i    (class_q),
    .class_class_i(class_),
    .up_sack_o  (sack),
    .up_fast_i  (up_fast),
    .up_clear_i (signs.rewind),
    .me_i       (me_q),
    .me_cwnd_i  (me_cwnd),
    .me_sacked_o(me_sacked),
    .hole_o     (hole),
    .fi_sent_i  (fi_sent),
    .fi_max_i   (near_t'(fi_tcb.snd_max))
  );

  `ASSERT(quiet, !cmd_valid_o || !fi.quiet)
  `ASSERT(order, !fi_held || write_tcb.state != StOpen || !seq_lt(write_tcb.snd_max,
                                                                  write_tcb.snd_nxt))
  `ASSERT(una, !fi_held || write_tcb.state != StOpen || !seq_lt(
          write_tcb.snd_nxt, write_tcb.snd_una))
  // No byte goes out that the scheduler did not write; nor one beyond the peer's window that was not sent
  // before, but for the one that probes a shut window. Of tcp_send alone that is proved (formal/tcp_send_fv).
  logic fi_bytes, fi_allowed;
  logic [31:0] fi_len, fi_to, fi_written;  // from snd_una: behind the last byte; all that there are
  assign fi_len     = 32'(cmd_o.seg.len);
  assign fi_bytes   = cmd_valid_o && !fi.blind && fi_len != '0;
  assign fi_to      = cmd_o.seg.seq - fi_tcb.snd_una + fi_len;
  assign fi_written = fi_tcb.tx_end - fi_tcb.snd_una;
  assign fi_allowed = fi_to <= 32'(fi.sent) || fi_to <= 32'(fi_tcb.snd_wnd);
  `ASSERT(written, !fi_bytes || (fi_to <= fi_written && fi_to >= fi_len))
  `ASSERT(in_window, !fi_bytes || fi_allowed || (fi.probe && fi_to == 32'd1))
  if ($bits(tcb_t) > 512) begin : gen_big_tcb
    $error("%m: the hot state of a connection exceeds 64 bytes");
  end

endmodule
