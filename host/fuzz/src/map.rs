//! Redis' commands on a plain map with expiry to the millisecond: what a store is compared with.

use std::collections::BTreeMap;

/// An item.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    value: Vec<u8>,
    /// Unix milliseconds.
    expiry: Option<u64>,
}

type Words = Vec<Vec<u8>>;

pub const KEYS: usize = 6;

/// All keys that there may be, by number.
pub fn key(n: usize) -> Vec<u8> {
    match n {
        0 => vec![b'k'; 250],
        n => format!("k{n}").into_bytes(),
    }
}

/// Where a run takes its choices from; 0 when all are used up.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn one<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    pub fn key(&mut self) -> Vec<u8> {
        key(self.below(KEYS))
    }

    fn value(&mut self) -> Vec<u8> {
        match self.below(8) {
            0 => Vec::new(),
            n @ 1..=3 => format!("{}", [0, 99, -7][n - 1]).into_bytes(),
            4 => vec![b'v'; 300],
            n => vec![self.byte(); 7 * n],
        }
    }

    fn milliseconds(&mut self) -> u64 {
        1 + u64::from(self.byte()) * [1, 10, 1000][self.below(3)]
    }
}

/// The databases, as one connection sees them.
#[derive(Clone)]
pub struct Map {
    databases: Vec<BTreeMap<Vec<u8>, Item>>,
    db: usize,
    pub now: u64,
}

fn words(parts: &[&str]) -> Words {
    parts.iter().map(|part| part.as_bytes().to_vec()).collect()
}

pub fn bulk(value: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}

fn int(n: i64) -> Vec<u8> {
    format!(":{n}\r\n").into_bytes()
}

fn nil() -> Vec<u8> {
    b"$-1\r\n".to_vec()
}

fn ok() -> Vec<u8> {
    b"+OK\r\n".to_vec()
}

fn bulk_or_nil(item: Option<&Item>) -> Vec<u8> {
    item.map_or_else(nil, |item| bulk(&item.value))
}

impl Map {
    pub fn new(now: u64) -> Map {
        Map { databases: vec![BTreeMap::new(); 16], db: 0, now }
    }

    /// Time passes.
    pub fn set_now(&mut self, now: u64) {
        self.now = now;
        for db in &mut self.databases {
            db.retain(|_, item| item.expiry.is_none_or(|expiry| expiry > now));
        }
    }

    fn here(&mut self) -> &mut BTreeMap<Vec<u8>, Item> {
        &mut self.databases[self.db]
    }

    /// A time that is over leaves nothing.
    fn put(&mut self, key: &[u8], value: Vec<u8>, expiry: Option<u64>) {
        match expiry {
            Some(expiry) if expiry <= self.now => self.here().remove(key),
            _ => self.here().insert(key.to_vec(), Item { value, expiry }),
        };
    }

