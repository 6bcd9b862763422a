// Fetches what a request will need: acquires its two buckets, and when they are there, the lines
// of the item that their tags (or a SET still on its way) point to. Only prefetches: execute looks
// again. Latency 3 + buckets' fetch + 5, initiation interval 1; each bank of the log acquires a line
// a clock.
`include "lib_assert.svh"

module lookup
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
#(
  /// Requests between this module and execute.
  parameter int unsigned Waiting = 256,
  /// A SET so few requests before is waited for.
  parameter int unsigned Near = 16
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// log2 of the number of buckets.
  input  logic [4:0]        index_bits_i,
  /// What of the log is valid.
  input  log_range_t        range_i,
  /// Hashed requests. `store`: the request stores the item at off_i, of vlen_i bytes, which is there
  /// once the log has written as many as stamp_i says. `insert`: its key may need a way. `brief`:
  /// of the key's item nobody wants more than header and key.
  input  logic              s_valid_i,
  output logic              s_ready_o,
  input  logic [63:0]       hash_i,
  input  logic              lookup_i,
  input  logic              store_i,
  input  logic              insert_i,
  input  logic              brief_i,
  input  serial_t           stamp_i,
  input  serial_t           written_i,
  input  logic [7:0]        klen_i,
  input  logic [20:0]       vlen_i,
  input  off_t              off_i,
  /// Caches of the even and the odd buckets: acquire, respond, read.
  output logic [1:0]        bucket_acq_valid_o,
  input  logic [1:0]        bucket_acq_ready_i,
  output line_no_t [1:0]    bucket_acq_line_o,
  input  logic [1:0]        bucket_rsp_valid_i,
  output logic [1:0]        bucket_rsp_ready_o,
  input  index_slot_t [1:0] bucket_rsp_slot_i,
  output logic              bucket_rd_en_o,
  output index_slot_t [1:0] bucket_rd_slot_o,
  input  line_t [1:0]       bucket_rd_data_i,
  /// Hints for them, see line_cache.
  output logic [1:0]        hint_valid_o,
  input  logic [1:0]        hint_ready_i,
  output line_no_t [1:0]    hint_line_o,
  /// Banks of the log's cache: acquire. Execute takes the responses.
  output logic [1:0]        log_acq_valid_o,
  input  logic [1:0]        log_acq_ready_i,
  output line_no_t [1:0]    log_acq_line_o,
  /// Requests with what was found.
  output logic              m_valid_o,
  input  logic              m_ready_i,
  output found_t            m_found_o,
  /// Execute has none of them.
  input  logic              idle_i
);

  // ---------------------------------------------------------------- buckets
  look_t fetched;
  line_no_t mask;  // of a bucket's line in its bank
  logic wait_valid, wait_pop;
  logic [$clog2(Waiting+1)-1:0] unused_out;
  assign mask = line_mask(index_bits_i);

  lookup_buckets #(
    .Waiting(Waiting)
  ) u_buckets (
    .clk_i,
    .rst_ni,
    .mask_i     (mask),
    .s_valid_i,
    .s_ready_o,
    .s_look_i   ('{
          lookup: lookup_i,
          store: store_i,
          insert: insert_i,
          brief: brief_i,
          stamp: stamp_i,
          hash: hash_i,
          line: '0,
          klen: klen_i,
          vlen: vlen_i,
          off: off_i
      }),
    .acq_valid_o(bucket_acq_valid_o),
    .acq_ready_i(bucket_acq_ready_i),
    .acq_line_o (bucket_acq_line_o),
    .m_valid_o  (wait_valid),
    .m_ready_i  (wait_pop),
    .m_look_o   (fetched)
  );

  // ---------------------------------------------------------------- read: buckets are there
  logic read_valid_q, read_go;
  look_t read_q;
  index_slot_t [1:0] read_slot_q;
  logic buckets_there, read_room;

  assign buckets_there      = !fetched.lookup || (&bucket_rsp_valid_i);
  assign read_room          = !read_valid_q || read_go;
  assign wait_pop           = wait_valid && buckets_there && read_room;
  assign bucket_rsp_ready_o = {2{wait_pop && fetched.lookup}};
  assign bucket_rd_en_o     = wait_pop && fetched.lookup;
  assign bucket_rd_slot_o   = bucket_rsp_slot_i;

  // A SET on its way to execute says where its key's item will be: the last SET of each hash. Numbers of
  // requests are so long that one that left long ago seldom looks like one on its way.
  typedef logic [15:0] number_t;
  typedef struct packed {
    number_t     number;
    serial_t     stamp;
    logic [16:0] tag;
    off_t        off;
    logic [15:0] lines;
  } recent_t;

  recent_t recent;
  number_t entered_q, since_q, read_number_q;
  logic m_pop;
  assign m_pop = m_valid_o && m_ready_i;

  lib_ram #(
    .Width($bits(recent_t)),
    .Depth(512)
  ) u_recent (
    .clk_i,
    .we_i   (wait_pop && fetched.lookup && fetched.store),
    .waddr_i(fetched.hash[35:27]),
    .wbe_i  (1'b1),
    .wdata_i({entered_q, fetched.stamp, fetched.hash[52:36], fetched.off,
              lines_of(fetched.off.pos[1:0], 22'd16 + 22'(fetched.klen) + 22'(fetched.vlen))}),
    .re_i   (wait_pop && fetched.lookup),
    .raddr_i(fetched.hash[35:27]),
    .rdata_o(recent)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      entered_q    <= '0;
      since_q      <= -16'd16;
    end else begin
      if (wait_pop) begin
        read_valid_q <= 1'b1;
        entered_q    <= entered_q + 1'b1;
      end else if (read_go) begin
        read_valid_q <= 1'b0;
      end
      if (m_pop) since_q <= since_q + 1'b1;
    end
    // Whether its buckets are there is known too late for so much.
    if (read_room) begin
      read_q        <= fetched;
      read_slot_q   <= bucket_rsp_slot_i;
      read_number_q <= entered_q;
    end
  end

  // ---------------------------------------------------------------- here: out of the RAMs, where they come late
  typedef struct packed {
    look_t             req;      // `recent` has taken note of the item stored
    index_slot_t [1:0] slot;
    number_t           number;
    bucket_t [1:0]     buckets;  // in which epoch execute asks
    recent_t           recent;
  } here_t;

  here_t here;
  logic here_room, here_valid, here_go;
  assign read_go = read_valid_q && here_room;

  lib_half_buffer #(
    .T(here_t)
  ) u_here (
    .clk_i,
    .rst_ni,
    .s_valid_i(read_valid_q),
    .s_ready_o(here_room),
    .s_data_i ('{req: read_q, slot: read_slot_q, number: read_number_q,
                 buckets: bucket_rd_data_i, recent: recent}),
    .m_valid_o(here_valid),
    .m_ready_i(here_go),
    .m_data_o (here)
  );

  // ---------------------------------------------------------------- match: tags
  // What is acquired of an item: lines up to PrefetchLines, or that it has more.
  typedef logic [2:0] up_to_t;
  localparam up_to_t More = '1;
  typedef struct packed {
    off_t   off;
    up_to_t lines;
  } item_at_t;

  typedef struct packed {
    look_t             req;    // of which the item stored and the key are in what follows
    index_slot_t [1:0] slot;
    logic [3:0][2:0]   key;    // lines of header and key, by the unit in which they begin
    // The last SET of the hash is on its way, may be before its write; where its item will be.
    logic              recent;
    logic              close;
    serial_t           stamp;
    item_at_t          recent_at;
    logic              recent_there;
    // Of four ways each the first with the tag; which four; none.
    item_at_t [3:0]    of_four;
    logic [1:0]        four;
    logic              none;
    // It stores a new key, and neither bucket has room: tags in them.
    logic                           full;
    logic [1:0][AheadWays-1:0][13:0] tags;
  } match_t;

  match_t matching;
  match_t match;
  logic match_valid, match_go;

  // Of several ways with the tag (rare) the first; execute sorts it out. All together would be a place
  // that is nobody's, and perhaps not in the log.
  // Without a carry chain.
  function automatic up_to_t up_to(input logic [15:0] lines);
    up_to = More;
    for (int n = 0; n <= int'(PrefetchLines); n++) if (lines == 16'(n)) up_to = up_to_t'(n);
  endfunction
  /// The number of the first of four that is set, or of the last one: whether that is is not asked.
  function automatic logic [1:0] first_of(input logic [2:0] those);
    return {those[1:0] == '0, those[0] ? 1'b0 : those[1] || !those[2]};
  endfunction

  logic [15:0] alike, held;  // ways with the tag; ways that hold something
  way_t [3:0][3:0] ways;  // their tags are known
  way_t [3:0] of_four;  // the first one of each four
  logic [3:0] any;
  always_comb begin
    for (int w = 0; w < 16; w++) begin
      ways[w/4][w%4] = here.buckets[w/8].ways[w%8];
      // Or the log's tail has just passed it: this is for hints only.
      held[w] = ways[w/4][w%4].off.lap == range_i.lap[7:0] ||
          (!range_i.tail_lap && ways[w/4][w%4].off.lap == range_i.last_lap[7:0] &&
           ways[w/4][w%4].off.pos[27:22] >= range_i.tail[27:22]);
      if (w % 8 < int'(AheadWays)) matching.tags[w/8][w%8] = here.buckets[w/8].ways[w%8].tag;
      alike[w] = ways[w/4][w%4].tag == here.req.hash[63:50] && ways[w/4][w%4].off.lap != '0;
    end
    for (int f = 0; f < 4; f++) begin
      any[f]     = alike[4*f+:4] != '0;
      of_four[f] = ways[f][first_of(alike[4*f+:3])];
    end
  end
  // Those that left a moment ago may be before their write still.
  number_t between;  // requests since then
  assign between = here.number + ~here.recent.number;
  // From since_q to before this request, in whichever order the two stand.
  logic not_left, earlier;
  assign not_left = here.recent.number >= since_q;
  assign earlier  = here.recent.number < here.number;

  always_comb begin
    matching.req    = here.req;
    matching.slot   = here.slot;
    matching.recent = here.recent.tag == here.req.hash[52:36] &&
        ((since_q <= here.number) ? not_left && earlier : not_left || earlier);
    matching.close   = here.req.lookup && matching.recent && between < number_t'(Near - 1);
    matching.stamp  = here.recent.stamp;
    matching.recent_at    = '{off: here.recent.off, lines: up_to(here.recent.lines)};
    matching.recent_there = off_valid(here.recent.off, range_i);
    for (int u = 0; u < 4; u++) matching.key[u] = key_lines(2'(u), 9'(here.req.klen));
    for (int f = 0; f < 4; f++)
    matching.of_four[f] = '{off: of_four[f].off, lines: up_to(16'(of_four[f].lines))};
    matching.four   = first_of(any[2:0]);
    matching.none   = any == '0;
    matching.full   = here.req.lookup && here.req.insert && !matching.recent && any == '0 &&
        held == '1;
  end

  lib_half_buffer #(
    .T(match_t)
  ) u_match (
    .clk_i,
    .rst_ni,
    .s_valid_i(here_valid),
    .s_ready_o(here_go),
    .s_data_i (matching),
    .m_valid_o(match_valid),
    .m_ready_i(match_go),
    .m_data_o (match)
  );

  // Which of the fours, a clock later.
  item_at_t way_at, matched;
  assign way_at  = match.of_four[match.four];
  assign matched = match.recent ? match.recent_at : way_at;

  // ---------------------------------------------------------------- acquire the item's lines
  // An item of few lines is fetched whole, else, or if nobody wants more, what holds header and key. The banks go on by
  // themselves: where one has more to do, or is used by others, the requests behind go ahead in the other one.
  found_t get;
  logic there, written, ahead, leaves, out_room;
  logic [1:0] run_room;
  log_rel_t counts;

  // A line that is not yet in the log would be read from memory for nothing, and the appender would wait
  // for that, if it comes there so soon: with one key for all, each item for the one before. One
  // that left long ago and looks like it is waited for until all have left.
  assign written   = !match.close || reached(written_i, match.stamp) || (idle_i && !m_valid_o);
  assign there     = match.req.lookup && matched.lines != '0 &&
      (match.recent ? match.recent_there : !match.none && off_valid(way_at.off, range_i));

  always_comb begin
    get = '{
        lookup: match.req.lookup,
        hash: match.req.hash,
        line: match.req.line,
        slot: match.slot,
        cand: there,
        off: matched.off,
        default: '0
    };
    if (there) begin
      get.whole = matched.lines != More && !match.req.brief;
      get.count = get.whole ? matched.lines : match.key[matched.off.pos[1:0]];
    end
  end
  assign counts   = in_banks(get.count, matched.off.pos[2]);
  assign leaves   = match_valid && written && (&run_room) && (!match.full || ahead);
  assign match_go = leaves && out_room;

  lookup_ahead u_ahead (
    .clk_i,
    .rst_ni,
    .mask_i (mask),
    .valid_i(match_valid && match.full),
    .done_o (ahead),
    .go_i   (match_go),
    .line_i (match.req.line),
    .tags_i (match.tags),
    .hint_valid_o,
    .hint_ready_i,
    .hint_line_o
  );

  for (genvar b = 0; b < 2; b++) begin : gen_bank
    lookup_run u_run (
      .clk_i,
      .rst_ni,
      .s_valid_i  (match_go && counts[b] != '0),
      .s_ready_o  (run_room[b]),
      // The even line may be the one behind the odd line.
      .line_i     ((matched.off.pos[27:2] + line_no_t'(b == 0)) >> 1),
      .count_i    (counts[b][1:0]),
      .acq_valid_o(log_acq_valid_o[b]),
      .acq_ready_i(log_acq_ready_i[b]),
      .acq_line_o (log_acq_line_o[b])
    );
  end
  if (PrefetchLines > 6) begin : gen_bad_lines
    $error("%m: More is a number of lines, and a bank has at most three of an item");
  end

  lib_fifo #(
    .T    (found_t),
    .Depth(Waiting)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(leaves),
    .s_ready_o(out_room),
    .s_data_i (get),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (m_found_o),
    .level_o  (unused_out)
  );

endmodule
