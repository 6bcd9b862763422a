//! The store alone: requests and items at one a clock where it takes them, whatever it gives is taken
//! at once. Requests are executed in the order in which they go in, so every reply is known.

use std::collections::VecDeque;

use anyhow::{bail, ensure, Context, Result};
use wirekv_card::csr::COUNTERS;
use wirekv_card::{Layout, Seeds};

use crate::image::{self, Entries, Image, Start};
use crate::keys::Keys;
use crate::meter::Figures;
use crate::rig::changes;
use crate::scenarios::{Outcome, Scenario};
use crate::Args;

/// store/shim.cpp, where each is described.
mod ffi {
    #[repr(C)]
    pub struct Raw {
        _private: [u8; 0],
    }

    #[repr(C)]
    pub struct Config {
        pub memory_bytes: u64,
        pub log_base: u64,
        pub seed: u64,
        pub mix_key: [u64; 2],
        pub nh_key: [u32; 32],
        pub mem_latency: u32,
        pub mem_jitter: u32,
        pub mem_ways: u32,
        pub mem_ecc: u32,
        pub index_bits: u32,
        pub log_lines: u32,
    }

    #[repr(C)]
    pub struct In {
        pub off: u64,
        pub conn: u32,
        pub rx_ptr: u32,
        pub key: [u8; 256],
        pub putk: [u8; 256],
        pub putb: [u8; 64],
        pub klen: u32,
        pub vlen: u32,
        pub req_valid: u8,
        pub set: u8,
        pub first: u8,
        pub last: u8,
        pub put_valid: u8,
        pub putk_valid: u8,
        pub putb_valid: u8,
        pub putb_len: u8,
        pub putb_last: u8,
    }

    #[repr(C)]
    pub struct Out {
        pub put_off: u64,
        pub num: u64,
        pub conn: u32,
        pub rx_ptr: u32,
        pub vlen: u32,
        pub rkey: [u8; 64],
        pub chunk: [u8; 64],
        pub req_ready: u8,
        pub put_ready: u8,
        pub put_off_valid: u8,
        pub putk_ready: u8,
        pub putb_ready: u8,
        pub res_valid: u8,
        pub stored: u8,
        pub value: u8,
        pub res_last: u8,
        pub rkey_valid: u8,
        pub chunk_valid: u8,
        pub start: u8,
        pub len: u8,
        pub last: u8,
        pub bad: u8,
    }

    extern "C" {
        pub fn ws_new(config: *const Config) -> *mut Raw;
        pub fn ws_free(store: *mut Raw);
        pub fn ws_memory(store: *mut Raw, addr: u64, bytes: u64) -> *mut u8;
        pub fn ws_clock(store: *mut Raw, input: *const In, out: *mut Out);
        pub fn ws_counts(store: *const Raw, counts: *mut u32, count: u32);
    }
}

struct Sim {
    raw: *mut ffi::Raw,
    layout: Layout,
    clock: u64,
}

impl Sim {
    fn new(layout: Layout, args: &Args) -> Sim {
        let seeds = Seeds::repeatable(args.seed);
        let config = ffi::Config {
            memory_bytes: layout.total,
            log_base: layout.log_base / 64,
            seed: args.seed,
            mix_key: seeds.hash_mix,
            nh_key: seeds.hash_nh,
            mem_latency: args.mem_latency,
            mem_jitter: args.mem_jitter,
            mem_ways: args.mem_ways,
            mem_ecc: args.mem_ecc.into(),
            index_bits: layout.index_bits,
            log_lines: layout.log_lines,
        };
        // SAFETY: the configuration is copied during the call.
        Sim { raw: unsafe { ffi::ws_new(&config) }, layout, clock: 0 }
    }

