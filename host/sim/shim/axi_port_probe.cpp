// Lets the crate's unit tests clock one memory port without a card.
#include "axi_port.h"

using namespace wirekv;

struct wk_probe {
  wk_probe(uint32_t latency, uint32_t jitter, uint64_t seed)
      : memory(4096), port(memory, latency, jitter, seed) {}
  Memory memory;
  AxiPort port;
};

extern "C" {

wk_probe* wk_probe_new(uint32_t latency, uint32_t jitter, uint64_t seed) {
  return new wk_probe(latency, jitter, seed);
}
void wk_probe_free(wk_probe* p) { delete p; }

/// One clock with both answers taken. Ask for a read and a write by address, < 0 for none.
/// The answer: bit 0 read answered (`value` = its first byte), bit 1 write answered.
int wk_probe_clock(wk_probe* p, uint64_t now, int64_t read, int64_t write, uint8_t byte,
                   uint64_t strb, uint8_t* value) {
  int answers = 0;
  p->port.begin(now);
  if (p->port.rvalid()) {
    *value = p->port.rdata()[0];
    p->port.take_r();
    answers |= 1;
  }
  if (p->port.bvalid()) {
    p->port.take_b();
    answers |= 2;
  }
  if (read >= 0 && p->port.arready()) p->port.take_ar(now, static_cast<uint64_t>(read));
  if (write >= 0 && p->port.awready() && p->port.wready()) {
    uint8_t line[LineBytes];
    memset(line, byte, LineBytes);
    p->port.take_aw(now, static_cast<uint64_t>(write));
    p->port.take_w(now, line, strb);
  }
  return answers;
}

/// Lines that have crossed the port: read, written.
void wk_probe_lines(const wk_probe* p, uint64_t lines[2]) {
  lines[0] = p->port.moved().read;
  lines[1] = p->port.moved().written;
}
}
