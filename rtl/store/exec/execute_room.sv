// The room for a job's replies, and the cut: a record whose reply might not fit into the transmit
// ring, and everything behind it in its job, is skipped without effect; the context of the last
// record executed goes back. A value is split so that its pieces fit.
//
// A get that misses what another server may have cuts, too, and is not executed itself: from it on all of the job is for
// host software. If nothing of the job was executed, nothing goes back but that. Its job has an OpEnd.
//
// A job may not copy for ever either: behind 64 KiB of append and prepend it is cut, too.
//
// What a record spends is counted behind it, within two clocks. The next one need not wait for that
// where there is plenty of room, or enough and both say little. Room is counted less what any reply
// may need: what is left then is a value's limit, and of it a few bits say the rest.
module execute_room
  import request_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import store_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The request in check goes into act.
  input  logic        go_i,
  input  op_t         check_i,
  input  logic        upstream_i,
  /// The request in act, if there is one, and its item. It ends, sending a value and saying this, in this context.
  input  op_t         op_i,
  input  item_t       item_i,
  input  logic        valid_i,
  input  logic        done_i,
  input  logic        sends_i,
  input  logic        misses_i,
  input  res_e        kind_i,
  input  reply_e      reply_i,
  input  ctx_t        ctx_i,
  /// Lines that it has copied.
  input  logic [14:0] copied_i,
  output room_t       room_o,
  /// Context after the last record executed.
  output ctx_t        last_o
);

  // So much room that two records cannot use it up: what is left need not be known to the byte. For
  // two that say little, less is enough.
  localparam logic [16:0] Plenty = 17'(2 * ValuePiece + 2 * ReplyMax);
  localparam logic [16:0] Enough = 17'(4 * ReplyMax);

  // No reply is longer than this.
  function automatic logic [16:0] reply_bytes(input reply_e reply);
    case (reply)
      RpNone:                               return 17'd0;
      RpStored, RpExists, RpEnd:            return 17'd8;
      RpNotStored, RpNotFound, RpDeleted, RpOk,
      RpTouched:                            return 17'd12;
      default:                              return 17'd80;
    endcase
  endfunction
  // Binary: a header and a text; a miss may have the key, too. Meta commands: what stands in a line besides a
  // status and the key's bytes, at most, with what base64 adds to them.
  localparam logic [8:0] BinaryMax = 9'd80;
  localparam logic [8:0] MetaMax = 9'd192;

  typedef logic signed [17:0] spare_t;

  // Value bytes to send now: as many as a record may send and the room allows. The limit of the
  // next record is computed with the room it finds.
  function automatic logic [13:0] limit_of(input spare_t spare);
    if (spare[17]) return '0;
    return (spare[16:13] != '0) ? 14'(ValuePiece) : spare[13:0];  // 8192, a power of two
  endfunction
  // Of 512 bytes, so that few bits are compared.
  function automatic logic has(input spare_t spare, input logic [16:0] room);
    return !spare[17] && spare[16:9] >= room[16:9];
  endfunction

  spare_t spare_q, spare_left, spare_first, spare_first_q;
  logic [16:0] spent, value_q;
  piece_t host_len_q;
  logic [8:0] line_q;  // a reply of more than a few bytes
  logic binary_q, meta_q, much_q;  // much_q: of a value, perhaps 1 KiB or more
  res_e kind_q;
  reply_e reply_q;
  logic [13:0] limit_q, limit_first_q, limit;
  logic [20:0] left_cont, left_cont_q, left, piece;
  logic [8:0] overhead_q, overhead;  // of a VALUE line and what ends the value
  logic plenty_q, plenty_first_q, enough_q, enough_first_q, little, brief_q, goes_on_q;
  logic [10:0] copied_q, copied;  // lines; 1024: so many or more
  logic cut_q, split_q, low_q, spending_q, skip, cuts;  // low_q: no room for replies
  logic may_skip_q, may_cut_q;
  logic missed_q, again_q;  // a get of this job missed; it was the first record
  ctx_t last_q;

  // That a get misses is known too late to keep its context out of last_q: of the context before it this is kept, all
  // that differs between two gets and that the next job looks at.
  typedef struct packed {
    logic [31:0] rx_ptr;
    mode_e       mode;
    logic        cas_out;
    logic [31:0] left;
  } before_t;
  before_t before_q;
  logic fresh_q;  // the request in act has come

  assign skip = may_skip_q && (cut_q || low_q);
  always_comb begin
    spent = '0;
    unique case (kind_q)
      RsReply:    spent = (meta_q || binary_q) ? 17'(line_q) : reply_bytes(reply_q);
      RsValue:    spent = value_q;
      RsNumber:   spent = meta_q ? 17'(line_q) : 17'd32;
      RsHostData: spent = 17'(host_len_q);
      default:    ;
    endcase
  end
  assign spare_left  = spare_q - spare_t'(spent);
  assign spare_first = spare_t'(check_i.req.tx_space) - spare_t'(ReplyMax);
  assign left_cont   = check_i.req.vlen - check_i.req.cont_start;
  assign left        = goes_on_q ? left_cont_q : item_i.vlen;
  assign limit       = op_i.req.first ? limit_first_q : limit_q;
  assign cuts        = may_cut_q && left > 21'(limit);
  assign piece       = cuts ? 21'(limit) : left;
  // At most so many digits.
  assign overhead    = overhead_q + (item_i.bare ? 9'd1 : 9'd10) +
      (item_i.from_1024 ? 9'd7 : item_i.from_16 ? 9'd4 : 9'd2);
  // Of the prefetched item: who takes steps has waited long enough.
  assign little      = enough_q && !much_q &&
      (brief_q || (!goes_on_q && item_i.fetched_brief));

  assign room_o = '{
          skip: skip,
          split: cut_q || split_q,
          settled: !spending_q || plenty_q || little || !may_skip_q,
          whole: !cuts,
          limit: limit,
          piece: piece,
          copies: copied[10:4] != '0,
          missed: missed_q,
          again: again_q
      };
  always_comb begin
    last_o = last_q;
    if (missed_q) {last_o.rx_ptr, last_o.mode, last_o.cas_out, last_o.num[31:0]} = before_q;
  end
  always_ff @(posedge clk_i) begin
    fresh_q <= go_i;
    if (fresh_q && !missed_q)
      before_q <= '{
          rx_ptr: last_q.rx_ptr,
          mode: last_q.mode,
          cas_out: last_q.cas_out,
          left: last_q.num[31:0]
      };
  end

  always_ff @(posedge clk_i) begin
    if (go_i) begin
      may_skip_q     <= !(check_i.req.udp && !upstream_i) && !check_i.req.first &&
          check_i.req.op != OpEnd;
      // It tells no value, or the rest of one that is short.
      brief_q        <= (check_i.req.op == OpCont) ? left_cont[20:9] == '0 :
          !(check_i.req.op == OpGet || (check_i.req.resp.is && check_i.req.resp.form == RfBulk));
      goes_on_q      <= check_i.req.op == OpCont;
      // A walk's header and key are no more than any reply may need.
      may_cut_q      <= !check_i.req.udp && check_i.req.op != OpWalk;
      left_cont_q    <= left_cont;
      limit_first_q  <= limit_of(spare_first);
      spare_first_q  <= spare_first;
      plenty_first_q <= has(spare_first, Plenty);
      enough_first_q <= has(spare_first, Enough);
      // Without flags and length: their digits are known from the item.
      overhead_q     <= 9'(check_i.req.klen) + (check_i.req.cas_out ? 9'd33 : 9'd12) +
          (check_i.req.last_key ? 9'd5 : 9'd0) + (check_i.req.meta.is ? 9'd160 : 9'd0);
    end
    // One clock for what a record spends, one for what is left then: `settled`.
    if (spending_q) begin
      spare_q  <= spare_left;
      limit_q  <= limit_of(spare_left);
      low_q    <= spare_left[17] && !op_i.req.udp;
      plenty_q <= has(spare_left, Plenty);
      enough_q <= has(spare_left, Enough);
    end
    spending_q <= rst_ni && done_i && !skip;
    kind_q     <= kind_i;
    reply_q    <= reply_i;
    value_q    <= piece[16:0] + 17'(overhead);
    much_q     <= sends_i && left[20:10] != '0;
    host_len_q <= op_i.req.host_len;
    meta_q     <= op_i.req.meta.is;
    binary_q   <= op_i.req.binary.is;
    line_q     <= (op_i.req.meta.is ? MetaMax : BinaryMax) + 9'(op_i.req.klen);
    if (done_i && op_i.req.first) begin
      spare_q  <= spare_first_q;
      plenty_q <= plenty_first_q;
      enough_q <= enough_first_q;
      limit_q  <= 14'(ValuePiece);
      low_q    <= 1'b0;
    end
  end

  always_comb begin
    copied = (op_i.req.first ? 11'd0 : copied_q) + 11'(copied_i[9:0]);
    if (copied[10] || copied_i[14:10] != '0) copied = 11'd1024;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cut_q    <= 1'b0;
      split_q  <= 1'b0;
      missed_q <= 1'b0;
      again_q  <= 1'b0;
    end else if (done_i) begin
      if (op_i.req.op == OpEnd || op_i.req.last) begin
        cut_q    <= 1'b0;
        split_q  <= 1'b0;
        missed_q <= 1'b0;
        again_q  <= 1'b0;
      end else if (skip) begin
        cut_q <= 1'b1;
      end else begin
        // A value that goes on, or cannot: nothing more in this job.
        if (ctx_i.cont) begin
          cut_q   <= 1'b1;
          split_q <= 1'b1;
        end
        if (misses_i) begin
          cut_q    <= 1'b1;
          missed_q <= 1'b1;
          again_q  <= op_i.req.first;
        end
        if (ctx_i.mode == MdAbort || (copied[10] && !op_i.req.udp)) cut_q <= 1'b1;
      end
    end
    // That it ends is known last. Before, nobody asks for the last record's.
    if (valid_i && room_o.settled && !skip && op_i.req.op != OpEnd) last_q <= ctx_i;
    if (done_i) copied_q <= copied;
  end

endmodule
