//! Values on their way in: what has come of them, until they are whole and become items.
//!
//! What is not whole belongs to no log, so eviction never waits for a client. It lies in *blocks* of
//! chunks that the pool lends: an eighth of all at most, the last ones of the table, so that the
//! others stay in one row for large items. A block is taken when bytes have come for it, not when
//! they are announced: a client holds what it has sent. When the value is whole it is copied to its
//! item, which costs little beside receiving it.
//!
//! When all blocks are taken, the slowest sender loses its own. If none is slow, whoever needs one
//! waits. Some blocks, as many as the largest value needs, are left to one sender at a time
//! (`senior`): so one can always go on, and waiting ends. A value that comes at less than
//! `RATE_ALONE` loses its room even if nobody waits.
//!
//! A value that would take more than half of the blocks is received in its place in the log, one
//! at a time, on the same terms.

use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::chunk::Chunks;
use crate::config::Full;
use crate::local::Local;
use crate::pool::{Pool, SPARE};
use crate::reserve::Reservation;
use crate::store::Store;

/// Bytes of a block, where chunks are not smaller or very large.
const BLOCK: usize = 64 << 10;
/// Seconds in which any value may come, bytes a second that it has to have beyond. A megabyte has a
/// little more than two minutes.
const ALONE: u32 = 10;
const RATE_ALONE: u64 = 8 << 10;
/// The same where others wait for room.
const CROWDED: Duration = Duration::from_millis(500);
const RATE_CROWDED: u64 = 4 << 20;
/// Seconds for which lent chunks are kept although nothing is in them: each that is borrowed anew
/// has to be emptied, out of turn.
const KEEP: u32 = 10;

#[derive(Clone, Copy)]
struct Block {
    chunk: u32,
    part: u32,
}

/// A lent chunk.
struct Lent {
    chunk: u32,
    /// Bit i: block i is free.
    free: u64,
    /// The second in which the last block came back.
    idle: u32,
}

/// What the pool knows of values on their way in.
pub(crate) struct Stages {
    /// Bytes of a block, blocks of a chunk.
    block: usize,
    parts: u32,
    /// The first chunk that is lent, if it can be had.
    first: usize,
    /// Blocks at most, and how many of them are left to the senior.
    limit: usize,
    reserve: usize,
    used: usize,
    lent: Vec<Lent>,
    /// The chunk that was emptied to be lent, and is on its way to be free.
    pub wanted: Option<usize>,
    /// Who has room.
    holders: Vec<Arc<Arrival>>,
    senior: Option<Arc<Arrival>>,
    /// Who receives in the log.
    placed: Option<Arc<Arrival>>,
}

/// A value on its way in, as others see it.
struct Arrival {
    since: Instant,
    second: u32,
    came: AtomicUsize,
    place: Mutex<Place>,
}

enum Place {
    Blocks(Vec<Block>),
    Item(Reservation),
    /// It was too slow.
    Lost,
}

impl Arrival {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Came so much less than it should have, were it not for the first moments.
    fn late(&self, age: Duration, first: Duration, rate: u64) -> bool {
        let should = age.saturating_sub(first).as_millis() as u64 * rate / 1000;
        (self.came.load(Relaxed) as u64) < should
    }

    /// Bytes a second so far.
    fn rate(&self) -> u64 {
        let age = self.since.elapsed().as_micros().max(1) as u64;
        self.came.load(Relaxed) as u64 * 1_000_000 / age
    }
}

/// Why there is no room for bytes that have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanting {
    /// There will be, or the value is given up, in seconds at most: try again.
    Later,
    Never,
}

impl Stages {
    pub fn new(chunks: usize, size: usize, item_max: usize) -> Self {
        let block = BLOCK.max(size / 64).min(size);
        let parts = size / block;
        let most = (chunks / 8).max(1);
        let limit = most * parts;
        Self {
            block,
            parts: parts as u32,
            first: chunks - most,
            limit,
            reserve: item_max.div_ceil(block).min(limit / 2),
            used: 0,
            lent: Vec::new(),
            wanted: None,
            holders: Vec::new(),
            senior: None,
            placed: None,
        }
    }

    pub fn chunks(&self) -> usize {
        self.lent.len()
    }

    pub fn block(&self) -> usize {
        self.block
    }

    /// Bytes of the longest value that is received in blocks.
    pub fn longest(&self) -> usize {
        self.reserve * self.block
    }

    fn full_mask(&self) -> u64 {
        u64::MAX >> (64 - self.parts)
    }

    fn is_senior(&self, arrival: &Arc<Arrival>) -> bool {
        self.senior.as_ref().is_some_and(|senior| Arc::ptr_eq(senior, arrival))
    }

