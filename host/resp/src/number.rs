//! Numbers as Redis reads and writes them. Called by the commands that take or keep numbers.

use rustc_apfloat::ieee::X87DoubleExtended;
use rustc_apfloat::{Float, Round, Status};

use super::Error;

pub const NOT_AN_INTEGER: Error = "ERR value is not an integer or out of range";
pub const NOT_A_FLOAT: Error = "ERR value is not a valid float";
const OVERFLOW: Error = "ERR increment or decrement would overflow";
const DECREMENT_OVERFLOW: Error = "ERR decrement would overflow";
const NOT_FINITE: Error = "ERR increment would produce NaN or Infinity";

/// A 64-bit number, written as Redis itself would write it: no blanks, no plus, no zeros in front.
#[inline]
pub fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        // So many fit 64 bits without a sign.
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value = 0u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    match negative {
        true => 0i64.checked_sub_unsigned(value),
        false => value.try_into().ok(),
    }
}

/// An argument that must be a number.
#[inline]
pub fn argument(text: &[u8]) -> Result<i64, Error> {
    integer(text).ok_or(NOT_AN_INTEGER)
}

/// `INCRBY` and its kin: the value of an item, or 0, and what is added.
#[inline]
pub fn add(value: i64, by: i64) -> Result<i64, Error> {
    value.checked_add(by).ok_or(OVERFLOW)
}

/// What `DECRBY` adds.
pub fn decrement(text: &[u8]) -> Result<i64, Error> {
    argument(text)?.checked_neg().ok_or(DECREMENT_OVERFLOW)
}

/// C's `long double` as x86 has it, with 64 bits of mantissa: Redis adds and prints in it.
#[derive(Clone, Copy, Debug)]
pub struct LongDouble(X87DoubleExtended);

impl LongDouble {
    pub const ZERO: LongDouble = LongDouble(X87DoubleExtended::ZERO);
    /// A longer text is no number.
    const MAX_TEXT: usize = 5 * 1024;

    /// What C's `strtold` takes, to the last byte, but no blanks in front and no NaN; infinity by
    /// name only; nothing that is too small to be told from 0.
    pub fn parse(text: &[u8]) -> Option<LongDouble> {
        if text.len() >= Self::MAX_TEXT {
            return None;
        }
        let (negative, magnitude) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let lower = magnitude.to_ascii_lowercase();
        let value = match &lower[..] {
            b"inf" | b"infinity" => X87DoubleExtended::INFINITY,
            number => parse_finite(number)?,
        };
        Some(LongDouble(if negative { -value } else { value }))
    }

    /// The sum, if it is a finite number.
    pub fn plus(self, other: LongDouble) -> Result<LongDouble, Error> {
        let sum = (self.0 + other.0).value;
        if sum.is_finite() {
            Ok(LongDouble(sum))
        } else {
            Err(NOT_FINITE)
        }
    }

    /// C's `%.17Lf` without the zeros at the end; of a finite number.
    pub fn text(self) -> String {
        let bits = self.0.to_bits();
        let mantissa = bits as u64;
        // The number is mantissa * 2^exponent.
        let exponent = (bits >> 64 & 0x7fff) as i32 - 16383 - 63;
        let text = match exponent {
            0.. => shifted(mantissa, exponent as u32),
            _ => fraction(mantissa, exponent.unsigned_abs()),
        };
        let negative = self.0.is_negative() && text != "0";
        if negative {
            format!("-{text}")
        } else {
            text
        }
    }
}

/// The number in a text of lower case without a sign.
fn parse_finite(text: &[u8]) -> Option<X87DoubleExtended> {
    let (hex, body) = match text {
        [b'0', b'x', body @ ..] => (true, body),
        body => (false, body),
    };
    let mark = if hex { b'p' } else { b'e' };
    let (digits, exponent) = match body.iter().position(|b| *b == mark) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let is_digit = |b: &u8| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
    let points = digits.iter().filter(|b| **b == b'.').count();
    let others = digits.iter().filter(|b| **b != b'.' && !is_digit(b)).count();
    if points > 1 || others > 0 || digits.len() == points {
        return None;
    }
    let exponent = match exponent {
        None => "0".to_owned(),
        Some(exponent) => {
            let (sign, power) = match exponent {
                [b'-', power @ ..] => ("-", power),
                [b'+', power @ ..] => ("", power),
                power => ("", power),
            };
            if power.is_empty() || !power.iter().all(u8::is_ascii_digit) {
                return None;
            }
            // Beyond this any number that fits the text is infinite, or 0.
            let power = std::str::from_utf8(power).ok()?.parse::<u32>().unwrap_or(u32::MAX);
            format!("{sign}{}", power.min(32_000))
        }
    };
    let zero = digits.iter().all(|b| matches!(b, b'0' | b'.'));
    if zero {
        return Some(X87DoubleExtended::ZERO);
    }
    let digits = std::str::from_utf8(digits).ok()?;
    let (prefix, mark) = if hex { ("0x", 'p') } else { ("", 'e') };
    let text = format!("{prefix}{digits}{mark}{exponent}");
    let read = X87DoubleExtended::from_str_r(&text, Round::NearestTiesToEven).ok()?;
    let lost = read.status.contains(Status::OVERFLOW) || read.value.is_zero();
    (!lost && read.value.is_finite()).then_some(read.value)
}

