//! An AF_XDP socket with its rings and the memory of its frames.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::interface::{get_option, set_option};
use crate::ring::Mapping;
use crate::Frames;

/// Frames lie in chunks of this size; a larger one takes several.
const CHUNK: usize = 4096;
/// Of each ring; and there are so many chunks for each direction.
const ENTRIES: u32 = 2048;
/// Descriptors that one system call sends at most: after so many calls, what is left waits.
const SENDS: u32 = ENTRIES / 32 + 1;
const SEND_BUFFER: i32 = 8 << 20;

/// A ring of which the kernel has one end.
struct Ring<T> {
    memory: Mapping,
    at: libc::xdp_ring_offset,
    /// What this end has got to. The kernel sees it when it is stored.
    position: u32,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn new(
        socket: &OwnedFd,
        page: libc::c_ulonglong,
        at: libc::xdp_ring_offset,
    ) -> io::Result<Ring<T>> {
        let len = at.desc as usize + ENTRIES as usize * size_of::<T>();
        let memory = Mapping::new(len, Some((socket.as_raw_fd(), page)))?;
        Ok(Ring { memory, at, position: 0, kind: std::marker::PhantomData })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: it is there as long as the memory, and is read and written by such accesses alone.
        unsafe { AtomicU32::from_ptr(self.memory.at(offset as usize, 1)) }
    }

    /// Entries that the kernel has produced.
    fn filled(&self) -> u32 {
        self.word(self.at.producer).load(Ordering::Acquire).wrapping_sub(self.position)
    }

    /// Entries that the kernel has yet to consume.
    fn waiting(&self) -> u32 {
        self.position.wrapping_sub(self.word(self.at.consumer).load(Ordering::Acquire))
    }

    fn entry(&self) -> *mut T {
        let index = (self.position % ENTRIES) as usize;
        self.memory.at(self.at.desc as usize + index * size_of::<T>(), 1)
    }

    fn take(&mut self) -> T {
        // SAFETY: the kernel has produced this entry and leaves it alone until it is consumed.
        let entry = unsafe { self.entry().read() };
        self.position = self.position.wrapping_add(1);
        entry
    }

    fn put(&mut self, entry: T) {
        // SAFETY: the kernel has consumed what was here and does not look before it is produced.
        unsafe { self.entry().write(entry) };
        self.position = self.position.wrapping_add(1);
    }

    fn consumed(&self) {
        self.word(self.at.consumer).store(self.position, Ordering::Release);
    }

    fn produced(&self) {
        self.word(self.at.producer).store(self.position, Ordering::Release);
    }

    fn needs_wakeup(&self) -> bool {
        // What was produced must be seen by who looked before this was set.
        std::sync::atomic::fence(Ordering::SeqCst);
        self.word(self.at.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

pub struct Xsk {
    socket: OwnedFd,
    frames: Mapping,
    fill: Ring<u64>,
    completion: Ring<u64>,
    rx: Ring<libc::xdp_desc>,
    tx: Ring<libc::xdp_desc>,
    /// Chunks that are free to be sent from.
    free: Vec<u64>,
    /// The beginning of a frame whose last chunk has not come yet.
    begun: Vec<u8>,
    pub unsent: u64,
}

impl Xsk {
    /// The socket of one queue of an interface.
    pub fn new(interface: u32, queue: u32) -> io::Result<Xsk> {
        // SAFETY: the file that is returned is nobody else's.
        let socket =
            match unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) } {
                // SAFETY: as above.
                fd @ 0.. => unsafe { OwnedFd::from_raw_fd(fd) },
                _ => return Err(io::Error::last_os_error()),
            };
        let fd = socket.as_raw_fd();
        let chunks = 2 * ENTRIES as usize;
        let frames = Mapping::new(chunks * CHUNK, None)?;
        let memory = libc::xdp_umem_reg {
            addr: frames.at::<u8>(0, 0) as u64,
            len: (chunks * CHUNK) as u64,
            chunk_size: CHUNK as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set_option(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)?;
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            set_option(fd, libc::SOL_XDP, ring, &ENTRIES)?;
        }
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER);
        // SAFETY: all-zero bytes are valid offsets.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        get_option(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
        let mut fill: Ring<u64> = Ring::new(&socket, libc::XDP_UMEM_PGOFF_FILL_RING, offsets.fr)?;
        let completion = Ring::new(&socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr)?;
        let rx = Ring::new(&socket, libc::XDP_PGOFF_RX_RING as u64, offsets.rx)?;
        let tx = Ring::new(&socket, libc::XDP_PGOFF_TX_RING as u64, offsets.tx)?;

        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP | libc::XDP_USE_SG,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: the address is as long as is said.
        if unsafe { libc::bind(fd, (&raw const address).cast(), size_of_val(&address) as u32) } < 0
        {
            return Err(io::Error::last_os_error());
        }
        let chunk = |n: u32| u64::from(n) * CHUNK as u64;
        (0..ENTRIES).for_each(|n| fill.put(chunk(n)));
        fill.produced();
        let free = (ENTRIES..2 * ENTRIES).map(chunk).collect();
        Ok(Xsk { socket, frames, fill, completion, rx, tx, free, begun: Vec::new(), unsent: 0 })
    }

