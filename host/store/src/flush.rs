//! `flush_all`, as memcached 1.6.38 does it: nothing is visited, items are dead by their age.

use std::sync::atomic::Ordering::Relaxed;

use crate::item::Raw;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64};

/// Items last used in or before second `live`, or stored before `order`, are dead. So are, from
/// second `pending` on, those last used in or before that second.
#[derive(Default)]
pub(crate) struct Flush {
    /// There was one at all; almost always the only field that is looked at.
    any: AtomicBool,
    live: AtomicU32,
    pending: AtomicU32,
    /// A CAS unique, which are given in the order of stores; see `Raw::order`.
    order: AtomicU64,
}

impl Flush {
    #[inline]
    pub fn flushed(&self, item: Raw, now: u32) -> bool {
        self.any.load(Relaxed) && self.flushed_by(item, now)
    }

    fn flushed_by(&self, item: Raw, now: u32) -> bool {
        let time = item.time();
        let pending = self.pending.load(Relaxed);
        if time <= self.live.load(Relaxed) || (pending <= now && time <= pending) {
            return true;
        }
        let order = item.order();
        order != 0 && order < self.order.load(Relaxed)
    }

    /// `cas`: a new unique. Items stored in this very second but after the flush live.
    pub fn at_once(&self, now: u32, cas: u64) {
        self.live.fetch_max(now.saturating_sub(1), Relaxed);
        self.order.fetch_max(cas, Relaxed);
        self.pending.store(0, Relaxed);
        self.any.store(true, Relaxed);
    }

    /// At second `when - 1` (memcached's way of not losing what is stored at `when`); if it shows no
    /// CAS uniques, `whole`, at `when`. Second 0 is never: a date before the start flushes nothing.
    pub fn later(&self, now: u32, when: u32, whole: bool) {
        let second = when.saturating_sub(u32::from(!whole));
        let earlier = self.pending.load(Relaxed);
        if earlier <= now {
            // What a flush has killed stays dead.
            self.live.fetch_max(earlier, Relaxed);
        }
        self.pending.store(second, Relaxed);
        self.any.store(true, Relaxed);
    }
}
