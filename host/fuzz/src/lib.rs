//! Entries for a fuzzer: whatever the bytes are, nothing panics or hangs, replies are well formed,
//! and requests that come in pieces or are served in batches answer what they answer one by one.
#![forbid(unsafe_code)]

mod commands;
mod map;
mod redis;
mod upstream;

pub use commands::fuzz_redis;
pub use upstream::fuzz_upstream;

use std::borrow::{Borrow, BorrowMut};
use std::sync::Arc;

use wirekv_memcache::{base64, binary, classic, udp, Memcache, Op};
use wirekv_proto::{
    number, Counters, Dialect, Engine, Next, Out, Parse, Protocol, Server, Session, Settings, Told,
};
use wirekv_resp::Client;
use wirekv_store::{Config, HashKey, Store};

/// As a server, it can make time pass: `stats <args>` takes a second a byte.
struct Clock(Arc<Store>);

impl Server for Clock {
    fn stats(
        &mut self,
        args: &[u8],
        from: u64,
        _: &Counters,
        line: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Told {
        self.0.set_now(self.0.now() + args.len() as u32);
        line(b"args", args);
        match (args.is_empty(), from) {
            (false, _) => Told::Nothing,
            (true, 2) => Told::All,
            (true, from) => Told::Part(from + 1),
        }
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

impl wirekv_resp::Server for Clock {}

/// A protocol with all that a connection needs.
trait Speech: Dialect {
    /// A thread's side.
    fn engine(base: Engine) -> Self::Engine;

    fn connection(engine: &Self::Engine) -> Self;

    fn server<'s>(clock: &'s mut Clock) -> &'s mut Self::Server<'s>;

    /// What comes behind it must not be parsed before it was executed.
    fn is_last(_: Self::Op) -> bool {
        false
    }
}

impl Speech for Memcache {
    fn engine(base: Engine) -> Engine {
        base
    }

    fn connection(_: &Engine) -> Memcache {
        Memcache::default()
    }

    fn server<'s>(clock: &'s mut Clock) -> &'s mut (dyn Server + 's) {
        clock
    }

    /// Times of a text request are read when it is parsed, and this one changes them.
    fn is_last(op: Op) -> bool {
        matches!(op, Op::Classic(classic::Op::Admin(classic::Admin::Stats)))
    }
}

impl Speech for Client {
    fn engine(base: Engine) -> wirekv_resp::Engine {
        wirekv_resp::Engine::new(base.local, base.settings, Arc::default())
    }

    fn connection(engine: &wirekv_resp::Engine) -> Client {
        Client::new(1, &engine.common)
    }

    fn server<'s>(clock: &'s mut Clock) -> &'s mut (dyn wirekv_resp::Server + 's) {
        clock
    }
}

/// What a connection speaks.
#[derive(Clone, Copy, PartialEq)]
enum Spoken {
    Memcached(Protocol),
    Redis,
}

/// Small limits, so that short data reaches them; `crowded` for eviction, too.
fn engine(protocol: Protocol, crowded: bool) -> Engine {
    let seed = HashKey { nh: [0x9e37_79b9; 32], mix: [0x9e37_79b9_7f4a_7c15; 2] };
    let config = Config { item_max: 4 << 10, seed, ..Config::new(1 << 20) };
    let config = match crowded {
        true => Config { memory: 32 << 10, chunk: Some(512), buckets: Some(2), ..config },
        false => config,
    };
    let store = Store::new(config).expect("a small store");
    store.set_now(1000);
    let settings = Settings {
        protocol,
        item_max: 2 << 10,
        stream_from: 64,
        multiget_max: 3 << 10,
        copy_max: 100,
        reply_soft: 200,
        keys_soft: 20,
        shutdown: true,
        ..Settings::default()
    };
    Engine::new(store.local(), Arc::new(settings))
}

/// How requests come.
#[derive(Clone, Copy, PartialEq)]
enum How {
    OneByOne,
    /// As many bytes at a time, some of them straight into the store; replies are written as they
    /// come, not always whole.
    Pieces(usize),
    /// All parsed that can be, their memory fetched, then all executed.
    Batches,
}

/// One connection. A store whose reservations and pins end before it does gives its memory back.
struct Talk<D: Speech> {
    session: Session<D>,
    out: Out,
    engine: D::Engine,
    clock: Clock,
    input: Vec<u8>,
    written: Vec<u8>,
    /// A value was given up for want of room.
    crowded: bool,
}

