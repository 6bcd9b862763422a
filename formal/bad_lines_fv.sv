// Who fetches a line that memory has refused is told so until it is begun anew, whatever memory says of others, in
// whatever order; nobody else is; and where that is no longer known, that is said. Seen through one line, in a table of
// two rows of two.
`include "fv.svh"
`include "lib_assert.svh"

module bad_lines_fv
  import store_pkg::*;
(
  input logic       clk_i,
  input logic       rd_bad_i,
  input logic       wr_bad_i,
  input logic       wr_anew_i,
  input logic [2:0] rd_line_i,
  input logic [2:0] wr_line_i,
  input logic       ask_i,
  input logic [2:0] ask_line_i,
  input logic       gone_i
);
  `FV_RESET

  logic go, bad, full, gone, given_up_q;
  mem_said_t said;
  assign said = '{rd_bad: rd_bad_i, rd_line: line_no_t'(rd_line_i), wr_bad: wr_bad_i,
                  wr_anew: wr_anew_i && !wr_bad_i, wr_line: line_no_t'(wr_line_i)};
  assign gone = ask_i && go && gone_i;

  bad_lines #(
    .Rows   (2),
    .Ways   (2),
    .Waiting(2)
  ) dut (
    .clk_i,
    .rst_ni,
    .said_i    (said),
    .ask_i,
    .ask_line_i(line_no_t'(ask_line_i)),
    .go_o      (go),
    .bad_o     (bad),
    .gone_i    (gone),
    .full_o    (full)
  );
  `FV_STREAM(ask, ask_i, gone, ask_line_i)

  // Nothing new is said of a line while it is fetched, nor three clocks before.
  mem_said_t [1:0] before_q;
  logic [2:0] of_it;
  always_ff @(posedge clk_i) before_q <= rst_ni ? {before_q[0], said} : '0;
  for (genvar i = 0; i < 3; i++) begin : gen_said
    mem_said_t then;
    assign then = (i == 0) ? said : before_q[i-1];
    assign of_it[i] = ((then.wr_bad || then.wr_anew) && then.wr_line == line_no_t'(ask_line_i)) ||
        (then.rd_bad && then.rd_line == line_no_t'(ask_line_i));
  end
  `FV_ASSUME(SaidBefore, !ask_i || of_it == '0)

  // What was said of line 0.
  logic refused, anew, is_bad_q, may_be_q, just_q;
  assign refused = (rd_bad_i && rd_line_i == '0) || (wr_bad_i && wr_line_i == '0);
  assign anew    = said.wr_anew && wr_line_i == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      is_bad_q   <= 1'b0;
      may_be_q   <= 1'b0;
      given_up_q <= 1'b0;
    end else begin
      just_q <= refused;
      if (refused) is_bad_q <= 1'b1;
      else if (anew) is_bad_q <= 1'b0;
      // Of a line that is begun anew in the clock behind its refusal, or when nothing more can wait, that is lost.
      if (refused) may_be_q <= 1'b1;
      else if (anew && !just_q && dut.room) may_be_q <= 1'b0;
      if (full) given_up_q <= 1'b1;
    end
  end
  `ASSERT(Told, !(gone && ask_line_i == '0 && is_bad_q) || bad || given_up_q)
  `ASSERT(NoOther, !(gone && ask_line_i == '0 && bad) || may_be_q)
  `ASSERT(Waits, !gone || !bad || dut.known_q)

  `FV_SEEN(was_bad, gone && ask_line_i == '0 && bad)
  `FV_COVER(BadThenGood, was_bad && gone && ask_line_i == '0 && !bad && dut.any_q)
  `FV_COVER(Full, full && dut.room)
  `FV_COVER(NoRoom, full && !dut.room)

endmodule
