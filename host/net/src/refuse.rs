//! What the card leaves to the host: frames for a port where nobody serves are refused at once, as by
//! a kernel, and the others are counted by what they are. An answer costs the sender as many bytes as
//! it brings, and there are 1,000 a second at most, 50 at once.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::ether::{self, checksum, u16_at, Mac, Packet};
use crate::Addresses;

/// Answers at once, and the time after which there may be another one.
const BURST: u32 = 50;
const EVERY: Duration = Duration::from_millis(1);

/// An ICMP error quotes no more than fits into so large a packet (RFC 1812, section 4.3.2.3; RFC 4443,
/// section 2.4).
const ICMP_PACKET: usize = 576;
const ICMP6_PACKET: usize = 1280;
const ICMP_HEADER: usize = 8;

/// Frames that came to the host port, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Segments for a port where nobody serves, answered with RST.
    pub resets: u64,
    /// Datagrams likewise, answered with ICMP's port unreachable.
    pub unreachable: u64,
    /// Either, not answered: too many at once, or `--quiet`.
    pub held: u64,
    /// Dropped: fragments of IP packets.
    pub fragments: u64,
    /// Dropped: IPv4 packets with options, IPv6 packets with other extension headers.
    pub options: u64,
    /// Dropped: all the rest.
    pub others: u64,
}

pub struct Refuser {
    mac: Mac,
    ips: [IpAddr; 3],
    quiet: bool,
    /// Answers that may go now, as of a time.
    left: (u32, Instant),
    pub counts: Refused,
}

/// What a frame from the host port is.
enum Kind<'a> {
    Segment(Packet<'a>),
    Datagram(Packet<'a>),
    Fragment,
    Options,
    Other,
}

impl Refuser {
    pub fn new(addresses: &Addresses, quiet: bool, now: Instant) -> Refuser {
        let (mac, ips) = (addresses.card_mac, addresses.card_ips());
        Refuser { mac, ips, quiet, left: (BURST, now), counts: Refused::default() }
    }

    /// The frame that answers this one, if any does.
    pub fn answer(&mut self, frame: &[u8], now: Instant) -> Option<Vec<u8>> {
        let l2 = if u16_at(frame, 12) == Some(ether::VLAN) { 18 } else { 14 };
        let kind = self.kind(frame, l2).unwrap_or(Kind::Other);
        let count = match kind {
            Kind::Segment(_) => &mut self.counts.resets,
            Kind::Datagram(_) => &mut self.counts.unreachable,
            Kind::Fragment => &mut self.counts.fragments,
            Kind::Options => &mut self.counts.options,
            Kind::Other => &mut self.counts.others,
        };
        let (packet, (protocol, l4)) = match kind {
            Kind::Segment(packet) => (packet, (ether::TCP, reset(&packet))),
            Kind::Datagram(packet) => (packet, unreachable(&packet)),
            _ => {
                *count += 1;
                return None;
            }
        };
        if self.quiet || !take(&mut self.left, now) {
            self.counts.held += 1;
            return None;
        }
        *count += 1;
        let mut out = Vec::with_capacity(l2 + packet.header + l4.len());
        out.extend(&frame[6..12]);
        out.extend(self.mac);
        out.extend(&frame[12..l2]); // the VLAN's tag, too
        ether::push_ip(&mut out, protocol, packet.destination(), packet.source(), &l4);
        Some(out)
    }

    /// None: too short for what it says it is, or damaged.
    fn kind<'a>(&self, frame: &'a [u8], l2: usize) -> Option<Kind<'a>> {
        // Packets to everybody, or from a group, are never answered.
        let to_us = frame.get(..6)? == self.mac && frame.get(6)? & 1 == 0;
        let packet = Packet::parse(frame.get(l2..)?)?;
        let is_ip =
            u16_at(frame, l2 - 2)? == if packet.is_v6() { ether::IPV6 } else { ether::IPV4 };
        if !to_us || !is_ip || !self.ips.contains(&packet.destination()) {
            return Some(Kind::Other);
        }
        if packet.is_v6() {
            match packet.protocol {
                EXT_FRAGMENT => return Some(Kind::Fragment),
                EXT_HOP_BY_HOP | EXT_ROUTING | EXT_ESP | EXT_AUTHENTICATION | EXT_DESTINATION
                | EXT_MOBILITY => return Some(Kind::Options),
                _ => {}
            }
        } else if u16_at(packet.bytes, 6)? & 0x3FFF != 0 {
            return Some(Kind::Fragment);
        } else if packet.header > 20 {
            return Some(Kind::Options);
        }
        let l4 = packet.payload();
        if u16_at(l4, 0)? == 0 {
            return Some(Kind::Other);
        }
        match packet.protocol {
            ether::TCP => {
                let header = usize::from(*l4.get(12)? >> 4) * 4;
                let is_whole = (20..=l4.len()).contains(&header)
                    && checksum(packet.pseudo_header(ether::TCP, l4.len()), l4) == 0;
                // Nobody answers a RST.
                (is_whole && l4[13] & RST == 0).then_some(Kind::Segment(packet))
            }
            ether::UDP => {
                let datagram = l4.get(..usize::from(u16_at(l4, 4)?))?;
                let is_whole = match u16_at(datagram, 6)? {
                    0 => !packet.is_v6(),
                    _ => {
                        let sum = packet.pseudo_header(ether::UDP, datagram.len());
                        checksum(sum, datagram) == 0
                    }
                };
                is_whole.then_some(Kind::Datagram(packet))
            }
            _ => None,
        }
    }
}

