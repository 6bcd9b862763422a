//! The card behind rings: frames go in when their doorbell rings, and have come out when a status line tells of them.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Result;
use wirekv_card::{Card, CardError, Port};
use wirekv_link::{Block, Config as LinkConfig, Device, Link};
use wirekv_sim::{Config, HostMemory, MemoryLines, RingSim, Stamp};

use crate::wired::Wired;

/// The mover with nothing else to do.
pub struct Rings {
    link: Link<RingSim>,
    /// Frames for the wire, with their clocks.
    queue: VecDeque<(u64, Vec<u8>)>,
    /// When frames went in, since that was asked last.
    entered: Vec<Stamp>,
    outputs: [Vec<(Stamp, Vec<u8>)>; 3],
    failed: Option<CardError>,
}

const PORTS: [Port; 3] = [Port::Wire, Port::Host, Port::Exception];

impl Rings {
    pub fn new(config: &Config, latency: u32) -> Result<Rings> {
        let host = HostMemory { latency, ..HostMemory::default() };
        let link = LinkConfig::default();
        let link = Link::open(RingSim::new(config, &host, &link)?, link)?;
        let (queue, entered) = Default::default();
        Ok(Rings { link, queue, entered, outputs: Default::default(), failed: None })
    }

    /// Frames whose time has come.
    fn push(&mut self) {
        let now = self.clock();
        while let Some((at, frame)) = self.queue.front() {
            if *at > now || !self.link.send(Port::Wire, frame) {
                break;
            }
            self.queue.pop_front();
            self.entered.push(Stamp { first: now, last: now });
        }
        self.link.flush();
    }

    /// Frames that have come out and were not asked for.
    fn frames(&self) -> usize {
        self.outputs.iter().map(Vec::len).sum()
    }

    fn pull(&mut self) {
        let now = self.clock();
        let mut failed = self.link.poll().err();
        for port in PORTS {
            let out = &mut self.outputs[port as usize];
            let stamp = Stamp { first: now, last: now };
            let result = self.link.receive(port, |frame| out.push((stamp, frame.to_vec())));
            failed = failed.or(result.err());
        }
        if let Some(error) = failed {
            self.failed.get_or_insert(error.into());
        }
        // Slots are free again.
        self.link.flush();
    }
}

impl Wired for Rings {
    fn send_at(&mut self, frame: &[u8], not_before: u64) {
        self.queue.push_back((not_before, frame.to_vec()));
    }

    fn run(&mut self, clocks: u64) -> u64 {
        let start = self.clock();
        let end = start + clocks;
        let before = self.frames();
        while self.clock() < end && self.frames() == before && self.failed.is_none() {
            self.push();
            let now = self.clock();
            let next = self.queue.front().map(|(at, _)| (*at).max(now + 1));
            let most = end.min(next.unwrap_or(end)).saturating_sub(now);
            let ran = self.link.device().run(most, next.is_none(), true);
            self.pull();
            if ran == 0 && next.is_none() {
                break;
            }
        }
        self.clock() - start
    }

    fn outputs(&mut self, port: Port, take: &mut dyn FnMut(Stamp, &[u8])) {
        for (stamp, frame) in self.outputs[port as usize].drain(..) {
            take(stamp, &frame);
        }
    }

    fn inputs(&mut self, take: &mut dyn FnMut(Stamp)) {
        self.entered.drain(..).for_each(take);
    }

    fn memory(&mut self, addr: u64, bytes: u64) -> Option<&mut [u8]> {
        self.link.device().card_memory(addr, bytes)
    }

    fn memory_lines(&self) -> MemoryLines {
        self.link.device_ref().memory_lines()
    }

    fn toggles(&mut self, _: Option<&Path>) -> Result<(), CardError> {
        unreachable!("the command line asks for one or the other")
    }

    #[cfg(test)]
    fn direct(&mut self) -> &mut wirekv_sim::Sim {
        panic!("no test of this takes the card with rings")
    }
}

impl Card for Rings {
    fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
        Ok(self.link.device().read(Block::Card, addr))
    }

    fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError> {
        self.link.device().write(Block::Card, addr, value);
        Ok(())
    }

    fn send(&mut self, port: Port, frame: &[u8]) {
        assert!(self.link.send(port, frame), "the ring has room for all that is under way");
    }

    fn backlog(&self, port: Port) -> usize {
        self.link.waiting(port) * 64
    }

    fn advance(&mut self, clocks: u64) {
        self.run(clocks);
    }

    fn receive(&mut self, port: Port, take: &mut dyn FnMut(&[u8])) {
        self.outputs(port, &mut |_, frame| take(frame));
    }

    fn tick(&mut self) {
        self.link.device().tick();
    }

    fn idle(&self) -> bool {
        self.link.device_ref().idle() && self.link.is_empty() && self.queue.is_empty()
    }

    fn timers(&self) -> bool {
        self.link.device_ref().timers()
    }

    fn short_timers(&self) -> bool {
        self.link.device_ref().short_timers()
    }

    fn clock(&self) -> u64 {
        self.link.device_ref().clock()
    }

    fn check(&mut self) -> Result<(), CardError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
