//! What a server can be told at start.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use wirekv_proto::Protocol;

/// Bytes of key and value that items have on average beyond the smallest ones: with memcached's
/// default the index suits items of 88.
pub const MEAN_OVER_LEAST: usize = 40;

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
    pub allowed: Vec<IpNet>,
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
            || self.access.allowed.iter().any(|net| net.contains(&address.to_canonical()))
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
