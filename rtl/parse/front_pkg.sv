// What the stages of the way in (rtl/parse/front.sv) tell each other.
package front_pkg;
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
    CmdHost     // known, but answered by host software
  } cmd_e;

  typedef enum logic [1:0] {
    PcText,   // of a request line: bytes up to a delimiter, at most 64
    PcValue,  // item data, 64 bytes but for the last
    PcSkip    // bytes to discard
  } kind_e;

  /// What a piece is as a word.
  typedef struct packed {
    cmd_e cmd;
    logic noreply;
    logic zero;     // exactly "0"
    logic http;     // begins with HTTP/
    logic foreign;  // begins as no command of memcached does
  } word_t;

  /// A beat of a job, with its delimiters.
  typedef struct packed {
    line_t       data;
    logic [6:0]  len;
    logic        last;
    logic [63:0] hard;  // space, LF, NUL
    logic [63:0] lf;
    logic [63:0] cr;
    logic [63:0] nul;
    logic [64:0] stop;  // one hot: the place behind the last byte of a last beat
  } marked_t;

  /// What the scanner cuts from a job's bytes, one a clock; the bytes stand at lane 0.
  typedef struct packed {
    line_t       data;
    kind_e       kind;
    logic [6:0]  n;        // bytes, the delimiter not counted
    logic [13:0] pos;      // bytes of the job consumed, delimiter included
    logic [13:0] left;     // bytes of the job behind them
    logic        sof;      // first piece of the job
    logic        eof;      // last piece of the job
    logic        ends;     // PcText: a delimiter follows, the word is complete
    logic        eol;      // PcText: the delimiter is the line's end
    logic        nul;      // PcText: the delimiter is a NUL, nothing after it in the line counts
    logic        slow;     // PcText with eol: decode may take some clocks, and says (unless eof)
                           // by a verdict how the scanner goes on
    logic        last;     // PcValue: last one in this job
    logic        final_;   // PcValue: the CRLF place follows; PcSkip: nothing more to discard
    logic        crlf;     // PcValue: CRLF is there
    word_t       word;
  } piece_t;

  /// The first 33 characters of a word and what follows, as far as numbers are concerned.
  typedef struct packed {
    logic [32:0]      digit;
    logic [32:0]      space;   // \t \v \f \r: may stand before a number
    logic [32:0]      ender;   // these, a blank, LF or NUL: may stand behind it
    logic [32:0]      minus;
    logic [32:0]      plus;
    logic [32:0][3:0] low;     // low nibbles
  } chars_t;

  /// Early results of reading a number, beside the piece.
  typedef struct packed {
    logic        ok_unsigned;  // fits 64 bits unsigned, and is not negative
    logic        ok_signed;    // fits 64 bits signed
    logic        neg;
    logic        nonzero;
    logic        big;          // more than 8 digits: `low8` is not the value
    logic [26:0] low8;
  } num_t;

  typedef enum logic [2:0] {
    FdNone,
    FdFlags,
    FdExptime,
    FdLength,
    FdNumber
  } field_e;

  /// memcached takes a line apart into so many words.
  localparam logic [4:0] WordsMax = 5'd23;

  /// What the words of a line have said so far.
  typedef struct packed {
    cmd_e        cmd;
    logic        old;       // begun in an earlier job: the rest is in the job's context
    logic        eager;     // commit the keys of a `get` as they come
    logic        indented;  // more spaces before the command than memcached puts up with in a
                            // line over 2048 bytes
    logic [4:0]  words;     // complete ones, at most WordsMax
    logic [8:0]  chars;     // of the word so far, at most 511
    logic        nul;       // the rest counts for nothing
    logic [7:0]  klen;
    logic        key_long;
    logic        bad;       // a `get` line with a key too long
    logic        flags_ok;
    logic        flags_set;
    logic        exptime_ok;
    logic        number_ok;
    logic        length_ok;
    logic        length_neg;
    logic        length_big;
    logic [26:0] length;
    logic        too_big;   // the item would be too large
    logic        zero;      // third word is "0"
    logic        noreply;   // last word is "noreply"
    logic        foreign;   // first word begins as no command of memcached does
    logic        http;      // last word begins with HTTP/, of the first WordsMax
  } line_info_t;

  /// A piece and what it means in its line.
  typedef struct packed {
    piece_t      piece;
    line_info_t  line;       // this piece included
    logic        text;       // part of a line
    logic        value;      // item data
    logic        skip;       // bytes to discard
    logic        empty_job;  // no bytes: the job is about a host answer or the rest of a value
    logic        ignored;    // belongs to a part of the job that does not count
    logic        key_beat;   // bytes of a key
    logic        word_start; // first piece of its word
    logic        first_word;
    logic        host_text;  // bytes of a line for host software
    logic        get_key;    // completes a key of a `get`
    logic        key_too_long;  // makes a `get` line bad
    logic [13:0] line_pos;   // where the line began
    logic [13:0] line_len;   // bytes of it so far
    logic [13:0] word_pos;   // where the word began
  } step_t;

  function automatic logic is_get(input cmd_e cmd);
    return cmd inside {CmdGet, CmdGets, CmdGat, CmdGats};
  endfunction

  function automatic logic is_gat(input cmd_e cmd);
    return cmd inside {CmdGat, CmdGats};
  endfunction

  function automatic logic is_store(input cmd_e cmd);
    return cmd inside {CmdSet, CmdAdd, CmdReplace, CmdCas, CmdAppend, CmdPrepend};
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
      default:    return OpGet;
    endcase
  endfunction

  /// How the scanner goes on after a slow line.
  typedef enum logic [1:0] {
    VdLine,   // with the next line
    VdValue,  // with `count` bytes of item data
    VdSkip,   // discarding `count` bytes
    VdDrop    // not at all: the rest of the job is read again later
  } resume_e;

  typedef struct packed {
    logic        valid;
    resume_e    kind;
    logic [13:0] count;
    logic        final_;   // what VdValue and VdSkip are about ends in this job
  } resume_t;

  /// What becomes of a request line.
  typedef enum logic [3:0] {
    AcReply,
    AcEndOfGet,   // the record went out with the last key
    AcOp,
    AcStore,      // data follows, all of it in this job
    AcStorePart,  // data follows, not all of it in this job
    AcSwallow,
    AcHost,
    AcQuit,
    AcBack        // the job holds too little: read it again
  } action_e;

  /// What a complete request line says.
  typedef struct packed {
    action_e     action;
    reply_e      reply;
    op_e         op;
    logic        noreply;
    logic        use_exptime;
    logic [31:0] vlen;         // of the value behind it
    logic [31:0] need;         // its CR LF included
  } order_t;

  /// How a job leaves its connection.
  typedef struct packed {
    logic [13:0] pos;
    mode_e       mode;
    logic [31:0] rem;
    logic        noreply;
  } end_t;

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

  /// What decode does with a queue: add a word; make what was added count, or take it back.
  typedef struct packed {
    logic push;
    logic commit;
    logic back;
  } queue_t;

  // ---------------------------------------------------------------- the line engine
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
  /// Longest value that the line engine moves. Half of the lines hold it, with the request before.
  localparam int unsigned ValueMax = 1920;

  /// A line of received bytes: lanes [start, stop) belong to the job.
  typedef struct packed {
    line_t      data;
    logic [5:0] start;  // 0 but in the first line
    logic [6:0] stop;   // 64 but in the last line; 0: the job has no bytes
    logic       first;
    logic       last;
  } raw_t;

  /// A place where a request may start.
  typedef struct packed {
    place_t place;
    logic   ending;  // none: the job ends
    logic   key;     // behind a blank, where a line of keys may go on
    logic   last;    // the job has no line behind this one
  } start_t;

  /// Digits in groups: the number is (high * 10^4 + mid) * 10^4 + low.
  typedef struct packed {
    logic [6:0]  high;
    logic [13:0] mid;
    logic [13:0] low;
  } digits_t;

  /// What the words of a request are, the first one apart.
  typedef enum logic [2:0] {
    FmKey,     // key, end of the line or a blank
    FmGat,     // number, blank
    FmStore,   // key, number a, number b, length
    FmDelete,  // key
    FmNumber,  // key, number a
    FmTouch    // key, number a: an expiry time
  } form_e;

  /// What recognise knows from a request's first word.
  typedef struct packed {
    logic [3:0] key;
    form_e      form;
    op_e        op;
    logic       cas_out;
    logic       touch;
    logic       found;
  } what_t;

  /// What a request begins with: a request, or the part of one that has a window for itself.
  typedef struct packed {
    place_t      place;
    logic        ending;      // as in start_t
    logic        key;
    logic        good;        // understood; everything below holds
    logic        unfinished;  // the job ends before it does
    place_t      next;        // behind it, value included
    place_t      value;       // where its value starts
    op_e         op;
    logic        record;      // gives a request; else it only says what the keys behind it are for
    logic        keys;        // begins or goes on with keys: the op is that of the first part
    logic        more;        // another key follows
    logic        store;       // a value of `vlen` bytes and CR LF follows
    logic        noreply;
    logic        cas_out;
    logic        touch;
    logic        exptime_a;   // the expiry time is number a, not b
    logic [6:0]  klen;
    logic [10:0] vlen;
    digits_t     a;
    digits_t     b;
    line_t       data;        // the key
  } cand_t;

  /// What the walker makes of a candidate.
  typedef enum logic [1:0] {
    WkNone,     // nothing: it stands inside of another request
    WkRequest,  // [from, to) of the job is this request, or a part of it
    WkEnd,      // the job ends; [from, its end) is left for the connection's next job
    WkScan      // [from, its end) is for the scanner
  } walk_e;

  typedef struct packed {
    walk_e       kind;
    place_t      from;
    logic        back;    // take back what is not committed
    logic        commit;
    logic        first;   // first record of its job
    logic [31:0] rem;     // WkEnd: bytes that the connection's next request needs
  } walk_t;

  /// Numbers of a request, a clock behind its record.
  typedef struct packed {
    logic [31:0] flags;
    logic [31:0] exptime;
    logic [33:0] number;
  } numbers_t;

  /// What decode gives out in a clock.
  typedef struct packed {
    queue_t  rec_do;
    record_t rec;
    queue_t  key_do;
    beat_t   key;
    queue_t  putb_do;
    beat_t   putb;
    logic    put_push;
    put_t    put;
  } out_t;

  /// Multiples of 10 and 100 come from tables: one level of logic instead of adders.
  typedef logic [15:0][6:0] tens_t;
  typedef logic [127:0][13:0] hundreds_t;

  function automatic tens_t tens();
    for (int unsigned i = 0; i < 16; i++) tens[i] = 7'(10 * i);
  endfunction

  function automatic hundreds_t hundreds();
    for (int unsigned i = 0; i < 128; i++) hundreds[i] = 14'(100 * i);
  endfunction

  localparam tens_t Tens = tens();
  localparam hundreds_t Hundreds = hundreds();

endpackage
