#include "server.h"

#include <stdbool.h>
#include <string.h>

#include "accel.h"
#include "policy.h"
#include "store.h"

struct server_counts server_counts;

// Of the memcached that it answers like.
#define VERSION "1.6.38"

enum {
  PAYLOAD = DATAGRAM_MAX - DATAGRAM_HEADER,
  MONTH = 60 * 60 * 24 * 30,   // times up to this are from now on
  ITEM_MAX = 1 << 20,          // memcached's limit, with what it keeps of an item beside key and value
  ITEM_OVERHEAD = 59,
  ANSWER = 1024,               // datagrams that one may be answered with: its sender's address may be a lie
  ERRORS = 1000,               // in a second: one a millisecond in the long run
  COUNTER_DIGITS = 20,
};

// ---------------------------------------------------------------- replies
// Each reply is a message of its own, of as many datagrams as it needs. Its length is told first.
static struct {
  uint8_t id[2];
  bool errors;
  uint8_t *at;
  size_t room, left;  // of the datagram, of the message
  uint16_t sequence, total;
  uint32_t budget;    // datagrams that may still be sent
} out;

// Errors that may still be sent in this second.
static struct {
  uint32_t second, left;
} errors_ = {0, ERRORS};

static bool may_send_error(void) {
  if (!out.errors) return false;
  if (errors_.left == 0) {
    ++server_counts.errors_limited;
    return false;
  }
  --errors_.left;
  return true;
}

static void next_datagram(void) {
  out.room = out.left < PAYLOAD ? out.left : PAYLOAD;
  out.at = out.budget ? datagram_begin(DATAGRAM_HEADER + out.room) : NULL;
  if (!out.at) return;
  const uint8_t header[DATAGRAM_HEADER] = {out.id[0], out.id[1],
    (uint8_t)(out.sequence >> 8), (uint8_t)out.sequence, (uint8_t)(out.total >> 8), (uint8_t)out.total, 0, 0};
  memcpy(out.at, header, sizeof header);
  out.at += sizeof header;
  ++out.sequence;
  --out.budget;
}

static void message(size_t length) {
  out.left = length;
  out.sequence = 0;
  out.total = (uint16_t)((length + PAYLOAD - 1) / PAYLOAD);
  next_datagram();
}

/// The next bytes of the message.
static void put(const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  while (length != 0) {
    const size_t n = length < out.room ? length : out.room;
    if (out.at) {
      memcpy(out.at, from, n);
      out.at += n;
    }
    from += n;
    length -= n;
    out.room -= n;
    out.left -= n;
    if (out.room != 0) return;
    if (out.at) datagram_send();
    if (out.left != 0) next_datagram();
  }
}

// ---------------------------------------------------------------- words and numbers
struct span {
  const uint8_t *at;
  size_t length;
};

#define IS(span, text) ((span).length == sizeof(text) - 1 && memcmp((span).at, text, sizeof(text) - 1) == 0)

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// A number as strtoull reads it, which ends before a blank or with the text; a sign is told apart.
static bool read_number(struct span s, uint64_t *value, bool *minus) {
  const uint8_t *at = s.at, *end = s.at + s.length;
  while (at != end && is_blank(*at)) ++at;
  *minus = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const uint8_t *digits = at;
  uint64_t n = 0;
  bool over = false;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    const uint8_t digit = *at - '0';
    if (n > UINT64_MAX / 10 || (n == UINT64_MAX / 10 && digit > UINT64_MAX % 10)) over = true;
    n = n * 10 + digit;
  }
  *value = n;
  return at != digits && !over && (at == end || is_blank(*at) || *at == 0);
}

static bool read_u64(struct span s, uint64_t *value) {
  bool minus;
  if (!read_number(s, value, &minus)) return false;
  if (!minus) return true;
  // A negative number is one only if it looks like a large one.
  *value = -*value;
  return (int64_t)*value >= 0;
}

/// Their lower 32 bits, as memcached takes them.
static bool read_u32(struct span s, uint32_t *value) {
  uint64_t n;
  if (!read_u64(s, &n)) return false;
  *value = (uint32_t)n;
  return true;
}

static bool read_i32(struct span s, int32_t *value) {
  uint64_t n;
  bool minus;
  if (!read_number(s, &n, &minus) || n > (uint64_t)INT64_MAX + minus) return false;
  *value = (int32_t)(uint32_t)(minus ? -n : n);
  return true;
}

