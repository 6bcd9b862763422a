//! memcached's binary protocol.
//!
//! A request is a header of 24 bytes (magic, opcode, key length 2, extras length 1, data type 1,
//! reserved 2, body length 4, opaque 4, CAS unique 8; big endian), then extras, key and value, which
//! together are the body. Quiet requests answer with what fails, or is found, only.

#[rustfmt::skip]
pub mod opcode;

use opcode::{Command, Lengths};
use wirekv_proto::limits::{too_large, KEY_MAX};
use wirekv_proto::{
    number, Asked, Engine, Next, Out, Parsed, Plan, Request, Server, Span, Told, Value,
};
use wirekv_store::Item;

use crate::operation::Operation;
use crate::ops::{self, Deleted, Delta, Mode, Put, Stored, Sum};
use crate::{login, watch};

/// First byte of a request, and of a reply.
pub const REQUEST: u8 = 0x80;
pub const REPLY: u8 = 0x81;
pub const HEADER: usize = 24;
const NO_NEW_ITEM: &[u8] = b"Out of memory allocating new item";
const NO_INCREMENT: &[u8] = b"Out of memory incrementing value";
/// More extras and key than this are not waited for: whatever they are, they are wrong.
const MAX_HEAD: usize = 8 << 10;

/// Longest mechanism, user and password that are waited for.
const LOGIN_MAX: usize = 4 << 10;
const VERSION: u8 = 0x0b;

/// Why a request failed, as the reply's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    NotFound = 0x01,
    Exists = 0x02,
    TooLarge = 0x03,
    Invalid = 0x04,
    NotStored = 0x05,
    NotNumber = 0x06,
    Auth = 0x20,
    Unknown = 0x81,
    NoMemory = 0x82,
}

impl Status {
    pub fn text(self) -> &'static [u8] {
        match self {
            Status::NotFound => b"Not found",
            Status::Exists => b"Data exists for key.",
            Status::TooLarge => b"Too large.",
            Status::Invalid => b"Invalid arguments",
            Status::NotStored => b"Not stored.",
            Status::NotNumber => b"Non-numeric server-side value for incr or decr",
            Status::Auth => b"Auth failure.",
            Status::Unknown => b"Unknown command",
            Status::NoMemory => b"Out of memory allocating item",
        }
    }
}

/// A request whose lengths are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Get {
        /// Gives it the expiry time in the extras.
        touch: bool,
        /// The reply has the key, and the value.
        key: bool,
        value: bool,
    },
    Store(Mode),
    Delta {
        decrement: bool,
    },
    Delete,
    Flush,
    Noop,
    Version,
    Stat,
    Quit,
    /// A text that is known by now.
    Say,
    Fail {
        status: Status,
        close: bool,
    },
}

impl Op {
    pub fn name(self) -> &'static str {
        match self {
            Op::Get { touch: false, .. } => "get",
            Op::Get { value: true, .. } => "gat",
            Op::Get { .. } => "touch",
            Op::Store(mode) => mode.name(),
            Op::Delta { decrement: false } => "incr",
            Op::Delta { decrement: true } => "decr",
            Op::Delete => "delete",
            Op::Flush => "flush_all",
            Op::Stat => "stats",
            Op::Noop | Op::Version | Op::Quit | Op::Say | Op::Fail { .. } => "other",
        }
    }
}

/// A request's header.
struct Header {
    opcode: u8,
    key: usize,
    extras: usize,
    body: u32,
    opaque: [u8; 4],
    unique: u64,
}

impl Header {
    #[inline]
    fn of(input: &[u8]) -> Header {
        let h: &[u8; HEADER] = input[..HEADER].try_into().unwrap();
        Header {
            opcode: h[1],
            key: u16::from_be_bytes([h[2], h[3]]).into(),
            extras: h[4].into(),
            body: u32::from_be_bytes([h[8], h[9], h[10], h[11]]),
            opaque: [h[12], h[13], h[14], h[15]],
            unique: u64::from_be_bytes(h[16..].try_into().unwrap()),
        }
    }
}

