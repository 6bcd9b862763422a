// Two ways of a set are for newcomers, which every GET that comes here is, and six for regulars, which were asked for often.
// So keys that are asked for once displace each other alone. While many lines are free, newcomers take any way.
//
// A key becomes a regular when its count becomes the threshold. Counts are halved now and then, so that is told again of a
// key whose count is between a half of the threshold and the threshold; of others not. Therefore every second threshold is
// a higher one, up to the highest: whatever has been dropped becomes a regular again if it is asked for as often as before.
#include "policy.h"

#include "accel.h"
#include "store.h"

enum {
  NEWCOMERS = 0x03,
  REGULARS = 0xFC,
  ALL_WAYS = NEWCOMERS | REGULARS,
  HOT = 8,             // thresholds
  HOTTEST = 128,
  PERIOD = 8,          // from one halving to the next, so many GETs a way of the table
  PLENTY = 8,          // one in so many lines
  SETS_TRIED = 16,     // for an entry to drop
  LINE = 64,
  HEAD = 20,
};

static uint32_t sets, plenty, period;
static uint32_t gets, aged;       // that came here; all of them when counts were halved
static uint32_t hot, hotter;      // the threshold; the last high one
static bool was_there;            // the entry of the key that is being written

// Where the next entry is dropped: the ways in turn, of one set after the other. Of two ways, which are dropped from only if
// both are there, the one goes that was not asked for.
struct hand {
  uint32_t at;
  const uint8_t count, ways[3];
};
static struct hand newcomers = {0, 2, {0x01, 0x02}}, regulars = {0, 3, {0x0C, 0x30, 0xC0}};

void policy_start(void) {
  sets = accel_stat(STAT_SETS);
  plenty = accel_stat(STAT_FREE_LINES) / PLENTY;
  period = sets * accel_stat(STAT_WAYS) * PERIOD;
  gets = aged = newcomers.at = regulars.at = 0;
  hot = hotter = HOT;
  accel_hot(hot);
}

static bool drop(struct hand *hand) {
  for (int n = 0; n < SETS_TRIED; ++n) {
    const uint32_t at = hand->at++;
    if (accel_drop(at, hand->ways[at / sets % hand->count])) return true;
  }
  return false;
}

static void put(const struct item *item, uint32_t ways) {
  const uint32_t lines = (HEAD + item->key_length + item->length + LINE - 1) / LINE;
  if (item->length > ACCEL_VALUE_MAX) return;
  while (accel_stat(STAT_FREE_LINES) < lines)
    if (!drop(&newcomers) && (ways != REGULARS || !drop(&regulars))) return;
  accel_key(item->bytes, item->key_length);
  if (accel_ticket()) accel_put(item, ways);
}

void policy_get(const struct item *item) {
  ++gets;
  put(item, accel_stat(STAT_FREE_LINES) < plenty ? NEWCOMERS : ALL_WAYS);
}

bool policy_idle(uint32_t now) {
  const uint32_t all = gets + accel_stat(STAT_HITS);
  if (all - aged >= period) {
    aged = all;
    accel_age();
    if (hot == HOT) hot = hotter = hotter < HOTTEST ? 2 * hotter : 2 * HOT;
    else hot = HOT;
    accel_hot(hot);
  }
  uint8_t key[KEY_MAX];
  const size_t length = accel_take(key);
  if (length == 0) return false;
  const struct item *item = store_look(key, length, store_hash(key, length), now);
  if (!item) return true;
  accel_key(key, length);
  if (!accel_move(REGULARS)) put(item, REGULARS);
  return true;
}

void policy_writing(void) { was_there = accel_move(ALL_WAYS); }

void policy_written(const struct item *item) {
  // One that was over when it was stored is not worth it.
  const uint32_t ends = store_ends(item);
  if (was_there && (ends == 0 || ends > item->stored)) put(item, REGULARS);
}
