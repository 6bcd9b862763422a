// Runs the Verilated card: its streams beside what clocked.h has.
#include "sim.h"

#include <cstdio>
#include <vector>

#include "Vcard.h"
#include "clocked.h"
#include "streams.h"

using namespace wirekv;

namespace {

// idle_o may come from registers, a few clocks behind the port it speaks of.
constexpr unsigned QuietClocks = 8;

Surroundings surroundings(const wk_config& c) {
  return {c.memory_bytes, c.garbage != 0, c.mem_latency, c.mem_jitter,
          c.mem_ways,     c.mem_ecc != 0, c.seed,        c.trace_file};
}

}  // namespace

struct wk_sim : Clocked<Vcard, wk_sim> {
  explicit wk_sim(const wk_config& c)
      : Clocked(surroundings(c), "card", QuietClocks),
        axil(WK_AXIL(*top, s_axil)),
        wire_waits(c.wire_waits != 0),
        sources{Source(c.wire_rate), Source(0), Source(0)},
        sinks{Sink(c.wire_rate), Sink(0), Sink(0)} {
    reset();
  }

  void drive(Vcard& t) {
    sources[WK_WIRE].drive(now, t.s_axis_rx_tdata, t.s_axis_rx_tkeep, t.s_axis_rx_tvalid,
                           t.s_axis_rx_tlast, !wire_waits || (t.rx_room_o && t.rx_syn_room_o));
    sources[WK_HOST].drive(now, t.s_axis_host_tdata, t.s_axis_host_tkeep, t.s_axis_host_tvalid,
                           t.s_axis_host_tlast);
    sources[WK_EXC].drive(now, t.s_axis_exc_tdata, t.s_axis_exc_tkeep, t.s_axis_exc_tvalid,
                          t.s_axis_exc_tlast);
    t.m_axis_tx_tready = sinks[WK_WIRE].ready(now);
    t.m_axis_host_tready = 1;
    t.m_axis_exc_tready = 1;
  }

  bool sample(Vcard& t) {
    if (t.s_axis_rx_tvalid && t.s_axis_rx_tready) sources[WK_WIRE].taken(now);
    if (t.s_axis_host_tvalid && t.s_axis_host_tready) sources[WK_HOST].taken(now);
    if (t.s_axis_exc_tvalid && t.s_axis_exc_tready) sources[WK_EXC].taken(now);
    if (t.m_axis_tx_tvalid && t.m_axis_tx_tready)
      sinks[WK_WIRE].take(now, t.m_axis_tx_tdata, t.m_axis_tx_tkeep, t.m_axis_tx_tlast);
    if (t.m_axis_host_tvalid)
      sinks[WK_HOST].take(now, t.m_axis_host_tdata, t.m_axis_host_tkeep, t.m_axis_host_tlast);
    if (t.m_axis_exc_tvalid)
      sinks[WK_EXC].take(now, t.m_axis_exc_tdata, t.m_axis_exc_tkeep, t.m_axis_exc_tlast);
    return !t.s_axis_rx_tvalid && !t.s_axis_host_tvalid && !t.s_axis_exc_tvalid;
  }

  bool empty() const {
    return sources[WK_WIRE].empty() && sources[WK_HOST].empty() && sources[WK_EXC].empty();
  }

  bool output() const {
    return sinks[WK_WIRE].complete() || sinks[WK_HOST].complete() || sinks[WK_EXC].complete();
  }

  const Axil axil;
  const bool wire_waits;
  Source sources[WK_PORTS];
  Sink sinks[WK_PORTS];
  std::vector<Stamp> input_log;
};

wk_sim* wk_new(const wk_config* config, char* error, size_t error_size) try {
  return new wk_sim(*config);
} catch (const std::exception& e) {
  snprintf(error, error_size, "%s", e.what());
  return nullptr;
}

void wk_free(wk_sim* s) { delete s; }

void wk_push(wk_sim* s, uint32_t port, uint64_t id, const uint8_t* bytes, uint32_t len,
             uint64_t not_before) {
  s->sources[port].push(id, bytes, len, not_before);
}

size_t wk_backlog(const wk_sim* s, uint32_t port) { return s->sources[port].bytes(); }

uint64_t wk_run(wk_sim* s, uint64_t clocks, int until_output) {
  return s->run(clocks, [=] { return until_output && s->output(); });
}

const uint8_t* wk_output(const wk_sim* s, uint32_t port, size_t* bytes) {
  *bytes = s->sinks[port].complete();
  return s->sinks[port].data();
}

void wk_clear_output(wk_sim* s, uint32_t port) { s->sinks[port].clear(); }

void wk_tick(wk_sim* s) { s->tick = true; }

int wk_csr_read(wk_sim* s, uint32_t addr, uint32_t* value) {
  return s->read(s->axil, addr, value);
}

int wk_csr_write(wk_sim* s, uint32_t addr, uint32_t value) { return s->write(s->axil, addr, value); }

uint64_t wk_clock(const wk_sim* s) { return s->now; }
int wk_idle(const wk_sim* s) { return s->idle(); }
int wk_timers(const wk_sim* s) { return s->top->timers_o; }
int wk_short_timers(const wk_sim* s) { return s->top->short_o; }

void wk_log_inputs(wk_sim* s, int on) { s->sources[WK_WIRE].log_to(on ? &s->input_log : nullptr); }

const uint8_t* wk_input_log(const wk_sim* s, size_t* bytes) {
  *bytes = s->input_log.size() * sizeof(Stamp);
  return reinterpret_cast<const uint8_t*>(s->input_log.data());
}

void wk_clear_input_log(wk_sim* s) { s->input_log.clear(); }

void wk_memory_lines(const wk_sim* s, uint64_t lines[2 * WK_MEMORY_PORTS]) {
  s->mem.moved(lines);
}

void wk_toggles(wk_sim* s, const char* file) { s->count_toggles(file); }

void wk_refuse(wk_sim* s, uint64_t addr, uint64_t bytes) { s->memory.refuse(addr, bytes); }
uint8_t* wk_memory(wk_sim* s, uint64_t addr, uint64_t bytes) {
  if (addr > s->memory.bytes() || bytes > s->memory.bytes() - addr) return nullptr;
  return bytes == 0 ? nullptr : s->memory.range(addr, bytes);
}
