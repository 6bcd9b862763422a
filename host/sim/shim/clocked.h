// What every Verilated top with a card in it needs: clock, reset, waves, the card's memory, registers.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "axi_ports.h"
#include "sim.h"
#include "verilated.h"
#ifdef WK_TRACE
#include "verilated_fst_c.h"
#endif
#ifdef WK_SAIF
#include "verilated_saif_c.h"
#endif

namespace wirekv {

/// What surrounds the card, whichever way its frames go.
struct Surroundings {
  uint64_t memory_bytes;
  bool garbage;
  uint32_t mem_latency, mem_jitter, mem_ways;
  bool mem_ecc;
  uint64_t seed;
  const char* trace_file;
};

/// Pins of an AXI4-Lite port of 12 address bits.
struct Axil {
  SData &awaddr, &araddr;
  IData& wdata;
  CData &awvalid, &wvalid, &wstrb, &bready, &arvalid, &rready;
  const IData& rdata;
  const CData &awready, &wready, &bvalid, &arready, &rvalid;
};
/// Those whose names begin with `prefix`.
#define WK_AXIL(top, prefix)                                                                   \
  wirekv::Axil {                                                                               \
    (top).prefix##_awaddr, (top).prefix##_araddr, (top).prefix##_wdata, (top).prefix##_awvalid, \
        (top).prefix##_wvalid, (top).prefix##_wstrb, (top).prefix##_bready,                    \
        (top).prefix##_arvalid, (top).prefix##_rready, (top).prefix##_rdata,                   \
        (top).prefix##_awready, (top).prefix##_wready, (top).prefix##_bvalid,                  \
        (top).prefix##_arready, (top).prefix##_rvalid                                          \
  }

/// `Self` adds what frames need: `drive` puts its inputs on the top's pins; `sample` sees which handshakes take place, and says
/// whether there was none and nothing of its own is under way; `empty` says whether nothing of it waits.
template <typename Top, typename Self>
class Clocked {
 public:
  Clocked(const Surroundings& c, const char* name, unsigned quiet_clocks)
      : memory(c.memory_bytes, c.garbage),
        mem(memory, MemPorts, c.mem_latency, c.mem_jitter, c.seed, c.mem_ways, c.mem_ecc),
        quiet_clocks_(quiet_clocks) {
    context_.reset(new VerilatedContext);
#if defined(WK_TRACE) || defined(WK_SAIF)
    context_->traceEverOn(true);
#endif
    top.reset(new Top(context_.get(), name));
#ifdef WK_TRACE
    if (c.trace_file) {
      trace_.reset(new VerilatedFstC);
      top->trace(trace_.get(), 99);
      trace_->open(c.trace_file);
      if (!trace_->isOpen()) throw std::runtime_error(std::string("cannot write ") + c.trace_file);
    }
#else
    if (c.trace_file)
      throw std::runtime_error("this build cannot write waves; build it with --features trace");
#endif
    top->m_axi_rlast = (1u << MemPorts) - 1;
  }

  ~Clocked() {
#ifdef WK_TRACE
    if (trace_) trace_->close();
#endif
    // The thread may have made another model meanwhile; this one looks for its own context there.
    Verilated::threadContextp(context_.get());
    top->final();
  }

