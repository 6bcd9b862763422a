// Writes the accepted bytes of each segment to the connection's receive ring, and tells the scheduler
// about them when they are written. Latency 5 from verdict to write, initiation interval 1 beat.
//
// Everything that the scheduler is told passes here, in the order of the verdicts, so that no event
// overtakes the data before it.
`include "lib_assert.svh"

module tcp_rx_ring
  import wirekv_pkg::*;
  import tcp_pkg::*;
#(
  /// Verdicts that may still be on their way when room_o falls.
  parameter int unsigned Reserve = 12
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Line address of connection 0's ring.
  input  laddr_t      base_i,
  /// Verdicts: one for each segment with payload, in their order, others between them.
  input  logic        verdict_valid_i,
  input  verdict_t    verdict_i,
  output logic        room_o,
  /// Payload of all segments.
  input  logic        beat_valid_i,
  output logic        beat_ready_o,
  input  beat_t       beat_i,
  /// Receive-ring memory. A line that is taken can be read.
  output logic        wr_valid_o,
  input  logic        wr_ready_i,
  output line_write_t wr_o,
  /// Events to the scheduler.
  output logic        ev_valid_o,
  input  logic        ev_ready_i,
  output ev_t         ev_o,
  output logic        idle_o
);

  // The fill level is nobody's business here.
  // verilator lint_off PINCONNECTEMPTY

  localparam int unsigned Depth = 32;
  localparam int unsigned LineW = $clog2(RingLines);

  // ---------------------------------------------------------------- verdicts
  logic in_valid, in_ready, unused_in_ready;
  verdict_t in;
  logic [$clog2(Depth+1)-1:0] in_level;

  lib_fifo #(
    .T    (verdict_t),
    .Depth(Depth)
  ) u_in (
    .clk_i,
    .rst_ni,
    .s_valid_i(verdict_valid_i),
    .s_ready_o(unused_in_ready),
    .s_data_i (verdict_i),
    .m_valid_o(in_valid),
    .m_ready_i(in_ready),
    .m_data_o (in),
    .level_o  (in_level)
  );
  `ASSERT(fits_verdict_room, !verdict_valid_i || unused_in_ready)
  always_ff @(posedge clk_i) room_o <= rst_ni && in_level < ($clog2(Depth + 1))'(Depth - Reserve);

  // ---------------------------------------------------------------- cut out the accepted bytes
  // Beats before the first accepted byte and behind the last one are thrown away; what is between
  // goes through the joiner, which shifts it to its place in the ring's lines.
  typedef struct packed {
    conn_t       conn;
    logic        write;
    logic        redis, open, acked, data, fin, closed;
    logic [31:0] rx_from;
    logic [31:0] rx_ptr;
    logic [31:0] tx_ptr;
  } note_t;

  logic first_q;              // at the first beat
  logic begun_q;              // some accepted bytes are through
  logic [9:0] skip_q, skip;  // whole beats still to skip
  logic [15:0] left_q, left;  // accepted bytes still to come
  logic [15:0] beyond;  // those behind this beat, if there are any
  logic payload, useful, ends, step;
  logic [5:0] start;
  logic [6:0] have, len;
  logic [16:0] reach;  // where the last one would be, counted on from this beat's first lane
  logic note_ready, chunk_ready;

  assign payload = in.len != '0;
  assign skip    = first_q ? in.skip[15:6] : skip_q;
  assign left    = first_q ? in.take : left_q;
  assign useful  = payload && skip == '0 && left != '0;
  assign start   = begun_q ? '0 : in.skip[5:0];
  assign have    = beat_i.len - {1'b0, start};
  // The beat comes out of a RAM, so its length is looked at last.
  assign reach   = 17'(left) + 17'(start);
  assign ends    = reach <= 17'(beat_i.len);
  assign beyond  = 16'(reach - 17'(beat_i.len));
  assign len     = ends ? left[6:0] : have;

  // A step takes a beat, or a verdict without payload.
  assign step = in_valid && (!payload || beat_valid_i) && (!useful || chunk_ready) &&
      (!first_q || note_ready);
  assign beat_ready_o = in_valid && payload && (!useful || chunk_ready) && (!first_q || note_ready);
  assign in_ready     = step && (!payload || beat_i.last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q <= 1'b1;
      begun_q <= 1'b0;
    end else if (step) begin
      first_q <= in_ready;
      begun_q <= !in_ready && (begun_q || useful);
    end
    if (step) begin
      skip_q <= (skip == '0) ? '0 : skip - 10'd1;
      left_q <= !useful ? left : ends ? '0 : beyond;
    end
  end

  logic join_valid, join_ready, join_last;
  line_t join_data;
  strb_t join_strb;
  lib_join u_join (
    .clk_i,
    .rst_ni,
    .s_valid_i (in_valid && beat_valid_i && useful && (!first_q || note_ready)),
    .s_ready_o (chunk_ready),
    .s_data_i  (beat_i.data),
    .s_start_i (start),
    .s_len_i   (len),
    .s_first_i (!begun_q),
    .s_offset_i(in.rx_from[5:0]),
    .s_last_i  (ends),
    .m_valid_o (join_valid),
    .m_ready_i (join_ready),
    .m_data_o  (join_data),
    .m_strb_o  (join_strb),
    .m_last_o  (join_last)
  );

  // ---------------------------------------------------------------- write
  logic note_valid, note_take;
  note_t note;
  lib_fifo #(
    .T    (note_t),
    .Depth(16)
  ) u_note (
    .clk_i,
    .rst_ni,
    .s_valid_i(step && first_q),
    .s_ready_o(note_ready),
    .s_data_i ('{
        conn: in.conn,
        write: in.take != '0,
        redis: in.redis,
        open: in.open,
        acked: in.acked,
        data: in.data,
        fin: in.fin,
        closed: in.closed,
        rx_from: in.rx_from,
        rx_ptr: in.rx_ptr,
        tx_ptr: in.tx_ptr
    }),
    .m_valid_o(note_valid),
    .m_ready_i(note_take),
    .m_data_o (note),
    .level_o  ()
  );

  logic [LineW-1:0] line_q, line;
  logic line_first_q, news_ready, wr_go, wr_take, talks;

  assign line       = line_first_q ? note.rx_from[6+:LineW] : line_q;
  assign talks      = note.open || note.acked || note.data || note.fin || note.closed;
  assign wr_go      = note_valid && note.write && (!join_last || news_ready);
  assign wr_valid_o = join_valid && wr_go;
  assign wr_take    = wr_valid_o && wr_ready_i;
  assign join_ready = wr_go && wr_ready_i;
  assign note_take  = note_valid && (note.write ? wr_take && join_last : news_ready);
  assign wr_o = '{
      addr: base_i + laddr_t'({note.conn, line}),
      data: join_data,
      strb: join_strb
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) line_first_q <= 1'b1;
    else if (wr_take) line_first_q <= join_last;
    if (wr_take) line_q <= line + 1'b1;
  end

  // ---------------------------------------------------------------- tell
  logic told;
  note_t news;
  lib_fifo #(
    .T    (note_t),
    .Depth(32)
  ) u_news (
    .clk_i,
    .rst_ni,
    .s_valid_i(note_take && talks),
    .s_ready_o(news_ready),
    .s_data_i (note),
    .m_valid_o(ev_valid_o),
    .m_ready_i(told),
    .m_data_o (news),
    .level_o  ()
  );

  // That a connection is open is said first, the rest together.
  logic opens, opened_q, more;
  assign opens      = news.open && !opened_q;
  assign more       = news.acked || news.data || news.fin || news.closed;
  assign told       = ev_valid_o && ev_ready_i && !(opens && more);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) opened_q <= 1'b0;
    else if (ev_valid_o && ev_ready_i) opened_q <= !told;
  end

  assign ev_o = '{
      redis: news.redis,
      open: opens,
      acked: news.acked && !opens,
      data: news.data && !opens,
      fin: news.fin && !opens,
      closed: news.closed && !opens,
      conn: news.conn,
      rx_ptr: opens ? news.rx_from : news.rx_ptr,
      tx_ptr: news.tx_ptr
  };

  assign idle_o = !in_valid && in_level == '0 && !note_valid && !ev_valid_o;

  logic unused;
  assign unused = ^news.write;
  `ASSERT_STABLE(ev_stable, ev_valid_o, ev_ready_i, ev_o)
  `ASSERT_STABLE(wr_stable, wr_valid_o, wr_ready_i, wr_o)

endmodule
