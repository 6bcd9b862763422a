//! `wirekv load`: many clients, each with requests in flight, and how long the answers took.

mod keys;
mod reply;
mod report;
mod tcp;
mod udp;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use clap::{Parser, ValueEnum};
use hdrhistogram::Histogram;

use keys::{KeyPattern, Keys};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    #[value(name = "memcache_text")]
    MemcacheText,
}

#[derive(Clone, Parser)]
pub struct LoadArgs {
    /// Server.
    #[arg(short = 's', long, default_value = "127.0.0.1")]
    pub server: String,
    #[arg(short = 'p', long, default_value_t = 11211)]
    pub port: u16,
    #[arg(short = 'P', long, value_enum, default_value = "memcache_text")]
    pub protocol: Protocol,
    /// Threads.
    #[arg(short = 't', long, default_value_t = 1)]
    pub threads: usize,
    /// Connections of each thread.
    #[arg(short = 'c', long, default_value_t = 50)]
    pub clients: usize,
    /// Requests of each connection in flight.
    #[arg(long, default_value_t = 1)]
    pub pipeline: usize,
    /// SET:GET.
    #[arg(long, default_value = "1:10", value_parser = parse_ratio)]
    pub ratio: (u32, u32),
    /// Bytes of a value.
    #[arg(short = 'd', long, default_value_t = 32)]
    pub data_size: usize,
    /// How keys are drawn, SET:GET: R random, S sequential, G Gaussian around the middle.
    #[arg(long, default_value = "R:R")]
    pub key_pattern: KeyPattern,
    #[arg(long, default_value = "memtier-")]
    pub key_prefix: String,
    #[arg(long, default_value_t = 0)]
    pub key_minimum: u64,
    #[arg(long, default_value_t = 10_000_000)]
    pub key_maximum: u64,
    /// Requests of each connection.
    #[arg(short = 'n', long, default_value_t = 10_000, conflicts_with = "test_time")]
    pub requests: u64,
    /// Seconds, instead of a number of requests.
    #[arg(long, value_name = "SECONDS")]
    pub test_time: Option<u64>,
    /// Use UDP.
    #[arg(long)]
    pub udp: bool,
    /// Seed of the random keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[arg(long, value_name = "FILE", default_value = "build/bench/load.json")]
    pub json_out_file: PathBuf,
}

