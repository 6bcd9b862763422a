// Which event goes through tcp_tcb's pipe next: round robin, one that has what it needs. It waits
// here while another one of its connection is inside (the hazard), so that the word it reads is the
// last one written. A segment that has no right to wait any more (tcp_share) goes on as one of no
// connection, marked. Latency 1, initiation interval 1.
//
// A full output holds back only the events that need it, and makes segments and commands quiet.
`include "lib_assert.svh"

module tcp_pick
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import tcb_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024,
  /// See tcp_share.
  parameter int unsigned Patience = 2048
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The table can be read.
  input  logic        ready_i,
  /// Events: see tcp_tcb.
  input  logic        seg_valid_i,
  output logic        seg_ready_o,
  input  found_t      seg_i,
  input  logic        app_valid_i,
  output logic        app_ready_o,
  input  app_t        app_i,
  input  logic        refused_valid_i,
  output logic        refused_ready_o,
  input  conn_t       refused_i,
  input  logic [2:0]  visit_valid_i,
  output logic [2:0]  visit_ready_o,
  input  conn_t [2:0] visit_i,
  input  logic        hurry_i,
  /// This connection is to have a visit of `more`. Not while one waits.
  input  logic        more_i,
  input  conn_t       more_conn_i,
  /// Room at the outputs.
  input  logic        verdict_room_i,
  input  logic        cmd_room_i,
  input  logic        del_room_i,
  /// The event whose connection's word is read now.
  output logic        fetch_o,
  output event_t      ev_o,
  /// The stages behind, diff first, that hold an event; one that has a word.
  output logic [Stages-1:0] valid_o,
  output logic [Stages-1:0] held_o,
  output logic        idle_o
);

  localparam int unsigned IdW = $clog2(Conns);

  // ---------------------------------------------------------------- pick
  typedef enum logic [2:0] {
    SrcSeg,
    SrcApp,
    SrcRefused,
    SrcMore,
    SrcFast,
    SrcSlow,
    SrcWait
  } src_e;
  localparam int unsigned Srcs = 7;

  logic more_valid, more_ready, unused_more_ready;
  logic [IdW-1:0] more_id;
  logic [$clog2(Conns+1)-1:0] more_level;

  lib_fifo #(
    .T    (logic [IdW-1:0]),
    .Depth(Conns)
  ) u_more (
    .clk_i,
    .rst_ni,
    .s_valid_i(more_i),
    .s_ready_o(unused_more_ready),
    .s_data_i (more_conn_i[IdW-1:0]),
    .m_valid_o(more_valid),
    .m_ready_i(more_ready),
    .m_data_o (more_id),
    .level_o  (more_level)
  );
  `ASSERT(fits_more_room, !more_i || unused_more_ready)

  // The connection of `over` has used up its share: known when it is picked, too late when it is its turn.
  typedef struct packed {
    event_t ev;
    logic   over;
  } picked_t;
  logic pick_valid, pick_ready, busy, crowded, over;
  event_t pick, next;
  picked_t picked;
  logic [Srcs-1:0] want, turn, grant;
  logic room, app_room, seg_room;

  // The scheduler may wait for its commands before it takes events, so commands need no room for
  // verdicts (an event that one causes is sent by `more`).
  assign room     = ready_i && del_room_i && pick_ready;
  assign app_room = cmd_room_i || !app_i.reset;
  // Nothing remembers an answer to a SYN: it waits, and so do segments behind it.
  assign seg_room = cmd_room_i || !(seg_i.seg.flags.syn || seg_i.refused);
  assign want = {visit_valid_i, more_valid, refused_valid_i, app_valid_i, seg_valid_i} &
                {Srcs{room}} & {{4{verdict_room_i && cmd_room_i}}, cmd_room_i, app_room,
                                verdict_room_i && seg_room};
  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .N(Srcs)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(want),
    .s_ready_o(turn),
    .s_data_i ('0),
    .s_last_i ('1),
    .m_valid_o(),
    .m_ready_i(1'b1),
    .m_data_o (),
    .m_last_o (),
    .m_idx_o  ()
  );
  // verilator lint_on PINCONNECTEMPTY
  assign grant = want & turn;

  assign seg_ready_o   = grant[SrcSeg];
  assign app_ready_o   = grant[SrcApp];
  assign refused_ready_o = grant[SrcRefused];
  assign more_ready    = grant[SrcMore];
  assign visit_ready_o = grant[SrcWait:SrcFast];

  always_comb begin
    pick = '0;
    pick.found = seg_i;
    pick.found.fresh = seg_i.fresh && grant[SrcSeg];
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
      grant[SrcRefused]: begin
        pick.kind       = KdApp;
        pick.reset      = 1'b1;
        pick.found.conn = refused_i;
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

  lib_skid_buffer #(
    .T(picked_t)
  ) u_pick (
    .clk_i,
    .rst_ni,
    .s_valid_i(|grant),
    .s_ready_o(pick_ready),
    .s_data_i ('{ev: pick, over: over}),
    .m_valid_o(pick_valid),
    .m_ready_i(!busy || crowded),
    .m_data_o (picked)
  );
  assign next = picked.ev;

  // ---------------------------------------------------------------- hazard
  // A word is written at the end of the last stage. A segment of no connection has no word, so
  // nobody waits for it.
  logic segment, stranger;
  logic [Stages-1:0][IdW-1:0] id_q;
  assign segment  = next.kind == KdSeg || next.kind == KdTooBig;
  assign stranger = segment && !next.found.hit;
  always_comb begin
    busy = 1'b0;
    for (int unsigned s = 0; s < Stages; s++) begin
      busy |= held_o[s] && id_q[s] == next.found.conn[IdW-1:0];
    end
    if (stranger) busy = 1'b0;
  end

  // Bare ACKs become one while they wait (tcp_merge), and what completes a handshake has its id already.
  logic sheds;
  localparam tcp_flags_t Says = '{syn: 1'b1, fin: 1'b1, rst: 1'b1, default: 1'b0};
  assign sheds   = segment && !next.found.fresh &&
      (next.found.seg.len != '0 || next.found.seg.too_big || (next.found.seg.flags & Says) != '0);
  assign crowded = busy && sheds && picked.over;

  tcp_share #(
    .Patience(Patience)
  ) u_share (
    .clk_i,
    .rst_ni,
    .line_i(seg_valid_i && !seg_ready_o),
    .conn_i(next.found.conn),
    .wait_i(pick_valid && busy && segment && seg_valid_i),
    .ask_i (seg_i.conn),
    .over_o(over)
  );

  always_comb begin
    ev_o = next;
    if (crowded) begin
      ev_o.found.hit     = 1'b0;
      ev_o.found.crowded = 1'b1;
    end
  end
  assign fetch_o = pick_valid && (!busy || crowded);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_o <= '0;
      held_o  <= '0;
    end else begin
      valid_o <= {valid_o[Stages-2:0], fetch_o};
      held_o  <= {held_o[Stages-2:0], pick_valid && !busy && !stranger};
    end
    id_q <= {id_q[Stages-2:0], next.found.conn[IdW-1:0]};
  end

  assign idle_o = !pick_valid && valid_o == '0 && more_level == '0;

  `ASSERT(conn_in_range, !fetch_o || 32'(ev_o.found.conn) < Conns)

  logic unused;
  assign unused = ^more_conn_i;

endmodule
