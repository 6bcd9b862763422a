// The firmware's items, made from a key and the length of its value alone: what policy.c sees of them.
#include <string.h>

#include "accel.h"
#include "policy.h"
#include "store.h"

enum { HEAD = 20 };

// firmware.rs
uint32_t wk_put(uint32_t bytes, uint32_t ways);
uint32_t wk_value_length(const uint8_t *key, size_t length);

static struct item *item_of(const uint8_t *key, size_t length) {
  static _Alignas(struct item) uint8_t memory[sizeof(struct item) + KEY_MAX];
  struct item *item = (struct item *)memory;
  item->key_length = (uint8_t)length;
  item->length = wk_value_length(key, length);
  memcpy(item->bytes, key, length);
  return item;
}

uint32_t store_hash(const uint8_t *key, size_t length) {
  (void)key, (void)length;
  return 0;
}

const struct item *store_look(const uint8_t *key, size_t length, uint32_t hash, uint32_t now) {
  (void)hash, (void)now;
  return item_of(key, length);
}

uint32_t store_ends(const struct item *item) {
  (void)item;
  return 0;
}

uint32_t accel_put(const struct item *item, uint32_t ways) {
  if (item->length > ACCEL_VALUE_MAX) return 0;
  return wk_put(HEAD + item->key_length + item->length, ways);
}

/// A GET has come to the software.
void wk_get(const uint8_t *key, size_t length) { policy_get(item_of(key, length)); }

/// A write has: as accel.c.
void wk_write(const uint8_t *key, size_t length) {
  accel_key(key, length);
  policy_writing();
  if (!accel_inv()) return;
  accel_close();
  policy_written(item_of(key, length));
}
