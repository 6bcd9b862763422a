//! An item's bytes in the log.
//!
//! | offset | what |
//! |---|---|
//! | 0 | `AtomicU64`: CAS unique 48 bits, key length 8, attributes 8 |
//! | 8 | u32: value length 31 bits, and above them `BINARY_KEY` |
//! | 12 | last-access time, `AtomicU32` |
//! | 16 | CAS unique of 64 bits, `AtomicU64`, with `WIDE` |
//! | | client flags, u32, with `FLAGS` |
//! | | expiry, `AtomicU32`, with `EXPIRY` |
//! | | key, value; zero to seven bytes up to the next multiple of 8 |
//!
//! Key, value, flags, lengths and the layout never change once the item can be seen. What can is
//! atomic.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::{AtomicU32, AtomicU64};

pub(crate) const HEADER: usize = 16;
/// CAS uniques that need no field of their own.
pub(crate) const CAS_MASK: u64 = (1 << 48) - 1;

/// With the value length: the key is shown in base64 (memcached's meta commands).
const BINARY_KEY: u32 = 1 << 31;
/// Bytes that a value may have.
pub(crate) const VALUE_MAX: usize = BINARY_KEY as usize - 1;

pub(crate) mod attr {
    //! Attribute bits of word 0.
    pub const FLAGS: u64 = 1 << 56;
    pub const EXPIRY: u64 = 1 << 57;
    pub const WIDE: u64 = 1 << 58;
    /// Read since it was stored.
    pub const FETCHED: u64 = 1 << 59;
    /// Read twice; its time is current enough.
    pub const ACTIVE: u64 = 1 << 60;
    pub const STALE: u64 = 1 << 61;
    pub const WIN: u64 = 1 << 62;
    /// Not in the index, and never again: replaced, removed, or never linked. Spares whoever
    /// empties the chunk a look-up.
    pub const DEAD: u64 = 1 << 63;
    /// Bits that a changed copy of an item takes over.
    pub const STATE: u64 = FETCHED | ACTIVE | STALE | WIN;
}

/// What is decided when an item's room is taken.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub key: usize,
    pub value: usize,
    pub flags: u32,
    /// `None`: there is no field for it.
    pub exptime: Option<u32>,
    pub wide: bool,
}

impl Shape {
    #[inline]
    pub fn size(&self) -> usize {
        let fields = 8 * usize::from(self.wide)
            + 4 * usize::from(self.flags != 0)
            + 4 * usize::from(self.exptime.is_some());
        (HEADER + fields + self.key + self.value).next_multiple_of(8)
    }
}

/// Address of an item's header. Its methods read what is behind it, so making one is the promise
/// that a written header, key and value are there and stay while it is used.
#[derive(Clone, Copy)]
pub(crate) struct Raw(NonNull<u8>);

impl Raw {
    /// # Safety
    /// `at` is 8-byte aligned and an item written by `write` is and stays there.
    #[inline]
    pub unsafe fn new(at: NonNull<u8>) -> Self {
        Self(at)
    }

    /// Writes header and key, time 0; the value is left as it is.
    ///
    /// # Safety
    /// `at` is 8-byte aligned, `shape.size()` bytes are there, and nobody else knows them yet.
    #[inline]
    pub unsafe fn write(at: NonNull<u8>, shape: &Shape, key: &[u8]) -> Self {
        let item = Self(at);
        let mut word = (key.len() as u64) << 48;
        let mut at = HEADER;
        // SAFETY: all within the size that the caller promises; `at` grows as `Shape::size` does.
        unsafe {
            item.value_len_field().write(shape.value as u32);
            if shape.wide {
                word |= attr::WIDE;
                at += 8;
            }
            if shape.flags != 0 {
                word |= attr::FLAGS;
                item.0.add(at).cast::<u32>().write(shape.flags);
                at += 4;
            }
            if let Some(exptime) = shape.exptime {
                word |= attr::EXPIRY;
                item.0.add(at).cast::<u32>().write(exptime);
                at += 4;
            }
            item.0.add(at).copy_from_nonoverlapping(NonNull::from(key).cast(), key.len());
        }
        item.time_field().store(0, Relaxed);
        item.word0().store(word, Relaxed);
        item
    }

