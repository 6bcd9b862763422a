//! Sockets to listen on, and the thread that accepts connections and keeps the time.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use mio::net::{TcpListener, UdpSocket, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use wirekv_log::{debug, info, Text};
use wirekv_proto::users;
use wirekv_resp::{Client, Common, Shown};

use crate::conn::{Conn, Peer, Stream};
use crate::dialect::{Either, Session};
use crate::keys::Keys;
use crate::options::Options;
use crate::shared::Shared;
use crate::time::Time;
use crate::tls::Certificates;
use crate::worker::Inbox;

/// What the clients of a listener speak.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    Memcached,
    Redis,
}

impl Spoken {
    /// What a client is told that is one too many.
    fn refusal(self) -> &'static [u8] {
        match self {
            Spoken::Memcached => b"ERROR Too many open connections\r\n",
            Spoken::Redis => b"-ERR max number of clients reached\r\n",
        }
    }

    /// And one from an address that is not listed.
    fn stranger(self) -> &'static [u8] {
        match self {
            Spoken::Memcached => users::STRANGER,
            Spoken::Redis => users::REDIS_NOT_ALLOWED,
        }
    }

    /// The flag that chooses the TCP port.
    fn port_flag(self, tls: bool) -> &'static str {
        match self {
            Spoken::Memcached => "-p",
            Spoken::Redis if tls => "--tls-port",
            Spoken::Redis => "--redis-port",
        }
    }
}

const WAKE: Token = Token(usize::MAX);
/// How long nothing is accepted when the process has no file descriptor left, for instance.
const PAUSE: Duration = Duration::from_millis(10);
/// Between two questions to a silent client's host; as the card's.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(8);

enum Listener {
    Tcp(TcpListener, SocketAddr, Option<Arc<Certificates>>),
    /// In this order: while the socket is there, no other file has its inode.
    Unix(SocketFile, UnixListener),
}

/// A socket in the file system. It would stay when nobody listens any more.
struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl SocketFile {
    fn id(path: &Path) -> std::io::Result<(u64, u64)> {
        let meta = std::fs::symlink_metadata(path)?;
        Ok((meta.dev(), meta.ino()))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // By now the path can be the socket of another server, which took this one's place.
        if SocketFile::id(&self.path).is_ok_and(|id| id == self.id) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

pub struct Sockets {
    listeners: Vec<(Listener, Spoken)>,
    pub udp: Vec<UdpSocket>,
}

impl Sockets {
    pub fn open(options: &Options, keys: &Keys) -> Result<Sockets> {
        let mut listeners = Vec::new();
        let memcached = (&options.tcp, &options.access.tls, &options.unix, Spoken::Memcached);
        let redis = (&options.redis, &options.access.redis_tls, &options.unix_redis, Spoken::Redis);
        for (tcp, tls, unix, spoken) in [memcached, redis] {
            let certificates = match spoken {
                Spoken::Memcached => &keys.memcached,
                Spoken::Redis => &keys.redis,
            };
            let plain = tcp.iter().map(|address| (address, None, spoken.port_flag(false)));
            let tls = tls.iter().flat_map(|secure| &secure.addresses);
            let tls = tls.map(|address| (address, certificates.clone(), spoken.port_flag(true)));
            for (address, certificates, flag) in plain.chain(tls) {
                let socket = bind(*address, Type::STREAM, flag)?;
                if let Some(seconds) = options.keep_alive {
                    // Connections have it from the socket that they came through.
                    let silence = Duration::from_secs(seconds.into());
                    socket.set_tcp_keepalive(
                        &TcpKeepalive::new().with_time(silence).with_interval(KEEP_ALIVE_EVERY),
                    )?;
                }
                socket.listen(options.backlog)?;
                let listener = TcpListener::from_std(socket.into());
                let address = listener.local_addr()?;
                listeners.push((Listener::Tcp(listener, address, certificates), spoken));
            }
            if let Some((path, mode)) = unix {
                listeners.push((bind_unix(path, *mode, options.backlog)?, spoken));
            }
        }
        let mut udp = Vec::new();
        for address in &options.udp {
            let socket = bind(*address, Type::DGRAM, "-U")?;
            // Room for a burst; the kernel gives what it allows.
            let _ = socket.set_recv_buffer_size(4 << 20);
            udp.push(UdpSocket::from_std(socket.into()));
        }
        Ok(Sockets { listeners, udp })
    }

    /// Has `stats conns` name them.
    pub fn tell(&self, shared: &Shared) -> Result<()> {
        let now = shared.store.now();
        for (listener, _) in &self.listeners {
            let name = match listener {
                Listener::Tcp(_, address, _) => format!("tcp:{address}"),
                Listener::Unix(file, _) => format!("unix:{}", file.path.display()),
            };
            shared.tell(Arc::new(Peer::listening(name, now)));
        }
        for socket in &self.udp {
            let name = format!("udp:{}", socket.local_addr()?);
            shared.tell(Arc::new(Peer::new(name, String::new(), now, None)));
        }
        Ok(())
    }

    /// The TCP addresses, with TLS or without, ports as the kernel gave them.
    pub fn addresses(&self, spoken: Spoken, tls: bool) -> Vec<SocketAddr> {
        self.listeners
            .iter()
            .filter_map(|(listener, speaks)| match listener {
                Listener::Tcp(_, address, certificates)
                    if *speaks == spoken && certificates.is_some() == tls =>
                {
                    Some(*address)
                }
                _ => None,
            })
            .collect()
    }
}

fn bind(address: SocketAddr, kind: Type, flag: &str) -> Result<Socket> {
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    let open = || -> std::io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
        if kind == Type::STREAM {
            socket.set_reuse_address(true)?;
        }
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        Ok(socket)
    };
    let name = if kind == Type::STREAM { "TCP" } else { "UDP" };
    open().map_err(|e| match e.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "{name} port {} of {} is in use; choose another one with {flag}",
            address.port(),
            address.ip(),
        ),
        _ => anyhow::anyhow!("cannot listen on {name} {address}: {e}"),
    })
}

