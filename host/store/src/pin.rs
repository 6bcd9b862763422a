//! Values that stay where they are for longer than an epoch.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, Release};

use crate::chunk::Chunk;
use crate::local::Item;
use crate::store::Store;
use crate::sync::AtomicU32;

/// A value that stays where it is, on any thread, for any time.
pub struct Pin {
    value: NonNull<[u8]>,
    chunk: NonNull<Chunk>,
    pinned: NonNull<AtomicU32>,
}

// SAFETY: the value never changes, the counters are atomic, and the mapping stays.
unsafe impl Send for Pin {}
// SAFETY: as above.
unsafe impl Sync for Pin {}

impl Item<'_> {
    /// Keeps the value in place until the pin is dropped. `None`: too much is pinned; copy.
    pub fn pin(&self) -> Option<Pin> {
        let offset = self.found.way.offset();
        // SAFETY: an `Item` cannot outlive a `quiesce`.
        unsafe { Pin::new(&self.local.store, offset, self.raw.value()) }
    }
}

impl Pin {
    /// `None`: half of all chunks are pinned already.
    ///
    /// # Safety
    /// The caller found the item at `offset` since it last quiesced; `value` is the item's.
    pub(crate) unsafe fn new(store: &Store, offset: usize, value: &[u8]) -> Option<Self> {
        let chunk = store.chunks.get(store.chunks.managing(offset));
        let run = chunk.run() as u32;
        if chunk.pin() {
            let before = store.pinned().fetch_add(run, Relaxed);
            if (before + run) as usize > store.chunks.len() / 2 {
                unpin(chunk, store.pinned());
                return None;
            }
        }
        Some(Self { value: value.into(), chunk: chunk.into(), pinned: store.pinned })
    }
}

/// The pinned chunks are counted last: the store looks at that number before it unmaps.
fn unpin(chunk: &Chunk, pinned: &AtomicU32) {
    let run = chunk.run() as u32;
    if chunk.unpin() {
        pinned.fetch_sub(run, Release);
    }
}

impl Deref for Pin {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the chunk is not reused while it is pinned.
        unsafe { self.value.as_ref() }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: the mapping stays as long as a chunk of it is pinned or counted as such.
        unsafe { unpin(self.chunk.as_ref(), self.pinned.as_ref()) }
    }
}
