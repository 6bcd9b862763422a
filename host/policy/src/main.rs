//! `make machine-share`: the share of GETs that the cache in the NIC answers, with the firmware's policy.c.

use std::path::PathBuf;

use anyhow::{bail, Result};
use clap::Parser;
use wirekv_policy::compare::{best_of_all, best_of_zipf, Lru};
use wirekv_policy::firmware::Managed;
use wirekv_policy::streams::{trace, with_writes, zipf, Request, Sizes};
use wirekv_policy::table::{Table, WAYS};

const KEYS: u32 = 10_000_000;
const EXPONENT: f64 = 0.99;
const SEED: u64 = 1;
const GETS_A_WRITE: u32 = 30;
/// Requests after which the software has its turn.
const EVERY: u32 = 8;
const LINES_A_MIB: u32 = 1 << 14;
const ENTRIES: [u32; 3] = [1024, 4096, 16384];
/// Counters in a row of the sketch of the gates.
const COUNTERS: u32 = 16384;

#[derive(Parser)]
#[command(about = "Share of GETs that the cache in the NIC answers, with the firmware's policy.c")]
struct Args {
    /// Tables for ETC.
    #[arg(long, value_name = "MiB,...", value_delimiter = ',', default_value = "1,4,16")]
    mib: Vec<u32>,
    /// Millions of requests of ETC for each MiB up to 10; the second half of them counts.
    #[arg(long, default_value_t = 6)]
    millions: u32,
    /// Counters in a row of the sketch; by default as many as the table has lines, for a trace 16,384.
    #[arg(long)]
    counters: Option<u32>,
    /// Traces: 32-bit keys, big end first, packed by xz if a name ends so.
    traces: Vec<PathBuf>,
}

/// GETs and those that were answered.
#[derive(Default)]
struct Share(u64, u64);

impl Share {
    fn count(&mut self, hit: bool) {
        self.0 += 1;
        self.1 += u64::from(hit);
    }

    fn percent(&self) -> f64 {
        100.0 * self.1 as f64 / self.0.max(1) as f64
    }
}

/// Shares of the managed table and of LRU.
fn run(
    requests: impl Iterator<Item = Request>,
    table: Table,
    lines: u32,
    sizes: &Sizes,
    counted: impl Fn(u64) -> bool,
) -> (Share, Share) {
    let mut managed = Managed::new(table, sizes.clone(), EVERY);
    let mut lru = Lru::new(lines, sizes.clone());
    let (mut ours, mut lrus) = (Share::default(), Share::default());
    for (n, (key, is_write)) in requests.enumerate() {
        if is_write {
            managed.write(key);
            lru.get(key);
            continue;
        }
        let (hit, lru_hit) = (managed.get(key), lru.get(key));
        if counted(n as u64) {
            ours.count(hit);
            lrus.count(lru_hit);
        }
    }
    (ours, lrus)
}

fn line(what: &str, size: &str, (ours, lru): &(Share, Share), best: f64) {
    println!("| {what} | {size} | {:.1} | {:.1} | {best:.1} |", ours.percent(), lru.percent());
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.mib.iter().any(|mib| !mib.is_power_of_two() || *mib > 1024) || args.millions == 0 {
        bail!("a table has a power of two of MiB, up to 1,024; --millions is at least 1");
    }
    if args.counters.is_some_and(|c| !c.is_power_of_two() || c < 2) {
        bail!("--counters is a power of two, at least 2");
    }
    println!("| requests | table | policy.c, % | LRU, % | best, % |\n|---|---|---|---|---|");
    let sizes = Sizes::etc(KEYS, SEED);
    for mib in args.mib {
        let lines = mib * LINES_A_MIB;
        let best = 100.0 * best_of_zipf(KEYS, EXPONENT, &sizes, lines);
        let requests = u64::from(args.millions) * 1_000_000 * u64::from(mib.min(10));
        let size = format!("{mib} MiB");
        // The last one's keys are others from the half on, and the last quarter counts.
        let kinds =
            [("ETC", 0, 0), ("ETC, writes", GETS_A_WRITE, 0), ("ETC, other keys", 0, KEYS / 2)];
        for (what, gets, others) in kinds {
            let keys = zipf(KEYS, EXPONENT, SEED)?.take(requests as usize).enumerate();
            let keys = keys.map(|(n, key)| match n as u64 >= requests / 2 {
                true => (key + others) % KEYS,
                false => key,
            });
            let from = if others == 0 { requests / 2 } else { requests / 4 * 3 };
            let counters = args.counters.unwrap_or(lines) as usize;
            let table = Table::new(lines as usize / WAYS, lines, counters);
            let shares = run(with_writes(keys, gets, SEED), table, lines, &sizes, |n| n >= from);
            // Others are as popular, but not as large.
            let best = if others == 0 {
                best
            } else {
                let moved = sizes.moved(others, KEYS);
                100.0 * best_of_zipf(KEYS, EXPONENT, &moved, lines)
            };
            line(what, &size, &shares, best);
        }
    }
    for path in args.traces {
        let keys = trace(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        for (what, gets) in [(name.to_owned(), 0), (format!("{name}, writes"), GETS_A_WRITE)] {
            let requests: Vec<Request> = with_writes(keys.iter().copied(), gets, SEED).collect();
            let all = requests.iter().filter(|r| !r.1).count();
            for room in ENTRIES {
                // Of one line each.
                let sizes = Sizes::Equal(20, 24);
                let counters = args.counters.unwrap_or(COUNTERS) as usize;
                let table = Table::new(room as usize / WAYS, room, counters);
                let shares = run(requests.iter().copied(), table, room, &sizes, |_| true);
                let best = 100.0 * best_of_all(&requests, room as usize) as f64 / all as f64;
                line(&what, &format!("{room} entries"), &shares, best);
            }
        }
    }
    Ok(())
}
