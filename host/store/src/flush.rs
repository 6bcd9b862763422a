//! Flushes: nothing is visited, items are dead by their age. `flush_all` is as in memcached 1.6.38.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::config::DATABASES;
use crate::item::Raw;
use crate::restart::Words;
use crate::sync::{spin_loop, AtomicBool, AtomicU32, AtomicU64};

/// By the places of databases. Items stored before the `order` are dead. After a flush by memcached so
/// are those last used in or before second `live`, and, from second `pending` on, those last used in or
/// before that second.
#[derive(Default)]
pub(crate) struct Flush {
    /// There was one at all; almost always the only field that is looked at.
    any: AtomicBool,
    /// One gets its place in the order of stores.
    ordering: AtomicBool,
    live: [AtomicU32; DATABASES],
    pending: [AtomicU32; DATABASES],
    /// CAS uniques, which are given in the order of stores; see `Raw::order`.
    order: [AtomicU64; DATABASES],
}

impl Flush {
    /// For a process to come.
    pub fn words(&self) -> Vec<u64> {
        let seconds =
            self.live.iter().chain(&self.pending).map(|second| second.load(Relaxed).into());
        let orders = self.order.iter().map(|order| order.load(Relaxed));
        [self.any.load(Relaxed).into()].into_iter().chain(seconds).chain(orders).collect()
    }

    /// Of one before.
    pub fn read(words: &mut Words<'_>) -> Option<Self> {
        let flush = Self::default();
        flush.any.store(words.next()? != 0, Relaxed);
        for second in flush.live.iter().chain(&flush.pending) {
            second.store(words.next()? as u32, Relaxed);
        }
        for order in &flush.order {
            order.store(words.next()?, Relaxed);
        }
        Some(flush)
    }

    #[inline]
    pub fn flushed(&self, item: Raw, now: impl FnOnce() -> u32) -> bool {
        self.any.load(Relaxed) && self.flushed_by(item, now())
    }

    fn flushed_by(&self, item: Raw, now: u32) -> bool {
        let (time, place) = (item.time(), usize::from(item.place()));
        let pending = self.pending[place].load(Relaxed);
        let old = time <= self.live[place].load(Relaxed) || (pending <= now && time <= pending);
        old || before(item, self.order(item.place()))
    }

    /// A database's last flush, 0 if there was none.
    #[inline]
    pub fn order(&self, place: u8) -> u64 {
        self.order[usize::from(place)].load(Acquire)
    }

    /// The last flush of an item's database. `None`: the item is older. Called when the item just got
    /// its place in the order of stores, or was found.
    #[inline]
    pub fn since(&self, item: Raw) -> Option<u64> {
        if !self.any.load(Acquire) {
            return Some(0);
        }
        // One that has its place before the item's is not there yet.
        while self.ordering.load(Acquire) {
            spin_loop();
        }
        let order = self.order(item.place());
        (!before(item, order)).then_some(order)
    }

    /// At once, some places, a bit each; `own` is that of memcached's database. `next`: makes a new
    /// CAS unique. Items stored in this very second but after the flush live.
    pub fn at_once(&self, now: u32, places: u16, own: u8, next: impl FnOnce() -> u64) {
        while self.ordering.swap(true, AcqRel) {
            spin_loop();
        }
        self.any.store(true, Release);
        let order = next();
        for at in (0..DATABASES).filter(|at| places >> at & 1 != 0) {
            self.order[at].store(order, Release);
            if at == usize::from(own) {
                self.live[at].fetch_max(now.saturating_sub(1), Relaxed);
                self.pending[at].store(0, Relaxed);
            }
        }
        self.ordering.store(false, Release);
    }

    /// Memcached's database, at second `when - 1` (memcached's way of not losing what is stored at
    /// `when`); if it shows no CAS uniques, `whole`, at `when`. Second 0 is never: a date before the
    /// start flushes nothing.
    pub fn later(&self, now: u32, when: u32, whole: bool, place: u8) {
        let (live, pending) = (&self.live[usize::from(place)], &self.pending[usize::from(place)]);
        let second = when.saturating_sub(u32::from(!whole));
        let earlier = pending.load(Relaxed);
        if earlier <= now {
            // What a flush has killed stays dead.
            live.fetch_max(earlier, Relaxed);
        }
        pending.store(second, Relaxed);
        self.any.store(true, Relaxed);
    }
}

#[inline]
fn before(item: Raw, flush: u64) -> bool {
    let order = item.order();
    order != 0 && order < flush
}
