// Connections that have something to do, first come, first served, but for two kinds of slow ones. Those whose last job
// took much, or who had none: one of these is let in among the others when twice as many clocks have passed as the one
// before had taken, so all of them together have a third of the clocks; or at once, while they are alone. And those that
// add little to much that has to be read again: one when SlowShare times as many clocks have passed as the one before had
// bytes, about a clock each. So who sends a long line in crumbs has its share, and takes no more.
// Those that copy wait until they may, and then go on one after the other, CopyClocks apart: so long takes a job at
// most until it is known what it has copied.
// Latency 2.
`include "lib_assert.svh"

module session_queue
  import tcp_pkg::*;
  import wirekv_pkg::*;
  import request_pkg::*;
#(
  /// Connections; none is here twice.
  parameter int unsigned Conns = 1024
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        push_i,
  input  conn_t       conn_i,
  /// It has bytes to be read again, in units of 128, and few more.
  input  logic        crumbs_i,
  input  logic [6:0]  again_i,
  /// Its last job took much, or there was none; nobody else is there.
  input  logic        dear_i,
  input  logic        alone_i,
  /// The job of such a one that went out here has taken so much.
  input  logic        end_i,
  input  cost_t       cost_i,
  /// Or it has copied, and no one may now.
  input  logic        copies_i,
  input  logic        late_i,
  output logic        valid_o,
  input  logic        ready_i,
  output conn_t       conn_o,
  /// Nobody here.
  output logic        idle_o
);

  localparam int unsigned SlowShare = 4;
  localparam int unsigned DearShare = 2;  // behind a job, beside its own
  localparam int unsigned Unit = 128;
  localparam int unsigned CopyClocks = 4096;

  if (CostUnit != Unit * SlowShare) begin : gen_bad_unit
    $error("%m: both kinds wait in one unit");
  end
  localparam int unsigned WaitW = $bits(cost_t) + $clog2(DearShare);

  typedef struct packed {
    conn_t      conn;
    logic       crumbs;
    logic [6:0] again;
  } slow_t;

  // What goes in, a clock late as it is known late.
  logic push_q, slow_q, copies_q;
  conn_t conn_q;
  slow_t slow_in_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      push_q   <= 1'b0;
      slow_q   <= 1'b0;
      copies_q <= 1'b0;
    end else begin
      push_q   <= push_i && !crumbs_i && !dear_i && !copies_i;
      slow_q   <= push_i && (crumbs_i || dear_i) && !copies_i;
      copies_q <= push_i && copies_i;
    end
    conn_q    <= conn_i;
    slow_in_q <= '{conn: conn_i, crumbs: crumbs_i, again: again_i};
  end

  // ---------------------------------------------------------------- the slow ones
  logic [2:0] unused_room;  // there always is, for those who come
  logic slow_valid, slow_take;
  slow_t slow;
  logic [$clog2(Conns+1)-1:0] slow_level, copy_level, level;
  lib_fifo #(
    .T    (slow_t),
    .Depth(Conns)
  ) u_slow (
    .clk_i,
    .rst_ni,
    .s_valid_i(slow_q),
    .s_ready_o(unused_room[0]),
    .s_data_i (slow_in_q),
    .m_valid_o(slow_valid),
    .m_ready_i(slow_take),
    .m_data_o (slow),
    .level_o  (slow_level)
  );

  // Clocks that have to pass.
  typedef logic [WaitW+$clog2(CostUnit)-1:0] wait_t;
  wait_t wait_q, wait_d, ended;
  logic due_q, out_q, out_d;  // out_q: a dear one's job is on its way
  assign slow_take = slow_valid && (due_q || (alone_i && !slow.crumbs)) && !push_q;
  assign ended     = {WaitW'(cost_i) * WaitW'(DearShare), {$clog2(CostUnit) {1'b0}}};
  assign out_d     = (slow_take && !slow.crumbs) || (out_q && !end_i);
  always_comb begin
    wait_d = (wait_q == '0) ? '0 : wait_q - 1'b1;
    if (end_i && ended > wait_q) wait_d = ended;
    if (slow_take && slow.crumbs) wait_d = {WaitW'(slow.again), {$clog2(CostUnit) {1'b0}}};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wait_q <= '0;
      due_q  <= 1'b0;
      out_q  <= 1'b0;
    end else begin
      wait_q <= wait_d;
      due_q  <= wait_q == '0 && !slow_take && !out_d && !end_i;
      out_q  <= out_d;
    end
  end

  // ---------------------------------------------------------------- those that copy
  logic copy_valid, copy_take, copy_due_q;
  conn_t copy;
  logic [$clog2(CopyClocks)-1:0] copy_wait_q;
  lib_fifo #(
    .T    (conn_t),
    .Depth(Conns)
  ) u_copy (
    .clk_i,
    .rst_ni,
    .s_valid_i(copies_q),
    .s_ready_o(unused_room[2]),
    .s_data_i (conn_q),
    .m_valid_o(copy_valid),
    .m_ready_i(copy_take),
    .m_data_o (copy),
    .level_o  (copy_level)
  );
  assign copy_take = copy_valid && copy_due_q && !push_q && !slow_take;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      copy_wait_q <= '0;
      copy_due_q  <= 1'b0;
    end else begin
      copy_wait_q <= copy_take ? '1 : (copy_wait_q == '0) ? '0 : copy_wait_q - 1'b1;
      copy_due_q  <= copy_wait_q == '0 && !copy_take && !late_i;
    end
  end

  // ---------------------------------------------------------------- all
  // It comes out a clock later if nobody waits: the first one stands in a register, which those behind it in the RAM
  // reach only if there are any.
  logic in_valid, direct, front_take, behind_valid;
  conn_t in, behind;
  assign in_valid = push_q || slow_take || copy_take;
  assign in       = push_q ? conn_q : slow_take ? slow.conn : copy;
  assign direct   = in_valid && level == '0;
  lib_half #(
    .T(conn_t)
  ) u_front (
    .clk_i,
    .rst_ni,
    .s_valid_i(behind_valid || direct),
    .s_ready_o(front_take),
    .s_data_i (behind_valid ? behind : in),
    .m_valid_o(valid_o),
    .m_ready_i(ready_i),
    .m_data_o (conn_o)
  );
  lib_fifo #(
    .T    (conn_t),
    .Depth(Conns)
  ) u_ready (
    .clk_i,
    .rst_ni,
    .s_valid_i(in_valid && !(direct && front_take)),
    .s_ready_o(unused_room[1]),
    .s_data_i (in),
    .m_valid_o(behind_valid),
    .m_ready_i(front_take),
    .m_data_o (behind),
    .level_o  (level)
  );

  assign idle_o = !push_q && !slow_q && !copies_q && slow_level == '0 && copy_level == '0 &&
                  level == '0 && !valid_o;

  `ASSERT(Room, (unused_room | ~{copies_q, in_valid, slow_q}) == '1)

endmodule
