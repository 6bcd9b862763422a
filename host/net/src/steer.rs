//! The program that tells the card's frames from the kernel's. It runs in the kernel: as XDP, or as the filter of a socket.

use std::io;
use std::net::Ipv6Addr;
use std::os::fd::OwnedFd;

use crate::bpf::{self, Asm, Kind, Label, Reg, Size, Sockets, CONTEXT};
use crate::ether::{self, ARP, ICMP, ICMP6, IPV4, IPV6, TCP, UDP, VLAN};
use crate::Addresses;

/// The packet, in every kind of program.
const PACKET: Reg = 6;
/// Where the next header begins.
const AT: Reg = 7;
/// Of an IP packet: its protocol. Of a frame: its type.
const TYPE: Reg = 8;
/// What is looked at.
const VALUE: Reg = 1;

const TAKEN: i32 = -1; // the whole of it
const NOT_TAKEN: i32 = 0;
const XDP_PASS: i32 = 2;

const SOLICITATION: u32 = 135;
const PACKET_TOO_BIG: u32 = 2;
/// Type and code of ICMP's "fragmentation needed".
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];

/// Which frames are the card's.
#[derive(Clone, Copy)]
pub struct Steer {
    pub addresses: Addresses,
    /// The machine has the same addresses: of its frames, the card has those for its ports and the errors about segments
    /// that it sent. Else the card has all frames to its MAC address, and what asks for that.
    pub is_shared: bool,
}

impl Steer {
    /// The filter of a socket that takes the card's frames.
    pub fn filter(&self) -> io::Result<OwnedFd> {
        let code = self.code(Kind::SocketFilter, |asm| asm.exit(TAKEN), NOT_TAKEN);
        bpf::load(Kind::SocketFilter, "wirekv", &code)
    }

    /// The XDP program that gives the card's frames to `sockets`, and the others to the kernel.
    pub fn xdp(&self, sockets: &Sockets) -> io::Result<OwnedFd> {
        let code = self.code(Kind::Xdp, |asm| asm.redirect(PACKET, sockets, XDP_PASS), XDP_PASS);
        bpf::load(Kind::Xdp, "wirekv", &code)
    }

    fn code(&self, kind: Kind, taken: impl FnOnce(&mut Asm), not_taken: i32) -> Vec<u64> {
        let mut asm = Asm::new(kind);
        let [take, pass] = [asm.label(), asm.label()];
        asm.copy(PACKET, CONTEXT);
        asm.set(AT, 0);
        asm.fetch(PACKET, AT, 0, 14, pass);
        let foreign = asm.label();
        let [a, b, c, d, e, f] = self.addresses.card_mac;
        asm.get(TYPE, Size::Half, 12);
        asm.get(VALUE, Size::Word, 0);
        asm.jump_unless(VALUE, u32::from_ne_bytes([a, b, c, d]), foreign);
        asm.get(VALUE, Size::Half, 4);
        asm.jump_unless(VALUE, half([e, f]), foreign);
        if self.is_shared {
            self.ports(&mut asm, take, pass);
            asm.place(foreign);
        } else {
            asm.jump(take);
            asm.place(foreign);
            self.neighbours(&mut asm, take, pass);
        }
        asm.place(pass);
        asm.exit(not_taken);
        asm.place(take);
        taken(&mut asm);
        asm.finish()
    }

    /// Of a frame to another MAC address: ARP and neighbour solicitation for the card.
    fn neighbours(&self, asm: &mut Asm, take: Label, pass: Label) {
        let [untagged, arp] = [asm.label(), asm.label()];
        asm.set(AT, 14);
        asm.jump_unless(TYPE, ethertype(VLAN), untagged);
        asm.fetch(PACKET, AT, 2, 2, pass);
        asm.get(TYPE, Size::Half, 0);
        asm.set(AT, 18);
        asm.place(untagged);
        asm.jump_if(TYPE, ethertype(ARP), arp);

        asm.jump_unless(TYPE, ethertype(IPV6), pass);
        asm.fetch(PACKET, AT, 6, 1, pass);
        asm.get(VALUE, Size::Byte, 0);
        asm.jump_unless(VALUE, ICMP6.into(), pass);
        asm.fetch(PACKET, AT, 40, 24, pass);
        asm.get(VALUE, Size::Byte, 0);
        asm.jump_unless(VALUE, SOLICITATION, pass);
        self.ip6(asm, 8, take);
        asm.jump(pass);

        asm.place(arp);
        asm.fetch(PACKET, AT, 24, 4, pass);
        asm.get(VALUE, Size::Word, 0);
        asm.jump_if(VALUE, u32::from_ne_bytes(self.addresses.card_ip.octets()), take);
    }

