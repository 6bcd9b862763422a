//! A text line as memcached cuts it into words.

use wirekv_proto::limits::MAX_LINE;
use wirekv_proto::Span;

/// memcached takes a line apart into so many words at once; only `get` goes on behind them.
pub const MAX_WORDS: usize = 23;
/// A line over [`MAX_LINE`] is an attack, unless it is a `get` of many keys with not more blanks before it.
const MAX_INDENT: usize = 100;

/// The words of a line. Blanks separate them, nothing else does; a NUL ends them.
pub struct Line {
    words: [Span; MAX_WORDS],
    pub count: usize,
    /// The line and its end take so many bytes.
    pub next: usize,
    /// Where its text ends.
    pub end: usize,
}

/// What the front of the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Line,
    /// The line goes on.
    Part,
    /// A `get` or `gets` of more keys than are waited for. Its keys begin here, it is `gets`.
    Keys(usize, bool),
    TooLong,
}

impl Line {
    #[inline]
    pub fn new() -> Line {
        Line { words: [Span::default(); MAX_WORDS], count: 0, next: 0, end: 0 }
    }

    /// Takes the line at the front of `input`; this is a new one.
    #[inline]
    pub fn find(&mut self, input: &[u8], longest_get: usize) -> Found {
        let line = self;
        let (mut word, mut at) = (0, 0);
        let found = loop {
            at = match find_control(input, at) {
                Some(at) => at,
                None => return too_long(input, longest_get, false).unwrap_or(Found::Part),
            };
            match input[at] {
                b'\n' => break true,
                b' ' => {
                    line.push(word, at);
                    word = at + 1;
                    if line.count == MAX_WORDS {
                        break false;
                    }
                }
                0 => break false,
                _ => {}
            }
            at += 1;
        };
        let newline = match found {
            true => at,
            false => match memchr::memchr(b'\n', &input[at..]) {
                Some(more) => at + more,
                None => return too_long(input, longest_get, false).unwrap_or(Found::Part),
            },
        };
        if newline > MAX_LINE {
            if let Some(found) = too_long(&input[..newline], longest_get, true) {
                return found;
            }
        }
        line.next = newline + 1;
        line.end = newline;
        if newline > 1 && input[newline - 1] == b'\r' {
            line.end -= 1;
        }
        if !found {
            line.end = memchr::memchr(0, &input[at..line.end]).map_or(line.end, |nul| at + nul);
        }
        if line.count < MAX_WORDS {
            line.push(word, line.end);
        }
        Found::Line
    }

    #[inline]
    fn push(&mut self, from: usize, to: usize) {
        if to > from {
            self.words[self.count] = Span::new(from, to);
            self.count += 1;
        }
    }

    /// Where word `i` is.
    #[inline]
    pub fn span(&self, i: usize) -> Span {
        self.words[i]
    }

    /// Word `i`, empty when there is none.
    #[inline]
    pub fn word<'a>(&self, input: &'a [u8], i: usize) -> &'a [u8] {
        self.words.get(i).map_or(&[], |span| span.of(input))
    }

    /// The last word that was cut off.
    pub fn last<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        self.word(input, self.count.wrapping_sub(1))
    }

    /// From word `i` to the end of the text.
    pub fn rest(&self, i: usize) -> Span {
        if i < self.count {
            Span::new(self.words[i].at as usize, self.end)
        } else {
            Span::new(self.end, self.end)
        }
    }
}

/// What a line of over [`MAX_LINE`] bytes is. memcached looks when it has read so much; here it
/// does not matter how the bytes arrive.
fn too_long(line: &[u8], longest_get: usize, ended: bool) -> Option<Found> {
    if line.len() <= MAX_LINE {
        return None;
    }
    let text = &line[line.iter().take_while(|b| **b == b' ').count()..];
    let indent = line.len() - text.len();
    let unique = text.starts_with(b"gets ");
    match indent <= MAX_INDENT && (unique || text.starts_with(b"get ")) {
        false => Some(Found::TooLong),
        true if line.len() > longest_get => {
            Some(Found::Keys(indent + if unique { 5 } else { 4 }, unique))
        }
        true if ended => None,
        true => Some(Found::Part),
    }
}

