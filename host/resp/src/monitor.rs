//! MONITOR: a client sees each command that any client calls.

use std::io::Write;

use wirekv_proto::events::{Refused, MONITOR};

use super::args::Args;
use super::call::Call;
use super::client::Client;
use super::rows;
use super::table::{flag, Command};
use super::{word, Error};
use crate::Engine;

const INSIDE: Error = "ERR MONITOR isn't allowed for DENY BLOCKING client";
const FORBIDDEN: Error = "ERR MONITOR is not allowed";
const TOO_MANY: Error = "ERR too many clients use MONITOR";
/// A monitor's commands on keys.
pub const NO_KEYS: Error = "ERR Replica can't interact with the keyspace";

pub const COMMANDS: &[Command] = &[Command::new(rows::MONITOR, monitor)];

/// `MONITOR`
fn monitor(call: &mut Call<'_>) -> Result<(), Error> {
    if call.client.running.is_some() {
        return Err(INSIDE);
    }
    // As Redis, which says nothing to the second one.
    if !call.client.monitors {
        call.server.watch(MONITOR).map_err(|refused| match refused {
            Refused::Forbidden => FORBIDDEN,
            Refused::TooMany => TOO_MANY,
        })?;
        call.client.monitors = true;
        call.reply.ok();
    }
    Ok(())
}

/// What nobody may see: a password. `before` are the two arguments before argument `i`, the nearer one last.
pub fn is_secret(command: &Command, i: usize, before: [&[u8]; 2]) -> bool {
    match command.name {
        "auth" => i > 0,
        "hello" => i > 2 && before.iter().any(|word| word::is(word, "auth")),
        "set" => word::is(before[1], "requirepass"),
        _ => false,
    }
}

/// A command was called.
#[inline]
pub fn called(engine: &Engine, command: &Command, args: &Args<'_>, by: &Client) {
    if engine.settings.events.wants(MONITOR) {
        tell(engine, command, args, by);
    }
}

#[cold]
fn tell(engine: &Engine, command: &Command, args: &Args<'_>, by: &Client) {
    if command.has(flag::ADMIN | flag::SKIP_MONITOR) {
        return;
    }
    engine.settings.events.tell(MONITOR, |moment, line| {
        let shown = by.shown();
        let address = shown.map_or("", |shown| &shown.address);
        let unix = address.strip_suffix(":0").filter(|_| shown.is_some_and(|shown| shown.is_unix));
        // A vector takes what is written to it.
        let _ = write!(line, "+{}.{:06} [{} ", moment.seconds, moment.micros, by.db);
        let _ = match unix {
            Some(path) => write!(line, "unix:{path}]"),
            None => write!(line, "{address}]"),
        };
        let mut before: [&[u8]; 2] = [b"", b""];
        for (i, arg) in args.from(0).enumerate() {
            line.push(b' ');
            quoted(if is_secret(command, i, before) { b"(redacted)" } else { arg }, line);
            before = [before[1], arg];
        }
        line.extend_from_slice(b"\r\n");
    });
}

/// As `sdscatrepr` of Redis.
fn quoted(arg: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for byte in arg {
        let letter = match byte {
            b'\\' | b'"' => *byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x07 => b'a',
            0x08 => b'b',
            b' '..=b'~' => {
                line.push(*byte);
                continue;
            }
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
                continue;
            }
        };
        line.extend([b'\\', letter]);
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn quotes() {
        let mut line = Vec::new();
        quoted(b"a \x00\x1f\x7f\xff\"\\\n\r\t\x07\x08'~", &mut line);
        assert_eq!(line, br#""a \x00\x1f\x7f\xff\"\\\n\r\t\a\b'~""#);
    }

    #[test]
    fn secrets() {
        let is = |name: &[u8], i, before| is_secret(table::find(name).unwrap().0, i, before);
        assert!(is(b"auth", 1, [b"", b"auth"]) && is(b"auth", 2, [b"auth", b"u"]));
        assert!(!is(b"auth", 0, [b"", b""]) && !is(b"get", 1, [b"", b"auth"]));
        for (i, secret) in [false, false, false, true, true, false, false].into_iter().enumerate() {
            let words = [b"hello" as &[u8], b"3", b"AUTH", b"u", b"p", b"SETNAME", b"n"];
            let word = |at: usize| i.checked_sub(at).map_or(b"" as &[u8], |i| words[i]);
            assert_eq!(is(b"hello", i, [word(2), word(1)]), secret, "{i}");
        }
    }
}
