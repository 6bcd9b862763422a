//! The user network: listens on a local address and turns each accepted connection into a TCP
//! connection to the card, made of real frames by smoltcp. Needs no privileges. It speaks IPv6 with the
//! card where clients do.
//!
//! One thread, one event loop. Only connections with something to do are touched: those whose
//! local socket had an event, that got a packet, whose timer is due, or that wait for room.

mod conn;
mod datagrams;
mod device;
mod listen;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant as WallInstant};

use anyhow::{anyhow, Context, Result};
use mio::net::{TcpStream, UdpSocket};
use mio::{Events, Interest, Poll, Token, Waker};
use smoltcp::iface::{Interface, SocketSet};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};
use wirekv_log::{debug, info, warn, Text};

use crate::ether::{self, Kind, Mac};
use crate::{Addresses, Allowed, Frames, NetEnd};
use conn::{Conn, Fate};
use datagrams::Datagrams;
use device::Tap;
use listen::Listener;

const WAKER: Token = Token(0);
const UDP: Token = Token(1);
/// memcached's, Redis'.
const LISTENERS: [Token; 2] = [Token(2), Token(3)];
const FIRST_CONN: usize = 4;

const OUR_MAC: Mac = [0x02, 0x57, 0x4B, 0x56, 0x00, 0x01];
/// Connections come from so many addresses, so that a port rests long before it is used again.
const SOURCES: usize = 8;
const FIRST_SOURCE: u8 = 16;
const UDP_SOURCE: u8 = 15;
const PORTS: std::ops::Range<u16> = 1024..65_024;
/// smoltcp's clock runs faster than the wall's: its retransmission timeout is at least one of its
/// seconds, which is long on a wire that loses frames. This makes it 200 ms, as in Linux.
const TIME_FACTOR: u64 = 5;
/// How long nobody is accepted when the process has no file descriptor left, for instance.
const PAUSE: Duration = Duration::from_millis(10);

/// What a client from there is told that is not served; `true`: it is one of Redis'.
pub type Denies = Box<dyn Fn(IpAddr, bool) -> Option<&'static [u8]> + Send>;

pub struct UserConfig {
    /// Where clients connect. Port 0: a free one.
    pub listen: SocketAddr,
    /// memcached's may do so over TCP.
    pub tcp: bool,
    /// Port of Redis' protocol on the same address; None: off.
    pub redis_port: Option<u16>,
    /// Which clients are sent away.
    pub denies: Denies,
    /// Whose datagrams are taken.
    pub allowed: Allowed,
    /// UDP port on the same address; None: off.
    pub udp_port: Option<u16>,
    /// Seconds of silence after which the kernel asks whether a client is still there; None: never.
    pub keep_alive: Option<u16>,
    pub wire: Addresses,
}

/// What the network did, for the summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserCounts {
    pub accepted: u64,
    pub datagrams: u64,
}

pub struct User {
    poll: Poll,
    /// memcached's and Redis', as far as there are clients of them.
    listeners: Vec<Listener>,
    denies: Denies,
    allowed: Allowed,
    /// The card's.
    redis_port: Option<u16>,
    datagrams: Option<Datagrams>,
    interfaces: Vec<Interface>,
    nobody: SocketSet<'static>,
    tap: Tap,
    card: IpAddress,
    conns: Vec<Option<Conn>>,
    free: Vec<usize>,
    by_port: HashMap<(usize, u16), usize>,
    opened: usize,
    ready: VecDeque<usize>,
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    start: WallInstant,
    counts: UserCounts,
}

