// Where a new entry goes: into a free way of the emptier one of its buckets; if there is none, an
// entry moves to its other bucket, the first that finds a free way there; else the least used one
// is evicted. Latency 5 clocks where a way is free. Also renews the two buckets of a request, in 6 clocks.
module execute_insert
  import lib_pkg::*;
  import store_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  /// log2 of the number of buckets.
  input  logic [4:0]        index_bits_i,
  input  log_range_t        range_i,
  /// An entry moves from an even bucket to an odd one only.
  input  logic              one_way_i,
  /// Renew the request's buckets.
  input  logic              renew_i,
  output logic              renew_done_o,
  /// Begin: the request's buckets stand here in the next clock. The entry is written, last of all.
  input  logic              start_i,
  input  op_t               op_i,
  output logic              done_o,
  /// A request has ended: the next eviction begins at another way.
  input  logic              turn_i,
  /// Read the request's buckets; they stand here in the next clock. The way of this entry of them.
  output logic              buckets_o,
  input  bucket_t [1:0]     buckets_i,
  input  logic [1:0]        epoch_fits_i,
  output logic [15:0]       pick_o,
  input  way_t              way_i,  // its tag tells the other bucket
  /// An entry's other bucket: acquire, respond and read (both at once), release. Hints: see line_cache.
  output logic [1:0]        acq_valid_o,
  input  logic [1:0]        acq_ready_i,
  output line_no_t          acq_line_o,
  output logic              acq_hint_o,
  input  logic [1:0]        rsp_valid_i,
  output logic [1:0]        rsp_ready_o,
  input  index_slot_t [1:0] rsp_slot_i,
  output logic [1:0]        rel_o,
  /// A way to be written: with the entry that was picked (move), or with the new one.
  output insert_t           put_o,
  input  logic              put_ready_i,
  output logic              moved_o,
  output logic              evicted_o
);

  typedef enum logic [4:0] {
    InIdle,
    ReBuckets,
    ReFree,
    ReEven,
    ReOdd,
    InFree,
    InCount,
    InChoose,
    InWrite,
    MvBuckets,
    MvPick,
    MvOther,
    MvOtherWait,
    MvOtherRead,
    MvOtherFree,
    MvWrite,
    InLeast,
    InEvict
  } state_e;

  /// A way is free if it never held anything, if its item is gone from the log, or if the bucket
  /// was flushed.
  function automatic logic [7:0] free_ways(input off_sight_t [7:0] seen, input logic fits);
    for (int w = 0; w < 8; w++) free_ways[w] = !fits || !off_stands(seen[w]);
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
  function automatic logic [15:0] evicted(input logic [15:0][1:0] uses, input logic [1:0] level,
                                          input logic [3:0] turn);
    logic [15:0] least, upper;
    for (int i = 0; i < 16; i++) least[i] = uses[i] == level;
    upper = least & ({16{1'b1}} << turn);
    return 16'((upper != '0) ? lowest(64'(upper)) : lowest(64'(least)));
  endfunction

  state_e state_q, state_d;
  logic [15:0] free, insert_q;  // ways; that for the new entry
  // What stands in the buckets that were read, and as it was seen: out of the cache it comes late.
  off_sight_t [1:0][7:0] read_seen, seen_q;
  off_sight_t [7:0] other_seen_q;
  logic [1:0] fits_q;
  logic other_fits_q;
  logic [15:0][1:0] uses_q;
  logic [1:0] least_uses_q;
  logic [3:0] turn_q;  // spreads evictions over the ways
  logic [3:0] move_q;  // entry that might move
  logic bank_q, other_bank, odd_q;  // of insert_q
  logic looked_q, hinted_q;  // the entry further on is picked; its hint was taken
  logic [15:0] least;
  line_no_t mask, other_line_q;
  index_slot_t other_slot_q;
  logic [7:0] other_free;
  logic [7:0][1:0] other_uses_q;

  assign least      = evicted(uses_q, least_uses_q, turn_q);
  assign other_bank = !move_q[3];
  always_comb begin
    for (int b = 0; b < 2; b++)
    for (int w = 0; w < 8; w++) read_seen[b][w] = off_sight(buckets_i[b].ways[w].off, range_i);
  end
  assign free       = {free_ways(seen_q[1], fits_q[1]), free_ways(seen_q[0], fits_q[0])};
  assign other_free = free_ways(other_seen_q, other_fits_q);
  assign mask = line_mask(index_bits_i);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      InIdle:      if (renew_i) state_d = ReBuckets;
                   else if (start_i) state_d = InFree;
      ReBuckets:   state_d = ReFree;
      ReFree:      state_d = ReEven;
      ReEven:      if (put_ready_i) state_d = ReOdd;
      ReOdd:       if (put_ready_i) state_d = InIdle;
      InFree:      state_d = InCount;
      InCount:     state_d = InChoose;
      InChoose:    state_d = (free != '0) ? InWrite : MvBuckets;
      InWrite:     if (put_ready_i) state_d = InIdle;
      MvBuckets:   state_d = MvPick;
      MvPick:      state_d = MvOther;
      MvOther:     if (acq_ready_i[other_bank]) state_d = MvOtherWait;
      MvOtherWait: if (rsp_valid_i[other_bank]) state_d = MvOtherRead;
      MvOtherRead: state_d = MvOtherFree;
      MvOtherFree: if (other_free != '0) state_d = MvWrite;
                   else state_d = (move_q == {!one_way_i, 3'd7}) ? InLeast : MvBuckets;
      MvWrite:     if (put_ready_i) state_d = InWrite;
      InLeast:     state_d = InEvict;
      InEvict:     state_d = InWrite;
      default:     state_d = InIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= InIdle;
      turn_q  <= '0;
    end else begin
      state_q <= state_d;
      if (turn_i) turn_q <= turn_q + 1'b1;
    end

    unique case (state_q)
      InIdle: move_q <= '0;
      ReFree, InFree: begin
        seen_q <= read_seen;
        fits_q <= epoch_fits_i;
        uses_q <= {buckets_i[1].uses, buckets_i[0].uses};
      end
      // The emptier bucket; its first free way.
      InCount: odd_q <= ones(free[7:0]) < ones(free[15:8]);
      InChoose: begin
        insert_q <= odd_q ? {8'(lowest(64'(free[15:8]))), 8'd0}
                        : {8'd0, 8'(lowest(64'(free[7:0])))};
        bank_q   <= odd_q;
      end
      MvPick: begin
        insert_q <= 16'd1 << move_q;
        bank_q   <= move_q[3];
      end
      MvOther: begin
        other_line_q <= acq_line_o;
        looked_q     <= 1'b0;
        hinted_q     <= 1'b0;
      end
      MvOtherWait: begin
        other_slot_q <= rsp_slot_i[other_bank];
        looked_q     <= 1'b1;
        if (acq_hint_o && acq_ready_i[other_bank]) hinted_q <= 1'b1;
      end
      MvOtherRead: begin
        other_seen_q  <= read_seen[other_bank];
        other_fits_q  <= epoch_fits_i[other_bank];
        other_uses_q  <= buckets_i[other_bank].uses;
      end
      // Of both buckets by turns: so lookup has the first of them fetched by both caches at once.
      MvOtherFree:
      if (other_free == '0)
        move_q <= one_way_i ? move_q + 4'd1 : {!move_q[3], move_q[2:0] + 3'(move_q[3])};
      InLeast: least_uses_q <= least_uses(uses_q);
      InEvict: begin
        insert_q <= least;
        bank_q   <= least[15:8] != '0;
        // Uses count down with every eviction, so that they fade.
        for (int i = 0; i < 16; i++) uses_q[i] <= uses_q[i] - least_uses_q;
      end
      default: ;
    endcase
  end

  assign done_o     = state_q == InWrite && put_ready_i;
  assign renew_done_o = state_q == ReOdd && put_ready_i;
  assign buckets_o  = state_q inside {MvBuckets, ReBuckets};
  assign moved_o    = state_q == MvWrite && put_ready_i;
  assign evicted_o  = state_q == InEvict;

  // Meanwhile the other bucket of an entry further on is fetched: lookup has done so for the first of them. Then
  // this one is picked once more, to be moved.
  assign acq_hint_o = state_q == MvOtherWait && looked_q && !hinted_q && !move_q[2];
  always_comb begin
    pick_o = '0;
    if (state_q inside {MvPick, MvOtherRead}) pick_o = 16'd1 << move_q;
    else if (state_q == MvOtherWait && !looked_q) pick_o = 16'd1 << (move_q | 4'(AheadWays));
  end

  assign acq_line_o = op_i.found.line[move_q[3]] ^ (other_line(way_i.tag) & mask);
  always_comb begin
    acq_valid_o = '0;
    rsp_ready_o = '0;
    rel_o       = '0;
    acq_valid_o[other_bank] = state_q == MvOther || acq_hint_o;
    rsp_ready_o[other_bank] = state_q == MvOtherWait;
    rel_o[other_bank]       = (state_q == MvOtherFree && other_free == '0) || moved_o;
  end

  always_comb begin
    put_o = '{
        valid: state_q == InWrite,
        move: 1'b0,
        bank: bank_q,
        slot: op_i.found.slot[bank_q],
        line: op_i.found.line[bank_q],
        way: insert_q[7:0] | insert_q[15:8],
        renew: 1'b0,
        empty: '0,
        uses: bank_q ? uses_q[15:8] : uses_q[7:0]
    };
    if (state_q inside {ReEven, ReOdd})
      put_o = '{
          valid: 1'b1,
          move: 1'b1,
          bank: state_q == ReOdd,
          slot: op_i.found.slot[state_q==ReOdd],
          line: op_i.found.line[state_q==ReOdd],
          way: '0,
          renew: 1'b1,
          empty: (state_q == ReOdd) ? free[15:8] : free[7:0],
          uses: (state_q == ReOdd) ? uses_q[15:8] : uses_q[7:0]
      };
    if (state_q == MvWrite)
      put_o = '{
          valid: 1'b1,
          move: 1'b1,
          bank: other_bank,
          slot: other_slot_q,
          line: other_line_q,
          way: 8'(lowest(64'(other_free))),
          renew: 1'b1,
          empty: other_free,
          uses: other_uses_q
      };
  end

endmodule
