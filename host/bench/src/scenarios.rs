//! What is measured.

use anyhow::{bail, ensure, Context, Result};

use crate::flood::{self, Flood};
use crate::image::Entries;
use crate::keys::{Expect, Keys, Kind, Shape, ETC_NEW};
use crate::load::{Next, TcpLoad, Udp, UDP_MOST};
use crate::meter::{Figures, Meter};
use crate::rig::Rig;
#[cfg(feature = "store")]
use crate::store;
use crate::written;
use crate::Args;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// One request a datagram; each client keeps `window` of them outstanding.
    Udp { window: u32 },
    /// One connection a client, `pipeline` requests outstanding.
    Tcp { pipeline: usize },
    /// None: the store alone, `job` requests a job.
    Store { job: u32 },
}

pub enum Goal {
    /// At least so many operations a clock.
    Rate(f64),
    /// A median of at most so many clocks.
    Latency(u64),
    /// Not slower than another scenario by more than so much of its rate.
    Like { other: &'static str, within: f64 },
    /// At least so much of what the wire carries.
    Wire(f64),
    /// The 99th percentile is at most so many times another scenario's median.
    Tail { other: &'static str, times: f64 },
    /// At least so much of the index is taken when it first has to evict.
    Full(f64),
}

pub struct Scenario {
    pub name: &'static str,
    pub network: Network,
    pub clients: u32,
    pub shape: Shape,
    /// Random wait before each request, in clocks.
    pub think: u64,
    /// Requests come at random, with this share of the rate that a closed loop reaches.
    open: Option<f64>,
    /// One more client asks for 100 values of 1 MiB and never reads.
    pub slow_reader: bool,
    /// What half of the wire to the card is taken by.
    pub flood: Option<flood::Kind>,
    /// Only SETs of ever new keys, until the index evicts one; what is measured is the end of it.
    pub fill: bool,
    /// Only SETs of new keys, for which the index has room.
    pub fresh: bool,
    /// So many entries are written into the memory before the run; GETs are of any of them.
    pub entries: Option<u32>,
    pub goals: Vec<Goal>,
}

impl Scenario {
    /// Before another server gates run gets alone; what its host answers, one at a time.
    pub fn suits(&self, args: &Args) -> bool {
        let gets = self.shape.gets == 100 && !self.shape.kind.once();
        let has_wire = !matches!(self.network, Network::Store { .. });
        let alone = matches!(self.network, Network::Tcp { pipeline: 1 });
        args.upstream.is_none()
            || (gets
                && has_wire
                && self.entries.is_none()
                && (args.misses == 0 || (alone && self.shape.kind == Kind::Plain)))
    }

    /// Operations that are measured.
    pub fn ops(&self, args: &Args) -> u64 {
        if self.think != 0 || self.shape.value_len > 1000 {
            args.ops / 20
        } else if self.entries.is_some() {
            WRITTEN_OPS * args.ops
        } else if let Kind::Redis(keys @ 2..) = self.shape.kind {
            // So many MGETs: one by one their keys would be less than what comes into the caches first.
            u64::from(keys) * args.ops
        } else {
            args.ops
        }
    }

    pub fn keys(&self, args: &Args) -> Keys {
        let ordered = !matches!(self.network, Network::Tcp { .. });
        if self.fresh || self.shape.kind.once() {
            // Twice as many as are measured, since clients are not served evenly.
            let each = (5 * self.ops(args) / 2).div_ceil(u64::from(self.clients)) as u32;
            return Keys::new(Shape { keys: each, ..self.shape }, self.clients, ordered, args.seed);
        }
        match self.entries {
            // Some that are stored are evicted. Memory is taken for those that are stored only.
            Some(entries) => Keys::new(
                Shape { keys: entries.saturating_mul(2), ..self.shape },
                1,
                true,
                args.seed,
            ),
            None => Keys::new(self.shape, self.clients, ordered, args.seed),
        }
    }

    /// In a few words, with everything that decides how many bytes travel.
    pub fn framing(&self) -> String {
        let network = match (self.network, self.open) {
            (Network::Udp { .. }, Some(share)) => {
                let share = 100.0 * share;
                format!("UDP, one request a datagram, at random, {share:.0} % of what a closed loop reaches")
            }
            (Network::Udp { window }, None) => {
                format!("UDP, one request a datagram, {window} outstanding")
            }
            (Network::Tcp { pipeline }, _) => format!("TCP, MSS 1460, pipelining {pipeline}"),
            (Network::Store { job }, _) => format!("the store alone, {job} requests a job"),
        };
        let Shape { key_len, value_len, keys, gets, kind } = self.shape;
        let which = if self.fill {
            "all new, in 16 MiB".into()
        } else if self.fresh {
            "all new".into()
        } else if kind.once() {
            "each key once".into()
        } else if let Some(entries) = self.entries {
            format!("{entries} entries in the store")
        } else if keys == 0 {
            "one key".into()
        } else {
            format!("{keys} keys a client")
        };
        let what = match kind {
            Kind::Etc => {
                "keys and values as in ETC, Zipf 0.99, 30 GETs a SET, a tenth of these new".into()
            }
            _ => {
                let get = kind.what().map_or(format!("{gets} % GET"), str::to_string);
                format!("key {key_len} B, value {value_len} B, {get}")
            }
        };
        let more = match kind {
            Kind::Lf => ", values of LF".into(),
            Kind::Many(count) => format!(", {count} keys a GET"),
            Kind::Binary => ", binary protocol".into(),
            Kind::Meta => ", meta commands".into(),
            Kind::Redis(1) => ", Redis' protocol".into(),
            Kind::Inline => ", Redis' inline commands".into(),
            Kind::Redis(count) => format!(", Redis' protocol, {count} keys an MGET"),
            _ => String::new(),
        };
        let beside = self.flood.map_or(String::new(), |kind| {
            format!("; 1/{} of the wire: {}", kind.part(), kind.text())
        });
        format!("{network}, {} clients, {what}, {which}{more}{beside}", self.clients)
    }
}

pub fn all(connections: u32, entries: u32) -> Vec<Scenario> {
    let small = |keys, gets| Shape { key_len: 6, value_len: 4, keys, gets, kind: Kind::Plain };
    let large = |keys, gets| Shape { key_len: 16, value_len: 100, keys, gets, kind: Kind::Plain };
    let redis = |shape, count| Shape { kind: Kind::Redis(count), ..shape };
    let meta = |shape| Shape { kind: Kind::Meta, ..shape };
    let binary = |shape| Shape { kind: Kind::Binary, ..shape };
    // As many keys as the card's caches cannot hold.
    let keys = (16_384 / connections).max(1);
    let etc_keys = (131_072 / connections).max(1) + ETC_NEW;
    // The longest keys of "Redis on FPGA achieved constant 3 microsecond responses" (Axonerve).
    let key36 = |gets| Shape { key_len: 36, value_len: 36, ..small(keys, gets) };
    let udp = Network::Udp { window: 4 };
    let tcp = Network::Tcp { pipeline: 16 };
    let make = |name, network, shape, goals| Scenario {
        name,
        network,
        clients: connections,
        shape,
        think: 0,
        open: None,
        slow_reader: false,
        flood: None,
        fill: false,
        fresh: false,
        entries: None,
        goals,
    };
    let asked = |name, shape, kind, goals| make(name, tcp, Shape { kind, ..shape }, goals);
    let fresh = |name, network, shape: Shape, goals| Scenario {
        fresh: true,
        ..make(name, network, Shape { key_len: shape.key_len.max(8), gets: 0, ..shape }, goals)
    };
    // The value sizes of "Achieving 10Gbps Line-rate Key-value Stores with FPGAs" (HotCloud 2013).
    let sized = |name, value_len, gets| {
        let shape = Shape { value_len, ..binary(small(keys, gets)) };
        make(name, udp, shape, vec![Goal::Wire(0.9)])
    };
    let written = |name, network, entries: u32, goals| Scenario {
        entries: Some(entries),
        ..make(name, network, Shape { key_len: 8, ..small(0, 100) }, goals)
    };
    let twin = |other| vec![Goal::Like { other, within: 0.1 }];
    let beside = |name, kind, goals| Scenario {
        flood: Some(kind),
        ..make(name, tcp, large(keys, 50), goals)
    };
    let keyed = |name, network, kind, key_len, gets, goals| {
        make(name, network, Shape { key_len, kind, ..large(keys, gets) }, goals)
    };
    let long_key =
        |name, kind, key_len, gets| keyed(name, tcp, kind, key_len, gets, vec![Goal::Wire(0.9)]);
    let open = |name, share, goals| Scenario {
        open: Some(share),
        ..make(name, udp, small(keys, 100), goals)
    };
    let undisturbed = || vec![Goal::Like { other: "half-wire", within: 0.1 }];
    let one = Network::Store { job: 1 };
    let many = Network::Store { job: 16 };
    let rate = |least| vec![Goal::Rate(least)];
    vec![
        make("store-get", one, small(keys, 100), rate(0.9)),
        make("store-get-hot", one, small(0, 100), rate(0.9)),
        written("store-get-64m-twin", one, TWIN, vec![]),
        written("store-get-64m", one, entries, twin("store-get-64m-twin")),
        make("store-set", one, small(keys, 0), rate(0.9)),
        make("store-set-hot", one, small(0, 0), rate(0.9)),
        fresh("store-fill", one, small(0, 0), rate(0.9)),
        keyed("store-get-key64", one, Kind::Plain, 64, 100, vec![]),
        keyed("store-get-key128", one, Kind::Plain, 128, 100, vec![]),
        keyed("store-get-key250", one, Kind::Plain, 250, 100, vec![]),
        keyed("store-set-key64", one, Kind::Plain, 64, 0, vec![]),
        keyed("store-set-key128", one, Kind::Plain, 128, 0, vec![]),
        keyed("store-set-key250", one, Kind::Plain, 250, 0, vec![]),
        make("store-mixed", one, small(keys, 50), rate(0.9)),
        make("store-mixed-hot", one, small(0, 50), rate(0.9)),
        make("store-get-16", many, small(keys, 100), rate(0.9)),
        make("store-get-16-hot", many, small(0, 100), rate(0.9)),
        make("store-set-16", many, small(keys, 0), rate(0.9)),
        make("store-set-16-hot", many, small(0, 0), rate(0.9)),
        make("store-mixed-16", many, small(keys, 50), rate(0.9)),
        make("store-mixed-16-hot", many, small(0, 50), rate(0.9)),
        make("udp-get", udp, small(keys, 100), rate(0.45)),
        written("udp-get-64m-twin", udp, TWIN, vec![]),
        written("udp-get-64m", udp, entries, twin("udp-get-64m-twin")),
        make("udp-get-hot", udp, small(0, 100), rate(0.45)),
        make("udp-set", udp, small(keys, 0), rate(0.45)),
        make("udp-mixed", udp, small(keys, 50), rate(0.48)),
        make("udp-mixed-hot", udp, small(0, 50), rate(0.48)),
        make("udp-binary-get", udp, binary(small(keys, 100)), vec![Goal::Wire(0.9)]),
        make("udp-binary-mixed", udp, binary(small(keys, 50)), vec![Goal::Wire(0.9)]),
        sized("udp-binary-get-64", 64, 100),
        sized("udp-binary-get-96", 96, 100),
        sized("udp-binary-get-128", 128, 100),
        sized("udp-binary-get-256", 256, 100),
        sized("udp-binary-get-512", 512, 100),
        sized("udp-binary-get-1024", 1024, 100),
        sized("udp-binary-mixed-64", 64, 50),
        sized("udp-binary-mixed-96", 96, 50),
        sized("udp-binary-mixed-128", 128, 50),
        sized("udp-binary-mixed-256", 256, 50),
        sized("udp-binary-mixed-512", 512, 50),
        sized("udp-binary-mixed-1024", 1024, 50),
        Scenario {
            fill: true,
            ..make(
                "udp-fill",
                udp,
                Shape { key_len: 8, ..small(0, 0) },
                vec![Goal::Full(0.9), Goal::Rate(0.045)],
            )
        },
        fresh("udp-fill-room", udp, small(0, 0), vec![Goal::Wire(0.9)]),
        make("tcp-get", tcp, large(keys, 100), rate(0.31)),
        make("tcp-get-hot", tcp, large(0, 100), rate(0.31)),
        make("tcp-set", tcp, large(keys, 0), rate(0.32)),
        fresh("tcp-fill", tcp, large(0, 0), vec![Goal::Wire(0.9)]),
        make(
            "tcp-lf",
            tcp,
            Shape { kind: Kind::Lf, ..large(keys, 0) },
            vec![Goal::Like { other: "tcp-set", within: 0.1 }],
        ),
        make("tcp-small", tcp, small(keys, 50), rate(0.9)),
        make("tcp-mget", tcp, Shape { kind: Kind::Many(100), ..small(keys, 100) }, rate(0.8)),
        Scenario {
            clients: 1000,
            ..make("tcp-d1", Network::Tcp { pipeline: 1 }, small(16, 100), rate(0.3))
        },
        asked("etc", large(etc_keys, 0), Kind::Etc, vec![Goal::Wire(0.9)]),
        asked("tcp-incr", Shape { value_len: 10, ..large(keys, 0) }, Kind::Incr, rate(0.25)),
        asked("tcp-touch", large(keys, 0), Kind::Touch, rate(0.25)),
        asked("tcp-delete", large(0, 0), Kind::Delete, rate(0.25)),
        asked("tcp-cas", large(0, 0), Kind::Cas, rate(0.25)),
        // Four clocks, and one for each line of an item of 132 bytes.
        asked("tcp-append", large(keys, 0), Kind::Append, rate(0.14)),
        asked(
            "tcp-meta-flags",
            Shape { value_len: 4, ..large(keys, 50) },
            Kind::MetaFlags,
            rate(0.125),
        ),
        asked("tcp-redis-setex", large(keys, 0), Kind::Setex, rate(0.25)),
        asked("tcp-redis-set-ex", large(keys, 0), Kind::SetEx, rate(0.25)),
        asked("tcp-redis-ttl", large(keys, 0), Kind::Ttl, rate(0.25)),
        make("tcp-mixed", tcp, large(keys, 50), rate(0.52)),
        make("tcp-meta-get", tcp, meta(large(keys, 100)), vec![Goal::Wire(0.9)]),
        make("tcp-meta-mixed", tcp, meta(large(keys, 50)), vec![Goal::Wire(0.9)]),
        make("tcp-binary-get", tcp, binary(large(keys, 100)), rate(0.31)),
        make("tcp-binary-mixed", tcp, binary(large(keys, 50)), vec![Goal::Wire(0.9)]),
        make("tcp-redis-get", tcp, redis(large(keys, 100), 1), vec![Goal::Wire(0.9)]),
        make("tcp-redis-mixed", tcp, redis(large(keys, 50), 1), vec![Goal::Wire(0.9)]),
        asked("tcp-redis-inline", large(keys, 100), Kind::Inline, vec![Goal::Wire(0.9)]),
        make("tcp-redis-set", tcp, redis(large(keys, 0), 1), rate(0.3)),
        make("tcp-redis-get-36", tcp, redis(key36(100), 1), rate(0.3)),
        make("tcp-redis-set-36", tcp, redis(key36(0), 1), rate(0.3)),
        make("tcp-redis-mget16", tcp, redis(small(keys, 100), 16), rate(0.85)),
        long_key("tcp-get-key32", Kind::Plain, 32, 100),
        long_key("tcp-get-key64", Kind::Plain, 64, 100),
        long_key("tcp-get-key128", Kind::Plain, 128, 100),
        long_key("tcp-get-key250", Kind::Plain, 250, 100),
        long_key("tcp-set-key32", Kind::Plain, 32, 0),
        long_key("tcp-set-key64", Kind::Plain, 64, 0),
        long_key("tcp-set-key128", Kind::Plain, 128, 0),
        long_key("tcp-set-key250", Kind::Plain, 250, 0),
        long_key("tcp-binary-get-key32", Kind::Binary, 32, 100),
        long_key("tcp-binary-get-key64", Kind::Binary, 64, 100),
        long_key("tcp-binary-get-key128", Kind::Binary, 128, 100),
        long_key("tcp-binary-get-key250", Kind::Binary, 250, 100),
        long_key("tcp-binary-set-key32", Kind::Binary, 32, 0),
        long_key("tcp-binary-set-key64", Kind::Binary, 64, 0),
        long_key("tcp-binary-set-key128", Kind::Binary, 128, 0),
        long_key("tcp-binary-set-key250", Kind::Binary, 250, 0),
        long_key("tcp-redis-get-key32", Kind::Redis(1), 32, 100),
        long_key("tcp-redis-get-key64", Kind::Redis(1), 64, 100),
        long_key("tcp-redis-get-key128", Kind::Redis(1), 128, 100),
        long_key("tcp-redis-get-key250", Kind::Redis(1), 250, 100),
        long_key("tcp-redis-set-key32", Kind::Redis(1), 32, 0),
        long_key("tcp-redis-set-key64", Kind::Redis(1), 64, 0),
        long_key("tcp-redis-set-key128", Kind::Redis(1), 128, 0),
        long_key("tcp-redis-set-key250", Kind::Redis(1), 250, 0),
        make("tcp-mixed-hot", tcp, large(0, 50), rate(0.52)),
        Scenario {
            slow_reader: true,
            ..make(
                "tcp-mixed-slow-reader",
                tcp,
                large(keys, 50),
                vec![Goal::Like { other: "tcp-mixed", within: 0.05 }],
            )
        },
        beside("half-wire", flood::Kind::Elsewhere, vec![]),
        beside("half-wire-syns", flood::Kind::Syns, undisturbed()),
        beside("half-wire-linux-syns", flood::Kind::SynsOfLinux, undisturbed()),
        beside("half-wire-acks", flood::Kind::Acks, undisturbed()),
        beside("half-wire-data", flood::Kind::Data, undisturbed()),
        beside("half-wire-data-12", flood::Kind::DataOfTwelve, undisturbed()),
        beside("half-wire-fragments", flood::Kind::Fragments, undisturbed()),
        beside(
            "tcp-mixed-crumbs",
            flood::Kind::Crumbs,
            vec![Goal::Like { other: "tcp-mixed", within: 0.2 }],
        ),
        make(
            "tcp-get-8k",
            Network::Tcp { pipeline: 4 },
            Shape { value_len: 8192, ..large((1024 / connections).max(1), 100) },
            vec![],
        ),
        open("udp-get-load-10", 0.1, vec![]),
        open("udp-get-load-50", 0.5, vec![]),
        open("udp-get-load-90", 0.9, vec![Goal::Tail { other: "udp-get-load-10", times: 2.0 }]),
        open("udp-get-load-100", 1.0, vec![]),
        Scenario {
            clients: 1,
            think: 500,
            ..make(
                "udp-get-latency",
                Network::Udp { window: 1 },
                small(COLD, 100),
                vec![Goal::Latency(160)],
            )
        },
        Scenario {
            clients: 1,
            think: 500,
            ..make(
                "tcp-get-latency",
                Network::Tcp { pipeline: 1 },
                small(COLD, 100),
                vec![Goal::Latency(250)],
            )
        },
    ]
}

pub struct Outcome {
    pub figures: Figures,
    /// How much of the index was taken when it first had to evict, to a step below.
    pub full: Option<f64>,
    /// What was written into the store before.
    pub entries: Option<Entries>,
    pub resent: u64,
    pub total_clocks: u64,
}

/// Keys of one client, of which the card's caches hold less than a quarter.
const COLD: u32 = 65_536;
/// Entries of a large store's twin, all of which the caches hold: 4,096 times fewer than the default, so that
/// the index is as full.
pub const TWIN: u32 = 15_625;
/// So many times more operations than elsewhere are measured of a store that was written before: of a large
/// one a million is few.
const WRITTEN_OPS: u64 = 50;
/// A request that touches no item.
const NOTHING: &[u8] = b"mn\r\n";
/// What a server says of a key that it does not have.
pub const MISS: &[u8] = b"END\r\n";
const BIG: usize = (1 << 20) - 128; // with key and header just under the limit of 1 MiB

/// A client that asks for 100 large values and reads none of them.
fn add_slow_reader(load: &mut TcpLoad, rig: &mut Rig) -> Result<()> {
    let mut set = format!("set big 0 0 {BIG}\r\n").into_bytes();
    set.resize(set.len() + BIG, b'x');
    set.extend(b"\r\n");
    let writer = load.connect(rig, 1 << 16)?;
    load.request(rig, writer, &set, Expect::Exactly(b"STORED\r\n".to_vec()));
    load.finish(rig, writer).context("storing the large value")?;
    let reader = load.connect(rig, 1 << 16)?;
    load.stop_reading(reader);
    let gets = b"get big\r\n".repeat(100);
    load.request(rig, reader, &gets, Expect::Exactly(Vec::new()));
    Ok(())
}

/// One of each, then the next of each.
fn in_turn(lists: Vec<Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let row = |i| lists.iter().filter_map(move |list: &Vec<_>| list.get(i).cloned());
    (0..longest).flat_map(row).collect()
}

/// Stores keys, 1,024 at a time, until the index has evicted one. Figures are of the last 1,024.
fn fill(scenario: &Scenario, args: &Args) -> Result<Outcome> {
    const STEP: u32 = 1024;
    let mut rig = Rig::new(16 << 20, args)?;
    let ways = rig.ways();
    let mut keys = Keys::new(Shape { keys: ways, ..scenario.shape }, 1, true, args.seed);
    let mut load = Udp::new(scenario.clients, 4, 0);
    for stored in (0..ways).step_by(STEP as usize) {
        let mut next_keys = stored..stored + STEP;
        let mut next = |keys: &mut Keys, _| next_keys.next().map(|key| keys.set(key));
        // From the first reply to the last one.
        let mut meter = Meter::new(1, u64::from(STEP) - 1);
        load.run(&mut rig, &mut keys, Some(&mut meter), &mut next)?;
        let figures = meter.figures().context("the run ended before it was measured")?;
        let changed = |name| figures.counters.iter().any(|(n, _)| *n == name);
        ensure!(!changed("StoreLaps"), "the log is full before the index");
        if changed("StoreEvictions") {
            let full = Some(f64::from(stored) / f64::from(ways));
            let total_clocks = rig.clock();
            return Ok(Outcome { figures, full, entries: None, resent: 0, total_clocks });
        }
    }
    bail!("more keys stored than the index has ways, and none evicted")
}

pub fn run(scenario: &Scenario, args: &Args) -> Result<Outcome> {
    if let Network::Store { job } = scenario.network {
        #[cfg(feature = "store")]
        return store::run(scenario, job, args);
        #[cfg(not(feature = "store"))]
        bail!("built without the store's model, so {job} requests a job have nothing to run on");
    }
    if scenario.fill {
        return fill(scenario, args);
    }
    if let Some(entries) = scenario.entries {
        return written::run(scenario, entries, args);
    }
    let mut rig = Rig::new(64 << 20, args)?;
    rig.saif = args.saif.as_ref().map(|folder| folder.join(format!("{}.saif", scenario.name)));
    let mut keys = scenario.keys(args);
    let ops = scenario.ops(args);
    // What is under way when measuring begins must not be most of what is measured.
    let under_way = match scenario.network {
        Network::Tcp { pipeline } => u64::from(scenario.clients) * pipeline as u64 * keys.weight(),
        _ => 0,
    };
    let ops = ops.max(2 * under_way);
    let skip = under_way.max(ops / 4);

    // Every key is stored once, by the client whose it is.
    let each = keys.shape.keys.max(1);
    let old = each - scenario.shape.kind.new_keys();
    let mut stored = vec![0; scenario.clients as usize];
    let one = keys.shape.keys == 0;
    let mut preload = |keys: &mut Keys, client: u32| {
        let n = &mut stored[client as usize];
        let key = if one { 0 } else { client * each + *n };
        (*n < old && (!one || client == 0)).then(|| {
            *n += 1;
            keys.set(key)
        })
    };

    let mut meter = Meter::new(skip, ops);
    let mut asked = vec![0; scenario.clients as usize];
    let mut again = |keys: &mut Keys, client: u32| {
        if args.misses > 0 && keys.chance(args.misses) {
            return Some((b"get m\r\n".to_vec(), Expect::Exactly(MISS.to_vec())));
        }
        if !scenario.shape.kind.once() {
            return Some(keys.next(client));
        }
        let n = &mut asked[client as usize];
        *n += 1;
        (*n <= each).then(|| keys.other(client * each + *n - 1)).flatten()
    };
    let (before, next): (Next, Next) =
        if scenario.fresh { (&mut |_, _| None, &mut preload) } else { (&mut preload, &mut again) };
    let resent = match scenario.network {
        Network::Udp { window } => {
            let mut fill = Udp::new(scenario.clients, UDP_MOST, 0);
            fill.run(&mut rig, &mut keys, None, &mut *before).context("storing the keys")?;
            rig.stand_before(args)?;
            let mut load = Udp::new(scenario.clients, window, scenario.think);
            load.run(&mut rig, &mut keys, Some(&mut meter), &mut *next)?;
            if let Some(share) = scenario.open {
                load.run(&mut rig, &mut keys, None, &mut |_, _| None)?;
                let reached = meter.figures().context("the run ended before it was measured")?;
                meter = Meter::new(skip, ops);
                let rate = share * reached.rate();
                load.open_loop(&mut rig, &mut keys, &mut meter, rate, &mut *next)?;
            }
            0
        }
        Network::Tcp { pipeline } => {
            let mut load = TcpLoad::new(&mut rig, scenario.clients, scenario.shape.kind.port())?;
            load.pace((1024 / scenario.clients as usize).max(16), 0);
            load.run(&mut rig, &mut keys, None, &mut *before).context("storing the keys")?;
            if scenario.slow_reader {
                add_slow_reader(&mut load, &mut rig)?;
            }
            if let Some(kind) = scenario.flood {
                let said = (0..kind.connections()).map(|_| {
                    let one = load.connect(&mut rig, 1 << 16)?;
                    if kind == flood::Kind::Acks {
                        return Ok(vec![load.bare_ack(one, rig.clock())]);
                    }
                    let mut text = NOTHING.to_vec();
                    let (before, bytes) = flood::LINE;
                    if kind == flood::Kind::Crumbs {
                        text.extend(b"get ");
                        text.extend((0..before).map(flood::of_line));
                    }
                    load.request(&mut rig, one, &text, Expect::Exactly(b"MN\r\n".to_vec()));
                    load.finish(&mut rig, one)?;
                    let at = rig.clock();
                    Ok(match kind {
                        flood::Kind::Crumbs => {
                            let byte = |by| [flood::of_line(before + by)];
                            (0..bytes).map(|by| load.further(one, by, &byte(by), at)).collect()
                        }
                        _ => vec![load.again(one, NOTHING, at)],
                    })
                });
                let said = in_turn(said.collect::<Result<_>>()?);
                rig.flood(Flood::new(kind, rig.clock(), args.wire_rate(), said));
            }
            rig.stand_before(args)?;
            load.pace(pipeline, scenario.think);
            load.run(&mut rig, &mut keys, Some(&mut meter), &mut *next)?;
            if let Some(folder) = &args.saif {
                load.run(&mut rig, &mut keys, None, &mut |_, _| None)
                    .context("the last replies")?;
                rig.idle_toggles(&folder.join(format!("{}-idle.saif", scenario.name)))?;
            }
            load.resent()
        }
        Network::Store { .. } => unreachable!("has no network"),
    };
    let total_clocks = rig.clock();
    let (misses, figures) = meter.split().context("the run ended before it was measured")?;
    if let [first, .., last] = misses[..] {
        eprint!(
            "misses {first} to {last} clocks, half of them {} or less; ",
            misses[misses.len() / 2]
        );
    }
    Ok(Outcome { figures, full: None, entries: None, resent, total_clocks })
}
