//! What is measured between two replies of a run.

use anyhow::Result;
use wirekv_sim::MemoryLines;

use crate::rig::{changes, Rig};

struct Mark {
    clock: u64,
    wire_in: u64,
    wire_out: u64,
    memory: MemoryLines,
    counters: Vec<u64>,
}

impl Mark {
    fn now(rig: &mut Rig, clock: u64) -> Result<Mark> {
        let (wire_in, wire_out) = (rig.wire_in, rig.wire_out);
        let memory = rig.sim.memory_lines();
        Ok(Mark { clock, wire_in, wire_out, memory, counters: rig.counters()? })
    }
}

/// Skips the first `skip` operations and measures the `count` after them, to the end of a reply.
pub struct Meter {
    skip: u64,
    count: u64,
    seen: u64,
    measured: u64,
    start: Option<Mark>,
    end: Option<Mark>,
    latencies: Vec<u64>,
    /// Those of gets that another server has answered.
    misses: Vec<u64>,
}

pub struct Figures {
    pub ops: u64,
    pub clocks: u64,
    /// Bytes on the wire, for all operations; 0 where there is no wire.
    pub wire_in: u64,
    pub wire_out: u64,
    /// Clocks from the first beat of the request's (last) frame to the last beat of the reply's;
    /// sorted.
    pub latencies: Vec<u64>,
    /// Lines that memory ports moved; None where they are not counted.
    pub memory: Option<MemoryLines>,
    pub counters: Vec<(&'static str, u64)>,
}

impl Meter {
    pub fn new(skip: u64, count: u64) -> Meter {
        Meter {
            skip,
            count,
            seen: 0,
            measured: 0,
            start: None,
            end: None,
            latencies: Vec::new(),
            misses: Vec::new(),
        }
    }

    /// Another server's.
    pub fn miss(&mut self, latency: u64) {
        if self.start.is_some() && self.end.is_none() {
            self.misses.push(latency);
        }
    }

    /// The latencies of what another server has answered, sorted, and all else.
    pub fn split(mut self) -> Option<(Vec<u64>, Figures)> {
        let mut misses = std::mem::take(&mut self.misses);
        misses.sort_unstable();
        Some((misses, self.figures()?))
    }

    /// A reply to so many operations, all of it, was out at clock `clock`.
    pub fn reply(&mut self, rig: &mut Rig, clock: u64, latency: u64, ops: u64) -> Result<()> {
        self.seen += ops;
        if self.start.is_some() && self.end.is_none() {
            self.latencies.push(latency);
            self.measured += ops;
        }
        if self.start.is_none() && self.seen >= self.skip {
            rig.count_toggles(true)?;
            self.start = Some(Mark::now(rig, clock)?);
        } else if self.end.is_none() && self.measured >= self.count {
            rig.count_toggles(false)?;
            self.end = Some(Mark::now(rig, clock)?);
        }
        Ok(())
    }

    pub fn done(&self) -> bool {
        self.end.is_some()
    }

    pub fn figures(mut self) -> Option<Figures> {
        let (start, end) = (self.start?, self.end?);
        self.latencies.sort_unstable();
        let mut memory = end.memory;
        for (now, before) in memory.iter_mut().flatten().zip(start.memory.iter().flatten()) {
            *now -= before;
        }
        Some(Figures {
            ops: self.measured,
            clocks: end.clock - start.clock,
            wire_in: end.wire_in - start.wire_in,
            wire_out: end.wire_out - start.wire_out,
            latencies: self.latencies,
            memory: Some(memory),
            counters: changes(&start.counters, &end.counters),
        })
    }
}

impl Figures {
    pub fn rate(&self) -> f64 {
        self.ops as f64 / self.clocks as f64
    }

    /// Operations a clock that a wire of `bytes` a clock could carry with this traffic.
    pub fn wire_limit(&self, bytes: f64) -> Option<f64> {
        let busier = self.wire_in.max(self.wire_out);
        (busier != 0).then(|| bytes * self.ops as f64 / busier as f64)
    }

    pub fn latency(&self, quantile: f64) -> u64 {
        let last = self.latencies.len() - 1;
        self.latencies[(last as f64 * quantile).round() as usize]
    }
}
