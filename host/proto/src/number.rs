//! Numbers as memcached reads them (with C's `strtol` and its kin) and writes them.

/// C's `isspace`.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Sign and magnitude of the number at the start of `text`, with what `strtol` allows before and
/// memcached behind it. None: no number. A magnitude too large for 64 bits counts as none too.
fn scan(text: &[u8]) -> Option<(bool, u64)> {
    let mut at = text.iter().position(|b| !is_space(*b))?;
    let negative = text[at] == b'-';
    if negative || text[at] == b'+' {
        at += 1;
    }
    let first = at;
    let mut value = 0u64;
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        at += 1;
    }
    let ends = text.get(at).is_none_or(|b| *b == 0 || is_space(*b));
    (at > first && ends).then_some((negative, value))
}

/// Up to 18 digits and nothing else: nearly every number there is.
#[inline]
fn plain(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// `strtoull`, but that a number with a sign may not come out with its top bit set.
#[inline]
pub fn unsigned64(text: &[u8]) -> Option<u64> {
    plain(text).or_else(|| {
        let (negative, value) = scan(text)?;
        let value = if negative { value.wrapping_neg() } else { value };
        (!negative || value >> 63 == 0).then_some(value)
    })
}

/// Of 64 bits the lower 32, as `safe_strtoul` stores them.
#[inline]
pub fn unsigned32(text: &[u8]) -> Option<u32> {
    unsigned64(text).map(|value| value as u32)
}

/// `strtol`, its lower 32 bits with their sign.
#[inline]
pub fn signed32(text: &[u8]) -> Option<i32> {
    plain(text).map(|value| value as i32).or_else(|| {
        let (negative, value) = scan(text)?;
        let fits = value <= i64::MAX as u64 + u64::from(negative);
        let value = if negative { value.wrapping_neg() } else { value };
        fits.then_some(value as i32)
    })
}

/// Digits of the longest number.
pub const DIGITS: usize = 20;

static PAIRS: [u8; 200] = {
    let mut table = [0; 200];
    let mut i = 0;
    while i < 100 {
        table[2 * i] = b'0' + (i / 10) as u8;
        table[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    table
};

/// Writes `value` into the end of `buffer`; the digits are what is returned.
#[inline]
pub fn digits(mut value: u64, buffer: &mut [u8; DIGITS]) -> &[u8] {
    let mut at = DIGITS;
    while value >= 100 {
        let pair = 2 * (value % 100) as usize;
        value /= 100;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = 2 * value as usize;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        buffer[at] = b'0' + value as u8;
    }
    &buffer[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_strtoull_reads() {
        for (text, value) in [
            (&b"0"[..], Some(0)),
            (b"007", Some(7)),
            (b"+7", Some(7)),
            (b"\t\x0b7", Some(7)),
            (b"7\tx", Some(7)),
            (b"7\0x", Some(7)),
            (b"7 ", Some(7)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"000000000000000000000000000000012", Some(12)),
            (b"-0", Some(0)),
            (b"-1", None),
            (b"-18446744073709551615", Some(1)),
            (b"-9223372036854775808", None),
            (b"-9223372036854775809", Some(i64::MAX as u64)),
            (b"", None),
            (b"+", None),
            (b"+-5", None),
            (b"7x", None),
            (b"x", None),
            (b"\t", None),
        ] {
            assert_eq!(unsigned64(text), value, "{}", text.escape_ascii());
        }
        assert_eq!(unsigned32(b"4294967297"), Some(1));
    }

    #[test]
    fn as_strtol_reads() {
        for (text, value) in [
            (&b"-1"[..], Some(-1)),
            (b"-2147483648", Some(i32::MIN)),
            (b"2147483648", Some(i32::MIN)),
            (b"4294967296", Some(0)),
            (b"9223372036854775807", Some(-1)),
            (b"9223372036854775808", None),
            (b"-9223372036854775808", Some(0)),
            (b"-9223372036854775809", None),
            (b"-", None),
        ] {
            assert_eq!(signed32(text), value, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn writes_decimal() {
        let mut powers = vec![0, u64::MAX];
        powers.extend((0..64).map(|i| 1 << i));
        powers.extend((0..20).flat_map(|i| [10u64.pow(i), 10u64.pow(i) - 1]));
        for value in powers {
            assert_eq!(digits(value, &mut [0; DIGITS]), value.to_string().as_bytes());
        }
    }
}
