//! Makes frames of an interface what they would be on a wire: with all checksums, and no larger than the MTU.
//!
//! The kernel leaves the checksum to the hardware, and so does the cutting of large segments. Between two ends of a
//! veth pair there is no hardware.

use crate::ether::{self, checksum, u16_at, Packet, ETHERNET_HEADER};
use crate::Frames;

/// Octets of a VLAN's tag, which stands behind the MAC addresses.
pub const TAG: usize = 4;
const MACS: usize = 12;

const IP_LENGTH: usize = 2;
const IP_ID: usize = 4;
const IP_SUM: usize = 10;
const IP6_LENGTH: usize = 4;
const TCP_SEQ: usize = 4;
const TCP_SUM: usize = 16;
const UDP_SUM: usize = 6;
const FIN: u8 = 1;
const PSH: u8 = 8;
const CWR: u8 = 0x80;

/// Whether the checksum of the transport is half done: the field holds the sum of the pseudo header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    Done,
    Half,
    /// Nobody says. It is, if the field is the pseudo header's sum. By chance that is so for one in 65,536 frames. If such
    /// a frame is whole, the sum is the one that it has already.
    Unknown,
}

/// Frames that came from an interface and did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oversize {
    /// Cut into segments.
    pub cut: u64,
    /// Dropped.
    pub dropped: u64,
}

pub struct Whole {
    mtu: usize,
    pub oversize: Oversize,
}

impl Whole {
    pub fn new(mtu: u16) -> Whole {
        Whole { mtu: mtu.into(), oversize: Oversize::default() }
    }

    /// Adds a frame to `out`. `tag` is that of a VLAN, which the kernel took out of the frame.
    pub fn take(&mut self, frame: &[u8], tag: Option<[u8; TAG]>, sum: Sum, out: &mut Frames) {
        if frame.len() < ETHERNET_HEADER {
            return; // a frame has a header
        }
        let is_tagged = tag.is_some() || u16_at(frame, MACS) == Some(ether::VLAN);
        let l2 = ETHERNET_HEADER + if is_tagged { TAG } else { 0 };
        let len = frame.len() + if tag.is_some() { TAG } else { 0 };
        if len <= l2 + self.mtu {
            out.push_with(|buffer| {
                let start = buffer.len();
                join(frame, tag, buffer);
                if sum != Sum::Done {
                    complete(&mut buffer[start..], l2, sum);
                }
            });
            return;
        }
        let mut large = Vec::with_capacity(len);
        join(frame, tag, &mut large);
        // What the hardware would have cut. Any other frame is one that came so over the wire.
        let is_cut = sum != Sum::Done && complete(&mut large, l2, sum) && self.cut(&large, l2, out);
        if is_cut {
            self.oversize.cut += 1;
        } else {
            self.oversize.dropped += 1;
        }
    }

    /// Cuts a TCP segment into such as fit; false: it is none.
    fn cut(&self, frame: &[u8], l2: usize, out: &mut Frames) -> bool {
        let Some(packet) = Packet::parse(&frame[l2..]) else { return false };
        let segment = packet.payload();
        let options = segment.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
        let heads = packet.header + options;
        let Some(payload) = packet.bytes.get(heads..) else { return false };
        if packet.protocol != ether::TCP || options < 20 || heads >= self.mtu {
            return false;
        }
        let pieces = payload.chunks(self.mtu - heads);
        let last = pieces.len() - 1;
        for (n, piece) in pieces.enumerate() {
            let l3 = packet.header;
            out.push_with(|buffer| {
                let start = buffer.len();
                buffer.extend_from_slice(&frame[..l2 + heads]);
                buffer.extend_from_slice(piece);
                let ip = &mut buffer[start + l2..];
                let total = ip.len();
                if packet.is_v6() {
                    put_u16(ip, IP6_LENGTH, (total - l3) as u16);
                } else {
                    put_u16(ip, IP_LENGTH, total as u16);
                    let id = u16::from_be_bytes([ip[IP_ID], ip[IP_ID + 1]]);
                    put_u16(ip, IP_ID, id.wrapping_add(n as u16));
                    put_u16(ip, IP_SUM, 0);
                    let sum = checksum(0, &ip[..l3]);
                    put_u16(ip, IP_SUM, sum);
                }
                let tcp = &mut ip[l3..];
                let seq: [u8; 4] = tcp[TCP_SEQ..TCP_SEQ + 4].try_into().expect("four bytes");
                let seq = u32::from_be_bytes(seq).wrapping_add((n * (self.mtu - heads)) as u32);
                tcp[TCP_SEQ..TCP_SEQ + 4].copy_from_slice(&seq.to_be_bytes());
                // The last one ends what the whole ended; the first one answers for its congestion.
                tcp[13] &= if n < last { !(FIN | PSH) } else { 0xFF };
                tcp[13] &= if n > 0 { !CWR } else { 0xFF };
                complete(&mut buffer[start..], l2, Sum::Half);
            });
        }
        true
    }
}

