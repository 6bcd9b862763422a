//! A cache before another server: whatever clients and the server send, clients are answered in time, and nothing goes to the
//! cache that has no room there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use wirekv_proto::limits::{value_max, KEY_MAX};
use wirekv_upstream::{
    Cache, Event, Id, Item, Net, Order, Piece, Protocol, Server, Settings, Tag, Upstream, Within,
};

const CLIENTS: usize = 4;
const ITEM_MAX: usize = 1 << 10;
/// Longest piece of an answer.
const PIECE: usize = 2 << 10;
const UNIX: Duration = Duration::from_secs(1_000_000_000);
/// Of a Redis with a handful of commands: name, arity, flags, first key, last key, step.
const COMMANDS: &[u8] = b"*6\r\n\
    *6\r\n$3\r\nget\r\n:2\r\n*0\r\n:1\r\n:1\r\n:1\r\n\
    *6\r\n$4\r\nmget\r\n:-2\r\n*0\r\n:1\r\n:-1\r\n:1\r\n\
    *6\r\n$3\r\nset\r\n:-3\r\n*1\r\n+write\r\n:1\r\n:1\r\n:1\r\n\
    *6\r\n$4\r\nmset\r\n:-3\r\n*1\r\n+write\r\n:1\r\n:-1\r\n:2\r\n\
    *6\r\n$5\r\nblpop\r\n:-3\r\n*2\r\n+write\r\n+blocking\r\n:1\r\n:-2\r\n:1\r\n\
    *6\r\n$4\r\nping\r\n:-1\r\n*0\r\n:0\r\n:0\r\n:0\r\n";

/// The server's connections, with bytes of each that were told and not taken.
#[derive(Default)]
struct Wires {
    open: BTreeMap<Id, usize>,
    events: Vec<Event>,
}

impl Wires {
    fn order(&mut self, order: Order) {
        match order {
            Order::Open(id) => assert!(self.open.insert(id, 0).is_none(), "it was there before"),
            Order::Send(id, bytes) => {
                // One that has ended meanwhile gets nothing.
                if self.open.contains_key(&id) {
                    self.events.push(Event::Sent(id, bytes.len()));
                }
            }
            Order::Took(id, count) => {
                if let Some(told) = self.open.get_mut(&id) {
                    *told = told.checked_sub(count).expect("no more is taken than was told");
                }
            }
            Order::Close(id) => {
                self.open.remove(&id);
                self.events.retain(|event| {
                    let (Event::Data(of, _) | Event::Sent(of, _) | Event::Closed { id: of, .. }) =
                        event;
                    *of != id
                });
            }
        }
    }

    /// The server says something on its connection of this number, if there is one.
    fn say(&mut self, number: usize, text: &[u8]) {
        let count = self.open.len().max(1);
        if let Some((id, told)) = self.open.iter_mut().nth(number % count) {
            *told += text.len();
            self.events.push(Event::Data(*id, text.to_vec()));
        }
    }

    /// It closes it.
    fn close(&mut self, number: usize, connected: bool) {
        let count = self.open.len().max(1);
        if let Some(id) = self.open.keys().nth(number % count).copied() {
            self.open.remove(&id);
            self.events.push(Event::Closed { id, connected });
        }
    }
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Wires>>);

impl Net for Shared {
    fn order(&mut self, order: Order) {
        self.0.borrow_mut().order(order);
    }

    fn go(&mut self) {}

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.0.borrow_mut().events)
    }
}

struct Room;

impl Cache for Room {
    fn delete(&mut self, keys: &[Vec<u8>]) -> bool {
        !keys.is_empty()
    }

    fn flush(&mut self) -> bool {
        true
    }

    fn fill(&mut self, items: &[Item]) -> bool {
        for Item { key, value, .. } in items {
            assert!((1..=KEY_MAX).contains(&key.len()));
            assert!(value.len() <= value_max(ITEM_MAX, key.len()));
        }
        true
    }
}

struct World {
    upstream: Upstream<Shared>,
    wires: Shared,
    now: Instant,
    /// Clients to which an answer is owed.
    waits: [bool; CLIENTS],
}

impl World {
    fn tag(client: usize) -> Tag {
        [client as u8, 0, 0, 0]
    }

    fn turn(&mut self) {
        let mut pieces: Vec<(Tag, Piece)> = Vec::new();
        self.upstream.turn(self.now, &mut Room, &mut |tag, piece, _| pieces.push((tag, piece)));
        for (tag, piece) in pieces {
            let waits = &mut self.waits[usize::from(tag[0])];
            assert!(*waits && piece.text.len() <= PIECE && (piece.last || !piece.closes));
            *waits = !piece.last;
            if !piece.last {
                self.upstream.more(tag, self.now);
            }
        }
    }

    /// What happens, to whom, and with which bytes.
    fn step(&mut self, what: u8, whom: usize, text: &[u8]) {
        let client = whom % CLIENTS;
        match what {
            0..=2 if !self.waits[client] && !text.is_empty() => {
                let within = match (self.upstream.protocol(), whom / CLIENTS % 4) {
                    (Protocol::Memcached, 1) => Within::Get,
                    (Protocol::Memcached, 2) => Within::Gets,
                    (Protocol::Redis, 1) => Within::Mget(2),
                    _ => Within::No,
                };
                let row = (within, what == 2);
                self.upstream.row(World::tag(client), text, row, (self.now, UNIX));
                self.waits[client] = true;
            }
            3 if !self.waits[client] => {
                let told = self.upstream.say(World::tag(client), text, false, self.now);
                self.waits[client] |= told;
            }
            0..=3 => {}
            4 => self.wires.0.borrow_mut().say(whom, text),
            // The first of its connections is the one over which values are read.
            5 => {
                let pong = match self.upstream.protocol() {
                    Protocol::Memcached => &b"MN\r\n"[..],
                    Protocol::Redis => b"+PONG\r\n",
                };
                self.wires.0.borrow_mut().say(0, pong);
            }
            6 => self.wires.0.borrow_mut().close(whom / 2, whom.is_multiple_of(2)),
            _ => self.now += Duration::from_millis(10 * text.len() as u64),
        }
        self.turn();
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.turn();
    }
}

/// The first byte says what the server speaks. Then come steps: what happens to whom, how many bytes it has, and those.
pub fn fuzz_upstream(data: &[u8]) {
    let Some((how, mut rest)) = data.split_first() else { return };
    let protocol = if how & 1 == 0 { Protocol::Memcached } else { Protocol::Redis };
    let server = Server::told(protocol, ([127, 0, 0, 1], 1).into(), COMMANDS);
    let settings = Settings { admit_all: how & 2 == 0, item_max: ITEM_MAX, ..Settings::default() };
    let (now, wires) = (Instant::now(), Shared::default());
    let server = server.expect("it tells its commands");
    let upstream = Upstream::new(server, settings, wires.clone(), now).expect("there is memory");
    let mut world = World { upstream, wires, now, waits: [false; CLIENTS] };
    world.turn();
    while let Some((&[what, len], more)) = rest.split_first_chunk() {
        let (text, behind) = more.split_at(more.len().min(len.into()));
        rest = behind;
        world.step(what & 7, usize::from(what >> 3), text);
    }
    // A client's server has two seconds for each piece.
    for _ in 0..1000 {
        world.pass(Duration::from_millis(10));
    }
    for client in 0..CLIENTS {
        let blocks = world.upstream.blocks(World::tag(client));
        assert!(!world.waits[client] || blocks, "client {client} is not answered");
    }
}
