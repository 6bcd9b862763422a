// link_told: the host is told of nothing that memory has not answered, and of nothing once memory has refused a write; what
// it is told of goes forward only, and it is told of everything in the end of a batch. Each burst ends a frame here: so the
// border is as far ahead of the answers as it can be.
`include "fv.svh"
`include "lib_assert.svh"

module link_told_fv
  import link_pkg::*;
(
  input logic   clk_i,
  input logic   run_i,
  input logic   last_i,
  input index_t down_i,
  input logic   down_empty_i,
  input logic   up_empty_i,
  input logic   ask_i,
  input logic   write_i,
  input logic   answer_i,
  input logic   refuse_i,
  input logic   req_ready_i,
  input logic   done_i
);
  `FV_RESET

  // As the module's.
  typedef enum logic [1:0] {
    Idle,
    Wait,
    Ask,
    Sent
  } state_e;

  // Bursts that were asked for, whose slots were written, that were answered. Each index counts its slots.
  index_t asked_q, written_q, answered_q, good_q;
  index_t up, asked_then_q;
  logic refused_q, ask, write, answer, sent_q;
  logic [6:0] open;
  assign open   = 7'(asked_q - answered_q);
  // The ring is not full; the host has consumed all that it was told of.
  assign ask    = ask_i && open < 7'd120 && index_t'(asked_q - up) < 16'h7f00;
  assign write  = write_i && written_q != asked_q;
  assign answer = answer_i && answered_q != written_q;

  logic req_valid, last_done, idle;
  index_t down;
  link_told dut (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .run_i,
    .last_i,
    .last_done_o (last_done),
    .cfg_i       ('{batch_slots: 16'd5, batch_clocks: 16'd5, default: '0}),
    .down_i,
    .down_empty_i,
    .border_i    (written_q),
    .up_empty_i,
    .open_i      (open),
    .answer_i    (answer),
    .refused_i   (refused_q || (answer && refuse_i)),
    .req_valid_o (req_valid),
    .req_ready_i,
    .done_i      (done_i && sent_q),
    .down_o      (down),
    .up_o        (up),
    .idle_o      (idle)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q    <= '0;
      written_q  <= '0;
      answered_q <= '0;
      good_q     <= '0;
      refused_q  <= 1'b0;
      sent_q     <= 1'b0;
    end else begin
      asked_q    <= asked_q + index_t'(ask);
      written_q  <= written_q + index_t'(write);
      answered_q <= answered_q + index_t'(answer);
      if (answer && refuse_i) refused_q <= 1'b1;
      // All up to here, and no refusal among them.
      if (answer && !refuse_i && !refused_q) good_q <= good_q + 1'b1;
      if (dut.state_q == Idle) asked_then_q <= asked_q;
      if (req_valid && req_ready_i) sent_q <= 1'b1;
      else if (done_i) sent_q <= 1'b0;
    end
  end

  `ASSERT(NotEarly, index_t'(good_q - up) < 16'h8000)
  `ASSERT(OneAtATime, !(sent_q && req_valid))

  // Invariants
  `ASSERT(Asked, index_t'(asked_q - written_q) <= 16'd120)
  `ASSERT(Written, index_t'(written_q - answered_q) <= 16'd120)
  `ASSERT(Open, index_t'(asked_q - answered_q) <= 16'd120)
  `ASSERT(Ring, index_t'(asked_q - up) <= 16'h7f00)
  `ASSERT(Good, index_t'(answered_q - good_q) <= index_t'(answered_q - up))
  `ASSERT(AllGood, refused_q || good_q == answered_q)
  `ASSERT(Told, index_t'(answered_q - up) <= 16'h7f00)
  `ASSERT(SentState, sent_q == (dut.state_q == Sent))
  `ASSERT(Left, dut.state_q != Wait || index_t'(dut.left_q) == index_t'(asked_then_q - answered_q))
  `ASSERT(Then, dut.state_q != Wait || index_t'(asked_then_q - dut.mark_q) <= 16'd120)
  `ASSERT(MarkBehind, dut.state_q != Wait || index_t'(written_q - dut.mark_q) <= 16'd240)
  `ASSERT(MarkAhead, dut.state_q != Wait || index_t'(dut.mark_q - up) <= 16'h7f00)

  // Reached
  `FV_SEEN(told, up != '0)
  `FV_COVER(Tells, req_valid && up == 16'd2)
  `FV_COVER(More, told && idle && up == 16'd3)
  `FV_COVER(Refuses, refused_q && req_valid && up != written_q)
  `FV_COVER(Last, last_done)
endmodule
