//! What a line with a meta command asks for.

use wirekv_proto::limits::{too_large, KEY_MAX};
use wirekv_proto::number::signed32;
use wirekv_proto::{Engine, Request, Span};

use super::{Command, Op};
use crate::base64;
use crate::line::{Line, Words};
use crate::texts::{BAD_FORMAT, ERROR};

const MANY_FLAGS_GET: &[u8] = b"CLIENT_ERROR options flags are too long\r\n";
const MANY_FLAGS: &[u8] = b"CLIENT_ERROR options flags too long\r\n";

/// Command, key and flags together, at most.
const MAX_WORDS: usize = 19;

fn say(text: &'static [u8]) -> Command {
    (Op::Say, Request { say: text, ..Request::default() })
}

/// What a line asks for. The data block of `ms` is in `value`.
pub fn parse(line: &Line, input: &[u8], engine: &Engine) -> Command {
    let op = match line.word(input, 0)[1] {
        b'g' => Op::Get,
        b's' => Op::Set,
        b'd' => Op::Delete,
        b'a' => Op::Arithmetic,
        b'e' => Op::Debug,
        b'n' => Op::Nothing,
        _ => return say(ERROR),
    };
    if op == Op::Nothing {
        return say(b"MN\r\n");
    }
    let key = line.word(input, 1);
    if key.is_empty() {
        return say(if op == Op::Debug { BAD_FORMAT } else { ERROR });
    }
    if key.len() > KEY_MAX || (op == Op::Set && line.count == 2) {
        return say(BAD_FORMAT);
    }
    if line.count > MAX_WORDS && op != Op::Debug {
        return say(if op == Op::Get { MANY_FLAGS_GET } else { MANY_FLAGS });
    }
    let mut request = Request {
        key: line.span(1),
        args: line.rest(if op == Op::Set { 3 } else { 2 }),
        ..Request::default()
    };
    if op == Op::Set {
        match signed32(line.word(input, 2)) {
            Some(len) if (0..=i32::MAX - 2).contains(&len) => {
                request.value = Span { at: line.next as u32, len: len as u32 };
                request.streams = too_large(&engine.settings, key.len() / 4 * 3, len as u64, 0);
            }
            _ => return say(BAD_FORMAT),
        }
    }
    let mut decoded = [0; KEY_MAX];
    request.hash = whole_key(op, &request, input, &mut decoded).map(|key| engine.local.hash(key));
    (op, request)
}

/// The key, decoded where the flags say that it is base64.
pub fn whole_key<'a>(
    op: Op,
    request: &Request,
    input: &'a [u8],
    decoded: &'a mut [u8; KEY_MAX],
) -> Option<&'a [u8]> {
    let key = request.key.of(input);
    let mut flags = Words::new(request.args.of(input));
    let binary = match op {
        Op::Debug => flags.next() == Some(b"b"),
        _ => flags.any(|flag| flag[0] == b'b'),
    };
    if !binary {
        return Some(key);
    }
    let len = base64::decode(key, decoded)?;
    Some(&decoded[..len])
}
