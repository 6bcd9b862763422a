//! Requests whose every reply is known beforehand.
//!
//! A value tells which key and which version of it it is, so that a stale, foreign or torn one is
//! recognised. Versions of a key count up from 1.

use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};
use rand_distr::{Distribution, Zipf};
use wirekv_load::etc;

use crate::frame;

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub key_len: usize,
    pub value_len: usize,
    /// Keys of each client; 0: all clients use one single key together.
    pub keys: u32,
    /// Of 100 requests so many are GETs, the others SETs.
    pub gets: u32,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Keys and values are all as long as the shape says, values random.
    Plain,
    /// Values of nothing but LF. For SETs only: all versions are the same.
    Lf,
    /// In memcached's binary protocol.
    Binary,
    /// Meta commands: `mg` with `v`, `ms`.
    Meta,
    /// In Redis' protocol; more than 1: MGETs of so many keys, an operation is a key.
    Redis(u32),
    /// GETs of so many keys. For GETs only; an operation is a key.
    Many(u32),
    /// Facebook's pool ETC: sizes (see `wirekv_load::etc`), and 30 GETs for a SET. A client's keys by Zipf's
    /// distribution; a tenth of the SETs store new ones.
    Etc,
    /// `incr`: values are counters.
    Incr,
    /// `touch`.
    Touch,
    /// `delete`, of each key once.
    Delete,
    /// `cas` with the right unique, of each key once.
    Cas,
    /// `append` of four bytes.
    Append,
    /// Meta commands with what clients ask for with them: `mg k v t c f s k q O`, `ms k T F I`.
    MetaFlags,
    /// Redis' SETEX; SET with EX.
    Setex,
    SetEx,
    /// Redis' TTL.
    Ttl,
    /// GETs as inline commands of Redis' protocol.
    Inline,
}

/// The exponent of ETC's keys' popularity, and of a client's keys so many that are new ones.
const ETC_ZIPF: f64 = 0.99;
pub const ETC_NEW: u32 = 64;

/// Seconds for which items with an expiry are stored, and the unique of those that are stored with one.
const SECONDS: u32 = 3600;
const UNIQUE: u32 = 77;

impl Kind {
    /// Where the card speaks it.
    pub fn port(self) -> u16 {
        match self {
            Kind::Redis(_) | Kind::Setex | Kind::SetEx | Kind::Ttl | Kind::Inline => {
                frame::REDIS_PORT
            }
            _ => frame::PORT,
        }
    }

    /// What is asked for, where that is neither a GET nor a SET.
    pub fn what(self) -> Option<&'static str> {
        Some(match self {
            Kind::Incr => "incr",
            Kind::Touch => "touch",
            Kind::Delete => "delete",
            Kind::Cas => "cas",
            Kind::Append => "append of 4 B",
            Kind::MetaFlags => "mg v t c f s k q O and ms T F I 1:1",
            Kind::Setex => "SETEX",
            Kind::SetEx => "SET with EX",
            Kind::Ttl => "TTL",
            _ => return None,
        })
    }

    /// Each key is asked for once.
    pub fn once(self) -> bool {
        matches!(self, Kind::Delete | Kind::Cas)
    }

    /// Of a client's keys so many are not stored beforehand.
    pub fn new_keys(self) -> u32 {
        if self == Kind::Etc {
            ETC_NEW
        } else {
            0
        }
    }

    fn key_len(self, shape: &Shape, key: u32) -> usize {
        match self {
            Kind::Etc => {
                let size = etc::key_size(uniform(u64::from(key)));
                (size.round() as usize).clamp(8, 250)
            }
            _ => shape.key_len,
        }
    }

    fn value_len(self, shape: &Shape, key: u32) -> usize {
        match self {
            Kind::Etc => {
                let [which, u] = [1, 2].map(|n| uniform(u64::from(key) | n << 32));
                (etc::value_size(which, u) as usize).min(1 << 16)
            }
            _ => shape.value_len,
        }
    }
}

/// A number in (0, 1] that the seed decides.
fn uniform(seed: u64) -> f64 {
    1.0 - SmallRng::seed_from_u64(seed).random::<f64>()
}

/// A packet of the binary protocol, request (magic 0x80) or reply (0x81) without its CAS unique.
fn packet(magic: u8, opcode: u8, key: &[u8], extras: &[u8], value: &[u8]) -> Vec<u8> {
    let body = (extras.len() + key.len() + value.len()) as u32;
    let mut packet = vec![magic, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
    packet.extend(body.to_be_bytes());
    packet.extend([0; 12]);
    [&packet, extras, key, value].concat()
}

/// What a counter holds.
fn counter(version: u32) -> String {
    (1_000_000_000 + u64::from(version)).to_string()
}

/// A command of Redis' protocol.
fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", words.len()).into_bytes();
    words.iter().for_each(|word| text.extend(bulk(word)));
    text
}

