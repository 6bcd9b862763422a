//! Commands of Redis' protocol that the card leaves to this program, as they came: the same code as in the
//! software body answers what needs no items, and says so where they would be needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use wirekv_card::{Card, CardError};
use wirekv_proto::{Asked, Counters, Next, Out, Parse, Settings, Told};
use wirekv_resp::{
    CardItems, Client, Common, Engine, Error, Facts, Key, Op, Server, Session, Shown, Walk,
};
use wirekv_store::{Config, Store};

use crate::clients::{Caller, Clients, Known, Question, Rules};
use crate::exceptions::{Context, Request, Tag};
use crate::items::Items;
use crate::options::Options;
use crate::runner::{sub_millis, unix_time};

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
    /// The card's clock then.
    heard: u64,
    /// What the session has to wait with, and said before it.
    request: Option<Asked<Op>>,
    said: Vec<u8>,
    /// It waits for nothing but its next turn.
    again: bool,
    /// It was told to end: nothing is kept of it, and it is closed if it still asks for something.
    lost: bool,
    /// It was answered, as the card has it, too.
    met: bool,
    /// It has asked for nothing: the card told of it.
    silent: bool,
}

impl Conn {
    /// `let_in`: it began when no password was asked for, or has told it.
    fn new(shown: Arc<Shown>, common: &Common, let_in: bool) -> Conn {
        let mut client = Client::shown_as(shown.clone(), common);
        client.authenticated = let_in;
        Conn {
            session: client.into(),
            shown,
            text: Vec::new(),
            within: false,
            whole: false,
            came: Instant::now(),
            heard: 0,
            request: None,
            said: Vec::new(),
            again: false,
            lost: false,
            met: false,
            silent: false,
        }
    }

    fn question(&self, tag: Tag) -> Question {
        Question { tag, stranger: !self.met, told: self.silent }
    }

    fn may_go_on(&self, engine: &Engine) -> bool {
        self.again
            || (self.session.may_go_on(engine)
                && self.session.dialect().sleeps(&engine.common) == 0)
    }
}

pub struct Redis {
    engine: Engine,
    conns: HashMap<Tag, Conn>,
    /// Those whose commands have to wait, the first one at the front.
    waiting: Vec<Tag>,
    host: Host,
    rules: Rules,
    pub items: Items,
    start: Instant,
    /// What the store's clock said then.
    began: Duration,
}

/// What a command came to.
pub struct Answer {
    pub text: Vec<u8>,
    pub closes: bool,
}

impl Redis {
    pub fn new(options: &Options, common: Arc<Common>) -> Result<Redis> {
        let (start, unix) = (Instant::now(), unix_time());
        // A millisecond begins for both clocks at once.
        let began = CLOCK_START + sub_millis(unix);
        let zero = unix.saturating_sub(CLOCK_START);
        let config =
            Config { evict: false, epoch: zero.as_millis() as u64, ..Config::new(STORE_BYTES) };
        let store = Store::new(config)?;
        let settings = Settings {
            epoch: zero.as_secs() as i64,
            item_max: options.item_max as usize,
            place_ms: PLACE_MS,
            ..Settings::default()
        };
        let facts = Facts {
            port: options.redis_port,
            bind: options.bind.clone(),
            threads: 1,
            max_conns: options.max_conns as usize,
            memory: options.memory as usize,
            item_max: options.item_max as usize,
            knows_peers: options.knows_peers,
            evicts: true,
            ..Facts::default()
        };
        let rules = Rules::new(&common);
        let clients = Clients::new(facts.bind.clone());
        let mut engine = Engine::new(store.local(), Arc::new(settings), common);
        engine.elsewhere = true;
        Ok(Redis {
            engine,
            conns: HashMap::new(),
            waiting: Vec::new(),
            host: Host { facts, clients, killed: false },
            rules,
            items: Items::new(options.index_bits),
            start,
            began,
        })
    }

    /// Of memcached's requests, which want nothing of its store.
    pub fn memcached(&self) -> wirekv_proto::Engine {
        let (local, settings) = (self.engine.local.store().local(), self.engine.settings.clone());
        let mut engine = wirekv_proto::Engine::new(local, settings);
        engine.local.offline();
        engine
    }