  /// To be called once the other inputs of the top are set.
  void reset() {
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

  /// One clock: drive, let it settle, see which handshakes take place, clock edge.
  void step() {
    Top& t = *top;
    Self& self = static_cast<Self&>(*this);
    self.drive(t);
    t.tick_i = tick;
    tick = false;
    mem.drive(t, now);
    t.m_axi_bresp = mem.bresp();

    t.clk_i = 0;
    t.eval();
    dump(0);
#ifdef WK_SAIF
    // What the edge is about to see: each signal has one value a clock.
    if (toggles_) toggles_->dump(now - counted_from_);
#endif
#ifdef WK_ASSERT
    context_->timeInc(1);  // assertions hold from time 1 on
#endif

    const bool memory_quiet = mem.sample(t, now);
    const bool others_quiet = self.sample(t);
    quiet_ = t.idle_o && memory_quiet && others_quiet && !t.tick_i ? quiet_ + 1 : 0;
    const Axil* p = pending_;
    const bool aw = p && p->awvalid && p->awready, w = p && p->wvalid && p->wready,
               ar = p && p->arvalid && p->arready, b = p && p->bvalid, r = p && p->rvalid;
    if (r) csr_value = p->rdata;

    t.clk_i = 1;
    t.eval();
    dump(2);
    ++now;

    // Inputs change after the edge, or they would change what the edge sees.
    if (aw) p->awvalid = 0;
    if (w) p->wvalid = 0;
    if (ar) p->arvalid = 0;
    if (b || r) {
      pending_ = nullptr;
      quiet_ = 0;
    }
  }

  /// Runs at most `clocks` clocks, until all is idle, or `stop` says so behind one.
  template <typename Stop>
  uint64_t run(uint64_t clocks, Stop stop) {
    const uint64_t start = now;
    while (now - start < clocks && !may_stop()) {
      step();
      if (stop()) break;
    }
    return now - start;
  }

  // Register accesses run the clock until they are answered. 0: answered.
  int read(const Axil& port, uint32_t addr, uint32_t* value) {
    port.araddr = addr;
    port.arvalid = 1;
    if (!access(port)) return -1;
    *value = csr_value;
    return 0;
  }
  int write(const Axil& port, uint32_t addr, uint32_t value) {
    port.awaddr = addr;
    port.awvalid = 1;
    port.wdata = value;
    port.wstrb = 15;
    port.wvalid = 1;
    return access(port) ? 0 : -1;
  }

  bool idle() const {
    return quiet_ >= quiet_clocks_ && !tick && static_cast<const Self&>(*this).empty();
  }

  /// Toggles from now on go to `file`, and those before to theirs; null: none are counted.
  void count_toggles(const char* file) {
#ifdef WK_SAIF
    toggles_.reset();  // writes its file
    if (!file) return;
    // One that is opened again would not know the signals that do not change.
    toggles_.reset(new VerilatedSaifC);
    counted_from_ = now;
    top->trace(toggles_.get(), 99);
    toggles_->open(file);
#else
    (void)file;
#endif
  }

  std::unique_ptr<VerilatedContext> context_;  // the top's, so it ends behind it
  std::unique_ptr<Top> top;
  Memory memory;
  AxiPorts mem;
  uint64_t now = 0;
  bool tick = false;

 private:
  static constexpr unsigned MemPorts = WK_MEMORY_PORTS;
  static constexpr unsigned CsrPatience = 100000;

  bool may_stop() const {
#ifdef WK_SAIF
    if (toggles_) return false;
#endif
    return idle();
  }

  bool access(const Axil& port) {
    port.bready = port.rready = 1;
    pending_ = &port;
    for (unsigned n = 0; n < CsrPatience && pending_; ++n) step();
    const bool answered = !pending_;
    pending_ = nullptr;
    return answered;
  }

  void dump(uint64_t ns) {
#ifdef WK_TRACE
    if (trace_) trace_->dump(4 * now + ns);  // as if at 250 MHz
#else
    (void)ns;
#endif
  }

#ifdef WK_TRACE
  std::unique_ptr<VerilatedFstC> trace_;
#endif
#ifdef WK_SAIF
  std::unique_ptr<VerilatedSaifC> toggles_;
  uint64_t counted_from_ = 0;
#endif
  const unsigned quiet_clocks_;  // clocks without anything under way, until it counts as idle
  unsigned quiet_ = 0;
  const Axil* pending_ = nullptr;  // the port with a register access
  uint32_t csr_value = 0;
};

}  // namespace wirekv
