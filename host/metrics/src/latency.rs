//! How long requests take: a sample of them, which stands for all.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::text::{Kind, Text};

const NAME: &str = "wirekv_request_duration_seconds";
const HELP: &str =
    "From when a thread turned to the request until its reply was given to the kernel. \
     From a sample of the requests; the counts are estimates for all.";
/// Upper bounds of the buckets, in nanoseconds and as the format wants them.
const BOUNDS: &[(u64, &str)] = &[
    (1_000, "1e-06"),
    (2_000, "2e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1"),
    (2_000_000_000, "2"),
    (5_000_000_000, "5"),
    (10_000_000_000, "10"),
];
/// What a histogram tells apart, in nanoseconds. What takes longer counts as this long.
const SHORTEST: u64 = 100;
const LONGEST: u64 = 60_000_000_000;
/// Decimal digits of a latency that are kept: a histogram then takes 3.4 KB.
const DIGITS: u8 = 1;

/// What a request was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// `text`, `meta`, `binary`, `resp`.
    pub protocol: &'static str,
    /// Its name in that protocol, from a fixed list: clients cannot make new ones.
    pub command: &'static str,
    /// What became of it.
    pub status: &'static str,
}

#[derive(Clone)]
struct Series {
    histogram: Histogram<u64>,
    sum: f64,
}

/// Histograms, one for each kind of request that there was.
#[derive(Clone, Default)]
pub struct Latencies(BTreeMap<Label, Series>);

impl Latencies {
    /// Requests of a kind have taken so long: one that was timed, which stands for `count` of them.
    pub fn record(&mut self, label: Label, time: Duration, count: u64) {
        let series = self.0.entry(label).or_insert_with(|| Series {
            histogram: Histogram::new_with_bounds(SHORTEST, LONGEST, DIGITS)
                .expect("the bounds are right"),
            sum: 0.0,
        });
        series.histogram.saturating_record_n(time.as_nanos() as u64, count);
        series.sum += time.as_secs_f64() * count as f64;
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Latencies) {
        for (label, more) in &other.0 {
            match self.0.get_mut(label) {
                Some(series) => {
                    series.histogram.add(&more.histogram).expect("their bounds are the same");
                    series.sum += more.sum;
                }
                None => drop(self.0.insert(*label, more.clone())),
            }
        }
    }

    /// A histogram for each kind.
    pub fn tell(&self, text: &mut Text) {
        text.family(NAME, Kind::Histogram, HELP);
        for (Label { protocol, command, status }, series) in &self.0 {
            let mut labels =
                [("protocol", *protocol), ("command", *command), ("status", *status), ("le", "")];
            let mut counts = series.histogram.iter_recorded().peekable();
            let mut below = 0;
            let bucket = format!("{NAME}_bucket");
            for (bound, le) in BOUNDS {
                // A latency is known to be at most that of its place in the histogram.
                while let Some(place) = counts.next_if(|p| p.value_iterated_to() <= *bound) {
                    below += place.count_at_value();
                }
                labels[3].1 = le;
                text.sample(&bucket, &labels, below);
            }
            labels[3].1 = "+Inf";
            text.sample(&bucket, &labels, series.histogram.len());
            text.sample(&format!("{NAME}_sum"), &labels[..3], series.sum);
            text.sample(&format!("{NAME}_count"), &labels[..3], series.histogram.len());
        }
    }
}

/// Requests a second that are timed one by one, in each thread: of more, a share.
const EACH: u64 = 4096;
/// The smallest share is one of so many.
const SPARSEST: u64 = 256;

/// Chooses which groups of requests are timed, whatever is in them.
pub struct Sampler {
    /// One group of so many is timed.
    share: u64,
    /// Groups until the next one is.
    next: u64,
    random: u64,
    /// Requests since then.
    requests: u64,
    since: Instant,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            share: 1,
            next: 1,
            random: 0x9E37_79B9_7F4A_7C15,
            requests: 0,
            since: Instant::now(),
        }
    }
}

impl Sampler {
    /// Whether this group is timed: when it began, and for how many one of its requests stands.
    #[inline]
    pub fn begin(&mut self) -> Option<(Instant, u64)> {
        self.next -= 1;
        if self.next > 0 {
            return None;
        }
        let (now, share) = (Instant::now(), self.share);
        let passed = now - self.since;
        if passed >= Duration::from_secs(1) {
            let rate = self.requests as f64 / passed.as_secs_f64();
            self.share = (rate as u64 / EACH).clamp(1, SPARSEST);
            (self.since, self.requests) = (now, 0);
        }
        // Any distance from 1 to twice the share less one is as likely: what clients do at regular intervals is met as
        // often as the rest. (A xorshift generator, Marsaglia 2003.)
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.next = 1 + self.random % (2 * self.share - 1);
        Some((now, share))
    }

    /// So many requests were served.
    #[inline]
    pub fn served(&mut self, requests: usize) {
        self.requests += requests as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_the_sum_is_exact() {
        let label = |status| Label { protocol: "text", command: "get", status };
        let (mut a, mut b) = (Latencies::default(), Latencies::default());
        a.record(label("hit"), Duration::from_nanos(900), 1);
        b.record(label("hit"), Duration::from_micros(15), 4);
        b.record(label("hit"), Duration::from_secs(100), 1);
        b.record(label("miss"), Duration::from_micros(30), 2);
        a.add(&b);
        let mut text = Text::default();
        a.tell(&mut text);
        let text = text.finish();
        let has = |status: &str, rest: &str, value: &str| {
            let labels = format!("protocol=\"text\",command=\"get\",status=\"{status}\"");
            let line = match rest {
                "_count" => format!("{NAME}{rest}{{{labels}}} {value}\n"),
                le => format!("{NAME}_bucket{{{labels},le=\"{le}\"}} {value}\n"),
            };
            assert!(text.contains(&line), "{line}{text}");
        };
        has("hit", "1e-06", "1");
        has("hit", "1e-05", "1");
        has("hit", "2e-05", "5");
        has("hit", "10", "5");
        has("hit", "+Inf", "6");
        has("hit", "_count", "6");
        let sum = a.0[&label("hit")].sum;
        assert!((sum - 100.000_060_9).abs() < 1e-9, "{sum}");
        has("miss", "2e-05", "0");
        has("miss", "5e-05", "2");
    }

    #[test]
    fn a_share_stands_for_all() {
        let mut sampler = Sampler { share: SPARSEST, ..Sampler::default() };
        let mut estimate = 0;
        for _ in 0..1_000_000 {
            sampler.since = Instant::now();
            estimate += sampler.begin().map_or(0, |(_, share)| share);
        }
        assert!((960_000..1_040_000).contains(&estimate), "{estimate}");
    }

    #[test]
    fn few_requests_are_all_timed() {
        let mut sampler = Sampler::default();
        for _ in 0..1000 {
            assert_eq!(sampler.begin().map(|(_, share)| share), Some(1));
            sampler.served(1);
        }
        sampler.requests = 1 << 40;
        sampler.since -= Duration::from_secs(2);
        sampler.begin();
        assert_eq!(sampler.share, SPARSEST);
    }
}
