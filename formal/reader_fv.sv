// All jobs that the reader has when it is marked have ended when it is clear; and of a job that is longer than others
// no other one is behind.
`include "fv.svh"
`include "lib_assert.svh"

module reader_fv
  import request_pkg::*;
  import store_pkg::*;
(
  input logic             clk_i,
  input logic             job_valid_i,
  input read_t            job_i,
  input logic             hold_i,
  input logic             mark_i,
  input log_range_t       range_i,
  input logic             acq_ready_i,
  input logic [1:0]       rsp_valid_i,
  input bank_slot_t [1:0] rsp_slot_i,
  input wirekv_pkg::line_t [1:0] rd_data_i,
  input logic [1:0]       rd_bad_i,
  input logic             chunk_ready_i
);
  `FV_RESET

  logic job_ready, clear, idle;
  // What execute gives: its own values have places that it may have lost.
  read_t job;
  always_comb begin
    job     = job_i;
    job.own = 1'b1;
  end

  // verilator lint_off PINCONNECTEMPTY
  reader dut (
    .clk_i,
    .rst_ni,
    .s_valid_i    (job_valid_i),
    .s_ready_o    (job_ready),
    .s_i          (job),
    .hold_i,
    .mark_i,
    .clear_o      (clear),
    .range_i,
    .acq_valid_o  (),
    .acq_ready_i,
    .acq_line_o   (),
    .rsp_valid_i,
    .rsp_ready_o  (),
    .rsp_slot_i,
    .rel_o        (),
    .request_rel_o(),
    .rd_en_o      (),
    .rd_slot_o    (),
    .rd_data_i,
    .rd_bad_i,
    .chunk_valid_o(),
    .chunk_ready_i,
    .chunk_o      (),
    .chunk_own_o  (),
    .idle_o       (idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  // Jobs come in and end in order: as many as were there at the mark have ended when all of those have.
  logic [7:0] in_q, out_q, mark_q;
  logic marked_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_q     <= '0;
      out_q    <= '0;
      marked_q <= 1'b0;
    end else begin
      in_q  <= in_q + 8'(job_valid_i && job_ready);
      out_q <= out_q + 8'(dut.work_done);
      if (mark_i) begin
        marked_q <= 1'b1;
        mark_q   <= in_q;
      end else if (clear) begin
        marked_q <= 1'b0;
      end
    end
  end
  `FV_ASSUME(one_mark, !(mark_i && !clear))
  logic [7:0] ended, left;
  assign ended  = out_q - mark_q;
  assign left  = mark_q - out_q;
  `ASSERT(Clear, !(clear && marked_q) || ended <= 8'd128)
  `ASSERT(Left, clear || !marked_q || left == 8'(dut.marked_q))
  `ASSERT(Jobs, in_q - out_q == 8'(dut.here_q))
  `ASSERT(Level, 8'(dut.here_q) == 8'(dut.u_jobs.level_q) + 8'(dut.work_valid_q))
  logic long_q;  // one of more bytes than others is here
  always_ff @(posedge clk_i) begin
    if (!rst_ni) long_q <= 1'b0;
    else if (job_valid_i && job_ready) long_q <= job.len > 21'(ValuePiece);
    else if (in_q == out_q) long_q <= 1'b0;
  end
  `ASSERT(Alone, !(long_q && job_valid_i && job_ready))
  `ASSERT(Long, long_q == dut.long_q)

  // Of the queues: lib_fifo_fv shows what they need.
  logic [2:0] plans;
  logic [4:0] jobs;
  assign plans = dut.u_plan.waddr_q - dut.u_plan.raddr_q;
  assign jobs  = dut.u_jobs.waddr_q - dut.u_jobs.raddr_q;
  `ASSERT(Plan, dut.u_plan.level_q <= 4'd8 && plans == dut.u_plan.level_q[2:0])
  `ASSERT(Queue, dut.u_jobs.level_q <= 6'd32 && jobs == dut.u_jobs.level_q[4:0])
  `FV_ASSUME(own, !dut.job_valid || dut.job.own)
  `ASSERT(Own, !dut.work_valid_q || dut.work_q.own)

  `FV_SEEN(many, dut.here_q > 6'd3)
  `FV_COVER(Waits, many && !clear && dut.marked_q == 6'd2)
endmodule
