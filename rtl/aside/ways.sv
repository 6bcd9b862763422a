// Which keys a cache has, by hash: sets of ways, each with a part of a key's hash and the number of its entry. Latency 3,
// interval 2.
//
// A set has a tag once at most. Keys with the same set and tag are not told apart here: who looks compares the key, and one
// that is put or taken displaces the other one.
//
// Software says which ways a new entry may take: a policy is a choice of ways for newcomers, and others for those that
// came up. Of these it gets an empty one, else one that was not asked for since all of them were, else the lowest.
//
// Every entry that is put comes out once: displaced, taken, dropped, or at once while all are being forgotten. Then it is the
// asker's.
`include "lib_assert.svh"

module ways
  import aside_pkg::*;
#(
  /// Sets, a power of two.
  parameter int unsigned Sets = 2048,
  /// Ways of a set.
  parameter int unsigned Ways = 8,
  /// Bits of a hash that are kept, beside those that choose the set.
  parameter int unsigned TagW = 16,
  /// Bits of the number of an entry.
  parameter int unsigned NumberW = 14
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  /// Forgets all entries, whose numbers do not come out. It takes a clock a set, in which no key is there.
  input  logic               clear_i,
  output logic               clearing_o,
  input  logic               valid_i,
  output logic               ready_o,
  input  way_e               op_i,
  input  logic        [63:0] hash_i,
  /// WayPut: the entry, and the ways that it may take, at least one. It takes the key's own if it is there. WayDrop: what
  /// goes is that which a put of another key would displace there.
  input  logic [NumberW-1:0] number_i,
  input  logic    [Ways-1:0] ways_i,
  /// Three clocks later: the key was there.
  output logic               done_o,
  output logic               hit_o,
  /// An entry came out: this one. Of WayLook: the key's entry, if it is there.
  output logic               out_o,
  output logic [NumberW-1:0] number_o
);

  localparam int unsigned SetW = $clog2(Sets);
  if (Sets < 2 || (Sets & (Sets - 1)) != 0 || SetW + TagW > 64) begin : gen_misuse
    $error("%m: Sets must be a power of two, and log2(Sets) + TagW no more than 64");
  end
  typedef logic [SetW-1:0] set_t;
  typedef logic [TagW-1:0] tag_t;
  typedef logic [NumberW-1:0] number_t;
  typedef logic [Ways-1:0] mask_t;
  typedef struct packed {
    logic    valid;
    logic    used;
    tag_t    tag;
    number_t number;
  } way_t;

  function automatic mask_t lowest(input mask_t mask);
    return mask_t'(lib_pkg::lowest(64'(mask)));
  endfunction

  // ---------------------------------------------------------------- sweep: all is forgotten
  logic clearing_q, busy_q, take;
  set_t place_q;
  logic valid1_q, blank1_q, valid2_q, blank2_q;
  assign clearing_o = clearing_q;
  assign ready_o    = !busy_q;
  assign take       = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      clearing_q <= 1'b1;
      place_q    <= '0;
    end else if (clearing_q) begin
      clearing_q <= place_q != '1;
      place_q    <= place_q + 1'b1;
    end
    busy_q <= rst_ni && take;
  end

  // ---------------------------------------------------------------- match: which way has the tag
  way_e op1_q, op2_q;
  set_t set, set1_q, set2_q;
  tag_t tag1_q, tag2_q;
  number_t number1_q, number2_q;
  mask_t ways1_q, ways2_q, match, match2_q;
  way_t [Ways-1:0] word, now, now2_q, next, last_q;
  logic same_q;
  assign set = hash_i[SetW-1:0];
  // The RAM does not have yet what became of the one before.
  assign now = same_q ? last_q : word;

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) match[w] = now[w].valid && now[w].tag == tag1_q;
    if (blank1_q || op1_q == WayDrop) match = '0;
  end

  always_ff @(posedge clk_i) begin
    valid1_q  <= rst_ni && take;
    valid2_q  <= rst_ni && valid1_q;
    blank1_q  <= clearing_q || clear_i;
    blank2_q  <= blank1_q;
    op1_q     <= op_i;
    op2_q     <= op1_q;
    set1_q    <= set;
    set2_q    <= set1_q;
    tag1_q    <= hash_i[SetW+:TagW];
    tag2_q    <= tag1_q;
    number1_q <= number_i;
    number2_q <= number1_q;
    ways1_q   <= ways_i;
    ways2_q   <= ways1_q;
    same_q    <= valid2_q && !blank2_q && set == set2_q;
    now2_q    <= now;
    last_q    <= next;
    match2_q  <= match;
  end

  // ---------------------------------------------------------------- choose a way, change the set
  mask_t valid, used, empty, idle, chosen;
  logic put, places, refused, out;
  number_t number;

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      valid[w] = now2_q[w].valid;
      used[w]  = now2_q[w].used;
    end
    put     = op2_q == WayPut;
    // What is forgotten stands there still.
    places  = put || (op2_q == WayDrop && !blank2_q);
    refused = put && blank2_q;
    empty   = ways2_q & ~valid;
    idle    = ways2_q & ~used;
    if (match2_q != '0 || !places) chosen = match2_q;
    else if (empty != '0) chosen = lowest(empty);
    else if (idle != '0) chosen = lowest(idle);
    else chosen = lowest(ways2_q);

    out    = refused || (op2_q != WayLook && (chosen & valid) != '0);
    number = refused ? number2_q : '0;
    next   = now2_q;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (chosen[w] && !refused) number |= now2_q[w].number;
      // A round is over.
      if (places && match2_q == '0 && empty == '0 && idle == '0 && ways2_q[w]) next[w].used = 1'b0;
      if (chosen[w]) begin
        unique case (op2_q)
          WayLook: next[w].used = 1'b1;
          WayPut:  next[w] = '{valid: 1'b1, used: 1'b0, tag: tag2_q, number: number2_q};
          default: next[w].valid = 1'b0;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    done_o   <= rst_ni && valid2_q;
    hit_o    <= match2_q != '0;
    out_o    <= out;
    number_o <= number;
  end

  lib_ram #(
    .Width($bits(next)),
    .Depth(Sets)
  ) u_sets (
    .clk_i,
    // What those that were taken before would write is forgotten with the rest.
    .we_i   (clearing_q || (valid2_q && !blank2_q)),
    .waddr_i(clearing_q ? place_q : set2_q),
    .wbe_i  (1'b1),
    .wdata_i(clearing_q ? '0 : next),
    .re_i   (1'b1),
    .raddr_i(set),
    .rdata_o(word)
  );

  `ASSERT(OneTag, !valid1_q || (match & (match - 1'b1)) == '0)
  `ASSERT(SomeWay, !(valid2_q && places) || ways2_q != '0)

endmodule
