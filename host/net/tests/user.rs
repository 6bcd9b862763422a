//! The user network against a stand-in for the card: smoltcp as a server, so that these tests are
//! about the network alone.
//!
//! The server echoes. A connection whose first byte is `R` is reset, `Q` is closed, and one whose
//! first byte is `C` gets its echo when its client has ended its side.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as WallInstant};

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use wirekv_net::{Addresses, Allowed, CardEnd, Frames, Impair, Link, User, UserConfig, Wire};

const SLOTS: usize = 256;
const PORT: u16 = 11211;
const CARD: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const CARD6: Ipv6Addr = Ipv6Addr::new(0xFD57, 0x4B56, 0, 0, 0, 0, 0, 2);

#[derive(Default)]
struct Nic {
    packets: VecDeque<Vec<u8>>,
    out: Frames,
}

struct In(Vec<u8>);
struct Out<'a>(&'a mut Frames);

impl RxToken for In {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; 14 + len];
        let result = f(&mut frame[14..]);
        let ethertype: u16 = if frame[14] >> 4 == 4 { 0x0800 } else { 0x86DD };
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        self.0.push(&frame);
        result
    }
}

impl Device for Nic {
    type RxToken<'a> = In;
    type TxToken<'a> = Out<'a>;

    fn receive(&mut self, _: Instant) -> Option<(In, Out<'_>)> {
        Some((In(self.packets.pop_front()?), Out(&mut self.out)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        Some(Out(&mut self.out))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut caps = DeviceCapabilities::default();
        caps.medium = Medium::Ip;
        caps.max_transmission_unit = 1500;
        caps
    }
}

/// Serves the card's end of the link until it is stopped.
fn serve(link: CardEnd, mut wire: Wire, ip: IpAddr) {
    let mut nic = Nic::default();
    let start = WallInstant::now();
    let mut iface = Interface::new(Config::new(HardwareAddress::Ip), &mut nic, Instant::ZERO);
    let prefix = if ip.is_ipv4() { 24 } else { 64 };
    iface.update_ip_addrs(|a| a.push(IpCidr::new(ip.into(), prefix)).unwrap());
    let mut sockets = SocketSet::new(Vec::new());
    let buffer = || tcp::SocketBuffer::new(vec![0; 16 * 1024]);
    let mut slots: Vec<Slot> = (0..SLOTS)
        .map(|_| Slot {
            handle: sockets.add(tcp::Socket::new(buffer(), buffer())),
            kept: VecDeque::new(),
        })
        .collect();
    let packets = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 64], vec![0; 65536]);
    let mut socket = udp::Socket::new(packets(), packets());
    socket.bind(PORT).unwrap();
    let datagrams = sockets.add(socket);

    let (mut to_card, mut from_card) = (Frames::default(), Frames::default());
    while !link.stopped() {
        for slot in &mut slots {
            slot.answer(sockets.get_mut(slot.handle));
        }
        link.exchange(&mut from_card, &mut to_card, 0).unwrap();
        for frame in to_card.iter() {
            wire.to_card(frame, &mut |f| nic.packets.push_back(f[14..].to_vec())).unwrap();
        }
        let quiet = to_card.is_empty();
        to_card.clear();
        let now = Instant::from_micros(5 * start.elapsed().as_micros() as i64);
        iface.poll(now, &mut nic, &mut sockets);
        for slot in &mut slots {
            slot.answer(sockets.get_mut(slot.handle));
        }
        let socket = sockets.get_mut::<udp::Socket>(datagrams);
        while let Ok((bytes, meta)) = socket.recv() {
            let bytes = bytes.to_vec();
            socket.send_slice(&bytes, meta).unwrap();
        }
        iface.poll(now, &mut nic, &mut sockets);
        for frame in nic.out.iter() {
            wire.from_card(frame, &mut |f| from_card.push(f)).unwrap();
        }
        nic.out.clear();
        if quiet && from_card.is_empty() {
            let Nic { packets, .. } = &mut nic;
            wire.quiet(&mut |f| packets.push_back(f[14..].to_vec()), &mut |f| from_card.push(f))
                .unwrap();
            if nic.packets.is_empty() && from_card.is_empty() {
                link.wait(Duration::from_millis(1));
            }
        }
    }
}

struct Slot {
    handle: SocketHandle,
    /// What came, as it waits for the client's end; empty for a connection that is echoed at once.
    kept: VecDeque<u8>,
}

impl Slot {
    fn answer(&mut self, socket: &mut tcp::Socket<'static>) {
        if !socket.is_open() {
            self.kept.clear();
            socket.listen(PORT).unwrap();
        }
        while socket.can_recv() && (socket.can_send() || !self.kept.is_empty()) {
            let mut bytes = [0; 4096];
            let mut room = bytes.len();
            if self.kept.is_empty() {
                room = room.min(socket.send_capacity() - socket.send_queue());
            }
            let n = socket.recv_slice(&mut bytes[..room]).unwrap();
            match bytes[0] {
                b'R' => return socket.abort(),
                b'Q' => return socket.close(),
                b'C' => self.kept.extend(&bytes[..n]),
                _ if !self.kept.is_empty() => self.kept.extend(&bytes[..n]),
                _ => assert_eq!(socket.send_slice(&bytes[..n]), Ok(n)),
            }
        }
        if socket.state() == tcp::State::CloseWait && !socket.can_recv() {
            let n = socket.send_slice(self.kept.make_contiguous()).unwrap();
            self.kept.drain(..n);
            if self.kept.is_empty() {
                socket.close();
            }
        }
    }
}

