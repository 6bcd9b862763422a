//! Clients over TCP, all of a thread's in one event loop.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{bail, Context, Result};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::reply::{parse, Outcome};
use super::{Figures, LoadArgs, Op, Quota, Requests};

struct Client {
    stream: TcpStream,
    requests: Requests,
    quota: Quota,
    in_flight: VecDeque<(Op, Instant)>,
    out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    parsed: usize,
}

impl Client {
    /// Reads and writes until the socket would block. True when all answers are in.
    fn serve(&mut self, pipeline: usize, figures: &mut Figures) -> Result<bool> {
        loop {
            self.fill(pipeline);
            let wrote = self.write(figures)?;
            let read = self.read(figures)?;
            if self.in_flight.is_empty() && self.quota.left == 0 {
                return Ok(true);
            }
            if !wrote && !read {
                return Ok(false);
            }
        }
    }

    fn fill(&mut self, pipeline: usize) {
        let now = Instant::now();
        while self.in_flight.len() < pipeline && self.quota.take(now) {
            let op = self.requests.write(&mut self.out);
            self.in_flight.push_back((op, now));
        }
    }

    fn write(&mut self, figures: &mut Figures) -> Result<bool> {
        if self.sent == self.out.len() {
            return Ok(false);
        }
        match self.stream.write(&self.out[self.sent..]) {
            Ok(n) => {
                figures.bytes_out += n as u64;
                self.sent += n;
                if self.sent == self.out.len() {
                    self.out.clear();
                    self.sent = 0;
                }
                Ok(true)
            }
            Err(e) if would_block(&e) => Ok(false),
            Err(e) => Err(e).context("write"),
        }
    }

    fn read(&mut self, figures: &mut Figures) -> Result<bool> {
        let old = self.input.len();
        self.input.resize(old + 64 * 1024, 0);
        let got = self.stream.read(&mut self.input[old..]);
        self.input.truncate(old + *got.as_ref().unwrap_or(&0));
        match got {
            Ok(0) => bail!("the server closed a connection"),
            Ok(n) => figures.bytes_in += n as u64,
            Err(e) if would_block(&e) => return Ok(false),
            Err(e) => return Err(e).context("read"),
        }
        let now = Instant::now();
        while let Some((op, sent)) = self.in_flight.front() {
            let rest = &self.input[self.parsed..];
            let Some((outcome, len)) = parse(*op, rest) else { break };
            match outcome {
                Outcome::Stored => {}
                Outcome::Hit => figures.hits += 1,
                Outcome::Miss => figures.misses += 1,
                Outcome::Wrong => figures.wrong += 1,
            }
            figures.answered(*op, now - *sent);
            self.parsed += len;
            self.in_flight.pop_front();
        }
        self.input.drain(..self.parsed);
        self.parsed = 0;
        Ok(true)
    }
}

fn would_block(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected)
}

pub fn run(
    args: &LoadArgs,
    server: SocketAddr,
    first_client: u64,
    start: Instant,
) -> Result<Figures> {
    let mut figures = Figures::new()?;
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for n in 0..args.clients {
        let mut stream =
            TcpStream::connect(server).with_context(|| format!("connect to {server}"))?;
        let both = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(n), both)?;
        clients.push(Client {
            stream,
            requests: Requests::new(args, first_client + n as u64),
            quota: Quota::new(args, start),
            in_flight: VecDeque::new(),
            out: Vec::new(),
            sent: 0,
            input: Vec::new(),
            parsed: 0,
        });
    }
    let mut events = Events::with_capacity(1024);
    let mut over = vec![false; clients.len()];
    while over.contains(&false) {
        match poll.poll(&mut events, None) {
            Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
            _ => {}
        }
        for event in &events {
            let n = event.token().0;
            if !over[n] {
                let client = &mut clients[n];
                if let Some(e) = client.stream.take_error()? {
                    return Err(e).with_context(|| format!("connect to {server}"));
                }
                client.stream.set_nodelay(true)?;
                over[n] = client.serve(args.pipeline, &mut figures)?;
            }
        }
    }
    Ok(figures)
}
