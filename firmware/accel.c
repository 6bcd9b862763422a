#include "accel.h"

#include <string.h>

#include "policy.h"
#include "store.h"

enum { OP_WORD, OP_KEY, OP_TICKET, OP_PUT, OP_INV, OP_CLOSE, OP_FLUSH, OP_MOVE, OP_DROP, OP_TAKE, OP_AGE, OP_HOT, OP_STAT, OP_RESET };

#ifdef __riscv
/// The instruction. It reads no memory, so what it is passed is read before; instructions and registers keep their order.
static inline __attribute__((always_inline)) uint32_t run(const int op, uint32_t a, uint32_t b) {
  uint32_t result;
  __asm__ volatile(".insn r CUSTOM_0, 0, %1, %0, %2, %3" : "=r"(result) : "i"(op), "r"(a), "r"(b));
  return result;
}

/// Until a bit of this CSR is set, they trap.
static void enable(void) {
  __asm__ volatile(".option push\n .option arch, +zicsr\n csrs 0xBC0, %0\n .option pop" : : "r"(1u << 31));
}
#else
uint32_t unit_run(int op, uint32_t a, uint32_t b);  // unit.c
#define run unit_run
static void enable(void) {}
#endif

bool accel_there;

void accel_start(void) {
  enable();
  run(OP_RESET, 0, 0);
  accel_there = true;
}

// ---------------------------------------------------------------- instructions
// What is passed: an entry's head, then key and value.
enum { HEAD = 5, ENTRY_MAX = HEAD * 4 + KEY_MAX + ACCEL_VALUE_MAX };
static uint32_t passed[(ENTRY_MAX + 7) / 8 * 2];

static void pass(size_t bytes) {
  for (size_t n = 0; n * 4 < bytes; n += 2) run(OP_WORD, passed[n], passed[n + 1]);
}

void accel_key(const uint8_t *key, size_t length) {
  if (!accel_there) return;
  memcpy(passed, key, length);
  pass(length);
  run(OP_KEY, (uint32_t)length, 0);
}

uint32_t accel_ticket(void) { return accel_there ? run(OP_TICKET, 0, 0) : 0; }

uint32_t accel_put(const struct item *item, uint32_t ways) {
  if (!accel_there || item->length > ACCEL_VALUE_MAX) return 0;
  const size_t data = item->key_length + item->length;
  passed[0] = item->length | (uint32_t)item->key_length << 16;
  passed[1] = item->flags;
  passed[2] = (uint32_t)item->cas;
  passed[3] = (uint32_t)(item->cas >> 32);
  passed[4] = store_ends(item);
  memcpy(passed + HEAD, item->bytes, data);
  pass(HEAD * 4 + data);
  return run(OP_PUT, (uint32_t)(HEAD * 4 + data), ways);
}

uint32_t accel_inv(void) { return accel_there ? run(OP_INV, 0, 0) : 0; }
uint32_t accel_close(void) { return accel_there ? run(OP_CLOSE, 0, 0) : 0; }
uint32_t accel_flush(enum accel_flush what) { return accel_there ? run(OP_FLUSH, what, 0) : 0; }
uint32_t accel_move(uint32_t ways) { return accel_there ? run(OP_MOVE, ways, 0) : 0; }
uint32_t accel_drop(uint32_t set, uint32_t ways) { return accel_there ? run(OP_DROP, set, ways) : 0; }

size_t accel_take(uint8_t *key) {
  if (!accel_there) return 0;
  const size_t length = run(OP_TAKE, 0, 0);
  for (size_t n = 0; n * 4 < length; ++n) passed[n] = run(OP_TAKE, 0, 0);
  memcpy(key, passed, length);
  return length;
}

void accel_age(void) {
  if (accel_there) run(OP_AGE, 0, 0);
}

void accel_hot(uint32_t threshold) {
  if (accel_there) run(OP_HOT, threshold, 0);
}

uint32_t accel_stat(enum accel_stat which) { return accel_there ? run(OP_STAT, which, 0) : 0; }

// ---------------------------------------------------------------- writes
// The write that is open. One of another key may come and go within: then the key is passed again.
static struct {
  const uint8_t *key;  // null: it is of all keys
  size_t length;
  bool passed;
} open;

/// Opens a write of the current key, which is this one, or of all keys; it tells of which. It must be open before the store
/// changes, so it asks until it is: the accelerator cannot refuse for long unless it is broken, and then the watchdog starts
/// all anew.
static const uint8_t *begin(const uint8_t *key) {
  for (;;) {
    if (key && accel_inv()) return key;
    // Too many are open that share its count: all keys have one of their own.
    if (accel_flush(FLUSH_BEGIN)) return NULL;
  }
}

static void end(const uint8_t *key) {
  if (key) accel_close();
  else accel_flush(FLUSH_END);
}

void before_write(const uint8_t *key, size_t length) {
  if (!accel_there) return;
  if (key) {
    accel_key(key, length);
    policy_writing();
  }
  open.key = begin(key);
  open.length = length;
  open.passed = true;
}

void after_write(struct item *item) {
  if (!accel_there) return;
  if (open.key && !open.passed) accel_key(open.key, open.length);
  end(open.key);
  if (item) policy_written(item);
}

void before_leaving(const struct item *item) {
  if (!accel_there) return;
  accel_key(item->bytes, item->key_length);
  end(begin(item->bytes));
  open.passed = false;
}
