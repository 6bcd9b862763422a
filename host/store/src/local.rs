//! One thread's handle: looking up, and saying when no references are held.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::Arc;

use crate::hash::Hash;
use crate::index::{is_busy, prefetch, Pair, Way};
use crate::item::{attr, Raw};
use crate::pool::{lock, Thread};
use crate::qsbr::Seen;
use crate::stats::Counters;
use crate::store::Store;
use crate::together::Together;

/// Lines of an item that are fetched ahead; the processor sees by itself where a longer copy goes.
const LINES_AHEAD: usize = 8;
/// An item's time is brought up to date at least this often (memcached's `ITEM_UPDATE_INTERVAL`).
const TIME_INTERVAL: u32 = 60;

/// One thread's handle.
///
/// Items are borrowed from it; what needs `&mut` (`reserve`, `quiesce`, `offline`) is therefore a
/// point at which this thread holds none of them, which is when the room of evicted items may be
/// used again. What must live longer is pinned.
///
/// A thread that waits without having gone `offline` keeps emptied chunks from being used again.
pub struct Local {
    pub(crate) store: Arc<Store>,
    pub(crate) thread: Arc<Thread>,
    /// The open chunks of the small and of the main log.
    pub(crate) open: [Cell<Open>; 2],
    pub(crate) links: Cell<u32>,
    pub(crate) together: Together,
    pub(crate) random: Cell<u64>,
    online: Cell<bool>,
}

/// A thread's open run of one log.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    head: u32,
    /// Bytes of the run.
    pub capacity: usize,
}

impl Open {
    pub const NONE: Open = Open { head: u32::MAX, capacity: 0 };

    pub fn new(head: usize, capacity: usize) -> Self {
        Self { head: head as u32, capacity }
    }

    #[inline]
    pub fn head(&self) -> Option<usize> {
        (self.capacity != 0).then_some(self.head as usize)
    }
}

/// What a look-up found.
pub enum Lookup<'a> {
    Live(Item<'a>),
    /// The item's time has come.
    Expired,
    /// The item is older than a flush.
    Flushed,
    Absent,
}

/// Why an item is dead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Flushed,
    Expired,
}

/// A way that leads to the wanted item.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub bucket: usize,
    pub i: usize,
    pub way: Way,
}

