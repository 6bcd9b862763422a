//! One connection of the card: what it has sent, and its own connection to the server.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use wirekv_memcache::binary::{HEADER, REPLY, REQUEST};
use wirekv_proto::Engine;

use crate::batch::{Batch, Want};
use crate::guard::Open;
use crate::io::Id;
use crate::memcached::Memcached;
use crate::redis::Redis;
use crate::replies::{Kind, Replies};
use crate::server::Protocol;
use crate::table::Table;

/// First piece of an answer, and the others.
const FIRST_PIECE: usize = 512;
const MAX_PIECE: usize = 2048;
/// The client goes on while less than this waits to be sent to the server.
pub const UNSENT: usize = 256 << 10;
/// What was received is taken while the client has less than this to get.
pub const AHEAD: usize = 64 << 10;
/// Of the host's NOOPs. Their place in the row tells them.
const OPAQUE: [u8; 4] = *b"host";
const SILENT: &[u8] = b"upstream server does not answer";
/// The binary protocol's status of a failure that may pass.
const TEMPORARY: u16 = 0x86;

enum Speech {
    Memcached(Memcached),
    Redis(Redis),
}

/// What the first keys of a command were asked with, which gates have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// The client's bytes begin a command.
    No,
    /// A `get` line: they begin with the next key.
    Get,
    /// A `gets` line.
    Gets,
    /// The arguments of an MGET: so many are left.
    Mget(u32),
}

/// A part of an answer to the card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The client's bytes.
    pub text: Vec<u8>,
    /// The answer ends with it.
    pub last: bool,
    /// The connection is closed behind it.
    pub closes: bool,
    /// The client's next bytes come to the host, whatever they are.
    pub all: bool,
}

pub struct Client {
    speech: Speech,
    kind: Kind,
    /// What it has sent, and no command was made of.
    pub input: Vec<u8>,
    /// Its connection to the server, and what was not sent on that.
    pub id: Option<Id>,
    pub unsent: usize,
    /// What was received on it, and not taken.
    pub received: usize,
    pub replies: Replies,
    /// Open writes: of the commands that are to be answered, of one that is not complete, of a transaction.
    pub opens: Vec<Open>,
    pub partial: Vec<Open>,
    pub kept: HashSet<Open>,
    pub wants: Vec<Want>,
    /// When the server was told to empty itself, and after how many seconds.
    pub delays: Vec<(Instant, u32)>,
    /// Bytes that the server gets when the card has deleted what they change.
    pub held: Vec<u8>,
    pub holds: bool,
    /// Commands are to be answered; something of the answer has come; one of them may wait for long.
    pub busy: bool,
    pub came: bool,
    pub blocks: bool,
    /// For the client.
    pub out: Vec<u8>,
    /// The card waits for an answer, for a piece of it, and that is the first one.
    pub rowed: bool,
    asked: bool,
    first: bool,
    /// A piece was given before.
    pub met: bool,
    pub closes: bool,
    /// It is closed behind the answer to what it has sent.
    pub ends: bool,
    /// The server is to have done something by then.
    pub deadline: Instant,
    /// When something came from the client.
    pub heard: Instant,
}

impl Client {
    /// Of a connection whose first byte for the host is this.
    pub fn new(protocol: Protocol, first: u8, now: Instant) -> Client {
        let (speech, kind) = match protocol {
            Protocol::Redis => (Speech::Redis(Redis::default()), Kind::Redis),
            Protocol::Memcached if first == REQUEST => {
                (Speech::Memcached(Memcached::default()), Kind::Binary)
            }
            Protocol::Memcached => (Speech::Memcached(Memcached::default()), Kind::Text),
        };
        Client {
            speech,
            kind,
            input: Vec::new(),
            id: None,
            unsent: 0,
            received: 0,
            replies: Replies::new(kind),
            opens: Vec::new(),
            partial: Vec::new(),
            kept: HashSet::new(),
            wants: Vec::new(),
            delays: Vec::new(),
            held: Vec::new(),
            holds: false,
            busy: false,
            came: false,
            blocks: false,
            out: Vec::new(),
            rowed: false,
            asked: false,
            first: false,
            met: false,
            closes: false,
            ends: false,
            deadline: now,
            heard: now,
        }
    }

    /// The client has sent something, and the card waits for the answer.
    pub fn row(&mut self, text: &[u8], within: Within, now: Instant, timeout: Duration) {
        match within {
            Within::No => {}
            Within::Get => self.input.extend_from_slice(b"get "),
            Within::Gets => self.input.extend_from_slice(b"gets "),
            Within::Mget(left) => {
                let head = format!("*{}\r\n$4\r\nMGET\r\n", u64::from(left) + 1);
                self.input.extend(head.into_bytes());
                self.replies.begun(left);
            }
        }
        self.input.extend_from_slice(text);
        (self.rowed, self.asked, self.first) = (true, true, true);
        (self.heard, self.deadline) = (now, now + timeout);
    }

