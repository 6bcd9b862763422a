//! One client connection: a local TCP socket on one side, a smoltcp socket on the other, bytes,
//! ends and resets passed through both ways.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::time::Duration as WallDuration;

use mio::net::TcpStream;
use smoltcp::iface::{Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::IpEndpoint;
use socket2::SockRef;

use super::device::Tap;

const BUFFER: usize = 64 * 1024;
/// An acknowledgement waits so long for a request to ride on (in smoltcp's time).
const ACK_DELAY: Duration = Duration::from_millis(20);

/// What is left of a connection after it was served.
pub enum Fate {
    Open,
    /// Both sides are through with it: forget it.
    Over,
}

pub struct Conn {
    local: TcpStream,
    /// A socket set of its own, so that serving one connection costs nothing for the others.
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    /// Packets from the card, not yet seen by smoltcp.
    pub packets: VecDeque<Vec<u8>>,
    /// Which interface (source address) it belongs to, and its port there.
    pub interface: usize,
    pub port: u16,
    /// The local socket may have bytes, or room for some.
    pub readable: bool,
    pub writable: bool,
    /// The client sent its end; the card has it too once its buffer is empty.
    client_done: bool,
    /// The card sent its end, and the client was told.
    card_done: bool,
    client_told: bool,
    /// The client's socket failed.
    client_gone: bool,
    /// When smoltcp wants to be polled again.
    pub deadline: Option<Instant>,
    pub queued: bool,
}

impl Conn {
    /// Opens a connection to the card for a client.
    pub fn open(
        local: TcpStream,
        iface: &mut Interface,
        interface: usize,
        port: u16,
        card: IpEndpoint,
    ) -> anyhow::Result<Conn> {
        local.set_nodelay(true)?;
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        // Nothing waits: a client's flush is a flush.
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(Some(ACK_DELAY));
        socket.set_congestion_control(CongestionControl::Reno);
        socket
            .connect(iface.context(), card, port)
            .map_err(|e| anyhow::anyhow!("no connection to the card: {e}"))?;
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Ok(Conn {
            local,
            sockets,
            handle,
            packets: VecDeque::new(),
            interface,
            port,
            readable: true,
            writable: true,
            client_done: false,
            card_done: false,
            client_told: false,
            client_gone: false,
            deadline: None,
            queued: false,
        })
    }

    pub fn local(&mut self) -> &mut TcpStream {
        &mut self.local
    }

    /// Moves everything that can be moved, both ways.
    pub fn serve(&mut self, iface: &mut Interface, tap: &mut Tap, now: Instant) -> Fate {
        std::mem::swap(&mut tap.packets, &mut self.packets);
        iface.poll(now, tap, &mut self.sockets);
        std::mem::swap(&mut tap.packets, &mut self.packets);
        loop {
            let moved = !self.client_gone && (self.pass_to_client() | self.pass_to_card());
            if self.client_gone {
                // Bytes for it are lost: the card learns it by a reset.
                self.socket().abort();
            }
            let sent = iface.poll_egress(now, tap, &mut self.sockets);
            if !moved && matches!(sent, PollResult::None) {
                break;
            }
        }
        self.deadline = iface.poll_at(now, &self.sockets);
        if self.over(now) {
            Fate::Over
        } else {
            Fate::Open
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Card to client. Says whether anything moved.
    fn pass_to_client(&mut self) -> bool {
        let Conn { local, sockets, handle, .. } = self;
        let socket = sockets.get_mut::<Socket>(*handle);
        let mut moved = false;
        while self.writable && socket.can_recv() {
            let written = socket.recv(|bytes| match local.write(bytes) {
                Ok(n) => (n, Ok(n)),
                Err(e) => (0, Err(e.kind())),
            });
            match written {
                Ok(Ok(_)) => moved = true,
                Ok(Err(ErrorKind::WouldBlock)) => self.writable = false,
                Ok(Err(ErrorKind::Interrupted)) => {}
                _ => {
                    self.client_gone = true;
                    return true;
                }
            }
        }
        use State::*;
        self.card_done |= matches!(socket.state(), CloseWait | LastAck | Closing | TimeWait);
        if self.card_done && !self.client_told && socket.recv_queue() == 0 {
            self.client_told = true;
            // Fails only when the client is gone already.
            let _ = local.shutdown(Shutdown::Write);
        }
        moved
    }

    /// Client to card. Says whether anything moved.
    fn pass_to_card(&mut self) -> bool {
        let Conn { local, sockets, handle, .. } = self;
        let socket = sockets.get_mut::<Socket>(*handle);
        let mut moved = false;
        while self.readable && !self.client_done && socket.can_send() {
            let read = socket.send(|room| match local.read(room) {
                Ok(n) => (n, Ok(n)),
                Err(e) => (0, Err(e.kind())),
            });
            match read {
                Ok(Ok(0)) => {
                    self.client_done = true;
                    socket.close();
                    moved = true;
                }
                Ok(Ok(_)) => moved = true,
                Ok(Err(ErrorKind::WouldBlock)) => self.readable = false,
                Ok(Err(ErrorKind::Interrupted)) => {}
                _ => {
                    self.client_gone = true;
                    return true;
                }
            }
        }
        moved
    }

    /// Nothing more can happen on this connection. A reset by the card becomes one for the client; but
    /// not behind the card's end while some of what it said has not come to the client's host, where it
    /// would take that back. Then the kernel answers what the client still sends, as the card did.
    fn over(&mut self, now: Instant) -> bool {
        let told = self.client_told || self.client_gone || !self.card_done;
        match self.socket().state() {
            // Once the card's end is acknowledged, TIME_WAIT would only keep a port busy.
            State::TimeWait => told && self.deadline.is_none_or(|t| t > now + ACK_DELAY),
            State::Closed => {
                // The client has not ended, so the card has reset what came behind its own end.
                if !self.card_done || (!self.client_done && has_all(&self.local)) {
                    let _ = SockRef::from(&self.local).set_linger(Some(WallDuration::ZERO));
                }
                // After our own abort() smoltcp still has to send the reset.
                told && self.socket().remote_endpoint().is_none()
            }
            _ => false,
        }
    }
}

/// Whether all that was written, but for the end, has come to the peer's host.
fn has_all(stream: &TcpStream) -> bool {
    let mut left = 0;
    // SAFETY: the call writes an int, which `left` is.
    let done = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut left) };
    done == 0 && left <= 1
}
