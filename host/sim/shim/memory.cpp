#include <sys/mman.h>

#include <cstdio>
#include <new>

#include "axi_port.h"

namespace wirekv {

Memory::Memory(uint64_t bytes, bool garbage)
    : filled_(garbage ? (bytes + PageBytes - 1) / PageBytes : 0), bytes_(bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<uint8_t*>(p);
}

Memory::~Memory() { munmap(base_, bytes_); }

void Memory::fill(uint64_t page) {
  filled_[page] = 1;
  for (uint64_t at = page * PageBytes; at < (page + 1) * PageBytes && at < bytes_; at += 8) {
    uint64_t z = at * 0x9E3779B97F4A7C15u;  // splitmix64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    memcpy(base_ + at, &z, bytes_ - at < 8 ? bytes_ - at : 8);
  }
}

void Memory::fail(uint64_t addr) const {
  fprintf(stderr, "wirekv: the card asked for memory at 0x%llx; it has 0x%llx bytes\n",
          static_cast<unsigned long long>(addr), static_cast<unsigned long long>(bytes_));
  abort();
}

}  // namespace wirekv
