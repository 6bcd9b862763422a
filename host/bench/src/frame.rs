//! Ethernet frames of the bench's clients: built with right checksums, taken apart with a check of
//! every checksum.

use std::net::{Ipv4Addr, SocketAddrV4};

use anyhow::{bail, ensure, Context, Result};

pub const CARD_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const CARD_IP: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub const PORT: u16 = 11211;
pub const REDIS_PORT: u16 = 6379;

const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: u8 = 17;
const TCP: u8 = 6;

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;

/// Bytes that a frame (given without FCS) takes on the wire: preamble, padding, FCS and gap count.
pub fn wire_bytes(frame: &[u8]) -> u64 {
    (frame.len() as u64).max(60) + 24
}

/// Of a frame of a client.
pub fn source_port(frame: &[u8]) -> u16 {
    u16_at(frame, ETHERNET + IP)
}

#[derive(Default)]
pub struct Segment<'a> {
    /// The card's end.
    pub port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    /// Shift of a SYN's window-scale option.
    pub scale: Option<u8>,
    /// Timestamps: TSval, TSecr.
    pub times: Option<(u32, u32)>,
    pub payload: &'a [u8],
}

pub enum Packet<'a> {
    Udp(&'a [u8]),
    Tcp(Segment<'a>),
}

fn sum(start: u32, bytes: &[u8]) -> u32 {
    let mut sum = start;
    for w in bytes.chunks(2) {
        sum += u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0));
    }
    sum
}

fn fold(mut sum: u32) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// Makes the checksum of an IPv4 header.
fn seal_ip(header: &mut [u8]) {
    header[10..12].fill(0);
    let check = fold(sum(0, header)).to_be_bytes();
    header[10..12].copy_from_slice(&check);
}

/// Ethernet and IPv4 headers around `body`, and the checksum at `check` of the body.
fn frame(from: Ipv4Addr, protocol: u8, body: &[u8], check: usize) -> Vec<u8> {
    let mut f = Vec::with_capacity(ETHERNET + IP + body.len());
    f.extend(CARD_MAC);
    let o = from.octets();
    f.extend([2, 1, o[0], o[1], o[2], o[3]]);
    f.extend([8, 0, 0x45, 0]);
    f.extend(((IP + body.len()) as u16).to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    f.extend(from.octets());
    f.extend(CARD_IP.octets());
    seal_ip(&mut f[ETHERNET..]);
    let pseudo = sum(u32::from(protocol) + body.len() as u32, &f[ETHERNET + 12..]);
    let body_sum = match fold(sum(pseudo, body)) {
        0 if protocol == UDP => 0xFFFF, // 0 would mean "none"
        s => s,
    };
    let start = f.len();
    f.extend(body);
    f[start + check..start + check + 2].copy_from_slice(&body_sum.to_be_bytes());
    f
}

pub fn udp(from: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + payload.len());
    body.extend(from.port().to_be_bytes());
    body.extend(PORT.to_be_bytes());
    body.extend(((8 + payload.len()) as u16).to_be_bytes());
    body.extend([0, 0]);
    body.extend(payload);
    frame(*from.ip(), UDP, &body, 6)
}

/// The first fragment of a datagram.
pub fn fragment(from: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    const MORE_FRAGMENTS: u8 = 0x20;
    let mut f = udp(from, payload);
    f[ETHERNET + 6] = MORE_FRAGMENTS;
    seal_ip(&mut f[ETHERNET..ETHERNET + IP]);
    f
}

/// A SYN (`scale` given) also carries an MSS of 1,460.
pub fn tcp(from: SocketAddrV4, s: &Segment) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some((value, echo)) = s.times {
        options.extend([1, 1, 8, 10]);
        options.extend(value.to_be_bytes());
        options.extend(echo.to_be_bytes());
    }
    if let Some(scale) = s.scale {
        let mss = [(1460u16 >> 8) as u8, 1460u16 as u8];
        options.extend([2, 4, mss[0], mss[1], 1, 3, 3, scale]);
    }
    with_options(from, s, &options)
}

/// `options`: a multiple of four bytes, 40 at most.
pub fn with_options(from: SocketAddrV4, s: &Segment, options: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(20 + options.len() + s.payload.len());
    body.extend(from.port().to_be_bytes());
    body.extend(s.port.to_be_bytes());
    body.extend(s.seq.to_be_bytes());
    body.extend(s.ack.to_be_bytes());
    body.extend([((5 + options.len() / 4) << 4) as u8, s.flags]);
    body.extend(s.window.to_be_bytes());
    body.extend([0, 0, 0, 0]);
    body.extend(options);
    body.extend(s.payload);
    frame(*from.ip(), TCP, &body, 16)
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([b[at], b[at + 1]])
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(b[at..at + 4].try_into().unwrap())
}

