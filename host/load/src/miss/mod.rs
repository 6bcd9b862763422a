//! Miss ratio of a cache that is smaller than the data: asks for keys and stores those missed.

mod exact;
mod workload;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, Context, Result};
use clap::{Parser, ValueEnum};
use serde_json::json;

use crate::protocol::{decimal, Outcome, Protocol, Wire};
use crate::{resolve, Op};
use workload::{Sizes, Workload};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Keys by Zipf's law.
    Zipf,
    /// The same, but a share of the requests is for keys that never come again.
    OneHit,
    /// The same, with runs of keys that come in order in between.
    Scan,
    /// Keys from a file.
    Trace,
}

#[derive(Clone, Parser)]
pub struct MissArgs {
    /// Server.
    #[arg(short = 's', long, default_value = "127.0.0.1")]
    pub server: String,
    #[arg(short = 'p', long, default_value_t = 11211)]
    pub port: u16,
    #[arg(short = 'P', long, value_enum, default_value = "memcache_text")]
    pub protocol: Protocol,
    #[arg(short = 'w', long, value_enum, default_value = "zipf")]
    pub workload: Kind,
    /// Number of keys that come by Zipf's law.
    #[arg(long, default_value_t = 1_000_000)]
    pub keys: u64,
    /// Zipf's exponent.
    #[arg(long, default_value_t = 0.99)]
    pub exponent: f64,
    /// Share of keys that never come again (one-hit), or of keys of runs (scan).
    #[arg(long, default_value_t = 0.2)]
    pub share: f64,
    /// Keys of a run (scan).
    #[arg(long, default_value_t = 100_000)]
    pub run: u64,
    /// Keys that come in order (scan) before the first comes again.
    #[arg(long, default_value_t = 1_000_000)]
    pub scanned: u64,
    /// Keys of a trace: 32-bit numbers, big end first.
    #[arg(long, value_name = "FILE", required_if_eq("workload", "trace"))]
    pub trace: Option<PathBuf>,
    /// Requests; of a trace, all at most.
    #[arg(short = 'n', long, default_value_t = 5_000_000)]
    pub requests: u64,
    /// Requests before misses are counted.
    #[arg(long, default_value_t = 0)]
    pub warmup: u64,
    /// Bytes of a key.
    #[arg(long, default_value_t = 36, value_parser = clap::value_parser!(u32).range(12..=250))]
    pub key_size: u32,
    /// Bytes of a value.
    #[arg(short = 'd', long, default_value_t = 195)]
    pub data_size: usize,
    /// Keys and values as large as those of Facebook's ETC pool, instead of all equally large.
    #[arg(long)]
    pub etc_sizes: bool,
    /// Keys that are asked for at once.
    #[arg(long, default_value_t = 64)]
    pub batch: usize,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Asks no server, but exact LRU and S3-FIFO with room for this many items.
    #[arg(long, value_name = "ITEMS")]
    pub exact: Option<usize>,
}

/// What came of the requests.
#[derive(Default)]
struct Seen {
    requests: u64,
    misses: u64,
    /// Misses of keys that came for the first time, which no cache can avoid.
    first: u64,
    /// Keys that were to be stored, and how often the server refused for lack of memory. A server
    /// may; it then misses the key the next time.
    stored: u64,
    refused: u64,
}

pub fn miss(args: &MissArgs) -> Result<()> {
    if args.batch == 0 || args.keys == 0 || args.run == 0 || args.scanned == 0 {
        bail!("--batch, --keys, --run and --scanned are at least 1");
    }
    if !(args.exponent.is_finite() && args.exponent >= 0.0) {
        bail!("--exponent is not negative");
    }
    if !(args.share > 0.0 && args.share < 1.0) {
        bail!("--share is larger than 0 and smaller than 1");
    }
    let workload = Workload::new(args)?;
    if let Some(items) = args.exact {
        println!("{}", exact::run(workload, items, args));
        return Ok(());
    }
    let began = Instant::now();
    let seen = Driver::new(args)?.run(workload, args)?;
    let value = json!({
        "requests": seen.requests,
        "misses": seen.misses,
        "miss_ratio": seen.misses as f64 / seen.requests.max(1) as f64,
        "first_ratio": seen.first as f64 / seen.requests.max(1) as f64,
        "refused_ratio": seen.refused as f64 / seen.stored.max(1) as f64,
        "seconds": began.elapsed().as_secs_f64(),
    });
    println!("{value}");
    Ok(())
}

