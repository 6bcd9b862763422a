// Lines of a memory port that nobody may trust any more: memory has refused what was last written there, or a
// read. Who fetches such a line is told that it is bad, until it is begun anew. Rows of Ways lines each, in a
// RAM; a line's row depends on all of its number, so that neither lines side by side nor lines at like
// distances meet in one. Where a row has no room, everything that was stored must be given up.
//
// As long as no line is bad, nothing waits. Then a fetch waits 2 clocks, and until all is in the table that
// memory said before. What memory says is taken at once, and goes into the table in order, one a clock.
`include "lib_assert.svh"

module bad_lines
  import lib_pkg::*;
  import store_pkg::*;
#(
  /// Rows, a power of two, 64 or more, and lines in each. With 512 rows of 4 a row has no room for one of 64 lines in
  /// one of 10,000 cases.
  parameter int unsigned Rows = 512,
  parameter int unsigned Ways = 4,
  /// Clocks in which memory said something that waits: writes and reads may be answered in the same clock.
  parameter int unsigned Waiting = 32
) (
  input  logic      clk_i,
  input  logic      rst_ni,
  /// What memory answered.
  input  mem_said_t said_i,
  /// A line that is to be fetched, until it goes; whether it may, and is bad. What memory says of it it has said three
  /// clocks before.
  input  logic      ask_i,
  input  line_no_t  ask_line_i,
  output logic      go_o,
  output logic      bad_o,
  input  logic      gone_i,
  /// Pulse: there is no room. All that was stored is to be given up.
  output logic      full_o
);

  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned TagBits = $bits(line_no_t) - RowBits;
  typedef logic [RowBits-1:0] row_t;
  typedef logic [TagBits-1:0] tag_t;
  typedef logic [$clog2(Rows*Ways+1)-1:0] count_t;
  typedef struct packed {
    logic valid;
    tag_t tag;
  } entry_t;

  // The tag tells what was added to the lowest bits.
  function automatic row_t row_of(input line_no_t line);
    row_of = '0;
    for (int unsigned b = 0; b < $bits(line_no_t); b++) row_of[b%RowBits] ^= line[b];
  endfunction

  // ---------------------------------------------------------------- what memory said, in order
  logic push, room, front_valid, pop, half_q, refused, any_q;
  mem_said_t said, front;
  logic [$clog2(Waiting+1)-1:0] unused_level;
  assign refused = said_i.rd_bad || said_i.wr_bad;
  assign push    = refused || said.wr_anew;
  always_comb begin
    said = said_i;
    if (!any_q) said.wr_anew = 1'b0;
  end

  lib_fifo #(
    .T    (mem_said_t),
    .Depth(Waiting)
  ) u_said (
    .clk_i,
    .rst_ni,
    .s_valid_i(push),
    .s_ready_o(room),
    .s_data_i (said),
    .m_valid_o(front_valid),
    .m_ready_i(pop),
    .m_data_o (front),
    .level_o  (unused_level)
  );

  // ---------------------------------------------------------------- look, then change
  // Of writes before reads.
  typedef enum logic [1:0] {
    BdAsk,
    BdBad,
    BdAnew
  } what_e;

  logic swept_q, look, look_q, take, ask, more;
  row_t sweep_q, row, row_q;
  tag_t tag, tag_q;
  line_no_t line;
  what_e what, what_q;
  logic known_q, known_bad_q;
  assign more = front.rd_bad && (front.wr_bad || front.wr_anew) && !half_q;
  always_comb begin
    line = ask_line_i;
    what = BdAsk;
    if (front_valid) begin
      line = front.wr_line;
      what = front.wr_bad ? BdBad : BdAnew;
      if (half_q || !(front.wr_bad || front.wr_anew)) begin
        line = front.rd_line;
        what = BdBad;
      end
    end
  end
  assign row  = row_of(line);
  assign tag  = line[$bits(line_no_t)-1:RowBits];
  // What is being changed in a row is not seen yet.
  assign take = front_valid && swept_q && !(look_q && row == row_q);
  assign ask  = ask_i && any_q && !known_q && !front_valid && !look_q;
  assign look = take || ask;
  assign pop  = take && !more;

  entry_t [Ways-1:0] entries;
  logic [Ways-1:0] equal, free, put;
  logic add, drop, add_q, drop_q;
  count_t used_q;
  for (genvar w = 0; w < Ways; w++) begin : gen_way
    assign equal[w] = entries[w].valid && entries[w].tag == tag_q;
    assign free[w]  = !entries[w].valid;
  end
  assign add    = look_q && what_q == BdBad && equal == '0 && free != '0;
  assign drop   = look_q && what_q == BdAnew && equal != '0;
  assign put    = drop ? equal : Ways'(lowest(64'(free)));

  lib_ram #(
    .Width    (Ways * $bits(entry_t)),
    .Depth    (Rows),
    .ByteWidth($bits(entry_t))
  ) u_rows (
    .clk_i,
    .we_i   (add || drop || !swept_q),
    .waddr_i(swept_q ? row_q : sweep_q),
    .wbe_i  (put | {Ways{!swept_q}}),
    .wdata_i({Ways{swept_q && !drop, tag_q}}),
    .re_i   (look),
    .raddr_i(row),
    .rdata_o(entries)
  );

  always_ff @(posedge clk_i) begin
    row_q  <= row;
    tag_q  <= tag;
    what_q <= what;
    if (look_q && what_q == BdAsk) known_bad_q <= equal != '0;
    if (!rst_ni) begin
      swept_q <= 1'b0;
      sweep_q <= '0;
      half_q  <= 1'b0;
      look_q  <= 1'b0;
      known_q <= 1'b0;
      add_q   <= 1'b0;
      drop_q  <= 1'b0;
      used_q  <= '0;
      any_q   <= 1'b0;
      full_o  <= 1'b0;
    end else begin
      if (!swept_q) begin
        swept_q <= sweep_q == '1;
        sweep_q <= sweep_q + 1'b1;
      end
      if (take) half_q <= more;
      look_q <= look;
      if (gone_i) known_q <= 1'b0;
      else if (look_q && what_q == BdAsk) known_q <= 1'b1;
      add_q  <= add;
      drop_q <= drop;
      used_q <= used_q + count_t'(add_q) - count_t'(drop_q);
      any_q  <= used_q != '0 || front_valid || look_q || add_q;
      full_o <= (refused && !room) || (look_q && what_q == BdBad && equal == '0 && free == '0);
    end
  end
  assign go_o  = known_q || !any_q;
  assign bad_o = known_q && known_bad_q;

  `ASSERT(OneEqual, !look_q || (equal & (equal - 1'b1)) == '0)
`ifdef LIB_ASSERT_ON
  mem_said_t [1:0] said_q;
  logic [2:0] late;  // it comes too late
  always_ff @(posedge clk_i) said_q <= rst_ni ? {said_q[0], said_i} : '0;
  for (genvar i = 0; i < 3; i++) begin : gen_said
    mem_said_t then;
    assign then = (i == 0) ? said_i : said_q[i-1];
    assign late[i] = ((then.wr_bad || then.wr_anew) && then.wr_line == ask_line_i) ||
        (then.rd_bad && then.rd_line == ask_line_i);
  end
  `ASSERT(SaidBefore, !ask_i || late == '0)
`endif

endmodule