impl<D: Speech> Talk<D> {
    fn new(protocol: Protocol, crowded: bool) -> Talk<D> {
        let base = engine(protocol, crowded);
        let clock = Clock(base.local.store().clone());
        let engine = D::engine(base);
        let session = D::connection(&engine).into();
        let out = Out::new();
        let (input, written, crowded) = (Vec::new(), Vec::new(), false);
        Talk { session, out, engine, clock, input, written, crowded }
    }

    /// Serves what has come. False: the connection closes.
    fn serve(&mut self, batch: usize) -> bool {
        let Talk { engine, session, input, out, crowded, .. } = self;
        let (mut at, mut open) = (0, true);
        // Each takes a byte at least, but one that ends a value which went straight to the store.
        let mut limit = input.len() + 1;
        let mut requests = Vec::new();
        while open {
            let (mut end, mut more) = (at, true);
            while more && requests.len() < batch {
                match session.parse(&input[end..], engine) {
                    Parse::Request(request) => {
                        limit = limit.checked_sub(1).expect("requests take bytes");
                        end += request.len as usize;
                        assert!(end <= input.len());
                        more = !request.op.is_some_and(D::is_last);
                        requests.push(request);
                    }
                    Parse::Need(n) => {
                        assert!(n > 0);
                        more = false;
                    }
                    Parse::Close => {
                        (open, more) = (false, false);
                    }
                }
            }
            if requests.is_empty() {
                break;
            }
            if batch > 1 {
                let engine = (*engine).borrow();
                requests.iter().for_each(|request| request.prefetch_bucket(engine));
                requests.iter().for_each(|request| request.prefetch_item(engine));
            }
            for mut request in requests.drain(..) {
                let (mut rounds, mut waits) = (input.len() + 2, 10);
                loop {
                    let server = D::server(&mut self.clock);
                    match session.execute(&mut request, &input[at..], engine, server, out) {
                        Next::Continue => break,
                        Next::Again | Next::Full => {
                            rounds = rounds.checked_sub(1).expect("it ends");
                        }
                        Next::Wait | Next::Sleep if waits == 0 => {
                            *crowded = true;
                            session.give_up(engine, out);
                            break;
                        }
                        Next::Wait | Next::Sleep => {
                            waits -= 1;
                            engine.borrow_mut().local.quiesce();
                        }
                        Next::Watch | Next::Close => return false,
                    }
                }
                at += request.len as usize;
            }
        }
        input.drain(..at);
        engine.borrow_mut().local.quiesce();
        open
    }

    /// Writes most of the replies, so that few bytes at a time go and some always wait.
    fn write(&mut self) {
        let mut slices = [std::io::IoSlice::new(&[]); 2];
        let count = self.out.slices(&mut slices);
        let part: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.to_vec()).collect();
        let part = &part[..part.len() - part.len() / 4];
        self.written.extend_from_slice(part);
        self.out.written(part.len());
    }
}

/// What a connection answers, and whether it closes. None: there was not room for everything, so
/// that what is left depends on when it came.
fn converse(spoken: Spoken, crowded: bool, data: &[u8], how: How) -> Option<(Vec<u8>, bool)> {
    match spoken {
        Spoken::Memcached(protocol) => Talk::<Memcache>::new(protocol, crowded).hold(data, how),
        Spoken::Redis => Talk::<Client>::new(Protocol::Auto, crowded).hold(data, how),
    }
}

impl<D: Speech> Talk<D> {
    fn hold(mut self, data: &[u8], how: How) -> Option<(Vec<u8>, bool)> {
        let (pieces, batch) = match how {
            How::OneByOne => (data.len(), 1),
            How::Pieces(size) => (size, 1),
            How::Batches => (data.len(), usize::MAX),
        };
        let mut open = true;
        for (i, piece) in data.chunks(pieces.max(1)).enumerate() {
            let mut rest = piece;
            if i % 2 == 1 && self.input.is_empty() {
                let sunk = self.session.sink().map(|mut sink| {
                    let count = sink.len().min(rest.len());
                    sink[..count].copy_from_slice(&rest[..count]);
                    count
                });
                if let Some(count) = sunk {
                    self.session.sunk(count);
                    rest = &rest[count..];
                }
            }
            self.input.extend_from_slice(rest);
            open = self.serve(batch);
            if !open {
                break;
            }
            if matches!(how, How::Pieces(_)) {
                self.write();
            }
        }
        let mut replies = self.written;
        replies.extend(self.out.to_vec());
        let stats = self.clock.0.stats();
        (!self.crowded && stats.evictions == 0 && stats.full == 0).then_some((replies, !open))
    }
}