pub(crate) fn parse<O: From<crate::Op>>(input: &[u8], engine: &Engine) -> Parsed<O> {
    if input.len() < HEADER {
        return Parsed::Need(HEADER - input.len());
    }
    if input[0] != REQUEST {
        return Parsed::Close;
    }
    let header = Header::of(input);
    let Header { key, extras, .. } = header;
    let (body, head) = (header.body as usize, key + extras);
    let end = HEADER + head;
    if input.len() < end && head <= MAX_HEAD {
        return Parsed::Need(end - input.len());
    }
    let request = || {
        let key = if head <= MAX_HEAD { Span::new(end - key, end) } else { Span::default() };
        let hash = (key.len > 0).then(|| engine.local.hash(key.of(input)));
        let len = end.min(input.len()) as u32;
        Request { len, key, hash, ..Request::default() }
    };
    let asked = |what, request| Asked::new(crate::Op::Binary(what).into(), request);
    let fail = |status| Parsed::Last(asked(Op::Fail { status, close: true }, request()));
    if head > body {
        return fail(Status::Unknown);
    }
    if key > KEY_MAX {
        return fail(Status::Invalid);
    }
    let Some((command, lengths, quiet)) = opcode::find(header.opcode) else {
        // memcached skips the whole body here, part of which is behind it by now.
        let (skip, what) = match header.opcode {
            0x20 if head > 0 || body > 0 => return fail(Status::Invalid),
            0x21 | 0x22 if extras > 0 || key == 0 => return fail(Status::Invalid),
            0x20..=0x22 if engine.settings.sasl => return parse_sasl(input, &header, engine).0,
            0x20..=0x22 => (body - key, Status::Unknown),
            _ => (body, Status::Unknown),
        };
        let fail = Op::Fail { status: what, close: false };
        return Parsed::Long(asked(fail, request()), skip as u64);
    };
    let right = match lengths {
        Lengths::None => body == 0,
        Lengths::Key(want) => extras == want && key > 0 && body == head,
        Lengths::Value(want) => extras == want && key > 0,
        Lengths::Flush => key == 0 && body == extras && (extras == 0 || extras == 4),
        Lengths::Stat => extras == 0,
    };
    if !right {
        return fail(Status::Invalid);
    }
    let what = operation(command);
    let mut request = Request { quiet, ..request() };
    if let Op::Store(_) = what {
        let value = body - head;
        request.value = Span { at: end as u32, len: value as u32 };
        let large = too_large(&engine.settings, key, value as u64, client_flags(input, what));
        if large || value >= engine.settings.stream_from {
            request.streams = true;
            return Parsed::Long(asked(what, request), value as u64);
        }
        if input.len() < end + value {
            return Parsed::Need(end + value - input.len());
        }
        request.len += value as u32;
    }
    match what {
        Op::Quit => Parsed::Last(asked(what, request)),
        _ => Parsed::Request(asked(what, request)),
    }
}

/// A request of a client that was not let in yet, and whether that lets it in. It may ask what memcached answers
/// everybody.
#[cold]
pub(crate) fn parse_login<O: From<crate::Op>>(input: &[u8], engine: &Engine) -> (Parsed<O>, bool) {
    if input.len() < HEADER || input[0] != REQUEST {
        return (parse(input, engine), false);
    }
    let header = Header::of(input);
    let Header { opcode, key, extras, .. } = header;
    match opcode {
        0x21 | 0x22 if engine.settings.sasl && extras == 0 && key > 0 => {
            return parse_sasl(input, &header, engine)
        }
        VERSION | 0x20..=0x22 if engine.settings.sasl => return (parse(input, engine), false),
        _ => {}
    }
    let status = if key + extras > header.body as usize { Status::Unknown } else { Status::Auth };
    let request = Request { len: HEADER as u32, ..Request::default() };
    let fail = Op::Fail { status, close: true };
    (Parsed::Last(Asked::new(crate::Op::Binary(fail).into(), request)), false)
}

/// SASL's list of mechanisms, its beginning with one, a further step in it; and whether that lets the client in.
#[cold]
fn parse_sasl<O: From<crate::Op>>(
    input: &[u8],
    header: &Header,
    engine: &Engine,
) -> (Parsed<O>, bool) {
    const LIST: u8 = 0x20;
    const BEGIN: u8 = 0x21;
    const MECHANISM_MAX: usize = 32;
    let (body, key) = (header.body as usize, header.key);
    let asked = |op, say, len: usize| {
        let request = Request { len: len as u32, say, ..Request::default() };
        Asked::new(crate::Op::Binary(op).into(), request)
    };
    if header.opcode == LIST {
        return (Parsed::Request(asked(Op::Say, b"PLAIN", HEADER)), false);
    }
    let fail = |status, close| Op::Fail { status, close };
    if key > body || body > LOGIN_MAX {
        return (Parsed::Last(asked(fail(Status::Invalid, true), b"", HEADER)), false);
    }
    let end = HEADER + body;
    if input.len() < end {
        return (Parsed::Need(end - input.len()), false);
    }
    let (mechanism, data) = input[HEADER..end].split_at(key);
    if key > MECHANISM_MAX {
        return (Parsed::Request(asked(fail(Status::Invalid, false), b"", end)), false);
    }
    // PLAIN has no further step.
    let plain = header.opcode == BEGIN && mechanism == b"PLAIN";
    let admitted = plain && login::is_plain_right(data, engine);
    let op = if admitted { Op::Say } else { fail(Status::Auth, false) };
    (Parsed::Request(asked(op, b"Authenticated", end)), admitted)
}