    /// An empty store, to be written before the first clock.
    fn image(&mut self, args: &Args) -> Image<'_> {
        let bytes = self.layout.total;
        // SAFETY: the C++ side checks the range; the clock cannot run while self is borrowed.
        let memory = unsafe {
            let start = ffi::ws_memory(self.raw, 0, bytes);
            assert!(!start.is_null(), "the store has so much memory");
            std::slice::from_raw_parts_mut(start, bytes as usize)
        };
        Image::new(memory, &self.layout, &Seeds::repeatable(args.seed), Start::Valid)
    }

    fn clock(&mut self, input: &ffi::In, out: &mut ffi::Out) {
        self.clock += 1;
        // SAFETY: raw is valid while self lives, the others during the call.
        unsafe { ffi::ws_clock(self.raw, input, out) }
    }

    /// All counters of the card; those that are not the store's are 0.
    fn counters(&self) -> Vec<u64> {
        let of_store = |name: &str| name.starts_with("Store");
        let mut counts = vec![0; COUNTERS.iter().filter(|c| of_store(c.name)).count()];
        // SAFETY: `counts` has room for as many as are asked for.
        unsafe { ffi::ws_counts(self.raw, counts.as_mut_ptr(), counts.len() as u32) };
        let mut counts = counts.into_iter().map(u64::from);
        let value = |name| if of_store(name) { counts.next().unwrap() } else { 0 };
        COUNTERS.iter().map(|c| c.name).map(value).collect()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { ffi::ws_free(self.raw) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Request {
    set: bool,
    /// Number in its job, and whether it is the last one.
    number: u32,
    last: bool,
    conn: u32,
    key: u32,
    version: u32,
    /// GET: the item's place; SET: none until the log has given one.
    place: Option<u64>,
    entered: u64,
}

struct Rig<'a> {
    sim: Sim,
    keys: &'a mut Keys,
    /// Requests a job.
    job: u32,
    number: u32,
    conn: u32,
    /// Generated, not taken yet; the place of each key's last item.
    requests: VecDeque<Request>,
    places: Vec<u64>,
    /// What was written into the store before; then `places` is empty.
    entries: Option<&'a Entries>,
    /// Items that go in, and those whose place is awaited; keys and beats of values that go in.
    puts: VecDeque<(u32, u32)>,
    placed: VecDeque<(u32, u32)>,
    item_keys: VecDeque<u32>,
    beats: VecDeque<(Vec<u8>, bool)>,
    /// What results, and values, are awaited of.
    awaited: VecDeque<Request>,
    values: VecDeque<Request>,
    reply_keys: VecDeque<u8>,
    bytes: Vec<u8>,
    silence: u32,
}

/// So many requests are generated ahead, so that their items have a place when their turn comes.
const AHEAD: usize = 32;
/// Clocks without a reply.
const PATIENCE: u32 = 100_000;

impl Rig<'_> {
    /// Of a key's last item.
    fn place(&self, key: u32) -> u64 {
        self.entries.map_or_else(|| self.places[key as usize], |entries| entries.place(key))
    }

    fn generate(&mut self, next: &mut dyn FnMut(&mut Keys) -> Option<(u32, bool)>) {
        while self.requests.len() < AHEAD {
            let Some((key, get)) = next(self.keys) else { break };
            if !get {
                let version = self.keys.renew(key);
                self.puts.push_back((key, version));
                self.item_keys.push_back(key);
                let value = self.keys.value(key, version);
                let count = beats(&value).count();
                self.beats.extend(beats(&value).enumerate().map(|(n, b)| (b, n + 1 == count)));
            }
            let version = self.keys.version(key);
            let (number, conn) = (self.number, self.conn);
            let last = number + 1 == self.job;
            self.requests.push_back(Request {
                set: !get,
                number,
                last,
                conn,
                key,
                version,
                place: None,
                entered: 0,
            });
            self.number = if last { 0 } else { number + 1 };
            self.conn = (conn + u32::from(last)) % 64;
        }
    }

    /// One clock. Returns the latency of each operation that ended in it.
    fn clock(&mut self) -> Result<Vec<u64>> {
        // SAFETY: all fields are numbers.
        let (mut input, mut out) = unsafe { std::mem::zeroed::<(ffi::In, ffi::Out)>() };
        input.klen = self.keys.shape.key_len as u32;
        input.vlen = self.keys.shape.value_len as u32;
        let ready = |r: &&Request| !r.set || r.place.is_some();
        if let Some(r) = self.requests.front().filter(ready) {
            input.req_valid = 1;
            input.set = r.set.into();
            input.first = (r.number == 0).into();
            input.last = r.last.into();
            input.conn = r.conn;
            input.rx_ptr = r.number + 1;
            input.off = r.place.unwrap_or(0);
            let key = self.keys.key(r.key).into_bytes();
            input.key[..key.len()].copy_from_slice(&key);
        }
        input.put_valid = (!self.puts.is_empty()).into();
        if let Some(key) = self.item_keys.front() {
            input.putk_valid = 1;
            let key = self.keys.key(*key).into_bytes();
            input.putk[..key.len()].copy_from_slice(&key);
        }
        if let Some((beat, last)) = self.beats.front() {
            input.putb_valid = 1;
            input.putb[..beat.len()].copy_from_slice(beat);
            input.putb_len = beat.len() as u8;
            input.putb_last = (*last).into();
        }
        self.sim.clock(&input, &mut out);

        if input.req_valid != 0 && out.req_ready != 0 {
            let mut r = self.requests.pop_front().unwrap();
            r.entered = self.sim.clock;
            match r.place {
                Some(place) => self.places[r.key as usize] = place,
                None => r.place = Some(self.place(r.key)),
            }
            self.awaited.push_back(r);
        }
        if input.put_valid != 0 && out.put_ready != 0 {
            self.placed.extend(self.puts.pop_front());
        }
        if out.put_off_valid != 0 {
            let (key, version) = self.placed.pop_front().context("a place for nobody")?;
            ensure!(out.put_off >> 28 != 0, "an item was refused");
            let of = |r: &&mut Request| r.set && (r.key, r.version) == (key, version);
            self.requests.iter_mut().find(of).context("a place for nobody")?.place =
                Some(out.put_off);
        }
        if input.putk_valid != 0 && out.putk_ready != 0 {
            self.item_keys.pop_front();
        }
        if input.putb_valid != 0 && out.putb_ready != 0 {
            self.beats.pop_front();
        }
        self.silence += 1;
        ensure!(
            self.silence < PATIENCE || self.awaited.is_empty() && self.requests.is_empty(),
            "no reply any more; {} awaited",
            self.awaited.len() + self.values.len()
        );
        let mut ended = Vec::new();
        if out.res_valid != 0 {
            self.silence = 0;
            let r = self.awaited.pop_front().context("a result of nothing")?;
            let right = if r.set {
                out.stored != 0
            } else {
                // The upper bits of the place's lap are 0: so short a run does not wrap so often.
                out.value != 0 && out.vlen == input.vlen && Some(out.num) == r.place
            };
            let last = (out.res_last != 0) == r.last && (!r.last || out.rx_ptr == r.number + 1);
            ensure!(right && last && out.conn == r.conn, "a wrong result of {r:?}");
            if r.set {
                ended.push(self.sim.clock - r.entered);
            } else {
                self.values.push_back(r);
            }
        }
        if out.rkey_valid != 0 {
            self.reply_keys.extend(out.rkey);
        }
        if out.chunk_valid != 0 {
            self.silence = 0;
            // A piece of two lines: lane 0 follows lane 63.
            let start = out.start as usize;
            self.bytes.extend((start..start + out.len as usize).map(|n| out.chunk[n % 64]));
            ensure!(out.bad == 0, "bytes that memory refused");
            if out.last != 0 {
                let r = self.values.pop_front().context("a value that nobody asked for")?;
                let expected = self.keys.value(r.key, r.version);
                let key = self.keys.key(r.key).into_bytes();
                let lines = key.len().next_multiple_of(64);
                ensure!(self.reply_keys.len() >= lines, "a value without its key");
                let told: Vec<u8> = self.reply_keys.drain(..lines).collect();
                ensure!(told.starts_with(&key), "a wrong key: {r:?}, {told:?}");
                if self.bytes != expected {
                    bail!("a wrong value: {r:?}, {:?}, not {expected:?}", self.bytes);
                }
                self.bytes.clear();
                ended.push(self.sim.clock - r.entered);
            }
        }
        Ok(ended)
    }

    fn busy(&self) -> bool {
        !self.requests.is_empty() || !self.awaited.is_empty() || !self.values.is_empty()
    }
}

