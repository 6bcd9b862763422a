// A request on its way through the card: what the parser makes of bytes, and the store executes.
//
// Requests of a job (see conn_pkg) pass the pipeline one behind another, never mixed with another job's; the last record of
// every job is OpEnd, or says that it is the `last`.
package request_pkg;
  import wirekv_pkg::*;

  /// Virtual place of an item in the log in units of 16 bytes: how often the log has wrapped and
  /// where the item starts. The full lap count is 36 bits; an index way keeps its low 8 bits.
  typedef struct packed {
    logic [7:0]  lap;
    logic [27:0] pos;
  } off_t;

  /// A database: memcached's is 0, Redis' are 0 to 15.
  typedef logic [3:0] db_t;

  /// What a reply in memcached's binary protocol says of its request; all zero in text.
  typedef struct packed {
    logic        is;       // it is in that protocol
    logic        key;      // the reply to a get has the key
    logic [7:0]  opcode;
    logic [31:0] opaque;
  } binary_t;

  // What a request and a reply in it begin with, and how long the header is.
  localparam logic [7:0] BinaryRequest = 8'h80;
  localparam logic [7:0] BinaryReply = 8'h81;
  localparam int unsigned BinaryHeader = 24;

  /// What a reply to a request in Redis' protocol says.
  typedef enum logic [3:0] {
    RfStatus,   // OK, or null
    RfInteger,  // 1 or 0; a sum
    RfLength,   // of the value
    RfBulk,     // the value that there is, or was, or null
    RfArray,    // so many replies follow
    RfType,     // string, or none
    RfTtl,      // when it expires: in seconds, or milliseconds, from now; as Unix time
    RfPttl,
    RfExpiretime,
    RfPexpiretime,
    RfSum,      // of several keys, how many are there; with the last of them
    RfText      // none yet: text for host software goes on in the connection's next job
  } resp_form_e;
  function automatic logic is_time(input resp_form_e form);
    return form inside {RfTtl, RfPttl, RfExpiretime, RfPexpiretime};
  endfunction

  /// When a command of Redis' protocol sets an expiry: if there is none, one, a sooner, a later one.
  /// In a record's `flags`.
  typedef struct packed {
    logic lt;
    logic gt;
    logic xx;
    logic nx;
  } resp_when_t;

  /// What is known of a connection in Redis' protocol, and of a request in it.
  typedef struct packed {
    logic       is;     // it is in that protocol: it came by that port
    logic       three;  // RESP3, for which it has asked
    logic       met;    // host software has answered it
    logic       all;    // gates run nothing that comes: host software has asked for all of it, or
                        // strangers were not let in when the connection began
    resp_form_e form;
  } resp_t;

  /// A flag of a meta command that shows in its reply.
  typedef enum logic [2:0] {
    ShNone,
    ShKey,     // k
    ShOpaque,  // O
    ShSize,    // s
    ShTime,    // t: seconds to live
    ShUnique,  // c
    ShFlags    // f
  } show_e;
  localparam int unsigned Shows = 6;

  /// What meta commands know of an item beside its value.
  typedef struct packed {
    logic coded;  // its key is shown in base64
    logic won;    // a client was told that it is to be the one who makes it anew
    logic stale;  // who reads it is told so
  } marks_t;

  /// What is known of a request in a meta command; all zero in others.
  typedef struct packed {
    logic              is;
    logic              get;       // mg: what is missing is EN
    logic              value;     // v
    logic              retimed;   // T stands in front of t, which shows what it has set
    logic              made;      // N does, which says that of what is made
    logic              sets_time; // ma, md: T; what is there gets a new expiry
    logic              vivifies;  // mg: N; what is missing is made, with no value
    logic              n_last;    // mg: N stands behind T, if there is one
    logic              recaches;  // mg: R; what expires before that is to be made anew
    logic              r_late;    // T stands in front of R, and is what is compared
    logic              stale;     // I. ms: if the CAS unique is too old; md: instead of deletion
    logic              voids;     // md: x; the value goes, the item stays
    logic              chosen;    // E; what is stored gets this CAS unique
    logic              coded;     // b; its key came in base64
    logic              unfit;     // and can come no other way, nor be shown
    show_e [Shows-1:0] show;      // in this order, the first one at 0
  } meta_t;

  /// Its opaque token, behind the letter; the first character at lane 0.
  localparam int unsigned OpaqueMax = 31;
  typedef struct packed {
    logic [4:0]                len;
    logic [OpaqueMax-1:0][7:0] text;
  } opaque_t;

  function automatic logic shows(input show_e [Shows-1:0] show, input show_e what);
    shows = 1'b0;
    for (int unsigned i = 0; i < Shows; i++) shows |= show[i] == what;
  endfunction

  // begin opcodes: Made by spec/gen.py from spec/commands.toml: `make spec`.
  /// The reply to these has the key.
  function automatic logic binary_key(input logic [7:0] opcode);
    return opcode inside {8'h0c, 8'h0d, 8'h23, 8'h24};
  endfunction
  /// These store whatever there is.
  function automatic logic binary_set(input logic [7:0] opcode);
    return opcode inside {8'h01, 8'h11};
  endfunction
  // end opcodes

  typedef enum logic [4:0] {
    OpGet,       // one key of get/gets/gat/gats
    OpSet,
    OpAdd,
    OpReplace,
    OpCas,
    OpAppend,    // the item at `off` holds what is put behind, or in front of, the key's value
    OpPrepend,
    OpDelete,
    OpIncr,
    OpDecr,
    OpTouch,
    OpFlush,     // flush_all at `expiry` (0: at once)
    OpReply,     // a fixed reply, no store access
    OpTooBig,    // value over the limit: delete the key as memcached does, answer `reply`
    OpHost,      // the key stream carries the command line; host software answers. key_stored: no
                 // line, the next piece of the answer is asked for
    OpHostData,  // a piece of the host's answer: bytes come from the punt queue
    OpCont,      // next piece of a long value's reply
    OpPart,      // part of a long SET's data went into the log; no reply yet
    OpEnd,       // end of job
    OpWalk,      // the request port's: the next item of the index from the place `binary.opaque` on
    OpVersion    // the request port's: the key's version
  } op_e;

  /// It looks for the key's item.
  function automatic logic is_lookup(input op_e op);
    return op inside {OpGet, OpSet, OpAdd, OpReplace, OpCas, OpDelete, OpIncr, OpDecr, OpTouch,
                      OpTooBig, OpAppend, OpPrepend};
  endfunction
  /// A key, or text, stands in the key stream beside it.
  function automatic logic brings_key(input op_e op, input logic key_stored);
    return (is_lookup(op) || op inside {OpHost, OpPart, OpVersion}) && !key_stored;
  endfunction

  typedef enum logic [5:0] {
    RpNone,
    RpError,
    RpStored,
    RpNotStored,
    RpExists,
    RpNotFound,
    RpDeleted,
    RpTouched,
    RpOk,
    RpEnd,
    RpVersion,
    RpBadFormat,      // CLIENT_ERROR bad command line format
    RpBadChunk,       // CLIENT_ERROR bad data chunk
    RpBadExptime,     // CLIENT_ERROR invalid exptime argument
    RpBadDelta,       // CLIENT_ERROR invalid numeric delta argument
    RpNonNumeric,     // CLIENT_ERROR cannot increment or decrement non-numeric value
    RpTooLarge,       // SERVER_ERROR object too large for cache
    RpNoMemory,       // SERVER_ERROR out of memory storing object
    RpBadDelete = 6'd19,     // CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]
    RpOverflow,       // Redis' only, as what follows
    RpPong,
    RpTooLong,        // the command is broken where some of it is done
    RpBadExpire,      // invalid expire time in 'getex' command
    RpFound,          // meta commands' only, as what follows
    RpMetaNoop = 6'd49,
    RpDuplicate,
    RpInvalid,
    RpInvalidOrDuplicate,
    RpBadToken,
    RpBadModeLen,
    RpBadInitial,
    RpBadMetaDelta,
    RpBadSetMode,
    RpBadSumMode,
    RpLongOpaque,
    RpManyGetFlags,
    RpManyFlags,
    RpBadKey
  } reply_e;

  typedef enum logic [2:0] {
    MdLine,    // at the start of a request line (noreply: all but one of the `rem` bytes that it
               // needs were there, and the slow path reads them again)
    MdKeys,    // inside a get line that was too long for one job: next byte starts a key
               // (noreply: the line is bad, only its end is looked for); RfText: inside of text
    MdValue,   // inside a SET's data, `rem` bytes (CRLF included, where there is one) still to come
    MdSwallow, // `rem` bytes still to discard
    MdHost,    // host software answers: a piece is on its way (`rem` 0), or is to be asked for (1)
    MdQuit,    // close after the replies so far
    MdAbort,   // a value half sent is gone from the log: reset the connection
    MdLong     // as MdLine, but the line is a `get` too long to be held back until its end
  } mode_e;

  /// Bytes of a piece of the host's answer. Each but the first one is asked for when the transmit ring has room for PieceMax.
  localparam int unsigned PieceMax = 2048;
  typedef logic [$clog2(PieceMax+1)-1:0] piece_t;

  /// What memcached adds to an item: its header, CAS unique, a NUL and CRLF.
  localparam int unsigned ItemOverhead = 59;
  /// A reply other than value bytes never needs more than this; nor does the first piece of the host's.
  localparam int unsigned ReplyMax = 512;
  /// The most value bytes that one record may send (a longer value goes on as OpCont).
  localparam int unsigned ValuePiece = 8192;

  /// One request. The key (klen bytes) travels in the key stream beside it, 64 bytes a beat,
  /// unless `key_stored`. A record's `after` is the context that holds once it is executed.
  typedef struct packed {
    op_e         op;
    logic        udp;
    conn_t       conn;
    logic        first;      // first record of its job: tx_ptr and tx_space hold
    logic        last;       // the job ends with it, in the context after it; no OpEnd
                             // follows; no get that may miss, see execute_room
    logic [31:0] tx_ptr;
    logic [16:0] tx_space;
    binary_t     binary;
    resp_t       resp;
    meta_t       meta;
    opaque_t     opaque;     // with meta
    logic        noreply;    // binary, meta: not if it succeeds, or a get finds nothing
    logic        cas_out;
    logic        touch;      // binary, meta incr, decr: makes the number `hash` where none
                             // is; meta append, prepend: of nothing, too; meta delete: the
                             // CAS unique 0 is one; Redis' SET: the expiry stays as it is
    logic        last_key;   // Redis' OpHost and RfSum: the command ends with it
    reply_e      reply;      // OpReply, OpTooBig; OpGet of Redis' protocol: instead of a value
    piece_t      host_len;   // OpHostData
    logic [7:0]  klen;
    db_t         db;         // the key is of this database
    logic        key_stored; // SET with its data complete in the log: key is read from there
    logic [63:0] hash;       // key_stored only; otherwise the store computes it
    logic [20:0] vlen;       // OpHost of Redis' protocol: bytes of the command before these
    logic [31:0] flags;      // OpTouch of Redis' protocol: resp_when_t
    msec_t       expiry;     // of the item; 0 never, 1 long past
    logic [63:0] num;        // RfSum: the sum before this job, and 32 bits of what is left;
                             // CAS unique or delta; binary, meta deletes, appends: 0 is any
                             // (but see `touch`); cas: 0 is no item's;
                             // meta get: expiry of what is made
    logic [63:0] unique_no;  // OpIncr, OpDecr: CAS unique, 0 is any; meta get: time of R
    logic [63:0] chosen_no;  // meta: E
    off_t        off;        // SETs: the new item; OpCont: the item
    logic [20:0] cont_start; // OpCont; an append that goes on: `off` is the new item, see copy_t
    // Context after this request. It is made of the fields of the last record executed (`op` from
    // `ctx_op`, `hash` computed unless key_stored); an OpEnd that was not cut replaces all of it
    // but the hash, which it replaces with `key_stored` only.
    logic [31:0] rx_ptr;
    mode_e       mode;
    logic [31:0] rem;
    op_e         ctx_op;     // OpGet: itself; OpPart: the SET that the data belongs to
  } req_t;

  /// Item data for the log: beside it the key stream has the key when `start`, in ceil(klen/64) beats,
  /// and the beat stream the value bytes.
  /// `last` stands on the last beat of the value; a value of no bytes is one beat of length 0.
  /// A `start` is followed by one record with its `off`, an OpReply if the data was bad.
  typedef struct packed {
    logic        start;     // a new item: header and key are written, room for vlen is taken
    logic        own_lines; // data will come in several jobs: start and end on a line of its own
    logic        ends;      // its last byte is in this part
    logic        udp;       // of execute's: for a datagram, which cannot be made to wait
    conn_t       conn;
    db_t         db;
    logic [7:0]  klen;
    logic [20:0] vlen;
    logic [31:0] flags;
    marks_t      marks;
    logic        chosen;    // its CAS unique is this one, not its place
    logic [63:0] chosen_no;
    msec_t       expiry;    // 0 never
    off_t        off;       // !start: where the item is
    logic [20:0] done;      // !start: value bytes already written
  } put_t;

endpackage