fn bulk(word: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat()
}

/// The CAS unique in a binary reply is the card's choice.
fn same_but_unique(reply: &[u8], text: &[u8]) -> bool {
    reply.len() == text.len() && reply[..16] == text[..16] && reply[24..] == text[24..]
}

/// What must come back.
pub enum Expect {
    Exactly(Vec<u8>),
    /// A hit of the key that several clients write at the same time: any version so far.
    AnyVersion,
    /// These bytes, but between them a CAS unique, which is the card's choice.
    AnyUnique(Vec<u8>, Vec<u8>),
}

impl Expect {
    /// Length of the reply with which these bytes begin.
    pub fn len(&self, keys: &Keys, bytes: &[u8]) -> usize {
        match self {
            Expect::Exactly(text) => text.len(),
            Expect::AnyVersion => keys.hit(0, 1).len(),
            Expect::AnyUnique(head, tail) => {
                let digits = bytes.iter().skip(head.len()).take_while(|b| b.is_ascii_digit());
                head.len() + digits.count() + tail.len()
            }
        }
    }
}

/// The keys of all clients.
pub struct Keys {
    pub shape: Shape,
    /// Replies of different clients may pass each other: only a client's own writes bind it.
    shared: bool,
    /// More keys than decimal digits have room for.
    hex: bool,
    /// Last version asked to be stored, by key.
    versions: Vec<u32>,
    /// Of each client's new keys so many have been used.
    new: Vec<u32>,
    zipf: Zipf<f64>,
    rng: SmallRng,
}

impl Keys {
    pub fn new(shape: Shape, clients: u32, ordered: bool, seed: u64) -> Keys {
        let count = if shape.keys == 0 { 1 } else { shape.keys * clients };
        let digits = if shape.kind == Kind::Etc { 7 } else { shape.key_len as u32 - 1 };
        let fits = |base: u32| base.checked_pow(digits).is_none_or(|most| count <= most);
        assert!(fits(16), "too many keys for their length");
        Keys {
            shape,
            shared: shape.keys == 0 && !ordered,
            hex: !fits(10),
            versions: vec![0; count as usize],
            new: vec![0; clients as usize],
            zipf: Zipf::new(f64::from(shape.keys.saturating_sub(ETC_NEW).max(1)), ETC_ZIPF)
                .expect("at least one key"),
            rng: SmallRng::seed_from_u64(seed),
        }
    }

    /// For clients whose replies are all given as `Exactly`.
    pub fn none() -> Keys {
        let shape = Shape { key_len: 1, value_len: 0, keys: 0, gets: 0, kind: Kind::Plain };
        Keys::new(shape, 0, true, 0)
    }

    pub fn count(&self) -> u32 {
        self.versions.len() as u32
    }

    pub fn key(&self, key: u32) -> String {
        let width = self.shape.kind.key_len(&self.shape, key) - 1;
        if self.hex {
            format!("k{key:0width$x}")
        } else {
            format!("k{key:0width$}")
        }
    }

    fn value_len(&self, key: u32) -> usize {
        self.shape.kind.value_len(&self.shape, key)
    }

    pub fn value(&self, key: u32, version: u32) -> Vec<u8> {
        let len = self.value_len(key);
        match self.shape.kind {
            Kind::Lf => return vec![b'\n'; len],
            Kind::Incr => return counter(version).into_bytes(),
            _ => (),
        }
        let mut value = vec![0; len.max(4)];
        SmallRng::seed_from_u64(u64::from(key) << 32 | u64::from(version)).fill_bytes(&mut value);
        let head = version ^ key.wrapping_mul(0x9E37_79B9);
        value[..4].copy_from_slice(&head.to_le_bytes());
        value.truncate(len);
        value
    }

    fn item(&self, key: u32, version: u32) -> Vec<u8> {
        let mut text =
            format!("VALUE {} 0 {}\r\n", self.key(key), self.value_len(key)).into_bytes();
        text.extend(self.value(key, version));
        text.extend(b"\r\n");
        text
    }

