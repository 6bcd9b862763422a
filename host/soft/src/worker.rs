//! One thread: its connections and its event loop.

mod group;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use group::Slot;
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;
use wirekv_memcache::udp::Errors;
use wirekv_proto::Out;
use wirekv_resp::Engine;

use crate::conn::{Conn, Reason};
use crate::datagrams::Port;
use crate::io::{Io, GROUP};
use crate::shared::Shared;
use crate::stats::Answers;
use crate::timing::Timing;

/// Values that wait for room look for it again after so long.
const ROOM_AGAIN: Duration = Duration::from_millis(1);
/// So often are those who watch sent their lines, and sooner when many wait.
const LINES_AGAIN: Duration = Duration::from_millis(10);
/// A time without work counts as so many times `Options::busy_poll` at most.
const LONG_GAP: u32 = 8;
/// At the end of the server, what was received is served within so long; and how often is looked whether it is.
const LAST: Duration = Duration::from_secs(5);
const LAST_LOOK: Duration = Duration::from_millis(5);
/// So long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
const WAKE: Token = Token(usize::MAX);
/// UDP sockets have the tokens from here on.
const UDP: usize = usize::MAX / 2;

/// How other threads reach a worker.
pub struct Inbox {
    pub waker: Waker,
    pub conns: Mutex<Vec<Conn>>,
}

pub struct Worker {
    number: usize,
    poll: Poll,
    inbox: Arc<Inbox>,
    shared: Arc<Shared>,
    engine: Engine,
    io: Io,
    conns: Slab<Conn>,
    udp: Vec<Port>,
    udp_errors: Errors,
    /// Connections with something to do.
    ready: Vec<usize>,
    /// Connections that had their turn, and are within a request that takes several.
    later: VecDeque<usize>,
    /// Connections that wait for room for what they send.
    waiting: Vec<usize>,
    /// Connections that watch, and when is next looked for lines for them.
    watching: Vec<usize>,
    looks: Instant,
    /// Connections that sleep, in the order in which they began to, and when the first of them goes on.
    sleeping: Vec<usize>,
    wakes: Option<Instant>,
    /// Bytes of copied values that wait for clients.
    copied: usize,
    /// Replies that began to wait.
    waits: u64,
    /// Kills that it has seen.
    kills: u64,
    /// How long it was without work, the mean of the last times.
    gap: Duration,
    /// With `--metrics`.
    timing: Option<Timing>,
    slots: Vec<Slot>,
}

impl Worker {
    pub fn new(
        number: usize,
        engine: Engine,
        shared: Arc<Shared>,
        udp: Vec<UdpSocket>,
    ) -> Result<Worker> {
        let poll = Poll::new().context("no epoll instance")?;
        let waker = Waker::new(poll.registry(), WAKE).context("no event descriptor")?;
        let inbox = Arc::new(Inbox { waker, conns: Mutex::default() });
        let mut udp: Vec<_> = udp.into_iter().map(Port::new).collect();
        for (i, port) in udp.iter_mut().enumerate() {
            poll.registry().register(&mut port.socket, Token(UDP + i), Interest::READABLE)?;
        }
        let options = &shared.options;
        let own = [&options.tcp, &options.redis, &options.udp];
        let own = own.into_iter().flatten().map(|address| address.port()).collect();
        let size = engine.settings.buffer();
        let slots = (0..GROUP).map(|_| Slot::new(size, shared.options.batch)).collect();
        let gap = LONG_GAP * shared.options.busy_poll;
        let timing = shared.options.metrics.map(|_| Timing::new());
        Ok(Worker {
            number,
            poll,
            inbox,
            shared,
            engine,
            io: Io::default(),
            conns: Slab::new(),
            udp,
            udp_errors: Errors::new(own, Instant::now()),
            ready: Vec::new(),
            later: VecDeque::new(),
            waiting: Vec::new(),
            watching: Vec::new(),
            looks: Instant::now(),
            sleeping: Vec::new(),
            wakes: None,
            copied: 0,
            waits: 0,
            kills: 0,
            gap,
            timing,
            slots,
        })
    }

