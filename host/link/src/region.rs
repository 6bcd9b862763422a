//! Memory that a card reads and writes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{compiler_fence, fence, Ordering};

/// A huge page, and the size of a region.
pub const REGION: usize = 2 << 20;

/// Memory of this process that a card reads and writes while it likes, in one piece of physical memory too. Nothing in it
/// is ever borrowed: bytes are copied in and out, and what was copied out is looked at once.
pub struct Region {
    start: NonNull<u8>,
    len: usize,
    physical: u64,
}

// SAFETY: the memory is of the process, not of a thread.
unsafe impl Send for Region {}

impl Region {
    /// Fresh memory, for a card that is in this process. It sees the memory at the address `physical`.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn anonymous(physical: u64) -> io::Result<Region> {
        Region::map(None, REGION, physical)
    }

    /// So many bytes of a file from `offset` on: a page of memory, or a card's registers.
    ///
    /// # Errors
    ///
    /// The kernel refuses, as when there are no pages.
    pub fn of_file(file: BorrowedFd, offset: u64, len: usize, physical: u64) -> io::Result<Region> {
        Region::map(Some((file, offset)), len, physical)
    }

    fn map(file: Option<(BorrowedFd, u64)>, len: usize, physical: u64) -> io::Result<Region> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (flags, fd, offset) = match file {
            Some((file, offset)) => (libc::MAP_SHARED, file.as_raw_fd(), offset),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
        };
        let flags = flags | libc::MAP_POPULATE;
        // SAFETY: no address is asked for.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, access, flags, fd, offset as libc::off_t)
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Region { start, len, physical })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The same memory at the address that it has for the card, when that is known only once it is mapped.
    pub fn at_physical(mut self, physical: u64) -> Region {
        self.physical = physical;
        self
    }

    /// Bytes.
    #[allow(clippy::len_without_is_empty, reason = "a region is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where the card sees the memory.
    pub fn physical(&self) -> u64 {
        self.physical
    }

    /// Where this process sees it, for who plays the card's bus.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Where so many bytes are.
    #[inline]
    fn at(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(offset <= self.len && len <= self.len - offset, "{offset} + {len} of {}", self.len);
        // SAFETY: it is within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    #[inline]
    fn word(&self, offset: usize) -> *mut u32 {
        assert!(offset.is_multiple_of(4));
        self.at(offset, 4).cast()
    }

    /// A word, and behind it whatever was written before it.
    #[inline]
    pub fn load(&self, offset: usize) -> u32 {
        // SAFETY: it is within the mapping, and aligned. Any bits are a number.
        let word = unsafe { self.word(offset).read_volatile() };
        fence(Ordering::Acquire);
        u32::from_le(word)
    }

    /// Writes a word behind whatever was written before it.
    #[inline]
    pub fn store(&self, offset: usize, value: u32) {
        fence(Ordering::Release);
        // SAFETY: as in `load`.
        unsafe { self.word(offset).write_volatile(value.to_le()) };
    }

    /// Copies bytes out. Whoever looks at the copy looks at nothing that still changes.
    #[inline]
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let from = self.at(offset, to.len()).cast_const();
        // SAFETY: both are so long, and apart. The card may write meanwhile; then these are bytes of any kind, as they
        // could be anyway.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        // The copy is what is used from here on, and not the memory once more.
        compiler_fence(Ordering::Acquire);
    }

    /// Copies bytes in.
    #[inline]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: as in `read`.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.at(offset, bytes.len()),
                bytes.len(),
            );
        };
    }

    /// Overwrites bytes with zeros.
    pub fn clear(&self, offset: usize, len: usize) {
        // SAFETY: it is within the mapping.
        unsafe { std::ptr::write_bytes(self.at(offset, len), 0, len) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: nothing is borrowed from it. Whose card might still write here does not drop it, see `Link`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
