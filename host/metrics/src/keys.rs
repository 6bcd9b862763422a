//! The keys that are asked for most, by the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005): of a fixed number
//! of counters the smallest one is given to a key that has none, with its count.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Keys that are counted. Whatever is asked for more often than once in so many times is among them.
const KEYS: usize = 128;
/// Keys that are told.
const TOLD: usize = 10;
/// After so long, counts are halved: what was hot once cools down.
const HALVED: Duration = Duration::from_secs(10);

/// Counts keys; in bounded memory.
#[derive(Clone)]
pub struct HotKeys {
    counts: HashMap<Box<[u8]>, u64>,
    /// Of all keys, halved as the counts are.
    all: u64,
    since: Instant,
}

impl Default for HotKeys {
    fn default() -> HotKeys {
        HotKeys { counts: HashMap::new(), all: 0, since: Instant::now() }
    }
}

impl HotKeys {
    /// A key was asked for so many times.
    pub fn count(&mut self, key: &[u8], times: u64) {
        self.all += times;
        if let Some(count) = self.counts.get_mut(key) {
            *count += times;
            return;
        }
        let mut least = 0;
        if self.counts.len() == KEYS {
            let (key, count) =
                self.counts.iter().min_by_key(|(_, count)| **count).expect("there are KEYS");
            (least, _) = (*count, self.counts.remove(&key.clone()));
        }
        self.counts.insert(key.into(), least + times);
    }

    /// To be called before keys are counted: halves the counts if it is time.
    pub fn cool(&mut self, now: Instant) {
        let times = now.saturating_duration_since(self.since).as_nanos() / HALVED.as_nanos();
        if times > 0 {
            let halve = |n: &mut u64| *n = n.checked_shr(times as u32).unwrap_or(0);
            halve(&mut self.all);
            self.counts.values_mut().for_each(halve);
            self.counts.retain(|_, count| *count > 0);
            self.since = now;
        }
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &HotKeys) {
        let mut other = other.clone();
        other.cool(Instant::now());
        self.all += other.all;
        for (key, count) in other.counts {
            *self.counts.entry(key).or_default() += count;
        }
    }

    /// The hottest first, a line each: its share of what is asked for, and the key, escaped where it is no printable
    /// ASCII.
    pub fn tell(&self) -> String {
        let mut keys: Vec<_> = self.counts.iter().collect();
        keys.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let mut text = String::new();
        for (key, count) in keys.into_iter().take(TOLD) {
            let share = *count as f64 / self.all.max(1) as f64;
            let _ = writeln!(text, "{share:.4} {}", key.escape_ascii());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_keys_are_found_among_many() {
        let (mut a, mut b) = (HotKeys::default(), HotKeys::default());
        for n in 0..100_000_u64 {
            let keys = if n % 2 == 0 { &mut a } else { &mut b };
            match n % 10 {
                0..3 => keys.count(b"hot", 1),
                3 => keys.count(b"warm\n\xFF", 1),
                _ => keys.count(format!("cold{n}").as_bytes(), 1),
            }
            assert!(keys.counts.len() <= KEYS);
        }
        a.add(&b);
        let told = a.tell();
        let lines: Vec<_> = told.lines().map(|line| line.split_once(' ').unwrap()).collect();
        assert_eq!(lines.len(), TOLD);
        assert_eq!((lines[0].1, lines[1].1), ("hot", "warm\\n\\xff"));
        let share = |n: usize| lines[n].0.parse::<f64>().unwrap();
        // A count is too high by the smallest one at most.
        assert!((0.3..0.32).contains(&share(0)) && (0.1..0.12).contains(&share(1)), "{told}");
        assert!(share(2) < 0.02, "{told}");
    }

    #[test]
    fn what_was_hot_cools_down() {
        let mut keys = HotKeys::default();
        keys.count(b"old", 1000);
        keys.since -= 5 * HALVED;
        keys.cool(Instant::now());
        keys.count(b"new", 100);
        assert_eq!(keys.counts[&b"old"[..]], 31);
        assert!(keys.tell().starts_with("0.7634 new\n"), "{}", keys.tell());
        keys.since -= 100 * HALVED;
        keys.cool(Instant::now());
        keys.count(b"newest", 1);
        assert_eq!(keys.tell(), "1.0000 newest\n");
    }
}
