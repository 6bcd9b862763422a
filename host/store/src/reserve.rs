//! Taking room in the log for an item before anybody sees it.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use crate::chunk::{Chunk, Log};
use crate::config::{Full, DATABASES, KEY_MAX};
use crate::hash::Hash;
use crate::item::{attr, Raw, Shape, VALUE_MAX};
use crate::local::{Item, Local, Open};
use crate::pin::Pin;
use crate::store::Store;

/// What an item may have besides key and value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// The client's.
    pub flags: u32,
    /// Unix time in milliseconds; 0: never.
    pub expiry: u64,
    /// Room for a CAS unique of 64 bits, which says nothing of when the item was stored.
    pub wide: bool,
}

impl Local {
    /// Takes room for an item of memcached's database and writes its header and key. `exptime` is
    /// absolute on the store's clock, 0 never. The item is seen by nobody before `Entry::link`. The key
    /// has at most 255 bytes.
    #[inline]
    pub fn reserve(
        &mut self,
        key: &[u8],
        value: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        let expiry = self.store.to_expiry(exptime);
        self.reserve_in(0, key, value, Fields { flags, expiry, wide: false })
    }

    /// As `reserve`, for a CAS unique that does not come from the store: it has room for 64 bits,
    /// and says nothing of when the item was stored.
    pub fn reserve_wide(
        &mut self,
        key: &[u8],
        value: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        let expiry = self.store.to_expiry(exptime);
        self.reserve_in(0, key, value, Fields { flags, expiry, wide: true })
    }

    /// The same for any database.
    pub fn reserve_in(
        &mut self,
        db: u8,
        key: &[u8],
        value: usize,
        fields: Fields,
    ) -> Result<Reservation, Full> {
        assert!(usize::from(db) < DATABASES);
        self.reserve_at(self.store.place(db), key, value, fields, None)
    }

    /// The same for the database of a hash of the key; made in the same turn.
    #[inline]
    pub fn reserve_of(
        &mut self,
        hash: Hash,
        key: &[u8],
        value: usize,
        fields: Fields,
    ) -> Result<Reservation, Full> {
        self.reserve_at(hash.place(), key, value, fields, None)
    }

    /// `log`: which one it is for, where that is not the key's matter.
    #[inline]
    fn reserve_at(
        &mut self,
        place: u8,
        key: &[u8],
        value: usize,
        fields: Fields,
        log: Option<Log>,
    ) -> Result<Reservation, Full> {
        // Without eviction a later change of the expiry must not need room, so each item has it.
        let expires = fields.expiry != 0 || !self.store.evict;
        let shape = Shape::new(place, key.len(), value, fields, expires);
        assert!(key.len() <= KEY_MAX, "a key of {} bytes", key.len());
        if shape.value > VALUE_MAX {
            return Err(Full);
        }
        let hash = self.store.seed.hash(key).in_place(place);
        let size = shape.size();
        let log = log.unwrap_or_else(|| self.log_for(hash));
        self.count_link();
        let (head, from) = if self.together.on {
            self.bump_aside(log, size)?
        } else {
            if self.store.short.load(Relaxed) {
                self.relieve(size);
            }
            match self.bump_in(self.open[log as usize].get(), size) {
                Some(place) => place,
                None => self.refill(log, size).inspect_err(|_| self.counters().full.add(1))?,
            }
        };
        let store = &*self.store;
        let offset = store.chunks.offset(head) + from;
        let chunk = store.chunks.get(head);
        // SAFETY: `bump` or `refill` gave these bytes to this thread alone.
        let raw = unsafe { Raw::write(store.chunks.at(offset), &shape, key) };
        Ok(Reservation { raw, chunk: chunk.into(), hash, offset, from, size })
    }

    /// A key's item stays in its log; a new key whose ghost is there goes to the main log. Another
    /// key of the same tag may mislead this; that costs nothing but precision.
    #[inline]
    fn log_for(&self, hash: Hash) -> Log {
        let store = &*self.store;
        if store.overflow.load(Relaxed) {
            return Log::Main;
        }
        let pair = store.index.pair(hash);
        for bucket in [pair.first, pair.second] {
            let bucket = store.index.bucket(bucket);
            let mut mask = bucket.matches(hash.tag());
            while mask != 0 {
                let way = bucket.way(mask.trailing_zeros() as usize);
                mask &= mask - 1;
                if !way.is_empty() {
                    return store.chunks.log_of(way.offset());
                }
            }
        }
        let ghost = |bucket| store.index.ghosts_of(bucket).find_ghost(hash.fingerprint());
        match ghost(pair.first).or_else(|| ghost(pair.second)) {
            Some(_) => Log::Main,
            None => Log::Small,
        }
    }

    /// From time to time, looks how crowded the index is.
    #[inline]
    fn count_link(&self) {
        let links = self.links.get() + 1;
        self.links.set(links);
        if links >= self.store.links_a_look {
            self.links.set(0);
            if let Some(mut pool) = self.store.try_pool() {
                let items = pool.items();
                pool.excess = items - self.store.crowded;
                if pool.evicted {
                    self.store.index.fit_ghosts(items.max(0) as usize);
                }
                self.store.publish(&pool);
            }
        }
    }

