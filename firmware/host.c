// The firmware as a program of this machine, for tests: its frames come from datagrams of a UDP port, or from standard input,
// each behind its length in two bytes, lowest first; answers go the same way.
//
//   firmware MEGABYTES PORT    says "listening" when it does
//   firmware MEGABYTES         until the end of input; its clock stands, and behind a length of 0 there is by how many
//                              seconds it is moved, in a signed byte
//
// -a SEED in front of these: with the accelerator of unit.c, which ends it when a client could tell that it is there; with the
// seed 0 it refuses nothing by chance.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "accel.h"
#include "frame.h"
#include "policy.h"
#include "server.h"
#include "store.h"
#include "unit.h"

static int udp = -1;
static struct sockaddr_in client;
static const uint8_t client_ip[4] = {10, 77, 0, 1};

static uint32_t stands = 1700000000;

uint32_t unit_now(void) { return udp < 0 ? stands : (uint32_t)time(NULL); }

static void take(uint8_t *frame, size_t length) {
  frame_take(frame, length, unit_now());
  if (!accel_there) return;
  unit_check();
  while (policy_idle(unit_now())) unit_check();
  unit_check();
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

void frame_send(const uint8_t *frame, size_t length) {
  if (udp < 0) {
    const uint8_t head[2] = {(uint8_t)length, (uint8_t)(length >> 8)};
    if (fwrite(head, 1, 2, stdout) != 2 || fwrite(frame, 1, length, stdout) != length) fail("write");
    return;
  }
  const size_t bytes = (size_t)(frame[38] << 8 | frame[39]) - 8;
  if (sendto(udp, frame + 42, bytes, 0, (struct sockaddr *)&client, sizeof client) < 0) fail("sendto");
}

size_t device_stats(char *to, size_t size) {
  size_t n = stat_line(to, size, "device_host", 1);
  if (accel_there) n += unit_stats(to + n, size - n);
  return n;
}

static void sum(uint8_t *to, const uint8_t *from, size_t words) {
  uint32_t s = 0;
  for (size_t n = 0; n < words; ++n) s += (uint32_t)(from[2 * n] << 8 | from[2 * n + 1]);
  s = (s & 0xFFFF) + (s >> 16);
  s += s >> 16;
  to[0] = (uint8_t)(~s >> 8), to[1] = (uint8_t)~s;
}

/// A datagram as its frame, without UDP's checksum.
static size_t wrap(uint8_t *frame, size_t bytes) {
  memset(frame, 0, 42);
  memcpy(frame, frame_addresses.mac, 6);
  frame[6] = 2;
  frame[12] = 8;
  uint8_t *ip = frame + 14;
  ip[0] = 0x45, ip[8] = 64, ip[9] = 17;
  ip[2] = (uint8_t)((bytes + 28) >> 8), ip[3] = (uint8_t)(bytes + 28);
  memcpy(ip + 12, client_ip, 4);
  memcpy(ip + 16, frame_addresses.ip, 4);
  sum(ip + 10, ip, 10);
  memcpy(ip + 20, &client.sin_port, 2);
  ip[22] = (uint8_t)(frame_addresses.port >> 8), ip[23] = (uint8_t)frame_addresses.port;
  ip[24] = (uint8_t)((bytes + 8) >> 8), ip[25] = (uint8_t)(bytes + 8);
  return bytes + 42;
}

int main(int argc, char **argv) {
  const char *seed = argc > 2 && strcmp(argv[1], "-a") == 0 ? argv[2] : NULL;
  if (seed) argc -= 2, argv += 2;
  if (argc != 2 && argc != 3) {
    fprintf(stderr, "usage: firmware [-a SEED] MEGABYTES [PORT]\n");
    return 2;
  }
  const size_t bytes = (size_t)strtoul(argv[1], NULL, 10) << 20;
  void *memory = bytes ? malloc(bytes) : NULL;
  if (!memory) fail("memory");
  store_init(memory, bytes, 1);
  if (seed) {
    unit_init((uint32_t)strtoul(seed, NULL, 10));
    accel_start();
    policy_start();
  }
  frame_addresses = (struct addresses){{2, 0x57, 0x4B, 0x56, 0, 2}, {10, 77, 0, 2}, 11211};
  // Of a frame's own size, so that the address sanitizer sees what is read behind it.
  if (argc == 2) {
    uint8_t head[2];
    while (fread(head, 1, 2, stdin) == 2) {
      const size_t length = (size_t)(head[1] << 8 | head[0]);
      if (length == 0) {
        stands += (uint32_t)(int8_t)getchar();
        continue;
      }
      uint8_t *frame = malloc(length < FRAME_SHORTEST ? FRAME_SHORTEST : length);
      if (!frame || fread(frame, 1, length, stdin) != length) fail("read");
      take(frame, length);
      free(frame);
    }
    return fflush(stdout) == 0 ? 0 : 1;
  }
  udp = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2])),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (udp < 0 || bind(udp, (struct sockaddr *)&here, sizeof here) < 0) fail("bind");
  puts("listening");
  fflush(stdout);
  for (;;) {
    static _Alignas(4) uint8_t frame[65536];
    socklen_t size = sizeof client;
    const ssize_t got = recvfrom(udp, frame + 42, sizeof frame - 42, 0, (struct sockaddr *)&client, &size);
    if (got < 0) fail("recvfrom");
    uint8_t *copy = malloc((size_t)got + 60);
    if (!copy) fail("memory");
    const size_t length = wrap(frame, (size_t)got);
    memcpy(copy, frame, length);
    take(copy, length);
    free(copy);
  }
}
