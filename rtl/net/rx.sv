// Receive side: sorts frames by destination and keeps each until it is known to be good. Latency
// 10 from a frame's last beat; initiation interval 1. Never stalls the wire: a
// frame for a full queue is dropped whole.
`include "lib_assert.svh"

module rx
  import wirekv_pkg::*;
  import net_pkg::*;
  import config_pkg::Config;
(
  input  logic                clk_i,
  input  logic                rst_ni,
  input  net_cfg_t            cfg_i,
  input  logic                enable_i,
  /// One-clock pulse each millisecond.
  input  logic                tick_i,
  /// Frames from the wire.
  input  logic [511:0]        s_axis_tdata,
  input  logic [63:0]         s_axis_tkeep,
  input  logic                s_axis_tvalid,
  input  logic                s_axis_tlast,
  /// There is room for one more segment, the largest, behind what has come: whoever can wait loses
  /// none. There is for a SYN: whoever waits for that, too, has all others wait for them.
  output logic                room_o,
  output logic                syn_room_o,
  /// A frame has ended, in the order in which they came: it is kept as a datagram, or is none.
  output logic                ended_o,
  output logic                ended_dgram_o,
  /// Datagrams are wanted: else a frame that is one is lost, as it is where there is no room.
  input  logic                dgram_wanted_i,
  /// TCP segments.
  output logic                seg_valid_o,
  input  logic                seg_ready_i,
  output seg_t                seg_o,
  output beat_t               seg_beat_o,
  /// UDP datagrams.
  output logic                dgram_valid_o,
  input  logic                dgram_ready_i,
  output dgram_t              dgram_o,
  output beat_t               dgram_beat_o,
  /// Whole frames with ARP and echo requests.
  output logic                reply_valid_o,
  input  logic                reply_ready_i,
  output answer_e             reply_kind_o,
  output logic                reply_vlan_o,
  output beat_t               reply_beat_o,
  /// Who solicits a neighbour that is `ours`.
  output logic                solicit_valid_o,
  input  logic                solicit_ready_i,
  output peer_t               solicit_o,
  /// Whole frames for the host.
  output logic                host_valid_o,
  input  logic                host_ready_i,
  output beat_t               host_beat_o,
  /// Event pulses, see net_count_e.
  output logic [NetCounts-1:0] count_o,
  /// Nothing inside.
  output logic                idle_o,
  /// Ticks are needed.
  output logic                timer_o
);

  localparam int unsigned DataDepth = 512;  // 32 KiB; a segment of one beat takes one word of each
  localparam int unsigned SolicitDepth = 32;
  localparam int unsigned SynDepth = 32;  // SYNs that wait for their options to be read
  localparam int unsigned FrameDepth = 256;  // more than the 142 beats of a 9,018-byte frame
  // Room for what has come, but not to the queues yet, and for one frame more: at most a frame and a beat
  // in each of 13 clocks, and 142 beats of the largest frame.
  localparam int unsigned RoomFrames = 16;
  localparam int unsigned RoomBeats = 142 + RoomFrames;
  // Echo replies at once; in the long run one a tick. Both as Linux limits what ICMP it sends.
  localparam int unsigned EchoBurst = 50;

  // ---------------------------------------------------------------- parse and cut
  logic parsed_valid, parsed_first, parsed_load, parsed_meta_valid, parse_busy, cut_busy;
  beat_t parsed_beat, beat;
  rx_ctl_t parsed_ctl;
  rx_meta_t parsed_meta, meta;
  logic beat_valid, vlan, frame_end, cut_bad, bad;
  answer_e kind;
  rx_dest_e dest;
  net_count_e cut_cause, cause;

  rx_parse u_parse (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .enable_i,
    .s_axis_tdata,
    .s_axis_tkeep,
    .s_axis_tvalid,
    .s_axis_tlast,
    .valid_o(parsed_valid),
    .first_o(parsed_first),
    .load_o (parsed_load),
    .beat_o (parsed_beat),
    .ctl_o  (parsed_ctl),
    .meta_valid_o(parsed_meta_valid),
    .meta_o (parsed_meta),
    .busy_o (parse_busy)
  );

  rx_cut u_cut (
    .clk_i,
    .rst_ni,
    .valid_i(parsed_valid),
    .first_i(parsed_first),
    .load_i (parsed_load),
    .beat_i (parsed_beat),
    .ctl_i  (parsed_ctl),
    .valid_o(beat_valid),
    .beat_o (beat),
    .dest_o (dest),
    .vlan_o (vlan),
    .reply_o(kind),
    .end_o  (frame_end),
    .bad_o  (cut_bad),
    .cause_o(cut_cause),
    .busy_o (cut_busy)
  );

  // The fields of the frames inside rx_cut, at most one a clock of its latency.
  lib_fifo #(
    .T    (rx_meta_t),
    .Depth(16),
    .Ultra(1'b1)
  ) u_meta (
    .clk_i,
    .rst_ni,
    .s_valid_i(parsed_valid && parsed_meta_valid),
    // verilator lint_off PINCONNECTEMPTY
    .s_ready_o(),
    .s_data_i (parsed_meta),
    .m_valid_o(),
    .m_ready_i(frame_end),
    .m_data_o (meta),
    .level_o  ()
    // verilator lint_on PINCONNECTEMPTY
  );

  // ---------------------------------------------------------------- verdict
  typedef struct packed {
    beat_t  beat;
    answer_e kind;
    logic   vlan;
  } reply_t;

  logic [RxDests-1:0] to, room, push, commit, rollback;
  logic is_echo, echo_ok;
  logic lost_q, lost, seg_meta_room, dgram_busy, to_syn, syn_room, syn_done;
  logic [$clog2(SynDepth+1)-1:0] syn_left;

  assign is_echo  = dest == RxReply && kind != ReplyArp;
  assign bad      = cut_bad || (is_echo && !echo_ok);
  assign cause    = cut_bad ? cut_cause : NetCountRxEchoLimit;
  assign to       = RxDests'(1) << dest;
  // A SYN finds its place aside taken by others before it gets any here: who sends many of them is in
  // nobody else's way.
  assign to_syn   = frame_end && dest == RxTcp && (meta.flags.syn || meta.too_big);
  assign lost     = lost_q || (beat_valid && (to & room) == '0) || (to_syn && !syn_room) ||
      (frame_end && dest == RxUdp && !dgram_wanted_i);
  assign push     = (beat_valid && !lost) ? to : '0;
  assign commit   = (frame_end && !lost && !bad) ? to : '0;
  assign rollback = (frame_end && (lost || bad)) ? to : '0;

  assign ended_o       = frame_end;
  assign ended_dgram_o = commit[RxUdp];

  lib_credit #(
    .Depth(SynDepth)
  ) u_syn_room (
    .clk_i,
    .rst_ni,
    .take_i(to_syn && commit[RxTcp]),
    .give_i(syn_done),
    .ok_o  (syn_room),
    .left_o(syn_left)
  );

  lib_token_bucket #(
    .Burst(EchoBurst)
  ) u_echo_limit (
    .clk_i,
    .rst_ni,
    .tick_i,
    .take_i (commit[RxReply] && is_echo),
    .ok_o   (echo_ok),
    .timer_o
  );

  // A packet has one beat or more, so a meta queue as deep as its data queue has room.
  `ASSERT(SegMetaRoom, !commit[RxTcp] || seg_meta_room)

  always_ff @(posedge clk_i) begin
    if (!rst_ni) lost_q <= 1'b0;
    else lost_q <= lost && !frame_end;
  end

  // ---------------------------------------------------------------- queues
  logic seg_data_valid, seg_meta_valid, seg_valid, seg_ready, syn_busy;
  logic [$clog2(DataDepth+1)-1:0] seg_free;
  beat_t seg_beat;
  rx_meta_t seg_meta;
  reply_t reply;

  // verilator lint_off PINCONNECTEMPTY
  lib_commit_fifo #(
    .T    (beat_t),
    .Depth(DataDepth)
  ) u_seg_data (
    .clk_i,
    .rst_ni,
    .s_valid_i (push[RxTcp]),
    .s_ready_o (room[RxTcp]),
    .s_data_i  (beat),
    .commit_i  (commit[RxTcp]),
    .rollback_i(rollback[RxTcp]),
    .m_valid_o (seg_data_valid),
    .m_ready_i (seg_valid && seg_ready),
    .m_data_o  (seg_beat),
    .free_o    (seg_free)
  );
  lib_fifo #(
    .T    (rx_meta_t),
    .Depth(DataDepth)
  ) u_seg_meta (
    .clk_i,
    .rst_ni,
    .s_valid_i(commit[RxTcp]),
    .s_ready_o(seg_meta_room),
    .s_data_i (meta),
    .m_valid_o(seg_meta_valid),
    .m_ready_i(seg_valid && seg_ready && seg_beat.last),
    .m_data_o (seg_meta),
    .level_o  ()
  );

  if (Config.udp) begin : gen_dgrams
    rx_dgrams #(
      .Depth(DataDepth)
    ) u_dgrams (
      .clk_i,
      .rst_ni,
      .s_valid_i (push[RxUdp]),
      .s_ready_o (room[RxUdp]),
      .s_beat_i  (beat),
      .commit_i  (commit[RxUdp]),
      .rollback_i(rollback[RxUdp]),
      .s_dgram_i ('{peer: meta.peer, len: meta.len}),
      .m_valid_o (dgram_valid_o),
      .m_ready_i (dgram_ready_i),
      .m_dgram_o (dgram_o),
      .m_beat_o  (dgram_beat_o),
      .busy_o    (dgram_busy)
    );
  end else begin : gen_no_dgrams
    assign room[RxUdp] = 1'b1;
    assign {dgram_valid_o, dgram_o, dgram_beat_o, dgram_busy} = '0;
  end

  lib_commit_fifo #(
    .T    (reply_t),
    .Depth(FrameDepth)
  ) u_reply (
    .clk_i,
    .rst_ni,
    .s_valid_i (push[RxReply]),
    .s_ready_o (room[RxReply]),
    .s_data_i  ('{beat: beat, kind: kind, vlan: vlan}),
    .commit_i  (commit[RxReply]),
    .rollback_i(rollback[RxReply]),
    .m_valid_o (reply_valid_o),
    .m_ready_i (reply_ready_i),
    .m_data_o  (reply),
    .free_o    ()
  );

  // Of a solicitation nothing is kept but who sent it.
  if (Config.ipv6) begin : gen_solicit
    lib_fifo #(
      .T    (peer_t),
      .Depth(SolicitDepth),
      .Ultra(1'b1)
    ) u_solicit (
      .clk_i,
      .rst_ni,
      .s_valid_i(commit[RxNeighbour]),
      .s_ready_o(room[RxNeighbour]),
      .s_data_i (meta.peer),
      .m_valid_o(solicit_valid_o),
      .m_ready_i(solicit_ready_i),
      .m_data_o (solicit_o),
      .level_o  ()
    );
  end else begin : gen_no_solicit
    assign room[RxNeighbour] = 1'b1;
    assign {solicit_valid_o, solicit_o} = '0;
  end

  lib_commit_fifo #(
    .T    (beat_t),
    .Depth(FrameDepth)
  ) u_host (
    .clk_i,
    .rst_ni,
    .s_valid_i (push[RxHost]),
    .s_ready_o (room[RxHost]),
    .s_data_i  (beat),
    .commit_i  (commit[RxHost]),
    .rollback_i(rollback[RxHost]),
    .m_valid_o (host_valid_o),
    .m_ready_i (host_ready_i),
    .m_data_o  (host_beat_o),
    .free_o    ()
  );
  // verilator lint_on PINCONNECTEMPTY

  // Who waits for this does not wait for ever. tcp makes room: it takes whole segments in their order, a
  // SYN at the latest when there is no other. For that it waits for memory, the wire out and the scheduler,
  // never for room that a client makes: what a connection cannot have is dropped there, and what it is owed
  // is sent later. So no frame that is still on the wire is needed; a segment there would find the queue
  // full, too, if it did not wait.
  always_ff @(posedge clk_i) begin
    room_o     <= rst_ni && seg_free >= ($clog2(DataDepth + 1))'(RoomBeats);
    syn_room_o <= rst_ni && syn_left >= ($clog2(SynDepth + 1))'(RoomFrames);
  end

  assign seg_valid     = seg_data_valid && seg_meta_valid;
  assign reply_kind_o  = (Config.ipv6 || reply.kind != ReplyEcho6) ? reply.kind : ReplyEcho;
  assign reply_vlan_o  = reply.vlan;
  assign reply_beat_o  = reply.beat;

  rx_syn #(
    .Depth(SynDepth)
  ) u_syn (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .s_valid_i(seg_valid),
    .s_ready_o(seg_ready),
    .s_meta_i (seg_meta),
    .s_beat_i (seg_beat),
    .m_valid_o(seg_valid_o),
    .m_ready_i(seg_ready_i),
    .m_seg_o  (seg_o),
    .m_beat_o (seg_beat_o),
    .done_o   (syn_done),
    .busy_o   (syn_busy)
  );

  logic unused;
  assign unused = seg_meta_room || push[RxNeighbour] || rollback[RxNeighbour];

  // ---------------------------------------------------------------- counters and idle
  always_ff @(posedge clk_i) begin
    count_o <= '0;
    if (rst_ni && frame_end) begin
      count_o[NetCountRxFrames] <= 1'b1;
      if (bad) begin
        count_o[cause] <= 1'b1;
      end else begin
        unique case (dest)
          RxTcp:   count_o[lost ? NetCountRxFullTcp : NetCountRxTcp] <= 1'b1;
          RxUdp:   count_o[lost ? NetCountRxFullUdp : NetCountRxUdp] <= 1'b1;
          RxReply, RxNeighbour: count_o[lost ? NetCountRxFullReply : NetCountRxReply] <= 1'b1;
          default: count_o[lost ? NetCountRxFullHost : NetCountRxHost] <= 1'b1;
        endcase
      end
    end
  end

  assign idle_o = !parse_busy && !cut_busy && !syn_busy && !seg_data_valid &&
      !dgram_busy &&
      !reply_valid_o && !solicit_valid_o && !host_valid_o;

endmodule