    fn hit(&self, key: u32, version: u32) -> Vec<u8> {
        let mut text = self.item(key, version);
        text.extend(b"END\r\n");
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
        if self.shape.kind == Kind::Binary {
            let value = self.value(key, version);
            let text = packet(0x80, 0x01, self.key(key).as_bytes(), &[0; 8], &value);
            return (text, Expect::Exactly(packet(0x81, 0x01, b"", b"", b"")));
        }
        if let Kind::Setex | Kind::Ttl = self.shape.kind {
            let (name, value) = (self.key(key), self.value(key, version));
            let seconds = SECONDS.to_string();
            let text = command(&[b"SETEX", name.as_bytes(), seconds.as_bytes(), &value]);
            return (text, Expect::Exactly(b"+OK\r\n".to_vec()));
        }
        if self.shape.kind == Kind::SetEx {
            let (name, value) = (self.key(key), self.value(key, version));
            let seconds = SECONDS.to_string();
            let text = command(&[b"SET", name.as_bytes(), &value, b"EX", seconds.as_bytes()]);
            return (text, Expect::Exactly(b"+OK\r\n".to_vec()));
        }
        if let Kind::Redis(_) | Kind::Inline = self.shape.kind {
            let value = self.value(key, version);
            let text = command(&[b"SET", self.key(key).as_bytes(), &value]);
            return (text, Expect::Exactly(b"+OK\r\n".to_vec()));
        }
        let (key_name, len) = (self.key(key), self.value_len(key));
        let (line, reply) = match self.shape.kind {
            Kind::Meta => (format!("ms {key_name} {len}\r\n"), &b"HD\r\n"[..]),
            Kind::Cas => (format!("ms {key_name} {len} E{UNIQUE}\r\n"), &b"HD\r\n"[..]),
            Kind::MetaFlags => (format!("ms {key_name} {len} T{SECONDS} F5 I\r\n"), &b"HD\r\n"[..]),
            _ => (format!("set {key_name} 0 0 {len}\r\n"), &b"STORED\r\n"[..]),
        };
        let mut text = line.into_bytes();
        text.extend(self.value(key, version));
        text.extend(b"\r\n");
        (text, Expect::Exactly(reply.to_vec()))
    }

    /// A GET of many keys of one client.
    fn get_many(&mut self, first: u32, count: u32) -> (Vec<u8>, Expect) {
        let mut text = b"get".to_vec();
        let mut reply = Vec::new();
        for _ in 0..count {
            let key = first + self.rng.random_range(0..self.shape.keys);
            text.push(b' ');
            text.extend(self.key(key).bytes());
            reply.extend(self.item(key, self.version(key)));
        }
        text.extend(b"\r\n");
        reply.extend(b"END\r\n");
        (text, Expect::Exactly(reply))
    }

    /// An MGET of many keys of one client.
    fn mget(&mut self, first: u32, count: u32) -> (Vec<u8>, Expect) {
        let mut words = vec![b"MGET".to_vec()];
        let mut reply = format!("*{count}\r\n").into_bytes();
        for _ in 0..count {
            let key = first + self.rng.random_range(0..self.shape.keys);
            words.push(self.key(key).into_bytes());
            reply.extend(bulk(&self.value(key, self.version(key))));
        }
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        (command(&words), Expect::Exactly(reply))
    }

    pub fn get(&mut self, key: u32) -> (Vec<u8>, Expect) {
        let version = self.version(key);
        if self.shape.kind == Kind::Binary {
            let reply = packet(0x81, 0x00, b"", &[0; 4], &self.value(key, version));
            let text = packet(0x80, 0x00, self.key(key).as_bytes(), b"", b"");
            return (text, Expect::Exactly(reply));
        }
        if let Kind::Redis(_) | Kind::Inline = self.shape.kind {
            let text = match self.shape.kind {
                Kind::Inline => format!("GET {}\r\n", self.key(key)).into_bytes(),
                _ => command(&[b"GET", self.key(key).as_bytes()]),
            };
            return (text, Expect::Exactly(bulk(&self.value(key, version))));
        }
        if self.shape.kind == Kind::Meta {
            let mut reply = format!("VA {}\r\n", self.value_len(key)).into_bytes();
            reply.extend(self.value(key, version));
            reply.extend(b"\r\n");
            let text = format!("mg {} v\r\n", self.key(key)).into_bytes();
            return (text, Expect::Exactly(reply));
        }
        if self.shape.kind == Kind::MetaFlags {
            let (name, len) = (self.key(key), self.value_len(key));
            let text = format!("mg {name} v t c f s k q O9\r\n").into_bytes();
            let head = format!("VA {len} t{SECONDS} c");
            let mut tail = format!(" f5 s{len} k{name} O9\r\n").into_bytes();
            tail.extend(self.value(key, version));
            tail.extend(b"\r\n");
            return (text, Expect::AnyUnique(head.into_bytes(), tail));
        }
        let text = format!("get {}\r\n", self.key(key)).into_bytes();
        let expect =
            if self.shared { Expect::AnyVersion } else { Expect::Exactly(self.hit(key, version)) };
        (text, expect)
    }

