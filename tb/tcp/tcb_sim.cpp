// Random events go through the Verilated connection table (tb/tcp/tcb_tb.sv) and through the model of tcb_model.h:
// after each of them the connection's word, what is sent, what the session is told, what is kept and what
// the peer is known to have must be equal. Arguments: seed, events. Ends with 1, and the last events of the
// connection, where they are not.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>

#include "Vtcb_tb.h"
#include "tcb_model.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

using namespace tcp;

constexpr int Conns = 16, Deep = 400;
static Vtcb_tb* top;
static std::mt19937 rng;
static uint64_t events, clocks, ticks;
/// How often what happened: the counters of the card, and what else a run should reach.
enum { BySack = Counts, ByDups, Partial, PartialBySack, Again, TailNewSent, TailAgainSent, TailLost, RoomNone, Closes, Echoed, Karn, Sees };
static const char* const seen_names[] = {
  "segments", "", "opened", "closed", "", "", "", "strays", "resets in", "resets out", "timeouts", "fast retransmits",
  "probes", "keep-alives", "given up", "shut", "idle", "unread", "challenges", "dropped", "recycled", "challenges held",
  "strays held", "moved", "", "early", "kept", "no place to keep", "path MTU", "path MTU forged", "black holes",
  "tail probes", "", "too old", "crowded", "", "recoveries by SACK", "by duplicates", "partial ACKs", "partial ACKs by SACK", "lost again",
  "new tail probes", "old tail probes", "tail was lost", "full pipe", "windows shut",
  "with timestamps", "measured though sent again"};
static_assert(std::size(seen_names) == Sees);
static uint64_t seen[Sees];
static uint32_t quiet;  // how often, of 256, there is no room to send

static u32 below(u32 n) { return n ? uint64_t(rng()) * n >> 32 : 0; }
static bool chance(u32 one_in) { return below(one_in) == 0; }
static i64 between(i64 a, i64 b) { return b <= a ? a : a + i64(below(u32(b - a + 1))); }

// ------------------------------------------------------------ the world around the card
enum Mood { Honest, Wild, Silent, Moods };

/// A peer, and the session, as far as they know the connection.
struct Other {
  bool taken = false, opened = false, closed = false, released = false;
  Mood mood = Honest;
  u32 mood_left = 0, loss = 0;
  uint8_t address = 0;
  i64 window = Ring;
  std::vector<Span> got;     // of what the card sent, ascending
  std::vector<Span> recent;  // blocks, the one that changed last first
  i64 snd_nxt = 0;
  std::deque<Event> ready;   // ACKs on their way
  u32 clock = 0, echo = 0;   // its timestamps, ahead of the ticks; the last one of the card's
  // session
  i64 rx_told = 0, rx = 0, acked = 0, tx = 0;
  bool close = false, answers = false, slow = false;  // writes when all is acknowledged; reads late
};

static Conn conns[Conns];
static Other others[Conns];
static bool used[Conns];
static std::deque<std::pair<Event, Result>> history[Conns];
static Card card;

static u32 scaled(const Conn& c, i64 bytes) {
  if (c.ws) return u32(std::min((bytes >> c.ws), i64(65535)));
  return u32(std::min(bytes, i64(65535)));
}

static Event bare(int id, i64 ack) {
  const Conn& c = conns[id];
  Event e{KdSeg, id};
  e.hit = true;
  e.flags = Ack;
  e.peer = others[id].address;
  e.seq = u32(c.rcv_nxt);
  e.ack = u32(ack);
  e.wnd = scaled(c, others[id].window);
  e.isn = rng();
  e.carries = rng() & 1;
  e.times = c.stamps ? !chance(100) : chance(100);
  e.value = others[id].clock + u32(ticks);
  e.echo = others[id].echo;
  e.opt_len = e.times ? 12 : 4 * below(11);
  return e;
}

/// The honest peer gets a segment: what it answers.
static void deliver(int id, i64 from, i64 to, u32 value) {
  Other& o = others[id];
  const Conn& c = conns[id];
  if (from >= to || o.mood == Silent || below(256) < o.loss) return;
  i64 cum = o.got.empty() ? from : o.got[0].to;
  const bool again = std::any_of(o.got.begin(), o.got.end(), [&](Span s) { return s.from <= from && to <= s.to; });
  Span whole{from, to};
  std::vector<Span> rest;
  for (Span s : o.got) {
    if (s.from <= whole.to && s.to >= whole.from) whole = {std::min(s.from, whole.from), std::max(s.to, whole.to)};
    else rest.push_back(s);
  }
  rest.push_back(whole);
  std::sort(rest.begin(), rest.end(), [](Span a, Span b) { return a.from < b.from; });
  o.got = rest;
  cum = o.got[0].to;
  if (from <= cum && whole.to == cum) o.echo = value;
  std::vector<Span> order;
  if (whole.from > cum) order.push_back(whole);
  for (Span s : o.recent) {
    if (s.from > cum && !(s.from <= whole.to && s.to >= whole.from)) order.push_back(s);
  }
  o.recent = order;
  if (order.empty() && chance(2)) return;  // a delayed ACK
  Event e = bare(id, cum);
  if (c.sack_ok && (!order.empty() || again)) {
    e.told = true;
    e.twice = again;
    for (size_t i = 0; i < order.size() && i < size_t(4 - again - c.stamps); i++) {
      e.blocks.push_back({order[i].from - cum, order[i].to - cum});
    }
    std::sort(e.blocks.begin(), e.blocks.end(), [](Span a, Span b) { return a.from < b.from; });
  }
  if (o.ready.size() < 64) o.ready.push_back(e);
}