impl Local {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let thread = Arc::new(Thread { seen: Seen::new(), counters: Counters::default() });
        let mut threads = lock(&store.threads);
        threads.list.push(thread.clone());
        threads.made += 1;
        let random = store.seed.mix[1].wrapping_mul(threads.made);
        drop(threads);
        let open = [Cell::new(Open::NONE), Cell::new(Open::NONE)];
        let local = Self {
            store,
            thread,
            open,
            links: Cell::new(0),
            together: Together::default(),
            random: Cell::new(random),
            online: Cell::new(false),
        };
        local.come_online();
        local
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Hash of a key of up to 255 bytes, of memcached's database; the same function as in
    /// `rtl/store/index/hash.sv`. It is for looking up, where a wrong one finds nothing; what changes the
    /// store computes its own.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> Hash {
        self.hash_in(0, key)
    }

    /// The same for a key of any database.
    #[inline]
    pub fn hash_in(&self, db: u8, key: &[u8]) -> Hash {
        self.store.seed.hash(key).in_place(self.store.place(db))
    }

    pub(crate) fn hash_of(&self, item: Raw) -> Hash {
        self.store.seed.hash(item.key()).in_place(item.place())
    }

    /// First pass over a batch: fetches both buckets.
    #[inline]
    pub fn prefetch_buckets(&self, hash: Hash) {
        self.store.index.prefetch(self.store.index.pair(hash));
    }

    /// Second pass: fetches the first lines of the items that may be the key's, or where the ghost of
    /// a new key may be.
    #[inline]
    pub fn prefetch_item(&self, hash: Hash) {
        let pair = self.store.index.pair(hash);
        let mut new = true;
        for bucket in [pair.first, pair.second] {
            let bucket = self.store.index.bucket(bucket);
            let mut mask = bucket.matches(hash.tag());
            new &= mask == 0;
            while mask != 0 {
                let way = bucket.way(mask.trailing_zeros() as usize);
                mask &= mask - 1;
                if way.is_empty() {
                    continue;
                }
                let at = self.store.chunks.at(way.offset()).as_ptr();
                for line in 0..way.lines().min(LINES_AHEAD) {
                    prefetch(at.wrapping_add(64 * line));
                }
            }
        }
        if new {
            for bucket in [pair.first, pair.second] {
                prefetch(self.store.index.ghosts_of(bucket));
            }
        }
    }

    /// The key's live item. Counts no use.
    #[inline]
    pub fn get(&self, key: &[u8], hash: Hash) -> Option<Item<'_>> {
        match self.look_up(key, hash) {
            Lookup::Live(item) => Some(item),
            _ => None,
        }
    }

    /// As `get`, and says why there is none (memcached's `get_expired`, `get_flushed`).
    #[inline]
    pub fn look_up(&self, key: &[u8], hash: Hash) -> Lookup<'_> {
        self.come_back();
        let pair = self.store.index.pair(hash);
        let moves = self.store.index.moves(hash.tag());
        let mut before = moves.load(Acquire);
        let found = loop {
            if is_busy(before) && !self.together.on {
                break self.find_locked(pair, hash, key);
            }
            if let Some(found) = self.find(pair, hash, key) {
                break Some(found);
            }
            // The entry may have been moved behind this look's back.
            let after = moves.load(Acquire);
            if after == before {
                break None;
            }
            before = after;
        };
        let Some((found, item)) = found else { return Lookup::Absent };
        match self.death(item) {
            None => Lookup::Live(Item { local: self, raw: item, found }),
            Some(Death::Expired) => Lookup::Expired,
            Some(Death::Flushed) => Lookup::Flushed,
        }
    }

    /// The key may be one of several that are changed in one step: it is found before or after.
    #[cold]
    fn find_locked(&self, pair: Pair, hash: Hash, key: &[u8]) -> Option<(Found, Raw)> {
        let _locked = self.store.index.lock(pair);
        self.find(pair, hash, key)
    }

    /// The way and item of a key, dead or alive. This thread is online or holds the pair's lock.
    #[inline]
    pub(crate) fn find(&self, pair: Pair, hash: Hash, key: &[u8]) -> Option<(Found, Raw)> {
        let tag = hash.tag();
        for bucket in [pair.first, pair.second] {
            let ways = self.store.index.bucket(bucket);
            let mut mask = ways.matches(tag);
            while mask != 0 {
                let i = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let way = ways.way(i);
                if way.tag() != tag {
                    continue;
                }
                // SAFETY: the way was read just now.
                let item = unsafe { self.store.item(way.offset()) };
                if item.is(key, hash.place()) {
                    return Some((Found { bucket, i, way }, item));
                }
            }
        }
        None
    }

    #[inline]
    pub(crate) fn death(&self, item: Raw) -> Option<Death> {
        if self.store.flush.flushed(item, || self.store.now()) {
            return Some(Death::Flushed);
        }
        let expiry = item.expiry();
        (expiry != 0 && expiry <= self.store.now_ms()).then_some(Death::Expired)
    }

    /// A use: counts for eviction, sets FETCHED and the last-access time. As in memcached the time
    /// is that of the second use, and of later ones when it has grown old.
    #[inline]
    pub fn hit(&self, item: &Item<'_>) {
        // Of the store where it was found, be it this one or another.
        let store = &item.local.store;
        store.index.bucket(item.found.bucket).used(item.found.i, item.found.way);
        let word = item.raw.word0().load(Relaxed);
        if word & attr::FETCHED == 0 {
            item.raw.word0().fetch_or(attr::FETCHED, Relaxed);
            return;
        }
        let now = store.now();
        if word & attr::ACTIVE == 0 {
            item.raw.word0().fetch_or(attr::ACTIVE, Relaxed);
            item.raw.time_field().store(now, Relaxed);
        } else if item.raw.time() < now.saturating_sub(TIME_INTERVAL) {
            item.raw.time_field().store(now, Relaxed);
        }
    }

    /// Says that this thread holds no reference. Once per loop iteration.
    #[inline]
    pub fn quiesce(&mut self) {
        if self.online.get() {
            self.thread.seen.quiesce(&self.store.epoch);
        }
    }

    /// Before a wait of any length: others need not wait for this thread until it is back.
    pub fn offline(&mut self) {
        self.thread.seen.offline();
        self.online.set(false);
    }

    /// After the wait. The next use of the store would do it, too.
    pub fn online(&mut self) {
        self.come_back();
    }

    #[inline]
    pub(crate) fn come_back(&self) {
        if !self.online.get() {
            self.come_online();
        }
    }

    #[cold]
    fn come_online(&self) {
        self.thread.seen.online(&self.store.epoch);
        while self.store.places.are_stopped() {
            self.wait_for_places();
            self.thread.seen.online(&self.store.epoch);
        }
        self.online.set(true);
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.thread.counters
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.together.on {
            self.unlock_all();
        }
        let mut pool = self.store.pool();
        for open in &self.open {
            if let Some(head) = open.replace(Open::NONE).head() {
                pool.close(&self.store.chunks, head);
            }
        }
        let mut threads = pool.threads();
        threads.list.retain(|thread| !Arc::ptr_eq(thread, &self.thread));
        threads.past.absorb(&self.thread.counters);
        drop(threads);
        self.store.publish(&pool);
    }
}

