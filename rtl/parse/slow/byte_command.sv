// What a complete request line says: its words together. Combinational.
module byte_command
  import request_pkg::*;
  import parse_pkg::*;
(
  input  line_info_t line_i,
  input  binary_t    binary_i,  // without what the reply repeats
  /// It is in Redis' protocol; nothing more of it is understood.
  input  logic       resp_i,
  input  logic       broken_i,
  /// It is a datagram's: nothing of it can be left to host software, or for later.
  input  logic       udp_i,
  /// No line, but the rest of a value that is stored, or discarded.
  input  logic       value_i,
  input  logic       discard_i,
  /// A record says that its last word was its last key.
  input  logic       last_key_i,
  /// The value that it announces is too long for an item; its data and CR LF are in the job; if they are not,
  /// the job is as long as jobs are and begins with the line.
  input  logic       too_big_i,
  input  logic       fits_i,
  input  logic       part_i,
  /// The line's text is not too long for host software.
  input  logic       text_fits_i,
  output order_t     order_o
);

  /// Words of a meta command, at most.
  localparam logic [4:0] MetaWords = 5'd19;

  logic words_ok, bad_format, noreply, use_exptime, forgets, is_set;
  action_e action, store;
  reply_e reply;
  op_e op;
  logic huge;  // what a value may not count: over 2^31 - 3
  assign huge   = line_i.length[31] || &line_i.length[30:1];
  assign is_set = line_i.cmd == CmdMetaSet;

  always_comb begin
    unique case (line_i.cmd)
      CmdGet, CmdGets, CmdGat, CmdGats: words_ok = line_i.words >= 5'd2;
      CmdSet, CmdAdd, CmdReplace, CmdAppend, CmdPrepend:
        words_ok = line_i.words inside {5'd5, 5'd6};
      CmdCas:                     words_ok = line_i.words inside {5'd6, 5'd7};
      CmdIncr, CmdDecr, CmdTouch: words_ok = line_i.words inside {5'd3, 5'd4};
      CmdDelete:                  words_ok = line_i.words inside {5'd2, 5'd3, 5'd4};
      CmdFlush:                   words_ok = line_i.words <= 5'd3;
      CmdVerbosity:               words_ok = line_i.words inside {5'd2, 5'd3};
      CmdMetaGet, CmdMetaSet, CmdMetaDelete, CmdMetaSum: words_ok = line_i.words >= 5'd2;
      default:                    words_ok = 1'b1;
    endcase

    bad_format = line_i.key_long || !line_i.flags_ok || !line_i.exptime_ok || !line_i.length_ok ||
                 (line_i.cmd == CmdCas && !line_i.number_ok) || huge;
    store      = fits_i ? AcStore : part_i ? AcStorePart : AcBack;
    // A `set` of what is too large deletes what was there.
    forgets    = binary_i.is ? binary_set(binary_i.opcode) : line_i.cmd == CmdSet;

    action      = AcReply;
    reply       = RpError;
    op          = op_of(line_i.cmd);
    noreply     = line_i.noreply;
    use_exptime = 1'b0;

    if (value_i) begin
      action = fits_i ? AcStore : AcStorePart;
    end else if (discard_i) begin
      action = AcSwallow;
    end else if (resp_i) begin
      noreply = 1'b0;
      unique case (line_i.cmd)
        CmdGet:  action = AcEndOfGet;
        CmdSet, CmdAdd, CmdReplace, CmdAppend: begin
          action = too_big_i ? AcSwallow : store;
          reply  = RpTooLarge;
          op     = too_big_i ? OpReply : op_of(line_i.cmd);
        end
        CmdNoop: reply = RpPong;
        CmdSelect: begin
          action = AcSelect;
          reply  = RpOk;
        end
        CmdHost: action = AcHost;
        default: begin
          use_exptime = line_i.cmd inside {CmdGat, CmdTouch};
          action      = AcOp;
        end
      endcase
      if (line_i.many) action = AcEndOfGet;
      if (broken_i) begin
        action = AcQuit;
        reply  = RpTooLong;
      end
    end else if (binary_i.is) begin
      noreply = 1'b0;
      unique case (line_i.cmd)
        CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend: begin
          action = too_big_i ? AcSwallow : store;
          reply  = RpTooLarge;
          op     = forgets ? OpTooBig : OpReply;
        end
        CmdQuit: begin
          noreply = line_i.noreply;
          action  = AcQuit;
          reply   = RpOk;
        end
        CmdHost:    if (!udp_i && text_fits_i) action = AcHost;
        CmdNoop:    reply = RpOk;
        CmdVersion: reply = RpVersion;
        CmdUnknown: begin
          action = AcSwallow;
          op     = OpReply;
        end
        default: begin
          noreply     = line_i.noreply;
          use_exptime = line_i.cmd inside {CmdGats, CmdTouch, CmdFlush, CmdIncr, CmdDecr};
          action      = AcOp;
        end
      endcase
      if (line_i.wrong) begin
        noreply = 1'b0;
        action  = AcQuit;
        reply   = line_i.fault;
      end
    end else if (line_i.words == '0 || !words_ok) begin
      noreply = 1'b0;
    end else if (is_meta(line_i.cmd)) begin
      if (line_i.key_long || (is_set && (line_i.words == 5'd2 ||
          (line_i.words <= MetaWords && (!line_i.length_ok || huge))))) begin
        reply = RpBadFormat;
      end else if (line_i.words > MetaWords) begin
        reply = (line_i.cmd == CmdMetaGet) ? RpManyGetFlags : RpManyFlags;
      end else if (line_i.flags_fault != RpNone) begin
        action = is_set ? AcSwallow : AcReply;
        op     = OpReply;
        reply  = line_i.flags_fault;
      end else if (is_set && too_big_i) begin
        action = AcSwallow;
        op     = OpTooBig;
        reply  = RpTooLarge;
      end else begin
        action      = is_set ? store : AcOp;
        op          = line_i.op;
        use_exptime = line_i.touch || line_i.op inside {OpIncr, OpDecr, OpDelete};
      end
      if (action inside {AcReply, AcSwallow}) noreply = 1'b0;
    end else begin
      unique case (line_i.cmd)
        CmdGet, CmdGets, CmdGat, CmdGats: begin
          noreply = 1'b0;
          if (is_gat(line_i.cmd) && !line_i.exptime_ok) reply = RpBadExptime;
          else if (line_i.bad) reply = RpBadFormat;
          else if (last_key_i) action = AcEndOfGet;
          else reply = RpEnd;
        end
        CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend: begin
          if (bad_format) begin
            reply = RpBadFormat;
          end else if (too_big_i) begin
            action = AcSwallow;
            reply  = RpTooLarge;
            op     = forgets ? OpTooBig : OpReply;
          end else begin
            action = store;
          end
        end
        CmdDelete: begin
          if (line_i.words == 5'd2) noreply = 1'b0;
          if (line_i.words > 5'd2 &&
              !((line_i.words == 5'd3) ? (line_i.zero || line_i.noreply) :
                                           (line_i.zero && line_i.noreply)))
            reply = RpBadDelete;
          else if (line_i.key_long) reply = RpBadFormat;
          else action = AcOp;
        end
        CmdIncr, CmdDecr: begin
          if (line_i.key_long) reply = RpBadFormat;
          else if (!line_i.number_ok) reply = RpBadDelta;
          else action = AcOp;
        end
        CmdTouch: begin
          use_exptime = 1'b1;
          if (line_i.key_long) reply = RpBadFormat;
          else if (!line_i.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
        end
        CmdFlush: begin
          use_exptime = line_i.words > (line_i.noreply ? 5'd2 : 5'd1);
          if (use_exptime && !line_i.exptime_ok) reply = RpBadExptime;
          else action = AcOp;
        end
        CmdVerbosity: reply = line_i.number_ok ? RpOk : RpBadFormat;
        CmdVersion: begin
          noreply = 1'b0;
          reply   = RpVersion;
        end
        CmdQuit: begin
          noreply = 1'b0;
          action  = AcQuit;
        end
        CmdMetaNoop: begin
          noreply = 1'b0;
          reply   = RpMetaNoop;
        end
        CmdHost: begin
          noreply = 1'b0;
          if (!udp_i && text_fits_i) action = AcHost;
        end
        default: begin
          noreply = 1'b0;
          // A browser that was tricked into talking to a cache.
          if (line_i.foreign && line_i.http) action = AcQuit;
        end
      endcase
    end
  end

  assign order_o = '{
          action: action,
          reply: reply,
          op: op,
          noreply: noreply,
          use_exptime: use_exptime
      };

endmodule
