// mem_stripe with four ways, each in front of a pseudo channel as host/sim/shim times it: lines that the port gets in a
// clock, reads and writes, random and in sequence. Every line is where `Stripe` says, and every answer is the right one.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "../../host/sim/shim/pseudo_channel.h"
#include "Vmem_stripe.h"
#include "verilated.h"

using namespace wirekv;

namespace {

constexpr unsigned Ways = 4, Latency = 60, AddrBytes = 29;
constexpr uint64_t Lines = uint64_t{Ways} << 23, Clocks = 20000;

[[noreturn]] void fail(const char* what, uint64_t line) {
  fprintf(stderr, "%s, line %llu\n", what, static_cast<unsigned long long>(line));
  exit(1);
}

struct Op {
  uint64_t place;
  std::unique_ptr<uint64_t> due{new uint64_t};
};

struct Way {
  PseudoChannel channel{Latency};
  std::deque<Op> ops[2];  // reads, writes
  std::deque<uint64_t> places;
  std::deque<uint32_t> data;
  unsigned r_beats = 0, w_beats = 0;
  bool b = false;
  std::unordered_map<uint64_t, uint32_t> lines;
};

/// Bits of a packed array.
uint64_t bits(const uint32_t* words, unsigned at, unsigned width) {
  uint64_t value = 0;
  for (unsigned n = 0; n < width; ++n) value |= uint64_t{words[(at + n) / 32] >> (at + n) % 32 & 1} << n;
  return value;
}

double run(bool reads, bool writes, bool random, bool partial) {
  VerilatedContext context;
  Vmem_stripe t(&context, "mem_stripe");
  std::vector<Way> ways(Ways);
  std::mt19937_64 any(1);
  std::deque<uint64_t> asked, written;
  uint64_t next[2] = {0, 1 << 20}, answered = 0, line[2] = {0, 0}, w_line = 0;
  bool offers[2] = {false, false};
  std::deque<uint64_t> to_send;  // lines whose address was taken or offered
  t.s_axi_rready = t.s_axi_bready = 1;
  t.rst_ni = 0;
  for (uint64_t now = 0; now < Clocks + 8; ++now) {
    t.rst_ni = now >= 8;
    for (unsigned d = 0; d < 2; ++d)
      if (now >= 8 && !offers[d] && (d ? writes : reads)) {
        line[d] = random ? any() % Lines : next[d]++ % Lines;
        offers[d] = true;
        if (d) to_send.push_back(line[d]);
      }
    t.s_axi_arvalid = offers[0];
    t.s_axi_araddr = line[0] << 6;
    t.s_axi_awvalid = offers[1];
    t.s_axi_awaddr = line[1] << 6;
    t.s_axi_wvalid = !to_send.empty();
    if (!to_send.empty()) {
      w_line = to_send.front();
      for (unsigned n = 0; n < 16; ++n) t.s_axi_wdata[n] = static_cast<uint32_t>(w_line);
      t.s_axi_wstrb = partial ? 0xFF : ~uint64_t{0};
    }
    unsigned bvalid = 0, rvalid = 0, rlast = 0;
    t.m_axi_awready = t.m_axi_wready = t.m_axi_arready = 0;
    for (unsigned w = 0; w < Ways; ++w) {
      Way& way = ways[w];
      way.channel.step(now);
      // A read's two beats are given as they come; what was never written is 0.
      if (!way.ops[0].empty() && *way.ops[0].front().due <= now + 1) {
        rvalid |= 1u << w;
        rlast |= way.r_beats << w;
        for (unsigned n = 0; n < 8; ++n) t.m_axi_rdata[8 * w + n] = way.lines[way.ops[0].front().place];
      }
      way.b = !way.ops[1].empty() && *way.ops[1].front().due <= now;
      bvalid |= unsigned{way.b} << w;
      // What the channel has no room for waits in the stripe.
      t.m_axi_arready |= unsigned{way.channel.room(false)} << w;
      t.m_axi_awready |= unsigned{way.channel.room(true) && way.places.size() < 4} << w;
      t.m_axi_wready |= unsigned{way.channel.room(true) && way.data.size() < 4} << w;
    }
    t.m_axi_bvalid = bvalid;
    t.m_axi_bresp = 0;
    t.m_axi_rvalid = rvalid;
    t.m_axi_rlast = rlast;
    t.m_axi_rresp = 0;
    t.clk_i = 0;
    t.eval();
    context.timeInc(1);
    if (now >= 8) {
      for (unsigned w = 0; w < Ways; ++w) {
        Way& way = ways[w];
        if (rvalid >> w & 1) {
          way.r_beats ^= 1;
          if (way.r_beats == 0) way.ops[0].pop_front();
        }
        if (way.b) {
          way.ops[1].pop_front();
        }
        if (t.m_axi_arvalid & t.m_axi_arready & 1u << w) {
          way.ops[0].push_back({bits(&t.m_axi_araddr[0], AddrBytes * w, AddrBytes) >> 6, {}});
          way.ops[0].back().due.reset(new uint64_t);
          way.channel.ask(now, way.ops[0].back().place, false, false, way.ops[0].back().due.get());
        }
        if (t.m_axi_awvalid & t.m_axi_awready & 1u << w)
          way.places.push_back(bits(&t.m_axi_awaddr[0], AddrBytes * w, AddrBytes) >> 6);
        if (t.m_axi_wvalid & t.m_axi_wready & 1u << w) {
          way.w_beats ^= 1;
          if ((t.m_axi_wlast >> w & 1) != !way.w_beats) fail("a write has not two beats", 0);
          if (!way.w_beats) way.data.push_back(t.m_axi_wdata[8 * w]);
        }
        if (!way.places.empty() && !way.data.empty()) {
          const uint64_t place = way.places.front();
          const uint32_t data = way.data.front();
          if (Stripe::way(data, Ways) != w || Stripe::place(data, Ways) != place) fail("not where it belongs", data);
          way.lines[place] = data;
          way.places.pop_front();
          way.data.pop_front();
          way.ops[1].push_back({place, {}});
          way.ops[1].back().due.reset(new uint64_t);
          way.channel.ask(now, place, true, partial, way.ops[1].back().due.get());
        }
      }
      if (t.s_axi_arvalid && t.s_axi_arready) {
        asked.push_back(line[0]);
        offers[0] = false;
      }
      if (t.s_axi_awvalid && t.s_axi_awready) offers[1] = false;
      if (t.s_axi_wvalid && t.s_axi_wready) to_send.pop_front();
      if (t.s_axi_rvalid) {
        const uint32_t data = t.s_axi_rdata[0];
        if (asked.empty() || t.s_axi_rresp || (data != 0 && data != asked.front())) fail("a wrong answer", data);
        asked.pop_front();
        ++answered;
      }
      answered += t.s_axi_bvalid;
    }
    t.clk_i = 1;
    t.eval();
    context.timeInc(1);
  }
  t.final();
  return static_cast<double>(answered) / Clocks;
}

}  // namespace

int main() {
  printf("reads_random %.3f\n", run(true, false, true, false));
  printf("reads_sequential %.3f\n", run(true, false, false, false));
  printf("writes_random %.3f\n", run(false, true, true, false));
  printf("writes_random_parts %.3f\n", run(false, true, true, true));
  printf("writes_sequential %.3f\n", run(false, true, false, false));
  printf("both_random %.3f\n", run(true, true, true, false));
  printf("both_sequential %.3f\n", run(true, true, false, false));
}
