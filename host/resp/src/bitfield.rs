//! BITFIELD and BITFIELD_RO: a value as numbers of 1 to 64 bits anywhere in it, the highest bit
//! first. No store here: the command parses with [`Fields::parse`], looks the item up, and runs.

use super::bits::{bytes_for, field_offset, OFFSET};
use super::{number, word, Error, SYNTAX};

const KIND: Error = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not \
                     supported but i64 is.";
const OVERFLOW: Error = "ERR Invalid OVERFLOW type specified";
const READ_ONLY: Error = "ERR BITFIELD_RO only supports the GET subcommand";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Get,
    Set(i64),
    Add(i64),
}

/// The kind and the place of a number.
#[derive(Clone, Copy, Debug)]
struct Field {
    signed: bool,
    width: u32,
    offset: u64,
}

/// What one BITFIELD is to do.
#[derive(Debug)]
pub struct Fields {
    all: Vec<(Field, What, Overflow)>,
    room: usize,
}

impl Fields {
    /// From the arguments behind the key; numbers begin within the first `most` bytes.
    pub fn parse(args: &[&[u8]], read_only: bool, most: usize) -> Result<Fields, Error> {
        let mut fields = Fields { all: Vec::new(), room: 0 };
        let mut overflow = Overflow::Wrap;
        let mut rest = args;
        while let [name, behind @ ..] = rest {
            let is = |word: &str, args: usize| word::is(name, word) && behind.len() >= args;
            let (writes, adds) = match () {
                () if is("get", 2) => (false, false),
                () if is("set", 3) => (true, false),
                () if is("incrby", 3) => (true, true),
                () if is("overflow", 1) => {
                    overflow = Overflow::parse(behind[0])?;
                    rest = &behind[1..];
                    continue;
                }
                () => return Err(SYNTAX),
            };
            let field = Field::parse(behind[0], behind[1])?;
            if bytes_for(field.offset) > most {
                return Err(OFFSET);
            }
            let what = if writes {
                fields.room = fields.room.max(bytes_for(field.offset + u64::from(field.width) - 1));
                let number = number::argument(behind[2])?;
                if adds {
                    What::Add(number)
                } else {
                    What::Set(number)
                }
            } else {
                What::Get
            };
            rest = &behind[if writes { 3 } else { 2 }..];
            fields.all.push((field, what, overflow));
        }
        if read_only && fields.room > 0 {
            return Err(READ_ONLY);
        }
        Ok(fields)
    }

    /// So many replies there will be.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The bytes that the value must have, with zeros at its end, before [`Fields::write`]; 0: it is
    /// only read.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Does everything, in a value of [`Fields::room`] bytes or more. A number is left alone where
    /// its reply is `None`. Whether the value is another one now.
    pub fn write(&self, value: &mut [u8], mut reply: impl FnMut(Option<i64>)) -> bool {
        let mut changed = false;
        for (field, what, overflow) in &self.all {
            let old = field.get(value);
            let (new, answer) = match what {
                What::Get => (None, Some(old)),
                What::Set(to) => {
                    let new = field.fit(field.set_number(*to), *overflow);
                    (new, new.map(|_| old))
                }
                What::Add(by) => {
                    let new = field.fit(field.number(old) + i128::from(*by), *overflow);
                    (new, new)
                }
            };
            if let Some(new) = new {
                field.set(value, new);
                changed |= new != old;
            }
            reply(answer);
        }
        changed
    }

    /// What there is only to be read, of any value; of one that is not there, of `b""`.
    pub fn read(&self, value: &[u8], mut reply: impl FnMut(i64)) {
        for (field, ..) in &self.all {
            reply(field.get(value));
        }
    }
}

impl Overflow {
    fn parse(text: &[u8]) -> Result<Overflow, Error> {
        let named = [("wrap", Self::Wrap), ("sat", Self::Saturate), ("fail", Self::Fail)];
        let found = named.iter().find(|(name, _)| word::is(text, name));
        found.map(|(_, overflow)| *overflow).ok_or(OVERFLOW)
    }
}

