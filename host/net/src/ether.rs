//! The little of Ethernet, ARP, IPv4 and UDP that the host does itself.

use std::net::{Ipv4Addr, SocketAddrV4};

pub const ETHERNET_HEADER: usize = 14;
pub const IPV4: u16 = 0x0800;
pub const VLAN: u16 = 0x8100;
const ETHERTYPE_ARP: u16 = 0x0806;
pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

pub type Mac = [u8; 6];

/// What a frame from the card is.
pub enum Kind<'a> {
    /// An IPv4 packet with a TCP segment, checksums not looked at.
    Tcp {
        to: SocketAddrV4,
        packet: &'a [u8],
    },
    /// A datagram whose checksums are right.
    Udp {
        to: SocketAddrV4,
        from: SocketAddrV4,
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
        ETHERTYPE_ARP => {
            let is_request = rest.get(..8)? == [0, 1, 8, 0, 6, 4, 0, 1];
            is_request.then_some(Kind::ArpRequest {
                sender_mac: rest.get(8..14)?.try_into().ok()?,
                sender: ip_at(rest, 14)?,
                target: ip_at(rest, 24)?,
            })
        }
        IPV4 => {
            let header = usize::from(rest.first()? & 15) * 4;
            let packet = rest.get(..usize::from(u16_at(rest, 2)?))?; // the frame may be padded
            let payload = packet.get(header..)?;
            let to = SocketAddrV4::new(ip_at(packet, 16)?, u16_at(payload, 2)?);
            match packet[9] {
                TCP => Some(Kind::Tcp { to, packet }),
                UDP => {
                    let from = SocketAddrV4::new(ip_at(packet, 12)?, u16_at(payload, 0)?);
                    let datagram = payload.get(..usize::from(u16_at(payload, 4)?))?;
                    let intact = checksum(0, packet.get(..header)?) == 0
                        && (u16_at(datagram, 6)? == 0
                            || checksum(pseudo_header(packet, datagram.len()), datagram) == 0);
                    let payload = datagram.get(UDP_HEADER..)?;
                    intact.then_some(Kind::Udp { to, from, payload })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

pub fn push_ethernet(out: &mut Vec<u8>, to: Mac, from: Mac) {
    out.extend(to);
    out.extend(from);
    out.extend(IPV4.to_be_bytes());
}

/// The answer to an ARP request: `ip` is at `mac`.
pub fn push_arp_reply(out: &mut Vec<u8>, mac: Mac, ip: Ipv4Addr, to_mac: Mac, to: Ipv4Addr) {
    out.extend(to_mac);
    out.extend(mac);
    out.extend(ETHERTYPE_ARP.to_be_bytes());
    out.extend([0, 1, 8, 0, 6, 4, 0, 2]);
    out.extend(mac);
    out.extend(ip.octets());
    out.extend(to_mac);
    out.extend(to.octets());
}

/// An IPv4 packet, to follow an Ethernet header.
pub fn push_ip(out: &mut Vec<u8>, protocol: u8, from: Ipv4Addr, to: Ipv4Addr, payload: &[u8]) {
    let start = out.len();
    out.extend([0x45, 0]);
    out.extend(((IP_HEADER + payload.len()) as u16).to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]); // don't fragment, 64 hops
    out.extend(from.octets());
    out.extend(to.octets());
    let sum = checksum(0, &out[start..]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    out.extend(payload);
}

/// An IPv4 packet with a UDP datagram, to follow an Ethernet header.
pub fn push_udp(out: &mut Vec<u8>, from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
    let start = out.len();
    let udp_len = UDP_HEADER + payload.len();
    let mut datagram = Vec::with_capacity(udp_len);
    datagram.extend(from.port().to_be_bytes());
    datagram.extend(to.port().to_be_bytes());
    datagram.extend((udp_len as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    push_ip(out, UDP, *from.ip(), *to.ip(), &datagram);

    let packet = &mut out[start..];
    let sum = checksum(pseudo_header(packet, udp_len), &packet[IP_HEADER..]);
    let sum = if sum == 0 { 0xFFFF } else { sum }; // 0 would mean "none"
    packet[IP_HEADER + 6..IP_HEADER + 8].copy_from_slice(&sum.to_be_bytes());
}

/// Sum of the addresses, protocol and length that TCP and UDP checksums include.
pub fn pseudo_header(packet: &[u8], len: usize) -> u32 {
    let words = packet[12..20].chunks_exact(2);
    let sum: u32 = words.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    sum + u32::from(packet[9]) + len as u32
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

    fn udp_frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, CLIENT);
        let from = SocketAddrV4::new([10, 77, 0, 1].into(), 5000);
        let to = SocketAddrV4::new([10, 77, 0, 2].into(), 11211);
        push_udp(&mut frame, from, to, payload);
        frame
    }

    #[test]
    fn udp_round_trip() {
        for len in [0, 1, 2, 33, 1400] {
            let payload: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let mut frame = udp_frame(&payload);
            frame.resize(frame.len().max(60), 0); // as a wire would pad it
            let Kind::Udp { to, from, payload: got } = classify(&frame) else {
                panic!("not seen as UDP");
            };
            assert_eq!((to.port(), from.port(), got), (11211, 5000, &payload[..]));
        }
    }

    #[test]
    fn damaged_datagrams_are_no_datagrams() {
        let good = udp_frame(b"some payload");
        for byte in ETHERNET_HEADER..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[byte] ^= 1 << bit;
                assert!(!matches!(classify(&bad), Kind::Udp { .. }), "byte {byte} bit {bit}");
            }
        }
    }

    #[test]
    fn short_frames_are_harmless() {
        let good = udp_frame(b"x");
        for len in 0..good.len() {
            assert!(matches!(classify(&good[..len]), Kind::Other));
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
