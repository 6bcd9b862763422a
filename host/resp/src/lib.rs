//! Redis 7.0's protocol, RESP2 and RESP3, over the items of the WireKV store: what is a string there.
//!
//! A command's way: [`parse`] finds its end and its first arguments, [`table`] the command,
//! [`dispatch`](execute) checks what does not depend on the command, then calls its handler with a
//! [`Call`]. A handler is a `fn(&mut Call) -> Result<(), Error>`; to add one, write it in the file of
//! its topic and name it in that file's `COMMANDS`. It has
//!
//! - `call.args`: the arguments, its name being argument 0;
//! - `call.reply`: where its one reply goes; an `Err` is replied instead of what was written;
//! - `call.engine`: store, settings, counters; items are changed through [`items`];
//! - `call.client`: the connection's database, name, protocol and so on;
//! - `call.server`: what only the server knows;
//! - `call.next`: how it goes on, be it with another call of the same command.

#![forbid(unsafe_code)]

mod absent;
mod admin;
mod args;
pub mod bitfield;
mod bitmaps;
pub mod bits;
mod call;
mod client;
mod clients;
mod common;
mod config;
mod connection;
mod docs;
mod elsewhere;
mod engine;
mod estimate;
mod execute;
mod expiry;
mod facts;
pub mod glob;
mod info;
mod introspect;
mod items;
mod kept;
mod keys;
mod keyspace;
mod latency;
pub mod lcs;
mod lifetimes;
mod line;
mod monitor;
mod multiple;
pub mod number;
mod object;
mod parse;
pub mod range;
mod reply;
#[rustfmt::skip]
mod rows;
mod server;
mod shown;
mod slowlog;
mod stats;
mod strings;
mod sums;
pub mod table;
mod transactions;
#[cfg(test)]
mod values;
pub mod word;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use call::Call;
pub use client::Client;
pub use common::{Common, Rates};
pub use elsewhere::Key;
pub use engine::Engine;
pub use facts::Facts;
pub use parse::Op;
pub use server::{CardItems, Place, Server, Walk};
pub use shown::Shown;
pub use stats::Thread;

/// A connection that speaks Redis' protocol.
pub type Session = wirekv_proto::Session<Client>;

/// The Redis whose commands these are.
pub const VERSION: &str = "7.0.15";

/// What a command is refused with: the line that the client gets, without its `-`.
pub type Error = &'static str;

pub const SYNTAX: Error = "ERR syntax error";
pub const LONG_KEY: Error = "ERR key is longer than 250 bytes";
pub const LONG_VALUE: Error = "ERR item is larger than this server takes (-I)";
pub const NO_MEMORY: Error = "OOM command not allowed when used memory > 'maxmemory'.";

/// A thread that panicked has left nothing half done in what is kept so.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `<command> HELP`
fn help(call: &mut Call<'_>, lines: &[&str]) -> Result<(), Error> {
    let name = String::from_utf8_lossy(call.arg(0)).to_uppercase();
    let head = format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    call.reply.array(lines.len() + 3);
    call.reply.simple(&head);
    let last = ["HELP", "    Prints this help."];
    lines.iter().chain(&last).for_each(|line| call.reply.simple(line));
    Ok(())
}

/// A subcommand was found, and its arguments are too many or none that it takes.
fn subcommand_syntax(call: &mut Call<'_>) {
    let name = String::from_utf8_lossy(call.arg(0)).to_uppercase();
    let what = b"ERR unknown subcommand or wrong number of arguments for '";
    let sub = word::c_string(call.arg(1));
    let sub = &sub[..sub.len().min(128)];
    call.reply.error([&what[..], sub, b"'. Try ", name.as_bytes(), b" HELP."].concat());
}
