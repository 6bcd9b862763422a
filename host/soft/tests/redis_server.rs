//! What Redis' clients can do to the server and to each other, over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wirekv_proto::Protocol;
use wirekv_soft::{clock, Access, Options, Soft};

struct Server(Option<Soft>);

impl Server {
    fn start(password: &str) -> Server {
        Server::start_with(password, false, || ())
    }

    /// `shutdown`: whether clients may end it, which calls `ended`.
    fn start_with(
        password: &str,
        shutdown: bool,
        ended: impl Fn() + Send + Sync + 'static,
    ) -> Server {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let options = Options {
            tcp: Vec::new(),
            udp: Vec::new(),
            redis: vec![any],
            unix: None,
            unix_redis: None,
            access: Access::default(),
            password: password.into(),
            protected: true,
            debug: false,
            memory: 16 << 20,
            file: None,
            resident: false,
            item_max: 1 << 20,
            least_item: 48,
            threads: 2,
            max_conns: 100,
            backlog: 100,
            protocol: Protocol::Auto,
            batch: 20,
            watch_buffer: 0,
            busy_poll: Duration::from_micros(20),
            idle_timeout: None,
            keep_alive: None,
            crawler: true,
            shutdown,
            cas: true,
            evict: true,
            flush: true,
            verbosity: 0,
            metrics: None,
            delimiter: None,
        };
        Server(Some(Soft::start(options, clock(), Box::new(ended)).unwrap()))
    }

    fn client(&self) -> Client {
        let address = self.0.as_ref().unwrap().redis_addresses()[0];
        let stream = TcpStream::connect(address).unwrap();
        // What does not come at all is not waited for.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut client = Client(BufReader::new(stream));
        // It is served by now.
        assert!(!client.ask("PING").is_empty());
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.take().unwrap().stop().unwrap();
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn send(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.reply()
    }

    /// Strings as they are, lists as `[a,b]`; "" at the connection's end.
    fn reply(&mut self) -> String {
        let mut line = String::new();
        if self.0.read_line(&mut line).unwrap_or(0) == 0 {
            return String::new();
        }
        let rest = line[1..].trim_end();
        match line.as_bytes()[0] {
            b'$' if rest == "-1" => "nil".into(),
            b'$' => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                String::from_utf8_lossy(&bytes[..bytes.len() - 2]).into_owned()
            }
            b'*' => {
                let parts = (0..rest.parse().unwrap()).map(|_| self.reply());
                format!("[{}]", parts.collect::<Vec<_>>().join(","))
            }
            b'-' => format!("-{rest}"),
            _ => rest.into(),
        }
    }

    fn id(&mut self) -> String {
        self.ask("CLIENT ID")
    }

    /// The value of a line of INFO.
    fn info(&mut self, name: &str) -> String {
        let text = self.ask("INFO all");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    }
}

#[test]
fn clients_see_and_kill_each_other() {
    let server = Server::start("");
    let mut clients: Vec<_> = (0..6).map(|_| server.client()).collect();
    let ids: Vec<_> = clients.iter_mut().map(Client::id).collect();
    assert_eq!(clients[1].ask("CLIENT SETNAME one"), "OK");
    assert_eq!(
        clients[2].ask("LPUSH a b"),
        "-ERR 'lpush' is a command on lists; this server keeps strings only"
    );
    let list = clients[0].ask("CLIENT LIST");
    assert_eq!(list.lines().count(), 6);
    let line = list.lines().nth(1).unwrap();
    assert!(line.starts_with(&format!("id={} addr=127.0.0.1:", ids[1])), "{line}");
    assert!(line.contains(" name=one ") && line.contains(" cmd=client|setname "), "{line}");
    let address = line.split(' ').find_map(|word| word.strip_prefix("addr=")).unwrap();

    // By address, and by number, on both threads; the one that asks is spared.
    assert_eq!(clients[0].ask(&format!("CLIENT KILL {address}")), "OK");
    assert_eq!(clients[1].reply(), "");
    assert_eq!(clients[0].ask(&format!("CLIENT KILL {address}")), "-ERR No such client");
    for i in [2, 3] {
        assert_eq!(clients[0].ask(&format!("CLIENT KILL ID {}", ids[i])), "1");
        assert_eq!(clients[i].reply(), "");
    }
    assert_eq!(clients[0].ask("CLIENT KILL TYPE normal"), "2");
    assert_eq!((clients[4].reply(), clients[5].reply()), (String::new(), String::new()));
    assert_eq!(clients[0].ask("CLIENT LIST").lines().count(), 1);
    assert_eq!(clients[0].info("connected_clients"), "1");
    assert_eq!(clients[0].ask("CLIENT KILL TYPE normal SKIPME no"), "1");
    assert_eq!(clients[0].reply(), "");
}

