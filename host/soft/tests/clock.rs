//! What depends on time, on a clock that jumps when it is told to.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wirekv_proto::Protocol;
use wirekv_soft::{Access, Options, Soft};

const DAY: u32 = 24 * 60 * 60;

struct Server {
    soft: Option<Soft>,
    seconds: Arc<AtomicU32>,
}

impl Server {
    fn start(idle_timeout: Option<u32>) -> Server {
        let options = Options {
            tcp: vec!["127.0.0.1:0".parse().unwrap()],
            udp: Vec::new(),
            redis: Vec::new(),
            unix: None,
            unix_redis: None,
            access: Access::default(),
            password: Vec::new(),
            protected: true,
            debug: false,
            memory: 16 << 20,
            file: None,
            resident: false,
            item_max: 1 << 20,
            least_item: 16,
            threads: 2,
            max_conns: 100,
            backlog: 100,
            protocol: Protocol::Auto,
            batch: 20,
            watch_buffer: 0,
            busy_poll: Duration::from_micros(20),
            idle_timeout,
            keep_alive: None,
            crawler: true,
            shutdown: false,
            cas: true,
            evict: true,
            flush: true,
            verbosity: 0,
            metrics: None,
            delimiter: None,
        };
        let seconds = Arc::new(AtomicU32::new(2));
        let time = seconds.clone();
        let clock = move || 1000 * u64::from(time.load(SeqCst));
        let soft = Soft::start(options, Box::new(clock), Box::new(|| ()));
        Server { soft: Some(soft.unwrap()), seconds }
    }

    fn soft(&self) -> &Soft {
        self.soft.as_ref().unwrap()
    }

    fn jump(&self, seconds: u32) {
        self.seconds.fetch_add(seconds, SeqCst);
        self.soft().tick();
    }

    /// Sends, and waits until it was read.
    fn send(&self, client: &mut Client, bytes: &[u8]) {
        let before = self.bytes_read();
        client.0.write_all(bytes).unwrap();
        while self.bytes_read() < before + bytes.len() {
            std::thread::yield_now();
        }
    }

    fn bytes_read(&self) -> usize {
        let mut bytes = 0;
        self.soft().stats(|name, value| {
            if name == "bytes_read" {
                bytes = value.parse().unwrap();
            }
        });
        bytes
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(self.soft().addresses()[0]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client(stream)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.soft.take().unwrap().stop().unwrap();
    }
}

struct Client(TcpStream);

impl Client {
    /// The replies to `requests`, line ends as they are.
    fn ask(&mut self, requests: &str) -> String {
        // A `mn` behind them tells where they end.
        self.0.write_all(format!("{requests}\r\nmn\r\n").as_bytes()).unwrap();
        let mut reply = Vec::new();
        while !reply.ends_with(b"MN\r\n") {
            let mut piece = [0; 4096];
            let n = self.0.read(&mut piece).unwrap();
            assert_ne!(n, 0, "closed after {requests:?}");
            reply.extend_from_slice(&piece[..n]);
        }
        reply.truncate(reply.len() - 4);
        String::from_utf8(reply).unwrap()
    }

    fn set(&mut self, key: &str, exptime: i64) {
        assert_eq!(self.ask(&format!("set {key} 0 {exptime} 1\r\nx")), "STORED\r\n");
    }

    fn has(&mut self, key: &str) -> bool {
        match self.ask(&format!("get {key}")).as_str() {
            "END\r\n" => false,
            reply => {
                assert_eq!(reply, format!("VALUE {key} 0 1\r\nx\r\nEND\r\n"));
                true
            }
        }
    }

