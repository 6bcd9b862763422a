// Lays items out in lines of the log: the value behind header and key, of a further part the bytes alone, of a gap its
// mark.
// Initiation interval 1 a line.
`include "lib_assert.svh"

module log_packer
  import wirekv_pkg::*;
  import lib_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Items and parts with their places.
  input  logic       piece_valid_i,
  output logic       piece_ready_o,
  input  log_piece_t piece_i,
  /// The keys of those that start, and the bytes of values: of requests ...
  input  logic       putk_valid_i,
  output logic       putk_ready_o,
  input  beat_t      putk_i,  // its length is in the item
  input  logic       putb_valid_i,
  output logic       putb_ready_o,
  input  beat_t      putb_i,
  /// ... and of execute. A beat's first byte is in lane ownb_start_i, lane 0 behind lane 63, and beats but
  /// the last may be shorter than 64, too. The header of a bad value says that nothing is found; its first beat tells.
  input  logic       ownk_valid_i,
  output logic       ownk_ready_o,
  input  beat_t      ownk_i,
  input  logic       ownb_valid_i,
  output logic       ownb_ready_o,
  input  beat_t      ownb_i,
  input  logic [5:0] ownb_start_i,
  input  logic       ownb_bad_i,
  /// Lines.
  output logic       m_valid_o,
  input  logic       m_ready_i,
  output log_line_t  m_o,
  /// Pulse: a line of an item that comes in parts was laid.
  output logic       part_o,
  /// Nothing waits here.
  output logic       idle_o
);

  // ---------------------------------------------------------------- values to lines
  // Chunks wait before the join, in UltraRAM; so its lines need no register before header and key are laid
  // over them, and who gives bytes does not wait for who takes lines.
  typedef struct packed {
    beat_t      beat;
    logic       first;
    logic [5:0] start;
    logic [5:0] lane;
  } chunk_in_t;

  logic in_valid, join_valid, join_ready, beat_go, begun_q, chunk_valid, chunk_ready;
  beat_t in;
  chunk_in_t chunk;
  logic [4:0] unused_chunks;
  line_t join_line;
  strb_t join_strb;
  logic join_last, join_out, join_out_ready, where_room, where_valid_q;
  logic [5:0] value_lane;

  // A mark has a value of no bytes.
  assign in_valid   = piece_i.mark || (piece_i.own ? ownb_valid_i : putb_valid_i);
  assign in         = piece_i.mark ? '{last: 1'b1, default: '0} : piece_i.own ? ownb_i : putb_i;
  assign join_valid = piece_valid_i && where_room && !piece_i.drop && in_valid;
  assign beat_go    = piece_valid_i && where_room && in_valid && (piece_i.drop || join_ready);
  assign piece_ready_o   = beat_go && in.last;
  assign putb_ready_o = beat_go && !piece_i.mark && !piece_i.own;
  assign ownb_ready_o = beat_go && !piece_i.mark && piece_i.own;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begun_q <= 1'b0;
    else if (beat_go) begun_q <= !in.last;
  end

  lib_fifo #(
    .T    (chunk_in_t),
    .Depth(16),
    .Ultra(1'b1)
  ) u_chunks (
    .clk_i,
    .rst_ni,
    .s_valid_i(join_valid),
    .s_ready_o(join_ready),
    .s_data_i ('{beat: in, first: !begun_q, start: piece_i.own ? ownb_start_i : '0,
                 lane: value_lane}),
    .m_valid_o(chunk_valid),
    .m_ready_i(chunk_ready),
    .m_data_o (chunk),
    .level_o  (unused_chunks)
  );

  lib_join #(
    .Register(1'b0)
  ) u_join (
    .clk_i,
    .rst_ni,
    .s_valid_i (chunk_valid),
    .s_ready_o (chunk_ready),
    .s_data_i  (chunk.beat.data),
    .s_start_i (chunk.start),
    .s_len_i   (chunk.beat.len),
    .s_first_i (chunk.first),
    .s_offset_i(chunk.lane),
    .s_last_i  (chunk.beat.last),
    .m_valid_o (join_out),
    .m_ready_i (join_out_ready),
    .m_data_o  (join_line),
    .m_strb_o  (join_strb),
    .m_last_o  (join_last)
  );

  // The pieces whose value has begun, beside the join: what their lines need of them, and where the
  // key ends, counted from the beginning of the first line.
  typedef struct packed {
    logic       drop;
    logic       mark;
    logic       own;
    logic       start;
    logic       parts;
    head_t      head;
    logic [63:0] chosen_no;
    line_no_t   line;
    logic [1:0] unit;        // of the first byte in its line
    logic [2:0] key_beats;
    logic [2:0] head_lines;  // lines before the value
    logic [5:0] head_lane;   // where it begins
  } where_t;

  where_t where_in, where_next, where_q;
  logic where_pop, next_valid, next_pop;
  logic [4:0] level_where;
  always_comb begin
    where_in.drop      = piece_i.drop;
    where_in.mark      = piece_i.mark;
    where_in.own       = piece_i.own;
    where_in.start     = piece_i.start;
    where_in.parts     = piece_i.parts;
    where_in.head      = piece_i.head;
    if (piece_i.own && ownb_bad_i) where_in.head.lap = '0;
    where_in.chosen_no = piece_i.chosen_no;
    where_in.line      = piece_i.line;
    where_in.unit      = piece_i.lane[5:4];
    where_in.key_beats = piece_i.start ? 3'((9'(piece_i.head.klen) + 9'd63) >> 6) : '0;
    {where_in.head_lines, where_in.head_lane} =
        9'({piece_i.lane[5:4], 4'h0}) + 9'd16 + 9'(piece_i.head.klen);
  end
  // It goes on behind header and key.
  assign value_lane = piece_i.start ? where_in.head_lane : piece_i.lane;

  lib_fifo #(
    .T    (where_t),
    .Depth(16)
  ) u_where (
    .clk_i,
    .rst_ni,
    .s_valid_i(beat_go && !begun_q),
    .s_ready_o(where_room),
    .s_data_i (where_in),
    .m_valid_o(next_valid),
    .m_ready_i(next_pop),
    .m_data_o (where_next),
    .level_o  (level_where)
  );

  // ---------------------------------------------------------------- header and key in front
  // Line n of an item has the end of the key's beat n - 1 and the beginning of beat n. Where the
  // key ends within a line, the value's first line is laid over it.
  logic [2:0] number_q, number_d;  // lines so far
  logic in_head_q, key_beat_q, key_more, key_valid, line_valid, line_go, line_last;
  line_t key, prior, prior_q, head_line;
  strb_t head_strb;

  assign key        = where_q.own ? ownk_i.data : putk_i.data;
  assign key_valid  = where_q.own ? ownk_valid_i : putk_valid_i;

  // Of an item that is dropped only the key is taken. What a line has is known before its turn: all stages of
  // the join wait for it.
  assign number_d   = (number_q <= where_q.head_lines || where_q.drop) ? number_q + 3'd1 : number_q;
  assign key_more   = number_d < where_q.key_beats;
  assign line_valid = where_valid_q && (!key_beat_q || key_valid) &&
      (where_q.drop || in_head_q || join_out);
  assign line_go    = line_valid && (where_q.drop || m_ready_i);
  assign line_last  = where_q.drop ? !key_more : !in_head_q && join_last;
  assign where_pop  = line_go && line_last;
  assign next_pop   = !where_valid_q || where_pop;
  assign putk_ready_o   = line_go && key_beat_q && !where_q.own;
  assign ownk_ready_o   = line_go && key_beat_q && where_q.own;
  assign join_out_ready = line_go && !where_q.drop && !in_head_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) where_valid_q <= 1'b0;
    else if (next_pop) where_valid_q <= next_valid;
    if (next_pop) begin
      where_q    <= where_next;
      in_head_q  <= where_next.start && where_next.head_lines != '0;
      key_beat_q <= where_next.key_beats != '0;
      number_q   <= '0;
    end else if (line_go) begin
      in_head_q  <= where_q.start && number_d < where_q.head_lines;
      key_beat_q <= key_more;
      number_q   <= number_d;
    end
  end

  // The header stands where a beat before the key would end, a chosen CAS unique in front of it. What is in front of
  // that is not laid.
  head_t chosen;
  always_comb begin
    chosen         = '{vlen: 21'(MarkChosen), default: '0};
    chosen[127:64] = where_q.chosen_no;
  end
  assign prior = {(number_q == '0) ? {where_q.head, chosen} : prior_q[511:256], prior_q[255:0]};
  always_comb begin
    unique case (where_q.unit)
      2'd0: head_line = {key[383:0], prior[511:384]};
      2'd1: head_line = {key[255:0], prior[511:256]};
      2'd2: head_line = {key[127:0], prior[511:128]};
      2'd3: head_line = prior;
    endcase
    // From the item's first byte to the key's last.
    head_strb = '1;
    if (number_q == '0) head_strb = {64{1'b1}} << {where_q.unit - 2'(where_q.head.chosen), 4'h0};
    if (number_q == where_q.head_lines) head_strb &= ~({64{1'b1}} << where_q.head_lane);
    if (!where_q.start || number_q > where_q.head_lines) head_strb = '0;
    m_o.strb = head_strb | (in_head_q ? '0 : join_strb);
    m_o.data = merge_lanes(head_strb, head_line, join_line);
  end

  always_ff @(posedge clk_i) begin
    if (line_go && key_beat_q) prior_q <= key;
    part_o <= line_go && !where_q.drop && where_q.parts;
  end

  logic within_q;
  line_no_t line_q;
  assign m_valid_o = line_valid && !where_q.drop;
  assign m_o.line  = within_q ? line_q : where_q.line;
  assign m_o.last  = line_last && !where_q.mark;
  assign idle_o    = !where_valid_q && level_where == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) within_q <= 1'b0;
    else if (line_go && !where_q.drop) within_q <= !line_last;
    if (line_go) line_q <= m_o.line + 1'b1;
  end

endmodule
