//! A server's replies: which of them have come, and what the client gets of them.

use std::collections::VecDeque;

use memchr::memchr;
use wirekv_memcache::binary::opcode::NOOP;
use wirekv_memcache::binary::{HEADER, REPLY};

use crate::batch::Mark;
use crate::value::number;

/// A longer line than this is no reply.
const MAX_LINE: usize = 64 << 10;

/// How a connection's replies are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Binary,
    Redis,
}

/// What came is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// Of one connection.
pub struct Replies {
    kind: Kind,
    /// Those that are still to come. The host's own is given when it is the next.
    marks: VecDeque<Mark>,
    /// The begin of a line, or of a header.
    held: Vec<u8>,
    /// Bytes of a value that pass as they are.
    skip: u64,
    /// Of a reply of Redis' protocol: parts that are still to come, and whether it has a mark.
    parts: u64,
    counts: bool,
    /// The client has the next reply's first line, of an array with so many elements.
    begun: Option<u32>,
}

impl Replies {
    pub fn new(kind: Kind) -> Replies {
        let marks = VecDeque::new();
        Replies { kind, marks, held: Vec::new(), skip: 0, parts: 0, counts: false, begun: None }
    }

    /// The client has the first line of the next reply: of so many elements.
    pub fn begun(&mut self, elements: u32) {
        self.begun = Some(elements);
    }

    /// The next ones are of another connection.
    pub fn reset(&mut self) {
        *self = Replies { begun: self.begun, ..Replies::new(self.kind) };
    }

    /// More replies are to come.
    pub fn expect(&mut self, marks: VecDeque<Mark>, out: &mut Vec<u8>) {
        self.marks.extend(marks);
        self.own(out);
    }

    /// All have come.
    pub fn done(&self) -> bool {
        self.marks.is_empty()
    }

    /// One has come in part.
    pub fn is_within(&self) -> bool {
        self.skip > 0 || self.parts > 0 || !self.held.is_empty()
    }

    /// The server will not answer: what is missing is said to be an error. Of Redis' protocol.
    pub fn give_up(&mut self, error: &[u8], out: &mut Vec<u8>) {
        for mark in std::mem::take(&mut self.marks) {
            match mark {
                Mark::Host(text) => out.extend(text),
                Mark::Server => self.say(error, out),
            }
        }
    }

    /// An error instead of a reply.
    fn say(&mut self, error: &[u8], out: &mut Vec<u8>) {
        for _ in 0..self.begun.take().unwrap_or(1) {
            out.extend_from_slice(error);
        }
    }

    /// The host's own replies, as far as it is their turn. memcached's have a command at the server.
    fn own(&mut self, out: &mut Vec<u8>) {
        while self.kind == Kind::Redis {
            match self.marks.front_mut() {
                Some(Mark::Host(text)) => out.append(text),
                _ => return,
            }
            self.marks.pop_front();
        }
    }

    /// Takes what came from the server; the client's part of it is added to `out`.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Nonsense> {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let here = self.skip.min(bytes.len() as u64) as usize;
                out.extend_from_slice(&bytes[..here]);
                bytes = &bytes[here..];
                self.skip -= here as u64;
                self.end(out);
                continue;
            }
            let wanted = match self.kind {
                Kind::Binary => HEADER - self.held.len(),
                _ => memchr(b'\n', bytes).map_or(usize::MAX, |end| end + 1),
            };
            let here = wanted.min(bytes.len());
            self.held.extend_from_slice(&bytes[..here]);
            bytes = &bytes[here..];
            if self.held.len() > MAX_LINE {
                return Err(Nonsense);
            }
            if here == wanted {
                let line = std::mem::take(&mut self.held);
                match self.kind {
                    Kind::Text => self.line(line, out)?,
                    Kind::Binary => self.header(line, out)?,
                    Kind::Redis => self.part(line, out)?,
                }
            }
        }
        Ok(())
    }

    /// A mark's reply has come.
    fn mark(&mut self, reply: Vec<u8>, out: &mut Vec<u8>) -> Result<(), Nonsense> {
        match self.marks.pop_front().ok_or(Nonsense)? {
            Mark::Server => out.extend(reply),
            Mark::Host(text) => out.extend(text),
        }
        Ok(())
    }

    fn line(&mut self, line: Vec<u8>, out: &mut Vec<u8>) -> Result<(), Nonsense> {
        if line == b"MN\r\n" {
            return self.mark(line, out);
        }
        let mut words = line[..line.len() - 1].split(|byte| *byte == b' ');
        let len = match words.next() {
            Some(b"VALUE") => words.nth(2),
            Some(b"VA") => words.next(),
            _ => None,
        };
        if let Some(len) = len {
            let len = number(len.strip_suffix(b"\r").unwrap_or(len)).ok_or(Nonsense)?;
            self.skip = u64::try_from(len).map_err(|_| Nonsense)? + 2;
        }
        out.extend(line);
        Ok(())
    }

    fn header(&mut self, header: Vec<u8>, out: &mut Vec<u8>) -> Result<(), Nonsense> {
        if header[0] != REPLY {
            return Err(Nonsense);
        }
        self.skip = u32::from_be_bytes([header[8], header[9], header[10], header[11]]).into();
        if header[1] == NOOP && self.skip == 0 {
            return self.mark(header, out);
        }
        out.extend(header);
        Ok(())
    }

    /// A line of Redis' protocol.
    fn part(&mut self, line: Vec<u8>, out: &mut Vec<u8>) -> Result<(), Nonsense> {
        let first = self.parts == 0;
        if first {
            (self.parts, self.counts) = (1, line[0] != b'>');
        }
        let text = line[1..].strip_suffix(b"\r\n").ok_or(Nonsense)?;
        let size = || {
            let size = number(text).ok_or(Nonsense)?;
            Ok(u64::try_from(size).unwrap_or(0))
        };
        let more = match line[0] {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => 0,
            b'$' | b'=' | b'!' => {
                if text != b"-1" {
                    self.skip = size()? + 2;
                }
                0
            }
            b'*' | b'~' | b'>' => size()?,
            b'%' => size()?.saturating_mul(2),
            // Before what it is about.
            b'|' => size()?.saturating_mul(2).saturating_add(1),
            _ => return Err(Nonsense),
        };
        self.parts = (self.parts - 1).saturating_add(more);
        if !first || !self.counts || self.begun.is_none() {
            out.extend(line);
        } else if line[0] == b'*' && Some(more) == self.begun.map(u64::from) {
            self.begun = None;
        } else if line[0] == b'-' {
            self.say(&line, out);
        } else {
            return Err(Nonsense);
        }
        self.end(out);
        Ok(())
    }

    /// Whether a reply of Redis' protocol has ended.
    fn end(&mut self, out: &mut Vec<u8>) {
        if self.kind == Kind::Redis && self.parts == 0 && self.skip == 0 && self.counts {
            // One that nobody asked for passes.
            self.marks.pop_front();
            self.counts = false;
            self.own(out);
        }
    }
}
