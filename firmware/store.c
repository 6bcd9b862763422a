#include "store.h"

#include <string.h>

#include "accel.h"

enum { WAYS = 8, NONE = 0 };

// A way holds an item's place in the log, plus one, and the upper bits of its hash.
struct way {
  uint32_t place;
  uint32_t hash;
};

struct store_counts store_counts;

static struct way (*buckets)[WAYS];
static uint32_t bucket_mask;
static uint64_t *log_;     // in units of 8 bytes
static uint32_t log_units;
// The log's items stand from tail to head, around its end; one unit at least stays free.
static uint32_t head, tail;
static uint32_t seed_, flush_at;
static uint64_t cas_, flushed_cas;  // items up to it have vanished

void store_init(void *memory, size_t bytes, uint32_t seed) {
  // An item takes 48 bytes and more, its way 8: a sixteenth of the memory, rounded up to a power of two, is index.
  bucket_mask = 1;
  while ((size_t)bucket_mask * sizeof *buckets < bytes / 16) bucket_mask *= 2;
  const size_t index = (size_t)bucket_mask * sizeof *buckets;
  --bucket_mask;
  buckets = memory;
  memset(buckets, 0, index);
  log_ = (uint64_t *)((uint8_t *)memory + index);
  log_units = (uint32_t)((bytes - index) / 8);
  head = tail = 0;
  flush_at = 0;
  cas_ = flushed_cas = 0;
  seed_ = seed;
  store_counts = (struct store_counts){0};
}

uint32_t store_hash(const uint8_t *key, size_t length) {
  uint32_t hash = seed_;
  for (size_t n = 0; n < length; ++n) hash = (hash ^ key[n]) * 0x01000193u;
  hash ^= hash >> 15;
  hash *= 0x2C1B3C6Du;
  return hash ^ (hash >> 13);
}

static struct item *at(uint32_t place) { return (struct item *)(log_ + place); }

static uint32_t place_of(const struct item *item) {
  return (uint32_t)((const uint64_t *)(const void *)item - log_);
}

static struct way *way_of(const struct item *item) {
  struct way *bucket = buckets[item->hash & bucket_mask];
  for (int n = 0; n < WAYS; ++n)
    if (bucket[n].place == place_of(item) + 1) return &bucket[n];
  return NULL;
}

static void clear(struct way *way) {
  way->place = NONE;
  --store_counts.items;
}

/// The way's item leaves without a write of its key.
static void leave(struct way *way, uint32_t *count) {
  before_leaving(at(way->place - 1));
  ++*count;
  clear(way);
}

void store_remove(struct item *item) { clear(way_of(item)); }

/// The key's way, whether its item is over or not.
static struct way *find(const uint8_t *key, size_t length, uint32_t hash) {
  struct way *bucket = buckets[hash & bucket_mask];
  for (int n = 0; n < WAYS; ++n) {
    if (bucket[n].place == NONE || bucket[n].hash != hash) continue;
    const struct item *item = at(bucket[n].place - 1);
    if (item->key_length == length && memcmp(item->bytes, key, length) == 0) return &bucket[n];
  }
  return NULL;
}

static bool is_over(const struct item *item, uint32_t now) {
  return item->cas <= flushed_cas || (flush_at != 0 && flush_at <= now && item->stored <= flush_at) ||
         (item->expires != 0 && item->expires <= now);
}

struct item *store_find(const uint8_t *key, size_t length, uint32_t hash, uint32_t now) {
  struct way *way = find(key, length, hash);
  if (!way) return NULL;
  struct item *item = at(way->place - 1);
  if (!is_over(item, now)) return item;
  leave(way, &store_counts.expired);
  return NULL;
}

const struct item *store_look(const uint8_t *key, size_t length, uint32_t hash, uint32_t now) {
  const struct way *way = find(key, length, hash);
  const struct item *item = way ? at(way->place - 1) : NULL;
  return item && !is_over(item, now) ? item : NULL;
}

/// Takes the oldest item out of the log.
static void drop_oldest(void) {
  struct item *item = at(tail);
  if (item->key_length != 0) {
    struct way *way = way_of(item);
    if (way) leave(way, &store_counts.evicted);
  }
  tail += item->units;
  if (tail == log_units) tail = 0;
}

/// Units that can be written from the head on.
static uint32_t room(void) {
  return head < tail ? tail - head - 1 : log_units - head - (tail == 0);
}

struct item *store_room(size_t key_length, size_t length) {
  const uint32_t units = (uint32_t)((offsetof(struct item, bytes) + key_length + length + 7) / 8);
  const uint32_t least = sizeof(struct item) / 8;
  if (units >= log_units / 4) return NULL;
  if (log_units - head < units + least) {
    // It does not fit in front of the end: a gap without a key takes what is left there.
    while (tail > head || tail == 0) drop_oldest();
    at(head)->units = log_units - head;
    at(head)->key_length = 0;
    head = 0;
  }
  while (room() < units) drop_oldest();
  struct item *item = at(head);
  item->units = units;
  item->key_length = (uint8_t)key_length;
  item->length = (uint32_t)length;
  return item;
}

uint64_t store_next_cas(void) { return ++cas_; }

void store_put(struct item *item) {
  item->cas = store_next_cas();
  struct way *bucket = buckets[item->hash & bucket_mask], *free = NULL, *oldest = NULL;
  uint32_t most = 0;
  for (int n = 0; n < WAYS; ++n) {
    struct way *way = &bucket[n];
    if (way->place == NONE) {
      free = way;
      continue;
    }
    const struct item *other = at(way->place - 1);
    if (way->hash == item->hash && other->key_length == item->key_length &&
        memcmp(other->bytes, item->bytes, item->key_length) == 0) {
      way->place = place_of(item) + 1;
      head += item->units;
      return;
    }
    // The farther behind the head, the older.
    const uint32_t p = way->place - 1, age = head >= p ? head - p : head + log_units - p;
    if (age >= most) most = age, oldest = way;
  }
  if (!free) {
    leave(oldest, &store_counts.evicted);
    free = oldest;
  }
  free->place = place_of(item) + 1;
  free->hash = item->hash;
  ++store_counts.items;
  head += item->units;
}

uint32_t store_ends(const struct item *item) {
  const bool flushed = flush_at != 0 && item->stored <= flush_at && (item->expires == 0 || item->expires > flush_at);
  return flushed ? flush_at : item->expires;
}

void store_flush(uint32_t when, uint32_t now) {
  flush_at = when > now ? when : 0;
  if (when <= now) flushed_cas = cas_;
}