/// Decimal digits; returns how many.
static size_t write_number(uint8_t *to, uint64_t n) {
  uint8_t digits[COUNTER_DIGITS];
  size_t count = 0;
  // The core divides 32 bits by itself.
  for (; n > UINT32_MAX; n /= 10) digits[count++] = '0' + (uint8_t)(n % 10);
  uint32_t low = (uint32_t)n;
  do digits[count++] = '0' + (uint8_t)(low % 10);
  while ((low /= 10) != 0);
  for (size_t i = 0; i < count; ++i) to[i] = digits[count - 1 - i];
  return count;
}

size_t stat_line(char *to, size_t size, const char *name, uint32_t value) {
  uint8_t digits[COUNTER_DIGITS];
  const size_t count = write_number(digits, value), length = strlen(name), all = 5 + length + 1 + count + 2;
  if (all > size) return 0;
  memcpy(to, "STAT ", 5);
  memcpy(to + 5, name, length);
  to[5 + length] = ' ';
  memcpy(to + 6 + length, digits, count);
  memcpy(to + all - 2, "\r\n", 2);
  return all;
}

/// When an item ends, of the time that a request has.
static uint32_t ends(int64_t time, uint32_t now) {
  if (time == 0) return 0;
  if (time < 0) return 1;
  return (uint32_t)(time > MONTH ? time : time + now);
}

// ---------------------------------------------------------------- what both protocols do
enum mode { SET, ADD, REPLACE, CAS };
enum outcome { STORED, EXISTS, NOT_FOUND, NOT_STORED, TOO_LARGE, NO_MEMORY };

/// A new item for the key, which is in the log and not yet the key's.
static struct item *new_item(struct span key, uint32_t hash, size_t length, uint32_t flags, uint32_t expires,
                             uint32_t now) {
  struct item *item = store_room(key.length, length);
  if (!item) return NULL;
  memcpy(item->bytes, key.at, key.length);
  item->hash = hash;
  item->flags = flags;
  item->expires = expires;
  item->stored = now;
  return item;
}

static void remove_key(struct span key, struct item *item) {
  before_write(key.at, key.length);
  store_remove(item);
  after_write(NULL);
}

static bool is_too_large(size_t key, uint32_t flags, uint64_t length) {
  return length + key + ITEM_OVERHEAD + (flags ? 4 : 0) > ITEM_MAX;
}

/// A store that is refused for want of room: a SET takes the old item out, since it may not be read any more.
static void refused(struct span key, enum mode mode, uint32_t now) {
  struct item *old = store_find(key.at, key.length, store_hash(key.at, key.length), now);
  if (old && mode == SET) remove_key(key, old);
}

static enum outcome store(struct span key, struct span value, enum mode mode, uint32_t flags, uint32_t expires,
                          uint64_t cas, uint32_t now, uint64_t *unique) {
  ++server_counts.sets;
  const uint32_t hash = store_hash(key.at, key.length);
  const struct item *old = store_find(key.at, key.length, hash, now);
  switch (mode) {
    case SET: break;
    case ADD: if (old) return NOT_STORED; break;
    case REPLACE: if (!old) return NOT_STORED; break;
    case CAS:
      if (!old) return NOT_FOUND;
      if (cas != old->cas) return EXISTS;
      break;
  }
  struct item *item = new_item(key, hash, value.length, flags, expires, now);
  if (!item) {
    refused(key, mode, now);
    return NO_MEMORY;
  }
  memcpy(item_value(item), value.at, value.length);
  before_write(key.at, key.length);
  store_put(item);
  after_write(item);
  *unique = item->cas;
  return STORED;
}

enum delta { DELTA_OK, DELTA_NOT_FOUND, DELTA_NOT_NUMERIC, DELTA_EXISTS, DELTA_NO_MEMORY };

/// Adds or subtracts. `number`: what it is then. The number may get longer, never shorter: blanks fill it up.
static enum delta change(struct span key, bool up, uint64_t by, uint64_t cas, uint32_t now, uint64_t *number,
                         uint64_t *unique) {
  const uint32_t hash = store_hash(key.at, key.length);
  struct item *item = store_find(key.at, key.length, hash, now);
  if (!item) return DELTA_NOT_FOUND;
  if (item->length == 0) return DELTA_NOT_NUMERIC;
  if (cas != 0 && cas != item->cas) return DELTA_EXISTS;
  if (!read_u64((struct span){item_value(item), item->length}, number)) return DELTA_NOT_NUMERIC;
  *number = up ? *number + by : *number < by ? 0 : *number - by;
  uint8_t digits[COUNTER_DIGITS];
  const size_t count = write_number(digits, *number);
  if (count <= item->length) {
    before_write(key.at, key.length);
    memcpy(item_value(item), digits, count);
    memset(item_value(item) + count, ' ', item->length - count);
    item->cas = store_next_cas();
    item->stored = now;
  } else {
    // The old one may leave to make room.
    const uint32_t flags = item->flags, expires = item->expires;
    item = new_item(key, hash, count, flags, expires, now);
    if (!item) return DELTA_NO_MEMORY;
    memcpy(item_value(item), digits, count);
    before_write(key.at, key.length);
    store_put(item);
  }
  after_write(item);
  *unique = item->cas;
  return DELTA_OK;
}

