//! Cycle-exact bench of the simulated card: frames at a wire's pace into the card's network port,
//! clients that check every reply, figures as a table and as JSON.

#![cfg_attr(not(feature = "store"), allow(dead_code))] // what only its scenarios use

mod fairness;
mod flood;
mod frame;
mod image;
mod keys;
mod load;
mod meter;
#[cfg(test)]
mod refused;
mod report;
mod rig;
#[cfg(feature = "rings")]
mod rings;
mod scenarios;
#[cfg(feature = "store")]
mod store;
mod tcp;
mod wired;
mod written;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use wirekv_sim::WIRE_100G;

#[derive(Parser)]
#[command(version, about = "Cycle-exact bench of the simulated card")]
struct Args {
    /// Run only the scenarios whose name contains this.
    scenario: Option<String>,
    /// Run only the one whose name is exactly that.
    #[arg(long, requires = "scenario")]
    exact: bool,
    /// Clocks from a memory request to its answer.
    #[arg(long, default_value_t = 40)]
    mem_latency: u32,
    /// Up to so many clocks more, at random.
    #[arg(long, default_value_t = 0)]
    mem_jitter: u32,
    /// Pseudo channels of HBM behind each memory port: 1, 2 or 4, with their banks and refresh. 0: memory of any rate.
    #[arg(long, default_value_t = 0, value_parser = ways, conflicts_with = "mem_jitter")]
    mem_ways: u32,
    /// Their memory has ECC: a write of parts of a line costs a read.
    #[arg(long, requires = "mem_ways")]
    mem_ecc: bool,
    /// Gb/s of the wire, up to 128.
    #[arg(long, default_value_t = 100.0, value_parser = wire)]
    wire: f64,
    /// Frames reach the card through rings in host memory, which answers after so many clocks.
    #[cfg(feature = "rings")]
    #[arg(long, value_name = "CLOCKS", conflicts_with = "saif", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rings: Option<u32>,
    /// The card stands before another server, which answers after so many clocks; only scenarios of plain GETs of what is
    /// there.
    #[arg(long, value_name = "CLOCKS")]
    upstream: Option<u64>,
    /// So many of a hundred GETs are of what neither has; for `tcp-d1`.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, requires = "upstream", value_parser = clap::value_parser!(u32).range(..=100))]
    misses: u32,
    /// TCP clients offer timestamps, as kernels do.
    #[arg(long)]
    timestamps: bool,
    /// Connections or UDP clients.
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Operations measured in each scenario.
    #[arg(long, default_value_t = 20_000)]
    ops: u64,
    /// Entries of the stores `*-64m`, which are written before the run.
    #[arg(long, default_value_t = 64_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    entries: u32,
    /// Of the keys, the requests, and the card's secrets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the toggles of all signals while a scenario is measured to <SAIF>/<NAME>.saif, and those of an idle
    /// millisecond behind one over TCP to <SAIF>/<NAME>-idle.saif. Needs a build with `--features saif`.
    #[arg(long)]
    saif: Option<PathBuf>,
    /// Where the figures go as JSON.
    #[arg(long, default_value = "build/bench/card.json")]
    json: PathBuf,
}

impl Args {
    fn wants(&self, name: &str) -> bool {
        let is_named =
            |asked: &String| if self.exact { name == asked } else { name.contains(asked.as_str()) };
        self.scenario.as_ref().is_none_or(is_named)
    }

    /// Bytes that the wire carries in a clock.
    fn wire_rate(&self) -> f64 {
        WIRE_100G * self.wire / 100.0
    }
}

fn ways(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(ways @ (0 | 1 | 2 | 4)) => Ok(ways),
        _ => Err("must be 0, 1, 2 or 4".into()),
    }
}

fn wire(text: &str) -> Result<f64, String> {
    let gbps = text.parse().map_err(|_| "not a number")?;
    // The card's port takes 64 bytes a clock.
    if (0.1..=128.0).contains(&gbps) {
        Ok(gbps)
    } else {
        Err("must be from 0.1 to 128".into())
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut report = report::Report::new(&args);
    let mut failed = false;
    for scenario in scenarios::all(args.connections, args.entries) {
        if !args.wants(scenario.name) || !scenario.suits(&args) {
            continue;
        }
        eprint!("{} ... ", scenario.name);
        let start = std::time::Instant::now();
        match scenarios::run(&scenario, &args) {
            Ok(figures) => {
                let khz = figures.total_clocks as f64 / start.elapsed().as_secs_f64() / 1e3;
                eprintln!("{} clocks, {khz:.0} kHz", figures.total_clocks);
                report.add(&scenario, figures);
            }
            Err(e) => {
                eprintln!("failed: {e:#}");
                failed = true;
            }
        }
    }
    let mut references = fairness::References::default();
    for odd in fairness::all() {
        if !args.wants(odd.name) {
            continue;
        }
        eprint!("{} ... ", odd.name);
        match references.shares(&odd, &args) {
            Ok(shares) => {
                eprintln!("{} clocks", shares.iter().map(|share| share.run.clocks).sum::<u64>());
                report.fairness.push((odd, shares));
            }
            Err(e) => {
                eprintln!("failed: {e:#}");
                failed = true;
            }
        }
    }
    report.print();
    report.write(&args.json)?;
    if failed {
        std::process::exit(1);
    }
    Ok(())
}
