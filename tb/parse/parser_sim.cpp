// Runs jobs through the Verilated parser: jobs from standard input, what they became to standard
// output, for host/memcache/examples/lines.rs, which has the format. Arguments: seed, pauses in 256.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>

#include "Vparser_tb.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

static Vparser_tb* top;
static std::mt19937 rng;

#define CHECK(cond, ...) \
  do { if (!(cond)) { fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); exit(2); } } while (0)

struct Raw { uint8_t data[64]; uint8_t start, stop; bool first, last; };
struct Job { bool udp; uint32_t rx_ptr; uint16_t len; };
struct Item { uint32_t klen, vlen, flags; uint64_t expiry; };
struct Rec {
  uint8_t op, reply, bits, mode;
  uint32_t klen, vlen, flags, off, rx_ptr, rem;
  uint64_t expiry, num;
};

// In the order of op_e.
// begin op_e: Made by spec/gen.py from rtl/parse/request_pkg.sv: `make spec`.
enum { OpGet = 0, OpSet = 1, OpAdd = 2, OpReplace = 3, OpCas = 4, OpAppend = 5, OpPrepend = 6,
      OpDelete = 7, OpIncr = 8, OpDecr = 9, OpTouch = 10, OpFlush = 11, OpReply = 12, OpTooBig = 13,
      OpHost = 14, OpHostData = 15, OpCont = 16, OpPart = 17, OpEnd = 18, OpWalk = 19,
      OpVersion = 20 };
// end op_e
static bool is_store(int op) { return op >= OpSet && op <= OpPrepend; }
static bool has_key(int op) { return (op <= OpTouch || op == OpTooBig || op == OpHost); }

static bool read_all(void* to, size_t n) {
  size_t got = fread(to, 1, n, stdin);
  CHECK(got == n || got == 0, "a job that is not whole");
  return got == n;
}

static std::deque<Job> jobs;
static std::deque<Raw> raws;

// One job: udp, lane, length, bytes.
static bool next_job() {
  uint8_t head[4];
  if (!read_all(head, 4)) return false;
  Job job{head[0] != 0, 0x12340000u | head[1], uint16_t(head[2] | head[3] << 8)};
  uint8_t bytes[64 + 8192];
  for (auto& byte : bytes) byte = rng();  // what is around a job's bytes is not its own
  size_t lane = head[1], end = lane + job.len;
  CHECK(read_all(bytes + lane, job.len), "a job without bytes");
  for (size_t at = 0; at < end; at += 64) {
    Raw raw;
    memcpy(raw.data, bytes + at, 64);
    raw.first = at == 0;
    raw.last  = at + 64 >= end;
    raw.start = at ? 0 : lane;
    raw.stop  = raw.last ? end - at : 64;
    raws.push_back(raw);
  }
  jobs.push_back(job);
  return true;
}

static std::deque<Rec> recs;
static std::deque<std::string> keys;
static std::string key_part;
static std::deque<Item> begun;              // begun, data to come
static std::string item_key_part, item_part;
static std::deque<std::string> item_keys, datas;  // of the items begun
static uint32_t first_off = 1, next_off = 1;  // place in the log of the first item in `begun`, of the next

static void emit(const void* bytes, size_t n) { fwrite(bytes, 1, n, stdout); }

// Records whose key and data have come leave.
static void drain() {
  while (!recs.empty()) {
    const Rec& r = recs.front();
    bool keyed = has_key(r.op) && r.klen;
    if (keyed && keys.empty()) return;
    Rec out = r;
    std::string value;
    bool from_item = r.off && (is_store(r.op) || r.op == OpReply);
    if (from_item) {
      if (datas.empty() || item_keys.empty()) return;
      CHECK(first_off++ == r.off, "an item without a record");
      const Item& item = begun.front();
      CHECK(item_keys.front().size() == item.klen, "an item's key of another length");
      CHECK(datas.front().size() == item.vlen, "an item of another length");
      if (is_store(r.op)) {
        CHECK(item.klen == r.klen && item.vlen == r.vlen && item.flags == r.flags &&
                  item.expiry == r.expiry, "record and item differ");
        CHECK(item_keys.front() == keys.front(), "the item's key is another");
        value = datas.front();
      }
      begun.pop_front();
      item_keys.pop_front();
      datas.pop_front();
    }
    uint8_t head[36] = {out.op, out.reply, out.bits, out.mode};
    uint32_t klen = keyed ? keys.front().size() : 0, vlen = value.size();
    CHECK(!keyed || klen == r.klen, "key beats out of step");
    memcpy(head + 4, &klen, 4);
    memcpy(head + 8, &vlen, 4);
    memcpy(head + 12, &out.flags, 4);
    memcpy(head + 16, &out.expiry, 8);
    memcpy(head + 24, &out.num, 8);
    uint32_t pos = out.rx_ptr;
    memcpy(head + 32, &pos, 4);
    emit(head, 36);
    emit(&out.rem, 4);
    if (keyed) {
      emit(keys.front().data(), klen);
      keys.pop_front();
    }
    emit(value.data(), vlen);
    recs.pop_front();
  }
}

static std::string bytes_of(const VlWide<16>& data, unsigned len) {
  std::string bytes(reinterpret_cast<const char*>(data.data()), 64);
  for (size_t i = len; i < 64; i++) CHECK(!bytes[i], "bytes beyond a beat's length");
  bytes.resize(len);
  return bytes;
}