fn operation(command: Command) -> Op {
    let get = |touch, key, value| Op::Get { touch, key, value };
    match command {
        Command::Get => get(false, false, true),
        Command::Getk => get(false, true, true),
        Command::Gat => get(true, false, true),
        Command::Gatk => get(true, true, true),
        Command::Touch => get(true, false, false),
        Command::Set => Op::Store(Mode::Set),
        Command::Add => Op::Store(Mode::Add),
        Command::Replace => Op::Store(Mode::Replace),
        Command::Append => Op::Store(Mode::Append),
        Command::Prepend => Op::Store(Mode::Prepend),
        Command::Delete => Op::Delete,
        Command::Increment => Op::Delta { decrement: false },
        Command::Decrement => Op::Delta { decrement: true },
        Command::Flush => Op::Flush,
        Command::Noop => Op::Noop,
        Command::Version => Op::Version,
        Command::Stat => Op::Stat,
        Command::Quit => Op::Quit,
    }
}

/// The 32 bits at `at` of the extras.
fn extra(input: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(input[HEADER + at..][..4].try_into().unwrap())
}

fn extra64(input: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(input[HEADER + at..][..8].try_into().unwrap())
}

fn client_flags(input: &[u8], what: Op) -> u32 {
    match what {
        Op::Store(Mode::Append | Mode::Prepend) => 0,
        _ => extra(input, 0),
    }
}

fn when(exptime: u32, engine: &Engine) -> u32 {
    ops::when(exptime.into(), &engine.settings, engine.local.store().now())
}

/// A reply's header.
struct Reply {
    status: u16,
    key: usize,
    extras: usize,
    body: usize,
    unique: u64,
}

impl Reply {
    fn bytes(&self, request: &[u8]) -> [u8; HEADER] {
        let asked = Header::of(request);
        let mut h = [0; HEADER];
        h[0] = REPLY;
        h[1] = asked.opcode;
        h[2..4].copy_from_slice(&(self.key as u16).to_be_bytes());
        h[4] = self.extras as u8;
        h[6..8].copy_from_slice(&self.status.to_be_bytes());
        h[8..12].copy_from_slice(&(self.body as u32).to_be_bytes());
        h[12..16].copy_from_slice(&asked.opaque);
        h[16..].copy_from_slice(&self.unique.to_be_bytes());
        h
    }
}

/// The header of a reply without extras and CAS unique.
pub fn header(request: &[u8], status: u16, key: usize, body: usize) -> [u8; HEADER] {
    Reply { status, key, extras: 0, body, unique: 0 }.bytes(request)
}

/// A reply without extras and key.
fn reply(request: &[u8], unique: u64, body: &[u8], out: &mut Out) {
    out.unit();
    let header = Reply { status: 0, key: 0, extras: 0, body: body.len(), unique };
    out.room(HEADER + body.len()).bytes(&header.bytes(request)).bytes(body).finish();
}

fn fail(request: &[u8], status: Status, out: &mut Out) {
    fail_with(request, status, status.text(), out);
}

fn fail_with(request: &[u8], status: Status, text: &[u8], out: &mut Out) {
    out.unit();
    let header = Reply { status: status as u16, key: 0, extras: 0, body: text.len(), unique: 0 };
    out.room(HEADER + text.len()).bytes(&header.bytes(request)).bytes(text).finish();
}

impl Operation for Op {
    const TAIL: usize = 0;

