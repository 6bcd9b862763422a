// The C ABI between the Rust crate and the Verilated card. One thread at a time may use a sim.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct wk_sim;

struct wk_config {
  uint64_t memory_bytes;
  int garbage;             // memory holds anything at the start, else zeros
  uint32_t mem_latency;    // clocks
  uint32_t mem_jitter;     // up to so many clocks more, at random
  uint32_t mem_ways;       // pseudo channels of HBM a port: 1, 2, 4; 0: every answer takes as long
  int mem_ecc;             // with mem_ways: a write of parts of a line costs a read
  uint64_t seed;           // of that randomness
  double wire_rate;        // bytes a clock in each direction; 0: one beat a clock
  int wire_waits;          // a frame for the card waits until it has room for the largest segment
  const char* trace_file;  // null: no waves
};

enum { WK_WIRE = 0, WK_HOST = 1, WK_EXC = 2, WK_PORTS = 3 };
enum { WK_MEMORY_PORTS = 6 };

/// Null, with a message in `error`, when it cannot be made.
wk_sim* wk_new(const wk_config* config, char* error, size_t error_size);
void wk_free(wk_sim*);

/// Queues a frame for a port, not to start before clock `not_before`.
void wk_push(wk_sim*, uint32_t port, uint64_t id, const uint8_t* bytes, uint32_t len,
             uint64_t not_before);
/// Bytes queued for a port that the card has not taken.
size_t wk_backlog(const wk_sim*, uint32_t port);

/// Runs at most `clocks` clocks; stops earlier when the card is idle with nothing to do (always)
/// or when a frame has come out (if `until_output`). Returns the clocks run.
uint64_t wk_run(wk_sim*, uint64_t clocks, int until_output);
/// Complete frames from a port as records {u64 first, u64 last, u64 len, bytes, pad to 8}.
const uint8_t* wk_output(const wk_sim*, uint32_t port, size_t* bytes);
void wk_clear_output(wk_sim*, uint32_t port);

/// A pulse on tick_i in the next clock.
void wk_tick(wk_sim*);
/// Register accesses run the clock until they are answered. 0: answered.
int wk_csr_read(wk_sim*, uint32_t addr, uint32_t* value);
int wk_csr_write(wk_sim*, uint32_t addr, uint32_t value);

uint64_t wk_clock(const wk_sim*);
int wk_idle(const wk_sim*);
int wk_timers(const wk_sim*);
int wk_short_timers(const wk_sim*);

/// From now on remembers when each frame pushed to the wire went in: {u64 id, first, last}.
void wk_log_inputs(wk_sim*, int on);
const uint8_t* wk_input_log(const wk_sim*, size_t* bytes);
void wk_clear_input_log(wk_sim*);

/// The memory, for programs that prepare or inspect it. Null when out of range.
uint8_t* wk_memory(wk_sim*, uint64_t addr, uint64_t bytes);
/// 64-byte lines that each memory port has read and written since the start: {read, written} of a port.
void wk_memory_lines(const wk_sim*, uint64_t lines[2 * WK_MEMORY_PORTS]);

/// From now on counts the toggles of all signals, once a clock, to write them to this SAIF file; while it does, the
/// clock does not stop for an idle card. Null: writes the file. Of a build with WK_SAIF alone.
void wk_toggles(wk_sim*, const char* file);
/// From now on memory refuses writes to these bytes.
void wk_refuse(wk_sim*, uint64_t addr, uint64_t bytes);
}
