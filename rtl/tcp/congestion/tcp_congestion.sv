// Congestion control: cwnd, ssthresh, recovery (RFC 5681, RFC 6582, RFC 3042, RFC 6675). A part of tcp_tcb's
// pipe, stage by stage; what it knows of a connection is `cong` in the connection's word. Latency
// and initiation interval are tcp_tcb's.
//
//   class    the sums of what may happen
//   update   what did happen
//   measure  the window, with limited transmit

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_congestion
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input  logic        clk_i,
  /// class holds an event.
  input  logic        valid_i,
  input  work_t       class_i,
  /// update: what the event is a sign of, the MSS from now on; what becomes of `cong`.
  input  work_t       up_i,
  input  signs_t      up_signs_i,
  input  logic [13:0] up_mss_i,
  /// What the peer tells by SACK options: see tcp_score.
  input  sack_t       up_sack_i,
  output cong_t       up_cong_o,
  /// Send again what is at snd_una; that begins a recovery (a fast retransmit).
  output logic        up_rexmit_o,
  output logic        up_fast_o,
  /// measure: the window.
  input  work_t       me_i,
  input  logic        me_sacked_i,
  output logic [16:0] me_cwnd_o
);

  // ---------------------------------------------------------------- class
  typedef struct packed {
    near_t       ack_less1;
    logic [1:0]  dups;       // duplicate ACKs so far, with those that came as one; 3: or more
    logic        in_ss;      // slow start
    logic [16:0] cwnd_mss;   // cwnd + mss
    logic [16:0] mss3;       // three segments
    logic [16:0] cwnd_ss;    // cwnd with slow start's growth
    logic [17:0] ca_sum;
    logic [16:0] partial;    // cwnd after a partial ACK
    logic [16:0] half;       // new ssthresh
    logic [16:0] half_fast;  // the same without what limited transmit has sent
  } sums_t;

  sums_t sums, sums_q;
  logic [2:0] dups;
  logic [16:0] class_cwnd, class_mss, class_mss2, class_acked, class_left;
  assign class_cwnd  = class_i.tcb.cong.cwnd;
  assign class_mss   = 17'(class_i.tcb.mss);
  assign class_mss2  = 17'({class_i.tcb.mss, 1'b0});
  assign class_acked = class_i.diff.ack[16:0];
  assign class_left  = minus(class_cwnd, class_acked);

  always_comb begin
    sums.ack_less1 = near_t'(class_i.ev.found.seg.ack - 32'd1);
    dups           = 3'(class_i.tcb.cong.dupacks) + 3'd1 + 3'(class_i.ev.found.dups);
    sums.dups      = (dups > 3'd3) ? 2'd3 : dups[1:0];
    sums.in_ss     = class_cwnd < class_i.tcb.cong.ssthresh;
    sums.cwnd_mss  = plus(class_cwnd, class_mss);
    sums.mss3      = class_mss2 + class_mss;
    sums.cwnd_ss   = (class_acked < class_mss2) ? plus(class_cwnd, class_acked) :
        plus(class_cwnd, class_mss2);
    sums.ca_sum    = 18'(class_i.tcb.cong.ca_count) + 18'(class_acked);
    // What left the network goes off, one segment comes back (RFC 6582, section 3.2, step 3).
    sums.partial   = (class_acked >= class_mss || class_cwnd < class_acked + class_mss) ?
        class_left + class_mss : class_left;
    sums.half      = greater({1'b0, class_i.diff.sent[16:1]}, class_mss2);
    sums.half_fast = (class_cwnd < class_i.diff.sent) ?
        greater({1'b0, class_cwnd[16:1]}, class_mss2) : sums.half;
  end

  always_ff @(posedge clk_i) if (valid_i) sums_q <= sums;

  // ---------------------------------------------------------------- update
  cong_t was;
  logic [17:0] ca_left;
  assign was     = up_i.tcb.cong;
  assign ca_left = sums_q.ca_sum - 18'(was.cwnd);

  always_comb begin
    up_cong_o   = was;
    up_rexmit_o = 1'b0;
    up_fast_o   = 1'b0;
    if (up_signs_i.smaller && was.in_rec) up_cong_o.cwnd = was.ssthresh;
    // Duplicate ACKs that come of what is sent again mean nothing (RFC 6582).
    if (up_signs_i.rewind) begin
      up_cong_o.recover = near_t'(up_i.tcb.snd_max);
      up_cong_o.in_rec  = 1'b0;
      up_cong_o.dupacks = '0;
    end
    if (up_signs_i.lost) begin
      if (up_i.tcb.tries == '0) up_cong_o.ssthresh = sums_q.half;
      up_cong_o.cwnd     = 17'(up_mss_i);
      up_cong_o.ca_count = '0;
    end
    if (up_signs_i.acked) begin
      up_cong_o.dupacks = '0;
      if (up_i.diff.rec_beyond) up_cong_o.recover = sums_q.ack_less1;
      if (was.in_rec && !up_i.diff.rec_past) begin
        // a partial ACK: the next segment is lost as well (RFC 6582), if the peer does not tell
        up_rexmit_o    = !(up_sack_i.score && up_sack_i.some);
        up_cong_o.cwnd = up_sack_i.score ? was.cwnd : sums_q.partial;
      end else if (was.in_rec) begin
        up_cong_o.in_rec = 1'b0;
        up_cong_o.cwnd   = was.ssthresh;
      end else if (sums_q.in_ss) begin
        up_cong_o.cwnd = sums_q.cwnd_ss;
      end else if (!ca_left[17]) begin
        up_cong_o.cwnd     = sums_q.cwnd_mss;
        up_cong_o.ca_count = ca_left[16:0];
      end else begin
        up_cong_o.ca_count = sums_q.ca_sum[16:0];
      end
    end
    if (up_signs_i.tail && !was.in_rec) begin
      up_cong_o.ssthresh = sums_q.half;
      up_cong_o.cwnd     = sums_q.half;
      up_cong_o.ca_count = '0;
    end
    if (up_signs_i.dup) begin
      if (was.in_rec) up_cong_o.cwnd = up_sack_i.score ? was.cwnd : sums_q.cwnd_mss;
      else if (was.dupacks != 2'd3) begin
        up_cong_o.dupacks = up_sack_i.lost ? 2'd3 : sums_q.dups;
        if (up_cong_o.dupacks == 2'd3 &&
            (up_i.diff.una_past_rec || (up_sack_i.some && !up_i.diff.una_before_rec))) begin
          up_rexmit_o        = 1'b1;
          up_fast_o          = 1'b1;
          up_cong_o.in_rec   = 1'b1;
          up_cong_o.recover  = near_t'(up_i.tcb.snd_max);
          up_cong_o.ssthresh = sums_q.half_fast;
          // Counted towards a larger cwnd: more than a segment a round trip would come of it (RFC 5681).
          up_cong_o.ca_count = '0;
          // What left the network is counted by what the peer tells, or else by such ACKs. Half a ring and
          // three segments (of at most 9,000 bytes) are less than a ring.
          up_cong_o.cwnd     = up_sack_i.some ? sums_q.half_fast : sums_q.half_fast + sums_q.mss3;
        end
      end
    end
  end

  // ---------------------------------------------------------------- measure
  cong_t me;
  logic [16:0] more;
  assign me = me_i.tcb.cong;
  always_comb begin
    // The first two duplicate ACKs let a new segment go each, or a small window would never see the
    // third (limited transmit, RFC 3042). What the peer tells makes room by itself.
    more = '0;
    if (!me.in_rec && me_i.diff.una_past_rec && !me_sacked_i) begin
      if (me.dupacks == 2'd1) more = 17'(me_i.tcb.mss);
      if (me.dupacks == 2'd2) more = me_i.class_.mss2;
    end
    me_cwnd_o = plus(me.cwnd, more);
  end

endmodule
