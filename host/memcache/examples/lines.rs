//! Generated request lines through the parser here and through that of the card, simulated: both
//! must give the same requests, numbers and lengths.
//!
//!     lines SIMULATION LINES SEED
//!
//! SIMULATION (tb/parse/parser_sim.cpp) reads jobs and writes requests. A job: a byte that is 1 for
//! a datagram, the lane of its first byte, its length (16 bits), its bytes. A request: operation,
//! reply, bits, mode; lengths of key and value, flags, expiry time, number (64 bits), bytes of the
//! job up to its end, bytes that are needed; key, value. All numbers begin with their lowest byte.

use std::io::{BufReader, BufWriter, Read, Write};
use std::process::{exit, Command, Stdio};
use std::sync::{mpsc, Arc};
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use wirekv_memcache::classic::{Admin, Op as Classic};
use wirekv_memcache::ops::Mode;
use wirekv_memcache::{Op, Session};
use wirekv_proto::{Asked, Engine, Parse, Settings};
use wirekv_store::{Config, Store};

const NOW: u32 = 1_800_000_000;
/// Bytes of a job are at most so many, less the most that a command takes.
const JOB: usize = 8000;

// What the card calls operations, replies and modes: `op_e`, `reply_e`, `mode_e`.
// begin codes: Made by spec/gen.py from rtl/parse/request_pkg.sv: `make spec`.
#[allow(dead_code)]
mod op {
    pub const GET: u8 = 0;
    pub const SET: u8 = 1;
    pub const ADD: u8 = 2;
    pub const REPLACE: u8 = 3;
    pub const CAS: u8 = 4;
    pub const APPEND: u8 = 5;
    pub const PREPEND: u8 = 6;
    pub const DELETE: u8 = 7;
    pub const INCR: u8 = 8;
    pub const DECR: u8 = 9;
    pub const TOUCH: u8 = 10;
    pub const FLUSH: u8 = 11;
    pub const REPLY: u8 = 12;
    pub const TOO_BIG: u8 = 13;
    pub const HOST: u8 = 14;
    pub const HOST_DATA: u8 = 15;
    pub const CONT: u8 = 16;
    pub const PART: u8 = 17;
    pub const END: u8 = 18;
    pub const WALK: u8 = 19;
    pub const VERSION: u8 = 20;
}
#[allow(dead_code)]
mod reply {
    pub const NONE: u8 = 0;
    pub const ERROR: u8 = 1;
    pub const STORED: u8 = 2;
    pub const NOT_STORED: u8 = 3;
    pub const EXISTS: u8 = 4;
    pub const NOT_FOUND: u8 = 5;
    pub const DELETED: u8 = 6;
    pub const TOUCHED: u8 = 7;
    pub const OK: u8 = 8;
    pub const END: u8 = 9;
    pub const VERSION: u8 = 10;
    pub const BAD_FORMAT: u8 = 11;
    pub const BAD_CHUNK: u8 = 12;
    pub const BAD_EXPTIME: u8 = 13;
    pub const BAD_DELTA: u8 = 14;
    pub const NON_NUMERIC: u8 = 15;
    pub const TOO_LARGE: u8 = 16;
    pub const NO_MEMORY: u8 = 17;
    pub const BAD_DELETE: u8 = 19;
    pub const OVERFLOW: u8 = 20;
    pub const PONG: u8 = 21;
    pub const TOO_LONG: u8 = 22;
    pub const BAD_EXPIRE: u8 = 23;
    pub const FOUND: u8 = 24;
    pub const META_NOOP: u8 = 49;
    pub const DUPLICATE: u8 = 50;
    pub const INVALID: u8 = 51;
    pub const INVALID_OR_DUPLICATE: u8 = 52;
    pub const BAD_TOKEN: u8 = 53;
    pub const BAD_MODE_LEN: u8 = 54;
    pub const BAD_INITIAL: u8 = 55;
    pub const BAD_META_DELTA: u8 = 56;
    pub const BAD_SET_MODE: u8 = 57;
    pub const BAD_SUM_MODE: u8 = 58;
    pub const LONG_OPAQUE: u8 = 59;
    pub const MANY_GET_FLAGS: u8 = 60;
    pub const MANY_FLAGS: u8 = 61;
    pub const BAD_KEY: u8 = 62;
}
#[allow(dead_code)]
mod mode {
    pub const LINE: u8 = 0;
    pub const KEYS: u8 = 1;
    pub const VALUE: u8 = 2;
    pub const SWALLOW: u8 = 3;
    pub const HOST: u8 = 4;
    pub const QUIT: u8 = 5;
    pub const ABORT: u8 = 6;
    pub const LONG: u8 = 7;
}
// end codes

