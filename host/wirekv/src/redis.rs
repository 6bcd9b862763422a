//! Commands of Redis' protocol that the card leaves to this program, as they came: the same code as in the
//! software body answers what needs no items, and says so where they would be needed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use wirekv_card::Card;
use wirekv_protocol::redis::{Client, Common, Error, Facts, Key, Shown};
use wirekv_protocol::store::{Config, Store};
use wirekv_protocol::{Counters, Engine, Next, Out, Parse, Server, Session, Settings, Told};

use crate::args::ServeArgs;
use crate::exceptions::{Context, Request, Tag};
use crate::items::Items;

/// The store of this program has items while a command works with them, and watched ones.
const STORE_BYTES: usize = 128 << 20;
/// The store's clock begins here, as memcached's: no time that a client gives is in the past then.
const CLOCK_START: Duration = Duration::from_secs(2);
const NOT_NOW: &[u8] = b"-ERR a command that waits is not there with --body sim\r\n";

/// A connection that has asked for something.
struct Conn {
    session: Session,
    shown: Arc<Shown>,
    /// What has come of its command.
    text: Vec<u8>,
}

pub struct Redis {
    engine: Engine,
    conns: HashMap<Tag, Conn>,
    /// Connections are numbered.
    last: u64,
    host: Host,
    pub items: Items,
    /// Commands that wait for memory (see `protocol/src/redis/kept.rs`), and their connections' databases.
    waiting: VecDeque<(Tag, Vec<u8>, u8)>,
    start: Instant,
}

/// What a command came to.
#[derive(Default)]
pub struct Answer {
    pub text: Vec<u8>,
    pub closes: bool,
    /// Nothing yet: it is to be tried again.
    waits: bool,
}

impl Redis {
    pub fn new(args: &ServeArgs, index_bits: u32) -> Result<Redis> {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let zero = unix.saturating_sub(CLOCK_START);
        let config =
            Config { evict: false, epoch: zero.as_millis() as u64, ..Config::new(STORE_BYTES) };
        let store = Store::new(config)?;
        let settings = Settings {
            epoch: zero.as_secs() as i64,
            item_max: args.max_item_size as usize,
            elsewhere: true,
            redis: Arc::new(Common::new(b"", false)),
            ..Settings::default()
        };
        let facts = Facts {
            port: args.redis_port,
            bind: args.listen.join(" "),
            threads: 1,
            max_conns: args.conn_limit as usize,
            memory: (args.memory_limit as usize) << 20,
            item_max: args.max_item_size as usize,
            evicts: true,
            ..Facts::default()
        };
        let engine = Engine::new(store.local(), Arc::new(settings));
        Ok(Redis {
            engine,
            conns: HashMap::new(),
            last: 0,
            host: Host { facts, shown: Vec::new() },
            items: Items::new(index_bits),
            waiting: VecDeque::new(),
            start: Instant::now(),
        })
    }

    /// What the card is to know of a connection.
    pub fn context(&self, request: &Request<'_>) -> Context {
        match self.conns.get(&request.tag) {
            Some(Conn { session, .. }) if request.resp => Context {
                resp3: session.speaks_resp3(),
                all: session.wants_all(),
                db: session.db(),
            },
            _ => Context::default(),
        }
    }

    /// A command, or a part of it; the answer when it is whole, and there is memory for what it keeps.
    pub fn take(&mut self, request: &Request<'_>, card: &mut dyn Card) -> Option<Answer> {
        if request.stranger && request.begins {
            self.conns.remove(&request.tag);
        }
        let common = &self.engine.settings.redis;
        let (last, facts) = (&mut self.last, &self.host.facts);
        let conn = self.conns.entry(request.tag).or_insert_with(|| {
            *last += 1;
            // Who it is, only the card knows.
            let address = format!("card:{}", u32::from_le_bytes(request.tag) & 0x3fff);
            let shown = Arc::new(Shown::new(*last, address, facts.bind.clone(), false, 0));
            let session = Session::redis(Client::shown_as(shown.clone(), common));
            Conn { session, shown, text: Vec::new() }
        });
        if request.begins {
            conn.text.clear();
        }
        conn.text.extend_from_slice(request.text);
        if request.more {
            return None;
        }
        let text = std::mem::take(&mut conn.text);
        if conn.shown.is_killed() {
            return Some(Answer { closes: true, ..Answer::default() });
        }
        self.host.shown = self.conns.values().map(|conn| conn.shown.clone()).collect();
        let conn = self.conns.get_mut(&request.tag).expect("it is there");
        conn.session.enters(request.db);
        let clock = CLOCK_START + self.start.elapsed();
        self.engine.local.store().set_clock(clock.as_millis() as u64);
        let mut serving = Serving { host: &mut self.host, items: &mut self.items, card };
        let answer = run(conn, &text, &mut self.engine, &mut serving);
        self.items.unwatch(&self.engine);
        if answer.waits {
            self.waiting.push_back((request.tag, text, request.db));
            self.end_killed();
            return None;
        }
        Some(answer)
    }

