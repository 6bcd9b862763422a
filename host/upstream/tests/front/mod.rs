//! A card that is a table in memory, before a real server.
#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::HashMap;
use std::fs::DirEntry;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wirekv_upstream::{
    Address, Cache, Item, Piece, Server, Settings, Sockets, Tag, Upstream, Within,
};

/// Longer than anything takes on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a row.
const ROW: usize = 8192;

pub fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// What the card has.
#[derive(Default)]
pub struct Table {
    pub items: HashMap<Vec<u8>, Item>,
    pub flushes: u32,
    /// The card does not answer.
    pub dead: bool,
}

impl Cache for Table {
    fn delete(&mut self, keys: &[Vec<u8>]) -> bool {
        keys.iter().for_each(|key| drop(self.items.remove(key)));
        !self.dead
    }

    fn flush(&mut self) -> bool {
        self.flushes += 1;
        self.items.clear();
        !self.dead
    }

    fn fill(&mut self, items: &[Item]) -> bool {
        self.items.extend(items.iter().map(|item| (item.key.clone(), item.clone())));
        !self.dead
    }
}

pub struct Process(pub Child, pub String);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
        // Each of its threads stops when it comes to that.
        let tasks = || std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let state = |task: DirEntry| std::fs::read_to_string(task.path().join("stat")).unwrap();
        while name == "-STOP" && !tasks().all(|task| state(task.unwrap()).contains(") T ")) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One that no other test takes, below those that the kernel gives to clients.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id().wrapping_mul(64) + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (next % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn run(mut command: Command, port: u16, protocol: &str) -> Process {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "{protocol} does not listen");
        assert!(child.try_wait().unwrap().is_none(), "{protocol} ended at its start");
        std::thread::sleep(Duration::from_millis(5));
    }
    Process(child, format!("{protocol}:127.0.0.1:{port}"))
}

/// memcached 1.6.38, where it was built.
pub fn memcached() -> Option<Process> {
    memcached_at(free_port())
}

pub fn memcached_at(port: u16) -> Option<Process> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/memcached/memcached");
    if !path.exists() {
        eprintln!("skipped: {} is not there; `make setup` builds it", path.display());
        return None;
    }
    let mut command = Command::new(path);
    command.args(["-u", "root", "-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0"]);
    Some(run(command, port, "memcached"))
}

/// Redis 7: Debian's redis-tools has the whole server under another name.
pub fn redis() -> Option<Process> {
    let names = ["/usr/bin/redis-server", "/usr/bin/redis-check-rdb"];
    let Some(path) = names.iter().find(|path| Path::new(path).exists()) else {
        eprintln!("skipped: there is no redis-server; redis-tools has it");
        return None;
    };
    let port = free_port();
    let mut command = Command::new(path);
    command.arg0("redis-server").args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--save", "", "--appendonly", "no"]);
    Some(run(command, port, "redis"))
}

/// The host, and what the card knows of its connections.
pub struct Front {
    pub upstream: Upstream<Sockets>,
    pub table: Table,
    /// Connections that were answered, and whether all of them comes to the host.
    all: HashMap<u8, bool>,
    wake: Arc<(Mutex<bool>, Condvar)>,
    pieces: Vec<(Tag, Piece)>,
}

fn tag(conn: u8) -> Tag {
    [conn, 0, 0, 0]
}

impl Front {
    pub fn new(server: &str) -> Front {
        Front::with(server, Settings { admit_all: true, ..Settings::default() })
    }

    pub fn with(server: &str, settings: Settings) -> Front {
        let address: Address = server.parse().unwrap();
        let server = Server::meet(&address).unwrap();
        let wake = Arc::<(Mutex<bool>, Condvar)>::default();
        let wakes = wake.clone();
        let sockets = Sockets::new(&server, move || {
            *wakes.0.lock().unwrap() = true;
            wakes.1.notify_one();
        });
        let upstream = Upstream::new(server, settings, sockets.unwrap(), Instant::now()).unwrap();
        let (table, all, pieces) = (Table::default(), HashMap::new(), Vec::new());
        let mut front = Front { upstream, table, all, wake, pieces };
        // Until the first fill could be.
        front.until(|front| front.table.flushes >= 2);
        front
    }

    pub fn turn(&mut self) {
        let pieces = &mut self.pieces;
        let mut say = |tag, piece, _| pieces.push((tag, piece));
        self.upstream.turn(Instant::now(), &mut self.table, &mut say);
        if !self.pieces.is_empty() {
            return;
        }
        let most = self.upstream.patience(Instant::now()).min(Duration::from_millis(20));
        let woken = self.wake.0.lock().unwrap();
        let (mut woken, _) = self.wake.1.wait_timeout_while(woken, most, |woken| !*woken).unwrap();
        *woken = false;
    }

    pub fn until(&mut self, is: impl Fn(&Front) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is(self) {
            assert!(Instant::now() < end, "it does not come");
            self.turn();
        }
    }

    /// Sends a row; the answer has to be fetched.
    pub fn send(&mut self, conn: u8, row: &[u8], within: Within) {
        let stranger = !self.all.contains_key(&conn);
        self.upstream.row(tag(conn), row, (within, stranger), (Instant::now(), unix()));
    }

    /// The answer to a row, and whether the connection was closed.
    pub fn receive(&mut self, conn: u8) -> (Vec<u8>, bool) {
        let (mut text, end) = (Vec::new(), Instant::now() + PATIENCE);
        loop {
            let at = self.pieces.iter().position(|(of, _)| *of == tag(conn));
            let Some(at) = at else {
                assert!(Instant::now() < end, "no answer; so far {}", text.escape_ascii());
                self.turn();
                continue;
            };
            let piece = self.pieces.remove(at).1;
            text.extend(piece.text);
            if piece.last {
                match piece.closes {
                    true => drop(self.all.remove(&conn)),
                    false => drop(self.all.insert(conn, piece.all)),
                }
                return (text, piece.closes);
            }
            self.upstream.more(tag(conn), Instant::now());
        }
    }

    /// Sends all of it, and says what came.
    pub fn ask(&mut self, conn: u8, bytes: &[u8]) -> Vec<u8> {
        let (text, closed) = self.ask_in(conn, bytes, ROW);
        assert!(!closed, "closed behind {}", text.escape_ascii());
        text
    }

    /// The same in rows of so many bytes, and whether the connection was closed.
    pub fn ask_in(&mut self, conn: u8, bytes: &[u8], size: usize) -> (Vec<u8>, bool) {
        let mut text = Vec::new();
        for row in bytes.chunks(size) {
            self.send(conn, row, Within::No);
            let (more, closed) = self.receive(conn);
            text.extend(more);
            if closed {
                return (text, true);
            }
        }
        (text, false)
    }

    pub fn all(&self, conn: u8) -> bool {
        self.all[&conn]
    }

    pub fn value(&self, key: &str) -> Option<&[u8]> {
        self.table.items.get(key.as_bytes()).map(|item| &item.value[..])
    }

    pub fn forget(&mut self, conn: u8) {
        self.all.remove(&conn);
    }
}
