//! Requests as of Facebook's pool ETC (`wirekv_load::etc`): sizes of keys and values, 30 GETs for a SET, keys by Zipf's law.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::Zipf;
use wirekv_load::etc::{key_size, value_size};
use wirekv_machine::frames::{request, text, HEADERS};
use wirekv_machine::Machine;

/// Keys: more bytes than an accelerator has, fewer than the store.
pub const KEYS: usize = 8192;
/// Requests at once when the rate is measured.
pub const CLIENTS: usize = 16;
pub const ZIPF: f64 = 0.99;
const GETS_OF: (u32, u32) = (30, 31);
/// What one datagram with all around it surely carries.
const VALUE_MAX: f64 = 8000.0;
const FILL: usize = 8000;
/// Clocks in which every request is answered.
const PATIENCE: u64 = 10_000_000;

pub struct Etc {
    keys: Vec<(String, usize)>,
    zipf: Zipf<f64>,
    rng: SmallRng,
    ids: u16,
}

/// What requests took.
pub struct Taken {
    /// Clocks from a request's first beat to the last one of its answer, sorted.
    pub each: Vec<u64>,
    /// Clocks for all.
    pub all: u64,
}

impl Taken {
    pub fn at(&self, share: f64) -> u64 {
        self.each[(share * (self.each.len() - 1) as f64).round() as usize]
    }
}

impl Etc {
    pub fn new(seed: u64) -> Etc {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut uniform = || 1.0 - rng.random::<f64>();
        let keys = (0..KEYS).map(|n| {
            let width = (key_size(uniform()).round() as usize).clamp(8, 250) - 1;
            (format!("k{n:0width$}"), value_size(uniform(), uniform()).min(VALUE_MAX) as usize)
        });
        let keys = keys.collect();
        let zipf = Zipf::new(KEYS as f64, ZIPF).expect("it has keys");
        Etc { keys, zipf, rng, ids: 0 }
    }

    fn set(&self, key: usize, how: &str) -> Vec<u8> {
        let (name, length) = &self.keys[key];
        let value = vec![b'a' + (key % 26) as u8; *length];
        [format!("set {name} 0 0 {length}{how}\r\n").as_bytes(), &value, b"\r\n"].concat()
    }

    /// Stores all keys, as many at once as a datagram takes.
    pub fn fill(&self, machine: &mut Machine) {
        let mut some = Vec::new();
        for key in 0..KEYS {
            let set = self.set(key, " noreply");
            if some.len() + set.len() > FILL {
                machine.send(&request(0, &some));
                machine.run(PATIENCE, false);
                some.clear();
            }
            some.extend(set);
        }
        machine.send(&request(0, &some));
        machine.run(PATIENCE, false);
    }

    /// A request, and how its answer begins.
    fn next(&mut self) -> (Vec<u8>, String) {
        let key = self.rng.sample(self.zipf) as usize - 1;
        if self.rng.random_ratio(GETS_OF.0, GETS_OF.1) {
            let (name, length) = &self.keys[key];
            (format!("get {name}\r\n").into(), format!("VALUE {name} 0 {length}\r\n"))
        } else {
            (self.set(key, ""), "STORED\r\n".to_owned())
        }
    }

    /// Has so many requests answered, `at_once` at a time.
    pub fn run(&mut self, machine: &mut Machine, requests: usize, at_once: usize) -> Taken {
        let begin = machine.clock();
        machine.inputs();
        // By id: how its answer begins, and when it was sent.
        let (mut waiting, mut order) = (HashMap::new(), Vec::new());
        let (mut sent, mut each) = (0, Vec::new());
        while each.len() < requests {
            while sent < requests && waiting.len() < at_once {
                let (text, answer) = self.next();
                self.ids = self.ids.wrapping_add(1);
                machine.send(&request(self.ids, &text));
                waiting.insert(self.ids, (answer, 0));
                order.push(self.ids);
                sent += 1;
            }
            let clocks = machine.run(PATIENCE, true);
            assert!(clocks < PATIENCE && machine.dropped() == 0, "a request is not answered");
            for (stamp, id) in machine.inputs().iter().zip(&order) {
                waiting.get_mut(id).expect("it waits").1 = stamp.first;
            }
            order.retain(|id| waiting[id].1 == 0);
            machine.outputs(|stamp, frame| {
                let word = |n| u16::from_be_bytes([frame[n], frame[n + 1]]);
                let (id, number, total) = (word(HEADERS - 8), word(HEADERS - 6), word(HEADERS - 4));
                let (answer, first) = &waiting[&id];
                if number == 0 {
                    let text = text(frame);
                    assert!(text.starts_with(answer.as_bytes()), "{}", text.escape_ascii());
                }
                if number + 1 == total {
                    each.push(stamp.last - first);
                    waiting.remove(&id);
                }
            });
        }
        each.sort_unstable();
        Taken { each, all: machine.clock() - begin }
    }
}
