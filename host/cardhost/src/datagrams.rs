//! Datagrams before another server: what gates have not answered of one is asked there, and goes back as frames of this
//! program's own, by the card's port for those.
//!
//! Some clients of the server are kept for that, which have one datagram at a time. So a datagram waits for those before it
//! alone, and 256 at most wait.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use wirekv_memcache::binary;
use wirekv_memcache::udp::{self, Errors};
use wirekv_net::{ether, Addresses};
use wirekv_upstream::Tag;

const BEAT: usize = 64;
/// Clients of the server, for text and for the binary protocol.
const EACH: u8 = 8;
const WAITING: usize = 256;
/// Of a tag that is no connection's, byte 3.
const MARK: u8 = 0x80;
/// Longest datagrams, memcached's frame header included.
const OVER_IP4: usize = udp::DATAGRAM;
const OVER_IP6: usize = 1224;

/// A datagram, and who has sent it.
#[derive(Debug, PartialEq, Eq)]
pub struct Datagram {
    mac: [u8; 6],
    vlan: Option<u16>,
    from: SocketAddr,
    to: IpAddr,
    id: [u8; 2],
    /// What is left to be answered, and what it goes on with, see `Request::goes_on`.
    pub text: Vec<u8>,
    pub goes_on: u8,
}

impl Datagram {
    /// A packet of `rtl/host/dgram_queue.sv`; None: it is none, or nobody can be answered.
    fn parse(packet: &[u8], ours: &Addresses) -> Option<Datagram> {
        let (head, data) = packet.split_at_checked(BEAT)?;
        let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let data = data.get(..number(12))?;
        let text = data.get(udp::HEADER + number(8)..)?;
        let mut mac: [u8; 6] = head[16..22].try_into().ok()?;
        mac.reverse();
        let mut ip: [u8; 16] = head[32..48].try_into().ok()?;
        ip.reverse();
        let (ip, to) = match usize::from(head[25] & 3) {
            0 => (Ipv4Addr::from(<[u8; 4]>::try_from(&ip[12..]).ok()?).into(), ours.card_ips()[0]),
            which => (Ipv6Addr::from(ip).into(), *ours.card_ips().get(which)?),
        };
        Some(Datagram {
            mac,
            vlan: (head[24] & 1 != 0).then(|| u16::from_le_bytes([head[22], head[23]])),
            from: SocketAddr::new(ip, number(26) as u16),
            to,
            id: [data[0], data[1]],
            text: text.to_vec(),
            goes_on: head[7] & 3,
        })
    }

    fn is_binary(&self) -> bool {
        self.text.first() == Some(&binary::REQUEST)
    }

    /// One message of memcached's, in as many datagrams as it takes.
    fn message(&self, answer: &[u8]) -> Vec<Vec<u8>> {
        let longest = if self.to.is_ipv4() { OVER_IP4 } else { OVER_IP6 } - udp::HEADER;
        let is_too_large = answer.len().div_ceil(longest) > udp::ANSWER;
        let parts = if is_too_large { udp::TOO_LARGE } else { answer }.chunks(longest);
        let total = parts.len();
        let datagram = |(n, text): (_, &[u8])| [&udp::header(self.id, n, total), text].concat();
        parts.enumerate().map(datagram).collect()
    }

    fn frame(&self, datagram: &[u8], ours: &Addresses) -> Vec<u8> {
        let mut frame = Vec::with_capacity(datagram.len() + 2 * BEAT);
        let ethertype = ether::ethertype(self.to);
        match self.vlan {
            Some(tag) => {
                ether::push_ethernet(&mut frame, self.mac, ours.card_mac, ether::VLAN);
                frame.extend(tag.to_be_bytes());
                frame.extend(ethertype.to_be_bytes());
            }
            None => ether::push_ethernet(&mut frame, self.mac, ours.card_mac, ethertype),
        }
        let from = SocketAddr::new(self.to, ours.card_udp_port);
        ether::push_udp(&mut frame, from, self.from, datagram);
        frame
    }
}

/// Those that wait, and those that are being answered.
pub struct Datagrams {
    ours: Addresses,
    waiting: VecDeque<Datagram>,
    /// Clients of the server that have nothing to do.
    free: Vec<Tag>,
    busy: HashMap<Tag, (Datagram, Vec<u8>)>,
    errors: Errors,
    /// Those that found no room.
    pub lost: u64,
}

impl Datagrams {
    pub fn new(ours: Addresses, now: Instant) -> Datagrams {
        let free = (0..2 * EACH).map(|n| [n, 0, 0, MARK]).collect();
        let (waiting, busy) = (VecDeque::new(), HashMap::new());
        let errors = Errors::new(vec![ours.card_tcp_port, ours.card_udp_port], now);
        Datagrams { ours, waiting, free, busy, errors, lost: 0 }
    }

    /// Whether a packet of the punt queue is a datagram, and a tag is of one.
    pub fn is_one(packet: &[u8]) -> bool {
        packet.get(3).is_some_and(|byte| byte & MARK != 0)
    }

    pub fn is_mine(tag: Tag) -> bool {
        tag[3] & MARK != 0
    }

    pub fn take(&mut self, packet: &[u8]) {
        match Datagram::parse(packet, &self.ours) {
            Some(datagram) if self.waiting.len() < WAITING => self.waiting.push_back(datagram),
            _ => self.lost += 1,
        }
    }

    /// The next one to be asked for, if somebody is free for it.
    pub fn next(&mut self) -> Option<(Tag, &Datagram)> {
        let is_binary = self.waiting.front()?.is_binary();
        let at = self.free.iter().position(|tag| (tag[0] < EACH) == is_binary)?;
        let (tag, datagram) = (self.free.swap_remove(at), self.waiting.pop_front()?);
        let (datagram, _) = self.busy.entry(tag).or_insert((datagram, Vec::new()));
        Some((tag, datagram))
    }

