// The next request for line_cache's tags, of all classes by turns. Combinational (latency 0),
// initiation interval 1.
//
// A request that the tags refuse steps aside into the queue of its class, and behind it what of the
// class was on its way; they are tried one by one until the queue is empty. The other classes go on.
// A hint that they refuse is dropped.
//
// One clock after every RenewEvery requests goes to the next set, whose old tickets are renewed (see
// line_cache_tags). After reset all sets pass so once, and are cleared.
module line_cache_arbiter
  import store_pkg::*;
#(
  /// As line_cache's.
  parameter int unsigned Sets = 128,
  parameter int unsigned Classes = 2,
  parameter bit Spread = 0,
  parameter int unsigned RenewEvery = 64,
  localparam int unsigned SetBits = $clog2(Sets),
  localparam int unsigned ClassBits = $clog2(Classes)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  /// Requests, and whether there is room for one more of each class.
  input  logic      [Classes-1:0]       acq_valid_i,
  output logic      [Classes-1:0]       acq_ready_o,
  input  line_acq_t [Classes-1:0]       acq_i,
  input  logic      [Classes-1:0]       room_i,
  /// To the tags: a request, and whether it had stepped aside; or a set to renew, or to clear.
  output logic                          valid_o,
  output logic      [ClassBits-1:0]     class_o,
  output line_acq_t                     acq_o,
  output logic                          again_o,
  output logic      [SetBits-1:0]       set_o,
  output logic                          sweep_o,
  output logic                          clear_o,
  /// What became of a request.
  input  logic                          tried_i,
  input  logic      [ClassBits-1:0]     tried_class_i,
  input  line_acq_t                     tried_acq_i,
  input  logic                          tried_again_i,
  input  logic                          tried_ok_i,
  /// Requests of these classes wait.
  output logic      [Classes-1:0]       queued_o,
  /// No request is here, and none is offered.
  output logic                          idle_o
);

  typedef logic [SetBits-1:0] set_t;
  typedef logic [ClassBits-1:0] class_t;

  typedef struct packed {
    line_acq_t acq;
    set_t      set;
    logic      again;
  } offer_t;

  function automatic set_t set_of(input line_no_t line);
    set_t turn;
    // A Gray code of the upper bits, the fastest on top: where they count up, in the middle of a long
    // value, one bit changes, so that the lines behind do not come to the sets of those before. It is
    // added, so that two values that meet in a set go on one behind the other.
    turn = '0;
    for (int b = int'(SetBits); b < $bits(line_no_t); b++) begin
      turn[SetBits-1-b%SetBits] ^= line[b];
      if (b != int'(SetBits)) turn[SetBits-1-(b-1)%SetBits] ^= line[b];
    end
    return Spread ? line[SetBits-1:0] + turn : line[SetBits-1:0];
  endfunction

  // ---------------------------------------------------------------- sets to clear, then to renew
  // Requests wait until the last set is cleared, two clocks after it is sent to be.
  logic [2:0] clear_q;
  logic due_q;
  set_t sweep_q;
  logic [$clog2(RenewEvery)-1:0] count_q;

  assign sweep_o = due_q || clear_q[0];
  assign clear_o = clear_q[0];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q <= '1;
      due_q   <= 1'b0;
      sweep_q <= '0;
      count_q <= '0;
    end else begin
      if (sweep_o) sweep_q <= sweep_q + 1'b1;
      clear_q <= {clear_q[1:0], clear_q[0] && sweep_q != '1};
      if (tried_ok_i) count_q <= count_q + 1'b1;
      due_q <= tried_ok_i && count_q == '1;
    end
  end

  // ---------------------------------------------------------------- those that stepped aside
  // At most one that was refused, and one in each of the two stages behind it.
  logic [Classes-1:0] queued, trying_q, offers, granted;
  line_acq_t [Classes-1:0] queue;
  offer_t [Classes-1:0] offer;
  for (genvar c = 0; c < Classes; c++) begin : gen_queue
    logic mine, unused_ready;
    logic [2:0] unused_level;
    assign mine = tried_i && tried_class_i == class_t'(c);
    lib_fifo #(
      .T    (line_acq_t),
      .Depth(4)
    ) u_queue (
      .clk_i,
      .rst_ni,
      .s_valid_i(mine && !tried_again_i && !tried_ok_i && !tried_acq_i.hint),
      .s_ready_o(unused_ready),
      .s_data_i (tried_acq_i),
      .m_valid_o(queued[c]),
      .m_ready_i(mine && tried_again_i && tried_ok_i),
      .m_data_o (queue[c]),
      .level_o  (unused_level)
    );
    always_ff @(posedge clk_i) begin
      if (!rst_ni) trying_q[c] <= 1'b0;
      else if (granted[c] && queued[c]) trying_q[c] <= 1'b1;
      else if (mine && tried_again_i) trying_q[c] <= 1'b0;
    end

    assign offers[c] = !due_q && clear_q == '0 &&
        (queued[c] ? !trying_q[c] : acq_valid_i[c] && room_i[c]);
    assign offer[c]  = '{acq: queued[c] ? queue[c] : acq_i[c], again: queued[c],
                         set: set_of(queued[c] ? queue[c].line : acq_i[c].line)};
  end
  assign queued_o = queued;
  assign idle_o   = clear_q == '0 && queued == '0 && acq_valid_i == '0;

  // ---------------------------------------------------------------- pick
  logic [Classes-1:0] turn;
  offer_t pick;
  logic unused_last;
  lib_arb #(
    .T(offer_t),
    .N(Classes)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(offers),
    .s_ready_o(turn),
    .s_data_i (offer),
    .s_last_i ('1),
    .m_valid_o(valid_o),
    .m_ready_i(1'b1),
    .m_data_o (pick),
    .m_last_o (unused_last),
    .m_idx_o  (class_o)
  );
  assign granted     = turn & offers;
  assign acq_ready_o = granted & ~queued;
  assign acq_o       = pick.acq;
  assign again_o     = pick.again;
  assign set_o       = sweep_o ? sweep_q : pick.set;

endmodule
