// Runs the Verilated machine: loads its program, moves frames, listens to its console.
#include "machine.h"

#include <memory>
#include <string>
#include <vector>

#include "Vmachine_top.h"
#include "streams.h"
#include "verilated.h"

using namespace wirekv;

namespace {
// idle_o does not look at the link, which is quiet so many clocks behind it.
constexpr unsigned QuietClocks = 64;
}  // namespace

struct wk_machine {
  explicit wk_machine(const wk_machine_config& c)
      : context(new VerilatedContext), top(new Vmachine_top(context.get(), "machine")), source(c.wire_rate),
        sink(c.wire_rate) {
    source.log_to(&inputs);
    // {mac, ip, port, pio}, 97 bits.
    unsigned __int128 cfg = 0;
    for (unsigned n = 0; n < 6; ++n) cfg = cfg << 8 | c.mac[n];
    for (unsigned n = 0; n < 4; ++n) cfg = cfg << 8 | c.ip[n];
    cfg = (cfg << 16 | c.port) << 1 | (c.pio != 0);
    for (unsigned n = 0; n < 4; ++n) top->cfg_i[n] = uint32_t(cfg >> 32 * n);
    top->aside_i = c.aside != 0;
    memcpy(&top->nh_key_i[0], c.nh_key, sizeof c.nh_key);
    memcpy(&top->mix_key_i[0], c.mix_key, sizeof c.mix_key);
    top->rst_ni = 0;
    for (unsigned n = 0; n < 16; ++n) step();
    top->rst_ni = 1;
    for (size_t at = 0; at < c.program_bytes; at += 64) {
      uint8_t line[64] = {};
      memcpy(line, c.program + at, c.program_bytes - at < 64 ? c.program_bytes - at : 64);
      memcpy(&top->load_data_i[0], line, 64);
      top->load_addr_i = uint32_t(at / 64);
      top->load_valid_i = 1;
      step();
    }
    top->load_valid_i = 0;
    top->run_i = 1;
  }
  ~wk_machine() {
    // The thread may have made another machine meanwhile; the model looks for its own context there.
    Verilated::threadContextp(context.get());
    top->final();
  }

  void step() {
    Vmachine_top& t = *top;
    source.drive(now, t.s_axis_rx_tdata, t.s_axis_rx_tkeep, t.s_axis_rx_tvalid, t.s_axis_rx_tlast);
    t.m_axis_tx_tready = sink.ready(now);
    t.clk_i = 0;
    t.clk_aside_i = 0;
    t.eval();
#ifdef WK_ASSERT
    context->timeInc(1);  // assertions hold from time 1 on
#endif
    if (t.s_axis_rx_tvalid) source.taken(now);
    if (t.m_axis_tx_tvalid && t.m_axis_tx_tready) sink.take(now, t.m_axis_tx_tdata, t.m_axis_tx_tkeep, t.m_axis_tx_tlast);
    if (t.console_valid_o) console.push_back(char(t.console_o));
    quiet = t.idle_o && !t.s_axis_rx_tvalid ? quiet + 1 : 0;
    // The cache is most of the model. Its clock stands while it is idle.
    aside_quiet = t.aside_idle_o ? aside_quiet + 1 : 0;
    t.clk_i = 1;
    t.clk_aside_i = aside_quiet <= QuietClocks;
    t.eval();
    ++now;
  }

  bool idle() const { return quiet >= QuietClocks && source.empty(); }

  std::unique_ptr<VerilatedContext> context;  // the top's, so it ends behind it
  std::unique_ptr<Vmachine_top> top;
  Source source;
  Sink sink;
  std::vector<Stamp> inputs;
  std::string console;
  uint64_t now = 0;
  unsigned quiet = 0, aside_quiet = 0;
};

wk_machine* wk_machine_new(const wk_machine_config* config) { return new wk_machine(*config); }
void wk_machine_free(wk_machine* m) { delete m; }

void wk_machine_push(wk_machine* m, uint64_t id, const uint8_t* bytes, uint32_t len, uint64_t not_before) {
  m->source.push(id, bytes, len, not_before);
}
size_t wk_machine_backlog(const wk_machine* m) { return m->source.bytes(); }

uint64_t wk_machine_run(wk_machine* m, uint64_t clocks, int until_output) {
  const uint64_t start = m->now;
  const size_t had = m->sink.complete();
  while (m->now - start < clocks && !m->idle()) {
    m->step();
    if (until_output && m->sink.complete() != had) break;
  }
  return m->now - start;
}

const uint8_t* wk_machine_output(const wk_machine* m, size_t* bytes) {
  *bytes = m->sink.complete();
  return m->sink.data();
}
void wk_machine_clear_output(wk_machine* m) { m->sink.clear(); }

const uint8_t* wk_machine_input_log(const wk_machine* m, size_t* bytes) {
  *bytes = m->inputs.size() * sizeof(Stamp);
  return reinterpret_cast<const uint8_t*>(m->inputs.data());
}
void wk_machine_clear_input_log(wk_machine* m) { m->inputs.clear(); }

const char* wk_machine_console(const wk_machine* m, size_t* bytes) {
  *bytes = m->console.size();
  return m->console.data();
}
void wk_machine_clear_console(wk_machine* m) { m->console.clear(); }

void wk_machine_restart(wk_machine* m) {
  m->top->run_i = 0;
  m->step();
  m->top->run_i = 1;
  m->quiet = 0;  // the core has something to do
}

void wk_machine_set_time(wk_machine* m, uint32_t unix_time) { m->top->time_i = unix_time; }
uint64_t wk_machine_clock(const wk_machine* m) { return m->now; }
int wk_machine_idle(const wk_machine* m) { return m->idle(); }
uint32_t wk_machine_restarts(const wk_machine* m) { return m->top->restarts_o; }
uint32_t wk_machine_dropped(const wk_machine* m) { return m->top->dropped_o; }
uint32_t wk_machine_answered(const wk_machine* m) { return m->top->answered_o; }
