//! Skeleton: the API, not yet the store.
#![allow(unused_variables, dead_code)]
#![deny(unsafe_op_in_unsafe_fn)]

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// Key of the hash: 32 NH words and two odd multipliers. Drawn at random at start.
#[derive(Clone, Debug)]
pub struct HashKey {
    pub nh: [u32; 32],
    pub mix: [u64; 2],
}

impl HashKey {
    /// A key drawn from the operating system.
    pub fn random() -> Self {
        todo!()
    }
}

/// A key's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub(crate) u64);

/// What a store is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes for everything: index, log and what manages them.
    pub memory: usize,
    /// Largest key + value + header that must find room.
    pub item_max: usize,
    /// Bytes of key and value that items are expected to have on average; sizes the index.
    pub mean_item: usize,
    /// Bytes of a chunk, a power of two; `None`: by the memory.
    pub chunk: Option<usize>,
    /// Buckets of the index; `None`: by `mean_item`.
    pub buckets: Option<usize>,
    /// Threads that will hold a `Local` (more may).
    pub threads: usize,
    pub seed: HashKey,
    /// Without it a store that is out of room answers `Full` instead of evicting (`-M`).
    pub evict: bool,
    /// Without it every CAS unique is 0 (`-C`).
    pub cas: bool,
}

impl Config {
    /// Defaults for `memory` bytes.
    pub fn new(memory: usize) -> Self {
        todo!()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no room for index and log in {0} bytes")]
    Memory(usize),
    #[error("memory map: {0}")]
    Map(std::io::Error),
}

/// No room: everything is pinned or, without eviction, live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory")]
pub struct Full;

/// Counters; sums over all threads.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Items in the index, and the bytes they take in the log.
    pub items: u64,
    pub bytes: u64,
    /// Items ever linked.
    pub total_items: u64,
    /// Live items dropped for room, and those of them that were never read.
    pub evictions: u64,
    pub evicted_unfetched: u64,
    /// Expired or flushed items whose room was taken back, and those never read.
    pub reclaimed: u64,
    pub expired_unfetched: u64,
    /// Newcomers that a ghost sent to the main log.
    pub ghost_hits: u64,
    /// Items copied to the main log's head.
    pub relocations: u64,
    /// Entries moved to their other bucket, and items evicted for want of a way.
    pub index_moves: u64,
    pub index_evictions: u64,
    /// `reserve` that found no room.
    pub full: u64,
    /// Ways of the index; bytes of the index and of the log; bytes mapped in all.
    pub ways: u64,
    pub index_bytes: u64,
    pub log_bytes: u64,
    pub memory: u64,
    /// Chunks: size, in all, free, in each log (open ones included), waiting for readers, pinned.
    pub chunk: u64,
    pub chunks: u64,
    pub chunks_free: u64,
    pub chunks_small: u64,
    pub chunks_main: u64,
    pub chunks_limbo: u64,
    pub chunks_pinned: u64,
}

/// The store, shared by all threads. Each thread works through its own [`Local`].
pub struct Store {}

impl Store {
    pub fn new(config: Config) -> Result<Arc<Self>, Error> {
        todo!()
    }

    /// A handle for one thread. It starts online.
    pub fn local(self: &Arc<Self>) -> Local {
        todo!()
    }

    /// Sets the clock: seconds, as memcached's `rel_time` (it never goes back; 0 is never "now").
    pub fn set_now(&self, now: u32) {}

    pub fn now(&self) -> u32 {
        todo!()
    }

    pub fn stats(&self) -> Stats {
        todo!()
    }

    /// Header, key and value of an item as the log holds them.
    pub fn footprint(key: usize, value: usize, flags: u32, exptime: u32) -> usize {
        todo!()
    }
}

/// One thread's handle.
///
/// Items are borrowed from it; what needs `&mut` (`reserve`, `quiesce`, `offline`) is therefore a
/// point at which this thread holds none of them, which is when the room of evicted items may be
/// used again. What must live longer is pinned.
pub struct Local {
    _one_thread: PhantomData<std::cell::Cell<()>>,
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

impl Local {
    pub fn store(&self) -> &Arc<Store> {
        todo!()
    }

    /// Hash of a key of up to 256 bytes; the same function as in `rtl/store/hash.sv`.
    pub fn hash(&self, key: &[u8]) -> Hash {
        todo!()
    }

    /// First pass over a batch: fetches both buckets.
    pub fn prefetch_buckets(&self, hash: Hash) {}

    /// Second pass: fetches the first lines of the items that may be the key's.
    pub fn prefetch_item(&self, hash: Hash) {}

    /// The key's live item. Counts no use.
    pub fn get(&self, key: &[u8], hash: Hash) -> Option<Item<'_>> {
        match self.look_up(key, hash) {
            Lookup::Live(item) => Some(item),
            _ => None,
        }
    }

