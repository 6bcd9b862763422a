//! The passes over a group of connections: what they hold, and for how long others wait for them.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use wirekv_log::{enabled, info, warn, Level, Text};
use wirekv_proto::{Next, Out, Parse};

use super::Worker;
use crate::conn::{Conn, Reason, State};
use crate::dialect::{Op, Request};
use crate::io::{retry, GROUP};
use crate::stats::Answers;
use crate::timing::{is_error, Before, Timing};

/// Parts of a reply in the first write.
const PARTS: usize = 8;
/// Replies are offered to the kernel at the latest when they are this long.
const REPLY_HIGH: usize = 256 << 10;
/// Or when they and the input together hold so much memory: what a client that takes nothing can keep.
const HELD: usize = 24 << 10;
/// After so many bytes of replies to one connection the others have their turn.
const TURN: usize = 128 << 10;
/// Long values that wait for clients are pinned in the store, up to half of it. Beyond that they are
/// copied, up to so many bytes in all threads, or one; then the client that waits longest goes.
const COPIES: usize = 4 << 20;
/// Replies that wait for one client of Redis' protocol, which goes on meanwhile. (Redis has no limit, but
/// this one for replicas.)
const REPLIES: usize = 256 << 20;
/// Of those, bytes that are not in the store.
const LOOSE: usize = 16 << 10;
/// Who has taken nothing for so long makes room when there is none for replies, half of the store.
const PATIENCE: Duration = Duration::from_secs(1);

/// A request that takes longer is told of with `-v`.
const SLOW: Duration = Duration::from_millis(10);

/// Where one connection of a group is worked on: memory that stays in the processor's cache.
pub(super) struct Slot {
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
    /// The next request waits for room, or sleeps.
    waits: bool,
    sleeps: bool,
    out: Out,
    /// Other replies wait, which come before these.
    behind: bool,
    /// The kernel reads into `buf`, and writes `out`.
    plain: bool,
}

impl Slot {
    pub fn new(size: usize, batch: usize) -> Slot {
        Slot {
            conn: 0,
            buf: vec![0; size],
            end: 0,
            at: 0,
            done: 0,
            requests: Vec::with_capacity(batch),
            reads: false,
            more: false,
            waits: false,
            sleeps: false,
            out: Out::new(),
            behind: false,
            plain: true,
        }
    }

    /// What came of reading into the rest of `buf`. Returns how many bytes.
    fn takes(&mut self, conn: &mut Conn, result: io::Result<usize>) -> usize {
        let count = conn.came(self.buf.len() - self.end, result, self.end);
        self.end += count;
        count
    }

    /// There are replies, which may be written as they are.
    fn offers(&self) -> bool {
        !self.out.is_empty() && !self.behind && self.plain
    }
}

/// With `-v`: a request that was slow, or is answered with an error.
#[cold]
fn report(peer: &str, request: &[u8], before: &Before, out: &Out) {
    let mut reply = [0; 120];
    let len = out.peek(before.position, &mut reply);
    let reply = &reply[..len];
    if is_error(reply) {
        let line = reply.split(|byte| *byte == b'\r').next().unwrap_or(reply);
        info!(peer, request = %Text(request), reply = %Text(line), "a request fails");
    }
    let time = before.began.map_or(Duration::ZERO, |began| began.elapsed());
    if time >= SLOW {
        info!(peer, request = %Text(request), ?time, "a request is slow");
    }
}

