//! The commands: what is known of each ([`super::rows`]), and who handles it.
//!
//! Each topic has a list of its own, in the file of its handlers: `const COMMANDS: &[Command]`. A
//! handler is a `fn(&mut Call) -> Result<(), Error>`; it is called when the number of arguments is
//! right, the client may call it, and no key is too long.

use std::fmt;
use std::sync::LazyLock;

use super::call::Call;
use super::{
    admin, bitmaps, clients, config, connection, info, introspect, keys, keyspace, latency,
    lifetimes, monitor, multiple, object, slowlog, strings, sums, transactions, Error,
};

pub type Handler = fn(&mut Call<'_>) -> Result<(), Error>;

/// Where a command's keys are among its arguments, the name being argument 0: from `first` to `last`
/// in steps; a negative `last` counts from behind. All are 0 where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub first: u32,
    pub last: i32,
    pub step: u32,
}

pub const ONE: Keys = Keys { first: 1, last: 1, step: 1 };

/// What `COMMAND` tells of a command, under Redis' names; and what only this server knows (`PROTECTED`, `AT_ONCE`).
pub mod flag {
    pub const WRITE: u32 = 1 << 0;
    pub const READONLY: u32 = 1 << 1;
    pub const DENYOOM: u32 = 1 << 2;
    pub const ADMIN: u32 = 1 << 3;
    pub const NOSCRIPT: u32 = 1 << 4;
    pub const BLOCKING: u32 = 1 << 5;
    pub const LOADING: u32 = 1 << 6;
    pub const STALE: u32 = 1 << 7;
    pub const SKIP_MONITOR: u32 = 1 << 8;
    pub const SKIP_SLOWLOG: u32 = 1 << 9;
    pub const FAST: u32 = 1 << 10;
    /// To be had without the password.
    pub const NO_AUTH: u32 = 1 << 11;
    pub const MAY_REPLICATE: u32 = 1 << 12;
    pub const NO_MANDATORY_KEYS: u32 = 1 << 13;
    pub const PROTECTED: u32 = 1 << 14;
    pub const NO_ASYNC_LOADING: u32 = 1 << 15;
    /// Not in a transaction.
    pub const NO_MULTI: u32 = 1 << 16;
    pub const MOVABLEKEYS: u32 = 1 << 17;
    pub const ALLOW_BUSY: u32 = 1 << 18;
    /// Within `MULTI` it is not queued but obeyed.
    pub const AT_ONCE: u32 = 1 << 31;
}

/// What spec/commands.toml says of a command (`rows.rs`).
#[derive(Clone, Copy)]
pub struct Row {
    /// In lower case.
    pub name: &'static str,
    /// Arguments, name included; at least so many where it is negative.
    pub arity: i32,
    pub flags: u32,
    pub keys: Keys,
}

#[derive(Debug)]
pub struct Command {
    pub name: &'static str,
    pub arity: i32,
    pub flags: u32,
    pub keys: Keys,
    pub handler: Handler,
    /// If there are any, the second argument is the name of one of these.
    pub subcommands: &'static [Command],
}

impl Command {
    pub const fn new(row: Row, handler: Handler) -> Command {
        let Row { name, arity, flags, keys } = row;
        Command { name, arity, flags, keys, handler, subcommands: &[] }
    }

    /// One of which the second argument says what it does. It is no handler's.
    pub const fn container(row: Row, subcommands: &'static [Command]) -> Command {
        let handler: Handler = |_| Ok(());
        Command { subcommands, ..Command::new(row, handler) }
    }

    /// The subcommand of this name, and its place among them.
    pub fn subcommand(&self, name: &[u8]) -> Option<(usize, &'static Command)> {
        let mut all = self.subcommands.iter().enumerate();
        all.find(|(_, c)| c.name.as_bytes().eq_ignore_ascii_case(name))
    }

    pub const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Whether it takes so many arguments, name included.
    #[inline]
    pub fn takes(&self, count: usize) -> bool {
        match self.arity {
            0.. => count == self.arity as usize,
            _ => count >= self.arity.unsigned_abs() as usize,
        }
    }

    /// Places of the keys among so many arguments.
    pub fn key_places(&self, count: usize) -> impl Iterator<Item = usize> {
        let Keys { first, last, step } = self.keys;
        let last = if last < 0 { count as i64 + i64::from(last) } else { last.into() };
        let end = if first == 0 { 0 } else { (last.max(-1) + 1) as usize };
        (first as usize..end.min(count)).step_by(step.max(1) as usize)
    }
}

/// A command that was found, and its number: each of its subcommands has one of the next.
#[derive(Clone, Copy)]
pub struct Named(pub &'static Command, pub u16);

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Named {}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// The lists of all topics.
static LISTS: &[&[Command]] = &[
    admin::COMMANDS,
    bitmaps::COMMANDS,
    connection::COMMANDS,
    keys::COMMANDS,
    keyspace::COMMANDS,
    lifetimes::COMMANDS,
    monitor::COMMANDS,
    multiple::COMMANDS,
    strings::COMMANDS,
    sums::COMMANDS,
    transactions::COMMANDS,
    &[
        clients::COMMAND,
        config::COMMAND,
        info::COMMAND,
        introspect::COMMAND,
        latency::COMMAND,
        object::MEMORY,
        object::OBJECT,
        slowlog::COMMAND,
    ],
];

/// All commands, without subcommands.
pub fn all() -> impl Iterator<Item = &'static Command> {
    LISTS.iter().flat_map(|list| list.iter())
}

/// All of them in the order of their numbers: each with the name of what it is a subcommand of.
fn numbered() -> impl Iterator<Item = (Option<&'static str>, &'static Command)> {
    all().flat_map(|command| {
        let subcommands = command.subcommands.iter();
        [(None, command)].into_iter().chain(subcommands.map(|sub| (Some(command.name), sub)))
    })
}

/// Commands and subcommands.
pub fn count() -> usize {
    numbered().count()
}

fn join((of, command): (Option<&str>, &Command)) -> String {
    match of {
        Some(of) => format!("{of}|{}", command.name),
        None => command.name.to_owned(),
    }
}

/// Names, a subcommand's with its command's, in the order of their numbers.
pub fn full_names() -> impl Iterator<Item = String> {
    numbered().map(join)
}

/// The name of the first one for which this is true.
pub fn full_name(mut is: impl FnMut(&'static Command) -> bool) -> Option<String> {
    numbered().find(|(_, command)| is(command)).map(join)
}

/// Places in the hash table of names: several times as many as there are commands.
const PLACES: usize = 1024;

static NAMES: LazyLock<[Option<Named>; PLACES]> = LazyLock::new(|| {
    let mut names = [None; PLACES];
    for (number, (of, command)) in numbered().enumerate() {
        if of.is_some() {
            continue;
        }
        let mut place = place_of(command.name.as_bytes());
        while names[place].is_some() {
            place = (place + 1) % PLACES;
        }
        names[place] = Some(Named(command, number as u16));
    }
    names
});

/// Of a name, in any case.
#[inline]
fn place_of(name: &[u8]) -> usize {
    let mut word = 0u64;
    for byte in name.iter().take(8) {
        word = word << 8 | u64::from(byte | 0x20);
    }
    let last = u64::from(*name.last().unwrap_or(&0) | 0x20);
    let mixed = (word ^ last << 56 ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % PLACES
}

/// The command of a name.
#[inline]
pub fn find(name: &[u8]) -> Option<Named> {
    let mut place = place_of(name);
    while let Some(named) = NAMES[place] {
        if named.0.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(named);
        }
        place = (place + 1) % PLACES;
    }
    None
}
