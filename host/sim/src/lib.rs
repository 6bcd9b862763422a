//! The simulated card: the RTL, compiled by Verilator into this process, with its memory.
//!
//! [`Sim`] is a [`Card`] for the server. Benches use it directly: they say in which clock a frame
//! may start ([`Sim::send_at`]) and learn in which clocks frames crossed the card's ports
//! ([`Sim::outputs`], [`Sim::inputs`]). The clock only runs inside [`Sim::run`] and during
//! register accesses, so a run is exact and can be repeated.

mod ffi;
#[cfg(feature = "rings")]
mod rings;

#[cfg(feature = "rings")]
pub use rings::{HostMemory, RingSim};

use std::ffi::CString;
use std::fs::File;
use std::path::{Path, PathBuf};

use wirekv_card::{Card, CardError, Port};

/// What surrounds the simulated card.
#[derive(Clone, Debug)]
pub struct Config {
    /// Size of the card's memory; its six ports share one address space.
    pub memory_bytes: u64,
    /// The memory holds anything at the start, as a card's does, and not zeros.
    pub garbage: bool,
    /// Clocks from a memory request to its answer, at full rate.
    pub mem_latency: u32,
    /// Up to so many clocks more, at random (answers of a port stay in order).
    pub mem_jitter: u32,
    /// Pseudo channels of HBM behind each memory port, 1, 2 or 4, as `mem_stripe` spreads it over them; their banks and
    /// their refresh then say how long an access takes beyond the latency. 0: memory of any rate.
    pub mem_ways: u32,
    /// With `mem_ways`: memory has ECC, so a write of parts of a line costs a read.
    pub mem_ecc: bool,
    pub seed: u64,
    /// Bytes a clock that the wire carries in each direction, counted with preamble, FCS and gap.
    /// 50 is 100 Gb/s at 250 MHz; 0 sets no pace (64 bytes a clock).
    pub wire_rate: f64,
    /// A frame for the card waits on the wire until the card has room for the largest segment, as behind a switch
    /// that may be paused. Else TCP segments that find no room are dropped.
    pub wire_waits: bool,
    /// Write waves to this FST file. Needs the crate's `trace` feature.
    pub trace: Option<PathBuf>,
}

/// Read and written, by port.
pub type MemoryLines = [[u64; 2]; 6];
pub const LINE_BYTES: u64 = 64;

/// 100 Gb/s Ethernet at 250 MHz, in bytes a clock.
pub const WIRE_100G: f64 = 50.0;

impl Default for Config {
    fn default() -> Self {
        Config {
            memory_bytes: 256 << 20,
            garbage: true,
            mem_latency: 40,
            mem_jitter: 0,
            mem_ways: 0,
            mem_ecc: false,
            seed: 1,
            wire_rate: WIRE_100G,
            wire_waits: false,
            trace: None,
        }
    }
}

/// The clocks in which a frame's first and last beat crossed a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub first: u64,
    pub last: u64,
}

pub struct Sim {
    raw: *mut ffi::Raw,
    next_id: u64,
}

// SAFETY: the model, its memory and queues belong to this Sim alone and have no thread-local state.
unsafe impl Send for Sim {}

impl Sim {
    /// Makes a card and takes it through reset.
    pub fn new(config: &Config) -> Result<Sim, CardError> {
        let trace = trace_name(config);
        let c = ffi::Config {
            memory_bytes: config.memory_bytes.next_multiple_of(4096),
            garbage: config.garbage.into(),
            mem_latency: config.mem_latency,
            mem_jitter: config.mem_jitter,
            mem_ways: config.mem_ways,
            mem_ecc: config.mem_ecc.into(),
            seed: config.seed,
            wire_rate: config.wire_rate,
            wire_waits: config.wire_waits.into(),
            trace_file: trace.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
        };
        let mut error = [0u8; 256];
        // SAFETY: both pointers are valid for the call, which copies what it keeps.
        let raw = unsafe { ffi::wk_new(&c, error.as_mut_ptr().cast(), error.len()) };
        if raw.is_null() {
            return Err(CardError::Other(message(&error)));
        }
        Ok(Sim { raw, next_id: 0 })
    }

    /// Queues a frame that must not start before clock `not_before`, nor before the wire is free.
    /// Frames of a port go in in the order they were queued. Returns the frame's id (0, 1, ...).
    pub fn send_at(&mut self, port: Port, frame: &[u8], not_before: u64) -> u64 {
        assert!(!frame.is_empty(), "a frame has at least one byte");
        let id = self.next_id;
        self.next_id += 1;
        let len = u32::try_from(frame.len()).expect("a frame is smaller than 4 GiB");
        // SAFETY: the frame is copied during the call.
        unsafe { ffi::wk_push(self.raw, port as u32, id, frame.as_ptr(), len, not_before) };
        id
    }

    /// Runs at most `clocks` clocks. Stops earlier when the card is idle and no input is queued,
    /// and, if `until_output`, as soon as a frame has come out. Returns the clocks run.
    pub fn run(&mut self, clocks: u64, until_output: bool) -> u64 {
        // SAFETY: raw is valid while self lives.
        unsafe { ffi::wk_run(self.raw, clocks, until_output.into()) }
    }

