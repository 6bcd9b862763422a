//! One thread: its connections, its event loop, and the passes over what they bring.

use std::io::{ErrorKind, IoSlice};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;
use wirekv_protocol::{Engine, Next, Out, Parse, Request};

use crate::conn::Conn;
use crate::datagrams::Port;
use crate::io::{retry, Io, GROUP};
use crate::stats::{Answers, Shared};

/// Parts of a reply in the first write.
const PARTS: usize = 8;
/// Replies are offered to the kernel at the latest when they are this long.
const REPLY_HIGH: usize = 256 << 10;
/// Values that wait for room look for it again after so long.
const ROOM_AGAIN: Duration = Duration::from_millis(1);
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
    /// Input is to be read.
    reads: bool,
    /// Behind `at` may be more requests.
    more: bool,
    /// The next request waits for room for a long value.
    waits: bool,
    out: Out,
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
    /// Connections with something to do.
    ready: Vec<usize>,
    /// Connections whose long values wait for room.
    waiting: Vec<usize>,
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
        let size = engine.settings.buffer();
        let slot = || Slot {
            conn: 0,
            buf: vec![0; size],
            end: 0,
            at: 0,
            done: 0,
            requests: Vec::with_capacity(shared.options.batch),
            reads: false,
            more: false,
            waits: false,
            out: Out::new(),
        };
        let slots = (0..GROUP).map(|_| slot()).collect();
        Ok(Worker {
            number,
            poll,
            inbox,
            shared,
            engine,
            io: Io::default(),
            conns: Slab::new(),
            udp,
            ready: Vec::new(),
            waiting: Vec::new(),
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
        loop {
            self.shared.exchange(self.number, &mut self.engine.counters);
            let idle = self.ready.is_empty() && !self.udp.iter().any(|port| port.ready);
            let wait = match idle {
                false => Some(Duration::ZERO),
                true => (!self.waiting.is_empty()).then_some(ROOM_AGAIN),
            };
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
                    Token(t) if t >= UDP => self.udp[t - UDP].ready = true,
                    Token(t) => {
                        // An event may be older than the connection's end.
                        let Some(conn) = self.conns.get_mut(t) else { continue };
                        conn.readable |= event.is_readable();
                        conn.read_closed |= event.is_read_closed() || event.is_error();
                        self.enqueue(t);
                    }
                }
            }
            for index in std::mem::take(&mut self.waiting) {
                // It may be gone, and another in its place, which comes to no harm.
                if self.conns.contains(index) {
                    self.enqueue(index);
                }
            }
            self.serve_ready();
            for port in self.udp.iter_mut().filter(|port| port.ready) {
                let mut answers = Answers { shared: &self.shared, number: self.number };
                let turn = port.serve(&mut self.engine, &mut answers);
                self.shared.bytes(self.number, turn.read, turn.written);
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

    /// Serves the connections that have something to do, in groups. Each step is taken for a whole
    /// group before the next, so that system calls and waits for memory are shared.
    fn serve_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        let mut slots = std::mem::take(&mut self.slots);
        for group in ready.chunks(GROUP) {
            let mut used = 0;
            for &index in group {
                self.conns[index].queued = false;
                slots[used].conn = index;
                if self.prepare(&mut slots[used]) {
                    used += 1;
                }
            }
            let slots = &mut slots[..used];
            self.read(slots);
            for slot in slots.iter_mut() {
                self.parse(slot);
                // A line of very many keys takes a while to be parsed, and holds nothing yet.
                self.engine.local.quiesce();
            }
            // Their buckets have been on their way since each key was parsed; now the items.
            for request in slots.iter().flat_map(|s| &s.requests) {
                request.prefetch_item(&self.engine);
            }
            for slot in slots.iter_mut() {
                self.execute(slot);
            }
            self.write(slots);
            for slot in slots {
                self.finish(slot);
            }
            self.engine.local.quiesce();
        }
        ready.clear();
        ready.append(&mut self.ready);
        self.ready = ready;
        self.slots = slots;
    }

    /// Gets a slot ready for its connection. False: there is nothing to do for it now.
    fn prepare(&mut self, slot: &mut Slot) -> bool {
        let conn = &mut self.conns[slot.conn];
        if let Some(mut out) = conn.out.take() {
            let count = conn.write(&mut out);
            self.shared.bytes(self.number, 0, count);
            if conn.lost {
                return self.close(slot.conn);
            }
            if count > 0 {
                conn.used(self.engine.local.store().now());
            }
            if !out.is_empty() {
                conn.park(out);
                return false; // until the socket is writable
            }
            if conn.closing {
                return self.close(slot.conn);
            }
        }
        slot.done = 0;
        slot.end = conn.pending.len();
        slot.more = true;
        slot.waits = false;
        let size = self.engine.settings.buffer();
        let mut pending = std::mem::take(&mut conn.pending);
        if slot.end > size / 2 {
            pending.resize(slot.end + size / 2, 0);
            slot.buf = pending;
        } else {
            if slot.buf.len() != size {
                slot.buf = vec![0; size];
            }
            slot.buf[..slot.end].copy_from_slice(&pending);
        }
        slot.requests.clear();
        slot.requests.extend(conn.parsed.drain(..));
        if !slot.requests.is_empty() {
            // It is not silent while it is being answered.
            conn.used(self.engine.local.store().now());
        }
        slot.at = slot.requests.iter().map(|r| r.len as usize).sum();
        slot.reads = slot.requests.is_empty() && (conn.readable || conn.read_closed);
        true
    }

    /// Reads what there is, once.
    fn read(&mut self, slots: &mut [Slot]) {
        for slot in slots.iter_mut().filter(|s| s.reads && s.end == 0) {
            // A long value goes straight to its place in the store.
            let conn = &mut self.conns[slot.conn];
            let read =
                conn.session.sink().map(|mut place| (place.len(), conn.stream.read(&mut place)));
            if let Some((size, result)) = read {
                let count = conn.came(size, result, 0);
                conn.session.sunk(count);
                self.shared.bytes(self.number, count, 0);
                conn.used(self.engine.local.store().now());
                slot.reads = false;
            }
        }
        let count = slots.iter().filter(|s| s.reads).count();
        let rooms = slots
            .iter_mut()
            .filter(|s| s.reads)
            .map(|slot| (self.conns[slot.conn].stream.fd(), &mut slot.buf[slot.end..]));
        let results = self.io.read(count, rooms);
        for (slot, result) in slots.iter_mut().filter(|s| s.reads).zip(results) {
            let conn = &mut self.conns[slot.conn];
            let count = conn.came(slot.buf.len() - slot.end, result, slot.end);
            slot.end += count;
            self.shared.bytes(self.number, count, 0);
            conn.used(self.engine.local.store().now());
        }
    }

    fn parse(&mut self, slot: &mut Slot) {
        let conn = &mut self.conns[slot.conn];
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
        // More is there, and others have their turn first.
        self.engine.counters.conn_yields += u64::from(slot.more && slot.at < slot.end);
    }

    /// Runs a slot's requests; stops early when the client does not take its replies, or within a
    /// request of very many keys: memory that others wait for is free only between the groups.
    fn execute(&mut self, slot: &mut Slot) {
        let conn = &mut self.conns[slot.conn];
        let mut answers = Answers { shared: &self.shared, number: self.number };
        let Slot { requests, buf, end, done, out, waits, .. } = slot;
        let mut executed = 0;
        for request in requests.iter_mut() {
            let input = &buf[*done..*end];
            let next = conn.session.execute(request, input, &mut self.engine, &mut answers, out);
            if out.len() > REPLY_HIGH {
                self.shared.bytes(self.number, 0, conn.write(out));
            }
            if next == Next::Continue {
                executed += 1;
                *done += request.len as usize;
            }
            conn.closing |= next == Next::Close;
            *waits = next == Next::Wait;
            if next != Next::Continue || out.len() > REPLY_HIGH {
                break;
            }
        }
        requests.drain(..executed);
    }

    /// Offers the replies to the kernel, once.
    fn write(&mut self, slots: &mut [Slot]) {
        let mut parts = [[IoSlice::new(&[]); PARTS]; GROUP];
        let mut counts = [0; GROUP];
        let replies = slots.iter().filter(|s| !s.out.is_empty());
        let mut count = 0;
        for (slot, parts) in replies.clone().zip(&mut parts) {
            counts[count] = slot.out.slices(parts);
            count += 1;
        }
        let gathered = replies
            .zip(parts.iter().zip(counts))
            .map(|(slot, (parts, count))| (self.conns[slot.conn].stream.fd(), &parts[..count]));
        let results = self.io.write(count, gathered);
        for (slot, result) in slots.iter_mut().filter(|s| !s.out.is_empty()).zip(results) {
            match result {
                Ok(n) => {
                    slot.out.written(n);
                    self.shared.bytes(self.number, 0, n);
                }
                Err(e) if retry(&e) => {}
                Err(_) => self.conns[slot.conn].lost = true,
            }
        }
    }

    /// Keeps what could not be done now.
    fn finish(&mut self, slot: &mut Slot) {
        let conn = &mut self.conns[slot.conn];
        if !slot.out.is_empty() && !conn.lost {
            self.shared.bytes(self.number, 0, conn.write(&mut slot.out));
        }
        let blocked = !slot.out.is_empty();
        let more = slot.more || !slot.requests.is_empty();
        conn.closing |= conn.ended && !more;
        if conn.lost || (conn.closing && !blocked) {
            slot.out.clear();
            self.close(slot.conn);
            return;
        }
        if blocked {
            conn.park(std::mem::take(&mut slot.out));
        }
        if slot.done == 0 && slot.end > self.engine.settings.buffer() / 2 {
            // A long request is on its way: it is not copied for each piece.
            conn.pending = std::mem::take(&mut slot.buf);
            conn.pending.truncate(slot.end);
        } else if slot.done < slot.end {
            conn.pending = slot.buf[slot.done..slot.end].to_vec();
        }
        conn.parsed.extend(slot.requests.drain(..));
        if slot.waits && !blocked {
            self.waiting.push(slot.conn);
        } else if !blocked && (conn.readable || conn.read_closed || more) {
            self.enqueue(slot.conn);
        }
    }

    /// Always false, for `prepare`.
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
            .iter_mut()
            .filter(|(_, c)| !c.queued && now.saturating_sub(c.told.last.load(Relaxed)) > limit)
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
