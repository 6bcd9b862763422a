//! What the commands of memcached's classic text protocol do.

use wirekv_proto::limits::{too_large, KEY_MAX};
use wirekv_proto::{Engine, Next, Out, Plan, Request, Server, Settings, Span, Value};
use wirekv_store::Item;

use super::{admin, Op};
use crate::line::Words;
use crate::operation::Operation;
use crate::ops::{self, Deleted, Delta, Mode, Put, Stored, Sum};
use crate::texts::{BAD_CHUNK, BAD_FORMAT, END, NOT_NUMBER, NO_MEMORY, NO_MEMORY_DELTA, TOO_LARGE};
use crate::watch;

const STORED: &[u8] = b"STORED\r\n";
const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
const EXISTS: &[u8] = b"EXISTS\r\n";
const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
const DELETED: &[u8] = b"DELETED\r\n";
const TOUCHED: &[u8] = b"TOUCHED\r\n";

impl Operation for Op {
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
        let key = request.key.of(input);
        let hash = request.hash;
        match (self, hash) {
            (Op::Get { many: false, unique, touch: false }, Some(hash)) => {
                watch::look(engine, key, hash);
                let Engine { local, counters, settings, .. } = engine;
                out.unit();
                let item = ops::get(local, counters, key, hash);
                settings.prefixes.get(key, item.is_some());
                if let Some(item) = item {
                    value(key, &item, unique, settings, out, END);
                } else {
                    out.text(END);
                }
            }
            (Op::Store(_), Some(_)) => {
                let block = Span { at: request.value.at, len: request.value.len + 2 }.of(input);
                let (block, end) = block.split_at(request.value.len as usize);
                let value = (end == b"\r\n").then_some(Value::Here(block));
                self.store(request, input, value, engine, out);
            }
            (Op::Delta { decrement }, Some(hash)) => {
                watch::look(engine, key, hash);
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
            (Op::Delete, Some(hash)) => {
                engine.settings.prefixes.delete(key);
                let seen = watch::look(engine, key, hash);
                let found = ops::delete(engine, key, None) == Deleted::Yes;
                if found {
                    watch::deleted(&engine.settings.events, key, "delete", seen);
                }
                reply(out, request, if found { DELETED } else { NOT_FOUND });
            }
            (Op::Touch, Some(hash)) => {
                watch::look(engine, key, hash);
                let Engine { local, counters, .. } = engine;
                let found =
                    ops::get_and_touch(local, counters, key, hash, request.exptime).is_some();
                reply(out, request, if found { TOUCHED } else { NOT_FOUND });
            }
            (Op::Get { unique, touch, .. }, _) => {
                return get_many(request, input, unique, touch, END, engine, out)
            }
            (Op::Keys { unique }, _) => {
                return get_many(request, input, unique, false, b"", engine, out)
            }
            _ => return execute_rare(self, request, input, engine, server, out),
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
        if too_large(&engine.settings, key.len(), request.value.len.into(), request.flags) {
            engine.counters.store_too_large += 1;
            watch::refused(engine, key, "too_large", mode.name());
            if mode == Mode::Set {
                ops::forget(engine, key);
            }
            reply(out, request, TOO_LARGE);
            return None;
        }
        Some((key, put(mode, request).fields(&engine.local)))
    }

    fn store(
        self,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    ) {
        let (Op::Store(mode), Some(hash)) = (self, request.hash) else { return };
        let key = request.key.of(input);
        engine.counters.cmd_set += 1;
        engine.settings.prefixes.set(key);
        let Some(value) = value else { return reply(out, request, BAD_CHUNK) };
        watch::look(engine, key, hash);
        let put = put(mode, request);
        let len = value.len();
        let became = ops::put(engine, key, hash, &put, value);
        watch::stored(engine, key, &put, len, became);
        let text = match became {
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

    fn no_memory(
        self,
        request: &Request,
        _: &[u8],
        key: &[u8],
        engine: &mut Engine,
        out: &mut Out,
    ) {
        let Op::Store(mode) = self else { return };
        watch::refused(engine, key, "no_memory", mode.name());
        if mode == Mode::Set {
            ops::forget(engine, key);
        }
        reply(out, request, NO_MEMORY);
    }
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
        Op::Admin(what) => return admin::execute(what, request, input, engine, server, out),
        Op::GetUntilBad { touch } => {
            let Engine { local, counters, settings, conn } = engine;
            let Span { at, len } = request.key;
            let mut words = Words::new(request.key.of(input));
            for _ in 0..settings.keys_soft {
                let Some(key) = words.next().filter(|key| key.len() <= KEY_MAX) else {
                    reply(out, request, BAD_FORMAT);
                    return Next::Continue;
                };
                let hash = local.hash(key);
                watch::look_at(local, settings, *conn, key, hash);
                let item = match touch {
                    true => ops::get_and_touch(local, counters, key, hash, request.exptime),
                    false => ops::get(local, counters, key, hash),
                };
                settings.prefixes.get(key, item.is_some());
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
        Op::Quit => return Next::Close,
        Op::Say => reply(out, request, request.say),
        _ => unreachable!("has a key"),
    }
    Next::Continue
}

#[inline]
pub fn reply(out: &mut Out, request: &Request, text: &[u8]) {
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
    let Engine { local, counters, settings, conn } = engine;
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
            watch::look_at(local, settings, *conn, key, hash);
            let item = match touch {
                true => ops::get_and_touch(local, counters, key, hash, request.exptime),
                false => ops::get(local, counters, key, hash),
            };
            settings.prefixes.get(key, item.is_some());
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
