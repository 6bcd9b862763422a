//! Items as Redis' commands read and change them.

use super::{Error, LONG_VALUE, NO_MEMORY};
use crate::ops;
use crate::store::{Full, Hash, Item};
use crate::{Engine, Settings};

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    Remove,
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

/// The store's clock, in Unix milliseconds.
pub fn now_ms(engine: &Engine) -> u64 {
    (1000 * (engine.settings.epoch + i64::from(engine.local.store().now()))).max(0) as u64
}

/// The store counts seconds: an item stays until the one is over in which it expires.
#[inline]
fn exptime_of(expiry: u64, settings: &Settings) -> u32 {
    match expiry {
        0 => 0,
        expiry => (expiry.div_ceil(1000) as i64 - settings.epoch).clamp(1, u32::MAX.into()) as u32,
    }
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
    let Engine { local, settings, .. } = engine;
    loop {
        let old = local.get(key, hash);
        let version = old.map(|item| (item.stamp(), item.exptime()));
        let change = plan(old.as_ref())?;
        let is_same = |now: Option<Item<'_>>| now.map(|i| (i.stamp(), i.exptime())) == version;
        match change {
            Change::None => return Ok(()),
            Change::Remove => {
                let entry = local.lock(key);
                if is_same(entry.item()) {
                    entry.remove();
                    return Ok(());
                }
            }
            Change::New { len, .. } | Change::Value { len } => {
                let there = old.map_or((0, 0), |item| (item.flags(), item.exptime()));
                let (flags, exptime) = match change {
                    Change::New { expiry: Expiry::At(at), .. } => (0, exptime_of(at, settings)),
                    Change::New { .. } => (0, there.1),
                    _ => there,
                };
                if ops::too_large(settings, key.len(), len as u64, flags) {
                    return Err(LONG_VALUE);
                }
                let mut new = local.reserve(key, len, flags, exptime).map_err(|Full| NO_MEMORY)?;
                let entry = local.lock_for(&new);
                if is_same(entry.item()) {
                    fill(entry.item().as_ref(), new.value());
                    return entry.link(new, None).map(|_| ()).map_err(|Full| NO_MEMORY);
                }
            }
        }
    }
}

/// Gives a key a value, whatever it had; no client flags.
#[inline]
pub fn set(engine: &mut Engine, key: &[u8], value: &[u8], expiry: u64) -> Result<(), Error> {
    let Engine { local, settings, .. } = engine;
    if ops::too_large(settings, key.len(), value.len() as u64, 0) {
        return Err(LONG_VALUE);
    }
    let exptime = exptime_of(expiry, settings);
    let mut new = local.reserve(key, value.len(), 0, exptime).map_err(|Full| NO_MEMORY)?;
    new.value().copy_from_slice(value);
    local.lock_for(&new).link(new, None).map(|_| ()).map_err(|Full| NO_MEMORY)
}

/// Removes a key; whether it was there.
pub fn remove(engine: &mut Engine, key: &[u8]) -> bool {
    let entry = engine.local.lock(key);
    let was = entry.item().is_some();
    if was {
        entry.remove();
    }
    was
}
