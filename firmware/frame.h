// Frames in, frames out: Ethernet, ARP, IPv4, ICMP echo, UDP. What is not right is dropped and counted.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FRAME_MAX = 9018, FRAME_SHORTEST = 60 };

struct addresses {
  uint8_t mac[6], ip[4];
  uint16_t port;
};

struct frame_counts {
  uint32_t arp, echo, datagrams;       // answered, or taken
  uint32_t other, malformed, checksum, fragments;  // dropped
};
extern struct frame_counts frame_counts;
extern struct addresses frame_addresses;

/// Has a frame answered. It begins at a word, in memory of FRAME_SHORTEST bytes and more that may be changed.
void frame_take(uint8_t *frame, size_t length, uint32_t now);

/// Who calls frame_take provides it: sends a frame, which begins at a word. It may be lost.
void frame_send(const uint8_t *frame, size_t length);
/// Lines of its own, as surroundings_stats of server.h.
size_t device_stats(char *to, size_t size);