/// One connection, on which a batch of GETs, then SETs of the keys that were missing, then GETs of
/// keys that the batch held more than once: in this order the last find what the SETs stored, as
/// they would one by one.
struct Driver {
    stream: TcpStream,
    wire: Wire,
    sizes: Sizes,
    out: Vec<u8>,
    input: Vec<u8>,
    key: Vec<u8>,
}

impl Driver {
    fn new(args: &MissArgs) -> Result<Driver> {
        let server = resolve(&args.server, args.port)?;
        let stream = TcpStream::connect(server).with_context(|| format!("connect to {server}"))?;
        stream.set_nodelay(true)?;
        let sizes = Sizes::new(args);
        Ok(Driver {
            stream,
            wire: Wire::new(args.protocol, sizes.longest_value()),
            sizes,
            out: Vec::new(),
            input: vec![0; 1 << 20],
            key: Vec::new(),
        })
    }

    fn run(&mut self, workload: Workload, args: &MissArgs) -> Result<Seen> {
        let mut seen = Seen::default();
        let mut marks = Marks::default();
        let (mut once, mut again, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let mut counts = Vec::new();
        let mut keys = workload.enumerate().peekable();
        let mut batch = 0;
        while keys.peek().is_some() {
            batch += 1;
            once.clear();
            again.clear();
            counts.clear();
            for (n, key) in keys.by_ref().take(args.batch) {
                let counted = n as u64 >= args.warmup;
                let before = marks.mark(key, batch);
                seen.requests += u64::from(counted);
                seen.first += u64::from(counted && before == 0);
                if before == batch {
                    again.push((key, counted));
                } else {
                    once.push(key);
                    counts.push(counted);
                }
            }
            missing.clear();
            self.ask(Op::Get, &once)?;
            let mut misses = 0;
            self.answers(Op::Get, &once, |n, outcome| {
                if outcome == Outcome::Miss {
                    misses += u64::from(counts[n]);
                    missing.push(once[n]);
                }
            })?;
            self.ask(Op::Set, &missing)?;
            seen.stored += missing.len() as u64;
            self.answers(Op::Set, &missing, |_, outcome| {
                seen.refused += u64::from(outcome == Outcome::Refused);
            })?;
            once.clear();
            once.extend(again.iter().map(|(key, _)| *key));
            self.ask(Op::Get, &once)?;
            // A key that is gone already is missed, and not stored: it was just now.
            self.answers(Op::Get, &once, |n, outcome| {
                misses += u64::from(outcome == Outcome::Miss && again[n].1);
            })?;
            seen.misses += misses;
        }
        Ok(seen)
    }

    fn ask(&mut self, op: Op, keys: &[u32]) -> Result<()> {
        self.out.clear();
        for id in keys {
            let (key_len, value_len) = self.sizes.of(*id);
            self.key.clear();
            self.key.push(b'k');
            decimal(u64::from(*id), key_len - 1, &mut self.key);
            match op {
                Op::Get => self.wire.get(&self.key, &mut self.out),
                Op::Set => self.wire.set(&self.key, value_len, &mut self.out),
            }
        }
        self.stream.write_all(&self.out).context("write")
    }

    fn answers(
        &mut self,
        op: Op,
        keys: &[u32],
        mut each: impl FnMut(usize, Outcome),
    ) -> Result<()> {
        let (mut parsed, mut filled) = (0, 0);
        for (n, id) in keys.iter().enumerate() {
            let value_len = self.sizes.of(*id).1;
            loop {
                let bytes = &self.input[parsed..filled];
                if let Some((outcome, whole)) = self.wire.parse(op, Some(value_len), bytes) {
                    if outcome == Outcome::Wrong {
                        let text = String::from_utf8_lossy(&bytes[..whole.min(80)]);
                        bail!("wrong answer: {}", text.trim_end());
                    }
                    each(n, outcome);
                    parsed += whole;
                    break;
                }
                self.input.copy_within(parsed..filled, 0);
                (parsed, filled) = (0, filled - parsed);
                if filled == self.input.len() {
                    self.input.resize(2 * filled, 0);
                }
                match self.stream.read(&mut self.input[filled..]).context("read")? {
                    0 => bail!("the server closed the connection"),
                    more => filled += more,
                }
            }
        }
        if parsed < filled {
            bail!("the server sent more than it was asked for");
        }
        Ok(())
    }
}

/// The last batch in which each key came.
#[derive(Default)]
struct Marks(Vec<u32>);

impl Marks {
    /// Marks the key; returns its mark before, 0 for none.
    fn mark(&mut self, key: u32, batch: u32) -> u32 {
        let key = key as usize;
        if key >= self.0.len() {
            self.0.resize(key + key / 2 + 1, 0);
        }
        std::mem::replace(&mut self.0[key], batch)
    }
}
