//! CLIENT: about this connection, and others.

use wirekv_proto::Next;

use super::call::Call;
use super::client::Replies;
use super::connection::check_name;
use super::rows;
use super::shown::Shown;
use super::table::Command;
use super::{help, number, word, Error, SYNTAX};

const BAD_ID: Error = "ERR Invalid client ID";
const LOW_ID: Error = "ERR client-id should be greater than 0";
const NO_CLIENT: Error = "ERR No such client";
const BAD_MODE: Error = "ERR CLIENT PAUSE mode must be WRITE or ALL";
const BAD_TIMEOUT: Error = "ERR timeout is not an integer or out of range";
const LOW_TIMEOUT: Error = "ERR timeout is negative";
const BAD_LIBRARY: Error = "ERR lib-name cannot contain spaces, newlines or special characters.";
const BAD_LIBRARY_VERSION: Error =
    "ERR lib-ver cannot contain spaces, newlines or special characters.";
/// What a library says of itself.
const LIBRARY_MAX: usize = 256;

pub const COMMAND: Command = Command::container(
    rows::CLIENT,
    &[
        Command::new(rows::CLIENT_GETNAME, get_name),
        Command::new(rows::CLIENT_HELP, |call| help(call, HELP)),
        Command::new(rows::CLIENT_ID, id),
        Command::new(rows::CLIENT_INFO, info),
        Command::new(rows::CLIENT_KILL, kill),
        Command::new(rows::CLIENT_LIST, list),
        Command::new(rows::CLIENT_NO_EVICT, no_evict),
        Command::new(rows::CLIENT_NO_TOUCH, no_touch),
        Command::new(rows::CLIENT_PAUSE, pause),
        Command::new(rows::CLIENT_REPLY, reply),
        Command::new(rows::CLIENT_SETINFO, set_info),
        Command::new(rows::CLIENT_SETNAME, set_name),
        Command::new(rows::CLIENT_UNPAUSE, unpause),
    ],
);

const HELP: &[&str] = &[
    "GETNAME",
    "    Tells the name of this connection.",
    "ID",
    "    Tells the number of this connection.",
    "INFO",
    "    Tells all about this connection.",
    "KILL <ip:port>",
    "    Closes the connection from there.",
    "KILL <option> <value> [<option> <value> ...]",
    "    Closes the connections of which all this is true:",
    "    * ADDR (<ip:port>|<socket>:0): it comes from there.",
    "    * ID <number>: it has this number.",
    "    * LADDR (<ip:port>|<socket>:0): it came to this address.",
    "    * SKIPME (YES|NO): it is another one than this, unless NO is said.",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB): it is of this type; all here are normal.",
    "    * USER <name>: it belongs to this user; there is the user default only.",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)|ID <number> ...]",
    "    Tells all about the connections.",
    "NO-EVICT (ON|OFF)",
    "    Accepted, and told by LIST; without effect.",
    "NO-TOUCH (ON|OFF)",
    "    Accepted: reads count as use in any case.",
    "PAUSE <milliseconds> [WRITE|ALL]",
    "    Lets commands, or those that write, wait for so long.",
    "REPLY (ON|OFF|SKIP)",
    "    Says whether the commands of this connection are answered.",
    "SETINFO (LIB-NAME|LIB-VER) <value>",
    "    Accepted: what library the client uses.",
    "SETNAME <name>",
    "    Gives this connection a name.",
    "UNPAUSE",
    "    Ends a pause.",
];

fn id(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.integer(call.client.id as i64);
    Ok(())
}

fn get_name(call: &mut Call<'_>) -> Result<(), Error> {
    match &call.client.name[..] {
        [] => call.reply.null(),
        name => call.reply.bulk(name),
    }
    Ok(())
}

fn set_name(call: &mut Call<'_>) -> Result<(), Error> {
    check_name(call.arg(2))?;
    call.client.name = call.arg(2).to_vec();
    call.reply.ok();
    Ok(())
}

