//! shim/machine.h, where each function is described.

use std::ffi::{c_char, c_int};

#[repr(C)]
pub struct Raw {
    _private: [u8; 0],
}

#[repr(C)]
pub struct Config {
    pub program: *const u8,
    pub program_bytes: usize,
    pub mac: [u8; 6],
    pub ip: [u8; 4],
    pub port: u16,
    pub pio: u8,
    pub aside: u8,
    pub nh_key: [u32; 32],
    pub mix_key: [u64; 2],
    pub wire_rate: f64,
}

extern "C" {
    pub fn wk_machine_new(config: *const Config) -> *mut Raw;
    pub fn wk_machine_free(machine: *mut Raw);
    pub fn wk_machine_push(machine: *mut Raw, id: u64, bytes: *const u8, len: u32, not_before: u64);
    pub fn wk_machine_backlog(machine: *const Raw) -> usize;
    pub fn wk_machine_run(machine: *mut Raw, clocks: u64, until_output: c_int) -> u64;
    pub fn wk_machine_output(machine: *const Raw, bytes: *mut usize) -> *const u8;
    pub fn wk_machine_clear_output(machine: *mut Raw);
    pub fn wk_machine_input_log(machine: *const Raw, bytes: *mut usize) -> *const u8;
    pub fn wk_machine_clear_input_log(machine: *mut Raw);
    pub fn wk_machine_console(machine: *const Raw, bytes: *mut usize) -> *const c_char;
    pub fn wk_machine_clear_console(machine: *mut Raw);
    pub fn wk_machine_restart(machine: *mut Raw);
    pub fn wk_machine_set_time(machine: *mut Raw, unix_time: u32);
    pub fn wk_machine_clock(machine: *const Raw) -> u64;
    pub fn wk_machine_idle(machine: *const Raw) -> c_int;
    pub fn wk_machine_restarts(machine: *const Raw) -> u32;
    pub fn wk_machine_dropped(machine: *const Raw) -> u32;
    pub fn wk_machine_answered(machine: *const Raw) -> u32;
}
