#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "server.h"
#include "store.h"

enum { OP_WORD, OP_KEY, OP_TICKET, OP_PUT, OP_INV, OP_CLOSE, OP_FLUSH, OP_MOVE, OP_DROP, OP_TAKE, OP_AGE, OP_HOT, OP_STAT, OP_RESET };
enum { SETS = 16, WAYS = 8, HEAD = 20, LINE = 64, LINES = 256, OPEN = 4 };

struct key {
  uint8_t length, bytes[KEY_MAX];
};

struct entry {
  bool there, used;
  struct key key;
  uint32_t value_length, flags, deadline;
  uint64_t cas;
  uint8_t value[ACCEL_VALUE_MAX];
};

static struct entry table[SETS * WAYS];
static struct key key;     // the current one; no bytes: none
static uint8_t passed[2048];
static size_t there;       // bytes of it
static bool ticket;        // which is right
static struct key opened[OPEN];  // no bytes: that place is free
static uint32_t all_open, free_lines, random_;
static struct key candidate;
static uint32_t taken;     // of its bytes; 0: its length was not told
static bool started;
static struct {
  uint32_t puts, late, refused, served, dropped, all;
} counts;

#define DEMAND(what) ((what) ? (void)0 : give_up(#what, __LINE__))
static void give_up(const char *what, int line) {
  fprintf(stderr, "unit.c:%d: not so: %s; key %.*s\n", line, what, key.length, (const char *)key.bytes);
  abort();
}

/// Once in so many times; with the seed 0 never.
static bool chance(uint32_t in) {
  random_ ^= random_ << 13, random_ ^= random_ >> 17, random_ ^= random_ << 5;
  return random_ % in == 1;
}

