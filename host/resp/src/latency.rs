//! LATENCY: when something took longer than `latency-monitor-threshold` milliseconds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;

use super::call::Call;
use super::rows;
use super::table::{flag::*, Command};
use super::{help, locked, word, Error};

/// Seconds of an event that are remembered.
const SAMPLES: usize = 160;
/// What is watched: commands that should always be quick, and others.
const EVENTS: [&str; 2] = ["command", "fast-command"];

pub const COMMAND: Command = Command::container(
    rows::LATENCY,
    &[
        Command::new(rows::LATENCY_DOCTOR, doctor),
        Command::new(rows::LATENCY_GRAPH, graph),
        Command::new(rows::LATENCY_HELP, |call| help(call, HELP)),
        Command::new(rows::LATENCY_HISTOGRAM, histogram),
        Command::new(rows::LATENCY_HISTORY, history),
        Command::new(rows::LATENCY_LATEST, latest),
        Command::new(rows::LATENCY_RESET, reset),
    ],
);

const HELP: &[&str] = &[
    "DOCTOR",
    "    Reports in words.",
    "GRAPH <event>",
    "    Draws the seconds in which the event took long.",
    "HISTORY <event>",
    "    Tells these seconds, and the worst of each in milliseconds.",
    "LATEST",
    "    Tells the last one of each event, and the worst of all.",
    "RESET [<event> ...]",
    "    Forgets these events, or all.",
    "HISTOGRAM [<command> ...]",
    "    Tells how many calls took how long. This server does not count that.",
];

/// A second, and the worst milliseconds in it.
#[derive(Clone, Copy)]
struct Sample {
    second: i64,
    millis: i64,
}

#[derive(Default)]
struct Event {
    samples: VecDeque<Sample>,
    worst: i64,
}

#[derive(Default)]
pub struct Latency {
    /// 0: nothing is watched.
    threshold: AtomicU64,
    events: Mutex<[Event; 2]>,
}

impl Latency {
    pub fn threshold(&self) -> u64 {
        self.threshold.load(Relaxed)
    }

    pub fn set_threshold(&self, millis: u64) {
        self.threshold.store(millis, Relaxed);
    }

    /// A command took so long.
    #[inline]
    pub fn took(&self, micros: u64, command: &Command, second: i64) {
        let threshold = self.threshold();
        if threshold > 0 && micros / 1000 >= threshold {
            self.add(usize::from(command.has(FAST)), (micros / 1000) as i64, second);
        }
    }

    #[cold]
    fn add(&self, event: usize, millis: i64, second: i64) {
        let event = &mut locked(&self.events)[event];
        event.worst = event.worst.max(millis);
        match event.samples.back_mut() {
            Some(last) if last.second == second => last.millis = last.millis.max(millis),
            _ => {
                if event.samples.len() == SAMPLES {
                    event.samples.pop_front();
                }
                event.samples.push_back(Sample { second, millis });
            }
        }
    }

    /// Of an event, if there are any.
    fn samples(&self, name: &[u8]) -> Option<Vec<Sample>> {
        let event = EVENTS.iter().position(|event| event.as_bytes() == name)?;
        let samples: Vec<_> = locked(&self.events)[event].samples.iter().copied().collect();
        (!samples.is_empty()).then_some(samples)
    }
}

fn history(call: &mut Call<'_>) -> Result<(), Error> {
    let samples = call.engine.common.latency.samples(call.arg(2)).unwrap_or_default();
    call.reply.array(samples.len());
    for sample in samples {
        call.reply.array(2);
        call.reply.integer(sample.second);
        call.reply.integer(sample.millis);
    }
    Ok(())
}

fn latest(call: &mut Call<'_>) -> Result<(), Error> {
    let events = locked(&call.engine.common.latency.events);
    let told = EVENTS.iter().zip(events.iter());
    let told: Vec<_> =
        told.filter_map(|(name, e)| Some((name, *e.samples.back()?, e.worst))).collect();
    call.reply.array(told.len());
    for (name, last, worst) in told {
        call.reply.array(4);
        call.reply.bulk(name.as_bytes());
        call.reply.integer(last.second);
        call.reply.integer(last.millis);
        call.reply.integer(worst);
    }
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Result<(), Error> {
    let named = call.args.vec(2);
    let mut events = locked(&call.engine.common.latency.events);
    let mut count = 0;
    for (name, event) in EVENTS.iter().zip(events.iter_mut()) {
        let meant = named.is_empty() || named.contains(&name.as_bytes());
        if meant && !event.samples.is_empty() {
            *event = Event::default();
            count += 1;
        }
    }
    call.reply.integer(count);
    Ok(())
}

/// There is nothing in it, as in a Redis with `latency-tracking no`.
fn histogram(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.map(0);
    Ok(())
}

/// One column a second, up to the last 80 of them.
fn graph(call: &mut Call<'_>) -> Result<(), Error> {
    let name = call.arg(2);
    let Some(samples) = call.engine.common.latency.samples(name) else {
        let name = word::c_string(name);
        call.reply.error([b"ERR No samples available for event '", name, b"'"].concat());
        return Ok(());
    };
    let shown = &samples[samples.len().saturating_sub(80)..];
    let high = shown.iter().map(|sample| sample.millis).max().unwrap_or(0);
    let low = shown.iter().map(|sample| sample.millis).min().unwrap_or(0);
    let worst = samples.iter().map(|sample| sample.millis).max().unwrap_or(0);
    let mut text = format!(
        "{} - high {high} ms, low {low} ms (all time high {worst} ms)\n{}\n",
        String::from_utf8_lossy(name),
        "-".repeat(80)
    );
    const ROWS: i64 = 4;
    for row in (0..ROWS).rev() {
        let from = low + (high - low) * row / ROWS;
        let mark = |sample: &Sample| if sample.millis >= from.max(1) { '#' } else { ' ' };
        text.push_str(shown.iter().map(mark).collect::<String>().trim_end());
        text.push('\n');
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn doctor(call: &mut Call<'_>) -> Result<(), Error> {
    let common = &call.engine.common;
    let mut text = match common.latency.threshold() {
        0 => "Latency is not watched: CONFIG SET latency-monitor-threshold <milliseconds>\n".into(),
        threshold => format!("What takes {threshold} ms and more is remembered.\n"),
    };
    for name in EVENTS {
        let Some(samples) = common.latency.samples(name.as_bytes()) else { continue };
        let sum: i64 = samples.iter().map(|sample| sample.millis).sum();
        let worst = samples.iter().map(|sample| sample.millis).max().unwrap_or(0);
        text.push_str(&format!(
            "{name}: slow in {} seconds; {} ms on average, {worst} ms at worst. SLOWLOG GET tells \
             which commands these were.\n",
            samples.len(),
            sum / samples.len() as i64
        ));
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}
