//! The store against a plain map: what is there must be right; what is missing must have been
//! evicted, deleted, expired or flushed.

mod common;

use std::collections::HashMap;

use common::*;
use rand::rngs::SmallRng;
use rand::Rng;
use wirekv_store::{Config, Lookup, Store};

#[derive(Clone)]
struct Known {
    version: u64,
    len: usize,
    flags: u32,
    exptime: u32,
    cas: u64,
    fetched: bool,
    stale: bool,
}

/// Random operations on one thread. Returns the hits.
fn run(config: Config, rng: &mut SmallRng, keys: u64, steps: usize, most: usize) -> u64 {
    let (evict, chunk) = (config.evict, config.chunk.unwrap());
    let store = Store::new(config).unwrap();
    let mut local = store.local();
    let mut model: HashMap<u64, Known> = HashMap::new();
    let (mut now, mut version, mut hits) = (2, 0, 0);
    let mut half_done = Vec::new();
    let mut pins = Vec::new();
    for _ in 0..steps {
        let n = rng.random_range(0..keys);
        let n = n * rng.random_range(0..=keys) / keys;
        let k = key(n);
        let hash = local.hash(&k);
        match rng.random_range(0..1000) {
            0..350 => {
                version += 1;
                let v = value(&k, version, any_len(rng, most));
                let flags = if rng.random_bool(0.3) { rng.random() } else { 0 };
                let exptime = if rng.random_bool(0.2) { now + rng.random_range(1..50) } else { 0 };
                match set(&mut local, &k, &v, flags, exptime) {
                    Some(cas) => {
                        let known = Known {
                            version,
                            len: v.len(),
                            flags,
                            exptime,
                            cas,
                            fetched: false,
                            stale: false,
                        };
                        model.insert(n, known);
                    }
                    // Pins and reservations of large items may leave no chunks in a row.
                    None => assert!(!evict || most > chunk, "evicting stores are not full"),
                }
            }
            350..400 => {
                let was_there = local.lock(&k).remove();
                assert!(!was_there || model.contains_key(&n));
                model.remove(&n);
            }
            400..430 => {
                // Touch, in place or by a copy that keeps the CAS unique.
                let exptime = now + rng.random_range(1..50);
                let entry = local.lock(&k);
                if entry.item().is_none() {
                    continue;
                }
                if !entry.touch(exptime) {
                    drop(entry);
                    let item = local.get(&k, hash).unwrap();
                    let (v, flags) = (item.value().to_vec(), item.flags());
                    let Ok(mut room) = local.reserve(&k, v.len(), flags, exptime) else {
                        continue;
                    };
                    room.value().copy_from_slice(&v);
                    let entry = local.lock(&k);
                    let Some(cas) = entry.item().map(|item| item.cas()) else { continue };
                    room.inherit(&entry.item().unwrap());
                    assert_eq!(entry.link(room, Some(cas)), Ok(cas));
                }
                model.get_mut(&n).unwrap().exptime = exptime;
            }
            430..440 => {
                let entry = local.lock(&k);
                if entry.item().is_some() {
                    entry.set_stale(true);
                    model.get_mut(&n).unwrap().stale = true;
                }
            }
            440..450 => {
                // A reservation that takes its time; it is linked or abandoned much later.
                version += 1;
                let v = value(&k, version, any_len(rng, most));
                if let Ok(mut room) = local.reserve(&k, v.len(), 0, 0) {
                    room.value().copy_from_slice(&v);
                    half_done.push((n, version, v.len(), room));
                }
                if half_done.len() > 3 {
                    let i = rng.random_range(0..half_done.len());
                    let (n, version, len, room) = half_done.swap_remove(i);
                    if rng.random() {
                        let Ok(cas) = local.lock(&key(n)).link(room, None) else { continue };
                        let known = Known {
                            version,
                            len,
                            flags: 0,
                            exptime: 0,
                            cas,
                            fetched: false,
                            stale: false,
                        };
                        model.insert(n, known);
                    }
                }
            }
            450..460 => {
                if let Some(pin) = local.get(&k, hash).and_then(|item| item.pin()) {
                    pins.push((k.clone(), model[&n].version, pin));
                }
                if pins.len() > 3 {
                    let (k, version, pin) = pins.swap_remove(rng.random_range(0..pins.len()));
                    assert_eq!(check(&k, &pin), version);
                }
            }
            460..470 => {
                now += 1;
                store.set_now(now);
            }
            470 if rng.random_bool(0.1) => {
                store.flush();
                model.clear();
            }
            471..480 => local.quiesce(),
            480..485 => {
                local.offline();
                if rng.random() {
                    local.online();
                }
            }
            _ => match (local.look_up(&k, hash), model.get_mut(&n)) {
                (Lookup::Live(item), Some(known)) => {
                    assert!(known.exptime == 0 || known.exptime > now, "alive after its time");
                    assert_eq!(item.key(), k);
                    assert_eq!(check(&k, item.value()), known.version);
                    assert_eq!(item.value().len(), known.len);
                    assert_eq!(item.flags(), known.flags);
                    assert_eq!(item.exptime(), known.exptime);
                    assert_eq!(item.cas(), known.cas);
                    assert_eq!(item.fetched(), known.fetched);
                    assert_eq!(item.stale(), known.stale);
                    if rng.random_bool(0.8) {
                        known.fetched = true;
                        local.hit(&item);
                    }
                    hits += 1;
                }
                (Lookup::Live(_), None) => panic!("key {n} is back"),
                (Lookup::Expired, known) => {
                    assert!(known.is_some_and(|known| known.exptime <= now));
                }
                (Lookup::Absent, Some(known)) => {
                    let expired = known.exptime != 0 && known.exptime <= now;
                    assert!(evict || expired, "lost without eviction");
                }
                (_, None) => {}
                (Lookup::Flushed, Some(_)) => panic!("stored after the flush"),
            },
        }
    }
    let mut live = 0;
    for n in 0..keys {
        let k = key(n);
        live += u64::from(local.get(&k, local.hash(&k)).is_some());
    }
    let stats = store.stats();
    println!("{hits} hits, {stats:?}");
    assert!(stats.items >= live && stats.items <= stats.ways);
    assert!(stats.bytes <= stats.log_bytes);
    assert!(evict || stats.evictions == 0);
    assert!(!evict || stats.full < stats.total_items / 10);
    hits
}

