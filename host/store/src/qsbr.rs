//! When may room be used again that a reader may still look at? Quiescent-state-based reclamation.
//!
//! A chunk from which every item was unlinked gets the number of a new epoch. Each thread publishes
//! the last epoch that it saw at a moment when it held no reference. Once all of them published
//! that number or a later one (or are offline), nobody can hold a reference into the chunk.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::sync::{fence, AtomicU64};

/// What an offline thread publishes.
const OFFLINE: u64 = u64::MAX;

/// The epoch's number; on a line of its own, as all threads read it all the time.
#[repr(align(128))]
pub(crate) struct Epoch(AtomicU64);

impl Epoch {
    pub fn new() -> Self {
        Self(AtomicU64::new(1))
    }

    /// After unlinking: the epoch that has to have passed everywhere.
    pub fn advance(&self) -> u64 {
        let epoch = self.0.fetch_add(1, SeqCst) + 1;
        // Orders the unlinking before the look at the threads' states, against `Seen::online`.
        fence(SeqCst);
        epoch
    }
}

/// What one thread has seen.
#[repr(align(128))]
pub(crate) struct Seen(AtomicU64);

impl Seen {
    pub fn new() -> Self {
        Self(AtomicU64::new(OFFLINE))
    }

    /// This thread holds no reference now.
    #[inline]
    pub fn quiesce(&self, epoch: &Epoch) {
        // Acquire: what was unlinked before that epoch is not found afterwards.
        let now = epoch.0.load(Acquire);
        if self.0.load(Relaxed) != now {
            // Release: this thread's reads are over before the room is written to.
            self.0.store(now, Release);
        }
    }

    pub fn online(&self, epoch: &Epoch) {
        self.0.store(epoch.0.load(Acquire), SeqCst);
        // Either `advance`'s caller sees this thread, or this thread sees what it unlinked.
        fence(SeqCst);
    }

    pub fn offline(&self) {
        self.0.store(OFFLINE, Release);
    }

    pub fn is_offline(&self) -> bool {
        self.0.load(Acquire) == OFFLINE
    }

    /// Has this thread let go of everything that was unlinked before `epoch`?
    pub fn passed(&self, epoch: u64) -> bool {
        self.0.load(Acquire) >= epoch
    }
}
