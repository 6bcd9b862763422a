// Executes requests in order: the one place where anything happens. Takes each request with its
// lines already in the caches, looks into the buckets again, compares header and key, acts, and
// says what to reply. Latency 3 clocks for a hit; initiation interval 1 for gets, sets of keys that
// are there (2 where the key ends in the item's second line) and records without a key, 4 for others.
//
// Three stages: fetch (read buckets and item), check (tags, header, key) and act. Plain gets and sets
// and records that need no lookup overlap; anything else that may write keeps the next request out.
// A set that replaces its key's item writes one way; so what the requests in the other stages have
// read of that way is put right by what was written (commit_t).
// What check cannot decide - a key of several beats, a tag that was another key's, an item stored
// after the prefetch - is looked up again step by step (states Sl*), as are inserts (In*, Mv*) and
// incr and decr (Nu*). Whoever is behind waits, and reads again.
//
// The cut: a record whose reply might not fit into the transmit ring, and everything behind it in
// its job, is skipped without effect; the context of the last record executed goes back.
`include "lib_assert.svh"

module execute
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  /// UNIX seconds.
  input  logic [31:0]       now_i,
  /// log2 of the number of buckets.
  input  logic [4:0]        index_bits_i,
  input  log_range_t        range_i,
  /// Requests with the log's count of puts taken before them; what lookup found; their keys.
  input  logic              req_valid_i,
  output logic              req_ready_o,
  input  req_t              req_i,
  input  serial_t           stamp_i,
  /// Records of this connection come from bytes that nobody knows, up to its OpEnd (bad_done_o).
  input  logic              bad_valid_i,
  input  conn_t             bad_conn_i,
  output logic              bad_done_o,
  input  logic              bad_all_i,
  input  logic              found_valid_i,
  output logic              found_ready_o,
  input  found_t            found_i,
  input  logic              key_valid_i,
  output logic              key_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  beat_t             key_i,  // its length is in the request
  // verilator lint_on UNUSEDSIGNAL
  /// Puts taken and written by the log.
  input  serial_t           taken_i,
  input  serial_t           written_i,
  /// Items made here (incr, decr).
  output logic              own_valid_o,
  input  logic              own_ready_i,
  output put_t              own_o,
  output logic              ownk_valid_o,
  input  logic              ownk_ready_i,
  output beat_t             ownk_o,
  output logic              ownb_valid_o,
  input  logic              ownb_ready_i,
  output beat_t             ownb_o,
  input  off_t              own_off_i,
  /// Index caches, banks 0 and 1: read port, write port, class ClassExecute, releases.
  output logic [1:0]        bucket_rd_en_o,
  output index_slot_t [1:0] bucket_rd_slot_o,
  input  line_t [1:0]       bucket_rd_data_i,
  output logic [1:0]        bucket_wr_valid_o,
  input  logic [1:0]        bucket_wr_ready_i,
  output index_slot_t       bucket_wr_slot_o,
  output line_no_t          bucket_wr_line_o,
  output line_t             bucket_wr_data_o,
  output strb_t             bucket_wr_strb_o,
  output logic [1:0]        bucket_acq_valid_o,
  input  logic [1:0]        bucket_acq_ready_i,
  output line_no_t          bucket_acq_line_o,
  input  logic [1:0]        bucket_rsp_valid_i,
  output logic [1:0]        bucket_rsp_ready_o,
  input  index_slot_t [1:0] bucket_rsp_slot_i,
  output logic              bucket_request_rel_o,
  output logic [1:0]        bucket_rel_o,
  /// Log cache: responses of ClassRequest, class ClassExecute, read port, write port.
  input  logic              request_rsp_valid_i,
  output logic              request_rsp_ready_o,
  output logic              request_rsp_bank_o,
  // verilator lint_off UNUSEDSIGNAL
  input  log_slot_t         request_rsp_slot_i,  // the bank is in the line's number
  // verilator lint_on UNUSEDSIGNAL
  output logic              acq_valid_o,
  input  logic              acq_ready_i,
  output line_no_t          acq_line_o,
  input  logic              rsp_valid_i,
  output logic              rsp_ready_o,
  output logic              rsp_bank_o,
  input  log_slot_t         rsp_slot_i,
  output log_rel_t          rel_o,
  output logic              rd_en_o,
  output log_slot_t         rd_slot_o,
  input  line_t             rd_data_i,
  input  logic              rd_bad_i,
  output logic              wr_valid_o,
  input  logic              wr_ready_i,
  output log_slot_t         wr_slot_o,
  output line_no_t          wr_line_o,
  output line_t             wr_data_o,
  output strb_t             wr_strb_o,
  /// Value bytes to send, or lines to release.
  output logic              read_valid_o,
  input  logic              read_ready_i,
  output read_t             read_o,
  /// The keys of values, in lines; the last one of a key comes with its result.
  output logic              rkey_valid_o,
  input  logic              rkey_ready_i,
  output line_t             rkey_o,
  /// Results.
  output logic              res_valid_o,
  input  logic              res_ready_i,
  output res_t              res_o,
  /// Requests for host software.
  output logic              hreq_valid_o,
  input  logic              hreq_ready_i,
  output hreq_t             hreq_o,
  output logic              hkey_valid_o,
  input  logic              hkey_ready_i,
  output beat_t             hkey_o,
  output logic [StoreCounts-1:0] count_o,
  output logic              idle_o
);

  typedef enum logic [5:0] {
    StRun,     // act on the request in the last stage, if check decided it
    StAct,     // act on a request that was decided here
    // look up step by step
    SlKeys,    // wait for the rest of a long key
    SlStored,
    SlStoredWait,
    SlStoredGet, // read a stored item's key
    SlBuckets, // read the buckets again
    SlPick,    // take a way whose tag fits
    SlValid,   // is its item still there?
    SlLine,
    SlLineWait,
    SlCompare, // the item's lines, one after the other
    // insert
    InFree,
    InChoose,
    InWrite,
    MvBuckets,
    MvPick,
    MvOther,
    MvOtherWait,
    MvOtherRead,
    MvOtherFree,
    MvWrite,
    InEvict,
    // incr, decr
    NuLine,
    NuLineWait,
    NuGet,
    NuParse,
    NuSum,
    NuDigits,
    NuTrim,
    NuPut,
    NuBeats,
    NuWritten,
    // host
    HoReq,
    HoText
  } state_e;

  function automatic logic is_lookup(input op_e op);
    return op inside {OpGet, OpSet, OpAdd, OpReplace, OpCas, OpDelete, OpIncr, OpDecr, OpTouch,
                      OpTooBig};
  endfunction
  function automatic logic has_key(input op_e op, input logic key_stored);
    return (is_lookup(op) || op == OpHost || op == OpPart) && !key_stored;
  endfunction
  function automatic logic is_store(input op_e op);
    return op inside {OpSet, OpAdd, OpReplace, OpCas};
  endfunction
  // Needs more than the three stages give it.
  function automatic logic is_alone(input op_e op, input logic touch, input logic long_key);
    return op == OpFlush || op == OpHost || op == OpPart ||
        (is_lookup(op) && !(((op == OpGet && !touch) || op == OpSet) && !long_key));
  endfunction

  // No reply is longer than this.
  function automatic logic [16:0] reply_bytes(input reply_e reply);
    case (reply)
      RpNone:                               return 17'd0;
      RpStored, RpExists, RpOk, RpEnd:      return 17'd8;
      RpNotStored, RpNotFound, RpDeleted,
      RpTouched:                            return 17'd12;
      default:                              return 17'd80;
    endcase
  endfunction

  // Lanes of an item's line `number` that hold key bytes.
  function automatic strb_t key_lanes(input logic [2:0] number, input logic [1:0] unit,
                                      input logic [7:0] klen);
    logic [9:0] from, to, base;
    strb_t above, below;
    base  = {1'b0, number, 6'd0};
    from  = 10'({unit, 4'h0}) + 10'd16;
    to    = from + 10'(klen);
    above = (from <= base) ? '1 : (from - base >= 10'd64) ? '0 : {64{1'b1}} << 6'(from - base);
    below = (to <= base) ? '0 : (to - base >= 10'd64) ? '1 : ~({64{1'b1}} << 6'(to - base));
    return above & below;
  endfunction

  typedef struct packed {
    req_t                         req;
    found_t                       found;
    bank_slot_t [PrefetchLines-1:0] slots;
    logic                         keyed;     // its key comes in the key stream
    logic                         long_key;  // a key that the three stages do not compare
    logic                         alone;     // must not overlap with the next request
  } op_t;

  state_e state_q, state_d;

  // ---------------------------------------------------------------- next: wait for everything
  op_t next_q;
  logic next_valid_q, next_ready, next_pop, load, key_there, data_there;
  serial_t next_stamp_q;
  logic [2:0] got_q, got;

  logic req_bad;
  assign req_bad       = !req_i.udp && (bad_all_i ||
      (bad_valid_i && req_i.conn == bad_conn_i));
  assign bad_done_o    = load && req_bad && (req_i.op == OpEnd || req_i.last);
  assign load          = req_valid_i && found_valid_i && (!next_valid_q || next_pop);
  assign req_ready_o   = found_valid_i && (!next_valid_q || next_pop);
  assign found_ready_o = req_valid_i && (!next_valid_q || next_pop);
  assign got           = load ? '0 : got_q;
  assign request_rsp_bank_o  = load ? found_i.off.pos[2] : next_q.found.off.pos[2] ^ got_q[0];
  assign request_rsp_ready_o = load ? found_i.count != '0
                                    : next_valid_q && !next_pop && got_q != next_q.found.count;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) next_valid_q <= 1'b0;
    else if (load) next_valid_q <= 1'b1;
    else if (next_pop) next_valid_q <= 1'b0;
    if (load) begin
      next_q.req   <= req_i;
      next_q.found <= found_i;
      next_q.keyed <= has_key(req_i.op, req_i.key_stored);
      next_q.long_key <= req_i.klen > 8'd64 || req_i.key_stored;
      next_q.alone <= is_alone(req_i.op, req_i.touch, req_i.klen > 8'd64 || req_i.key_stored) ||
          req_bad;
      next_stamp_q <= stamp_i;
      if (req_bad && (req_i.op == OpEnd || req_i.last)) next_q.req.mode <= MdAbort;
      if (req_bad && req_i.op != OpEnd) begin
        // It only takes its key and gives back its lines.
        next_q.req.op    <= OpReply;
        next_q.req.reply <= RpNone;
      end
    end
    if (request_rsp_valid_i && request_rsp_ready_o) begin
      next_q.slots[got[1:0]] <= {request_rsp_slot_i[LogSlotW-1:LogWayW+1],
                                 request_rsp_slot_i[LogWayW-1:0]};
      got_q                 <= got + 3'd1;
    end else if (load) begin
      got_q <= '0;
    end
  end

  logic key_more_q;  // the rest of a long key is on its way
  assign key_there  = !next_q.keyed || (key_valid_i && !key_more_q);
  assign data_there = !is_store(next_q.req.op) || reached(written_i, next_stamp_q);
  assign next_ready = next_valid_q && got_q == next_q.found.count && key_there && data_there;

  // ---------------------------------------------------------------- fetch
  op_t check_q, act_q;
  logic check_valid_q, check_data_q, check_second_q, act_valid_q;
  logic act_done, fast_done, act_free, check_go, check_two_q, fetch_again, fetch_second, fetch_next;
  logic redo_q;

  // What overlaps ends as it is decided; the rest has the stages for itself.
  assign act_free     = !act_valid_q || fast_done;
  assign check_go     = check_valid_q && check_data_q && act_free;
  assign fetch_second = check_go && check_two_q && !check_second_q;
  assign fetch_again  = check_valid_q && !check_data_q && redo_q && state_q == StRun && act_free;
  assign fetch_next   = next_ready && state_q == StRun && act_free &&
      (!check_valid_q || (check_go && !fetch_second && !check_q.alone)) &&
      !(act_valid_q && act_q.alone);
  assign next_pop     = fetch_next;

  // Keys stand in a RAM, those of the requests in check and in act in a half each, and each quarter
  // of a line by itself: a line of the item has the end of one beat and the begin of the next, which
  // are read at once. For its first comparison a key comes straight from the stream.
  way_t way_q;         // way under test, in the steps
  logic [2:0] line_q;  // line of its item
  logic [1:0] more_q;
  logic key_half_q, act_half_q, more_half_q, key_take;
  logic [1:0] key_unit;
  // Beats of the acting request's key; those sent of it, with an item made here, to the host, or to
  // its reply.
  logic [2:0] key_beats, beats_sent_q;
  logic [3:0][127:0] key_read, key_new;
  logic [3:0][127:0] expected_q;  // of the item's line, where it has key bytes
  assign key_ready_o = key_more_q || (fetch_next && next_q.keyed);
  assign key_take    = key_valid_i && key_ready_o;
  // Byte 0 of a key stands behind the header, 16 to 64 bytes into the first line.
  assign key_unit = (state_q != StRun) ? way_q.off.pos[1:0] :
      check_valid_q && !check_data_q ? check_q.found.off.pos[1:0] : next_q.found.off.pos[1:0];
  assign key_new  = (state_q != StRun || (check_valid_q && !check_data_q)) ? key_read : key_i.data;

  for (genvar k = 0; k < 4; k++) begin : gen_key
    logic stored, we;
    logic [2:0] waddr, raddr;
    logic [127:0] wdata;
    (* ram_style = "distributed" *) logic [127:0] mem_q[8];
    // A stored key is copied from the log: line n holds the end of beat n - 1 and the begin of n.
    assign stored = state_q == SlStoredGet && ((k == 3) ? line_q != '0 : line_q != 3'd4);
    assign we     = key_take || stored;
    assign wdata  = stored ? rd_data_i[128*((k+1)%4)+:128] : key_i.data[128*k+:128];
    always_comb begin
      if (stored) waddr = {act_half_q, 2'(line_q - 3'(k == 3))};
      else waddr = key_more_q ? {more_half_q, more_q} : {!key_half_q, 2'd0};
      unique case (state_q)
        // For the reply, or to compare it again, while nothing acts.
        StRun:           raddr = {act_valid_q ? act_half_q : key_half_q, 2'd0};
        StAct, NuBeats, HoText: raddr = {act_half_q, beats_sent_q[1:0]};
        default:         raddr = {act_half_q, 2'(line_q - 3'(3'(k) + 3'(key_unit) >= 3'd3))};
      endcase
    end
    always_ff @(posedge clk_i) if (we) mem_q[waddr] <= wdata;
    assign key_read[k] = mem_q[raddr];
    `ASSERT(OneWrite, !(key_take && stored))
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      key_more_q <= 1'b0;
      key_half_q <= 1'b0;
    end else begin
      if (key_take) key_more_q <= !key_i.last;
      if (fetch_next) key_half_q <= !key_half_q;
    end
    if (key_take) begin
      more_q <= key_more_q ? more_q + 2'd1 : 2'd1;
      if (!key_more_q) more_half_q <= !key_half_q;
    end
    if (check_go) act_half_q <= key_half_q;
    if (state_q != StRun || fetch_next || fetch_again) begin
      for (int j = 0; j < 4; j++) expected_q[j] <= key_new[2'(j-1)-key_unit];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      check_valid_q <= 1'b0;
      check_data_q  <= 1'b0;
      act_valid_q   <= 1'b0;
      redo_q        <= 1'b0;
    end else begin
      if (fetch_next) check_valid_q <= 1'b1;
      else if (check_go && !fetch_second) check_valid_q <= 1'b0;
      // Other states clobber the read ports: what is in check must be fetched again.
      if (state_q != StRun) check_data_q <= 1'b0;
      else if (fetch_next || fetch_again) check_data_q <= 1'b1;
      else if (check_go && !fetch_second) check_data_q <= 1'b0;
      redo_q <= state_q != StRun || (redo_q && !fetch_again);
      if (check_go && !fetch_second) act_valid_q <= 1'b1;
      else if (act_done) act_valid_q <= 1'b0;
    end
    if (fetch_next) begin
      check_q        <= next_q;
      // The key goes on in the item's second line.
      check_two_q    <= next_q.found.cand && next_q.found.lookup && !next_q.long_key &&
      next_q.found.count > 3'd1 &&
      9'({next_q.found.off.pos[1:0], 4'h0}) + 9'd16 + 9'(next_q.req.klen) > 9'd64;
      check_second_q <= 1'b0;
    end else if (fetch_again) begin
      check_second_q <= 1'b0;
    end else if (fetch_second) begin
      check_second_q <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- check
  // One comparator, for the stage and for the steps.
  strb_t lanes_q, lanes_d;
  line_t differs;
  logic [1:0] cmp_unit;
  logic cmp_equal, head_fits, line_fits;
  head_t cmp_head;
  off_t cmp_off;
  logic [7:0] cmp_klen;

  always_comb begin
    cmp_klen   = (state_q == StRun) ? check_q.req.klen : act_q.req.klen;
    cmp_off    = (state_q == StRun) ? check_q.found.off : way_q.off;
    cmp_unit   = cmp_off.pos[1:0];
    for (int b = 0; b < 64; b++)
    differs[8*b+:8] = (rd_data_i[8*b+:8] ^ expected_q[b/16][8*(b%16)+:8]) & {8{lanes_q[b]}};
    cmp_equal = differs == '0;
    cmp_head  = rd_data_i[128*cmp_unit+:128];
    head_fits = cmp_head.klen == cmp_klen &&
        cmp_head.lap == ((cmp_off.lap == range_i.lap[7:0]) ? range_i.lap[31:0]
                                                            : range_i.last_lap[31:0]);
    line_fits = cmp_equal && (line_q != '0 || head_fits);
  end

  always_comb begin
    if (state_q != StRun) lanes_d = key_lanes(line_q, way_q.off.pos[1:0], act_q.req.klen);
    else if (fetch_second) lanes_d = key_lanes(3'd1, check_q.found.off.pos[1:0], check_q.req.klen);
    else if (fetch_again) lanes_d = key_lanes(3'd0, check_q.found.off.pos[1:0], check_q.req.klen);
    else lanes_d = key_lanes(3'd0, next_q.found.off.pos[1:0], next_q.req.klen);
  end
  always_ff @(posedge clk_i) begin
    if (state_q != StRun || fetch_second || fetch_again || fetch_next) lanes_q <= lanes_d;
  end

  // What a SET writes without keeping the next requests out: the place of a way.
  typedef struct packed {
    logic           valid;
    line_no_t [1:0] line;  // buckets of its key
    logic [15:0]    way;   // one of their ways
    off_t           off;
  } commit_t;
  commit_t commit, near_q;  // of act; of the clock in which the buckets in check were read
  logic [1:0] commit_same, near_same;
  logic commit_off, near_off;
  assign commit_off = commit.off == check_q.found.off;
  assign near_off   = near_q.off == check_q.found.off;
  always_ff @(posedge clk_i) if (fetch_next || fetch_again) near_q <= commit;

  bucket_t [1:0] buckets;
  logic [31:0] epoch_q;
  logic [15:0] tag_fits, off_fits;
  logic [15:0] tags_q, offs_q;
  logic [1:0] epoch_fits, epoch_fits_q;
  logic [15:0][1:0] uses_q;
  logic equal_q, may_hit_q, no_tag_q, off_valid_q, check_off_valid, unexpired, unexpired_q;
  logic [15:0] epoch_mask;
  // verilator lint_off UNUSEDSIGNAL
  head_t head_q;  // lap and klen were compared
  // verilator lint_on UNUSEDSIGNAL

  assign buckets = bucket_rd_data_i;
  for (genvar b = 0; b < 2; b++) begin : gen_bank
    assign epoch_fits[b] = buckets[b].epoch == epoch_q;
    assign commit_same[b] = commit.valid && commit.line[b] == check_q.found.line[b];
    assign near_same[b] = near_q.valid && near_q.line[b] == check_q.found.line[b];
    for (genvar w = 0; w < 8; w++) begin : gen_way
      assign tag_fits[8*b+w] = buckets[b].ways[w].tag == check_q.found.hash[63:50] &&
          buckets[b].ways[w].off.lap != '0;
      // A way that was written has the tag that it had.
      assign off_fits[8*b+w] = (commit_same[b] && commit.way[8*b+w]) ? commit_off :
          (near_same[b] && near_q.way[8*b+w]) ? near_off :
          buckets[b].ways[w].off == check_q.found.off;
    end
  end

  off_t valid_off;
  assign valid_off = (check_q.req.op == OpCont || check_q.req.key_stored) ? check_q.req.off
                                                                          : check_q.found.off;

  assign check_off_valid = off_valid(valid_off, range_i);
  assign unexpired       = cmp_head.exptime == '0 || cmp_head.exptime > now_i;
  assign epoch_mask      = {{8{epoch_fits[1]}}, {8{epoch_fits[0]}}};

  always_ff @(posedge clk_i) begin
    if (check_go) begin
      equal_q <= cmp_equal && (!check_second_q || equal_q);
      if (!check_second_q) begin
        act_q        <= check_q;
        off_valid_q  <= check_off_valid;
        if (check_q.found.lookup) begin
          tags_q       <= tag_fits;
          offs_q       <= off_fits & tag_fits;
          epoch_fits_q <= epoch_fits;
          uses_q       <= {buckets[1].uses, buckets[0].uses};
          head_q       <= cmp_head;
          unexpired_q  <= unexpired;
          no_tag_q     <= (tag_fits & epoch_mask) == '0;
          may_hit_q    <= (off_fits & tag_fits & epoch_mask) != '0 && check_q.found.cand &&
              check_q.found.count != '0 && check_off_valid && head_fits &&
              !check_q.long_key;
        end
      end
    end else if (state_q == SlCompare && line_q == '0) begin
      head_q      <= cmp_head;
      unexpired_q <= unexpired;
    end else if (state_q == InFree) begin
      uses_q       <= {buckets[1].uses, buckets[0].uses};
      epoch_fits_q <= epoch_fits;
    end
  end

  // ---------------------------------------------------------------- act
  // The item that the request is about: the prefetched one, or the one that the steps found.
  logic [15:0] tags, offs, found_way_q, at_way;
  logic fetched_hit, decided, acts, has, alive, slow_q, slow_found_q;
  off_t at_off, slow_off_q;
  log_slot_t slow_slot_q, at_slot;
  log_rel_t held_q;  // log lines acquired in the steps

  assign tags        = tags_q & {{8{epoch_fits_q[1]}}, {8{epoch_fits_q[0]}}};
  assign offs        = offs_q & {{8{epoch_fits_q[1]}}, {8{epoch_fits_q[0]}}};
  assign fetched_hit = may_hit_q && equal_q;
  assign decided     = fetched_hit || no_tag_q;

  assign has     = slow_q ? slow_found_q : fetched_hit;
  assign at_way  = slow_q ? found_way_q : offs;
  assign at_off  = slow_q ? slow_off_q : act_q.found.off;
  assign at_slot = slow_q ? slow_slot_q : in_bank(act_q.slots[0], act_q.found.off.pos[2]);
  assign alive   = has && unexpired_q;

  // The job: room for replies, cut, context of the last record executed.
  logic [16:0] room_q;
  logic cut_q, split_q, low_q, may_skip_q, skip;  // low_q: room for no more replies
  logic ends_job;
  ctx_t last_q, ctx;
  assign ends_job = act_q.req.op == OpEnd || act_q.req.last;
  assign skip     = may_skip_q && (cut_q || low_q);

  // Value bytes to send now: as many as a record may send and the room allows. The limit of the
  // next record is computed with the room it finds.
  function automatic logic [13:0] limit_of(input logic [16:0] space);
    logic [16:0] spare;
    spare = space - 17'(ReplyMax);
    if (space < 17'(ReplyMax)) return '0;
    return (spare > 17'(ValuePiece)) ? 14'(ValuePiece) : spare[13:0];
  endfunction
  logic [20:0] left_cont_q, left, piece;
  logic [13:0] limit_q, limit_first_q, limit;
  logic [16:0] spent_q, spent, room_left;
  logic [8:0] overhead_q, overhead;  // of a VALUE line and what ends the value
  logic spending_q, sends;
  // At most so many digits.
  assign overhead = overhead_q + ((head_q.flags == '0) ? 9'd1 : 9'd10) +
      ((head_q.vlen[20:10] != '0) ? 9'd7 : (head_q.vlen[9:4] != '0) ? 9'd4 : 9'd2);
  // So much room that two records cannot use it up: what is left need not be known to the byte. For
  // two that say little, less is enough.
  localparam logic [16:0] Plenty = 17'(3 * ValuePiece);
  localparam logic [16:0] Enough = 17'(4 * ReplyMax);
  logic plenty_q, plenty_first_q, enough_q, enough_first_q, little;
  assign room_left = (spent_q > room_q) ? '0 : room_q - spent_q;
  always_ff @(posedge clk_i) begin
    if (check_go) begin
      may_skip_q    <= !check_q.req.udp && !check_q.req.first && check_q.req.op != OpEnd;
      left_cont_q   <= check_q.req.vlen - check_q.req.cont_start;
      limit_first_q <= limit_of(check_q.req.tx_space);
      plenty_first_q <= check_q.req.tx_space >= Plenty;
      enough_first_q <= check_q.req.tx_space >= Enough;
      // Without flags and length: their digits are known from the item.
      overhead_q    <= 9'(check_q.req.klen) + (check_q.req.cas_out ? 9'd33 : 9'd12) +
          (check_q.req.last_key ? 9'd5 : 9'd0);
    end
    // One clock for what a record spends, one for what is left then: `settled`.
    if (spending_q) begin
      room_q  <= room_left;
      limit_q <= limit_of(room_left);
      low_q   <= room_left < 17'(ReplyMax);
      plenty_q <= room_left >= Plenty;
      enough_q <= room_left >= Enough;
    end
    spending_q <= rst_ni && act_done && !skip;
    spent_q    <= spent;
    if (act_done && act_q.req.first) begin
      room_q   <= act_q.req.tx_space;
      plenty_q <= plenty_first_q;
      enough_q <= enough_first_q;
      limit_q  <= 14'(ValuePiece);
      low_q    <= 1'b0;
    end
  end
  assign left  = (act_q.req.op == OpCont) ? left_cont_q : head_q.vlen[20:0];
  assign limit = act_q.req.first ? limit_first_q : limit_q;
  assign piece = (!act_q.req.udp && left > 21'(limit)) ? 21'(limit) : left;

  logic is_get, is_touch, is_number, is_value, settled, in_run, ends, out_free;
  logic replace, stores, place_ok;
  logic [63:0] unique_no;
  assign is_get    = act_q.req.op == OpGet;
  assign is_number = act_q.req.op inside {OpIncr, OpDecr};
  assign is_touch  = act_q.req.op == OpTouch || (is_get && act_q.req.touch);
  assign little    = enough_q && spent_q[16:10] == '0 && (left[20:9] == '0 || !is_value);
  assign settled   = !spending_q || plenty_q || little || !may_skip_q;
  assign in_run    = state_q == StRun && act_valid_q && settled;
  assign out_free  = res_ready_i && read_ready_i && rkey_ready_i;
  assign unique_no = off_unique(at_off, range_i.lap, range_i.last_lap);
  assign place_ok  = act_q.req.off.lap != '0 && (!act_q.req.key_stored || off_valid_q);

  // Acts in this clock: records without lookup, decided gets, and sets that replace what check has
  // found, at once; others from StAct.
  logic fast_set, use_bank, at_ready;
  assign fast_set  = act_q.req.op == OpSet && fetched_hit && place_ok;
  assign use_bank  = at_way[15:8] != '0;
  assign at_ready  = bucket_wr_ready_i[use_bank];
  assign fast_done = in_run && out_free && (skip ||
      (!act_q.found.lookup && !(act_q.req.op == OpHost)) ||
      (is_get && !act_q.req.touch && decided) || (fast_set && at_ready));
  // Who looks at it knows that the request in act, if there is one, ends in this clock.
  assign commit = '{valid: act_valid_q && fast_set && !skip, line: act_q.found.line, way: offs,
                    off: act_q.req.off};
  assign acts = fast_done || (state_q == StAct && out_free);

  reply_e reply;
  logic store_try, number_bad_q;  // the number could not be read
  always_comb begin
    // What a SET and its relatives do.
    store_try = 1'b0;
    reply     = RpNone;
    unique case (act_q.req.op)
      OpSet:     store_try = 1'b1;
      OpAdd: begin
        store_try = !alive;
        if (alive) reply = RpNotStored;
      end
      OpReplace: begin
        store_try = alive;
        if (!alive) reply = RpNotStored;
      end
      OpCas: begin
        store_try = alive && unique_no == act_q.req.num;
        if (!store_try) reply = alive ? RpExists : RpNotFound;
      end
      OpDelete:  reply = alive ? RpDeleted : RpNotFound;
      OpTouch:   reply = alive ? RpTouched : RpNotFound;
      OpIncr, OpDecr: reply = (alive && !number_bad_q) ? RpNonNumeric : RpNotFound;
      OpGet:     reply = act_q.req.last_key ? RpEnd : RpNone;
      OpFlush:   reply = RpOk;
      OpReply, OpTooBig: reply = act_q.req.reply;
      default:   reply = RpNone;
    endcase
    if (store_try) reply = place_ok ? RpStored : RpNoMemory;
  end
  assign stores = store_try && place_ok;
  // The key's way is cleared: delete, and the old item of a SET that could not be stored.
  logic clears, empties;  // empties: what is written into a way, if anything
  assign empties = act_q.req.op == OpDelete || act_q.req.op == OpTooBig || !place_ok && !is_number;
  assign clears  = has && ((act_q.req.op == OpDelete && alive) || act_q.req.op == OpTooBig ||
      (act_q.req.op == OpSet && !place_ok));
  assign replace = has && (stores || clears);
  assign sends   = (is_get && alive) || (act_q.req.op == OpCont && off_valid_q);

  // Steps that come before the end: writes must be taken, inserts and sums take longer.
  logic number_op, insert_op, bucket_ok, touch_ok, patch_q, key_waits;
  logic end_insert, end_number, end_host, number_ok_q;
  assign number_op = is_number && alive;
  assign insert_op = stores && !has;
  assign bucket_ok = !replace || at_ready;
  assign touch_ok  = !(is_touch && alive) || (patch_q && wr_ready_i);
  assign ends      = acts && (skip || (!insert_op && !number_op && bucket_ok && touch_ok &&
                                       !key_waits));
  // The long ways round end in these clocks.
  logic in_write_ok, number_end;
  assign end_insert = state_q == InWrite && in_write_ok && out_free;
  assign end_number = state_q == NuWritten && out_free && number_end;
  assign end_host   = act_q.req.key_stored ? hreq_valid_o && hreq_ready_i
                                           : hkey_valid_o && hkey_ready_i && hkey_o.last;
  assign act_done   = ends || end_insert || end_number || end_host;

  // ---------------------------------------------------------------- result
  logic [63:0] number_q;
  logic emits;
  always_comb begin
    ctx            = '0;
    ctx.rx_ptr     = act_q.req.rx_ptr;
    ctx.mode       = act_q.req.mode;
    ctx.rem        = act_q.req.rem;
    ctx.cont       = sends && !skip && piece != left;
    ctx.cont_start = ((act_q.req.op == OpCont) ? act_q.req.cont_start : '0) + piece;
    ctx.op         = act_q.req.ctx_op;
    ctx.noreply    = act_q.req.noreply;
    ctx.cas_out    = act_q.req.cas_out;
    ctx.touch      = act_q.req.touch;
    ctx.last_key   = act_q.req.last_key;
    ctx.klen       = act_q.req.klen;
    ctx.vlen       = is_get ? head_q.vlen[20:0] : act_q.req.vlen;
    ctx.exptime    = act_q.req.exptime;
    ctx.num        = act_q.req.num;
    ctx.hash       = act_q.found.hash;
    ctx.off        = is_get ? at_off : act_q.req.off;
    if (act_q.req.op == OpCont && !off_valid_q) ctx.mode = MdAbort;
    if (act_q.req.op == OpEnd && !act_q.req.key_stored) ctx.hash = last_q.hash;

    res_o          = '0;
    res_o.kind     = RsNone;
    res_o.udp      = act_q.req.udp;
    res_o.conn     = act_q.req.conn;
    res_o.first    = act_q.req.first;
    res_o.last     = ends_job;
    res_o.tx_ptr   = act_q.req.tx_ptr;
    res_o.reply    = reply;
    res_o.last_key = act_q.req.last_key;
    res_o.cas_out  = act_q.req.cas_out;
    res_o.klen     = act_q.req.klen;
    res_o.flags    = head_q.flags;
    res_o.vlen     = is_get ? head_q.vlen[20:0] : act_q.req.vlen;
    res_o.num      = unique_no;
    res_o.head     = is_get;
    res_o.tail     = piece == left;
    res_o.host_len = act_q.req.host_len;
    res_o.ctx      = (skip || cut_q || split_q) && !act_q.req.first ? last_q : ctx;
    spent          = '0;
    if (skip) begin
      res_o.kind = RsEnd;
    end else if (end_number && number_ok_q) begin
      if (!act_q.req.noreply) begin
        res_o.kind = RsNumber;
        spent      = 17'd24;
      end
      res_o.num = number_q;
    end else if (sends) begin
      res_o.kind = RsValue;
      spent      = 17'(piece) + 17'(overhead);
    end else if (act_q.req.op == OpEnd) begin
      res_o.kind = RsEnd;
    end else if (act_q.req.op == OpHostData) begin
      res_o.kind = RsHostData;
      spent      = 17'(act_q.req.host_len);
    end else if (reply != RpNone && !act_q.req.noreply) begin
      res_o.kind = RsReply;
      spent      = reply_bytes(reply);
    end
  end
  assign emits       = ends_job || (!skip && (res_o.kind != RsNone || act_q.req.first));
  assign res_valid_o = act_done && emits;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cut_q   <= 1'b0;
      split_q <= 1'b0;
    end else if (act_done) begin
      if (ends_job) begin
        cut_q   <= 1'b0;
        split_q <= 1'b0;
      end else if (skip) begin
        cut_q <= 1'b1;
      end else begin
        // A value that goes on, or cannot: nothing more in this job.
        if (ctx.cont) begin
          cut_q   <= 1'b1;
          split_q <= 1'b1;
        end
        if (ctx.mode == MdAbort) cut_q <= 1'b1;
      end
    end
    if (act_done && !skip && act_q.req.op != OpEnd) last_q <= ctx;
  end

  // Every lookup's item lines are released by the reader, in order.
  assign read_valid_o = act_done && (act_q.found.count != '0 || (sends && !skip && is_value));
  assign is_value = is_get || act_q.req.op == OpCont;
  always_comb begin
    read_o       = '0;
    read_o.send  = sends && !skip && is_value;
    read_o.whole = act_q.found.whole && !slow_q && is_get;
    read_o.count = act_q.found.count;
    read_o.bank  = act_q.found.off.pos[2];
    read_o.slots = act_q.slots;
    read_o.off   = is_get ? at_off : act_q.req.off;
    read_o.klen  = act_q.req.klen;
    read_o.start = is_get ? '0 : act_q.req.cont_start;
    read_o.len   = piece;
  end

  // A long key needs further clocks, in StAct.
  logic keys_go;
  assign key_waits    = state_q == StAct && is_get && alive && beats_sent_q + 3'd1 != key_beats;
  assign keys_go      = state_q == StAct && out_free && !skip && key_waits;
  assign rkey_valid_o = keys_go || (act_done && !skip && is_get && alive);
  assign rkey_o       = key_read;

  // ---------------------------------------------------------------- steps
  logic [15:0] todo_q, pick, pick_any, pick_q, todo_pick;
  logic [15:0] free_q, insert_q;
  logic [3:0] move_q;          // entry that might move
  logic [15:0][1:0] uses_after_q;
  line_no_t other_line_q, moved_line;
  index_slot_t other_slot_q;
  logic [2:0] last_line;
  logic [4:0] turn_q;          // spreads evictions over the ways
  logic [7:0] other_free_q, other_way;
  logic [15:0] other_uses_q;
  logic other_epoch_q;

  assign pick      = todo_q & (~todo_q + 16'd1);
  assign last_line = 3'((10'({way_q.off.pos[1:0], 4'h0}) + 10'd15 + 10'(act_q.req.klen)) >> 6);

  line_no_t acq_line_q;  // of the log, next to be acquired
  way_t picked;
  always_comb begin
    picked = '0;
    for (int b = 0; b < 2; b++)
    for (int w = 0; w < 8; w++) if (pick_any[8*b+w]) picked |= buckets[b].ways[w];
  end
  assign pick_any  = (state_q == MvPick) ? 16'd1 << move_q : pick;
  assign todo_pick = todo_q & ~pick;

  /// A way is free if it never held anything, if its item is gone from the log, or if the bucket was
  /// flushed.
  function automatic logic [7:0] free_ways(input way_t [7:0] ways, input logic fits,
                                           input log_range_t range);
    for (int w = 0; w < 8; w++) free_ways[w] = !fits || !off_valid(ways[w].off, range);
  endfunction
  function automatic logic [3:0] ones(input logic [7:0] v);
    ones = '0;
    for (int i = 0; i < 8; i++) ones += 4'(v[i]);
  endfunction

  function automatic logic [1:0] least_uses(input logic [15:0][1:0] uses);
    least_uses = 2'd3;
    for (int l = 2; l >= 0; l--)
    for (int i = 0; i < 16; i++) if (uses[i] == 2'(l)) least_uses = 2'(l);
  endfunction
  /// One of the least used ways: the first from way `turn` on.
  function automatic logic [15:0] evicted(input logic [15:0][1:0] uses, input logic [3:0] turn);
    logic [15:0] least, upper;
    for (int i = 0; i < 16; i++) least[i] = uses[i] == least_uses(uses);
    upper = least & ({16{1'b1}} << turn);
    return (upper != '0) ? upper & (~upper + 16'd1) : least & (~least + 16'd1);
  endfunction

  logic own_off_ok, own_done;
  off_t number_off_q;
  way_t new_way;
  off_t new_off;
  logic [6:0] number_len_q;
  logic [15:0] new_lines_q;
  assign new_off = is_number ? number_off_q : act_q.req.off;
  assign new_way = '{tag: act_q.found.hash[63:50], off: new_off,
                     lines: (new_lines_q > 16'd63) ? 6'd63 : new_lines_q[5:0]};
  always_ff @(posedge clk_i) begin
    if (check_go)
      new_lines_q <= lines_of(
          check_q.req.off.pos[1:0], 22'd16 + 22'(check_q.req.klen) + 22'(check_q.req.vlen)
      );
    else if (state_q == NuBeats)
      new_lines_q <= lines_of(
          number_off_q.pos[1:0], 22'd16 + 22'(act_q.req.klen) + 22'(number_len_q)
      );
  end
  assign own_off_ok = number_off_q.lap != '0;

  serial_t own_stamp_q;
  logic written_own;
  assign written_own = reached(written_i, own_stamp_q);
  assign number_end  = !number_ok_q || !own_off_ok ||
      (written_own && at_ready);

  // Numbers: the parser goes over the value's bytes where they stand in the line read last, digits
  // move out of the converter.
  logic [6:0] chars_q;   // to come
  logic [5:0] lane_q;    // of the next of them; behind lane 63 the value goes on in the next line
  logic [22:0] value_at;
  logic value_long_q;
  logic [63:0] acc_q;
  logic [67:0] acc_next;
  logic [79:0] bcd_q;
  logic [63:0] bin_q;
  logic [4:0] digits_q, steps_q;
  logic negative_q, over_q, parsed;
  typedef enum logic [1:0] {
    PaBlank,
    PaSign,
    PaDigit,
    PaEnd
  } parse_e;
  parse_e parse_q;
  logic [7:0] char;
  logic char_blank, char_digit;

  assign value_at   = 23'({at_off.pos[1:0], 4'h0}) + 23'd16 + 23'(act_q.req.klen);
  assign char       = rd_data_i[8*lane_q+:8];
  assign char_blank = char == 8'h20 || (char >= 8'h09 && char <= 8'h0d);
  assign char_digit = char >= 8'h30 && char <= 8'h39;
  assign acc_next   = 68'({acc_q, 3'b000}) + 68'({acc_q, 1'b0}) + 68'(char[3:0]);
  assign parsed     = over_q || parse_q == PaEnd || chars_q == '0 ||
      (parse_q == PaDigit && (char_blank || char == '0));

  typedef struct packed {
    logic [79:0] bcd;
    logic [63:0] bin;
  } double_dabble_t;
  /// Four steps of shift-and-add-3: four more bits of `value.bin` are in the digits of `value.bcd`.
  function automatic double_dabble_t double_dabble(input double_dabble_t value);
    for (int s = 0; s < 4; s++) begin
      for (int d = 0; d < 20; d++)
      if (value.bcd[4*d+:4] >= 4'd5) value.bcd[4*d+:4] = value.bcd[4*d+:4] + 4'd3;
      value = value << 1;
    end
    return value;
  endfunction

  logic number_fits;
  logic [63:0] negated, summed;
  assign negated = negative_q ? -acc_q : acc_q;
  assign summed  = (act_q.req.op == OpIncr) ? negated + act_q.req.num
                                            : (negated < act_q.req.num) ? '0
                                                                        : negated - act_q.req.num;

  line_t number_text;
  always_comb begin
    for (int i = 0; i < 64; i++)
    number_text[8*i+:8] = (i < 20 && 5'(i) < digits_q) ? {4'h3, bcd_q[4*(19-(i%20))+:4]} : 8'h20;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StRun:
      if (in_run && !skip) begin
        if (act_q.req.op == OpHost) state_d = HoReq;
        else if (act_q.found.lookup) begin
          if (!decided) begin
            state_d = SlBuckets;
            if (act_q.keyed && act_q.long_key) state_d = SlKeys;
            if (act_q.req.key_stored && place_ok) state_d = SlStored;
          end else if ((!is_get || act_q.req.touch) && !fast_set) begin
            state_d = StAct;
          end
        end
      end
      StAct:
      if (acts) begin
        if (number_op) state_d = NuLine;
        else if (insert_op) state_d = InFree;
        else if (ends) state_d = StRun;
      end
      // look up
      SlKeys:       if (!key_more_q) state_d = SlBuckets;
      SlStored:     if (acq_ready_i) state_d = SlStoredWait;
      SlStoredWait: if (rsp_valid_i) state_d = SlStoredGet;
      SlStoredGet:  state_d = (line_q == last_line) ? SlBuckets : SlStored;
      SlBuckets:    state_d = SlPick;
      SlPick:       state_d = (todo_q == '0) ? StAct : SlValid;
      SlValid:      state_d = off_valid(way_q.off, range_i) ? SlLine : SlPick;
      SlLine:       if (acq_ready_i) state_d = SlLineWait;
      SlLineWait:   if (rsp_valid_i) state_d = SlCompare;
      SlCompare: begin
        if (!line_fits) state_d = SlPick;
        else state_d = (line_q == last_line) ? StAct : SlLine;
      end
      // insert
      InFree:       state_d = InChoose;
      InChoose:     state_d = (free_q != '0) ? InWrite : MvBuckets;
      InWrite:      if (end_insert) state_d = StRun;
      MvBuckets:    state_d = MvPick;
      MvPick:       state_d = MvOther;
      MvOther:      if (bucket_acq_ready_i[!move_q[3]]) state_d = MvOtherWait;
      MvOtherWait:  if (bucket_rsp_valid_i[!move_q[3]]) state_d = MvOtherRead;
      MvOtherRead:  state_d = MvOtherFree;
      MvOtherFree:  if (other_free_q != '0) state_d = MvWrite;
                    else state_d = (move_q == '1) ? InEvict : MvBuckets;
      MvWrite:      if (bucket_wr_ready_i[!move_q[3]]) state_d = InWrite;
      InEvict:      state_d = InWrite;
      // incr, decr
      NuLine:       if (value_long_q) state_d = NuWritten;
                    else if (acq_ready_i) state_d = NuLineWait;
      NuLineWait:   if (rsp_valid_i) state_d = NuGet;
      NuGet:        state_d = rd_bad_i ? NuWritten : NuParse;
      NuParse:      if (parsed) state_d = NuSum;
                    else if (lane_q == '1 && chars_q != 7'd1) state_d = NuLine;
      NuSum:        state_d = number_fits ? NuDigits : NuWritten;
      NuDigits:     if (steps_q == '0) state_d = NuTrim;
      NuTrim:       if (bcd_q[79:76] != '0 || digits_q == 5'd1) state_d = NuPut;
      NuPut:        if (own_ready_i) state_d = NuBeats;
      NuBeats:      if (own_done) state_d = NuWritten;
      NuWritten:    if (end_number) state_d = StRun;
      // host
      HoReq:        if (hreq_valid_o && hreq_ready_i) state_d = end_host ? StRun : HoText;
      HoText:       if (end_host) state_d = StRun;
      default:      state_d = StRun;
    endcase
  end
  assign number_fits = parse_q == PaDigit && !over_q && !(negative_q && negated[63]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StRun;
      slow_q  <= 1'b0;
      held_q  <= '0;
      turn_q  <= '0;
    end else begin
      state_q <= state_d;
      if (act_done) begin
        slow_q <= 1'b0;
        held_q <= '0;
        turn_q <= turn_q + 1'b1;
      end else if (state_q == SlBuckets) begin
        slow_q <= 1'b1;
      end
      if (rsp_valid_i && rsp_ready_o) held_q[rsp_bank_o] <= held_q[rsp_bank_o] + 1'b1;
      if (rel_o != '0 && !act_done) held_q <= '0;
    end

    // look up
    unique case (state_q)
      StRun: begin
        // The prefetched item was compared already, unless its key is long.
        todo_q       <= act_q.long_key ? tags : tags & ~offs;
        slow_found_q <= 1'b0;
        line_q       <= '0;
        number_ok_q  <= 1'b0;
        number_bad_q <= 1'b0;
        move_q       <= '0;
        if (act_q.req.key_stored) way_q.off <= act_q.req.off;
        acq_line_q <= act_q.req.off.pos[27:2];
      end
      StAct: begin
        line_q     <= '0;
        acq_line_q <= at_off.pos[27:2] + line_no_t'(value_at[22:6]);
        lane_q       <= value_at[5:0];
        value_long_q <= head_q.vlen > 24'd64;
        chars_q      <= head_q.vlen[6:0];
        parse_q      <= PaBlank;
        acc_q        <= '0;
        negative_q   <= 1'b0;
        over_q       <= 1'b0;
      end
      SlStoredGet: begin
        line_q     <= line_q + 3'd1;
        acq_line_q <= acq_line_q + 1'b1;
      end
      SlValid: acq_line_q <= way_q.off.pos[27:2];
      SlBuckets: line_q <= '0;
      SlPick: begin
        way_q   <= picked;
        pick_q  <= pick;
        todo_q  <= todo_pick;
        line_q  <= '0;
      end
      SlLineWait: if (rsp_valid_i && line_q == '0) slow_slot_q <= rsp_slot_i;
      SlCompare: begin
        line_q     <= line_q + 3'd1;
        acq_line_q <= acq_line_q + 1'b1;
        if (line_fits && line_q == last_line) begin
          slow_found_q <= 1'b1;
          slow_off_q   <= way_q.off;
          found_way_q  <= pick_q;
        end
      end
      // insert
      InFree:
      for (int b = 0; b < 2; b++)
      free_q[8*b+:8] <= free_ways(buckets[b].ways, epoch_fits[b], range_i);
      InChoose: begin
        // The emptier bucket; its first free way.
        insert_q     <= (ones(free_q[7:0]) >= ones(free_q[15:8])) ?
            {8'd0, free_q[7:0] & (~free_q[7:0] + 8'd1)} :
            {free_q[15:8] & (~free_q[15:8] + 8'd1), 8'd0};
        uses_after_q <= uses_q;
      end
      MvPick: begin
        way_q    <= picked;
        insert_q <= 16'd1 << move_q;
      end
      MvOther: other_line_q <= moved_line;
      MvOtherWait: other_slot_q <= bucket_rsp_slot_i[!move_q[3]];
      MvOtherFree: if (other_free_q == '0) move_q <= move_q + 4'd1;
      InEvict: begin
        insert_q <= evicted(uses_q, turn_q[3:0]);
        // Uses count down with every eviction, so that they fade.
        for (int i = 0; i < 16; i++) uses_after_q[i] <= uses_q[i] - least_uses(uses_q);
      end
      // incr, decr
      NuGet: begin
        number_bad_q <= rd_bad_i;
        acq_line_q   <= acq_line_q + 1'b1;
      end
      NuParse: if (!parsed) begin
        lane_q  <= lane_q + 6'd1;
        chars_q <= chars_q - 7'd1;
        if (char_digit) begin
          parse_q <= PaDigit;
          acc_q   <= acc_next[63:0];
          over_q  <= acc_next[67:64] != '0;
        end else if (parse_q == PaBlank && (char == "+" || char == "-")) begin
          parse_q    <= PaSign;
          negative_q <= char == "-";
        end else if (!(parse_q == PaBlank && char_blank)) begin
          parse_q <= PaEnd;
        end
      end
      NuSum: begin
        number_ok_q <= number_fits;
        number_q    <= summed;
        bin_q       <= summed;
        bcd_q       <= '0;
        steps_q     <= 5'd15;
        digits_q    <= 5'd20;
      end
      NuDigits: begin
        {bcd_q, bin_q} <= double_dabble({bcd_q, bin_q});
        steps_q <= steps_q - 5'd1;
      end
      NuTrim: if (bcd_q[79:76] == '0 && digits_q != 5'd1) begin
        bcd_q    <= bcd_q << 4;
        digits_q <= digits_q - 5'd1;
      end else begin
        number_len_q <= (head_q.vlen[6:0] > 7'(digits_q)) ? head_q.vlen[6:0] : 7'(digits_q);
      end
      NuPut: begin
        number_off_q <= own_off_i;
        own_stamp_q  <= taken_i + 1'b1;
      end
      default: ;
    endcase
  end

  // ---------------------------------------------------------------- caches
  // Buckets: read for the stages, again for the steps, and the other bucket of an entry.
  line_no_t line_mask;
  index_slot_t [1:0] fetch_slot;
  assign line_mask  = ~({26{1'b1}} << (index_bits_i - 5'd1));
  assign moved_line = act_q.found.line[move_q[3]] ^ (other_line(way_q.tag) & line_mask);
  assign fetch_slot = fetch_next ? next_q.found.slot : check_q.found.slot;

  always_comb begin
    bucket_rd_en_o   = '0;
    bucket_rd_slot_o = fetch_slot;
    if (fetch_next ? next_q.found.lookup : fetch_again && check_q.found.lookup) bucket_rd_en_o = '1;
    // StAct: for an insert; who is behind may have read others meanwhile.
    if (state_q inside {StAct, SlBuckets, MvBuckets}) begin
      bucket_rd_en_o   = '1;
      bucket_rd_slot_o = act_q.found.slot;
    end
    if (state_q == MvOtherWait) begin
      bucket_rd_en_o[!move_q[3]]   = 1'b1;
      bucket_rd_slot_o[!move_q[3]] = bucket_rsp_slot_i[!move_q[3]];
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == MvOtherRead) begin
      other_free_q  <= free_ways(buckets[!move_q[3]].ways, epoch_fits[!move_q[3]], range_i);
      other_uses_q  <= buckets[!move_q[3]].uses;
      other_epoch_q <= epoch_fits[!move_q[3]];
    end
  end
  assign other_way = other_free_q & (~other_free_q + 8'd1);

  // Writes of buckets: a way alone by strobes; the whole bucket if it was flushed.
  function automatic strb_t way_lanes(input logic [7:0] ways);
    way_lanes = '0;
    for (int w = 0; w < 8; w++) way_lanes[7*w+:7] = {7{ways[w]}};
  endfunction
  function automatic bucket_t one_way(input logic [7:0] ways, input way_t way, input logic all,
                                      input logic [7:0][1:0] uses, input logic [31:0] epoch);
    one_way = '0;
    one_way.epoch = epoch;
    for (int w = 0; w < 8; w++) begin
      one_way.ways[w] = (ways[w] || !all) ? way : '0;
      one_way.uses[w] = (ways[w] || all) ? '0 : uses[w];
    end
  endfunction

  logic count_use, insert_bank;
  logic [15:0][1:0] used;
  assign insert_bank = insert_q[15:8] != '0;
  always_comb begin
    count_use = 1'b0;
    for (int i = 0; i < 16; i++) begin
      used[i] = uses_q[i];
      if (at_way[i] && uses_q[i] != 2'd3) begin
        used[i]   = uses_q[i] + 2'd1;
        count_use = 1'b1;
      end
    end
  end

  always_comb begin
    bucket_wr_valid_o = '0;
    bucket_wr_slot_o  = act_q.found.slot[use_bank];
    bucket_wr_line_o  = act_q.found.line[use_bank];
    bucket_wr_data_o  = one_way('0, empties ? '0 : new_way, 1'b0, '0, epoch_q);
    bucket_wr_strb_o  = way_lanes(at_way[7:0] | at_way[15:8]);
    unique case (state_q)
      StRun, StAct: begin
        if (acts && !skip && replace) bucket_wr_valid_o[use_bank] = 1'b1;
        else if (acts && touch_ok && !skip && is_get && alive && count_use && !slow_q) begin
          // Best effort: if the port is busy the use is not counted.
          bucket_wr_valid_o[use_bank] = 1'b1;
          bucket_wr_data_o = one_way('0, '0, 1'b0, use_bank ? used[15:8] : used[7:0], epoch_q);
          bucket_wr_strb_o = 64'h0300_0000_0000_0000;
        end
      end
      NuWritten: if (number_ok_q && own_off_ok && written_own && out_free)
        bucket_wr_valid_o[use_bank] = 1'b1;
      InWrite: begin
        bucket_wr_valid_o[insert_bank] = out_free;
        bucket_wr_slot_o = act_q.found.slot[insert_bank];
        bucket_wr_line_o = act_q.found.line[insert_bank];
        bucket_wr_data_o = one_way(insert_q[7:0] | insert_q[15:8], new_way,
                                   !epoch_fits_q[insert_bank],
                                   insert_bank ? uses_after_q[15:8] : uses_after_q[7:0], epoch_q);
        bucket_wr_strb_o = epoch_fits_q[insert_bank] ?
            way_lanes(insert_q[7:0] | insert_q[15:8]) | 64'h0300_0000_0000_0000 : '1;
      end
      MvWrite: begin
        bucket_wr_valid_o[!move_q[3]] = 1'b1;
        bucket_wr_slot_o = other_slot_q;
        bucket_wr_line_o = other_line_q;
        bucket_wr_data_o = one_way(other_way, way_q, !other_epoch_q, other_uses_q, epoch_q);
        bucket_wr_strb_o = other_epoch_q ? way_lanes(other_way) | 64'h0300_0000_0000_0000 : '1;
      end
      default: ;
    endcase
  end
  assign in_write_ok = bucket_wr_ready_i[insert_bank];

  assign bucket_acq_line_o  = moved_line;
  always_comb begin
    bucket_acq_valid_o = '0;
    bucket_rsp_ready_o = '0;
    bucket_rel_o       = '0;
    bucket_acq_valid_o[!move_q[3]] = state_q == MvOther;
    bucket_rsp_ready_o[!move_q[3]] = state_q == MvOtherWait;
    bucket_rel_o[!move_q[3]] = (state_q == MvOtherFree && other_free_q == '0) ||
        (state_q == MvWrite && bucket_wr_ready_i[!move_q[3]]);
  end
  assign bucket_request_rel_o = act_done && act_q.found.lookup;

  // The log.
  assign acq_valid_o = state_q == SlLine || (state_q == SlStored && !key_more_q) ||
      (state_q == NuLine && !value_long_q);
  assign acq_line_o  = acq_line_q;
  assign rsp_ready_o = state_q inside {SlStoredWait, SlLineWait, NuLineWait};
  assign rsp_bank_o  = acq_line_q[0];
  always_comb begin
    rel_o = '0;
    if (act_done || (state_q == SlCompare && !line_fits) || (state_q == SlBuckets)) rel_o = held_q;
  end

  always_comb begin
    rd_en_o   = fetch_second || (fetch_next && next_q.found.cand) ||
        (fetch_again && check_q.found.cand);
    rd_slot_o = in_bank(check_q.slots[0], check_q.found.off.pos[2]);
    if (fetch_second) rd_slot_o = in_bank(check_q.slots[1], !check_q.found.off.pos[2]);
    if (fetch_next) rd_slot_o = in_bank(next_q.slots[0], next_q.found.off.pos[2]);
    if (rsp_ready_o) begin
      rd_en_o   = rsp_valid_i;
      rd_slot_o = rsp_slot_i;
    end
  end

  // touch: the expiry is patched where it stands, bytes 8 to 11 of the header. It is decided a clock
  // before, so that the order at the cache's memory port does not wait for it.
  always_ff @(posedge clk_i)
    patch_q <= rst_ni && state_q == StAct && !act_done && !skip && is_touch && alive && !key_waits;
  assign wr_valid_o = patch_q && out_free;
  assign wr_slot_o  = at_slot;
  assign wr_line_o  = at_off.pos[27:2];
  assign wr_data_o  = {16{act_q.req.exptime}};
  assign wr_strb_o  = strb_t'(16'h0F00) << {at_off.pos[1:0], 4'h0};

  // ---------------------------------------------------------------- items made here
  assign key_beats   = 3'((9'(act_q.req.klen) + 9'd63) >> 6);
  assign own_valid_o = state_q == NuPut;
  assign own_o = '{start: 1'b1, own_lines: 1'b0, klen: act_q.req.klen, vlen: 21'(number_len_q),
                   flags: head_q.flags, exptime: head_q.exptime, off: '0, done: '0};
  // Key and value; the log takes the last of the key with the value.
  logic value_sent_q;
  always_ff @(posedge clk_i) begin
    if (!(state_q inside {StAct, NuBeats, HoText})) beats_sent_q <= '0;
    else if ((ownk_valid_o && ownk_ready_i) || (hkey_valid_o && hkey_ready_i) || keys_go)
      beats_sent_q <= beats_sent_q + 3'd1;
    value_sent_q <= state_q == NuBeats && (value_sent_q || ownb_ready_i);
  end
  logic last_key_beat;
  logic [6:0] last_key_len;
  assign last_key_beat = beats_sent_q + 3'd1 == key_beats;
  assign last_key_len  = (act_q.req.klen[5:0] == '0) ? 7'd64 : 7'(act_q.req.klen[5:0]);
  assign own_done      = value_sent_q && (beats_sent_q == key_beats);
  assign ownk_valid_o  = state_q == NuBeats && beats_sent_q != key_beats;
  assign ownb_valid_o  = state_q == NuBeats && !value_sent_q;
  assign ownk_o = '{data: key_read, len: last_key_beat ? last_key_len : 7'd64,
                    last: last_key_beat};
  assign ownb_o = '{data: number_text, len: number_len_q, last: 1'b1};

  // ---------------------------------------------------------------- host software
  assign hreq_valid_o = state_q == HoReq && !key_more_q && out_free;
  assign hreq_o       = '{conn: act_q.req.conn, udp: act_q.req.udp, len: act_q.req.klen};
  assign hkey_valid_o = state_q == HoText && out_free;
  assign hkey_o       = ownk_o;

  // ---------------------------------------------------------------- flush
  // At once: the epoch moves on. Later: when the second before `exptime` begins, and once more when
  // it is over, so that items stored within it go too.
  logic [1:0] flush_wait_q;
  logic [31:0] flush_at_q;
  logic flushes;
  assign flushes = ends && !skip && act_q.req.op == OpFlush;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      epoch_q      <= '0;
      flush_wait_q <= '0;
    end else if (flushes) begin
      // A time that is past only calls a pending flush off.
      if (act_q.req.exptime == '0) epoch_q <= epoch_q + 1'b1;
      flush_wait_q <= (act_q.req.exptime > now_i) ? 2'd2 : 2'd0;
    end else if (flush_wait_q != '0 && now_i >= flush_at_q && state_q == StRun && !act_valid_q &&
                 !check_valid_q) begin
      epoch_q      <= epoch_q + 1'b1;
      flush_wait_q <= flush_wait_q - 2'd1;
    end
    if (flushes) flush_at_q <= act_q.req.exptime - 32'd1;
    else if (flush_wait_q == 2'd2 && now_i >= flush_at_q && state_q == StRun && !act_valid_q &&
             !check_valid_q)
      flush_at_q <= flush_at_q + 32'd1;
  end

  // ---------------------------------------------------------------- counters
  logic done;
  op_e op;
  assign done = act_done && !skip;
  assign op   = act_q.req.op;
  always_ff @(posedge clk_i) begin
    count_o <= '0;
    if (rst_ni) begin
      count_o[StoreCountGetHits]      <= done && is_get && alive;
      count_o[StoreCountGetMisses]    <= done && is_get && !alive;
      count_o[StoreCountExpired]      <= done && has && !alive && act_q.found.lookup;
      count_o[StoreCountTouchHits]    <= done && is_touch && alive;
      count_o[StoreCountTouchMisses]  <= done && is_touch && !alive;
      count_o[StoreCountSets]         <= done && is_store(op);
      count_o[StoreCountStored]       <= done && stores;
      count_o[StoreCountDeleteHits]   <= done && op == OpDelete && alive;
      count_o[StoreCountDeleteMisses] <= done && op == OpDelete && !alive;
      count_o[StoreCountIncrHits]     <= done && op == OpIncr && alive;
      count_o[StoreCountIncrMisses]   <= done && op == OpIncr && !alive;
      count_o[StoreCountDecrHits]     <= done && op == OpDecr && alive;
      count_o[StoreCountDecrMisses]   <= done && op == OpDecr && !alive;
      count_o[StoreCountCasHits]      <= done && op == OpCas && store_try;
      count_o[StoreCountCasMisses]    <= done && op == OpCas && !alive;
      count_o[StoreCountCasBadval]    <= done && op == OpCas && alive && !store_try;
      count_o[StoreCountFlushes]      <= flushes;
      count_o[StoreCountTooLarge]     <= done && op inside {OpTooBig, OpReply} &&
          act_q.req.reply == RpTooLarge;
      count_o[StoreCountInserts]      <= end_insert;
      count_o[StoreCountRemovals]     <= ends && !skip && clears;
      count_o[StoreCountMoves]        <= state_q == MvWrite && bucket_wr_ready_i[!move_q[3]];
      count_o[StoreCountEvictions]    <= state_q == InEvict;
      count_o[StoreCountSlow]         <= state_q == SlBuckets;
      count_o[StoreCountCut]          <= act_done && skip;
      count_o[StoreCountWaitIndex]    <= req_valid_i && !found_valid_i && !next_valid_q;
      count_o[StoreCountWaitLog]      <= next_valid_q && !data_there;
      count_o[StoreCountWaitBack]     <= act_valid_q && !out_free;
    end
  end

  assign idle_o = !next_valid_q && !check_valid_q && !act_valid_q && !req_valid_i;

  `ASSERT(KeyPortFree, !(fetch_again && act_valid_q))

endmodule
