#include "frame.h"

#include <stdbool.h>
#include <string.h>

#include "server.h"

enum { ETHERNET = 14, IP = 20, UDP = 8 };
enum { TYPE_IP = 0x0800, TYPE_ARP = 0x0806, PROTO_ICMP = 1, PROTO_UDP = 17, MEMCACHED = 11211 };

struct frame_counts frame_counts;
struct addresses frame_addresses;

// The datagram that is being written; its header is that of the request, turned round.
static struct {
  _Alignas(4) uint8_t frame[ETHERNET + IP + UDP + DATAGRAM_MAX];
  size_t length;
} tx;

static uint16_t be16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }
static void put_be16(uint8_t *at, uint32_t n) { at[0] = (uint8_t)(n >> 8), at[1] = (uint8_t)n; }

/// The sum of RFC 1071 over bytes at an even address, on top of `sum`; it is in the order of memory.
static uint32_t add(uint32_t sum, const uint8_t *at, size_t length) {
  uint32_t carries = 0;
  if (length >= 2 && ((uintptr_t)at & 2) != 0) {
    sum += *(const uint16_t *)(const void *)at;
    carries += sum < *(const uint16_t *)(const void *)at;
    at += 2, length -= 2;
  }
  const uint32_t *words = (const uint32_t *)(const void *)at;
  for (; length >= 4; length -= 4) {
    const uint32_t word = *words++;
    sum += word;
    carries += sum < word;
  }
  uint8_t rest[4] = {0};
  memcpy(rest, words, length);
  uint32_t last;
  memcpy(&last, rest, 4);
  sum += last;
  carries += sum < last;
  const uint32_t total = sum + carries;
  return total + (total < carries);
}

/// What stands in a header, in the order of memory.
static uint16_t folded(uint32_t sum) {
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return (uint16_t)~sum;
}

/// The pseudo header of UDP: addresses, protocol, length.
static uint32_t pseudo(const uint8_t *ip, size_t length) {
  _Alignas(4) const uint8_t rest[4] = {0, PROTO_UDP, (uint8_t)(length >> 8), (uint8_t)length};
  return add(add(0, ip + 12, 8), rest, 4);
}

static void put_sum(uint8_t *at, uint16_t sum) { memcpy(at, &sum, 2); }

/// A frame's addresses, for its answer.
static void turn_round(uint8_t *to, const uint8_t *from) {
  memcpy(to, from + 6, 6);
  memcpy(to + 6, frame_addresses.mac, 6);
}

static void send(uint8_t *frame, size_t length) {
  if (length < FRAME_SHORTEST) {
    memset(frame + length, 0, FRAME_SHORTEST - length);
    length = FRAME_SHORTEST;
  }
  frame_send(frame, length);
}

// ---------------------------------------------------------------- datagrams, as server.h wants them
uint8_t *datagram_begin(size_t length) {
  tx.length = length;
  return tx.frame + ETHERNET + IP + UDP;
}

void datagram_send(void) {
  uint8_t *ip = tx.frame + ETHERNET, *udp = ip + IP;
  const size_t length = UDP + tx.length;
  put_be16(ip + 2, (uint32_t)(IP + length));
  put_be16(ip + 10, 0);
  put_sum(ip + 10, folded(add(0, ip, IP)));
  put_be16(udp + 4, (uint32_t)length);
  put_be16(udp + 6, 0);
  const uint16_t sum = folded(add(pseudo(ip, length), udp, length));
  put_sum(udp + 6, sum == 0 ? 0xFFFF : sum);
  send(tx.frame, ETHERNET + IP + length);
}

static void datagram(const uint8_t *frame, const uint8_t *ip, const uint8_t *udp, size_t length, uint32_t now) {
  if (length < UDP || be16(udp + 4) < UDP || be16(udp + 4) > length) {
    ++frame_counts.malformed;
    return;
  }
  if (be16(udp + 2) != frame_addresses.port) {
    ++frame_counts.other;
    return;
  }
  length = be16(udp + 4);
  if (be16(udp + 6) != 0 && folded(add(pseudo(ip, length), udp, length)) != 0) {
    ++frame_counts.checksum;
    return;
  }
  ++frame_counts.datagrams;
  uint8_t *to = tx.frame;
  turn_round(to, frame);
  put_be16(to + 12, TYPE_IP);
  static const uint8_t head[12] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, PROTO_UDP, 0, 0};
  memcpy(to + ETHERNET, head, 12);
  memcpy(to + ETHERNET + 12, ip + 16, 4);
  memcpy(to + ETHERNET + 16, ip + 12, 4);
  memcpy(to + ETHERNET + IP, udp + 2, 2);
  memcpy(to + ETHERNET + IP + 2, udp, 2);
  // An error to where a service may be could make the two exchange errors for ever.
  const uint16_t port = be16(udp);
  const bool errors = port >= 1024 && port != MEMCACHED && port != frame_addresses.port;
  server_datagram(udp + UDP, length - UDP, errors, now);
}