fn take(left: &mut (u32, Instant), now: Instant) -> bool {
    let (count, since) = left;
    let more = now.duration_since(*since).as_millis() as u32;
    *since += EVERY * more;
    *count = count.saturating_add(more).min(BURST);
    let is_one = *count > 0;
    *count -= u32::from(is_one);
    is_one
}

/// IPv6's extension headers.
const EXT_HOP_BY_HOP: u8 = 0;
const EXT_ROUTING: u8 = 43;
const EXT_FRAGMENT: u8 = 44;
const EXT_ESP: u8 = 50;
const EXT_AUTHENTICATION: u8 = 51;
const EXT_DESTINATION: u8 = 60;
const EXT_MOBILITY: u8 = 135;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// RFC 9293, section 3.10.7.1.
fn reset(packet: &Packet) -> Vec<u8> {
    let segment = packet.payload();
    let flags = segment[13];
    let len = segment.len() - usize::from(segment[12] >> 4) * 4;
    let numbers = [(flags & SYN != 0), (flags & FIN != 0)].map(u32::from);
    let seq = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
    let end = seq.wrapping_add(len as u32 + numbers[0] + numbers[1]);
    let mut out = Vec::with_capacity(20);
    out.extend(&segment[2..4]);
    out.extend(&segment[..2]);
    if flags & ACK != 0 {
        out.extend(&segment[8..12]);
        out.extend([0, 0, 0, 0, 0x50, RST]);
    } else {
        out.extend([0; 4]);
        out.extend(end.to_be_bytes());
        out.extend([0x50, RST | ACK]);
    }
    out.extend([0; 6]);
    // The addresses' sum is that of the packet, though they change places.
    let sum = checksum(packet.pseudo_header(ether::TCP, out.len()), &out);
    out[16..18].copy_from_slice(&sum.to_be_bytes());
    out
}

