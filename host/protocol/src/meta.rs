//! memcached's meta commands: two letters, a key, and flags of one letter, some with a value
//! behind it.
//!
//! Flags are worked off in the order in which they are given, which shows in the reply.

use crate::base64;
use crate::dialect::Dialect;
use crate::line::{Line, Words};
use crate::number::{self, signed32, unsigned32, unsigned64};
use crate::ops::{self, Deleted, Delta, Mode, Put, Rest, Stored, Sum, Value, KEY_MAX};
use crate::request::{self, Next, Request, Span};
use crate::store::Hash;
use crate::texts::{BAD_CHUNK, BAD_FORMAT, NOT_NUMBER, NO_MEMORY, NO_MEMORY_DELTA, TOO_LARGE};
use crate::{Engine, Out, Server};

const ERROR: &[u8] = b"ERROR\r\n";
const DUPLICATE: &[u8] = b"CLIENT_ERROR duplicate flag\r\n";
const INVALID: &[u8] = b"CLIENT_ERROR invalid flag\r\n";
const INVALID_OR_DUPLICATE: &[u8] = b"CLIENT_ERROR invalid or duplicate flag\r\n";
const BAD_KEY: &[u8] = b"CLIENT_ERROR error decoding key\r\n";
const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
const BAD_MODE_LEN: &[u8] = b"CLIENT_ERROR incorrect length for M token\r\n";
const BAD_INITIAL: &[u8] = b"CLIENT_ERROR invalid numeric initial value\r\n";
const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta value\r\n";
const BAD_SET_MODE: &[u8] = b"CLIENT_ERROR invalid mode for ms M token\r\n";
const BAD_SUM_MODE: &[u8] = b"CLIENT_ERROR invalid mode for ma M token\r\n";
const LONG_OPAQUE: &[u8] = b"CLIENT_ERROR opaque token too long\r\n";
const MANY_FLAGS_GET: &[u8] = b"CLIENT_ERROR options flags are too long\r\n";
const MANY_FLAGS: &[u8] = b"CLIENT_ERROR options flags too long\r\n";
const NO_MEMORY_NEW: &[u8] = b"SERVER_ERROR Out of memory allocating new item\r\n";

/// Command, key and flags together, at most.
const MAX_WORDS: usize = 19;
const MAX_OPAQUE: usize = 32;
/// Room for what a command answers besides key, opaque and value.
const REPLY: usize = 256;

/// A command whose line is well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Get,
    Set,
    Delete,
    Arithmetic,
    /// `me`: all about an item, for people.
    Debug,
    Nothing,
    /// Nothing but a reply.
    Say,
}

fn say(text: &'static [u8]) -> Request {
    Request { op: request::Op::Meta(Op::Say), say: text, ..Request::default() }
}

/// What a line asks for. The data block of `ms` is in `value`.
pub(crate) fn parse(line: &Line, input: &[u8], engine: &Engine) -> Request {
    let op = match line.word(input, 0)[1] {
        b'g' => Op::Get,
        b's' => Op::Set,
        b'd' => Op::Delete,
        b'a' => Op::Arithmetic,
        b'e' => Op::Debug,
        b'n' => Op::Nothing,
        _ => return say(ERROR),
    };
    if op == Op::Nothing {
        return say(b"MN\r\n");
    }
    let key = line.word(input, 1);
    if key.is_empty() {
        return say(if op == Op::Debug { BAD_FORMAT } else { ERROR });
    }
    if key.len() > KEY_MAX || (op == Op::Set && line.count == 2) {
        return say(BAD_FORMAT);
    }
    if line.count > MAX_WORDS && op != Op::Debug {
        return say(if op == Op::Get { MANY_FLAGS_GET } else { MANY_FLAGS });
    }
    let mut request = Request {
        op: request::Op::Meta(op),
        key: line.span(1),
        args: line.rest(if op == Op::Set { 3 } else { 2 }),
        ..Request::default()
    };
    if op == Op::Set {
        match signed32(line.word(input, 2)) {
            Some(len) if (0..=i32::MAX - 2).contains(&len) => {
                request.value = Span { at: line.next as u32, len: len as u32 };
                request.streams =
                    ops::too_large(&engine.settings, key.len() / 4 * 3, len as u64, 0);
            }
            _ => return say(BAD_FORMAT),
        }
    }
    let mut decoded = [0; KEY_MAX];
    request.hash = whole_key(&request, input, &mut decoded).map(|key| engine.local.hash(key));
    request
}

