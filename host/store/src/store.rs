//! The store: how its memory is divided, and what all threads share.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::chunk::{Chunk, Chunks};
use crate::config::{Config, Error, DATABASES};
use crate::flush::Flush;
use crate::hash::HashKey;
use crate::index::{Bucket, Index, MOVE_COUNTERS, OFFSET_MAX, WAYS};
use crate::item::{Raw, Shape, HEADER};
use crate::lent::Stages;
use crate::local::{Item, Local};
use crate::map::Map;
use crate::pool::{lock, Pool, Threads};
use crate::populate::Populator;
use crate::qsbr::Epoch;
use crate::reserve::Fields;
use crate::restart::{File, Reason, Words};
use crate::stats::{Counters, Keys, Stats};
use crate::swap::Places;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard};
use crate::watch::Watches;

/// Share of the ways that items may take before eviction makes room in the index.
const FILL: f64 = 0.95;
/// Chunks without which the logs do not work: open ones, some ahead, and something to evict.
const CHUNKS_MIN: usize = 8;

/// Who is told of each live item that is dropped for room, at which second. Its buckets are locked.
pub type Told = Box<dyn Fn(&Item<'_>, u32) + Send + Sync>;

/// On cache lines of its own.
#[repr(align(128))]
pub(crate) struct Apart<T>(pub T);

/// The store, shared by all threads. Each thread works through its own [`Local`].
pub struct Store {
    pub(crate) map: Map,
    pub(crate) file: Option<File>,
    pub(crate) reason: Option<Reason>,
    pub(crate) resumed: Option<u64>,
    mapped: usize,
    pub(crate) populator: Populator,
    pub(crate) index: Index,
    pub(crate) chunks: Chunks,
    /// Bytes of a block for values on their way in.
    pub(crate) block: usize,
    /// Bytes of the longest value that is received in such.
    pub(crate) longest: usize,
    /// Chunks with pins. In the mapping, as pins may outlive this structure.
    pub(crate) pinned: NonNull<AtomicU32>,
    pub(crate) seed: HashKey,
    pub(crate) places: Places,
    pub(crate) evict: bool,
    pub(crate) with_cas: bool,
    pub(crate) patience: Duration,
    /// Items that the index takes without getting crowded.
    pub(crate) crowded: i64,
    /// Links of a thread between two looks at how crowded the index is.
    pub(crate) links_a_look: u32,
    /// The clock: seconds, as memcached's `rel_time`, and Unix milliseconds.
    now: AtomicU32,
    now_ms: AtomicU64,
    /// Unix milliseconds of the clock's 0.
    epoch_ms: u64,
    pub(crate) flush: Flush,
    /// Copies of what the pool says, to be read without its lock: there is something to evict;
    /// newcomers fill the main log because nothing was evicted yet and the small one is full.
    pub(crate) short: AtomicBool,
    pub(crate) overflow: AtomicBool,
    pub(crate) epoch: Epoch,
    pub(crate) watches: Watches,
    pub(crate) told_of_evictions: OnceLock<Told>,
    cas: Apart<AtomicU64>,
    pub(crate) threads: Arc<Mutex<Threads>>,
    pub(crate) pool: Apart<Mutex<Pool>>,
    levels: Levels,
}

/// Numbers of the pool, as of when it was last unlocked.
#[derive(Default)]
struct Levels {
    free: AtomicU32,
    small: AtomicU32,
    main: AtomicU32,
    limbo: AtomicU32,
    lent: AtomicU32,
}

// SAFETY: `pinned` points at an atomic in the mapping; the rest is Send and Sync by itself.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    pub fn new(config: Config) -> Result<Arc<Self>, Error> {
        let plan = Plan::new(&config)?;
        let (file, state) = match &config.file {
            Some(path) => {
                let (file, state) = File::open(path, &plan)?;
                (Some(file), state)
            }
            None => (None, Err(None)),
        };
        let map = Map::new(plan.mapped, config.resident, file.as_ref().map(File::descriptor))?;
        let part = |offset: usize| {
            debug_assert!(offset <= plan.mapped);
            // SAFETY: parts begin inside the mapping.
            unsafe { map.base().add(offset) }
        };
        // SAFETY: the plan's parts do not overlap, are aligned to lines, and lie in the zeroed
        // mapping, which stays as long as the store; or they are what these same parts were.
        let (index, chunks) = unsafe {
            let (buckets, moves) = (part(plan.buckets_at), part(plan.moves_at));
            let (locks, groups) = (part(plan.locks_at), part(plan.groups_at));
            let index = Index::new(buckets, plan.buckets, locks, plan.locks, moves, groups);
            let table = part(plan.table_at);
            (index, Chunks::new(table, map.base(), plan.log_at, plan.shift, plan.chunks))
        };
        let ways = index.ways();
        let stages = Stages::new(chunks.len(), chunks.size(), config.item_max);
        let threads = Arc::new(Mutex::new(Threads::default()));
        let mut store = Self {
            pinned: part(0).cast(),
            mapped: plan.mapped,
            map,
            file,
            reason: None,
            resumed: None,
            populator: Populator::default(),
            crowded: (ways as f64 * FILL) as i64,
            links_a_look: (ways / 128).clamp(1, 512) as u32,
            index,
            block: stages.block(),
            longest: stages.longest(),
            pool: Apart(Mutex::new(Pool::new(chunks.len(), stages, threads.clone()))),
            threads,
            levels: Levels::default(),
            chunks,
            seed: config.seed,
            places: Places::default(),
            evict: config.evict,
            with_cas: config.cas,
            patience: config.patience,
            now: AtomicU32::new(2),
            now_ms: AtomicU64::new(config.epoch + 2000),
            epoch_ms: config.epoch,
            flush: Flush::default(),
            short: AtomicBool::new(false),
            overflow: AtomicBool::new(false),
            epoch: Epoch::new(),
            watches: Watches::default(),
            told_of_evictions: OnceLock::new(),
            cas: Apart(AtomicU64::new(1)),
        };
        store.reason = state.and_then(|state| store.resume(&state)).err().flatten();
        if let (Some(file), None, Some(_)) = (&store.file, store.resumed, &config.file) {
            // What was not taken over is in nobody's way.
            file.clear()?;
        }
        store.publish(&store.pool());
        Ok(Arc::new(store))
    }

    /// What another process is to know beside the mapping.
    pub(crate) fn state(&self, pool: &mut Pool) -> Vec<u64> {
        let mut words: Vec<u64> = self.seed.nh.iter().map(|word| u64::from(*word)).collect();
        words.extend(self.seed.mix);
        words.extend([self.epoch_ms, self.now_ms(), self.cas.0.load(Relaxed)]);
        words.extend([self.chunks.opened() as u64, self.index.ghost_mask()]);
        words.push(self.index.walks.next_era());
        words.extend(self.flush.words());
        words.extend(self.places.words());
        words.extend(lock(&self.threads).past.level_words());
        words.extend(pool.words());
        words
    }

    /// Goes on where another process ended, whose state this is.
    fn resume(&mut self, state: &[u64]) -> Result<(), Option<Reason>> {
        let mut words = Words::new(state);
        self.resume_by(&mut words).ok_or_else(|| Some("it is damaged".into()))
    }

    fn resume_by(&mut self, words: &mut Words<'_>) -> Option<()> {
        let mut seed = self.seed.clone();
        for word in &mut seed.nh {
            *word = words.next()? as u32;
        }
        for word in &mut seed.mix {
            *word = words.next()?;
        }
        let (epoch_ms, now_ms, cas) = (words.next()?, words.next()?, words.next()?);
        let opened = words.next().filter(|opened| *opened <= self.chunks.len() as u64)? as usize;
        let (ghost_mask, era) = (words.next()?, words.next()?);
        let (flush, places) = (Flush::read(words)?, Places::read(words)?);
        let past = Counters::default();
        past.add_levels(words)?;
        let is_item = |offset: usize| {
            let chunks = &self.chunks;
            chunks.range().contains(&offset) && {
                let head = chunks.managing(offset);
                head < chunks.len()
                    && offset - chunks.offset(head).min(offset) < chunks.get(head).used()
            }
        };
        if !self.index.resume(ghost_mask, is_item) {
            return None;
        }
        let ms = now_ms.checked_sub(epoch_ms)?;
        self.pool().resume(&self.chunks, words)?;
        self.pinned().store(0, Relaxed);
        self.chunks.open_up_to(opened);
        self.index.walks.begin_era(era);
        lock(&self.threads).past = past;
        (self.seed, self.flush, self.places) = (seed, flush, places);
        self.cas.0.store(cas, Relaxed);
        self.epoch_ms = epoch_ms;
        self.now_ms.store(now_ms, Relaxed);
        self.now.store((ms / 1000) as u32, Relaxed);
        self.resumed = Some(ms);
        Some(())
    }

    /// Has `told` called with each live item that makes room for others; once, and it must not use the store.
    pub fn tell_evictions(&self, told: Told) {
        let _ = self.told_of_evictions.set(told);
    }

    /// A handle for one thread. It starts online.
    pub fn local(self: &Arc<Self>) -> Local {
        Local::new(self.clone())
    }

    /// Sets the clock to so many milliseconds since its 0. It starts at 2,000 and never goes back. To be
    /// called at least about once a second: values that do not come are given up then.
    pub fn set_clock(&self, ms: u64) {
        let unix = self.epoch_ms + ms;
        if unix <= self.now_ms() {
            return;
        }
        self.now_ms.fetch_max(unix, Relaxed);
        let second = (ms / 1000) as u32;
        if second > self.now() && self.now.fetch_max(second, Relaxed) < second {
            let mut pool = self.pool();
            pool.sweep(second);
            self.publish(&pool);
        }
    }

    /// The same in seconds.
    pub fn set_now(&self, now: u32) {
        self.set_clock(1000 * u64::from(now));
    }

    /// The clock's seconds, as memcached's `rel_time`.
    #[inline]
    pub fn now(&self) -> u32 {
        self.now.load(Relaxed)
    }

    /// Items make room for others (no `-M`).
    pub fn evicts(&self) -> bool {
        self.evict
    }

    /// Unix time in milliseconds, on the same clock: it runs as it does from the start on, whatever
    /// becomes of the system's.
    #[inline]
    pub fn now_ms(&self) -> u64 {
        self.now_ms.load(Relaxed)
    }

    /// Unix milliseconds of a second on the store's clock; 0, which is never, stays 0.
    #[inline]
    pub fn to_expiry(&self, exptime: u32) -> u64 {
        match exptime {
            0 => 0,
            exptime => self.epoch_ms + 1000 * u64::from(exptime),
        }
    }

    /// The second on the store's clock in which such an item is no longer there; 0 stays 0.
    #[inline]
    pub fn to_exptime(&self, expiry: u64) -> u32 {
        match expiry {
            0 => 0,
            expiry => {
                let second = expiry.saturating_sub(self.epoch_ms).div_ceil(1000);
                u32::try_from(second.max(1)).unwrap_or(u32::MAX)
            }
        }
    }

    /// Bytes that an item takes in the log of a store that evicts. `expiry`: 0 if it has none.
    pub fn footprint(key: usize, value: usize, flags: u32, expiry: u64) -> usize {
        Shape::new(0, key, value, Fields { flags, expiry, wide: false }, expiry != 0).size()
    }

    /// Keys of a database. Expired ones count until somebody meets them.
    pub fn keys(&self, db: u8) -> u64 {
        self.sum_keys(db, |counters| &counters.keys)
    }

    /// Those of them that expire some time.
    pub fn expiring(&self, db: u8) -> u64 {
        self.sum_keys(db, |counters| &counters.expiring)
    }

    fn sum_keys(&self, db: u8, of: impl Fn(&Counters) -> &[Keys; DATABASES]) -> u64 {
        let place = self.place(db);
        let flush = self.flush.order(place);
        let sum = lock(&self.threads).sum(|counters| of(counters)[usize::from(place)].get(flush));
        // What is under way may be counted where it ends and not where it began.
        (sum as i64).max(0) as u64
    }

    /// Unix time, in milliseconds, of the clock's 0.
    pub fn epoch_ms(&self) -> u64 {
        self.epoch_ms
    }

    /// Bytes that items, their index and what manages them have.
    pub fn memory(&self) -> usize {
        self.mapped
    }

    pub fn stats(&self) -> Stats {
        let levels = &self.levels;
        let level = |level: &AtomicU32| u64::from(level.load(Relaxed));
        let mut stats = Stats {
            ways: self.index.ways() as u64,
            index_bytes: (self.index.ways() * 8) as u64,
            log_bytes: (self.chunks.len() * self.chunks.size()) as u64,
            memory: self.mapped as u64,
            chunk: self.chunks.size() as u64,
            chunks: self.chunks.len() as u64,
            chunks_free: level(&levels.free),
            chunks_small: level(&levels.small),
            chunks_main: level(&levels.main),
            chunks_limbo: level(&levels.limbo),
            chunks_lent: level(&levels.lent),
            chunks_pinned: u64::from(self.pinned().load(Relaxed)),
            ..Stats::default()
        };
        let threads = lock(&self.threads);
        threads.past.add_to(&mut stats);
        for thread in &threads.list {
            thread.counters.add_to(&mut stats);
        }
        stats
    }

    /// A new CAS unique. Items have them for their order even if the store shows none.
    #[inline]
    pub(crate) fn next_cas(&self) -> u64 {
        // Ordered: see `Flush::since`.
        self.cas.0.fetch_add(1, AcqRel) + 1
    }

    /// Every item of memcached's database stored before is dead (`flush_all` without a delay).
    pub fn flush(&self) {
        self.flush_db(0);
    }

    /// The same for any database.
    pub fn flush_db(&self, db: u8) {
        self.flush_places(1 << self.place(db));
    }

    /// All of them, in one step.
    pub fn flush_all_dbs(&self) {
        self.flush_places(u16::MAX);
    }

    fn flush_places(&self, places: u16) {
        self.index.leave(places);
        self.flush.at_once(self.now(), places, self.place(0), || self.next_cas());
    }

    /// As `flush`, at a second to come, as memcached does it: `when` is absolute on the store's
    /// clock, 0 as `flush`. So is a second that is over, if the store has CAS uniques; 1 is a date before the
    /// start, for memcached, and flushes nothing.
    pub fn flush_at(&self, when: u32) {
        if when == 0 || (self.with_cas && (2..=self.now()).contains(&when)) {
            return self.flush();
        }
        self.flush.later(self.now(), when, !self.with_cas, self.place(0));
    }

    pub(crate) fn pinned(&self) -> &AtomicU32 {
        // SAFETY: in the mapping, only used as an atomic.
        unsafe { self.pinned.as_ref() }
    }

    pub(crate) fn pool(&self) -> MutexGuard<'_, Pool> {
        lock(&self.pool.0)
    }

    pub(crate) fn try_pool(&self) -> Option<MutexGuard<'_, Pool>> {
        self.pool.0.try_lock().ok()
    }

    /// To be called before the pool is unlocked.
    pub(crate) fn publish(&self, pool: &Pool) {
        self.short.store(self.evict && pool.is_short(), Relaxed);
        self.overflow.store(!pool.evicted && pool.small_is_full(&self.chunks), Relaxed);
        self.populator.follow(self.chunks.opened());
        let levels = &self.levels;
        levels.free.store(pool.free.len() as u32, Relaxed);
        levels.small.store(pool.small_chunks as u32, Relaxed);
        levels.main.store(pool.main_chunks as u32, Relaxed);
        levels.limbo.store(pool.waiting_chunks() as u32, Relaxed);
        levels.lent.store(pool.stages.chunks() as u32, Relaxed);
    }

    /// The item of a place that the caller found in a way.
    ///
    /// # Safety
    /// The caller's thread is online and found the way since it last quiesced, or it holds the lock
    /// of the way's bucket.
    #[inline]
    pub(crate) unsafe fn item(&self, offset: usize) -> Raw {
        // SAFETY: a way's place is that of an item written before; its chunk is not reused before
        // every thread that may have seen the way has quiesced.
        unsafe { Raw::new(self.chunks.at(offset)) }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Pins and reservations may live longer than the store. Then the mapping stays.
        if self.pinned().load(Acquire) == 0 && !self.chunks.any_in_use() {
            // SAFETY: no `Local` is left, as each holds the store; no pin and no reservation, as
            // was just seen, and none can be made without a `Local`.
            unsafe { self.map.unmap() }
        }
    }
}

