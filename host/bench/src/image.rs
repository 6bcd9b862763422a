//! A store as the card keeps it in memory, written without the card: the bytes that index and log have
//! after SETs of new keys, each sent after the answer to the one before. What they look like stands in
//! `rtl/store/store_pkg.sv`, where an entry goes in `execute_insert.sv`, its buckets in `lookup.sv`, the hash in `hash.sv`.

use std::collections::HashSet;

use anyhow::{ensure, Context, Result};
use wirekv_card::{Layout, Seeds};
use wirekv_store::HashKey;

use crate::keys::{Keys, Kind, Shape};

const LINE: usize = 64;
/// Of an item's place.
const UNIT: usize = 16;
const HEADER: usize = 16;
/// Of a bucket, each of 7 bytes: lines, place and lap (together `off_t`), tag.
const WAYS: usize = 8;
const WAY_BYTES: usize = 7;
const OFF_BIT: u32 = 6;
const POS_BITS: u32 = 28;
const LAP_BIT: u32 = OFF_BIT + POS_BITS;
const TAG_BIT: u32 = LAP_BIT + 8;
/// What `log_allocator.sv` keeps free in front of its head, in units, where that is not a quarter of the log.
const MARGIN: usize = 69632;

/// Where the first item goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Where a fresh card puts it: only to be compared with what one has written.
    #[cfg_attr(not(test), expect(dead_code))]
    Head,
    /// Into what a fresh card takes for valid: the lap before its first one, but for the margin in front
    /// of its head.
    Valid,
}

pub struct Image<'a> {
    buckets: &'a mut [Bucket],
    log: &'a mut [u8],
    hash: HashKey,
    lap: u32,
    /// Where the next item goes, in units.
    head: usize,
    stored: usize,
    /// Entries that made room in their other bucket.
    moves: u32,
}

type Bucket = [u8; LINE];

/// Units of an item.
fn units(shape: &Shape) -> usize {
    (HEADER + shape.key_len + shape.value_len).div_ceil(UNIT)
}

/// Memory for index and log, as a card's is divided, so large that the index has room for so many entries.
pub fn item_bytes(entries: u32, shape: &Shape) -> Result<u64> {
    let buckets = (u64::from(entries)).div_ceil(WAYS as u64).next_power_of_two().max(16);
    let bytes = 8 * LINE as u64 * buckets;
    let layout = Layout::new(bytes, 0)
        .with_context(|| format!("no card has an index for {entries} entries and its log"))?;
    // An eighth more: items whose entries were evicted stay in the log.
    let log = u64::from(entries) * (UNIT * units(shape)) as u64 * 9 / 8;
    ensure!(
        log < layout.log_lines as u64 * LINE as u64,
        "the log is too small for {entries} entries"
    );
    // Beside the model: index, log, versions of the keys.
    let needed = layout.log_base + log + 4 * u64::from(entries) + (256 << 20);
    if let Some(free) = free_memory() {
        let gib = |bytes| bytes as f64 / f64::from(1 << 30);
        ensure!(
            needed <= free,
            "{entries} entries need {:.1} GiB of memory, and {:.1} are free: --entries is how many",
            gib(needed),
            gib(free)
        );
    }
    Ok(bytes)
}

/// What this machine can give without swapping, if it says so.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

fn way(bucket: &Bucket, n: usize) -> u64 {
    let at = WAY_BYTES * n;
    u64::from_le_bytes(bucket[at..at + 8].try_into().unwrap()) & ((1 << 56) - 1)
}

fn first_free(bucket: &Bucket) -> Option<usize> {
    (0..WAYS).find(|n| is_free(bucket, *n))
}

/// It never held anything: all that this writes stays valid.
fn is_free(bucket: &Bucket, n: usize) -> bool {
    way(bucket, n) >> LAP_BIT & 0xFF == 0
}

fn free_count(bucket: &Bucket) -> usize {
    (0..WAYS).filter(|n| is_free(bucket, *n)).count()
}