/// The first byte says where the rest is cut, and its top bit how much room there is.
fn all_ways(spoken: Spoken, data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let (crowded, cut) = (how & 0x80 != 0, usize::from(how & 0x7f).max(1));
    let expect = converse(spoken, crowded, data, How::OneByOne);
    if let Some((replies, _)) = &expect {
        match spoken {
            Spoken::Redis => redis::check_replies(replies),
            Spoken::Memcached(Protocol::Binary) => check_packets(replies),
            Spoken::Memcached(Protocol::Auto) if data.first() == Some(&binary::REQUEST) => {
                check_packets(replies);
            }
            _ => check_lines(replies, data),
        }
    }
    for how in [How::Pieces(cut), How::Batches] {
        let got = converse(spoken, crowded, data, how);
        if spoken == Spoken::Redis && redis::depends_on_time(data) {
            continue;
        }
        if let (Some(expect), Some(got)) = (&expect, &got) {
            if spoken == Spoken::Redis && redis::too_long(&[&expect.0, &got.0]) {
                continue;
            }
            assert!(
                expect == got,
                "cut every {cut} bytes or in batches: {}\nand: {}",
                expect.0.escape_ascii(),
                got.0.escape_ascii()
            );
        }
    }
}

/// How lines of replies begin.
const LINES: &[&[u8]] = &[
    b"END",
    b"STORED",
    b"NOT_STORED",
    b"EXISTS",
    b"NOT_FOUND",
    b"DELETED",
    b"TOUCHED",
    b"OK",
    b"ERROR",
    b"ERROR:",
    b"Error",
    b"CLIENT_ERROR",
    b"SERVER_ERROR",
    b"VERSION",
    b"STAT",
    b"RESET",
    b"MEMLIMIT_TOO_SMALL",
    b"MEMLIMIT_ADJUST_FAILED",
    b"HD",
    b"EN",
    b"NF",
    b"NS",
    b"EX",
    b"ME",
    b"MN",
];

/// Replies of the text protocols are whole lines of known kinds, and values as long as said.
fn check_lines(replies: &[u8], data: &[u8]) {
    // A key in base64 may have a line end in it, and be shown as it is.
    if data.windows(2).any(|pair| pair == b" b") {
        return;
    }
    let mut rest = replies;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a whole line");
        let line = &rest[..end];
        rest = &rest[end + 2..];
        assert!(!line.contains(&b'\n'), "{}", line.escape_ascii());
        let mut words = line.split(|b| *b == b' ');
        let word = words.next().unwrap();
        let value = match word {
            b"VALUE" => words.nth(2),
            b"VA" => words.next(),
            _ => {
                let number = word.iter().all(u8::is_ascii_digit) && !word.is_empty();
                assert!(number || LINES.contains(&word), "{}", line.escape_ascii());
                continue;
            }
        };
        let len = number::unsigned64(value.expect("a length")).expect("a number") as usize;
        rest = rest[len..].strip_prefix(b"\r\n").expect("a value's end");
    }
}

/// Replies of the binary protocol are whole packets.
fn check_packets(mut rest: &[u8]) {
    while !rest.is_empty() {
        let (header, body) = rest.split_at(24);
        let key = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let len = u32::from_be_bytes(header[8..12].try_into().unwrap()) as usize;
        assert!(header[0] == 0x81 && header[5] == 0 && key + usize::from(header[4]) <= len);
        let status = u16::from_be_bytes([header[6], header[7]]);
        assert!(matches!(status, 0..=6 | 0x20 | 0x81 | 0x82), "status {status}");
        rest = &body[len..];
    }
}

/// Text and binary commands: the first byte after that of the cut selects.
pub fn fuzz_classic(data: &[u8]) {
    all_ways(Spoken::Memcached(Protocol::Auto), data);
}

