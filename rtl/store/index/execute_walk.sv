// Looks for the next bucket in which anything stands, for a walk through the index: from a place on to the end of
// its 64 buckets of a bank. Where there is nothing it goes on to the next group that may hold something
// (execute_groups), and ends there. Many buckets are on their way at once, and one is looked at every second clock; the
// bucket that was found is acquired once more, alone, since what comes behind it must be let go first. 64 buckets in
// which nothing is found take 200 to 300 clocks where memory takes 40; whoever is behind waits so long.
//
// Even buckets come first, then the odd ones. While entries move from even buckets to odd ones only
// (`one_way`), who goes through all of it meets each item that is there all the time: where it was, or where it
// has moved to. A set writes the way that its key has.
`include "lib_assert.svh"

module execute_walk
  import host_pkg::*;
  import store_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  /// log2 of the number of buckets.
  input  logic [4:0]        index_bits_i,
  /// Walk, from this place on. Pulses.
  input  logic              start_i,
  input  walk_place_t       from_i,
  output logic              done_o,
  /// Groups that may hold something: search from this bucket on; the bucket where that ends.
  output logic              seek_o,
  output logic              seek_bank_o,
  output line_no_t          seek_line_o,
  input  logic              sought_i,
  input  line_no_t          sought_line_i,
  /// The request ends; until then: ways that hold something, of both banks, their bucket's place, and its slot.
  input  logic              act_done_i,
  output logic [15:0]       ways_o,
  output walk_place_t       place_o,
  output index_slot_t       slot_o,
  /// The buckets as they were read.
  input  bucket_t [1:0]     buckets_i,  // what stands in their ways is for others
  input  logic [1:0]        epoch_fits_i,
  /// Index caches: class ClassExecute. What is taken is read, and stands here in the next clock.
  output logic [1:0]        acq_valid_o,
  input  logic [1:0]        acq_ready_i,
  output line_no_t          acq_line_o,
  input  logic [1:0]        rsp_valid_i,
  output logic [1:0]        rsp_ready_o,
  input  index_slot_t [1:0] rsp_slot_i,
  output logic [1:0]        rel_o
);

  typedef enum logic [2:0] {
    WlIdle,
    WlGroup,    // whether its group may hold something
    WlSeek,
    WlNext,     // the next group
    WlAcquire,  // the bucket that was found
    WlWait,
    WlHold
  } state_e;

  state_e state_q;
  // verilator lint_off UNUSEDSIGNAL
  walk_place_t from_q;  // it is not behind the end
  // verilator lint_on UNUSEDSIGNAL
  walk_place_t place_q;
  line_no_t next_q, mask_q;
  logic [$clog2(WalkAhead+1)-1:0] way_q;  // on their way
  logic full_q;  // no more may be on their way, of which one may be about to go
  logic look_q, seen_q;  // a bucket is looked at; what stands in it is in ways_q
  logic issued_q, found_q, finds, takes, issues, bank, last, drained, empty, at_end, may_hold;
  logic [7:0] ways, ways_q, met;  // these are of this epoch
  logic fits_q;
  logic [1:0][7:0] there;
  index_slot_t slot_q;
  assign bank = from_q.bank;
  always_ff @(posedge clk_i) mask_q <= line_mask(index_bits_i);
  assign last = (next_q & mask_q) == mask_q || next_q[5:0] == '1;

  // What stands in it, the first of all from its way on.
  always_comb begin
    for (int b = 0; b < 2; b++)
    for (int w = 0; w < 8; w++) there[b][w] = buckets_i[b].ways[w].off.lap != '0;
    ways = there[bank];
    if (place_q.line == from_q.line) ways &= 8'hff << from_q.way;
  end

  assign issues  = acq_valid_o[bank] && acq_ready_i[bank];
  assign takes   = rsp_valid_i[bank] && rsp_ready_o[bank];
  assign finds   = seen_q && met != '0;
  assign met     = fits_q ? ways_q : '0;
  assign drained = way_q == '0 && !look_q && !seen_q;
  assign empty   = state_q == WlSeek && issued_q && drained && !found_q;

  // Places are told by the last bucket before them.
  assign seek_o      = (state_q == WlIdle && start_i) || (empty && !at_end);
  assign seek_bank_o = (state_q == WlIdle) ? from_i.bank : bank;
  assign seek_line_o = (state_q == WlIdle) ? from_i.line : place_q.line + 26'd1;
  assign at_end      = place_q.line == mask_q;
  assign may_hold    = sought_line_i == from_q.line;
  always_comb begin
    acq_valid_o       = '0;
    rsp_ready_o       = '0;
    rel_o             = '0;
    acq_valid_o[bank] = state_q == WlAcquire ||
        (state_q == WlSeek && !issued_q && !found_q && !full_q);
    rsp_ready_o[bank] = state_q == WlWait || (state_q == WlSeek && !look_q && way_q != '0);
    rel_o[bank]       = (state_q == WlSeek && look_q) ||
                        (state_q == WlHold && act_done_i && found_q);
  end
  assign acq_line_o = (state_q == WlAcquire) ? place_q.line : next_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= WlIdle;
    end else begin
      unique case (state_q)
        WlIdle: if (start_i) state_q <= WlGroup;
        WlGroup: if (sought_i) state_q <= may_hold ? WlSeek : WlHold;
        WlSeek: if ((issued_q || found_q) && drained)
          state_q <= found_q ? WlAcquire : at_end ? WlHold : WlNext;
        WlNext: if (sought_i) state_q <= WlHold;
        WlAcquire: if (issues) state_q <= WlWait;
        WlWait: if (takes) state_q <= WlHold;
        default: if (act_done_i) state_q <= WlIdle;
      endcase
    end
    look_q <= takes && state_q == WlSeek;
    seen_q <= look_q && !found_q;
    full_q <= 32'(way_q) >= WalkAhead - 1;
    if (state_q == WlIdle) begin
      from_q   <= from_i;
      place_q  <= from_i;
      next_q   <= from_i.line;
      way_q    <= '0;
      issued_q <= 1'b0;
      found_q  <= 1'b0;
      ways_q   <= '0;
      look_q   <= 1'b0;
      seen_q   <= 1'b0;
    end else begin
      way_q <= way_q + 6'(issues) - 6'(takes);
      if (issues && state_q == WlSeek) begin
        next_q   <= next_q + 26'd1;
        issued_q <= last;
      end
      // Where nothing was found it ends at the last one.
      if (look_q && !found_q) begin
        ways_q <= ways;
        fits_q <= epoch_fits_i[bank];
      end
      if (finds) found_q <= 1'b1;
      else if (seen_q && !(issued_q && way_q == '0)) place_q.line <= place_q.line + 26'd1;
      else if (sought_i && !(state_q == WlGroup && may_hold)) place_q.line <= sought_line_i - 26'd1;
      if (state_q == WlWait && takes) slot_q <= rsp_slot_i[bank];
    end
  end

  assign done_o  = (state_q == WlWait && takes) || (empty && at_end) ||
      (sought_i && (state_q == WlNext || (state_q == WlGroup && !may_hold)));
  assign ways_o  = bank ? {met, 8'd0} : {8'd0, met};
  assign place_o = place_q;
  assign slot_o  = slot_q;

  `ASSERT(Within, acq_valid_o == '0 || acq_line_o <= mask_q || from_q.line > mask_q)
  `ASSERT(Alone, !(start_i && state_q != WlIdle))

endmodule
