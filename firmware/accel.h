// The accelerator, which answers GETs in front of the software (docs/MACHINE.md): its instructions, and what keeps its
// entries equal to the store's items. An entry is there only while its item is: it is out, and a write of its key open,
// before the item changes, goes or gives way. Without an accelerator none of its instructions is issued.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct item;

/// There is one, and it was started.
extern bool accel_there;

/// It may be used from now on, and has no entry.
void accel_start(void);

// ---------------------------------------------------------------- for server.c and store.c
/// A key's item is about to change or to go; no key: all items. The key stays where it is until after_write.
void before_write(const uint8_t *key, size_t length);

/// It has changed. Null: it is gone, or was not changed.
void after_write(struct item *item);

/// An item is about to leave without a write of its key: others need its place, or its time is over. It may be within a
/// write of another key.
void before_leaving(const struct item *item);

// ---------------------------------------------------------------- for policy.c
// One an instruction, with its result; what follows accel_key is about that key. Without an accelerator all are 0.
enum { ACCEL_VALUE_MAX = 1024 };
enum accel_flush { FLUSH_BEGIN, FLUSH_END };
enum accel_stat {
  STAT_FREE_LINES, STAT_ANSWERED, STAT_PASSED, STAT_CANDIDATES_LOST, STAT_SETS, STAT_WAYS, STAT_FRAMES_LOST, STAT_HITS,
};

/// The key that the next ones are about.
void accel_key(const uint8_t *key, size_t length);
/// 1: no write of it is open, and the accelerator keeps a ticket for it.
uint32_t accel_ticket(void);
/// The item, which is the key's, becomes its entry in one of these ways: 1; 0: it is refused, and always if its value has
/// more than ACCEL_VALUE_MAX bytes; 2: refused for want of lines.
uint32_t accel_put(const struct item *item, uint32_t ways);
/// Opens a write of the key and takes its entry out: 1; 0: too many are open.
uint32_t accel_inv(void);
/// Closes one: 1; 0: none was open.
uint32_t accel_close(void);
/// The same for all keys.
uint32_t accel_flush(enum accel_flush what);
/// The key's entry moves to one of these ways: 1; 0: there is none.
uint32_t accel_move(uint32_t ways);
/// Takes out the entry of a set that a put in these ways would displace: 1; 0: there was none.
uint32_t accel_drop(uint32_t set, uint32_t ways);
/// The oldest key that became hot, of KEY_MAX bytes at most: returns its bytes, 0 if there is none.
size_t accel_take(uint8_t *key);
/// Halves what the accelerator has counted.
void accel_age(void);
/// Keys become hot when they were asked for so often; 0: none does.
void accel_hot(uint32_t threshold);
uint32_t accel_stat(enum accel_stat which);
