// Streams the key and value bytes of items that execute found, as pieces of lines. Latency 4 from
// the job where the lines are pinned already, initiation interval one piece.
//
// Lines of a short item are pinned by its request, and released here when they have been read;
// so releases keep the order of the requests. Longer ones are acquired here, many at a time.
module reader
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// Jobs.
  input  logic      s_valid_i,
  output logic      s_ready_o,
  input  read_t     s_i,
  /// The log's line cache: class ClassReader, a read port, and the releases of ClassRequest.
  output logic      acq_valid_o,
  input  logic      acq_ready_i,
  output line_no_t  acq_line_o,
  input  logic      rsp_valid_i,
  output logic      rsp_ready_o,
  output logic      rsp_bank_o,
  input  log_slot_t rsp_slot_i,
  output log_rel_t  rel_o,
  output log_rel_t  request_rel_o,
  output logic      rd_en_o,
  output log_slot_t rd_slot_o,
  input  line_t     rd_data_i,
  input  logic      rd_bad_i,
  /// Pieces.
  output logic      chunk_valid_o,
  input  logic      chunk_ready_i,
  output chunk_t    chunk_o,
  output logic      idle_o
);

  typedef logic [22:0] byte_t;  // counted from the beginning of the item's first line

  function automatic byte_t key_start(input logic [1:0] unit);
    return byte_t'({unit, 4'h0}) + 23'd16;
  endfunction

  // ---------------------------------------------------------------- acquire
  logic plan_ready, plan_valid, plan_next, job_room, job_valid, job_next;
  // verilator lint_off UNUSEDSIGNAL
  read_t plan;  // only lines that nobody has pinned
  // verilator lint_on UNUSEDSIGNAL
  read_t job;
  logic [3:0] unused_plan;
  logic [4:0] unused_job;

  assign s_ready_o = plan_ready && job_room;

  lib_fifo #(
    .T    (read_t),
    .Depth(8)
  ) u_plan (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && job_room && s_i.send && !s_i.whole),
    .s_ready_o(plan_ready),
    .s_data_i (s_i),
    .m_valid_o(plan_valid),
    .m_ready_i(plan_next),
    .m_data_o (plan),
    .level_o  (unused_plan)
  );

  byte_t plan_key, plan_value, plan_to;
  logic [16:0] plan_from;  // line
  assign plan_key   = key_start(plan.off.pos[1:0]);
  assign plan_value = plan_key + byte_t'(plan.klen) + byte_t'(plan.start);
  assign plan_from  = 17'((plan.head ? plan_key : plan_value) >> 6);
  assign plan_to    = plan_value + byte_t'(plan.len);

  logic going_q;
  line_no_t line_q, last_q;
  assign plan_next   = !going_q || (acq_ready_i && line_q == last_q);
  assign acq_valid_o = going_q;
  assign acq_line_o  = line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) going_q <= 1'b0;
    else if (plan_next) going_q <= plan_valid && (plan.head || plan.len != '0);
    if (plan_next) begin
      line_q <= plan.off.pos[27:2] + line_no_t'(plan_from);
      last_q <= plan.off.pos[27:2] + line_no_t'(17'((plan_to - 23'd1) >> 6));
    end else if (acq_ready_i) begin
      line_q <= line_q + 1'b1;
    end
  end

  // ---------------------------------------------------------------- prepare a job
  lib_fifo #(
    .T    (read_t),
    .Depth(16)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && plan_ready),
    .s_ready_o(job_room),
    .s_data_i (s_i),
    .m_valid_o(job_valid),
    .m_ready_i(job_next),
    .m_data_o (job),
    .level_o  (unused_job)
  );

  typedef struct packed {
    logic        send;
    logic        whole;
    logic [2:0]  count;
    logic        bank;
    log_way_t [PrefetchLines-1:0] ways;
    logic [SetW-1:0] set;     // of the first line
  } work_t;

  work_t work, work_q;
  logic work_valid_q, work_done;
  byte_t job_key, job_value;

  assign work = '{send: job.send, whole: job.whole, count: job.count, bank: job.bank,
                  ways: job.ways, set: job.off.pos[2+:SetW]};
  assign job_key   = key_start(job.off.pos[1:0]);
  assign job_value = job_key + byte_t'(job.klen) + byte_t'(job.start);
  assign job_next  = !work_valid_q || work_done;

  // ---------------------------------------------------------------- pieces
  // Key and value follow each other without a gap.
  byte_t at_q, left_q;  // place, and bytes to go
  logic [7:0] key_left_q;  // those of the key
  logic there, piece, line_end, piece_last, key_end, out_free, open;
  logic [6:0] len, key_len, to_end;

  assign to_end     = 7'd64 - 7'(at_q[5:0]);
  assign line_end   = left_q >= 23'(to_end);
  assign len        = line_end ? to_end : left_q[6:0];
  assign piece_last = left_q <= 23'(to_end);
  assign key_end    = key_left_q <= 8'(to_end);
  assign key_len    = key_end ? key_left_q[6:0] : to_end;
  assign open       = left_q != '0;
  assign there      = work_q.whole || !open || rsp_valid_i;
  assign piece      = work_valid_q && work_q.send && there && out_free;
  assign work_done  = work_valid_q && (!work_q.send || (piece && piece_last));

  assign rd_en_o     = piece && open;
  assign rd_slot_o   = work_q.whole ?
      {work_q.set + SetW'(at_q[22:6]), work_q.ways[at_q[6+:$clog2(PrefetchLines)]]} : rsp_slot_i;
  assign rsp_ready_o = piece && !work_q.whole && open;
  // An item's lines are in the banks by turns.
  assign rsp_bank_o  = work_q.set[0] ^ at_q[6];
  always_comb begin
    rel_o             = '0;
    rel_o[rsp_bank_o] = 4'(rsp_ready_o);
    request_rel_o     = '0;
    if (work_done) begin
      request_rel_o[work_q.bank]  = (4'(work_q.count) + 4'd1) >> 1;
      request_rel_o[!work_q.bank] = 4'(work_q.count >> 1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      work_valid_q <= 1'b0;
    end else if (job_next) begin
      work_valid_q <= job_valid;
    end
    if (job_next) begin
      work_q     <= work;
      at_q       <= job.head ? job_key : job_value;
      left_q     <= (job.head ? byte_t'(job.klen) : '0) + byte_t'(job.len);
      key_left_q <= job.head ? job.klen : '0;
    end else if (piece) begin
      at_q       <= at_q + byte_t'(len);
      left_q     <= left_q - byte_t'(len);
      key_left_q <= key_left_q - 8'(key_len);
    end
  end

  // ---------------------------------------------------------------- out
  logic out_valid_q, out_key_last_q, out_last_q, out_read_q;
  logic [5:0] out_start_q;
  logic [6:0] out_key_len_q, out_len_q;
  assign out_free = !out_valid_q || chunk_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_valid_q <= 1'b0;
    else if (out_free) out_valid_q <= piece;
    if (piece) begin
      out_start_q    <= at_q[5:0];
      out_key_len_q  <= key_len;
      out_len_q      <= len - key_len;
      out_key_last_q <= key_left_q != '0 && key_end;
      out_last_q     <= piece_last;
      out_read_q     <= open;
    end
  end
  assign chunk_valid_o = out_valid_q;
  assign chunk_o = '{data: rd_data_i, start: out_start_q, key_len: out_key_len_q, len: out_len_q,
                     key_last: out_key_last_q, last: out_last_q, bad: rd_bad_i && out_read_q};

  assign idle_o = !plan_valid && !going_q && !job_valid && !work_valid_q && !out_valid_q &&
      !s_valid_i;

endmodule
