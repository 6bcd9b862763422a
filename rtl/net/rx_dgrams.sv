// UDP datagrams that wait: their beats and their headers. Latency 2 from the commit, initiation interval 1.
//
// Whether one is taken is known late, and synthesis does not know how late: it keeps the queues apart, or
// it would map what that leads to as deep as anything in the module around.
`include "lib_assert.svh"

(* keep_hierarchy = "yes" *)
module rx_dgrams
  import wirekv_pkg::*;
  import net_pkg::*;
#(
  /// Beats that can wait.
  parameter int unsigned Depth = 512
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Beats; a commit makes those so far a datagram, a rollback takes them back: see lib_commit_fifo.
  input  logic   s_valid_i,
  output logic   s_ready_o,
  input  beat_t  s_beat_i,
  input  logic   commit_i,
  input  logic   rollback_i,
  /// With a commit: whose it is.
  input  dgram_t s_dgram_i,
  /// Datagrams; m_dgram_o holds for all beats.
  output logic   m_valid_o,
  input  logic   m_ready_i,
  output dgram_t m_dgram_o,
  output beat_t  m_beat_o,
  /// One waits.
  output logic   busy_o
);

  // The fill level is nobody's business here.
  // verilator lint_off PINCONNECTEMPTY
  logic head_valid, head_room;
  lib_commit_fifo #(
    .T    (beat_t),
    .Depth(Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i  (s_beat_i),
    .commit_i,
    .rollback_i,
    .m_valid_o (busy_o),
    .m_ready_i (m_valid_o && m_ready_i),
    .m_data_o  (m_beat_o),
    .free_o    ()
  );

  // A datagram has one beat or more, so a queue as deep as theirs has room.
  lib_fifo #(
    .T    (dgram_t),
    .Depth(Depth)
  ) u_heads (
    .clk_i,
    .rst_ni,
    .s_valid_i(commit_i),
    .s_ready_o(head_room),
    .s_data_i (s_dgram_i),
    .m_valid_o(head_valid),
    .m_ready_i(m_valid_o && m_ready_i && m_beat_o.last),
    .m_data_o (m_dgram_o),
    .level_o  ()
  );
  // verilator lint_on PINCONNECTEMPTY
  `ASSERT(HeadRoom, !commit_i || head_room)

  assign m_valid_o = busy_o && head_valid;

  logic unused;
  assign unused = head_room;

endmodule
