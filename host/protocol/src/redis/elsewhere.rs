//! Where items are in a card: which of them a command is about, so that it finds them here, and what is not done.

use super::args::Args;
use super::client::Client;
use super::estimate::{self, Names};
use super::table::Command;
use super::transactions;
use super::word::is;

/// A key, behind the number of its database.
pub type Key = (u8, Box<[u8]>);

/// What would need a list of all keys, or to know more of items than the card does, or to reach into other
/// connections.
const NOT_THERE: &[&str] = &[
    "keys",
    "scan",
    "randomkey",
    "dbsize",
    "swapdb",
    "debug",
    "freq",
    "idletime",
    "pause",
    "kill",
    "flushall",
    "flushdb",
];

/// Why this command is not done here, if it is not.
#[cold]
pub fn refusal(command: &Command, args: &Args<'_>) -> Option<Vec<u8>> {
    let password =
        command.name == "set" && is(args.get(0), "config") && is(args.get(2), "requirepass");
    let select = command.name == "select" && args.get(1) != b"0";
    let nameless = command.key_places(args.len()).any(|place| args.get(place).is_empty());
    let not_there = nameless || password || select || NOT_THERE.contains(&command.name);
    not_there.then(|| {
        format!("ERR '{}' with these arguments is not there with --body sim", command.name).into()
    })
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
