//! Operations on a store, drawn from bytes, against a plain map of each database: a hit must be right,
//! a miss must have been evicted, removed, expired or flushed, and without eviction nothing else is
//! lost; a walk meets what is there. For
//! the fuzzer, which includes this file, and for the replay of what it found.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use wirekv_store::{
    Config, Fields, Full, Hash, HashKey, Item, Local, Lookup, Pin, Reservation, Store,
};

pub fn run(data: &[u8]) {
    // Drawing only fails when there are no bytes left.
    let _ = play(&mut Unstructured::new(data));
}

fn play(u: &mut Unstructured<'_>) -> Result<()> {
    let (mut game, mut other) = Game::new(u)?;
    while !u.is_empty() {
        match u.int_in_range(0..=99u8)? {
            0..=1 => {
                game.local.offline();
                std::mem::swap(&mut game.local, &mut other);
            }
            2..=4 => game.hold(u, &mut other)?,
            _ => game.step(u)?,
        }
    }
    game.finish();
    Ok(())
}

/// A version of a key.
#[derive(Clone, Copy)]
struct Version {
    key: u8,
    number: u32,
    len: usize,
    flags: u32,
    /// In Unix milliseconds.
    expiry: u64,
    /// The CAS unique comes from the client.
    explicit: Option<u64>,
}

impl Version {
    fn value(&self) -> Vec<u8> {
        let mut state = self.number.wrapping_mul(0x9e37_79b9) ^ u32::from(self.key) << 24;
        let byte = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..self.len).map(byte).collect()
    }
}

struct Known {
    version: Version,
    cas: u64,
    /// When, and as the how manieth.
    second: u32,
    number: u64,
    fetched: bool,
    stale: bool,
    win: bool,
    binary: bool,
    /// Was found dead, and has to stay so.
    dead: bool,
}

/// The databases in use, and the two bits of a key's number that say which.
const DBS: [u8; 4] = [0, 0, 1, 15];

fn db(n: u8) -> u8 {
    DBS[usize::from(n % 4)]
}

/// memcached's `flush_all`: see `src/flush.rs`.
#[derive(Default)]
struct Flush {
    any: bool,
    live: u32,
    pending: u32,
    /// The last one of each database.
    numbers: HashMap<u8, u64>,
}

/// Unix milliseconds of the clock's 0.
const EPOCH: u64 = 1_000_000_007;

struct Game {
    store: Arc<Store>,
    local: Local,
    evict: bool,
    cas: bool,
    chunk: usize,
    /// Keys, and the longest value.
    keys: u8,
    longest: usize,
    known: HashMap<u8, Known>,
    rooms: Vec<(Version, Reservation)>,
    pins: Vec<(Vec<u8>, Pin)>,
    flush: Flush,
    /// Milliseconds.
    now: u64,
    number: u32,
    /// Another thread holds an item.
    held: bool,
    /// Some items were larger than a chunk. The chunks in a row that both threads have open for
    /// such ones may be all there are.
    large: bool,
}

fn key(n: u8) -> Vec<u8> {
    // Those of different databases are the same.
    let n = if db(n) == 0 { n } else { n & !3 };
    let mut key = vec![n; [1, 8, 14, 30, 8, 8, 8, 250][usize::from(n % 8)]];
    key[0] = n.wrapping_mul(77);
    key
}

impl Game {
    fn new(u: &mut Unstructured<'_>) -> Result<(Game, Local)> {
        let chunk = 64 << u.int_in_range(0..=6u8)?;
        let chunks = u.int_in_range(9..=64usize)?;
        let buckets = u.int_in_range(1..=12usize)?;
        let longest = chunk * chunks / 4;
        let item_max = longest + 300;
        let longest = [chunk / 4, chunk, longest, 2 * longest][u.int_in_range(0..=3usize)?];
        let keys = u.int_in_range(4..=128u8)?;
        let [evict, cas] = [u.ratio(3, 4u8)?, u.ratio(3, 4u8)?];
        // Tables for locks, chunks and groups, then what is in them.
        let memory = 2112 + buckets * 64 + chunks * (chunk + 128);
        let config = Config {
            item_max: item_max.min(chunk * chunks / 2),
            chunk: Some(chunk),
            buckets: Some(buckets),
            seed: HashKey { nh: [0x9e37_79b9; 32], mix: [0x9e37_79b9_7f4a_7c15; 2] },
            evict,
            cas,
            epoch: EPOCH,
            // The other thread is this one, and lets go of nothing meanwhile.
            patience: Duration::ZERO,
            ..Config::new(memory)
        };
        let store = Store::new(config).expect("room for the chunks");
        let (local, mut other) = (store.local(), store.local());
        other.offline();
        let game = Game {
            store,
            local,
            evict,
            cas,
            chunk,
            keys,
            longest,
            known: HashMap::new(),
            rooms: Vec::new(),
            pins: Vec::new(),
            flush: Flush::default(),
            now: 2000,
            number: 0,
            held: false,
            large: false,
        };
        Ok((game, other))
    }

