//! Commands about values.

use wirekv_proto::Next;
use wirekv_store::Item;

use super::call::Call;
use super::expiry::{self, Options, Unit};
use super::items::{self, Change, Expiry};
use super::lcs::Lcs;
use super::number;
use super::rows;
use super::table::Command;
use super::{range, Error};

const LONG_REPLY: Error = "ERR the reply is more than this server takes in a transaction";
const LONG_STRING: Error = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

pub const COMMANDS: &[Command] = &[
    Command::new(rows::APPEND, append),
    Command::new(rows::GET, get),
    Command::new(rows::GETDEL, getdel),
    Command::new(rows::GETEX, getex),
    Command::new(rows::GETRANGE, getrange),
    Command::new(rows::GETSET, getset),
    Command::new(rows::LCS, lcs),
    Command::new(rows::MGET, mget),
    Command::new(rows::PSETEX, psetex),
    Command::new(rows::SET, set),
    Command::new(rows::SETEX, setex),
    Command::new(rows::SETNX, setnx),
    Command::new(rows::SETRANGE, setrange),
    Command::new(rows::STRLEN, strlen),
    Command::new(rows::SUBSTR, getrange),
];

/// `GET key`
fn get(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let item = items::get(call.engine, key, hash);
    call.reply.value(item.as_ref());
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
    let Call { engine, reply, client, .. } = call;
    let mut done = 0;
    loop {
        let mut group: [(&[u8], _); GROUP] = [(&[], None); GROUP];
        let mut here = 0;
        for (place, key) in group.iter_mut().zip(&mut keys) {
            let hash = engine.local.hash_in(client.db, key);
            engine.local.prefetch_buckets(hash);
            *place = (key, Some(hash));
            here += 1;
        }
        for hash in group[..here].iter().filter_map(|(_, hash)| *hash) {
            engine.local.prefetch_item(hash);
        }
        for (key, hash) in &group[..here] {
            let Some(hash) = *hash else { break };
            reply.value(items::get(engine, key, hash).as_ref());
        }
        call.from += here as u64;
        done += here;
        if call.from as usize == count {
            return Ok(());
        }
        let (out, settings) = (&reply.out, &engine.settings);
        if engine.together && out.held() > settings.gather_max() {
            return Err(LONG_REPLY);
        }
        // A transaction is one step, and so is what items are brought from a card for.
        if engine.together || engine.elsewhere {
            continue;
        }
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
    let len = call.get(1).map_or(0, |item| item.value().len());
    call.reply.integer(len as i64);
    Ok(())
}

/// `GETRANGE key start end`, and `SUBSTR`, its old name
fn getrange(call: &mut Call<'_>) -> Result<(), Error> {
    let (start, end) = (number::argument(call.arg(2))?, number::argument(call.arg(3))?);
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let value = items::get(call.engine, key, hash).map_or(&b""[..], |item| item.value());
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
    items::set(call.engine, call.client.db, call.arg(1), call.arg(2), 0)?;
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
        items::set(call.engine, call.client.db, call.arg(1), call.arg(3), expiry)?;
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
    let (mut len, most) = (0, call.engine.settings.item_max);
    let plan = |old: Option<&Item<'_>>| {
        len = len_of(old) + value.len();
        if len > most {
            return Err(LONG_STRING);
        }
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

/// `GETEX key [EX seconds|PX milliseconds|EXAT seconds|PXAT milliseconds|PERSIST]`
fn getex(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let options = Options::parse(call.args.from(2), false)?;
    if items::get(call.engine, key, hash).is_none() {
        call.reply.null();
        return Ok(());
    }
    let mut change = if options.persist { Change::Expire(0) } else { Change::None };
    if let Some((unit, text)) = options.expiry {
        match expiry::deadline(call, unit, text)? {
            Some(deadline) => change = Change::Expire(deadline),
            None => return Ok(()),
        }
    }
    let Call { reply, engine, .. } = call;
    let mark = reply.mark();
    let plan = |old: Option<&Item<'_>>| {
        reply.rewind(mark);
        reply.value(old);
        Ok(match (old, change) {
            (None, _) => Change::None,
            (Some(item), Change::Expire(0)) if item.expiry() == 0 => Change::None,
            _ => change,
        })
    };
    items::update(engine, key, hash, plan, |_, _| {})
}

/// `SETRANGE key offset value`
fn setrange(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, value, hash) = (call.arg(1), call.arg(3), call.hash_of(1));
    let offset = range::offset(call.arg(2))?;
    let (mut len, most) = (0, call.engine.settings.item_max as u64);
    let plan = |old: Option<&Item<'_>>| {
        len = len_of(old);
        if value.is_empty() {
            return Ok(Change::None);
        }
        let end = offset.saturating_add(value.len() as u64);
        if end > most {
            return Err(LONG_STRING);
        }
        len = len.max(end as usize);
        Ok(Change::Value { len })
    };
    items::update(call.engine, key, hash, plan, |old, new| {
        let (before, behind) = new.split_at_mut(len_of(old));
        before.copy_from_slice(old.map_or(b"", |item| item.value()));
        behind.fill(0);
        new[offset as usize..][..value.len()].copy_from_slice(value);
    })?;
    call.reply.integer(len as i64);
    Ok(())
}

/// `LCS key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]`
fn lcs(call: &mut Call<'_>) -> Result<(), Error> {
    let wanted = Lcs::parse(&call.args.vec(3))?;
    let local = &call.engine.local;
    let value = |i| {
        let item = items::find(local, call.arg(i), call.hash_of(i));
        item.map_or(&b""[..], |item| item.value())
    };
    let found = wanted.find(value(1), value(2))?;
    let reply = &mut call.reply;
    if wanted.only_len {
        reply.integer(found.len as i64);
    } else if !wanted.indices {
        reply.bulk(&found.text);
    } else {
        reply.map(2);
        reply.bulk(b"matches");
        reply.array(found.matches.len());
        for run in &found.matches {
            reply.array(if wanted.with_match_len { 3 } else { 2 });
            for (from, to) in [run.a, run.b] {
                reply.array(2);
                reply.integer(from as i64);
                reply.integer(to as i64);
            }
            if wanted.with_match_len {
                reply.integer(run.len() as i64);
            }
        }
        reply.bulk(b"len");
        reply.integer(found.len as i64);
    }
    Ok(())
}
