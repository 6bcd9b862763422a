// What the card and host software ask of each other: the request port and the punt queue.
package host_pkg;
  import wirekv_pkg::*;
  import request_pkg::*;

  /// The connection of the host's request port (rtl/host/request_port.sv). No peer is given this id, and nothing
  /// that comes from the wire names it.
  localparam conn_t HostConn = '1;

  // begin opcodes: Made by spec/gen.py from spec/commands.toml: `make spec`.
  /// The request port alone: tells the next item of the index, see execute_walk.
  localparam logic [7:0] BinaryWalk = 8'h3f;
  /// The request port alone: tells the key's version, see execute_versions.
  localparam logic [7:0] BinaryVersion = 8'h3e;
  /// The request port alone: tells that an item is stored, with the CAS unique that the request names.
  localparam logic [7:0] BinaryFill = 8'h3d;
  // end opcodes

  /// A place in the index: who goes from 0 on has met all ways of even buckets, then those of odd ones.
  typedef struct packed {
    logic        end_;  // behind all of them
    logic        bank;
    logic [25:0] line;  // of the bank
    logic [2:0]  way;
  } walk_place_t;

  /// What bytes that are passed on as they are begin with: a command, or the next key of one whose first keys gates
  /// have answered.
  typedef enum logic [1:0] {
    RwStart,
    RwGet,
    RwGets,
    RwMget    // `left` keys
  } row_e;

  /// An executed OpHost on its way to the punt queue; `len` bytes of text follow as a beat
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
    row_e       row;
    logic [31:0] left;
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

endpackage
