//! Where items are in a card: which of them a command is about, so that it finds them here, and what is not done.

use std::time::{SystemTime, UNIX_EPOCH};

use super::args::Args;
use super::client::Client;
use super::estimate::{self, Names};
use super::expiry::{self, Options, Unit};
use super::table::Command;
use super::{connection, lifetimes, number, transactions};

/// A key, behind the number of its database.
pub type Key = (u8, Box<[u8]>);

/// What would need to know more of items, or of what clients do, than the card tells.
const NOT_THERE: &[&str] = &["swapdb", "debug", "monitor", "freq", "idletime"];
/// About all keys.
const OF_ALL: &[&str] = &["keys", "scan", "randomkey", "dbsize", "flushall", "flushdb"];

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
pub fn refusal(command: &Command, args: &Args<'_>, client: &Client) -> Option<Vec<u8>> {
    // What a transaction queues is looked at when it is done. (CONFIG SET is another SET.)
    if client.queue.is_none() && (command.keys.first > 0 || command.name == "select") {
        if let Err(error) = wrong(command.name, args) {
            return Some(error);
        }
    }
    let nameless = args.keys(command).any(|key| key.is_empty());
    let not_there = nameless || NOT_THERE.contains(&command.name);
    not_there.then(|| {
        format!("ERR '{}' with these arguments is not there with --body sim", command.name).into()
    })
}

/// Whether the card is to be held though there are no such keys: a transaction has a command on all keys.
#[cold]
pub fn holds(command: &Command, client: &Client) -> bool {
    let mut found = false;
    if let ("exec", Some(queue)) = (command.name, &client.queue) {
        if !queue.is_broken {
            transactions::each(queue, client.db, |command, _, _| {
                found |= OF_ALL.contains(&command.name);
            });
        }
    }
    found
}

/// The keys that a command reads or changes; of `EXEC` those of all that is queued, and the watched ones.
#[cold]
pub fn keys(command: &Command, args: &Args<'_>, client: &Client) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut names = Names::default();
    let mut add = |command: &Command, args: &Args<'_>, db| {
        estimate::keys(command, args, db, |db, key| keys.push((names.at_first(db), key.into())));
        if command.name == "swapdb" {
            names.swap(args);
        }
    };
    match (command.name, &client.queue) {
        ("exec", Some(queue)) if !queue.is_broken => {
            transactions::each(queue, client.db, |command, args, db| add(command, args, db));
            keys.extend(client.watches.iter().map(|watch| (watch.db(), watch.key().into())));
        }
        ("exec", _) => {}
        _ => add(command, args, client.db),
    }
    keys.sort();
    keys.dedup();
    keys
}
