//! Items of the card, brought here for a command and given back.
//!
//! The card is held from the first read to the last write, so that what a command on several keys does is one step for
//! all of the card's clients. What is brought lies in a store of this program, where the same handlers run as in the
//! software body; what they have changed is what differs from what was brought.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use wirekv_card::Card;
use wirekv_memcache::binary::opcode::{port::VERSION, GET, SET};
use wirekv_memcache::binary::HEADER;
use wirekv_resp::{Engine, Error, Key, Place, Walk, NO_MEMORY};
use wirekv_store::{Fields, Full, Stamp};

use crate::port::{Hold, Lost, RequestPort, Speech};
use crate::walk::{replies_of, Met, Walks};

const LEFT: Error = "ERR the client has left";
const HOLD_LOST: Error = "ERR the card was held for too long; nothing was changed";
const REFUSED: Error = "ERR the card does not take that";
const WRITE_LOST: Error = "ERR the card was held for too long; some of it may be done";

const FLUSH_LOST: Error = "ERR the card does not answer; some of it may be done";

/// All databases.
const ALL: u16 = u16::MAX;
/// A call of SCAN with few keys looks into so many groups at most.
const GROUPS: usize = 512;
/// From so many keys on they are looked for in many groups at once.
const MANY: usize = 512;

/// What a key has in the card.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    value: Vec<u8>,
    flags: u32,
    /// Unix time in milliseconds; 0: never.
    expiry: u64,
}

/// A key that was brought, and what its item here was.
struct Brought {
    key: Key,
    was: Option<(Stamp, u64)>,
}

/// What tells a key as it is in the card from what it was or will be. The card's number is another one after all that
/// is done to the key (`rtl/store/index/execute_versions.sv`), but not when its item goes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    number: u64,
    there: bool,
}

/// A key's item, and, of one that somebody watches, the number of its version.
type Look = (Option<Found>, Option<u64>);

pub struct Items {
    pub port: RequestPort,
    pub walks: Walks,
    /// The card is held for a command.
    held: bool,
    /// Databases that this command has emptied, a bit each: what the card has there does not count any more.
    flushed: u16,
    /// The database that the port's connection is in.
    db: u8,
    brought: Vec<Brought>,
    /// Of watched keys, their version when they were brought last; `None`: it was changed here since. Who watches has
    /// their names alone here: values would be memory that others need.
    watched: HashMap<Key, Option<Version>>,
}

/// So many keys may be in that list that nobody watches any more, and as many as are watched.
const UNWATCHED: usize = 64;

impl Items {
    /// Those of a card with so many buckets, as a power of two.
    pub fn new(index_bits: u32) -> Items {
        Items {
            port: RequestPort::default(),
            walks: Walks::new(index_bits),
            held: false,
            flushed: 0,
            db: 0,
            brought: Vec::new(),
            watched: HashMap::new(),
        }
    }

    /// Brings these keys' items here, and holds the card.
    pub fn bring(
        &mut self,
        card: &mut dyn Card,
        engine: &mut Engine,
        keys: &[Key],
        watched: bool,
    ) -> Result<(), Error> {
        if self.port.is_for_nobody(card) {
            return Err(LEFT);
        }
        let store = engine.local.store();
        let asks = |(db, key): &Key| watched || store.is_watched(*db, key);
        let found = self.read(card, keys, asks).map_err(|Lost| HOLD_LOST)?;
        (self.held, self.flushed) = (true, 0);
        let result = self.take_in(engine, keys, found);
        if result.is_err() {
            self.held = false;
            self.forget(engine);
            self.release(card).map_err(|Lost| HOLD_LOST)?;
        }
        result
    }

