//! Emptying chunks: S3-FIFO (Yang et al., SOSP 2023) over the two logs.
//!
//! The oldest chunk of a log is walked item by item. An item of the small log that was used since
//! it was stored goes to the main log's head; one that was not is dropped and leaves a ghost. An
//! item of the main log that was used goes to its head with its count lowered. The work is done in
//! steps by the threads that take room, in proportion to the room they take.
//!
//! A cache of few live items has its room among the dead ones, those that were replaced or deleted:
//! then the chunk with the most of them is emptied, and what lives in it is copied, not dropped.

use std::ops::Range;
use std::time::Instant;

use crate::chunk::{Chunk, Log};
use crate::config::Full;
use crate::hash::Hash;
use crate::index::{prefetch, Pair, Way};
use crate::item::Raw;
use crate::local::{Found, Local};
use crate::pool::{Pool, Victim, SPARE};
use crate::reserve::Open;
use crate::store::Store;

/// Uses that take an item from the small log to the main one. One is often a mere echo of the
/// request that stored it: with 2 fewer requests miss on real traces.
const PROMOTE: u64 = 2;
/// Items looked at together, their buckets fetched ahead.
const BATCH: usize = 16;
/// Bytes walked for each byte taken while room is short, and in any case.
const PACE: usize = 4;
const STEP: usize = 512;
/// Chunks' worth of bytes that may be copied within the main log for one chunk's worth dropped.
/// Beyond, items are dropped whatever their count: room is found in bounded time.
const COPIES: usize = 16;
/// While live items fill less than so many quarters of the log, nothing is dropped. Copying costs at
/// most about three bytes a byte of room then.
const ROOMY: usize = 3;

/// One item of the chunk that is being emptied.
#[derive(Clone, Copy)]
struct Candidate {
    offset: usize,
    size: usize,
    hash: Hash,
    pair: Pair,
}

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

    /// A free chunk, opened for `log`.
    pub(crate) fn take_chunk(&mut self, log: Log) -> Result<usize, Full> {
        let mut since = None;
        loop {
            let mut pool = self.store.pool();
            pool.reclaim(&self.store.chunks);
            if pool.free.len() > SPARE {
                let head = pool.free.pop().expect("there is a free one") as usize;
                pool.open(&self.store.chunks, head, 1, log);
                self.store.publish(&pool);
                return Ok(head);
            }
            // What is emptied already is waited for, and not even more emptied meanwhile.
            if pool.is_short_of_chunks() {
                if self.make_room(&mut pool) {
                    since = None;
                } else if pool.limbo_chunks == 0 {
                    return Err(Full);
                }
                self.store.publish(&pool);
            }
            drop(pool);
            self.wait(&mut since)?;
        }
    }

    /// This thread holds no references. Lets the others come to that point, too.
    fn wait(&mut self, since: &mut Option<Instant>) -> Result<(), Full> {
        self.quiesce();
        match since {
            None => *since = Some(Instant::now()),
            Some(start) if start.elapsed() > self.store.patience => return Err(Full),
            Some(_) => std::thread::yield_now(),
        }
        Ok(())
    }

    /// Empties a chunk. `false`: none can be.
    fn make_room(&self, pool: &mut Pool) -> bool {
        if self.store.evict {
            let before = pool.limbo_chunks;
            while pool.limbo_chunks == before {
                if !self.evict_some(pool, self.store.chunks.size()) {
                    return false;
                }
            }
            return true;
        }
        self.compact(pool)
    }

    /// Walks about `budget` bytes. `false`: there is nothing to walk.
    fn evict_some(&self, pool: &mut Pool, budget: usize) -> bool {
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

    /// Room comes from dead items; live ones stay.
    fn is_roomy(&self, pool: &Pool) -> bool {
        let Store { chunks, evict, .. } = &*self.store;
        let limit = (chunks.len() - pool.stages.chunks()) * chunks.size() / 4 * ROOMY;
        !evict || (pool.excess <= 0 && pool.bytes() < limit as i64)
    }

    fn victim(&self, head: usize, keep: bool) -> Victim {
        let chunk = self.store.chunks.get(head);
        let at = self.store.chunks.offset(head);
        Victim { head, at, end: at + chunk.used(), log: chunk.log(), keep }
    }

    /// Takes the chunk with the most bytes of unlinked items out of its queue. `None`: no chunk is
    /// worth the copying.
    fn deadest(&self, pool: &mut Pool) -> Option<usize> {
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
    fn can_copy(&self, chunk: &Chunk) -> bool {
        chunk.run() == 1 || chunk.used() == 0 || chunk.dead() >= self.store.chunks.size() as u64
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
        if used < PROMOTE || self.death(item, store.now()).is_some() {
            return false;
        }
        store.index.bucket(found.bucket).set(found.i, found.way.with_count(used - 1));
        true
    }

    fn candidate(&self, offset: usize) -> Candidate {
        // SAFETY: a settled chunk is a row of whole items; nobody reuses it while the pool is
        // locked, as it is not free.
        let item = unsafe { self.store.item(offset) };
        let hash = self.hash(item.key());
        Candidate { offset, size: item.size(), hash, pair: self.store.index.pair(hash) }
    }

    /// Deals with the next items of a chunk. Returns how many bytes they are.
    fn walk(&self, pool: &mut Pool, victim: &mut Victim) -> usize {
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
    fn locate(&self, candidate: &Candidate) -> Option<Found> {
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
        let dead = self.death(item, store.now()).is_some();
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

    fn dropped(&self, pool: &mut Pool, size: usize) {
        pool.dropped += size;
        if pool.dropped >= self.store.chunks.size() {
            pool.dropped = 0;
            pool.copied = 0;
        }
    }

    /// Room at this thread's main head. The last free chunk may be taken for it.
    fn room_in_main(&self, pool: &mut Pool, size: usize) -> Option<usize> {
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
        let most = chunks.len() / (8 * pool.threads.len());
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
            if self.death(item, store.now()).is_some() {
                let _locked = store.index.lock(candidate.pair);
                if let Some(found) = self.locate(&candidate) {
                    self.drop_dead(found, item);
                }
            }
        }
    }

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
                self.store.pool().unclaim();
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
        let store = &*self.store;
        // What this thread has open there is closed.
        for open in &self.open {
            let Some(head) = open.get().head() else { continue };
            if head < range.end && range.start < head + store.chunks.get(head).run() {
                open.set(Open::NONE);
                pool.close(&store.chunks, head);
            }
        }
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
