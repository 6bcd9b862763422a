//! Many threads at once: whatever a reader sees must be whole, and of the key it asked for.

mod common;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use common::*;
use rand::Rng;
use wirekv_store::{Config, Store};

fn pause() -> Duration {
    let seconds = std::env::var("SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2.0);
    Duration::from_secs_f64(if cfg!(miri) { 0.1 } else { seconds })
}

/// Readers, writers, removers, touchers, pins; tiny chunks, a crowded index.
#[test]
fn all_at_once() {
    const KEYS: u64 = 400;
    let mut seeds = rng("all_at_once");
    for (chunk, chunks, buckets) in [(512, 100, 16), (4096, 40, 40), (1024, 200, 200)] {
        let threads = 4;
        let config = Config { threads, ..tiny(chunk * chunks, chunk, buckets) };
        let store = Store::new(config).unwrap();
        let (stop, versions) = (AtomicBool::new(false), AtomicU64::new(0));
        let enough = AtomicUsize::new(0);
        let rngs: Vec<_> = (0..threads).map(|n| (n, common::fork(&mut seeds))).collect();
        std::thread::scope(|scope| {
            for (n, mut rng) in rngs {
                let (store, stop, versions, enough) = (&store, &stop, &versions, &enough);
                scope.spawn(move || {
                    let mut local = store.local();
                    let mut held = Vec::new();
                    let mut hits = 0u64;
                    let writes = n % 2 == 0;
                    while !stop.load(Relaxed) {
                        let k = key(rng.random_range(0..KEYS));
                        let hash = local.hash(&k);
                        match rng.random_range(0..100) {
                            0..40 if writes => {
                                let version = versions.fetch_add(1, Relaxed);
                                let v = value(&k, version, any_len(&mut rng, 400));
                                let exptime = u32::from(rng.random_bool(0.1)) * 1000;
                                // It may be full for a while: pins, and threads that are not
                                // running.
                                set(&mut local, &k, &v, 0, exptime);
                            }
                            40..43 if writes => drop(local.lock(&k).remove()),
                            43..46 if writes => drop(local.lock(&k).touch(2000)),
                            46..48 => {
                                if let Some(pin) = local.get(&k, hash).and_then(|i| i.pin()) {
                                    held.push((k, pin));
                                }
                                if held.len() > 3 {
                                    let (k, pin) = held.swap_remove(0);
                                    check(&k, &pin);
                                }
                            }
                            48 => local.offline(),
                            49 => {
                                drop(local);
                                local = store.local();
                            }
                            _ => {
                                // Several items held at once, until the thread quiesces.
                                let other = key(rng.random_range(0..KEYS));
                                let items = [&k, &other].map(|k| local.get(k, local.hash(k)));
                                for (k, item) in [&k, &other].into_iter().zip(items) {
                                    let Some(item) = item else { continue };
                                    assert_eq!(item.key(), k.as_slice());
                                    check(k, item.value());
                                    local.hit(&item);
                                    hits += 1;
                                    if hits == 101 {
                                        enough.fetch_add(1, Relaxed);
                                    }
                                }
                                if rng.random_bool(0.5) {
                                    local.quiesce();
                                }
                            }
                        }
                    }
                    assert!(cfg!(miri) || hits > 100);
                });
            }
            meanwhile(pause(), || enough.load(Relaxed) == threads);
            stop.store(true, Relaxed);
        });
        let stats = store.stats();
        println!("{stats:?}");
        assert!(stats.items <= stats.ways && stats.bytes <= stats.log_bytes);
        assert_eq!(stats.chunks_pinned, 0);
        let mut local = store.local();
        let live = (0..KEYS).filter(|&n| local.get(&key(n), local.hash(&key(n))).is_some());
        assert_eq!(live.count() as u64, stats.items);
        local.quiesce();
    }
}

/// Keys that are stored once and never replaced, evicted or removed must be found at every moment,
/// while inserts of others move them from bucket to bucket.
#[test]
fn moved_entries_are_found() {
    const FIXED: u64 = 60;
    let mut seeds = rng("moved_entries_are_found");
    // A crowded index that must not evict: others are removed as soon as they are in.
    let config = Config { evict: false, threads: 3, ..tiny(1 << 22, 4096, 12) };
    let store = Store::new(config).unwrap();
    let mut local = store.local();
    for n in 0..FIXED {
        let k = key(n);
        set(&mut local, &k, &value(&k, n, 32), 0, 0).unwrap();
    }
    let stop = AtomicBool::new(false);
    let mut rng = common::fork(&mut seeds);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (store, stop) = (&store, &stop);
            let mut rng = common::fork(&mut seeds);
            scope.spawn(move || {
                let mut local = store.local();
                while !stop.load(Relaxed) {
                    let n = rng.random_range(0..FIXED);
                    let k = key(n);
                    let item = local.get(&k, local.hash(&k)).expect("a key that is never removed");
                    assert_eq!(check(&k, item.value()), n);
                    local.hit(&item);
                    local.quiesce();
                }
            });
        }
        let start = Instant::now();
        let mut others = Vec::new();
        let late = pause() + Duration::from_secs(if cfg!(miri) { 0 } else { 60 });
        while start.elapsed() < pause()
            || start.elapsed() < late && store.stats().index_moves <= 1000
        {
            let k = key(FIXED + rng.random_range(0..10_000));
            if set(&mut local, &k, &value(&k, 1, 32), 0, 0).is_some() {
                others.push(k);
            }
            if others.len() > 24 {
                let k = others.swap_remove(rng.random_range(0..others.len()));
                local.lock(&k).remove();
            }
            local.quiesce();
        }
        stop.store(true, Relaxed);
    });
    drop(local);
    let stats = store.stats();
    println!("{stats:?}");
    assert!(cfg!(miri) || stats.index_moves > 1000, "{} moves", stats.index_moves);
    assert_eq!(stats.evictions, 0);
}

/// A compare-and-swap loop on one key by several threads loses no step.
#[test]
fn counting() {
    let steps = rounds(20_000) as u64;
    let store = Store::new(Config { threads: 3, ..tiny(1 << 18, 1024, 8) }).unwrap();
    let k = b"counter".as_slice();
    set(&mut store.local(), k, &0u64.to_le_bytes(), 0, 0).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut local = store.local();
                let hash = local.hash(k);
                let mut done = 0;
                while done < steps {
                    let item = local.get(k, hash).expect("it is always there");
                    let (stamp, next) = (item.stamp(), item.value().try_into().unwrap());
                    local.hit(&item);
                    let next = u64::from_le_bytes(next) + 1;
                    let Ok(mut room) = local.reserve(k, 8, 0, 0) else { continue };
                    room.value().copy_from_slice(&next.to_le_bytes());
                    let entry = local.lock(k);
                    if entry.item().is_some_and(|item| item.stamp() == stamp) {
                        entry.link(room, None).unwrap();
                        done += 1;
                    }
                }
            });
        }
    });
    let local = store.local();
    let last = local.get(k, local.hash(k)).unwrap().value().try_into().unwrap();
    assert_eq!(u64::from_le_bytes(last), 3 * steps);
}