/// The frame with its VLAN's tag where it belongs.
fn join(frame: &[u8], tag: Option<[u8; TAG]>, out: &mut Vec<u8>) {
    out.extend_from_slice(&frame[..MACS]);
    out.extend(tag.into_iter().flatten());
    out.extend_from_slice(&frame[MACS..]);
}

/// Completes the checksum of a segment or datagram, and says whether it was to be completed.
fn complete(frame: &mut [u8], l2: usize, sum: Sum) -> bool {
    let Some((at, value)) = completed(frame, l2, sum) else { return false };
    put_u16(frame, at, value);
    true
}

fn completed(frame: &[u8], l2: usize, sum: Sum) -> Option<(usize, u16)> {
    let packet = Packet::parse(frame.get(l2..)?)?;
    let is_ip = u16_at(frame, l2 - 2)? == if packet.is_v6() { ether::IPV6 } else { ether::IPV4 };
    let is_fragment = !packet.is_v6() && u16_at(packet.bytes, 6)? & 0x3FFF != 0;
    if !is_ip || is_fragment {
        return None;
    }
    let field = match packet.protocol {
        ether::TCP => TCP_SUM,
        ether::UDP => UDP_SUM,
        _ => return None,
    };
    let payload = packet.payload();
    let stands = u16_at(payload, field)?;
    let pseudo = packet.pseudo_header(packet.protocol, payload.len());
    if sum == Sum::Unknown && stands != !checksum(pseudo, &[]) {
        return None;
    }
    // The field counts as zero: what stands there is taken out again.
    let sum = match checksum(pseudo + u32::from(!stands), payload) {
        0 if packet.protocol == ether::UDP => 0xFFFF, // 0 would mean "none"
        sum => sum,
    };
    Some((l2 + packet.header + field, sum))
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ether::{classify, ethertype, push_ethernet, push_ip, push_udp, Kind, Mac};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::net::{IpAddr, SocketAddr};

    const HERE: Mac = [2, 0, 0, 0, 0, 1];
    const CARD: Mac = [2, 0, 0, 0, 0, 2];

    fn ips(is_v6: bool) -> [IpAddr; 2] {
        if is_v6 {
            ["fd57:4b56::1", "fd57:4b56::2"].map(|ip| ip.parse().unwrap())
        } else {
            [[10, 77, 0, 1].into(), [10, 77, 0, 2].into()]
        }
    }

    /// A segment with the checksum as the kernel leaves it to the hardware.
    fn half_segment(is_v6: bool, flags: u8, options: usize, payload: &[u8]) -> Vec<u8> {
        let [from, to] = ips(is_v6);
        let mut tcp = vec![0x13, 0x88, 0x2B, 0xCB, 0xFF, 0xFF, 0xFF, 0x00, 9, 8, 7, 6];
        tcp.extend([(5 + options as u8) << 4, flags, 1, 0, 0, 0, 0, 0]);
        tcp.resize(20 + 4 * options, 1);
        tcp.extend(payload);
        let mut frame = Vec::new();
        push_ethernet(&mut frame, CARD, HERE, ethertype(to));
        push_ip(&mut frame, ether::TCP, from, to, &tcp);
        let packet = Packet::parse(&frame[14..]).unwrap();
        let pseudo = !checksum(packet.pseudo_header(ether::TCP, tcp.len()), &[]);
        let at = 14 + packet.header + TCP_SUM;
        put_u16(&mut frame, at, pseudo);
        frame
    }

    fn is_whole(frame: &[u8], l2: usize) -> bool {
        let packet = Packet::parse(&frame[l2..]).unwrap();
        let sum = packet.pseudo_header(packet.protocol, packet.payload().len());
        packet.header_is_intact() && checksum(sum, packet.payload()) == 0
    }

    fn taken(mtu: u16, frame: &[u8], tag: Option<[u8; 4]>, sum: Sum) -> (Vec<Vec<u8>>, Oversize) {
        let (mut whole, mut out) = (Whole::new(mtu), Frames::default());
        whole.take(frame, tag, sum, &mut out);
        (out.iter().map(<[u8]>::to_vec).collect(), whole.oversize)
    }

    #[test]
    fn half_sums_are_completed() {
        let mut rng = SmallRng::seed_from_u64(1);
        for (is_v6, sum) in
            [Sum::Half, Sum::Unknown].into_iter().flat_map(|s| [(false, s), (true, s)])
        {
            for len in [0, 1, 2, 3, 64, 999, 1400] {
                let payload: Vec<u8> = (0..len).map(|_| rng.random()).collect();
                let frame = half_segment(is_v6, 0x18, 3, &payload);
                assert!(!is_whole(&frame, 14));
                for tag in [None, Some([0x81, 0, 0, 5])] {
                    let (out, oversize) = taken(1500, &frame, tag, sum);
                    let l2 = if tag.is_some() { 18 } else { 14 };
                    assert!(out.len() == 1 && is_whole(&out[0], l2), "{len} {is_v6}");
                    assert_eq!(out[0].len(), frame.len() + l2 - 14);
                    assert_eq!(out[0][..12], frame[..12]);
                    assert_eq!(out[0][l2 - 2..l2 + 20], frame[12..34], "the IP header stays");
                    assert_eq!(oversize, Oversize::default());
                }
            }
        }
    }

    /// Also UDP whose sum comes out as zero, which stands as 0xFFFF.
    #[test]
    fn datagrams_are_completed_to_what_a_sender_computes() {
        let [from, to] = ips(false).map(|ip| SocketAddr::new(ip, 11211));
        let mut ones = 0;
        for n in 0..=0xFFFFu16 {
            let mut frame = Vec::new();
            push_ethernet(&mut frame, CARD, HERE, ether::IPV4);
            push_udp(&mut frame, from, to, &n.to_be_bytes());
            let mut half = frame.clone();
            let packet = Packet::parse(&frame[14..]).unwrap();
            let pseudo = !checksum(packet.pseudo_header(ether::UDP, 10), &[]);
            put_u16(&mut half, 14 + 20 + UDP_SUM, pseudo);
            assert!(complete(&mut half, 14, Sum::Unknown));
            assert_eq!(half, frame);
            ones += u32::from(frame[40..42] == [0xFF, 0xFF]);
        }
        assert_eq!(ones, 1);
    }

    #[test]
    fn what_is_whole_or_damaged_stays() {
        let whole =
            taken(1500, &half_segment(false, 0x10, 0, b"load"), None, Sum::Half).0.remove(0);
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(taken(1500, &bad, None, Sum::Unknown).0, [bad.clone()]);
        }
        for len in 14..whole.len() {
            assert_eq!(taken(1500, &whole[..len], None, Sum::Half).0, [&whole[..len]]);
        }
        let mut fragment = half_segment(false, 0x10, 0, b"load");
        fragment[20] = 0x20; // more follow: what looks like a sum may be none
        assert_eq!(taken(1500, &fragment, None, Sum::Half).0, [fragment.clone()]);
        assert_eq!(taken(1500, &whole[..13], None, Sum::Half).0.len(), 0);
    }

    #[test]
    fn large_segments_are_cut() {
        let mut rng = SmallRng::seed_from_u64(2);
        for (is_v6, options, mtu) in
            [(false, 0, 1500), (true, 3, 1500), (false, 3, 576), (true, 0, 9000)]
        {
            let payload: Vec<u8> = (0..60_001).map(|_| rng.random()).collect();
            let frame = half_segment(is_v6, FIN | PSH | CWR | 0x10, options, &payload);
            for tag in [None, Some([0x81, 0, 0, 5])] {
                let (out, oversize) = taken(mtu, &frame, tag, Sum::Unknown);
                assert_eq!(oversize, Oversize { cut: 1, dropped: 0 });
                let l2 = if tag.is_some() { 18 } else { 14 };
                let l3 = if is_v6 { 40 } else { 20 };
                let heads = l2 + l3 + 20 + 4 * options;
                let mut got = Vec::<u8>::new();
                for (n, piece) in out.iter().enumerate() {
                    assert!(is_whole(piece, l2) && piece.len() <= l2 + usize::from(mtu));
                    let seq =
                        u32::from_be_bytes(piece[l2 + l3 + 4..l2 + l3 + 8].try_into().unwrap());
                    assert_eq!(seq, 0xFFFF_FF00u32.wrapping_add(got.len() as u32));
                    let flags = piece[l2 + l3 + 13];
                    assert_eq!(flags & CWR != 0, n == 0);
                    assert_eq!(flags & (FIN | PSH) == FIN | PSH, n == out.len() - 1);
                    assert_eq!(flags & (FIN | PSH) == 0, n != out.len() - 1);
                    if !is_v6 {
                        assert_eq!(usize::from(u16_at(piece, l2 + IP_ID).unwrap()), n);
                    }
                    got.extend(&piece[heads..]);
                }
                assert_eq!(got, payload);
            }
        }
    }

    #[test]
    fn other_large_frames_are_counted() {
        let one = Oversize { cut: 0, dropped: 1 };
        let whole =
            taken(9000, &half_segment(false, 0x10, 0, &[7; 1461]), None, Sum::Half).0.remove(0);
        assert_eq!(
            taken(1500, &whole, None, Sum::Done),
            (vec![], one),
            "a wire's frame is not cut"
        );
        assert_eq!(taken(1500, &whole, None, Sum::Unknown), (vec![], one));
        let mut udp = Vec::new();
        push_ethernet(&mut udp, CARD, HERE, ether::IPV4);
        let [from, to] = ips(false).map(|ip| SocketAddr::new(ip, 11211));
        push_udp(&mut udp, from, to, &[7; 1473]);
        assert!(matches!(classify(&udp), Kind::Udp { .. }));
        assert_eq!(taken(1500, &udp, None, Sum::Half), (vec![], one));
        // What just fits does, with a tag too.
        let fits = &whole[..1514];
        assert_eq!(taken(1500, fits, Some([0x81, 0, 0, 5]), Sum::Done).0[0].len(), 1518);
    }
}