/// Text, each line with a meta command's letters before it.
pub fn fuzz_meta(data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let mut text = vec![*how];
    for line in data.split_inclusive(|b| *b == b'\n') {
        text.extend_from_slice(match line[0] {
            // Values and other commands may follow, too.
            b'#' => b"",
            byte => [&b"mg "[..], b"ms ", b"md ", b"ma ", b"me "][usize::from(byte) % 5],
        });
        text.extend_from_slice(&line[1..]);
    }
    all_ways(Spoken::Memcached(Protocol::Ascii), &text);
}

/// The binary protocol.
pub fn fuzz_binary(data: &[u8]) {
    all_ways(Spoken::Memcached(Protocol::Binary), data);
}

/// RESP and inline commands.
pub fn fuzz_resp(data: &[u8]) {
    all_ways(Spoken::Redis, data);
}

/// Datagrams, separated by bytes of 255.
pub fn fuzz_udp(data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let mut out = Out::with_units();
    let mut engine = engine(Protocol::Auto, how & 0x80 != 0);
    let mut clock = Clock(engine.local.store().clone());
    for datagram in data.split(|b| *b == 0xff) {
        let Some(mut exchange) = udp::Exchange::new(datagram) else { continue };
        while exchange.execute(datagram, &mut engine, &mut clock, &mut out) {
            engine.local.quiesce();
        }
        let (mut payload, mut count, mut next) = (Vec::new(), 0, (0, 0));
        while let Some(bytes) = exchange
            .send(&out, |parts| parts.iter().flat_map(|part| part.to_vec()).collect::<Vec<u8>>())
        {
            assert!(bytes.len() <= udp::DATAGRAM);
            count += 1;
            let (header, bytes) = bytes.split_at(udp::HEADER);
            let field = |i: usize| u16::from_be_bytes([header[2 * i], header[2 * i + 1]]);
            let total = if next.0 == 0 { field(2) } else { next.1 };
            assert!(header[..2] == datagram[..2]);
            assert_eq!((field(1), field(2), field(3)), (next.0, total, 0));
            next = if next.0 + 1 == total { (0, 0) } else { (next.0 + 1, total) };
            payload.extend_from_slice(bytes);
        }
        assert_eq!(next.0, 0, "a message of fewer datagrams than said");
        assert!(count <= udp::ANSWER + 1);
        assert!(payload == out.to_vec() || count >= udp::ANSWER / 2);
        out.clear();
        engine.local.quiesce();
    }
}

/// Numbers, against the same arithmetic in 128 bits.
pub fn fuzz_number(data: &[u8]) {
    let text = data;
    let from = text.iter().position(|b| !number::is_space(*b)).unwrap_or(text.len());
    let signed = text.get(from).is_some_and(|b| matches!(b, b'+' | b'-'));
    let negative = text.get(from) == Some(&b'-');
    let digits = &text[from + usize::from(signed)..];
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let ends = digits.get(count).is_none_or(|b| *b == 0 || number::is_space(*b));
    let digits = std::str::from_utf8(&digits[..count]).unwrap().trim_start_matches('0');
    let size: Option<i128> = match digits {
        _ if count == 0 || !ends => None,
        "" => Some(0),
        _ if digits.len() > 20 => None,
        _ => digits.parse().ok().filter(|size| *size <= u64::MAX.into()),
    };
    let value = size.map(|size| if negative { -size } else { size });
    // Of a negative number only what wraps around to the lower half.
    let unsigned = value.map(|value| value as u64).filter(|value| !negative || *value >> 63 == 0);
    assert_eq!(number::unsigned64(text), unsigned);
    assert_eq!(number::unsigned32(text), unsigned.map(|value| value as u32));
    let signed = value.and_then(|value| i64::try_from(value).ok()).map(|value| value as i32);
    assert_eq!(number::signed32(text), signed);
    if let Some(value) = unsigned {
        let mut buffer = [0; number::DIGITS];
        assert_eq!(number::digits(value, &mut buffer), value.to_string().as_bytes());
    }
}

