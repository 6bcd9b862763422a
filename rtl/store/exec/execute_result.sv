// What a request leaves: its result, the value bytes to send, and the context after it.
// Combinational.
module execute_result
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import store_pkg::*;
(
  input  log_range_t  range_i,
  input  op_t         op_i,
  input  item_t       item_i,
  input  decision_t   decision_i,
  input  room_t       room_i,
  /// It is a get whose item is not here, but may be another server's.
  input  logic        misses_i,
  /// Its key is told.
  input  logic        keyed_i,
  /// Context after the last record executed.
  input  ctx_t        last_i,
  input  sum_t        sum_i,
  input  extended_t   extended_i,
  /// The key's version.
  input  logic [63:0] version_i,
  /// Redis: the time that is asked for, as long as the item stands for a clock.
  input  msec_t       time_i,
  /// Redis: of the keys of its command so far, with this one, so many are there.
  input  logic [31:0] total_i,
  /// Something has to be said: a result, or that the job begins or ends.
  output logic        emits_o,
  output res_t        res_o,
  /// Every lookup's item lines are released by the reader, in order.
  output read_t       read_o,
  output ctx_t        ctx_o
);

  // Quiet binary and meta requests say what goes wrong, but not that a get finds nothing.
  logic muted;
  assign muted = op_i.req.noreply &&
      (!(op_i.req.binary.is || op_i.req.meta.is) || (decision_i.get && !item_i.alive) ||
       decision_i.reply inside {RpStored, RpDeleted, RpTouched, RpOk});

  logic meta;
  assign meta = op_i.req.meta.is;

  // CAS unique of what is stored now, or else of what was found.
  off_t new_off;
  logic [63:0] new_unique;
  always_comb begin
    new_off = item_i.off;
    if (decision_i.stores) new_off = op_i.req.off;
    if (sum_i.made) new_off = sum_i.off;
    if (decision_i.grown) new_off = extended_i.off;
    new_unique = off_unique(new_off, range_i.lap, range_i.last_lap);
    if (!decision_i.stores && !sum_i.made && !decision_i.grown) new_unique = decision_i.unique_no;
    else if (meta && op_i.req.meta.chosen) new_unique = op_i.req.chosen_no;
  end

  // Redis' numbers that are no sum: of replies that follow, whether it is there, how long it is now.
  logic number, minus;
  logic [63:0] told;
  logic [20:0] longer;  // what it gets is appended
  assign longer = item_i.vlen + op_i.req.vlen;
  always_comb begin
    // -1: never; -2: there is nothing.
    minus  = op_i.req.resp.is && is_time(op_i.req.resp.form) && decision_i.get &&
        (!item_i.alive || item_i.expiry == '0);
    number = 1'b0;
    told   = op_i.req.num;
    if (op_i.req.resp.is && !op_i.req.noreply) begin
      unique case (op_i.req.resp.form)
        RfArray:   number = op_i.req.op == OpReply && op_i.req.reply == RpNone;
        RfInteger: number = decision_i.get && item_i.alive;
        RfLength:  number = (decision_i.get && item_i.alive) ||
            (is_extend(op_i.req.op) && decision_i.reply == RpStored);
        default:   ;
      endcase
      if (is_time(op_i.req.resp.form)) begin
        number = decision_i.get;
        told   = !item_i.alive ? 64'd2 : minus ? 64'd1 : 64'(time_i);
      end
      if (op_i.req.resp.form == RfInteger) told = 64'd1;
      if (op_i.req.resp.form == RfLength)
        told = 64'(21'(decision_i.get ? item_i.vlen : item_i.alive ? longer : op_i.req.vlen));
    end
  end

  // Meta commands: a number that was made is told even where success is not.
  logic stored;
  assign stored = decision_i.reply == RpStored && !sum_i.made;

  logic ends_job, sends, olds, sums;
  ctx_t ctx;
  assign ends_job = op_i.req.op == OpEnd || op_i.req.last;
  assign sends    = decision_i.sends && !room_i.skip;
  // What goes out is, or would be, of the item that was found.
  // Redis: of several keys the last one tells how many of them, all jobs together, are there.
  assign sums     = op_i.req.resp.is && op_i.req.resp.form == RfSum &&
      op_i.req.op inside {OpGet, OpDelete};
  assign olds     = decision_i.get || (decision_i.sends && op_i.req.op != OpCont);

  always_comb begin
    ctx            = '0;
    ctx.rx_ptr     = op_i.req.rx_ptr;
    ctx.known      = 1'b1;
    ctx.binary     = op_i.req.binary;
    ctx.resp       = op_i.req.resp;
    ctx.meta       = op_i.req.meta;
    ctx.opaque     = op_i.req.opaque;
    if (op_i.req.op == OpHost) ctx.resp.met = 1'b1;
    ctx.mode       = op_i.req.mode;
    ctx.rem        = op_i.req.rem;
    ctx.cont       = sends && !room_i.whole;
    ctx.copies     = room_i.copies;
    // Looked at where it goes on, that is, where its piece is as long as it may be.
    ctx.cont_start = ((op_i.req.op == OpCont) ? op_i.req.cont_start : '0) + 21'(room_i.limit);
    ctx.op         = op_i.req.ctx_op;
    ctx.db         = op_i.req.db;
    ctx.noreply    = op_i.req.noreply;
    ctx.cas_out    = op_i.req.cas_out;
    ctx.touch      = op_i.req.touch;
    ctx.last_key   = op_i.req.last_key;
    ctx.klen       = op_i.req.klen;
    ctx.vlen       = olds ? item_i.vlen : op_i.req.vlen;
    ctx.expiry    = op_i.req.expiry;
    ctx.num        = op_i.req.num;
    ctx.chosen_no  = op_i.req.chosen_no;
    if (op_i.req.resp.is && op_i.req.resp.form == RfSum) ctx.num[63:32] = total_i;
    ctx.hash       = op_i.found.hash;
    ctx.off        = olds ? item_i.off : op_i.req.off;
    if (extended_i.goes_on) begin
      ctx.cont               = 1'b1;
      ctx.cont_start         = extended_i.done;
      ctx.off                = extended_i.off;
      {ctx.expiry, ctx.num} = extended_i.copy;
    end
    if (op_i.req.op == OpCont && !item_i.place_valid) ctx.mode = MdAbort;
    if (op_i.req.op == OpEnd && !op_i.req.key_stored) ctx.hash = last_i.hash;
  end
  assign ctx_o = ctx;

  always_comb begin
    res_o          = '0;
    res_o.kind     = RsNone;
    res_o.udp      = op_i.req.udp;
    res_o.conn     = op_i.req.conn;
    res_o.first    = op_i.req.first;
    res_o.last     = ends_job;
    res_o.tx_ptr   = op_i.req.tx_ptr;
    res_o.reply    = decision_i.reply;
    res_o.binary   = op_i.req.binary;
    res_o.resp     = op_i.req.resp;
    res_o.meta     = op_i.req.meta;
    res_o.opaque   = op_i.req.opaque;
    res_o.expiry   = item_i.alive ? item_i.expiry : '0;
    if (op_i.req.meta.retimed || (op_i.req.meta.made && !item_i.alive))
      res_o.expiry = op_i.req.expiry;
    if (decision_i.get && sum_i.made && op_i.req.meta.made &&
        (op_i.req.meta.n_last || !op_i.req.meta.retimed))
      res_o.expiry = op_i.req.num[47:0];
    res_o.shows = (decision_i.get && item_i.alive) || is_store(op_i.req.op) || sum_i.made;
    res_o.marks.coded = op_i.req.meta.coded;
    if (meta && decision_i.get && item_i.alive) res_o.marks = item_i.marks;
    res_o.wins     = decision_i.wins;
    res_o.keyed    = keyed_i && !room_i.skip;
    res_o.negative = sum_i.negative || minus;
    res_o.last_key = op_i.req.last_key;
    res_o.cas_out  = op_i.req.cas_out;
    res_o.klen     = op_i.req.klen;
    res_o.flags    = item_i.flags;
    res_o.vlen     = ctx.vlen;
    res_o.num      = decision_i.unique_no;
    res_o.unique_no = (op_i.req.op == OpVersion) ? version_i : new_unique;
    if (meta && is_store(op_i.req.op)) begin
      if (!stored) res_o.unique_no = '0;
      else if (decision_i.grown) res_o.vlen = longer;
    end
    res_o.head     = olds;
    res_o.tail     = room_i.whole;
    res_o.host_len = op_i.req.host_len;
    res_o.ctx = (room_i.skip || room_i.split) && !op_i.req.first ? last_i : ctx;
    res_o.ctx.resp.all |= room_i.missed;
    res_o.ctx.again = room_i.again;
    if (misses_i) begin
      res_o.kind = RsNone;
    end else if (room_i.skip) begin
      res_o.kind = RsEnd;
    end else if (sum_i.made) begin
      if (!op_i.req.noreply || (meta && !item_i.alive)) begin
        res_o.kind = (meta && (decision_i.get || !op_i.req.meta.value)) ? RsReply : RsNumber;
      end
      if (meta) res_o.reply = RpFound;
      res_o.num = sum_i.value;
      // An item that a get has made has no value, and its key as it is.
      if (decision_i.get)
        {res_o.wins, res_o.marks.coded, res_o.flags, res_o.vlen} = {1'b1, 1'b0, 32'd0, 21'd0};
    end else if (sums) begin
      if (op_i.req.last_key) begin
        res_o.kind = RsNumber;
        res_o.num  = 64'(total_i);
      end
    end else if (number) begin
      res_o.kind = RsNumber;
      res_o.num  = told;
    end else if (decision_i.sends) begin
      res_o.kind = RsValue;
    end else if (op_i.req.op == OpEnd) begin
      res_o.kind = RsEnd;
    end else if (op_i.req.op == OpHostData) begin
      res_o.kind = RsHostData;
    end else if (decision_i.reply != RpNone && !muted) begin
      res_o.kind = RsReply;
    end
    // Whoever stored the item: no line of text has such a key.
    res_o.marks.coded |= op_i.req.meta.unfit;
  end
  assign emits_o = ends_job || (!room_i.skip && (res_o.kind != RsNone || op_i.req.first ||
                                                  res_o.keyed));

  always_comb begin
    read_o       = '0;
    read_o.send  = sends;
    read_o.whole = op_i.found.whole && item_i.hit && olds;
    read_o.count = op_i.found.count;
    read_o.bank  = op_i.found.off.pos[2];
    read_o.slots = op_i.slots;
    read_o.off   = olds ? item_i.off : op_i.req.off;
    // A walk's value is the item from its header to its key's end.
    if (op_i.req.op == OpWalk) read_o.off.pos = item_i.off.pos - 28'd1;
    read_o.klen  = op_i.req.klen;
    read_o.start = olds ? '0 : op_i.req.cont_start;
    read_o.len   = room_i.piece;
  end

endmodule
