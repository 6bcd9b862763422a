//! What a queued command will lock, and what room it will take.

use std::collections::HashMap;

use wirekv_store::{Item, DATABASES};

use super::args::Args;
use super::bitfield::Fields;
use super::connection::database;
use super::items;
use super::table::{flag::WRITE, Command};
use super::word::is;
use super::{bits, range};
use crate::Engine;

/// Characters of the longest number that `INCRBYFLOAT` makes; of the longest sum of numbers that have at most PLAIN of
/// them and no exponent: 17 digits stand behind the point.
const FLOAT: usize = 5 << 10;
const FLOAT_PLAIN: usize = 80;
const PLAIN: usize = 40;
const INTEGER: usize = 21;

/// Calls `visit` with the database and name of each key that a command reads or changes.
pub fn keys<'a>(command: &Command, args: &Args<'a>, db: u8, mut visit: impl FnMut(u8, &'a [u8])) {
    args.keys(command).for_each(|key| visit(db, key));
    if let Some((other, key)) = key_elsewhere(command, args) {
        visit(other, key);
    }
}

/// `COPY` and `MOVE` go to a key of another database.
fn key_elsewhere<'a>(command: &Command, args: &Args<'a>) -> Option<(u8, &'a [u8])> {
    match command.name {
        "move" => Some((database(args.get(2)).ok()?, args.get(1))),
        "copy" => {
            let (mut to, mut rest) = (None, args.from(3));
            while let Some(option) = rest.next() {
                if is(option, "db") {
                    to = Some((database(rest.next()?).ok()?, args.get(2)));
                }
            }
            to
        }
        _ => None,
    }
}

/// What the databases were called before a transaction swapped some.
pub struct Names([u8; DATABASES]);

impl Default for Names {
    fn default() -> Names {
        Names(std::array::from_fn(|db| db as u8))
    }
}

impl Names {
    pub fn at_first(&self, db: u8) -> u8 {
        self.0[usize::from(db)]
    }

    /// `SWAPDB`
    pub fn swap(&mut self, args: &Args<'_>) {
        if let (Ok(a), Ok(b)) = (database(args.get(1)), database(args.get(2))) {
            self.0.swap(a.into(), b.into());
        }
    }
}

/// Room that is taken at most, command by command.
pub struct Estimate<'a> {
    engine: &'a Engine,
    /// Of keys that were stored, the longest value so far, and whether the last one is a sum of plain numbers.
    stored: HashMap<(u8, &'a [u8]), (usize, bool)>,
    names: Names,
    pub sizes: Vec<usize>,
}

impl<'a> Estimate<'a> {
    pub fn new(engine: &'a Engine) -> Estimate<'a> {
        Estimate { engine, stored: HashMap::new(), names: Names::default(), sizes: Vec::new() }
    }

    /// One more command.
    pub fn take(&mut self, command: &Command, args: &Args<'a>, db: u8) {
        if !command.has(WRITE) {
            return;
        }
        let key = || args.get(1);
        match command.name {
            "set" | "setnx" | "getset" => self.store(db, key(), args.get(2).len()),
            "setex" | "psetex" => self.store(db, key(), args.get(3).len()),
            "mset" | "msetnx" => {
                let mut pairs = args.from(1);
                while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
                    self.store(db, key, value.len());
                }
            }
            "append" => self.store(db, key(), self.len(db, key()) + args.get(2).len()),
            "incr" | "decr" | "incrby" | "decrby" => self.store(db, key(), INTEGER),
            "incrbyfloat" => {
                let plain = is_plain(args.get(2)) && self.has_plain(db, key());
                self.put(db, key(), if plain { FLOAT_PLAIN } else { FLOAT }, plain);
            }
            "setrange" => {
                let offset = range::offset(args.get(2)).unwrap_or(0) as usize;
                let end = offset.saturating_add(args.get(3).len());
                self.store(db, key(), end.max(self.len(db, key())));
            }
            "setbit" => {
                let end = bits::offset(args.get(2)).map_or(0, bits::bytes_for);
                self.store(db, key(), end.max(self.len(db, key())));
            }
            "bitfield" => {
                let fields = Fields::parse(&args.vec(2), false, self.engine.settings.item_max);
                let end = fields.map_or(0, |fields| fields.room());
                self.store(db, key(), end.max(self.len(db, key())));
            }
            "bitop" => {
                let len = args.from(3).map(|key| self.len(db, key)).max().unwrap_or(0);
                self.store(db, args.get(2), len);
            }
            "rename" | "renamenx" => self.store(db, args.get(2), self.len(db, key())),
            "copy" | "move" => {
                let default = if command.name == "copy" { (db, args.get(2)) } else { (db, key()) };
                let (to, name) = key_elsewhere(command, args).unwrap_or(default);
                self.store(to, name, self.len(db, key()));
            }
            // An item without an expiry is copied to get one. A size stands for each command, so that those of two
            // estimates can be compared.
            "getex" if args.len() == 2 => self.sizes.push(0),
            "expire" | "pexpire" | "expireat" | "pexpireat" | "getex" => {
                match self.as_it_was(db, key()).is_some_and(|item| item.expiry() != 0) {
                    true => self.sizes.push(0),
                    false => self.store(db, key(), self.len(db, key())),
                }
            }
            "swapdb" => self.names.swap(args),
            _ => {}
        }
    }

    fn len(&self, db: u8, key: &'a [u8]) -> usize {
        match self.stored.get(&(self.names.at_first(db), key)) {
            Some((len, _)) => *len,
            None => self.as_it_was(db, key).map_or(0, |item| item.value().len()),
        }
    }

    /// A key's value is no number, or is a plain one or a sum of some.
    fn has_plain(&self, db: u8, key: &'a [u8]) -> bool {
        match self.stored.get(&(self.names.at_first(db), key)) {
            Some((_, plain)) => *plain,
            None => self.as_it_was(db, key).is_none_or(|item| is_plain(item.value())),
        }
    }

    /// The item of a key that nothing was stored for.
    fn as_it_was(&self, db: u8, key: &'a [u8]) -> Option<Item<'a>> {
        let (db, local) = (self.names.at_first(db), &self.engine.local);
        let stored = self.stored.contains_key(&(db, key));
        (!stored).then(|| local.get(key, local.hash_in(db, key)))?
    }

    fn store(&mut self, db: u8, key: &'a [u8], len: usize) {
        self.put(db, key, len, false);
    }

    fn put(&mut self, db: u8, key: &'a [u8], len: usize, plain: bool) {
        // What is longer is refused.
        let len = len.min(self.engine.settings.item_max);
        self.sizes.push(items::footprint(key, len));
        let longest = len.max(self.len(db, key));
        self.stored.insert((self.names.at_first(db), key), (longest, plain));
    }
}

fn is_plain(text: &[u8]) -> bool {
    text.len() <= PLAIN && text.iter().all(|c| matches!(c, b'0'..=b'9' | b'+' | b'-' | b'.'))
}