    /// A block of what is lent; of the first such chunk, so that the last ones come free.
    fn take(&mut self) -> Option<Block> {
        let lent = self.lent.iter_mut().find(|lent| lent.free != 0)?;
        let part = lent.free.trailing_zeros();
        lent.free &= lent.free - 1;
        self.used += 1;
        Some(Block { chunk: lent.chunk, part })
    }

    pub fn lend(&mut self, chunk: u32) {
        self.lent.push(Lent { chunk, free: self.full_mask(), idle: 0 });
    }

    fn give_back(&mut self, blocks: &[Block], now: u32) {
        self.used -= blocks.len();
        for block in blocks {
            let lent = self.lent.iter_mut().find(|lent| lent.chunk == block.chunk);
            let lent = lent.expect("a chunk of which a block is used is lent");
            lent.free |= 1 << block.part;
            lent.idle = now;
        }
    }

    /// Nothing of this value is to be found here any more.
    fn forget(&mut self, arrival: &Arc<Arrival>) {
        self.holders.retain(|other| !Arc::ptr_eq(other, arrival));
        for one in [&mut self.senior, &mut self.placed] {
            if one.as_ref().is_some_and(|other| Arc::ptr_eq(other, arrival)) {
                *one = None;
            }
        }
    }

    /// Takes a sender's room away. `false`: it is in use at this moment.
    fn evict(&mut self, arrival: &Arc<Arrival>, now: u32) -> bool {
        let Ok(mut place) = arrival.place.try_lock() else { return false };
        if let Place::Blocks(blocks) = std::mem::replace(&mut *place, Place::Lost) {
            self.give_back(&blocks, now);
        }
        self.forget(arrival);
        true
    }

    /// Takes away the room of the slowest of those who are slow enough to make room for others.
    fn evict_slowest(
        &mut self,
        asking: &Arc<Arrival>,
        now: u32,
        among: impl Fn(&Place) -> bool,
    ) -> bool {
        let late = |a: &&Arc<Arrival>| {
            !Arc::ptr_eq(a, asking) && a.late(a.since.elapsed(), CROWDED, RATE_CROWDED)
        };
        let fits = |a: &&Arc<Arrival>| a.place.try_lock().is_ok_and(|place| among(&place));
        let slow = self.holders.iter().filter(late).filter(fits);
        let Some(slowest) = slow.min_by_key(|arrival| arrival.rate()).cloned() else {
            return false;
        };
        self.evict(&slowest, now)
    }
}

impl Pool {
    /// Once a second: takes the room of values that trickle, and takes back what nobody uses.
    pub fn sweep(&mut self, now: u32) {
        let stages = &mut self.stages;
        let first = Duration::from_secs(ALONE.into());
        let late = |arrival: &&Arc<Arrival>| {
            let age = Duration::from_secs(now.saturating_sub(arrival.second).into());
            arrival.late(age, first, RATE_ALONE)
        };
        let slow: Vec<_> = stages.holders.iter().filter(late).cloned().collect();
        for arrival in slow {
            stages.evict(&arrival, now);
        }
        self.take_back(|lent| now.saturating_sub(lent.idle) >= KEEP);
    }

    /// Lent chunks without a used block become free.
    fn take_back(&mut self, which: impl Fn(&Lent) -> bool) {
        let full = self.stages.full_mask();
        let free = &mut self.free;
        self.stages.lent.retain(|lent| {
            let back = lent.free == full && which(lent);
            if back {
                // Those that lie first are taken first.
                free.insert(free.partition_point(|&i| i > lent.chunk), lent.chunk);
            }
            !back
        });
    }
}

impl Store {
    fn drop_blocks(&self, arrival: &Arc<Arrival>, blocks: &[Block]) {
        let mut pool = self.pool();
        pool.stages.give_back(blocks, self.now());
        pool.stages.forget(arrival);
        if !self.evict {
            pool.take_back(|_| true);
        }
        self.publish(&pool);
    }
}

impl Local {
    /// A value of `len` bytes is about to come. It has no room yet.
    pub fn stage(&self, len: usize) -> Stage {
        let value = Arc::new(Arrival {
            since: Instant::now(),
            second: self.store.now(),
            came: AtomicUsize::new(0),
            place: Mutex::new(Place::Blocks(Vec::new())),
        });
        Stage { store: self.store.clone(), value, len, room: 0 }
    }

