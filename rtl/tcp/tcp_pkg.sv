// What tcp/ and conn/scheduler tell each other. Pointers are TCP sequence numbers, so a pointer's
// low 16 bits are also the byte's place in its ring.
package tcp_pkg;
  import wirekv_pkg::*;
  import net_pkg::*;

  /// News of a connection, in the order of its fields. `open` comes alone.
  typedef struct packed {
    logic        open;    // handshake done: rx_ptr = first byte to come, tx_ptr = first to send
    logic        acked;   // the peer has every byte before tx_ptr: the ring is free up to it
    logic        data;    // every byte before rx_ptr is in the ring (its writes are acknowledged)
    logic        fin;     // the peer will send no more; not before `data` of its last byte. Or it
                          // asked for nothing for too long: then `data`, `fin` may come after it
    logic        closed;  // the connection is over; the id is in use until `release_id` comes back
    logic        redis;   // with open: it came by the port of Redis' protocol
    conn_t       conn;
    logic [31:0] rx_ptr;
    logic [31:0] tx_ptr;
  } ev_t;

  /// From the scheduler: where reading and writing of a connection now stand.
  typedef struct packed {
    conn_t       conn;
    logic [31:0] rx_ptr;      // bytes before it are consumed: their ring space is free
    logic [31:0] tx_ptr;      // bytes before it are in the transmit ring, to be sent
    logic        close;       // send FIN after tx_ptr (sticky: later commands repeat it); what
                              // still comes in is thrown away, and ends the connection
    logic        reset;       // send RST and forget
    logic        release_id;  // answer to `closed`: nothing of this connection is in flight
  } app_t;

  // ---------------------------------------------------------------- inside tcp/

  /// Life of an id. It begins when a handshake is complete: before that nothing is kept, see
  /// tcp_cookie. Who has closed which half is told by flags beside it, so that the states
  /// Established .. LastAck of RFC 9293 are all StOpen.
  typedef enum logic [1:0] {
    StFree,
    StOpen,
    StTimeWait,  // over; the scheduler was told
    StDead       // over; waits for release_id
  } state_e;

  /// Tail-loss probes (RFC 8985, section 7).
  typedef enum logic [1:0] {
    TailNone,
    TailArmed,  // `deadline` is that of a probe
    TailNew,    // new data were sent as the probe, and are not acknowledged
    TailAgain   // ... or the last segment once more; perhaps it was not lost
  } tail_e;

  /// Seconds, modulo 2^16. What is `long_ago` is kept from seeming to be new again.
  typedef logic [15:0] seconds_t;
  localparam seconds_t LongAgo = 16'hFF00;  // 18 hours
  function automatic logic long_ago(input seconds_t since);
    return since >= LongAgo;
  endfunction

  /// Congestion control (RFC 5681, RFC 6582).
  typedef struct packed {
    logic [16:0] cwnd;
    logic [16:0] ssthresh;
    logic [16:0] ca_count;  // bytes acknowledged towards the next step of cwnd
    near_t       recover;   // from snd_una - 1 to snd_max
    logic        in_rec;
    logic [1:0]  dupacks;
  } cong_t;

  /// Round trips and the timeout (RFC 6298), in ticks.
  typedef struct packed {
    logic        on;      // a segment that ends at `seq` is being timed, since `since`
    near_t       seq;
    logic [15:0] since;
    logic        valid;
    logic [18:0] srtt;    // times 8
    logic [17:0] rttvar;  // times 4
    logic [15:0] rto;
  } rtt_t;

  /// Hot state of a connection: one word of the table, at most 64 bytes.
  typedef struct packed {
    state_e      state;
    logic        fin_rcvd;    // the peer's FIN is in order and counted in rcv_nxt
    logic        close;       // the scheduler has closed: FIN is at tx_end
    logic        fin_first;   // ... and was sent before the peer's came
    logic        fin_acked;
    logic        released;    // StTimeWait: release_id came
    logic        over;        // StTimeWait: the time is over, or the id is wanted
    logic        tell_closed; // `closed` is still to be said
    // where the connection waits for a visit: at most once in each queue
    logic        in_more;
    logic        in_fast;
    logic        in_slow;
    logic        in_wait;
    // what a quiet event would have sent, and `more` will
    logic        owe_ack;     // an ACK
    logic        owe_again;   // what is at snd_una
    // sending
    logic [31:0] snd_una;
    logic [31:0] snd_nxt;
    logic [31:0] snd_max;     // the highest snd_nxt ever; a timeout moves snd_nxt back
    logic [31:0] tx_end;      // bytes before it are in the transmit ring
    logic [16:0] snd_wnd;     // scaled, at most the ring's size
    logic [16:0] max_wnd;     // the largest snd_wnd ever (RFC 5961's MAX.SND.WND)
    logic        ws_ok;
    logic [3:0]  ws;
    logic [13:0] mss;         // largest payload both ends agree on
    cong_t       cong;
    logic [3:0]  tries;       // timeouts since something was acknowledged, or the window opened
    // receiving
    logic [31:0] rcv_nxt;
    logic [31:0] credit;      // bytes before it are read by the scheduler
    logic [16:0] adv;         // window last advertised, less what has arrived since
    logic [16:0] pend;        // bytes taken but not yet acknowledged
    // time, in ticks
    rtt_t        rtt;
    tail_e       tail;
    logic        tm_on;       // retransmission, probe or persist timer
    logic [19:0] deadline;    // of that timer, or of StTimeWait
    logic        told_on;     // a challenge ACK was sent at told_at
    logic [11:0] told_at;     // in units of 64 ticks
  } tcb_t;

  typedef span_t [Spans-1:0] spans_t;

  /// What a SACK option of the peer tells: what it has behind the first byte that it lacks. Disjoint,
  /// in ascending order, the valid ones first. Where it is not told, nothing of it holds.
  typedef struct packed {
    logic              told;   // there is such an option
    logic              twice;  // ... and something came a second time (D-SACK, RFC 2883)
    span_t [Spans-1:0] spans;
  } sacked_t;

  /// Timestamps of a connection (RFC 7323).
  typedef struct packed {
    logic        on;      // agreed on
    logic [31:0] offset;  // what our clock is ahead of the ticks
    logic [31:0] recent;  // TS.Recent: what is echoed
  } stamps_t;

  /// In which second something happened last, and what else each event may change: another word of the table.
  typedef struct packed {
    seconds_t heard;  // the peer was heard of; with the first probe: so that it is due now
    seconds_t asked;  // a request was taken, or some of a reply acknowledged
    logic     probed; // a keep-alive probe was sent since
    // of the path
    logic [13:0] mss;  // what was agreed on
    logic [9:0]  low;  // the connection's MSS fell below that
    stamps_t     stamps;
  } silence_t;

  /// What the handshake says about a connection.
  typedef struct packed {
    logic [13:0] mss;    // largest payload both ends agree on
    logic        ws_ok;
    logic [3:0]  ws;
    logic        sack_ok;
  } agreed_t;

  /// What tcp_cookie says of a SYN or ACK.
  typedef struct packed {
    logic [31:0] isn;        // for a SYN: our initial sequence number
    logic        carries;    // ... which changes otherwise (see other_half)
    // for an ACK:
    logic        completes;  // it completes a handshake, and this was agreed there
    agreed_t     agreed;
    logic        early;      // it carries what is sent behind such a one, less than 64 KiB away
    logic        bye;        // it acknowledges all that is said to who is refused
  } cookie_t;

  /// A received segment and whose it is.
  typedef struct packed {
    seg_t        seg;
    conn_t       conn;     // 0 if there is none
    logic        hit;
    logic        fresh;    // completes a handshake, and was given the free id `conn`
    logic        refused;  // completes one, but there is no place
    logic        early;    // of a handshake of which an earlier segment has not come
    logic        crowded;  // of a connection that takes too much of the table's time
    logic [1:0]  dups;     // more of the same that came with it; 3: or more
    logic [31:0] isn;      // for a SYN: our initial sequence number
    logic        carries;  // ... which changes otherwise
    agreed_t     agreed;   // for a fresh one
    sacked_t     sacked;
    times_t      times;
  } found_t;

  typedef enum logic [2:0] {
    KdSeg,   // a segment came
    KdTooBig,  // one of ours is too big for the path
    KdApp,   // a command of the scheduler
    KdMore,  // there was more to send, or to tell
    KdFast,  // visit while a short timer runs
    KdSlow,  // visit for keep-alive
    KdWait   // StTimeWait may be over
  } kind_e;

  /// What goes through the pipe. An app_t travels as seq = rx_ptr, ack = tx_ptr.
  typedef struct packed {
    kind_e  kind;
    logic   quiet;   // no room for a segment: what it would send is left to `more`
    logic   close;
    logic   reset;
    logic   release_id;
    logic   hurry;   // KdWait: do not wait any longer, ids are short
    found_t found;
  } event_t;

  /// What becomes of a segment's payload, and what the scheduler is told once the accepted part of
  /// it is in the ring.
  typedef struct packed {
    conn_t       conn;
    logic [15:0] len;      // payload bytes to take off the queue, behind the options
    logic [15:0] skip;     // bytes at the front that are options, or old
    logic [15:0] take;     // bytes that go to the ring at rx_from (0: throw all away)
    logic        redis;    // of `open`
    logic        open;     // events to send, in this order
    logic        acked;
    logic        data;
    logic        fin;
    logic        closed;
    logic [31:0] rx_from;
    logic [31:0] rx_ptr;
    logic [31:0] tx_ptr;
  } verdict_t;

  /// A segment to send: `len` bytes of the transmit ring from seq on, or what is said to those
  /// who are refused.
  typedef struct packed {
    conn_t  conn;
    logic   refusal;
    txseg_t seg;
  } txcmd_t;

  /// The words of memcached, or Redis, in one segment with FIN.
  localparam int unsigned RefusalBytes = 33;
  localparam logic [RefusalBytes*8-1:0] Refusal = {"ERROR Too many open connections", 16'h0d0a};
  localparam int unsigned RedisRefusalBytes = 36;
  localparam logic [RedisRefusalBytes*8-1:0] RedisRefusal = {
    "-ERR max number of clients reached", 16'h0d0a
  };
  function automatic logic [5:0] refusal_bytes(input logic redis);
    return redis ? 6'(RedisRefusalBytes) : 6'(RefusalBytes);
  endfunction

  /// What is added to a SYN's cookie for another one, 2^31 away: its proof, the lower 22 bits, gets HalfShift's
  /// bit, too, and what that carries stays out of the bits above.
  localparam int unsigned HalfShift = 9;
  function automatic logic [31:0] other_half(input logic carries);
    return {!carries, {9{carries}}, 22'd1 << HalfShift};
  endfunction

  localparam int unsigned FastTicks = 25;  // delayed ACK, and grain of retransmission
  // The MSS falls to the first one at the third timeout in a row, to the other one at the fourth.
  localparam logic [10:0] HoleMss = 11'd1024;
  localparam logic [10:0] HoleMssLeast = 11'(MtuMin - 16'd40);
  localparam logic [10:0] HoleMss6 = 11'(Mtu6Min - 16'd60);  // at both over IPv6
  // Slow visits, one a second, or one in so many where nothing needs more.
  localparam int unsigned RareSeconds = 8;
  localparam int unsigned RareLeast = 64;  // limits of silence that allow that
  localparam int unsigned KeepEvery = 8;  // between keep-alive probes; a power of two
  localparam int unsigned KeepEnd = 9 * KeepEvery;  // behind the first one: nine were not answered
  localparam int unsigned KeepPressed = 4;  // ... or one, where places are short
  localparam int unsigned MssLow = 600;  // ten minutes until the MSS rises again
  localparam int unsigned Fin2End = 60;  // a minute without the peer's FIN
  localparam int unsigned Fin2Pressed = 4;  // ... where places are short
  localparam int unsigned RtoInit = 1000;
  localparam int unsigned RtoMin = 200;
  localparam int unsigned TailMin = 10;  // before a tail-loss probe, whatever the round trips
  localparam int unsigned AckMax = 200;  // a peer acknowledges one segment later by so much at most
  localparam int unsigned RtoMax = 60000;
  localparam int unsigned DataTries = 10;
  localparam int unsigned ShutTries = 15;  // of a shut window, answered or not: ten minutes
  localparam int unsigned ToldUnits = 8;  // half a second between two challenge ACKs

  /// Counters. Pulses of tcp's count_o.
  // begin tcp_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [5:0] {
    TcpCountSegsIn,          // segments from peers
    TcpCountSegsOut,         // segments to peers
    TcpCountOpened,          // handshakes completed, and given a place
    TcpCountClosed,          // connections over, however
    TcpCountFullLimit,       // connection refused: connection limit
    TcpCountFullNoId,        // connection refused: no id free
    TcpCountFullNoWay,       // connection refused: both buckets of the lookup full
    TcpCountStrays,          // segments of no connection answered with RST
    TcpCountResetsIn,        // connections ended by the peer's RST
    TcpCountResetsOut,       // connections ended by our RST
    TcpCountTimeouts,        // retransmission timeouts
    TcpCountFastRexmits,     // retransmissions after duplicate ACKs
    TcpCountProbes,          // zero-window probes
    TcpCountKeepAlives,      // keep-alive probes
    TcpCountGiveUps,         // connections given up: no answer
    TcpCountShut,            // connections given up: the peer's window stayed shut
    TcpCountIdle,            // connections closed: no request for too long
    TcpCountUnread,          // connections ended by our RST: data came after we had closed
    TcpCountChallenges,      // challenge ACKs, for segments that do not fit the connection
    TcpCountDropped,         // segments with payload that was not (wholly) taken
    TcpCountRecycled,        // TIME_WAIT cut short because ids were wanted
    TcpCountChallengesHeld,  // challenge ACKs not sent: the connection's or the card's limit
    TcpCountStraysHeld,      // RSTs to segments of no connection not sent: the card's limit
    TcpCountMoved,           // peers that are behind another MAC address or VLAN than before
    TcpCountSyns,            // SYNs answered
    TcpCountEarly,           // dropped: of a handshake of which an earlier segment has not come
    TcpCountOooKept,         // segments kept though bytes before them are missing
    TcpCountOooFull,         // dropped: would be an interval more than a connection can have
    TcpCountPathMtu,         // MSS lowered: a router said "fragmentation needed"
    TcpCountPathMtuStrays,   // ... which quoted nothing that is unacknowledged: late, or forged
    TcpCountBlackHoles,      // MSS lowered: three timeouts in a row, or more
    TcpCountTailProbes,      // tail-loss probes
    TcpCountTwins,           // dropped: of an IPv6 address with the name and port of a connection's
    TcpCountPaws,            // dropped: older than what has come, by its timestamp
    TcpCountCrowded,         // dropped: its connection's segments hold up others
    TcpCountBadReads         // segments memory could not read in the ring; the connection is reset
  } tcp_count_e;
  localparam int unsigned TcpCounts = 36;
  // end tcp_count_e

  /// What timestamps take from each segment.
  function automatic logic [13:0] times_len(input logic on);
    return on ? 14'(TimesBytes) : '0;
  endfunction

  /// Payload of our largest packet, of which `own` is what it is over IPv4.
  function automatic logic [13:0] own_mss(input logic [13:0] own, input logic six);
    return own - (six ? 14'd20 : 14'd0);
  endfunction

  /// A pointer a is before b, modulo 2^32 (RFC 9293, section 3.4).
  function automatic logic seq_lt(input logic [31:0] a, input logic [31:0] b);
    return 1'((a - b) >> 31);
  endfunction

  /// The same of two that are near each other.
  function automatic logic near_lt(input near_t a, input near_t b);
    return 1'((a - b) >> 17);
  endfunction

endpackage