/// The key, decoded where the flags say that it is base64.
fn whole_key<'a>(
    request: &Request,
    input: &'a [u8],
    decoded: &'a mut [u8; KEY_MAX],
) -> Option<&'a [u8]> {
    let key = request.key.of(input);
    let mut flags = Words::new(request.args.of(input));
    let binary = match request.op {
        request::Op::Meta(Op::Debug) => flags.next() == Some(b"b"),
        _ => flags.any(|flag| flag[0] == b'b'),
    };
    if !binary {
        return Some(key);
    }
    let len = base64::decode(key, decoded)?;
    Some(&decoded[..len])
}

/// What the flags of a command say.
#[derive(Default)]
struct Flags {
    binary_key: bool,
    /// `v`: the value is asked for.
    value: bool,
    quiet: bool,
    /// `u`: the read does not count.
    no_update: bool,
    invalidate: bool,
    /// `x`: the value is removed, the item stays.
    remove_value: bool,
    unique: Option<u64>,
    explicit: Option<u64>,
    mode: u8,
    exptime: Option<u32>,
    vivify: Option<u32>,
    recache: Option<u32>,
    client: u32,
    initial: u64,
    delta: u64,
    /// `l` or `h`, or what changes the item: it is marked as read after the reply.
    late: bool,
}

impl Flags {
    fn parse(request: &Request, input: &[u8], engine: &Engine) -> Result<Flags, &'static [u8]> {
        let mut flags = Flags { delta: 1, ..Flags::default() };
        let mut seen = 0u128;
        let mut error = None;
        // A word that is wrong for no better reason.
        let mut reason = BAD_FORMAT;
        for word in Words::new(request.args.of(input)) {
            let (flag, rest) = (word[0], &word[1..]);
            if flag >= 127 || seen >> flag & 1 == 1 {
                return Err(DUPLICATE);
            }
            seen |= 1 << flag;
            let time = || {
                let now = engine.local.store().now();
                signed32(rest).map(|time| ops::text_when(time, &engine.settings, now))
            };
            let good = match flag {
                b'b' => {
                    reason = if request.hash.is_none() { BAD_KEY } else { reason };
                    flags.binary_key = true;
                    request.hash.is_some()
                }
                b'N' | b'T' | b'R' => {
                    flags.late = true;
                    let place = match flag {
                        b'N' => &mut flags.vivify,
                        b'T' => &mut flags.exptime,
                        _ => &mut flags.recache,
                    };
                    *place = time();
                    reason = if place.is_none() { BAD_TOKEN } else { reason };
                    place.is_some()
                }
                b'l' | b'h' => {
                    flags.late = true;
                    true
                }
                b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' => true,
                b'v' => {
                    flags.value = true;
                    true
                }
                b'u' => {
                    flags.no_update = true;
                    true
                }
                b'q' => {
                    flags.quiet = true;
                    true
                }
                b'x' => {
                    flags.remove_value = true;
                    true
                }
                b'I' => {
                    flags.invalidate = true;
                    true
                }
                b'F' => match unsigned32(rest) {
                    Some(client) => {
                        flags.client = client;
                        true
                    }
                    None => false,
                },
                b'C' | b'E' => {
                    let place = match flag {
                        b'C' => &mut flags.unique,
                        _ => &mut flags.explicit,
                    };
                    *place = unsigned64(rest);
                    reason = if place.is_none() { BAD_TOKEN } else { reason };
                    place.is_some()
                }
                b'M' => {
                    flags.mode = if rest.len() == 1 { rest[0] } else { 0 };
                    reason = if rest.len() == 1 { reason } else { BAD_MODE_LEN };
                    rest.len() == 1
                }
                b'J' => match unsigned64(rest) {
                    Some(initial) => {
                        flags.initial = initial;
                        true
                    }
                    None => {
                        reason = BAD_INITIAL;
                        false
                    }
                },
                b'D' => match unsigned64(rest) {
                    Some(delta) => {
                        flags.delta = delta;
                        true
                    }
                    None => {
                        reason = BAD_DELTA;
                        false
                    }
                },
                _ => return Err(INVALID),
            };
            if !good {
                error = Some(());
            }
        }
        // Where items have no uniques, none can be given them.
        flags.explicit = flags.explicit.filter(|_| engine.settings.cas);
        match error {
            None => Ok(flags),
            Some(()) => Err(reason),
        }
    }
}

