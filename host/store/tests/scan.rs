//! Walks: what is there from the beginning to the end is met, whatever others do, and walks end.

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use common::{key, rng, rounds, set, sized, tiny};
use rand::Rng;
use wirekv_store::{Config, Fields, Local, Store};

/// Any number is a place to go on from.
#[test]
fn any_cursor() {
    let mut rng = rng("any_cursor");
    let store = Store::new(tiny(1 << 20, 4096, 64)).unwrap();
    let mut local = store.local();
    for n in 0..300 {
        set(&mut local, &key(n), b"value", 0, 0).unwrap();
    }
    for cursor in (0..130).chain((0..rounds(1000)).map(|_| rng.random())).chain([u64::MAX]) {
        let mut cursor = cursor;
        let mut calls = 0;
        loop {
            let mut met = 0;
            cursor = local.scan(Some(0), cursor, 10, |_| met += 1);
            assert!(met < 10 + 8);
            calls += 1;
            assert!(calls <= 300 / 10 + 1000);
            if cursor == 0 {
                break;
            }
        }
    }
}

/// Where there is little a walk takes few calls, however large the store is, whatever another database
/// has, and after a flush of what was there. A call takes no longer for what it does not find.
#[test]
fn few_calls_for_little() {
    let walk = |local: &Local, db, count| {
        let (mut cursor, mut calls) = (0, 0);
        let mut met = HashSet::new();
        loop {
            cursor = local.scan(Some(db), cursor, count, |item| {
                met.insert(item.key().to_vec());
            });
            calls += 1;
            if cursor == 0 {
                return (met.len(), calls);
            }
        }
    };
    let put = |local: &mut Local, db, n, expiry| {
        let room =
            local.reserve_in(db, &key(n), 0, Fields { expiry, ..Fields::default() }).unwrap();
        local.lock_for(&room).link(room, None).unwrap();
        local.quiesce();
    };
    for megabytes in if cfg!(miri) { vec![1] } else { vec![8, 64, 1024] } {
        let store = Store::new(sized(megabytes << 20)).unwrap();
        let mut local = store.local();
        let calls = |local: &Local, wanted| {
            for count in [1, 10, 1000] {
                let (met, calls) = walk(local, 0, count);
                assert_eq!(met, wanted);
                assert!(calls <= wanted + 3, "{calls} calls, {megabytes} MB, count {count}");
            }
            assert_eq!(local.random(0).is_some(), wanted > 0);
        };
        calls(&local, 0);
        (0..3).for_each(|n| put(&mut local, 0, n, 0));
        calls(&local, 3);
        (0..rounds(20_000) as u64).for_each(|n| put(&mut local, 1, n, 0));
        calls(&local, 3);
        (0..rounds(20_000) as u64).for_each(|n| put(&mut local, 0, n, 0));
        assert!(walk(&local, 0, 1).1 >= rounds(20_000) / 8);
        store.flush();
        calls(&local, 0);
        (0..3).for_each(|n| put(&mut local, 0, n, 0));
        calls(&local, 3);
        assert_eq!(walk(&local, 1, 1000).0, rounds(20_000));
        store.flush_all_dbs();
        assert_eq!((walk(&local, 0, 10), walk(&local, 1, 10)), ((0, 1), (0, 1)));
    }
    if cfg!(miri) {
        return;
    }
    let store = Store::new(sized(64 << 20)).unwrap();
    let mut local = store.local();
    (0..100_000).for_each(|n| put(&mut local, 0, n, 3000));
    store.set_clock(3000);
    let (met, calls) = walk(&local, 0, 10);
    assert!(met == 0 && calls >= 100_000 / 16_384, "{calls} calls");
    for n in 0..100_000 {
        local.lock(&key(n)).remove();
    }
    let (met, calls) = walk(&local, 0, 10);
    assert!(met == 0 && calls <= 20, "{calls} calls");
}

/// Each key once where nothing moves; of the database, or of all; no expired ones.
#[test]
fn each_once() {
    let store = Store::new(sized(32 << 20)).unwrap();
    let mut local = store.local();
    let all = rounds(100_000) as u64;
    for n in 0..all {
        let fields = Fields { expiry: if n % 7 == 0 { 3000 } else { 0 }, ..Fields::default() };
        let room = local.reserve_in((n % 3) as u8, &key(n), 0, fields).unwrap();
        local.lock_for(&room).link(room, None).unwrap();
    }
    store.set_clock(3000);
    for db in [Some(0), Some(1), Some(2), Some(3), None] {
        let mut met = HashSet::new();
        let mut cursor = 0;
        loop {
            cursor = local.scan(db, cursor, 100, |item| {
                assert!(met.insert((item.db(), item.key().to_vec())), "twice");
            });
            if cursor == 0 {
                break;
            }
        }
        let wanted = (0..all).filter(|n| n % 7 != 0 && db.is_none_or(|db| n % 3 == u64::from(db)));
        assert_eq!(met.len(), wanted.count());
    }
}