    fn take_in(
        &mut self,
        engine: &mut Engine,
        keys: &[Key],
        found: Vec<Look>,
    ) -> Result<(), Error> {
        self.brought.clear();
        for (key, (found, number)) in keys.iter().zip(found) {
            let version = number.map(|number| Version { number, there: found.is_some() });
            let same = version.is_some() && self.watched.get(key) == Some(&version);
            put(engine, key, found.as_ref(), same).map_err(|Full| NO_MEMORY)?;
            if version.is_some() {
                self.watched.insert(key.clone(), version);
            }
            self.brought.push(Brought { key: key.clone(), was: state(engine, key) });
        }
        Ok(())
    }

    /// Gives the card what was changed, and lets it go.
    pub fn give_back(&mut self, card: &mut dyn Card, engine: &mut Engine) -> Result<(), Error> {
        self.held = false;
        let changed: Vec<Key> = self
            .brought
            .iter()
            .filter(|brought| state(engine, &brought.key) != brought.was)
            .map(|brought| brought.key.clone())
            .collect();
        let mut plain = Writes::new(self.db);
        let mut flagged = Vec::new();
        let flushed = std::mem::take(&mut self.flushed);
        let commit = Hold { commits: true, ..Hold::default() };
        let emptied = match flushed {
            0 => Ok(()),
            dbs => self
                .port
                .ask(card, (Speech::Redis, b"", commit), |_| true)
                .and_then(|_| self.empty(card, dbs))
                .inspect_err(|_| self.db = 0),
        };
        for key in &changed {
            let (db, name) = (key.0, &key.1[..]);
            plain.enter(db);
            let local = &engine.local;
            match local.get(name, local.hash_in(db, name)) {
                None => plain.command(&[b"DEL", name]),
                Some(item) => {
                    // Client flags only memcached's protocols can give.
                    match item.flags() {
                        0 => plain.command(&[b"SET", name, item.value()]),
                        flags => flagged.push((db, binary_set(name, item.value(), flags))),
                    }
                    if item.expiry() != 0 {
                        let expiry = item.expiry().to_string();
                        plain.command(&[b"PEXPIREAT", name, expiry.as_bytes()]);
                    }
                }
            }
        }
        for key in &changed {
            if let Some(version) = self.watched.get_mut(key) {
                *version = None;
            }
        }
        let result = emptied.map_err(|Lost| WRITE_LOST);
        let result = result.and_then(|()| self.write(card, flagged, plain));
        self.forget(engine);
        result
    }

    /// Keys that nobody watches any more are not kept.
    pub fn unwatch(&mut self, engine: &Engine) {
        let store = engine.local.store();
        if self.watched.len() > 2 * store.watches() + UNWATCHED {
            self.watched.retain(|(db, key), _| store.is_watched(*db, key));
        }
    }

    /// Goes on with a walk through the keys of a database, as they are for a command that the card is held for, up to
    /// about `count` of them or to its end; false: others have their turn before it is there.
    pub fn walk(
        &mut self,
        card: &mut dyn Card,
        engine: &mut Engine,
        db: u8,
        Walk { place, met, found, .. }: &mut Walk,
        count: Option<usize>,
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        let many = count.is_none_or(|count| count >= MANY);
        if many && place.width == 0 && !self.held {
            self.port.takes_long(card);
        }
        loop {
            let (gone, brought) = (self.flushed >> db & 1 != 0, &self.brought);
            let mut take = |key: Box<[u8]>| {
                *met += 1;
                if wanted(&key) {
                    found.push(key);
                }
            };
            let step = self.walks.step(card, &mut self.port, place, many, |met| {
                if met.db == db && !gone && !is_brought(brought, &met) {
                    take(met.key);
                }
            });
            step.map_err(|Lost| self.unfinished())?;
            if place.cursor == 0 {
                self.here(engine, db).into_iter().for_each(take);
                return Ok(true);
            }
            if count.is_some_and(|count| *met >= count.max(1) || place.looks >= GROUPS) {
                return Ok(true);
            }
            if !self.held && self.port.is_wanted() {
                return Ok(false);
            }
        }
    }