    /// Copies the item to `to`, as it is now but without ACTIVE. What can change is copied last,
    /// by `copy_state`.
    ///
    /// # Safety
    /// `to` is 8-byte aligned, `size()` bytes are there, and nobody else knows them yet.
    pub unsafe fn copy(self, to: NonNull<u8>) -> Self {
        let copy = Self(to);
        // The expiry lies between flags and key and may be written to meanwhile: it is left out
        // of the plain copies.
        let word = self.word0().load(Relaxed);
        let key = key_offset(word);
        // SAFETY: both items have the same layout and size, which the caller promises is there.
        unsafe {
            to.add(8).cast::<u32>().write(self.value_len_field().read());
            if word & attr::FLAGS != 0 {
                let at = flags_offset(word);
                to.add(at).cast::<u32>().write(self.0.add(at).cast::<u32>().read());
            }
            let len = self.key_len() + self.value_len();
            to.add(key).copy_from_nonoverlapping(self.0.add(key), len);
        }
        copy.word0().store(word, Relaxed);
        copy.copy_state(self);
        copy
    }

    /// Takes over everything of `from` that can change.
    pub fn copy_state(self, from: Self) {
        let word = from.word0().load(Relaxed);
        self.word0().store(word & !attr::ACTIVE, Relaxed);
        self.time_field().store(from.time(), Relaxed);
        if let (Some(to), Some(from)) = (self.wide_field(), from.wide_field()) {
            to.store(from.load(Relaxed), Relaxed);
        }
        if let (Some(to), Some(from)) = (self.exptime_field(), from.exptime_field()) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }

    #[inline]
    pub fn word0<'a>(self) -> &'a AtomicU64 {
        // SAFETY: `Raw` means that the header is there; the word is only used as an atomic.
        unsafe { self.0.cast().as_ref() }
    }

    #[inline]
    fn value_len_field(self) -> NonNull<u32> {
        // SAFETY: within the header.
        unsafe { self.0.add(8).cast() }
    }

    #[inline]
    pub fn time_field<'a>(self) -> &'a AtomicU32 {
        // SAFETY: as `word0`.
        unsafe { self.0.add(12).cast().as_ref() }
    }

    #[inline]
    fn wide_field<'a>(self) -> Option<&'a AtomicU64> {
        let wide = self.word0().load(Relaxed) & attr::WIDE != 0;
        // SAFETY: as `word0`; the attribute says that the field is there.
        wide.then(|| unsafe { self.0.add(HEADER).cast().as_ref() })
    }

    #[inline]
    pub fn exptime_field<'a>(self) -> Option<&'a AtomicU32> {
        let word = self.word0().load(Relaxed);
        // SAFETY: as `word0`; the attribute says that the field is there, right before the key.
        (word & attr::EXPIRY != 0)
            .then(|| unsafe { self.0.add(key_offset(word) - 4).cast().as_ref() })
    }

    #[inline]
    pub fn key_len(self) -> usize {
        (self.word0().load(Relaxed) >> 48 & 0xff) as usize
    }

    #[inline]
    pub fn value_len(self) -> usize {
        // SAFETY: within the header, and never written to after `write`.
        unsafe { (self.value_len_field().read() & !BINARY_KEY) as usize }
    }

    #[inline]
    pub fn binary_key(self) -> bool {
        // SAFETY: as in `value_len`.
        unsafe { self.value_len_field().read() & BINARY_KEY != 0 }
    }

    /// # Safety
    /// Nobody else knows the item yet.
    pub unsafe fn set_binary_key(self, on: bool) {
        let mark = if on { BINARY_KEY } else { 0 };
        // SAFETY: within the header, and the caller's alone.
        unsafe { self.value_len_field().write(self.value_len() as u32 | mark) }
    }

