//! The card's thread: lets the card work, tells it the time, answers its punt queue, and sleeps when there is
//! nothing to do.

use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use wirekv_card::csr::Totals;
use wirekv_card::{set_time, Card, Port};
use wirekv_log::{debug, warn, Text};
use wirekv_memcache::binary;
use wirekv_metrics::{Asked, Process, Reply};
use wirekv_net::{Addresses, Frames, WireCounts};
use wirekv_proto::Engine;
use wirekv_resp::Common;
use wirekv_upstream::{Sockets, Upstream};

use crate::datagrams::Datagrams;
use crate::dump::Dump;
use crate::exceptions::{Answers, Context, Part, Request, Tag, MAX_PIECE};
use crate::items::Items;
use crate::memcached;
use crate::mover::{Mover, NAP};
use crate::options::Options;
use crate::port::{Lost, RequestPort};
use crate::redis::{Answer, Redis};
use crate::stats::Stats;
use crate::trace;
use crate::upstream::Front;

/// Clocks between two looks at the link. Frames wait no longer than these take: under a
/// millisecond at the simulator's speed; and who waits for this program for each piece of a long command.
const CLOCKS: u64 = 32;
/// Clocks after which the card's counters are read, before they wrap: each counts one a clock at most.
const COUNTED: u64 = 1 << 24;

/// In place of the rest of a dump.
const LOST: &[u8] = b"SERVER_ERROR the card does not answer\r\n";

/// Serves a card: lets it work, tells it the time, answers what it asks.
pub struct Runner {
    mover: Mover,
    stats: Stats,
    answers: Answers,
    redis: Redis,
    memcached: Engine,
    /// Of a card before another server.
    front: Option<Front>,
    metrics: Option<Metrics>,
    /// The clock when the card's counters were read last.
    counted: u64,
}

/// Where Prometheus asks for figures.
struct Metrics {
    asked: mpsc::Receiver<(Asked, Reply)>,
    process: Process,
}

/// What was done, for people to read when the server ends.
pub struct Summary {
    /// The card's counters.
    pub totals: Totals,
    /// Frames that went over the link.
    pub wire: WireCounts,
    /// What became of them on the way, if they were treated badly.
    pub damage: Option<String>,
    /// Frames that the card has left to the host.
    pub host_frames: u64,
    /// Clocks that the card has run.
    pub clocks: u64,
    /// Time in which it did.
    pub busy: Duration,
    /// Time since [`Mover::new`].
    pub total: Duration,
}

impl Runner {
    /// For a card that was made ready with what `options` says. `common` is what Redis' clients share: the password,
    /// protected mode, pauses.
    ///
    /// # Errors
    ///
    /// There is no memory for the items that Redis' commands work with (128 MiB, of which what was never used is not
    /// resident).
    pub fn new(mover: Mover, options: Options, common: Arc<Common>) -> Result<Runner> {
        let redis = Redis::new(&options, common)?;
        Ok(Runner {
            mover,
            answers: Answers::default(),
            memcached: redis.memcached(),
            redis,
            front: None,
            metrics: None,
            stats: Stats::new(options),
            counted: 0,
        })
    }

    /// The same for a card whose items are copies of another server's (its register `UPSTREAM` is 1).
    /// `ours` are the card's addresses.
    pub fn before(self, upstream: Upstream<Sockets>, ours: Addresses) -> Runner {
        Runner { front: Some(Front::new(upstream, ours)), ..self }
    }

    /// The same for a server that tells its figures, and its trace, to who sends a [`Reply`] and then
    /// [nudges](wirekv_net::CardEnd::nudge) it.
    pub fn with_metrics(self, asked: mpsc::Receiver<(Asked, Reply)>) -> Runner {
        Runner { metrics: Some(Metrics { asked, process: Process::default() }), ..self }
    }

