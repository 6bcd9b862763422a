//! What a server says to who runs it: events of the tracing crate, as lines on standard error.
//!
//! Each place in the program that has something to say is a cause of its own. Of each there are at most [`LINES`] lines a
//! second, and then one with the number of those that were left out. No line has a control character: what clients send
//! is written by [`Text`], and whatever else slips in is escaped, too.
#![warn(missing_docs)]

use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Debug, Display, Write as _};
use std::io::Write as _;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use tracing::callsite::{rebuild_interest_cache, Identifier};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{set_global_default, Interest};
use tracing::{Event, Metadata, Subscriber};

pub use tracing::{debug, enabled, error, info, warn, Level};

/// Lines a second of each cause.
pub const LINES: usize = 10;
/// Bytes of a client's that are shown.
const SHOWN: usize = 100;
const SECOND: Duration = Duration::from_secs(1);

static LOG: OnceLock<Log> = OnceLock::new();

/// Shows warnings and errors from now on; with `verbosity` 1 what is refused, what fails and what is slow; from 2 on
/// connections, too.
pub fn start(verbosity: u32) {
    let log = Log { verbosity: verbosity.into(), causes: Mutex::default() };
    if LOG.set(log).is_ok() {
        let _ = set_global_default(ToLog);
    }
}

/// memcached's command of that name.
pub fn set_verbosity(verbosity: u32) {
    if let Some(log) = LOG.get() {
        log.verbosity.store(verbosity, Relaxed);
        rebuild_interest_cache();
    }
}

/// To be called once a second: says how much was left out.
pub fn tick() {
    if let Some(log) = LOG.get() {
        log.tick();
    }
}

/// Bytes of a client's, as text without control characters: the first of them.
pub struct Text<'a>(pub &'a [u8]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN)];
        f.write_char('"')?;
        write!(f, "{}", shown.escape_ascii())?;
        f.write_char('"')?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, " and {more} bytes more"),
        }
    }
}

struct Log {
    verbosity: AtomicU32,
    causes: Mutex<HashMap<Identifier, (&'static Metadata<'static>, Cause)>>,
}

#[derive(Default)]
struct Cause {
    /// When its lines of the last second were shown.
    shown: VecDeque<Instant>,
    left_out: u64,
}

impl Cause {
    /// Lines that there may be now.
    fn room(&mut self, now: Instant) -> usize {
        while self.shown.front().is_some_and(|then| now.duration_since(*then) >= SECOND) {
            self.shown.pop_front();
        }
        LINES - self.shown.len()
    }

    /// The line about those that were left out, where there were any.
    fn rest(&mut self, now: Instant, target: &str) -> Option<String> {
        if self.left_out == 0 || self.room(now) == 0 {
            return None;
        }
        self.shown.push_back(now);
        let n = std::mem::take(&mut self.left_out);
        Some(format!("{n} lines of {target} were left out, which were like others"))
    }

    /// Whether one more is shown, and what is said before it.
    fn admit(&mut self, now: Instant, target: &str) -> (bool, Option<String>) {
        if self.room(now) < 1 + usize::from(self.left_out > 0) {
            self.left_out += 1;
            return (false, None);
        }
        let rest = self.rest(now, target);
        self.shown.push_back(now);
        (true, rest)
    }
}

impl Log {
    fn level(&self) -> LevelFilter {
        match self.verbosity.load(Relaxed) {
            0 => LevelFilter::WARN,
            1 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        }
    }

    fn say(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut causes = self.causes.lock().unwrap();
        let (_, cause) = causes.entry(metadata.callsite()).or_insert((metadata, Cause::default()));
        let (shown, rest) = cause.admit(Instant::now(), metadata.target());
        rest.iter().for_each(|line| show(line));
        if shown {
            let mut line = Line::default();
            event.record(&mut line);
            show(&line.0);
        }
    }

    fn tick(&self) {
        for (metadata, cause) in self.causes.lock().unwrap().values_mut() {
            cause.rest(Instant::now(), metadata.target()).iter().for_each(|line| show(line));
        }
    }
}

/// One write a line: those of several threads do not mix.
fn show(line: &str) {
    let _ = std::io::stderr().write_all(format!("wirekv: {line}\n").as_bytes());
}

/// tracing's way to the log.
struct ToLog;

impl Subscriber for ToLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        LOG.get().is_some_and(|log| *metadata.level() <= log.level())
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match self.enabled(metadata) {
            true => Interest::always(),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        LOG.get().map(Log::level)
    }

    fn event(&self, event: &Event<'_>) {
        if let Some(log) = LOG.get() {
            log.say(event);
        }
    }

    // There are no spans.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message, then the other fields with their names.
#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() != "message" {
            let _ = write!(self.0, " {}=", field.name());
        }
        for c in format!("{value:?}").chars() {
            match c.is_control() {
                true => self.0.extend(c.escape_default()),
                false => self.0.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_in_any_second_and_all_are_counted() {
        let (start, mut cause, mut times, mut left_out) =
            (Instant::now(), Cause::default(), Vec::new(), 0);
        let mut told = |said: Option<String>, now, times: &mut Vec<Instant>| {
            if let Some(text) = said {
                left_out += text.split(' ').next().unwrap().parse::<usize>().unwrap();
                times.push(now);
            }
        };
        let (mut now, mut shown) = (start, 0);
        for n in 0..100_000 {
            now += Duration::from_micros(if n % 1000 == 0 { 300_000 } else { 50 });
            let (is_shown, rest) = cause.admit(now, "here");
            told(rest, now, &mut times);
            if is_shown {
                shown += 1;
                times.push(now);
            }
        }
        assert!(times.windows(LINES + 1).all(|w| w[LINES] - w[0] >= SECOND));
        told(cause.rest(now + SECOND, "here"), now + SECOND, &mut times);
        assert_eq!(shown + left_out, 100_000);
        assert!(shown > 200, "{shown}");
    }

    #[test]
    fn no_byte_of_a_client_is_shown_as_it_is() {
        let bytes: Vec<u8> = (0..=255).collect();
        for piece in bytes.chunks(64) {
            let text = Text(piece).to_string();
            assert!(text.bytes().all(|b| (0x20..0x7F).contains(&b)), "{text}");
        }
        assert_eq!(Text(b"a\"\r\n\x1b").to_string(), r#""a\"\r\n\x1b""#);
        assert_eq!(
            Text(&[b'x'; 102]).to_string(),
            format!("\"{}\" and 2 bytes more", "x".repeat(100))
        );
    }
}
