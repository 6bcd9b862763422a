// The versions of keys: a number for a key, which is another one whenever a request has changed the key since it
// was asked for. Who has asked for it, and finds the same one later, knows that nobody has stored the key in
// between, deleted it, counted or appended to it, or set its expiry, be it that all is as it was again; if
// nothing was there, that nothing has been. What has expired, was evicted or flushed changes no version: who
// compares looks whether the key is still there, too.
//
// A table of Depth entries, one by some bits of the key's hash, the tag by others. Who is asked for takes its
// entry, and another key that had it counts as changed from then on; so do, once in 2^(TagBits + log2 Depth), changes
// of a key with the same bits. What nobody asks for never takes an entry. Changes that follow each other closely may
// count once; between two answers there is no change that does not count.
//
// A change: latency 5, initiation interval 1. A question: latency 10; it waits until all changes before it are
// counted.
`include "lib_assert.svh"

module execute_versions #(
  /// Keys that may have a version at once; a power of two. UltraRAM has 4,096.
  parameter int unsigned Depth   = 4096,
  /// Bits of the hash that tell keys of one entry apart.
  parameter int unsigned TagBits = 32
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// A request ends that has changed its key.
  input  logic        change_i,
  /// The hash of the request in act.
  input  logic [63:0] hash_i,
  /// Asks for the key's version, from the clock behind the last change on; hash_i stands. Done: it is there, as
  /// long as it is asked for.
  input  logic        ask_i,
  output logic        done_o,
  output logic [63:0] version_o
);

  localparam int unsigned PlaceBits = $clog2(Depth);
  localparam int unsigned CountBits = 72 - TagBits;
  // Clocks from a change to when it can be read, which is when a question may read.
  localparam int unsigned Settled = 5;

  if (2 ** PlaceBits != Depth) begin : gen_bad_depth
    $error("%m: Depth must be a power of two");
  end
  if (TagBits < 1 || TagBits > 64 - PlaceBits) begin : gen_bad_tag
    $error("%m: TagBits must be 1 to 64 - log2 Depth");
  end

  typedef struct packed {
    logic                 valid;
    logic                 asks;
    logic [TagBits-1:0]   tag;
    logic [PlaceBits-1:0] place;
  } step_t;
  typedef struct packed {
    logic [TagBits-1:0]   tag;
    logic [CountBits-1:0] count;
  } entry_t;

  logic [3:0] clock_q;  // of the question
  assign done_o = clock_q == 4'(2 * Settled - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !ask_i) clock_q <= '0;
    else if (!done_o) clock_q <= clock_q + 4'd1;
  end

  // ---------------------------------------------------------------- read, compare, count
  step_t key_q, read_q, found_q, count_q;
  entry_t entry, entry_q;
  logic [CountBits-1:0] count, before_q;
  logic moves_q;
  always_ff @(posedge clk_i) begin
    key_q   <= '{
        valid: change_i || clock_q == 4'(Settled - 1),
        asks: !change_i,
        tag: hash_i[PlaceBits+:TagBits],
        place: hash_i[PlaceBits-1:0]
    };
    read_q  <= key_q;
    found_q <= read_q;
    count_q <= found_q;
    if (!rst_ni) {key_q.valid, read_q.valid, found_q.valid, count_q.valid} <= '0;
  end

  lib_ram #(
    .Width($bits(entry_t)),
    .Depth(Depth),
    .Ultra(1'b1)
  ) u_entries (
    .clk_i,
    .we_i   (count_q.valid && moves_q),
    .waddr_i(count_q.place),
    .wbe_i  (1'b1),
    .wdata_i({count_q.tag, count}),
    .re_i   (key_q.valid),
    .raddr_i(key_q.place),
    .rdata_o(entry)
  );

  // A change of the entry's key, or a question about another one, which takes it.
  always_ff @(posedge clk_i) begin
    entry_q  <= entry;
    before_q <= entry_q.count;
    moves_q  <= (entry_q.tag == found_q.tag) != found_q.asks;
    if (count_q.valid && count_q.asks) version_o <= 64'(count);
  end
  assign count = before_q + CountBits'(moves_q);

  `ASSERT(Alone, !(ask_i && change_i))

endmodule