/// A request, as far as both say the same of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    op: u8,
    reply: u8,
    noreply: bool,
    unique: bool,
    touch: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    flags: u32,
    exptime: u32,
    number: u64,
    /// Bytes of the job up to its end; of the keys of a `get` only the last one counts.
    end: u32,
}

// -- what the card makes of a job

fn read_u32(from: &[u8]) -> u32 {
    u32::from_le_bytes(from.try_into().unwrap())
}

/// An expiry, of which the card knows milliseconds; 1 is long past.
fn seconds(from: &[u8]) -> u32 {
    let ms = u64::from_le_bytes(from.try_into().unwrap());
    if ms == 1 {
        return 1;
    }
    assert_eq!(ms % 1000, 0, "{ms} ms are no second's beginning");
    (ms / 1000) as u32
}

/// The requests of a job, one `get` for all of a line's keys as the card gives them.
fn read_job(from: &mut impl Read, lane: u32) -> std::io::Result<Vec<Seen>> {
    let mut seen = Vec::new();
    loop {
        let mut head = [0; 40];
        from.read_exact(&mut head)?;
        let mut key = vec![0; read_u32(&head[4..8]) as usize];
        let mut value = vec![0; read_u32(&head[8..12]) as usize];
        from.read_exact(&mut key)?;
        from.read_exact(&mut value)?;
        let (op, bits) = (head[0], head[2]);
        assert_eq!(bits >> 4 & 1 == 1, seen.is_empty(), "first record of a job");
        let touch = bits & 4 != 0;
        let store = (op::SET..=op::PREPEND).contains(&op);
        let mut end = read_u32(&head[32..36]).wrapping_sub(lane);
        if head[3] == mode::SWALLOW && op == op::REPLY {
            end += read_u32(&head[36..40]);
        }
        let next = Seen {
            op,
            reply: head[1],
            noreply: bits & 1 != 0,
            unique: bits & 2 != 0 && op == op::GET,
            touch: touch && op == op::GET,
            flags: if store { read_u32(&head[12..16]) } else { 0 },
            exptime: match op {
                op::GET if !touch => 0,
                op::GET | op::TOUCH | op::FLUSH | op::SET..=op::PREPEND => seconds(&head[16..24]),
                _ => 0,
            },
            number: match op {
                op::INCR | op::DECR | op::CAS => {
                    u64::from_le_bytes(head[24..32].try_into().unwrap())
                }
                _ => 0,
            },
            key,
            value,
            end,
        };
        let last_key = bits & 8 != 0;
        seen.push(next);
        if op == op::GET && last_key {
            let end_of_get = Seen { op: op::REPLY, reply: reply::END, end, ..Seen::default() };
            seen.push(end_of_get);
        }
        if op == op::END {
            return Ok(seen);
        }
    }
}

// -- what the parser here makes of it

fn reply(code: u8, quiet: bool, end: u32) -> Seen {
    Seen {
        op: op::REPLY,
        reply: if quiet { reply::NONE } else { code },
        noreply: quiet,
        end,
        ..Seen::default()
    }
}

fn expected(input: &[u8], engine: &Engine) -> Vec<Seen> {
    let mut session = Session::default();
    let (mut seen, mut at) = (Vec::new(), 0);
    loop {
        let rest = &input[at..];
        match session.parse(rest, engine) {
            Parse::Request(request) => {
                at += request.len as usize;
                understood(&request, rest, at as u32, &mut seen);
            }
            Parse::Need(_) => {
                seen.push(Seen { op: op::END, end: at as u32, ..Seen::default() });
                return seen;
            }
            Parse::Close => panic!("closes at {at}"),
        }
    }
}

