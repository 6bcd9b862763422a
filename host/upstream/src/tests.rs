//! Against a server that is a table in memory, whose connections are served in any order, with a clock that the test moves.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::{
    Cache, Event, Id, Item, Net, Order, Piece, Protocol, Server, Settings, Tag, Upstream, Within,
    QUARANTINE,
};

/// A memcached with `set`, `delete`, `get`, `flush_all`, `mg` and `mn`.
#[derive(Default)]
struct Model {
    items: HashMap<Vec<u8>, Vec<u8>>,
    /// Bytes of each connection that were not served, and replies that have not come to the host.
    conns: BTreeMap<Id, Vec<u8>>,
    replies: BTreeMap<Id, VecDeque<Vec<u8>>>,
    /// What lost connections have sent may be served until then.
    ghosts: Vec<(Instant, Vec<u8>)>,
    /// When it empties itself.
    flushes: Vec<Instant>,
    told: Vec<Event>,
    now: Option<Instant>,
    /// Reads for the cache.
    reads: u32,
}

impl Model {
    /// Serves the first command of what a connection has sent.
    fn serve(&mut self, text: &mut Vec<u8>, draws: &mut SmallRng) -> Option<Vec<u8>> {
        let end = text.iter().position(|byte| *byte == b'\n')? + 1;
        let line = String::from_utf8(text[..end].to_vec()).unwrap();
        let body = line.strip_prefix("set ").and_then(|rest| rest.split_whitespace().nth(3));
        let body = body.map_or(0, |len| len.parse::<usize>().unwrap() + 2);
        if text.len() < end + body {
            return None;
        }
        text.drain(..end);
        let words: Vec<&str> = line.split_whitespace().collect();
        let key = words.get(1).copied().unwrap_or_default();
        let value = self.items.get(key.as_bytes());
        Some(match (words[0], value) {
            ("mn", _) => b"MN\r\n".to_vec(),
            ("set", _) => {
                let len: usize = words[4].parse().unwrap();
                let value = text.drain(..len + 2).take(len).collect();
                self.items.insert(key.into(), value);
                b"STORED\r\n".to_vec()
            }
            ("delete", _) => {
                self.items.remove(key.as_bytes());
                b"DELETED\r\n".to_vec()
            }
            ("flush_all", _) => {
                match key.parse::<u64>() {
                    // Its seconds begin at any time.
                    Ok(delay) => {
                        let early = Duration::from_millis(draws.random_range(0..1000));
                        self.flushes.push(self.now.unwrap() + Duration::from_secs(delay) - early);
                    }
                    Err(_) => self.items.clear(),
                }
                b"OK\r\n".to_vec()
            }
            ("get", None) => b"END\r\n".to_vec(),
            ("get", Some(value)) => {
                let head = format!("VALUE {key} 0 {}\r\n", value.len());
                [head.as_bytes(), value, b"\r\nEND\r\n"].concat()
            }
            ("mg", None) => b"EN\r\n".to_vec(),
            ("mg", Some(value)) => {
                self.reads += 1;
                let head = format!("VA {} f0 c1 t-1\r\n", value.len());
                [head.as_bytes(), value, b"\r\n"].concat()
            }
            (other, _) => panic!("{other}"),
        })
    }
}

impl Net for Model {
    fn order(&mut self, order: Order) {
        match order {
            Order::Open(id) => drop(self.conns.insert(id, Vec::new())),
            Order::Send(id, bytes) => {
                if let Some(text) = self.conns.get_mut(&id) {
                    self.told.push(Event::Sent(id, bytes.len()));
                    text.extend(bytes);
                }
            }
            Order::Took(..) => {}
            Order::Close(id) => {
                let until = self.now.unwrap() + QUARANTINE;
                self.ghosts.extend(self.conns.remove(&id).map(|text| (until, text)));
                self.replies.remove(&id);
            }
        }
    }

    fn go(&mut self) {}

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.told)
    }
}

/// The cache.
#[derive(Default)]
struct Table(HashMap<Vec<u8>, Vec<u8>>);

