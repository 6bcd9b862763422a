//! Values as arrays of bits: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP. The first bit is the
//! highest of the first byte. No store here: the commands look items up and call these.

use std::ops::Range;

use super::{number, range, word, Error, SYNTAX};

pub const OFFSET: Error = "ERR bit offset is not an integer or out of range";
const BIT: Error = "ERR bit is not an integer or out of range";
const NO_BIT: Error = "ERR The bit argument must be 1 or 0.";
const NOT_OF_ONE: Error = "ERR BITOP NOT must be called with a single source key.";
/// Offsets are below the bits of Redis' longest string, 512 MiB.
const OFFSET_END: i64 = 8 << 29;

/// An offset of SETBIT or GETBIT.
pub fn offset(text: &[u8]) -> Result<u64, Error> {
    let offset = number::integer(text).ok_or(OFFSET)?;
    in_range(offset)
}

/// An offset of BITFIELD: `#2` is that of the third field.
pub(super) fn field_offset(text: &[u8], width: u32) -> Result<u64, Error> {
    match text {
        [b'#', count @ ..] => {
            let count = number::integer(count).ok_or(OFFSET)?;
            in_range(count.wrapping_mul(i64::from(width)))
        }
        _ => offset(text),
    }
}

fn in_range(offset: i64) -> Result<u64, Error> {
    if (0..OFFSET_END).contains(&offset) {
        Ok(offset as u64)
    } else {
        Err(OFFSET)
    }
}

/// SETBIT's bit.
pub fn bit(text: &[u8]) -> Result<bool, Error> {
    match number::integer(text) {
        Some(bit @ (0 | 1)) => Ok(bit == 1),
        _ => Err(BIT),
    }
}

/// How many bytes a value needs to have a bit.
pub fn bytes_for(offset: u64) -> usize {
    (offset >> 3) as usize + 1
}

/// GETBIT: behind its end a value is 0.
pub fn get(value: &[u8], offset: u64) -> bool {
    value.get((offset >> 3) as usize).is_some_and(|byte| byte << (offset & 7) & 0x80 != 0)
}

/// SETBIT, in a value of [`bytes_for`] bytes or more; the bit that was there.
pub fn set(value: &mut [u8], offset: u64, on: bool) -> bool {
    let byte = &mut value[(offset >> 3) as usize];
    let mask = 0x80 >> (offset & 7);
    let was = *byte & mask != 0;
    if on {
        *byte |= mask;
    } else {
        *byte &= !mask;
    }
    was
}