impl Dialect for Op {
    const TAIL: usize = 2;

    #[inline]
    fn execute(
        self,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        _: &mut dyn Server,
        out: &mut Out,
    ) -> Next {
        execute(self, request, input, engine, out)
    }

    fn plan<'a>(
        self,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<(&'a [u8], Put)> {
        let key = whole_key(request, input, decoded).unwrap_or_default();
        let put = Flags::parse(request, input, engine)
            .and_then(|flags| plan_set(&flags, request, input, key, engine));
        match put {
            Ok(put) => Some((key, put)),
            Err(why) => {
                out.unit();
                out.text(why);
                None
            }
        }
    }

    fn store(
        self,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    ) {
        let mut decoded = [0; KEY_MAX];
        let key = whole_key(request, input, &mut decoded);
        out.unit();
        set(request, input, key, value, engine, out);
    }

    fn no_memory(
        self,
        _: &Request,
        _: &[u8],
        (key, _): (&[u8], &Put),
        engine: &mut Engine,
        out: &mut Out,
    ) {
        ops::forget(engine, key);
        out.unit();
        out.text(NO_MEMORY);
    }
}

fn execute(op: Op, request: &Request, input: &[u8], engine: &mut Engine, out: &mut Out) -> Next {
    out.unit();
    if op == Op::Say {
        out.text(request.say);
        return Next::Continue;
    }
    let mut decoded = [0; KEY_MAX];
    let key = whole_key(request, input, &mut decoded);
    if op == Op::Debug {
        debug(request, key, engine, out);
        return Next::Continue;
    }
    if op == Op::Set {
        let block = Span { at: request.value.at, len: request.value.len + 2 }.of(input);
        let (block, end) = block.split_at(request.value.len as usize);
        let value = (end == b"\r\n").then_some(Value::Here(block));
        set(request, input, key, value, engine, out);
        return Next::Continue;
    }
    let flags = match Flags::parse(request, input, engine) {
        Ok(flags) => flags,
        Err(why) => {
            out.text(if op == Op::Get { why } else { INVALID_OR_DUPLICATE });
            return Next::Continue;
        }
    };
    let (Some(key), Some(hash)) = (key, request.hash) else { return Next::Continue };
    let mark = out.mark();
    let args = request.args.of(input);
    let done = match op {
        Op::Get => get(&flags, args, key, hash, engine, out),
        Op::Delete => delete(&flags, args, key, hash, engine, out),
        _ => arithmetic(&flags, args, key, hash, engine, out),
    };
    if let Err(why) = done {
        out.rewind(mark);
        out.text(why);
    }
    Next::Continue
}

type Done = Result<(), &'static [u8]>;

fn opaque(word: &[u8], out: &mut Out) -> Done {
    if word.len() > MAX_OPAQUE {
        return Err(LONG_OPAQUE);
    }
    out.room(1 + word.len()).byte(b' ').bytes(word).finish();
    Ok(())
}

/// ` k<key>`, in base64 with ` b` behind it where it is binary.
fn show_key(key: &[u8], binary: bool, out: &mut Out) {
    let mut w = out.room(8 + key.len() * 2);
    w.bytes(b" k");
    if binary {
        base64::encode(key, |group| {
            w.bytes(group);
        });
        w.bytes(b" b");
    } else {
        w.bytes(key);
    }
    w.finish();
}

fn show_number(flag: u8, value: u64, out: &mut Out) {
    out.room(24).byte(b' ').byte(flag).number(value).finish();
}

/// ` t<seconds to live>`, -1 for ever.
fn show_exptime(exptime: u32, now: u32, out: &mut Out) {
    match exptime {
        0 => out.text(b" t-1"),
        _ => show_number(b't', exptime.wrapping_sub(now).into(), out),
    }
}

/// What opaque and key flags show in a reply about no item.
fn show_request(args: &[u8], key: &[u8], binary: bool, out: &mut Out) -> Done {
    for word in Words::new(args) {
        match word[0] {
            b'O' => opaque(word, out)?,
            b'k' => show_key(key, binary, out),
            _ => {}
        }
    }
    Ok(())
}

