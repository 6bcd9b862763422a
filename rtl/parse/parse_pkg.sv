// What the stages of the way in (rtl/parse/ingress.sv) tell each other.
package parse_pkg;
  import wirekv_pkg::*;
  import request_pkg::*;

  typedef enum logic [4:0] {
    CmdUnknown,
    CmdGet,
    CmdGets,
    CmdGat,
    CmdGats,
    CmdSet,
    CmdAdd,
    CmdReplace,
    CmdCas,
    CmdAppend,
    CmdPrepend,
    CmdDelete,
    CmdIncr,
    CmdDecr,
    CmdTouch,
    CmdFlush,
    CmdVerbosity,
    CmdVersion,
    CmdQuit,
    CmdNoop,    // binary and Redis only
    CmdWalk,    // binary only, of the request port
    CmdKeyVersion,
    CmdSelect,  // Redis only
    CmdMetaNoop,
    CmdMetaGet,
    CmdMetaSet,
    CmdMetaDelete,
    CmdMetaSum,
    CmdHost     // known, but answered by host software
  } cmd_e;

  /// Arguments of a command of Redis' protocol.
  typedef logic [29:0] resp_count_t;

  /// What the next byte of a command of Redis' protocol is.
  typedef enum logic [3:0] {
    PhStart,
    PhCount,
    PhCountLf,
    PhDollar,
    PhLength,
    PhLengthLf,
    PhData,
    PhCr,
    PhLf,
    PhBroken,   // a line that should begin with `$`
    PhBrokenLf,
    PhInline
  } resp_phase_e;

  /// Where a job has left a command that is text for host software. In a context's `expiry` and `num`.
  typedef struct packed {
    resp_phase_e phase;
    logic        bad;     // of the number that is read: it is none, began with 0; its characters
    logic        zero;
    logic [3:0]  digits;
    logic [29:0] number;
    logic [20:0] bulk;    // bytes of the argument that are still to come
    resp_count_t left;    // arguments that are not complete
  } resp_place_t;

  /// A job begins inside of such text.
  function automatic logic in_text(input mode_e mode, input resp_form_e form);
    return mode inside {MdKeys, MdHost} && form == RfText;
  endfunction

  /// What stands behind the key of a command of Redis' protocol, or in its place.
  typedef enum logic [2:0] {
    RaNone,
    RaIncrement,
    RaValue,      // a value, and options of SET
    RaTimeValue,  // a time, a value
    RaTime,       // a time, and when it is taken
    RaOptions,    // options of GETEX
    RaPairs,      // keys and values by turns
    RaSelect      // the number of a database; no key
  } resp_args_e;

  /// What a time counts, and from when.
  typedef struct packed {
    logic date;    // not from now
    logic millis;  // not seconds
  } resp_unit_t;

  /// What the name of a command of Redis' protocol says.
  typedef struct packed {
    logic       found;  // gates run it
    cmd_e       cmd;
    resp_form_e form;
    logic       array;  // its reply is an array
    logic       many;   // all arguments are keys
    resp_args_e args;
    resp_unit_t unit;   // RaTime, RaTimeValue
    logic       one_db; // is about the connection's database alone
    logic       reset;  // host software runs it; the connection is back at database 0
  } resp_command_t;

  /// A word behind these, which is an option.
  typedef struct packed {
    logic       nx;
    logic       xx;
    logic       gt;
    logic       lt;
    logic       get;
    logic       keep;     // KEEPTTL
    logic       persist;
    logic       timed;    // a time follows
    resp_unit_t unit;
  } resp_option_t;

  /// What a word of a request line says by its spelling.
  typedef struct packed {
    cmd_e cmd;
    logic noreply;
    logic zero;     // exactly "0"
    logic http;     // begins with HTTP/
    logic foreign;  // begins as no command of memcached does
  } word_t;

  /// A character of a request line. A line's end is one character, with or without the CR before its LF.
  typedef struct packed {
    logic [7:0] code;
    logic       eol;
    logic       crlf;   // with eol: a CR was before it
    logic       blank;  // the one that parts words
    logic       nul;
    logic       digit;
    logic       space;  // \t \v \f \r: may stand around a number
    logic       six;    // one of base64, or what pads it
    logic       pad;
  } letter_t;

  /// A decimal number as strtol and strtoul read it.
  typedef struct packed {
    logic        ok_unsigned;  // fits 64 bits unsigned, and is not negative
    logic        ok_signed;    // fits 64 bits signed
    logic        neg;
    logic [63:0] value;        // the magnitude
  } num_t;

  /// Longest key; longest text for host software in a record.
  localparam int unsigned KeyMax = 250;

  /// memcached takes a line apart into so many words.
  localparam logic [4:0] WordsMax = 5'd23;

  /// What the words of a line have said so far.
  typedef struct packed {
    cmd_e        cmd;
    logic        indented;  // more spaces before the command than memcached puts up with in a
                            // line over 2048 bytes
    logic [4:0]  words;     // complete ones, at most WordsMax
    logic [7:0]  klen;
    logic        key_long;
    logic        bad;       // a `get` line with a key too long
    logic        flags_ok;
    logic        exptime_ok;
    logic        number_ok;
    logic        length_ok;
    logic [31:0] length;
    logic        zero;      // third word is "0"
    logic        noreply;   // last word is "noreply"
    logic        foreign;   // first word begins as no command of memcached does
    logic        http;      // last word begins with HTTP/, of the first WordsMax
    // meta commands only: what is wrong with the flags
    meta_t       meta;
    opaque_t     opaque;
    logic        touch;
    op_e         op;
    reply_e      flags_fault;
    logic [63:0] chosen_no;
    // binary only
    logic        wrong;     // lengths that do not fit: this reply, and the connection is closed
    reply_e      fault;
    // and meta commands
    logic [63:0] unique_no;  // incr, decr: CAS unique; the number to begin with, if one is made
    logic [63:0] initial_no;
    logic        creates;
    // Redis only: the expiry stays as it is, and if there is a value, `fault` is the reply; all arguments are keys
    logic        keeps;
    logic        many;
    logic        pairs;      // keys and values by turns
  } line_info_t;

  function automatic logic is_get(input cmd_e cmd);
    return cmd inside {CmdGet, CmdGets, CmdGat, CmdGats};
  endfunction

  function automatic logic is_gat(input cmd_e cmd);
    return cmd inside {CmdGat, CmdGats};
  endfunction

  function automatic logic is_store(input cmd_e cmd);
    return cmd inside {CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend, CmdMetaSet};
  endfunction

  /// With a key, and flags.
  function automatic logic is_meta(input cmd_e cmd);
    return cmd inside {CmdMetaGet, CmdMetaSet, CmdMetaDelete, CmdMetaSum};
  endfunction

  function automatic op_e op_of(input cmd_e cmd);
    unique case (cmd)
      CmdSet:     return OpSet;
      CmdAdd:     return OpAdd;
      CmdReplace: return OpReplace;
      CmdCas:     return OpCas;
      CmdAppend:  return OpAppend;
      CmdPrepend: return OpPrepend;
      CmdDelete:  return OpDelete;
      CmdIncr:    return OpIncr;
      CmdDecr:    return OpDecr;
      CmdTouch:   return OpTouch;
      CmdFlush:   return OpFlush;
      CmdWalk:    return OpWalk;
      CmdKeyVersion: return OpVersion;
      default:    return OpGet;
    endcase
  endfunction

  /// What becomes of a request line.
  typedef enum logic [3:0] {
    AcReply,
    AcEndOfGet,   // the record went out with the last key
    AcOp,
    AcStore,      // data follows, all of it in this job
    AcStorePart,  // data follows, not all of it in this job
    AcSwallow,
    AcHost,
    AcSelect,
    AcQuit,
    AcBack        // the job holds too little: read it again
  } action_e;

  /// What a complete request line says.
  typedef struct packed {
    action_e action;
    reply_e  reply;
    op_e     op;
    logic    noreply;
    logic    use_exptime;
  } order_t;

  /// How a job leaves its connection.
  typedef struct packed {
    logic [13:0] pos;
    mode_e       mode;
    logic [31:0] rem;
    logic        noreply;
  } end_t;

  /// What the slow path does.
  typedef enum logic [3:0] {
    ByIdle,
    ByEmpty,  // a job without bytes
    ByRead,
    ByWord,   // a word is complete
    BySkip,   // goes behind a value whose command goes on
    ByJump,   // goes behind an argument that is text for host software, or to the job's end
    ByPart,   // enough text for host software to be a part, or the last of it
    ByLine,   // the line is, or what is left of a value is known: some sums
    ByDecide,
    ByAct,
    ByValue,  // looks at what stands behind the value
    ByTail,   // waits for the job's last byte
    ByCut,    // the job ends inside of the line
    ByEnd,    // the job's last record
    ByDone
  } byte_e;

  /// Whose place in the log a record carries.
  typedef enum logic [1:0] {
    OsOwn,   // the record's own
    OsTold,  // its own, which the log has begun to write more bytes to
    OsNew,   // of the oldest item begun and not yet named by a record
    OsSame   // of the item that a record named last
  } off_sel_e;

  typedef struct packed {
    req_t        req;
    logic [13:0] pos;          // bytes of the job consumed with it, to be added to rx_ptr
    off_sel_e    off_sel;
    logic        use_flags;    // these fields come from the line's numbers
    logic        use_exptime;
    logic        use_number;
  } record_t;

  /// What a reader does with a queue: add a word; make what was added count, or take it back.
  typedef struct packed {
    logic push;
    logic commit;
    logic back;
  } queue_t;

  /// memcached's times: seconds up to 30 days count from the beginning of the present one, more are
  /// absolute; negative is past, but the binary protocol has no negative ones.
  function automatic msec_t absolute(input logic [31:0] seconds, input msec_t second,
                                     input logic binary);
    logic [44:0] most, behind;  // in 8 ms
    // 1,000 is 8 (128 - 2 - 1). Both sums, each of two pairs, are made while the time is looked at.
    most   = (45'(seconds) << 7) - (45'(seconds) << 1);
    behind = second[47:3] - 45'(seconds);
    if (seconds == '0) return '0;
    if (seconds[31] && !binary) return 48'd1;
    return (seconds <= 32'd2592000) ? {most + behind, second[2:0]} : {most - 45'(seconds), 3'd0};
  endfunction

  // ---------------------------------------------------------------- the fast path
  /// Place of a byte among the lines that are kept: number of its line, counted from reset, and
  /// lane. A job is shorter than half of what this can tell apart.
  typedef logic [7:0] line_no_t;
  typedef struct packed {
    line_no_t   line;
    logic [5:0] lane;
  } place_t;

  /// Lines that are kept; a power of two.
  localparam int unsigned KeptLines = 64;
  localparam int unsigned KeptW = $clog2(KeptLines);
  /// Longest value that the fast path moves. Half of the lines hold it, with the request before.
  localparam int unsigned ValueMax = 1920;

  /// A place where a request may start.
  typedef struct packed {
    place_t place;
    logic   ending;  // none: the job ends
    logic   key;     // behind a blank, where a line of keys may go on
    logic   head;    // a request line may
    logic   tail;    // one ends, or in Redis' protocol goes on behind its key, see line_scan
    logic   clean;   // tail: in text no blank or NUL stands between it and the head's 64 bytes
    logic   binary;  // in the binary protocol
    logic   resp;    // in Redis' protocol
    logic   last;    // the job has no line behind this one
  } start_t;

  /// What a line of received bytes may have, by lanes.
  typedef struct packed {
    logic [63:0] begins;   // a request line begins
    logic [63:0] inlines;  // an inline command may
    logic [63:0] keys;     // a key of a line of keys does
    logic [63:0] lengths;  // Redis: a length does, of anything but such a key
    logic [63:0] ends;     // a line ends
    logic [63:0] dirt;     // no key has this
    logic [63:0] given;    // this place was given already
    logic        last;     // of its job
    logic        binary;
    logic        resp;
  } found_t;

  /// The places of a line.
  typedef struct packed {
    logic [63:0] places;
    logic [63:0] line;     // these are no keys
    logic [63:0] tail;     // a tail's last lane, or in Redis' protocol its third one
    logic        clean;
    logic        goes_on;  // a request line goes on that may have a tail: no place is missing
    logic        last;
    logic        binary;
    logic        resp;
  } marks_t;

  /// Digits in groups: the number is (high * 10^4 + mid) * 10^4 + low. Or 32 bits as they are.
  typedef struct packed {
    logic [13:0] high;
    logic [13:0] mid;
    logic [13:0] low;
  } digits_t;

  /// A CAS unique of up to 16 digits, four in a group.
  typedef logic [3:0][13:0] unique_t;

  /// What the words of a request are, the first one apart.
  typedef enum logic [3:0] {
    FmKey,     // key, end of the line or a blank
    FmGat,     // number, blank
    FmStore,   // key, number a, number b, length
    FmDelete,  // key
    FmNumber,  // key, number a
    FmTouch,   // key, number a: an expiry time
    FmMetaGet, // key, perhaps v, or flags
    FmMetaSet, // key, length, perhaps flags
    FmCas,     // as FmStore, and a CAS unique
    FmInline,     // an inline command of Redis' protocol: nothing
    FmInlineKey,  // key
    FmInlineSet   // key, value
  } form_e;

  function automatic logic is_inline(input form_e form);
    return form inside {FmInline, FmInlineKey, FmInlineSet};
  endfunction

  /// What decode knows from a request's first word.
  typedef struct packed {
    logic [3:0] key;  // lane where the key starts; 0 if it is no command's
    form_e      form;
    op_e        op;
    logic       cas_out;
    logic       touch;
  } what_t;

  /// What a binary request begins with.
  typedef struct packed {
    logic        good;    // understood
    op_e         op;
    logic        store;
    logic        touch;
    logic        quiet;
    logic [10:0] vlen;
    logic [7:0]  opcode;
    logic [31:0] opaque;
    logic [31:0] first;   // extras, as numbers
    logic [31:0] second;
  } frame_t;

  /// What decode knows from the name of a command of Redis' protocol.
  typedef struct packed {
    logic       found;
    op_e        op;
    resp_form_e form;
    logic       store;  // a value follows the key
    logic       number; // a number does, in front of that
    logic       seconds;  // of seconds
    logic [1:0] options;  // words of options behind that
    logic       array;  // keys follow, so many
    logic [6:0] count;
    logic       keyed;
    logic [2:0] at;     // where its key's length stands, see decode_resp
    logic [3:0] len;    // without a key: of all of it
  } resp_what_t;

  /// What a request begins with: a request, or the part of one that has a window for itself.
  typedef struct packed {
    place_t      place;
    logic        ending;      // as in start_t
    logic        key;
    logic        good;        // understood; everything below holds
    logic        unfinished;  // the job ends before it does
    logic        open;        // a request, if its tail, which comes behind it, says so
    logic        tail;        // text: there is one, unless the job ends before that
    place_t      next;        // behind it, value included
    place_t      value;       // where its value starts
    op_e         op;
    logic        record;      // gives a request; else it only says what the keys behind it are for
    logic        keys;        // begins or goes on with keys: the op is that of the first part
    logic        more;        // another key follows
    logic        store;       // a value of `vlen` bytes follows, and CR LF in text
    binary_t     binary;      // a and b are binary, too
    logic        resp;        // in Redis' protocol, with such a reply
    resp_form_e  form;
    logic        meta;        // a meta command; mg, ma: with v
    logic        shows;
    logic        flags;       // flags are behind it: what they say comes beside it
    logic [6:0]  count;       // keys that follow, of which it is told here
    logic        plain;       // it reads, and changes nothing; see flags_t, too
    logic        noreply;
    logic        cas_out;
    logic        touch;
    logic        exptime_a;   // the expiry time is number a, not b
    logic        timed;       // Redis: it expires so many milliseconds from now, which are number a
    logic [7:0]  klen;
    logic        moved;       // its key is not in `data`: it stands so many lanes behind `place`
    logic [5:0]  key_at;
    logic [10:0] vlen;
    digits_t     a;
    digits_t     b;
    unique_t     unique_no;   // of a cas
    line_t       data;        // the key
  } cand_t;

  /// Flags of a meta command: its line, where their words end, and the lane in front of the first one.
  typedef struct packed {
    line_t       data;
    logic [63:0] ends;
    logic [5:0]  blank;
    op_e         op;
  } flag_words_t;

  /// What they say.
  typedef struct packed {
    logic              good;     // understood; everything below holds
    logic              plain;    // none sets or shows an expiry
    logic              quiet;
    logic              value;
    logic              timed;    // T: so many seconds
    logic              retimed;  // T stands in front of t
    logic              stale;
    logic              decr;
    logic [31:0]       number;   // F, or D
    logic [31:0]       seconds;
    show_e [Shows-1:0] show;
    opaque_t           opaque;
  } flags_t;

  /// Bytes for the payload mover: of a key that a request takes along, or its item, or both; or of a value.
  typedef struct packed {
    place_t      place;
    logic [13:0] len;
    logic        request;
    logic        item;
  } item_t;

  /// What the sequencer makes of a candidate.
  typedef enum logic [1:0] {
    WkNone,     // nothing: it stands inside of another request
    WkRequest,  // this request, or a part of it
    WkEnd,      // the job ends; [from, its end) is left for the connection's next job
    WkByte      // [from, ...) is for the slow path
  } walk_e;

  typedef struct packed {
    walk_e       kind;
    place_t      from;    // of a key, where its line begins
    logic        back;    // take back what is not committed
    logic        commit;
    logic        first;   // first record of its job
    logic        more;    // WkRequest: another key follows
    logic [6:0]  left;    // Redis: so many
    logic [31:0] rem;     // WkEnd: bytes that the connection's next request needs
  } walk_t;

  /// Numbers of a request, a clock behind its record.
  typedef struct packed {
    logic [31:0] flags;
    logic [31:0] exptime;
    logic [63:0] number;
    logic        relative;  // Redis: an expiry in milliseconds, counted from now or not
    msec_t       expiry;    // and meta commands
  } numbers_t;

  /// What a reader of requests gives out in a clock.
  typedef struct packed {
    queue_t  rec_do;
    record_t rec;
    queue_t  key_do;
    queue_t  putk_do;   // the key goes to the log with its item, too
    beat_t   key;
    logic    put_push;
    put_t    put;
  } out_t;

  /// Multiples of 10, 100 and 1000 come from tables: one level of logic instead of adders.
  typedef logic [15:0][6:0] tens_t;
  typedef logic [127:0][13:0] hundreds_t;

  function automatic tens_t tens();
    for (int unsigned i = 0; i < 16; i++) tens[i] = 7'(10 * i);
  endfunction

  function automatic hundreds_t hundreds();
    for (int unsigned i = 0; i < 128; i++) hundreds[i] = 14'(100 * i);
  endfunction

  typedef logic [15:0][13:0] thousands_t;
  function automatic thousands_t digit_times(input int unsigned n);
    for (int unsigned i = 0; i < 16; i++) digit_times[i] = 14'(n * i);
  endfunction

  localparam tens_t Tens = tens();
  localparam thousands_t TenTens = digit_times(100);
  localparam thousands_t Thousands = digit_times(1000);
  localparam hundreds_t Hundreds = hundreds();

  /// The number of four digits, from tables for each of them.
  function automatic logic [13:0] four(input logic [3:0][3:0] digits);
    return (Thousands[digits[3]] + TenTens[digits[2]]) + (14'(Tens[digits[1]]) + 14'(digits[0]));
  endfunction

endpackage