#[test]
fn everything_at_once() {
    let mut rng = rng("everything_at_once");
    for _ in 0..rounds(100).max(1) {
        let chunk = 1 << rng.random_range(9..13);
        let memory = chunk * rng.random_range(16..64) + 8192;
        let config = tiny(memory, chunk, rng.random_range(2..64));
        run(config, &mut rng, 300, rounds(30_000), chunk / 4);
    }
}

/// Items that take several chunks in a row.
#[test]
fn large_items() {
    let mut rng = rng("large_items");
    for _ in 0..rounds(100).max(1) {
        let chunk = 1 << rng.random_range(9..12);
        let memory = chunk * rng.random_range(40..80) + 8192;
        let config = tiny(memory, chunk, 32);
        let hits = run(config, &mut rng, 100, rounds(10_000), 5 * chunk);
        assert!(cfg!(miri) || hits > 100);
    }
}

#[test]
fn without_eviction() {
    let mut rng = rng("without_eviction");
    for _ in 0..rounds(100).max(1) {
        let chunk = 1 << rng.random_range(9..13);
        let memory = chunk * rng.random_range(16..64) + 8192;
        let buckets = rng.random_range(2..64);
        let config = Config { evict: false, ..tiny(memory, chunk, buckets) };
        run(config, &mut rng, 200, rounds(20_000), chunk / 4);
    }
}