    /// Room in an open run of this thread, with a reservation begun: the run, and where in it.
    #[inline]
    pub(crate) fn bump_in(&self, open: Open, size: usize) -> Option<(usize, usize)> {
        let head = open.head()?;
        let chunk = self.store.chunks.get(head);
        let at = chunk.bump(size, open.capacity)?;
        chunk.begin();
        Some((head, at))
    }

    /// Room in a new chunk. Of the old and the new one, that with more room left stays open.
    #[cold]
    fn refill(&mut self, log: Log, size: usize) -> Result<(usize, usize), Full> {
        let run = size.div_ceil(self.store.chunks.size());
        let head = match run {
            1 => self.take_chunk(log)?,
            _ => self.take_run(log, run)?,
        };
        let chunks = &self.store.chunks;
        let capacity = run * chunks.size();
        let chunk = chunks.get(head);
        let at = chunk.bump(size, capacity).expect("a fresh run has the room it was taken for");
        chunk.begin();
        self.replace_open(log, Open::new(head, capacity), &mut self.store.pool());
        Ok((head, at))
    }
}

impl Local {
    /// Keeps bytes in the log, as those of an item that is in nobody's way, until the pin is dropped.
    /// `None`: there is no room, or half of all is pinned.
    pub fn keep(&mut self, parts: &[&[u8]]) -> Option<Pin> {
        let len = parts.iter().map(|part| part.len()).sum();
        let place = self.store.place(0);
        let log = Some(Log::Small);
        let mut room = self.reserve_at(place, b"", len, Fields::default(), log).ok()?;
        let mut at = &mut *room.value();
        for part in parts {
            let (to, rest) = at.split_at_mut(part.len());
            to.copy_from_slice(part);
            at = rest;
        }
        // SAFETY: the reservation is open, so the chunk stays.
        let pin = unsafe { Pin::new(&self.store, room.offset, room.filled()) };
        if pin.is_some() {
            room.buried();
        }
        pin
    }
}

/// Room for an item that is being filled, on any thread, for any time. Dropped without
/// `Entry::link` it is given back.
pub struct Reservation {
    pub(crate) raw: Raw,
    chunk: NonNull<Chunk>,
    hash: Hash,
    /// Of the item in the mapping, and in its run.
    pub(crate) offset: usize,
    from: usize,
    pub(crate) size: usize,
}

// SAFETY: the bytes belong to the reservation alone; the chunk's state is atomic.
unsafe impl Send for Reservation {}

impl Reservation {
    /// Of its key, in its store.
    #[inline]
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// It was made some time ago: it is for the place that its database has now.
    pub(crate) fn renew(&mut self, place: u8) {
        if self.hash.place() != place {
            self.hash = self.hash.at(place);
            self.raw.set_place(place);
        }
    }

    /// A store's memory stays while a reservation in it is open, so no two have the same chunk.
    #[inline]
    pub(crate) fn is_of(&self, store: &Store) -> bool {
        store.chunks.has(self.chunk)
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        self.raw.key()
    }

    /// Bytes of the value.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.raw.value_len()
    }

    /// The value's bytes. What is not written holds whatever was there before.
    #[inline]
    pub fn value(&mut self) -> &mut [u8] {
        // SAFETY: nobody else knows these bytes, and the chunk is not reused before `end`.
        unsafe { self.raw.value_ptr().as_mut() }
    }

    /// The same, to be read.
    pub fn filled(&self) -> &[u8] {
        self.raw.value()
    }

    /// Takes over what is not key, value, flags, expiry or CAS unique: last access, FETCHED,
    /// STALE, WIN_SENT. For items that are copied because they have to change; no new item is
    /// counted.
    pub fn inherit(&mut self, item: &Item<'_>) {
        let state = item.raw.word0().load(Relaxed) & attr::STATE;
        let own = self.raw.word0().load(Relaxed) & !attr::STATE;
        self.raw.word0().store(own | state, Relaxed);
        self.raw.time_field().store(item.time(), Relaxed);
    }

    pub fn set_stale(&mut self, on: bool) {
        self.raw.assign(attr::STALE, on);
    }

    pub fn set_win_sent(&mut self, on: bool) {
        self.raw.assign(attr::WIN, on);
    }

    /// The key was given in base64, and is shown so.
    pub fn set_binary_key(&mut self, on: bool) {
        self.raw.assign(attr::BINARY, on);
    }

    /// The item is in the index now, and no longer this reservation's.
    #[inline]
    pub(crate) fn linked(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the mapping stays while a reservation is open.
        unsafe { this.chunk.as_ref() }.end();
    }

    /// No item will lead to these bytes, which are not given out again before the chunk is emptied.
    fn buried(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: as in `linked`.
        let chunk = unsafe { this.chunk.as_ref() };
        this.raw.set_dead();
        chunk.add_dead(this.size);
        chunk.end();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: as in `linked`.
        let chunk = unsafe { self.chunk.as_ref() };
        self.raw.set_dead();
        chunk.give_back(self.from, self.from + self.size);
        chunk.end();
    }
}
