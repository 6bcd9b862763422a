// main.c for a test of it: a frame whose type is FAULTS does to the NIC with DMA what nothing does that is right.
#define frame_take take_or_break
#include "main.c"
#undef frame_take

enum { FAULTS = 0x88B5, BEYOND = 0x40000000, PROGRAM = 0 };

void frame_take(uint8_t *frame, size_t length, uint32_t now);

/// The rings stand somewhere else.
static void at(uint32_t down_base, uint32_t up_base) {
  LINK[LINK_CONTROL] = 0;
  while (LINK[LINK_STATE] & STATE_BUSY) {}
  LINK[LINK_DOWN_BASE] = down_base;
  LINK[LINK_UP_BASE] = up_base;
  LINK[LINK_CONTROL] = 1;
  while (!(LINK[LINK_STATE] & STATE_RUNNING)) {}
}

void take_or_break(uint8_t *bytes, size_t length, uint32_t now_) {
  if (length < 15 || (bytes[12] << 8 | bytes[13]) != FAULTS) {
    frame_take(bytes, length, now_);
    return;
  }
  switch (bytes[14]) {
    case 'p': LINK[LINK_DOWN_PRODUCER] = (uint16_t)(produced + SLOTS + 1); break;
    case 'c': LINK[LINK_UP_CONSUMER] = (uint16_t)(consumed + SLOTS); break;
    case 'l':
      down[produced * WORDS % (SLOTS * WORDS)] = 0;
      LINK[LINK_DOWN_PRODUCER] = (uint16_t)(produced + 1);
      break;
    // What it reads is beyond the RAM; what it writes is, or is the program.
    case 'r':
      at(BEYOND, (uint32_t)(uintptr_t)up);
      LINK[LINK_DOWN_PRODUCER] = 1;
      break;
    case 'w': at((uint32_t)(uintptr_t)down, BEYOND); break;
    default: at((uint32_t)(uintptr_t)down, PROGRAM); break;
  }
  // It is so when the loop comes to look.
  const uint32_t begin = MACHINE[REG_CLOCKS];
  while (MACHINE[REG_CLOCKS] - begin < 2000) {}
}
