// How it goes on: the scanner behind a slow line, and the connection's next job behind this one, from
// where this one leaves it.
module decode_resume
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,
  // verilator lint_off UNUSEDSIGNAL
  input  logic    step_valid_i,
  input  step_t   step_i,
  input  job_t    job_i,
  /// A line is complete, and says this.
  input  logic    decide_i,
  input  order_t  order_i,
  // verilator lint_on UNUSEDSIGNAL
  /// Keys of this `get` line are committed.
  input  logic    partial_i,
  /// To the scanner; with a slow line: the rest of the job does not count.
  output resume_t verdict_o,
  output logic    dead_o,
  /// A line is over, its value included.
  output logic    line_over_o,
  /// How the job would leave its connection if it ended here.
  output end_t    leaves_o,
  /// It has ended a clock ago, and leaves it like this.
  output logic    end_valid_o,
  output end_t    end_o
);

  /// A line longer than this need not be kept in one piece.
  localparam int unsigned LineMax = 2048;

  // Short names; not every field is needed here.
  // verilator lint_off UNUSEDSIGNAL
  ctx_t ctx;
  piece_t piece;
  line_info_t line;
  // verilator lint_on UNUSEDSIGNAL
  assign ctx   = job_i.ctx;
  assign piece = step_i.piece;
  assign line  = step_i.line;

  logic [31:0] rest_q, rest, rest_d;  // of item data or bytes to discard, behind this job
  logic [31:0] left, taken;
  logic swallows, stores, drops, cut;
  assign swallows = order_i.action == AcSwallow;
  assign stores   = order_i.action inside {AcStore, AcStorePart};
  assign drops    = order_i.action inside {AcHost, AcQuit, AcBack};
  assign left     = 32'(piece.left);
  assign taken    = (order_i.vlen < left) ? order_i.vlen : left;
  // The line goes on beyond the job.
  assign cut      = step_valid_i && step_i.text && piece.eof && !piece.eol;

  always_comb begin
    rest   = (step_valid_i && piece.sof) ? ctx.rem - 32'(job_i.len) : rest_q;
    rest_d = rest;
    if (decide_i && swallows) rest_d = order_i.need - left;
    if (decide_i && stores) rest_d = order_i.need - taken;
  end

  // ---------------------------------------------------------------- the scanner
  always_comb begin
    verdict_o       = '0;
    verdict_o.valid = decide_i && piece.slow && !piece.eof;
    verdict_o.kind  = VdLine;
    if (stores) begin
      verdict_o.kind   = VdValue;
      verdict_o.count  = taken[13:0];
      verdict_o.final_ = order_i.action == AcStore;
    end else if (swallows) begin
      verdict_o.kind   = VdSkip;
      verdict_o.count  = (order_i.need < left) ? order_i.need[13:0] : piece.left;
      verdict_o.final_ = order_i.need <= left;
    end else if (drops) begin
      verdict_o.kind = VdDrop;
    end
  end
  assign dead_o = decide_i && drops;

  // ---------------------------------------------------------------- the next job
  end_t end_d;
  logic ends;

  always_comb begin
    line_over_o = 1'b0;
    ends        = 1'b0;
    end_d       = end_o;
    if (step_valid_i && step_i.empty_job) begin
      ends  = 1'b1;
      end_d = '{pos: '0, mode: ctx.mode, rem: ctx.rem, noreply: ctx.noreply};
      if (job_i.host) begin
        end_d.rem  = 32'(!job_i.host_final);
        end_d.mode = !job_i.host_final ? MdHost : job_i.host_close ? MdQuit : MdLine;
      end else if (ctx.mode == MdHost) begin
        end_d.rem = '0;
      end
    end
    if (decide_i) begin
      ends        = piece.eof;
      line_over_o = !stores;
      end_d       = '{pos: piece.pos, mode: MdLine, rem: '0, noreply: 1'b0};
      unique case (order_i.action)
        AcSwallow: begin
          end_d.mode = MdSwallow;
          end_d.rem  = order_i.need;
        end
        AcHost: end_d.mode = MdHost;
        AcQuit: end_d.mode = MdQuit;
        AcBack: begin
          end_d.pos = step_i.line_pos;
          end_d.rem = 32'(step_i.line_len) + order_i.need;
          if (end_d.rem > JobBytes) end_d.rem = 32'(JobBytes);
          if (step_i.line_len > 14'(LineMax)) end_d.mode = MdQuit;
        end
        default: ;
      endcase
    end
    if (cut) begin
      ends  = 1'b1;
      end_d = '{pos: step_i.line_pos, mode: MdLine, rem: 32'(step_i.line_len) + 32'd1,
                noreply: 1'b0};
      if (is_get(line.cmd) && line.bad && (partial_i || step_i.line_len > 14'(LineMax))) begin
        end_d = '{pos: piece.pos, mode: MdKeys, rem: '0, noreply: 1'b1};
      end else if (partial_i) begin
        end_d.pos  = piece.ends ? piece.pos : step_i.word_pos;
        end_d.mode = MdKeys;
        end_d.rem  = piece.ends ? 32'd0 : 32'(piece.pos - step_i.word_pos) + 32'd1;
      end else if (step_i.line_len > 14'(LineMax) &&
                   !(line.cmd inside {CmdGet, CmdGets} && !line.eager && !line.indented &&
                     !line.foreign)) begin
        end_d = '{pos: piece.pos, mode: MdQuit, rem: '0, noreply: 1'b0};
      end else if (step_i.line_len == 14'(JobBytes)) begin
        end_d.mode = MdLong;
        end_d.rem  = '0;
      end
    end
    if (step_valid_i && step_i.value && piece.last) begin
      ends        = piece.eof;
      line_over_o = piece.final_;
      end_d       = '{pos: piece.pos, mode: piece.final_ ? MdLine : MdValue,
                      rem: piece.final_ ? '0 : rest, noreply: line.noreply};
    end
    if (step_valid_i && step_i.skip && piece.last) begin
      ends        = piece.eof;
      line_over_o = piece.final_;
      end_d       = '{pos: piece.pos, mode: piece.final_ ? MdLine : MdSwallow,
                      rem: piece.final_ ? '0 : rest, noreply: 1'b0};
    end
    if (step_valid_i && step_i.ignored && piece.eof) ends = 1'b1;
  end
  assign leaves_o = end_d;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) end_valid_o <= 1'b0;
    else end_valid_o <= ends;
    if (step_valid_i || decide_i) begin
      end_o  <= end_d;
      rest_q <= rest_d;
    end
  end

endmodule
