//! What eight well-behaved clients get beside others who ask for nothing but one odd kind of requests and always have
//! some outstanding, in terms of what they get beside as many well-behaved ones.
//!
//! All clients share the wire evenly (see `Rig::share_wire`), so what differs is what the card does.

use anyhow::{Context, Result};
use serde_json::{json, Value};

use crate::frame::{PORT, REDIS_PORT};
use crate::keys::{Expect, Keys, Kind, Shape};
use crate::load::TcpLoad;
use crate::rig::{changes, Rig};
use crate::Args;

/// The well-behaved: short GETs and SETs of keys of their own, so many outstanding.
const GOOD: u32 = 8;
const PIPELINE: usize = 4;
const SHAPE: Shape = Shape { key_len: 6, value_len: 4, keys: 64, gets: 50, kind: Kind::Plain };
/// How many are beside them.
const BESIDE: [u32; 3] = [1, 8, 64];
/// Requests that an odd one has outstanding.
const ODD_PIPELINE: usize = 32;
/// Clocks before it is measured, and of that.
const SETTLE: u64 = 300_000;
const MEASURED: u64 = 200_000;
/// After these a client sends again what was not acknowledged: the first burst of many may be more than a wire carries.
const RESEND: u64 = 20_000;
/// Bytes of index and log: of less, appends would soon have copied all that they may in a minute.
const STORE: u64 = 512 << 20;
/// What host software says to all commands.
const HOST: &[u8] = b"+OK\r\n";
/// What the eight are to keep.
pub const GOAL: f64 = 0.5;

/// What the odd ones ask for.
pub struct Odd {
    pub name: &'static str,
    pub text: &'static str,
    port: u16,
    /// They send byte by byte.
    crumbs: bool,
    /// A client's request by its number, and its reply; those below `first` are made before anything is measured.
    request: fn(u32, u64) -> (Vec<u8>, Vec<u8>),
    first: u64,
}

pub fn all() -> Vec<Odd> {
    let odd =
        |name, text, first, request| Odd { name, text, port: PORT, crumbs: false, request, first };
    vec![
        odd("fairness-long-keys", "GETs of a key of 250 bytes", 1, |client, n| {
            let key = long_key(client, 0);
            if n == 0 {
                return set(&key, b"four");
            }
            (line(&["get ", &key]), hits(&[key]))
        }),
        odd("fairness-many-keys", "GETs of 20 keys of 250 bytes", MANY, |client, n| {
            if n < MANY {
                return set(&long_key(client, n), b"four");
            }
            let keys: Vec<String> = (0..MANY).map(|key| long_key(client, key)).collect();
            (line(&["get ", &keys.join(" ")]), hits(&keys))
        }),
        odd("fairness-blanks", "GETs of a short key behind 2,000 blanks", 1, |client, n| {
            let key = format!("o{client}");
            if n == 0 {
                return set(&key, b"four");
            }
            (line(&["get", &" ".repeat(2000), &key]), hits(&[key]))
        }),
        odd("fairness-incr", "incr of one key for each", 1, |client, n| {
            let key = format!("o{client}");
            if n == 0 {
                return set(&key, b"1000000");
            }
            (line(&["incr ", &key, " 1"]), line(&[&(1_000_000 + n).to_string()]))
        }),
        odd("fairness-append", "appends of a byte to 8,000", 1, |client, n| {
            let key = format!("o{client}");
            if n % 200 == 0 {
                return set(&key, &[b'v'; 7900]);
            }
            (line(&["append ", &key, " 0 0 1\r\nv"]), b"STORED\r\n".to_vec())
        }),
        Odd {
            port: REDIS_PORT,
            ..odd(
                "fairness-inline",
                "inline commands of Redis with a word in quotes, answered at once",
                0,
                |client, _| (line(&["GET '", &client.to_string(), "'"]), HOST.to_vec()),
            )
        },
        Odd {
            crumbs: true,
            ..odd("fairness-half-lines", "lines of 7,500 bytes, byte by byte", 0, |_, _| {
                (line(&["get", &" nobody-has-such-a-key-00".repeat(300)]), b"END\r\n".to_vec())
            })
        },
    ]
}

/// Keys of a request of many.
const MANY: u64 = 20;

fn long_key(client: u32, n: u64) -> String {
    format!("{client:0125}{n:0125}")
}

fn line(words: &[&str]) -> Vec<u8> {
    [&words.concat(), "\r\n"].concat().into_bytes()
}

fn set(key: &str, value: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let head = format!("set {key} 0 0 {}\r\n", value.len());
    ([head.as_bytes(), value, b"\r\n"].concat(), b"STORED\r\n".to_vec())
}

