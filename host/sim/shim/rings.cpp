// Runs the Verilated card with its link: host memory beside what clocked.h has.
#include "rings.h"

#include <cstdio>

#include "Vrings.h"
#include "clocked.h"
#include "host_memory.h"
#include "streams.h"

using namespace wirekv;

namespace {

constexpr unsigned ResetPatience = 100000;
constexpr unsigned Wire = 0;

/// Holds a stream to a wire's pace: when a frame may begin, by the beats that passed.
class Gate {
 public:
  explicit Gate(double bytes_per_clock) : pace_(bytes_per_clock) {}
  bool go(uint64_t now) const { return beats_ != 0 || pace_.free(now); }
  void see(uint64_t now, bool passes, bool last, uint64_t keep) {
    if (!passes) return;
    ++beats_;
    if (!last) return;
    pace_.started(now - (beats_ - 1), 64 * (beats_ - 1) + uint64_t(__builtin_popcountll(keep)));
    beats_ = 0;
  }

 private:
  Pace pace_;
  uint64_t beats_ = 0;
};

Surroundings surroundings(const wk_rings_config& c) {
  return {c.memory_bytes, c.garbage != 0, c.mem_latency, c.mem_jitter,
          c.mem_ways,     c.mem_ecc != 0, c.seed,        c.trace_file};
}

HostMemoryConfig host_memory(const wk_rings_config& c) {
  return {c.host_bytes,        c.host_physical, c.host_size, c.host_latency, c.host_jitter,
          c.host_shuffle != 0, c.seed,          c.refuse,    c.refuse_from,  c.refuse_to};
}

}  // namespace

struct wk_rings : Clocked<Vrings, wk_rings> {
  explicit wk_rings(const wk_rings_config& c)
      : Clocked(surroundings(c), "card_link", c.quiet_clocks),
        card(WK_AXIL(*top, s_axil)),
        link(WK_AXIL(*top, s_link)),
        host(host_memory(c)),
        rx(c.wire_rate),
        tx(c.wire_rate) {
    host.status(c.status_from, c.status_to);
    reset();
  }

  void drive(Vrings& t) {
    host.drive(t, now);
    t.rx_go_i = rx.go(now);
    t.tx_go_i = tx.go(now);
  }

  bool sample(Vrings& t) {
    const unsigned down = t.down_valid_o & t.down_ready_o, up = t.up_valid_o & t.up_ready_o;
    rx.see(now, down >> Wire & 1, t.down_last_o >> Wire & 1, t.down_keep_o);
    tx.see(now, up >> Wire & 1, t.up_last_o >> Wire & 1, t.up_keep_o);
    return host.sample(t, now) && t.down_valid_o == 0 && t.up_valid_o == 0;
  }

  bool empty() const { return true; }

  const Axil card, link;
  HostMemory host;
  Gate rx, tx;
};

wk_rings* wk_rings_new(const wk_rings_config* config, char* error, size_t error_size) try {
  return new wk_rings(*config);
} catch (const std::exception& e) {
  snprintf(error, error_size, "%s", e.what());
  return nullptr;
}

void wk_rings_free(wk_rings* s) { delete s; }

uint64_t wk_rings_run(wk_rings* s, uint64_t clocks, int while_busy, int until_told) {
  const uint64_t told = s->host.told(), start = s->now;
  const auto stop = [=] { return until_told && s->host.told() != told; };
  if (while_busy) return s->run(clocks, stop);
  while (s->now - start < clocks) {
    s->step();
    if (stop()) break;
  }
  return s->now - start;
}

void wk_rings_tick(wk_rings* s) { s->tick = true; }

int wk_rings_read(wk_rings* s, int link, uint32_t addr, uint32_t* value) {
  return s->read(link ? s->link : s->card, addr, value);
}

int wk_rings_write(wk_rings* s, int link, uint32_t addr, uint32_t value) {
  return s->write(link ? s->link : s->card, addr, value);
}

int wk_rings_reset(wk_rings* s) {
  s->top->flr_assert_i = 1;
  unsigned n = 0;
  while (!s->top->flr_done_o && n++ < ResetPatience) s->step();
  s->top->flr_assert_i = 0;
  while (s->top->flr_done_o && n++ < ResetPatience) s->step();
  return n < ResetPatience ? 0 : -1;
}

uint64_t wk_rings_clock(const wk_rings* s) { return s->now; }
int wk_rings_idle(const wk_rings* s) { return s->idle(); }
int wk_rings_timers(const wk_rings* s) { return s->top->timers_o; }
int wk_rings_short_timers(const wk_rings* s) { return s->top->short_o; }

const char* wk_rings_failure(const wk_rings* s) {
  return s->host.failure().empty() ? nullptr : s->host.failure().c_str();
}

void wk_rings_memory_lines(const wk_rings* s, uint64_t lines[2 * WK_MEMORY_PORTS]) {
  s->mem.moved(lines);
}

uint8_t* wk_rings_memory(wk_rings* s, uint64_t addr, uint64_t bytes) {
  if (addr > s->memory.bytes() || bytes > s->memory.bytes() - addr) return nullptr;
  return bytes == 0 ? nullptr : s->memory.range(addr, bytes);
}
