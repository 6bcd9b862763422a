// Coherent cache of the lines in flight in front of one memory port: a line is acquired early,
// read and written at its turn, and released; so no one ever sees an older line than the last
// write left. Write-through. Acquire to response 4 clocks for a line that is present, initiation
// interval 1; a line that is absent is read from memory meanwhile.
//
// Its parts: pick (whose request is next, and who stepped aside), tags (stages look and decide: hit, or a
// way), pins (releases), fetch (memory's reads), answer (responses wait for their fill), data.
//
// Every client class acquires in order and releases in order, so a pin needs no counter: a tag
// holds the number of the class's last acquisition of its line (its ticket), and the line is
// pinned while that acquisition is not yet released.
// A class allocates only in its own ways, but finds lines in all of them. So that nobody waits for
// a class that waits for it, there are ways in which a class must not stay: it fetches the line
// again into a way of its own once the line is not pinned (then memory is up to date); and of some
// ways class 0 may pin only so many that two remain. A request that must wait steps aside
// and does not block the other classes.
`include "lib_assert.svh"

module line_cache
  import wirekv_pkg::*;
  import store_pkg::*;
#(
  /// Sets: a power of two, 2 or more.
  parameter int unsigned Sets = 128,
  /// Ways: a power of two, 2 or more.
  parameter int unsigned Ways = 4,
  /// Client classes, 2 or more.
  parameter int unsigned Classes = 2,
  /// Ways in which each class may allocate.
  parameter logic [Classes-1:0][Ways-1:0] OwnWays = '1,
  /// Ways of other classes in which each class must not stay.
  parameter logic [Classes-1:0][Ways-1:0] Avoid = '0,
  /// Ways (3 or more, or none) of which class 0, which may have them among its own, leaves two that
  /// it does not pin.
  parameter logic [Ways-1:0] Spare = '0,
  /// Ways that hints fill; none: there are no hints.
  parameter logic [Ways-1:0] HintWays = '0,
  /// Responses that wait for their fill, for each class: the lines it can have outstanding; 8 or
  /// more.
  parameter logic [Classes-1:0][8:0] Waiting = {Classes{9'd32}},
  /// Ports that read lines, 1 or more; each costs a copy of the data.
  parameter int unsigned Reads = 2,
  /// Ports that write lines, 1 or more; the first goes before all others. Lines that come from
  /// memory wait for all of them, so nobody may write into the same RAM for ever.
  parameter int unsigned Writes = 1,
  /// Lanes that each of these ports may write; of the last one all.
  parameter strb_t [Writes-1:0] Lanes = '1,
  /// Data of odd and even sets are in RAMs of their own, so that one is written while the other is
  /// filled.
  parameter bit Split = 0,
  /// A line's set depends on all of its number, so that lines at like distances are in many sets.
  parameter bit Spread = 0,
  /// Data are in UltraRAM.
  parameter bit Ultra = 0,
  /// Blocks of data, 1 or 2, that a slot's highest bit tells apart, each no deeper than an UltraRAM.
  parameter int unsigned Blocks = 1,
  /// A line's address is base + (line << Shift) + Low.
  parameter int unsigned Shift = 0,
  parameter int unsigned Low = 0,
  /// Lines being read from memory, and reads that memory has not taken; more than 4 a class.
  parameter int unsigned MaxFills = 256,
  parameter int unsigned MaxReads = 32,
  /// Writes that memory has not acknowledged.
  parameter int unsigned MaxWrites = 256,
  /// Bits of a fill's number, enough for twice MaxFills; with more bits an old fill looks like one on
  /// its way less often.
  parameter int unsigned NumberBits = 14,
  /// A set is renewed after every so many acquisitions: a power of two, 4 or more; and the bits of a
  /// ticket, of which half the range is enough for those between two renewals of a set and, twice,
  /// those in flight. Block RAM has bytes of 9 bits.
  parameter int unsigned RenewEvery = 64,
  parameter int unsigned TicketBits = 18,
  /// With these lanes written a line is begun anew: nobody asks any more for what was there before.
  parameter strb_t Anew = '1,
  /// What a line is that memory could not read.
  parameter line_t BadLine = '0,
  localparam int unsigned SetBits = $clog2(Sets),
  localparam int unsigned SlotBits = $clog2(Sets * Ways)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  /// Address of line 0.
  input  laddr_t                            base_i,
  /// Acquire a line. With `fresh` an absent line is not read from memory: it will be written
  /// from its beginning on.
  input  logic        [Classes-1:0]         acq_valid_i,
  output logic        [Classes-1:0]         acq_ready_o,
  input  line_no_t    [Classes-1:0]         acq_line_i,
  input  logic        [Classes-1:0]         acq_fresh_i,
  /// A hint: the line is fetched if a way is free, and nothing else. It gets no response, and is not to be
  /// released. Not in a cache in which lines are acquired fresh: a hint's fill may come behind.
  input  logic        [Classes-1:0]         acq_hint_i = '0,
  /// The slot of each acquired line, in order, as soon as its data are there.
  output logic        [Classes-1:0]         rsp_valid_o,
  input  logic        [Classes-1:0]         rsp_ready_i,
  output logic        [Classes-1:0][SlotBits-1:0] rsp_slot_o,
  /// Number of lines to release in this clock, oldest first.
  input  logic        [Classes-1:0][3:0]    rel_i,
  /// Read slots: data stand from the next clock until the next read; or nothing, so that an OR chooses among caches.
  input  logic        [Reads-1:0]           rd_en_i,
  input  logic        [Reads-1:0][SlotBits-1:0] rd_slot_i,
  input  logic        [Reads-1:0]           rd_clear_i = '0,
  output line_t       [Reads-1:0]           rd_data_o,
  /// Beside the data: memory could not read the line, or has refused a write to it; it is BadLine, and nobody has
  /// written its lane 0 since.
  output logic        [Reads-1:0]           rd_bad_o,
  /// Write lanes of a slot and of its line in memory.
  input  logic        [Writes-1:0]          wr_valid_i,
  output logic        [Writes-1:0]          wr_ready_o,
  input  logic        [Writes-1:0][SlotBits-1:0] wr_slot_i,
  input  line_no_t    [Writes-1:0]          wr_line_i,
  input  line_t       [Writes-1:0]          wr_data_i,
  input  strb_t       [Writes-1:0]          wr_strb_i,
  /// Memory.
  // Offered when it is ready, so its ready must not wait for that.
  output logic                              mem_wr_valid_o,
  input  logic                              mem_wr_ready_i,
  output line_write_t                       mem_wr_o,
  input  logic                              mem_wr_done_i,
  output logic                              mem_rd_valid_o,
  input  logic                              mem_rd_ready_i,
  output laddr_t                            mem_rd_addr_o,
  // Answers are taken at once.
  input  logic                              mem_rdat_valid_i,
  input  line_t                             mem_rdat_i,
  input  logic                              mem_rdat_bad_i,
  input  logic                              mem_wr_bad_i,
  /// Lines not to be trusted: see bad_lines.
  output mem_said_t                         said_o,
  output logic                              ask_o,
  output line_no_t                          ask_line_o,
  input  logic                              go_i,
  input  logic                              bad_i,
  output logic                              gone_o,
  /// Nothing is pinned or outstanding.
  output logic                              idle_o
);

  if (Sets < 2 || Sets != 2 ** $clog2(
          Sets
      ) || Ways < 2 || Ways != 2 ** $clog2(
          Ways
      )) begin : gen_bad_size
    $error("%m: Sets and Ways must be powers of two, at least 2");
  end
  for (genvar c = 0; c < Classes; c++) begin : gen_check_waiting
    if (Waiting[c] < 8) begin : gen_bad_waiting
      $error("%m: Waiting must be 8 or more");
    end
  end
  if (RenewEvery < 4 || RenewEvery != 2 ** $clog2(
          RenewEvery
      ) || Sets * RenewEvery * 4 > 2 ** TicketBits) begin : gen_bad_tickets
    $error("%m: RenewEvery must be a power of two, at least 4, and TicketBits enough");
  end
  if ((OwnWays & Avoid) != '0) begin : gen_bad_ways
    $error("%m: a class must not avoid its own ways");
  end
  if (Blocks != 1 && (Blocks != 2 || Split)) begin : gen_bad_blocks
    $error("%m: Blocks must be 1, or 2 unless data are split");
  end
  if (Classes < 2) begin : gen_bad_classes
    $error("%m: Classes must be 2 or more");
  end

  localparam int unsigned Rams = Split ? 2 : 1;
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [$clog2(Classes)-1:0] class_t;
  typedef logic [NumberBits-1:0] number_t;

  function automatic laddr_t address(input laddr_t base, input line_no_t line);
    return base + (laddr_t'(line) << Shift) + laddr_t'(Low);
  endfunction

  // ---------------------------------------------------------------- a request a clock, through the tags
  logic [Classes-1:0] hint, rsp_room, queued;
  line_acq_t [Classes-1:0] acq;
  logic pick_valid, pick_again, sweep, clear, pick_idle;
  class_t pick_class;
  line_acq_t pick_acq;
  logic [SetBits-1:0] pick_set;
  logic tried, tried_again, ok, fetch, fetch_room, fetch_idle, tags_idle;
  class_t tried_class;
  line_acq_t tried_acq;
  slot_t slot;
  number_t fill_number;
  number_t [Rams-1:0] fill_next, fill_done;
  logic [Classes-1:0][TicketBits-1:0] past;
  for (genvar c = 0; c < Classes; c++) begin : gen_acq
    assign hint[c] = acq_hint_i[c] && HintWays != '0;
    assign acq[c]  = '{line: acq_line_i[c], fresh: acq_fresh_i[c], hint: hint[c]};
  end

  line_cache_arbiter #(
    .Sets      (Sets),
    .Classes   (Classes),
    .Spread    (Spread),
    .RenewEvery(RenewEvery)
  ) u_pick (
    .clk_i,
    .rst_ni,
    .acq_valid_i,
    .acq_ready_o,
    .acq_i        (acq),
    .room_i       (rsp_room & {Classes{fetch_room}}),
    .valid_o      (pick_valid),
    .class_o      (pick_class),
    .acq_o        (pick_acq),
    .again_o      (pick_again),
    .set_o        (pick_set),
    .sweep_o      (sweep),
    .clear_o      (clear),
    .tried_i      (tried),
    .tried_class_i(tried_class),
    .tried_acq_i  (tried_acq),
    .tried_again_i(tried_again),
    .tried_ok_i   (ok),
    .queued_o     (queued),
    .idle_o       (pick_idle)
  );

  line_cache_tags #(
    .Sets      (Sets),
    .Ways      (Ways),
    .Classes   (Classes),
    .OwnWays   (OwnWays),
    .Avoid     (Avoid),
    .Spare     (Spare),
    .HintWays  (HintWays),
    .Rams      (Rams),
    .NumberBits(NumberBits),
    .TicketBits(TicketBits)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .valid_i    (pick_valid),
    .class_i    (pick_class),
    .acq_i      (pick_acq),
    .again_i    (pick_again),
    .set_i      (pick_set),
    .sweep_i    (sweep),
    .clear_i    (clear),
    .queued_i   (queued),
    .past_i     (past),
    .fill_next_i(fill_next),
    .fill_done_i(fill_done),
    .tried_o    (tried),
    .class_o    (tried_class),
    .acq_o      (tried_acq),
    .again_o    (tried_again),
    .ok_o       (ok),
    .fetch_o    (fetch),
    .slot_o     (slot),
    .fill_o     (fill_number),
    .idle_o     (tags_idle)
  );

  line_cache_answer #(
    .Sets      (Sets),
    .Ways      (Ways),
    .Classes   (Classes),
    .Waiting   (Waiting),
    .Rams      (Rams),
    .NumberBits(NumberBits)
  ) u_answer (
    .clk_i,
    .rst_ni,
    .taken_i    (acq_valid_i & acq_ready_o & ~hint),
    .room_o     (rsp_room),
    .valid_i    (ok && !tried_acq.hint),
    .class_i    (tried_class),
    .slot_i     (slot),
    .fill_i     (fill_number),
    .fill_next_i(fill_next),
    .fill_done_i(fill_done),
    .rsp_valid_o,
    .rsp_ready_i,
    .rsp_slot_o
  );

  // ---------------------------------------------------------------- lines from memory, and to it
  logic unused_target, done, done_anew, answer_bad, wr_bad_q, done_bad_q;
  line_no_t target_line, done_line;
  logic [Rams-1:0] fill;
  slot_t target;
  laddr_t [Writes-1:0] wr_addr;
  for (genvar p = 0; p < Writes; p++) begin : gen_write
    assign wr_addr[p] = address(base_i, wr_line_i[p]);
  end

  line_cache_fetch #(
    .Sets      (Sets),
    .Ways      (Ways),
    .Rams      (Rams),
    .NumberBits(NumberBits),
    .MaxFills  (MaxFills),
    .MaxReads  (MaxReads),
    // Of each class its queue, which two may enter that are in the tags.
    .OnTheWay  (4 * Classes)
  ) u_fetch (
    .clk_i,
    .rst_ni,
    .room_o        (fetch_room),
    .valid_i       (fetch),
    .line_i        (tried_acq.line),
    .slot_i        (slot),
    .mem_rd_valid_o,
    .mem_rd_ready_i,
    .mem_rd_line_o (ask_line_o),
    .ask_o,
    .go_i,
    .bad_i,
    .gone_o,
    .target_valid_o(unused_target),
    .target_o      (target),
    .target_line_o (target_line),
    .arrives_i     (mem_rdat_valid_i),
    .answer_bad_o  (answer_bad),
    .fill_i        (fill),
    .fill_next_o   (fill_next),
    .fill_done_o   (fill_done),
    .idle_o        (fetch_idle)
  );

  line_cache_data #(
    .Sets     (Sets),
    .Ways     (Ways),
    .Reads    (Reads),
    .Writes   (Writes),
    .Lanes    (Lanes),
    .Rams     (Rams),
    .Ultra    (Ultra),
    .Blocks   (Blocks),
    .MaxFills (MaxFills),
    .MaxWrites(MaxWrites),
    .Anew     (Anew),
    .BadLine  (BadLine)
  ) u_data (
    .clk_i,
    .rst_ni,
    .rd_en_i,
    .rd_slot_i,
    .rd_clear_i,
    .rd_data_o,
    .rd_bad_o,
    .wr_valid_i,
    .wr_ready_o,
    .wr_slot_i,
    .wr_addr_i     (wr_addr),
    .wr_line_i,
    .wr_data_i,
    .wr_strb_i,
    .mem_wr_valid_o,
    .mem_wr_ready_i,
    .mem_wr_o,
    .mem_wr_done_i,
    .done_o        (done),
    .done_line_o   (done_line),
    .done_anew_o   (done_anew),
    .target_i      (target),
    .mem_rdat_valid_i(mem_rdat_valid_i || answer_bad),
    .mem_rdat_i,
    .mem_rdat_bad_i(mem_rdat_bad_i || answer_bad),
    .fill_o        (fill)
  );

  assign mem_rd_addr_o = address(base_i, ask_line_o);
  assign said_o = '{
          rd_bad: mem_rdat_valid_i && mem_rdat_bad_i,
          rd_line: target_line,
          wr_bad: done && done_bad_q,
          wr_anew: done && done_anew && !done_bad_q,
          wr_line: done_line
      };
  always_ff @(posedge clk_i) {done_bad_q, wr_bad_q} <= {wr_bad_q, mem_wr_bad_i};

  `ASSERT(HintOrFresh, HintWays == '0 || acq_fresh_i == '0)
  `ASSERT(TargetKnown, !mem_rdat_valid_i || unused_target)
  `ASSERT(OneAnswer, !mem_rdat_valid_i || !answer_bad)

  // ---------------------------------------------------------------- releases
  logic pins_idle;
  line_cache_pins #(
    .Classes   (Classes),
    .MaxWrites (MaxWrites),
    .TicketBits(TicketBits)
  ) u_pins (
    .clk_i,
    .rst_ni,
    .rel_i,
    .wr_i     (mem_wr_valid_o),
    .wr_done_i(mem_wr_done_i),
    .past_o   (past),
    .idle_o   (pins_idle)
  );

  assign idle_o = pick_idle && tags_idle && pins_idle && fetch_idle;

endmodule
