//! Who has how much room for values on their way in: what the pool knows of them. See `stage`.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::pool::Pool;
use crate::reserve::Reservation;
use crate::sync::{AtomicUsize, Mutex, MutexGuard};

/// Bytes of a block, where chunks are not smaller or very large.
const BLOCK: usize = 64 << 10;
/// Seconds in which any value may come, bytes a second that it has to have beyond. A megabyte has a
/// little more than two minutes.
pub(crate) const ALONE: u32 = 10;
const RATE_ALONE: u64 = 8 << 10;
/// The same where others wait for room.
const CROWDED: Duration = Duration::from_millis(500);
const RATE_CROWDED: u64 = 4 << 20;
/// Milliseconds for which room just given, or asked for in vain, is not taken away.
const FRESH: usize = 30;
/// Blocks that a value may count on when it gets its first one.
const PROMISE: usize = 4;
/// Who waits for room asks again sooner than this.
const HUNGRY: Duration = Duration::from_millis(5);
/// Seconds for which lent chunks are kept although nothing is in them: each that is borrowed anew
/// has to be emptied, out of turn.
const KEEP: u32 = 10;

#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub chunk: u32,
    pub part: u32,
}

/// A lent chunk.
pub(crate) struct Lent {
    chunk: u32,
    /// Bit i: block i is free.
    free: u64,
    /// The second in which the last block came back.
    idle: u32,
}

/// What the pool knows of values on their way in.
pub(crate) struct Stages {
    /// Bytes of a block, blocks of a chunk.
    block: usize,
    pub parts: u32,
    /// The first chunk that is lent, if it can be had.
    pub first: usize,
    /// Blocks at most, and how many of them are left to the senior.
    pub limit: usize,
    pub reserve: usize,
    pub used: usize,
    lent: Vec<Lent>,
    /// The chunk that was emptied to be lent, and is on its way to be free.
    pub wanted: Option<usize>,
    /// Who has room.
    pub holders: Vec<Arc<Arrival>>,
    /// Before it none of them gives way: who waits need not look.
    pub patience: Instant,
    pub senior: Option<Arc<Arrival>>,
    /// Who receives in the log.
    pub placed: Option<Arc<Arrival>>,
    /// When a value of which something has come was last told to wait.
    hungry: Option<Instant>,
    /// Blocks that values may still take without being told to wait.
    promised: usize,
}

/// A value on its way in, as others see it.
pub(crate) struct Arrival {
    pub since: Instant,
    /// When it last got room, or asked for it with bytes at hand, in milliseconds after that.
    pub asked: AtomicUsize,
    pub second: u32,
    /// Bytes that it will have, and that have come.
    pub len: usize,
    pub came: AtomicUsize,
    /// Blocks that it may still take without waiting.
    pub promised: AtomicUsize,
    pub place: Mutex<Place>,
}

pub(crate) enum Place {
    Blocks(Vec<Block>),
    Item(Reservation),
    /// It was too slow.
    Lost,
}

impl Arrival {
    pub fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Came so much less than it should have, were it not for the first moments.
    fn late(&self, age: Duration, first: Duration, rate: u64) -> bool {
        let should = age.saturating_sub(first).as_millis() as u64 * rate / 1000;
        (self.came.load(Relaxed) as u64) < should
    }

    /// When it is slow enough to make room for others, if nothing more comes of it. Not while it waits
    /// for room itself, which is not its sender's fault, nor a moment after it got some, when what it
    /// waited with could not come yet.
    fn gives_way_at(&self) -> Instant {
        let came = self.came.load(Relaxed) as u64;
        let slow = CROWDED + Duration::from_micros(came * 1_000_000 / RATE_CROWDED);
        let fresh = Duration::from_millis((self.asked.load(Relaxed) + FRESH) as u64);
        self.since + slow.max(fresh)
    }

    /// Bytes a second so far.
    fn rate(&self, now: Instant) -> u64 {
        let age = now.saturating_duration_since(self.since).as_micros().max(1) as u64;
        self.came.load(Relaxed) as u64 * 1_000_000 / age
    }
}

