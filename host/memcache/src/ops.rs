//! What requests mean: the same in each of memcached's protocols.

use crate::watch;
use wirekv_proto::limits::{size, too_large};
use wirekv_proto::{number, Counters, Engine, Settings, Value};
use wirekv_store::{Entry, Fields, Full, Hash, Item, Local, Lookup, Stamp, Whole};

/// Relative times end here, what is larger is a date.
const THIRTY_DAYS: i64 = 60 * 60 * 24 * 30;
/// The store's time of an expiry time that a request gives: 0 never, seconds from now, or a date.
#[inline]
pub fn when(exptime: i64, settings: &Settings, now: u32) -> u32 {
    if exptime == 0 {
        0
    } else if exptime > THIRTY_DAYS {
        // A date before the start is long ago, and not never.
        (exptime - settings.epoch).max(1) as u32
    } else {
        (exptime as u32).wrapping_add(now)
    }
}

/// The text protocols' expiry time: a negative one is over at once.
#[inline]
pub fn text_when(exptime: i32, settings: &Settings, now: u32) -> u32 {
    if exptime < 0 {
        1
    } else {
        when(exptime.into(), settings, now)
    }
}

/// memcached keeps larger items in several chunks, whatever `-I` says.
const CHUNK_MAX: u64 = 512 << 10;

/// The slab class in which memcached would keep an item: chunks from 96 bytes on, each a quarter
/// larger than the one before.
pub fn slab_class(size: u64) -> u64 {
    let (mut class, mut chunk) = (1, 96);
    while chunk < size && chunk < CHUNK_MAX {
        chunk = (chunk * 5 / 4).next_multiple_of(8);
        class += 1;
        if chunk * 5 / 4 > CHUNK_MAX {
            break;
        }
    }
    class
}

/// A live item that counts as used, and as found or not in the counters.
#[inline]
pub fn get<'a>(
    local: &'a Local,
    counters: &mut Counters,
    key: &[u8],
    hash: Hash,
) -> Option<Item<'a>> {
    counters.cmd_get += 1;
    match local.look_up(key, hash) {
        Lookup::Live(item) => {
            counters.get_hits += 1;
            local.hit(&item);
            return Some(item);
        }
        Lookup::Expired => counters.get_expired += 1,
        Lookup::Flushed => counters.get_flushed += 1,
        Lookup::Absent => {}
    }
    counters.get_misses += 1;
    None
}

/// The live item, and gives it another expiry time. One that is over by now removes the item, which
/// the caller still gets to see. None also if there is no room for the copy that an item needs
/// which had no expiry time. The store's handle is given back with the item.
pub fn touch<'a>(
    local: &'a mut Local,
    key: &[u8],
    hash: Hash,
    exptime: u32,
) -> Option<(&'a Local, Item<'a>)> {
    let expiry = local.store().to_expiry(exptime);
    expire(local, key, hash, expiry)
}

/// The same in Unix milliseconds, 0 for never, and for a key of any database.
pub fn expire<'a>(
    local: &'a mut Local,
    key: &[u8],
    hash: Hash,
    expiry: u64,
) -> Option<(&'a Local, Item<'a>)> {
    if expiry != 0 && expiry <= local.store().now_ms() {
        let local: &Local = local;
        let item = local.get(key, hash)?;
        let entry = local.lock_of(hash, key);
        if is(&entry, item.stamp()) {
            entry.remove();
        }
        return Some((local, item));
    }
    loop {
        let old = local.get(key, hash)?;
        let (stamp, len, flags) = (old.stamp(), old.value().len(), old.flags());
        let (cas, wide) = (old.cas(), old.wide());
        let entry = local.lock_of(hash, key);
        if !is(&entry, stamp) {
            continue;
        }
        if entry.expire(expiry) {
            break;
        }
        drop(entry);
        let fields = Fields { flags, expiry, wide };
        let mut copy = local.reserve_of(hash, key, len, fields).ok()?;
        let entry = local.lock_for(&copy);
        let Some(old) = entry.item().filter(|item| item.stamp() == stamp) else { continue };
        copy.value().copy_from_slice(old.value());
        copy.inherit(&old);
        // It takes the place of the one that is there, so there is a way for it.
        let _ = entry.link(copy, Some(cas));
        break;
    }
    Some((local, local.get(key, hash)?))
}