    /// Of a frame to the MAC address that both have: segments and datagrams to the card's addresses and ports, and the
    /// errors that make its segments shorter.
    fn ports(&self, asm: &mut Asm, take: Label, pass: Label) {
        let [v4, ports, too_big, too_big6, quoted, udp] = [(); 6].map(|()| asm.label());
        asm.set(AT, 14);
        asm.jump_if(TYPE, ethertype(IPV4), v4);
        asm.jump_unless(TYPE, ethertype(IPV6), pass);
        asm.fetch(PACKET, AT, 0, 40, pass);
        asm.get(TYPE, Size::Byte, 6);
        asm.set(AT, 54);
        self.ip6(asm, 24, ports);
        asm.jump(pass);

        asm.place(v4);
        asm.fetch(PACKET, AT, 0, 20, pass);
        asm.get(VALUE, Size::Half, 6);
        asm.jump_if_any(VALUE, half([0x3F, 0xFF]), pass); // a fragment
        asm.get(VALUE, Size::Word, 16);
        asm.jump_unless(VALUE, u32::from_ne_bytes(self.addresses.card_ip.octets()), pass);
        asm.get(TYPE, Size::Byte, 9);
        header(asm, 0);

        asm.place(ports);
        asm.jump_if(TYPE, ICMP.into(), too_big);
        asm.jump_if(TYPE, ICMP6.into(), too_big6);
        asm.fetch(PACKET, AT, 0, 4, pass);
        asm.get(VALUE, Size::Half, 2);
        asm.jump_if(TYPE, UDP.into(), udp);
        asm.jump_unless(TYPE, TCP.into(), pass);
        self.tcp_ports(asm, take);
        asm.jump(pass);
        asm.place(udp);
        if self.addresses.card_udp_port != 0 {
            asm.jump_if(VALUE, half(self.addresses.card_udp_port.to_be_bytes()), take);
        }
        asm.jump(pass);

        asm.place(too_big);
        asm.fetch(PACKET, AT, 0, 28, pass);
        asm.get(VALUE, Size::Half, 0);
        asm.jump_unless(VALUE, half(FRAGMENTATION_NEEDED), pass);
        asm.get(VALUE, Size::Byte, 17);
        asm.jump_unless(VALUE, TCP.into(), pass);
        asm.add(AT, 8);
        header(asm, 8);
        asm.jump(quoted);
        asm.place(too_big6);
        asm.fetch(PACKET, AT, 0, 15, pass);
        asm.get(VALUE, Size::Byte, 0);
        asm.jump_unless(VALUE, PACKET_TOO_BIG, pass);
        asm.get(VALUE, Size::Byte, 14);
        asm.jump_unless(VALUE, TCP.into(), pass);
        asm.add(AT, 48);
        asm.place(quoted);
        asm.fetch(PACKET, AT, 0, 2, pass);
        asm.get(VALUE, Size::Half, 0);
        self.tcp_ports(asm, take);
    }

    fn tcp_ports(&self, asm: &mut Asm, take: Label) {
        for port in [self.addresses.card_tcp_port, self.addresses.card_redis_port] {
            if port != 0 {
                asm.jump_if(VALUE, half(port.to_be_bytes()), take);
            }
        }
    }

    /// Jumps if one of the card's IPv6 addresses stands in the buffer.
    fn ip6(&self, asm: &mut Asm, at: i16, to: Label) {
        let link = ether::link_local(self.addresses.card_mac);
        for ip in [link, self.addresses.card_ip6] {
            let other = asm.label();
            for (n, word) in words(ip).into_iter().enumerate() {
                asm.get(VALUE, Size::Word, at + 4 * n as i16);
                asm.jump_unless(VALUE, word, other);
            }
            asm.jump(to);
            asm.place(other);
        }
    }
}

/// Goes on behind the IPv4 header that begins in the buffer.
fn header(asm: &mut Asm, begins: i16) {
    asm.get(VALUE, Size::Byte, begins);
    asm.and(VALUE, 15);
    asm.shift_left(VALUE, 2);
    asm.add_reg(AT, VALUE);
}

fn half(bytes: [u8; 2]) -> u32 {
    u16::from_ne_bytes(bytes).into()
}