fn parse_ratio(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(':').and_then(|(set, get)| {
        let (set, get) = (set.parse().ok()?, get.parse().ok()?);
        (set > 0 || get > 0).then_some((set, get))
    });
    numbers.ok_or_else(|| format!("'{text}' is not a ratio SET:GET such as 1:10"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Set,
    Get,
}

/// What one or more clients saw.
pub struct Figures {
    pub set: Histogram<u64>,
    pub get: Histogram<u64>,
    pub hits: u64,
    pub misses: u64,
    /// Answers that are not what the request asked for.
    pub wrong: u64,
    /// Datagrams without an answer in time.
    pub lost: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
}

impl Figures {
    fn new() -> Result<Figures> {
        // Microseconds up to a minute, to three digits.
        let histogram = || Histogram::new_with_bounds(1, 60_000_000, 3);
        Ok(Figures {
            set: histogram()?,
            get: histogram()?,
            hits: 0,
            misses: 0,
            wrong: 0,
            lost: 0,
            bytes_out: 0,
            bytes_in: 0,
        })
    }

    fn answered(&mut self, op: Op, took: Duration) {
        let histogram = if op == Op::Set { &mut self.set } else { &mut self.get };
        histogram.saturating_record((took.as_micros() as u64).max(1));
    }

    fn add(&mut self, other: &Figures) -> Result<()> {
        self.set.add(&other.set)?;
        self.get.add(&other.get)?;
        self.hits += other.hits;
        self.misses += other.misses;
        self.wrong += other.wrong;
        self.lost += other.lost;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        Ok(())
    }
}

/// When a client has sent its last request.
#[derive(Clone, Copy)]
pub struct Quota {
    left: u64,
    until: Option<Instant>,
}

impl Quota {
    fn new(args: &LoadArgs, start: Instant) -> Quota {
        match args.test_time {
            Some(s) => Quota { left: u64::MAX, until: Some(start + Duration::from_secs(s)) },
            None => Quota { left: args.requests, until: None },
        }
    }

    /// Takes one request from the quota.
    fn take(&mut self, now: Instant) -> bool {
        if self.until.is_some_and(|t| now >= t) {
            self.left = 0;
        }
        let some = self.left > 0;
        self.left -= u64::from(some);
        some
    }
}

/// The requests of one client: its keys, the mix of operations, the value.
pub struct Requests {
    keys: Keys,
    ratio: (u32, u32),
    turn: u32,
    value: Vec<u8>,
}

impl Requests {
    fn new(args: &LoadArgs, client: u64) -> Requests {
        Requests {
            keys: Keys::new(args, client),
            ratio: args.ratio,
            turn: 0,
            value: value(args.data_size),
        }
    }

    /// Appends a request's bytes.
    fn write(&mut self, out: &mut Vec<u8>) -> Op {
        let op = if self.turn < self.ratio.0 { Op::Set } else { Op::Get };
        self.turn = (self.turn + 1) % (self.ratio.0 + self.ratio.1);
        match op {
            Op::Set => {
                out.extend_from_slice(b"set ");
                self.keys.write(op, out);
                out.extend_from_slice(format!(" 0 0 {}\r\n", self.value.len()).as_bytes());
                out.extend_from_slice(&self.value);
                out.extend_from_slice(b"\r\n");
            }
            Op::Get => {
                out.extend_from_slice(b"get ");
                self.keys.write(op, out);
                out.extend_from_slice(b"\r\n");
            }
        }
        op
    }
}

/// The value of every key, whatever its length: what a GET brings back can be checked.
fn value(len: usize) -> Vec<u8> {
    (0..len).map(value_byte).collect()
}

fn value_byte(n: usize) -> u8 {
    b'a' + (n % 26) as u8
}

pub fn load(args: &LoadArgs) -> Result<()> {
    if args.threads == 0 || args.clients == 0 || args.pipeline == 0 {
        bail!("--threads, --clients and --pipeline are at least 1");
    }
    if args.key_minimum > args.key_maximum {
        bail!("--key-minimum is larger than --key-maximum");
    }
    crate::signals::raise_file_limit();
    let server = (args.server.as_str(), args.port)
        .to_socket_addrs()
        .with_context(|| format!("server {}", args.server))?
        .next()
        .ok_or_else(|| anyhow!("server {} has no address", args.server))?;

    let start = Instant::now();
    let threads: Vec<_> = (0..args.threads)
        .map(|t| {
            let args = args.clone();
            thread::spawn(move || run_thread(&args, server, (t * args.clients) as u64, start))
        })
        .collect();
    let mut all = Figures::new()?;
    for t in threads {
        all.add(&t.join().map_err(|_| anyhow!("a thread failed"))??)?;
    }
    report::print(&all, start.elapsed());
    report::write_json(&args.json_out_file, args, &all, start.elapsed())?;
    if all.wrong > 0 {
        bail!("{} answers were wrong", all.wrong);
    }
    Ok(())
}

fn run_thread(
    args: &LoadArgs,
    server: SocketAddr,
    first_client: u64,
    start: Instant,
) -> Result<Figures> {
    if args.udp {
        udp::run(args, server, first_client, start)
    } else {
        tcp::run(args, server, first_client, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(list: &[&str]) -> LoadArgs {
        LoadArgs::parse_from(std::iter::once("load").chain(list.iter().copied()))
    }

    #[test]
    fn requests_follow_ratio_and_keys() {
        let args = args(&["--ratio", "1:2", "--key-pattern", "S:S", "-d", "3"]);
        let mut requests = Requests::new(&args, 0);
        let mut out = Vec::new();
        let ops: Vec<Op> = (0..4).map(|_| requests.write(&mut out)).collect();
        assert_eq!(ops, [Op::Set, Op::Get, Op::Get, Op::Set]);
        let text = "set memtier-0 0 0 3\r\nabc\r\nget memtier-0\r\nget memtier-1\r\n\
                    set memtier-1 0 0 3\r\nabc\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn quota_of_requests() {
        let now = Instant::now();
        let mut quota = Quota::new(&args(&["-n", "2"]), now);
        assert_eq!([quota.take(now), quota.take(now), quota.take(now)], [true, true, false]);
    }

    #[test]
    fn quota_of_time() {
        let now = Instant::now();
        let mut quota = Quota::new(&args(&["--test-time", "1"]), now);
        assert!(quota.take(now));
        assert!(!quota.take(now + Duration::from_secs(1)));
        assert!(!quota.take(now));
    }

    #[test]
    fn ratios() {
        assert_eq!(parse_ratio("1:10"), Ok((1, 10)));
        for bad in ["", "1", "0:0", "1:", "a:b", "1:2:3"] {
            assert!(parse_ratio(bad).is_err(), "{bad}");
        }
    }
}
