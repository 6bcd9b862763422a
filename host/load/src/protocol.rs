//! Requests and answers in memcached's text and binary protocols and in RESP.

use clap::ValueEnum;

use crate::Op;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    #[value(name = "memcache_text")]
    MemcacheText,
    #[value(name = "memcache_binary")]
    MemcacheBinary,
    /// RESP2.
    #[value(name = "redis")]
    Redis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    Hit,
    Miss,
    /// A SET for which the server found no memory.
    Refused,
    /// Something else than the request asked for.
    Wrong,
}

const BINARY_HEADER: usize = 24;
const BINARY_GET: u8 = 0x00;
const BINARY_SET: u8 = 0x01;
const BINARY_NO_MEMORY: u16 = 0x82;

/// A protocol, and the bytes that all values are prefixes of: what a GET brings back is checked.
pub struct Wire {
    protocol: Protocol,
    pattern: Vec<u8>,
    /// Seconds that what is stored lives; 0: for ever.
    expiry: u32,
}

impl Wire {
    /// For values up to `longest` bytes.
    pub fn new(protocol: Protocol, longest: usize) -> Wire {
        let pattern = (0..longest).map(|n| b'a' + (n % 26) as u8).collect();
        Wire { protocol, pattern, expiry: 0 }
    }

    /// What is stored lives so many seconds; 0: for ever.
    pub fn expiring(self, expiry: u32) -> Wire {
        Wire { expiry, ..self }
    }

    /// Appends a GET.
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) {
        match self.protocol {
            Protocol::MemcacheText => {
                out.extend_from_slice(b"get ");
                out.extend_from_slice(key);
                out.extend_from_slice(b"\r\n");
            }
            Protocol::MemcacheBinary => binary(BINARY_GET, &[], key, &[], out),
            Protocol::Redis => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n$");
                resp_string(key, out);
            }
        }
    }

    /// Appends a SET of `value_len` bytes.
    pub fn set(&self, key: &[u8], value_len: usize, out: &mut Vec<u8>) {
        let value = &self.pattern[..value_len];
        match self.protocol {
            Protocol::MemcacheText => {
                out.extend_from_slice(b"set ");
                out.extend_from_slice(key);
                out.extend_from_slice(b" 0 ");
                decimal(self.expiry.into(), 1, out);
                out.push(b' ');
                decimal(value_len as u64, 1, out);
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
            Protocol::MemcacheBinary => {
                // Flags and expiry.
                let extras = u64::from(self.expiry).to_be_bytes();
                binary(BINARY_SET, &extras, key, value, out);
            }
            Protocol::Redis => {
                let words: &[u8] = if self.expiry > 0 { b"*5" } else { b"*3" };
                out.extend_from_slice(words);
                out.extend_from_slice(b"\r\n$3\r\nSET\r\n$");
                resp_string(key, out);
                out.push(b'$');
                resp_string(value, out);
                if self.expiry > 0 {
                    out.extend_from_slice(b"$2\r\nEX\r\n$");
                    resp_string(self.expiry.to_string().as_bytes(), out);
                }
            }
        }
    }

    /// The first answer in `bytes`, to a request of kind `op`, and its length. None: not all there
    /// yet. A GET that hits must bring `value_len` bytes where that is given.
    pub fn parse(
        &self,
        op: Op,
        value_len: Option<usize>,
        bytes: &[u8],
    ) -> Option<(Outcome, usize)> {
        let (value, outcome, whole) = match self.protocol {
            Protocol::MemcacheText => parse_text(op, bytes)?,
            Protocol::MemcacheBinary => parse_binary(op, bytes)?,
            Protocol::Redis => parse_resp(op, bytes)?,
        };
        let right = outcome != Outcome::Hit
            || (value_len.is_none_or(|len| len == value.len())
                && self.pattern.get(..value.len()) == Some(value));
        Some((if right { outcome } else { Outcome::Wrong }, whole))
    }
}