    fn any_key(&self, u: &mut Unstructured<'_>) -> Result<u8> {
        Ok(u.arbitrary::<u8>()? % self.keys)
    }

    fn any_time(&self, u: &mut Unstructured<'_>) -> Result<u64> {
        Ok(match u.arbitrary::<u8>()? {
            0..=127 => 0,
            more @ ..192 => self.store.to_expiry((self.now / 1000) as u32 + u32::from(more - 128)),
            more => EPOCH + self.now + u64::from(more - 192),
        })
    }

    fn hash(&self, n: u8) -> Hash {
        self.local.hash_in(db(n), &key(n))
    }

    fn any_version(&mut self, u: &mut Unstructured<'_>) -> Result<Version> {
        let key = self.any_key(u)?;
        // Most are short.
        let len = usize::from(u.arbitrary::<u8>()?);
        let len = len * len * self.longest / (255 * 255);
        let kind: u8 = u.arbitrary()?;
        let flags = if kind & 3 == 0 { u32::from(kind) << 20 } else { 0 };
        let expiry = if kind & 12 == 0 { self.any_time(u)? } else { 0 };
        let explicit = if kind & 48 == 0 { Some(u.arbitrary::<u64>()?) } else { None };
        self.number += 1;
        Ok(Version { key, number: self.number, len, flags, expiry, explicit })
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=99u8)? {
            0..=34 => {
                let version = self.any_version(u)?;
                if let Some(room) = self.reserve(version) {
                    self.link(version, room);
                }
            }
            35..=59 => {
                let (n, hits) = (self.any_key(u)?, u.int_in_range(0..=3u8)?);
                self.get(n, hits);
            }
            60..=64 => {
                let n = self.any_key(u)?;
                self.remove(n);
            }
            65..=69 => {
                let (n, expiry) = (self.any_key(u)?, self.any_time(u)?);
                self.touch(n, expiry);
            }
            70..=73 => {
                let (n, what) = (self.any_key(u)?, u.arbitrary()?);
                self.change(n, what);
            }
            74..=78 if self.rooms.len() < 4 => {
                let version = self.any_version(u)?;
                if let Some(room) = self.reserve(version) {
                    self.rooms.push((version, room));
                }
            }
            74..=81 => {
                if !self.rooms.is_empty() {
                    let i = u.choose_index(self.rooms.len())?;
                    let (version, room) = self.rooms.swap_remove(i);
                    if u.ratio(2, 3u8)? {
                        self.link(version, room);
                    }
                }
            }
            82..=84 => {
                let n = self.any_key(u)?;
                if let Some(item) = self.local.get(&key(n), self.hash(n)) {
                    self.pins.extend(item.pin().map(|pin| (item.value().to_vec(), pin)));
                }
            }
            85..=87 => {
                if !self.pins.is_empty() {
                    let i = u.choose_index(self.pins.len())?;
                    let (value, pin) = self.pins.swap_remove(i);
                    assert!(*value == *pin, "a pinned value has changed");
                }
            }
            88..=92 => {
                let step = u64::from(u.arbitrary::<u8>()?);
                self.now += if step < 128 { step } else { 1000 * (step - 127) };
                self.store.set_clock(self.now);
            }
            93 => {
                let delay = u.int_in_range(0..=20u8)?;
                let when = (self.second() + u32::from(delay)).saturating_sub(5);
                match delay {
                    0 => self.flush_at_once(&[DBS[u.choose_index(DBS.len())?]]),
                    1 => self.flush_at_once(&[0, 1, 15]),
                    _ => self.flush(when),
                }
            }
            94 if self.number.is_multiple_of(4) => self.walk(u)?,
            94..=96 => self.local.quiesce(),
            97 => self.local.offline(),
            _ => self.local.online(),
        }
        Ok(())
    }

    /// An item that another thread has found stays as it is whatever this one does.
    fn hold(&mut self, u: &mut Unstructured<'_>, other: &mut Local) -> Result<()> {
        let n = self.any_key(u)?;
        let k = key(n);
        other.online();
        let item = other.get(&k, other.hash_in(db(n), &k));
        let seen = item.map(|item| (item.value().to_vec(), item.flags()));
        self.held = true;
        for _ in 0..u.int_in_range(1..=12u8)? {
            self.step(u)?;
        }
        self.held = false;
        if let (Some(item), Some((value, flags))) = (item, seen) {
            assert!(item.key() == k && item.value() == value && item.flags() == flags);
            // Its chunk may have been emptied meanwhile.
            if u.arbitrary()? {
                self.pins.extend(item.pin().map(|pin| (value, pin)));
            }
        }
        other.offline();
        Ok(())
    }

    fn reserve(&mut self, version: Version) -> Option<Reservation> {
        let k = key(version.key);
        let Version { len, flags, expiry, explicit, .. } = version;
        // Eight more bytes for a client's CAS unique.
        self.large |= Store::footprint(k.len(), len, flags, expiry) + 16 > self.chunk;
        let fields = Fields { flags, expiry, wide: explicit.is_some() };
        let room = self.local.reserve_in(db(version.key), &k, len, fields);
        let Ok(mut room) = room else {
            let free = !self.held && self.pins.is_empty() && self.rooms.is_empty();
            assert!(!self.evict || self.large || !free, "out of room with all to evict");
            return None;
        };
        room.value().copy_from_slice(&version.value());
        assert!(room.key() == k);
        Some(room)
    }

    fn link(&mut self, version: Version, mut room: Reservation) {
        let k = key(version.key);
        assert!(room.key() == k && *room.value() == version.value());
        let binary = version.number.is_multiple_of(4);
        room.set_binary_key(binary);
        let entry = self.local.lock_in(db(version.key), &k);
        match entry.link(room, version.explicit) {
            Ok(cas) => {
                assert!(version.explicit.map_or(self.cas == (cas != 0), |given| cas == given));
                let (second, number) = (self.second(), u64::from(self.number));
                self.number += 1;
                let fresh = Known {
                    version,
                    cas,
                    second,
                    number,
                    fetched: false,
                    stale: false,
                    win: false,
                    binary,
                    dead: false,
                };
                self.known.insert(version.key, fresh);
            }
            Err(Full) => assert!(!self.evict, "an index in which everything can be evicted"),
        }
    }

    fn get(&mut self, n: u8, hits: u8) {
        let k = key(n);
        let hash = self.hash(n);
        let Game { local, known, flush, now, .. } = self;
        local.prefetch_buckets(hash);
        local.prefetch_item(hash);
        match local.look_up(&k, hash) {
            Lookup::Live(item) => {
                let known = known.get_mut(&n).expect("a key that is gone does not come back");
                known.check(&item, flush, *now);
                for _ in 0..hits {
                    known.fetched = true;
                    local.hit(&item);
                }
            }
            Lookup::Expired => {
                let known = known.get_mut(&n).expect("an item that was there");
                assert!(known.expired(*now));
                known.dead = true;
            }
            Lookup::Flushed => {
                let known = known.get_mut(&n).expect("an item that was there");
                assert!(known.flushed(known.second, flush, *now));
                known.dead = true;
            }
            Lookup::Absent => self.lost(n),
        }
    }

    /// The key has no item.
    fn lost(&mut self, n: u8) {
        if let Some(known) = self.known.remove(&n) {
            let flushed = known.flushed(known.second, &self.flush, self.now);
            let may = self.evict || known.dead || known.expired(self.now) || flushed;
            assert!(may, "lost without eviction");
        }
    }

    fn remove(&mut self, n: u8) {
        let k = key(n);
        let there = self.local.lock_in(db(n), &k).remove();
        if !there {
            return self.lost(n);
        }
        let known = self.known.remove(&n).expect("a key that is gone does not come back");
        assert!(!known.dead && !known.expired(self.now));
    }

    /// In place, or by a copy.
    fn touch(&mut self, n: u8, expiry: u64) {
        let k = key(n);
        let entry = self.local.lock_in(db(n), &k);
        if entry.item().is_none() {
            drop(entry);
            return self.lost(n);
        }
        let known = self.known.get_mut(&n).expect("a key that is gone does not come back");
        let done = entry.expire(expiry);
        if done {
            known.version.expiry = expiry;
            return;
        }
        drop(entry);
        assert_eq!(known.version.expiry, 0);
        let mut copy = known.version;
        copy.expiry = expiry;
        let Some(mut room) = self.reserve(copy) else { return };
        let entry = self.local.lock_in(db(n), &k);
        let Some(item) = entry.item() else {
            drop(entry);
            return self.lost(n);
        };
        let cas = item.cas();
        room.inherit(&item);
        assert_eq!(entry.link(room, Some(cas)), Ok(cas), "it has a way");
        let known = self.known.get_mut(&n).expect("a key that is gone does not come back");
        known.version.expiry = expiry;
    }

    /// Marks.
    fn change(&mut self, n: u8, what: u8) {
        let k = key(n);
        let entry = self.local.lock_in(db(n), &k);
        let Some(item) = entry.item() else {
            drop(entry);
            return self.lost(n);
        };
        let known = self.known.get_mut(&n).expect("a key that is gone does not come back");
        known.check(&item, &self.flush, self.now);
        assert_eq!(item.wide(), known.version.explicit.is_some());
        match what % 3 {
            0 => {
                known.stale = what & 4 == 0;
                entry.set_stale(known.stale);
            }
            1 => {
                known.win = what & 4 == 0;
                entry.set_win_sent(known.win);
            }
            _ => {
                entry.hit();
                known.fetched = true;
            }
        }
    }

    fn second(&self) -> u32 {
        (self.now / 1000) as u32
    }

    /// memcached's `flush_all` at a second; 0, and one that is over, is at once.
    fn flush(&mut self, when: u32) {
        let now = self.second();
        if when == 0 || (self.cas && (2..=now).contains(&when)) {
            self.note_flush(&[0]);
            self.store.flush_at(when);
            return assert_eq!(self.store.keys(0), 0);
        }
        let Game { flush, cas, .. } = self;
        if flush.pending <= now {
            flush.live = flush.live.max(flush.pending);
        }
        flush.pending = when - u32::from(*cas);
        flush.any = true;
        self.store.flush_at(when);
    }

    fn note_flush(&mut self, dbs: &[u8]) {
        let now = self.second();
        for &db in dbs {
            self.flush.numbers.insert(db, u64::from(self.number));
            if db == 0 {
                self.flush.live = self.flush.live.max(now - 1);
                self.flush.pending = 0;
                self.flush.any = true;
            }
        }
    }

    fn flush_at_once(&mut self, dbs: &[u8]) {
        self.note_flush(dbs);
        match dbs {
            [0] => self.store.flush(),
            [db] => self.store.flush_db(*db),
            _ => self.store.flush_all_dbs(),
        }
        for &db in dbs {
            assert_eq!(self.store.keys(db), 0);
        }
    }

    /// Nobody does anything meanwhile: each live item is met once.
    fn walk(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let count = usize::from(u.arbitrary::<u8>()?);
        let mut met = Vec::new();
        let mut cursor = 0;
        loop {
            let each = |item: Item<'_>| met.push((item.db(), item.key().to_vec()));
            cursor = self.local.scan(None, cursor, count, each);
            if cursor == 0 {
                break;
            }
        }
        met.sort();
        let there = |n: &u8| self.local.get(&key(*n), self.hash(*n)).is_some();
        let mut wanted: Vec<_> = (0..self.keys).filter(there).map(|n| (db(n), key(n))).collect();
        wanted.sort();
        wanted.dedup();
        assert!(met == wanted, "what a walk meets");
        for db in [0, 1, 15] {
            assert!(self.store.keys(db) >= met.iter().filter(|(of, _)| *of == db).count() as u64);
            let random = self.local.random(db).map(|item| (item.db(), item.key().to_vec()));
            match random {
                Some(random) => assert!(met.contains(&random)),
                None => assert!(met.iter().all(|(of, _)| *of != db)),
            }
        }
        Ok(())
    }

    fn finish(mut self) {
        for n in 0..self.keys {
            self.get(n, 0);
        }
        let stats = self.store.stats();
        assert!(stats.items <= stats.ways && stats.bytes <= stats.log_bytes);
        assert!(self.evict || stats.evictions == 0);
        for (value, pin) in self.pins.drain(..) {
            assert!(*value == *pin, "a pinned value has changed");
        }
        for (version, mut room) in self.rooms.drain(..) {
            assert!(*room.value() == version.value(), "a reserved value has changed");
        }
        assert_eq!(self.store.stats().chunks_pinned, 0);
    }
}

