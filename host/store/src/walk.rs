//! Emptying a chunk: it is walked item by item, and each is dropped or copied to the main log.

use crate::chunk::Log;
use crate::hash::Hash;
use crate::index::{prefetch, Pair, Way};
use crate::item::Raw;
use crate::local::{Found, Local, Open};
use crate::pool::{Pool, Victim};

/// Uses that take an item from the small log to the main one. One is often a mere echo of the
/// request that stored it: with 2 fewer requests miss on real traces.
pub(crate) const PROMOTE: u64 = 2;
/// Items looked at together, their buckets fetched ahead.
const BATCH: usize = 16;
/// Chunks' worth of bytes that may be copied within the main log for one chunk's worth dropped.
/// Beyond, items are dropped whatever their count: room is found in bounded time.
const COPIES: usize = 16;

/// One item of the chunk that is being emptied.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub offset: usize,
    pub size: usize,
    pub hash: Hash,
    pub pair: Pair,
}

impl Local {
    pub(crate) fn victim(&self, head: usize, keep: bool) -> Victim {
        let chunk = self.store.chunks.get(head);
        let at = self.store.chunks.offset(head);
        Victim { head, at, end: at + chunk.used(), log: chunk.log(), keep }
    }

    pub(crate) fn candidate(&self, offset: usize) -> Candidate {
        // SAFETY: a settled chunk is a row of whole items; nobody reuses it while the pool is
        // locked, as it is not free.
        let item = unsafe { self.store.item(offset) };
        let hash = self.hash_of(item);
        Candidate { offset, size: item.size(), hash, pair: self.store.index.pair(hash) }
    }

    /// Deals with the next items of a chunk. Returns how many bytes they are.
    pub(crate) fn walk(&self, pool: &mut Pool, victim: &mut Victim) -> usize {
        let mut batch = [const { None }; BATCH];
        let from = victim.at;
        let chunk = self.store.chunks.get(victim.head);
        if chunk.dead() == chunk.used() as u64 {
            victim.at = victim.end;
            self.dropped(pool, victim.end - from);
            return victim.end - from;
        }
        for slot in &mut batch {
            if victim.at == victim.end {
                break;
            }
            // SAFETY: as in `candidate`.
            let item = unsafe { self.store.item(victim.at) };
            if item.is_dead() {
                victim.at += item.size();
                self.dropped(pool, item.size());
                continue;
            }
            let candidate = self.candidate(victim.at);
            self.store.index.prefetch(candidate.pair);
            prefetch(self.store.index.ghosts_of(candidate.pair.first));
            victim.at += candidate.size;
            *slot = Some(candidate);
        }
        for candidate in batch.iter().flatten() {
            if !self.settle(pool, victim.log, victim.keep, candidate) {
                victim.at = candidate.offset;
                break;
            }
        }
        victim.at - from
    }

    /// The way that leads to this very item.
    pub(crate) fn locate(&self, candidate: &Candidate) -> Option<Found> {
        let Pair { first, second } = candidate.pair;
        for bucket in [first, second] {
            let ways = self.store.index.bucket(bucket);
            let mut mask = ways.matches(candidate.hash.tag());
            while mask != 0 {
                let i = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let way = ways.way(i);
                if way.offset() == candidate.offset {
                    return Some(Found { bucket, i, way });
                }
            }
        }
        None
    }