static Event opens(int id) {
  Event e{KdSeg, id};
  Other& o = others[id];
  o = Other{};
  o.taken = true;
  o.address = rng() & 0xef;
  o.loss = chance(3) ? 0 : below(60);
  o.window = chance(3) ? between(0, Ring) : Ring;
  e.hit = e.fresh = true;
  e.flags = Ack;
  e.peer = o.address;
  // Numbers that are about to wrap in 32, 18 or 17 bits.
  auto number = [] {
    u32 n = rng();
    if (chance(3)) n = u32(-int32_t(below(200000)));
    else if (chance(2)) n = (n & ~u32(0x1ffff)) - below(70000);
    return n;
  };
  e.seq = number();
  e.ack = number();
  static const u32 sizes[] = {64, 512, 536, 1000, 1220, 1460, 1460, 4000, 8960};
  e.agreed_mss = sizes[below(9)];
  e.agreed_ws_ok = !chance(4);
  e.agreed_ws = e.agreed_ws_ok ? below(15) : 0;
  e.agreed_sack_ok = !chance(3);
  e.wnd = chance(2) ? 65535 >> below(16) : rng() & 0xffff;
  e.isn = rng();
  e.carries = rng() & 1;
  if (chance(2)) {
    e.len = between(1, e.agreed_mss);
    if (chance(50)) e.flags |= Fin;
  }
  e.times = chance(2);
  e.value = number();
  e.echo = chance(2) ? e.ack - 1 : rng();
  e.opt_len = e.times ? 12 : 0;
  o.clock = e.value - u32(ticks);
  o.echo = e.ack;
  o.snd_nxt = e.seq + (i64(1) << 40) + e.len;
  return e;
}

/// The cumulative ACK, disjoint blocks behind it and what else an option can tell.
static void blocks(Event& e, const Conn& c, i64 ack) {
  e.told = !chance(20);
  e.twice = chance(8);
  i64 at = ack;
  const i64 top = chance(10) ? c.max + 3000 : c.max;
  if (chance(3)) {  // the same once more
    for (Span s : c.board) if (s.from > ack) e.blocks.push_back({s.from - ack, s.to - ack});
    return;
  }
  for (int i = below(5); i > 0 && at + 1 < top; i--) {
    const i64 step = chance(2) ? c.mss : between(1, 3 * c.mss);
    const i64 from = at + step, to = from + (chance(2) ? c.mss : between(1, 4 * c.mss));
    if (to > top && !chance(4)) break;
    if (to - ack > 2 * Ring) break;
    e.blocks.push_back({from - ack, to - ack});
    at = to;
  }
}

static Event wild(int id) {
  const Conn& c = conns[id];
  Other& o = others[id];
  i64 ack = c.una;
  switch (below(16)) {
    case 0: case 1: ack = between(c.una, c.max); break;
    case 2: case 3: ack = std::min(c.una + i64(below(4)) * c.mss, c.max); break;
    case 4: ack = c.max; break;
    case 5: if (chance(4)) ack = c.max + between(0, 3); break;
    case 6: if (chance(4)) ack = c.una - between(0, 3); break;
    case 7: if (chance(8)) ack = c.una - c.max_wnd + between(-2, 2); break;
    case 8: if (chance(20)) ack = rng(); break;
    case 9: if (chance(20)) ack = c.una + between(-200000, 200000); break;
    default: break;
  }
  const bool after_probe = (c.tail == TailNew || c.tail == TailAgain) && chance(2);
  if (after_probe) ack = chance(2) ? c.max : c.tail_end;
  Event e = bare(id, ack);
  switch (below(16)) {
    case 0: o.window = chance(3) ? 0 : chance(2) ? between(0, 3 * c.mss) : between(0, Ring); break;
    case 1: o.window = Ring; break;
    default: break;
  }
  e.wnd = scaled(c, o.window);
  const i64 room = c.free_room();
  i64 seq = c.rcv_nxt;
  if (chance(3)) {  // data
    e.len = chance(4) ? below(3) : between(1, c.mss);
    switch (below(12)) {
      case 0: case 1: case 2: seq += between(1, 8) * c.mss; break;
      case 3: seq += between(0, room); break;
      case 4: seq += room + between(-3, 3); break;
      case 5: seq += room - e.len + between(-2, 2); break;
      case 6: seq -= e.len + between(-2, 2); break;
      case 7: seq -= between(0, Ring + 3); break;
      case 8:  // beside what is kept
        if (!c.kept.empty()) {
          const Span s = c.kept[below(c.kept.size())];
          seq = (chance(2) ? s.from - e.len : s.to) + between(-1, 1);
        }
        break;
      case 9: if (chance(8)) seq += between(-3000000, 3000000); break;
      default: break;
    }
  } else if (chance(20)) {
    seq += chance(2) ? between(-2, 2) : chance(2) ? room + between(-2, 2) : between(-200000, 200000);
  }
  e.seq = u32(seq);
  if (chance(400)) e.flags |= Fin;
  if (chance(400)) e.flags = (e.flags & ~Ack) | Rst;
  if (chance(800)) e.flags |= Syn;
  if (chance(300)) e.flags &= ~Ack;
  if (chance(4)) e.flags |= Psh;
  if (chance(300)) e.peer = rng() & 0xef;
  if (!e.len && !(e.flags & Syn) && c.sack_ok && chance(2)) blocks(e, c, c.una + int32_t(u32(ack) - u32(c.una)));
  if (after_probe && e.told) e.twice = chance(2);
  if (chance(8)) e.dups = below(4);
  switch (below(40)) {
    case 0: e.value -= below(3); break;
    case 1: e.value = c.recent + u32(between(-2, 2)); break;
    case 2: if (chance(10)) e.value = rng(); break;
    case 3: e.echo = rng(); break;
    case 4: e.echo -= below(70000); break;
    case 5: o.clock += chance(10) ? u32(1) << below(31) : below(1000); break;
    default: break;
  }
  // A clock never goes back.
  if (int32_t(e.value - u32(ticks) - o.clock) > 0) o.clock = e.value - u32(ticks);
  return e;
}