int main(int argc, char** argv) {
  rng.seed(argc > 1 ? atoi(argv[1]) : 1);
  unsigned pauses = argc > 2 ? atoi(argv[2]) : 64;
  VerilatedContext context;
  context.randReset(2);
  top = new Vparser_tb(&context);
  top->item_max_i = 1 << 20;
  const uint64_t second = 1800000000000, now = second + 123;
  top->now_i[0]   = second;
  top->now_i[1]   = second >> 32 | now << 16;
  top->now_i[2]   = now >> 16;
  top->rst_ni     = 0;
  bool more = true, job_on = false, raw_on = false;
  uint64_t clock = 0, quiet = 0, sent = 0, ended = 0;
  auto chance = [&] { return (rng() & 255) >= pauses; };
  while (more || !jobs.empty() || !raws.empty() || ended < sent || !recs.empty()) {
    while (more && jobs.size() < 4) {
      more = next_job();
      sent += more;
    }
    // A job is offered no later than its first line.
    if (!job_on) job_on = !jobs.empty();
    if (!raw_on) raw_on = !raws.empty() && chance();
    top->job_valid_i = job_on && clock > 4;
    if (job_on) {
      top->job_udp_i    = jobs.front().udp;
      top->job_rx_ptr_i = jobs.front().rx_ptr;
      top->job_len_i    = jobs.front().len;
    }
    top->raw_valid_i = raw_on && clock > 4;
    if (raw_on) {
      const Raw& raw = raws.front();
      memcpy(top->raw_data_i.data(), raw.data, 64);
      top->raw_start_i = raw.start;
      top->raw_stop_i  = raw.stop;
      top->raw_first_i = raw.first;
      top->raw_last_i  = raw.last;
    }
    top->req_ready_i  = chance();
    top->key_ready_i  = chance();
    top->put_ready_i  = chance();
    top->putk_ready_i = chance();
    top->putb_ready_i = chance();
    top->put_off_i    = next_off;
    top->clk_i = 0;
    top->eval();
    context.timeInc(1);
    bool moved = false;
    bool took_job = top->job_valid_i && top->job_ready_o;
    bool took_raw = top->raw_valid_i && top->raw_ready_o;
    if (clock > 4) {
      if (top->req_valid_o && top->req_ready_i) {
        Rec r{};
        r.op = top->req_op_o;
        r.reply = top->req_reply_o;
        r.bits = top->req_noreply_o | top->req_cas_out_o << 1 | top->req_touch_o << 2 |
                 top->req_last_key_o << 3 | top->req_first_o << 4;
        r.mode = top->req_mode_o;
        r.klen = top->req_klen_o;
        r.vlen = top->req_vlen_o;
        r.flags = top->req_flags_o;
        r.expiry = top->req_expiry_o;
        r.off = top->req_off_o;
        r.rx_ptr = top->req_rx_ptr_o - 0x12340000u;
        r.rem = top->req_rem_o;
        r.num = top->req_num_o;
        if (r.op == OpEnd) ended++;
        recs.push_back(r);
        moved = true;
      }
      if (top->key_valid_o && top->key_ready_i) {
        key_part += bytes_of(top->key_data_o, top->key_len_o);
        if (top->key_last_o) {
          keys.push_back(key_part);
          key_part.clear();
        }
        moved = true;
      }
      if (top->put_valid_o && top->put_ready_i) {
        CHECK(top->put_start_o, "part of an item that was not begun");
        begun.push_back({top->put_klen_o, top->put_vlen_o, top->put_flags_o, top->put_expiry_o});
        moved = true;
      }
      if (top->putk_valid_o && top->putk_ready_i) {
        item_key_part += bytes_of(top->putk_data_o, top->putk_len_o);
        if (top->putk_last_o) {
          item_keys.push_back(item_key_part);
          item_key_part.clear();
        }
        moved = true;
      }
      if (top->putb_valid_o && top->putb_ready_i) {
        item_part += bytes_of(top->putb_data_o, top->putb_len_o);
        if (top->putb_last_o) {
          datas.push_back(item_part);
          item_part.clear();
        }
        moved = true;
      }
      if (top->put_valid_o && top->put_ready_i) next_off++;
    }
    top->clk_i = 1;
    top->eval();
    context.timeInc(1);
    if (took_job) {
      jobs.pop_front();
      job_on = false;
    }
    if (took_raw) {
      raws.pop_front();
      raw_on = false;
    }
    CHECK(!context.gotFinish() && !context.gotError(), "assertion failed in clock %lu", clock);
    if (++clock == 4) top->rst_ni = 1;
    quiet = moved || took_raw || took_job ? 0 : quiet + 1;
    CHECK(quiet < 5000, "nothing moves any more: %lu of %lu jobs done", ended, sent);
    drain();
  }
  drain();
  CHECK(recs.empty() && keys.empty(), "something is left: %zu records, %zu keys", recs.size(),
        keys.size());
#if VM_COVERAGE
  context.coveragep()->write(std::string(getenv("WIREKV_COVERAGE")) + "/tb/lines" + argv[1] + ".dat");
#endif
  fflush(stdout);
  fprintf(stderr, "%lu clocks\n", clock);
  return 0;
}
