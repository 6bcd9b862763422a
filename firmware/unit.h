// The accelerator as a part of host.c: it does what the instructions say, refuses by chance what may be refused, and ends the
// program where that misuses it, or where an entry would be served that is not what the software would answer.
#pragma once

#include <stddef.h>
#include <stdint.h>

void unit_init(uint32_t seed);
/// Looks for such an entry, and for a write that was left open. Each instruction looks for the former, too.
void unit_check(void);
/// Lines of stat_line about what the program did with it.
size_t unit_stats(char *to, size_t size);

/// host.c provides it: Unix time.
uint32_t unit_now(void);
