//! Memory that is shared with the kernel.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// A mapping, until it is dropped.
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is of the process, not of a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Of a file from `offset` on; without a file, of fresh memory.
    pub fn new(len: usize, file: Option<(RawFd, u64)>) -> io::Result<Mapping> {
        let (flags, (fd, offset)) = match file {
            Some(file) => (libc::MAP_SHARED | libc::MAP_POPULATE, file),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, (-1, 0)),
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: no address is asked for.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, offset as i64) };
        match NonNull::new(start.cast()) {
            Some(start) if start.cast().as_ptr() != libc::MAP_FAILED => Ok(Mapping { start, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Where something of type T is, at `offset` bytes; with room for `count` of them.
    pub fn at<T>(&self, offset: usize, count: usize) -> *mut T {
        assert!(
            offset + count * size_of::<T>() <= self.len && offset.is_multiple_of(align_of::<T>())
        );
        // SAFETY: it is within the mapping.
        unsafe { self.start.as_ptr().add(offset).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: what points to here is dropped with it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
