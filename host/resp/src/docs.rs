//! What there is to know of each command (`commands.txt`), and its form in COMMAND's replies.

use std::sync::LazyLock;

use super::reply::Reply;
use super::rows;
use super::table::{self, Command, Keys};

/// A command, or a subcommand with the name `command|subcommand`.
#[derive(Debug)]
pub struct Doc {
    pub name: &'static str,
    pub command: &'static Command,
    pub categories: &'static str,
    tips: &'static str,
    pub specs: Vec<Spec>,
    since: &'static str,
    deprecated: Option<&'static str>,
    group: &'static str,
    complexity: &'static str,
    arguments: Vec<Argument>,
    summary: &'static str,
    pub subcommands: Vec<Doc>,
}

/// Some of a command's keys, and what becomes of them.
#[derive(Debug)]
pub struct Spec {
    /// With `+` between.
    pub flags: &'static str,
    index: i64,
    last: i64,
    step: i64,
    limit: i64,
}

impl Spec {
    /// Their places among so many arguments, name included.
    pub fn places(&self, count: usize) -> impl Iterator<Item = usize> {
        let last = if self.last < 0 { count as i64 + self.last } else { self.index + self.last };
        let end = (last + 1).clamp(0, count as i64) as usize;
        (self.index as usize..end).step_by(self.step as usize)
    }
}

#[derive(Debug)]
struct Argument {
    name: &'static str,
    kind: &'static str,
    token: Option<&'static str>,
    spec: Option<&'static str>,
    since: Option<&'static str>,
    deprecated: Option<&'static str>,
    flags: Vec<&'static str>,
    parts: Vec<Argument>,
}

static DOCS: LazyLock<Vec<Doc>> = LazyLock::new(|| read(include_str!("commands.txt")));

/// All commands, in the order of their names.
pub fn all() -> &'static [Doc] {
    &DOCS
}

/// A command, or a subcommand, of whatever case.
pub fn find(name: &[u8]) -> Option<&'static Doc> {
    let is = |doc: &&Doc, name: &[u8]| doc.name.as_bytes().eq_ignore_ascii_case(name);
    match memchr::memchr(b'|', name) {
        None => DOCS.iter().find(|doc| is(doc, name)),
        Some(at) => {
            let of = DOCS.iter().find(|doc| is(doc, &name[..at]))?;
            of.subcommands.iter().find(|doc| is(doc, name))
        }
    }
}

