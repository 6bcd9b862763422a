// Which keys are served in front of the software, by the accelerator (accel.h). Whoever wants another choice changes policy.c
// alone. Without an accelerator nobody calls these.
#pragma once

struct item;

/// At the start: the accelerator has no entry.
void policy_start(void);

/// No frame waits.
void policy_idle(void);

/// A GET that came to the software has found this item.
void policy_get(const struct item *item);

/// This item is new or has changed. Its entry, if there was one, is out.
void policy_written(const struct item *item);
