//! SLOWLOG: the last commands that took long.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;

use super::args::Args;
use super::call::Call;
use super::client::Client;
use super::monitor::is_secret;
use super::number;
use super::rows;
use super::table::{flag::SKIP_SLOWLOG, Command};
use super::{help, locked, Error};

const BAD_COUNT: Error = "ERR count should be greater than or equal to -1";
/// Of a command as many arguments are kept, and of each as many bytes.
const MAX_ARGS: usize = 32;
const MAX_BYTES: usize = 128;
/// What `slowlog-max-len` can be at most: some 4 KiB an entry.
pub const MAX_LEN: usize = 10_000;

pub const COMMAND: Command = Command::container(
    rows::SLOWLOG,
    &[
        Command::new(rows::SLOWLOG_GET, get),
        Command::new(rows::SLOWLOG_HELP, |call| help(call, HELP)),
        Command::new(rows::SLOWLOG_LEN, len),
        Command::new(rows::SLOWLOG_RESET, reset),
    ],
);

const HELP: &[&str] = &[
    "GET [<count>]",
    "    Tells the last <count> entries, 10 without it, all of them with -1. Each is",
    "    its number, a UNIX time, microseconds, the arguments, the client's address and name.",
    "LEN",
    "    Counts the entries.",
    "RESET",
    "    Forgets them.",
];

struct Entry {
    number: i64,
    time: i64,
    micros: u64,
    args: Vec<Vec<u8>>,
    address: String,
    name: Vec<u8>,
}

pub struct Slowlog {
    /// Microseconds from which on a command is slow; below 0 none is.
    threshold: AtomicI64,
    max_len: AtomicUsize,
    /// The next entry's number, and the entries, the last one first.
    entries: Mutex<(i64, VecDeque<Entry>)>,
}

impl Default for Slowlog {
    fn default() -> Slowlog {
        Slowlog {
            threshold: AtomicI64::new(10_000),
            max_len: AtomicUsize::new(128),
            entries: Mutex::default(),
        }
    }
}

impl Slowlog {
    pub fn threshold(&self) -> i64 {
        self.threshold.load(Relaxed)
    }

    pub fn set_threshold(&self, micros: i64) {
        self.threshold.store(micros, Relaxed);
    }

    pub fn max_len(&self) -> usize {
        self.max_len.load(Relaxed)
    }

    /// Older entries go when the next one comes, as in Redis.
    pub fn set_max_len(&self, len: usize) {
        self.max_len.store(len.min(MAX_LEN), Relaxed);
    }

    /// A command took so long.
    #[inline]
    pub fn took(&self, micros: u64, command: &Command, args: &Args<'_>, by: &Client, time: i64) {
        let threshold = self.threshold();
        if threshold >= 0 && micros >= threshold as u64 && !command.has(SKIP_SLOWLOG) {
            self.log(micros, command, args, by, time);
        }
    }

    #[cold]
    fn log(&self, micros: u64, command: &Command, args: &Args<'_>, by: &Client, time: i64) {
        let args = shortened(command, args);
        let (address, name) = (by.address().to_owned(), by.name.clone());
        let mut entries = locked(&self.entries);
        let (next, list) = &mut *entries;
        list.push_front(Entry { number: *next, time, micros, args, address, name });
        *next += 1;
        list.truncate(self.max_len());
    }
}

/// What is kept of a command: nothing of passwords.
fn shortened(command: &Command, args: &Args<'_>) -> Vec<Vec<u8>> {
    let count = args.len();
    let kept = if count > MAX_ARGS { MAX_ARGS - 1 } else { count };
    let mut before: [&[u8]; 2] = [b"", b""];
    let mut short = Vec::new();
    for (i, arg) in args.from(0).take(kept).enumerate() {
        short.push(match arg.len() {
            _ if is_secret(command, i, before) => b"(redacted)".to_vec(),
            0..=MAX_BYTES => arg.to_vec(),
            len => {
                let more = format!("... ({} more bytes)", len - MAX_BYTES);
                [&arg[..MAX_BYTES], more.as_bytes()].concat()
            }
        });
        before = [before[1], arg];
    }
    if kept < count {
        short.push(format!("... ({} more arguments)", count - kept).into_bytes());
    }
    short
}

fn get(call: &mut Call<'_>) -> Result<(), Error> {
    let count = match call.args.find(2) {
        None => 10,
        Some(_) if call.args.len() > 3 => {
            super::subcommand_syntax(call);
            return Ok(());
        }
        Some(text) => match number::integer(text) {
            Some(-1) => usize::MAX,
            Some(count @ 0..) => count as usize,
            _ => return Err(BAD_COUNT),
        },
    };
    let entries = locked(&call.engine.common.slowlog.entries);
    let told = count.min(entries.1.len());
    let reply = &mut call.reply;
    reply.array(told);
    for entry in entries.1.iter().take(told) {
        reply.array(6);
        reply.integer(entry.number);
        reply.integer(entry.time);
        reply.integer(entry.micros as i64);
        reply.array(entry.args.len());
        entry.args.iter().for_each(|arg| reply.bulk(arg));
        reply.bulk(entry.address.as_bytes());
        reply.bulk(&entry.name);
    }
    Ok(())
}

fn len(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.integer(locked(&call.engine.common.slowlog.entries).1.len() as i64);
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Result<(), Error> {
    locked(&call.engine.common.slowlog.entries).1.clear();
    call.reply.ok();
    Ok(())
}