static struct item *get(struct span key, uint32_t now) {
  ++server_counts.gets;
  struct item *item = store_find(key.at, key.length, store_hash(key.at, key.length), now);
  if (item) {
    ++server_counts.hits;
    if (accel_there) policy_get(item);
  }
  return item;
}

static struct item *touch(struct span key, uint32_t expires, uint32_t now) {
  struct item *item = store_find(key.at, key.length, store_hash(key.at, key.length), now);
  if (!item) return NULL;
  before_write(key.at, key.length);
  item->expires = expires;
  after_write(item);
  return item;
}

static void flush(int64_t delay, uint32_t now) {
  before_write(NULL, 0);
  store_flush(delay > 0 ? ends(delay, now) - 1 : now, now);
  after_write(NULL);
}

// ---------------------------------------------------------------- text
// memcached takes a line apart into so many words; only a get goes on behind them.
enum { WORDS = 23 };

struct line {
  struct span words[WORDS];
  size_t count;
  const uint8_t *end;
  bool quiet;
};

#define SAY(line, text) say(line, text "\r\n", sizeof(text "\r\n") - 1)
static void say(const struct line *line, const char *text, size_t length) {
  // Errors begin with ERROR, CLIENT_ERROR, SERVER_ERROR.
  const bool error = text[0] == 'E' ? text[1] == 'R' : text[0] == 'C' || (text[0] == 'S' && text[1] == 'E');
  if (line->quiet || (error && !may_send_error())) return;
  message(length);
  put(text, length);
}

/// What says something whether the line wants it or not.
static const struct line LOUD;

/// The next word of a line; none: its length is 0.
static struct span next_word(const uint8_t *at, const uint8_t *end) {
  while (at != end && *at == ' ') ++at;
  const uint8_t *from = at;
  while (at != end && *at != ' ') ++at;
  return (struct span){from, (size_t)(at - from)};
}

static void text_get(const struct line *line, bool unique, uint32_t now) {
  // One that is too long fails the command before anything is sent.
  struct span key = line->words[1];
  for (; key.length != 0; key = next_word(key.at + key.length, line->end))
    if (key.length > KEY_MAX) {
      SAY(&LOUD, "CLIENT_ERROR bad command line format");
      return;
    }
  key = line->words[1];
  while (key.length != 0) {
    struct item *item = get(key, now);
    const struct span next = next_word(key.at + key.length, line->end);
    const size_t end = next.length == 0 ? 5 : 0;
    if (item) {
      uint8_t head[6 + KEY_MAX + 3 * (1 + COUNTER_DIGITS) + 2], *at = head;
      memcpy(at, "VALUE ", 6);
      at += 6;
      memcpy(at, key.at, key.length);
      at += key.length;
      *at++ = ' ';
      at += write_number(at, item->flags);
      *at++ = ' ';
      at += write_number(at, item->length);
      if (unique) {
        *at++ = ' ';
        at += write_number(at, item->cas);
      }
      *at++ = '\r';
      *at++ = '\n';
      const size_t length = (size_t)(at - head);
      message(length + item->length + 2 + end);
      put(head, length);
      put(item_value(item), item->length);
      put("\r\nEND\r\n", 2 + end);
    } else if (end != 0) {
      message(end);
      put("END\r\n", end);
    }
    key = next;
  }
}

