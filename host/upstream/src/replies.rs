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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the client gets of a stream that comes in pieces, and how much of it there was when all was answered.
    fn fed(kind: Kind, marks: &[Mark], pieces: &[&[u8]]) -> (Vec<u8>, Option<usize>) {
        let (mut replies, mut out, mut came, mut done) = (Replies::new(kind), Vec::new(), 0, None);
        replies.expect(marks.iter().cloned().collect(), &mut out);
        for piece in pieces {
            replies.feed(piece, &mut out).unwrap();
            came += piece.len();
            if replies.done() && done.is_none() {
                done = Some(came);
            }
        }
        assert!(!replies.is_within());
        (out, done)
    }

    fn check(kind: Kind, marks: &[Mark], stream: &[u8], expected: &[u8]) {
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        let whole = (expected.to_vec(), Some(stream.len()));
        assert_eq!(fed(kind, marks, &bytes), whole);
        for cut in 1..stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert_eq!(fed(kind, marks, &[head, tail]), whole, "{cut}");
        }
    }

    fn host(text: &[u8]) -> Mark {
        Mark::Host(text.to_vec())
    }

    #[test]
    fn text() {
        let values = b"VALUE a 0 4\r\nMN\r\n\r\nVALUE b 1 0 77\r\n\r\nEND\r\nVA 4 f1\r\nMN\r\n\r\nSTORED\r\n";
        let stream = [&values[..], b"MN\r\nEN\r\nMN\r\nHD\r\nMN\r\n"].concat();
        let marks = [Mark::Server, host(b"no\r\n"), host(b"")];
        check(Kind::Text, &marks, &stream, &[&values[..], b"MN\r\nEN\r\nno\r\nHD\r\n"].concat());
    }

    #[test]
    fn binary() {
        let packet = |opcode, body: &[u8]| {
            let mut packet = vec![0; HEADER];
            (packet[0], packet[1], packet[11]) = (REPLY, opcode, body.len() as u8);
            [&packet, body].concat()
        };
        let value = packet(0, &[REPLY; 30]);
        let stream = [value.clone(), packet(NOOP, b""), value.clone(), packet(NOOP, b"")].concat();
        let expected = [value.clone(), packet(NOOP, b""), value].concat();
        check(Kind::Binary, &[Mark::Server, host(b"")], &stream, &expected);
    }

    #[test]
    fn redis() {
        for reply in [
            "+OK\r\n",
            "-ERR x\r\n",
            ":1\r\n",
            "$-1\r\n",
            "$0\r\n\r\n",
            "$4\r\n+OK\n\r\n",
            "*-1\r\n",
            "*0\r\n",
            "*2\r\n*1\r\n$1\r\na\r\n:2\r\n",
            "%1\r\n+a\r\n~2\r\n:1\r\n#t\r\n",
            "=7\r\ntxt:abc\r\n",
            "|1\r\n+a\r\n:1\r\n*1\r\n,1.5\r\n",
            "(12345678901234567890\r\n",
            "_\r\n",
            "!3\r\nERR\r\n",
        ] {
            let push = ">2\r\n+message\r\n*1\r\n:1\r\n";
            let stream = format!("{push}{reply}+OK\r\n");
            let expected = format!("<{push}{reply}!+OK\r\n>");
            let marks = [host(b"<"), Mark::Server, host(b"!"), Mark::Server, host(b">")];
            check(Kind::Redis, &marks, stream.as_bytes(), expected.as_bytes());
        }
    }

    #[test]
    fn an_array_that_was_begun() {
        for (reply, text) in [
            (&b"*2\r\n$1\r\na\r\n$-1\r\n"[..], Ok(&b"$1\r\na\r\n$-1\r\n"[..])),
            (b"-LOADING x\r\n", Ok(b"-LOADING x\r\n-LOADING x\r\n")),
            (b"*3\r\n", Err(Nonsense)),
            (b"+OK\r\n", Err(Nonsense)),
        ] {
            let (mut replies, mut out) = (Replies::new(Kind::Redis), Vec::new());
            replies.begun(2);
            replies.expect([Mark::Server].into(), &mut out);
            let fed = replies.feed(reply, &mut out);
            assert_eq!(fed.map(|()| &out[..]), text);
        }
    }

    #[test]
    fn nonsense() {
        for (kind, text) in [
            (Kind::Text, &b"VALUE a 0 x\r\n"[..]),
            (Kind::Text, b"VALUE a 0 -1\r\n"),
            (Kind::Text, b"MN\r\nMN\r\n"),
            (Kind::Text, &[b'x'; MAX_LINE + 1]),
            (Kind::Binary, &[0; HEADER]),
            (Kind::Redis, b"HTTP/1.1\r\n"),
            (Kind::Redis, b"*x\r\n"),
            (Kind::Redis, b"$1\n"),
        ] {
            let (mut replies, mut out) = (Replies::new(kind), Vec::new());
            replies.expect([Mark::Server].into(), &mut out);
            assert_eq!(replies.feed(text, &mut out), Err(Nonsense), "{}", text.escape_ascii());
        }
    }
}
