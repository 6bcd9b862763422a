// The program on the machine's core: takes frames from one of the two NICs, has them answered, waits for more.
#include <stdbool.h>
#include <string.h>

#include "accel.h"
#include "frame.h"
#include "machine.h"
#include "policy.h"
#include "server.h"
#include "store.h"

enum { SLOTS = 512, SLOT = 64, WORDS = SLOT / 4, PATIENCE = 100000 };

extern uint8_t memory_begin[];  // behind all that the linker has placed

static struct {
  uint32_t restarts, no_room, frames, sent;
} nic;

static uint32_t now(void) { return MACHINE[REG_TIME]; }

static void print(const char *text) {
  while (*text) MACHINE[REG_CONSOLE] = (uint8_t)*text++;
}

static void print_hex(uint32_t n) {
  for (int shift = 28; shift >= 0; shift -= 4) MACHINE[REG_CONSOLE] = (uint8_t)"0123456789ABCDEF"[n >> shift & 15];
}

// Nothing here traps unless it is wrong: the watchdog starts the core again.
__attribute__((noreturn)) void trapped(uint32_t cause, uint32_t where) {
  print("trap ");
  print_hex(cause);
  print(" at ");
  print_hex(where);
  print("\n");
  for (;;) {}
}

// ---------------------------------------------------------------- the NIC with DMA
// The card's rings (docs/rtl/LINK.md), in this RAM: "down" is what the machine sends, "up" what it gets.
static _Alignas(SLOTS * SLOT) uint32_t down[SLOTS * WORDS];
static _Alignas(SLOTS * SLOT) uint32_t up[SLOTS * WORDS];
static _Alignas(256) uint32_t status[WORDS];
static uint16_t produced, consumed;
// The frame that is being answered, behind the four bytes in front of it in its slot.
static uint32_t frame[(FRAME_MAX + 4 + SLOT) / 4];

static void dma_start(void) {
  LINK[LINK_CONTROL] = 0;
  while (LINK[LINK_STATE] & STATE_BUSY) {}
  produced = consumed = 0;
  for (int n = 0; n < 3; ++n) uncached(status)[n] = 0;
  LINK[LINK_DOWN_BASE] = (uint32_t)(uintptr_t)down;
  LINK[LINK_DOWN_BASE + 1] = 0;
  LINK[LINK_UP_BASE] = (uint32_t)(uintptr_t)up;
  LINK[LINK_UP_BASE + 1] = 0;
  LINK[LINK_STATUS_BASE] = (uint32_t)(uintptr_t)status;
  LINK[LINK_STATUS_BASE + 1] = 0;
  LINK[LINK_SIZES] = (SLOTS - 1) << 16 | (SLOTS - 1);
  LINK[LINK_BATCH_SLOTS] = 1;
  LINK[LINK_BATCH_CLOCKS] = 1;
  LINK[LINK_CONTROL] = 1;
  while (!(LINK[LINK_STATE] & STATE_RUNNING)) {}
}

static void dma_send(const uint32_t *from, size_t length) {
  const uint32_t slots = (uint32_t)(length + 4 + SLOT - 1) / SLOT;
  // The wire takes frames at once; a ring that stays full is another's fault, and its frame is lost.
  const uint32_t begin = MACHINE[REG_CLOCKS];
  while ((uint16_t)(produced - (uncached(status)[0] >> 16)) + slots > SLOTS) {
    if (MACHINE[REG_CLOCKS] - begin < PATIENCE) continue;
    ++nic.no_room;
    return;
  }
  // The cache is written through, so what is written first stands in RAM before the link hears of it.
  uint32_t at = produced * WORDS;
  down[at++ % (SLOTS * WORDS)] = (uint32_t)length;
  for (size_t n = 0; n < (length + 3) / 4; ++n) down[at++ % (SLOTS * WORDS)] = from[n];
  produced = (uint16_t)(produced + slots);
  __asm__ volatile("" ::: "memory");
  LINK[LINK_DOWN_PRODUCER] = produced;
  ++nic.sent;
}

static void dma_receive(void) {
  // The status line does not tell of a write that was refused.
  if (LINK[LINK_FAULT] != 0) {
    ++nic.restarts;
    dma_start();
  }
  // What is there now: what comes meanwhile has the machine ask again.
  const uint16_t end = (uint16_t)uncached(status)[0];
  while (consumed != end) {
    const volatile uint32_t *slots = uncached(up);
    uint32_t at = consumed * WORDS % (SLOTS * WORDS);
    const uint32_t length = slots[at] & 0x3FFF, taken = (length + 4 + SLOT - 1) / SLOT;
    const bool fits = length + 4 <= sizeof frame;
    if (fits)
      for (uint32_t n = 0; n < (length + 3) / 4; ++n) frame[1 + n] = slots[++at % (SLOTS * WORDS)];
    consumed = (uint16_t)(consumed + taken);
    LINK[LINK_UP_CONSUMER] = consumed;
    MACHINE[REG_WATCHDOG] = 0;
    ++nic.frames;
    if (fits) frame_take((uint8_t *)(frame + 1), length, now());
  }
}