/// `mg <key> <flags>*`
fn get(
    flags: &Flags,
    args: &[u8],
    key: &[u8],
    hash: Hash,
    engine: &mut Engine,
    out: &mut Out,
) -> Done {
    let touches = flags.exptime.is_some();
    let mut created = false;
    let before = loop {
        if let Some(item) = engine.local.get(key, hash) {
            break Some(item.exptime());
        }
        if flags.vivify.is_none() {
            break None;
        }
        // An empty item takes its place, for the one who wins to fill.
        let empty = Put { mode: Mode::Add, explicit: flags.explicit, ..Put::default() };
        match ops::put(engine, key, hash, &empty, Value::Here(b"")) {
            Stored::Yes(..) => {
                created = true;
                break engine.local.get(key, hash).map(|item| item.exptime());
            }
            Stored::NotStored => {}
            _ => break None,
        }
    };
    let Engine { local, counters, settings, .. } = engine;
    let item = match before {
        Some(before) => match last_exptime(flags, args, created).filter(|new| *new != before) {
            Some(exptime) => ops::touch(local, key, hash, exptime),
            None => local.get(key, hash).map(|item| (&*local, item)),
        },
        None => None,
    };
    let found = item.is_some();
    if touches {
        counters.cmd_touch += 1;
        *(if found { &mut counters.touch_hits } else { &mut counters.touch_misses }) += 1;
    } else {
        counters.cmd_get += 1;
        *(if found { &mut counters.get_hits } else { &mut counters.get_misses }) += 1;
    }
    let (Some((local, item)), Some(before)) = (item, before) else {
        let mark = out.mark();
        out.text(b"EN");
        show_request(args, key, flags.binary_key, out)?;
        out.text(b"\r\n");
        if flags.quiet {
            out.rewind(mark);
        }
        return Ok(());
    };
    let (now, data) = (local.store().now(), item.value());
    if !flags.late && !flags.no_update {
        local.hit(&item);
    }
    let mut w = out.room(REPLY);
    match flags.value {
        true => w.bytes(b"VA ").number(data.len() as u64).finish(),
        false => w.bytes(b"HD").finish(),
    }
    let mut exptime = before;
    let mut won = false;
    for word in Words::new(args) {
        match word[0] {
            b'T' => exptime = flags.exptime.unwrap_or(exptime),
            b'N' if created => {
                exptime = flags.vivify.unwrap_or(exptime);
                won = true;
            }
            b'R' => {
                let soon = exptime != 0 && flags.recache.is_some_and(|limit| exptime < limit);
                won |= soon && !created && !item.win_sent();
            }
            b's' => show_number(b's', data.len() as u64, out),
            b't' => show_exptime(exptime, now, out),
            b'c' => show_number(b'c', item.cas(), out),
            b'f' => show_number(b'f', item.flags().into(), out),
            b'l' => show_number(b'l', now.saturating_sub(item.time()).into(), out),
            b'h' => show_number(b'h', item.fetched().into(), out),
            b'k' => show_key(key, item.binary_key(), out),
            b'O' => opaque(word, out)?,
            _ => {}
        }
    }
    let (win_sent, stale) = (item.win_sent(), item.stale());
    if win_sent {
        out.text(b" Z");
    }
    if stale {
        out.text(b" X");
        won |= !win_sent;
    }
    if won {
        let entry = local.lock(key);
        if entry.item().is_some_and(|item| item.win_sent()) {
            // Another one was faster.
            won = false;
        } else if entry.item().is_some() {
            entry.set_win_sent(true);
        }
        out.text(if won { b" W" } else { b" Z" });
    }
    if flags.late && !flags.no_update {
        local.hit(&item);
    }
    out.text(b"\r\n");
    if flags.value {
        out.item(&item, settings.copy_max);
        out.text(b"\r\n");
    }
    Ok(())
}

