//! Clients in a closed loop: each keeps a number of requests outstanding, over UDP or TCP. Over UDP also
//! in an open one: requests come when they come. Every reply is compared with what it must be.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use anyhow::{bail, ensure, Context, Result};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::frame::{self, Packet};
use crate::keys::{Expect, Keys};
use crate::meter::Meter;
use crate::rig::{Out, Rig};
use crate::scenarios::MISS;
use crate::tcp::Tcp;

/// Milliseconds in which nothing happens before a run is given up.
const PATIENCE: u32 = 2000;

/// A client's next request; None when it has no more.
pub type Next<'a> = &'a mut dyn FnMut(&mut Keys, u32) -> Option<(Vec<u8>, Expect)>;

fn address(client: u32) -> SocketAddrV4 {
    let ip = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 77, 1, 0)) + client % 250 + 1);
    SocketAddrV4::new(ip, 20_000 + client as u16)
}

fn client_of(address: SocketAddrV4) -> u32 {
    u32::from(address.port()) - 20_000
}

fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(100)]).escape_debug().to_string()
}

fn wrong(expect: &Expect, reply: &[u8]) -> anyhow::Error {
    match expect {
        Expect::Exactly(text) => {
            anyhow::anyhow!("wrong reply \"{}\", must be \"{}\"", show(reply), show(text))
        }
        Expect::AnyVersion => anyhow::anyhow!("wrong reply \"{}\"", show(reply)),
        Expect::AnyUnique(head, tail) => anyhow::anyhow!(
            "wrong reply \"{}\", must be \"{}...{}\"",
            show(reply),
            show(head),
            show(tail)
        ),
    }
}

// ------------------------------------------------------------------------------------ UDP

/// Nothing holds back a datagram on its way to a busy card, and the card drops what finds no room.
pub const UDP_MOST: u32 = 256;
/// In an open loop so many may be under way, most of them in front of the wire.
const OPEN_MOST: u32 = 1 << 14;
/// Its requests are queued for so many clocks, more than it takes to read the card's counters.
const OPEN_AHEAD: u64 = 4000;

struct UdpPending {
    client: u32,
    frame: u64,
    /// The clock from which on it could be sent.
    due: u64,
    expect: Expect,
}

pub struct Udp {
    clients: u32,
    window: u32, // of all clients together
    /// Random wait of a client before its next request, in clocks.
    think: u64,
    /// By request id.
    pending: Vec<Option<UdpPending>>,
    outstanding: u32,
    id: u16,
    rng: SmallRng,
}

impl Udp {
    /// Each client keeps up to `window` requests outstanding, all together at most `UDP_MOST`.
    pub fn new(clients: u32, window: u32, think: u64) -> Udp {
        Udp {
            clients,
            window: (clients * window).min(UDP_MOST),
            think,
            pending: (0..1 << 16).map(|_| None).collect(),
            outstanding: 0,
            id: 0,
            rng: SmallRng::seed_from_u64(7),
        }
    }

    fn issue(&mut self, rig: &mut Rig, client: u32, text: &[u8], expect: Expect, at: u64) {
        let at = at + if self.think == 0 { 0 } else { self.rng.random_range(0..self.think) };
        let mut payload = Vec::with_capacity(8 + text.len());
        payload.extend(self.id.to_be_bytes());
        payload.extend([0, 0, 0, 1, 0, 0]);
        payload.extend(text);
        let frame = rig.send(&frame::udp(address(client), &payload), at);
        self.pending[usize::from(self.id)] = Some(UdpPending { client, frame, due: at, expect });
        self.id = self.id.wrapping_add(1);
        self.outstanding += 1;
    }

    /// Runs until the meter is done, or until all replies are there to what `next` gave.
    pub fn run(
        &mut self,
        rig: &mut Rig,
        keys: &mut Keys,
        mut meter: Option<&mut Meter>,
        next: Next,
    ) -> Result<()> {
        let now = rig.clock();
        for n in 0..self.window {
            let client = n % self.clients;
            if let Some((text, expect)) = next(keys, client) {
                self.issue(rig, client, &text, expect, now);
            }
        }
        let mut outs = Vec::new();
        while self.outstanding > 0 && !meter.as_ref().is_some_and(|m| m.done()) {
            ensure!(
                rig.run(100_000, &mut outs)?,
                "{} requests got no answer: the card dropped them",
                self.outstanding
            );
            for Out { stamp, frame } in outs.drain(..) {
                let Some(pending) = self.take(keys, &frame)? else { continue };
                let latency = stamp.last - rig.entered(pending.frame);
                if let Some(meter) = meter.as_mut() {
                    meter.reply(rig, stamp.last, latency, keys.weight())?;
                }
                if let Some((text, expect)) = next(keys, pending.client) {
                    self.issue(rig, pending.client, &text, expect, stamp.last + 1);
                }
            }
        }
        Ok(())
    }

