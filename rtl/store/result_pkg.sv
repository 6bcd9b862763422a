// What executing requests gave, on its way from the store to the reply builder.
package result_pkg;
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import conn_pkg::*;

  typedef enum logic [2:0] {
    RsNone,     // nothing to say (only `first` matters)
    RsReply,    // fixed reply
    RsValue,    // VALUE line and value, whose key and bytes come beside it
    RsNumber,   // incr/decr: decimal number and CRLF
    RsHostData,
    RsEnd       // nothing but the end of the job (with `last`): ctx is what the scheduler keeps
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
    ctx_t        ctx;       // with last: what the scheduler keeps
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

endpackage
