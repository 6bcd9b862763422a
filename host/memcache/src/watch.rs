//! What `watch` shows: the commands of memcached's clients, evictions, connections. The lines are memcached's.

use std::io::Write;

use wirekv_proto::events::{Moment, CONNEVENTS, DELETIONS, EVICTIONS, FETCHERS, MUTATIONS, NONE};
use wirekv_proto::limits::size;
use wirekv_proto::{Engine, Events, Settings};
use wirekv_store::{Hash, Item, Local, Lookup};

use crate::dump::encoded;
use crate::ops::{slab_class, Put, Stored};

/// The events that a word names.
pub fn kind(word: &[u8]) -> Option<u32> {
    Some(match word {
        b"fetchers" => FETCHERS,
        b"mutations" => MUTATIONS,
        b"deletions" => DELETIONS,
        b"evictions" => EVICTIONS,
        b"connevents" => CONNEVENTS,
        b"rawcmds" | b"sysevents" | b"proxyreqs" | b"proxyevents" | b"proxyuser" => NONE,
        _ => return None,
    })
}

/// An item that was looked at: class and length.
#[derive(Clone, Copy, Default)]
pub struct Seen {
    class: u64,
    len: usize,
}

impl Seen {
    fn new(settings: &Settings, key: &[u8], len: usize, flags: u32) -> Seen {
        Seen { class: slab_class(size(settings, key.len(), len as u64, flags)), len }
    }

    pub fn of(settings: &Settings, item: &Item<'_>) -> Seen {
        Seen::new(settings, item.key(), item.value().len(), item.flags())
    }
}

/// `ts=<seconds>.<microseconds> gid=<number> type=<type>`
fn begin(line: &mut Vec<u8>, moment: &Moment, kind: &str) {
    let Moment { seconds, micros, number } = moment;
    // As memcached, without zeros before the microseconds. A vector takes what is written to it.
    let _ = write!(line, "ts={seconds}.{micros} gid={number} type={kind}");
}

fn key(line: &mut Vec<u8>, key: &[u8]) {
    line.extend_from_slice(b" key=");
    encoded(key, |byte| line.push(byte));
}

/// A command looks at a key's item, before it does anything else.
#[inline]
pub fn look(engine: &Engine, key: &[u8], hash: Hash) -> Seen {
    look_at(&engine.local, &engine.settings, engine.conn, key, hash)
}

/// The same, where the engine is in pieces.
#[inline]
pub fn look_at(local: &Local, settings: &Settings, conn: usize, key: &[u8], hash: Hash) -> Seen {
    match settings.events.wants(FETCHERS | DELETIONS) {
        true => look_slowly(local, settings, conn, key, hash),
        false => Seen::default(),
    }
}

#[cold]
fn look_slowly(local: &Local, settings: &Settings, conn: usize, key: &[u8], hash: Hash) -> Seen {
    let (status, seen) = match local.look_up(key, hash) {
        Lookup::Live(item) => ("found", Seen::of(settings, &item)),
        Lookup::Expired => ("expired", Seen::default()),
        Lookup::Flushed => ("flushed", Seen::default()),
        Lookup::Absent => ("not_found", Seen::default()),
    };
    got(&settings.events, key, status, seen, conn);
    seen
}

fn got(events: &Events, name: &[u8], status: &str, seen: Seen, conn: usize) {
    if !events.wants(FETCHERS) {
        return;
    }
    let Seen { class, len } = seen;
    events.tell(FETCHERS, |moment, line| {
        begin(line, moment, "item_get");
        key(line, name);
        let _ = writeln!(line, " status={status} clsid={class} cfd={conn} size={len}");
    });
}

/// A value was to be stored.
#[inline]
pub fn stored(engine: &Engine, key: &[u8], what: &Put, len: usize, became: Stored) {
    if engine.settings.events.wants(MUTATIONS) {
        stored_slowly(engine, key, what, len, became);
    }
}

