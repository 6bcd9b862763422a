//! The index: buckets of eight ways, one cache line each; two buckets a key.
//!
//! A way: tag 14 | place 36 | use count 2 | lines 6 | ghost 6. Place is the item's offset in the
//! mapping in units of 8 bytes; the index lies in front of the log, so 0 is no place and means an
//! empty way. The ghost fields of two neighbours make one of a bucket's four ghosts.
//!
//! A key's other bucket follows from either bucket and the tag (partial-key cuckoo hashing, Fan et
//! al., CoNEXT 2014), so entries are moved without reading their keys.
//!
//! Ways are written by whoever holds the bucket's lock. Only use counts are raised without it, by
//! compare-exchange; a count that is lost to a lock holder's store does no harm.
//!
//! Each group of 64 buckets has a bit for each place of a database: an item of it may be there. Who
//! stores an item or moves one sets it, a flush clears it; what goes otherwise leaves it. So walks leave
//! out what is empty.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::format::way;
use crate::hash::Hash;
use crate::scan::Walks;
use crate::sync::{spin_loop, yield_now, AtomicU16, AtomicU64, AtomicU8, AtomicUsize};

pub(crate) const WAYS: usize = 8;
pub(crate) const GHOSTS: usize = 4;
/// Buckets of a group; tests whose stores have few of them have several groups.
pub(crate) const GROUP: usize = if cfg!(any(miri, feature = "shuttle")) { 2 } else { 64 };

/// One way's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way(pub u64);

const GHOST: u64 = (1 << way::GHOST_BITS) - 1;
const COUNT_ONE: u64 = 1 << way::USES;
pub(crate) const COUNT_MAX: u64 = (1 << way::USES_BITS) - 1;
const LINES_MAX: u64 = (1 << way::LINES_BITS) - 1;
const PLACE_BITS: u32 = way::PLACE_BITS;

impl Way {
    /// `offset`: of the item in the mapping; `size`: of the item.
    #[inline]
    pub fn new(tag: u64, offset: usize, size: usize, count: u64) -> Self {
        let lines = ((offset % 64 + size).div_ceil(64) as u64).min(LINES_MAX);
        let place = offset as u64 / 8;
        Way(tag << way::TAG | place << way::PLACE | count << way::USES | lines << way::LINES)
    }

    #[inline]
    pub fn tag(self) -> u64 {
        self.0 >> way::TAG
    }

    #[inline]
    pub fn offset(self) -> usize {
        (self.0 >> way::PLACE & ((1 << PLACE_BITS) - 1)) as usize * 8
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 & !GHOST == 0
    }

    #[inline]
    pub fn count(self) -> u64 {
        self.0 >> way::USES & COUNT_MAX
    }

    #[inline]
    pub fn lines(self) -> usize {
        (self.0 >> way::LINES & LINES_MAX) as usize
    }

    #[inline]
    pub fn with_count(self, count: u64) -> Self {
        Way(self.0 & !(COUNT_MAX << way::USES) | count << way::USES)
    }

    /// Same item, whatever count and ghost are.
    #[inline]
    pub fn same_item(self, other: Way) -> bool {
        (self.0 ^ other.0) >> way::PLACE == 0
    }
}

/// Largest offset that a way can hold.
pub(crate) const OFFSET_MAX: usize = 8 << PLACE_BITS;

#[repr(C, align(64))]
pub(crate) struct Bucket([AtomicU64; WAYS]);

impl Bucket {
    #[inline]
    pub fn way(&self, i: usize) -> Way {
        Way(self.0[i].load(Acquire))
    }

    /// The caller holds the lock. What was written to the item before is seen with the way.
    #[inline]
    pub fn set(&self, i: usize, way: Way) {
        let ghost = self.0[i].load(Relaxed) & GHOST;
        self.0[i].store(way.0 & !GHOST | ghost, Release);
    }

    #[inline]
    pub fn clear(&self, i: usize) {
        self.set(i, Way(0));
    }