/// `ms <key> <length> <flags>*`, with the flags and all else checked but the data.
fn plan_set(
    flags: &Flags,
    request: &Request,
    input: &[u8],
    key: &[u8],
    engine: &mut Engine,
) -> Result<Put, &'static [u8]> {
    let mut exptime = flags.exptime.unwrap_or(0);
    let mut mode = match flags.mode {
        0 | b'S' => Mode::Set,
        b'E' => Mode::Add,
        b'A' => Mode::Append,
        b'P' => Mode::Prepend,
        b'R' => Mode::Replace,
        _ => return Err(BAD_SET_MODE),
    };
    let extends = matches!(mode, Mode::Append | Mode::Prepend);
    if extends {
        exptime = flags.vivify.unwrap_or(exptime);
    }
    if flags.unique.is_some() && matches!(mode, Mode::Set | Mode::Replace) {
        mode = Mode::Cas;
    }
    if Words::new(request.args.of(input)).any(|word| word[0] == b'O' && word.len() > MAX_OPAQUE) {
        return Err(LONG_OPAQUE);
    }
    if ops::too_large(&engine.settings, key.len(), request.value.len.into(), flags.client) {
        engine.counters.store_too_large += 1;
        ops::forget(engine, key);
        return Err(TOO_LARGE);
    }
    Ok(Put {
        mode,
        flags: flags.client,
        exptime,
        // memcached notes it in the new item, which has no room for it with -C.
        unique: flags.unique.filter(|_| engine.settings.cas).unwrap_or(0),
        // To `ms` alone 0 is none.
        explicit: flags.explicit.filter(|unique| *unique != 0),
        stale: flags.invalidate && mode == Mode::Cas,
        vivify: extends && flags.vivify.is_some(),
        binary_key: flags.binary_key,
    })
}

fn set(
    request: &Request,
    input: &[u8],
    key: Option<&[u8]>,
    value: Option<Value<'_>>,
    engine: &mut Engine,
    out: &mut Out,
) {
    let mark = out.mark();
    let done = (|| {
        let flags = Flags::parse(request, input, engine)?;
        let (Some(key), Some(hash)) = (key, request.hash) else { return Err(BAD_KEY) };
        let put = plan_set(&flags, request, input, key, engine)?;
        engine.counters.cmd_set += 1;
        let value = value.ok_or(BAD_CHUNK)?;
        let (mut unique, mut len) = (0, request.value.len as usize);
        let status: &[u8] = match ops::put(engine, key, hash, &put, value) {
            Stored::Yes(new, total) => {
                (unique, len) = (new, total);
                b"HD"
            }
            Stored::Exists => b"EX",
            Stored::NotFound => b"NF",
            Stored::NotStored => b"NS",
            Stored::NoMemory => {
                engine.counters.store_no_memory += 1;
                ops::forget(engine, key);
                return Err(NO_MEMORY);
            }
        };
        if status == b"HD" && flags.quiet {
            return Ok(());
        }
        out.text(status);
        for word in Words::new(request.args.of(input)) {
            match word[0] {
                b'O' => opaque(word, out)?,
                b'k' => show_key(key, flags.binary_key, out),
                b'c' => show_number(b'c', unique, out),
                b's' => show_number(b's', len as u64, out),
                _ => {}
            }
        }
        out.text(b"\r\n");
        Ok(())
    })();
    if let Err(why) = done {
        out.rewind(mark);
        out.text(why);
    }
}

/// `md <key> <flags>*`
fn delete(
    flags: &Flags,
    args: &[u8],
    key: &[u8],
    hash: Hash,
    engine: &mut Engine,
    out: &mut Out,
) -> Done {
    let mark = out.mark();
    out.text(b"HD");
    show_request(args, key, flags.binary_key, out)?;
    out.text(b"\r\n");
    let done = if flags.remove_value || flags.invalidate {
        let rest = Rest {
            empty: flags.remove_value.then_some(flags.client),
            stale: flags.invalidate,
            exptime: flags.exptime,
            explicit: flags.explicit,
        };
        ops::invalidate(engine, key, hash, flags.unique, &rest)
    } else {
        ops::delete(engine, key, flags.unique)
    };
    match done {
        Deleted::Yes if flags.quiet => out.rewind(mark),
        Deleted::Yes => {}
        Deleted::NotFound => out.replace(mark, b"NF"),
        Deleted::Exists => out.replace(mark, b"EX"),
        Deleted::NoMemory => return Err(NO_MEMORY_DELTA),
    }
    Ok(())
}

