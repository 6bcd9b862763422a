//! What the card leaves to the host: frames for a port where nobody serves are refused at once, as by
//! a kernel, and the others are counted by what they are. An answer costs the sender as many bytes as
//! it brings, and there are 1,000 a second at most, 50 at once.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::ether::{self, checksum, ip_at, pseudo_header, u16_at, Mac};
use crate::Addresses;

/// Answers at once, and the time after which there may be another one.
const BURST: u32 = 50;
const EVERY: Duration = Duration::from_millis(1);

/// An ICMP error quotes no more than fits into so large a packet (RFC 1812, section 4.3.2.3).
const ICMP_PACKET: usize = 576;
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
    /// Dropped: IP packets with options.
    pub options: u64,
    /// Dropped: all the rest.
    pub others: u64,
}

pub struct Refuser {
    mac: Mac,
    ip: Ipv4Addr,
    quiet: bool,
    /// Answers that may go now, as of a time.
    left: (u32, Instant),
    pub counts: Refused,
}

/// What a frame from the host port is.
enum Kind<'a> {
    Segment(&'a [u8]),
    Datagram(&'a [u8]),
    Fragment,
    Options,
    Other,
}

impl Refuser {
    pub fn new(addresses: &Addresses, quiet: bool, now: Instant) -> Refuser {
        let Addresses { card_mac: mac, card_ip: ip, .. } = *addresses;
        Refuser { mac, ip, quiet, left: (BURST, now), counts: Refused::default() }
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
        let l4 = match kind {
            Kind::Segment(packet) => reset(packet),
            Kind::Datagram(packet) => unreachable(packet),
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
        let protocol = if matches!(kind, Kind::Segment(_)) { ether::TCP } else { ether::ICMP };
        let mut out = Vec::with_capacity(l2 + 20 + l4.len());
        out.extend(&frame[6..12]);
        out.extend(self.mac);
        out.extend(&frame[12..l2]); // the VLAN's tag, too
        let sender = ip_at(frame, l2 + 12)?;
        ether::push_ip(&mut out, protocol, self.ip, sender, &l4);
        Some(out)
    }

    /// None: too short for what it says it is, or damaged.
    fn kind<'a>(&self, frame: &'a [u8], l2: usize) -> Option<Kind<'a>> {
        // Packets to everybody, or from a group, are never answered.
        let to_us = frame.get(..6)? == self.mac && frame.get(6)? & 1 == 0;
        let rest = frame.get(l2..)?;
        let is_ip = u16_at(frame, l2 - 2)? == ether::IPV4 && rest.first()? >> 4 == 4;
        if !to_us || !is_ip || ip_at(rest, 16)? != self.ip {
            return Some(Kind::Other);
        }
        let packet = rest.get(..usize::from(u16_at(rest, 2)?))?; // the frame may be padded
        if u16_at(packet, 6)? & 0x3FFF != 0 {
            return Some(Kind::Fragment);
        }
        if packet[0] & 15 > 5 {
            return Some(Kind::Options);
        }
        let l4 = packet.get(20..)?;
        if u16_at(l4, 0)? == 0 {
            return Some(Kind::Other);
        }
        match packet[9] {
            ether::TCP => {
                let header = usize::from(*l4.get(12)? >> 4) * 4;
                let is_whole = (20..=l4.len()).contains(&header)
                    && checksum(pseudo_header(packet, l4.len()), l4) == 0;
                // Nobody answers a RST.
                (is_whole && l4[13] & RST == 0).then_some(Kind::Segment(packet))
            }
            ether::UDP => {
                let datagram = l4.get(..usize::from(u16_at(l4, 4)?))?;
                let is_whole = u16_at(datagram, 6)? == 0
                    || checksum(pseudo_header(packet, datagram.len()), datagram) == 0;
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

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// RFC 9293, section 3.10.7.1.
fn reset(packet: &[u8]) -> Vec<u8> {
    let segment = &packet[20..];
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
    let sum = checksum(pseudo_header(packet, out.len()), &out);
    out[16..18].copy_from_slice(&sum.to_be_bytes());
    out
}

/// RFC 792: destination unreachable, port unreachable.
fn unreachable(packet: &[u8]) -> Vec<u8> {
    let quoted = packet.len().min(ICMP_PACKET - 20 - ICMP_HEADER);
    let mut out = vec![3, 3, 0, 0, 0, 0, 0, 0];
    out.extend(&packet[..quoted]);
    let sum = checksum(0, &out);
    out[2..4].copy_from_slice(&sum.to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ether::{push_ethernet, push_udp};
    use std::net::SocketAddrV4;

    const CLIENT: Mac = [2, 0, 0, 0, 0, 1];
    const CARD: Mac = [2, 0, 0, 0, 0, 2];
    const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
    const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

    fn refuser(quiet: bool) -> (Refuser, Instant) {
        let addresses = Addresses {
            card_mac: CARD,
            card_ip: OURS,
            card_tcp_port: 11211,
            card_udp_port: 0,
            mtu: 1500,
        };
        let now = Instant::now();
        (Refuser::new(&addresses, quiet, now), now)
    }

    fn datagram(len: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, CLIENT);
        let (from, to) = (SocketAddrV4::new(THEIRS, 5000), SocketAddrV4::new(OURS, 53));
        push_udp(&mut frame, from, to, &vec![7; len]);
        frame
    }

    fn segment(flags: u8, len: usize) -> Vec<u8> {
        let mut l4 = vec![0x13, 0x88, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0x50, flags, 1, 0, 0, 0, 0, 0];
        l4.extend(vec![7; len]);
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, CLIENT);
        ether::push_ip(&mut frame, ether::TCP, THEIRS, OURS, &l4);
        let sum = checksum(pseudo_header(&frame[14..], l4.len()), &l4);
        frame[14 + 36..14 + 38].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn a_segment_is_reset() {
        let (mut refuser, now) = refuser(false);
        for (flags, len, seq, ack, answered) in [
            (SYN, 0, 0, Some(0x101), true),
            (ACK, 10, 0x200, None, true),
            (FIN, 3, 0, Some(0x104), true),
            (SYN | ACK, 0, 0x200, None, true),
            (RST, 0, 0, None, false),
            (RST | ACK, 0, 0, None, false),
        ] {
            let answer = refuser.answer(&segment(flags, len), now);
            assert_eq!(answer.is_some(), answered);
            let Some(answer) = answer else { continue };
            assert_eq!((&answer[..6], &answer[6..12]), (&CLIENT[..], &CARD[..]));
            let packet = &answer[14..];
            assert_eq!(checksum(0, &packet[..20]), 0);
            assert_eq!((ip_at(packet, 12), ip_at(packet, 16)), (Some(OURS), Some(THEIRS)));
            let l4 = &packet[20..];
            assert_eq!(checksum(pseudo_header(packet, l4.len()), l4), 0);
            assert_eq!((u16_at(l4, 0), u16_at(l4, 2)), (Some(80), Some(5000)));
            let number = |at: usize| u32::from_be_bytes(l4[at..at + 4].try_into().unwrap());
            assert_eq!((number(4), number(8)), (seq, ack.unwrap_or(0)));
            assert_eq!(l4[13], if ack.is_some() { RST | ACK } else { RST });
        }
        assert_eq!(refuser.counts, Refused { resets: 4, others: 2, ..Refused::default() });
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
        let counts = Refused { fragments: 2, options: 1, ..Refused::default() };
        assert_eq!(refuser.counts, counts);
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
