// A connection as the RFCs have it: what an event does to it and makes it send. Written from RFC 9293
// (state machine, windows), 5681 + 3465 (slow start, avoidance), 3042 (limited transmit), 6582 (NewReno),
// 6675 (SACK recovery), 2018 + 2883 (SACK), 6298 (timeout), 8985 section 7 (tail-loss probes), 5961 (blind
// attacks), 6928 (initial window), 1191 + 5927 (path MTU), 7323 (timestamps, PAWS). Sequence numbers are 64 bits wide and never
// wrap, time neither, what is received and told are lists of intervals that are searched.
//
// Where the card does otherwise than an RFC asks for, or than it says by default, the model does so, too,
// at a place that bears the name of one of these allowances:
//
// GRAIN      times are whole milliseconds; SRTT is kept in eighths, RTTVAR in quarters, rounded down. The
//            model keeps both as real numbers beside that, and holds the timeout to what they say.
// RTO_MIN    the least timeout is 200 ms, not a second (RFC 6298, 2.4), as in Linux.
// RING       no window exceeds 64 KiB, the size of the rings: cwnd, the peer's window and ours end there.
// ABC_L2     slow start counts two segments an ACK, also after a timeout, where RFC 3465 (2.3) has one.
// NO_RESTART an idle connection keeps its cwnd (RFC 5681, 4.1 would fall back to the initial window): it
//            is at most the ring, 64 KiB.
// LEAST_ONE  a partial ACK leaves cwnd at a segment or more.
// TIMER_EACH each partial ACK restarts the timer (RFC 6582, section 3.2, step 3: the first one shall; the
//            variant is the "slow but steady" one of section 4).
// RENO_FLIGHT what limited transmit has sent does not count in ssthresh (RFC 5681, 3.2, step 2): taken as
//            what is in flight beyond cwnd.
// FACK       a hole is lost if the highest byte told is more than three segments behind it, whatever is told
//            between (RFC 6675, IsLost counts bytes); what is missing below the highest byte told and
//            was not sent again is not in flight, though it may be just late (SetPipe).
// BOARD4     the scoreboard is the last SACK option, four intervals; an option that differs tells news.
// LOST_AGAIN when something is told that was sent behind the last hole, the holes are sent once more; RFC 6675
//            leaves that to the timeout.
// DUP_OPEN   an ACK with a shut window is no duplicate one: it answers a probe.
// EDGE       a segment that only touches the window, at either edge, is acceptable (RFC 9293, 3.10.7.4).
// ROOM       the window that counts is the ring's room, which may be more than was advertised, and what is
//            advertised is rounded down to units of 128 bytes: the right edge may come back so far.
// CLOSE_FIN  what was not read when the session closed behind the peer's FIN stays out of the room by which
//            segments are acceptable: behind a FIN no data come.
// WL1        of two segments the one with the older data may change the window unless something is kept that
//            is newer (RFC 9293's SND.WL1 is not kept).
// KEEP4      four intervals are kept out of order, a fifth one is dropped; a FIN behind a hole is dropped.
// UPDATE     a reopened window is told once less than half of the ring was left, and two segments more than that
//            are free (RFC 9293, 3.8.6.2.2 has one segment, or half of the buffer).
// TIME_WAIT  a FIN that comes again does not start the time anew; RSTs are ignored (RFC 1337), and a peer that
//            closed first has none on our side.
// UNREAD     data that come after we closed are a reset (RFC 1122, 4.2.2.13), once all was acknowledged.
// RENEGE     an interval that the cumulative ACK reaches is forgotten as a whole: who has it would have
//            acknowledged it.
// MSS_LATER  in the event that changes the MSS, what waits for two segments still waits for two of the old size.
// ONE_RTT    timestamps measure one round trip at a time, as without them: not every ACK, whose many samples RFC 7323
//            (section 4.2) would weigh less; of TSecr 16 bits count.
// FIN_ACKED  a FIN is answered at once, and taken for acknowledged when it comes (Last.ACK.sent).
// MISSED     a segment without timestamps is taken, though they were agreed on (RFC 7323, 3.2: should be dropped), as by
//            Linux; it measures nothing.
// OVERTAKEN  a bare ACK that is too old by its timestamp is dropped without an answer (RFC 7323, 5.3, R1), as by Linux
//            where it says nothing new.
// HEARD      TS.Recent is good for 18 hours, not 24 days (RFC 7323, 5.5).
// LAST_MSS   the last segment, sent once more as a tail-loss probe, is the last MSS bytes, wherever it was cut.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tcp {

using i64 = int64_t;
using u32 = uint32_t;
constexpr i64 Ring = 65536;
constexpr int Kept = 4;
// Of the card: docs/rtl/TCP.md and rtl/tcp/tcp_pkg.sv.
constexpr int RtoInit = 1000, RtoMin = 200, RtoMax = 60000, DataTries = 10, ShutTries = 15;
constexpr int TailMin = 10, AckMax = 200;
constexpr int KeepEvery = 8, KeepEnd = 72, KeepPressed = 4, Fin2End = 60, Fin2Pressed = 4;
constexpr i64 LongAgo = 0xff00;  // seconds
constexpr int MssLow = 600, HoleMss = 1024, HoleMssLeast = 512;

struct Span {
  i64 from, to;
  bool operator==(const Span& o) const { return from == o.from && to == o.to; }
};