    /// Counts a use of the entry seen as `seen`; no lock needed. It may be missed.
    #[inline]
    pub fn used(&self, i: usize, seen: Way) {
        if seen.count() < COUNT_MAX {
            let more = seen.0 + COUNT_ONE;
            let _ = self.0[i].compare_exchange(seen.0, more, Relaxed, Relaxed);
        }
    }

    /// Bit i: way i has this tag.
    #[inline]
    pub fn matches(&self, tag: u64) -> u32 {
        let mut mask = 0;
        for (i, way) in self.0.iter().enumerate() {
            mask |= u32::from(way.load(Acquire) >> way::TAG == tag) << i;
        }
        mask
    }

    #[inline]
    pub fn free_ways(&self) -> u32 {
        let mut mask = 0;
        for i in 0..WAYS {
            mask |= u32::from(self.way(i).is_empty()) << i;
        }
        mask
    }

    #[inline]
    pub fn ghost(&self, g: usize) -> u64 {
        let half = |i: usize| self.0[i].load(Relaxed) & GHOST;
        half(2 * g) | half(2 * g + 1) << 6
    }

    #[inline]
    pub fn find_ghost(&self, fingerprint: u64) -> Option<usize> {
        (0..GHOSTS).find(|&g| self.ghost(g) == fingerprint)
    }

    /// The caller holds the lock.
    fn set_ghost(&self, g: usize, fingerprint: u64) {
        for (i, half) in [(2 * g, fingerprint & GHOST), (2 * g + 1, fingerprint >> 6)] {
            let way = self.0[i].load(Relaxed);
            if way & GHOST != half {
                // Release: a reader that finds its item by this word must see the item's bytes.
                self.0[i].store(way & !GHOST | half, Release);
            }
        }
    }

    /// Remembers a dropped key, forgets the oldest. The caller holds the lock.
    pub fn add_ghost(&self, fingerprint: u64) {
        // Youngest first; a hole left by `remove_ghost` is filled before the oldest goes.
        let last = self.find_ghost(0).unwrap_or(GHOSTS - 1);
        for g in (0..last).rev() {
            self.set_ghost(g + 1, self.ghost(g));
        }
        self.set_ghost(0, fingerprint);
    }

    /// The caller holds the lock.
    pub fn remove_ghost(&self, fingerprint: u64) -> bool {
        let found = self.find_ghost(fingerprint);
        if let Some(g) = found {
            self.set_ghost(g, 0);
        }
        found.is_some()
    }
}

/// Numbers that change whenever an entry of some tags is moved, in units of `MOVED`; below, how many
/// keys of these tags others must not look at without a lock, see `together`.
pub(crate) const MOVE_COUNTERS: usize = 256;
pub(crate) const MOVED: u64 = 1 << 32;

#[inline]
pub(crate) fn is_busy(moves: u64) -> bool {
    moves as u32 != 0
}

/// Which way an entry moves while somebody walks the buckets: see `scan`.
#[inline]
pub(crate) fn rises(tag: u64) -> bool {
    tag & 1 == 0
}

/// Both buckets of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub first: usize,
    pub second: usize,
}

pub(crate) struct Index {
    buckets: NonNull<Bucket>,
    locks: NonNull<AtomicU8>,
    moves: NonNull<AtomicU64>,
    groups: NonNull<AtomicU16>,
    pub walks: Walks,
    len: usize,
    lock_mask: usize,
    /// Buckets whose numbers have no other bits have the ghosts of all.
    ghost_mask: AtomicUsize,
}

// SAFETY: everything behind the pointers is atomic.
unsafe impl Send for Index {}
// SAFETY: as above.
unsafe impl Sync for Index {}

impl Index {
    /// Locks for this many threads; a power of two.
    pub fn locks_for(threads: usize) -> usize {
        (threads * 256).next_power_of_two().clamp(256, 1 << 16)
    }

