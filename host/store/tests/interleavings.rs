//! The store's own code under the scheduler of the shuttle crate: threads go on in random order at
//! each operation on shared memory. `cargo test --release -p wirekv-store --features shuttle --test
//! interleavings`; `ROUNDS=n` tries n times as many orders, `SHUTTLE_RANDOM_SEED` again one of them.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use common::{rounds, set, value};
use shuttle::rand::RngCore;
use shuttle::thread;
use wirekv_store::{Config, HashKey, Local, Stage, Store, Whole};

const MIX: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// A store in which everything happens soon, with a hash that the scheduler's seed draws.
fn store(evict: bool, buckets: usize, chunk: usize, chunks: usize) -> Arc<Store> {
    let nh = std::array::from_fn(|_| shuttle::rand::thread_rng().next_u32());
    let config = Config {
        chunk: Some(chunk),
        buckets: Some(buckets),
        item_max: 3 * chunk,
        seed: HashKey { nh, mix: MIX },
        evict,
        ..Config::new(4096 + buckets * 64 + chunks * (chunk + 256))
    };
    Store::new(config).unwrap()
}

fn key(n: u64) -> Vec<u8> {
    format!("k{n}").into_bytes()
}

fn put(local: &mut Local, n: u64, version: u64, len: usize) -> bool {
    let k = key(n);
    set(local, &k, &value(&k, version, len), 0, 0).is_some()
}

/// What is there is right.
fn check(local: &Local, n: u64) -> bool {
    let k = key(n);
    let item = local.get(&k, local.hash(&k));
    if let Some(item) = item {
        local.hit(&item);
        common::check(&k, item.value());
    }
    item.is_some()
}

/// Runs the threads to their ends; none of them waits for one that is not running.
fn together(store: &Arc<Store>, threads: Vec<Box<dyn FnOnce(&mut Local) + Send>>) {
    let threads: Vec<_> = threads
        .into_iter()
        .map(|work| {
            let store = store.clone();
            thread::spawn(move || work(&mut store.local()))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn explore(orders: usize, test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(test, rounds(orders));
}

/// Inserts move entries to their other buckets: each reader finds its key all the time.
#[test]
fn entries_move_and_are_found() {
    static MOVES: AtomicU64 = AtomicU64::new(0);
    explore(1000, || {
        let store = store(false, 4, 1024, 16);
        let mut local = store.local();
        let there: Vec<_> = (0..18).filter(|&n| put(&mut local, n, n, 8)).collect();
        local.offline();
        let before = store.stats().index_moves;
        let writing = Arc::new(AtomicBool::new(true));
        let mut threads: Vec<Box<dyn FnOnce(&mut Local) + Send>> = Vec::new();
        for &n in &there {
            let writing = writing.clone();
            threads.push(Box::new(move |local: &mut Local| {
                while writing.load(Relaxed) {
                    assert!(check(local, n), "{n} is there");
                    local.quiesce();
                }
            }));
        }
        threads.push(Box::new(move |local: &mut Local| {
            for n in 18..30 {
                put(local, n, n, 8);
                local.quiesce();
            }
            writing.store(false, Relaxed);
        }));
        together(&store, threads);
        MOVES.fetch_add(store.stats().index_moves - before, Relaxed);
    });
    let moves = MOVES.load(Relaxed);
    println!("{moves} moves");
    assert!(moves > 50);
}

/// Room that a reader may look at is not written to: what it found stays as it is until it says
/// that it holds nothing.
#[test]
fn a_reader_keeps_what_it_found() {
    explore(400, || {
        let store = store(true, 8, 128, 10);
        let mut local = store.local();
        put(&mut local, 0, 1, 8);
        local.offline();
        let reader = Box::new(|local: &mut Local| {
            for turn in 0..4 {
                let k = key(turn % 2);
                if let Some(item) = local.get(&k, local.hash(&k)) {
                    for _ in 0..300 {
                        common::check(&k, item.value());
                        thread::yield_now();
                    }
                }
                local.quiesce();
            }
        });
        let writer = |first: u64| {
            Box::new(move |local: &mut Local| {
                for n in first..first + 30 {
                    put(local, n % 8, n, 40);
                    local.quiesce();
                }
            })
        };
        together(&store, vec![reader, writer(0), writer(100)]);
    });
}

/// What is done to a locked key is one step for all.
#[test]
fn no_change_is_lost() {
    explore(300, || {
        let store = store(true, 4, 1024, 16);
        let mut local = store.local();
        set(&mut local, b"sum", &0u64.to_le_bytes(), 0, 0).unwrap();
        local.offline();
        let add = || {
            Box::new(|local: &mut Local| {
                for _ in 0..4 {
                    let mut room = local.reserve(b"sum", 8, 0, 0).unwrap();
                    let entry = local.lock_for(&room);
                    let sum = entry.item().unwrap().value().try_into().unwrap();
                    room.value().copy_from_slice(&(u64::from_le_bytes(sum) + 1).to_le_bytes());
                    entry.link(room, None).unwrap();
                    local.quiesce();
                }
            })
        };
        together(&store, vec![add(), add(), add()]);
        let local = store.local();
        let sum = local.get(b"sum", local.hash(b"sum")).unwrap();
        assert_eq!(sum.value(), 12u64.to_le_bytes());
    });
}

/// Chunks are free, in a log, emptied, collected for a long item, or lent; each is one of these.
#[test]
fn chunks_have_one_owner() {
    explore(200, || {
        let store = store(true, 8, 256, 32);
        let small = |first: u64| {
            Box::new(move |local: &mut Local| {
                for n in first..first + 25 {
                    put(local, n % 10, n, 60);
                    assert!(check(local, n % 10) || n > 0);
                    local.quiesce();
                }
            })
        };
        let long = Box::new(|local: &mut Local| {
            for n in 20..26 {
                put(local, n % 22, n, 500);
                check(local, n % 22);
                local.quiesce();
            }
        });
        let pieces = Box::new(|local: &mut Local| {
            for n in 30..36 {
                let k = key(n % 32);
                let bytes = value(&k, n, 200);
                let mut stage = local.stage(bytes.len());
                if arrive(local, &mut stage, &bytes) {
                    let Ok(Whole::Blocks(blocks)) = stage.finish() else { continue };
                    if let Ok(mut room) = local.reserve(&k, bytes.len(), 0, 0) {
                        Whole::Blocks(blocks).copy_to(room.value());
                        local.lock_for(&room).link(room, None).unwrap();
                    }
                }
                check(local, n % 32);
                local.quiesce();
            }
        });
        together(&store, vec![small(0), small(100), long, pieces]);
        let mut local = store.local();
        for n in 0..40 {
            check(&local, n);
        }
        // What waits for readers comes free, and what was lent is given back.
        local.quiesce();
        store.set_now(store.now() + 100);
        let s = store.stats();
        let all = s.chunks_free + s.chunks_small + s.chunks_main + s.chunks_limbo + s.chunks_lent;
        assert_eq!(all, s.chunks, "{s:?}");
        assert_eq!(s.chunks_lent, 0);
    });
}

fn arrive(local: &mut Local, stage: &mut Stage, bytes: &[u8]) -> bool {
    for piece in bytes.chunks(70) {
        for _ in 0..50 {
            if stage.make_room(local, piece.len()).is_ok() {
                break;
            }
            local.quiesce();
            thread::yield_now();
        }
        let got = stage.make_room(local, piece.len()).is_ok() && stage.take(piece).is_ok();
        if !got {
            return false;
        }
    }
    true
}
