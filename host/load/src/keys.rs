//! Which keys a client asks for.

use std::str::FromStr;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::protocol::decimal;
use crate::{LoadArgs, Op};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draw {
    Random,
    Sequential,
    Gaussian,
}

/// How the keys of SETs and of GETs are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    set: Draw,
    get: Draw,
}

impl KeyPattern {
    pub const SEQUENTIAL: KeyPattern = KeyPattern { set: Draw::Sequential, get: Draw::Sequential };
}

impl FromStr for KeyPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyPattern, String> {
        let draw = |letter: &str| match letter {
            "R" => Some(Draw::Random),
            "S" => Some(Draw::Sequential),
            "G" => Some(Draw::Gaussian),
            _ => None,
        };
        text.split_once(':')
            .and_then(|(set, get)| Some(KeyPattern { set: draw(set)?, get: draw(get)? }))
            .ok_or_else(|| format!("'{text}' is not a pattern SET:GET of R, S and G"))
    }
}

/// The keys of one client.
pub struct Keys {
    pattern: KeyPattern,
    prefix: Vec<u8>,
    digits: usize,
    first: u64,
    count: u64,
    dice: SmallRng,
    next_set: u64,
    next_get: u64,
}

impl Keys {
    pub fn new(args: &LoadArgs, client: u64) -> Keys {
        let (from, until) = if args.fills { args.share(client) } else { (0, args.keys()) };
        Keys {
            pattern: args.key_pattern,
            prefix: args.key_prefix.clone().into_bytes(),
            digits: args.key_size.map_or(1, |size| size.saturating_sub(args.key_prefix.len())),
            first: args.key_minimum + from,
            count: until - from,
            dice: SmallRng::seed_from_u64(args.seed.wrapping_mul(1 << 32).wrapping_add(client)),
            next_set: 0,
            next_get: 0,
        }
    }

    /// Replaces `key` by the next key for an operation.
    pub fn write(&mut self, op: Op, key: &mut Vec<u8>) {
        let number = self.first + self.next(op);
        key.clear();
        key.extend_from_slice(&self.prefix);
        decimal(number, self.digits, key);
    }

    fn next(&mut self, op: Op) -> u64 {
        let (draw, next) = match op {
            Op::Set => (self.pattern.set, &mut self.next_set),
            Op::Get => (self.pattern.get, &mut self.next_get),
        };
        match draw {
            Draw::Random => self.dice.random_range(0..self.count),
            Draw::Sequential => {
                let n = *next;
                *next = (n + 1) % self.count;
                n
            }
            Draw::Gaussian => {
                // The mean of twelve uniform numbers: a bell whose deviation is a twelfth.
                let sum: f64 = (0..12).map(|_| self.dice.random::<f64>()).sum();
                ((sum / 12.0 * self.count as f64) as u64).min(self.count - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn keys(pattern: &str, client: u64) -> Keys {
        let list = ["load", "--key-pattern", pattern, "--key-minimum", "5", "--key-maximum", "104"];
        Keys::new(&LoadArgs::parse_from(list), client)
    }

    #[test]
    fn sequential_wraps() {
        let mut k = keys("S:S", 0);
        let drawn: Vec<u64> = (0..101).map(|_| k.next(Op::Set)).collect();
        assert_eq!((drawn[0], drawn[99], drawn[100]), (0, 99, 0));
        let mut out = Vec::new();
        k.write(Op::Get, &mut out);
        assert_eq!(out, b"memtier-5");
    }

    #[test]
    fn keys_of_one_size() {
        let list = ["load", "--key-pattern", "S:S", "--key-size", "16", "--key-minimum", "99"];
        let mut k = Keys::new(&LoadArgs::parse_from(list), 0);
        let mut out = Vec::new();
        k.write(Op::Get, &mut out);
        assert_eq!(out, b"memtier-00000099");
        k.write(Op::Get, &mut out);
        assert_eq!(out, b"memtier-00000100");
    }

    #[test]
    fn random_covers_the_range_and_differs_between_clients() {
        let (mut a, mut b) = (keys("R:R", 0), keys("R:R", 1));
        let drawn: Vec<u64> = (0..5000).map(|_| a.next(Op::Get)).collect();
        let other: Vec<u64> = (0..5000).map(|_| b.next(Op::Get)).collect();
        assert_ne!(drawn, other);
        assert!((0..100).all(|n| drawn.contains(&n)));
        assert!(drawn.iter().all(|n| *n < 100));
    }

    #[test]
    fn gaussian_prefers_the_middle() {
        let mut k = keys("G:G", 0);
        let drawn: Vec<u64> = (0..1000).map(|_| k.next(Op::Get)).collect();
        assert!(drawn.iter().filter(|n| (40..60).contains(*n)).count() > 600);
    }

    #[test]
    fn patterns() {
        assert!("R:S".parse::<KeyPattern>().is_ok());
        for bad in ["", "R", "R:X", "r:r", "R:R:R"] {
            assert!(bad.parse::<KeyPattern>().is_err(), "{bad}");
        }
    }
}