impl Known {
    fn expired(&self, now: u64) -> bool {
        self.version.expiry != 0 && self.version.expiry <= EPOCH + now
    }

    /// If it was last used in that second.
    fn flushed(&self, second: u32, flush: &Flush, now: u64) -> bool {
        let of = db(self.version.key);
        let by_time = second <= flush.live
            || (flush.pending <= (now / 1000) as u32 && second <= flush.pending);
        (of == 0 && flush.any && by_time) || self.number < *flush.numbers.get(&of).unwrap_or(&0)
    }

    fn check(&self, item: &Item<'_>, flush: &Flush, now: u64) {
        let Version { key: n, len, flags, expiry, .. } = self.version;
        assert!(!self.dead && !self.expired(now), "alive after its time");
        assert!((self.second..=(now / 1000) as u32).contains(&item.time()));
        assert!(!self.flushed(item.time(), flush, now), "alive after a flush");
        assert!(item.key() == key(n) && item.value() == self.version.value() && item.db() == db(n));
        assert_eq!((item.value().len(), item.flags(), item.expiry()), (len, flags, expiry));
        let coded = self.binary || key(n).iter().any(|byte| b"\0\n ".contains(byte));
        assert_eq!((item.cas(), item.binary_key()), (self.cas, coded));
        let marks = (item.fetched(), item.stale(), item.win_sent());
        assert_eq!(marks, (self.fetched, self.stale, self.win));
    }
}
