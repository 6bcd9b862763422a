//! What is answered where items are in a card, which runs the commands on them that it knows itself.

use std::time::{SystemTime, UNIX_EPOCH};

use super::args::Args;
use super::expiry::{self, Options, Unit};
use super::table::{flag, Command};
use super::{connection, lifetimes, number};

/// Beside those that read or write items.
const OTHERS: &[&str] =
    &["multi", "exec", "discard", "debug", "memory", "object", "reply", "pause", "kill", "select"];

/// What is wrong with its arguments, whatever the item is.
fn wrong(name: &str, args: &Args<'_>) -> Result<(), Vec<u8>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    let time = |unit, text| -> Result<(), Vec<u8>> {
        let time = expiry::time(unit, text, now)?;
        time.map(drop).ok_or_else(|| expiry::invalid(name).into())
    };
    match name {
        "incrby" => number::argument(args.get(2)).map(drop)?,
        "decrby" => number::decrement(args.get(2)).map(drop)?,
        "select" => connection::database(args.get(1)).map(drop)?,
        "set" => {
            let options = Options::parse(args.from(3), true)?;
            options.expiry.map_or(Ok(()), |(unit, text)| time(unit, text))?;
        }
        // Its time matters only where there is a value.
        "getex" => Options::parse(args.from(2), false).map(drop)?,
        "setex" => time(Unit::Ex, args.get(2))?,
        "psetex" => time(Unit::Px, args.get(2))?,
        "expire" => lifetimes::parse(name, args, now, 1000).map(drop)?,
        "pexpire" => lifetimes::parse(name, args, now, 1).map(drop)?,
        "expireat" => lifetimes::parse(name, args, 0, 1000).map(drop)?,
        "pexpireat" => lifetimes::parse(name, args, 0, 1).map(drop)?,
        _ => {}
    }
    Ok(())
}

/// Why this command is not done here, if it is not.
#[cold]
pub fn refusal(command: &Command, args: &Args<'_>) -> Option<Vec<u8>> {
    if let Err(error) = wrong(command.name, args) {
        return Some(error);
    }
    let on_items = command.has(flag::WRITE | flag::READONLY)
        || command.keys.first > 0
        || OTHERS.contains(&command.name);
    on_items.then(|| {
        format!("ERR '{}' with these arguments is not there with --body sim", command.name).into()
    })
}