/// As [`touch`], as the commands of that name: a use of the item, and counted.
pub fn get_and_touch<'a>(
    local: &'a mut Local,
    counters: &mut Counters,
    key: &[u8],
    hash: Hash,
    exptime: u32,
) -> Option<Item<'a>> {
    counters.cmd_touch += 1;
    // The use comes first, for marks go over to the copy.
    if let Some(item) = local.get(key, hash) {
        local.hit(&item);
    }
    let item = touch(local, key, hash, exptime).map(|(_, item)| item);
    *(if item.is_some() { &mut counters.touch_hits } else { &mut counters.touch_misses }) += 1;
    item
}

/// Whether a key's item is still the one of `stamp`.
fn is(entry: &Entry<'_>, stamp: Stamp) -> bool {
    entry.item().is_some_and(|item| item.stamp() == stamp)
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Set,
    /// Only if there is none.
    Add,
    /// Only if there is one.
    Replace,
    /// Behind the value that is there.
    Append,
    /// Before it.
    Prepend,
    /// Only if the item's CAS unique is the given one.
    Cas,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Set => "set",
            Mode::Add => "add",
            Mode::Replace => "replace",
            Mode::Append => "append",
            Mode::Prepend => "prepend",
            Mode::Cas => "cas",
        }
    }
}

/// All that a store asks for, but key and value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Put {
    pub mode: Mode,
    pub flags: u32,
    pub exptime: u32,
    /// The CAS unique that must match; 0 matches none with [`Mode::Cas`] and all otherwise.
    pub unique: u64,
    /// The new CAS unique instead of the next one.
    pub explicit: Option<u64>,
    /// An older `unique` than the item's stores too, as a stale value.
    pub stale: bool,
    /// Append and prepend store the value alone where there is none.
    pub vivify: bool,
    /// The key is shown in base64.
    pub binary_key: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// With its CAS unique and the length of the value.
    Yes(u64, usize),
    Exists,
    NotFound,
    NotStored,
    NoMemory,
}

impl Put {
    /// Those of its item.
    pub fn fields(&self, local: &Local) -> Fields {
        self.fields_until(local.store().to_expiry(self.exptime))
    }

    fn fields_until(&self, expiry: u64) -> Fields {
        Fields { flags: self.flags, expiry, wide: self.explicit.is_some() }
    }
}

/// What a store may do, with the key locked.
enum Verdict {
    Store,
    /// As a stale value: expiry time and win mark of the item that is there go over.
    StoreStale(u64, bool),
    Refuse(Stored),
}

fn judge(what: &Put, old: Option<&Item<'_>>, counters: &mut Counters) -> Verdict {
    match (what.mode, old) {
        (Mode::Add, Some(_)) | (Mode::Replace, None) => Verdict::Refuse(Stored::NotStored),
        (Mode::Cas, None) => {
            counters.cas_misses += 1;
            Verdict::Refuse(Stored::NotFound)
        }
        (Mode::Cas, Some(old)) => match matches(old, what.unique) {
            Match::Same => {
                counters.cas_hits += 1;
                Verdict::Store
            }
            Match::Other(true) if what.stale => Verdict::StoreStale(old.expiry(), old.win_sent()),
            _ => {
                counters.cas_badval += 1;
                Verdict::Refuse(Stored::Exists)
            }
        },
        _ => Verdict::Store,
    }
}

/// Stores a value.
pub fn put(engine: &mut Engine, key: &[u8], hash: Hash, what: &Put, value: Value<'_>) -> Stored {
    if matches!(what.mode, Mode::Append | Mode::Prepend) {
        return extend(engine, key, hash, what, value);
    }
    let Engine { local, counters, .. } = engine;
    let len = value.len();
    let mut new = match value {
        Value::There(Whole::Item(new)) => new,
        value => match local.reserve_in(0, key, len, what.fields(local)) {
            Ok(mut new) => {
                value.copy_to(new.value());
                new
            }
            Err(Full) => return Stored::NoMemory,
        },
    };
    if what.binary_key {
        new.set_binary_key(true);
    }
    let wanted = local.store().to_expiry(what.exptime);
    let mut expiry = wanted;
    loop {
        let entry = local.lock_for(&new);
        if what.mode != Mode::Set {
            match judge(what, entry.item().as_ref(), counters) {
                Verdict::Store if expiry == wanted => {}
                Verdict::StoreStale(keep, win) if expiry == keep => {
                    new.set_stale(true);
                    new.set_win_sent(win);
                }
                Verdict::Refuse(why) => return why,
                verdict => {
                    // Made for another expiry time: once more, for the right one.
                    drop(entry);
                    expiry = match verdict {
                        Verdict::StoreStale(keep, _) => keep,
                        _ => wanted,
                    };
                    let Ok(mut other) = local.reserve_in(0, key, len, what.fields_until(expiry))
                    else {
                        return Stored::NoMemory;
                    };
                    other.value().copy_from_slice(new.value());
                    other.set_binary_key(what.binary_key);
                    new = other;
                    continue;
                }
            }
        }
        return match entry.link(new, what.explicit) {
            Ok(cas) => Stored::Yes(cas, len),
            Err(Full) => Stored::NoMemory,
        };
    }
}

