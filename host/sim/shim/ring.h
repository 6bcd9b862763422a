// A ring of fixed, power-of-two capacity: nothing is allocated while the clock runs.
#pragma once

#include <cstdint>
#include <memory>

namespace wirekv {

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
  /// The slot of a new last element, to be filled in place. It stays where it is until it is popped.
  T& push() { return slots_[tail_++ & mask_]; }

 private:
  uint32_t head_ = 0, tail_ = 0, mask_;
  std::unique_ptr<T[]> slots_;
};

}  // namespace wirekv
