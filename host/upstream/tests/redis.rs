//! Before a real Redis 7.

mod front;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use front::{redis, unix, Front};
use wirekv_upstream::{Address, Server, Settings, Within};

/// A command of arguments.
fn command(words: &str) -> Vec<u8> {
    let words: Vec<&str> = words.split(' ').collect();
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text += &format!("${}\r\n{word}\r\n", word.len()));
    text.into_bytes()
}

fn commands(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| command(line)).collect()
}

fn ask(front: &mut Front, conn: u8, words: &str) -> String {
    String::from_utf8(front.ask(conn, &command(words))).unwrap()
}

fn fill(front: &mut Front, key: &str) {
    ask(front, 99, &format!("GET {key}"));
    front.until(|front| front.value(key).is_some());
}

#[test]
fn a_key_is_filled_in_and_a_write_takes_it_out() {
    let Some(server) = redis() else { return };
    let mut front = Front::new(&server.1);
    for (words, reply) in [
        ("SET a abc", "+OK\r\n"),
        ("APPEND a d", ":4\r\n"),
        ("EXPIRE a 100", ":1\r\n"),
        ("PERSIST a", ":1\r\n"),
        ("MSET b 1 a 2", "+OK\r\n"),
        ("INCR a", ":3\r\n"),
        ("GETDEL a", "$1\r\n3\r\n"),
        ("set a 1", "+OK\r\n"),
        ("RENAME a c", "+OK\r\n"),
        ("SET a 1", "+OK\r\n"),
        ("EVAL return(redis.call('set','a','9')) 0", "+OK\r\n"),
        ("SORT list STORE a", ":0\r\n"),
        ("SET a 1", "+OK\r\n"),
        ("FLUSHALL", "+OK\r\n"),
        ("SET a 1", "+OK\r\n"),
        ("SWAPDB 0 1", "+OK\r\n"),
        ("SWAPDB 0 1", "+OK\r\n"),
        ("UNLINK a", ":1\r\n"),
    ] {
        assert_eq!(ask(&mut front, 1, words), reply, "{words}");
        assert_eq!(front.value("a"), None, "{words}");
        assert!(!front.all(1));
        if ask(&mut front, 1, "GET a") != "$-1\r\n" {
            fill(&mut front, "a");
        }
    }
    ask(&mut front, 1, "SET a 1");
    fill(&mut front, "a");
    for words in ["PUBLISH a b", "EVAL_RO return(1) 0", "OBJECT ENCODING a", "ZUNIONSTORE z 1 y"] {
        ask(&mut front, 1, words);
        assert!(front.value("a").is_some(), "{words}");
    }
    // A list is no value to be filled in.
    ask(&mut front, 1, "RPUSH list 1");
    assert!(ask(&mut front, 1, "GET list").starts_with("-WRONGTYPE"));
    ask(&mut front, 1, "SET late 1 PX 60000");
    let now = unix();
    fill(&mut front, "late");
    let expiry = front.table.items[&b"late"[..]].expiry.unwrap();
    assert!(expiry <= now + Duration::from_secs(60) && expiry > now + Duration::from_secs(50));
    assert_eq!(front.value("list"), None);
    // Keys of several gets.
    ask(&mut front, 1, "MGET b late none");
    ask(&mut front, 1, "MSET b 1 d 2");
    ask(&mut front, 1, "MGET b d");
    front.until(|front| front.value("b").is_some() && front.value("d").is_some());
    // Too large a value is not asked for again.
    let value = "v".repeat(1_100_000);
    ask(&mut front, 1, &format!("SET big {value}"));
    assert_eq!(ask(&mut front, 1, "GET big").len(), 1_100_012);
    ask(&mut front, 1, "SET small 1");
    fill(&mut front, "small");
    assert_eq!(front.value("big"), None);
}

