//! memcached's classic text protocol.
//!
//! A command is a line of words that end in `\r\n` or `\n`; stores have a block of data behind
//! it. The checks of a command come in memcached's order, since each has its own error text.

use crate::dialect::Dialect;
use crate::line::{find_control, Line, Words};
use crate::number::{signed32, unsigned32, unsigned64};
use crate::ops::{self, Deleted, Delta, Mode, Put, Stored, Sum, Value, KEY_MAX};
use crate::request::{self, Next, Request, Span};
use crate::store::Item;
use crate::texts::{BAD_CHUNK, BAD_FORMAT, NOT_NUMBER, NO_MEMORY, NO_MEMORY_DELTA, TOO_LARGE};
use crate::{dump, Engine, Out, Server, Settings, Told};

const ERROR: &[u8] = b"ERROR\r\n";
const OK: &[u8] = b"OK\r\n";
const END: &[u8] = b"END\r\n";
const STORED: &[u8] = b"STORED\r\n";
const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
const EXISTS: &[u8] = b"EXISTS\r\n";
const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
const DELETED: &[u8] = b"DELETED\r\n";
const TOUCHED: &[u8] = b"TOUCHED\r\n";
const RESET: &[u8] = b"RESET\r\n";
const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line\r\n";
const BAD_EXPTIME: &[u8] = b"CLIENT_ERROR invalid exptime argument\r\n";
const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta argument\r\n";
const BAD_DELETE: &[u8] =
    b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
const NO_FLUSH: &[u8] = b"CLIENT_ERROR flush_all not allowed\r\n";
const NO_SHUTDOWN: &[u8] = b"ERROR: shutdown not enabled\r\n";
const BAD_SHUTDOWN: &[u8] = b"CLIENT_ERROR invalid shutdown mode\r\n";
const NO_WATCH: &[u8] = b"CLIENT_ERROR watch commands not allowed\r\n";
const NO_CRAWLER: &[u8] = b"CLIENT_ERROR lru crawler disabled\r\n";
const BAD_CLASS: &[u8] = b"BADCLASS invalid class id\r\n";
const LONG_SLEEP: &[u8] = b"CLIENT_ERROR sleep must be one second or less\r\n";
const NO_REASSIGN: &[u8] = b"CLIENT_ERROR slab reassignment disabled\r\n";
const NO_CACHEDUMP: &[u8] = b"CLIENT_ERROR stats cachedump not allowed\r\n";
const DETAIL_USAGE: &[u8] = b"CLIENT_ERROR usage: stats detail on|off|dump\r\n";
const NO_TLS: &[u8] = b"Error TLS not enabled\r\n";
const LIMIT_SMALL: &[u8] = b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n";
const LIMIT_UNIT: &[u8] = b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n";
const LIMIT_FAILED: &[u8] = b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n";
const BAD_LRU_SHARE: &[u8] = b"ERROR hot and warm pcts must not exceed 80\r\n";
const BAD_LRU_FACTOR: &[u8] = b"ERROR hot/warm age factors must be greater than 0\r\n";

/// A command, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `get` and `gets`, with one key or with several; `gat` and `gats` touch what they read.
    Get {
        many: bool,
        unique: bool,
        touch: bool,
    },
    /// Some of the keys of a long line.
    Keys {
        unique: bool,
    },
    /// One whose keys are too long somewhere: those before are read all the same.
    GetUntilBad {
        touch: bool,
    },
    /// A block of data for a key.
    Store(Mode),
    Delta {
        decrement: bool,
    },
    Touch,
    Delete,
    Flush {
        delayed: bool,
    },
    Verbosity,
    Version,
    Stats,
    /// `lru_crawler metadump`, or `mgdump`.
    Dump {
        meta: bool,
    },
    MemoryLimit,
    Shutdown {
        graceful: bool,
    },
    Quit,
    /// Nothing but a reply.
    Say,
}

fn op(op: Op) -> request::Op {
    request::Op::Classic(op)
}

