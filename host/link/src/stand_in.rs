//! A card in software, for tests and benches: it does with rings what docs/rtl/LINK.md says, and sends each frame back on the
//! channel on which it came. It can be made to fail in each way that a card can.

use std::collections::VecDeque;
use std::time::Instant;

use wirekv_card::csr;

use crate::device::{Block, Device};
use crate::region::Region;
use crate::registers::{self as r, of, slots, CHANNELS, LENGTH, MAX_FRAME, SLOT};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    /// All registers read all ones, and nothing is moved.
    pub gone: bool,
    /// It takes no frames.
    pub stands: bool,
    /// Channels do not start.
    pub starts_not: bool,
    /// Channels do not stop.
    pub stops_not: bool,
    /// It writes no status lines.
    pub mute: bool,
    /// There is no function-level reset.
    pub resets_not: bool,
}

#[derive(Default)]
struct Channel {
    running: bool,
    /// It was disabled since it ran.
    armed: bool,
    fault: u32,
    place: u16,
    producer: u16,
    consumer: u16,
    up: u16,
    /// As the line says.
    told: u32,
    freed: u16,
    /// Slots that wait for room in the ring up.
    held: VecDeque<[u8; SLOT]>,
    events: [u32; 4],
}

/// The card without its memory.
pub struct Model {
    /// What is wrong with it.
    pub failing: Failing,
    /// What its registers `ID` and `CAPS` read as.
    pub identity: [u32; 2],
    settings: [u32; 64],
    channels: [Channel; CHANNELS],
    card: Vec<u32>,
}

impl Default for Model {
    fn default() -> Model {
        let mut card = vec![0; 1024];
        (card[csr::ID as usize / 4], card[csr::CONNS as usize / 4]) = (csr::ID_VALUE, 1024);
        let channels = std::array::from_fn(|_| Channel { armed: true, ..Channel::default() });
        let identity = [r::ID_VALUE, (MAX_FRAME as u32) << 16 | 32 << 8 | CHANNELS as u32];
        Model { failing: Failing::default(), identity, settings: [0; 64], channels, card }
    }
}

impl Model {
    /// A register.
    pub fn read(&self, block: Block, register: u32) -> u32 {
        if self.failing.gone {
            return r::ALL_ONES;
        }
        let word = register as usize / 4;
        if block == Block::Card {
            return self.card.get(word).copied().unwrap_or(0);
        }
        if register >= r::EVENTS {
            let event = word - r::EVENTS as usize / 4;
            return self.channels.get(event / 4).map_or(0, |c| c.events[event % 4]);
        }
        for (c, channel) in self.channels.iter().enumerate() {
            if register == of(c, r::INDICES) {
                return channel.indices();
            } else if register == of(c, r::FAULT) {
                return channel.fault;
            } else if register == of(c, r::STATE) {
                return channel.state();
            }
        }
        match register {
            r::ID | r::CAPS => self.identity[word],
            _ => self.settings.get(word).copied().unwrap_or(0),
        }
    }

    /// Writes a register.
    pub fn write(&mut self, block: Block, register: u32, value: u32) {
        let word = register as usize / 4;
        let words = if block == Block::Card { &mut self.card[..] } else { &mut self.settings[..] };
        let fixed = block == Block::Card && [csr::ID, csr::CONNS].contains(&register);
        if let (Some(word), false) = (words.get_mut(word), fixed) {
            *word = value;
        }
        if block == Block::Card {
            return;
        }
        for c in 0..CHANNELS {
            let [down, up] = self.sizes(c);
            let (channel, value) = (&mut self.channels[c], value as u16);
            if register == of(c, r::DOWN_PRODUCER) && channel.running {
                let most = down - u32::from(channel.producer.wrapping_sub(channel.consumer));
                match u32::from(value.wrapping_sub(channel.producer)) <= most {
                    true => channel.producer = value,
                    false => channel.stop(5, 0),
                }
            } else if register == of(c, r::UP_CONSUMER) && channel.running {
                let told = (channel.told as u16).wrapping_sub(channel.freed);
                match value.wrapping_sub(channel.freed) <= told {
                    true => channel.freed = value,
                    false => channel.stop(6, channel.told as u16),
                }
            }
            debug_assert!(up > 0);
        }
    }

