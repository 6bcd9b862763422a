// Between requests and the store's log: keys of items get a stream of their own. Latency 1,
// initiation interval 1.
module put_split
  import wirekv_pkg::*;
  import request_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  /// Items. The beats of one that starts are its key's, then its value's.
  input  logic  put_valid_i,
  output logic  put_ready_o,
  input  put_t  put_i,
  input  logic  beat_valid_i,
  output logic  beat_ready_o,
  input  beat_t beat_i,
  /// To the log.
  output logic  put_valid_o,
  input  logic  put_ready_i,
  output put_t  put_o,
  output logic  putk_valid_o,
  input  logic  putk_ready_i,
  output beat_t putk_o,
  output logic  putb_valid_o,
  input  logic  putb_ready_i,
  output beat_t putb_o
);

  // ---------------------------------------------------------------- beats
  // Of each item, how many beats its key has.
  logic put_room, plan_room, plan_valid, value_end, key_room, value_push, value_room;
  logic [2:0] plan, keys_q;
  logic [3:0] unused_plan;
  lib_fifo #(
    .T    (logic [2:0]),
    .Depth(8)
  ) u_plan (
    .clk_i,
    .rst_ni,
    .s_valid_i(put_valid_i && put_room),
    .s_ready_o(plan_room),
    .s_data_i (put_i.start ? 3'((9'(put_i.klen) + 9'd63) >> 6) : 3'd0),
    .m_valid_o(plan_valid),
    .m_ready_i(value_end),
    .m_data_o (plan),
    .level_o  (unused_plan)
  );

  assign put_ready_o = put_room && plan_room;

  lib_reg #(
    .T(put_t)
  ) u_put (
    .clk_i,
    .rst_ni,
    .s_valid_i(put_valid_i && plan_room),
    .s_ready_o(put_room),
    .s_data_i (put_i),
    .m_valid_o(put_valid_o),
    .m_ready_i(put_ready_i),
    .m_data_o (put_o)
  );

  logic in_key, key_push;
  assign in_key       = keys_q != plan;
  assign key_push     = beat_valid_i && plan_valid && in_key && key_room;
  assign value_push   = beat_valid_i && plan_valid && !in_key && value_room;
  assign beat_ready_o = plan_valid && (in_key ? key_room : value_room);
  assign value_end    = value_push && beat_i.last;
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

  // While the log is at the end of a value the next item's key is taken.
  logic [2:0] unused_values;
  lib_fifo #(
    .T    (beat_t),
    .Depth(4)
  ) u_values (
    .clk_i,
    .rst_ni,
    .s_valid_i(value_push),
    .s_ready_o(value_room),
    .s_data_i (beat_i),
    .m_valid_o(putb_valid_o),
    .m_ready_i(putb_ready_i),
    .m_data_o (putb_o),
    .level_o  (unused_values)
  );

endmodule
