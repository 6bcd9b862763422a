//! The store's memory: one zeroed mapping, aligned so that huge pages can back it.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

/// Size of a huge page.
pub(crate) const HUGE: usize = 2 << 20;
/// Smallest page.
pub(crate) const PAGE: usize = 4096;

pub(crate) struct Map {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to no thread.
unsafe impl Send for Map {}
// SAFETY: only its address is shared through `&Map`.
unsafe impl Sync for Map {}

impl Map {
    /// With `resident` every page is there when this returns.
    #[cfg(not(miri))]
    pub fn new(len: usize, resident: bool, file: Option<i32>) -> io::Result<Self> {
        let len = len.next_multiple_of(PAGE);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping, wherever the kernel likes.
        let raw = unsafe { libc::mmap(std::ptr::null_mut(), len + HUGE, prot, flags, -1, 0) };
        if raw == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let front = (raw as usize).next_multiple_of(HUGE) - raw as usize;
        // SAFETY: both trimmed ends are whole pages inside the mapping, and nobody uses them; what
        // is left is zero, or the file's, and only this function knows of it yet.
        let base = unsafe {
            if front > 0 {
                libc::munmap(raw, front);
            }
            let base = raw.byte_add(front);
            libc::munmap(base.byte_add(len), HUGE - front);
            if let Some(file) = file {
                // In its place; what the file has is what there is.
                let flags = libc::MAP_SHARED | libc::MAP_FIXED;
                if libc::mmap(base, len, prot, flags, file, 0) == libc::MAP_FAILED {
                    let e = io::Error::last_os_error();
                    libc::munmap(base, len);
                    return Err(e);
                }
            }
            // Only advice: without huge pages everything works, with more TLB misses.
            libc::madvise(base, len, libc::MADV_HUGEPAGE);
            base
        };
        let base = NonNull::new(base.cast()).expect("a mapping is not at 0");
        let map = Self { base, len };
        if resident && !map.populate(0..len) {
            for page in (0..len).step_by(PAGE) {
                // SAFETY: inside the mapping, of which nobody else knows yet.
                unsafe {
                    let page = base.add(page);
                    page.write_volatile(page.read_volatile());
                }
            }
        }
        Ok(map)
    }

    /// Makes the pages of these bytes resident, and changes none. `false`: the kernel does not know
    /// how; it does since 5.14. Where there is no memory, they stay as they are.
    #[cfg(not(miri))]
    pub fn populate(&self, range: Range<usize>) -> bool {
        let from = range.start / PAGE * PAGE;
        let len = range.end.next_multiple_of(PAGE).min(self.len) - from;
        // SAFETY: whole pages of the mapping; only advice.
        let done = unsafe {
            let at = self.base.as_ptr().add(from).cast();
            libc::madvise(at, len, libc::MADV_POPULATE_WRITE)
        };
        done == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL)
    }

    #[cfg(miri)]
    pub fn populate(&self, _range: Range<usize>) -> bool {
        true
    }

    /// The interpreter knows no `madvise`.
    #[cfg(miri)]
    pub fn new(len: usize, _resident: bool, _file: Option<i32>) -> io::Result<Self> {
        let layout = std::alloc::Layout::from_size_align(len, HUGE).unwrap();
        // SAFETY: the layout is not empty.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) });
        Ok(Self { base: base.ok_or(io::ErrorKind::OutOfMemory)?, len })
    }

    /// Of a file: all of it is on its disk, if it has one, when this returns.
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: the mapping.
        let done = unsafe { libc::msync(self.base.as_ptr().cast(), self.len, libc::MS_SYNC) };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Gives the memory back. Without this call it stays mapped for the process' life.
    ///
    /// # Safety
    /// Nothing may point into it any more.
    pub unsafe fn unmap(&self) {
        #[cfg(not(miri))]
        // SAFETY: the caller's promise; the range is the mapping.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.len);
        }
        #[cfg(miri)]
        // SAFETY: the caller's promise; the layout is that of `new`.
        unsafe {
            let layout = std::alloc::Layout::from_size_align(self.len, HUGE).unwrap();
            std::alloc::dealloc(self.base.as_ptr(), layout);
        }
    }
}
