//! Commands about when keys expire.

use wirekv_store::Item;

use super::args::Args;
use super::call::Call;
use super::expiry;
use super::items::{self, Change};
use super::number::{integer, NOT_AN_INTEGER};
use super::rows;
use super::table::Command;
use super::word::{c_string, is};
use super::Error;

const NX_AND_OTHERS: Error = "ERR NX and XX, GT or LT options at the same time are not compatible";
const GT_AND_LT: Error = "ERR GT and LT options at the same time are not compatible";

pub const COMMANDS: &[Command] = &[
    Command::new(rows::EXPIRE, expire),
    Command::new(rows::EXPIREAT, expireat),
    Command::new(rows::EXPIRETIME, expiretime),
    Command::new(rows::PERSIST, persist),
    Command::new(rows::PEXPIRE, pexpire),
    Command::new(rows::PEXPIREAT, pexpireat),
    Command::new(rows::PEXPIRETIME, pexpiretime),
    Command::new(rows::PTTL, pttl),
    Command::new(rows::TTL, ttl),
];

fn expire(call: &mut Call<'_>) -> Result<(), Error> {
    let now = call.now_ms() as i64;
    expire_at(call, now, 1000)
}

fn pexpire(call: &mut Call<'_>) -> Result<(), Error> {
    let now = call.now_ms() as i64;
    expire_at(call, now, 1)
}

fn expireat(call: &mut Call<'_>) -> Result<(), Error> {
    expire_at(call, 0, 1000)
}

fn pexpireat(call: &mut Call<'_>) -> Result<(), Error> {
    expire_at(call, 0, 1)
}

/// When an expiry time is taken.
#[derive(Clone, Copy, Default)]
pub struct Conditions {
    /// If there is none, if there is one, if it is later, if it is sooner.
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

/// Of `EXPIRE key seconds [NX|XX|GT|LT]` and its kin the time, `scale` milliseconds a unit, counted from
/// `base`, and when it is taken; or the error.
pub fn parse(
    name: &str,
    args: &Args<'_>,
    base: i64,
    scale: i64,
) -> Result<(i64, Conditions), Vec<u8>> {
    let mut only = Conditions::default();
    for option in args.from(3) {
        match option {
            _ if is(option, "nx") => only.nx = true,
            _ if is(option, "xx") => only.xx = true,
            _ if is(option, "gt") => only.gt = true,
            _ if is(option, "lt") => only.lt = true,
            _ => return Err([b"ERR Unsupported option ", c_string(option)].concat()),
        }
    }
    if only.nx && (only.xx || only.gt || only.lt) {
        return Err(NX_AND_OTHERS.into());
    }
    if only.gt && only.lt {
        return Err(GT_AND_LT.into());
    }
    let value = integer(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let at = value.checked_mul(scale).and_then(|millis| millis.checked_add(base));
    at.map(|at| (at, only)).ok_or_else(|| expiry::invalid(name).into())
}

/// `EXPIRE` and its kin.
fn expire_at(call: &mut Call<'_>, base: i64, scale: i64) -> Result<(), Error> {
    let (at, only) = match parse(call.command.name, &call.args, base, scale) {
        Ok(parsed) => parsed,
        Err(text) => {
            call.reply.error(text);
            return Ok(());
        }
    };
    let (key, hash, now) = (call.arg(1), call.hash_of(1), call.now_ms() as i64);
    let mut done = false;
    let plan = |old: Option<&Item<'_>>| {
        let Some(item) = old else {
            done = false;
            return Ok(Change::None);
        };
        let before = Some(item.expiry() as i64).filter(|expiry| *expiry != 0);
        done = match before {
            None => !only.xx && !only.gt,
            Some(_) if only.nx => false,
            Some(before) => (!only.gt || at > before) && (!only.lt || at < before),
        };
        Ok(match done {
            false => Change::None,
            true if at <= now => Change::Remove,
            true => Change::Expire(at as u64),
        })
    };
    items::update(call.engine, key, hash, plan, |_, _| {})?;
    call.reply.integer(done.into());
    Ok(())
}

/// `PERSIST key`
fn persist(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let mut done = false;
    let plan = |old: Option<&Item<'_>>| {
        done = old.is_some_and(|item| item.expiry() != 0);
        Ok(if done { Change::Expire(0) } else { Change::None })
    };
    items::update(call.engine, key, hash, plan, |_, _| {})?;
    call.reply.integer(done.into());
    Ok(())
}

fn ttl(call: &mut Call<'_>) -> Result<(), Error> {
    tell(call, true, 1000)
}

fn pttl(call: &mut Call<'_>) -> Result<(), Error> {
    tell(call, true, 1)
}

fn expiretime(call: &mut Call<'_>) -> Result<(), Error> {
    tell(call, false, 1000)
}

fn pexpiretime(call: &mut Call<'_>) -> Result<(), Error> {
    tell(call, false, 1)
}

/// When a key expires, counted from now or not; -1: never, -2: there is none.
fn tell(call: &mut Call<'_>, from_now: bool, scale: i64) -> Result<(), Error> {
    let (key, hash, now) = (call.arg(1), call.hash_of(1), call.now_ms() as i64);
    let told = match items::find(&call.engine.local, key, hash).map(|item| item.expiry() as i64) {
        None => -2,
        Some(0) => -1,
        Some(expiry) => {
            let millis = if from_now { (expiry - now).max(0) } else { expiry };
            millis / scale + i64::from(2 * (millis % scale) >= scale && scale > 1)
        }
    };
    call.reply.integer(told);
    Ok(())
}