impl<'a> Image<'a> {
    /// In a memory of zeros whose index begins at address 0.
    pub fn new(memory: &'a mut [u8], layout: &Layout, seeds: &Seeds, start: Start) -> Image<'a> {
        let (index, log) = memory.split_at_mut(layout.log_base as usize);
        let log = &mut log[..LINE * layout.log_lines as usize];
        let (lap, head) = match start {
            Start::Head => (1, 0),
            Start::Valid => (255, MARGIN.min(log.len() / UNIT / 4)),
        };
        Image {
            buckets: index.as_chunks_mut().0,
            log,
            hash: HashKey { nh: seeds.hash_nh, mix: seeds.hash_mix },
            lap,
            head,
            stored: 0,
            moves: 0,
        }
    }

    /// SET of a key that was not stored before. The place of the item whose entry had to go, if one had to.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<usize>> {
        let bytes = HEADER + key.len() + value.len();
        let at = UNIT * self.head;
        let item = self.log.get_mut(at..at + bytes).context("the log has no room")?;
        item[0] = key.len() as u8;
        item[1..4].copy_from_slice(&(value.len() as u32).to_le_bytes()[..3]);
        // Beside the database, 0.
        item[14..HEADER].copy_from_slice(&((self.lap as u16) << 4).to_le_bytes());
        item[HEADER..HEADER + key.len()].copy_from_slice(key);
        item[HEADER + key.len()..].copy_from_slice(value);

        let hash = self.hash.hash(key).bits();
        let lines = (at % LINE + bytes).div_ceil(LINE).min(63) as u64;
        let off = u64::from(self.lap & 0xFF) << POS_BITS | self.head as u64;
        let evicted = self.insert(hash, hash >> 50 << TAG_BIT | off << OFF_BIT | lines);
        self.head += bytes.div_ceil(UNIT);
        self.stored += 1;
        Ok(evicted.map(|entry| (entry >> OFF_BIT) as usize & ((1 << POS_BITS) - 1)))
    }

    /// Returns the entry that had to go.
    fn insert(&mut self, hash: u64, entry: u64) -> Option<u64> {
        let first = hash as usize & (self.buckets.len() - 1);
        let second = self.other(first, entry);
        let pair = if first.is_multiple_of(2) { [first, second] } else { [second, first] };

        // The emptier one; if both are full, the first entry that finds room in its other bucket moves,
        // looked for in both by turns.
        let free = pair.map(|n| free_count(&self.buckets[n]));
        let emptier = pair[usize::from(free[0] < free[1])];
        if let Some(n) = first_free(&self.buckets[emptier]) {
            self.write(emptier, n, entry);
            return None;
        }
        for (bucket, n) in (0..WAYS).flat_map(|n| pair.map(|bucket| (bucket, n))) {
            let moving = way(&self.buckets[bucket], n);
            let to = self.other(bucket, moving);
            if let Some(free) = first_free(&self.buckets[to]) {
                self.write(to, free, moving);
                self.write(bucket, n, entry);
                self.moves += 1;
                return None;
            }
        }
        // Nobody has used any of them, so they go by turns. A turn is a record's: the SET, the end of its job.
        let turn = 2 * self.stored % (2 * WAYS);
        let (bucket, n) = (pair[turn / WAYS], turn % WAYS);
        let evicted = way(&self.buckets[bucket], n);
        self.write(bucket, n, entry);
        Some(evicted)
    }

    /// The other bucket of an entry: of odd ones it is an even one.
    fn other(&self, bucket: usize, entry: u64) -> usize {
        let tag = (entry >> TAG_BIT) as usize;
        let distance = (tag & 0x1FFF) << 13 | tag >> 1;
        (bucket ^ (distance << 1 | 1)) & (self.buckets.len() - 1)
    }

    fn write(&mut self, bucket: usize, n: usize, entry: u64) {
        let at = WAY_BYTES * n;
        self.buckets[bucket][at..at + WAY_BYTES].copy_from_slice(&entry.to_le_bytes()[..WAY_BYTES]);
    }

    /// Stores keys from the first one on until the store has so many entries.
    pub fn fill(mut self, keys: &mut Keys, entries: u32) -> Result<Entries> {
        assert!(keys.shape.kind == Kind::Plain, "places tell keys");
        let first = self.head;
        let units = units(&keys.shape);
        let mut evicted = HashSet::new();
        let mut key = 0;
        while key as usize - evicted.len() < entries as usize {
            ensure!(key < keys.count(), "the index has no room for {entries} entries");
            let version = keys.renew(key);
            let place = self.put(keys.key(key).as_bytes(), &keys.value(key, version))?;
            evicted.extend(place.map(|place| ((place - first) / units) as u32));
            key += 1;
        }
        Ok(Entries {
            stored: key,
            evicted,
            moves: self.moves,
            ways: WAYS * self.buckets.len(),
            bytes: (LINE * self.buckets.len() + UNIT * (self.head - first)) as u64,
            first: u64::from(self.lap) << POS_BITS | first as u64,
            units: units as u64,
        })
    }
}

