//! What `stats detail` counts: commands by what their keys begin with.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Mutex;

/// So many prefixes are counted; others are not.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
struct Counts {
    gets: u64,
    hits: u64,
    sets: u64,
    deletes: u64,
}

/// Counts by prefix: what stands in a key before the delimiter. For all threads at once, so while it is on they wait for
/// each other.
#[derive(Debug)]
pub struct Prefixes {
    on: AtomicBool,
    delimiter: u8,
    counts: Mutex<BTreeMap<Box<[u8]>, Counts>>,
}

impl Default for Prefixes {
    /// Those of memcached: behind a colon, and off.
    fn default() -> Prefixes {
        Prefixes::new(b':', false)
    }
}

impl Prefixes {
    pub fn new(delimiter: u8, on: bool) -> Prefixes {
        Prefixes { on: AtomicBool::new(on), delimiter, counts: Mutex::default() }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub fn delimiter(&self) -> char {
        self.delimiter.into()
    }

    /// `stats detail on`, `off`. What was counted stays.
    pub fn switch(&self, on: bool) {
        self.on.store(on, Relaxed);
    }

    /// `stats reset`.
    pub fn clear(&self) {
        self.counts.lock().unwrap().clear();
    }

    #[inline]
    pub fn get(&self, key: &[u8], hit: bool) {
        if self.is_on() {
            self.count(key, |counts| {
                counts.gets += 1;
                counts.hits += u64::from(hit);
            });
        }
    }

    #[inline]
    pub fn set(&self, key: &[u8]) {
        if self.is_on() {
            self.count(key, |counts| counts.sets += 1);
        }
    }

    #[inline]
    pub fn delete(&self, key: &[u8]) {
        if self.is_on() {
            self.count(key, |counts| counts.deletes += 1);
        }
    }

    #[cold]
    fn count(&self, key: &[u8], add: impl FnOnce(&mut Counts)) {
        let Some(len) = key.iter().position(|byte| *byte == self.delimiter) else { return };
        let prefix = &key[..len];
        // Those of the binary protocol could hold a line that looks like another one's.
        if !prefix.iter().all(|byte| *byte > b' ' && *byte != 0x7F) {
            return;
        }
        let mut counts = self.counts.lock().unwrap();
        if let Some(counts) = counts.get_mut(prefix) {
            add(counts);
        } else if counts.len() < MOST {
            add(counts.entry(prefix.into()).or_default());
        }
    }

    /// `stats detail dump`, with its end.
    pub fn dump(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (prefix, Counts { gets, hits, sets, deletes }) in &*self.counts.lock().unwrap() {
            let mut rest = String::new();
            let _ = write!(rest, " get {gets} hit {hits} set {sets} del {deletes}\r\n");
            text.extend([b"PREFIX ", &**prefix, rest.as_bytes()].concat());
        }
        text.extend(b"END\r\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_counted() {
        let prefixes = Prefixes::new(b'/', true);
        for n in 0..2 * MOST {
            prefixes.set(format!("{n}/x").as_bytes());
        }
        prefixes.get(b"1/y", true);
        prefixes.delete(b"1/");
        for key in [&b"none"[..], b"a b/x", b"\r\n/x", b"no:slash"] {
            prefixes.get(key, true);
        }
        let text = String::from_utf8(prefixes.dump()).unwrap();
        assert_eq!(text.lines().count(), MOST + 1);
        assert!(text.contains("PREFIX 1 get 1 hit 1 set 1 del 1\r\n"));
        prefixes.clear();
        assert_eq!(prefixes.dump(), b"END\r\n");
    }
}
