//! Commands about the server as a whole: DEBUG, LOLWUT, SHUTDOWN, TIME, WAIT.

use wirekv_proto::Next;

use super::call::Call;
use super::object::{encoding, idle_seconds};
use super::rows;
use super::table::Command;
use super::{help, number, word, Error, SYNTAX, VERSION};

/// Without `--enable-debug-command` it is refused before it is called.
pub const REFUSED: Error =
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \
                        \"local\", you can run it from a local connection, otherwise you need to \
                        set this option in the configuration file, and then restart the server.";
const NO_SHUTDOWN: Error = "ERR SHUTDOWN is not enabled: the server was started without -A";
const NOT_SAVED: Error = "ERR there is nothing that items could be saved to";
const NOT_IN_PROGRESS: Error = "ERR No shutdown in progress.";
const NO_KEY: Error = "ERR no such key";
const NOT_A_FLOAT: Error = number::NOT_A_FLOAT;
const BAD_TIMEOUT: Error = "ERR timeout is not an integer or out of range";
const LOW_TIMEOUT: Error = "ERR timeout is negative";

pub const COMMANDS: &[Command] = &[
    Command::new(rows::DEBUG, debug),
    Command::new(rows::LOLWUT, lolwut),
    Command::new(rows::SHUTDOWN, shutdown),
    Command::new(rows::TIME, time),
    Command::new(rows::WAIT, wait),
];

const DEBUG_HELP: &[&str] = &[
    "OBJECT <key>",
    "    Tells how an item is kept.",
    "SET-ACTIVE-EXPIRE (0|1)",
    "    Accepted: expired items are never seen, and their room is found when it is needed.",
    "SLEEP <seconds>",
    "    Lets this connection wait; others do not.",
];

fn time(call: &mut Call<'_>) -> Result<(), Error> {
    let now = call.engine.common.unix_us();
    call.reply.array(2);
    call.reply.bulk((now / 1_000_000).to_string().as_bytes());
    call.reply.bulk((now % 1_000_000).to_string().as_bytes());
    Ok(())
}

/// There are no replicas, and none can come: nobody is waited for.
fn wait(call: &mut Call<'_>) -> Result<(), Error> {
    number::argument(call.arg(1))?;
    match number::integer(call.arg(2)).ok_or(BAD_TIMEOUT)? {
        ..0 => Err(LOW_TIMEOUT),
        _ => {
            call.reply.integer(0);
            Ok(())
        }
    }
}

/// `SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]`, where memcached's `shutdown` is allowed, too
fn shutdown(call: &mut Call<'_>) -> Result<(), Error> {
    let (mut saves, mut now, mut aborts) = (None, false, false);
    for option in call.args.from(1) {
        match () {
            () if word::is(option, "nosave") && saves != Some(true) => saves = Some(false),
            () if word::is(option, "save") && saves != Some(false) => saves = Some(true),
            () if word::is(option, "now") || word::is(option, "force") => now = true,
            () if word::is(option, "abort") => aborts = true,
            () => return Err(SYNTAX),
        }
    }
    match () {
        () if aborts && (now || saves.is_some()) => Err(SYNTAX),
        () if aborts => Err(NOT_IN_PROGRESS),
        () if !call.engine.settings.shutdown => Err(NO_SHUTDOWN),
        () if saves == Some(true) => Err(NOT_SAVED),
        () => {
            call.server.shutdown(false);
            call.next = Next::Close;
            Ok(())
        }
    }
}

/// The version, after a picture: the Sierpinski triangle.
fn lolwut(call: &mut Call<'_>) -> Result<(), Error> {
    if call.args.len() >= 3 && word::is(call.arg(1), "version") {
        number::argument(call.arg(2))?;
    }
    const SIZE: usize = 16;
    let mut text = String::new();
    for row in 0..SIZE {
        text.push_str(&" ".repeat(SIZE - row));
        for column in 0..=row {
            text.push_str(if row & column == column { "* " } else { "  " });
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text.push_str(&format!("\nRedis ver. {VERSION}\n"));
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn debug(call: &mut Call<'_>) -> Result<(), Error> {
    let what = call.arg(1);
    match call.args.len() {
        2 if word::is(what, "help") => return help(call, DEBUG_HELP),
        3 if word::is(what, "sleep") => return sleep(call),
        3 if word::is(what, "object") => return object(call),
        3 if word::is(what, "set-active-expire") => call.reply.ok(),
        _ => super::subcommand_syntax(call),
    }
    Ok(())
}

fn sleep(call: &mut Call<'_>) -> Result<(), Error> {
    let now = call.engine.common.uptime_ms();
    if call.client.sleeps_until.is_none() {
        let seconds =
            std::str::from_utf8(call.arg(2)).ok().and_then(|text| text.parse::<f64>().ok());
        let millis = seconds.filter(|s| s.is_finite()).ok_or(NOT_A_FLOAT)? * 1000.0;
        call.client.sleeps_until = Some(now.saturating_add(millis.max(0.0) as u64));
    }
    if call.client.sleeps_until.is_some_and(|end| now < end) {
        (call.next, call.from) = (Next::Sleep, 1);
    } else {
        call.client.sleeps_until = None;
        call.reply.ok();
    }
    Ok(())
}

fn object(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(2), call.hash_of(2));
    let Some(item) = call.engine.local.get(key, hash) else { return Err(NO_KEY) };
    let idle = idle_seconds(&item, call.engine);
    let text = format!(
        "Value at:0 refcount:1 encoding:{} serializedlength:{} lru:0 lru_seconds_idle:{idle}",
        encoding(item.value()),
        item.value().len() + 1
    );
    call.reply.simple(&text);
    Ok(())
}
