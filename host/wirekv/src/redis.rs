//! Commands of Redis' protocol that the card leaves to this program, as they came: the same code as in the
//! software body answers what needs no items, and says so where they would be needed.

use std::collections::HashMap;
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
/// A simulated card reads some ten thousand bytes a second.
const PLACE_MS: u64 = 10_000;
/// A command of which nothing more has come for so long is forgotten, as its connection may be over.
const FORGOTTEN: Duration = Duration::from_secs(300);
/// Gates took for whole what is none.
const NOT_WHOLE: &[u8] = b"-ERR Protocol error: command is longer than this server takes\r\n";

/// A connection that has asked for something.
struct Conn {
    session: Session,
    shown: Arc<Shown>,
    /// What has come of its command, and the session has not taken.
    text: Vec<u8>,
    /// A command has begun; the end of it has come. When the last of it did.
    within: bool,
    whole: bool,
    came: Instant,
    /// What the session has to wait with, and said before it.
    request: Option<wirekv_protocol::Request>,
    said: Vec<u8>,
    /// It has lost its place: nothing is kept of it, and it is closed when it next asks for something.
    lost: bool,
}

impl Conn {
    fn new(shown: Arc<Shown>, common: &Arc<Common>) -> Conn {
        Conn {
            session: Session::redis(Client::shown_as(shown.clone(), common)),
            shown,
            text: Vec::new(),
            within: false,
            whole: false,
            came: Instant::now(),
            request: None,
            said: Vec::new(),
            lost: false,
        }
    }

    fn may_go_on(&self, engine: &Engine) -> bool {
        self.session.may_go_on(engine) && self.session.sleeps(engine) == 0
    }
}

pub struct Redis {
    engine: Engine,
    conns: HashMap<Tag, Conn>,
    /// Those whose commands have to wait, the first one at the front.
    waiting: Vec<Tag>,
    /// Connections are numbered.
    last: u64,
    host: Host,
    pub items: Items,
    start: Instant,
}

/// What a command came to.
pub struct Answer {
    pub text: Vec<u8>,
    pub closes: bool,
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
            place_ms: PLACE_MS,
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
            waiting: Vec::new(),
            host: Host { facts, shown: Vec::new(), killed: false },
            items: Items::new(index_bits),
            start: Instant::now(),
        })
    }

    /// What the card is to know of a connection.
    pub fn context(&self, tag: Tag) -> Context {
        let known = |Conn { session, .. }: &Conn| Context {
            resp3: session.speaks_resp3(),
            all: session.wants_all(),
            db: session.db(),
        };
        self.conns.get(&tag).map(known).unwrap_or_default()
    }

    /// Whether a request of Redis' protocol is for [`take`](Redis::take): else it is for the next piece of an answer.
    pub fn concerns(&self, request: &Request<'_>) -> bool {
        !request.text.is_empty() || self.conns.get(&request.tag).is_some_and(|conn| conn.within)
    }

    /// A command, or a part of it; or, without text, the wish to send more of it. The answer when it is whole, and to
    /// that wish, unless there is something to wait for.
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
            Conn::new(Arc::new(Shown::new(*last, address, facts.bind.clone(), false, 0)), common)
        });
        (conn.within, conn.came) = (true, Instant::now());
        if !conn.lost {
            conn.text.extend_from_slice(request.text);
            conn.session.enters(request.db);
        }
        if request.more {
            return None;
        }
        conn.whole = !request.text.is_empty();
        self.work(request.tag, card)
    }

    /// Those whose commands have to wait.
    pub fn waiting(&self) -> Vec<Tag> {
        self.waiting.clone()
    }

    /// A command that had to wait goes on, if it can.
    pub fn retry(&mut self, tag: Tag, card: &mut dyn Card) -> Option<Answer> {
        let conn = &self.conns[&tag];
        if !conn.shown.is_killed() && !conn.may_go_on(&self.engine) {
            return None;
        }
        self.waiting.retain(|other| *other != tag);
        self.work(tag, card)
    }

    /// How long this program can be left alone.
    pub fn patience(&self, nap: Duration) -> Duration {
        match self.waiting.is_empty() {
            false => nap,
            true if self.conns.values().any(|conn| conn.within) => FORGOTTEN / 100,
            true => Duration::MAX,
        }
    }

    /// What connections have begun and left is not kept for ever.
    pub fn forget(&mut self, now: Instant) {
        let waiting = &self.waiting;
        let left = self.conns.iter().filter(|(tag, conn)| {
            let silent = now.saturating_duration_since(conn.came);
            conn.within && silent > FORGOTTEN && !waiting.contains(tag)
        });
        left.for_each(|(_, conn)| conn.shown.kill());
        self.bury();
    }

    /// Takes from those that were killed what they have. Who waits is told so first.
    fn bury(&mut self) {
        let common = &self.engine.settings.redis;
        for (tag, conn) in &mut self.conns {
            if conn.shown.is_killed() && !conn.lost && !self.waiting.contains(tag) {
                *conn = Conn { lost: true, ..Conn::new(conn.shown.clone(), common) };
            }
        }
    }

    /// What has come of a command, up to its end or as far as it goes.
    fn work(&mut self, tag: Tag, card: &mut dyn Card) -> Option<Answer> {
        self.host.shown = self.conns.values().map(|conn| conn.shown.clone()).collect();
        let conn = self.conns.get_mut(&tag).expect("it is there");
        let clock = CLOCK_START + self.start.elapsed();
        self.engine.local.store().set_clock(clock.as_millis() as u64);
        let mut serving = Serving { host: &mut self.host, items: &mut self.items, card };
        let done = match conn.shown.is_killed() {
            true => Some(true),
            false => run(conn, &mut self.engine, &mut serving),
        };
        let answer = done.map(|closes| Answer { text: std::mem::take(&mut conn.said), closes });
        match &answer {
            None => self.waiting.push(tag),
            Some(answer) if answer.closes => drop(self.conns.remove(&tag)),
            Some(_) => conn.within = !conn.whole,
        }
        self.items.unwatch(&self.engine);
        if std::mem::take(&mut self.host.killed) {
            self.bury();
        }
        answer
    }
}

