// Says whether what is known of a key is the newest that a client may have been shown: versions and open writes, by key hash
// and for all keys. Latency 3, interval 1; while writes are forgotten, 2.
//
// Keys that have the same hash share an entry: one's write then refuses the other's fills, and no more. The version of a
// key is its entry's and that of all keys, added. Both only rise, at most one of them in a clock; so it is the same only if
// both are, as long as fewer than 2^32 clocks have passed, which the age of a ticket ensures at up to 465 MHz.
//
// What comes back goes first: it is what ends the waiting of a writer whose count is full. There is no more of it than has
// left. A count stays up until its write is closed, however long; who may have lost one forgets all.
`include "lib_assert.svh"

module guard
  import aside_pkg::*;
#(
  /// Entries, a power of two: a few times the writes that are open at once.
  parameter int unsigned Entries = 16384,
  /// Bits of an entry's count of open writes, and of that of all keys: a command names fewer keys, or all.
  parameter int unsigned CountW = 8,
  /// Bits of a version that are used: all of a ticket's but in proofs.
  parameter int unsigned VersionW = 32,
  /// Fills are refused that left this many seconds of 1,024 ms ago; at 9 none is taken that is older than 9.3 s.
  parameter int unsigned MaxAge = 9,
  /// In UltraRAM instead of block RAM.
  parameter bit Ultra = 0
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// One-clock pulse each millisecond.
  input  logic                       tick_i,
  /// What leaves: before the server has it.
  input  logic                       go_valid_i,
  output logic                       go_ready_o,
  input  go_e                        go_op_i,
  input  logic [$clog2(Entries)-1:0] go_index_i,
  /// Three clocks later: no write is open, so an entry may be served or the ticket be taken; the write is open, and is
  /// asked again if it is not.
  output logic                       go_done_o,
  output logic                       go_ok_o,
  output ticket_t                    go_ticket_o,
  /// What comes back: a write before or after its client is told, when its entries are out.
  input  logic                       back_valid_i,
  output logic                       back_ready_o,
  input  back_e                      back_op_i,
  input  logic [$clog2(Entries)-1:0] back_index_i,
  input  ticket_t                    back_ticket_i,
  /// Three clocks later: the value may fill, before what is said to what came later; there was a write to close.
  output logic                       back_done_o,
  output logic                       back_ok_o,
  /// All writes are being forgotten, as after reset. Nothing fills, no ticket is given, no write of a key opens.
  output logic                       clearing_o
);

  if (Entries < 2 || (Entries & (Entries - 1)) != 0) begin : gen_bad_entries
    $error("%m: Entries must be a power of two, 2 or more");
  end
  if (VersionW > 32 || CountW < 1) begin : gen_bad_width
    $error("%m: VersionW must be 32 or less, CountW 1 or more");
  end

  typedef logic [$clog2(Entries)-1:0] index_t;
  typedef logic [VersionW-1:0] version_t;
  typedef logic [CountW-1:0] count_t;
  typedef struct packed {
    version_t version;
    count_t   open;
  } entry_t;

  // One of these is done to an entry, or to what all keys have.
  typedef struct packed {
    logic look;
    logic fill;
    logic open;
    logic close;
    logic open_all;
    logic close_all;
    logic clear;
    logic sweep;
    logic last;       // the sweep's last entry
  } op_t;

  // The time, which goes on over a reset, as versions do: tickets from before it are as good as any.
  logic [41:0] time_q;
  always_ff @(posedge clk_i) time_q <= time_q + 42'(tick_i);

  // ---------------------------------------------------------------- take: which is next
  logic clearing_q, turn_q, sweep;
  index_t place_q, index;
  op_t op;

  assign sweep        = clearing_q && turn_q;
  assign back_ready_o = !sweep;
  assign go_ready_o   = !sweep && !back_valid_i;
  assign clearing_o   = clearing_q;

  always_comb begin
    op    = '0;
    index = go_index_i;
    if (sweep) begin
      op.sweep = 1'b1;
      op.last  = place_q == '1;
      index    = place_q;
    end else if (back_valid_i) begin
      op.fill      = back_op_i == BackFill;
      op.close     = back_op_i == BackClose;
      op.close_all = back_op_i == BackCloseAll;
      op.clear     = back_op_i == BackClear;
      index        = back_index_i;
    end else if (go_valid_i) begin
      op.look     = go_op_i == GoLook;
      op.open     = go_op_i == GoOpen;
      op.open_all = go_op_i == GoOpenAll;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) place_q <= '0;
    else if (sweep) place_q <= place_q + 1'b1;
    turn_q <= !turn_q;
  end

  // ---------------------------------------------------------------- change: the entry is here
  op_t op1_q;
  index_t index1_q;
  ticket_t ticket1_q;
  logic same_q;
  entry_t word, last_q, now, next;
  version_t all_version_q;
  count_t all_open_q;
  logic none, old, opens, closes, all_opens, all_closes, ok;

  always_ff @(posedge clk_i) begin
    op1_q     <= rst_ni ? op : '0;
    index1_q  <= index;
    ticket1_q <= back_ticket_i;
    // The RAM does not have yet what becomes of it.
    same_q    <= index == index1_q && op1_q != '0;
    last_q    <= next;
  end

  assign now  = same_q ? last_q : word;
  assign none = now.open == '0 && all_open_q == '0 && !clearing_q;
  assign old  = time_q[41:10] - ticket1_q.second >= 32'(MaxAge);

  always_comb begin
    opens      = op1_q.open && now.open != '1 && !clearing_q;
    closes     = op1_q.close && now.open != '0;
    all_opens  = op1_q.open_all && all_open_q != '1;
    all_closes = op1_q.close_all && all_open_q != '0;
    ok         = opens || closes || all_opens || all_closes || op1_q.clear ||
                 ((op1_q.look || op1_q.fill) && none);
    // Also when it is refused: it does no harm.
    next.version = now.version + version_t'(op1_q.open || op1_q.close);
    next.open    = op1_q.sweep ? '0 : now.open + (closes ? '1 : count_t'(opens));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      all_open_q <= '0;
    end else begin
      if (op1_q.clear) clearing_q <= 1'b1;
      else if (op1_q.last) clearing_q <= 1'b0;
      if (op1_q.clear) all_open_q <= '0;
      else all_open_q <= all_open_q + (all_closes ? '1 : count_t'(all_opens));
    end
    // Tickets from before a write was forgotten are void.
    all_version_q <=
        all_version_q + version_t'(op1_q.open_all || op1_q.close_all || op1_q.clear || op1_q.last);
  end

  lib_ram #(
    .Width($bits(entry_t)),
    .Depth(Entries),
    .Ultra(Ultra)
  ) u_entries (
    .clk_i,
    .we_i   (op1_q.open || op1_q.close || op1_q.sweep),
    .waddr_i(index1_q),
    .wbe_i  (1'b1),
    .wdata_i(next),
    .re_i   (1'b1),
    .raddr_i(index),
    .rdata_o(word)
  );

  // ---------------------------------------------------------------- compare: what was, and what is
  logic go2_q, back2_q, ok2_q, fill2_q, old2_q;
  logic [31:0] second2_q;
  version_t version2_q, wanted2_q, version;
  // What asks for it or compares it has changed neither.
  assign version = version2_q + all_version_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      go2_q       <= 1'b0;
      back2_q     <= 1'b0;
      go_done_o   <= 1'b0;
      back_done_o <= 1'b0;
    end else begin
      go2_q       <= op1_q.look || op1_q.open || op1_q.open_all;
      back2_q     <= op1_q.fill || op1_q.close || op1_q.close_all || op1_q.clear;
      go_done_o   <= go2_q;
      back_done_o <= back2_q;
    end
    ok2_q          <= ok;
    fill2_q        <= op1_q.fill;
    old2_q         <= old;
    version2_q     <= now.version;
    wanted2_q      <= version_t'(ticket1_q.version);
    second2_q      <= time_q[41:10];
    go_ok_o        <= ok2_q;
    go_ticket_o    <= '{second: second2_q, version: 32'(version)};
    back_ok_o      <= ok2_q && !(fill2_q && (old2_q || version != wanted2_q));
  end

endmodule