    /// All keys of the present database.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        self.databases[self.db].keys().cloned().collect()
    }

    /// All that can be seen of a key: another state is a change.
    pub fn state(&self, db: usize, key: &[u8]) -> Option<(Vec<u8>, Option<u64>)> {
        let item = self.databases[db].get(key)?;
        Some((item.value.clone(), item.expiry))
    }

    /// The next command, and its reply.
    pub fn step(&mut self, choices: &mut Choices<'_>) -> (Words, Vec<u8>) {
        let op = choices.byte() % 26;
        let key = choices.key();
        let name = |parts: &[&str]| {
            let mut list = words(parts);
            list.insert(1, key.clone());
            list
        };
        let found = self.here().get(&key).cloned();
        match op {
            0..=2 => self.set(key, found, choices),
            3 => (name(&["GET"]), bulk_or_nil(found.as_ref())),
            4 => {
                let two = vec![choices.key(), key];
                let count = two.iter().filter(|key| self.here().remove(*key).is_some()).count();
                ([words(&["DEL"]), two].concat(), int(count as i64))
            }
            5 | 6 => self.increment(key, found, choices),
            7 => {
                let more = choices.value();
                let Item { mut value, expiry } =
                    found.unwrap_or(Item { value: Vec::new(), expiry: None });
                value.truncate(1000);
                let cut = self.here().get(&key).is_some_and(|item| item.value.len() > 1000);
                if cut {
                    return self.get_range(key, choices);
                }
                value.extend_from_slice(&more);
                let len = value.len() as i64;
                self.put(&key, value, expiry);
                (vec![b"APPEND".to_vec(), key, more], int(len))
            }
            8 => {
                let (at, more) = (choices.below(40), choices.value());
                let request = vec![
                    b"SETRANGE".to_vec(),
                    key.clone(),
                    at.to_string().into_bytes(),
                    more.clone(),
                ];
                let len = found.as_ref().map_or(0, |item| item.value.len());
                if more.is_empty() {
                    return (request, int(len as i64));
                }
                let Item { mut value, expiry } =
                    found.unwrap_or(Item { value: Vec::new(), expiry: None });
                value.resize(len.max(at + more.len()), 0);
                value[at..at + more.len()].copy_from_slice(&more);
                let len = value.len() as i64;
                self.put(&key, value, expiry);
                (request, int(len))
            }
            9 => self.get_range(key, choices),
            10 => {
                self.here().remove(&key);
                (name(&["GETDEL"]), bulk_or_nil(found.as_ref()))
            }
            11 => self.getex(key, found, choices),
            12 | 13 => self.expire(key, found, choices),
            14 => {
                let left = match &found {
                    None => -2,
                    Some(Item { expiry: None, .. }) => -1,
                    Some(Item { expiry: Some(expiry), .. }) => (*expiry - self.now) as i64,
                };
                (name(&["PTTL"]), int(left))
            }
            15 => {
                let at = found.map(|item| item.expiry.map_or(-1, |expiry| expiry as i64));
                (name(&["PEXPIRETIME"]), int(at.unwrap_or(-2)))
            }
            16 => {
                let had = found.is_some_and(|item| item.expiry.is_some());
                if let Some(item) = self.here().get_mut(&key) {
                    item.expiry = None;
                }
                (name(&["PERSIST"]), int(had.into()))
            }
            17 | 18 => self.rename(key, found, choices),
            19 => self.copy(key, found, choices),
            20 => {
                let db = choices.below(3);
                let request = name(&["MOVE", &db.to_string()]);
                if db == self.db {
                    let error = b"-ERR source and destination objects are the same\r\n";
                    return (request, error.to_vec());
                }
                let moved = found.is_some() && !self.databases[db].contains_key(&key);
                if moved {
                    let item = self.here().remove(&key).expect("it is there");
                    self.databases[db].insert(key, item);
                }
                (request, int(moved.into()))
            }
            21 => {
                self.db = choices.below(3);
                (words(&["SELECT", &self.db.to_string()]), ok())
            }
            22 => self.mset(key, choices),
            23 => {
                let other = choices.key();
                let values =
                    [&key, &other].map(|key| bulk_or_nil(self.databases[self.db].get(key)));
                (vec![b"MGET".to_vec(), key, other], [b"*2\r\n", &values.concat()[..]].concat())
            }
            24 => {
                let (a, b) = (choices.below(3), choices.below(3));
                self.databases.swap(a, b);
                (words(&["SWAPDB", &a.to_string(), &b.to_string()]), ok())
            }
            _ => {
                let both = vec![choices.key(), key];
                let count = both.iter().filter(|key| self.here().contains_key(*key)).count();
                ([words(&["EXISTS"]), both].concat(), int(count as i64))
            }
        }
    }

    fn set(
        &mut self,
        key: Vec<u8>,
        found: Option<Item>,
        choices: &mut Choices<'_>,
    ) -> (Words, Vec<u8>) {
        let value = choices.value();
        let mut request = vec![b"SET".to_vec(), key.clone(), value.clone()];
        let how = choices.byte();
        let mut expiry = None;
        match how % 5 {
            1 => {
                let ms = choices.milliseconds();
                expiry = Some(self.now + ms);
                request.extend(words(&["PX", &ms.to_string()]));
            }
            2 => {
                let at = self.now + choices.milliseconds();
                expiry = Some(at);
                request.extend(words(&["PXAT", &at.to_string()]));
            }
            3 => {
                expiry = found.as_ref().and_then(|item| item.expiry);
                request.extend(words(&["KEEPTTL"]));
            }
            _ => {}
        }
        let allowed = match how >> 4 & 3 {
            1 => {
                request.extend(words(&["NX"]));
                found.is_none()
            }
            2 => {
                request.extend(words(&["XX"]));
                found.is_some()
            }
            _ => true,
        };
        if allowed {
            self.put(&key, value, expiry);
        }
        let reply = match (how >> 6 & 1, allowed) {
            (0, true) => ok(),
            (0, false) => nil(),
            _ => {
                request.extend(words(&["GET"]));
                bulk_or_nil(found.as_ref())
            }
        };
        (request, reply)
    }

    fn increment(
        &mut self,
        key: Vec<u8>,
        found: Option<Item>,
        choices: &mut Choices<'_>,
    ) -> (Words, Vec<u8>) {
        let by = [1, -1, 100, i64::MAX, i64::MIN + 1][choices.below(5)];
        let request = vec![b"INCRBY".to_vec(), key.clone(), by.to_string().into_bytes()];
        let Item { value, expiry } = found.unwrap_or(Item { value: b"0".to_vec(), expiry: None });
        let number = std::str::from_utf8(&value).ok().and_then(|text| text.parse::<i64>().ok());
        let Some(number) = number.filter(|number| number.to_string().as_bytes() == value) else {
            return (request, b"-ERR value is not an integer or out of range\r\n".to_vec());
        };
        let Some(sum) = number.checked_add(by) else {
            return (request, b"-ERR increment or decrement would overflow\r\n".to_vec());
        };
        self.put(&key, sum.to_string().into_bytes(), expiry);
        (request, int(sum))
    }

    fn get_range(&mut self, key: Vec<u8>, choices: &mut Choices<'_>) -> (Words, Vec<u8>) {
        let (from, to) = (choices.below(30), choices.below(400));
        let text = |n: usize| n.to_string().into_bytes();
        let item = self.here().get(&key);
        let value = item.map_or(&[][..], |item| &item.value);
        let to_end = (to + 1).min(value.len());
        let part = bulk(value.get(from..to_end).unwrap_or(&[]));
        (vec![b"GETRANGE".to_vec(), key, text(from), text(to)], part)
    }

    fn getex(
        &mut self,
        key: Vec<u8>,
        found: Option<Item>,
        choices: &mut Choices<'_>,
    ) -> (Words, Vec<u8>) {
        let mut request = vec![b"GETEX".to_vec(), key.clone()];
        let expiry = match choices.below(4) {
            0 => {
                request.extend(words(&["PERSIST"]));
                Some(None)
            }
            1 => {
                let ms = choices.milliseconds();
                request.extend(words(&["PX", &ms.to_string()]));
                Some(Some(self.now + ms))
            }
            2 => {
                let at = self.now + choices.milliseconds() - 2;
                request.extend(words(&["PXAT", &at.to_string()]));
                Some(Some(at))
            }
            _ => None,
        };
        let reply = bulk_or_nil(found.as_ref());
        if let (Some(item), Some(expiry)) = (found, expiry) {
            self.put(&key, item.value, expiry);
        }
        (request, reply)
    }

    fn expire(
        &mut self,
        key: Vec<u8>,
        found: Option<Item>,
        choices: &mut Choices<'_>,
    ) -> (Words, Vec<u8>) {
        let (ms, over) = (choices.milliseconds(), choices.below(8) == 0);
        let at = if over { self.now - 1 } else { self.now + ms };
        let absolute = choices.below(2) == 0;
        let (name, time) = match absolute {
            true => ("PEXPIREAT", at as i64),
            false => ("PEXPIRE", at as i64 - self.now as i64),
        };
        let option = choices.one(&["", "NX", "XX", "GT", "LT"]);
        let mut request = vec![name.into(), key.clone(), time.to_string().into_bytes()];
        request.extend(words(&[option]).into_iter().filter(|word| !word.is_empty()));
        let Some(item) = found else { return (request, int(0)) };
        let does = match option {
            "NX" => item.expiry.is_none(),
            "XX" => item.expiry.is_some(),
            "GT" => item.expiry.is_some_and(|expiry| at > expiry),
            "LT" => item.expiry.is_none_or(|expiry| at < expiry),
            _ => true,
        };
        if does {
            self.put(&key, item.value, Some(at));
        }
        (request, int(does.into()))
    }

    fn rename(
        &mut self,
        key: Vec<u8>,
        found: Option<Item>,
        choices: &mut Choices<'_>,
    ) -> (Words, Vec<u8>) {
        let (to, only_new) = (choices.key(), choices.below(2) == 0);
        let name = if only_new { "RENAMENX" } else { "RENAME" };
        let request = vec![name.into(), key.clone(), to.clone()];
        let Some(item) = found else { return (request, b"-ERR no such key\r\n".to_vec()) };
        if only_new && self.here().contains_key(&to) {
            return (request, int(0));
        }
        self.here().remove(&key);
        self.here().insert(to, item);
        (request, if only_new { int(1) } else { ok() })
    }

    fn copy(
        &mut self,
        key: Vec<u8>,
        found: Option<Item>,
        choices: &mut Choices<'_>,
    ) -> (Words, Vec<u8>) {
        let (to, db, replace) = (choices.key(), choices.below(3), choices.below(2) == 0);
        let mut request = vec![b"COPY".to_vec(), key.clone(), to.clone()];
        request.extend(words(&["DB", &db.to_string()]));
        if replace {
            request.extend(words(&["REPLACE"]));
        }
        if db == self.db && to == key {
            return (request, b"-ERR source and destination objects are the same\r\n".to_vec());
        }
        let done = found.is_some() && (replace || !self.databases[db].contains_key(&to));
        if let (Some(item), true) = (found, done) {
            self.databases[db].insert(to, item);
        }
        (request, int(done.into()))
    }

    fn mset(&mut self, key: Vec<u8>, choices: &mut Choices<'_>) -> (Words, Vec<u8>) {
        let only_new = choices.below(3) == 0;
        let pairs = [(key, choices.value()), (choices.key(), choices.value())];
        let mut request = words(&[if only_new { "MSETNX" } else { "MSET" }]);
        request.extend(pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]));
        if only_new && pairs.iter().any(|(key, _)| self.here().contains_key(key)) {
            return (request, int(0));
        }
        for (key, value) in pairs {
            self.put(&key, value, None);
        }
        (request, if only_new { int(1) } else { ok() })
    }
}
