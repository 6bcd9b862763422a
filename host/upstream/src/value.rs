//! A reply of Redis' protocol as a whole.

use memchr::memchr;

/// Deeper nesting is no reply of a Redis.
const DEPTH: u32 = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string of any kind, or a number's text.
    Text(Vec<u8>),
    Error(Vec<u8>),
    Null,
    List(Vec<Value>),
}

/// Nothing that begins so is a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoReply;

impl Value {
    /// The reply at `at`, and where the next one begins. `Ok(None)`: more must come.
    pub fn parse(input: &[u8], at: usize) -> Result<Option<(Value, usize)>, NoReply> {
        parse(input, at, DEPTH)
    }

    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> &[Value] {
        match self {
            Value::List(list) => list,
            _ => &[],
        }
    }

    pub fn number(&self) -> Option<i64> {
        number(self.text()?)
    }

    /// What stands behind a name, in a list of names and values.
    pub fn get(&self, name: &[u8]) -> Option<&Value> {
        self.list().chunks_exact(2).find(|pair| pair[0].text() == Some(name)).map(|pair| &pair[1])
    }
}

pub fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn parse(input: &[u8], at: usize, depth: u32) -> Result<Option<(Value, usize)>, NoReply> {
    let rest = &input[at..];
    let Some(end) = memchr(b'\n', rest) else { return Ok(None) };
    let line = rest[..end].strip_suffix(b"\r").ok_or(NoReply)?;
    let next = at + end + 1;
    let (kind, text) = line.split_first().ok_or(NoReply)?;
    let value = match kind {
        b'+' | b':' => Value::Text(text.to_vec()),
        b'-' => Value::Error(text.to_vec()),
        b'$' => {
            let Ok(len) = usize::try_from(number(text).ok_or(NoReply)?) else {
                return Ok(Some((Value::Null, next)));
            };
            let end = next.checked_add(len).ok_or(NoReply)?;
            let Some(text) = input.get(next..end) else { return Ok(None) };
            if input.len() < end + 2 {
                return Ok(None);
            }
            return Ok(Some((Value::Text(text.to_vec()), end + 2)));
        }
        b'*' => {
            let count = number(text).ok_or(NoReply)?;
            let depth = depth.checked_sub(1).ok_or(NoReply)?;
            let (mut list, mut next) = (Vec::new(), next);
            for _ in 0..count {
                let Some((value, end)) = parse(input, next, depth)? else { return Ok(None) };
                list.push(value);
                next = end;
            }
            let value = if count < 0 { Value::Null } else { Value::List(list) };
            return Ok(Some((value, next)));
        }
        _ => return Err(NoReply),
    };
    Ok(Some((value, next)))
}
