//! A key is one of its database: sixteen keys of one name.

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use common::{check, key, rng, rounds, sized, tiny, value};
use rand::Rng;
use wirekv_store::{Config, Fields, Local, Store, Whole, DATABASES};

/// A time that does not come, or none.
fn expiry(expires: bool) -> u64 {
    if expires {
        1 << 50
    } else {
        0
    }
}

fn set(local: &mut Local, db: u8, key: &[u8], value: &[u8], expires: bool) -> bool {
    let fields = Fields { expiry: expiry(expires), ..Fields::default() };
    let Ok(mut room) = local.reserve_in(db, key, value.len(), fields) else {
        return false;
    };
    room.value().copy_from_slice(value);
    local.lock_for(&room).link(room, None).is_ok()
}

/// Against one map a database.
#[test]
fn as_maps() {
    let mut rng = rng("as_maps");
    let store = Store::new(sized(16 << 20)).unwrap();
    let mut local = store.local();
    let mut maps: Vec<HashMap<u64, (u64, bool)>> = vec![HashMap::new(); DATABASES];
    for version in 0..rounds(200_000) as u64 {
        let (db, n) = (rng.random_range(0..DATABASES as u8), rng.random_range(0..50));
        let (k, map) = (key(n), &mut maps[usize::from(db)]);
        match rng.random_range(0..100) {
            0..40 => {
                let expires = rng.random_bool(0.3);
                assert!(set(&mut local, db, &k, &value(&k, version, 20), expires));
                map.insert(n, (version, expires));
            }
            40..60 => assert_eq!(local.lock_in(db, &k).remove(), map.remove(&n).is_some()),
            60 if rng.random_bool(0.1) => match rng.random_range(0..3) {
                0 => {
                    store.flush_all_dbs();
                    maps.iter_mut().for_each(HashMap::clear);
                }
                1 => {
                    store.flush();
                    maps[0].clear();
                }
                _ => {
                    store.flush_db(db);
                    map.clear();
                }
            },
            62 if rng.random_bool(0.2) => {
                let other = rng.random_range(0..DATABASES as u8);
                assert!(local.stop_others());
                local.swap(db, other);
                local.let_go();
                maps.swap(db.into(), other.into());
            }
            62..72 => {
                let expires = rng.random_bool(0.5);
                if local.lock_in(db, &k).expire(expiry(expires)) {
                    map.get_mut(&n).expect("it is there").1 = expires;
                }
            }
            61 => {
                let item = local.random(db).map(|item| (item.key().to_vec(), item.db()));
                assert_eq!(item.is_some(), !map.is_empty());
                assert!(item.is_none_or(|(k, of)| of == db && map.keys().any(|&n| key(n) == k)));
            }
            _ => {
                let item = local.get(&k, local.hash_in(db, &k));
                assert_eq!(item.map(|item| check(&k, item.value())), map.get(&n).map(|of| of.0));
                assert!(item.is_none_or(|item| item.db() == db));
            }
        }
        for (db, map) in maps.iter().enumerate() {
            assert_eq!(store.keys(db as u8), map.len() as u64, "keys of {db}");
            let expiring = map.values().filter(|(_, expires)| *expires).count();
            assert_eq!(store.expiring(db as u8), expiring as u64, "of {db}");
        }
        local.quiesce();
    }
}

