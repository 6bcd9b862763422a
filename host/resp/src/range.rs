//! Which bytes of a value GETRANGE and SETRANGE mean.

use std::ops::Range;

use super::{number, Error};

const OFFSET: Error = "ERR offset is out of range";

/// GETRANGE and SUBSTR: the bytes from `start` to `end`, both included, of a value of `len`
/// bytes. Below 0 counts from its end.
pub fn get(start: i64, end: i64, len: usize) -> Range<usize> {
    clamp(start, end, len as i64).unwrap_or(0..0)
}

/// Redis' rule for indices: of GETRANGE, BITCOUNT and, but for the first line, BITPOS.
pub(super) fn clamp(start: i64, end: i64, len: i64) -> Option<Range<usize>> {
    if start < 0 && end < 0 && start > end {
        return None;
    }
    span(start, end, len)
}

pub(super) fn span(start: i64, end: i64, len: i64) -> Option<Range<usize>> {
    let from = if start < 0 { (len + start).max(0) } else { start };
    let to = if end < 0 { (len + end).max(0) } else { end }.min(len - 1);
    (from <= to).then(|| from as usize..to as usize + 1)
}

/// SETRANGE's offset.
pub fn offset(text: &[u8]) -> Result<u64, Error> {
    u64::try_from(number::argument(text)?).map_err(|_| OFFSET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let of = |start, end| {
            let range = get(start, end, 11);
            &"Hello World"[range]
        };
        for (start, end, expect) in [
            (0, 4, "Hello"),
            (-5, -1, "World"),
            (0, -1, "Hello World"),
            (6, 100, "World"),
            (11, 20, ""),
            (5, 3, ""),
            (-1, -5, ""),
            (-100, 0, "H"),
            (-100, -200, ""),
            (-200, -100, "H"),
            (i64::MIN, i64::MAX, "Hello World"),
            (i64::MAX, i64::MIN, ""),
        ] {
            assert_eq!(of(start, end), expect, "{start} {end}");
        }
        assert_eq!(get(0, -1, 0), 0..0);
        assert_eq!(get(-1, -1, 0), 0..0);
        assert_eq!(offset(b"-1"), Err("ERR offset is out of range"));
        assert_eq!(offset(b"x"), Err(number::NOT_AN_INTEGER));
        assert_eq!(offset(b"12"), Ok(12));
    }
}
