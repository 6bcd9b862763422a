// The record of a step: of a key of a `get`, a line, a value, a job without bytes; and that of a job's
// end. Combinational.
module decode_record
  import request_pkg::*;
  import front_pkg::*;
(
  // verilator lint_off UNUSEDSIGNAL
  input  logic        step_valid_i,
  input  step_t       step_i,
  input  job_t        job_i,
  /// A line is complete, and says this; its text for host software has so many bytes.
  input  logic        decide_i,
  input  order_t      order_i,
  input  logic [7:0]  text_len_i,
  /// The length of the value that the line has announced.
  input  logic [20:0] vlen_i,
  /// No record of this job is certain to go out before it.
  input  logic        first_i,
  /// How the job would leave its connection; its end is now, and leaves it like this.
  input  end_t        leaves_i,
  input  logic        end_valid_i,
  input  end_t        end_i,
  // verilator lint_on UNUSEDSIGNAL
  output record_t     record_o
);

  // Short names; not every field is needed here.
  // verilator lint_off UNUSEDSIGNAL
  ctx_t ctx;
  piece_t piece;
  line_info_t line;
  // verilator lint_on UNUSEDSIGNAL
  assign ctx   = job_i.ctx;
  assign piece = step_i.piece;
  assign line  = step_i.line;

  logic empty_job, get_key;
  op_e op;
  logic [20:0] vlen;
  req_t req;
  assign empty_job = step_valid_i && step_i.empty_job;
  assign get_key   = step_valid_i && step_i.get_key;
  assign op        = op_of(line.cmd);
  assign vlen      = line.old ? ctx.vlen : vlen_i;

  always_comb begin
    req          = '0;
    req.op       = OpReply;
    req.udp      = job_i.udp;
    req.conn     = job_i.conn;
    req.first    = first_i && !job_i.begun;
    req.tx_ptr   = job_i.tx_ptr;
    req.tx_space = job_i.tx_space;
    req.noreply  = order_i.noreply;
    req.klen     = line.klen;
    req.rx_ptr   = ctx.rx_ptr;
    if (line.old || empty_job) begin
      req.hash    = ctx.hash;
      req.off     = ctx.off;
      req.exptime = ctx.exptime;
      req.num     = ctx.num;
    end
    req.cas_out  = line.cmd inside {CmdGets, CmdGats};
    req.touch    = is_gat(line.cmd);
    req.ctx_op   = op;
    req.mode     = leaves_i.mode;
    req.rem      = leaves_i.rem;
    record_o     = '0;
    record_o.pos = leaves_i.pos;

    if (empty_job) begin
      // A piece of the host's answer, asking for the next one, or the rest of a value.
      req.noreply = ctx.noreply;
      if (job_i.host) begin
        req.op       = OpHostData;
        req.host_len = job_i.host_len;
        req.noreply  = 1'b0;
      end else if (ctx.mode == MdHost) begin
        req.op         = OpHost;
        req.key_stored = 1'b1;
        req.klen       = '0;
        req.noreply    = 1'b0;
      end else begin
        // append and prepend go on themselves.
        req.op         = (ctx.op inside {OpAppend, OpPrepend}) ? ctx.op : OpCont;
        req.ctx_op     = ctx.op;
        req.key_stored = 1'b1;
        req.klen       = ctx.klen;
        req.vlen       = ctx.vlen;
        req.cas_out    = ctx.cas_out;
        req.touch      = ctx.touch;
        req.last_key   = ctx.last_key;
        req.cont_start = ctx.cont_start;
      end
    end

    if (get_key) begin
      req.op               = OpGet;
      req.ctx_op           = OpGet;
      req.noreply          = 1'b0;
      req.last_key         = piece.eol;
      record_o.use_exptime = is_gat(line.cmd) && !line.old;
      if (!piece.eol) begin
        record_o.pos = piece.pos;
        req.mode     = MdKeys;
        req.rem      = '0;
      end
    end else if (decide_i) begin
      unique case (order_i.action)
        AcOp: begin
          req.op               = order_i.op;
          record_o.use_exptime = order_i.use_exptime;
          record_o.use_number  = order_i.op inside {OpIncr, OpDecr};
        end
        AcSwallow: begin
          req.op   = order_i.op;
          req.vlen = order_i.vlen[20:0];
        end
        AcHost: begin
          req.op   = OpHost;
          req.klen = text_len_i;
        end
        default: ;
      endcase
      if (order_i.action inside {AcReply, AcSwallow} && !order_i.noreply) req.reply = order_i.reply;
    end

    if (step_valid_i && step_i.value) begin
      req.op               = op;
      req.noreply          = line.noreply;
      req.vlen             = vlen;
      req.key_stored       = line.old;
      // Of a later part the log writes bytes, or none if all that lacks is CR LF.
      record_o.off_sel     = !line.old ? OsNew : (ctx.rem != 32'd2) ? OsTold : OsOwn;
      record_o.use_flags   = !line.old;
      record_o.use_exptime = !line.old;
      record_o.use_number  = !line.old && op == OpCas;
      if (!piece.final_) begin
        req.op = OpPart;
      end else if (!piece.crlf) begin
        req.op = OpReply;
        if (!line.noreply) req.reply = RpBadChunk;
      end
    end

    if (end_valid_i) begin
      req.op               = OpEnd;
      req.mode             = end_i.mode;
      req.rem              = end_i.rem;
      req.noreply          = end_i.noreply;
      req.key_stored       = line.old;
      req.vlen             = vlen;
      record_o.pos         = end_i.pos;
      record_o.off_sel     = (!line.old && end_i.mode == MdValue) ? OsSame : OsOwn;
      record_o.use_exptime = !line.old && end_i.mode inside {MdKeys, MdValue};
      record_o.use_number  = !line.old && end_i.mode == MdValue;
    end
    record_o.req = req;
  end

endmodule