fn ethertype(number: u16) -> u32 {
    half(number.to_be_bytes())
}

fn words(ip: Ipv6Addr) -> [u32; 4] {
    let octets = ip.octets();
    [0, 4, 8, 12].map(|n| u32::from_ne_bytes(octets[n..n + 4].try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::tests::run;
    use crate::ether::{ethertype, push_arp_reply, push_ethernet, push_ip, Mac};
    use std::net::{IpAddr, Ipv4Addr};

    const CARD: Mac = [2, 0x57, 10, 9, 0, 2];
    const CLIENT: Mac = [2, 0, 0, 0, 0, 1];
    const GROUP: Mac = [0x33, 0x33, 0xFF, 0, 0, 2];
    const EVERYBODY: Mac = [0xFF; 6];
    const IP: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
    const XDP_TX: i32 = 3;

    /// Frames, with their names, and whether they are the card's: with addresses of its own, with the machine's.
    fn frames() -> Vec<(String, Vec<u8>, [bool; 2])> {
        let mut all = Vec::new();
        let ip6: IpAddr = "fd57:4b56::2".parse().unwrap();
        let link: IpAddr = ether::link_local(CARD).into();
        let families: [(IpAddr, IpAddr, IpAddr); 3] = [
            (IP.into(), [10, 9, 0, 1].into(), [10, 9, 0, 3].into()),
            (ip6, "fd57:4b56::1".parse().unwrap(), "fd57:4b56::3".parse().unwrap()),
            (link, "fe80::1".parse().unwrap(), "fe80::3".parse().unwrap()),
        ];
        for (ours, from, other) in families {
            let ports = |from: u16, to: u16| {
                let mut l4 = [from.to_be_bytes(), to.to_be_bytes()].concat();
                l4.resize(24, 0);
                l4
            };
            let mut add = |name: &str, mac, to: IpAddr, protocol, l4: &[u8], taken| {
                let mut frame = Vec::new();
                push_ethernet(&mut frame, mac, CLIENT, ethertype(to));
                push_ip(&mut frame, protocol, from, to, l4);
                all.push((format!("{name} to {to}"), frame, taken));
            };
            add("TCP", CARD, ours, TCP, &ports(5000, 11211), [true, true]);
            add("Redis", CARD, ours, TCP, &ports(5000, 6379), [true, true]);
            add("UDP", CARD, ours, UDP, &ports(5000, 11212), [true, true]);
            add("another TCP port", CARD, ours, TCP, &ports(11211, 11212), [true, false]);
            add("another UDP port", CARD, ours, UDP, &ports(11212, 11211), [true, false]);
            add("TCP without a port", CARD, ours, TCP, &ports(5000, 0), [true, false]);
            add("UDP without a port", CARD, ours, UDP, &ports(5000, 0), [true, false]);
            add("SCTP", CARD, ours, 132, &ports(5000, 11211), [true, false]);
            add("cut short", CARD, ours, TCP, &[0, 1, 43], [true, false]);
            add("TCP of another address", CARD, other, TCP, &ports(5000, 11211), [true, false]);
            add("TCP of another host", CLIENT, ours, TCP, &ports(5000, 11211), [false, false]);
            add("TCP to all", EVERYBODY, ours, TCP, &ports(5000, 11211), [false, false]);
            let last_byte = [2, 0x57, 10, 9, 0, 3];
            add("a MAC like ours", last_byte, ours, TCP, &ports(5000, 11211), [false, false]);
            // Errors that quote a packet: its header, and the first bytes of what it carries.
            let is_v4 = ours.is_ipv4();
            let (icmp, echo, too_big, unreachable) = if is_v4 {
                (ICMP, [8, 0], [3, 4], [3, 3])
            } else {
                (ICMP6, [128, 0], [2, 0], [1, 4])
            };
            let error = |kind: [u8; 2], protocol, quoted: &[u8]| {
                let mut l4 = [&kind[..], &[0; 6]].concat();
                push_ip(&mut l4, protocol, ours, from, quoted);
                l4
            };
            add("echo", CARD, ours, icmp, &[&echo[..], &[0; 60]].concat(), [true, false]);
            let quoted = error(too_big, TCP, &ports(11211, 5000));
            add("too big", CARD, ours, icmp, &quoted, [true, true]);
            add(
                "too big for Redis",
                CARD,
                ours,
                icmp,
                &error(too_big, TCP, &ports(6379, 5000)),
                [true, true],
            );
            let quoted = error(too_big, TCP, &ports(5000, 11211));
            add("too big of another", CARD, ours, icmp, &quoted, [true, false]);
            let quoted = error(too_big, UDP, &ports(11211, 5000));
            add("too big over UDP", CARD, ours, icmp, &quoted, [true, false]);
            let quoted = error(unreachable, TCP, &ports(11211, 5000));
            add("unreachable", CARD, ours, icmp, &quoted, [true, false]);
            let quoted = error(too_big, TCP, &[]);
            add("too short a quote", CARD, ours, icmp, &quoted, [true, false]);
        }
        for (target, taken) in
            [(ip6, true), (link, true), (families[1].2, false), (families[2].2, false)]
        {
            let IpAddr::V6(octets) = target else { unreachable!() };
            for (kind, taken) in [(135, taken), (136, false)] {
                let l4 = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &octets.octets()].concat();
                let mut frame = Vec::new();
                push_ethernet(&mut frame, GROUP, CLIENT, IPV6);
                push_ip(&mut frame, ICMP6, families[1].1, "ff02::1:ff00:2".parse().unwrap(), &l4);
                all.push((format!("type {kind} of {target}"), frame, [taken, false]));
            }
        }
        for (target, taken) in [(IP, true), ([10, 9, 0, 3].into(), false)] {
            let mut frame = Vec::new();
            push_arp_reply(&mut frame, CLIENT, [10, 9, 0, 1].into(), EVERYBODY, target);
            frame[21] = 1;
            let mut tagged = frame.clone();
            tagged.splice(12..12, [0x81, 0, 0, 5]);
            all.push((format!("who has {target}"), frame, [taken, false]));
            all.push((format!("who has {target}, in a VLAN"), tagged, [taken, false]));
        }
        let tcp = all[0].1.clone();
        let mut options = tcp.clone();
        options.splice(34..34, [1; 8]);
        options[14] = 0x47;
        all.push(("TCP with options of IP".into(), options, [true, true]));
        for (name, bytes) in [("a first fragment", [0x20, 0]), ("another fragment", [0, 1])] {
            let mut frame = tcp.clone();
            frame[20..22].copy_from_slice(&bytes);
            all.push((name.into(), frame, [true, false]));
        }
        let mut tagged = tcp.clone();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        all.push(("TCP in a VLAN".into(), tagged, [true, false]));
        all
    }

    /// The verdicts of the kernel, as XDP and as a filter. It needs privileges, without which this test says so.
    #[test]
    fn frames_go_where_they_belong() {
        let addresses = Addresses {
            card_mac: CARD,
            card_ip: IP,
            card_ip6: "fd57:4b56::2".parse().unwrap(),
            card_tcp_port: 11211,
            card_redis_port: 6379,
            card_udp_port: 11212,
            mtu: 1500,
        };
        for is_shared in [false, true] {
            let steer = Steer { addresses, is_shared };
            let sockets = match Sockets::new(1) {
                Err(e) if e.raw_os_error() == Some(libc::EPERM) => {
                    return eprintln!("skipped: bpf(2) needs privileges");
                }
                sockets => sockets.unwrap(),
            };
            // No socket is there: what goes to one has another verdict than what is passed.
            let code =
                steer.code(Kind::Xdp, |asm| asm.redirect(PACKET, &sockets, XDP_TX), XDP_PASS);
            let xdp = bpf::load(Kind::Xdp, "test", &code).unwrap();
            let filter = steer.filter().unwrap();
            let mut taken = 0;
            for (name, frame, is_ours) in frames() {
                let is_ours = is_ours[usize::from(is_shared)];
                let verdict = run(&xdp, &frame).unwrap() as i32;
                assert_eq!(verdict, if is_ours { XDP_TX } else { XDP_PASS }, "{name} {is_shared}");
                // The kernel tests a filter on what is behind a frame's header.
                let verdict = run(&filter, &[&[0; 14], &frame[..]].concat()).unwrap() as i32;
                assert_eq!(verdict, if is_ours { TAKEN } else { NOT_TAKEN }, "{name} {is_shared}");
                taken += u32::from(is_ours);
            }
            assert_eq!(taken, if is_shared { 16 } else { 59 });
            // With no socket there, it is the kernel's: a server that ends leaves no hole.
            let xdp = steer.xdp(&sockets).unwrap();
            assert_eq!(run(&xdp, &frames()[0].1).unwrap() as i32, XDP_PASS);
        }
    }
}
