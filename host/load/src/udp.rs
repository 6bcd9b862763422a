//! Clients over UDP: memcached's frame header, one request a datagram.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};

use crate::progress::Seen;
use crate::protocol::Wire;
use crate::{Count, Figures, LoadArgs, Op, Quota, Requests, Span};

const HEADER: usize = 8;
/// A request without an answer after this time is lost.
const PATIENCE: Duration = Duration::from_secs(1);

struct Asked {
    op: Op,
    at: Instant,
    /// The answer's datagrams by sequence number.
    parts: Vec<Option<Vec<u8>>>,
}

struct Client<'a> {
    wire: &'a Wire,
    seen: &'a Seen,
    socket: UdpSocket,
    requests: Requests,
    quota: Quota,
    in_flight: HashMap<u16, Asked>,
    next_id: u16,
}

impl Client<'_> {
    fn fill(&mut self, pipeline: usize, figures: &mut Figures) -> Result<()> {
        let now = Instant::now();
        while self.in_flight.len() < pipeline && self.quota.take(now) {
            let id = self.next_id;
            self.next_id = id.wrapping_add(1);
            let mut datagram = Vec::new();
            for word in [id, 0, 1, 0] {
                datagram.extend(word.to_be_bytes());
            }
            let op = self.requests.write(self.wire, &mut datagram);
            figures.bytes_out += datagram.len() as u64;
            // One that cannot be sent is lost like any other.
            match self.socket.send(&datagram) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e).context("send"),
            }
            self.in_flight.insert(id, Asked { op, at: now, parts: Vec::new() });
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8], span: Span, figures: &mut Figures) -> Result<()> {
        loop {
            let len = match self.socket.recv(buffer) {
                Ok(len) => len,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e).context("receive"),
            };
            figures.bytes_in += len as u64;
            self.take(&buffer[..len], span, figures);
        }
    }

    fn take(&mut self, datagram: &[u8], span: Span, figures: &mut Figures) {
        let Some((head, payload)) = datagram.split_at_checked(HEADER) else { return };
        let word = |n: usize| u16::from_be_bytes([head[2 * n], head[2 * n + 1]]);
        let (id, sequence, total) = (word(0), usize::from(word(1)), usize::from(word(2)));
        let Some(asked) = self.in_flight.get_mut(&id) else { return };
        asked.parts.resize(total.max(1), None);
        let Some(part) = asked.parts.get_mut(sequence) else {
            figures.wrong += 1;
            return;
        };
        *part = Some(payload.to_vec());
        if asked.parts.iter().all(Option::is_some) {
            let answer: Vec<u8> = asked.parts.iter().flatten().flatten().copied().collect();
            let mut count = Count::default();
            match self.wire.parse(asked.op, None, &answer) {
                Some((outcome, n)) if n == answer.len() && count.add(outcome) => {}
                _ => figures.wrong += 1,
            }
            let now = Instant::now();
            self.seen.add(count.stored + count.asked(), now - asked.at);
            if span.holds(now) {
                figures.answered(&count, now - asked.at);
            }
            self.in_flight.remove(&id);
        }
    }

    fn give_up(&mut self, now: Instant, figures: &mut Figures) {
        let before = self.in_flight.len();
        self.in_flight.retain(|_, asked| now - asked.at < PATIENCE);
        figures.lost += (before - self.in_flight.len()) as u64;
    }
}

pub fn run(
    args: &LoadArgs,
    server: SocketAddr,
    first_client: u64,
    seen: &Seen,
    ready: &dyn Fn() -> Span,
) -> Result<Figures> {
    let wire = Wire::new(args.protocol, args.data_size).expiring(args.expiry);
    let mut figures = Figures::new()?;
    let mut poll = Poll::new()?;
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut clients = Vec::new();
    for n in 0..args.clients {
        let mut socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(server)?;
        poll.registry().register(&mut socket, Token(n), Interest::READABLE)?;
        clients.push(Client {
            wire: &wire,
            seen,
            socket,
            requests: Requests::new(args, first_client + n as u64),
            quota: Quota::new(args, first_client + n as u64),
            in_flight: HashMap::new(),
            next_id: 0,
        });
    }
    let span = ready();
    for client in &mut clients {
        client.quota.until = span.until;
        client.fill(args.pipeline, &mut figures)?;
    }
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; 65_536];
    let mut checked = Instant::now();
    while clients.iter().any(|c| !c.in_flight.is_empty()) {
        match poll.poll(&mut events, Some(PATIENCE / 10)) {
            Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
            _ => {}
        }
        for event in &events {
            let client = &mut clients[event.token().0];
            client.read(&mut buffer, span, &mut figures)?;
            client.fill(args.pipeline, &mut figures)?;
        }
        let now = Instant::now();
        if now - checked > PATIENCE / 10 {
            checked = now;
            for client in &mut clients {
                client.give_up(now, &mut figures);
                client.fill(args.pipeline, &mut figures)?;
            }
        }
    }
    Ok(figures)
}
