// Frames on their way into and out of the simulated card, one 64-byte beat a clock.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace wirekv {

/// Ethernet's pace: a frame occupies the wire for preamble (8), FCS (4), gap (12) and at least 60
/// bytes. A rate of 0 bytes a clock sets no pace.
class Pace {
 public:
  explicit Pace(double bytes_per_clock) : rate_(bytes_per_clock) {}
  bool free(uint64_t now) const { return static_cast<double>(now) >= free_at_; }
  void started(uint64_t now, uint64_t frame_bytes) {
    if (rate_ <= 0) return;
    // A frame that starts in the clock the wire falls free keeps the fraction of a clock.
    if (free_at_ + 1 < static_cast<double>(now)) free_at_ = static_cast<double>(now);
    free_at_ += static_cast<double>((frame_bytes < 60 ? 60 : frame_bytes) + 24) / rate_;
  }

 private:
  double rate_;
  double free_at_ = 0;
};

/// When a frame's first and last beat crossed the port, in clocks.
struct Stamp {
  uint64_t id, first, last;
};

/// Feeds queued frames into an AXI4-Stream port.
class Source {
 public:
  explicit Source(double bytes_per_clock) : pace_(bytes_per_clock) {}

  void push(uint64_t id, const uint8_t* bytes, uint32_t len, uint64_t not_before) {
    queue_.push_back({std::vector<uint8_t>(bytes, bytes + len), id, not_before, 0});
    bytes_ += len;
  }

  /// What stands on the port in clock `now`. A frame begins only if it `may`.
  template <typename Data, typename Keep, typename Bit>
  void drive(uint64_t now, Data& data, Keep& keep, Bit& valid, Bit& last, bool may = true) {
    if (!active_) {
      active_ = may && !queue_.empty() && queue_.front().not_before <= now && pace_.free(now);
      if (!active_) {
        valid = 0;
        return;
      }
      pace_.started(now, queue_.front().bytes.size());
      at_ = 0;
      fresh_ = true;
    }
    if (!fresh_) return;  // the beat on the port has not been taken yet
    fresh_ = false;
    const std::vector<uint8_t>& f = queue_.front().bytes;
    const size_t n = f.size() - at_ < 64 ? f.size() - at_ : 64;
    memcpy(&data[0], f.data() + at_, n);
    if (n < 64) memset(reinterpret_cast<uint8_t*>(&data[0]) + n, 0, 64 - n);
    keep = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    last = at_ + n == f.size();
    valid = 1;
  }

  /// The beat on the port was taken in clock `now`.
  void taken(uint64_t now) {
    Frame& f = queue_.front();
    if (at_ == 0) f.first = now;
    at_ += 64;
    fresh_ = true;
    if (at_ < f.bytes.size()) return;
    if (log_) log_->push_back({f.id, f.first, now});
    bytes_ -= f.bytes.size();
    queue_.pop_front();
    active_ = false;
  }

  bool empty() const { return queue_.empty(); }
  size_t bytes() const { return bytes_; }
  void log_to(std::vector<Stamp>* log) { log_ = log; }

 private:
  struct Frame {
    std::vector<uint8_t> bytes;
    uint64_t id, not_before, first;
  };
  std::deque<Frame> queue_;
  Pace pace_;
  size_t bytes_ = 0;
  size_t at_ = 0;        // first byte of the beat on the port
  bool active_ = false;  // the front frame is on the port
  bool fresh_ = false;   // its next beat has to be put there
  std::vector<Stamp>* log_ = nullptr;
};

/// Collects frames from an AXI4-Stream port as records {first, last, len, bytes, padding to 8}.
class Sink {
 public:
  explicit Sink(double bytes_per_clock) : pace_(bytes_per_clock) {}

  /// The wire takes a frame's beats without pause, but starts the next frame no earlier than the
  /// pace allows.
  bool ready(uint64_t now) const { return open_ || pace_.free(now); }

  template <typename Data>
  void take(uint64_t now, const Data& data, uint64_t keep, bool last) {
    if (!open_) {
      open_ = true;
      start_ = out_.size();
      out_.resize(start_ + Header);
      memcpy(&out_[start_], &now, 8);
    }
    const size_t n = last ? static_cast<size_t>(__builtin_popcountll(keep)) : 64;
    const uint8_t* from = reinterpret_cast<const uint8_t*>(&data[0]);
    out_.insert(out_.end(), from, from + n);
    if (!last) return;
    const uint64_t len = out_.size() - start_ - Header;
    memcpy(&out_[start_ + 8], &now, 8);
    memcpy(&out_[start_ + 16], &len, 8);
    out_.resize((out_.size() + 7) & ~size_t{7});
    complete_ = out_.size();
    open_ = false;
    pace_.started(now - (len - 1) / 64, len);
  }

  const uint8_t* data() const { return out_.data(); }
  size_t complete() const { return complete_; }
  /// Forgets the complete frames.
  void clear() {
    out_.erase(out_.begin(), out_.begin() + static_cast<long>(complete_));
    start_ -= open_ ? complete_ : 0;
    complete_ = 0;
  }

 private:
  static constexpr size_t Header = 24;
  std::vector<uint8_t> out_;
  Pace pace_;
  size_t start_ = 0, complete_ = 0;
  bool open_ = false;
};

}  // namespace wirekv
