//! Chunks in a row, for items that are longer than one; and one out of some, to be lent.

use std::ops::Range;

use crate::chunk::Log;
use crate::config::Full;
use crate::local::{Local, Open};
use crate::pool::{Pool, SPARE};

/// Costs of emptying: more than any, least of a chunk with items in it, and what a chunk full of live
/// ones adds.
const BLOCKED: u32 = u32::MAX;
const OCCUPIED: u32 = 2;
const FULL: usize = 1000;

/// What becomes of a thread's wish for chunks in a row.
enum Claim {
    /// They are being emptied.
    Made,
    /// Something else is being emptied that was in the way.
    Later,
    Never,
}

impl Local {
    /// `run` free chunks in a row, opened for `log`.
    pub(crate) fn take_run(&mut self, log: Log, run: usize) -> Result<usize, Full> {
        let mut since = None;
        let mut mine = false;
        loop {
            let mut pool = self.store.pool();
            pool.reclaim(&self.store.chunks);
            if mine && pool.claimed.len() == run {
                let first = pool.claim.take().expect("this thread's claim").start;
                pool.claimed.clear();
                pool.open(&self.store.chunks, first, run, log);
                self.store.publish(&pool);
                return Ok(first);
            }
            // One thread at a time collects chunks.
            if !mine && pool.claim.is_none() {
                match self.claim(&mut pool, run) {
                    Claim::Made => mine = true,
                    Claim::Later => {}
                    Claim::Never => return Err(Full),
                }
                since = None;
                self.store.publish(&pool);
                if mine {
                    continue;
                }
            }
            drop(pool);
            let waited = self.wait(&mut since);
            if waited.is_err() && mine {
                let mut pool = self.store.pool();
                pool.unclaim();
                self.store.publish(&pool);
            }
            waited?;
        }
    }

    /// Chooses `run` chunks in a row and empties those that are not free; while there is room among
    /// dead items, by copying what lives.
    fn claim(&self, pool: &mut Pool, run: usize) -> Claim {
        while pool.victim.is_some() {
            self.evict_some(pool, self.store.chunks.size());
        }
        if self.is_roomy(pool) {
            if let Some(range) = self.cheapest(pool, 0..self.store.chunks.len(), run, true) {
                let others = pool.free.iter().filter(|&&i| !range.contains(&(i as usize)));
                if others.count() >= SPARE && self.collect(pool, range, false) {
                    return Claim::Made;
                }
                // There is no room for copies. It comes from where they need less of it.
                if self.compact(pool) {
                    return Claim::Later;
                }
            }
        }
        let all = 0..self.store.chunks.len();
        let range = self.store.evict.then(|| self.cheapest(pool, all, run, false)).flatten();
        match range {
            Some(range) => {
                self.collect(pool, range, true);
                Claim::Made
            }
            None => Claim::Never,
        }
    }

    /// Empties these chunks, and the runs they are part of; they wait for `take_run` as they come
    /// free. `false`: a copy found no room, and nothing is to be dropped.
    fn collect(&self, pool: &mut Pool, range: Range<usize>, drop: bool) -> bool {
        self.close_within(pool, &range);
        let Pool { free, claimed, .. } = &mut *pool;
        free.retain(|&i| {
            let inside = range.contains(&(i as usize));
            if inside {
                claimed.push(i);
            }
            !inside
        });
        pool.claim = Some(range.clone());
        let emptied = self.empty(pool, range, drop);
        if !emptied {
            pool.unclaim();
        }
        emptied
    }

    /// Empties the runs of which these chunks are part. `false`: a copy found no room, and nothing is
    /// to be dropped.
    fn empty(&self, pool: &mut Pool, range: Range<usize>, drop: bool) -> bool {
        let store = &*self.store;
        let roomy = self.is_roomy(pool);
        for i in range {
            if pool.cost[i] < OCCUPIED {
                continue;
            }
            let head = store.chunks.get(i).head();
            let log = store.chunks.get(head).log();
            let before = pool.queue(log).len();
            pool.queue(log).retain(|other| *other as usize != head);
            if pool.queue(log).len() == before {
                // Emptied already, as another chunk of the same run was in the range.
                continue;
            }
            pool.evicted |= drop;
            let mut victim = self.victim(head, roomy && self.can_copy(store.chunks.get(head)));
            while victim.at < victim.end {
                if self.walk(pool, &mut victim) == 0 {
                    if !drop {
                        pool.queue(log).push_back(head as u32);
                        return false;
                    }
                    victim.keep = false;
                }
            }
            pool.retire(&store.chunks, &store.epoch, head);
        }
        true
    }

