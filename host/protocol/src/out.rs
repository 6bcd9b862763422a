//! Replies on their way out.

use std::io::IoSlice;

use crate::store::Local;

/// A reply part in the store, valid until the thread's next `quiesce` or until held.
struct Far {
    /// The part comes before this byte of `near`.
    at: usize,
    ptr: *const u8,
    len: usize,
}

/// The replies of a run of requests, as parts for one gathered write: small ones in a buffer of
/// its own, long values where they are in the store. Cleared and used again, it allocates nothing.
#[derive(Default)]
pub struct Out {
    near: Vec<u8>,
    far: Vec<Far>,
    far_len: usize,
    /// Bytes already written.
    done: usize,
}

impl Out {
    pub fn new() -> Out {
        Out::default()
    }

    /// Bytes not written yet.
    pub fn len(&self) -> usize {
        self.near.len() + self.far_len - self.done
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn clear(&mut self) {
        self.near.clear();
        self.far.clear();
        self.far_len = 0;
        self.done = 0;
    }

    /// The unwritten parts in order, for `writev`; at most `slices.len()` of them. Returns how
    /// many.
    pub fn slices<'a>(&'a self, _slices: &mut [IoSlice<'a>]) -> usize {
        todo!()
    }

    /// `count` bytes were written.
    pub fn written(&mut self, _count: usize) {
        todo!()
    }

    /// Keeps the unwritten parts valid beyond `quiesce`: pins their chunks, or copies what cannot
    /// be pinned.
    pub fn hold(&mut self, _local: &Local) {
        todo!()
    }
}
