// Jobs, and what a connection is between two of them: job -> requests -> results -> done.
//
// A *job* is one visit to one connection (or one UDP datagram): a run of received bytes, the room
// for its replies, and the context that the connection was left in. What a job left behind comes back to the
// scheduler as `done_t`.
package conn_pkg;
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;

  /// Clocks: what a job has taken of the pipe; what a connection's jobs take; and from when on that is dear.
  typedef logic [16:0] took_t;
  typedef logic [11:0] cost_t;
  typedef logic [12:0] bar_t;

  function automatic cost_t cost_of(input took_t took);
    return (took[16:12] != '0) ? '1 : cost_t'(took);
  endfunction
  /// The mean when one more has taken so much, and what it keeps of the one before. A mean of 3 clocks or less falls no
  /// further.
  function automatic cost_t kept_of(input cost_t mean);
    return mean - (mean >> 2);
  endfunction
  function automatic cost_t mean_of(input cost_t kept, input took_t took);
    return kept + (cost_of(took) >> 2);
  endfunction

  /// One that waits for a job; its jobs take so much, and so much it owes.
  typedef struct packed {
    conn_t conn;
    cost_t cost;
    cost_t owes;
  } waits_t;

  /// What a connection's next job must know.
  typedef struct packed {
    logic        again;      // nothing of the job counts: what was before holds, and `all`
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

  localparam int unsigned JobBytes = 8192;

  /// What the scheduler must know of a context.
  typedef struct packed {
    logic        again;   // only at a job's end, see ctx_t
    logic [31:0] rx_ptr;
    mode_e       mode;
    logic [31:0] rem;
    logic        vain;    // MdLine: all but one of these `rem` bytes were there, and read
    logic        cont;
    logic        copies;
    logic        binary;
    logic        redis;   // of resp_t, as what follows
    logic        all;
    logic        met;
  } stand_t;

  function automatic stand_t stand_of(input ctx_t ctx);
    stand_of.again  = ctx.again;
    stand_of.rx_ptr = ctx.rx_ptr;
    stand_of.mode   = ctx.mode;
    stand_of.rem    = ctx.rem;
    stand_of.vain   = ctx.mode == MdLine && ctx.noreply;
    stand_of.cont   = ctx.cont;
    stand_of.copies = ctx.copies;
    stand_of.binary = ctx.binary.is;
    stand_of.redis  = ctx.resp.is;
    stand_of.all    = ctx.resp.all;
    stand_of.met    = ctx.resp.met;
  endfunction

  /// A visit to a connection: `len` bytes of received data, and room for their replies.
  typedef struct packed {
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
    logic        more;       // more bytes than these had come
    logic [31:0] tx_ptr;     // where the replies go; of a UDP job 1: over IPv6
    logic [16:0] tx_space;   // bytes free in the transmit ring from tx_ptr
  } visit_t;

  /// A job as the scheduler hands it out. Its context is fetched with its bytes; this much of it is known.
  typedef struct packed {
    visit_t      visit;
    logic        fresh;   // the connection has had no job: its context is zero
    logic        known;   // see ctx_t, as what follows
    logic [31:0] rx_ptr;
    logic        binary;
    logic        redis;
    logic        all;
  } turn_t;

  /// A job: its bytes follow it as a beat stream (an empty packet for none).
  typedef struct packed {
    logic   udp;
    visit_t visit;
    ctx_t   ctx;
  } job_t;

  /// A job is over: its replies are in the transmit ring.
  typedef struct packed {
    conn_t       conn;
    logic [31:0] tx_ptr;
    stand_t      stand;
  } done_t;

  /// Whom a UDP job answers: one a job, in the order of the jobs.
  typedef struct packed {
    peer_t       peer;
    logic [15:0] reqid;
  } uctx_t;

  /// A line of received bytes: lanes [start, stop) belong to the job.
  typedef struct packed {
    line_t      data;
    logic [5:0] start;  // 0 but in the first line
    logic [6:0] stop;   // 64 but in the last line; 0: the job has no bytes
    logic       first;
    logic       last;
    logic       binary; // with first: the job is in the binary protocol
    logic       resp;   // likewise: in Redis' protocol
  } raw_t;

  /// Event counters of the way in (rtl/parse/ingress.sv).
  // begin ingress_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [3:0] {
    IngressCountJobs,          // visits to a TCP connection
    IngressCountUdpJobs,       // datagrams taken
    IngressCountUdpBad,  // datagrams ignored: no room for frame header and request, or no request
    IngressCountLines,         // request lines finished
    IngressCountErrors,        // of these: answered with an error without reaching the store
    IngressCountRollbacks,     // lines put back until more of them has come
    IngressCountSetBytes,      // beats of item data handed to the log
    IngressCountHost,          // lines left to host software
    IngressCountCloses,        // connections closed by `quit`, bad lines or after the peer's FIN
    IngressCountWaitRoom,      // clocks in which requests waited for the store
    IngressCountWaitBytes,     // clocks in which a job waited for its bytes
    IngressCountBadReads,  // reads of receive rings that memory refused; the connection is reset
    IngressCountBadWrites,     // writes to rings that memory refused; the connection is reset
    IngressCountLostDatagrams  // datagrams for host software that found no room, see `UPSTREAM`
  } ingress_count_e;
  localparam int unsigned IngressCounts = 14;
  // end ingress_count_e

endpackage
