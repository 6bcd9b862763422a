//! Sizes as memcached's options write them: a number of bytes with k, m, g or t.

/// `1024`, `1k`, `1m`, `1g`, `1t`, either case.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.as_bytes().last().map(u8::to_ascii_lowercase) {
        Some(b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'g') => (&text[..text.len() - 1], 1 << 30),
        Some(b't') => (&text[..text.len() - 1], 1 << 40),
        _ => (text, 1),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain
        .then(|| digits.parse::<u64>().ok()?.checked_mul(factor))
        .flatten()
        .ok_or_else(|| format!("'{text}' is not a size such as 1000, 512k or 1m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("0"), Ok(0));
        assert_eq!(parse_size("1000"), Ok(1000));
        assert_eq!(parse_size("512k"), Ok(512 << 10));
        assert_eq!(parse_size("1M"), Ok(1 << 20));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        for bad in ["", "k", "-1", "+1", "1kb", "1.5m", "0x10", "99999999999999999999", "1ÿ"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert!(parse_size("99999999999g").is_err());
    }
}
