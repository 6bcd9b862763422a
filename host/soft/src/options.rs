//! What a server can be told at start.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use wirekv_proto::Protocol;

/// Bytes of key and value that items have on average beyond the smallest ones: with memcached's
/// default the index suits items of 88.
pub const MEAN_OVER_LEAST: usize = 40;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

impl Network {
    pub fn holds(&self, address: IpAddr) -> bool {
        let bits = u32::from(self.bits);
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                ((a.to_bits() ^ b.to_bits()).leading_zeros()).min(32) >= bits
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= bits,
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    /// `10.0.0.0/8`, `fd00::/8`, or an address alone.
    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("'{text}' is no address or network such as 10.0.0.0/8 or fd00::/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(wrong());
        }
        let rest = match first {
            IpAddr::V4(address) => address.to_bits().checked_shl(bits.into()).unwrap_or(0) != 0,
            IpAddr::V6(address) => address.to_bits().checked_shl(bits.into()).unwrap_or(0) != 0,
        };
        if rest {
            return Err(format!("'{text}': behind its first {bits} bits a network's address is 0"));
        }
        Ok(Network { first, bits })
    }
}

/// Which certificates clients must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    No,
    IfGiven,
    Yes,
}

/// Where TLS is spoken, and with what.
#[derive(Clone, Debug)]
pub struct Secure {
    pub addresses: Vec<SocketAddr>,
    /// Files in PEM. Without `key` that is in `chain`, too.
    pub chain: PathBuf,
    pub key: Option<PathBuf>,
    /// Who signs the certificates of clients.
    pub authorities: Option<PathBuf>,
    pub verify: Verify,
    /// Not even TLS 1.2.
    pub only_13: bool,
    /// Clients may go on with earlier sessions.
    pub sessions: bool,
    /// Bytes of replies that are encrypted at a time; as many wait for a client that takes none.
    pub piece: usize,
}

/// Bytes of replies that are encrypted at a time: memcached's default, and a record's most.
pub const PIECE: usize = 16 << 10;

/// Who may come in, and where over TLS; by itself anybody, and nowhere.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// A file of who clients of all protocols must be (`-Y`), each of whom they say first.
    pub users: Option<PathBuf>,
    /// They may say it in the binary protocol (`-S`).
    pub sasl: bool,
    /// Who clients must be, whatever they speak and wherever it is spoken but on UNIX domain sockets; empty: anybody.
    pub allowed: Vec<Network>,
    /// A file with what Redis' clients must say first, in place of `password`.
    pub password_file: Option<PathBuf>,
    /// Other addresses for each of the protocols, where it is spoken over TLS.
    pub tls: Option<Secure>,
    pub redis_tls: Option<Secure>,
}

/// The options of a server; memcached's flags in parentheses.
#[derive(Clone, Debug)]
pub struct Options {
    pub tcp: Vec<SocketAddr>,
    pub udp: Vec<SocketAddr>,
    /// Where Redis' protocol is spoken.
    pub redis: Vec<SocketAddr>,
    /// A UNIX domain socket and its access mode; without TCP and UDP then.
    pub unix: Option<(PathBuf, u32)>,
    /// Another one, for Redis' protocol.
    pub unix_redis: Option<(PathBuf, u32)>,
    pub access: Access,
    /// What Redis' clients must say first; empty: nothing.
    pub password: Vec<u8>,
    /// While there is none, those of other machines are sent away.
    pub protected: bool,
    /// They may use DEBUG.
    pub debug: bool,
    /// Bytes: everything that is resident.
    pub memory: usize,
    /// A file that items are in, so that they outlive the process (`-e`).
    pub file: Option<PathBuf>,
    /// All of it from the start (`-L`).
    pub resident: bool,
    /// Largest item, bytes (`-I`).
    pub item_max: usize,
    /// Bytes of key, value and flags that the smallest items have (`-n`).
    pub least_item: usize,
    pub threads: usize,
    pub max_conns: usize,
    /// Connections that the kernel may hold until they are accepted.
    pub backlog: i32,
    pub protocol: Protocol,
    /// Bytes of lines that wait for a client that watches; 0: nobody may (`-W`).
    pub watch_buffer: usize,
    /// Requests of one connection that are served before others have their turn (`-R`).
    pub batch: usize,
    /// How long a thread whose work comes within this time looks for more before it sleeps.
    pub busy_poll: Duration,
    /// Seconds after which a silent connection is closed.
    pub idle_timeout: Option<u32>,
    /// Seconds of silence after which the kernel asks whether a client is still there.
    pub keep_alive: Option<u16>,
    /// `lru_crawler` lists keys.
    pub crawler: bool,
    /// `shutdown` is obeyed.
    pub shutdown: bool,
    pub cas: bool,
    /// Evict when memory is full; otherwise refuse.
    pub evict: bool,
    /// `flush_all` is obeyed.
    pub flush: bool,
    /// What stands between a key's prefix and the rest, if commands are counted by prefix from the start (`-D`).
    pub delimiter: Option<u8>,
    pub verbosity: u32,
    /// Where Prometheus metrics are served.
    pub metrics: Option<SocketAddr>,
}

impl Options {
    /// Whether clients may come from there.
    #[inline]
    pub fn allows(&self, address: IpAddr) -> bool {
        self.access.allowed.is_empty()
            || self.access.allowed.iter().any(|network| network.holds(address))
    }

    /// Where memcached's protocols are spoken over TCP, first without TLS.
    pub fn memcached(&self) -> impl Iterator<Item = &SocketAddr> {
        self.tcp.iter().chain(self.access.tls.iter().flat_map(|secure| &secure.addresses))
    }

    /// Files that such a server has open at most.
    pub fn files(&self) -> u64 {
        // Event loop, waker, io_uring, and a connection that is being closed or refused.
        const THREAD: usize = 4;
        // Standard streams, metrics, and what the process was given by who started it.
        const MORE: usize = 32;
        let unix = usize::from(self.unix.is_some()) + usize::from(self.unix_redis.is_some());
        let tls: usize = [&self.access.tls, &self.access.redis_tls]
            .into_iter()
            .flatten()
            .map(|secure| secure.addresses.len())
            .sum();
        let listeners = self.tcp.len() + self.redis.len() + self.udp.len() + tls + unix;
        (self.max_conns + listeners + (self.threads + 1) * THREAD + MORE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.0"),
            ("192.0.2.128/25", "192.0.2.255", "192.0.2.127"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "ffff::", "1.2.3.4"),
            ("fd00::/8", "fdff::1", "fc00::"),
            ("::1", "::1", "::2"),
            ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.holds(inside.parse().unwrap()), "{network:?} {inside}");
            assert!(!network.holds(outside.parse().unwrap()), "{network:?} {outside}");
        }
        for wrong in
            ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8", "fd00::1/64", "::/129", "a", "/8"]
        {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }
}