    /// Hands over, in order, the frames that have come out of a port.
    pub fn outputs(&mut self, port: Port, mut take: impl FnMut(Stamp, &[u8])) {
        // SAFETY: the buffer stays as it is until it is cleared or the clock runs.
        let mut rest = unsafe {
            let mut bytes = 0;
            let start = ffi::wk_output(self.raw, port as u32, &mut bytes);
            if bytes == 0 {
                return;
            }
            std::slice::from_raw_parts(start, bytes)
        };
        while let Some((head, tail)) = rest.split_at_checked(24) {
            let word = |n: usize| u64::from_le_bytes(head[8 * n..8 * n + 8].try_into().unwrap());
            let (first, last, len) = (word(0), word(1), word(2) as usize);
            take(Stamp { first, last }, &tail[..len]);
            rest = &tail[len.next_multiple_of(8)..];
        }
        // SAFETY: as in `run`.
        unsafe { ffi::wk_clear_output(self.raw, port as u32) };
    }

    /// From now on remember (or not) when frames for the wire port went in.
    pub fn log_inputs(&mut self, on: bool) {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_log_inputs(self.raw, on.into()) };
    }

    /// Hands over the ids and stamps of the frames that went into the wire port.
    pub fn inputs(&mut self, mut take: impl FnMut(u64, Stamp)) {
        // SAFETY: as in `outputs`.
        let log = unsafe {
            let mut bytes = 0;
            let start = ffi::wk_input_log(self.raw, &mut bytes);
            if bytes == 0 {
                return;
            }
            std::slice::from_raw_parts(start.cast::<[u64; 3]>(), bytes / 24)
        };
        for [id, first, last] in log {
            take(*id, Stamp { first: *first, last: *last });
        }
        // SAFETY: as in `run`.
        unsafe { ffi::wk_clear_input_log(self.raw) };
    }

    /// A view of the card's memory, to prepare or inspect it while the clock stands.
    pub fn memory(&mut self, addr: u64, bytes: u64) -> Option<&mut [u8]> {
        // SAFETY: the C++ side checks the range; the clock cannot run while self is borrowed.
        unsafe {
            let start = ffi::wk_memory(self.raw, addr, bytes);
            (!start.is_null()).then(|| std::slice::from_raw_parts_mut(start, bytes as usize))
        }
    }

    /// 64-byte lines that each memory port has read and written since the start.
    pub fn memory_lines(&self) -> MemoryLines {
        let mut lines = MemoryLines::default();
        // SAFETY: the C++ side writes as many.
        unsafe { ffi::wk_memory_lines(self.raw, lines.as_mut_ptr()) };
        lines
    }

    /// From now on counts the toggles of all signals once a clock, and the clock does not stop for an idle card. `None`
    /// ends this, and the SAIF file that was named before is written. Needs the crate's `saif` feature.
    pub fn toggles(&mut self, file: Option<&Path>) -> Result<(), CardError> {
        if !cfg!(feature = "saif") {
            return Err(CardError::Other(
                "this build cannot count toggles; build it with --features saif".into(),
            ));
        }
        if let Some(path) = file {
            // Verilator's writer is silent about a file that cannot be written.
            File::create(path)
                .map_err(|e| CardError::Other(format!("cannot write {}: {e}", path.display())))?;
        }
        let file = file
            .map(|p| CString::new(p.as_os_str().as_encoded_bytes()).expect("a path has no NUL"));
        let name = file.as_ref().map_or(std::ptr::null(), |f| f.as_ptr());
        // SAFETY: raw is valid while self lives; the path is copied during the call.
        unsafe { ffi::wk_toggles(self.raw, name) };
        Ok(())
    }

    /// From now on memory refuses writes to these bytes, for tests.
    pub fn refuse(&mut self, addr: u64, bytes: u64) {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_refuse(self.raw, addr, bytes) }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_free(self.raw) };
    }
}

impl Card for Sim {
    fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
        let mut value = 0;
        // SAFETY: as in `run`.
        match unsafe { ffi::wk_csr_read(self.raw, addr, &mut value) } {
            0 => Ok(value),
            _ => Err(CardError::NoAnswer(addr)),
        }
    }

    fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError> {
        // SAFETY: as in `run`.
        match unsafe { ffi::wk_csr_write(self.raw, addr, value) } {
            0 => Ok(()),
            _ => Err(CardError::NoAnswer(addr)),
        }
    }

    fn send(&mut self, port: Port, frame: &[u8]) {
        self.send_at(port, frame, 0);
    }

    fn backlog(&self, port: Port) -> usize {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_backlog(self.raw, port as u32) }
    }

    fn advance(&mut self, clocks: u64) {
        self.run(clocks, false);
    }

    fn receive(&mut self, port: Port, take: &mut dyn FnMut(&[u8])) {
        self.outputs(port, |_, frame| take(frame));
    }

    fn tick(&mut self) {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_tick(self.raw) };
    }

    fn idle(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_idle(self.raw) != 0 }
    }

    fn timers(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_timers(self.raw) != 0 }
    }

    fn short_timers(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_short_timers(self.raw) != 0 }
    }

    fn clock(&self) -> u64 {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_clock(self.raw) }
    }
}

fn trace_name(config: &Config) -> Option<CString> {
    let path = config.trace.as_ref()?;
    Some(CString::new(path.as_os_str().as_encoded_bytes()).expect("a path has no NUL"))
}

/// What the C++ side has written into a buffer for an error.
fn message(error: &[u8]) -> String {
    let len = error.iter().position(|b| *b == 0).unwrap_or(error.len());
    String::from_utf8_lossy(&error[..len]).into_owned()
}

#[cfg(test)]
mod axi_tests;