// ---------------------------------------------------------------- the rest
static void arp(uint8_t *frame, size_t length) {
  static const uint8_t request[8] = {0, 1, 8, 0, 6, 4, 0, 1};
  uint8_t *a = frame + ETHERNET;
  if (length < ETHERNET + 28) {
    ++frame_counts.malformed;
    return;
  }
  if (memcmp(a, request, sizeof request) != 0 || memcmp(a + 24, frame_addresses.ip, 4) != 0) {
    ++frame_counts.other;
    return;
  }
  ++frame_counts.arp;
  turn_round(frame, frame);
  a[7] = 2;
  memcpy(a + 18, a + 8, 10);
  memcpy(a + 8, frame_addresses.mac, 6);
  memcpy(a + 14, frame_addresses.ip, 4);
  send(frame, ETHERNET + 28);
}

static void echo(uint8_t *frame, uint8_t *ip, uint8_t *icmp, size_t length) {
  if (length < 8) {
    ++frame_counts.malformed;
    return;
  }
  if (icmp[0] != 8 || icmp[1] != 0) {
    ++frame_counts.other;
    return;
  }
  if (folded(add(0, icmp, length)) != 0) {
    ++frame_counts.checksum;
    return;
  }
  ++frame_counts.echo;
  turn_round(frame, frame);
  memcpy(ip + 16, ip + 12, 4);
  memcpy(ip + 12, frame_addresses.ip, 4);
  ip[8] = 64;
  put_be16(ip + 10, 0);
  put_sum(ip + 10, folded(add(0, ip, (size_t)(icmp - ip))));
  icmp[0] = 0;
  put_be16(icmp + 2, 0);
  put_sum(icmp + 2, folded(add(0, icmp, length)));
  send(frame, (size_t)(icmp - frame) + length);
}

static void packet(uint8_t *frame, size_t length, uint32_t now) {
  uint8_t *ip = frame + ETHERNET;
  const size_t there = length - ETHERNET;
  const size_t header = there == 0 ? 0 : (size_t)(ip[0] & 15) * 4;
  if (there < IP || ip[0] >> 4 != 4 || header < IP || be16(ip + 2) < header || be16(ip + 2) > there) {
    ++frame_counts.malformed;
    return;
  }
  if (folded(add(0, ip, header)) != 0) {
    ++frame_counts.checksum;
    return;
  }
  // Not ours, or of nobody to answer to: 0.0.0.0/8, loopback, multicast, broadcast.
  if (memcmp(ip + 16, frame_addresses.ip, 4) != 0 || ip[12] == 0 || ip[12] == 127 || ip[12] >= 224) {
    ++frame_counts.other;
    return;
  }
  if ((be16(ip + 6) & 0x3FFF) != 0) {
    ++frame_counts.fragments;
    return;
  }
  const size_t payload = be16(ip + 2) - header;
  if (ip[9] == PROTO_UDP) datagram(frame, ip, ip + header, payload, now);
  else if (ip[9] == PROTO_ICMP) echo(frame, ip, ip + header, payload);
  else ++frame_counts.other;
}

void frame_take(uint8_t *frame, size_t length, uint32_t now) {
  static const uint8_t all[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  if (length < ETHERNET || length > FRAME_MAX) {
    ++frame_counts.malformed;
    return;
  }
  const bool to_all = memcmp(frame, all, 6) == 0, to_us = memcmp(frame, frame_addresses.mac, 6) == 0;
  const uint16_t type = be16(frame + 12);
  // Nobody answers to a group.
  if ((frame[6] & 1) != 0) ++frame_counts.malformed;
  else if (type == TYPE_ARP && (to_all || to_us)) arp(frame, length);
  else if (type == TYPE_IP && to_us) packet(frame, length, now);
  else ++frame_counts.other;
}

// ---------------------------------------------------------------- counters
size_t surroundings_stats(char *to, size_t size) {
  const struct frame_counts *c = &frame_counts;
  size_t n = 0;
  n += stat_line(to + n, size - n, "arp", c->arp);
  n += stat_line(to + n, size - n, "echo", c->echo);
  n += stat_line(to + n, size - n, "datagrams", c->datagrams);
  n += stat_line(to + n, size - n, "dropped_other", c->other);
  n += stat_line(to + n, size - n, "dropped_malformed", c->malformed);
  n += stat_line(to + n, size - n, "dropped_checksum", c->checksum);
  n += stat_line(to + n, size - n, "dropped_fragments", c->fragments);
  return n + device_stats(to + n, size - n);
}