    /// # Safety
    /// `len` buckets, `locks` (a power of two) locks, `MOVE_COUNTERS` numbers and `groups_of(len)`
    /// groups, zeroed and aligned, are there as long as this is used.
    pub unsafe fn new(
        buckets: NonNull<u8>,
        len: usize,
        locks: NonNull<u8>,
        lock_count: usize,
        moves: NonNull<u8>,
        groups: NonNull<u8>,
    ) -> Self {
        Self {
            buckets: buckets.cast(),
            locks: locks.cast(),
            moves: moves.cast(),
            groups: groups.cast(),
            walks: Walks::default(),
            len,
            lock_mask: lock_count - 1,
            ghost_mask: AtomicUsize::new(usize::MAX),
        }
    }

    /// Groups of so many buckets.
    pub fn groups_of(len: usize) -> usize {
        len.div_ceil(GROUP)
    }

    #[inline]
    fn group(&self, i: usize) -> &AtomicU16 {
        debug_assert!(i < Self::groups_of(self.len));
        // SAFETY: a group of a bucket.
        unsafe { self.groups.add(i).as_ref() }
    }

    /// Places of which an item may be in a bucket's group, a bit each.
    #[inline]
    pub fn places_at(&self, bucket: usize) -> u16 {
        self.group(bucket / GROUP).load(Relaxed)
    }

    /// An item of one of these places is in this bucket, which is locked, or is about to be. It has its
    /// number in the order of stores: so for any flush it is dead, or this comes after `leave`.
    #[inline]
    pub fn enter(&self, bucket: usize, places: u16) {
        if places & !self.places_at(bucket) != 0 {
            self.group(bucket / GROUP).fetch_or(places, Relaxed);
        }
    }

    /// What these places have by the time that a flush, which calls this first, has its number is dead then.
    pub fn leave(&self, places: u16) {
        for i in 0..Self::groups_of(self.len) {
            if self.group(i).load(Relaxed) & places != 0 {
                self.group(i).fetch_and(!places, Relaxed);
            }
        }
    }

    /// The bucket that has this one's ghosts. Both have the same lock.
    #[inline]
    pub fn ghosts_of(&self, bucket: usize) -> &Bucket {
        self.bucket(bucket & self.ghost_mask.load(Relaxed))
    }

    /// Makes room for one to four times as many ghosts as there are items, about what S3-FIFO has:
    /// older ones would let too many newcomers into the main log. Another size forgets most ghosts.
    pub fn fit_ghosts(&self, items: usize) {
        // With at least as many bits as the locks' mask, so that a lock is that of the ghosts, too.
        let wanted = (items / GHOSTS).max(self.lock_mask + 1);
        let now = self.ghost_mask.load(Relaxed).min(self.len - 1);
        if wanted > now + 1 || wanted < now / 4 {
            let fit = wanted.next_power_of_two();
            let mask = if fit < self.len { fit - 1 } else { usize::MAX };
            self.ghost_mask.store(mask, Relaxed);
        }
    }

    /// Which buckets have ghosts, for a process to come.
    pub fn ghost_mask(&self) -> u64 {
        self.ghost_mask.load(Relaxed) as u64
    }

    /// After one before: nobody has a lock, or keys that others must not look at; and each way leads to where
    /// `is_item` says an item can be.
    pub fn resume(&self, ghost_mask: u64, is_item: impl Fn(usize) -> bool) -> bool {
        for lock in 0..=self.lock_mask {
            self.lock_at(lock).store(0, Relaxed);
        }
        for tag in 0..MOVE_COUNTERS as u64 {
            self.moves(tag).fetch_and(!(MOVED - 1), Relaxed);
        }
        let sound = (0..self.len).all(|i| {
            let mut ways = self.bucket(i).0.iter().map(|way| Way(way.load(Relaxed)));
            ways.all(|way| way.is_empty() || is_item(way.offset()))
        });
        if sound {
            self.ghost_mask.store(ghost_mask as usize, Relaxed);
        }
        sound
    }