    /// Runs until the meter is done. Requests come at random, `rate` in a clock (a Poisson process),
    /// whatever is still under way; latencies count from that moment, before the wire was free for them.
    pub fn open_loop(
        &mut self,
        rig: &mut Rig,
        keys: &mut Keys,
        meter: &mut Meter,
        rate: f64,
        next: Next,
    ) -> Result<()> {
        let mut due = rig.clock() as f64;
        let mut outs = Vec::new();
        while !meter.done() {
            let until = (rig.clock() + OPEN_AHEAD) as f64;
            // The clock stands while nothing is under way.
            while due < until || self.outstanding == 0 {
                ensure!(self.outstanding < OPEN_MOST, "the card cannot follow");
                let client = self.rng.random_range(0..self.clients);
                let (text, expect) = next(keys, client).context("no request")?;
                self.issue(rig, client, &text, expect, due as u64);
                // The time to the next one; the number is in (0, 1].
                due -= (1.0 - self.rng.random::<f64>()).ln() / rate;
            }
            rig.run(OPEN_AHEAD / 2, &mut outs)?;
            for Out { stamp, frame } in outs.drain(..) {
                let Some(pending) = self.take(keys, &frame)? else { continue };
                meter.reply(rig, stamp.last, stamp.last - pending.due, keys.weight())?;
            }
        }
        Ok(())
    }

    /// What a frame answers, rightly; None: it is none of ours.
    fn take(&mut self, keys: &mut Keys, frame: &[u8]) -> Result<Option<UdpPending>> {
        let Some((to, Packet::Udp(payload))) = frame::parse(frame)? else { return Ok(None) };
        ensure!(payload.len() >= 8, "a datagram without a frame header");
        let id = u16::from_be_bytes([payload[0], payload[1]]);
        ensure!(payload[2..8] == [0, 0, 0, 1, 0, 0], "wrong frame header");
        let pending = self.pending[usize::from(id)].take().context("unknown request id")?;
        ensure!(client_of(to) == pending.client, "a reply to the wrong client");
        if !keys.right(&pending.expect, &payload[8..]) {
            return Err(wrong(&pending.expect, &payload[8..]));
        }
        self.outstanding -= 1;
        Ok(Some(pending))
    }
}

// ------------------------------------------------------------------------------------ TCP

/// Bytes under way, each in a segment of its own, of who sends them one by one.
const CRUMBS: usize = 128;

struct TcpPending {
    /// Sequence number behind the request.
    end: u32,
    /// The frame with its last byte, once sent.
    frame: Option<u64>,
    expect: Expect,
}

struct Client {
    tcp: Tcp,
    pending: VecDeque<TcpPending>,
    /// Whether it takes its replies.
    reads: bool,
    /// Requests that it keeps outstanding.
    pipeline: usize,
    /// Replies that it has taken.
    replies: u64,
}

pub struct TcpLoad {
    clients: Vec<Client>,
    /// Those that take part in `run`: the first ones.
    active: u32,
    think: u64,
    /// The card's.
    port: u16,
    rng: SmallRng,
}

impl TcpLoad {
    /// Opens connections of `active` clients to this port.
    pub fn new(rig: &mut Rig, active: u32, port: u16) -> Result<TcpLoad> {
        let rng = SmallRng::seed_from_u64(11);
        let mut load = TcpLoad { clients: Vec::new(), active, think: 0, port, rng };
        for _ in 0..active {
            load.connect(rig, 1 << 20)?;
        }
        Ok(load)
    }

    /// Requests that a client keeps outstanding, and its random wait before each.
    pub fn pace(&mut self, pipeline: usize, think: u64) {
        self.clients.iter_mut().for_each(|c| c.pipeline = pipeline);
        self.think = think;
    }

