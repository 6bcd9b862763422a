// Between requests and the store's log: keys of items get a stream of their own, and an item is taken
// in the clock in which its place is known. Latency 1 for keys, else 0; an item at a time.
module put_split
  import wirekv_pkg::*;
  import request_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  /// Items; off_o stands in the clock in which a start is taken. The beats of an item that starts
  /// are its key's, then its value's.
  input  logic  put_valid_i,
  output logic  put_ready_o,
  input  put_t  put_i,
  output off_t  off_o,
  input  logic  beat_valid_i,
  output logic  beat_ready_o,
  input  beat_t beat_i,
  /// To the log.
  output logic  put_valid_o,
  input  logic  put_ready_i,
  output put_t  put_o,
  input  logic  off_valid_i,
  input  off_t  off_i,
  output logic  putk_valid_o,
  input  logic  putk_ready_i,
  output beat_t putk_o,
  output logic  putb_valid_o,
  input  logic  putb_ready_i,
  output beat_t putb_o
);

  // ---------------------------------------------------------------- items
  logic sent_q;  // its place is still to come
  logic plan_room;
  assign put_valid_o = put_valid_i && !sent_q && plan_room;
  assign put_o       = put_i;
  assign off_o       = off_i;
  assign put_ready_o = put_i.start ? off_valid_i : put_valid_o && put_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) sent_q <= 1'b0;
    else if (off_valid_i) sent_q <= 1'b0;
    else if (put_valid_o && put_ready_i && put_i.start) sent_q <= 1'b1;
  end

  // ---------------------------------------------------------------- beats
  // Of each item, how many beats its key has.
  logic plan_valid, value_end, key_room;
  logic [2:0] plan, keys_q;
  logic [3:0] unused_plan;
  lib_fifo #(
    .T    (logic [2:0]),
    .Depth(8)
  ) u_plan (
    .clk_i,
    .rst_ni,
    .s_valid_i(put_valid_o && put_ready_i),
    .s_ready_o(plan_room),
    .s_data_i (put_i.start ? 3'((9'(put_i.klen) + 9'd63) >> 6) : 3'd0),
    .m_valid_o(plan_valid),
    .m_ready_i(value_end),
    .m_data_o (plan),
    .level_o  (unused_plan)
  );

  logic in_key, key_push;
  assign in_key       = keys_q != plan;
  assign key_push     = beat_valid_i && plan_valid && in_key && key_room;
  assign putb_valid_o = beat_valid_i && plan_valid && !in_key;
  assign putb_o       = beat_i;
  assign beat_ready_o = plan_valid && (in_key ? key_room : putb_ready_i);
  assign value_end    = putb_valid_o && putb_ready_i && beat_i.last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || value_end) keys_q <= '0;
    else if (key_push) keys_q <= keys_q + 3'd1;
  end

  // The log takes a key together with the value's beginning, so there is room for a whole one.
  logic [2:0] unused_keys;
  lib_fifo #(
    .T    (beat_t),
    .Depth(4)
  ) u_keys (
    .clk_i,
    .rst_ni,
    .s_valid_i(key_push),
    .s_ready_o(key_room),
    .s_data_i (beat_i),
    .m_valid_o(putk_valid_o),
    .m_ready_i(putk_ready_i),
    .m_data_o (putk_o),
    .level_o  (unused_keys)
  );

endmodule
