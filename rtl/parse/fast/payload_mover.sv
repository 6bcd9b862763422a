// Moves item data, and keys that a window does not hold, from the lines that are kept to the store, 64 bytes a beat, as
// they come. Latency 3, one beat a clock.
module payload_mover
  import wirekv_pkg::*;
  import lib_pkg::*;
  import parse_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  /// An item's value, or a part of it, or a key: it may still have to come.
  input  logic     item_valid_i,
  output logic     item_ready_o,
  input  item_t    item_i,
  /// First line that has not come.
  input  line_no_t coming_i,
  /// Lines: 64 bytes from a place, a clock later; not while somebody else reads.
  input  logic     wait_i,
  output place_t   place_o,
  input  line_t    data_i,
  /// Beats of values and of keys; there must be room for 4 more of them when `room_i`, `key_room_i`.
  input  logic     room_i,
  output logic     valid_o,
  output beat_t    beat_o,
  input  logic     key_room_i,
  output logic     key_request_o,
  output logic     key_item_o,
  /// A key is on its way here, or will be.
  output logic     keys_move_o,
  /// Lines from this one on are needed.
  output logic     holds_o,
  output line_no_t line_o,
  /// Something is on its way.
  output logic     busy_o
);

  item_t head;
  logic head_valid, head_pop;
  logic [4:0] unused_level;

  lib_fifo #(
    .T    (item_t),
    .Depth(16)
  ) u_items (
    .clk_i,
    .rst_ni,
    .s_valid_i(item_valid_i),
    .s_ready_o(item_ready_o),
    .s_data_i (item_i),
    .m_valid_o(head_valid),
    .m_ready_i(head_pop),
    .m_data_o (head),
    .level_o  (unused_level)
  );

  // ---------------------------------------------------------------- one beat after the other
  // That a beat is an item's last one, whether that one crosses a line's end, and how many of its lines are here is
  // known before its turn.
  logic valid_q, go, last_q, last_crosses_q, lane_q, crosses, come;
  logic
      none_q,
      one_q,
      two_q;  // the item has no bytes; a line, two lines from the beat's first one on have come
  line_no_t here, here_next;  // lines that have
  place_t at_q;
  logic request_q, item_q;  // of a key
  logic [13:0] left_q;
  logic [6:0] len;

  function automatic logic at_least(input line_no_t distance, input line_no_t n);
    return !distance[7] && distance >= n;
  endfunction

  always_comb begin
    len  = last_q ? left_q[6:0] : 7'd64;
    // Its last byte is in this line or in the one behind.
    crosses = last_q ? last_crosses_q : lane_q;
    come    = none_q || (crosses ? two_q : one_q);
    here      = coming_i - at_q.line;
    here_next = coming_i - head.place.line;
  end
  assign go       = valid_q && ((request_q || item_q) ? key_room_i : room_i) && come && !wait_i;
  assign head_pop = !valid_q || (go && last_q);
  assign place_o  = at_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (head_pop) valid_q <= head_valid;
    one_q <= head_pop ? at_least(here_next, 8'd1) : at_least(here, go ? 8'd2 : 8'd1);
    two_q <= head_pop ? at_least(here_next, 8'd2) : at_least(here, go ? 8'd3 : 8'd2);
    if (head_pop) begin
      none_q <= head.len == '0;
      lane_q <= head.place.lane != '0;
      at_q   <= head.place;
      request_q <= head.request;
      item_q    <= head.item;
      left_q <= head.len;
      last_q <= head.len <= 14'd64;
      last_crosses_q <= 7'(head.place.lane) + 7'(6'(head.len - 14'd1)) > 7'd63;
    end else if (go) begin
      at_q.line <= at_q.line + 1'b1;
      left_q    <= left_q - 14'd64;
      last_q    <= left_q <= 14'd128;
    end
  end

  // ---------------------------------------------------------------- beats
  logic go_q, end_q, to_request_q, to_item_q;
  logic [6:0] len_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      go_q          <= 1'b0;
      valid_o       <= 1'b0;
      key_request_o <= 1'b0;
      key_item_o    <= 1'b0;
    end else begin
      go_q          <= go;
      valid_o       <= go_q && !to_request_q && !to_item_q;
      key_request_o <= go_q && to_request_q;
      key_item_o    <= go_q && to_item_q;
    end
    if (go) begin
      end_q <= last_q;
      len_q  <= len;
      to_request_q <= request_q;
      to_item_q    <= item_q;
    end
    if (go_q) begin
      beat_o.data <= data_i & bytes_of(lanes_below(len_q));
      beat_o.len  <= len_q;
      beat_o.last <= end_q;
    end
  end

  assign holds_o = head_valid || valid_q;
  assign line_o  = valid_q ? at_q.line : head.place.line;
  assign busy_o  = holds_o || go_q || valid_o || key_request_o || key_item_o;

  // Keys, until their last beat is told.
  logic [4:0] keys_q;
  logic key_in, key_out;
  assign key_in  = item_valid_i && item_ready_o && (item_i.request || item_i.item);
  assign key_out = (key_request_o || key_item_o) && beat_o.last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) keys_q <= '0;
    else keys_q <= keys_q + 5'(key_in) - 5'(key_out);
  end
  assign keys_move_o = keys_q != '0;

endmodule
