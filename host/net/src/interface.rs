//! A network interface of this machine, on which a card has a place.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use anyhow::{anyhow, bail, ensure, Context, Result};
use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};

use crate::ether::{self, Mac};
use crate::ethtool::{self, Plain};
use crate::ifreq::{ioctl, is_name, Request};
use crate::{Addresses, Frames, NetEnd};

/// Largest IP packet that a card takes.
const MAX_MTU: u16 = 9000;

const WAKER: Token = Token(0);
const WATCH: Token = Token(1);
/// Of the queues of a device.
pub const DEVICE: Token = Token(2);

/// Whose addresses the card has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Its own ones.
    Card,
    /// The machine's. Ports that are the card's are nobody else's.
    Machine,
}

/// An interface that is up. While this is there, frames of the card's MAC address reach the machine, and nothing makes
/// frames larger than they were on the wire.
pub struct Interface {
    pub name: String,
    pub index: u32,
    _plain: Plain,
    /// Says that something has become of an interface of this machine.
    watch: Socket,
    /// Holds the addresses for which the interface listens.
    _listener: OwnedFd,
    /// The card's ports, where the machine has the same addresses: so no program takes them, and the kernel, which may
    /// see the card's frames, answers none of them.
    _ports: Vec<Socket>,
}

/// What is known of an interface before a card is there.
pub struct Found {
    name: String,
    index: u32,
    mac: Mac,
    mtu: u32,
    control: UdpSocket,
}

impl Found {
    /// The interface `name`, which must be up and Ethernet.
    pub fn new(name: &str) -> Result<Found> {
        ensure!(is_name(name), "'{name}' is no name for a network interface");
        let control = UdpSocket::bind("0.0.0.0:0")?;
        let ask = |what, mut request: Request| {
            ioctl(control.as_raw_fd(), what, &mut request).map(|()| request.0.ifr_ifru)
        };
        let index = ask(libc::SIOCGIFINDEX, Request::new(name))
            .map_err(|e| anyhow!("there is no network interface {name}: {e}"))?;
        let hardware = ask(libc::SIOCGIFHWADDR, Request::new(name))?;
        let mtu = ask(libc::SIOCGIFMTU, Request::new(name))?;
        let flags = ask(libc::SIOCGIFFLAGS, Request::new(name))?;
        // SAFETY: each request has set the member that is read.
        let (index, hardware, mtu, flags) =
            unsafe { (index.ifru_ifindex, hardware.ifru_hwaddr, mtu.ifru_mtu, flags.ifru_flags) };
        ensure!(hardware.sa_family == libc::ARPHRD_ETHER, "{name} is no Ethernet interface");
        let is_up = i32::from(flags) & libc::IFF_UP != 0;
        ensure!(is_up, "the interface {name} is down: `ip link set {name} up`");
        let mac = [0, 1, 2, 3, 4, 5].map(|n| hardware.sa_data[n] as u8);
        Ok(Found { name: name.into(), index: index as u32, mac, mtu: mtu as u32, control })
    }

    /// The MTU of the card: `asked`, or else as large as both can.
    pub fn mtu(&self, asked: Option<u16>) -> Result<u16> {
        card_mtu("interface", &self.name, asked, self.mtu)
    }

    /// The machine's addresses here: `ip` and `ip6` if they are given, and else the first ones.
    pub fn shared(
        &self,
        ip: Option<Ipv4Addr>,
        ip6: Option<Ipv6Addr>,
    ) -> Result<(Mac, Ipv4Addr, Ipv6Addr)> {
        let Found { name, mac, .. } = self;
        let all = addresses(name)?;
        let has = |ip: IpAddr| match all.contains(&ip) {
            true => Ok(()),
            false => Err(anyhow!("{ip} is no address of the interface {name}")),
        };
        let first = all.iter().find_map(|ip| match ip {
            IpAddr::V4(ip) => Some(*ip),
            IpAddr::V6(_) => None,
        });
        let ip = ip.or(first).ok_or_else(|| anyhow!("the interface {name} has no IPv4 address"))?;
        has(ip.into())?;
        let link = ether::link_local(*mac);
        let first = all.iter().find_map(|ip| match ip {
            IpAddr::V6(ip) if ip.segments()[0] & 0xFFC0 != 0xFE80 => Some(*ip),
            _ => None,
        });
        if let Some(ip6) = ip6 {
            has(ip6.into())?;
        }
        Ok((*mac, ip, ip6.or(first).unwrap_or(link)))
    }

