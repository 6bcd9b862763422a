// Results to records of the reply builder. Over TCP what stands behind a value, or a short fixed
// reply, or both, do not leave by themselves: they wait for the next record of their job and go in
// front of its text. Latency 1; a record for most results, none for a reply that waits. What depends on the
// result alone is known when it is here.
module merge
  import request_pkg::*;
  import result_pkg::*;
  import reply_pkg::*;
(
  input  logic clk_i,
  input  logic rst_ni,
  /// A result comes, which is res_i from the next clock on.
  input  logic next_i,
  input  res_t next_res_i,  // some of it
  /// It is taken.
  input  logic take_i,
  input  res_t res_i,  // numbers and contexts go elsewhere
  /// A meta command's reply, of which meta_line makes a line.
  input  logic line_i,
  /// A record of it.
  output logic rec_valid_o,
  output rec_t rec_o,
  /// Of a binary reply. Its body has the value's bytes: text, key and extras are still to be added.
  output header_t header_o
);

  /// Nothing but the end of a value is waiting.
  localparam ahead_t AheadCrlf = '{ending: EnCrlf, reply: FxNone};
  ahead_t waiting_q, waiting_d, both;
  typedef struct packed {
    fixed_t     reply;
    ending_t    ending;
    logic       says;
    logic       together;
    logic [3:0] fits;  // `reply` behind each ending
  } told_t;
  /// Whether a text says something, and whether it fits behind each ending.
  function automatic logic [4:0] told_of(input fixed_t text);
    told_of[4] = text != FxNone;
    for (int unsigned e = 0; e < 4; e++) told_of[e] = AheadLength[{2'(e), text}] != '0;
  endfunction
  told_t next, told_q;
  fixed_t reply, resp_text, meta_text;
  ending_t ending;
  logic says, fits, together;
  always_comb begin
    next.reply    = (next_res_i.kind != RsReply) ? FxNone : next_res_i.resp.is ? resp_text :
        next_res_i.meta.is ? meta_text : 6'(next_res_i.reply);
    next.ending   = (!next_res_i.tail || next_res_i.binary.is) ? EnNone :
        (next_res_i.last_key && !next_res_i.resp.is) ? EnCrlfEnd : EnCrlf;
    // Of each text by itself: which of them it is comes later than what they are.
    {next.says, next.fits} = (next_res_i.kind != RsReply) ?
        {next_res_i.kind inside {RsValue, RsNumber, RsHostData}, 4'(told_of(FxNone))} :
        next_res_i.resp.is ? told_of(resp_text) :
        next_res_i.meta.is ? told_of(meta_text) : told_of(6'(next_res_i.reply));
    next.together = !next_res_i.udp && !next_res_i.last && !next_res_i.binary.is;
  end
  always_ff @(posedge clk_i) if (next_i) told_q <= next;
  assign reply    = told_q.reply;
  assign ending   = told_q.ending;
  assign says     = told_q.says;
  assign together = told_q.together;
  // A reply can wait, too.
  assign both     = '{ending: waiting_q.ending, reply: reply};
  assign fits     = reply != FxNone && waiting_q.reply == FxNone && told_q.fits[waiting_q.ending];

  // ---------------------------------------------------------------- binary
  logic shows_key, has_header;
  logic [7:0] status;
  fixed_t text, header_text;
  always_comb begin
    status = 8'd0;
    text   = FxNone;
    unique case (res_i.reply)
      RpNotFound:   {status, text} = {8'h01, FxNotFound};
      RpExists:     {status, text} = {8'h02, FxExists};
      RpTooLarge:   {status, text} = {8'h03, FxTooLarge};
      RpBadFormat:  {status, text} = {8'h04, FxInvalid};
      RpNotStored:  {status, text} = {8'h05, FxNotStored};
      RpNonNumeric: {status, text} = {8'h06, FxNotNumber};
      RpError:      {status, text} = {8'h81, FxUnknown};
      RpNoMemory:   {status, text} = {8'h82, FxNoMemory};
      RpVersion:    text = FxVersion;
      default:      ;
    endcase
    shows_key   = res_i.binary.key && res_i.head;
    has_header  = res_i.binary.is && (res_i.kind inside {RsReply, RsNumber} ||
                                     (res_i.kind == RsValue && res_i.head));
    // A miss that has the key has no text.
    header_text = (res_i.kind != RsReply || shows_key) ? FxNone : text;

    header_o           = '0;
    header_o.opcode    = res_i.binary.opcode;
    header_o.opaque    = res_i.binary.opaque;
    header_o.klen      = shows_key ? res_i.klen : '0;
    header_o.status    = (res_i.kind == RsReply) ? status : '0;
    header_o.extra     = !has_header ? ExText : (res_i.kind == RsNumber) ? ExNumber :
        (res_i.kind == RsValue || (res_i.kind == RsReply && res_i.reply == RpTouched)) ? ExFlags :
                                                                                         ExNone;
    header_o.number    = (res_i.kind == RsNumber) ? res_i.num : 64'(res_i.flags);
    header_o.body      = (res_i.kind == RsValue) ? 22'(res_i.vlen) : '0;
    if (res_i.kind inside {RsValue, RsNumber} || res_i.reply inside {RpStored, RpTouched})
      header_o.unique_no = res_i.unique_no;
  end

  // ---------------------------------------------------------------- Redis
  fixed_t null_text;
  logic is_status, is_bulk;
  assign null_text = next_res_i.resp.three ? FrNull : FrNil;
  assign is_status = next_res_i.resp.form == RfStatus;
  assign is_bulk   = next_res_i.resp.form == RfBulk;
  always_comb begin
    unique case (next_res_i.reply)
      RpStored:     resp_text = is_status ? FrOk : is_bulk ? null_text : FrOne;
      RpNotStored:  resp_text = (is_status || is_bulk) ? null_text : FrZero;
      RpDeleted, RpTouched: resp_text = FrOne;
      RpNotFound:
      resp_text = is_bulk ? null_text : (next_res_i.resp.form == RfType) ? FrNone : FrZero;
      RpOk:         resp_text = (next_res_i.resp.form == RfType) ? FrString : FrOk;
      RpBadExpire:  resp_text = FrBadExpire;
      RpPong:       resp_text = FrPong;
      RpNonNumeric: resp_text = FrNotInteger;
      RpOverflow:   resp_text = FrOverflow;
      RpTooLarge:   resp_text = FrTooLarge;
      RpNoMemory:   resp_text = FrNoMemory;
      RpTooLong:    resp_text = FrTooLong;
      default:      resp_text = FxNone;
    endcase
  end

  // ---------------------------------------------------------------- meta commands
  always_comb begin
    unique case (next_res_i.reply)
      RpStored, RpDeleted, RpFound: meta_text = FmDone;
      // Always a line, which stands in its place.
      RpNotStored: meta_text = FmDone;
      RpExists:    meta_text = FmExists;
      RpNotFound:  meta_text = next_res_i.meta.get ? FmMissing : FmNotFound;
      default:     meta_text = 6'(next_res_i.reply);
    endcase
  end

  // ---------------------------------------------------------------- a record
  always_comb begin
    rec_o           = '0;
    rec_o.ahead     = waiting_q;
    rec_o.silent    = !says;
    rec_o.last      = res_i.last;
    rec_o.inner_len = res_i.vlen[4:0];
    rec_o.size      = 22'(res_i.vlen) + 22'(ending_length(ending));
    rec_o.host_len  = res_i.host_len;
    unique case (res_i.kind)
      RsReply: rec_o.own = reply;
      RsValue: begin
        rec_o.own     = res_i.head ? FxValue : FxNone;
        rec_o.klen    = res_i.head ? res_i.klen : '0;
        rec_o.numbers = res_i.head;
        rec_o.value   = 1'b1;
        rec_o.inner   = res_i.head && res_i.tail && res_i.vlen <= 21'(InnerMax);
        rec_o.ending  = (rec_o.inner || !together) ? ending : EnNone;
      end
      RsNumber: begin
        rec_o.numbers = 1'b1;
        if (res_i.resp.is)
          rec_o.own = (res_i.resp.form == RfArray) ? FrArray :
              res_i.negative ? FrNegative : FrInteger;
      end
      RsHostData: rec_o.host = 1'b1;
      default: ;
    endcase
    if ((res_i.resp.is || res_i.meta.is) && res_i.kind == RsValue) begin
      rec_o.own  = FxNone;
      rec_o.klen = '0;
      if (res_i.head && !rec_o.inner && waiting_q == AheadCrlf) begin
        rec_o.ahead = '0;
        rec_o.joins = 1'b1;
      end
    end
    if (line_i) begin
      rec_o.ahead    = waiting_q;
      rec_o.joins    = 1'b0;
      rec_o.own      = FxNone;
      rec_o.numbers  = 1'b0;
      rec_o.inner    = 1'b0;
      rec_o.ending   = (res_i.kind == RsValue && !together) ? ending : EnNone;
      rec_o.host     = 1'b1;
      rec_o.meta     = 1'b1;
    end
    // Binary: all have a header, and what it counts stands behind it.
    rec_o.binary = res_i.binary.is && !(res_i.kind == RsValue && !res_i.head);
    if (has_header) begin
      rec_o.own     = header_text;
      rec_o.klen    = shows_key ? res_i.klen : '0;
      rec_o.numbers = 1'b1;
      if (shows_key) rec_o.inner = 1'b0;
      if (res_i.kind == RsReply) rec_o.size = '0;
    end
    if (!rec_o.inner) rec_o.inner_len = '0;

    rec_valid_o = take_i && (says || res_i.last);
    waiting_d   = says ? '0 : waiting_q;
    if (together && fits && !line_i) begin
      rec_valid_o = 1'b0;
      waiting_d   = both;
    end
    if (together && res_i.kind == RsValue && !rec_o.inner) waiting_d.ending = ending;
    if (res_i.last) waiting_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) waiting_q <= '0;
    else if (take_i) waiting_q <= waiting_d;
  end

endmodule
