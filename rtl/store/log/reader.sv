// Streams the values of items that execute found, 64 bytes at a time from two adjacent lines, one
// in each bank. Latency 4 from the job where the lines are pinned already, initiation interval one
// piece.
//
// Lines of a short item are pinned by its request, and released here when they have been read;
// so releases keep the order of the requests. Longer ones are acquired here, many at a time.
//
// A job holds its item's place in the log until its last line is read: see log_fence, which waits for all jobs. So
// behind one of more than ValuePiece bytes, which only datagrams have, no other is taken before it has ended.
`include "lib_assert.svh"

module reader
  import wirekv_pkg::*;
  import lib_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import store_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// Jobs.
  input  logic      s_valid_i,
  output logic      s_ready_o,
  input  read_t     s_i,
  /// No job begins: of the one that came last the lines are still written.
  input  logic      hold_i,
  /// From the clock after mark_i on: all jobs that were here then have ended.
  input  logic      mark_i,
  output logic      clear_o,
  // verilator lint_off UNUSEDSIGNAL
  input  log_range_t range_i,  // asserted only
  // verilator lint_on UNUSEDSIGNAL
  /// The log's line cache: class ClassReader, a read port, and the releases of ClassRequest.
  output logic      acq_valid_o,
  input  logic      acq_ready_i,
  output line_no_t  acq_line_o,
  input  logic       [1:0] rsp_valid_i,
  output logic       [1:0] rsp_ready_o,
  input  bank_slot_t [1:0] rsp_slot_i,
  output log_rel_t  rel_o,
  output log_rel_t  request_rel_o,
  output logic       [1:0] rd_en_o,
  output bank_slot_t [1:0] rd_slot_o,
  input  line_t      [1:0]      rd_data_i,  // by bank
  input  logic       [1:0] rd_bad_i,
  /// Pieces.
  output logic      chunk_valid_o,
  input  logic      chunk_ready_i,
  output chunk_t    chunk_o,
  output logic      chunk_own_o,  // see read_t
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
  logic [5:0] unused_job;

  logic long_q;  // one is here
  assign s_ready_o = plan_ready && job_room && !long_q;

  lib_fifo #(
    .T    (read_t),
    .Depth(8)
  ) u_plan (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && job_room && !long_q && s_i.send && !s_i.whole),
    .s_ready_o(plan_ready),
    .s_data_i (s_i),
    .m_valid_o(plan_valid),
    .m_ready_i(plan_next),
    .m_data_o (plan),
    .level_o  (unused_plan)
  );

  // Where the value is in the item, then which lines that are.
  byte_t place_q, place_last_q;  // of its first byte; of its last one behind that
  line_no_t place_line_q;  // of the item's first line
  logic place_valid_q, place_next;
  assign plan_next = !place_valid_q || place_next;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) place_valid_q <= 1'b0;
    else if (plan_next) place_valid_q <= plan_valid && plan.len != '0;
    if (plan_next) begin
      place_q      <= key_start(plan.off.pos[1:0]) + byte_t'(plan.klen) + byte_t'(plan.start);
      place_last_q <= byte_t'(plan.len) - 23'd1;
      place_line_q <= plan.off.pos[27:2];
    end
  end

  logic going_q;
  line_no_t line_q, last_q;
  assign place_next  = !going_q || (acq_ready_i && line_q == last_q);
  assign acq_valid_o = going_q;
  assign acq_line_o  = line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) going_q <= 1'b0;
    else if (place_next) going_q <= place_valid_q;
    if (place_next) begin
      line_q <= place_line_q + line_no_t'(17'(place_q >> 6));
      last_q <= place_line_q + line_no_t'(17'((place_q + place_last_q) >> 6));
    end else if (acq_ready_i) begin
      line_q <= line_q + 1'b1;
    end
  end

  // ---------------------------------------------------------------- prepare a job
  lib_fifo #(
    .T    (read_t),
    .Depth(32)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && plan_ready && !long_q),
    .s_ready_o(job_room),
    .s_data_i (s_i),
    .m_valid_o(job_valid),
    .m_ready_i(job_next && !hold_i),
    .m_data_o (job),
    .level_o  (unused_job)
  );

  typedef struct packed {
    logic        send;
    logic        own;
    logic        whole;
    logic [2:0]  count;
    logic        bank;
    bank_slot_t [PrefetchLines-1:0] slots;
    logic        first;   // bank of the item's first line
  } work_t;

  work_t work, work_q;
  logic work_valid_q, work_done;

  assign work = '{send: job.send, own: job.own, whole: job.whole, count: job.count, bank: job.bank,
                  slots: job.slots, first: job.off.pos[2]};
  assign job_next = !work_valid_q || work_done;

  // ---------------------------------------------------------------- pieces
  byte_t job_at, at_q;  // place
  logic [20:0] left_q;  // bytes to go
  // That a piece is the last one, and whether that one crosses a line's end, is known before its turn.
  logic piece_last_q, last_crosses_q;
  logic there, piece, crosses, out_free, open, bank;
  logic [6:0] len;
  logic [$clog2(PrefetchLines)-1:0] one, two;

  assign job_at     = key_start(job.off.pos[1:0]) + byte_t'(job.klen) + byte_t'(job.start);
  assign len        = piece_last_q ? left_q[6:0] : 7'd64;
  assign crosses    = piece_last_q ? last_crosses_q : at_q[5:0] != '0;
  assign open       = left_q != '0;
  // An item's lines are in the banks by turns.
  assign bank       = work_q.first ^ at_q[6];
  assign there      = work_q.whole || !open ||
      (rsp_valid_i[bank] && (rsp_valid_i[!bank] || !crosses));
  assign piece      = work_valid_q && work_q.send && there && out_free;
  assign work_done  = work_valid_q && (!work_q.send || (piece && piece_last_q));

  assign one     = at_q[6+:$clog2(PrefetchLines)];
  assign two     = one + 1'b1;
  always_comb begin
    // Whether the lines are there is known late: a line that is not is read in vain.
    rd_en_o          = '0;
    rd_en_o[bank]    = work_valid_q && open && out_free;
    rd_en_o[!bank]   = work_valid_q && open && out_free && crosses;
    rd_slot_o        = rsp_slot_i;
    if (work_q.whole) begin
      rd_slot_o[bank]  = work_q.slots[one];
      rd_slot_o[!bank] = work_q.slots[two];
    end
    // The line behind is the next piece's, unless there is none.
    rsp_ready_o        = '0;
    rsp_ready_o[bank]  = piece && open && !work_q.whole;
    rsp_ready_o[!bank] = piece && open && !work_q.whole && crosses && piece_last_q;
    request_rel_o      = work_done ? in_banks(work_q.count, work_q.bank) : '0;
  end
  assign rel_o = {3'b0, rsp_ready_o[1], 3'b0, rsp_ready_o[0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      work_valid_q <= 1'b0;
    end else if (job_next) begin
      work_valid_q <= job_valid && !hold_i;
    end
    if (job_next) begin
      work_q <= work;
      at_q   <= job_at;
      left_q <= job.len;
      piece_last_q   <= job.len <= 21'd64;
      last_crosses_q <= 7'(job_at[5:0]) + 7'(6'(job.len - 21'd1)) > 7'd63;
    end else if (piece) begin
      at_q   <= at_q + 23'd64;
      left_q <= left_q - 21'd64;
      piece_last_q <= left_q <= 21'd128;
    end
  end

  // ---------------------------------------------------------------- out
  logic out_valid_q, out_last_q, out_bank_q, out_own_q;
  logic [1:0] out_read_q;
  logic [5:0] out_start_q;
  logic [6:0] out_len_q;
  line_t data;
  assign out_free = !out_valid_q || chunk_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_valid_q <= 1'b0;
    else if (out_free) out_valid_q <= piece;
    if (piece) begin
      out_start_q <= at_q[5:0];
      out_len_q   <= len;
      out_last_q  <= piece_last_q;
      out_own_q   <= work_q.own;
      out_bank_q  <= bank;
      out_read_q  <= rd_en_o;
    end
  end
  // Lanes before the first byte are of the second line.
  assign data = merge_lanes(lanes_from(out_start_q), rd_data_i[out_bank_q], rd_data_i[!out_bank_q]);
  assign chunk_valid_o = out_valid_q;
  assign chunk_own_o   = out_own_q;
  assign chunk_o = '{data: data, start: out_start_q, len: out_len_q, last: out_last_q,
                     bad: (rd_bad_i & out_read_q) != '0};

  // ---------------------------------------------------------------- jobs that are here
  logic [5:0]
      here_q, marked_q;  // u_jobs' and the one at work; of these, those that were here at the mark
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      here_q   <= '0;
      marked_q <= '0;
      long_q   <= 1'b0;
    end else begin
      here_q <= here_q + 6'(s_valid_i && s_ready_o) - 6'(work_done);
      if (mark_i) marked_q <= here_q - 6'(work_done);
      else if (work_done && marked_q != '0) marked_q <= marked_q - 6'd1;
      if (s_valid_i && s_ready_o) long_q <= s_i.len > 21'(ValuePiece);
      else if (here_q == '0) long_q <= 1'b0;
    end
  end
  assign clear_o = marked_q == '0;
  `ASSERT(Here, here_q <= 6'd34 && marked_q <= here_q)

  // The head has not come to an item that is read. (What execute reads for itself it may have lost: execute_extend. A
  // walk's is told one unit in front of it; every item has two.)
`ifdef LIB_ASSERT_ON
  off_t off_q;
  always_ff @(posedge clk_i) if (job_next) off_q <= '{lap: job.off.lap, pos: job.off.pos + 28'd1};
  `ASSERT(Held, !piece || !open || work_q.own || off_intact(off_q, range_i))
`endif

  assign idle_o = !plan_valid && !place_valid_q && !going_q && !job_valid && !work_valid_q &&
      !out_valid_q && !s_valid_i;

endmodule
