//! `flush_all`, as memcached 1.6.38 does it: nothing is visited, items are dead by their age.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use crate::item::Raw;

/// Items last used in or before second `live` are dead. So are, from second `pending` on, those
/// last used in or before that second.
///
/// What is stored after a flush in its very second lives: its time is the second that follows, see
/// `Flush::time`. A CAS unique would not tell it, since clients may choose theirs.
#[derive(Default)]
pub(crate) struct Flush {
    /// There was one at all; almost always the only field that is looked at.
    any: AtomicBool,
    live: AtomicU32,
    pending: AtomicU32,
}

impl Flush {
    #[inline]
    pub fn flushed(&self, item: Raw, now: u32) -> bool {
        self.any.load(Relaxed) && self.flushed_by(item, now)
    }

    fn flushed_by(&self, item: Raw, now: u32) -> bool {
        let time = item.time();
        let pending = self.pending.load(Relaxed);
        time <= self.live.load(Relaxed) || (pending <= now && time <= pending)
    }

    /// The time of what is stored or used now.
    #[inline]
    pub fn time(&self, now: u32) -> u32 {
        if self.any.load(Relaxed) {
            now.max(self.live.load(Relaxed) + 1)
        } else {
            now
        }
    }

    pub fn at_once(&self, now: u32) {
        // A second one in a second reaches those that were stored after the first.
        let step = |live: u32| Some(now.max(live + 1));
        let _ = self.live.fetch_update(Relaxed, Relaxed, step);
        self.pending.store(0, Relaxed);
        self.any.store(true, Relaxed);
    }

    /// At second `when - 1`, as memcached does; with `whole`, as it does without CAS uniques, at
    /// `when`.
    pub fn later(&self, now: u32, when: u32, whole: bool) {
        let second = when.saturating_sub(u32::from(!whole));
        let earlier = self.pending.load(Relaxed);
        if earlier <= now {
            // What a flush has killed stays dead.
            self.live.fetch_max(earlier, Relaxed);
        }
        if second <= now {
            return self.at_once(now);
        }
        self.pending.store(second, Relaxed);
        self.any.store(true, Relaxed);
    }
}
