//! Commands about all keys of a database.

use std::collections::BTreeSet;
use std::mem;

use wirekv_proto::number::{digits, DIGITS};
use wirekv_proto::Next;
use wirekv_store::DATABASES;

use super::call::Call;
use super::connection::NO_DATABASE;
use super::glob::Pattern;
use super::number::{integer, NOT_AN_INTEGER};
use super::reply::Reply;
use super::rows;
use super::table::Command;
use super::word::is;
use super::{Error, SYNTAX};
use crate::{Engine, Place, Walk};

const BAD_FIRST: Error = "ERR invalid first DB index";
const BAD_SECOND: Error = "ERR invalid second DB index";
const BAD_CURSOR: Error = "ERR invalid cursor";
const TOO_MANY: Error = "ERR the keys are more than this server replies at once; SCAN finds them";
/// Keys that KEYS takes from the store at a time.
const KEYS_AT_ONCE: usize = 1 << 16;
/// Keys that a SCAN looks for by default.
const COUNT: usize = 10;
/// And at most, as others wait for that long.
const COUNT_MAX: usize = 4096;

pub const COMMANDS: &[Command] = &[
    Command::new(rows::DBSIZE, dbsize),
    Command::new(rows::FLUSHALL, flushall),
    Command::new(rows::FLUSHDB, flushdb),
    Command::new(rows::KEYS, keys),
    Command::new(rows::RANDOMKEY, randomkey),
    Command::new(rows::SCAN, scan),
    Command::new(rows::SWAPDB, swapdb),
];

/// `DBSIZE`
fn dbsize(call: &mut Call<'_>) -> Result<(), Error> {
    let db = call.client.db;
    let count = match call.engine.elsewhere {
        true => match all_keys(call, |_| true)? {
            Some(keys) => keys.len() as u64,
            None => return Ok(()),
        },
        false => call.engine.local.store().keys(db),
    };
    call.reply.integer(count as i64);
    Ok(())
}

/// What `FLUSHALL` and `FLUSHDB` may have behind them; they are done at once anyhow.
fn flush_option(call: &Call<'_>) -> Result<(), Error> {
    match call.args.find(1) {
        None => Ok(()),
        Some(option) if call.args.len() == 2 && (is(option, "sync") || is(option, "async")) => {
            Ok(())
        }
        _ => Err(SYNTAX),
    }
}

/// `FLUSHALL [ASYNC|SYNC]`
fn flushall(call: &mut Call<'_>) -> Result<(), Error> {
    flush_option(call)?;
    match call.engine.elsewhere {
        true => return flush_card(call, None),
        false => call.engine.local.store().flush_all_dbs(),
    }
    call.engine.counters.cmd_flush += 1;
    call.reply.ok();
    Ok(())
}

/// `FLUSHDB [ASYNC|SYNC]`
fn flushdb(call: &mut Call<'_>) -> Result<(), Error> {
    flush_option(call)?;
    match call.engine.elsewhere {
        true => return flush_card(call, Some(call.client.db)),
        false => call.engine.local.store().flush_db(call.client.db),
    }
    call.engine.counters.cmd_flush += 1;
    call.reply.ok();
    Ok(())
}

/// `SWAPDB index1 index2`: for whoever speaks memcached's protocols, too, whose database is 0.
fn swapdb(call: &mut Call<'_>) -> Result<(), Error> {
    let index = |i, error| {
        let number = integer(call.arg(i)).and_then(|number| i32::try_from(number).ok());
        number.ok_or(error)
    };
    let (a, b) = (index(1, BAD_FIRST)?, index(2, BAD_SECOND)?);
    let [Some(a), Some(b)] = [a, b].map(|n| u8::try_from(n).ok().filter(|n| *n < DATABASES as u8))
    else {
        return Err(NO_DATABASE);
    };
    let Engine { base, together, .. } = &mut *call.engine;
    let local = &mut base.local;
    // A transaction has stopped them already.
    if !*together && !local.stop_others() {
        call.next = Next::Wait;
        return Ok(());
    }
    local.swap(a, b);
    if !*together {
        local.let_go();
    }
    call.reply.ok();
    Ok(())
}

/// `RANDOMKEY`
fn randomkey(call: &mut Call<'_>) -> Result<(), Error> {
    if let Some(card) = call.server.card() {
        match card.any_key(call.engine, call.client.db)? {
            Some(key) => call.reply.bulk(&key),
            None => call.reply.null(),
        }
        return Ok(());
    }
    match call.engine.local.random(call.client.db) {
        Some(item) => call.reply.bulk(item.key()),
        None => call.reply.null(),
    }
    Ok(())
}

/// Redis does not match this pattern, which the empty key would not, but takes all.
fn is_all(pattern: &[u8]) -> bool {
    pattern == b"*"
}

