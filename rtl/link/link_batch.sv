// When the host is told how far an index has come: at so many slots, after so many clocks, or as soon as there is
// nothing more to do. Latency 1.
module link_batch
  import link_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   clear_i,
  /// How far it has come, and what was told of it.
  input  index_t index_i,
  input  index_t told_i,
  /// It was told in this clock.
  input  logic   tell_i,
  /// Nothing more is to come at present.
  input  logic   empty_i,
  input  index_t slots_i,
  input  index_t clocks_i,
  output logic   due_o
);

  index_t age_q, open;
  assign open = index_i - told_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || tell_i || open == '0) age_q <= '0;
    else if (age_q != '1) age_q <= age_q + 1'b1;
    due_o <= rst_ni && !clear_i && !tell_i && open != '0 &&
             (empty_i || open >= slots_i || age_q >= clocks_i);
  end

endmodule
