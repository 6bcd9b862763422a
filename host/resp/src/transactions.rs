//! Transactions: commands that are queued, then done as one step.
//!
//! At `EXEC` the keys of all commands are locked together and room for whatever they may store is set
//! aside; then their handlers run as they always do. As in Redis a command that fails does not keep
//! the others from being done.

use std::time::Duration;

use wirekv_proto::Next;

use super::args::Args;
use super::call::Call;
use super::client::{Queue, Watched};
use super::estimate::{Estimate, Names};
use super::execute::Place;
use super::items;
use super::parse;
use super::rows;
use super::table::Command;
use super::Error;
use crate::Engine;

const NESTED: Error = "ERR MULTI calls can not be nested";
const NO_MULTI: Error = "ERR EXEC without MULTI";
const NO_DISCARD: Error = "ERR DISCARD without MULTI";
const WATCH_INSIDE: Error = "ERR WATCH inside MULTI is not allowed";
const ABORTED: Error = "EXECABORT Transaction discarded because of previous errors.";
const MANY_WATCHES: Error = "ERR the watched keys are more than this server takes";
const LONG_REPLY: Error = "ERR the transaction's replies are more than this server takes";

pub const COMMANDS: &[Command] = &[
    Command::new(rows::DISCARD, discard),
    Command::new(rows::EXEC, exec),
    Command::new(rows::MULTI, multi),
    Command::new(rows::UNWATCH, unwatch),
    Command::new(rows::WATCH, watch),
];

/// `MULTI`
fn multi(call: &mut Call<'_>) -> Result<(), Error> {
    if call.client.queue.is_some() {
        return Err(NESTED);
    }
    call.client.queue = Some(Box::default());
    call.reply.ok();
    Ok(())
}

/// `DISCARD`
fn discard(call: &mut Call<'_>) -> Result<(), Error> {
    call.client.queue.take().ok_or(NO_DISCARD)?;
    call.client.watches = Watched::default();
    call.reply.ok();
    Ok(())
}

/// `WATCH key [key ...]`
fn watch(call: &mut Call<'_>) -> Result<(), Error> {
    if call.client.queue.is_some() {
        return Err(WATCH_INSIDE);
    }
    let Call { client, engine, server, .. } = call;
    for key in call.args.from(1) {
        if client.watches.has(client.db, key) {
            continue;
        }
        if let Err(next) = client.keep(Watched::size_of(key), engine, &mut **server) {
            (call.next, call.from) = (next, 1);
            return if next == Next::Close { Err(MANY_WATCHES) } else { Ok(()) };
        }
        client.watches.push(&engine.local, client.db, key);
    }
    call.reply.ok();
    Ok(())
}

/// `UNWATCH`
fn unwatch(call: &mut Call<'_>) -> Result<(), Error> {
    call.client.watches = Watched::default();
    call.reply.ok();
    Ok(())
}

/// `EXEC`
fn exec(call: &mut Call<'_>) -> Result<(), Error> {
    let queue = call.client.queue.as_ref().ok_or(NO_MULTI)?;
    let swaps = queue.swaps && !queue.is_broken;
    if swaps && !call.engine.local.stop_others() {
        call.next = Next::Wait;
        return Ok(());
    }
    let queue = *call.client.queue.take().expect("it was just there");
    // Whoever looks meanwhile sees a transaction.
    call.client.running = Some(queue.len());
    let done = run(call, &queue);
    call.client.running = None;
    if swaps {
        call.engine.local.let_go();
    }
    done
}

fn run(call: &mut Call<'_>, queue: &Queue) -> Result<(), Error> {
    let watches = std::mem::take(&mut call.client.watches);
    if queue.is_broken {
        return Err(ABORTED);
    }
    let db = call.client.db;
    let mut hashes = Vec::new();
    let (locals, mut names) = (&call.engine.local, Names::default());
    each(queue, db, |command, args, db| {
        super::estimate::keys(command, args, db, |db, key| {
            hashes.push(locals.hash_in(names.at_first(db), key));
        });
        if command.name == "swapdb" {
            names.swap(args);
        }
    });
    hashes.extend(watches.iter().map(|watch| watch.hash()));
    let sizes = |engine: &Engine| {
        let mut estimate = Estimate::new(engine);
        each(queue, db, |command, args, db| estimate.take(command, args, db));
        estimate.sizes
    };
    let Call { engine, client, server, reply, .. } = call;
    let mark = reply.mark();
    let out = &mut *reply.out;
    let (mut next, mut fits) = (Next::Continue, true);
    let done = items::together(engine, &hashes, sizes, |engine| {
        if !watches.iter().all(|watch| watch.is_unchanged(&engine.local)) {
            return false;
        }
        let limit = engine.settings.gather_max();
        out.room(24).byte(b'*').number(queue.len() as u64).bytes(b"\r\n").finish();
        for bytes in queue.commands() {
            let mut place = Place { engine, server: &mut **server, out };
            loop {
                match place.whole(client, bytes) {
                    // `DEBUG SLEEP`: as in Redis all wait that want one of the keys.
                    Next::Sleep => std::thread::sleep(Duration::from_millis(1)),
                    Next::Close => break next = Next::Close,
                    _ => break,
                }
            }
            fits &= out.held() <= limit;
        }
        true
    })?;
    if !fits {
        reply.rewind(mark);
        call.next = Next::Close;
        return Err(LONG_REPLY);
    }
    if !done {
        reply.null_array();
    }
    call.next = next;
    Ok(())
}

/// Calls `visit` with each queued command and the database in which it will run.
pub fn each<'q>(
    queue: &'q Queue,
    mut db: u8,
    mut visit: impl FnMut(&'static Command, &Args<'q>, u8),
) {
    for bytes in queue.commands() {
        let Some(asked) = parse::parse_whole(bytes) else { continue };
        let Some(parse::Op::Command(Some(named))) = asked.op else { continue };
        let args = Args::new(&asked.request, bytes);
        if named.0.name == "select" {
            db = super::connection::database(args.get(1)).unwrap_or(db);
        }
        let found = named.0.subcommand(args.get(1));
        visit(found.map_or(named.0, |(_, found)| found), &args, db);
    }
}
