// Data of line_cache: slots that clients read and write, and that answers of memory fill. A read has
// latency 1; a write is there for the next clock's reads, and goes to memory in the same clock. Initiation
// interval 1; writes go before fills.
`include "lib_assert.svh"

module line_cache_data
  import lib_pkg::*;
  import wirekv_pkg::*;
#(
  /// As line_cache's.
  parameter int unsigned Sets = 128,
  parameter int unsigned Ways = 4,
  parameter int unsigned Reads = 2,
  parameter int unsigned Writes = 1,
  parameter strb_t [Writes-1:0] Lanes = '1,
  parameter int unsigned Rams = 1,
  parameter bit Ultra = 0,
  parameter int unsigned MaxWrites = 256,
  localparam int unsigned SlotBits = $clog2(Sets * Ways)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  /// As line_cache's.
  input  logic  [Reads-1:0]                 rd_en_i,
  input  logic  [Reads-1:0][SlotBits-1:0]   rd_slot_i,
  output line_t [Reads-1:0]                 rd_data_o,
  output logic  [Reads-1:0]                 rd_bad_o,
  input  logic  [Writes-1:0]                wr_valid_i,
  output logic  [Writes-1:0]                wr_ready_o,
  input  logic  [Writes-1:0][SlotBits-1:0]  wr_slot_i,
  input  laddr_t [Writes-1:0]               wr_addr_i,
  input  line_t [Writes-1:0]                wr_data_i,
  input  strb_t [Writes-1:0]                wr_strb_i,
  output logic                              mem_wr_valid_o,
  input  logic                              mem_wr_ready_i,
  output line_write_t                       mem_wr_o,
  input  logic                              mem_wr_done_i,
  /// An answer of memory and its slot; a line is filled.
  input  logic                              target_valid_i,
  input  logic  [SlotBits-1:0]              target_i,
  input  logic                              mem_rdat_valid_i,
  output logic                              mem_rdat_ready_o,
  input  line_t                             mem_rdat_i,
  input  logic                              mem_rdat_bad_i,
  output logic  [Rams-1:0]                  fill_o
);

  localparam int unsigned WayBits = $clog2(Ways);
  localparam int unsigned PlaceBits = SlotBits - $clog2(Rams);
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [PlaceBits-1:0] place_t;

  // Which RAM a slot is in, and where.
  function automatic logic ram_of(input slot_t slot);
    return Rams > 1 && slot[WayBits];
  endfunction
  function automatic place_t place_of(input slot_t slot);
    return place_t'(slot >> (WayBits + $clog2(Rams)) << WayBits) | place_t'(slot[WayBits-1:0]);
  endfunction

  // ---------------------------------------------------------------- writes
  logic [Writes-1:0] pick;
  logic credit, room, push, wr_ram;
  slot_t wr_slot;

  lib_credit #(
    .Depth(MaxWrites)
  ) u_credit (
    .clk_i,
    .rst_ni,
    .take_i(push),
    .give_i(mem_wr_done_i),
    .ok_o  (credit)
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
    for (int p = int'(Writes) - 2; p >= 0; p--)
    if (wr_valid_i[p]) begin
      wr_slot       = wr_slot_i[p];
      mem_wr_o.addr = wr_addr_i[p];
      mem_wr_o.strb = wr_strb_i[p] & Lanes[p];
      for (int b = 0; b < 64; b++) if (Lanes[p][b]) mem_wr_o.data[8*b+:8] = wr_data_i[p][8*b+:8];
    end
  end
  assign wr_ram = ram_of(wr_slot);

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
  logic [Rams-1:0] blocked, fill, fill_room;
  logic target_ram;
  assign target_ram       = ram_of(target_i);
  assign arrived          = '{slot: target_i, data: mem_rdat_i, bad: mem_rdat_bad_i};
  assign mem_rdat_ready_o = target_valid_i && fill_room[target_ram];
  assign fill_o           = fill;
  for (genvar m = 0; m < Rams; m++) begin : gen_fill
    logic mine;
    assign mine       = mem_rdat_valid_i && mem_rdat_ready_o && target_ram == 1'(m);
    assign blocked[m] = |wr_valid_i && wr_ram == 1'(m);
    if (Rams > 1) begin : gen_wait
      logic waits;
      fill_t waiting;
      logic [2:0] unused_level;
      lib_fifo #(
        .T    (fill_t),
        .Depth(4)
      ) u_wait (
        .clk_i,
        .rst_ni,
        .s_valid_i(mine && (waits || blocked[m])),
        .s_ready_o(fill_room[m]),
        .s_data_i (arrived),
        .m_valid_o(waits),
        .m_ready_i(!blocked[m]),
        .m_data_o (waiting),
        .level_o  (unused_level)
      );
      assign to_fill[m] = waits ? waiting : arrived;
      assign fill[m]    = !blocked[m] && (waits || mine);
    end else begin : gen_direct
      assign to_fill[m]   = arrived;
      assign fill[m]      = mine;
      assign fill_room[m] = !blocked[m];
    end
  end

  // ---------------------------------------------------------------- RAMs
  for (genvar r = 0; r < Reads; r++) begin : gen_read
    line_t [Rams-1:0] data;
    logic [Rams-1:0] bad;
    logic ram_q;
    always_ff @(posedge clk_i) if (rd_en_i[r]) ram_q <= ram_of(rd_slot_i[r]);
    assign rd_data_o[r] = data[ram_q];
    assign rd_bad_o[r]  = bad[ram_q];
    for (genvar m = 0; m < Rams; m++) begin : gen_ram
      logic wr, rd;
      assign wr = push && blocked[m];
      assign rd = rd_en_i[r] && ram_of(rd_slot_i[r]) == 1'(m);
      lib_ram #(
        .Width    (512),
        .Depth    (2 ** PlaceBits),
        .ByteWidth(8),
        .Ultra    (Ultra)
      ) u_data (
        .clk_i,
        .we_i   (fill[m] || wr),
        .waddr_i(place_of(blocked[m] ? wr_slot : to_fill[m].slot)),
        .wbe_i  (blocked[m] ? mem_wr_o.strb : '1),
        .wdata_i(blocked[m] ? mem_wr_o.data : to_fill[m].bad ? '0 : to_fill[m].data),
        .re_i   (rd),
        .raddr_i(place_of(rd_slot_i[r])),
        .rdata_o(data[m])
      );
      lib_ram #(
        .Width(1),
        .Depth(2 ** PlaceBits)
      ) u_bad (
        .clk_i,
        .we_i   (fill[m] || (wr && mem_wr_o.strb[0])),
        .waddr_i(place_of(blocked[m] ? wr_slot : to_fill[m].slot)),
        .wbe_i  (1'b1),
        .wdata_i(fill[m] && to_fill[m].bad),
        .re_i   (rd),
        .raddr_i(place_of(rd_slot_i[r])),
        .rdata_o(bad[m])
      );
    end
  end

  for (genvar p = 0; p < Writes; p++) begin : gen_lanes
    `ASSERT(OwnLanes, !wr_valid_i[p] || (wr_strb_i[p] & ~Lanes[p]) == '0)
  end

endmodule