/// Whether the connection is to be closed; `None`: it has to wait.
fn run(conn: &mut Conn, engine: &mut Engine, host: &mut dyn Server) -> Option<bool> {
    let mut out = Out::new();
    let (mut at, mut next) = (0, Next::Continue);
    while !matches!(next, Next::Close | Next::Wait | Next::Sleep) {
        let text = &conn.text[at..];
        let parsed =
            conn.request.take().map_or_else(|| conn.session.parse(text, engine), Parse::Request);
        let mut request = match parsed {
            Parse::Request(request) => request,
            Parse::Need(_) => break,
            Parse::Close => {
                next = Next::Close;
                break;
            }
        };
        loop {
            next = conn.session.execute(&mut request, text, engine, host, &mut out);
            conn.said.extend(out.to_vec());
            out.clear();
            if !matches!(next, Next::Again | Next::Full) {
                break;
            }
        }
        match next {
            Next::Wait | Next::Sleep => conn.request = Some(request),
            _ => at += request.len as usize,
        }
    }
    conn.text.drain(..at);
    if conn.request.is_some() {
        return None;
    }
    let mut closes = next == Next::Close;
    if conn.whole && !closes && (!conn.text.is_empty() || conn.session.is_within()) {
        conn.said.extend_from_slice(NOT_WHOLE);
        closes = true;
    }
    if conn.text.is_empty() {
        conn.text = Vec::new();
    }
    Some(closes)
}

/// The rest of this program, as commands see it.
struct Host {
    facts: Facts,
    shown: Vec<Arc<Shown>>,
    /// A connection was told to give back what it keeps.
    killed: bool,
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

