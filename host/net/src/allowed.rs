//! Who is served, by address (`--allow`).

use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use ipnet::IpNet;

use crate::ether::{self, u16_at, Packet};

/// Who came and is not listed.
#[derive(Debug, Default)]
pub struct Strangers {
    /// Connections; where frames are looked at, segments.
    pub connections: AtomicU64,
    pub datagrams: AtomicU64,
}

/// Networks whose clients are served; of none: all.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    networks: Vec<IpNet>,
    pub strangers: Arc<Strangers>,
}

impl Allowed {
    pub fn new(networks: Vec<IpNet>) -> Allowed {
        Allowed { networks, strangers: Arc::default() }
    }

    pub fn holds(&self, from: IpAddr) -> bool {
        let from = from.to_canonical();
        self.networks.is_empty() || self.networks.iter().any(|network| network.contains(&from))
    }

    /// Whether a connection from there is served. Counts it if not.
    pub fn admits(&self, from: IpAddr) -> bool {
        self.holds(from) || count(&self.strangers.connections)
    }

    /// The same of a datagram.
    pub fn admits_datagram(&self, from: IpAddr) -> bool {
        self.holds(from) || count(&self.strangers.datagrams)
    }

    /// Whether a frame may come to the card: not TCP and UDP of those who are not served.
    pub fn admits_frame(&self, frame: &[u8]) -> bool {
        if self.networks.is_empty() {
            return true;
        }
        let l2 = if u16_at(frame, 12) == Some(ether::VLAN) { 18 } else { 14 };
        let is_ip = matches!(u16_at(frame, l2 - 2), Some(ether::IPV4 | ether::IPV6));
        let Some(packet) = frame.get(l2..).and_then(Packet::parse).filter(|_| is_ip) else {
            // Another protocol, or a packet that is cut, which the card drops.
            return true;
        };
        match packet.protocol {
            ether::TCP => self.admits(packet.source()),
            ether::UDP => self.admits_datagram(packet.source()),
            _ => true,
        }
    }
}

fn count(strangers: &AtomicU64) -> bool {
    strangers.fetch_add(1, Relaxed);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: bool, ethertype: u16, protocol: u8, from: [u8; 4]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        if tag {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend(ethertype.to_be_bytes());
        frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0]);
        frame.extend(from);
        frame.extend([10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        frame
    }

    #[test]
    fn frames() {
        let allowed =
            Allowed::new(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        let all = Allowed::default();
        for tag in [false, true] {
            for (ethertype, protocol, from, passes) in [
                (ether::IPV4, ether::TCP, [10, 9, 8, 7], true),
                (ether::IPV4, ether::TCP, [11, 9, 8, 7], false),
                (ether::IPV4, ether::UDP, [10, 9, 8, 7], true),
                (ether::IPV4, ether::UDP, [9, 9, 8, 7], false),
                (ether::IPV4, ether::ICMP, [9, 9, 8, 7], true),
                (0x0806, ether::TCP, [9, 9, 8, 7], true),
            ] {
                let frame = frame(tag, ethertype, protocol, from);
                assert_eq!(
                    allowed.admits_frame(&frame),
                    passes,
                    "{ethertype:x} {protocol} {from:?}"
                );
                assert!(all.admits_frame(&frame));
            }
        }
        let counts = &allowed.strangers;
        assert_eq!((counts.connections.load(Relaxed), counts.datagrams.load(Relaxed)), (2, 2));
    }

    #[test]
    fn mapped_addresses() {
        let allowed = Allowed::new(vec!["10.0.0.0/8".parse().unwrap()]);
        assert!(allowed.admits("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!allowed.admits("::10.1.2.3".parse().unwrap()));
        assert!(!allowed.admits_datagram("fd00::1".parse().unwrap()));
    }
}
