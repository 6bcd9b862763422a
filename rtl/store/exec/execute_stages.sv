// The stages of execute: a request is fetched (its buckets and its item are read), is in check
// while they are compared, then in act. Initiation interval 1; a clock for each line of its item in which header and
// key stand, and one more for a key of more than a beat; 4 for requests that must not overlap.
//
// Its item's first line comes last, with the buckets: so all that is looked at but the key's bytes is of one clock, and
// of the lines before only whether they are alike is kept.
//
// While a request takes its steps, check waits; the read ports serve others then, so what is in
// check is fetched again afterwards. So it is, with all lines, when it has waited for a write to them or its buckets.
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
  /// The one in check has read buckets or lines that are written: they are read again.
  input  logic   stale_i,
  /// Of its key there is what stands in line check_line_o.
  input  logic   key_there_i,
  output moves_t moves_o,
  /// The request in check; the line that is to be fetched of it, if one is; a line stands that is not the first.
  output op_t    check_o,
  output logic   check_more_o,
  output logic [2:0] check_line_o,
  output logic   check_further_o,
  output logic   act_valid_o,
  output op_t    act_o,
  /// Nothing is in check or act.
  output logic   idle_o
);

  op_t check_q, act_q;
  logic check_valid_q, act_valid_q;
  logic more_q;    // lines are to be fetched: line_q is the next one, 0 the last one
  logic [2:0] line_q;
  logic data_q, further_q;  // a line stands; it is not the first one
  logic act_free, go, further, fetch;

  function automatic logic [2:0] begin_of(input logic [2:0] lines);
    return (lines == 3'd1) ? 3'd0 : 3'd1;
  endfunction
  function automatic logic [2:0] behind(input logic [2:0] line, input logic [2:0] lines);
    return (line == 3'd0 || line + 3'd1 == lines) ? 3'd0 : line + 3'd1;
  endfunction

  // What overlaps ends as it is decided; the rest has the stages for itself.
  assign act_free = !act_valid_q || fast_done_i;
  assign go       = check_valid_q && data_q && !further_q && act_free && !stale_i;
  assign further  = check_valid_q && more_q && run_i && key_there_i && !stale_i;
  assign fetch    = next_valid_i && run_i &&
      (!check_valid_q || (go && !check_q.alone)) && !(act_valid_q && act_q.alone);

  assign moves_o         = '{fetch: fetch, further: further, go: go};
  assign check_o         = check_q;
  assign check_more_o    = check_valid_q && more_q;
  assign check_line_o    = line_q;
  assign check_further_o = check_valid_q && data_q && further_q;
  assign act_valid_o     = act_valid_q;
  assign act_o           = act_q;
  assign idle_o          = !check_valid_q && !act_valid_q;

  // The second line may have the key's second beat, which is not here when the first one is.
  logic waits;
  logic [2:0] next_line;
  assign next_line = begin_of(next_i.lines);
  assign waits     = next_line != '0 && next_i.req.klen > 8'd64;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      check_valid_q <= 1'b0;
      data_q        <= 1'b0;
      act_valid_q   <= 1'b0;
    end else begin
      if (fetch) check_valid_q <= 1'b1;
      else if (go) check_valid_q <= 1'b0;
      // Steps clobber the read ports: what is in check must be fetched again.
      data_q <= (fetch && !waits) || further || (data_q && !further_q && !go && run_i && !stale_i);
      if (go) act_valid_q <= 1'b1;
      else if (act_done_i) act_valid_q <= 1'b0;
    end
    if (fetch) begin
      check_q   <= next_i;
      more_q    <= next_line != '0;
      line_q    <= waits ? next_line : behind(next_line, next_i.lines);
      further_q <= next_line != '0;
    end else if (!run_i || stale_i) begin
      more_q <= 1'b1;
      line_q <= begin_of(check_q.lines);
    end else if (further) begin
      more_q    <= line_q != '0;
      line_q    <= behind(line_q, check_q.lines);
      further_q <= line_q != '0;
    end
    if (go) act_q <= check_q;
  end

endmodule