    /// A block for a value, if it may have one more.
    fn take_block(&self, arrival: &Arc<Arrival>) -> Result<Block, Wanting> {
        let store = &*self.store;
        let mut pool = store.pool();
        pool.reclaim(&store.chunks);
        let taken = loop {
            let stages = &mut pool.stages;
            if stages.used + stages.reserve < stages.limit
                || (stages.is_senior(arrival) && stages.used < stages.limit)
            {
                match stages.take() {
                    Some(block) => {
                        if !stages.holders.iter().any(|other| Arc::ptr_eq(other, arrival)) {
                            stages.holders.push(arrival.clone());
                        }
                        break Ok(block);
                    }
                    None => match self.borrow_chunk(&mut pool) {
                        Ok(()) => continue,
                        Err(wanting) => break Err(wanting),
                    },
                }
            }
            let in_blocks = |place: &Place| matches!(place, Place::Blocks(_));
            if stages.evict_slowest(arrival, store.now(), in_blocks) {
                continue;
            }
            if stages.senior.is_some() {
                break Err(Wanting::Later);
            }
            stages.senior = Some(arrival.clone());
        };
        store.publish(&pool);
        taken
    }

    /// One more chunk for blocks.
    fn borrow_chunk(&self, pool: &mut Pool) -> Result<(), Wanting> {
        let store = &*self.store;
        let Stages { first, wanted, limit, parts, .. } = pool.stages;
        if let Some(wanted) = wanted {
            // Readers may pin it for long.
            let pinned = store.chunks.get(store.chunks.get(wanted).head()).pins() != 0;
            if !pinned || (pool.stages.chunks() + 1) * parts as usize >= limit {
                return Err(Wanting::Later);
            }
        }
        let ours = pool.free.iter().position(|&i| i as usize >= first);
        if let Some(at) = ours.filter(|_| pool.free.len() > SPARE) {
            let chunk = pool.free.remove(at);
            pool.stages.lend(chunk);
            return Ok(());
        }
        if store.evict && wanted.is_none() && self.empty_one(pool, first..store.chunks.len()) {
            return Err(Wanting::Later);
        }
        // None of the last ones can be had: then any.
        if pool.free.len() > SPARE {
            let chunk = pool.free.pop().expect("there is a free one");
            pool.stages.lend(chunk);
            return Ok(());
        }
        if pool.limbo_chunks > 0 || store.evict || self.compact(pool) {
            return Err(Wanting::Later);
        }
        Err(Wanting::Never)
    }
}

/// A value on its way in. Dropped, it gives its room back.
pub struct Stage {
    store: Arc<Store>,
    value: Arc<Arrival>,
    len: usize,
    /// Bytes of it for which there is room.
    room: usize,
}

/// Where the next bytes of a value go.
pub struct Room<'a> {
    /// Held, so that nobody takes the bytes away.
    _place: MutexGuard<'a, Place>,
    bytes: NonNull<[u8]>,
}

impl Deref for Room<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are this value's while its place is locked.
        unsafe { self.bytes.as_ref() }
    }
}

impl DerefMut for Room<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { self.bytes.as_mut() }
    }
}

impl Stage {
    /// Bytes that the value will have.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that have come.
    pub fn came(&self) -> usize {
        self.value.came.load(Relaxed)
    }

    /// It is received in its place in the log.
    pub fn is_long(&self) -> bool {
        self.len > self.store.longest
    }

    /// Sees to it that there is room for the next `more` bytes, and for one behind them if the value
    /// goes on.
    pub fn make_room(&mut self, local: &Local, more: usize) -> Result<(), Wanting> {
        assert!(Arc::ptr_eq(&self.store, &local.store), "a value of another store");
        let wanted = (self.came() + more + 1).min(self.len);
        while self.room < wanted {
            let block = local.take_block(&self.value).map_err(|wanting| {
                let age = self.store.now().saturating_sub(self.value.second);
                let never = wanting == Wanting::Never || age > ALONE || self.is_lost();
                if never {
                    local.counters().full.add(1);
                    return Wanting::Never;
                }
                wanting
            })?;
            let lost = match &mut *self.value.place() {
                Place::Blocks(blocks) => {
                    blocks.push(block);
                    self.room = self.len.min(blocks.len() * self.store.block);
                    false
                }
                _ => true,
            };
            if lost {
                self.store.drop_blocks(&self.value, &[block]);
                return Err(Wanting::Never);
            }
        }
        if self.is_lost() {
            return Err(Wanting::Never);
        }
        Ok(())
    }

    /// The right to receive it in the log, where only one value at a time is.
    pub fn want_place(&mut self, local: &Local) -> Result<(), Wanting> {
        assert!(Arc::ptr_eq(&self.store, &local.store), "a value of another store");
        let mut pool = self.store.pool();
        let stages = &mut pool.stages;
        if stages.placed.is_some() {
            let in_log = |place: &Place| matches!(place, Place::Item(_));
            stages.evict_slowest(&self.value, self.store.now(), in_log);
        }
        if stages.placed.is_none() {
            stages.placed = Some(self.value.clone());
            return Ok(());
        }
        drop(pool);
        let age = self.store.now().saturating_sub(self.value.second);
        if age > ALONE {
            local.counters().full.add(1);
            return Err(Wanting::Never);
        }
        Err(Wanting::Later)
    }

