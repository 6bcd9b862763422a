//! Reads values at the server for the cache, over a connection of its own, which also tells whether the server lives.

use std::collections::hash_map::RandomState;
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use memchr::memchr;
use wirekv_memcache::base64;
use wirekv_proto::limits::{value_max, KEY_MAX};

use crate::guard::{Guard, Ticket};
use crate::io::{Id, Net, Order};
use crate::memcached::TEXT_MARK;
use crate::redis::command;
use crate::server::Protocol;
use crate::value::number;
use crate::{Item, Settings};

/// Values that are asked for at once.
pub const FETCHES: usize = 64;
/// The server is asked whether it is there so often, and is to say something within that.
const PING: Duration = Duration::from_millis(200);
const SILENCE: Duration = Duration::from_secs(1);
/// Keys of a generation of those that were asked for.
const GENERATION: usize = 1 << 16;
/// Keys that are known to have too large values, until they are written.
const LARGE: usize = 1 << 12;
/// Longest line of a reply.
const MAX_LINE: usize = 4 << 10;
/// Ahead of a value in the reply to a transaction.
const BEFORE: &[u8] = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n";
const PONG: &[u8] = b"+PONG\r\n";

/// A value that was asked for.
struct Fetch {
    key: Vec<u8>,
    ticket: Ticket,
    /// Since the UNIX epoch, when it was asked for.
    asked: Duration,
    /// It was too large, and passes.
    passed: bool,
}

enum Asked {
    Ping,
    Fetch(Fetch),
}

/// What the front of the replies is.
enum Reply {
    /// More must come.
    Part,
    /// So many bytes pass: of a value that is too large.
    Pass(usize),
    /// A reply of so many bytes, and what it says: value, flags, CAS unique, time left in milliseconds.
    Whole(usize, Option<Found>),
    Nonsense,
}

struct Found {
    value: Vec<u8>,
    flags: u32,
    unique: u64,
    left: Option<Duration>,
}

/// The connection, and what was asked.
pub struct Filler {
    protocol: Protocol,
    settings: Settings,
    pub id: Option<Id>,
    /// The server has answered.
    pub up: bool,
    queue: VecDeque<Asked>,
    fetches: HashSet<Vec<u8>>,
    input: Vec<u8>,
    skip: usize,
    /// When something came, or was asked while nothing was waited for.
    heard: Instant,
    pinged: Instant,
    hasher: RandomState,
    /// Keys that were asked for lately, and before.
    lately: HashSet<u64>,
    before: HashSet<u64>,
    large: HashSet<u64>,
}

impl Filler {
    pub fn new(protocol: Protocol, settings: Settings, now: Instant) -> Filler {
        Filler {
            protocol,
            settings,
            id: None,
            up: false,
            queue: VecDeque::new(),
            fetches: HashSet::new(),
            input: Vec::new(),
            skip: 0,
            heard: now,
            pinged: now - PING,
            hasher: RandomState::new(),
            lately: HashSet::new(),
            before: HashSet::new(),
            large: HashSet::new(),
        }
    }

    /// When [`tick`](Filler::tick) has something to do.
    pub fn next(&self) -> Instant {
        self.pinged + PING
    }

    /// Asks whether the server is there; connects where there is no connection. False: it has been silent for too long.
    pub fn tick(
        &mut self,
        net: &mut dyn Net,
        now: Instant,
        new_id: &mut dyn FnMut() -> Id,
    ) -> bool {
        if self.id.is_some() && !self.queue.is_empty() && now >= self.heard + SILENCE {
            return false;
        }
        if now < self.next() {
            return true;
        }
        self.pinged = now;
        let id = *self.id.get_or_insert_with(|| {
            let id = new_id();
            net.order(Order::Open(id));
            id
        });
        let ping = match self.protocol {
            Protocol::Memcached => TEXT_MARK.to_vec(),
            Protocol::Redis => command(&[b"PING"]),
        };
        self.ask(Asked::Ping, now);
        net.order(Order::Send(id, ping));
        true
    }

    fn ask(&mut self, asked: Asked, now: Instant) {
        if self.queue.is_empty() {
            self.heard = now;
        }
        self.queue.push_back(asked);
    }

    /// The connection is given up.
    pub fn down(&mut self, net: &mut dyn Net) {
        if let Some(id) = self.id.take() {
            net.order(Order::Close(id));
        }
        (self.up, self.skip) = (false, 0);
        self.queue.clear();
        self.fetches.clear();
        self.input.clear();
    }

