//! Memory that connections keep between their commands: what has come of a long one, a transaction's
//! queue, watched keys.
//!
//! Little of it is everybody's. Who keeps more has one of a few *places*, which allow
//! [`Settings::gather_max`](wirekv_proto::Settings::gather_max) each, an eighth of the store's memory together.
//! Who finds none free waits. Meanwhile the slowest of those who have one loses its connection (Redis
//! has `maxmemory-clients` for that), if it has had its place for half a second
//! ([`Settings::place_ms`](wirekv_proto::Settings::place_ms)), and a second more for each 4 MiB: about the terms
//! of long values on their way in (see the store's `stage`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::shown::Shown;
use super::{locked, Common};
use crate::Engine;

/// So much is everybody's: as much as a connection's input may have.
const SMALL: usize = 16 << 10;
/// Bytes a second for which a place may be had where others wait.
const RATE: u64 = 4 << 20;
/// Milliseconds between two looks at who is slow.
const LOOK: u64 = 2;

/// How many places there are, and for how many milliseconds each may be had where others wait.
#[derive(Clone, Copy)]
pub struct Terms {
    places: usize,
    ms: u64,
}

pub fn terms(engine: &Engine) -> Terms {
    let places = (engine.local.store().memory() / 8 / engine.settings.gather_max()).max(1);
    Terms { places, ms: engine.settings.place_ms }
}

/// What became of a wish to keep more.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Granted,
    Wait,
    /// The same; and a connection is to be closed.
    Killed,
}

#[derive(Default)]
pub struct Kept(Mutex<State>);

#[derive(Default)]
struct State {
    /// The places that are taken, by the numbers of shares.
    taken: BTreeMap<u64, Place>,
    /// Shares that there ever were.
    numbers: u64,
    /// When it was last looked who is slow, and when somebody was last told to ask again for that.
    looked: u64,
    told: u64,
}

struct Place {
    bytes: usize,
    since: u64,
    shown: Option<Arc<Shown>>,
}

impl Place {
    /// Slow enough to make room for others.
    fn gives_way(&self, now: u64, terms: Terms) -> bool {
        now > self.since + terms.ms + self.bytes as u64 * 1000 / RATE
    }

    /// Bytes in so many milliseconds.
    fn rate(&self, now: u64) -> u64 {
        self.bytes as u64 * 1_000_000 / (now - self.since).max(1)
    }
}

impl State {
    fn grow(
        &mut self,
        number: u64,
        bytes: usize,
        (terms, now): (Terms, u64),
        shown: Option<&Arc<Shown>>,
    ) -> Answer {
        if let Some(place) = self.taken.get_mut(&number) {
            place.bytes = bytes;
            return Answer::Granted;
        }
        if self.taken.len() < terms.places {
            self.taken.insert(number, Place { bytes, since: now, shown: shown.cloned() });
            return Answer::Granted;
        }
        if now < self.looked + LOOK {
            return Answer::Wait;
        }
        self.looked = now;
        let slow = self.taken.values().filter(|place| place.gives_way(now, terms));
        let mut slow: Vec<_> =
            slow.filter_map(|place| Some((place.rate(now), place.shown.as_ref()?))).collect();
        slow.sort_unstable_by_key(|(rate, _)| *rate);
        // One that is to be closed already is waited for.
        let closing = slow.iter().any(|(_, shown)| shown.is_killed());
        let Some((_, shown)) = slow.first().filter(|_| !closing) else { return Answer::Wait };
        shown.kill();
        Answer::Killed
    }
}

/// A connection's right to a place. Dropped, the place is free.
pub struct Share {
    common: Arc<Common>,
    number: u64,
    shown: Option<Arc<Shown>>,
}

impl Share {
    /// Without a place yet.
    pub fn new(common: &Arc<Common>, shown: Option<&Arc<Shown>>) -> Share {
        let mut state = locked(&common.kept.0);
        state.numbers += 1;
        let number = state.numbers;
        drop(state);
        Share { common: common.clone(), number, shown: shown.cloned() }
    }

    /// It needs no place.
    pub fn is_small(bytes: usize) -> bool {
        bytes <= SMALL
    }

    /// Wants to be of so many bytes.
    pub fn grow(&self, bytes: usize, terms: Terms) -> Answer {
        self.grow_at(bytes, terms, self.common.uptime_ms())
    }

    fn grow_at(&self, bytes: usize, terms: Terms, now: u64) -> Answer {
        let mut state = locked(&self.common.kept.0);
        state.grow(self.number, bytes, (terms, now), self.shown.as_ref())
    }

    /// Whether it is worth while to ask again.
    pub fn may_grow(&self, terms: Terms) -> bool {
        let now = self.common.uptime_ms();
        let mut state = locked(&self.common.kept.0);
        if state.taken.len() < terms.places {
            return true;
        }
        // One is enough to find out who is slow.
        let first = now >= state.looked.max(state.told) + LOOK;
        if first {
            state.told = now;
        }
        first
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        locked(&self.common.kept.0).taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const TERMS: Terms = Terms { places: 3, ms: 500 };

    #[test]
    fn the_slowest_makes_room() {
        let common = Arc::new(Common::default());
        let shown: [_; 5] = std::array::from_fn(|_| {
            Arc::new(Shown::new(1, String::new(), String::new(), false, 0))
        });
        let killed = || shown.each_ref().map(|shown| shown.is_killed());
        let [a, b, c, d, e] = shown.each_ref().map(|shown| Share::new(&common, Some(shown)));
        assert_eq!(a.grow_at(MIB, TERMS, 1000), Answer::Granted);
        assert_eq!(b.grow_at(MIB / 2, TERMS, 1000), Answer::Granted);
        assert_eq!(c.grow_at(MIB, TERMS, 1000), Answer::Granted);
        // Half a MiB has an eighth of a second beyond the first half.
        assert_eq!(d.grow_at(1, TERMS, 1625), Answer::Wait);
        // Who has a place need not wait.
        assert_eq!(a.grow_at(2 * MIB, TERMS, 1625), Answer::Granted);
        assert_eq!(killed(), [false; 5]);
        assert_eq!(d.grow_at(1, TERMS, 1640), Answer::Killed);
        assert_eq!(killed(), [false, true, false, false, false]);
        // It takes a moment until that is closed; nobody else is.
        assert_eq!(d.grow_at(1, TERMS, 9000), Answer::Wait);
        drop(b);
        assert_eq!(d.grow_at(1, TERMS, 9000), Answer::Granted);
        assert_eq!(e.grow_at(1, TERMS, 9001), Answer::Wait);
        assert_eq!(e.grow_at(1, TERMS, 9002), Answer::Killed);
        assert_eq!(killed(), [false, true, true, false, false]);
        drop((a, c, d, e));
        assert!(locked(&common.kept.0).taken.is_empty());
    }
}