impl User {
    /// Opens the local sockets; clients can connect from here on.
    pub fn bind(config: UserConfig) -> Result<User> {
        let poll = Poll::new()?;
        let wire = config.wire;
        let bind = |at, port| Listener::bind(at, config.keep_alive, port);
        let (mut listeners, mut address) = (Vec::new(), config.listen);
        if config.tcp {
            let listener = bind(config.listen, wire.card_tcp_port)?;
            address = listener.socket.local_addr()?;
            listeners.push(listener);
        }
        if let Some(port) = config.redis_port {
            listeners.push(bind(SocketAddr::new(address.ip(), port), wire.card_redis_port)?);
        }
        for (listener, token) in listeners.iter_mut().zip(LISTENERS) {
            poll.registry().register(&mut listener.socket, token, Interest::READABLE)?;
        }

        let card: IpAddr =
            if address.is_ipv4() { wire.card_ip.into() } else { wire.card_ip6.into() };
        let datagrams = match config.udp_port {
            None => None,
            Some(port) => {
                let local = SocketAddr::new(address.ip(), port);
                let mut socket = UdpSocket::bind(local).with_context(|| format!("UDP {local}"))?;
                poll.registry().register(&mut socket, UDP, Interest::READABLE)?;
                let to = SocketAddr::new(card, wire.card_udp_port);
                let own = listeners.iter().map(|l| Ok(l.socket.local_addr()?.port()));
                let own = own.chain([Ok(socket.local_addr()?.port())]).collect::<Result<_>>()?;
                let from = source(card, UDP_SOURCE);
                Some(Datagrams::new(socket, from, OUR_MAC, to, wire.card_mac, own))
            }
        };

        let mut tap = Tap {
            mtu: usize::from(wire.mtu),
            card_mac: wire.card_mac,
            our_mac: OUR_MAC,
            ethertype: ether::ethertype(card),
            packets: VecDeque::new(),
            to_card: Frames::default(),
            room: 0,
            refused: false,
        };
        let interfaces = (0..SOURCES)
            .map(|n| {
                let mut config = smoltcp::iface::Config::new(HardwareAddress::Ip);
                config.random_seed = getrandom::u64().map_err(|e| anyhow!("no randomness: {e}"))?;
                let mut iface = Interface::new(config, &mut tap, Instant::ZERO);
                let address = source(card, FIRST_SOURCE + n as u8);
                let prefix = if card.is_ipv4() { 24 } else { 64 };
                iface.update_ip_addrs(|list| {
                    list.push(IpCidr::new(address.into(), prefix)).expect("room for one");
                });
                Ok(iface)
            })
            .collect::<Result<_>>()?;
        Ok(User {
            poll,
            listeners,
            denies: config.denies,
            allowed: config.allowed,
            redis_port: config.redis_port.map(|_| wire.card_redis_port),
            datagrams,
            interfaces,
            nobody: SocketSet::new(Vec::new()),
            tap,
            card: card.into(),
            conns: Vec::new(),
            free: Vec::new(),
            by_port: HashMap::new(),
            opened: 0,
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            start: WallInstant::now(),
            counts: UserCounts::default(),
        })
    }