/// A frame from the card and whom it is for; None for frames that are neither UDP nor TCP.
pub fn parse(f: &[u8]) -> Result<Option<(SocketAddrV4, Packet<'_>)>> {
    ensure!(f.len() >= 60, "a frame of {} bytes", f.len());
    if f[12..14] != [8, 0] {
        return Ok(None);
    }
    let ip = &f[ETHERNET..];
    ensure!(ip[0] == 0x45 && fold(sum(0, &ip[..IP])) == 0, "bad IP header");
    let len = usize::from(u16_at(ip, 2));
    let body = ip.get(IP..len).context("the frame is shorter than its IP packet")?;
    let pseudo = sum(u32::from(ip[9]) + body.len() as u32, &ip[12..20]);
    ensure!(fold(sum(pseudo, body)) == 0, "bad checksum");
    let to = SocketAddrV4::new(Ipv4Addr::from(u32_at(ip, 16)), u16_at(body, 2));
    let octets = to.ip().octets();
    ensure!(f[..6] == [2, 1, octets[0], octets[1], octets[2], octets[3]], "wrong MAC");
    let packet = match ip[9] {
        UDP => {
            ensure!(usize::from(u16_at(body, 4)) == body.len(), "bad UDP length");
            Packet::Udp(&body[8..])
        }
        TCP => {
            let offset = usize::from(body[12] >> 4) * 4;
            let mut options = body.get(20..offset).context("bad data offset")?;
            let (mut scale, mut times) = (None, None);
            while let [kind, rest @ ..] = options {
                options = match (kind, rest) {
                    (0, _) => &[],
                    (1, _) => rest,
                    (3, [3, shift, rest @ ..]) => {
                        scale = Some(*shift);
                        rest
                    }
                    (8, [10, rest @ ..]) if rest.len() >= 8 => {
                        times = Some((u32_at(rest, 0), u32_at(rest, 4)));
                        &rest[8..]
                    }
                    (_, [n, ..]) if *n >= 2 => options.get(usize::from(*n)..).context("options")?,
                    _ => bail!("bad TCP options"),
                };
            }
            Packet::Tcp(Segment {
                port: u16_at(body, 0),
                seq: u32_at(body, 4),
                ack: u32_at(body, 8),
                flags: body[13],
                window: u16_at(body, 14),
                scale,
                times,
                payload: &body[offset..],
            })
        }
        _ => return Ok(None),
    };
    Ok(Some((to, packet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 1, 9), 20_008);

    /// The same frame as the card would send it: addresses and ports the other way round, which
    /// leaves the checksums right.
    fn back(frame: &[u8]) -> Vec<u8> {
        let mut f = frame.to_vec();
        f[..6].copy_from_slice(&frame[6..12]);
        f[6..12].copy_from_slice(&frame[..6]);
        f[26..30].copy_from_slice(&frame[30..34]);
        f[30..34].copy_from_slice(&frame[26..30]);
        f[34..36].copy_from_slice(&frame[36..38]);
        f[36..38].copy_from_slice(&frame[34..36]);
        f.resize(f.len().max(60), 0);
        f
    }

    #[test]
    fn udp_round_trip_and_damage() {
        let good = back(&udp(ME, b"12345678get k\r\n"));
        let Some((to, Packet::Udp(payload))) = parse(&good).unwrap() else { panic!("no UDP") };
        assert_eq!((to, payload), (ME, &b"12345678get k\r\n"[..]));
        for byte in 14..57 {
            let mut bad = good.clone();
            bad[byte] ^= 4;
            assert!(parse(&bad).is_err(), "byte {byte}");
        }
    }

    #[test]
    fn tcp_round_trip() {
        for scale in [None, Some(7)] {
            let s = Segment {
                port: PORT,
                seq: 0xFFFF_FF00,
                ack: 0x0102_0304,
                flags: ACK | PSH,
                window: 0xABCD,
                scale,
                times: scale.map(|s| (u32::from(s), 0xFFFF_FFFF)),
                payload: b"get k\r\n",
            };
            let frame = back(&tcp(ME, &s));
            let Some((to, Packet::Tcp(got))) = parse(&frame).unwrap() else { panic!("no TCP") };
            assert_eq!((to, got.seq, got.ack, got.flags), (ME, s.seq, s.ack, s.flags));
            assert_eq!((got.window, got.scale, got.payload), (s.window, scale, s.payload));
        }
    }

    #[test]
    fn wire_time() {
        assert_eq!(wire_bytes(&[0; 42]), 84);
        assert_eq!(wire_bytes(&[0; 1514]), 1538);
    }
}
