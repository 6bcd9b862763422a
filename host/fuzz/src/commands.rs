//! Redis' commands, with the store, against a plain map.

use wirekv_proto::{Next, Out, Parse, Protocol};
use wirekv_resp::{Client, Engine, Session};

use crate::map::{bulk, key, Choices, Map, KEYS};
use crate::{engine, Clock, Speech};

/// A connection on a thread of its own.
struct Talk {
    session: Session,
    engine: Engine,
    out: Out,
}

impl Talk {
    fn new(mut engine: Engine) -> Talk {
        // Until it is asked: others may have to wait for it.
        engine.local.offline();
        let session = Client::new(1, &engine.common).into();
        Talk { session, engine, out: Out::new() }
    }

    /// Another one to the same store.
    fn beside(&self) -> Talk {
        let local = self.engine.local.store().local();
        let (settings, common) = (self.engine.settings.clone(), self.engine.common.clone());
        Talk::new(Engine::new(local, settings, common))
    }

    /// The reply to a command.
    fn ask(&mut self, words: &[Vec<u8>]) -> Vec<u8> {
        let words_ = words.iter().flat_map(|word| bulk(word));
        let mut input: Vec<u8> = format!("*{}\r\n", words.len()).into_bytes();
        input.extend(words_);
        let mut clock = Clock(self.engine.local.store().clone());
        let Talk { session, engine, out } = self;
        while let Parse::Request(mut request) = session.parse(&input, engine) {
            while session.execute(&mut request, &input, engine, &mut clock, out) != Next::Continue {
                engine.local.quiesce();
            }
            input.drain(..request.len as usize);
        }
        assert!(input.is_empty());
        let reply = out.to_vec();
        out.clear();
        engine.local.quiesce();
        engine.local.offline();
        reply
    }

