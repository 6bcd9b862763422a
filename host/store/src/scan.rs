//! Walking all items while others store, remove and move them.
//!
//! An entry that is moved to its other bucket may come to lie where a walk has been already. So while
//! anybody walks each entry moves only one way, up or down, by its tag (`index::rises`), and a walk goes
//! over the buckets twice: up for those that rise, then down for the others. What is there all the time
//! is ahead of the walk until it is met.
//!
//! A walk is nobody's that could be asked whether it still goes on: it is given up if it pauses for ten
//! seconds. Then entries move both ways again, and the first that moves the wrong way begins a new
//! *era*. The number of its era is in a walk's cursor, and one of another era starts again. So nothing is
//! kept for a walk, and how many there are or were left halfway is nobody's concern.

use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use crate::index::{prefetch, rises, GROUP, WAYS};
use crate::local::{Found, Item, Local};
use crate::store::Store;
use crate::sync::{fence, AtomicU32, AtomicU64};

/// What a call may take, in units of about a nanosecond, as others of its thread wait for it: so much for
/// a group that is left out, for a bucket, and for an item that is looked at.
const MOST: usize = 1 << 20;
const LEFT_OUT: usize = 1;
const BUCKET: usize = 8;
const ITEM: usize = 64;
/// Ways that are tried for a random item before the buckets are looked at one by one.
const TRIES: usize = 256;

/// Seconds after which a walk is no longer expected to go on.
const PAUSE: u32 = 10;

/// Low bits of a cursor, which are the place; above them is the era.
const PLACE_BITS: u32 = 36;

#[derive(Default)]
pub(crate) struct Walks {
    /// The era's number, and in the lowest bit whether anybody has walked in it.
    era: AtomicU64,
    /// The second of the last step, 0 if there was none.
    last: AtomicU32,
}

impl Walks {
    /// Somebody walks on. Returns the era.
    fn step(&self, now: u32) -> u64 {
        if self.last.load(Relaxed) != now {
            self.last.store(now, Relaxed);
        }
        let era = self.era.fetch_or(1, SeqCst) >> 1;
        // Either what is moved back from now on sees the bit, or this walk sees where it is.
        fence(SeqCst);
        era
    }

    fn era(&self) -> u64 {
        self.era.load(Acquire) >> 1
    }

    /// For a process to come: the next era, since nobody knows there who walks.
    pub fn next_era(&self) -> u64 {
        (self.era.load(Relaxed) >> 1) + 1
    }

    pub fn begin_era(&self, era: u64) {
        self.era.store(era << 1, Relaxed);
    }

    /// An entry was moved the wrong way.
    pub fn moved_back(&self) {
        fence(SeqCst);
        let next = |era: u64| (era & 1 != 0).then_some(era + 1);
        if self.era.load(Relaxed) & 1 != 0 {
            // Of several, one.
            let _ = self.era.fetch_update(SeqCst, Relaxed, next);
        }
    }
}

impl Store {
    /// Somebody walks, or may want to go on.
    pub(crate) fn is_walked(&self) -> bool {
        let last = self.index.walks.last.load(Relaxed);
        last != 0 && self.now().saturating_sub(last) <= PAUSE
    }
}

impl Local {
    /// Goes on with a walk from `cursor`, 0 at its beginning, and returns where it goes on the next
    /// time, 0 at its end. Calls `each` with about `count` live items of the database, or of all; with
    /// fewer, also with none, if it takes about a millisecond to look for them. What is there from the
    /// beginning to the end is met at least once, and may be met twice. Any number is a good cursor; the
    /// walk starts again from one that is very old.
    pub fn scan<'a>(
        &'a self,
        db: Option<u8>,
        cursor: u64,
        count: usize,
        mut each: impl FnMut(Item<'a>),
    ) -> u64 {
        self.come_back();
        let db = db.map(|db| self.store.place(db));
        let walks = &self.store.index.walks;
        let era = walks.step(self.store.now());
        let places = 2 * self.store.index.len();
        let mut place = match cursor >> PLACE_BITS == era % (1 << (64 - PLACE_BITS)) {
            true => places.min((cursor % (1 << PLACE_BITS)) as usize),
            false => 0,
        };
        let wanted = db.map_or(u16::MAX, |place| 1 << place);
        let (mut met, mut spent) = (0, 0);
        while place < places && met < count.max(1) && spent < MOST {
            let (bucket, rising) = self.bucket_at(place);
            if self.store.index.places_at(bucket) & wanted == 0 {
                place = self.behind_group(place);
                spent += LEFT_OUT;
                continue;
            }
            if place + 1 < places {
                self.prefetch_items(self.bucket_at(place + 1));
            }
            if place + 4 < places {
                prefetch(self.store.index.bucket(self.bucket_at(place + 4).0));
            }
            let looked = self.items_of(bucket, db, Some(rising), |item| {
                met += 1;
                each(item);
            });
            spent += BUCKET + ITEM * looked;
            place += 1;
        }
        if place < places || walks.era() != era {
            era << PLACE_BITS | place as u64
        } else {
            0
        }
    }