impl Worker {
    /// Serves the connections that have something to do, in groups, and one of those that are within a
    /// long request: who asks for little waits for one turn of theirs, however many they are. Each step
    /// is taken for a whole group before the next, so that system calls and waits for memory are shared.
    pub(super) fn serve_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        ready.extend(self.later.pop_front());
        let mut slots = std::mem::take(&mut self.slots);
        for group in ready.chunks(GROUP) {
            let mut used = 0;
            if let Some(timing) = &mut self.timing {
                timing.begin();
            }
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
                self.engine.local.quiesce();
            }
            self.write(slots);
            if let Some(timing) = &mut self.timing {
                timing.end(&self.shared, self.number);
            }
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
        conn.push();
        if conn.lost || (conn.sleeps && conn.has_left()) {
            return self.close(slot.conn);
        }
        if conn.linger.is_some() {
            return self.skip(slot.conn, &mut slot.buf);
        }
        if let Some(mut out) = conn.out.take() {
            let copied = out.copied();
            let count = conn.write(&mut out);
            self.shared.bytes(self.number, 0, count);
            if count > 0 {
                conn.used(self.engine.local.store().now());
                self.waits += 1;
                conn.wait(self.waits);
                // What was written gives its room back.
                out = out.take_rest();
            }
            self.copied -= copied;
            self.copied += out.copied();
            if !out.is_empty() {
                conn.out = Some(out);
                if conn.lost {
                    return self.close(slot.conn);
                }
                if conn.is_stuck() || !self.make_wait(slot.conn) {
                    return false;
                }
            } else if conn.closing {
                return self.end(slot.conn);
            }
        }
        let conn = &mut self.conns[slot.conn];
        conn.served = true;
        conn.told.set(State::Parse);
        slot.behind = conn.out.is_some();
        slot.plain = conn.stream.is_plain();
        slot.done = 0;
        slot.end = conn.pending.len();
        slot.more = true;
        (slot.waits, slot.sleeps) = (false, false);
        slot.buf[..slot.end].copy_from_slice(&std::mem::take(&mut conn.pending));
        slot.requests.clear();
        slot.requests.append(&mut std::mem::take(&mut conn.parsed));
        if !slot.requests.is_empty() {
            // It is not silent while it is being answered.
            conn.used(self.engine.local.store().now());
        }
        slot.at = slot.requests.iter().map(|r| r.len as usize).sum();
        slot.reads = slot.requests.is_empty() && conn.has_input();
        conn.take_lines(&mut slot.out);
        true
    }

    /// Puts the replies that wait for a client where many can. False: nothing more is done for it now.
    fn make_wait(&mut self, index: usize) -> bool {
        let too_long = |out: &Out| out.len() > REPLIES;
        if !self.conns[index].out.as_ref().is_some_and(too_long) && self.settle(index, PATIENCE) {
            return true;
        }
        let conn = &self.conns[index];
        let has_room = |out: &Out| out.kept() > 0 && conn.since.elapsed() > PATIENCE;
        if conn.out.as_ref().is_some_and(|out| too_long(out) || has_room(out)) {
            self.is_too_much(index);
            return self.close(index);
        }
        self.put_to_sleep(index, Instant::now() + PATIENCE);
        false
    }

    /// Puts the replies that wait for a client into the store, if they are not few. Where there is no room, of
    /// the others who have some and have taken nothing for so long that one goes who has waited longest.
    fn settle(&mut self, index: usize, patience: Duration) -> bool {
        let Some(out) = self.conns[index].out.as_mut().filter(|out| out.loose() > LOOSE) else {
            return true;
        };
        let copied = out.copied();
        let mut settled = out.settle(&mut self.engine.local);
        while !settled {
            let gives_way = |c: &Conn| {
                let has_room = c.out.as_ref().is_some_and(|out| out.kept() > 0);
                has_room && !c.served && c.since.elapsed() >= patience
            };
            let others = self.conns.iter().filter(|(i, c)| *i != index && gives_way(c));
            let Some((longest, _)) = others.min_by_key(|(_, c)| c.waits) else { break };
            self.is_too_much(longest);
            self.lose(longest);
            let out = self.conns[index].out.as_mut().expect("it was just there");
            settled = out.settle(&mut self.engine.local);
        }
        if settled {
            self.copied -= copied;
        }
        settled
    }

    /// A connection is closed as soon as it is its turn; its replies are of no use any more.
    fn lose(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        self.copied -= conn.out.take().map_or(0, |out| out.copied());
        conn.lost = true;
        self.enqueue(index);
    }

    /// A connection is to be closed for the replies that its client does not take.
    fn is_too_much(&mut self, index: usize) {
        let conn = &self.conns[index];
        let bytes = conn.out.as_ref().map_or(0, Out::len);
        self.shared.overflown();
        let peer = &conn.told.peer;
        warn!(
            "{peer} is closed: {bytes} bytes of replies wait for it, and there is no room for more"
        );
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
        for slot in slots.iter_mut().filter(|s| s.reads && !s.plain) {
            let conn = &mut self.conns[slot.conn];
            let result = conn.stream.read(&mut slot.buf[slot.end..]);
            let count = slot.takes(conn, result);
            self.shared.bytes(self.number, count, 0);
            conn.used(self.engine.local.store().now());
            slot.reads = false;
        }
        let count = slots.iter().filter(|s| s.reads).count();
        let rooms = slots
            .iter_mut()
            .filter(|s| s.reads)
            .map(|slot| (self.conns[slot.conn].stream.fd(), &mut slot.buf[slot.end..]));
        let results = self.io.read(count, rooms);
        for (slot, result) in slots.iter_mut().filter(|s| s.reads).zip(results) {
            let conn = &mut self.conns[slot.conn];
            let count = slot.takes(conn, result);
            self.shared.bytes(self.number, count, 0);
            conn.used(self.engine.local.store().now());
        }
    }

    fn parse(&mut self, slot: &mut Slot) {
        let conn = &mut self.conns[slot.conn];
        if conn.is_deaf() {
            (slot.at, slot.done, slot.more) = (slot.end, slot.end, false);
            return;
        }
        while slot.requests.len() < self.shared.options.batch {
            if !slot.requests.is_empty() && conn.session.dialect().is_stranger(&self.engine) {
                break;
            }
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
        self.engine.conn = conn.number;
        let Slot { requests, buf, end, done, out, waits, sleeps, behind, .. } = slot;
        let (mut executed, mut turn) = (0, 0);
        let is_watched = enabled!(Level::INFO);
        let is_seen = is_watched || self.timing.as_ref().is_some_and(Timing::is_on);
        while let Some(request) = requests.get_mut(executed) {
            let input = &buf[*done..*end];
            let before = is_seen.then(|| Before::new(is_watched, &self.engine.counters, out));
            let watching = Some(&mut conn.watching);
            let mut answers = Answers { shared: &self.shared, number: self.number, watching };
            let next = conn.session.execute(request, input, &mut self.engine, &mut answers, out);
            if let Some(before) = before.filter(|_| !next.comes_again()) {
                if let Some(timing) = &mut self.timing {
                    timing.note(&before, request, input, &self.engine.counters, out);
                }
                if is_watched {
                    report(&conn.told.peer, &input[..request.len as usize], &before, out);
                }
            }
            if next == Next::Continue {
                executed += 1;
                *done += request.len as usize;
                if out.is_small(HELD, *end - *done) {
                    continue;
                }
            }
            if next == Next::Close {
                conn.closing = true;
                if request.op.is_some_and(Op::is_quit) {
                    conn.reason = Reason::Normal;
                }
            } else if next == Next::Watch {
                (executed, *done) = (requests.len(), *end);
            }
            (*waits, *sleeps) = (next == Next::Wait, next == Next::Sleep);
            let held = out.held() + *end - *done;
            let offer = next == Next::Full || held > HELD || out.len() > REPLY_HIGH;
            if *behind {
                if offer {
                    break;
                }
            } else if offer || out.copied() > 0 {
                let count = conn.write(out);
                self.shared.bytes(self.number, 0, count);
                turn += count;
                if !out.is_empty() || turn > TURN {
                    break;
                }
            }
            if matches!(next, Next::Again | Next::Wait | Next::Sleep | Next::Watch | Next::Close) {
                break;
            }
        }
        if let Some(timing) = &mut self.timing {
            timing.served(executed);
        }
        requests.drain(..executed);
        if conn.watching.is_some() && !self.watching.contains(&slot.conn) {
            self.watching.push(slot.conn);
        }
        if out.copied() > 0 {
            self.park(slot.conn, out);
        }
    }

    /// What is left of the replies waits until the client takes more.
    fn park(&mut self, index: usize, out: &mut Out) {
        let rest = out.take_rest();
        let conn = &mut self.conns[index];
        self.copied -= conn.out.as_ref().map_or(0, Out::copied);
        match &mut conn.out {
            Some(out) => out.append(rest),
            None => {
                self.waits += 1;
                conn.wait(self.waits);
                conn.out = Some(rest);
            }
        }
        let copied = |conn: &Conn| conn.out.as_ref().map_or(0, Out::copied);
        self.copied += copied(conn);
        if conn.told.redis.is_some() && copied(conn) > 0 {
            self.settle(index, PATIENCE);
        }
        let limit = COPIES / self.shared.options.threads;
        loop {
            let own = copied(&self.conns[index]);
            if own == 0 || self.copied == own || self.copied <= limit {
                return;
            }
            let others = self.conns.iter().filter(|(i, c)| *i != index && copied(c) > 0);
            let Some((longest, _)) = others.filter(|(_, c)| !c.served).min_by_key(|(_, c)| c.waits)
            else {
                // What the others have waits in the store.
                let redis = self.conns[index].told.redis.is_some();
                if redis && self.settle(index, Duration::ZERO) {
                    return;
                }
                // All of them are being served: this one is too many.
                self.is_too_much(index);
                let conn = &mut self.conns[index];
                self.copied -= own;
                (conn.out, conn.lost) = (None, true);
                return;
            };
            self.is_too_much(longest);
            self.lose(longest);
        }
    }

    /// Offers the replies to the kernel, once.
    fn write(&mut self, slots: &mut [Slot]) {
        let mut parts = [[IoSlice::new(&[]); PARTS]; GROUP];
        let mut counts = [0; GROUP];
        let replies = slots.iter().filter(|s| s.offers());
        let mut count = 0;
        for (slot, parts) in replies.clone().zip(&mut parts) {
            counts[count] = slot.out.slices(parts);
            count += 1;
        }
        let gathered = replies
            .zip(parts.iter().zip(counts))
            .map(|(slot, (parts, count))| (self.conns[slot.conn].stream.fd(), &parts[..count]));
        let results = self.io.write(count, gathered);
        for (slot, result) in slots.iter_mut().filter(|s| s.offers()).zip(results) {
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
        conn.served = false;
        if !slot.out.is_empty() && !conn.lost {
            if !slot.behind {
                self.shared.bytes(self.number, 0, conn.write(&mut slot.out));
            }
            if !slot.out.is_empty() && !conn.lost {
                self.park(slot.conn, &mut slot.out);
            }
        }
        let conn = &mut self.conns[slot.conn];
        let waits = conn.out.is_some();
        let more = slot.more || !slot.requests.is_empty();
        conn.closing |= conn.ended && !more;
        if conn.lost || (slot.sleeps && conn.has_left()) {
            slot.out.clear();
            self.close(slot.conn);
            return;
        }
        if conn.closing && !waits {
            self.end(slot.conn);
            return;
        }
        if slot.done < slot.end {
            conn.pending = slot.buf[slot.done..slot.end].to_vec();
        }
        conn.parsed = slot.requests.as_slice().to_vec();
        conn.publish();
        let blocked = conn.is_stuck();
        if slot.waits && !blocked {
            if !std::mem::replace(&mut conn.waits_for_room, true) {
                self.waiting.push(slot.conn);
            }
        } else if slot.sleeps && !blocked {
            let millis = conn.session.dialect().sleeps(&self.engine);
            let at = Instant::now() + Duration::from_millis(millis.min(1000));
            self.put_to_sleep(slot.conn, at);
        } else if !blocked && !slot.requests.is_empty() {
            self.enqueue_later(slot.conn);
        } else if !blocked && (conn.has_input() || more) {
            self.enqueue(slot.conn);
        }
    }
}
