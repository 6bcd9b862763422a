//! One thread: its connections, its event loop, and the passes over what they bring.

use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;
use wirekv_protocol::{Engine, Next, Out, Parse, Request};

use crate::conn::{self, Conn};
use crate::datagrams;
use crate::stats::{Answers, Shared};

/// Connections served together: their requests share the passes, and so the waits for memory.
const GROUP: usize = 16;
/// Replies are offered to the kernel at the latest when they are this long.
const REPLY_HIGH: usize = 256 << 10;
const WAKE: Token = Token(usize::MAX);
/// UDP sockets have the tokens from here on.
const UDP: usize = usize::MAX / 2;

/// How other threads reach a worker.
pub struct Inbox {
    pub waker: Waker,
    pub conns: Mutex<Vec<Conn>>,
}

/// Where one connection of a group is worked on: memory that stays in the processor's cache.
struct Slot {
    conn: usize,
    /// Input is `buf[..end]`; requests were parsed up to `at`, executed up to `done`.
    buf: Vec<u8>,
    end: usize,
    at: usize,
    done: usize,
    requests: Vec<Request>,
    /// Behind `at` may be more requests.
    more: bool,
    out: Out,
}

pub struct Worker {
    number: usize,
    poll: Poll,
    inbox: Arc<Inbox>,
    shared: Arc<Shared>,
    engine: Engine,
    conns: Slab<Conn>,
    udp: Vec<UdpSocket>,
    /// They may have datagrams.
    udp_ready: Vec<bool>,
    /// Connections with something to do.
    ready: Vec<usize>,
    slots: Vec<Slot>,
    datagrams: datagrams::Buffers,
}

impl Worker {
    pub fn new(
        number: usize,
        engine: Engine,
        shared: Arc<Shared>,
        mut udp: Vec<UdpSocket>,
    ) -> Result<Worker> {
        let poll = Poll::new().context("no epoll instance")?;
        let waker = Waker::new(poll.registry(), WAKE).context("no event descriptor")?;
        let inbox = Arc::new(Inbox { waker, conns: Mutex::default() });
        for (i, socket) in udp.iter_mut().enumerate() {
            poll.registry().register(socket, Token(UDP + i), Interest::READABLE)?;
        }
        let size = engine.settings.buffer();
        let slot = || Slot {
            conn: 0,
            buf: vec![0; size],
            end: 0,
            at: 0,
            done: 0,
            requests: Vec::with_capacity(shared.options.batch),
            more: false,
            out: Out::new(),
        };
        let slots = (0..GROUP).map(|_| slot()).collect();
        Ok(Worker {
            number,
            poll,
            inbox,
            shared,
            engine,
            conns: Slab::new(),
            udp_ready: vec![false; udp.len()],
            udp,
            ready: Vec::new(),
            slots,
            datagrams: datagrams::Buffers::default(),
        })
    }

