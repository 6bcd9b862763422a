//! What has been done so far, said on standard error each second.

use std::io::{stderr, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::LoadArgs;

const EVERY: Duration = Duration::from_secs(1);

/// What one thread has seen. Each has a cache line of its own, or two that are fetched together.
#[derive(Default)]
#[repr(align(128))]
pub struct Seen {
    answers: AtomicU64,
    /// How long these took, in sum.
    nanos: AtomicU64,
}

impl Seen {
    /// Answers that took equally long. One thread alone calls this.
    pub fn add(&self, answers: u64, took: Duration) {
        let nanos = answers * took.as_nanos() as u64;
        self.answers.store(self.answers.load(Relaxed) + answers, Relaxed);
        self.nanos.store(self.nanos.load(Relaxed) + nanos, Relaxed);
    }
}

/// Of all threads.
#[derive(Clone, Copy, Default)]
struct Sum {
    answers: u64,
    nanos: u64,
}

impl Sum {
    fn of(seen: &[Seen]) -> Sum {
        seen.iter().fold(Sum::default(), |sum, one| Sum {
            answers: sum.answers + one.answers.load(Relaxed),
            nanos: sum.nanos + one.nanos.load(Relaxed),
        })
    }
}

/// Says each second what came in it, until there is no more.
pub struct Progress<'a> {
    args: &'a LoadArgs,
    /// A line of its own each time, not one that is written over.
    lines: bool,
    over: AtomicBool,
}

impl<'a> Progress<'a> {
    /// Where somebody may look at it, or wants it.
    pub fn new(args: &'a LoadArgs) -> Option<Progress<'a>> {
        let terminal = stderr().is_terminal();
        let over = AtomicBool::new(false);
        (terminal || args.progress).then_some(Progress { args, lines: !terminal, over })
    }

    pub fn end(&self, watch: &thread::Thread) {
        self.over.store(true, Relaxed);
        watch.unpark();
    }

    pub fn watch(&self, seen: &[Seen]) {
        let begin = Instant::now();
        let (mut last, mut next) = (Sum::default(), begin + EVERY);
        loop {
            thread::park_timeout(next.saturating_duration_since(Instant::now()));
            if self.over.load(Relaxed) {
                break;
            }
            if Instant::now() < next {
                continue;
            }
            let now = Sum::of(seen);
            let line = self.line(begin.elapsed(), last, now);
            // Nobody to read it is no reason to stop.
            let _ = match self.lines {
                true => writeln!(stderr(), "{line}"),
                false => write!(stderr(), "\r{line}\x1b[K"),
            };
            (last, next) = (now, next + EVERY);
        }
        if !self.lines {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    fn line(&self, elapsed: Duration, last: Sum, now: Sum) -> String {
        let seconds = elapsed.as_secs_f64();
        let came = now.answers - last.answers;
        let mean = (now.nanos - last.nanos) as f64 / came.max(1) as f64 / 1e6;
        let what = match () {
            () if self.args.fills => "filling",
            () if seconds < self.args.warmup => "warming up",
            () => "measuring",
        };
        let part = match self.args.test_time {
            Some(time) => seconds / (self.args.warmup + time),
            None => now.answers as f64 / self.args.total().max(1) as f64,
        };
        format!(
            "{what} {:3.0} %, {seconds:.0} s: {came} answers/s (mean {:.0}), {mean:.3} ms",
            100.0 * part.min(1.0),
            now.answers as f64 / seconds,
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn line(list: &[&str], fills: bool, seconds: u64, last: Sum, now: Sum) -> String {
        let args = LoadArgs::parse_from(std::iter::once(&"load").chain(list));
        let args = LoadArgs { fills, ..args };
        let progress = Progress { args: &args, lines: true, over: AtomicBool::new(false) };
        progress.line(Duration::from_secs(seconds), last, now)
    }

    #[test]
    fn what_came_since_the_last_line_and_how_far_it_is() {
        let threads = [Seen::default(), Seen::default()];
        let nothing = Sum::of(&threads);
        threads[0].add(100, Duration::from_millis(2));
        threads[1].add(300, Duration::from_millis(4));
        let first = Sum::of(&threads);
        let list = ["--test-time", "6", "--warmup", "2"];
        let said = "warming up  12 %, 1 s: 400 answers/s (mean 400), 3.500 ms";
        assert_eq!(line(&list, false, 1, nothing, first), said);
        threads[1].add(100, Duration::from_millis(1));
        let then = Sum::of(&threads);
        let said = "measuring  25 %, 2 s: 100 answers/s (mean 250), 1.000 ms";
        assert_eq!(line(&list, false, 2, first, then), said);
        let said = "measuring  50 %, 2 s: 0 answers/s (mean 250), 0.000 ms";
        assert_eq!(line(&["-c", "2", "-n", "500"], false, 2, then, then), said);
        let said = "filling  25 %, 2 s: 100 answers/s (mean 250), 1.000 ms";
        assert_eq!(line(&["--key-maximum", "1999"], true, 2, first, then), said);
    }
}
