//! Chunks: what the log is cut into, and what is known about each.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{AtomicU32, AtomicU64, AtomicUsize};

/// The two logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    Small,
    Main,
}

impl Log {
    pub fn other(self) -> Log {
        match self {
            Log::Small => Log::Main,
            Log::Main => Log::Small,
        }
    }
}

/// A chunk's state. Chunks in a row that were opened as one (a *run*, for large items) are managed
/// by the first of them; of the others only `head` and `main` count.
#[repr(C, align(64))]
pub(crate) struct Chunk {
    /// Bytes used, in units of 8. Written by the owner of the open chunk, and taken back by an
    /// abandoned reservation.
    used: AtomicU32,
    /// Reservations made (one writer, the owner) and reservations linked or abandoned. A chunk is
    /// not emptied while they differ.
    opened: AtomicU32,
    closed: AtomicU32,
    /// Readers that need the bytes for longer than an epoch.
    pins: AtomicU32,
    /// The run's first chunk.
    head: AtomicU32,
    /// Chunks of the run.
    run: AtomicU32,
    /// 1: in the main log.
    main: AtomicU32,
    /// Bytes of items that were unlinked.
    dead: AtomicU64,
    /// When it was closed, in chunks closed before; `OPEN` until then.
    pub age: AtomicU64,
}

/// The age of an open chunk.
const OPEN: u64 = u64::MAX;

impl Chunk {
    /// Makes this the first chunk of a fresh run.
    pub fn open(&self, log: Log, run: usize) {
        self.age.store(OPEN, Relaxed);
        self.used.store(0, Relaxed);
        self.opened.store(0, Relaxed);
        self.closed.store(0, Relaxed);
        self.dead.store(0, Relaxed);
        self.run.store(run as u32, Relaxed);
        self.main.store(u32::from(log == Log::Main), Relaxed);
    }

    /// In a process that has the items of another one: no reservation and no reader is left.
    pub fn resume(&self) {
        self.pins.store(0, Relaxed);
        self.closed.store(self.opened.load(Relaxed), Relaxed);
    }

    pub fn join(&self, head: usize, log: Log) {
        self.head.store(head as u32, Relaxed);
        self.main.store(u32::from(log == Log::Main), Relaxed);
    }

    #[inline]
    pub fn head(&self) -> usize {
        self.head.load(Relaxed) as usize
    }

    pub fn run(&self) -> usize {
        self.run.load(Relaxed) as usize
    }

    #[inline]
    pub fn log(&self) -> Log {
        if self.main.load(Relaxed) != 0 {
            Log::Main
        } else {
            Log::Small
        }
    }

    /// Bytes used.
    #[inline]
    pub fn used(&self) -> usize {
        self.used.load(Relaxed) as usize * 8
    }

    /// Takes `size` bytes if they are there. Only for the owner of the open chunk.
    #[inline]
    pub fn bump(&self, size: usize, capacity: usize) -> Option<usize> {
        // Acquire: bytes taken back by an abandoned reservation are this thread's again.
        let at = self.used.load(Acquire) as usize * 8;
        if at + size > capacity {
            return None;
        }
        // An abandoned reservation that is taken back right now loses to this store; its bytes
        // then stay in place as those of a dead item.
        self.used.store(((at + size) / 8) as u32, Relaxed);
        Some(at)
    }

    /// Takes back the bytes `from..to`, to which no way leads: if they are the last of an open chunk
    /// they can be given out again, otherwise they are dead. The caller no longer touches them.
    pub fn give_back(&self, from: usize, to: usize) {
        let (first, end) = ((from / 8) as u32, (to / 8) as u32);
        let open = self.age.load(Relaxed) == OPEN;
        if !open || self.used.compare_exchange(end, first, Release, Relaxed).is_err() {
            self.add_dead(to - from);
        }
    }