    /// From now on all send again after so many clocks what was not acknowledged.
    pub fn resend_after(&mut self, clocks: u64) {
        self.clients.iter_mut().for_each(|c| c.tcp.resend = clocks);
    }

    /// One more client that takes part in `run`, of another port of the card, with so many requests outstanding.
    /// `crumbs`: it sends a byte at a time.
    pub fn join(&mut self, rig: &mut Rig, port: u16, pipeline: usize, crumbs: bool) -> Result<()> {
        self.port = port;
        assert!(
            self.clients.len() == self.active as usize,
            "those that take part are the first ones"
        );
        let client = self.connect(rig, 1 << 20)? as usize;
        self.active += 1;
        self.clients[client].pipeline = pipeline;
        if crumbs {
            let tcp = &mut self.clients[client].tcp;
            (tcp.segment, tcp.flight) = (1, CRUMBS);
        }
        Ok(())
    }

    /// Replies that the first clients have taken, so many of them.
    pub fn replies(&self, clients: u32) -> u64 {
        self.clients[..clients as usize].iter().map(|c| c.replies).sum()
    }

    /// One more client; it has room for `capacity` unread bytes.
    pub fn connect(&mut self, rig: &mut Rig, capacity: usize) -> Result<u32> {
        let client = self.clients.len() as u32;
        // Some sequence numbers pass 2^32.
        let isn = client.wrapping_mul(0x1357_9BDF).wrapping_sub(3000);
        let tcp = Tcp::connect(address(client), self.port, isn, capacity, rig);
        self.clients.push(Client {
            tcp,
            pending: VecDeque::new(),
            reads: true,
            pipeline: 16,
            replies: 0,
        });
        let none: Next = &mut |_, _| None;
        let mut keys = Keys::none();
        while !self.clients[client as usize].tcp.open() {
            self.turn(rig, &mut keys, None, none).context("no connection")?;
        }
        Ok(client)
    }

    /// Hands a request to a client outside of `run`.
    pub fn request(&mut self, rig: &mut Rig, client: u32, text: &[u8], expect: Expect) {
        let at = rig.clock();
        let c = &mut self.clients[client as usize];
        let end = c.tcp.write(text);
        c.pending.push_back(TcpPending { end, frame: None, expect });
        c.flush(at, rig);
    }

    /// An ACK of this client that tells nothing new.
    pub fn bare_ack(&self, client: u32, at: u64) -> Vec<u8> {
        self.clients[client as usize].tcp.bare_ack(at)
    }

    /// This client's last bytes once more.
    pub fn again(&self, client: u32, bytes: &[u8], at: u64) -> Vec<u8> {
        self.clients[client as usize].tcp.again(bytes, at)
    }

    /// What this client could say next, of which so many bytes have gone out already.
    pub fn further(&self, client: u32, by: u32, bytes: &[u8], at: u64) -> Vec<u8> {
        self.clients[client as usize].tcp.further(by, bytes, at)
    }

    /// From now on the client takes nothing out of its receive buffer.
    pub fn stop_reading(&mut self, client: u32) {
        self.clients[client as usize].reads = false;
    }

    /// Waits for everything outstanding of one client.
    pub fn finish(&mut self, rig: &mut Rig, client: u32) -> Result<()> {
        let mut keys = Keys::none();
        while !self.clients[client as usize].pending.is_empty() {
            self.turn(rig, &mut keys, None, &mut |_, _| None)?;
        }
        Ok(())
    }

    pub fn resent(&self) -> u64 {
        self.clients.iter().map(|c| c.tcp.resent).sum()
    }

    /// Runs until the meter is done, or until all replies are there to what `next` gave.
    pub fn run(
        &mut self,
        rig: &mut Rig,
        keys: &mut Keys,
        mut meter: Option<&mut Meter>,
        next: Next,
    ) -> Result<()> {
        self.begin(rig, keys, next);
        let active = self.active as usize;
        while self.clients[..active].iter().any(|c| !c.pending.is_empty())
            && !meter.as_ref().is_some_and(|m| m.done())
        {
            self.turn(rig, keys, meter.as_deref_mut(), next)?;
        }
        Ok(())
    }

