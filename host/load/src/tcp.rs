//! Clients over TCP, all of a thread's in one event loop.
//!
//! The loop is to cost less than the server that it measures: a connection's requests go out in
//! one write, its answers come in by one read into a buffer that all connections share, and only
//! what is left over (a part of an answer, bytes that the socket did not take) is kept.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rand::rngs::SmallRng;
use rand::SeedableRng;

use crate::progress::Seen;
use crate::protocol::Wire;
use crate::rate::{limited_loop, open_loop, Schedule};
use crate::tls::{Secure, Tls};
use crate::{Count, Figures, LoadArgs, Quota, Requests, Span, Turns};

/// Connections that are made at once: servers do not queue any number.
const CONNECTING: usize = 100;
/// At least so many bytes are asked for in a read.
const READ: usize = 256 * 1024;

/// Requests that went out together.
struct Batch {
    at: Instant,
    left: usize,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<Tls>),
}

impl Stream {
    fn socket(&mut self) -> &mut TcpStream {
        match self {
            Stream::Plain(s) => s,
            Stream::Tls(s) => &mut s.socket,
        }
    }

    /// Whether it can be used; goes on with what has to be done before.
    fn is_up(&mut self) -> std::io::Result<bool> {
        match self {
            Stream::Plain(_) => Ok(true),
            Stream::Tls(s) => s.shake(),
        }
    }

    /// Sends on what it took.
    fn push(&mut self) -> std::io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(s) => s.push(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(s) => s.write(bytes),
            Stream::Tls(s) => s.write(bytes),
        }
    }

    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(s) => s.read(to),
            Stream::Tls(s) => s.read(to),
        }
    }
}

pub(crate) struct Client {
    stream: Stream,
    requests: Requests,
    quota: Quota,
    /// When those requests were due that wait for room among those in flight.
    pub due: VecDeque<Instant>,
    /// What the next answer is for.
    answers: Turns,
    in_flight: VecDeque<Batch>,
    /// Requests of all batches without an answer.
    pub waiting: usize,
    /// Bytes that the socket did not take yet.
    unsent: Vec<u8>,
    /// The first bytes of an answer.
    partial: Vec<u8>,
}

/// What the connections of a thread share.
pub(crate) struct Thread<'a> {
    pub args: &'a LoadArgs,
    wire: Wire,
    pub span: Span,
    pub figures: Figures,
    seen: &'a Seen,
    out: Vec<u8>,
    input: Vec<u8>,
}

