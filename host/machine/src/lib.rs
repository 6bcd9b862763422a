//! The simulated RISC-V machine of `rtl/machine`: frames go in, its firmware answers them.
//!
//! The clock runs inside [`Machine::run`] alone, so a run is exact and can be repeated.

#![warn(missing_docs)]

mod ffi;
pub mod frames;

pub use wirekv_card::Seeds;

/// The firmware of this repository.
pub const FIRMWARE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/firmware.bin"));
/// Bytes of the program's part of the memory.
const PROGRAM_MAX: usize = 65536;

/// How frames come to the core's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// By DMA, through rings in memory.
    Dma,
    /// Through registers, word by word.
    Mmio,
}

/// What a machine is, and what surrounds it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its program, from address 0 on.
    pub program: Vec<u8>,
    /// Which of its NICs is used.
    pub nic: Nic,
    /// Its accelerator answers what it can; or software answers all.
    pub aside: bool,
    /// The accelerator's hash is made of these.
    pub seeds: Seeds,
    /// Its addresses.
    pub mac: [u8; 6],
    /// Likewise.
    pub ip: [u8; 4],
    /// The port of memcached over UDP.
    pub port: u16,
    /// Bytes a clock that the wire carries in each direction; 0: 64.
    pub wire_rate: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            program: FIRMWARE.to_vec(),
            nic: Nic::Dma,
            aside: true,
            seeds: Seeds::repeatable(1),
            mac: [0x02, 0x57, 0x4B, 0x56, 0x00, 0x02],
            ip: [10, 77, 0, 2],
            port: 11211,
            wire_rate: 0.0,
        }
    }
}

/// The clocks in which a frame's first and last beat crossed the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// That of the first.
    pub first: u64,
    /// That of the last.
    pub last: u64,
}

/// A machine that runs.
pub struct Machine {
    raw: *mut ffi::Raw,
    next_id: u64,
}

// SAFETY: the model and its queues belong to this Machine alone and have no thread-local state.
unsafe impl Send for Machine {}

impl Machine {
    /// Makes one, loads its program and lets it run.
    ///
    /// # Panics
    ///
    /// The program is longer than the memory's part for it.
    pub fn new(config: &Config) -> Machine {
        assert!(config.program.len() <= PROGRAM_MAX, "a program has at most {PROGRAM_MAX} bytes");
        let c = ffi::Config {
            program: config.program.as_ptr(),
            program_bytes: config.program.len(),
            mac: config.mac,
            ip: config.ip,
            port: config.port,
            pio: (config.nic == Nic::Mmio).into(),
            aside: config.aside.into(),
            nh_key: config.seeds.hash_nh,
            mix_key: config.seeds.hash_mix,
            wire_rate: config.wire_rate,
        };
        // SAFETY: the program is copied during the call.
        Machine { raw: unsafe { ffi::wk_machine_new(&c) }, next_id: 0 }
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: &[u8]) {
        self.send_at(frame, 0);
    }

    /// Queues a frame that does not start before clock `not_before`.
    pub fn send_at(&mut self, frame: &[u8], not_before: u64) {
        assert!(!frame.is_empty(), "a frame has at least one byte");
        let len = u32::try_from(frame.len()).expect("a frame is smaller than 4 GiB");
        // SAFETY: the frame is copied during the call.
        unsafe { ffi::wk_machine_push(self.raw, self.next_id, frame.as_ptr(), len, not_before) };
        self.next_id += 1;
    }

    /// Bytes of frames that have not gone in.
    pub fn backlog(&self) -> usize {
        // SAFETY: raw is valid while self lives.
        unsafe { ffi::wk_machine_backlog(self.raw) }
    }

    /// Runs at most `clocks` clocks. Stops earlier when the core waits and no frame is queued, and, if `until_output`, as
    /// soon as a frame has come out. Returns the clocks run.
    pub fn run(&mut self, clocks: u64, until_output: bool) -> u64 {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_run(self.raw, clocks, until_output.into()) }
    }

    /// Hands over the frames that have come out, in order.
    pub fn outputs(&mut self, mut take: impl FnMut(Stamp, &[u8])) {
        // SAFETY: the buffer stays as it is until it is cleared or the clock runs.
        let mut rest = unsafe {
            let mut bytes = 0;
            let start = ffi::wk_machine_output(self.raw, &mut bytes);
            if bytes == 0 {
                return;
            }
            std::slice::from_raw_parts(start, bytes)
        };
        while let Some((head, tail)) = rest.split_at_checked(24) {
            let word = |n: usize| word(head, n);
            let (stamp, len) = (Stamp { first: word(0), last: word(1) }, word(2) as usize);
            take(stamp, &tail[..len]);
            rest = &tail[len.next_multiple_of(8)..];
        }
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_clear_output(self.raw) };
    }

    /// When the frames went in that did so since the last call.
    pub fn inputs(&mut self) -> Vec<Stamp> {
        // SAFETY: as in `outputs`.
        let log = unsafe {
            let mut bytes = 0;
            let start = ffi::wk_machine_input_log(self.raw, &mut bytes);
            if bytes == 0 {
                return Vec::new();
            }
            std::slice::from_raw_parts(start, bytes)
        };
        let stamps = log.chunks_exact(24);
        let stamps = stamps.map(|s| Stamp { first: word(s, 1), last: word(s, 2) }).collect();
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_clear_input_log(self.raw) };
        stamps
    }

    /// What the program has printed since the last call.
    pub fn console(&mut self) -> String {
        // SAFETY: as in `outputs`.
        unsafe {
            let mut bytes = 0;
            let start = ffi::wk_machine_console(self.raw, &mut bytes);
            if bytes == 0 {
                return String::new();
            }
            let text = std::slice::from_raw_parts(start.cast(), bytes);
            let text = String::from_utf8_lossy(text).into_owned();
            ffi::wk_machine_clear_console(self.raw);
            text
        }
    }

    /// Resets the core, as the watchdog does; the NIC goes on, and memory stays as it is.
    pub fn restart(&mut self) {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_restart(self.raw) }
    }

    /// Says what time it is.
    pub fn set_time(&mut self, unix_time: u32) {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_set_time(self.raw, unix_time) }
    }

    /// Clocks since the start.
    pub fn clock(&self) -> u64 {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_clock(self.raw) }
    }

    /// The core waits, and no frame is queued.
    pub fn idle(&self) -> bool {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_idle(self.raw) != 0 }
    }

    /// How often the watchdog has started the core again.
    pub fn restarts(&self) -> u32 {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_restarts(self.raw) }
    }

    /// GETs that the accelerator has answered; wraps.
    pub fn answered(&self) -> u32 {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_answered(self.raw) }
    }

    /// Frames that found no room in the machine.
    pub fn dropped(&self) -> u32 {
        // SAFETY: as in `backlog`.
        unsafe { ffi::wk_machine_dropped(self.raw) }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { ffi::wk_machine_free(self.raw) };
    }
}

fn word(bytes: &[u8], n: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * n..8 * n + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