#[test]
fn a_pause_holds_what_it_should() {
    let server = Server::start("");
    let [mut a, mut b, mut c, mut d, mut e] = std::array::from_fn(|_| server.client());
    assert_eq!((d.ask("MULTI"), d.ask("SET m v")), ("OK".into(), "QUEUED".into()));
    assert_eq!(a.ask("CLIENT PAUSE 3600000 WRITE"), "OK");
    // As a line, whole, in pieces that are gathered, queued before the pause, and to be queued in it.
    assert_eq!(e.ask("MULTI"), "OK");
    e.send("SET n v");
    assert!(a.ask("CLIENT LIST").contains(" flags=x db=0 sub=0 psub=0 ssub=0 multi=1 "));
    assert_eq!(d.ask("CLIENT INFO"), "QUEUED");
    d.send("EXEC");
    b.send("SET k line");
    let long = "x".repeat(100_000);
    c.send(&format!("*3\r\n$3\r\nSET\r\n$1\r\nl\r\n${}\r\n{long}", long.len()));
    // All were read when all bytes are counted; they have had their turn when this has it again.
    let read = long.len() + "SET k line SET n v EXEC".len();
    while a.info("total_net_input_bytes").parse::<usize>().unwrap() < read {}
    assert_eq!(a.ask("MGET k l m"), "[nil,nil,nil]");
    assert_eq!(a.ask("CLIENT UNPAUSE"), "OK");
    assert_eq!((b.reply(), c.reply()), ("OK".into(), "OK".into()));
    let done = d.reply();
    assert!(done.starts_with("[OK,id=") && done.contains(" multi=2 "), "{done}");
    assert!(done.contains(" flags=x ") && done.contains(" cmd=exec "), "{done}");
    assert_eq!((e.reply(), e.ask("DISCARD")), ("QUEUED".into(), "OK".into()));
    assert!(a.ask("CLIENT LIST").lines().all(|line| line.contains(" flags=N ")));
    assert_eq!((a.ask("GET k"), a.ask("GET l")), ("line".into(), long));
    // All commands wait, and the pause ends by itself.
    assert_eq!(a.ask("CLIENT PAUSE 20"), "OK");
    assert_eq!(b.ask("GET k"), "line");
}

#[test]
fn the_server_ends_where_that_is_allowed() {
    let server = Server::start("");
    let mut client = server.client();
    for (command, reply) in [
        ("SHUTDOWN", "-ERR SHUTDOWN is not enabled: the server was started without -A"),
        (
            "SHUTDOWN NOSAVE NOW FORCE",
            "-ERR SHUTDOWN is not enabled: the server was started without -A",
        ),
        ("SHUTDOWN SAVE NOSAVE", "-ERR syntax error"),
        ("SHUTDOWN ABORT NOW", "-ERR syntax error"),
        ("SHUTDOWN ABORT", "-ERR No shutdown in progress."),
        ("MULTI", "OK"),
        ("SHUTDOWN", "-ERR Command not allowed inside a transaction"),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
        ("PING", "PONG"),
    ] {
        assert_eq!(client.ask(command), reply, "{command}");
    }
    let (ended, is_ended) = std::sync::mpsc::channel();
    let ended = std::sync::Mutex::new(ended);
    let server = Server::start_with("", true, move || ended.lock().unwrap().send(()).unwrap());
    let mut client = server.client();
    assert_eq!(client.ask("SHUTDOWN SAVE"), "-ERR there is nothing that items could be saved to");
    assert!(is_ended.try_recv().is_err());
    assert_eq!(client.ask("SHUTDOWN nosave"), "");
    is_ended.recv_timeout(Duration::from_secs(60)).unwrap();
}