    /// Receive queues.
    pub fn queues(&self) -> Result<u32> {
        let queues = ethtool::queues(self.control.as_raw_fd(), &self.name);
        queues.with_context(|| format!("cannot count the queues of {}", self.name))
    }

    /// Has the card's frames come here, as they are on the wire.
    pub fn open(self, addresses: &Addresses, own: Own) -> Result<Interface> {
        let Found { name, index, control, .. } = self;
        let plain = Plain::new(control.as_raw_fd(), &name, index)
            .map_err(|e| privileged(&format!("switch GRO of {name} off"), &e))?;
        let mut ports = Vec::new();
        if own == Own::Machine {
            ports = reserve(&name, addresses)?;
        }
        let watch = watch().with_context(|| format!("cannot watch {name}"))?;
        let because = |e| privileged(&format!("have {name} listen for the card"), &e);
        let listener = listener(index).map_err(because)?;
        if own == Own::Card {
            let listen = |kind, mac| join(listener.as_raw_fd(), index, kind, mac).map_err(because);
            listen(libc::PACKET_MR_UNICAST, addresses.card_mac)?;
            for ip in [ether::link_local(addresses.card_mac), addresses.card_ip6] {
                let [.., a, b, c] = ip.octets();
                listen(libc::PACKET_MR_MULTICAST, [0x33, 0x33, 0xFF, a, b, c])?;
            }
        }
        Ok(Interface { name, index, _plain: plain, watch, _listener: listener, _ports: ports })
    }
}

/// The MTU of a card: `asked`, or else as large as both it and what it is on can.
pub fn card_mtu(kind: &str, name: &str, asked: Option<u16>, mtu: u32) -> Result<u16> {
    match asked {
        Some(asked) if u32::from(asked) > mtu => {
            bail!("--mtu {asked}: the {kind} {name} carries packets of up to {mtu} bytes")
        }
        Some(asked) => Ok(asked),
        None if mtu > MAX_MTU.into() => {
            eprintln!(
                "the MTU of {name}, {mtu}, is too large for the card, which takes {MAX_MTU}: \
                 larger packets are dropped and counted"
            );
            Ok(MAX_MTU)
        }
        None => Ok(mtu as u16),
    }
}

/// A MAC address for a card with addresses of its own: nobody else on the link has it, as nobody has its IP address.
pub fn own_mac(ip: Ipv4Addr) -> Mac {
    let [a, b, c, d] = ip.octets();
    [0x02, 0x57, a, b, c, d]
}

/// What frames come from and go to.
pub trait Device {
    /// Whether it is still there.
    fn check(&self) -> Result<()>;
    /// Takes frames until none are there, or they have more than `room` bytes. Says whether more may be there.
    fn receive(&mut self, to_card: &mut Frames, room: usize) -> Result<bool>;
    /// Sends. What finds no room is dropped, as on any wire; so is what comes while the interface is down.
    fn send(&mut self, frames: &Frames) -> Result<()>;
    /// For how long it can wait to be looked at, when more may be there, or not before one of its files says so.
    fn patience(&self, more: bool) -> Option<Duration> {
        more.then_some(Duration::ZERO)
    }
}

impl Interface {
    /// To wait for what comes from the `queues`, the link, or the interface itself.
    pub fn poll(&self, queues: &[RawFd]) -> Result<Poll> {
        let poll = Poll::new()?;
        let register = |token, fd: &RawFd| {
            poll.registry().register(&mut SourceFd(fd), token, Interest::READABLE)
        };
        register(WATCH, &self.watch.as_raw_fd())?;
        for fd in queues {
            register(DEVICE, fd)?;
        }
        Ok(poll)
    }

