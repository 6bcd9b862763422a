//! The exception queue: requests the hardware does not know come as packets, and answers go back.
//!
//! A request is a header (a beat of 64 bytes: tag, length of the text, flags) and the request's
//! words, one space apart. An answer is a row of pieces, each a header (the tag, the piece's
//! length, flags) and up to 1024 bytes.

use crate::stats::Stats;

const BEAT: usize = 64;
const MAX_PIECE: usize = 1024;
const FINAL: u8 = 1;

/// A request as the hardware handed it over.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    tag: [u8; 4],
    pub text: &'a [u8],
    pub udp: bool,
}

impl Request<'_> {
    /// None for a packet that is no request; the hardware makes none of these.
    pub fn parse(packet: &[u8]) -> Option<Request<'_>> {
        let (head, text) = packet.split_at_checked(BEAT)?;
        Some(Request {
            tag: head[..4].try_into().ok()?,
            text: text.get(..usize::from(head[4]))?,
            udp: head[5] & 1 != 0,
        })
    }

    /// The packets that carry an answer back.
    pub fn answer(&self, text: &[u8], mut send: impl FnMut(&[u8])) {
        let mut rest = text;
        loop {
            let (piece, after) = rest.split_at(rest.len().min(MAX_PIECE));
            let mut packet = vec![0; BEAT];
            packet[..4].copy_from_slice(&self.tag);
            packet[4..6].copy_from_slice(&(piece.len() as u16).to_le_bytes());
            packet[6] = if after.is_empty() { FINAL } else { 0 };
            packet.extend(piece);
            send(&packet);
            if after.is_empty() {
                return;
            }
            rest = after;
        }
    }
}

/// What the program says to a request that the hardware leaves to it.
pub fn reply(text: &[u8], stats: &mut Stats) -> Vec<u8> {
    let mut words = text.split(|b| *b == b' ').filter(|w| !w.is_empty());
    match words.next() {
        Some(b"stats") => stats.reply(words.next(), words.next()),
        Some(b"shutdown") => b"ERROR: shutdown not enabled\r\n".to_vec(),
        _ => b"ERROR\r\n".to_vec(),
    }
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
        let packet = request(b"x");
        let r = Request::parse(&packet).unwrap();
        for len in [0usize, 1, 1023, 1024, 1025, 3000] {
            let text: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let mut joined = Vec::new();
            let mut finals = Vec::new();
            r.answer(&text, |p| {
                let n = usize::from(u16::from_le_bytes([p[4], p[5]]));
                assert_eq!(p[..4], [1, 2, 3, 4]);
                assert_eq!(p.len(), BEAT + n);
                joined.extend_from_slice(&p[BEAT..]);
                finals.push(p[6] & FINAL != 0);
            });
            assert_eq!(joined, text);
            assert_eq!(finals.len(), len.div_ceil(MAX_PIECE).max(1));
            assert_eq!(finals.iter().position(|f| *f), Some(finals.len() - 1));
        }
    }
}
