// All AXI4 memory ports of a simulated design whose top names them m_axi_*, element p = port p.
#pragma once

#include <vector>

#include "axi_port.h"

namespace wirekv {

class AxiPorts {
 public:
  /// With `ways` each port has as many pseudo channels of HBM, see AxiPort.
  AxiPorts(Memory& memory, unsigned count, uint32_t latency, uint32_t jitter, uint64_t seed, unsigned ways, bool ecc) {
    // Ports 0 to 3 have every other line, those of the rings all of theirs.
    for (unsigned p = 0; p < count; ++p)
      ports_.emplace_back(new AxiPort(memory, latency, jitter, seed * count + p, ways, p < 4, ecc));
  }

  /// Start of a clock: what the ports drive.
  template <typename Top>
  void drive(Top& t, uint64_t now) {
    unsigned awready = 0, wready = 0, arready = 0, bvalid = 0, rvalid = 0;
    for (unsigned p = 0; p < ports_.size(); ++p) {
      AxiPort& m = *ports_[p];
      const bool had_data = m.rvalid();
      m.begin(now);
      awready |= unsigned(m.awready()) << p;
      wready |= unsigned(m.wready()) << p;
      arready |= unsigned(m.arready()) << p;
      bvalid |= unsigned(m.bvalid()) << p;
      rvalid |= unsigned(m.rvalid()) << p;
      if (m.rvalid() && !had_data) memcpy(&t.m_axi_rdata[16 * p], m.rdata(), LineBytes);
    }
    t.m_axi_awready = awready;
    t.m_axi_wready = wready;
    t.m_axi_arready = arready;
    t.m_axi_bvalid = bvalid;
    t.m_axi_rvalid = rvalid;
  }

  /// Two bits a port: what answers to writes say in this clock.
  unsigned bresp() const {
    unsigned bresp = 0;
    for (unsigned p = 0; p < ports_.size(); ++p)
      if (ports_[p]->bvalid() && ports_[p]->bbad()) bresp |= 2u << 2 * p;
    return bresp;
  }

  /// Lines that each port has moved since the start: {read, written} of a port.
  void moved(uint64_t* lines) const {
    for (unsigned p = 0; p < ports_.size(); ++p) {
      lines[2 * p] = ports_[p]->moved().read;
      lines[2 * p + 1] = ports_[p]->moved().written;
    }
  }

  /// Takes the handshakes of the clock; says whether nothing is under way.
  template <typename Top>
  bool sample(const Top& t, uint64_t now) {
    const unsigned aw = t.m_axi_awvalid & t.m_axi_awready, w = t.m_axi_wvalid & t.m_axi_wready,
                   ar = t.m_axi_arvalid & t.m_axi_arready, b = t.m_axi_bvalid & t.m_axi_bready,
                   r = t.m_axi_rvalid & t.m_axi_rready;
    const unsigned any = aw | w | ar | b | r;
    bool quiet = any == 0;
    for (unsigned p = 0; p < ports_.size(); ++p) {
      AxiPort& m = *ports_[p];
      if (any >> p & 1) {
        if (r >> p & 1) m.take_r();
        if (b >> p & 1) m.take_b();
        if (ar >> p & 1) m.take_ar(now, address(&t.m_axi_araddr[0], p));
        if (aw >> p & 1) m.take_aw(now, address(&t.m_axi_awaddr[0], p));
        if (w >> p & 1) {
          uint64_t strb;
          memcpy(&strb, &t.m_axi_wstrb[2 * p], 8);
          m.take_w(now, &t.m_axi_wdata[16 * p], strb);
        }
      }
      quiet = quiet && m.quiet();
    }
    return quiet;
  }

 private:
  /// Element p of a packed array of 40-bit addresses.
  static uint64_t address(const void* words, unsigned p) {
    uint64_t a = 0;
    memcpy(&a, static_cast<const uint8_t*>(words) + 5 * p, 5);
    return a;
  }

  std::vector<std::unique_ptr<AxiPort>> ports_;
};

}  // namespace wirekv
