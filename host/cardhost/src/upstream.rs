//! The card before another server: rows of bytes from its punt queue go to [`Upstream`], pieces of answers come back, and
//! the request port keeps the card's items as they are to be.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wirekv_card::{Card, Port};
use wirekv_memcache::binary::opcode::port::FILL;
use wirekv_memcache::binary::opcode::{DELETE_QUIET, FLUSH_QUIET, NOOP};
use wirekv_net::Addresses;
use wirekv_proto::limits::KEY_MAX;
use wirekv_upstream::{Cache, Item, Piece, Protocol, Sockets, Upstream, Within};

use crate::clients::Question;
use crate::datagrams::Datagrams;
use crate::exceptions::{self, Context, Request, Tag};
use crate::items::{binary, lines, Writes};
use crate::mover::Mover;
use crate::port::{Hold, Lost, RequestPort, Speech};
use crate::walk::replies_of;

/// What this program answers in the server's place.
const STATS: &[u8] = b"stats card\r\n";
/// So many clients are asked about in a second.
const ASKED: usize = 16;

/// A row of bytes of a connection, as far as it has come.
struct Row {
    text: Vec<u8>,
    within: Within,
    stranger: bool,
}

/// The punt queue of such a card.
pub struct Front {
    upstream: Upstream<Sockets>,
    rows: HashMap<Tag, Row>,
    datagrams: Datagrams,
}

impl Front {
    pub fn new(upstream: Upstream<Sockets>, ours: Addresses) -> Front {
        let datagrams = Datagrams::new(ours, Instant::now());
        Front { upstream, rows: HashMap::new(), datagrams }
    }

    /// A packet with a datagram.
    pub fn datagram(&mut self, packet: &[u8], card: &Mover) {
        self.datagrams.take(packet);
        self.ask(card);
    }

    /// Those that wait are asked for at the server.
    fn ask(&mut self, card: &Mover) {
        let now = (Instant::now(), card.now());
        while let Some((tag, datagram)) = self.datagrams.next() {
            let within = within((datagram.goes_on, 0));
            self.upstream.row(tag, &datagram.text, (within, false), now);
        }
    }

    /// How long this can be left alone.
    pub fn patience(&self) -> Duration {
        self.upstream.patience(Instant::now())
    }

    /// Datagrams that found no room.
    pub fn lost(&self) -> u64 {
        self.datagrams.lost
    }

    /// Whether a client asks what the card counts: that and nothing else, since the server's own answers are not cut apart.
    pub fn is_asked(&self, request: &Request<'_>) -> bool {
        let whole = request.begins && !request.more && request.goes_on.0 == 0;
        whole && self.upstream.protocol() == Protocol::Memcached && request.text == STATS
    }

    /// The answer to that. False: it is no command, but within one.
    pub fn tell(&mut self, request: &Request<'_>, stats: &[u8]) -> bool {
        self.upstream.say(request.tag, stats, request.stranger, Instant::now())
    }

    /// A part of a row, or the wish for the next piece of an answer.
    pub fn take(&mut self, request: &Request<'_>, card: &mut Mover) {
        let (tag, now) = (request.tag, Instant::now());
        if request.text.is_empty() {
            match self.upstream.knows(tag) {
                true => self.upstream.more(tag, now),
                // Its answer was given up together with it.
                false => send(card, tag, Context::default(), (&[], true, true)),
            }
            return;
        }
        if request.begins || !self.rows.contains_key(&tag) {
            let within = within(request.goes_on);
            self.rows.insert(tag, Row { text: Vec::new(), within, stranger: request.stranger });
        }
        let Some(row) = self.rows.get_mut(&tag) else { return };
        row.text.extend_from_slice(request.text);
        if request.more {
            return;
        }
        let Some(Row { text, within, stranger }) = self.rows.remove(&tag) else { return };
        self.upstream.row(tag, &text, (within, stranger), (now, card.now()));
        if self.upstream.blocks(tag) {
            // What gates have answered before is not to wait for this.
            Question { tag, stranger, told: false }.is_there(card);
        }
    }

