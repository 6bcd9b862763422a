//! shim/sim.h, where each function is described.

use std::ffi::{c_char, c_int};

#[repr(C)]
pub struct Raw {
    _private: [u8; 0],
}

#[repr(C)]
pub struct Config {
    pub memory_bytes: u64,
    pub garbage: c_int,
    pub mem_latency: u32,
    pub mem_jitter: u32,
    pub mem_ways: u32,
    pub mem_ecc: c_int,
    pub seed: u64,
    pub wire_rate: f64,
    pub wire_waits: c_int,
    pub trace_file: *const c_char,
}

extern "C" {
    pub fn wk_new(config: *const Config, error: *mut c_char, error_size: usize) -> *mut Raw;
    pub fn wk_free(sim: *mut Raw);
    pub fn wk_push(sim: *mut Raw, port: u32, id: u64, bytes: *const u8, len: u32, not_before: u64);
    pub fn wk_backlog(sim: *const Raw, port: u32) -> usize;
    pub fn wk_run(sim: *mut Raw, clocks: u64, until_output: c_int) -> u64;
    pub fn wk_output(sim: *const Raw, port: u32, bytes: *mut usize) -> *const u8;
    pub fn wk_clear_output(sim: *mut Raw, port: u32);
    pub fn wk_tick(sim: *mut Raw);
    pub fn wk_csr_read(sim: *mut Raw, addr: u32, value: *mut u32) -> c_int;
    pub fn wk_csr_write(sim: *mut Raw, addr: u32, value: u32) -> c_int;
    pub fn wk_clock(sim: *const Raw) -> u64;
    pub fn wk_idle(sim: *const Raw) -> c_int;
    pub fn wk_timers(sim: *const Raw) -> c_int;
    pub fn wk_short_timers(sim: *const Raw) -> c_int;
    pub fn wk_log_inputs(sim: *mut Raw, on: c_int);
    pub fn wk_input_log(sim: *const Raw, bytes: *mut usize) -> *const u8;
    pub fn wk_clear_input_log(sim: *mut Raw);
    pub fn wk_memory(sim: *mut Raw, addr: u64, bytes: u64) -> *mut u8;
    pub fn wk_memory_lines(sim: *const Raw, lines: *mut [u64; 2]);
    pub fn wk_toggles(sim: *mut Raw, file: *const c_char);
    pub fn wk_refuse(sim: *mut Raw, addr: u64, bytes: u64);
}

#[cfg(feature = "rings")]
pub mod rings {
    //! shim/rings.h, likewise.

    use std::ffi::{c_char, c_int};

    #[repr(C)]
    pub struct Raw {
        _private: [u8; 0],
    }

    #[repr(C)]
    pub struct Config {
        pub memory_bytes: u64,
        pub garbage: c_int,
        pub mem_latency: u32,
        pub mem_jitter: u32,
        pub mem_ways: u32,
        pub mem_ecc: c_int,
        pub seed: u64,
        pub wire_rate: f64,
        pub quiet_clocks: u32,
        pub trace_file: *const c_char,
        pub host_bytes: *mut u8,
        pub host_physical: u64,
        pub host_size: u64,
        pub host_latency: u32,
        pub host_jitter: u32,
        pub host_shuffle: c_int,
        pub refuse: u32,
        pub refuse_from: u64,
        pub refuse_to: u64,
        pub status_from: u64,
        pub status_to: u64,
    }

    extern "C" {
        pub fn wk_rings_new(
            config: *const Config,
            error: *mut c_char,
            error_size: usize,
        ) -> *mut Raw;
        pub fn wk_rings_free(sim: *mut Raw);
        pub fn wk_rings_run(
            sim: *mut Raw,
            clocks: u64,
            while_busy: c_int,
            until_told: c_int,
        ) -> u64;
        pub fn wk_rings_tick(sim: *mut Raw);
        pub fn wk_rings_read(sim: *mut Raw, link: c_int, addr: u32, value: *mut u32) -> c_int;
        pub fn wk_rings_write(sim: *mut Raw, link: c_int, addr: u32, value: u32) -> c_int;
        pub fn wk_rings_reset(sim: *mut Raw) -> c_int;
        pub fn wk_rings_clock(sim: *const Raw) -> u64;
        pub fn wk_rings_idle(sim: *const Raw) -> c_int;
        pub fn wk_rings_timers(sim: *const Raw) -> c_int;
        pub fn wk_rings_short_timers(sim: *const Raw) -> c_int;
        pub fn wk_rings_failure(sim: *const Raw) -> *const c_char;
        pub fn wk_rings_memory_lines(sim: *const Raw, lines: *mut [u64; 2]);
        pub fn wk_rings_memory(sim: *mut Raw, addr: u64, bytes: u64) -> *mut u8;
    }
}
