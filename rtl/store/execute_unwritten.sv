// An item made here stands in its key's way before the log has written it. Its key's requests wait in check until then,
// and walks, which read any item; one such item at a time.
module execute_unwritten
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,
  /// The log has given the item of the request in act its place; it may.
  input  logic    put_i,
  // verilator lint_off UNUSEDSIGNAL
  input  op_t     op_i,  // its buckets count
  // verilator lint_on UNUSEDSIGNAL
  output logic    free_o,
  /// The request in check waits.
  // verilator lint_off UNUSEDSIGNAL
  input  op_t     check_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic    waits_o,
  /// Puts taken, without this one, and written by the log.
  input  serial_t taken_i,
  input  serial_t written_i
);

  logic valid_q;
  low_lines_t lines_q;
  serial_t stamp_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (put_i) valid_q <= 1'b1;
    else if (reached(written_i, stamp_q)) valid_q <= 1'b0;
    if (put_i) begin
      lines_q <= low_lines(op_i.found.line);
      stamp_q <= taken_i + 1'b1;
    end
  end
  assign free_o  = !valid_q;
  // Both buckets are a key's; the same tag's of another one are told apart by what the log has there.
  assign waits_o = valid_q && (check_i.req.op == OpWalk ||
      (check_i.found.lookup && low_lines(check_i.found.line) == lines_q));

endmodule