    /// What the card is to know of a connection.
    pub fn context(&self, tag: Tag) -> Context {
        let known = |conn: &Conn| {
            let client = conn.session.dialect();
            Context { resp3: client.resp3, all: client.wants_all(), db: client.db }
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
        let tag = request.tag;
        let mut told = None;
        if request.stranger && request.begins {
            // Another one had its tag, if it is not the one that was told of.
            let before = self.conns.remove(&tag).filter(|conn| conn.silent && !conn.lost);
            let same = before.filter(|conn| conn.question(tag).is_there(card));
            told = same.map(|conn| conn.shown);
        }
        let (clients, common) = (&mut self.host.clients, &self.engine.common);
        // Whoever gates run something of has been let in.
        let new = || Conn::new(told.unwrap_or_else(|| clients.meet(tag)), common, !request.all);
        let conn = self.conns.entry(tag).or_insert_with(new);
        (conn.within, conn.came, conn.heard) = (true, Instant::now(), request.came);
        if !conn.lost {
            conn.text.extend_from_slice(request.text);
            conn.session.dialect_mut().db = request.db;
        }
        if request.more {
            return None;
        }
        conn.whole = !request.text.is_empty();
        self.work(tag, card)
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

    /// Somebody's command goes on now.
    pub fn goes_on(&self) -> bool {
        self.waiting.iter().any(|tag| self.conns[tag].again)
    }

    /// How long this program can be left alone.
    pub fn patience(&self, nap: Duration) -> Duration {
        match self.waiting.is_empty() {
            false => nap,
            true if self.engine.common.pause.is_set() => nap,
            true if self.conns.values().any(|conn| conn.within) => FORGOTTEN / 100,
            true => Duration::MAX,
        }
    }

    /// What connections have begun and left is not kept for ever; who waits may be gone.
    pub fn forget(&mut self, now: Instant, card: &mut dyn Card) {
        for (tag, conn) in &self.conns {
            let silent = now.saturating_duration_since(conn.came);
            let left = match self.waiting.contains(tag) {
                // Who waits for its next turn alone gets its answer, as who does not wait does.
                true if conn.again => !conn.question(*tag).is_there(card),
                true => !conn.question(*tag).waits(card),
                false => conn.within && silent > FORGOTTEN,
            };
            if left {
                conn.shown.kill();
            }
        }
        self.bury(card);
    }

    /// Takes from those that were killed what they have, and has them closed. Who waits is told so
    /// first.
    fn bury(&mut self, card: &mut dyn Card) {
        let common = &self.engine.common;
        for (tag, conn) in &mut self.conns {
            if conn.shown.is_killed() && !conn.lost && !self.waiting.contains(tag) {
                conn.question(*tag).kill(card);
                let (lost, met, shown) = (true, conn.met, conn.shown.clone());
                *conn = Conn { lost, met, ..Conn::new(shown, common, false) };
            }
        }
    }

    /// Which connections there are, the card may have told.
    fn settle(&mut self) {
        let common = &self.engine.common;
        for Known { tag, shown, new, gone, .. } in self.host.clients.end() {
            if gone && self.waiting.contains(&tag) {
                // The card has not given its tag away: that goes with the answer.
                shown.kill();
            } else if gone {
                self.conns.remove(&tag);
            } else if new {
                // When it asks for something it comes out whether it was let in.
                let conn = Conn { silent: true, ..Conn::new(shown, common, false) };
                self.conns.insert(tag, conn);
            }
        }
    }

    /// The card is to know what has changed before anybody hears of it.
    pub fn rule(&mut self, card: &mut dyn Card) -> Result<(), CardError> {
        self.rules.tell(card, &self.engine.common)
    }

    /// What has come of a command, up to its end or as far as it goes.
    fn work(&mut self, tag: Tag, card: &mut dyn Card) -> Option<Answer> {
        let waiting = &self.waiting;
        let known = |(tag, conn): (&Tag, &Conn)| {
            Known::new(conn.question(*tag), conn.shown.clone(), waiting.contains(tag))
        };
        self.host.clients.begin(tag, self.conns.iter().map(known));
        let shared = self.goes_on();
        let conn = self.conns.get_mut(&tag).expect("it is there");
        let clock = self.began + self.start.elapsed();
        self.engine.local.store().set_clock(clock.as_millis() as u64);
        self.items.port.caller = Some(Caller::new(conn.question(tag), conn.heard));
        self.items.port.is_shared = shared;
        let mut serving =
            Serving { host: &mut self.host, items: &mut self.items, card: &mut *card };
        let done = match conn.shown.is_killed() && !conn.session.dialect().must_end() {
            true => Some(true),
            false => run(conn, &mut self.engine, &mut serving),
        };
        let answer = done.map(|closes| Answer { text: std::mem::take(&mut conn.said), closes });
        if let Some(caller) = &self.items.port.caller {
            conn.heard = caller.heard;
        }
        match &answer {
            None => {
                // What was answered before is not to wait for this.
                conn.question(tag).is_there(card);
                self.waiting.push(tag);
            }
            Some(answer) if answer.closes => drop(self.conns.remove(&tag)),
            Some(_) => (conn.within, conn.met) = (!conn.whole, true),
        }
        self.items.unwatch(&self.engine);
        self.settle();
        if std::mem::take(&mut self.host.killed) {
            self.bury(card);
        }
        answer
    }
}

/// Whether the connection is to be closed; `None`: it has to wait.
fn run(conn: &mut Conn, engine: &mut Engine, host: &mut dyn Server) -> Option<bool> {
    let mut out = Out::new();
    let (mut at, mut next) = (0, Next::Continue);
    while !matches!(next, Next::Close | Next::Wait | Next::Sleep | Next::Again) {
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
            if next != Next::Full {
                break;
            }
        }
        match next {
            Next::Wait | Next::Sleep | Next::Again => conn.request = Some(request),
            _ => at += request.len as usize,
        }
    }
    conn.again = next == Next::Again;
    conn.text.drain(..at);
    if conn.request.is_some() {
        return None;
    }
    let mut closes = next == Next::Close;
    if conn.whole && !closes && (!conn.text.is_empty() || conn.session.dialect().is_within()) {
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
    clients: Clients,
    /// A connection was told to end.
    killed: bool,
}

/// The same while a command is executed.
struct Serving<'a> {
    host: &'a mut Host,
    items: &'a mut Items,
    card: &'a mut dyn Card,
}

impl wirekv_proto::Server for Serving<'_> {
    fn stats(
        &mut self,
        _args: &[u8],
        _from: u64,
        _own: &Counters,
        _line: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Told {
        Told::Nothing
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

impl Server for Serving<'_> {
    fn connections(&mut self) -> Vec<Arc<Shown>> {
        // That asks about all of them.
        match self.items.port.is_for_nobody(self.card) {
            true => Vec::new(),
            false => self.host.clients.list(self.card),
        }
    }

    fn wake(&mut self) {
        self.host.killed = true;
    }

    fn facts(&mut self, own: &Counters) -> Facts {
        Facts { counters: *own, ..self.host.facts.clone() }
    }

    fn card(&mut self) -> Option<&mut dyn CardItems> {
        Some(self)
    }
}

impl CardItems for Serving<'_> {
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
        walk: &mut Walk,
        count: Option<usize>,
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        self.items.walk(self.card, engine, db, walk, count, wanted)
    }