    /// Drops an item, or copies it to the main log. `false`: it is to be kept, but there is no room.
    fn settle(&self, pool: &mut Pool, log: Log, keep: bool, candidate: &Candidate) -> bool {
        let store = &*self.store;
        let found = self.locate(candidate).or_else(|| {
            // It was unlinked just now, or is being moved to its other bucket.
            let _locked = store.index.lock(candidate.pair);
            self.locate(candidate)
        });
        let Some(found) = found else {
            self.dropped(pool, candidate.size);
            return true;
        };
        // SAFETY: as in `candidate`.
        let item = unsafe { store.item(candidate.offset) };
        let dead = self.death(item).is_some();
        let count = match log {
            _ if dead => None,
            _ if keep => Some(found.way.count()),
            Log::Small => (found.way.count() >= PROMOTE).then_some(0),
            Log::Main if pool.copied > COPIES * store.chunks.size() => None,
            Log::Main => found.way.count().checked_sub(1),
        };
        if let Some(count) = count {
            if let Some(offset) = self.room_in_main(pool, candidate.size) {
                self.relocate(candidate, item, offset, count);
                if log == Log::Main && !keep {
                    pool.copied += candidate.size;
                }
                return true;
            }
            if keep {
                return false;
            }
        }
        let _locked = store.index.lock(candidate.pair);
        if let Some(found) = self.locate(candidate) {
            if dead {
                self.drop_dead(found, item);
            } else {
                if log == Log::Small {
                    let bucket = store.index.ghosts_of(candidate.pair.first);
                    bucket.add_ghost(candidate.hash.fingerprint());
                }
                self.drop_live(found, item);
            }
            pool.excess -= 1;
        }
        self.dropped(pool, candidate.size);
        true
    }

    pub(crate) fn dropped(&self, pool: &mut Pool, size: usize) {
        pool.dropped += size;
        if pool.dropped >= self.store.chunks.size() {
            pool.dropped = 0;
            pool.copied = 0;
        }
    }

    /// Room at this thread's main head. The last free chunk may be taken for it.
    pub(crate) fn room_in_main(&self, pool: &mut Pool, size: usize) -> Option<usize> {
        let chunks = &self.store.chunks;
        if size > chunks.size() {
            return None;
        }
        let open = self.open[Log::Main as usize].get();
        if let Some(head) = open.head() {
            if let Some(at) = chunks.get(head).bump(size, open.capacity) {
                return Some(chunks.offset(head) + at);
            }
        }
        let head = pool.free.pop()? as usize;
        pool.open(chunks, head, 1, Log::Main);
        let at = chunks.get(head).bump(size, chunks.size())?;
        self.replace_open(Log::Main, Open::new(head, chunks.size()), pool);
        Some(chunks.offset(head) + at)
    }

    /// Of the open run and a new one, that with more room left stays open, the other is closed.
    /// What is open cannot be emptied: all threads' long runs together take at most a quarter.
    pub(crate) fn replace_open(&self, log: Log, new: Open, pool: &mut Pool) {
        let chunks = &self.store.chunks;
        let old = self.open[log as usize].get();
        let most = chunks.len() / (8 * pool.threads().list.len());
        let room = |open: &Open| {
            let chunk = chunks.get(open.head()?);
            (chunk.run() <= most.max(1)).then(|| open.capacity - chunk.used())
        };
        let (less, more) = if room(&old) > room(&new) { (new, old) } else { (old, new) };
        let (keep, close) = match room(&more) {
            Some(_) => (more, [less, Open::NONE]),
            None => (Open::NONE, [less, more]),
        };
        self.open[log as usize].set(keep);
        for head in close.iter().filter_map(Open::head) {
            pool.close(chunks, head);
        }
        self.store.publish(pool);
    }

    /// Copies an item to `offset` and lets its way lead there, unless it was unlinked meanwhile.
    fn relocate(&self, candidate: &Candidate, item: Raw, offset: usize, count: u64) {
        let store = &*self.store;
        // SAFETY: `room_in_main` gave these bytes to this thread alone.
        let copy = unsafe { item.copy(store.chunks.at(offset)) };
        let _locked = store.index.lock(candidate.pair);
        match self.locate(candidate) {
            Some(found) => {
                copy.copy_state(item);
                let way = Way::new(candidate.hash.tag(), offset, candidate.size, count);
                store.index.bucket(found.bucket).set(found.i, way);
                self.counters().relocations.add(1);
                let chunk = store.chunks.managing(candidate.offset);
                store.chunks.get(chunk).add_dead(candidate.size);
            }
            None => {
                copy.set_dead();
                store.chunks.get(store.chunks.managing(offset)).add_dead(candidate.size);
            }
        }
    }
}
