//! OBJECT and MEMORY: how an item is kept, and in how much memory.

use wirekv_store::Item;

use super::call::Call;
use super::info::human;
use super::number::{self, double};
use super::rows;
use super::table::Command;
use super::{help, word, Error, SYNTAX};
use crate::Engine;

const BY_USE: Error =
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note \
                       that when switching between policies at runtime LRU and LFU data will take \
                       some time to adjust.";
const NOT_BY_USE: Error = "ERR An LFU maxmemory policy is not selected, access frequency not \
                           tracked. Please note that when switching between policies at runtime \
                           LRU and LFU data will take some time to adjust.";

pub const OBJECT: Command = Command::container(
    rows::OBJECT,
    &[
        Command::new(rows::OBJECT_ENCODING, encoding_of),
        Command::new(rows::OBJECT_FREQ, freq),
        Command::new(rows::OBJECT_HELP, |call| help(call, OBJECT_HELP)),
        Command::new(rows::OBJECT_IDLETIME, idle_time),
        Command::new(rows::OBJECT_REFCOUNT, refcount),
    ],
);

const OBJECT_HELP: &[&str] = &[
    "ENCODING <key>",
    "    Tells how Redis would keep such a value: int, embstr or raw.",
    "FREQ <key>",
    "    Tells how often the item was used of late, up to 3.",
    "IDLETIME <key>",
    "    Tells for how many seconds it was not used.",
    "REFCOUNT <key>",
    "    Tells how many refer to its value: one.",
];

pub const MEMORY: Command = Command::container(
    rows::MEMORY,
    &[
        Command::new(rows::MEMORY_DOCTOR, doctor),
        Command::new(rows::MEMORY_HELP, |call| help(call, MEMORY_HELP)),
        Command::new(rows::MEMORY_MALLOC_STATS, malloc_stats),
        Command::new(rows::MEMORY_PURGE, purge),
        Command::new(rows::MEMORY_STATS, stats),
        Command::new(rows::MEMORY_USAGE, usage),
    ],
);

const MEMORY_HELP: &[&str] = &[
    "DOCTOR",
    "    Reports in words.",
    "MALLOC-STATS",
    "    There is no allocator for items, only a log.",
    "PURGE",
    "    There is nothing to give back: the memory of -m is kept.",
    "STATS",
    "    Tells where the memory goes.",
    "USAGE <key> [SAMPLES <count>]",
    "    Tells how many bytes the item takes in the log and in the index.",
];

/// A way of the index.
const WAY: usize = 8;

/// How Redis keeps a value that came with SET.
pub fn encoding(value: &[u8]) -> &'static str {
    match value.len() {
        ..=20 if number::integer(value).is_some() => "int",
        ..=44 => "embstr",
        _ => "raw",
    }
}

/// Seconds since it was used.
pub fn idle_seconds(item: &Item<'_>, engine: &Engine) -> i64 {
    i64::from(engine.local.store().now().saturating_sub(item.time()))
}

/// Replies with what `tell` says of the item that argument 2 names, if it is there.
fn of_item(
    call: &mut Call<'_>,
    tell: impl FnOnce(&Item<'_>, &Engine) -> Result<i64, Error>,
) -> Result<(), Error> {
    let (key, hash) = (call.arg(2), call.hash_of(2));
    match call.engine.local.get(key, hash) {
        Some(item) => call.reply.integer(tell(&item, call.engine)?),
        None => call.reply.null(),
    }
    Ok(())
}

fn encoding_of(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(2), call.hash_of(2));
    match call.engine.local.get(key, hash) {
        Some(item) => call.reply.bulk(encoding(item.value()).as_bytes()),
        None => call.reply.null(),
    }
    Ok(())
}

fn refcount(call: &mut Call<'_>) -> Result<(), Error> {
    of_item(call, |_, _| Ok(1))
}

fn freq(call: &mut Call<'_>) -> Result<(), Error> {
    of_item(call, |item, engine| match engine.local.store().evicts() {
        true => Ok(item.uses() as i64),
        false => Err(NOT_BY_USE),
    })
}

fn idle_time(call: &mut Call<'_>) -> Result<(), Error> {
    of_item(call, |item, engine| match engine.local.store().evicts() {
        true => Err(BY_USE),
        false => Ok(idle_seconds(item, engine)),
    })
}

fn usage(call: &mut Call<'_>) -> Result<(), Error> {
    let mut options = call.args.from(3);
    while let Some(option) = options.next() {
        let Some(samples) = options.next().filter(|_| word::is(option, "samples")) else {
            return Err(SYNTAX);
        };
        if number::argument(samples)? < 0 {
            return Err(SYNTAX);
        }
    }
    of_item(call, |item, _| Ok((item.size() + WAY) as i64))
}

fn malloc_stats(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.bulk(b"Stats not supported for the current allocator");
    Ok(())
}

fn purge(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.ok();
    Ok(())
}

fn stats(call: &mut Call<'_>) -> Result<(), Error> {
    let store = call.engine.local.store().stats();
    let facts = call.server.facts(&call.engine.counters);
    let used = store.bytes + store.index_bytes;
    let numbers: [(&str, u64); 8] = [
        ("total.allocated", used),
        ("startup.allocated", store.index_bytes),
        ("overhead.total", store.index_bytes),
        ("keys.count", store.items),
        ("keys.bytes-per-key", used.checked_div(store.items).unwrap_or(0)),
        ("dataset.bytes", store.bytes),
        ("allocator.allocated", used),
        ("allocator.resident", facts.resident),
    ];
    let share = 100.0 * store.bytes as f64 / used.max(1) as f64;
    let ratios = [
        ("dataset.percentage", share),
        ("fragmentation", facts.resident as f64 / used.max(1) as f64),
    ];
    let reply = &mut call.reply;
    reply.map(numbers.len() + ratios.len() + 1);
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(number as i64);
    }
    for (name, ratio) in ratios {
        reply.bulk(name.as_bytes());
        reply.double(&double(ratio));
    }
    reply.bulk(b"fragmentation.bytes");
    reply.integer(facts.resident as i64 - used as i64);
    Ok(())
}

fn doctor(call: &mut Call<'_>) -> Result<(), Error> {
    let store = call.engine.local.store().stats();
    let facts = call.server.facts(&call.engine.counters);
    let mut text = format!(
        "{} items take {} of {}, the index another {}.\n",
        store.items,
        human(store.bytes),
        human(store.log_bytes),
        human(store.index_bytes)
    );
    if store.full > 0 {
        text.push_str(&format!("{} items found no room.\n", store.full));
    }
    if facts.evictions > 0 {
        let lost =
            format!("{} items made room for others: -m says how much there is.\n", facts.evictions);
        text.push_str(&lost);
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        for (value, expect) in [
            ("0", "int"),
            ("-9223372036854775808", "int"),
            ("9223372036854775808", "embstr"),
            ("01", "embstr"),
            ("", "embstr"),
        ] {
            assert_eq!(encoding(value.as_bytes()), expect, "{value}");
        }
        assert_eq!(encoding(&[b'x'; 44]), "embstr");
        assert_eq!(encoding(&[b'x'; 45]), "raw");
    }
}