    /// Any key of a database.
    pub fn any_key(
        &mut self,
        card: &mut dyn Card,
        engine: &mut Engine,
        db: u8,
    ) -> Result<Option<Box<[u8]>>, Error> {
        let here = self.here(engine, db);
        let (gone, brought) = (self.flushed >> db & 1 != 0, &self.brought);
        let random = RandomState::new();
        let met = self.walks.any(
            card,
            &mut self.port,
            |n| random.hash_one(n),
            |met| met.db == db && !gone && !is_brought(brought, met),
        );
        let met = met.map_err(|Lost| self.unfinished())?;
        Ok(met.map(|met| met.key).or_else(|| here.into_iter().next()))
    }

    /// Why a walk has come to no end.
    fn unfinished(&mut self) -> Error {
        if self.port.caller.as_ref().is_some_and(|caller| caller.left) {
            // The port is as it was.
            return LEFT;
        }
        self.db = 0;
        HOLD_LOST
    }

    /// Those keys of a database that a command works with, and has left there.
    fn here(&self, engine: &Engine, db: u8) -> Vec<Box<[u8]>> {
        let held = self.brought.iter().filter(|_| self.held);
        let there = held.filter(|b| b.key.0 == db && state(engine, &b.key).is_some());
        there.map(|b| b.key.1.clone()).collect()
    }

    /// Empties a database, or all: now, or when the command that the card is held for is done. False: others have their
    /// turn before it is through.
    pub fn flush(
        &mut self,
        card: &mut dyn Card,
        engine: &mut Engine,
        db: Option<u8>,
        Walk { place, .. }: &mut Walk,
    ) -> Result<bool, Error> {
        let dbs = db.map_or(ALL, |db| 1 << db);
        if !self.held {
            if place.width == 0 {
                self.port.takes_long(card);
                if self.port.is_for_nobody(card) {
                    return Err(LEFT);
                }
            }
            let Some(db) = db else {
                return self.empty(card, dbs).map(|()| true).map_err(|Lost| FLUSH_LOST);
            };
            loop {
                self.empty_on(card, db, place).map_err(|Lost| FLUSH_LOST)?;
                if place.cursor == 0 || self.port.is_wanted() {
                    return Ok(place.cursor == 0);
                }
            }
        }
        self.flushed |= dbs;
        for brought in self.brought.iter().filter(|b| dbs >> b.key.0 & 1 != 0) {
            drop_key(engine, &brought.key);
        }
        Ok(true)
    }

    fn empty(&mut self, card: &mut dyn Card, dbs: u16) -> Result<(), Lost> {
        if dbs == ALL {
            let mut flush = Writes::new(self.db);
            flush.command(&[b"FLUSHALL"]);
            return self.resp(card, &flush, Hold::default()).map(drop);
        }
        for db in (0..16).filter(|db| dbs >> db & 1 != 0) {
            let mut place = Place::default();
            while place.width == 0 || place.cursor != 0 {
                self.empty_on(card, db, &mut place)?;
            }
        }
        Ok(())
    }

    /// A step of that.
    fn empty_on(&mut self, card: &mut dyn Card, db: u8, place: &mut Place) -> Result<(), Lost> {
        // Who has begun that comes to its end.
        self.port.caller = None;
        let mut keys = BTreeSet::new();
        let (walks, port) = (&mut self.walks, &mut self.port);
        let step = walks.step(card, port, place, true, |met| {
            if met.db == db {
                keys.insert(met.key);
            }
        });
        step.inspect_err(|_| self.db = 0)?;
        if keys.is_empty() {
            return Ok(());
        }
        let mut deletes = Writes::new(self.db);
        deletes.enter(db);
        keys.iter().for_each(|key| deletes.command(&[b"DEL", key]));
        self.resp(card, &deletes, Hold::default())?;
        self.db = deletes.db;
        Ok(())
    }

