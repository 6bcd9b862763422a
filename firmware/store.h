// The items: a hash index of buckets and a circular log. The log's oldest items give way to new ones, so there is no
// allocator and nothing to be freed; a lookup reads one bucket of eight ways.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_MAX = 250 };

struct item {
  uint32_t units;    // of the log that it takes, of 8 bytes each; a gap at the log's end is one without a key
  uint32_t hash;
  uint64_t cas;
  uint32_t flags;
  uint32_t expires;  // Unix time; 0: never
  uint32_t stored;   // Unix time
  uint32_t length;   // bytes of the value
  uint8_t key_length;
  uint8_t bytes[];   // the key, then the value
};

struct store_counts {
  uint32_t items, evicted, expired;
};
extern struct store_counts store_counts;

/// Takes memory for index and log: 64 KiB or more. `seed` is what no client knows.
void store_init(void *memory, size_t bytes, uint32_t seed);

uint32_t store_hash(const uint8_t *key, size_t length);

/// The item, or null. `now` is Unix time. It stays where it is until store_room. One whose time is over leaves.
struct item *store_find(const uint8_t *key, size_t length, uint32_t hash, uint32_t now);

/// The same, and none leaves: for what no request asks.
const struct item *store_look(const uint8_t *key, size_t length, uint32_t hash, uint32_t now);

/// A place for an item: the oldest ones leave. Null: none is that large. To be filled and given to store_put at once.
struct item *store_room(size_t key_length, size_t length);

/// Makes it the key's item. It gets a new CAS unique.
void store_put(struct item *item);

/// Takes an item out that is there.
void store_remove(struct item *item);

/// All items vanish: at once, or those stored up to `at` when it is that time.
void store_flush(uint32_t at, uint32_t now);

/// When an item that is there ends by itself, in Unix time; 0: never.
uint32_t store_ends(const struct item *item);

uint64_t store_next_cas(void);

static inline uint8_t *item_value(struct item *item) { return item->bytes + item->key_length; }