    /// A client has asked for a key: it is read for the cache if it was asked for before, and no write is open.
    pub fn want(
        &mut self,
        key: &[u8],
        guard: &Guard,
        net: &mut dyn Net,
        (now, unix): (Instant, Duration),
    ) {
        let Some(id) = self.id.filter(|_| self.up) else { return };
        if key.is_empty() || key.len() > KEY_MAX || !self.is_wanted(key) {
            return;
        }
        if self.fetches.len() >= FETCHES || self.fetches.contains(key) {
            return;
        }
        let Some(ticket) = guard.ticket(key, now) else { return };
        let text = match self.protocol {
            Protocol::Memcached => meta_get(key),
            Protocol::Redis => {
                let words: [&[&[u8]]; 4] =
                    [&[b"MULTI"], &[b"GET", key], &[b"PTTL", key], &[b"EXEC"]];
                words.iter().flat_map(|words| command(words)).collect()
            }
        };
        self.fetches.insert(key.to_vec());
        let fetch = Fetch { key: key.to_vec(), ticket, asked: unix, passed: false };
        self.ask(Asked::Fetch(fetch), now);
        net.order(Order::Send(id, text));
    }

    /// A key has another value from now on, or all keys have.
    pub fn written(&mut self, key: Option<&[u8]>) {
        match key {
            Some(key) => drop(self.large.remove(&self.hasher.hash_one(key))),
            None => self.large.clear(),
        }
    }

    fn is_wanted(&mut self, key: &[u8]) -> bool {
        let hash = self.hasher.hash_one(key);
        if self.large.contains(&hash) {
            return false;
        }
        if self.settings.admit_all || self.before.contains(&hash) || self.lately.contains(&hash) {
            return true;
        }
        if self.lately.len() >= GENERATION {
            self.before = std::mem::take(&mut self.lately);
        }
        self.lately.insert(hash);
        false
    }

    /// Takes what came from the server; values that may go into the cache are added to `items`. False: it is nonsense.
    pub fn feed(&mut self, bytes: &[u8], now: Instant, items: &mut Vec<(Ticket, Item)>) -> bool {
        self.heard = now;
        let passed = self.skip.min(bytes.len());
        self.skip -= passed;
        self.input.extend_from_slice(&bytes[passed..]);
        let mut at = 0;
        while at < self.input.len() {
            let Some(asked) = self.queue.front_mut() else { return false };
            let rest = &self.input[at..];
            let item_max = self.settings.item_max;
            let reply = match (&*asked, self.protocol) {
                (Asked::Ping, Protocol::Memcached) => exactly(rest, TEXT_MARK_REPLY),
                (Asked::Ping, Protocol::Redis) => exactly(rest, PONG),
                (Asked::Fetch(fetch), Protocol::Memcached) => meta_reply(rest, fetch, item_max),
                (Asked::Fetch(fetch), Protocol::Redis) => transaction(rest, fetch, item_max),
            };
            match (reply, asked) {
                (Reply::Part, _) => break,
                (Reply::Nonsense, _) | (Reply::Pass(_), Asked::Ping) => return false,
                (Reply::Pass(count), Asked::Fetch(fetch)) => {
                    fetch.passed = true;
                    if self.large.len() >= LARGE {
                        self.large.clear();
                    }
                    self.large.insert(self.hasher.hash_one(&fetch.key));
                    let here = count.min(rest.len());
                    self.skip = count - here;
                    at += here;
                }
                (Reply::Whole(len, found), _) => {
                    at += len;
                    self.up = true;
                    if let Some(Asked::Fetch(fetch)) = self.queue.pop_front() {
                        self.fetches.remove(&fetch.key);
                        let item = found.and_then(|found| self.item(&fetch, found));
                        items.extend(item.map(|item| (fetch.ticket, item)));
                    }
                }
            }
        }
        self.input.drain(..at);
        true
    }

    /// What becomes of a value, if it lives for long enough.
    fn item(&self, fetch: &Fetch, found: Found) -> Option<Item> {
        // It was asked for before the server looked at its clock.
        let asked = match self.protocol {
            Protocol::Memcached => Duration::from_secs(fetch.asked.as_secs()),
            Protocol::Redis => Duration::from_millis(fetch.asked.as_millis() as u64),
        };
        let left = match (found.left, self.settings.max_age) {
            (Some(left), Some(age)) => Some(left.min(age)),
            (left, age) => left.or(age),
        };
        if left.is_some_and(|left| left.is_zero()) {
            return None;
        }
        let expiry = left.map(|left| asked + left);
        let Found { value, flags, unique, .. } = found;
        Some(Item { key: fetch.key.clone(), value, flags, unique, expiry })
    }
}

const TEXT_MARK_REPLY: &[u8] = b"MN\r\n";

fn exactly(input: &[u8], reply: &[u8]) -> Reply {
    match input.starts_with(reply) {
        true => Reply::Whole(reply.len(), None),
        false if reply.starts_with(input) => Reply::Part,
        false => Reply::Nonsense,
    }
}

/// The value with its flags, CAS unique and time to live.
fn meta_get(key: &[u8]) -> Vec<u8> {
    let is_word = key.iter().all(|byte| *byte > b' ' && *byte != 0x7f);
    let mut line = b"mg ".to_vec();
    match is_word {
        true => line.extend_from_slice(key),
        false => base64::encode(key, |group| line.extend_from_slice(group)),
    }
    line.extend_from_slice(if is_word { b" v f c t k\r\n" } else { b" v f c t b\r\n" });
    line
}

