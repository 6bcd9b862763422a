//! What an interface does beyond the frames of a wire: larger ones, and tags taken out. It is switched off while a card
//! is there.

use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::ifreq::{ioctl, Request};

const GET_STRINGS: u32 = 0x1B;
const GET_SET_INFO: u32 = 0x37;
const GET_FEATURES: u32 = 0x3A;
const SET_FEATURES: u32 = 0x3B;
const GET_CHANNELS: u32 = 0x3C;
const FEATURE_NAMES: u32 = 4;
const NAME: usize = 32;
/// The kernel has fewer features than this.
const MAX_BLOCKS: usize = 8;

/// Make frames larger than the MTU, or take the tag of a VLAN out of a frame.
const UNWANTED: [&str; 4] = ["rx-gro", "rx-gro-hw", "rx-lro", "rx-vlan-hw-parse"];

/// A command with its data, of words.
fn ask(control: RawFd, name: &str, data: &mut [u32]) -> io::Result<()> {
    let mut request = Request::new(name);
    request.0.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
    ioctl(control, libc::SIOCETHTOOL as libc::Ioctl, &mut request)
}

/// Receive queues, as far as the driver knows of such.
pub fn queues(control: RawFd, name: &str) -> io::Result<u32> {
    let mut data = [GET_CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    match ask(control, name, &mut data) {
        Ok(()) => Ok((data[5] + data[8]).max(1)),
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(e) => Err(e),
    }
}

/// The features that are on, by their bits; and those of them that `UNWANTED` names.
fn features(control: RawFd, name: &str) -> io::Result<Vec<(usize, bool)>> {
    let mut info = [GET_SET_INFO, 0, 1 << FEATURE_NAMES, 0, 0];
    ask(control, name, &mut info)?;
    let count = info[4] as usize;
    let mut names = vec![0u32; 3 + count * NAME / 4];
    names[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, count as u32]);
    ask(control, name, &mut names)?;
    let names: Vec<u8> = names[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let is_unwanted = |name: &[u8]| {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        UNWANTED.iter().any(|unwanted| unwanted.as_bytes() == &name[..end])
    };
    let blocks = count.div_ceil(32).min(MAX_BLOCKS);
    let mut states = vec![0u32; 2 + 4 * blocks];
    states[..2].copy_from_slice(&[GET_FEATURES, blocks as u32]);
    ask(control, name, &mut states)?;
    let bits = (0..count.min(32 * blocks)).filter(|bit| is_unwanted(&names[bit * NAME..][..NAME]));
    Ok(bits.map(|bit| (bit, states[2 + 4 * (bit / 32) + 2] >> (bit % 32) & 1 != 0)).collect())
}

/// The command that switches features on, or off.
fn switching(bits: &[usize], on: bool) -> [u32; 2 + 2 * MAX_BLOCKS] {
    let mut data = [0; 2 + 2 * MAX_BLOCKS];
    data[0] = SET_FEATURES;
    for bit in bits {
        data[2 + 2 * (bit / 32)] |= 1 << (bit % 32);
        data[2 + 2 * (bit / 32) + 1] |= u32::from(on) << (bit % 32);
    }
    data
}

/// Keeps features off. At its end, and be it by a signal that nobody can handle, they are what they were before.
///
/// The server gives its privileges up, so a process of its own restores them. Other servers on this interface still need
/// them off: each holds a shared lock on one file of the interface, and who is to restore waits for an exclusive one.
pub struct Plain {
    lock: Option<File>,
    /// The process that restores, and a way to it, if something was switched off.
    restorer: Option<(libc::pid_t, UnixStream)>,
}

impl Plain {
    pub fn new(control: RawFd, name: &str, index: u32) -> io::Result<Plain> {
        let lock = lock_file(name, index)?;
        lock.lock_shared()?;
        let before = match features(control, name) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => vec![],
            result => result?,
        };
        let on: Vec<usize> =
            before.iter().filter(|(_, is_on)| *is_on).map(|(bit, _)| *bit).collect();
        if on.is_empty() {
            return Ok(Plain { lock: Some(lock), restorer: None });
        }
        let blocks = before.iter().map(|(bit, _)| bit / 32 + 1).max().unwrap_or(0) as u32;
        // The process is there before anything is changed.
        let mut restore = switching(&on, true);
        restore[1] = blocks;
        let restorer = start_restorer(name, lock_file(name, index)?, restore)?;
        let plain = Plain { lock: Some(lock), restorer: Some(restorer) };
        let mut off = switching(&on, false);
        off[1] = blocks;
        ask(control, name, &mut off)?;
        Ok(plain)
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.lock = None;
        if let Some((process, way)) = &mut self.restorer {
            let _ = way.shutdown(Shutdown::Write);
            // It ends at once, or says that it waits for other servers.
            if matches!(way.read(&mut [0]), Ok(0)) {
                // SAFETY: no status is asked for.
                unsafe { libc::waitpid(*process, std::ptr::null_mut(), 0) };
            }
        }
    }
}

/// A file of the interface, or where that is not in sight one of its network namespace, only to be locked.
fn lock_file(name: &str, index: u32) -> io::Result<File> {
    let mut number = String::new();
    if let Ok(mut file) = File::open(format!("/sys/class/net/{name}/ifindex")) {
        file.read_to_string(&mut number)?;
        if number.trim() == index.to_string() {
            return Ok(file);
        }
    }
    File::open("/proc/thread-self/ns/net")
}

/// Starts the process that restores features when the other end of what is returned is closed.
fn start_restorer(
    name: &str,
    lock: File,
    mut data: [u32; 2 + 2 * MAX_BLOCKS],
) -> io::Result<(libc::pid_t, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let control = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut kept = [theirs.as_raw_fd(), lock.as_raw_fd(), control.as_raw_fd()];
    let [theirs_fd, lock_fd, control_fd] = kept;
    kept.sort_unstable();
    // SAFETY: the new process does nothing but system calls, as one of a process with several threads must; it ends here.
    unsafe {
        let process = libc::fork();
        match process {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::setsid();
                libc::prctl(libc::PR_SET_NAME, c"wirekv-restore".as_ptr());
                for signal in
                    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1]
                {
                    libc::signal(signal, libc::SIG_IGN);
                }
                // Whatever else is open would not end with the server.
                let mut from = 0;
                for fd in kept.map(|fd| fd as libc::c_uint) {
                    if fd > from {
                        libc::close_range(from, fd - 1, 0);
                    }
                    from = fd + 1;
                }
                libc::close_range(from, libc::c_uint::MAX, 0);
                let mut byte = 0u8;
                while libc::read(theirs_fd, (&raw mut byte).cast(), 1) < 0 {}
                if libc::flock(lock_fd, libc::LOCK_EX | libc::LOCK_NB) < 0 {
                    libc::write(theirs_fd, (&raw const byte).cast(), 1);
                    while libc::flock(lock_fd, libc::LOCK_EX) < 0 {}
                }
                let _ = ask(control_fd, name, &mut data);
                libc::_exit(0)
            }
            _ => Ok((process, ours)),
        }
    }
}