    pub fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Serves until the server stops; drops `up` when it begins.
    pub fn run(mut self, up: Sender<()>) -> Result<()> {
        // The kernel wants one thread to make and to use it.
        self.io = Io::new();
        drop(up);
        let mut events = Events::with_capacity(1024);
        let mut second = self.engine.local.store().now();
        let mut until = None;
        loop {
            self.shared.exchange(self.number, &mut self.engine.counters);
            if !self.watching.is_empty() {
                self.find_lines();
            }
            let worked_off = self.ready.is_empty() && self.later.is_empty();
            let idle = worked_off && !self.udp.iter().any(|port| port.ready);
            let wait = match idle {
                false => Some(Duration::ZERO),
                true if !self.waiting.is_empty() => Some(ROOM_AGAIN),
                true => self.wakes.map(|at| at.saturating_duration_since(Instant::now())),
            };
            let wait = match self.watching.is_empty() {
                true => wait,
                false => Some(wait.map_or(LINES_AGAIN, |wait| wait.min(LINES_AGAIN))),
            };
            let wait = match until {
                Some(_) => Some(wait.map_or(LAST_LOOK, |wait| wait.min(LAST_LOOK))),
                None => wait,
            };
            self.engine.local.offline();
            if !self.later.is_empty() {
                // Another thread may have something short to do on this processor.
                std::thread::yield_now();
            }
            let begin = idle.then(Instant::now);
            match self.next_events(&mut events, wait, begin) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                result => result.context("cannot wait for events")?,
            }
            if let Some(begin) = begin {
                let longest = LONG_GAP * self.shared.options.busy_poll;
                self.gap = (7 * self.gap + begin.elapsed().min(longest)) / 8;
            }
            self.engine.local.online();
            self.shared.tell_time();
            if self.shared.closing() {
                let until = *until.get_or_insert_with(|| Instant::now() + LAST);
                if self.finish_all(until)? {
                    return Ok(());
                }
            }
            for event in &events {
                match event.token() {
                    WAKE => self.take_inbox()?,
                    Token(t) if t >= UDP => self.udp[t - UDP].ready = true,
                    Token(t) => {
                        // An event may be older than the connection's end.
                        let Some(conn) = self.conns.get_mut(t) else { continue };
                        conn.readable |= event.is_readable();
                        conn.reads_short |= event.is_priority();
                        conn.read_closed |= event.is_read_closed() || event.is_error();
                        self.enqueue(t);
                    }
                }
            }
            if self.kills != self.shared.kills() {
                self.kills = self.shared.kills();
                self.find_killed();
                self.wake_up();
            } else if self.wakes.is_some_and(|at| Instant::now() >= at) {
                self.wake_up();
            }
            for index in std::mem::take(&mut self.waiting) {
                // It may be gone, and another in its place, which comes to no harm.
                match self.conns.get_mut(index) {
                    Some(conn) if conn.session.may_go_on(&self.engine) => {
                        conn.waits_for_room = false;
                        self.enqueue(index);
                    }
                    Some(_) => self.waiting.push(index),
                    None => {}
                }
            }
            self.serve_ready();
            for port in self.udp.iter_mut().filter(|port| port.ready) {
                let (shared, number) = (&*self.shared, self.number);
                let mut answers = Answers { shared, number, watching: None };
                let options = &self.shared.options;
                let base = &mut self.engine.base;
                let turn = port.serve(base, &mut answers, &mut self.udp_errors, options);
                self.shared.bytes(self.number, turn.read, turn.written);
                self.shared.withhold(turn.withheld);
            }
            let now = self.engine.local.store().now();
            if now != second {
                second = now;
                self.close_idle(now);
                self.close_half_open();
            }
        }
    }

    /// The server ends: each connection is closed when what it has sent is served and its client's host has the replies.
    /// True: all of them are, or it is time.
    fn finish_all(&mut self, until: Instant) -> Result<bool> {
        self.take_inbox()?;
        for index in self.conns.iter().map(|(index, _)| index).collect::<Vec<_>>() {
            let conn = &mut self.conns[index];
            if !conn.hangs_up() {
                conn.hang_up();
                self.enqueue(index);
            } else if conn.linger.is_some() {
                self.enqueue(index);
            }
        }
        for port in &mut self.udp {
            port.ready |= !std::mem::replace(&mut port.last, true);
        }
        let served = self.conns.is_empty() && !self.udp.iter().any(|port| port.ready);
        Ok(served || Instant::now() >= until)
    }

    /// Waits for events. Idle since `begin`, and when work lately came soon, it looks for them for a
    /// while before it sleeps: who sleeps must be woken, and the client waits for that.
    fn next_events(
        &mut self,
        events: &mut Events,
        wait: Option<Duration>,
        begin: Option<Instant>,
    ) -> io::Result<()> {
        let soon = self.shared.options.busy_poll;
        if let Some(begin) = begin.filter(|_| self.gap < soon) {
            let look = wait.map_or(soon, |wait| wait.min(soon));
            while begin.elapsed() < look {
                self.poll.poll(events, Some(Duration::ZERO))?;
                if !events.is_empty() {
                    return Ok(());
                }
                // Whoever else has something to do on this processor goes first.
                std::thread::yield_now();
            }
        }
        self.poll.poll(events, wait)
    }

    fn enqueue(&mut self, index: usize) {
        if !std::mem::replace(&mut self.conns[index].queued, true) {
            self.ready.push(index);
        }
    }

    fn enqueue_later(&mut self, index: usize) {
        if !std::mem::replace(&mut self.conns[index].queued, true) {
            self.later.push_back(index);
        }
    }

    /// Nothing is done for it until it goes on, or all look whether they do.
    fn put_to_sleep(&mut self, index: usize, at: Instant) {
        self.wakes = Some(self.wakes.map_or(at, |other| other.min(at)));
        if !std::mem::replace(&mut self.conns[index].sleeps, true) {
            self.sleeping.push(index);
        }
    }

    fn wake_up(&mut self) {
        self.wakes = None;
        for index in std::mem::take(&mut self.sleeping) {
            // As with those that wait.
            if let Some(conn) = self.conns.get_mut(index) {
                conn.sleeps = false;
                self.enqueue(index);
            }
        }
    }

    /// Who watches is sent the lines that there are.
    fn find_lines(&mut self) {
        let now = Instant::now();
        let all = now >= self.looks;
        if all {
            self.looks = now + LINES_AGAIN;
        }
        let mut watching = std::mem::take(&mut self.watching);
        watching.retain(|&index| self.conns.get(index).is_some_and(|c| c.watching.is_some()));
        for &index in &watching {
            if self.conns[index].has_lines(!all) {
                self.enqueue(index);
            }
        }
        self.watching = watching;
    }

    /// Connections that another one has killed are closed when it is their turn.
    fn find_killed(&mut self) {
        let is_killed = |conn: &Conn| conn.told.redis.as_ref().is_some_and(|r| r.is_killed());
        let killed: Vec<_> =
            self.conns.iter().filter(|(_, c)| is_killed(c)).map(|(index, _)| index).collect();
        for index in killed {
            self.conns[index].lost = true;
            self.enqueue(index);
        }
    }

    fn take_inbox(&mut self) -> Result<()> {
        let conns = std::mem::take(&mut *self.inbox.conns.lock().unwrap());
        for mut conn in conns {
            let entry = self.conns.vacant_entry();
            let index = entry.key();
            if let Err(e) = conn.register(self.poll.registry(), Token(index)) {
                self.shared.closed(&conn);
                wirekv_log::warn!(peer = conn.told.peer, "a connection is dropped: {e}");
                continue;
            }
            entry.insert(conn);
            self.enqueue(index);
        }
        Ok(())
    }

    /// Its last reply is written. Always false, for `prepare`, as that of `close`.
    fn end(&mut self, index: usize) -> bool {
        self.shared.leaves(&mut self.conns[index]);
        if !self.conns[index].linger() {
            return self.close(index);
        }
        self.enqueue(index);
        false
    }

    /// What a client sends behind its last reply.
    fn skip(&mut self, index: usize, room: &mut [u8]) -> bool {
        let Some((count, until)) = self.conns[index].skip(room) else {
            return self.close(index);
        };
        self.shared.bytes(self.number, count, 0);
        match count {
            0 => self.put_to_sleep(index, until),
            _ => self.enqueue(index),
        }
        false
    }

    fn close(&mut self, index: usize) -> bool {
        let mut conn = self.conns.remove(index);
        self.copied -= conn.out.as_ref().map_or(0, Out::copied);
        conn.deregister(self.poll.registry());
        self.shared.leaves(&mut conn);
        self.shared.closed(&conn);
        false
    }

    /// A client that does not end its handshake would keep its place for nothing.
    fn close_half_open(&mut self) {
        if self.shared.keys.is_empty() {
            return;
        }
        let late = |conn: &Conn| conn.stream.is_shaking() && conn.since.elapsed() > HANDSHAKE;
        let late: Vec<_> =
            self.conns.iter().filter(|(_, c)| late(c)).map(|(index, _)| index).collect();
        for index in late {
            self.conns[index].give_up();
            self.enqueue(index);
        }
    }

    fn close_idle(&mut self, now: u32) {
        let Some(limit) = self.shared.options.idle_timeout else {
            return;
        };
        let idle: Vec<usize> = self
            .conns
            .iter_mut()
            .filter(|(_, c)| {
                !c.queued
                    && c.watching.is_none()
                    && now.saturating_sub(c.told.last.load(Relaxed)) > limit
            })
            // A client that takes its replies slowly is not idle.
            .filter_map(|(index, c)| match c.takes() {
                true => {
                    c.used(now);
                    None
                }
                false => Some(index),
            })
            .collect();
        for index in idle {
            self.conns[index].reason = Reason::Idle;
            self.shared.idle_kick(&self.conns[index]);
            self.close(index);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for (_, conn) in &mut self.conns {
            self.shared.leaves(conn);
            self.shared.closed(conn);
        }
    }
}
