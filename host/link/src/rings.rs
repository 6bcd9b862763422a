//! The host's end of a channel's two rings. It trusts nothing that the card has written.

use std::time::Instant;

use crate::error::{Index, LinkError};
use crate::region::Region;
use crate::registers::{slots, LENGTH, MAX_FRAME, MAX_SLOTS, PREAMBLE, SLOT};

/// A ring in a region: where it is, and its slots minus one.
#[derive(Clone, Copy)]
pub struct Place {
    pub offset: usize,
    pub mask: u16,
}

impl Place {
    pub fn new(offset: usize, bits: u8) -> Place {
        Place { offset, mask: ((1u32 << bits) - 1) as u16 }
    }

    pub fn slots(self) -> u32 {
        u32::from(self.mask) + 1
    }

    fn at(self, index: u16) -> usize {
        self.offset + usize::from(index & self.mask) * SLOT
    }

    /// Bytes from a slot to the ring's end: what is longer goes on at its beginning.
    fn to_end(self, index: u16) -> usize {
        (self.slots() as usize - usize::from(index & self.mask)) * SLOT
    }

    /// Copies slots out.
    fn read(self, memory: &Region, index: u16, to: &mut [[u8; SLOT]]) {
        let to = to.as_flattened_mut();
        let (here, beyond) = to.split_at_mut(to.len().min(self.to_end(index)));
        memory.read(self.at(index), here);
        memory.read(self.offset, beyond);
    }
}

/// The ring down, into which the host puts frames.
pub struct Down {
    pub place: Place,
    /// Up to here there are frames, and the card was told so up to `rung`.
    produced: u16,
    rung: u16,
    /// Up to here the card has taken them.
    consumed: u16,
    /// When it took some last, or had none to take.
    pub moved: Instant,
}

impl Down {
    pub fn new(place: Place) -> Down {
        Down { place, produced: 0, rung: 0, consumed: 0, moved: Instant::now() }
    }

    /// Slots that the card has not taken.
    pub fn waiting(&self) -> u16 {
        self.produced.wrapping_sub(self.consumed)
    }

    /// The first of them.
    pub fn consumed(&self) -> u16 {
        self.consumed
    }

    /// Puts a frame behind the others, if there is room; its length is one that there is.
    #[inline]
    pub fn put(&mut self, memory: &Region, frame: &[u8]) -> bool {
        let count = slots(frame.len());
        if count as u32 > self.place.slots() - u32::from(self.waiting()) {
            return false;
        }
        let first = frame.len().min(SLOT - PREAMBLE);
        let at = self.place.at(self.produced);
        memory.store(at, frame.len() as u32);
        memory.write(at + PREAMBLE, &frame[..first]);
        if count > 1 {
            let (rest, second) = (&frame[first..], self.produced.wrapping_add(1));
            let (here, beyond) = rest.split_at(rest.len().min(self.place.to_end(second)));
            memory.write(self.place.at(second), here);
            memory.write(self.place.offset, beyond);
        }
        self.produced = self.produced.wrapping_add(count as u16);
        true
    }

    /// Where the doorbell is to be, if the card does not know.
    #[inline]
    pub fn ring(&mut self) -> Option<u16> {
        let news = self.rung != self.produced;
        self.rung = self.produced;
        news.then_some(self.produced)
    }

    /// The card says how far it has come.
    #[inline]
    pub fn told(&mut self, channel: usize, consumer: u16, now: Instant) -> Result<(), LinkError> {
        let by = consumer.wrapping_sub(self.consumed);
        // Of what it was not told, it has taken nothing.
        if by > self.rung.wrapping_sub(self.consumed) {
            return Err(impossible(channel, Index::Down, self.consumed, consumer, self.rung));
        }
        if by != 0 || self.waiting() == 0 {
            self.moved = now;
        }
        self.consumed = consumer;
        Ok(())
    }

