// Records to pieces of text: what was left to say, fixed text, key, numbers, a short value and what
// ends it stand in one. Longer keys and values, and the host's bytes, follow as they come. Latency 3
// from a record to its text, initiation interval 1 a piece.
//
// Lanes of a piece: up to OwnAt what was left to say, from there on fixed text, from KeyAt on the
// key. Numbers, short value and ending make a block that meets at lane Joint; it is turned to the
// key's end.
`include "lib_assert.svh"

module compose
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import reply_pkg::*;
  import lib_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  /// Records with their numbers, of length 0 where a record has none.
  input  logic     rec_valid_i,
  output logic     rec_ready_o,
  input  rec_t     rec_i,
  input  lens_t    lens_i,
  input  numbers_t numbers_i,
  /// The same of a record that joins, which is never one with a header in their place.
  input  logic [NumberLanes-1:0][7:0] join_text_i,
  input  logic [5:0] join_len_i,
  /// Lines of keys, turned so that the first byte stands at lane KeyAt.
  input  logic     key_valid_i,
  output logic     key_ready_o,
  input  line_t    key_i,
  /// Bytes of values, up to 16 of them at lane 0.
  input  logic     chunk_valid_i,
  output logic     chunk_ready_o,
  input  chunk_t   chunk_i,
  /// Bytes of the host's answers: full lines but for a piece's last.
  input  logic     hline_valid_i,
  output logic     hline_ready_o,
  input  line_t    hline_i,
  /// Lines of meta commands' replies, likewise; all of a record's are here before it is.
  // verilator lint_off UNUSEDSIGNAL
  input  logic     mline_valid_i,  // only the assertion looks at it
  // verilator lint_on UNUSEDSIGNAL
  output logic     mline_ready_o,
  input  line_t    mline_i,
  /// Text.
  output logic     text_valid_o,
  input  logic     text_ready_i,
  output text_t    text_o,
  /// A record waits for bytes of its value.
  output logic     wait_chunk_o
);

  localparam int unsigned Joint = 41;  // numbers before it, a value from here on

  typedef enum logic [2:0] {
    StHead,   // what was left to say, fixed text, key and block, as far as they fit
    StOwn,    // second half of a long fixed text
    StKey,    // a long key
    StBlock,  // numbers, short value and ending that did not fit
    StValue,
    StEnding,
    StHost,
    StDone
  } step_e;

  // ---------------------------------------------------------------- load: what the pick must know
  typedef struct packed {
    rec_t        rec;
    logic [NumberLanes-1:0][7:0] numbers;
    step_e       behind;      // StHead
    logic        head_key;    // StHead has the key
    logic        head_inner;  // and the value
    logic        long_value;
    logic [5:0]  start;       // of StHead
    logic [6:0]  len;
    logic [6:0]  edge_at;     // lane from which on the block is
    logic [5:0]  turn;
    logic [5:0]  block_start;
    logic [6:0]  block_len;
    logic [2:0]  ending_len;
    logic [5:0]  own_rest;    // bytes of the second half
    logic [21:0] size;        // of the whole reply
  } work_t;

  work_t work_in, work_q;
  step_e first;
  logic work_valid_q, load, done;
  assign rec_ready_o = !work_valid_q || done;
  assign load        = rec_valid_i && rec_ready_o;

  // The last bytes of a value take what the next record begins with along.
  logic join_head;

  logic [6:0] block_len;
  logic [5:0] numbers_len;
  logic joined;
  always_comb begin
    numbers_len = numbers_i.len;
    block_len   = 7'(numbers_len) + 7'(lens_i.behind_len);
    joined      = lens_i.fits && 7'(numbers_len) <= lens_i.room;

    work_in             = '0;
    work_in.rec         = rec_i;
    work_in.numbers     = numbers_i.text;
    work_in.head_key    = rec_i.klen != '0 && lens_i.key_fits;
    work_in.head_inner  = rec_i.inner && joined;
    work_in.long_value  = rec_i.value && !rec_i.inner;
    work_in.start       = 6'(OwnAt) - 6'(AheadLength[rec_i.ahead]);
    work_in.len         = joined ? lens_i.joined_len + 7'(numbers_len) : lens_i.len;
    work_in.edge_at     = joined ? lens_i.key_end : 7'd64;
    work_in.block_start = 6'(Joint) - numbers_len;
    work_in.turn        = 6'(lens_i.key_end) - 6'(Joint) + numbers_len;
    work_in.block_len   = block_len;
    work_in.ending_len  = ending_length(rec_i.ending);
    work_in.own_rest    = lens_i.own_rest;
    // In front of a meta command's line there are none.
    work_in.size        = lens_i.size + 22'(rec_i.meta ? rec_i.host_len : piece_t'(numbers_len));

    if (lens_i.own_rest != '0) work_in.behind = StOwn;
    else if (!lens_i.key_fits) work_in.behind = StKey;
    else if (!joined) work_in.behind = StBlock;
    else if (rec_i.host) work_in.behind = StHost;
    else if (work_in.long_value) work_in.behind = StValue;
    else work_in.behind = StDone;
    first = StHead;
    if (join_head) begin
      first = StValue;
    end else if (rec_i.ahead == '0 && rec_i.own == FxNone && !rec_i.numbers) begin
      if (rec_i.host) first = StHost;
      else if (rec_i.value) first = StValue;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) work_valid_q <= 1'b0;
    else if (load) work_valid_q <= 1'b1;
    else if (done) work_valid_q <= 1'b0;
    if (rec_ready_o) work_q <= work_in;
  end

  // ---------------------------------------------------------------- pick: the next piece
  typedef enum logic [1:0] {
    SrcFixed,
    SrcKey,
    SrcChunk,
    SrcHost
  } src_e;

  step_e step_q, step_d;
  logic begun_q;  // a piece of the record is out
  logic own_q;    // StOwn: many look at it
  logic pick_valid, pick_ready, pick, need_key, need_chunk, need_host;
  src_e src_low, src_high;
  logic [5:0] start;
  logic [6:0] len;
  logic [7:0] key_left_q;
  piece_t host_left_q;
  logic [6:0] joined_len;  // of the last bytes of a value with a head behind them
  assign joined_len = chunk_i.len + 7'(join_len_i);

  always_comb begin
    need_key   = 1'b0;
    need_chunk = 1'b0;
    need_host  = 1'b0;
    src_low    = SrcFixed;
    src_high   = SrcFixed;
    start      = work_q.start;
    len        = work_q.len;
    step_d     = StDone;
    unique case (step_q)
      StOwn: begin
        start = 6'(OwnAt);
        len   = 7'(work_q.own_rest);
      end
      StKey: begin
        need_key = 1'b1;
        src_low  = SrcKey;
        src_high = SrcKey;
        start    = 6'(KeyAt);
        len      = (key_left_q > 8'd64) ? 7'd64 : key_left_q[6:0];
        step_d   = StBlock;
        if (key_left_q > 8'd64) step_d = StKey;
        else if (work_q.rec.binary) step_d = work_q.long_value ? StValue : StDone;
      end
      StBlock: begin
        need_chunk = work_q.rec.inner;
        start      = work_q.block_start;
        len        = work_q.block_len;
        if (work_q.long_value) step_d = StValue;
      end
      StValue: begin
        need_chunk = 1'b1;
        src_low    = SrcChunk;
        src_high   = SrcChunk;
        start      = chunk_i.start;
        len        = join_head ? joined_len : chunk_i.len;
        if (!chunk_i.last) step_d = StValue;
        else if (work_q.rec.ending != EnNone) step_d = StEnding;
      end
      StEnding: begin
        start = 6'(OwnAt) - 6'(work_q.ending_len);
        len   = 7'(work_q.ending_len);
      end
      StHost: begin
        need_host = work_q.rec.host_len != '0;
        src_low   = SrcHost;
        src_high  = SrcHost;
        start     = '0;
        len       = (host_left_q > piece_t'(64)) ? 7'd64 : host_left_q[6:0];
        if (host_left_q > piece_t'(64)) step_d = StHost;
        else if (work_q.long_value) step_d = StValue;
      end
      default: begin  // StHead
        need_key   = work_q.head_key;
        need_chunk = work_q.head_inner;
        if (work_q.head_key) src_high = SrcKey;
        step_d = work_q.behind;
      end
    endcase
  end

  assign join_head     = work_valid_q && step_q == StValue && chunk_i.last &&
      work_q.rec.ending == EnNone && rec_valid_i && rec_i.joins && joined_len <= 7'd64;

  assign pick_valid    = work_valid_q && (!need_key || key_valid_i) &&
      (!need_chunk || chunk_valid_i) && (!need_host || work_q.rec.meta || hline_valid_i);
  assign pick          = pick_valid && pick_ready;
  assign done          = pick && step_d == StDone;
  assign key_ready_o   = pick && need_key;
  assign chunk_ready_o = pick && need_chunk;
  assign hline_ready_o = pick && need_host && !work_q.rec.meta;
  assign wait_chunk_o  = work_valid_q && pick_ready && need_chunk && !chunk_valid_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (pick) begin
      begun_q <= step_d != StDone;
    end
    if (rec_ready_o) step_q <= first;
    else if (pick) step_q <= step_d;
    if (rec_ready_o) own_q <= 1'b0;
    else if (pick) own_q <= step_q == StHead && work_q.behind == StOwn;
    if (rec_ready_o) key_left_q <= rec_i.klen;
    else if (pick && step_q == StKey) key_left_q <= key_left_q - 8'd64;
    if (rec_ready_o) host_left_q <= rec_i.host_len;
    else if (pick && step_q == StHost) host_left_q <= host_left_q - piece_t'(64);
  end

  // ---------------------------------------------------------------- its bytes, and the block
  logic [OwnAt-1:0][7:0] ahead_q, ahead;
  logic [OwnRoom-1:0][7:0] own;
  line_t fixed;
  // A table and its register: synthesis takes two block RAMs for it.
  always_ff @(posedge clk_i) if (rec_ready_o) ahead_q <= Ahead[rec_i.ahead];
  always_comb begin
    ahead = ahead_q;
    // The shorter ending is also the longer one's end.
    if (step_q == StEnding) ahead[OwnAt-1-:EndingMax] = EndingText;
  end
  assign own   = Own[{own_q, work_q.rec.own}];
  assign fixed = {own, ahead};

  function automatic line_t source(input src_e src, input line_t constant, input line_t key,
                                   input line_t chunk, input line_t host);
    unique case (src)
      SrcFixed: return constant;
      SrcKey:   return key;
      SrcChunk: return chunk;
      default:  return host;
    endcase
  endfunction

  // The value's lanes, and those of what ends it; the shorter ending is the longer one's beginning.
  logic [InnerMax+EndingMax-1:0][7:0] behind;
  logic [63:0][7:0] block;
  logic [NumberLanes-1:0][7:0] block_numbers;
  always_comb begin
    for (int unsigned p = 0; p < InnerMax + EndingMax; p++) begin
      behind[p] = '0;
      for (int unsigned e = 0; e < EndingMax; e++)
      if (p >= e && work_q.rec.inner_len == 5'(p - e) && 3'(e) < work_q.ending_len)
        behind[p] = EndingText[e];
      if (p < InnerMax && 5'(p) < work_q.rec.inner_len) behind[p] = chunk_i.data[8*p+:8];
    end
    // The first of the numbers' lanes is used only where there is no value in the block.
    block_numbers = (step_q == StValue) ? join_text_i : work_q.numbers;
    block = {behind, block_numbers[NumberLanes-1:1]};
    block[63] = behind[InnerMax+EndingMax-1] | block_numbers[0];
  end

  // verilator lint_off UNUSEDSIGNAL
  line_t low, high;  // a part of each
  // verilator lint_on UNUSEDSIGNAL
  assign low   = source(src_low, fixed, key_i, chunk_i.data, hline_i);
  assign high  = source(src_high, fixed, key_i, chunk_i.data, hline_i);

  logic pick_valid_q, meta_q;  // a line of a meta command stands in the place of the text
  line_t block_q;
  // Its lanes: from the edge on, and in front of the piece's first one, or those that are both.
  logic [5:0] turn_q;
  logic [6:0] edge_at, edge_q;
  logic [5:0] start_q;
  assign edge_at = join_head ? 7'(chunk_i.start) + chunk_i.len :
      (step_q == StHead) ? work_q.edge_at : (step_q == StBlock) ? '0 : 7'd64;
  text_t text_q, text_in;
  logic text_room;
  assign pick_ready = !pick_valid_q || text_room;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) pick_valid_q <= 1'b0;
    else if (pick_ready) pick_valid_q <= pick_valid;
    if (pick_ready) meta_q <= need_host && work_q.rec.meta;
    // Whether there is a piece is known too late for so much.
    if (pick_ready) begin
      text_q.data           <= {high[511:8*KeyAt], low[8*KeyAt-1:0]};
      turn_q                <= (step_q == StHead) ? work_q.turn : (step_q == StBlock) ? '0 :
          chunk_i.start + 6'(chunk_i.len) - 6'(Joint) + join_len_i;
      edge_q                <= edge_at;
      start_q               <= join_head ? chunk_i.start : '0;
      text_q.start          <= start;
      text_q.len            <= len;
      text_q.last           <= work_q.rec.last && step_d == StDone;
      text_q.reply_last     <= !work_q.rec.silent && step_d == StDone;
      text_q.bad            <= need_chunk && chunk_i.bad;
      text_q.sized          <= !begun_q && work_q.long_value;
      text_q.size           <= work_q.size;
      block_q               <= block;
    end
  end

  strb_t before_edge, before_start, turned_lanes;
  line_t turned;
  lib_lanes u_edge (
    .n_i    ({1'b0, edge_q[5:0]}),
    .below_o(before_edge)
  );
  lib_lanes u_start (
    .n_i    ({1'b0, start_q}),
    .below_o(before_start)
  );
  assign turned_lanes = edge_q[6] ? ~before_edge & before_start : ~before_edge | before_start;
  lib_rotate u_rotate (
    .data_i (block_q),
    .lanes_i(turn_q),
    .data_o (turned)
  );
  always_comb begin
    text_in = text_q;
    text_in.data = merge_lanes(turned_lanes, turned, meta_q ? mline_i : text_q.data);
  end
  assign mline_ready_o = pick_valid_q && text_room && meta_q;

  // Distributed RAM instead of two registers.
  logic [2:0] unused_level;
  lib_fifo #(
    .T    (text_t),
    .Depth(4)
  ) u_text (
    .clk_i,
    .rst_ni,
    .s_valid_i(pick_valid_q),
    .s_ready_o(text_room),
    .s_data_i (text_in),
    .m_valid_o(text_valid_o),
    .m_ready_i(text_ready_i),
    .m_data_o (text_o),
    .level_o  (unused_level)
  );

  `ASSERT(LineInTime, !(pick_valid_q && meta_q) || mline_valid_i)
  `ASSERT(OwnStep, !work_valid_q || own_q == (step_q == StOwn))
  `ASSERT(InnerAlone, !chunk_ready_o || step_q == StValue || chunk_i.last)
  `ASSERT(InnerLen, !chunk_ready_o || step_q == StValue || chunk_i.len == 7'(work_q.rec.inner_len))
  `ASSERT(KeyBehindValue, !load || rec_i.klen == '0 || rec_i.own == FxValue || rec_i.binary)

endmodule