    fn wake(&mut self) {
        self.host.killed = true;
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
            redis.context(request.tag)
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

    /// A job's bytes of a command in pieces, and the wish to send more.
    fn sends(redis: &mut Redis, tag: Tag, text: &[u8], begins: bool) -> Option<Answer> {
        for (n, text) in text.chunks(192).enumerate() {
            let part = Request { more: true, begins: begins && n == 0, ..asks(tag, text) };
            assert!(redis.take(&part, &mut NoCard).is_none());
        }
        let wish = Request { begins: false, ..asks(tag, b"") };
        assert!(redis.concerns(&wish));
        redis.take(&wish, &mut NoCard)
    }

    fn goes_on(answer: Option<Answer>) -> bool {
        answer.is_some_and(|answer| !answer.closes && answer.text.is_empty())
    }

    #[test]
    fn long_commands() {
        let mut redis = redis();
        let command = [&b"*2\r\n$4\r\nECHO\r\n$30000\r\n"[..], &[b'x'; 30_000], b"\r\n"].concat();
        let (jobs, rest) = command.split_at(3 * 8192);
        for (n, job) in jobs.chunks(8192).enumerate() {
            assert!(goes_on(sends(&mut redis, [1; 4], job, n == 0)));
        }
        let end = Request { begins: false, ..asks([1; 4], rest) };
        let answer = redis.take(&end, &mut NoCard).unwrap();
        assert!(!answer.closes && answer.text == command[14..]);
        // The next piece of that is not its business.
        assert!(!redis.concerns(&Request { begins: false, ..asks([1; 4], b"") }));
        // What breaks the protocol midway, and what is no command though gates end it.
        assert!(goes_on(sends(&mut redis, [1; 4], &command[..8192], true)));
        let broken = [&command[8192..], b"*2\r\n$x\r\n"].concat();
        let answer = redis.take(&Request { begins: false, ..asks([1; 4], &broken) }, &mut NoCard);
        assert!(answer.is_some_and(|answer| answer.closes
            && answer.text.ends_with(b"-ERR Protocol error: invalid bulk length\r\n")));
        let answer = redis.take(&asks([2; 4], b"*1000000000\r\n"), &mut NoCard).unwrap();
        assert!(answer.closes && answer.text == NOT_WHOLE);
    }

    #[test]
    fn places_for_long_commands() {
        let mut redis = redis();
        let begin = [&b"*2\r\n$4\r\nECHO\r\n$300000\r\n"[..], &[b'x'; 20_000]].concat();
        let mut granted = 0u8;
        while goes_on(sends(&mut redis, [granted, 0, 0, 0], &begin, true)) {
            granted += 1;
        }
        // An eighth of the store, 1 MiB and 64 KiB each.
        assert_eq!(granted, 15);
        let late: Tag = [granted, 0, 0, 0];
        assert_eq!(redis.waiting(), [late]);
        assert_eq!(redis.patience(Duration::ZERO), Duration::ZERO);
        // Short ones need no place.
        let short = redis.take(&asks([99; 4], b"PING x\r\n"), &mut NoCard);
        assert_eq!(short.unwrap().text, b"$1\r\nx\r\n");
        // Those who are silent are forgotten, but not who waits.
        redis.forget(Instant::now() + FORGOTTEN / 2);
        assert!(redis.retry(late, &mut NoCard).is_none());
        redis.forget(Instant::now() + 2 * FORGOTTEN);
        assert!(redis.conns.iter().all(|(tag, conn)| *tag == late || conn.text.is_empty()));
        assert!(goes_on(redis.retry(late, &mut NoCard)));
        assert!(redis.waiting().is_empty());
        let answer = sends(&mut redis, [0; 4], b"x", false).unwrap();
        assert!(answer.closes && answer.text.is_empty());
        // Another one has its name now.
        let next = Request { stranger: true, ..asks([1, 0, 0, 0], b"PING x\r\n") };
        assert_eq!(redis.take(&next, &mut NoCard).unwrap().text, b"$1\r\nx\r\n");
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
        let resp3 = |redis: &Redis, tag| redis.context(tag).resp3;
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
        assert!(queued > 4 && redis.waiting() == [waits]);
        // What a transaction has is not forgotten: the command is tried again until somebody was too slow.
        let end = Instant::now() + Duration::from_secs(60);
        let answer = loop {
            if let Some(answer) = redis.retry(waits, &mut NoCard) {
                break answer;
            }
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(answer.text == b"+QUEUED\r\n" && redis.waiting().is_empty());
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
