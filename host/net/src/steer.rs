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
