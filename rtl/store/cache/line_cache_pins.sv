// Releases of line_cache: says up to which ticket each class has released its lines. A release takes
// effect once every write before it is acknowledged, so a line is never fetched again from behind its
// own write. Latency 3 where nothing is outstanding, up to 4 more else.
module line_cache_pins #(
  /// As line_cache's.
  parameter int unsigned Classes = 2,
  parameter int unsigned MaxWrites = 256,
  parameter int unsigned TicketBits = 18
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  /// Number of lines to release in this clock, oldest first.
  input  logic [Classes-1:0][3:0]             rel_i,
  /// A write goes to memory; one is acknowledged.
  input  logic                                wr_i,
  input  logic                                wr_done_i,
  /// The last ticket of each class that is released.
  output logic [Classes-1:0][TicketBits-1:0]  past_o,
  /// No write is outstanding.
  output logic                                idle_o
);

  // Writes are numbered, and compared by their difference.
  localparam int unsigned WriteBits = $clog2(MaxWrites) + 2;
  typedef logic [TicketBits-1:0] ticket_t;
  typedef logic [WriteBits-1:0] write_t;

  // Writes and releases come late in their clock.
  logic [Classes-1:0][3:0] rel_q;
  logic wr_q;
  always_ff @(posedge clk_i) begin
    rel_q <= rst_ni ? rel_i : '0;
    wr_q  <= rst_ni && wr_i;
  end

  // How far everything has come: writes to memory, and the last ticket of each class that its client
  // has released. A mark says that so much takes effect once so many writes are acknowledged.
  typedef struct packed {
    write_t                writes;
    ticket_t [Classes-1:0] last;
  } mark_t;

  mark_t now, now_q, mark;
  write_t done_q, ahead;
  ticket_t [Classes-1:0] past_q;
  logic mark_valid, mark_done, unused_ready;
  logic [1:0] gap_q;
  logic [5:0] unused_level;

  assign now.writes = now_q.writes + write_t'(wr_q);
  for (genvar c = 0; c < Classes; c++) begin : gen_last
    assign now.last[c] = now_q.last[c] + ticket_t'(rel_q[c]);
  end

  // With gaps between them they leave faster than they come.
  lib_fifo #(
    .T    (mark_t),
    .Depth(32)
  ) u_marks (
    .clk_i,
    .rst_ni,
    .s_valid_i(!mark_valid || gap_q == '0),
    .s_ready_o(unused_ready),
    .s_data_i (now),
    .m_valid_o(mark_valid),
    .m_ready_i(mark_done),
    .m_data_o (mark),
    .level_o  (unused_level)
  );
  assign ahead     = done_q - mark.writes;
  assign mark_done = !ahead[WriteBits-1];
  assign past_o    = past_q;
  assign idle_o    = now_q.writes == done_q && !wr_q;

  always_ff @(posedge clk_i) begin
    gap_q <= rst_ni ? gap_q + 1'b1 : '0;
    if (!rst_ni) begin
      now_q  <= '{writes: '0, last: '1};
      past_q <= '1;
      done_q <= '0;
    end else begin
      now_q <= now;
      if (wr_done_i) done_q <= done_q + 1'b1;
      if (mark_valid && mark_done) past_q <= mark.last;
    end
  end

endmodule