/// A reply that is known by now; `quiet` swallows it.
fn say(text: &'static [u8], quiet: bool) -> Request {
    Request { op: op(Op::Say), say: text, quiet, ..Request::default() }
}

fn keyed(what: Op, line: &Line, key: usize, input: &[u8], engine: &Engine) -> Request {
    let key = line.span(key);
    let hash = Some(engine.local.hash(key.of(input)));
    Request { op: op(what), key, hash, ..Request::default() }
}

/// The everyday `get` of one key, found without a look at the rest of the input.
#[inline]
pub(crate) fn parse_short_get(input: &[u8], engine: &Engine) -> Option<Request> {
    const KEY: usize = 4;
    if !input.starts_with(b"get ") {
        return None;
    }
    let end = find_control(input, KEY)?;
    if end == KEY || end > KEY + KEY_MAX || input.get(end..end + 2)? != b"\r\n" {
        return None;
    }
    let key = Span::new(KEY, end);
    let what = Op::Get { many: false, unique: false, touch: false };
    let hash = Some(engine.local.hash(key.of(input)));
    Some(Request { len: end as u32 + 2, op: op(what), key, hash, ..Request::default() })
}

/// What a line asks for. [`request::Op::Skip`] closes the connection. A data block's length is in
/// `value.len`, and `value.at` is not 0 then.
pub(crate) fn parse(line: &Line, input: &[u8], engine: &Engine) -> Request {
    let count = line.count;
    let command = line.word(input, 0);
    if command.len() < 2 {
        return say(ERROR, false);
    }
    // The command's first letter decides what is wrong with a line that has too few words.
    match command[0] {
        b'g' if count < 2 => say(ERROR, false),
        b'g' => match command {
            b"get" => parse_get(line, input, engine, false, false),
            b"gets" => parse_get(line, input, engine, true, false),
            b"gat" => parse_get(line, input, engine, false, true),
            b"gats" => parse_get(line, input, engine, true, true),
            _ => say(ERROR, false),
        },
        b's' => match command {
            b"set" => parse_store(line, input, engine, Mode::Set),
            b"stats" => parse_stats(line, input),
            b"shutdown" => parse_shutdown(line, input, engine),
            b"slabs" => parse_slabs(line, input),
            _ => say(ERROR, false),
        },
        b'a' => match command {
            b"add" => parse_store(line, input, engine, Mode::Add),
            b"append" => parse_store(line, input, engine, Mode::Append),
            _ => say(ERROR, false),
        },
        b'c' => match command {
            b"cas" => parse_store(line, input, engine, Mode::Cas),
            b"cache_memlimit" => parse_memory_limit(line, input),
            _ => say(ERROR, false),
        },
        b'i' => match command {
            b"incr" => parse_delta(line, input, engine, false),
            _ => say(ERROR, false),
        },
        b'd' => match command {
            b"delete" => parse_delete(line, input, engine),
            b"decr" => parse_delta(line, input, engine, true),
            _ => say(ERROR, false),
        },
        b't' => match command {
            b"touch" => parse_touch(line, input, engine),
            _ => say(ERROR, false),
        },
        _ => match command {
            b"replace" => parse_store(line, input, engine, Mode::Replace),
            b"prepend" => parse_store(line, input, engine, Mode::Prepend),
            // Older than any documentation, and still there.
            b"bget" if count >= 2 => parse_get(line, input, engine, false, false),
            b"flush_all" => parse_flush(line, input, engine),
            b"version" => Request { op: op(Op::Version), ..Request::default() },
            b"quit" => Request { op: op(Op::Quit), ..Request::default() },
            b"lru_crawler" => parse_crawler(line, input, engine),
            b"watch" => say(NO_WATCH, noreply(line, input)),
            b"verbosity" => parse_verbosity(line, input),
            b"lru" if count >= 2 => parse_lru(line, input),
            b"refresh_certs" => say(NO_TLS, false),
            b"bget" | b"lru" => say(ERROR, false),
            // A browser that was tricked into talking to a cache.
            _ if line.last(input).starts_with(b"HTTP/") => Request::default(),
            _ => say(ERROR, false),
        },
    }
}

