//! `stats` for Prometheus: its text format 0.0.4 over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

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
const HEAD: u64 = 8 << 10;

/// Answers every HTTP request to `address` with the metrics, in a thread of its own.
pub fn serve(address: SocketAddr, shared: Arc<Shared>) -> Result<()> {
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot serve metrics on {address}"))?;
    Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &shared);
        }
    })?;
    Ok(())
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut head = BufReader::new((&stream).take(HEAD)).lines();
    while head.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
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