static Event honest(int id) {
  Other& o = others[id];
  const Conn& c = conns[id];
  if (!o.ready.empty() && !chance(3)) {
    size_t i = chance(8) ? below(o.ready.size()) : 0;  // some overtake others
    Event e = o.ready[i];
    o.ready.erase(o.ready.begin() + i);
    e.seq = u32(std::max(c.rcv_nxt, std::min(o.snd_nxt, c.rcv_nxt + c.free_room())));
    e.wnd = scaled(c, o.window);
    return e;
  }
  // Data, in order but for what is lost.
  const i64 cum = o.got.empty() ? c.una : std::min(std::max(o.got[0].to, c.una), c.max);
  Event e = bare(id, cum);
  if (o.snd_nxt < c.rcv_nxt) o.snd_nxt = c.rcv_nxt;
  if (o.snd_nxt > c.rcv_nxt && chance(3)) {
    e.seq = u32(c.rcv_nxt);
    e.len = between(1, c.mss);
  } else if (o.snd_nxt - c.rcv_nxt < c.free_room() || chance(20)) {
    e.seq = u32(o.snd_nxt);
    e.len = chance(3) ? between(1, c.mss) : c.mss;
    o.snd_nxt += e.len;
    if (below(256) < o.loss) {  // lost, and the next one comes
      e.seq = u32(o.snd_nxt);
      o.snd_nxt += e.len;
    }
  }
  if (chance(400)) e.flags |= Fin;
  return e;
}

/// What routers say, strangers, and what comes for a connection that is over.
static Event odd(int id) {
  const Conn& c = conns[id];
  Event e = bare(id, c.una);
  switch (below(4)) {
    case 0:
      e.kind = KdTooBig;
      e.ack = u32(chance(3) ? c.max + between(-1, 2) : between(c.una - 2, c.max));
      e.mss = chance(2) ? between(512, std::max(i64(512), c.mss + 13)) : between(512, 9000);
      e.hit = !chance(10);
      e.len = 0;
      break;
    case 1:
      e.hit = false;
      e.conn = 0;
      e.refused = chance(4);
      e.early = !e.refused && chance(4);
      e.seq = rng();
      e.ack = rng();
      e.peer = rng() & 0xef;
      e.len = chance(2) ? 0 : below(1400);
      if (chance(3)) e.flags = Syn;
      else if (chance(3)) e.flags = rng() & (Fin | Rst | Ack | Psh);
      break;
    case 2:
      e.flags = Syn;
      e.seq = u32(c.rcv_nxt + between(-3, 100));
      if (chance(3)) e.peer = rng() & 0xef;
      break;
    default:
      e.hit = true;
      if (chance(4)) e.flags |= Fin;
      e.len = chance(3) ? below(100) : 0;
      if (chance(3)) e.seq = rng();
  }
  e.isn = chance(2) ? rng() : u32(c.max) + u32(between(60000, 70000));
  e.mss = e.kind == KdTooBig ? e.mss : 1460;
  e.ws_valid = chance(2);
  e.sack_ok = chance(2);
  e.times_ok = chance(2);
  if (chance(30)) e.value = rng();
  if (!e.hit) e.times = chance(2);
  return e;
}

static bool ending;  // no new connections; the session resets all

static bool next_segment(Event& e) {
  const int id = below(Conns);
  Other& o = others[id];
  if (ending) return false;
  if (!o.taken) {
    if (conns[id].state != StFree) return false;  // being given back
    // Looked up before the id was given back; nobody finds one that was never used.
    if (chance(6)) return e = odd(id), !e.hit || used[id];
    used[id] = true;
    return e = opens(id), true;
  }
  if (!o.opened) return false;
  if (!o.mood_left--) {
    o.mood = Mood(below(10) < 6 ? Honest : below(10) < 8 ? Wild : Silent);
    o.mood_left = o.mood == Silent ? 1 << below(chance(4) ? 16 : 10) : 1 << below(12);
    o.loss = chance(3) ? 0 : below(60);
    o.window = chance(4) ? between(0, Ring) : Ring;
    o.answers = chance(3);
    o.slow = chance(3);
  }
  if (chance(o.closed ? 8 : 100)) return e = odd(id), true;
  if (o.mood == Silent) return false;
  e = o.mood == Honest ? honest(id) : wild(id);
  return true;
}

static bool next_command(Event& e) {
  const int id = below(Conns);
  Other& o = others[id];
  const Conn& c = conns[id];
  if (!o.opened || o.released) return false;
  e = Event{KdApp, id};
  if (o.mood == Silent && o.answers && !ending && !o.closed && !chance(500)) return false;  // nobody says anything
  if (o.closed && chance(8)) {
    e.release = o.released = true;
    return true;
  }
  if (!chance(o.slow ? 2 : 4)) {
    if (o.slow) o.rx = std::min(o.rx + (chance(2) ? between(0, c.mss) : i64(below(4)) * c.mss), o.rx_told);
    else o.rx = chance(3) ? between(o.rx, o.rx_told) : o.rx_told;
  }
  const i64 most = o.acked + Ring;
  if (!o.close && !chance(3) && (!o.answers || o.acked == o.tx)) {
    o.tx = std::max(o.tx, chance(3) ? most : std::min(most, o.tx + (chance(2) ? between(0, 300) : between(0, 9 * c.mss))));
  }
  o.close |= chance(o.mood == Wild ? 50 : 150);
  e.seq = u32(o.rx);
  e.ack = u32(o.tx);
  e.close = o.close;
  e.reset = ending || chance(quiet ? 100 : 1000);  // rather where it has to wait for room
  return true;
}

