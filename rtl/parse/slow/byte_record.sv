// The record of what the slow path has read: of a key of a `get`, a line, a value, a job without bytes; and
// that of a job's end. Combinational.
module byte_record
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import parse_pkg::*;
(
  input  job_t       job_i,
  input  line_info_t line_i,
  input  db_t        db_i,
  input  binary_t    binary_i,
  input  resp_t      resp_i,
  input  resp_count_t left_i,  // Redis: arguments that are not complete
  input  logic       told_i,  // Redis: it began with a part
  /// It began in an earlier job: the rest is in the job's context.
  input  logic       old_i,
  /// No record of this job is certain to go out before it.
  input  logic       first_i,
  /// How its job would leave its connection if it ended here.
  input  end_t       leaves_i,
  /// One of these: a job without bytes; a key of so many bytes, the last one of its line; a line that says
  /// this, its text for host software has so many bytes; a value, the last part of it, with CR LF behind it;
  /// the job's end.
  input  logic       empty_i,
  input  logic       key_i,
  input  logic       array_i,  // with key_i: no key, but so many replies follow
  input  logic       part_i,   // of the text for host software, more of which follows
  // It is of bytes that are passed on as they are; it is the last one. They go on with keys of the job's context.
  input  logic       raw_i,
  input  logic       raw_last_i,
  input  logic       resumes_i,
  // With end_i: how far that has come, if it goes on in the next job.
  input  resp_place_t place_i,
  input  logic [7:0] klen_i,
  input  logic       last_key_i,
  input  logic       line_valid_i,
  input  order_t     order_i,
  input  logic [7:0] text_len_i,
  input  logic       value_i,
  input  logic       last_part_i,
  input  logic       crlf_i,
  input  logic       end_i,
  output record_t    record_o
);

  op_e op;
  logic [31:0] sum;
  logic [20:0] vlen;
  assign sum = (old_i && job_i.ctx.mode == MdKeys) ? job_i.ctx.num[63:32] : '0;
  req_t req;
  assign op   = (old_i && job_i.ctx.mode == MdValue) ? job_i.ctx.op :
                is_meta(line_i.cmd) ? line_i.op : op_of(line_i.cmd);
  assign vlen = old_i ? job_i.ctx.vlen : line_i.length[20:0];

  always_comb begin
    req          = '0;
    req.op       = OpReply;
    req.udp      = job_i.udp;
    req.conn     = job_i.visit.conn;
    req.first    = first_i;
    req.tx_ptr   = job_i.visit.tx_ptr;
    req.tx_space = job_i.visit.tx_space;
    req.binary   = empty_i ? job_i.ctx.binary : binary_i;
    req.db       = db_i;
    req.resp     = empty_i ? job_i.ctx.resp : resp_i;
    req.meta     = (old_i || empty_i) ? job_i.ctx.meta : line_i.meta;
    req.opaque   = (old_i || empty_i) ? job_i.ctx.opaque : line_i.opaque;
    req.chosen_no = (old_i || empty_i) ? job_i.ctx.chosen_no : line_i.chosen_no;
    if (job_i.visit.host) begin
      req.resp.met   = 1'b1;
      req.resp.three = job_i.visit.host_three;
      req.resp.all   = job_i.visit.host_all;
      req.db         = job_i.visit.host_db;
    end
    req.klen     = line_i.klen;
    req.rx_ptr   = job_i.ctx.rx_ptr;
    if (old_i || empty_i) begin
      req.hash   = job_i.ctx.hash;
      req.off    = job_i.ctx.off;
      req.expiry = job_i.ctx.expiry;
      req.num    = job_i.ctx.num;
    end
    req.cas_out  = line_i.cmd inside {CmdGets, CmdGats, CmdWalk};
    req.touch    = is_gat(line_i.cmd) || line_i.touch || (is_meta(line_i.cmd) && line_i.creates) ||
        (resp_i.is && line_i.keeps);
    if (old_i && job_i.ctx.mode == MdValue) req.touch = job_i.ctx.touch;
    req.ctx_op = op;
    if (line_valid_i && (binary_i.is ? line_i.cmd inside {CmdIncr, CmdDecr} :
                                       line_i.cmd == CmdMetaSum)) begin
      req.unique_no = line_i.unique_no;
      req.hash      = line_i.initial_no;
      req.touch     = line_i.creates;
    end
    if (line_valid_i && line_i.meta.recaches) req.unique_no = line_i.unique_no;
    req.mode     = leaves_i.mode;
    req.rem      = leaves_i.rem;
    record_o     = '0;
    record_o.pos = leaves_i.pos;

    if (empty_i) begin
      // A piece of the host's answer, asking for the next one, or the rest of a value.
      if (job_i.visit.host) begin
        req.op       = OpHostData;
        req.host_len = job_i.visit.host_len;
      end else if (job_i.ctx.mode == MdHost) begin
        req.op         = OpHost;
        req.key_stored = 1'b1;
        req.klen       = '0;
      end else begin
        // append, prepend, and a delete that copies go on themselves. Redis' GETDEL sends what it has found.
        req.op = OpCont;
        if (job_i.ctx.op inside {OpAppend, OpPrepend} ||
            (job_i.ctx.op == OpDelete && !job_i.ctx.resp.is)) begin
          req.op = job_i.ctx.op;
        end
        req.ctx_op     = job_i.ctx.op;
        req.noreply    = job_i.ctx.noreply;
        req.key_stored = 1'b1;
        req.klen       = job_i.ctx.klen;
        req.vlen       = job_i.ctx.vlen;
        req.cas_out    = job_i.ctx.cas_out;
        req.touch      = job_i.ctx.touch;
        req.last_key   = job_i.ctx.last_key;
        req.cont_start = job_i.ctx.cont_start;
      end
    end

    if (key_i) begin
      req.op               = line_i.many ? op : OpGet;
      req.klen             = klen_i;
      req.last_key         = last_key_i;
      record_o.use_exptime = is_gat(line_i.cmd) && !old_i;
      if (resp_i.is) req.num = {sum, 32'(left_i)};
      if (array_i) begin
        req.op              = OpReply;
        req.ctx_op          = OpGet;
        req.klen            = '0;
        req.resp.form       = RfArray;
        record_o.use_number = 1'b1;
      end
    end

    if (part_i) begin
      req.op   = OpHost;
      req.vlen = 21'(told_i);
      req.klen = text_len_i;
    end
    if (raw_i && (part_i || end_i)) begin
      req.binary    = '{is: job_i.ctx.binary.is, default: '0};
      req.resp      = job_i.ctx.resp;
      req.resp.all  = 1'b1;
      req.resp.form = RfStatus;
      req.meta      = '0;
      req.num       = job_i.ctx.num;
      req.flags[1:0] = !resumes_i ? RwStart :
          job_i.ctx.resp.is ? RwMget : job_i.ctx.cas_out ? RwGets : RwGet;
      req.last_key  = raw_last_i;
    end

    if (line_valid_i) begin
      req.noreply = order_i.noreply;
      unique case (order_i.action)
        AcOp: begin
          req.op               = order_i.op;
          record_o.use_exptime = order_i.use_exptime;
          record_o.use_number  = order_i.op inside {OpIncr, OpDecr} ||
              ((binary_i.is || line_i.meta.is) && order_i.op == OpDelete) || line_i.meta.vivifies;
          record_o.use_flags   = (resp_i.is && order_i.op == OpTouch) || line_i.meta.voids;
          if (resp_i.is) req.reply = line_i.fault;
        end
        AcSwallow: begin
          req.op   = order_i.op;
          req.vlen = vlen;
        end
        AcHost: begin
          req.op       = OpHost;
          req.klen     = text_len_i;
          req.last_key = resp_i.is;
          req.vlen     = 21'(told_i);
        end
        default: ;
      endcase
      if (order_i.action inside {AcReply, AcSwallow, AcSelect, AcQuit} && !order_i.noreply)
        req.reply = order_i.reply;
    end

    if (value_i) begin
      req.op               = op;
      req.noreply          = line_i.noreply;
      req.vlen             = vlen;
      req.key_stored       = old_i;
      // Of a later part the log writes bytes, or none if all that lacks is CR LF.
      record_o.off_sel     = !old_i ? OsNew :
                             (binary_i.is || job_i.ctx.rem != 32'd2) ? OsTold : OsOwn;
      record_o.use_flags   = !old_i;
      record_o.use_exptime = !old_i;
      record_o.use_number  = !old_i && (op == OpCas || binary_i.is || line_i.meta.is);
      if (!last_part_i) begin
        req.op = OpPart;
      end else if (!crlf_i) begin
        req.op = OpReply;
        if (!line_i.noreply || req.meta.is) req.reply = RpBadChunk;
      end
    end

    if (end_i) begin
      req.op = OpEnd;
      if (resp_i.is && leaves_i.mode == MdKeys && resp_i.form != RfText)
        req.num = {sum, 32'(left_i)};
      if (leaves_i.mode == MdHost && leaves_i.rem[0] && !job_i.visit.host) begin
        req.resp.form         = RfText;
        {req.expiry, req.num} = 112'(place_i);
      end
      req.noreply          = leaves_i.noreply;
      req.key_stored       = old_i;
      req.vlen             = vlen;
      record_o.off_sel     = (leaves_i.mode == MdValue) ? OsSame : OsOwn;
      record_o.use_exptime = !old_i && leaves_i.mode inside {MdKeys, MdValue};
      record_o.use_number  = !old_i && leaves_i.mode == MdValue;
    end
    record_o.req = req;
  end

endmodule