    /// An interface that goes down comes up again; one that is gone does not.
    pub fn check(&self) -> Result<()> {
        let mut message = [MaybeUninit::uninit(); 1];
        // What is longer is cut, and what found no room was one, too.
        while match self.watch.recv(&mut message) {
            Ok(_) => true,
            Err(e) => e.raw_os_error() == Some(libc::ENOBUFS),
        } {}
        let mut request = Request::of(self.index);
        let control = UdpSocket::bind("0.0.0.0:0")?;
        let found = ioctl(control.as_raw_fd(), libc::SIOCGIFNAME, &mut request);
        ensure!(found.is_ok(), "the interface {} is gone", self.name);
        Ok(())
    }
}

pub fn waker(poll: &Poll) -> Result<Waker> {
    Ok(Waker::new(poll.registry(), WAKER)?)
}

/// Moves frames between a device and a link until the link is stopped.
pub fn carry(poll: &mut Poll, device: &mut impl Device, link: &NetEnd) -> Result<()> {
    let mut events = Events::with_capacity(64);
    let (mut to_card, mut from_card) = (Frames::default(), Frames::default());
    let mut more = true;
    while !link.stopped() {
        let room = link.send(&mut to_card);
        if more && room > 0 {
            more = device.receive(&mut to_card, room)?;
        }
        // Says also whether there is room: if not, the link wakes us when there is.
        let has_room = link.send(&mut to_card) > 0;
        let patience = if has_room { device.patience(more) } else { None };
        match poll.poll(&mut events, patience) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e.into()),
            _ => {}
        }
        let of = |token| move |event: &&Event| event.token() == token;
        more |= events.iter().any(|event| of(DEVICE)(&event));
        if events.iter().any(|event| of(WATCH)(&event)) {
            device.check()?;
        }
        link.receive(&mut from_card);
        if !from_card.is_empty() {
            device.send(&from_card)?;
            from_card.clear();
        }
    }
    Ok(())
}

/// All addresses of an interface.
fn addresses(name: &str) -> Result<Vec<IpAddr>> {
    let mut list = std::ptr::null_mut();
    let mut found = Vec::new();
    // SAFETY: the list is read until it is freed, and each address by the family that it says it is of.
    unsafe {
        if libc::getifaddrs(&mut list) < 0 {
            return Err(io::Error::last_os_error().into());
        }
        let mut next = list;
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let is_here = CStr::from_ptr(entry.ifa_name).to_bytes() == name.as_bytes();
            let Some(address) = entry.ifa_addr.as_ref().filter(|_| is_here) else { continue };
            match i32::from(address.sa_family) {
                libc::AF_INET => {
                    let v4 = *entry.ifa_addr.cast::<libc::sockaddr_in>();
                    found.push(Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes()).into());
                }
                libc::AF_INET6 => {
                    let v6 = *entry.ifa_addr.cast::<libc::sockaddr_in6>();
                    found.push(Ipv6Addr::from(v6.sin6_addr.s6_addr).into());
                }
                _ => {}
            }
        }
        libc::freeifaddrs(list);
    }
    Ok(found)
}