fn noreply(line: &Line, input: &[u8]) -> bool {
    line.last(input) == b"noreply"
}

/// `get|gets <key>+`, `gat|gats <exptime> <key>+`
fn parse_get(line: &Line, input: &[u8], engine: &Engine, unique: bool, touch: bool) -> Request {
    let first = if touch { 2 } else { 1 };
    let mut exptime = 0;
    if touch {
        match signed32(line.word(input, 1)) {
            Some(time) => exptime = text_when(time, engine),
            None => return say(BAD_EXPTIME, false),
        }
    }
    let keys = line.rest(first);
    let mut count = 0;
    for key in Words::new(keys.of(input)) {
        if key.len() > KEY_MAX {
            let what = Op::GetUntilBad { touch };
            return Request { op: op(what), key: keys, exptime, ..Request::default() };
        }
        count += 1;
    }
    let many = count != 1;
    let what = Op::Get { many, unique, touch };
    if many {
        return Request { op: op(what), key: keys, exptime, ..Request::default() };
    }
    Request { exptime, ..keyed(what, line, first, input, engine) }
}

/// Within a `get` line that is too long to be kept until its end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    Wanted {
        unique: bool,
        /// There was one.
        any: bool,
    },
    /// No more of them: this is said when the line ends.
    Over(&'static [u8]),
}

impl Keys {
    /// What the next bytes of the line ask for, and whether they end it. None: more must come.
    pub fn parse(&mut self, input: &[u8]) -> (Option<Request>, bool) {
        let newline = memchr::memchr(b'\n', input);
        let line = &input[..newline.unwrap_or(input.len())];
        let whole = newline.map(|at| at as u32 + 1);
        let (unique, mut any) = match *self {
            Keys::Wanted { unique, any } => (unique, any),
            Keys::Over(text) => {
                return match whole {
                    Some(len) => (Some(Request { len, ..say(text, false) }), true),
                    None if line.is_empty() => (None, false),
                    None => (Some(Request { len: line.len() as u32, ..Request::default() }), false),
                }
            }
        };
        let nul = memchr::memchr(0, line);
        let text = match nul {
            Some(nul) => &line[..nul],
            None if newline.is_some() => line.strip_suffix(b"\r").unwrap_or(line),
            None => line,
        };
        let ended = newline.is_some() || nul.is_some();
        // Up to where the keys are whole and right.
        let (mut words, mut end) = (Words::new(text), 0);
        let keys = |what, end, len| {
            Some(Request { op: op(what), key: Span::new(0, end), len, ..Request::default() })
        };
        loop {
            match words.next() {
                Some(key) if key.len() > KEY_MAX => {
                    *self = Keys::Over(BAD_FORMAT);
                    break;
                }
                Some(_) if words.at == text.len() && !ended => break,
                Some(_) => (end, any) = (words.at, true),
                None => {
                    end = text.len();
                    match (whole, nul) {
                        (_, Some(_)) => *self = Keys::Over(if any { END } else { ERROR }),
                        (Some(len), None) if any => {
                            let what = Op::Get { many: true, unique, touch: false };
                            return (keys(what, end, len), true);
                        }
                        (Some(len), None) => {
                            return (Some(Request { len, ..say(ERROR, false) }), true);
                        }
                        (None, None) => {}
                    }
                    break;
                }
            }
        }
        if let Keys::Wanted { any: known, .. } = self {
            *known = any;
        }
        match end {
            0 if matches!(self, Keys::Over(_)) => self.parse(input),
            0 => (None, false),
            end => (keys(Op::Keys { unique }, end, end as u32), false),
        }
    }
}