/// A store; `data` is what is behind its line. Returns how much of that it takes; more than there is: it does not end.
static size_t text_store(const struct line *line, enum mode mode, const uint8_t *data, size_t there, uint32_t now) {
  const struct span *w = line->words;
  int32_t length, time;
  uint32_t flags;
  uint64_t cas = 0, unique;
  const size_t words = mode == CAS ? 6 : 5;
  if (line->count != words && line->count != words + 1) {
    SAY(&LOUD, "ERROR");
    return 0;
  }
  const struct span key = w[1];
  if (key.length > KEY_MAX || !read_u32(w[2], &flags) || !read_i32(w[3], &time) || !read_i32(w[4], &length) ||
      length < 0 || length > INT32_MAX - 2 || (mode == CAS && !read_u64(w[5], &cas))) {
    SAY(line, "CLIENT_ERROR bad command line format");
    return 0;
  }
  const size_t takes = (size_t)length + 2;
  if (is_too_large(key.length, flags, (uint64_t)length)) {
    SAY(line, "SERVER_ERROR object too large for cache");
    refused(key, mode, now);
    return takes;
  }
  if (takes > there) return takes;
  if (data[length] != '\r' || data[length + 1] != '\n') {
    SAY(line, "CLIENT_ERROR bad data chunk");
    return takes;
  }
  const struct span value = {data, (size_t)length};
  switch (store(key, value, mode, flags, ends(time, now), cas, now, &unique)) {
    case STORED: SAY(line, "STORED"); break;
    case EXISTS: SAY(line, "EXISTS"); break;
    case NOT_FOUND: SAY(line, "NOT_FOUND"); break;
    case NOT_STORED: SAY(line, "NOT_STORED"); break;
    default: SAY(line, "SERVER_ERROR out of memory storing object"); break;
  }
  return takes;
}

static void text_delete(const struct line *line, uint32_t now) {
  const struct span key = line->words[1];
  // It had a time once, of which 0 is left.
  if (line->count > 2 && !(line->count == 3 ? line->quiet || IS(line->words[2], "0") : line->quiet && IS(line->words[2], "0"))) {
    SAY(line, "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
    return;
  }
  if (key.length > KEY_MAX) {
    SAY(line, "CLIENT_ERROR bad command line format");
    return;
  }
  struct item *item = store_find(key.at, key.length, store_hash(key.at, key.length), now);
  if (!item) {
    SAY(line, "NOT_FOUND");
    return;
  }
  remove_key(key, item);
  SAY(line, "DELETED");
}

static void text_touch(const struct line *line, uint32_t now) {
  const struct span key = line->words[1];
  int32_t time;
  if (key.length > KEY_MAX) SAY(line, "CLIENT_ERROR bad command line format");
  else if (!read_i32(line->words[2], &time)) SAY(line, "CLIENT_ERROR invalid exptime argument");
  else if (touch(key, ends(time, now), now)) SAY(line, "TOUCHED");
  else SAY(line, "NOT_FOUND");
}

static void text_change(const struct line *line, bool up, uint32_t now) {
  const struct span key = line->words[1];
  uint64_t by, number, unique;
  if (key.length > KEY_MAX) {
    SAY(line, "CLIENT_ERROR bad command line format");
    return;
  }
  if (!read_u64(line->words[2], &by)) {
    SAY(line, "CLIENT_ERROR invalid numeric delta argument");
    return;
  }
  switch (change(key, up, by, 0, now, &number, &unique)) {
    case DELTA_OK: {
      uint8_t text[COUNTER_DIGITS + 2];
      size_t length = write_number(text, number);
      text[length++] = '\r';
      text[length++] = '\n';
      say(line, (const char *)text, length);
      break;
    }
    case DELTA_NOT_FOUND: SAY(line, "NOT_FOUND"); break;
    case DELTA_NO_MEMORY: SAY(line, "SERVER_ERROR out of memory"); break;
    default: SAY(line, "CLIENT_ERROR cannot increment or decrement non-numeric value"); break;
  }
}

static void text_flush(const struct line *line, uint32_t now) {
  int32_t delay = 0;
  if (line->count != (line->quiet ? 2u : 1u) && !read_i32(line->words[1], &delay)) {
    SAY(line, "CLIENT_ERROR invalid exptime argument");
    return;
  }
  flush(delay, now);
  SAY(line, "OK");
}

static void text_stats(const struct line *line) {
  static char text[PAYLOAD];
  const size_t size = sizeof text - 5;
  size_t n = 0;
  n += stat_line(text + n, size - n, "curr_items", store_counts.items);
  n += stat_line(text + n, size - n, "evictions", store_counts.evicted);
  n += stat_line(text + n, size - n, "expired", store_counts.expired);
  n += stat_line(text + n, size - n, "cmd_get", server_counts.gets);
  n += stat_line(text + n, size - n, "get_hits", server_counts.hits);
  n += stat_line(text + n, size - n, "cmd_set", server_counts.sets);
  n += stat_line(text + n, size - n, "udp_ignored", server_counts.ignored);
  n += stat_line(text + n, size - n, "udp_errors_limited", server_counts.errors_limited);
  n += surroundings_stats(text + n, size - n);
  memcpy(text + n, "END\r\n", 5);
  say(line, text, n + 5);
}

// ---------------------------------------------------------------- meta
// Reads alone, so that who asks by `mg` hears the same from gates and from here. Of its flags those that change nothing.
enum {
  META_WORDS = 20,
  OPAQUE_MAX = 32,  // with its letter
};

static int base64_value(uint8_t c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52
       : c == '+' ? 62 : c == '/' ? 63 : c == '=' ? 0 : -1;
}

/// Decodes as memcached does: other bytes are passed over, and what follows a padded group is not looked at. Returns how
/// many bytes there are; 0: none, or no base64.
static size_t base64_decode(struct span s, uint8_t *to) {
  size_t letters = 0, length = 0, pad = 0;
  for (size_t i = 0; i < s.length; ++i) letters += base64_value(s.at[i]) >= 0;
  if (letters % 4 != 0) return 0;
  uint32_t group = 0;
  letters = 0;
  for (size_t i = 0; i < s.length && (pad == 0 || letters % 4 != 0); ++i) {
    const int value = base64_value(s.at[i]);
    if (value < 0) continue;
    group = group << 6 | (uint32_t)value;
    pad += s.at[i] == '=';
    if (++letters % 4 != 0) continue;
    if (pad > 2) return 0;
    for (size_t n = 0; n < 3 - pad; ++n) to[length++] = (uint8_t)(group >> (16 - 8 * n));
  }
  return length;
}

static size_t base64_encode(struct span s, uint8_t *to) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t length = 0;
  for (size_t i = 0; i < s.length; i += 3) {
    const size_t left = s.length - i;
    const uint32_t group = (uint32_t)s.at[i] << 16 | (uint32_t)(left > 1 ? s.at[i + 1] : 0) << 8 | (left > 2 ? s.at[i + 2] : 0);
    for (size_t n = 0; n < 4; ++n) to[length++] = n <= left ? (uint8_t)letters[group >> (18 - 6 * n) & 63] : '=';
  }
  return length;
}

