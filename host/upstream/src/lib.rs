//! A cache before an unchanged memcached or Redis, without the cache.
//!
//! A cache, such as a card, answers plain GETs of what it has. All else that its clients send it hands over here, connection by
//! connection, byte by byte ([`Upstream::row`]). It goes to the server over a connection of the client's own, and the
//! server's answer comes back in pieces ([`Piece`]). What the cache has is decided here alone ([`Cache`]): values are read
//! from the server for it, and deleted in it before the server can have a command that may change them.
//!
//! [`Upstream`] is one state machine. One thread calls it; time, the way to the server ([`Net`]) and the cache are given to
//! it. [`Sockets`] is that way: a thread that owns all sockets.
//!
//! **Units.** Times are [`Duration`]s or [`Instant`]s; one since the UNIX epoch says so. Sizes are bytes.
//!
//! **Errors.** A server that cannot be used at the start is an error ([`Refused`]). Later ones are answers to clients.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod batch;
mod client;
mod filler;
mod guard;
mod io;
mod memcached;
mod redis;
mod replies;
mod server;
mod table;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use batch::Effect;
use client::{Client, AHEAD};
pub use client::{Piece, Within};
use filler::Filler;
use guard::{Guard, Open, Ticket};
pub use io::{Event, Id, Net, Order, Sockets};
pub use server::{Address, Protocol, Refused, Server};
use wirekv_proto::Engine;

/// Names a connection of the cache. A later one may have the same.
pub type Tag = [u8; 4];

/// What became of a write is not known: nothing that it may have changed is filled in for so long.
const QUARANTINE: Duration = Duration::from_secs(10);
/// A connection to the server of a client that keeps no state there is closed after so long.
const IDLE: Duration = Duration::from_secs(60);
/// A client from which nothing has come for so long may be gone; likewise one for which a command waits at the server.
const SILENT: Duration = Duration::from_secs(10);
const BLOCKED: Duration = Duration::from_secs(1);
/// Bytes of Redis' commands that are not whole, or not sent, of all clients.
const GATHERED: usize = 64 << 20;
/// From so many on it is looked how many the others have.
const MUCH: usize = 16 << 10;
const NO_ROOM: &[u8] = b"-ERR there is no room for so long a command\r\n";
/// Between two looks at the clients' deadlines.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of values that are filled in at once.
const FILLED: usize = 256 << 10;
/// Delayed flushes. More of them count as one long one.
const FLUSHES: usize = 64;
/// Longer delays are times, in memcached.
const MONTH: u32 = 30 * 86_400;
const SECOND: Duration = Duration::from_secs(1);

/// What may be set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The server has so long to answer.
    pub timeout: Duration,
    /// A key is filled in when it is asked for, else when that happens twice.
    pub admit_all: bool,
    /// Nothing is older than this in the cache.
    pub max_age: Option<Duration>,
    /// The cache has room for items of so many bytes, as memcached counts them.
    pub item_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            timeout: Duration::from_secs(2),
            admit_all: false,
            max_age: None,
            item_max: 1 << 20,
        }
    }
}

/// What the cache is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// 1 to 250 bytes.
    pub key: Vec<u8>,
    /// At most as many as fit into [`Settings::item_max`].
    pub value: Vec<u8>,
    /// memcached's.
    pub flags: u32,
    /// memcached's CAS unique.
    pub unique: u64,
    /// Since the UNIX epoch; of memcached whole seconds, of Redis milliseconds.
    pub expiry: Option<Duration>,
}

/// The cache, as it is filled and emptied. True: it is done, and whoever asks from now on sees it.
pub trait Cache {
    /// None of these keys is there.
    fn delete(&mut self, keys: &[Vec<u8>]) -> bool;
    /// Nothing is there.
    fn flush(&mut self) -> bool;
    /// These items are there, as far as there is room.
    fn fill(&mut self, items: &[Item]) -> bool;
}