    /// Does what there is to be done.
    pub fn turn(&mut self, card: &mut Mover, port: &mut RequestPort) {
        let mut pieces = Vec::new();
        let mut say = |tag, piece, waits| pieces.push((tag, piece, waits));
        let mut items = Items { protocol: self.upstream.protocol(), card: &mut *card, port };
        self.upstream.turn(Instant::now(), &mut items, &mut say);
        for (tag, piece, waits) in pieces {
            if Datagrams::is_mine(tag) {
                self.say(tag, &piece, card);
                continue;
            }
            let context = Context { all: piece.all, ..Context::default() };
            send(card, tag, context, (&piece.text, piece.last, piece.closes));
            if waits {
                Question { tag, stranger: false, told: false }.is_there(card);
            }
        }
    }

    /// A piece of the answer to a datagram.
    fn say(&mut self, tag: Tag, piece: &Piece, card: &mut Mover) {
        let now = Instant::now();
        for frame in self.datagrams.answer(tag, &piece.text, piece.last, now) {
            card.send(Port::Host, &frame);
        }
        match piece.last {
            false => self.upstream.more(tag, now),
            // What is left of a command that was cut is not the next datagram's.
            true if piece.all || piece.closes => self.upstream.gone(tag, true, now),
            true => {}
        }
        self.ask(card);
    }

    /// Looks which clients are gone: nothing of them is kept, and nothing waits for them at the server.
    pub fn forget(&mut self, card: &mut Mover) {
        let now = Instant::now();
        for (tag, met) in self.upstream.silent(now).into_iter().take(ASKED) {
            let question = Question { tag, stranger: !met, told: false };
            let gone = !question.is_there(card);
            self.upstream.gone(tag, gone, now);
        }
    }
}

fn within((what, left): (u8, u32)) -> Within {
    match what {
        0 => Within::No,
        1 => Within::Get,
        2 => Within::Gets,
        _ => Within::Mget(left),
    }
}

fn send(card: &mut Mover, tag: Tag, context: Context, (text, last, closes): (&[u8], bool, bool)) {
    card.send(Port::Exception, &exceptions::piece(tag, context, text, last, closes));
}

/// The card's items, by way of the request port.
struct Items<'a> {
    protocol: Protocol,
    card: &'a mut Mover,
    port: &'a mut RequestPort,
}

impl Items<'_> {
    /// Requests of the binary protocol, until all are executed. False: it is not known what became of them.
    fn binary(&mut self, mut requests: Vec<u8>) -> bool {
        requests.extend(binary(NOOP, &[], &[], &[]));
        // A NOOP is answered behind all others.
        let whole = |replies: &[u8]| {
            let replies = replies_of(replies);
            replies.is_some_and(|all| all.last().is_some_and(|last| last[1] == NOOP))
        };
        self.ask((Speech::Binary, &requests), whole).is_ok()
    }

    fn ask(
        &mut self,
        (speech, requests): (Speech, &[u8]),
        whole: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Lost> {
        self.port.ask(self.card, (speech, requests, Hold::default()), whole).map(drop)
    }
}

impl Cache for Items<'_> {
    fn delete(&mut self, keys: &[Vec<u8>]) -> bool {
        let keys = keys.iter().filter(|key| !key.is_empty() && key.len() <= KEY_MAX);
        self.binary(keys.flat_map(|key| binary(DELETE_QUIET, &[], key, &[])).collect())
    }

    fn flush(&mut self) -> bool {
        self.binary(binary(FLUSH_QUIET, &[], &[], &[]))
    }

    fn fill(&mut self, items: &[Item]) -> bool {
        if self.protocol == Protocol::Memcached {
            return self.binary(items.iter().flat_map(fill).collect());
        }
        let mut writes = Writes::new(0);
        for Item { key, value, expiry, .. } in items {
            let at = expiry.map(|expiry| expiry.as_millis().to_string());
            let mut words: Vec<&[u8]> = vec![b"SET", key, value];
            words.extend(at.iter().flat_map(|at| [&b"PXAT"[..], at.as_bytes()]));
            writes.command(&words);
        }
        let whole = |replies: &[u8]| lines(replies).len() == items.len();
        self.ask((Speech::Redis, &writes.text), whole).is_ok()
    }
}

