//! Requests whose every reply is known beforehand.
//!
//! A value tells which key and which version of it it is, so that a stale, foreign or torn one is
//! recognised. Versions of a key count up from 1.

use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub key_len: usize,
    pub value_len: usize,
    /// Keys of each client; 0: all clients use one single key together.
    pub keys: u32,
    /// Of 100 requests so many are GETs, the others SETs.
    pub gets: u32,
}

/// What must come back.
pub enum Expect {
    Exactly(Vec<u8>),
    /// A hit of the key that several clients write at the same time: any version so far.
    AnyVersion,
}

impl Expect {
    /// Length of the reply.
    pub fn len(&self, keys: &Keys) -> usize {
        match self {
            Expect::Exactly(text) => text.len(),
            Expect::AnyVersion => keys.hit(0, 1).len(),
        }
    }
}

/// The keys of all clients.
pub struct Keys {
    pub shape: Shape,
    /// Replies of different clients may pass each other: only a client's own writes bind it.
    shared: bool,
    /// Last version asked to be stored, by key.
    versions: Vec<u32>,
    rng: SmallRng,
}

impl Keys {
    pub fn new(shape: Shape, clients: u32, ordered: bool, seed: u64) -> Keys {
        let count = if shape.keys == 0 { 1 } else { shape.keys * clients };
        let digits = shape.key_len as u32 - 1;
        assert!(digits >= 9 || count <= 10u32.pow(digits), "too many keys for their length");
        Keys {
            shape,
            shared: shape.keys == 0 && !ordered,
            versions: vec![0; count as usize],
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// For clients whose replies are all given as `Exactly`.
    pub fn none() -> Keys {
        Keys::new(Shape { key_len: 1, value_len: 0, keys: 0, gets: 0 }, 0, true, 0)
    }

    pub fn count(&self) -> u32 {
        self.versions.len() as u32
    }

    pub fn key(&self, key: u32) -> String {
        format!("k{key:0width$}", width = self.shape.key_len - 1)
    }

    pub fn value(&self, key: u32, version: u32) -> Vec<u8> {
        let mut value = vec![0; self.shape.value_len.max(4)];
        SmallRng::seed_from_u64(u64::from(key) << 32 | u64::from(version)).fill_bytes(&mut value);
        let head = version ^ key.wrapping_mul(0x9E37_79B9);
        value[..4].copy_from_slice(&head.to_le_bytes());
        value.truncate(self.shape.value_len);
        value
    }

    fn hit(&self, key: u32, version: u32) -> Vec<u8> {
        let mut text =
            format!("VALUE {} 0 {}\r\n", self.key(key), self.shape.value_len).into_bytes();
        text.extend(self.value(key, version));
        text.extend(b"\r\nEND\r\n");
        text
    }

    /// The last version asked to be stored.
    pub fn version(&self, key: u32) -> u32 {
        self.versions[key as usize]
    }

    /// The next version of a key.
    pub fn renew(&mut self, key: u32) -> u32 {
        self.versions[key as usize] += 1;
        self.version(key)
    }

    pub fn set(&mut self, key: u32) -> (Vec<u8>, Expect) {
        let version = self.renew(key);
        let mut text =
            format!("set {} 0 0 {}\r\n", self.key(key), self.shape.value_len).into_bytes();
        text.extend(self.value(key, version));
        text.extend(b"\r\n");
        (text, Expect::Exactly(b"STORED\r\n".to_vec()))
    }

    pub fn get(&mut self, key: u32) -> (Vec<u8>, Expect) {
        let version = self.version(key);
        let text = format!("get {}\r\n", self.key(key)).into_bytes();
        let expect =
            if self.shared { Expect::AnyVersion } else { Expect::Exactly(self.hit(key, version)) };
        (text, expect)
    }

    /// A request of the mix, for one of the client's keys.
    pub fn next(&mut self, client: u32) -> (Vec<u8>, Expect) {
        let key = match self.shape.keys {
            0 => 0,
            keys => client * keys + self.rng.random_range(0..keys),
        };
        if self.rng.random_range(0..100) < self.shape.gets {
            self.get(key)
        } else {
            self.set(key)
        }
    }

    /// A key of any client, and whether it is a GET's.
    pub fn pick(&mut self) -> (u32, bool) {
        let key = self.rng.random_range(0..self.count());
        (key, self.rng.random_range(0..100) < self.shape.gets)
    }

    pub fn right(&self, expect: &Expect, reply: &[u8]) -> bool {
        match expect {
            Expect::Exactly(text) => reply == text,
            Expect::AnyVersion => {
                let at = reply.len() - 7 - self.shape.value_len;
                let version = u32::from_le_bytes(reply[at..at + 4].try_into().unwrap());
                (1..=self.versions[0]).contains(&version) && reply == self.hit(0, version)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(expect: &Expect) -> Vec<u8> {
        match expect {
            Expect::Exactly(text) => text.clone(),
            Expect::AnyVersion => panic!("not exact"),
        }
    }

    #[test]
    fn stale_and_foreign_values_are_seen() {
        for value_len in [4, 100] {
            let shape = Shape { key_len: 6, value_len, keys: 10, gets: 50 };
            let mut keys = Keys::new(shape, 2, true, 1);
            keys.set(3);
            keys.set(4);
            let (text, old) = keys.get(3);
            assert_eq!(text, b"get k00003\r\n");
            let foreign = keys.value(4, 1);
            keys.set(3);
            let (_, new) = keys.get(3);
            assert!(keys.right(&new, &reply(&new)) && !keys.right(&new, &reply(&old)));
            let mut mixed = reply(&new);
            let at = mixed.len() - 7 - value_len;
            mixed[at..at + value_len].copy_from_slice(&foreign);
            assert!(!keys.right(&new, &mixed));
        }
    }

    #[test]
    fn shared_key() {
        let shape = Shape { key_len: 16, value_len: 100, keys: 0, gets: 50 };
        let mut keys = Keys::new(shape, 2, false, 1);
        keys.set(0);
        keys.set(0);
        let (_, expect) = keys.get(0);
        assert_eq!(expect.len(&keys), keys.hit(0, 1).len());
        assert!(keys.right(&expect, &keys.hit(0, 1)) && keys.right(&expect, &keys.hit(0, 2)));
        assert!(!keys.right(&expect, &keys.hit(0, 3)) && !keys.right(&expect, &keys.hit(0, 0)));
        let mut torn = keys.hit(0, 1);
        let at = torn.len() - 10;
        torn[at] ^= 1;
        assert!(!keys.right(&expect, &torn));
    }
}