/// Goes on with a walk through the card's keys, in which `step` says whether it has come to where it is to; `None`: others
/// have their turn first.
fn walk_on(
    call: &mut Call<'_>,
    begin: impl FnOnce() -> Walk,
    step: impl FnOnce(&mut Call<'_>, &mut Walk) -> Result<bool, Error>,
) -> Result<Option<Box<Walk>>, Error> {
    let mut walk = match call.client.walk.take() {
        Some(walk) if call.from != 0 => walk,
        _ => Box::new(begin()),
    };
    if step(call, &mut walk)? {
        return Ok(Some(walk));
    }
    call.client.walk = Some(walk);
    (call.next, call.from) = (Next::Again, 1);
    Ok(None)
}

/// The card's keys that are wanted, each once. Others store meanwhile.
fn all_keys(
    call: &mut Call<'_>,
    mut wanted: impl FnMut(&[u8]) -> bool,
) -> Result<Option<Vec<Box<[u8]>>>, Error> {
    let walk = walk_on(call, Walk::default, |call, walk| match call.server.card() {
        Some(card) => card.walk(call.engine, call.client.db, walk, None, &mut wanted),
        None => Ok(true),
    })?;
    Ok(walk.map(|mut walk| {
        walk.found.sort_unstable();
        walk.found.dedup();
        mem::take(&mut walk.found)
    }))
}

/// Empties a database of the card, or all.
fn flush_card(call: &mut Call<'_>, db: Option<u8>) -> Result<(), Error> {
    let begin = || Walk { to_the_end: true, ..Walk::default() };
    let done = walk_on(call, begin, |call, walk| match call.server.card() {
        Some(card) => card.flush(call.engine, db, walk),
        None => Ok(true),
    })?;
    if done.is_some() {
        call.engine.counters.cmd_flush += 1;
        call.reply.ok();
    }
    Ok(())
}

/// `KEYS pattern`
fn keys(call: &mut Call<'_>) -> Result<(), Error> {
    let (pattern, all) = (Pattern::new(call.arg(1)), is_all(call.arg(1)));
    let (db, limit) = (call.client.db, call.engine.settings.gather_max());
    if call.engine.elsewhere {
        let size = |key: &[u8]| key.len() + 16;
        let before = call.client.walk.as_ref().filter(|_| call.from != 0);
        let mut bytes: usize =
            before.map_or(0, |walk| walk.found.iter().map(|key| size(key)).sum());
        let found = all_keys(call, |key| {
            let matches = bytes <= limit && (all || pattern.matches(key));
            bytes += if matches { size(key) } else { 0 };
            matches
        })?;
        if bytes > limit {
            call.client.walk = None;
            return Err(TOO_MANY);
        }
        let Some(found) = found else { return Ok(()) };
        call.reply.array(found.len());
        found.iter().for_each(|key| call.reply.bulk(key));
        return Ok(());
    }
    let local = &call.engine.local;
    // Others store meanwhile; what is met twice is told once.
    let mut found = BTreeSet::new();
    let (mut cursor, mut bytes) = (0, 0);
    loop {
        cursor = local.scan(Some(db), cursor, KEYS_AT_ONCE, |item| {
            if bytes <= limit && (all || pattern.matches(item.key())) && found.insert(item.key()) {
                bytes += item.key().len() + 16;
            }
        });
        if bytes > limit {
            return Err(TOO_MANY);
        }
        if cursor == 0 {
            break;
        }
    }
    call.reply.array(found.len());
    found.into_iter().for_each(|key| call.reply.bulk(key));
    Ok(())
}

/// C's `strtoul` of a whole argument, as Redis reads cursors.
fn cursor_of(text: &[u8]) -> Option<u64> {
    let text = super::word::c_string(text);
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if text.is_empty() {
        return Some(0);
    }
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { value.wrapping_neg() } else { value })
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`
fn scan(call: &mut Call<'_>) -> Result<(), Error> {
    let cursor = cursor_of(call.arg(1)).ok_or(BAD_CURSOR)?;
    let (mut count, mut pattern, mut is_string) = (COUNT, None, true);
    let mut options = call.args.from(2);
    while let Some(option) = options.next() {
        let value = options.next().ok_or(SYNTAX)?;
        if is(option, "count") {
            let number = integer(value).ok_or(NOT_AN_INTEGER)?;
            count = usize::try_from(number).ok().filter(|count| *count > 0).ok_or(SYNTAX)?;
        } else if is(option, "match") {
            pattern = (!is_all(value)).then(|| Pattern::new(value));
        } else if is(option, "type") {
            is_string = is(value, "string");
        } else {
            return Err(SYNTAX);
        }
    }
    let db = call.client.db;
    let count = count.min(COUNT_MAX);
    let wanted =
        |key: &[u8]| is_string && pattern.as_ref().is_none_or(|pattern| pattern.matches(key));
    if call.engine.elsewhere {
        let begin = || Walk { place: Place { cursor, ..Place::default() }, ..Walk::default() };
        let walk = walk_on(call, begin, |call, walk| match call.server.card() {
            Some(card) => card.walk(call.engine, db, walk, Some(count), &mut |key| wanted(key)),
            None => Ok(true),
        })?;
        if let Some(walk) = walk {
            let found = walk.found.iter().map(|key| &key[..]);
            scanned(&mut call.reply, walk.place.cursor, found);
        }
        return Ok(());
    }
    let mut found = Vec::new();
    let next = call.engine.local.scan(Some(db), cursor, count, |item| {
        if wanted(item.key()) {
            found.push(item.key());
        }
    });
    scanned(&mut call.reply, next, found.into_iter());
    Ok(())
}

fn scanned<'k>(reply: &mut Reply<'_>, next: u64, found: impl ExactSizeIterator<Item = &'k [u8]>) {
    reply.array(2);
    reply.bulk(digits(next, &mut [0; DIGITS]));
    reply.array(found.len());
    found.for_each(|key| reply.bulk(key));
}
