//! memcached over UDP.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::UdpSocket;
use wirekv_memcache::udp::{self, Errors, Exchange};
use wirekv_proto::{Engine, Out, Server};

use crate::options::Options;

/// Datagrams taken from a socket, and as many sent, before others have their turn.
const TURN: usize = 64;

/// A socket, and the datagram from it that is being answered. Those behind it wait in the kernel.
pub struct Port {
    pub socket: UdpSocket,
    /// There may be something to do.
    pub ready: bool,
    /// The server ends: what has come is the last.
    pub last: bool,
    input: Box<[u8]>,
    len: usize,
    current: Option<Current>,
    out: Out,
    datagram: Vec<u8>,
}

struct Current {
    from: SocketAddr,
    exchange: Exchange,
    executed: bool,
}

/// What came of a turn.
#[derive(Default)]
pub struct Turn {
    /// Bytes.
    pub read: usize,
    pub written: usize,
    pub withheld: Withheld,
}

/// What was not said.
#[derive(Clone, Copy, Default)]
pub struct Withheld {
    /// Datagrams that are no requests, and those from addresses that are not listed.
    pub ignored: u64,
    pub strangers: u64,
    /// Errors beyond the limit, and to services.
    pub limited: u64,
    pub services: u64,
}

impl Port {
    pub fn new(socket: UdpSocket) -> Port {
        Port {
            socket,
            ready: false,
            last: false,
            input: vec![0; 1 << 16].into(),
            len: 0,
            current: None,
            out: Out::with_units(),
            datagram: Vec::with_capacity(udp::DATAGRAM),
        }
    }

    /// Answers some of what the socket has.
    pub fn serve(
        &mut self,
        engine: &mut Engine,
        server: &mut dyn Server,
        errors: &mut Errors,
        options: &Options,
    ) -> Turn {
        let mut turn = Turn::default();
        let (mut received, mut sent) = (0, 0);
        while received < TURN && sent < TURN {
            let Some(current) = &mut self.current else {
                received += 1;
                match self.socket.recv_from(&mut self.input) {
                    Ok((len, from)) => {
                        turn.read += len;
                        if !options.allows(from.ip()) {
                            turn.withheld.strangers += 1;
                            continue;
                        }
                        self.len = len;
                        self.current = Exchange::new(&self.input[..len]).map(|exchange| Current {
                            from,
                            exchange,
                            executed: false,
                        });
                        turn.withheld.ignored += u64::from(self.current.is_none());
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {
                        self.ready = false;
                        break;
                    }
                    // An earlier answer's ICMP error, for instance.
                    Err(_) => {}
                }
                continue;
            };
            if !current.executed {
                let datagram = &self.input[..self.len];
                let more = current.exchange.execute(datagram, engine, server, &mut self.out);
                engine.local.quiesce();
                if more {
                    break;
                }
                current.executed = true;
            }
            let (socket, datagram, from) = (&self.socket, &mut self.datagram, current.from);
            let result = current.exchange.send(&self.out, |parts| {
                datagram.clear();
                parts.iter().for_each(|part| datagram.extend_from_slice(part));
                if udp::is_error(datagram) {
                    if errors.is_service(from.port()) {
                        turn.withheld.services += 1;
                        return Ok(0);
                    }
                    if !errors.take(Instant::now()) {
                        turn.withheld.limited += 1;
                        return Ok(0);
                    }
                }
                socket.send_to(datagram, from)
            });
            match result {
                Some(Ok(n)) => {
                    turn.written += n;
                    sent += 1;
                }
                // What the kernel does not take is lost, as with UDP it may be, and so the rest is
                // of no use: nobody waits for a network.
                None | Some(Err(_)) => {
                    self.current = None;
                    self.out.clear();
                }
            }
        }
        turn
    }
}