    fn ask_text(&mut self, text: &str) -> Vec<u8> {
        self.ask(&text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    fn evicted(&self) -> bool {
        self.engine.local.store().stats().evictions > 0
    }
}

/// What another connection watches, in database 0.
struct Watched {
    key: Vec<u8>,
    state: Option<(Vec<u8>, Option<u64>)>,
    changed: bool,
    /// A command named it, which may have changed it to what it was.
    named: bool,
}

impl Watched {
    fn look(&mut self, map: &Map) {
        let state = map.state(0, &self.key);
        self.changed |= state != self.state;
        self.state = state;
    }
}

/// Commands on a few keys of three databases, some in transactions, while time passes: each reply is
/// that of a plain map. Another connection watches a key.
pub fn fuzz_redis(data: &[u8]) {
    let mut choices = Choices(data);
    let mut talk = Talk::new(Client::engine(engine(Protocol::Auto, false)));
    let store = talk.engine.local.store().clone();
    let mut other = talk.beside();
    let mut map = Map::new(store.now_ms());
    let mut watched: Option<Watched> = None;
    while !choices.0.is_empty() && !talk.evicted() {
        let mut named = Vec::new();
        match choices.byte() % 16 {
            0 => {
                let ms = u64::from(choices.byte()) * [1, 7, 100][usize::from(choices.byte() % 3)];
                map.set_now(map.now + ms);
                // The clock's 0 is that of Unix time.
                store.set_clock(map.now);
            }
            1 => transaction(&mut talk, &mut map, &mut choices, &mut named),
            2 => {
                let keys = map.keys();
                assert_eq!(scan(&mut talk, choices.byte()), keys, "SCAN");
                // One that has expired counts until somebody looks for it.
                let name = std::iter::once(b"EXISTS".to_vec());
                let all: Vec<_> = name.chain((0..KEYS).map(key)).collect();
                let count = format!(":{}\r\n", keys.len());
                assert_same(&all, &talk.ask(&all), count.as_bytes());
                assert_same(&[b"DBSIZE".to_vec()], &talk.ask_text("DBSIZE"), count.as_bytes());
            }
            3 => {
                let key = choices.key();
                let reply = other.ask(&[b"WATCH".to_vec(), key.clone()]);
                assert_eq!(reply, b"+OK\r\n");
                // One that is watched already is watched as it was then.
                if watched.is_none() {
                    let state = map.state(0, &key);
                    watched = Some(Watched { key, state, changed: false, named: false });
                } else {
                    assert_eq!(other.ask_text("UNWATCH"), b"+OK\r\n");
                    watched = None;
                }
            }
            4 => {
                if let Some(watched) = watched.take() {
                    exec(&mut other, &map, &watched);
                }
            }
            _ => {
                let (words, expect) = map.step(&mut choices);
                assert_same(&words, &talk.ask(&words), &expect);
                named = words;
            }
        }
        if let Some(watched) = &mut watched {
            watched.look(&map);
            let all = named.iter().any(|word| word == b"SWAPDB");
            watched.named |= all || named.contains(&watched.key);
        }
    }
}

fn assert_same(words: &[Vec<u8>], got: &[u8], expect: &[u8]) {
    assert!(
        got == expect,
        "{}: {}, should be {}",
        words.join(&b' ').escape_ascii(),
        got.escape_ascii(),
        expect.escape_ascii()
    );
}

/// Some commands that are done as one, or not at all.
fn transaction(
    talk: &mut Talk,
    map: &mut Map,
    choices: &mut Choices<'_>,
    named: &mut Vec<Vec<u8>>,
) {
    let (count, keep) = (choices.byte() % 6, choices.byte() > 63);
    let mut after = map.clone();
    assert_eq!(talk.ask_text("MULTI"), b"+OK\r\n");
    let mut replies = format!("*{count}\r\n").into_bytes();
    for _ in 0..count {
        let (words, expect) = after.step(choices);
        assert_same(&words, &talk.ask(&words), b"+QUEUED\r\n");
        replies.extend(expect);
        named.extend(words);
    }
    match keep {
        true => {
            assert_same(&[b"EXEC".to_vec()], &talk.ask_text("EXEC"), &replies);
            *map = after;
        }
        false => {
            assert_eq!(talk.ask_text("DISCARD"), b"+OK\r\n");
            named.clear();
        }
    }
}

/// A transaction of who watches: it fails if the key has changed, and only then.
fn exec(other: &mut Talk, map: &Map, watched: &Watched) {
    assert_eq!(other.ask_text("MULTI"), b"+OK\r\n");
    let queued = other.ask(&[b"GET".to_vec(), watched.key.clone()]);
    assert_eq!(queued, b"+QUEUED\r\n");
    let reply = other.ask_text("EXEC");
    let value = map.state(0, &watched.key);
    let value = value.map_or_else(|| b"$-1\r\n".to_vec(), |(value, _)| bulk(&value));
    let done = reply == [b"*1\r\n", &value[..]].concat();
    let failed = reply == b"*-1\r\n";
    assert!(done || failed, "EXEC: {}", reply.escape_ascii());
    assert!(!(done && watched.changed), "a watched key has changed, and EXEC did not fail");
    assert!(done || watched.changed || watched.named, "EXEC failed, and nothing had changed");
}

/// All keys of the present database, in order.
fn scan(talk: &mut Talk, count: u8) -> Vec<Vec<u8>> {
    let (mut found, mut cursor, mut calls) = (Vec::new(), "0".to_string(), 0);
    loop {
        let reply = talk.ask_text(&format!("SCAN {cursor} COUNT {}", u16::from(count) + 1));
        let mut parts = strings(&reply).into_iter();
        cursor = String::from_utf8(parts.next().expect("a cursor")).expect("digits");
        found.extend(parts);
        calls += 1;
        assert!(calls < 10_000, "a scan without an end");
        if cursor == "0" {
            found.sort();
            found.dedup();
            return found;
        }
    }
}

/// The strings in a reply.
fn strings(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a line");
        let number: usize = std::str::from_utf8(&rest[1..end]).unwrap().parse().unwrap();
        let string = rest[0] == b'$';
        rest = &rest[end + 2..];
        if string {
            found.push(rest[..number].to_vec());
            rest = &rest[number + 2..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_choices() {
        let mut state = 7u64;
        for _ in 0..300 {
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as u8
            };
            let data: Vec<u8> = (0..1500).map(|_| next()).collect();
            fuzz_redis(&data);
        }
    }
}