    /// As `get`, and says why there is none (memcached's `get_expired`, `get_flushed`).
    pub fn look_up(&self, key: &[u8], hash: Hash) -> Lookup<'_> {
        todo!()
    }

    /// A use: counts for eviction, sets FETCHED and the last-access time.
    pub fn hit(&self, item: &Item<'_>) {}

    /// Takes room for an item and writes its header and key. `exptime` is absolute on the store's
    /// clock, 0 never. The item is seen by nobody before `Entry::link`.
    pub fn reserve(
        &mut self,
        key: &[u8],
        hash: Hash,
        value: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        todo!()
    }

    /// As `reserve`, with room for a CAS unique of more than 48 bits (a client's own).
    pub fn reserve_wide(
        &mut self,
        key: &[u8],
        hash: Hash,
        value: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        todo!()
    }

    /// Locks the key's buckets. Dead items (expired, flushed) are dropped on the way.
    pub fn lock(&self, key: &[u8], hash: Hash) -> Entry<'_> {
        todo!()
    }

    /// A new CAS unique (0 when the store has none).
    pub fn next_cas(&self) -> u64 {
        todo!()
    }

    /// Every item stored before is dead (memcached's `flush_all` without a delay).
    pub fn flush(&self) {}

    /// The same at a second to come, as memcached 1.6.38 does it: `when` is absolute on the
    /// store's clock, 0 as `flush`.
    pub fn flush_at(&self, when: u32) {}

    /// Says that this thread holds no reference. Once per loop iteration.
    pub fn quiesce(&mut self) {}

    /// Before a wait of any length: others need not wait for this thread until `online`.
    pub fn offline(&mut self) {}

    /// After the wait, before the next use.
    pub fn online(&mut self) {}
}

/// An item in the log, valid while its `Local` is borrowed.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    _life: PhantomData<&'a Local>,
}

impl<'a> Item<'a> {
    pub fn key(&self) -> &'a [u8] {
        todo!()
    }
    pub fn value(&self) -> &'a [u8] {
        todo!()
    }
    pub fn flags(&self) -> u32 {
        todo!()
    }
    /// 0: never.
    pub fn exptime(&self) -> u32 {
        todo!()
    }
    /// Time of the last access.
    pub fn time(&self) -> u32 {
        todo!()
    }
    pub fn cas(&self) -> u64 {
        todo!()
    }
    /// Was read since it was stored.
    pub fn fetched(&self) -> bool {
        todo!()
    }
    pub fn stale(&self) -> bool {
        todo!()
    }
    /// The one recache token of a stale or near-expiry item was handed out.
    pub fn win_sent(&self) -> bool {
        todo!()
    }
    /// Bytes it takes in the log.
    pub fn size(&self) -> usize {
        todo!()
    }
    /// What tells this very version of the key from any other (compare before and after `lock`).
    pub fn stamp(&self) -> Stamp {
        todo!()
    }
    /// Keeps the bytes in place until the pin is dropped. `None`: too much is pinned; copy.
    pub fn pin(&self) -> Option<Pin> {
        todo!()
    }
}

/// One version of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    place: u64,
    cas: u64,
}

/// A value that stays where it is, on any thread, for any time.
pub struct Pin {}

impl Deref for Pin {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        todo!()
    }
}

/// Room for an item that is being filled. Dropped without `link` it is given back.
pub struct Reservation {}

impl Reservation {
    pub fn hash(&self) -> Hash {
        todo!()
    }
    pub fn key(&self) -> &[u8] {
        todo!()
    }
    pub fn value(&mut self) -> &mut [u8] {
        todo!()
    }
    /// Takes over what is not key, value, flags, exptime or CAS unique: last access, FETCHED,
    /// STALE, WIN_SENT. For items that are copied because they have to change.
    pub fn inherit(&mut self, item: &Item<'_>) {}
    /// Sets or clears STALE and WIN_SENT.
    pub fn set_stale(&mut self, on: bool) {}
    pub fn set_win_sent(&mut self, on: bool) {}
}

/// A key whose buckets are locked. What is done through it is one step for all other threads.
pub struct Entry<'a> {
    _life: PhantomData<&'a Local>,
}

impl<'a> Entry<'a> {
    /// The live item.
    pub fn item(&self) -> Option<Item<'_>> {
        todo!()
    }
    /// Makes the reservation the key's item. `cas`: the unique to give it; `None`: a new one.
    /// Returns it. `Full`: the index has no way left (only in a store that does not evict); the
    /// key keeps what it had.
    pub fn link(self, reservation: Reservation, cas: Option<u64>) -> Result<u64, Full> {
        todo!()
    }
    /// Drops the item, if there is one.
    pub fn remove(self) -> bool {
        todo!()
    }
    /// Sets the expiry. `false`: the item has no field for it; it must be copied.
    pub fn touch(&self, exptime: u32) -> bool {
        todo!()
    }
    /// Sets the item's CAS unique. `false`: it does not fit (`reserve_wide`).
    pub fn set_cas(&self, cas: u64) -> bool {
        todo!()
    }
    pub fn set_stale(&self, on: bool) {}
    pub fn set_win_sent(&self, on: bool) {}
    /// As `Local::hit`, for the locked item.
    pub fn hit(&self) {}
}
