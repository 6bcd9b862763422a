// The C ABI between the Rust crate and the Verilated card with its link. One thread at a time may use it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sim.h"

extern "C" {

struct wk_rings;

struct wk_rings_config {
  uint64_t memory_bytes;    // these as in wk_config
  int garbage;
  uint32_t mem_latency;
  uint32_t mem_jitter;
  uint32_t mem_ways;
  int mem_ecc;
  uint64_t seed;
  double wire_rate;         // bytes a clock in each direction; 0: one beat a clock
  uint32_t quiet_clocks;    // clocks without anything under way, until the clock may stop
  const char* trace_file;   // null: no waves
  uint8_t* host_bytes;      // memory of this process that the card may read and write
  uint64_t host_physical;   // where it sees that
  uint64_t host_size;
  uint32_t host_latency;    // clocks
  uint32_t host_jitter;     // up to so many clocks more, at random
  int host_shuffle;         // reads are answered in any order
  uint32_t refuse;          // each burst of so many to these bytes is refused; 0: none
  uint64_t refuse_from, refuse_to;
  uint64_t status_from, status_to;  // where status lines are
};

/// Null, with a message in `error`, when it cannot be made.
wk_rings* wk_rings_new(const wk_rings_config* config, char* error, size_t error_size);
void wk_rings_free(wk_rings*);

/// Runs at most `clocks` clocks; stops earlier when all is idle (if `while_busy`), or when a status line has been written (if
/// `until_told`). Returns the clocks run.
uint64_t wk_rings_run(wk_rings*, uint64_t clocks, int while_busy, int until_told);
void wk_rings_tick(wk_rings*);
/// Register accesses run the clock until they are answered. 0: answered. `link`: the link's, or else the card's.
int wk_rings_read(wk_rings*, int link, uint32_t addr, uint32_t* value);
int wk_rings_write(wk_rings*, int link, uint32_t addr, uint32_t value);
/// A function-level reset of the link. 0: it has ended.
int wk_rings_reset(wk_rings*);

uint64_t wk_rings_clock(const wk_rings*);
int wk_rings_idle(const wk_rings*);
int wk_rings_timers(const wk_rings*);
int wk_rings_short_timers(const wk_rings*);
/// What the card has asked of host memory and cannot have; null: nothing.
const char* wk_rings_failure(const wk_rings*);
/// As wk_memory_lines.
void wk_rings_memory_lines(const wk_rings*, uint64_t lines[2 * WK_MEMORY_PORTS]);
/// The card's memory. Null when out of range.
uint8_t* wk_rings_memory(wk_rings*, uint64_t addr, uint64_t bytes);
}
