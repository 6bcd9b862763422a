//! The card with its wire: sends frames, runs the clock, hands over what comes out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{ensure, Result};
use wirekv_card::csr::{self, Totals, COUNTERS};
use wirekv_card::{init, Layout, Port, Seeds, Settings};
use wirekv_sim::{Config, Sim, Stamp};

use crate::flood::{self, Flood};
use crate::frame;
use crate::image::{Image, Start};
use crate::scenarios::MISS;
use crate::wired::Wired;
use crate::Args;

pub const CLOCK_MHZ: f64 = 250.0;
/// So long at most may the card work without a frame coming out (a client sends again long before).
const SILENCE: u64 = 3_000_000;
/// A timer tick each millisecond.
const TICK: u64 = (CLOCK_MHZ * 1000.0) as u64;
/// A flood's frames are queued for so many clocks: a client's that come later are behind them.
const AHEAD: u64 = 50;

pub struct Rig {
    pub sim: Box<dyn Wired>,
    counters: Totals,
    next_tick: u64,
    last_out: u64,
    flood: Option<Flood>,
    turns: Option<Turns>,
    /// What host software answers to all that it is asked for, and after so many clocks; None: it does not answer.
    answer: Option<(&'static [u8], u64)>,
    /// Answers that it will give, and when.
    answers: VecDeque<(u64, Vec<u8>)>,
    /// Bytes that the wire carries in a clock.
    wire_rate: f64,
    pub layout: Layout,
    /// Clients offer timestamps.
    pub timestamps: bool,
    /// Frames that were given to `send`, and those of them that are handed over but not in the card, with their bytes.
    sent: u64,
    queued: VecDeque<(u64, u64)>,
    /// When each sent frame's first beat went in; 0: not yet.
    entered: Vec<u64>,
    /// Bytes on the wire so far, everything between frames included.
    pub wire_in: u64,
    pub wire_out: u64,
    /// Where toggles go while the run is measured.
    pub saif: Option<PathBuf>,
}

/// The bytes that its client had when it began; id, clock, frame.
type Waiting = (u64, u64, u64, Vec<u8>);

/// Frames that wait for a wire which gives each client as many bytes as any other that wants some (start-time fair
/// queueing), so that who sends little is not behind all that others have.
#[derive(Default)]
struct Turns {
    frames: BinaryHeap<Reverse<Waiting>>,
    /// The bytes that each client has had with its last frame, by its port.
    had: HashMap<u16, u64>,
    /// Those at which the last frame that went out began.
    now: u64,
}

impl Turns {
    fn push(&mut self, id: u64, frame: &[u8], at: u64) {
        let had = self.had.entry(frame::source_port(frame)).or_default();
        let start = self.now.max(*had);
        *had = start + frame::wire_bytes(frame);
        self.frames.push(Reverse((start, id, at, frame.to_vec())));
    }

    fn pop(&mut self) -> Option<(u64, u64, Vec<u8>)> {
        let Reverse((start, id, at, frame)) = self.frames.pop()?;
        self.now = start;
        Some((id, at, frame))
    }
}

/// A frame from the card.
pub struct Out {
    pub stamp: Stamp,
    pub frame: Vec<u8>,
}

impl Rig {
    /// A card with so many bytes for index and log. Its memory holds anything at the start, unless it is so large that to make
    /// the index zero takes longer than a scenario.
    pub fn new(item_bytes: u64, args: &Args) -> Result<Rig> {
        Rig::with(item_bytes, item_bytes <= 64 << 20, args)
    }

    /// One whose memory is zero at the start, for stores that are written there.
    pub fn blank(item_bytes: u64, args: &Args) -> Result<Rig> {
        Rig::with(item_bytes, false, args)
    }

