// Delay queue: ids come back in order, each delay_i ticks after it was put in.
//
// All waits of a queue are equally long, so only its head can be due: no scan, whatever the number
// of connections. Latency delay_i ticks, initiation interval 3. The owner of the connection table
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
  /// The oldest id comes back at once, marked hurry_o.
  input  logic        hurry_i,
  input  logic        push_i,
  input  conn_t       conn_i,
  output logic        valid_o,
  input  logic        ready_i,
  output conn_t       conn_o,
  output logic        hurry_o,
  /// Nobody waits.
  output logic        empty_o
);

  localparam int unsigned IdW = $clog2(Conns);

  // The bits of an id beyond those in use are 0.
  logic unused_id;
  assign unused_id = ^(conn_i >> IdW);

  typedef struct packed {
    logic [15:0]    since;
    logic [IdW-1:0] id;
  } entry_t;

  entry_t head;
  logic valid, take, due_q, unused_ready;
  logic [$clog2(Conns+1)-1:0] level;

  lib_fifo #(
    .T    (entry_t),
    .Depth(Conns)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i(push_i),
    .s_ready_o(unused_ready),
    .s_data_i ('{since: now_i, id: conn_i[IdW-1:0]}),
    .m_valid_o(valid),
    .m_ready_i(take),
    .m_data_o (head),
    .level_o  (level)
  );

  logic [15:0] waited;
  assign waited  = now_i - head.since;
  assign take    = valid && (hurry_i || due_q) && !valid_o;
  assign empty_o = level == '0 && !valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= take || (valid_o && !ready_i);
    due_q <= valid && !take && waited >= delay_i;
    if (take) begin
      conn_o  <= conn_t'(head.id);
      hurry_o <= !due_q;
    end
  end

  `ASSERT(fits_room, !push_i || unused_ready)

endmodule
