//! One connection.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use wirekv_memcache::watch;
use wirekv_proto::events::Watching;
use wirekv_proto::Out;
use wirekv_resp::Shown;

use crate::dialect::{Request, Session};
use crate::io::retry;
use crate::tls::Tls;

/// Bytes of lines that a watching client is sent at a time.
const LINES: usize = 32 << 10;
/// So much of what a client still sends behind the last reply is read, and for so long.
const LINGER_BYTES: usize = 64 << 20;
const LINGER: Duration = Duration::from_secs(5);

/// What a connection, or a socket to listen on, does: memcached's words.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum State {
    Listening,
    Read,
    /// It waits for the rest of a value.
    Nread,
    Parse,
}

impl State {
    const ALL: [State; 4] = [State::Listening, State::Read, State::Nread, State::Parse];

    fn name(self) -> &'static str {
        match self {
            State::Listening => "conn_listening",
            State::Read => "conn_read",
            State::Nread => "conn_nread",
            State::Parse => "conn_parse_cmd",
        }
    }
}

/// What `stats conns` tells of a connection, or of a socket to listen on.
pub struct Peer {
    pub peer: String,
    /// Empty of the latter.
    pub listener: String,
    state: AtomicU8,
    /// Store's second in which bytes last came, or went after a wait.
    pub last: AtomicU32,
    /// What CLIENT LIST tells, of a Redis client.
    pub redis: Option<Arc<Shown>>,
}

impl Peer {
    pub fn new(peer: String, listener: String, now: u32, redis: Option<Arc<Shown>>) -> Peer {
        let state = AtomicU8::new(State::Read as u8);
        Peer { peer, listener, state, last: AtomicU32::new(now), redis }
    }

    /// Of a socket to listen on.
    pub fn listening(address: String, now: u32) -> Peer {
        let peer = Peer::new(address, String::new(), now, None);
        peer.set(State::Listening);
        peer
    }

    /// As `watch` shows it.
    pub fn shown(&self, number: usize) -> watch::Peer<'_> {
        let tcp = self.peer.strip_prefix("tcp:").and_then(|text| text.rsplit_once(':'));
        match tcp.and_then(|(ip, port)| Some((ip, port.parse().ok()?))) {
            Some((ip, port)) => {
                let address = ip.trim_matches(['[', ']']);
                watch::Peer { address, port, transport: "tcp", number }
            }
            None => watch::Peer { address: "unix", port: 0, transport: "local", number },
        }
    }

    pub fn set(&self, state: State) {
        self.state.store(state as u8, Relaxed);
    }

    pub fn state(&self) -> &'static str {
        State::ALL[usize::from(self.state.load(Relaxed))].name()
    }
}

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<Tls>),
}

impl Stream {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(s) => s,
            Stream::Unix(s) => s,
            Stream::Tls(s) => &mut s.socket,
        }
    }

    pub fn fd(&self) -> RawFd {
        match self {
            Stream::Tcp(s) => s.as_raw_fd(),
            Stream::Unix(s) => s.as_raw_fd(),
            Stream::Tls(s) => s.socket.as_raw_fd(),
        }
    }

    /// What is read from the socket is what the client sends.
    #[inline]
    pub fn is_plain(&self) -> bool {
        !matches!(self, Stream::Tls(_))
    }

    /// The client must not be there.
    pub fn refuse(&mut self, why: &[u8]) {
        let _ = match self {
            Stream::Tcp(s) => s.write(why).map(|_| ()),
            Stream::Unix(s) => s.write(why).map(|_| ()),
            Stream::Tls(s) => {
                s.refuse();
                Ok(())
            }
        };
    }

    /// It cannot be used before a handshake is over.
    #[inline]
    pub fn is_shaking(&self) -> bool {
        matches!(self, Stream::Tls(s) if s.is_shaking())
    }

    /// The client has sent its end, of which no event tells.
    #[inline]
    fn is_over(&self) -> bool {
        matches!(self, Stream::Tls(s) if s.is_over())
    }

    pub fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => s.read(to),
            Stream::Unix(s) => s.read(to),
            Stream::Tls(s) => s.read(to),
        }
    }

    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match (self, parts) {
            // One part is cheaper without the gathering.
            (Stream::Tcp(s), [one]) => s.write(one),
            (Stream::Tcp(s), _) => s.write_vectored(parts),
            (Stream::Unix(s), _) => s.write_vectored(parts),
            (Stream::Tls(s), _) => s.write(parts),
        }
    }

    /// Nothing more is written, or read behind what has come.
    fn shutdown(&mut self, how: Shutdown) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.shutdown(how),
            Stream::Unix(s) => s.shutdown(how),
            Stream::Tls(s) if how == Shutdown::Write => s.end(),
            Stream::Tls(s) => s.socket.shutdown(how),
        }
    }
}

