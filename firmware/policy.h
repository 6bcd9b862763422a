// Which keys are served in front of the software, by the accelerator (accel.h). Whoever wants another choice changes policy.c
// alone. It only looks at items, so which of them are there does not depend on the choice. Without an accelerator nobody calls
// these. docs/SHARE.md says what the choice is worth, and `make machine-share` measures another one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct item;

/// At the start: the accelerator has no entry.
void policy_start(void);

/// No frame waits: a piece of work, if there is any. `now` is Unix time.
bool policy_idle(uint32_t now);

/// A GET that came to the software has found this item.
void policy_get(const struct item *item);

/// A write of the current key begins. Its entry, if there is one, is still in.
void policy_writing(void);

/// The item whose write began last is new or has changed. Its entry is out.
void policy_written(const struct item *item);
