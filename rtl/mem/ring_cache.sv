// Stands between rings and their memory and holds what was written last: who writes a line may tell of
// it at once, and who reads it from the next clock on gets it from here. Latency 0 of a write, 5 of a
// read that finds what it needs; any other has memory's and 8 more. Initiation interval 1.
//
// All that is written goes to memory, too, so any line may be displaced at any time, whether or not its
// write was answered. Each line has a single place. A read that finds less than it needs there asks
// memory, but not before the last write to that place was answered: whose-ever it was, none of the line
// itself came later. What is known of a line are the lanes of one run: of a line that is written piece
// by piece, the pieces that touch.
`include "lib_assert.svh"

module ring_cache
  import wirekv_pkg::*;
#(
  /// Lines held, a power of two: as many as are written between a line's write and its read.
  parameter int unsigned Lines = 4096,
  /// So many of the lowest bits tell all lines of the rings apart.
  parameter int unsigned AddrBits = 24,
  /// ... and so many the lines of one; less only in tests.
  parameter int unsigned RingBits = $clog2(RingLines),
  /// Reads under way at most: as many clocks as memory takes for a write and a read behind it.
  parameter int unsigned MaxReads = 512,
  /// Writes under way at most: as many clocks as memory takes for a write. A power of two, 16 to 512.
  parameter int unsigned MaxWrites = 512
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// First line of connection 0's ring, behind a number of whole rings; the others' follow.
  input  laddr_t      base_i,
  /// Writes, each of a run of lanes. A read in any later clock sees it.
  input  logic        wr_valid_i,
  output logic        wr_ready_o,
  input  line_write_t wr_i,
  /// Reads, answered in order; only the lanes asked for are good. A bad answer is zero.
  input  logic        rd_valid_i,
  output logic        rd_ready_o,
  input  laddr_t      rd_addr_i,
  input  lanes_t      rd_lanes_i,
  output logic        rdat_valid_o,
  input  logic        rdat_ready_i,
  output line_t       rdat_o,
  output logic        rdat_bad_o,
  /// Memory, as mem_axi has it. When it has refused a write, nobody knows what it holds of that ring: then all of
  /// it that is not here is bad until the ring has a new connection. No write is answered in the clock behind it.
  output logic        mem_wr_valid_o,
  input  logic        mem_wr_ready_i,
  output line_write_t mem_wr_o,
  input  logic        mem_wr_done_i,
  input  logic        mem_wr_bad_i,
  output logic        mem_rd_valid_o,
  input  logic        mem_rd_ready_i,
  output laddr_t      mem_rd_addr_o,
  // Answers are taken at once.
  input  logic        mem_rdat_valid_i,
  input  line_t       mem_rdat_i,
  input  logic        mem_rdat_bad_i,
  /// Connections that had such a write: they are to be reset.
  output logic        refused_valid_o,
  input  logic        refused_ready_i,
  output conn_t       refused_conn_o,
  /// This id has a new connection. Never while busy_o.
  input  logic        open_i,
  input  conn_t       open_conn_i,
  output logic        busy_o,
  /// Mark the last write; some that came no later are not answered yet, or who had one is not told.
  input  logic        mark_i,
  output logic        earlier_o,
  /// Nothing under way.
  output logic        idle_o
);

  localparam int unsigned IndexW = $clog2(Lines);
  localparam int unsigned TagW = AddrBits - IndexW;
  localparam int unsigned RingW = AddrBits - RingBits;
  // Where the tag meets the index: below what tells neighbouring rings apart already.
  localparam int unsigned SpreadW = (IndexW < $clog2(RingLines)) ? IndexW : $clog2(RingLines);

  if (Lines < 2 || Lines != 2 ** IndexW) begin : gen_bad_lines
    $error("%m: Lines must be a power of two");
  end
  if (AddrBits <= IndexW || AddrBits > $bits(laddr_t)) begin : gen_bad_addr
    $error("%m: AddrBits must be more than the bits of Lines, and at most those of an address");
  end
  if (AddrBits <= RingBits || RingW > $bits(conn_t)) begin : gen_bad_rings
    $error("%m: AddrBits must be more than RingBits, and by at most the bits of a connection");
  end

  typedef logic [IndexW-1:0] index_t;
  typedef logic [TagW-1:0] tag_t;
  typedef logic [RingW-1:0] ring_t;

  typedef logic [15:0] writes_t;  // far more than memory can have outstanding
  typedef logic [9:0] stamp_t;

  typedef struct packed {
    logic   valid;
    tag_t   tag;
    lanes_t lanes;  // whose bytes are here
  } run_t;

  typedef struct packed {
    run_t   run;
    stamp_t stamp;  // number of the last write
  } entry_t;

  function automatic tag_t tag(input laddr_t addr);
    return tag_t'(addr >> IndexW);
  endfunction

  // The lowest bits of the tag turn over the highest of the index: rings that are at the same line have
  // places far apart, and the lines of each are side by side.
  function automatic index_t index(input laddr_t addr);
    index = addr[IndexW-1:0];
    for (int unsigned i = 0; i < TagW; i++) begin
      index[SpreadW-1-i%SpreadW] ^= addr[IndexW+i];
    end
  endfunction

  function automatic ring_t ring(input laddr_t addr);
    return ring_t'(addr >> RingBits);
  endfunction

  function automatic lanes_t lanes(input strb_t strb);
    lanes.first = lib_pkg::lane_of(strb & ~(strb << 1));
    lanes.last  = lib_pkg::lane_of(strb & ~(strb >> 1));
  endfunction

  // ---------------------------------------------------------------- nothing is here after a reset
  logic swept_q;
  index_t sweep_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      swept_q <= 1'b0;
      sweep_q <= '0;
    end else if (!swept_q) begin
      swept_q <= sweep_q == '1;
      sweep_q <= sweep_q + 1'b1;
    end
  end

  // ---------------------------------------------------------------- write
  // Data in the clock of the write, entry in the next one.
  logic wr_take, wr_ok_q, wr_room, entry_valid_q, again_q;
  index_t wr_index, entry_index_q;
  tag_t entry_tag_q;
  ring_t entry_ring_q;
  lanes_t entry_lanes_q, wr_lanes;
  logic [5:0] before_q, behind_q;  // the lanes beside these, if there are any
  stamp_t entry_stamp_q;
  writes_t issued_q, answered_q, open;
  run_t there, run_d, run_q;

  assign mem_wr_valid_o = wr_valid_i && wr_ok_q;
  assign wr_ready_o     = mem_wr_ready_i && wr_ok_q;
  assign mem_wr_o       = wr_i;
  assign wr_take        = wr_valid_i && wr_ready_o;
  assign wr_index       = index(wr_i.addr);
  assign wr_lanes       = lanes(wr_i.strb);

  // What is offered stays.
  always_ff @(posedge clk_i) begin
    wr_ok_q <= rst_ni && swept_q && (wr_room || (mem_wr_valid_o && !mem_wr_ready_i));
  end

  always_ff @(posedge clk_i) begin
    entry_valid_q <= rst_ni && wr_take;
    // The write of the clock before has the same place, and its entry is not read yet.
    again_q       <= entry_valid_q && wr_index == entry_index_q;
    entry_index_q <= wr_index;
    entry_tag_q   <= tag(wr_i.addr);
    entry_ring_q  <= ring(wr_i.addr);
    entry_lanes_q <= wr_lanes;
    before_q      <= wr_lanes.first - 6'(wr_lanes.first != '0);
    behind_q      <= wr_lanes.last + 6'(wr_lanes.last != '1);
    entry_stamp_q <= stamp_t'(issued_q);
    run_q         <= run_d;
  end

  // a < b, without a carry chain.
  function automatic logic less(input logic [5:0] a, input logic [5:0] b);
    less = 1'b0;
    for (int i = 0; i < 6; i++) if (a[i] != b[i]) less = b[i];
  endfunction
  // What was there may be lengthened. It comes late, so it is looked at before it is known whose turn it is.
  function automatic lanes_t lengthened(input run_t old, input tag_t of, input lanes_t by,
                                        input logic [5:0] lower, input logic [5:0] upper);
    logic touches;
    touches    = !less(old.lanes.last, lower) && !less(upper, old.lanes.first);
    lengthened = by;
    if (old.valid && old.tag == of && touches) begin
      if (less(old.lanes.first, by.first)) lengthened.first = old.lanes.first;
      if (less(by.last, old.lanes.last)) lengthened.last = old.lanes.last;
    end
  endfunction
  lanes_t of_run, of_there;
  assign of_run   = lengthened(run_q, entry_tag_q, entry_lanes_q, before_q, behind_q);
  assign of_there = lengthened(there, entry_tag_q, entry_lanes_q, before_q, behind_q);
  assign run_d    = '{valid: 1'b1, tag: entry_tag_q, lanes: again_q ? of_run : of_there};

  // ---------------------------------------------------------------- read
  // Data in the clock of the read, entry in the next one: what the entry says is as old as the data.
  typedef struct packed {
    laddr_t addr;
    lanes_t lanes;
  } ask_t;

  logic rd_take, credit, ask_valid_q, find_valid_q;
  ask_t ask_q, find_q;
  line_t data, data_q;
  entry_t found;

  assign rd_take = rd_valid_i && rd_ready_o;
  always_ff @(posedge clk_i) begin
    ask_valid_q  <= rst_ni && rd_take;
    find_valid_q <= rst_ni && ask_valid_q;
    ask_q        <= '{addr: rd_addr_i, lanes: rd_lanes_i};
    find_q       <= ask_q;
    data_q       <= data;
  end

  lib_ram #(
    .Width    ($bits(line_t)),
    .Depth    (Lines),
    .ByteWidth(8),
    .Ultra    (1)
  ) u_data (
    .clk_i,
    .we_i   (wr_take),
    .waddr_i(wr_index),
    .wbe_i  (wr_i.strb),
    .wdata_i(wr_i.data),
    .re_i   (rd_take),
    .raddr_i(index(rd_addr_i)),
    .rdata_o(data)
  );

  // What writes must know, and what reads must.
  logic entry_we;
  index_t entry_waddr;
  entry_t entry_wdata;
  assign entry_we    = entry_valid_q || !swept_q;
  assign entry_waddr = swept_q ? entry_index_q : sweep_q;
  assign entry_wdata = '{run: swept_q ? run_d : '0, stamp: entry_stamp_q};

  lib_ram #(
    .Width($bits(run_t)),
    .Depth(Lines)
  ) u_there (
    .clk_i,
    .we_i   (entry_we),
    .waddr_i(entry_waddr),
    .wbe_i  (1'b1),
    .wdata_i(entry_wdata.run),
    .re_i   (wr_take),
    .raddr_i(wr_index),
    .rdata_o(there)
  );

  lib_ram #(
    .Width($bits(entry_t)),
    .Depth(Lines)
  ) u_found (
    .clk_i,
    .we_i   (entry_we),
    .waddr_i(entry_waddr),
    .wbe_i  (1'b1),
    .wdata_i(entry_wdata),
    .re_i   (ask_valid_q),
    .raddr_i(index(ask_q.addr)),
    .rdata_o(found)
  );

  // ---------------------------------------------------------------- found, or to be asked for
  typedef struct packed {
    laddr_t  addr;
    writes_t writes;  // that must be answered first, all in all
  } miss_t;

  logic hit, miss, first_valid, first_ready, miss_valid, behind, unused_room;
  miss_t first, miss_next;
  logic [$clog2(MaxReads+1)-1:0] unused_level;
  logic [14:0] unused_behind;
  stamp_t age;  // writes behind the last one to the place, or more than that
  writes_t fence;

  assign hit  = find_valid_q && found.run.valid && found.run.tag == tag(find_q.addr) &&
      found.run.lanes.first <= find_q.lanes.first && found.run.lanes.last >= find_q.lanes.last;
  assign miss = find_valid_q && !hit;

  // An old stamp may look like a new one: then the read waits for more than it must.
  assign open  = issued_q - answered_q;
  assign age   = stamp_t'(issued_q) - found.stamp - 1'b1;
  assign fence = (found.run.valid && writes_t'(age) < open) ? issued_q - writes_t'(age) :
      answered_q;

  lib_fifo #(
    .T    (miss_t),
    .Depth(MaxReads)
  ) u_misses (
    .clk_i,
    .rst_ni,
    .s_valid_i(miss),
    .s_ready_o(unused_room),
    .s_data_i ('{addr: find_q.addr, writes: fence}),
    .m_valid_o(first_valid),
    .m_ready_i(first_ready),
    .m_data_o (first),
    .level_o  (unused_level)
  );
  // What is compared does not come out of a RAM in the same clock.
  lib_half_buffer #(
    .T(miss_t)
  ) u_miss (
    .clk_i,
    .rst_ni,
    .s_valid_i(first_valid),
    .s_ready_o(first_ready),
    .s_data_i (first),
    .m_valid_o(miss_valid),
    .m_ready_i(mem_rd_valid_o && mem_rd_ready_i),
    .m_data_o (miss_next)
  );

  `ASSERT(Room, !miss || unused_room)

  lib_credit #(
    .Depth(MaxReads)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .take_i(rd_take),
    .give_i(rdat_valid_o && rdat_ready_i),
    .ok_o  (credit),
    // verilator lint_off PINCONNECTEMPTY
    .left_o()
    // verilator lint_on PINCONNECTEMPTY
  );

  assign rd_ready_o = swept_q && credit;

  assign {behind, unused_behind} = answered_q - miss_next.writes;
  assign mem_rd_valid_o = miss_valid && !behind;
  assign mem_rd_addr_o  = miss_next.addr;

  // ---------------------------------------------------------------- in order
  logic turn, known, distrust, gone, order_idle, trust_idle;
  ring_t turn_ring;
  ring_order #(
    .MaxReads(MaxReads),
    .RingW   (RingW)
  ) u_order (
    .clk_i,
    .rst_ni,
    .s_valid_i  (find_valid_q),
    .ring_i     (ring(find_q.addr)),
    .kept_i     (hit),
    .kept_line_i(data_q),
    .mem_rdat_valid_i,
    .mem_rdat_i,
    .mem_rdat_bad_i,
    .turn_o     (turn),
    .turn_ring_o(turn_ring),
    .known_i    (known),
    .distrust_i (distrust),
    .gone_o     (gone),
    .m_valid_o  (rdat_valid_o),
    .m_ready_i  (rdat_ready_i),
    .m_line_o   (rdat_o),
    .m_bad_o    (rdat_bad_o),
    .idle_o     (order_idle)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      issued_q   <= '0;
      answered_q <= '0;
    end else begin
      issued_q   <= issued_q + writes_t'(wr_take);
      answered_q <= answered_q + writes_t'(mem_wr_done_i);
    end
  end

  // ---------------------------------------------------------------- whom memory refused a write
  localparam int unsigned CountW = $clog2(MaxWrites) + 1;
  if (CountW > $bits(stamp_t)) begin : gen_bad_writes
    $error("%m: MaxWrites must be at most 512");
  end
  ring_t refused, base;
  assign base           = ring(base_i);
  assign refused_conn_o = conn_t'(ring_t'(refused - base));

  ring_trust #(
    .Rings    (2 ** RingW),
    .MaxWrites(MaxWrites)
  ) u_trust (
    .clk_i,
    .rst_ni,
    .issued_i      (issued_q[CountW-1:0]),
    .answered_i    (answered_q[CountW-1:0]),
    .wr_i          (entry_valid_q),
    .wr_number_i   (entry_stamp_q[CountW-2:0]),
    .wr_ring_i     (entry_ring_q),
    .done_i        (mem_wr_done_i),
    .bad_i         (mem_wr_bad_i),
    .room_o        (wr_room),
    .turn_i        (turn),
    .gone_i        (gone),
    .turn_ring_i   (turn_ring),
    .known_o       (known),
    .distrust_o    (distrust),
    .open_i,
    .open_ring_i   (ring_t'(open_conn_i) + base),
    .busy_o,
    .mark_i,
    .earlier_o,
    .refused_valid_o,
    .refused_ready_i,
    .refused_ring_o(refused),
    .idle_o        (trust_idle)
  );
  `ASSERT(WholeRings, base_i[RingBits-1:0] == '0)

  assign idle_o = swept_q && !ask_valid_q && !find_valid_q && order_idle && trust_idle &&
      issued_q == answered_q;

  `ASSERT(RunOfLanes, !wr_valid_i || ((wr_i.strb + (wr_i.strb & -wr_i.strb)) & wr_i.strb) == '0)
  `ASSERT(AnyLanes, !wr_valid_i || wr_i.strb != '0)
  `ASSERT(SomeLanes, !rd_valid_i || rd_lanes_i.first <= rd_lanes_i.last)
  `ASSERT_STABLE(MemWrStable, mem_wr_valid_o, mem_wr_ready_i, mem_wr_o)
  `ASSERT_STABLE(MemRdStable, mem_rd_valid_o, mem_rd_ready_i, mem_rd_addr_o)

endmodule
