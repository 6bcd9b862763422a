// Acquires lines of items in a bank of the log's cache, in the order of the requests: of each item one line to three,
// a line a clock.

module lookup_run
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// An item's first line in the bank, and how many, 1 to 3.
  input  logic       s_valid_i,
  output logic       s_ready_o,
  input  line_no_t   line_i,
  input  logic [1:0] count_i,
  /// The cache: acquire.
  output logic       acq_valid_o,
  input  logic       acq_ready_i,
  output line_no_t   acq_line_o
);

  typedef struct packed {
    line_no_t   line;
    logic [1:0] count;
  } run_t;

  run_t run;
  line_no_t next_q;            // its next line, if it is not the first
  logic [1:0] count_q;         // lines that were acquired
  logic done;                  // this is the last one
  logic [4:0] unused_runs;

  lib_fifo #(
    .T    (run_t),
    .Depth(16)
  ) u_runs (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i ('{line: line_i, count: count_i}),
    .m_valid_o(acq_valid_o),
    .m_ready_i(acq_ready_i && done),
    .m_data_o (run),
    .level_o  (unused_runs)
  );

  assign done       = count_q + 2'd1 == run.count;
  assign acq_line_o = (count_q != '0) ? next_q : run.line;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else if (acq_valid_o && acq_ready_i) count_q <= done ? '0 : count_q + 2'd1;
    if (acq_valid_o && acq_ready_i) next_q <= acq_line_o + 1'b1;
  end

endmodule
