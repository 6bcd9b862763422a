//! Items as Redis' commands read and change them.

use wirekv_proto::limits::{self, KEY_MAX};
use wirekv_store::{Fields, Full, Hash, Item, Local, Lookup, Reservation, Stamp, Store};

use super::{Error, LONG_VALUE, NO_MEMORY};
use crate::Engine;

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    Remove,
    /// The item expires then, in Unix milliseconds, 0 never; value and CAS unique stay.
    Expire(u64),
    /// A new item with a value of so many bytes, which are filled in next, and no client flags.
    New {
        len: usize,
        expiry: Expiry,
    },
    /// A new value of so many bytes, filled in next; client flags and expiry stay.
    Value {
        len: usize,
    },
}

/// When an item expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Never, or when the one expires that is there.
    Keep,
    /// Unix time in milliseconds, 0 never.
    At(u64),
}

/// Changes a key in one step: `plan` says how, given the item that is there, `fill` makes the value,
/// given the same item. Where other threads are faster, `plan` is called once more.
pub fn update(
    engine: &mut Engine,
    key: &[u8],
    hash: Hash,
    mut plan: impl FnMut(Option<&Item<'_>>) -> Result<Change, Error>,
    mut fill: impl FnMut(Option<&Item<'_>>, &mut [u8]),
) -> Result<(), Error> {
    let wirekv_proto::Engine { local, settings, .. } = &mut engine.base;
    loop {
        let old = find(local, key, hash);
        let version = version(old);
        let change = plan(old.as_ref())?;
        let (len, flags, expiry) = match change {
            Change::None => return Ok(()),
            Change::Remove => {
                let entry = local.lock_of(hash, key);
                if self::version(entry.item()) == version {
                    entry.remove();
                    return Ok(());
                }
                continue;
            }
            Change::Expire(expiry) => match expire(local, key, hash, version, expiry)? {
                true => return Ok(()),
                false => continue,
            },
            Change::New { len, expiry: Expiry::At(expiry) } => (len, 0, expiry),
            Change::New { len, .. } => (len, 0, old.map_or(0, |item| item.expiry())),
            Change::Value { len } => match old {
                Some(item) => (len, item.flags(), item.expiry()),
                None => (len, 0, 0),
            },
        };
        if limits::too_large(settings, key.len(), len as u64, flags) {
            return Err(LONG_VALUE);
        }
        let fields = Fields { flags, expiry, wide: false };
        let mut new = local.reserve_of(hash, key, len, fields).map_err(|Full| NO_MEMORY)?;
        let entry = local.lock_for(&new);
        if self::version(entry.item()) == version {
            fill(entry.item().as_ref(), new.value());
            return entry.link(new, None).map(|_| ()).map_err(|Full| NO_MEMORY);
        }
    }
}

/// What tells an item as it is from what was or will be there.
fn version(item: Option<Item<'_>>) -> Option<(Stamp, u64)> {
    item.map(|item| (item.stamp(), item.expiry()))
}

/// Gives an item another expiry, if it is still the one of `version`.
fn expire(
    local: &mut Local,
    key: &[u8],
    hash: Hash,
    version: Option<(Stamp, u64)>,
    expiry: u64,
) -> Result<bool, Error> {
    let entry = local.lock_of(hash, key);
    let Some(item) = entry.item().filter(|item| self::version(Some(*item)) == version) else {
        return Ok(false);
    };
    if expiry != 0 && expiry <= local.store().now_ms() {
        entry.remove();
        return Ok(true);
    }
    let (len, flags, cas, wide) = (item.value().len(), item.flags(), item.cas(), item.wide());
    if entry.expire(expiry) {
        return Ok(true);
    }
    drop(entry);
    // An item that had no expiry has no field for one.
    let fields = Fields { flags, expiry, wide };
    let mut copy = local.reserve_of(hash, key, len, fields).map_err(|Full| NO_MEMORY)?;
    let entry = local.lock_for(&copy);
    let Some(item) = entry.item().filter(|item| self::version(Some(*item)) == version) else {
        return Ok(false);
    };
    copy.value().copy_from_slice(item.value());
    copy.inherit(&item);
    // It takes the place of the one that is there, so there is a way for it.
    let _ = entry.link(copy, Some(cas));
    Ok(true)
}

/// Gives a key a value, whatever it had; no client flags. `expiry` in Unix milliseconds, 0 never.
#[inline]
pub fn set(
    engine: &mut Engine,
    db: u8,
    key: &[u8],
    value: &[u8],
    expiry: u64,
) -> Result<(), Error> {
    let new = prepare(engine, db, key, value, expiry)?;
    let local = &engine.local;
    local.lock_for(&new).link(new, None).map(|_| ()).map_err(|Full| NO_MEMORY)
}

/// An item that nobody sees yet.
#[inline]
pub fn prepare(
    engine: &mut Engine,
    db: u8,
    key: &[u8],
    value: &[u8],
    expiry: u64,
) -> Result<Reservation, Error> {
    let wirekv_proto::Engine { local, settings, .. } = &mut engine.base;
    if limits::too_large(settings, key.len(), value.len() as u64, 0) {
        return Err(LONG_VALUE);
    }
    let fields = Fields { expiry, ..Fields::default() };
    let mut new = local.reserve_in(db, key, value.len(), fields).map_err(|Full| NO_MEMORY)?;
    new.value().copy_from_slice(value);
    Ok(new)
}

/// Removes a key; whether it was there.
pub fn remove(engine: &mut Engine, db: u8, key: &[u8]) -> bool {
    let entry = engine.local.lock_in(db, key);
    let was = entry.item().is_some();
    if was {
        entry.remove();
    }
    was
}

/// Does `body` as one step for all other threads. It reads and changes no keys but those of
/// `hashes`. `sizes` says what room it takes at most, given what is in the store; `Err`: there is
/// not so much.
pub fn together<T>(
    engine: &mut Engine,
    hashes: &[Hash],
    sizes: impl Fn(&Engine) -> Vec<usize>,
    body: impl FnOnce(&mut Engine) -> T,
) -> Result<T, Error> {
    if engine.together {
        // Within a transaction all its keys are locked, and the room is there.
        return Ok(body(engine));
    }
    // Others may change what is there until the keys are locked: the more often they do, the more
    // is set aside.
    for spare in 0.. {
        let mut aside = sizes(engine);
        // What others have stored does not go for what then may not fit.
        if aside.iter().sum::<usize>() > engine.local.store().memory() / 2 {
            return Err(NO_MEMORY);
        }
        let most = engine.settings.item_max + KEY_MAX;
        aside.iter_mut().for_each(|size| *size = (*size << spare.min(30)).min(most.max(*size)));
        engine.local.set_aside(&aside).map_err(|Full| NO_MEMORY)?;
        engine.local.lock_all(hashes);
        let needed = sizes(engine);
        if needed.len() <= aside.len() && needed.iter().zip(&aside).all(|(need, is)| need <= is) {
            break;
        }
        engine.local.unlock_all();
    }
    engine.together = true;
    let done = body(engine);
    engine.together = false;
    engine.local.unlock_all();
    Ok(done)
}

/// The live item. One that has expired is gone from the store, as in Redis, once it was looked for.
#[inline]
pub fn find<'a>(local: &'a Local, key: &[u8], hash: Hash) -> Option<Item<'a>> {
    match local.look_up(key, hash) {
        Lookup::Live(item) => Some(item),
        Lookup::Expired => {
            // Whoever locks a key drops what is dead.
            drop(local.lock_of(hash, key));
            None
        }
        Lookup::Flushed | Lookup::Absent => None,
    }
}

