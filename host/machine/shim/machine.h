// The C ABI between the Rust crate and the Verilated machine. One thread at a time may use it.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct wk_machine;

struct wk_machine_config {
  const uint8_t* program;  // from address 0 on
  size_t program_bytes;
  uint8_t mac[6];
  uint8_t ip[4];
  uint16_t port;
  uint8_t pio;             // frames go through registers
  uint8_t aside;           // the accelerator answers what it can
  uint32_t nh_key[32];     // its hash: what no client knows
  uint64_t mix_key[2];     // likewise, odd
  double wire_rate;        // bytes a clock in each direction; 0: one beat a clock
};

/// A machine whose program is loaded, and runs from now on.
wk_machine* wk_machine_new(const wk_machine_config* config);
void wk_machine_free(wk_machine*);

/// Queues a frame, not to start before clock `not_before`.
void wk_machine_push(wk_machine*, uint64_t id, const uint8_t* bytes, uint32_t len, uint64_t not_before);
size_t wk_machine_backlog(const wk_machine*);
/// Runs at most `clocks` clocks; stops earlier when the core waits and no frame is queued, and, if `until_output`, when a
/// frame has come out. Returns the clocks run.
uint64_t wk_machine_run(wk_machine*, uint64_t clocks, int until_output);
/// Frames that have come out, as wk_output of sim.h has them.
const uint8_t* wk_machine_output(const wk_machine*, size_t* bytes);
void wk_machine_clear_output(wk_machine*);
/// When frames went in: {u64 id, first, last} each.
const uint8_t* wk_machine_input_log(const wk_machine*, size_t* bytes);
void wk_machine_clear_input_log(wk_machine*);
/// What the program has printed.
const char* wk_machine_console(const wk_machine*, size_t* bytes);
void wk_machine_clear_console(wk_machine*);

/// Resets the core, as the watchdog does; NIC and RAM go on.
void wk_machine_restart(wk_machine*);

void wk_machine_set_time(wk_machine*, uint32_t unix_time);
uint64_t wk_machine_clock(const wk_machine*);
int wk_machine_idle(const wk_machine*);
uint32_t wk_machine_restarts(const wk_machine*);
uint32_t wk_machine_dropped(const wk_machine*);
/// GETs that the accelerator has answered; wraps.
uint32_t wk_machine_answered(const wk_machine*);
}
