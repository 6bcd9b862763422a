//! Reads and writes of a whole group of connections: with io_uring one submission for all of them,
//! where the kernel has none a system call each.
//!
//! The event loop says which sockets are ready and nothing here waits for one, so everything is
//! complete when a call returns: the kernel keeps no buffer.

use std::io::{self, IoSlice};
use std::os::fd::RawFd;

use io_uring::{opcode, squeue, types, IoUring};

/// The sockets do not block anyhow; a closed one is an error, not a signal.
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

#[derive(Default)]
pub struct Io {
    ring: Option<IoUring>,
    results: Vec<i32>,
}

impl Io {
    /// For groups of up to `most`. Where io_uring is missing or forbidden, it does without.
    pub fn new(most: u32) -> Io {
        let ring = IoUring::builder().setup_single_issuer().setup_coop_taskrun().build(most);
        let ring = ring.or_else(|_| IoUring::new(most)).ok();
        Io { ring, results: Vec::with_capacity(most as usize) }
    }

    /// Fills each of `count` rooms from its socket. What came of it, in the same order.
    pub fn read<'a>(
        &mut self,
        count: usize,
        rooms: impl Iterator<Item = (RawFd, &'a mut [u8])>,
    ) -> impl Iterator<Item = io::Result<usize>> + '_ {
        self.results.clear();
        match self.ring.as_mut().filter(|_| count > 1) {
            None => self.results.extend(rooms.map(|(fd, room)| {
                // SAFETY: the room is valid for its length.
                outcome(unsafe { libc::recv(fd, room.as_mut_ptr().cast(), room.len(), FLAGS) })
            })),
            Some(ring) => {
                let entries = rooms.map(|(fd, room)| {
                    let (at, len) = (room.as_mut_ptr(), length(room.len()));
                    opcode::Recv::new(types::Fd(fd), at, len).flags(FLAGS).build()
                });
                // SAFETY: the rooms are borrowed for longer than this call.
                unsafe { submit(ring, entries, &mut self.results) };
            }
        }
        self.results()
    }

    /// Writes the parts to each of `count` sockets. What came of it, in the same order.
    pub fn write<'a>(
        &mut self,
        count: usize,
        gathered: impl Iterator<Item = (RawFd, &'a [IoSlice<'a>])>,
    ) -> impl Iterator<Item = io::Result<usize>> + '_ {
        self.results.clear();
        match self.ring.as_mut().filter(|_| count > 1) {
            None => self.results.extend(gathered.map(|(fd, parts)| {
                outcome(match parts {
                    // SAFETY: the part is valid for its length.
                    [one] => unsafe { libc::send(fd, one.as_ptr().cast(), one.len(), FLAGS) },
                    // SAFETY: an `IoSlice` is an `iovec`, by its documentation.
                    _ => unsafe { libc::writev(fd, parts.as_ptr().cast(), parts.len() as i32) },
                })
            })),
            Some(ring) => {
                let entries = gathered.map(|(fd, parts)| match parts {
                    [one] => {
                        let (at, len) = (one.as_ptr(), length(one.len()));
                        opcode::Send::new(types::Fd(fd), at, len).flags(FLAGS).build()
                    }
                    _ => {
                        let (at, len) = (parts.as_ptr().cast(), length(parts.len()));
                        opcode::Writev::new(types::Fd(fd), at, len).build()
                    }
                });
                // SAFETY: the parts are borrowed for longer than this call.
                unsafe { submit(ring, entries, &mut self.results) };
            }
        }
        self.results()
    }

    fn results(&self) -> impl Iterator<Item = io::Result<usize>> + '_ {
        self.results
            .iter()
            .map(|n| usize::try_from(*n).map_err(|_| io::Error::from_raw_os_error(-n)))
    }
}

/// No error: the socket was not ready, or the call was interrupted.
pub fn retry(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// As io_uring says it: the count, or the negative error.
fn outcome(n: isize) -> i32 {
    if n >= 0 {
        return n as i32;
    }
    -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// One operation need not take all.
fn length(len: usize) -> u32 {
    len.min(1 << 30) as u32
}

/// Puts the results where their entries were in the order.
///
/// # Safety
/// What the entries point to is valid until the call returns.
unsafe fn submit(
    ring: &mut IoUring,
    entries: impl Iterator<Item = squeue::Entry>,
    results: &mut Vec<i32>,
) {
    for entry in entries {
        let entry = entry.user_data(results.len() as u64);
        results.push(0);
        // SAFETY: the caller's promise: all is complete when this returns.
        unsafe { ring.submission().push(&entry) }.expect("the ring has room for a group");
    }
    let mut left = results.len();
    while left > 0 {
        match ring.submit_and_wait(left) {
            Err(e) if e.raw_os_error() != Some(libc::EINTR) => {
                // The kernel may hold buffers: there is no safe way on.
                eprintln!("wirekv: io_uring fails: {e}");
                std::process::abort();
            }
            _ => {}
        }
        for done in ring.completion() {
            results[done.user_data() as usize] = done.result();
            left -= 1;
        }
    }
}