/// All of it.
pub struct Upstream<N: Net> {
    server: Server,
    settings: Settings,
    engine: Engine,
    net: N,
    last_id: Id,
    clients: HashMap<Tag, Client>,
    owners: HashMap<Id, Tag>,
    guard: Guard,
    filler: Filler,
    /// For the cache.
    deletes: Vec<Vec<u8>>,
    flush: bool,
    items: Vec<(Ticket, Item)>,
    /// Clients whose bytes wait for that; clients to which something has happened.
    holding: Vec<Tag>,
    touched: Vec<Tag>,
    /// When the server empties itself: from when on, and until when nothing is filled in.
    flushes: Vec<(Instant, Instant)>,
    looked: Instant,
    /// Somebody waits for the server.
    waits: bool,
}

impl<N: Net> Upstream<N> {
    /// Before this server. The cache is emptied first.
    ///
    /// # Errors
    ///
    /// There is no memory for the reader of memcached's commands.
    pub fn new(
        server: Server,
        settings: Settings,
        net: N,
        now: Instant,
    ) -> Result<Upstream<N>, wirekv_store::Error> {
        let filler = Filler::new(server.protocol, settings, now);
        Ok(Upstream {
            server,
            settings,
            engine: memcached::engine()?,
            net,
            last_id: 0,
            clients: HashMap::new(),
            owners: HashMap::new(),
            guard: Guard::default(),
            filler,
            deletes: Vec::new(),
            flush: true,
            items: Vec::new(),
            holding: Vec::new(),
            touched: Vec::new(),
            flushes: Vec::new(),
            looked: now,
            waits: false,
        })
    }

    /// A client has sent something, and waits for the answer. `stranger`: nothing of it was answered here.
    pub fn row(
        &mut self,
        tag: Tag,
        text: &[u8],
        (within, stranger): (Within, bool),
        (now, unix): (Instant, Duration),
    ) {
        if stranger {
            self.forget(tag, now);
        }
        let Some(first) = text.first() else { return };
        let (protocol, timeout) = (self.server.protocol, self.settings.timeout);
        let new = || Client::new(protocol, *first, now);
        let client = self.clients.entry(tag).or_insert_with(new);
        client.row(text, within, now, timeout);
        self.touched.push(tag);
        if client.closes {
            client.input = Vec::new();
            return;
        }
        let batch = client.take(&self.engine, &self.server.table);
        client.closes |= batch.closes && batch.send.is_empty();
        // The first command that ends is the one that was not complete.
        client.opens.append(&mut client.partial);
        let last = batch.effects.len();
        for (effect, at) in batch.effects.into_iter().zip(1..) {
            let opens = match batch.open && at == last {
                true => &mut client.partial,
                false => &mut client.opens,
            };
            match effect {
                Effect::None => continue,
                Effect::Keys(keys) => {
                    opens.extend(keys.iter().map(|key| self.guard.open_key(key)));
                    keys.iter().for_each(|key| self.filler.written(Some(key)));
                    self.deletes.extend(keys);
                }
                Effect::All => {
                    opens.push(self.guard.open_all());
                    self.filler.written(None);
                    self.flush = true;
                }
            }
            client.holds = true;
        }
        client.delays.extend(batch.delays.iter().filter_map(|delay| match *delay {
            delay if delay > MONTH => {
                Some((now, delay.checked_sub(unix.as_secs() as u32).filter(|left| *left > 0)?))
            }
            delay => Some((now, delay)),
        }));
        client.wants.extend(batch.wants);
        client.blocks |= batch.blocks;
        client.ends |= batch.closes;
        client.replies.expect(batch.marks, &mut client.out);
        client.busy = !client.replies.done();
        client.held.extend(batch.send);
        match client.holds {
            true => self.holding.push(tag),
            false => self.release(tag),
        }
        for key in &batch.gets {
            self.filler.want(key, &self.guard, &mut self.net, (now, unix));
        }
        let Some(client) = self.clients.get(&tag) else { return };
        if client.is_redis() && client.input.len() + client.unsent > MUCH {
            let held = |c: &Client| c.input.len() + c.held.len() + c.unsent;
            if self.clients.values().map(held).sum::<usize>() > GATHERED {
                self.refuse(tag, now);
            }
        }
    }

