//! A socket that clients connect to, and who waits there.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

/// Between two questions to a silent client's host; as the card's.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(8);

pub struct Listener {
    pub socket: TcpListener,
    /// The card's port behind it.
    pub port: u16,
    /// Clients may wait to be accepted.
    pub waits: bool,
    /// It was said that they cannot be for now.
    told: bool,
}

impl Listener {
    /// Listens on `address`. After `keep_alive` seconds of silence the kernel asks whether a client is still
    /// there.
    pub fn bind(address: SocketAddr, keep_alive: Option<u16>, port: u16) -> Result<Listener> {
        let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        let named = |what: &str| match address.ip() {
            IpAddr::V4(ip) => format!("cannot {what} {ip}:{}", address.port()),
            IpAddr::V6(ip) => format!("cannot {what} [{ip}]:{}", address.port()),
        };
        socket.bind(&address.into()).with_context(|| named("bind"))?;
        if let Some(seconds) = keep_alive {
            // Connections have it from the socket that they came through.
            let silence = Duration::from_secs(seconds.into());
            socket.set_tcp_keepalive(
                &TcpKeepalive::new().with_time(silence).with_interval(KEEP_ALIVE_EVERY),
            )?;
        }
        // Bursts of a thousand clients find room in the queue.
        socket.listen(4096).with_context(|| named("listen on"))?;
        let socket = TcpListener::from_std(socket.into());
        Ok(Listener { socket, port, waits: false, told: false })
    }

    /// The next client, and where it comes from. None: nobody waits, or `waits` says that somebody may, but that the process has no
    /// descriptor left, for instance: to be tried again a little later.
    pub fn accept(&mut self) -> Option<(TcpStream, IpAddr)> {
        while self.waits {
            match self.socket.accept() {
                Ok((stream, from)) => return Some((stream, from.ip())),
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock => (self.waits, self.told) = (false, false),
                    // The client left again.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => {
                        if !std::mem::replace(&mut self.told, true) {
                            wirekv_log::warn!("no connection can be accepted for now: {e}");
                        }
                        return None;
                    }
                },
            }
        }
        None
    }
}
