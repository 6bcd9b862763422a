//! memcached over UDP.

use std::io::ErrorKind;

use mio::net::UdpSocket;
use wirekv_protocol::{udp, Engine, Out, Server};

/// Datagrams taken from a socket before others have their turn.
const TURN: usize = 64;

pub struct Buffers {
    input: Box<[u8]>,
    out: Out,
    datagram: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers {
            input: vec![0; 1 << 16].into(),
            out: Out::with_units(),
            datagram: Vec::with_capacity(udp::DATAGRAM),
        }
    }
}

/// What came of a turn.
pub struct Turn {
    pub read: usize,
    pub written: usize,
    /// The socket may have more.
    pub more: bool,
}

/// Answers what a socket has. An answer that the kernel does not take is lost, as UDP may.
pub fn serve(
    socket: &UdpSocket,
    engine: &mut Engine,
    server: &mut dyn Server,
    buffers: &mut Buffers,
) -> Turn {
    let Buffers { input, out, datagram } = buffers;
    let mut turn = Turn { read: 0, written: 0, more: true };
    for _ in 0..TURN {
        let (len, from) = match socket.recv_from(input) {
            Ok(got) => got,
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                turn.more = false;
                break;
            }
            // An earlier answer's ICMP error, for instance.
            Err(_) => continue,
        };
        turn.read += len;
        if let Some(id) = udp::serve(&input[..len], engine, server, out) {
            udp::datagrams(out, id, |parts| {
                datagram.clear();
                parts.iter().for_each(|part| datagram.extend_from_slice(part));
                turn.written += socket.send_to(datagram, from).unwrap_or(0);
            });
        }
        out.clear();
        engine.local.quiesce();
    }
    turn
}