    /// Gives the frames that came to `take` until it has no more room, and says whether more may be there.
    pub fn receive(&mut self, take: &mut impl FnMut(&[u8]) -> bool) -> bool {
        let mut filled = self.rx.filled();
        let came = filled > 0;
        let mut has_room = true;
        while filled > 0 && has_room {
            let desc = self.rx.take();
            filled -= 1;
            let len = desc.len as usize;
            // SAFETY: the kernel has written a chunk's frame there, and leaves it alone until the chunk is its again.
            let part = unsafe {
                std::slice::from_raw_parts(self.frames.at::<u8>(desc.addr as usize, len), len)
            };
            match (desc.options & libc::XDP_PKT_CONTD != 0, self.begun.is_empty()) {
                (false, true) => has_room = take(part),
                (goes_on, _) => {
                    self.begun.extend_from_slice(part);
                    if !goes_on {
                        has_room = take(&self.begun);
                        self.begun.clear();
                    }
                }
            }
            self.fill.put(desc.addr / CHUNK as u64 * CHUNK as u64);
        }
        if came {
            self.rx.consumed();
            self.fill.produced();
            if self.fill.needs_wakeup() {
                // SAFETY: nothing is received.
                unsafe {
                    let fd = self.socket.as_raw_fd();
                    libc::recv(fd, std::ptr::null_mut(), 0, libc::MSG_DONTWAIT);
                }
            }
        }
        filled > 0
    }

    pub fn send(&mut self, frames: &Frames) {
        for frame in frames.iter() {
            let chunks = frame.len().div_ceil(CHUNK);
            if self.free.len() < chunks {
                self.kick();
            }
            if self.free.len() < chunks {
                self.unsent += 1;
                continue;
            }
            for (n, part) in frame.chunks(CHUNK).enumerate() {
                let addr = self.free.pop().expect("as many as are needed");
                let to: *mut u8 = self.frames.at(addr as usize, part.len());
                // SAFETY: the chunk is free, and as long.
                unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
                let options = if n + 1 < chunks { libc::XDP_PKT_CONTD } else { 0 };
                self.tx.put(libc::xdp_desc { addr, len: part.len() as u32, options });
            }
        }
        self.kick();
    }

    /// Has the kernel send what waits, and takes back the chunks of what is sent. There are as many entries as chunks.
    fn kick(&mut self) {
        self.tx.produced();
        let mut left = SENDS;
        while left > 0 && self.tx.waiting() > 0 && self.tx.needs_wakeup() {
            left -= 1;
            // SAFETY: nothing is sent but what is in the ring.
            let sent = unsafe {
                let fd = self.socket.as_raw_fd();
                libc::sendto(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
            };
            let error = io::Error::last_os_error().raw_os_error();
            if sent < 0 && !matches!(error, Some(libc::EAGAIN | libc::EBUSY | libc::EINTR)) {
                break; // the interface is down, or has no room
            }
        }
        for _ in 0..self.completion.filled() {
            let addr = self.completion.take();
            self.free.push(addr);
        }
        self.completion.consumed();
    }

    /// Frames that found no room.
    pub fn no_room(&self) -> io::Result<u64> {
        // SAFETY: all-zero bytes are valid statistics.
        let mut lost: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        get_option(self.socket.as_raw_fd(), libc::SOL_XDP, libc::XDP_STATISTICS, &mut lost)?;
        Ok(lost.rx_dropped + lost.rx_ring_full)
    }
}

impl AsRawFd for Xsk {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}

// The kernel's offsets have their flags; those of before 5.4 have none, and would be half as long.
const _: () = assert!(offset_of!(libc::xdp_mmap_offsets, cr) == 96);