    /// Those of the keys that are there.
    fn all(&mut self, keys: &str) -> String {
        let there: Vec<_> = keys.split(' ').filter(|key| self.has(key)).collect();
        there.join(" ")
    }
}

fn unix() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// Values that were announced: one comes in time; one trickles, and loses its room, with what its key
/// had, but not the connection.
#[test]
fn trickle() {
    let server = Server::start(None);
    let (mut fast, mut slow) = (server.client(), server.client());
    slow.set("slow", 0);
    server.send(&mut slow, b"set slow 0 0 100000\r\n");
    for _ in 0..20 {
        server.send(&mut slow, b"x");
        server.jump(1);
    }
    server.send(&mut fast, b"set fast 0 0 100000\r\n");
    for _ in 0..20 {
        server.send(&mut fast, &[b'x'; 5000]);
        server.jump(1);
    }
    assert_eq!(fast.ask(""), "STORED\r\n");
    let rest = "x".repeat(100_000 - 20);
    let reply = "SERVER_ERROR out of memory storing object\r\n";
    assert_eq!(slow.ask(&rest), reply);
    assert!(!slow.has("slow"));
    slow.set("slow", 0);
    assert!(slow.has("slow"));
}

#[test]
fn items_expire() {
    let server = Server::start(None);
    let mut client = server.client();
    let day = i64::from(DAY);
    client.set("never", 0);
    client.set("at-once", -1);
    client.set("day", day);
    client.set("day-and-a-second", day + 1);
    client.set("month", 30 * day);
    client.set("past-date", unix() - 1000);
    client.set("date", unix() + 2 * day);
    let keys = "never at-once day day-and-a-second month past-date date";
    assert_eq!(client.all(keys), "never day day-and-a-second month date");
    server.jump(DAY - 1);
    assert_eq!(client.all(keys), "never day day-and-a-second month date");
    server.jump(1);
    assert_eq!(client.all(keys), "never day-and-a-second month date");
    server.jump(1);
    assert_eq!(client.all(keys), "never month date");
    // The date is a second or two away from two days: the clocks are read one after the other.
    server.jump(DAY - 100);
    assert_eq!(client.all(keys), "never month date");
    server.jump(200);
    assert_eq!(client.all(keys), "never month");
    server.jump(28 * DAY);
    assert_eq!(client.all(keys), "never");
    server.jump(1000 * DAY);
    assert_eq!(client.all(keys), "never");
}

#[test]
fn other_commands_see_expiry() {
    let server = Server::start(None);
    let mut client = server.client();
    for key in ["a", "b", "c", "d", "e"] {
        client.set(key, 100);
    }
    assert_eq!(client.ask("set n 0 100 1\r\n5"), "STORED\r\n");
    assert_eq!(client.ask("incr n 1"), "6\r\n");
    server.jump(DAY);
    assert_eq!(client.ask("delete a"), "NOT_FOUND\r\n");
    assert_eq!(client.ask("replace b 0 0 1\r\ny"), "NOT_STORED\r\n");
    assert_eq!(client.ask("append c 0 0 1\r\ny"), "NOT_STORED\r\n");
    assert_eq!(client.ask("touch d 0"), "NOT_FOUND\r\n");
    assert_eq!(client.ask("incr n 1"), "NOT_FOUND\r\n");
    assert_eq!(client.ask("add e 0 0 1\r\nx"), "STORED\r\n");
    assert!(client.has("e"));
}

#[test]
fn touched_items_live_on() {
    let server = Server::start(None);
    let mut client = server.client();
    for key in ["longer", "shorter", "for-ever", "gat", "meta", "limited"] {
        client.set(key, if key == "limited" { 0 } else { 100 });
    }
    assert_eq!(client.ask("touch longer 1000"), "TOUCHED\r\n");
    assert_eq!(client.ask("touch shorter 10"), "TOUCHED\r\n");
    assert_eq!(client.ask("touch for-ever 0"), "TOUCHED\r\n");
    assert_eq!(client.ask("gat 1000 gat"), "VALUE gat 0 1\r\nx\r\nEND\r\n");
    assert_eq!(client.ask("mg meta T1000 t"), "HD t1000\r\n");
    // It had no room for an expiry time: a copy has.
    assert_eq!(client.ask("touch limited 1000"), "TOUCHED\r\n");
    let keys = "longer shorter for-ever gat meta limited";
    assert_eq!(client.all(keys), keys);
    server.jump(10);
    assert_eq!(client.all(keys), "longer for-ever gat meta limited");
    server.jump(300);
    assert_eq!(client.ask("mg meta t"), "HD t690\r\n");
    assert_eq!(client.all(keys), "longer for-ever gat meta limited");
    server.jump(690);
    assert_eq!(client.all(keys), "for-ever");
    server.jump(DAY);
    assert_eq!(client.ask("mg for-ever t"), "HD t-1\r\n");
}

#[test]
fn meta_tells_ages() {
    let server = Server::start(None);
    let mut client = server.client();
    client.set("a", 1000);
    server.jump(400);
    assert_eq!(client.ask("mg a t h l"), "HD t600 h0 l400\r\n");
    server.jump(7);
    assert_eq!(client.ask("mg a t h"), "HD t593 h1\r\n");
    // The first one within its last seconds is told to make it anew, no other.
    server.jump(580);
    assert_eq!(client.ask("mg a t R30"), "HD t13 W\r\n");
    assert_eq!(client.ask("mg a t R30"), "HD t13 Z\r\n");
}

#[test]
fn flush_all_may_wait() {
    let server = Server::start(None);
    let mut client = server.client();
    client.set("a", 0);
    assert_eq!(client.ask(&format!("flush_all {DAY}")), "OK\r\n");
    server.jump(DAY - 2);
    client.set("b", 0);
    assert_eq!(client.all("a b"), "a b");
    server.jump(2);
    assert_eq!(client.all("a b"), "");
    client.set("c", 0);
    server.jump(DAY);
    assert_eq!(client.all("a b c"), "c");
    // At once, whatever comes in the same second stays.
    assert_eq!(client.ask("flush_all"), "OK\r\n");
    client.set("d", 0);
    assert_eq!(client.all("c d"), "d");
    server.jump(DAY);
    assert_eq!(client.all("c d"), "d");
}

#[test]
fn flush_all_at_a_time_that_is_over_is_at_once() {
    let server = Server::start(None);
    let mut client = server.client();
    client.set("a", 0);
    // A date before the start flushes nothing.
    assert_eq!(client.ask(&format!("flush_all {}", unix() - 1000)), "OK\r\n");
    assert_eq!(client.all("a"), "a");
    server.jump(100 * DAY);
    client.set("b", 0);
    assert_eq!(client.ask(&format!("flush_all {}", unix() + 100)), "OK\r\n");
    client.set("c", 0);
    assert_eq!(client.all("a b c"), "c");
    server.jump(DAY);
    assert_eq!(client.all("a b c"), "c");
}

#[test]
fn silent_connections_are_closed() {
    let server = Server::start(Some(10));
    let [mut silent, mut other, mut busy] = [(); 3].map(|()| server.client());
    silent.ask("version");
    busy.ask("version");
    // On the other thread.
    other.ask("version");
    for _ in 0..3 {
        server.jump(5);
        busy.ask("version");
    }
    assert_eq!(silent.0.read(&mut [0; 10]).unwrap(), 0, "still open");
    assert_eq!(other.0.read(&mut [0; 10]).unwrap(), 0, "still open");
    assert!(busy.ask("stats").contains("STAT idle_kicks 2\r\n"));
    assert!(busy.ask("stats").contains("STAT curr_connections 1\r\n"));
}

/// Both threads have looked for silent clients when this returns.
fn look(server: &Server) {
    // They look when they are through with what woke them.
    for mut other in [server.client(), server.client()] {
        other.ask("version");
        other.ask("version");
    }
}

/// Who takes some of the replies now and then stays, who takes nothing goes.
#[test]
fn a_slow_reader_is_not_idle() {
    let server = Server::start(Some(10));
    let value = "v".repeat(1_000_000);
    // More than the kernel takes at once.
    let count = 50;
    let [mut slow, mut stuck] = [(); 2].map(|()| {
        let mut client = server.client();
        assert_eq!(client.ask(&format!("set big 0 0 {}\r\n{value}", value.len())), "STORED\r\n");
        client.0.write_all("get big\r\n".repeat(count).as_bytes()).unwrap();
        client.0.read_exact(&mut [0; 1]).unwrap();
        client
    });
    let mut left = count * (format!("VALUE big 0 {}\r\n", value.len()).len() + value.len() + 7) - 1;
    let mut piece = vec![0; 1 << 20];
    for _ in 0..30 {
        slow.0.read_exact(&mut piece).expect("it is not idle");
        left -= piece.len();
        server.jump(8);
        look(&server);
    }
    assert!(server.client().ask("stats").contains("STAT idle_kicks 1\r\n"));
    while left > 0 {
        let n = slow.0.read(&mut piece).unwrap();
        assert_ne!(n, 0, "closed with {left} bytes to come");
        left -= n;
    }
    let mut came = 1;
    while let Ok(n @ 1..) = stuck.0.read(&mut piece) {
        came += n;
    }
    assert!(came < count * value.len(), "still open");
    // From here on the first is silent, not before.
    server.jump(5);
    look(&server);
    slow.ask("version");
}

/// A request that takes many turns is no silence, though nothing comes and nothing is waited for.
#[test]
fn a_long_request_is_not_idle() {
    const KEYS: u64 = 2_000_000;
    let server = Server::start(Some(10));
    let keys = " miss".repeat(KEYS as usize);
    loop {
        let [mut busy, mut other] = [(); 2].map(|()| server.client());
        let before = stat(&mut other, "get_misses");
        busy.0.write_all(format!("get{keys}\r\n").as_bytes()).unwrap();
        while stat(&mut other, "get_misses") == before {}
        server.jump(DAY);
        let within = stat(&mut server.client(), "get_misses") < before + KEYS;
        let mut end = [0; 5];
        busy.0.read_exact(&mut end).unwrap();
        assert_eq!(&end, b"END\r\n");
        // Who had his reply when the day began was silent.
        if within {
            server.jump(5);
            look(&server);
            busy.ask("version");
            return;
        }
    }
}

#[test]
fn a_slow_writer_is_not_idle() {
    let server = Server::start(Some(10));
    let [mut slow, mut other] = [(); 2].map(|()| server.client());
    let mut send = |text: &str| {
        let before = stat(&mut other, "bytes_read");
        slow.0.write_all(text.as_bytes()).unwrap();
        // Each look at it adds some bytes, but less than the value's pieces have.
        while stat(&mut other, "bytes_read") < before + text.len() as u64 {
            std::thread::yield_now();
        }
    };
    let piece = "v".repeat(100_000);
    send("set big 0 0 1000000\r\n");
    for _ in 0..10 {
        send(&piece);
        server.jump(5);
    }
    assert_eq!(slow.ask(""), "STORED\r\n");
}

fn stat(client: &mut Client, name: &str) -> u64 {
    let stats = client.ask("stats");
    let from = stats.split(&format!("STAT {name} ")).nth(1).unwrap();
    from.split("\r\n").next().unwrap().parse().unwrap()
}

#[test]
fn uptime_follows() {
    let server = Server::start(None);
    let mut client = server.client();
    let before = unix();
    server.jump(DAY);
    let stats = client.ask("stats");
    assert!(stats.contains("STAT uptime 86400\r\n"), "{stats}");
    let time = stats.split("STAT time ").nth(1).unwrap().split("\r\n").next().unwrap();
    let time: i64 = time.parse().unwrap();
    assert!((0..100).contains(&(time + 50 - before - i64::from(DAY))), "{time}, {before}");
}