static bool same(const struct key *a, const struct key *b) {
  return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static uint32_t lines(const struct entry *e) { return (HEAD + e->key.length + e->value_length + LINE - 1) / LINE; }

static void remove_entry(struct entry *e) {
  if (e->there) free_lines += lines(e);
  e->there = false;
}

static struct entry *set_of(const struct key *k) {
  uint32_t hash = 0;
  for (int n = 0; n < k->length; ++n) hash = hash * 31 + k->bytes[n];
  return table + hash % SETS * WAYS;
}

static struct entry *entry_of(const struct key *k) {
  struct entry *set = set_of(k);
  for (int n = 0; n < WAYS; ++n)
    if (set[n].there && same(&set[n].key, k)) return &set[n];
  return NULL;
}

static struct key *open_of(const struct key *k) {
  for (int n = 0; n < OPEN; ++n)
    if (same(&opened[n], k)) return &opened[n];
  return NULL;
}

/// What a put in these ways of a set takes: an empty one, or one not used since all were, or the lowest.
static struct entry *victim(struct entry *set, uint32_t ways) {
  for (int pass = 0; pass < 3; ++pass)
    for (int n = 0; n < WAYS; ++n)
      if ((ways >> n & 1) && (pass == 0 ? !set[n].there : pass == 1 ? !set[n].used : true)) return &set[n];
  give_up("ways", __LINE__);
  return NULL;
}

static void check_entries(void) {
  if (all_open) return;
  const uint32_t now = unit_now();
  for (int n = 0; n < SETS * WAYS; ++n) {
    struct entry *e = &table[n];
    if (!e->there || open_of(&e->key) || (e->deadline != 0 && now >= e->deadline)) continue;
    const struct item *item = store_look(e->key.bytes, e->key.length, store_hash(e->key.bytes, e->key.length), now);
    DEMAND(item);
    DEMAND(item->length == e->value_length && memcmp(item->bytes + item->key_length, e->value, e->value_length) == 0);
    DEMAND(item->flags == e->flags && item->cas == e->cas);
    e->used = e->used || chance(16);
    ++counts.served;
  }
}

void unit_check(void) {
  check_entries();
  DEMAND(!all_open);
  for (int n = 0; n < OPEN; ++n) DEMAND(opened[n].length == 0);
}

static void reset(void) {
  for (int n = 0; n < SETS * WAYS; ++n) table[n].there = false;
  memset(opened, 0, sizeof opened);
  free_lines = LINES;
  all_open = 0;
  there = taken = key.length = candidate.length = 0;
  ticket = false;
}

void unit_init(uint32_t seed) {
  random_ = seed * 2654435761u;
  reset();
}

static uint32_t word_at(size_t n) {
  return passed[n] | (uint32_t)passed[n + 1] << 8 | (uint32_t)passed[n + 2] << 16 | (uint32_t)passed[n + 3] << 24;
}

static uint32_t put(uint32_t bytes, uint32_t ways) {
  DEMAND(key.length && bytes >= HEAD && bytes <= there && there < bytes + 8 && ways && ways < 1 << WAYS);
  static struct entry new;
  new = (struct entry){.there = true, .key = key, .value_length = word_at(0) & 2047, .flags = word_at(4),
                       .deadline = word_at(16), .cas = word_at(8) | (uint64_t)word_at(12) << 32};
  DEMAND(word_at(0) >> 16 == key.length && HEAD + key.length + new.value_length == bytes);
  DEMAND(memcmp(passed + HEAD, key.bytes, key.length) == 0 && new.value_length <= ACCEL_VALUE_MAX);
  memcpy(new.value, passed + HEAD + key.length, new.value_length);
  const bool valid = ticket;
  ticket = false;
  if (!valid || all_open || open_of(&key) || chance(16)) return ++counts.refused, 0;
  if (lines(&new) > free_lines) return ++counts.refused, 2;
  struct entry *at = entry_of(&key);
  if (!at) at = victim(set_of(&key), ways);
  remove_entry(at);
  *at = new;
  free_lines -= lines(at);
  ++counts.puts;
  counts.late += at->deadline != 0 && at->deadline <= unit_now();
  return 1;
}

static uint32_t take(void) {
  if (taken == 0) {
    if (candidate.length == 0) return 0;
    taken = 1;
    return candidate.length;
  }
  uint32_t word = 0;
  const uint32_t from = taken - 1;
  for (uint32_t n = from; n < from + 4 && n < candidate.length; ++n) word |= (uint32_t)candidate.bytes[n] << 8 * (n - from);
  taken += 4;
  if (from + 4 >= candidate.length) taken = candidate.length = 0;
  return word;
}

static uint32_t do_run(int op, uint32_t a, uint32_t b) {
  struct entry *e;
  switch (op) {
    case OP_WORD:
      DEMAND(there + 8 <= sizeof passed);
      for (int n = 0; n < 8; ++n) passed[there++] = (uint8_t)((n < 4 ? a : b) >> 8 * (n % 4));
      return 0;
    case OP_KEY:
      DEMAND(a > 0 && a <= KEY_MAX && a <= there && there < a + 8);
      key.length = (uint8_t)a;
      memcpy(key.bytes, passed, a);
      if (taken == 0 && chance(4)) candidate = key;
      ticket = false;
      there = 0;
      return 0;
    case OP_TICKET:
      DEMAND(key.length);
      ticket = !all_open && !open_of(&key);
      return ticket;
    case OP_PUT:
      a = put(a, b);
      there = 0;
      return a;
    case OP_INV: {
      DEMAND(key.length);
      static const struct key none;
      struct key *place = open_of(&none);
      if (!place || chance(512)) return 0;
      *place = key;
      ticket = false;
      if ((e = entry_of(&key))) remove_entry(e), ++counts.dropped;
      return 1;
    }
    case OP_CLOSE: {
      struct key *place = open_of(&key);
      DEMAND(key.length && place);
      place->length = 0;
      return 1;
    }
    case OP_FLUSH:
      if (a == FLUSH_END) {
        DEMAND(all_open);
        --all_open;
        return 1;
      }
      if (chance(4)) return 0;
      ++all_open;
      ++counts.all;
      ticket = false;
      for (int n = 0; n < SETS * WAYS; ++n) remove_entry(&table[n]);
      return 1;
    case OP_MOVE: {
      DEMAND(key.length && a && a < 1 << WAYS);
      e = entry_of(&key);
      if (!e) return 0;
      struct entry *to = NULL, moved = *e;
      for (int n = 0; n < WAYS; ++n) if ((a >> n & 1) && &set_of(&key)[n] == e) to = e;
      if (!to) to = victim(set_of(&key), a);
      if (to != e) remove_entry(to);
      e->there = false;
      *to = moved;
      return 1;
    }
    case OP_DROP:
      DEMAND(b && b < 1 << WAYS);
      e = victim(table + a % SETS * WAYS, b);
      if (!e->there) return 0;
      remove_entry(e);
      return 1;
    case OP_TAKE: return take();
    case OP_AGE: return 0;
    case OP_HOT: DEMAND(a < 256); return 0;
    case OP_STAT:
      return a == STAT_FREE_LINES ? free_lines : a == STAT_SETS ? SETS : a == STAT_WAYS ? WAYS : a == STAT_HITS ? counts.served : 0;
    case OP_RESET:
      reset();
      started = true;
      return 0;
    default: give_up("an instruction", __LINE__); return 0;
  }
}

uint32_t unit_run(int op, uint32_t a, uint32_t b);
uint32_t unit_run(int op, uint32_t a, uint32_t b) {
  DEMAND(started || op == OP_RESET);
  if (op != OP_WORD && op != OP_TAKE) check_entries();
  return do_run(op, a, b);
}

size_t unit_stats(char *to, size_t size) {
  size_t n = 0;
  n += stat_line(to + n, size - n, "unit_puts", counts.puts);
  n += stat_line(to + n, size - n, "unit_late", counts.late);  // which nobody will be served
  n += stat_line(to + n, size - n, "unit_refused", counts.refused);
  n += stat_line(to + n, size - n, "unit_served", counts.served);
  n += stat_line(to + n, size - n, "unit_dropped", counts.dropped);
  n += stat_line(to + n, size - n, "unit_all", counts.all);
  return n;
}
