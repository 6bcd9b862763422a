//! Redis' protocol: commands as clients send them, and what they may change.
//!
//! A command is gathered until it is whole. What a Redis may read in another way than this is an error here, and closes the
//! connection: so no command passes unseen.

use memchr::memchr;

use crate::batch::{Batch, Effect, Mark};
use crate::table::Table;

/// Longest line of words.
const MAX_LINE: usize = 64 << 10;
/// Most arguments of a command.
const MAX_ARGS: usize = 1 << 20;
/// Longest line of a number: `*`, digits, line end.
const MAX_NUMBER: usize = 13;
/// Longest argument, as Redis has it.
const MAX_ARG: usize = 512 << 20;

/// Against the protocol: what is said before the connection is closed.
const BAD_COUNT: &[u8] = b"-ERR Protocol error: invalid multibulk length\r\n";
const BAD_LENGTH: &[u8] = b"-ERR Protocol error: invalid bulk length\r\n";
const BAD_LINE: &[u8] = b"-ERR Protocol error: too big inline request\r\n";
const BAD_QUOTES: &[u8] = b"-ERR Protocol error: unbalanced quotes in request\r\n";

/// Reads one connection.
#[derive(Default)]
pub struct Redis {
    /// Within a command of arguments: how many there are, where those are that have come, and how long they are.
    args: Option<(usize, Vec<(usize, usize)>)>,
    /// So far the present command was read.
    at: usize,
    /// Within a transaction.
    pub multi: bool,
    /// Nothing of it is for gates, or for fills, from now on.
    pub pinned: bool,
    /// The server's connection has a state that a new one would not have.
    pub state: bool,
    closed: bool,
}

enum Stop {
    More,
    Bad(&'static [u8]),
    /// Another byte where an argument begins.
    NoArgument(u8),
}

impl Redis {
    /// Takes whole commands from the front of `input`, and says how much that is.
    pub fn take(&mut self, input: &[u8], table: &Table, batch: &mut Batch) -> usize {
        let mut taken = 0;
        while !self.closed {
            match self.command(&input[taken..], table, batch) {
                Ok(len) => taken += len,
                Err(Stop::More) => break,
                Err(Stop::Bad(text)) => self.refuse(text.to_vec(), batch),
                Err(Stop::NoArgument(byte)) => {
                    let byte = if matches!(byte, b'\r' | b'\n') { b' ' } else { byte };
                    let (before, behind) = (b"-ERR Protocol error: expected '$', got '", b"'\r\n");
                    self.refuse([&before[..], &[byte], behind].concat(), batch);
                }
            }
        }
        batch.whole = batch.send.len();
        match self.closed {
            true => input.len(),
            false => taken,
        }
    }

    fn refuse(&mut self, text: Vec<u8>, batch: &mut Batch) {
        batch.marks.push_back(Mark::Host(text));
        (self.closed, batch.closes) = (true, true);
    }

    fn command(&mut self, input: &[u8], table: &Table, batch: &mut Batch) -> Result<usize, Stop> {
        if self.args.is_none() {
            if *input.first().ok_or(Stop::More)? != b'*' {
                return self.line(input, table, batch);
            }
            let (count, next) = number(input, 0, BAD_COUNT)?;
            if count <= 0 {
                return Ok(next);
            }
            let count = usize::try_from(count).ok().filter(|n| *n <= MAX_ARGS);
            self.args = Some((count.ok_or(Stop::Bad(BAD_COUNT))?, Vec::new()));
            self.at = next;
        }
        let (count, spans) = self.args.as_mut().expect("just set");
        while spans.len() < *count {
            let kind = *input.get(self.at).ok_or(Stop::More)?;
            if kind != b'$' {
                return Err(Stop::NoArgument(kind));
            }
            let (len, from) = number(input, self.at, BAD_LENGTH)?;
            let len = usize::try_from(len).ok().filter(|n| *n <= MAX_ARG);
            let end = from + len.ok_or(Stop::Bad(BAD_LENGTH))?;
            match input.get(end..end + 2) {
                None => return Err(Stop::More),
                Some(b"\r\n") => {}
                Some(_) => return Err(Stop::Bad(BAD_LENGTH)),
            }
            spans.push((from, end));
            self.at = end + 2;
        }
        let args: Vec<&[u8]> = spans.iter().map(|(from, to)| &input[*from..*to]).collect();
        self.args = None;
        self.judge(&args, &input[..self.at], table, batch);
        Ok(std::mem::take(&mut self.at))
    }

    /// A line of words goes to the server as arguments.
    fn line(&mut self, input: &[u8], table: &Table, batch: &mut Batch) -> Result<usize, Stop> {
        let end = match memchr(b'\n', input) {
            Some(end) if end <= MAX_LINE => end,
            None if input.len() <= MAX_LINE => return Err(Stop::More),
            _ => return Err(Stop::Bad(BAD_LINE)),
        };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        let words = words(line).ok_or(Stop::Bad(BAD_QUOTES))?;
        if !words.is_empty() {
            let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            self.judge(&args, &command(&args), table, batch);
        }
        Ok(end + 1)
    }

