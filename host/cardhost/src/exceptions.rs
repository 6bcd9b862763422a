//! The punt queue: requests the hardware does not know come as packets, and answers go back.
//!
//! A request is a header (a beat of 64 bytes: tag, length of the text, flags) and the request's
//! words, one space apart; or a request of the binary protocol as it came. An answer is a row of
//! pieces, each a header (the tag, the piece's length, flags) and up to 512 bytes, from the second one on 2,048. One piece
//! is sent for each request; the card asks for the next one, by a request without text, when the client has taken enough of what came before.

use std::collections::HashMap;

use crate::dump::Dump;

const BEAT: usize = 64;
const FIRST_PIECE: usize = 512;
pub const MAX_PIECE: usize = 2048;
const FINAL: u8 = 1;
const CLOSE: u8 = 2;
const RESP3: u8 = 4;
const ALL: u8 = 8;
// A question about a connection.
const ABOUT: u8 = 16;
const TOLD: u8 = 4;
const KILL: u8 = 32;
const STRANGER: u8 = 64;
/// Of the request port's connection.
const PORT_TAG: Tag = [0xff, 0x3f, 0, 0];

/// Names a connection of the card. A later one may have the same.
pub type Tag = [u8; 4];

/// A request as the hardware handed it over.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub tag: Tag,
    pub text: &'a [u8],
    pub udp: bool,
    /// A command of Redis' protocol, or a part of it.
    pub resp: bool,
    /// More parts of it follow.
    pub more: bool,
    /// The connection has asked for nothing before.
    pub stranger: bool,
    /// The command begins.
    pub begins: bool,
    /// Gates run nothing of the connection.
    pub all: bool,
    /// The database that the connection is in.
    pub db: u8,
    /// What its first bytes go on with, and how much of that is left: before another server alone.
    pub goes_on: (u8, u32),
    /// The card's clock when it came.
    pub came: u64,
}

/// What the card is to know of a connection from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// It speaks RESP3.
    pub resp3: bool,
    /// All it asks for is handed over here.
    pub all: bool,
    pub db: u8,
}

impl Request<'_> {
    /// None for a packet that is no request; the hardware makes none of these.
    pub fn parse(packet: &[u8]) -> Option<Request<'_>> {
        let (head, text) = packet.split_at_checked(BEAT)?;
        Some(Request {
            tag: head[..4].try_into().ok()?,
            text: text.get(..usize::from(head[4]))?,
            udp: head[5] & 1 != 0,
            resp: head[5] & 2 != 0,
            more: head[5] & 4 != 0,
            stranger: head[5] & 8 != 0,
            begins: head[5] & 16 != 0,
            all: head[5] & 32 != 0,
            db: head[6] & 15,
            goes_on: (head[7] & 3, u32::from_le_bytes(head[8..12].try_into().ok()?)),
            came: 0,
        })
    }
}

/// Bytes of answers that wait for their clients. With more of them whoever has waited longest loses its
/// connection.
const MAX_HELD: usize = 64 << 20;

/// Bytes of an answer, and what tells more.
pub type Part = (Vec<u8>, Option<Dump>);

/// What is left of answers whose connections have not asked for the next piece yet. What a lost
/// connection did not take stays until the next one of its tag asks for something, or others need the room.
#[derive(Default)]
pub struct Answers {
    rests: HashMap<Tag, Rest>,
    /// Bytes of all of them.
    held: usize,
    /// Pieces that there were.
    pieces: u64,
}

#[derive(Default)]
struct Rest {
    text: Vec<u8>,
    /// What tells more, behind that.
    dump: Option<Dump>,
    /// So much of it has gone out.
    at: usize,
    /// The connection is closed behind it.
    closes: bool,
    /// The number of its last piece.
    piece: u64,
}

impl Answers {
    /// The packet with the first piece of an answer; without one, with the next piece of the last. Behind it the
    /// connection is closed if the answer says so.
    pub fn packet(
        &mut self,
        tag: Tag,
        context: Context,
        answer: Option<(Vec<u8>, bool)>,
    ) -> Vec<u8> {
        let rest = self.take(tag);
        let new = |(text, closes)| Rest { text, closes, ..Rest::default() };
        let most = if answer.is_some() { FIRST_PIECE } else { MAX_PIECE };
        self.send(tag, context, answer.map_or(rest, new), most)
    }

    /// The same of an answer that goes on.
    pub fn begin(&mut self, tag: Tag, context: Context, (text, dump): Part) -> Vec<u8> {
        self.take(tag);
        self.send(tag, context, Rest { text, dump, ..Rest::default() }, FIRST_PIECE)
    }

    /// What has to tell more before the next piece goes out; then `go_on` has that.
    pub fn dump(&mut self, tag: Tag) -> Option<Dump> {
        let rest = self.rests.get_mut(&tag)?;
        (rest.text.len() - rest.at < MAX_PIECE).then(|| rest.dump.take()).flatten()
    }

    pub fn go_on(&mut self, tag: Tag, (text, dump): Part) {
        let rest = self.rests.entry(tag).or_default();
        self.held -= rest.text.len();
        rest.text.drain(..rest.at);
        rest.text.extend(text);
        (rest.at, rest.dump) = (0, dump);
        self.held += rest.text.len();
    }

    fn take(&mut self, tag: Tag) -> Rest {
        let rest = self.rests.remove(&tag).unwrap_or_default();
        self.held -= rest.text.len();
        rest
    }

