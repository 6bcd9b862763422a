//! Words that are compared as C compares them: up to a NUL, and without case.

/// What C sees of a text.
#[inline]
pub fn c_string(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(0, text).unwrap_or(text.len())]
}

/// C's `strcasecmp`.
#[inline]
pub fn is(text: &[u8], name: &str) -> bool {
    c_string(text).eq_ignore_ascii_case(name.as_bytes())
}
