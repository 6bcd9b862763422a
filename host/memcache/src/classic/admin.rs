//! memcached's commands for those who run it, and those that steer parts of memcached which have no
//! counterpart here.

use wirekv_proto::events::{Refused, FETCHERS};
use wirekv_proto::number::{signed32, unsigned32};
use wirekv_proto::{Engine, Next, Out, Request, Server, Told};

use super::parse::{noreply, say, text_when};
use super::{execute::reply, Command, Op};
use crate::line::{Line, Words};
use crate::texts::{BAD_EXPTIME, BAD_FORMAT, END, ERROR, OK};
use crate::{dump, ops, watch};

const RESET: &[u8] = b"RESET\r\n";
const NO_TLS: &[u8] = b"Error TLS not enabled\r\n";
const BAD_CERTS: &[u8] = b"Error certificates not loaded; the server's log says why\r\n";
const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line\r\n";
const NO_FLUSH: &[u8] = b"CLIENT_ERROR flush_all not allowed\r\n";
const NO_SHUTDOWN: &[u8] = b"ERROR: shutdown not enabled\r\n";
const BAD_SHUTDOWN: &[u8] = b"CLIENT_ERROR invalid shutdown mode\r\n";
const NO_CRAWLER: &[u8] = b"CLIENT_ERROR lru crawler disabled\r\n";
const LONG_SLEEP: &[u8] = b"CLIENT_ERROR sleep must be one second or less\r\n";
const NO_REASSIGN: &[u8] = b"CLIENT_ERROR slab reassignment disabled\r\n";
const NO_WATCH: &[u8] = b"CLIENT_ERROR watch commands not allowed\r\n";
const MANY_WATCHES: &[u8] = b"WATCHER_TOO_MANY log watcher limit reached\r\n";
const NO_CACHEDUMP: &[u8] = b"CLIENT_ERROR stats cachedump not allowed\r\n";
const DETAIL_USAGE: &[u8] = b"CLIENT_ERROR usage: stats detail on|off|dump\r\n";
const LIMIT_SMALL: &[u8] = b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n";
const LIMIT_UNIT: &[u8] = b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n";
const LIMIT_FAILED: &[u8] = b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n";
const BAD_LRU_SHARE: &[u8] = b"ERROR hot and warm pcts must not exceed 80\r\n";
const BAD_LRU_FACTOR: &[u8] = b"ERROR hot/warm age factors must be greater than 0\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    Flush {
        delayed: bool,
    },
    Verbosity,
    Stats,
    /// `stats detail`: to count or not to, or what was counted.
    Detail {
        on: Option<bool>,
    },
    /// `lru_crawler metadump`, or `mgdump`.
    Dump {
        meta: bool,
    },
    MemoryLimit,
    Watch,
    RefreshCerts,
    Shutdown {
        graceful: bool,
    },
}