    /// Runs until the link is stopped.
    ///
    /// # Errors
    ///
    /// The card does not answer at a register, the network's thread is gone, or a capture cannot be written.
    pub fn run(mut self) -> Result<Summary> {
        let first_clock = self.mover.clock();
        let mut second = None;
        while !self.mover.stopped() {
            let patience = match &self.front {
                Some(front) => front.patience(),
                None => self.redis.patience(NAP),
            };
            let is_free = self.redis.items.port.others.is_empty() && !self.redis.goes_on();
            if is_free && !patience.is_zero() {
                self.mover.rest(patience);
            }
            self.tell_time(self.mover.now(), &mut second)?;
            self.mover.advance(CLOCKS);
            self.mover.check()?;
            self.answer_exceptions()?;
            self.answer_metrics()?;
            if let Some(front) = &mut self.front {
                front.turn(&mut self.mover, &mut self.redis.items.port);
                self.mover.check()?;
            }
        }
        self.stats.totals.update(&mut self.mover)?;
        self.mover.wire.flush()?;
        Ok(Summary {
            totals: self.stats.totals,
            wire: self.mover.wire.counts,
            damage: self.mover.wire.damage().map(|d| format!("{d:?}")),
            host_frames: self.mover.host_frames,
            clocks: self.mover.clock() - first_clock,
            busy: self.mover.busy,
            total: self.mover.elapsed(),
        })
    }

    /// Once a second, and when it has missed ticks, the card learns the time, which the wall clock does not
    /// move after the start. Once a second it is seen whether its counters have to be read.
    fn tell_time(&mut self, now: Duration, second: &mut Option<u64>) -> Result<()> {
        let is_next = *second != Some(now.as_secs());
        if is_next || self.mover.is_late {
            self.mover.is_late = false;
            set_time(&mut self.mover, now)?;
        }
        if is_next {
            *second = Some(now.as_secs());
            if self.mover.clock() - self.counted > COUNTED {
                self.counted = self.mover.clock();
                self.stats.totals.update(&mut self.mover)?;
            }
            wirekv_log::tick();
            self.redis.items.walks.rest(&mut self.mover, Instant::now())?;
            self.redis.forget(Instant::now(), &mut self.mover);
            if let Some(front) = &mut self.front {
                front.forget(&mut self.mover);
            }
        }
        Ok(())
    }

    /// All who have asked for them get the same figures.
    fn answer_metrics(&mut self) -> Result<()> {
        let Some(Metrics { asked, process }) = &self.metrics else { return Ok(()) };
        let mut replies = Vec::new();
        for (asked, reply) in asked.try_iter() {
            match asked {
                Asked::Figures => replies.push(reply),
                // Keys stay in the card.
                Asked::Keys => {}
                Asked::Mark(port) => {
                    trace::mark(&mut self.mover, port)?;
                    reply.send(String::new());
                }
                Asked::Trace => reply.send(trace::records(&mut self.mover)?),
            }
        }
        if !replies.is_empty() {
            self.stats.look(&mut self.mover, self.redis.items.walks.exchanges)?;
            let text = self.stats.metrics(process, self.mover.busy).finish();
            replies.into_iter().for_each(|reply| reply.send(text.clone()));
        }
        Ok(())
    }

    fn answer_exceptions(&mut self) -> Result<()> {
        let mut packets = Frames::default();
        self.mover.receive(Port::Exception, &mut |packet| packets.push(packet));
        let (port, now) = (&mut self.redis.items.port, self.mover.clock());
        for packet in packets.iter() {
            match RequestPort::is_mine(packet) {
                true => port.take(packet),
                false => port.others.push_back((now, packet.to_vec())),
            }
        }
        // What comes while one of these waits for the request port has its turn next time.
        for _ in 0..self.redis.items.port.others.len() {
            if let Some((came, packet)) = self.redis.items.port.others.pop_front() {
                self.answer(came, &packet)?;
            }
        }
        self.answer_waiting()?;
        self.mover.check()
    }

