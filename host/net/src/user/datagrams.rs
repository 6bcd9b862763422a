//! UDP: each datagram gets a source port and a request id of its own toward the card. Ports are taken in turn, and with
//! each turn the id is another one: so an answer that comes after its port was given to another client is known as late,
//! and goes to nobody. A service's port becomes one below 1,024, so that the card knows to whom it says less.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;

use crate::ether::{ethertype, push_ethernet, push_udp, Mac};
use crate::{Allowed, Frames};

/// First port, and how many there are: of services, of all others.
const PORTS: [(u16, usize); 2] = [(1, 1023), (1024, 60_000)];
const MEMCACHED: u16 = 11211;
/// The card takes frames of up to 9,018 bytes: larger datagrams cannot reach it.
const MAX_PACKET: usize = 9000;

pub struct Datagrams {
    socket: UdpSocket,
    source: IpAddr,
    our_mac: Mac,
    card_mac: Mac,
    card: SocketAddr,
    max_payload: usize,
    /// This server's ports.
    own: Vec<u16>,
    /// By kind and port.
    asked: [Vec<Option<Asked>>; 2],
    counts: [u64; 2],
    buffer: Vec<u8>,
    pub count: u64,
}

/// The last datagram that was sent from a port.
struct Asked {
    client: SocketAddr,
    /// Its request id, as the card has it and as the client has it.
    id: RequestId,
    theirs: RequestId,
}

/// The first bytes of the header that memcached's datagrams have. The card ignores what has none.
type RequestId = [u8; 2];

impl Datagrams {
    pub fn new(
        socket: UdpSocket,
        source: IpAddr,
        our_mac: Mac,
        card: SocketAddr,
        card_mac: Mac,
        own: Vec<u16>,
    ) -> Datagrams {
        Datagrams {
            socket,
            source,
            our_mac,
            card_mac,
            card,
            max_payload: MAX_PACKET - if card.is_ipv4() { 28 } else { 48 },
            own,
            asked: PORTS.map(|(_, ports)| (0..ports).map(|_| None).collect()),
            counts: [0; 2],
            buffer: vec![0; 65_536],
            count: 0,
        }
    }

    /// Where clients send them.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Takes datagrams from clients while there is room. True when none is left.
    pub fn receive(
        &mut self,
        allowed: &Allowed,
        to_card: &mut Frames,
        room: &mut usize,
    ) -> io::Result<bool> {
        while *room > 0 {
            let (len, client) = match self.socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                // An ICMP error for an earlier answer: that client is gone, others are not.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => continue,
                Err(e) => return Err(e),
            };
            if !allowed.admits_datagram(client.ip()) || len > self.max_payload {
                continue;
            }
            let kind = usize::from(!self.is_service(client.port()));
            let (first, ports) = PORTS[kind];
            let (turn, port) = (self.counts[kind] / ports as u64, self.counts[kind] % ports as u64);
            self.counts[kind] += 1;
            self.count += 1;
            if let Some(id) = self.buffer[..len].first_chunk_mut() {
                let asked = Asked { client, id: (turn as u16).to_be_bytes(), theirs: *id };
                *id = asked.id;
                self.asked[kind][port as usize] = Some(asked);
            }
            let from = SocketAddr::new(self.source, first + port as u16);
            let before = to_card.bytes();
            to_card.push_with(|out| {
                push_ethernet(out, self.card_mac, self.our_mac, ethertype(self.source));
                push_udp(out, from, self.card, &self.buffer[..len]);
            });
            *room = room.saturating_sub(to_card.bytes() - before);
        }
        Ok(false)
    }

    fn is_service(&self, port: u16) -> bool {
        port < 1024 || port == MEMCACHED || self.own.contains(&port)
    }

    /// Passes a datagram from the card to its client.
    pub fn deliver(&mut self, to: SocketAddr, from: SocketAddr, payload: &[u8]) {
        let known = from == self.card && to.ip() == self.source;
        let kind = usize::from(to.port() >= PORTS[1].0);
        let port = usize::from(to.port().wrapping_sub(PORTS[kind].0));
        let answer = &mut self.buffer[..payload.len()];
        answer.copy_from_slice(payload);
        let Some(id) = answer.first_chunk_mut() else { return };
        if let Some(Some(asked)) = self.asked[kind].get(port).filter(|_| known) {
            if asked.id == *id {
                *id = asked.theirs;
                // UDP may lose it, whatever the reason.
                let _ = self.socket.send_to(answer, asked.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket as Client;

    /// While an answer is on its way all ports are given to other clients.
    #[test]
    fn late_answers() {
        let socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let at = socket.local_addr().unwrap();
        let card: SocketAddr = "10.0.0.2:11211".parse().unwrap();
        let mut datagrams =
            Datagrams::new(socket, "10.0.0.15".parse().unwrap(), [0; 6], card, [0; 6], vec![]);
        // Asks, and says which port that has and what the card gets.
        let ask = |datagrams: &mut Datagrams, client: &Client, id: u8| {
            let mut frames = Frames::default();
            client.send_to(&[0, id, 0, 0, 0, 1, 0, 0, id], at).unwrap();
            while frames.is_empty() {
                datagrams.receive(&Allowed::default(), &mut frames, &mut 1000).unwrap();
            }
            let frame = frames.iter().next().unwrap().to_vec();
            let port = u16::from_be_bytes([frame[34], frame[35]]);
            (SocketAddr::new("10.0.0.15".parse().unwrap(), port), frame[42..51].to_vec())
        };
        let first = Client::bind("127.0.0.1:0").unwrap();
        first.set_nonblocking(true).unwrap();
        let (port, question) = ask(&mut datagrams, &first, 1);
        let mut last = None;
        for n in 0..PORTS[1].1 {
            let other =
                Client::bind(SocketAddr::from(([127, 1, (n >> 8) as u8, n as u8], 0))).unwrap();
            last = Some((ask(&mut datagrams, &other, 2), other));
        }
        let ((other_port, other_question), other) = last.unwrap();
        assert_eq!(other_port, port);
        other.set_nonblocking(true).unwrap();
        let mut came = [0; 100];
        let mut answers =
            |client: &Client| client.recv(&mut came).ok().map(|len| came[..len].to_vec());
        datagrams.deliver(port, card, &question);
        assert_eq!((answers(&first), answers(&other)), (None, None));
        datagrams.deliver(port, card, &other_question);
        assert_eq!(answers(&other), Some(vec![0, 2, 0, 0, 0, 1, 0, 0, 2]));
        assert_eq!(answers(&first), None);
    }
}
