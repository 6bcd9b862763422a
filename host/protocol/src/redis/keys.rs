//! Commands about keys, whatever their values are.

use super::call::Call;
use super::items;
use super::table::{flag::*, Command, ALL, NONE, ONE};
use super::word::is;
use super::{Error, SYNTAX};
use crate::ops;

pub const COMMANDS: &[Command] = &[
    Command::new("del", -2, WRITE, ALL, del),
    Command::new("exists", -2, READONLY | FAST, ALL, exists),
    Command::new("flushall", -1, WRITE, NONE, flush),
    Command::new("flushdb", -1, WRITE, NONE, flush),
    Command::new("touch", -2, READONLY | FAST, ALL, exists),
    Command::new("type", 2, READONLY | FAST, ONE, kind),
    Command::new("unlink", -2, WRITE | FAST, ALL, del),
];

/// `DEL key [key ...]`, and `UNLINK`, which is the same here
fn del(call: &mut Call<'_>) -> Result<(), Error> {
    let mut count = 0;
    for key in call.args.from(1) {
        count += i64::from(items::remove(call.engine, key));
    }
    call.reply.integer(count);
    Ok(())
}

/// `EXISTS key [key ...]`, and `TOUCH`: both are a use of each
fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let mut count = 0;
    let local = &call.engine.local;
    for key in call.args.from(1) {
        if let Some(item) = local.get(key, local.hash(key)) {
            local.hit(&item);
            count += 1;
        }
    }
    call.reply.integer(count);
    Ok(())
}

/// `TYPE key`
fn kind(call: &mut Call<'_>) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let found = call.engine.local.get(key, hash).is_some();
    call.reply.simple(if found { "string" } else { "none" });
    Ok(())
}

/// `FLUSHALL [ASYNC|SYNC]`, `FLUSHDB [ASYNC|SYNC]`: at once in any case
fn flush(call: &mut Call<'_>) -> Result<(), Error> {
    match call.args.find(1) {
        None => {}
        Some(how) if call.args.len() == 2 && (is(how, "sync") || is(how, "async")) => {}
        _ => return Err(SYNTAX),
    }
    ops::flush(call.engine, None);
    call.reply.ok();
    Ok(())
}
