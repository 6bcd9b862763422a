// Runs the Verilated card: its clock, its memory, its streams and its registers.
#include "sim.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vcard.h"
#include "axi_ports.h"
#include "streams.h"
#include "verilated.h"
#ifdef WK_TRACE
#include "verilated_fst_c.h"
#endif
#ifdef WK_SAIF
#include "verilated_saif_c.h"
#endif

using namespace wirekv;

namespace {

constexpr unsigned MemPorts = WK_MEMORY_PORTS;
// idle_o may come from registers, a few clocks behind the port it speaks of.
constexpr unsigned QuietClocks = 8;
constexpr unsigned CsrPatience = 100000;

}  // namespace

struct wk_sim {
  explicit wk_sim(const wk_config& c)
      : memory(c.memory_bytes, c.garbage != 0),
        mem(memory, MemPorts, c.mem_latency, c.mem_jitter, c.seed, c.mem_ways, c.mem_ecc != 0),
        wire_waits(c.wire_waits != 0),
        sources{Source(c.wire_rate), Source(0), Source(0)},
        sinks{Sink(c.wire_rate), Sink(0), Sink(0)} {
    context.reset(new VerilatedContext);
#if defined(WK_TRACE) || defined(WK_SAIF)
    context->traceEverOn(true);
#endif
    top.reset(new Vcard(context.get(), "card"));
#ifdef WK_TRACE
    if (c.trace_file) {
      trace.reset(new VerilatedFstC);
      top->trace(trace.get(), 99);
      trace->open(c.trace_file);
      if (!trace->isOpen()) throw std::runtime_error(std::string("cannot write ") + c.trace_file);
    }
#else
    if (c.trace_file)
      throw std::runtime_error("this build cannot write waves; build it with --features trace");
#endif
    top->s_axil_bready = 1;
    top->s_axil_rready = 1;
    top->m_axi_rlast = (1u << MemPorts) - 1;
    top->rst_ni = 0;
    for (unsigned n = 0; n < 16; ++n) {
      top->clk_i = 0;
      top->eval();
      dump(0);
      top->clk_i = 1;
      top->eval();
      dump(2);
      ++now;
    }
    top->rst_ni = 1;
  }

  ~wk_sim() {
#ifdef WK_TRACE
    if (trace) trace->close();
#endif
    top->final();
  }

  /// One clock: drive, let it settle, see which handshakes take place, clock edge.
  void step() {
    Vcard& t = *top;
    sources[WK_WIRE].drive(now, t.s_axis_rx_tdata, t.s_axis_rx_tkeep, t.s_axis_rx_tvalid,
                           t.s_axis_rx_tlast, !wire_waits || t.rx_room_o);
    sources[WK_HOST].drive(now, t.s_axis_host_tdata, t.s_axis_host_tkeep, t.s_axis_host_tvalid,
                           t.s_axis_host_tlast);
    sources[WK_EXC].drive(now, t.s_axis_exc_tdata, t.s_axis_exc_tkeep, t.s_axis_exc_tvalid,
                          t.s_axis_exc_tlast);
    t.m_axis_tx_tready = sinks[WK_WIRE].ready(now);
    t.m_axis_host_tready = 1;
    t.m_axis_exc_tready = 1;
    t.tick_i = tick;
    tick = false;
    mem.drive(t, now);
    t.m_axi_bresp = mem.bresp();

    t.clk_i = 0;
    t.eval();
    dump(0);
#ifdef WK_SAIF
    // What the edge is about to see: each signal has one value a clock.
    if (toggles) toggles->dump(now - counted_from);
#endif
#ifdef WK_ASSERT
    context->timeInc(1);  // assertions hold from time 1 on
#endif

    const bool memory_quiet = mem.sample(t, now);
    const bool still = t.idle_o && memory_quiet && !t.s_axis_rx_tvalid && !t.s_axis_host_tvalid &&
                       !t.s_axis_exc_tvalid && !t.tick_i;
    quiet = still ? quiet + 1 : 0;
    if (t.s_axis_rx_tvalid && t.s_axis_rx_tready) sources[WK_WIRE].taken(now);
    if (t.s_axis_host_tvalid && t.s_axis_host_tready) sources[WK_HOST].taken(now);
    if (t.s_axis_exc_tvalid && t.s_axis_exc_tready) sources[WK_EXC].taken(now);
    if (t.m_axis_tx_tvalid && t.m_axis_tx_tready)
      sinks[WK_WIRE].take(now, t.m_axis_tx_tdata, t.m_axis_tx_tkeep, t.m_axis_tx_tlast);
    if (t.m_axis_host_tvalid)
      sinks[WK_HOST].take(now, t.m_axis_host_tdata, t.m_axis_host_tkeep, t.m_axis_host_tlast);
    if (t.m_axis_exc_tvalid)
      sinks[WK_EXC].take(now, t.m_axis_exc_tdata, t.m_axis_exc_tkeep, t.m_axis_exc_tlast);
    const bool aw = t.s_axil_awvalid && t.s_axil_awready, w = t.s_axil_wvalid && t.s_axil_wready,
               ar = t.s_axil_arvalid && t.s_axil_arready, b = t.s_axil_bvalid, r = t.s_axil_rvalid;
    if (r) csr_value = t.s_axil_rdata;

    t.clk_i = 1;
    t.eval();
    dump(2);
    ++now;

    // Inputs change after the edge, or they would change what the edge sees.
    if (aw) t.s_axil_awvalid = 0;
    if (w) t.s_axil_wvalid = 0;
    if (ar) t.s_axil_arvalid = 0;
    if (b || r) {
      csr_pending = false;
      quiet = 0;
    }
  }