fn bind_unix(path: &Path, mode: u32, backlog: i32) -> Result<Listener> {
    // A socket that an earlier server left behind is replaced; nothing else is.
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => std::fs::remove_file(path)?,
        Ok(_) => bail!("{} exists and is not a socket", path.display()),
        Err(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket
        .bind(&SockAddr::unix(path)?)
        .with_context(|| format!("cannot listen on {}", path.display()))?;
    let file = SocketFile { path: path.into(), id: SocketFile::id(path)? };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    socket.listen(backlog)?;
    let listener = UnixListener::from_std(std::os::fd::OwnedFd::from(socket).into());
    Ok(Listener::Unix(file, listener))
}

/// Accepts connections and hands them to the workers in turn; sets the store's clock.
/// An address as Redis writes it; of a socket in the file system the port is 0.
fn redis_name(name: &str) -> String {
    match name.split_once(':') {
        Some(("unix", path)) => format!("{path}:0"),
        Some((_, address)) => address.to_owned(),
        None => name.to_owned(),
    }
}

pub struct Acceptor {
    poll: Poll,
    waker: Arc<Waker>,
    listeners: Vec<(Listener, Spoken)>,
    inboxes: Vec<Arc<Inbox>>,
    shared: Arc<Shared>,
    time: Arc<Time>,
    redis: Arc<Common>,
    next: usize,
}

impl Acceptor {
    pub fn new(
        mut listeners: Sockets,
        inboxes: Vec<Arc<Inbox>>,
        shared: Arc<Shared>,
        time: Arc<Time>,
        redis: Arc<Common>,
    ) -> Result<Acceptor> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        for (i, (listener, _)) in listeners.listeners.iter_mut().enumerate() {
            let registry = poll.registry();
            match listener {
                Listener::Tcp(l, ..) => registry.register(l, Token(i), Interest::READABLE)?,
                Listener::Unix(_, l) => registry.register(l, Token(i), Interest::READABLE)?,
            }
        }
        let listeners = listeners.listeners;
        Ok(Acceptor { poll, waker, listeners, inboxes, shared, time, redis, next: 0 })
    }

    /// Wakes the acceptor to see that the server stops.
    pub fn waker(&self) -> Arc<Waker> {
        self.waker.clone()
    }

    /// Until the server stops; drops `up` when it begins.
    pub fn run(mut self, up: Sender<()>) -> Result<()> {
        drop(up);
        let mut events = Events::with_capacity(16);
        let mut tick = Instant::now();
        let mut pending = vec![true; self.listeners.len()];
        // Once more when it stops: who has connected by then is served.
        let mut stopping = false;
        while !stopping {
            let starved = pending.contains(&true);
            let wait = tick.saturating_duration_since(Instant::now());
            let wait = if starved { wait.min(PAUSE) } else { wait };
            match self.poll.poll(&mut events, Some(wait)) {
                Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
                _ => {}
            }
            stopping = self.shared.stopping();
            if stopping {
                pending.fill(true);
            }
            if Instant::now() >= tick {
                self.time.tick();
                tick += Duration::from_secs(1);
            }
            for event in events.iter().filter(|e| e.token() != WAKE) {
                pending[event.token().0] = true;
            }
            for (i, pending) in pending.iter_mut().enumerate() {
                if *pending {
                    *pending = self.accept(i)?;
                }
            }
            self.shared.starved(pending.contains(&true));
        }
        Ok(())
    }

    /// Accepts what waits. True: some may still wait, but now there are no descriptors for them, or
    /// something else is in the way.
    fn accept(&mut self, index: usize) -> Result<bool> {
        loop {
            let (listener, spoken) = &self.listeners[index];
            let spoken = *spoken;
            let accepted = match listener {
                Listener::Tcp(listener, address, certificates) => {
                    listener.accept().map(|(stream, peer)| {
                        // A reply is complete when it is sent.
                        let _ = stream.set_nodelay(true);
                        let names = (format!("tcp:{peer}"), format!("tcp:{address}"));
                        let stream = match certificates {
                            None => Ok(Stream::Tcp(stream)),
                            Some(all) => all.accept(stream).map(|s| Stream::Tls(Box::new(s))),
                        };
                        (stream, Some(peer.ip()), names)
                    })
                }
                Listener::Unix(file, listener) => listener.accept().map(|(stream, _)| {
                    let path = format!("unix:{}", file.path.display());
                    (Ok(Stream::Unix(stream)), None, (path.clone(), path))
                }),
            };
            match accepted {
                Ok((stream, from, names)) => self.hand_over(stream?, spoken, from, names)?,
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock => return Ok(false),
                    // The client left again.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => return Ok(true),
                },
            }
        }
    }

    fn hand_over(
        &mut self,
        mut stream: Stream,
        spoken: Spoken,
        from: Option<IpAddr>,
        (peer, listener): (String, String),
    ) -> Result<()> {
        if from.is_some_and(|ip| !self.shared.options.allows(ip)) {
            self.shared.not_allowed();
            stream.refuse(spoken.stranger());
            return Ok(());
        }
        let denied = from.filter(|_| spoken == Spoken::Redis).and_then(|ip| self.redis.denies(ip));
        let admitted = match denied {
            Some(text) => {
                self.shared.reject();
                Err(text)
            }
            None => self.shared.admit().ok_or(spoken.refusal()),
        };
        let id = match admitted {
            Ok(id) => id,
            Err(refusal) => {
                info!(peer, "a connection is refused: {}", Text(refusal));
                stream.refuse(refusal);
                return Ok(());
            }
        };
        let (session, redis) = match spoken {
            Spoken::Memcached => (Session::default(), None),
            Spoken::Redis => {
                let is_unix = matches!(stream, Stream::Unix(_));
                let (peer, listener) = (redis_name(&peer), redis_name(&listener));
                let shown = Arc::new(Shown::new(id, peer, listener, is_unix, stream.fd()));
                let client = Client::shown_as(shown.clone(), &self.redis);
                (Either::Redis(Box::new(client)).into(), Some(shown))
            }
        };
        debug!(peer, listener, "a connection is opened");
        let told = Arc::new(Peer::new(peer, listener, self.shared.store.now(), redis));
        let number = self.shared.tell(told.clone());
        self.shared.comes(&told, number);
        let inbox = &self.inboxes[self.next];
        self.next = (self.next + 1) % self.inboxes.len();
        inbox.conns.lock().unwrap().push(Conn::new(stream, session, told, number));
        inbox.waker.wake().context("cannot wake a worker")
    }
}