    /// Slots of a channel's rings.
    fn sizes(&self, channel: usize) -> [u32; 2] {
        let sizes = self.settings[of(channel, r::SIZES) as usize / 4];
        [(sizes & 0xFFFF) + 1, (sizes >> 16) + 1]
    }

    /// Where something is in the memory, if it is there.
    fn offset(&self, memory: &Region, register: u32, behind: usize) -> Option<usize> {
        let word = register as usize / 4;
        let base = u64::from(self.settings[word + 1]) << 32 | u64::from(self.settings[word]);
        let offset = base.checked_sub(memory.physical())? as usize + behind;
        (offset + SLOT <= memory.len()).then_some(offset)
    }

    /// Moves what can be moved, and tells of it.
    pub fn work(&mut self, memory: &Region) {
        if self.failing.gone {
            return;
        }
        for c in 0..CHANNELS {
            let enabled = self.settings[r::CONTROL as usize / 4] >> c & 1 != 0;
            let channel = &mut self.channels[c];
            if !enabled {
                let stops = channel.running && !self.failing.stops_not;
                channel.running &= !stops;
                channel.armed |= !channel.running;
                if stops {
                    self.tell(memory, c);
                }
            } else if channel.armed && !self.failing.starts_not {
                let (events, held) = (channel.events, std::mem::take(&mut channel.held));
                *channel = Channel { running: true, events, held, ..Channel::default() };
                channel.held.clear();
                if self.sizes(c).iter().any(|n| !n.is_power_of_two() || !(8..=32768).contains(n)) {
                    self.channels[c].stop(7, 0);
                }
            }
            if self.channels[c].running && !self.failing.stands {
                self.down(memory, c);
                self.up(memory, c);
            }
            let channel = &self.channels[c];
            if channel.told != channel.indices() || (channel.fault != 0 && channel.running) {
                self.channels[c].running &= self.channels[c].fault == 0;
                self.tell(memory, c);
            }
        }
    }

    fn down(&mut self, memory: &Region, c: usize) {
        let [size, _] = self.sizes(c);
        while self.channels[c].fault == 0 && self.channels[c].consumer != self.channels[c].producer
        {
            let (at, end) = (self.channels[c].consumer, self.channels[c].producer);
            let place = |n: u16| (u32::from(at.wrapping_add(n)) & (size - 1)) as usize * SLOT;
            let Some(offset) = self.offset(memory, of(c, r::DOWN_BASE), place(0)) else {
                return self.channels[c].stop(3, at);
            };
            let mut slot = [0; SLOT];
            memory.read(offset, &mut slot);
            let preamble = u32::from_le_bytes(*slot.first_chunk().expect("four bytes"));
            let bytes = (preamble & LENGTH) as usize;
            if bytes == 0 || bytes > MAX_FRAME {
                return self.channels[c].stop(0, at);
            } else if preamble & !LENGTH != 0 {
                return self.channels[c].stop(1, at);
            } else if slots(bytes) > usize::from(end.wrapping_sub(at)) {
                return self.channels[c].stop(2, at);
            }
            self.channels[c].held.push_back(slot);
            for n in 1..slots(bytes) as u16 {
                let Some(offset) = self.offset(memory, of(c, r::DOWN_BASE), place(n)) else {
                    return self.channels[c].stop(3, at.wrapping_add(n));
                };
                memory.read(offset, &mut slot);
                self.channels[c].held.push_back(slot);
            }
            self.channels[c].consumer = at.wrapping_add(slots(bytes) as u16);
            self.channels[c].events[0] = self.channels[c].events[0].wrapping_add(1);
        }
    }