/// How an item's CAS unique compares.
enum Match {
    /// None was asked for.
    None,
    Same,
    /// Another one; true: the item's is newer.
    Other(bool),
}

fn matches(item: &Item<'_>, unique: u64) -> Match {
    match item.cas() {
        _ if unique == 0 => Match::None,
        cas if cas == unique => Match::Same,
        cas => Match::Other(unique < cas),
    }
}

/// Append and prepend: a new item of both values.
fn extend(engine: &mut Engine, key: &[u8], hash: Hash, what: &Put, value: Value<'_>) -> Stored {
    loop {
        let Some(old) = engine.local.get(key, hash) else {
            if !what.vivify {
                return Stored::NotStored;
            }
            return put(engine, key, hash, &Put { mode: Mode::Add, unique: 0, ..*what }, value);
        };
        if let Match::Other(_) = matches(&old, what.unique) {
            return Stored::Exists;
        }
        let (stamp, flags, expiry) = (old.stamp(), old.flags(), old.expiry());
        let len = old.value().len() + value.len();
        if too_large(&engine.settings, key.len(), len as u64, flags) {
            return Stored::NotStored;
        }
        let (local, wide) = (&mut engine.local, what.explicit.is_some());
        let Ok(mut both) = local.reserve_in(0, key, len, Fields { flags, expiry, wide }) else {
            return Stored::NoMemory;
        };
        let entry = local.lock_for(&both);
        let same = |item: &Item<'_>| item.stamp() == stamp && item.expiry() == expiry;
        let Some(old) = entry.item().filter(same) else { continue };
        let left = if what.mode == Mode::Append { old.value().len() } else { value.len() };
        let (left, right) = both.value().split_at_mut(left);
        let (first, second) = if what.mode == Mode::Append { (left, right) } else { (right, left) };
        first.copy_from_slice(old.value());
        value.copy_to(second);
        return match entry.link(both, what.explicit) {
            Ok(cas) => Stored::Yes(cas, len),
            Err(Full) => Stored::NoMemory,
        };
    }
}

/// What arithmetic comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// The new value, its CAS unique, and the expiry time that it had before.
    Is(u64, u64, u32),
    NotFound,
    Exists,
    NotNumber,
    NoMemory,
}

/// Arithmetic's arguments, but the key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delta {
    pub decrement: bool,
    pub by: u64,
    /// The CAS unique that must match, 0 for any.
    pub unique: u64,
    /// The new CAS unique instead of the next one.
    pub explicit: Option<u64>,
    /// The new expiry time.
    pub exptime: Option<u32>,
}

/// Adds to a number, modulo 2^64, or subtracts, down to 0. A number that gets shorter is padded
/// with blanks on the right.
pub fn delta(engine: &mut Engine, key: &[u8], hash: Hash, what: &Delta) -> Sum {
    let Engine { local, counters, settings, .. } = engine;
    loop {
        let Some(old) = local.get(key, hash) else { return Sum::NotFound };
        let text = old.value();
        // memcached looks for no number in several chunks.
        let size = size(settings, key.len(), text.len() as u64, old.flags());
        if text.is_empty() || size > CHUNK_MAX {
            return Sum::NotNumber;
        }
        if let Match::Other(_) = matches(&old, what.unique) {
            return Sum::Exists;
        }
        let Some(value) = number::unsigned64(text) else { return Sum::NotNumber };
        let value = match what.decrement {
            true => value.saturating_sub(what.by),
            false => value.wrapping_add(what.by),
        };
        let mut buffer = [0; number::DIGITS];
        let digits = number::digits(value, &mut buffer);
        // memcached changes a number in its place if it does not get longer.
        let in_place = digits.len() <= text.len();
        let len = digits.len().max(text.len());
        let (stamp, flags, before) = (old.stamp(), old.flags(), old.expiry());
        let seconds = old.exptime();
        let expiry = what.exptime.map_or(before, |exptime| local.store().to_expiry(exptime));
        let fields = Fields { flags, expiry, wide: what.explicit.is_some() };
        let Ok(mut new) = local.reserve_in(0, key, len, fields) else {
            return Sum::NoMemory;
        };
        new.value()[..digits.len()].copy_from_slice(digits);
        new.value()[digits.len()..].fill(b' ');
        let entry = local.lock_for(&new);
        let same = |item: &Item<'_>| item.stamp() == stamp && item.expiry() == before;
        let Some(old) = entry.item().filter(same) else { continue };
        if in_place {
            new.inherit(&old);
        }
        *(if what.decrement { &mut counters.decr_hits } else { &mut counters.incr_hits }) += 1;
        return match entry.link(new, what.explicit) {
            Ok(cas) => Sum::Is(value, cas, seconds),
            Err(Full) => Sum::NoMemory,
        };
    }
}