    /// A client is answered without the server. False: its bytes belong to a command that is under way.
    pub fn say(&mut self, tag: Tag, text: &[u8], stranger: bool, now: Instant) -> bool {
        if stranger {
            self.forget(tag, now);
        }
        let (protocol, timeout) = (self.server.protocol, self.settings.timeout);
        let new = || Client::new(protocol, b's', now);
        let client = self.clients.entry(tag).or_insert_with(new);
        if client.is_bound() || client.busy || client.closes || !client.input.is_empty() {
            return false;
        }
        client.row(b"", Within::No, now, timeout);
        client.out.extend_from_slice(text);
        self.touched.push(tag);
        true
    }

    /// The card asks for the next piece of an answer.
    pub fn more(&mut self, tag: Tag, now: Instant) {
        if let Some(client) = self.clients.get_mut(&tag) {
            client.ask(now, self.settings.timeout);
            self.touched.push(tag);
        }
    }

    /// Whether there is a connection that waits for an answer.
    pub fn knows(&self, tag: Tag) -> bool {
        self.clients.get(&tag).is_some_and(|client| client.rowed)
    }

    /// Whether a command of a connection may wait at the server for long.
    pub fn blocks(&self, tag: Tag) -> bool {
        self.clients.get(&tag).is_some_and(|client| client.blocks)
    }

    /// What the server speaks.
    pub fn protocol(&self) -> Protocol {
        self.server.protocol
    }

    /// Clients that may be gone, and whether they had an answer: whoever knows tells by [`gone`](Upstream::gone).
    pub fn silent(&self, now: Instant) -> Vec<(Tag, bool)> {
        let silent = |client: &Client| {
            let patience = if client.blocks && client.rowed { BLOCKED } else { SILENT };
            client.is_redis() && now >= client.heard + patience
        };
        let silent = self.clients.iter().filter(|(_, client)| silent(client));
        silent.map(|(tag, client)| (*tag, client.met)).collect()
    }

    /// A client is gone, or is there all the same.
    pub fn gone(&mut self, tag: Tag, gone: bool, now: Instant) {
        if gone {
            self.forget(tag, now);
        } else if let Some(client) = self.clients.get_mut(&tag) {
            client.heard = now;
        }
    }

    /// How long this can be left alone, if nothing happens.
    pub fn patience(&self, now: Instant) -> Duration {
        if !self.touched.is_empty() || self.flush || !self.items.is_empty() {
            return Duration::ZERO;
        }
        let look = self.waits.then_some(self.looked + LOOK);
        let flushes = self.flushes.iter().map(|(from, _)| *from).min();
        let next = [look, flushes, self.guard.next()].into_iter().flatten().min();
        let next = next.map_or(self.filler.next(), |next| next.min(self.filler.next()));
        next.saturating_duration_since(now)
    }

    /// Does what there is to be done. `say` gets pieces for the card, and whether earlier ones are not to wait there.
    pub fn turn(
        &mut self,
        now: Instant,
        cache: &mut dyn Cache,
        say: &mut dyn FnMut(Tag, Piece, bool),
    ) {
        for event in self.net.events() {
            self.happen(event, now);
        }
        let Upstream { filler, net, last_id, .. } = self;
        let mut new_id = || {
            *last_id += 1;
            *last_id
        };
        if !filler.tick(net, now, &mut new_id) {
            self.lose();
        }
        self.look(now);
        self.guard.expire(now);
        self.empty(now);
        self.tell(cache, now);
        for tag in std::mem::take(&mut self.touched) {
            self.answer(tag, now, say);
        }
        self.net.go();
    }

