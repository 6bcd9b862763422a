//! Values on their way in: what has come of them, until they are whole and become items.
//!
//! What is not whole belongs to no log, so eviction never waits for a client. It lies in *blocks* of
//! chunks that the pool lends: an eighth of all at most, the last ones of the table, so that the
//! others stay in one row for large items. A block is taken when bytes have come for it, not when
//! they are announced: a client holds what it has sent. When the value is whole it is copied to its
//! item, which costs little beside receiving it.
//!
//! When all blocks are taken, the slowest sender loses its own; not one that waits itself, with more
//! at hand. If none is slow, whoever needs one waits, those behind that have nothing yet. Some blocks,
//! as many as the largest value needs, are left to one sender at a time (`senior`): so one can always
//! go on, and waiting ends. A value that comes at less than 8 KiB a second loses its room even if
//! nobody waits.
//!
//! A value that would take more than half of the blocks is received in its place in the log, one
//! at a time, on the same terms.

use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::Instant;

use crate::config::Full;
use crate::lent::{Arrival, Block, Place, Stages, ALONE};
use crate::local::Local;
use crate::pool::{Pool, SPARE};
use crate::reserve::Reservation;
use crate::store::Store;
use crate::sync::{AtomicUsize, Mutex, MutexGuard};

/// Why there is no room for bytes that have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanting {
    /// There will be, or the value is given up, in seconds at most: try again.
    Later,
    Never,
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
            asked: AtomicUsize::new(0),
            second: self.store.now(),
            len,
            came: AtomicUsize::new(0),
            promised: AtomicUsize::new(0),
            place: Mutex::new(Place::Blocks(Vec::new())),
        });
        Stage { store: self.store.clone(), value, room: 0 }
    }

    /// A block for a value, if it may have one more.
    fn take_block(&self, arrival: &Arc<Arrival>) -> Result<Block, Wanting> {
        let store = &*self.store;
        let mut pool = store.pool();
        pool.reclaim(&store.chunks);
        let taken = loop {
            let stages = &mut pool.stages;
            if stages.comes_later(arrival) {
                break Err(Wanting::Later);
            }
            if stages.may_take(arrival) {
                match stages.take() {
                    Some(block) => {
                        stages.grant_block(arrival);
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
        if taken.is_err() {
            pool.stages.waits(arrival);
        }
        store.publish(&pool);
        taken
    }

    /// One more chunk for blocks.
    fn borrow_chunk(&self, pool: &mut Pool) -> Result<(), Wanting> {
        let store = &*self.store;
        let Stages { first, wanted, limit, parts, .. } = pool.stages;
        if let Some(wanted) = wanted {
            // Readers may pin it for long.
            if !store.chunks.is_pinned(wanted)
                || (pool.stages.chunks() + 1) * parts as usize >= limit
            {
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
        self.value.len
    }

    /// Bytes that have come.
    pub fn came(&self) -> usize {
        self.value.came.load(Relaxed)
    }

    /// It is received in its place in the log.
    pub fn is_long(&self) -> bool {
        self.len() > self.store.longest
    }

    /// Sees to it that there is room for the next `more` bytes, and for one behind them if the value
    /// goes on.
    pub fn make_room(&mut self, local: &Local, more: usize) -> Result<(), Wanting> {
        assert!(Arc::ptr_eq(&self.store, &local.store), "a value of another store");
        let wanted = (self.came() + more + 1).min(self.len());
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
                    self.room = self.len().min(blocks.len() * self.store.block);
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
            stages.grant(&self.value);
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
        assert!(place.value().len() == self.len() && self.room == 0, "room for another value");
        self.room = self.len();
        *self.value.place() = Place::Item(place);
        let mut pool = self.store.pool();
        assert!(pool.stages.placed.as_ref().is_some_and(|value| Arc::ptr_eq(value, &self.value)));
        pool.stages.holders.push(self.value.clone());
    }

    /// Whether what it waited for may be there. Asking costs little; `make_room` and `want_place` say
    /// whether it is.
    pub fn may_go_on(&self) -> bool {
        let mut pool = self.store.pool();
        pool.reclaim(&self.store.chunks);
        let stages = &mut pool.stages;
        stages.waits(&self.value);
        let room = if self.is_long() {
            stages.placed.is_none()
        } else if stages.may_take(&self.value) {
            stages.has_free() || stages.wanted.is_none_or(|i| self.store.chunks.is_pinned(i))
        } else {
            stages.senior.is_none()
        };
        let turn = room || stages.patience <= Instant::now();
        turn && !stages.comes_later(&self.value)
            || self.store.now().saturating_sub(self.value.second) > ALONE
            || self.is_lost()
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
                let within = from % block..block.min(self.len() - from / block * block);
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
        assert!(self.came() == self.len());
        let place = std::mem::replace(&mut *self.value.place(), Place::Lost);
        match place {
            Place::Lost => Err(Full),
            Place::Item(mut reservation) => {
                reservation.renew(self.store.place(0));
                Ok(Whole::Item(reservation))
            }
            Place::Blocks(blocks) => {
                self.store.pool().stages.forget(&self.value);
                let (store, value, len) = (self.store.clone(), self.value.clone(), self.len());
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
        NonNull::slice_from_raw_parts(self.chunks.at(offset + within.start), within.len())
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
