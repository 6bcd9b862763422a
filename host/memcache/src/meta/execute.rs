//! What meta commands do.

use wirekv_proto::limits::{too_large, KEY_MAX};
use wirekv_proto::{Engine, Next, Out, Plan, Request, Server, Span, Value};
use wirekv_store::Hash;

use super::arithmetic::arithmetic;
use super::flags::{Flags, BAD_KEY, MAX_OPAQUE};
use super::get::{debug, get};
use super::parse::whole_key;
use super::show::{opaque, show_key, show_number, show_request, Done, LONG_OPAQUE};
use super::Op;
use crate::line::Words;
use crate::operation::Operation;
use crate::ops::{self, Deleted, Mode, Put, Rest, Stored};
use crate::texts::{BAD_CHUNK, NO_MEMORY, NO_MEMORY_DELTA, TOO_LARGE};
use crate::watch;

const INVALID_OR_DUPLICATE: &[u8] = b"CLIENT_ERROR invalid or duplicate flag\r\n";
const BAD_SET_MODE: &[u8] = b"CLIENT_ERROR invalid mode for ms M token\r\n";

impl Operation for Op {
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
        out.unit();
        if self == Op::Say {
            out.text(request.say);
            return Next::Continue;
        }
        let mut decoded = [0; KEY_MAX];
        let key = whole_key(self, request, input, &mut decoded);
        if self == Op::Debug {
            debug(request, key, engine, out);
            return Next::Continue;
        }
        if self == Op::Set {
            let block = Span { at: request.value.at, len: request.value.len + 2 }.of(input);
            let (block, end) = block.split_at(request.value.len as usize);
            let value = (end == b"\r\n").then_some(Value::Here(block));
            set(request, input, key, value, engine, out);
            return Next::Continue;
        }
        let flags = match Flags::parse(request, input, engine) {
            Ok(flags) => flags,
            Err(why) => {
                out.text(if self == Op::Get { why } else { INVALID_OR_DUPLICATE });
                return Next::Continue;
            }
        };
        let (Some(key), Some(hash)) = (key, request.hash) else { return Next::Continue };
        let mark = out.mark();
        let args = request.args.of(input);
        let done = match self {
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

    fn plan<'a>(
        self,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<Plan<'a>> {
        let key = whole_key(self, request, input, decoded).unwrap_or_default();
        let put = Flags::parse(request, input, engine)
            .and_then(|flags| plan_set(&flags, request, input, key, engine));
        match put {
            Ok(put) => Some((key, put.fields(&engine.local))),
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
        let key = whole_key(self, request, input, &mut decoded);
        out.unit();
        set(request, input, key, value, engine, out);
    }

    fn no_memory(self, _: &Request, _: &[u8], key: &[u8], engine: &mut Engine, out: &mut Out) {
        ops::forget(engine, key);
        out.unit();
        out.text(NO_MEMORY);
    }
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
    if too_large(&engine.settings, key.len(), request.value.len.into(), flags.client) {
        engine.counters.store_too_large += 1;
        watch::refused(engine, key, "too_large", mode.name());
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
        engine.settings.prefixes.set(key);
        let value = value.ok_or(BAD_CHUNK)?;
        let (mut unique, mut len) = (0, request.value.len as usize);
        watch::look(engine, key, hash);
        let became = ops::put(engine, key, hash, &put, value);
        watch::stored(engine, key, &put, len, became);
        let status: &[u8] = match became {
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
    engine.settings.prefixes.delete(key);
    let seen = watch::look(engine, key, hash);
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
    if done == Deleted::Yes {
        let seen = if flags.remove_value { watch::emptied(engine, key, hash, seen) } else { seen };
        if !flags.invalidate {
            watch::deleted(&engine.settings.events, key, "md", seen);
        }
    }
    match done {
        Deleted::Yes if flags.quiet => out.rewind(mark),
        Deleted::Yes => {}
        Deleted::NotFound => out.replace(mark, b"NF"),
        Deleted::Exists => out.replace(mark, b"EX"),
        Deleted::NoMemory => return Err(NO_MEMORY_DELTA),
    }
    Ok(())
}
