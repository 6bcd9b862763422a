//! Before a real memcached.

mod front;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use front::{memcached, unix, Front};
use wirekv_upstream::{Settings, Within};

/// What the server says by itself, on a new connection.
fn direct(server: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.split_once(':').unwrap().1).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    text
}

#[test]
fn a_key_is_filled_in_and_a_write_takes_it_out() {
    let Some(server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    assert_eq!(front.ask(1, b"set a 7 0 3\r\nabc\r\n"), b"STORED\r\n");
    assert!(!front.all(1));
    assert_eq!(front.ask(1, b"get a\r\n"), b"VALUE a 7 3\r\nabc\r\nEND\r\n");
    front.until(|front| front.value("a") == Some(b"abc"));
    let item = front.table.items[&b"a"[..]].clone();
    assert_eq!((item.flags, item.expiry), (7, None));
    let gets = format!("VALUE a 7 3 {}\r\nabc\r\nEND\r\n", item.unique);
    assert_eq!(front.ask(2, b"gets a\r\n"), gets.as_bytes());
    for (command, reply) in [
        ("set a 0 0 1\r\n1\r\n", "STORED\r\n"),
        ("incr a 1\r\n", "2\r\n"),
        ("append a 0 0 1\r\n1\r\n", "STORED\r\n"),
        ("touch a 100\r\n", "TOUCHED\r\n"),
        ("gat 100 a\r\n", "VALUE a 0 2\r\n21\r\nEND\r\n"),
        ("mg a T100\r\n", "HD\r\n"),
        ("ma a\r\n", "HD\r\n"),
        ("ms YQ== 1 b\r\n5\r\n", "HD\r\n"),
        ("set a 0 0 1 noreply\r\n7\r\n", ""),
        ("delete a\r\n", "DELETED\r\n"),
        ("add a 0 0 1\r\n1\r\n", "STORED\r\n"),
        ("md a I T30\r\n", "HD\r\n"),
        ("set a 0 0 1\r\n1\r\n", "STORED\r\n"),
        ("flush_all\r\n", "OK\r\n"),
    ] {
        assert_eq!(front.ask(1, command.as_bytes()), reply.as_bytes(), "{command}");
        assert_eq!(front.value("a"), None, "{command}");
        let got = front.ask(2, b"get a\r\n");
        // What is to be renewed, or shown in base64, is not filled in.
        if command.contains("md a I") || command.contains("YQ==") || got == b"END\r\n" {
            continue;
        }
        // What was asked for before may be under way still.
        let end = Instant::now() + Duration::from_secs(20);
        while front.value("a").is_none() {
            assert!(Instant::now() < end, "{command}");
            front.ask(2, b"get a\r\n");
        }
    }
}

#[test]
fn a_stale_item_is_not_filled_in() {
    let Some(server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    front.ask(1, b"set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\nmd a I T30\r\n");
    assert_eq!(front.ask(1, b"get a b\r\n"), b"VALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n1\r\nEND\r\n");
    // They are asked for one after the other.
    front.until(|front| front.value("b").is_some());
    assert_eq!(front.value("a"), None);
    // An `mg` of what gates would answer is a get.
    front.ask(1, b"set a 0 0 1\r\n1\r\n");
    front.ask(1, b"mg YQ== b v\r\n");
    front.until(|front| front.value("a").is_some());
}

#[test]
fn expiry_is_earlier_than_the_servers() {
    let Some(server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    front.ask(1, b"set a 0 100 1\r\n1\r\nset b 0 1 1\r\n1\r\nset c 0 0 1\r\n1\r\n");
    let now = unix();
    front.ask(1, b"get a b c\r\n");
    front.until(|front| front.value("a").is_some() && front.value("c").is_some());
    let expiry = front.table.items[&b"a"[..]].expiry.unwrap();
    assert!(expiry <= now + Duration::from_secs(100) && expiry > now + Duration::from_secs(90));
    assert_eq!(front.value("b"), None);
    let settings =
        Settings { admit_all: true, max_age: Some(Duration::from_secs(5)), ..Settings::default() };
    let mut front = Front::with(&server.1, settings);
    front.ask(1, b"get c\r\n");
    front.until(|front| front.value("c").is_some());
    assert!(front.table.items[&b"c"[..]].expiry.unwrap() <= unix() + Duration::from_secs(5));
}

#[test]
fn twice_is_needed() {
    let Some(server) = memcached() else { return };
    let mut front = Front::with(&server.1, Settings::default());
    front.ask(1, b"set a 0 0 1\r\n1\r\n");
    front.ask(1, b"get a\r\n");
    front.ask(1, b"get b\r\nget b\r\n");
    assert!(front.table.items.is_empty());
    front.ask(1, b"get a\r\n");
    front.until(|front| front.value("a").is_some());
}

/// Before the script begins anew. (Behind two flushes within a second memcached does not always say the same.)
const FORGET: &[u8] =
    b"delete k noreply\r\ndelete n noreply\r\ndelete MN noreply\r\ndelete v noreply\r\n\
    delete big noreply\r\n";

/// Commands of all sorts, right and wrong. (A `get` of a key that is too long has memcached forget replies that it has not
/// sent.)
fn script() -> Vec<u8> {
    let mut script = b"set k 1 0 5\r\nhello\r\nget k\r\nGET k\r\nget\r\nset k\r\nset k 0 0 -1\r\n\
        set k 0 0 x\r\nadd k 0 0 1\r\nx\r\nreplace k 0 0 2\r\nyy\r\nappend k 0 0 1\r\nz\r\n\
        prepend k 0 0 1\r\na\r\nget k nokey k\r\nmn\r\nmg k v\r\nmg no v\r\nmn\r\nms k 3\r\nabc\r\n\
        ms k S3\r\nmg k k f v q\r\nmg none q\r\nmn\r\nset bad 0 0 3\r\nabcdef\r\nincr k 1\r\n\
        set n 0 0 1 noreply\r\n5\r\nincr n 4\r\ndecr n 100\r\ntouch n 0\r\ngat 0 n\r\n\
        delete n noreply\r\ndelete n\r\nverbosity 0\r\nversion\r\nquux\r\nmx foo\r\nme none\r\n\
        get \x01\x02 k\r\ngets none\r\ncas k 0 0 1 1\r\nx\r\n\r\n \r\nset MN 0 0 4\r\nMN\r\n\r\n\
        get MN\r\nset v 0 0 13\r\nVALUE a 0 99\n\r\nget v\r\nmg v v\r\n"
        .to_vec();
    let long = [&b"set "[..], &[b'k'; 251], b" 0 0 1\r\nx\r\n"].concat();
    script.extend(long);
    script.extend(format!("get {}\r\n", "some k ".repeat(900)).into_bytes());
    script.extend([&b"set big 0 0 20000\r\n"[..], &[b'b'; 20_000], b"\r\nget big\r\n"].concat());
    script.extend([&b"set over 0 0 2000000\r\n"[..], &vec![b'o'; 2_000_000], b"\r\n"].concat());
    script.extend(b"get over\r\nget big k\r\n");
    script
}

#[test]
fn the_client_gets_what_the_server_says() {
    let Some(server) = memcached() else { return };
    let script = script();
    let expected = direct(&server.1, &script);
    for size in [8192, 1000, 4097] {
        let mut front = Front::new(&server.1);
        front.ask(1, FORGET);
        let (text, closed) = front.ask_in(1, &script, size);
        let at = text.iter().zip(&expected).position(|(a, b)| a != b);
        let at = at.unwrap_or(text.len().min(expected.len())).saturating_sub(60);
        let show = |text: &[u8]| text[at.min(text.len())..].escape_ascii().to_string();
        let show = |text: &[u8]| show(text).chars().take(200).collect::<String>();
        assert!(text == expected, "{size}\n{}\n{}", show(&text), show(&expected));
        assert!(!closed && !front.all(1));
    }
}

#[test]
fn a_script_cut_at_every_byte() {
    let Some(server) = memcached() else { return };
    let script = script();
    let end = script.windows(8).position(|window| window == b"set kkkk").unwrap();
    let script = &script[..end];
    let mut front = Front::new(&server.1);
    let expected = front.ask(1, script);
    for cut in 1..script.len() {
        front.ask(1, FORGET);
        front.send(1, &script[..cut], Within::No);
        let (mut text, _) = front.receive(1);
        front.send(1, &script[cut..], Within::No);
        text.extend(front.receive(1).0);
        let same = text.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        let (found, wanted) = (text[same..].escape_ascii(), expected[same..].escape_ascii());
        assert!(text == expected, "{cut}: {found}\nfor {wanted}");
    }
}

fn packet(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 24];
    (packet[0], packet[1], packet[4]) = (0x80, opcode, extras.len() as u8);
    packet[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
    let body = (extras.len() + key.len() + value.len()) as u32;
    packet[8..12].copy_from_slice(&body.to_be_bytes());
    packet[12..16].copy_from_slice(b"host");
    [&packet, extras, key, value].concat()
}

#[test]
fn the_binary_protocol() {
    let Some(server) = memcached() else { return };
    let long = vec![7; 30_000];
    let script = [
        packet(0x01, &[0; 8], b"a b", b"value"),
        packet(0x00, b"", b"a b", b""),
        packet(0x0a, b"", b"", b""),
        packet(0x09, b"", b"none", b""),
        packet(0x0d, b"", b"a b", b""),
        packet(0x0a, b"", b"", b""),
        packet(0x11, &[0; 8], b"quiet", &long),
        packet(0x0c, b"", b"quiet", b""),
        packet(0x55, b"", b"", b""),
        packet(0x04, b"", b"quiet", b""),
        packet(0x04, b"", b"quiet", b""),
        packet(0x0b, b"", b"", b""),
    ]
    .concat();
    // CAS uniques differ.
    let plain = |mut text: Vec<u8>| {
        let mut at = 0;
        while at + 24 <= text.len() {
            let body = u32::from_be_bytes(text[at + 8..at + 12].try_into().unwrap());
            text[at + 16..at + 24].fill(0);
            at += 24 + body as usize;
        }
        text
    };
    let expected = plain(direct(&server.1, &script));
    for size in [8192, 700, 23] {
        let mut front = Front::new(&server.1);
        front.ask(9, b"flush_all\r\n");
        let (text, closed) = front.ask_in(1, &script, size);
        assert!(plain(text) == expected && !closed, "{size}");
        assert!(!front.all(1));
    }
    let mut front = Front::new(&server.1);
    front.ask(1, &packet(0x01, &[0, 0, 0, 9, 0, 0, 0, 0], b"a b", b"v"));
    front.ask(1, &packet(0x00, b"", b"a b", b""));
    front.until(|front| front.value("a b") == Some(b"v"));
    assert_eq!(front.table.items[&b"a b"[..]].flags, 9);
    front.ask(1, &packet(0x1c, &[0, 0, 0, 50], b"a b", b""));
    assert_eq!(front.value("a b"), None);
}

#[test]
fn keys_that_gates_have_left() {
    let Some(server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    front.ask(1, b"set a 0 0 1\r\n1\r\n");
    front.send(1, b"none a\r\nversion\r\n", Within::Get);
    assert_eq!(front.receive(1).0, b"VALUE a 0 1\r\n1\r\nEND\r\nVERSION 1.6.38\r\n");
    front.send(2, b"a\r\n", Within::Gets);
    assert!(front.receive(2).0.starts_with(b"VALUE a 0 1 "));
}

#[test]
fn what_does_not_pass() {
    let Some(server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    let text = front.ask(1, b"version\r\nwatch fetchers\r\nmn\r\n");
    let said = b"CLIENT_ERROR watch does not pass through the cache\r\n";
    assert_eq!(text, [&b"VERSION 1.6.38\r\n"[..], said, b"MN\r\n"].concat());
    let (text, closed) = front.ask_in(2, b"version\r\nquit\r\nversion\r\n", 8192);
    assert!(text == b"VERSION 1.6.38\r\n" && closed);
    let (text, closed) = front.ask_in(3, &[b'x'; 3000], 8192);
    assert!(text.is_empty() && closed, "{}", text.escape_ascii());
}

#[test]
fn a_delayed_flush_keeps_fills_away() {
    let Some(server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    front.ask(1, b"set a 0 0 1\r\n1\r\n");
    front.ask(1, b"get a\r\n");
    front.until(|front| front.value("a").is_some());
    assert_eq!(front.ask(1, b"flush_all 2\r\n"), b"OK\r\n");
    front.ask(1, b"get a\r\n");
    front.until(|front| front.value("a").is_some());
    let flushes = front.table.flushes;
    front.until(|front| front.table.flushes > flushes);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(1500) {
        front.ask(1, b"get a\r\n");
        assert_eq!(front.value("a"), None);
    }
}

const SILENT: &[u8] = b"SERVER_ERROR upstream server does not answer\r\n";

#[test]
fn a_stopped_server() {
    let Some(server) = memcached() else { return };
    let settings =
        Settings { admit_all: true, timeout: Duration::from_millis(300), ..Settings::default() };
    let mut front = Front::with(&server.1, settings);
    front.ask(1, b"set a 0 0 1\r\n1\r\n");
    front.ask(1, b"get a\r\n");
    front.until(|front| front.value("a").is_some());
    server.signal("-STOP");
    let text = front.ask(1, b"get b\r\nset c 0 0 1 noreply\r\n1\r\nversion\r\n");
    assert_eq!(text, [SILENT, SILENT].concat());
    // In the middle of a value nothing can be said.
    let (text, closed) = front.ask_in(2, b"set d 0 0 30000000\r\n", 8192);
    assert!(text.is_empty() && !closed);
    let value = vec![0; 30_000_000];
    let (_, closed) = front.ask_in(2, &value, 8192);
    assert!(closed);
    front.until(|front| front.table.items.is_empty());
    server.signal("-CONT");
    let flushes = front.table.flushes;
    front.until(|front| front.table.flushes > flushes);
    assert_eq!(front.ask(1, b"get a\r\n"), b"VALUE a 0 1\r\n1\r\nEND\r\n");
    front.until(|front| front.value("a").is_some());
    // What became of this write is not known for ten seconds.
    front.ask(1, b"set c 0 0 1\r\n2\r\nget c\r\nget c\r\n");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(300) {
        front.ask(1, b"get c\r\n");
        assert_eq!(front.value("c"), None);
    }
}

#[test]
fn a_server_that_dies_and_comes_again() {
    let Some(mut server) = memcached() else { return };
    let mut front = Front::new(&server.1);
    front.ask(1, b"set a 0 0 1\r\n1\r\n");
    front.ask(1, b"get a\r\n");
    front.until(|front| front.value("a").is_some());
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    front.until(|front| front.table.items.is_empty());
    assert_eq!(front.ask(3, b"get a\r\n"), SILENT);
    let port = server.1.rsplit_once(':').unwrap().1.parse().unwrap();
    let _server = front::memcached_at(port);
    assert_eq!(front.ask(4, b"get a\r\n"), b"END\r\n");
    front.ask(4, b"set a 0 0 1\r\n2\r\n");
    let end = Instant::now() + Duration::from_secs(20);
    while front.value("a").is_none() {
        assert!(Instant::now() < end);
        front.ask(4, b"get a\r\n");
    }
    assert_eq!(front.value("a"), Some(&b"2"[..]));
}

#[test]
fn a_card_that_does_not_answer_lets_no_write_pass() {
    let Some(server) = memcached() else { return };
    let settings = Settings { timeout: Duration::from_millis(300), ..Settings::default() };
    let mut front = Front::with(&server.1, settings);
    front.table.dead = true;
    assert_eq!(front.ask(1, b"set a 0 0 1\r\n1\r\n"), SILENT);
    assert_eq!(front.ask(1, b"get a\r\n"), b"END\r\n");
    front.table.dead = false;
    assert_eq!(front.ask(1, b"set a 0 0 1\r\n1\r\n"), b"STORED\r\n");
}
