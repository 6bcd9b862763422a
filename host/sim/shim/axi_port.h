// One AXI4 memory port of the simulated card: single-line accesses, answers in order.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "pseudo_channel.h"
#include "ring.h"

namespace wirekv {

constexpr unsigned LineBytes = 64;

/// The memory behind all ports. Pages come into being when first touched: zeroed, or with garbage, as a card's memory has
/// it at its start.
class Memory {
 public:
  explicit Memory(uint64_t bytes, bool garbage = false);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* line(uint64_t addr) {
    if (addr % LineBytes != 0 || addr >= bytes_) fail(addr);
    if (!filled_.empty() && !filled_[addr / PageBytes]) fill(addr / PageBytes);
    return base_ + addr;
  }
  /// Bytes as they are there, for who looks at them or writes them. They must lie in the memory.
  uint8_t* range(uint64_t addr, uint64_t bytes) {
    if (!filled_.empty())
      for (uint64_t page = addr / PageBytes; page * PageBytes < addr + bytes; ++page)
        if (!filled_[page]) fill(page);
    return base_ + addr;
  }
  uint64_t bytes() const { return bytes_; }

  /// From now on writes to these bytes are refused: what stands in their lines then is of no use.
  void refuse(uint64_t addr, uint64_t bytes) {
    refused_ = addr;
    refused_bytes_ = bytes;
  }
  bool refuses(uint64_t addr) const { return addr - refused_ < refused_bytes_; }

 private:
  static constexpr uint64_t PageBytes = 4096;
  [[noreturn]] void fail(uint64_t addr) const;
  void fill(uint64_t page);

  uint8_t* base_;
  std::vector<uint8_t> filled_;  // pages that have their garbage; empty: there is none
  uint64_t bytes_;
  uint64_t refused_ = 0, refused_bytes_ = 0;
};

/// Lines that a port has moved since the start.
struct Moved {
  uint64_t read = 0, written = 0;
};

/// Answers come `latency` clocks after the request was accepted, later by up to `jitter` clocks
/// (random) but never out of order. A read takes its value, and a write takes effect, at the end
/// of that time; in one clock reads go first. So a read sees every write that was answered before
/// it was asked for, and nothing else may be relied on.
///
/// With `ways` there are as many pseudo channels, which say how long each access takes, behind what mem_stripe does
/// with its port: its latency, its order, and how many accesses of a way it has under way.
class AxiPort {
 public:
  /// `low` lowest bits of a line's number are the same for all lines of the port. With `ecc` a write of parts is a read, too.
  AxiPort(Memory& memory, uint32_t latency, uint32_t jitter, uint64_t seed, unsigned ways = 0, unsigned low = 0,
          bool ecc = false)
      : memory_(memory),
        latency_(latency ? latency : 1),
        jitter_(jitter),
        low_(low),
        ecc_(ecc),
        random_(seed * 2 + 1),
        reads_(latency_ + jitter + 64 + ways * WayDepth),
        addrs_(latency_ + jitter + 64 + ways * WayDepth),
        lines_(latency_ + jitter + 64 + ways * WayDepth) {
    for (unsigned w = 0; w < ways; ++w) ways_.emplace_back(latency_ + StripeClocks);
  }

  // What the port drives in this clock.
  bool awready() const { return !addrs_.full() && next(addrs_.size() - asked_[1]); }
  bool wready() const { return !lines_.full() && next(lines_.size() - asked_[1]); }
  bool arready() const { return !reads_.full() && next(reads_.size() - asked_[0]); }
  bool rvalid() const { return rvalid_; }
  bool bvalid() const { return answered_ != 0; }
  /// The write that is answered was refused (SLVERR).
  bool bbad() const { return bad_ >> (answered_ - 1) & 1; }
  const uint8_t* rdata() const { return rdata_; }

  /// Start of clock `now`: performs what is due.
  void begin(uint64_t now) {
    if (!ways_.empty()) channels(now);
    if (!rvalid_ && !reads_.empty() && reads_.front().due <= now) {
      memcpy(rdata_, memory_.line(reads_.front().addr), LineBytes);
      gone(false, reads_.front().addr);
      reads_.pop();
      rvalid_ = true;
    }
    if (paired_ != 0 && addrs_.front().due <= now) {
      write();
      ++answered_;
    }
  }

