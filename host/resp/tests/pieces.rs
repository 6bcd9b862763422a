//! Redis' protocol, however its bytes come.

use std::sync::Arc;

use wirekv_proto::{Counters, Next, Out, Parse, Server, Settings, Told};
use wirekv_resp::{Client, Common, Engine, Session};
use wirekv_store::{Config, Store};

struct Nobody;

impl Server for Nobody {
    fn stats(&mut self, _: &[u8], _: u64, _: &Counters, _: &mut dyn FnMut(&[u8], &[u8])) -> Told {
        Told::Nothing
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

impl wirekv_resp::Server for Nobody {}

/// A new server's reply to bytes that come in pieces, and whether it closes the connection.
fn reply(settings: Settings, bytes: &[u8], piece: usize) -> (String, bool) {
    reply_of(settings, Arc::default(), bytes, piece)
}

fn reply_of(settings: Settings, common: Arc<Common>, bytes: &[u8], piece: usize) -> (String, bool) {
    let store = Store::new(Config::new(16 << 20)).unwrap();
    let client = Client::new(1, &common);
    let mut engine = Engine::new(store.local(), Arc::new(settings), common);
    let (mut session, mut out) = (Session::from(client), Out::new());
    let mut input = Vec::new();
    for piece in bytes.chunks(piece) {
        input.extend_from_slice(piece);
        loop {
            let mut request = match session.parse(&input, &engine) {
                Parse::Request(request) => request,
                Parse::Need(more) => {
                    assert!(more > 0 && input.len() + more <= engine.settings.buffer());
                    break;
                }
                Parse::Close => return (text(&out), true),
            };
            loop {
                let server = &mut Nobody;
                match session.execute(&mut request, &input, &mut engine, server, &mut out) {
                    Next::Continue => break,
                    Next::Watch | Next::Close => return (text(&out), true),
                    Next::Again | Next::Full | Next::Wait | Next::Sleep => {}
                }
            }
            input.drain(..request.len as usize);
            engine.local.quiesce();
        }
    }
    (text(&out), false)
}

fn text(out: &Out) -> String {
    String::from_utf8(out.to_vec()).unwrap()
}

fn command(args: &[&str]) -> String {
    let args: String = args.iter().map(|a| format!("${}\r\n{a}\r\n", a.len())).collect();
    format!("*{}\r\n{args}", args.matches('$').count())
}

fn settings() -> Settings {
    Settings { item_max: 8 << 10, stream_from: 64, ..Settings::default() }
}

#[test]
fn pieces_of_any_size_are_answered_alike() {
    let long = "v".repeat(3000);
    let keys: Vec<String> = (0..100).map(|i| format!("key-{i}")).collect();
    let many: Vec<&str> = ["MGET"].into_iter().chain(keys.iter().map(String::as_str)).collect();
    let all = [
        command(&["SET", "a", &long]),
        command(&["GET", "a"]),
        "*0\r\n*-5\r\nset b 'x y'\r\n\r\nappend b \"\\x41\"\r\n".into(),
        format!("set c {long}\nstrlen c\n"),
        command(&many),
        command(&["GET", "b"]),
        command(&["NO", &long]),
    ];
    let whole = format!("${}\r\n{long}\r\n", long.len());
    let nulls = "$-1\r\n".repeat(100);
    let unknown = format!("'{}'", &long[..128]);
    let expect = format!(
        "+OK\r\n{whole}+OK\r\n:4\r\n+OK\r\n:3000\r\n*100\r\n{nulls}$4\r\nx yA\r\n-ERR unknown \
         command 'NO', with args beginning with: {unknown} \r\n"
    );
    for piece in [1, 2, 3, 7, 50, 63, 64, 65, 1000, 1 << 20] {
        let got = reply(settings(), all.concat().as_bytes(), piece);
        assert_eq!(got, (expect.clone(), false), "{piece} bytes at a time");
    }
}

#[test]
fn what_is_against_the_protocol_ends_the_connection() {
    let long = "1".repeat(70_000);
    for (bytes, error) in [
        ("*a\r\n".into(), "invalid multibulk length"),
        ("*2147483648\r\n".into(), "invalid multibulk length"),
        ("*1\r\n$-1\r\n".into(), "invalid bulk length"),
        ("*1\r\n$8193\r\n".into(), "invalid bulk length"),
        ("*1\r\n*1\r\n".into(), "expected '$', got '*'"),
        (format!("*{long}"), "too big mbulk count string"),
        (format!("*1\r\n${long}"), "too big bulk count string"),
        (long, "too big inline request"),
        ("get 'a\r\n".into(), "unbalanced quotes in request"),
        // What Redis would take or wait for.
        (
            format!("*1000000\r\n{}", "$1\r\na\r\n".repeat(20)),
            "command is longer than this server takes",
        ),
    ] {
        let bytes = format!("PING\r\n{bytes}");
        let expect = format!("+PONG\r\n-ERR Protocol error: {error}\r\n");
        for piece in [1, 50, 1 << 20] {
            assert_eq!(reply(settings(), bytes.as_bytes(), piece), (expect.clone(), true));
        }
    }
}

#[test]
fn a_stranger_can_do_little() {
    let many = command(&["MGET", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    let large = command(&["GET", &"k".repeat(16_385)]);
    let login = command(&["AUTH", "secret"]);
    let (ok, refused) = ("+OK\r\n", "-NOAUTH Authentication required.\r\n");
    let broken = |what| format!("-ERR Protocol error: unauthenticated {what} length\r\n");
    for (bytes, expect, closes) in [
        (command(&["GET", "a"]), refused.into(), false),
        (many.clone(), broken("multibulk"), true),
        (large, broken("bulk"), true),
        (login + &many, format!("{ok}*10\r\n{}", "$-1\r\n".repeat(10)), false),
    ] {
        let common = Arc::new(Common::new(b"secret", false, false));
        let settings = Settings { item_max: 1 << 20, ..settings() };
        for piece in [1, 50, 1 << 20] {
            let got = reply_of(settings.clone(), common.clone(), bytes.as_bytes(), piece);
            assert_eq!(got, (expect.clone(), closes), "{piece} bytes at a time");
        }
    }
}

#[test]
fn what_a_transaction_may_hold_is_bounded() {
    let multi = command(&["MULTI"]);
    let pings = command(&["PING"]).repeat(10_000);
    let all = multi.clone() + &pings + &command(&["EXEC"]) + &command(&["PING"]);
    let (got, closed) = reply(settings(), all.as_bytes(), 1000);
    let (queued, error) = (
        got.matches("+QUEUED\r\n").count(),
        "-ERR the transaction is longer than this server takes\r\n",
    );
    let abort = "-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n";
    assert!(!closed && queued > 1000 && queued < 10_000 && got.contains(error), "{queued}");
    assert!(got.ends_with(abort), "{}", &got[got.len() - 200..]);

    let large = command(&["SET", "a", &"v".repeat(1000)]);
    let reads = command(&["GET", "a"]).repeat(500);
    let all = large + &multi + &reads + &command(&["EXEC"]);
    let (got, closed) = reply(settings(), all.as_bytes(), 1000);
    assert!(
        closed
            && got.ends_with("-ERR the transaction's replies are more than this server takes\r\n")
    );

    // A command of it that says too much fails by itself, and nothing is left of what it had said.
    let many: Vec<&str> = ["MGET"].into_iter().chain(std::iter::repeat_n("a", 500)).collect();
    let ping = command(&["PING"]);
    let large = command(&["SET", "a", &"v".repeat(1000)]);
    let all = large + &multi + &command(&many) + &ping + &command(&["EXEC"]) + &ping;
    for piece in [1, 1000, 1 << 20] {
        let (got, closed) = reply(settings(), all.as_bytes(), piece);
        let error = "-ERR the reply is more than this server takes in a transaction\r\n";
        let replies =
            format!("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n{error}+PONG\r\n+PONG\r\n");
        assert_eq!((got, closed), (replies, false), "{piece} bytes at a time");
    }

    let watches: String = (0..1000).map(|i| command(&["WATCH", &i.to_string()])).collect();
    let (got, closed) = reply(settings(), watches.as_bytes(), 1000);
    assert!(closed && got.ends_with("-ERR the watched keys are more than this server takes\r\n"));
}

/// Of 16 MiB.
#[test]
fn a_transaction_does_not_empty_the_store() {
    let settings = || Settings { item_max: 1 << 20, ..settings() };
    let few: String = (0..1000).map(|i| command(&["SET", &i.to_string(), "v"])).collect();
    let big = command(&["SET", "big", &"v".repeat(1_000_000)]);
    let exec = |commands: String| command(&["MULTI"]) + &commands + &command(&["EXEC"]);
    let there = command(&["DBSIZE"]) + &command(&["STRLEN", "big"]);

    // Each makes an item anew, and what the others have is not given back before the end.
    let bits: String = (0..20).map(|i| command(&["SETBIT", "big", &i.to_string(), "1"])).collect();
    let all = few.clone() + &big + &exec(bits) + &there;
    let (got, _) = reply(settings(), all.as_bytes(), 1 << 20);
    let oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    assert!(got.ends_with(&format!("{oom}:1001\r\n:1000000\r\n")), "{:?}", &got[got.len() - 200..]);

    // A time that is there changes, and nothing is made anew.
    let expire = command(&["EXPIRE", "big", "1000"]);
    let times = expire.repeat(20) + &command(&["GETEX", "nothing"]) + &command(&["TTL", "big"]);
    let all = few.clone() + &big + &expire + &exec(times) + &there;
    let (got, _) = reply(settings(), all.as_bytes(), 1 << 20);
    let replies = format!("*22\r\n{}$-1\r\n:1000\r\n:1001\r\n:1000000\r\n", ":1\r\n".repeat(20));
    assert!(got.ends_with(&replies), "{:?}", &got[got.len() - 200..]);

    // Numbers are as long as they are.
    let sums = command(&["INCRBYFLOAT", "f", "1.5"]).repeat(5000);
    let all = few.clone() + &big + &exec(sums) + &there + &command(&["GET", "f"]);
    let (got, _) = reply(settings(), all.as_bytes(), 1 << 20);
    assert!(got.ends_with(":1002\r\n:1000000\r\n$4\r\n7500\r\n"), "{:?}", &got[got.len() - 200..]);
    let sums =
        ["9e4900", "1", "-9e4900", "0.1"].map(|by| command(&["INCRBYFLOAT", "g", by])).concat();
    let (got, _) = reply(settings(), exec(sums).as_bytes(), 1 << 20);
    assert!(got.contains("*4\r\n$4901\r\n") && !got.contains("-OOM"), "{got}");
}