static uint8_t *write_key(uint8_t *at, struct span key, bool coded) {
  if (!coded) {
    memcpy(at, key.at, key.length);
    return at + key.length;
  }
  at += base64_encode(key, at);
  memcpy(at, " b", 2);
  return at + 2;
}

/// What a text cannot show as it is.
static bool is_unfit(struct span key) {
  return memchr(key.at, ' ', key.length) || memchr(key.at, '\n', key.length) || memchr(key.at, 0, key.length);
}

static void meta_get(const struct line *line, uint32_t now) {
  const struct span *w = line->words;
  struct span key = w[1];
  uint8_t decoded[KEY_MAX];
  bool seen[128] = {0}, wrong_key = false;
  if (key.length > KEY_MAX) {
    SAY(line, "CLIENT_ERROR bad command line format");
    return;
  }
  if (line->count > META_WORDS) {
    SAY(line, "CLIENT_ERROR options flags are too long");
    return;
  }
  for (size_t n = 2; n < line->count; ++n) {
    const uint8_t flag = *w[n].at;
    if (flag >= 127 || seen[flag]) {
      SAY(line, "CLIENT_ERROR duplicate flag");
      return;
    }
    seen[flag] = true;
    if (!memchr("bcfkqstuvxILOP", flag, 14)) {
      SAY(line, "CLIENT_ERROR invalid flag");
      return;
    }
    if (flag == 'b') {
      const struct span code = key;
      key = (struct span){decoded, base64_decode(code, decoded)};
      wrong_key = key.length == 0;
    }
  }
  if (wrong_key) {
    SAY(line, "CLIENT_ERROR error decoding key");
    return;
  }
  struct item *item = get(key, now);
  const bool coded = item ? is_unfit(key) : seen['b'], value = item && seen['v'];
  // "VA" and five numbers, a key in base64, an opaque token.
  uint8_t head[2 + 5 * (2 + COUNTER_DIGITS) + 2 + (KEY_MAX + 2) / 3 * 4 + 2 + 1 + OPAQUE_MAX + 2], *at = head;
  memcpy(at, !item ? "EN" : value ? "VA " : "HD", 3);
  at += value ? 3 : 2;
  if (value) at += write_number(at, item->length);
  for (size_t n = 2; n < line->count; ++n) {
    const uint8_t flag = *w[n].at;
    if (!memchr("kO", flag, 2) && (!item || !memchr("cfst", flag, 4))) continue;
    *at++ = ' ';
    if (flag == 'O') {
      if (w[n].length > OPAQUE_MAX) {
        SAY(line, "CLIENT_ERROR opaque token too long");
        return;
      }
      memcpy(at, w[n].at, w[n].length);
      at += w[n].length;
      continue;
    }
    *at++ = flag;
    if (flag == 'k') at = write_key(at, key, coded);
    else if (flag == 't' && item->expires == 0) memcpy(at, "-1", 2), at += 2;
    else at += write_number(at, flag == 'c' ? item->cas : flag == 'f' ? item->flags : flag == 's' ? item->length
                                                                                     : item->expires - now);
  }
  if (!item && seen['q']) return;
  memcpy(at, "\r\n", 2);
  at += 2;
  const size_t length = (size_t)(at - head);
  message(length + (value ? item->length + 2 : 0));
  put(head, length);
  if (value) {
    put(item_value(item), item->length);
    put("\r\n", 2);
  }
}