    fn send(&mut self, tag: Tag, context: Context, mut rest: Rest, most: usize) -> Vec<u8> {
        let end = rest.text.len().min(rest.at + most);
        let last = end == rest.text.len() && rest.dump.is_none();
        let packet = piece(tag, context, &rest.text[rest.at..end], last, rest.closes);
        if last {
            return packet;
        }
        self.pieces += 1;
        (rest.at, rest.piece) = (end, self.pieces);
        self.held += rest.text.len();
        self.rests.insert(tag, rest);
        while self.held > MAX_HELD {
            let waits = self.rests.values_mut().filter(|rest| !rest.text.is_empty());
            let Some(slowest) = waits.min_by_key(|rest| rest.piece) else { break };
            self.held -= slowest.text.len();
            // Instead of the next piece it gets the end.
            *slowest = Rest { closes: true, ..Rest::default() };
        }
        packet
    }
}

/// The packet with a piece of an answer, which is the last one or not; behind that the connection is closed if the answer
/// says so.
pub fn piece(tag: Tag, context: Context, text: &[u8], last: bool, closes: bool) -> Vec<u8> {
    let mut packet = vec![0; BEAT];
    packet[..4].copy_from_slice(&tag);
    packet[4..6].copy_from_slice(&(text.len() as u16).to_le_bytes());
    packet[6] = (context.resp3 as u8 * RESP3) | (context.all as u8 * ALL);
    packet[6] |= (last as u8 * FINAL) | ((last && closes) as u8 * CLOSE);
    packet[7] = context.db;
    packet.extend(text);
    packet
}

/// Asks whether there is a connection; `stranger`: one that had no answer yet, else one that had;
/// `told`: one that there was when this was asked before. `kill`: it is closed then.
pub fn question(tag: Tag, stranger: bool, told: bool, kill: bool) -> Vec<u8> {
    let mut packet = vec![0; BEAT];
    packet[..4].copy_from_slice(&tag);
    packet[6] = ABOUT | (kill as u8 * KILL) | (stranger as u8 * STRANGER) | (told as u8 * TOLD);
    packet
}

/// Whether a request is the request port's own, which gates do not know; and what is said to that.
pub fn is_port_tag(packet: &[u8]) -> bool {
    packet.starts_with(&PORT_TAG)
}

pub fn refusal(packet: &[u8]) -> Option<Vec<u8>> {
    let request = Request::parse(packet).filter(|request| !request.more)?;
    let answer = (b"-ERR this card does not know it\r\n".to_vec(), false);
    Some(Answers::default().packet(request.tag, Context::default(), Some(answer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; BEAT];
        packet[..4].copy_from_slice(&[1, 2, 3, 4]);
        packet[4] = text.len() as u8;
        packet[5] = 1;
        packet.extend(text);
        packet
    }

    #[test]
    fn parsing() {
        let packet = request(b"stats items");
        let r = Request::parse(&packet).unwrap();
        assert_eq!((r.text, r.udp, r.tag), (&b"stats items"[..], true, [1, 2, 3, 4]));
        assert_eq!(Request::parse(&packet[..63]), None);
        assert_eq!(Request::parse(&packet[..70]), None);
    }

    #[test]
    fn answers_are_cut_into_pieces() {
        let tag = [1, 2, 3, 4];
        let mut answers = Answers::default();
        // What a lost connection left is nobody else's.
        let _ = answers.packet(tag, Context::default(), Some((vec![b'?'; 5000], true)));
        for len in [0usize, 1, 511, 512, 513, 2560, 2561, 9000] {
            let text: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let mut joined = Vec::new();
            let mut finals = Vec::new();
            while !finals.contains(&true) {
                let answer = finals.is_empty().then(|| (text.clone(), len == 513));
                let p = answers.packet(tag, Context::default(), answer);
                let n = usize::from(u16::from_le_bytes([p[4], p[5]]));
                assert_eq!(p[..4], [1, 2, 3, 4]);
                assert_eq!(p.len(), BEAT + n);
                joined.extend_from_slice(&p[BEAT..]);
                finals.push(p[6] & FINAL != 0);
                assert_eq!(p[6] & CLOSE != 0, finals.last() == Some(&true) && len == 513);
            }
            assert_eq!(joined, text);
            assert_eq!(finals.len(), 1 + len.saturating_sub(FIRST_PIECE).div_ceil(MAX_PIECE));
            assert!(answers.rests.is_empty());
        }
    }

    #[test]
    fn who_does_not_read_makes_room() {
        let mut answers = Answers::default();
        let mut says = |n: u8, text: &[u8]| {
            let answer = (!text.is_empty()).then(|| (vec![b'?'; MAX_HELD / 4], false));
            answers.packet([n, 2, 3, 4], Context::default(), answer)[4..7].to_vec()
        };
        let (first, piece, closed) = ([0, 2, 0], [0, 8, 0], [0, 0, FINAL | CLOSE]);
        for n in 1..=4 {
            assert_eq!(says(n, b"x"), first);
        }
        assert_eq!(says(1, b""), piece);
        // 2 has waited longest.
        assert_eq!(says(5, b"x"), first);
        assert_eq!(says(2, b""), closed);
        for n in [1, 3, 4, 5] {
            assert_eq!(says(n, b""), piece, "{n}");
        }
        assert!(answers.held <= MAX_HELD && answers.rests.len() == 4);
    }
}
