//! A TAP device: the kernel's TCP/IP talks to the card's.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{anyhow, bail, Context, Result};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::ifreq::{ioctl, is_name, Request, MAX_NAME};
use crate::{Frames, NetEnd};

const WAKER: Token = Token(0);
const DEVICE: Token = Token(1);
const MAX_FRAME: usize = 9018;

pub struct Tap {
    poll: Poll,
    device: File,
    name: String,
}

impl Tap {
    /// Makes the device, gives the kernel's side `host` in a /24 and a /64 network, and brings it up.
    pub fn open(name: &str, host: (Ipv4Addr, Ipv6Addr), mtu: u16) -> Result<Tap> {
        if !is_name(name) {
            bail!("'{name}' is no name for a network device (1 to {MAX_NAME} characters)");
        }
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(|e| privileged("open /dev/net/tun", &e))?;
        let mut request = Request::new(name);
        request.0.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
        ioctl(device.as_raw_fd(), libc::TUNSETIFF, &mut request)
            .map_err(|e| privileged(&format!("make the TAP device {name}"), &e))?;
        // Without offloads the kernel computes every checksum itself, and checks ours.
        let off: libc::c_ulong = 0;
        // SAFETY: the request takes its argument by value.
        if unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETOFFLOAD, off) } < 0 {
            return Err(anyhow!(io::Error::last_os_error()).context("turn offloads off"));
        }
        configure(name, host.0, mtu)?;
        configure_ipv6(name, host.1)?;

        let poll = Poll::new()?;
        let fd = device.as_raw_fd();
        poll.registry().register(&mut SourceFd(&fd), DEVICE, Interest::READABLE)?;
        Ok(Tap { poll, device, name: name.to_string() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn waker(&self) -> Result<Waker> {
        Ok(Waker::new(self.poll.registry(), WAKER)?)
    }

    /// Moves frames until the link is stopped.
    pub fn run(mut self, link: NetEnd) -> Result<()> {
        let mut events = Events::with_capacity(8);
        let (mut to_card, mut from_card) = (Frames::default(), Frames::default());
        let mut frame = vec![0; MAX_FRAME + 1];
        let mut readable = true;
        loop {
            let mut room = link.send(&mut to_card);
            while readable && room > 0 {
                match self.device.read(&mut frame) {
                    Ok(n) if n <= MAX_FRAME => {
                        to_card.push(&frame[..n]);
                        room = room.saturating_sub(n);
                    }
                    Ok(_) => {} // longer than any frame the card takes
                    Err(e) if e.kind() == ErrorKind::WouldBlock => readable = false,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(e).with_context(|| format!("read from {}", self.name)),
                }
            }
            // Says also whether there is room: if not, the link wakes us when there is.
            if link.send(&mut to_card) > 0 && readable {
                continue;
            }
            match self.poll.poll(&mut events, None) {
                Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
                _ => {}
            }
            readable |= events.iter().any(|e| e.token() == DEVICE);
            if link.stopped() {
                return Ok(());
            }
            link.receive(&mut from_card);
            for frame in from_card.iter() {
                match self.device.write(frame) {
                    // A full queue drops frames, as any wire may; so does a device that is down.
                    Ok(_) => {}
                    Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EIO)) => {}
                    Err(e) => return Err(e).with_context(|| format!("write to {}", self.name)),
                }
            }
            from_card.clear();
        }
    }
}

fn privileged(what: &str, e: &io::Error) -> anyhow::Error {
    match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            anyhow!("cannot {what}: --net tap needs CAP_NET_ADMIN (run as root, or use --net user)")
        }
        Some(libc::EBUSY) => anyhow!("cannot {what}: another program uses it (see --tap-name)"),
        _ => anyhow!("cannot {what}: {e}"),
    }
}

/// Address, MTU and state of the kernel's side.
fn configure(name: &str, host: Ipv4Addr, mtu: u16) -> Result<()> {
    let control = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let fd = control.as_raw_fd();
    let set = |what, request, mut r: Request| {
        ioctl(fd, request, &mut r).map_err(|e| privileged(&format!("set {what} of {name}"), &e))
    };
    let with_ip = |ip: Ipv4Addr| {
        let mut r = Request::new(name);
        let octets = ip.octets();
        // SAFETY: the kernel reads this member as a sockaddr, of which AF_INET's is one kind.
        let a = unsafe { &mut r.0.ifr_ifru.ifru_addr };
        a.sa_family = libc::AF_INET as libc::sa_family_t;
        for (to, from) in a.sa_data[2..6].iter_mut().zip(octets) {
            *to = from as libc::c_char; // sa_data holds port, then address
        }
        r
    };
    set("the address", libc::SIOCSIFADDR, with_ip(host))?;
    set("the network mask", libc::SIOCSIFNETMASK, with_ip([255, 255, 255, 0].into()))?;
    let mut r = Request::new(name);
    r.0.ifr_ifru.ifru_mtu = i32::from(mtu);
    set("the MTU", libc::SIOCSIFMTU, r)?;
    let mut r = Request::new(name);
    r.0.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    set("the state", libc::SIOCSIFFLAGS, r)
}

/// `in6_ifreq`, which libc leaves out.
#[repr(C)]
struct Request6 {
    address: libc::in6_addr,
    prefix: u32,
    interface: libc::c_int,
}

/// The IPv6 address of the kernel's side; none where the kernel has no IPv6, or the device shall not
/// have it.
fn configure_ipv6(name: &str, host: Ipv6Addr) -> Result<()> {
    // Nobody else is on this link, so nobody has to be asked whether the address is free; where that
    // cannot be said it takes a second until the address can be used.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/accept_dad"), "0");
    let Ok(control) = std::net::UdpSocket::bind("[::]:0") else { return Ok(()) };
    let mut r = Request::new(name);
    ioctl(control.as_raw_fd(), libc::SIOCGIFINDEX, &mut r)
        .map_err(|e| privileged(&format!("find {name}"), &e))?;
    // SAFETY: SIOCGIFINDEX has set this member.
    let interface = unsafe { r.0.ifr_ifru.ifru_ifindex };
    let address = libc::in6_addr { s6_addr: host.octets() };
    let mut r = Request6 { address, prefix: 64, interface };
    // SAFETY: on a socket of AF_INET6 the request takes a pointer to an in6_ifreq.
    match unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCSIFADDR, &mut r) } {
        0.. => Ok(()),
        _ => match io::Error::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::EACCES | libc::EOPNOTSUPP)) => Ok(()),
            e => Err(privileged(&format!("set the IPv6 address of {name}"), &e)),
        },
    }
}