    /// A request of a kind whose requests are neither GETs nor SETs.
    pub fn other(&mut self, key: u32) -> Option<(Vec<u8>, Expect)> {
        let name = self.key(key);
        let stored = || "STORED\r\n".into();
        let (text, reply): (Vec<u8>, String) = match self.shape.kind {
            Kind::Incr => {
                let reply = counter(self.renew(key)) + "\r\n";
                (format!("incr {name} 1\r\n").into(), reply)
            }
            Kind::Touch => (format!("touch {name} {SECONDS}\r\n").into(), "TOUCHED\r\n".into()),
            Kind::Delete => (format!("delete {name}\r\n").into(), "DELETED\r\n".into()),
            Kind::Cas => {
                let version = self.renew(key);
                let head = format!("cas {name} 0 0 {} {UNIQUE}\r\n", self.value_len(key));
                ([head.as_bytes(), &self.value(key, version), b"\r\n"].concat(), stored())
            }
            Kind::Append => (format!("append {name} 0 0 4\r\nmore\r\n").into(), stored()),
            Kind::Ttl => (command(&[b"TTL", name.as_bytes()]), format!(":{SECONDS}\r\n")),
            _ => return None,
        };
        Some((text, Expect::Exactly(reply.into_bytes())))
    }

    /// A request of the pool ETC, for one of the client's keys.
    fn etc(&mut self, client: u32) -> (Vec<u8>, Expect) {
        let (first, old) = (client * self.shape.keys, self.shape.keys - ETC_NEW);
        // Ranks begin with 1.
        let key = first + self.zipf.sample(&mut self.rng) as u32 - 1;
        if self.rng.random_range(0..31) < 30 {
            return self.get(key);
        }
        let new = &mut self.new[client as usize];
        if *new < ETC_NEW && self.rng.random_range(0..10) == 0 {
            *new += 1;
            let key = first + old + *new - 1;
            return self.set(key);
        }
        self.set(key)
    }

