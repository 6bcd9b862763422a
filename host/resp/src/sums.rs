//! Commands about values that are numbers.

use std::cell::{Cell, RefCell};

use wirekv_proto::number::{digits, DIGITS};
use wirekv_store::Item;

use super::call::Call;
use super::items::{self, Change};
use super::number::{self, LongDouble, NOT_AN_INTEGER, NOT_A_FLOAT};
use super::rows;
use super::table::Command;
use super::Error;

pub const COMMANDS: &[Command] = &[
    Command::new(rows::DECR, decr),
    Command::new(rows::DECRBY, decrby),
    Command::new(rows::INCR, incr),
    Command::new(rows::INCRBY, incrby),
    Command::new(rows::INCRBYFLOAT, incrbyfloat),
];

/// `INCR key`
fn incr(call: &mut Call<'_>) -> Result<(), Error> {
    add(call, 1)
}

/// `DECR key`
fn decr(call: &mut Call<'_>) -> Result<(), Error> {
    add(call, -1)
}

/// `INCRBY key increment`
fn incrby(call: &mut Call<'_>) -> Result<(), Error> {
    let by = number::argument(call.arg(2))?;
    add(call, by)
}

/// `DECRBY key decrement`
fn decrby(call: &mut Call<'_>) -> Result<(), Error> {
    let by = number::decrement(call.arg(2))?;
    add(call, by)
}

fn add(call: &mut Call<'_>, by: i64) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let mut sum = 0;
    let text = Cell::new(([0; 1 + DIGITS], 0));
    let plan = |old: Option<&Item<'_>>| {
        let value = match old {
            Some(item) => number::integer(item.value()).ok_or(NOT_AN_INTEGER)?,
            None => 0,
        };
        sum = number::add(value, by)?;
        let (digits, from) = decimal(sum);
        text.set((digits, from));
        Ok(Change::Value { len: digits.len() - from })
    };
    items::update(call.engine, key, hash, plan, |_, new| {
        let (text, from) = text.get();
        new.copy_from_slice(&text[from..]);
    })?;
    call.reply.integer(sum);
    Ok(())
}

/// A number's text, and where it begins.
fn decimal(value: i64) -> ([u8; 1 + DIGITS], usize) {
    let (mut text, mut buffer) = ([b'-'; 1 + DIGITS], [0; DIGITS]);
    let digits = digits(value.unsigned_abs(), &mut buffer);
    let from = text.len() - digits.len();
    text[from..].copy_from_slice(digits);
    (text, from - usize::from(value < 0))
}

/// `INCRBYFLOAT key increment`
fn incrbyfloat(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let by = call.arg(2);
    let sum = RefCell::new(String::new());
    let plan = |old: Option<&Item<'_>>| {
        let value = match old {
            Some(item) => LongDouble::parse(item.value()),
            None => LongDouble::parse(b"0"),
        };
        let (value, by) = (value.ok_or(NOT_A_FLOAT)?, LongDouble::parse(by).ok_or(NOT_A_FLOAT)?);
        let text = value.plus(by)?.text();
        let len = text.len();
        sum.replace(text);
        Ok(Change::Value { len })
    };
    let fill = |_: Option<&Item<'_>>, new: &mut [u8]| new.copy_from_slice(sum.borrow().as_bytes());
    items::update(call.engine, key, hash, plan, fill)?;
    call.reply.bulk(sum.borrow().as_bytes());
    Ok(())
}