/// An item in the log, valid while its `Local` is borrowed.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    pub(crate) local: &'a Local,
    pub(crate) raw: Raw,
    pub(crate) found: Found,
}

impl<'a> Item<'a> {
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        self.raw.key()
    }

    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.raw.value()
    }

    /// The client's.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.raw.flags()
    }

    /// The second on the store's clock in which it is no longer there; 0: never.
    #[inline]
    pub fn exptime(&self) -> u32 {
        self.local.store.to_exptime(self.raw.expiry())
    }

    /// Unix time, in milliseconds, from which on it is no longer there; 0: never.
    #[inline]
    pub fn expiry(&self) -> u64 {
        self.raw.expiry()
    }

    pub fn db(&self) -> u8 {
        self.local.store.database(self.raw.place())
    }

    /// Time of the last access.
    #[inline]
    pub fn time(&self) -> u32 {
        self.raw.time()
    }

    #[inline]
    pub fn cas(&self) -> u64 {
        if self.local.store.with_cas || self.wide() {
            self.raw.cas()
        } else {
            0
        }
    }

    /// Was read since it was stored.
    #[inline]
    pub fn fetched(&self) -> bool {
        self.raw.has(attr::FETCHED)
    }

    #[inline]
    pub fn stale(&self) -> bool {
        self.raw.has(attr::STALE)
    }

    /// The one recache token of a stale or ageing item was handed out.
    #[inline]
    pub fn win_sent(&self) -> bool {
        self.raw.has(attr::WIN)
    }

    /// It has room for a CAS unique of 64 bits.
    #[inline]
    pub fn wide(&self) -> bool {
        self.raw.has(attr::WIDE)
    }

    /// The key is shown in base64: it was given so, or no line of memcached's text can have it.
    #[inline]
    pub fn binary_key(&self) -> bool {
        self.raw.has(attr::BINARY) || self.key().iter().any(|byte| matches!(byte, 0 | b'\n' | b' '))
    }

    /// How often it was used of late, before this: at most 3.
    pub fn uses(&self) -> u64 {
        self.found.way.count()
    }

    /// Bytes that it takes in the log.
    #[inline]
    pub fn size(&self) -> usize {
        self.raw.size()
    }

    /// What tells this very version of the key from any other.
    pub fn stamp(&self) -> Stamp {
        Stamp { place: self.found.way.offset(), cas: self.raw.cas() }
    }
}

/// One version of one key: equal stamps before and after `lock` mean that nothing was stored in
/// between. Taken from items without CAS uniques, it may miss a version that has come to lie at the
/// same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    place: usize,
    cas: u64,
}