    /// Closes what this thread has open there.
    fn close_within(&self, pool: &mut Pool, range: &Range<usize>) {
        let chunks = &self.store.chunks;
        for open in &self.open {
            let Some(head) = open.get().head() else { continue };
            if head < range.end && range.start < head + chunks.get(head).run() {
                open.set(Open::NONE);
                pool.close(chunks, head);
            }
        }
    }

    /// Empties a chunk out of these, to be lent. `false`: none can be.
    pub(crate) fn empty_one(&self, pool: &mut Pool, within: Range<usize>) -> bool {
        while pool.victim.is_some() {
            self.evict_some(pool, self.store.chunks.size());
        }
        let Some(range) = self.cheapest(pool, within, 1, false) else { return false };
        if pool.cost[range.start] == 0 {
            // It is the last free one, which is not for this: more are on their way.
            self.evict_some(pool, self.store.chunks.size());
            return true;
        }
        let live = pool.cost[range.start] > OCCUPIED;
        if live && self.is_roomy(pool) && pool.free.len() <= SPARE {
            // What lives in it is to be copied, and there is no chunk for the copies yet.
            return pool.limbo_chunks > 0 || self.make_room(pool);
        }
        self.close_within(pool, &range);
        pool.stages.wanted = Some(range.start);
        self.empty(pool, range, true)
    }

    /// Where `run` chunks in a row out of some are emptied with the least loss: free and emptied ones count
    /// little, others by what lives in them. That is copied (`keep`), or dropped: then the young
    /// count twice the old.
    fn cheapest(
        &self,
        pool: &mut Pool,
        within: Range<usize>,
        run: usize,
        keep: bool,
    ) -> Option<Range<usize>> {
        let store = &*self.store;
        let len = store.chunks.len();
        let mut cost = std::mem::take(&mut pool.cost);
        cost.clear();
        cost.resize(len, BLOCKED);
        for &i in &pool.free {
            cost[i as usize] = 0;
        }
        for head in pool.limbo() {
            for cost in &mut cost[head..head + store.chunks.get(head).run()] {
                *cost = 1;
            }
        }
        let mut occupied = |head: usize, place: usize, of: usize| {
            let chunk = store.chunks.get(head);
            if !chunk.is_settled() || chunk.pins() != 0 || (keep && !self.can_copy(chunk)) {
                return;
            }
            let live = chunk.used().saturating_sub(chunk.dead() as usize);
            let share = live * FULL / (chunk.run() * store.chunks.size());
            let young = if keep { 0 } else { share * place / of };
            cost[head..head + chunk.run()].fill(OCCUPIED + (share + young) as u32);
        };
        for queue in [&pool.small, &pool.main] {
            for (i, &head) in queue.iter().enumerate() {
                occupied(head as usize, i, queue.len());
            }
        }
        // What other threads have open is out of reach.
        for head in self.open.iter().filter_map(|open| open.get().head()) {
            occupied(head, 1, 1);
        }
        // What others wait for.
        for i in pool.claim.iter().cloned().flatten().chain(pool.stages.wanted) {
            cost[i] = BLOCKED;
        }
        let mut best = None;
        let (mut sum, mut blocked) = (0u64, 0);
        let from = within.start;
        for end in within {
            let weigh = |cost: u32| if cost == BLOCKED { (0, 1) } else { (u64::from(cost), 0) };
            let (more, block) = weigh(cost[end]);
            (sum, blocked) = (sum + more, blocked + block);
            if end >= from + run {
                let (less, block) = weigh(cost[end - run]);
                (sum, blocked) = (sum - less, blocked - block);
            }
            if end + 1 >= from + run && blocked == 0 && best.is_none_or(|(least, _)| sum < least) {
                best = Some((sum, end + 1 - run));
            }
        }
        pool.cost = cost;
        best.map(|(_, first)| first..first + run)
    }
}
