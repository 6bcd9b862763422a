#include <sys/mman.h>

#include <cstdio>
#include <new>

#include "axi_port.h"

namespace wirekv {

Memory::Memory(uint64_t bytes) : bytes_(bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<uint8_t*>(p);
}

Memory::~Memory() { munmap(base_, bytes_); }

void Memory::fail(uint64_t addr) const {
  fprintf(stderr, "wirekv: the card asked for memory at 0x%llx; it has 0x%llx bytes\n",
          static_cast<unsigned long long>(addr), static_cast<unsigned long long>(bytes_));
  abort();
}

}  // namespace wirekv
