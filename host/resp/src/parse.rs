//! Redis' protocol: where a command ends, and where its arguments are.
//!
//! A command is `*<count>` and as many `$<length>` with that many bytes behind them, or a line of
//! words. The checks come in Redis' order, and what it waits for is waited for here: a number is
//! judged when its line is whole.
//!
//! An argument has at most as many bytes as an item may have (`-I`), which is this server's
//! `proto-max-bulk-len`. What does not fit into the connection's input is *gathered*: it goes, piece by piece, to memory
//! of the connection's own, up to [`Settings::gather_max`](wirekv_proto::Settings::gather_max).

use wirekv_proto::limits::KEY_MAX;
use wirekv_proto::{Asked, Parsed, Request, Span};
use wirekv_store::Hash;

use super::number;
use super::table::{self, Named};
use crate::Engine;

/// A line that is longer than this is an attack.
pub const MAX_LINE: usize = 64 << 10;
/// Most bytes in an argument before a client has given its password.
const MAX_BULK_STRANGER: i64 = 16 << 10;
/// Most arguments before a client has given its password.
const MAX_ARGS_STRANGER: i64 = 10;

/// What a client's commands may have.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes of an argument.
    bulk: usize,
    /// It has not given the password.
    stranger: bool,
}

impl Limits {
    const NONE: Limits = Limits { bulk: isize::MAX as usize, stranger: false };
}

/// A request of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Of the table; `None`: there is no such command. `Request::key` and `value` are the first and
    /// second argument behind the name, `args` is what follows these, `unique` counts all of them.
    Command(Option<Named>),
    /// A line of words.
    Line,
    /// Bytes that are gathered; at least `Request::unique` more must come.
    Part,
    /// The last ones, with which the command is whole.
    End,
    /// Against the protocol.
    Broken(Violation),
}

impl Op {
    /// The command's name, if it is known by now: one of few words.
    pub fn name(self) -> &'static str {
        match self {
            Op::Command(Some(Named(command, _))) => command.name,
            _ => "other",
        }
    }
}

/// What the connection is closed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    Count,
    Length,
    Expected(u8),
    LongCount,
    LongLength,
    LongLine,
    Quotes,
    StrangersCount,
    StrangersLength,
    TooMuch,
}

impl Violation {
    pub fn text(self) -> Vec<u8> {
        let what = match self {
            Violation::Count => "invalid multibulk length",
            Violation::Length => "invalid bulk length",
            Violation::Expected(byte) => {
                return [b"ERR Protocol error: expected '$', got '", &[byte][..], b"'"].concat();
            }
            Violation::LongCount => "too big mbulk count string",
            Violation::LongLength => "too big bulk count string",
            Violation::LongLine => "too big inline request",
            Violation::Quotes => "unbalanced quotes in request",
            Violation::StrangersCount => "unauthenticated multibulk length",
            Violation::StrangersLength => "unauthenticated bulk length",
            Violation::TooMuch => "command is longer than this server takes",
        };
        format!("ERR Protocol error: {what}").into_bytes()
    }
}

/// Why there is no number, or no argument, at a place.
enum Stop {
    /// So many bytes more are needed at least.
    Part(u64),
    Broken(Violation),
}

/// The number of a line that begins at `at` with one byte that says what it is, and where the next
/// line begins.
#[inline]
fn line_number(input: &[u8], at: usize, wrong: Violation) -> Result<(i64, usize), Stop> {
    // Up to three digits: nearly all there are.
    let mut value = 0;
    for (i, byte) in input[(at + 1).min(input.len())..].iter().take(4).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 && (i == 0 || value > 0) {
            value = 10 * value + i64::from(digit);
        } else if *byte == b'\r' && i > 0 {
            let next = at + i + 3;
            return if next <= input.len() { Ok((value, next)) } else { Err(Stop::Part(1)) };
        } else {
            break;
        }
    }
    slow_number(input, at, wrong)
}

#[cold]
fn slow_number(input: &[u8], at: usize, wrong: Violation) -> Result<(i64, usize), Stop> {
    let end = line_end(input, at).ok_or(Stop::Part(1))?;
    match number::integer(&input[(at + 1).min(end)..end]) {
        Some(value) => Ok((value, end + 2)),
        None => Err(Stop::Broken(wrong)),
    }
}

