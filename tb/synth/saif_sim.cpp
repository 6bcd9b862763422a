// Runs saif_tb and writes the toggles of so many clocks, as host/sim's shim does.
#include <cstdlib>

#include "Vsaif_tb.h"
#include "verilated.h"
#include "verilated_saif_c.h"

int main(int, char** argv) {
  const uint64_t clocks = strtoull(argv[2], nullptr, 10);
  VerilatedContext context;
  context.traceEverOn(true);
  Vsaif_tb top(&context, "saif_tb");
  VerilatedSaifC toggles;
  auto step = [&](bool sampled, uint64_t now) {
    top.clk_i = 0;
    top.eval();
    if (sampled) toggles.dump(now);
    top.clk_i = 1;
    top.eval();
  };
  top.rst_ni = 0;
  for (int n = 0; n < 16; ++n) step(false, 0);
  top.rst_ni = 1;
  for (int n = 0; n < 16; ++n) step(false, 0);
  top.trace(&toggles, 99);
  toggles.open(argv[1]);
  for (uint64_t now = 0; now <= clocks; ++now) step(true, now);
  toggles.close();
  top.final();
}
