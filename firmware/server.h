// memcached over UDP: a datagram's requests in, their replies out. One thread, no waiting.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DATAGRAM_HEADER = 8, DATAGRAM_MAX = 1400 };

/// What a datagram did.
struct server_counts {
  uint32_t gets, hits, sets, ignored, errors_limited;
};
extern struct server_counts server_counts;

/// Has the datagram's requests answered. `errors`: those may be sent, too, as many as a second has milliseconds. `now` is Unix time.
void server_datagram(const uint8_t *datagram, size_t length, int errors, uint32_t now);

/// Who calls server_datagram provides these two: room for a datagram of `length` bytes, which is filled and then sent.
/// Null: there is none, and the datagram is lost as any may be.
uint8_t *datagram_begin(size_t length);
void datagram_send(void);
/// Lines of stat_line about what is around the server: as many as fit in `size`; returns their bytes.
size_t surroundings_stats(char *to, size_t size);

/// Writes "STAT name value" if there is room; returns its bytes.
size_t stat_line(char *to, size_t size, const char *name, uint32_t value);