/// `set|add|replace|append|prepend <key> <flags> <exptime> <length> [noreply]`,
/// `cas <key> <flags> <exptime> <length> <unique> [noreply]`
fn parse_store(line: &Line, input: &[u8], engine: &Engine, mode: Mode) -> Request {
    let words = if mode == Mode::Cas { 6 } else { 5 };
    if line.count != words && line.count != words + 1 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    let word = |i| line.word(input, i);
    let unique = || if mode == Mode::Cas { unsigned64(word(5)) } else { Some(0) };
    let numbers = (|| {
        (word(1).len() <= KEY_MAX).then_some(())?;
        Some((unsigned32(word(2))?, signed32(word(3))?, signed32(word(4))?, unique()?))
    })();
    let Some((flags, exptime, len, unique)) = numbers else { return say(BAD_FORMAT, quiet) };
    // Two more for the line end must fit.
    if !(0..=i32::MAX - 2).contains(&len) {
        return say(BAD_FORMAT, quiet);
    }
    let request = keyed(Op::Store(mode), line, 1, input, engine);
    Request {
        quiet,
        flags,
        exptime: text_when(exptime, engine),
        unique,
        value: Span { at: line.next as u32, len: len as u32 },
        // The error comes at once, and what follows is skipped.
        streams: ops::too_large(&engine.settings, word(1).len(), len as u64, flags),
        ..request
    }
}

/// `incr|decr <key> <delta> [noreply]`
fn parse_delta(line: &Line, input: &[u8], engine: &Engine, decrement: bool) -> Request {
    if line.count != 3 && line.count != 4 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    if line.word(input, 1).len() > KEY_MAX {
        return say(BAD_FORMAT, quiet);
    }
    let Some(number) = unsigned64(line.word(input, 2)) else { return say(BAD_DELTA, quiet) };
    Request { quiet, number, ..keyed(Op::Delta { decrement }, line, 1, input, engine) }
}

/// `touch <key> <exptime> [noreply]`
fn parse_touch(line: &Line, input: &[u8], engine: &Engine) -> Request {
    if line.count != 3 && line.count != 4 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    if line.word(input, 1).len() > KEY_MAX {
        return say(BAD_FORMAT, quiet);
    }
    let Some(exptime) = signed32(line.word(input, 2)) else { return say(BAD_EXPTIME, quiet) };
    let exptime = text_when(exptime, engine);
    Request { quiet, exptime, ..keyed(Op::Touch, line, 1, input, engine) }
}

/// `delete <key> [0] [noreply]`
fn parse_delete(line: &Line, input: &[u8], engine: &Engine) -> Request {
    let mut quiet = false;
    match line.count {
        2 => {}
        3 | 4 => {
            quiet = noreply(line, input);
            let zero = line.word(input, 2) == b"0";
            if !(if line.count == 3 { zero || quiet } else { zero && quiet }) {
                return say(BAD_DELETE, quiet);
            }
        }
        _ => return say(ERROR, false),
    }
    if line.word(input, 1).len() > KEY_MAX {
        return say(BAD_FORMAT, quiet);
    }
    Request { quiet, ..keyed(Op::Delete, line, 1, input, engine) }
}

/// `flush_all [exptime] [noreply]`
fn parse_flush(line: &Line, input: &[u8], engine: &Engine) -> Request {
    if line.count > 3 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    if !engine.settings.flush {
        return Request { op: op(Op::Flush { delayed: false }), quiet, ..Request::default() };
    }
    let mut exptime = 0;
    if line.count != if quiet { 2 } else { 1 } {
        match signed32(line.word(input, 1)) {
            Some(time) => exptime = time,
            None => return say(BAD_EXPTIME, quiet),
        }
    }
    let delayed = exptime > 0;
    let exptime = text_when(exptime, engine);
    Request { op: op(Op::Flush { delayed }), quiet, exptime, ..Request::default() }
}

/// `verbosity <level> [noreply]`
fn parse_verbosity(line: &Line, input: &[u8]) -> Request {
    if line.count != 2 && line.count != 3 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    match unsigned32(line.word(input, 1)) {
        Some(level) => {
            Request { op: op(Op::Verbosity), quiet, number: level.into(), ..Request::default() }
        }
        None => say(BAD_FORMAT, quiet),
    }
}

