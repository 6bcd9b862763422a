//! CONFIG: settings. Those that say something that is true of this server, under Redis' names.

use super::call::Call;
use super::facts::Facts;
use super::glob::Pattern;
use super::number;
use super::rows;
use super::slowlog;
use super::table::Command;
use super::{help, word, Common, Error, SYNTAX};

pub const COMMAND: Command = Command::container(
    rows::CONFIG,
    &[
        Command::new(rows::CONFIG_GET, get),
        Command::new(rows::CONFIG_HELP, |call| help(call, HELP)),
        Command::new(rows::CONFIG_RESETSTAT, reset_stat),
        Command::new(rows::CONFIG_REWRITE, rewrite),
        Command::new(rows::CONFIG_SET, set),
    ],
);

const HELP: &[&str] = &[
    "GET <pattern> [<pattern> ...]",
    "    Tells the settings that match, and their values.",
    "SET <setting> <value> [<setting> <value> ...]",
    "    Changes settings.",
    "RESETSTAT",
    "    Begins the statistics of INFO anew.",
    "REWRITE",
    "    There is no file of settings.",
];

const NO_FILE: Error = "ERR The server is running without a config file";

/// Where a setting's value comes from, and whether it can be another one.
enum Value {
    /// As the server was started; `true`: Redis can't change it either.
    Fixed(bool, fn(&Facts) -> String),
    /// A number between these two.
    Number(i64, i64, fn(&Common) -> i64, fn(&Common, i64)),
    Password,
    ProtectedMode,
}

use Value::{Fixed, Number, Password, ProtectedMode};

fn yes(on: bool) -> String {
    if on { "yes" } else { "no" }.into()
}

const SETTINGS: &[(&str, Value)] = &[
    ("activedefrag", Fixed(false, |_| yes(false))),
    ("appendonly", Fixed(false, |_| yes(false))),
    ("bind", Fixed(false, |facts| facts.bind.clone())),
    ("cluster-enabled", Fixed(true, |_| yes(false))),
    ("daemonize", Fixed(true, |_| yes(false))),
    ("databases", Fixed(true, |_| wirekv_store::DATABASES.to_string())),
    ("enable-debug-command", Fixed(true, |facts| yes(facts.debug))),
    ("io-threads", Fixed(true, |facts| facts.threads.to_string())),
    (
        "latency-monitor-threshold",
        Number(
            0,
            i64::MAX,
            |common| common.latency.threshold() as i64,
            |common, millis| common.latency.set_threshold(millis as u64),
        ),
    ),
    ("latency-tracking", Fixed(false, |_| yes(false))),
    ("maxclients", Fixed(false, |facts| facts.max_conns.to_string())),
    ("maxmemory", Fixed(false, |facts| facts.memory.to_string())),
    ("maxmemory-clients", Fixed(false, |_| "0".into())),
    ("maxmemory-policy", Fixed(false, |facts| facts.policy().into())),
    ("notify-keyspace-events", Fixed(false, |_| String::new())),
    ("port", Fixed(false, |facts| facts.port.to_string())),
    ("protected-mode", ProtectedMode),
    ("proto-max-bulk-len", Fixed(false, |facts| facts.item_max.to_string())),
    ("replicaof", Fixed(true, |_| String::new())),
    ("requirepass", Password),
    ("save", Fixed(false, |_| String::new())),
    ("slaveof", Fixed(true, |_| String::new())),
    (
        "slowlog-log-slower-than",
        Number(
            -1,
            i64::MAX,
            |common| common.slowlog.threshold(),
            |common, micros| common.slowlog.set_threshold(micros),
        ),
    ),
    (
        "slowlog-max-len",
        Number(
            0,
            slowlog::MAX_LEN as i64,
            |common| common.slowlog.max_len() as i64,
            |common, len| common.slowlog.set_max_len(len as usize),
        ),
    ),
    ("supervised", Fixed(true, |_| yes(false))),
    ("tcp-backlog", Fixed(true, |facts| facts.backlog.to_string())),
    ("timeout", Fixed(false, |facts| facts.idle_timeout.to_string())),
    ("tls-port", Fixed(false, |_| "0".into())),
    ("unixsocket", Fixed(true, |facts| facts.unix_socket.clone())),
];

fn find(name: &[u8]) -> Option<&'static (&'static str, Value)> {
    SETTINGS.iter().find(|(setting, _)| word::is(name, setting))
}