    /// The frames that the card has not taken, to be put into a ring that begins anew. They are this program's own, but the
    /// card could have overwritten them.
    pub fn left(&self, memory: &Region, mut take: impl FnMut(&[u8])) {
        let (mut at, mut rest) = (self.consumed, self.waiting());
        let mut frame = vec![[0; SLOT]; MAX_SLOTS];
        while rest > 0 {
            memory.read(self.place.at(at), &mut frame[0]);
            let bytes = preamble(&frame[0]) as usize;
            let count = slots(bytes);
            if bytes == 0 || bytes > MAX_FRAME || count > usize::from(rest) {
                return;
            }
            self.place.read(memory, at.wrapping_add(1), &mut frame[1..count]);
            take(&frame.as_flattened()[PREAMBLE..PREAMBLE + bytes]);
            at = at.wrapping_add(count as u16);
            rest -= count as u16;
        }
    }
}

/// The ring up, out of which the host takes frames.
pub struct Up {
    pub place: Place,
    /// Up to here the card has written.
    produced: u16,
    /// Up to here the host has read, and the card was told so up to `rung`.
    consumed: u16,
    rung: u16,
}

impl Up {
    pub fn new(place: Place) -> Up {
        Up { place, produced: 0, consumed: 0, rung: 0 }
    }

    /// Slots that were not read.
    #[inline]
    pub fn waiting(&self) -> u16 {
        self.produced.wrapping_sub(self.consumed)
    }

    /// The card says how far it has come. Whether that is farther than before.
    #[inline]
    pub fn told(&mut self, channel: usize, producer: u16) -> Result<bool, LinkError> {
        let by = producer.wrapping_sub(self.produced);
        // The card does not write into slots of which it was not told that they are free.
        let most = self.place.slots() - u32::from(self.produced.wrapping_sub(self.rung));
        if u32::from(by) > most {
            let most = self.produced.wrapping_add(most as u16);
            return Err(impossible(channel, Index::Up, self.produced, producer, most));
        }
        self.produced = producer;
        Ok(by != 0)
    }

    /// Copies the next frame out, of those that the card has told of; its bytes behind the preamble.
    #[inline]
    pub fn take(
        &mut self,
        channel: usize,
        memory: &Region,
        frame: &mut [[u8; SLOT]; MAX_SLOTS],
    ) -> Result<usize, LinkError> {
        let slot = self.consumed;
        memory.read(self.place.at(slot), &mut frame[0]);
        let preamble = preamble(&frame[0]);
        if preamble & !LENGTH != 0 {
            return Err(LinkError::Reserved { channel, slot, preamble });
        }
        let bytes = preamble as usize;
        if bytes == 0 || bytes > MAX_FRAME {
            return Err(LinkError::FrameLength { channel, slot, bytes: preamble });
        }
        let count = slots(bytes);
        if count > usize::from(self.waiting()) {
            return Err(LinkError::Torn { channel, slot, bytes: preamble, told: self.produced });
        }
        if count > 1 {
            self.place.read(memory, slot.wrapping_add(1), &mut frame[1..count]);
        }
        self.consumed = slot.wrapping_add(count as u16);
        Ok(bytes)
    }

    /// Where the doorbell is to be, if the card does not know.
    #[inline]
    pub fn ring(&mut self) -> Option<u16> {
        let news = self.rung != self.consumed;
        self.rung = self.consumed;
        news.then_some(self.consumed)
    }
}

fn preamble(slot: &[u8; SLOT]) -> u32 {
    u32::from_le_bytes(*slot.first_chunk().expect("a slot has four bytes"))
}

/// An index may move by less than half of what it counts.
fn impossible(channel: usize, index: Index, was: u16, is: u16, most: u16) -> LinkError {
    match is.wrapping_sub(was) as i16 {
        ..0 => LinkError::IndexBack { channel, index, was, is },
        _ => LinkError::IndexBeyond { channel, index, was, is, most },
    }
}
