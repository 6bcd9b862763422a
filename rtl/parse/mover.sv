// Moves item data from the lines that are kept to the store, key first, 64 bytes a beat; and lines,
// as they are, to the scanner. Latency 3, one beat a clock.
`include "lib_assert.svh"

module mover
  import wirekv_pkg::*;
  import front_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  /// Item: its value lies at `value_i`, all of it has come.
  input  logic     item_valid_i,
  output logic     item_ready_o,
  input  place_t   item_value_i,
  input  logic [10:0] item_vlen_i,
  input  logic [6:0]  item_klen_i,
  input  line_t    item_key_i,
  /// From this line to the job's end; only when idle. Pulse.
  input  logic     feed_valid_i,
  input  line_no_t feed_line_i,
  /// First line that has not come; end of the line that is asked for.
  input  line_no_t coming_i,
  output logic [KeptW-1:0] end_line_o,
  input  logic [6:0] end_stop_i,
  input  logic     end_last_i,
  /// Lines: 64 bytes from a place, a clock later.
  output place_t   place_o,
  input  line_t    data_i,
  /// Item data; there must be room for 4 more beats when `item_room_i`.
  input  logic     item_room_i,
  output logic     item_beat_valid_o,
  /// Lines for the scanner; likewise.
  input  logic     feed_room_i,
  output logic     feed_beat_valid_o,
  output beat_t    beat_o,
  /// Lines from this one on are needed, or were fed last.
  output logic     holds_o,
  output line_no_t line_o,
  /// Something is on its way.
  output logic     busy_o
);

  typedef struct packed {
    place_t      value;
    logic [10:0] vlen;
    logic [6:0]  klen;
    line_t       key;
  } item_t;

  item_t item, head;
  logic head_valid, head_pop;
  logic [4:0] unused_level;
  assign item = '{value: item_value_i, vlen: item_vlen_i, klen: item_klen_i, key: item_key_i};

  lib_fifo #(
    .T    (item_t),
    .Depth(16)
  ) u_items (
    .clk_i,
    .rst_ni,
    .s_valid_i(item_valid_i),
    .s_ready_o(item_ready_o),
    .s_data_i (item),
    .m_valid_o(head_valid),
    .m_ready_i(head_pop),
    .m_data_o (head),
    .level_o  (unused_level)
  );

  // ---------------------------------------------------------------- one beat after the other
  logic value_q, feed_q;  // the head's key is on its way; lines for the scanner
  place_t at_q;
  logic [10:0] left_q;
  logic go_key, go_value, go_feed, last;
  logic [6:0] len;

  assign go_key     = head_valid && !value_q && !feed_q && item_room_i;
  assign go_value   = value_q && item_room_i;
  assign go_feed    = feed_q && feed_room_i && coming_i != at_q.line;
  assign end_line_o = at_q.line[KeptW-1:0];
  assign place_o    = at_q;
  always_comb begin
    if (feed_q) begin
      last = end_last_i;
      len  = end_stop_i;
    end else if (value_q) begin
      last = left_q <= 11'd64;
      len  = last ? left_q[6:0] : 7'd64;
    end else begin
      last = 1'b0;
      len  = head.klen;
    end
  end
  assign head_pop = go_value && last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      value_q <= 1'b0;
      feed_q  <= 1'b0;
    end else begin
      if (go_key) value_q <= 1'b1;
      if (go_value && last) value_q <= 1'b0;
      if (feed_valid_i) feed_q <= 1'b1;
      if (go_feed && last) feed_q <= 1'b0;
    end
    if (go_key) begin
      at_q   <= head.value;
      left_q <= head.vlen;
    end
    if (feed_valid_i) at_q <= '{line: feed_line_i, lane: '0};
    if (go_value || go_feed) begin
      at_q.line <= at_q.line + 1'b1;
      left_q    <= left_q - 11'd64;
    end
  end

  // ---------------------------------------------------------------- beats
  logic item1_q, feed1_q, key1_q, last1_q;
  logic [6:0] len1_q;
  line_t key_data1_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      item1_q           <= 1'b0;
      feed1_q           <= 1'b0;
      item_beat_valid_o <= 1'b0;
      feed_beat_valid_o <= 1'b0;
    end else begin
      item1_q           <= go_key || go_value;
      feed1_q           <= go_feed;
      item_beat_valid_o <= item1_q;
      feed_beat_valid_o <= feed1_q;
    end
    if (go_key) key_data1_q <= head.key;
    if (go_key || go_value || go_feed) begin
      key1_q  <= go_key;
      last1_q <= last;
      len1_q  <= len;
    end
    if (item1_q || feed1_q) begin
      beat_o.data <= (key1_q ? key_data1_q : data_i) & ~({512{1'b1}} << {len1_q, 3'b000});
      beat_o.len  <= len1_q;
      beat_o.last <= last1_q;
    end
  end

  assign holds_o = head_valid || feed_q;
  assign busy_o  = holds_o || item1_q || feed1_q;
  assign line_o  = (head_valid && !value_q) ? head.value.line : at_q.line;

  `ASSERT(FeedAlone, !(feed_valid_i && (head_valid || value_q || feed_q)))

endmodule
