// The scoreboard (RFC 6675): what the peer has behind the first byte that it lacks, as its last SACK
// option told, and how far the holes between were sent again. A part of tcp_tcb's pipe, stage by stage,
// with RAMs of its own beside the connection table. Latency and initiation interval are tcp_tcb's.
//
//   fetch    read
//   diff     the option against what was sent
//   class    it takes the place of what was known; how far behind the hole that is
//   update   forget it (RFC 2018, section 8)
//   measure  write; where to go on
//   limit    the hole there, what cwnd leaves
//   finish   how far the holes are sent again
//
// An option holds four intervals, or three beside timestamps, as a peer repeats them in each ACK (RFC 2018,
// section 4). So what it told before is not needed: of one more interval, the one that changed longest ago,
// the peer gets again what it may have.
//
// In a recovery that begins with such an option (`score`), pipe is what was sent behind the highest byte
// told, and what was sent again below that and is not told (RFC 6675, SetPipe); a hole that ends more
// than three segments below is lost. Once something that was sent after the last hole is told, what is
// missing yet was lost again, and all holes are sent once more.
`include "lib_assert.svh"

// Whole structs come in.
// verilator lint_off UNUSEDSIGNAL
module tcp_score
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// The stages, diff first, that hold an event; one of a connection.
  input  logic [Stages-1:0]        valid_i,
  input  logic [Stages-1:0]        held_i,
  /// fetch: an event of this connection.
  input  logic                     fetch_i,
  input  logic [$clog2(Conns)-1:0] id_i,
  /// diff, class: the event; the connection is new.
  input  work_t                    diff_i,
  input  logic                     diff_fresh_i,
  input  work_t                    class_i,
  input  class_t                   class_class_i,
  /// update.
  output sack_t                    up_sack_o,
  /// A recovery begins; all that is unacknowledged is sent again, whatever the peer has told.
  input  logic                     up_fast_i,
  input  logic                     up_clear_i,
  /// measure: the event, cwnd; something is told.
  input  work_t                    me_i,
  input  logic [16:0]              me_cwnd_i,
  output logic                     me_sacked_o,
  /// limit: what is left to be sent.
  output hole_t                    hole_o,
  /// finish: what is sent; snd_max.
  input  sent_t                    fi_sent_i,
  input  near_t                    fi_max_i
);

  localparam int unsigned IdW = $clog2(Conns);

  /// Written as an event leaves update.
  typedef struct packed {
    logic   score;  // the recovery goes by what the peer tells
    spans_t spans;  // in ascending order
  } told_t;
  /// Written as it leaves the pipe.
  typedef struct packed {
    near_t next;  // holes before it are sent again
    near_t mark;  // snd_max when the last one was, or a tail-loss probe was sent
  } again_t;

  // ---------------------------------------------------------------- fetch
  told_t ram_told, me_q;
  again_t ram_again, fi_again;
  logic told_write_q, again_write;
  logic [Stages-1:0][IdW-1:0] id_q;
  always_ff @(posedge clk_i) id_q <= {id_q[Stages-2:0], id_i};

  lib_ram #(
    .Width($bits(told_t)),
    .Depth(Conns)
  ) u_told (
    .clk_i,
    .we_i   (told_write_q),
    .waddr_i(id_q[3]),
    .wbe_i  (1'b1),
    .wdata_i(me_q),
    .re_i   (fetch_i),
    .raddr_i(id_i),
    .rdata_o(ram_told)
  );

  lib_ram #(
    .Width($bits(again_t)),
    .Depth(Conns)
  ) u_again (
    .clk_i,
    .we_i   (again_write),
    .waddr_i(id_q[6]),
    .wbe_i  (1'b1),
    .wdata_i(fi_again),
    .re_i   (fetch_i),
    .raddr_i(id_i),
    .rdata_o(ram_again)
  );

  // ---------------------------------------------------------------- diff
  sacked_t option, option_q;
  told_t class_told_q;
  again_t class_again_q;
  near_t far_q;  // three segments
  logic past_q, beyond_q;
  always_comb begin
    option = diff_i.ev.found.sacked;
    // What was never sent the peer cannot have. What is not valid is zeros from here on.
    for (int unsigned i = 0; i < Spans; i++) begin
      if (!option.spans[i].valid || near_lt(near_t'(diff_i.tcb.snd_max), option.spans[i].to))
        option.spans[i] = '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i[0]) begin
      option_q      <= option;
      class_told_q  <= diff_fresh_i ? '0 : ram_told;
      class_again_q <= ram_again;
      past_q        <= !near_lt(near_t'(diff_i.ev.found.seg.ack), ram_again.mark);
      beyond_q      <= near_lt(ram_again.mark, near_t'(diff_i.ev.found.seg.ack));
      far_q         <= near_t'(diff_i.tcb.mss) + near_t'({diff_i.tcb.mss, 1'b0});
    end
  end

  // ---------------------------------------------------------------- class
  function automatic near_t end_of(input spans_t spans);
    end_of = '0;
    for (int unsigned i = 0; i < Spans; i++) if (spans[i].valid) end_of = spans[i].to;
  endfunction

  seg_t seg;
  logic good, fits;
  spans_t class_left;
  near_t una, option_end;
  assign una = near_t'(seg.ack);
  assign option_end = end_of(option_q.spans);
  assign seg    = class_i.ev.found.seg;
  // As tcp_update's `good`: of the peer, and in the window. Options are those of bare ACKs.
  assign good = class_i.ev.kind == KdSeg && class_i.ev.found.hit && class_i.tcb.state == StOpen &&
      seg.flags.ack && !seg.flags.rst && !seg.flags.syn && !class_i.diff.stale &&
      (class_class_i.seq_inside || (class_class_i.seq_before && !class_class_i.end_[31]));
  assign fits = good && (class_class_i.ack_new || class_class_i.ack_same);
  // What an ACK of something new reaches is forgotten; the others move up, so that the same ones told again are no news.
  logic [Spans-1:0] reached;
  always_comb begin
    class_left = class_told_q.spans;
    for (int unsigned i = 0; i < Spans; i++) begin
      reached[i] = class_told_q.spans[i].valid && !near_lt(una, class_told_q.spans[i].from);
      if (reached[i]) class_left = spans_t'(class_told_q.spans >> ((i + 1) * $bits(span_t)));
    end
  end

  // ---------------------------------------------------------------- update
  told_t up_q;
  again_t up_again_q;
  logic up_wrote_q;
  near_t up_far_q;
  sack_t up_sack_q;
  logic [Spans-1:0] up_valid;
  always_comb begin
    for (int unsigned i = 0; i < Spans; i++) up_valid[i] = up_q.spans[i].valid;
    up_sack_o       = up_sack_q;
    up_sack_o.some  = |up_valid;
    up_sack_o.score = up_q.score;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i[1]) begin
      up_q       <= '{
          score: class_told_q.score,
          // Which event it is comes last: all this waits for it.
        spans: (fits && option_q.told) ? option_q.spans :
            (good && class_class_i.ack_new) ? class_left : class_told_q.spans
      };
      up_again_q <= class_again_q;
      up_wrote_q <= class_told_q != '0 || option_q.told || class_i.ev.found.fresh;
      up_sack_q  <= '{
          told: fits && option_q.told,
          news: option_q.spans != class_told_q.spans,
          lost: fits && option_q.told && option_q.spans != '0 && near_lt(una + far_q, option_end),
          twice: fits && option_q.told && option_q.twice,
          past: past_q,
          beyond: beyond_q,
          default: '0
      };
      up_far_q   <= far_q;
    end
  end

  // ---------------------------------------------------------------- measure
  again_t me_again_q;
  logic me_fast_q, me_sacked_q;
  near_t me_far_q, me_end_q;
  assign me_sacked_o = me_sacked_q;
  always_ff @(posedge clk_i) begin
    told_write_q <= rst_ni && held_i[2] && (up_wrote_q || up_fast_i);
    if (valid_i[2]) begin
      me_q.score <= up_fast_i ? up_sack_o.some : up_q.score;
      me_q.spans <= up_clear_i ? '0 : up_q.spans;
      me_end_q   <= end_of(up_q.spans);
      me_far_q   <= up_far_q;
      me_again_q <= up_again_q;
      me_fast_q  <= up_fast_i;
      me_sacked_q <= up_sack_o.some && !up_clear_i;
    end
  end

  near_t me_una, me_nxt, me_max, me_from, me_end;
  logic recovery, goes_on;
  logic [Spans-1:0] below, around, ahead;
  logic [Spans-1:0][16:0] len;
  assign me_una = near_t'(me_i.tcb.snd_una);
  assign me_nxt = near_t'(me_i.tcb.snd_nxt);
  assign me_max = near_t'(me_i.tcb.snd_max);

  typedef struct packed {
    logic             recovery;
    logic             hole;
    logic             first;
    logic             skip;
    logic             redo;
    near_t            una;
    near_t            at;      // where sending goes on
    near_t            to;      // the hole's end
    near_t            late;    // a hole before it is lost
    logic [Spans-1:0] below;   // before `at`
    logic [Spans-1:0][16:0] len;
    logic signed [18:0] room;  // cwnd, less what is in flight beyond the highest byte told
    near_t            mark;
    logic [13:0]      mss;
  } at_t;
  at_t me, li_q;

  always_comb begin
    recovery = me_i.tcb.cong.in_rec && me_q.score;
    // From snd_una on, if the holes were sent again up to there only.
    goes_on = recovery && !me_fast_q && near_lt(me_una, me_again_q.next);
    me_from = recovery ? me_again_q.next : me_nxt;
    me_end  = me_sacked_o ? me_end_q : me_una;
    for (int unsigned i = 0; i < Spans; i++) begin
      below[i]  = me_q.spans[i].valid && !near_lt(me_from, me_q.spans[i].from) &&
          (recovery ? goes_on : !me_i.tcb.cong.in_rec);
      around[i] = below[i] && near_lt(me_from, me_q.spans[i].to);
      ahead[i]  = me_q.spans[i].valid && !below[i];
      len[i]    = 17'(me_q.spans[i].to - me_q.spans[i].from);
    end

    me.recovery = recovery;
    me.hole     = |ahead && (recovery || !me_i.tcb.cong.in_rec);
    me.first    = recovery && !goes_on;
    me.skip     = |around && !recovery;
    me.redo     = goes_on && me_sacked_o && near_lt(me_again_q.mark, me_end_q);
    me.una      = me_una;
    me.at       = (recovery && !goes_on) ? me_una : (|around) ? '0 : me_from;
    me.to       = '0;
    for (int i = Spans - 1; i >= 0; i--) begin
      if (around[i]) me.at |= me_q.spans[i].to;
      if (ahead[i]) me.to = me_q.spans[i].from;
    end
    me.late     = me_end - me_far_q;
    me.below    = below;
    me.len      = len;
    // In a recovery cwnd is as it stands.
    me.room     = recovery ? 19'(me_i.tcb.cong.cwnd) - 19'(17'(me_max - me_end)) : 19'(me_cwnd_i);
    me.mark     = me_again_q.mark;
    me.mss      = me_i.tcb.mss;
  end

  // ---------------------------------------------------------------- limit
  always_ff @(posedge clk_i) if (valid_i[3]) li_q <= me;

  logic [16:0] gap, told_below;
  logic signed [18:0] room;
  always_comb begin
    told_below = '0;
    for (int unsigned i = 0; i < Spans; i++) told_below += li_q.below[i] ? li_q.len[i] : '0;
    hole_o.off = 17'(li_q.at - li_q.una);
    room       = (li_q.room - 19'(hole_o.off)) + 19'(told_below);
    gap        = 17'(li_q.to - li_q.at);

    hole_o.recovery = li_q.recovery;
    hole_o.hole     = li_q.hole;
    hole_o.first    = li_q.first;
    hole_o.skip     = li_q.skip;
    hole_o.redo     = li_q.redo;
    hole_o.lost     = li_q.first || near_lt(li_q.at, li_q.late);
    hole_o.len      = 14'(lesser(gap, 17'(li_q.mss)));
    hole_o.room     = room[18] ? '0 : room[16:0];
  end

  // ---------------------------------------------------------------- choose, finish
  again_t ch_again_q, fi_again_q;
  logic ch_recovery_q, fi_recovery_q;
  always_ff @(posedge clk_i) begin
    if (valid_i[4]) begin
      ch_again_q    <= '{next: li_q.redo ? li_q.una : li_q.at, mark: li_q.mark};
      ch_recovery_q <= li_q.recovery;
    end
    if (valid_i[5]) begin
      fi_again_q    <= ch_again_q;
      fi_recovery_q <= ch_recovery_q;
    end
  end
  assign fi_again    = (fi_sent_i.fills || fi_sent_i.tail) ?
      '{next: fi_sent_i.end_, mark: fi_max_i} : fi_again_q;
  assign again_write = held_i[6] && (fi_recovery_q || fi_sent_i.tail);

  // ---------------------------------------------------------------- checks
  // An id that never had a connection has what its RAM began with, which nobody reads.
  logic told_open;
  assign told_open = told_write_q && me_i.tcb.state == StOpen;
  for (genvar i = 0; i < Spans; i++) begin : gen_check
    `ASSERT(sent, !(told_open && me_q.spans[i].valid) || (near_lt(me_una, me_q.spans[i].from
            ) && near_lt(me_q.spans[i].from, me_q.spans[i].to) && !near_lt(me_max, me_q.spans[i].to
            )))
    if (i != 0) begin : gen_order
      `ASSERT(ascending, !(told_open && me_q.spans[i].valid && me_q.spans[i-1].valid) || near_lt(
              me_q.spans[i-1].to, me_q.spans[i].from))
    end
  end

endmodule
