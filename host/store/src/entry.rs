//! A key whose buckets are locked.

use std::sync::atomic::Ordering::{Relaxed, Release};

use crate::chunk::Log;
use crate::config::Full;
use crate::hash::Hash;
use crate::index::{Locked, Pair, Way, WAYS};
use crate::item::{attr, Raw, CAS_MASK};
use crate::local::{Found, Item, Local};
use crate::reserve::Reservation;
use crate::together::Together;

/// A key whose buckets are locked. What is done through it is one step for all other threads.
pub struct Entry<'a> {
    local: &'a Local,
    locked: Locked<'a>,
    pair: Pair,
    hash: Hash,
    found: Option<(Found, Raw)>,
}

impl<'a> Entry<'a> {
    #[inline]
    pub(crate) fn new(local: &'a Local, key: &[u8], hash: Hash) -> Self {
        local.come_back();
        let pair = local.store.index.pair(hash);
        let locked = match &local.together {
            Together { on: true, stripes, .. } => local.store.index.locked(pair, stripes),
            _ => local.store.index.lock(pair),
        };
        let mut found = local.find(pair, hash, key);
        if let Some((way, item)) = found {
            if local.death(item).is_some() {
                local.drop_dead(way, item);
                found = None;
            }
        }
        Self { local, locked, pair, hash, found }
    }

    /// The live item.
    #[inline]
    pub fn item(&self) -> Option<Item<'_>> {
        self.found.map(|(found, raw)| Item { local: self.local, raw, found })
    }

    /// Makes the reservation the key's item. `cas`: the unique to give it (it is cut to 48 bits
    /// unless reserved wide); `None`: a new one. Returns it. `Full`: the index has no way left
    /// (only in a store that does not evict); the key keeps what it had. Panics if it is not of this
    /// store and key.
    #[inline]
    pub fn link(self, reservation: Reservation, cas: Option<u64>) -> Result<u64, Full> {
        self.link_as(reservation, cas, true)
    }

    /// The same of an item that was kept elsewhere meanwhile: for those who watch the key nothing has changed.
    pub fn bring_back(self, reservation: Reservation) -> Result<(), Full> {
        self.link_as(reservation, None, false).map(drop)
    }

    #[inline]
    fn link_as(
        self,
        reservation: Reservation,
        cas: Option<u64>,
        changes: bool,
    ) -> Result<u64, Full> {
        let Self { local, locked, pair, hash, found } = self;
        assert!(reservation.is_of(&local.store), "a reservation of another store");
        assert!(reservation.hash() == hash, "a reservation of another key");
        debug_assert!(found.is_none_or(|(_, item)| item.key() == reservation.key()));
        local.announce();
        // A store without CAS uniques still gives each item its place in the order of stores.
        let shown = local.store.with_cas || reservation.raw.has(attr::WIDE);
        let cas = cas.filter(|_| shown).unwrap_or_else(|| local.store.next_cas());
        if !reservation.raw.set_cas(cas) {
            reservation.raw.set_cas(cas & CAS_MASK);
        }
        if reservation.raw.has(attr::WIDE) {
            reservation.raw.set_order(local.store.next_cas());
        }
        let counters = local.counters();
        // One that has a time inherited it: it is the item that was there, with a change.
        if reservation.raw.time() == 0 {
            reservation.raw.time_field().store(local.store.now(), Relaxed);
            counters.total_items.add(1);
        }
        let count = found.map_or(0, |(found, _)| found.way.count());
        let way = Way::new(hash.tag(), reservation.offset, reservation.size, count);
        let (bucket, i) = match found {
            Some((found, _)) => (found.bucket, found.i),
            None => {
                local.lay_ghost(pair, hash);
                local.free_way(pair, &locked)?
            }
        };
        local.store.index.bucket(bucket).set(i, way);
        if changes {
            local.store.changed(hash, reservation.key());
        }
        let mut bytes = reservation.size as u64;
        match found {
            Some((found, item)) => bytes = bytes.wrapping_sub(local.give_up(found.way, item)),
            None => counters.items.add(1),
        }
        counters.bytes.add(bytes);
        local.count_key(bucket, reservation.raw, found.map(|(_, item)| item));
        drop(locked);
        reservation.linked();
        Ok(if shown { cas } else { 0 })
    }

    /// Drops the item, if there is one.
    pub fn remove(self) -> bool {
        if let Some((found, item)) = self.found {
            self.local.announce();
            self.local.unlink(found, item);
        }
        self.found.is_some()
    }

    /// Sets the second, on the store's clock, from which on the item is no longer there; 0: never.
    /// `false`: the item has no field for it; it must be copied.
    pub fn touch(&self, exptime: u32) -> bool {
        self.expire(self.local.store.to_expiry(exptime))
    }

    /// The same in Unix milliseconds.
    pub fn expire(&self, expiry: u64) -> bool {
        let Some((_, item)) = self.found else { return false };
        match item.expiry_field() {
            Some(field) => {
                self.local.announce();
                let was = item.expiry();
                field.store(expiry, Release);
                self.local.count_expiring(item, was != 0, expiry != 0);
            }
            None if expiry != 0 => return false,
            None => {}
        }
        self.local.store.changed(self.hash, item.key());
        true
    }

    pub fn set_stale(&self, on: bool) {
        self.assign(attr::STALE, on);
    }

    pub fn set_win_sent(&self, on: bool) {
        self.assign(attr::WIN, on);
    }

    fn assign(&self, attr: u64, on: bool) {
        if let Some((_, item)) = self.found {
            item.assign(attr, on);
        }
    }

    /// As `Local::hit`, for the locked item.
    pub fn hit(&self) {
        if let Some(item) = self.item() {
            self.local.hit(&item);
        }
    }
}

