// TCP, server side: accepts connections, puts what they send into receive rings, sends what stands
// in transmit rings, and tells the scheduler about it. Latency 15 from a segment to its first ring
// write, 10 from a command to the first ring read; initiation interval 1 beat.
//
//   segment -> lookup -> connection table -> verdict -> receive ring -> event to the scheduler
//           \-> payload queue -------------------------/
//   command, timer visit -> connection table -> transmit ring -> segment
`include "lib_assert.svh"

module tcp
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections that can be open at once: a power of two, 16..16384.
  parameter int unsigned Conns = 1024,
  /// Grain of keep-alive in ticks: a second, 1000; less only in tests.
  parameter int unsigned SlowTicks = 1000,
  /// Challenge ACKs, and RSTs to segments of no connection: so many at once, and one more every so
  /// many ticks. 1 tick is 1,000 a second (Linux' tcp_challenge_ack_limit until 5.18).
  parameter int unsigned LimitBurst = 50,
  parameter int unsigned LimitTicks = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// One-clock pulse each millisecond.
  input  logic         tick_i,
  /// Milliseconds that have passed beside that.
  input  logic [9:0]   slept_i,
  /// Random at start: keys the lookup and the SYN cookies.
  input  logic [127:0] secret_i,
  /// Our port. Segments to others never come here.
  input  logic [15:0]  lport_i,
  /// Largest IP packet; our MSS is 40 less.
  input  logic [15:0]  mtu_i,
  /// Most open connections.
  input  logic [14:0]  conn_limit_i,
  input  logic [15:0]  time_wait_ms_i,
  /// Seconds of silence before the first keep-alive probe; 0: none is sent.
  input  seconds_t     keep_alive_s_i,
  /// Seconds without a request after which a connection is closed; 0: it stays.
  input  seconds_t     idle_s_i,
  /// Rings of connection 0; the others' follow, RingLines each.
  input  laddr_t       rx_base_i,
  input  laddr_t       tx_base_i,
  /// Segments received; seg_i holds for all beats of its payload.
  input  logic         seg_valid_i,
  output logic         seg_ready_o,
  input  seg_t         seg_i,
  input  beat_t        seg_beat_i,
  /// Segments to send; txseg_o holds for all beats of its payload.
  output logic         txseg_valid_o,
  input  logic         txseg_ready_i,
  output txseg_t       txseg_o,
  output beat_t        txseg_beat_o,
  /// Beside a segment's last beat: memory could not read it.
  output logic         txseg_bad_o,
  /// Events to the scheduler.
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  /// Commands of the scheduler; taken whether or not it takes events.
  input  logic         app_valid_i,
  output logic         app_ready_o,
  input  app_t         app_i,
  /// Receive-ring memory. A line that is taken can be read.
  output logic         wr_valid_o,
  input  logic         wr_ready_i,
  output line_write_t  wr_o,
  /// Transmit-ring memory: a line, and which of its lanes are to be sent.
  output logic         rd_valid_o,
  input  logic         rd_ready_i,
  output laddr_t       rd_addr_o,
  output lanes_t       rd_lanes_o,
  input  logic         rdat_valid_i,
  output logic         rdat_ready_o,
  input  line_t        rdat_i,
  input  logic         rdat_bad_i,
  /// Of each ring memory: connections whose bytes it has refused, which are reset.
  input  logic [1:0]   refused_valid_i,
  output logic [1:0]   refused_ready_o,
  input  conn_t [1:0]  refused_conn_i,
  /// An id has a new connection, from that port; never while they are busy. None of the one before is under way in the rings: their
  /// last writes were marked, and some that came no later are not answered.
  output logic         open_o,
  output conn_t        open_conn_o,
  output logic [15:0]  open_port_o,
  input  logic         busy_i,
  output logic         mark_o,
  input  logic         earlier_i,
  /// Event pulses, see tcp_count_e.
  output logic [TcpCounts-1:0] count_o,
  /// Nothing in flight.
  output logic         idle_o,
  /// Some connection waits for ticks.
  output logic         timers_o,
  /// ... for single ones, and not only for the end of a second.
  output logic         short_o,
  /// Open connections.
  output logic [14:0]  conns_o
);

  // The fill level is nobody's business here.
  // verilator lint_off PINCONNECTEMPTY

  // Payload of 32 KiB may wait for its verdict.
  localparam int unsigned PayloadBeats = 512;
  localparam int unsigned DelDepth = 32;
  // Ticks, as a power of two, in which what a SYN-ACK brings comes, or in as many more: 4 to 8 s.
  localparam int unsigned ShakingW = 12;

  // ---------------------------------------------------------------- headers and payload part
  logic first_q, look_valid, look_ready, has_payload, pay_in_valid, pay_in_ready;
  logic pay_valid, pay_ready;
  beat_t pay;
  // Payload drains by itself, so who has none may wait for room, too: all behind wait for this choice.
  assign has_payload  = seg_i.len != '0;
  assign look_valid   = seg_valid_i && first_q && pay_in_ready;
  assign pay_in_valid = seg_valid_i && has_payload && (look_ready || !first_q);
  assign seg_ready_o  = (look_ready || !first_q) && pay_in_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (seg_valid_i && seg_ready_o) first_q <= seg_beat_i.last;
  end

  lib_fifo #(
    .T    (beat_t),
    .Depth(PayloadBeats)
  ) u_payload (
    .clk_i,
    .rst_ni,
    .s_valid_i(pay_in_valid),
    .s_ready_o(pay_in_ready),
    .s_data_i (seg_beat_i),
    .m_valid_o(pay_valid),
    .m_ready_i(pay_ready),
    .m_data_o (pay),
    .level_o  ()
  );

  // ---------------------------------------------------------------- whose segment
  // What a packet can hold behind the headers.
  logic [13:0] own_mss_q;
  always_ff @(posedge clk_i) own_mss_q <= 14'(mtu_i - 16'd40);

  // A SYN was answered in this span of ticks, or in the one before.
  logic [1:0] shaking_q;
  logic found_valid, found_ready, del_valid, del_ready, taken, low, look_idle, limit_q;
  logic [19:0] now;
  logic [15:0] epoch;
  seconds_t second;
  logic [2:0] refused;
  logic syn;
  found_t looked, found, merged;
  sacked_t sacked;
  times_t times;
  logic sacked_valid;
  logic merged_valid, merged_ready, merge_idle;
  conn_t del;
  logic earlier, looked_valid, looked_ready;

  // A new connection waits until the rings can take its id.
  assign found_valid  = looked_valid && !busy_i;
  assign looked_ready = found_ready && !busy_i;
  assign open_o       = taken;
  assign open_conn_o  = looked.conn;
  assign open_port_o  = looked.seg.peer.port;

  tcp_lookup #(
    .Conns(Conns)
  ) u_lookup (
    .clk_i,
    .rst_ni,
    .secret_i,
    .epoch_i      (epoch),
    .own_mss_i    (own_mss_q),
    .limit_i      (limit_q),
    .shaking_i    (shaking_q != '0),
    .seg_valid_i  (look_valid),
    .seg_ready_o  (look_ready),
    .seg_i,
    .found_valid_o(looked_valid),
    .found_ready_i(looked_ready),
    .found_o      (looked),
    .del_valid_i  (del_valid),
    .del_ready_o  (del_ready),
    .del_i        (del),
    .mark_o,
    .earlier_i    (earlier || earlier_i),
    .taken_o      (taken),
    .low_o        (low),
    .refused_o    (refused),
    .syn_o        (syn),
    .idle_o       (look_idle)
  );

  tcp_blocks u_blocks (
    .clk_i,
    .rst_ni,
    .s_valid_i (look_valid && look_ready && seg_i.opt_len != '0),
    .s_opts_i  (seg_beat_i.data[319:0]),
    .s_len_i   (seg_i.opt_len),
    .s_ack_i   (seg_i.ack),
    .m_valid_o (sacked_valid),
    .m_ready_i (found_valid && found_ready && looked.seg.opt_len != '0),
    .m_sacked_o(sacked),
    .m_times_o (times)
  );
  // Who has a hole answers with bare ACKs, too. What is not told, or not valid, may say anything.
  logic opts;
  assign opts = looked.seg.opt_len != '0;
  always_comb begin
    found = looked;
    found.times        = times;
    found.times.valid  = times.valid && opts;
    found.sacked       = sacked;
    found.sacked.told  = sacked.told && opts && looked.seg.len == '0;
    found.sacked.twice = sacked.twice && opts && looked.seg.len == '0;
  end

  tcp_merge u_merge (
    .clk_i,
    .rst_ni,
    .s_valid_i(found_valid),
    .s_ready_o(found_ready),
    .s_found_i(found),
    .m_valid_o(merged_valid),
    .m_ready_i(merged_ready),
    .m_found_o(merged),
    .idle_o   (merge_idle)
  );

  // ---------------------------------------------------------------- time
  logic [2:0] visit_valid, visit_ready, push;
  conn_t [2:0] visit;
  conn_t push_conn;
  logic hurry, waits, waits_short, rare_q;

  // What is late then is later by an eighth at most.
  function automatic logic is_long(input seconds_t limit);
    return limit == '0 || limit >= 16'(RareLeast);
  endfunction
  logic [1:0] are_long;
  assign are_long[0] = is_long(keep_alive_s_i);
  assign are_long[1] = is_long(idle_s_i);
  always_ff @(posedge clk_i) rare_q <= &are_long && !low && !limit_q;

  tcp_timers #(
    .Conns    (Conns),
    .SlowTicks(SlowTicks)
  ) u_timers (
    .clk_i,
    .rst_ni,
    .tick_i,
    .slept_i,
    .time_wait_i(time_wait_ms_i),
    .low_i      (low),
    .rare_i     (rare_q),
    .now_o      (now),
    .epoch_o    (epoch),
    .second_o   (second),
    .push_i     (push),
    .push_conn_i(push_conn),
    .valid_o    (visit_valid),
    .ready_i    (visit_ready),
    .conn_o     (visit),
    .hurry_o    (hurry),
    .waits_o    (waits),
    .short_o    (waits_short)
  );

  // ---------------------------------------------------------------- what strangers can make us send
  logic challenge, challenge_ok, stray, stray_ok;
  logic [1:0] limited;

  lib_token_bucket #(
    .Burst(LimitBurst),
    .Ticks(LimitTicks)
  ) u_challenges (
    .clk_i,
    .rst_ni,
    .tick_i,
    .take_i (challenge),
    .ok_o   (challenge_ok),
    .timer_o(limited[0])
  );

  lib_token_bucket #(
    .Burst(LimitBurst),
    .Ticks(LimitTicks)
  ) u_strays (
    .clk_i,
    .rst_ni,
    .tick_i,
    .take_i (stray),
    .ok_o   (stray_ok),
    .timer_o(limited[1])
  );
  // Cookies are good until time has gone on.
  logic [1:0] cookies_q;
  logic epoch_q, span_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) cookies_q <= '0;
    else if (syn) cookies_q <= '1;
    else if (epoch_q != epoch[0]) cookies_q <= cookies_q >> 1;
    epoch_q <= epoch[0];

    if (!rst_ni) shaking_q <= '0;
    else if (syn) shaking_q <= '1;
    else if (span_q != now[ShakingW]) shaking_q <= shaking_q >> 1;
    span_q <= now[ShakingW];
  end
  assign timers_o = waits || limited != '0 || cookies_q != '0;
  assign short_o  = waits_short || limited != '0;

  // ---------------------------------------------------------------- whose bytes memory has refused
  logic refused_valid, refused_ready, unread_valid, unread_ready;
  conn_t refused_conn, unread_conn;
  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .T(conn_t),
    .N(3)
  ) u_refused (
    .clk_i,
    .rst_ni,
    .s_valid_i({unread_valid, refused_valid_i}),
    .s_ready_o({unread_ready, refused_ready_o}),
    .s_data_i ({unread_conn, refused_conn_i}),
    .s_last_i ('1),
    .m_valid_o(refused_valid),
    .m_ready_i(refused_ready),
    .m_data_o (refused_conn),
    .m_last_o (),
    .m_idx_o  ()
  );
  // verilator lint_on PINCONNECTEMPTY

  // ---------------------------------------------------------------- what to do with it
  logic verdict_valid, verdict_room, cmd_valid, cmd_room, over_valid, unused_over_ready, over_room;
  logic unused, opened, closed, tcb_idle, rx_idle, tx_idle;
  logic [TcpCounts-1:0] tcb_count;
  logic [$clog2(DelDepth+1)-1:0] over_level;
  verdict_t verdict;
  txcmd_t cmd;
  conn_t over;

  tcp_tcb #(
    .Conns(Conns)
  ) u_tcb (
    .clk_i,
    .rst_ni,
    .now_i          ({epoch, now[15:0]}),
    .second_i       (second),
    .own_mss_i      (own_mss_q),
    .time_wait_i    (time_wait_ms_i),
    .keep_alive_i   (keep_alive_s_i),
    .idle_i         (idle_s_i),
    .pressed_i      (low || limit_q),
    .rare_i         (rare_q),
    .challenge_ok_i (challenge_ok),
    .challenge_o    (challenge),
    .stray_ok_i     (stray_ok),
    .stray_o        (stray),
    .seg_valid_i    (merged_valid),
    .seg_ready_o    (merged_ready),
    .seg_i          (merged),
    .app_valid_i,
    .app_ready_o,
    .app_i,
    .refused_valid_i(refused_valid),
    .refused_ready_o(refused_ready),
    .refused_i      (refused_conn),
    .visit_valid_i  (visit_valid),
    .visit_ready_o  (visit_ready),
    .visit_i        (visit),
    .hurry_i        (hurry),
    .push_o         (push),
    .push_conn_o    (push_conn),
    .verdict_valid_o(verdict_valid),
    .verdict_o      (verdict),
    .verdict_room_i (verdict_room),
    .cmd_valid_o    (cmd_valid),
    .cmd_o          (cmd),
    .cmd_room_i     (cmd_room),
    .del_valid_o    (over_valid),
    .del_o          (over),
    .del_room_i     (over_room),
    .unused_o       (unused),
    .opened_o       (opened),
    .closed_o       (closed),
    .count_o        (tcb_count),
    .idle_o         (tcb_idle)
  );

  // Ids on their way back to the lookup.
  lib_fifo #(
    .T    (conn_t),
    .Depth(DelDepth)
  ) u_over (
    .clk_i,
    .rst_ni,
    .s_valid_i(over_valid),
    .s_ready_o(unused_over_ready),
    .s_data_i (over),
    .m_valid_o(del_valid),
    .m_ready_i(del_ready),
    .m_data_o (del),
    .level_o  (over_level)
  );
  `ASSERT(fits_over_room, !over_valid || unused_over_ready)

  // ---------------------------------------------------------------- rings
  tcp_rx_ring u_rx_ring (
    .clk_i,
    .rst_ni,
    .base_i         (rx_base_i),
    .verdict_valid_i(verdict_valid),
    .verdict_i      (verdict),
    .room_o         (verdict_room),
    .beat_valid_i   (pay_valid),
    .beat_ready_o   (pay_ready),
    .beat_i         (pay),
    .wr_valid_o,
    .wr_ready_i,
    .wr_o,
    .ev_valid_o,
    .ev_ready_i,
    .ev_o,
    .idle_o         (rx_idle)
  );

  tcp_tx_seg u_tx_seg (
    .clk_i,
    .rst_ni,
    .base_i       (tx_base_i),
    .cmd_valid_i  (cmd_valid),
    .cmd_i        (cmd),
    .room_o       (cmd_room),
    .mark_i       (mark_o),
    .earlier_o    (earlier),
    .rd_valid_o,
    .rd_ready_i,
    .rd_addr_o,
    .rd_lanes_o,
    .rdat_valid_i,
    .rdat_ready_o,
    .rdat_i,
    .rdat_bad_i,
    .txseg_valid_o,
    .txseg_ready_i,
    .txseg_o,
    .txseg_beat_o,
    .txseg_bad_o,
    .bad_valid_o  (unread_valid),
    .bad_ready_i  (unread_ready),
    .bad_conn_o   (unread_conn),
    .idle_o       (tx_idle)
  );

  // ---------------------------------------------------------------- numbers
  logic [14:0] used_q;  // open connections, by id
  logic ticks;
  logic [3:0] ticked_q;  // visits are due some clocks behind a tick
  assign ticks = tick_i || slept_i != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q    <= '0;
      conns_o   <= '0;
      limit_q   <= 1'b1;
      over_room <= 1'b0;
      idle_o    <= 1'b0;
      ticked_q  <= '0;
    end else begin
      used_q    <= used_q + 15'(taken) - 15'(unused);
      conns_o   <= conns_o + 15'(opened) - 15'(closed);
      limit_q   <= used_q >= conn_limit_i;
      over_room <= over_level < ($clog2(DelDepth+1))'(DelDepth - 12);
      ticked_q  <= {ticked_q[2:0], ticks};
      idle_o    <= look_idle && tcb_idle && rx_idle && tx_idle && !del_valid && !seg_valid_i &&
          merge_idle && !sacked_valid && !refused_valid &&
          !app_valid_i && !ticks && ticked_q == '0 && visit_valid == '0 && !pay_valid;
    end
  end

  always_comb begin
    count_o = tcb_count;
    count_o[TcpCountFullLimit] = refused[0];
    count_o[TcpCountFullNoId]  = refused[1];
    count_o[TcpCountFullNoWay] = refused[2];
    count_o[TcpCountSyns]      = syn;
    count_o[TcpCountBadReads]  = txseg_valid_o && txseg_ready_i && txseg_bad_o;
  end

  // The port is checked before.
  logic unused_lport;
  assign unused_lport = ^lport_i;

endmodule
