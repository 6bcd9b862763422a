//! What parsing and answering cost, in nanoseconds a request, with everything in the cache. Of
//! many batches the fastest tenth counts: other programs on the machine do not show.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use wirekv_memcache::Session;
use wirekv_proto::{Asked, Counters, Engine, Out, Parse, Server, Settings, Told};
use wirekv_store::{Config, Store};

struct Nobody;

impl Server for Nobody {
    fn stats(&mut self, _: &[u8], _: u64, _: &Counters, _: &mut dyn FnMut(&[u8], &[u8])) -> Told {
        Told::Nothing
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

const BATCH: usize = 64;
const ROUNDS: usize = 20_000;

fn main() {
    let store = Store::new(Config::new(64 << 20)).expect("a store");
    store.set_now(100);
    let mut engine = Engine::new(store.local(), Arc::new(Settings::default()));
    let value = |len: usize| "v".repeat(len);
    let key = |i: usize| format!("key-{i:012}");
    let get = |i| format!("get {}\r\n", key(i));
    let set =
        |len: usize| move |i: usize| format!("set {} 0 0 {len}\r\n{}\r\n", key(i), "v".repeat(len));
    let binary = |i: usize| {
        let key = key(i);
        let mut packet = vec![0x80, 0, 0, key.len() as u8, 0, 0, 0, 0, 0, 0, 0, key.len() as u8];
        packet.extend([0; 12]);
        packet.extend(key.as_bytes());
        packet
    };
    println!("{:24} {:>8} {:>8}", "16-byte keys", "parse", "execute");
    for len in [0, 32, 100, 1000] {
        run(&format!("set {len}"), &mut engine, |i| set(len)(i).into_bytes());
        run(&format!("get {len}"), &mut engine, |i| get(i).into_bytes());
    }
    run("set 100", &mut engine, |i| set(100)(i).into_bytes());
    run("gets 100", &mut engine, |i| format!("gets {}\r\n", key(i)).into_bytes());
    run("get miss", &mut engine, |i| format!("get no{}\r\n", key(i)).into_bytes());
    let ten = |i: usize| (0..10).map(|j| key((i + j) % BATCH)).collect::<Vec<_>>().join(" ");
    run("get of ten keys", &mut engine, |i| format!("get {}\r\n", ten(i)).into_bytes());
    run("mg v", &mut engine, |i| format!("mg {} v\r\n", key(i)).into_bytes());
    run("mg s v t k O1", &mut engine, |i| format!("mg {} s v t k O1\r\n", key(i)).into_bytes());
    let ms = |i| format!("ms {} 100 T0 F0\r\n{}\r\n", key(i), value(100)).into_bytes();
    run("ms 100", &mut engine, ms);
    run("binary get 100", &mut engine, binary);
    run("touch 0", &mut engine, |i| format!("touch {} 0\r\n", key(i)).into_bytes());
    run("delete", &mut engine, |i| format!("delete {}\r\n", key(i)).into_bytes());
    run("set 1", &mut engine, |i| format!("set {} 0 0 1\r\n7\r\n", key(i)).into_bytes());
    run("incr", &mut engine, |i| format!("incr {} 1\r\n", key(i)).into_bytes());
}

/// A batch of 64 requests again and again, as a server does it.
fn run(name: &str, engine: &mut Engine, request: impl Fn(usize) -> Vec<u8>) {
    let input: Vec<u8> = (0..BATCH).flat_map(request).collect();
    let mut session = Session::default();
    let mut out = Out::new();
    let mut batch = [(0, Asked::skip(0)); BATCH];
    let (mut parsing, mut executing) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut at = 0;
        for place in &mut batch {
            let Parse::Request(request) = session.parse(black_box(&input[at..]), engine) else {
                panic!("{name} is not parsed")
            };
            *place = (at, request);
            at += request.len as usize;
        }
        let parsed = Instant::now();
        for (_, request) in &batch {
            request.prefetch_bucket(engine);
        }
        for (_, request) in &batch {
            request.prefetch_item(engine);
        }
        for (at, request) in &mut batch {
            session.execute(request, &input[*at..], engine, &mut Nobody, &mut out);
        }
        black_box(&out);
        out.clear();
        engine.local.quiesce();
        executing.push(parsed.elapsed().as_nanos());
        parsing.push((parsed - start).as_nanos());
    }
    let each = |mut batches: Vec<u128>| {
        batches.sort_unstable();
        batches[ROUNDS / 10] as f64 / BATCH as f64
    };
    println!("{name:24} {:8.1} {:8.1}", each(parsing), each(executing));
}
