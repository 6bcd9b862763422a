// Reads the log for execute: the item's prefetched line for check; in the steps line after line of
// an item, which are acquired one at a time and held until they are released.
module execute_line
  import store_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// Stages: data stand in the clock after they move.
  input  moves_t    moves_i,
  input  op_t       next_i,
  input  op_t       check_i,
  /// The line that is fetched of the one in check.
  input  logic [2:0] check_line_i,
  /// Steps: this line is next; get it, and wait until it is there: its data stand from the next
  /// clock on, and the line behind it is next.
  input  logic      seek_i,
  input  line_no_t  line_i,
  input  logic      get_i,
  /// That line is one of the request's, in this slot: no other is acquired.
  input  logic      near_i,
  input  log_slot_t near_slot_i,
  output logic      there_o,
  input  logic      release_i,
  /// Log cache: class ClassExecute, read port.
  output logic      acq_valid_o,
  input  logic      acq_ready_i,
  output line_no_t  acq_line_o,
  input  logic      rsp_valid_i,
  output logic      rsp_ready_o,
  output logic      rsp_bank_o,
  input  log_slot_t rsp_slot_i,
  output log_rel_t  rel_o,
  output logic      rd_en_o,
  output log_slot_t rd_slot_o
);

  line_no_t line_q;   // next to be acquired
  logic     asked_q;  // it was
  log_rel_t held_q;   // lines acquired

  logic next_further;
  assign next_further = next_i.lines != 3'd1;

  assign acq_valid_o = get_i && !near_i && !asked_q;
  assign acq_line_o  = line_q;
  assign rsp_ready_o = asked_q;
  assign rsp_bank_o  = line_q[0];
  assign there_o     = near_i || (asked_q && rsp_valid_i);
  assign rel_o       = release_i ? held_q : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q <= 1'b0;
      held_q  <= '0;
    end else begin
      if (there_o) asked_q <= 1'b0;
      else if (acq_valid_o && acq_ready_i) asked_q <= 1'b1;
      if (release_i) held_q <= '0;
      else if (there_o && !near_i) held_q[rsp_bank_o] <= held_q[rsp_bank_o] + 1'b1;
    end
    if (seek_i) line_q <= line_i;
    else if (there_o) line_q <= line_q + 1'b1;
  end

  always_comb begin
    rd_en_o   = (moves_i.further && check_i.found.cand) || (moves_i.fetch && next_i.found.cand);
    rd_slot_o = in_bank(check_i.slots[check_line_i], check_i.found.off.pos[2] ^ check_line_i[0]);
    if (moves_i.fetch)
      rd_slot_o = in_bank(next_i.slots[next_further], next_i.found.off.pos[2] ^ next_further);
    if (near_i) begin
      rd_en_o   = 1'b1;
      rd_slot_o = near_slot_i;
    end
    if (asked_q) begin
      rd_en_o   = rsp_valid_i;
      rd_slot_o = rsp_slot_i;
    end
  end

endmodule