/// `stats [what]`; what is behind it is not looked at.
fn parse_stats(line: &Line, input: &[u8]) -> Request {
    let word = |i| line.word(input, i);
    match word(1) {
        b"detail" => match word(2) {
            b"on" | b"off" => say(OK, false),
            b"dump" => say(END, false),
            _ => say(DETAIL_USAGE, false),
        },
        b"cachedump" if line.count < 4 => say(BAD_LINE, false),
        b"cachedump" => say(NO_CACHEDUMP, false),
        _ => Request { op: op(Op::Stats), key: line.span(1), ..Request::default() },
    }
}

/// `shutdown [graceful]`
fn parse_shutdown(line: &Line, input: &[u8], engine: &Engine) -> Request {
    let graceful = line.count == 2 && line.word(input, 1) == b"graceful";
    if !engine.settings.shutdown {
        say(NO_SHUTDOWN, false)
    } else if line.count == 1 || graceful {
        Request { op: op(Op::Shutdown { graceful }), ..Request::default() }
    } else {
        say(BAD_SHUTDOWN, false)
    }
}

/// `cache_memlimit <megabytes> [noreply]`
fn parse_memory_limit(line: &Line, input: &[u8]) -> Request {
    if line.count != 2 && line.count != 3 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    match unsigned32(line.word(input, 1)) {
        None => say(ERROR, quiet),
        Some(0..8) => say(LIMIT_SMALL, quiet),
        Some(1_000_000_001..) => say(LIMIT_UNIT, quiet),
        Some(n) => {
            Request { op: op(Op::MemoryLimit), quiet, number: n.into(), ..Request::default() }
        }
    }
}

// What follows steers parts of memcached that have no counterpart: the arguments are checked, and
// what only tunes is accepted.

/// `slabs reassign <from> <to>`, `slabs automove <level>`, `slabs automove ratio <ratio>`
fn parse_slabs(line: &Line, input: &[u8]) -> Request {
    let word = |i| line.word(input, i);
    match (line.count, word(1)) {
        (4, b"reassign") => say(NO_REASSIGN, false),
        (3.., b"automove") => {
            let quiet = noreply(line, input);
            match word(2) {
                b"ratio" if line.count >= 4 && float(word(3)).is_some() => say(OK, quiet),
                b"ratio" => say(ERROR, quiet),
                level => match unsigned32(level) {
                    None => say(BAD_FORMAT, quiet),
                    Some(0..=2) => say(OK, quiet),
                    Some(_) => say(ERROR, quiet),
                },
            }
        }
        _ => say(ERROR, false),
    }
}

/// `lru tune <hot> <warm> <hot factor> <warm factor>`, `lru mode flat|segmented`,
/// `lru temp_ttl <ttl>`
fn parse_lru(line: &Line, input: &[u8]) -> Request {
    let word = |i| line.word(input, i);
    let quiet = noreply(line, input);
    let text = match word(1) {
        b"tune" if line.count >= 6 => {
            let numbers = (unsigned32(word(2)), unsigned32(word(3)));
            match (numbers, float(word(4)), float(word(5))) {
                ((Some(hot), Some(warm)), Some(hot_factor), Some(warm_factor)) => {
                    if hot.wrapping_add(warm) > 80 {
                        BAD_LRU_SHARE
                    } else if hot_factor <= 0.0 || warm_factor <= 0.0 {
                        BAD_LRU_FACTOR
                    } else {
                        OK
                    }
                }
                _ => ERROR,
            }
        }
        b"mode" if matches!(word(2), b"flat" | b"segmented") => OK,
        b"temp_ttl" if line.count >= 3 && signed32(word(2)).is_some() => OK,
        _ => ERROR,
    };
    say(text, quiet)
}

