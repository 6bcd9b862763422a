// How a job leaves its connection if it ends with what the slow path does now. Combinational.
module byte_leave
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
#(
  /// A line longer than this need not be kept in one piece.
  parameter int unsigned LineMax = 2048
) (
  input  byte_e       state_i,
  input  job_t        job_i,
  input  line_info_t  line_i,
  input  place_t      job_start_i,
  /// Where in the job the line began, and the word that is not complete; bytes of a line that is not. Of the clock
  /// before.
  input  logic [13:0] line_at_i,
  input  logic [13:0] word_at_i,
  input  logic [13:0] so_far_i,
  /// What is read next, what is behind the value.
  input  place_t      place_i,
  input  place_t      behind_i,
  /// The line has ended.
  input  logic        eol_i,
  input  logic        nul_i,
  /// Keys of this line are committed as they come; some are.
  input  logic        eager_i,
  input  logic        partial_i,
  /// What becomes of the line; it has more than LineMax bytes; of it with data and CR LF so many fit into a job.
  /// Bytes of data and CR LF, or to discard; of these behind the job.
  input  action_e     action_i,
  input  logic        line_long_i,
  input  logic [13:0] again_i,
  input  logic [31:0] need_i,
  input  logic [31:0] rest_i,
  /// A value's CR is the last byte of the job.
  input  logic        cr_last_i,
  /// The job ends inside of text for host software, of which the rest comes in the next one.
  input  logic        goes_on_i,
  /// All of the job's rest went to host software as it is.
  input  logic        raw_i,
  /// The end as it was known a clock before.
  input  end_t        end_i,
  output end_t        leaves_o,
  /// The same, for the record of the job's end, if that comes: of a line that is cut nothing else says it.
  output end_t        end_o
);

  // The job ends inside of the line: all of it is read again when there is more, but for what follows.
  end_t cut;
  always_comb begin
    // In vain it was read only if there were no more bytes than its job was given.
    cut = '{
        pos: line_at_i,
        mode: MdLine,
        rem: 32'(so_far_i) + 32'd1,
        noreply: !job_i.visit.more
    };
    if (is_get(line_i.cmd) && line_i.bad && (partial_i || so_far_i > 14'(LineMax))) begin
      cut = '{pos: job_i.visit.len, mode: MdKeys, rem: '0, noreply: 1'b1};
    end else if (partial_i) begin
      cut = '{
          pos: word_at_i,
          mode: MdKeys,
          rem: 32'(14'(job_i.visit.len - word_at_i)) + 32'd1,
          noreply: 1'b0
      };
    end else if (so_far_i > 14'(LineMax) && !job_i.ctx.resp.is &&
                 !(line_i.cmd inside {CmdGet, CmdGets} && !eager_i && !line_i.indented &&
                   !line_i.foreign)) begin
      cut = '{pos: job_i.visit.len, mode: MdQuit, rem: '0, noreply: 1'b0};
    end else if (so_far_i == 14'(JobBytes)) begin
      cut = '{pos: line_at_i, mode: MdLong, rem: '0, noreply: 1'b0};
    end
  end

  always_comb begin
    leaves_o = '{pos: place_i - job_start_i, mode: MdLine, rem: '0, noreply: 1'b0};
    unique case (state_i)
      ByEmpty: begin
        leaves_o = '{
            pos: '0,
            mode: job_i.ctx.mode,
            rem: job_i.ctx.rem,
            noreply: job_i.ctx.noreply
        };
        if (job_i.visit.host) begin
          leaves_o.rem  = 32'(!job_i.visit.host_final);
          leaves_o.mode = !job_i.visit.host_final ? MdHost : job_i.visit.host_close ? MdQuit :
              (job_i.ctx.resp.form == RfText) ? MdKeys : MdLine;
        end else if (job_i.ctx.mode == MdHost) begin
          leaves_o.rem = '0;
        end
      end
      // Who goes on there is to meet the NUL, too.
      ByWord:
      if (!eol_i) begin
        leaves_o.mode = MdKeys;
        if (nul_i) leaves_o.pos = place_i - job_start_i - 14'd1;
      end
      ByAct: begin
        unique case (action_i)
          AcSwallow: begin
            // Where there is nothing to discard the next job begins with a request.
            leaves_o.mode = (need_i == '0) ? MdLine : MdSwallow;
            leaves_o.rem  = need_i;
          end
          AcHost:  leaves_o.mode = MdHost;
          AcQuit:  leaves_o.mode = MdQuit;
          AcBack: begin
            leaves_o.pos  = line_at_i;
            leaves_o.mode = line_long_i ? MdQuit : MdLine;
            leaves_o.rem  = 32'(again_i);
          end
          default: ;
        endcase
      end
      ByValue: begin
        leaves_o.pos     = behind_i - job_start_i;
        leaves_o.noreply = line_i.noreply;
      end
      ByTail: begin
        leaves_o = end_i;
        if (action_i inside {AcStorePart, AcSwallow}) begin
          leaves_o = '{
              pos: job_i.visit.len,
              mode: MdSwallow,
              rem: rest_i,
              noreply: line_i.noreply
          };
          if (action_i == AcStorePart) leaves_o.mode = MdValue;
          // CR and LF are looked at together.
          if (action_i == AcStorePart && cr_last_i) begin
            leaves_o.pos = job_i.visit.len - 14'd1;
            leaves_o.rem = 32'd2;
          end
        end
      end
      // If it goes on: host software is asked whether it may.
      ByCut:   leaves_o = '{pos: job_i.visit.len, mode: MdHost, rem: 32'd1, noreply: 1'b0};
      // Host software answers; but a datagram's rest it has already.
      ByEnd:
      if (!raw_i) leaves_o = end_i;
      else if (!job_i.udp) leaves_o = '{pos: job_i.visit.len, mode: MdHost, rem: '0, noreply: 1'b0};
      default: ;
    endcase
  end
  assign end_o = (state_i == ByCut && !goes_on_i) ? cut : leaves_o;

endmodule
