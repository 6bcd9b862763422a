// Writes of one way of mem_stripe: addresses wait until memory takes them, and apart from them lines, which leave as two
// beats; answers wait until they are given out. Latency 1 for an address, 2 for a line, 1 for an answer; initiation
// interval 1, 2 for a line's beats.
//
// Counts as in stripe_reads: a write has its room until its answer has gone. A RAM with a write port of a line and a
// read port of a half cuts lines in two without a multiplexer.
`include "lib_assert.svh"

module stripe_writes #(
  /// Writes without an answer that has gone: a power of two.
  parameter int unsigned Writes = 32,
  /// Bits of a place in the way's memory.
  parameter int unsigned PlaceW = 23
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// A write, only while there is room.
  output logic              room_o,
  input  logic              ask_i,
  input  logic [PlaceW-1:0] place_i,
  /// The lines of what was asked for, in that order, at any time from the next clock on.
  input  logic              line_i,
  input  logic [511:0]      data_i,
  input  logic [63:0]       strb_i,
  /// To memory.
  output logic              aw_valid_o,
  input  logic              aw_ready_i,
  output logic [PlaceW-1:0] aw_place_o,
  output logic              w_valid_o,
  input  logic              w_ready_i,
  output logic [255:0]      w_data_o,
  output logic [31:0]       w_strb_o,
  output logic              w_last_o,
  /// Its answers, always taken.
  input  logic              b_valid_i,
  input  logic              b_bad_i,
  /// Answers in order.
  output logic              done_valid_o,
  input  logic              done_ready_i,
  output logic              done_bad_o
);

  if (Writes < 2 || (Writes & (Writes - 1)) != 0) begin : gen_bad_writes
    $error("%m: Writes must be a power of two, 2 or more");
  end

  typedef struct packed {
    logic [31:0]  strb;
    logic [255:0] data;
  } half_t;
  localparam int unsigned CountW = $clog2(Writes) + 1;
  typedef logic [CountW-1:0] count_t;
  count_t asked_q, sent_q, filled_q, came_q, gone_q;
  logic [CountW:0] out_q;  // halves
  logic send, out, go, head_q;

  assign room_o       = (asked_q ^ gone_q) != count_t'(Writes);
  assign aw_valid_o   = asked_q != sent_q;
  assign send         = aw_valid_o && aw_ready_i;
  assign out          = filled_q != out_q[CountW:1] && (!head_q || w_ready_i);
  assign done_valid_o = came_q != gone_q;
  assign go           = done_valid_o && done_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q  <= '0;
      sent_q   <= '0;
      filled_q <= '0;
      out_q    <= '0;
      came_q   <= '0;
      gone_q   <= '0;
      head_q   <= 1'b0;
    end else begin
      if (ask_i) asked_q <= asked_q + 1'b1;
      if (send) sent_q <= sent_q + 1'b1;
      if (line_i) filled_q <= filled_q + 1'b1;
      if (out) out_q <= out_q + 1'b1;
      if (b_valid_i) came_q <= came_q + 1'b1;
      if (go) gone_q <= gone_q + 1'b1;
      head_q <= out || (head_q && !w_ready_i);
    end
    if (out) w_last_o <= out_q[0];
  end
  assign w_valid_o = head_q;

  (* ram_style = "distributed" *) logic [PlaceW-1:0] place_q[Writes];
  always_ff @(posedge clk_i) if (room_o) place_q[asked_q[CountW-2:0]] <= place_i;
  assign aw_place_o = place_q[sent_q[CountW-2:0]];

  // Answers to come have a place each, so it may be written in every clock.
  (* ram_style = "distributed" *) logic bad_q[Writes];
  always_ff @(posedge clk_i) if (b_valid_i) bad_q[came_q[CountW-2:0]] <= b_bad_i;
  assign done_bad_o = bad_q[gone_q[CountW-2:0]];

  half_t head;
  (* ram_style = "block" *) half_t half_q[2*Writes];
  always_ff @(posedge clk_i) begin
    if (out) head <= half_q[out_q[CountW-1:0]];
    if (line_i) begin
      half_q[{filled_q[CountW-2:0], 1'b0}] <= '{data: data_i[255:0], strb: strb_i[31:0]};
      half_q[{filled_q[CountW-2:0], 1'b1}] <= '{data: data_i[511:256], strb: strb_i[63:32]};
    end
  end
  assign w_data_o = head.data;
  assign w_strb_o = head.strb;

  `ASSERT(AskRoom, !ask_i || room_o)
  `ASSERT(LineAsked, !line_i || filled_q != asked_q)
  `ASSERT(AnswerAsked, !b_valid_i || (came_q != sent_q && came_q != out_q[CountW:1]))
  `ASSERT_STABLE(AwStable, aw_valid_o, aw_ready_i, aw_place_o)
  `ASSERT_STABLE(WStable, w_valid_o, w_ready_i, {w_last_o, w_strb_o, w_data_o})

endmodule