/// Why a connection is closed: memcached's words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Error,
    /// The client has left, or has said that it does.
    Normal,
    Idle,
    Shutdown,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Error => "error",
            Reason::Normal => "normal",
            Reason::Idle => "idle_timeout",
            Reason::Shutdown => "shutdown",
        }
    }
}

/// How much of what a client sends behind its last reply is still read, and until when.
pub struct Linger {
    left: usize,
    until: Instant,
}

pub struct Conn {
    pub stream: Stream,
    pub session: Session,
    pub told: Arc<Peer>,
    /// Its number in `stats conns`.
    pub number: usize,
    /// Input that was not executed yet, and the requests already parsed from its front.
    pub pending: Vec<u8>,
    pub parsed: Vec<Request>,
    /// Replies that the kernel did not take yet.
    pub out: Option<Out>,
    /// When that began, or went on: a later one has a larger number.
    pub waits: u64,
    pub since: Instant,
    /// It is worked on just now.
    pub served: bool,
    /// Bytes that the kernel had for the client when that was last asked, since the replies wait.
    unsent: libc::c_int,
    /// A read may end before all is read: behind a byte of urgent data, or, of a UNIX domain socket,
    /// behind a descriptor.
    pub reads_short: bool,
    /// The socket may have input; it may have had its last.
    pub readable: bool,
    pub read_closed: bool,
    /// There is something to do without any event.
    pub queued: bool,
    /// It is listed as waiting for room.
    pub waits_for_room: bool,
    /// It is listed as asleep.
    pub sleeps: bool,
    /// The socket is of no use any more.
    pub lost: bool,
    /// No input will follow: to be closed when what there is was served.
    pub ended: bool,
    /// The client has sent its end.
    at_end: bool,
    /// The server ends: what has come is the last.
    hung_up: bool,
    /// To be closed when the replies are written.
    pub closing: bool,
    /// They are, and its end was sent.
    pub linger: Option<Linger>,
    pub reason: Reason,
    /// That was told.
    pub left: bool,
    /// It watches.
    pub watching: Option<Watching>,
}

impl Conn {
    pub fn new(stream: Stream, session: Session, told: Arc<Peer>, number: usize) -> Conn {
        Conn {
            reads_short: matches!(stream, Stream::Unix(_)),
            stream,
            session,
            told,
            number,
            pending: Vec::new(),
            parsed: Vec::new(),
            out: None,
            waits: 0,
            since: Instant::now(),
            served: false,
            unsent: libc::c_int::MAX,
            readable: true,
            read_closed: false,
            queued: false,
            waits_for_room: false,
            sleeps: false,
            lost: false,
            ended: false,
            at_end: false,
            hung_up: false,
            closing: false,
            linger: None,
            reason: Reason::Error,
            left: false,
            watching: None,
        }
    }

