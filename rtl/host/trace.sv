// The way of a connection's requests through the card: in which clock they pass which point. The connection is the
// one that was opened last from the port `port_i`. Where it stands in the pipeline, its id or that port tells.
//
// It only listens, behind a register: nothing waits for it. It keeps the first 64 clocks in which something happened
// since `on_i`. Latency 3 from what happens to the record; all have the same.
module trace
  import wirekv_pkg::*;
  import trace_pkg::*;
  import csr_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  /// Records; else it forgets them.
  input  logic              on_i,
  input  logic [15:0]       port_i,
  input  trace_taps_t       taps_i,
  /// The connection that is marked, if there is one.
  output trace_conn_t       marked_o,
  /// A record, 2 clocks after its index. No points: there is none.
  input  logic [5:0]        index_i,
  output logic [31:0]       clock_o,
  output csr_trace_points_t points_o
);

  // ---------------------------------------------------------------- whose
  logic [15:0] port_q;
  trace_taps_t taps_q;
  trace_conn_t marked_q;
  assign marked_o = marked_q;
  always_ff @(posedge clk_i) begin
    port_q <= port_i;
    taps_q <= taps_i;
    if (!rst_ni || port_q != port_i) marked_q <= '0;
    else if (taps_q.open && taps_q.open_port == port_q) marked_q <= '{1'b1, taps_q.open_conn};
    else if (taps_q.closed && same(taps_q.arrived, marked_q)) marked_q.valid <= 1'b0;
  end

  // Packets: the first beat counts.
  trace_beat_t [3:0] beats;
  logic [3:0] first_q, begins;
  assign beats = {taps_q.framed, taps_q.sent, taps_q.segment, taps_q.frame};
  always_comb begin
    for (int b = 0; b < 4; b++) begins[b] = beats[b].valid && first_q[b] && beats[b].port == port_q;
  end
  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 4; b++) begin
      if (!rst_ni) first_q[b] <= 1'b1;
      else if (beats[b].valid) first_q[b] <= beats[b].last;
    end
  end

  // Values: the reader sends them in the order in which it was asked. So many are on their way, and so many of them
  // are to end until the connection's last one has.
  logic [9:0] values_q, until_q, values;
  logic ends;
  assign ends   = taps_q.chunk && taps_q.chunk_last;
  assign values = values_q + 10'(taps_q.store.value.valid) - 10'(ends);
  always_ff @(posedge clk_i) begin
    values_q <= rst_ni ? values : '0;
    if (!rst_ni) until_q <= '0;
    else if (same(taps_q.store.value, marked_q)) until_q <= values;
    else if (ends && until_q != '0) until_q <= until_q - 1'b1;
  end

  // ---------------------------------------------------------------- records
  localparam int unsigned Points = 13;
  logic [Points-1:0] points;
  assign points = Points'(csr_trace_points_t
'{
          frame: begins[0],
          segment: begins[1],
          arrived: same(taps_q.arrived, marked_q),
          request: same(taps_q.request, marked_q),
          log: same(taps_q.log, marked_q),
          hash: taps_q.store.hash,
          execute: same(taps_q.store.execute, marked_q),
          result: same(taps_q.result, marked_q),
          value: taps_q.chunk && until_q == 10'd1,
          reply: same(taps_q.reply, marked_q),
          send: same(taps_q.send, marked_q),
          sent: begins[2],
          framed: begins[3],
          default: '0
      }
      );

  logic [6:0] records_q;
  logic [31:0] clock_q;
  logic [Points-1:0] points_q, read;
  logic there_q;
  always_ff @(posedge clk_i) begin
    points_q <= points;
    there_q  <= {1'b0, index_i} < records_q;
    if (!rst_ni || !on_i) begin
      records_q <= '0;
      clock_q   <= '0;
    end else begin
      clock_q <= clock_q + 1'b1;
      if (points_q != '0 && !records_q[6]) records_q <= records_q + 1'b1;
    end
  end

  lib_ram #(
    .Width(32 + Points),
    .Depth(64)
  ) u_records (
    .clk_i,
    .we_i   (on_i && points_q != '0 && !records_q[6]),
    .waddr_i(records_q[5:0]),
    .wbe_i  (1'b1),
    .wdata_i({clock_q, points_q}),
    .re_i   (1'b1),
    .raddr_i(index_i),
    .rdata_o({clock_o, read})
  );
  assign points_o = there_q ? 32'(read) : '0;

endmodule
