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
  /// once the log has written as many as stamp_i says.
  input  logic              s_valid_i,
  output logic              s_ready_o,
  input  logic [63:0]       hash_i,
  input  logic              lookup_i,
  input  logic              store_i,
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
  typedef struct packed {
    logic           lookup;
    logic           store;
    serial_t        stamp;
    logic [63:0]    hash;
    line_no_t [1:0] line;
    logic [7:0]     klen;
    logic [20:0]    vlen;
    off_t           off;
  } req1_t;

  req1_t hashed, fetched;
  logic [26:0] first;
  line_no_t mask, second;  // mask: of a bucket's line in its bank
  logic hashed_valid, hashed_ready, wait_room, wait_valid, wait_pop;
  logic [1:0] acquired_q;
  logic [$clog2(Waiting+1)-1:0] unused_wait, unused_out;

  assign mask   = line_mask(index_bits_i);
  assign first  = hash_i[26:0] & {mask, 1'b1};
  assign second = first[26:1] ^ (other_line(hash_i[63:50]) & mask);

  req1_t entering;
  assign entering = '{
          lookup: lookup_i,
          store: store_i,
          stamp: stamp_i,
          hash: hash_i,
          line: {first[0] ? first[26:1] : second, first[0] ? second : first[26:1]},
          klen: klen_i,
          vlen: vlen_i,
          off: off_i
      };

  lib_reg #(
    .T(req1_t)
  ) u_hashed (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i (entering),
    .m_valid_o(hashed_valid),
    .m_ready_i(hashed_ready),
    .m_data_o (hashed)
  );

  logic [1:0] acquired;
  assign acquired           = acquired_q | bucket_acq_ready_i | {2{!hashed.lookup}};
  assign bucket_acq_valid_o = {2{hashed_valid && hashed.lookup && wait_room}} & ~acquired_q;
  assign bucket_acq_line_o  = hashed.line;
  assign hashed_ready       = wait_room && (&acquired);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) acquired_q <= '0;
    else if (hashed_valid && hashed_ready) acquired_q <= '0;
    else if (hashed_valid && wait_room) acquired_q <= acquired_q | bucket_acq_ready_i;
  end

  lib_fifo #(
    .T    (req1_t),
    .Depth(Waiting)
  ) u_wait (
    .clk_i,
    .rst_ni,
    .s_valid_i(hashed_valid && (&acquired)),
    .s_ready_o(wait_room),
    .s_data_i (hashed),
    .m_valid_o(wait_valid),
    .m_ready_i(wait_pop),
    .m_data_o (fetched),
    .level_o  (unused_wait)
  );

  // ---------------------------------------------------------------- read: buckets are there
  logic read_valid_q, here_valid_q, match_valid_q, read_go, here_go, match_go;
  // verilator lint_off UNUSEDSIGNAL
  req1_t read_q, here_q;  // `recent` has taken note of the item stored
  // verilator lint_on UNUSEDSIGNAL
  index_slot_t [1:0] read_slot_q, here_slot_q;
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

  recent_t recent, recent_q;
  number_t entered_q, since_q, read_number_q, here_number_q;
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
  // verilator lint_off UNUSEDSIGNAL
  bucket_t [1:0] buckets_q;  // in which epoch execute asks
  // verilator lint_on UNUSEDSIGNAL
  assign read_go = read_valid_q && (!here_valid_q || here_go);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) here_valid_q <= 1'b0;
    else if (read_go) here_valid_q <= 1'b1;
    else if (here_go) here_valid_q <= 1'b0;
    if (read_go) begin
      here_q        <= read_q;
      here_slot_q   <= read_slot_q;
      here_number_q <= read_number_q;
      buckets_q     <= bucket_rd_data_i;
      recent_q      <= recent;
    end
  end

  // ---------------------------------------------------------------- match: tags
  // What is acquired of an item: lines up to PrefetchLines, or that it has more.
  typedef logic [2:0] up_to_t;
  localparam up_to_t More = '1;
  typedef struct packed {
    off_t   off;
    up_to_t lines;
  } item_at_t;

  found_t match_q;
  logic [3:0][2:0] match_key_q;  // lines of header and key, by the unit in which they begin
  logic match_store_q, match_near_q;
  serial_t match_stamp_q;
  logic recent_hit, recent_hit_q, recent_there_q;
  item_at_t recent_at_q;

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

  logic [15:0] alike;
  // verilator lint_off UNUSEDSIGNAL
  way_t [3:0][3:0] ways;  // their tags are known
  // verilator lint_on UNUSEDSIGNAL
  way_t [3:0] of_four;  // the first one of each four
  item_at_t [3:0] of_four_q;
  logic [3:0] any;
  logic [1:0] four_q;
  logic none_q;
  always_comb begin
    for (int w = 0; w < 16; w++) begin
      ways[w/4][w%4] = buckets_q[w/8].ways[w%8];
      alike[w] = ways[w/4][w%4].tag == here_q.hash[63:50] && ways[w/4][w%4].off.lap != '0;
    end
    for (int f = 0; f < 4; f++) begin
      any[f]     = alike[4*f+:4] != '0;
      of_four[f] = ways[f][first_of(alike[4*f+:3])];
    end
  end
  // Those that left a moment ago may be before their write still.
  number_t between;  // requests since then
  assign between = here_number_q + ~recent_q.number;
  // From since_q to before this request, in whichever order the two stand.
  logic not_left, earlier;
  assign not_left   = recent_q.number >= since_q;
  assign earlier    = recent_q.number < here_number_q;
  assign recent_hit = recent_q.tag == here_q.hash[52:36] &&
      ((since_q <= here_number_q) ? not_left && earlier : not_left || earlier);
  assign here_go = here_valid_q && (!match_valid_q || match_go);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) match_valid_q <= 1'b0;
    else if (here_go) match_valid_q <= 1'b1;
    else if (match_go) match_valid_q <= 1'b0;
    if (here_go) begin
      match_q       <= '{lookup: here_q.lookup, hash: here_q.hash, line: here_q.line,
                         slot: here_slot_q, default: '0};
      match_store_q <= here_q.store;
      match_near_q  <= here_q.lookup && recent_hit && between < number_t'(Near - 1);
      match_stamp_q <= recent_q.stamp;
      for (int u = 0; u < 4; u++) begin
        match_key_q[u] <= 3'(PrefetchLines);
        if (up_to(lines_of(2'(u), 22'd16 + 22'(here_q.klen))) != More)
          match_key_q[u] <= up_to(lines_of(2'(u), 22'd16 + 22'(here_q.klen)));
      end
      for (int f = 0; f < 4; f++)
      of_four_q[f] <= '{off: of_four[f].off, lines: up_to(16'(of_four[f].lines))};
      four_q         <= first_of(any[2:0]);
      none_q         <= any == '0;
      recent_hit_q   <= recent_hit;
      recent_at_q    <= '{off: recent_q.off, lines: up_to(recent_q.lines)};
      recent_there_q <= off_valid(recent_q.off, range_i);
    end
  end

  // Which of the fours, a clock later.
  item_at_t way_at, matched;
  assign way_at  = of_four_q[four_q];
  assign matched = recent_hit_q ? recent_at_q : way_at;

  // ---------------------------------------------------------------- acquire the item's lines
  // An item of few lines is fetched whole, else what holds header and key; of one that is to be
  // replaced nobody wants more. The banks go on by themselves: where one has more to do, or is used
  // by others, the requests behind go ahead in the other one.
  typedef struct packed {
    line_no_t   line;   // first one in the bank
    logic [1:0] count;
  } run_t;

  found_t get;
  logic there, written, out_room;
  logic [1:0] run_room;
  log_rel_t counts;

  // A line that is not yet in the log would be read from memory for nothing, and the appender would wait
  // for that, if it comes there so soon: with one key for all, each item for the one before. One
  // that left long ago and looks like it is waited for until all have left.
  assign written   = !match_near_q || reached(written_i, match_stamp_q) || (idle_i && !m_valid_o);
  assign there     = match_q.lookup && matched.lines != '0 &&
      (recent_hit_q ? recent_there_q : !none_q && off_valid(way_at.off, range_i));

  always_comb begin
    get      = match_q;
    get.cand = there;
    get.off  = matched.off;
    if (there) begin
      get.whole = matched.lines != More && !match_store_q;
      get.count = get.whole ? matched.lines : match_key_q[matched.off.pos[1:0]];
    end
  end
  assign counts   = in_banks(get.count, matched.off.pos[2]);
  assign match_go = match_valid_q && written && out_room && (&run_room);

  for (genvar b = 0; b < 2; b++) begin : gen_bank
    run_t run;
    line_no_t next_q;    // its second line
    logic more_q, done;  // that one is next; it has no other
    logic [4:0] unused_runs;
    lib_fifo #(
      .T    (run_t),
      .Depth(16)
    ) u_runs (
      .clk_i,
      .rst_ni,
      .s_valid_i(match_go && counts[b] != '0),
      .s_ready_o(run_room[b]),
      // The even line may be the one behind the odd line.
      .s_data_i ({(matched.off.pos[27:2] + line_no_t'(b == 0)) >> 1, counts[b][1:0]}),
      .m_valid_o(log_acq_valid_o[b]),
      .m_ready_i(log_acq_ready_i[b] && done),
      .m_data_o (run),
      .level_o  (unused_runs)
    );
    assign done              = more_q || run.count == 2'd1;
    assign log_acq_line_o[b] = more_q ? next_q : run.line;
    always_ff @(posedge clk_i) begin
      next_q <= run.line + 1'b1;
      if (!rst_ni) more_q <= 1'b0;
      else if (log_acq_valid_o[b] && log_acq_ready_i[b]) more_q <= !done;
    end
  end
  if (PrefetchLines > 4) begin : gen_bad_lines
    $error("%m: a bank has at most two lines of an item");
  end

  lib_fifo #(
    .T    (found_t),
    .Depth(Waiting)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(match_valid_q && written && (&run_room)),
    .s_ready_o(out_room),
    .s_data_i (get),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (m_found_o),
    .level_o  (unused_out)
  );

endmodule
