//! Latency in short windows of time.
//!
//! A virtual machine's processor is taken away for milliseconds now and then. Then a percentile over
//! a whole run tells of that, whatever the server does; of many short windows most are without.

use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde_json::{json, Value};

const LENGTH: Duration = Duration::from_millis(20);

pub struct Windows {
    /// When the open window ends, and its latencies in nanoseconds.
    end: Option<Instant>,
    open: Histogram<u64>,
    /// Nanoseconds, of each closed window.
    p50: Vec<u64>,
    p99: Vec<u64>,
}

impl Windows {
    pub fn new() -> Result<Windows> {
        // It is emptied often, so small: up to a minute, to two digits.
        let open = Histogram::new_with_bounds(1, 60_000_000_000, 2)?;
        Ok(Windows { end: None, open, p50: Vec::new(), p99: Vec::new() })
    }

    /// `n` answers that came now and took equally long. What the last window has is left out, as it
    /// is not a whole one.
    pub fn add(&mut self, now: Instant, took: Duration, n: u64) {
        if self.end.is_none_or(|end| now >= end) {
            if !self.open.is_empty() {
                self.p50.push(self.open.value_at_percentile(50.0));
                self.p99.push(self.open.value_at_percentile(99.0));
                self.open.reset();
            }
            self.end = Some(now + LENGTH);
        }
        self.open.saturating_record_n((took.as_nanos() as u64).max(1), n);
    }

    /// Takes over another thread's windows.
    pub fn join(&mut self, other: &Windows) {
        self.p50.extend(&other.p50);
        self.p99.extend(&other.p99);
    }

    /// Medians over the windows; null when there are none.
    pub fn json(&self) -> Value {
        let us = |values: &[u64]| median(values).map(|ns| ns as f64 / 1e3);
        json!({
            "milliseconds": LENGTH.as_millis() as u64,
            "count": self.p99.len(),
            "p50_us": us(&self.p50),
            "p99_us": us(&self.p99),
        })
    }
}

fn median(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_spoils_one_window_only() {
        let start = Instant::now();
        let mut windows = Windows::new().unwrap();
        for ms in 0..100 {
            let took = if ms == 50 { 30_000 } else { 100 };
            windows.add(start + Duration::from_millis(ms), Duration::from_micros(took), 10);
        }
        let found = windows.json();
        // The fifth is still open.
        assert_eq!(found["count"], 4);
        let close = |name: &str, us: f64| (found[name].as_f64().unwrap() / us - 1.0).abs() < 0.01;
        assert!(close("p50_us", 100.0) && close("p99_us", 100.0), "{found}");
        let worst = *windows.p99.iter().max().unwrap();
        assert!(worst > 29_000_000, "{worst}");
    }

    #[test]
    fn none_yet() {
        assert!(Windows::new().unwrap().json()["p99_us"].is_null());
    }
}
