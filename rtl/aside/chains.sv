// Entries of one line or more, chained. Commands are done in order, a line a clock: an entry is given, line by line, or its
// lines become free; so those that were asked for before are given whole. Latency 1. A new entry's lines come one a clock.
`include "lib_assert.svh"

module chains
  import wirekv_pkg::*;
  import aside_pkg::*;
#(
  /// Lines, a power of two.
  parameter int unsigned Lines = 16384
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// What is done to an entry, by its number. ChainClear forgets all entries that are here, those whose made_o is in that
  /// clock included, and what has come of a new one.
  input  logic                       cmd_valid_i,
  output logic                       cmd_ready_o,
  input  chain_e                     cmd_op_i,
  input  logic [$clog2(Lines)-1:0]   cmd_number_i,
  /// Lines of the entries that are given.
  output logic                       m_valid_o,
  input  logic                       m_ready_i,
  output line_t                      m_line_o,
  output logic                       m_last_o,
  /// Lines of a new entry, which waits for lines to become free if it has more than free_o.
  input  logic                       s_valid_i,
  output logic                       s_ready_o,
  input  line_t                      s_line_i,
  input  logic                       s_last_i,
  /// One-clock pulse behind its last line: it is here, by this number, or it was forgotten as it came.
  output logic                       made_o,
  output logic                       made_ok_o,
  output logic [$clog2(Lines)-1:0]   made_number_o,
  /// Lines that a new entry finds.
  output logic [$clog2(Lines+1)-1:0] free_o,
  /// Nothing is on its way, and no lines are becoming free.
  output logic                       idle_o
);

  if (Lines < 4 || (Lines & (Lines - 1)) != 0) begin : gen_bad_lines
    $error("%m: Lines must be a power of two, 4 or more");
  end
  typedef logic [$clog2(Lines)-1:0] number_t;
  typedef struct packed {
    logic    last;
    number_t next;
  } link_t;

  logic clear, wipe_q, sweep_q;
  number_t place_q;

  // ---------------------------------------------------------------- a new entry: lines are taken from the free ones
  // The line that is written next, and the one behind it, with which it is chained.
  logic cur_q, open_q, drops_q, free_valid, write, take;
  number_t number_q, first_q, free;
  assign s_ready_o = drops_q || (cur_q && free_valid && !wipe_q);
  assign write     = s_valid_i && cur_q && free_valid && !wipe_q && !drops_q;
  assign take      = write || (!cur_q && !wipe_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cur_q   <= 1'b0;
      open_q  <= 1'b0;
      drops_q <= 1'b0;
      made_o  <= 1'b0;
    end else begin
      cur_q  <= !wipe_q && (cur_q || free_valid);
      made_o <= s_valid_i && s_ready_o && s_last_i;
      if (write) open_q <= !s_last_i;
      else if (wipe_q) open_q <= 1'b0;
      if (wipe_q) drops_q <= open_q || (drops_q && !(s_valid_i && s_last_i));
      else if (s_valid_i && s_last_i) drops_q <= 1'b0;
    end
    made_ok_o     <= !drops_q && !clear;
    made_number_o <= open_q ? first_q : number_q;
    if (!open_q) first_q <= number_q;
    if (take) number_q <= free;
  end

  // ---------------------------------------------------------------- commands
  logic walks_q, frees_q, valid_q, stall, more, start, issue, frees;
  number_t addr;
  link_t link;
  assign stall       = valid_q && !m_ready_i;
  assign more        = walks_q && !link.last;
  assign cmd_ready_o = !stall && !more && !wipe_q;
  assign clear       = cmd_valid_i && cmd_ready_o && cmd_op_i == ChainClear;
  assign start       = cmd_valid_i && cmd_ready_o && cmd_op_i != ChainClear;
  assign issue       = start || (more && !stall);
  assign frees       = more ? frees_q : cmd_op_i == ChainFree;
  assign addr        = more ? link.next : cmd_number_i;
  assign m_valid_o   = valid_q;
  assign m_last_o    = link.last;

  logic freed_q;
  number_t freed_number_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {walks_q, valid_q, freed_q} <= '0;
      wipe_q  <= 1'b0;
      sweep_q <= 1'b1;
      place_q <= '0;
    end else begin
      walks_q <= issue || more;
      valid_q <= issue ? !frees : stall;
      freed_q <= issue && frees;
      wipe_q  <= clear;
      // All lines are free: each goes to the others. What is freed meanwhile goes first.
      if (wipe_q) begin
        sweep_q <= 1'b1;
        place_q <= '0;
      end else if (sweep_q && !freed_q) begin
        sweep_q <= place_q != '1;
        place_q <= place_q + 1'b1;
      end
    end
    if (issue) frees_q <= frees;
    freed_number_q <= addr;
  end

  // ---------------------------------------------------------------- memory
  lib_ram #(
    .Width($bits(link_t)),
    .Depth(Lines)
  ) u_links (
    .clk_i,
    .we_i   (write),
    .waddr_i(number_q),
    .wbe_i  (1'b1),
    .wdata_i({s_last_i, free}),
    .re_i   (issue),
    .raddr_i(addr),
    .rdata_o(link)
  );

  lib_ram #(
    .Width($bits(line_t)),
    .Depth(Lines),
    .Ultra(1'b1)
  ) u_lines (
    .clk_i,
    .we_i   (write),
    .waddr_i(number_q),
    .wbe_i  (1'b1),
    .wdata_i(s_line_i),
    .re_i   (issue && !frees),
    .raddr_i(addr),
    .rdata_o(m_line_o)
  );

  logic unused_free_room;
  lib_fifo #(
    .T    (number_t),
    .Depth(Lines)
  ) u_free (
    .clk_i,
    .rst_ni   (rst_ni && !wipe_q),
    .s_valid_i(freed_q || sweep_q),
    .s_ready_o(unused_free_room),
    .s_data_i (freed_q ? freed_number_q : place_q),
    .m_valid_o(free_valid),
    .m_ready_i(take),
    .m_data_o (free),
    .level_o  (free_o)
  );

  assign idle_o = !cmd_valid_i && !s_valid_i && !walks_q && !valid_q && !wipe_q && !sweep_q &&
      !made_o;

  `ASSERT(FreeRoom, !(freed_q || sweep_q) || unused_free_room)
  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, {m_last_o, m_line_o})

endmodule