enum Kind { KdSeg, KdTooBig, KdApp, KdMore, KdFast, KdSlow, KdWait };
enum State { StFree, StOpen, StTimeWait, StDead };
enum Tail { TailNone, TailArmed, TailNew, TailAgain };
enum { Fin = 1, Syn = 2, Rst = 4, Psh = 8, Ack = 16 };
// begin Count: Made by spec/gen.py from spec/card.rdl: `make spec`.
enum Count {
  SegsIn, SegsOut, Opened, Closed, FullLimit, FullNoId, FullNoWay, Strays, ResetsIn, ResetsOut,
  Timeouts, FastRexmits, Probes, KeepAlives, GiveUps, Shut, Idle, Unread, Challenges, Dropped,
  Recycled, ChallengesHeld, StraysHeld, Moved, Syns, Early, OooKept, OooFull, PathMtu,
  PathMtuStrays, BlackHoles, TailProbes, Twins, Paws, Crowded, BadReads, Counts
};
// end Count

struct Event {
  Kind kind;
  int conn;
  bool quiet = false;
  // a segment, or what a router says of one
  uint8_t peer = 0, flags = 0;
  u32 seq = 0, ack = 0, wnd = 0, len = 0, mss = 0, isn = 0;
  bool carries = false, ws_valid = false, sack_ok = false;
  bool hit = false, fresh = false, refused = false, early = false, crowded = false;
  int dups = 0;
  u32 agreed_mss = 0;
  bool agreed_ws_ok = false, agreed_sack_ok = false;
  int agreed_ws = 0;
  bool told = false, twice = false;
  std::vector<Span> blocks;  // relative to ack
  bool times_ok = false, times = false;
  u32 value = 0, echo = 0, opt_len = 0;
  // a command: seq = what is read, ack = what is written
  bool close = false, reset = false, release = false;
  bool hurry = false;
};

/// Ticks in the stages that look at the clock, and inputs of the whole card.
struct Now {
  i64 diff, update, measure, limit, finish;
  bool challenge_ok, stray_ok, pressed, rare;
  i64 second() const { return diff / 1000; }
};
struct Card {
  u32 own_mss, time_wait, keep_alive, idle;
};

struct Segment {
  bool refusal = false;
  uint8_t peer = 0, flags = 0;
  u32 seq = 0, ack = 0, wnd = 0, len = 0, mss = 0;
  bool mss_valid = false, ws_valid = false, sack_ok = false, narrow = false, times = false;
  u32 value = 0, echo = 0;
  std::vector<Span> sack;
};
struct Result {
  bool sends = false;
  Segment segment;
  // verdict: payload bytes to take off, skip, take; open, acked, data, fin, closed
  u32 len = 0, skip = 0, take = 0;
  bool open = false, acked = false, data = false, fin = false, closed = false;
  u32 rx_from = 0, rx_ptr = 0, tx_ptr = 0;
  bool del = false;
  bool challenge = false, stray = false;
  bool more = false, fast = false, slow = false, wait = false;  // asked for
  uint64_t count = 0;
  // of what is sent: bytes beyond the peer's window that it has not been sent before
  i64 beyond = 0;
};

/// The number next to `ref` that ends with these 32 bits (RFC 9293, section 3.4).
inline i64 near(u32 number, i64 ref) { return ref + int32_t(number - u32(ref)); }

/// Both are reached the same way: MAC address and VLAN, without the priority.
inline int link_of(uint8_t peer) { return peer & 4 ? peer & 15 : peer & 3; }

class Conn {
 public:
  State state = StFree;
  bool fin_rcvd = false, close = false, fin_first = false, fin_acked = false, released = false, over = false;
  bool tell_closed = false, in_more = false, in_fast = false, in_slow = false, in_wait = false;
  bool owe_ack = false, owe_again = false, unread_fin = false;
  // sending; end: of what the session wrote, where the FIN stands
  i64 una = 0, nxt = 0, max = 0, end = 0, wnd = 0, max_wnd = 0, mss = 0;
  bool ws_ok = false;
  int ws = 0;
  // congestion
  i64 cwnd = 0, ssthresh = 0, counted = 0, recover = 0;
  bool recovers = false;
  int dups = 0, tries = 0;
  // receiving; read: by the session
  i64 rcv_nxt = 0, read = 0, adv = 0, pend = 0;
  std::vector<Span> kept;  // out of order, the one that changed last first
  bool sack_ok = false;
  // round trips
  bool timing = false, measured = false;
  i64 timed_end = 0, timed_at = 0, srtt8 = 0, rttvar4 = 0, rto = RtoInit;
  double srtt = 0, rttvar = 0, off = 0;  // as RFC 6298 has it; how far the timeout was off, at worst
  // timestamps: what the clock said at which tick; TS.Recent; Last.ACK.sent
  bool stamps = false;
  u32 clock = 0, recent = 0;
  i64 clock_at = 0, last_ack = 0;
  // timers
  Tail tail = TailNone;
  bool timer = false, told_on = false;
  i64 tail_end = 0, deadline = 0, told_at = 0;
  // scoreboard, ascending; HighRxt; what was out when the last hole was filled
  std::vector<Span> board;
  bool by_sack = false;
  i64 high_rxt = 0, filled_max = 0;
  // in which second; where segments go
  i64 heard = 0, asked = 0, low = 0;
  bool probed = false;
  i64 agreed_mss = 0;
  uint8_t peer = 0;
  i64 window = 0, room = 0;  // cwnd with limited transmit; what it leaves