    fn up(&mut self, memory: &Region, c: usize) {
        let [_, size] = self.sizes(c);
        while let Some(first) = self.channels[c].held.front() {
            let channel = &self.channels[c];
            let bytes = u32::from_le_bytes(*first.first_chunk().expect("four bytes"));
            let count = slots(bytes as usize) as u32;
            if count > size {
                self.channels[c].held.drain(..count as usize);
                self.channels[c].events[2] += 1;
                continue;
            }
            if count > size - u32::from(channel.up.wrapping_sub(channel.freed)) {
                return;
            }
            for _ in 0..count {
                let place = (u32::from(self.channels[c].up) & (size - 1)) as usize * SLOT;
                let Some(offset) = self.offset(memory, of(c, r::UP_BASE), place) else {
                    return self.channels[c].stop(4, self.channels[c].up);
                };
                let slot = self.channels[c].held.pop_front().expect("a whole frame");
                memory.write(offset, &slot);
                self.channels[c].up = self.channels[c].up.wrapping_add(1);
            }
            self.channels[c].events[1] = self.channels[c].events[1].wrapping_add(1);
        }
    }

    /// Writes the status line.
    fn tell(&mut self, memory: &Region, c: usize) {
        let channel = &mut self.channels[c];
        channel.told = channel.indices();
        if self.failing.mute || channel.fault & 1 << 4 != 0 {
            return;
        }
        let (told, fault, state) = (channel.told, channel.fault, channel.state());
        if let Some(offset) = self.offset(memory, r::STATUS_BASE, SLOT * c) {
            memory.store(offset + 8, state);
            memory.store(offset + 4, fault);
            memory.store(offset, told);
        }
    }

    /// All channels are off, and nothing is known of them.
    pub fn reset(&mut self) {
        let identity = self.identity;
        *self = Model { failing: self.failing, identity, ..Model::default() };
    }
}

impl Channel {
    fn indices(&self) -> u32 {
        u32::from(self.consumer) << 16 | u32::from(self.up)
    }

    fn state(&self) -> u32 {
        let running = if self.running { r::BUSY | r::RUNNING } else { 0 };
        u32::from(self.place) | running
    }

    /// Stops for a fault, which `work` tells.
    fn stop(&mut self, bit: u32, place: u16) {
        (self.fault, self.place) = (self.fault | 1 << bit, place);
        self.events[3] += 1;
    }
}

/// A [`Model`] with memory of this process.
pub struct StandIn {
    /// The card.
    pub model: Model,
    memory: Option<Region>,
    start: Instant,
}

/// Where its memory stands.
const PHYSICAL: u64 = 0x0012_3460_0000;

impl StandIn {
    /// A card as it should be.
    ///
    /// # Panics
    ///
    /// There is no memory.
    pub fn new(model: Model) -> StandIn {
        let memory = Region::anonymous(PHYSICAL).expect("two megabytes");
        StandIn { model, memory: Some(memory), start: Instant::now() }
    }
}

impl Device for StandIn {
    fn read(&mut self, block: Block, register: u32) -> u32 {
        // Whoever waits for it lets it work.
        if block == Block::Link && register != r::ID {
            self.advance(1);
        }
        self.model.read(block, register)
    }

    fn write(&mut self, block: Block, register: u32, value: u32) {
        self.model.write(block, register, value);
    }

    fn memory(&self) -> &Region {
        self.memory.as_ref().expect("it is there until it is kept")
    }

    fn clock(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 / 4
    }

    fn advance(&mut self, _clocks: u64) {
        if let Some(memory) = &self.memory {
            self.model.work(memory);
        }
    }

    fn reset(&mut self) -> Result<(), String> {
        if self.model.failing.resets_not {
            return Err("this card has none".into());
        }
        self.model.reset();
        Ok(())
    }

    fn cut(&mut self) -> bool {
        !self.model.failing.stops_not
    }

    fn keep_memory(&mut self) {
        // Whoever holds it never gives it back.
        Box::leak(Box::new(self.memory.take()));
    }
}
