//! `stats` for Prometheus: its text format 0.0.4 over HTTP.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use crate::shared::Shared;

/// What goes up and down; all else only counts up.
const GAUGES: &[&str] = &[
    "uptime",
    "max_connections",
    "curr_connections",
    "connection_structures",
    "reserved_fds",
    "limit_maxbytes",
    "accepting_conns",
    "threads",
    "hash_power_level",
    "hash_bytes",
    "hash_is_expanding",
    "bytes",
    "curr_items",
    "log_bytes",
];
/// What is no metric.
const NONE: &[&str] = &["pid", "time", "version", "pointer_size"];

/// Bytes of a request that are read; of more the rest does not matter.
const HEAD: usize = 8 << 10;
/// And so many of what comes, the end of the request or not, are read in all.
const MOST: usize = 1 << 20;
const HEAD_END: &[u8] = b"\r\n\r\n";
/// For a client that does not finish its request or does not take the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Clients at once: for one more, the oldest gives way.
const CLIENTS: usize = 64;
const LISTENER: Token = Token(usize::MAX);

struct Client {
    stream: TcpStream,
    since: Instant,
    /// Bytes of the request that came, and how many of the last are the beginning of `HEAD_END`.
    came: usize,
    ending: usize,
    /// What is left of the answer. When nothing is, the client is told the end, and what it still
    /// sends is read: else a reset would take the answer back.
    answer: Option<Vec<u8>>,
}

/// Answers every HTTP request to `address` with the metrics, in a thread of its own.
pub fn serve(address: SocketAddr, shared: Arc<Shared>) -> Result<()> {
    let context = || format!("cannot serve metrics on {address}");
    let mut listener = TcpListener::bind(address).with_context(context)?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    Builder::new().name("metrics".into()).spawn(move || {
        let mut events = Events::with_capacity(CLIENTS);
        let mut clients = Slab::with_capacity(CLIENTS);
        loop {
            let wait = (!clients.is_empty()).then_some(PATIENCE / 10);
            // No file descriptor is left, for instance: again a little later.
            if !accept(&listener, &poll, &mut clients, &shared) {
                std::thread::sleep(PATIENCE / 10);
                continue;
            }
            if poll.poll(&mut events, wait).is_err() {
                continue;
            }
            for event in events.iter().filter(|event| event.token() != LISTENER) {
                let Token(number) = event.token();
                if clients.get_mut(number).is_some_and(|client| client.serve(&shared)) {
                    clients.remove(number);
                }
            }
            clients.retain(|_, client| client.since.elapsed() < PATIENCE);
        }
    })?;
    Ok(())
}

/// Takes whoever waits. False: some may still wait.
fn accept(
    listener: &TcpListener,
    poll: &Poll,
    clients: &mut Slab<Client>,
    shared: &Shared,
) -> bool {
    loop {
        let stream = match listener.accept() {
            Ok((_, from)) if !shared.options.allows(from.ip()) => {
                shared.not_allowed();
                continue;
            }
            Ok((stream, _)) => stream,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return true,
            // The client left again.
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => continue,
            Err(_) => return false,
        };
        let mut client = Client::new(stream);
        if client.serve(shared) {
            continue;
        }
        if clients.len() == CLIENTS {
            let oldest = clients.iter().min_by_key(|(_, client)| client.since).map(|(n, _)| n);
            clients.remove(oldest.expect("there are many"));
        }
        let place = clients.vacant_entry();
        let both = Interest::READABLE | Interest::WRITABLE;
        if poll.registry().register(&mut client.stream, Token(place.key()), both).is_ok() {
            place.insert(client);
        }
    }
}

impl Client {
    fn new(stream: TcpStream) -> Client {
        Client { stream, since: Instant::now(), came: 0, ending: 0, answer: None }
    }

    /// Reads and writes what can be. True: it is over.
    fn serve(&mut self, shared: &Shared) -> bool {
        loop {
            let result = match &mut self.answer {
                Some(answer) if !answer.is_empty() => {
                    let result = self.stream.write(answer).inspect(|n| drop(answer.drain(..*n)));
                    if answer.is_empty() {
                        let _ = self.stream.shutdown(Shutdown::Write);
                    }
                    result
                }
                _ if self.came > MOST => return true,
                _ => self.read(),
            };
            match result {
                Ok(0) => return true,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
            let whole = self.ending == HEAD_END.len() || self.came >= HEAD;
            if whole && self.answer.is_none() {
                self.answer = Some(answer(shared));
            }
        }
    }

    fn read(&mut self) -> std::io::Result<usize> {
        let mut bytes = [0; 1024];
        let count = self.stream.read(&mut bytes)?;
        self.came += count;
        for byte in &bytes[..count] {
            self.ending = match HEAD_END.get(self.ending) {
                None => break,
                Some(next) if byte == next => self.ending + 1,
                Some(_) => usize::from(*byte == HEAD_END[0]),
            };
        }
        Ok(count)
    }
}

fn answer(shared: &Shared) -> Vec<u8> {
    let mut body = String::new();
    shared.general(None, &mut |name, value| {
        if !NONE.contains(&name) {
            let kind = if GAUGES.contains(&name) { "gauge" } else { "counter" };
            let name = format!("wirekv_{name}{}", if kind == "counter" { "_total" } else { "" });
            body += &format!("# TYPE {name} {kind}\n{name} {value}\n");
        }
    });
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    (head + &body).into()
}
