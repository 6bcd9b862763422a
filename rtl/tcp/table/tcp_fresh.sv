// The state in which a connection begins: the peer's ACK of our SYN has come, and with it perhaps
// data, which are still to be looked at. Combinational.
module tcp_fresh
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
(
  /// The id's last state: queues may still have the id.
  input  tcb_t        old_i,
  /// The ACK, and what the handshake agreed on.
  input  logic [31:0] seq_i,
  input  logic [31:0] ack_i,
  input  agreed_t     agreed_i,
  /// The window that it tells, in bytes.
  input  logic [16:0] wnd_i,
  output tcb_t        tcb_o
);

  logic [16:0] mss2, mss10;
  assign mss2  = 17'({agreed_i.mss, 1'b0});
  assign mss10 = 17'({agreed_i.mss, 3'b0}) + mss2;

  always_comb begin
    tcb_o          = '0;
    tcb_o.state    = StOpen;
    tcb_o.in_more  = old_i.in_more;
    tcb_o.in_fast  = old_i.in_fast;
    tcb_o.in_slow  = old_i.in_slow;
    tcb_o.in_wait  = old_i.in_wait;
    tcb_o.snd_una  = ack_i;
    tcb_o.snd_nxt  = ack_i;
    tcb_o.snd_max  = ack_i;
    tcb_o.tx_end   = ack_i;
    tcb_o.snd_wnd  = wnd_i;
    tcb_o.max_wnd  = wnd_i;
    tcb_o.ws_ok    = agreed_i.ws_ok;
    tcb_o.ws       = agreed_i.ws;
    tcb_o.mss      = agreed_i.mss;
    // RFC 6928: ten segments, but not more than 14,600 bytes or two segments.
    tcb_o.cong.cwnd     = (mss2 > 17'd14600) ? mss2 : (mss10 < 17'd14600) ? mss10 : 17'd14600;
    tcb_o.cong.ssthresh = 17'(RingBytes);
    tcb_o.cong.recover  = near_t'(ack_i) - near_t'(1);
    tcb_o.rcv_nxt  = seq_i;
    tcb_o.credit   = seq_i;
    tcb_o.adv      = 17'h0_FFFF;  // by the SYN-ACK
    tcb_o.rtt.rto  = 16'(RtoInit);
  end

  logic unused;
  assign unused = ^{old_i, agreed_i.sack_ok};

endmodule