/// Base64: what is encoded is decoded, and what is decoded fits.
pub fn fuzz_base64(data: &[u8]) {
    let Some((room, text)) = data.split_first() else { return };
    let mut all = vec![0; text.len()];
    let len = base64::decode(text, &mut all);
    assert!(len.is_none_or(|len| len > 0 && len <= text.len() / 4 * 3));
    let mut some = vec![0; usize::from(*room)];
    let fits = base64::decode(text, &mut some);
    match len {
        Some(len) if fits.is_some() => assert_eq!(all[..len], some[..len]),
        None => assert_eq!(fits, None),
        _ => {}
    }
    let mut encoded = Vec::new();
    base64::encode(text, |group| encoded.extend_from_slice(group));
    assert_eq!(encoded.len(), text.len().div_ceil(3) * 4);
    let mut again = vec![0; text.len()];
    let expect = (!text.is_empty()).then_some(text.len());
    assert_eq!(base64::decode(&encoded, &mut again), expect);
    assert_eq!(again, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small numbers without a crate for them.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) as usize) % n
        }

        fn one<'a>(&mut self, words: &[&'a [u8]]) -> &'a [u8] {
            words[self.below(words.len())]
        }
    }

    const WORDS: &[&[u8]] = &[
        b"get",
        b"gets",
        b"gat",
        b"gats",
        b"set",
        b"add",
        b"replace",
        b"append",
        b"prepend",
        b"cas",
        b"incr",
        b"decr",
        b"touch",
        b"delete",
        b"flush_all",
        b"verbosity",
        b"version",
        b"stats",
        b"quit",
        b"noreply",
        b"mg",
        b"ms",
        b"md",
        b"ma",
        b"me",
        b"mn",
        b"a",
        b"b",
        b"key",
        b"0",
        b"1",
        b"5",
        b"70",
        b"200",
        b"3000",
        b"-1",
        b"100000",
        b"18446744073709551615",
        b"v",
        b"k",
        b"c",
        b"q",
        b"b",
        b"I",
        b"N0",
        b"T5",
        b"E7",
        b"C1",
        b"ME",
        b"MA",
        b"D5",
        b"Oxyz",
        b"YWE=",
        b"s",
        b"\0",
        b"\t",
        b"lru",
        b"slabs",
        b"watch",
        b"HTTP/1.1",
        b"shutdown",
    ];

    #[test]
    fn random_text() {
        let mut random = Random(1);
        for _ in 0..3000 {
            let mut data = vec![random.below(40) as u8];
            for _ in 0..random.below(40) {
                match random.below(6) {
                    0 => data.extend_from_slice(b"\r\n"),
                    1 => data.extend(std::iter::repeat_n(b'x', random.below(300))),
                    2 => data.push(random.below(256) as u8),
                    _ => data.extend_from_slice(random.one(WORDS)),
                }
                data.extend_from_slice(random.one(&[b" ", b" ", b" ", b"\r\n", b"\n"]));
            }
            fuzz_classic(&data);
            fuzz_meta(&data);
            fuzz_udp(&[b"\0\0\x01\0\0\0\x01\0\0", &data[..]].concat());
        }
    }

    /// A line that is longer than what is kept is executed as it comes, however it comes.
    #[test]
    fn endless_lines_are_executed_as_they_come() {
        let set = "set a 0 0 1\r\nx\r\n";
        let (a, miss, long) = ("VALUE a 0 1\r\nx\r\n", " miss".repeat(700), "k".repeat(251));
        let bad = "CLIENT_ERROR bad command line format\r\n";
        for (line, expect) in [
            (format!("get a{miss} a\r\n"), format!("{a}{a}END\r\n")),
            (format!("get{miss} a\n"), format!("{a}END\r\n")),
            (format!("  get{miss} a \r\n"), format!("{a}END\r\n")),
            (format!("get a{miss}{}a\r\n", " ".repeat(4000)), format!("{a}{a}END\r\n")),
            (format!("get{}\r\n", " ".repeat(4000)), "ERROR\r\n".into()),
            (format!("get a{miss} {} a\r\n", &long[1..]), format!("{a}{a}END\r\n")),
            (format!("get a{miss} {long} a{miss}\r\n"), format!("{a}{bad}")),
            (format!("get a {}\r\n", long.repeat(20)), format!("{a}{bad}")),
            (format!("get {} a\r\n", long.repeat(20)), bad.into()),
            (format!("get a{miss} a\0 a{miss} {long}\r\n"), format!("{a}{a}END\r\n")),
            (format!("get a{miss} \0\r\n"), format!("{a}END\r\n")),
            (format!("get a{miss} \r\r\n"), format!("{a}END\r\n")),
        ] {
            let all = format!("{set}{line}version\r\n");
            let expect = format!("STORED\r\n{expect}VERSION 1.6.38\r\n");
            let pieces = [1, 2, 3, 7, 50, 250, 251, 299].map(How::Pieces).into_iter();
            for how in pieces.chain([How::OneByOne, How::Batches]) {
                let spoken = Spoken::Memcached(Protocol::Auto);
                let (reply, closed) = converse(spoken, false, all.as_bytes(), how).unwrap();
                assert_eq!((String::from_utf8(reply).unwrap(), closed), (expect.clone(), false));
            }
        }
    }

    /// The end of a long line is not waited for, whether or not its keys are found; the answer is
    /// as if it was.
    #[test]
    fn a_get_of_many_keys_pauses() {
        let good = format!("get{} a{}\r\n", " miss".repeat(1000), " miss".repeat(50));
        let bad = format!("get a{} {}\r\n", " miss".repeat(1050), "k".repeat(300));
        let value = "VALUE a 0 1\r\nx\r\nEND\r\n";
        for (line, expect) in [(good, value), (bad, "CLIENT_ERROR bad command line format\r\n")] {
            let mut engine = engine(Protocol::Auto, false);
            let settings =
                Settings { multiget_max: 1 << 20, keys_soft: 100, ..(*engine.settings).clone() };
            engine.settings = Arc::new(settings);
            let mut clock = Clock(engine.local.store().clone());
            let (mut session, mut out) = (wirekv_memcache::Session::default(), Out::new());
            let mut pauses = 0;
            for input in ["set a 0 0 1\r\nx\r\n", &line] {
                out.clear();
                let input = input.as_bytes();
                let Parse::Request(mut request) = session.parse(input, &engine) else { panic!() };
                while session.execute(&mut request, input, &mut engine, &mut clock, &mut out)
                    != Next::Continue
                {
                    pauses += 1;
                }
            }
            assert_eq!(out.to_vec(), expect.as_bytes());
            assert_eq!((engine.counters.get_hits, engine.counters.get_misses), (1, 1050));
            assert!((9..=10).contains(&pauses), "{pauses} pauses");
        }
    }

    /// Clients and servers that say some of these words, and steps of any kind.
    #[test]
    fn random_steps() {
        const SAID: &[&[u8]] = &[
            b"END\r\n",
            b"STORED\r\n",
            b"VALUE a 0 1\r\nx\r\nEND\r\n",
            b"VA 1 f0 c1 t-1 ka\r\nx\r\n",
            b"VA 2000 f0 c1 t-1\r\n",
            b"EN\r\n",
            b"MN\r\n",
            b"+OK\r\n",
            b"$-1\r\n",
            b"$1\r\nx\r\n",
            b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$1\r\nx\r\n:-1\r\n",
            b"*2\r\n",
            b"-ERR x\r\n",
            b"get a\r\n",
            b"get b a\r\n",
            b"set a 0 0 1\r\nx\r\n",
            b"set a 0 0 1",
            b"flush_all 1\r\n",
            b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
            b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nx\r\n",
            b"MULTI\r\n",
            b"EXEC\r\n",
            b"quit\r\n",
            b"\x80\x00\x00\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0a",
        ];
        let mut random = Random(3);
        for _ in 0..2000 {
            let mut data = vec![random.below(4) as u8];
            for _ in 0..random.below(60) {
                let text = match random.below(8) {
                    0 => vec![b'x'; random.below(256)],
                    1 => random.one(WORDS).to_vec(),
                    _ => random.one(SAID).to_vec(),
                };
                data.extend([random.below(256) as u8, text.len() as u8]);
                data.extend(text);
            }
            fuzz_upstream(&data);
        }
    }

    #[test]
    fn random_packets() {
        let mut random = Random(2);
        for _ in 0..5000 {
            let mut data = vec![random.below(60) as u8];
            for _ in 0..random.below(12) {
                let extras = [0, 0, 4, 8, 20, random.below(30)][random.below(6)];
                let key = [0, 1, 3, random.below(300)][random.below(4)];
                let value = [0, 0, 5, random.below(300), random.below(4000)][random.below(5)];
                let body = extras + key + value + [0, 0, 0, random.below(3)][random.below(4)];
                data.extend([0x80, random.below(0x26) as u8, (key >> 8) as u8, key as u8]);
                data.extend([extras as u8, 0, 0, 0]);
                data.extend((body as u32).to_be_bytes());
                data.extend([0; 12]);
                data.extend((0..extras + key + value).map(|i| b"a1\0"[i % 3]));
            }
            fuzz_binary(&data);
        }
    }
}
