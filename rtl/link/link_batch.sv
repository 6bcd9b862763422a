// When the host is told how far the indices have come: at so many slots either way, after so many clocks, or as soon as
// there is nothing more to do. Latency 2: it looks at both by turns.
module link_batch
  import link_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  /// Of each index: how far it has come, and what was told of it; nothing more is to come at present.
  input  index_t [1:0] index_i,
  input  index_t [1:0] told_i,
  input  logic [1:0]   empty_i,
  /// They are told in this clock.
  input  logic         tell_i,
  input  index_t       slots_i,
  input  index_t       clocks_i,
  output logic         due_o
);

  index_t left_q, open;  // clocks that are left
  logic turn_q, some;
  logic [1:0] some_q;
  assign open = index_i[turn_q] - told_i[turn_q];
  assign some = open != '0;

  always_ff @(posedge clk_i) begin
    turn_q         <= rst_ni && !turn_q;
    some_q[turn_q] <= some;
    if (!rst_ni || clear_i || tell_i || some_q == '0) left_q <= clocks_i;
    else if (left_q != '0) left_q <= left_q - 1'b1;
    due_o <= rst_ni && !clear_i && !tell_i && some &&
             (empty_i[turn_q] || open >= slots_i || left_q == '0);
  end

endmodule