/// `lru_crawler crawl|metadump|mgdump <what>`, `lru_crawler tocrawl|sleep <number>`,
/// `lru_crawler enable|disable`
fn parse_crawler(line: &Line, input: &[u8], engine: &Engine) -> Request {
    let command = line.word(input, 1);
    if line.count == 3 && engine.settings.crawler && matches!(command, b"metadump" | b"mgdump") {
        let Some(unique) = dump::classes(line.word(input, 2)) else { return say(BAD_CLASS, false) };
        let what = Op::Dump { meta: command == b"metadump" };
        return Request { op: op(what), unique, ..Request::default() };
    }
    let number = unsigned32(line.word(input, 2));
    let text = match (line.count, command) {
        (3, b"crawl" | b"metadump" | b"mgdump") => NO_CRAWLER,
        (3, b"tocrawl" | b"sleep") if number.is_none() => BAD_FORMAT,
        (3, b"sleep") if number > Some(1_000_000) => LONG_SLEEP,
        (3, b"tocrawl" | b"sleep") | (2, b"enable" | b"disable") => OK,
        _ => ERROR,
    };
    say(text, false)
}

fn float(word: &[u8]) -> Option<f64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn text_when(exptime: i32, engine: &Engine) -> u32 {
    ops::text_when(exptime, &engine.settings, engine.local.store().now())
}

// -- what the commands do

impl Dialect for Op {
    const TAIL: usize = 2;

    #[inline]
    fn execute(
        self,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut dyn Server,
        out: &mut Out,
    ) -> Next {
        execute(self, request, input, engine, server, out)
    }

    fn plan<'a>(
        self,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        _: &'a mut [u8; KEY_MAX],
    ) -> Option<(&'a [u8], Put)> {
        let Op::Store(mode) = self else { return None };
        let key = request.key.of(input);
        if ops::too_large(&engine.settings, key.len(), request.value.len.into(), request.flags) {
            engine.counters.store_too_large += 1;
            if mode == Mode::Set {
                ops::forget(engine, key);
            }
            reply(out, request, TOO_LARGE);
            return None;
        }
        Some((key, put(mode, request)))
    }

    fn store(
        self,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    ) {
        store(self, request, input, value, engine, out);
    }

    fn no_memory(
        self,
        request: &Request,
        _: &[u8],
        (key, put): (&[u8], &Put),
        engine: &mut Engine,
        out: &mut Out,
    ) {
        if put.mode == Mode::Set {
            ops::forget(engine, key);
        }
        reply(out, request, NO_MEMORY);
    }
}

#[inline]
fn execute(
    what: Op,
    request: &mut Request,
    input: &[u8],
    engine: &mut Engine,
    server: &mut dyn Server,
    out: &mut Out,
) -> Next {
    let key = request.key.of(input);
    let hash = request.hash;
    match (what, hash) {
        (Op::Get { many: false, unique, touch: false }, Some(hash)) => {
            let Engine { local, counters, settings, .. } = engine;
            out.unit();
            if let Some(item) = ops::get(local, counters, key, hash) {
                value(key, &item, unique, settings, out, END);
            } else {
                out.text(END);
            }
        }
        (Op::Store(mode), Some(_)) => {
            let block = Span { at: request.value.at, len: request.value.len + 2 }.of(input);
            let (block, end) = block.split_at(request.value.len as usize);
            let value = (end == b"\r\n").then_some(Value::Here(block));
            store(Op::Store(mode), request, input, value, engine, out);
        }
        (Op::Delta { decrement }, Some(hash)) => {
            let delta = Delta { decrement, by: request.number, ..Delta::default() };
            match ops::delta(engine, key, hash, &delta) {
                Sum::Is(sum, ..) => number(out, request, sum),
                Sum::NotFound => {
                    ops::count_miss(engine, decrement);
                    reply(out, request, NOT_FOUND);
                }
                Sum::NotNumber | Sum::Exists => reply(out, request, NOT_NUMBER),
                Sum::NoMemory => reply(out, request, NO_MEMORY_DELTA),
            }
        }
        (Op::Delete, Some(_)) => {
            let found = ops::delete(engine, key, None) == Deleted::Yes;
            reply(out, request, if found { DELETED } else { NOT_FOUND });
        }
        (Op::Touch, Some(hash)) => {
            let Engine { local, counters, .. } = engine;
            let found = ops::get_and_touch(local, counters, key, hash, request.exptime).is_some();
            reply(out, request, if found { TOUCHED } else { NOT_FOUND });
        }
        (Op::Get { unique, touch, .. }, _) => {
            return get_many(request, input, unique, touch, END, engine, out)
        }
        (Op::Keys { unique }, _) => {
            return get_many(request, input, unique, false, b"", engine, out)
        }
        _ => return execute_rare(what, request, input, engine, server, out),
    }
    Next::Continue
}

