// What C's library does byte by byte, here by words: the core takes as long for a word. Only for the machine, whose memory
// may be read up to the end of a word.
#include <stddef.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) word;

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
  uint8_t *t = to;
  const uint8_t *f = from;
  for (; length != 0 && ((uintptr_t)t & 3) != 0; --length) *t++ = *f++;
  word *tw = (word *)(void *)t;
  const unsigned shift = ((uintptr_t)f & 3) * 8;
  if (shift == 0) {
    const word *fw = (const word *)(const void *)f;
    for (; length >= 16; length -= 16, tw += 4, fw += 4) {
      const word a = fw[0], b = fw[1], c = fw[2], d = fw[3];
      tw[0] = a, tw[1] = b, tw[2] = c, tw[3] = d;
    }
    for (; length >= 4; length -= 4) *tw++ = *fw++;
    f = (const uint8_t *)fw;
  } else if (length >= 4) {
    const word *fw = (const word *)((uintptr_t)f & ~(uintptr_t)3);
    word low = *fw++;
    for (; length >= 4; length -= 4, f += 4) {
      const word high = *fw++;
      *tw++ = low >> shift | high << (32 - shift);
      low = high;
    }
  }
  for (t = (uint8_t *)tw; length != 0; --length) *t++ = *f++;
  return to;
}

void *memset(void *to, int byte, size_t length) {
  uint8_t *t = to;
  for (; length != 0 && ((uintptr_t)t & 3) != 0; --length) *t++ = (uint8_t)byte;
  word *tw = (word *)(void *)t;
  for (; length >= 4; length -= 4) *tw++ = (uint8_t)byte * 0x01010101u;
  for (t = (uint8_t *)tw; length != 0; --length) *t++ = (uint8_t)byte;
  return to;
}