    /// A piece of the server's answer. With the last one, the frames that say it.
    pub fn answer(&mut self, tag: Tag, text: &[u8], last: bool, now: Instant) -> Vec<Vec<u8>> {
        let Some((_, answer)) = self.busy.get_mut(&tag) else { return Vec::new() };
        answer.extend_from_slice(text);
        if !last {
            return Vec::new();
        }
        let Some((datagram, answer)) = self.busy.remove(&tag) else { return Vec::new() };
        self.free.push(tag);
        let message = datagram.message(&answer);
        if message.first().is_some_and(|first| udp::is_error(first)) {
            let errors = &mut self.errors;
            if errors.is_service(datagram.from.port()) || !errors.take(now) {
                return Vec::new();
            }
        }
        message.iter().map(|part| datagram.frame(part, &self.ours)).collect()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The card's.
    pub fn ours() -> Addresses {
        Addresses {
            card_mac: [2, 0, 0, 0, 0, 1],
            card_ip: Ipv4Addr::new(10, 77, 0, 2),
            card_ip6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
            card_tcp_port: 11211,
            card_redis_port: 0,
            card_udp_port: 11211,
            mtu: 1500,
        }
    }

    /// As the card makes it.
    fn packet(ours: u8, ip: IpAddr, at: u16, row: u8, text: &[u8]) -> Vec<u8> {
        let data = [&[7, 9, 0, 0, 0, 1, 0, 0], text].concat();
        let mut head = vec![0; BEAT];
        head[3] = 0x80;
        head[5] = 0x11;
        head[7] = row;
        head[8..10].copy_from_slice(&at.to_le_bytes());
        head[12..14].copy_from_slice(&(data.len() as u16).to_le_bytes());
        head[16..22].copy_from_slice(&[6, 5, 4, 3, 2, 2]);
        head[25] = ours;
        head[26..28].copy_from_slice(&2000u16.to_le_bytes());
        let number = match ip {
            IpAddr::V4(ip) => u128::from(u32::from(ip)),
            IpAddr::V6(ip) => u128::from(ip),
        };
        head[32..48].copy_from_slice(&number.to_le_bytes());
        [head, data].concat()
    }

    #[test]
    fn an_answer_goes_back_where_the_question_came_from() {
        let now = Instant::now();
        let four = IpAddr::from([10, 77, 0, 1]);
        let six = IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, 7]);
        for (which, ip) in [(0, four), (1, six), (2, six)] {
            let mut all = Datagrams::new(ours(), now);
            all.take(&packet(which, ip, 6, 1, b"get a b\r\n"));
            let (tag, datagram) = all.next().unwrap();
            assert_eq!((&datagram.text[..], datagram.goes_on), (&b"b\r\n"[..], 1));
            assert!(Datagrams::is_mine(tag) && all.next().is_none());
            assert!(all.answer(tag, &[b'x'; 3000], false, now).is_empty());
            let frames = all.answer(tag, b"END\r\n", true, now);
            assert_eq!(frames.len(), 3);
            let mut text = Vec::new();
            for (n, frame) in frames.iter().enumerate() {
                assert_eq!(frame[..12], [2, 2, 3, 4, 5, 6, 2, 0, 0, 0, 0, 1]);
                let ether::Kind::Udp { from, to, payload, .. } = ether::classify(frame) else {
                    panic!("no datagram with sound sums");
                };
                assert_eq!(
                    (from.ip(), from.port()),
                    (ours().card_ips()[usize::from(which)], 11211)
                );
                assert_eq!(to, SocketAddr::new(ip, 2000));
                assert_eq!(payload[..8], [7, 9, 0, n as u8, 0, 3, 0, 0]);
                text.extend_from_slice(&payload[8..]);
            }
            assert_eq!(text, [&[b'x'; 3000][..], b"END\r\n"].concat());
        }
    }

    #[test]
    fn those_that_wait_are_bounded_and_in_turn() {
        let now = Instant::now();
        let mut all = Datagrams::new(ours(), now);
        let ip = IpAddr::from([10, 77, 0, 1]);
        for n in 0..300 {
            all.take(&packet(0, ip, 0, 0, format!("get {n}\r\n").as_bytes()));
        }
        assert_eq!(all.lost, 300 - WAITING as u64);
        let mut seen = 0;
        while let Some((tag, datagram)) = all.next() {
            assert_eq!(datagram.text, format!("get {seen}\r\n").as_bytes());
            seen += 1;
            if seen > usize::from(EACH) {
                all.answer(tag, b"", true, now);
            } else if seen == usize::from(EACH) {
                assert!(all.next().is_none());
                all.answer(tag, b"END\r\n", true, now);
            }
        }
        assert_eq!(seen, WAITING);
    }

    #[test]
    fn errors_are_limited() {
        let now = Instant::now();
        let mut all = Datagrams::new(ours(), now);
        let ip = IpAddr::from([10, 77, 0, 1]);
        let mut sent = 0;
        for _ in 0..100 {
            all.take(&packet(0, ip, 0, 0, b"x\r\n"));
            let (tag, _) = all.next().unwrap();
            sent += all.answer(tag, b"ERROR\r\n", true, now).len();
        }
        assert_eq!(sent, 50);
        assert!(Datagram::parse(&packet(3, ip, 0, 0, b"x"), &ours()).is_none());
        assert!(Datagram::parse(&packet(0, ip, 9, 0, b"x"), &ours()).is_none());
        assert!(Datagram::parse(&[0; 63], &ours()).is_none());
    }
}
