//! What a store is made of, and what can be wrong with it.

use std::path::PathBuf;
use std::time::Duration;

use crate::hash::HashKey;

/// Most that a key may have.
pub const KEY_MAX: usize = 255;
/// Databases; a key is one of its database. memcached's is 0.
pub const DATABASES: usize = 16;

#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes for everything: index, log and what manages them.
    pub memory: usize,
    /// Largest item (header, key and value) for which room is promised.
    pub item_max: usize,
    /// Bytes of key and value that items are expected to have on average; sizes the index.
    pub mean_item: usize,
    /// Bytes of a chunk of the log, a power of two of at least 64. `None`: by the memory, which is
    /// right but for tests. Larger items take several chunks in a row.
    pub chunk: Option<usize>,
    /// Buckets of the index; `None`: by `mean_item`.
    pub buckets: Option<usize>,
    /// Threads that will hold a `Local`. More may; this sizes the table of locks.
    pub threads: usize,
    pub seed: HashKey,
    /// Without it a store that is out of room answers `Full` instead of evicting (`-M`).
    pub evict: bool,
    /// Without it every CAS unique is 0 (`-C`).
    pub cas: bool,
    /// All memory is made resident at the start, so that nobody waits for the kernel to zero a page
    /// (`-L`).
    pub resident: bool,
    /// Unix time, in milliseconds, of the 0 of the store's clock.
    pub epoch: u64,
    /// A file that the store is in, so that it outlives its process (`-e`).
    pub file: Option<PathBuf>,
    /// How long a thread waits for others to let go of emptied chunks before it is out of room.
    pub patience: Duration,
}

impl Config {
    /// Defaults for `memory` bytes, with a random hash key.
    pub fn new(memory: usize) -> Self {
        Self {
            memory,
            item_max: 1 << 20,
            mean_item: 88,
            chunk: None,
            buckets: None,
            threads: 1,
            seed: HashKey::random(),
            evict: true,
            cas: true,
            resident: false,
            epoch: 0,
            file: None,
            patience: Duration::from_millis(500),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} bytes of memory do not hold an index and a log for items of up to {1} bytes")]
    Memory(usize, usize),
    #[error("a chunk of {0} bytes is not a power of two from 64 to 2^30")]
    Chunk(usize),
    #[error("{0} bytes of memory are more than a place can name")]
    TooMuch(usize),
    #[error("{path}: {why}", path = .0.display(), why = .1)]
    File(PathBuf, String),
    #[error("memory map: {0}")]
    Map(#[from] std::io::Error),
}

/// No room: everything is in use or, without eviction, live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory")]
pub struct Full;
