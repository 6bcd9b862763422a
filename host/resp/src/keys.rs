//! Commands about keys, whatever their values are.

use wirekv_store::{Hash, Item};

use super::call::Call;
use super::connection::database;
use super::items;
use super::rows;
use super::table::Command;
use super::word::is;
use super::{Error, SYNTAX};
use crate::Engine;

const NO_KEY: Error = "ERR no such key";
const SAME: Error = "ERR source and destination objects are the same";

pub const COMMANDS: &[Command] = &[
    Command::new(rows::COPY, copy),
    Command::new(rows::DEL, del),
    Command::new(rows::EXISTS, exists),
    Command::new(rows::MOVE, move_),
    Command::new(rows::RENAME, rename),
    Command::new(rows::RENAMENX, renamenx),
    Command::new(rows::TOUCH, exists),
    Command::new(rows::TYPE, kind),
    Command::new(rows::UNLINK, del),
];

/// `DEL key [key ...]`, and `UNLINK`, which is the same here
fn del(call: &mut Call<'_>) -> Result<(), Error> {
    let mut count = 0;
    for key in call.args.from(1) {
        count += i64::from(items::remove(call.engine, call.client.db, key));
    }
    call.reply.integer(count);
    Ok(())
}

/// `EXISTS key [key ...]`, and `TOUCH`: both are a use of each
fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let mut count = 0;
    for key in call.args.from(1) {
        let hash = call.engine.local.hash_in(call.client.db, key);
        count += i64::from(items::get(call.engine, key, hash).is_some());
    }
    call.reply.integer(count);
    Ok(())
}

/// `TYPE key`
fn kind(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let found = items::find(&call.engine.local, key, hash).is_some();
    call.reply.simple(if found { "string" } else { "none" });
    Ok(())
}

/// A key and its database.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place<'a> {
    db: u8,
    key: &'a [u8],
}

impl Place<'_> {
    fn hash(&self, engine: &Engine) -> Hash {
        engine.local.hash_in(self.db, self.key)
    }

    fn item<'e>(&self, engine: &'e Engine) -> Option<Item<'e>> {
        items::find(&engine.local, self.key, self.hash(engine))
    }
}

/// What becomes of the item of one key that is given to another.
struct Transfer {
    /// An item that is there is replaced.
    replaces: bool,
    /// The first key loses it.
    moves: bool,
}

/// `None`: there is no item to be given.
fn transfer(
    call: &mut Call<'_>,
    from: Place<'_>,
    to: Place<'_>,
    how: &Transfer,
) -> Result<Option<bool>, Error> {
    let hashes = [from.hash(call.engine), to.hash(call.engine)];
    let sizes = |engine: &Engine| {
        let len = from.item(engine).map_or(0, |item| item.value().len());
        vec![items::footprint(to.key, len)]
    };
    items::together(call.engine, &hashes, sizes, |engine| {
        if from.item(engine).is_none() {
            return Ok(None);
        }
        if !how.replaces && to.item(engine).is_some() {
            return Ok(Some(false));
        }
        items::copy(engine, (from.db, from.key), (to.db, to.key))?;
        if how.moves {
            items::remove(engine, from.db, from.key);
        }
        Ok(Some(true))
    })?
}

/// `RENAME key newkey`
fn rename(call: &mut Call<'_>) -> Result<(), Error> {
    rename_to(call, true)?;
    call.reply.ok();
    Ok(())
}

/// `RENAMENX key newkey`
fn renamenx(call: &mut Call<'_>) -> Result<(), Error> {
    let renamed = rename_to(call, false)?;
    call.reply.integer(renamed.into());
    Ok(())
}

fn rename_to(call: &mut Call<'_>, replaces: bool) -> Result<bool, Error> {
    let db = call.client.db;
    let (from, to) = (Place { db, key: call.arg(1) }, Place { db, key: call.arg(2) });
    if from == to {
        return from.item(call.engine).map(|_| false).ok_or(NO_KEY);
    }
    transfer(call, from, to, &Transfer { replaces, moves: true })?.ok_or(NO_KEY)
}

/// `COPY source destination [DB index] [REPLACE]`
fn copy(call: &mut Call<'_>) -> Result<(), Error> {
    let db = call.client.db;
    let (from, mut to) = (Place { db, key: call.arg(1) }, Place { db, key: call.arg(2) });
    let mut how = Transfer { replaces: false, moves: false };
    let mut options = call.args.from(3);
    while let Some(option) = options.next() {
        if is(option, "replace") {
            how.replaces = true;
        } else if is(option, "db") {
            to.db = database(options.next().ok_or(SYNTAX)?)?;
        } else {
            return Err(SYNTAX);
        }
    }
    if from == to {
        return Err(SAME);
    }
    let copied = transfer(call, from, to, &how)?;
    call.reply.integer((copied == Some(true)).into());
    Ok(())
}

/// `MOVE key db`
fn move_(call: &mut Call<'_>) -> Result<(), Error> {
    let from = Place { db: call.client.db, key: call.arg(1) };
    let to = Place { db: database(call.arg(2))?, key: from.key };
    if from == to {
        return Err(SAME);
    }
    let moved = transfer(call, from, to, &Transfer { replaces: false, moves: true })?;
    call.reply.integer((moved == Some(true)).into());
    Ok(())
}
