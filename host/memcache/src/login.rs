//! A connection that must say first who its client is: `set` with user and password as its value in the
//! text protocol, SASL's PLAIN in the binary one. What is right is known as soon as it has come, so the reply is,
//! too: no other request of the connection has been parsed by then.

use wirekv_proto::{Asked, Engine, Parsed, Request};

use crate::classic;
use crate::line::Words;
use crate::Op;
use wirekv_proto::limits::MAX_LINE;
use wirekv_proto::number::unsigned32;
use wirekv_proto::users::STRANGER;

const LONG: &[u8] = b"CLIENT_ERROR auth token too long\r\n";
const BAD_END: &[u8] = b"CLIENT_ERROR bad command line termination\r\n";
const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad authentication token format\r\n";
const FAILED: &[u8] = b"CLIENT_ERROR authentication failure\r\n";
const STORED: &[u8] = b"STORED\r\n";
/// Longest user and password, with the blank between them.
const LONGEST: usize = 16 << 10;

/// What a line of the text protocol comes to, and whether it lets the client in.
pub fn parse<O: From<Op>>(input: &[u8], engine: &Engine) -> (Parsed<O>, bool) {
    let Some(newline) = input.iter().take(MAX_LINE + 1).position(|byte| *byte == b'\n') else {
        let long = input.len() > MAX_LINE;
        return (if long { Parsed::Close } else { Parsed::Need(1) }, false);
    };
    let said = |text, len: usize| {
        let request = Request { len: len as u32, say: text, ..Request::default() };
        Parsed::Request(Asked::new(Op::Classic(classic::Op::Say).into(), request))
    };
    let (line, next) = (&input[..newline], newline + 1);
    let mut words = Words::new(line.strip_suffix(b"\r").unwrap_or(line));
    let is_set = words.next() == Some(b"set");
    let size = words.nth(3).filter(|_| is_set).and_then(unsigned32);
    let Some(size) = size.map(|size| size as usize) else { return (said(STRANGER, next), false) };
    if size > LONGEST {
        return (said(LONG, next), false);
    }
    let end = next + size + 2;
    if input.len() < end {
        return (Parsed::Need(end - input.len()), false);
    }
    let Some(token) = input[next..end].strip_suffix(b"\r\n") else {
        return (said(BAD_END, end), false);
    };
    let Some(blank) = token.iter().position(|byte| *byte == b' ') else {
        return (said(BAD_TOKEN, end), false);
    };
    let admitted = admit(engine, &token[..blank], &token[blank + 1..]);
    (said(if admitted { STORED } else { FAILED }, end), admitted)
}

/// SASL's PLAIN: whose identity is wanted, whose password is given, and that, with NULs between them.
pub fn is_plain_right(data: &[u8], engine: &Engine) -> bool {
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let (Some(wanted), Some(user), Some(password)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    (wanted.is_empty() || wanted == user) && admit(engine, user, password)
}

fn admit(engine: &Engine, user: &[u8], password: &[u8]) -> bool {
    engine.settings.users.as_ref().is_some_and(|users| users.admit(user, password))
}
