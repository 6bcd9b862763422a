// One AXI4 memory port of the simulated card: single-line accesses, answers in order.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace wirekv {

constexpr unsigned LineBytes = 64;

/// The memory behind all ports. Pages come into being, zeroed, when first touched.
class Memory {
 public:
  explicit Memory(uint64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* line(uint64_t addr) {
    if (addr % LineBytes != 0 || addr >= bytes_) fail(addr);
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
  [[noreturn]] void fail(uint64_t addr) const;

  uint8_t* base_;
  uint64_t bytes_;
  uint64_t refused_ = 0, refused_bytes_ = 0;
};

/// A ring of fixed, power-of-two capacity: nothing is allocated while the clock runs.
template <typename T>
class Ring {
 public:
  explicit Ring(uint32_t at_least) {
    uint32_t size = 1;
    while (size < at_least) size *= 2;
    mask_ = size - 1;
    slots_.reset(new T[size]);
  }
  bool empty() const { return head_ == tail_; }
  bool full() const { return tail_ - head_ > mask_; }
  uint32_t size() const { return tail_ - head_; }
  T& front() { return slots_[head_ & mask_]; }
  T& at(uint32_t n) { return slots_[(head_ + n) & mask_]; }
  void pop() { ++head_; }
  /// The slot of a new last element, to be filled in place.
  T& push() { return slots_[tail_++ & mask_]; }

 private:
  uint32_t head_ = 0, tail_ = 0, mask_;
  std::unique_ptr<T[]> slots_;
};

/// Lines that a port has moved since the start.
struct Moved {
  uint64_t read = 0, written = 0;
};

/// Answers come `latency` clocks after the request was accepted, later by up to `jitter` clocks
/// (random) but never out of order. A read takes its value, and a write takes effect, at the end
/// of that time; in one clock reads go first. So a read sees every write that was answered before
/// it was asked for, and nothing else may be relied on.
class AxiPort {
 public:
  AxiPort(Memory& memory, uint32_t latency, uint32_t jitter, uint64_t seed)
      : memory_(memory),
        latency_(latency ? latency : 1),
        jitter_(jitter),
        random_(seed * 2 + 1),
        reads_(latency_ + jitter + 64),
        addrs_(latency_ + jitter + 64),
        lines_(latency_ + jitter + 64) {}

  // What the port drives in this clock.
  bool awready() const { return !addrs_.full(); }
  bool wready() const { return !lines_.full(); }
  bool arready() const { return !reads_.full(); }
  bool rvalid() const { return rvalid_; }
  bool bvalid() const { return answered_ != 0; }
  /// The write that is answered was refused (SLVERR).
  bool bbad() const { return bad_ >> (answered_ - 1) & 1; }
  const uint8_t* rdata() const { return rdata_; }

  /// Start of clock `now`: performs what is due.
  void begin(uint64_t now) {
    if (!rvalid_ && !reads_.empty() && reads_.front().due <= now) {
      memcpy(rdata_, memory_.line(reads_.front().addr), LineBytes);
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
    a.due = last_read_ = due(now, last_read_);
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
  struct Line {
    uint8_t data[LineBytes];
    uint64_t strb;
  };

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
      addrs_.at(paired_++).due = last_write_ = due(now, last_write_);
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
    addrs_.pop();
    lines_.pop();
    --paired_;
  }

  Memory& memory_;
  const uint32_t latency_, jitter_;
  uint64_t random_;
  uint64_t last_read_ = 0, last_write_ = 0;
  Ring<Access> reads_, addrs_;
  Ring<Line> lines_;
  uint32_t paired_ = 0;    // writes at the front with both address and line
  uint32_t answered_ = 0;  // writes performed whose B has not been taken, 64 at most
  Moved moved_;
  uint64_t bad_ = 0;       // of the last ones, the latest lowest: refused
  bool rvalid_ = false;
  uint8_t rdata_[LineBytes];
};

}  // namespace wirekv