// ------------------------------------------------------------ the card
struct Spans4 {
  uint32_t w[8];
};
struct InFlight {
  Event e;
  Now now;
  int age = 0;
  bool held = false;
  // as the card passes measure and limit
  bool verdict = false, challenge = false, stray = false;
  u32 conn = 0, len = 0, skip = 0, take = 0, news = 0, rx_from = 0, rx_ptr = 0, tx_ptr = 0, numbers = 0;
  uint64_t count = 0;
  bool stamps = false, probed = false;
  u32 offset = 0, recent = 0;
  u32 heard = 0, asked = 0, agreed = 0, low = 0, cwnd = 0, room = 0;
  Spans4 kept, board;
};

static void dump(const Conn& c) {
  fprintf(stderr,
          "  state %d una %" PRId64 " nxt +%" PRId64 " max +%" PRId64 " end +%" PRId64 " wnd %" PRId64 " mss %" PRId64
          " cwnd %" PRId64 " ssthresh %" PRId64 " recover %+" PRId64 " recovers %d by_sack %d dups %d tries %d tail %d\n"
          "  rcv_nxt %" PRId64 " read %+" PRId64 " adv %" PRId64 " pend %" PRId64 " close %d fin_rcvd %d rto %" PRId64
          " timer %d deadline %" PRId64 " high_rxt +%" PRId64 " filled_max +%" PRId64 " at room %" PRId64 "\n",
          c.state, c.una, c.nxt - c.una, c.max - c.una, c.end - c.una, c.wnd, c.mss, c.cwnd, c.ssthresh,
          c.recover - c.una, c.recovers, c.by_sack, c.dups, c.tries, c.tail, c.rcv_nxt, c.read - c.rcv_nxt, c.adv,
          c.pend, c.close, c.fin_rcvd, c.rto, c.timer, c.deadline, c.high_rxt - c.una, c.filled_max - c.una, c.room);
  for (Span s : c.board) fprintf(stderr, "  told +%" PRId64 " .. +%" PRId64 "\n", s.from - c.una, s.to - c.una);
  for (Span s : c.kept) fprintf(stderr, "  kept +%" PRId64 " .. +%" PRId64 "\n", s.from - c.rcv_nxt, s.to - c.rcv_nxt);
}

static Conn before;
static bool differs;

static void show(const Event& e) {
  static const char* names[] = {"segment", "too big", "command", "more", "short visit", "second", "wait"};
  fprintf(stderr, "  %s%s%s hit %d fresh %d flags %02x seq %u ack %u wnd %u len %u dups %d told %d twice %d close %d",
          names[e.kind], e.quiet ? ", quiet" : "", e.release ? ", release" : e.reset ? ", reset" : "", e.hit, e.fresh,
          e.flags, e.seq, e.ack, e.wnd, e.len, e.dups, e.told, e.twice, e.close);
  for (Span s : e.blocks) fprintf(stderr, " [%" PRId64 " %" PRId64 "]", s.from, s.to);
  fputc('\n', stderr);
}

static void compare(const char* what, i64 rtl, i64 model) {
  if (rtl == model) return;
  fprintf(stderr, "event %" PRIu64 ", clock %" PRIu64 ": %s is %" PRId64 ", the model has %" PRId64 "\n", events, clocks,
          what, rtl, model);
  differs = true;
}

static void compare_spans(const char* what, const uint32_t* words, const std::vector<Span>& model) {
  size_t n = 0;
  for (int i = 0; i < 4; i++) {
    const uint64_t word = words[2 * i] | uint64_t(words[2 * i + 1]) << 32;
    if (!(word >> 36 & 1)) continue;
    compare(what, n < model.size(), 1);
    if (n < model.size()) {
      compare(what, word >> 18 & 0x3ffff, model[n].from & 0x3ffff);
      compare(what, word & 0x3ffff, model[n].to & 0x3ffff);
    }
    n++;
  }
  compare(what, n, model.size());
}

