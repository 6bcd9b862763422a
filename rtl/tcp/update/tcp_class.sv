// Classification of a segment: where it lies in the receive window, what its ACK is; of a timeout
// or a router's word, whether segments are too big for the path. The class stage of tcp_tcb.
// Combinational.

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_class
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
(
  input  work_t  work_i,
  output class_t class_o
);

  seg_t seg;
  tcb_t tcb;
  diff_t diff;
  assign seg  = work_i.ev.found.seg;
  assign tcb  = work_i.tcb;
  assign diff = work_i.diff;

  logic [16:0] back;
  logic [31:0] last_ack;  // seq - Last.ACK.sent
  logic [13:0] less;
  logic recent_ack;
  assign last_ack = diff.seq + 32'(tcb.pend);
  assign less     = times_len(work_i.silence.stamps.on);
  // snd_una - ack, where it is no more than twice the ring.
  assign back       = 17'(-diff.ack[16:0]);
  assign recent_ack = &diff.ack[31:17] && back != '0 && back <= tcb.max_wnd;

  always_comb begin
    class_o.syn_only   = seg.flags.syn && !seg.flags.ack && !seg.flags.rst;
    class_o.seq_eq     = diff.seq == '0;
    class_o.seq_before = diff.seq[31];
    class_o.seq_inside = diff.seq[31:17] == '0 && diff.seq[16:0] <= diff.free;
    class_o.seq_recent = &diff.seq[31:16];
    class_o.has        = seg.len != '0 || seg.flags.fin;
    class_o.has_data   = seg.len != '0;
    class_o.ooo_room   = diff.free - diff.seq[16:0];
    class_o.ooo        = diff.seq[31:17] == '0 && diff.seq != '0 &&
        diff.seq[16:0] < diff.free && seg.len != '0;
    class_o.end_       = diff.seq + 32'(seg.len);
    class_o.ack_same   = diff.ack == '0;
    class_o.ack_new    = diff.ack[31:17] == '0 && diff.ack != '0 &&
        diff.ack[16:0] <= diff.sent;
    class_o.ack_bad    = !class_o.ack_same && !class_o.ack_new && !recent_ack;
    class_o.ack_fin    = diff.ack_end == 32'd1;
    class_o.wnd_same   = diff.wnd == tcb.snd_wnd;
    class_o.max_wnd    = greater(tcb.max_wnd, diff.wnd);
    class_o.mss2       = 17'({tcb.mss, 1'b0});
    class_o.quoted     = diff.ack[31:17] == '0 && diff.ack[16:0] < diff.sent;
    class_o.stamps     = last_ack[31] || last_ack == '0;
    class_o.path_mss   = 14'(seg.mss) - less;
    class_o.smaller    = seg.mss < 16'(tcb.mss + less);
    // Of less than that no segment is too big.
    class_o.hole_mss   = (ours_of(work_i.peer) != OursIp4 ? HoleMss6 :
        (tcb.tries > 4'd2) ? HoleMssLeast : HoleMss) - 11'(less);
    class_o.hole       = tcb.tries > 4'd1 && tcb.mss > 14'(class_o.hole_mss) &&
        diff.sent > 17'(class_o.hole_mss);
  end

endmodule
