//! What exact LRU and exact S3-FIFO miss with a given number of items: a measure for the misses of
//! servers, whose orders are approximate and whose room is counted in bytes.

use std::collections::VecDeque;

use serde_json::{json, Value};

use super::workload::Workload;
use super::MissArgs;

pub fn run(workload: Workload, items: usize, args: &MissArgs) -> Value {
    let items = items.max(1);
    let (mut lru, mut s3) = (Lru::new(items), S3Fifo::new(items));
    let (mut requests, mut lru_misses, mut s3_misses) = (0u64, 0u64, 0u64);
    for (n, key) in workload.enumerate() {
        let (lru_hit, s3_hit) = (lru.get(key), s3.get(key));
        if n as u64 >= args.warmup {
            requests += 1;
            lru_misses += u64::from(!lru_hit);
            s3_misses += u64::from(!s3_hit);
        }
    }
    let ratio = |misses: u64| misses as f64 / requests.max(1) as f64;
    json!({ "items": items, "lru": ratio(lru_misses), "s3fifo": ratio(s3_misses) })
}

/// A table by key that grows as keys come.
fn at<T: Clone>(table: &mut Vec<T>, key: u32, none: T) -> &mut T {
    let key = key as usize;
    if key >= table.len() {
        table.resize(key + key / 2 + 1, none);
    }
    &mut table[key]
}

/// Least recently used, by a queue that still holds the earlier uses of a key: only its last one
/// counts.
struct Lru {
    room: usize,
    held: usize,
    time: u64,
    /// When a key was last used; 0: not held.
    used: Vec<u64>,
    queue: VecDeque<(u32, u64)>,
}

impl Lru {
    fn new(room: usize) -> Lru {
        Lru { room, held: 0, time: 0, used: Vec::new(), queue: VecDeque::new() }
    }

    fn get(&mut self, key: u32) -> bool {
        self.time += 1;
        let used = at(&mut self.used, key, 0);
        let hit = *used != 0;
        *used = self.time;
        self.queue.push_back((key, self.time));
        self.held += usize::from(!hit);
        while let Some((oldest, time)) = self.queue.front().copied() {
            let last = self.used[oldest as usize] == time;
            if last && self.held <= self.room {
                break;
            }
            if last {
                self.used[oldest as usize] = 0;
                self.held -= 1;
            }
            self.queue.pop_front();
        }
        hit
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Small,
    Main,
    Ghost,
}

/// S3-FIFO as its authors (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023) have it: a tenth of the room
/// for newcomers, ghosts for as many keys as the main queue holds, uses counted to 3.
struct S3Fifo {
    small_room: usize,
    room: usize,
    keys: Vec<(Place, u8, u64)>,
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    ghosts: VecDeque<(u32, u64)>,
    /// Ghosts so far: a ghost is present while its number is the key's.
    ghost: u64,
}

impl S3Fifo {
    fn new(room: usize) -> S3Fifo {
        S3Fifo {
            small_room: (room / 10).max(1),
            room,
            keys: Vec::new(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: VecDeque::new(),
            ghost: 0,
        }
    }

    fn get(&mut self, key: u32) -> bool {
        let (place, uses, _) = at(&mut self.keys, key, (Place::Nowhere, 0, 0));
        if matches!(place, Place::Small | Place::Main) {
            *uses = (*uses + 1).min(3);
            return true;
        }
        let ghost = *place == Place::Ghost;
        while self.small.len() + self.main.len() >= self.room {
            self.evict();
        }
        // Making room may have been what made the ghost forgotten; it was present when asked.
        let (place, queue) =
            if ghost { (Place::Main, &mut self.main) } else { (Place::Small, &mut self.small) };
        self.keys[key as usize] = (place, 0, 0);
        queue.push_back(key);
        false
    }

    fn evict(&mut self) {
        if self.small.len() >= self.small_room || self.main.is_empty() {
            while let Some(key) = self.small.pop_front() {
                if self.keys[key as usize].1 > 1 {
                    self.keys[key as usize] = (Place::Main, 0, 0);
                    self.main.push_back(key);
                    if self.main.len() > self.room - self.small_room.min(self.room) {
                        break;
                    }
                } else {
                    self.ghost += 1;
                    self.keys[key as usize] = (Place::Ghost, 0, self.ghost);
                    self.ghosts.push_back((key, self.ghost));
                    while self.ghosts.len() > self.room - self.small_room.min(self.room - 1) {
                        self.forget();
                    }
                    return;
                }
            }
        }
        while let Some(key) = self.main.pop_front() {
            let (place, uses, _) = &mut self.keys[key as usize];
            if *uses == 0 {
                *place = Place::Nowhere;
                return;
            }
            *uses -= 1;
            self.main.push_back(key);
        }
    }

    fn forget(&mut self) {
        if let Some((key, number)) = self.ghosts.pop_front() {
            let (place, _, ghost) = &mut self.keys[key as usize];
            if *place == Place::Ghost && *ghost == number {
                *place = Place::Nowhere;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misses(mut get: impl FnMut(u32) -> bool, keys: &[u32]) -> usize {
        keys.iter().filter(|k| !get(**k)).count()
    }

    #[test]
    fn lru_drops_the_least_recent() {
        let mut lru = Lru::new(2);
        let hits: Vec<bool> = [1, 2, 1, 3, 1, 2].iter().map(|k| lru.get(*k)).collect();
        assert_eq!(hits, [false, false, true, false, true, false]);
    }

    #[test]
    fn room_is_kept() {
        // A loop over one key too many: LRU misses all, S3-FIFO does not.
        let keys: Vec<u32> = (0..101).cycle().take(10_100).collect();
        let mut lru = Lru::new(100);
        assert_eq!(misses(|k| lru.get(k), &keys), 10_100);
        let mut s3 = S3Fifo::new(100);
        assert!(misses(|k| s3.get(k), &keys) < 10_100);
        assert!(s3.small.len() + s3.main.len() <= 100 && s3.ghosts.len() <= 90);
        let mut large = S3Fifo::new(101);
        assert_eq!(misses(|k| large.get(k), &keys), 101);
    }

    #[test]
    fn one_hit_wonders_leave_the_main_queue_alone() {
        let mut s3 = S3Fifo::new(10);
        // Twice used after it came in: stays.
        assert_eq!(misses(|k| s3.get(k), &[0, 0, 0]), 1);
        assert_eq!(misses(|k| s3.get(k), &(1..50).collect::<Vec<u32>>()), 49);
        assert!(s3.get(0));
        let mut tiny = S3Fifo::new(1);
        assert_eq!(misses(|k| tiny.get(k), &[1, 2, 1, 1, 2]), 4);
    }
}