static void finish(InFlight& f) {
  static Conn nobody;
  Event& e = f.e;
  const int id = e.conn;
  const bool stranger = (e.kind == KdSeg || e.kind == KdTooBig) && !e.hit;
  Conn& c = stranger ? nobody : conns[id];
  Other& o = others[id];
  if (stranger) nobody = Conn{};
  before = c;
  if (e.kind == KdMore && !c.in_more) compare("a visit of more", 1, 0);
  if (e.kind == KdFast && !c.in_fast) compare("a short visit", 1, 0);
  if (e.kind == KdSlow && !c.in_slow) compare("a visit a second", 1, 0);
  if (e.kind == KdWait && !c.in_wait) compare("a visit of TIME_WAIT", 1, 0);
  const Result r = c.event(e, f.now, card);
  if (!stranger) {
    history[id].push_back({e, r});
    if (history[id].size() > Deep) history[id].pop_front();
  }

  // ---- measure
  compare("held", f.held, !stranger);
  const u32 news = r.open << 4 | r.acked << 3 | r.data << 2 | r.fin << 1 | r.closed;
  compare("a verdict", f.verdict, r.len || news);
  if (f.verdict) {
    compare("payload", f.len, r.len);
    compare("taken", f.take, r.take);
    if (r.take) compare("skipped", f.skip, r.skip);
    if (r.take) compare("ring place", f.rx_from, r.rx_from);
    compare("news", f.news, news);
    if (news) compare("rx_ptr", f.rx_ptr, r.rx_ptr);
    if (news) compare("tx_ptr", f.tx_ptr, r.tx_ptr);
  }
  compare("challenge", f.challenge, r.challenge);
  compare("stray", f.stray, r.stray);
  compare("counters", f.count & ~(uint64_t(1) << SegsOut), r.count);
  const bool was_open = before.state == StOpen || (e.kind == KdSeg && e.fresh);
  if (!stranger) {
    compare("no longer open", f.numbers >> 2 & 1, was_open && c.state != StOpen);
    compare("opened", f.numbers >> 1 & 1, r.open);
    compare("closed", f.numbers & 1, r.closed);
  }
  if (!stranger && c.state == StOpen) {
    compare("heard", f.heard, c.heard & 0xffff);
    compare("asked", f.asked, c.asked & 0xffff);
    compare("probed", f.probed, c.probed);
    compare("agreed MSS", f.agreed, c.agreed_mss);
    if (c.mss != c.agreed_mss) compare("low", f.low, c.low & 0x3ff);
    compare("timestamps", f.stamps, c.stamps);
    if (c.stamps) compare("our clock", f.offset, u32(c.clock - c.clock_at));
    if (c.stamps) compare("TS.Recent", f.recent, c.recent);
    compare_spans("kept out of order", f.kept.w, c.kept);
    compare_spans("told", f.board.w, c.board);
    compare("window with limited transmit", f.cwnd, c.window);
    compare("room in cwnd", f.room, c.room);
  }

  // ---- what is sent
  compare("a segment", top->cmd_valid_o, r.sends);
  if (r.sends && top->cmd_valid_o) {
    const Segment& s = r.segment;
    compare("to whom", top->cmd_peer_o, s.peer);
    compare("refusal", top->cmd_refusal_o, s.refusal);
    compare("seq", top->cmd_seq_o, s.seq);
    compare("ack", top->cmd_ack_o, s.ack);
    compare("flags", top->cmd_flags_o, s.flags);
    compare("window", top->cmd_wnd_o, s.wnd);
    compare("length", top->cmd_len_o, s.len);
    compare("MSS option", top->cmd_mss_valid_o, s.mss_valid);
    if (s.mss_valid) compare("MSS", top->cmd_mss_o, s.mss);
    compare("window scale", top->cmd_ws_valid_o, s.ws_valid);
    compare("SACK permitted", top->cmd_sack_ok_o, s.sack_ok);
    compare("may be fragmented", top->cmd_narrow_o, s.narrow);
    compare("timestamps option", top->cmd_times_o, s.times);
    if (s.times) compare("TSval", top->cmd_value_o, s.value);
    if (s.times) compare("TSecr", top->cmd_echo_o, s.echo);
    compare_spans("SACK option", reinterpret_cast<uint32_t*>(top->cmd_sack_o.data()), s.sack);
    compare("beyond the peer's window", r.beyond, 0);
  }
  if (!stranger) {
    compare("asked for visits", top->push_o, r.more << 3 | r.wait << 2 | r.slow << 1 | r.fast);
    compare("id given back", top->del_o, r.del);

    // ---- the word
    compare("state", top->state_o, c.state);
    const u32 flags = c.fin_rcvd << 12 | c.close << 11 | c.fin_first << 10 | c.fin_acked << 9 | c.released << 8 |
                      c.over << 7 | c.tell_closed << 6 | c.in_more << 5 | c.in_fast << 4 | c.in_slow << 3 |
                      c.in_wait << 2 | c.owe_ack << 1 | u32(c.owe_again);
    compare("flags of the word", top->flags_o, flags);
  }
  if (!stranger && c.state != StFree) {
    compare("SND.UNA", top->snd_una_o, u32(c.una));
    compare("SND.NXT", top->snd_nxt_o, u32(c.nxt));
    compare("SND.MAX", top->snd_max_o, u32(c.max));
    compare("end of what is written", top->tx_end_o, u32(c.end));
    compare("SND.WND", top->snd_wnd_o, c.wnd);
    compare("MAX.SND.WND", top->max_wnd_o, c.max_wnd);
    compare("MSS", top->mss_o, c.mss);
    compare("cwnd", top->cwnd_o, c.cwnd);
    compare("ssthresh", top->ssthresh_o, c.ssthresh);
    compare("bytes counted", top->ca_count_o, c.counted);
    compare("recover", top->recover_o, std::max(c.recover, c.una - 1) & 0x3ffff);
    compare("in recovery", top->in_rec_o, c.recovers);
    compare("duplicate ACKs", top->dupacks_o, c.dups);
    if (c.state == StOpen) compare("tries", top->tries_o, c.tries);
    compare("RCV.NXT", top->rcv_nxt_o, u32(c.rcv_nxt));
    if (!c.close) compare("read", top->credit_o, u32(c.read));
    compare("window told", top->adv_o, c.adv);
    compare("not acknowledged yet", top->pend_o, c.pend);
    compare("timing", top->rtt_on_o, c.timing);
    if (c.timing) compare("end of what is timed", top->rtt_seq_o, c.timed_end & 0x3ffff);
    if (c.timing) compare("timed since", top->rtt_since_o, c.timed_at & 0xffff);
    compare("measured", top->rtt_valid_o, c.measured);
    if (c.measured) compare("SRTT", top->srtt_o, c.srtt8);
    if (c.measured) compare("RTTVAR", top->rttvar_o, c.rttvar4);
    compare("RTO", top->rto_o, c.rto);
    compare("off the real RTO by more than GRAIN", c.off > 9, 0);
    compare("tail", top->tail_o, c.tail);
    compare("timer", top->tm_on_o, c.timer);
    if (c.timer) compare("deadline", top->deadline_o, c.deadline & 0xfffff);
    compare("told lately", top->told_on_o, c.told_on);
    if (c.told_on) compare("told at", top->told_at_o, c.told_at & 0xfff);
  }
  if (differs) {
    fprintf(stderr, "connection %d, the event is the last one:\n", id);
    for (auto& [was, result] : history[id]) {
      show(was);
      if (result.sends) {
        fprintf(stderr, "      -> seq %u len %u flags %02x\n", result.segment.seq, result.segment.len,
                result.segment.flags);
      }
    }
    fprintf(stderr, "before:\n");
    dump(before);
    fprintf(stderr, "after, in the model:\n");
    dump(c);
    exit(1);
  }

  // ---- the world goes on
  events++;
  for (int i = 0; i < Counts; i++) seen[i] += r.count >> i & 1;
  seen[BySack] += !before.recovers && c.recovers && c.by_sack;
  seen[ByDups] += !before.recovers && c.recovers && !c.by_sack;
  seen[c.by_sack ? PartialBySack : Partial] += before.recovers && c.recovers && r.acked;
  seen[Again] += c.recovers && before.high_rxt > c.una && c.high_rxt == c.una && c.una == before.una;
  seen[TailNewSent] += c.tail == TailNew && before.tail != TailNew;
  seen[TailAgainSent] += c.tail == TailAgain && before.tail != TailAgain;
  seen[TailLost] += before.tail == TailAgain && c.tail != TailAgain && r.acked && !before.recovers && c.ssthresh != before.ssthresh;
  seen[Echoed] += r.sends && r.segment.times;
  seen[Karn] += before.stamps && before.timing && before.tries && !c.timing;
  seen[RoomNone] += c.recovers && !c.room;
  seen[Closes] += before.wnd && !c.wnd && c.state == StOpen;
  if (stranger) return;
  if (r.open) {
    o.opened = true;
    o.rx = o.rx_told = c.read;
    o.acked = o.tx = c.una;
  }
  if (r.acked) o.acked = near(r.tx_ptr, c.una);
  if (r.data) o.rx_told = std::max(o.rx_told, near(r.rx_ptr, c.rcv_nxt));
  if (r.closed) {
    compare("closed before", o.closed, 0);
    o.closed = true;
  }
  if (r.del) {
    compare("an id that is free, or not released, given back", !o.taken || !o.released, 0);
    o.taken = false;
  }
  if (r.sends && c.state == StOpen && o.opened) {
    const i64 from = near(r.segment.seq, c.una);
    deliver(id, from, from + r.segment.len + (r.segment.flags & Fin ? 1 : 0), r.segment.value);
  }
}

