// Data of line_cache: slots that clients read and write, and that answers of memory fill. A read has
// latency 1; a write is there for the next clock's reads, and goes to memory in the same clock. Initiation
// interval 1; writes go before fills.
`include "lib_assert.svh"

module line_cache_data
  import lib_pkg::*;
  import wirekv_pkg::*;
  import store_pkg::*;
#(
  /// As line_cache's.
  parameter int unsigned Sets = 128,
  parameter int unsigned Ways = 4,
  parameter int unsigned Reads = 2,
  parameter int unsigned Writes = 1,
  parameter strb_t [Writes-1:0] Lanes = '1,
  parameter int unsigned Rams = 1,
  parameter bit Ultra = 0,
  parameter int unsigned Blocks = 1,
  parameter int unsigned MaxFills = 256,
  parameter int unsigned MaxWrites = 256,
  parameter strb_t Anew = '1,
  parameter line_t BadLine = '0,
  localparam int unsigned SlotBits = $clog2(Sets * Ways)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  /// As line_cache's.
  input  logic  [Reads-1:0]                 rd_en_i,
  input  logic  [Reads-1:0][SlotBits-1:0]   rd_slot_i,
  input  logic  [Reads-1:0]                 rd_clear_i,
  output line_t [Reads-1:0]                 rd_data_o,
  output logic  [Reads-1:0]                 rd_bad_o,
  input  logic  [Writes-1:0]                wr_valid_i,
  output logic  [Writes-1:0]                wr_ready_o,
  input  logic  [Writes-1:0][SlotBits-1:0]  wr_slot_i,
  input  laddr_t [Writes-1:0]               wr_addr_i,
  input  line_no_t [Writes-1:0]             wr_line_i,
  input  line_t [Writes-1:0]                wr_data_i,
  input  strb_t [Writes-1:0]                wr_strb_i,
  output logic                              mem_wr_valid_o,
  input  logic                              mem_wr_ready_i,
  output line_write_t                       mem_wr_o,
  input  logic                              mem_wr_done_i,
  /// Two clocks behind mem_wr_done_i: the line that was written, and whether it was begun anew.
  output logic                              done_o,
  output line_no_t                          done_line_o,
  output logic                              done_anew_o,
  /// An answer of memory, or of line_cache_fetch, and its slot; a line is filled.
  input  logic  [SlotBits-1:0]              target_i,
  input  logic                              mem_rdat_valid_i,
  input  line_t                             mem_rdat_i,
  input  logic                              mem_rdat_bad_i,
  output logic  [Rams-1:0]                  fill_o
);

  localparam int unsigned WayBits = $clog2(Ways);
  localparam int unsigned PlaceBits = SlotBits - $clog2(Rams);
  localparam int unsigned BlockBits = PlaceBits - $clog2(Blocks);
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [BlockBits-1:0] block_place_t;

  // Which RAM a slot is in, and where; and in which block of it.
  function automatic logic ram_of(input slot_t slot);
    return Rams > 1 && slot[WayBits];
  endfunction
  function automatic place_t place_of(input slot_t slot);
    return place_t'(slot >> (WayBits + $clog2(Rams)) << WayBits) | place_t'(slot[WayBits-1:0]);
  endfunction
  function automatic logic block_of(input place_t place);
    return Blocks > 1 && place[PlaceBits-1];
  endfunction

  // ---------------------------------------------------------------- writes
  logic [Writes-1:0] pick;
  logic credit, room, push, wr_ram;
  slot_t wr_slot;
  line_no_t wr_line;

  lib_credit #(
    .Depth(MaxWrites)
  ) u_credit (
    .clk_i,
    .rst_ni,
    .take_i(push),
    .give_i(mem_wr_done_i),
    .ok_o  (credit),
    // verilator lint_off PINCONNECTEMPTY
    .left_o()
    // verilator lint_on PINCONNECTEMPTY
  );

  assign pick = Writes'(lowest(64'(wr_valid_i)));
  assign room = mem_wr_ready_i && credit;
  assign push = |wr_valid_i && room;
  assign mem_wr_valid_o = push;
  always_comb begin
    wr_ready_o    = push ? pick : '0;
    wr_ready_o[0] = room;
    wr_slot       = wr_slot_i[Writes-1];
    mem_wr_o.addr = wr_addr_i[Writes-1];
    mem_wr_o.data = wr_data_i[Writes-1];
    mem_wr_o.strb = wr_strb_i[Writes-1];
    wr_line       = wr_line_i[Writes-1];
    for (int p = int'(Writes) - 2; p >= 0; p--)
    if (wr_valid_i[p]) begin
      wr_slot       = wr_slot_i[p];
      mem_wr_o.addr = wr_addr_i[p];
      mem_wr_o.strb = wr_strb_i[p] & Lanes[p];
      wr_line       = wr_line_i[p];
      mem_wr_o.data = merge_lanes(Lanes[p], wr_data_i[p], mem_wr_o.data);
    end
  end
  assign wr_ram = ram_of(wr_slot);

  // Which lines the next answers are about, from the third clock on.
  logic unused_done, unused_done_room, done_q;
  always_ff @(posedge clk_i) {done_o, done_q} <= rst_ni ? {done_q, mem_wr_done_i} : '0;
  logic [$clog2(MaxWrites+5)-1:0] unused_done_level;
  lib_fifo #(
    .T    (logic [$bits(line_no_t):0]),
    .Depth(MaxWrites + 4),
    .Block(1'b1),
    .Early(1'b1)
  ) u_done (
    .clk_i,
    .rst_ni,
    .s_valid_i(push),
    .s_ready_o(unused_done_room),
    .s_data_i ({wr_line, (mem_wr_o.strb & Anew) == Anew}),
    .m_valid_o(unused_done),
    .m_ready_i(done_o),
    .m_data_o ({done_line_o, done_anew_o}),
    .level_o  (unused_done_level)
  );
  `ASSERT(DoneKnown, (!done_o || unused_done) && (!push || unused_done_room))

  // ---------------------------------------------------------------- fills
  typedef struct packed {
    slot_t slot;
    line_t data;
    logic  bad;
  } fill_t;

  // What arrives for a RAM that is being written waits, and what is for the other one does not. Each has
  // its own queue: behind a common one both would get the rate of one.
  fill_t arrived;
  fill_t [Rams-1:0] to_fill;
  logic [Rams-1:0] blocked, fill;
  assign arrived = '{slot: target_i, data: mem_rdat_i, bad: mem_rdat_bad_i};
  assign fill_o  = fill;
  for (genvar m = 0; m < Rams; m++) begin : gen_fill
    logic mine, behind, waits, unused_room;
    fill_t waiting;
    logic [$clog2(MaxFills+1)-1:0] level;
    assign mine       = mem_rdat_valid_i && ram_of(target_i) == 1'(m);
    assign behind     = level != '0;
    assign blocked[m] = |wr_valid_i && wr_ram == 1'(m);
    lib_fifo #(
      .T    (fill_t),
      .Depth(MaxFills),
      .Ultra(MaxFills > 32)
    ) u_wait (
      .clk_i,
      .rst_ni,
      .s_valid_i(mine && (behind || blocked[m])),
      .s_ready_o(unused_room),
      .s_data_i (arrived),
      .m_valid_o(waits),
      .m_ready_i(!blocked[m]),
      .m_data_o (waiting),
      .level_o  (level)
    );
    `ASSERT(Room, unused_room || !mine)
    assign to_fill[m] = behind ? waiting : arrived;
    assign fill[m]    = !blocked[m] && (behind ? waits : mine);
  end

  // ---------------------------------------------------------------- RAMs
  for (genvar r = 0; r < Reads; r++) begin : gen_read
    line_t [Rams*Blocks-1:0] data;
    logic [Rams-1:0] bad;
    // The others give nothing.
    always_comb begin
      rd_data_o[r] = '0;
      for (int k = 0; k < int'(Rams * Blocks); k++) rd_data_o[r] |= data[k];
    end
    assign rd_bad_o[r] = bad != '0;
    for (genvar m = 0; m < Rams; m++) begin : gen_ram
      logic wr, rd, clear;
      place_t wr_place, rd_place;
      assign wr       = push && blocked[m];
      assign rd       = rd_en_i[r] && ram_of(rd_slot_i[r]) == 1'(m);
      assign clear    = rd_clear_i[r] || (rd_en_i[r] && !rd);
      assign wr_place = place_of(blocked[m] ? wr_slot : to_fill[m].slot);
      assign rd_place = place_of(rd_slot_i[r]);
      for (genvar k = 0; k < Blocks; k++) begin : gen_block
        logic here;
        assign here = block_of(rd_place) == 1'(k);
        lib_ram #(
          .Width    (512),
          .Depth    (2 ** BlockBits),
          .ByteWidth(8),
          .Ultra    (Ultra)
        ) u_data (
          .clk_i,
          .we_i   ((fill[m] || wr) && block_of(wr_place) == 1'(k)),
          .waddr_i(block_place_t'(wr_place)),
          .wbe_i  (blocked[m] ? mem_wr_o.strb : '1),
          .wdata_i(blocked[m] ? mem_wr_o.data : to_fill[m].bad ? BadLine : to_fill[m].data),
          .re_i   (rd && here),
          .raddr_i(block_place_t'(rd_place)),
          .rdata_o(data[Blocks*m+k]),
          .clear_i(clear || (rd && !here))
        );
      end
      lib_ram #(
        .Width(1),
        .Depth(2 ** PlaceBits)
      ) u_bad (
        .clk_i,
        .we_i   (fill[m] || (wr && mem_wr_o.strb[0])),
        .waddr_i(wr_place),
        .wbe_i  (1'b1),
        .wdata_i(fill[m] && to_fill[m].bad),
        .re_i   (rd),
        .raddr_i(rd_place),
        .rdata_o(bad[m]),
        .clear_i(clear)
      );
    end
  end

  for (genvar p = 0; p < Writes; p++) begin : gen_lanes
    `ASSERT(OwnLanes, !wr_valid_i[p] || (wr_strb_i[p] & ~Lanes[p]) == '0)
  end

endmodule
