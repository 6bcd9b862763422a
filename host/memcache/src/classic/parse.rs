//! What a line of memcached's classic text protocol asks for.

use wirekv_proto::limits::{too_large, KEY_MAX};
use wirekv_proto::number::{signed32, unsigned32, unsigned64};
use wirekv_proto::{Engine, Request, Span};

use super::admin::{self, Admin};
use super::{Command, Op};
use crate::line::{find_control, Line, Words};
use crate::ops::{self, Mode};
use crate::texts::{BAD_EXPTIME, BAD_FORMAT, ERROR};

const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta argument\r\n";
const BAD_DELETE: &[u8] =
    b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";

/// A reply that is known by now; `quiet` swallows it.
pub fn say(text: &'static [u8], quiet: bool) -> Command {
    (Op::Say, Request { say: text, quiet, ..Request::default() })
}

/// A request about the key in a word of the line.
fn keyed(line: &Line, key: usize, input: &[u8], engine: &Engine) -> Request {
    let key = line.span(key);
    let hash = Some(engine.local.hash(key.of(input)));
    Request { key, hash, ..Request::default() }
}

/// The everyday `get` of one key, found without a look at the rest of the input.
#[inline]
pub fn parse_short_get(input: &[u8], engine: &Engine) -> Option<Command> {
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
    Some((what, Request { len: end as u32 + 2, key, hash, ..Request::default() }))
}

/// What a line asks for; `None` closes the connection. A data block's length is in `value.len`, and
/// `value.at` is not 0 then.
pub fn parse(line: &Line, input: &[u8], engine: &Engine) -> Option<Command> {
    let count = line.count;
    let command = line.word(input, 0);
    if command.len() < 2 {
        return Some(say(ERROR, false));
    }
    // The command's first letter decides what is wrong with a line that has too few words.
    Some(match command[0] {
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
            b"stats" => admin::parse_stats(line, input),
            b"shutdown" => admin::parse_shutdown(line, input, engine),
            b"slabs" => admin::parse_slabs(line, input),
            _ => say(ERROR, false),
        },
        b'a' => match command {
            b"add" => parse_store(line, input, engine, Mode::Add),
            b"append" => parse_store(line, input, engine, Mode::Append),
            _ => say(ERROR, false),
        },
        b'c' => match command {
            b"cas" => parse_store(line, input, engine, Mode::Cas),
            b"cache_memlimit" => admin::parse_memory_limit(line, input),
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
            b"flush_all" => admin::parse_flush(line, input, engine),
            b"version" => (Op::Version, Request::default()),
            b"quit" => (Op::Quit, Request::default()),
            b"lru_crawler" => admin::parse_crawler(line, input, engine),
            b"watch" => admin::parse_watch(line, input),
            b"verbosity" => admin::parse_verbosity(line, input),
            b"lru" if count >= 2 => admin::parse_lru(line, input),
            b"refresh_certs" => (Op::Admin(Admin::RefreshCerts), Request::default()),
            b"bget" | b"lru" => say(ERROR, false),
            // A browser that was tricked into talking to a cache.
            _ if line.last(input).starts_with(b"HTTP/") => return None,
            _ => say(ERROR, false),
        },
    })
}

pub fn noreply(line: &Line, input: &[u8]) -> bool {
    line.last(input) == b"noreply"
}

/// `get|gets <key>+`, `gat|gats <exptime> <key>+`
fn parse_get(line: &Line, input: &[u8], engine: &Engine, unique: bool, touch: bool) -> Command {
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
            return (what, Request { key: keys, exptime, ..Request::default() });
        }
        count += 1;
    }
    let many = count != 1;
    let what = Op::Get { many, unique, touch };
    if many {
        return (what, Request { key: keys, exptime, ..Request::default() });
    }
    (what, Request { exptime, ..keyed(line, first, input, engine) })
}

/// `set|add|replace|append|prepend <key> <flags> <exptime> <length> [noreply]`,
/// `cas <key> <flags> <exptime> <length> <unique> [noreply]`
fn parse_store(line: &Line, input: &[u8], engine: &Engine, mode: Mode) -> Command {
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
    let request = Request {
        quiet,
        flags,
        exptime: text_when(exptime, engine),
        unique,
        value: Span { at: line.next as u32, len: len as u32 },
        // The error comes at once, and what follows is skipped.
        streams: too_large(&engine.settings, word(1).len(), len as u64, flags),
        ..keyed(line, 1, input, engine)
    };
    (Op::Store(mode), request)
}

/// `incr|decr <key> <delta> [noreply]`
fn parse_delta(line: &Line, input: &[u8], engine: &Engine, decrement: bool) -> Command {
    if line.count != 3 && line.count != 4 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    if line.word(input, 1).len() > KEY_MAX {
        return say(BAD_FORMAT, quiet);
    }
    let Some(number) = unsigned64(line.word(input, 2)) else { return say(BAD_DELTA, quiet) };
    (Op::Delta { decrement }, Request { quiet, number, ..keyed(line, 1, input, engine) })
}

/// `touch <key> <exptime> [noreply]`
fn parse_touch(line: &Line, input: &[u8], engine: &Engine) -> Command {
    if line.count != 3 && line.count != 4 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    if line.word(input, 1).len() > KEY_MAX {
        return say(BAD_FORMAT, quiet);
    }
    let Some(exptime) = signed32(line.word(input, 2)) else { return say(BAD_EXPTIME, quiet) };
    let exptime = text_when(exptime, engine);
    (Op::Touch, Request { quiet, exptime, ..keyed(line, 1, input, engine) })
}

/// `delete <key> [0] [noreply]`
fn parse_delete(line: &Line, input: &[u8], engine: &Engine) -> Command {
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
    (Op::Delete, Request { quiet, ..keyed(line, 1, input, engine) })
}

pub fn text_when(exptime: i32, engine: &Engine) -> u32 {
    ops::text_when(exptime, &engine.settings, engine.local.store().now())
}