    fn forget(&mut self, engine: &mut Engine) {
        for brought in self.brought.drain(..) {
            drop_key(engine, &brought.key);
        }
    }

    fn release(&mut self, card: &mut dyn Card) -> Result<(), Lost> {
        let hold = Hold { ends: true, ..Hold::default() };
        self.port
            .ask(card, (Speech::Redis, b"", hold), |_| true)
            .inspect_err(|_| self.db = 0)
            .map(drop)
    }

    /// Reads the keys' items, and the versions of those for which `asks` says so; from then on the card is held.
    fn read(
        &mut self,
        card: &mut dyn Card,
        keys: &[Key],
        asks: impl Fn(&Key) -> bool,
    ) -> Result<Vec<Look>, Lost> {
        let mut hold = Hold { begins: true, ..Hold::default() };
        if keys.is_empty() {
            self.port
                .ask(card, (Speech::Redis, b"", hold), |_| true)
                .inspect_err(|_| self.db = 0)?;
        }
        let mut found: Vec<Look> = Vec::with_capacity(keys.len());
        // They come in the order of their databases.
        for keys in keys.chunk_by(|a, b| a.0 == b.0) {
            let db = keys[0].0;
            if db != self.db {
                let mut select = Writes::new(self.db);
                select.enter(db);
                self.resp(card, &select, hold)?;
                (self.db, hold) = (db, Hold::default());
            }
            let watched: Vec<bool> = keys.iter().map(&asks).collect();
            let mut requests = Vec::new();
            for ((_, name), watched) in keys.iter().zip(&watched) {
                let opcodes: &[u8] = if *watched { &[VERSION, GET] } else { &[GET] };
                opcodes.iter().for_each(|opcode| requests.extend(binary(*opcode, &[], name, &[])));
            }
            let count = keys.len() + watched.iter().filter(|watched| **watched).count();
            let all = |replies: &[u8]| replies_of(replies).is_some_and(|all| all.len() == count);
            let replies = self
                .port
                .ask(card, (Speech::Binary, &requests, hold), all)
                .inspect_err(|_| self.db = 0)?;
            hold = Hold::default();
            let mut replies = replies_of(&replies).ok_or(Lost)?.into_iter();
            let first = found.len();
            for watched in watched {
                let number = watched.then(|| replies.next().map(unique)).flatten();
                found.push((replies.next().and_then(binary_found), number));
            }
            let mut asks = Writes::new(db);
            let there: Vec<usize> =
                (first..found.len()).filter(|n| found[*n].0.is_some()).collect();
            for n in &there {
                asks.command(&[b"PEXPIRETIME", &keys[n - first].1]);
            }
            let expiries = self.resp(card, &asks, hold)?;
            for (n, reply) in there.into_iter().zip(expiries) {
                let expiry = reply.strip_prefix(b":").and_then(|text| {
                    std::str::from_utf8(text).ok()?.trim_end().parse::<i64>().ok()
                });
                match (expiry, &mut found[n].0) {
                    // It has gone just now.
                    (Some(-2), item) => *item = None,
                    (Some(at @ 1..), Some(item)) => item.expiry = at as u64,
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    fn write(
        &mut self,
        card: &mut dyn Card,
        flagged: Vec<(u8, Vec<u8>)>,
        plain: Writes,
    ) -> Result<(), Error> {
        let mut hold = Hold { commits: true, ..Hold::default() };
        let mut full = false;
        for (db, request) in flagged {
            let mut select = Writes::new(self.db);
            select.enter(db);
            self.resp(card, &select, hold).map_err(|Lost| WRITE_LOST)?;
            self.db = db;
            let one = |replies: &[u8]| replies_of(replies).is_some_and(|all| all.len() == 1);
            let reply = self.port.ask(card, (Speech::Binary, &request, Hold::default()), one);
            let reply = reply.inspect_err(|_| self.db = 0).map_err(|Lost| WRITE_LOST)?;
            full |= reply[6..8] != [0, 0];
            hold = Hold::default();
        }
        hold.ends = true;
        // Its databases were entered from what `self.db` was before.
        let mut writes = Writes::new(self.db);
        writes.enter(plain.first);
        writes.count += plain.count;
        writes.text.extend(&plain.text);
        let replies = self.resp(card, &writes, hold).map_err(|Lost| WRITE_LOST)?;
        self.db = plain.db;
        let refused = |reply: &Vec<u8>| reply.starts_with(b"-") && !reply.starts_with(b"-OOM");
        match replies.iter().any(|reply| reply.starts_with(b"-")) {
            _ if replies.iter().any(refused) => Err(REFUSED),
            no_memory if no_memory || full => Err(NO_MEMORY),
            _ => Ok(()),
        }
    }

    fn resp(
        &mut self,
        card: &mut dyn Card,
        asks: &Writes,
        hold: Hold,
    ) -> Result<Vec<Vec<u8>>, Lost> {
        if asks.count == 0 && !hold.ends {
            return Ok(Vec::new());
        }
        let all = |replies: &[u8]| lines(replies).len() == asks.count;
        let replies = self.port.ask(card, (Speech::Redis, &asks.text, hold), all);
        let replies = replies.inspect_err(|_| self.db = 0)?;
        Ok(lines(&replies).into_iter().map(|line| line.to_vec()).collect())
    }
}

/// Commands in Redis' protocol, each of which has a line for its reply.
pub struct Writes {
    first: u8,
    db: u8,
    count: usize,
    pub text: Vec<u8>,
}

impl Writes {
    pub fn new(db: u8) -> Writes {
        Writes { first: db, db, count: 0, text: Vec::new() }
    }

    fn enter(&mut self, db: u8) {
        if db != self.db {
            self.db = db;
            self.command(&[b"SELECT", db.to_string().as_bytes()]);
        }
    }

    pub fn command(&mut self, words: &[&[u8]]) {
        self.count += 1;
        self.text.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            self.text.extend(format!("${}\r\n", word.len()).bytes());
            self.text.extend(*word);
            self.text.extend(b"\r\n");
        }
    }
}

pub fn lines(replies: &[u8]) -> Vec<&[u8]> {
    replies.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).collect()
}

/// They are in order.
fn is_brought(brought: &[Brought], met: &Met) -> bool {
    brought.binary_search_by(|b| (b.key.0, &b.key.1).cmp(&(met.db, &met.key))).is_ok()
}

fn binary_set(key: &[u8], value: &[u8], flags: u32) -> Vec<u8> {
    let mut extras = [0; 8];
    extras[..4].copy_from_slice(&flags.to_be_bytes());
    binary(SET, &extras, key, value)
}

pub fn binary(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut request = vec![0; HEADER];
    let body = extras.len() + key.len() + value.len();
    (request[0], request[1], request[4]) =
        (wirekv_memcache::binary::REQUEST, opcode, extras.len() as u8);
    request[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
    request[8..12].copy_from_slice(&(body as u32).to_be_bytes());
    request.extend([extras, key, value].concat());
    request
}

/// What a reply has for a CAS unique.
fn unique(reply: &[u8]) -> u64 {
    u64::from_be_bytes(reply[16..24].try_into().expect("eight bytes"))
}

fn binary_found(reply: &[u8]) -> Option<Found> {
    let extras = usize::from(reply[4]);
    let flags = reply.get(HEADER..HEADER + 4)?;
    (reply[6..8] == [0, 0]).then(|| Found {
        value: reply[HEADER + extras..].to_vec(),
        flags: u32::from_be_bytes(flags.try_into().expect("four bytes")),
        expiry: 0,
    })
}

fn state(engine: &Engine, (db, name): &Key) -> Option<(Stamp, u64)> {
    let local = &engine.local;
    local.get(name, local.hash_in(*db, name)).map(|item| (item.stamp(), item.expiry()))
}

/// Gives a key what it has in the card: `same` as when it was here last, for those who watch it.
fn put(engine: &mut Engine, key: &Key, found: Option<&Found>, same: bool) -> Result<(), Full> {
    let Some(found) = found else {
        drop_key(engine, key);
        if !same {
            engine.local.change(key.0, &key.1);
        }
        return Ok(());
    };
    let fields = Fields { flags: found.flags, expiry: found.expiry, wide: false };
    let mut new = engine.local.reserve_in(key.0, &key.1, found.value.len(), fields)?;
    new.value().copy_from_slice(&found.value);
    let entry = engine.local.lock_for(&new);
    if same {
        entry.bring_back(new)
    } else {
        entry.link(new, None).map(drop)
    }
}

fn drop_key(engine: &mut Engine, (db, name): &Key) {
    let entry = engine.local.lock_in(*db, name);
    if entry.item().is_some() {
        entry.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use wirekv_proto::Settings;
    use wirekv_store::{Config, Store};

    fn engine(bytes: usize) -> Engine {
        let store = Store::new(Config { evict: false, ..Config::new(bytes) }).unwrap();
        Engine::new(store.local(), Arc::new(Settings::default()), Arc::default())
    }

    fn look(bytes: usize, version: u64) -> Look {
        (Some(Found { value: vec![b'v'; bytes], flags: 0, expiry: 0 }), Some(version))
    }

    #[test]
    fn watched_items_take_no_room() {
        let (mut engine, mut items) = (engine(16 << 20), Items::new(10));
        let watches: Vec<_> = (0..100u64)
            .map(|n| {
                let key: Key = (0, n.to_string().into_bytes().into());
                let item = vec![look(1 << 20, n)];
                items.take_in(&mut engine, std::slice::from_ref(&key), item).unwrap();
                let watch = engine.local.watch(0, &key.1);
                items.forget(&mut engine);
                watch
            })
            .collect();
        assert_eq!(engine.local.store().watches(), 100);
        for (n, watch) in watches.into_iter().enumerate() {
            let key: Key = (0, watch.key().into());
            let version = if n % 2 == 0 { n } else { n + 1000 } as u64;
            let item = vec![look(1 << 20, version)];
            items.take_in(&mut engine, &[key], item).unwrap();
            assert_eq!(watch.is_unchanged(&engine.local), n % 2 == 0);
            items.forget(&mut engine);
        }
        items.unwatch(&engine);
        assert!(items.watched.is_empty());
    }

    #[test]
    fn watched_items_that_come_and_go() {
        let (mut engine, mut items) = (engine(16 << 20), Items::new(10));
        let key: Key = (0, b"k"[..].into());
        let mut brought = |look| {
            items.take_in(&mut engine, std::slice::from_ref(&key), vec![look]).unwrap();
            let watch = engine.local.watch(0, b"k");
            items.forget(&mut engine);
            watch
        };
        let nothing = |version| (None, Some(version));
        let none = brought(nothing(1));
        let first = brought(look(5, 2));
        let expired = brought(nothing(2));
        // It was stored, and deleted.
        let gone = brought(nothing(4));
        let still_gone = brought(nothing(4));
        // Who watches is asked while the item is here, or is not.
        items.take_in(&mut engine, std::slice::from_ref(&key), vec![nothing(4)]).unwrap();
        let unchanged = [&none, &first, &expired, &gone, &still_gone];
        let unchanged = unchanged.map(|watch| watch.is_unchanged(&engine.local));
        assert_eq!(unchanged, [false, false, false, true, true]);
        items.take_in(&mut engine, &[key], vec![look(5, 5)]).unwrap();
        let unchanged = [gone, still_gone].map(|watch| watch.is_unchanged(&engine.local));
        assert_eq!(unchanged, [false, false]);
    }
}
