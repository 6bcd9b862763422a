// What a connection has received behind a hole: up to Spans intervals whose bytes are in the receive
// ring already and not told to the scheduler. A part of tcp_tcb's pipe, stage by stage, with a RAM of
// its own beside the connection table. Latency and initiation interval are tcp_tcb's.
//
//   fetch    read; the segment's end
//   diff     each interval against the segment
//   class    the interval that the segment becomes part of; where in-order data then end
//   update   the new intervals
//   measure  write
//
// The intervals are disjoint, no two touch, all lie behind rcv_nxt and in the ring's room. The one
// that changed last stands first: the order that RFC 2018 wants in a SACK option.
`include "lib_assert.svh"

module tcp_ooo
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// diff, class, update, measure, limit, choose hold an event.
  input  logic [5:0]               valid_i,
  /// fetch: an event of this connection, and what its segment carries.
  input  logic                     fetch_i,
  input  logic [$clog2(Conns)-1:0] id_i,
  input  near_t                    from_i,
  input  logic [15:0]              len_i,
  /// diff: the connection is new; its peer takes SACK options; where the ring's room ends.
  input  logic                     fresh_i,
  input  logic                     sack_ok_i,
  input  near_t                    edge_i,
  /// class: the next byte in order.
  input  near_t                    rcv_nxt_i,
  /// update: so many bytes are in order if the segment's are taken.
  output logic [16:0]              jump_o,
  /// Something is kept; something beyond the segment's end, too, is kept; there is a place for it.
  output logic                     some_o,
  output logic                     past_o,
  output logic                     place_o,
  /// The segment's data are taken in order; or kept; the connection is new and has none.
  input  logic                     take_i,
  input  logic                     keep_i,
  input  logic                     clear_i,
  /// measure: the peer takes SACK options.
  output logic                     sack_ok_o,
  /// choose: an ACK is to have a SACK option.
  output logic                     sack_o,
  /// finish: what it says.
  output spans_t                   spans_o
);

  localparam int unsigned IdW = $clog2(Conns);
  localparam int unsigned CountW = $clog2(Spans + 1);

  // ---------------------------------------------------------------- fetch
  typedef struct packed {
    logic   sack_ok;  // the peer takes SACK options
    spans_t spans;
  } word_t;

  logic write_q;
  logic [3:0][IdW-1:0] id_q;  // diff .. measure
  word_t ram, measure_q;
  near_t from_q, to_q;

  lib_ram #(
    .Width($bits(word_t)),
    .Depth(Conns)
  ) u_spans (
    .clk_i,
    .we_i   (write_q),
    .waddr_i(id_q[3]),
    .wbe_i  (1'b1),
    .wdata_i(measure_q),
    .re_i   (fetch_i),
    .raddr_i(id_i),
    .rdata_o(ram)
  );

  always_ff @(posedge clk_i) begin
    id_q <= {id_q[2:0], id_i};
    if (fetch_i) begin
      from_q <= from_i;
      to_q   <= from_i + near_t'(len_i);
    end
  end

  // ---------------------------------------------------------------- diff
  // An interval touches the segment if no byte is missing between them. One at most of those that
  // do begins before it, and one ends behind it.
  typedef struct packed {
    logic [Spans-1:0] touch;
    logic [Spans-1:0] front;
    logic [Spans-1:0] back;
    near_t            from;
    near_t            to;     // without what the ring has no room for
  } diff_t;

  spans_t diff_spans;
  logic diff_sack_ok;
  diff_t diff;
  always_comb begin
    diff_spans = fresh_i ? '0 : ram.spans;
    diff_sack_ok = fresh_i ? sack_ok_i : ram.sack_ok;
    diff.from  = from_q;
    diff.to    = near_lt(edge_i, to_q) ? edge_i : to_q;
    for (int unsigned i = 0; i < Spans; i++) begin
      diff.touch[i]  = diff_spans[i].valid && !near_lt(to_q, diff_spans[i].from) &&
          !near_lt(diff_spans[i].to, from_q);
      diff.front[i] = near_lt(diff_spans[i].from, from_q);
      diff.back[i]   = near_lt(to_q, diff_spans[i].to);
    end
  end

  // ---------------------------------------------------------------- class
  spans_t class_spans_q, class_rest;
  diff_t class_q;
  span_t class_whole;
  logic [Spans-1:0] class_front, class_back, class_valid;
  logic class_sack_ok_q;
  always_ff @(posedge clk_i) begin
    if (valid_i[0]) begin
      class_spans_q <= diff_spans;
      class_q       <= diff;
      class_sack_ok_q <= diff_sack_ok;
    end
  end

  assign class_front = class_q.touch & class_q.front;
  assign class_back   = class_q.touch & class_q.back;

  always_comb begin
    logic [CountW-1:0] n;
    class_whole.valid = 1'b1;
    class_whole.from  = (|class_front) ? '0 : class_q.from;
    class_whole.to    = (|class_back) ? '0 : class_q.to;
    for (int unsigned i = 0; i < Spans; i++) begin
      class_valid[i] = class_spans_q[i].valid;
      if (class_front[i]) class_whole.from |= class_spans_q[i].from;
      if (class_back[i]) class_whole.to |= class_spans_q[i].to;
    end
    // The others move up.
    class_rest = '0;
    n          = '0;
    for (int unsigned i = 0; i < Spans; i++) begin
      if (class_spans_q[i].valid && !class_q.touch[i]) begin
        for (int unsigned k = 0; k < Spans; k++) begin
          if (n == CountW'(k)) class_rest[k] = class_spans_q[i];
        end
        n = n + 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------- update
  spans_t up_spans_q, up_rest_q, up_spans;
  span_t up_whole_q;
  logic up_sack_ok_q;
  always_ff @(posedge clk_i) begin
    if (valid_i[1]) begin
      up_spans_q <= class_spans_q;
      up_rest_q  <= class_rest;
      up_whole_q <= class_whole;
      up_sack_ok_q <= class_sack_ok_q;
      jump_o     <= 17'(class_whole.to - rcv_nxt_i);
      some_o     <= |class_valid;
      past_o     <= |class_back;
      place_o    <= !(&class_valid) || |class_q.touch;
    end
  end

  always_comb begin
    up_spans = up_spans_q;
    if (take_i) up_spans = up_rest_q;
    if (keep_i) up_spans = {up_rest_q[Spans-2:0], up_whole_q};
  end

  // ---------------------------------------------------------------- measure and on
  // A peer that takes no SACK options gets none: as if nothing were kept.
  spans_t limit_q, choose_q;
  assign sack_ok_o = measure_q.sack_ok;
  assign sack_o = choose_q[0].valid;
  always_ff @(posedge clk_i) begin
    write_q <= rst_ni && valid_i[2] && (take_i || keep_i || clear_i);
    if (valid_i[2]) measure_q <= '{sack_ok: up_sack_ok_q, spans: up_spans};
    if (valid_i[3]) limit_q <= measure_q.sack_ok ? measure_q.spans : '0;
    if (valid_i[4]) choose_q <= limit_q;
    if (valid_i[5]) spans_o <= choose_q;
  end

  for (genvar i = 0; i < Spans; i++) begin : gen_check
    `ASSERT(not_empty, !(write_q && measure_q.spans[i].valid) || near_lt(
            measure_q.spans[i].from, measure_q.spans[i].to))
    for (genvar k = 0; k < i; k++) begin : gen_apart
      `ASSERT(apart,
              !(write_q && measure_q.spans[i].valid) || (measure_q.spans[k].valid && (near_lt(
              measure_q.spans[i].to, measure_q.spans[k].from) || near_lt(
              measure_q.spans[k].to, measure_q.spans[i].from))))
    end
  end

endmodule
