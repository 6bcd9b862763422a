//! The simulated card behind rings: its link reads and writes memory of this process, as one on PCIe does.

use std::ffi::CStr;

use wirekv_card::CardError;
use wirekv_link::registers::ALL_ONES;
use wirekv_link::{Block, Config as LinkConfig, Device, Region};

use crate::ffi::rings as ffi;
use crate::{message, trace_name, Config, MemoryLines};

/// Where the card sees the memory: anywhere but where this process does.
const PHYSICAL: u64 = 0x0049_6E00_0000;
/// Clocks beside those of a batch without anything at the link's ports, until nothing is in it either.
const QUIET: u32 = 32;

/// The memory of the card's host, as the card meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMemory {
    /// Clocks from a read to its first beat, and from a write to its answer.
    pub latency: u32,
    /// Up to so many clocks more, at random.
    pub jitter: u32,
    /// Reads are answered in any order, their beats mixed.
    pub shuffle: bool,
    /// Each read or write of so many in the wire's rings is refused, for tests; 0: none.
    pub refuse: u32,
}

impl Default for HostMemory {
    fn default() -> HostMemory {
        HostMemory { latency: 1, jitter: 0, shuffle: false, refuse: 0 }
    }
}

/// The simulated card with its link.
pub struct RingSim {
    raw: *mut ffi::Raw,
    /// It outlives the model.
    memory: Region,
}

// SAFETY: as for `Sim`.
unsafe impl Send for RingSim {}

impl RingSim {
    /// Makes a card and takes it through reset. `link` is what it will be used with.
    ///
    /// # Errors
    ///
    /// There is no memory, or waves cannot be written.
    pub fn new(
        config: &Config,
        host: &HostMemory,
        link: &LinkConfig,
    ) -> Result<RingSim, CardError> {
        let memory = Region::anonymous(PHYSICAL).map_err(|e| CardError::Other(e.to_string()))?;
        let trace = trace_name(config);
        let (rings, status) = link.places();
        let at = |range: &std::ops::Range<usize>| {
            (PHYSICAL + range.start as u64, PHYSICAL + range.end as u64)
        };
        // Both of the wire's.
        let wire = rings[0].start.min(rings[1].start)..rings[0].end.max(rings[1].end);
        let ((refuse_from, refuse_to), (status_from, status_to)) = (at(&wire), at(&status));
        let c = ffi::Config {
            memory_bytes: config.memory_bytes.next_multiple_of(4096),
            garbage: config.garbage.into(),
            mem_latency: config.mem_latency,
            mem_jitter: config.mem_jitter,
            mem_ways: config.mem_ways,
            mem_ecc: config.mem_ecc.into(),
            seed: config.seed,
            wire_rate: config.wire_rate,
            quiet_clocks: QUIET + u32::from(link.batch_clocks),
            trace_file: trace.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            host_bytes: memory.as_ptr(),
            host_physical: memory.physical(),
            host_size: memory.len() as u64,
            host_latency: host.latency,
            host_jitter: host.jitter,
            host_shuffle: host.shuffle.into(),
            refuse: host.refuse,
            refuse_from,
            refuse_to,
            status_from,
            status_to,
        };
        let mut error = [0u8; 256];
        // SAFETY: both pointers are valid for the call, which copies what it keeps; the memory outlives the model.
        let raw = unsafe { ffi::wk_rings_new(&c, error.as_mut_ptr().cast(), error.len()) };
        if raw.is_null() {
            return Err(CardError::Other(message(&error)));
        }
        Ok(RingSim { raw, memory })
    }

    /// Runs at most `clocks` clocks. Stops earlier when all is idle, if `while_busy`, and as soon as the card has told of
    /// something, if `until_told`. Returns the clocks run.
    pub fn run(&mut self, clocks: u64, while_busy: bool, until_told: bool) -> u64 {
        // SAFETY: raw is valid while self lives, and nobody borrows the memory.
        unsafe { ffi::wk_rings_run(self.raw, clocks, while_busy.into(), until_told.into()) }
    }

    /// 64-byte lines that each port of the card's memory has read and written since the start.
    pub fn memory_lines(&self) -> MemoryLines {
        let mut lines = MemoryLines::default();
        // SAFETY: the C++ side writes as many.
        unsafe { ffi::wk_rings_memory_lines(self.raw, lines.as_mut_ptr()) };
        lines
    }

    /// A view of the card's own memory, to prepare it while the clock stands.
    pub fn card_memory(&mut self, addr: u64, bytes: u64) -> Option<&mut [u8]> {
        // SAFETY: the C++ side checks the range; the clock cannot run while self is borrowed.
        unsafe {
            let start = ffi::wk_rings_memory(self.raw, addr, bytes);
            (!start.is_null()).then(|| std::slice::from_raw_parts_mut(start, bytes as usize))
        }
    }
}

impl Drop for RingSim {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { ffi::wk_rings_free(self.raw) };
    }
}

impl Device for RingSim {
    fn read(&mut self, block: Block, register: u32) -> u32 {
        let mut value = 0;
        // SAFETY: as in `run`.
        let answered = unsafe {
            ffi::wk_rings_read(self.raw, (block == Block::Link).into(), register, &mut value)
        };
        if answered == 0 {
            value
        } else {
            ALL_ONES
        }
    }

    fn write(&mut self, block: Block, register: u32, value: u32) {
        // SAFETY: as in `run`. One that is not answered shows when a register is read.
        unsafe {
            ffi::wk_rings_write(self.raw, (block == Block::Link).into(), register, value);
        }
    }

    fn memory(&self) -> &Region {
        &self.memory
    }

    fn clock(&self) -> u64 {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_rings_clock(self.raw) }
    }

    fn advance(&mut self, clocks: u64) {
        self.run(clocks, true, false);
    }

    fn idle(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_rings_idle(self.raw) != 0 }
    }

    fn tick(&mut self) {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_rings_tick(self.raw) }
    }

    fn timers(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_rings_timers(self.raw) != 0 }
    }

    fn short_timers(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::wk_rings_short_timers(self.raw) != 0 }
    }

    fn failure(&mut self) -> Option<String> {
        // SAFETY: as in `run`; what it points to stays until the clock runs.
        unsafe {
            let text = ffi::wk_rings_failure(self.raw);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    fn reset(&mut self) -> Result<(), String> {
        // SAFETY: as in `run`.
        match unsafe { ffi::wk_rings_reset(self.raw) } {
            0 => Ok(()),
            _ => Err("it does not end".into()),
        }
    }

    fn cut(&mut self) -> bool {
        // Its clock runs no more.
        true
    }

    fn keep_memory(&mut self) {}
}

#[cfg(test)]
mod tests;
