//! Expiry times: how commands give them.

use super::args::Iter;
use super::call::Call;
use super::number::{self, integer};
use super::word::is;
use super::{Error, SYNTAX};

/// What a number of an expiry option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds or milliseconds from now.
    Ex,
    Px,
    /// A date, in seconds or milliseconds.
    ExAt,
    PxAt,
}

/// What `SET` and `GETEX` are told of the expiry, and more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    pub nx: bool,
    pub xx: bool,
    pub get: bool,
    pub keep: bool,
    pub persist: bool,
    pub expiry: Option<(Unit, &'a [u8])>,
}

impl<'a> Options<'a> {
    /// Those of `SET`, or of `GETEX`.
    pub fn parse(mut args: Iter<'a>, of_set: bool) -> Result<Options<'a>, Error> {
        let mut options = Options::default();
        while let Some(word) = args.next() {
            let Options { nx, xx, keep, persist, expiry, .. } = options;
            let unit = expiry.map(|(unit, _)| unit);
            let timeless = !keep && !persist && unit.is_none();
            if of_set && is(word, "nx") && !xx {
                options.nx = true;
            } else if of_set && is(word, "xx") && !nx {
                options.xx = true;
            } else if of_set && is(word, "get") {
                options.get = true;
            } else if of_set && is(word, "keepttl") && !persist && unit.is_none() {
                options.keep = true;
            } else if !of_set && is(word, "persist") && !keep && unit.is_none() {
                options.persist = true;
            } else {
                let new = match word {
                    _ if is(word, "ex") => Unit::Ex,
                    _ if is(word, "px") => Unit::Px,
                    _ if is(word, "exat") => Unit::ExAt,
                    _ if is(word, "pxat") => Unit::PxAt,
                    _ => return Err(SYNTAX),
                };
                // The same one may come twice.
                if !timeless && unit != Some(new) {
                    return Err(SYNTAX);
                }
                options.expiry = Some((new, args.next().ok_or(SYNTAX)?));
            }
        }
        Ok(options)
    }
}

/// The Unix time in milliseconds that a command names. `Ok(None)`: it is none, and that was replied.
pub fn deadline(call: &mut Call<'_>, unit: Unit, text: &[u8]) -> Result<Option<u64>, Error> {
    let deadline = time(unit, text, call.now_ms() as i64)?;
    if deadline.is_none() {
        call.reply.error(invalid(call.command.name));
    }
    Ok(deadline.map(|deadline| deadline as u64))
}

/// The same; `Ok(None)`: it is none.
pub fn time(unit: Unit, text: &[u8], now: i64) -> Result<Option<i64>, Error> {
    let value = integer(text).ok_or(number::NOT_AN_INTEGER)?;
    let millis = match unit {
        Unit::Ex | Unit::ExAt => value.checked_mul(1000),
        Unit::Px | Unit::PxAt => Some(value),
    };
    let from = if matches!(unit, Unit::Ex | Unit::Px) { now } else { 0 };
    Ok(millis.filter(|millis| *millis > 0).and_then(|millis| millis.checked_add(from)))
}

/// What the reply is then.
pub fn invalid(name: &str) -> String {
    format!("ERR invalid expire time in '{name}' command")
}
