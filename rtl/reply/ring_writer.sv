// Lines of reply text to the transmit rings. Latency 0 from a line to its write, initiation
// interval 1. A job is done a clock after all its writes are acknowledged; many may be under way.
`include "lib_assert.svh"

module ring_writer
  import wirekv_pkg::*;
  import request_pkg::*;
  import reply_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Where the transmit ring of connection 0 is.
  input  laddr_t      tx_base_i,
  /// Lines.
  input  logic        line_valid_i,
  output logic        line_ready_o,
  input  ring_line_t  line_i,
  /// Context of each job.
  input  logic        ctx_valid_i,
  output logic        ctx_ready_o,
  input  ctx_t        ctx_i,
  /// Writes, and a pulse as each is done.
  output logic        wr_valid_o,
  input  logic        wr_ready_i,
  output line_write_t wr_o,
  input  logic        wr_done_i,
  /// Beside it: memory refused, and what the ring holds there is unknown.
  input  logic        wr_bad_i,
  /// Jobs whose replies are in the ring.
  output logic        done_valid_o,
  input  logic        done_ready_i,
  output done_t       done_o
);

  // ------------------------------------------------ lines to writes
  logic wait_ready, written, pop;
  logic [9:0] line_no_q, line_no;
  assign line_no      = line_i.first ? line_i.line : line_no_q;
  assign line_ready_o = wait_ready && (wr_ready_i || line_i.strb == '0);
  assign wr_valid_o   = line_valid_i && wait_ready && line_i.strb != '0;
  assign wr_o.addr    = tx_base_i + {10'b0, line_i.conn, line_no};
  assign wr_o.data    = line_i.data;
  assign wr_o.strb    = line_i.strb;
  assign written      = wr_valid_o && wr_ready_i;
  assign pop          = line_valid_i && line_ready_o && line_i.last;
  always_ff @(posedge clk_i) if (line_valid_i && line_ready_o) line_no_q <= line_no + 10'd1;

  // ------------------------------------------------ jobs that wait for their writes
  // Counted since reset, modulo 2**16: far more than memory can have outstanding.
  logic [15:0] written_q, acked_q;
  logic missing;
  logic [14:0] unused_distance;
  typedef struct packed {
    conn_t       conn;
    logic [31:0] ptr;
    logic        bad;
    logic [15:0] target;  // writes up to the job's last
  } wait_t;
  wait_t wait_in, waiting;
  logic wait_valid, done_valid, done_ready, done;
  done_t done_in;
  logic [5:0] unused_wait_level;
  assign wait_in = '{
          conn: line_i.conn,
          ptr: line_i.ptr,
          bad: line_i.bad,
          target: written_q + 16'(written)
      };
  lib_fifo #(
    .T    (wait_t),
    .Depth(32)
  ) u_waits (
    .clk_i,
    .rst_ni,
    .s_valid_i(pop),
    .s_ready_o(wait_ready),
    .s_data_i (wait_in),
    .m_valid_o(wait_valid),
    .m_ready_i(done),
    .m_data_o (waiting),
    .level_o  (unused_wait_level)
  );

  ctx_t ctx;
  logic ctx_valid;
  logic [6:0] unused_ctx_level;
  lib_fifo #(
    .T    (ctx_t),
    .Depth(64)
  ) u_ctxs (
    .clk_i,
    .rst_ni,
    .s_valid_i(ctx_valid_i),
    .s_ready_o(ctx_ready_o),
    .s_data_i (ctx_i),
    .m_valid_o(ctx_valid),
    .m_ready_i(done),
    .m_data_o (ctx),
    .level_o  (unused_ctx_level)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_q <= '0;
      acked_q   <= '0;
    end else begin
      written_q <= written_q + 16'(written);
      acked_q   <= acked_q + 16'(wr_done_i);
    end
  end
  assign {missing, unused_distance} = acked_q - waiting.target;

  // Writes that memory refused, from the first to the last of those whose jobs are not done.
  logic refused_q, first_refused, last_refused;
  logic [15:0] first_refused_q, last_refused_q;
  logic [14:0] unused_first, unused_last;
  assign {first_refused, unused_first} = waiting.target - first_refused_q - 16'd1;
  assign {last_refused, unused_last}   = waiting.target - last_refused_q - 16'd1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      refused_q <= 1'b0;
    end else if (wr_done_i && wr_bad_i) begin
      refused_q      <= 1'b1;
      last_refused_q <= acked_q;
      if (!refused_q) first_refused_q <= acked_q;
    end else if (done && !last_refused) begin
      refused_q <= 1'b0;
    end
  end
  assign done_valid = wait_valid && ctx_valid && !missing;
  assign done       = done_valid && done_ready;
  always_comb begin
    done_in = '{conn: waiting.conn, tx_ptr: waiting.ptr, ctx: ctx};
    // What is in the ring goes nowhere then.
    if (waiting.bad || (refused_q && !first_refused)) done_in.ctx.mode = MdAbort;
  end

  // The session acts on it in the same clock, far from here.
  lib_reg #(
    .T(done_t)
  ) u_done (
    .clk_i,
    .rst_ni,
    .s_valid_i(done_valid),
    .s_ready_o(done_ready),
    .s_data_i (done_in),
    .m_valid_o(done_valid_o),
    .m_ready_i(done_ready_i),
    .m_data_o (done_o)
  );

  `ASSERT_STABLE(WriteStable, wr_valid_o, wr_ready_i, wr_o)

endmodule
