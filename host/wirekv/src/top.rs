//! `wirekv top`: a server's figures in a terminal, from `--metrics`.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use clap::Parser;

/// Looks that the quantiles are of.
const WINDOW: usize = 10;
/// For the server to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that an answer may have: it has some tens of thousands.
const LONGEST: u64 = 16 << 20;
/// A screen from its first line on; what was below is wiped (ECMA-48).
const HOME: &str = "\x1b[H\x1b[J";

#[derive(Parser)]
#[command(version, display_name = "wirekv")]
pub struct TopArgs {
    /// Where the server has --metrics.
    #[arg(value_name = "ADDR:PORT")]
    pub address: String,
    /// Seconds from one look to the next.
    #[arg(short = 'n', long, value_name = "SECONDS", default_value_t = 1.0)]
    #[arg(value_parser = parse_interval)]
    pub interval: f64,
    /// End after so many views. Default: never.
    #[arg(short, long, value_name = "NUMBER")]
    pub count: Option<u64>,
}

fn parse_interval(text: &str) -> Result<f64, String> {
    let range = 0.1..=3600.0;
    match text.parse() {
        Ok(seconds) if range.contains(&seconds) => Ok(seconds),
        _ => Err("is no number of seconds from 0.1 to 3600".into()),
    }
}

pub fn run(args: &TopArgs) -> Result<()> {
    let mut out = std::io::stdout();
    let clear = if out.is_terminal() { HOME } else { "" };
    let mut looks = VecDeque::from([Look::ask(&args.address)?]);
    let mut views = 0;
    while args.count.is_none_or(|count| views < count) {
        sleep(Duration::from_secs_f64(args.interval));
        let view = match Look::ask(&args.address) {
            Ok(look) => {
                // Another server, or the same one started anew: its counters begin again.
                if look.one("process_start_time_seconds")
                    != looks[0].one("process_start_time_seconds")
                {
                    looks.clear();
                }
                looks.push_back(look);
                if looks.len() > WINDOW + 1 {
                    looks.pop_front();
                }
                Change::of(&looks).view(&args.address)
            }
            // It may come back.
            Err(e) if clear == HOME => format!("no figures: {e:#}\n"),
            Err(e) => return Err(e),
        };
        // Who reads this may have had enough.
        if write!(out, "{clear}{view}").and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        views += 1;
    }
    Ok(())
}

struct Sample {
    name: String,
    /// With the braces.
    labels: String,
    value: f64,
}

impl Sample {
    /// A label's value. None of those that are asked for has a character that would be escaped.
    fn label(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.labels.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    }
}

/// The figures at one time.
struct Look {
    at: Instant,
    samples: Vec<Sample>,
}

impl Look {
    fn ask(address: &str) -> Result<Look> {
        let what = || format!("--metrics of {address}");
        let text = get(address, "/metrics").with_context(what)?;
        Ok(Look::parse(Instant::now(), &text))
    }

    /// Reads Prometheus' text format.
    fn parse(at: Instant, text: &str) -> Look {
        let samples = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (head, value) = line.rsplit_once(' ')?;
            let (name, labels) = head.split_at(head.find('{').unwrap_or(head.len()));
            Some(Sample { name: name.into(), labels: labels.into(), value: value.parse().ok()? })
        });
        Look { at, samples: samples.collect() }
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }

    /// The sum of a name's samples whose labels are as said; none if the name is not there.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |s: &&Sample| labels.iter().all(|(label, text)| s.label(label) == Some(text));
        self.all(name).next()?;
        Some(self.all(name).filter(fits).map(|s| s.value).sum())
    }

    fn one(&self, name: &str) -> Option<f64> {
        self.sum(name, &[])
    }
}

/// The body of what a server answers to a GET (RFC 9112: without Host, and closed behind it).
fn get(address: &str, path: &str) -> Result<String> {
    let mut error = None;
    for address in address.to_socket_addrs()? {
        match connect(address) {
            Ok(mut stream) => {
                write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
                let mut answer = String::new();
                stream.take(LONGEST).read_to_string(&mut answer)?;
                let (head, body) =
                    answer.split_once("\r\n\r\n").context("the answer is no HTTP")?;
                let status = head.split(' ').nth(1).unwrap_or_default();
                ensure!(status == "200", "the answer has status {status}");
                return Ok(body.into());
            }
            Err(e) => error = Some(e),
        }
    }
    match error {
        Some(e) => Err(e.into()),
        None => bail!("there is no such host"),
    }
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

const COMMANDS: &str = "memcached_commands_total";
const DURATION: &str = "wirekv_request_duration_seconds_bucket";
const CLOCKS: &str = "wirekv_card_clocks_total";

/// The last look, the one before, and the first of the window.
struct Change<'a> {
    now: &'a Look,
    before: &'a Look,
    first: &'a Look,
}

