//! A key is one of its database: sixteen keys of one name.

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use common::{check, key, rng, rounds, tiny, value};
use rand::Rng;
use wirekv_store::{Config, Fields, Local, Store, DATABASES};

fn set(local: &mut Local, db: u8, key: &[u8], value: &[u8]) -> bool {
    let Ok(mut room) = local.reserve_in(db, key, value.len(), Fields::default()) else {
        return false;
    };
    room.value().copy_from_slice(value);
    local.lock_for(&room).link(room, None).is_ok()
}

/// Against one map a database.
#[test]
fn as_maps() {
    let mut rng = rng("as_maps");
    let store = Store::new(Config::new(16 << 20)).unwrap();
    let mut local = store.local();
    let mut maps: Vec<HashMap<u64, u64>> = vec![HashMap::new(); DATABASES];
    for version in 0..rounds(200_000) as u64 {
        let (db, n) = (rng.random_range(0..DATABASES as u8), rng.random_range(0..50));
        let (k, map) = (key(n), &mut maps[usize::from(db)]);
        match rng.random_range(0..100) {
            0..40 => {
                assert!(set(&mut local, db, &k, &value(&k, version, 20)));
                map.insert(n, version);
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
            61 => {
                let item = local.random(db).map(|item| (item.key().to_vec(), item.db()));
                assert_eq!(item.is_some(), !map.is_empty());
                assert!(item.is_none_or(|(k, of)| of == db && map.keys().any(|&n| key(n) == k)));
            }
            _ => {
                let item = local.get(&k, local.hash_in(db, &k));
                assert_eq!(item.map(|item| check(&k, item.value())), map.get(&n).copied());
                assert!(item.is_none_or(|item| item.db() == db));
            }
        }
        for (db, map) in maps.iter().enumerate() {
            assert_eq!(store.keys(db as u8), map.len() as u64, "keys of {db}");
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
                        _ => drop(set(&mut local, db, &k, &value(&k, 1, 40))),
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
        let found = (0..500).filter(|&n| local.get(&key(n), local.hash_in(db, &key(n))).is_some());
        assert_eq!(store.keys(db), found.count() as u64, "keys of {db}");
    }
}