    #[inline]
    fn execute(
        self,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut dyn Server,
        out: &mut Out,
    ) -> Next {
        match self {
            Op::Get { touch, key, value } => get(request, input, touch, key, value, engine, out),
            Op::Store(_) => {
                let value = Value::Here(request.value.of(input));
                self.store(request, input, Some(value), engine, out);
            }
            Op::Delta { decrement } => delta(request, input, decrement, engine, out),
            Op::Delete => {
                engine.settings.prefixes.delete(request.key.of(input));
                if let Some(hash) = request.hash {
                    let key = request.key.of(input);
                    watch::look(engine, key, hash);
                }
                let unique = Some(Header::of(input).unique).filter(|unique| *unique != 0);
                match ops::delete(engine, request.key.of(input), unique) {
                    Deleted::Yes if request.quiet => {}
                    Deleted::Yes => reply(input, 0, b"", out),
                    Deleted::NotFound => fail(input, Status::NotFound, out),
                    Deleted::Exists => fail(input, Status::Exists, out),
                    Deleted::NoMemory => fail(input, Status::NoMemory, out),
                }
            }
            Op::Flush if !engine.settings.flush => fail(input, Status::Auth, out),
            Op::Flush => {
                let exptime = if Header::of(input).extras == 4 { extra(input, 0) } else { 0 };
                let at = (exptime > 0).then(|| when(exptime, engine));
                ops::flush(engine, at);
                if !request.quiet {
                    reply(input, 0, b"", out);
                }
            }
            Op::Noop => reply(input, 0, b"", out),
            Op::Version => reply(input, 0, engine.settings.version.as_bytes(), out),
            Op::Stat => return stat(request, input, engine, server, out),
            Op::Say => reply(input, 0, request.say, out),
            Op::Quit => {
                if !request.quiet {
                    reply(input, 0, b"", out);
                }
                return Next::Close;
            }
            Op::Fail { status, close } => {
                fail(input, status, out);
                return if close { Next::Close } else { Next::Continue };
            }
        }
        Next::Continue
    }

    fn plan<'a>(
        self,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        _: &'a mut [u8; KEY_MAX],
    ) -> Option<Plan<'a>> {
        let Op::Store(mode) = self else { return None };
        let key = request.key.of(input);
        let flags = client_flags(input, self);
        if too_large(&engine.settings, key.len(), request.value.len.into(), flags) {
            engine.counters.store_too_large += 1;
            watch::refused(engine, key, "too_large", "null");
            if mode == Mode::Set {
                ops::forget(engine, key);
            }
            fail(input, Status::TooLarge, out);
            return None;
        }
        Some((key, put(mode, input, engine).fields(&engine.local)))
    }

    fn store(
        self,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    ) {
        let (Op::Store(mode), Some(hash), Some(value)) = (self, request.hash, value) else {
            return;
        };
        let key = request.key.of(input);
        let put = put(mode, input, engine);
        engine.counters.cmd_set += 1;
        engine.settings.prefixes.set(key);
        watch::look(engine, key, hash);
        let len = value.len();
        let became = ops::put(engine, key, hash, &put, value);
        watch::stored(engine, key, &put, len, became);
        match became {
            Stored::Yes(..) if request.quiet => {}
            Stored::Yes(unique, _) => reply(input, unique, b"", out),
            Stored::Exists => fail(input, Status::Exists, out),
            Stored::NotFound => fail(input, Status::NotFound, out),
            Stored::NotStored => {
                let status = match mode {
                    Mode::Add => Status::Exists,
                    Mode::Replace => Status::NotFound,
                    _ => Status::NotStored,
                };
                fail(input, status, out);
            }
            Stored::NoMemory => {
                engine.counters.store_no_memory += 1;
                if mode == Mode::Set {
                    ops::forget(engine, key);
                }
                fail(input, Status::NoMemory, out);
            }
        }
    }

    fn no_memory(self, _: &Request, input: &[u8], key: &[u8], engine: &mut Engine, out: &mut Out) {
        let Op::Store(mode) = self else { return };
        watch::refused(engine, key, "no_memory", "null");
        if put(mode, input, engine).mode == Mode::Set {
            ops::forget(engine, key);
        }
        fail(input, Status::NoMemory, out);
    }
}

#[inline]
fn get(
    request: &Request,
    input: &[u8],
    touch: bool,
    with_key: bool,
    with_value: bool,
    engine: &mut Engine,
    out: &mut Out,
) {
    let key = request.key.of(input);
    let Some(hash) = request.hash else { return };
    let exptime = if touch { when(extra(input, 0), engine) } else { 0 };
    watch::look(engine, key, hash);
    let Engine { local, counters, settings, .. } = engine;
    let item = match touch {
        true => ops::get_and_touch(local, counters, key, hash, exptime),
        false => ops::get(local, counters, key, hash),
    };
    settings.prefixes.get(key, item.is_some());
    let shown = if with_key { key } else { b"" };
    match item {
        Some(item) => found(input, shown, &item, with_value, settings.copy_max, out),
        None if request.quiet => {}
        None if with_key => {
            out.unit();
            let status = Status::NotFound as u16;
            let header = Reply { status, key: key.len(), extras: 0, body: key.len(), unique: 0 };
            out.room(HEADER + key.len()).bytes(&header.bytes(input)).bytes(key).finish();
        }
        None => fail(input, Status::NotFound, out),
    }
}

