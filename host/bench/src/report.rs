//! The figures as a table and as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{json, Value};

use wirekv_sim::LINE_BYTES;

use crate::fairness::{Odd, Share, GOAL};
use crate::rig::CLOCK_MHZ;
use crate::scenarios::{Goal, Outcome, Scenario};
use crate::Args;

pub struct Report {
    mem_latency: u32,
    mem_jitter: u32,
    mem_ways: u32,
    mem_ecc: bool,
    /// Gb/s, and bytes a clock.
    gbps: f64,
    wire: f64,
    rows: Vec<Row>,
    pub fairness: Vec<(Odd, Vec<Share>)>,
    rates: BTreeMap<&'static str, f64>,
    medians: BTreeMap<&'static str, u64>,
}

struct Row {
    name: &'static str,
    framing: String,
    result: Outcome,
    /// What was asked for, and whether it was reached.
    goals: Vec<(String, bool)>,
}

impl Report {
    pub fn new(args: &Args) -> Report {
        Report {
            mem_latency: args.mem_latency,
            mem_jitter: args.mem_jitter,
            mem_ways: args.mem_ways,
            mem_ecc: args.mem_ecc,
            gbps: args.wire,
            wire: args.wire_rate(),
            rows: Vec::new(),
            fairness: Vec::new(),
            rates: BTreeMap::new(),
            medians: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, scenario: &Scenario, result: Outcome) {
        let figures = &result.figures;
        let rate = figures.rate();
        self.rates.insert(scenario.name, rate);
        self.medians.insert(scenario.name, figures.latency(0.5));
        let goals = scenario.goals.iter().filter_map(|goal| match *goal {
            Goal::Rate(least) => Some((format!(">= {least} op/clk"), rate >= least)),
            Goal::Wire(least) => figures.wire_limit(self.wire).map(|limit| {
                (format!(">= {:.0} % of the limit", 100.0 * least), rate >= least * limit)
            }),
            Goal::Full(least) => result.full.map(|full| {
                (
                    format!("index {:.1} % full, >= {:.0}", 100.0 * full, 100.0 * least),
                    full >= least,
                )
            }),
            Goal::Latency(most) => {
                Some((format!("median <= {most}"), figures.latency(0.5) <= most))
            }
            Goal::Tail { other, times } => self.medians.get(other).map(|&median| {
                let p99 = figures.latency(0.99) as f64;
                (
                    format!(
                        "p99 {:.2} times the median of {other}, <= {times}",
                        p99 / median as f64
                    ),
                    p99 <= times * median as f64,
                )
            }),
            Goal::Like { other, within } => self.rates.get(other).map(|&r| {
                let percent = 100.0 * (rate / r - 1.0);
                (format!("{other} {percent:+.1} %"), rate >= r * (1.0 - within))
            }),
        });
        let goals = goals.collect();
        let framing = scenario.framing();
        self.rows.push(Row { name: scenario.name, framing, result, goals });
    }

    pub fn print(&self) {
        if !self.rows.is_empty() {
            self.print_rows();
        }
        if !self.fairness.is_empty() {
            self.print_fairness();
        }
    }

    fn print_rows(&self) {
        println!(
            "\nSimulated at {CLOCK_MHZ} MHz (every time and M op/s is for that clock), {} Gb/s \
             Ethernet, memory latency {} clocks{}.",
            self.gbps,
            self.mem_latency,
            match self.mem_ways {
                0 => String::new(),
                ways if self.mem_ecc => format!(", pseudo channels of HBM with ECC a port: {ways}"),
                ways => format!(", pseudo channels of HBM a port: {ways}"),
            }
        );
        println!(
            "Limit: what the wire carries of these very frames, by {} bytes a clock.",
            self.wire
        );
        println!("Latency: clocks from a request's frame's first beat to its reply's last beat.\n");
        println!(
            "{:<22} {:>6} {:>7} {:>7} {:>6} {:>6}  {:>5} {:>6} {:>6} {:>6}  goal",
            "", "op/clk", "M op/s", "limit %", "B in", "B out", "min", "median", "p99", "max"
        );
        for row in &self.rows {
            let f = &row.result.figures;
            let share = f.wire_limit(self.wire).map(|limit| 100.0 * f.rate() / limit);
            let share = share.map_or("-".into(), |share| format!("{share:.1}"));
            let per_op = |bytes: u64| bytes as f64 / f.ops as f64;
            print!(
                "{:<22} {:>6.3} {:>7.1} {:>7} {:>6.1} {:>6.1}  {:>5} {:>6} {:>6} {:>6} ",
                row.name,
                f.rate(),
                f.rate() * CLOCK_MHZ,
                share,
                per_op(f.wire_in),
                per_op(f.wire_out),
                f.latency(0.0),
                f.latency(0.5),
                f.latency(0.99),
                f.latency(1.0)
            );
            for (goal, reached) in &row.goals {
                print!(" {goal}{}", if *reached { "" } else { " MISSED" });
            }
            println!();
        }
        if self.rows.iter().any(|row| row.result.entries.is_some()) {
            println!("\nStores that were written before the run:");
        }
        for row in &self.rows {
            let Some(entries) = &row.result.entries else { continue };
            println!(
                "{:<22} {} entries, index {:.1} % full, {:.1} bytes of memory an entry; \
                 {} more were evicted, {} moved",
                row.name,
                entries.count(),
                100.0 * entries.full(),
                entries.bytes_per_entry(),
                entries.evicted(),
                entries.moves
            );
        }
        println!("\nWhere the pipeline stalled, in % of the clocks:");
        for row in &self.rows {
            let f = &row.result.figures;
            let stalls = f.counters.iter().filter(|(name, _)| name.contains("Wait"));
            let stalls: Vec<String> = stalls
                .map(|(name, n)| format!("{name} {:.1}", 100.0 * *n as f64 / f.clocks as f64))
                .collect();
            println!("{:<22} {}", row.name, stalls.join(", "));
        }
        println!("\nMemory, bytes a clock that each port reads + writes:");
        for row in &self.rows {
            let Some(ports) = row.result.figures.memory else { continue };
            let clocks = row.result.figures.clocks as f64;
            let a_clock = |lines: u64| (lines * LINE_BYTES) as f64 / clocks;
            let ports: Vec<String> = ports
                .iter()
                .map(|&[read, written]| format!("{:.1} + {:.1}", a_clock(read), a_clock(written)))
                .collect();
            println!("{:<22} {}", row.name, ports.join(", "));
        }
        println!("\nFramings:");
        for row in &self.rows {
            println!("{:<22} {}", row.name, row.framing);
        }
    }

    fn print_fairness(&self) {
        println!(
            "\nFairness: op/clk of eight well-behaved clients beside others, and what it is of that beside as many \
             well-behaved ones (>= {GOAL:.2}); op/clk of the others.\n"
        );
        for (odd, shares) in &self.fairness {
            print!("{:<22}", odd.name);
            for share in shares {
                let Share { beside, run, .. } = share;
                let missed = if share.reached() { "" } else { " MISSED" };
                print!(
                    "  {beside:>2}: {:.4} ({:.2}{missed}), {:.4};",
                    run.rate,
                    share.of_reference(),
                    run.others
                );
            }
            println!("  {}", odd.text);
        }
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let scenarios: Vec<Value> = self.rows.iter().map(|row| row.json(self.wire)).collect();
        let shares = self.fairness.iter().flat_map(|(odd, shares)| {
            shares.iter().map(|share| share.json(odd)).collect::<Vec<_>>()
        });
        let fairness: Vec<Value> = shares.collect();
        let all = json!({
            "clock_mhz": CLOCK_MHZ,
            "wire_bytes_per_clock": self.wire,
            "mem_latency": self.mem_latency,
            "mem_jitter": self.mem_jitter,
            "mem_ways": self.mem_ways,
            "mem_ecc": self.mem_ecc,
            "scenarios": scenarios,
            "fairness": fairness,
        });
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(&all)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Row {
    /// On a wire of so many bytes a clock.
    fn json(&self, wire: f64) -> Value {
        let f = &self.result.figures;
        let per_op = |bytes: u64| bytes as f64 / f.ops as f64;
        let counters: BTreeMap<&str, u64> = f.counters.iter().copied().collect();
        let goals: Vec<Value> =
            self.goals.iter().map(|(g, ok)| json!({ "goal": g, "reached": ok })).collect();
        json!({
            "name": self.name,
            "framing": self.framing,
            "ops": f.ops,
            "clocks": f.clocks,
            "op_per_clock": f.rate(),
            "mops": f.rate() * CLOCK_MHZ,
            "wire_limit_op_per_clock": f.wire_limit(wire),
            "wire_share": f.wire_limit(wire).map(|limit| f.rate() / limit),
            "wire_bytes_in_per_op": per_op(f.wire_in),
            "wire_bytes_out_per_op": per_op(f.wire_out),
            "latency_clocks": {
                "min": f.latency(0.0),
                "median": f.latency(0.5),
                "p99": f.latency(0.99),
                "max": f.latency(1.0),
            },
            "index_full": self.result.full,
            "written": self.result.entries.as_ref().map(|written| json!({
                "entries": written.count(),
                "index_full": written.full(),
                "bytes_per_entry": written.bytes_per_entry(),
                "evicted": written.evicted(),
                "moved": written.moves,
            })),
            "memory_bytes": f.memory.map(|ports| ports.map(|[read, written]| json!({
                "read": read * LINE_BYTES,
                "written": written * LINE_BYTES,
            }))),
            "client_resends": self.result.resent,
            "counters": counters,
            "goals": goals,
        })
    }
}
