//! What connections watch: memcached's `watch`, Redis' MONITOR. Who causes an event writes its line to each watcher's
//! buffer; a watcher that does not take its lines loses those that come then, and gets the count of them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Kinds of events, a bit each.
pub const FETCHERS: u32 = 1 << 0;
pub const MUTATIONS: u32 = 1 << 1;
pub const DELETIONS: u32 = 1 << 2;
pub const EVICTIONS: u32 = 1 << 3;
pub const CONNEVENTS: u32 = 1 << 4;
/// memcached's other words, of which there are no events here.
pub const NONE: u32 = 1 << 5;
pub const MONITOR: u32 = 1 << 6;

/// So many may watch, and as many may monitor.
pub const MOST: usize = 20;
/// Bytes of lines that wait for one of them, if nothing else is said.
pub const BUFFER: usize = 256 << 10;
/// Bytes of lines that wait for all of them.
const HELD: usize = 4 << 20;
/// Room that is kept for the count of lost lines, as memcached keeps it.
const COUNT: usize = 128;

/// Why nobody more can watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The server was started with `-W`, or this is no connection.
    Forbidden,
    TooMany,
}

/// Who watches, and what.
#[derive(Debug)]
pub struct Events {
    /// All that anybody watches.
    wanted: AtomicU32,
    /// The number of the last event.
    number: AtomicU64,
    sent: AtomicU64,
    skipped: AtomicU64,
    watchers: Mutex<Vec<Arc<Watcher>>>,
    /// Bytes of lines that wait.
    held: AtomicUsize,
    /// Bytes of a watcher's buffer. 0: nobody may watch.
    size: usize,
}

#[derive(Debug)]
struct Watcher {
    kinds: u32,
    lines: Mutex<Lines>,
    /// Bytes in there.
    len: AtomicUsize,
}

#[derive(Debug, Default)]
struct Lines {
    bytes: VecDeque<u8>,
    /// Lines lost since the last that was not.
    skipped: u64,
}

/// A connection's side; it watches for as long as this is there.
#[derive(Debug)]
pub struct Watching {
    events: Arc<Events>,
    watcher: Arc<Watcher>,
}

/// When something happened: what a line begins with.
pub struct Moment {
    /// Unix time.
    pub seconds: u64,
    pub micros: u32,
    /// Events are counted.
    pub number: u64,
}

impl Default for Events {
    /// Nobody may watch.
    fn default() -> Events {
        Events::new(0)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Events {
    pub fn new(size: usize) -> Events {
        Events {
            wanted: AtomicU32::new(0),
            number: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            watchers: Mutex::default(),
            held: AtomicUsize::new(0),
            size,
        }
    }

    /// Somebody watches events of these kinds.
    #[inline]
    pub fn wants(&self, kinds: u32) -> bool {
        self.wanted.load(Relaxed) & kinds != 0
    }

    /// Bytes of a watcher's buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many watch; lines for them, and lines that they lost, since the start.
    pub fn counts(&self) -> (usize, u64, u64) {
        (locked(&self.watchers).len(), self.sent.load(Relaxed), self.skipped.load(Relaxed))
    }

    pub fn watch(self: &Arc<Events>, kinds: u32) -> Result<Watching, Refused> {
        if self.size == 0 {
            return Err(Refused::Forbidden);
        }
        let mut watchers = locked(&self.watchers);
        let alike = |other: &&Arc<Watcher>| (other.kinds ^ kinds) & MONITOR == 0;
        if watchers.iter().filter(alike).count() >= MOST {
            return Err(Refused::TooMany);
        }
        let watcher =
            Arc::new(Watcher { kinds, lines: Mutex::default(), len: AtomicUsize::new(0) });
        watchers.push(watcher.clone());
        self.sum(&watchers);
        Ok(Watching { events: self.clone(), watcher })
    }

    fn sum(&self, watchers: &[Arc<Watcher>]) {
        self.wanted.store(watchers.iter().fold(0, |all, one| all | one.kinds), Relaxed);
    }

    /// Something of a kind happened, which `write` says in a line.
    #[cold]
    pub fn tell(&self, kind: u32, write: impl FnOnce(&Moment, &mut Vec<u8>)) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = self.number.fetch_add(1, Relaxed) + 1;
        let moment = Moment { seconds: now.as_secs(), micros: now.subsec_micros(), number };
        let mut line = Vec::with_capacity(512);
        write(&moment, &mut line);
        for watcher in locked(&self.watchers).iter().filter(|watcher| watcher.kinds & kind != 0) {
            let taken = self.push(watcher, &line, &moment);
            (if taken { &self.sent } else { &self.skipped }).fetch_add(1, Relaxed);
        }
    }

    /// Adds a line, if there is room for it.
    fn push(&self, watcher: &Watcher, line: &[u8], moment: &Moment) -> bool {
        let mut lines = locked(&watcher.lines);
        let (before, more) = (lines.bytes.len(), line.len() + COUNT);
        if before + more > self.size || self.held.load(Relaxed) + more > HELD {
            lines.skipped += 1;
            return false;
        }
        let skipped = std::mem::take(&mut lines.skipped);
        if skipped > 0 {
            let Moment { seconds, micros, .. } = moment;
            let count = match watcher.kinds {
                // It looks like a command, as all lines do that Redis' clients know here.
                MONITOR => {
                    format!("+{seconds}.{micros:06} [0 wirekv:0] \"skipped\" \"{skipped}\"\r\n")
                }
                _ => format!("skipped={skipped}\n"),
            };
            lines.bytes.extend(count.as_bytes());
        }
        lines.bytes.extend(line);
        watcher.len.store(lines.bytes.len(), Relaxed);
        self.held.fetch_add(lines.bytes.len() - before, Relaxed);
        true
    }
}

impl Watching {
    /// There are lines; with `many` so many that some are soon lost.
    pub fn has_lines(&self, many: bool) -> bool {
        self.watcher.len.load(Relaxed) > if many { self.events.size / 2 } else { 0 }
    }