    /// Where it listens, with the port that was chosen for port 0.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        match (self.listeners.first(), &self.datagrams) {
            (Some(listener), _) => Ok(listener.socket.local_addr()?),
            (None, Some(datagrams)) => Ok(datagrams.local_addr()?),
            (None, None) => Err(anyhow!("it listens nowhere")),
        }
    }

    pub fn waker(&self) -> Result<Waker> {
        Ok(Waker::new(self.poll.registry(), WAKER)?)
    }

    /// Serves until the link is stopped.
    pub fn run(mut self, link: NetEnd) -> Result<UserCounts> {
        let mut events = Events::with_capacity(1024);
        let mut from_card = Frames::default();
        let mut datagrams_wait = false;
        loop {
            let timeout = self.timeout();
            match self.poll.poll(&mut events, timeout) {
                Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
                _ => {}
            }
            for event in &events {
                match event.token() {
                    WAKER => {}
                    UDP => datagrams_wait = true,
                    token if LISTENERS.contains(&token) => {
                        self.listeners[token.0 - LISTENERS[0].0].waits = true;
                    }
                    Token(t) => {
                        let n = t - FIRST_CONN;
                        if let Some(conn) = &mut self.conns[n] {
                            conn.readable |= event.is_readable() || event.is_error();
                            conn.writable |= event.is_writable() || event.is_error();
                            self.queue(n);
                        }
                    }
                }
            }
            if link.stopped() {
                self.counts.datagrams = self.datagrams.as_ref().map_or(0, |d| d.count);
                return Ok(self.counts);
            }
            self.accept();
            link.receive(&mut from_card);
            for frame in from_card.iter() {
                self.take_frame(frame);
            }
            from_card.clear();
            self.due_timers();

            self.tap.room = link.send(&mut self.tap.to_card);
            if let Some(datagrams) = self.datagrams.as_mut().filter(|_| datagrams_wait) {
                datagrams_wait =
                    !datagrams.receive(&self.allowed, &mut self.tap.to_card, &mut self.tap.room)?;
            }
            self.serve_ready();
            // With no room left the link will wake us, and those still queued are served then.
            self.tap.room = link.send(&mut self.tap.to_card);
        }
    }

    fn now(&self) -> Instant {
        Instant::from_micros((self.start.elapsed().as_micros() as u64 * TIME_FACTOR) as i64)
    }

    fn timeout(&mut self) -> Option<Duration> {
        if self.tap.room > 0 && !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let now = self.now();
        let due = self.timers.peek().map(|Reverse((first, _))| {
            let micros = (*first - now).total_micros() / TIME_FACTOR;
            if *first <= now {
                Duration::ZERO
            } else {
                Duration::from_micros(micros + 1)
            }
        });
        let again = self.listeners.iter().any(|l| l.waits).then_some(PAUSE);
        due.into_iter().chain(again).min()
    }

    fn queue(&mut self, n: usize) {
        if let Some(conn) = &mut self.conns[n] {
            if !std::mem::replace(&mut conn.queued, true) {
                self.ready.push_back(n);
            }
        }
    }

    fn due_timers(&mut self) {
        let now = self.now();
        while self.timers.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Reverse((at, n)) = self.timers.pop().expect("just seen");
            // A timer that was moved since is no longer its connection's deadline.
            if self.conns[n].as_ref().is_some_and(|c| c.deadline == Some(at)) {
                self.queue(n);
            }
        }
    }

    /// Serves each queued connection once, while there is room for what they send.
    fn serve_ready(&mut self) {
        let now = self.now();
        for _ in 0..self.ready.len() {
            if self.tap.room == 0 {
                return;
            }
            let n = self.ready.pop_front().expect("counted");
            let Some(conn) = &mut self.conns[n] else { continue };
            conn.queued = false;
            let before = conn.deadline;
            self.tap.refused = false;
            match conn.serve(&mut self.interfaces[conn.interface], &mut self.tap, now) {
                Fate::Over => self.forget(n),
                Fate::Open if self.tap.refused => self.queue(n),
                Fate::Open => {
                    let deadline = conn.deadline;
                    if let Some(at) = deadline.filter(|_| deadline != before) {
                        self.timers.push(Reverse((at, n)));
                    }
                }
            }
        }
    }

    fn forget(&mut self, n: usize) {
        if let Some(mut conn) = self.conns[n].take() {
            // Closing the socket would do as well; an error here changes nothing.
            let _ = self.poll.registry().deregister(conn.local());
            self.by_port.remove(&(conn.interface, conn.port));
            self.free.push(n);
            debug!("connection {n} is closed");
        }
    }

    fn accept(&mut self) {
        for at in 0..self.listeners.len() {
            let card = IpEndpoint::new(self.card, self.listeners[at].port);
            let is_redis = self.redis_port == Some(card.port);
            while let Some((mut local, from)) = self.listeners[at].accept() {
                if let Some(text) = (self.denies)(from, is_redis) {
                    // It is new: what the kernel does not take at once is lost with it.
                    let _ = local.write(text);
                    info!(%from, "a connection is refused: {}", Text(text));
                    continue;
                }
                self.counts.accepted += 1;
                match self.open(local, card) {
                    Ok(n) => debug!(%from, "connection {n} is opened"),
                    // The others come to no harm.
                    Err(e) => warn!(%from, "a connection is dropped: {e:#}"),
                }
            }
        }
    }

    /// Its number, until it is closed.
    fn open(&mut self, local: TcpStream, card: IpEndpoint) -> Result<usize> {
        let (interface, port) = self.free_port();
        let mut conn = Conn::open(local, &mut self.interfaces[interface], interface, port, card)?;
        let n = self.free.last().copied().unwrap_or(self.conns.len());
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(conn.local(), Token(FIRST_CONN + n), both)?;
        if self.free.pop().is_none() {
            self.conns.push(None);
        }
        self.by_port.insert((interface, port), n);
        self.conns[n] = Some(conn);
        self.queue(n);
        Ok(n)
    }

    fn free_port(&mut self) -> (usize, u16) {
        loop {
            let n = self.opened;
            self.opened += 1;
            let port = PORTS.start + (n / SOURCES % PORTS.len()) as u16;
            let key = (n % SOURCES, port);
            if !self.by_port.contains_key(&key) {
                return key;
            }
        }
    }

    fn take_frame(&mut self, frame: &[u8]) {
        let now = self.now();
        match ether::classify(frame) {
            Kind::Tcp { to, packet } => {
                let last = match to.ip() {
                    IpAddr::V4(ip) => ip.octets()[3],
                    IpAddr::V6(ip) => ip.octets()[15],
                };
                let interface = usize::from(last.wrapping_sub(FIRST_SOURCE));
                let conn = self.by_port.get(&(interface, to.port())).copied();
                if let Some(n) = conn {
                    let conn = self.conns[n].as_mut().expect("ports in use have connections");
                    conn.packets.push_back(packet.to_vec());
                    self.queue(n);
                } else if let Some(iface) = self.interfaces.get_mut(interface) {
                    // A connection that is over: smoltcp answers with a reset.
                    self.tap.packets.push_back(packet.to_vec());
                    iface.poll(now, &mut self.tap, &mut self.nobody);
                }
            }
            Kind::Udp { to, from, payload } => {
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.deliver(to, from, payload);
                }
            }
            Kind::ArpRequest { target, sender_mac, sender } if target != sender => {
                self.tap.to_card.push_with(|out| {
                    ether::push_arp_reply(out, OUR_MAC, target, sender_mac, sender);
                });
            }
            _ => {}
        }
    }
}

/// An address of ours in the card's network, /24 or /64.
fn source(card: IpAddr, host: u8) -> IpAddr {
    match card {
        IpAddr::V4(ip) => {
            let [a, b, c, _] = ip.octets();
            Ipv4Addr::new(a, b, c, host).into()
        }
        IpAddr::V6(ip) => {
            let network = u128::from(ip) >> 64 << 64;
            Ipv6Addr::from(network | u128::from(host)).into()
        }
    }
}