// ---------------------------------------------------------------- the register-mapped NIC
static void pio_send(const uint32_t *from, size_t length) {
  const uint32_t begin = MACHINE[REG_CLOCKS];
  while (MACHINE[REG_TX_ROOM] < (length + SLOT - 1) / SLOT) {
    if (MACHINE[REG_CLOCKS] - begin < PATIENCE) continue;
    ++nic.no_room;
    return;
  }
  for (; length != 0;) {
    const size_t bytes = length < SLOT ? length : SLOT;
    for (size_t n = 0; n < (bytes + 3) / 4; ++n) MACHINE[REG_TX_LINE + n] = *from++;
    length -= bytes;
    MACHINE[REG_TX_PUSH] = (uint32_t)bytes | (length == 0 ? LINE_LAST : 0);
  }
  ++nic.sent;
}

static void pio_receive(void) {
  while (MACHINE[REG_RX_STATUS] != 0) {
    uint32_t line, *to = frame + 1;
    size_t length = 0;
    do {
      // A frame is here whole.
      line = MACHINE[REG_RX_STATUS];
      const size_t bytes = line & 0x7F;
      if (length + bytes <= FRAME_MAX)
        for (size_t n = 0; n < (bytes + 3) / 4; ++n) *to++ = MACHINE[REG_RX_LINE + n];
      length += bytes;
      MACHINE[REG_RX_POP] = 0;
    } while (!(line & LINE_LAST));
    MACHINE[REG_WATCHDOG] = 0;
    ++nic.frames;
    frame_take((uint8_t *)(frame + 1), length, now());
  }
}

// ---------------------------------------------------------------- both
static bool pio;

void frame_send(const uint8_t *at, size_t length) {
  const uint32_t *words = (const uint32_t *)(const void *)at;
  MACHINE[REG_WATCHDOG] = 0;
  if (pio) pio_send(words, length);
  else dma_send(words, length);
}

size_t device_stats(char *to, size_t size) {
  size_t n = 0;
  n += stat_line(to + n, size - n, "frames_in", nic.frames);
  n += stat_line(to + n, size - n, "frames_out", nic.sent);
  n += stat_line(to + n, size - n, "dropped_no_room_in", MACHINE[REG_DROPPED]);
  n += stat_line(to + n, size - n, "dropped_no_room_out", nic.no_room);
  n += stat_line(to + n, size - n, "nic_restarts", nic.restarts);
  n += stat_line(to + n, size - n, "core_restarts", MACHINE[REG_RESTARTS]);
  if (!accel_there) return n;
  n += stat_line(to + n, size - n, "accel_answered", accel_stat(STAT_ANSWERED));
  n += stat_line(to + n, size - n, "accel_hits", accel_stat(STAT_HITS));
  n += stat_line(to + n, size - n, "accel_passed", accel_stat(STAT_PASSED));
  n += stat_line(to + n, size - n, "accel_frames_lost", accel_stat(STAT_FRAMES_LOST));
  n += stat_line(to + n, size - n, "accel_candidates_lost", accel_stat(STAT_CANDIDATES_LOST));
  n += stat_line(to + n, size - n, "accel_free_lines", accel_stat(STAT_FREE_LINES));
  return n;
}

int main(void) {
  const uint32_t net = MACHINE[REG_NET], ip = MACHINE[REG_IP];
  const uint32_t mac[2] = {MACHINE[REG_MAC_HIGH], MACHINE[REG_MAC_LOW]};
  for (int n = 0; n < 6; ++n) frame_addresses.mac[n] = (uint8_t)(mac[n / 4] >> (24 - 8 * (n % 4)));
  for (int n = 0; n < 4; ++n) frame_addresses.ip[n] = (uint8_t)(ip >> (24 - 8 * n));
  frame_addresses.port = (uint16_t)net;
  pio = (net & NET_PIO) != 0;
  const uint32_t ram = MACHINE[REG_RAM_BYTES];
  store_init(memory_begin, ram - (uint32_t)(uintptr_t)memory_begin, MACHINE[REG_CLOCKS] * 0x9E3779B9u ^ now());
  if (MACHINE[REG_ACCEL] != 0) {
    accel_start();
    policy_start();
  }
  if (!pio) dma_start();
  print(pio ? "machine: register-mapped NIC\n" : "machine: NIC with DMA\n");
  for (;;) {
    // One piece of work at a time, so that frames do not wait.
    if (accel_there && policy_idle(now())) MACHINE[REG_WATCHDOG] = 0;
    else (void)MACHINE[REG_WAIT];
    if (pio) pio_receive();
    else dma_receive();
  }
}