#[cold]
fn stored_slowly(engine: &Engine, key: &[u8], what: &Put, len: usize, became: Stored) {
    let Engine { local, settings, .. } = engine;
    let (status, mut len, mut exptime) = match became {
        // What was stored may have another length and time, those of the value before.
        Stored::Yes(_, total) => ("stored", total, what.exptime),
        Stored::Exists => ("exists", len, what.exptime),
        Stored::NotFound => ("not_found", len, what.exptime),
        Stored::NotStored => ("not_stored", len, what.exptime),
        Stored::NoMemory => ("no_memory", 0, 0),
    };
    let mut seen = Seen::new(settings, key, len, what.flags);
    if matches!(became, Stored::Yes(..)) {
        if let Some(item) = local.get(key, local.hash(key)) {
            (exptime, seen) = (item.exptime(), Seen::of(settings, &item));
            len = seen.len;
        }
    }
    let class = if became == Stored::NoMemory { 0 } else { seen.class };
    told(engine, key, status, what.mode.name(), exptime, Seen { class, len });
}

/// A value is not taken at all.
pub fn refused(engine: &Engine, key: &[u8], status: &str, mode: &str) {
    if engine.settings.events.wants(MUTATIONS) {
        told(engine, key, status, mode, 0, Seen::default());
    }
}

/// An item that was looked at has lost its value; to memcached an empty one was stored.
#[inline]
pub fn emptied(engine: &Engine, key: &[u8], hash: Hash, seen: Seen) -> Seen {
    let Engine { local, settings, conn, .. } = engine;
    if !settings.events.wants(FETCHERS | MUTATIONS | DELETIONS) {
        return seen;
    }
    got(&settings.events, key, "found", seen, *conn);
    let Some(item) = local.get(key, hash) else { return Seen::default() };
    let empty = Seen::of(settings, &item);
    if settings.events.wants(MUTATIONS) {
        told(engine, key, "stored", "set", item.exptime(), empty);
    }
    empty
}

fn told(engine: &Engine, name: &[u8], status: &str, mode: &str, exptime: u32, seen: Seen) {
    let Seen { class, len } = seen;
    let ttl = match exptime {
        0 => 0,
        // As memcached's, which is not below zero.
        exptime => exptime.wrapping_sub(engine.local.store().now()),
    };
    engine.settings.events.tell(MUTATIONS, |moment, line| {
        begin(line, moment, "item_store");
        key(line, name);
        let conn = engine.conn;
        let _ = writeln!(
            line,
            " status={status} cmd={mode} ttl={ttl} clsid={class} cfd={conn} size={len}"
        );
    });
}

/// `delete` or `md` has removed an item, which it had looked at.
#[inline]
pub fn deleted(events: &Events, name: &[u8], command: &str, seen: Seen) {
    if events.wants(DELETIONS) {
        let Seen { class, len } = seen;
        events.tell(DELETIONS, |moment, line| {
            begin(line, moment, "deleted");
            key(line, name);
            let _ = writeln!(line, " cmd={command} clsid={class} size={len}");
        });
    }
}

/// An item makes room for others.
pub fn evicted(settings: &Settings, item: &Item<'_>, now: u32) {
    let events = &settings.events;
    if !events.wants(EVICTIONS) {
        return;
    }
    let Seen { class, len } = Seen::of(settings, item);
    let fetched = if item.fetched() { "yes" } else { "no" };
    let ttl = match item.exptime() {
        0 => -1,
        exptime => i64::from(exptime) - i64::from(now),
    };
    let age = now.saturating_sub(item.time());
    events.tell(EVICTIONS, |moment, line| {
        begin(line, moment, "eviction");
        key(line, item.key());
        let _ = writeln!(line, " fetch={fetched} ttl={ttl} la={age} clsid={class} size={len}");
    });
}

/// A connection, as memcached shows it.
pub struct Peer<'a> {
    pub address: &'a str,
    pub port: u16,
    /// `tcp` or `local`.
    pub transport: &'a str,
    pub number: usize,
}

/// A connection was opened; with a reason it was closed.
pub fn connection(events: &Events, peer: &Peer<'_>, reason: Option<&str>) {
    let Peer { address, port, transport, number } = peer;
    events.tell(CONNEVENTS, |moment, line| {
        begin(line, moment, if reason.is_some() { "conn_close" } else { "conn_new" });
        let _ = write!(line, " rip={address} rport={port} transport={transport}");
        if let Some(reason) = reason {
            let _ = write!(line, " reason={reason}");
        }
        let _ = writeln!(line, " cfd={number}");
    });
}
