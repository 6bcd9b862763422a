//! Recognizes the end of an answer in memcached's text protocol, and whether it is right.

use super::{value_byte, Op};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    Hit,
    Miss,
    /// Something else than the request asked for.
    Wrong,
}

/// The first answer in `bytes`, to a request of kind `op`, and its length. None: not all there yet.
pub fn parse(op: Op, bytes: &[u8]) -> Option<(Outcome, usize)> {
    let end = bytes.iter().position(|b| *b == b'\n')? + 1;
    let line = &bytes[..end];
    match op {
        Op::Set if line == b"STORED\r\n" => Some((Outcome::Stored, end)),
        Op::Get if line == b"END\r\n" => Some((Outcome::Miss, end)),
        Op::Get if line.starts_with(b"VALUE ") => {
            let header = std::str::from_utf8(line).ok().map(str::trim_end);
            let len = header.and_then(|h| h.rsplit(' ').next()).and_then(|n| n.parse().ok());
            let Some(len) = len else { return Some((Outcome::Wrong, end)) };
            let rest = &bytes[end..];
            let tail = b"\r\nEND\r\n";
            let whole: usize = end + len + tail.len();
            if bytes.len() < whole {
                return None;
            }
            let ours = rest[..len].iter().enumerate().all(|(n, b)| *b == value_byte(n));
            let right = ours && rest[len..len + tail.len()] == *tail;
            Some((if right { Outcome::Hit } else { Outcome::Wrong }, whole))
        }
        _ => Some((Outcome::Wrong, end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let hit = b"VALUE k 0 3\r\nabc\r\nEND\r\n";
        assert_eq!(parse(Op::Get, hit), Some((Outcome::Hit, hit.len())));
        assert_eq!(
            parse(Op::Get, b"VALUE k 0 3\r\nabd\r\nEND\r\n"),
            Some((Outcome::Wrong, hit.len()))
        );
        assert_eq!(parse(Op::Get, b"END\r\nEND\r\n"), Some((Outcome::Miss, 5)));
        assert_eq!(parse(Op::Set, b"STORED\r\nS"), Some((Outcome::Stored, 8)));
        assert_eq!(parse(Op::Set, b"ERROR\r\n"), Some((Outcome::Wrong, 7)));
        assert_eq!(parse(Op::Get, b"VALUE k 0 x\r\n"), Some((Outcome::Wrong, 13)));
    }

    #[test]
    fn pieces_are_waited_for() {
        let hit = b"VALUE k 0 3\r\nabc\r\nEND\r\n";
        for len in 0..hit.len() {
            assert_eq!(parse(Op::Get, &hit[..len]), None, "{len}");
        }
    }
}
