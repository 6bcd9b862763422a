//! Which chunk is emptied next: S3-FIFO (Yang et al., SOSP 2023) over the two logs.
//!
//! The oldest chunk of a log is walked item by item. An item of the small log that was used since
//! it was stored goes to the main log's head; one that was not is dropped and leaves a ghost. An
//! item of the main log that was used goes to its head with its count lowered. The work is done in
//! steps by the threads that take room, in proportion to the room they take.

use crate::chunk::Log;
use crate::local::Local;
use crate::pool::{Pool, Victim};
use crate::walk::PROMOTE;

/// Bytes walked for each byte taken while room is short, and in any case.
const PACE: usize = 4;
const STEP: usize = 512;

impl Local {
    /// A step of eviction, paid by whoever takes `size` bytes. If another thread is at it, it is
    /// left to that one.
    #[cold]
    pub(crate) fn relieve(&self, size: usize) {
        if let Some(mut pool) = self.store.try_pool() {
            pool.reclaim(&self.store.chunks);
            if pool.is_short() {
                self.evict_some(&mut pool, PACE * size + STEP);
            }
            self.store.publish(&pool);
        }
    }

    /// Walks about `budget` bytes. `false`: there is nothing to walk.
    pub(crate) fn evict_some(&self, pool: &mut Pool, budget: usize) -> bool {
        let mut walked = 0;
        while walked < budget {
            let Some(mut victim) = pool.victim.take().or_else(|| self.next_victim(pool)) else {
                return walked > 0;
            };
            let now = self.walk(pool, &mut victim);
            // Without room for copies something must go.
            victim.keep &= now != 0;
            walked += now;
            if victim.at < victim.end {
                pool.victim = Some(victim);
                continue;
            }
            pool.retire(&self.store.chunks, &self.store.epoch, victim.head);
            if !pool.is_short() {
                break;
            }
        }
        true
    }

    /// While there is room among dead items the chunk with the most of them, otherwise the oldest
    /// run of the log that is over its share.
    fn next_victim(&self, pool: &mut Pool) -> Option<Victim> {
        let store = &*self.store;
        if self.is_roomy(pool) {
            if let Some(head) = self.deadest(pool) {
                return Some(self.victim(head, true));
            }
        }
        let small = pool.small_is_full(&store.chunks) || pool.main.is_empty();
        let logs = if small { [Log::Small, Log::Main] } else { [Log::Main, Log::Small] };
        for log in logs {
            for _ in 0..pool.queue(log).len() {
                let head = pool.queue(log).pop_front()? as usize;
                let chunk = store.chunks.get(head);
                // What is being filled cannot be emptied; what is pinned would not become free.
                if !chunk.is_settled() || chunk.pins() != 0 {
                    pool.queue(log).push_back(head as u32);
                    continue;
                }
                pool.evicted = true;
                if chunk.run() > 1 && self.keep_large(head) {
                    pool.promote(&store.chunks, head);
                    continue;
                }
                return Some(self.victim(head, false));
            }
        }
        None
    }

    /// A run is there for its first, large item. If that was used, the run is kept where it is.
    fn keep_large(&self, head: usize) -> bool {
        let store = &*self.store;
        let candidate = self.candidate(store.chunks.offset(head));
        let Some(found) = self.locate(&candidate) else { return false };
        let _locked = store.index.lock(candidate.pair);
        let Some(found) = self.locate(&candidate).filter(|now| now.way.same_item(found.way)) else {
            return false;
        };
        // SAFETY: the bucket is locked.
        let item = unsafe { store.item(candidate.offset) };
        let used = found.way.count();
        if used < PROMOTE || self.death(item).is_some() {
            return false;
        }
        store.index.bucket(found.bucket).set(found.i, found.way.with_count(used - 1));
        true
    }
}
