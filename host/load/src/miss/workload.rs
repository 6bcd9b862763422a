//! The keys that are asked for, by number, and how large keys and values are.

use std::collections::HashMap;
use std::fs;

use anyhow::{bail, Context, Result};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

use super::{Kind, MissArgs};
use crate::etc;

/// Keys one after the other, the same for the same seed. Numbers are small: below twice the
/// number of different keys.
pub struct Workload {
    kind: Kind,
    left: u64,
    dice: SmallRng,
    zipf: Zipf<f64>,
    keys: u64,
    share: f64,
    run: u64,
    scanned: u64,
    /// Requests so far.
    time: u64,
    /// Keys so far that were not drawn.
    others: u64,
    trace: std::vec::IntoIter<u32>,
}

impl Workload {
    pub fn new(args: &MissArgs) -> Result<Workload> {
        let trace = match &args.trace {
            Some(path) if args.workload == Kind::Trace => {
                let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
                dense(&bytes).with_context(|| format!("read {}", path.display()))?
            }
            _ => Vec::new(),
        };
        let left = match args.workload {
            Kind::Trace => args.requests.min(trace.len() as u64),
            _ => args.requests,
        };
        if args.keys + args.scanned + args.requests > u64::from(u32::MAX) {
            bail!("more keys than 32 bits can count");
        }
        Ok(Workload {
            kind: args.workload,
            left,
            dice: SmallRng::seed_from_u64(args.seed),
            zipf: Zipf::new(args.keys as f64, args.exponent)?,
            keys: args.keys,
            share: args.share,
            run: args.run,
            scanned: args.scanned,
            time: 0,
            others: 0,
            trace: trace.into_iter(),
        })
    }

    fn draw(&mut self) -> u64 {
        // Ranks begin with 1.
        self.zipf.sample(&mut self.dice) as u64 - 1
    }
}

impl Iterator for Workload {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let time = self.time;
        self.time += 1;
        let key = match self.kind {
            Kind::Trace => return self.trace.next(),
            Kind::Zipf => self.draw(),
            Kind::OneHit if self.dice.random_bool(self.share) => {
                self.others += 1;
                self.keys + self.others - 1
            }
            Kind::OneHit => self.draw(),
            Kind::Scan => {
                // Each period ends with a run.
                let period = (self.run as f64 / self.share) as u64;
                if time % period >= period - self.run {
                    self.others += 1;
                    self.keys + (self.others - 1) % self.scanned
                } else {
                    self.draw()
                }
            }
        };
        Some(key as u32)
    }
}

/// A trace's keys, numbered as they first come.
fn dense(bytes: &[u8]) -> Result<Vec<u32>> {
    if !bytes.len().is_multiple_of(4) {
        bail!("not a whole number of 32-bit keys");
    }
    let mut numbers = HashMap::new();
    let key = |four: &[u8]| {
        let next = numbers.len() as u32;
        *numbers.entry([four[0], four[1], four[2], four[3]]).or_insert(next)
    };
    Ok(bytes.chunks_exact(4).map(key).collect())
}

/// Sizes of keys and values: all equal, or as in Facebook's ETC pool. A key's sizes depend on its number and the seed
/// alone.
pub struct Sizes {
    equal: Option<(usize, usize)>,
    seed: u64,
}

/// Every server stores keys of these sizes; a key's number has room in the smallest.
const KEY_SIZES: (f64, f64) = (12.0, 250.0);
/// Longer values, which have a probability below 1e-8, are cut: servers store up to 1 MiB.
const LONGEST_VALUE: f64 = 500_000.0;

impl Sizes {
    pub fn new(args: &MissArgs) -> Sizes {
        let equal = (args.key_size as usize, args.data_size);
        Sizes { equal: (!args.etc_sizes).then_some(equal), seed: args.seed }
    }

    pub fn longest_value(&self) -> usize {
        self.equal.map_or(LONGEST_VALUE as usize, |(_, value)| value)
    }

