//! Databases that change places.
//!
//! The *place* of a database is a number that is part of a key's hash and of an item. A key's hash is
//! made with the place that its database has by then, so two databases are swapped by swapping their
//! places, whatever they hold. For nobody to go on with a place that is another one's, that is done while
//! all other threads are offline: each goes there after its turn, and does not come back meanwhile. What
//! is kept for longer than a turn, a hash or a reservation, is renewed before it is used.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::Arc;

use crate::config::DATABASES;
use crate::hash::Hash;
use crate::local::Local;
use crate::pool::lock;
use crate::restart::Words;
use crate::store::Store;
use crate::sync::{fence, yield_now, AtomicBool, AtomicU8};

pub(crate) struct Places {
    /// By database.
    of: [AtomicU8; DATABASES],
    /// Threads that are offline stay so.
    stopped: AtomicBool,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            of: std::array::from_fn(|db| AtomicU8::new(db as u8)),
            stopped: AtomicBool::new(false),
        }
    }
}

impl Places {
    /// For a process to come.
    pub fn words(&self) -> [u64; DATABASES] {
        std::array::from_fn(|db| self.of[db].load(Relaxed).into())
    }

    /// Of one before.
    pub fn read(words: &mut Words<'_>) -> Option<Self> {
        let (places, mut seen) = (Self::default(), 0u16);
        for of in &places.of {
            let place = words.next().filter(|place| *place < DATABASES as u64)?;
            seen |= 1 << place;
            of.store(place as u8, Relaxed);
        }
        (seen == u16::MAX).then_some(places)
    }

    /// A thread that comes online: either it sees this, or whoever stops the others sees it.
    pub fn are_stopped(&self) -> bool {
        self.stopped.load(SeqCst)
    }
}

impl Store {
    #[inline]
    pub(crate) fn place(&self, db: u8) -> u8 {
        self.places.of[usize::from(db)].load(Relaxed)
    }

    /// The database that has a place.
    pub(crate) fn database(&self, place: u8) -> u8 {
        let mut all = 0..DATABASES as u8;
        all.find(|db| self.place(*db) == place).expect("each place is a database's")
    }
}

impl Local {
    /// A hash that was made some time ago, for the place that the database has now.
    #[inline]
    pub fn renew(&self, hash: Hash, db: u8) -> Hash {
        let place = self.store.place(db);
        if hash.place() == place {
            hash
        } else {
            hash.at(place)
        }
    }

    /// Waits until all other threads have gone offline, where they stay until `let_go`. False: another
    /// thread does so just now, and waits for this one.
    pub fn stop_others(&mut self) -> bool {
        self.come_back();
        if self.store.places.stopped.swap(true, SeqCst) {
            return false;
        }
        fence(SeqCst);
        // They may wait for this thread to let go of what they want to use again.
        self.thread.seen.offline();
        let all_offline = || {
            let threads = lock(&self.store.threads);
            let mut others = threads.list.iter().filter(|other| !Arc::ptr_eq(other, &self.thread));
            others.all(|other| other.seen.is_offline())
        };
        while !all_offline() {
            yield_now();
        }
        self.thread.seen.online(&self.store.epoch);
        true
    }

    /// The others go on.
    pub fn let_go(&mut self) {
        self.store.places.stopped.store(false, Release);
    }

    /// Gives each of two databases what the other one has. All other threads are stopped. As in Redis,
    /// of the keys that are watched in them those have changed that are in either.
    pub fn swap(&mut self, a: u8, b: u8) {
        assert!(self.store.places.are_stopped(), "other threads may be at work");
        if a == b {
            return;
        }
        let is_in = |db, key: &[u8]| self.get(key, self.hash_in(db, key)).is_some();
        self.store
            .watches
            .change(|db, key| (db == a || db == b) && (is_in(a, key) || is_in(b, key)));
        let of = &self.store.places.of;
        let place = of[usize::from(a)].load(Relaxed);
        of[usize::from(a)].store(of[usize::from(b)].load(Relaxed), Relaxed);
        of[usize::from(b)].store(place, Relaxed);
    }

    /// Waits while it must not be online.
    #[cold]
    pub(crate) fn wait_for_places(&self) {
        self.thread.seen.offline();
        while self.store.places.stopped.load(Acquire) {
            yield_now();
        }
    }
}
