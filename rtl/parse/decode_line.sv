// What a complete request line says: its words together. Combinational.
module decode_line
  import request_pkg::*;
  import front_pkg::*;
(
  // verilator lint_off UNUSEDSIGNAL
  input  step_t       step_i,
  input  job_t        job_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic signed [21:0] value_max_i,
  /// The value's length is a long number, and this is all of it.
  input  logic        late_i,
  input  logic [31:0] length_i,
  /// The line's text is not too long for host software.
  input  logic        text_fits_i,
  output order_t      order_o
);

  // A short name; not every field is needed here.
  // verilator lint_off UNUSEDSIGNAL
  line_info_t line;
  // verilator lint_on UNUSEDSIGNAL
  logic words_ok, bad_format, too_big, noreply, use_exptime;
  logic [31:0] vlen, need;
  action_e action;
  reply_e reply;
  op_e op;
  assign line = step_i.line;

  always_comb begin
    vlen = late_i ? length_i : 32'(line.length);
    need = vlen + 32'd2;

    unique case (line.cmd)
      CmdGet, CmdGets, CmdGat, CmdGats: words_ok = line.words >= 5'd2;
      CmdSet, CmdAdd, CmdReplace, CmdAppend, CmdPrepend:
        words_ok = line.words inside {5'd5, 5'd6};
      CmdCas:                     words_ok = line.words inside {5'd6, 5'd7};
      CmdIncr, CmdDecr, CmdTouch: words_ok = line.words inside {5'd3, 5'd4};
      CmdDelete:                  words_ok = line.words inside {5'd2, 5'd3, 5'd4};
      CmdFlush:                   words_ok = line.words <= 5'd3;
      CmdVerbosity:               words_ok = line.words inside {5'd2, 5'd3};
      default:                    words_ok = 1'b1;
    endcase

    bad_format = line.key_long || !line.flags_ok || !line.exptime_ok ||
                 !line.length_ok || (line.cmd == CmdCas && !line.number_ok) ||
                 (line.length_big ? late_i && (length_i[31] || length_i[30:0] > 31'h7ffffffd) :
                                    line.length_neg);
    too_big     = late_i ? 33'(length_i) > 33'(value_max_i) : line.too_big;

    action      = AcReply;
    reply       = RpError;
    op          = op_of(line.cmd);
    noreply     = line.noreply;
    use_exptime = 1'b0;

    if (line.words == '0 || !words_ok) begin
      noreply = 1'b0;
    end else begin
      unique case (line.cmd)
        CmdGet, CmdGets, CmdGat, CmdGats: begin
          noreply = 1'b0;
          if (is_gat(line.cmd) && !line.exptime_ok) reply = RpBadExptime;
          else if (line.bad) reply = RpBadFormat;
          else if (step_i.get_key) action = AcEndOfGet;
          else reply = RpEnd;
        end
        CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend: begin
          if (bad_format) begin
            reply = RpBadFormat;
          end else if (too_big) begin
            action = AcSwallow;
            reply  = RpTooLarge;
            op     = (line.cmd == CmdSet) ? OpTooBig : OpReply;
          end else if (need <= 32'(step_i.piece.left)) begin
            action = AcStore;
          end else if (!job_i.udp && !step_i.piece.eof && step_i.line_pos == '0 &&
                       job_i.len == 14'(JobBytes)) begin
            action = AcStorePart;
          end else begin
            action = AcBack;
          end
        end
        CmdDelete: begin
          if (line.words == 5'd2) noreply = 1'b0;
          if (line.words > 5'd2 &&
              !((line.words == 5'd3) ? (line.zero || line.noreply) :
                                           (line.zero && line.noreply)))
            reply = RpBadDelete;
          else if (line.key_long) reply = RpBadFormat;
          else action = AcOp;
        end
        CmdIncr, CmdDecr: begin
          if (line.key_long) reply = RpBadFormat;
          else if (!line.number_ok) reply = RpBadDelta;
          else action = AcOp;
        end
        CmdTouch: begin
          use_exptime = 1'b1;
          if (line.key_long) reply = RpBadFormat;
          else if (!line.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
        end
        CmdFlush: begin
          use_exptime = line.words > (line.noreply ? 5'd2 : 5'd1);
          if (use_exptime && !line.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
        end
        CmdVerbosity: reply = line.number_ok ? RpOk : RpBadFormat;
        CmdVersion: begin
          noreply = 1'b0;
          reply   = RpVersion;
        end
        CmdQuit: begin
          noreply = 1'b0;
          action  = AcQuit;
        end
        CmdHost: begin
          noreply = 1'b0;
          if (!job_i.udp && text_fits_i) action = AcHost;
        end
        default: begin
          noreply = 1'b0;
          // A browser that was tricked into talking to a cache.
          if (line.foreign && line.http) action = AcQuit;
        end
      endcase
    end
  end

  assign order_o = '{
          action: action,
          reply: reply,
          op: op,
          noreply: noreply,
          use_exptime: use_exptime,
          vlen: vlen,
          need: need
      };

endmodule
