//! A card behind its rings, as the program around it takes any card.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use wirekv_card::{csr, Card, CardError, Port};

use crate::device::{Block, Device};
use crate::error::LinkError;
use crate::link::{Config, Link};
use crate::registers::{ALL_ONES, CHANNELS, ID, MAX_FRAME, SLOT};

const PORTS: [Port; CHANNELS] = [Port::Wire, Port::Host, Port::Exception];
/// So often a channel may be restarted within `WITHIN`.
const TIMES: usize = 8;
const WITHIN: Duration = Duration::from_secs(60);

/// Frames that wait for room in a ring, each behind its length.
#[derive(Default)]
struct Waiting {
    bytes: VecDeque<u8>,
    frame: Vec<u8>,
}

impl Waiting {
    fn push(&mut self, frame: &[u8]) {
        self.bytes.extend((frame.len() as u32).to_le_bytes());
        self.bytes.extend(frame);
    }

    /// Hands frames over as long as they are taken.
    fn pass(&mut self, mut take: impl FnMut(&[u8]) -> bool) {
        loop {
            if self.frame.is_empty() {
                let mut length = [0; 4];
                if self.bytes.is_empty() {
                    return;
                }
                length.iter_mut().for_each(|byte| *byte = self.bytes.pop_front().unwrap_or(0));
                let length = u32::from_le_bytes(length) as usize;
                self.frame.extend(self.bytes.drain(..length));
            }
            if !take(&self.frame) {
                return;
            }
            self.frame.clear();
        }
    }

    fn len(&self) -> usize {
        self.bytes.len() + self.frame.len()
    }
}

/// A card whose frames pass rings.
///
/// A channel that has a fault is restarted, as a network interface is, and stderr says so. The punt queue is not: requests that
/// were lost have no sender that would repeat them, so the card ends.
pub struct RingCard<D: Device> {
    link: Link<D>,
    waiting: [Waiting; CHANNELS],
    restarts: [Vec<Instant>; CHANNELS],
    /// How often a channel was restarted.
    pub restarted: u64,
    failed: Option<LinkError>,
}

impl<D: Device> RingCard<D> {
    /// Brings the link up.
    ///
    /// # Errors
    ///
    /// As [`Link::open`].
    pub fn open(device: D, config: Config) -> Result<RingCard<D>, LinkError> {
        let link = Link::open(device, config)?;
        Ok(RingCard {
            link,
            waiting: Default::default(),
            restarts: Default::default(),
            restarted: 0,
            failed: None,
        })
    }

    /// The link.
    pub fn link(&mut self) -> &mut Link<D> {
        &mut self.link
    }

    /// Puts frames that wait into the rings, and rings the doorbells.
    fn push(&mut self) {
        for port in PORTS {
            if self.link.broken(port).is_none() {
                let link = &mut self.link;
                self.waiting[port as usize].pass(|frame| link.send(port, frame));
            }
        }
        self.link.flush();
    }

    /// What to do about an error.
    fn mend(&mut self, error: LinkError) {
        match error.channel().map(|channel| PORTS[channel]) {
            Some(port @ (Port::Wire | Port::Host)) => {
                eprintln!("wirekv: the card's link: {error}; the channel is started anew");
                let now = Instant::now();
                let restarts = &mut self.restarts[port as usize];
                restarts.retain(|then| now.duration_since(*then) < WITHIN);
                restarts.push(now);
                if restarts.len() > TIMES {
                    let (channel, times, within) = (port as usize, restarts.len(), WITHIN);
                    let last = Box::new(error);
                    self.fail(LinkError::KeepsFailing { channel, times, within, last });
                    return;
                }
                self.restarted += 1;
                if let Err(error) = self.link.restart(port) {
                    self.fail(error);
                }
            }
            _ => self.fail(error),
        }
    }

    fn fail(&mut self, error: LinkError) {
        self.failed.get_or_insert(error);
    }
}

impl<D: Device> Card for RingCard<D> {
    fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
        let device = self.link.device();
        let value = device.read(Block::Card, addr);
        // A register may be all ones, but a card that has gone is so everywhere.
        if value == ALL_ONES && device.read(Block::Card, csr::ID) == ALL_ONES {
            return Err(match device.read(Block::Link, ID) {
                ALL_ONES => LinkError::Gone { register: ID }.into(),
                _ => CardError::NoAnswer(addr),
            });
        }
        Ok(value)
    }

    fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError> {
        self.link.device().write(Block::Card, addr, value);
        Ok(())
    }

    fn send(&mut self, port: Port, frame: &[u8]) {
        if frame.is_empty() || frame.len() > MAX_FRAME {
            // As on a wire.
            return;
        }
        let waiting = &mut self.waiting[port as usize];
        let may = waiting.len() == 0 && self.link.broken(port).is_none();
        if !(may && self.link.send(port, frame)) {
            waiting.push(frame);
        }
    }

    fn backlog(&self, port: Port) -> usize {
        self.waiting[port as usize].len() + self.link.waiting(port) * SLOT
    }

    fn advance(&mut self, clocks: u64) {
        if self.failed.is_some() {
            return;
        }
        // Frames that came before a fault were received since.
        for port in PORTS {
            if let Some(error) = self.link.broken(port).cloned() {
                self.mend(error);
            }
        }
        self.push();
        self.link.device().advance(clocks);
        // What is wrong is seen above.
        let _ = self.link.poll().map_err(|error| match error.channel() {
            Some(_) => {}
            None => self.fail(error),
        });
    }

    fn receive(&mut self, port: Port, take: &mut dyn FnMut(&[u8])) {
        // An error is mended with the next advance.
        let _ = self.link.receive(port, take);
    }

    fn tick(&mut self) {
        self.link.device().tick();
    }

    fn idle(&self) -> bool {
        let is_whole = PORTS.iter().all(|port| self.link.broken(*port).is_none());
        let is_empty = self.link.is_empty() && self.waiting.iter().all(|w| w.len() == 0);
        self.link.device_ref().idle() && is_empty && is_whole
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
        if let Some(failure) = self.link.device().failure() {
            return Err(CardError::Other(failure));
        }
        self.failed.clone().map_or(Ok(()), |error| Err(error.into()))
    }
}