    /// A request of the mix, for one of the client's keys.
    /// Whether it comes to something that does so many times in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    pub fn next(&mut self, client: u32) -> (Vec<u8>, Expect) {
        if let Kind::Many(count) = self.shape.kind {
            return self.get_many(client * self.shape.keys, count);
        }
        if let Kind::Redis(count @ 2..) = self.shape.kind {
            return self.mget(client * self.shape.keys, count);
        }
        if self.shape.kind == Kind::Etc {
            return self.etc(client);
        }
        let key = match self.shape.keys {
            0 => 0,
            keys => client * keys + self.rng.random_range(0..keys),
        };
        if let Some(request) = self.other(key) {
            return request;
        }
        if self.rng.random_range(0..100) < self.shape.gets {
            self.get(key)
        } else {
            self.set(key)
        }
    }

    /// Operations that a request of the mix counts as.
    pub fn weight(&self) -> u64 {
        match self.shape.kind {
            Kind::Many(count) | Kind::Redis(count) => u64::from(count),
            _ => 1,
        }
    }

    /// A random one of the first keys.
    pub fn among(&mut self, first: u32) -> u32 {
        self.rng.random_range(0..first)
    }

    /// A key of any client, and whether it is a GET's.
    pub fn pick(&mut self) -> (u32, bool) {
        let key = self.rng.random_range(0..self.count());
        (key, self.rng.random_range(0..100) < self.shape.gets)
    }

    pub fn right(&self, expect: &Expect, reply: &[u8]) -> bool {
        match expect {
            Expect::Exactly(text) if self.shape.kind == Kind::Binary => {
                same_but_unique(reply, text)
            }
            Expect::Exactly(text) => reply == text,
            // Of the digits in between is known how many there are.
            Expect::AnyUnique(head, tail) => reply.starts_with(head) && reply.ends_with(tail),
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
            Expect::AnyVersion | Expect::AnyUnique(..) => panic!("not exact"),
        }
    }

    #[test]
    fn stale_and_foreign_values_are_seen() {
        for value_len in [4, 100] {
            let shape = Shape { key_len: 6, value_len, keys: 10, gets: 50, kind: Kind::Plain };
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
        let shape = Shape { key_len: 16, value_len: 100, keys: 0, gets: 50, kind: Kind::Plain };
        let mut keys = Keys::new(shape, 2, false, 1);
        keys.set(0);
        keys.set(0);
        let (_, expect) = keys.get(0);
        assert_eq!(expect.len(&keys, b""), keys.hit(0, 1).len());
        assert!(keys.right(&expect, &keys.hit(0, 1)) && keys.right(&expect, &keys.hit(0, 2)));
        assert!(!keys.right(&expect, &keys.hit(0, 3)) && !keys.right(&expect, &keys.hit(0, 0)));
        let mut torn = keys.hit(0, 1);
        let at = torn.len() - 10;
        torn[at] ^= 1;
        assert!(!keys.right(&expect, &torn));
    }

    #[test]
    fn many_keys_in_one_get() {
        let shape = Shape { key_len: 6, value_len: 4, keys: 3, gets: 100, kind: Kind::Many(5) };
        let mut keys = Keys::new(shape, 2, true, 1);
        for key in 0..6 {
            keys.set(key);
        }
        let (text, expect) = keys.next(1);
        let text = String::from_utf8(text).unwrap();
        let asked: Vec<_> = text.strip_prefix("get ").unwrap().trim_end().split(' ').collect();
        assert!(
            asked.len() == 5 && asked.iter().all(|k| ["k00003", "k00004", "k00005"].contains(k))
        );
        assert_eq!(expect.len(&keys, b""), 5 * "VALUE k00003 0 4\r\nxxxx\r\n".len() + 5);
    }

    /// Means of the distributions: 36.2 bytes of key; values 344 from 15 bytes up, which 56 % of all are: 194.
    #[test]
    fn etc_sizes() {
        let shape = Shape { key_len: 0, value_len: 0, keys: 256, gets: 0, kind: Kind::Etc };
        const DRAWN: u32 = 100_000;
        let mean = |of: fn(Kind, &Shape, u32) -> usize| {
            (0..DRAWN).map(|key| of(Kind::Etc, &shape, key) as f64).sum::<f64>() / f64::from(DRAWN)
        };
        let (key, value) = (mean(Kind::key_len), mean(Kind::value_len));
        assert!((35.5..37.0).contains(&key) && (184.0..204.0).contains(&value), "{key} {value}");
        let tiny = (0..DRAWN).filter(|key| Kind::Etc.value_len(&shape, *key) < 15).count();
        let share = tiny as f64 / f64::from(DRAWN);
        assert!((0.43..0.45).contains(&share), "{share}");
    }

    #[test]
    fn etc_requests() {
        let shape = Shape { key_len: 0, value_len: 0, keys: 1064, gets: 0, kind: Kind::Etc };
        let mut keys = Keys::new(shape, 2, true, 1);
        let old = |key: u32| key % 1064 < 1000;
        (0..2128).filter(|key| old(*key)).for_each(|key| drop(keys.set(key)));
        let (mut gets, mut hot) = (0, 0);
        for n in 0..10_000 {
            let (text, _) = keys.next(n % 2);
            let is_get = text.starts_with(b"get ");
            let first = keys.key(n % 2 * 1064);
            gets += u32::from(is_get);
            hot += u32::from(is_get && text.ends_with(format!(" {first}\r\n").as_bytes()));
        }
        // The sum of 1/k^0.99 for 1,000 keys is 7.73.
        assert!((9600..9750).contains(&gets) && (1140..1370).contains(&hot), "{gets} {hot}");
        let new = (0..2128).filter(|key| !old(*key) && keys.version(*key) > 0).count();
        assert!((15..55).contains(&new), "{new} of {} SETs", 10_000 - gets);
    }

    /// A unique may be any number; all else must be right.
    #[test]
    fn uniques() {
        let shape = Shape { key_len: 6, value_len: 4, keys: 3, gets: 50, kind: Kind::MetaFlags };
        let mut keys = Keys::new(shape, 1, true, 1);
        keys.set(2);
        let (text, expect) = keys.get(2);
        assert_eq!(text, b"mg k00002 v t c f s k q O9\r\n");
        let reply = |unique: &str, seconds| {
            let head = format!("VA 4 t{seconds} c{unique} f5 s4 kk00002 O9\r\n");
            [head.as_bytes(), &keys.value(2, 1), b"\r\n"].concat()
        };
        for unique in ["1", "123456789012"] {
            let right = reply(unique, 3600);
            let more = [right.as_slice(), b"HD\r\n"].concat();
            assert_eq!(expect.len(&keys, &more), right.len());
            assert!(keys.right(&expect, &right) && !keys.right(&expect, &reply(unique, 3599)));
        }
    }
}
