//! Commands about values.

use std::cell::Cell;

use super::call::Call;
use super::expiry::{self, Options, Unit};
use super::items::{self, Change, Expiry};
use super::number;
use super::table::{flag::*, Command, ALL, ONE};
use super::{range, Error};
use crate::number::{digits, DIGITS};
use crate::ops;
use crate::store::Item;
use crate::{Engine, Next};

const NOT_AN_INTEGER: Error = number::NOT_AN_INTEGER;

pub const COMMANDS: &[Command] = &[
    Command::new("append", 3, WRITE | DENYOOM | FAST, ONE, append),
    Command::new("decr", 2, WRITE | DENYOOM | FAST, ONE, decr),
    Command::new("decrby", 3, WRITE | DENYOOM | FAST, ONE, decrby),
    Command::new("get", 2, READONLY | FAST, ONE, get),
    Command::new("getdel", 2, WRITE | FAST, ONE, getdel),
    Command::new("getrange", 4, READONLY, ONE, getrange),
    Command::new("getset", 3, WRITE | DENYOOM | FAST, ONE, getset),
    Command::new("incr", 2, WRITE | DENYOOM | FAST, ONE, incr),
    Command::new("incrby", 3, WRITE | DENYOOM | FAST, ONE, incrby),
    Command::new("mget", -2, READONLY | FAST, ALL, mget),
    Command::new("psetex", 4, WRITE | DENYOOM, ONE, psetex),
    Command::new("set", -3, WRITE | DENYOOM, ONE, set),
    Command::new("setex", 4, WRITE | DENYOOM, ONE, setex),
    Command::new("setnx", 3, WRITE | DENYOOM | FAST, ONE, setnx),
    Command::new("strlen", 2, READONLY | FAST, ONE, strlen),
    Command::new("substr", 4, READONLY, ONE, getrange),
];

/// `GET key`
fn get(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let Engine { local, counters, .. } = call.engine;
    match ops::get(local, counters, key, hash) {
        Some(item) => call.reply.item(&item),
        None => call.reply.null(),
    }
    Ok(())
}

/// Keys are looked up in groups, so that the memory's latencies overlap.
const GROUP: usize = 16;

/// `MGET key [key ...]`
fn mget(call: &mut Call<'_>) -> Result<(), Error> {
    let count = call.args.len() - 1;
    if call.from == 0 {
        call.reply.array(count);
    }
    let mut keys = call.args.from(1 + call.from as usize);
    let Engine { local, counters, settings, .. } = call.engine;
    let mut done = 0;
    loop {
        let mut group: [(&[u8], _); GROUP] = [(&[], None); GROUP];
        let mut here = 0;
        for (place, key) in group.iter_mut().zip(&mut keys) {
            let hash = local.hash(key);
            local.prefetch_buckets(hash);
            *place = (key, Some(hash));
            here += 1;
        }
        for hash in group[..here].iter().filter_map(|(_, hash)| *hash) {
            local.prefetch_item(hash);
        }
        for (key, hash) in &group[..here] {
            let Some(hash) = *hash else { break };
            match ops::get(local, counters, key, hash) {
                Some(item) => call.reply.item(&item),
                None => call.reply.null(),
            }
        }
        call.from += here as u64;
        done += here;
        if call.from as usize == count {
            return Ok(());
        }
        let out = &call.reply.out;
        if out.held() >= settings.reply_soft || out.len() >= 16 * settings.reply_soft {
            call.next = Next::Full;
            return Ok(());
        }
        if done >= settings.keys_soft {
            call.next = Next::Again;
            return Ok(());
        }
    }
}

/// `STRLEN key`
fn strlen(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let Engine { local, counters, .. } = call.engine;
    let len = ops::get(local, counters, key, hash).map_or(0, |item| item.value().len());
    call.reply.integer(len as i64);
    Ok(())
}

/// `GETRANGE key start end`, and `SUBSTR`, its old name
fn getrange(call: &mut Call<'_>) -> Result<(), Error> {
    let (start, end) = (number::argument(call.arg(2))?, number::argument(call.arg(3))?);
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let Engine { local, counters, .. } = call.engine;
    let value = ops::get(local, counters, key, hash).map_or(&b""[..], |item| item.value());
    call.reply.bulk(&value[range::get(start, end, value.len())]);
    Ok(())
}

fn len_of(item: Option<&Item<'_>>) -> usize {
    item.map_or(0, |item| item.value().len())
}

/// `SET key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT seconds|PXAT milliseconds|KEEPTTL]`
fn set(call: &mut Call<'_>) -> Result<(), Error> {
    if call.args.len() > 3 {
        return set_with_options(call);
    }
    items::set(call.engine, call.arg(1), call.arg(2), 0)?;
    call.reply.ok();
    Ok(())
}

