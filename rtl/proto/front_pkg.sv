// What the stages of the way in (rtl/proto/front.sv) tell each other.
package front_pkg;
  import wirekv_pkg::*;
  import proto_pkg::*;

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

  /// The first 32 characters of a word, as far as numbers are concerned.
  typedef struct packed {
    logic [31:0]      digit;
    logic [31:0]      space;   // \t \v \f \r
    logic [31:0]      minus;
    logic [31:0]      plus;
    logic [31:0][3:0] low;     // low nibbles
    logic [6:0]       n;
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

endpackage
