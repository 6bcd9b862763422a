//! The figures of a run, as a table and as JSON.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde_json::{json, Value};

use crate::{Figures, LoadArgs, Used};

const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

fn all(figures: &Figures) -> Histogram<u64> {
    let mut all = figures.set.clone();
    // Histograms with the same bounds always add up.
    all.add(&figures.get).expect("same bounds");
    all
}

pub fn print(figures: &Figures, used: &Used, took: Duration) {
    let seconds = took.as_secs_f64();
    print!("{:<6}{:>12}{:>12}", "", "requests", "per second");
    print!("{:>10}", "mean ms");
    for (name, _) in PERCENTILES {
        print!("{name:>10}");
    }
    println!("{:>10}", "max");
    let totals = all(figures);
    for (name, h) in [("SET", &figures.set), ("GET", &figures.get), ("all", &totals)] {
        print!("{name:<6}{:>12}{:>12.0}", h.len(), h.len() as f64 / seconds);
        print!("{:>10.3}", h.mean() / 1e6);
        for (_, p) in PERCENTILES {
            print!("{:>10.3}", h.value_at_percentile(p) as f64 / 1e6);
        }
        println!("{:>10.3}", h.max() as f64 / 1e6);
    }
    println!(
        "{} hits, {} misses, {} wrong, {} lost; {:.1} s, {:.2} MB/s out, {:.2} MB/s in",
        figures.hits,
        figures.misses,
        figures.wrong,
        figures.lost,
        seconds,
        figures.bytes_out as f64 / seconds / 1e6,
        figures.bytes_in as f64 / seconds / 1e6
    );
    for (who, time) in [("server", used.server), ("generator", Some(used.generator))] {
        if let Some(time) = time {
            let each = |us: f64| us / totals.len().max(1) as f64;
            println!(
                "{who}: {:.2} us user, {:.2} us system per operation, {:.0} % of a CPU",
                each(time.user),
                each(time.system),
                time.sum / took.as_secs_f64() / 1e4
            );
        }
    }
    if !figures.late.is_empty() {
        let late = |p| figures.late.value_at_percentile(p) as f64 / 1e3;
        println!("sent after due: p50 {:.1} us, p99 {:.1} us", late(50.0), late(99.0));
    }
}

fn latencies(h: &Histogram<u64>, seconds: f64) -> Value {
    let mut value = json!({
        "requests": h.len(),
        "per_second": h.len() as f64 / seconds,
        "mean_us": h.mean() / 1e3,
        "max_us": h.max() as f64 / 1e3,
    });
    for (name, p) in PERCENTILES {
        value[format!("{name}_us")] = (h.value_at_percentile(p) as f64 / 1e3).into();
    }
    value
}

pub fn write_json(
    path: &Path,
    args: &LoadArgs,
    figures: &Figures,
    used: &Used,
    took: Duration,
) -> Result<()> {
    let seconds = took.as_secs_f64();
    let totals = all(figures);
    let mut value = json!({
        "transport": if args.udp { "udp" } else { "tcp" },
        "connections": args.threads * args.clients,
        "pipeline": args.pipeline,
        "ratio": format!("{}:{}", args.ratio.0, args.ratio.1),
        "data_size": args.data_size,
        "key_range": [args.key_minimum, args.key_maximum],
        "seconds": seconds,
        "all": latencies(&totals, seconds),
        "set": latencies(&figures.set, seconds),
        "get": latencies(&figures.get, seconds),
        "hits": figures.hits,
        "misses": figures.misses,
        "wrong": figures.wrong,
        "lost": figures.lost,
        "bytes_out": figures.bytes_out,
        "bytes_in": figures.bytes_in,
        "generator": used.generator.json(totals.len(), seconds),
    });
    if let Some(server) = used.server {
        value["server"] = server.json(totals.len(), seconds);
    }
    if let Some(rate) = args.offered() {
        value["rate"] = rate.into();
        value["late"] = latencies(&figures.late, seconds);
        value["windows"] = figures.windows.json();
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    fs::write(path, format!("{value:#}\n")).with_context(|| format!("write {}", path.display()))
}
