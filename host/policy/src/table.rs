//! The accelerator as its instructions show it: sketch, queue of candidates, ways and lines. What the gates do later or in
//! the background is done at once here.

use std::collections::{HashSet, VecDeque};

/// Bytes of a line.
pub const LINE: u32 = 64;
/// Ways of a set.
pub const WAYS: usize = 8;
const ROWS: usize = 4;
/// Lines of the queue of candidates.
const QUEUE: u32 = 64;

fn mixed(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    h ^ (h >> 31)
}

/// A key's hash: that of its number.
pub fn hash(key: u32) -> u64 {
    mixed((u64::from(key) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// rtl/aside/sketch.sv.
pub struct Sketch {
    width: usize,
    counters: Vec<u8>,
    /// Estimates that make a key hot; 0: none is.
    pub threshold: u8,
}

impl Sketch {
    /// With rows of `width` counters, a power of two.
    pub fn new(width: usize) -> Sketch {
        assert!(width.is_power_of_two());
        Sketch { width, counters: vec![0; ROWS * width], threshold: 0 }
    }

    /// Where a row counts a key. Rows for which the hash has no bits left take those of another one.
    fn place(&self, hash: u64, row: usize) -> usize {
        let bits = self.width.ilog2() as usize;
        let here = if (row + 1) * bits <= 64 { hash >> (row * bits) } else { mixed(hash) };
        row * self.width + (here as usize & (self.width - 1))
    }

    /// Counts a GET; its key's estimate, and whether that has become the threshold.
    pub fn count(&mut self, hash: u64) -> (u8, bool) {
        let at: [usize; ROWS] = std::array::from_fn(|row| self.place(hash, row));
        let least = at.iter().map(|at| self.counters[*at]).min().unwrap_or(0);
        let more = least.saturating_add(1);
        for at in at {
            if self.counters[at] == least {
                self.counters[at] = more;
            }
        }
        (more, least != u8::MAX && more == self.threshold)
    }

    /// Halves all counters.
    pub fn age(&mut self) {
        self.counters.iter_mut().for_each(|c| *c >>= 1);
    }
}

#[derive(Clone, Copy, Default)]
struct Way {
    valid: bool,
    used: bool,
    tag: u16,
    key: u32,
    lines: u32,
}

/// What came of an entry that was to be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It had no ticket.
    Refused,
    /// It is in the table.
    Done,
    /// There are not enough lines.
    NoLines,
}

/// Numbers of GETs.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// All of them.
    pub gets: u64,
    /// Those that were answered.
    pub hits: u64,
    /// Candidates that found no room in the queue.
    pub lost: u64,
    /// Entries that were put.
    pub puts: u64,
    /// Entries that were moved.
    pub moves: u64,
}

/// A table as `rtl/aside/ways.sv` and `rtl/aside/chains.sv` make it, with the sketch and the queue beside it.
pub struct Table {
    set_bits: u32,
    sets: Vec<[Way; WAYS]>,
    /// Lines that a new entry finds: one is always kept back.
    free: u32,
    sketch: Sketch,
    queue: VecDeque<(u32, u32)>,
    queued: u32,
    key: u32,
    ticket: bool,
    open: HashSet<u32>,
    /// What has been counted.
    pub counts: Counts,
}

/// A mask of the lowest way of a mask.
fn lowest(mask: usize) -> usize {
    mask & mask.wrapping_neg()
}

impl Table {
    /// With so many sets and lines, and so many counters in a row of the sketch; powers of two.
    pub fn new(sets: usize, lines: u32, width: usize) -> Table {
        assert!(sets.is_power_of_two());
        Table {
            set_bits: sets.ilog2(),
            sets: vec![[Way::default(); WAYS]; sets],
            free: lines - 1,
            sketch: Sketch::new(width),
            queue: VecDeque::new(),
            queued: 0,
            key: 0,
            ticket: false,
            open: HashSet::new(),
            counts: Counts::default(),
        }
    }

    /// The set of a key, and its tag.
    fn place(&self, key: u32) -> (usize, u16) {
        let hash = hash(key);
        (hash as usize & (self.sets.len() - 1), (hash >> self.set_bits) as u16)
    }

    fn mask(&self, set: usize, which: impl Fn(&Way) -> bool) -> usize {
        (0..WAYS).fold(0, |mask, n| mask | usize::from(which(&self.sets[set][n])) << n)
    }

    /// Of a set's ways the one that an entry without a way of its own gets: an empty one, one that was not used, the lowest.
    fn choose(&mut self, set: usize, ways: usize) -> usize {
        let empty = ways & !self.mask(set, |w| w.valid);
        let idle = ways & !self.mask(set, |w| w.used);
        if empty != 0 {
            return lowest(empty);
        }
        if idle != 0 {
            return lowest(idle);
        }
        // A round is over.
        for n in 0..WAYS {
            self.sets[set][n].used &= ways >> n & 1 == 0;
        }
        lowest(ways)
    }

    fn matching(&self, key: u32) -> (usize, usize) {
        let (set, tag) = self.place(key);
        (set, self.mask(set, |w| w.valid && w.tag == tag))
    }

    /// Takes out what is in the lowest of these ways.
    fn take_out(&mut self, set: usize, mask: usize) -> Option<Way> {
        let way = &mut self.sets[set][number(mask)?];
        let out = way.valid.then_some(*way)?;
        way.valid = false;
        self.free += out.lines;
        Some(out)
    }

    fn put_in(&mut self, key: u32, lines: u32, ways: usize) {
        let (set, own) = self.matching(key);
        let chosen = if own == 0 { self.choose(set, ways) } else { own };
        self.take_out(set, chosen);
        let tag = self.place(key).1;
        self.free -= lines;
        self.sets[set][chosen.trailing_zeros() as usize] =
            Way { valid: true, used: false, tag, key, lines };
    }

    /// A GET at the gates: whether it was answered. `key_lines` are those of its key in the queue.
    pub fn get(&mut self, key: u32, key_lines: u32) -> bool {
        let (set, own) = self.matching(key);
        let mut hit = false;
        if let Some(n) = number(own) {
            let way = &mut self.sets[set][n];
            way.used = true;
            // Another key may have its tag.
            hit = way.key == key && !self.open.contains(&key);
        }
        self.counts.gets += 1;
        self.counts.hits += u64::from(hit);
        if self.sketch.count(hash(key)).1 {
            if self.queued + key_lines > QUEUE {
                self.counts.lost += 1;
            } else {
                self.queued += key_lines;
                self.queue.push_back((key, key_lines));
            }
        }
        hit
    }

    // ---------------------------------------------------------------- instructions
    /// Keys become candidates when their estimate becomes this.
    pub fn hot(&mut self, threshold: u8) {
        self.sketch.threshold = threshold;
    }

    /// Halves the sketch.
    pub fn age(&mut self) {
        self.sketch.age();
    }

    /// The oldest candidate.
    pub fn take(&mut self) -> Option<u32> {
        let (key, lines) = self.queue.pop_front()?;
        self.queued -= lines;
        Some(key)
    }

    /// Names the current key.
    pub fn key(&mut self, key: u32) {
        self.key = key;
        self.ticket = false;
    }

    /// Keeps a ticket for it, if no write is open.
    pub fn ticket(&mut self) -> bool {
        self.ticket = !self.open.contains(&self.key);
        self.ticket
    }

    /// Puts its entry, of so many bytes, into one of these ways.
    pub fn put(&mut self, bytes: u32, ways: usize) -> Put {
        let lines = bytes.div_ceil(LINE);
        if !std::mem::take(&mut self.ticket) {
            return Put::Refused;
        }
        if lines > self.free {
            return Put::NoLines;
        }
        self.counts.puts += 1;
        self.put_in(self.key, lines, ways);
        Put::Done
    }

    /// Moves its entry into one of these ways.
    pub fn move_to(&mut self, ways: usize) -> bool {
        let (set, own) = self.matching(self.key);
        let Some(way) = self.take_out(set, own) else { return false };
        self.counts.moves += 1;
        self.put_in(way.key, way.lines, ways);
        true
    }

    /// Takes out which entry of these ways a put would displace.
    pub fn drop(&mut self, set: usize, ways: usize) -> bool {
        let set = set & (self.sets.len() - 1);
        let chosen = self.choose(set, ways);
        self.take_out(set, chosen).is_some()
    }

    /// A write of the current key begins.
    pub fn inv(&mut self) -> bool {
        let (set, own) = self.matching(self.key);
        self.take_out(set, own);
        self.ticket = false;
        self.open.insert(self.key);
        true
    }

    /// It is over.
    pub fn close(&mut self) -> bool {
        self.open.remove(&self.key)
    }

    /// Lines that a new entry finds.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// How many sets there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Entries that are there.
    pub fn entries(&self) -> usize {
        self.sets.iter().flatten().filter(|w| w.valid).count()
    }
}

/// Of the lowest way of a mask.
fn number(mask: usize) -> Option<usize> {
    (mask != 0).then(|| mask.trailing_zeros() as usize)
}
