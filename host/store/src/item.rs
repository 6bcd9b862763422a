//! An item's bytes in the log.
//!
//! | offset | what |
//! |---|---|
//! | 0 | `AtomicU64`: CAS unique 48 bits, attributes 16 |
//! | 8 | u32: key length 8 bits, place of its database 4, value length 20 |
//! | 12 | last-access time, `AtomicU32` |
//! | 16 | CAS unique of 64 bits, `AtomicU64`, with `WIDE` |
//! | | expiry in Unix milliseconds, `AtomicU64`, with `EXPIRY` |
//! | | u32: value length's upper 12 bits, key length's upper 8, with `LONG` |
//! | | client flags, u32, with `FLAGS` |
//! | | key, value; zero to seven bytes up to the next multiple of 8 |
//!
//! Key, value, flags, place, lengths and the layout never change once the item can be seen. What
//! can is atomic. Keys here have at most 255 bytes, so the upper bits of their lengths are 0.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::format::{lengths, word};
use crate::reserve::Fields;
use crate::sync::{AtomicU32, AtomicU64};

pub(crate) use crate::format::HEADER;
/// CAS uniques that need no field of their own.
pub(crate) const CAS_MASK: u64 = (1 << word::CAS_BITS) - 1;

/// Bits of a value's length that need no field of their own.
const SHORT_BITS: u32 = lengths::VALUE_BITS;
const SHORT_MAX: usize = (1 << SHORT_BITS) - 1;
/// Bytes that a value may have.
pub(crate) const VALUE_MAX: usize = u32::MAX as usize;

pub(crate) mod attr {
    //! Attribute bits of word 0. The four that say which fields there are come last.
    use crate::format::word;

    /// Read since it was stored.
    pub const FETCHED: u64 = 1 << word::FETCHED;
    /// Read twice; its time is current enough.
    pub const ACTIVE: u64 = 1 << word::ACTIVE;
    pub const STALE: u64 = 1 << word::STALE;
    pub const WIN: u64 = 1 << word::WIN;
    /// Not in the index, and never again: replaced, removed, or never linked. Spares whoever
    /// empties the chunk a look-up.
    pub const DEAD: u64 = 1 << word::DEAD;
    /// The key is shown in base64 (memcached's meta commands).
    pub const BINARY: u64 = 1 << word::BINARY;
    pub const FLAGS: u64 = 1 << word::FLAGS;
    pub const LONG: u64 = 1 << word::LONG;
    pub const EXPIRY: u64 = 1 << word::EXPIRY;
    pub const WIDE: u64 = 1 << word::WIDE;
    /// Bits that a changed copy of an item takes over.
    pub const STATE: u64 = FETCHED | ACTIVE | STALE | WIN | BINARY;
}

/// Where the key begins for each combination of fields.
static KEY_AT: [u8; 16] = {
    let (mut table, mut fields) = ([HEADER as u8; 16], 0);
    while fields < 16 {
        let flags_and_long = (fields & 1) + (fields >> 1 & 1);
        let expiry_and_wide = (fields >> 2 & 1) + (fields >> 3 & 1);
        table[fields] += (4 * flags_and_long + 8 * expiry_and_wide) as u8;
        fields += 1;
    }
    table
};

#[inline]
fn key_offset(word: u64) -> usize {
    usize::from(KEY_AT[(word >> 60) as usize])
}

/// What is decided when an item's room is taken.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub key: usize,
    pub value: usize,
    pub place: u8,
    pub flags: u32,
    pub expiry: u64,
    /// Which fields there are.
    layout: u64,
}

impl Shape {
    /// `expires`: there is a field for the expiry, whatever it is.
    #[inline]
    pub fn new(place: u8, key: usize, value: usize, fields: Fields, expires: bool) -> Self {
        let Fields { flags, expiry, wide } = fields;
        let short = u64::from(flags != 0) | u64::from(value > SHORT_MAX) << 1;
        let layout = short | u64::from(expires) << 2 | u64::from(wide) << 3;
        Self { key, value, place, flags, expiry, layout: layout << 60 }
    }

