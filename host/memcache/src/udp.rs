//! memcached over UDP: a datagram has a frame header and whole requests behind it.
//!
//! Each reply is a message of its own, of as many datagrams as it needs.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use wirekv_proto::{Asked, Engine, Next, Out, Parse, Server};

use crate::binary::{Status, REPLY};
use crate::{Op, Session};

/// Request id, sequence number, datagrams in the message, reserved; 16 bits each, big endian.
pub const HEADER: usize = 8;
/// Longest datagram sent, header included.
pub const DATAGRAM: usize = 1400;
const PAYLOAD: usize = DATAGRAM - HEADER;
/// One datagram is answered with at most so many: enough for an item of 1 MiB. The sender's address
/// may be a lie, so whoever is there gets no more. One that says so follows.
pub const ANSWER: usize = 1024;
/// What says so.
pub const TOO_LARGE: &[u8] = b"SERVER_ERROR reply too large for UDP\r\n";
/// Errors sent at once; in the long run one a millisecond. As the card's.
const ERRORS: u32 = 50;
const MEMCACHED: u16 = 11211;
/// Requests in one step.
const STEP: usize = 64;

/// Whether what begins so is a reply, of whatever server: to answer those with errors would be to talk
/// with it for ever.
fn begins_reply(first: u8) -> bool {
    first.is_ascii_uppercase() || first.is_ascii_digit() || first == REPLY
}

/// Whether a datagram of ours tells of an error, by its first letters or its status.
pub fn is_error(datagram: &[u8]) -> bool {
    let Some((header, text)) = datagram.split_at_checked(HEADER) else { return false };
    if header[2..4] != [0, 0] {
        return false;
    }
    is_error_text(text)
}

/// The same of a reply without the frame header.
pub fn is_error_text(text: &[u8]) -> bool {
    let status = text.get(6..8).filter(|_| text[0] == REPLY);
    // Success is 0.
    let usual = [0, Status::NotFound as u16, Status::Exists as u16, Status::NotStored as u16];
    let binary = status.is_some_and(|s| !usual.iter().any(|u| u.to_be_bytes() == s));
    let words = [&b"ERROR"[..], b"CLIENT_ERROR", b"SERVER_ERROR"];
    binary || words.iter().any(|word| text.starts_with(word))
}

/// The frame header of a message's datagram: which request's, which of how many.
pub fn header(id: [u8; 2], sequence: usize, total: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&id);
    header[2..4].copy_from_slice(&(sequence as u16).to_be_bytes());
    header[4..6].copy_from_slice(&(total as u16).to_be_bytes());
    header
}

/// Which errors go out. The sender's address may be a lie, and what is there may answer an error by an
/// error: so they are limited, and none goes to a port where a service may be.
pub struct Errors {
    /// This server's ports.
    own: Vec<u16>,
    left: u32,
    since: Instant,
}

impl Errors {
    /// For a server with these ports.
    pub fn new(own: Vec<u16>, now: Instant) -> Errors {
        Errors { own, left: ERRORS, since: now }
    }

    /// Whether a service may be at a sender's port.
    pub fn is_service(&self, port: u16) -> bool {
        port < 1024 || port == MEMCACHED || self.own.contains(&port)
    }

    /// Whether one more may go.
    pub fn take(&mut self, now: Instant) -> bool {
        let more = now.duration_since(self.since).as_millis() as u32;
        self.since += Duration::from_millis(more.into());
        self.left = self.left.saturating_add(more).min(ERRORS);
        let one = self.left > 0;
        self.left -= u32::from(one);
        one
    }
}

/// A datagram that is being answered, step by step, so that others have their turn in between. Its
/// replies are collected in an [`Out::with_units`].
pub struct Exchange {
    id: [u8; 2],
    session: Session,
    /// Requests were executed up to here, and this one in part.
    at: usize,
    request: Option<Asked<Op>>,
    /// Not everything is answered.
    cut: bool,
    /// What is sent next: a message, and a datagram of it.
    message: usize,
    sequence: usize,
    /// Datagrams that may still be sent.
    left: usize,
}

impl Exchange {
    /// None: it is not a datagram of one, or no request, and gets no answer.
    pub fn new(datagram: &[u8]) -> Option<Exchange> {
        let (header, first) = (datagram.get(..HEADER)?, *datagram.get(HEADER)?);
        // Of a message in several datagrams none is served. Nothing else in the header matters.
        (header[4] == 0 && header[5] == 1 && !begins_reply(first)).then(|| Exchange {
            id: [header[0], header[1]],
            session: Session::default(),
            at: HEADER,
            request: None,
            cut: false,
            message: 0,
            sequence: 0,
            left: ANSWER,
        })
    }

    /// Executes some of the datagram's requests. False: those were the last.
    pub fn execute(
        &mut self,
        datagram: &[u8],
        engine: &mut Engine,
        server: &mut dyn Server,
        out: &mut Out,
    ) -> bool {
        for _ in 0..STEP {
            let input = &datagram[self.at..];
            if input.is_empty() {
                return false;
            }
            self.cut = out.messages() + out.len() / PAYLOAD > ANSWER;
            if self.cut {
                return false;
            }
            let mut request = match self.request.take() {
                Some(request) => request,
                None => match self.session.parse(input, engine) {
                    Parse::Request(request) => request,
                    Parse::Need(_) | Parse::Close => return false,
                },
            };
            match self.session.execute(&mut request, input, engine, server, out) {
                Next::Continue => self.at += request.len as usize,
                // Nothing waits for a datagram.
                Next::Wait | Next::Sleep => {
                    self.session.give_up(engine, out);
                    self.at += request.len as usize;
                }
                Next::Full => self.request = Some(request),
                Next::Again => {
                    self.request = Some(request);
                    return true;
                }
                // There is no connection to close, but the rest is not served.
                Next::Watch | Next::Close => return false,
            }
        }
        true
    }

    /// When all was executed: calls `send` with the parts of the next datagram, frame header first.
    /// None: there is none.
    pub fn send<T>(&mut self, out: &Out, send: impl FnOnce(&[IoSlice<'_>]) -> T) -> Option<T> {
        // Even a payload of single bytes and pins between them cannot have more parts.
        let mut parts = [IoSlice::new(&[]); 8];
        let Some(message) = out.message(self.message).filter(|_| self.message < usize::MAX) else {
            // A text says nothing to a client that speaks binary.
            if !std::mem::take(&mut self.cut) || self.session.dialect().speaks_binary() {
                return None;
            }
            let header = header(self.id, 0, 1);
            return Some(send(&[IoSlice::new(&header), IoSlice::new(TOO_LARGE)]));
        };
        let total = message.len().div_ceil(PAYLOAD);
        if self.sequence == 0 {
            if total > self.left {
                self.cut = true;
                self.message = usize::MAX;
                return self.send(out, send);
            }
            self.left -= total;
        }
        let header = header(self.id, self.sequence, total);
        parts[0] = IoSlice::new(&header);
        let from = message.start + self.sequence * PAYLOAD;
        let to = message.end.min(from + PAYLOAD);
        let count = out.slices_of(from..to, &mut parts[1..]);
        self.sequence += 1;
        if self.sequence == total {
            (self.message, self.sequence) = (self.message + 1, 0);
        }
        Some(send(&parts[..=count]))
    }
}