fn on_or_off(text: &[u8]) -> Result<bool, Error> {
    match () {
        () if word::is(text, "on") => Ok(true),
        () if word::is(text, "off") => Ok(false),
        () => Err(SYNTAX),
    }
}

fn no_evict(call: &mut Call<'_>) -> Result<(), Error> {
    call.client.no_evict = on_or_off(call.arg(2))?;
    call.reply.ok();
    Ok(())
}

fn no_touch(call: &mut Call<'_>) -> Result<(), Error> {
    on_or_off(call.arg(2))?;
    call.reply.ok();
    Ok(())
}

/// Nothing of it is told again: CLIENT LIST is that of Redis 7.0, which has no place for it.
fn set_info(call: &mut Call<'_>) -> Result<(), Error> {
    let (name, value) = (call.arg(2), call.arg(3));
    let error = match () {
        () if word::is(name, "lib-name") => BAD_LIBRARY,
        () if word::is(name, "lib-ver") => BAD_LIBRARY_VERSION,
        () => {
            let name = word::c_string(name);
            call.reply.error([b"ERR Unrecognized option '", name, b"'"].concat());
            return Ok(());
        }
    };
    if value.len() > LIBRARY_MAX || check_name(value).is_err() {
        return Err(error);
    }
    call.reply.ok();
    Ok(())
}

fn reply(call: &mut Call<'_>) -> Result<(), Error> {
    let what = call.arg(2);
    match () {
        () if word::is(what, "on") => {
            call.client.replies = Replies::On;
            call.reply.ok();
        }
        () if word::is(what, "off") => call.client.replies = Replies::Off,
        () if word::is(what, "skip") => {
            if call.client.replies != Replies::Off {
                call.client.replies = Replies::SkipNext;
            }
        }
        () => return Err(SYNTAX),
    }
    Ok(())
}

/// A type of clients; all that there are here are normal ones.
fn is_normal(call: &mut Call<'_>, name: &[u8]) -> Option<bool> {
    let is = |names: &[&str]| names.iter().any(|n| word::is(name, n));
    match () {
        () if is(&["normal"]) => Some(true),
        () if is(&["slave", "replica", "pubsub", "master"]) => Some(false),
        () => {
            let name = word::c_string(name);
            call.reply.error([b"ERR Unknown client type '", name, b"'"].concat());
            None
        }
    }
}

/// All connections, in the order in which they came.
fn connections(call: &mut Call<'_>) -> Vec<std::sync::Arc<Shown>> {
    let mut all = call.server.connections();
    all.sort_unstable_by_key(|shown| shown.id);
    all
}

