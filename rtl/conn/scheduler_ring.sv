// Connections that wait, first come, first served, but for who owes: when his turn comes he goes to the end, and owes a
// quantum less (deficit round robin). The first one stands in a register; whether it may go is seen as it comes there:
// it goes, or to the end, before the next one comes.
// Latency 1, where nobody waits; one every 2 clocks.
`include "lib_assert.svh"

module scheduler_ring
  import wirekv_pkg::*;
  import conn_pkg::*;
#(
  /// Connections; none is here twice.
  parameter int unsigned Conns = 1024
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   push_i,
  input  waits_t push_waits_i,
  /// So much is owed less for each time that others come first; they do when there is room for a job.
  input  cost_t  quantum_i,
  input  logic   room_i,
  /// The next one may come to the front.
  input  logic   next_i,
  /// What jobs of the next one take, and whether he may go at all, told in the same clock; he may though he owes.
  output cost_t  next_cost_o,
  input  logic   may_i,
  input  logic   owing_i,
  output logic   valid_o,
  input  logic   ready_i,
  output conn_t  conn_o,
  /// What its jobs take.
  output cost_t  cost_o,
  output logic [15:0] level_o,
  /// Nobody here.
  output logic   idle_o
);

  logic direct, behind_valid, take, valid_q, go_q, again, owes;
  logic unused_room;  // there always is
  logic [$clog2(Conns+1)-1:0] level;
  waits_t in, behind, next, first_q;
  assign again = valid_q && !go_q && !push_i && room_i;
  always_comb begin
    in = first_q;
    in.owes = (first_q.owes > quantum_i) ? first_q.owes - quantum_i : '0;
    if (push_i) in = push_waits_i;
  end

  assign take   = !valid_q && next_i;
  assign direct = push_i && level == '0 && take;
  assign next   = behind_valid ? behind : in;
  // Half of a quantum is forgiven.
  assign owes   = bar_t'(next.owes) >=
      bar_t'(quantum_i) + bar_t'(quantum_i[$bits(cost_t)-1:1]);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= valid_q ? !again && !(go_q && ready_i) : take && (behind_valid || direct);
    if (!valid_q) begin
      first_q <= next;
      go_q    <= may_i && (!owes || owing_i);
    end
  end

  lib_fifo #(
    .T    (waits_t),
    .Depth(Conns)
  ) u_behind (
    .clk_i,
    .rst_ni,
    .s_valid_i((push_i || again) && !direct),
    .s_ready_o(unused_room),
    .s_data_i (in),
    .m_valid_o(behind_valid),
    .m_ready_i(take),
    .m_data_o (behind),
    .level_o  (level)
  );

  assign valid_o = valid_q && go_q;
  assign conn_o  = first_q.conn;
  assign cost_o  = first_q.cost;
  assign next_cost_o = next.cost;
  assign level_o = 16'(level);
  assign idle_o  = level == '0 && !valid_q;

  `ASSERT(Room, unused_room || direct || !(push_i || again))

endmodule
