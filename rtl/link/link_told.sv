// What the host is told of a channel: a line in its memory, with both indices. It is written when all that it tells of has
// been answered, and one at a time.
module link_told
  import link_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       clear_i,
  input  logic       run_i,
  /// The channel ends: one more line.
  input  logic       last_i,
  output logic       last_done_o,
  input  link_cfg_t  cfg_i,
  /// Slots that were read; nothing more is to be read.
  input  index_t     down_i,
  input  logic       down_empty_i,
  /// Slots of whole frames that were written; nothing more is to be written.
  input  index_t     border_i,
  input  logic       up_empty_i,
  /// Bursts that wait for an answer, and one that is answered.
  input  logic [6:0] open_i,
  input  logic       answer_i,
  /// Host memory has refused a write: what was written since the last line does not count.
  input  logic       refused_i,
  /// A line is to be written; it was answered.
  output logic       req_valid_o,
  input  logic       req_ready_i,
  input  logic       done_i,
  /// What it says.
  output index_t     down_o,
  output index_t     up_o,
  output logic       idle_o
);

  typedef enum logic [1:0] {
    Idle,
    Wait,
    Ask,
    Sent
  } state_e;

  state_e state_q;
  index_t mark_q;
  logic [6:0] left_q;
  logic due, tell, final_q;

  assign tell        = state_q == Wait && left_q == '0;
  assign req_valid_o = state_q == Ask;
  assign idle_o      = state_q == Idle;
  assign last_done_o = final_q && state_q == Sent && done_i;

  link_batch u_batch (
    .clk_i,
    .rst_ni,
    .clear_i,
    .index_i ({border_i, down_i}),
    .told_i  ({up_o, down_o}),
    .empty_i ({up_empty_i, down_empty_i}),
    .tell_i  (tell),
    .slots_i (cfg_i.batch_slots),
    .clocks_i(cfg_i.batch_clocks),
    .due_o   (due)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q <= Idle;
      down_o  <= '0;
      up_o    <= '0;
      final_q <= 1'b0;
    end else begin
      unique case (state_q)
        Idle:
        if (last_i || (run_i && due)) begin
          state_q <= Wait;
          final_q <= last_i;
        end
        Wait:
        if (tell) begin
          state_q <= Ask;
          down_o  <= down_i;
          if (!refused_i) up_o <= mark_q;
        end
        Ask: if (req_ready_i) state_q <= Sent;
        Sent: if (done_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
    // Answers come in the order of the bursts, so these are the ones that were open at the mark.
    if (state_q == Idle) begin
      mark_q <= border_i;
      left_q <= open_i - 7'(answer_i);
    end else if (answer_i && left_q != '0) begin
      left_q <= left_q - 1'b1;
    end
  end

endmodule
