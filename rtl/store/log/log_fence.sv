// Lets the log's head pass only what nobody reads or writes any more.
//
// Who uses an item checks its place once, against the tail, and reads its lines later. So a new tail is told
// first; then all who may have checked against the one before are waited for: the requests in execute's
// stages, and the reader's jobs that they have left; then the head may come up to that tail. Whoever checks
// later has seen it. A place is held by a request in execute and by its job in the reader, and by nothing else: what a
// record or a context says of one is checked again where it is used. Who waits for a place of his own holds none.
//
// The tail is told a margin ahead, so the head seldom waits. It waits at most for two requests
// in execute and 32 jobs of the reader of 8 KiB each, one of which may be a datagram's whole value (see reader):
// 4,200 clocks, 16,384 more for a value of 1 MiB, 33,000 more for an append that copies 1 MiB at once;
// and as long as the way out stands still. From a tail that is told to one that is passed: 5 clocks where nobody holds.
`include "lib_assert.svh"

module log_fence #(
  /// The tail is told so many units of 16 bytes ahead, or a quarter of a small log: more than the head moves in
  /// 32 jobs of 8 KiB, twice. Whole lines.
  parameter logic [28:0] Margin = 29'd69632
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Size of the log in units; whole lines.
  input  logic [28:0] size_i,
  /// Where the next item of the head's lap begins.
  input  logic [27:0] head_i,
  /// An item of need_i units waits for its place: at the head, or if it does not fit there where the next lap begins.
  /// It is free: taking it writes nothing that is held. With go_i the next one, of next_need_i units, comes in its place.
  input  logic        want_i,
  input  logic [28:0] need_i,
  input  logic        fits_i,
  output logic        free_o,
  input  logic        go_i,
  input  logic [28:0] next_need_i,
  /// The head goes on where the next lap begins.
  input  logic        wraps_i,
  /// The tail that is told, in the lap before the head's or in the head's; a line's beginning.
  output logic [27:0] tail_o,
  output logic        tail_lap_o,
  /// Holders. tell_o: the range has a new tail from this clock on; stages_clear_i, from the next clock on: no
  /// request in execute has checked a place before. mark_o and reader_clear_i: likewise, the reader has
  /// ended all jobs that it had in the clock of mark_o.
  output logic        tell_o,
  input  logic        stages_clear_i,
  output logic        mark_o,
  input  logic        reader_clear_i
);

  typedef logic [28:0] units_t;

  // By their order, as long as the head stays in its lap.
  typedef struct packed {
    logic        in_lap;  // the head's lap; else the one before
    logic [27:0] pos;
  } tail_t;

  typedef enum logic [2:0] {
    FeEnd,     // where the head will be
    FeReach,   // a margin ahead of it
    FeTail,    // which tail that is
    FeChoose,  // whether it is a new one
    FeTold,    // it is on its way into the range
    FeTell,
    FeStages,  // wait for execute's stages
    FeReader   // and for the reader
  } state_e;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  units_t end_d;
  // verilator lint_on UNUSEDSIGNAL
  units_t margin_q, reach_q, start_q;
  logic [26:0] end_q;  // line
  logic end_next_q;  // in the next lap
  tail_t next_q, told_q, passed_q;  // passed_q: nobody holds what is before it
  logic news, in_lap_q, room_q;

  assign news = next_q > told_q;
  assign end_d = (want_i ? need_i : '0) + ((want_i && !fits_i) ? '0 : units_t'(head_i)) + 29'd3;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      FeEnd:    state_d = FeReach;
      FeReach:  state_d = FeTail;
      FeTail:   state_d = FeChoose;
      FeChoose: state_d = news ? FeTold : FeEnd;
      FeTold:   state_d = FeTell;
      FeTell:   state_d = FeStages;
      FeStages: if (stages_clear_i) state_d = FeReader;
      FeReader: if (reader_clear_i) state_d = FeEnd;
    endcase
    // It was worked out in the lap before.
    if (wraps_i && state_q inside {FeEnd, FeReach, FeTail, FeChoose}) state_d = FeEnd;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q  <= FeEnd;
      told_q   <= '0;
      passed_q <= '0;
    end else begin
      state_q <= state_d;
      if (state_q == FeChoose && news) told_q <= next_q;
      if (state_q == FeReader && reader_clear_i) passed_q <= told_q;
      if (wraps_i) begin
        // All of the lap before was passed: neither has changed but for that.
        told_q          <= '{in_lap: 1'b0, pos: told_q.pos};
        passed_q.in_lap <= 1'b0;
      end
    end
    margin_q <= ((size_i >> 2) < Margin) ? {2'b00, size_i[28:4], 2'b00} : Margin;
    if (state_q == FeEnd) begin
      end_q      <= end_d[28:2];
      end_next_q <= want_i && !fits_i;
    end
    reach_q <= {end_q, 2'b00} + margin_q;
    if (state_q == FeTail) begin
      next_q.in_lap <= end_next_q || reach_q > size_i;
      next_q.pos    <= 28'((!end_next_q && reach_q > size_i) ? reach_q - size_i : reach_q);
    end
  end

  // What an item needs is compared with a tail that was passed a clock ago: that one only grows.
  always_ff @(posedge clk_i) begin
    in_lap_q <= rst_ni && passed_q.in_lap && !wraps_i;
    room_q   <= (go_i ? next_need_i : need_i) <= units_t'(passed_q.pos);
    start_q  <= units_t'(passed_q.pos) - (go_i ? next_need_i : need_i);
  end
  assign free_o = fits_i ? in_lap_q || (room_q && units_t'(head_i) <= start_q)
                         : in_lap_q && room_q;

  assign tail_o     = told_q.pos;
  assign tail_lap_o = told_q.in_lap;
  assign tell_o     = state_q == FeTell;
  assign mark_o     = state_q == FeStages && stages_clear_i;

  `ASSERT(Passed, passed_q <= told_q)
  `ASSERT(Behind, passed_q.in_lap || head_i <= passed_q.pos)
  `ASSERT(WrapsWhole, !wraps_i || passed_q.in_lap)
  `ASSERT(Lines, told_q.pos[1:0] == '0 && passed_q.pos[1:0] == '0)

endmodule
