// Fixed texts, and what the parts of the way back hand to each other.
package reply_pkg;
  import wirekv_pkg::*;
  import request_pkg::*;

  /// A fixed text: replies have the numbers of reply_e; the last one of text stands before a key.
  typedef logic [5:0] fixed_t;
  localparam fixed_t FxNone = 6'(RpNone);
  localparam fixed_t FxValue = 6'd31;
  // Texts of the binary protocol, behind the header: no line's end.
  localparam fixed_t FxNotFound = 6'd20;
  localparam fixed_t FxExists = 6'd21;
  localparam fixed_t FxTooLarge = 6'd22;
  localparam fixed_t FxInvalid = 6'd23;
  localparam fixed_t FxNotStored = 6'd24;
  localparam fixed_t FxNotNumber = 6'd25;
  localparam fixed_t FxUnknown = 6'd26;
  localparam fixed_t FxNoMemory = 6'd27;
  localparam fixed_t FxVersion = 6'd28;
  function automatic logic is_binary(input fixed_t code);
    return code inside {[FxNotFound : FxVersion]};
  endfunction
  // Texts of Redis' protocol; three stand before a number.
  localparam fixed_t FrOk = 6'd32;
  localparam fixed_t FrOne = 6'd33;
  localparam fixed_t FrZero = 6'd34;
  localparam fixed_t FrNil = 6'd35;
  localparam fixed_t FrNull = 6'd36;  // of RESP3
  localparam fixed_t FrPong = 6'd37;
  localparam fixed_t FrNotInteger = 6'd38;
  localparam fixed_t FrOverflow = 6'd39;
  localparam fixed_t FrTooLarge = 6'd40;
  localparam fixed_t FrNoMemory = 6'd41;
  localparam fixed_t FrTooLong = 6'd42;
  localparam fixed_t FrInteger = 6'd43;
  localparam fixed_t FrNegative = 6'd44;
  localparam fixed_t FrArray = 6'd45;
  localparam fixed_t FrBadExpire = 6'd46;
  localparam fixed_t FrString = 6'd47;
  localparam fixed_t FrNone = 6'd48;

  // Texts of meta commands: replies from RpMetaNoop on have the numbers of reply_e, too.
  localparam fixed_t FmNotFound = 6'd29;
  localparam fixed_t FmExists = 6'd30;
  localparam fixed_t FmDone = 6'd63;
  localparam fixed_t FmMissing = 6'd18;

  /// What stands behind a value.
  typedef logic [1:0] ending_t;
  localparam ending_t EnNone = 2'd0;
  localparam ending_t EnCrlf = 2'd1;
  localparam ending_t EnCrlfEnd = 2'd2;  // behind the last one

  /// Lines of keys, and keys that nobody shows, counted from reset: more than may be on their way.
  typedef logic [8:0] key_turn_t;
  typedef logic [3:0] drop_turn_t;

  /// What is left to say of earlier records: the end of a value, then a reply.
  typedef struct packed {
    ending_t ending;
    fixed_t  reply;
  } ahead_t;

  /// What a result says. Text in this order: `ahead`, of earlier records of the job; `own`, key,
  /// numbers; the value, and `ending` behind it.
  typedef struct packed {
    ahead_t      ahead;
    fixed_t      own;
    logic        binary;     // the order is: numbers, which are the header; `own`, key, value
    logic        silent;     // nothing, but for `ahead`
    logic [7:0]  klen;       // 0: none
    logic        numbers;
    logic        joins;      // they begin with the end of the value before; a long one follows
    logic        value;      // its bytes come as chunks
    logic        inner;      // so few that they stand in one line with what is around them
    logic [4:0]  inner_len;
    ending_t     ending;
    logic        host;       // lines of the host's, or of a meta command's reply
    logic        meta;
    piece_t      host_len;
    drop_turn_t  drops;      // keys before it that are dropped
    logic        last;       // of its job
    logic [21:0] size;       // value and ending
  } rec_t;
  localparam int unsigned InnerMax = 16;

  /// Numbers as text; its end is at the highest lane, and in front of it are zeros.
  localparam int unsigned NumberLanes = 42;
  typedef struct packed {
    logic [NumberLanes-1:0][7:0] text;
    logic [5:0]                  len;
  } numbers_t;

  // The header of a binary reply, as it is counted; what of it is only known as text is made of this.
  typedef enum logic [1:0] {
    ExText,    // no header: the reply is text
    ExNone,
    ExFlags,   // 4 bytes of extras
    ExNumber   // no extras; the body is a number of 8 bytes
  } extra_e;
  typedef struct packed {
    logic [7:0]  opcode;
    logic [31:0] opaque;
    logic [7:0]  klen;
    logic [7:0]  status;
    logic [21:0] body;
    logic [63:0] unique_no;
    extra_e      extra;
    logic [63:0] number;   // or flags
  } header_t;

  // Where the parts of a piece are: `ahead` ends in front of lane OwnAt, a key begins at KeyAt.
  localparam int unsigned OwnAt = 18;
  localparam int unsigned KeyAt = 24;
  localparam int unsigned KeyRoom = 64 - KeyAt;
  localparam int unsigned OwnRoom = 64 - OwnAt;

  // ---------------------------------------------------------------- fixed texts
  // begin version: Made by spec/gen.py from spec/commands.toml: `make spec`.
  /// The memcached whose replies these are.
  localparam logic [47:0] Version = "1.6.38";
  // end version

  localparam int unsigned TextMax = 80;
  typedef logic [TextMax-1:0][7:0] long_t;

  /// The characters of `text` from lane 0 on.
  function automatic long_t chars_of(input logic [8*TextMax-1:0] text);
    int unsigned n;
    n = 0;
    for (int unsigned i = 0; i < TextMax; i++) if (text[8*i+:8] != 8'h00) n = i + 1;
    chars_of = '0;
    for (int unsigned i = 0; i < TextMax; i++) if (i < n) chars_of[i] = text[8*(n-1-i)+:8];
  endfunction
  function automatic long_t line_of(input logic [8*TextMax-17:0] text);
    return chars_of({text, 16'h0d0a});
  endfunction

  function automatic long_t fixed_text(input fixed_t code);
    case (code)
      6'(RpError):       return line_of("ERROR");
      6'(RpStored):      return line_of("STORED");
      6'(RpNotStored):   return line_of("NOT_STORED");
      6'(RpExists):      return line_of("EXISTS");
      6'(RpNotFound):    return line_of("NOT_FOUND");
      6'(RpDeleted):     return line_of("DELETED");
      6'(RpTouched):     return line_of("TOUCHED");
      6'(RpOk):          return line_of("OK");
      6'(RpEnd):         return line_of("END");
      6'(RpVersion):     return line_of((8*TextMax-16)'({"VERSION ", Version}));
      6'(RpBadFormat):   return line_of("CLIENT_ERROR bad command line format");
      6'(RpBadChunk):    return line_of("CLIENT_ERROR bad data chunk");
      6'(RpBadExptime):  return line_of("CLIENT_ERROR invalid exptime argument");
      6'(RpBadDelta):    return line_of("CLIENT_ERROR invalid numeric delta argument");
      6'(RpNonNumeric):
      return line_of("CLIENT_ERROR cannot increment or decrement non-numeric value");
      6'(RpTooLarge):    return line_of("SERVER_ERROR object too large for cache");
      6'(RpNoMemory):    return line_of("SERVER_ERROR out of memory storing object");
      6'(RpBadDelete):
      return line_of("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
      FxValue:           return chars_of("VALUE ");
      FxNotFound:        return chars_of("Not found");
      FxExists:          return chars_of("Data exists for key.");
      FxTooLarge:        return chars_of("Too large.");
      FxInvalid:         return chars_of("Invalid arguments");
      FxNotStored:       return chars_of("Not stored.");
      FxNotNumber:       return chars_of("Non-numeric server-side value for incr or decr");
      FxUnknown:         return chars_of("Unknown command");
      FxNoMemory:        return chars_of("Out of memory allocating item");
      FxVersion:         return chars_of((8*TextMax)'(Version));
      FrOk:              return line_of("+OK");
      FrOne:             return line_of(":1");
      FrZero:            return line_of(":0");
      FrNil:             return line_of("$-1");
      FrNull:            return line_of("_");
      FrPong:            return line_of("+PONG");
      FrNotInteger:      return line_of("-ERR value is not an integer or out of range");
      FrOverflow:        return line_of("-ERR increment or decrement would overflow");
      FrTooLarge:        return line_of("-ERR item is larger than this server takes (-I)");
      FrNoMemory:
      return line_of("-OOM command not allowed when used memory > 'maxmemory'.");
      FrTooLong:
      return line_of("-ERR Protocol error: command is longer than this server takes");
      FrBadExpire:       return line_of("-ERR invalid expire time in 'getex' command");
      FrString:          return line_of("+string");
      FrNone:            return line_of("+none");
      FrInteger:         return chars_of(":");
      FrNegative:        return chars_of(":-");
      FrArray:           return chars_of("*");
      FmNotFound:        return line_of("NF");
      FmExists:          return line_of("EX");
      FmDone:            return line_of("HD");
      FmMissing:         return line_of("EN");
      6'(RpMetaNoop):    return line_of("MN");
      6'(RpDuplicate):   return line_of("CLIENT_ERROR duplicate flag");
      6'(RpInvalid):     return line_of("CLIENT_ERROR invalid flag");
      6'(RpInvalidOrDuplicate): return line_of("CLIENT_ERROR invalid or duplicate flag");
      6'(RpBadToken):    return line_of("CLIENT_ERROR bad token in command line format");
      6'(RpBadModeLen):  return line_of("CLIENT_ERROR incorrect length for M token");
      6'(RpBadInitial):  return line_of("CLIENT_ERROR invalid numeric initial value");
      6'(RpBadMetaDelta): return line_of("CLIENT_ERROR invalid numeric delta value");
      6'(RpBadSetMode):  return line_of("CLIENT_ERROR invalid mode for ms M token");
      6'(RpBadSumMode):  return line_of("CLIENT_ERROR invalid mode for ma M token");
      6'(RpLongOpaque):  return line_of("CLIENT_ERROR opaque token too long");
      6'(RpManyGetFlags): return line_of("CLIENT_ERROR options flags are too long");
      6'(RpManyFlags):   return line_of("CLIENT_ERROR options flags too long");
      6'(RpBadKey):      return line_of("CLIENT_ERROR error decoding key");
      default:           return '0;
    endcase
  endfunction

  localparam int unsigned EndingMax = 7;
  localparam logic [EndingMax-1:0][7:0] EndingText = {8'h0a, 8'h0d, "D", "N", "E", 8'h0a, 8'h0d};
  function automatic logic [2:0] ending_length(input ending_t ending);
    return (ending == EnCrlfEnd) ? 3'd7 : (ending == EnCrlf) ? 3'd2 : 3'd0;
  endfunction

  // As tables, which cost a LUT or two a bit: lengths, what is ahead (its end at lane OwnAt), and
  // the first and the second half of a text that begins there. A binary text is a second half.
  typedef logic [63:0][6:0] lengths_t;
  typedef logic [255:0][4:0] ahead_lengths_t;
  typedef logic [OwnAt-1:0][7:0] ahead_text_t;
  typedef ahead_text_t [255:0] ahead_texts_t;
  typedef logic [OwnRoom-1:0][7:0] own_text_t;
  typedef own_text_t [127:0] own_texts_t;

  function automatic logic [6:0] length_of(input long_t text);
    length_of = '0;
    for (int unsigned i = 0; i < TextMax; i++) if (text[i] != 8'h00) length_of = 7'(i + 1);
  endfunction
  function automatic lengths_t lengths();
    for (int unsigned c = 0; c < 64; c++) lengths[c] = length_of(fixed_text(6'(c)));
  endfunction
  localparam lengths_t Length = lengths();

  /// 0: nothing, or together they are too long.
  function automatic logic [4:0] ahead_length(input ahead_t ahead);
    logic [6:0] n;
    n = 7'(ending_length(ahead.ending)) + length_of(fixed_text(ahead.reply));
    return (n <= 7'(OwnAt) && !is_binary(ahead.reply)) ? 5'(n) : 5'd0;
  endfunction
  function automatic ahead_lengths_t ahead_lengths();
    for (int unsigned c = 0; c < 256; c++) ahead_lengths[c] = ahead_length(ahead_t'(c));
  endfunction
  localparam ahead_lengths_t AheadLength = ahead_lengths();

  function automatic ahead_text_t ahead_text(input ahead_t ahead);
    long_t reply;
    int unsigned from, behind;
    reply  = fixed_text(ahead.reply);
    from   = OwnAt - 32'(ahead_length(ahead));
    behind = from + 32'(ending_length(ahead.ending));
    for (int unsigned i = 0; i < OwnAt; i++)
    ahead_text[i] = (i < from) ? 8'h00 : (i < behind) ? EndingText[i-from] : reply[i-behind];
  endfunction
  function automatic ahead_texts_t ahead_texts();
    for (int unsigned c = 0; c < 256; c++) ahead_texts[c] = ahead_text(ahead_t'(c));
  endfunction
  localparam ahead_texts_t Ahead = ahead_texts();

  function automatic own_texts_t own_texts();
    long_t text;
    for (int unsigned c = 0; c < 64; c++) begin
      text            = fixed_text(6'(c));
      own_texts[c]    = text[OwnRoom-1:0];
      own_texts[64+c] = (8 * OwnRoom)'(text[TextMax-1:OwnRoom]);
      if (is_binary(6'(c))) begin
        own_texts[c]    = '0;
        own_texts[64+c] = text[OwnRoom-1:0];
      end
    end
  endfunction
  localparam own_texts_t Own = own_texts();

  // ---------------------------------------------------------------- lengths
  /// What is known of a record's first piece before its numbers are.
  typedef struct packed {
    logic [6:0]  len;         // without the block of numbers, short value and ending
    logic [6:0]  joined_len;  // with short value and ending
    logic [6:0]  key_end;     // the block's lane
    logic [6:0]  room;        // what the numbers may have there, so that the block fits
    logic        fits;        // without numbers it does
    logic        key_fits;
    logic [5:0]  own_rest;    // bytes of the second half of a fixed text
    logic [4:0]  behind_len;  // short value and ending
    logic [21:0] size;        // of all but the numbers
  } lens_t;
  /// What these are sums of.
  typedef struct packed {
    logic [6:0] head;        // what is ahead, and the first half of its own text
    logic [6:0] head_end;    // the lane behind it
    logic [6:0] key;         // bytes of the key there
    logic       key_fits;
    logic [6:0] key_behind;  // with short value and ending
    logic [4:0] behind;
    logic [6:0] room;        // for the block
    logic [5:0] own_rest;
    logic [8:0] whole;       // text and key
    logic [8:0] body_len;    // and a binary reply's extras, or number
  } parts_t;
  /// With the lengths of its own text and of what is ahead.
  function automatic parts_t parts_of(input rec_t rec, input logic [6:0] own,
                                      input logic [4:0] ahead, input extra_e extra);
    logic [6:0] own_first, key;
    own_first           = rec.binary ? '0 : (own > 7'(OwnRoom)) ? 7'(OwnRoom) : own;
    parts_of.key_fits   = rec.binary ? rec.klen == '0 : rec.klen <= 8'(KeyRoom);
    key                 = parts_of.key_fits ? 7'(rec.klen) : '0;
    parts_of.head       = 7'(ahead) + own_first;
    parts_of.head_end   = 7'(OwnAt) + own_first;
    parts_of.key        = key;
    parts_of.behind     = rec.inner ? rec.inner_len + 5'(ending_length(rec.ending)) : '0;
    parts_of.key_behind = key + 7'(parts_of.behind);
    parts_of.room       = rec.binary ? 7'(OwnRoom) : parts_of.key_fits ? 7'(KeyRoom) - key : '0;
    parts_of.own_rest   = rec.binary ? 6'(own) : (own > 7'(OwnRoom)) ? 6'(own - 7'(OwnRoom)) : '0;
    parts_of.whole      = 9'(own) + 9'(rec.klen);
    parts_of.body_len   = (9'(rec.klen) + 9'(own)) +
        ((extra == ExNumber) ? 9'd8 : (extra == ExFlags) ? 9'd4 : 9'd0);
  endfunction
  function automatic lens_t lens_of(input rec_t rec, input parts_t parts);  // some of each
    lens_of.key_fits   = parts.key_fits;
    lens_of.len        = parts.head + parts.key;
    lens_of.key_end    = parts.head_end + parts.key;
    lens_of.own_rest   = parts.own_rest;
    lens_of.behind_len = parts.behind;
    lens_of.joined_len = parts.head + parts.key_behind;
    lens_of.fits       = 7'(parts.behind) <= parts.room;
    lens_of.room       = parts.room - 7'(parts.behind);
    lens_of.size       = rec.size + 22'(parts.whole);
  endfunction

  // ---------------------------------------------------------------- lines
  /// A line of a transmit ring, the parts of it in `strb`.
  typedef struct packed {
    line_t       data;
    strb_t       strb;
    logic        first;  // of its job
    logic        last;
    conn_t       conn;
    logic [9:0]  line;   // with first: its number in the ring
    logic [31:0] ptr;    // with last: the job's text ends here
    logic        bad;    // with last: the job has bytes that nobody may get
  } ring_line_t;

  /// What a datagram's header says, in the order of the datagrams.
  typedef struct packed {
    logic        empty;  // no datagram, only the end of a job
    logic        last;   // of its job
    logic        bad;    // has bytes that nobody may get: dropped
    logic [10:0] len;    // with the header
    logic [15:0] seq;
    logic [15:0] total;
  } dgram_meta_t;
  localparam int unsigned DgramHeader = 8;

  typedef struct packed {
    line_t data;
    logic  last;
  } dgram_line_t;

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

  /// Event counters of the way back (rtl/reply/egress.sv).
  // begin egress_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [3:0] {
    EgressCountJobs,         // jobs begun
    EgressCountValues,       // VALUE lines begun
    EgressCountReplies,      // fixed replies
    EgressCountNumbers,      // results of incr and decr
    EgressCountLines,        // writes to the transmit rings
    EgressCountDatagrams,    // UDP datagrams sent
    EgressCountHostReqs,     // requests handed to the host program
    EgressCountHostPieces,   // pieces of its answers
    EgressCountHostBad,      // bytes of such a piece missing or too many
    EgressCountWaitChunk,    // clocks in which a reply waited for the value's bytes
    EgressCountWaitRing,     // clocks in which reply text waited for the transmit-ring writer
    EgressCountWaitUdp,      // clocks in which reply text waited for room for datagrams
    EgressCountErrorLimit,   // errors not sent in a datagram: beyond 50 at once and 1,000 a second
    EgressCountErrorService  // ... to a service's port
  } egress_count_e;
  localparam int unsigned EgressCounts = 14;
  // end egress_count_e

endpackage