/// Four threads store, expire, evict and move, in an index that is always full, while others walk.
#[test]
fn whatever_others_do() {
    let mut seeds = rng("whatever_others_do");
    let all = if cfg!(miri) { 300 } else { 1_000_000 };
    let kept = all / 10;
    // Room for a half of what is stored, and too few ways for that.
    let memory = if cfg!(miri) { 1 << 18 } else { 40 << 20 };
    let buckets = Some(if cfg!(miri) { 16 } else { 1 << 16 });
    let chunk = cfg!(miri).then_some(1024);
    let config = Config { threads: 6, buckets, chunk, item_max: 512, ..sized(memory) };
    let store = Store::new(config).unwrap();
    let stop = AtomicBool::new(false);
    let before = store.stats();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (store, stop, mut rng) = (&store, &stop, common::fork(&mut seeds));
            scope.spawn(move || {
                let mut local = store.local();
                while !stop.load(Relaxed) {
                    let n = rng.random_range(kept..all);
                    let expiry = if n % 5 == 0 { store.now_ms() + n % 50 } else { 0 };
                    let fields = Fields { expiry, ..Fields::default() };
                    if let Ok(room) = local.reserve_in(0, &key(n), 0, fields) {
                        local.lock_for(&room).link(room, None).unwrap();
                    }
                    if n % 9 == 0 {
                        local.lock(&key(n)).remove();
                    }
                    local.quiesce();
                }
            });
        }
        let (store, stop) = (&store, &stop);
        let walk = scope.spawn(move || {
            let mut local = store.local();
            let mut ms = 2000;
            for turn in 0..if cfg!(miri) { 1 } else { 3 } {
                // What is there now, and after the walk the same: it was there all the time, for it is
                // only used, and stored by nobody.
                for n in 0..kept {
                    if local.get(&key(n), local.hash(&key(n))).is_none() {
                        set(&mut local, &key(n), b"", 0, 0);
                        local.quiesce();
                    }
                }
                let version = |n: u64| local_unique(&local, n);
                let there: Vec<_> = (0..kept).map(version).collect();
                let mut met = HashSet::new();
                let (mut cursor, mut calls, mut most) = (0, 0, 0);
                loop {
                    let keep = kept;
                    cursor = local.scan(Some(0), cursor, 100, |item| {
                        let text = std::str::from_utf8(item.key()).unwrap();
                        let n: u64 = text.split('-').nth(1).unwrap().parse().unwrap();
                        assert_eq!(item.key(), key(n), "a key");
                        if n < keep {
                            met.insert(n);
                        }
                    });
                    calls += 1;
                    ms += 1;
                    store.set_clock(ms);
                    most = store.keys(0).max(most);
                    assert!(calls < most / 100 + 1000, "{calls} calls, {most} keys");
                    if cursor == 0 {
                        break;
                    }
                    local.quiesce();
                }
                let stayed = |&n: &u64| {
                    let unique = there[n as usize];
                    unique.is_some() && unique == local_unique(&local, n)
                };
                let stayed: Vec<_> = (0..kept).filter(stayed).collect();
                let missed = stayed.iter().filter(|n| !met.contains(n)).count();
                println!(
                    "walk {turn}: {} of {kept} stayed, {missed} missed, {calls} calls",
                    stayed.len()
                );
                assert_eq!(missed, 0);
                assert!(stayed.len() > kept as usize / 20);
            }
        });
        let walked = walk.join();
        stop.store(true, Relaxed);
        walked.unwrap();
    });
    let stats = store.stats();
    println!("{} moves, {} evicted", stats.index_moves - before.index_moves, stats.evictions);
    assert!(cfg!(miri) || (stats.index_moves > 1000 && stats.evictions > 1000));
}

fn local_unique(local: &wirekv_store::Local, n: u64) -> Option<u64> {
    let item = local.get(&key(n), local.hash(&key(n)))?;
    local.hit(&item);
    Some(item.cas())
}
