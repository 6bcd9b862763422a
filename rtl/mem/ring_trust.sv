// Rings of which memory has refused a write. Nobody knows what it holds of them now, so it is not believed, and their
// connections are named, once for every such write, to be reset; of all other rings it is believed. This ends when the
// ring has a new connection.
//
// Of a write its ring waits here for the answer. Latency from a refusal 2. As long as nothing was refused, nobody waits;
// from then on each answer of memory waits a clock, until it is known whether it is believed.
`include "lib_assert.svh"

module ring_trust #(
  /// Rings, a power of two.
  parameter int unsigned Rings = 1024,
  /// Writes under way at most, with those that were refused and are not named yet: a power of two, 16 or more.
  parameter int unsigned MaxWrites = 512,
  localparam int unsigned RingW = $clog2(Rings),
  localparam int unsigned CountW = $clog2(MaxWrites) + 1
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// How many writes there were, and were answered, in the clocks before.
  input  logic [CountW-1:0] issued_i,
  input  logic [CountW-1:0] answered_i,
  /// A write of the clock before, which is not answered yet: its number, and its ring.
  input  logic              wr_i,
  input  logic [CountW-2:0] wr_number_i,
  input  logic [RingW-1:0]  wr_ring_i,
  /// The oldest write is answered, or refused.
  input  logic              done_i,
  input  logic              bad_i,
  /// There is room for more than three more.
  output logic              room_o,
  /// The next answer is memory's, about this ring, until it is given out; whether that may be, and it is bad.
  input  logic              turn_i,
  input  logic              gone_i,
  input  logic [RingW-1:0]  turn_ring_i,
  output logic              known_o,
  output logic              distrust_o,
  /// This ring has a new connection, and nothing is under way of the one before. Never while busy_o.
  input  logic              open_i,
  input  logic [RingW-1:0]  open_ring_i,
  output logic              busy_o,
  /// Mark the last write; some that came no later are not answered, or not named yet.
  input  logic              mark_i,
  output logic              earlier_o,
  /// To be reset.
  output logic              refused_valid_o,
  input  logic              refused_ready_i,
  output logic [RingW-1:0]  refused_ring_o,
  /// All are named.
  output logic              idle_o
);

  if (Rings < 2 || (Rings & (Rings - 1)) != 0) begin : gen_bad_rings
    $error("%m: Rings must be a power of two");
  end
  if (MaxWrites < 16 || (MaxWrites & (MaxWrites - 1)) != 0) begin : gen_bad_writes
    $error("%m: MaxWrites must be a power of two, 16 or more");
  end

  typedef logic [RingW-1:0] ring_t;
  typedef logic [CountW-1:0] count_t;

  // ---------------------------------------------------------------- whose write was refused
  logic refused_q;
  ring_t refused;
  always_ff @(posedge clk_i) refused_q <= rst_ni && done_i && bad_i;

  lib_ram #(
    .Width(RingW),
    .Depth(MaxWrites)
  ) u_writes (
    .clk_i,
    .we_i   (wr_i),
    .waddr_i(wr_number_i),
    .wbe_i  (1'b1),
    .wdata_i(wr_ring_i),
    .re_i   (done_i && bad_i),
    .raddr_i(answered_i[CountW-2:0]),
    .rdata_o(refused)
  );

  count_t open;
  assign open   = issued_i - answered_i;
  assign room_o = open < count_t'(MaxWrites - 8) && idle_o;
  `ASSERT(WriteRoom, open <= count_t'(MaxWrites))

  // ---------------------------------------------------------------- who is not believed
  // A ring's first connection is a new one, too.
  logic any_q, looked_q, listed;
  assign busy_o = refused_q;
  lib_ram #(
    .Width(1),
    .Depth(Rings)
  ) u_listed (
    .clk_i,
    .we_i   (refused_q || open_i),
    .waddr_i(refused_q ? refused : open_ring_i),
    .wbe_i  (1'b1),
    .wdata_i(refused_q),
    .re_i   (1'b1),
    .raddr_i(turn_ring_i),
    .rdata_o(listed)
  );
  `ASSERT(OpenAlone, !(open_i && busy_o))

  always_ff @(posedge clk_i) begin
    any_q    <= rst_ni && (any_q || refused_q);
    looked_q <= rst_ni && turn_i && !gone_i;
  end
  assign known_o    = looked_q || !any_q;
  assign distrust_o = any_q && listed;

  // ---------------------------------------------------------------- who is to be reset
  logic unused_refused_ready;
  logic [$clog2(MaxWrites+1)-1:0] level;
  lib_fifo #(
    .T    (ring_t),
    .Depth(MaxWrites)
  ) u_refused (
    .clk_i,
    .rst_ni,
    .s_valid_i(refused_q),
    .s_ready_o(unused_refused_ready),
    .s_data_i (refused),
    .m_valid_o(refused_valid_o),
    .m_ready_i(refused_ready_i),
    .m_data_o (refused_ring_o),
    .level_o  (level)
  );
  `ASSERT(RefusedRoom, !refused_q || unused_refused_ready)
  assign idle_o = !refused_q && level == '0;

  // ---------------------------------------------------------------- writes of before
  logic old_q;
  count_t mark_q, behind;
  assign behind    = answered_i - mark_q;
  assign earlier_o = old_q || !idle_o;
  always_ff @(posedge clk_i) begin
    old_q <= rst_ni && (mark_i || (old_q && behind[CountW-1]));
    if (mark_i) mark_q <= issued_i;
  end

endmodule