/// Counts arithmetic on a key that is not there.
pub fn count_miss(engine: &mut Engine, decrement: bool) {
    let counters = &mut engine.counters;
    *(if decrement { &mut counters.decr_misses } else { &mut counters.incr_misses }) += 1;
}

/// What became of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    Yes,
    NotFound,
    Exists,
    NoMemory,
}

/// Removes an item, if its CAS unique is the given one.
pub fn delete(engine: &mut Engine, key: &[u8], unique: Option<u64>) -> Deleted {
    let entry = engine.local.lock(key);
    let Some(item) = entry.item() else {
        engine.counters.delete_misses += 1;
        return Deleted::NotFound;
    };
    if unique.is_some_and(|unique| unique != item.cas()) {
        return Deleted::Exists;
    }
    entry.remove();
    engine.counters.delete_hits += 1;
    Deleted::Yes
}

/// What is left of an item that is not removed as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rest {
    /// The item loses its value, and all else is new too: with these client flags.
    pub empty: Option<u32>,
    /// It is stale from now on: the next reader may win the right to fill it anew.
    pub stale: bool,
    pub exptime: Option<u32>,
    /// The new CAS unique instead of the next one.
    pub explicit: Option<u64>,
}

/// Empties an item or marks it stale, if its CAS unique is the given one.
pub fn invalidate(
    engine: &mut Engine,
    key: &[u8],
    hash: Hash,
    unique: Option<u64>,
    rest: &Rest,
) -> Deleted {
    let Engine { local, counters, .. } = engine;
    loop {
        let Some(old) = local.get(key, hash) else {
            counters.delete_misses += 1;
            return Deleted::NotFound;
        };
        if unique.is_some_and(|unique| unique != old.cas()) {
            counters.delete_misses += 1;
            return Deleted::Exists;
        }
        let stamp = old.stamp();
        // An item that is only emptied keeps its unique.
        let cas = rest.explicit.or_else(|| (!rest.stale).then(|| old.cas()));
        let wide = rest.explicit.is_some() || (!rest.stale && old.wide());
        let (len, flags, expiry) = match rest.empty {
            Some(flags) => (0, flags, 0),
            None => (old.value().len(), old.flags(), old.expiry()),
        };
        let expiry = rest.exptime.map_or(expiry, |exptime| local.store().to_expiry(exptime));
        let Ok(mut new) = local.reserve_in(0, key, len, Fields { flags, expiry, wide }) else {
            return Deleted::NoMemory;
        };
        let entry = local.lock_for(&new);
        let Some(old) = entry.item().filter(|item| item.stamp() == stamp) else { continue };
        if rest.empty.is_none() {
            new.value().copy_from_slice(old.value());
            new.inherit(&old);
        }
        if rest.stale {
            new.set_stale(true);
            new.set_win_sent(false);
        } else {
            counters.delete_hits += 1;
        }
        return match entry.link(new, cas) {
            Ok(_) => Deleted::Yes,
            Err(Full) => Deleted::NoMemory,
        };
    }
}

/// After a value that could not be taken: what the key held before must not stay.
pub fn forget(engine: &mut Engine, key: &[u8]) {
    watch::look(engine, key, engine.local.hash(key));
    let entry = engine.local.lock(key);
    if entry.item().is_some() {
        entry.remove();
    }
}

/// Empties the cache, at once or at a time.
pub fn flush(engine: &mut Engine, at: Option<u32>) {
    engine.counters.cmd_flush += 1;
    match at {
        None => engine.local.store().flush(),
        Some(at) => engine.local.store().flush_at(at),
    }
}