fn hits(keys: &[String]) -> Vec<u8> {
    let items = keys.iter().map(|key| format!("VALUE {key} 0 4\r\nfour\r\n"));
    (items.collect::<String>() + "END\r\n").into_bytes()
}

/// Of a run.
pub struct Run {
    /// Operations a clock of the eight, and of those beside them.
    pub rate: f64,
    pub others: f64,
    resent: u64,
    counters: Vec<(&'static str, u64)>,
    pub clocks: u64,
}

/// Of one kind beside so many, and of as many well-behaved ones.
pub struct Share {
    pub beside: u32,
    pub run: Run,
    reference: f64,
}

impl Share {
    pub fn of_reference(&self) -> f64 {
        self.run.rate / self.reference
    }

    pub fn reached(&self) -> bool {
        self.of_reference() >= GOAL
    }

    pub fn json(&self, odd: &Odd) -> Value {
        json!({
            "name": odd.name,
            "what": odd.text,
            "beside": self.beside,
            "op_per_clock": self.run.rate,
            "op_per_clock_of_others": self.run.others,
            "op_per_clock_beside_well_behaved": self.reference,
            "share": self.of_reference(),
            "reached": self.reached(),
            "client_resends": self.run.resent,
            "counters": self.run.counters.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        })
    }
}

/// What the eight get beside as many well-behaved ones, by their number.
#[derive(Default)]
pub struct References(Vec<f64>);

impl References {
    pub fn shares(&mut self, odd: &Odd, args: &Args) -> Result<Vec<Share>> {
        if self.0.is_empty() {
            let runs = BESIDE.iter().map(|&beside| Ok(run(None, beside, args)?.rate));
            self.0 = runs.collect::<Result<_>>().context("beside well-behaved ones")?;
        }
        let pairs = BESIDE.iter().zip(&self.0);
        pairs
            .map(|(&beside, &reference)| {
                let run =
                    run(Some(odd), beside, args).with_context(|| format!("beside {beside}"))?;
                Ok(Share { beside, run, reference })
            })
            .collect()
    }
}

/// The eight beside so many others; None: these are well-behaved, too.
fn run(odd: Option<&Odd>, beside: u32, args: &Args) -> Result<Run> {
    let mut rig = Rig::new(STORE, args)?;
    rig.answer(HOST);
    let good = if odd.is_some() { GOOD } else { GOOD + beside };
    let mut keys = Keys::new(SHAPE, good, false, args.seed);
    let mut load = TcpLoad::new(&mut rig, good, PORT)?;
    load.pace(PIPELINE, 0);
    if let Some(odd) = odd {
        for _ in 0..beside {
            load.join(&mut rig, odd.port, ODD_PIPELINE, odd.crumbs)?;
        }
    }

    // Requests of each that were made.
    let mut made = vec![0; (GOOD + beside) as usize];
    let mut first = |keys: &mut Keys, client: u32| {
        let n = made[client as usize];
        made[client as usize] += 1;
        match odd.filter(|_| client >= good) {
            Some(odd) => (n < odd.first).then(|| asked(odd, client, n)),
            None => (n < u64::from(SHAPE.keys)).then(|| keys.set(client * SHAPE.keys + n as u32)),
        }
    };
    load.run(&mut rig, &mut keys, None, &mut first).context("storing the keys")?;
    let mut made = vec![odd.map_or(0, |odd| odd.first); made.len()];
    let mut next = |keys: &mut Keys, client: u32| {
        let n = made[client as usize];
        made[client as usize] += 1;
        Some(match odd.filter(|_| client >= good) {
            Some(odd) => asked(odd, client, n),
            None => keys.next(client),
        })
    };
    load.resend_after(RESEND);
    rig.share_wire();
    load.run_for(&mut rig, &mut keys, SETTLE, &mut next)?;
    let replies = |load: &TcpLoad| [load.replies(GOOD), load.replies(GOOD + beside)];
    let (clock, before, counts) = (rig.clock(), replies(&load), rig.counters()?);
    load.run_for(&mut rig, &mut keys, MEASURED, &mut next)?;
    let clocks = (rig.clock() - clock) as f64;
    let [eight, all] = [0, 1].map(|n| (replies(&load)[n] - before[n]) as f64 / clocks);
    Ok(Run {
        rate: eight,
        others: all - eight,
        resent: load.resent(),
        counters: changes(&counts, &rig.counters()?),
        clocks: rig.clock(),
    })
}

fn asked(odd: &Odd, client: u32, n: u64) -> (Vec<u8>, Expect) {
    let (text, reply) = (odd.request)(client, n);
    (text, Expect::Exactly(reply))
}
