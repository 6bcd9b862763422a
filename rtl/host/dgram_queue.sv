// Datagrams that are for host software: each one that becomes a job is kept until its job is over. Then it is dropped if gates have
// answered all of it, or goes to host software as a packet, with its sender and the place from which on it has to be
// answered; formats in docs/HOST_INTERFACE.md, "Upstream". Latency 4 from a job's end to its packet.
//
// A datagram that finds no room is lost to host software, and nobody waits for it.
`include "lib_assert.svh"

module dgram_queue
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
#(
  /// Beats that can wait, and datagrams.
  parameter int unsigned Beats = 512,
  parameter int unsigned Dgrams = 256,
  /// Datagrams whose jobs are under way.
  parameter int unsigned Jobs = 512
) (
  input  logic  clk_i,
  input  logic  rst_ni,
  /// Datagrams are kept: from before the first one on, or never.
  input  logic  enable_i,
  /// Datagrams that are jobs, frame header included; their beats are not waited for.
  input  logic  s_valid_i,
  input  dgram_t s_dgram_i,
  input  beat_t s_beat_i,
  /// For each, in order, 4 clocks or more behind its last beat: its job is over, and leaves this context, which is the place from which on gates have not
  /// answered it, if `all` says that there is one.
  input  logic  over_i,
  input  ctx_t  over_ctx_i,
  /// Packets of the punt queue, and with these among them.
  input  logic  s_axis_valid_i,
  output logic  s_axis_ready_o,
  input  axis_t s_axis_i,
  output logic  m_axis_valid_o,
  input  logic  m_axis_ready_i,
  output axis_t m_axis_o,
  /// One-clock pulse: one that gates have not answered found no room.
  output logic  lost_o,
  /// None is here.
  output logic  idle_o
);

  typedef struct packed {
    logic [15:0] len;
    peer_t       peer;
  } head_t;

  // ---------------------------------------------------------------- in
  logic
      takes,
      first_q,
      refuses,
      refuses_q,
      heads_full,
      kept,
      beats_empty,
      unused_lost,
      unused_jobs_room;
  logic
      beat_valid, beat_take, pending_kept, pending_valid, head_valid, head_take, unused_heads_room;
  axis_t beat_in, beat;
  head_t head;
  logic [$clog2(Dgrams+1)-1:0] heads_level;
  logic [$clog2(Jobs+1)-1:0] jobs_level;
  assign heads_full = heads_level >= ($clog2(Dgrams + 1))'(Dgrams - 1);
  assign refuses    = first_q ? heads_full : refuses_q;
  assign beat_in.data = s_beat_i.data;
  assign beat_in.keep = ~({64{1'b1}} << s_beat_i.len);
  assign beat_in.last = s_beat_i.last;
  assign takes = enable_i && s_valid_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (takes) first_q <= s_beat_i.last;
    if (takes) refuses_q <= refuses;
  end

  logic [$clog2(Beats+1)-1:0] unused_free;
  lib_frame_fifo #(
    .Depth(Beats)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .s_valid_i(takes && !refuses),
    .s_data_i (beat_in),
    .kept_o   (kept),
    .lost_o   (unused_lost),
    .m_valid_o(beat_valid),
    .m_ready_i(beat_take),
    .m_data_o (beat),
    .empty_o  (beats_empty),
    .free_o   (unused_free)
  );

  lib_fifo #(
    .T    (head_t),
    .Depth(Dgrams)
  ) u_heads (
    .clk_i,
    .rst_ni,
    .s_valid_i(kept),
    .s_ready_o(unused_heads_room),
    .s_data_i ('{len: s_dgram_i.len, peer: s_dgram_i.peer}),
    .m_valid_o(head_valid),
    .m_ready_i(head_take),
    .m_data_o (head),
    .level_o  (heads_level)
  );

  // ---------------------------------------------------------------- what becomes of them
  lib_fifo #(
    .T    (logic),
    .Depth(Jobs)
  ) u_pending (
    .clk_i,
    .rst_ni,
    .s_valid_i(takes && s_beat_i.last),
    .s_ready_o(unused_jobs_room),
    .s_data_i (kept),
    .m_valid_o(pending_valid),
    .m_ready_i(over_i),
    .m_data_o (pending_kept),
    .level_o  (jobs_level)
  );

  typedef struct packed {
    logic        answered;
    logic [15:0] at;
    row_e        row;
  } end_t;
  end_t end_in, end_;
  assign end_in.answered = !over_ctx_i.resp.all;
  assign end_in.at       = over_ctx_i.again ? '0 : over_ctx_i.rx_ptr[15:0];
  assign end_in.row      = (over_ctx_i.again || over_ctx_i.mode != MdKeys) ? RwStart :
      over_ctx_i.cas_out ? RwGets : RwGet;
  logic end_valid, ends, unused_ends_room;
  logic [$clog2(Dgrams+1)-1:0] unused_ends;
  assign ends = over_i && pending_kept && pending_valid;
  lib_fifo #(
    .T    (end_t),
    .Depth(Dgrams)
  ) u_ends (
    .clk_i,
    .rst_ni,
    .s_valid_i(ends),
    .s_ready_o(unused_ends_room),
    .s_data_i (end_in),
    .m_valid_o(end_valid),
    .m_ready_i(head_take),
    .m_data_o (end_),
    .level_o  (unused_ends)
  );
  always_ff @(posedge clk_i)
    lost_o <= rst_ni && over_i && pending_valid && !pending_kept && !end_in.answered;

  // ---------------------------------------------------------------- out
  logic text_q, drops, out_valid, out_ready;  // text_q: the header is sent
  axis_t out;
  assign drops     = end_valid && end_.answered;
  assign out_valid = end_valid && head_valid && beat_valid && !drops;
  assign beat_take = end_valid && head_valid && (drops || (text_q && out_ready));
  assign head_take = beat_valid && beat_take && beat.last;
  always_comb begin
    // What means nothing has the datagram's bits.
    out = beat;
    if (!text_q) begin
      out.data[63:0]      = '0;
      out.data[31]        = 1'b1;
      out.data[40]        = 1'b1;
      out.data[44]        = 1'b1;
      out.data[57:56]     = end_.row;
      out.data[79:64]     = end_.at;
      out.data[111:96]    = head.len;
      out.data[175:128]   = head.peer.mac;
      out.data[191:176]   = head.peer.vlan_tci;
      out.data[192]       = head.peer.vlan_valid;
      out.data[200+:$bits(ours_e)] = head.peer.ours;
      out.data[223:208]   = head.peer.port;
      out.data[383:256]   = head.peer.ip;
      out.keep            = '1;
      out.last            = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) text_q <= 1'b0;
    else if (out_valid && out_ready) text_q <= !text_q || !beat.last;
  end

  logic unused_last, unused_index;
  lib_arb #(
    .T(axis_t),
    .N(2)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i({out_valid, s_axis_valid_i}),
    .s_ready_o({out_ready, s_axis_ready_o}),
    .s_data_i ({out, s_axis_i}),
    .s_last_i ({out.last, s_axis_i.last}),
    .m_valid_o(m_axis_valid_o),
    .m_ready_i(m_axis_ready_i),
    .m_data_o (m_axis_o),
    .m_last_o (unused_last),
    .m_idx_o  (unused_index)
  );

  logic unused_redis;
  assign unused_redis = head.peer.redis;

  assign idle_o = beats_empty && heads_level == '0 && jobs_level == '0 && !lost_o;

  `ASSERT(OverKnown, !(enable_i && over_i) || pending_valid)
  `ASSERT(HeadsRoom, !kept || unused_heads_room)
  `ASSERT(JobsRoom, !(takes && s_beat_i.last) || unused_jobs_room)
  `ASSERT(EndsRoom, !ends || unused_ends_room)

endmodule
