// Frames of the wire wait here until it is known whether gates answer them: then a frame is dropped; all others go on to the
// host, untouched and in order. Latency 4 from the later of a frame's end and what is said of it, initiation interval 1.
//
// A frame that finds no room is lost to the host, and nobody waits for it: a host that takes nothing keeps no request from
// being answered by gates.
`include "lib_assert.svh"

module aside_frames
  import wirekv_pkg::*;
#(
  /// Beats that wait. The longest frame has 142 of them.
  parameter int unsigned Beats = 512,
  /// Frames between their end and ended_i; requests between ended_i and their verdict.
  parameter int unsigned Ends = 32,
  parameter int unsigned Requests = 512
) (
  input  logic  clk_i,
  input  logic  rst_ni,
  /// Frames of the wire, which does not wait.
  input  logic  s_valid_i,
  input  axis_t s_data_i,
  /// For each of them, in order, at its end or later: it is a request, so a verdict will come.
  input  logic  ended_i,
  input  logic  ended_asks_i,
  /// Requests without verdict; the first of them may have it. Many frames wait for that of the first one, and if it does not come others find no room.
  output logic [$clog2(Requests+1)-1:0] requests_o,
  output logic  asked_o,
  output logic  pressed_o,
  /// For each request, in order: gates have answered it.
  input  logic  verdict_i,
  input  logic  verdict_answered_i,
  /// Frames for the host.
  output logic  m_valid_o,
  input  logic  m_ready_i,
  output axis_t m_data_o,
  /// One-clock pulses: a frame for the host found no room; one that is a request.
  output logic  lost_o,
  output logic  lost_request_o,
  output logic  idle_o
);

  typedef logic [$clog2(Beats+1)-1:0] beats_t;

  // ---------------------------------------------------------------- in: whole frames, or nothing of them
  localparam int unsigned Longest = 142;
  logic kept, unused_lost, head_valid, take, empty;
  beats_t free;
  axis_t head;
  lib_frame_fifo #(
    .Depth(Beats)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_data_i,
    .kept_o   (kept),
    .lost_o   (unused_lost),
    .m_valid_o(head_valid),
    .m_ready_i(take),
    .m_data_o (head),
    .empty_o  (empty),
    .free_o   (free)
  );

  // ---------------------------------------------------------------- what each frame is
  // Whether a frame is here follows it to its end, a request's to its verdict.
  logic ends;
  assign ends = s_valid_i && s_data_i.last;
  logic here, here_valid, asked_here;
  logic unused_here_room, unused_asked_room;
  logic [$clog2(Ends+1)-1:0] unused_ends;
  lib_fifo #(
    .T    (logic),
    .Depth(Ends)
  ) u_ends (
    .clk_i,
    .rst_ni,
    .s_valid_i(ends),
    .s_ready_o(unused_here_room),
    .s_data_i (kept),
    .m_valid_o(here_valid),
    .m_ready_i(ended_i),
    .m_data_o (here),
    .level_o  (unused_ends)
  );

  lib_fifo #(
    .T    (logic),
    .Depth(Requests)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .s_valid_i(ended_i && ended_asks_i),
    .s_ready_o(unused_asked_room),
    .s_data_i (here),
    .m_valid_o(asked_o),
    .m_ready_i(verdict_i),
    .m_data_o (asked_here),
    .level_o  (requests_o)
  );

  // Of frames that are here alone: as many as there are beats.
  logic kind, kind_valid, answered, answered_valid, next, waits, settled;
  logic unused_kind_room, unused_answered_room;
  beats_t unused_kinds, unused_verdicts;
  assign waits   = ended_i && here;
  assign settled = verdict_i && asked_here;
  lib_fifo #(
    .T    (logic),
    .Depth(Beats)
  ) u_kinds (
    .clk_i,
    .rst_ni,
    .s_valid_i(waits),
    .s_ready_o(unused_kind_room),
    .s_data_i (ended_asks_i),
    .m_valid_o(kind_valid),
    .m_ready_i(next),
    .m_data_o (kind),
    .level_o  (unused_kinds)
  );

  lib_fifo #(
    .T    (logic),
    .Depth(Beats)
  ) u_verdicts (
    .clk_i,
    .rst_ni,
    .s_valid_i(settled),
    .s_ready_o(unused_answered_room),
    .s_data_i (verdict_answered_i),
    .m_valid_o(answered_valid),
    .m_ready_i(next && kind),
    .m_data_o (answered),
    .level_o  (unused_verdicts)
  );

  // So far a longest frame finds room, and what comes until those that wait go on. That it is a verdict that they wait for
  // counts until they wait for the host.
  logic low;
  assign low = free < beats_t'(Longest + Ends);
  always_ff @(posedge clk_i)
    pressed_o <= rst_ni && low && head_valid && (!known || (pressed_o && take));

  // ---------------------------------------------------------------- out
  logic known, drop, out_ready;
  assign known = kind_valid && (!kind || answered_valid);
  assign drop  = kind && answered;
  assign take  = known && (drop || out_ready);
  assign next  = head_valid && take && head.last;

  lib_skid_buffer #(
    .T(axis_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(head_valid && known && !drop),
    .s_ready_o(out_ready),
    .s_data_i (head),
    .m_valid_o,
    .m_ready_i,
    .m_data_o
  );

  always_ff @(posedge clk_i) begin
    lost_o         <= rst_ni && ended_i && !ended_asks_i && !here;
    lost_request_o <= rst_ni && verdict_i && !verdict_answered_i && !asked_here;
  end
  assign idle_o = empty && !here_valid && requests_o == '0 && !m_valid_o;

  `ASSERT(EndsRoom, !ends || unused_here_room)
  `ASSERT(EndKnown, !ended_i || here_valid)
  `ASSERT(RequestsRoom, !(ended_i && ended_asks_i) || unused_asked_room)
  `ASSERT(VerdictAsked, !verdict_i || asked_o)
  `ASSERT(KindsRoom, !waits || unused_kind_room)
  `ASSERT(VerdictsRoom, !settled || unused_answered_room)

endmodule