    #[inline]
    pub fn key<'a>(self) -> &'a [u8] {
        let word = self.word0().load(Relaxed);
        let len = (word >> 48 & 0xff) as usize;
        // SAFETY: key bytes follow the fields, and never change.
        unsafe { NonNull::slice_from_raw_parts(self.0.add(key_offset(word)), len).as_ref() }
    }

    #[inline]
    pub fn value<'a>(self) -> &'a [u8] {
        // SAFETY: the value was filled before the item was linked, and never changes after.
        unsafe { self.value_ptr().as_ref() }
    }

    #[inline]
    pub fn value_ptr(self) -> NonNull<[u8]> {
        let word = self.word0().load(Relaxed);
        // SAFETY: value bytes follow the key.
        let at = unsafe { self.0.add(key_offset(word) + (word >> 48 & 0xff) as usize) };
        NonNull::slice_from_raw_parts(at, self.value_len())
    }

    #[inline]
    pub fn flags(self) -> u32 {
        let word = self.word0().load(Relaxed);
        if word & attr::FLAGS == 0 {
            return 0;
        }
        // SAFETY: the attribute says that the field is there; it never changes.
        unsafe { self.0.add(flags_offset(word)).cast::<u32>().read() }
    }

    #[inline]
    pub fn exptime(self) -> u32 {
        self.exptime_field().map_or(0, |field| field.load(Relaxed))
    }

    #[inline]
    pub fn time(self) -> u32 {
        self.time_field().load(Relaxed)
    }

    #[inline]
    pub fn has(self, attr: u64) -> bool {
        self.word0().load(Relaxed) & attr != 0
    }

    /// What led to the item was undone before.
    #[inline]
    pub fn set_dead(self) {
        self.word0().fetch_or(attr::DEAD, Release);
    }

    /// If so, nothing leads to the item.
    #[inline]
    pub fn is_dead(self) -> bool {
        self.word0().load(Acquire) & attr::DEAD != 0
    }

    pub fn assign(self, attr: u64, on: bool) {
        if on {
            self.word0().fetch_or(attr, Relaxed);
        } else {
            self.word0().fetch_and(!attr, Relaxed);
        }
    }

    #[inline]
    pub fn cas(self) -> u64 {
        match self.wide_field() {
            Some(field) => field.load(Relaxed),
            None => self.word0().load(Relaxed) & CAS_MASK,
        }
    }

    /// When it was stored, among all: its own unique, or with one that a client chose the unique
    /// that it would have got.
    #[inline]
    pub fn order(self) -> u64 {
        self.word0().load(Relaxed) & CAS_MASK
    }

    pub fn set_order(self, order: u64) {
        // Readers set attributes meanwhile.
        let change = |word: u64| Some(word & !CAS_MASK | order & CAS_MASK);
        let _ = self.word0().fetch_update(Relaxed, Relaxed, change);
    }

    /// `false`: too large a number for this item's layout.
    #[inline]
    pub fn set_cas(self, cas: u64) -> bool {
        if let Some(field) = self.wide_field() {
            field.store(cas, Relaxed);
            return true;
        }
        if cas > CAS_MASK {
            return false;
        }
        self.set_order(cas);
        true
    }

    #[inline]
    pub fn size(self) -> usize {
        let word = self.word0().load(Relaxed);
        (key_offset(word) + (word >> 48 & 0xff) as usize + self.value_len()).next_multiple_of(8)
    }
}

#[inline]
fn flags_offset(word: u64) -> usize {
    HEADER + 8 * usize::from(word & attr::WIDE != 0)
}

#[inline]
fn key_offset(word: u64) -> usize {
    flags_offset(word)
        + 4 * usize::from(word & attr::FLAGS != 0)
        + 4 * usize::from(word & attr::EXPIRY != 0)
}
