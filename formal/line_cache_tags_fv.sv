// line_cache_tags with the ways of a cache that ships: who gets no way waits for pins that nobody
// holds who, in turn, waits for it. Seen through one set; four bits tell its lines apart.
//
// A class releases its lines in order, so of a class's own pins only earlier ones matter. Requests (class
// 0) are released once execute has done them; execute, which holds one line at a time, waits for the
// reader and for what appends; what appends holds one line of a set at most (it writes line after
// line), and the reader waits for nobody: so these are the pins that each may wait for:
//
//   class     log                                   index
//   request   anybody's                             anybody's
//   execute   the reader's, what is appended's      its own
//   reader    its own
//   append    the reader's
//
// What follows a request of the set in the next clock may be refused for that alone, and what was
// looked at as a pin ended for that pin; both ask again.
`include "fv.svh"
`include "lib_assert.svh"

module line_cache_tags_fv
  import wirekv_pkg::*;
  import store_pkg::*;
#(
  /// A bank of the log's cache, or of the index'.
  parameter bit Log = 1,
  localparam int unsigned Classes = Log ? LogClasses : 2,
  localparam int unsigned Ways = Log ? LogWays : IndexWays,
  localparam int unsigned ClassBits = $clog2(Classes)
) (
  input logic                 clk_i,
  input logic                 valid_i,
  input logic [ClassBits-1:0] class_i,
  input logic [3:0]           line_i,
  input logic [Classes-1:0]   release_i
);
  `FV_RESET

  typedef logic [4:0] ticket_t;
  typedef logic [Classes-1:0][Ways-1:0] ways_t;
  localparam int unsigned Most = 8;  // acquisitions of a class that are seen

  // ------------------------------------------------ the set is cleared, then come requests
  logic [2:0] begun_q;
  always_ff @(posedge clk_i) begun_q <= rst_ni ? {begun_q[1:0], 1'b1} : '0;

  logic tried, again, ok, fetch, idle, valid;
  logic [ClassBits-1:0] tried_class;
  line_acq_t acq, tried_acq;
  logic [3:0] slot;
  logic [7:0] fill;
  ticket_t [Classes-1:0] issued_q, released_q, past;
  // Lines are only compared with each other, so their names are given in order: runs that differ in names alone
  // are looked at once.
  logic [3:0] named_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) named_q <= '0;
    else if (valid && line_i == named_q && named_q != '1) named_q <= named_q + 1'b1;
  end
  `FV_ASSUME(InOrder, line_i <= named_q)
  assign acq = '{line: line_no_t'({line_i, 1'b0}), fresh: 1'b0, hint: 1'b0};

  line_cache_tags #(
    .Sets      (2),
    .Ways      (Ways),
    .Classes   (Classes),
    .OwnWays   (Log ? ways_t'(LogOwnWays) : ways_t'(IndexOwnWays)),
    .Avoid     (Log ? ways_t'(LogAvoid) : ways_t'(IndexAvoid)),
    .Spare     (Log ? Ways'(LogSpare) : '0),
    .NumberBits(8),
    .TicketBits(5)
  ) dut (
    .clk_i,
    .rst_ni,
    .valid_i    (valid),
    .class_i,
    .acq_i      (acq),
    .again_i    (1'b1),
    .set_i      (1'b0),
    .sweep_i    (rst_ni && !begun_q[0]),
    .clear_i    (rst_ni && !begun_q[0]),
    .queued_i   ('0),
    .past_i     (past),
    .fill_next_i('0),
    .fill_done_i('0),
    .tried_o    (tried),
    .class_o    (tried_class),
    .acq_o      (tried_acq),
    .again_o    (again),
    .ok_o       (ok),
    .fetch_o    (fetch),
    .slot_o     (slot),
    .fill_o     (fill),
    .idle_o     (idle)
  );

  // ------------------------------------------------ who pins which ways
  logic [Classes-1:0][Ways-1:0] pins;
  logic [Classes-1:0] asks_q, asked_q;  // on their way to `tried`
  for (genvar c = 0; c < Classes; c++) begin : gen_class
    logic [Most-1:0][Ways-1:0] way_q;
    logic [Most-1:0] held;
    assign past[c] = released_q[c] - 1'b1;
    always_comb begin
      pins[c] = '0;
      for (int i = 0; i < Most; i++) begin
        held[i] = ticket_t'(i) >= released_q[c] && ticket_t'(i) < issued_q[c];
        if (held[i]) pins[c] |= way_q[i];
      end
    end
    always_ff @(posedge clk_i) begin
      asks_q[c]  <= rst_ni && valid && class_i == ClassBits'(c);
      asked_q[c] <= rst_ni && asks_q[c];
      if (!rst_ni) begin
        issued_q[c]   <= '0;
        released_q[c] <= '0;
      end else begin
        if (ok && tried_class == ClassBits'(c)) issued_q[c] <= issued_q[c] + 1'b1;
        if (release_i[c] && held != '0) released_q[c] <= released_q[c] + 1'b1;
      end
      for (int i = 0; i < Most; i++)
      if (ok && tried_class == ClassBits'(c) && issued_q[c] == ticket_t'(i))
        for (int w = 0; w < Ways; w++) way_q[i][w] <= slot[$clog2(Ways)-1:0] == $clog2(Ways)'(w);
    end
  end

  // Execute, and what appends, ask while they hold none.
  logic may;
  always_comb begin
    may = 1'b1;
    for (int c = 0; c < Classes; c++) begin
      if (class_i == ClassBits'(c)) begin
        if (issued_q[c] + ticket_t'(asks_q[c]) + ticket_t'(asked_q[c]) >= ticket_t'(Most))
          may = 1'b0;
        if (Log && c inside {ClassExecute, ClassAppend} &&
            (pins[c] != '0 || asks_q[c] || asked_q[c]))
          may = 1'b0;
      end
    end
  end
  assign valid = rst_ni && valid_i && begun_q[2] && may;

  // ------------------------------------------------ who waits for whom
  logic waits;
  logic [Classes-1:0] holds, held_q;
  for (genvar c = 0; c < Classes; c++) begin : gen_holds
    assign holds[c] = pins[c] != '0 || held_q[c];
    always_ff @(posedge clk_i) held_q[c] <= rst_ni && pins[c] != '0;
  end
  assign waits = tried && !ok && !dut.near_q;
  `ASSERT(Somebody, !waits || holds != '0)
  if (Log) begin : gen_log
    `ASSERT(Execute,
            !(waits && tried_class == ClassBits'(ClassExecute)) ||
            holds[ClassReader] || holds[ClassAppend])
    `ASSERT(Reader, !(waits && tried_class == ClassBits'(ClassReader)) || holds[ClassReader])
    `ASSERT(Append, !(waits && tried_class == ClassBits'(ClassAppend)) || holds[ClassReader])
    `FV_COVER(RequestWaits, waits && tried_class == '0 && holds[Classes-1:1] == '0)
    `FV_COVER(ExecuteWaits, waits && tried_class == ClassBits'(ClassExecute))
    `FV_COVER(ReaderWaits, waits && tried_class == ClassBits'(ClassReader))
    `FV_COVER(AppendWaits, waits && tried_class == ClassBits'(ClassAppend))
  end else begin : gen_index
    `ASSERT(Execute, !(waits && tried_class == ClassBits'(ClassExecute)) || holds[ClassExecute])
    `FV_COVER(RequestWaits, waits && tried_class == '0 && !holds[ClassExecute])
    `FV_COVER(ExecuteWaits, waits && tried_class == ClassBits'(ClassExecute))
  end
endmodule