// ---------------------------------------------------------------- a command of text
/// Has the first request answered; returns its bytes, 0 for one that does not end.
static size_t text_request(const uint8_t *at, size_t there, uint32_t now) {
  const uint8_t *newline = memchr(at, '\n', there);
  if (!newline) return 0;
  const size_t length = (size_t)(newline + 1 - at);
  struct line line = {.end = newline - (length > 2 && newline[-1] == '\r')};
  // A zero byte ends the words.
  const uint8_t *zero = memchr(at, 0, (size_t)(line.end - at));
  if (zero) line.end = zero;
  struct span last = {0};
  for (struct span w = next_word(at, line.end); w.length != 0 && line.count < WORDS;
       w = next_word(w.at + w.length, line.end))
    line.words[line.count++] = last = w;
  const struct span command = line.words[0];
  const size_t count = line.count;
  const bool gets = IS(command, "gets");
  if (count >= 2 && (gets || IS(command, "get"))) {
    text_get(&line, gets, now);
    return length;
  }
  if (count >= 2 && IS(command, "mg")) {
    meta_get(&line, now);
    return length;
  }
  line.quiet = IS(last, "noreply");
  static const struct {
    const char *name;
    uint8_t length, mode;
  } stores[] = {{"set", 3, SET}, {"add", 3, ADD}, {"cas", 3, CAS}, {"replace", 7, REPLACE}};
  for (size_t n = 0; n < sizeof stores / sizeof *stores; ++n)
    if (command.length == stores[n].length && memcmp(command.at, stores[n].name, command.length) == 0) {
      const size_t data = text_store(&line, (enum mode)stores[n].mode, newline + 1, there - length, now);
      return data > there - length ? 0 : length + data;
    }
  const bool three = count == 3 || count == 4;
  if (IS(command, "delete") && count >= 2 && count <= 4) text_delete(&line, now);
  else if (IS(command, "incr") && three) text_change(&line, true, now);
  else if (IS(command, "decr") && three) text_change(&line, false, now);
  else if (IS(command, "touch") && three) text_touch(&line, now);
  else if (IS(command, "flush_all") && count <= 3) text_flush(&line, now);
  else if (IS(command, "mn")) SAY(&LOUD, "MN");
  else if (IS(command, "version")) SAY(&LOUD, "VERSION " VERSION);
  else if (IS(command, "stats") && count == 1) text_stats(&line);
  else SAY(&LOUD, "ERROR");
  return length;
}

// ---------------------------------------------------------------- binary
enum { HEADER = 24, REQUEST = 0x80, REPLY = 0x81 };
enum opcode {
  OP_GET = 0x00, OP_SET, OP_ADD, OP_REPLACE, OP_DELETE, OP_INCREMENT, OP_DECREMENT,
  OP_FLUSH = 0x08, OP_GETQ = 0x09, OP_NOOP = 0x0A, OP_VERSION = 0x0B, OP_GETK = 0x0C, OP_GETKQ = 0x0D,
  OP_SETQ = 0x11, OP_ADDQ, OP_REPLACEQ, OP_DELETEQ, OP_INCREMENTQ, OP_DECREMENTQ, OP_FLUSHQ = 0x18,
  OP_TOUCH = 0x1C,
};
enum status {
  OK = 0, KEY_NOT_FOUND = 1, KEY_EXISTS = 2, VALUE_TOO_LARGE = 3, INVALID = 4, BAD_DELTA = 6,
  UNKNOWN = 0x81, OUT_OF_MEMORY = 0x82,
};

struct packet {
  const uint8_t *header, *extras;
  struct span key, value;
  uint8_t opcode, extras_length;
  uint32_t body;
  uint64_t cas;
};