/// Parts of a list; none of `-`.
pub fn list(text: &'static str, separator: char) -> impl Iterator<Item = &'static str> + Clone {
    text.split(separator).filter(|part| *part != "-")
}

fn read(text: &'static str) -> Vec<Doc> {
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut docs: Vec<Doc> = Vec::new();
    for four in lines.chunks_exact(4) {
        let doc = read_one(four).expect("the file is tested");
        match docs.last_mut() {
            Some(of) if doc.name.split('|').next() == Some(of.name) => of.subcommands.push(doc),
            _ => docs.push(doc),
        }
    }
    docs
}

fn read_one(lines: &[&'static str]) -> Option<Doc> {
    let mut words = lines[0].split(' ');
    let mut next = || words.next();
    let name = next()?;
    let (of, sub) = name.split_once('|').unwrap_or((name, ""));
    let command = table::find(of.as_bytes())?.0;
    let command = if sub.is_empty() { command } else { command.subcommand(sub.as_bytes())?.1 };
    let (categories, tips) = (next()?, next()?);
    let specs = list(next()?, ',').map(read_spec).collect::<Option<_>>()?;
    let mut words = lines[1].trim_start().splitn(3, ' ');
    let since = words.next()?;
    let (since, deprecated) = match since.split_once('!') {
        Some((since, until)) => (since, Some(until)),
        None => (since, None),
    };
    let (group, complexity) = (words.next()?, words.next()?);
    let arguments = match lines[2].trim_start() {
        "-" => Vec::new(),
        text => read_arguments(&mut &*text)?,
    };
    let summary = lines[3].trim_start();
    Some(Doc {
        name,
        command,
        categories,
        tips,
        specs,
        since,
        deprecated,
        group,
        complexity,
        arguments,
        summary,
        subcommands: Vec::new(),
    })
}

fn read_spec(text: &'static str) -> Option<Spec> {
    let (flags, places) = text.split_once('@')?;
    let mut numbers = places.split('/').map(|n| n.parse().ok());
    let mut next = || numbers.next()?;
    Some(Spec { flags, index: next()?, last: next()?, step: next()?, limit: next()? })
}

/// Those up to the end of the text, or of their `{}`.
fn read_arguments(rest: &mut &'static str) -> Option<Vec<Argument>> {
    let mut arguments = Vec::new();
    loop {
        let end = rest.find([' ', '{', '}']).unwrap_or(rest.len());
        let (head, behind) = rest.split_at(end);
        let mut argument = read_argument(head)?;
        *rest = behind;
        if let Some(inner) = rest.strip_prefix('{') {
            *rest = inner;
            argument.parts = read_arguments(rest)?;
            *rest = rest.strip_prefix('}')?;
        }
        arguments.push(argument);
        match rest.strip_prefix(' ') {
            Some(next) => *rest = next,
            None => return Some(arguments),
        }
    }
}

fn read_argument(mut head: &'static str) -> Option<Argument> {
    let mut flags = Vec::new();
    for (mark, flag) in [('+', "multiple_token"), ('*', "multiple"), ('?', "optional")] {
        if let Some(less) = head.strip_suffix(mark) {
            head = less;
            flags.insert(0, flag);
        }
    }
    let mut cut = |mark| {
        let (less, part) = head.rsplit_once(mark)?;
        head = less;
        Some(part)
    };
    let (deprecated, since, spec, token) = (cut('!'), cut('@'), cut('#'), cut('='));
    let (name, kind) = head.rsplit_once(':')?;
    Some(Argument { name, kind, token, spec, since, deprecated, flags, parts: Vec::new() })
}

fn flags(reply: &mut Reply<'_>, flags: impl Iterator<Item = &'static str> + Clone, mark: &str) {
    reply.set(flags.clone().count());
    for flag in flags {
        reply.simple(&format!("{mark}{flag}"));
    }
}

impl Doc {
    /// An element of COMMAND's reply.
    pub fn info(&self, reply: &mut Reply<'_>) {
        reply.array(10);
        reply.bulk(self.name.as_bytes());
        reply.integer(self.command.arity.into());
        let told = rows::FLAGS.iter().filter(|(bit, _)| self.command.has(*bit));
        flags(reply, told.map(|(_, name)| *name), "");
        let Keys { first, last, step } = self.command.keys;
        for number in [first.into(), last.into(), step.into()] {
            reply.integer(number);
        }
        flags(reply, list(self.categories, ','), "@");
        let tips = list(self.tips, ',');
        reply.set(tips.clone().count());
        tips.for_each(|tip| reply.bulk(tip.as_bytes()));
        reply.set(self.specs.len());
        for spec in &self.specs {
            spec.info(reply);
        }
        if self.subcommands.is_empty() {
            return reply.set(0);
        }
        reply.array(self.subcommands.len());
        for doc in &self.subcommands {
            doc.info(reply);
        }
    }

    /// A value of the map that COMMAND DOCS is.
    pub fn docs(&self, reply: &mut Reply<'_>) {
        let told = |yes: bool| usize::from(yes);
        let has_complexity = self.complexity != "-";
        let (arguments, subcommands) = (!self.arguments.is_empty(), !self.subcommands.is_empty());
        let deprecated = self.deprecated.is_some();
        reply.map(
            3 + told(has_complexity) + 2 * told(deprecated) + told(arguments) + told(subcommands),
        );
        let mut pair = |name: &str, value: &str| {
            reply.bulk(name.as_bytes());
            reply.bulk(value.as_bytes());
        };
        pair("summary", self.summary);
        pair("since", self.since);
        pair("group", self.group);
        if has_complexity {
            pair("complexity", self.complexity);
        }
        if let Some(deprecated) = self.deprecated {
            reply.bulk(b"doc_flags");
            flags(reply, ["deprecated"].into_iter(), "");
            reply.bulk(b"deprecated_since");
            reply.bulk(deprecated.as_bytes());
        }
        if arguments {
            reply.bulk(b"arguments");
            Argument::list(&self.arguments, reply);
        }
        if subcommands {
            reply.bulk(b"subcommands");
            reply.map(self.subcommands.len());
            for doc in &self.subcommands {
                reply.bulk(doc.name.as_bytes());
                doc.docs(reply);
            }
        }
    }
}

impl Spec {
    fn info(&self, reply: &mut Reply<'_>) {
        let search = |reply: &mut Reply<'_>, name: &str, kind: &str, numbers: &[(&str, i64)]| {
            reply.bulk(name.as_bytes());
            reply.map(2);
            reply.bulk(b"type");
            reply.bulk(kind.as_bytes());
            reply.bulk(b"spec");
            reply.map(numbers.len());
            for (name, number) in numbers {
                reply.bulk(name.as_bytes());
                reply.integer(*number);
            }
        };
        reply.map(3);
        reply.bulk(b"flags");
        flags(reply, list(self.flags, '+'), "");
        search(reply, "begin_search", "index", &[("index", self.index)]);
        let range = [("lastkey", self.last), ("keystep", self.step), ("limit", self.limit)];
        search(reply, "find_keys", "range", &range);
    }
}

impl Argument {
    fn list(arguments: &[Argument], reply: &mut Reply<'_>) {
        reply.array(arguments.len());
        for argument in arguments {
            argument.tell(reply);
        }
    }

    fn tell(&self, reply: &mut Reply<'_>) {
        let texts =
            [("token", self.token), ("since", self.since), ("deprecated_since", self.deprecated)];
        let has_parts = matches!(self.kind, "oneof" | "block");
        let count = texts.iter().filter(|(_, text)| text.is_some()).count();
        let others = [self.spec.is_some(), !self.flags.is_empty(), has_parts];
        reply.map(2 + count + others.iter().filter(|there| **there).count());
        for (name, text) in [("name", self.name), ("type", self.kind)] {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        if let Some(spec) = self.spec {
            reply.bulk(b"key_spec_index");
            reply.integer(spec.parse().unwrap_or(0));
        }
        for (name, text) in texts {
            if let Some(text) = text {
                reply.bulk(name.as_bytes());
                reply.bulk(text.as_bytes());
            }
        }
        if !self.flags.is_empty() {
            reply.bulk(b"flags");
            flags(reply, self.flags.iter().copied(), "");
        }
        if has_parts {
            reply.bulk(b"arguments");
            Argument::list(&self.parts, reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(command: &Command, doc: &Doc) {
        let name = |doc: &Doc| doc.name.rsplit('|').next().map(str::to_owned);
        let mut there: Vec<_> = command.subcommands.iter().map(|c| Some(c.name.into())).collect();
        let mut told: Vec<_> = doc.subcommands.iter().map(name).collect();
        there.sort();
        told.sort();
        assert_eq!(there, told, "subcommands of {}", doc.name);
        for sub in command.subcommands {
            let name = format!("{}|{}", command.name, sub.name);
            agree(sub, find(name.as_bytes()).unwrap());
        }
    }

    #[test]
    fn every_command_is_told_of_as_it_is() {
        for command in table::all() {
            agree(command, find(command.name.as_bytes()).expect(command.name));
        }
    }

    #[test]
    fn arguments_are_read_to_the_end() {
        let set = find(b"SET").unwrap();
        let names: Vec<_> = set.arguments.iter().map(|argument| argument.name).collect();
        assert_eq!(names, ["key", "value", "condition", "get", "expiration"]);
        let (condition, get) = (&set.arguments[2], &set.arguments[3]);
        assert_eq!((condition.kind, &condition.flags[..]), ("oneof", &["optional"][..]));
        assert_eq!(condition.parts[1].token, Some("XX"));
        assert_eq!((get.token, get.since), (Some("GET"), Some("6.2.0")));
        let kill = find(b"client|kill").unwrap();
        assert_eq!(kill.arguments[0].parts[0].deprecated, Some("2.8.12"));
        assert_eq!(kill.arguments[0].parts[0].name, "ip:port");
    }
}