    /// Buckets.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn ways(&self) -> usize {
        self.len * WAYS
    }

    pub fn bytes(&self) -> usize {
        self.len * size_of::<Bucket>()
    }

    /// Writes to the bucket that lies so many bytes before the index's end, and changes nothing.
    pub fn touch(&self, before_end: usize) {
        let i = self.len - before_end.div_ceil(size_of::<Bucket>());
        self.bucket(i).0[0].fetch_or(0, Relaxed);
    }

    #[inline]
    pub fn bucket(&self, i: usize) -> &Bucket {
        debug_assert!(i < self.len);
        // SAFETY: bucket numbers are made by `first` and `other`, which are below `len`.
        unsafe { self.buckets.add(i).as_ref() }
    }

    #[inline]
    pub fn pair(&self, hash: Hash) -> Pair {
        let first = ((hash.high() * self.len as u64) >> 32) as usize;
        Pair { first, second: self.other(first, hash.tag()) }
    }

    /// The other bucket of an entry: `other(other(b, t), t) == b`.
    #[inline]
    pub fn other(&self, bucket: usize, tag: u64) -> usize {
        let scrambled = tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let sum = ((scrambled * self.len as u64) >> 32) as usize;
        if sum >= bucket {
            sum - bucket
        } else {
            sum + self.len - bucket
        }
    }

    #[inline]
    pub fn prefetch(&self, pair: Pair) {
        prefetch(self.bucket(pair.first));
        prefetch(self.bucket(pair.second));
    }

    /// A reader that misses a key must have seen the same number before and after.
    #[inline]
    pub fn moves(&self, tag: u64) -> &AtomicU64 {
        // SAFETY: below `MOVE_COUNTERS`.
        unsafe { self.moves.add(tag as usize % MOVE_COUNTERS).as_ref() }
    }

    #[inline]
    fn lock_of(&self, bucket: usize) -> usize {
        bucket & self.lock_mask
    }

    #[inline]
    fn lock_at(&self, i: usize) -> &AtomicU8 {
        // SAFETY: masked to the number of locks.
        unsafe { self.locks.add(i & self.lock_mask).as_ref() }
    }

    /// The locks of both buckets, in the order in which they are to be taken.
    #[inline]
    pub fn stripes(&self, pair: Pair) -> [usize; 2] {
        let (a, b) = (self.lock_of(pair.first), self.lock_of(pair.second));
        [a.min(b), a.max(b)]
    }

    /// Locks both buckets.
    #[inline]
    pub fn lock(&self, pair: Pair) -> Locked<'_> {
        let [low, high] = self.stripes(pair);
        acquire(self.lock_at(low));
        if high != low {
            acquire(self.lock_at(high));
        }
        Locked { index: self, low, high, others: None }
    }

    /// The same where this thread has these locks already: they are among `all`, which is in order.
    pub fn locked<'a>(&'a self, pair: Pair, all: &'a [u32]) -> Locked<'a> {
        let [low, high] = self.stripes(pair);
        let locked = Locked { index: self, low, high, others: Some(all) };
        assert!(locked.has(low) && locked.has(high), "a key that is not among those locked");
        locked
    }

    pub fn acquire(&self, stripe: usize) {
        acquire(self.lock_at(stripe));
    }

    pub fn release(&self, stripe: usize) {
        self.lock_at(stripe).store(0, Release);
    }

    /// Moves one entry of the pair's buckets to its other bucket, if one of them has a free way
    /// there, or if one can be made there in the same way. Says which way became free. The caller
    /// holds the lock on the pair.
    pub fn make_way(
        &self,
        pair: Pair,
        locked: &Locked<'_>,
        both_ways: bool,
    ) -> Option<(usize, usize)> {
        let entries = || {
            let buckets = [pair.first, pair.second];
            buckets.into_iter().flat_map(|bucket| (0..WAYS).map(move |i| (bucket, i)))
        };
        for (from, i) in entries() {
            prefetch(self.bucket(self.other(from, self.bucket(from).way(i).tag())));
        }
        let way = Moving { locked, tried: locked.low, both_ways };
        (0..=1).find_map(|depth| entries().find(|&(from, i)| self.shift(from, i, way, depth)))
    }

    /// Moves an entry out of its way, after up to `depth` others. This thread has the lock of `from`.
    fn shift(&self, from: usize, i: usize, mut moving: Moving<'_>, depth: u32) -> bool {
        let way = self.bucket(from).way(i);
        let to = self.other(from, way.tag());
        let right_way = if rises(way.tag()) { to > from } else { to < from };
        let allowed = right_way || (moving.both_ways && to != from);
        if !allowed || (depth == 0 && self.bucket(to).free_ways() == 0) {
            return false;
        }
        let stripe = self.lock_of(to);
        // Only tried: locks are taken in order, and this one would not be.
        let mine = stripe == moving.tried || moving.locked.has(stripe);
        if !mine && !try_acquire(self.lock_at(stripe)) {
            return false;
        }
        moving.tried = stripe;
        let free = self.bucket(to).free_ways();
        let place = if free != 0 {
            Some(free.trailing_zeros() as usize)
        } else if depth > 0 {
            (0..WAYS).find(|&j| self.shift(to, j, moving, depth - 1))
        } else {
            None
        };
        if let Some(j) = place {
            // A reader finds the entry in one bucket or the other, or sees the number change and
            // looks again.
            self.enter(to, self.places_at(from));
            self.bucket(to).set(j, self.bucket(from).way(i));
            self.moves(way.tag()).fetch_add(MOVED, AcqRel);
            if !right_way {
                // A walk that misses it where it was sees the new era.
                self.walks.moved_back();
            }
            self.bucket(from).clear(i);
        }
        if !mine {
            self.release(stripe);
        }
        place.is_some()
    }
}

