//! Frames of a memcached client over UDP, for the bench and for tests.

use crate::Config;

/// What stands in front of a datagram's text: Ethernet, IPv4, UDP, memcached's header.
pub const HEADERS: usize = 14 + 20 + 8 + 8;
const CLIENT: ([u8; 6], [u8; 4], u16) = ([2, 0, 0, 0, 0, 1], [10, 77, 0, 1], 40_000);

fn sum(parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> = parts.concat();
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let total: u32 = words.sum();
    let folded = (total & 0xFFFF) + (total >> 16);
    !((folded + (folded >> 16)) as u16)
}

/// A request's frame, to a machine of the default addresses.
pub fn request(id: u16, text: &[u8]) -> Vec<u8> {
    let to = Config::default();
    let udp_length = (8 + 8 + text.len()) as u16;
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    ip[2..4].copy_from_slice(&(20 + udp_length).to_be_bytes());
    ip.extend(CLIENT.1);
    ip.extend(to.ip);
    let header = sum(&[&ip]);
    ip[10..12].copy_from_slice(&header.to_be_bytes());
    let mut udp =
        [CLIENT.2.to_be_bytes(), to.port.to_be_bytes(), udp_length.to_be_bytes(), [0, 0]].concat();
    udp.extend(id.to_be_bytes());
    udp.extend([0, 0, 0, 1, 0, 0]);
    udp.extend(text);
    let pseudo = [0, 17, (udp_length >> 8) as u8, udp_length as u8];
    let check = sum(&[&ip[12..], &pseudo, &udp]);
    udp[6..8].copy_from_slice(&check.to_be_bytes());
    [&to.mac[..], &CLIENT.0, &[8, 0], &ip, &udp].concat()
}

/// The text of an answer's frame, without its padding.
pub fn text(frame: &[u8]) -> &[u8] {
    let length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
    &frame[HEADERS..34 + length]
}