    fn answer(&mut self, came: u64, packet: &[u8]) -> Result<()> {
        if let Some(front) = self.front.as_mut().filter(|_| Datagrams::is_one(packet)) {
            front.datagram(packet, &self.mover);
            return Ok(());
        }
        let Some(request) = Request::parse(packet) else {
            warn!("{} bytes from the punt queue are no request", packet.len());
            return Ok(());
        };
        let request = Request { came, ..request };
        debug!("punt queue: {}", Text(request.text));
        if self.front.is_some() {
            return self.answer_before(&request);
        }
        let binary = request.text.first() == Some(&binary::REQUEST);
        if (binary || request.text.starts_with(b"stats")) && !request.resp {
            self.count()?;
        }
        if !request.resp {
            let packet = self.answer_memcached(&request);
            self.mover.send(Port::Exception, &packet);
        } else if self.redis.concerns(&request) {
            if let Some(answer) = self.redis.take(&request, &mut self.mover) {
                self.send(request.tag, Some(answer))?;
            }
        } else {
            self.send(request.tag, None)?;
        }
        Ok(())
    }

    /// What is said to a client of memcached's protocols.
    fn answer_memcached(&mut self, request: &Request<'_>) -> Vec<u8> {
        let (tag, none) = (request.tag, Context::default());
        let answer = match Dump::asked(request.text) {
            Some(Ok(dump)) if !request.udp => {
                let part = self.dumped(dump);
                return self.answers.begin(tag, none, part);
            }
            Some(Err(text)) => Some(text.to_vec()),
            None if request.text.is_empty() => {
                if let Some(dump) = self.answers.dump(tag) {
                    let part = self.dumped(dump);
                    self.answers.go_on(tag, part);
                }
                None
            }
            _ => Some(memcached::reply(request.text, &mut self.memcached, &mut self.stats)),
        };
        self.answers.packet(tag, none, answer.map(|text| (text, false)))
    }

    /// The next lines of a dump, and what is left of it.
    fn dumped(&mut self, mut dump: Dump) -> Part {
        let Items { walks, port, .. } = &mut self.redis.items;
        match dump.step(&mut self.mover, walks, port, &self.memcached.settings, MAX_PIECE) {
            Ok((text, more)) => (text, more.then_some(dump)),
            Err(Lost) => (LOST.to_vec(), None),
        }
    }

    /// The same, before another server.
    fn answer_before(&mut self, request: &Request<'_>) -> Result<()> {
        let asks = self.front.as_ref().is_some_and(|front| front.is_asked(request));
        if asks {
            self.count()?;
        }
        let Some(front) = &mut self.front else { return Ok(()) };
        let told = asks && {
            let text = memcached::reply(request.text, &mut self.memcached, &mut self.stats);
            front.tell(request, &text)
        };
        if !told {
            front.take(request, &mut self.mover);
        }
        Ok(())
    }

    /// Learns what `stats` tells.
    fn count(&mut self) -> Result<()> {
        self.stats.look(&mut self.mover, self.redis.items.walks.exchanges)?;
        self.stats.lost = self.front.as_ref().map_or(0, Front::lost);
        Ok(())
    }

    /// Sends an answer, or the next piece of the last one.
    fn send(&mut self, tag: Tag, answer: Option<Answer>) -> Result<()> {
        self.redis.rule(&mut self.mover)?;
        let answer = answer.map(|answer| (answer.text, answer.closes));
        let packet = self.answers.packet(tag, self.redis.context(tag), answer);
        self.mover.send(Port::Exception, &packet);
        Ok(())
    }

    /// Commands that had to wait go on.
    fn answer_waiting(&mut self) -> Result<()> {
        // A pause may be over.
        self.redis.rule(&mut self.mover)?;
        for tag in self.redis.waiting() {
            if let Some(answer) = self.redis.retry(tag, &mut self.mover) {
                self.send(tag, Some(answer))?;
            }
        }
        Ok(())
    }
}

/// Since the UNIX epoch, as the wall clock has it.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What is over of the present millisecond.
pub fn sub_millis(time: Duration) -> Duration {
    Duration::from_nanos((time.subsec_nanos() % 1_000_000).into())
}