#[test]
fn transactions_and_databases() {
    let Some(server) = redis() else { return };
    let mut front = Front::new(&server.1);
    ask(&mut front, 1, "SET a 1");
    fill(&mut front, "a");
    assert_eq!(ask(&mut front, 1, "MULTI"), "+OK\r\n");
    assert!(front.all(1));
    ask(&mut front, 1, "SET a 2");
    assert_eq!(front.value("a"), None);
    for _ in 0..20 {
        assert_eq!(ask(&mut front, 2, "GET a"), "$1\r\n1\r\n");
        front.turn();
        assert_eq!(front.value("a"), None);
    }
    assert_eq!(ask(&mut front, 1, "EXEC"), "*1\r\n+OK\r\n");
    assert!(!front.all(1));
    fill(&mut front, "a");
    assert_eq!(front.value("a"), Some(&b"2"[..]));
    // Another database.
    assert_eq!(ask(&mut front, 3, "SELECT 0"), "+OK\r\n");
    assert!(!front.all(3));
    assert_eq!(ask(&mut front, 3, "SELECT 1"), "+OK\r\n");
    assert!(front.all(3));
    ask(&mut front, 3, "SET x 1");
    ask(&mut front, 3, "GET x");
    ask(&mut front, 2, "SET y 1");
    fill(&mut front, "y");
    assert_eq!(front.value("x"), None);
    // Lines, errors, RESP3.
    assert_eq!(front.ask(4, b"get \"a\"\r\n\r\n*0\r\n"), b"$1\r\n2\r\n");
    assert!(ask(&mut front, 4, "NOSUCH a").starts_with("-ERR unknown command"));
    assert!(ask(&mut front, 4, "HELLO 3").starts_with("%7\r\n"));
    assert!(!front.all(4));
    assert_eq!(ask(&mut front, 4, "GET none"), "_\r\n");
    let info = ask(&mut front, 4, "INFO");
    assert!(info.starts_with('=') && info.ends_with("\r\n"));
}

#[test]
fn a_stream_in_rows_of_any_size() {
    let Some(server) = redis() else { return };
    let value = "v".repeat(20_000);
    let big = format!("SET big {value}");
    let script = commands(&[
        "SET a 1",
        "GET a",
        "MULTI",
        "INCR a",
        "GET none",
        "EXEC",
        "GET big",
        &big,
        "GET big",
        "LPUSH l 1 2 3",
        "LRANGE l 0 -1",
        "COMMAND",
        "INFO server",
        "SUBSCRIBE x",
        "GET a",
        "WATCH a",
        "CLIENT REPLY OFF",
        "PING",
        "CLIENT SETNAME x",
        "XADD s 1-1 f v",
        "XRANGE s - +",
        "DEBUG",
    ]);
    let said = |text: Vec<u8>| {
        // Some of it is another one each time.
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().filter(|l| !l.contains("uptime") && !l.contains("time_")).count()
    };
    let mut expected = None;
    for size in [8192, 999, 4096] {
        let mut front = Front::new(&server.1);
        ask(&mut front, 9, "FLUSHALL");
        let (text, closed) = front.ask_in(1, &script, size);
        assert!(!closed && !front.all(1));
        let tail = b"-ERR SUBSCRIBE does not pass through the cache\r\n$1\r\n2\r\n+OK\r\n-ERR CLIENT does not";
        assert!(text.windows(tail.len()).any(|window| window == tail));
        let count = said(text);
        assert_eq!(*expected.get_or_insert(count), count, "{size}");
    }
    let mut front = Front::new(&server.1);
    let short = commands(&["SET a 1", "GET a", "MGET a none a", "SET b \"x", "GET b", "DEL a b"]);
    let expected = front.ask(1, &short);
    for cut in 1..short.len() {
        front.send(1, &short[..cut], Within::No);
        let mut text = front.receive(1).0;
        front.send(1, &short[cut..], Within::No);
        text.extend(front.receive(1).0);
        assert!(text == expected, "{cut}: {}", text.escape_ascii());
    }
}

#[test]
fn keys_that_gates_have_left() {
    let Some(server) = redis() else { return };
    let mut front = Front::new(&server.1);
    ask(&mut front, 1, "SET a 1");
    front.send(1, b"$1\r\na\r\n$4\r\nnone\r\n*1\r\n$4\r\nPING\r\n", Within::Mget(2));
    assert_eq!(front.receive(1).0, b"$1\r\n1\r\n$-1\r\n+PONG\r\n");
    // Their end comes later.
    front.send(1, b"$1\r\na\r\n$4\r\nno", Within::Mget(2));
    assert_eq!(front.receive(1).0, b"");
    front.send(1, b"ne\r\n", Within::No);
    assert_eq!(front.receive(1).0, b"$1\r\n1\r\n$-1\r\n");
    server.signal("-STOP");
    front.send(1, b"$1\r\na\r\n$4\r\nnone\r\n", Within::Mget(2));
    assert_eq!(front.receive(1).0, [SILENT, SILENT].concat());
}

const SILENT: &[u8] = b"-ERR upstream server does not answer\r\n";