/// The same, as one that is used, and as found or not in the counters.
#[inline]
pub fn get<'a>(engine: &'a mut Engine, key: &[u8], hash: Hash) -> Option<Item<'a>> {
    let wirekv_proto::Engine { local, counters, .. } = &mut engine.base;
    counters.cmd_get += 1;
    let item = find(local, key, hash);
    match &item {
        Some(item) => {
            counters.get_hits += 1;
            local.hit(item);
        }
        None => counters.get_misses += 1,
    }
    item
}

/// Room that an item of a key takes at most.
pub fn footprint(key: &[u8], len: usize) -> usize {
    Store::footprint(key.len(), len, 1, 1u64)
}

/// Gives the item of one key to another, with its client flags and its expiry. It is there, and both
/// keys are locked.
pub fn copy(engine: &mut Engine, from: (u8, &[u8]), to: (u8, &[u8])) -> Result<(), Error> {
    let wirekv_proto::Engine { local, settings, .. } = &mut engine.base;
    let hash = local.hash_in(from.0, from.1);
    let Some(item) = local.get(from.1, hash) else { return Ok(()) };
    let (len, flags, expiry) = (item.value().len(), item.flags(), item.expiry());
    if limits::too_large(settings, to.1.len(), len as u64, flags) {
        return Err(LONG_VALUE);
    }
    let fields = Fields { flags, expiry, wide: false };
    let mut new = local.reserve_in(to.0, to.1, len, fields).map_err(|Full| NO_MEMORY)?;
    // It may have expired just now.
    let Some(item) = local.get(from.1, hash) else { return Ok(()) };
    new.value().copy_from_slice(item.value());
    local.lock_for(&new).link(new, None).map(|_| ()).map_err(|Full| NO_MEMORY)
}
