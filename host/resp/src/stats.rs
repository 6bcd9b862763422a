//! How often each command was called, how long that took, and with which errors.
//!
//! A thread counts for itself. Reading the clock is a good part of what a `GET` costs, so of the
//! commands on one key and the quick ones only one in [`SAMPLED`] is timed, and the others count as
//! such ones; all are timed while slow ones of under a millisecond are logged.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::locked;
use super::table::{self, flag, Command, ONE};

const SAMPLED: u64 = 64;
/// More kinds of errors than these are not told apart, as in Redis.
const ERRORS: usize = 128;

/// A number with one writer.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    #[inline]
    fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
}

#[derive(Default)]
struct Calls {
    calls: Count,
    /// Of some, how many, and how long they took.
    timed: Count,
    nanos: Count,
    rejected: Count,
    failed: Count,
}

/// Of one thread, by the commands' numbers.
pub struct Thread(Box<[Calls]>);

/// What is known of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u64,
    timed: u64,
    nanos: u64,
    pub rejected: u64,
    pub failed: u64,
}

impl Sum {
    /// Microseconds of a call.
    pub fn micros_per_call(&self) -> f64 {
        self.nanos as f64 / 1000.0 / self.timed.max(1) as f64
    }

    /// Of all of them.
    pub fn micros(&self) -> u64 {
        (self.micros_per_call() * self.calls as f64) as u64
    }

    fn less(self, base: Sum) -> Sum {
        Sum {
            calls: self.calls - base.calls,
            timed: self.timed - base.timed,
            nanos: self.nanos - base.nanos,
            rejected: self.rejected - base.rejected,
            failed: self.failed - base.failed,
        }
    }
}

/// A call that is timed.
pub struct Timed(Instant);

impl Thread {
    /// A call begins, or goes on if it is not `new`; `all`: every one is timed.
    #[inline]
    pub fn begin(&self, number: usize, command: &Command, all: bool, new: bool) -> Option<Timed> {
        let calls = &self.0[number].calls;
        calls.add(new.into());
        let quick = command.has(flag::FAST) || command.keys == ONE;
        let timed = all || !quick || calls.0.load(Relaxed) % SAMPLED == 1;
        timed.then(|| {
            self.0[number].timed.add(new.into());
            Timed(Instant::now())
        })
    }

    /// It has ended; in so many microseconds.
    pub fn end(&self, number: usize, timed: &Timed) -> u64 {
        let nanos = timed.0.elapsed().as_nanos() as u64;
        self.0[number].nanos.add(nanos);
        nanos / 1000
    }

    #[cold]
    pub fn failed(&self, number: usize) {
        self.0[number].failed.add(1);
    }

    /// It was not called at all.
    #[cold]
    pub fn rejected(&self, number: usize) {
        self.0[number].rejected.add(1);
    }
}

/// Of all threads.
#[derive(Default)]
pub struct Stats {
    threads: Mutex<Vec<Arc<Thread>>>,
    /// What had been counted when it began anew.
    base: Mutex<Vec<Sum>>,
    errors: Mutex<BTreeMap<String, u64>>,
}

impl Stats {
    /// A thread's share.
    pub fn join(&self) -> Arc<Thread> {
        let counts = (0..table::count()).map(|_| Calls::default()).collect();
        let thread = Arc::new(Thread(counts));
        locked(&self.threads).push(thread.clone());
        thread
    }

    fn counted(&self) -> Vec<Sum> {
        let mut sums = vec![Sum::default(); table::count()];
        for thread in locked(&self.threads).iter() {
            for (sum, calls) in sums.iter_mut().zip(&thread.0) {
                sum.calls += calls.calls.0.load(Relaxed);
                sum.timed += calls.timed.0.load(Relaxed);
                sum.nanos += calls.nanos.0.load(Relaxed);
                sum.rejected += calls.rejected.0.load(Relaxed);
                sum.failed += calls.failed.0.load(Relaxed);
            }
        }
        sums
    }

    /// By the commands' numbers.
    pub fn sums(&self) -> Vec<Sum> {
        let base = locked(&self.base);
        let base = base.iter().copied().chain(std::iter::repeat(Sum::default()));
        self.counted().into_iter().zip(base).map(|(sum, base)| sum.less(base)).collect()
    }

    /// Commands that were called.
    pub fn calls(&self) -> u64 {
        self.sums().iter().map(|sum| sum.calls).sum()
    }

    /// An error was replied; its first word says of what kind it is.
    #[cold]
    pub fn error(&self, text: &[u8]) {
        let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
        let kind = String::from_utf8_lossy(&text[..end.min(64)]).into_owned();
        let mut errors = locked(&self.errors);
        if errors.len() < ERRORS || errors.contains_key(&kind) {
            *errors.entry(kind).or_default() += 1;
        }
    }

    pub fn errors(&self) -> Vec<(String, u64)> {
        locked(&self.errors).iter().map(|(kind, count)| (kind.clone(), *count)).collect()
    }

    pub fn reset(&self) {
        *locked(&self.base) = self.counted();
        locked(&self.errors).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_threads_since_the_reset() {
        let stats = Stats::default();
        let threads = [stats.join(), stats.join()];
        let (number, command) = table::find(b"del").map(|named| (named.1, named.0)).unwrap();
        for thread in &threads {
            let timed = thread.begin(number.into(), command, false, true).expect("it is not quick");
            thread.end(number.into(), &timed);
        }
        threads[0].failed(number.into());
        let sum = stats.sums()[usize::from(number)];
        assert_eq!((sum.calls, sum.failed, sum.rejected), (2, 1, 0));
        stats.reset();
        assert_eq!(stats.sums()[usize::from(number)], Sum::default());
        threads[1].begin(number.into(), command, false, true);
        threads[1].begin(number.into(), command, false, false);
        assert_eq!(stats.calls(), 1);
    }

    #[test]
    fn quick_commands_are_sampled() {
        let stats = Stats::default();
        let thread = stats.join();
        let (number, command) = table::find(b"get").map(|named| (named.1, named.0)).unwrap();
        let timed =
            (0..10 * SAMPLED).filter_map(|_| thread.begin(number.into(), command, false, true));
        assert_eq!(timed.count(), 10);
        assert!(thread.begin(number.into(), command, true, true).is_some());
        assert_eq!(stats.calls(), 10 * SAMPLED + 1);
    }

    #[test]
    fn kinds_of_errors_are_bounded() {
        let stats = Stats::default();
        for n in 0..1000 {
            stats.error(format!("E{n} x").as_bytes());
            stats.error(b"ERR syntax error");
        }
        let errors = stats.errors();
        assert_eq!(errors.len(), ERRORS);
        assert!(errors.contains(&("ERR".into(), 1000)));
    }
}
