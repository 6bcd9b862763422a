// Time that a pseudo channel of HBM takes, with banks, open rows, refresh and turns of its bus, behind an AXI port of 256
// bits at 250 MHz; and how mem_stripe spreads the lines of a port over several of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ring.h"

namespace wirekv {

/// Where rtl/mem/mem_stripe.sv puts a line of its port, for 1, 2 or 4 ways: the way, and the line there.
struct Stripe {
  static unsigned way(uint64_t line, unsigned ways) {
    unsigned way = 0;
    if (ways > 1)
      for (; line; line /= ways) way ^= line % ways;
    return way;
  }
  static uint64_t place(uint64_t line, unsigned ways) { return line / ways; }
};

/// Requests of each direction are served in their order; what the bus gives is chosen between the two. Times are
/// sixteenths of a clock of 4 ns. They are those of HBM2 at 1,800 MT/s, but for `Look`, how many requests ahead rows are
/// opened. It is set so that random reads come at .30 lines a clock, as measured on a card; lines in sequence come
/// at .47, which is what refresh leaves of the port's .50.
class PseudoChannel {
 public:
  /// Requests that the controller takes in each direction.
  static constexpr uint32_t Depth = 64;
  static constexpr uint64_t Never = ~uint64_t{0};

  /// A read of a closed row is answered `latency` clocks after it was asked for when nothing else is under way; at least 13.
  explicit PseudoChannel(uint32_t latency)
      : way_(latency > RowOpen + 1 ? latency - RowOpen - 1 : 1), queue_{Ring<Job>(Depth), Ring<Job>(Depth)} {}

  bool room(bool write) const { return !queue_[write].full(); }

  /// Asks for a line in clock `now`. `*due`, which is Never so far, becomes the clock in which it is answered.
  /// `partial`: a write of some bytes that is a read as well, as memory with ECC has it, where the pins of the byte
  /// mask carry the check bits.
  void ask(uint64_t now, uint64_t line, bool write, bool partial, uint64_t* due) {
    Job& j = queue_[write].push();
    j.arrives = (now + (way_ + 1) / 2) * Clock;
    j.row = static_cast<uint32_t>(line / RowLines / Banks);
    // Rows one above the other are in different banks, as controllers have it.
    j.bank = static_cast<uint32_t>(line / RowLines ^ j.row) % Banks;
    j.partial = partial;
    j.open = false;
    j.due = due;
    *due = Never;
  }

  /// What is done in clock `now`.
  void step(uint64_t now) {
    const uint64_t t = now * Clock;
    if (queue_[0].empty() && queue_[1].empty()) return;
    refresh(t);
    turn(t);
    Ring<Job>& queue = queue_[writing_];
    open(queue, t);
    if (queue.empty()) return;
    Job& j = queue.front();
    if (!j.open || j.ready >= t + Clock || bus_ >= t + Clock) return;
    const uint64_t start = std::max({j.ready, bus_, t});
    bus_ = start + Burst + (j.partial ? Turn + Burst : 0);
    // The port gives, or takes, a line in two beats.
    uint64_t& last = last_[writing_];
    last = std::max((bus_ + Column + Clock - 1) / Clock + way_ / 2, last + 2);
    *j.due = last;
    queue.pop();
  }

 private:
  static constexpr uint64_t Clock = 16;
  static constexpr uint64_t Burst = 18;                          // 64 bytes on the bus, 4.4 ns
  static constexpr uint64_t Column = 56;                         // from column to data, 14 ns
  static constexpr uint64_t Open = 112;                          // precharge and activate, 28 ns
  static constexpr uint64_t Cycle = 188;                         // from one activate of a bank to the next, 47 ns
  static constexpr uint64_t Turn = 32;                           // of the bus, 8 ns
  static constexpr uint64_t RefreshEvery = 15600;                // 3.9 us
  static constexpr uint64_t RefreshTakes = 1040;                 // 260 ns
  static constexpr uint32_t RowOpen = (Open + Column + Burst) / Clock;  // whole clocks
  static constexpr uint32_t Banks = 16, RowLines = 16;
  static constexpr uint32_t Look = 4;
  static constexpr uint32_t Many = 16, Few = 2;  // writes at which the bus turns to them, and away

  struct Job {
    uint64_t arrives, ready;
    uint64_t* due;
    uint32_t bank, row;
    bool partial, open;
  };
  struct Bank {
    uint64_t again = 0;  // when another row may be opened
    uint64_t ready = 0;  // when the open one may be used
    uint32_t row = ~0u;
  };

  void refresh(uint64_t t) {
    if (t < refresh_) return;
    refresh_ += (t - refresh_) / RefreshEvery * RefreshEvery + RefreshEvery;
    for (Bank& b : banks_) b = {t + RefreshTakes, 0, ~0u};
    for (auto& queue : queue_)
      for (uint32_t n = 0; n < queue.size(); ++n) queue.at(n).open = false;
    bus_ = std::max(bus_, t + RefreshTakes);
  }

  /// Which direction the bus has.
  void turn(uint64_t t) {
    const bool reads = waits(queue_[0], t), writes = waits(queue_[1], t);
    const bool change = writing_ ? reads && (!writes || queue_[1].size() <= Few)
                                 : writes && (!reads || queue_[1].size() >= Many);
    if (!change) return;
    writing_ = !writing_;
    bus_ = std::max(bus_, t) + Turn;
  }
  static bool waits(Ring<Job>& queue, uint64_t t) {
    return !queue.empty() && queue.front().arrives <= t;
  }

  /// Opens a row for the first of the next requests that needs one, if none before it needs the bank.
  void open(Ring<Job>& queue, uint64_t t) {
    uint32_t claimed = 0;
    for (uint32_t n = 0; n < std::min(Look, queue.size()); ++n) {
      Job& j = queue.at(n);
      if (j.arrives > t) return;
      const uint32_t bit = 1u << j.bank;
      Bank& b = banks_[j.bank];
      if (!j.open && b.row == j.row) {
        j.open = true;
        j.ready = b.ready;
      } else if (!j.open && !(claimed & bit) && b.again <= t) {
        b = {t + Cycle, t + Open, j.row};
        j.open = true;
        j.ready = b.ready;
        return;
      }
      claimed |= bit;
    }
  }

  const uint32_t way_;  // clocks to the controller and back
  Ring<Job> queue_[2];  // reads, writes
  Bank banks_[Banks];
  uint64_t bus_ = 0, refresh_ = RefreshEvery, last_[2] = {0, 0};
  bool writing_ = false;
};

}  // namespace wirekv