fn understood(request: &Asked<Op>, input: &[u8], end: u32, seen: &mut Vec<Seen>) {
    let quiet = request.quiet;
    let key = || request.key.of(input).to_vec();
    let keyed = |op| Seen { op, noreply: quiet, key: key(), end, ..Seen::default() };
    let what = match request.op {
        Some(Op::Classic(what)) => what,
        None => return,
        other => panic!("{other:?}"),
    };
    let next = match what {
        Classic::Get { unique, touch, .. } => {
            let exptime = if touch { request.exptime } else { 0 };
            for key in request.key.of(input).split(|b| *b == b' ').filter(|key| !key.is_empty()) {
                let key = key.to_vec();
                seen.push(Seen {
                    op: op::GET,
                    unique,
                    touch,
                    exptime,
                    key,
                    end,
                    ..Seen::default()
                });
            }
            reply(reply::END, false, end)
        }
        Classic::GetUntilBad { .. } => reply(reply::BAD_FORMAT, false, end),
        Classic::Store(mode) => {
            let op = match mode {
                Mode::Set => op::SET,
                Mode::Add => op::ADD,
                Mode::Replace => op::REPLACE,
                Mode::Cas => op::CAS,
                Mode::Append => op::APPEND,
                Mode::Prepend => op::PREPEND,
            };
            if request.streams {
                match op {
                    op::SET => Seen { op: op::TOO_BIG, ..reply(reply::TOO_LARGE, quiet, end) },
                    _ => reply(reply::TOO_LARGE, quiet, end),
                }
            } else if !input[..request.len as usize].ends_with(b"\r\n")
                || request.value.at + request.value.len + 2 != request.len
            {
                reply(reply::BAD_CHUNK, quiet, end)
            } else {
                Seen {
                    value: request.value.of(input).to_vec(),
                    flags: request.flags,
                    exptime: request.exptime,
                    number: if op == op::CAS { request.unique } else { 0 },
                    ..keyed(op)
                }
            }
        }
        Classic::Delta { decrement } => {
            Seen { number: request.number, ..keyed(if decrement { op::DECR } else { op::INCR }) }
        }
        Classic::Touch => Seen { exptime: request.exptime, ..keyed(op::TOUCH) },
        Classic::Delete => keyed(op::DELETE),
        Classic::Admin(Admin::Flush { delayed }) => {
            let exptime = if delayed { request.exptime } else { 0 };
            Seen { op: op::FLUSH, noreply: quiet, exptime, end, ..Seen::default() }
        }
        Classic::Admin(Admin::Verbosity) => reply(reply::OK, quiet, end),
        Classic::Version => reply(reply::VERSION, false, end),
        Classic::Say => {
            let known: [(&[u8], u8); 6] = [
                (b"ERROR\r\n", reply::ERROR),
                (b"CLIENT_ERROR bad command line format\r\n", reply::BAD_FORMAT),
                (b"CLIENT_ERROR invalid exptime argument\r\n", reply::BAD_EXPTIME),
                (b"CLIENT_ERROR invalid numeric delta argument\r\n", reply::BAD_DELTA),
                (
                    b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n",
                    reply::BAD_DELETE,
                ),
                (b"END\r\n", reply::END),
            ];
            let code = known.iter().find(|(text, _)| *text == request.say);
            let code = code.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(request.say)));
            reply(code.1, quiet, end)
        }
        other => panic!("{other:?}"),
    };
    seen.push(next);
}

/// What is compared: an end of a `get` line need not have an END of its own, a key says where the
/// next one begins, and of what is refused only the reply counts.
fn plain(seen: &mut [Seen]) {
    for seen in seen {
        match seen.op {
            op::GET => seen.end = 0,
            op::TOO_BIG => seen.key.clear(),
            op::END => (seen.reply, seen.noreply) = (reply::NONE, false),
            _ => {}
        }
    }
}

// -- what is sent

struct Source {
    rng: SmallRng,
}