/// RFC 792 and RFC 4443: destination unreachable, port unreachable; with its protocol.
fn unreachable(packet: &Packet) -> (u8, Vec<u8>) {
    let (protocol, kind, limit) = if packet.is_v6() {
        (ether::ICMP6, [1, 4], ICMP6_PACKET)
    } else {
        (ether::ICMP, [3, 3], ICMP_PACKET)
    };
    let quoted = packet.bytes.len().min(limit - packet.header - ICMP_HEADER);
    let mut out = vec![kind[0], kind[1], 0, 0, 0, 0, 0, 0];
    out.extend(&packet.bytes[..quoted]);
    // IPv4's sum has no addresses.
    let addresses = if packet.is_v6() { packet.pseudo_header(protocol, out.len()) } else { 0 };
    let sum = checksum(addresses, &out);
    out[2..4].copy_from_slice(&sum.to_be_bytes());
    (protocol, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ether::{ethertype, link_local, push_ethernet, push_udp};
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

    const CLIENT: Mac = [2, 0, 0, 0, 0, 1];
    const CARD: Mac = [2, 0, 0, 0, 0, 2];
    const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
    const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    const OURS6: Ipv6Addr = Ipv6Addr::new(0xFD57, 0x4B56, 0, 0, 0, 0, 0, 2);
    const THEIRS6: Ipv6Addr = Ipv6Addr::new(0xFD57, 0x4B56, 0, 0, 0, 0, 0, 1);

    /// Sender and receiver.
    fn ends() -> [(IpAddr, IpAddr); 3] {
        [
            (THEIRS.into(), OURS.into()),
            (THEIRS6.into(), OURS6.into()),
            (link_local(CLIENT).into(), link_local(CARD).into()),
        ]
    }

    fn refuser(quiet: bool) -> (Refuser, Instant) {
        let addresses = Addresses {
            card_mac: CARD,
            card_ip: OURS,
            card_ip6: OURS6,
            card_tcp_port: 11211,
            card_redis_port: 0,
            card_udp_port: 0,
            mtu: 1500,
        };
        let now = Instant::now();
        (Refuser::new(&addresses, quiet, now), now)
    }

    fn datagram(len: usize) -> Vec<u8> {
        datagram_of(ends()[0], len)
    }

    fn datagram_of((from, to): (IpAddr, IpAddr), len: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, CLIENT, ethertype(to));
        push_udp(&mut frame, SocketAddr::new(from, 5000), SocketAddr::new(to, 53), &vec![7; len]);
        frame
    }

    fn segment(flags: u8, len: usize) -> Vec<u8> {
        segment_of(ends()[0], flags, len)
    }

    fn segment_of((from, to): (IpAddr, IpAddr), flags: u8, len: usize) -> Vec<u8> {
        let mut l4 = vec![0x13, 0x88, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0x50, flags, 1, 0, 0, 0, 0, 0];
        l4.extend(vec![7; len]);
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, CLIENT, ethertype(to));
        ether::push_ip(&mut frame, ether::TCP, from, to, &l4);
        let packet = Packet::parse(&frame[14..]).unwrap();
        let sum = checksum(packet.pseudo_header(ether::TCP, l4.len()), &l4);
        let at = 14 + packet.header + 16;
        frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn a_segment_is_reset() {
        let (mut refuser, now) = refuser(false);
        for (from, to) in ends() {
            for (flags, len, seq, ack, answered) in [
                (SYN, 0, 0, Some(0x101), true),
                (ACK, 10, 0x200, None, true),
                (FIN, 3, 0, Some(0x104), true),
                (SYN | ACK, 0, 0x200, None, true),
                (RST, 0, 0, None, false),
                (RST | ACK, 0, 0, None, false),
            ] {
                let answer = refuser.answer(&segment_of((from, to), flags, len), now);
                assert_eq!(answer.is_some(), answered);
                let Some(answer) = answer else { continue };
                assert_eq!((&answer[..6], &answer[6..12]), (&CLIENT[..], &CARD[..]));
                assert_eq!(u16_at(&answer, 12), Some(ethertype(to)));
                let packet = Packet::parse(&answer[14..]).unwrap();
                assert!(packet.header_is_intact());
                assert_eq!((packet.source(), packet.destination()), (to, from));
                let l4 = packet.payload();
                assert_eq!(checksum(packet.pseudo_header(ether::TCP, l4.len()), l4), 0);
                assert_eq!((u16_at(l4, 0), u16_at(l4, 2)), (Some(80), Some(5000)));
                let number = |at: usize| u32::from_be_bytes(l4[at..at + 4].try_into().unwrap());
                assert_eq!((number(4), number(8)), (seq, ack.unwrap_or(0)));
                assert_eq!(l4[13], if ack.is_some() { RST | ACK } else { RST });
            }
        }
        assert_eq!(refuser.counts, Refused { resets: 12, others: 6, ..Refused::default() });
    }

    #[test]
    fn a_datagram_is_quoted() {
        let (mut refuser, now) = refuser(false);
        for len in [0, 1, 519, 520, 521, 1400] {
            let frame = datagram(len);
            let answer = refuser.answer(&frame, now).unwrap();
            let icmp = &answer[34..];
            assert_eq!((&icmp[..2], checksum(0, icmp)), (&[3, 3][..], 0));
            let quoted = (28 + len).min(548);
            assert_eq!(icmp[8..], frame[14..14 + quoted]);
        }
        assert_eq!(refuser.counts.unreachable, 6);
        for len in [0, 1, 1183, 1184, 1185, 1400] {
            let frame = datagram_of(ends()[1], len);
            let answer = refuser.answer(&frame, now).unwrap();
            let packet = Packet::parse(&answer[14..]).unwrap();
            assert!(packet.protocol == ether::ICMP6 && packet.bytes.len() <= 1280);
            let icmp = packet.payload();
            assert_eq!(checksum(packet.pseudo_header(ether::ICMP6, icmp.len()), icmp), 0);
            assert_eq!(icmp[..8], [1, 4, icmp[2], icmp[3], 0, 0, 0, 0]);
            let quoted = (48 + len).min(1232);
            assert_eq!(icmp[8..], frame[14..14 + quoted]);
        }
        assert_eq!(refuser.counts.unreachable, 12);
    }

    #[test]
    fn a_tag_stays() {
        let (mut refuser, now) = refuser(false);
        for plain in [datagram(9), segment(SYN, 0)] {
            let mut tagged = plain.clone();
            tagged.splice(12..12, [0x81, 0, 0x60, 5]);
            let (plain, tagged) = (refuser.answer(&plain, now), refuser.answer(&tagged, now));
            let (plain, mut tagged) = (plain.unwrap(), tagged.unwrap());
            assert_eq!(tagged.splice(12..16, []).collect::<Vec<u8>>(), [0x81, 0, 0x60, 5]);
            assert_eq!(tagged, plain);
        }
    }

    #[test]
    fn nobody_else_is_answered() {
        let (mut refuser, now) = refuser(false);
        let fix = |frame: &mut Vec<u8>| {
            frame[24..26].fill(0);
            let sum = checksum(0, &frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        };
        let mut fragment = datagram(9);
        fragment[20] = 0x20;
        fix(&mut fragment);
        let mut last = datagram(9);
        last[21] = 3;
        fix(&mut last);
        let mut options = datagram(9);
        options[14] = 0x46;
        fix(&mut options);
        for frame in [fragment, last, options] {
            assert_eq!(refuser.answer(&frame, now), None);
        }
        let six = datagram_of(ends()[1], 9);
        for (next, _) in [(44, "fragment"), (0, "hop by hop"), (43, "routing"), (60, "destination")]
        {
            let mut extended = six.clone();
            extended[20] = next;
            assert_eq!(refuser.answer(&extended, now), None);
        }
        let counts = Refused { fragments: 3, options: 4, ..Refused::default() };
        assert_eq!(refuser.counts, counts);
        let mut without_sum = six;
        without_sum[60..62].fill(0);
        assert_eq!(refuser.answer(&without_sum, now), None);
        let mut to_all = datagram(9);
        to_all[..6].fill(0xFF);
        let mut from_group = datagram(9);
        from_group[6] |= 1;
        let mut to_another = segment(SYN, 0);
        to_another[33] ^= 1;
        for frame in [to_all, from_group, to_another] {
            assert_eq!(refuser.answer(&frame, now), None);
        }
        // What is damaged or torn is answered to nobody, and harmless. The IP header is the card's
        // to check.
        for good in [datagram(9), segment(SYN, 4)] {
            for byte in 34..good.len() {
                let mut bad = good.clone();
                bad[byte] ^= 0x10;
                assert_eq!(refuser.answer(&bad, now), None, "byte {byte}");
            }
            for len in 0..good.len() {
                assert_eq!(refuser.answer(&good[..len], now), None, "{len} bytes");
            }
        }
    }

    #[test]
    fn there_is_a_limit() {
        let (mut refuser, now) = refuser(false);
        let mut answers =
            |n, now| (0..n).filter(|_| refuser.answer(&segment(SYN, 0), now).is_some()).count();
        let later = |micros| now + Duration::from_micros(micros);
        assert_eq!(answers(100, now), 50);
        assert_eq!(answers(10, later(900)), 0);
        assert_eq!(answers(10, later(1100)), 1);
        assert_eq!(answers(10, later(2050)), 1);
        assert_eq!(answers(100, later(10_000_000)), 50);
        assert_eq!(refuser.counts.held, 230 - 102);
    }

    #[test]
    fn quiet() {
        let (mut refuser, now) = refuser(true);
        assert_eq!(refuser.answer(&datagram(9), now), None);
        assert_eq!(refuser.answer(&segment(SYN, 0), now), None);
        assert_eq!(refuser.counts, Refused { held: 2, ..Refused::default() });
    }
}