impl Local {
    /// Locks the buckets of a key of memcached's database. A dead item (expired, flushed) is dropped on the way. Until the
    /// entry is gone, other threads that lock these buckets wait, and this thread must not lock
    /// another key.
    #[inline]
    pub fn lock(&self, key: &[u8]) -> Entry<'_> {
        self.lock_in(0, key)
    }

    /// The same for a key of any database.
    #[inline]
    pub fn lock_in(&self, db: u8, key: &[u8]) -> Entry<'_> {
        Entry::new(self, key, self.hash_in(db, key))
    }

    /// The same for the database of a hash of the key; made in the same turn.
    #[inline]
    pub fn lock_of(&self, hash: Hash, key: &[u8]) -> Entry<'_> {
        Entry::new(self, key, self.store.seed.hash(key).in_place(hash.place()))
    }

    /// The same for the key of a reservation, to link it.
    #[inline]
    pub fn lock_for(&self, reservation: &Reservation) -> Entry<'_> {
        Entry::new(self, reservation.key(), reservation.hash())
    }
}

/// Changes to the index. The caller holds the locks of the buckets concerned.
impl Local {
    /// No way leads to the item any more, and it is now skipped when its chunk is emptied. Returns its
    /// bytes.
    #[inline]
    fn give_up(&self, way: Way, item: Raw) -> u64 {
        let size = item.size();
        item.set_dead();
        let chunks = &self.store.chunks;
        chunks.get(chunks.managing(way.offset())).add_dead(size);
        size as u64
    }

    /// Counts the item's key, and notes its bucket for walks, if it is not that of `old`, of which that was done. What
    /// was stored before a flush no longer counts.
    #[inline]
    fn count_key(&self, bucket: usize, item: Raw, old: Option<Raw>) {
        let flush = &self.store.flush;
        if let Some(since) = flush.since(item) {
            let old = old.filter(|old| flush.since(*old).is_some());
            if old.is_none() {
                self.store.index.enter(bucket, 1 << item.place());
                self.counters().keys[usize::from(item.place())].add(since, 1);
            }
            let expired = old.is_some_and(|old| old.expiry() != 0);
            self.count_expiring(item, expired, item.expiry() != 0);
        }
    }

    /// A key that is counted expired some time, or not, and does so now, or not.
    #[inline]
    fn count_expiring(&self, item: Raw, was: bool, is: bool) {
        if was == is {
            return;
        }
        if let Some(since) = self.store.flush.since(item) {
            let change = u64::from(is).wrapping_sub(was.into());
            self.counters().expiring[usize::from(item.place())].add(since, change);
        }
    }