    /// Takes up to `most` bytes of them.
    pub fn take(&self, most: usize, write: impl FnOnce(&[u8], &[u8])) {
        let mut lines = locked(&self.watcher.lines);
        let count = lines.bytes.len().min(most);
        let (first, second) = lines.bytes.as_slices();
        let (first, second) =
            (&first[..count.min(first.len())], &second[..count.saturating_sub(first.len())]);
        write(first, second);
        lines.bytes.drain(..count);
        if lines.bytes.is_empty() {
            // Nothing is kept for who has all.
            lines.bytes = VecDeque::new();
        }
        self.watcher.len.store(lines.bytes.len(), Relaxed);
        self.events.held.fetch_sub(count, Relaxed);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watchers = locked(&self.events.watchers);
        watchers.retain(|other| !Arc::ptr_eq(other, &self.watcher));
        self.events.sum(&watchers);
        // Nobody adds a line any more.
        self.events.held.fetch_sub(locked(&self.watcher.lines).bytes.len(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(watching: &Watching, most: usize) -> String {
        let mut text = Vec::new();
        watching.take(most, |a, b| text = [a, b].concat());
        String::from_utf8(text).unwrap()
    }

    fn say(events: &Events, kind: u32, text: &str) {
        events.tell(kind, |_, line| line.extend_from_slice(text.as_bytes()));
    }

    #[test]
    fn each_gets_its_kinds() {
        let events = Arc::new(Events::new(1000));
        assert!(!events.wants(u32::MAX));
        let one = events.watch(FETCHERS | MUTATIONS).unwrap();
        let other = events.watch(MUTATIONS).unwrap();
        assert!(events.wants(FETCHERS) && !events.wants(EVICTIONS));
        say(&events, FETCHERS, "f\n");
        say(&events, MUTATIONS, "m\n");
        say(&events, EVICTIONS, "e\n");
        assert!(one.has_lines(false) && !one.has_lines(true));
        assert_eq!(taken(&one, 3), "f\nm");
        assert_eq!(taken(&one, 3), "\n");
        assert_eq!(taken(&other, 100), "m\n");
        assert!(!one.has_lines(false));
        assert_eq!(events.counts(), (2, 3, 0));
        drop(one);
        assert!(events.wants(MUTATIONS) && !events.wants(FETCHERS));
        drop(other);
        assert!(!events.wants(u32::MAX));
        assert_eq!(events.counts().0, 0);
    }

    #[test]
    fn a_slow_one_loses_lines() {
        let events = Arc::new(Events::new(COUNT + 10));
        let slow = events.watch(FETCHERS).unwrap();
        let monitor = events.watch(MONITOR).unwrap();
        for text in ["12345", "67890", "lost", "lost"] {
            say(&events, FETCHERS | MONITOR, text);
        }
        let fast = events.watch(FETCHERS).unwrap();
        say(&events, FETCHERS, "lost");
        assert!(slow.has_lines(false));
        assert_eq!(taken(&slow, 1000), "1234567890");
        say(&events, FETCHERS | MONITOR, "more");
        assert_eq!(taken(&slow, 1000), "skipped=3\nmore");
        assert_eq!(taken(&fast, 1000), "lostmore");
        assert_eq!(events.counts(), (3, 2 + 2 + 1 + 2, 3 + 3));
        taken(&monitor, 1000);
        say(&events, MONITOR, "x");
        let text = taken(&monitor, 1000);
        let (_, rest) = text.split_once(' ').unwrap();
        assert_eq!(rest, "[0 wirekv:0] \"skipped\" \"3\"\r\nx");
    }

    #[test]
    fn all_together_are_bounded() {
        let events = Arc::new(Events::new(1 << 20));
        let mut slow: Vec<_> = (0..8).map(|_| events.watch(FETCHERS).unwrap()).collect();
        let line = "x".repeat(1000);
        for _ in 0..1000 {
            say(&events, FETCHERS, &line);
        }
        let held = events.held.load(Relaxed);
        assert!(held <= HELD && held > HELD - 2000, "{held}");
        let taken = taken(&slow[0], 100_000).len();
        assert_eq!(events.held.load(Relaxed), held - taken);
        slow.clear();
        assert_eq!(events.held.load(Relaxed), 0);
    }

    #[test]
    fn not_everybody_may() {
        assert_eq!(Arc::new(Events::default()).watch(FETCHERS).unwrap_err(), Refused::Forbidden);
        let events = Arc::new(Events::new(BUFFER));
        let mut all: Vec<_> = (0..MOST).map(|_| events.watch(FETCHERS).unwrap()).collect();
        assert_eq!(events.watch(FETCHERS).unwrap_err(), Refused::TooMany);
        assert!(events.watch(MONITOR).is_ok());
        all.pop();
        assert!(events.watch(NONE).is_ok());
    }
}