fn info(call: &mut Call<'_>) -> Result<(), Error> {
    call.client.publish();
    let mut text = String::new();
    if let Some(shown) = call.client.shown() {
        shown.line(&mut text);
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn list(call: &mut Call<'_>) -> Result<(), Error> {
    let args = call.args.vec(2);
    let mut wanted: Option<Vec<u64>> = None;
    match args[..] {
        [] => {}
        [by, name] if word::is(by, "type") => match is_normal(call, name) {
            Some(true) => {}
            Some(false) => wanted = Some(Vec::new()),
            None => return Ok(()),
        },
        [by, ref ids @ ..] if word::is(by, "id") && !ids.is_empty() => {
            let ids = ids.iter().map(|id| number::integer(id).ok_or(BAD_ID));
            let ids: Result<Vec<_>, _> = ids.collect();
            wanted = Some(ids?.into_iter().filter_map(|id| id.try_into().ok()).collect());
        }
        _ => return Err(SYNTAX),
    }
    call.client.publish();
    let all = connections(call);
    let mut text = String::new();
    match wanted {
        None => all.iter().for_each(|shown| shown.line(&mut text)),
        // In the order in which they are asked for, and each once: a short command has no long reply.
        Some(ids) => {
            let mut seen = std::collections::HashSet::new();
            for id in ids.into_iter().filter(|id| seen.insert(*id)) {
                if let Ok(at) = all.binary_search_by_key(&id, |shown| shown.id) {
                    all[at].line(&mut text);
                }
            }
        }
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// What is to be killed.
struct Kill<'a> {
    address: Option<&'a [u8]>,
    listener: Option<&'a [u8]>,
    id: Option<u64>,
    skips_me: bool,
    /// None are of the type that was said.
    nobody: bool,
}

impl Kill<'_> {
    fn is(&self, shown: &Shown, me: u64) -> bool {
        let is = |wanted: Option<&[u8]>, text: &str| {
            wanted.is_none_or(|wanted| word::c_string(wanted) == text.as_bytes())
        };
        !self.nobody
            && is(self.address, &shown.address)
            && is(self.listener, &shown.listener)
            && self.id.is_none_or(|id| id == shown.id)
            && !(self.skips_me && shown.id == me)
    }
}

fn kill(call: &mut Call<'_>) -> Result<(), Error> {
    let args = call.args.vec(2);
    let mut kill = Kill { address: None, listener: None, id: None, skips_me: true, nobody: false };
    if let [address] = args[..] {
        (kill.address, kill.skips_me) = (Some(address), false);
    } else if !parse_kill(call, &args, &mut kill)? {
        return Ok(());
    }
    let me = call.client.id;
    let all = connections(call);
    let killed: Vec<_> =
        all.iter().filter(|shown| !shown.is_killed() && kill.is(shown, me)).collect();
    for shown in &killed {
        if shown.id == me {
            call.next = Next::Close;
        } else {
            shown.kill();
        }
    }
    if killed.iter().any(|shown| shown.id != me) {
        call.server.wake();
    }
    match (args.len(), killed.len()) {
        (1, 0) => return Err(NO_CLIENT),
        (1, _) => call.reply.ok(),
        (_, count) => call.reply.integer(count as i64),
    }
    Ok(())
}

/// Whether it is right; otherwise that may have been said.
fn parse_kill<'a>(
    call: &mut Call<'_>,
    args: &[&'a [u8]],
    kill: &mut Kill<'a>,
) -> Result<bool, Error> {
    for pair in args.chunks(2) {
        let [name, value] = *pair else { return Err(SYNTAX) };
        match () {
            () if word::is(name, "id") => match number::integer(value) {
                Some(id @ 1..) => kill.id = Some(id as u64),
                _ => return Err(LOW_ID),
            },
            () if word::is(name, "type") => match is_normal(call, value) {
                Some(normal) => kill.nobody = !normal,
                None => return Ok(false),
            },
            () if word::is(name, "addr") => kill.address = Some(value),
            () if word::is(name, "laddr") => kill.listener = Some(value),
            () if word::is(name, "user") => {
                if value != b"default" {
                    let value = word::c_string(value);
                    call.reply.error([b"ERR No such user '", value, b"'"].concat());
                    return Ok(false);
                }
            }
            () if word::is(name, "skipme") && word::is(value, "yes") => kill.skips_me = true,
            () if word::is(name, "skipme") && word::is(value, "no") => kill.skips_me = false,
            () => return Err(SYNTAX),
        }
    }
    Ok(true)
}

fn pause(call: &mut Call<'_>) -> Result<(), Error> {
    let only_writes = match call.args.find(3) {
        Some(_) if call.args.len() > 4 => {
            super::subcommand_syntax(call);
            return Ok(());
        }
        None => false,
        Some(mode) if word::is(mode, "all") => false,
        Some(mode) if word::is(mode, "write") => true,
        Some(_) => return Err(BAD_MODE),
    };
    let common = &call.engine.common;
    let now = common.uptime_ms();
    let until = match number::integer(call.arg(2)).ok_or(BAD_TIMEOUT)? {
        ..0 => return Err(LOW_TIMEOUT),
        // Its end is before its begin then, as in Redis.
        millis if millis as u64 > i64::MAX as u64 - common.unix_us() / 1000 => now,
        millis => now + millis as u64,
    };
    common.pause.begin(now, until, only_writes);
    call.reply.ok();
    Ok(())
}

fn unpause(call: &mut Call<'_>) -> Result<(), Error> {
    call.engine.common.pause.end();
    call.server.wake();
    call.reply.ok();
    Ok(())
}
