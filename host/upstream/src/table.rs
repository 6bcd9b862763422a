//! What a Redis says of its commands: the reply to `COMMAND`.

use std::collections::HashMap;

use crate::batch::Effect;
use crate::memcached::MAX_KEYS;
use crate::value::Value;

/// These run what nobody knows beforehand, or replace the data.
const ANY: &[&[u8]] =
    &[b"eval", b"evalsha", b"fcall", b"debug", b"replicaof", b"slaveof", b"failover", b"module"];
/// These are sent to replicas, and change no key.
const NONE: &[&[u8]] = &[b"publish", b"spublish"];

/// Where a command's keys are that it may change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Keys {
    /// From an argument on, to an argument (negative: counted from the end), each so many.
    Range { begin: Begin, last: i64, step: usize, limit: i64 },
    /// A number says how many there are: where it is, and where the first key is from there on.
    Counted { begin: Begin, number: usize, first: usize, step: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Begin {
    At(usize),
    /// Behind a word, which is looked for from an argument on, or backwards.
    Behind(Vec<u8>, i64),
}

/// What a command does.
#[derive(Clone, Debug, Default)]
struct Info {
    writes: bool,
    blocks: bool,
    /// Where its keys are; `None`: it may change any.
    keys: Option<Vec<Keys>>,
    parts: HashMap<Vec<u8>, Info>,
}

/// A server's commands, by name.
#[derive(Clone, Debug, Default)]
pub struct Table(HashMap<Vec<u8>, Info>);

impl Table {
    /// Of the reply to `COMMAND`. `None`: it is no such reply.
    pub fn new(reply: &Value) -> Option<Table> {
        let table: HashMap<_, _> = reply.list().iter().filter_map(info).collect();
        (table.contains_key(&b"get"[..]) && table.contains_key(&b"set"[..])).then_some(Table(table))
    }

    /// What a command may change, and whether it may wait for long. Its name is in lower case.
    pub fn effect(&self, name: &[u8], args: &[&[u8]]) -> (Effect, bool) {
        if NONE.contains(&name) {
            return (Effect::None, false);
        }
        let Some(info) = self.0.get(name) else { return (Effect::All, false) };
        if ANY.contains(&name) {
            return (Effect::All, info.blocks);
        }
        let info = match args.get(1).filter(|_| !info.parts.is_empty()) {
            Some(part) => match info.parts.get(&part.to_ascii_lowercase()) {
                Some(part) => part,
                None => return (Effect::All, false),
            },
            None => info,
        };
        let effect = match (info.writes, &info.keys) {
            (false, _) => Effect::None,
            (true, None) => Effect::All,
            (true, Some(places)) => found(places, args),
        };
        (effect, info.blocks)
    }
}

fn found(places: &[Keys], args: &[&[u8]]) -> Effect {
    let mut keys = Vec::new();
    for place in places {
        match place.find(args) {
            Some(more) => keys.extend(more),
            None => return Effect::All,
        }
    }
    match keys.len() {
        0 => Effect::None,
        1..=MAX_KEYS => Effect::Keys(keys),
        _ => Effect::All,
    }
}

impl Keys {
    /// Keys of a command; `None`: they cannot be told.
    fn find(&self, args: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        let (Keys::Range { begin, .. } | Keys::Counted { begin, .. }) = self;
        let begin = match begin {
            Begin::At(at) => *at,
            Begin::Behind(word, from) => {
                let is_word = |arg: &&[u8]| arg.eq_ignore_ascii_case(word);
                let at = match usize::try_from(*from) {
                    Ok(from) => {
                        let rest = args.get(from..).unwrap_or_default();
                        rest.iter().position(is_word).map(|at| from + at)
                    }
                    Err(_) => args.iter().rposition(is_word),
                };
                // Without the word there are none.
                match at {
                    Some(at) => at + 1,
                    None => return Some(Vec::new()),
                }
            }
        };
        let (from, last, step) = match *self {
            Keys::Range { last, step, limit, .. } => {
                let rest = args.len().saturating_sub(begin);
                let last = match usize::try_from(last) {
                    Ok(last) => begin + last,
                    Err(_) if limit > 1 && last == -1 => {
                        begin + (rest / limit as usize).checked_sub(1)?
                    }
                    Err(_) => args.len().checked_sub(last.unsigned_abs() as usize)?,
                };
                (begin, last, step)
            }
            Keys::Counted { number, first, step, .. } => {
                let count = args.get(begin + number)?;
                let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
                let Some(more) = count.checked_sub(1) else { return Some(Vec::new()) };
                let from = begin + first;
                (from, from.checked_add(more.checked_mul(step)?)?, step)
            }
        };
        let keys = args.get(from..).unwrap_or_default().iter().step_by(step.max(1));
        let count = (last + 1).saturating_sub(from).div_ceil(step.max(1));
        Some(keys.take(count).map(|key| key.to_vec()).collect())
    }
}

/// An entry of the reply: name, arity, flags, first key, last key, step, categories, tips, key specifications, parts.
fn info(entry: &Value) -> Option<(Vec<u8>, Info)> {
    let fields = entry.list();
    let name = fields.first()?.text()?.to_ascii_lowercase();
    let flags = fields.get(2)?.list();
    let has = |flag: &[u8]| flags.iter().any(|f| f.text() == Some(flag));
    let number = |at: usize| fields.get(at).and_then(Value::number);
    let (first, last, step) = (number(3)?, number(4)?, number(5)?);
    // Of a part it is `container|part`.
    let short = name.split(|byte| *byte == b'|').next_back()?.to_vec();
    let parts = fields.get(9).map_or(&[][..], Value::list);
    let specs = fields.get(8).map_or(&[][..], Value::list);
    // Those that are only read do not matter.
    let written: Vec<&Value> = specs.iter().filter(|spec| !has_flag(spec, b"RO")).collect();
    let keys = match specs {
        [_, ..] => written.iter().map(|spec| specification(spec)).collect(),
        _ if first > 0 && !has(b"movablekeys") => {
            let last = if last < 0 { last } else { last - first };
            let begin = Begin::At(first as usize);
            Some(vec![Keys::Range { begin, last, step: step.max(1) as usize, limit: 0 }])
        }
        _ => None,
    };
    let info = Info {
        // PFCOUNT has no flag of a write, and changes what its key has.
        writes: has(b"write") || has(b"may_replicate") || !written.is_empty(),
        blocks: has(b"blocking"),
        keys,
        parts: parts.iter().filter_map(info).collect(),
    };
    Some((short, info))
}

fn has_flag(spec: &Value, flag: &[u8]) -> bool {
    let flags = spec.get(b"flags").map_or(&[][..], Value::list);
    flags.iter().any(|f| f.text() == Some(flag))
}

/// `None`: it does not tell all keys.
fn specification(spec: &Value) -> Option<Keys> {
    if has_flag(spec, b"incomplete") {
        return None;
    }
    let (search, find) = (spec.get(b"begin_search")?, spec.get(b"find_keys")?);
    let of = |what: &Value, name: &[u8]| what.get(b"spec")?.get(name)?.number();
    let begin = match search.get(b"type")?.text()? {
        b"index" => Begin::At(usize::try_from(of(search, b"index")?).ok()?),
        b"keyword" => {
            let word = search.get(b"spec")?.get(b"keyword")?.text()?.to_vec();
            Begin::Behind(word, of(search, b"startfrom")?)
        }
        _ => return None,
    };
    let size = |name: &[u8]| usize::try_from(of(find, name)?).ok();
    match find.get(b"type")?.text()? {
        b"range" => Some(Keys::Range {
            begin,
            last: of(find, b"lastkey")?,
            step: size(b"keystep")?,
            limit: of(find, b"limit")?,
        }),
        b"keynum" => Some(Keys::Counted {
            begin,
            number: size(b"keynumidx")?,
            first: size(b"firstkey")?,
            step: size(b"keystep")?,
        }),
        _ => None,
    }
}