  /// Runs until the register access on the port is answered.
  bool csr_access() {
    csr_pending = true;
    for (unsigned n = 0; n < CsrPatience && csr_pending; ++n) step();
    return !csr_pending;
  }

  bool idle() const {
    return quiet >= QuietClocks && !tick && sources[WK_WIRE].empty() && sources[WK_HOST].empty() &&
           sources[WK_EXC].empty();
  }

  bool may_stop() const {
#ifdef WK_SAIF
    if (toggles) return false;
#endif
    return idle();
  }

  bool output() const {
    return sinks[WK_WIRE].complete() || sinks[WK_HOST].complete() || sinks[WK_EXC].complete();
  }

  void dump(uint64_t ns) {
#ifdef WK_TRACE
    if (trace) trace->dump(4 * now + ns);  // as if at 250 MHz
#else
    (void)ns;
#endif
  }

  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vcard> top;
#ifdef WK_TRACE
  std::unique_ptr<VerilatedFstC> trace;
#endif
#ifdef WK_SAIF
  std::unique_ptr<VerilatedSaifC> toggles;
  uint64_t counted_from = 0;
#endif
  Memory memory;
  AxiPorts mem;
  const bool wire_waits;
  Source sources[WK_PORTS];
  Sink sinks[WK_PORTS];
  std::vector<Stamp> input_log;
  uint64_t now = 0;
  unsigned quiet = 0;  // clocks without anything under way
  bool tick = false;
  bool csr_pending = false;
  uint32_t csr_value = 0;
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
  const uint64_t start = s->now;
  while (s->now - start < clocks && !s->may_stop()) {
    s->step();
    if (until_output && s->output()) break;
  }
  return s->now - start;
}

const uint8_t* wk_output(const wk_sim* s, uint32_t port, size_t* bytes) {
  *bytes = s->sinks[port].complete();
  return s->sinks[port].data();
}

void wk_clear_output(wk_sim* s, uint32_t port) { s->sinks[port].clear(); }

void wk_tick(wk_sim* s) { s->tick = true; }

int wk_csr_read(wk_sim* s, uint32_t addr, uint32_t* value) {
  s->top->s_axil_araddr = addr;
  s->top->s_axil_arvalid = 1;
  if (!s->csr_access()) return -1;
  *value = s->csr_value;
  return 0;
}

int wk_csr_write(wk_sim* s, uint32_t addr, uint32_t value) {
  Vcard& t = *s->top;
  t.s_axil_awaddr = addr;
  t.s_axil_awvalid = 1;
  t.s_axil_wdata = value;
  t.s_axil_wstrb = 15;
  t.s_axil_wvalid = 1;
  return s->csr_access() ? 0 : -1;
}

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
  for (unsigned p = 0; p < MemPorts; ++p) {
    lines[2 * p] = s->mem.port(p).moved().read;
    lines[2 * p + 1] = s->mem.port(p).moved().written;
  }
}

void wk_toggles(wk_sim* s, const char* file) {
#ifdef WK_SAIF
  s->toggles.reset();  // writes its file
  if (!file) return;
  // One that is opened again would not know the signals that do not change.
  s->toggles.reset(new VerilatedSaifC);
  s->counted_from = s->now;
  s->top->trace(s->toggles.get(), 99);
  s->toggles->open(file);
#else
  (void)s, (void)file;
#endif
}

void wk_refuse(wk_sim* s, uint64_t addr, uint64_t bytes) { s->memory.refuse(addr, bytes); }
uint8_t* wk_memory(wk_sim* s, uint64_t addr, uint64_t bytes) {
  if (addr > s->memory.bytes() || bytes > s->memory.bytes() - addr) return nullptr;
  return bytes == 0 ? nullptr : s->memory.range(addr, bytes);
}