/// What is in a store that was written so.
pub struct Entries {
    /// Keys stored, and those of them whose entries were evicted.
    stored: u32,
    evicted: HashSet<u32>,
    pub moves: u32,
    ways: usize,
    /// The index, and the log from the first item to the last one.
    bytes: u64,
    /// Place of the first item, and units from one to the next.
    first: u64,
    units: u64,
}

impl Entries {
    pub fn count(&self) -> u32 {
        self.stored - self.evicted()
    }

    pub fn evicted(&self) -> u32 {
        self.evicted.len() as u32
    }

    /// How much of the index is taken.
    pub fn full(&self) -> f64 {
        f64::from(self.count()) / self.ways as f64
    }

    pub fn bytes_per_entry(&self) -> f64 {
        self.bytes as f64 / f64::from(self.count())
    }

    /// A key that is there.
    pub fn pick(&self, keys: &mut Keys) -> u32 {
        loop {
            let key = keys.among(self.stored);
            if !self.evicted.contains(&key) {
                return key;
            }
        }
    }

    /// Lap and place of its item.
    pub fn place(&self, key: u32) -> u64 {
        self.first + u64::from(key) * self.units
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::load::{Udp, UDP_MOST};
    use crate::rig::Rig;
    use crate::Args;

    /// Stores keys through the card, `window` under way, then beside it, and compares what is in memory.
    /// Returns how many entries moved and how many were evicted.
    fn compare(
        bytes: u64,
        window: u32,
        key_len: usize,
        value_len: usize,
        count: u32,
    ) -> (u32, u32) {
        let args = Args::parse_from(["bench"]);
        let shape = Shape { key_len, value_len, keys: count, gets: 0, kind: Kind::Plain };
        let mut rig = Rig::blank(bytes, &args).unwrap();
        let mut keys = Keys::new(shape, 1, true, args.seed);
        let mut numbers = 0..count;
        let mut next = |keys: &mut Keys, _| numbers.next().map(|key| keys.set(key));
        Udp::new(1, window, 0).run(&mut rig, &mut keys, None, &mut next).unwrap();
        rig.sim.advance(100_000);
        let layout = rig.layout;
        let of_card = rig.sim.memory(0, layout.rx_ring_base).unwrap();

        let mut memory = vec![0; of_card.len()];
        let seeds = Seeds::repeatable(args.seed);
        let mut image = Image::new(&mut memory, &layout, &seeds, Start::Head);
        let mut evicted = 0;
        for key in 0..count {
            let place = image.put(keys.key(key).as_bytes(), &keys.value(key, 1)).unwrap();
            evicted += u32::from(place.is_some());
        }
        let moves = image.moves;
        for (n, (ours, cards)) in memory.chunks(LINE).zip(of_card.chunks(LINE)).enumerate() {
            let line = n as i64 - layout.log_base as i64 / LINE as i64;
            assert_eq!(ours, cards, "line {n}, of the log {line}; {key_len} and {value_len} bytes");
        }
        (moves, evicted)
    }

    #[test]
    fn bytes_are_those_that_the_card_writes() {
        // As many as the index has ways: some entries move, and some go.
        let (moves, evicted) = compare(1 << 17, 1, 8, 4, 2048);
        assert!(moves > 50 && evicted > 10, "{moves} moved, {evicted} evicted");
        // 89 % of a larger one.
        let (moves, evicted) = compare(1 << 20, UDP_MOST, 8, 4, 14_600);
        assert!(moves > 30 && evicted == 0, "{moves} moved, {evicted} evicted");
        // Items of one line and of several, from every unit of a line on.
        for (key_len, value_len) in [(6, 100), (16, 0), (65, 7), (200, 300), (250, 900)] {
            compare(1 << 20, 16, key_len, value_len, 500);
        }
    }

    #[test]
    fn too_many_entries_are_refused_at_once() {
        let shape = Shape { key_len: 8, value_len: 4, keys: 0, gets: 100, kind: Kind::Plain };
        assert_eq!(item_bytes(64_000_000, &shape).unwrap(), 4 << 30);
        let error = item_bytes(68_000_000, &shape).unwrap_err();
        assert!(error.to_string().contains("no card has an index"), "{error}");
        let error = item_bytes(60_000_000, &Shape { value_len: 100, ..shape }).unwrap_err();
        assert!(error.to_string().contains("the log is too small"), "{error}");
    }
}