    fn any_key(&mut self, engine: &mut Engine, db: u8) -> Result<Option<Box<[u8]>>, Error> {
        self.items.any_key(self.card, engine, db)
    }

    fn flush(
        &mut self,
        engine: &mut Engine,
        db: Option<u8>,
        walk: &mut Walk,
    ) -> Result<bool, Error> {
        self.items.flush(self.card, engine, db, walk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirekv_card::{csr, Port};

    /// What a card is to have, and nobody here looks at.
    macro_rules! inert {
        () => {
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
            fn short_timers(&self) -> bool {
                false
            }
        };
    }

    /// It remembers what is written to the register for clients; all that it is asked about are there, or none.
    #[derive(Default)]
    struct Silent {
        written: Vec<u32>,
        questions: u32,
        /// Packets of the request port.
        requests: u32,
        gone: bool,
        clock: u64,
    }

    impl Card for Silent {
        fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
            let there = if self.gone { 0 } else { csr::ABOUT_THERE };
            Ok(if addr == csr::ABOUT { self.questions << 31 | there } else { 0 })
        }
        fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError> {
            if addr == csr::REDIS_CLIENTS {
                self.written.push(value);
            }
            Ok(())
        }
        fn send(&mut self, _: Port, packet: &[u8]) {
            match packet[6] >> 7 {
                0 => self.questions += u32::from(packet[6] >> 4 & 1),
                _ => self.requests += 1,
            }
        }
        inert!();
        fn clock(&self) -> u64 {
            self.clock
        }
    }

    fn redis_with(password: &[u8], knows_peers: bool) -> Redis {
        let options =
            Options { redis_port: 6379, knows_peers, index_bits: 10, ..Options::default() };
        let common = Common::new(password, knows_peers, false);
        Redis::new(&options, Arc::new(common)).unwrap()
    }

    /// A card with one connection beside the one that asks; it has asked for nothing. `told`: it was told of.
    #[derive(Default)]
    struct Stranger {
        told: bool,
        answer: u32,
    }

    impl Card for Stranger {
        fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
            Ok(match addr {
                csr::ABOUT => self.answer,
                csr::CONNS => 1,
                csr::OPEN_CONNS => 2,
                _ => 0,
            })
        }
        fn send(&mut self, _: Port, packet: &[u8]) {
            let (first, stranger) = (packet[..4] == [0; 4], packet[6] & 64 != 0);
            let there = first && stranger && (self.told || packet[6] & 4 == 0);
            self.told |= there;
            self.answer = (self.answer >> 31 ^ 1) << 31 | (there as u32 * csr::ABOUT_THERE);
        }
        fn write_csr(&mut self, _: u32, _: u32) -> Result<(), CardError> {
            Ok(())
        }
        inert!();
        fn clock(&self) -> u64 {
            0
        }
    }

