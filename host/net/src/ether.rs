//! The little of Ethernet, ARP, IP of both versions and UDP that the host does itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub const ETHERNET_HEADER: usize = 14;
pub const IPV4: u16 = 0x0800;
pub const IPV6: u16 = 0x86DD;
pub const VLAN: u16 = 0x8100;
pub const ARP: u16 = 0x0806;
pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP6: u8 = 58;
const IP_HEADER: usize = 20;
const IP6_HEADER: usize = 40;
pub const UDP_HEADER: usize = 8;

pub type Mac = [u8; 6];

/// What a frame from the card is.
pub enum Kind<'a> {
    /// A packet with a TCP segment, checksums not looked at.
    Tcp {
        to: SocketAddr,
        packet: &'a [u8],
    },
    /// A datagram whose checksums are right.
    Udp {
        to: SocketAddr,
        from: SocketAddr,
        payload: &'a [u8],
    },
    /// Who has `target`? asks `sender`.
    ArpRequest {
        target: Ipv4Addr,
        sender_mac: Mac,
        sender: Ipv4Addr,
    },
    Other,
}

pub fn classify(frame: &[u8]) -> Kind<'_> {
    parse(frame).unwrap_or(Kind::Other)
}

fn parse(frame: &[u8]) -> Option<Kind<'_>> {
    let (head, rest) = frame.split_at_checked(ETHERNET_HEADER)?;
    match u16_at(head, 12)? {
        ARP => {
            let is_request = rest.get(..8)? == [0, 1, 8, 0, 6, 4, 0, 1];
            is_request.then_some(Kind::ArpRequest {
                sender_mac: rest.get(8..14)?.try_into().ok()?,
                sender: ip_at(rest, 14)?,
                target: ip_at(rest, 24)?,
            })
        }
        IPV4 | IPV6 => {
            let packet = Packet::parse(rest)?;
            let payload = packet.payload();
            let to = SocketAddr::new(packet.destination(), u16_at(payload, 2)?);
            match packet.protocol {
                TCP => Some(Kind::Tcp { to, packet: packet.bytes }),
                UDP => {
                    let from = SocketAddr::new(packet.source(), u16_at(payload, 0)?);
                    let datagram = payload.get(..usize::from(u16_at(payload, 4)?))?;
                    let is_intact = packet.header_is_intact()
                        && match u16_at(datagram, 6)? {
                            0 => from.is_ipv4(),
                            _ => checksum(packet.pseudo_header(UDP, datagram.len()), datagram) == 0,
                        };
                    let payload = datagram.get(UDP_HEADER..)?;
                    is_intact.then_some(Kind::Udp { to, from, payload })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// An IP packet of either version, as long as it says; IPv6's without extension headers.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    pub bytes: &'a [u8],
    /// Length of the IP header.
    pub header: usize,
    pub protocol: u8,
}

impl<'a> Packet<'a> {
    /// Of what follows an Ethernet header; behind the packet may be padding.
    pub fn parse(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let (header, total, protocol) = match bytes.first()? >> 4 {
            4 => (usize::from(bytes[0] & 15) * 4, u16_at(bytes, 2)?.into(), *bytes.get(9)?),
            6 => (IP6_HEADER, IP6_HEADER + usize::from(u16_at(bytes, 4)?), *bytes.get(6)?),
            _ => return None,
        };
        let least = if bytes[0] >> 4 == 4 { IP_HEADER } else { IP6_HEADER };
        let bytes = bytes.get(..total)?;
        (header >= least && header <= total).then_some(Packet { bytes, header, protocol })
    }

    pub fn is_v6(&self) -> bool {
        self.bytes[0] >> 4 == 6
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header..]
    }

    pub fn source(&self) -> IpAddr {
        self.address(12, 8)
    }

    pub fn destination(&self) -> IpAddr {
        self.address(16, 24)
    }

    fn address(&self, v4: usize, v6: usize) -> IpAddr {
        if self.is_v6() {
            let octets: [u8; 16] = self.bytes[v6..v6 + 16].try_into().expect("sixteen bytes");
            Ipv6Addr::from(octets).into()
        } else {
            let octets: [u8; 4] = self.bytes[v4..v4 + 4].try_into().expect("four bytes");
            Ipv4Addr::from(octets).into()
        }
    }

    pub fn header_is_intact(&self) -> bool {
        self.is_v6() || checksum(0, &self.bytes[..self.header]) == 0
    }

    /// Sum of the addresses, protocol and length that checksums of TCP, UDP and ICMPv6 include.
    pub fn pseudo_header(&self, protocol: u8, len: usize) -> u32 {
        let addresses = if self.is_v6() { 8..40 } else { 12..20 };
        let words = self.bytes[addresses].chunks_exact(2);
        let sum: u32 = words.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        sum + u32::from(protocol) + len as u32
    }
}

pub fn ethertype(ip: IpAddr) -> u16 {
    if ip.is_ipv4() {
        IPV4
    } else {
        IPV6
    }
}

/// The link-local address of a MAC address (RFC 4291, appendix A).
pub fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let id = u64::from_be_bytes([a ^ 2, b, c, 0xFF, 0xFE, d, e, f]);
    Ipv6Addr::from(0xFE80 << 112 | u128::from(id))
}

pub fn push_ethernet(out: &mut Vec<u8>, to: Mac, from: Mac, ethertype: u16) {
    out.extend(to);
    out.extend(from);
    out.extend(ethertype.to_be_bytes());
}

/// The answer to an ARP request: `ip` is at `mac`.
pub fn push_arp_reply(out: &mut Vec<u8>, mac: Mac, ip: Ipv4Addr, to_mac: Mac, to: Ipv4Addr) {
    out.extend(to_mac);
    out.extend(mac);
    out.extend(ARP.to_be_bytes());
    out.extend([0, 1, 8, 0, 6, 4, 0, 2]);
    out.extend(mac);
    out.extend(ip.octets());
    out.extend(to_mac);
    out.extend(to.octets());
}

/// An IP packet, to follow an Ethernet header. Both addresses are of one family.
pub fn push_ip(out: &mut Vec<u8>, protocol: u8, from: IpAddr, to: IpAddr, payload: &[u8]) {
    let start = out.len();
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.extend([0x45, 0]);
            out.extend(((IP_HEADER + payload.len()) as u16).to_be_bytes());
            out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]); // don't fragment, 64 hops
            out.extend(from.octets());
            out.extend(to.octets());
            let sum = checksum(0, &out[start..]);
            out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            out.extend([0x60, 0, 0, 0]);
            out.extend((payload.len() as u16).to_be_bytes());
            out.extend([protocol, 64]);
            out.extend(from.octets());
            out.extend(to.octets());
        }
        _ => unreachable!("two families in one packet"),
    }
    out.extend(payload);
}