#[test]
fn a_command_that_waits() {
    let Some(server) = redis() else { return };
    let settings = Settings { timeout: Duration::from_millis(300), ..Settings::default() };
    let mut front = Front::with(&server.1, settings);
    front.send(1, &commands(&["SET a 1", "BLPOP l 0"]), Within::No);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        front.turn();
    }
    assert_eq!(front.upstream.silent(Instant::now()).len(), 1);
    ask(&mut front, 2, "RPUSH l x");
    assert_eq!(front.receive(1).0, b"+OK\r\n*2\r\n$1\r\nl\r\n$1\r\nx\r\n");
    // One whose client leaves does not wait on.
    front.send(1, &command("BLPOP l 0"), Within::No);
    front.turn();
    front.upstream.gone([1, 0, 0, 0], true, Instant::now());
    front.forget(1);
    let waits = |front: &mut Front| ask(front, 2, "INFO clients").contains("blocked_clients:0");
    let end = Instant::now() + Duration::from_secs(10);
    while !waits(&mut front) {
        assert!(Instant::now() < end);
    }
}

#[test]
fn a_stopped_server() {
    let Some(server) = redis() else { return };
    let settings =
        Settings { admit_all: true, timeout: Duration::from_millis(300), ..Settings::default() };
    let mut front = Front::with(&server.1, settings);
    ask(&mut front, 1, "SET a 1");
    fill(&mut front, "a");
    ask(&mut front, 3, "SELECT 2");
    server.signal("-STOP");
    let text = front.ask(1, &commands(&["GET b", "MONITOR", "SET b 1"]));
    let said = b"-ERR MONITOR does not pass through the cache\r\n";
    assert_eq!(text, [SILENT, said, SILENT].concat());
    // A new connection would be in another database.
    let (text, closed) = front.ask_in(3, &command("GET b"), 8192);
    assert!(text == SILENT && closed);
    front.until(|front| front.table.items.is_empty());
    server.signal("-CONT");
    let flushes = front.table.flushes;
    front.until(|front| front.table.flushes > flushes);
    assert_eq!(ask(&mut front, 1, "GET a"), "$1\r\n1\r\n");
    fill(&mut front, "a");
}

#[test]
fn against_the_protocol() {
    let Some(server) = redis() else { return };
    for (bytes, says) in [
        (
            &b"*1\r\n$4\r\nPING\r\n*x\r\n"[..],
            "+PONG\r\n-ERR Protocol error: invalid multibulk length",
        ),
        (b"*1\r\n$04\r\nPING\r\n", "-ERR Protocol error: invalid bulk length"),
        (b"*1\r\n$4\r\nPINGxx", "-ERR Protocol error: invalid bulk length"),
        (b"*1\r\n:4\r\n", "-ERR Protocol error: expected '$', got ':'"),
        (b"*1\r\n\r\n", "-ERR Protocol error: expected '$', got ' '"),
        (b"*1\n$4\r\nPING\r\n", "-ERR Protocol error: invalid multibulk length"),
        (b"*99999999\r\n", "-ERR Protocol error: invalid multibulk length"),
        (b"get \"a\r\n", "-ERR Protocol error: unbalanced quotes in request"),
        (&[b'x'; 70_000], "-ERR Protocol error: too big inline request"),
    ] {
        let mut front = Front::new(&server.1);
        let (text, closed) = front.ask_in(1, bytes, 8192);
        assert_eq!(String::from_utf8(text).unwrap(), format!("{says}\r\n"));
        assert!(closed);
    }
    let mut front = Front::new(&server.1);
    let (text, closed) = front.ask_in(1, &command("QUIT"), 8192);
    assert!(text == b"+OK\r\n" && closed);
}

#[test]
fn commands_have_bounded_memory() {
    let Some(server) = redis() else { return };
    let mut front = Front::new(&server.1);
    front.send(1, b"*2\r\n$3\r\nGET\r\n$300000000\r\n", Within::No);
    assert!(!front.receive(1).1);
    let (row, mut sent) = (vec![b'x'; 1 << 20], 0);
    let text = loop {
        front.send(1, &row, Within::No);
        sent += row.len();
        let (text, closed) = front.receive(1);
        if closed {
            break text;
        }
    };
    assert_eq!(text, b"-ERR there is no room for so long a command\r\n");
    assert!((60 << 20..=64 << 20).contains(&(sent - row.len())), "{sent}");
    assert_eq!(ask(&mut front, 1, "PING"), "+PONG\r\n");
}

/// What says something else than a server, after a right beginning.
#[test]
fn nonsense() {
    for (protocol, bad) in [
        ("memcached", &b"VALUE a b c\r\nx"[..]),
        ("memcached", b"VALUE a 0 -7\r\n"),
        ("memcached", &[0; 100_000]),
        ("redis", b"HTTP/1.1 400 Bad Request\r\n"),
        ("redis", b"*\r\n"),
        ("redis", b"$x\r\n"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // The first connections are those that ask whether it is there, and the filler's.
        std::thread::spawn(move || {
            for (n, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || serve(&mut stream, n, protocol, bad));
            }
        });
        let mut front = Front::new(&format!("{protocol}:{address}"));
        let asks = if protocol == "redis" { command("GET a") } else { b"get a\r\n".to_vec() };
        let (text, closed) = front.ask_in(1, &asks, 8192);
        assert!(closed && text.len() <= bad.len(), "{}", text.escape_ascii());
    }
}