    fn happen(&mut self, event: Event, now: Instant) {
        let (Event::Data(id, _) | Event::Sent(id, _) | Event::Closed { id, .. }) = event;
        if self.filler.id == Some(id) {
            match event {
                Event::Data(_, bytes) => {
                    self.net.order(Order::Took(id, bytes.len()));
                    // A new connection may be one to a new server.
                    let is_new = !self.filler.up;
                    if !self.filler.feed(&bytes, now, &mut self.items) {
                        self.lose();
                    }
                    self.flush |= self.filler.up && is_new;
                }
                Event::Sent(..) => {}
                Event::Closed { .. } => self.lose(),
            }
            return;
        }
        let Some(tag) = self.owners.get(&id).copied() else { return };
        let Some(client) = self.clients.get_mut(&tag) else { return };
        self.touched.push(tag);
        client.deadline = now + self.settings.timeout;
        match event {
            Event::Data(_, bytes) => {
                client.received += bytes.len();
                client.came = client.busy;
                if client.replies.feed(&bytes, &mut client.out).is_err() {
                    client.closes = true;
                    self.part(tag, now, Client::end);
                }
            }
            Event::Sent(_, count) => client.unsent = client.unsent.saturating_sub(count),
            Event::Closed { connected, .. } => {
                self.part(tag, now, if connected { Client::end } else { Client::give_up });
            }
        }
    }

    /// The server is not known to live, or may be another one: nothing of it may be in the cache.
    fn lose(&mut self) {
        self.flush |= self.filler.up;
        self.filler.down(&mut self.net);
        self.items.clear();
    }

    /// Sends what was held.
    fn release(&mut self, tag: Tag) {
        let Some(client) = self.clients.get_mut(&tag) else { return };
        client.holds = false;
        let bytes = std::mem::take(&mut client.held);
        if bytes.is_empty() || client.closes {
            return;
        }
        let id = *client.id.get_or_insert_with(|| {
            self.last_id += 1;
            self.net.order(Order::Open(self.last_id));
            self.owners.insert(self.last_id, tag);
            self.last_id
        });
        client.unsent += bytes.len();
        self.net.order(Order::Send(id, bytes));
        self.touched.push(tag);
    }

    /// Looks whose server has had its time, and who has left it alone.
    fn look(&mut self, now: Instant) {
        if now < self.looked + LOOK {
            return;
        }
        self.looked = now;
        let late: Vec<Tag> = self.tags(|client| client.is_late(now));
        for tag in late {
            self.part(tag, now, Client::give_up);
            self.touched.push(tag);
        }
        let idle =
            self.tags(|client| !client.rowed && !client.is_redis() && now >= client.heard + IDLE);
        for tag in idle {
            let bound = self.clients.get(&tag).is_some_and(|c| c.is_bound() || c.closes);
            match bound || !self.clients[&tag].input.is_empty() {
                // Of a command that is not complete nothing is kept.
                true => {
                    self.part(tag, now, Client::end);
                    if let Some(client) = self.clients.get_mut(&tag) {
                        (client.closes, client.input) = (true, Vec::new());
                    }
                }
                false => self.forget(tag, now),
            }
        }
        self.waits = self.clients.values().any(Client::is_waiting);
    }

    fn tags(&self, is: impl Fn(&Client) -> bool) -> Vec<Tag> {
        self.clients.iter().filter(|(_, client)| is(client)).map(|(tag, _)| *tag).collect()
    }

    /// Flushes of the server whose time has come.
    fn empty(&mut self, now: Instant) {
        let (come, later) = self.flushes.iter().partition(|(from, _)| *from <= now);
        self.flushes = later;
        let come: Vec<(Instant, Instant)> = come;
        for (_, until) in come {
            let open = self.guard.open_all();
            self.guard.keep(open, until);
            self.flush = true;
        }
    }