impl Change<'_> {
    fn of(looks: &VecDeque<Look>) -> Change<'_> {
        let last = looks.len() - 1;
        Change { now: &looks[last], before: &looks[last.saturating_sub(1)], first: &looks[0] }
    }

    /// How much a counter has risen since the look before.
    fn rise(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        Some(self.now.sum(name, labels)? - self.before.sum(name, labels).unwrap_or(0.0))
    }

    /// The same by the second. None of the first look.
    fn rate(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let seconds = (self.now.at - self.before.at).as_secs_f64();
        (seconds > 0.0).then(|| self.rise(name, labels).map(|rise| rise / seconds))?
    }

    /// The share of GETs since the look before that were hits.
    fn hits(&self) -> Option<f64> {
        let of = |status| self.rise(COMMANDS, &[("command", "get"), ("status", status)]);
        let (hits, misses) = (of("hit")?, of("miss")?);
        (hits + misses > 0.0).then_some(hits / (hits + misses))
    }

    /// The time within which a share of the window's requests had their replies.
    fn quantile(&self, share: f64) -> Option<f64> {
        let counts = |look: &Look| {
            let mut bounds: Vec<(f64, f64)> = Vec::new();
            for sample in look.all(DURATION) {
                // The format's infinity is Rust's.
                let Some(Ok(bound)) = sample.label("le").map(str::parse::<f64>) else { continue };
                match bounds.iter_mut().find(|(other, _)| *other == bound) {
                    Some((_, count)) => *count += sample.value,
                    None => bounds.push((bound, sample.value)),
                }
            }
            bounds
        };
        let old = counts(self.first);
        let mut bounds = counts(self.now);
        for (bound, count) in &mut bounds {
            *count -= old.iter().find(|(other, _)| other == bound).map_or(0.0, |(_, count)| *count);
        }
        bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = bounds.last().filter(|(_, count)| *count > 0.0)?.1;
        let wanted = share * all;
        let (mut from, mut below) = (bounds[0].0 / 2.0, 0.0);
        for (to, count) in bounds {
            if count >= wanted && to.is_finite() {
                // Within a bucket they lie evenly on a scale of powers.
                let part = if count > below { (wanted - below) / (count - below) } else { 1.0 };
                return Some(from * (to / from).powf(part));
            }
            if to.is_finite() {
                (from, below) = (to, count);
            }
        }
        Some(from)
    }

    fn view(&self, address: &str) -> String {
        let (now, mut text) = (self.now, String::new());
        let build = now.all("wirekv_build_info").next();
        let label = |name| build.and_then(|build| build.label(name)).unwrap_or("?");
        let mut line = |words: &[(&str, String)]| {
            for (name, figure) in words {
                let _ = write!(text, "{name:<14}{figure:<14}");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        };
        let up = now.one("memcached_uptime_seconds").map_or("–".into(), |s| format!("{s} s"));
        line(&[(
            &format!("WireKV {}, {}, {address}, up {up}", label("version"), label("body")),
            String::new(),
        )]);
        let amount = |n: Option<f64>| n.map_or("–".into(), |n| short(n, ""));
        let bytes = |n: Option<f64>| n.map_or("–".into(), |n| short(n, "B"));
        let time = |share| self.quantile(share).map_or("–".into(), span);
        line(&[
            ("requests/s", amount(self.rate(COMMANDS, &[]))),
            (
                "hits of GETs",
                self.hits().map_or("–".into(), |share| format!("{:.1} %", 100.0 * share)),
            ),
            ("evicted/s", amount(self.rate("memcached_items_evicted_total", &[]))),
        ]);
        if now.one(DURATION).is_some() {
            line(&[("median", time(0.5)), ("p99", time(0.99)), ("p99.9", time(0.999))]);
        }
        line(&[
            ("items", amount(now.one("memcached_current_items"))),
            ("their bytes", bytes(now.one("memcached_current_bytes"))),
            ("of", bytes(now.one("memcached_limit_bytes"))),
        ]);
        line(&[
            ("connections", amount(now.one("memcached_current_connections"))),
            ("in/s", bytes(self.rate("memcached_read_bytes_total", &[]))),
            ("out/s", bytes(self.rate("memcached_written_bytes_total", &[]))),
        ]);
        line(&[
            (
                "CPU",
                self.rate("process_cpu_seconds_total", &[])
                    .map_or("–".into(), |n| format!("{:.0} %", 100.0 * n)),
            ),
            ("memory", bytes(now.one("process_resident_memory_bytes"))),
        ]);
        let mut table = |title: &str, rows: Vec<(String, Option<f64>, f64)>| {
            if !rows.is_empty() {
                let _ = write!(text, "\n{title:<24}{:>12}{:>12}\n", "a second", "so far");
            }
            for (name, rate, all) in rows {
                let _ = writeln!(text, "{name:<24}{:>12}{:>12}", amount(rate), short(all, ""));
            }
        };
        let rows = |name: &'static str, labels: &'static [&'static str]| {
            let told = now.all(name).filter(|sample| sample.value > 0.0);
            let row = |sample: &Sample| {
                let own: Vec<_> =
                    labels.iter().map(|l| (*l, sample.label(l).unwrap_or_default())).collect();
                let words: Vec<_> = own.iter().map(|(_, word)| *word).collect();
                (words.join(" "), self.rate(name, &own), sample.value)
            };
            told.map(row).collect()
        };
        table("commands", rows(COMMANDS, &["command", "status"]));
        table("dropped by the card", rows("wirekv_card_dropped_total", &["cause"]));
        if let Some(clocks) = self.rise(CLOCKS, &[]).filter(|clocks| *clocks > 0.0) {
            let requests = self.rise(COMMANDS, &[]).unwrap_or(0.0) / clocks;
            let _ = writeln!(
                text,
                "\nthe card: {requests:.4} requests a clock; it waited, of all clocks"
            );
            for sample in now.all("wirekv_card_wait_clocks_total") {
                let stage = sample.label("stage").unwrap_or_default();
                let waited = self.rise(&sample.name, &[("stage", stage)]).unwrap_or(0.0);
                let _ = writeln!(text, "{stage:<24}{:>10.2} %", 100.0 * waited / clocks);
            }
        }
        text
    }
}

