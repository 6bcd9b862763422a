//! Which keys may be filled: none whose value a write may have changed since it was read.
//!
//! A *write* is open from before the server can have it until it was answered. A *ticket* is given before a key is read at
//! the server, while no write on it is open. The value that was read may go into the cache if no write was opened since.
//! Keys share 16,384 entries by their hash: a write on another key of the entry only keeps a fill away.

use std::collections::hash_map::{HashMap, RandomState};
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

/// Entries, which keys share by their hash.
const ENTRIES: usize = 1 << 14;
/// A value that was asked for longer ago is not filled in.
const TICKET: Duration = Duration::from_secs(10);

/// An open write: on the keys of an entry, or on all. It ends with [`Guard::close`] or [`Guard::keep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Open {
    Entry(u16),
    All,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    /// Writes that were opened so far.
    version: u32,
    /// Of these, the open ones.
    open: u32,
}

/// That a key may be read for a fill.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    entry: u16,
    version: u32,
    all: u32,
    given: Instant,
}

pub struct Guard {
    hasher: RandomState,
    entries: Box<[Entry]>,
    all: Entry,
    /// Writes that stay open until a time, whatever becomes of them.
    kept: HashMap<Open, Instant>,
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            hasher: RandomState::new(),
            entries: vec![Entry::default(); ENTRIES].into(),
            all: Entry::default(),
            kept: HashMap::new(),
        }
    }
}

impl Guard {
    fn place(&self, key: &[u8]) -> u16 {
        (self.hasher.hash_one(key) % ENTRIES as u64) as u16
    }

    fn entry(&mut self, open: Open) -> &mut Entry {
        match open {
            Open::Entry(place) => &mut self.entries[usize::from(place)],
            Open::All => &mut self.all,
        }
    }

    fn open(&mut self, open: Open) -> Open {
        let entry = self.entry(open);
        entry.version = entry.version.wrapping_add(1);
        entry.open += 1;
        open
    }

    /// A write on a key begins.
    pub fn open_key(&mut self, key: &[u8]) -> Open {
        let place = self.place(key);
        self.open(Open::Entry(place))
    }

    /// One that may change any key.
    pub fn open_all(&mut self) -> Open {
        self.open(Open::All)
    }

    /// A write was answered, or the server never got it.
    pub fn close(&mut self, open: Open) {
        self.entry(open).open -= 1;
    }

    /// What became of a write is not known: it stays open until then.
    pub fn keep(&mut self, open: Open, until: Instant) {
        if let Some(known) = self.kept.get_mut(&open) {
            *known = until.max(*known);
            self.close(open);
        } else {
            self.kept.insert(open, until);
        }
    }

    /// Closes writes that were kept until now.
    pub fn expire(&mut self, now: Instant) {
        let over: Vec<Open> =
            self.kept.iter().filter(|(_, until)| **until <= now).map(|(open, _)| *open).collect();
        for open in over {
            self.kept.remove(&open);
            self.close(open);
        }
    }

    /// When [`expire`](Guard::expire) has something to do.
    pub fn next(&self) -> Option<Instant> {
        self.kept.values().min().copied()
    }

    /// For a key that is to be read now, if no write on it is open.
    pub fn ticket(&self, key: &[u8], now: Instant) -> Option<Ticket> {
        let place = self.place(key);
        let entry = self.entries[usize::from(place)];
        let none = entry.open == 0 && self.all.open == 0;
        let all = self.all.version;
        none.then_some(Ticket { entry: place, version: entry.version, all, given: now })
    }

    /// Whether what was read with the ticket may be filled in.
    pub fn admits(&self, ticket: &Ticket, now: Instant) -> bool {
        self.entries[usize::from(ticket.entry)].version == ticket.version
            && self.all.version == ticket.all
            && now.saturating_duration_since(ticket.given) < TICKET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_write_keeps_fills_away() {
        let (mut guard, now) = (Guard::default(), Instant::now());
        let before = guard.ticket(b"a", now).unwrap();
        assert!(guard.admits(&before, now));
        let first = guard.open_key(b"a");
        assert!(guard.ticket(b"a", now).is_none() && !guard.admits(&before, now));
        let second = guard.open_key(b"a");
        guard.close(first);
        assert!(guard.ticket(b"a", now).is_none());
        guard.close(second);
        assert!(!guard.admits(&before, now));
        let after = guard.ticket(b"a", now).unwrap();
        assert!(guard.admits(&after, now));
        let all = guard.open_all();
        assert!(guard.ticket(b"b", now).is_none() && !guard.admits(&after, now));
        guard.close(all);
        assert!(guard.ticket(b"b", now).is_some() && !guard.admits(&after, now));
    }

    #[test]
    fn a_ticket_ends() {
        let (guard, now) = (Guard::default(), Instant::now());
        let ticket = guard.ticket(b"a", now).unwrap();
        assert!(guard.admits(&ticket, now + TICKET - SECOND / 100));
        assert!(!guard.admits(&ticket, now + TICKET));
    }

    #[test]
    fn what_is_kept_ends_with_the_last_of_it() {
        let (mut guard, now) = (Guard::default(), Instant::now());
        for until in [now + SECOND, now + 3 * SECOND, now + 2 * SECOND] {
            let open = guard.open_key(b"a");
            guard.keep(open, until);
        }
        assert_eq!(guard.next(), Some(now + 3 * SECOND));
        guard.expire(now + 2 * SECOND);
        assert!(guard.ticket(b"a", now).is_none());
        guard.expire(now + 3 * SECOND);
        assert!(guard.ticket(b"a", now).is_some() && guard.next().is_none());
    }
}
