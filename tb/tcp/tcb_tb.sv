// The connection table's pipe with its timers and, beside it, the reader of SACK options, all taken
// apart for tb/tcp/tcb_sim.cpp: what goes in, and each event's results as it passes the stages.
module tcb_tb
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
#(
  parameter int unsigned Conns = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // settings
  input  logic [13:0] own_mss_i,
  input  logic [15:0] time_wait_i,
  input  logic [15:0] keep_alive_i,
  input  logic [15:0] idle_i,
  input  logic        pressed_i,
  input  logic        challenge_ok_i,
  input  logic        stray_ok_i,
  input  logic        tick_i,
  input  logic [9:0]  slept_i,
  input  logic        low_i,
  input  logic        rare_i,
  // segments
  input  logic        seg_valid_i,
  output logic        seg_ready_o,
  input  logic [7:0]  seg_peer_i,  // which MAC address, VLAN priority
  input  logic [31:0] seg_seq_i,
  input  logic [31:0] seg_ack_i,
  input  logic [7:0]  seg_flags_i,
  input  logic [15:0] seg_wnd_i,
  input  logic [15:0] seg_len_i,
  input  logic [15:0] seg_mss_i,
  input  logic        seg_ws_valid_i,
  input  logic        seg_sack_ok_i,
  input  logic        seg_times_ok_i,
  input  logic [5:0]  seg_opt_len_i,
  input  logic        times_valid_i,
  input  logic [31:0] times_value_i,
  input  logic [31:0] times_echo_i,
  input  logic        seg_too_big_i,
  input  logic [13:0] seg_conn_i,
  input  logic        seg_hit_i,
  input  logic        seg_fresh_i,
  input  logic        seg_refused_i,
  input  logic        seg_early_i,
  input  logic [1:0]  seg_dups_i,
  input  logic [31:0] seg_isn_i,
  input  logic        seg_carries_i,
  input  logic [13:0] agreed_mss_i,
  input  logic        agreed_ws_ok_i,
  input  logic [3:0]  agreed_ws_i,
  input  logic        agreed_sack_ok_i,
  input  logic        told_i,
  input  logic        twice_i,
  input  logic [3:0][63:0] told_spans_i,
  // commands
  input  logic        app_valid_i,
  output logic        app_ready_o,
  input  logic [13:0] app_conn_i,
  input  logic [31:0] app_rx_ptr_i,
  input  logic [31:0] app_tx_ptr_i,
  input  logic        app_close_i,
  input  logic        app_reset_i,
  input  logic        app_release_i,
  // visits taken
  output logic [2:0]  visit_o,
  output logic [13:0] visit_conn_o,
  output logic        visit_hurry_o,
  input  logic        verdict_room_i,
  input  logic        cmd_room_i,
  input  logic        del_room_i,
  // fetch
  output logic        fetch_o,
  output logic [2:0]  fetch_kind_o,
  output logic        fetch_quiet_o,
  output logic        fetch_crowded_o,
  output logic [13:0] fetch_conn_o,
  output logic [6:0]  valid_o,
  output logic [6:0]  held_o,
  // measure
  output logic        verdict_valid_o,
  output logic [13:0] verdict_conn_o,
  output logic [15:0] verdict_len_o,
  output logic [15:0] verdict_skip_o,
  output logic [15:0] verdict_take_o,
  output logic [4:0]  verdict_news_o,  // open, acked, data, fin, closed
  output logic [31:0] verdict_rx_from_o,
  output logic [31:0] verdict_rx_ptr_o,
  output logic [31:0] verdict_tx_ptr_o,
  output logic        challenge_o,
  output logic        stray_o,
  output logic [2:0]  numbers_o,  // unused, opened, closed
  output logic [63:0] count_o,
  output logic [15:0] heard_o,
  output logic [15:0] asked_o,
  output logic [13:0] agreed_o,
  output logic [9:0]  low_o,
  output logic        probed_o,
  output logic        stamps_on_o,
  output logic [31:0] stamps_offset_o,
  output logic [31:0] stamps_recent_o,
  output logic [3:0][63:0] kept_o,   // what is kept out of order
  output logic [3:0][63:0] board_o,  // the scoreboard
  output logic [16:0] me_cwnd_o,
  // limit
  output logic [16:0] li_room_o,
  // finish
  output logic        del_o,
  output logic [13:0] del_conn_o,
  output logic [3:0]  push_o,
  output logic        cmd_valid_o,
  output logic [13:0] cmd_conn_o,
  output logic        cmd_refusal_o,
  output logic [7:0]  cmd_peer_o,
  output logic [31:0] cmd_seq_o,
  output logic [31:0] cmd_ack_o,
  output logic [7:0]  cmd_flags_o,
  output logic [15:0] cmd_wnd_o,
  output logic [15:0] cmd_len_o,
  output logic        cmd_mss_valid_o,
  output logic [15:0] cmd_mss_o,
  output logic        cmd_ws_valid_o,
  output logic        cmd_sack_ok_o,
  output logic        cmd_narrow_o,
  output logic        cmd_times_o,
  output logic [31:0] cmd_value_o,
  output logic [31:0] cmd_echo_o,
  output logic [3:0][63:0] cmd_sack_o,
  output logic [1:0]  state_o,
  output logic [12:0] flags_o,
  output logic [31:0] snd_una_o,
  output logic [31:0] snd_nxt_o,
  output logic [31:0] snd_max_o,
  output logic [31:0] tx_end_o,
  output logic [16:0] snd_wnd_o,
  output logic [16:0] max_wnd_o,
  output logic [4:0]  ws_o,
  output logic [13:0] mss_o,
  output logic [16:0] cwnd_o,
  output logic [16:0] ssthresh_o,
  output logic [16:0] ca_count_o,
  output logic [17:0] recover_o,
  output logic        in_rec_o,
  output logic [1:0]  dupacks_o,
  output logic [3:0]  tries_o,
  output logic [31:0] rcv_nxt_o,
  output logic [31:0] credit_o,
  output logic [16:0] adv_o,
  output logic [16:0] pend_o,
  output logic        rtt_on_o,
  output logic [17:0] rtt_seq_o,
  output logic [15:0] rtt_since_o,
  output logic        rtt_valid_o,
  output logic [18:0] srtt_o,
  output logic [17:0] rttvar_o,
  output logic [15:0] rto_o,
  output logic [1:0]  tail_o,
  output logic        tm_on_o,
  output logic [19:0] deadline_o,
  output logic        told_on_o,
  output logic [11:0] told_at_o,
  // reader of SACK options
  input  logic         opt_valid_i,
  input  logic [319:0] opts_i,
  input  logic [5:0]   opt_len_i,
  input  logic [31:0]  opt_ack_i,
  output logic         opt_valid_o,
  output logic         opt_told_o,
  output logic         opt_twice_o,
  output logic [3:0][63:0] opt_spans_o,
  output logic         opt_times_o,
  output logic [31:0]  opt_value_o,
  output logic [31:0]  opt_echo_o
);

  function automatic peer_t peer_of(input logic [7:0] number);
    peer_of            = '0;
    peer_of.mac        = 48'h0200_0000_0000 + 48'(number[1:0]);
    peer_of.vlan_valid = number[2];
    peer_of.vlan_tci   = {number[7:5], 12'd0, number[3]};
    peer_of.ip         = 32'h0a00_0001;
    peer_of.port       = 16'd1000;
  endfunction
  function automatic logic [7:0] number_of(input peer_t peer);
    return {peer.vlan_tci[15:13], 1'b0, peer.vlan_tci[0], peer.vlan_valid, peer.mac[1:0]};
  endfunction
  function automatic logic [3:0][63:0] words_of(input spans_t spans);
    for (int unsigned i = 0; i < Spans; i++) words_of[i] = 64'(spans[i]);
  endfunction

  found_t found;
  app_t app;
  always_comb begin
    found              = '0;
    found.seg.peer     = peer_of(seg_peer_i);
    found.seg.seq      = seg_seq_i;
    found.seg.ack      = seg_ack_i;
    found.seg.flags    = tcp_flags_t'(seg_flags_i);
    found.seg.wnd      = seg_wnd_i;
    found.seg.len      = seg_len_i;
    found.seg.mss      = seg_mss_i;
    found.seg.ws_valid = seg_ws_valid_i;
    found.seg.sack_ok  = seg_sack_ok_i;
    found.seg.times_ok = seg_times_ok_i;
    found.seg.opt_len  = seg_opt_len_i;
    found.seg.too_big  = seg_too_big_i;
    found.conn         = seg_conn_i;
    found.hit          = seg_hit_i;
    found.fresh        = seg_fresh_i;
    found.refused      = seg_refused_i;
    found.early        = seg_early_i;
    found.dups         = seg_dups_i;
    found.isn          = seg_isn_i;
    found.carries      = seg_carries_i;
    found.agreed       = '{mss: agreed_mss_i, ws_ok: agreed_ws_ok_i, ws: agreed_ws_i,
                           sack_ok: agreed_sack_ok_i};
    found.sacked.told  = told_i;
    found.sacked.twice = twice_i;
    found.times        = '{valid: times_valid_i, value: times_value_i, echo: times_echo_i};
    for (int unsigned i = 0; i < Spans; i++) found.sacked.spans[i] = span_t'(told_spans_i[i]);
    app = '{
        conn: app_conn_i,
        rx_ptr: app_rx_ptr_i,
        tx_ptr: app_tx_ptr_i,
        close: app_close_i,
        reset: app_reset_i,
        release_id: app_release_i
    };
  end

  logic [2:0] visit_valid, visit_ready, push;
  conn_t [2:0] visit;
  conn_t push_conn;
  logic hurry;
  logic [19:0] now;
  logic [15:0] epoch;
  seconds_t second;
  logic unused_waits, unused_short, unused_idle;

  tcp_timers #(
    .Conns(Conns)
  ) u_timers (
    .clk_i,
    .rst_ni,
    .tick_i,
    .slept_i,
    .time_wait_i,
    .low_i,
    .rare_i,
    .now_o      (now),
    .epoch_o    (epoch),
    .second_o   (second),
    .push_i     (push),
    .push_conn_i(push_conn),
    .valid_o    (visit_valid),
    .ready_i    (visit_ready),
    .conn_o     (visit),
    .hurry_o    (hurry),
    .waits_o    (unused_waits),
    .short_o    (unused_short)
  );
  assign visit_o       = visit_valid & visit_ready;
  assign visit_conn_o  = visit_o[0] ? visit[0] : visit_o[1] ? visit[1] : visit[2];
  assign visit_hurry_o = hurry;

  verdict_t verdict;
  txcmd_t cmd;
  logic [TcpCounts-1:0] count;
  logic [2:0] numbers;
  logic unused_refused;

  tcp_tcb #(
    .Conns   (Conns),
    .Patience(8)
  ) u_tcb (
    .clk_i,
    .rst_ni,
    .now_i         ({epoch, now[15:0]}),
    .second_i      (second),
    .own_mss_i,
    .time_wait_i,
    .keep_alive_i,
    .idle_i,
    .pressed_i,
    .rare_i,
    .challenge_ok_i,
    .challenge_o,
    .stray_ok_i,
    .stray_o,
    .seg_valid_i,
    .seg_ready_o,
    .seg_i         (found),
    .app_valid_i,
    .app_ready_o,
    .app_i         (app),
    .refused_valid_i(1'b0),
    .refused_ready_o(unused_refused),
    .refused_i     ('0),
    .visit_valid_i (visit_valid),
    .visit_ready_o (visit_ready),
    .visit_i       (visit),
    .hurry_i       (hurry),
    .push_o        (push),
    .push_conn_o   (push_conn),
    .verdict_valid_o,
    .verdict_o     (verdict),
    .verdict_room_i,
    .cmd_valid_o,
    .cmd_o         (cmd),
    .cmd_room_i,
    .del_valid_o   (del_o),
    .del_o         (del_conn_o),
    .del_room_i,
    .unused_o      (numbers[2]),
    .opened_o      (numbers[1]),
    .closed_o      (numbers[0]),
    .count_o       (count),
    .idle_o        (unused_idle)
  );

  assign fetch_o       = u_tcb.fetch;
  assign fetch_kind_o  = u_tcb.pick_ev.kind;
  assign fetch_quiet_o = u_tcb.pick_ev.quiet;
  assign fetch_crowded_o = u_tcb.pick_ev.found.crowded;
  assign fetch_conn_o  = u_tcb.pick_ev.found.conn;
  assign valid_o       = u_tcb.valid;
  assign held_o        = u_tcb.held;

  assign verdict_conn_o    = verdict.conn;
  assign verdict_len_o     = verdict.len;
  assign verdict_skip_o    = verdict.skip;
  assign verdict_take_o    = verdict.take;
  assign verdict_news_o    = {verdict.open, verdict.acked, verdict.data, verdict.fin,
                              verdict.closed};
  assign verdict_rx_from_o = verdict.rx_from;
  assign verdict_rx_ptr_o  = verdict.rx_ptr;
  assign verdict_tx_ptr_o  = verdict.tx_ptr;
  assign numbers_o = numbers;
  assign count_o   = 64'(count);
  assign heard_o   = u_tcb.me_q.silence.heard;
  assign asked_o   = u_tcb.me_q.silence.asked;
  assign agreed_o  = u_tcb.me_q.silence.mss;
  assign low_o     = u_tcb.me_q.silence.low;
  assign probed_o  = u_tcb.me_q.silence.probed;
  assign stamps_on_o     = u_tcb.me_q.silence.stamps.on;
  assign stamps_offset_o = u_tcb.me_q.silence.stamps.offset;
  assign stamps_recent_o = u_tcb.me_q.silence.stamps.recent;
  assign kept_o    = words_of(u_tcb.u_ooo.measure_q.spans);
  assign board_o   = words_of(u_tcb.u_score.me_q.spans);
  assign me_cwnd_o = u_tcb.me_cwnd;
  assign li_room_o = u_tcb.hole.room;

  assign push_o          = u_tcb.push;
  assign cmd_conn_o      = cmd.conn;
  assign cmd_refusal_o   = cmd.refusal;
  assign cmd_peer_o      = number_of(cmd.seg.peer);
  assign cmd_seq_o       = cmd.seg.seq;
  assign cmd_ack_o       = cmd.seg.ack;
  assign cmd_flags_o     = cmd.seg.flags;
  assign cmd_wnd_o       = cmd.seg.wnd;
  assign cmd_len_o       = cmd.seg.len;
  assign cmd_mss_valid_o = cmd.seg.mss_valid;
  assign cmd_mss_o       = cmd.seg.mss;
  assign cmd_ws_valid_o  = cmd.seg.ws_valid;
  assign cmd_sack_ok_o   = cmd.seg.sack_ok;
  assign cmd_narrow_o    = cmd.seg.narrow;
  assign cmd_times_o     = cmd.seg.times.valid;
  assign cmd_value_o     = cmd.seg.times.value;
  assign cmd_echo_o      = cmd.seg.times.echo;
  assign cmd_sack_o      = words_of(cmd.seg.sack);

  tcb_t tcb;
  assign tcb = u_tcb.write_tcb;
  assign state_o     = tcb.state;
  assign flags_o     = {tcb.fin_rcvd, tcb.close, tcb.fin_first, tcb.fin_acked, tcb.released,
                        tcb.over, tcb.tell_closed, tcb.in_more, tcb.in_fast, tcb.in_slow,
                        tcb.in_wait, tcb.owe_ack, tcb.owe_again};
  assign snd_una_o   = tcb.snd_una;
  assign snd_nxt_o   = tcb.snd_nxt;
  assign snd_max_o   = tcb.snd_max;
  assign tx_end_o    = tcb.tx_end;
  assign snd_wnd_o   = tcb.snd_wnd;
  assign max_wnd_o   = tcb.max_wnd;
  assign ws_o        = {tcb.ws_ok, tcb.ws};
  assign mss_o       = tcb.mss;
  assign cwnd_o      = tcb.cong.cwnd;
  assign ssthresh_o  = tcb.cong.ssthresh;
  assign ca_count_o  = tcb.cong.ca_count;
  assign recover_o   = tcb.cong.recover;
  assign in_rec_o    = tcb.cong.in_rec;
  assign dupacks_o   = tcb.cong.dupacks;
  assign tries_o     = tcb.tries;
  assign rcv_nxt_o   = tcb.rcv_nxt;
  assign credit_o    = tcb.credit;
  assign adv_o       = tcb.adv;
  assign pend_o      = tcb.pend;
  assign rtt_on_o    = tcb.rtt.on;
  assign rtt_seq_o   = tcb.rtt.seq;
  assign rtt_since_o = tcb.rtt.since;
  assign rtt_valid_o = tcb.rtt.valid;
  assign srtt_o      = tcb.rtt.srtt;
  assign rttvar_o    = tcb.rtt.rttvar;
  assign rto_o       = tcb.rtt.rto;
  assign tail_o      = tcb.tail;
  assign tm_on_o     = tcb.tm_on;
  assign deadline_o  = tcb.deadline;
  assign told_on_o   = tcb.told_on;
  assign told_at_o   = tcb.told_at;

  // The FIFO behind the reader is emptied at once.
  sacked_t read;
  times_t read_times;
  tcp_blocks u_blocks (
    .clk_i,
    .rst_ni,
    .s_valid_i (opt_valid_i),
    .s_opts_i  (opts_i),
    .s_len_i   (opt_len_i),
    .s_ack_i   (opt_ack_i),
    .m_valid_o (opt_valid_o),
    .m_ready_i (opt_valid_o),
    .m_sacked_o(read),
    .m_times_o (read_times)
  );
  assign opt_times_o = read_times.valid;
  assign opt_value_o = read_times.value;
  assign opt_echo_o  = read_times.echo;
  assign opt_told_o  = read.told;
  assign opt_twice_o = read.twice;
  assign opt_spans_o = words_of(read.spans);

endmodule
