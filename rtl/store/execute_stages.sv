// The stages of execute: a request is fetched (its buckets and its item are read), is in check
// while they are compared, then in act. Initiation interval 1; 2 where the key ends in the item's
// second line, 4 for requests that must not overlap.
//
// While a request takes its steps, check waits; the read ports serve others then, so what is in
// check is fetched again afterwards.
`include "lib_assert.svh"

module execute_stages
  import store_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// The next request; valid when all it needs is there.
  input  logic   next_valid_i,
  input  op_t    next_i,
  /// The stages run: none takes its steps. The request in act ends as it is decided; ends.
  input  logic   run_i,
  input  logic   fast_done_i,
  input  logic   act_done_i,
  /// The one in check has read buckets that are written: it is fetched again.
  input  logic   stale_i,
  output moves_t moves_o,
  /// The request in check; its second line is there; it has to be fetched again.
  output op_t    check_o,
  output logic   check_second_o,
  output logic   check_again_o,
  output logic   act_valid_o,
  output op_t    act_o,
  /// Nothing is in check or act.
  output logic   idle_o
);

  op_t check_q, act_q;
  logic check_valid_q, check_data_q, check_two_q, check_second_q, act_valid_q, redo_q;
  logic act_free, go, second, again, fetch;

  // What overlaps ends as it is decided; the rest has the stages for itself.
  assign act_free = !act_valid_q || fast_done_i;
  assign go       = check_valid_q && check_data_q && act_free && !stale_i;
  assign second   = go && check_two_q && !check_second_q;
  assign again    = check_valid_q && !check_data_q && redo_q && run_i && !act_valid_q &&
      !stale_i;
  assign fetch    = next_valid_i && run_i && act_free &&
      (!check_valid_q || (go && !second && !check_q.alone)) && !(act_valid_q && act_q.alone);

  assign moves_o        = '{fetch: fetch, again: again, second: second, go: go};
  assign check_o        = check_q;
  assign check_second_o = check_second_q;
  assign check_again_o  = check_valid_q && !check_data_q;
  assign act_valid_o    = act_valid_q;
  assign act_o          = act_q;
  assign idle_o         = !check_valid_q && !act_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      check_valid_q <= 1'b0;
      check_data_q  <= 1'b0;
      act_valid_q   <= 1'b0;
      redo_q        <= 1'b0;
    end else begin
      if (fetch) check_valid_q <= 1'b1;
      else if (go && !second) check_valid_q <= 1'b0;
      // Steps clobber the read ports: what is in check must be fetched again.
      // So do entries that are put into its buckets.
      if (!run_i || (check_valid_q && stale_i)) check_data_q <= 1'b0;
      else if (fetch || again) check_data_q <= 1'b1;
      else if (go && !second) check_data_q <= 1'b0;
      redo_q <= !run_i || stale_i || (redo_q && !again);
      if (go && !second) act_valid_q <= 1'b1;
      else if (act_done_i) act_valid_q <= 1'b0;
    end
    if (fetch) begin
      check_q        <= next_i;
      // The key goes on in the item's second line.
      check_two_q    <= next_i.found.cand && next_i.found.lookup && !next_i.long_key &&
          next_i.found.count > 3'd1 &&
          9'({next_i.found.off.pos[1:0], 4'h0}) + 9'd16 + 9'(next_i.req.klen) > 9'd64;
      check_second_q <= 1'b0;
    end else if (again) begin
      check_second_q <= 1'b0;
    end else if (second) begin
      check_second_q <= 1'b1;
    end
    if (go && !check_second_q) act_q <= check_q;
  end

  `ASSERT(KeyPortFree, !(again && act_valid_q))

endmodule