/// How entries may be moved.
#[derive(Clone, Copy)]
struct Moving<'a> {
    /// Locks that this thread has, and one more.
    locked: &'a Locked<'a>,
    tried: usize,
    both_ways: bool,
}

/// Two buckets' locks, held.
pub(crate) struct Locked<'a> {
    index: &'a Index,
    low: usize,
    high: usize,
    /// They are among these, which this thread holds for longer.
    others: Option<&'a [u32]>,
}

impl Locked<'_> {
    /// This thread has this lock.
    fn has(&self, stripe: usize) -> bool {
        match self.others {
            Some(all) => all.binary_search(&(stripe as u32)).is_ok(),
            None => stripe == self.low || stripe == self.high,
        }
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.others.is_some() {
            return;
        }
        self.index.release(self.low);
        if self.high != self.low {
            self.index.release(self.high);
        }
    }
}

#[inline]
fn try_acquire(lock: &AtomicU8) -> bool {
    lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
}

#[inline]
fn acquire(lock: &AtomicU8) {
    if !try_acquire(lock) {
        acquire_slow(lock);
    }
}

#[cold]
fn acquire_slow(lock: &AtomicU8) {
    let mut turns = 0u32;
    while lock.load(Relaxed) != 0 || !try_acquire(lock) {
        turns += 1;
        // The holder may not be running.
        if turns.is_multiple_of(64) {
            yield_now();
        } else {
            spin_loop();
        }
    }
}

#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; any address will do.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Store};

    /// An entry that is moved takes the bits of its group along.
    #[test]
    fn groups_of_what_is_moved() {
        let config = Config { buckets: Some(64 * GROUP), ..Config::new(4 << 20) };
        let store = Store::new(config).unwrap();
        let index = &store.index;
        let group = |bucket: usize| bucket / GROUP;
        let second = index.other(0, 1);
        let pair = Pair { first: 0, second };
        for bucket in [0, second] {
            let elsewhere = |tag: &u64| {
                let other = group(index.other(bucket, *tag));
                other != group(0) && other != group(second)
            };
            for (i, tag) in (2..).filter(elsewhere).take(WAYS).enumerate() {
                index.bucket(bucket).set(i, Way::new(tag, 64, 64, 0));
            }
            index.enter(bucket, 1 << 3 | 1 << 15);
        }
        assert!(index.make_way(pair, &index.lock(pair), true).is_some());
        let used = |bucket: &usize| index.bucket(*bucket).free_ways() != (1 << WAYS) - 1;
        let used: Vec<_> = (0..index.len()).filter(used).collect();
        assert!(used.len() > 2);
        assert!(used.iter().all(|bucket| index.places_at(*bucket) == 1 << 3 | 1 << 15));
        index.leave(1 << 15);
        assert!(used.iter().all(|bucket| index.places_at(*bucket) == 1 << 3));
    }
}
