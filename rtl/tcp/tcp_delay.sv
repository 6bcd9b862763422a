// Delay queue: ids come back in order, each delay_i ticks after it was put in.
//
// All waits of a queue are equally long, so only its head can be due: no scan, whatever the number
// of connections. Latency delay_i ticks, initiation interval 1. The owner of the connection table
// puts an id in at most once, so the queue cannot overflow.
`include "lib_assert.svh"

module tcp_delay
  import wirekv_pkg::*;
#(
  /// Connections: the most ids that wait.
  parameter int unsigned Conns = 1024
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Ticks since reset, modulo 2^16.
  input  logic [15:0] now_i,
  /// Ticks to wait.
  input  logic [15:0] delay_i,
  /// The oldest id comes back at once.
  input  logic        hurry_i,
  input  logic        push_i,
  input  conn_t       conn_i,
  output logic        valid_o,
  input  logic        ready_i,
  output conn_t       conn_o,
  /// Nobody waits.
  output logic        empty_o
);

  localparam int unsigned IdW = $clog2(Conns);

  typedef struct packed {
    logic [15:0]    since;
    logic [IdW-1:0] id;
  } entry_t;

  entry_t head;
  logic valid, ready;
  logic [$clog2(Conns+1)-1:0] level;

  lib_fifo #(
    .T    (entry_t),
    .Depth(Conns)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i(push_i),
    .s_ready_o(ready),
    .s_data_i ('{since: now_i, id: conn_i[IdW-1:0]}),
    .m_valid_o(valid),
    .m_ready_i(valid_o && ready_i),
    .m_data_o (head),
    .level_o  (level)
  );

  logic [15:0] waited;
  assign waited  = now_i - head.since;
  assign valid_o = valid && (hurry_i || waited >= delay_i);
  assign conn_o  = conn_t'(head.id);
  assign empty_o = level == '0;

  `ASSERT(fits_room, !push_i || ready)

endmodule