    pub fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Serves until the server stops.
    pub fn run(mut self) -> Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut second = self.engine.local.store().now();
        loop {
            self.shared.exchange(self.number, &mut self.engine.counters);
            let idle = self.ready.is_empty() && !self.udp_ready.contains(&true);
            let wait = if idle { None } else { Some(Duration::ZERO) };
            self.engine.local.offline();
            match self.poll.poll(&mut events, wait) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                result => result.context("cannot wait for events")?,
            }
            self.engine.local.online();
            if self.shared.stopping() {
                return Ok(());
            }
            for event in &events {
                match event.token() {
                    WAKE => self.take_inbox()?,
                    Token(t) if t >= UDP => self.udp_ready[t - UDP] = true,
                    Token(t) => {
                        // An event may be older than the connection's end.
                        let Some(conn) = self.conns.get_mut(t) else { continue };
                        conn.readable |= event.is_readable();
                        conn.read_closed |= event.is_read_closed() || event.is_error();
                        self.enqueue(t);
                    }
                }
            }
            self.serve_ready();
            for index in 0..self.udp.len() {
                if self.udp_ready[index] {
                    self.serve_udp(index);
                }
            }
            let now = self.engine.local.store().now();
            if now != second {
                second = now;
                self.close_idle(now);
            }
        }
    }

    fn enqueue(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if !conn.queued {
            conn.queued = true;
            self.ready.push(index);
        }
    }

    fn take_inbox(&mut self) -> Result<()> {
        let conns = std::mem::take(&mut *self.inbox.conns.lock().unwrap());
        for mut conn in conns {
            let entry = self.conns.vacant_entry();
            let index = entry.key();
            if let Err(e) = conn.register(self.poll.registry(), Token(index)) {
                self.shared.closed(&conn);
                eprintln!("wirekv: a connection is dropped: {e}");
                continue;
            }
            entry.insert(conn);
            self.enqueue(index);
        }
        Ok(())
    }

    fn serve_udp(&mut self, index: usize) {
        let mut answers = Answers { shared: &self.shared, number: self.number };
        let socket = &self.udp[index];
        let turn = datagrams::serve(socket, &mut self.engine, &mut answers, &mut self.datagrams);
        self.shared.bytes(self.number, turn.read, turn.written);
        self.udp_ready[index] = turn.more;
    }

    fn serve_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        let mut slots = std::mem::take(&mut self.slots);
        for group in ready.chunks(GROUP) {
            let mut used = 0;
            for &index in group {
                self.conns[index].queued = false;
                slots[used].conn = index;
                if self.fill(&mut slots[used]) {
                    used += 1;
                }
            }
            let slots = &mut slots[..used];
            // Four passes: the waits for memory of all these requests run at the same time.
            for request in slots.iter().flat_map(|s| &s.requests) {
                request.prefetch_item(&self.engine);
            }
            for slot in slots {
                self.execute(slot);
                self.finish(slot);
            }
            self.engine.local.quiesce();
        }
        ready.clear();
        ready.append(&mut self.ready);
        self.ready = ready;
        self.slots = slots;
    }

    /// Reads and parses. False: there is nothing to execute or to finish.
    fn fill(&mut self, slot: &mut Slot) -> bool {
        let conn = &mut self.conns[slot.conn];
        (slot.at, slot.end, slot.done) = (0, 0, 0);
        slot.requests.clear();
        if let Some(out) = &mut conn.out {
            match conn::write(&mut conn.stream, out) {
                Ok(n) => self.shared.bytes(self.number, 0, n),
                Err(_) => return self.close(slot.conn),
            }
            if !out.is_empty() {
                return false; // until the socket is writable
            }
            conn.out = None;
            if conn.closing {
                return self.close(slot.conn);
            }
        }
        slot.more = true;
        slot.end = conn.pending.len();
        let size = self.engine.settings.buffer();
        if slot.buf.len() < slot.end + size / 2 {
            slot.buf.resize(2 * slot.end + size, 0);
        } else if slot.buf.len() > size && slot.end < size / 2 {
            slot.buf = vec![0; size];
        }
        slot.buf[..slot.end].copy_from_slice(&conn.pending);
        conn.pending = Vec::new();
        slot.requests.extend(conn.parsed.drain(..));
        if !slot.requests.is_empty() {
            slot.at = slot.requests.iter().map(|r| r.len as usize).sum();
            return true;
        }
        if conn.readable || conn.read_closed {
            let (room, sinks) = match conn.session.sink() {
                Some(place) if slot.end == 0 => (place, true),
                _ => (&mut slot.buf[slot.end..], false),
            };
            let size = room.len();
            let result = conn.stream.read(room);
            match result {
                // What came before the end is still served.
                Ok(0) if slot.end == 0 => return self.close(slot.conn),
                Ok(0) => conn.ended = true,
                Ok(n) => {
                    // Less than asked for is all there was.
                    conn.readable = n == size;
                    if sinks {
                        conn.session.sunk(n);
                    } else {
                        slot.end += n;
                    }
                    self.shared.bytes(self.number, n, 0);
                    conn.used(self.engine.local.store().now());
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => conn.readable = false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.close(slot.conn),
            }
        }
        while slot.requests.len() < self.shared.options.batch {
            match conn.session.parse(&slot.buf[slot.at..slot.end], &self.engine) {
                Parse::Request(request) => {
                    request.prefetch_bucket(&self.engine);
                    slot.at += request.len as usize;
                    slot.requests.push(request);
                }
                Parse::Need(_) => {
                    slot.more = false;
                    break;
                }
                Parse::Close => {
                    slot.more = false;
                    conn.ended = true;
                    break;
                }
            }
        }
        true
    }

    /// Runs a slot's requests; stops early when the client does not take its replies.
    fn execute(&mut self, slot: &mut Slot) {
        let conn = &mut self.conns[slot.conn];
        let mut answers = Answers { shared: &self.shared, number: self.number };
        let mut executed = 0;
        'requests: for request in &mut slot.requests {
            loop {
                let input = &slot.buf[slot.done..slot.end];
                let next = conn.session.execute(
                    request,
                    input,
                    &mut self.engine,
                    &mut answers,
                    &mut slot.out,
                );
                if next == Next::Close {
                    conn.closing = true;
                    break 'requests;
                }
                if next == Next::Continue {
                    executed += 1;
                    slot.done += request.len as usize;
                }
                if next == Next::Again || slot.out.len() > REPLY_HIGH {
                    match conn::write(&mut conn.stream, &mut slot.out) {
                        Ok(n) => self.shared.bytes(self.number, 0, n),
                        Err(_) => slot.out.clear(), // reading says that it is over
                    }
                    if !slot.out.is_empty() {
                        break 'requests;
                    }
                }
                if next == Next::Continue {
                    break;
                }
            }
        }
        slot.requests.drain(..executed);
    }

    /// Writes the replies; keeps what could not be done now.
    fn finish(&mut self, slot: &mut Slot) {
        let conn = &mut self.conns[slot.conn];
        if !slot.out.is_empty() {
            match conn::write(&mut conn.stream, &mut slot.out) {
                Ok(n) => self.shared.bytes(self.number, 0, n),
                Err(_) => {
                    slot.out.clear();
                    self.close(slot.conn);
                    return;
                }
            }
        }
        let blocked = !slot.out.is_empty();
        let more = slot.more || !slot.requests.is_empty();
        conn.closing |= conn.ended && !more;
        if conn.closing && !blocked {
            self.close(slot.conn);
            return;
        }
        if blocked {
            conn.out = Some(std::mem::take(&mut slot.out));
        }
        if slot.done < slot.end {
            conn.pending = slot.buf[slot.done..slot.end].to_vec();
        }
        conn.parsed.extend(slot.requests.drain(..));
        if !blocked && (conn.readable || conn.read_closed || more) {
            self.enqueue(slot.conn);
        }
    }

    /// Always false, for those who say whether there is more to do.
    fn close(&mut self, index: usize) -> bool {
        let mut conn = self.conns.remove(index);
        conn.deregister(self.poll.registry());
        self.shared.closed(&conn);
        false
    }

    fn close_idle(&mut self, now: u32) {
        let Some(limit) = self.shared.options.idle_timeout else {
            return;
        };
        let idle: Vec<usize> = self
            .conns
            .iter()
            // A client that takes its replies slowly is not idle.
            .filter(|(_, c)| {
                !c.queued
                    && c.out.is_none()
                    && now.saturating_sub(c.told.last.load(Relaxed)) > limit
            })
            .map(|(index, _)| index)
            .collect();
        for index in idle {
            self.shared.idle_kick();
            self.close(index);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for (_, conn) in &self.conns {
            self.shared.closed(conn);
        }
    }
}