/// Appends a number, with zeros in front to at least `width` digits.
pub fn decimal(mut number: u64, width: usize, out: &mut Vec<u8>) {
    const LONGEST: usize = 20;
    let mut digits = [b'0'; LONGEST];
    let mut first = LONGEST;
    while number > 0 {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    for _ in LONGEST..width {
        out.push(b'0');
    }
    out.extend_from_slice(&digits[first.min(LONGEST.saturating_sub(width))..]);
}

fn resp_string(bytes: &[u8], out: &mut Vec<u8>) {
    decimal(bytes.len() as u64, 1, out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn binary(opcode: u8, extras: &[u8], key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let mut header = [0; BINARY_HEADER];
    header[0] = 0x80;
    header[1] = opcode;
    header[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
    header[4] = extras.len() as u8;
    let body = (extras.len() + key.len() + value.len()) as u32;
    header[8..12].copy_from_slice(&body.to_be_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(extras);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

type Parsed<'a> = Option<(&'a [u8], Outcome, usize)>;

fn wrong<'a>(len: usize) -> Parsed<'a> {
    Some((&[], Outcome::Wrong, len))
}

fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + usize::from(d - b'0')))
}

fn line_end(bytes: &[u8]) -> Option<usize> {
    Some(bytes.iter().position(|b| *b == b'\n')? + 1)
}

fn parse_text(op: Op, bytes: &[u8]) -> Parsed<'_> {
    let end = line_end(bytes)?;
    let line = &bytes[..end];
    match op {
        Op::Set if line == b"STORED\r\n" => Some((&[], Outcome::Stored, end)),
        Op::Set if line.starts_with(b"SERVER_ERROR out of memory") => {
            Some((&[], Outcome::Refused, end))
        }
        Op::Get if line == b"END\r\n" => Some((&[], Outcome::Miss, end)),
        Op::Get if line.starts_with(b"VALUE ") => {
            let header = line.strip_suffix(b"\r\n").unwrap_or(line);
            let Some(len) = header.rsplit(|b| *b == b' ').next().and_then(number) else {
                return wrong(end);
            };
            let tail = b"\r\nEND\r\n";
            let rest = bytes[end..].get(..len + tail.len())?;
            let (value, found) = rest.split_at(len);
            let outcome = if found == tail { Outcome::Hit } else { Outcome::Wrong };
            Some((value, outcome, end + len + tail.len()))
        }
        _ => wrong(end),
    }
}

fn parse_binary(op: Op, bytes: &[u8]) -> Parsed<'_> {
    let header = bytes.get(..BINARY_HEADER)?;
    let short = |n: usize| u16::from_be_bytes([header[n], header[n + 1]]);
    let body = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let whole = BINARY_HEADER + body;
    if header[0] != 0x81 {
        return wrong(bytes.len());
    }
    let body = bytes.get(BINARY_HEADER..whole)?;
    let opcode = if op == Op::Get { BINARY_GET } else { BINARY_SET };
    if header[1] != opcode {
        return wrong(whole);
    }
    match (op, short(6)) {
        (Op::Set, 0) => Some((&[], Outcome::Stored, whole)),
        (Op::Set, BINARY_NO_MEMORY) => Some((&[], Outcome::Refused, whole)),
        (Op::Get, 0) => {
            let before = usize::from(header[4]) + usize::from(short(2));
            body.get(before..).map_or(wrong(whole), |value| Some((value, Outcome::Hit, whole)))
        }
        (Op::Get, 1) => Some((&[], Outcome::Miss, whole)),
        _ => wrong(whole),
    }
}

