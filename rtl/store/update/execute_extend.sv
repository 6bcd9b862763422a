// append and prepend: puts a new item into the log whose value is that of the key's item and that of
// the request's, one behind the other; its place goes into the key's way. A meta command's delete that makes
// an item stale is an append of nothing: the item gets a new place, and so a new CAS unique.
//
// The request's bytes are an item of the log, too, that no way has. The reader reads both, the log joins them, a line
// a clock.
//
// So the reader waits for the appender, which waits for a way of the log's cache, of which requests
// leave it two: the reader may have one of them, not both. So it is given lines of one block only,
// which are all in sets of their own, and the next ones when it has released these. An item whose lines the request
// has anyway is read from there: then it gets both values at once, if the other one lies in one block.
//
// All others wait meanwhile. So a new item of more than ValuePiece bytes is made in pieces: the
// connection's job ends with each of them, and its next one goes on, until the last one puts the item
// into the way. If the key has got another item by then, or another expiry time, it begins anew and
// makes all of it at once, so that it does not begin for ever. So does a datagram's request.
`include "lib_assert.svh"

module execute_extend
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import store_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it.
  input  logic [20:0] item_max_i,
  input  log_range_t  range_i,
  /// The request in check goes into act.
  input  logic        go_i,
  input  op_t         check_i,
  /// Begin with the item of the request in act.
  input  logic        start_i,
  input  op_t         op_i,
  input  item_t       item_i,
  /// Values to read, and their pieces.
  output logic        read_valid_o,
  input  logic        read_ready_i,
  output read_t       read_o,
  input  logic        chunk_valid_i,
  output logic        chunk_ready_o,
  input  chunk_t      chunk_i,  // its bytes go to the log from outside
  /// The new item; its beats are the chunks, the last of them; its key goes with it, and is all told.
  output logic        own_valid_o,
  input  logic        own_ready_i,
  output put_t        own_o,
  output logic        ownb_valid_o,
  input  logic        ownb_ready_i,
  output logic        ownb_last_o,
  output logic        key_tell_o,
  input  logic        key_all_told_i,
  /// Its place.
  input  off_t        own_off_i,
  /// What became of it; write it into the key's way; end with that, when the way back is free.
  output extended_t   extended_o,
  output logic        write_o,
  input  logic        way_ready_i,
  input  logic        out_free_i,
  output logic        done_o
);

  typedef enum logic [3:0] {
    ExIdle,
    ExPiece,   // which bytes
    ExParts,   // and which of them are whose
    ExPut,
    ExBlock,   // how far their block goes
    ExNext,    // how many are in one block
    ExRead,
    ExSecond,  // the second value is read behind the first one
    ExChunks,
    ExKey,     // wait for the rest of a long key
    ExWrite
  } state_e;

  typedef struct packed {
    logic        olds;   // of the item that is there
    off_t        off;
    logic [20:0] start;
    logic [20:0] len;
  } part_t;

  // Below 0 where there is none.
  function automatic logic signed [22:0] room_for(input logic [20:0] vlen, input logic [7:0] klen,
                                                  input logic [22:0] more);
    return 23'(item_max_i) - (23'(vlen) + (23'(klen) + more));
  endfunction

  // Bytes of the lines that are in sets of their own, in both banks.
  localparam int unsigned BlockBits = $clog2(2 * LogSets * 64);
  typedef logic [BlockBits:0] block_t;

  state_e state_q, state_d;
  logic delete, append, whole_q, goes_on_q, more_q, kept_q, fits_q;
  logic [1:0] placed_q;
  logic pinned_q, in_one_q, both_q, first_done_q;  // both_q: both values at once
  logic stored, read_done, part_done, sets_time;
  logic unread_q;  // memory could not read all of it
  msec_t expiry;
  // verilator lint_off UNUSEDSIGNAL
  copy_t copy;  // has bits to spare
  // verilator lint_on UNUSEDSIGNAL
  logic [20:0] len_q, end_q, at_q, border_q;  // border_q: where the second value begins
  logic [21:0] most;
  logic signed [22:0]
      room_q, flags_room_q;  // for the item's value, if it has no flags, or has some
  off_t from_q, off_q, first, second;
  part_t part_q, behind_q;  // to be read
  logic behind_there_q;     // there is something of the second value behind
  logic [20:0] now_q;       // bytes that are read now
  block_t in_block_q;
  logic [BlockBits-1:0] part_at, from_at;
  logic [15:0] lines;
  logic [5:0] lines_q;
  logic [14:0] copied_q;

  assign delete = op_i.req.op == OpDelete;
  assign append = op_i.req.op == OpAppend || delete;
  assign copy   = {op_i.req.expiry, op_i.req.num};
  // What the request leaves of the largest item, before its item is known.
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      room_q       <= room_for(check_i.req.vlen, check_i.req.klen, 23'(ItemOverhead));
      flags_room_q <= room_for(check_i.req.vlen, check_i.req.klen, 23'(ItemOverhead + 4));
    end
    fits_q <= $signed({2'b00, item_i.vlen}) <= (item_i.bare ? room_q : flags_room_q);
    len_q  <= item_i.vlen + op_i.req.vlen;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      ExIdle:    if (start_i) state_d = ExPiece;
      ExPiece:   state_d = ExParts;
      ExParts:   state_d = ExPut;
      ExPut:     if (own_ready_i) state_d = ExRead;
      ExBlock:   state_d = ExNext;
      ExNext:    state_d = ExRead;
      ExRead:    if (read_ready_i) state_d = both_q ? ExSecond : ExChunks;
      ExSecond:  if (read_ready_i) state_d = ExChunks;
      ExChunks:
      if (read_done && both_q) state_d = first_done_q ? ExKey : ExChunks;
      else if (read_done) state_d = (part_done && !behind_there_q) ? ExKey : ExBlock;
      ExKey:     if (more_q || key_all_told_i) state_d = ExWrite;
      ExWrite:   if (done_o) state_d = ExIdle;
      default:   state_d = ExIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= ExIdle;
    else state_q <= state_d;
  end

  // ---------------------------------------------------------------- which bytes, of both values
  assign most = 22'(at_q) + 22'(ValuePiece);
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      ExIdle: begin
        // cont_start: of an item begun before. It is for the key's item as it was then.
        more_q   <= op_i.req.cont_start != '0 && item_i.off == copy.old &&
            (item_i.expiry == item_i.stored_expiry || sets_time);
        whole_q  <= op_i.req.udp || op_i.req.cont_start != '0;
        from_q   <= (op_i.req.cont_start != '0) ? copy.from : op_i.req.off;
        at_q     <= op_i.req.cont_start;
        border_q <= append ? item_i.vlen : op_i.req.vlen;
        pinned_q <= item_i.hit && op_i.found.whole;
      end
      ExPiece: begin
        if (!more_q) at_q <= '0;
        end_q     <= len_q;
        goes_on_q <= 1'b0;
        in_one_q  <= 22'(from_at) + 22'(op_i.req.vlen) <= 22'(2 ** BlockBits);
        if ((more_q || !whole_q) && (more_q ? most : 22'(ValuePiece)) < 22'(len_q)) begin
          end_q     <= more_q ? most[20:0] : 21'(ValuePiece);
          goes_on_q <= 1'b1;
        end
      end
      ExParts: begin
        behind_there_q <= at_q < border_q && end_q > border_q;
        both_q         <= at_q < border_q && end_q > border_q && pinned_q && in_one_q &&
            !goes_on_q && at_q == '0;
        part_q         <= '{olds: append, off: first, start: at_q,
                            len: ((end_q > border_q) ? border_q : end_q) - at_q};
        if (at_q >= border_q)
          part_q <= '{olds: !append, off: second, start: at_q - border_q, len: end_q - at_q};
        behind_q <= '{olds: !append, off: second, start: '0, len: end_q - border_q};
      end
      ExChunks:
      if (read_done) begin
        part_q.start <= part_q.start + now_q;
        part_q.len   <= part_q.len - now_q;
        if (part_done) begin
          part_q         <= behind_q;
          behind_there_q <= 1'b0;
        end
      end
      default: ;
    endcase
    // Of the first one while its item gets its place.
    if (state_q inside {ExPut, ExBlock}) in_block_q <= block_t'(2 ** BlockBits) - block_t'(part_at);
    if (state_q inside {ExPut, ExNext})
      now_q <= (part_q.len > 21'(in_block_q) && !both_q) ? 21'(in_block_q) : part_q.len;
    if (state_q == ExPut) first_done_q <= 1'b0;
    else if (read_done) first_done_q <= 1'b1;
  end

  // ---------------------------------------------------------------- read them
  assign first    = append ? item_i.off : from_q;
  assign second   = append ? from_q : item_i.off;
  assign part_at  = {part_q.off.pos[BlockBits-5:0], 4'h0} + BlockBits'(16) +
      BlockBits'(op_i.req.klen) + BlockBits'(part_q.start);

  assign from_at  = {from_q.pos[BlockBits-5:0], 4'h0} + BlockBits'(16) + BlockBits'(op_i.req.klen);

  part_t asked;
  assign asked        = (state_q == ExSecond) ? behind_q : part_q;
  assign read_valid_o = state_q inside {ExRead, ExSecond};
  always_comb begin
    read_o       = '0;
    read_o.send  = 1'b1;
    read_o.own   = 1'b1;
    read_o.klen  = op_i.req.klen;
    read_o.whole = asked.olds && pinned_q;
    read_o.slots = op_i.slots;
    read_o.off   = asked.off;
    read_o.start = asked.start;
    read_o.len   = (state_q == ExSecond) ? asked.len : now_q;
  end

  assign part_done     = now_q == part_q.len;
  assign read_done     = chunk_valid_i && ownb_ready_i && chunk_i.last;
  assign chunk_ready_o = ownb_ready_i;
  assign ownb_valid_o  = chunk_valid_i;
  assign ownb_last_o   = chunk_i.last && (both_q ? first_done_q : part_done && !behind_there_q);

  // ---------------------------------------------------------------- the new item
  assign lines = lines_of(off_q.pos[1:0], 22'd16 + 22'(op_i.req.klen) + 22'(len_q));
  always_ff @(posedge clk_i) begin
    if (state_q == ExPut) off_q <= own_off_i;
    // Who is valid once it has its place is held from then on, see log_fence. Who is not is read in vain.
    placed_q <= {placed_q[0], state_q == ExPut && own_ready_i};
    if (placed_q[1])
      kept_q <= off_valid(item_i.off, range_i) && (off_valid(from_q, range_i) || delete);
    if (state_q == ExPut) unread_q <= 1'b0;
    else if (chunk_valid_i && ownb_ready_i && chunk_i.bad) unread_q <= 1'b1;
    copied_q <= 15'((end_q - at_q) >> 6);
    lines_q <= (lines > 16'd63) ? 6'd63 : lines[5:0];
  end
  // What is begun anew has in what was begun before the time that was asked for.
  assign sets_time   = delete && op_i.req.meta.sets_time;
  assign expiry      = !sets_time ? item_i.expiry :
      op_i.req.key_stored ? item_i.stored_expiry : op_i.req.expiry;
  assign own_valid_o = state_q == ExPut;
  assign own_o       = '{start: !more_q, own_lines: goes_on_q, ends: 1'b0, conn: '0,
                         udp: op_i.req.udp, db: op_i.req.db, klen: op_i.req.klen,
                         vlen: len_q, flags: item_i.flags,
                         marks: '{coded: delete && item_i.marks.coded, won: 1'b0, stale: delete},
                         chosen: op_i.req.meta.chosen,
                         chosen_no: op_i.req.chosen_no, expiry: expiry,
                         off: op_i.req.off, done: at_q};
  assign key_tell_o  = !more_q &&
      state_q inside {ExBlock, ExNext, ExRead, ExSecond, ExChunks, ExKey};

  assign stored     = off_q.lap != '0 && kept_q && !unread_q;
  assign extended_o = '{
          fits: fits_q,
          reply: (off_q.lap == '0) ? RpNoMemory : !stored ? RpNotStored : goes_on_q ? RpNone
                                                                                    : RpStored,
          stored: state_q == ExWrite && stored && !goes_on_q,
          goes_on: state_q == ExWrite && stored && goes_on_q,
          off: off_q,
          lines: lines_q,
          done: end_q,
          copied: copied_q,
          copy: '{zero: '0, from: from_q, old: item_i.off}
      };
  // The head has come to neither value before it was read.
  `ASSERT(Held, !(state_q == ExChunks && chunk_valid_i && kept_q) || (off_intact(
          item_i.off, range_i) && (delete || off_intact(from_q, range_i))))
  assign write_o    = state_q == ExWrite && stored && !goes_on_q && out_free_i;
  assign done_o     = state_q == ExWrite && out_free_i && (!stored || goes_on_q || way_ready_i);

endmodule
