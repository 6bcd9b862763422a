// The memory of the card's host behind the link's AXI4 master: bursts, ids, answers that come late and in any order.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "axi_port.h"

namespace wirekv {

struct HostMemoryConfig {
  uint8_t* bytes;      // of this process
  uint64_t physical;   // where the card sees them
  uint64_t size;
  uint32_t latency;    // clocks from a read's address to its first beat, from a write's last beat to its answer
  uint32_t jitter;     // up to so many clocks more, at random
  bool shuffle;        // reads that could be answered are so in any order, their beats mixed
  uint64_t seed;
  uint32_t refuse;     // each burst of so many to `refuse_from` .. `refuse_to` is refused; 0: none
  uint64_t refuse_from, refuse_to;
};

/// A write takes effect when it is answered, a beat of a read has what is there when it is given. Answers to writes keep their
/// order, since one id's must.
class HostMemory {
 public:
  explicit HostMemory(const HostMemoryConfig& c)
      : c_(c), random_(c.seed * 2 + 1), addrs_(256), lines_(256), answers_(256) {
    reads_.reserve(64);
  }

  /// Start of a clock: what it drives.
  template <typename Top>
  void drive(Top& t, uint64_t now) {
    t.m_host_arready = 1;
    t.m_host_awready = !addrs_.full();
    t.m_host_wready = !lines_.full();
    t.m_host_bvalid = !answers_.empty() && answers_.front().due <= now;
    if (t.m_host_bvalid) {
      const Burst& a = answers_.front();
      t.m_host_bid = a.id;
      t.m_host_bresp = a.bad ? 2 : 0;
    }
    // A read whose beat stands on the port stays until it is taken.
    if (!t.m_host_rvalid || beat_taken_) choose(now);
    beat_taken_ = false;
    t.m_host_rvalid = chosen_ < reads_.size();
    if (t.m_host_rvalid) {
      const Burst& r = reads_[chosen_];
      t.m_host_rid = r.id;
      t.m_host_rlast = r.beats == 1;
      t.m_host_rresp = r.bad ? 2 : 0;
      if (r.bad) memset(&t.m_host_rdata[0], 0xEE, LineBytes);
      else memcpy(&t.m_host_rdata[0], at(r.addr), LineBytes);
    }
  }

  /// Takes the handshakes of the clock; says whether nothing is under way.
  template <typename Top>
  bool sample(const Top& t, uint64_t now) {
    const bool ar = t.m_host_arvalid, aw = t.m_host_awvalid, w = t.m_host_wvalid;
    if (t.m_host_rvalid && t.m_host_rready) {
      Burst& r = reads_[chosen_];
      beat_taken_ = true;
      r.addr += LineBytes;
      if (--r.beats == 0) reads_.erase(reads_.begin() + chosen_);
    }
    if (t.m_host_bvalid && t.m_host_bready) answered();
    if (ar && t.m_host_arready) {
      const uint32_t beats = t.m_host_arlen + 1u;
      const bool bad = refused(t.m_host_araddr) || !legal("read", t.m_host_araddr, beats);
      reads_.push_back({t.m_host_araddr, due(now), beats, t.m_host_arid, bad});
    }
    if (aw && t.m_host_awready) {
      Burst& a = addrs_.push();
      const uint32_t beats = t.m_host_awlen + 1u;
      const bool bad = refused(t.m_host_awaddr) || !legal("write", t.m_host_awaddr, beats);
      a = {t.m_host_awaddr, 0, beats, t.m_host_awid, bad};
    }
    if (w && t.m_host_wready) {
      Line& l = lines_.push();
      memcpy(l.data, &t.m_host_wdata[0], LineBytes);
      if (t.m_host_wlast) ++whole_;
    }
    while (whole_ != 0 && !addrs_.empty()) {
      Burst a = addrs_.front();
      a.due = due(now);
      if (a.due <= last_due_) a.due = last_due_ + 1;
      last_due_ = a.due;
      answers_.push() = a;
      addrs_.pop();
      --whole_;
    }
    return !ar && !aw && !w && reads_.empty() && addrs_.empty() && lines_.empty() &&
           answers_.empty();
  }

  /// Status lines were written: how often. They are what is written without a burst's ring, so the host says where they are.
  uint64_t told() const { return told_; }
  void status(uint64_t from, uint64_t to) { status_from_ = from, status_to_ = to; }

  /// What the card has asked for and cannot have; empty: nothing.
  const std::string& failure() const { return failure_; }

 private:
  struct Burst {
    uint64_t addr, due;
    uint32_t beats;
    uint8_t id;
    bool bad;
  };
  struct Line {
    uint8_t data[LineBytes];
  };

  uint8_t* at(uint64_t addr) { return c_.bytes + (addr - c_.physical); }

  uint64_t draw(uint64_t below) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 33) % below;
  }

  uint64_t due(uint64_t now) {
    const uint64_t t = now + (c_.latency ? c_.latency : 1);
    return c_.jitter ? t + draw(c_.jitter + 1) : t;
  }

  /// A read that gives a beat in this clock: the one that goes on or is due first, or any.
  void choose(uint64_t now) {
    chosen_ = reads_.size();
    size_t found = 0;
    for (size_t n = 0; n < reads_.size(); ++n) {
      if (reads_[n].due > now) continue;
      ++found;
      if (c_.shuffle ? draw(found) == 0 : chosen_ == reads_.size() || reads_[n].due < reads_[chosen_].due)
        chosen_ = n;
    }
  }

  void answered() {
    const Burst a = answers_.front();
    for (uint32_t n = 0; n < a.beats; ++n) {
      if (!a.bad) memcpy(at(a.addr + n * LineBytes), lines_.front().data, LineBytes);
      lines_.pop();
    }
    if (!a.bad && a.addr >= status_from_ && a.addr < status_to_) ++told_;
    answers_.pop();
  }

  bool legal(const char* what, uint64_t addr, uint64_t beats) {
    if (addr % LineBytes == 0 && beats <= 8 && addr >= c_.physical &&
        addr - c_.physical + beats * LineBytes <= c_.size)
      return true;
    if (failure_.empty()) {
      char text[160];
      snprintf(text, sizeof text,
               "the card asked for a %s of %u bytes at 0x%llx of host memory; 0x%llx bytes at 0x%llx are its own", what,
               unsigned(beats * LineBytes), static_cast<unsigned long long>(addr),
               static_cast<unsigned long long>(c_.size), static_cast<unsigned long long>(c_.physical));
      failure_ = text;
    }
    return false;
  }

  bool refused(uint64_t addr) {
    if (c_.refuse == 0 || addr < c_.refuse_from || addr >= c_.refuse_to) return false;
    return ++bursts_ % c_.refuse == 0;
  }

  HostMemoryConfig c_;
  uint64_t random_;
  std::vector<Burst> reads_;
  size_t chosen_ = 0;
  bool beat_taken_ = false;
  Ring<Burst> addrs_;
  Ring<Line> lines_;
  Ring<Burst> answers_;
  uint32_t whole_ = 0;  // bursts of data that are here whole, their addresses are not
  uint64_t last_due_ = 0, told_ = 0, bursts_ = 0;
  uint64_t status_from_ = 0, status_to_ = 0;
  std::string failure_;
};

}  // namespace wirekv
