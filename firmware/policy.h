// Which keys are served in front of the software, by an accelerator. server.c calls these; a user changes policy.c alone.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct item;

/// A GET has found this item.
void on_get(struct item *item);

/// A key's item is about to change or to go; no key: all items.
void before_write(const uint8_t *key, size_t length);

/// It has changed. Null: it is gone, or was not changed.
void after_write(struct item *item);
