//! What others would reach with as many lines: LRU, and whoever knows beforehand what will be asked for.

use std::collections::{BTreeSet, VecDeque};

use crate::streams::{Request, Sizes};

/// Least recently used, of any keys: there are no sets. A queue still holds the earlier uses of a key: only its last one
/// counts. A write makes a key's entry the newest, and does not put it.
pub struct Lru {
    free: u32,
    time: u64,
    /// When a key was last used; 0: it is not there.
    used: Vec<u64>,
    queue: VecDeque<(u32, u64)>,
    sizes: Sizes,
}

impl Lru {
    /// With so many lines.
    pub fn new(lines: u32, sizes: Sizes) -> Lru {
        Lru { free: lines, time: 0, used: Vec::new(), queue: VecDeque::new(), sizes }
    }

    /// Whether the key is there. It is then in any case.
    pub fn get(&mut self, key: u32) -> bool {
        let Some(lines) = self.sizes.lines(key) else { return false };
        self.time += 1;
        if key as usize >= self.used.len() {
            self.used.resize(key as usize + key as usize / 2 + 1, 0);
        }
        let used = &mut self.used[key as usize];
        let hit = *used != 0;
        *used = self.time;
        self.queue.push_back((key, self.time));
        let needed = if hit { 0 } else { lines };
        while let Some((oldest, time)) = self.queue.front().copied() {
            let last = self.used[oldest as usize] == time;
            if last && self.free >= needed {
                break;
            }
            if last {
                self.used[oldest as usize] = 0;
                self.free += self.sizes.lines(oldest).unwrap_or(0);
            }
            self.queue.pop_front();
        }
        self.free -= needed;
        hit
    }
}

/// The share of GETs that the best choice of keys answers, of those whose popularity is Zipf's: most GETs a line.
pub fn best_of_zipf(keys: u32, exponent: f64, sizes: &Sizes, mut lines: u32) -> f64 {
    let popularity: Vec<f64> = (1..=keys).map(|rank| f64::from(rank).powf(-exponent)).collect();
    let all: f64 = popularity.iter().sum();
    let mut by_line: Vec<(f64, u32, u32)> = (0..keys)
        .filter_map(|key| {
            let lines = sizes.lines(key)?;
            Some((popularity[key as usize] / f64::from(lines), key, lines))
        })
        .collect();
    by_line.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut share = 0.0;
    for (_, key, needed) in by_line {
        if needed > lines {
            break;
        }
        lines -= needed;
        share += popularity[key as usize];
    }
    share / all
}

/// GETs that are answered by who knows all that comes (Belady's MIN, which may also not put), with room for so many equal
/// entries, and with none lost to a write.
pub fn best_of_all(requests: &[Request], room: usize) -> u64 {
    const NEVER: usize = usize::MAX;
    let mut next = vec![NEVER; requests.len()];
    let mut last = std::collections::HashMap::new();
    for (n, (key, is_write)) in requests.iter().enumerate().rev() {
        next[n] = last.get(key).copied().unwrap_or(NEVER);
        if !is_write {
            last.insert(*key, n);
        }
    }
    // Those that are there, by when they are asked for next.
    let mut held = BTreeSet::new();
    let mut hits = 0;
    for (n, (_, is_write)) in requests.iter().enumerate() {
        if !is_write && held.remove(&n) {
            hits += 1;
        }
        if next[n] == NEVER || held.contains(&next[n]) {
            continue;
        }
        held.insert(next[n]);
        if held.len() > room {
            held.pop_last();
        }
    }
    hits
}