fn serve(stream: &mut TcpStream, n: usize, protocol: &str, bad: &[u8]) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let table = b"*2\r\n*6\r\n$3\r\nget\r\n:2\r\n*1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n\
            *6\r\n$3\r\nset\r\n:-3\r\n*1\r\n+write\r\n:1\r\n:1\r\n:1\r\n";
        let text = match (n, protocol) {
            (0, "redis") => &table[..],
            (1, "redis") => b"+PONG\r\n",
            (0 | 1, _) => b"MN\r\n",
            _ => bad,
        };
        let pings = if n == 1 {
            buffer[..count].windows(4).filter(|w| *w == b"PING" || *w == b"mn\r\n").count()
        } else {
            1
        };
        for _ in 0..pings {
            if stream.write_all(text).is_err() {
                return;
            }
        }
    }
}

#[test]
fn addresses() {
    for bad in [
        "",
        "redis",
        "redis:",
        "redis:host",
        "redis:host:0",
        "redis::1",
        "mem:host:1",
        "redis:h:65536",
    ] {
        let error = bad.parse::<Address>().unwrap_err();
        assert!(error.contains("is no address such as"), "{bad}");
    }
    let address: Address = "redis:[::1]:6379".parse().unwrap();
    assert_eq!(address.to_string(), "redis:[::1]:6379");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody: Address = format!("memcached:{free}").parse().unwrap();
    assert!(Server::meet(&nobody).unwrap_err().to_string().contains("refused"));
    let Some(server) = redis() else { return };
    let wrong: Address = server.1.replace("redis", "memcached").parse().unwrap();
    assert!(Server::meet(&wrong).unwrap_err().to_string().contains("memcached 1.6 is needed"));
    let mut stream = TcpStream::connect(server.1.strip_prefix("redis:").unwrap()).unwrap();
    stream.write_all(b"CONFIG SET requirepass x\r\n").unwrap();
    let _ = stream.read(&mut [0; 10]).unwrap();
    let right: Address = server.1.parse().unwrap();
    assert!(Server::meet(&right).unwrap_err().to_string().contains("password"));
}

/// The server's own table tells which keys a command may change; of those of it alone nothing is in the card.
#[test]
fn keys_of_all_sorts_of_commands() {
    let Some(server) = redis() else { return };
    let mut front = Front::new(&server.1);
    let all = ["a", "b", "c"];
    for (words, changed) in [
        ("SET a 1", "a"),
        ("MSET a 1 b 2", "ab"),
        ("MSETNX a 1 c 2", "ac"),
        ("DEL a b", "ab"),
        ("COPY a b REPLACE", "b"),
        ("RENAMENX a b", "ab"),
        ("BITOP NOT b a", "b"),
        ("BITFIELD a GET u8 0", "a"),
        ("BITFIELD_RO a GET u8 0", ""),
        ("LMPOP 2 a b LEFT", "ab"),
        ("BLMPOP 0.01 2 a c RIGHT", "ac"),
        ("BLPOP a b 0.01", "ab"),
        ("ZUNIONSTORE a 2 b c", "a"),
        ("ZDIFF 2 a b", ""),
        ("SINTERSTORE c a b", "c"),
        ("XREADGROUP GROUP g c STREAMS a >", ""),
        ("XGROUP CREATE a g 0", "a"),
        ("XADD b * f v", "b"),
        ("GEOSEARCHSTORE c a FROMLONLAT 0 0 BYBOX 1 1 m", "c"),
        ("GEORADIUS a 0 0 1 m STORE b", "b"),
        ("SORT_RO a", ""),
        ("SORT a", "abc"),
        ("EVAL return(1) 1 a", "abc"),
        ("FUNCTION LIST", ""),
        ("FUNCTION FLUSH", "abc"),
        ("OBJECT FREQ a", ""),
        ("PFCOUNT a", "a"),
        ("GETEX a", "a"),
        ("PUBLISH a b", ""),
        ("NOSUCH a", "abc"),
        ("CONFIG GET save", ""),
        ("FLUSHDB", "abc"),
        ("KEYS *", ""),
    ] {
        ask(&mut front, 1, "MSET a 1 b 2 c 3");
        ask(&mut front, 2, "MGET a b c");
        front.until(|front| all.iter().all(|key| front.value(key).is_some()));
        ask(&mut front, 1, words);
        let gone: String = all.into_iter().filter(|key| front.value(key).is_none()).collect();
        assert_eq!(gone, changed, "{words}");
    }
}
