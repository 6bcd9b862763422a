//! A part of the wire taken by frames that no client of the bench has asked for.

use std::net::{Ipv4Addr, SocketAddrV4};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::frame::{self, Segment, SYN};

/// Options of a SYN as Linux sends it: MSS, SACK permitted, timestamps, window scale.
const OPTIONS: [u8; 20] = [2, 4, 5, 0xB4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
/// Where these frames come from, and what the card says to them goes.
const NET: [u8; 2] = [10, 78];

/// What the frames are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For another card: as if nothing came, but the wire is taken.
    Elsewhere,
    /// SYNs of strangers, each from another address, of 64 bytes or as Linux sends them.
    Syns,
    SynsOfLinux,
    /// The same bare ACK of one connection, which is open and has nothing under way.
    Acks,
    /// The same data of one connection, or of each of twelve in turn, which the card has already.
    Data,
    DataOfTwelve,
    /// First fragments of datagrams.
    Fragments,
    /// Long lines of twelve connections, a byte each time, which the card has not heard before.
    Crumbs,
}

/// Of such a line's keys so many bytes have come before, and come one by one: keys of 24 bytes, less than 384 of them,
/// of which the card would not wait for the end.
pub const LINE: (u32, u32) = (3000, 5000);

pub fn of_line(at: u32) -> u8 {
    if at % 25 == 24 {
        b' '
    } else {
        b'k'
    }
}

impl Kind {
    pub fn text(self) -> &'static str {
        match self {
            Kind::Elsewhere => "frames for another card",
            Kind::Syns => "SYNs of strangers",
            Kind::SynsOfLinux => "SYNs of strangers with 20 bytes of options",
            Kind::Acks => "ACKs of one more connection",
            Kind::Data => "data of one more connection, ever the same",
            Kind::DataOfTwelve => "data of twelve more connections, ever the same",
            Kind::Fragments => "IP fragments",
            Kind::Crumbs => "bytes of twelve long lines",
        }
    }

    /// Connections that it takes.
    pub fn connections(self) -> u32 {
        match self {
            Kind::DataOfTwelve | Kind::Crumbs => 12,
            _ => 1,
        }
    }

    /// They take one part of so many of the wire.
    pub fn part(self) -> u64 {
        match self {
            Kind::Crumbs => 50,
            _ => 2,
        }
    }
}

pub struct Flood {
    kind: Kind,
    /// Bytes that the wire carries in a clock.
    wire: f64,
    /// Bytes that it can have carried before the next frame.
    next: u64,
    /// What its connections say, one after another and then again.
    said: Vec<Vec<u8>>,
    turn: usize,
    rng: SmallRng,
}

impl Flood {
    /// From clock `now` on, on a wire of so many bytes a clock; `said` are the frames of its
    /// connections.
    pub fn new(kind: Kind, now: u64, wire: f64, said: Vec<Vec<u8>>) -> Flood {
        let next = (now as f64 * wire) as u64;
        Flood { kind, wire, next, said, turn: 0, rng: SmallRng::seed_from_u64(13) }
    }

    /// The next frame, if it is due before clock `until`, and when.
    pub fn due(&mut self, until: u64) -> Option<(Vec<u8>, u64)> {
        let at = (self.next as f64 / self.wire) as u64;
        if at >= until {
            return None;
        }
        let [a, b] = NET;
        let [c, d] = self.rng.random();
        let port = self.rng.random_range(1024..=u16::MAX);
        let from = SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port);
        let frame = match self.kind {
            Kind::Elsewhere => {
                let mut frame = frame::udp(from, b"");
                frame[..6].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
                frame
            }
            Kind::Syns | Kind::SynsOfLinux => {
                let seq = self.rng.random();
                let syn = Segment {
                    port: frame::PORT,
                    seq,
                    flags: SYN,
                    window: 0xFFFF,
                    ..Segment::default()
                };
                let options = if self.kind == Kind::Syns { &[][..] } else { &OPTIONS };
                frame::with_options(from, &syn, options)
            }
            Kind::Acks | Kind::Data | Kind::DataOfTwelve | Kind::Crumbs => {
                let turn = self.turn;
                self.turn = (turn + 1) % self.said.len();
                self.said[turn].clone()
            }
            Kind::Fragments => frame::fragment(from, b""),
        };
        self.next += self.kind.part() * frame::wire_bytes(&frame);
        Some((frame, at))
    }
}

/// It goes to where the flood comes from.
pub fn is_answer(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && frame[30..32] == NET
}