/// A network with a stand-in behind it, both ended when the test is over.
struct Rig {
    address: SocketAddr,
    udp_port: u16,
    link: CardEnd,
    threads: Vec<JoinHandle<()>>,
}

impl Rig {
    fn new(impair: Option<Impair>) -> Rig {
        Rig::at(IpAddr::from([127, 0, 0, 1]), impair)
    }

    fn at(listen: IpAddr, impair: Option<Impair>) -> Rig {
        // A port that was free a moment ago.
        let udp_port = UdpSocket::bind((listen, 0)).unwrap().local_addr().unwrap().port();
        let user = User::bind(UserConfig {
            tcp: true,
            redis_port: None,
            denies: Box::new(|_, _| None),
            allowed: Allowed::default(),
            listen: SocketAddr::new(listen, 0),
            udp_port: Some(udp_port),
            keep_alive: None,
            wire: Addresses {
                card_mac: [2, 0, 0, 0, 0, 2],
                card_ip: CARD,
                card_ip6: CARD6,
                card_tcp_port: PORT,
                card_redis_port: 0,
                card_udp_port: PORT,
                mtu: 1500,
            },
        })
        .unwrap();
        let address = user.local_addr().unwrap();
        let (net, card) = Link::ends(user.waker().unwrap());
        let link = card.clone();
        let net = thread::spawn(move || {
            user.run(net).unwrap();
        });
        let ip = if listen.is_ipv4() { CARD.into() } else { CARD6.into() };
        let card = thread::spawn(move || serve(card, Wire::new(impair, None), ip));
        Rig { address, udp_port, link, threads: vec![net, card] }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.link.stop();
        for t in self.threads.drain(..) {
            assert!(t.join().is_ok());
        }
    }
}

fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|n| b'a' + ((n / 7 + n + usize::from(salt)) % 23) as u8 % 16).collect()
}

/// Sends `len` bytes, ends its side, and expects them all back and then the end.
fn echo(stream: TcpStream, len: usize, salt: u8) {
    expect_back(stream, pattern(len, salt));
}

fn expect_back(mut stream: TcpStream, sent: Vec<u8>) {
    let mut writer = stream.try_clone().unwrap();
    let bytes = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&bytes).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    writing.join().unwrap();
    assert!(got == sent, "{} of {} bytes came back", got.len(), sent.len());
}

#[test]
fn bytes_and_ends_pass_both_ways() {
    let rig = Rig::new(None);
    for len in [1, 100, 1460, 65_536, 1_000_000] {
        echo(rig.connect(), len, 0);
    }
    // An end without a byte before it.
    echo(rig.connect(), 0, 0);
}

#[test]
fn over_ipv6_too() {
    let localhost = IpAddr::from(Ipv6Addr::LOCALHOST);
    if UdpSocket::bind((localhost, 0)).is_err() {
        eprintln!("no IPv6 here");
        return;
    }
    let rig = Rig::at(localhost, None);
    for len in [0, 1, 100, 1440, 65_536, 1_000_000] {
        echo(rig.connect(), len, 0);
    }
    let socket = UdpSocket::bind((localhost, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut back = [0; 2000];
    for len in [2, 3, 1400] {
        let sent = pattern(len, 3);
        socket.send_to(&sent, (localhost, rig.udp_port)).unwrap();
        let (got, _) = socket.recv_from(&mut back).unwrap();
        assert_eq!(back[..got], sent);
    }
}

#[test]
fn a_reset_by_the_card_reaches_the_client() {
    let rig = Rig::new(None);
    let mut stream = rig.connect();
    stream.write_all(b"R").unwrap();
    let e = stream.read(&mut [0; 10]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn an_end_by_the_card_reaches_the_client() {
    let rig = Rig::new(None);
    let mut stream = rig.connect();
    stream.write_all(b"Q").unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let rig = Rig::new(None);
    let mut lazy = rig.connect();
    lazy.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let block = pattern(64 * 1024, 0);
    while lazy.write(&block).is_ok() {}
    echo(rig.connect(), 100_000, 1);
}

#[test]
fn many_connections() {
    let rig = Rig::new(None);
    let streams: Vec<TcpStream> = (0..SLOTS - 20).map(|_| rig.connect()).collect();
    for (n, stream) in streams.into_iter().enumerate() {
        echo(stream, 200, n as u8);
    }
    for n in 0..1000 {
        echo(rig.connect(), 20, n as u8);
    }
}

#[test]
fn a_bad_wire_damages_nothing() {
    let bad = "drop=0.01,dup=0.01,reorder=0.01,damage=0.01,seed=5".parse().unwrap();
    let rig = Rig::new(Some(bad));
    for n in 0..3 {
        // One way at a time. A smoltcp that sends again numbers its bare ACKs from what it sends
        // again, which the other side has and so ignores (RFC 9293, 3.10.7.4): two of them, each
        // with data that the other acknowledged in a lost segment, repeat it for ever.
        let mut sent = pattern(300_000, n);
        sent[0] = b'C';
        expect_back(rig.connect(), sent);
    }
}

#[test]
fn datagrams() {
    let rig = Rig::new(None);
    let clients: Vec<UdpSocket> = (0..20)
        .map(|_| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(("127.0.0.1", rig.udp_port)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            socket
        })
        .collect();
    for len in [8, 9, 1400] {
        for (n, client) in clients.iter().enumerate() {
            client.send(&pattern(len, n as u8)).unwrap();
        }
        for (n, client) in clients.iter().enumerate() {
            let mut got = vec![0; 2000];
            let size = client.recv(&mut got).unwrap();
            assert!(got[..size] == pattern(len, n as u8), "client {n}, {len} bytes");
        }
    }
}