/// An IP packet with a UDP datagram, to follow an Ethernet header.
pub fn push_udp(out: &mut Vec<u8>, from: SocketAddr, to: SocketAddr, payload: &[u8]) {
    let start = out.len();
    let udp_len = UDP_HEADER + payload.len();
    let mut datagram = Vec::with_capacity(udp_len);
    datagram.extend(from.port().to_be_bytes());
    datagram.extend(to.port().to_be_bytes());
    datagram.extend((udp_len as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    push_ip(out, UDP, from.ip(), to.ip(), &datagram);

    let packet = Packet::parse(&out[start..]).expect("just made");
    let sum = checksum(packet.pseudo_header(UDP, udp_len), packet.payload());
    let sum = if sum == 0 { 0xFFFF } else { sum }; // 0 would mean "none"
    let at = start + packet.header + 6;
    out[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071, continuing from the sum `start`.
pub fn checksum(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = u64::from(start);
    for w in bytes.chunks(2) {
        sum += u64::from(w[0]) << 8 | u64::from(w.get(1).copied().unwrap_or(0));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn ip_at(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(octets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Mac = [2, 0, 0, 0, 0, 1];
    const CARD: Mac = [2, 0, 0, 0, 0, 2];

    fn udp_frame(is_v6: bool, payload: &[u8]) -> Vec<u8> {
        let [from, to]: [IpAddr; 2] = if is_v6 {
            ["fd57:4b56::1", "fd57:4b56::2"].map(|ip| ip.parse().unwrap())
        } else {
            [[10, 77, 0, 1].into(), [10, 77, 0, 2].into()]
        };
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, CLIENT, ethertype(to));
        push_udp(&mut frame, SocketAddr::new(from, 5000), SocketAddr::new(to, 11211), payload);
        frame
    }

    #[test]
    fn udp_round_trip() {
        for (len, is_v6) in [0, 1, 2, 33, 1400].into_iter().flat_map(|n| [(n, false), (n, true)]) {
            let payload: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let mut frame = udp_frame(is_v6, &payload);
            frame.resize(frame.len().max(60), 0); // as a wire would pad it
            let Kind::Udp { to, from, payload: got } = classify(&frame) else {
                panic!("not seen as UDP");
            };
            assert_eq!((to.port(), from.port(), got), (11211, 5000, &payload[..]));
        }
    }

    #[test]
    fn damaged_datagrams_are_no_datagrams() {
        // IPv6 protects neither class, flow nor hop limit.
        for (good, first) in [(udp_frame(false, b"some load"), 0), (udp_frame(true, b"load"), 8)] {
            for byte in ETHERNET_HEADER + first..good.len() {
                for bit in 0..8 {
                    let mut bad = good.clone();
                    bad[byte] ^= 1 << bit;
                    assert!(!matches!(classify(&bad), Kind::Udp { .. }), "byte {byte} bit {bit}");
                }
            }
        }
        let mut without_sum = udp_frame(true, b"load");
        without_sum[60..62].fill(0);
        assert!(matches!(classify(&without_sum), Kind::Other));
    }

    #[test]
    fn short_frames_are_harmless() {
        for good in [udp_frame(false, b"x"), udp_frame(true, b"x")] {
            for len in 0..good.len() {
                assert!(matches!(classify(&good[..len]), Kind::Other));
            }
        }
    }

    #[test]
    fn arp() {
        let mut frame = Vec::new();
        let (ours, theirs) = ([10, 77, 0, 1].into(), [10, 77, 0, 2].into());
        push_arp_reply(&mut frame, CLIENT, ours, CARD, theirs);
        assert!(matches!(classify(&frame), Kind::Other));
        frame[21] = 1; // make it a request
        let Kind::ArpRequest { target, sender_mac, sender } = classify(&frame) else {
            panic!("not seen as a request");
        };
        assert_eq!((target, sender_mac, sender), (theirs, CLIENT, ours));
    }
}