/// A socket that hears what becomes of interfaces: at last, of each that it is gone (rtnetlink(7)). A packet socket
/// hears only that it went down.
fn watch() -> io::Result<Socket> {
    let (domain, kind) =
        (Domain::from(libc::AF_NETLINK), Type::from(libc::SOCK_RAW | libc::SOCK_NONBLOCK));
    let socket = Socket::new(domain, kind, Some(Protocol::from(libc::NETLINK_ROUTE)))?;
    // SAFETY: all-zero bytes are a valid address.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = libc::RTMGRP_LINK as u32;
    bind_to(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

/// A socket that gets no frame.
fn listener(index: u32) -> io::Result<OwnedFd> {
    const NOBODYS: u16 = 0xFFFF; // no such Ethernet type
    let socket = packet_socket()?;
    drop_all(socket.as_raw_fd())?;
    bind(socket.as_raw_fd(), index, NOBODYS)?;
    Ok(socket)
}

/// A packet socket, to which nothing comes yet.
pub fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the file that is returned is nobody else's.
    match unsafe { libc::socket(libc::AF_PACKET, kind, 0) } {
        // SAFETY: as above.
        fd @ 0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has frames of an Ethernet type come to a packet socket.
pub fn bind(socket: RawFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    bind_to(socket, &address)
}

fn bind_to<T>(socket: RawFd, address: &T) -> io::Result<()> {
    let (address, len) = (std::ptr::from_ref(address).cast(), size_of::<T>() as u32);
    // SAFETY: the address is as long as is said.
    match unsafe { libc::bind(socket, address, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn set_option<T>(socket: RawFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let (value, len) = (std::ptr::from_ref(value).cast(), size_of::<T>() as u32);
    // SAFETY: the value is as long as is said.
    match unsafe { libc::setsockopt(socket, level, option, value, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn get_option<T>(socket: RawFd, level: i32, option: i32, value: &mut T) -> io::Result<()> {
    let (value, mut len) = (std::ptr::from_mut(value).cast(), size_of::<T>() as u32);
    // SAFETY: the value is as long as is said, and every T that is used here is made of integers.
    match unsafe { libc::getsockopt(socket, level, option, value, &mut len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the interface listen for a MAC address until the socket is closed.
fn join(socket: RawFd, index: u32, kind: libc::c_int, mac: Mac) -> io::Result<()> {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&mac);
    let request = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: kind as u16,
        mr_alen: 6,
        mr_address: address,
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

fn drop_all(socket: RawFd) -> io::Result<()> {
    let mut nothing = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }; // return 0
    let program = libc::sock_fprog { len: 1, filter: &mut nothing };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Sockets at the card's ports that take nothing.
fn reserve(name: &str, addresses: &Addresses) -> Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    let ports = [
        (Type::STREAM, addresses.card_tcp_port),
        (Type::STREAM, addresses.card_redis_port),
        (Type::DGRAM, addresses.card_udp_port),
    ];
    let [ip, link, ip6] = addresses.card_ips();
    let mut ips = vec![ip, link];
    ips.extend((ip6 != link).then_some(ip6));
    for ip in ips {
        for (kind, port) in ports.into_iter().filter(|(_, port)| *port != 0) {
            match reserved(name, kind, SocketAddr::new(ip, port)) {
                Ok(socket) => sockets.push(socket),
                // A kernel without IPv6.
                Err(e) if ip.is_ipv6() && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => {}
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                    bail!("port {port} of {ip} is in use by another program of this machine")
                }
                Err(e) => return Err(privileged(&format!("reserve port {port} of {ip}"), &e)),
            }
        }
    }
    Ok(sockets)
}

fn reserved(name: &str, kind: Type, mut address: SocketAddr) -> io::Result<Socket> {
    let is_tcp = kind == Type::STREAM;
    let protocol = if is_tcp { Protocol::TCP } else { Protocol::UDP };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    let device = Request::new(name).0.ifr_name;
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &device)?;
    drop_all(socket.as_raw_fd())?;
    if let SocketAddr::V6(v6) = &mut address {
        socket.set_only_v6(true)?;
        let mut request = Request::new(name);
        ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX, &mut request)?;
        // SAFETY: the request has set this member.
        v6.set_scope_id(unsafe { request.0.ifr_ifru.ifru_ifindex } as u32);
    }
    // The address may come and go, as IPv6's do when the interface does.
    let (level, option) = match address {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_FREEBIND),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_FREEBIND),
    };
    set_option(socket.as_raw_fd(), level, option, &1)?;
    socket.bind(&address.into())?;
    if is_tcp {
        socket.listen(1)?;
    }
    Ok(socket)
}

/// What could not be done, in words that say what helps.
pub fn privileged(what: &str, e: &io::Error) -> anyhow::Error {
    match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => anyhow!(
            "cannot {what}: --net packet and --net afxdp need CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF (run as root, or \
             use --net user)"
        ),
        _ => anyhow!("cannot {what}: {e}"),
    }
}