#[test]
fn a_password_is_asked_of_those_who_come_then() {
    let server = Server::start("");
    let mut old = server.client();
    assert_eq!(old.ask("AUTH x").split(' ').next(), Some("-ERR"));
    assert_eq!(old.ask("CONFIG SET requirepass secret"), "OK");
    let mut new = server.client();
    assert_eq!(new.ask("GET a"), "-NOAUTH Authentication required.");
    for wrong in ["secre", "secret2", "secres", "\"\""] {
        assert_eq!(new.ask(&format!("AUTH {wrong}")).split(' ').next(), Some("-WRONGPASS"));
    }
    assert_eq!(new.ask("AUTH secret"), "OK");
    assert_eq!((new.ask("GET a"), old.ask("GET a")), ("nil".into(), "nil".into()));
    assert_eq!(old.ask("CONFIG GET requirepass"), "[requirepass,secret]");
    assert_eq!(old.info("errorstat_WRONGPASS"), "count=4");

    let server = Server::start("secret");
    assert_eq!(server.client().ask("GET a"), "-NOAUTH Authentication required.");
}

#[test]
fn settings_and_statistics_are_true() {
    let server = Server::start("");
    let mut client = server.client();
    assert_eq!(
        client.ask("CONFIG GET maxmemory maxmemory-policy MAXCLIENTS"),
        "[MAXCLIENTS,100,maxmemory,16777216,maxmemory-policy,allkeys-lfu]"
    );
    assert_eq!(client.ask("CONFIG SET maxmemory 16mb"), "OK");
    assert!(client.ask("CONFIG SET maxmemory 17mb").starts_with("-ERR CONFIG SET failed"));
    // All or none.
    assert!(client
        .ask("CONFIG SET slowlog-max-len 7 port 1")
        .starts_with("-ERR CONFIG SET failed"));
    assert_eq!(client.ask("CONFIG GET slowlog-max*"), "[slowlog-max-len,128]");

    assert_eq!(client.ask("CONFIG RESETSTAT"), "OK");
    for _ in 0..100 {
        client.ask("SET a b");
        client.ask("GET a");
        client.ask("GET c");
    }
    client.ask("GET");
    client.ask("OBJECT FREQ");
    let get = client.info("cmdstat_get");
    assert!(
        get.starts_with("calls=200,") && get.ends_with(",rejected_calls=1,failed_calls=0"),
        "{get}"
    );
    assert!(client.info("cmdstat_object|freq").contains("rejected_calls=1"));
    assert_eq!(
        (client.info("keyspace_hits"), client.info("keyspace_misses")),
        ("100".into(), "100".into())
    );
    assert_eq!(client.info("db0"), "keys=1,expires=0");
    assert_eq!(
        (client.ask("SETEX t 100 v"), client.ask("SETEX a 100 v")),
        ("OK".into(), "OK".into())
    );
    assert_eq!(client.info("db0"), "keys=2,expires=2");
    assert_eq!((client.ask("SET a v"), client.ask("DEL t")), ("OK".into(), "1".into()));
    assert_eq!(client.info("db0"), "keys=1,expires=0");
    assert_eq!(client.info("errorstat_ERR"), "count=2");

    // Of what was slow by itself so far, on a busy machine, nothing is left.
    assert_eq!(client.ask("CONFIG SET slowlog-log-slower-than -1"), "OK");
    assert_eq!(client.ask("SLOWLOG RESET"), "OK");
    assert_eq!(client.ask("CONFIG SET slowlog-log-slower-than 0"), "OK");
    client.ask(&format!("SET a {}", "v".repeat(200)));
    client.ask("AUTH secret");
    client.ask("CONFIG SET requirepass secret");
    client.ask("CONFIG SET slowlog-log-slower-than -1");
    let log = client.ask("SLOWLOG GET");
    assert!(log.contains(&format!("[SET,a,{}... (72 more bytes)]", "v".repeat(128))), "{log}");
    assert!(log.contains("[AUTH,(redacted)]") && !log.contains("secret"), "{log}");
    assert_eq!(client.ask("SLOWLOG LEN"), "4");
    assert_eq!(client.ask("SLOWLOG RESET"), "OK");
    assert_eq!(client.ask("SLOWLOG LEN"), "0");
    assert!(client.ask("DEBUG SLEEP 0").starts_with("-ERR DEBUG command not allowed."));
    assert_eq!(client.ask("MULTI"), "OK");
    assert!(client.ask("DEBUG SLEEP 0").starts_with("-ERR DEBUG command not allowed."));
    assert!(client.ask("EXEC").starts_with("-EXECABORT"));
}
