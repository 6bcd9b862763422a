// tcp_send: no segment carries a byte that the session did not write, nor one beyond the peer's window that
// was not sent before, but for the one that probes a shut window; SND.NXT and SND.MAX stay in order; what
// fits a stream of events that the stages before it can make of a connection.
`include "fv.svh"
`include "lib_assert.svh"

module tcp_send_fv
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input logic        clk_i,
  input logic [19:0] now_i,
  input logic [13:0] own_mss_i,
  input tcb_t        tcb_i,
  input measure_t    measure_i,
  input hole_t       hole_i,
  input logic        sack_i,
  input spans_t      spans_i
);
  `FV_RESET

  // What is sent of the event in finish, and what becomes of the word.
  measure_t fi;
  tcb_t tcb;
  sent_t sent;
  logic [3:0] push;
  logic cmd_valid;
  txcmd_t cmd;
  tcp_send dut (
    .clk_i,
    .rst_ni,
    .valid_i    ('1),
    .now_i,
    .own_mss_i,
    .tcb_i,
    .measure_i,
    .hole_i,
    .sack_i,
    .spans_i,
    .measure_o  (fi),
    .tcb_o      (tcb),
    .sent_o     (sent),
    .push_o     (push),
    .cmd_valid_o(cmd_valid),
    .cmd_o      (cmd)
  );

  // ------------------------------------------------ a connection, as it comes from measure
  // Numbers from SND.UNA on. The FIN has one behind the last byte, once the session has closed.
  function automatic logic sane(input tcb_t t);
    logic [31:0] nxt, max, fin;
    nxt = t.snd_nxt - t.snd_una;
    max = t.snd_max - t.snd_una;
    fin = t.tx_end - t.snd_una + 32'd1;
    return nxt <= max && max <= fin && fin <= 32'(RingBytes) + 32'd1 && (max != fin || t.close) &&
           t.fin_acked == (fin == '0) && t.snd_wnd <= Ring;
  endfunction
  `FV_ASSUME(Sane, sane(tcb_i))
  `FV_ASSUME(Mss, tcb_i.mss >= 14'd52 && tcb_i.mss <= 14'd9176)
  `FV_ASSUME(Flight, measure_i.flight == 17'(tcb_i.snd_nxt - tcb_i.snd_una))
  `FV_ASSUME(Sent, measure_i.sent == 17'(tcb_i.snd_max - tcb_i.snd_una))
  `FV_ASSUME(Unsent, measure_i.unsent == tcb_i.tx_end - tcb_i.snd_nxt)
  `FV_ASSUME(Unacked, measure_i.unacked == tcb_i.tx_end - tcb_i.snd_una)
  logic sends, at_end;
  assign sends  = measure_i.send || measure_i.from_una;
  assign at_end = measure_i.flight == measure_i.sent && measure_i.sent != '0;
  `FV_ASSUME(Open, !sends || tcb_i.state == StOpen)
  // A shut window is probed with what waits; else what was sent goes again.
  `FV_ASSUME(Probe, !measure_i.probe || (measure_i.from_una && tcb_i.snd_wnd == '0))
  `FV_ASSUME(Again, !measure_i.from_una || measure_i.probe || measure_i.sent != '0)
  // A tail-loss probe goes while SND.NXT is SND.MAX: what sets it back disarms it.
  `FV_ASSUME(Tail, !measure_i.tail || (measure_i.send && !measure_i.from_una && at_end))
  `FV_ASSUME(Keep, !measure_i.keep || !sends)
  `FV_ASSUME(Refuse, !measure_i.refuse || measure_i.blind)
  `FV_ASSUME(Blind, !measure_i.blind || !sends)

  // ------------------------------------------------ a hole, as tcp_score tells it in limit
  logic [31:0] hole_end;
  logic segment_long, was_sent, at_nxt, beyond_nxt;
  assign hole_end     = 32'(hole_i.off) + 32'(hole_i.len);
  assign segment_long = hole_i.len != '0 && hole_i.len <= dut.li_tcb_q.mss;
  assign was_sent     = hole_end <= 32'(dut.li_q.sent) && hole_end <= dut.li_q.unacked;
  assign at_nxt       = hole_i.off == dut.li_q.flight;
  assign beyond_nxt   = hole_i.off > dut.li_q.flight && hole_i.off <= dut.li_q.sent;
  `FV_ASSUME(HoleSent, !hole_i.hole || (segment_long && was_sent))
  `FV_ASSUME(HoleAt, !hole_i.hole || hole_i.recovery || hole_i.skip || at_nxt)
  `FV_ASSUME(HoleFirst, !hole_i.first || (hole_i.recovery && hole_i.off == '0))
  `FV_ASSUME(Skip, !hole_i.skip || (!hole_i.recovery && beyond_nxt))
  `FV_ASSUME(Redo, !hole_i.redo || hole_i.recovery)

  // ------------------------------------------------ what is sent
  // The first events that came in such a way are there.
  logic [2:0] came_q = '0;
  always_ff @(posedge clk_i) came_q <= {came_q[1:0], 1'b1};
  logic bytes, fin, window;
  logic [31:0] len, to;
  assign len   = 32'(cmd.seg.len);
  assign bytes = came_q[2] && cmd_valid && !fi.blind && len != '0;
  assign to    = cmd.seg.seq - tcb.snd_una + len;
  `ASSERT(written, !bytes || (to <= tcb.tx_end - tcb.snd_una && to >= len))
  assign window = to <= 32'(fi.sent) || to <= 32'(tcb.snd_wnd);
  `ASSERT(in_window, !bytes || window || (fi.probe && to == 32'd1))
  `ASSERT(one_segment, !bytes || len <= 32'(tcb.mss))
  assign fin = came_q[2] && cmd_valid && !fi.blind && cmd.seg.flags.fin;
  `ASSERT(fin_last, !fin || (tcb.close && cmd.seg.seq + len == tcb.tx_end))
  `ASSERT(order, !came_q[2] || sane(tcb))

  // ------------------------------------------------ reached
  `FV_COVER(Bytes, bytes && sent.data && !sent.again)
  `FV_COVER(Full, bytes && to == 32'(tcb.snd_wnd) && to > 32'(fi.sent))
  `FV_COVER(Probes, bytes && fi.probe)
  `FV_COVER(AgainBehind, bytes && fi.from_una && to > 32'(tcb.snd_wnd))
  `FV_COVER(Fin, fin)
  `FV_COVER(Tail, bytes && fi.tail)
endmodule