  Result event(const Event& e, const Now& n, const Card& c) {
    ev = e;
    now = n;
    card = c;
    r = Result{};
    w = Wish{};
    if (ev.kind == KdSeg && ev.fresh) establish();
    w.was_rcv_nxt = rcv_nxt;
    w.two = 2 * mss;  // MSS_LATER
    w.was_beyond = una > recover;
    w.was_told = told_lately();
    switch (ev.kind) {
      case KdSeg: segment(); break;
      case KdTooBig: too_big(); break;
      case KdApp: command(); break;
      case KdMore: more(); break;
      case KdFast: short_visit(); break;
      case KdSlow: second(); break;
      case KdWait: wait_visit(); break;
    }
    if (r.del) {
      state = StFree;
      owe_ack = false;
    }
    if (state == StFree || state == StDead) {
      timer = false;
      pend = 0;
    }
    count(Closed, r.closed);
    receive();
    scoreboard();
    send();
    return r;
  }

  /// What the ring has room for; behind the close nobody reads, and it stays empty.
  i64 free_room() const { return close ? Ring : Ring - (rcv_nxt - fin_rcvd - read); }
  /// The same for segments that come.
  i64 taken_room() const { return unread_fin ? Ring - (rcv_nxt - 1 - read) : free_room(); }  // CLOSE_FIN
  i64 told_end() const { return board.empty() ? una : board.back().to; }

 private:
  // What an event asks for.
  struct Wish {
    bool ack = false, challenge = false, stray = false, synack = false, refuse = false, abort = false;
    bool send = false, from_una = false, probe = false, keep = false, tail = false, restart = false;
    bool own = false, above = false, fin = false, idle = false, began = false;
    bool was_beyond = false, was_told = false;
    i64 jump = 0, was_rcv_nxt = 0, taken = 0, two = 0;  // two: segments
    // what may be sent of the scoreboard
    bool recovery = false, hole = false, first = false, lost = false, skip = false, redo = false;
    i64 at = 0, len = 0;
  };
  Event ev;
  Now now;
  Card card;
  Result r;
  Wish w;

  void count(Count what, bool yes = true) {
    if (yes) r.count |= uint64_t(1) << what;
  }
  bool told_lately() const { return told_on && now.diff / 64 - told_at < 8; }

  // ------------------------------------------------------------ a connection begins
  void establish() {
    Conn fresh;
    fresh.in_more = in_more;
    fresh.in_fast = in_fast;
    fresh.in_slow = in_slow;
    fresh.in_wait = in_wait;
    fresh.peer = peer;
    fresh.off = off;
    fresh.ev = ev;
    fresh.now = now;
    fresh.card = card;
    *this = fresh;
    state = StOpen;
    una = nxt = max = end = ev.ack + (i64(1) << 40);
    rcv_nxt = read = ev.seq + (i64(1) << 40);
    ws_ok = ev.agreed_ws_ok;
    ws = ev.agreed_ws;
    wnd = max_wnd = std::min(i64(ev.wnd) << ws, Ring);  // RING
    stamps = ev.times;
    recent = ev.value;
    clock = ev.ack;  // as the SYN-ACK said, and one more
    clock_at = now.diff;
    last_ack = rcv_nxt;
    heard = asked = now.second();
    mss = agreed_mss = ev.agreed_mss - option();
    sack_ok = ev.agreed_sack_ok;
    cwnd = std::min(10 * mss, std::max(2 * mss, i64(14600)));  // RFC 6928
    ssthresh = Ring;
    recover = una - 1;
    adv = 65535;  // the SYN-ACK's window, which is not scaled
  }

  /// What timestamps take of each segment.
  i64 option() const { return stamps ? 12 : 0; }
  /// PAWS (RFC 7323, section 5).
  bool stale() const {
    return stamps && ev.times && !ev.fresh && int32_t(ev.value - recent) < 0 &&
           now.second() - heard < LongAgo;  // HEARD, MISSED
  }

  // ------------------------------------------------------------ RFC 9293, section 3.10.7
  bool in_window(i64 seq) const { return seq >= rcv_nxt && seq - rcv_nxt <= taken_room(); }  // EDGE, ROOM
  bool acceptable(i64 seq) const {
    return (seq <= rcv_nxt && seq + ev.len >= rcv_nxt) || in_window(seq);
  }

  void segment() {
    count(SegsIn);
    const bool syn = ev.flags & Syn, rst = ev.flags & Rst, acks = ev.flags & Ack;
    const bool waits = ev.hit && state == StTimeWait, known = ev.hit && (state == StOpen || (waits && fin_first));
    const bool same_link = link_of(ev.peer) == link_of(peer);
    const i64 seq = near(ev.seq, rcv_nxt), ack = near(ev.ack, una), room = taken_room();
    const bool has = ev.len || (ev.flags & Fin);
    r.len = ev.len;
    // Who only sends again what we have, and acknowledges what we sent, is the peer.
    bool peers = known && acks && !rst && !syn && seq < rcv_nxt && rcv_nxt - seq <= Ring && ack >= una && ack <= max &&
                 !stale();
    const bool last = fin_acked;
    if (ev.early) {
      count(Early);
    } else if (ev.crowded) {
      count(Crowded);
    } else if (ev.refused) {
      w.refuse = true;
    } else if (syn && !acks && !rst && (!known || (waits && same_link && seq >= rcv_nxt))) {
      w.synack = true;
      if (waits) {
        // A new incarnation begins above all of the old one.
        w.above = int32_t(ev.isn - u32(max) - u32(Ring)) < 0;
        state = released ? StFree : StDead;
        r.del = released;
      }
    } else if (!ev.hit || (waits && !fin_first)) {
      w.stray = !rst;  // CLOSED; TIME_WAIT
    } else if (waits) {
      w.ack = !rst && !syn && has;
      w.challenge = !rst && syn;
    } else if (state != StOpen) {
    } else if (rst) {  // RFC 5961, section 3.2
      if (seq == rcv_nxt) {
        count(ResetsIn);
        ends();
      } else {
        w.challenge = in_window(seq);
      }
    } else if (syn) {
      w.challenge = true;
    } else if (acks) {
      if (stale()) {
        w.ack = has;  // OVERTAKEN
        count(Paws);
      } else if (!acceptable(seq)) {
        w.ack = has;
        w.challenge = !has;
      } else if (ack > max || ack < una - max_wnd) {  // RFC 5961, section 5.2
        w.challenge = true;
      } else {
        peers = true;
        fits(seq, ack);
      }
    }
    count(Dropped, ev.len && (!w.taken || seq + ev.len - w.was_rcv_nxt > room));
    w.own = peers;
    if (peers) {
      count(Moved, !ev.fresh && !same_link);
      if (!last) {
        heard = now.second();
        probed = false;
      }
    }
  }

