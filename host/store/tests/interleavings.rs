//! The store's own code under the scheduler of the shuttle crate: threads go on in random order at
//! each operation on shared memory. `cargo test --release -p wirekv-store --features shuttle --test
//! interleavings`; `ROUNDS=n` tries n times as many orders, `WIREKV_SEED=n` others; what fails prints its own seed, with which
//! `SHUTTLE_RANDOM_SEED` tries it again.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use common::{rounds, seed, set, value};
use shuttle::rand::RngCore;
use shuttle::scheduler::RandomScheduler;
use shuttle::{thread, Runner};
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
    let scheduler = RandomScheduler::new_from_seed(seed(), rounds(orders));
    Runner::new(scheduler, Default::default()).run(test);
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

/// Several keys are changed in one step, also for readers, which take no lock.
#[test]
fn several_keys_are_one_step() {
    explore(400, || {
        let store = store(true, 4, 1024, 16);
        let next = Arc::new(AtomicU64::new(1));
        let writer = || {
            let next = next.clone();
            Box::new(move |local: &mut Local| {
                for _ in 0..3 {
                    let rooms = (0..3).map(|n| local.reserve(&key(n), 8, 0, 0).unwrap());
                    let mut rooms: Vec<_> = rooms.collect();
                    let hashes: Vec<_> = rooms.iter().map(|room| room.hash()).collect();
                    local.lock_all(&hashes);
                    let number = next.fetch_add(1, Relaxed).to_le_bytes();
                    rooms.iter_mut().for_each(|room| room.value().copy_from_slice(&number));
                    local.link_all(rooms).unwrap();
                    local.unlock_all();
                    local.quiesce();
                }
            })
        };
        let reader = || {
            Box::new(|local: &mut Local| {
                let mut last = 0;
                for n in [0, 1, 2, 1, 0, 2, 0, 1, 2] {
                    let k = key(n);
                    let item = local.get(&k, local.hash(&k));
                    let number =
                        item.map_or(0, |item| u64::from_le_bytes(item.value().try_into().unwrap()));
                    assert!(number >= last, "{number} after {last}");
                    last = number;
                    local.quiesce();
                }
            })
        };
        together(&store, vec![writer(), writer(), reader(), reader()]);
    });
}

/// Nobody waits in a circle: keys are locked, room is set aside, found by eviction and by moving
/// entries, all at once.
#[test]
fn locked_keys_and_eviction() {
    explore(300, || {
        let store = store(true, 4, 256, 16);
        let several = |first: u64| {
            Box::new(move |local: &mut Local| {
                for turn in 0..6 {
                    let numbers: Vec<_> = (0..4).map(|n| first + (7 * n + 5 * turn) % 30).collect();
                    let keys: Vec<_> = numbers.iter().map(|&n| key(n)).collect();
                    let hashes: Vec<_> = keys.iter().map(|k| local.hash(k)).collect();
                    let sizes = keys.iter().map(|k| Store::footprint(k.len(), 40, 0, 0));
                    let sizes: Vec<_> = sizes.collect();
                    local.quiesce();
                    if local.set_aside(&sizes).is_err() {
                        continue;
                    }
                    local.lock_all(&hashes);
                    for k in &keys {
                        let mut room = local.reserve(k, 40, 0, 0).expect("it was set aside");
                        room.value().copy_from_slice(&value(k, turn, 40));
                        local.lock_for(&room).link(room, None).unwrap();
                    }
                    local.unlock_all();
                }
            })
        };
        let single = Box::new(|local: &mut Local| {
            for n in 0..30 {
                put(local, n, n, 60);
                check(local, n / 2);
                local.quiesce();
            }
        });
        together(&store, vec![several(0), several(10), single]);
        let local = store.local();
        let there = (0..40).filter(|&n| check(&local, n)).count();
        assert_eq!(store.keys(0), there as u64);
    });
}

/// A walk meets what is there all the time, wherever it is moved meanwhile.
#[test]
fn walks_meet_what_is_there() {
    static MOVES: AtomicU64 = AtomicU64::new(0);
    explore(1000, || {
        let store = store(false, 6, 1024, 16);
        let mut local = store.local();
        let there: Vec<_> = (0..40).filter(|&n| put(&mut local, n, n, 8)).collect();
        local.offline();
        let before = store.stats().index_moves;
        let walker = Box::new(move |local: &mut Local| {
            let (mut cursor, mut met) = (0, Vec::new());
            loop {
                cursor = local.scan(Some(0), cursor, 1, |item| met.push(item.key().to_vec()));
                if cursor == 0 {
                    break;
                }
                local.quiesce();
                thread::yield_now();
            }
            for &n in &there {
                assert!(met.contains(&key(n)), "{n} is there");
            }
        });
        let writer = Box::new(|local: &mut Local| {
            for n in 40..70 {
                put(local, n, n, 8);
                if n > 44 {
                    local.lock(&key(n - 4)).remove();
                }
                local.quiesce();
            }
        });
        together(&store, vec![walker, writer]);
        MOVES.fetch_add(store.stats().index_moves - before, Relaxed);
    });
    let moves = MOVES.load(Relaxed);
    println!("{moves} moves");
    assert!(moves > 50);
}

