// An item made here stands in its key's way before the log has written it. Its key's requests wait in check until then,
// and walks, which read any item; so many such items at a time.
module execute_unwritten
  import request_pkg::*;
  import store_pkg::*;
#(
  /// Items; a power of two. As many as are made while one is written.
  parameter int unsigned Depth = 4
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  /// The log has given the item of the request in act its place; it may; there is none.
  input  logic    put_i,
  input  op_t     op_i,  // its buckets count
  output logic    free_o,
  output logic    idle_o,
  /// The request in check waits.
  input  op_t     check_i,
  output logic    waits_o,
  /// Puts taken, without this one, and written by the log.
  input  serial_t taken_i,
  input  serial_t written_i
);

  logic [Depth-1:0] valid_q, same;
  low_lines_t [Depth-1:0] lines_q;
  serial_t [Depth-1:0] stamp_q;
  logic [$clog2(Depth)-1:0] next_q;
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(Depth); i++) begin
      if (!rst_ni) valid_q[i] <= 1'b0;
      else if (put_i && 32'(next_q) == i) valid_q[i] <= 1'b1;
      else if (reached(written_i, stamp_q[i])) valid_q[i] <= 1'b0;
      if (put_i && 32'(next_q) == i) begin
        lines_q[i] <= low_lines(op_i.found.line);
        stamp_q[i] <= taken_i + 1'b1;
      end
    end
    if (!rst_ni) next_q <= '0;
    else if (put_i) next_q <= next_q + 1'b1;
  end
  assign free_o = !valid_q[next_q];
  assign idle_o = valid_q == '0;
  // Both buckets are a key's; the same tag's of another one are told apart by what the log has there.
  always_comb begin
    for (int i = 0; i < int'(Depth); i++)
    same[i] = valid_q[i] && low_lines(check_i.found.line) == lines_q[i];
  end
  assign waits_o = (check_i.req.op == OpWalk && !idle_o) || (check_i.found.lookup && same != '0);

endmodule
