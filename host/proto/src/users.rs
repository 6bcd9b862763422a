//! Who may come in, in every protocol: users and their passwords.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{PoisonError, RwLock};

/// What a client of memcached's protocols is told who is none of them.
pub const STRANGER: &[u8] = b"CLIENT_ERROR unauthenticated\r\n";

/// What those are told whose address is not listed: memcached's clients the same, Redis' this.
pub const REDIS_NOT_ALLOWED: &[u8] = b"-DENIED connections from this address are not allowed\r\n";

/// A name and a password.
pub type User = (Vec<u8>, Vec<u8>);

/// Longest name and password together: a binary request with both is waited for as a whole.
pub const LONGEST: usize = 1024;

/// The users of a file such as memcached's `-Y` takes.
#[derive(Debug, Default)]
pub struct Users {
    list: RwLock<Vec<User>>,
    /// Who tried to come in by it, and could not.
    tried: AtomicU64,
    failed: AtomicU64,
}

impl Users {
    pub fn new(list: Vec<User>) -> Users {
        Users { list: RwLock::new(list), ..Users::default() }
    }

    /// Lines `user:password`. `Err`: the number of one that is none, or 0 where there are none at all.
    pub fn parse(text: &[u8]) -> Result<Vec<User>, usize> {
        let mut list = Vec::new();
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        for (i, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let colon = line.iter().position(|byte| *byte == b':');
            let user = colon.map(|at| (line[..at].to_vec(), line[at + 1..].to_vec()));
            let whole = |(name, password): &User| {
                !name.is_empty() && !password.is_empty() && line.len() <= LONGEST
            };
            let strange = |byte: &u8| *byte == 0;
            let user = user.filter(|user| whole(user) && !line.iter().any(strange));
            list.push(user.ok_or(i + 1)?);
        }
        Ok(list)
    }

    /// From now on. Who is in stays.
    pub fn replace(&self, list: Vec<User>) {
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = list;
    }

    /// Whether somebody who says this may come in. All users are looked at, whoever it is.
    pub fn admit(&self, name: &[u8], password: &[u8]) -> bool {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        let found = list.iter().fold(false, |found, (user, right)| {
            found | (is_equal(user, name) & is_equal(right, password))
        });
        self.tried.fetch_add(1, Relaxed);
        self.failed.fetch_add(u64::from(!found), Relaxed);
        found
    }

    /// How often that was asked, and denied.
    pub fn counts(&self) -> (u64, u64) {
        (self.tried.load(Relaxed), self.failed.load(Relaxed))
    }
}

/// Whether a secret is what somebody says. Every byte is looked at, so that the time says nothing of where they
/// differ.
pub fn is_equal(secret: &[u8], said: &[u8]) -> bool {
    let differ = secret.iter().zip(said).fold(0, |sum, (a, b)| sum | (a ^ b));
    (differ == 0) & (secret.len() == said.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let user = |name: &str, word: &str| (name.into(), word.into());
        let long = [&[b'x'; LONGEST - 1][..], b":"].concat();
        for (text, users) in [
            (&b"a:b\n"[..], Ok(vec![user("a", "b")])),
            (b"a:b", Ok(vec![user("a", "b")])),
            (b"a:b c:d\r\ne:f\r\n", Ok(vec![user("a", "b c:d"), user("e", "f")])),
            (b"", Err(1)),
            (b"\n", Err(1)),
            (b"a:b\n\nc:d\n", Err(2)),
            (b"a:b\nc\n", Err(2)),
            (b"a:\n", Err(1)),
            (b":b\n", Err(1)),
            (b"a:b\0c\n", Err(1)),
            (&[&long[..], b"y"].concat(), Err(1)),
        ] {
            assert_eq!(Users::parse(text), users, "{}", text.escape_ascii());
        }
        let fits = [&long[1..], b"y"].concat();
        assert!(Users::parse(&fits).is_ok());
    }

    #[test]
    fn who_comes_in() {
        let users = Users::new(Users::parse(b"foo:bar\nbaz:quux\n").unwrap());
        for (name, password, admitted) in [
            ("foo", "bar", true),
            ("baz", "quux", true),
            ("foo", "quux", false),
            ("foo", "ba", false),
            ("foo", "barr", false),
            ("foo", "", false),
            ("", "", false),
            ("fo", "bar", false),
            ("fooo", "bar", false),
        ] {
            assert_eq!(users.admit(name.as_bytes(), password.as_bytes()), admitted, "{name}");
        }
        assert_eq!(users.counts(), (9, 7));
        users.replace(Users::parse(b"foo:new").unwrap());
        assert!(!users.admit(b"foo", b"bar") && users.admit(b"foo", b"new"));
    }
}
