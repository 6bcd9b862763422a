//! Memory refuses writes to rings: that costs the connection, and nobody else.

use std::net::{Ipv4Addr, SocketAddrV4};

use clap::Parser;

use crate::frame::{self, Packet, RST};
use crate::rig::{changes, Rig};
use crate::tcp::Tcp;
use crate::Args;

const RING: u64 = 64 << 10;

struct Client {
    tcp: Tcp,
    reset: bool,
}

struct Net {
    rig: Rig,
    clients: Vec<Client>,
}

impl Net {
    fn new() -> Net {
        let args = Args::parse_from(["bench"]);
        Net { rig: Rig::new(64 << 20, &args).unwrap(), clients: Vec::new() }
    }

    fn address(n: usize) -> SocketAddrV4 {
        let (subnet, host) = (1 + n / 200, 1 + n % 200);
        SocketAddrV4::new(Ipv4Addr::new(10, 77, subnet as u8, host as u8), 20_000 + n as u16)
    }

    /// The number of a new client. Whoever has sent something gets an id: in the order of these calls, as long as none is
    /// used for a second time.
    fn connect(&mut self) -> usize {
        let n = self.clients.len();
        let isn = 7 + 1_000_000 * n as u32;
        let tcp = Tcp::connect(Net::address(n), frame::PORT, isn, 1 << 20, &mut self.rig);
        self.clients.push(Client { tcp, reset: false });
        self.until(|c| c[n].tcp.open());
        n
    }

    /// Runs until it is so.
    fn until(&mut self, done: impl Fn(&[Client]) -> bool) {
        let (mut outs, start) = (Vec::new(), self.rig.clock());
        while !done(&self.clients) {
            assert!(self.rig.clock() - start < 3_000_000, "it does not come to that");
            let now = self.rig.clock();
            for c in self.clients.iter_mut().filter(|c| !c.reset) {
                c.tcp.send(now, &mut self.rig, |_, _| ());
            }
            if !self.rig.run(1000, &mut outs).unwrap() {
                self.rig.tick();
            }
            for out in outs.drain(..) {
                // A segment that could not be read has a wrong checksum.
                let Ok(Some((to, Packet::Tcp(s)))) = frame::parse(&out.frame) else { continue };
                let c = &mut self.clients[usize::from(to.port()) - 20_000];
                if s.flags & RST != 0 {
                    c.reset = true;
                } else if !c.reset {
                    c.tcp.receive(&s, out.stamp.last).unwrap();
                }
            }
        }
    }

    fn write(&mut self, n: usize, text: &[u8]) {
        self.clients[n].tcp.write(text);
    }

    /// Asks, and has this answer.
    fn ask(&mut self, n: usize, text: &[u8], answer: &[u8]) {
        self.write(n, text);
        self.answered(n, answer);
    }

    fn answered(&mut self, n: usize, answer: &[u8]) {
        let len = answer.len();
        self.until(|c| c[n].reset || c[n].tcp.rx.len() >= len);
        assert!(!self.clients[n].reset, "client {n} was reset");
        let got: Vec<u8> = self.clients[n].tcp.rx.drain(..).collect();
        assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(answer));
    }

    /// It is served, with what it stored before.
    fn serves(&mut self, n: usize) {
        let key = format!("key{n}");
        self.ask(n, format!("set {key} 0 0 5\r\nhello\r\n").as_bytes(), b"STORED\r\n");
        let value = format!("VALUE {key} 0 5\r\nhello\r\nEND\r\n");
        self.ask(n, format!("get {key}\r\n").as_bytes(), value.as_bytes());
    }

    /// The rings' caches hold others' lines: 4,096 of each. Half a MiB goes both ways.
    fn forget(&mut self, by: usize) {
        let set = [b"set big 0 0 8000\r\n".as_slice(), &[b'v'; 8000], b"\r\n"].concat();
        let value = [b"VALUE big 0 8000\r\n".as_slice(), &[b'v'; 8000], b"\r\nEND\r\n"].concat();
        for _ in 0..64 {
            self.ask(by, &set, b"STORED\r\n");
            self.ask(by, b"get big\r\n", &value);
        }
    }
}

#[test]
fn a_refused_write_costs_its_connection() {
    let mut net = Net::new();
    let (rx, tx) = (net.rig.layout.rx_ring_base, net.rig.layout.tx_ring_base);
    let before = net.rig.counters().unwrap();
    let first: Vec<usize> = (0..5).map(|_| net.connect()).collect();
    first.iter().for_each(|&n| net.serves(n));

    // What client 1 sends is not kept, nor what client 2 is sent; and what client 3 has sent half of is known no more.
    for (ring, n, text) in [(rx, 1, "get key1\r\n"), (tx, 2, "get key2\r\n"), (rx, 3, "get ")] {
        net.rig.sim.direct().refuse(ring + n as u64 * RING, RING);
        net.write(n, text.as_bytes());
        let asked = net.rig.clock();
        net.until(|c| c[n].reset);
        assert!(net.rig.clock() - asked < 20_000, "reset at once");
        net.rig.sim.direct().refuse(0, 0);
        let reset: Vec<usize> = (0..5).filter(|&n| net.clients[n].reset).collect();
        assert_eq!(reset, (1..=n).collect::<Vec<_>>(), "it alone");
        net.serves(0);
        net.serves(4);
    }
    let counts = changes(&before, &net.rig.counters().unwrap());
    let count = |name: &str| counts.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
    assert_eq!(count("TcpResetsOut"), 3, "{counts:?}");
    assert_eq!(count("IngressBadWrites"), 3, "{counts:?}");

    // New ones are served, with new ids and then, when there are no more of these, with those three.
    let ids: Vec<usize> = (5..1024).map(|_| net.connect()).collect();
    net.serves(ids[0]);
    let again: Vec<usize> = (1..4).map(|_| net.connect()).collect();
    for (id, &n) in (1..).zip(&again) {
        net.serves(n);
        net.write(n, b"get ke");
        net.until(|c| c[n].tcp.all_sent());
        let ring = net.rig.sim.memory(rx + id * RING, RING).unwrap();
        assert!(ring.windows(6).any(|w| w == b"get ke"), "id {id} again");
    }
    // What only memory knows of the request is believed.
    net.forget(0);
    for &n in &again {
        let value = format!("VALUE key{n} 0 5\r\nhello\r\nEND\r\n");
        net.ask(n, format!("y{n}\r\n").as_bytes(), value.as_bytes());
    }
}