impl Source {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())]
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn key(&mut self) -> Vec<u8> {
        let len = match self.rng.random_range(0..100) {
            0..70 => self.rng.random_range(1..20),
            70..90 => self.rng.random_range(20..66),
            90..98 => self.rng.random_range(60..251),
            _ => self.rng.random_range(249..256),
        };
        let odd = self.chance(3);
        (0..len)
            .map(|_| match odd && self.chance(10) {
                true => self.one(b"\r\t\x01\x7f\x80\xff\x0b"),
                false => self.rng.random_range(b'!'..=b'~'),
            })
            .collect()
    }

    fn number(&mut self) -> Vec<u8> {
        let text = match self.rng.random_range(0..100) {
            0..30 => "0".into(),
            30..60 => self.rng.random_range(0..100_000u64).to_string(),
            60..85 => {
                let digits = self.rng.random_range(1..22);
                (0..digits).map(|_| self.rng.random_range(b'0'..=b'9') as char).collect()
            }
            85..93 => {
                let near: u64 = self.one(&[1 << 31, 1 << 32, 1 << 63, 2_592_000, 0, 9_999_999_999]);
                near.wrapping_add(self.rng.random_range(0..3)).wrapping_sub(1).to_string()
            }
            93..96 => {
                format!("{}{}", self.one(&["-", "+", "\t", "\r", "--"]), self.one(&[0, 1, 77]))
            }
            96..98 => {
                format!("{}{}", self.one(&[0, 1, 77]), self.one(&["x", "\t", "\rx", ".", "\0"]))
            }
            _ => self.one(&["", "x", "-", "0x1", "noreply"]).into(),
        };
        text.into_bytes()
    }

    /// A command, and data behind it.
    fn command(&mut self) -> Vec<u8> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut data = None;
        match self.rng.random_range(0..100) {
            0..30 => {
                words.push(self.one(&["get", "get", "gets"]).into());
                let keys = if self.chance(70) { 1 } else { self.rng.random_range(0..12) };
                words.extend((0..keys).map(|_| self.key()));
            }
            30..35 => {
                words.push(self.one(&["gat", "gats"]).into());
                words.push(self.number());
                let keys = if self.chance(70) { 1 } else { self.rng.random_range(0..6) };
                words.extend((0..keys).map(|_| self.key()));
            }
            35..70 => {
                let command =
                    self.one(&["set", "set", "set", "add", "replace", "cas", "append", "prepend"]);
                let len = match self.rng.random_range(0..100) {
                    0..70 => self.rng.random_range(0..150),
                    70..97 => self.rng.random_range(0..2100),
                    _ => self.rng.random_range(0..3000),
                };
                words.extend([command.into(), self.key()]);
                let simple = self.chance(85);
                for _ in 0..2 {
                    let number = if simple {
                        self.rng.random_range(0..1000u32).to_string().into()
                    } else {
                        self.number()
                    };
                    words.push(number);
                }
                words.push(len.to_string().into());
                if command == "cas" {
                    words.push(self.number());
                }
                data = Some(len);
            }
            70..78 => words.extend([self.one(&["incr", "decr"]).into(), self.key(), self.number()]),
            78..84 => words.extend(["touch".into(), self.key(), self.number()]),
            84..90 => {
                words.extend(["delete".into(), self.key()]);
                if self.chance(15) {
                    words.push("0".into());
                }
            }
            90..92 => {
                words.push("flush_all".into());
                if self.chance(60) {
                    words.push(self.number());
                }
            }
            92..94 => words.extend(["verbosity".into(), self.number()]),
            94..96 => words.push("version".into()),
            _ => {
                let what = self
                    .one(&["", "x", "ge", "gett", "GET", "set", "get", "touch", "incr x", "g s d"]);
                words.push(what.into());
            }
        }
        if self.chance(12) {
            words.push("noreply".into());
        }
        // Broken in some way.
        if self.chance(4) && words.len() > 1 {
            let at = self.rng.random_range(1..words.len());
            words.remove(at);
        }
        if self.chance(2) {
            let (at, word) = (self.rng.random_range(0..=words.len()), self.number());
            words.insert(at, word);
        }
        let mut line = Vec::new();
        for (i, word) in words.iter().enumerate() {
            if i > 0 {
                line.push(b' ');
            }
            if self.chance(1) {
                line.push(b' ');
            }
            line.extend(word);
        }
        if self.chance(2) {
            line.push(b' ');
        }
        if self.chance(1) && !line.is_empty() {
            let at = self.rng.random_range(0..line.len());
            line[at] = self.one(b"\0\r\t ");
        }
        line.extend(if self.chance(90) { &b"\r\n"[..] } else { b"\n" });
        if let Some(len) = data {
            let kind = self.rng.random_range(0..10);
            for _ in 0..len {
                line.push(match kind {
                    0 => b'\n',
                    1 => self.one(b"\nget set\r 0"),
                    2 => self.rng.random(),
                    _ => self.rng.random_range(b'a'..=b'z'),
                });
            }
            match self.rng.random_range(0..100) {
                0 => line.push(b'x'),
                1 => line.extend(b"xx"),
                2 => {}
                _ => line.extend(b"\r\n"),
            }
        }
        line
    }

    /// The bytes of a job; it may end within a request.
    fn job(&mut self) -> Vec<u8> {
        let mut job = Vec::new();
        let most = self.one(&[1, 1, 3, 16, 60]);
        for _ in 0..self.rng.random_range(1..=most) {
            let command = self.command();
            if job.len() + command.len() > JOB {
                break;
            }
            job.extend(command);
        }
        if self.chance(25) {
            job.truncate(self.rng.random_range(1..=job.len().max(1)));
        }
        job
    }
}