  void ends() {  // TIME_WAIT; unless the peer is to be answered, as a closed port
    fin_first = owe_ack = false;
    over_now();
  }
  void over_now() {
    r.closed = true;
    state = StTimeWait;
    deadline = now.update + card.time_wait;
    timer = true;
  }

  /// A segment of the peer, in the window, whose ACK is good.
  void fits(i64 seq, i64 ack) {
    const bool has = ev.len || (ev.flags & Fin), fin = ev.flags & Fin;
    const bool said_all = close && ack >= end, was_shut = wnd == 0, some_kept = !kept.empty();
    const i64 tells = std::min(i64(ev.wnd) << ws, Ring), out = max - una, room = free_room();  // RING
    const i64 stop = seq + ev.len;  // behind the data
    const bool recovering = recovers;
    const bool unread = said_all && !fin_rcvd && ev.len && stop > rcv_nxt;  // UNREAD
    w.send = true;
    if (ev.fresh) {
      r.open = true;
      count(Opened);
    }

    if (stamps && ev.times && seq <= last_ack) recent = ev.value;  // RFC 7323, section 4.3

    // ---- SACK options (RFC 2018, RFC 2883)
    const bool told = ev.told && ack >= una;
    std::vector<Span> blocks;
    for (const Span& s : ev.blocks) {
      const i64 at = near(ev.ack, una);
      if (at + s.to <= max) blocks.push_back({at + s.from, at + s.to});
    }
    const bool news = blocks != board;  // BOARD4
    if (told) board = blocks;
    else if (ack > una) {
      std::vector<Span> rest;
      for (const Span& s : board) if (s.from > ack) rest.push_back(s);  // RENEGE
      board = rest;
    }

    // ---- was the probe's segment lost? (RFC 8985, section 7.4.2)
    bool probe_lost = false;
    if ((tail == TailNew || tail == TailAgain) && ack >= tail_end) {
      const bool twice = told && ev.twice, beyond = ack > tail_end;
      if (tail == TailNew || twice || beyond || (ack == una && !has && !told)) {
        probe_lost = tail == TailAgain && beyond && !twice;
        tail = TailNone;
      }
    }

    // ---- the ACK
    const bool dup = ack == una && out && !has && (told ? news : tells == wnd && wnd);  // DUP_OPEN
    const i64 acked = ack - una;
    if (acked > 0) {
      // Whose answer this is the echo tells (RFC 7323, section 4), or Karn's rule.
      if (timing && ack >= timed_end) {
        timing = false;
        if (!stamps) sample(now.diff - timed_at);
        else if (ev.times) sample(u32(now.diff - clock_at + clock - ev.echo) & 0xffff);  // ONE_RTT
      }
      acknowledged(ack, acked);
      una = ack;
      nxt = std::max(nxt, ack);
      owe_again = false;
      tries = 0;
      fin_acked = ack > end;
      w.restart = true;  // RFC 6298, 5.3; TIMER_EACH
      r.acked = true;
      asked = now.second();
    }
    if (probe_lost && !recovering) {
      ssthresh = cwnd = std::max(out / 2, 2 * mss);
      counted = 0;
    }
    if (dup) duplicate(out);

    // ---- the window
    if (seq >= rcv_nxt && acked >= 0 && !(seq == rcv_nxt && some_kept)) {  // WL1
      wnd = tells;
      max_wnd = std::max(max_wnd, wnd);
      if (was_shut && wnd) {
        rto = measured ? measured_rto() : RtoInit;  // the backoff was that of the probes
        tries = 0;
        w.restart = true;
      }
    }

    // ---- the data
    const bool in_order = seq <= rcv_nxt && stop >= rcv_nxt, whole = stop - rcv_nxt <= room;
    const i64 edge = rcv_nxt + room, upto = std::min(stop, edge);
    const bool next = in_order && stop > rcv_nxt && !fin_rcvd && !said_all;
    const bool early = seq > rcv_nxt && seq < edge && ev.len && !fin_rcvd && !close;
    bool follows = false;  // kept bytes directly behind
    for (const Span& s : kept) follows |= s.from <= stop && s.to > stop;
    if (next) {
      w.taken = upto - rcv_nxt;
      r.data = w.taken && !close;
      r.take = close ? 0 : w.taken;
      w.jump = join(seq, upto).to - rcv_nxt;
    } else if (early) {
      Span s{seq, upto};
      bool touches = kept.size() < Kept;
      for (const Span& k : kept) touches |= k.from <= stop && k.to >= seq;
      count(OooKept, touches);
      count(OooFull, !touches);
      if (touches) {  // KEEP4
        kept.insert(kept.begin(), join(seq, upto));
        w.taken = upto - seq;
        r.take = w.taken;
      }
    }
    r.skip = ev.opt_len + std::max(i64(0), rcv_nxt - seq);
    r.rx_from = early ? ev.seq : u32(rcv_nxt);
    w.fin = fin && in_order && whole && !unread && !fin_rcvd && !follows;
    if (w.fin) r.fin = fin_rcvd = true;
    // RFC 5681, section 4.2: what is out of order, or fills a hole, is answered at once.
    w.ack = !unread && has && (!next || !whole || fin || some_kept);
    if (unread) {
      count(tcp::Unread);
      w.stray = true;
      ends();
    }
    if (fin_rcvd && fin_acked) over_now();
  }