/// Keys are counted to the one, whoever stores, removes, evicts and flushes them at once.
#[test]
fn keys_are_counted() {
    let mut seeds = rng("keys_are_counted");
    let config = Config { threads: 4, ..tiny(1 << 18, 1024, 100) };
    let store = Store::new(config).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (store, stop, mut rng) = (&store, &stop, common::fork(&mut seeds));
            scope.spawn(move || {
                let mut local = store.local();
                while !stop.load(Relaxed) {
                    let (db, k) = (rng.random_range(0..3), key(rng.random_range(0..500)));
                    match rng.random_range(0..1000) {
                        0 => store.flush_db(db),
                        1 => store.flush_all_dbs(),
                        2..300 => drop(local.lock_in(db, &k).remove()),
                        300 => {
                            // Its counters live on.
                            drop(local);
                            local = store.local();
                        }
                        301..400 => {
                            let _ = local.lock_in(db, &k).expire(expiry(rng.random_bool(0.5)));
                        }
                        _ => drop(set(&mut local, db, &k, &value(&k, 1, 40), rng.random_bool(0.5))),
                    }
                    local.quiesce();
                }
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(if cfg!(miri) { 50 } else { 1500 }));
        stop.store(true, Relaxed);
    });
    let local = store.local();
    for db in 0..DATABASES as u8 {
        let found: Vec<_> =
            (0..500).filter_map(|n| local.get(&key(n), local.hash_in(db, &key(n)))).collect();
        assert_eq!(store.keys(db), found.len() as u64, "keys of {db}");
        let expiring = found.iter().filter(|item| item.expiry() != 0).count();
        assert_eq!(store.expiring(db), expiring as u64, "of {db}");
    }
}

/// Two databases change places again and again: others see each key in one of them, whatever they do at
/// that moment, and what they store is where they have put it.
#[test]
fn swapped_in_one_step() {
    let store = Store::new(sized(16 << 20)).unwrap();
    let mut local = store.local();
    assert!(set(&mut local, 3, b"mark", b"x", false));
    let (stop, swaps) = (AtomicBool::new(false), rounds(2000));
    std::thread::scope(|scope| {
        for n in 0..2u64 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                let (mut local, own) = (store.local(), key(n));
                let mut version = 0;
                loop {
                    // A turn: meanwhile nothing is swapped.
                    let marks = [3, 5].map(|db| local.get(b"mark", local.hash_in(db, b"mark")));
                    assert!(marks[0].is_some() != marks[1].is_some(), "in one of them");
                    let db = if marks[0].is_some() { 3 } else { 5 };
                    let item = local.get(&own, local.hash_in(db, &own));
                    let found = item.map_or(0, |item| check(&own, item.value()));
                    assert_eq!(found, version, "it is where it was put");
                    version += 1;
                    assert!(set(&mut local, db, &own, &value(&own, version, 20), false));
                    local.offline();
                    if stop.load(Relaxed) {
                        break;
                    }
                    local.online();
                }
            });
        }
        // The threads that swap wait for each other, too.
        for _ in 0..2 {
            let (store, swaps) = (&store, swaps);
            scope.spawn(move || {
                let mut local = store.local();
                for _ in 0..swaps {
                    while !local.stop_others() {
                        local.offline();
                        local.online();
                    }
                    local.swap(3, 5);
                    local.let_go();
                    local.offline();
                }
            });
        }
        local.offline();
        while store.stats().total_items < swaps as u64 / 4 {
            std::thread::yield_now();
        }
        stop.store(true, Relaxed);
    });
    assert_eq!(store.keys(3) + store.keys(5), 3);
}

/// What was received in the log while its database got another place is that database's.
#[test]
fn a_place_that_was_kept() {
    let store = Store::new(sized(16 << 20)).unwrap();
    let mut local = store.local();
    let len = 2 << 20;
    let mut stage = local.stage(len);
    assert!(stage.is_long());
    stage.want_place(&local).unwrap();
    stage.set_place(local.reserve(b"long", len, 0, 0).unwrap());
    assert!(local.stop_others());
    local.swap(0, 7);
    local.let_go();
    stage.take(&vec![b'v'; len]).unwrap();
    let Ok(Whole::Item(place)) = stage.finish() else { panic!("it has its place") };
    local.lock_for(&place).link(place, None).unwrap();
    for (db, there) in [(0, true), (7, false)] {
        assert_eq!(local.get(b"long", local.hash_in(db, b"long")).is_some(), there, "in {db}");
    }
}
