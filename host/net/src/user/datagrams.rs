//! UDP: each client address gets a source port of its own toward the card.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;

use crate::ether::{ethertype, push_ethernet, push_udp, Mac};
use crate::Frames;

const FIRST_PORT: u16 = 1024;
const PORTS: usize = 60_000;
/// The card takes frames of up to 9,018 bytes: larger datagrams cannot reach it.
const MAX_PACKET: usize = 9000;

pub struct Datagrams {
    socket: UdpSocket,
    source: IpAddr,
    our_mac: Mac,
    card_mac: Mac,
    card: SocketAddr,
    max_payload: usize,
    /// Port to client; ports are taken in turn, so the one that is reused is the oldest.
    clients: Vec<Option<SocketAddr>>,
    ports: HashMap<SocketAddr, usize>,
    next: usize,
    buffer: Vec<u8>,
    pub count: u64,
}

impl Datagrams {
    pub fn new(
        socket: UdpSocket,
        source: IpAddr,
        our_mac: Mac,
        card: SocketAddr,
        card_mac: Mac,
    ) -> Datagrams {
        Datagrams {
            socket,
            source,
            our_mac,
            card_mac,
            card,
            max_payload: MAX_PACKET - if card.is_ipv4() { 28 } else { 48 },
            clients: vec![None; PORTS],
            ports: HashMap::new(),
            next: 0,
            buffer: vec![0; 65_536],
            count: 0,
        }
    }

    /// Takes datagrams from clients while there is room. True when none is left.
    pub fn receive(&mut self, to_card: &mut Frames, room: &mut usize) -> io::Result<bool> {
        while *room > 0 {
            let (len, client) = match self.socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                // An ICMP error for an earlier answer: that client is gone, others are not.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => continue,
                Err(e) => return Err(e),
            };
            if len > self.max_payload {
                continue;
            }
            self.count += 1;
            *room = room.saturating_sub(len);
            let from = SocketAddr::new(self.source, FIRST_PORT + self.port(client) as u16);
            to_card.push_with(|out| {
                push_ethernet(out, self.card_mac, self.our_mac, ethertype(self.source));
                push_udp(out, from, self.card, &self.buffer[..len]);
            });
        }
        Ok(false)
    }

    fn port(&mut self, client: SocketAddr) -> usize {
        if let Some(port) = self.ports.get(&client) {
            return *port;
        }
        let port = self.next;
        self.next = (self.next + 1) % PORTS;
        if let Some(old) = self.clients[port].replace(client) {
            self.ports.remove(&old);
        }
        self.ports.insert(client, port);
        port
    }

    /// Passes a datagram from the card to its client.
    pub fn deliver(&mut self, to: SocketAddr, from: SocketAddr, payload: &[u8]) {
        let known = from == self.card && to.ip() == self.source;
        let port = usize::from(to.port().wrapping_sub(FIRST_PORT));
        if let Some(Some(client)) = self.clients.get(port).filter(|_| known) {
            // UDP may lose it, whatever the reason.
            let _ = self.socket.send_to(payload, *client);
        }
    }
}