    fn redis() -> Redis {
        redis_with(b"", true)
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
            all: false,
            db: 0,
            goes_on: (0, 0),
            came: 0,
        }
    }

    #[test]
    fn what_needs_no_items() {
        let mut redis = redis();
        let mut says =
            |tag, text: &[u8]| redis.take(&asks(tag, text), &mut Silent::default()).unwrap().text;
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
            let answer =
                redis.take(&asks([1; 4], line.as_bytes()), &mut Silent::default()).unwrap();
            let text = String::from_utf8(answer.text).unwrap();
            assert!(text.starts_with("-ERR ") && text.contains("--body sim"), "{line}: {text}");
        }
        let answer = redis.take(&asks([1; 4], b"SELECT 0\r\n"), &mut Silent::default()).unwrap();
        assert_eq!(answer.text, b"+OK\r\n");
        let answer = redis.take(&asks([1; 4], b"RENAME a b\r\n"), &mut Silent::default()).unwrap();
        assert!(answer.text.starts_with(b"-ERR the card"));
        for line in
            ["KEYS *\r\n", "FLUSHALL ASYNC\r\n", "DBSIZE\r\n", "SCAN 0\r\n", "RANDOMKEY\r\n"]
        {
            let answer =
                redis.take(&asks([1; 4], line.as_bytes()), &mut Silent::default()).unwrap();
            assert!(answer.text.starts_with(b"-ERR the card"), "{line}");
        }
    }

    /// Who was there a moment ago is not asked about, unless a walk begins; who was there long ago is, before anything is
    /// done to items.
    #[test]
    fn what_nobody_waits_for_is_not_done() {
        for line in [
            "KEYS *",
            "DBSIZE",
            "SCAN 0",
            "RANDOMKEY",
            "FLUSHDB ASYNC",
            "RENAME a b",
            "WATCH a",
            "CLIENT LIST",
        ] {
            let walks = matches!(line, "KEYS *" | "DBSIZE" | "FLUSHDB ASYNC");
            for (long_ago, gone) in [(true, true), (true, false), (false, true), (false, false)] {
                let clock = if long_ago { 1 << 20 } else { 100 };
                let questions = u32::from(long_ago || walks);
                let mut card = Silent { clock, gone, ..Silent::default() };
                let request = Request { came: 1, ..asks([1; 4], b"") };
                let text = format!("{line}\r\n");
                let text = Request { text: text.as_bytes(), ..request };
                let answer = redis().take(&text, &mut card).unwrap().text;
                let case = format!("{line}, {clock}, {gone}: {}", answer.escape_ascii());
                if line == "CLIENT LIST" {
                    assert_eq!(answer.starts_with(b"$0\r\n"), gone && questions == 1, "{case}");
                    continue;
                }
                assert_eq!(card.questions, questions, "{case}");
                let undone = gone && questions == 1;
                assert_eq!(answer == b"-ERR the client has left\r\n", undone, "{case}");
                assert_eq!(card.requests == 0, undone, "{case}");
            }
        }
    }

    #[test]
    fn what_the_card_is_to_know() {
        let mut redis = redis();
        let mut after = |line: &str| {
            let request = Request { db: 3, ..asks([1; 4], line.as_bytes()) };
            redis.take(&request, &mut Silent::default());
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
    fn a_number_is_given_once() {
        let (mut redis, mut card) = (redis(), Stranger::default());
        fn says(redis: &mut Redis, card: &mut dyn Card, request: Request<'_>) -> String {
            String::from_utf8(redis.take(&request, card).unwrap().text).unwrap()
        }
        let list = b"CLIENT LIST\r\n";
        let number = |text: &str| text.contains("id=2 ") as u8 + 2 * text.contains("id=3 ") as u8;
        for _ in 0..2 {
            let told = says(&mut redis, &mut card, asks([1; 4], list));
            assert_eq!((number(&told), card.told), (1, true));
        }
        // Another one has its place.
        card.told = false;
        let kill = b"CLIENT KILL ID 2\r\n";
        assert_eq!(says(&mut redis, &mut card, asks([1; 4], kill)), ":0\r\n");
        assert_eq!(number(&says(&mut redis, &mut card, asks([1; 4], list))), 2);
        // It keeps the number that it was told of by, and the next one in its place has another.
        let first = Request { stranger: true, ..asks([0; 4], b"CLIENT ID\r\n") };
        assert_eq!(says(&mut redis, &mut card, first), ":3\r\n");
        redis.conns.clear();
        let (told, first) = (says(&mut redis, &mut card, asks([1; 4], list)), [0; 4]);
        assert!(told.contains("id=5 "), "{told}");
        card.told = false;
        let first = Request { stranger: true, ..asks(first, b"CLIENT ID\r\n") };
        assert_eq!(says(&mut redis, &mut card, first), ":6\r\n");
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
            let answer = redis
                .take(&asks([1; 4], format!("{line}\r\n").as_bytes()), &mut Silent::default())
                .unwrap();
            assert_eq!(answer.text, format!("-ERR {error}\r\n").into_bytes(), "{line}");
        }
    }

    /// A job's bytes of a command in pieces, and the wish to send more.
    fn sends(redis: &mut Redis, tag: Tag, text: &[u8], begins: bool) -> Option<Answer> {
        for (n, text) in text.chunks(192).enumerate() {
            let part = Request { more: true, begins: begins && n == 0, ..asks(tag, text) };
            assert!(redis.take(&part, &mut Silent::default()).is_none());
        }
        let wish = Request { begins: false, ..asks(tag, b"") };
        assert!(redis.concerns(&wish));
        redis.take(&wish, &mut Silent::default())
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
        let answer = redis.take(&end, &mut Silent::default()).unwrap();
        assert!(!answer.closes && answer.text == command[14..]);
        // The next piece of that is not its business.
        assert!(!redis.concerns(&Request { begins: false, ..asks([1; 4], b"") }));
        // What breaks the protocol midway, and what is no command though gates end it.
        assert!(goes_on(sends(&mut redis, [1; 4], &command[..8192], true)));
        let broken = [&command[8192..], b"*2\r\n$x\r\n"].concat();
        let answer =
            redis.take(&Request { begins: false, ..asks([1; 4], &broken) }, &mut Silent::default());
        assert!(answer.is_some_and(|answer| answer.closes
            && answer.text.ends_with(b"-ERR Protocol error: invalid bulk length\r\n")));
        let answer = redis.take(&asks([2; 4], b"*1000000000\r\n"), &mut Silent::default()).unwrap();
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
        let short = redis.take(&asks([99; 4], b"PING x\r\n"), &mut Silent::default());
        assert_eq!(short.unwrap().text, b"$1\r\nx\r\n");
        // Those who are silent are forgotten, but not who waits.
        redis.forget(Instant::now() + FORGOTTEN / 2, &mut Silent::default());
        assert!(redis.retry(late, &mut Silent::default()).is_none());
        redis.forget(Instant::now() + 2 * FORGOTTEN, &mut Silent::default());
        assert!(redis.conns.iter().all(|(tag, conn)| *tag == late || conn.text.is_empty()));
        assert!(goes_on(redis.retry(late, &mut Silent::default())));
        assert!(redis.waiting().is_empty());
        let answer = sends(&mut redis, [0; 4], b"x", false).unwrap();
        assert!(answer.closes && answer.text.is_empty());
        // Another one has its name now.
        let next = Request { stranger: true, ..asks([1, 0, 0, 0], b"PING x\r\n") };
        assert_eq!(redis.take(&next, &mut Silent::default()).unwrap().text, b"$1\r\nx\r\n");
    }

    fn guarded() -> Redis {
        redis_with(b"x", true)
    }

    /// Frames from a TAP device come to the card as they are: there is no protected mode.
    #[test]
    fn protection_where_peers_are_known() {
        for (knows_peers, now, then) in
            [(true, "yes", "+OK\r\n"), (false, "no", "-ERR CONFIG SET failed")]
        {
            let mut redis = redis_with(b"", knows_peers);
            let mut says = |text: &[u8]| {
                let answer = redis.take(&asks([1; 4], text), &mut Silent::default()).unwrap();
                String::from_utf8(answer.text).unwrap()
            };
            let told = says(b"CONFIG GET protected-mode\r\n");
            assert!(told.ends_with(&format!("\r\n{now}\r\n")), "{told}");
            assert!(says(b"CONFIG SET protected-mode yes\r\n").starts_with(then));
            assert_eq!(says(b"CONFIG SET protected-mode no\r\n"), "+OK\r\n");
        }
    }

    #[test]
    fn who_is_let_in() {
        let mut redis = guarded();
        fn of(all: bool, stranger: bool, text: &[u8]) -> Request<'_> {
            Request { all, stranger, ..asks([1; 4], text) }
        }
        let mut says = |all, stranger, line: &str| {
            let line = format!("{line}\r\n");
            let request = of(all, stranger, line.as_bytes());
            let text = redis.take(&request, &mut Silent::default()).unwrap().text;
            (String::from_utf8(text).unwrap(), redis.context(request.tag).all)
        };
        let no = |text: &str| text.starts_with("-NOAUTH");
        let ok = |text: &str| text == "+OK\r\n";
        assert!(matches!(says(true, true, "ECHO a"), (text, true) if no(&text)));
        assert!(
            matches!(says(true, false, "AUTH y"), (text, true) if text.starts_with("-WRONGPASS"))
        );
        assert!(matches!(says(true, false, "AUTH x"), (text, false) if ok(&text)));
        assert!(matches!(says(false, false, "PING a"), (text, false) if !no(&text)));
        assert!(matches!(says(false, false, "RESET"), (_, true)));
        assert!(matches!(says(true, false, "PING a"), (text, true) if no(&text)));
        assert!(matches!(says(true, false, "AUTH x"), (text, false) if ok(&text)));
        // Another one with its tag; one that began when there was no password.
        assert!(matches!(says(true, true, "PING a"), (text, true) if no(&text)));
        assert!(matches!(says(false, true, "PING a"), (text, false) if !no(&text)));
        // Who was not let in is known as such when there is no password any more.
        assert!(matches!(says(true, true, "PING a"), (text, true) if no(&text)));
        let admin = Request { tag: [2; 4], ..of(false, true, b"CONFIG SET requirepass \"\"\r\n") };
        assert_eq!(redis.take(&admin, &mut Silent::default()).unwrap().text, b"+OK\r\n");
        let request = of(true, false, b"PING a\r\n");
        assert_eq!(redis.take(&request, &mut Silent::default()).unwrap().text, b"$1\r\na\r\n");
        assert!(redis.context(request.tag).all);
    }

    #[test]
    fn the_card_is_told_of_rules() {
        let mut redis = guarded();
        let mut card = Silent::default();
        let mut after = |line: &str| {
            let line = format!("{line}\r\n");
            let answer = redis.take(&asks([1; 4], line.as_bytes()), &mut card);
            redis.rule(&mut card).unwrap();
            (answer.is_some(), std::mem::take(&mut card.written))
        };
        assert_eq!(after("PING a"), (true, vec![]));
        assert_eq!(after("CONFIG SET requirepass \"\""), (true, vec![0]));
        assert_eq!(after("CLIENT PAUSE 10000000 WRITE"), (true, vec![2]));
        assert_eq!(after("CONFIG SET requirepass y"), (true, vec![3]));
        assert_eq!(after("CLIENT UNPAUSE"), (true, vec![1]));
        assert_eq!(after("CLIENT PAUSE 0"), (true, vec![]));
        assert_eq!(after("CLIENT PAUSE 10000000"), (true, vec![3]));
        assert_eq!(after("PING a"), (false, vec![]));
        assert!(redis.retry([1; 4], &mut card).is_none());
        redis.engine.common.pause.end();
        redis.rule(&mut card).unwrap();
        assert_eq!(card.written, [1]);
        assert!(redis.retry([1; 4], &mut card).is_some());
    }

    #[test]
    fn parts_and_connections() {
        let mut redis = redis();
        let part = Request { more: true, stranger: true, ..asks([2; 4], b"*1\r\n$4\r") };
        assert!(redis.take(&part, &mut Silent::default()).is_none());
        let rest = Request { begins: false, stranger: true, ..asks([2; 4], b"\nQUIT\r\n") };
        let answer = redis.take(&rest, &mut Silent::default()).unwrap();
        assert!(answer.closes && answer.text == b"+OK\r\n");
        assert!(redis
            .take(&asks([3; 4], b"HELLO 3\r\n"), &mut Silent::default())
            .unwrap()
            .text
            .starts_with(b"%7\r\n"));
        let resp3 = |redis: &Redis, tag| redis.context(tag).resp3;
        assert!(resp3(&redis, [3; 4]) && !resp3(&redis, [2; 4]));
        // Another connection that has the same tag.
        redis
            .take(&Request { stranger: true, ..asks([3; 4], b"PING\r\n") }, &mut Silent::default());
        assert!(!resp3(&redis, [3; 4]));
        let broken = redis.take(&asks([3; 4], b"*x\r\n"), &mut Silent::default()).unwrap();
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
            redis.take(&asks(tag, b"MULTI\r\n"), &mut Silent::default());
            let mut said =
                (0..3).map(|_| redis.take(&asks(tag, set.as_bytes()), &mut Silent::default()));
            if said.any(|answer| answer.is_none()) {
                break tag;
            }
            queued += 1;
        };
        assert!(queued > 4 && redis.waiting() == [waits]);
        // What a transaction has is not forgotten: the command is tried again until somebody was too slow.
        let end = Instant::now() + Duration::from_secs(60);
        let answer = loop {
            if let Some(answer) = redis.retry(waits, &mut Silent::default()) {
                break answer;
            }
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(answer.text == b"+QUEUED\r\n" && redis.waiting().is_empty());
        let closed =
            |n| redis.take(&asks(tag(n), b"PING\r\n"), &mut Silent::default()).unwrap().closes;
        assert_eq!((0..queued).map(closed).filter(|closed| *closed).count(), 1);
        assert!(!redis.take(&asks(waits, b"PING\r\n"), &mut Silent::default()).unwrap().closes);
    }

    #[test]
    fn exec_that_fails_ends_the_transaction() {
        let mut redis = redis();
        let mut says =
            |text: &[u8]| redis.take(&asks([1; 4], text), &mut Silent::default()).unwrap().text;
        says(b"MULTI\r\n");
        assert_eq!(says(b"SET k v\r\n"), b"+QUEUED\r\n");
        assert!(says(b"EXEC\r\n").starts_with(b"-ERR the card"));
        assert_eq!(says(b"EXEC\r\n"), b"-ERR EXEC without MULTI\r\n");
    }
}
