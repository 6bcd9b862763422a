// What the stages of tcp_tcb's pipe tell each other, and sums that they share.
package tcb_pkg;
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;

  /// Stages behind the table: diff .. finish.
  localparam int unsigned Stages = 7;

  /// diff: distances between sequence numbers, time since.
  typedef struct packed {
    logic [31:0] seq;       // seq - rcv_nxt; rx_ptr - credit
    logic [31:0] ack;       // ack - snd_una; tx_ptr - tx_end
    logic [31:0] ack_end;   // ack - tx_end
    logic [16:0] sent;      // sent and not acknowledged
    logic [16:0] free;      // room in the receive ring
    logic [16:0] wnd;       // the peer's window in bytes
    logic [15:0] rtt;       // since the timed segment, or what the ACK echoes
    logic        stale;     // by its timestamp older than what has come (PAWS)
    logic        expired;
    logic        rtt_past;  // the ACK covers the timed segment
    logic        rtt_told;  // ... and `rtt` holds of it
    logic        rec_past;  // ... and everything that was lost
    logic        rec_beyond;  // ... and more
    logic        una_past_rec;
    logic        una_before_rec;
    logic        twin;       // found by its name, but of another address
    logic        same_link;  // the segment comes from where the connection's segments go
    logic        told;       // a challenge ACK was sent a moment ago
    logic        nxt_behind;  // the ACK is beyond snd_nxt
    logic        isn_below;  // our number for a SYN is not above what was sent
    seconds_t    second;
    seconds_t    heard;      // seconds since the peer was heard of
    seconds_t    asked;      // ... since a request came
    logic        silent;     // keep-alive probes are due
    seconds_t    keep;       // ... for so many seconds
    logic        bored;      // no request came for too long
    logic        rises;      // the MSS may be again what was agreed on
  } diff_t;

  /// class: where a segment lies, what its ACK is.
  typedef struct packed {
    logic        syn_only;
    logic        seq_eq;      // seq = rcv_nxt
    logic        seq_before;  // seq < rcv_nxt
    logic        seq_inside;  // in the window
    logic        seq_recent;  // less than a ring before rcv_nxt: sent again, or a keep-alive probe
    logic        has;         // carries data or FIN
    logic        has_data;
    logic        ooo;         // carries data for the ring, but none for rcv_nxt
    logic [16:0] ooo_room;    // for so many bytes from seq on there is room
    logic [31:0] end_;        // seq + len - rcv_nxt
    logic        ack_new;
    logic        ack_same;
    logic        ack_bad;     // of something never sent, or too old to be honest (RFC 5961, 5.2)
    logic        ack_fin;     // covers our FIN
    logic        wnd_same;
    logic [16:0] max_wnd;     // with this segment's window
    logic [16:0] mss2;
    logic        stamps;      // not behind what was last acknowledged: TS.Recent is its own
    logic        quoted;      // KdTooBig: the segment is not acknowledged
    logic        smaller;     // ... and bigger than the path takes
    logic [13:0] path_mss;    // ... which is so much
    logic        hole;        // a timeout lowers the MSS to hole_mss
    logic [10:0] hole_mss;
  } class_t;

  /// What goes from stage to stage: an event, its connection's words, and what was found of them.
  typedef struct packed {
    event_t   ev;
    tcb_t     tcb;
    peer_t    peer;
    silence_t silence;
    diff_t    diff;
    class_t   class_;  // from update on
  } work_t;

  /// update: what is to be done.
  typedef struct packed {
    logic        rst;       // send RST: the connection ends
    // answers to a segment by itself, whatever connection there is
    logic        synack;    // send SYN and ACK
    logic        stray;     // send RST: there is no such connection
    logic        refuse;    // say that there is no place, and FIN
    logic        above;     // our number for the SYN is to be moved
    logic        ack;       // send at least an ACK
    logic        challenge; // the same, if it was not done too often
    logic        own;       // the sender is the peer: its segments go there from now on
    logic        rexmit;    // send again what is at snd_una
    logic        probe;     // ... one byte of it, whatever the window
    logic        keep;      // send the keep-alive probe
    logic        tail;      // send the tail-loss probe
    logic        send;      // send what may be sent
    logic        restart;   // set the timer anew
    logic        fin;       // the peer's FIN is taken
    logic        idle;      // the scheduler is told that the peer will send no more
    logic        free_id;
    logic        open;
    logic        acked;
    logic        data;
    logic        closed;
    logic        in_order;  // the payload has the next bytes
    logic [16:0] take;      // payload bytes taken
    logic        to_ring;   // ... and wanted
    logic        keep_ooo;  // ... though some are missing before them
    logic [16:0] jump;      // rcv_nxt goes on by so many bytes: these, and those kept behind them
    logic        credit;    // the scheduler has read
  } act_t;

  /// update: what congestion control and RTO are to know of an event.
  typedef struct packed {
    logic acked;    // something new is acknowledged
    logic dup;      // a duplicate ACK: something arrived behind a hole
    logic opens;    // a shut window opens
    logic expired;  // the timer ran out
    logic lost;     // ... and what is in flight is taken for lost
    logic smaller;  // what is in flight was too big for the path, and is no sign of congestion
    logic rewind;   // all is sent again from snd_una on
    logic tail;     // a tail-loss probe has brought what was lost
  } signs_t;

  /// update: what the peer tells by SACK options.
  typedef struct packed {
    logic told;    // the ACK has one
    logic news;    // ... which says something new
    logic lost;    // ... of bytes more than three segments behind the hole
    logic twice;   // ... and that something came a second time
    logic some;    // something is told, by this event or before
    logic score;   // ... and was when the recovery began
    logic past;    // the ACK covers all that was out when a tail-loss probe went
    logic beyond;  // ... and more
  } sack_t;

  /// limit: what the peer's SACK options leave to be sent, and its place behind snd_una.
  typedef struct packed {
    logic        recovery;  // what is missing is sent again, hole by hole
    logic        hole;      // there is one at `off`, of `len` bytes, or as many as a segment has
    logic        lost;      // ... and it is not just late
    logic        first;     // ... at snd_una
    logic        skip;      // the peer has all from snd_nxt to `off`
    logic        redo;      // all holes are to be sent once more
    logic [16:0] off;
    logic [13:0] len;
    logic [16:0] room;      // what cwnd leaves
  } hole_t;

  /// Who gets a segment.
  typedef struct packed {
    conn_t       conn;
    logic        own;   // peer is to be kept
    peer_t       peer;
    // of an answer to a segment by itself
    logic [31:0] seq, ack;
    logic        has_ack;
    logic        ws_valid;
    logic        sack_ok;
  } who_t;

  /// measure: what is to be sent, bytes in flight, bytes to send, windows.
  typedef struct packed {
    logic        quiet;     // nothing may be sent now
    logic        send;      // segments of an open connection may go
    logic        from_una;  // from snd_una, not from snd_nxt
    logic        probe;
    logic        tail;
    logic        tail_ok;   // the timer may be that of a tail-loss probe
    logic        force_ack;
    logic        blind;     // an answer to a segment by itself
    logic        synack, rst, stray, refuse, keep, restart, free_id;
    logic        narrow;    // packets may be fragmented
    times_t      times;     // what a segment says; to somebody by itself its own number
    logic [16:0] flight;    // from snd_una to snd_nxt
    logic [16:0] sent;      // ... to snd_max
    logic [31:0] unsent;    // from snd_nxt; -1: FIN is out
    logic [31:0] unacked;   // from snd_una
    logic [16:0] free;
    logic [16:0] mss2;
    who_t        who;
  } measure_t;

  /// finish: what RTO and scoreboard are to know of what is sent.
  typedef struct packed {
    logic  data;   // data or FIN go out
    logic  again;  // ... which were sent before
    logic  fills;  // ... and which duplicate ACKs say are missing
    logic  tail;   // ... as a tail-loss probe
    near_t end_;   // ... up to here
  } sent_t;

  localparam logic [16:0] Ring = 17'(RingBytes);

  /// a - b, not below 0.
  function automatic logic [16:0] minus(input logic [16:0] a, input logic [16:0] b);
    return (a > b) ? a - b : '0;
  endfunction
  /// a + b, not above the ring.
  function automatic logic [16:0] plus(input logic [16:0] a, input logic [16:0] b);
    logic [17:0] sum;
    sum = {1'b0, a} + {1'b0, b};
    return (sum >= {1'b0, Ring}) ? Ring : sum[16:0];
  endfunction
  function automatic logic [16:0] lesser(input logic [16:0] a, input logic [16:0] b);
    return (a < b) ? a : b;
  endfunction
  function automatic logic [16:0] greater(input logic [16:0] a, input logic [16:0] b);
    return (a > b) ? a : b;
  endfunction

endpackage
