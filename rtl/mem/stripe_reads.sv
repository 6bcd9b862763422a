// Reads of one way of mem_stripe: addresses wait until memory takes them, answers of two beats until they are given out
// as lines. Latency 1 to memory, 2 back, initiation interval 1; 2 for memory's beats.
//
// Three counts chase that of the reads that were asked for: who has room for a read has it until the answer has gone.
`include "lib_assert.svh"

module stripe_reads #(
  /// Reads without an answer that has gone: a power of two.
  parameter int unsigned Reads = 32,
  /// Bits of a place in the way's memory.
  parameter int unsigned PlaceW = 23
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// A read, only while there is room.
  output logic              room_o,
  input  logic              ask_i,
  input  logic [PlaceW-1:0] place_i,
  /// To memory.
  output logic              ar_valid_o,
  input  logic              ar_ready_i,
  output logic [PlaceW-1:0] ar_place_o,
  /// Its beats, always taken.
  input  logic              beat_valid_i,
  input  logic [255:0]      beat_i,
  input  logic              beat_bad_i,
  input  logic              beat_last_i,
  /// Answers in order.
  output logic              line_valid_o,
  input  logic              line_ready_i,
  output logic [511:0]      line_o,
  output logic              line_bad_o
);

  if (Reads < 2 || (Reads & (Reads - 1)) != 0) begin : gen_bad_reads
    $error("%m: Reads must be a power of two, 2 or more");
  end

  // Each with a bit more than places have, which tells all from none.
  localparam int unsigned CountW = $clog2(Reads) + 1;
  typedef logic [CountW-1:0] count_t;
  count_t asked_q, sent_q, came_q, gone_q;
  logic send, come, go, head_q;

  assign room_o     = (asked_q ^ gone_q) != count_t'(Reads);
  assign ar_valid_o = asked_q != sent_q;
  assign send       = ar_valid_o && ar_ready_i;
  assign come       = beat_valid_i && beat_last_i;
  assign go         = came_q != gone_q && (!head_q || line_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q <= '0;
      sent_q  <= '0;
      came_q  <= '0;
      gone_q  <= '0;
      head_q  <= 1'b0;
    end else begin
      if (ask_i) asked_q <= asked_q + 1'b1;
      if (send) sent_q <= sent_q + 1'b1;
      if (come) came_q <= came_q + 1'b1;
      if (go) gone_q <= gone_q + 1'b1;
      head_q <= go || (head_q && !line_ready_i);
    end
  end
  assign line_valid_o = head_q;

  // A free place may be written whether a read comes or not, as in lib_fifo.
  (* ram_style = "distributed" *) logic [PlaceW-1:0] place_q[Reads];
  always_ff @(posedge clk_i) if (room_o) place_q[asked_q[CountW-2:0]] <= place_i;
  assign ar_place_o = place_q[sent_q[CountW-2:0]];

  // The first beat waits for the second one. Of three the second is not the last: bad.
  logic [255:0] first_q;
  logic begun_q, bad_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || come) begin
      begun_q <= 1'b0;
      bad_q   <= 1'b0;
    end else if (beat_valid_i) begin
      begun_q <= 1'b1;
      bad_q   <= bad_q || beat_bad_i || begun_q;
    end
    if (beat_valid_i) first_q <= beat_i;
  end

  lib_ram #(
    .Width(513),
    .Depth(Reads < 64 ? 64 : Reads)  // no fewer, for block RAM
  ) u_lines (
    .clk_i,
    .we_i   (come),
    .waddr_i(($clog2(Reads < 64 ? 64 : Reads))'(came_q[CountW-2:0])),
    .wbe_i  (1'b1),
    .wdata_i({bad_q || beat_bad_i || !begun_q, beat_i, first_q}),
    .re_i   (go),
    .raddr_i(($clog2(Reads < 64 ? 64 : Reads))'(gone_q[CountW-2:0])),
    .rdata_o({line_bad_o, line_o})
  );

  `ASSERT(AskRoom, !ask_i || room_o)
  `ASSERT(AskedFor, !beat_valid_i || came_q != sent_q)
  `ASSERT(LineRoom, count_t'(came_q - gone_q) <= count_t'(asked_q - gone_q))
  `ASSERT_STABLE(ArStable, ar_valid_o, ar_ready_i, ar_place_o)
  `ASSERT_STABLE(LineStable, line_valid_o, line_ready_i, {line_bad_o, line_o})

endmodule
