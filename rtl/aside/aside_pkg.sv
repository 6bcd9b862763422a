// A cache in front of a server: what the modules of rtl/aside tell each other.
package aside_pkg;
  import wirekv_pkg::*;
  import request_pkg::*;

  /// What leaves for the server: a GET; a write of a key; one of all keys, or of more than can be named.
  typedef enum logic [1:0] {
    GoLook,
    GoOpen,
    GoOpenAll
  } go_e;

  /// What comes back: a value that may fill; the end of a write of a key, or of all. Or all writes are forgotten.
  typedef enum logic [1:0] {
    BackFill,
    BackClose,
    BackCloseAll,
    BackClear
  } back_e;

  /// Of which state of its key a GET asked, and when: it is given back with what the server answers.
  typedef struct packed {
    logic [31:0] second;  // of 1,024 ms, from any start
    logic [31:0] version;
  } ticket_t;

  /// What is done to the entry of a key: it is asked for; a new one takes its place, or one of others'; it goes. Or one of a
  /// set goes, which a new one would displace.
  typedef enum logic [1:0] {
    WayLook,
    WayPut,
    WayTake,
    WayDrop
  } way_e;

  /// What is done to a chain of lines: it is given; its lines become free; all lines become free.
  typedef enum logic [1:0] {
    ChainGive,
    ChainFree,
    ChainClear
  } chain_e;

  /// What the answers must know of a request.
  typedef struct packed {
    logic       plain;    // a GET that asks for a value, no more: its key comes beside it
    logic       first;    // of its job
    logic       ends;     // its job ends with it
    logic       whole;    // and all of the datagram was read
    logic       nothing;  // but for that it says nothing
    logic       six;      // with first: over IPv6
    binary_t    binary;
    meta_t      meta;
    opaque_t    opaque;
    logic       cas_out;
    logic       last_key;
    logic [7:0] klen;
  } ask_t;

  /// Whether a request is a plain GET. The time that an entry has left is the server's affair, and so is who makes a stale
  /// item anew.
  function automatic logic is_plain(input req_t req);
    return req.op == OpGet && req.udp && !req.key_stored && !req.touch && !req.resp.is &&
        (!req.meta.is || (req.meta.value && !req.meta.vivifies && !req.meta.recaches &&
                          !req.meta.retimed && !shows(req.meta.show, ShTime)));
  endfunction

  /// What was found for it.
  typedef struct packed {
    logic there;  // an entry that may be the key's comes
    logic hot;    // the key has become a candidate
  } found_t;

  /// A line of a candidate's key, and the key's length.
  typedef struct packed {
    logic [7:0] klen;
    line_t      data;
  } candidate_t;

  /// How an entry begins; the key and the value follow. Little-endian words.
  typedef struct packed {
    logic [31:0] deadline;  // Unix time in seconds; 0: none. It is served before.
    logic [63:0] unique_no;
    logic [31:0] flags;
    logic [7:0]  unused_high;
    logic [7:0]  klen;
    logic [4:0]  unused_low;
    logic [10:0] vlen;
  } entry_t;
  localparam int unsigned EntryBytes = 20;
  localparam int unsigned KeyMax = 250;
  localparam int unsigned ValueMax = 1024;
  localparam int unsigned EntryLines = (EntryBytes + KeyMax + ValueMax + 63) / 64;

  /// What the core has done to a key, or to all: at most one thing each by the guard's two ports and by the ways.
  typedef struct packed {
    logic  go;
    go_e   go_op;
    logic  back;
    back_e back_op;
    logic  way;
    way_e  way_op;
    logic  forget;  // all entries
  } change_t;

  /// The core's instructions: funct7 of custom-0.
  typedef enum logic [6:0] {
    InWord,
    InKey,
    InTicket,
    InPut,
    InInv,
    InClose,
    InFlush,
    InMove,
    InDrop,
    InTake,
    InAge,
    InHot,
    InStat,
    InReset
  } instruction_e;

endpackage
