//! Commands that set several keys in one step.

use super::call::Call;
use super::execute::wrong_number;
use super::items;
use super::rows;
use super::table::Command;
use super::{Error, NO_MEMORY};
use crate::Engine;

pub const COMMANDS: &[Command] =
    &[Command::new(rows::MSET, mset), Command::new(rows::MSETNX, msetnx)];

/// `MSET key value [key value ...]`
fn mset(call: &mut Call<'_>) -> Result<(), Error> {
    if call.args.len().is_multiple_of(2) {
        call.reply.error(wrong_number(call.command.name));
        return Ok(());
    }
    store(call, false)?;
    call.reply.ok();
    Ok(())
}

/// `MSETNX key value [key value ...]`
fn msetnx(call: &mut Call<'_>) -> Result<(), Error> {
    if call.args.len().is_multiple_of(2) {
        call.reply.error(wrong_number(call.command.name));
        return Ok(());
    }
    let stored = store(call, true)?;
    call.reply.integer(stored.into());
    Ok(())
}

/// Stores all, or none if `only_new` and there is one of the keys. Whether it did.
fn store(call: &mut Call<'_>, only_new: bool) -> Result<bool, Error> {
    let stored = store_batch(call, only_new);
    call.engine.batch.clear();
    stored
}

fn store_batch(call: &mut Call<'_>, only_new: bool) -> Result<bool, Error> {
    let db = call.client.db;
    let (args, engine) = (call.args, &mut *call.engine);
    let Engine { base, batch, .. } = engine;
    let local = &mut base.local;
    for key in args.from(1).step_by(2) {
        let hash = local.hash_in(db, key);
        local.prefetch_buckets(hash);
        batch.hashes.push(hash);
    }
    batch.hashes.iter().for_each(|hash| local.prefetch_item(*hash));
    let is_free = |engine: &Engine| {
        let mut keys = args.from(1).step_by(2).zip(&engine.batch.hashes);
        keys.all(|(key, hash)| items::find(&engine.local, key, *hash).is_none())
    };
    // What is not stored needs no room.
    if only_new && !is_free(engine) {
        return Ok(false);
    }
    let mut pairs = args.from(1);
    while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
        let new = items::prepare(engine, db, key, value, 0)?;
        engine.batch.new.push(new);
    }
    let was_together = engine.together;
    if !was_together {
        let Engine { base, batch, .. } = engine;
        let local = &mut base.local;
        local.lock_all(&batch.hashes);
    }
    let mut stored = Ok(!only_new || is_free(engine));
    let Engine { base, batch, .. } = engine;
    let (local, evict) = (&mut base.local, base.settings.evict);
    if stored == Ok(true) {
        if evict {
            for new in batch.new.drain(..) {
                // It makes room in the index where there is none.
                let _ = local.lock_for(&new).link(new, None);
            }
        } else if local.link_all(std::mem::take(&mut batch.new)).is_err() {
            stored = Err(NO_MEMORY);
        }
    }
    if !was_together {
        local.unlock_all();
    }
    stored
}