/// Three digits, and a letter for the power of a thousand.
fn short(n: f64, unit: &str) -> String {
    let (n, letter) = [(1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(size, _)| n.abs() >= *size)
        .map_or((n, ""), |(size, letter)| (n / size, letter));
    let digits = if n.fract() == 0.0 && letter.is_empty() {
        0
    } else {
        2 - (n.abs().max(1.0).log10() as usize).min(2)
    };
    format!("{n:.digits$} {letter}{unit}").trim_end().to_owned()
}

/// Seconds with three digits, in the unit that fits.
fn span(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds >= *size).unwrap_or((1e-6, "us"));
    format!("{} {unit}", short(seconds / size, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_quantiles_are_of_what_has_changed() {
        let at = Instant::now();
        let before = Look::parse(
            at,
            "memcached_commands_total{command=\"get\",status=\"hit\"} 100\n\
                               memcached_commands_total{command=\"get\",status=\"miss\"} 5\n\
                               wirekv_request_duration_seconds_bucket{le=\"1e-05\"} 50\n\
                               wirekv_request_duration_seconds_bucket{le=\"2e-05\"} 50\n\
                               wirekv_request_duration_seconds_bucket{le=\"+Inf\"} 50",
        );
        let now = Look::parse(
            at + Duration::from_secs(2),
            "memcached_commands_total{command=\"get\",status=\"hit\"} 160\n\
                               memcached_commands_total{command=\"get\",status=\"miss\"} 25\n\
                               wirekv_request_duration_seconds_bucket{le=\"1e-05\"} 50\n\
                               wirekv_request_duration_seconds_bucket{le=\"2e-05\"} 149\n\
                               wirekv_request_duration_seconds_bucket{le=\"+Inf\"} 150",
        );
        let looks = VecDeque::from([before, now]);
        let change = Change::of(&looks);
        assert_eq!(change.rate(COMMANDS, &[]), Some(40.0));
        assert_eq!(change.hits(), Some(0.75));
        let half = change.quantile(0.495).unwrap();
        assert!((half - 1e-5 * 2f64.sqrt()).abs() < 1e-9, "{half}");
        // What lies beyond the last bound is at least as long as that.
        assert_eq!(change.quantile(0.999), Some(2e-5));
        let view = change.view("there:1");
        for part in [
            "requests/s    40",
            "hits of GETs  75.0 %",
            "get miss                          10          25",
        ] {
            assert!(view.contains(part), "{view}");
        }
        assert!(!view.contains("the card"), "{view}");
    }

    #[test]
    fn amounts_have_three_digits() {
        for (n, told) in [
            (0.0, "0"),
            (7.0, "7"),
            (0.1234, "0.12"),
            (12.34, "12.3"),
            (999.4, "999"),
            (1234.0, "1.23 k"),
            (4e6, "4.00 M"),
        ] {
            assert_eq!(short(n, ""), told);
        }
        assert_eq!(short(64e6, "B"), "64.0 MB");
        for (seconds, told) in [(25.1e-6, "25.1 us"), (6.18e-3, "6.18 ms"), (2.5, "2.50 s")] {
            assert_eq!(span(seconds), told);
        }
    }
}