// ------------------------------------------------------------ the reader of SACK options
struct Option {
  uint8_t bytes[40];
  int len;
  u32 ack;
};
static std::deque<Option> options;
static uint64_t options_read;

static void offer_option() {
  top->opt_valid_i = chance(2);
  if (!top->opt_valid_i) return;
  Option o;
  for (auto& b : o.bytes) b = rng();
  o.ack = chance(2) ? rng() : (rng() & ~u32(0x1ffff)) - below(80000) + 40000;
  int at = 0;
  static const int begins[] = {0, 2, 2, 2, 14, 14};
  const int begin = begins[below(6)], alone = below(8);  // timestamps alone
  if (begin == 2) o.bytes[0] = o.bytes[1] = 1;
  if (begin == 14) {
    o.bytes[0] = o.bytes[1] = o.bytes[12] = o.bytes[13] = 1;
    o.bytes[2] = 8;
    o.bytes[3] = 10;
  }
  at = begin;
  const int count = chance(20) ? below(6) : 1 + below(begin == 14 ? 3 : 4);
  o.bytes[at] = chance(30) ? rng() : 5;
  o.bytes[at + 1] = chance(30) ? rng() : 2 + 8 * count;
  u32 edge = o.ack;
  for (int i = 0; i < count && at + 10 + 8 * i <= 40; i++) {
    u32 from, to;
    switch (below(8)) {
      case 0: from = o.ack - below(3000); to = from + below(3000); break;            // D-SACK, nearly
      case 1: from = o.ack + below(70000); to = from + below(70000); break;
      case 2: from = o.ack + below(270000) - 135000; to = o.ack + below(270000) - 135000; break;
      case 3: from = i && chance(2) ? edge : edge + below(3); to = from + below(3000); break;
      default: from = edge + 1 + below(8000); to = from + 1 + below(8000);
    }
    if (chance(100)) from = rng();
    edge = to;
    for (int k = 0; k < 4; k++) {
      o.bytes[at + 2 + 8 * i + k] = from >> (24 - 8 * k);
      o.bytes[at + 6 + 8 * i + k] = to >> (24 - 8 * k);
    }
  }
  o.len = std::min((at + 2 + 8 * count + 3) & ~3, 40);
  if (alone < 2) {
    const uint8_t head[] = {1, 1, 8, 10};
    memcpy(o.bytes, head + 2 * alone, 4 - 2 * alone);
    o.len = 12;
  }
  if (chance(30)) o.len = 4 * below(11);
  if (o.len == 0) o.len = 4;
  memcpy(top->opts_i.data(), o.bytes, 40);
  top->opt_len_i = o.len;
  top->opt_ack_i = o.ack;
  options.push_back(o);
}

static void check_option() {
  if (!top->opt_valid_o) return;
  const Option o = options.front();
  options.pop_front();
  options_read++;
  const Told t = read_option(o.bytes, o.len, o.ack);
  compare("option: timestamps", top->opt_times_o, t.times);
  if (t.times) compare("option: TSval", top->opt_value_o, t.value);
  if (t.times) compare("option: TSecr", top->opt_echo_o, t.echo);
  compare("option: told", top->opt_told_o, t.told);
  compare("option: twice", top->opt_twice_o, t.twice);
  std::vector<Span> spans;
  for (Span s : t.blocks) spans.push_back({o.ack + s.from, o.ack + s.to});
  if (t.told) compare_spans("option: blocks", reinterpret_cast<uint32_t*>(top->opt_spans_o.data()), spans);
  if (differs) {
    fprintf(stderr, "ack %u, %d bytes:", o.ack, o.len);
    for (int i = 0; i < 40; i++) fprintf(stderr, " %02x", o.bytes[i]);
    for (Span s : t.blocks) fprintf(stderr, " [%" PRId64 " %" PRId64 "]", s.from, s.to);
    fputc('\n', stderr);
    exit(1);
  }
}