    /// The walk's place: which bucket, and whether those count there that rise.
    fn bucket_at(&self, place: usize) -> (usize, bool) {
        let len = self.store.index.len();
        if place < len {
            (place, true)
        } else {
            (2 * len - 1 - place, false)
        }
    }

    /// The walk's place behind all buckets of this one's group.
    fn behind_group(&self, place: usize) -> usize {
        let len = self.store.index.len();
        let (bucket, rising) = self.bucket_at(place);
        let first = bucket / GROUP * GROUP;
        if rising {
            len.min(first + GROUP)
        } else {
            2 * len - first
        }
    }

    fn prefetch_items(&self, (bucket, rising): (usize, bool)) {
        for i in 0..WAYS {
            let way = self.store.index.bucket(bucket).way(i);
            if !way.is_empty() && rises(way.tag()) == rising {
                prefetch(self.store.chunks.at(way.offset()).as_ptr());
            }
        }
    }

    /// Live items of a bucket: of one place or all, of those that rise, that do not, or all. Returns how
    /// many items were looked at.
    fn items_of<'a>(
        &'a self,
        bucket: usize,
        place: Option<u8>,
        rising: Option<bool>,
        mut each: impl FnMut(Item<'a>),
    ) -> usize {
        let mut looked = 0;
        for i in 0..WAYS {
            let way = self.store.index.bucket(bucket).way(i);
            if way.is_empty() || rising.is_some_and(|rising| rising != rises(way.tag())) {
                continue;
            }
            looked += 1;
            // SAFETY: the way was read just now, by a thread that is online.
            let raw = unsafe { self.store.item(way.offset()) };
            if place.is_none_or(|place| place == raw.place()) && self.death(raw).is_none() {
                each(Item { local: self, raw, found: Found { bucket, i, way } });
            }
        }
        looked
    }

    /// Any live item of the database, each about as likely as another where there are many.
    pub fn random(&self, db: u8) -> Option<Item<'_>> {
        if self.store.keys(db) == 0 {
            return None;
        }
        self.come_back();
        let place = self.store.place(db);
        let len = self.store.index.len();
        for _ in 0..TRIES {
            let number = self.draw();
            let bucket = within(number, len);
            // Of the ways, not of the buckets: so each item is as likely.
            let way = self.store.index.bucket(bucket).way(number as usize % WAYS);
            if way.is_empty() {
                continue;
            }
            // SAFETY: as in `items_of`.
            let raw = unsafe { self.store.item(way.offset()) };
            if raw.place() == place && self.death(raw).is_none() {
                let found = Found { bucket, i: number as usize % WAYS, way };
                return Some(Item { local: self, raw, found });
            }
        }
        let from = within(self.draw(), len);
        let mut found = None;
        for buckets in [from..len, 0..from] {
            let mut at = buckets.start;
            while at < buckets.end && found.is_none() {
                if self.store.index.places_at(at) >> place & 1 == 0 {
                    at = self.behind_group(at);
                    continue;
                }
                self.items_of(at, Some(place), None, |item| found = Some(item));
                at += 1;
            }
        }
        found
    }

    /// A number that nobody needs to foresee.
    fn draw(&self) -> u64 {
        // splitmix64 (Steele et al., OOPSLA 2014).
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Below `len`, from a random number's upper half.
fn within(number: u64, len: usize) -> usize {
    (((number >> 32) * len as u64) >> 32) as usize
}