  /// Data from `from` on, and what was kept that overlaps or touches it.
  Span join(i64 from, i64 to) {
    std::vector<Span> rest;
    for (const Span& k : kept) {
      if (k.from <= to && k.to >= from) {
        from = std::min(from, k.from);
        to = std::max(to, k.to);
      } else {
        rest.push_back(k);
      }
    }
    kept = rest;
    return {from, to};
  }

  // ------------------------------------------------------------ RFC 6298
  i64 measured_rto() {
    const double real = std::min(std::max(srtt + std::max(1.0, 4 * rttvar), double(RtoMin)), double(RtoMax));
    const i64 rto = std::min(std::max(srtt8 / 8 + std::max(i64(1), rttvar4), i64(RtoMin)), i64(RtoMax));  // RTO_MIN
    off = std::max(off, std::abs(real - double(rto)));
    return rto;
  }
  void sample(i64 ticks) {
    if (!measured) {
      srtt = ticks;
      rttvar = ticks / 2.0;
      srtt8 = 8 * ticks;
      rttvar4 = 2 * ticks;
    } else {
      rttvar = 0.75 * rttvar + 0.25 * std::abs(srtt - ticks);
      srtt = 0.875 * srtt + 0.125 * ticks;
      const i64 error = ticks - srtt8 / 8;  // GRAIN
      rttvar4 += std::abs(error) - rttvar4 / 4;
      srtt8 += error;
    }
    measured = true;
    rto = measured_rto();
  }

  // ------------------------------------------------------------ RFC 5681, 3465, 6582, 6675
  void acknowledged(i64 ack, i64 acked) {
    dups = 0;
    if (recovers && ack < recover) {
      // a partial ACK
      if (by_sack) {
        w.from_una = board.empty();
      } else {
        w.from_una = true;
        cwnd = std::max(cwnd - acked, i64(0));
        if (acked >= mss || cwnd < mss) cwnd += mss;  // LEAST_ONE
      }
    } else if (recovers) {
      recovers = false;
      cwnd = ssthresh;
    } else if (cwnd < ssthresh) {
      cwnd = std::min(cwnd + std::min(acked, 2 * mss), Ring);  // ABC_L2, RING
    } else {
      counted += acked;
      if (counted >= cwnd) {
        counted -= cwnd;
        cwnd = std::min(cwnd + mss, Ring);  // RING
      }
    }
  }

  void duplicate(i64 out) {
    if (recovers) {
      if (!by_sack) cwnd = std::min(cwnd + mss, Ring);
      return;
    }
    if (dups == 3) return;
    dups = std::min(dups + 1 + ev.dups, 3);
    if (ev.told && told_end() > una + 3 * mss) dups = 3;  // FACK
    // Duplicate ACKs of what a recovery or a timeout sent again mean nothing, if the peer does not tell.
    if (dups < 3 || !(una > recover || (!board.empty() && una >= recover))) return;
    const i64 flight = std::min(out, cwnd);  // RENO_FLIGHT
    w.from_una = w.began = w.restart = true;
    recovers = true;
    by_sack = !board.empty();
    recover = max;
    ssthresh = std::max(flight / 2, 2 * mss);
    counted = 0;  // cwnd grows by at most a segment a round trip from now on
    cwnd = by_sack ? ssthresh : std::min(ssthresh + 3 * mss, Ring);
    tail = TailNone;
    count(FastRexmits);
  }

  /// All that is unacknowledged goes again.
  void rewind() {
    tail = TailNone;
    nxt = una;
    owe_again = recovers = false;
    dups = 0;
    recover = max;  // RFC 6582, section 4
    board.clear();  // RFC 2018, section 8
  }

  void too_big() {
    const i64 quoted = near(ev.ack, una);
    if (!ev.hit || state != StOpen || quoted < una || quoted >= max) {  // RFC 5927
      count(PathMtuStrays);
    } else if (ev.mss - option() < mss) {
      if (recovers) cwnd = ssthresh;
      rewind();
      mss = ev.mss - option();
      low = now.second();
      w.send = w.restart = true;
      count(PathMtu);
    }
  }

  void short_visit() {
    in_fast = false;
    w.send = state == StOpen;
    w.ack = state == StOpen && pend;  // the ACK was delayed for long enough
    if (state != StOpen || !timer || now.diff < deadline) return;
    w.restart = true;
    if (tail == TailArmed) {
      w.tail = true;
      count(TailProbes);
      return;
    }
    const bool shut = wnd == 0;
    const int before = tries++;
    rto = std::min(2 * rto, i64(RtoMax));
    if (before == (shut ? ShutTries : DataTries)) {
      gives_up(shut ? Shut : GiveUps);
      return;
    }
    const i64 out = max - una, half = std::max(out / 2, 2 * mss);
    rewind();
    if (shut) {
      w.from_una = w.probe = true;
      count(Probes);
      return;
    }
    if (before == 0) ssthresh = half;
    // Perhaps the path swallows what is too big for it.
    const i64 smaller = (before > 2 ? HoleMssLeast : HoleMss) - option();
    if (before > 1 && mss > smaller && out > smaller) {
      mss = smaller;
      low = now.second();
      count(BlackHoles);
    }
    cwnd = mss;
    counted = 0;
    count(Timeouts);
  }