int main(int argc, char** argv) {
  const u32 seed = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1;
  const uint64_t wanted = argc > 2 ? strtoull(argv[2], nullptr, 10) : 100000;
  rng.seed(seed);
  VerilatedContext context;
  context.randReset(2);
  context.fatalOnError(false);
  top = new Vtcb_tb(&context);
  card = {1460, 1 + below(3000), chance(4) ? 0 : 1 + below(6), chance(4) ? 0 : 1 + below(20)};
  top->own_mss_i = card.own_mss;
  top->time_wait_i = card.time_wait;
  top->keep_alive_i = card.keep_alive;
  top->idle_i = card.idle;
  top->rst_ni = 0;
  for (auto* input : {&top->seg_valid_i, &top->app_valid_i, &top->tick_i, &top->low_i, &top->rare_i, &top->opt_valid_i}) *input = 0;
  top->slept_i = 0;

  bool seg_on = false, app_on = false;
  Event seg{KdSeg, 0}, app{KdApp, 0};
  std::deque<Event> granted;
  std::deque<InFlight> pipe;
  // What waits in the timers' queues: who, since when, and for how many clocks too long.
  struct Waits {
    int conn;
    uint64_t since;
  };
  std::deque<Waits> queues[3];
  u32 tick_in = 1, busy = 0, seg_in = 1, app_in = 2, late[3] = {};
  bool ripe[3] = {};
  uint64_t stuck = 0, last = 0;
  const auto anybody = [] { return std::any_of(others, others + Conns, [](const Other& o) { return o.taken; }); };
  while (events < wanted || anybody()) {
    if (!ending && events >= wanted) {
      ending = true;
      last = clocks;
    }
    if (ending && clocks > last + 1000000) {
      fprintf(stderr, "an id did not come back\n");
      return 1;
    }
    if (clocks % 4096 == 0) {  // another pace
      static const u32 paces[] = {1, 1, 4, 8, 64, 1000};
      tick_in = paces[below(6)];
      busy = chance(3) ? below(200) : 0;
      quiet = chance(3) ? below(200) : 0;
      seg_in = 1 + below(3) * below(3);
      app_in = 2 + below(12);
    }
    const bool run = clocks > 60;
    if (run && !seg_on && chance(seg_in)) seg_on = next_segment(seg);
    if (run && !app_on && chance(app_in)) app_on = next_command(app);
    top->seg_valid_i = seg_on;
    if (seg_on) {
      top->seg_peer_i = seg.peer;
      top->seg_seq_i = seg.seq;
      top->seg_ack_i = seg.ack;
      top->seg_flags_i = seg.flags;
      top->seg_wnd_i = seg.wnd;
      top->seg_len_i = seg.len;
      top->seg_mss_i = seg.mss;
      top->seg_ws_valid_i = seg.ws_valid;
      top->seg_sack_ok_i = seg.sack_ok;
      top->seg_times_ok_i = seg.times_ok;
      top->seg_opt_len_i = seg.opt_len;
      top->times_valid_i = seg.times;
      top->times_value_i = seg.value;
      top->times_echo_i = seg.echo;
      top->seg_too_big_i = seg.kind == KdTooBig;
      top->seg_conn_i = seg.conn;
      top->seg_hit_i = seg.hit;
      top->seg_fresh_i = seg.fresh;
      top->seg_refused_i = seg.refused;
      top->seg_early_i = seg.early;
      top->seg_dups_i = seg.dups;
      top->seg_isn_i = seg.isn;
      top->seg_carries_i = seg.carries;
      top->agreed_mss_i = seg.agreed_mss;
      top->agreed_ws_ok_i = seg.agreed_ws_ok;
      top->agreed_ws_i = seg.agreed_ws;
      top->agreed_sack_ok_i = seg.agreed_sack_ok;
      top->told_i = seg.told;
      top->twice_i = seg.twice;
      for (size_t i = 0; i < 4; i++) {
        uint64_t word = 0;
        if (i < seg.blocks.size()) {
          word = uint64_t(1) << 36 | uint64_t((seg.ack + seg.blocks[i].from) & 0x3ffff) << 18 |
                 ((seg.ack + seg.blocks[i].to) & 0x3ffff);
        }
        top->told_spans_i[2 * i] = uint32_t(word);
        top->told_spans_i[2 * i + 1] = uint32_t(word >> 32);
      }
    }
    top->app_valid_i = app_on;
    if (app_on) {
      top->app_conn_i = app.conn;
      top->app_rx_ptr_i = app.seq;
      top->app_tx_ptr_i = app.ack;
      top->app_close_i = app.close;
      top->app_reset_i = app.reset;
      top->app_release_i = app.release;
    }
    top->verdict_room_i = below(256) >= busy;
    top->cmd_room_i = below(256) >= quiet;
    top->del_room_i = below(256) >= busy;
    top->challenge_ok_i = !chance(10);
    top->stray_ok_i = !chance(10);
    top->tick_i = run && (ending || chance(tick_in));
    top->slept_i = run && !ending && chance(20000) ? below(1000) : 0;
    top->low_i = (clocks >> 14 & 7) == 0;
    top->pressed_i = (clocks >> 15 & 3) == 0;
    const bool was_rare = top->rare_i;
    top->rare_i = (clocks >> 17 & 1) && !top->pressed_i;
    if (run) offer_option();
    top->clk_i = 0;
    top->eval();
    context.timeInc(1);

    // ---- what is where
    for (InFlight& f : pipe) {
      switch (++f.age) {
        case 1: f.now.diff = ticks; break;
        case 3:
          f.now.update = ticks;
          f.now.pressed = top->pressed_i;
          f.now.rare = top->rare_i;
          break;
        case 4:
          f.now.measure = ticks;
          f.now.challenge_ok = top->challenge_ok_i;
          f.now.stray_ok = top->stray_ok_i;
          f.held = top->held_o >> 3 & 1;
          f.verdict = top->verdict_valid_o;
          f.conn = top->verdict_conn_o;
          f.len = top->verdict_len_o;
          f.skip = top->verdict_skip_o;
          f.take = top->verdict_take_o;
          f.news = top->verdict_news_o;
          f.rx_from = top->verdict_rx_from_o;
          f.rx_ptr = top->verdict_rx_ptr_o;
          f.tx_ptr = top->verdict_tx_ptr_o;
          f.challenge = top->challenge_o;
          f.stray = top->stray_o;
          f.numbers = top->numbers_o;
          f.count = top->count_o;
          f.heard = top->heard_o;
          f.asked = top->asked_o;
          f.agreed = top->agreed_o;
          f.low = top->low_o;
          f.probed = top->probed_o;
          f.stamps = top->stamps_on_o;
          f.offset = top->stamps_offset_o;
          f.recent = top->stamps_recent_o;
          f.cwnd = top->me_cwnd_o;
          memcpy(f.kept.w, top->kept_o.data(), 32);
          memcpy(f.board.w, top->board_o.data(), 32);
          break;
        case 5:
          f.now.limit = ticks;
          f.room = top->li_room_o;
          break;
        case 7: f.now.finish = ticks; break;
      }
    }
    if (!pipe.empty() && pipe.front().age == 7) {
      const Event done = pipe.front().e;
      finish(pipe.front());
      pipe.pop_front();
      if (!((done.kind == KdSeg || done.kind == KdTooBig) && !done.hit)) {
        // In the timers' queues from the next clock on.
        const uint64_t since = ticks + top->tick_i + top->slept_i;
        for (int q = 0; q < 3; q++) {
          if (top->push_o >> q & 1) queues[q].push_back({done.conn, since});
        }
      }
    }
    if (top->fetch_o) {
      InFlight f;
      if (top->fetch_kind_o == KdMore) {
        f.e = Event{KdMore, int(top->fetch_conn_o)};
      } else {
        if (granted.empty()) {
          fprintf(stderr, "an event that nobody caused\n");
          return 1;
        }
        f.e = granted.front();
        granted.pop_front();
      }
      compare("quiet", top->fetch_quiet_o, f.e.quiet);
      compare("event", top->fetch_kind_o, f.e.kind);
      compare("its connection", top->fetch_conn_o, f.e.conn);
      if (top->fetch_crowded_o) {
        const bool bare = f.e.kind == KdSeg && !f.e.len && !(f.e.flags & (Syn | Fin | Rst));
        compare("may be dropped", f.e.hit && !f.e.fresh && !bare && f.e.kind <= KdTooBig, 1);
        f.e.hit = false;
        f.e.crowded = true;
      }
      pipe.push_back(f);
    }
    // ---- who was picked
    const bool seg_done = top->seg_valid_i && top->seg_ready_o, app_done = top->app_valid_i && top->app_ready_o;
    seg.quiet = app.quiet = !top->cmd_room_i;
    if (seg_done) granted.push_back(seg);
    if (app_done) granted.push_back(app);
    if (seg_done && (seg.refused || (seg.flags & Syn))) compare("no room for what is answered at once", seg.quiet, 0);
    if (seg_done) compare("room for a verdict", top->verdict_room_i, 1);
    if (app_done && app.reset) compare("no room for a RST", app.quiet, 0);
    if (top->visit_o) compare("room for a visit's outcome", top->verdict_room_i && top->cmd_room_i, 1);
    if (seg_done || app_done || top->visit_o) compare("room for an id", top->del_room_i, 1);
    for (int q = 0; q < 3; q++) {
      // Seconds end for all at once. What was due stays so.
      const auto due = [&] {
        const i64 since = queues[q].front().since, now = ticks;
        const bool rare = top->rare_i && was_rare;
        return q == 1 ? now / 1000 - since / 1000 >= (rare ? 8 : 1) : now - since >= (q == 0 ? 25 : i64(card.time_wait));
      };
      if (!queues[q].empty()) ripe[q] |= due();
      if (ripe[q] && top->verdict_room_i && top->cmd_room_i &&
          top->del_room_i) {
        if (++late[q] > 1500) compare("a visit that is late", q, -1);
      }
      if (!(top->visit_o >> q & 1)) continue;
      Event e{Kind(KdFast + q), int(top->visit_conn_o)};
      e.hurry = q == 2 && top->visit_hurry_o;
      granted.push_back(e);
      late[q] = 0;
      compare("whose visit", e.conn, queues[q].empty() ? -1 : queues[q].front().conn);
      if (queues[q].empty()) break;
      if (!e.hurry) compare("a visit too early", ripe[q], 1);
      ripe[q] = false;
      queues[q].pop_front();
    }
    check_option();
    if (differs) return 1;
    top->clk_i = 1;
    top->eval();
    context.timeInc(1);
    if (run) ticks += top->tick_i + top->slept_i;
    seg_on &= !seg_done;
    app_on &= !app_done;
    if (context.gotFinish() || context.gotError()) {
      fprintf(stderr, "assertion failed in clock %" PRIu64 ", event %" PRIu64 "; on the way:\n", clocks, events);
      for (const InFlight& f : pipe) {
        fprintf(stderr, "connection %d, %d clocks from the table:\n", f.e.conn, f.age);
        show(f.e);
        dump(conns[f.e.conn]);
      }
      return 1;
    }
    if (++clocks == 10) top->rst_ni = 1;
    stuck = top->fetch_o ? 0 : stuck + 1;
    if (stuck > 200000) {
      fprintf(stderr, "nothing happens any more\n");
      return 1;
    }
  }
#if VM_COVERAGE
  context.coveragep()->write(std::string(getenv("WIREKV_COVERAGE")) + "/tb/tcb" + argv[1] + ".dat");
#endif
  printf("seed %u: %" PRIu64 " events, %" PRIu64 " options, %" PRIu64 " clocks, %" PRIu64 " ticks\n", seed, events,
         options_read, clocks, ticks);
  for (int i = 0; i < Sees; i++) {
    if (*seen_names[i]) printf("  %-22s%10" PRIu64 "\n", seen_names[i], seen[i]);
  }
  return 0;
}
