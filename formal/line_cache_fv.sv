// line_cache, seen through one line and one bit of it: a read gives what was last written there,
// whatever the clients do with other lines, however long memory takes and whatever it holds
// elsewhere; and a line keeps its slot, alone, as long as it is pinned.
//
// Either the cache is as small as it gets, so that few clocks suffice to evict a line, to fetch it
// again, and to renew its ticket; or (Log) it is a bank of the log's cache with its classes, ways and
// write ports. Two sets are enough: a request touches its own alone, and what follows it closely is in
// the same or in another; they only share numbers, of fewer bits here, so that few clocks suffice to
// renew. Clients take responses at once and memory takes orders at once: waiting there would look like
// a longer latency. Not seen here: full queues, more than one read port, which are copies, and refusals,
// which are bad_lines'.
`include "fv.svh"
`include "lib_assert.svh"

module line_cache_fv
  import wirekv_pkg::*;
  import store_pkg::*;
#(
  /// Class 1 has a way of its own, where class 0 must not stay; else all ways are everyone's.
  parameter bit Moves = 0,
  /// Data of odd and even sets in RAMs of their own.
  parameter bit Split = 0,
  /// Lines that a class may have acquired.
  parameter logic [1:0] Each = 2,
  /// Other lines: one, or three.
  parameter bit Few = 0,
  /// A bank of the log.
  parameter bit Log = 0,
  /// Hints, which fill class 0's ways, instead of lines acquired fresh.
  parameter bit Hints = 0,
  localparam int unsigned Classes = Log ? LogClasses : 2,
  localparam int unsigned Ways = Log ? LogWays : 2,
  localparam int unsigned Writes = Log ? 2 : 1,
  localparam int unsigned HeldBits = $clog2(2 * Classes)
) (
  input logic                            clk_i,
  input logic [Classes-1:0]              acq_valid_i,
  input logic [Classes-1:0][1:0]         acq_line_i,
  input logic                            acq_fresh_i,
  input logic [Classes-1:0]              acq_hint_i,
  input logic [Classes-1:0]              rel_i,
  // Who reads and writes: class and place of a line that it holds.
  input logic                            rd_en_i,
  input logic [HeldBits-1:0]             rd_by_i,
  input logic [Writes-1:0]               wr_valid_i,
  input logic [Writes-1:0][HeldBits-1:0] wr_by_i,
  input logic [Writes-1:0]               wr_lane_i,
  input logic [Writes-1:0]               wr_bit_i,
  // Memory.
  input logic                            mem_wr_done_i,
  input logic                            mem_rdat_valid_i,
  input logic                            mem_bit_i
);
  `FV_RESET

  // Lines 0 to 3 are 0, 2 and 4, which share a set, and 1; the line seen through is 0. The last class
  // is the one that acquires lines fresh.
  localparam int unsigned Last = Classes - 1;
  typedef logic [1:0] small_line_t;
  typedef logic [$clog2(2*Ways)-1:0] slot_t;
  typedef logic [Classes-1:0][Ways-1:0] ways_t;
  function automatic small_line_t choice(input small_line_t n);
    return Few ? {1'b0, n[0]} : n;
  endfunction
  function automatic line_no_t line(input small_line_t n);
    return (n == 2'd3) ? line_no_t'(1) : line_no_t'({n, 1'b0});
  endfunction

  // ------------------------------------------------ the cache
  logic [Classes-1:0] acq_valid, acq_ready, acq_fresh, acq_hint, rsp_valid;
  assign acq_fresh = Classes'(acq_fresh_i && !Hints) << Last;
  assign acq_hint  = Hints ? acq_hint_i : '0;
  line_no_t [Classes-1:0] acq_line;
  slot_t [Classes-1:0] rsp_slot;
  logic [Classes-1:0][3:0] rel;
  logic rd_en;
  logic [Writes-1:0] wr_valid, wr_ready;
  slot_t rd_slot;
  slot_t [Writes-1:0] wr_slot;
  line_no_t [Writes-1:0] wr_line;
  line_t [Writes-1:0] wr_data;
  strb_t [Writes-1:0] wr_strb;
  line_t rd_data, mem_rdat;
  logic unused_bad, unused_ask, unused_gone;
  mem_said_t unused_said;
  line_no_t unused_ask_line;
  logic mem_wr_valid, mem_wr_done, mem_rd_valid, mem_rdat_valid, idle;
  line_write_t mem_wr;
  laddr_t mem_rd_addr;

  line_cache #(
    .Sets      (2),
    .Ways      (Ways),
    .Classes   (Classes),
    .OwnWays   (Log ? ways_t'(LogOwnWays) : ways_t'(Moves ? 4'b1001 : 4'b1111)),
    .Avoid     (Log ? ways_t'(LogAvoid) : ways_t'(Moves ? 4'b0010 : 4'b0000)),
    .Spare     (Log ? Ways'(LogSpare) : '0),
    .HintWays  (Hints ? Ways'(1) : '0),
    .Waiting   ({Classes{9'd8}}),
    .Reads     (1),
    .Writes    (Writes),
    .Split     (Split),
    .MaxFills  (4 * Classes + 2),
    .MaxReads  (4 * Classes + 2),
    .MaxWrites (100),
    .NumberBits(8),
    .RenewEvery(4),
    .TicketBits(5)
  ) dut (
    .clk_i,
    .rst_ni,
    .base_i          ('0),
    .acq_valid_i     (acq_valid),
    .acq_ready_o     (acq_ready),
    .acq_line_i      (acq_line),
    .acq_fresh_i     (acq_fresh),
    .acq_hint_i      (acq_hint),
    .rsp_valid_o     (rsp_valid),
    .rsp_ready_i     ('1),
    .rsp_slot_o      (rsp_slot),
    .rel_i           (rel),
    .rd_en_i         (rd_en),
    .rd_slot_i       (rd_slot),
    .rd_data_o       (rd_data),
    .rd_bad_o        (unused_bad),
    .wr_valid_i      (wr_valid),
    .wr_ready_o      (wr_ready),
    .wr_slot_i       (wr_slot),
    .wr_line_i       (wr_line),
    .wr_data_i       (wr_data),
    .wr_strb_i       (wr_strb),
    .mem_wr_valid_o  (mem_wr_valid),
    .mem_wr_ready_i  (1'b1),
    .mem_wr_o        (mem_wr),
    .mem_wr_done_i   (mem_wr_done),
    .mem_rd_valid_o  (mem_rd_valid),
    .mem_rd_ready_i  (1'b1),
    .mem_rd_addr_o   (mem_rd_addr),
    .mem_rdat_valid_i(mem_rdat_valid),
    .mem_rdat_i      (mem_rdat),
    .mem_rdat_bad_i  (1'b0),
    .mem_wr_bad_i    (1'b0),
    .said_o          (unused_said),
    .ask_o           (unused_ask),
    .ask_line_o      (unused_ask_line),
    .go_i            (1'b1),
    .bad_i           (1'b0),
    .gone_o          (unused_gone),
    .idle_o          (idle)
  );

  // ------------------------------------------------ clients: up to 2 acquisitions a class
  logic [Classes-1:0][1:0] acq_q, rsp_q, rel_q;  // how many so far
  logic [Classes-1:0][1:0] asked, pinned, fresh_q;
  small_line_t [Classes-1:0][1:0] lines_q;
  slot_t [Classes-1:0][1:0] slots_q;
  logic [2*Classes-1:0] held;
  small_line_t [2*Classes-1:0] held_line;
  slot_t [2*Classes-1:0] held_slot;
  assign held      = pinned;
  assign held_line = lines_q;
  assign held_slot = slots_q;

  for (genvar c = 0; c < Classes; c++) begin : gen_class
    logic [1:0] all, have;
    assign all          = acq_q[c] - rel_q[c];
    assign have         = rsp_q[c] - rel_q[c];
    assign acq_valid[c] = acq_valid_i[c] && all != Each;
    assign acq_line[c]  = line(choice(acq_line_i[c]));
    assign rel[c]       = 4'(rel_i[c] && have != '0);
    for (genvar i = 0; i < 2; i++) begin : gen_place
      logic age;
      assign age          = 1'(i) - rel_q[c][0];
      assign pinned[c][i] = 2'(age) < have;
      assign asked[c][i]  = 2'(age) >= have && 2'(age) < all;
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        acq_q[c] <= '0;
        rsp_q[c] <= '0;
        rel_q[c] <= '0;
      end else begin
        if (acq_valid[c] && acq_ready[c] && !acq_hint[c]) begin
          acq_q[c]               <= acq_q[c] + 1'b1;
          lines_q[c][acq_q[c][0]] <= choice(acq_line_i[c]);
          fresh_q[c][acq_q[c][0]] <= acq_fresh[c];
        end
        if (rsp_valid[c]) begin
          rsp_q[c]                <= rsp_q[c] + 1'b1;
          slots_q[c][rsp_q[c][0]] <= rsp_slot[c];
        end
        rel_q[c] <= rel_q[c] + rel[c][1:0];
      end
    end
    `ASSERT(Asked, !rsp_valid[c] || acq_q[c] != rsp_q[c])
  end

  // A pinned line is in one slot, and no other line is.
  logic [2*Classes-1:0][2*Classes-1:0] alone;
  for (genvar i = 0; i < 2 * Classes; i++) begin : gen_slot
    for (genvar j = 0; j < 2 * Classes; j++) begin : gen_other
      assign alone[i][j] = !(held[i] && held[j] && held_line[i] == '0) ||
                           (held_slot[i] == held_slot[j]) == (held_line[j] == '0);
    end
  end
  `ASSERT(Alone, &alone)

  // ------------------------------------------------ the bit as it must be
  logic bit_q, mem_bit;
  logic known_q;  // a fresh line is anything until it is written
  logic pending;  // a fresh acquisition of the line waits for its slot
  logic acquired, due_q, due_bit_q, put_bit;
  logic [Writes-1:0] put;
  assign pending  = |(asked[Last] & fresh_q[Last] &
      {lines_q[Last][1] == '0, lines_q[Last][0] == '0});
  assign acquired = acq_valid[Last] && acq_ready[Last] && acq_fresh[Last] &&
      choice(acq_line_i[Last]) == '0;
  for (genvar p = 0; p < Writes; p++) begin : gen_write
    assign wr_valid[p] = wr_valid_i[p] && held[wr_by_i[p]];
    assign wr_slot[p]  = held_slot[wr_by_i[p]];
    assign wr_line[p]  = line(held_line[wr_by_i[p]]);
    assign wr_data[p]  = line_t'(wr_bit_i[p]);
    assign wr_strb[p]  = strb_t'(wr_lane_i[p]);
    assign put[p]      = wr_valid[p] && wr_ready[p] && wr_line[p] == '0 && wr_lane_i[p];
  end
  assign put_bit  = |(put & wr_bit_i);
  assign rd_en    = rd_en_i && held[rd_by_i];
  assign rd_slot  = held_slot[rd_by_i];
  always_ff @(posedge clk_i) begin
    due_q     <= rst_ni && rd_en && held_line[rd_by_i] == '0 && known_q;
    due_bit_q <= bit_q;
    if (!rst_ni) bit_q <= mem_bit;
    else if (|put) bit_q <= put_bit;
    if (!rst_ni) known_q <= 1'b1;
    else if (pending || acquired) known_q <= 1'b0;
    else if (|put) known_q <= 1'b1;
  end
  `ASSERT(Forwarded, !due_q || rd_data[0] == due_bit_q)

  // ------------------------------------------------ memory
  logic mem_old, mem_idle;
  memory_fv #(
    .Reads(Hints ? 4 * Classes : 2 * Classes),
    .Whole(1)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .wr_valid_i  (mem_wr_valid),
    .wr_ready_i  (1'b1),
    .wr_i        (mem_wr),
    .wr_done_o   (mem_wr_done),
    .rd_valid_i  (mem_rd_valid),
    .rd_ready_i  (1'b1),
    .rd_addr_i   (mem_rd_addr),
    .rdat_valid_o(mem_rdat_valid),
    .rdat_o      (mem_rdat),
    .done_i      (mem_wr_done_i),
    .answer_i    (mem_rdat_valid_i),
    .anything_i  (mem_bit_i),
    .bit_o       (mem_bit),
    .old_o       (mem_old),
    .idle_o      (mem_idle)
  );
  `ASSERT(Idle, !idle || (mem_idle && acq_q == rel_q))

  // ------------------------------------------------ reached
  logic looks;
  assign looks = dut.tried && dut.tried_acq.line == '0;
  `FV_SEEN(written, |put)
  `FV_SEEN(filled, mem_rdat_valid)
  `FV_COVER(Hits, looks && dut.ok && dut.u_tags.hit && written)
  `FV_COVER(Refuses, looks && !dut.ok && dut.u_tags.own == '0)
  `FV_COVER(Evicts, looks && dut.fetch && written)
  `FV_COVER(Renews, dut.u_tags.decide_sweep_q && !dut.u_tags.decide_clear_q && pinned != '0)
  `FV_COVER(Reads, due_q && written && filled && put == '0)
  `FV_COVER(OldAnswer, mem_old)
  `ASSERT(OnePut, (put & (put - 1'b1)) == '0)
  if (Hints) begin : gen_hints
    logic hinted_q;  // a hint has the line fetched
    slot_t slot_q;
    always_ff @(posedge clk_i) begin
      if (looks && dut.fetch) slot_q <= dut.slot;
      hinted_q <= rst_ni && ((looks && dut.fetch) ? dut.tried_acq.hint :
          hinted_q && !(mem_rdat_valid && dut.target == slot_q));
    end
    `FV_COVER(HintHits, looks && dut.ok && dut.u_tags.hit && !dut.tried_acq.hint && hinted_q)
    `FV_COVER(HintDropped, looks && dut.tried_acq.hint && !dut.ok && dut.u_tags.own == '0)
    `FV_COVER(HintDisplaced, !looks && dut.fetch && dut.slot == slot_q && hinted_q)
  end
  if (Moves) begin : gen_moves
    `FV_COVER(Moves, looks && dut.ok && dut.u_tags.away != '0)
    `FV_COVER(MustWait, looks && dut.u_tags.leave)
  end
endmodule