  void gives_up(Count why) {
    state = StDead;
    w.abort = true;
    r.closed = true;
    count(why);
    count(ResetsOut);
  }

  // ------------------------------------------------------------ the session, and time
  void command() {
    if (ev.release) {
      released = true;
      r.del = state == StDead || (state == StTimeWait && over);
      return;
    }
    if (state != StOpen) return;
    if (!close && !ev.reset) {
      const i64 reads = near(ev.seq, read), writes = near(ev.ack, end);
      if (reads > read) asked = now.second();
      read = std::max(read, reads);
      end = std::max(end, writes);
      close = ev.close;
      unread_fin = close && fin_rcvd;
    }
    w.send = true;
    if (ev.reset) {
      w.abort = true;
      state = StDead;
      tell_closed = true;
      count(ResetsOut);
    }
  }

  void more() {
    in_more = false;
    r.closed = tell_closed;
    tell_closed = false;
    w.send = state == StOpen;
    w.ack = owe_ack;
    w.from_una = state == StOpen && owe_again;
    owe_ack = owe_again = false;
  }

  void second() {
    // Whole seconds: of that in which it was last heard of only a part has passed.
    const i64 silence = now.second() - heard - 1, idle = now.second() - asked - 1;
    in_slow = false;
    heard = std::max(heard, now.second() - LongAgo);
    asked = std::max(asked, now.second() - LongAgo);
    if (!w.was_told) told_on = false;
    if (mss != agreed_mss && now.second() - low >= MssLow) mss = agreed_mss;  // RFC 1191, section 6.3
    if (state != StOpen) return;
    const bool silent = card.keep_alive && silence >= int(card.keep_alive) && !timer;
    const i64 since = silence - int(card.keep_alive);
    if ((silent && probed && since >= (now.pressed ? KeepPressed : KeepEnd)) ||
        (fin_acked && silence >= (now.pressed ? Fin2Pressed : Fin2End))) {
      gives_up(GiveUps);
      return;
    }
    w.keep = silent && (!probed || now.rare || since % KeepEvery == 0);
    count(KeepAlives, w.keep);
    if (w.keep && !probed) {
      probed = true;
      heard += since;
    }
    if (card.idle && idle >= int(card.idle) && !close) {
      r.fin = true;
      asked = now.second();
      count(tcp::Idle);
    }
  }

  void wait_visit() {
    in_wait = false;
    const bool done = timer && now.diff >= deadline;
    if (state != StTimeWait || !(done || ev.hurry)) return;
    over = true;
    r.del = released;
    count(Recycled, !done);
  }

  // ------------------------------------------------------------ what the session is told, the window
  void receive() {
    rcv_nxt += w.jump;
    r.rx_ptr = u32(rcv_nxt);
    r.tx_ptr = u32(una - fin_acked);
    rcv_nxt += w.fin;
    last_ack += w.fin;  // FIN_ACKED
    pend = std::min(pend + w.jump, Ring);
    adv = std::max(adv - w.jump, i64(0));
    if (w.challenge) {  // RFC 5961, section 7
      r.challenge = !w.was_told && now.challenge_ok && !ev.quiet;
      count(r.challenge ? Challenges : ChallengesHeld);
      if (r.challenge) {
        told_on = true;
        told_at = now.measure / 64;
      }
    }
    if (w.stray) {
      r.stray = now.stray_ok && !ev.quiet;
      count(r.stray ? Strays : StraysHeld);
    }
  }

  // ------------------------------------------------------------ RFC 6675
  void scoreboard() {
    const std::vector<Span> none, &told = recovers && !by_sack ? none : board;
    w.recovery = recovers && by_sack;
    w.first = w.recovery && (w.began || una >= high_rxt);
    const i64 from = !w.recovery ? nxt : w.first ? una : high_rxt;
    i64 known = 0, hole_end = 0;  // bytes told below
    w.at = from;
    for (const Span& s : told) {
      if (s.from <= from && from < s.to) w.at = s.to;
      if (s.from <= from) known += s.to - s.from;
      else if (!hole_end) hole_end = s.from;
    }
    w.skip = !w.recovery && w.at != from;
    w.hole = hole_end;
    w.len = std::min(hole_end - w.at, mss);
    w.lost = w.first || w.at < told_end() - 3 * mss;                                    // FACK
    w.redo = w.recovery && !w.first && !board.empty() && filled_max < told_end();      // LOST_AGAIN
    // SetPipe; without SACK all that is unacknowledged is in flight.
    const i64 pipe = (w.recovery ? max - told_end() : 0) + (w.at - una - known);
    window = cwnd;
    // RFC 3042
    if (!recovers && w.was_beyond && board.empty() && dups < 3) window = std::min(cwnd + (dups == 2 ? w.two : dups * mss), Ring);
    room = std::max(window - pipe, i64(0));
  }

