//! Several keys as one step.
//!
//! [`Local::lock_all`] takes the locks of all their buckets in order, as the two of one key are
//! taken, so nobody waits in a circle. Readers take none: before the first change each key's tag is
//! marked busy, in the lower half of its number of moves, and whoever looks up a key of such a tag
//! takes the lock of its buckets first. So one who has seen a changed key finds the mark of another,
//! or its change.
//!
//! While keys are locked nothing is evicted from the log, as that locks buckets, and the pool is not
//! waited for, as whoever has it may wait for one of these. Room comes from what was set aside
//! before ([`Local::set_aside`]).

use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Release};

use crate::chunk::Log;
use crate::config::Full;
use crate::hash::Hash;
use crate::local::{Local, Open};
use crate::reserve::Reservation;

/// What a thread has locked and set aside.
#[derive(Default)]
pub(crate) struct Together {
    /// Keys are locked.
    pub on: bool,
    /// Locks, in order.
    pub stripes: Vec<u32>,
    /// Of the keys.
    tags: Vec<u64>,
    /// These are marked.
    busy: Cell<bool>,
    /// Open runs for items of up to half of a chunk, and for one larger item each.
    small: Vec<Open>,
    large: Vec<Open>,
}

impl Local {
    /// Locks these keys, in whatever order they come. Until [`Local::unlock_all`] all that is done to
    /// them through this handle is one step for all other threads. Other keys must not be locked
    /// meanwhile, and room is taken only from what was set aside.
    pub fn lock_all(&mut self, hashes: &[Hash]) {
        assert!(!self.together.on, "keys are locked already");
        self.come_back();
        let index = &self.store.index;
        let Together { on, stripes, tags, busy, .. } = &mut self.together;
        stripes.clear();
        tags.clear();
        for &hash in hashes {
            stripes.extend(index.stripes(index.pair(hash)).map(|stripe| stripe as u32));
            tags.push(hash.tag());
        }
        stripes.sort_unstable();
        stripes.dedup();
        for &stripe in stripes.iter() {
            index.acquire(stripe as usize);
        }
        busy.set(false);
        *on = true;
    }

    /// Lets others see what was done. Room that was set aside and not taken is given back.
    pub fn unlock_all(&mut self) {
        assert!(self.together.on, "no keys are locked");
        let index = &self.store.index;
        if self.together.busy.replace(false) {
            for &tag in &self.together.tags {
                index.moves(tag).fetch_sub(1, Release);
            }
        }
        for &stripe in &self.together.stripes {
            index.release(stripe as usize);
        }
        self.together.on = false;
        self.put_back();
    }

    /// Before a change: if several keys are locked, others must see none of them before all.
    #[inline]
    pub(crate) fn announce(&self) {
        if self.together.on && !self.together.busy.get() {
            self.mark_busy();
        }
    }

    #[cold]
    fn mark_busy(&self) {
        for &tag in &self.together.tags {
            self.store.index.moves(tag).fetch_add(1, AcqRel);
        }
        self.together.busy.set(true);
    }

    /// Sees to it that items of these sizes (see [`crate::Store::footprint`]) can be reserved while
    /// keys are locked. It may wait, and evict.
    pub fn set_aside(&mut self, sizes: &[usize]) -> Result<(), Full> {
        assert!(!self.together.on, "keys are locked already");
        let chunk = self.store.chunks.size();
        // Large ones first: chunks in a row may be had by closing what is open.
        for &size in sizes.iter().filter(|&&size| size > chunk / 2) {
            let run = self.aside(size)?;
            self.together.large.push(run);
        }
        let small = sizes.iter().filter(|&&size| size <= chunk / 2);
        let small: usize = small.map(|size| size.next_multiple_of(8)).sum();
        if self.open.iter().any(|open| self.room_of(open.get()) >= small) {
            return Ok(());
        }
        // Whatever comes in which order: each is filled to a half at least.
        for _ in 0..small.div_ceil(chunk / 2) {
            let run = self.aside(chunk)?;
            self.together.small.push(run);
        }
        Ok(())
    }

    /// An open run for so many bytes.
    fn aside(&mut self, size: usize) -> Result<Open, Full> {
        let chunk = self.store.chunks.size();
        let run = size.div_ceil(chunk);
        let head = match run {
            1 => self.take_chunk(Log::Small),
            _ => self.take_run(Log::Small, run),
        };
        match head {
            Ok(head) => Ok(Open::new(head, run * chunk)),
            Err(Full) => {
                self.counters().full.add(1);
                self.put_back();
                Err(Full)
            }
        }
    }

    fn room_of(&self, open: Open) -> usize {
        let used = |head| self.store.chunks.get(head).used();
        open.head().map_or(0, |head| open.capacity.saturating_sub(used(head)))
    }

    /// Room for an item while keys are locked, with a reservation begun.
    #[cold]
    pub(crate) fn bump_aside(&mut self, log: Log, size: usize) -> Result<(usize, usize), Full> {
        let own = [log, log.other()].map(|log| self.open[log as usize].get());
        let small = size <= self.store.chunks.size() / 2;
        let mut runs = own.iter().chain(&self.together.small).filter(|_| small);
        if let Some(place) = runs.find_map(|&open| self.bump_in(open, size)) {
            return Ok(place);
        }
        let fits = |&i: &usize| self.together.large[i].capacity >= size;
        let large = (0..self.together.large.len()).filter(fits);
        let best = large.min_by_key(|&i| self.together.large[i].capacity);
        let run = self.together.large.swap_remove(best.ok_or(Full)?);
        // What it leaves is for small ones.
        self.together.small.push(run);
        self.bump_in(run, size).ok_or(Full)
    }

    /// What was set aside is closed, or given back if nothing is in it. The run with the most room
    /// stays open, so that the next steps take theirs from it.
    fn put_back(&mut self) {
        let small = std::mem::take(&mut self.together.small);
        let large = std::mem::take(&mut self.together.large);
        if small.is_empty() && large.is_empty() {
            return;
        }
        let store = &*self.store;
        let mut pool = store.pool();
        for run in small.into_iter().chain(large) {
            let Some(head) = run.head() else { continue };
            if self.room_of(run) > self.room_of(self.open[Log::Small as usize].get()) {
                self.replace_open(Log::Small, run, &mut pool);
            } else if store.chunks.get(head).used() == 0 {
                pool.retire(&store.chunks, &store.epoch, head);
            } else {
                pool.close(&store.chunks, head);
            }
        }
        store.publish(&pool);
    }

    /// Makes each reservation its key's item, with new CAS uniques, all or none. `Full`: the index has
    /// no ways left, only in a store that does not evict. Of several of one key the last one stays.
    /// Their keys are locked.
    pub fn link_all(&self, reservations: Vec<Reservation>) -> Result<(), Full> {
        assert!(self.together.on, "no keys are locked");
        // Only a new key may find no way.
        let is_new = |reservation: &Reservation| self.lock_for(reservation).item().is_none();
        let (new, old): (Vec<_>, Vec<_>) = reservations.into_iter().partition(is_new);
        let mut linked = Vec::with_capacity(new.len());
        for reservation in new {
            let (hash, key) = (reservation.hash(), reservation.key().to_vec());
            if let Err(full) = self.lock_for(&reservation).link(reservation, None) {
                for (hash, key) in &linked {
                    let key: &Vec<u8> = key;
                    self.lock_of(*hash, key).remove();
                }
                return Err(full);
            }
            linked.push((hash, key));
        }
        for reservation in old {
            self.lock_for(&reservation).link(reservation, None).expect("it has a way");
        }
        Ok(())
    }
}