    /// Those that have kept too much for too long, and were told to make room, keep nothing any more. They are closed
    /// when they ask for something.
    fn end_killed(&mut self) {
        let common = &self.engine.settings.redis;
        for conn in self.conns.values_mut().filter(|conn| conn.shown.is_killed()) {
            conn.session = Session::redis(Client::shown_as(conn.shown.clone(), common));
        }
    }

    /// Some command waits for memory.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A command that has waited, and is worth another try: its connection's name, itself, and its database.
    pub fn again(&mut self) -> Option<(Tag, Vec<u8>, u8)> {
        let conn = self.conns.get(&self.waiting.front()?.0);
        let ready = |conn: &Conn| conn.shown.is_killed() || conn.session.may_go_on(&self.engine);
        if conn.is_none_or(ready) {
            self.waiting.pop_front()
        } else {
            None
        }
    }
}

fn run(conn: &mut Conn, text: &[u8], engine: &mut Engine, host: &mut dyn Server) -> Answer {
    let mut out = Out::new();
    let mut answer = Answer::default();
    let mut at = 0;
    while !answer.closes {
        let mut request = match conn.session.parse(&text[at..], engine) {
            Parse::Request(request) => request,
            Parse::Need(_) => break,
            Parse::Close => {
                answer.closes = true;
                break;
            }
        };
        loop {
            let next = conn.session.execute(&mut request, &text[at..], engine, host, &mut out);
            answer.closes |= next == Next::Close;
            answer.waits = next == Next::Wait;
            let again = matches!(next, Next::Again | Next::Full);
            answer.text.extend(out.to_vec());
            out.clear();
            if answer.waits {
                return answer;
            }
            if next == Next::Sleep {
                answer.text.extend_from_slice(NOT_NOW);
            }
            if !again {
                break;
            }
        }
        at += request.len as usize;
    }
    answer
}

/// The rest of this program, as commands see it.
struct Host {
    facts: Facts,
    shown: Vec<Arc<Shown>>,
}

/// The same while a command is executed.
struct Serving<'a> {
    host: &'a mut Host,
    items: &'a mut Items,
    card: &'a mut dyn Card,
}

