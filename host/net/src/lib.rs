//! The networks that carry frames between clients and a card.
//!
//! A network runs in its own thread and meets the card's thread at a [`Link`]. What the link's
//! [`Wire`] does to frames on the way (capture, damage) happens on the card's side.

mod afxdp;
mod allowed;
mod bpf;
#[cfg(feature = "dpdk")]
mod dpdk;
pub mod ether;
mod ethtool;
mod frames;
mod ifreq;
mod impair;
mod interface;
mod link;
mod packet;
mod pcap;
mod refuse;
mod ring;
mod steer;
mod tap;
mod user;
mod whole;
mod wire;
mod xsk;

pub use afxdp::AfXdp;
pub use allowed::{Allowed, Strangers};
#[cfg(feature = "dpdk")]
pub use dpdk::{Dpdk, DpdkPort};
pub use frames::Frames;
pub use impair::Impair;
pub use interface::{own_mac, Found, Own};
pub use link::{CardEnd, Link, NetEnd};
pub use packet::Packet;
pub use pcap::Pcap;
pub use refuse::{Refused, Refuser};
pub use tap::Tap;
pub use user::{Denies, User, UserConfig};
pub use whole::Oversize;
pub use wire::{Wire, WireCounts};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of both ends of the wire. The host's are in the card's subnets.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub card_mac: [u8; 6],
    pub card_ip: Ipv4Addr,
    pub card_ip6: Ipv6Addr,
    pub card_tcp_port: u16,
    /// Of Redis' protocol; 0: off.
    pub card_redis_port: u16,
    pub card_udp_port: u16,
    pub mtu: u16,
}

impl Addresses {
    /// All of the card's: that of IPv4, IPv6's of the link and in the subnet.
    pub fn card_ips(&self) -> [IpAddr; 3] {
        [self.card_ip.into(), ether::link_local(self.card_mac).into(), self.card_ip6.into()]
    }
}

/// What became of frames between an interface and the card's link.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetCounts {
    /// Those larger than the MTU.
    pub oversize: Oversize,
    /// Frames for the card that found no room in the ring.
    pub no_room: u64,
    /// Frames that the interface found damaged, where it says so.
    pub damaged: u64,
    /// Frames of the card that the interface did not take.
    pub unsent: u64,
}
