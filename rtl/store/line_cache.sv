// Coherent cache of the lines in flight in front of one memory port: a line is acquired early,
// read and written at its turn, and released; so no one ever sees an older line than the last
// write left. Write-through. Acquire to response 4 clocks for a line that is present, initiation
// interval 1; a line that is absent is read from memory meanwhile.
//
// Every client class acquires in order and releases in order, so a pin needs no counter: a tag
// holds the number of the class's last acquisition of its line (its ticket), and the line is
// pinned while that acquisition is not yet released. A release takes effect once the writes
// before it are acknowledged, so a line is never fetched again from behind its own write.
// A class allocates only in its own ways, but finds lines in all of them. So that nobody waits for
// a class that waits for it, there are ways in which a class must not stay: it fetches the line
// again into a way of its own once the line is not pinned (then memory is up to date); and of some
// ways class 0 may pin only so many that two remain. A request that must wait steps aside
// and does not block the other classes.
`include "lib_assert.svh"

module line_cache
  import lib_pkg::*;
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
  /// Responses that wait for their fill, for each class: the lines it can have outstanding; 8 or
  /// more.
  parameter logic [Classes-1:0][8:0] Waiting = {Classes{9'd32}},
  /// Ports that read lines, 1 or more; each costs a copy of the data.
  parameter int unsigned Reads = 2,
  /// Ports that write lines, 1 or more; the first goes before all others. Lines that come from
  /// memory wait for all of them, so nobody may write into the same RAM for ever.
  parameter int unsigned Writes = 1,
  /// Data of odd and even sets are in RAMs of their own, so that one is written while the other is
  /// filled.
  parameter bit Split = 0,
  /// A line's set depends on all of its number, so that lines at like distances are in many sets.
  parameter bit Spread = 0,
  /// Data are in UltraRAM.
  parameter bit Ultra = 0,
  /// A line's address is base + (line << Shift) + Low.
  parameter int unsigned Shift = 0,
  parameter int unsigned Low = 0,
  /// Lines being read from memory, and reads that memory has not taken; more than 4 a class.
  parameter int unsigned MaxFills = 256,
  parameter int unsigned MaxReads = 32,
  /// Writes that memory has not acknowledged; and the bits of these and other numbers, enough for
  /// twice as many of each; with more bits an old fill looks like one on its way less often.
  parameter int unsigned MaxWrites = 256,
  parameter int unsigned NumberBits = SerialBits,
  /// A set is renewed after every so many acquisitions: a power of two, 4 or more (those on their
  /// way when one becomes due must not bring the next); and the bits of a ticket, enough for those
  /// between two renewals of a set and as many in flight.
  parameter int unsigned RenewEvery = 64,
  parameter int unsigned TicketBits = 16,
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
  /// The slot of each acquired line, in order, as soon as its data are there.
  output logic        [Classes-1:0]         rsp_valid_o,
  input  logic        [Classes-1:0]         rsp_ready_i,
  output logic        [Classes-1:0][SlotBits-1:0] rsp_slot_o,
  /// Number of lines to release in this clock, oldest first.
  input  logic        [Classes-1:0][3:0]    rel_i,
  /// Read slots: data stand from the next clock until the next read.
  input  logic        [Reads-1:0]           rd_en_i,
  input  logic        [Reads-1:0][SlotBits-1:0] rd_slot_i,
  output line_t       [Reads-1:0]           rd_data_o,
  /// Beside the data: memory could not read the line, and nobody has begun it anew since.
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
  input  logic                              mem_rdat_valid_i,
  output logic                              mem_rdat_ready_o,
  input  line_t                             mem_rdat_i,
  input  logic                              mem_rdat_bad_i,
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
      ) || Sets * RenewEvery * 2 > 2 ** TicketBits) begin : gen_bad_tickets
    $error("%m: RenewEvery must be a power of two, at least 4, and TicketBits enough");
  end
  if (Classes < 2) begin : gen_bad_classes
    $error("%m: Classes must be 2 or more");
  end

  localparam int unsigned TagBits = $bits(line_no_t) - SetBits;
  localparam int unsigned WayBits = $clog2(Ways);
  localparam int unsigned ClassBits = $clog2(Classes);
  // Requests between the check for room and the place that needs it: of one class those of two
  // stages (or their queue), the one that asks, and one as the check is registered; of all classes
  // each one's queue.
  localparam int OnTheWay = 5;
  localparam int AllOnTheWay = 4 * int'(Classes);

  // Serial numbers, compared only within the window of those in flight. An old fill number may look
  // as if it were in the window; that only delays a response until memory has answered. An old
  // ticket must not, so all sets are renewed in turn, one after every RenewEvery acquisitions.
  typedef logic [TicketBits-1:0] ticket_t;
  typedef logic [NumberBits-1:0] number_t;
  typedef logic [SetBits-1:0] set_t;
  typedef logic [TagBits-1:0] tag_t;
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [WayBits-1:0] way_no_t;
  typedef logic [ClassBits-1:0] class_t;

  typedef struct packed {
    logic                  valid;
    tag_t                  tag;
    number_t               fill;     // number of the memory read, of its RAM, that filled it
    ticket_t [Classes-1:0] tickets;
  } entry_t;

  typedef struct packed {
    line_no_t line;
    logic     fresh;
  } acq_t;

  typedef struct packed {
    slot_t   slot;
    number_t fill;
  } rsp_t;

  function automatic set_t set_of(input line_no_t line);
    set_t turn;
    // A Gray code of the upper bits, the fastest on top: where they count up, in the middle of a long
    // value, one bit changes, so that the lines behind do not come to the sets of those before. It is
    // added, so that two values that meet in a set go on one behind the other.
    turn = '0;
    for (int b = int'(SetBits); b < $bits(line_no_t); b++) begin
      turn[SetBits-1-b%SetBits] ^= line[b];
      if (b != int'(SetBits)) turn[SetBits-1-(b-1)%SetBits] ^= line[b];
    end
    return Spread ? line[SetBits-1:0] + turn : line[SetBits-1:0];
  endfunction

  // RAMs of data; which one a slot is in, and where.
  localparam int unsigned Rams = Split ? 2 : 1;
  localparam int unsigned RamBits = SlotBits - $clog2(Rams);
  typedef logic [RamBits-1:0] place_t;
  function automatic logic ram_of(input slot_t slot);
    return Split && slot[WayBits];
  endfunction
  function automatic place_t place_of(input slot_t slot);
    return place_t'(slot >> (WayBits + $clog2(Rams)) << WayBits) | place_t'(slot[WayBits-1:0]);
  endfunction

  ticket_t [Classes-1:0] issued_q, released_q, inflight;
  number_t [Rams-1:0] fill_issued_q, fill_done_q, fill_inflight_q;
  number_t wr_issued_q, wr_done_q;
  logic wr_push;
  for (genvar c = 0; c < Classes; c++) begin : gen_inflight
    assign inflight[c] = issued_q[c] - released_q[c];
  end

  // ---------------------------------------------------------------- pick a request, read its set
  logic [SetBits:0] init_q;  // all sets are cleared after reset
  logic init_done;
  assign init_done = init_q[SetBits];

  // Requests that must wait stand in a queue of their class, and behind them what of the class was
  // on its way; they are tried one by one until the queue is empty.
  localparam int unsigned Queue = 3;
  acq_t [Classes-1:0][Queue-1:0] queue_q;
  logic [Classes-1:0][1:0] queued_q;
  logic [Classes-1:0] trying_q, offer, rsp_room;
  acq_t [Classes-1:0] offer_acq;
  class_t last_q, pick;
  logic take, mem_room;

  // Stage look: compares the tags. Stage decide: gives the request a way.
  logic look_valid_q, look_again_q, look_near_q, look_same_q, look_renew_q;
  class_t look_class_q;
  acq_t look_q;
  logic decide_valid_q, decide_again_q, decide_renew_q;
  class_t decide_class_q;
  acq_t decide_q;
  logic decide_ok;

  // One set is renewed after every RenewEvery acquisitions.
  set_t read_set, renew_set_q;
  logic [$clog2(RenewEvery)-1:0] renew_count_q;
  logic renew_due_q, renew, renewing;
  assign renewing = look_renew_q || decide_renew_q;
  assign renew    = renew_due_q &&
      !(look_valid_q && set_of(look_q.line) == renew_set_q) &&
      !(decide_valid_q && set_of(decide_q.line) == renew_set_q);

  always_comb begin
    for (int c = 0; c < Classes; c++) begin
      offer[c]     = (queued_q[c] != '0) ? !trying_q[c] : acq_valid_i[c] && rsp_room[c] && mem_room;
      offer_acq[c] = (queued_q[c] != '0) ? queue_q[c][0] : {acq_line_i[c], acq_fresh_i[c]};
    end
    pick = last_q;
    for (int c = Classes - 1; c >= 0; c--) if (offer[c]) pick = class_t'(c);
    for (int c = Classes - 1; c >= 0; c--) if (offer[c] && c > int'(last_q)) pick = class_t'(c);
  end
  assign read_set = renew ? renew_set_q : set_of(offer_acq[pick].line);
  assign take     = |offer && init_done && !renew_due_q && !renewing;
  always_comb begin
    acq_ready_o = '0;
    acq_ready_o[pick] = take && queued_q[pick] == '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      init_q         <= '0;
      last_q         <= '0;
      renew_due_q    <= 1'b0;
      renew_count_q  <= '0;
      renew_set_q    <= '0;
      look_valid_q   <= 1'b0;
      look_renew_q   <= 1'b0;
      decide_valid_q <= 1'b0;
      decide_renew_q <= 1'b0;
    end else begin
      if (!init_done) init_q <= init_q + 1'b1;
      if (take) last_q <= pick;
      look_valid_q   <= take;
      look_renew_q   <= renew;
      decide_valid_q <= look_valid_q;
      decide_renew_q <= look_renew_q;
      if (decide_ok) renew_count_q <= renew_count_q + 1'b1;
      if (decide_ok && renew_count_q == '1) renew_due_q <= 1'b1;
      else if (renew) renew_due_q <= 1'b0;
      if (decide_renew_q) renew_set_q <= renew_set_q + 1'b1;
    end
    if (take) begin
      look_q       <= offer_acq[pick];
      look_class_q <= pick;
      look_again_q <= queued_q[pick] != '0;
      // The request right ahead is in the same set; for the same line.
      look_near_q  <= look_valid_q && set_of(look_q.line) == read_set;
      look_same_q  <= look_q.line == offer_acq[pick].line;
    end
    if (look_valid_q) begin
      decide_q       <= look_q;
      decide_class_q <= look_class_q;
      decide_again_q <= look_again_q;
    end
  end

  for (genvar c = 0; c < Classes; c++) begin : gen_queue
    logic mine, put, done;
    assign mine = decide_valid_q && decide_class_q == class_t'(c);
    assign put  = mine && !decide_again_q && !decide_ok;
    assign done = mine && decide_again_q && decide_ok;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        queued_q[c] <= '0;
        trying_q[c] <= 1'b0;
      end else begin
        queued_q[c] <= queued_q[c] + 2'(put) - 2'(done);
        if (take && pick == class_t'(c) && queued_q[c] != '0) trying_q[c] <= 1'b1;
        else if (mine && decide_again_q) trying_q[c] <= 1'b0;
      end
      if (done) queue_q[c] <= {queue_q[c][Queue-1], queue_q[c][Queue-1:1]};
      for (int e = 0; e < int'(Queue); e++)
      if (put && queued_q[c] - 2'(done) == 2'(e)) queue_q[c][e] <= decide_q;
    end
  end

  // ---------------------------------------------------------------- look: tags, pins
  entry_t [Ways-1:0] ram_entry, entry_q;
  entry_t new_entry, bypass_entry_q;
  logic [Ways-1:0][Classes-1:0] pins_q;
  logic [Ways-1:0] found_q, pinned_q, pinned_0_q;
  logic [Ways-1:0] hit_way, away, own, upper, victim, way, bypass_q, gone_q, spare_free;
  set_t decide_set;
  assign decide_set = decide_renew_q ? renew_set_q : set_of(decide_q.line);

  // Class 0 takes a spare way only where three are not pinned by it.
  logic [Ways-1:0] look_pinned_0, spare_0;
  logic roomy_q;
  assign spare_0 = Spare & ~look_pinned_0;
  // The request right ahead may be about to take one.
  always_ff @(posedge clk_i) if (look_valid_q) roomy_q <= several(spare_0) [2] && !look_near_q;

  /// There are one or more, two or more, three or more.
  function automatic logic [2:0] several(input logic [Ways-1:0] ways);
    several = '0;
    for (int w = 0; w < Ways; w++) if (ways[w]) several = {several[1:0], 1'b1};
  endfunction

  for (genvar w = 0; w < Ways; w++) begin : gen_way
    entry_t renewed, look_entry;
    // The entry that was written in the clock of the read.
    assign look_entry = bypass_q[w] ? bypass_entry_q : gone_q[w] ? '0 : ram_entry[w];
    assign look_pinned_0[w] = look_entry.valid &&
        ticket_t'(look_entry.tickets[0] - released_q[0]) < inflight[0];
    lib_ram #(
      .Width($bits(entry_t)),
      .Depth(Sets)
    ) u_tags (
      .clk_i,
      .we_i   (!init_done || decide_renew_q || (decide_ok && (way[w] || away[w]))),
      .waddr_i(init_done ? decide_set : init_q[SetBits-1:0]),
      .wbe_i  (1'b1),
      // Cleared after reset, and if the line moves to another way.
      .wdata_i(!init_done ? '0 : decide_renew_q ? renewed : way[w] ? new_entry : '0),
      .re_i   (take || renew),
      .raddr_i(read_set),
      .rdata_o(ram_entry[w])
    );
    always_comb begin
      renewed = entry_q[w];
      if (decide_renew_q) begin
        for (int c = 0; c < Classes; c++)
        if (!pins_q[w][c]) renewed.tickets[c] = released_q[c] - 1'b1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (look_valid_q || look_renew_q) begin
        entry_t entry;
        logic [Classes-1:0] pins;
        entry = look_entry;
        for (int c = 0; c < Classes; c++)
        pins[c] = entry.valid && ticket_t'(entry.tickets[c] - released_q[c]) < inflight[c];
        entry_q[w]    <= entry;
        found_q[w]    <= entry.valid && entry.tag == look_q.line[$bits(line_no_t)-1:SetBits];
        pins_q[w]     <= pins;
        pinned_q[w]   <= |pins;
        pinned_0_q[w] <= pins[0];
        // What the request right ahead changes in the same set.
        if (look_valid_q && look_near_q && decide_ok && way[w]) begin
          entry_q[w]    <= new_entry;
          found_q[w]    <= look_same_q;
          pinned_q[w]   <= 1'b1;
          pinned_0_q[w] <= decide_class_q == '0 || (hit && pinned_0_q[w]);
        end
        if (look_valid_q && look_near_q && decide_ok && away[w]) begin
          found_q[w]    <= 1'b0;
          pinned_q[w]   <= 1'b0;
          pinned_0_q[w] <= 1'b0;
        end
      end
    end
  end

  // ---------------------------------------------------------------- decide: hit, or a way to fill
  logic hit, leave, crowded, decide_ram;
  logic [WayBits-1:0] turn_q;  // spreads the victims over the ways
  way_no_t way_no;

  assign decide_ram = Split && decide_set[0];
  assign away    = found_q & Avoid[decide_class_q];
  assign hit_way = found_q & ~Avoid[decide_class_q];
  assign hit     = |hit_way;
  assign leave   = (away & pinned_q) != '0;  // must move, but cannot yet
  assign spare_free = Spare & ~hit_way & ~pinned_0_q;
  assign crowded = decide_class_q == '0 && (hit_way & Spare & ~pinned_0_q) != '0 &&
      !several(spare_free)[1];
  assign own     = ~pinned_q & OwnWays[decide_class_q] &
      ((decide_class_q == '0 && !roomy_q) ? ~Spare : '1);
  assign upper   = own & ({Ways{1'b1}} << turn_q);
  assign victim  = Ways'((upper != '0) ? lowest(64'(upper)) : lowest(64'(own)));
  assign way     = hit ? hit_way : victim;

  assign decide_ok   = decide_valid_q && !leave && !crowded && (hit || own != '0) &&
      (decide_again_q || queued_q[decide_class_q] == '0);

  always_comb begin
    new_entry       = '0;
    new_entry.valid = 1'b1;
    new_entry.tag   = decide_q.line[$bits(line_no_t)-1:SetBits];
    // A number outside the window: there at once, never pinned.
    new_entry.fill  = decide_q.fresh ? fill_done_q[decide_ram] - 1'b1 : fill_issued_q[decide_ram];
    for (int c = 0; c < Classes; c++) new_entry.tickets[c] = released_q[c] - 1'b1;
    for (int w = 0; w < Ways; w++)
    if (hit_way[w]) begin
      new_entry.fill    = entry_q[w].fill;
      new_entry.tickets = entry_q[w].tickets;
    end
    new_entry.tickets[decide_class_q] = issued_q[decide_class_q];
    way_no = '0;
    for (int w = 0; w < Ways; w++) if (way[w]) way_no |= way_no_t'(w);
  end

  logic fetch;
  assign fetch = decide_ok && !hit && !decide_q.fresh;

  always_ff @(posedge clk_i) begin
    bypass_q <= (decide_ok && decide_set == read_set) ? way : '0;
    gone_q   <= (decide_ok && decide_set == read_set) ? away : '0;
    if (decide_ok) bypass_entry_q <= new_entry;
    if (!rst_ni) begin
      issued_q      <= '0;
      fill_issued_q <= '0;
      turn_q        <= '0;
    end else begin
      if (decide_ok) begin
        issued_q[decide_class_q] <= issued_q[decide_class_q] + 1'b1;
        turn_q                   <= turn_q + 1'b1;
      end
      if (fetch) fill_issued_q[decide_ram] <= fill_issued_q[decide_ram] + 1'b1;
    end
  end

  // ---------------------------------------------------------------- responses wait for their fill
  for (genvar c = 0; c < Classes; c++) begin : gen_rsp
    rsp_t head;
    logic head_valid, there;
    logic [$clog2(int'(Waiting[c])+1)-1:0] level;
    logic unused_ready;
    lib_fifo #(
      .T    (rsp_t),
      .Depth(int'(Waiting[c]))
    ) u_rsp (
      .clk_i,
      .rst_ni,
      .s_valid_i(decide_ok && decide_class_q == class_t'(c)),
      .s_ready_o(unused_ready),
      .s_data_i ({set_of(decide_q.line), way_no, new_entry.fill}),
      .m_valid_o(head_valid),
      .m_ready_i(rsp_ready_i[c] && there),
      .m_data_o (head),
      .level_o  (level)
    );
    // Room for what is on its way, too.
    always_ff @(posedge clk_i) rsp_room[c] <= rst_ni && int'(level) + OnTheWay <= int'(Waiting[c]);
    `ASSERT(RspRoom, unused_ready || !(decide_ok && decide_class_q == class_t'(c)))
    assign there          = number_t'(head.fill - fill_done_q[ram_of(head.slot)]) >=
        fill_inflight_q[ram_of(head.slot)];
    assign rsp_valid_o[c] = head_valid && there;
    assign rsp_slot_o[c]  = head.slot;
  end

  // ---------------------------------------------------------------- fills
  logic target_valid, arrives, unused_target_ready, unused_rd_ready;
  slot_t target;
  logic [$clog2(MaxFills+1)-1:0] fills;
  logic [$clog2(MaxReads+1)-1:0] reads;
  always_ff @(posedge clk_i)
    mem_room <= rst_ni && int'(fills) + AllOnTheWay <= int'(MaxFills) &&
      int'(reads) + AllOnTheWay <= int'(MaxReads);
  lib_fifo #(
    .T    (slot_t),
    .Depth(MaxFills)
  ) u_targets (
    .clk_i,
    .rst_ni,
    .s_valid_i(fetch),
    .s_ready_o(unused_target_ready),
    .s_data_i ({set_of(decide_q.line), way_no}),
    .m_valid_o(target_valid),
    .m_ready_i(arrives),
    .m_data_o (target),
    .level_o  (fills)
  );

  function automatic laddr_t address(input laddr_t base, input line_no_t line);
    return base + (laddr_t'(line) << Shift) + laddr_t'(Low);
  endfunction

  lib_fifo #(
    .T    (laddr_t),
    .Depth(MaxReads)
  ) u_rd (
    .clk_i,
    .rst_ni,
    .s_valid_i(fetch),
    .s_ready_o(unused_rd_ready),
    .s_data_i (address(base_i, decide_q.line)),
    .m_valid_o(mem_rd_valid_o),
    .m_ready_i(mem_rd_ready_i),
    .m_data_o (mem_rd_addr_o),
    .level_o  (reads)
  );
  `ASSERT(ReadRoom, !fetch || (unused_rd_ready && unused_target_ready))

  // ---------------------------------------------------------------- writes, before fills
  typedef struct packed {
    slot_t slot;
    line_t data;
    logic  bad;
  } fill_t;

  logic [Writes-1:0] wr_pick;
  logic wr_room, wr_room_q, wr_ram;
  slot_t wr_slot;
  line_t wr_data;
  strb_t wr_strb;
  number_t wr_open;
  fill_t arrived;
  fill_t [Rams-1:0] to_fill;
  logic [Rams-1:0] fill_want, fill, fill_room;

  assign wr_open   = wr_issued_q - wr_done_q;
  assign wr_pick   = Writes'(lowest(64'(wr_valid_i)));
  assign wr_room   = mem_wr_ready_i && wr_room_q;
  assign wr_ram    = ram_of(wr_slot);
  assign wr_push   = |wr_valid_i && wr_room;
  assign mem_wr_valid_o = wr_push;
  always_comb begin
    wr_ready_o    = wr_push ? wr_pick : '0;
    wr_ready_o[0] = wr_room;
    wr_slot       = '0;
    wr_data       = '0;
    wr_strb       = '0;
    mem_wr_o      = '0;
    for (int p = 0; p < Writes; p++)
    if (wr_pick[p]) begin
      wr_slot     = wr_slot_i[p];
      wr_data     = wr_data_i[p];
      wr_strb     = wr_strb_i[p];
      mem_wr_o.addr = address(base_i, wr_line_i[p]);
    end
    mem_wr_o.data = wr_data;
    mem_wr_o.strb = wr_strb;
  end

  // What arrives for a RAM that is being written waits, and what is for the other one does not.
  logic target_ram;
  assign target_ram       = ram_of(target);
  assign arrived          = '{slot: target, data: mem_rdat_i, bad: mem_rdat_bad_i};
  assign mem_rdat_ready_o = target_valid && fill_room[target_ram];
  assign arrives          = mem_rdat_valid_i && mem_rdat_ready_o;
  for (genvar m = 0; m < Rams; m++) begin : gen_fill
    logic mine, blocked;
    assign mine    = mem_rdat_valid_i && target_valid && target_ram == 1'(m);
    assign blocked = wr_push && wr_ram == 1'(m);
    assign fill[m] = fill_want[m] && !blocked;
    if (Split) begin : gen_wait
      logic waits;
      fill_t waiting;
      logic [1:0] unused_level;
      lib_fifo #(
        .T    (fill_t),
        .Depth(2)
      ) u_wait (
        .clk_i,
        .rst_ni,
        .s_valid_i(mine && (waits || blocked)),
        .s_ready_o(fill_room[m]),
        .s_data_i (arrived),
        .m_valid_o(waits),
        .m_ready_i(fill[m]),
        .m_data_o (waiting),
        .level_o  (unused_level)
      );
      assign to_fill[m]   = waits ? waiting : arrived;
      assign fill_want[m] = waits || (mine && fill_room[m]);
    end else begin : gen_direct
      assign to_fill[m]   = arrived;
      assign fill_want[m] = mine;
      assign fill_room[m] = !blocked;
    end
  end

  for (genvar r = 0; r < Reads; r++) begin : gen_read
    line_t [Rams-1:0] data;
    logic [Rams-1:0] bad;
    logic ram_q;
    always_ff @(posedge clk_i) if (rd_en_i[r]) ram_q <= ram_of(rd_slot_i[r]);
    assign rd_data_o[r] = data[ram_q];
    assign rd_bad_o[r]  = bad[ram_q];
    for (genvar m = 0; m < Rams; m++) begin : gen_ram
      logic wr, rd;
      assign wr = wr_push && wr_ram == 1'(m);
      assign rd = rd_en_i[r] && ram_of(rd_slot_i[r]) == 1'(m);
      lib_ram #(
        .Width    (512),
        .Depth    (2 ** RamBits),
        .ByteWidth(8),
        .Ultra    (Ultra)
      ) u_data (
        .clk_i,
        .we_i   (fill[m] || wr),
        .waddr_i(place_of(fill[m] ? to_fill[m].slot : wr_slot)),
        .wbe_i  (fill[m] ? '1 : wr_strb),
        .wdata_i(fill[m] ? to_fill[m].data : wr_data),
        .re_i   (rd),
        .raddr_i(place_of(rd_slot_i[r])),
        .rdata_o(data[m])
      );
      lib_ram #(
        .Width(1),
        .Depth(2 ** RamBits)
      ) u_bad (
        .clk_i,
        .we_i   (fill[m] || (wr && wr_strb[0])),
        .waddr_i(place_of(fill[m] ? to_fill[m].slot : wr_slot)),
        .wbe_i  (1'b1),
        .wdata_i(fill[m] && to_fill[m].bad),
        .re_i   (rd),
        .raddr_i(place_of(rd_slot_i[r])),
        .rdata_o(bad[m])
      );
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_done_q <= '0;
      fill_inflight_q <= '0;
      wr_issued_q <= '0;
      wr_done_q   <= '0;
      wr_room_q   <= 1'b0;
    end else begin
      for (int m = 0; m < int'(Rams); m++) begin
        if (fill[m]) fill_done_q[m] <= fill_done_q[m] + 1'b1;
        fill_inflight_q[m] <= fill_inflight_q[m] + number_t'(fetch && decide_ram == 1'(m)) -
            number_t'(fill[m]);
      end
      if (wr_push) wr_issued_q <= wr_issued_q + 1'b1;
      if (mem_wr_done_i) wr_done_q <= wr_done_q + 1'b1;
      wr_room_q <= wr_open < number_t'(MaxWrites);
    end
  end

  // ---------------------------------------------------------------- releases
  // They go in batches: a batch takes effect once every write before its last member is
  // acknowledged; what is released meanwhile makes the next batch.
  for (genvar c = 0; c < Classes; c++) begin : gen_release
    ticket_t next_q, batch_q, next;
    number_t upto_q;
    logic batch_done;
    assign next = next_q + ticket_t'(rel_i[c]);
    number_t behind;
    assign behind     = wr_done_q - upto_q;
    assign batch_done = !behind[NumberBits-1];
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        next_q        <= '0;
        batch_q       <= '0;
        released_q[c] <= '0;
        upto_q        <= '0;
      end else if (batch_done) begin
        released_q[c] <= released_q[c] + batch_q;
        batch_q       <= next;
        next_q        <= '0;
        upto_q        <= wr_issued_q + number_t'(wr_push);
      end else begin
        next_q <= next;
      end
    end
    `ASSERT(ReleaseAcquired, ticket_t'(next_q + batch_q + ticket_t'(rel_i[c])) <= inflight[c])
  end

  assign idle_o = init_done && inflight == '0 && wr_open == '0 && acq_valid_i == '0 &&
      queued_q == '0 && !look_valid_q && !decide_valid_q;

  `ASSERT(OneHit, !decide_valid_q || (found_q & (found_q - 1'b1)) == '0)

endmodule