impl Stages {
    pub fn new(chunks: usize, size: usize, item_max: usize) -> Self {
        let block = BLOCK.max(size / 64).min(size);
        let parts = size / block;
        let most = (chunks / 8).max(1);
        let limit = most * parts;
        Self {
            block,
            parts: parts as u32,
            first: chunks - most,
            limit,
            reserve: item_max.div_ceil(block).min(limit / 2),
            used: 0,
            lent: Vec::new(),
            wanted: None,
            holders: Vec::new(),
            patience: Instant::now(),
            senior: None,
            placed: None,
            hungry: None,
            promised: 0,
        }
    }

    pub fn chunks(&self) -> usize {
        self.lent.len()
    }

    pub fn block(&self) -> usize {
        self.block
    }

    /// Bytes of the longest value that is received in blocks.
    pub fn longest(&self) -> usize {
        self.reserve * self.block
    }

    fn full_mask(&self) -> u64 {
        u64::MAX >> (64 - self.parts)
    }

    pub fn is_senior(&self, arrival: &Arc<Arrival>) -> bool {
        self.senior.as_ref().is_some_and(|senior| Arc::ptr_eq(senior, arrival))
    }

    /// Those of whom something has come go first: only a value that is whole gives its room back.
    pub fn comes_later(&self, arrival: &Arrival) -> bool {
        let hungry = self.hungry.is_some_and(|at| at.elapsed() < HUNGRY);
        hungry && arrival.came.load(Relaxed) == 0
    }

    /// It has bytes at hand for which there is no room.
    pub fn waits(&mut self, arrival: &Arrival) {
        arrival.asked.store(arrival.since.elapsed().as_millis() as usize, Relaxed);
        if arrival.came.load(Relaxed) > 0 {
            self.hungry = Some(Instant::now());
        }
    }

    /// Blocks that there must be for it to take one. The first one comes with a promise: many that
    /// hold one each, and wait for more, would get in each other's way.
    fn wants(&self, arrival: &Arrival) -> usize {
        if arrival.came.load(Relaxed) > 0 {
            return 1;
        }
        arrival.len.div_ceil(self.block).min(PROMISE).min(self.limit - self.reserve).max(1)
    }

    /// A block may be given to it, if there is one.
    pub fn may_take(&self, arrival: &Arc<Arrival>) -> bool {
        let used = self.used + self.promised;
        let senior = self.is_senior(arrival) && used < self.limit;
        let promised = arrival.promised.load(Relaxed) > 0;
        promised || senior || used + self.reserve + self.wants(arrival) <= self.limit
    }

    pub fn has_free(&self) -> bool {
        self.lent.iter().any(|lent| lent.free != 0)
    }

    /// It gets a block that it may take, and a promise with the first one.
    pub fn grant_block(&mut self, arrival: &Arc<Arrival>) {
        let promised = arrival.promised.load(Relaxed);
        let left = match promised {
            0 if self.is_senior(arrival) => 0,
            0 => self.wants(arrival) - 1,
            _ => promised - 1,
        };
        self.promised = self.promised + left - promised;
        arrival.promised.store(left, Relaxed);
        if !self.holders.iter().any(|other| Arc::ptr_eq(other, arrival)) {
            self.holders.push(arrival.clone());
        }
        // Others that wait will say so again.
        self.hungry = None;
        self.grant(arrival);
    }

    /// It gets room now.
    pub fn grant(&mut self, arrival: &Arrival) {
        arrival.asked.store(arrival.since.elapsed().as_millis() as usize, Relaxed);
        self.patience = self.patience.min(arrival.gives_way_at());
    }

    /// A block of what is lent; of the first such chunk, so that the last ones come free.
    pub fn take(&mut self) -> Option<Block> {
        let lent = self.lent.iter_mut().find(|lent| lent.free != 0)?;
        let part = lent.free.trailing_zeros();
        lent.free &= lent.free - 1;
        self.used += 1;
        Some(Block { chunk: lent.chunk, part })
    }

    pub fn lend(&mut self, chunk: u32) {
        self.lent.push(Lent { chunk, free: self.full_mask(), idle: 0 });
    }