/// The words of a text, without end.
pub struct Words<'a> {
    text: &'a [u8],
    pub at: usize,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a [u8]) -> Words<'a> {
        Words { text, at: 0 }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.text;
        while *text.get(self.at)? == b' ' {
            self.at += 1;
        }
        let from = self.at;
        self.at = find_space(text, from);
        Some(&text[from..self.at])
    }
}

const ONES: u64 = u64::MAX / 255;
const TOPS: u64 = ONES << 7;

/// The first byte of 0 to 0x20 from `from` on.
#[inline]
pub fn find_control(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(eight) = bytes.get(at..at + 8) {
        let x = u64::from_le_bytes(eight.try_into().unwrap());
        // Set in the top bit of each byte below 0x21; wrong only above the lowest of them.
        let below = x.wrapping_sub(ONES * 0x21) & !x & TOPS;
        if below != 0 {
            return Some(at + below.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at.min(bytes.len())..].iter().position(|b| *b <= b' ').map(|more| at + more)
}

/// The first blank from `from` on, or the end.
#[inline]
fn find_space(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = find_control(text, at) {
        if text[found] == b' ' {
            return found;
        }
        at = found + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(input: &[u8]) -> Vec<&[u8]> {
        let mut line = Line::new();
        assert_eq!(line.find(input, 1 << 20), Found::Line);
        (0..line.count).map(|i| line.word(input, i)).collect()
    }

    #[test]
    fn cuts_as_memcached_does() {
        assert_eq!(words(b"get a\r\n"), [&b"get"[..], b"a"]);
        assert_eq!(words(b"  get   a \n"), [&b"get"[..], b"a"]);
        assert_eq!(words(b"get a\r\r\n"), [&b"get"[..], b"a\r"]);
        assert_eq!(words(b"get\ta\x01b\n"), [&b"get\ta\x01b"[..]]);
        assert_eq!(words(b"get a\0b c\r\n"), [&b"get"[..], b"a"]);
        assert_eq!(words(b"\0get a\r\n"), [&b""[..]; 0]);
        assert_eq!(words(b"\r\n"), [&b"\r"[..]]);
        assert_eq!(words(b"\n"), [&b""[..]; 0]);
        assert_eq!(words(b"a long word that has no end soon\r\n").len(), 8);
        let many = [&b"x "[..].repeat(30), &b"\r\n"[..]].concat();
        assert_eq!(words(&many).len(), MAX_WORDS);
    }

    #[test]
    fn long_lines() {
        let kind = |input: &[u8]| match Line::new().find(input, 10_000) {
            Found::Line => 'l',
            Found::Part => 'p',
            Found::TooLong => 't',
            Found::Keys(..) => 'k',
        };
        for (head, tail, expect) in [
            (&b"x"[..], &b""[..], "pt"),
            (b"x ", b"\n", "lt"),
            (b"get ", b"", "pp"),
            (b"get ", b"\r\n", "ll"),
            (b"  gets ", b"\n", "ll"),
            (b"gat 0 ", b"\n", "lt"),
            (b"get\0", b"", "pt"),
        ] {
            for (size, expect) in [2000, 3000].into_iter().zip(expect.chars()) {
                let line = [head, &b"q ".repeat(size / 2), tail].concat();
                assert_eq!(kind(&line), expect, "{} {size}", head.escape_ascii());
            }
        }
        assert_eq!(kind(&[&b" ".repeat(101)[..], b"get ", &b"q".repeat(2000)].concat()), 't');
        assert_eq!(kind(&[&b"get "[..], &b"q".repeat(9_996)].concat()), 'p');
        for tail in [&b""[..], b"\n"] {
            assert_eq!(kind(&[&b"get "[..], &b"q".repeat(9_997), tail].concat()), 'k');
        }
    }

    #[test]
    fn finds_controls() {
        let mut bytes = [0xffu8; 40];
        for at in 0..40 {
            for byte in [0, 1, b'\n', b' ', b'!', 0x80, 0xa0] {
                bytes[at] = byte;
                for from in 0..=40 {
                    let expect = (byte <= b' ' && from <= at).then_some(at);
                    assert_eq!(find_control(&bytes, from), expect);
                }
            }
            bytes[at] = 0xff;
        }
    }
}