#[cold]
fn execute_rare(
    what: Op,
    request: &mut Request,
    input: &[u8],
    engine: &mut Engine,
    server: &mut dyn Server,
    out: &mut Out,
) -> Next {
    match what {
        Op::Flush { .. } if !engine.settings.flush => {
            // Counted as memcached does it, which does not count binary ones.
            engine.counters.cmd_flush += 1;
            reply(out, request, NO_FLUSH);
        }
        Op::Flush { delayed } => {
            ops::flush(engine, delayed.then_some(request.exptime));
            reply(out, request, OK);
        }
        Op::Verbosity => {
            server.verbosity(request.number as u32);
            reply(out, request, OK);
        }
        Op::GetUntilBad { touch } => {
            let Engine { local, counters, settings, .. } = engine;
            let Span { at, len } = request.key;
            let mut words = Words::new(request.key.of(input));
            for _ in 0..settings.keys_soft {
                let Some(key) = words.next().filter(|key| key.len() <= KEY_MAX) else {
                    reply(out, request, BAD_FORMAT);
                    return Next::Continue;
                };
                let hash = local.hash(key);
                match touch {
                    true => ops::get_and_touch(local, counters, key, hash, request.exptime),
                    false => ops::get(local, counters, key, hash),
                };
            }
            request.key = Span { at: at + words.at as u32, len: len - words.at as u32 };
            return Next::Again;
        }
        Op::Version => {
            out.unit();
            let version = engine.settings.version.as_bytes();
            let mut w = out.room(version.len() + 10);
            w.bytes(b"VERSION ").bytes(version).bytes(b"\r\n").finish();
        }
        Op::Stats => return stats(request, input, engine, server, out),
        // It has no end that a datagram could hold.
        Op::Dump { .. } if out.is_of_datagrams() => out.text(NO_CRAWLER),
        Op::Dump { meta } => return dump::step(request, meta, engine, out),
        Op::MemoryLimit => {
            let done = server.memory(request.number as u32);
            reply(out, request, if done { OK } else { LIMIT_FAILED });
        }
        Op::Shutdown { graceful } => {
            server.shutdown(graceful);
            return Next::Close;
        }
        Op::Quit => return Next::Close,
        Op::Say => reply(out, request, request.say),
        _ => unreachable!("has a key"),
    }
    Next::Continue
}

#[inline]
fn reply(out: &mut Out, request: &Request, text: &[u8]) {
    if !request.quiet {
        out.unit();
        out.text(text);
    }
}

fn number(out: &mut Out, request: &Request, number: u64) {
    if !request.quiet {
        out.unit();
        out.room(24).number(number).bytes(b"\r\n").finish();
    }
}

/// `VALUE <key> <flags> <length> [unique]`, the data, and what follows them.
#[inline]
fn value(
    key: &[u8],
    item: &Item<'_>,
    unique: bool,
    settings: &Settings,
    out: &mut Out,
    then: &[u8],
) {
    let data = item.value();
    let near = data.len() <= settings.copy_max;
    let mut w = out.room(80 + key.len() + if near { data.len() } else { 0 });
    w.bytes(b"VALUE ").bytes(key).byte(b' ').number(item.flags().into());
    w.byte(b' ').number(data.len() as u64);
    if unique {
        w.byte(b' ').number(item.cas());
    }
    w.bytes(b"\r\n");
    if near {
        w.bytes(data).bytes(b"\r\n").bytes(then).finish();
    } else {
        w.finish();
        out.item(item, settings.copy_max);
        out.room(8).bytes(b"\r\n").bytes(then).finish();
    }
}

/// The keys from `taken` on are for the next time.
fn leave(request: &mut Request, taken: usize) {
    let end = request.key.at as usize + request.key.len as usize;
    request.key = Span::new(taken, end);
}