  // End of clock: the handshakes that took place.
  void take_ar(uint64_t now, uint64_t addr) {
    Access& a = reads_.push();
    a.addr = addr;
    a.due = ways_.empty() ? last_read_ = due(now, last_read_) : PseudoChannel::Never;
    __builtin_prefetch(memory_.line(addr));
  }
  void take_aw(uint64_t now, uint64_t addr) {
    addrs_.push().addr = addr;
    pair(now);
  }
  void take_w(uint64_t now, const void* data, uint64_t strb) {
    Line& l = lines_.push();
    memcpy(l.data, data, LineBytes);
    l.strb = strb;
    ++moved_.written;
    pair(now);
  }
  void take_r() {
    rvalid_ = false;
    ++moved_.read;
  }
  void take_b() { --answered_; }

  /// Lines that have crossed the port.
  const Moved& moved() const { return moved_; }

  bool quiet() const {
    return !rvalid_ && answered_ == 0 && reads_.empty() && addrs_.empty() && lines_.empty();
  }

 private:
  struct Access {
    uint64_t addr, due;
  };
  /// Accesses of a way under way, and clocks that it takes to it and back: those of mem_stripe.
  static constexpr uint32_t WayDepth = 32, StripeClocks = 5;
  struct Way {
    explicit Way(uint32_t latency) : channel(latency) {}
    PseudoChannel channel;
    uint32_t open[2] = {0, 0};  // reads, writes
  };
  struct Line {
    uint8_t data[LineBytes];
    uint64_t strb;
  };

  /// Another one may come, where so many wait for their way.
  bool next(uint32_t waiting) const { return ways_.empty() || waiting == 0; }
  Way& way_of(uint64_t addr) {
    return ways_[Stripe::way(addr / LineBytes >> low_, static_cast<unsigned>(ways_.size()))];
  }
  void gone(bool write, uint64_t addr) {
    if (ways_.empty()) return;
    --asked_[write];
    --way_of(addr).open[write];
  }
  /// Gives what has room to its way, in order, and has the ways do a clock's work.
  void channels(uint64_t now) {
    if (asked_[0] < reads_.size()) ask(now, false, reads_.at(asked_[0]), false);
    if (asked_[1] < paired_)
      ask(now, true, addrs_.at(asked_[1]), ecc_ && lines_.at(asked_[1]).strb != ~uint64_t{0});
    for (Way& w : ways_) w.channel.step(now);
  }
  void ask(uint64_t now, bool write, Access& a, bool partial) {
    Way& w = way_of(a.addr);
    if (w.open[write] == WayDepth || !w.channel.room(write)) return;
    w.channel.ask(now, Stripe::place(a.addr / LineBytes >> low_, static_cast<unsigned>(ways_.size())), write, partial,
                  &a.due);
    ++w.open[write];
    ++asked_[write];
  }

  uint64_t due(uint64_t now, uint64_t last) {
    uint64_t t = now + latency_;
    if (jitter_) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      t += (random_ >> 33) % (jitter_ + 1);
    }
    return t > last ? t : last;
  }

  /// A write's time starts once both its address and its line are here.
  void pair(uint64_t now) {
    while (paired_ < addrs_.size() && paired_ < lines_.size())
      addrs_.at(paired_++).due = ways_.empty() ? last_write_ = due(now, last_write_) : PseudoChannel::Never;
  }

  void write() {
    uint8_t* to = memory_.line(addrs_.front().addr);
    const Line& l = lines_.front();
    const bool refused = memory_.refuses(addrs_.front().addr);
    bad_ = bad_ << 1 | refused;
    if (refused) {
      memset(to, 0xEE, LineBytes);
    } else if (l.strb == ~uint64_t{0}) {
      memcpy(to, l.data, LineBytes);
    } else {
      for (unsigned n = 0; n < LineBytes; ++n)
        if (l.strb >> n & 1) to[n] = l.data[n];
    }
    gone(true, addrs_.front().addr);
    addrs_.pop();
    lines_.pop();
    --paired_;
  }

  Memory& memory_;
  const uint32_t latency_, jitter_, low_;
  const bool ecc_;
  uint64_t random_;
  uint64_t last_read_ = 0, last_write_ = 0;
  Ring<Access> reads_, addrs_;
  Ring<Line> lines_;
  std::vector<Way> ways_;
  uint32_t asked_[2] = {0, 0};  // reads, writes at the front that a way has
  uint32_t paired_ = 0;    // writes at the front with both address and line
  uint32_t answered_ = 0;  // writes performed whose B has not been taken, 64 at most
  Moved moved_;
  uint64_t bad_ = 0;       // of the last ones, the latest lowest: refused
  bool rvalid_ = false;
  uint8_t rdata_[LineBytes];
};

}  // namespace wirekv
