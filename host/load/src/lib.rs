//! Load for a cache server: many clients, each with requests in flight, and how long the answers
//! took; and misses of a cache that is smaller than the data.

mod cpu;
pub mod etc;
mod keys;
pub mod miss;
mod progress;
mod protocol;
mod rate;
mod report;
mod tcp;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod udp;
mod windows;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use clap::Parser;
use hdrhistogram::Histogram;

use cpu::CpuTime;
use keys::{KeyPattern, Keys};
use progress::{Progress, Seen};
pub use protocol::Protocol;
use protocol::{Outcome, Wire};
use windows::Windows;

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
    /// A connection asks again when all its answers are in, not as soon as one is.
    #[arg(long)]
    pub lockstep: bool,
    /// Requests a second of all connections, whether answers are in or not: each time `--pipeline`
    /// of them on one random connection, at random times. Latency counts from when a request was
    /// due. Instead of asking when answers are in.
    #[arg(long, value_name = "PER_SECOND", requires = "test_time",
        conflicts_with_all = ["lockstep", "udp"])]
    pub rate: Option<f64>,
    /// Requests a second of each connection on average, due one by one at random times; up to
    /// `--pipeline` in flight, each sent when it is due or, later, as soon as an answer has made
    /// room. Latency counts from when a request was due.
    #[arg(long, value_name = "PER_SECOND", requires = "test_time",
        conflicts_with_all = ["rate", "lockstep", "udp"])]
    pub rate_limiting: Option<f64>,
    /// SET:GET.
    #[arg(long, default_value = "1:10", value_parser = parse_ratio)]
    pub ratio: (u32, u32),
    /// Bytes of a value.
    #[arg(short = 'd', long, default_value_t = 32)]
    pub data_size: usize,
    /// Seconds that values live. Default: for ever.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true)]
    pub expiry: u32,
    /// How keys are drawn, SET:GET: R random, S sequential, G Gaussian around the middle.
    #[arg(long, default_value = "R:R")]
    pub key_pattern: KeyPattern,
    #[arg(long, default_value = "memtier-")]
    pub key_prefix: String,
    /// Bytes of a key: zeros between prefix and number.
    #[arg(long, value_name = "BYTES")]
    pub key_size: Option<usize>,
    #[arg(long, default_value_t = 0)]
    pub key_minimum: u64,
    #[arg(long, default_value_t = 10_000_000)]
    pub key_maximum: u64,
    /// Before anything is measured, store each key of the range once.
    #[arg(long)]
    pub populate: bool,
    /// Requests of each connection.
    #[arg(short = 'n', long, default_value_t = 10_000, conflicts_with = "test_time")]
    pub requests: u64,
    /// Seconds, instead of a number of requests.
    #[arg(long, value_name = "SECONDS")]
    pub test_time: Option<f64>,
    /// Seconds before the measured ones.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, requires = "test_time")]
    pub warmup: f64,
    /// Measure the CPU time of this process: the server.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Use UDP.
    #[arg(long)]
    pub udp: bool,
    /// Use TLS.
    #[arg(long, conflicts_with = "udp")]
    pub tls: bool,
    /// Who signs the server's certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub cacert: Option<PathBuf>,
    /// Take any certificate of the server.
    #[arg(long, requires = "tls", conflicts_with = "cacert")]
    pub tls_skip_verify: bool,
    /// The connections' own certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub cert: Option<PathBuf>,
    /// Its private key, if that is not in the same file.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Seed of the random keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[arg(long, value_name = "FILE", default_value = "build/bench/load.json")]
    pub json_out_file: PathBuf,
    /// Say each second on standard error how far it is and what came in that second. Where that is
    /// a terminal it is said without being asked for, in one line.
    #[arg(long)]
    pub progress: bool,
    /// This run is the one that stores each key once.
    #[arg(skip)]
    fills: bool,
}

impl LoadArgs {
    /// Requests a second of all connections that are due whether answers are in or not.
    pub fn offered(&self) -> Option<f64> {
        let all = |each: f64| each * (self.threads * self.clients) as f64;
        self.rate.or(self.rate_limiting.map(all))
    }

