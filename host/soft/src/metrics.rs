//! `stats` for Prometheus: its text format 0.0.4 over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{sleep, Builder};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::stats::Shared;

/// What goes up and down; all else only counts up.
const GAUGES: &[&str] = &[
    "uptime",
    "max_connections",
    "curr_connections",
    "connection_structures",
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
/// For a client that does not finish its request or does not take the answer: others wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers every HTTP request to `address` with the metrics, in a thread of its own.
pub fn serve(address: SocketAddr, shared: Arc<Shared>) -> Result<()> {
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot serve metrics on {address}"))?;
    Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => drop(answer(stream, &shared)),
                // No file descriptor is left, for instance.
                Err(_) => sleep(PATIENCE),
            }
        }
    })?;
    Ok(())
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let start = Instant::now();
    let mut head = [0; HEAD];
    let mut len = 0;
    while len < HEAD && !head[..len].windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut head[len..])? {
            n if n > 0 && start.elapsed() < PATIENCE => len += n,
            _ => return Ok(()),
        }
    }
    let body = text(shared);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn text(shared: &Shared) -> String {
    let mut text = String::new();
    shared.general(None, &mut |name, value| {
        if !NONE.contains(&name) {
            let kind = if GAUGES.contains(&name) { "gauge" } else { "counter" };
            let name = format!("wirekv_{name}{}", if kind == "counter" { "_total" } else { "" });
            text += &format!("# TYPE {name} {kind}\n{name} {value}\n");
        }
    });
    text
}
