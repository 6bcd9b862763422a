//! Moves frames between link and card, and tells the card of time that passes, whenever the card is let work. For this
//! program it is a card, too: while a command waits for the request port, everybody else is served.

use std::time::{Duration, Instant};

use anyhow::Result;
use wirekv_card::{csr, Card, CardError, Port};
use wirekv_log::debug;
use wirekv_net::{CardEnd, Frames, Refuser, Wire};

use crate::runner::{sub_millis, unix_time};

/// How long an idle card with short timers is left alone; the ticks it missed follow.
pub const NAP: Duration = Duration::from_millis(10);
/// Clocks between ticks that are told late.
const BETWEEN: u64 = 4;
/// A card that cannot follow is not told of more time than this.
const MAX_OWED_TICKS: u64 = 100;
const SECOND: u64 = csr::SLEPT_MAX as u64;

/// A card with all that goes in and out of it. What needs a card while others are to be served takes this for one.
pub struct Mover {
    card: Box<dyn Card>,
    link: CardEnd,
    pub(crate) wire: Wire,
    pub(crate) refuser: Refuser,
    start: Instant,
    /// The time then.
    unix: Duration,
    ticks: u64,
    /// Those that the card was told of. Its seconds end when they are a multiple of `SECOND`.
    told: u64,
    from_card: Frames,
    to_card: Frames,
    /// Ticks were left out: the card must be told what time it is.
    pub(crate) is_late: bool,
    /// Frames that came out of the card's host port.
    pub(crate) host_frames: u64,
    /// Time in which the card was running.
    pub(crate) busy: Duration,
    /// What went wrong while a command waited.
    failed: Option<anyhow::Error>,
}

impl Mover {
    /// Of a card whose frames come and go over `link`, by way of `wire`. `refuser` answers those that it leaves to the
    /// host. Its time begins now.
    pub fn new(card: Box<dyn Card>, link: CardEnd, wire: Wire, refuser: Refuser) -> Mover {
        Mover {
            card,
            link,
            wire,
            refuser,
            start: Instant::now(),
            unix: unix_time(),
            ticks: 0,
            told: 0,
            from_card: Frames::default(),
            to_card: Frames::default(),
            is_late: false,
            host_frames: 0,
            busy: Duration::ZERO,
            failed: None,
        }
    }

    /// The time since the UNIX epoch, which after the start no jump of the wall clock moves.
    pub fn now(&self) -> Duration {
        self.unix + self.elapsed()
    }

    /// Milliseconds that have begun since the start: of the time, as the card is told that, too.
    fn due(&self) -> u64 {
        (sub_millis(self.unix) + self.elapsed()).as_millis() as u64
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The link was stopped.
    pub fn stopped(&self) -> bool {
        self.link.stopped()
    }

    /// Sleeps if there is nothing to do, for as long as this program has the patience; if timers run until a second
    /// ends, and for `NAP` at most if these are short.
    pub fn rest(&mut self, patience: Duration) {
        if !self.card.idle() || !self.from_card.is_empty() {
            return;
        }
        let due = self.due();
        if !self.card.short_timers() && patience > NAP {
            let timers = self.card.timers();
            let end = self.ticks + SECOND - self.told % SECOND;
            self.link.wait(match timers {
                true => patience.min(Duration::from_millis(end.saturating_sub(due))),
                false => patience,
            });
            self.slept(timers);
        } else if self.ticks >= due {
            self.link.wait(NAP);
            // Before what ended the nap comes, it is the time that it is.
            self.tick_on();
        }
    }

    /// Tells the card of the milliseconds that have begun, all at once; without a timer running nobody counts them.
    fn slept(&mut self, timers: bool) {
        let slept = self.due() - self.ticks;
        if slept == 0 {
            return;
        }
        self.ticks += slept;
        self.is_late = true;
        if timers {
            let most = slept.min(SECOND);
            self.told += most;
            if let Err(error) = self.card.write_csr(csr::SLEPT, most as u32) {
                self.failed.get_or_insert(error.into());
            }
        }
    }

    /// Tells the card of the milliseconds that have begun.
    fn tick_on(&mut self) {
        let due = self.due();
        if self.ticks + MAX_OWED_TICKS < due {
            self.ticks = due - MAX_OWED_TICKS;
            self.is_late = true;
        }
        while self.ticks < due {
            self.card.tick();
            self.card.advance(BETWEEN);
            self.ticks += 1;
            self.told += 1;
        }
    }

    /// Exchanges frames with the network.
    fn exchange(&mut self) -> Result<()> {
        let Mover { card, link, wire, from_card, to_card, .. } = self;
        link.exchange(from_card, to_card, card.backlog(Port::Wire))?;
        for frame in to_card.iter() {
            wire.to_card(frame, &mut |f| card.send(Port::Wire, f))?;
        }
        to_card.clear();
        if card.idle() {
            wire.quiet(&mut |f| card.send(Port::Wire, f), &mut |f| from_card.push(f))?;
        }
        Ok(())
    }

    /// Lets the card work, and takes the frames that come of it.
    fn work(&mut self, clocks: u64) -> Result<()> {
        let began = Instant::now();
        self.tick_on();
        self.card.advance(clocks);
        self.card.check()?;
        self.busy += began.elapsed();

        let (wire, from_card, mut result) = (&mut self.wire, &mut self.from_card, Ok(()));
        self.card.receive(Port::Wire, &mut |frame| {
            if result.is_ok() {
                result = wire.from_card(frame, &mut |f| from_card.push(f));
            }
        });
        result?;
        self.answer_host_port();
        Ok(())
    }

    fn answer_host_port(&mut self) {
        let mut frames = Frames::default();
        self.card.receive(Port::Host, &mut |frame| frames.push(frame));
        let now = Instant::now();
        for frame in frames.iter() {
            self.host_frames += 1;
            if let Some(head) = frame.first_chunk::<14>() {
                debug!("host port: {} bytes: {head:02x?}", frame.len());
            }
            if let Some(answer) = self.refuser.answer(frame, now) {
                self.card.send(Port::Host, &answer);
            }
        }
    }

    /// What went wrong, if anything did.
    pub fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Card for Mover {
    fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
        self.card.read_csr(addr)
    }

    fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError> {
        self.card.write_csr(addr, value)
    }

    fn send(&mut self, port: Port, frame: &[u8]) {
        self.card.send(port, frame);
    }

    fn backlog(&self, port: Port) -> usize {
        self.card.backlog(port)
    }

    fn advance(&mut self, clocks: u64) {
        let moved = self.exchange().and_then(|()| self.work(clocks));
        if let Err(error) = moved {
            self.failed.get_or_insert(error);
        }
    }

    fn receive(&mut self, port: Port, take: &mut dyn FnMut(&[u8])) {
        self.card.receive(port, take);
    }

    fn tick(&mut self) {
        self.card.tick();
    }

    /// Nothing more comes of it, either, when all is to end.
    fn idle(&self) -> bool {
        self.card.idle() || self.failed.is_some() || self.stopped()
    }

    fn timers(&self) -> bool {
        self.card.timers()
    }

    fn short_timers(&self) -> bool {
        self.card.short_timers()
    }

    fn clock(&self) -> u64 {
        self.card.clock()
    }
}