/// `mantissa / 2^by` with 17 digits behind the point, then without zeros at the end.
fn fraction(mantissa: u64, by: u32) -> String {
    const UNIT: u128 = 10u128.pow(17);
    // At most 2^121: of what is moved out by more than that nothing is left.
    let scaled = u128::from(mantissa) * UNIT;
    let rounded = match by {
        0..=127 => {
            let (whole, rest, half) = (scaled >> by, scaled & ((1 << by) - 1), 1 << (by - 1));
            whole + u128::from(rest > half || (rest == half && whole & 1 == 1))
        }
        _ => 0,
    };
    let text = format!("{}.{:017}", rounded / UNIT, rounded % UNIT);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `mantissa * 2^by`.
fn shifted(mantissa: u64, by: u32) -> String {
    if by < 64 {
        return (u128::from(mantissa) << by).to_string();
    }
    const BASE: u64 = 1_000_000_000;
    const STEP: u32 = 32;
    let mut limbs = vec![mantissa % BASE, mantissa / BASE % BASE, mantissa / BASE / BASE];
    let mut left = by;
    while left > 0 {
        let step = left.min(STEP);
        let mut carry = 0;
        for limb in &mut limbs {
            let moved = (*limb << step) + carry;
            (*limb, carry) = (moved % BASE, moved / BASE);
        }
        while carry > 0 {
            limbs.push(carry % BASE);
            carry /= BASE;
        }
        left -= step;
    }
    let mut text = limbs.pop().unwrap_or(0).to_string();
    for limb in limbs.iter().rev() {
        text.push_str(&format!("{limb:09}"));
    }
    text
}

/// C's `%.17g`: what RESP3's doubles are, and what RESP2 gets as a string.
pub fn double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let written = format!("{value:.16e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    if (-4..17).contains(&exponent) {
        let text = format!("{value:.*}", (16 - exponent) as usize);
        return if text.contains('.') { trim(&text) } else { text };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_as_string2ll_reads_them() {
        for (text, value) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("9999999999999999999", None),
            ("10000000000000000000", None),
            ("99999999999999999999999", None),
            ("-0", None),
            ("00", None),
            ("07", None),
            ("+7", None),
            (" 7", None),
            ("7 ", None),
            ("7\0", None),
            ("7a", None),
            ("-", None),
            ("--1", None),
            ("", None),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text:?}");
        }
        assert_eq!(add(i64::MAX, 1), Err("ERR increment or decrement would overflow"));
        assert_eq!(add(i64::MIN, -1), Err("ERR increment or decrement would overflow"));
        assert_eq!(add(i64::MAX, i64::MIN), Ok(-1));
        assert_eq!(decrement(b"-9223372036854775808"), Err("ERR decrement would overflow"));
        assert_eq!(decrement(b"-5"), Ok(5));
        assert_eq!(decrement(b"5x"), Err(NOT_AN_INTEGER));
    }

    /// The sum as `INCRBYFLOAT` of Redis 7.0.15 on x86-64 gives it.
    fn sum(value: &str, by: &str) -> Result<String, Error> {
        let read = |text: &str| LongDouble::parse(text.as_bytes()).ok_or(NOT_A_FLOAT);
        read(value)?.plus(read(by)?).map(LongDouble::text)
    }

    #[test]
    fn long_doubles_to_their_ends() {
        let long = "1".repeat(5119);
        assert!(LongDouble::parse(long.as_bytes()).is_none(), "too large");
        assert!(LongDouble::parse(format!("0.{}1", "0".repeat(4900)).as_bytes()).is_some());
        let fits = format!("{}.5", "0".repeat(5117));
        assert_eq!(LongDouble::parse(fits.as_bytes()).map(LongDouble::text).unwrap(), "0.5");
        assert!(LongDouble::parse(format!("0{fits}").as_bytes()).is_none(), "too long");
        let most = sum("1.18e4932", "0").unwrap();
        assert_eq!((most.len(), &most[..30]), (4933, "118000000000000000000065281291"));
    }

    #[test]
    fn doubles_as_printf_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.10000000000000001"),
            (100.0, "100"),
            (-2.5, "-2.5"),
            (1e16, "10000000000000000"),
            (12345678901234567890.0, "1.2345678901234567e+19"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.00001, "1.0000000000000001e-05"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(double(value), text);
        }
    }
}
