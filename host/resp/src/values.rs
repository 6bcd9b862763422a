//! Everything in this folder that is no command, against what Redis answered to
//! `tb/reference/redis_values.py`. `WIREKV_REDIS_VALUES` names another file of such cases.

use super::bitfield::Fields;
use super::bits::{self, Operation};
use super::glob::Pattern;
use super::lcs::Lcs;
use super::number::{self, LongDouble};
use super::{range, Error};

fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

fn escape(bytes: &[u8]) -> String {
    let one = |b: &u8| match b {
        b' '..=b'~' if *b != b'\\' => char::from(*b).to_string(),
        _ => format!("\\x{b:02x}"),
    };
    bytes.iter().map(one).collect()
}

fn list(parts: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", parts.into_iter().collect::<Vec<_>>().join(","))
}

fn said<T: ToString>(result: Result<T, Error>) -> String {
    result.map_or_else(|error| format!("!{error}"), |value| value.to_string())
}

/// A reply, and the value that the command leaves.
fn leaves(reply: Result<String, Error>, value: &[u8]) -> String {
    list([said(reply), escape(value)])
}

fn float(value: &[u8], by: &[u8]) -> Result<String, Error> {
    let read = |text| LongDouble::parse(text).ok_or(number::NOT_A_FLOAT);
    read(value)?.plus(read(by)?).map(LongDouble::text)
}

fn setbit(value: &mut Vec<u8>, offset: &[u8], bit: &[u8]) -> Result<String, Error> {
    let (offset, bit) = (bits::offset(offset)?, bits::bit(bit)?);
    value.resize(value.len().max(bits::bytes_for(offset)), 0);
    Ok(u8::from(bits::set(value, offset, bit)).to_string())
}

fn bitop(name: &[u8], sources: &[&[u8]], result: &mut Option<Vec<u8>>) -> Result<String, Error> {
    let operation = Operation::parse(name, sources.len())?;
    let mut to = vec![0xaa; sources.iter().map(|s| s.len()).max().unwrap_or(0)];
    for (n, source) in sources.iter().enumerate() {
        operation.take(&mut to, source, n == 0);
    }
    let len = to.len();
    *result = (len > 0).then_some(to);
    Ok(len.to_string())
}

fn bitfield(value: &mut Vec<u8>, args: &[&[u8]], read_only: bool) -> Result<String, Error> {
    let fields = Fields::parse(args, read_only, usize::MAX)?;
    let mut replies = Vec::new();
    if fields.room() == 0 {
        fields.read(value, |number| replies.push(number.to_string()));
    } else {
        let before = value.clone();
        value.resize(value.len().max(fields.room()), 0);
        let longer = value.len() > before.len();
        let changed = fields.write(value, |number| {
            replies.push(number.map_or("nil".to_owned(), |number| number.to_string()));
        });
        assert!(changed || longer || *value == before);
    }
    assert_eq!(replies.len(), fields.len());
    Ok(list(replies))
}

fn lcs(a: &[u8], b: &[u8], args: &[&[u8]]) -> Result<String, Error> {
    let asked = Lcs::parse(args)?;
    let found = asked.find(a, b)?;
    if asked.only_len {
        return Ok(found.len.to_string());
    }
    if !asked.indices {
        assert_eq!(found.text.len(), found.len);
        return Ok(escape(&found.text));
    }
    let pair = |(from, to): (usize, usize)| list([from.to_string(), to.to_string()]);
    let matches = found.matches.iter().map(|m| {
        let len = asked.with_match_len.then(|| m.len().to_string());
        list([pair(m.a), pair(m.b)].into_iter().chain(len))
    });
    Ok(list(["matches".into(), list(matches), "len".into(), found.len.to_string()]))
}

fn answer(kind: &str, args: &[&[u8]], redis: &mut Option<Vec<u8>>) -> String {
    match (kind, args) {
        ("integer", [value, by]) => {
            let sum = number::argument(by).and_then(|by| number::add(number::argument(value)?, by));
            said(sum)
        }
        ("float", [value, by]) => said(float(value, by)),
        ("glob", [pattern, text]) => u8::from(Pattern::new(pattern).matches(text)).to_string(),
        ("count", [value, args @ ..]) => said(bits::count(value, args)),
        ("position", [value, args @ ..]) => said(bits::position(Some(value), args)),
        ("setbit", [value, offset, bit]) => {
            let mut value = value.to_vec();
            let reply = setbit(&mut value, offset, bit);
            leaves(reply, &value)
        }
        ("getbit", [value, offset]) => {
            said(bits::offset(offset).map(|offset| u8::from(bits::get(value, offset))))
        }
        ("bitop", [name, sources @ ..]) => {
            let reply = bitop(name, sources, redis);
            let left = redis.as_ref().map_or("nil".to_owned(), |value| escape(value));
            list([said(reply), left])
        }
        ("bitfield", [name, value, args @ ..]) => {
            let mut value = value.to_vec();
            let reply = bitfield(&mut value, args, *name == b"bitfield_ro");
            leaves(reply, &value)
        }
        ("range", [value, start, end]) => {
            let range = number::argument(start)
                .and_then(|start| Ok(range::get(start, number::argument(end)?, value.len())));
            said(range.map(|range| escape(&value[range])))
        }
        ("lcs", [a, b, args @ ..]) => said(lcs(a, b, args)),
        _ => panic!("{kind} of {} arguments", args.len()),
    }
}

#[test]
fn all_is_as_redis_says() {
    let file =
        std::env::var("WIREKV_REDIS_VALUES").map(|name| std::fs::read_to_string(name).unwrap());
    let text = file.as_deref().unwrap_or(include_str!("../tests/redis_values.txt"));
    // Where BITOP leaves its result, as in the server that was asked.
    let mut to = None;
    let mut kinds = std::collections::BTreeMap::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let mut fields: Vec<_> = line.split('\t').collect();
        let expect = fields.pop().unwrap();
        let args: Vec<_> = fields[1..].iter().map(|field| unescape(field)).collect();
        let args: Vec<_> = args.iter().map(|arg| &arg[..]).collect();
        assert_eq!(answer(fields[0], &args, &mut to), expect, "line {}: {line}", n + 1);
        *kinds.entry(fields[0]).or_insert(0) += 1;
    }
    println!("{kinds:?}");
    assert_eq!(kinds.len(), 11);
    assert!(kinds.values().all(|cases| *cases >= 30));
}