    /// Runs for so many clocks, or a few more.
    pub fn run_for(
        &mut self,
        rig: &mut Rig,
        keys: &mut Keys,
        clocks: u64,
        next: Next,
    ) -> Result<()> {
        let end = rig.clock() + clocks;
        self.begin(rig, keys, next);
        while rig.clock() < end {
            self.turn(rig, keys, None, next)?;
        }
        Ok(())
    }

    /// All have as many requests outstanding as they may.
    fn begin(&mut self, rig: &mut Rig, keys: &mut Keys, next: Next) {
        let at = rig.clock();
        for n in 0..self.active {
            let c = &mut self.clients[n as usize];
            while c.pending.len() < c.pipeline {
                let Some((text, expect)) = next(keys, n) else { break };
                let end = c.tcp.write(&text);
                c.pending.push_back(TcpPending { end, frame: None, expect });
            }
            c.flush(at, rig);
        }
    }

    /// Lets the card work until something comes out, and the clients react.
    fn turn(
        &mut self,
        rig: &mut Rig,
        keys: &mut Keys,
        mut meter: Option<&mut Meter>,
        next: Next,
    ) -> Result<()> {
        let mut outs = Vec::new();
        for _ in 0..PATIENCE {
            let due = self.clients.iter().map(|c| c.tcp.due()).min().unwrap_or(u64::MAX);
            let now = rig.clock();
            let moved = rig.run(due.saturating_sub(now).clamp(1, 100_000), &mut outs)?;
            let late = rig.clock().max(if moved { 0 } else { due });
            if due != u64::MAX && late >= due {
                for c in &mut self.clients {
                    if c.tcp.due() <= late {
                        c.flush(late, rig);
                    }
                }
            } else if !moved {
                rig.tick();
                continue;
            }
            for Out { stamp, frame } in outs.drain(..) {
                let Some((to, Packet::Tcp(segment))) = frame::parse(&frame)? else { continue };
                let n = client_of(to);
                let c = self.clients.get_mut(n as usize).context("a segment to nobody")?;
                c.tcp.receive(&segment, stamp.last)?;
                c.take(rig, keys, meter.as_deref_mut(), stamp.last)?;
                let mut at = stamp.last + 1;
                if n < self.active {
                    while c.pending.len() < c.pipeline {
                        let Some((text, expect)) = next(keys, n) else { break };
                        let end = c.tcp.write(&text);
                        c.pending.push_back(TcpPending { end, frame: None, expect });
                        if self.think != 0 {
                            at += self.rng.random_range(0..self.think);
                        }
                    }
                }
                c.flush(at, rig);
            }
            return Ok(());
        }
        let waiting = self.clients.iter().filter(|c| !c.pending.is_empty()).count();
        bail!("nothing moves any more; {waiting} connections wait for replies")
    }
}

impl Client {
    /// Takes the replies that are complete.
    fn take(
        &mut self,
        rig: &mut Rig,
        keys: &mut Keys,
        mut meter: Option<&mut Meter>,
        now: u64,
    ) -> Result<()> {
        let mut taken = 0;
        while let Some(pending) = self.pending.front().filter(|_| self.reads) {
            let len = pending.expect.len(keys, &self.tcp.rx[taken..]);
            let Some(reply) = self.tcp.rx.get(taken..taken + len) else { break };
            if !keys.right(&pending.expect, reply) {
                return Err(wrong(&pending.expect, reply).context(self.tcp.me.to_string()));
            }
            taken += reply.len();
            let frame = pending.frame.context("a reply to a request that was not sent")?;
            let latency = now - rig.entered(frame);
            if let Some(meter) = meter.as_mut() {
                match &pending.expect {
                    Expect::Exactly(text) if text == MISS => meter.miss(latency),
                    _ => meter.reply(rig, now, latency, keys.weight())?,
                }
            }
            self.pending.pop_front();
            self.replies += 1;
        }
        self.tcp.rx.drain(..taken);
        if self.pending.is_empty() && self.reads {
            ensure!(self.tcp.rx.is_empty(), "unasked: \"{}\"", show(&self.tcp.rx));
        }
        Ok(())
    }

    fn flush(&mut self, at: u64, rig: &mut Rig) {
        let pending = &mut self.pending;
        self.tcp.send(at, rig, |end, id| {
            for p in pending.iter_mut().filter(|p| p.frame.is_none()) {
                if (end.wrapping_sub(p.end) as i32) < 0 {
                    break;
                }
                p.frame = Some(id);
            }
        });
    }
}