/// What is stored again while others flush is met by a walk if it is there.
#[test]
fn walks_meet_what_outlives_a_flush() {
    static MET: AtomicU64 = AtomicU64::new(0);
    static LEFT: AtomicU64 = AtomicU64::new(0);
    explore(1000, || {
        let store = store(false, 8, 1024, 16);
        let writer = |from: u64| -> Box<dyn FnOnce(&mut Local) + Send> {
            Box::new(move |local: &mut Local| {
                for turn in 0..3 {
                    for n in from..from + 3 {
                        put(local, n, turn, 8);
                        local.quiesce();
                    }
                }
            })
        };
        let flush = Box::new(|local: &mut Local| {
            for _ in 0..3 {
                for _ in 0..shuttle::rand::thread_rng().next_u32() % 150 {
                    thread::yield_now();
                }
                local.store().flush();
            }
        });
        together(&store, vec![writer(0), writer(10), flush]);
        let local = store.local();
        let (mut cursor, mut met) = (0, Vec::new());
        loop {
            cursor = local.scan(Some(0), cursor, 10, |item| met.push(item.key().to_vec()));
            if cursor == 0 {
                break;
            }
        }
        let there: Vec<_> = (0..20).filter(|&n| check(&local, n)).map(key).collect();
        assert!(there.iter().all(|key| met.contains(key)), "{there:?} {met:?}");
        MET.fetch_add(there.len() as u64, Relaxed);
        LEFT.fetch_add(6 - there.len() as u64, Relaxed);
    });
    let (met, left) = (MET.load(Relaxed), LEFT.load(Relaxed));
    println!("{met} met, {left} flushed");
    assert!(met > 500 && left > 50);
}

/// What was watched and is unchanged has the same item; and if it has, it is unchanged.
#[test]
fn a_watch_misses_nothing() {
    explore(500, || {
        let store = store(true, 4, 1024, 16);
        let mut local = store.local();
        put(&mut local, 0, 0, 8);
        local.offline();
        let unique = |local: &Local| {
            let k = key(0);
            local.get(&k, local.hash(&k)).map(|item| (item.cas(), item.expiry()))
        };
        let watcher = Box::new(move |local: &mut Local| {
            for _ in 0..4 {
                let watch = local.watch(0, &key(0));
                local.lock_all(&[watch.hash()]);
                // As of when it is locked for the first time.
                let before = watch.is_unchanged(local).then(|| unique(local));
                local.unlock_all();
                thread::yield_now();
                local.lock_all(&[watch.hash()]);
                if let Some(before) = before {
                    let (unchanged, after) = (watch.is_unchanged(local), unique(local));
                    assert!(!unchanged || before == after);
                    assert!(unchanged || before != after || after.is_none());
                }
                local.unlock_all();
                local.quiesce();
            }
        });
        let writer = |first: u64| {
            Box::new(move |local: &mut Local| {
                for n in first..first + 4 {
                    match n % 3 {
                        0 => drop(local.lock(&key(0)).remove()),
                        _ => drop(put(local, 0, n, 8)),
                    }
                    local.quiesce();
                }
            })
        };
        together(&store, vec![watcher, writer(1), writer(10)]);
    });
}

/// Keys are counted to the one, whatever is flushed meanwhile.
#[test]
fn keys_are_counted() {
    explore(500, || {
        let store = store(true, 4, 1024, 16);
        let writer = |first: u64| {
            Box::new(move |local: &mut Local| {
                for n in first..first + 6 {
                    put(local, n % 5, n, 8);
                    if n % 4 == 0 {
                        local.lock(&key((n + 1) % 5)).remove();
                    }
                    local.quiesce();
                }
            })
        };
        let flusher = Box::new(|local: &mut Local| {
            for _ in 0..3 {
                local.store().flush_db(0);
                thread::yield_now();
            }
        });
        together(&store, vec![writer(0), writer(3), flusher]);
        let local = store.local();
        let there = (0..5).filter(|&n| check(&local, n)).count();
        assert_eq!(store.keys(0), there as u64);
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