fn set_with_options(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, value, hash) = (call.arg(1), call.arg(2), call.hash_of(1));
    let options = Options::parse(call.args.from(3), true)?;
    let mut expiry = if options.keep { Expiry::Keep } else { Expiry::At(0) };
    if let Some((unit, text)) = options.expiry {
        match expiry::deadline(call, unit, text)? {
            Some(deadline) => expiry = Expiry::At(deadline),
            None => return Ok(()),
        }
    }
    let Call { reply, engine, .. } = call;
    let mark = reply.mark();
    let plan = |old: Option<&Item<'_>>| {
        reply.rewind(mark);
        let refused = if old.is_some() { options.nx } else { options.xx };
        match old {
            Some(item) if options.get => reply.item(item),
            None if options.get => reply.null(),
            _ if refused => reply.null(),
            _ => reply.ok(),
        }
        Ok(match refused {
            true => Change::None,
            false => Change::New { len: value.len(), expiry },
        })
    };
    items::update(engine, key, hash, plan, |_, new| new.copy_from_slice(value))
}

/// `SETEX key seconds value`
fn setex(call: &mut Call<'_>) -> Result<(), Error> {
    set_until(call, Unit::Ex)
}

/// `PSETEX key milliseconds value`
fn psetex(call: &mut Call<'_>) -> Result<(), Error> {
    set_until(call, Unit::Px)
}

fn set_until(call: &mut Call<'_>, unit: Unit) -> Result<(), Error> {
    if let Some(expiry) = expiry::deadline(call, unit, call.arg(2))? {
        items::set(call.engine, call.arg(1), call.arg(3), expiry)?;
        call.reply.ok();
    }
    Ok(())
}

/// `SETNX key value`
fn setnx(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, value, hash) = (call.arg(1), call.arg(2), call.hash_of(1));
    let mut stored = false;
    let plan = |old: Option<&Item<'_>>| {
        stored = old.is_none();
        Ok(match stored {
            true => Change::New { len: value.len(), expiry: Expiry::At(0) },
            false => Change::None,
        })
    };
    items::update(call.engine, key, hash, plan, |_, new| new.copy_from_slice(value))?;
    call.reply.integer(stored.into());
    Ok(())
}

/// `GETSET key value`
fn getset(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, value, hash) = (call.arg(1), call.arg(2), call.hash_of(1));
    let Call { reply, engine, .. } = call;
    let mark = reply.mark();
    let plan = |old: Option<&Item<'_>>| {
        reply.rewind(mark);
        match old {
            Some(item) => reply.item(item),
            None => reply.null(),
        }
        Ok(Change::New { len: value.len(), expiry: Expiry::At(0) })
    };
    items::update(engine, key, hash, plan, |_, new| new.copy_from_slice(value))
}

/// `GETDEL key`
fn getdel(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let Call { reply, engine, .. } = call;
    let mark = reply.mark();
    let plan = |old: Option<&Item<'_>>| {
        reply.rewind(mark);
        match old {
            Some(item) => reply.item(item),
            None => reply.null(),
        }
        Ok(if old.is_some() { Change::Remove } else { Change::None })
    };
    items::update(engine, key, hash, plan, |_, _| {})
}

/// `APPEND key value`
fn append(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, value, hash) = (call.arg(1), call.arg(2), call.hash_of(1));
    let mut len = 0;
    let plan = |old: Option<&Item<'_>>| {
        len = len_of(old) + value.len();
        Ok(Change::Value { len })
    };
    items::update(call.engine, key, hash, plan, |old, new| {
        let (before, added) = new.split_at_mut(len_of(old));
        before.copy_from_slice(old.map_or(b"", |item| item.value()));
        added.copy_from_slice(value);
    })?;
    call.reply.integer(len as i64);
    Ok(())
}

fn incr(call: &mut Call<'_>) -> Result<(), Error> {
    add(call, 1)
}

fn decr(call: &mut Call<'_>) -> Result<(), Error> {
    add(call, -1)
}

/// `INCRBY key increment`
fn incrby(call: &mut Call<'_>) -> Result<(), Error> {
    let by = number::argument(call.arg(2))?;
    add(call, by)
}

/// `DECRBY key decrement`
fn decrby(call: &mut Call<'_>) -> Result<(), Error> {
    let by = number::decrement(call.arg(2))?;
    add(call, by)
}

fn add(call: &mut Call<'_>, by: i64) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let mut sum = 0;
    let text = Cell::new(([0; 1 + DIGITS], 0));
    let plan = |old: Option<&Item<'_>>| {
        let value = match old {
            Some(item) => number::integer(item.value()).ok_or(NOT_AN_INTEGER)?,
            None => 0,
        };
        sum = number::add(value, by)?;
        let (digits, from) = decimal(sum);
        text.set((digits, from));
        Ok(Change::Value { len: digits.len() - from })
    };
    items::update(call.engine, key, hash, plan, |_, new| {
        let (text, from) = text.get();
        new.copy_from_slice(&text[from..]);
    })?;
    call.reply.integer(sum);
    Ok(())
}

/// A number's text, and where it begins.
fn decimal(value: i64) -> ([u8; 1 + DIGITS], usize) {
    let (mut text, mut buffer) = ([b'-'; 1 + DIGITS], [0; DIGITS]);
    let digits = digits(value.unsigned_abs(), &mut buffer);
    let from = text.len() - digits.len();
    text[from..].copy_from_slice(digits);
    (text, from - usize::from(value < 0))
}