    #[inline]
    pub fn size(&self) -> usize {
        (key_offset(self.layout) + self.key + self.value).next_multiple_of(8)
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
        let word = shape.layout;
        let lengths = key.len() as u32 | u32::from(shape.place) << 8;
        // SAFETY: all within the size that the caller promises; which fields there are, and so where
        // they are, follows from the layout, as `Shape::size` does.
        unsafe {
            item.lengths_field().write(lengths | (shape.value as u32) << (32 - SHORT_BITS));
            if word & attr::EXPIRY != 0 {
                item.0.add(expiry_offset(word)).cast::<u64>().write(shape.expiry);
            }
            if word & attr::LONG != 0 {
                let long = (shape.value >> SHORT_BITS) as u32;
                item.0.add(long_offset(word)).cast::<u32>().write(long);
            }
            if word & attr::FLAGS != 0 {
                item.0.add(key_offset(word) - 4).cast::<u32>().write(shape.flags);
            }
            let at = item.0.add(key_offset(word));
            at.copy_from_nonoverlapping(NonNull::from(key).cast(), key.len());
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
        // Unique and expiry may be written to meanwhile: they are left out of the plain copies.
        let word = self.word0().load(Relaxed);
        let fixed = long_offset(word);
        // SAFETY: both items have the same layout and size, which the caller promises is there.
        unsafe {
            to.add(8).cast::<u32>().write(self.lengths_field().read());
            let len = self.end() - fixed;
            to.add(fixed).copy_from_nonoverlapping(self.0.add(fixed), len);
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
        if let (Some(to), Some(from)) = (self.expiry_field(), from.expiry_field()) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }

    #[inline]
    pub fn word0<'a>(self) -> &'a AtomicU64 {
        // SAFETY: `Raw` means that the header is there; the word is only used as an atomic.
        unsafe { self.0.cast().as_ref() }
    }

    #[inline]
    fn lengths_field(self) -> NonNull<u32> {
        // SAFETY: within the header.
        unsafe { self.0.add(8).cast() }
    }

    #[inline]
    fn lengths(self) -> u32 {
        // SAFETY: within the header, and never written to after `write`.
        unsafe { self.lengths_field().read() }
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
    pub fn expiry_field<'a>(self) -> Option<&'a AtomicU64> {
        let word = self.word0().load(Relaxed);
        // SAFETY: as `word0`; the attribute says that the field is there.
        (word & attr::EXPIRY != 0)
            .then(|| unsafe { self.0.add(expiry_offset(word)).cast().as_ref() })
    }

    #[inline]
    pub fn key_len(self) -> usize {
        (self.lengths() & 0xff) as usize
    }

    #[inline]
    pub fn place(self) -> u8 {
        (self.lengths() >> 8 & 15) as u8
    }

    /// Of an item that nobody sees yet.
    pub fn set_place(self, place: u8) {
        let lengths = self.lengths() & !(15 << 8) | u32::from(place) << 8;
        // SAFETY: within the header, and only the caller knows of it.
        unsafe { self.lengths_field().write(lengths) }
    }

    #[inline]
    pub fn value_len(self) -> usize {
        let word = self.word0().load(Relaxed);
        let len = (self.lengths() >> (32 - SHORT_BITS)) as usize;
        if word & attr::LONG == 0 {
            return len;
        }
        // SAFETY: the attribute says that the field is there; it never changes.
        let long = unsafe { self.0.add(long_offset(word)).cast::<u32>().read() };
        len | (long as usize) << SHORT_BITS
    }

    /// Key, and its database's place.
    #[inline]
    pub fn is(self, key: &[u8], place: u8) -> bool {
        self.lengths() & 0xfff == key.len() as u32 | u32::from(place) << 8 && self.key() == key
    }

    #[inline]
    pub fn key<'a>(self) -> &'a [u8] {
        let at = key_offset(self.word0().load(Relaxed));
        // SAFETY: key bytes follow the fields, and never change.
        unsafe { NonNull::slice_from_raw_parts(self.0.add(at), self.key_len()).as_ref() }
    }

    #[inline]
    pub fn value<'a>(self) -> &'a [u8] {
        // SAFETY: the value was filled before the item was linked, and never changes after.
        unsafe { self.value_ptr().as_ref() }
    }

    #[inline]
    pub fn value_ptr(self) -> NonNull<[u8]> {
        let at = key_offset(self.word0().load(Relaxed)) + self.key_len();
        // SAFETY: value bytes follow the key.
        NonNull::slice_from_raw_parts(unsafe { self.0.add(at) }, self.value_len())
    }

    #[inline]
    pub fn flags(self) -> u32 {
        let word = self.word0().load(Relaxed);
        if word & attr::FLAGS == 0 {
            return 0;
        }
        // SAFETY: the attribute says that the field is there, right before the key; it never changes.
        unsafe { self.0.add(key_offset(word) - 4).cast::<u32>().read() }
    }

    /// In Unix milliseconds; 0: never.
    #[inline]
    pub fn expiry(self) -> u64 {
        self.expiry_field().map_or(0, |field| field.load(Acquire))
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

    /// Bytes up to the end of the value.
    #[inline]
    fn end(self) -> usize {
        key_offset(self.word0().load(Relaxed)) + self.key_len() + self.value_len()
    }

    #[inline]
    pub fn size(self) -> usize {
        self.end().next_multiple_of(8)
    }
}

#[inline]
fn expiry_offset(word: u64) -> usize {
    HEADER + 8 * usize::from(word & attr::WIDE != 0)
}

/// Of the field of upper bits, or what is there instead: from here on nothing ever changes.
#[inline]
fn long_offset(word: u64) -> usize {
    expiry_offset(word) + 8 * usize::from(word & attr::EXPIRY != 0)
}