/// `flush_all [exptime] [noreply]`
pub fn parse_flush(line: &Line, input: &[u8], engine: &Engine) -> Command {
    if line.count > 3 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    if !engine.settings.flush {
        return (
            Op::Admin(Admin::Flush { delayed: false }),
            Request { quiet, ..Request::default() },
        );
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
    (Op::Admin(Admin::Flush { delayed }), Request { quiet, exptime, ..Request::default() })
}

/// `verbosity <level> [noreply]`
pub fn parse_verbosity(line: &Line, input: &[u8]) -> Command {
    if line.count != 2 && line.count != 3 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    match unsigned32(line.word(input, 1)) {
        Some(level) => (
            Op::Admin(Admin::Verbosity),
            Request { quiet, number: level.into(), ..Request::default() },
        ),
        None => say(BAD_FORMAT, quiet),
    }
}

fn detail(on: Option<bool>) -> Command {
    (Op::Admin(Admin::Detail { on }), Request::default())
}

/// `stats [what]`; what is behind it is not looked at.
pub fn parse_stats(line: &Line, input: &[u8]) -> Command {
    let word = |i| line.word(input, i);
    match word(1) {
        b"detail" => match word(2) {
            b"on" => detail(Some(true)),
            b"off" => detail(Some(false)),
            b"dump" => detail(None),
            _ => say(DETAIL_USAGE, false),
        },
        b"cachedump" if line.count < 4 => say(BAD_LINE, false),
        b"cachedump" => say(NO_CACHEDUMP, false),
        _ => (Op::Admin(Admin::Stats), Request { key: line.span(1), ..Request::default() }),
    }
}

/// `shutdown [graceful]`
pub fn parse_shutdown(line: &Line, input: &[u8], engine: &Engine) -> Command {
    let graceful = line.count == 2 && line.word(input, 1) == b"graceful";
    if !engine.settings.shutdown {
        say(NO_SHUTDOWN, false)
    } else if line.count == 1 || graceful {
        (Op::Admin(Admin::Shutdown { graceful }), Request::default())
    } else {
        say(BAD_SHUTDOWN, false)
    }
}

/// `cache_memlimit <megabytes> [noreply]`
pub fn parse_memory_limit(line: &Line, input: &[u8]) -> Command {
    if line.count != 2 && line.count != 3 {
        return say(ERROR, false);
    }
    let quiet = noreply(line, input);
    match unsigned32(line.word(input, 1)) {
        None => say(ERROR, quiet),
        Some(0..8) => say(LIMIT_SMALL, quiet),
        Some(1_000_000_001..) => say(LIMIT_UNIT, quiet),
        Some(n) => (
            Op::Admin(Admin::MemoryLimit),
            Request { quiet, number: n.into(), ..Request::default() },
        ),
    }
}

/// `watch [kind]*`
pub fn parse_watch(line: &Line, input: &[u8]) -> Command {
    let words = Words::new(line.rest(1).of(input));
    let kinds = words.map(watch::kind).try_fold(0, |all, kind| Some(all | kind?));
    match kinds {
        None => say(ERROR, noreply(line, input)),
        Some(kinds) => {
            let number = if line.count > 1 { kinds } else { FETCHERS }.into();
            (Op::Admin(Admin::Watch), Request { number, ..Request::default() })
        }
    }
}

// What follows steers parts of memcached that have no counterpart: the arguments are checked, and
// what only tunes is accepted.

/// `slabs reassign <from> <to>`, `slabs automove <level>`, `slabs automove ratio <ratio>`
pub fn parse_slabs(line: &Line, input: &[u8]) -> Command {
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
pub fn parse_lru(line: &Line, input: &[u8]) -> Command {
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
pub fn parse_crawler(line: &Line, input: &[u8], engine: &Engine) -> Command {
    let command = line.word(input, 1);
    if line.count == 3 && engine.settings.crawler && matches!(command, b"metadump" | b"mgdump") {
        let Some(unique) = dump::classes(line.word(input, 2)) else {
            return say(dump::BAD_CLASS, false);
        };
        let what = Admin::Dump { meta: command == b"metadump" };
        return (Op::Admin(what), Request { unique, ..Request::default() });
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

#[cold]
pub fn execute(
    what: Admin,
    request: &mut Request,
    input: &[u8],
    engine: &mut Engine,
    server: &mut dyn Server,
    out: &mut Out,
) -> Next {
    match what {
        Admin::Flush { .. } if !engine.settings.flush => {
            // Counted as memcached does it, which does not count binary ones.
            engine.counters.cmd_flush += 1;
            reply(out, request, NO_FLUSH);
        }
        Admin::Flush { delayed } => {
            ops::flush(engine, delayed.then_some(request.exptime));
            reply(out, request, OK);
        }
        Admin::Verbosity => {
            server.verbosity(request.number as u32);
            reply(out, request, OK);
        }
        Admin::Detail { on: Some(on) } => {
            engine.settings.prefixes.switch(on);
            reply(out, request, OK);
        }
        Admin::Detail { on: None } => {
            out.unit();
            out.text(&engine.settings.prefixes.dump());
        }
        Admin::Stats => return stats(request, input, engine, server, out),
        // It has no end that a datagram could hold.
        Admin::Dump { .. } if out.is_of_datagrams() => {
            out.unit();
            out.text(NO_CRAWLER);
        }
        Admin::Dump { meta } => return dump::step(request, meta, engine, out),
        Admin::MemoryLimit => {
            let done = server.memory(request.number as u32);
            reply(out, request, if done { OK } else { LIMIT_FAILED });
        }
        Admin::Watch => {
            out.unit();
            let refused = match server.watch(request.number as u32) {
                Ok(()) => {
                    out.text(OK);
                    return Next::Watch;
                }
                Err(refused) => refused,
            };
            out.text(match refused {
                Refused::Forbidden => NO_WATCH,
                Refused::TooMany => MANY_WATCHES,
            });
        }
        Admin::RefreshCerts => {
            out.unit();
            out.text(match server.refresh_certs() {
                None => NO_TLS,
                Some(false) => BAD_CERTS,
                Some(true) => OK,
            });
        }
        Admin::Shutdown { graceful } => {
            server.shutdown(graceful);
            return Next::Close;
        }
    }
    Next::Continue
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
        server.reset(&mut engine.counters);
        engine.settings.prefixes.clear();
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