fn parse_resp(op: Op, bytes: &[u8]) -> Parsed<'_> {
    let end = line_end(bytes)?;
    let line = &bytes[..end];
    match op {
        Op::Set if line == b"+OK\r\n" => Some((&[], Outcome::Stored, end)),
        Op::Set if line.starts_with(b"-OOM ") => Some((&[], Outcome::Refused, end)),
        Op::Get if line == b"$-1\r\n" => Some((&[], Outcome::Miss, end)),
        Op::Get if line[0] == b'$' => {
            let Some(len) = line[1..].strip_suffix(b"\r\n").and_then(number) else {
                return wrong(end);
            };
            let rest = bytes[end..].get(..len + 2)?;
            let outcome = if &rest[len..] == b"\r\n" { Outcome::Hit } else { Outcome::Wrong };
            Some((&rest[..len], outcome, end + len + 2))
        }
        _ => wrong(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Protocol; 3] = [Protocol::MemcacheText, Protocol::MemcacheBinary, Protocol::Redis];

    /// A hit on "k" with "abc", a miss, and the answer to a SET.
    fn answers(protocol: Protocol) -> [Vec<u8>; 3] {
        let binary = |opcode, status, extras: &[u8], value: &[u8]| {
            let mut out = Vec::new();
            super::binary(opcode, extras, b"", value, &mut out);
            out[0] = 0x81;
            out[7] = status;
            out
        };
        match protocol {
            Protocol::MemcacheText => [
                b"VALUE k 0 3\r\nabc\r\nEND\r\n".to_vec(),
                b"END\r\n".to_vec(),
                b"STORED\r\n".to_vec(),
            ],
            Protocol::MemcacheBinary => [
                binary(BINARY_GET, 0, &[0; 4], b"abc"),
                binary(BINARY_GET, 1, &[], b"Not found"),
                binary(BINARY_SET, 0, &[], b""),
            ],
            Protocol::Redis => {
                [b"$3\r\nabc\r\n".to_vec(), b"$-1\r\n".to_vec(), b"+OK\r\n".to_vec()]
            }
        }
    }

    #[test]
    fn answers_are_known() {
        for protocol in ALL {
            let wire = Wire::new(protocol, 8);
            let [hit, miss, stored] = answers(protocol);
            let more = |bytes: &[u8]| [bytes, b"STORED\r\n"].concat();
            let known = |op, bytes: &[u8]| wire.parse(op, Some(3), &more(bytes));
            assert_eq!(known(Op::Get, &hit), Some((Outcome::Hit, hit.len())), "{protocol:?}");
            assert_eq!(known(Op::Get, &miss), Some((Outcome::Miss, miss.len())), "{protocol:?}");
            let answer = Some((Outcome::Stored, stored.len()));
            assert_eq!(known(Op::Set, &stored), answer, "{protocol:?}");
        }
    }

    #[test]
    fn wrong_answers_are_seen() {
        for protocol in ALL {
            let wire = Wire::new(protocol, 8);
            let [hit, _, stored] = answers(protocol);
            let is_wrong = |op, len, bytes: &[u8]| {
                wire.parse(op, len, bytes).map(|(outcome, _)| outcome) == Some(Outcome::Wrong)
            };
            assert!(is_wrong(Op::Get, Some(4), &hit), "{protocol:?}");
            assert!(is_wrong(Op::Get, None, &stored), "{protocol:?}");
            let mut other = hit.clone();
            let at = other.iter().position(|b| *b == b'b').unwrap();
            other[at] = b'x';
            assert!(is_wrong(Op::Get, None, &other), "{protocol:?}");
        }
        let text = Wire::new(Protocol::MemcacheText, 8);
        assert_eq!(text.parse(Op::Set, None, b"ERROR\r\n"), Some((Outcome::Wrong, 7)));
        assert_eq!(text.parse(Op::Get, None, b"VALUE k 0 x\r\n"), Some((Outcome::Wrong, 13)));
        let resp = Wire::new(Protocol::Redis, 8);
        assert_eq!(resp.parse(Op::Get, None, b"$x\r\n"), Some((Outcome::Wrong, 4)));
        assert_eq!(resp.parse(Op::Set, None, b"-ERR\r\n"), Some((Outcome::Wrong, 6)));
    }

    #[test]
    fn refusals() {
        for (protocol, answer) in [
            (Protocol::MemcacheText, &b"SERVER_ERROR out of memory storing object\r\n"[..]),
            (Protocol::Redis, b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
        ] {
            let found = Wire::new(protocol, 8).parse(Op::Set, None, answer);
            assert_eq!(found, Some((Outcome::Refused, answer.len())));
        }
    }

    #[test]
    fn pieces_are_waited_for() {
        for protocol in ALL {
            let wire = Wire::new(protocol, 8);
            let [hit, miss, stored] = answers(protocol);
            for (op, whole) in [(Op::Get, hit), (Op::Get, miss), (Op::Set, stored)] {
                for len in 0..whole.len() {
                    assert_eq!(wire.parse(op, Some(3), &whole[..len]), None, "{protocol:?} {len}");
                }
            }
        }
    }

    #[test]
    fn requests() {
        let bytes = |protocol, expiry| {
            let wire = Wire::new(protocol, 8).expiring(expiry);
            let mut out = Vec::new();
            wire.set(b"key", 2, &mut out);
            wire.get(b"key", &mut out);
            out
        };
        assert_eq!(bytes(Protocol::MemcacheText, 0), b"set key 0 0 2\r\nab\r\nget key\r\n");
        assert_eq!(bytes(Protocol::MemcacheText, 60), b"set key 0 60 2\r\nab\r\nget key\r\n");
        let resp = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\nab\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
        assert_eq!(bytes(Protocol::Redis, 0), resp);
        let expiring = b"*5\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\nab\r\n$2\r\nEX\r\n$2\r\n60\r\n";
        assert!(bytes(Protocol::Redis, 60).starts_with(expiring));
        let binary = bytes(Protocol::MemcacheBinary, 0x102);
        assert_eq!(binary[24..32], [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(binary.len(), 24 + 8 + 3 + 2 + 24 + 3);
        assert_eq!(binary[..12], [0x80, 1, 0, 3, 8, 0, 0, 0, 0, 0, 0, 13]);
        assert!(binary.ends_with(b"key"));
    }

    #[test]
    fn decimals() {
        for (number, width, text) in
            [(0, 1, "0"), (0, 0, ""), (907, 1, "907"), (907, 5, "00907"), (12, 22, &"0".repeat(20))]
        {
            let mut out = Vec::new();
            decimal(number, width, &mut out);
            let expected = if width == 22 { format!("{text}12") } else { text.to_string() };
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
