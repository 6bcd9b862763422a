// A request on its way through the card: job -> request record -> result -> done.
//
// A *job* is one visit to one connection (or one UDP datagram): a run of received bytes, the room
// for its replies, and the context that the connection was left in. Requests of a job pass the
// pipeline one behind another, never mixed with another job's; the last record of every job is
// OpEnd, or says that it is the `last`. What a job left behind comes back to the session as `done_t`.
package request_pkg;
  import wirekv_pkg::*;
  import net_pkg::*;

  /// Virtual place of an item in the log in units of 16 bytes: how often the log has wrapped and
  /// where the item starts. The full lap count is 36 bits; an index way keeps its low 8 bits.
  typedef struct packed {
    logic [7:0]  lap;
    logic [27:0] pos;
  } off_t;

  /// The connection of the host's request port (rtl/card/host_port.sv). No peer is given this id, and nothing
  /// that comes from the wire names it.
  localparam conn_t HostConn = '1;

  /// A database: memcached's is 0, Redis' are 0 to 15.
  typedef logic [3:0] db_t;

  /// What a reply in memcached's binary protocol says of its request; all zero in text.
  typedef struct packed {
    logic        is;       // it is in that protocol
    logic        key;      // the reply to a get has the key
    logic [7:0]  opcode;
    logic [31:0] opaque;
  } binary_t;

  /// The request port alone: tells the next item of the index, see execute_walk.
  localparam logic [7:0] BinaryWalk = 8'h3f;
  /// Likewise: tells the key's version in the place of a CAS unique, see execute_versions.
  localparam logic [7:0] BinaryVersion = 8'h3e;

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

  /// A place in the index: who goes from 0 on has met all ways of even buckets, then those of odd ones.
  typedef struct packed {
    logic        end_;  // behind all of them
    logic        bank;
    logic [25:0] line;  // of the bank
    logic [2:0]  way;
  } walk_place_t;

  /// Clocks: what a job has taken of the pipe; what a connection's jobs take; and from when on that is dear.
  typedef logic [16:0] took_t;
  typedef logic [11:0] cost_t;
  typedef logic [12:0] bar_t;

  function automatic cost_t cost_of(input took_t took);
    return (took[16:12] != '0) ? '1 : cost_t'(took);
  endfunction
  /// The mean when one more has taken so much. A mean of 3 clocks or less falls no further.
  function automatic cost_t mean_of(input cost_t mean, input took_t took);
    return mean - (mean >> 2) + (cost_of(took) >> 2);
  endfunction

  /// One that waits for a job; its jobs take so much, and so much it owes.
  typedef struct packed {
    conn_t conn;
    cost_t cost;
    cost_t owes;
  } waits_t;

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

  /// The replies to these have the key: getk, getkq, gatk, gatkq.
  function automatic logic binary_key(input logic [7:0] opcode);
    return opcode inside {8'h0c, 8'h0d, 8'h23, 8'h24};
  endfunction

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
    OpHostData,  // a piece of the host's answer: bytes come from the exception queue
    OpCont,      // next piece of a long value's reply
    OpPart,      // part of a long SET's data went into the log; no reply yet
    OpEnd,       // end of job
    OpWalk,      // the request port's: the next item of the index from the place `binary.opaque` on
    OpVersion    // the request port's: the key's version
  } op_e;

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
               // needs were there, and the byte engine reads them again)
    MdKeys,    // inside a get line that was too long for one job: next byte starts a key
               // (noreply: the line is bad, only its end is looked for); RfText: inside of text
    MdValue,   // inside a SET's data, `rem` bytes (CRLF included, where there is one) still to come
    MdSwallow, // `rem` bytes still to discard
    MdHost,    // host software answers: a piece is on its way (`rem` 0), or is to be asked for (1)
    MdQuit,    // close after the replies so far
    MdAbort,   // a value half sent is gone from the log: reset the connection
    MdLong     // as MdLine, but the line is a `get` too long to be held back until its end
  } mode_e;

  /// What a connection's next job must know.
  typedef struct packed {
    logic [31:0] rx_ptr;     // next byte to read
    logic        known;      // the first byte has come, which decides on the protocol
    mode_e       mode;
    logic [31:0] rem;        // MdLine: bytes the next request needs before a job is worthwhile
                             // (0: any new byte); MdValue, MdSwallow: see mode_e
    logic        cont;       // first finish the value below (OpCont, or an append that copies);
                             // then go on in `mode`
    logic [20:0] cont_start; // value bytes already sent, or copied
    logic        copies;     // the job has copied a value, or more, for a few bytes that came
    binary_t     binary;     // `is` holds for all requests; the rest as what follows
    resp_t       resp;       // all but `form` likewise
    meta_t       meta;
    opaque_t     opaque;
    // the request that MdKeys, MdValue or `cont` goes on with
    op_e         op;
    db_t         db;         // holds for all requests
    logic        noreply;
    logic        cas_out;    // gets, gats
    logic        touch;      // gat, gats
    logic        last_key;   // END follows this value
    logic [7:0]  klen;
    logic [20:0] vlen;
    msec_t       expiry;
    logic [63:0] num;        // CAS unique of `cas`
    logic [63:0] chosen_no;
    logic [63:0] hash;
    off_t        off;        // MdValue: the item being written; cont: the item being read
  } ctx_t;

  /// Bytes of a piece of the host's answer. Each but the first one is asked for when the transmit ring has room for PieceMax.
  localparam int unsigned PieceMax = 2048;
  typedef logic [$clog2(PieceMax+1)-1:0] piece_t;

  /// A job: `len` bytes of received data follow it as a beat stream (an empty packet for len 0).
  typedef struct packed {
    logic        udp;
    logic        host;       // carries `len` = 0 bytes; OpHostData moves `host_len` bytes
    logic        host_final; // the host's answer ends with this piece
    logic        host_close;
    logic        host_three; // the connection speaks RESP3 from now on
    logic        host_all;   // see resp_t
    db_t         host_db;    // and is in this database
    piece_t      host_len;
    conn_t       conn;
    logic        whole;      // gates run none of it: commands go to host software as they are
    logic [13:0] len;        // 0..JobBytes
    logic [31:0] tx_ptr;     // where the replies go; of a UDP job 1: over IPv6
    logic [16:0] tx_space;   // bytes free in the transmit ring from tx_ptr
    ctx_t        ctx;
  } job_t;

  localparam int unsigned JobBytes = 8192;
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
    logic        last;       // the job ends with it, in the context after it; no OpEnd follows
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

  typedef enum logic [2:0] {
    RsNone,     // nothing to say (only `first` matters)
    RsReply,    // fixed reply
    RsValue,    // VALUE line and value, whose key and bytes come beside it
    RsNumber,   // incr/decr: decimal number and CRLF
    RsHostData,
    RsEnd       // nothing but the end of the job (with `last`): ctx is what the session keeps
  } res_e;

  /// What executing a request gave.
  typedef struct packed {
    res_e        kind;
    logic        udp;
    conn_t       conn;
    logic        first;     // first result of its job
    logic        last;      // its job ends with it: ctx holds
    logic [31:0] tx_ptr;    // with first
    reply_e      reply;
    binary_t     binary;
    resp_t       resp;
    meta_t       meta;
    opaque_t     opaque;
    msec_t       expiry;    // meta: to be shown
    logic        shows;     // meta: all that is asked for; else key and opaque only
    marks_t      marks;     // meta get: of the item, as it was; else: coded
    logic        wins;      // meta get: who asks is to make the item anew
    logic        keyed;     // meta: its key comes, even if nothing is said
    logic        negative;  // Redis: the number is
    logic        head;      // RsValue: the VALUE line comes first (not in an OpCont)
    logic        tail;      // RsValue: CRLF after the bytes (the value is complete)
    logic        last_key;  // RsValue with tail: END after it
    logic        cas_out;
    logic [7:0]  klen;      // RsValue with head; binary: a get's
    logic [31:0] flags;
    logic [20:0] vlen;
    logic [63:0] num;       // CAS unique or number
    logic [63:0] unique_no; // binary: CAS unique, beside the number
    piece_t      host_len;
    ctx_t        ctx;       // with last: what the session keeps
  } res_t;

  /// Piece of a value, beside an RsValue: `len` bytes from lane `start` of `data` on, lane 0 behind
  /// lane 63. All pieces but the last have 64 bytes; an empty value is one empty piece. The key of
  /// an RsValue with `head` comes as lines of its own.
  typedef struct packed {
    line_t      data;
    logic [5:0] start;
    logic [6:0] len;
    logic       last;  // of this record's bytes
    logic       bad;   // memory could not read it: nobody may get it
  } chunk_t;

  /// A job is over: its replies are in the transmit ring.
  typedef struct packed {
    conn_t       conn;
    logic [31:0] tx_ptr;
    ctx_t        ctx;
  } done_t;

  /// Whom a UDP job answers: one a job, in the order of the jobs.
  typedef struct packed {
    peer_t       peer;
    logic [15:0] reqid;
  } uctx_t;

  /// An executed OpHost on its way to the exception queue; `len` bytes of text follow as a beat
  /// stream. 0: the next piece of the answer is asked for.
  typedef struct packed {
    conn_t      conn;
    logic       udp;
    logic       resp;     // a command of Redis' protocol as it came, or a part of it
    logic       begins;
    logic       more;     // it goes on with the next one of this connection
    logic       stranger; // nothing of this connection has been asked before
    logic       all;      // see resp_t
    db_t        db;
    logic [7:0] len;
  } hreq_t;

  /// A piece of the host's answer that is completely in the card.
  typedef struct packed {
    conn_t       conn;
    piece_t      len;        // 0..ReplyMax of an answer's first one, 0..PieceMax of others
    logic        final_piece;
    logic        close;
    logic        three;      // see job_t, as what follows; about: one that it was told of before
    logic        all;
    db_t         db;
    logic        about;      // no piece: host software asks whether there is this connection of
                             // Redis' protocol
    logic        kill;       // about: and has it closed
    logic        stranger;   // about: one that it has not answered yet, else one that it has. So,
                             // and by `three`, it cannot mean one that has got the id of another
                             // since
  } hpiece_t;

  /// The answer to that: whether there is; whether its peer will send no more.
  typedef struct packed {
    logic  left;
    logic  there;
    conn_t conn;
  } about_t;

  /// A piece of reply text: `len` bytes from lane `start` of `data` on, lane 0 behind lane 63.
  /// Every job has at least one piece, which may be empty.
  typedef struct packed {
    line_t       data;
    logic [5:0]  start;
    logic [6:0]  len;
    logic        last;       // last piece of its job
    logic        reply_last; // UDP: last piece of one reply, where a datagram ends
    logic        bad;        // bytes of a chunk that was bad
    logic        sized;      // UDP: first piece of a reply that may be several datagrams
    logic [21:0] size;       // with sized: bytes of the whole reply
  } text_t;

  /// Whose text it is.
  typedef struct packed {
    logic        udp;
    conn_t       conn;
    logic [31:0] tx_ptr;     // where the job's replies begin; with udp 1: over IPv6
  } text_job_t;

  /// Event counters of the way back (rtl/reply/back.sv).
  // begin back_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [3:0] {
    BackCountJobs,         // jobs begun
    BackCountValues,       // VALUE lines begun
    BackCountReplies,      // fixed replies
    BackCountNumbers,      // results of incr and decr
    BackCountLines,        // writes to the transmit rings
    BackCountDatagrams,    // UDP datagrams sent
    BackCountHostReqs,     // requests handed to the host program
    BackCountHostPieces,   // pieces of its answers
    BackCountHostBad,      // bytes of such a piece missing or too many
    BackCountWaitChunk,    // clocks in which a reply waited for the value's bytes
    BackCountWaitRing,     // clocks in which reply text waited for the transmit-ring writer
    BackCountWaitUdp,      // clocks in which reply text waited for room for datagrams
    BackCountErrorLimit,   // errors not sent in a datagram: beyond 50 at once and 1,000 a second
    BackCountErrorService  // ... to a service's port
  } back_count_e;
  localparam int unsigned BackCounts = 14;
  // end back_count_e

  /// Event counters of the way in (rtl/parse/front.sv).
  // begin front_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [3:0] {
    FrontCountJobs,       // visits to a TCP connection
    FrontCountUdpJobs,    // datagrams taken
    FrontCountUdpBad,     // datagrams ignored: no room for frame header and request, or no request
    FrontCountLines,      // request lines finished
    FrontCountErrors,     // of these: answered with an error without reaching the store
    FrontCountRollbacks,  // lines put back until more of them has come
    FrontCountSetBytes,   // beats of item data handed to the log
    FrontCountHost,       // lines left to host software
    FrontCountCloses,     // connections closed by `quit`, bad lines or after the peer's FIN
    FrontCountWaitRoom,   // clocks in which requests waited for the store
    FrontCountWaitBytes,  // clocks in which a job waited for its bytes
    FrontCountBadReads,   // reads of receive rings that memory refused; the connection is reset
    FrontCountBadWrites   // writes to rings that memory refused; the connection is reset
  } front_count_e;
  localparam int unsigned FrontCounts = 13;
  // end front_count_e

endpackage
