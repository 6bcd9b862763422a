//! A key is one of its database: sixteen keys of one name.

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use common::{check, key, rng, rounds, tiny, value};
use rand::Rng;
use wirekv_store::{Config, Fields, Local, Store, DATABASES};

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
    let store = Store::new(Config::new(16 << 20)).unwrap();
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