  // ------------------------------------------------------------ which segment is sent
  void send() {
    const bool open = state == StOpen, fin_out = nxt > end, may = w.send && open, from_una = w.from_una && open;
    const bool tail_probe = w.tail && open, blind = w.synack || r.stray || w.refuse;
    const bool force_ack = w.ack || r.challenge;
    const i64 flight = nxt - una, out = max - una, unsent = std::max(end - nxt, i64(0));
    const i64 unacked = std::max(end - una, i64(0)), wnd_room = std::max(wnd - flight, i64(0));
    std::vector<Span> tells = sack_ok ? kept : std::vector<Span>{};
    if (stamps && tells.size() == Kept) tells.pop_back();  // there is no room for it
    const bool tail_ok = sack_ok && board.empty() && !recovers && !tries && tail != TailNew && tail != TailAgain &&
                         !w.tail && measured && nxt == max && wnd;  // RFC 8985, section 7.2

    // Something new; or behind a timeout, up to what is told.
    const i64 want = w.hole && !w.recovery ? w.len : std::min(unsent, mss);
    const bool wnd_short = wnd_room < want, short_ = wnd_short || (room < want && !tail_probe);
    // An ACK with a SACK option goes alone.
    const bool alone = force_ack && !tells.empty() && !tail_probe;
    const bool tail_again = tail_probe && (want == 0 || wnd_short);
    const bool hole_due = w.recovery && w.hole && may && !from_una && room >= w.len &&
                          (w.lost || want == 0 || wnd_short);  // NextSeg
    const bool hole = hole_due && !alone, skip = w.skip && may && !from_una;
    // Nothing small while something is in flight: its ACK will let more go (RFC 9293, section 3.8.6.2.1).
    const bool hold = short_ && flight;
    i64 seq = max, len = 0;
    bool all = false;  // nothing is left behind it
    if (from_una) {
      seq = una;
      // Again is what was sent before; of a shut window one byte is tried (RFC 9293, section 3.8.6.1).
      len = w.hole && w.first ? w.len : std::min({unacked, w.probe ? i64(1) : mss, w.probe ? Ring : out});
      all = !(w.hole && w.first) && len == unacked;
    } else if (tail_again) {
      len = std::min(flight - fin_out, mss);  // LAST_MSS
      seq = nxt - fin_out - len;
      all = true;
    } else if (hole) {
      seq = w.at;
      len = w.len;
    } else {
      if (may && !skip && !w.redo && !hold && !alone) len = short_ ? std::min(room, wnd_room) : want;
      all = end - nxt == len;
    }
    const bool fin = close && all && (from_una ? !fin_acked : may && tail_again == fin_out);
    const bool data = len || fin, sends_data = data && !ev.quiet, fills = hole || tail_again;
    const bool fresh = sends_data && !from_una && !fills;  // goes on at nxt
    if (!from_una && !fills) {
      // A bare ACK stands behind all that was sent, but not beyond a shut window.
      if (w.keep) seq = una - 1;
      else if (data || !wnd) seq = nxt;
    }

    // ---- the window
    const i64 free = free_room(), gain = std::max(free - adv, i64(0));
    const i64 tells_wnd = ws_ok ? free / 128 : std::min(free, i64(65535));  // ROOM
    const bool update = may && adv < Ring / 2 && gain >= w.two && !fin_rcvd;  // UPDATE
    const bool due = data || force_ack || blind || w.abort || w.keep || (may && pend >= w.two) || update;
    r.sends = due && !ev.quiet;
    r.more = tell_closed || (due && ev.quiet) ||
             (open && ((from_una && !w.probe) || hole_due || skip || w.redo ||
                       (may && !all && (alone ? want != 0 : len && !short_))));

    // ---- the segment
    Segment& s = r.segment;
    const bool answers = ev.flags & Ack;
    s.peer = w.own || w.synack || w.stray || w.refuse ? ev.peer : peer;
    if (w.own) peer = ev.peer;
    s.refusal = w.refuse;
    s.narrow = mss == HoleMssLeast - option() && mss != agreed_mss && !blind;
    s.flags = (sends_data && fin ? Fin : 0) | (len && all ? Psh : 0) | (w.abort || r.stray ? Rst : 0);
    s.seq = u32(seq);
    s.len = ev.quiet ? 0 : u32(len);
    s.ack = u32(rcv_nxt);
    s.wnd = u32(tells_wnd);
    s.flags |= Ack;
    s.times = stamps;
    s.value = u32(clock + now.measure - clock_at);
    s.echo = recent;
    if (len == 0 && !blind && !w.abort) s.sack = tells;
    if (blind) {
      s.seq = w.synack ? ev.isn + (w.above ? (1u << 31) + (1u << 9) - (u32(ev.carries) << 22) : 0) : answers ? ev.ack : 0;
      const bool with_ack = w.synack || w.refuse || !answers;
      s.ack = with_ack ? ev.seq + ev.len + !!(ev.flags & Syn) + !!(ev.flags & Fin) : 0;
      s.flags = (with_ack ? Ack : 0) | (w.synack ? Syn : 0) | (w.refuse ? Fin | Psh : Rst * r.stray);
      s.len = w.refuse ? 33 : 0;
      s.wnd = 65535;
      s.mss_valid = w.synack;
      s.mss = card.own_mss;
      s.ws_valid = w.synack && ev.ws_valid;
      s.sack_ok = w.synack && ev.sack_ok;
      s.times = w.synack ? ev.times_ok : w.refuse && ev.times;
      s.value = s.seq;
      s.echo = w.synack ? ev.ack : ev.value;
    }
    if (w.abort || r.stray) s.wnd = 0;

    // ---- what becomes of the connection
    const i64 sent_end = seq + len + (fin && !ev.quiet);
    const bool again = seq != max, waits = sends_data || out || (!wnd && unsent);
    if (r.sends && !blind) {
      pend = 0;
      last_ack = rcv_nxt;
      adv = ws_ok ? tells_wnd * 128 : tells_wnd;
      owe_ack = false;
    }
    if (due && ev.quiet) {
      owe_ack |= force_ack;
      owe_again |= from_una;
    }
    if (sends_data) {
      r.beyond = w.probe || sent_end - fin <= std::max(max, una + wnd) ? 0 : sent_end - fin - std::max(max, una + wnd);
      max = std::max(max, sent_end);
    }
    if (skip) nxt = w.at;
    else if (fresh) nxt = sent_end;
    if (sends_data && fin && !fin_rcvd) fin_first = true;
    if (sends_data && (fills || from_una)) {
      high_rxt = sent_end;
      filled_max = max;
    } else if (w.recovery) {
      high_rxt = w.redo ? una : w.at;
    }
    // One segment of new data is timed at a time; never one that is sent again (Karn), but with timestamps.
    if (sends_data && again && !stamps) timing = false;
    else if (sends_data && (again || !timing)) {
      timing = true;
      timed_end = sent_end;
      timed_at = now.finish;
    }

    // ---- timers (RFC 6298, section 5; RFC 8985, section 7.2)
    if (open) {
      const bool one = fresh ? flight == 0 : flight <= mss, may_probe = tail_ok && waits;
      const i64 pto = std::max(srtt8 / 4, i64(TailMin)) + (one ? AckMax : 0);
      const i64 probe_at = now.limit + std::min(pto, rto);
      if (w.restart || !timer) {
        deadline = may_probe ? probe_at : now.limit + rto;
        if (tail != TailNew && tail != TailAgain) tail = may_probe ? TailArmed : TailNone;
      } else if (may_probe && tail == TailArmed && fresh) {
        deadline = std::min(deadline, probe_at);
      }
      timer = waits;
    }
    if (sends_data && tail_probe) {
      tail = tail_again ? TailAgain : TailNew;
      tail_end = max;
    }

    // ---- visits
    r.fast = open && (waits || (pend && !r.sends));
    r.slow = open;
    r.wait = state == StTimeWait && !over;
    r.more &= !in_more;
    r.fast &= !in_fast;
    r.slow &= !in_slow;
    r.wait &= !in_wait;
    in_more |= r.more;
    in_fast |= r.fast;
    in_slow |= r.slow;
    in_wait |= r.wait;
  }
};

