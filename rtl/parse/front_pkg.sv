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
    // the piece as a word
    cmd_e        cmd;
    logic        noreply;
    logic        zero;     // exactly "0"
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

  /// What the words of a line have said so far.
  typedef struct packed {
    cmd_e        cmd;
    logic        old;       // begun in an earlier job: the rest is in the job's context
    logic        eager;     // commit the keys of a `get` as they come
    logic        indented;  // more spaces before the command than memcached puts up with in a
                            // line over 2048 bytes
    logic [3:0]  words;     // complete ones, at most 8
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

  /// Whose place in the log a record carries.
  typedef enum logic [1:0] {
    OsOwn,   // the record's own
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

endpackage
