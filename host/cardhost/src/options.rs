//! What the program around this was told.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use wirekv_net::Strangers;

/// What the card was set to, as far as clients ask for it: `stats settings`, `INFO`, `CONFIG GET`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the card's memory for items and their index.
    pub memory: u64,
    /// Bytes of the largest item, in memcached's measure (`-I`).
    pub item_max: u64,
    /// Buckets of the card's index, as a power of two ([`wirekv_card::Layout`]).
    pub index_bits: u32,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Frames to and from the card pass this program.
    pub carries: bool,
    /// Connections at once, of all protocols.
    pub max_conns: u32,
    /// Where memcached's clients are served.
    pub address: IpAddr,
    /// memcached's protocols over TCP.
    pub tcp_port: u16,
    /// And over UDP; 0: off.
    pub udp_port: u16,
    /// Redis' protocol; 0: off.
    pub redis_port: u16,
    /// Where Redis' clients are served, as the user has written it.
    pub bind: String,
    /// It is known where clients come from.
    pub knows_peers: bool,
    /// Seconds without a request after which a connection is closed; 0: never.
    pub idle_timeout: u32,
    /// Those who came and are not served.
    pub strangers: Arc<Strangers>,
    /// How much is logged (`-v`).
    pub verbosity: u8,
}

/// Those of a card of 64 MiB that serves nobody.
impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 64 << 20,
            item_max: 1 << 20,
            index_bits: 17,
            log_bytes: 48 << 20,
            carries: true,
            max_conns: 1024,
            address: Ipv4Addr::LOCALHOST.into(),
            tcp_port: 0,
            udp_port: 0,
            redis_port: 0,
            bind: Ipv4Addr::LOCALHOST.to_string(),
            knows_peers: false,
            idle_timeout: 0,
            strangers: Arc::default(),
            verbosity: 0,
        }
    }
}
