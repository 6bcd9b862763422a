// guard, through the eyes of a key with an entry that the prover chooses: no ticket while a write is open, of it or of all
// keys; a value fills only while none is open, if the version that its ticket has, which was given not long ago, is the
// present one; counts never come around, and are as many as were opened and not closed; versions only rise; what forgets all
// writes ends. Versions of three bits come around, but not within the time that the age of a ticket leaves.
`include "fv.svh"
`include "lib_assert.svh"

module guard_fv
  import aside_pkg::*;
#(
  parameter int unsigned Entries = 4,
  parameter int unsigned CountW = 2
) (
  input logic                       clk_i,
  input logic                       tick_i,
  input logic                       go_valid_i,
  input go_e                        go_op_i,
  input logic [$clog2(Entries)-1:0] go_index_i,
  input logic                       back_valid_i,
  input back_e                      back_op_i,
  input logic [$clog2(Entries)-1:0] back_index_i,
  input ticket_t                    back_ticket_i,
  input logic [$clog2(Entries)-1:0] chosen_i,
  input logic                       pick_i
);
  `FV_RESET

  localparam int unsigned VersionW = 3;
  localparam int unsigned MaxAge = 2;
  localparam int unsigned Most = 2 ** CountW - 1;
  typedef logic [$clog2(Entries)-1:0] index_t;
  typedef logic [VersionW-1:0] version_t;

  logic go_ready, go_done, go_ok, back_ready, back_done, back_ok, clearing;
  ticket_t go_ticket;
  guard #(
    .Entries (Entries),
    .CountW  (CountW),
    .VersionW(VersionW),
    .MaxAge  (MaxAge)
  ) dut (
    .clk_i,
    .rst_ni,
    .tick_i,
    .go_valid_i,
    .go_ready_o  (go_ready),
    .go_op_i,
    .go_index_i,
    .go_done_o   (go_done),
    .go_ok_o     (go_ok),
    .go_ticket_o (go_ticket),
    .back_valid_i,
    .back_ready_o(back_ready),
    .back_op_i,
    .back_index_i,
    .back_ticket_i,
    .back_done_o (back_done),
    .back_ok_o   (back_ok),
    .clearing_o  (clearing)
  );
  `FV_ASSUME(GoOps, go_op_i inside {GoLook, GoOpen, GoOpenAll})

  // ------------------------------------------------ what was taken, a clock later: then its turn has come
  index_t chosen_q;
  logic go1_q, back1_q, go_here_q, back_here_q;
  go_e go_op_q;
  back_e back_op_q;
  ticket_t ticket1_q;
  logic look, open, open_all, fill, close, close_all, clear;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) chosen_q <= chosen_i;
    go1_q       <= rst_ni && go_valid_i && go_ready;
    back1_q     <= rst_ni && back_valid_i && back_ready;
    go_here_q   <= go_index_i == chosen_q;
    back_here_q <= back_index_i == chosen_q;
    go_op_q     <= go_op_i;
    back_op_q   <= back_op_i;
    ticket1_q   <= back_ticket_i;
  end
  assign look      = go1_q && go_here_q && go_op_q == GoLook;
  assign open      = go1_q && go_here_q && go_op_q == GoOpen;
  assign open_all  = go1_q && go_op_q == GoOpenAll;
  assign fill      = back1_q && back_here_q && back_op_q == BackFill;
  assign close     = back1_q && back_here_q && back_op_q == BackClose;
  assign close_all = back1_q && back_op_q == BackCloseAll;
  assign clear     = back1_q && back_op_q == BackClear;
  `ASSERT(OneAtATime, !(go1_q && back1_q))

  // ------------------------------------------------ open writes, of the entry and of all keys
  logic [7:0] open_q, all_q;
  logic none;
  assign none = open_q == '0 && all_q == '0 && !clearing;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear) begin
      open_q <= '0;
      all_q  <= '0;
    end else begin
      if (open && open_q != 8'(Most) && !clearing) open_q <= open_q + 1'b1;
      if (close && open_q != '0) open_q <= open_q - 1'b1;
      if (open_all && all_q != 8'(Most)) all_q <= all_q + 1'b1;
      if (close_all && all_q != '0) all_q <= all_q - 1'b1;
    end
  end

  // ------------------------------------------------ a ticket that was given, and what has happened since
  logic have_q, mine2_q, mine3_q, known_q, young;
  version_t base_q, present;
  logic [31:0] second_q;
  logic [41:0] since_q, begin_q;
  logic [VersionW:0] changes_q;
  assign present = dut.u_entries.mem_q[chosen_q][CountW+:VersionW] + dut.all_version_q;
  assign young   = dut.time_q[41:10] - second_q < 32'(MaxAge);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      have_q  <= 1'b0;
      known_q <= 1'b0;
    end else if (look && none && pick_i && !have_q) begin
      have_q    <= 1'b1;
      base_q    <= present;
      second_q  <= dut.time_q[41:10];
      begin_q   <= dut.time_q;
      since_q   <= 42'(tick_i);
      changes_q <= '0;
    end else begin
      since_q <= since_q + 42'(tick_i);
      if (open || close || open_all || close_all || clear || dut.op1_q.last)
        changes_q <= changes_q + 1'b1;
      if (mine3_q) known_q <= 1'b1;
    end
    mine2_q <= rst_ni && look && none && pick_i && !have_q;
    mine3_q <= rst_ni && mine2_q;
  end
  // As fast as versions may change, and as long as a ticket may be kept.
  `FV_ASSUME(Slow, !have_q || !young || !changes_q[VersionW])
  `FV_ASSUME(NotForever, !have_q || !since_q[41])

  // ------------------------------------------------ what must be answered, two clocks after the turn
  typedef struct packed {
    logic go;
    logic back;
    logic sure;  // it is known what
    logic good;
  } answer_t;
  answer_t answer, answer2_q, answer3_q;
  logic mine;
  ticket_t given;
  assign given = '{second: second_q, version: 32'(base_q)};
  assign mine  = known_q && ticket1_q == given;
  always_comb begin
    answer      = '0;
    answer.go   = go1_q;
    answer.back = back1_q;
    answer.sure = 1'b1;
    if (look) answer.good = none;
    else if (open) answer.good = open_q != 8'(Most) && !clearing;
    else if (open_all) answer.good = all_q != 8'(Most);
    else if (close && !clearing) answer.good = open_q != '0;
    else if (close_all) answer.good = all_q != '0;
    else if (clear) answer.good = 1'b1;
    else if (fill && mine) answer.good = none && changes_q == '0 && young;
    // Of another ticket: its version may be the present one, too.
    else if (fill && !none) answer.good = 1'b0;
    else answer.sure = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    answer2_q <= rst_ni ? answer : '0;
    answer3_q <= rst_ni ? answer2_q : '0;
  end
  `ASSERT(Answered, go_done == answer3_q.go && back_done == answer3_q.back)
  `ASSERT(GoOk, !(answer3_q.go && answer3_q.sure) || go_ok == answer3_q.good)
  `ASSERT(BackOk, !(answer3_q.back && answer3_q.sure) || back_ok == answer3_q.good)
  `ASSERT(Ticket, !mine3_q || go_ticket == given)
  // In milliseconds, less than one second more.
  `ASSERT(Young, !have_q || !young || since_q < 42'(1024 * MaxAge))

  // ------------------------------------------------ forgetting ends
  logic [7:0] clocks_q;
  logic swept_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear) clocks_q <= '0;
    else clocks_q <= clocks_q + 8'(clearing);
    if (!rst_ni || !clearing) swept_q <= 1'b0;
    else if (dut.op1_q.sweep && dut.index1_q == chosen_q) swept_q <= 1'b1;
  end
  `ASSERT(Ends, !clearing || clocks_q <= 8'(2 * Entries + 1))

  // ------------------------------------------------ invariants
  logic [CountW-1:0] stored;
  logic swept;
  assign stored = dut.u_entries.mem_q[chosen_q][CountW-1:0];
  assign swept  = swept_q || (dut.op1_q.sweep && dut.index1_q == chosen_q);
  `ASSERT(Here,
          dut.op1_q == '0 || dut.index1_q != chosen_q || dut.now == dut.u_entries.mem_q[chosen_q])
  `ASSERT(Counted, clearing ? open_q == '0 : open_q == 8'(stored))
  `ASSERT(AllCounted, all_q == 8'(dut.all_open_q))
  `ASSERT(Swept, !clearing || !swept_q || stored == '0)
  `ASSERT(Place, !clearing || dut.place_q <= chosen_q || swept)
  `ASSERT(Last, !dut.op1_q.last || (clearing && swept && dut.place_q == '0))
  `ASSERT(SweepsWhenClearing, !dut.op1_q.sweep || clearing)
  `ASSERT(Still, clearing || dut.place_q == '0)
  `ASSERT(
      Steps,
      !clearing || dut.op1_q.last || clocks_q <= {5'd0, dut.place_q, 1'b0} + 8'(!dut.turn_q) + 8'd1)
  `ASSERT(Present, !have_q || present == base_q + version_t'(changes_q))
  `ASSERT(Mine2, !mine2_q || version_t'(dut.version2_q + dut.all_version_q) == base_q)
  `ASSERT(Mine2Second, !mine2_q || dut.second2_q == second_q)
  `ASSERT(Begin, !have_q || (second_q == begin_q[41:10] && dut.time_q == begin_q + since_q))
  `ASSERT(Order, (!mine2_q || have_q) && (!mine3_q || have_q) && (!known_q || have_q))

  // Reached
  `FV_COVER(Fills, answer3_q.back && back_ok && answer3_q.sure && answer3_q.good && known_q)
  `FV_COVER(Full, answer3_q.go && !go_ok && open_q == 8'(Most) && !clearing)
  `FV_COVER(Flushes, all_q == 8'd2 && known_q && fill && mine)
  `FV_COVER(Forgets, clear && open_q == 8'd2)
  `FV_COVER(Changed, fill && mine && none && changes_q == 4'd2)
endmodule
