//! The card's thread: moves frames between link and card, tells the card the time, answers its
//! exception queue, and sleeps when there is nothing to do.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use wirekv_card::{csr, set_time, Card, Port};
use wirekv_net::{CardEnd, Frames, Refuser, Wire, WireCounts};

use crate::exceptions::{self, Answers, Context, Request, Tag};
use crate::port::RequestPort;
use crate::redis::{Answer, Redis};
use crate::stats::Stats;

/// Clocks between two looks at the link. Frames wait no longer than these take: under a
/// millisecond at the simulator's speed.
const CLOCKS: u64 = 128;
/// How long an idle card with timers is left alone; the ticks it missed follow.
const NAP: Duration = Duration::from_millis(10);
/// A card that cannot follow is not told of more time than this.
const MAX_OWED_TICKS: u64 = 100;

pub struct Runner {
    pub card: Box<dyn Card>,
    pub link: CardEnd,
    pub wire: Wire,
    pub stats: Stats,
    pub answers: Answers,
    pub redis: Redis,
    pub refuser: Refuser,
    pub verbose: u8,
}

/// What was done, for people to read when the server ends.
pub struct Summary {
    pub stats: Stats,
    pub wire: WireCounts,
    pub damage: Option<String>,
    pub host_frames: u64,
    pub clocks: u64,
    /// Time in which the card was running.
    pub busy: Duration,
    pub total: Duration,
}

impl Runner {
    /// Runs until the link is stopped.
    pub fn run(mut self) -> Result<Summary> {
        let start = Instant::now();
        let first_clock = self.card.clock();
        let mut busy = Duration::ZERO;
        let mut host_frames = 0;
        let (mut to_card, mut from_card) = (Frames::default(), Frames::default());
        let mut ticks = 0;
        let unix_start = unix_time();
        let mut second = None;
        loop {
            self.link.exchange(&mut from_card, &mut to_card, self.card.backlog(Port::Wire))?;
            for frame in to_card.iter() {
                self.wire.to_card(frame, &mut |f| self.card.send(Port::Wire, f))?;
            }
            to_card.clear();
            if self.link.stopped() {
                break;
            }
            if self.card.idle() {
                let card = &mut self.card;
                self.wire.quiet(&mut |f| card.send(Port::Wire, f), &mut |f| from_card.push(f))?;
            }
            let due = start.elapsed().as_millis() as u64;
            if self.card.idle() && from_card.is_empty() {
                // This program has something to do by itself.
                let patience = self.redis.patience(NAP);
                let works = patience != Duration::MAX;
                if !self.card.timers() {
                    self.link.wait(patience);
                    // Without a timer running nobody counted these ticks.
                    ticks = start.elapsed().as_millis() as u64;
                    second = None;
                } else if ticks >= due {
                    self.link.wait(NAP);
                }
                if !works && (!self.card.timers() || ticks >= due) {
                    continue;
                }
            }
            if ticks + MAX_OWED_TICKS < due {
                ticks = due - MAX_OWED_TICKS;
                second = None;
            }
            if ticks < due {
                self.card.tick();
                ticks += 1;
            }
            let began = Instant::now();
            self.tell_time(unix_start + start.elapsed(), &mut second)?;
            self.card.advance(CLOCKS);
            busy += began.elapsed();

            self.answer_exceptions()?;
            self.answer_waiting();
            let (wire, mut result) = (&mut self.wire, Ok(()));
            self.card.receive(Port::Wire, &mut |frame| {
                if result.is_ok() {
                    result = wire.from_card(frame, &mut |f| from_card.push(f));
                }
            });
            result?;
            host_frames += self.answer_host_port();
        }
        self.stats.totals.update(self.card.as_mut())?;
        self.wire.flush()?;
        Ok(Summary {
            stats: self.stats,
            wire: self.wire.counts,
            damage: self.wire.damage().map(|d| format!("{d:?}")),
            host_frames,
            clocks: self.card.clock() - first_clock,
            busy,
            total: start.elapsed(),
        })
    }

    /// Once a second, and when it has missed ticks, the card learns the time, which the wall clock does not
    /// move after the start; and its counters are read before they wrap.
    fn tell_time(&mut self, now: Duration, second: &mut Option<u64>) -> Result<()> {
        if *second != Some(now.as_secs()) {
            *second = Some(now.as_secs());
            set_time(self.card.as_mut(), now)?;
            self.stats.totals.update(self.card.as_mut())?;
            self.redis.items.walks.rest(self.card.as_mut(), Instant::now())?;
            self.redis.forget(Instant::now());
        }
        Ok(())
    }

    /// Returns how many frames there were.
    fn answer_host_port(&mut self) -> u64 {
        let mut frames = Frames::default();
        self.card.receive(Port::Host, &mut |frame| frames.push(frame));
        let now = Instant::now();
        let mut count = 0;
        for frame in frames.iter() {
            count += 1;
            if self.verbose > 1 {
                let head = frame.first_chunk::<14>();
                eprintln!("host port: {} bytes: {head:02x?}", frame.len());
            }
            if let Some(answer) = self.refuser.answer(frame, now) {
                self.card.send(Port::Host, &answer);
            }
        }
        self.stats.refused = self.refuser.counts;
        count
    }

    fn answer_exceptions(&mut self) -> Result<()> {
        let mut packets = Frames::default();
        self.card.receive(Port::Exception, &mut |packet| packets.push(packet));
        for packet in packets.iter() {
            match RequestPort::is_mine(packet) {
                true => self.redis.items.port.take(packet),
                false => self.answer(packet)?,
            }
        }
        // What has come while the request port was waited for.
        while let Some(packet) = self.redis.items.port.others.pop_front() {
            self.answer(&packet)?;
        }
        Ok(())
    }

    fn answer(&mut self, packet: &[u8]) -> Result<()> {
        let Some(request) = Request::parse(packet) else {
            eprintln!("wirekv: {} bytes from the exception queue are no request", packet.len());
            return Ok(());
        };
        if self.verbose > 1 {
            eprintln!("exception queue: {}", String::from_utf8_lossy(request.text));
        }
        if request.text.starts_with(b"stats") && !request.resp {
            self.stats.totals.update(self.card.as_mut())?;
            self.stats.open = self.card.read_csr(csr::OPEN_CONNS)?;
        }
        if !request.resp {
            let asks = !request.text.is_empty();
            let answer = asks.then(|| (exceptions::reply(request.text, &mut self.stats), false));
            let packet = self.answers.packet(request.tag, Context::default(), answer);
            self.card.send(Port::Exception, &packet);
        } else if self.redis.concerns(&request) {
            if let Some(answer) = self.redis.take(&request, self.card.as_mut()) {
                self.send(request.tag, Some(answer));
            }
        } else {
            self.send(request.tag, None);
        }
        Ok(())
    }

    /// Sends an answer, or the next piece of the last one.
    fn send(&mut self, tag: Tag, answer: Option<Answer>) {
        let answer = answer.map(|answer| (answer.text, answer.closes));
        let packet = self.answers.packet(tag, self.redis.context(tag), answer);
        self.card.send(Port::Exception, &packet);
    }

    /// Commands that had to wait go on.
    fn answer_waiting(&mut self) {
        for tag in self.redis.waiting() {
            if let Some(answer) = self.redis.retry(tag, self.card.as_mut()) {
                self.send(tag, Some(answer));
            }
        }
    }
}

pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