/// An item as of memcached.
fn fill(item: &Item) -> Vec<u8> {
    let expiry = item.expiry.map_or(0, |expiry| expiry.as_secs() as u32);
    let extras = [item.flags.to_be_bytes(), expiry.to_be_bytes()].concat();
    let mut request = binary(FILL, &extras, &item.key, &item.value);
    request[16..24].copy_from_slice(&item.unique.to_be_bytes());
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::sync::{Arc, Mutex};

    use mio::{Poll, Token, Waker};
    use wirekv_card::{csr, CardError};
    use wirekv_memcache::binary::{HEADER, REPLY};
    use wirekv_net::{Addresses, Link, Refuser, Wire};
    use wirekv_upstream::{Server, Settings};

    const LINE: usize = 64;

    /// A key's item: value, flags and CAS unique, or what Redis' speech gave it; when it ends.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Copied(Vec<u8>, u32, u64, u64);

    /// What a card knows whose gates run nothing but the request port.
    #[derive(Default)]
    struct State {
        items: HashMap<Vec<u8>, Copied>,
        flushes: u32,
        open: bool,
        /// Bytes of requests that came, those that were not executed, and bytes of replies.
        came: usize,
        input: Vec<u8>,
        replied: usize,
        to_host: Vec<Vec<u8>>,
        answers: Vec<Vec<u8>>,
        questions: Vec<Vec<u8>>,
        about: u32,
    }

    impl State {
        fn port(&mut self, packet: &[u8]) {
            let len = usize::from(u16::from_le_bytes([packet[4], packet[5]]));
            if packet[6] & 1 != 0 && !self.open {
                (self.open, self.came, self.replied) = (true, 0, 0);
            }
            self.open &= packet[6] & 2 == 0;
            let data = if len > 0 { &packet[LINE + self.came % LINE..] } else { &[] };
            assert_eq!(data.len(), len);
            self.came += len;
            self.input.extend_from_slice(data);
            let replies = if packet[6] & 32 != 0 { self.redis() } else { self.binary() };
            let mut rest = &replies[..];
            loop {
                let lane = self.replied % LINE;
                let (piece, more) = rest.split_at(rest.len().min(512 - lane));
                let mut packet = vec![0; LINE];
                (packet[5], packet[6], packet[7]) = (128, lane as u8, u8::from(self.open));
                packet[8..12].copy_from_slice(&(self.came as u32).to_le_bytes());
                packet[12..14].copy_from_slice(&(piece.len() as u16).to_le_bytes());
                packet.resize(LINE + lane, 0);
                packet.extend_from_slice(piece);
                self.to_host.push(packet);
                self.replied += piece.len();
                rest = more;
                if rest.is_empty() {
                    return;
                }
            }
        }

        fn binary(&mut self) -> Vec<u8> {
            let mut replies = Vec::new();
            while self.input.len() >= HEADER {
                let body = u32::from_be_bytes(self.input[8..12].try_into().unwrap()) as usize;
                if self.input.len() < HEADER + body {
                    break;
                }
                let request: Vec<u8> = self.input.drain(..HEADER + body).collect();
                let key = usize::from(u16::from_be_bytes([request[2], request[3]]));
                let extras = usize::from(request[4]);
                let (extras, rest) = request[HEADER..].split_at(extras);
                let (key, value) = rest.split_at(key);
                let mut reply = vec![0; HEADER];
                (reply[0], reply[1]) = (REPLY, request[1]);
                match request[1] {
                    DELETE_QUIET if self.items.remove(key).is_some() => continue,
                    DELETE_QUIET => reply[7] = 1,
                    FLUSH_QUIET => {
                        self.items.clear();
                        self.flushes += 1;
                        continue;
                    }
                    FILL => {
                        let number =
                            |at: usize| u32::from_be_bytes(extras[at..at + 4].try_into().unwrap());
                        let unique = u64::from_be_bytes(request[16..24].try_into().unwrap());
                        let item = Copied(value.to_vec(), number(0), unique, number(4).into());
                        self.items.insert(key.to_vec(), item);
                    }
                    NOOP => {}
                    other => panic!("{other}"),
                }
                replies.extend(reply);
            }
            replies
        }

        /// Whole commands alone.
        fn redis(&mut self) -> Vec<u8> {
            let mut replies = Vec::new();
            loop {
                let mut lines = self.input.split_inclusive(|byte| *byte == b'\n');
                let Some(count) = lines.next().and_then(|line| line.strip_prefix(b"*")) else {
                    return replies;
                };
                let count: usize = std::str::from_utf8(count).unwrap().trim().parse().unwrap();
                let words: Vec<&[u8]> = lines.take(2 * count).collect();
                if words.len() < 2 * count || !words.last().unwrap().ends_with(b"\n") {
                    return replies;
                }
                let len = words.iter().map(|word| word.len()).sum::<usize>()
                    + 2
                    + count.to_string().len()
                    + 1;
                let words: Vec<Vec<u8>> = words
                    .iter()
                    .skip(1)
                    .step_by(2)
                    .map(|word| word[..word.len() - 2].to_vec())
                    .collect();
                assert_eq!(words[0], b"SET");
                let end = words
                    .get(4)
                    .map_or(0, |end| std::str::from_utf8(end).unwrap().parse().unwrap());
                assert!(count == 3 || (count == 5 && words[3] == b"PXAT"));
                self.items.insert(words[1].clone(), Copied(words[2].clone(), 0, 0, end));
                self.input.drain(..len);
                replies.extend(b"+OK\r\n");
            }
        }
    }

    struct StandIn(Arc<Mutex<State>>);

    impl Card for StandIn {
        fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
            assert_eq!(addr, csr::ABOUT);
            Ok(self.0.lock().unwrap().about)
        }

        fn write_csr(&mut self, _addr: u32, _value: u32) -> Result<(), CardError> {
            Ok(())
        }

        fn send(&mut self, port: Port, frame: &[u8]) {
            assert_eq!(port, Port::Exception);
            let mut state = self.0.lock().unwrap();
            if frame[6] & 128 != 0 {
                state.port(frame);
            } else if frame[6] & 16 != 0 {
                // There is one, if it is none of these.
                state.about ^= 1 << 31;
                state.about = (state.about & 1 << 31) | u32::from(frame[0] < 100) << 16;
                state.questions.push(frame.to_vec());
            } else {
                state.answers.push(frame.to_vec());
            }
        }

        fn backlog(&self, _port: Port) -> usize {
            0
        }

        fn advance(&mut self, _clocks: u64) {}

        fn receive(&mut self, port: Port, take: &mut dyn FnMut(&[u8])) {
            if port == Port::Exception {
                let packets = std::mem::take(&mut self.0.lock().unwrap().to_host);
                packets.iter().for_each(|packet| take(packet));
            }
        }

        fn tick(&mut self) {}

        fn idle(&self) -> bool {
            self.0.lock().unwrap().to_host.is_empty()
        }

        fn timers(&self) -> bool {
            false
        }

        fn short_timers(&self) -> bool {
            false
        }

        fn clock(&self) -> u64 {
            0
        }
    }

    struct Process(Child);

    impl Drop for Process {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A real server, where it is there.
    fn server(protocol: &str) -> Option<(Process, Server)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let paths = match protocol {
            "redis" => ["/usr/bin/redis-server".into(), "/usr/bin/redis-check-rdb".into()],
            _ => [root.join("build/memcached/memcached"), "/nowhere".into()],
        };
        let Some(path) = paths.into_iter().find(|path| path.exists()) else {
            eprintln!("skipped: there is no {protocol}");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(path);
        match protocol {
            "redis" => {
                command.arg0("redis-server").args(["--save", "", "--port", &port.to_string()])
            }
            _ => {
                command.args(["-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", &port.to_string()])
            }
        };
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let process = Process(process);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let address = format!("{protocol}:127.0.0.1:{port}").parse().unwrap();
        Some((process, Server::meet(&address).unwrap()))
    }

    struct Bench {
        front: Front,
        mover: Mover,
        port: RequestPort,
        state: Arc<Mutex<State>>,
        _poll: Poll,
    }

    impl Bench {
        fn new(server: Server) -> Bench {
            let poll = Poll::new().unwrap();
            let (_, link) = Link::ends(Waker::new(poll.registry(), Token(0)).unwrap());
            let addresses = Addresses {
                card_mac: [2; 6],
                card_ip: Ipv4Addr::new(10, 0, 0, 2),
                card_ip6: Ipv6Addr::LOCALHOST,
                card_tcp_port: 1,
                card_redis_port: 2,
                card_udp_port: 0,
                mtu: 1500,
            };
            let refuser = Refuser::new(&addresses, false, Instant::now());
            let state = Arc::<Mutex<State>>::default();
            let card = Box::new(StandIn(state.clone()));
            let mover = Mover::new(card, link.clone(), Wire::new(None, None), refuser);
            let sockets = Sockets::new(&server, move || link.nudge()).unwrap();
            let settings = Settings { admit_all: true, ..Settings::default() };
            let upstream = Upstream::new(server, settings, sockets, Instant::now()).unwrap();
            let front = Front::new(upstream, crate::datagrams::tests::ours());
            let mut bench =
                Bench { front, mover, port: RequestPort::default(), state, _poll: poll };
            bench.until(|state| state.flushes >= 2);
            bench
        }

        fn turn(&mut self) {
            self.front.turn(&mut self.mover, &mut self.port);
            let patience = self.front.patience();
            if self.state.lock().unwrap().answers.is_empty() && !patience.is_zero() {
                self.mover.rest(patience);
            }
        }

        fn until(&mut self, is: impl Fn(&State) -> bool) {
            let end = Instant::now() + Duration::from_secs(30);
            while !is(&self.state.lock().unwrap()) {
                assert!(Instant::now() < end);
                self.turn();
            }
        }

        /// A row of a connection as the card hands it over, in packets.
        fn send(&mut self, conn: u8, text: &[u8], goes_on: (u8, u32)) {
            let count = text.chunks(250).count();
            for (at, part) in text.chunks(250).enumerate() {
                let mut packet = vec![0; LINE];
                (packet[0], packet[4]) = (conn, part.len() as u8);
                packet[5] = u8::from(at + 1 < count) << 2 | u8::from(at == 0) << 4 | 1 << 5;
                if at == 0 {
                    packet[7] = goes_on.0;
                    packet[8..12].copy_from_slice(&goes_on.1.to_le_bytes());
                }
                packet.extend_from_slice(part);
                self.front.take(&Request::parse(&packet).unwrap(), &mut self.mover);
            }
        }

        /// The whole answer, and the flags of its last piece.
        fn receive(&mut self, conn: u8) -> (Vec<u8>, u8) {
            let (mut text, mut size) = (Vec::new(), 512);
            loop {
                self.until(|state| !state.answers.is_empty());
                let piece = self.state.lock().unwrap().answers.remove(0);
                let len = usize::from(u16::from_le_bytes([piece[4], piece[5]]));
                assert!(piece[0] == conn && piece.len() == LINE + len && len <= size);
                size = 2048;
                text.extend_from_slice(&piece[LINE..]);
                if piece[6] & 1 != 0 {
                    return (text, piece[6]);
                }
                let mut packet = vec![0; LINE];
                packet[0] = conn;
                self.front.take(&Request::parse(&packet).unwrap(), &mut self.mover);
            }
        }

        fn ask(&mut self, conn: u8, text: &[u8]) -> (Vec<u8>, u8) {
            self.send(conn, text, (0, 0));
            self.receive(conn)
        }

        fn item(&self, key: &[u8]) -> Option<Copied> {
            self.state.lock().unwrap().items.get(key).cloned()
        }
    }

    const LAST: u8 = 1;
    const CLOSES: u8 = 2;
    const ALL: u8 = 8;

    #[test]
    fn before_memcached() {
        let Some((_process, server)) = server("memcached") else { return };
        let mut bench = Bench::new(server);
        let value = vec![b'v'; 7000];
        let set = [&b"set a 7 1000 7000\r\n"[..], &value, b"\r\n"].concat();
        assert_eq!(bench.ask(1, &set), (b"STORED\r\n".to_vec(), LAST));
        let now = bench.mover.now().as_secs();
        let (text, flags) = bench.ask(1, b"get a\r\n");
        assert!(text.len() == 7000 + 23 && flags == LAST);
        bench.until(|state| state.items.contains_key(&b"a"[..]));
        let Copied(found, flags, unique, expiry) = bench.item(b"a").unwrap();
        assert!(found == value && flags == 7 && unique > 0);
        assert!((now + 990..=now + 1000).contains(&expiry), "{expiry} {now}");
        // Many keys, of which the card has some: all that were changed are gone when it is answered.
        let many: String = (0..100).map(|n| format!("set k{n} 0 0 1\r\nx\r\n")).collect();
        assert_eq!(bench.ask(2, many.as_bytes()).0, b"STORED\r\n".repeat(100));
        let gets: String = (0..100).map(|n| format!("k{n} ")).collect();
        bench.ask(2, format!("get {gets}\r\n").as_bytes());
        bench.until(|state| state.items.len() > 50);
        assert_eq!(bench.ask(2, many.as_bytes()).0, b"STORED\r\n".repeat(100));
        assert_eq!(bench.state.lock().unwrap().items.len(), 1);
        // A part of a command, and a line that gates have begun.
        assert_eq!(bench.ask(1, b"set b 0 0 1\r\n"), (Vec::new(), LAST | ALL));
        assert_eq!(bench.ask(1, b"1\r\n"), (b"STORED\r\n".to_vec(), LAST));
        bench.send(1, b"b\r\n", (1, 0));
        assert_eq!(bench.receive(1).0, b"VALUE b 0 1\r\n1\r\nEND\r\n");
        assert_eq!(bench.ask(1, b"flush_all\r\n").0, b"OK\r\n");
        assert!(bench.state.lock().unwrap().items.is_empty());
        assert_eq!(bench.ask(1, b"quit\r\n"), (Vec::new(), LAST | CLOSES));
        // Nobody knows what it waits for.
        let mut packet = vec![0; LINE];
        packet[0] = 9;
        bench.front.take(&Request::parse(&packet).unwrap(), &mut bench.mover);
        assert_eq!(bench.receive(9), (Vec::new(), LAST | CLOSES));
    }

    #[test]
    fn before_redis() {
        let Some((_process, server)) = server("redis") else { return };
        let mut bench = Bench::new(server);
        assert_eq!(bench.ask(1, b"SET a 1 PX 100000\r\nSET b 2\r\n").0, b"+OK\r\n+OK\r\n");
        let now = bench.mover.now().as_millis() as u64;
        assert_eq!(bench.ask(1, b"MGET a b\r\n"), (b"*2\r\n$1\r\n1\r\n$1\r\n2\r\n".to_vec(), LAST));
        bench.until(|state| state.items.len() == 2);
        let Copied(value, _, _, end) = bench.item(b"a").unwrap();
        assert!(value == b"1" && end <= now + 100_000 && end > now + 80_000);
        assert_eq!(bench.item(b"b"), Some(Copied(b"2".to_vec(), 0, 0, 0)));
        assert_eq!(bench.ask(2, b"INCR a\r\n").0, b":2\r\n");
        assert_eq!(bench.item(b"a"), None);
        bench.send(1, b"$1\r\nb\r\n", (3, 1));
        assert_eq!(bench.receive(1).0, b"$1\r\n2\r\n");
        assert_eq!(bench.ask(1, b"MULTI\r\n"), (b"+OK\r\n".to_vec(), LAST | ALL));
        // What waits at the server does not hold back what gates have said before; who leaves does not wait on.
        let questions = bench.state.lock().unwrap().questions.len();
        bench.send(200, b"BLPOP l 0\r\n", (0, 0));
        assert!(bench.state.lock().unwrap().questions.len() > questions);
        bench.turn();
        let end = Instant::now() + Duration::from_secs(30);
        while bench.front.upstream.knows([200, 0, 0, 0]) {
            assert!(Instant::now() < end);
            bench.turn();
            bench.front.forget(&mut bench.mover);
        }
    }
}