    fn judge(&mut self, args: &[&[u8]], text: &[u8], table: &Table, batch: &mut Batch) {
        let name = args[0].to_ascii_lowercase();
        let part = args.get(1).map(|part| part.to_ascii_lowercase()).unwrap_or_default();
        let refused = match &name[..] {
            b"subscribe" | b"psubscribe" | b"ssubscribe" | b"monitor" | b"sync" | b"psync" => true,
            b"client" => matches!(&part[..], b"reply" | b"tracking"),
            _ => false,
        };
        if refused {
            let name = name.to_ascii_uppercase();
            let text = [b"-ERR ", &name[..], b" does not pass through the cache\r\n"].concat();
            batch.marks.push_back(Mark::Host(text));
            return;
        }
        match &name[..] {
            b"multi" => self.multi = true,
            b"exec" | b"discard" => self.multi = false,
            b"reset" => (self.multi, self.pinned, self.state) = (false, true, true),
            b"select" => {
                let other = part != b"0";
                self.pinned |= other;
                self.state |= other;
            }
            b"hello" => {
                self.pinned |= args.len() > 2;
                self.state |= args.len() > 1;
            }
            b"quit" => (self.closed, batch.closes) = (true, true),
            b"auth" => (self.pinned, self.state) = (true, true),
            b"watch" | b"client" | b"readonly" | b"readwrite" | b"asking" => self.state = true,
            _ => {}
        }
        if !self.multi && !self.pinned {
            match &name[..] {
                b"get" if args.len() == 2 => batch.gets.push(args[1].to_vec()),
                b"mget" => batch.gets.extend(args[1..].iter().map(|key| key.to_vec())),
                _ => {}
            }
        }
        let (effect, blocks) = table.effect(&name, args);
        batch.blocks |= blocks;
        if effect != Effect::None {
            batch.effects.push(effect);
        }
        batch.send.extend_from_slice(text);
        batch.marks.push_back(Mark::Server);
    }
}

/// A command as arguments.
pub fn command(args: &[&[u8]]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        text.extend(format!("${}\r\n", arg.len()).into_bytes());
        text.extend_from_slice(arg);
        text.extend_from_slice(b"\r\n");
    }
    text
}

/// The number of the line at `at`, behind its first byte, and where the next line begins.
fn number(input: &[u8], at: usize, wrong: &'static [u8]) -> Result<(i64, usize), Stop> {
    let line = &input[at..input.len().min(at + MAX_NUMBER)];
    let end = match memchr(b'\n', line) {
        Some(end) => end,
        None if line.len() < MAX_NUMBER => return Err(Stop::More),
        None => return Err(Stop::Bad(wrong)),
    };
    let text = line[..end].strip_suffix(b"\r").ok_or(Stop::Bad(wrong))?;
    let digits = text[1..].strip_prefix(b"-").unwrap_or(&text[1..]);
    let plain = digits == b"0" || (!digits.is_empty() && digits[0] != b'0');
    let value = std::str::from_utf8(&text[1..]).ok().and_then(|text| text.parse().ok());
    let value = value.filter(|_| plain && digits.iter().all(u8::is_ascii_digit));
    Ok((value.ok_or(Stop::Bad(wrong))?, at + end + 1))
}

/// A line's words, as Redis has them: within quotes anything, with escapes in double ones. `None`: a quote is missing.
fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bytes = line.iter().copied().peekable();
    let mut words = Vec::new();
    loop {
        while bytes.next_if(|b| b.is_ascii_whitespace() || *b == 0x0b).is_some() {}
        if bytes.peek().is_none_or(|byte| *byte == 0) {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some(byte) = bytes.next_if(|b| !b.is_ascii_whitespace() && *b != 0x0b && *b != 0)
        {
            if byte != b'"' && byte != b'\'' {
                word.push(byte);
                continue;
            }
            loop {
                let next = bytes.next()?;
                match next {
                    _ if next == byte => break,
                    b'\\' if byte == b'"' => match bytes.next()? {
                        b'n' => word.push(b'\n'),
                        b'r' => word.push(b'\r'),
                        b't' => word.push(b'\t'),
                        b'b' => word.push(8),
                        b'a' => word.push(7),
                        b'x' => {
                            let mut ahead = bytes.clone();
                            let digits = [ahead.next()?, ahead.next()?];
                            let text = std::str::from_utf8(&digits).ok();
                            match text.and_then(|text| u8::from_str_radix(text, 16).ok()) {
                                Some(value) => {
                                    bytes = ahead;
                                    word.push(value);
                                }
                                None => word.push(b'x'),
                            }
                        }
                        other => word.push(other),
                    },
                    b'\\' if bytes.next_if_eq(&b'\'').is_some() => word.push(b'\''),
                    _ => word.push(next),
                }
            }
            // A closing quote ends its word.
            if bytes.peek().is_some_and(|b| !b.is_ascii_whitespace() && *b != 0x0b && *b != 0) {
                return None;
            }
        }
        words.push(word);
    }
}
