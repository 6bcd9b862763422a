//! Requests to the kernel about a network device.

use std::io;
use std::os::fd::RawFd;

/// Longest name of a device.
pub const MAX_NAME: usize = libc::IFNAMSIZ - 1;

/// An `ifreq` for a device name.
pub struct Request(pub libc::ifreq);

impl Request {
    pub fn new(name: &str) -> Request {
        // SAFETY: all-zero bytes are a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(MAX_NAME)) {
            *to = from as libc::c_char;
        }
        Request(request)
    }

    /// For the device of an index.
    pub fn of(index: u32) -> Request {
        let mut request = Request::new("");
        request.0.ifr_ifru.ifru_ifindex = index as i32;
        request
    }
}

pub fn ioctl(fd: RawFd, what: libc::Ioctl, request: &mut Request) -> io::Result<()> {
    // SAFETY: every request used here takes a pointer to an ifreq.
    match unsafe { libc::ioctl(fd, what, &mut request.0) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && !name.contains(['/', ' '])
}
