// The retransmission timeout: SRTT, Karn's rule, backoff (RFC 6298). A part of tcp_tcb's pipe,
// stage by stage; what it knows of a connection is `rtt` in the connection's word. Latency and
// initiation interval are tcp_tcb's.
//
//   class    how far a measured round trip is off; the timeout, backed off
//   update   which of them counts
//   measure  the timeout that the round trips make
//   finish   begins to time a segment
module tcp_rto
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input  logic        clk_i,
  /// class, update hold an event.
  input  logic [1:0]  valid_i,
  /// class: ticks since the timed segment.
  input  rtt_t        class_rtt_i,
  input  logic [15:0] class_ticks_i,
  /// update: the same; the ACK covers that segment, and tells the round trip; what the event is a sign of.
  input  rtt_t        up_rtt_i,
  input  logic [15:0] up_ticks_i,
  input  logic        up_past_i,
  input  logic        up_told_i,
  input  signs_t      up_signs_i,
  output rtt_t        up_rtt_o,
  /// measure.
  input  rtt_t        me_rtt_i,
  output rtt_t        me_rtt_o,
  /// finish: what is sent, and when; with timestamps.
  input  rtt_t        fi_rtt_i,
  input  sent_t       fi_sent_i,
  input  logic        fi_stamps_i,
  input  logic [15:0] fi_now_i,
  output rtt_t        fi_rtt_o
);

  // ---------------------------------------------------------------- class
  logic signed [17:0] err_q;  // measured - srtt
  logic [15:0] rto2_q;  // backed off
  logic [16:0] twice;
  assign twice = {class_rtt_i.rto, 1'b0};
  always_ff @(posedge clk_i) begin
    if (valid_i[0]) begin
      err_q  <= 18'(class_ticks_i) - 18'(class_rtt_i.srtt[18:3]);
      rto2_q <= (twice > 17'(RtoMax)) ? 16'(RtoMax) : twice[15:0];
    end
  end

  // ---------------------------------------------------------------- update
  logic [17:0] err_abs;
  logic sample, sample_q;
  assign err_abs = err_q[17] ? -err_q : err_q;

  always_comb begin
    up_rtt_o = up_rtt_i;
    sample   = 1'b0;
    if (up_signs_i.expired) up_rtt_o.rto = rto2_q;
    // A peer may leave its timestamp out: what was timed is over all the same, or it would be too far behind
    // for its number to be compared.
    if (up_signs_i.acked && up_past_i) up_rtt_o.on = 1'b0;
    if (up_signs_i.acked && up_rtt_i.on && up_past_i && up_told_i) begin
      sample         = 1'b1;
      up_rtt_o.valid = 1'b1;
      if (!up_rtt_i.valid) begin
        up_rtt_o.srtt   = {up_ticks_i, 3'b0};
        up_rtt_o.rttvar = {1'b0, up_ticks_i, 1'b0};
      end else begin
        up_rtt_o.srtt   = up_rtt_i.srtt + {err_q[17], err_q};
        up_rtt_o.rttvar = up_rtt_i.rttvar + err_abs - {2'b0, up_rtt_i.rttvar[17:2]};
      end
    end
    // Without the backoff of the probes.
    if (up_signs_i.opens) begin
      sample       = up_rtt_o.valid;
      up_rtt_o.rto = 16'(RtoInit);
    end
  end

  always_ff @(posedge clk_i) if (valid_i[1]) sample_q <= sample;

  // ---------------------------------------------------------------- measure
  logic [18:0] sum;
  assign sum = 19'(me_rtt_i.srtt[18:3]) + ((me_rtt_i.rttvar == '0) ? 19'd1 : 19'(me_rtt_i.rttvar));

  always_comb begin
    me_rtt_o = me_rtt_i;
    if (sample_q) begin
      me_rtt_o.rto = (sum < 19'(RtoMin)) ? 16'(RtoMin) :
          (sum > 19'(RtoMax)) ? 16'(RtoMax) : sum[15:0];
    end
  end

  // ---------------------------------------------------------------- finish
  // Time one segment of new data at a time; never one that is sent again (Karn), unless timestamps tell whose
  // answer an ACK is: then it is the one sent last that counts, as it may be the only one that arrives.
  always_comb begin
    fi_rtt_o = fi_rtt_i;
    if (fi_sent_i.data) begin
      if (fi_sent_i.again && !fi_stamps_i) fi_rtt_o.on = 1'b0;
      else if (fi_sent_i.again || !fi_rtt_i.on) begin
        fi_rtt_o.on    = 1'b1;
        fi_rtt_o.seq   = fi_sent_i.end_;
        fi_rtt_o.since = fi_now_i;
      end
    end
  end

  logic unused;
  assign unused = ^{class_rtt_i, up_signs_i, fi_sent_i};

endmodule
