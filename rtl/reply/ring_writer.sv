// Lines of reply text to the transmit rings. Latency 0 from a line to its write, 2 from a job's last
// one to its end; initiation interval 1.
`include "lib_assert.svh"

module ring_writer
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
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
  /// Where each job leaves its connection.
  input  logic        stand_valid_i,
  output logic        stand_ready_o,
  input  stand_t      stand_i,
  /// Writes. A line that is taken can be read.
  output logic        wr_valid_o,
  input  logic        wr_ready_i,
  output line_write_t wr_o,
  /// With a write: it is of the request port's ring, which is not in memory; which line of it.
  output logic        wr_host_o,
  output logic [9:0]  wr_line_o,
  /// Jobs whose replies are in the ring.
  output logic        done_valid_o,
  input  logic        done_ready_i,
  output done_t       done_o
);

  // ------------------------------------------------ lines to writes
  logic end_ready, pop;
  logic [9:0] line_no_q, line_no;
  assign line_no      = line_i.first ? line_i.line : line_no_q;
  assign line_ready_o = end_ready && (wr_ready_i || line_i.strb == '0);
  assign wr_valid_o   = line_valid_i && end_ready && line_i.strb != '0;
  assign wr_o.addr    = tx_base_i + {10'b0, line_i.conn, line_no};
  assign wr_host_o    = line_i.conn == HostConn;
  assign wr_line_o    = line_no;
  assign wr_o.data    = line_i.data;
  assign wr_o.strb    = line_i.strb;
  assign pop          = line_valid_i && line_ready_o && line_i.last;
  always_ff @(posedge clk_i) if (line_valid_i && line_ready_o) line_no_q <= line_no + 10'd1;

  // ------------------------------------------------ jobs
  typedef struct packed {
    conn_t       conn;
    logic [31:0] ptr;
    logic        bad;
  } end_t;
  end_t end_in, ended;
  logic end_valid, done_valid, done_ready, done;
  done_t done_in;
  logic [5:0] unused_end_level;
  assign end_in = '{conn: line_i.conn, ptr: line_i.ptr, bad: line_i.bad};
  lib_fifo #(
    .T    (end_t),
    .Depth(32)
  ) u_ends (
    .clk_i,
    .rst_ni,
    .s_valid_i(pop),
    .s_ready_o(end_ready),
    .s_data_i (end_in),
    .m_valid_o(end_valid),
    .m_ready_i(done),
    .m_data_o (ended),
    .level_o  (unused_end_level)
  );

  stand_t stand;
  logic stand_valid;
  logic [6:0] unused_stand_level;
  lib_fifo #(
    .T    (stand_t),
    .Depth(64)
  ) u_stands (
    .clk_i,
    .rst_ni,
    .s_valid_i(stand_valid_i),
    .s_ready_o(stand_ready_o),
    .s_data_i (stand_i),
    .m_valid_o(stand_valid),
    .m_ready_i(done),
    .m_data_o (stand),
    .level_o  (unused_stand_level)
  );

  assign done_valid = end_valid && stand_valid;
  assign done       = done_valid && done_ready;
  always_comb begin
    done_in = '{conn: ended.conn, tx_ptr: ended.ptr, stand: stand};
    // What is in the ring goes nowhere then.
    if (ended.bad) done_in.stand.mode = MdAbort;
  end

  // The scheduler acts on it in the same clock, far from here.
  lib_half_buffer #(
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