static uint32_t be32(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
static uint64_t be64(const uint8_t *at) { return (uint64_t)be32(at) << 32 | be32(at + 4); }
static void put_be32(uint8_t *at, uint32_t n) {
  at[0] = (uint8_t)(n >> 24), at[1] = (uint8_t)(n >> 16), at[2] = (uint8_t)(n >> 8), at[3] = (uint8_t)n;
}

/// The header of a reply, with its four bytes of extras or none, and so many bytes behind it.
static void reply(const struct packet *p, uint16_t status, const uint32_t *flags, size_t key, size_t more,
                  uint64_t cas) {
  uint8_t h[HEADER + 4] = {REPLY, p->opcode, (uint8_t)(key >> 8), (uint8_t)key};
  const size_t extras = flags ? 4 : 0;
  h[4] = (uint8_t)extras;
  h[6] = (uint8_t)(status >> 8), h[7] = (uint8_t)status;
  put_be32(h + 8, (uint32_t)(extras + key + more));
  memcpy(h + 12, p->header + 12, 4);
  put_be32(h + 16, (uint32_t)(cas >> 32));
  put_be32(h + 20, (uint32_t)cas);
  if (flags) put_be32(h + HEADER, *flags);
  message(HEADER + extras + key + more);
  put(h, HEADER + extras);
}

static void fail(const struct packet *p, enum status status) {
  const char *text = status == KEY_NOT_FOUND     ? "Not found"
                     : status == KEY_EXISTS      ? "Data exists for key."
                     : status == VALUE_TOO_LARGE ? "Too large."
                     : status == INVALID         ? "Invalid arguments"
                     : status == BAD_DELTA       ? "Non-numeric server-side value for incr or decr"
                     : status == UNKNOWN         ? "Unknown command"
                                                 : "Out of memory";
  if (status != KEY_NOT_FOUND && status != KEY_EXISTS && !may_send_error()) return;
  reply(p, (uint16_t)status, NULL, 0, strlen(text), 0);
  put(text, strlen(text));
}

static void done(const struct packet *p, bool quiet, uint64_t cas) {
  if (!quiet) reply(p, OK, NULL, 0, 0, cas);
}

static void binary_get(const struct packet *p, bool quiet, bool with_key, uint32_t now) {
  struct item *item = get(p->key, now);
  const size_t key = with_key ? p->key.length : 0;
  if (item) {
    reply(p, OK, &item->flags, key, item->length, item->cas);
    put(p->key.at, key);
    put(item_value(item), item->length);
  } else if (with_key && !quiet) {
    reply(p, KEY_NOT_FOUND, NULL, key, 0, 0);
    put(p->key.at, key);
  } else if (!quiet) fail(p, KEY_NOT_FOUND);
}

static void binary_store(const struct packet *p, enum mode mode, bool quiet, uint32_t now) {
  const uint32_t flags = be32(p->extras), expires = ends(be32(p->extras + 4), now);
  uint64_t unique = 0;
  if (p->cas != 0) mode = CAS;
  switch (store(p->key, p->value, mode, flags, expires, p->cas, now, &unique)) {
    case STORED: done(p, quiet, unique); break;
    case EXISTS: fail(p, KEY_EXISTS); break;
    case NOT_FOUND: fail(p, KEY_NOT_FOUND); break;
    case NOT_STORED: fail(p, mode == ADD ? KEY_EXISTS : KEY_NOT_FOUND); break;
    default: fail(p, OUT_OF_MEMORY); break;
  }
}

static void binary_change(const struct packet *p, bool up, bool quiet, uint32_t now) {
  const uint8_t *e = p->extras;
  uint64_t number, unique = 0;
  enum delta delta = change(p->key, up, be64(e), p->cas, now, &number, &unique);
  const uint32_t time = be32(e + 16);
  if (delta == DELTA_NOT_FOUND && time != UINT32_MAX) {
    uint8_t digits[COUNTER_DIGITS];
    number = be64(e + 8);
    const struct span value = {digits, write_number(digits, number)};
    delta = store(p->key, value, ADD, 0, ends(time, now), 0, now, &unique) == STORED ? DELTA_OK
                                                                                          : DELTA_NO_MEMORY;
  }
  switch (delta) {
    case DELTA_OK:
      if (!quiet) {
        uint8_t bytes[8];
        put_be32(bytes, (uint32_t)(number >> 32));
        put_be32(bytes + 4, (uint32_t)number);
        reply(p, OK, NULL, 0, sizeof bytes, unique);
        put(bytes, sizeof bytes);
      }
      break;
    case DELTA_NOT_FOUND: fail(p, KEY_NOT_FOUND); break;
    case DELTA_EXISTS: fail(p, KEY_EXISTS); break;
    case DELTA_NO_MEMORY: fail(p, OUT_OF_MEMORY); break;
    default: fail(p, BAD_DELTA); break;
  }
}

/// As text_request; a request that would close a connection ends the datagram, too.
static size_t binary_request(const uint8_t *at, size_t there, uint32_t now) {
  if (there < HEADER || at[0] != REQUEST) return 0;
  struct packet p = {.header = at, .extras = at + HEADER, .opcode = at[1], .extras_length = at[4],
                     .body = be32(at + 8), .cas = be64(at + 16)};
  const size_t key = (size_t)at[2] << 8 | at[3], extras = p.extras_length;
  if (there - HEADER < key + extras) return 0;
  if (key + extras > p.body) {
    fail(&p, UNKNOWN);
    return 0;
  }
  if (p.body > INT32_MAX / 2 || key > KEY_MAX) {
    fail(&p, INVALID);
    return 0;
  }
  p.key = (struct span){at + HEADER + extras, key};
  p.value = (struct span){p.key.at + key, p.body - key - extras};
  const bool bare = p.value.length == 0;
  const size_t length = HEADER + (size_t)p.body;
  const bool quiet = p.opcode >= OP_SETQ && p.opcode <= OP_FLUSHQ;
  bool valid;
  switch (p.opcode) {
    case OP_GET: case OP_GETQ: case OP_GETK: case OP_GETKQ:
      if ((valid = extras == 0 && bare && key != 0))
        binary_get(&p, p.opcode == OP_GETQ || p.opcode == OP_GETKQ, p.opcode >= OP_GETK, now);
      break;
    case OP_SET: case OP_ADD: case OP_REPLACE: case OP_SETQ: case OP_ADDQ: case OP_REPLACEQ:
      if ((valid = extras == 8 && key != 0)) {
        const enum mode mode = (enum mode)(p.opcode - (quiet ? OP_SETQ : OP_SET));
        if (is_too_large(key, be32(p.extras), p.value.length)) {
          fail(&p, VALUE_TOO_LARGE);
          refused(p.key, mode, now);
        } else if (length > there) return 0;
        else binary_store(&p, mode, quiet, now);
      }
      break;
    case OP_DELETE: case OP_DELETEQ:
      if ((valid = extras == 0 && bare && key != 0)) {
        struct item *item = store_find(p.key.at, key, store_hash(p.key.at, key), now);
        if (!item) fail(&p, KEY_NOT_FOUND);
        else if (p.cas != 0 && p.cas != item->cas) fail(&p, KEY_EXISTS);
        else {
          remove_key(p.key, item);
          done(&p, quiet, 0);
        }
      }
      break;
    case OP_INCREMENT: case OP_DECREMENT: case OP_INCREMENTQ: case OP_DECREMENTQ:
      if ((valid = extras == 20 && bare && key != 0))
        binary_change(&p, p.opcode == OP_INCREMENT || p.opcode == OP_INCREMENTQ, quiet, now);
      break;
    case OP_TOUCH:
      if ((valid = extras == 4 && key != 0)) {
        struct item *item = touch(p.key, ends(be32(p.extras), now), now);
        if (item) reply(&p, OK, &item->flags, 0, 0, item->cas);
        else fail(&p, KEY_NOT_FOUND);
      }
      break;
    case OP_FLUSH: case OP_FLUSHQ:
      if ((valid = key == 0 && bare && (extras == 0 || extras == 4))) {
        flush(extras == 4 ? be32(p.extras) : 0, now);
        done(&p, quiet, 0);
      }
      break;
    case OP_NOOP:
      if ((valid = p.body == 0)) done(&p, false, 0);
      break;
    case OP_VERSION:
      if ((valid = p.body == 0)) {
        reply(&p, OK, NULL, 0, sizeof VERSION - 1, 0);
        put(VERSION, sizeof VERSION - 1);
      }
      break;
    default:
      fail(&p, UNKNOWN);
      valid = true;
      break;
  }
  if (!valid) fail(&p, INVALID);
  return valid && length <= there ? length : 0;
}

// ---------------------------------------------------------------- datagrams
void server_datagram(const uint8_t *datagram, size_t length, int errors, uint32_t now) {
  const uint8_t *at = datagram + DATAGRAM_HEADER;
  // What begins as replies do is one, of whatever server: to answer it would be to talk with that for ever. Of a message in
  // several datagrams none is served.
  if (length <= DATAGRAM_HEADER || datagram[4] != 0 || datagram[5] != 1 || *at == REPLY ||
      (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9')) {
    ++server_counts.ignored;
    return;
  }
  out.id[0] = datagram[0], out.id[1] = datagram[1];
  out.errors = errors != 0;
  if (errors_.second != now) errors_.second = now, errors_.left = ERRORS;
  out.budget = ANSWER;
  const bool binary = *at == REQUEST;
  for (size_t left = length - DATAGRAM_HEADER, n; left != 0; at += n, left -= n) {
    n = binary ? binary_request(at, left, now) : text_request(at, left, now);
    if (n == 0) return;
  }
}