    /// Edge-triggered, both directions, once and for all: no system call a request. And urgent data,
    /// so that it is known when reads may end short.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let all = Interest::READABLE | Interest::WRITABLE | Interest::PRIORITY;
        self.stream.source().register(registry, token, all)
    }

    pub fn deregister(&mut self, registry: &Registry) {
        if let Stream::Tls(s) = &mut self.stream {
            // As far as it can be told.
            let _ = s.end();
        }
        let _ = self.stream.source().deregister(registry);
    }

    /// What came of reading up to `size` bytes, behind `before` bytes of input. Returns how many.
    pub fn came(&mut self, size: usize, result: io::Result<usize>, before: usize) -> usize {
        match result {
            Ok(0) if self.hung_up => self.ended = true,
            // What came before the end is still served.
            Ok(0) => {
                (self.ended, self.at_end) = (true, true);
                self.reason = Reason::Normal;
                self.lost |= before == 0 && self.out.is_none();
            }
            Ok(n) => {
                // Less than there is room for is all there was. Not so behind urgent data (RFC 6093),
                // where a read ends, too: of that an event tells that comes before or after the read.
                self.readable = n == size || self.reads_short || self.stream.is_over();
                return n;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.readable = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.lost = true,
        }
        0
    }

    /// Writes what the kernel takes: all of it if `out` is empty then. Returns how many bytes.
    pub fn write(&mut self, out: &mut Out) -> usize {
        let mut total = 0;
        while !out.is_empty() && !self.lost {
            let mut parts = [IoSlice::new(&[]); 64];
            let count = out.slices(&mut parts);
            match self.stream.write(&parts[..count]) {
                Ok(n) if n > 0 => {
                    out.written(n);
                    total += n;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                _ => self.lost = true,
            }
        }
        total
    }

    /// Sends on what there is besides replies.
    #[inline]
    pub fn push(&mut self) {
        if let Stream::Tls(s) = &mut self.stream {
            self.lost |= s.push().is_err();
        }
    }

    /// Its handshake has taken too long.
    pub fn give_up(&mut self) {
        if let Stream::Tls(s) = &mut self.stream {
            s.give_up();
        }
        self.lost = true;
    }

    /// The last reply is written: nothing is kept of it, and the client is told the end. A socket that is
    /// closed while more comes sends a reset, which takes back what the client has not read: so what
    /// comes is read for a while. False: nothing comes.
    pub fn linger(&mut self) -> bool {
        if self.at_end || self.stream.shutdown(Shutdown::Write).is_err() {
            return false;
        }
        self.watching = None;
        (self.session, self.pending, self.parsed) = (Session::default(), Vec::new(), Vec::new());
        self.linger = Some(Linger { left: LINGER_BYTES, until: Instant::now() + LINGER });
        true
    }

    /// Reads some of that. Returns how many bytes, and until when it goes on; `None`: it is over.
    pub fn skip(&mut self, room: &mut [u8]) -> Option<(usize, Instant)> {
        let count = match self.stream.read(room) {
            // Whether the client's host has the last reply is what is waited for.
            Ok(0) if self.hung_up && self.unsent().is_some_and(|bytes| bytes > 0) => 0,
            Ok(0) => return None,
            Ok(n) => n,
            Err(e) if retry(&e) => 0,
            Err(_) => return None,
        };
        let linger = self.linger.as_mut()?;
        linger.left = linger.left.saturating_sub(count);
        let goes_on = linger.left > 0 && Instant::now() < linger.until;
        goes_on.then_some((count, linger.until))
    }

    pub fn hangs_up(&self) -> bool {
        self.hung_up
    }

    /// The server ends: what was received is served, and what comes from now on is not.
    pub fn hang_up(&mut self) {
        (self.hung_up, self.readable) = (true, true);
        self.reason = Reason::Shutdown;
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// The client is waited for from now on.
    pub fn wait(&mut self, waits: u64) {
        self.waits = waits;
        self.since = Instant::now();
        self.unsent = libc::c_int::MAX;
    }

    /// Replies wait, and while they do nothing is done for the client, as in memcached. As in Redis its
    /// clients may write all that they want to before they read.
    pub fn is_stuck(&self) -> bool {
        self.out.is_some() && (self.closing || self.told.redis.is_none())
    }

    /// It watches, and asks for nothing more: a client of memcached.
    pub fn is_deaf(&self) -> bool {
        self.watching.is_some() && self.told.redis.is_none()
    }

    /// There are lines for it, and it has taken those before.
    pub fn has_lines(&self, many: bool) -> bool {
        self.out.is_none() && self.watching.as_ref().is_some_and(|own| own.has_lines(many))
    }

    /// Takes some of them.
    pub fn take_lines(&self, out: &mut Out) {
        let Some(watching) = self.watching.as_ref().filter(|_| self.has_lines(false)) else {
            return;
        };
        watching.take(LINES, |first, second| {
            if !self.session.dialect().is_mute() {
                out.room(first.len() + second.len()).bytes(first).bytes(second).finish();
            }
        });
    }

    /// Something may be read.
    pub fn has_input(&self) -> bool {
        (self.readable || self.read_closed) && !(self.at_end && self.out.is_some())
    }

    /// Whether a client whose replies wait has taken something since it was last asked: of a slow
    /// one the socket is not writable for long.
    pub fn takes(&mut self) -> bool {
        let unsent = self.unsent();
        let less = self.out.is_some() && unsent.is_some_and(|unsent| unsent < self.unsent);
        self.unsent = unsent.unwrap_or(0);
        less
    }

    /// Bytes that the kernel has for the client, and the client's host has not.
    fn unsent(&self) -> Option<libc::c_int> {
        let mut unsent = 0;
        // SAFETY: the kernel fills in the number.
        let known = unsafe { libc::ioctl(self.stream.fd(), libc::TIOCOUTQ, &mut unsent) } == 0;
        known.then_some(unsent)
    }

    /// Its client is gone while the request is paused: as in Redis that is not done any more, and nothing is kept of it.
    pub fn has_left(&self) -> bool {
        self.read_closed && self.out.is_none() && self.session.dialect().is_paused()
    }

    /// Lets others see what it keeps.
    pub fn publish(&self) {
        let within = self.session.is_within() || self.pending.contains(&b'\n');
        self.told.set(if within { State::Nread } else { State::Read });
        if let Some(shown) = &self.told.redis {
            shown.keeps(self.pending.len(), self.out.as_ref().map_or(0, Out::held));
        }
    }

    pub fn used(&self, now: u32) {
        self.told.last.store(now, Relaxed);
        if let Some(shown) = &self.told.redis {
            shown.used();
        }
    }
}