/// `ma <key> <flags>*`
fn arithmetic(
    flags: &Flags,
    args: &[u8],
    key: &[u8],
    hash: Hash,
    engine: &mut Engine,
    out: &mut Out,
) -> Done {
    let mark = out.mark();
    let decrement = match flags.mode {
        0 | b'I' | b'+' => false,
        b'D' | b'-' => true,
        _ => return Err(BAD_SUM_MODE),
    };
    let delta = Delta {
        decrement,
        by: flags.delta,
        unique: flags.unique.unwrap_or(0),
        explicit: flags.explicit,
        exptime: flags.exptime,
    };
    let mut created = false;
    let (value, unique, mut exptime) = loop {
        let status: &[u8] = match ops::delta(engine, key, hash, &delta) {
            Sum::Is(value, unique, exptime) => break (value, unique, exptime),
            Sum::NotNumber => return Err(NOT_NUMBER),
            Sum::NoMemory => return Err(NO_MEMORY_DELTA),
            Sum::Exists => b"EX",
            Sum::NotFound if flags.vivify.is_some() => {
                let mut buffer = [0; number::DIGITS];
                let digits = number::digits(flags.initial, &mut buffer);
                let initial = Put {
                    mode: Mode::Add,
                    exptime: last_exptime(flags, args, true).unwrap_or(0),
                    explicit: flags.explicit,
                    ..Put::default()
                };
                match ops::put(engine, key, hash, &initial, Value::Here(digits)) {
                    Stored::Yes(unique, _) => {
                        created = true;
                        break (flags.initial, unique, 0);
                    }
                    Stored::NoMemory => return Err(NO_MEMORY_NEW),
                    // It came just now, from another connection.
                    _ => continue,
                }
            }
            Sum::NotFound => {
                ops::count_miss(engine, decrement);
                b"NF"
            }
        };
        out.text(status);
        show_request(args, key, flags.binary_key, out)?;
        out.text(b"\r\n");
        return Ok(());
    };
    let mut buffer = [0; number::DIGITS];
    let digits = number::digits(value, &mut buffer);
    match flags.value {
        true => out.room(REPLY).bytes(b"VA ").number(digits.len() as u64).finish(),
        false => out.text(b"HD"),
    }
    let now = engine.local.store().now();
    for word in Words::new(args) {
        match word[0] {
            b'c' => show_number(b'c', unique, out),
            b't' => show_exptime(exptime, now, out),
            b'T' => exptime = flags.exptime.unwrap_or(exptime),
            b'N' if created => exptime = flags.vivify.unwrap_or(exptime),
            b'O' => opaque(word, out)?,
            b'k' => show_key(key, flags.binary_key, out),
            _ => {}
        }
    }
    if flags.value {
        out.text(b"\r\n");
        out.text(digits);
    }
    out.text(b"\r\n");
    // Who created the number hears of it.
    if flags.quiet && !created {
        out.rewind(mark);
    }
    Ok(())
}

/// The expiry time that the flags leave behind, the last of those given; an error ends them.
fn last_exptime(flags: &Flags, args: &[u8], created: bool) -> Option<u32> {
    Words::new(args)
        .take_while(|word| word[0] != b'O' || word.len() <= MAX_OPAQUE)
        .filter_map(|word| match word[0] {
            b'T' => flags.exptime,
            b'N' if created => flags.vivify,
            _ => None,
        })
        .last()
}

/// `me <key> [b]`
fn debug(request: &Request, key: Option<&[u8]>, engine: &mut Engine, out: &mut Out) {
    let (Some(key), Some(hash)) = (key, request.hash) else { return out.text(BAD_FORMAT) };
    let Engine { local, counters, settings, .. } = engine;
    counters.cmd_meta += 1;
    let Some(item) = local.get(key, hash) else { return out.text(b"EN\r\n") };
    out.text(b"ME ");
    let mut w = out.room(2 * key.len() + REPLY);
    if item.binary_key() {
        base64::encode(key, |group| {
            w.bytes(group);
        });
    } else {
        w.bytes(key);
    }
    let now = local.store().now();
    w.bytes(b" exp=");
    match item.exptime() {
        0 => w.bytes(b"-1"),
        exptime => w.number(exptime.wrapping_sub(now).into()),
    };
    let size = ops::size(settings, key.len(), item.value().len() as u64, item.flags());
    w.bytes(b" la=").number(now.saturating_sub(item.time()).into());
    w.bytes(b" cas=").number(item.cas());
    w.bytes(b" fetch=").bytes(if item.fetched() { b"yes" } else { b"no" });
    w.bytes(b" cls=").number(ops::slab_class(size)).bytes(b" size=").number(size);
    w.bytes(b"\r\n").finish();
}
