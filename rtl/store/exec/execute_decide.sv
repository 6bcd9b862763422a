// What a request does, and what it replies. Combinational but for what is compared with CAS uniques
// and expiries: that is known when the item stands for a clock.
module execute_decide
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  log_range_t range_i,
  input  op_t        op_i,
  input  item_t      item_i,
  input  extended_t  extended_i,
  input  sum_t       sum_i,
  /// It stands for a clock, since what is known by then matters; of any other it is still what was compared
  /// for the request before it.
  input  logic       compares_i,
  output decision_t  decision_o
);

  logic get, touch, number, place_ok, tries, stores, clears, binary, meta, resp;
  logic grows, grows_q, grown;
  logic other, may_be_other_q, same_q, older_q, due_q, soon_q, creates, fails, expires;
  logic vivifies, changes, hollow, remakes, wins;
  msec_t ends;
  resp_when_t only;
  logic [63:0] unique_no, wanted;
  logic [1:0] differs_q;  // in either half
  reply_e reply;
  logic tells, was, names;

  assign get       = op_i.req.op == OpGet;
  assign number    = op_i.req.op inside {OpIncr, OpDecr};
  assign touch     = (op_i.req.op == OpTouch && (due_q || !resp)) ||
                     (get && op_i.req.touch && !fails);
  assign place_ok  = op_i.req.off.lap != '0 && (!op_i.req.key_stored || item_i.place_valid);
  assign grows     = (is_extend(op_i.req.op) && place_ok && item_i.alive && !other &&
                      extended_i.fits) || (remakes && !hollow);
  assign unique_no = item_i.chosen ? item_i.chosen_no
                                   : off_unique(item_i.off, range_i.lap, range_i.last_lap);
  assign binary    = op_i.req.binary.is;
  assign meta      = op_i.req.meta.is;
  // Binary and meta delete, append, prepend, incr and decr may be for one item only; md for one whose CAS unique
  // is 0.
  assign wanted    = number ? op_i.req.unique_no : op_i.req.num;
  assign names     = meta && op_i.req.op == OpDelete && op_i.req.touch;
  always_ff @(posedge clk_i) begin
    may_be_other_q <= (binary || meta) && (wanted != '0 || names) && op_i.req.cont_start == '0 &&
        item_i.alive;
    differs_q      <= {unique_no[63:32] != wanted[63:32], unique_no[31:0] != wanted[31:0]};
    same_q  <= unique_no == op_i.req.num && op_i.req.num != '0;
    older_q <= op_i.req.meta.stale && op_i.req.num != '0 && op_i.req.num < unique_no;
  end
  assign other = may_be_other_q && differs_q != '0 && compares_i;
  // Who may grow gets its steps before it replies.
  always_ff @(posedge clk_i) grows_q <= grows;
  assign grown     = grows_q && (is_extend(op_i.req.op) || changes);
  // Redis counts from 0 where there is nothing, and appends to nothing.
  assign resp      = op_i.req.resp.is;
  assign creates   = number && (resp || ((binary || meta) && op_i.req.touch)) && !item_i.alive;

  // Meta: what is missing may be made by a get. A deletion may leave an item that is stale, which has another CAS
  // unique then, or has no value: it is made anew, by execute_number if it has none.
  assign vivifies  = get && op_i.req.meta.vivifies && !item_i.alive;
  assign changes   = op_i.req.op == OpDelete && (op_i.req.meta.stale || op_i.req.meta.voids);
  assign hollow    = op_i.req.meta.voids || item_i.empty;
  assign remakes   = changes && item_i.alive && !other &&
      (!op_i.req.key_stored || item_i.place_valid);
  // Who finds it stale, or about to expire, is to make it anew, if nobody is yet.
  assign wins      = get && meta && item_i.alive &&
      (item_i.claims || (soon_q && compares_i && !item_i.marks.won));
  assign ends     = op_i.req.meta.r_late ? op_i.req.expiry : item_i.expiry;
  always_ff @(posedge clk_i)
    soon_q <= op_i.req.meta.recaches && ends != '0 && ends < op_i.req.unique_no[47:0];

  // Of Redis' EXPIRE it depends on the item whether it sets a time; GETEX's time is looked at only if there is a
  // value.
  assign fails   = resp && op_i.req.reply != RpNone && item_i.alive;
  assign only    = resp_when_t'(op_i.req.flags[3:0]);
  assign expires = item_i.expiry != '0;
  always_ff @(posedge clk_i)
    due_q <= expires ? !only.nx && (!only.gt || op_i.req.expiry > item_i.expiry) &&
                       (!only.lt || op_i.req.expiry < item_i.expiry)
                     : !only.xx && !only.gt;

  always_comb begin
    // What a SET and its relatives do.
    tries = 1'b0;
    reply = RpNone;
    unique case (op_i.req.op)
      OpSet:     tries = 1'b1;
      OpAdd: begin
        tries = !item_i.alive;
        if (item_i.alive) reply = binary ? RpExists : RpNotStored;
      end
      OpReplace: begin
        tries = item_i.alive;
        if (!item_i.alive) reply = binary ? RpNotFound : RpNotStored;
      end
      OpCas: begin
        tries = item_i.alive && (same_q || older_q);
        if (!tries) reply = item_i.alive ? RpExists : RpNotFound;
      end
      OpAppend, OpPrepend: begin
        tries = (resp || (meta && op_i.req.touch)) && !item_i.alive && op_i.req.cont_start == '0;
        reply = !place_ok ? RpNoMemory : grown ? extended_i.reply :
            other ? RpExists : RpNotStored;
        if (resp && reply == RpNotStored) reply = extended_i.fits ? RpNoMemory : RpTooLarge;
      end
      OpDelete: begin
        reply = other ? RpExists : item_i.alive ? RpDeleted : RpNotFound;
        // What is made anew, it is known later whether; an item that is copied may fall out of the log meanwhile.
        if (grown)
          reply = (extended_i.reply == RpStored) ? RpDeleted :
              (extended_i.reply == RpNotStored) ? RpNotFound : extended_i.reply;
        else if (remakes || (op_i.req.key_stored && !item_i.place_valid)) reply = RpNoMemory;
      end
      OpTouch:   reply = (item_i.alive && (due_q || !resp)) ? RpTouched : RpNotFound;
      // An empty value is no number, whosever it is.
      OpIncr, OpDecr:
      if (resp) reply = sum_i.reply;
      else if (!item_i.alive || sum_i.bad) reply = RpNotFound;
      else reply = (other && !item_i.empty) ? RpExists : RpNonNumeric;
      OpGet:
      if (meta && item_i.alive) reply = RpFound;
      else
        reply = fails ? op_i.req.reply :
            (resp && item_i.alive && op_i.req.resp.form == RfType) ? RpOk :
            (binary || resp || meta) ? RpNotFound : op_i.req.last_key ? RpEnd : RpNone;
      OpFlush:   reply = RpOk;
      OpVersion: reply = RpStored;
      OpReply, OpTooBig: reply = op_i.req.reply;
      default:   reply = RpNone;
    endcase
    if (tries) reply = place_ok ? RpStored : RpNoMemory;
    // Nobody knows whether it was there.
    if (item_i.unread) reply = RpNoMemory;
  end

  // Redis: a get may tell something else than the value; a SET or a deletion may tell what was
  // there. So may mg without v.
  assign tells  = (resp && op_i.req.resp.form != RfBulk) || (meta && !op_i.req.meta.value);
  assign was    = resp && op_i.req.resp.form == RfBulk &&
      (op_i.req.op inside {OpAdd, OpDelete} || (op_i.req.op inside {OpSet, OpReplace} && place_ok));
  assign stores = tries && place_ok;
  // The key's way is cleared: delete, and the old item of a SET that could not be stored.
  assign clears = item_i.found &&
      ((op_i.req.op == OpDelete && item_i.alive && !other && !changes) ||
       op_i.req.op == OpTooBig || (op_i.req.op == OpSet && !place_ok));

  assign decision_o = '{
          get: get,
          touch: touch,
          wins: wins,
          patches: (touch && item_i.alive) || wins,
          number: number || vivifies || (changes && hollow),
          place_ok: place_ok,
          tries: tries,
          stores: stores,
          clears: clears,
          writes: item_i.found && (stores || clears),
          empties: (op_i.req.op == OpDelete && !changes) || op_i.req.op == OpTooBig ||
              (!place_ok && !number && !vivifies && !changes),
          inserts: stores && !item_i.found,
          sums: creates || vivifies || (remakes && hollow) ||
              (number && item_i.alive && (!other || item_i.empty)),
          grows: grows,
          grown: grown,
          sends: (item_i.alive && (was || (get && !tells && !fails))) ||
              (op_i.req.op == OpCont && item_i.place_valid) || op_i.req.op == OpWalk,
          keeps: stores && ((resp && op_i.req.touch && item_i.alive && expires) ||
                            (op_i.req.op == OpCas && older_q)),
          reply: reply,
          unique_no: unique_no
      };

endmodule