/// How many request lines the job has, all of which both must understand alike. `None` if they leave
/// something alone, or say it at different times: what the card does not have (meta commands, what host
/// software answers), and a op::SET that is not read before all of it has come.
fn fair(job: &[u8], engine: &Engine) -> Option<u64> {
    let mut session = Session::default();
    let (mut at, mut lines) = (0, 0);
    loop {
        let rest = &job[at..];
        let text = rest.trim_ascii_start();
        let host: [&[u8]; 15] = [
            b"m",
            b"stats",
            b"shutdown",
            b"slabs",
            b"lru",
            b"watch",
            b"cache_memlimit",
            b"refresh_certs",
            b"quit",
            b"bget",
            b"v ",
            b"r ",
            b"p ",
            b"\x80",
            b"w",
        ];
        if host.iter().any(|word| text.starts_with(word)) || rest.first() == Some(&0x80) {
            return None;
        }
        if rest.len() > 2000 && !rest[..2000].contains(&b'\n') {
            return None;
        }
        match session.parse(rest, engine) {
            Parse::Request(request) => match request.op {
                Some(Op::Classic(Classic::Store(_))) if request.streams => return None,
                Some(Op::Classic(_)) => (at, lines) = (at + request.len as usize, lines + 1),
                _ => return None,
            },
            Parse::Need(_) => return Some(lines),
            Parse::Close => return None,
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, simulation, lines, seed] = &arguments[..] else {
        eprintln!("lines SIMULATION LINES SEED");
        exit(2);
    };
    let (lines, seed): (u64, u64) = (lines.parse().unwrap(), seed.parse().unwrap());
    println!("seed {seed}");
    let store = Store::new(Config::new(64 << 20)).expect("a store");
    store.set_now(NOW);
    let engine = Engine::new(store.local(), Arc::new(Settings::default()));
    let mut child = Command::new(simulation)
        .args([(seed as u32 & 0x7fff_ffff).to_string(), (seed % 3 * 60).to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the simulation starts");
    let mut input = BufWriter::with_capacity(1 << 16, child.stdin.take().unwrap());
    let mut output = BufReader::with_capacity(1 << 16, child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::sync_channel::<(u32, Vec<u8>)>(4096);
    let reader = thread::spawn(move || {
        let store = Store::new(Config::new(64 << 20)).expect("a store");
        store.set_now(NOW);
        let engine = Engine::new(store.local(), Arc::new(Settings::default()));
        let (mut jobs, mut requests) = (0u64, 0u64);
        for (lane, job) in receiver {
            let mut want = expected(&job, &engine);
            let Ok(mut got) = read_job(&mut output, lane) else {
                return Err(format!(
                    "the simulation ended in job {jobs}: {:?}",
                    job.escape_ascii().to_string()
                ));
            };
            plain(&mut want);
            plain(&mut got);
            if want != got {
                let at = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
                return Err(format!(
                    "job {jobs}, lane {lane}: {}\nrequest {at}\nhere {:?}\ncard {:?}",
                    job.escape_ascii(),
                    want.get(at),
                    got.get(at)
                ));
            }
            jobs += 1;
            requests += want.len() as u64 - 1;
        }
        Ok((jobs, requests))
    });
    let mut source = Source { rng: SmallRng::seed_from_u64(seed) };
    let (mut sent, mut compared) = (Ok(()), 0);
    while compared < lines && sent.is_ok() {
        let job = source.job();
        let Some(count) = fair(&job, &engine).filter(|_| !job.is_empty()) else { continue };
        compared += count;
        let udp = source.chance(20);
        let lane = if udp { 8 } else { source.rng.random_range(0..64) };
        let head = [udp.into(), lane as u8, job.len() as u8, (job.len() >> 8) as u8];
        // Who compares knows of it before the simulation does, so its answers are always taken.
        if sender.send((lane, job.clone())).is_err() {
            break;
        }
        sent = input.write_all(&head).and_then(|()| input.write_all(&job));
    }
    drop((sender, input));
    let result = reader.join().expect("the reader");
    let status = child.wait().expect("the simulation ends");
    match result {
        Ok((jobs, requests)) if status.success() => {
            println!("{compared} lines in {jobs} jobs, {requests} requests: the same");
        }
        Ok(_) => {
            eprintln!("the simulation failed");
            exit(1)
        }
        Err(text) => {
            eprintln!("{text}");
            exit(1)
        }
    }
}
