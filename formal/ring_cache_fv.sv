// A read of ring_cache gives what was written last, whatever memory's latency and whatever was displaced
// meanwhile. Seen through one bit: that of lane 0 of line 0. Memory says anything of it while a write
// of it is not answered, and so may the cache where it is written while a read of it is under way.
`include "fv.svh"
`include "lib_assert.svh"

module ring_cache_fv
  import wirekv_pkg::*;
(
  input logic       clk_i,
  // Ring side: lines of eight; lane 0, the other ones, or all.
  input logic       wr_valid_i,
  input logic [2:0] wr_line_i,
  input logic [1:0] wr_lanes_i,
  input logic       wr_bit_i,
  input logic       rd_valid_i,
  input logic [2:0] rd_line_i,
  input logic [1:0] rd_lanes_i,
  input logic       rdat_ready_i,
  // Memory.
  input logic       mem_wr_ready_i,
  input logic       mem_wr_done_i,
  input logic       mem_rd_ready_i,
  input logic       mem_rdat_valid_i,
  input logic       mem_bit_i
);
  `FV_RESET

  localparam int unsigned Reads = 3;

  // ------------------------------------------------ the cache: two lines of eight
  logic wr_ready, rd_ready, rdat_valid, rdat_bad, idle;
  logic mem_wr_valid, mem_wr_done, mem_rd_valid, mem_rdat_valid;
  line_write_t wr, mem_wr;
  lanes_t rd_lanes;
  line_t rdat, mem_rdat;
  laddr_t mem_rd_addr;

  assign wr = '{
          addr: laddr_t'(wr_line_i),
          data: line_t'(wr_bit_i),
          strb: {{63{wr_lanes_i[1]}}, wr_lanes_i[0]}
      };
  assign rd_lanes = '{first: 6'(!rd_lanes_i[0]), last: {6{rd_lanes_i[1]}}};
  `FV_ASSUME(some_lanes, wr_lanes_i != '0 && rd_lanes_i != '0)

  // Memory refuses nothing here.
  logic refused, busy, earlier;
  logic [1:0] opens_q;
  always_ff @(posedge clk_i) opens_q <= rst_ni ? opens_q >> 1 : 2'b10;
  conn_t unused_refused;
  ring_cache #(
    .Lines    (2),
    .AddrBits (3),
    .RingBits (2),
    .MaxReads (Reads),
    .MaxWrites(16)
  ) dut (
    .clk_i,
    .rst_ni,
    .base_i          ('0),
    .wr_valid_i,
    .wr_ready_o      (wr_ready),
    .wr_i            (wr),
    .rd_valid_i,
    .rd_ready_o      (rd_ready),
    .rd_addr_i       (laddr_t'(rd_line_i)),
    .rd_lanes_i      (rd_lanes),
    .rdat_valid_o    (rdat_valid),
    .rdat_ready_i,
    .rdat_o          (rdat),
    .rdat_bad_o      (rdat_bad),
    .mem_wr_valid_o  (mem_wr_valid),
    .mem_wr_ready_i,
    .mem_wr_o        (mem_wr),
    .mem_wr_done_i   (mem_wr_done),
    .mem_wr_bad_i    (1'b0),
    .mem_rd_valid_o  (mem_rd_valid),
    .mem_rd_ready_i,
    .mem_rd_addr_o   (mem_rd_addr),
    .mem_rdat_valid_i(mem_rdat_valid),
    .mem_rdat_i      (mem_rdat),
    .mem_rdat_bad_i  (1'b0),
    .refused_valid_o (refused),
    .refused_ready_i (1'b0),
    .refused_conn_o  (unused_refused),
    .open_i          (opens_q != '0),
    .open_conn_i     (conn_t'(opens_q[1])),
    .busy_o          (busy),
    .mark_i          (1'b0),
    .earlier_o       (earlier),
    .idle_o          (idle)
  );

  `FV_STREAM(wr_stream, wr_valid_i, wr_ready, wr)

  // ------------------------------------------------ the bit as it must be
  logic bit_q, mem_bit, put, take, give;
  logic [1:0] asked_q;  // reads under way
  logic [Reads-1:0] due_q, want_q;  // of these, the oldest first: to be checked; what it must be
  assign put  = wr_valid_i && wr_ready && wr_line_i == '0 && wr_lanes_i[0];
  assign take = rd_valid_i && rd_ready;
  assign give = rdat_valid && rdat_ready_i;

  always_ff @(posedge clk_i) begin
    logic [1:0] n;
    logic [Reads-1:0] due, want;
    n    = asked_q - 2'(give);
    due  = give ? due_q >> 1 : due_q;
    want = give ? want_q >> 1 : want_q;
    if (take) begin
      due[n]  = rd_line_i == '0 && rd_lanes_i[0];
      want[n] = bit_q;
    end
    due_q  <= put ? '0 : due;
    want_q <= want;
    if (!rst_ni) begin
      asked_q <= '0;
      bit_q   <= mem_bit;
    end else begin
      asked_q <= n + 2'(take);
      if (put) bit_q <= wr_bit_i;
    end
  end
  `ASSERT(Asked, !rdat_valid || asked_q != '0)
  `ASSERT(Newest, !rdat_valid || !due_q[0] || rdat[0] == want_q[0])
  `ASSERT(Good, !rdat_valid || !rdat_bad)
  `ASSERT(NobodyRefused, !refused && !busy && !earlier)

  // ------------------------------------------------ memory
  logic mem_idle, unused_old;
  memory_fv #(
    .Reads(Reads)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .wr_valid_i  (mem_wr_valid),
    .wr_ready_i  (mem_wr_ready_i),
    .wr_i        (mem_wr),
    .wr_done_o   (mem_wr_done),
    .rd_valid_i  (mem_rd_valid),
    .rd_ready_i  (mem_rd_ready_i),
    .rd_addr_i   (mem_rd_addr),
    .rdat_valid_o(mem_rdat_valid),
    .rdat_o      (mem_rdat),
    .done_i      (mem_wr_done_i),
    .answer_i    (mem_rdat_valid_i),
    .anything_i  (mem_bit_i),
    .bit_o       (mem_bit),
    .old_o       (unused_old),
    .idle_o      (mem_idle)
  );
  `ASSERT(Idle, !idle || (asked_q == '0 && mem_idle))
endmodule
