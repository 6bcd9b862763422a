//! COMMAND: which commands there are.

use super::call::Call;
use super::docs::{self, list, Doc};
use super::glob::Pattern;
use super::rows;
use super::table::{self, Command};
use super::{help, word, Error, SYNTAX};

pub const COMMAND: Command = Command {
    subcommands: &[
        Command::new(rows::COMMAND_COUNT, count),
        Command::new(rows::COMMAND_DOCS, docs_of),
        Command::new(rows::COMMAND_GETKEYS, |call| keys(call, false)),
        Command::new(rows::COMMAND_GETKEYSANDFLAGS, |call| keys(call, true)),
        Command::new(rows::COMMAND_HELP, |call| help(call, HELP)),
        Command::new(rows::COMMAND_INFO, info),
        Command::new(rows::COMMAND_LIST, names),
    ],
    ..Command::new(rows::COMMAND, info)
};

const HELP: &[&str] = &[
    "(no subcommand)",
    "    Tells of all commands.",
    "COUNT",
    "    Counts the commands.",
    "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
    "    Lists the names of commands and subcommands.",
    "INFO [<command> ...]",
    "    Tells of these commands, or of all.",
    "DOCS [<command> ...]",
    "    Tells what these commands, or all, are for, and what arguments they take.",
    "GETKEYS <command>",
    "    Picks the keys out of a command.",
    "GETKEYSANDFLAGS <command>",
    "    Picks the keys out of a command, with what is done to each.",
];

fn count(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.integer(docs::all().len() as i64);
    Ok(())
}

/// COMMAND alone, and COMMAND INFO.
fn info(call: &mut Call<'_>) -> Result<(), Error> {
    if call.args.len() <= 2 {
        call.reply.array(docs::all().len());
        docs::all().iter().for_each(|doc| doc.info(&mut call.reply));
        return Ok(());
    }
    call.reply.array(call.args.len() - 2);
    for name in call.args.from(2) {
        match docs::find(name) {
            Some(doc) => doc.info(&mut call.reply),
            None => call.reply.null(),
        }
    }
    Ok(())
}

fn docs_of(call: &mut Call<'_>) -> Result<(), Error> {
    let named: Vec<&Doc> = match call.args.len() {
        2 => docs::all().iter().collect(),
        _ => call.args.from(2).filter_map(docs::find).collect(),
    };
    call.reply.map(named.len());
    for doc in named {
        call.reply.bulk(doc.name.as_bytes());
        doc.docs(&mut call.reply);
    }
    Ok(())
}

fn names(call: &mut Call<'_>) -> Result<(), Error> {
    let args = call.args.vec(2);
    let fits: Box<dyn Fn(&Doc) -> bool> = match args[..] {
        [] => Box::new(|_| true),
        [by, kind, what] if word::is(by, "filterby") => {
            if word::is(kind, "module") {
                // There are no modules.
                Box::new(|_| false)
            } else if word::is(kind, "aclcat") {
                Box::new(move |doc| list(doc.categories, ',').any(|name| word::is(what, name)))
            } else if word::is(kind, "pattern") {
                let pattern = Pattern::of_names(what);
                Box::new(move |doc| pattern.matches(doc.name.as_bytes()))
            } else {
                return Err(SYNTAX);
            }
        }
        _ => return Err(SYNTAX),
    };
    let every = docs::all().iter().flat_map(|doc| [doc].into_iter().chain(&doc.subcommands));
    let names: Vec<_> = every.filter(|doc| fits(doc)).map(|doc| doc.name).collect();
    call.reply.array(names.len());
    names.iter().for_each(|name| call.reply.bulk(name.as_bytes()));
    Ok(())
}

/// GETKEYS and GETKEYSANDFLAGS.
fn keys(call: &mut Call<'_>, with_flags: bool) -> Result<(), Error> {
    let args = call.args.vec(2);
    let doc = match table::find(args[0]) {
        Some(named) if !named.0.subcommands.is_empty() && args.len() > 1 => {
            docs::find(&[args[0], b"|", args[1]].concat())
        }
        Some(_) => docs::find(args[0]),
        None => None,
    };
    let doc = doc.ok_or("ERR Invalid command specified")?;
    if doc.specs.is_empty() {
        return Err("ERR The command has no key arguments");
    }
    if !doc.command.takes(args.len()) {
        return Err("ERR Invalid number of arguments specified for command");
    }
    let places =
        doc.specs.iter().flat_map(|spec| spec.places(args.len()).map(move |at| (at, spec)));
    let places: Vec<_> = places.collect();
    call.reply.array(places.len());
    for (at, spec) in places {
        if with_flags {
            call.reply.array(2);
        }
        call.reply.bulk(args[at]);
        if with_flags {
            let flags: Vec<_> = what_is_done(doc, spec.flags, &args).split('+').collect();
            call.reply.set(flags.len());
            flags.iter().for_each(|flag| call.reply.simple(flag));
        }
    }
    Ok(())
}

/// What becomes of a key, which may depend on the other arguments.
fn what_is_done(doc: &Doc, flags: &'static str, args: &[&[u8]]) -> &'static str {
    if !flags.ends_with("variable_flags") {
        return flags;
    }
    match doc.name {
        "set" if args[3..].iter().any(|arg| word::is(arg, "get")) => "RW+access+update",
        "set" => "OW+update",
        _ if writes_fields(&args[2..]) => "RW+access+update",
        _ => "RO+access",
    }
}

/// Whether BITFIELD's arguments do more than to read, or are wrong.
fn writes_fields(mut args: &[&[u8]]) -> bool {
    while let [name, behind @ ..] = args {
        let count = if word::is(name, "get") { 2 } else { 1 };
        match behind.get(count..) {
            Some(rest) if count == 2 || word::is(name, "overflow") => args = rest,
            _ => return true,
        }
    }
    false
}