impl Cache for Table {
    fn delete(&mut self, keys: &[Vec<u8>]) -> bool {
        keys.iter().for_each(|key| drop(self.0.remove(key)));
        true
    }

    fn flush(&mut self) -> bool {
        self.0.clear();
        true
    }

    fn fill(&mut self, items: &[Item]) -> bool {
        self.0.extend(items.iter().map(|item| (item.key.clone(), item.value.clone())));
        true
    }
}

struct World {
    upstream: Upstream<Model>,
    table: Table,
    draws: SmallRng,
    now: Instant,
    /// What clients send next that wait for an answer.
    waits: [Option<Vec<u8>>; CLIENTS],
    value: u64,
    hits: u32,
}

const CLIENTS: usize = 4;
const KEYS: u8 = 3;
const UNIX: Duration = Duration::from_secs(1_000_000_000);

impl World {
    fn new(seed: u64) -> World {
        let now = Instant::now();
        let (address, table) = (([127, 0, 0, 1], 1).into(), crate::table::Table::default());
        let server = Server { protocol: Protocol::Memcached, address, table };
        let settings = Settings { admit_all: true, item_max: 1000, ..Settings::default() };
        let model = Model { now: Some(now), ..Model::default() };
        World {
            upstream: Upstream::new(server, settings, model, now).unwrap(),
            table: Table::default(),
            draws: SmallRng::seed_from_u64(seed),
            now,
            waits: Default::default(),
            value: 0,
            hits: 0,
        }
    }

    fn draw<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.draws.random_range(0..from.len())])
    }

    fn step(&mut self) {
        match self.draws.random_range(0..240) {
            0..=79 => self.ask(),
            80..=139 => self.serve(),
            140..=179 => self.tell(),
            180..=219 => self.turn(),
            220..=229 => self.serve_ghost(),
            230 => self.lose(),
            _ => self.pass(),
        }
        // What gates could answer is what the server has.
        for (key, value) in &self.table.0 {
            let there = self.upstream.net.items.get(key);
            assert_eq!(there, Some(value), "{}", key.escape_ascii());
        }
    }

    /// A client that waits for nothing asks for something.
    fn ask(&mut self) {
        let conn = self.draws.random_range(0..CLIENTS);
        let key = char::from(b'a' + self.draws.random_range(0..KEYS));
        if self.waits[conn].is_some() {
            return;
        }
        let text = match self.draws.random_range(0..100) {
            0..=19 => {
                self.value += 1;
                let value = self.value.to_string();
                // An answer may come while the last command is not complete.
                let before = self.draw(&["", "get z\r\n"]).unwrap();
                format!("{before}set {key} 0 0 {}\r\n{value}\r\n", value.len())
            }
            20..=24 => format!("delete {key}\r\n"),
            25 => "flush_all\r\n".into(),
            26 => "flush_all 2\r\n".into(),
            _ if self.table.0.contains_key(&vec![key as u8]) => {
                self.hits += 1;
                return;
            }
            _ => format!("get {key}\r\n"),
        };
        let mut text = text.into_bytes();
        let cut = self.draws.random_range(1..=text.len());
        self.waits[conn] = Some(text.split_off(cut));
        self.row(conn, &text);
    }

    fn row(&mut self, conn: usize, text: &[u8]) {
        let row = (Within::No, false);
        self.upstream.row([conn as u8, 0, 0, 0], text, row, (self.now, UNIX));
    }

    /// The server serves a command of some connection.
    fn serve(&mut self) {
        let ids: Vec<Id> = self.upstream.net.conns.keys().copied().collect();
        let Some(id) = self.draw(&ids) else { return };
        let model = &mut self.upstream.net;
        let mut text = model.conns.remove(&id).unwrap();
        let reply = model.serve(&mut text, &mut self.draws);
        model.conns.insert(id, text);
        model.replies.entry(id).or_default().extend(reply);
    }

    /// The server serves a command of a connection that is no more.
    fn serve_ghost(&mut self) {
        let (model, now) = (&mut self.upstream.net, self.now);
        model.ghosts.retain(|(until, _)| *until > now);
        if let Some((until, mut text)) = model.ghosts.pop() {
            if model.serve(&mut text, &mut self.draws).is_some() {
                model.ghosts.push((until, text));
            }
        }
    }

    /// A reply comes to the host.
    fn tell(&mut self) {
        let replies = &self.upstream.net.replies;
        let ids: Vec<Id> =
            replies.iter().filter(|(_, r)| !r.is_empty()).map(|(id, _)| *id).collect();
        let Some(id) = self.draw(&ids) else { return };
        let model = &mut self.upstream.net;
        let reply = model.replies.get_mut(&id).and_then(VecDeque::pop_front);
        model.told.extend(reply.map(|reply| Event::Data(id, reply)));
    }

    /// A connection breaks.
    fn lose(&mut self) {
        let ids: Vec<Id> = self.upstream.net.conns.keys().copied().collect();
        let Some(id) = self.draw(&ids) else { return };
        self.upstream.net.order(Order::Close(id));
        self.upstream.net.told.push(Event::Closed { id, connected: true });
    }

    /// Time passes.
    fn pass(&mut self) {
        self.now += Duration::from_millis(self.draws.random_range(0..40));
        let (model, now) = (&mut self.upstream.net, self.now);
        model.now = Some(now);
        // The host wakes up when it has something to do, before that is due.
        self.turn();
        let model = &mut self.upstream.net;
        if model.flushes.iter().any(|at| *at <= now) {
            model.items.clear();
            model.flushes.retain(|at| *at > now);
        }
    }

    fn turn(&mut self) {
        let mut pieces: Vec<(Tag, Piece)> = Vec::new();
        let mut say = |tag, piece, _| pieces.push((tag, piece));
        self.upstream.turn(self.now, &mut self.table, &mut say);
        for (tag, piece) in pieces {
            let conn = usize::from(tag[0]);
            match (piece.last, piece.closes) {
                (false, _) => self.upstream.more(tag, self.now),
                (true, true) => self.waits[conn] = None,
                (true, false) => match self.waits[conn].take() {
                    Some(rest) if !rest.is_empty() => {
                        self.waits[conn] = Some(Vec::new());
                        self.row(conn, &rest);
                    }
                    _ => {}
                },
            }
        }
    }
}