    fn with(item_bytes: u64, garbage: bool, args: &Args) -> Result<Rig> {
        let Args { mem_latency, mem_jitter, mem_ways, mem_ecc, seed, connections, .. } = *args;
        let conns = connections.next_power_of_two().max(1024);
        let layout = Layout::new(item_bytes, conns).expect("a valid size");
        let config = Config {
            memory_bytes: layout.total,
            garbage,
            mem_latency,
            mem_jitter,
            mem_ways,
            mem_ecc,
            seed,
            wire_rate: args.wire_rate(),
            wire_waits: false,
            trace: None,
        };
        let mut sim = card(&config, args)?;
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
            upstream: false,
            time_wait_ms: 1000,
            keep_alive_seconds: 300,
            idle_seconds: 0,
            time: Duration::from_secs(1_700_000_000),
            layout,
            zero_index: garbage,
        };
        init(sim.as_mut(), &settings, &Seeds::repeatable(seed))?;
        Ok(Rig {
            next_tick: sim.clock() + TICK,
            last_out: sim.clock(),
            flood: None,
            turns: None,
            answer: None,
            answers: VecDeque::new(),
            wire_rate: args.wire_rate(),
            layout,
            timestamps: args.timestamps,
            sim,
            counters: Totals::default(),
            sent: 0,
            queued: VecDeque::new(),
            entered: Vec::new(),
            wire_in: 0,
            wire_out: 0,
            saif: None,
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
        let id = self.sent;
        self.sent += 1;
        match &mut self.turns {
            Some(turns) => turns.push(id, frame, at),
            None => self.hand_over(id, frame, at),
        }
        id
    }

    fn hand_over(&mut self, id: u64, frame: &[u8], at: u64) {
        self.queued.push_back((id, frame::wire_bytes(frame)));
        self.sim.send_at(frame, at);
    }

    /// From now on clients share the wire to the card evenly.
    pub fn share_wire(&mut self) {
        self.turns = Some(Turns::default());
    }

    /// From now on a command that gates do not run has this answer, of up to 512 bytes, in the clock after it came: so
    /// host software is as fast as can be.
    pub fn answer(&mut self, answer: &'static [u8]) {
        self.answer = Some((answer, 0));
    }

    /// From now on the card stands before another server, if that is asked for, which has nothing else than the card.
    pub fn stand_before(&mut self, args: &Args) -> Result<()> {
        let Some(clocks) = args.upstream else { return Ok(()) };
        self.answer = Some((MISS, clocks));
        Ok(self.sim.write_csr(csr::UPSTREAM, 1)?)
    }

    /// `stands`: the clock does, so what waits comes now. A packet of the punt queue, see `host/cardhost/src/exceptions.rs`: the tag, the length, that it is all.
    fn answer_exceptions(&mut self, stands: bool) {
        let Some((answer, clocks)) = self.answer else { return };
        let (now, answers) = (self.sim.clock(), &mut self.answers);
        self.sim.outputs(Port::Exception, &mut |stamp, request| {
            let mut packet = [&request[..4], &(answer.len() as u16).to_le_bytes(), &[1]].concat();
            packet.resize(64, 0);
            packet.extend(answer);
            answers.push_back((stamp.last + clocks, packet));
        });
        while self.answers.front().is_some_and(|(due, _)| *due <= now || stands) {
            let Some((_, packet)) = self.answers.pop_front() else { break };
            self.sim.send(Port::Exception, &packet);
        }
    }

    /// Clocks until host software gives its next answer.
    fn until_answer(&self) -> u64 {
        self.answers.front().map_or(u64::MAX, |(due, _)| due.saturating_sub(self.clock()).max(1))
    }

    /// Hands over what the wire can take soon. The clocks that may run until it has to be asked again.
    fn queue_turns(&mut self) -> u64 {
        let Some(mut turns) = self.turns.take() else { return u64::MAX };
        let most = (AHEAD as f64 * self.wire_rate) as u64;
        let mut bytes: u64 = self.queued.iter().map(|(_, bytes)| bytes).sum();
        while bytes < most {
            let Some((id, at, frame)) = turns.pop() else { break };
            bytes += frame::wire_bytes(&frame);
            self.hand_over(id, &frame, at);
        }
        let waits = !turns.frames.is_empty();
        self.turns = Some(turns);
        if waits {
            AHEAD / 2
        } else {
            u64::MAX
        }
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
        let clocks = clocks.min(self.queue_flood()).min(self.queue_turns());
        let clocks = clocks.min(self.next_tick.saturating_sub(self.clock()).max(1));
        let clocks = clocks.min(self.until_answer());
        let ran = self.sim.run(clocks);
        self.sim.check()?;
        if self.clock() >= self.next_tick {
            self.next_tick += TICK;
            self.sim.tick();
        }
        self.answer_exceptions(ran == 0);
        let (entered, queued) = (&mut self.entered, &mut self.queued);
        entered.resize(self.sent as usize, 0);
        self.sim.inputs(&mut |stamp| {
            let (id, _) = queued.pop_front().expect("frames enter in the order they were sent");
            entered[id as usize] = stamp.first;
        });
        let before = out.len();
        self.sim.outputs(Port::Wire, &mut |stamp, f| out.push(Out { stamp, frame: f.to_vec() }));
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

    /// Begins to count toggles, or writes them, if that is asked for.
    pub fn count_toggles(&mut self, on: bool) -> Result<()> {
        match &self.saif {
            Some(file) => Ok(self.sim.toggles(on.then_some(file))?),
            None => Ok(()),
        }
    }

    /// Writes the toggles of a millisecond in which no frame comes, with one timer tick, of a card that has become idle.
    pub fn idle_toggles(&mut self, file: &Path) -> Result<()> {
        while self.sim.run(TICK) == TICK {}
        let lines = self.sim.memory_lines();
        self.sim.toggles(Some(file))?;
        self.sim.tick();
        self.sim.run(TICK);
        self.sim.toggles(None)?;
        ensure!(lines == self.sim.memory_lines(), "the idle card uses its memory");
        Ok(())
    }

    /// All counters of the card.
    pub fn counters(&mut self) -> Result<Vec<u64>> {
        self.counters.update(self.sim.as_mut())?;
        Ok(self.counters.iter().map(|(_, n)| n).collect())
    }
}

/// A card with its wire.
fn card(config: &Config, args: &Args) -> Result<Box<dyn Wired>> {
    #[cfg(feature = "rings")]
    if let Some(latency) = args.rings {
        return Ok(Box::new(crate::rings::Rings::new(config, latency)?));
    }
    let _ = args;
    let mut sim = Sim::new(config)?;
    sim.log_inputs(true);
    Ok(Box::new(sim))
}

/// Counters by name, as far as they changed.
pub fn changes(before: &[u64], after: &[u64]) -> Vec<(&'static str, u64)> {
    let pairs = COUNTERS.iter().zip(before.iter().zip(after));
    pairs.filter(|(_, (b, a))| a > b).map(|(c, (b, a))| (c.name, a - b)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use super::*;

    #[test]
    fn who_sends_little_is_not_behind_all_that_others_have() {
        let frame = |port, bytes| {
            frame::udp(SocketAddrV4::new(Ipv4Addr::new(10, 77, 1, 1), port), &vec![0; bytes])
        };
        let mut turns = Turns::default();
        (0..10).for_each(|id| turns.push(id, &frame(1, 1400), 0));
        turns.push(10, &frame(2, 100), 0);
        let mut ids = |count| -> Vec<u64> {
            (0..count).map(|_| turns.pop().expect("more frames").0).collect()
        };
        assert_eq!(ids(4), [0, 10, 1, 2]);
        // As much as the other one has meanwhile: ten frames for one.
        (11..31).for_each(|id| turns.push(id, &frame(2, 100), 0));
        let ids: Vec<u64> = (0..27).map(|_| turns.pop().expect("more frames").0).collect();
        let of_first = |n: usize| ids[..n].iter().filter(|id| **id < 10).count();
        assert!(of_first(11) == 1 && of_first(22) == 2, "{ids:?}");
        assert!(turns.pop().is_none());
    }
}