    /// The card asks for the next piece.
    pub fn ask(&mut self, now: Instant, timeout: Duration) {
        self.asked = true;
        (self.heard, self.deadline) = (now, now + timeout);
    }

    /// Makes commands of what has come.
    pub fn take(&mut self, engine: &Engine, table: &Table) -> Batch {
        let mut batch = Batch::default();
        let taken = match &mut self.speech {
            Speech::Memcached(reader) => reader.take(&self.input, engine, OPAQUE, &mut batch),
            Speech::Redis(reader) => reader.take(&self.input, table, &mut batch),
        };
        self.input.drain(..taken);
        if self.input.is_empty() {
            self.input = Vec::new();
        }
        batch
    }

    /// The server has had a part of a command, or knows what a new connection would not know.
    pub fn is_bound(&self) -> bool {
        match &self.speech {
            Speech::Memcached(reader) => reader.is_within(),
            Speech::Redis(reader) => reader.state || reader.multi,
        }
    }

    pub fn in_transaction(&self) -> bool {
        matches!(&self.speech, Speech::Redis(reader) if reader.multi)
    }

    pub fn is_redis(&self) -> bool {
        self.kind == Kind::Redis
    }

    /// What is answered can be: nothing more is waited for.
    fn is_answered(&self) -> bool {
        self.closes || (!self.busy && !self.holds && self.unsent < UNSENT)
    }

    /// The server has had its time, and the client takes what there is.
    pub fn is_late(&self, now: Instant) -> bool {
        self.is_waiting() && self.asked && now >= self.deadline
    }

    /// It waits for the server, which has a time for that.
    pub fn is_waiting(&self) -> bool {
        self.rowed && !self.blocks && !self.is_answered()
    }

    /// The next piece for the card, if it wants one and there is enough.
    pub fn piece(&mut self) -> Option<Piece> {
        let size = if self.first { FIRST_PIECE } else { MAX_PIECE };
        let done = self.is_answered();
        let enough = done || self.out.len() >= size || (self.blocks && !self.out.is_empty());
        if !self.rowed || !self.asked || !enough {
            return None;
        }
        let rest = self.out.split_off(size.min(self.out.len()));
        let text = std::mem::replace(&mut self.out, rest);
        let last = done && self.out.is_empty();
        (self.asked, self.first, self.met) = (false, false, true);
        self.rowed = !last;
        let all = !self.input.is_empty()
            || match &self.speech {
                Speech::Memcached(reader) => reader.is_within(),
                Speech::Redis(reader) => reader.pinned || reader.multi,
            };
        Some(Piece { text, last, closes: last && self.closes, all })
    }

    /// The connection to the server is over, and the client's with it if that cannot go on with another one.
    fn part(&mut self) {
        (self.id, self.unsent, self.received) = (None, 0, 0);
        (self.holds, self.busy, self.blocks) = (false, false, false);
        self.held = Vec::new();
        self.closes |= self.is_bound();
    }

    /// The server does not answer: the client is told so, as far as that can be.
    pub fn give_up(&mut self) {
        let part = self.replies.is_within();
        match self.kind {
            Kind::Redis if part => self.closes = true,
            Kind::Redis => {
                let error = [b"-ERR ", SILENT, b"\r\n"].concat();
                self.replies.give_up(&error, &mut self.out);
            }
            _ if part || self.came => self.closes = true,
            _ => {
                for want in std::mem::take(&mut self.wants) {
                    self.out.extend(refusal(want));
                }
            }
        }
        self.wants.clear();
        self.came = false;
        self.replies.reset();
        self.part();
    }

    /// The server has closed. Behind what has come of an answer the client is closed, too.
    pub fn end(&mut self) {
        self.closes |= self.busy || self.replies.is_within();
        self.wants.clear();
        self.came = false;
        self.replies.reset();
        self.part();
    }
}

fn refusal(want: Want) -> Vec<u8> {
    match want {
        Want::Text => [b"SERVER_ERROR ", SILENT, b"\r\n"].concat(),
        Want::Binary(opcode, opaque) => {
            let mut packet = vec![0; HEADER];
            (packet[0], packet[1]) = (REPLY, opcode);
            packet[6..8].copy_from_slice(&TEMPORARY.to_be_bytes());
            packet[8..12].copy_from_slice(&(SILENT.len() as u32).to_be_bytes());
            packet[12..16].copy_from_slice(&opaque);
            packet.extend_from_slice(SILENT);
            packet
        }
    }
}