impl Field {
    fn parse(kind: &[u8], offset: &[u8]) -> Result<Field, Error> {
        let (signed, width) = match word::c_string(kind) {
            [b'i', width @ ..] => (true, width),
            [b'u', width @ ..] => (false, width),
            _ => return Err(KIND),
        };
        let most = if signed { 64 } else { 63 };
        match number::integer(width) {
            Some(width) if (1..=most).contains(&width) => {
                let width = width as u32;
                Ok(Field { signed, width, offset: field_offset(offset, width)? })
            }
            _ => Err(KIND),
        }
    }

    /// A number as this kind sees it: below 0 is a large one where there are no signs.
    fn number(&self, number: i64) -> i128 {
        if self.signed {
            number.into()
        } else {
            (number as u64).into()
        }
    }

    /// A number that is to be set. What is so far below 0 that its distance from the highest number
    /// has no 64 bits is too large to Redis, not too small.
    fn set_number(&self, number: i64) -> i128 {
        let seen = self.number(number);
        match self.signed && self.width < 64 && self.most() - seen > i64::MAX.into() {
            // The lower 64 bits are the same.
            true => seen + (1 << 64),
            false => seen,
        }
    }

    fn most(&self) -> i128 {
        (1i128 << (self.width - u32::from(self.signed))) - 1
    }

    /// The nearest 9 bytes hold any 64 bits.
    fn window(&self, value: &[u8]) -> u128 {
        let mut bytes = [0; 16];
        let from = ((self.offset >> 3) as usize).min(value.len());
        let here = &value[from..value.len().min(from + 9)];
        bytes[..here.len()].copy_from_slice(here);
        u128::from_be_bytes(bytes)
    }

    /// How far the number is from the window's low end.
    fn shift(&self) -> u32 {
        128 - (self.offset & 7) as u32 - self.width
    }

    fn get(&self, value: &[u8]) -> i64 {
        let window = self.window(value) << (self.offset & 7);
        match self.signed {
            true => (window as i128 >> (128 - self.width)) as i64,
            false => (window >> (128 - self.width)) as i64,
        }
    }

    fn set(&self, value: &mut [u8], number: i64) {
        let mask = (u128::MAX >> (128 - self.width)) << self.shift();
        let window = self.window(value) & !mask | ((number as u128) << self.shift()) & mask;
        let first = (self.offset >> 3) as usize;
        let bytes = bytes_for(self.offset + u64::from(self.width) - 1) - first;
        value[first..first + bytes].copy_from_slice(&window.to_be_bytes()[..bytes]);
    }

    /// What becomes of a number that may be too large or too small.
    fn fit(&self, number: i128, overflow: Overflow) -> Option<i64> {
        let most = self.most();
        let least = if self.signed { -most - 1 } else { 0 };
        if (least..=most).contains(&number) {
            return Some(number as i64);
        }
        match overflow {
            Overflow::Fail => None,
            Overflow::Saturate => Some(number.clamp(least, most) as i64),
            Overflow::Wrap => {
                let high = (number as u128) << (128 - self.width);
                Some(match self.signed {
                    true => (high as i128 >> (128 - self.width)) as i64,
                    false => (high >> (128 - self.width)) as i64,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Redis 7.0.15 does it.
    #[test]
    fn far_below_zero_is_too_large() {
        for (to, expect) in
            [(i64::MIN, 4095), (-9223372036854771713, 4095), (-9223372036854771712, -4096)]
        {
            let number = to.to_string();
            let args: [&[u8]; 6] = [b"overflow", b"sat", b"set", b"i13", b"0", number.as_bytes()];
            let fields = Fields::parse(&args, false, 2).unwrap();
            let mut value = [0; 2];
            fields.write(&mut value, |_| {});
            let fields = Fields::parse(&[b"get", b"i13", b"0"], true, 2).unwrap();
            fields.read(&value, |now| assert_eq!(now, expect, "{to}"));
        }
    }
}