fn beats(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let count = bytes.len().div_ceil(64).max(1);
    (0..count).map(|n| bytes[64 * n..bytes.len().min(64 * n + 64)].to_vec())
}

pub fn run(scenario: &Scenario, job: u32, args: &Args) -> Result<Outcome> {
    let bytes = scenario.entries.map_or(Ok(64 << 20), |n| image::item_bytes(n, &scenario.shape))?;
    let mut sim = Sim::new(Layout::new(bytes, 0).expect("a valid size"), args);
    let mut keys = scenario.keys(args);
    let entries = match scenario.entries {
        Some(count) => Some(sim.image(args).fill(&mut keys, count)?),
        None => None,
    };
    let all = keys.count();
    let count = if entries.is_some() || scenario.fresh { 0 } else { all };
    let mut rig = Rig {
        sim,
        keys: &mut keys,
        entries: entries.as_ref(),
        job,
        number: 0,
        conn: 0,
        requests: VecDeque::new(),
        places: vec![0; if entries.is_some() { 0 } else { all as usize }],
        puts: VecDeque::new(),
        placed: VecDeque::new(),
        item_keys: VecDeque::new(),
        beats: VecDeque::new(),
        awaited: VecDeque::new(),
        values: VecDeque::new(),
        reply_keys: VecDeque::new(),
        bytes: Vec::new(),
        silence: 0,
    };
    let mut stored = 0;
    loop {
        rig.generate(&mut |_| {
            stored += 1;
            (stored <= count).then(|| (stored - 1, false))
        });
        if stored > count {
            break;
        }
        rig.clock().context("storing the keys")?;
    }
    while rig.busy() {
        rig.clock().context("storing the keys")?;
    }

    let ops = scenario.ops(args);
    let (skip, mut seen) = (ops / 4, 0);
    let mut start = None;
    let mut latencies = Vec::new();
    let mut new_keys = 0..all;
    loop {
        rig.generate(&mut |keys| match &entries {
            Some(entries) => Some((entries.pick(keys), true)),
            None if scenario.fresh => new_keys.next().map(|key| (key, false)),
            None => Some(keys.pick()),
        });
        for latency in rig.clock()? {
            seen += 1;
            if seen > skip {
                latencies.push(latency);
            }
        }
        if start.is_none() && seen >= skip {
            latencies.clear();
            start = Some((seen, rig.sim.clock, rig.sim.counters()));
        }
        if seen >= skip + ops {
            break;
        }
    }
    let (first, clock, before) = start.context("the run ended before it was measured")?;
    latencies.sort_unstable();
    let figures = Figures {
        ops: seen - first,
        clocks: rig.sim.clock - clock,
        wire_in: 0,
        wire_out: 0,
        latencies,
        memory: None,
        counters: changes(&before, &rig.sim.counters()),
    };
    let total_clocks = rig.sim.clock;
    Ok(Outcome { figures, full: None, entries, resent: 0, total_clocks })
}