    /// Tells the cache what it is not to have, then lets the server have what may change that, then fills.
    fn tell(&mut self, cache: &mut dyn Cache, now: Instant) {
        if !self.flush && !self.deletes.is_empty() && !cache.delete(&self.deletes) {
            self.flush = true;
        }
        if self.flush && !cache.flush() {
            return;
        }
        self.flush = false;
        self.deletes.clear();
        for tag in std::mem::take(&mut self.holding) {
            if self.clients.get(&tag).is_some_and(|client| client.holds) {
                self.release(tag);
            }
        }
        let guard = &self.guard;
        self.items.retain(|(ticket, _)| guard.admits(ticket, now));
        let mut bytes = 0;
        let fits = |entry: &&(Ticket, Item)| {
            let (_, item) = entry;
            let first = bytes == 0;
            bytes += item.key.len() + item.value.len();
            first || bytes <= FILLED
        };
        let count = self.items.iter().take_while(fits).count();
        let items: Vec<Item> = self.items.drain(..count).map(|(_, item)| item).collect();
        if !items.is_empty() && !cache.fill(&items) {
            self.flush = true;
        }
    }

    /// Gives the card a piece of a client's answer, if there is one.
    fn answer(&mut self, tag: Tag, now: Instant, say: &mut dyn FnMut(Tag, Piece, bool)) {
        let Some(client) = self.clients.get_mut(&tag) else { return };
        if client.busy && client.replies.done() {
            self.finish(tag, now);
        }
        let Some(client) = self.clients.get_mut(&tag) else { return };
        let piece = client.piece();
        if let Some(id) = client.id.filter(|_| client.received > 0 && client.out.len() < AHEAD) {
            self.net.order(Order::Took(id, std::mem::take(&mut client.received)));
        }
        let Some(piece) = piece else { return };
        let (ends, waits) = (piece.closes, client.is_redis() && client.blocks && !piece.last);
        say(tag, piece, waits);
        if ends {
            self.forget(tag, now);
        }
    }

    /// All that was asked is answered.
    fn finish(&mut self, tag: Tag, now: Instant) {
        let Some(client) = self.clients.get_mut(&tag) else { return };
        (client.busy, client.came, client.blocks) = (false, false, false);
        client.closes |= client.ends;
        client.wants.clear();
        let opens = std::mem::take(&mut client.opens);
        let delays = std::mem::take(&mut client.delays);
        if client.in_transaction() {
            for open in opens {
                if !client.kept.insert(open) {
                    self.guard.close(open);
                }
            }
        } else {
            for open in opens.into_iter().chain(client.kept.drain()) {
                self.guard.close(open);
            }
        }
        self.schedule(delays, (now, now));
    }

    /// The server empties itself some time behind each of these.
    fn schedule(&mut self, delays: Vec<(Instant, u32)>, (now, until): (Instant, Instant)) {
        for (asked, delay) in delays {
            let delay = Duration::from_secs(delay.into());
            let (from, to) = (asked + delay.saturating_sub(SECOND), until + delay + SECOND);
            match self.flushes.get_mut(FLUSHES - 1) {
                Some(last) => *last = (last.0.min(from), last.1.max(to)),
                None => self.flushes.push((from, to)),
            }
        }
        self.empty(now);
    }

    /// The connection to a client's server is over, or is to be.
    fn part(&mut self, tag: Tag, now: Instant, how: fn(&mut Client)) {
        let Some(client) = self.clients.get_mut(&tag) else { return };
        if let Some(id) = client.id {
            self.owners.remove(&id);
            self.net.order(Order::Close(id));
        }
        how(client);
        let opens = std::mem::take(&mut client.opens).into_iter();
        let opens = opens.chain(std::mem::take(&mut client.partial)).chain(client.kept.drain());
        for open in opens.collect::<Vec<Open>>() {
            self.guard.keep(open, now + QUARANTINE);
        }
        let delays = std::mem::take(&mut client.delays);
        self.schedule(delays, (now, now + QUARANTINE));
    }

    /// A client that there is no room for.
    fn refuse(&mut self, tag: Tag, now: Instant) {
        self.part(tag, now, Client::end);
        if let Some(client) = self.clients.get_mut(&tag) {
            client.out.extend_from_slice(NO_ROOM);
            (client.closes, client.input) = (true, Vec::new());
        }
    }

    /// Nothing of a client is kept.
    fn forget(&mut self, tag: Tag, now: Instant) {
        self.part(tag, now, Client::end);
        self.clients.remove(&tag);
    }
}
