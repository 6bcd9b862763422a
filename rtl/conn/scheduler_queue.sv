// Connections that have something to do. Each owes the clocks that one of its jobs takes, twice if these are more than two
// quanta, and comes in his turn of a ring, see scheduler_ring; so of those who want more than there is each gets as many
// clocks. The pipe is in order, and who is served at once asks again only when he has his replies; so *dear* ones wait in a
// ring apart: of them Budget clocks are on their way, or one job that takes more. When that one ends the next dear one waits,
// until others had as long one and a half times, or where Many wait half as long.
// Of whose requests gates run none, but pass them on as they are, wait in a third ring. One comes when the others are empty, or
// when RawShare times as many clocks have passed as the one before takes, so that hits do not wait for others' misses, nor
// these for ever. There a quantum is as many times as much.
// Those that add little to much that has to be read again wait apart: one goes on when SlowShare times as many clocks have
// passed as the one before had bytes, about a clock each. So who sends a long line in crumbs has its share, and takes no more.
// Those that copy wait until they may, and then go on one after the other, CopyClocks apart: so long takes a job at
// most until it is known what it has copied.
// Latency 3.
`include "lib_assert.svh"

module scheduler_queue
  import tcp_pkg::*;
  import wirekv_pkg::*;
  import conn_pkg::*;
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
  /// Its jobs take so much; which are dear.
  input  cost_t       cost_i,
  input  bar_t        bar_i,
  /// It had a job, and owes what that takes.
  input  logic        known_i,
  /// Whose jobs take one and a half times so much or more are let in so much rarer.
  input  cost_t       quantum_i,
  /// There is room for a job.
  input  logic        room_i,
  /// Of one that went out here as a dear one a job begins, 2 clocks later, or one ends that took so much. Its connection's
  /// jobs took so much before.
  input  logic        begin_i,
  input  cost_t       begin_cost_i,
  input  logic        end_i,
  input  cost_t       end_cost_i,
  input  took_t       took_i,
  /// Gates run nothing of it.
  input  logic        raw_i,
  /// Or it has copied, and no one may now.
  input  logic        copies_i,
  input  logic        late_i,
  /// No job is on its way, to which one that owes would give way; there are no others at all.
  input  logic        empty_i,
  input  logic        alone_i,
  output logic        valid_o,
  input  logic        ready_i,
  output conn_t       conn_o,
  output logic        dear_o,
  /// All that wait there are dear, and have been since they came.
  output logic        all_dear_o,
  /// So many wait there, but for those in crumbs and those that copy.
  output logic [15:0] level_o,
  /// Nobody here.
  output logic        idle_o
);

  localparam int unsigned SlowShare = 8;
  localparam int unsigned Unit = 128;
  localparam int unsigned Budget = 64;
  localparam int unsigned Many = 16;
  localparam int unsigned CopyClocks = 4096;
  localparam int unsigned RawShare = 8;

  typedef struct packed {
    waits_t     waits;
    logic       dear;
    logic       raw;
    logic [6:0] again;
  } slow_t;

  // Who comes stands in a register first, since what his jobs take is known late. Whose jobs take more than two quanta owes
  // twice as much.
  typedef struct packed {
    conn_t      conn;
    cost_t      cost;
    logic       known;
    logic       raw;
    logic [6:0] again;
  } come_t;
  come_t come_q;
  cost_t owes;
  always_comb begin
    owes = come_q.cost;
    if (!come_q.raw && bar_t'(come_q.cost) > {quantum_i, 1'b0})
      owes = come_q.cost[$bits(cost_t)-1] ? '1 : cost_t'(come_q.cost << 1);
    if (!come_q.known) owes = '0;
  end

  logic [2:0] comes_q;
  logic push_q, slow_q, copies_q;
  slow_t in_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      comes_q <= '0;
      {copies_q, slow_q, push_q} <= '0;
    end else begin
      comes_q <= {push_i && copies_i, push_i && crumbs_i && !copies_i,
                  push_i && !crumbs_i && !copies_i};
      {copies_q, slow_q, push_q} <= comes_q;
    end
    come_q <= '{conn: conn_i, cost: cost_i, known: known_i, raw: raw_i, again: again_i};
    in_q <= '{
        waits: '{conn: come_q.conn, cost: come_q.cost, owes: owes},
        dear: bar_t'(come_q.cost) >= bar_i,
        raw: come_q.raw,
        again: come_q.again
    };
  end

  // ---------------------------------------------------------------- those that come in crumbs
  logic [1:0] unused_room;  // there always is, for those who come
  logic slow_valid, slow_take;
  slow_t slow;
  logic [$clog2(Conns+1)-1:0] slow_level, copy_level;
  lib_fifo #(
    .T    (slow_t),
    .Depth(Conns)
  ) u_slow (
    .clk_i,
    .rst_ni,
    .s_valid_i(slow_q),
    .s_ready_o(unused_room[0]),
    .s_data_i (in_q),
    .m_valid_o(slow_valid),
    .m_ready_i(slow_take),
    .m_data_o (slow),
    .level_o  (slow_level)
  );

  logic [6+$clog2(Unit*SlowShare):0] slow_wait_q;  // clocks that have to pass
  logic slow_due_q;
  assign slow_take = slow_valid && slow_due_q && !push_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      slow_wait_q <= '0;
      slow_due_q  <= 1'b0;
    end else begin
      if (slow_take) slow_wait_q <= {slow.again, {$clog2(Unit * SlowShare) {1'b0}}};
      else if (slow_wait_q != '0) slow_wait_q <= slow_wait_q - 1'b1;
      slow_due_q <= slow_wait_q == '0 && !slow_take;
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
    .s_ready_o(unused_room[1]),
    .s_data_i (in_q.waits.conn),
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

  // ---------------------------------------------------------------- dear ones, and the others
  logic in_valid, in_dear, in_raw;
  waits_t in;
  assign in_valid = push_q || slow_take || copy_take;
  assign in_raw   = push_q ? in_q.raw : slow_take && slow.raw;
  assign in_dear  = (push_q ? in_q.dear : slow_take && slow.dear) && !in_raw;
  always_comb begin
    in = '0;
    if (push_q) in = in_q.waits;
    else if (slow_take) in = slow.waits;
    else in.conn = copy;
  end

  // What dear ones may: clocks that have to pass, and those of jobs on their way.
  typedef logic [17:0] wait_t;
  wait_t wait_q, took, ended;
  logic [13:0] sum_q;
  logic many_q, may, go_out, dear_q;
  logic [2:0] out_q;  // one went out in these clocks
  logic [15:0] dear_level;
  assign took  = wait_t'(took_i);
  assign ended = (took <= wait_t'(Budget)) ? '0 : many_q ? took >> 1 : took + (took >> 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wait_q <= '0;
      sum_q  <= '0;
    end else begin
      if (end_i && ended > wait_q) wait_q <= ended;
      else if (wait_q != '0) wait_q <= wait_q - 1'b1;
      sum_q <= sum_q + (begin_i ? 14'(begin_cost_i) : '0) - (end_i ? 14'(end_cost_i) : '0);
    end
    out_q  <= rst_ni ? {out_q[1:0], go_out && dear_o} : '0;
    many_q <= 32'(dear_level) >= Many;
  end
  `ASSERT(Counted, !end_i || sum_q >= 14'(end_cost_i))

  // The next dear one may go or not by what is on its way. Who is not dear any more need not wait.
  logic dear_valid, dear_idle, cheap_valid, cheap_idle, cheap_now, raw_valid, raw_idle, raw_turn;
  conn_t dear, cheap, raw;
  cost_t dear_cost, raw_cost;
  cost_t [3:0] unused_cost;
  logic [15:0] cheap_level, raw_level;
  assign cheap_now = bar_t'(dear_cost) < bar_i;
  assign may = (dear_cost > cost_t'(Budget)) ? wait_q == '0 && sum_q == '0
                                                  : sum_q + 14'(dear_cost) <= 14'(Budget);
  scheduler_ring #(
    .Conns(Conns)
  ) u_dear (
    .clk_i,
    .rst_ni,
    .push_i      (in_valid && in_dear),
    .push_waits_i(in),
    .quantum_i,
    .room_i,
    .next_i      (out_q == '0),
    .next_cost_o (dear_cost),
    .may_i       (cheap_now || may || alone_i),
    .owing_i     (empty_i),
    .valid_o     (dear_valid),
    .ready_i     (ready_i && !raw_turn),
    .conn_o      (dear),
    .cost_o      (unused_cost[0]),
    .level_o     (dear_level),
    .idle_o      (dear_idle)
  );
  scheduler_ring #(
    .Conns(Conns)
  ) u_cheap (
    .clk_i,
    .rst_ni,
    .push_i      (in_valid && !in_dear && !in_raw),
    .push_waits_i(in),
    .quantum_i,
    .room_i,
    .next_i      (1'b1),
    .next_cost_o (unused_cost[1]),
    .may_i       (1'b1),
    .owing_i     (empty_i),
    .valid_o     (cheap_valid),
    .ready_i     (ready_i && !dear_valid && !raw_turn),
    .conn_o      (cheap),
    .cost_o      (unused_cost[2]),
    .level_o     (cheap_level),
    .idle_o      (cheap_idle)
  );
  cost_t raw_quantum;
  assign raw_quantum = (quantum_i[$bits(
      cost_t
  )-1-:$clog2(
      RawShare
  )] != '0) ? '1 : cost_t'(quantum_i << $clog2(
      RawShare
  ));
  scheduler_ring #(
    .Conns(Conns)
  ) u_raw (
    .clk_i,
    .rst_ni,
    .push_i      (in_valid && in_raw),
    .push_waits_i(in),
    .quantum_i   (raw_quantum),
    .room_i,
    .next_i      (1'b1),
    .next_cost_o (unused_cost[3]),
    .may_i       (1'b1),
    .owing_i     (empty_i),
    .valid_o     (raw_valid),
    .ready_i     (ready_i && raw_turn),
    .conn_o      (raw),
    .cost_o      (raw_cost),
    .level_o     (raw_level),
    .idle_o      (raw_idle)
  );

  logic [$bits(cost_t)+$clog2(RawShare)-1:0] raw_wait_q;  // clocks that have to pass
  logic raw_due_q;
  assign raw_turn = raw_valid && (raw_due_q || (cheap_idle && !dear_valid));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) raw_wait_q <= '0;
    else if (ready_i && raw_turn) raw_wait_q <= {raw_cost, {$clog2(RawShare) {1'b0}}};
    else if (raw_wait_q != '0) raw_wait_q <= raw_wait_q - 1'b1;
    raw_due_q <= rst_ni && raw_wait_q == '0 && !(ready_i && raw_turn);
  end
  always_ff @(posedge clk_i) if (!dear_valid) dear_q <= !cheap_now;

  assign valid_o    = dear_valid || cheap_valid || raw_valid;
  assign go_out     = dear_valid && !raw_turn && ready_i;
  assign conn_o     = raw_turn ? raw : dear_valid ? dear : cheap;
  assign dear_o     = dear_valid && dear_q && !raw_turn;
  assign all_dear_o = cheap_idle;
  assign level_o    = dear_level + cheap_level + raw_level;
  assign idle_o     = comes_q == '0 && !push_q && !slow_q && !copies_q && slow_level == '0 &&
                      copy_level == '0 && dear_idle && cheap_idle && raw_idle;

  `ASSERT(Room, (unused_room | ~{copies_q, slow_q}) == '1)

endmodule