/// A line at the front, without its end, and its length.
fn line(input: &[u8]) -> Result<(&[u8], usize), Reply> {
    match memchr(b'\n', &input[..input.len().min(MAX_LINE)]) {
        Some(end) => match input[..end].strip_suffix(b"\r") {
            Some(line) => Ok((line, end + 1)),
            None => Err(Reply::Nonsense),
        },
        None if input.len() < MAX_LINE => Err(Reply::Part),
        None => Err(Reply::Nonsense),
    }
}

/// A value of `len` bytes at `at`, and what is behind it.
fn value(input: &[u8], at: usize, len: usize) -> Result<(&[u8], usize), Reply> {
    let end = at + len;
    match input.get(end..end + 2) {
        None => Err(Reply::Part),
        Some(b"\r\n") => Ok((&input[at..end], end + 2)),
        Some(_) => Err(Reply::Nonsense),
    }
}

fn meta_reply(input: &[u8], fetch: &Fetch, item_max: usize) -> Reply {
    if fetch.passed {
        return Reply::Whole(0, None);
    }
    read_meta(input, value_max(item_max, fetch.key.len())).unwrap_or_else(|reply| reply)
}

fn read_meta(input: &[u8], longest: usize) -> Result<Reply, Reply> {
    let (text, next) = line(input)?;
    let mut words = text.split(|byte| *byte == b' ');
    match words.next().unwrap_or_default() {
        b"VA" => {}
        // It is not there, or the server does not give it.
        b"EN" | b"SERVER_ERROR" | b"CLIENT_ERROR" => return Ok(Reply::Whole(next, None)),
        _ => return Err(Reply::Nonsense),
    }
    let size = words.next().and_then(number).and_then(|len| usize::try_from(len).ok());
    let size = size.ok_or(Reply::Nonsense)?;
    if size > longest {
        return Ok(Reply::Pass(next + size + 2));
    }
    let (value, end) = value(input, next, size)?;
    let (mut flags, mut unique, mut left, mut plain) = (None, None, None, true);
    for word in words {
        let rest = || number(&word[1..]);
        match word.first() {
            Some(b'f') => flags = rest().and_then(|flags| u32::try_from(flags).ok()),
            Some(b'c') => {
                unique = std::str::from_utf8(&word[1..]).ok().and_then(|text| text.parse().ok());
            }
            Some(b't') => left = rest(),
            // Somebody is to renew it; its key is shown in base64 to all, which a copy's is not.
            Some(b'W' | b'X' | b'Z' | b'b') => plain = false,
            _ => {}
        }
    }
    let (Some(flags), Some(unique), Some(left)) = (flags, unique, left) else {
        return Err(Reply::Nonsense);
    };
    let left = match left {
        -1 => None,
        // The server's second began before this one, or after.
        left => Some(Duration::from_secs(u64::try_from(left).unwrap_or(0).saturating_sub(1))),
    };
    let found = Found { value: value.to_vec(), flags, unique, left };
    Ok(Reply::Whole(end, plain.then_some(found)))
}

fn transaction(input: &[u8], fetch: &Fetch, item_max: usize) -> Reply {
    let longest = value_max(item_max, fetch.key.len());
    read_transaction(input, fetch.passed, longest).unwrap_or_else(|reply| reply)
}

fn read_transaction(input: &[u8], passed: bool, longest: usize) -> Result<Reply, Reply> {
    if passed {
        let (text, end) = line(input)?;
        return match text.first() {
            Some(b':') => Ok(Reply::Whole(end, None)),
            _ => Err(Reply::Nonsense),
        };
    }
    let here = BEFORE.len().min(input.len());
    if input[..here] != BEFORE[..here] {
        return Err(Reply::Nonsense);
    }
    let rest = input.get(BEFORE.len()..).filter(|rest| !rest.is_empty()).ok_or(Reply::Part)?;
    let (text, next) = line(rest)?;
    let size = match text.split_first() {
        Some((b'$', size)) => usize::try_from(number(size).ok_or(Reply::Nonsense)?).ok(),
        // Another type than a string.
        Some((b'-', _)) => None,
        _ => return Err(Reply::Nonsense),
    };
    let (found, at) = match size {
        Some(size) if size > longest => return Ok(Reply::Pass(BEFORE.len() + next + size + 2)),
        Some(size) => value(rest, next, size).map(|(value, end)| (Some(value), end))?,
        None => (None, next),
    };
    let (text, len) = line(rest.get(at..).unwrap_or_default())?;
    let left = match text.split_first() {
        Some((b':', left)) => number(left).ok_or(Reply::Nonsense)?,
        _ => return Err(Reply::Nonsense),
    };
    let left = match left {
        -1 => None,
        left => Some(Duration::from_millis(u64::try_from(left).unwrap_or(0))),
    };
    let found = found.map(|value| Found { value: value.to_vec(), flags: 0, unique: 0, left });
    Ok(Reply::Whole(BEFORE.len() + at + len, found))
}