/// Where everything lies in the mapping: the number of pinned chunks, move counters, locks, chunk
/// table, groups, index, log.
pub(crate) struct Plan {
    moves_at: usize,
    locks_at: usize,
    locks: usize,
    table_at: usize,
    groups_at: usize,
    buckets_at: usize,
    buckets: usize,
    log_at: usize,
    shift: u32,
    chunks: usize,
    mapped: usize,
    /// What items mean depends on these, too.
    cas: bool,
    evict: bool,
}

impl Plan {
    pub const WORDS: usize = 7;

    /// What two stores must have in common for one to go on with the other's memory. The number of chunks comes first.
    pub fn words(&self) -> [u64; Self::WORDS] {
        let sizes = [self.chunks, self.shift as usize, self.buckets, self.locks, self.mapped];
        let [chunks, shift, buckets, locks, mapped] = sizes.map(|size| size as u64);
        [chunks, shift, buckets, locks, mapped, self.cas.into(), self.evict.into()]
    }

    pub fn chunks(&self) -> usize {
        self.chunks
    }

    pub fn mapped(&self) -> usize {
        self.mapped
    }

    fn new(config: &Config) -> Result<Self, Error> {
        let memory = config.memory;
        let too_small = Error::Memory(memory, config.item_max);
        if memory > OFFSET_MAX {
            return Err(Error::TooMuch(memory));
        }
        let chunk = config.chunk.unwrap_or_else(|| {
            let floor = |n: usize| 1usize << n.max(64).ilog2();
            // Large chunks waste little at their ends, small ones where they are kept free or are
            // being filled: each thread fills one of each log.
            let most = floor(memory / 64).min(floor(memory / 16 / config.threads.max(1)));
            floor(memory / 512).clamp(256 << 10, 1 << 20).min(most)
        });
        if !chunk.is_power_of_two() || !(64..=1 << 30).contains(&chunk) {
            return Err(Error::Chunk(chunk));
        }
        let moves_at = 128;
        let locks_at = (moves_at + 8 * MOVE_COUNTERS).next_multiple_of(64);
        let locks = Index::locks_for(config.threads);
        let table_at = (locks_at + locks).next_multiple_of(64);
        let a_chunk = chunk + size_of::<Chunk>() + Pool::BYTES_A_CHUNK;
        let left = memory.checked_sub(table_at).ok_or(too_small)?;
        let buckets = config.buckets.unwrap_or_else(|| {
            let item = (HEADER + config.mean_item).next_multiple_of(8);
            let item = item as f64 * (a_chunk as f64 / chunk as f64);
            (left as f64 / (8.0 + FILL * item)) as usize / WAYS
        });
        let index = buckets * size_of::<Bucket>();
        let groups = (2 * Index::groups_of(buckets)).next_multiple_of(64);
        let chunks = left.saturating_sub(index + groups) / a_chunk;
        let large = config.item_max > chunks * chunk / 4 * 3;
        if buckets == 0 || chunks < CHUNKS_MIN || large {
            return Err(Error::Memory(memory, config.item_max));
        }
        let groups_at = table_at + chunks * size_of::<Chunk>();
        let buckets_at = groups_at + groups;
        let log_at = buckets_at + index;
        let mapped = log_at + chunks * chunk;
        let shift = chunk.ilog2();
        Ok(Self {
            moves_at,
            locks_at,
            locks,
            table_at,
            groups_at,
            buckets_at,
            buckets,
            log_at,
            shift,
            chunks,
            mapped,
            cas: config.cas,
            evict: config.evict,
        })
    }
}
