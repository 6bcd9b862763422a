// When the host is told how far the indices have come: at so many slots either way, after so many clocks, or as soon as
// there is nothing more to do. Latency 1.
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

  index_t age_q;
  index_t [1:0] open;
  logic [1:0] some, many, done;
  always_comb begin
    for (int unsigned n = 0; n < 2; n++) begin
      open[n] = index_i[n] - told_i[n];
      some[n] = open[n] != '0;
      many[n] = some[n] && open[n] >= slots_i;
      done[n] = some[n] && empty_i[n];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || tell_i || some == '0) age_q <= '0;
    else if (age_q != '1) age_q <= age_q + 1'b1;
    due_o <= rst_ni && !clear_i && !tell_i &&
             (done != '0 || many != '0 || (some != '0 && age_q >= clocks_i));
  end

endmodule
