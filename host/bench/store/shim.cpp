// The Verilated store with its memory, clock by clock.
#include <cstring>
#include <memory>

#include "Vstore.h"
#include "axi_ports.h"
#include "verilated.h"

using namespace wirekv;

namespace {
constexpr unsigned MemPorts = 4;
}

extern "C" {

struct ws_config {
  uint64_t memory_bytes;
  uint64_t log_base;  // line
  uint64_t seed;      // of memory's jitter
  uint64_t mix_key[2];
  uint32_t nh_key[32];
  uint32_t mem_latency, mem_jitter, mem_ways, mem_ecc, index_bits, log_lines;
};

/// What the bench offers in a clock.
struct ws_in {
  uint64_t off;
  uint32_t conn, rx_ptr;
  uint8_t key[256], putk[256], putb[64];
  uint32_t klen, vlen;
  uint8_t req_valid, set, first, last, put_valid, putk_valid, putb_valid, putb_len, putb_last;
};

/// What the store took and gave in that clock.
struct ws_out {
  uint64_t put_off, num;
  uint32_t conn, rx_ptr, vlen;
  uint8_t rkey[64], chunk[64];
  uint8_t req_ready, put_ready, put_off_valid, putk_ready, putb_ready;
  uint8_t res_valid, stored, value, res_last;
  uint8_t rkey_valid, chunk_valid, start, len, last, bad;
};

struct ws_store {
  explicit ws_store(const ws_config& c)
      : memory(c.memory_bytes), mem(memory, MemPorts, c.mem_latency, c.mem_jitter, c.seed, c.mem_ways, c.mem_ecc != 0) {
    top.reset(new Vstore(&context, "store"));
    top->log_base_i = c.log_base;
    top->index_bits_i = c.index_bits;
    top->log_lines_i = c.log_lines;
    memcpy(&top->nh_key_i[0], c.nh_key, sizeof c.nh_key);
    memcpy(&top->mix_key_i[0], c.mix_key, sizeof c.mix_key);
    top->rst_ni = 0;
    const ws_in nothing{};
    ws_out out;
    for (unsigned n = 0; n < 16; ++n) clock(nothing, out);
    top->rst_ni = 1;
  }
  ~ws_store() { top->final(); }

  void clock(const ws_in& in, ws_out& out) {
    Vstore& t = *top;
    t.req_valid_i = in.req_valid;
    t.req_set_i = in.set;
    t.req_first_i = in.first;
    t.req_last_i = in.last;
    t.req_conn_i = in.conn;
    t.req_rx_ptr_i = in.rx_ptr;
    t.req_klen_i = t.put_klen_i = in.klen;
    t.req_vlen_i = t.put_vlen_i = in.vlen;
    t.req_off_i = in.off;
    memcpy(&t.req_key_i[0], in.key, sizeof in.key);
    t.put_valid_i = in.put_valid;
    t.putk_valid_i = in.putk_valid;
    memcpy(&t.putk_data_i[0], in.putk, sizeof in.putk);
    t.putb_valid_i = in.putb_valid;
    memcpy(&t.putb_data_i[0], in.putb, LineBytes);
    t.putb_len_i = in.putb_len;
    t.putb_last_i = in.putb_last;
    mem.drive(t, now);
    t.clk_i = 0;
    t.eval();
    mem.sample(t, now);
    out.req_ready = t.req_ready_o;
    out.put_ready = t.put_ready_o;
    out.put_off_valid = t.put_off_valid_o;
    out.put_off = t.put_off_o;
    out.putk_ready = t.putk_ready_o;
    out.putb_ready = t.putb_ready_o;
    out.res_valid = t.res_valid_o;
    out.stored = t.res_stored_o;
    out.value = t.res_value_o;
    out.res_last = t.res_last_o;
    out.conn = t.res_conn_o;
    out.rx_ptr = t.res_rx_ptr_o;
    out.vlen = t.res_vlen_o;
    out.num = t.res_num_o;
    out.rkey_valid = t.rkey_valid_o;
    memcpy(out.rkey, &t.rkey_data_o[0], LineBytes);
    out.chunk_valid = t.chunk_valid_o;
    memcpy(out.chunk, &t.chunk_data_o[0], LineBytes);
    out.start = t.chunk_start_o;
    out.len = t.chunk_len_o;
    out.last = t.chunk_last_o;
    out.bad = t.chunk_bad_o;
    t.clk_i = 1;
    t.eval();
    ++now;
  }

  VerilatedContext context;
  Memory memory;
  AxiPorts mem;
  std::unique_ptr<Vstore> top;
  uint64_t now = 0;
};

ws_store* ws_new(const ws_config* config) { return new ws_store(*config); }
void ws_free(ws_store* s) { delete s; }
/// The memory, to prepare or inspect it. Null when out of range.
uint8_t* ws_memory(ws_store* s, uint64_t addr, uint64_t bytes) {
  if (addr % LineBytes || addr >= s->memory.bytes() || bytes > s->memory.bytes() - addr) return nullptr;
  return s->memory.line(addr);
}
void ws_clock(ws_store* s, const ws_in* in, ws_out* out) { s->clock(*in, *out); }
/// Event counters since the reset, in the order of store_count_e; they wrap.
void ws_counts(const ws_store* s, uint32_t* counts, uint32_t count) {
  memcpy(counts, &s->top->counts_o[0], 4 * count);
}
}