    /// Requests of a client, unless time ends them.
    fn requests_of(&self, client: u64) -> u64 {
        if self.fills {
            let (from, until) = self.share(client);
            return until - from;
        }
        self.requests
    }

    /// ... of all clients.
    fn total(&self) -> u64 {
        match self.fills {
            true => self.keys(),
            false => self.requests.saturating_mul((self.threads * self.clients) as u64),
        }
    }

    /// Keys of the range.
    fn keys(&self) -> u64 {
        (self.key_maximum - self.key_minimum).saturating_add(1)
    }

    /// The part of the range that is one client's: the first one, and that behind the last one.
    fn share(&self, client: u64) -> (u64, u64) {
        let clients = (self.threads * self.clients) as u128;
        let at = |n: u64| (u128::from(self.keys()) * u128::from(n) / clients) as u64;
        (at(client), at(client + 1))
    }

    /// The run that stores each key once.
    fn filling(&self) -> LoadArgs {
        LoadArgs {
            fills: true,
            ratio: (1, 0),
            key_pattern: KeyPattern::SEQUENTIAL,
            pipeline: self.pipeline.max(FILLING),
            lockstep: false,
            rate: None,
            rate_limiting: None,
            test_time: None,
            warmup: 0.0,
            ..self.clone()
        }
    }
}

/// Requests of a connection in flight, at least, while keys are stored that are not measured.
const FILLING: usize = 16;

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
    /// Answers that are not what the request asked for, refused SETs among them.
    pub wrong: u64,
    /// Datagrams without an answer in time.
    pub lost: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// With a rate: how long after they were due requests were sent. Large figures here mean that
    /// the generator, not the server, is slow.
    pub late: Histogram<u64>,
    /// With a rate.
    pub windows: Windows,
}

/// Answers by kind.
#[derive(Default)]
struct Count {
    stored: u64,
    hits: u64,
    misses: u64,
}

impl Count {
    /// GETs.
    fn asked(&self) -> u64 {
        self.hits + self.misses
    }

    /// False when the answer is wrong.
    fn add(&mut self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Stored => self.stored += 1,
            Outcome::Hit => self.hits += 1,
            Outcome::Miss => self.misses += 1,
            Outcome::Refused | Outcome::Wrong => return false,
        }
        true
    }
}

impl Figures {
    fn new() -> Result<Figures> {
        // Nanoseconds up to a minute, to three digits.
        let histogram = || Histogram::new_with_bounds(1, 60_000_000_000, 3);
        Ok(Figures {
            set: histogram()?,
            get: histogram()?,
            hits: 0,
            misses: 0,
            wrong: 0,
            lost: 0,
            bytes_out: 0,
            bytes_in: 0,
            late: histogram()?,
            windows: Windows::new()?,
        })
    }

    /// Counts answers that took equally long.
    fn answered(&mut self, count: &Count, took: Duration) {
        let took = took.as_nanos() as u64;
        self.hits += count.hits;
        self.misses += count.misses;
        self.set.saturating_record_n(took.max(1), count.stored);
        self.get.saturating_record_n(took.max(1), count.asked());
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
        self.late.add(&other.late)?;
        self.windows.join(&other.windows);
        Ok(())
    }
}

/// When answers are counted.
#[derive(Clone, Copy)]
pub struct Span {
    pub from: Instant,
    pub until: Option<Instant>,
}

impl Span {
    fn holds(&self, now: Instant) -> bool {
        now >= self.from && self.until.is_none_or(|t| now < t)
    }
}

/// When a client has sent its last request.
#[derive(Clone, Copy)]
pub struct Quota {
    left: u64,
    until: Option<Instant>,
}