#[inline]
fn found(input: &[u8], key: &[u8], item: &Item<'_>, value: bool, copy_max: usize, out: &mut Out) {
    out.unit();
    let data = if value { item.value() } else { b"" };
    let body = 4 + key.len() + data.len();
    let header = Reply { status: 0, key: key.len(), extras: 4, body, unique: item.cas() };
    let near = data.len() <= copy_max;
    let mut w = out.room(HEADER + if near { body } else { 4 + key.len() });
    w.bytes(&header.bytes(input)).bytes(&item.flags().to_be_bytes()).bytes(key);
    if near {
        w.bytes(data).finish();
    } else {
        w.finish();
        out.item(item, copy_max);
    }
}

fn put(mode: Mode, input: &[u8], engine: &Engine) -> Put {
    // memcached notes it in the new item, which has no room for it with -C.
    let unique = if engine.settings.cas { Header::of(input).unique } else { 0 };
    if matches!(mode, Mode::Append | Mode::Prepend) {
        return Put { mode, unique, ..Put::default() };
    }
    let mode = if unique == 0 { mode } else { Mode::Cas };
    let (flags, exptime) = (extra(input, 0), when(extra(input, 4), engine));
    Put { mode, flags, exptime, unique, ..Put::default() }
}

/// Extras: delta 8, initial value 8, its expiry time 4; all ones there want no initial value.
fn delta(request: &Request, input: &[u8], decrement: bool, engine: &mut Engine, out: &mut Out) {
    let key = request.key.of(input);
    let Some(hash) = request.hash else { return };
    let (by, initial, exptime) = (extra64(input, 0), extra64(input, 8), extra(input, 16));
    let unique = Header::of(input).unique;
    watch::look(engine, key, hash);
    let status =
        match ops::delta(engine, key, hash, &Delta { decrement, by, unique, ..Delta::default() }) {
            Sum::Is(value, unique, _) => {
                return match request.quiet {
                    true => {}
                    false => reply(input, unique, &value.to_be_bytes(), out),
                }
            }
            Sum::NotFound if exptime == u32::MAX => {
                ops::count_miss(engine, decrement);
                Status::NotFound
            }
            Sum::NotFound => {
                let mut buffer = [0; number::DIGITS];
                let digits = Value::Here(number::digits(initial, &mut buffer));
                let exptime = when(exptime, engine);
                let put = Put { mode: Mode::Add, exptime, ..Put::default() };
                let len = digits.len();
                watch::look(engine, key, hash);
                let became = ops::put(engine, key, hash, &put, digits);
                watch::stored(engine, key, &put, len, became);
                match became {
                    Stored::Yes(..) if request.quiet => return,
                    Stored::Yes(unique, _) => {
                        return reply(input, unique, &initial.to_be_bytes(), out);
                    }
                    Stored::NoMemory => {
                        return fail_with(input, Status::NoMemory, NO_NEW_ITEM, out)
                    }
                    _ => Status::NotStored,
                }
            }
            Sum::Exists => Status::Exists,
            Sum::NotNumber => Status::NotNumber,
            Sum::NoMemory => return fail_with(input, Status::NoMemory, NO_INCREMENT, out),
        };
    fail(input, status, out);
}

/// One reply a statistic, with its name as the key, and an empty one at the end.
#[cold]
fn stat(
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
    let mut line = |name: &[u8], value: &[u8]| {
        let body = name.len() + value.len();
        let header = Reply { status: 0, key: name.len(), extras: 0, body, unique: 0 };
        out.room(HEADER + body).bytes(&header.bytes(input)).bytes(name).bytes(value).finish();
    };
    let known = if args.starts_with(b"reset") {
        server.reset(&mut engine.counters);
        engine.settings.prefixes.clear();
        true
    } else if let Some(how) = args.strip_prefix(b"detail") {
        let prefixes = &engine.settings.prefixes;
        if how.starts_with(b" dump") {
            line(b"detailed", &prefixes.dump());
        } else if how.starts_with(b" on") || how.starts_with(b" off") {
            prefixes.switch(how.starts_with(b" on"));
        }
        how.starts_with(b" dump") || how.starts_with(b" on") || how.starts_with(b" off")
    } else {
        // The other names may not go on.
        let args = if args.starts_with(b"settings") { b"settings" } else { args };
        match server.stats(args, request.number, &engine.counters, &mut line) {
            Told::Nothing => false,
            Told::All => true,
            Told::Part(next) => {
                request.number = next;
                return Next::Full;
            }
        }
    };
    match known {
        true => line(b"", b""),
        false => fail(input, Status::NotFound, out),
    }
    Next::Continue
}