    /// Bytes of a key and of its value.
    pub fn of(&self, key: u32) -> (usize, usize) {
        if let Some(equal) = self.equal {
            return equal;
        }
        let mut dice = SmallRng::seed_from_u64(self.seed << 32 ^ u64::from(key));
        // Of (0, 1]: neither logarithm nor power is infinite.
        let mut uniform = || 1.0 - dice.random::<f64>();
        let key_size = etc::key_size(uniform()).clamp(KEY_SIZES.0, KEY_SIZES.1);
        (key_size as usize, value_size(uniform(), uniform()))
    }
}

fn value_size(which: f64, uniform: f64) -> usize {
    etc::value_size(which, uniform).min(LONGEST_VALUE) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn args(list: &[&str]) -> MissArgs {
        MissArgs::parse_from(std::iter::once("miss").chain(list.iter().copied()))
    }

    fn keys(list: &[&str]) -> Vec<u32> {
        Workload::new(&args(list)).unwrap().collect()
    }

    #[test]
    fn zipf_is_as_steep_as_asked() {
        let drawn = keys(&["-w", "zipf", "--keys", "1000", "--exponent", "1", "-n", "100000"]);
        assert_eq!(drawn.len(), 100_000);
        assert!(drawn.iter().all(|k| *k < 1000));
        let count = |key| drawn.iter().filter(|k| **k == key).count() as f64;
        // The thousandth harmonic number is 7.485.
        assert!((count(0) / 100_000.0 * 7.485 - 1.0).abs() < 0.05, "{}", count(0));
        assert!((count(0) / count(1) - 2.0).abs() < 0.2, "{}", count(1));
        let again = keys(&["-w", "zipf", "--keys", "1000", "--exponent", "1", "-n", "100000"]);
        assert_eq!(drawn, again);
        assert_ne!(drawn, keys(&["--keys", "1000", "--exponent", "1", "-n", "100000", "--seed=2"]));
    }

    #[test]
    fn one_hits_come_once() {
        let drawn = keys(&["-w", "one-hit", "--keys", "100", "-n", "10000"]);
        let mut others: Vec<u32> = drawn.into_iter().filter(|k| *k >= 100).collect();
        assert!((1800..2200).contains(&others.len()));
        others.dedup();
        assert!((1800..2200).contains(&others.len()));
    }

    #[test]
    fn runs_come_in_order() {
        let list = ["-w", "scan", "--keys", "100", "-n", "1000", "--run", "50", "--scanned", "75"];
        let drawn = keys(&list);
        assert!(drawn[..200].iter().all(|k| *k < 100));
        assert_eq!(drawn[200..250], (100..150).collect::<Vec<u32>>());
        assert_eq!(drawn[450..500], (150..175).chain(100..125).collect::<Vec<u32>>());
        assert_eq!(drawn.iter().filter(|k| **k >= 100).count(), 200);
    }

    #[test]
    fn traces_are_numbered() {
        let bytes: Vec<u8> =
            [7u32, 9, 7, 1 << 31, 9].iter().flat_map(|k| k.to_be_bytes()).collect();
        assert_eq!(dense(&bytes).unwrap(), [0, 1, 0, 2, 1]);
        assert!(dense(&bytes[..7]).is_err());
    }

    #[test]
    fn etc_sizes() {
        let sizes = Sizes::new(&args(&["--etc-sizes"]));
        let drawn: Vec<(usize, usize)> = (0..100_000).map(|k| sizes.of(k)).collect();
        assert_eq!(sizes.of(5), drawn[5]);
        let mean = |size: fn(&(usize, usize)) -> usize| {
            drawn.iter().map(size).sum::<usize>() as f64 / drawn.len() as f64
        };
        // The distributions' own means: 36.2 for keys; values 344 from 15 bytes up, 56 % of all.
        let (keys, values) = (mean(|s| s.0), mean(|s| s.1));
        assert!((35.0..37.0).contains(&keys), "{keys}");
        assert!((180.0..215.0).contains(&values), "{values}");
        let twos = drawn.iter().filter(|s| s.1 == 2).count() as f64;
        assert!((0.17..0.187).contains(&(twos / drawn.len() as f64)), "{twos}");
        assert_eq!(value_size(1.0, 1.0), 15);
        assert_eq!(value_size(1.0, 1e-300), 500_000);
    }
}
