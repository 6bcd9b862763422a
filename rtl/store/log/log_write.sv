// Writes lines of items into the log's line cache. Latency 3 where a slot is at hand, initiation interval 1.
`include "lib_assert.svh"

module log_write
  import wirekv_pkg::*;
  import store_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// Lines, in the log's order.
  input  logic      s_valid_i,
  output logic      s_ready_o,
  input  log_line_t s_i,
  /// Items and pieces written.
  output serial_t   written_o,
  /// The log's line cache: class ClassAppend and a write port.
  output logic      acq_valid_o,
  input  logic      acq_ready_i,
  output line_no_t  acq_line_o,
  output logic      acq_fresh_o,
  input  logic      rsp_valid_i,
  output logic      rsp_ready_o,
  output logic      rsp_bank_o,
  input  log_slot_t rsp_slot_i,
  output log_rel_t  rel_o,
  output logic      wr_valid_o,
  input  logic      wr_ready_i,
  output log_slot_t wr_slot_o,
  output line_no_t  wr_line_o,
  output line_t     wr_data_o,
  output strb_t     wr_strb_o,
  /// No line waits or is acquired.
  output logic      idle_o
);

  localparam int unsigned OutDepth = 16;  // lines that wait for their slot

  log_line_t out;
  logic out_valid, out_pop;
  logic [4:0] level_out;
  lib_fifo #(
    .T    (log_line_t),
    .Depth(OutDepth),
    .Ultra(1'b1)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i (s_i),
    .m_valid_o(out_valid),
    .m_ready_i(out_pop),
    .m_data_o (out),
    .level_o  (level_out)
  );

  // In the next clock it is seen what is to be done for the line. One stays acquired as long as items
  // follow that lie in it.
  typedef struct packed {
    logic none;  // nothing: the value ended with the line before
    logic same;  // it is the one before
  } kind_t;

  kind_t kind_in, kind;
  logic laid_valid_q, kind_valid, open_q, close, unused_acq_room, unused_kind_room;
  line_no_t laid_line_q, open_line_q;  // open_line_q: acquired last
  strb_t laid_strb_q;
  logic [4:0] unused_kind, unused_acq;
  assign kind_in.none = laid_strb_q == '0;
  assign kind_in.same = open_q && laid_line_q == open_line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      laid_valid_q <= 1'b0;
      open_q       <= 1'b0;
    end else begin
      laid_valid_q <= s_valid_i && s_ready_o;
      if (laid_valid_q && !kind_in.none) open_q <= 1'b1;
      else if (close) open_q <= 1'b0;
    end
    laid_line_q <= s_i.line;
    laid_strb_q <= s_i.strb;
    if (laid_valid_q && !kind_in.none) open_line_q <= laid_line_q;
  end

  // Both have room as long as u_out had: a line leaves that one last; and is there no later than its kind.
  lib_fifo #(
    .T    (kind_t),
    .Depth(OutDepth)
  ) u_kind (
    .clk_i,
    .rst_ni,
    .s_valid_i(laid_valid_q),
    .s_ready_o(unused_kind_room),
    .s_data_i (kind_in),
    .m_valid_o(kind_valid),
    .m_ready_i(out_pop),
    .m_data_o (kind),
    .level_o  (unused_kind)
  );

  // A write from the line's beginning: nobody needs what the line held before.
  lib_fifo #(
    .T    (logic [$bits(line_no_t):0]),
    .Depth(OutDepth)
  ) u_acq (
    .clk_i,
    .rst_ni,
    .s_valid_i(laid_valid_q && !kind_in.none && !kind_in.same),
    .s_ready_o(unused_acq_room),
    .s_data_i ({laid_line_q, laid_strb_q[0]}),
    .m_valid_o(acq_valid_o),
    .m_ready_i(acq_ready_i),
    .m_data_o ({acq_line_o, acq_fresh_o}),
    .level_o  (unused_acq)
  );
  `ASSERT(LaidRoom, !laid_valid_q || (unused_acq_room && unused_kind_room))
  `ASSERT(LineThere, !kind_valid || out_valid)

  // A register before the cache: its memory port's order does not depend on how a line was found.
  logic held_q;  // the line written last is still acquired
  log_slot_t held_slot_q;
  logic [2:0] quiet_q;  // clocks in which nothing came
  logic write_valid_q, write_none_q, write_free;
  log_line_t write_q;
  assign write_free  = !write_valid_q || write_none_q || wr_ready_i;
  assign rsp_ready_o = kind_valid && !kind.none && !kind.same && write_free;
  assign out_pop     = kind_valid && write_free && (kind.none || kind.same || rsp_valid_i);
  assign rsp_bank_o  = out.line[0];
  assign wr_valid_o  = write_valid_q && !write_none_q;
  assign wr_slot_o   = held_slot_q;
  assign wr_line_o   = write_q.line;
  assign wr_data_o   = write_q.data;
  assign wr_strb_o   = write_q.strb;
  assign close       = held_q && quiet_q == '1 && !out_valid && !write_valid_q;
  always_comb begin
    rel_o = '0;
    rel_o[held_slot_q[LogWayW]] = 4'(held_q && ((rsp_ready_o && rsp_valid_i) || close));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q        <= 1'b0;
      quiet_q       <= '0;
      write_valid_q <= 1'b0;
      written_o     <= '0;
    end else begin
      if (rsp_ready_o && rsp_valid_i) held_q <= 1'b1;
      else if (close) held_q <= 1'b0;
      if (out_valid || write_valid_q) quiet_q <= '0;
      else if (quiet_q != '1) quiet_q <= quiet_q + 3'd1;
      if (write_free) write_valid_q <= out_pop;
      if (write_valid_q && write_free && write_q.last) written_o <= written_o + 1'b1;
    end
    if (rsp_ready_o && rsp_valid_i) held_slot_q <= rsp_slot_i;
    if (out_pop) begin
      write_q      <= out;
      write_none_q <= kind.none;
    end
  end

  assign idle_o = level_out == '0 && !write_valid_q && !held_q;

endmodule
