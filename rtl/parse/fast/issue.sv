// A request leaves the fast path: its record, its key, its numbers; what it stores as soon as all of it
// has come. Latency 1, initiation interval 1; 2 for what stores with a key that the payload mover moves. Who has his key with him
// waits until the payload mover has none. A CAS unique takes two clocks more.
module issue
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  /// What the sequencer has decided, the request that it is about, and its job; taken only while free.
  input  logic     take_i,
  output logic     free_o,
  input  walk_t    walk_i,
  /// It stands in a line of keys, whose first part has been taken.
  input  logic     keys_i,
  input  cand_t    cand_i,
  /// Of a candidate with flags what they say.
  input  flags_t   flags_i,
  input  job_t     job_i,
  input  place_t   job_start_i,
  /// The next line that comes; where the CR LF behind the data should be, and whether it is.
  input  line_no_t coming_i,
  output place_t   cr_o,
  output place_t   lf_o,
  input  logic     crlf_i,
  /// Requests; their numbers come a clock later.
  output out_t     out_o,
  output numbers_t numbers_o,
  /// What the payload mover moves: a key, and a value, which leaves with its record. Until then its bytes must stay where they
  /// are. Keys are on their way.
  output logic     item_valid_o,
  input  logic     item_ready_i,
  output item_t    item_o,
  output logic     item_waits_o,
  input  logic     keys_move_i,
  /// Pulses: a request line, one that is not complete.
  output logic     line_o,
  output logic     rollback_o,
  output logic     busy_o
);

  // Digits by their weight, which a product takes a clock to give.
  typedef struct packed {
    logic [13:0] high;  // times 100,000,000
    logic [26:0] mid;
    logic [13:0] low;
  } number_t;
  function automatic number_t weighed(input digits_t digits);
    return '{high: digits.high, mid: 27'(digits.mid) * 27'd10000, low: digits.low};
  endfunction
  function automatic logic [40:0] joined(input number_t number);
    return 41'(number.high) * 41'd100000000 + 41'(number.mid + 27'(number.low));
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  walk_t walk_q;  // all but its place
  cand_t cand_q;  // all but places and digits
  flags_t flags_q;  // all but what is the candidate's now
  job_t job_q;    // what records say of their job
  // verilator lint_on UNUSEDSIGNAL
  logic valid_q, back_q, take, done, ready, key_go, key_gone_q;
  place_t cr_q, lf_q, key_q;
  logic [13:0] pos_q;
  number_t a_q, b_q;
  logic whole_q;  // they are no groups of digits
  // What the first part of a line says for all its keys.
  logic keys_cas_out_q, keys_touch_q;
  number_t keys_exptime_q;

  // A CAS unique: products, sums of them, the products of the upper one's halves, a sum. 10^8 is 5^8 times 2^8.
  localparam logic [18:0] FiveTo8 = 19'd390625;
  logic [1:0][26:0] unique_mid_q, unique_half_q;
  logic [1:0][13:0] unique_low_q;
  logic [1:0][32:0] unique_part_q;
  logic [26:0] unique_rest_q;
  logic [53:0] unique_no;
  logic [1:0] unique_q;  // clocks since they were taken
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 2; i++) begin
      if (free_o) begin
        unique_mid_q[i] <= 27'(cand_i.unique_no[2*i+1]) * 27'd10000;
        unique_low_q[i] <= cand_i.unique_no[2*i];
      end
      unique_half_q[i] <= unique_mid_q[i] + 27'(unique_low_q[i]);
    end
    unique_part_q[1] <= 33'(unique_half_q[1][26:13]) * 33'(FiveTo8);
    unique_part_q[0] <= 33'(unique_half_q[1][12:0]) * 33'(FiveTo8);
    unique_rest_q    <= unique_half_q[0];
    if (free_o) unique_q <= '0;
    else if (!unique_q[1]) unique_q <= unique_q + 2'd1;
  end
  assign unique_no = 54'({unique_part_q[1], 21'd0}) + 54'({unique_part_q[0], 8'd0}) +
      54'(unique_rest_q);

  assign take   = take_i && (walk_i.kind != WkRequest || cand_i.record);
  assign free_o = !valid_q || done;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (take) valid_q <= 1'b1;
    else if (done) valid_q <= 1'b0;
    if (!rst_ni) back_q <= 1'b0;
    else back_q <= take && walk_i.back;
    // Whether it is taken is known too late for so much.
    if (free_o) begin
      walk_q         <= walk_i;
      job_q          <= job_i;
      cand_q         <= cand_i;
      flags_q        <= flags_i;
      if (cand_i.flags) begin
        cand_q.noreply   <= flags_i.quiet;
        cand_q.shows     <= flags_i.value;
        cand_q.exptime_a <= 1'b0;
        if (flags_i.decr) cand_q.op <= OpDecr;
      end
      whole_q        <= cand_i.binary.is || cand_i.flags;
      cand_q.store   <= cand_i.store && walk_i.kind == WkRequest;
      cand_q.moved   <= cand_i.moved && walk_i.kind == WkRequest;
      cand_q.cas_out <= cand_i.key ? keys_cas_out_q : cand_i.cas_out;
      cand_q.touch   <= cand_i.binary.is ? cand_i.touch : cand_i.key && keys_touch_q;
      cr_q           <= cand_i.next - 14'd2;
      lf_q           <= cand_i.next - 14'd1;
      key_q          <= cand_i.place + 14'(cand_i.key_at);
      // Both are there before it is known which.
      pos_q          <= (walk_i.kind == WkRequest) ? cand_i.next - job_start_i :
                                                     walk_i.from - job_start_i;
      a_q            <= cand_i.key ? keys_exptime_q : weighed(cand_i.a);
      b_q            <= weighed(cand_i.b);
      if (cand_i.binary.is) begin
        a_q <= 55'(cand_i.a);
        b_q <= 55'(cand_i.b);
      end
      if (cand_i.flags) begin
        a_q <= 55'(flags_i.number);
        b_q <= 55'(flags_i.seconds);
      end
    end
    if (!keys_i) begin
      keys_cas_out_q <= cand_i.cas_out;
      keys_touch_q   <= cand_i.touch;
      keys_exptime_q <= weighed(cand_i.a);
    end
  end

  // What is to be taken back is taken back a clock before. An item's data ends with CR LF, or was bad. Whether the
  // line with that LF is here was known a clock before: with what is taken it is told of the line where the next
  // request starts, which is that one or the one behind.
  function automatic logic come(input line_no_t no);
    line_no_t ahead;
    ahead = coming_i - no;
    return !ahead[7] && ahead != '0;
  endfunction
  logic arrived_q;
  always_ff @(posedge clk_i) arrived_q <= free_o ? come(cand_i.next.line) : come(lf_q.line);
  assign ready  = valid_q && !back_q && (!cand_q.store || arrived_q) &&
      (item_ready_i || !(cand_q.store || cand_q.moved)) &&
      (cand_q.moved || !keys_move_i || walk_q.kind != WkRequest) &&
      (cand_q.op != OpCas || unique_q[1] || walk_q.kind != WkRequest);
  assign key_go = ready && cand_q.moved && !key_gone_q;
  assign done   = ready && !(key_go && cand_q.store);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || done) key_gone_q <= 1'b0;
    else if (key_go) key_gone_q <= 1'b1;
  end
  assign cr_o    = cr_q;
  assign lf_o    = lf_q;

  logic request, bad;
  always_comb begin
    request = done && walk_q.kind == WkRequest;
    bad     = cand_q.store && !crlf_i && !cand_q.binary.is && !cand_q.resp;

    out_o               = '0;
    out_o.rec_do.push   = done && walk_q.kind != WkByte;
    out_o.rec_do.commit = done && walk_q.commit;
    out_o.rec_do.back   = back_q;
    out_o.key_do.push   = request && !bad && cand_q.op != OpReply && !cand_q.moved;
    out_o.key_do.commit = request && walk_q.commit;
    out_o.key_do.back   = back_q;
    // Bad data is put into the log, too.
    out_o.putk_do.push   = request && cand_q.store && !cand_q.moved;
    out_o.putk_do.commit = out_o.putk_do.push;
    out_o.put_push      = request && cand_q.store;

    out_o.rec.pos          = pos_q;
    out_o.rec.req.op       = OpEnd;
    out_o.rec.req.ctx_op   = OpEnd;
    out_o.rec.req.udp      = job_q.udp;
    out_o.rec.req.conn     = job_q.visit.conn;
    out_o.rec.req.db       = job_q.ctx.db;
    out_o.rec.req.binary   = '{is: job_q.ctx.binary.is, default: '0};
    out_o.rec.req.resp     = job_q.ctx.resp;
    out_o.rec.req.first    = walk_q.first;
    out_o.rec.req.tx_ptr   = job_q.visit.tx_ptr;
    out_o.rec.req.tx_space = job_q.visit.tx_space;
    out_o.rec.req.rx_ptr   = job_q.ctx.rx_ptr;
    out_o.rec.req.reply    = RpNone;
    out_o.rec.req.mode     = MdLine;
    out_o.rec.req.rem      = walk_q.rem;
    // Of a datagram nothing more comes: see dgram_queue.
    if (job_q.udp && walk_q.rem != '0) out_o.rec.req.resp.all = 1'b1;
    if (walk_q.kind == WkRequest) begin
      out_o.rec.req.op       = cand_q.op;
      out_o.rec.req.ctx_op   = cand_q.op;
      out_o.rec.req.noreply  = cand_q.noreply;
      out_o.rec.req.cas_out  = cand_q.cas_out;
      out_o.rec.req.touch    = cand_q.touch;
      out_o.rec.req.last_key = cand_q.keys && !walk_q.more;
      out_o.rec.req.binary   = cand_q.binary;
      out_o.rec.req.klen     = cand_q.klen;
      out_o.rec.req.meta.is    = cand_q.meta;
      out_o.rec.req.meta.get   = cand_q.meta && cand_q.op == OpGet;
      out_o.rec.req.meta.value = cand_q.meta && cand_q.shows &&
          cand_q.op inside {OpGet, OpIncr, OpDecr};
      if (cand_q.flags) begin
        out_o.rec.req.meta.retimed   = flags_q.retimed;
        out_o.rec.req.meta.sets_time = flags_q.timed && !cand_q.store && cand_q.op != OpGet;
        out_o.rec.req.meta.stale     = flags_q.stale;
        out_o.rec.req.meta.show      = flags_q.show;
        out_o.rec.req.opaque         = flags_q.opaque;
        out_o.rec.req.touch          = flags_q.timed && cand_q.op == OpGet;
      end
      if (cand_q.op == OpReply) out_o.rec.req.reply = RpOk;
      if (cand_q.resp) begin
        out_o.rec.req.resp.form = cand_q.form;
        out_o.rec.req.num       = 64'(walk_q.left);
        if (cand_q.op == OpReply) out_o.rec.req.reply = (cand_q.form == RfArray) ? RpNone : RpPong;
        // Its keys may be another job's.
        if (cand_q.form == RfArray) out_o.rec.req.ctx_op = OpGet;
      end
      out_o.rec.req.vlen = cand_q.store ? 21'(cand_q.vlen) : '0;
      if (walk_q.more) out_o.rec.req.mode = MdKeys;
      if (cand_q.store) out_o.rec.off_sel = OsNew;
      out_o.rec.use_flags   = cand_q.store;
      out_o.rec.use_exptime = cand_q.store || cand_q.touch || cand_q.op == OpTouch ||
          (cand_q.flags && flags_q.timed);
      out_o.rec.use_number  = cand_q.op inside {OpIncr, OpDecr, OpCas};
      if (bad) begin
        out_o.rec.req.op    = OpReply;
        out_o.rec.req.reply = (cand_q.noreply && !cand_q.meta) ? RpNone : RpBadChunk;
      end
    end

    out_o.key.data  = cand_q.data;
    out_o.key.len   = cand_q.klen[6:0];
    out_o.key.last  = 1'b1;
    out_o.put.start = 1'b1;
    out_o.put.conn  = job_q.visit.conn;
    out_o.put.db    = job_q.ctx.db;
    out_o.put.klen  = cand_q.klen;
    out_o.put.vlen  = 21'(cand_q.vlen);
  end

  logic [40:0] a;
  logic [31:0] b;
  always_comb begin
    a = whole_q ? 41'(a_q) : joined(a_q);
    b = whole_q ? 32'(b_q) : 32'(joined(b_q));
  end
  always_ff @(posedge clk_i) begin
    if (done) begin
      numbers_o         <= '0;
      numbers_o.flags   <= a[31:0];
      numbers_o.exptime <= cand_q.exptime_a ? a[31:0] : b;
      numbers_o.number  <= (cand_q.op == OpCas) ? 64'(unique_no) : 64'(a);
      if (cand_q.resp) begin
        numbers_o.flags    <= '0;
        numbers_o.relative <= cand_q.timed;
        numbers_o.expiry   <= cand_q.timed ? 48'(a) : '0;
      end
    end
  end

  assign line_o       = request && walk_q.commit;
  assign rollback_o   = done && walk_q.kind == WkEnd && walk_q.rem != '0;
  // Bad data has no request, but its item takes its key along.
  assign item_valid_o = key_go || (request && cand_q.store);
  always_comb begin
    item_o = '{place: cand_q.value, len: 14'(cand_q.vlen), default: '0};
    if (cand_q.moved && !key_gone_q)
      item_o = '{place: key_q, len: 14'(cand_q.klen), request: !bad, item: cand_q.store};
  end
  assign item_waits_o = valid_q && (cand_q.store || cand_q.moved);
  assign busy_o       = valid_q;

endmodule