impl Quota {
    fn new(args: &LoadArgs, client: u64) -> Quota {
        let left = if args.test_time.is_some() { u64::MAX } else { args.requests_of(client) };
        Quota { left, until: None }
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

/// The requests of one client: its keys and the mix of operations.
pub struct Requests {
    keys: Keys,
    turns: Turns,
    key: Vec<u8>,
    value_len: usize,
}

impl Requests {
    fn new(args: &LoadArgs, client: u64) -> Requests {
        Requests {
            keys: Keys::new(args, client),
            turns: Turns::new(args.ratio),
            key: Vec::new(),
            value_len: args.data_size,
        }
    }

    /// Appends a request's bytes.
    fn write(&mut self, wire: &Wire, out: &mut Vec<u8>) -> Op {
        let op = self.turns.next();
        self.keys.write(op, &mut self.key);
        match op {
            Op::Set => wire.set(&self.key, self.value_len, out),
            Op::Get => wire.get(&self.key, out),
        }
        op
    }
}

/// SETs and GETs in turn. Answers come in the order of the requests, so the same turns once more
/// tell what an answer is for.
#[derive(Clone)]
struct Turns {
    ratio: (u32, u32),
    turn: u32,
}

impl Turns {
    fn new(ratio: (u32, u32)) -> Turns {
        Turns { ratio, turn: 0 }
    }

    fn next(&mut self) -> Op {
        let op = if self.turn < self.ratio.0 { Op::Set } else { Op::Get };
        self.turn += 1;
        if self.turn == self.ratio.0 + self.ratio.1 {
            self.turn = 0;
        }
        op
    }
}

/// Finds the server's address.
fn resolve(server: &str, port: u16) -> Result<SocketAddr> {
    (server, port)
        .to_socket_addrs()
        .with_context(|| format!("server {server}"))?
        .next()
        .ok_or_else(|| anyhow!("server {server} has no address"))
}

/// CPU time that the server, where its process is known, and this process used.
pub struct Used {
    pub server: Option<CpuTime>,
    pub generator: CpuTime,
}

impl Used {
    fn so_far(args: &LoadArgs) -> Result<Used> {
        Ok(Used {
            server: args.server_pid.map(|pid| CpuTime::of(&pid.to_string())).transpose()?,
            generator: CpuTime::of("self")?,
        })
    }

    fn since(&self, before: &Used) -> Used {
        let server = self.server.zip(before.server).map(|(now, then)| now.since(then));
        Used { server, generator: self.generator.since(before.generator) }
    }
}

pub fn load(args: &LoadArgs) -> Result<()> {
    if args.threads == 0 || args.clients == 0 || args.pipeline == 0 {
        bail!("--threads, --clients and --pipeline are at least 1");
    }
    if args.key_minimum > args.key_maximum {
        bail!("--key-minimum is larger than --key-maximum");
    }
    if args.udp && args.protocol != Protocol::MemcacheText {
        bail!("--udp is for --protocol memcache_text");
    }
    let positive = |n: f64| n.is_finite() && n > 0.0;
    if ![args.test_time, args.rate, args.rate_limiting].into_iter().flatten().all(positive) {
        bail!("--test-time, --rate and --rate-limiting are larger than 0");
    }
    if !(args.warmup.is_finite() && args.warmup >= 0.0) {
        bail!("--warmup is not negative");
    }
    let server = resolve(&args.server, args.port)?;
    if args.populate {
        let (all, _, took) = run(&args.filling(), server)?;
        if all.wrong + all.lost > 0 {
            bail!("{} of {} keys were not stored", all.wrong + all.lost, args.keys());
        }
        println!("{} keys stored in {:.1} s", args.keys(), took.as_secs_f64());
    }
    let (all, used, took) = run(args, server)?;
    report::print(&all, &used, took);
    report::write_json(&args.json_out_file, args, &all, &used, took)?;
    if all.wrong > 0 {
        bail!("{} answers were wrong", all.wrong);
    }
    Ok(())
}

/// All threads' figures, and the time that was measured.
fn run(args: &LoadArgs, server: SocketAddr) -> Result<(Figures, Used, Duration)> {
    // All connections stand before the first request goes out: a server that is busy accepting
    // is not what is measured.
    let connected = Barrier::new(args.threads + 1);
    let begin = OnceLock::new();
    let ready = || {
        connected.wait();
        let begin = *begin.get_or_init(Instant::now) + Duration::from_secs_f64(args.warmup);
        let until = args.test_time.map(|s| begin + Duration::from_secs_f64(s));
        Span { from: begin, until }
    };
    let seen: Vec<Seen> = (0..args.threads).map(|_| Seen::default()).collect();
    let progress = Progress::new(args);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads)
            .map(|t| {
                let (ready, seen) = (&ready, &seen[t]);
                scope.spawn(move || {
                    // A thread that cannot connect would leave the others at the barrier.
                    run_thread(args, server, (t * args.clients) as u64, seen, ready).unwrap_or_else(
                        |e| {
                            eprintln!("wirekv load: {e:#}");
                            std::process::exit(1)
                        },
                    )
                })
            })
            .collect();
        let span = ready();
        let watch = progress.as_ref().map(|progress| scope.spawn(|| progress.watch(&seen)));
        thread::sleep(span.from.saturating_duration_since(Instant::now()));
        let before = Used::so_far(args)?;
        let since = Instant::now();
        let mut measured = None;
        if let Some(until) = span.until {
            thread::sleep(until.saturating_duration_since(Instant::now()));
            measured = Some((Used::so_far(args)?, since.elapsed()));
        }
        let mut all = Figures::new()?;
        for t in threads {
            all.add(&t.join().map_err(|_| anyhow!("a thread failed"))?)?;
        }
        if let Some((progress, watch)) = progress.as_ref().zip(watch) {
            progress.end(watch.thread());
        }
        let (after, took) = match measured {
            Some(m) => m,
            None => (Used::so_far(args)?, since.elapsed()),
        };
        Ok((all, after.since(&before), took))
    })
}

