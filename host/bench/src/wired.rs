//! A simulated card with its wire, whichever way frames get there.

use std::path::Path;

use wirekv_card::{Card, CardError, Port};
use wirekv_sim::{MemoryLines, Sim, Stamp};

/// What the bench asks of a card beside what everybody does.
pub trait Wired: Card {
    /// Queues a frame for the wire that must not start before clock `not_before`.
    fn send_at(&mut self, frame: &[u8], not_before: u64);
    /// Runs at most `clocks` clocks; until nothing moves, or until a frame has come out. Those that it ran.
    fn run(&mut self, clocks: u64) -> u64;
    /// Hands over the frames that have come out of a port, with the clocks in which they did.
    fn outputs(&mut self, port: Port, take: &mut dyn FnMut(Stamp, &[u8]));
    /// Hands over the clocks in which frames went in, in the order in which they were sent.
    fn inputs(&mut self, take: &mut dyn FnMut(Stamp));
    /// A view of the card's memory.
    fn memory(&mut self, addr: u64, bytes: u64) -> Option<&mut [u8]>;
    /// 64-byte lines that each port of the card's memory has read and written since the start.
    fn memory_lines(&self) -> MemoryLines;
    /// Begins to count toggles, to write them to this file, or ends that.
    fn toggles(&mut self, file: Option<&Path>) -> Result<(), CardError>;
    /// The card whose ports are the bench's own.
    #[cfg(test)]
    fn direct(&mut self) -> &mut Sim;
}

impl Wired for Sim {
    fn send_at(&mut self, frame: &[u8], not_before: u64) {
        self.send_at(Port::Wire, frame, not_before);
    }

    fn run(&mut self, clocks: u64) -> u64 {
        self.run(clocks, true)
    }

    fn outputs(&mut self, port: Port, take: &mut dyn FnMut(Stamp, &[u8])) {
        self.outputs(port, take);
    }

    fn inputs(&mut self, take: &mut dyn FnMut(Stamp)) {
        self.inputs(|_, stamp| take(stamp));
    }

    fn memory(&mut self, addr: u64, bytes: u64) -> Option<&mut [u8]> {
        self.memory(addr, bytes)
    }

    fn memory_lines(&self) -> MemoryLines {
        self.memory_lines()
    }

    fn toggles(&mut self, file: Option<&Path>) -> Result<(), CardError> {
        self.toggles(file)
    }

    #[cfg(test)]
    fn direct(&mut self) -> &mut Sim {
        self
    }
}