/// Whatever the order in which things happen.
#[test]
fn the_cache_has_what_the_server_has() {
    let mut hits = 0;
    for seed in 0..100 {
        let mut world = World::new(seed);
        for _ in 0..5000 {
            world.step();
        }
        hits += world.hits;
    }
    assert!(hits > 1000, "{hits}");
}

/// A value that has no room in the cache is read for it once, and again when it was written.
#[test]
fn a_large_value_is_not_read_again() {
    let mut world = World::new(1);
    // Commands of one client, and how often the server was asked for a copy meanwhile.
    let mut asked = |text: &[u8]| {
        let (before, mut sent) = (world.upstream.net.reads, 0);
        for _ in 0..50 {
            if world.waits[0].is_none() {
                sent += 1;
                world.waits[0] = Some(Vec::new());
                world.row(0, text);
            }
            for _ in 0..4 {
                world.serve();
                world.tell();
            }
            world.pass();
        }
        assert!(sent > 3, "{sent}");
        (world.upstream.net.reads - before, world.table.0.len())
    };
    let large = [&b"set a 0 0 2000\r\n"[..], &[b'x'; 2000], b"\r\n"].concat();
    assert_eq!(asked(&large), (0, 0));
    assert_eq!(asked(b"get a\r\n"), (1, 0));
    assert_eq!(asked(b"get a\r\n"), (0, 0));
    assert_eq!(asked(b"set a 0 0 1\r\nx\r\n"), (0, 0));
    let (reads, copies) = asked(b"get a\r\n");
    assert!(reads > 0 && copies == 1, "{reads} {copies}");
}