fn run_thread(
    args: &LoadArgs,
    server: SocketAddr,
    first_client: u64,
    seen: &Seen,
    ready: &dyn Fn() -> Span,
) -> Result<Figures> {
    if args.udp {
        udp::run(args, server, first_client, seen, ready)
    } else {
        tcp::run(args, server, first_client, seen, ready)
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
        let wire = Wire::new(args.protocol, args.data_size);
        let ops: Vec<Op> = (0..4).map(|_| requests.write(&wire, &mut out)).collect();
        assert_eq!(ops, [Op::Set, Op::Get, Op::Get, Op::Set]);
        let text = "set memtier-0 0 0 3\r\nabc\r\nget memtier-0\r\nget memtier-1\r\n\
                    set memtier-1 0 0 3\r\nabc\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn quota_of_requests() {
        let now = Instant::now();
        let mut quota = Quota::new(&args(&["-n", "2"]), 0);
        assert_eq!([quota.take(now), quota.take(now), quota.take(now)], [true, true, false]);
    }

    #[test]
    fn each_key_is_stored_once() {
        let now = Instant::now();
        for (most, clients) in [("10", "3"), ("1", "50"), ("1000", "7")] {
            let args =
                args(&["--key-minimum", "1", "--key-maximum", most, "-c", clients, "-t", "2"]);
            let fill = args.filling();
            let wire = Wire::new(fill.protocol, fill.data_size);
            let mut stored = Vec::new();
            for client in 0..(fill.threads * fill.clients) as u64 {
                let mut requests = Requests::new(&fill, client);
                let mut quota = Quota::new(&fill, client);
                while quota.take(now) {
                    assert_eq!(requests.write(&wire, &mut Vec::new()), Op::Set);
                    stored.push(String::from_utf8(requests.key.clone()).unwrap());
                }
            }
            let most = most.parse().unwrap();
            assert_eq!(fill.total(), most);
            assert!(stored.into_iter().eq((1..=most).map(|n| format!("memtier-{n}"))));
        }
    }

    #[test]
    fn quota_of_time() {
        let now = Instant::now();
        let mut quota = Quota::new(&args(&["--test-time", "1"]), 0);
        quota.until = Some(now + Duration::from_secs(1));
        assert!(quota.take(now));
        assert!(!quota.take(now + Duration::from_secs(1)));
        assert!(!quota.take(now));
    }

    #[test]
    fn spans() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let span = Span { from: now, until: Some(later) };
        assert!(span.holds(now) && !span.holds(later));
        assert!(!Span { from: later, until: None }.holds(now));
    }

    #[test]
    fn ratios() {
        assert_eq!(parse_ratio("1:10"), Ok((1, 10)));
        for bad in ["", "1", "0:0", "1:", "a:b", "1:2:3"] {
            assert!(parse_ratio(bad).is_err(), "{bad}");
        }
    }
}
