//! AF_XDP: a program in the driver gives the card's frames to sockets, past the kernel's network stack.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure, Result};
use mio::{Poll, Waker};

use crate::bpf::{self, Sockets, XdpMode};
use crate::interface::{carry, privileged, waker, Device, Found, Interface, Own};
use crate::steer::Steer;
use crate::whole::{Sum, Whole};
use crate::xsk::Xsk;
use crate::{Addresses, Frames, NetCounts, NetEnd};

/// Each has memory of its own, 16 MiB.
const MAX_QUEUES: u32 = 64;

pub struct AfXdp {
    poll: Poll,
    port: Port,
    mode: XdpMode,
}

struct Port {
    /// Ends before the sockets do: frames that come then are the kernel's.
    _link: OwnedFd,
    interface: Interface,
    /// Of each queue. The card's frames leave by the first one.
    queues: Vec<Xsk>,
    whole: Whole,
}

impl AfXdp {
    pub fn open(found: Found, addresses: &Addresses, own: Own) -> Result<AfXdp> {
        let count = found.queues()?;
        let interface = found.open(addresses, own)?;
        let name = &interface.name;
        ensure!(
            count <= MAX_QUEUES,
            "{name} has {count} receive queues and --net afxdp serves {MAX_QUEUES}: \
             `ethtool -L {name} combined {MAX_QUEUES}`"
        );
        let refused =
            |what: &'static str| move |e: io::Error| privileged(&format!("{what} {name}"), &e);
        let mut queues = Vec::new();
        for queue in 0..count {
            let xsk = patiently(|| Xsk::new(interface.index, queue));
            queues.push(xsk.map_err(|e| match e.raw_os_error() {
                Some(libc::EBUSY) => anyhow!(
                    "another program has an AF_XDP socket on queue {queue} of {name}: --net packet:{name} works \
                     beside it"
                ),
                Some(libc::EINVAL) => anyhow!(
                    "the kernel refuses an AF_XDP socket on queue {queue} of {name}: it takes Linux 6.6"
                ),
                _ => privileged(&format!("open an AF_XDP socket on queue {queue} of {name}"), &e),
            })?);
        }
        let sockets = Sockets::new(count).map_err(refused("make the map of sockets of"))?;
        for (queue, xsk) in (0..).zip(&queues) {
            sockets.insert(queue, xsk.as_raw_fd()).map_err(refused("enter a socket of"))?;
        }
        let steer = Steer { addresses: *addresses, is_shared: own == Own::Machine };
        let program = steer.xdp(&sockets).map_err(refused("load the XDP program for"))?;
        let (link, mode) = attach(&program, &interface)?;
        let fds: Vec<RawFd> = queues.iter().map(Xsk::as_raw_fd).collect();
        let poll = interface.poll(&fds)?;
        let whole = Whole::new(addresses.mtu);
        Ok(AfXdp { poll, port: Port { _link: link, interface, queues, whole }, mode })
    }

    /// In the driver, or behind it.
    pub fn mode(&self) -> &'static str {
        match self.mode {
            XdpMode::Native => "native",
            XdpMode::Generic => "generic",
        }
    }

    pub fn waker(&self) -> Result<Waker> {
        waker(&self.poll)
    }

    /// Moves frames until the link is stopped.
    pub fn run(mut self, link: &NetEnd) -> Result<NetCounts> {
        carry(&mut self.poll, &mut self.port, link)?;
        let Port { queues, whole, .. } = &self.port;
        let no_room = queues.iter().map(Xsk::no_room).sum::<io::Result<u64>>()?;
        let unsent = queues.iter().map(|queue| queue.unsent).sum();
        Ok(NetCounts { oversize: whole.oversize, no_room, damaged: 0, unsent })
    }
}

/// Tries for a second to get what another program has: the kernel frees a socket's queue some time after its end.
fn patiently<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let end = Instant::now() + Duration::from_secs(1);
    loop {
        match open() {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// In the driver, if it can, and otherwise behind it.
fn attach(program: &OwnedFd, interface: &Interface) -> Result<(OwnedFd, XdpMode)> {
    let Interface { name, index, .. } = interface;
    let native = match bpf::attach(program, *index, XdpMode::Native) {
        Ok(link) => return Ok((link, XdpMode::Native)),
        Err(e) => e,
    };
    let taken = |e: &io::Error| matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EEXIST));
    if !taken(&native) {
        match bpf::attach(program, *index, XdpMode::Generic) {
            Ok(link) => {
                eprintln!("{name} refuses native XDP ({native}): --net afxdp uses generic XDP, which is slower");
                return Ok((link, XdpMode::Generic));
            }
            Err(e) if !taken(&e) => {
                return Err(privileged(&format!("have {name} run an XDP program"), &e))
            }
            Err(_) => {}
        }
    }
    bail!(
        "{name} has an XDP program already, and takes one only (`ip link show {name}` names it): --net packet:{name} \
         works beside it"
    )
}

impl Device for Port {
    fn check(&self) -> Result<()> {
        self.interface.check()
    }

    fn receive(&mut self, to_card: &mut Frames, room: usize) -> Result<bool> {
        let Port { queues, whole, .. } = self;
        let mut more = false;
        for queue in queues {
            more |= queue.receive(&mut |frame| {
                whole.take(frame, None, Sum::Unknown, to_card);
                to_card.bytes() < room
            });
        }
        Ok(more)
    }

    fn send(&mut self, frames: &Frames) -> Result<()> {
        self.queues[0].send(frames);
        Ok(())
    }
}
