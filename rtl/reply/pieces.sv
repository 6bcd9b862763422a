// Cuts what the store gives into what encode takes one by one: a result that ends its job into the
// result and an RsEnd, a piece of key and value into one of each. Latency 0, initiation interval 1
// or, of what is cut, 2.
module pieces
  import request_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// From the store.
  input  logic   res_valid_i,
  output logic   res_ready_o,
  input  res_t   res_i,
  input  logic   chunk_valid_i,
  output logic   chunk_ready_o,
  input  chunk_t chunk_i,
  /// To encode. Only an RsEnd ends its job.
  output logic   res_valid_o,
  input  logic   res_ready_i,
  output res_t   res_o,
  output logic   part_valid_o,
  input  logic   part_ready_i,
  output part_t  part_o
);

  // ---------------------------------------------------------------- results
  logic end_q, both, end_now;  // the result's end is next
  assign both        = res_i.last && !(res_i.kind inside {RsNone, RsEnd});
  assign end_now     = res_i.last && (!both || end_q);
  assign res_valid_o = res_valid_i;
  assign res_ready_o = res_ready_i && (!both || end_q);
  always_comb begin
    res_o      = res_i;
    res_o.last = end_now;
    if (end_now) res_o.kind = RsEnd;
    if (end_q) res_o.first = 1'b0;
  end

  // ---------------------------------------------------------------- chunks
  logic value_q, has_key, has_value, key_now;  // the chunk's value is next
  assign has_key       = chunk_i.key_len != '0;
  assign has_value     = chunk_i.len != '0 || chunk_i.last;
  assign key_now       = has_key && !value_q;
  assign part_valid_o  = chunk_valid_i;
  assign chunk_ready_o = part_ready_i && !(key_now && has_value);
  assign part_o = '{
          data: chunk_i.data,
          start: key_now ? chunk_i.start : chunk_i.start + 6'(chunk_i.key_len),
          len: key_now ? chunk_i.key_len : chunk_i.len,
          key: key_now,
          last: key_now ? chunk_i.key_last : chunk_i.last,
          bad: chunk_i.bad
      };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      end_q   <= 1'b0;
      value_q <= 1'b0;
    end else begin
      if (res_valid_i && res_ready_i) end_q <= both && !end_q;
      if (chunk_valid_i && part_ready_i) value_q <= key_now && has_value;
    end
  end

endmodule