    /// A reservation begins. Only for the owner of the open chunk.
    #[inline]
    pub fn begin(&self) {
        self.opened.store(self.opened.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// A reservation ends, on whatever thread. What it did to the index and to the item comes
    /// before.
    #[inline]
    pub fn end(&self) {
        self.closed.fetch_add(1, Release);
    }

    /// No reservation is under way; asked of chunks that are no longer open.
    pub fn is_settled(&self) -> bool {
        self.closed.load(Acquire) == self.opened.load(Relaxed)
    }

    pub fn pins(&self) -> u32 {
        self.pins.load(Acquire)
    }

    /// Says whether it is the first.
    pub fn pin(&self) -> bool {
        self.pins.fetch_add(1, AcqRel) == 0
    }

    /// Says whether it was the last. Afterwards the caller must not touch the chunk.
    pub fn unpin(&self) -> bool {
        self.pins.fetch_sub(1, AcqRel) == 1
    }

    /// Bytes of an item to which no way leads any more.
    pub fn add_dead(&self, bytes: usize) {
        self.dead.fetch_add(bytes as u64, Release);
    }

    /// All that `used` says: no way leads into the chunk, and whoever acts on it knows that.
    pub fn dead(&self) -> u64 {
        self.dead.load(Acquire)
    }
}

/// All chunks, and the bytes they stand for.
pub(crate) struct Chunks {
    table: NonNull<Chunk>,
    base: NonNull<u8>,
    /// Offset of the log in the mapping.
    start: usize,
    shift: u32,
    len: usize,
    /// No item is or was in a chunk from here on.
    opened: AtomicUsize,
}

// SAFETY: the table is atomic; the log's bytes are handed out by the rules of this crate.
unsafe impl Send for Chunks {}
// SAFETY: as above.
unsafe impl Sync for Chunks {}

impl Chunks {
    /// # Safety
    /// At `base + start` there are `len` chunks of 2^`shift` bytes, at `table` `len` zeroed and
    /// aligned `Chunk`s, as long as this is used.
    pub unsafe fn new(
        table: NonNull<u8>,
        base: NonNull<u8>,
        start: usize,
        shift: u32,
        len: usize,
    ) -> Self {
        Self { table: table.cast(), base, start, shift, len, opened: AtomicUsize::new(0) }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Offsets of the log in the mapping.
    pub fn range(&self) -> Range<usize> {
        self.start..self.offset(self.len)
    }

    /// No item is or was in a chunk from here on.
    pub fn opened(&self) -> usize {
        self.opened.load(Acquire)
    }

    /// Items come into the chunks up to `end`. Only with the pool locked.
    pub fn open_up_to(&self, end: usize) {
        if end > self.opened.load(Relaxed) {
            self.opened.store(end, Release);
        }
    }

    /// Bytes of a chunk.
    #[inline]
    pub fn size(&self) -> usize {
        1 << self.shift
    }

    #[inline]
    pub fn get(&self, i: usize) -> &Chunk {
        assert!(i < self.len);
        // SAFETY: just checked.
        unsafe { self.table.add(i).as_ref() }
    }

    /// Offset of a chunk's first byte in the mapping.
    #[inline]
    pub fn offset(&self, i: usize) -> usize {
        self.start + (i << self.shift)
    }

    /// The chunk that has this offset in the mapping.
    #[inline]
    pub fn number(&self, offset: usize) -> usize {
        (offset - self.start) >> self.shift
    }

    /// The chunk that manages the item at this offset.
    #[inline]
    pub fn managing(&self, offset: usize) -> usize {
        self.get(self.number(offset)).head()
    }

    #[inline]
    pub fn log_of(&self, offset: usize) -> Log {
        self.get(self.number(offset)).log()
    }

    /// Address of an offset in the log.
    #[inline]
    pub fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset >= self.start && offset < self.offset(self.len));
        // SAFETY: offsets come from ways and from `bump`, which are inside the log.
        unsafe { self.base.add(offset) }
    }

    /// This chunk is one of these.
    #[inline]
    pub fn has(&self, chunk: NonNull<Chunk>) -> bool {
        let from = self.table.addr().get();
        (from..from + self.len * size_of::<Chunk>()).contains(&chunk.addr().get())
    }

    /// The run that chunk `i` is a part of is pinned.
    pub fn is_pinned(&self, i: usize) -> bool {
        self.get(self.get(i).head()).pins() != 0
    }

    /// Any reservation or pin that could still touch the mapping?
    pub fn any_in_use(&self) -> bool {
        (0..self.len).any(|i| self.get(i).pins() != 0 || !self.get(i).is_settled())
    }
}
