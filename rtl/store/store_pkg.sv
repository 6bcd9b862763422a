// The store's memory formats and settings.
package store_pkg;
  import wirekv_pkg::*;
  import request_pkg::*;

  /// Settings written by the host before the card is enabled.
  typedef struct packed {
    laddr_t           index_base;   // 64-byte buckets
    logic [4:0]       index_bits;   // log2 of the number of buckets, 4..27
    laddr_t           log_base;
    logic [25:0]      log_lines;    // size of the log
    logic [20:0]      item_max;     // largest item as memcached counts it (-I)
    logic             one_way;      // entries move from even buckets to odd ones only
    logic             upstream;     // the items are copies of another server's, see execute_room
    logic [31:0][31:0] nh_key;      // hash: NH key words
    logic [1:0][63:0] mix_key;      // hash: odd multipliers of the finaliser
  } store_cfg_t;

  /// Epochs of the store, see execute_epoch. A bucket of another one than these two is empty.
  typedef logic [47:0] epoch_t;
  typedef struct packed {
    epoch_t now;
    epoch_t last;  // or again `now`
  } epochs_t;

  /// A way of a bucket. lap == 0 marks a free way: the log starts at lap 1, and laps skip 0.
  typedef struct packed {
    logic [13:0] tag;
    off_t        off;    // 36 bits
    logic [5:0]  lines;  // lines the item touches; 63: that many or more
  } way_t;

  /// A bucket: ways are byte-aligned so that one of them can be written alone by byte strobes.
  /// Byte 7w..7w+6 = way w, bytes 56..57 = use counts (2 bits a way), 58..63 = epoch.
  typedef struct packed {
    epoch_t          epoch;
    logic [7:0][1:0] uses;
    way_t [7:0]      ways;
  } bucket_t;

  /// A bucket that memory could not read is of no epoch, and so is empty; who writes to it first writes all of it.
  localparam bucket_t BadBucket = '{epoch: '1, default: '0};
  /// All of it is written: a lane of each way, of the use counts and of the epoch.
  localparam strb_t BucketAnew = 64'h8102_0408_1020_4081;

  /// Low bits of a full lap, as the log holds them. No lap has 0 there.
  localparam int unsigned LapBits = 10;
  typedef logic [LapBits-1:0] low_lap_t;

  /// Item header, the first 16 bytes of an item; key, then value follow without a gap. A CAS unique that a client
  /// chose stands in the 16 bytes in front of it, in the same line.
  typedef struct packed {
    logic        chosen;   // there is one
    logic        lines;    // the item has its lines for itself: what follows it begins a line
    low_lap_t    lap;      // in which it was written: what was given up as memory failed is not
                           // found again. 0: it could not be made, and no key has it
    db_t         db;
    msec_t       expiry;   // 0 never
    logic [31:0] flags;
    marks_t      marks;
    logic [20:0] vlen;
    logic [7:0]  klen;     // byte 0
  } head_t;

  localparam int unsigned HeadBytes = 16;

  /// The log is items and gaps, one behind the other, so that it can be read by its headers. No item has a key of no
  /// bytes: a header with one is a mark, which says in `vlen` of what.
  localparam int unsigned MarkGap = 1;  // nothing, of so many units of 16 bytes as `flags` says
  localparam int unsigned MarkChosen = 2;  // the upper 8 bytes are an item's chosen CAS unique

  /// Line of a cache's region: a bank's bucket, or a line of the log.
  typedef logic [25:0] line_no_t;

  /// A line to acquire. A fresh one is not read from memory: it will be written from its beginning on. A hint
  /// only has it fetched.
  typedef struct packed {
    line_no_t line;
    logic     fresh;
    logic     hint;
  } line_acq_t;

  /// What a memory port answers: it could not read a line; it has not taken a write, or has taken one with which
  /// its line is begun anew, so that what was there before does not matter.
  typedef struct packed {
    logic     rd_bad;
    line_no_t rd_line;
    logic     wr_bad;
    logic     wr_anew;
    line_no_t wr_line;
  } mem_said_t;

  /// What is put into the log is numbered. Numbers are compared by their distance, which is less than half of
  /// their range: while a request waits for execute, there are taken the items of up to 320 requests behind it in the
  /// store and of 512 that are not yet there, and those that execute makes for up to 320 in front of it.
  localparam int unsigned SerialBits = 12;
  typedef logic [SerialBits-1:0] serial_t;

  /// Number `count` is `number`, or one after it.
  function automatic logic reached(input serial_t count, input serial_t number);
    serial_t distance;
    distance = count - number;
    return !distance[SerialBits-1];
  endfunction

  /// Line caches: sets, ways, and the classes that pin lines in them.
  localparam int unsigned IndexSets = config_pkg::Config.index_sets;
  localparam int unsigned IndexWays = 8;
  localparam int unsigned LogSets = config_pkg::Config.log_sets;  // in each of its two banks
  localparam int unsigned LogWays = 8;
  localparam int unsigned LogClasses = 4;
  localparam int unsigned IndexSlotW = $clog2(IndexSets * IndexWays);
  localparam int unsigned LogSlotW = $clog2(2 * LogSets * LogWays);
  localparam int unsigned ClassRequest = 0;  // lines of the requests in flight
  localparam int unsigned ClassExecute = 1;  // lines that execute finds missing at the last moment
  localparam int unsigned ClassReader = 2;  // log only: lines of long values
  localparam int unsigned ClassAppend = 3;  // log only: lines being written
  // Ways of the index' caches, by class, see line_cache. Requests wait for execute, so they must not
  // hold what it needs.
  localparam logic [1:0][IndexWays-1:0] IndexOwnWays = {8'b1000_0000, 8'b0111_1111};
  localparam logic [1:0][IndexWays-1:0] IndexAvoid = {8'b0000_0000, 8'b1000_0000};
  // Hints are for requests on their way to execute.
  localparam logic [IndexWays-1:0] IndexHintWays = IndexOwnWays[0];
  // Ways of the log's cache, likewise: requests wait for execute, which waits for the
  // reader and the appender; so requests must not hold what those need, nor execute what the reader needs.
  localparam logic [LogClasses-1:0][LogWays-1:0] LogOwnWays = {
    8'b1100_0111, 8'b0011_0000, 8'b0000_1000, 8'b1100_0111
  };
  localparam logic [LogClasses-1:0][LogWays-1:0] LogAvoid = {
    8'b0000_0000, 8'b0000_0000, 8'b0011_0000, 8'b0011_1000
  };
  localparam logic [LogWays-1:0] LogSpare = 8'b1100_0111;
  typedef logic [IndexSlotW-1:0] index_slot_t;  // {set, way}
  typedef logic [LogSlotW-1:0] log_slot_t;  // the set's lowest bit is the bank
  typedef logic [LogSlotW-2:0] bank_slot_t;  // without the bank
  typedef logic [1:0][3:0] log_rel_t;  // lines to release, or to acquire, in each bank
  localparam int unsigned LogWayW = $clog2(LogWays);
  function automatic log_slot_t in_bank(input bank_slot_t slot, input logic bank);
    return {slot[LogSlotW-2:LogWayW], bank, slot[LogWayW-1:0]};
  endfunction
  /// Of `count` lines, the first of them in `bank`: they are in the banks by turns.
  function automatic log_rel_t in_banks(input logic [2:0] count, input logic bank);
    logic [2:0] half;
    // By a table: no carry chain.
    unique case (count)
      3'd0:             half = 3'd0;
      3'd1, 3'd2:       half = 3'd1;
      3'd3, 3'd4:       half = 3'd2;
      3'd5, 3'd6:       half = 3'd3;
      default:          half = 3'd4;
    endcase
    in_banks[bank]  = 4'(half);
    in_banks[!bank] = 4'(count[2:1]);
  endfunction

  /// Buckets that a walk has on their way: as many as its class of the index' caches may wait for.
  localparam int unsigned WalkAhead = 32;

  /// Lines of an item that are fetched before its request is executed.
  localparam int unsigned PrefetchLines = 6;

  /// Of a bucket without room the entries, from way 0 on, whose other buckets are fetched ahead.
  localparam int unsigned AheadWays = 4;

  /// What of the log is valid: [tail, head), the tail in the head's lap or in the one before.
  typedef struct packed {
    logic [35:0] lap;       // the head's lap
    logic [35:0] last_lap;  // the lap before (laps with low byte 0 are left out)
    logic [27:0] head;
    logic [27:0] tail;
    logic        tail_lap;  // the tail is in the head's lap
  } log_range_t;

  /// An item, or a part of one, that has its place in the log.
  typedef struct packed {
    logic        drop;   // refused, or already overtaken: the data go nowhere
    logic        mark;   // a header alone, of a gap: no data come
    logic        own;
    logic        start;
    logic        parts;  // of an item that comes in parts
    head_t       head;
    logic [63:0] chosen_no;
    line_no_t    line;   // where the first byte goes
    logic [5:0]  lane;
  } log_piece_t;

  /// A line of one, with the bytes in strb; last: of the piece, unless that is a mark.
  typedef struct packed {
    logic     last;
    line_no_t line;
    line_t    data;
    strb_t    strb;
  } log_line_t;

  function automatic logic off_valid(input off_t off, input log_range_t range);
    return off_stands(off_sight(off, range));
  endfunction
  /// The same in two steps, for where a place comes late: what comparing it says, and what follows from that.
  typedef struct packed {
    logic any;       // a lap at all
    logic now;       // it is the present one
    logic last;      // it is the one before
    logic below;     // below the head
    logic above;     // not below the tail
    logic tail_lap;  // the range's
  } off_sight_t;
  function automatic off_sight_t off_sight(input off_t off, input log_range_t range);
    return
    '{
        any: off.lap != '0,
        now: off.lap == range.lap[7:0],
        last: off.lap == range.last_lap[7:0],
        below: off.pos < range.head,
        above: off.pos >= range.tail,
        tail_lap: range.tail_lap
    }
    ;
  endfunction
  function automatic logic off_stands(input off_sight_t seen);
    return seen.any && (seen.now ? seen.below && (!seen.tail_lap || seen.above)
                                 : seen.last && !seen.tail_lap && seen.above);
  endfunction

  /// The head has not come to a place since it was valid: nothing was written over its item. Not known of laps further
  /// back: where memory failed the log goes on in a later one.
  function automatic logic off_intact(input off_t off, input log_range_t range);
    if (off.lap == range.lap[7:0]) return off.pos < range.head;
    return off.lap != range.last_lap[7:0] || off.pos >= range.head;
  endfunction

  /// CAS unique of the item at a valid place: its lap is the present one or the one before, which two bits tell
  /// apart, low bytes of 0 left out.
  function automatic logic [63:0] off_unique(input off_t off, input logic [35:0] lap,
                                             input logic [35:0] last_lap);
    return {(off.lap[1:0] == lap[1:0]) ? lap : last_lap, off.pos};
  endfunction

  /// Lines that `bytes` bytes from unit `unit` of a line on touch.
  function automatic logic [15:0] lines_of(input logic [1:0] unit, input logic [21:0] bytes);
    return 16'((23'({unit, 4'h0}) + 23'(bytes) + 23'd63) >> 6);
  endfunction

  /// Lines that the header of an item and what is behind it touch, a key and a few bytes: 6 at most.
  function automatic logic [2:0] key_lines(input logic [1:0] unit, input logic [8:0] bytes);
    return 3'(lines_of(unit, 22'(HeadBytes) + 22'(bytes)));
  endfunction

  /// Of a key's buckets so much as tells them apart: two that are alike only cost clocks.
  typedef logic [1:0][11:0] low_lines_t;
  function automatic low_lines_t low_lines(input line_no_t [1:0] line);
    for (int b = 0; b < 2; b++) low_lines[b] = line[b][11:0];
  endfunction

  /// The bits that number a bank's buckets, of 2 to the power of `index_bits` in both banks.
  function automatic line_no_t line_mask(input logic [4:0] index_bits);
    return ~({26{1'b1}} << (index_bits - 5'd1));
  endfunction

  /// The two buckets of an entry are f(tag) apart, and f is odd: one of them is even. This is f
  /// without its lowest bit: the distance of their lines in the two banks.
  function automatic line_no_t other_line(input logic [13:0] tag);
    return {tag[12:0], tag[13:1]};
  endfunction

  /// A request in lookup.
  typedef struct packed {
    logic           lookup;
    logic           store;
    logic           insert;
    logic           brief;   // of its item nobody wants more than header and key
    serial_t        stamp;
    logic [63:0]    hash;
    line_no_t [1:0] line;    // bucket in bank 0 (even) and bank 1 (odd)
    logic [7:0]     klen;
    logic [20:0]    vlen;
    off_t           off;
  } look_t;

  /// A request on its way to execute; what the index said so far.
  typedef struct packed {
    logic                               lookup;
    logic [63:0]                        hash;
    line_no_t [1:0]                     line;    // bucket in bank 0 (even) and bank 1 (odd)
    index_slot_t [1:0]                  slot;
    logic                               cand;    // an item was prefetched
    off_t                               off;
    logic [2:0]                         count;   // its lines that were acquired
    logic                               whole;   // these are all
  } found_t;

  /// Bytes of an item to send, or only lines to release.
  typedef struct packed {
    logic                               send;
    logic                               own;      // to execute, not to a client
    logic                               whole;    // every line needed is pinned already, `slots`
    logic [2:0]                         count;    // pinned lines, to be released
    logic                               bank;     // of the first of them
    bank_slot_t [PrefetchLines-1:0]     slots;   // in the banks by turns
    off_t                               off;
    logic [7:0]                         klen;     // bytes before the value
    logic [20:0]                        start;    // value bytes left out
    logic [20:0]                        len;      // value bytes to send
  } read_t;

  function automatic logic is_store(input op_e op);
    return op inside {OpSet, OpAdd, OpReplace, OpCas, OpAppend, OpPrepend};
  endfunction

  function automatic logic is_extend(input op_e op);
    return op inside {OpAppend, OpPrepend};
  endfunction

  /// A request in execute.
  typedef struct packed {
    req_t                           req;
    found_t                         found;
    bank_slot_t [PrefetchLines-1:0] slots;     // of its item's lines, in the banks by turns
    logic                           keyed;     // its key comes in the key stream
    logic [2:0]                     lines;     // of its item, that check compares
    logic                           alone;     // must not overlap with the next request
  } op_t;

  /// What moves in execute's stages in a clock.
  typedef struct packed {
    logic fetch;    // the next request, into check, with a line of its item
    logic further;  // a further line of the one in check
    logic go;       // it was compared: act takes it, and what check found
  } moves_t;

  /// What a SET writes without keeping the next requests out: the place of a way.
  typedef struct packed {
    logic           valid;
    line_no_t [1:0] line;  // buckets of its key
    logic [15:0]    way;   // one of their ways
    off_t           off;
  } commit_t;

  /// What check found of a request.
  typedef struct packed {
    logic [15:0]      tags;         // ways with the key's tag
    logic [15:0]      offs;         // of these: with the place of the prefetched item
    logic             new_key;      // no way has the key's tag
    logic             hit;          // the prefetched item is the key's
    logic             decided;      // so it is, or there is none
    logic             place_valid;  // the log still has the item that the record names
    logic             unexpired;
    logic [31:0]      flags;        // of the item
    msec_t            expiry;
    marks_t           marks;
    logic             claims;       // it is stale, and nobody makes it anew
    logic             chosen;       // its CAS unique is this one
    logic [63:0]      chosen_no;
    logic [20:0]      vlen;
    logic [7:0]       klen;
    logic [15:0][1:0] uses;         // use counts of the two buckets
    logic             renewed;      // both are of the present epoch
    logic             renewed_hit;  // and `hit`
    logic             bank;         // of the way of the prefetched item
    logic             from_1024;    // its value has 1,024 bytes or more
    logic             from_16;      // of less than these it has 16 or more
    logic             bare;         // it has no flags
  } checked_t;

  /// The item that a request is about: the prefetched one, or the one that the steps found.
  typedef struct packed {
    logic             decided;      // by check: no steps are needed
    logic             hit;          // there is one, and check has found it
    logic             new_key;      // check has found that there is none
    logic             found;        // there is one
    logic             alive;        // and it has not expired
    logic [15:0]      way;
    logic             bank;         // of the way
    logic [15:0]      fetched_way;  // of the prefetched item, whichever was found
    logic             fetched_bank;
    logic             fetched_brief;
    off_t             off;
    log_slot_t        slot;         // of its first line
    logic             place_valid;  // as in checked_t
    logic             unread;       // its key stands in the log and could not be read
    logic [31:0]      flags;
    logic             bare;         // as in checked_t
    msec_t            expiry;
    marks_t           marks;
    logic             claims;
    logic             chosen;
    logic [63:0]      chosen_no;
    logic [20:0]      vlen;
    logic             from_1024;    // as in checked_t
    logic             from_16;
    logic             empty;        // vlen is 0
    logic [15:0][1:0] uses;
    logic             renewed;      // as in checked_t
    logic             renewed_hit;
    msec_t            stored_expiry;  // of the item that holds the request's key
  } item_t;

  /// What a request does.
  typedef struct packed {
    logic        get;
    logic        touch;       // changes the expiry of what it finds
    logic        wins;        // meta get: marks it as being made anew
    logic        patches;     // either: its header changes where it stands
    logic        number;      // what goes into a way, if anything, is execute_number's
    logic        place_ok;    // the log has the item to be stored
    logic        tries;       // its condition holds: it stores, if place_ok
    logic        stores;
    logic        clears;      // the key's way, instead
    logic        writes;      // the key's way, either way
    logic        empties;     // what is written into a way, if anything, is nothing
    logic        inserts;     // stores under a key that has no way
    logic        sums;        // makes a number, or an item without a value: execute_number
    logic        grows;       // append, prepend to an item that is there; a copy that is stale
    logic        grown;       // the same, for what it leaves: right once its item stands a clock
    logic        sends;       // value bytes
    logic        keeps;       // stores, and the new item is to have the old one's expiry
    reply_e      reply;
    logic [63:0] unique_no;   // CAS unique of the item
  } decision_t;

  /// What the room for its job's replies leaves of a request.
  typedef struct packed {
    logic        skip;     // nothing
    logic        split;    // of the records before it, one was skipped or goes on
    logic        settled;  // that is known in this clock
    logic        whole;    // its piece ends the value
    logic [13:0] limit;    // value bytes that may be sent, where that is not the rest
    logic [20:0] piece;    // value bytes to send
    logic        copies;   // with it, its job has copied 1 KiB or more
    logic        missed;   // of the records before it, one was a get for host software
    logic        again;    // and it was the first
  } room_t;

  /// The sum that incr or decr makes, and its item.
  typedef struct packed {
    logic        made;   // with `value`
    logic        bad;    // memory could not read the number
    logic [63:0] value;
    logic        negative;  // Redis: its magnitude is `value`
    reply_e      reply;     // or what forbids it
    off_t        off;
    logic [5:0]  lines;
  } sum_t;

  /// A new item that append or prepend has begun: what is known beside its own place, in a record's
  /// and a context's `expiry` and `num`.
  typedef struct packed {
    logic [39:0] zero;
    off_t        from;  // the request's bytes
    off_t        old;   // the key's item
  } copy_t;

  /// What became of an append or prepend, and the new item.
  typedef struct packed {
    logic        fits;     // its size is allowed: known in the clock after its item is
    reply_e      reply;
    logic        stored;
    logic        goes_on;  // with the connection's next job, from byte `done` of the value on
    off_t        off;
    logic [5:0]  lines;
    logic [20:0] done;
    logic [14:0] copied;   // lines, now
    copy_t       copy;
  } extended_t;

  /// A bucket's write for an insert, or to renew it.
  typedef struct packed {
    logic            valid;
    logic            move;   // of the entry that makes room
    logic            bank;
    index_slot_t     slot;
    line_no_t        line;
    logic [7:0]      way;    // one of them, or none
    logic            renew;  // the bucket gets the present epoch
    logic [7:0]      empty;  // its ways that hold nothing: renew clears them
    logic [7:0][1:0] uses;
  } insert_t;

  /// Event counters of the store.
  // begin store_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [5:0] {
    StoreCountGetHits,       // reads that found an item
    StoreCountGetMisses,     // reads that found none
    StoreCountExpired,       // of the misses and the failed stores: the item had expired
    StoreCountTouchHits,     // touch, gat, gats that found an item
    StoreCountTouchMisses,   // ... that found none
    StoreCountSets,          // set, add, replace, cas, append, prepend executed
    StoreCountStored,        // of these: stored
    StoreCountDeleteHits,    // delete that found an item
    StoreCountDeleteMisses,  // ... that found none
    StoreCountIncrHits,      // incr that found an item
    StoreCountIncrMisses,    // ... that found none
    StoreCountDecrHits,      // decr that found an item
    StoreCountDecrMisses,    // ... that found none
    StoreCountCasHits,       // cas with the unique number that the item has
    StoreCountCasMisses,     // cas that found no item
    StoreCountCasBadval,     // cas with another number than the item has
    StoreCountFlushes,       // flush_all
    StoreCountTooLarge,      // values refused because of their size
    StoreCountNoMemory,      // items that the log refused
    StoreCountInserts,       // index entries made
    StoreCountRemovals,      // index entries cleared by delete
    StoreCountMoves,         // entries moved to their other bucket
    StoreCountEvictions,     // entries evicted from two full buckets
    StoreCountItems,         // items appended to the log
    StoreCountLaps,          // times the log wrapped
    StoreCountSlow,          // requests whose item was not the prefetched one
    StoreCountCut,           // records skipped because their replies had no room
    StoreCountWaitIndex,     // clocks in which execute waited for what lookup finds of a request
    StoreCountWaitLines,     // clocks in which execute waited for lines of the next request's item
    StoreCountWaitLog,       // clocks in which execute waited for an item's data to be written
    StoreCountWaitBack,      // clocks in which execute waited for the way back
    StoreCountBadReads,      // reads that memory refused; what stands in these lines is gone
    StoreCountBadWrites      // writes that memory refused; likewise
  } store_count_e;
  localparam int unsigned StoreCounts = 33;
  // end store_count_e

endpackage