    #[inline]
    pub(crate) fn unlink(&self, found: Found, item: Raw) {
        self.store.index.bucket(found.bucket).clear(found.i);
        let bytes = self.give_up(found.way, item);
        let counters = self.counters();
        counters.items.sub(1);
        counters.bytes.sub(bytes);
        if let Some(since) = self.store.flush.since(item) {
            counters.keys[usize::from(item.place())].add(since, 1u64.wrapping_neg());
            self.count_expiring(item, item.expiry() != 0, false);
        }
    }

    /// Unlinks an expired or flushed item.
    pub(crate) fn drop_dead(&self, found: Found, item: Raw) {
        self.counters().reclaimed.add(1);
        if !item.has(attr::FETCHED) {
            self.counters().expired_unfetched.add(1);
        }
        self.unlink(found, item);
    }

    /// Unlinks a live item for want of room.
    pub(crate) fn drop_live(&self, found: Found, item: Raw) {
        self.counters().evictions.add(1);
        if !item.has(attr::FETCHED) {
            self.counters().evicted_unfetched.add(1);
        }
        if let Some(told) = self.store.told_of_evictions.get() {
            told(&Item { local: self, raw: item, found }, self.store.now());
        }
        self.unlink(found, item);
    }

    /// The key is back; its ghost goes.
    #[inline]
    fn lay_ghost(&self, pair: Pair, hash: Hash) {
        let fingerprint = hash.fingerprint();
        for bucket in [pair.first, pair.second] {
            if self.store.index.ghosts_of(bucket).remove_ghost(fingerprint) {
                self.counters().ghost_hits.add(1);
                return;
            }
        }
    }

    /// An empty way in one of both buckets.
    #[inline]
    fn free_way(&self, pair: Pair, locked: &Locked<'_>) -> Result<(usize, usize), Full> {
        let index = &self.store.index;
        let first = index.bucket(pair.first).free_ways();
        let second = index.bucket(pair.second).free_ways();
        // The emptier one: that is what fills the table evenly.
        if first.count_ones() >= second.count_ones() && first != 0 {
            Ok((pair.first, first.trailing_zeros() as usize))
        } else if second != 0 {
            Ok((pair.second, second.trailing_zeros() as usize))
        } else {
            self.force_way(pair, locked)
        }
    }

    /// Both buckets are full: moves an entry, or drops a dead item, or the one used least.
    #[cold]
    fn force_way(&self, pair: Pair, locked: &Locked<'_>) -> Result<(usize, usize), Full> {
        let store = &*self.store;
        if let Some(free) = store.index.make_way(pair, locked, !store.is_walked()) {
            self.counters().index_moves.add(1);
            return Ok(free);
        }
        let mut least: Option<((u64, bool, u64), Found, Raw)> = None;
        for bucket in [pair.first, pair.second] {
            for i in 0..WAYS {
                let way = store.index.bucket(bucket).way(i);
                let found = Found { bucket, i, way };
                // SAFETY: the bucket is locked.
                let item = unsafe { store.item(way.offset()) };
                if self.death(item).is_some() {
                    self.drop_dead(found, item);
                    return Ok((bucket, i));
                }
                let chunk = store.chunks.get(store.chunks.managing(way.offset()));
                let rank = (way.count(), chunk.log() == Log::Main, chunk.age.load(Relaxed));
                if least.is_none_or(|(other, ..)| rank < other) {
                    least = Some((rank, found, item));
                }
            }
        }
        let (rank, found, item) = least.expect("a bucket has ways");
        if !store.evict {
            return Err(Full);
        }
        if rank.0 > 0 {
            // All were used: they age, so that newcomers do not only push each other out.
            for bucket in [pair.first, pair.second] {
                for i in 0..WAYS {
                    let way = store.index.bucket(bucket).way(i);
                    let count = way.count().saturating_sub(1);
                    store.index.bucket(bucket).set(i, way.with_count(count));
                }
            }
        }
        let ghost = self.hash_of(item).fingerprint();
        store.index.ghosts_of(found.bucket).add_ghost(ghost);
        self.counters().index_evictions.add(1);
        self.drop_live(found, item);
        Ok((found.bucket, found.i))
    }
}