fn get(call: &mut Call<'_>) -> Result<(), Error> {
    // Each once, under the name by which it was asked for.
    let mut wanted: [Option<&[u8]>; SETTINGS.len()] = [None; SETTINGS.len()];
    for name in call.args.from(2) {
        // Redis looks for these bytes, and not for a `\`.
        let pattern =
            name.iter().any(|byte| b"[*?".contains(byte)).then(|| Pattern::of_names(name));
        for (wanted, (setting, _)) in wanted.iter_mut().zip(SETTINGS) {
            let asked = match &pattern {
                Some(pattern) => pattern.matches(setting.as_bytes()).then_some(setting.as_bytes()),
                None => word::is(name, setting).then(|| word::c_string(name)),
            };
            *wanted = wanted.or(asked);
        }
    }
    let facts = call.server.facts(&call.engine.counters);
    let common = &call.engine.common;
    call.reply.map(wanted.iter().flatten().count());
    for (wanted, (_, value)) in wanted.iter().zip(SETTINGS) {
        let Some(name) = wanted else { continue };
        call.reply.bulk(name);
        match value {
            Fixed(_, value) => call.reply.bulk(value(&facts).as_bytes()),
            Number(_, _, value, _) => call.reply.bulk(value(common).to_string().as_bytes()),
            Password => call.reply.bulk(&common.password()),
            ProtectedMode => call.reply.bulk(yes(common.is_protected()).as_bytes()),
        }
    }
    Ok(())
}

const FIXED: &str = "this server can't change it while it runs";

fn parse_yes(text: &[u8]) -> Option<bool> {
    [("yes", true), ("no", false)].iter().find(|(name, _)| word::is(text, name)).map(|(_, on)| *on)
}

/// Why a setting cannot have a value.
fn refuse(value: &Value, text: &[u8], facts: &Facts) -> Option<String> {
    match value {
        Fixed(true, _) => Some("can't set immutable config".into()),
        // What it is it may be.
        Fixed(false, now) => {
            let now = now(facts);
            let same = now.as_bytes() == text
                || parse_memory(text).is_some_and(|bytes| bytes.to_string() == now);
            (!same).then(|| FIXED.into())
        }
        Number(least, most, ..) => match number::integer(text) {
            None => Some("argument couldn't be parsed into an integer".into()),
            Some(n) if (*least..=*most).contains(&n) => None,
            Some(_) => Some(format!("argument must be between {least} and {most} inclusive")),
        },
        Password => None,
        ProtectedMode => match parse_yes(text) {
            None => Some("argument must be 'yes' or 'no'".into()),
            Some(true) if !facts.knows_peers => Some(FIXED.into()),
            Some(_) => None,
        },
    }
}

/// A number of bytes, as in `100mb`.
fn parse_memory(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (count, unit) = text.split_at(digits);
    let count: u64 = std::str::from_utf8(count).ok()?.parse().ok()?;
    let units = [
        ("", 1),
        ("b", 1),
        ("k", 1000),
        ("kb", 1 << 10),
        ("m", 1_000_000),
        ("mb", 1 << 20),
        ("g", 1_000_000_000),
        ("gb", 1 << 30),
    ];
    let (_, bytes) = units.iter().find(|(name, _)| word::is(unit, name))?;
    count.checked_mul(*bytes)
}

/// All or none.
fn set(call: &mut Call<'_>) -> Result<(), Error> {
    let args = call.args.vec(2);
    if args.len() % 2 == 1 {
        return Err(SYNTAX);
    }
    let unknown = args.chunks(2).find(|pair| find(pair[0]).is_none());
    if let Some([name, _]) = unknown {
        let what = b"ERR Unknown option or number of arguments for CONFIG SET - '";
        call.reply.error([&what[..], word::c_string(name), b"'"].concat());
        return Ok(());
    }
    let facts = call.server.facts(&call.engine.counters);
    let pairs: Vec<_> = args.chunks(2).filter_map(|pair| Some((find(pair[0])?, pair[1]))).collect();
    for (i, ((name, value), text)) in pairs.iter().enumerate() {
        let again = pairs[..i].iter().any(|((before, _), _)| before == name);
        let why =
            if again { Some("duplicate parameter".into()) } else { refuse(value, text, &facts) };
        if let Some(why) = why {
            let what = "ERR CONFIG SET failed (possibly related to argument";
            call.reply.error(format!("{what} '{name}') - {why}"));
            return Ok(());
        }
    }
    let common = &call.engine.common;
    for ((_, value), text) in pairs {
        match value {
            Fixed(..) => {}
            Number(.., set) => set(common, number::argument(text)?),
            Password => common.set_password(text),
            ProtectedMode => common.protect(parse_yes(text) == Some(true)),
        }
    }
    call.reply.ok();
    Ok(())
}

fn reset_stat(call: &mut Call<'_>) -> Result<(), Error> {
    call.server.reset(&mut call.engine.counters);
    call.engine.common.stats.reset();
    call.reply.ok();
    Ok(())
}

fn rewrite(_: &mut Call<'_>) -> Result<(), Error> {
    Err(NO_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        for (text, bytes) in [
            ("100", Some(100)),
            ("1kb", Some(1024)),
            ("1K", Some(1000)),
            ("64MB", Some(64 << 20)),
            ("1x", None),
            ("mb", None),
            ("-1", None),
        ] {
            assert_eq!(parse_memory(text.as_bytes()), bytes, "{text}");
        }
    }

    #[test]
    fn settings_are_in_order_and_there_once() {
        assert!(SETTINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