/// Keys are looked up in groups, so that the memory's latencies overlap.
const GROUP: usize = 16;

#[inline(never)]
fn get_many(
    request: &mut Request,
    input: &[u8],
    unique: bool,
    touch: bool,
    end: &[u8],
    engine: &mut Engine,
    out: &mut Out,
) -> Next {
    let Engine { local, counters, settings, .. } = engine;
    let mut words = Words::new(request.key.of(input)).peekable();
    let (mut taken, mut keys) = (0, 0);
    loop {
        let mut group: [(&[u8], _); GROUP] = [(&[], None); GROUP];
        let mut count = 0;
        for (place, key) in group.iter_mut().zip(&mut words) {
            let hash = local.hash(key);
            local.prefetch_buckets(hash);
            *place = (key, Some(hash));
            count += 1;
        }
        let group = &group[..count];
        for hash in group.iter().filter_map(|(_, hash)| *hash) {
            local.prefetch_item(hash);
        }
        let last = words.peek().is_none();
        for (i, (key, hash)) in group.iter().enumerate() {
            let Some(hash) = *hash else { break };
            let then = if last && i + 1 == count { end } else { b"" };
            out.unit();
            let item = match touch {
                true => ops::get_and_touch(local, counters, key, hash, request.exptime),
                false => ops::get(local, counters, key, hash),
            };
            match item {
                Some(item) => value(key, &item, unique, settings, out, then),
                None => out.text(then),
            }
            taken = key.as_ptr() as usize + key.len() - input.as_ptr() as usize;
            let full = out.held() >= settings.reply_soft || out.len() >= 16 * settings.reply_soft;
            if full && !(last && i + 1 == count) {
                leave(request, taken);
                return Next::Full;
            }
        }
        if last {
            if count == 0 {
                out.unit();
                out.text(end);
            }
            return Next::Continue;
        }
        keys += count;
        if keys >= settings.keys_soft {
            leave(request, taken);
            return Next::Again;
        }
    }
}

fn put(mode: Mode, request: &Request) -> Put {
    let Request { flags, exptime, unique, .. } = *request;
    Put { mode, flags, exptime, unique, ..Put::default() }
}

/// Stores what has come; no value when its end is wrong.
fn store(
    what: Op,
    request: &Request,
    input: &[u8],
    value: Option<Value<'_>>,
    engine: &mut Engine,
    out: &mut Out,
) {
    let (Op::Store(mode), Some(hash)) = (what, request.hash) else { return };
    engine.counters.cmd_set += 1;
    let Some(value) = value else { return reply(out, request, BAD_CHUNK) };
    let key = request.key.of(input);
    let text = match ops::put(engine, key, hash, &put(mode, request), value) {
        Stored::Yes(..) => STORED,
        Stored::Exists => EXISTS,
        Stored::NotFound => NOT_FOUND,
        Stored::NotStored => NOT_STORED,
        Stored::NoMemory => {
            engine.counters.store_no_memory += 1;
            if mode == Mode::Set {
                ops::forget(engine, key);
            }
            NO_MEMORY
        }
    };
    reply(out, request, text);
}

/// `STAT <name> <value>` for each.
fn stats(
    request: &mut Request,
    input: &[u8],
    engine: &mut Engine,
    server: &mut dyn Server,
    out: &mut Out,
) -> Next {
    let args = request.key.of(input);
    if request.number == 0 {
        out.unit();
    }
    if args == b"reset" {
        engine.counters = Default::default();
        server.reset();
        out.text(RESET);
        return Next::Continue;
    }
    let told = server.stats(args, request.number, &engine.counters, &mut |name, value| {
        let mut w = out.room(name.len() + value.len() + 8);
        w.bytes(b"STAT ").bytes(name).byte(b' ').bytes(value).bytes(b"\r\n").finish();
    });
    match told {
        Told::All => out.text(END),
        Told::Nothing => out.text(ERROR),
        Told::Part(next) => {
            request.number = next;
            return Next::Full;
        }
    }
    Next::Continue
}
