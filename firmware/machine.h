// The machine's registers (docs/MACHINE.md). RAM and registers are read and written in words.
#pragma once

#include <stdint.h>

enum {
  MACHINE_ID = 0x4B4D0001,
  REG_ID = 0, REG_RAM_BYTES = 1, REG_CLOCKS = 2, REG_TIME = 3, REG_CONSOLE = 4, REG_WATCHDOG = 5, REG_RESTARTS = 6,
  REG_ACCEL = 7, REG_MAC_HIGH = 8, REG_MAC_LOW = 9, REG_IP = 10, REG_NET = 11, REG_WAIT = 12, REG_DROPPED = 13,
  REG_RX_STATUS = 16, REG_RX_POP = 17, REG_TX_PUSH = 18, REG_TX_ROOM = 19, REG_RX_LINE = 32, REG_TX_LINE = 48,
  // Of REG_NET, of REG_RX_STATUS and REG_TX_PUSH.
  NET_PIO = 1 << 16, LINE_LAST = 1 << 7,
};
#define MACHINE ((volatile uint32_t *)0xF0001000u)

// The link's (docs/rtl/LINK.md): channel 0 alone.
enum {
  LINK_CONTROL = 2, LINK_BATCH_SLOTS = 3, LINK_BATCH_CLOCKS = 4, LINK_STATUS_BASE = 6, LINK_DOWN_BASE = 16,
  LINK_UP_BASE = 18, LINK_SIZES = 20, LINK_DOWN_PRODUCER = 21, LINK_UP_CONSUMER = 22, LINK_FAULT = 25, LINK_STATE = 26,
  STATE_BUSY = 1 << 16, STATE_RUNNING = 1 << 17,
};
#define LINK ((volatile uint32_t *)0xF0000000u)

/// RAM as the NIC sees it: not from the core's cache.
static inline volatile uint32_t *uncached(const volatile void *at) {
  return (volatile uint32_t *)((uintptr_t)at | 0x80000000u);
}
