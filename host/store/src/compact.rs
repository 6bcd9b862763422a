//! Room among dead items: a cache of few live items has its room among those that were replaced or
//! deleted. Then the chunk with the most of them is emptied, and what lives in it is copied, not
//! dropped.

use crate::chunk::{Chunk, Log};
use crate::local::Local;
use crate::pool::Pool;
use crate::store::Store;

/// While live items fill less than so many quarters of the log, nothing is dropped. Copying costs at
/// most about three bytes a byte of room then.
const ROOMY: usize = 3;

impl Local {
    /// Room comes from dead items; live ones stay.
    pub(crate) fn is_roomy(&self, pool: &Pool) -> bool {
        let Store { chunks, evict, .. } = &*self.store;
        let limit = (chunks.len() - pool.stages.chunks()) * chunks.size() / 4 * ROOMY;
        !evict || (pool.excess <= 0 && pool.bytes() < limit as i64)
    }

    /// Takes the chunk with the most bytes of unlinked items out of its queue. `None`: no chunk is
    /// worth the copying.
    pub(crate) fn deadest(&self, pool: &mut Pool) -> Option<usize> {
        let chunks = &self.store.chunks;
        let worth = chunks.size() as u64 / 8;
        // What is gained. What needs no copies comes first, an abandoned item's run among it.
        let gain = |head: u32| match chunks.get(head as usize) {
            chunk if chunk.dead() == chunk.used() as u64 => u64::MAX,
            chunk => chunk.dead(),
        };
        let ready = |head: &u32| {
            let chunk = chunks.get(*head as usize);
            let can_empty = self.can_copy(chunk) && chunk.is_settled() && chunk.pins() == 0;
            can_empty && gain(*head) >= worth
        };
        let heads = pool.small.iter().chain(&pool.main).copied().filter(ready);
        let head = heads.max_by_key(|head| gain(*head))?;
        pool.queue(chunks.get(head as usize).log()).retain(|other| *other != head);
        Some(head as usize)
    }

    /// Whatever lives in the run fits into chunks. In a longer one the first, large item does not;
    /// those behind it are less than a chunk, so this many dead bytes tell that it is dead.
    pub(crate) fn can_copy(&self, chunk: &Chunk) -> bool {
        chunk.run() == 1 || chunk.used() == 0 || chunk.dead() >= self.store.chunks.size() as u64
    }

    /// Empties the chunk with the most bytes of unlinked items, by copying the live ones. Without
    /// eviction, where nothing else finds them, takes expired items out of one more chunk of each
    /// log before. `false`: no chunk is worth it.
    pub(crate) fn compact(&self, pool: &mut Pool) -> bool {
        let store = &*self.store;
        if !store.evict {
            for log in [Log::Small, Log::Main] {
                let Some(head) = pool.queue(log).pop_front() else { continue };
                if store.chunks.get(head as usize).is_settled() {
                    self.expire(head as usize);
                }
                // To the end, so that the next one is looked at next.
                pool.queue(log).push_back(head);
            }
        }
        let Some(head) = self.deadest(pool) else { return false };
        let mut victim = self.victim(head, true);
        while victim.at < victim.end {
            if self.walk(pool, &mut victim) == 0 {
                pool.queue(victim.log).push_back(head as u32);
                return false;
            }
        }
        pool.retire(&store.chunks, &store.epoch, head);
        true
    }

    /// Unlinks the dead items of a chunk.
    fn expire(&self, head: usize) {
        let store = &*self.store;
        let mut victim = self.victim(head, true);
        while victim.at < victim.end {
            let candidate = self.candidate(victim.at);
            victim.at += candidate.size;
            // SAFETY: as in `candidate`.
            let item = unsafe { store.item(candidate.offset) };
            if self.death(item).is_some() {
                let _locked = store.index.lock(candidate.pair);
                if let Some(found) = self.locate(&candidate) {
                    self.drop_dead(found, item);
                }
            }
        }
    }
}