    /// It is received in its place in the log, for which there is the right.
    pub fn set_place(&mut self, mut place: Reservation) {
        assert!(place.value().len() == self.len && self.room == 0, "room for another value");
        self.room = self.len;
        *self.value.place() = Place::Item(place);
        let mut pool = self.store.pool();
        assert!(pool.stages.placed.as_ref().is_some_and(|value| Arc::ptr_eq(value, &self.value)));
        pool.stages.holders.push(self.value.clone());
    }

    /// It was too slow and has lost its room.
    pub fn is_lost(&self) -> bool {
        matches!(*self.value.place(), Place::Lost)
    }

    /// All the room that was made is written to.
    pub fn is_full(&self) -> bool {
        self.came() == self.room
    }

    /// Room for the next bytes: of one block. None: the next one was not asked for, or it is lost.
    pub fn room(&mut self) -> Option<Room<'_>> {
        let (from, room) = (self.came(), self.room);
        let mut place = self.value.place();
        let bytes = match &mut *place {
            Place::Lost => return None,
            _ if from == room => return None,
            Place::Item(reservation) => NonNull::from(&mut reservation.value()[from..]),
            Place::Blocks(blocks) => {
                let block = self.store.block;
                let within = from % block..block.min(self.len - from / block * block);
                self.store.bytes_of(blocks[from / block], within)
            }
        };
        Some(Room { _place: place, bytes })
    }

    /// `count` bytes were written to `room`.
    pub fn wrote(&mut self, count: usize) {
        let came = self.came() + count;
        assert!(came <= self.room);
        self.value.came.store(came, Relaxed);
    }

    /// Takes bytes for which `make_room` made room. `Full`: it is lost.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), Full> {
        while !bytes.is_empty() {
            let mut room = self.room().ok_or(Full)?;
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            drop(room);
            self.wrote(count);
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// All has come; from now on the room is safe. `Full`: it was lost before.
    pub fn finish(&mut self) -> Result<Whole, Full> {
        assert!(self.came() == self.len);
        let place = std::mem::replace(&mut *self.value.place(), Place::Lost);
        match place {
            Place::Lost => Err(Full),
            Place::Item(reservation) => Ok(Whole::Item(reservation)),
            Place::Blocks(blocks) => {
                self.store.pool().stages.forget(&self.value);
                let (store, value, len) = (self.store.clone(), self.value.clone(), self.len);
                Ok(Whole::Blocks(Blocks { store, value, blocks, len }))
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let place = std::mem::replace(&mut *self.value.place(), Place::Lost);
        match place {
            Place::Blocks(blocks) => self.store.drop_blocks(&self.value, &blocks),
            _ => self.store.drop_blocks(&self.value, &[]),
        }
    }
}

impl Store {
    /// Bytes of a block. They are the caller's as long as it owns the block.
    fn bytes_of(&self, block: Block, within: Range<usize>) -> NonNull<[u8]> {
        let offset = self.chunks.offset(block.chunk as usize) + block.part as usize * self.block;
        let chunks: &Chunks = &self.chunks;
        NonNull::slice_from_raw_parts(chunks.at(offset + within.start), within.len())
    }
}

/// A value that is whole.
pub enum Whole {
    /// To be copied to its item.
    Blocks(Blocks),
    /// In its place already.
    Item(Reservation),
}

impl Whole {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Whole::Blocks(blocks) => blocks.len,
            Whole::Item(place) => place.len(),
        }
    }

    /// `to` has as many bytes as the value.
    pub fn copy_to(&self, to: &mut [u8]) {
        match self {
            Whole::Blocks(blocks) => blocks.copy_to(to),
            Whole::Item(place) => to.copy_from_slice(place.filled()),
        }
    }
}

/// A whole value that lies in blocks.
pub struct Blocks {
    store: Arc<Store>,
    value: Arc<Arrival>,
    blocks: Vec<Block>,
    len: usize,
}

impl Blocks {
    fn copy_to(&self, to: &mut [u8]) {
        assert!(to.len() == self.len);
        for (block, to) in self.blocks.iter().zip(to.chunks_mut(self.store.block)) {
            let bytes = self.store.bytes_of(*block, 0..to.len());
            // SAFETY: the blocks are this value's, and nobody writes to them any more.
            to.copy_from_slice(unsafe { bytes.as_ref() });
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.store.drop_blocks(&self.value, &self.blocks);
    }
}
