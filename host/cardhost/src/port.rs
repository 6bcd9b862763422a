//! The card's request port: a connection without TCP, whose requests and replies are packets of the punt queue.
//!
//! A packet to the card is a header of 64 bytes (bytes 4-5 how many bytes follow, byte 6 what is to be done), then
//! lines of the port's receive ring, as they stand there. One from it has in byte 6 the lane of the first byte of replies
//! in the lines behind the header, in byte 7 where the connection stands, in bytes 8-11 how many bytes of requests have
//! been executed, in bytes 12-13 how many bytes of replies there are.

use std::collections::VecDeque;

use wirekv_card::{Card, Port};
use wirekv_net::Frames;

use crate::clients::Caller;
use crate::exceptions;

const LINE: usize = 64;
/// The receive ring.
const RING: u32 = 32 << 10;
/// Data of a packet.
const PACKET: usize = 512;
/// Clocks between two looks at what has come.
const CLOCKS: u64 = 64;
/// So long nothing takes: the longest wait for a hold, twice the hold, and the rest for who had it before.
const PATIENCE: u64 = 16 << 20;

const OPEN: u8 = 1 << 0;
const CLOSE: u8 = 1 << 1;
const HOLD: u8 = 1 << 2;
const COMMIT: u8 = 1 << 3;
const RELEASE: u8 = 1 << 4;
const REDIS: u8 = 1 << 5;
const MINE: u8 = 1 << 7;

/// What the requests are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    Redis,
    /// memcached's binary protocol.
    Binary,
}

/// The hold has ended by itself, the card does not answer, or nobody waits for what comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// What a packet does beside bringing requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hold {
    /// With the first packet: the store is held before these requests are executed.
    pub begins: bool,
    /// With the first packet: what was read is made use of; the time begins anew.
    pub commits: bool,
    /// With the last packet: the hold ends when these are executed.
    pub ends: bool,
}

#[derive(Default)]
pub struct RequestPort {
    /// None: not known.
    open: Option<bool>,
    sent: u32,
    executed: u32,
    /// The store is held.
    pub holds: bool,
    replies: Vec<u8>,
    /// Packets that are not the port's, and the clock when they came.
    pub others: VecDeque<(u64, Vec<u8>)>,
    /// Whose command uses the port, if it may be left undone.
    pub caller: Option<Caller>,
    /// Others have begun commands that may go on.
    pub is_shared: bool,
}

impl RequestPort {
    /// Whether a packet is this port's.
    pub fn is_mine(packet: &[u8]) -> bool {
        packet.get(5).is_some_and(|flags| flags & MINE != 0)
    }

    /// Others are to have their turn.
    pub fn is_wanted(&self) -> bool {
        self.is_shared || !self.others.is_empty()
    }

    /// What it is used for takes long.
    pub fn takes_long(&mut self, card: &mut dyn Card) {
        if let Some(caller) = &mut self.caller {
            caller.ask(card);
        }
    }

    /// Whoever it is used for has left.
    pub fn is_for_nobody(&mut self, card: &mut dyn Card) -> bool {
        self.caller.as_mut().is_some_and(|caller| caller.has_left(card))
    }

    /// A packet of this port.
    pub fn take(&mut self, packet: &[u8]) {
        let Some((head, lines)) = packet.split_at_checked(LINE) else { return };
        let (len, start) =
            (usize::from(u16::from_le_bytes([head[12], head[13]])), usize::from(head[6]));
        self.open = Some(head[7] & 1 != 0);
        self.executed = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        self.replies.extend(lines.get(start..start + len).unwrap_or_default());
    }

    /// Sends requests; their replies, of which there are all when `whole` says so.
    pub fn ask(
        &mut self,
        card: &mut dyn Card,
        (speech, requests, hold): (Speech, &[u8], Hold),
        whole: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, Lost> {
        self.open(card)?;
        let first = (hold.begins as u8 * HOLD) | (hold.commits as u8 * COMMIT);
        let (mut flags, mut rest) = (first, requests);
        let end = card.clock() + PATIENCE;
        let mut done = false;
        while !(done && self.executed == self.sent && whole(&self.replies)) {
            let room = RING - (self.sent - self.executed);
            let here = rest.len().min(PACKET).min(room as usize);
            if !done && (here > 0 || rest.is_empty()) {
                let data;
                (data, rest) = rest.split_at(here);
                done = rest.is_empty();
                let last = (done && hold.ends) as u8 * RELEASE;
                self.send(card, flags | last, speech, data);
                flags = 0;
                continue;
            }
            self.look(card, end)?;
            if self.open != Some(true) {
                return Err(Lost);
            }
        }
        self.holds = (self.holds || hold.begins) && !hold.ends;
        Ok(std::mem::take(&mut self.replies))
    }

    fn open(&mut self, card: &mut dyn Card) -> Result<(), Lost> {
        let end = card.clock() + PATIENCE;
        if self.open.is_none() {
            // Whoever used it before is gone.
            self.send(card, CLOSE, Speech::Redis, b"");
        }
        while self.open.is_none() {
            self.look(card, end)?;
        }
        if self.open == Some(false) {
            (self.sent, self.executed, self.holds) = (0, 0, false);
            self.replies.clear();
            self.send(card, OPEN, Speech::Redis, b"");
            while self.open == Some(false) {
                self.look(card, end)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, card: &mut dyn Card, flags: u8, speech: Speech, data: &[u8]) {
        let mut packet = vec![0; LINE];
        packet[4..6].copy_from_slice(&(data.len() as u16).to_le_bytes());
        packet[6] = MINE | flags | if speech == Speech::Redis { REDIS } else { 0 };
        if !data.is_empty() {
            packet.resize(LINE + self.sent as usize % LINE, 0);
            packet.extend(data);
        }
        self.sent = self.sent.wrapping_add(data.len() as u32);
        card.send(Port::Exception, &packet);
    }

    /// Lets the card work, and takes what comes of it.
    fn look(&mut self, card: &mut dyn Card, end: u64) -> Result<(), Lost> {
        let mut packets = Frames::default();
        card.receive(Port::Exception, &mut |packet| packets.push(packet));
        if packets.is_empty() {
            if card.idle() || card.clock() > end {
                self.open = None;
                return Err(Lost);
            }
            card.advance(CLOCKS);
            return Ok(());
        }
        for packet in packets.iter() {
            match packet {
                _ if RequestPort::is_mine(packet) => self.take(packet),
                // What gates do not know has nobody else to answer it.
                _ if exceptions::is_port_tag(packet) => {
                    if let Some(answer) = exceptions::refusal(packet) {
                        card.send(Port::Exception, &answer);
                    }
                }
                _ => self.others.push_back((card.clock(), packet.to_vec())),
            }
        }
        Ok(())
    }
}
