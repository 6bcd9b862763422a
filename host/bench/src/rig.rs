//! The card with its wire: sends frames, runs the clock, hands over what comes out.

use std::net::Ipv6Addr;
use std::time::Duration;

use anyhow::{ensure, Result};
use wirekv_card::csr::{Totals, COUNTERS};
use wirekv_card::{init, Card, Layout, Port, Seeds, Settings};
use wirekv_sim::{Config, Sim, Stamp};

use crate::flood::{self, Flood};
use crate::frame;
use crate::image::{Image, Start};
use crate::Args;

pub const CLOCK_MHZ: f64 = 250.0;
/// So long at most may the card work without a frame coming out (a client sends again long before).
const SILENCE: u64 = 3_000_000;
/// A timer tick each millisecond.
const TICK: u64 = (CLOCK_MHZ * 1000.0) as u64;
/// A flood's frames are queued for so many clocks: a client's that come later are behind them.
const AHEAD: u64 = 50;

pub struct Rig {
    pub sim: Sim,
    counters: Totals,
    next_tick: u64,
    last_out: u64,
    flood: Option<Flood>,
    pub layout: Layout,
    /// Clients offer timestamps.
    pub timestamps: bool,
    /// When each sent frame's first beat went in; frames still queued are at the end.
    entered: Vec<u64>,
    /// Bytes on the wire so far, everything between frames included.
    pub wire_in: u64,
    pub wire_out: u64,
}

/// A frame from the card.
pub struct Out {
    pub stamp: Stamp,
    pub frame: Vec<u8>,
}

impl Rig {
    /// A card with so many bytes for index and log.
    pub fn new(item_bytes: u64, args: &Args) -> Result<Rig> {
        let Args { mem_latency, mem_jitter, seed, .. } = *args;
        let conns = 1024;
        let layout = Layout::new(item_bytes, conns).expect("a valid size");
        let mut sim = Sim::new(&Config {
            memory_bytes: layout.total,
            mem_latency,
            mem_jitter,
            seed,
            wire_rate: args.wire_rate(),
            trace: None,
        })?;
        let settings = Settings {
            mac: frame::CARD_MAC,
            ip: frame::CARD_IP,
            ip6: Ipv6Addr::UNSPECIFIED,
            tcp_port: frame::PORT,
            redis_port: frame::REDIS_PORT,
            udp_port: frame::PORT,
            mtu: 1500,
            vlan: 0,
            item_max: 1 << 20,
            max_conns: conns,
            guard: false,
            time_wait_ms: 1000,
            keep_alive_seconds: 300,
            idle_seconds: 0,
            time: Duration::from_secs(1_700_000_000),
            layout,
        };
        init(&mut sim, &settings, &Seeds::repeatable(seed))?;
        sim.log_inputs(true);
        Ok(Rig {
            next_tick: sim.clock() + TICK,
            last_out: sim.clock(),
            flood: None,
            layout,
            timestamps: args.timestamps,
            sim,
            counters: Totals::default(),
            entered: Vec::new(),
            wire_in: 0,
            wire_out: 0,
        })
    }

    /// Entries that the index has room for.
    pub fn ways(&self) -> u32 {
        8 << self.layout.index_bits
    }

    /// An empty store, to be written before the first request.
    pub fn image(&mut self, args: &Args, start: Start) -> Image<'_> {
        let seeds = Seeds::repeatable(args.seed);
        let memory = self.sim.memory(0, self.layout.rx_ring_base);
        Image::new(memory.expect("the card has so much memory"), &self.layout, &seeds, start)
    }

    pub fn clock(&self) -> u64 {
        self.sim.clock()
    }

    /// Queues a frame; it starts when the wire is free, not before clock `at`. Returns its id.
    pub fn send(&mut self, frame: &[u8], at: u64) -> u64 {
        self.wire_in += frame::wire_bytes(frame);
        self.sim.send_at(Port::Wire, frame, at)
    }

    /// From now on a part of the wire to the card is taken.
    pub fn flood(&mut self, flood: Flood) {
        self.flood = Some(flood);
    }

    /// Queues what is due of the flood. The clocks that may run until it has to be asked again.
    fn queue_flood(&mut self) -> u64 {
        let until = self.clock() + AHEAD;
        while let Some((frame, at)) = self.flood.as_mut().and_then(|flood| flood.due(until)) {
            self.send(&frame, at);
        }
        self.flood.as_ref().map_or(u64::MAX, |_| AHEAD)
    }

    /// The clock in which a frame's first beat went in.
    pub fn entered(&self, id: u64) -> u64 {
        self.entered[id as usize]
    }

    /// Runs until a frame comes out, for `clocks` at most; false when nothing moves any more.
    pub fn run(&mut self, clocks: u64, out: &mut Vec<Out>) -> Result<bool> {
        let clocks = clocks.min(self.queue_flood());
        let clocks = clocks.min(self.next_tick.saturating_sub(self.clock()).max(1));
        let ran = self.sim.run(clocks, true);
        if self.clock() >= self.next_tick {
            self.next_tick += TICK;
            self.sim.tick();
        }
        let entered = &mut self.entered;
        self.sim.inputs(|id, stamp| {
            assert_eq!(id as usize, entered.len(), "frames enter in the order they were sent");
            entered.push(stamp.first);
        });
        let before = out.len();
        self.sim.outputs(Port::Wire, |stamp, f| out.push(Out { stamp, frame: f.to_vec() }));
        self.wire_out += out[before..].iter().map(|o| frame::wire_bytes(&o.frame)).sum::<u64>();
        let moved = ran > 0 || out.len() > before;
        if self.flood.is_some() {
            out.retain(|o| !flood::is_answer(&o.frame));
        }
        if out.len() > before {
            self.last_out = self.clock();
        }
        ensure!(self.clock() - self.last_out < SILENCE, "the card is busy but answers nothing");
        Ok(moved)
    }

    /// Nothing moves, but a timer may be running in the card: lets a millisecond pass.
    pub fn tick(&mut self) {
        self.sim.tick();
    }

    /// All counters of the card.
    pub fn counters(&mut self) -> Result<Vec<u64>> {
        self.counters.update(&mut self.sim)?;
        Ok(self.counters.iter().map(|(_, n)| n).collect())
    }
}

/// Counters by name, as far as they changed.
pub fn changes(before: &[u64], after: &[u64]) -> Vec<(&'static str, u64)> {
    let pairs = COUNTERS.iter().zip(before.iter().zip(after));
    pairs.filter(|(_, (b, a))| a > b).map(|(c, (b, a))| (c.name, a - b)).collect()
}
