// Lets Python drive the Verilated model: the address and size of each port, and a clock.
#include <cstring>
#include "Vstore_tb.h"
#include "Vstore_tb___024root.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE
#include "verilated_vcd_c.h"
static VerilatedVcdC* trace;
#endif

static VerilatedContext* context;
static Vstore_tb* top;

#define PORTS(X) \
  X(now_i) X(nh_key_i) X(mix_key_i) X(enable_i) X(index_bits_i) X(one_way_i) X(upstream_i) X(log_lines_i) X(item_max_i) X(latency_i) X(jitter_i) X(pause_i) X(tick_i) X(timer_o) X(late_o) X(bad_reads_i) X(bad_writes_i) \
  X(bad_valid_i) X(bad_conn_i) X(job_over_o) X(job_over_conn_o) \
  X(req_valid_i) X(req_ready_o) X(req_i) X(key_valid_i) X(key_ready_o) X(key_i) \
  X(put_valid_i) X(put_ready_o) X(put_i) X(put_off_valid_o) X(put_off_o) X(putk_valid_i) X(putk_ready_o) X(putk_i) X(putb_valid_i) X(putb_ready_o) X(putb_i) \
  X(res_valid_o) X(res_ready_i) X(res_o) X(rkey_valid_o) X(rkey_ready_i) X(rkey_o) X(chunk_valid_o) X(chunk_ready_i) X(chunk_o) \
  X(hreq_valid_o) X(hreq_ready_i) X(hreq_o) X(hkey_valid_o) X(hkey_ready_i) X(hkey_o) \
  X(counts_o) X(refusals_o) X(clock_o) X(range_o) X(idle_o) X(rst_ni)

extern "C" {

void sim_open(int seed) {
  context = new VerilatedContext;
  context->randReset(2);
  context->randSeed(seed);
  context->fatalOnError(false);  // a failed assertion ends the test, not Python
#if VM_TRACE
  context->traceEverOn(true);
#endif
  top = new Vstore_tb(context);
#if VM_TRACE
  trace = new VerilatedVcdC;
  top->trace(trace, 99);
  trace->open("store.vcd");
#endif
}

/// What was reached goes to `coverage`, if the model counts that.
void sim_close(const char* coverage) {
#if VM_COVERAGE
  context->coveragep()->write(coverage);
#endif
#if VM_TRACE
  trace->close();
#endif
  delete top;
  delete context;
}

void* sim_port(const char* name, unsigned* size) {
#define PORT(p) if (!strcmp(name, #p)) { *size = sizeof(top->p); return &top->p; }
  PORTS(PORT)
  return nullptr;
}

/// Line `line` of the log, as memory has it.
void* sim_log_line(unsigned line) {
  VlWide<16>* const banks[] = {
    &top->rootp->store_tb__DOT__gen_mem__BRA__2__KET____DOT__u_mem__DOT__mem[0],
    &top->rootp->store_tb__DOT__gen_mem__BRA__3__KET____DOT__u_mem__DOT__mem[0],
  };
  return &banks[line & 1][line >> 1];
}

/// Outputs follow the inputs.
void sim_settle() {
  top->clk_i = 0;
  top->eval();
#if VM_TRACE
  trace->dump(context->time());
#endif
  context->timeInc(1);  // assertions hold from time 1 on
}

/// The clock's edge; 1 if an assertion failed.
int sim_edge() {
  top->clk_i = 1;
  top->eval();
#if VM_TRACE
  trace->dump(context->time());
#endif
  context->timeInc(1);
  return context->gotFinish() || context->gotError();
}
}