/// Where the `\r` is that ends a line, once the byte behind it is there, too. Redis looks for it with
/// C's `strchr`, which ends at a NUL.
fn line_end(input: &[u8], at: usize) -> Option<usize> {
    let end = at + memchr::memchr2(b'\r', 0, &input[at..])?;
    (input[end] == b'\r' && end + 2 <= input.len()).then_some(end)
}

/// `*<count>`: 0 and below are a command of nothing.
#[inline]
fn count(input: &[u8], limits: Limits) -> Result<(i64, usize), Stop> {
    let (count, next) = line_number(input, 0, Violation::Count)?;
    match count {
        0x8000_0000.. => Err(Stop::Broken(Violation::Count)),
        _ if limits.stranger && count > MAX_ARGS_STRANGER => {
            Err(Stop::Broken(Violation::StrangersCount))
        }
        _ => Ok((count, next)),
    }
}

/// `$<length>`
#[inline]
fn length(input: &[u8], at: usize, limits: Limits) -> Result<(u64, usize), Stop> {
    match input.get(at) {
        None => return Err(Stop::Part(1)),
        Some(b'$') => {}
        Some(other) => {
            line_end(input, at).ok_or(Stop::Part(1))?;
            return Err(Stop::Broken(Violation::Expected(*other)));
        }
    }
    match line_number(input, at, Violation::Length)? {
        (len, _) if !(0..=limits.bulk as i64).contains(&len) => {
            Err(Stop::Broken(Violation::Length))
        }
        (len, _) if limits.stranger && len > MAX_BULK_STRANGER => {
            Err(Stop::Broken(Violation::StrangersLength))
        }
        (len, next) => Ok((len as u64, next)),
    }
}

/// The argument at `at` of a command that was parsed, and where the next one begins.
#[inline]
pub fn argument(input: &[u8], at: usize) -> Option<(Span, usize)> {
    bulk(input, at, Limits::NONE).ok()
}

#[inline]
fn bulk(input: &[u8], at: usize, limits: Limits) -> Result<(Span, usize), Stop> {
    let (len, from) = length(input, at, limits)?;
    let next = from as u64 + len + 2;
    match (input.len() as u64).checked_sub(next) {
        Some(_) => Ok((Span { at: from as u32, len: len as u32 }, next as usize)),
        None => Err(Stop::Part(next - input.len() as u64)),
    }
}

/// A command that is gathered, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// Arguments that still come, and bytes of the one that has begun, its line end included.
    Args {
        left: u64,
        bulk: u64,
    },
    Line,
}

/// The next request at the front of `input`; `db` is the database to which keys most likely belong. Of a
/// stranger the commands before must have been executed: with one of them it may have given the password.
#[inline]
pub fn parse<O: From<Op>>(
    gather: &mut Option<Gather>,
    input: &[u8],
    (db, stranger): (u8, bool),
    engine: &Engine,
) -> Parsed<O> {
    let limits = Limits { bulk: engine.settings.item_max, stranger };
    if let Some(at) = *gather {
        return parse_on(gather, at, input, limits, engine);
    }
    match input.first() {
        Some(b'*') => {}
        Some(_) => return parse_line(gather, input, engine),
        None => return Parsed::Need(1),
    }
    match command(input, limits) {
        Ok((op, mut request)) => {
            request.hash = hash(op, &request, input, db, engine);
            Parsed::Request(Asked { op: op.map(O::from), request })
        }
        Err(Stop::Broken(violation)) => broken(violation),
        Err(Stop::Part(more)) => {
            let whole = input.len() as u64 + more;
            if whole <= engine.settings.stream_from as u64 {
                return Parsed::Need(more as usize);
            }
            let Ok((count, next)) = count(input, limits) else {
                return broken(Violation::LongCount);
            };
            *gather = Some(Gather::Args { left: count as u64, bulk: 0 });
            let Some(Gather::Args { left, bulk }) = gather else { unreachable!("just set") };
            match advance(input, next, left, bulk, limits) {
                Ok(len) => part(Op::Part, len, missing(*left, *bulk)),
                Err(violation) => broken(violation),
            }
        }
    }
}

/// Least bytes that so many arguments take, and those of the one that has begun.
fn missing(left: u64, bulk: u64) -> u64 {
    6 * left + bulk
}