    pub fn give_back(&mut self, blocks: &[Block], now: u32) {
        self.used -= blocks.len();
        for block in blocks {
            let lent = self.lent.iter_mut().find(|lent| lent.chunk == block.chunk);
            let lent = lent.expect("a chunk of which a block is used is lent");
            lent.free |= 1 << block.part;
            lent.idle = now;
        }
    }

    /// Nothing of this value is to be found here any more.
    pub fn forget(&mut self, arrival: &Arc<Arrival>) {
        self.holders.retain(|other| !Arc::ptr_eq(other, arrival));
        self.promised -= arrival.promised.swap(0, Relaxed);
        for one in [&mut self.senior, &mut self.placed] {
            if one.as_ref().is_some_and(|other| Arc::ptr_eq(other, arrival)) {
                *one = None;
            }
        }
    }

    /// Takes a sender's room away. `false`: it is in use at this moment.
    fn evict(&mut self, arrival: &Arc<Arrival>, now: u32) -> bool {
        let Ok(mut place) = arrival.place.try_lock() else { return false };
        if let Place::Blocks(blocks) = std::mem::replace(&mut *place, Place::Lost) {
            self.give_back(&blocks, now);
        }
        self.forget(arrival);
        true
    }

    /// Takes away the room of the slowest of those who are slow enough to make room for others.
    pub fn evict_slowest(
        &mut self,
        asking: &Arc<Arrival>,
        second: u32,
        among: impl Fn(&Place) -> bool,
    ) -> bool {
        let now = Instant::now();
        if now < self.patience {
            return false;
        }
        let late = |a: &&Arc<Arrival>| a.gives_way_at() <= now && !Arc::ptr_eq(a, asking);
        let fits = |a: &&Arc<Arrival>| a.place.try_lock().is_ok_and(|place| among(&place));
        let slow = self.holders.iter().filter(late).filter(fits);
        if let Some(slowest) = slow.min_by_key(|arrival| arrival.rate(now)).cloned() {
            return self.evict(&slowest, second);
        }
        let first = self.holders.iter().map(|arrival| arrival.gives_way_at()).min();
        self.patience = first.unwrap_or(now + CROWDED);
        false
    }
}

impl Pool {
    /// Once a second: takes the room of values that trickle, and takes back what nobody uses.
    pub fn sweep(&mut self, now: u32) {
        let stages = &mut self.stages;
        let first = Duration::from_secs(ALONE.into());
        let late = |arrival: &&Arc<Arrival>| {
            let age = Duration::from_secs(now.saturating_sub(arrival.second).into());
            arrival.late(age, first, RATE_ALONE)
        };
        let slow: Vec<_> = stages.holders.iter().filter(late).cloned().collect();
        for arrival in slow {
            stages.evict(&arrival, now);
        }
        self.take_back(|lent| now.saturating_sub(lent.idle) >= KEEP);
    }

    /// Lent chunks without a used block become free.
    pub fn take_back(&mut self, which: impl Fn(&Lent) -> bool) {
        let full = self.stages.full_mask();
        let free = &mut self.free;
        self.stages.lent.retain(|lent| {
            let back = lent.free == full && which(lent);
            if back {
                // Those that lie first are taken first.
                free.insert(free.partition_point(|&i| i > lent.chunk), lent.chunk);
            }
            !back
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_just_given_stays_for_a_moment() {
        let arrival = Arrival {
            since: Instant::now(),
            asked: AtomicUsize::new(0),
            second: 0,
            len: 8 << 20,
            came: AtomicUsize::new(0),
            promised: AtomicUsize::new(0),
            place: Mutex::new(Place::Blocks(Vec::new())),
        };
        let gives_way_at = || (arrival.gives_way_at() - arrival.since).as_millis();
        assert_eq!(gives_way_at(), 500, "nothing came in the first half second");
        arrival.asked.store(1000, Relaxed);
        assert_eq!(gives_way_at(), 1030);
        arrival.came.store(4 << 20, Relaxed);
        assert_eq!(gives_way_at(), 1500, "4 MiB are a second's");
    }
}
