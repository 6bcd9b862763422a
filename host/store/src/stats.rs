//! Counters: each thread writes its own, `Store::stats` adds them up.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::config::DATABASES;
use crate::restart::Words;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One thread's counters. Differences may wrap below zero here; their sums do not.
        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub $name: Counter,)*
            /// Keys of each database.
            pub keys: [Keys; DATABASES],
            /// Of these, those that expire.
            pub expiring: [Keys; DATABASES],
        }

        impl Counters {
            pub fn add_to(&self, stats: &mut Stats) {
                $(stats.$name = stats.$name.wrapping_add(self.$name.0.load(Relaxed));)*
            }

            /// What is there, of all databases; not what happened.
            pub fn level_words(&self) -> Vec<u64> {
                let mut words = vec![self.items.get(), self.bytes.get()];
                for keys in self.keys.iter().chain(&self.expiring) {
                    words.extend([keys.since.load(Relaxed), keys.count.load(Relaxed)]);
                }
                words
            }

            /// Takes it over. As in memcached, all items count as stored.
            pub fn add_levels(&self, words: &mut Words<'_>) -> Option<()> {
                let items = words.next()?;
                self.items.add(items);
                self.total_items.add(items);
                self.bytes.add(words.next()?);
                for keys in self.keys.iter().chain(&self.expiring) {
                    keys.since.store(words.next()?, Relaxed);
                    keys.count.store(words.next()?, Relaxed);
                }
                Some(())
            }

            /// Takes over the counters of a thread that is gone.
            pub fn absorb(&self, other: &Counters) {
                $(self.$name.add(other.$name.0.load(Relaxed));)*
                for (keys, others) in self.keys.iter().zip(&other.keys) {
                    keys.absorb(others);
                }
                for (keys, others) in self.expiring.iter().zip(&other.expiring) {
                    keys.absorb(others);
                }
            }
        }

        /// What happened and what there is, over all threads.
        #[derive(Clone, Debug, Default)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// Ways of the index.
            pub ways: u64,
            pub index_bytes: u64,
            pub log_bytes: u64,
            /// Bytes mapped, managing data included.
            pub memory: u64,
            /// Bytes of a chunk.
            pub chunk: u64,
            pub chunks: u64,
            pub chunks_free: u64,
            /// Chunks of the small log and of the main log, open ones included.
            pub chunks_small: u64,
            pub chunks_main: u64,
            /// Emptied chunks that wait for readers and pins.
            pub chunks_limbo: u64,
            /// Chunks in which values lie that are not whole yet.
            pub chunks_lent: u64,
            pub chunks_pinned: u64,
        }
    };
}

counters! {
    /// Items in the index.
    items,
    /// Bytes that they take in the log.
    bytes,
    /// Items ever linked.
    total_items,
    /// Live items dropped for room.
    evictions,
    /// Of these, items never read.
    evicted_unfetched,
    /// Of the evictions, those for want of a way in the index.
    index_evictions,
    /// Expired or flushed items whose room was taken back.
    reclaimed,
    /// Of these, items never read.
    expired_unfetched,
    /// Newcomers that a ghost sent to the main log.
    ghost_hits,
    /// Items copied to the main log's head.
    relocations,
    /// Entries moved to their other bucket.
    index_moves,
    /// Reservations that found no room.
    full,
}

/// A number with one writer.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    #[inline]
    pub fn sub(&self, n: u64) {
        self.add(n.wrapping_neg());
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Keys of a database that were stored since its last flush, with one writer.
#[derive(Default)]
pub(crate) struct Keys {
    /// The flush.
    since: AtomicU64,
    count: AtomicU64,
}

impl Keys {
    /// `flush`: the database's last one, which only grows. `n` may be negative, in two's complement.
    #[inline]
    pub fn add(&self, flush: u64, n: u64) {
        if self.since.load(Relaxed) != flush {
            self.count.store(0, Relaxed);
            self.since.store(flush, Release);
        }
        self.count.store(self.count.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// May have wrapped below zero; the sum over all threads has not.
    pub fn get(&self, flush: u64) -> u64 {
        if self.since.load(Acquire) == flush {
            self.count.load(Relaxed)
        } else {
            0
        }
    }

    fn absorb(&self, other: &Keys) {
        let flush = other.since.load(Relaxed);
        if flush >= self.since.load(Relaxed) {
            self.add(flush, other.count.load(Relaxed));
        }
    }
}