/// A whole command, or none of no arguments.
fn command(input: &[u8], limits: Limits) -> Result<(Option<Op>, Request), Stop> {
    let (count, mut at) = count(input, limits)?;
    if count <= 0 {
        return Ok((None, Request { len: at as u32, ..Request::default() }));
    }
    let mut spans = [Span::default(); 3];
    let few = (count as usize).min(3);
    for span in &mut spans[..few] {
        (*span, at) = bulk(input, at, limits)?;
    }
    let rest = at;
    for _ in few..count as usize {
        (_, at) = bulk(input, at, limits)?;
    }
    let [name, key, value] = spans;
    let op = Op::Command(table::find(name.of(input)));
    let request = Request {
        len: at as u32,
        key,
        value,
        args: Span::new(rest, at),
        unique: count as u64,
        ..Request::default()
    };
    Ok((Some(op), request))
}

/// The hash of a command's first argument, if that is a key.
#[inline]
fn hash(op: Option<Op>, request: &Request, input: &[u8], db: u8, engine: &Engine) -> Option<Hash> {
    let Some(Op::Command(Some(Named(command, _)))) = op else { return None };
    let keyed =
        command.keys.first == 1 && request.unique > 1 && request.key.len as usize <= KEY_MAX;
    keyed.then(|| engine.local.hash_in(db, request.key.of(input)))
}

/// A whole command that did not come as one piece of input.
pub fn parse_whole(input: &[u8]) -> Option<Asked<Op>> {
    command(input, Limits::NONE).ok().map(|(op, request)| Asked { op, request })
}

#[cold]
fn part<O: From<Op>>(op: Op, len: usize, missing: u64) -> Parsed<O> {
    let request = Request { len: len as u32, unique: missing, ..Request::default() };
    Parsed::Request(Asked::new(op.into(), request))
}

#[cold]
fn broken<O: From<Op>>(violation: Violation) -> Parsed<O> {
    Parsed::Last(Asked::new(Op::Broken(violation).into(), Request::default()))
}

#[cold]
fn parse_line<O: From<Op>>(
    gather: &mut Option<Gather>,
    input: &[u8],
    engine: &Engine,
) -> Parsed<O> {
    match memchr::memchr(b'\n', input) {
        Some(end) => part(Op::Line, end + 1, 0),
        None if input.len() < engine.settings.stream_from => Parsed::Need(1),
        None => {
            *gather = Some(Gather::Line);
            part(Op::Part, input.len(), 0)
        }
    }
}

/// More of a command that is gathered.
#[cold]
fn parse_on<O: From<Op>>(
    gather: &mut Option<Gather>,
    at: Gather,
    input: &[u8],
    limits: Limits,
    engine: &Engine,
) -> Parsed<O> {
    let (mut left, mut bulk) = match at {
        Gather::Args { left, bulk } => (left, bulk),
        Gather::Line => {
            return match memchr::memchr(b'\n', input) {
                Some(end) => {
                    *gather = None;
                    part(Op::End, end + 1, 0)
                }
                None if input.is_empty() => Parsed::Need(1),
                None => part(Op::Part, input.len(), 0),
            };
        }
    };
    let len = match advance(input, 0, &mut left, &mut bulk, limits) {
        Ok(len) => len,
        Err(violation) => return broken(violation),
    };
    *gather = (left > 0 || bulk > 0).then_some(Gather::Args { left, bulk });
    match (len, gather) {
        (len, None) => part(Op::End, len, 0),
        // A line whose end has not come.
        (0, Some(_)) if input.len() >= engine.settings.stream_from => broken(Violation::LongLength),
        (0, Some(_)) => Parsed::Need(1),
        (len, Some(_)) => part(Op::Part, len, missing(left, bulk)),
    }
}

/// Goes through arguments from `at` on as far as they have come; returns how far.
fn advance(
    input: &[u8],
    mut at: usize,
    left: &mut u64,
    bulk: &mut u64,
    limits: Limits,
) -> Result<usize, Violation> {
    loop {
        let here = (*bulk).min((input.len() - at) as u64);
        *bulk -= here;
        at += here as usize;
        if *bulk > 0 || *left == 0 {
            return Ok(at);
        }
        match length(input, at, limits) {
            Ok((len, next)) => (*left, *bulk, at) = (*left - 1, len + 2, next),
            Err(Stop::Part(_)) => return Ok(at),
            Err(Stop::Broken(violation)) => return Err(violation),
        }
    }
}