/// The unit of a range.
fn counts_bits(text: &[u8]) -> Result<bool, Error> {
    if word::is(text, "bit") {
        Ok(true)
    } else if word::is(text, "byte") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

/// BITCOUNT of a value that is there; `args` are those behind the key. A key that is not there
/// has 0, whatever the arguments are.
pub fn count(value: &[u8], args: &[&[u8]]) -> Result<i64, Error> {
    let bits = value.len() as i64 * 8;
    let range = match args {
        [] => Some(0..bits as usize),
        [start, end, unit @ ..] if unit.len() < 2 => {
            let (start, end) = (number::argument(start)?, number::argument(end)?);
            if start < 0 && end < 0 && start > end {
                return Ok(0);
            }
            let by_bit = unit.first().is_some_and(|unit| counts_bits(unit) == Ok(true));
            if let [unit] = unit {
                counts_bits(unit)?;
            }
            bit_range(start, end, value.len(), by_bit)
        }
        _ => return Err(SYNTAX),
    };
    Ok(range.map_or(0, |range| ones(value, range)))
}

fn bit_range(start: i64, end: i64, len: usize, by_bit: bool) -> Option<Range<usize>> {
    match by_bit {
        true => range::span(start, end, len as i64 * 8),
        false => range::span(start, end, len as i64).map(|r| r.start * 8..r.end * 8),
    }
}

/// Of a range that is not empty, the bytes that it touches, and what of the first and the last
/// byte is in it.
fn edges(range: &Range<usize>) -> (Range<usize>, u8, u8) {
    let bytes = range.start / 8..range.end.div_ceil(8);
    (bytes, 0xff >> (range.start % 8), 0xffu8 << ((8 - range.end % 8) % 8))
}

fn ones(value: &[u8], range: Range<usize>) -> i64 {
    if range.is_empty() {
        return 0;
    }
    let (bytes, first, last) = edges(&range);
    let value = &value[bytes];
    let (words, rest) = value.as_chunks::<8>();
    let of_words: u64 = words.iter().map(|w| u64::from(u64::from_ne_bytes(*w).count_ones())).sum();
    let of_rest: u64 = rest.iter().map(|b| u64::from(b.count_ones())).sum();
    let outside = (value[0] & !first).count_ones() + (value[value.len() - 1] & !last).count_ones();
    (of_words + of_rest) as i64 - i64::from(outside)
}

/// BITPOS; `args` are those behind the key, two at least. `None`: it is not there.
pub fn position(value: Option<&[u8]>, args: &[&[u8]]) -> Result<i64, Error> {
    let bit = match number::argument(args[0])? {
        bit @ (0 | 1) => bit == 1,
        _ => return Err(NO_BIT),
    };
    let Some(value) = value else { return Ok(if bit { -1 } else { 0 }) };
    let (range, has_end) = match args[1..] {
        [] => ((!value.is_empty()).then_some(0..value.len() * 8), false),
        [start] => (bit_range(number::argument(start)?, -1, value.len(), false), false),
        [start, end] => {
            let (start, end) = (number::argument(start)?, number::argument(end)?);
            (bit_range(start, end, value.len(), false), true)
        }
        [start, end, unit] => {
            let start = number::argument(start)?;
            let by_bit = counts_bits(unit)?;
            (bit_range(start, number::argument(end)?, value.len(), by_bit), true)
        }
        _ => return Err(SYNTAX),
    };
    let Some(range) = range else { return Ok(-1) };
    Ok(match find(value, &range, bit) {
        Some(at) => at as i64,
        // Without an end the zeros go on behind the value.
        None if !bit && !has_end => value.len() as i64 * 8,
        None => -1,
    })
}

fn find(value: &[u8], range: &Range<usize>, bit: bool) -> Option<usize> {
    let flip = if bit { 0 } else { 0xff };
    let (bytes, first, last) = edges(range);
    let end = bytes.end - 1;
    // With what is looked for as ones, and nothing outside of the range.
    let edge = |at: usize| {
        let mut byte = value[at] ^ flip;
        if at == bytes.start {
            byte &= first;
        }
        if at == end {
            byte &= last;
        }
        byte
    };
    let bit_of = |at: usize, byte: u8| at * 8 + byte.leading_zeros() as usize;
    if edge(bytes.start) != 0 {
        return Some(bit_of(bytes.start, edge(bytes.start)));
    }
    let inner = value.get(bytes.start + 1..end).unwrap_or_default();
    let words = inner.as_chunks::<8>().0.iter().take_while(|word| **word == [flip; 8]).count();
    if let Some(at) = inner[words * 8..].iter().position(|byte| *byte != flip) {
        let at = bytes.start + 1 + words * 8 + at;
        return Some(bit_of(at, value[at] ^ flip));
    }
    (edge(end) != 0).then(|| bit_of(end, edge(end)))
}

/// What BITOP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    And,
    Or,
    Xor,
    Not,
}

impl Operation {
    /// From BITOP's first argument, and the number of its sources.
    pub fn parse(text: &[u8], sources: usize) -> Result<Operation, Error> {
        let named = [("and", Self::And), ("or", Self::Or), ("xor", Self::Xor), ("not", Self::Not)];
        let found = named.iter().find(|(name, _)| word::is(text, name));
        match found {
            Some((_, Self::Not)) if sources != 1 => Err(NOT_OF_ONE),
            Some((_, operation)) => Ok(*operation),
            None => Err(SYNTAX),
        }
    }

    /// BITOP, one source after the other: `result` has the length of the longest one. It is the
    /// first one with zeros behind, and then takes the others in.
    pub fn take(self, result: &mut [u8], source: &[u8], is_first: bool) {
        let (here, behind) = result.split_at_mut(source.len());
        if is_first {
            here.copy_from_slice(source);
            behind.fill(0);
            if self == Self::Not {
                here.iter_mut().for_each(|byte| *byte = !*byte);
            }
            return;
        }
        let pairs = here.iter_mut().zip(source);
        match self {
            Self::And => {
                pairs.for_each(|(to, from)| *to &= from);
                // Shorter ones have zeros behind.
                behind.fill(0);
            }
            Self::Or => pairs.for_each(|(to, from)| *to |= from),
            Self::Xor => pairs.for_each(|(to, from)| *to ^= from),
            Self::Not => {}
        }
    }
}