impl Server for Serving<'_> {
    fn stats(
        &mut self,
        _args: &[u8],
        _from: u64,
        _own: &Counters,
        _line: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Told {
        Told::Nothing
    }

    fn connections(&mut self) -> Vec<Arc<Shown>> {
        self.host.shown.clone()
    }

    fn facts(&mut self, own: &Counters) -> Facts {
        Facts { counters: *own, ..self.host.facts.clone() }
    }

    fn bring(&mut self, engine: &mut Engine, keys: &[Key], watched: bool) -> Result<(), Error> {
        self.items.bring(self.card, engine, keys, watched)
    }

    fn give_back(&mut self, engine: &mut Engine) -> Result<(), Error> {
        self.items.give_back(self.card, engine)
    }

    fn walk(
        &mut self,
        engine: &mut Engine,
        db: u8,
        cursor: u64,
        count: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, Error> {
        self.items.walk(self.card, engine, (db, cursor, count), each)
    }

    fn any_key(&mut self, engine: &mut Engine, db: u8) -> Result<Option<Box<[u8]>>, Error> {
        self.items.any_key(self.card, engine, db)
    }

    fn flush(&mut self, engine: &mut Engine, db: Option<u8>) -> Result<(), Error> {
        self.items.flush(self.card, engine, db)
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use wirekv_card::{CardError, Port};

    /// It does nothing.
    struct NoCard;

    impl Card for NoCard {
        fn read_csr(&mut self, _: u32) -> Result<u32, CardError> {
            Ok(0)
        }
        fn write_csr(&mut self, _: u32, _: u32) -> Result<(), CardError> {
            Ok(())
        }
        fn send(&mut self, _: Port, _: &[u8]) {}
        fn backlog(&self, _: Port) -> usize {
            0
        }
        fn advance(&mut self, _: u64) {}
        fn receive(&mut self, _: Port, _: &mut dyn FnMut(&[u8])) {}
        fn tick(&mut self) {}
        fn idle(&self) -> bool {
            true
        }
        fn timers(&self) -> bool {
            false
        }
        fn clock(&self) -> u64 {
            0
        }
    }

    fn redis() -> Redis {
        Redis::new(&ServeArgs::parse_from(["serve", "--redis-port", "6379"]), 10).unwrap()
    }

    fn asks<'a>(tag: Tag, text: &'a [u8]) -> Request<'a> {
        Request {
            tag,
            text,
            udp: false,
            resp: true,
            more: false,
            stranger: false,
            begins: true,
            db: 0,
        }
    }

    #[test]
    fn what_needs_no_items() {
        let mut redis = redis();
        let mut says = |tag, text: &[u8]| redis.take(&asks(tag, text), &mut NoCard).unwrap().text;
        assert_eq!(says([1; 4], b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"), b"$2\r\nhi\r\n");
        assert_eq!(says([1; 4], b"PING hallo\r\n"), b"$5\r\nhallo\r\n");
        assert_eq!(says([1; 4], b"\r\n"), b"");
        let wrong = says([1; 4], b"*1\r\n$3\r\nGET\r\n");
        assert_eq!(wrong, b"-ERR wrong number of arguments for 'get' command\r\n");
        assert!(says([1; 4], b"NOSUCH\r\n").starts_with(b"-ERR unknown command"));
    }

    #[test]
    fn what_is_not_there() {
        let mut redis = redis();
        for line in ["SWAPDB 0 1\r\n", "OBJECT FREQ k\r\n", "GET \"\"\r\n"] {
            let answer = redis.take(&asks([1; 4], line.as_bytes()), &mut NoCard).unwrap();
            let text = String::from_utf8(answer.text).unwrap();
            assert!(text.starts_with("-ERR ") && text.contains("--body sim"), "{line}: {text}");
        }
        let answer = redis.take(&asks([1; 4], b"SELECT 0\r\n"), &mut NoCard).unwrap();
        assert_eq!(answer.text, b"+OK\r\n");
        let answer = redis.take(&asks([1; 4], b"RENAME a b\r\n"), &mut NoCard).unwrap();
        assert!(answer.text.starts_with(b"-ERR the card"));
        for line in
            ["KEYS *\r\n", "FLUSHALL ASYNC\r\n", "DBSIZE\r\n", "SCAN 0\r\n", "RANDOMKEY\r\n"]
        {
            let answer = redis.take(&asks([1; 4], line.as_bytes()), &mut NoCard).unwrap();
            assert!(answer.text.starts_with(b"-ERR the card"), "{line}");
        }
    }

    #[test]
    fn what_the_card_is_to_know() {
        let mut redis = redis();
        let mut after = |line: &str| {
            let request = Request { db: 3, ..asks([1; 4], line.as_bytes()) };
            redis.take(&request, &mut NoCard);
            redis.context(&request)
        };
        let all = Context { all: true, db: 3, resp3: false };
        assert_eq!(after("PING\r\n"), Context { all: false, ..all });
        assert_eq!(after("MULTI\r\n"), all);
        assert_eq!(after("GET a\r\n"), all);
        assert_eq!(after("DISCARD\r\n"), Context { all: false, ..all });
        assert_eq!(after("CLIENT REPLY OFF\r\n"), all);
        assert_eq!(after("CLIENT REPLY ON\r\n"), Context { all: false, ..all });
        assert_eq!(after("RESET\r\n"), Context::default());
    }

    #[test]
    fn errors_of_what_gates_run_otherwise() {
        let mut redis = redis();
        for (line, error) in [
            ("SET k v EX", "syntax error"),
            ("SET k v NX XX", "syntax error"),
            ("SET k v EX 0", "invalid expire time in 'set' command"),
            ("SET k v PXAT 1x", "value is not an integer or out of range"),
            ("SETEX k -1 v", "invalid expire time in 'setex' command"),
            ("PSETEX k 9223372036854775807 v", "invalid expire time in 'psetex' command"),
            ("GETEX k EX 1 PERSIST", "syntax error"),
            ("EXPIRE k 1 WHEN", "Unsupported option WHEN"),
            ("EXPIRE k 9223372036854775807", "invalid expire time in 'expire' command"),
            ("PEXPIREAT k 1 GT LT", "GT and LT options at the same time are not compatible"),
            ("SELECT 16", "DB index is out of range"),
        ] {
            let answer =
                redis.take(&asks([1; 4], format!("{line}\r\n").as_bytes()), &mut NoCard).unwrap();
            assert_eq!(answer.text, format!("-ERR {error}\r\n").into_bytes(), "{line}");
        }
    }

    #[test]
    fn parts_and_connections() {
        let mut redis = redis();
        let part = Request { more: true, stranger: true, ..asks([2; 4], b"*1\r\n$4\r") };
        assert!(redis.take(&part, &mut NoCard).is_none());
        let rest = Request { begins: false, stranger: true, ..asks([2; 4], b"\nQUIT\r\n") };
        let answer = redis.take(&rest, &mut NoCard).unwrap();
        assert!(answer.closes && answer.text == b"+OK\r\n");
        assert!(redis
            .take(&asks([3; 4], b"HELLO 3\r\n"), &mut NoCard)
            .unwrap()
            .text
            .starts_with(b"%7\r\n"));
        let resp3 = |redis: &Redis, tag| redis.context(&asks(tag, b"")).resp3;
        assert!(resp3(&redis, [3; 4]) && !resp3(&redis, [2; 4]));
        // Another connection that has the same tag.
        redis.take(&Request { stranger: true, ..asks([3; 4], b"PING\r\n") }, &mut NoCard);
        assert!(!resp3(&redis, [3; 4]));
        let broken = redis.take(&asks([3; 4], b"*x\r\n"), &mut NoCard).unwrap();
        assert_eq!(broken.text, b"-ERR Protocol error: invalid multibulk length\r\n");
        assert!(broken.closes);
    }

    #[test]
    fn who_keeps_much_makes_room() {
        let mut redis = redis();
        let tag = |n: u32| n.to_le_bytes();
        let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$7000\r\n{}\r\n", "v".repeat(7000));
        let mut queued = 0;
        let waits = loop {
            let tag = tag(queued);
            redis.take(&asks(tag, b"MULTI\r\n"), &mut NoCard);
            let mut said = (0..3).map(|_| redis.take(&asks(tag, set.as_bytes()), &mut NoCard));
            if said.any(|answer| answer.is_none()) {
                break tag;
            }
            queued += 1;
        };
        assert!(queued > 4 && redis.waits());
        // What a transaction has is not forgotten: the command is tried again until somebody was too slow.
        let end = Instant::now() + Duration::from_secs(60);
        let answer = loop {
            if let Some((tag, text, db)) = redis.again() {
                if let Some(answer) = redis.take(&Request::again(tag, &text, db), &mut NoCard) {
                    break answer;
                }
            }
            assert!(Instant::now() < end);
        };
        assert!(answer.text == b"+QUEUED\r\n" && !redis.waits());
        let closed = |n| redis.take(&asks(tag(n), b"PING\r\n"), &mut NoCard).unwrap().closes;
        assert_eq!((0..queued).map(closed).filter(|closed| *closed).count(), 1);
        assert!(!redis.take(&asks(waits, b"PING\r\n"), &mut NoCard).unwrap().closes);
    }

    #[test]
    fn exec_that_fails_ends_the_transaction() {
        let mut redis = redis();
        let mut says = |text: &[u8]| redis.take(&asks([1; 4], text), &mut NoCard).unwrap().text;
        says(b"MULTI\r\n");
        assert_eq!(says(b"SET k v\r\n"), b"+QUEUED\r\n");
        assert!(says(b"EXEC\r\n").starts_with(b"-ERR the card"));
        assert_eq!(says(b"EXEC\r\n"), b"-ERR EXEC without MULTI\r\n");
    }
}
