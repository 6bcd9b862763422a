//! What is answered where items are in a card, which runs the commands on them that it knows itself.

use super::args::Args;
use super::number;
use super::table::{flag, Command};

/// Beside those that read or write items.
const OTHERS: &[&str] =
    &["multi", "exec", "discard", "debug", "memory", "object", "reply", "pause", "kill"];

/// Why this command is not done here, if it is not.
#[cold]
pub fn refusal(command: &Command, args: &Args<'_>) -> Option<Vec<u8>> {
    let wrong = match command.name {
        "incrby" => number::argument(args.get(2)).err(),
        "decrby" => number::decrement(args.get(2)).err(),
        _ => None,
    };
    if let Some(error) = wrong {
        return Some(error.into());
    }
    let on_items = command.has(flag::WRITE | flag::READONLY)
        || command.keys.first > 0
        || OTHERS.contains(&command.name)
        || (command.name == "select" && args.get(1) != b"0");
    on_items.then(|| {
        format!("ERR '{}' with these arguments is not there with --body sim", command.name).into()
    })
}
