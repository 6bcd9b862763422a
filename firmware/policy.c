// A key whose item was asked for twice is served in front of the software.
#include "policy.h"

#include "accel.h"
#include "store.h"

enum { LAST = 256, ALL_WAYS = 0xFF };
static uint32_t last[LAST];  // hashes

void policy_start(void) {}
void policy_idle(void) {}
void policy_written(const struct item *item) { (void)item; }

void policy_get(const struct item *item) {
  uint32_t *place = &last[item->hash % LAST];
  if (*place == item->hash) {
    accel_key(item->bytes, item->key_length);
    if (accel_ticket()) accel_put(item, ALL_WAYS);
  }
  *place = item->hash;
}