impl Client {
    /// Sends up to `most` requests that are due at `at`.
    pub fn ask(&mut self, most: usize, at: Instant, thread: &mut Thread) -> Result<()> {
        let mut count = 0;
        thread.out.clear();
        while count < most && self.quota.take(at) {
            self.requests.write(&thread.wire, &mut thread.out);
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        self.waiting += count;
        self.in_flight.push_back(Batch { at, left: count });
        self.send(thread)
    }

    /// Sends what is due, up to `most` in flight.
    pub fn ask_due(&mut self, most: usize, thread: &mut Thread) -> Result<()> {
        thread.out.clear();
        while self.waiting < most {
            let Some(at) = self.due.pop_front() else { break };
            self.requests.write(&thread.wire, &mut thread.out);
            self.waiting += 1;
            self.in_flight.push_back(Batch { at, left: 1 });
        }
        self.send(thread)
    }

    /// Sends the thread's output, and keeps what the socket does not take.
    fn send(&mut self, thread: &mut Thread) -> Result<()> {
        if thread.out.is_empty() {
            return Ok(());
        }
        let mut sent = 0;
        if self.unsent.is_empty() {
            sent = write(&mut self.stream, &thread.out, &mut thread.figures)?;
        }
        self.unsent.extend_from_slice(&thread.out[sent..]);
        Ok(())
    }

    fn send_rest(&mut self, thread: &mut Thread) -> Result<()> {
        self.stream.push().context("write")?;
        if !self.unsent.is_empty() {
            let sent = write(&mut self.stream, &self.unsent, &mut thread.figures)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    /// Reads and counts all answers that are there.
    fn read(&mut self, thread: &mut Thread) -> Result<()> {
        loop {
            let old = self.partial.len();
            if thread.input.len() < old + READ {
                thread.input.resize(old + READ, 0);
            }
            let room = thread.input.len() - old;
            match self.stream.read(&mut thread.input[old..]) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(n) => {
                    thread.figures.bytes_in += n as u64;
                    thread.input[..old].copy_from_slice(&self.partial);
                    let parsed = self.parse(old + n, thread)?;
                    self.partial.clear();
                    self.partial.extend_from_slice(&thread.input[parsed..old + n]);
                    // A read that brings less than it could has emptied the socket: no server sends
                    // urgent data, behind which one ends, too.
                    if n < room {
                        return Ok(());
                    }
                }
                Err(e) if would_block(&e) => return Ok(()),
                Err(e) => return Err(e).context("read"),
            }
        }
    }

    /// Counts the answers in the first `len` bytes that came in; returns how many bytes they are.
    fn parse(&mut self, len: usize, thread: &mut Thread) -> Result<usize> {
        let now = Instant::now();
        let counts = thread.span.holds(now);
        let mut parsed = 0;
        while let Some(batch) = self.in_flight.front_mut() {
            let mut count = Count::default();
            while batch.left > 0 {
                let mut answers = self.answers.clone();
                let op = answers.next();
                let bytes = &thread.input[parsed..len];
                let Some((outcome, whole)) =
                    thread.wire.parse(op, Some(thread.args.data_size), bytes)
                else {
                    break;
                };
                if !count.add(outcome) {
                    thread.figures.wrong += 1;
                }
                self.answers = answers;
                parsed += whole;
                batch.left -= 1;
                self.waiting -= 1;
            }
            let took = now.saturating_duration_since(batch.at);
            thread.seen.add(count.stored + count.asked(), took);
            if counts {
                thread.figures.answered(&count, took);
                if thread.args.offered().is_some() {
                    thread.figures.windows.add(now, took, count.stored + count.asked());
                }
            }
            if batch.left > 0 {
                return Ok(parsed);
            }
            self.in_flight.pop_front();
        }
        if parsed < len {
            bail!("the server sent more than it was asked for");
        }
        Ok(parsed)
    }

    fn over(&self) -> bool {
        self.waiting == 0 && self.quota.left == 0
    }
}

fn write(stream: &mut Stream, bytes: &[u8], figures: &mut Figures) -> Result<usize> {
    match stream.write(bytes) {
        Ok(n) => {
            figures.bytes_out += n as u64;
            Ok(n)
        }
        Err(e) if would_block(&e) => Ok(0),
        Err(e) => Err(e).context("write"),
    }
}

fn would_block(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn wait(poll: &mut Poll, events: &mut Events, most: Option<Duration>) -> Result<()> {
    match poll.poll(events, most) {
        Err(e) if e.kind() != ErrorKind::Interrupted => Err(e.into()),
        _ => Ok(()),
    }
}

fn connect(
    args: &LoadArgs,
    server: SocketAddr,
    first_client: u64,
    poll: &mut Poll,
    events: &mut Events,
) -> Result<Vec<Client>> {
    let secure = Secure::new(args)?;
    let mut clients: Vec<Client> = Vec::with_capacity(args.clients);
    let (mut connected, mut up) = (vec![false; args.clients], vec![false; args.clients]);
    let mut open = 0;
    while open < args.clients {
        while clients.len() < args.clients.min(open + CONNECTING) {
            let n = clients.len();
            let mut stream =
                TcpStream::connect(server).with_context(|| format!("connect to {server}"))?;
            let both = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut stream, Token(n), both)?;
            let stream = match &secure {
                None => Stream::Plain(stream),
                Some(secure) => Stream::Tls(Box::new(secure.begin(stream)?)),
            };
            clients.push(Client {
                stream,
                requests: Requests::new(args, first_client + n as u64),
                quota: Quota::new(args, first_client + n as u64),
                due: VecDeque::new(),
                answers: Turns::new(args.ratio),
                in_flight: VecDeque::new(),
                waiting: 0,
                unsent: Vec::new(),
                partial: Vec::new(),
            });
        }
        wait(poll, events, None)?;
        for event in events.iter() {
            let n = event.token().0;
            if let Some(e) = clients[n].stream.socket().take_error()? {
                return Err(e).with_context(|| format!("connect to {server}"));
            }
            if event.is_writable() && !connected[n] {
                clients[n].stream.socket().set_nodelay(true)?;
                connected[n] = true;
            }
            if connected[n] && !up[n] {
                up[n] = clients[n].stream.is_up().with_context(|| format!("{server}: TLS"))?;
                open += usize::from(up[n]);
            }
        }
    }
    Ok(clients)
}

pub fn run(
    args: &LoadArgs,
    server: SocketAddr,
    first_client: u64,
    seen: &Seen,
    ready: &dyn Fn() -> Span,
) -> Result<Figures> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(1024);
    let mut clients = connect(args, server, first_client, &mut poll, &mut events)?;
    let mut thread = Thread {
        args,
        wire: Wire::new(args.protocol, args.data_size).expiring(args.expiry),
        figures: Figures::new()?,
        seen,
        out: Vec::new(),
        input: Vec::new(),
        span: ready(),
    };
    for client in &mut clients {
        client.quota.until = thread.span.until;
    }
    match args.offered() {
        Some(rate) => {
            // Not the seed of any client's keys.
            let dice = SmallRng::seed_from_u64(!args.seed ^ first_client);
            let due = Schedule::new(&thread, dice, rate / args.threads as f64);
            if args.rate.is_some() {
                open_loop(&mut thread, &mut clients, &mut poll, &mut events, due)?;
            } else {
                limited_loop(&mut thread, &mut clients, &mut poll, &mut events, due)?;
            }
        }
        None => closed_loop(&mut thread, &mut clients, &mut poll, &mut events)?,
    }
    Ok(thread.figures)
}

/// Each connection asks when answers are in.
fn closed_loop(
    thread: &mut Thread,
    clients: &mut [Client],
    poll: &mut Poll,
    events: &mut Events,
) -> Result<()> {
    let pipeline = thread.args.pipeline;
    for client in clients.iter_mut() {
        client.ask(pipeline, Instant::now(), thread)?;
    }
    let mut over = clients.iter().filter(|c| c.over()).count();
    while over < clients.len() {
        wait(poll, events, None)?;
        for event in events.iter() {
            let client = &mut clients[event.token().0];
            if client.over() {
                continue;
            }
            client.send_rest(thread)?;
            client.read(thread)?;
            if client.waiting == 0 || !thread.args.lockstep {
                client.ask(pipeline - client.waiting, Instant::now(), thread)?;
            }
            over += usize::from(client.over());
        }
    }
    Ok(())
}

/// Takes the answers that are there, and sends what waited for them.
pub(crate) fn answers(
    thread: &mut Thread,
    clients: &mut [Client],
    poll: &mut Poll,
    events: &mut Events,
    most: Option<Duration>,
) -> Result<()> {
    wait(poll, events, most)?;
    for event in events.iter() {
        let client = &mut clients[event.token().0];
        client.send_rest(thread)?;
        client.read(thread)?;
        client.ask_due(thread.args.pipeline, thread)?;
    }
    Ok(())
}