/// The SACK option of a bare ACK (RFC 2018, section 3), where systems put it: first, behind two NOPs, or those
/// behind two NOPs and timestamps. What it tells, relative to the ACK.
struct Told {
  bool times = false;
  u32 value = 0, echo = 0;
  bool told = false, twice = false;
  std::vector<Span> blocks;
};
inline Told read_option(const uint8_t* opts, int len, u32 ack) {
  Told t;
  auto is = [&](int at, std::initializer_list<int> bytes) {
    for (int b : bytes) {
      if (b >= 0 && opts[at] != b) return false;
      at++;
    }
    return true;
  };
  const auto four = [&](int at) { return u32(opts[at]) << 24 | u32(opts[at + 1]) << 16 | u32(opts[at + 2]) << 8 | opts[at + 3]; };
  const int clock = is(0, {8, 10}) ? 2 : is(0, {1, 1, 8, 10}) ? 4 : 0;
  if (clock && len >= clock + 8) {
    t.times = true;
    t.value = four(clock);
    t.echo = four(clock + 4);
  }
  int at;
  if (is(0, {5})) at = 0;
  else if (is(0, {1, 1, 5})) at = 2;
  else if (is(0, {1, 1, 8, 10}) && is(12, {1, 1, 5})) at = 14;
  else return t;
  const int size = opts[at + 1], count = (size - 2) / 8;
  if (size % 8 != 2 || at + size > len || count < 1) return t;
  // NEAR: an edge counts if it is at most 2^17 away from the ACK, twice the ring (2^17 below: not).
  const i64 far = Ring * 2;
  struct Block {
    bool near;
    i64 from, to;
  };
  std::vector<Block> all;
  for (int i = 0; i < std::min(count, at == 14 ? Kept - 1 : Kept); i++) {
    i64 edges[2];
    bool near = true;
    for (int k = 0; k < 2; k++) {
      const uint8_t* b = opts + at + 2 + 8 * i + 4 * k;
      const u32 edge = u32(b[0]) << 24 | u32(b[1]) << 16 | u32(b[2]) << 8 | b[3];
      edges[k] = int32_t(edge - ack);
      near &= -far < edges[k] && edges[k] <= far;
    }
    all.push_back({near, edges[0], edges[1]});
  }
  for (const Block& b : all) t.told |= b.near;
  t.twice = all[0].near && all[0].to <= 0;  // RFC 2883, section 4: below the cumulative ACK
  // By 18 bits: of two blocks on either side of the ACK the one may be further than that from the other.
  const auto before = [&](i64 a, i64 b) {
    const i64 apart = (b - a) & (2 * far - 1);
    return apart > 0 && apart <= far;
  };
  for (size_t i = 0; i < all.size(); i++) {
    const Block& b = all[i];
    // Above the ACK, not empty, and apart from all that are said later.
    bool good = b.near && b.from > 0 && b.to > 0 && b.from < b.to;
    for (size_t k = i + 1; k < all.size(); k++) {
      good &= !all[k].near || before(b.to, all[k].from) || before(all[k].to, b.from);
    }
    if (good) t.blocks.push_back({b.from, b.to});
  }
  std::sort(t.blocks.begin(), t.blocks.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  return t;
}

}  // namespace tcp
