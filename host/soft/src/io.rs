//! Reads and writes of a whole group of connections: with io_uring one submission for all of them,
//! where the kernel has none a system call each.
//!
//! The event loop says which sockets are ready and nothing here waits for one, so everything is
//! complete when a call returns: the kernel keeps no buffer.

use std::io::{self, IoSlice};
use std::os::fd::RawFd;
use std::sync::Once;

use io_uring::register::Restriction;
use io_uring::{opcode, squeue, types, IoUring};

/// The sockets do not block anyhow; a closed one is an error, not a signal.
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// Connections served together: one submission for all, and their requests share the waits for
/// memory.
pub const GROUP: usize = 16;

#[derive(Default)]
pub struct Io {
    ring: Option<IoUring>,
    results: Vec<i32>,
}

impl Io {
    /// Where io_uring is missing or forbidden, it does without, which the first thread says; so it does from the first
    /// operation on that the kernel does not know.
    pub fn new() -> Io {
        let entries = GROUP as u32;
        let mut builder = IoUring::builder();
        let plain = builder.setup_r_disabled().clone();
        let ring = builder.setup_single_issuer().setup_coop_taskrun().build(entries);
        let ring = ring.or_else(|_| plain.build(entries));
        let ring = ring.and_then(Io::restricted);
        if let Err(e) = &ring {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                wirekv_log::warn!(
                    "no io_uring ({e}): a system call for each read and write instead"
                );
            });
        }
        Io { ring: ring.ok(), results: Vec::with_capacity(GROUP) }
    }

    /// A ring could do what a seccomp filter forbids; this one sends and receives.
    fn restricted(ring: IoUring) -> io::Result<IoUring> {
        let operations = [opcode::Recv::CODE, opcode::Send::CODE, opcode::SendMsg::CODE];
        let submitter = ring.submitter();
        submitter.register_restrictions(&mut operations.map(Restriction::sqe_op))?;
        submitter.register_enable_rings()?;
        Ok(ring)
    }

    /// Fills each of `count` rooms, up to `GROUP`, from its socket. What came of it, in the same order.
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
                let whole = unsafe { submit(ring, entries, &mut self.results, enter) };
                self.check(whole);
            }
        }
        self.results()
    }

    /// Writes the parts to each of `count` sockets, up to `GROUP`. What came of it, in the same order.
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
                    // SAFETY: the parts are valid for their lengths.
                    _ => unsafe { libc::sendmsg(fd, &message(parts), FLAGS) },
                })
            })),
            Some(ring) => {
                let mut messages = [message(&[]); GROUP];
                let entries = gathered.zip(&mut messages).map(|((fd, parts), room)| match parts {
                    [one] => {
                        let (at, len) = (one.as_ptr(), length(one.len()));
                        opcode::Send::new(types::Fd(fd), at, len).flags(FLAGS).build()
                    }
                    // Not `Writev`: it would wait for room whatever the socket says, and where
                    // sockets do not know RWF_NOWAIT (Linux 6.1) it cannot be told otherwise.
                    _ => {
                        *room = message(parts);
                        opcode::SendMsg::new(types::Fd(fd), room).flags(FLAGS as u32).build()
                    }
                });
                // SAFETY: the parts are borrowed and the messages kept for longer than this call.
                let whole = unsafe { submit(ring, entries, &mut self.results, enter) };
                self.check(whole);
            }
        }
        self.results()
    }

    /// What the kernel does not know is as if it was interrupted: the caller tries again, and then
    /// it is a system call. An error of the socket itself comes again there. So it is when it did
    /// not take a `whole` group.
    fn check(&mut self, whole: bool) {
        if !whole {
            wirekv_log::warn!("io_uring has no memory: a thread goes on without it");
            self.ring = None;
        }
        for n in &mut self.results {
            if matches!(-*n, libc::EINVAL | libc::EOPNOTSUPP) {
                *n = -libc::EINTR;
                self.ring = None;
            }
        }
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

/// What `sendmsg` takes: nothing but the parts.
fn message(parts: &[IoSlice<'_>]) -> libc::msghdr {
    // SAFETY: zeros are null pointers and no bytes behind them.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // An `IoSlice` is an `iovec`, by its documentation. Sending only reads it.
    message.msg_iov = parts.as_ptr().cast_mut().cast();
    message.msg_iovlen = parts.len() as _;
    message
}

/// One operation need not take all.
fn length(len: usize) -> u32 {
    len.min(1 << 30) as u32
}

/// What the kernel says when it has no memory for an operation at the moment, or when the results of
/// earlier ones are to be taken first.
const REFUSALS: [i32; 3] = [libc::EAGAIN, libc::EBUSY, libc::ENOMEM];
/// As often it is asked again at once.
const PATIENCE: u32 = 16;

/// Gives the kernel `submit` entries and waits for `wait` results. Returns how many entries it took.
fn enter(ring: &IoUring, submit: usize, wait: usize) -> io::Result<usize> {
    const GETEVENTS: u32 = 1;
    // SAFETY: there is no argument; the entries are the business of who pushed them.
    unsafe { ring.submitter().enter::<()>(submit as u32, wait as u32, GETEVENTS, None) }
}

/// Puts the results where their entries were in the order. False: the kernel did not take all
/// entries, which are as if they were interrupted, and the ring must go: it still has them.
///
/// # Safety
/// What the entries point to is valid until the call returns.
unsafe fn submit(
    ring: &mut IoUring,
    entries: impl Iterator<Item = squeue::Entry>,
    results: &mut Vec<i32>,
    mut enter: impl FnMut(&IoUring, usize, usize) -> io::Result<usize>,
) -> bool {
    for entry in entries {
        let entry = entry.user_data(results.len() as u64);
        results.push(-libc::EINTR);
        // SAFETY: the caller's promise: the kernel has none of them when this returns.
        unsafe { ring.submission().push(&entry) }.expect("the ring has room for a group");
    }
    let count = results.len();
    let (mut taken, mut done, mut refusals) = (0, 0, 0);
    while done < count {
        // While the kernel refuses more, what it has is waited for: those are the caller's buffers.
        let (submit, wait) = match refusals {
            0 => (count - taken, count - done),
            _ if done < taken => (0, taken - done),
            _ if refusals > PATIENCE => return false,
            _ => (count - taken, 0),
        };
        match enter(ring, submit, wait) {
            Ok(n) => {
                taken += n;
                refusals = if n > 0 { 0 } else { refusals };
            }
            Err(e) => match e.raw_os_error().unwrap_or(0) {
                libc::EINTR => {}
                error if REFUSALS.contains(&error) => {
                    refusals += 1;
                    std::thread::yield_now();
                }
                _ if done == taken => return false,
                _ => {
                    // There is no safe way on.
                    wirekv_log::error!("io_uring fails and keeps buffers: {e}");
                    std::process::abort();
                }
            },
        }
        for result in ring.completion() {
            results[result.user_data() as usize] = result.result();
            done += 1;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use socket2::{Domain, Socket, Type};

    use super::*;

    fn pairs(count: usize) -> Vec<(UnixStream, UnixStream)> {
        let pairs: Vec<_> = (0..count).map(|_| UnixStream::pair().unwrap()).collect();
        pairs.iter().for_each(|(ours, _)| ours.set_nonblocking(true).unwrap());
        pairs
    }

    /// Writes the parts to each of the sockets.
    fn write(io: &mut Io, to: &[RawFd], parts: &[&str]) -> Vec<Result<usize, ErrorKind>> {
        let parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part.as_bytes())).collect();
        let results = io.write(to.len(), to.iter().map(|fd| (*fd, &parts[..])));
        results.map(|result| result.map_err(|e| e.kind())).collect()
    }

    /// Reads up to 8 bytes from each of the sockets.
    fn read(io: &mut Io, from: &[RawFd]) -> Vec<Result<String, ErrorKind>> {
        let mut rooms = vec![[0; 8]; from.len()];
        let to = from.iter().copied().zip(rooms.iter_mut().map(|room| &mut room[..]));
        let results: Vec<_> = io.read(from.len(), to).collect();
        let text = |(result, room): (io::Result<usize>, [u8; 8])| match result {
            Ok(n) => Ok(std::str::from_utf8(&room[..n]).unwrap().into()),
            Err(e) => Err(e.kind()),
        };
        results.into_iter().zip(rooms).map(text).collect()
    }

    #[test]
    fn a_group_is_written_and_read() {
        for mut io in [Io::default(), Io::new()] {
            let pairs = pairs(4);
            let fds: Vec<_> = pairs.iter().map(|(ours, _)| ours.as_raw_fd()).collect();
            // One takes nothing more, be it a single part or several; nothing waits for it.
            while (&pairs[2].0).write(&[0; 4096]).is_ok() {}
            let full = Err(ErrorKind::WouldBlock);
            for (parts, all) in [(&["one"][..], "one"), (&["several ", "parts"], "several parts")] {
                let len = all.len();
                assert_eq!(write(&mut io, &fds, parts), [Ok(len), Ok(len), full, Ok(len)]);
                for mut theirs in [0, 1, 3].map(|i| &pairs[i].1) {
                    let mut came = vec![0; len];
                    theirs.read_exact(&mut came).unwrap();
                    assert_eq!(came, all.as_bytes());
                }
            }
            (&pairs[0].1).write_all(b"for 0").unwrap();
            (&pairs[3].1).write_all(b"for 3, more than there is room for").unwrap();
            let empty = || Err(ErrorKind::WouldBlock);
            let came = [Ok("for 0".into()), empty(), empty(), Ok("for 3, m".into())];
            assert_eq!(read(&mut io, &fds), came);
        }
    }

    /// The kernel refuses, or takes a part: everything is done once, or said not to be done.
    #[test]
    fn refusals_lose_nothing() {
        use libc::{EAGAIN, EBUSY, EINTR, ENOMEM};
        const COUNT: usize = 8;
        // What it does in turn, the last for ever: an error, or a part of the entries.
        let scripts: [&[Result<usize, i32>]; 8] = [
            &[Ok(9)],
            &[Err(EAGAIN), Ok(9)],
            &[Err(EINTR), Ok(3), Err(ENOMEM), Ok(0), Ok(9)],
            &[Ok(1), Err(EBUSY), Ok(0), Err(EBUSY), Ok(2), Ok(9)],
            &[Ok(5), Err(EAGAIN)],
            &[Err(ENOMEM)],
            &[Ok(2), Ok(9)],
            &[Err(libc::EBADF)],
        ];
        for script in scripts {
            let Some(mut ring) = Io::new().ring else { return };
            let pairs = pairs(COUNT);
            for (_, theirs) in &pairs {
                (&mut &*theirs).write_all(b"!").unwrap();
            }
            let mut rooms = [[0u8; 1]; COUNT];
            let entries = pairs.iter().zip(&mut rooms).map(|((ours, _), room)| {
                let fd = types::Fd(ours.as_raw_fd());
                opcode::Recv::new(fd, room.as_mut_ptr(), 1).flags(FLAGS).build()
            });
            let (mut turn, mut results) = (0, Vec::new());
            let faulty = |ring: &IoUring, submit: usize, wait: usize| {
                turn += 1;
                assert!(turn < 100, "no end");
                match script[(turn - 1).min(script.len() - 1)] {
                    // A wait for what was taken is no new entry, and never refused for ever.
                    _ if submit == 0 && turn > script.len() => enter(ring, 0, wait),
                    // After a part, the kernel does not wait.
                    Ok(most) if most < submit => enter(ring, most, 0),
                    Ok(_) => enter(ring, submit, wait),
                    Err(error) => Err(io::Error::from_raw_os_error(error)),
                }
            };
            // SAFETY: the rooms are there for longer than the call.
            let whole = unsafe { submit(&mut ring, entries, &mut results, faulty) };
            assert_eq!(whole, script.last().unwrap().is_ok());
            assert_eq!(whole, !results.contains(&-EINTR));
            drop(ring);
            for ((result, room), (ours, _)) in results.iter().zip(rooms).zip(&pairs) {
                let left = (&mut &*ours).read(&mut [0; 2]).is_ok();
                assert_eq!((*result == 1, *result == 1), (room == *b"!", !left), "{script:?}");
                assert!(matches!(*result, 1 | -4));
            }
        }
    }

    #[test]
    fn a_ring_opens_nothing() {
        let Some(mut ring) = Io::new().ring else { return };
        let root = c"/".as_ptr();
        let entry = opcode::OpenAt::new(types::Fd(libc::AT_FDCWD), root).build();
        let mut results = Vec::new();
        // SAFETY: the path is there for good.
        unsafe { submit(&mut ring, [entry].into_iter(), &mut results, enter) };
        assert_eq!(results, [-libc::EACCES]);
    }

    /// A socket without a peer refuses as a kernel does that does not know the operation.
    #[test]
    fn what_the_kernel_does_not_know_is_tried_without_it() {
        let alone = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        let pairs = pairs(1);
        let fds = [pairs[0].0.as_raw_fd(), alone.as_raw_fd()];
        let mut io = Io::new();
        if io.ring.is_none() {
            return;
        }
        for (text, refused) in
            [("before", ErrorKind::Interrupted), ("after", ErrorKind::InvalidInput)]
        {
            (&pairs[0].1).write_all(text.as_bytes()).unwrap();
            assert_eq!(read(&mut io, &fds), [Ok(text.into()), Err(refused)]);
        }
        assert_eq!(write(&mut io, &[fds[0]; 2], &["a ", "reply"]), [Ok(7), Ok(7)]);
    }
}
