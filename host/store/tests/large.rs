//! Items longer than a chunk: their room comes back, and nobody pays for it with live items while
//! there are dead ones.

mod common;

use common::*;
use rand::Rng;
use wirekv_store::{Config, Local, Store};

const MEMORY: usize = 16 << 20;

fn config(evict: bool) -> Config {
    Config { evict, chunk: Some(64 << 10), item_max: 1 << 20, ..sized(MEMORY) }
}

fn store_one(local: &mut Local, n: u64, version: u64, len: usize) -> bool {
    local.quiesce();
    let k = key(n);
    set(local, &k, &value(&k, version, len), 0, 0).is_some()
}

fn lives(local: &Local, n: u64) -> bool {
    let k = key(n);
    local.get(&k, local.hash(&k)).is_some_and(|item| {
        check(&k, item.value());
        true
    })
}

/// One key that is replaced again and again, alone and with a small one behind it each time.
#[test]
#[cfg_attr(miri, ignore)]
fn what_is_replaced_makes_room() {
    for evict in [true, false] {
        for small in [0, 1, 3] {
            let store = Store::new(config(evict)).unwrap();
            let mut local = store.local();
            for version in 0..100 {
                assert!(store_one(&mut local, 0, version, 900_000), "{evict} {small} {version}");
                for n in 1..=small {
                    // Some stay, others are replaced.
                    let n = if n == 1 { n } else { n + version * 100 };
                    assert!(store_one(&mut local, n, version, 300), "{evict} {small} {version}");
                }
            }
            assert_eq!(store.stats().evictions, 0);
        }
    }
}

/// Items of half the log are stored in the place of one another.
#[test]
#[cfg_attr(miri, ignore)]
fn half_of_the_log() {
    for (evict, len) in [(true, 5 << 20), (true, 7 << 20), (false, 5 << 20)] {
        let store = Store::new(Config { item_max: 8 << 20, ..config(evict) }).unwrap();
        let mut local = store.local();
        for version in 0..20 {
            assert!(store_one(&mut local, 0, version, len), "{evict} {len} {version}");
            for n in 1..20 {
                assert!(store_one(&mut local, version * 20 + n, version, 4000));
            }
        }
        assert!(lives(&local, 0));
        assert!(evict || store.stats().evictions == 0);
    }
}

/// Many sizes, a fifth of the memory alive: nothing is refused, nothing is lost.
#[test]
#[cfg_attr(miri, ignore)]
fn a_roomy_cache_loses_nothing() {
    let mut rng = rng("a_roomy_cache_loses_nothing");
    for evict in [true, false] {
        for most in [200_000, 400_000] {
            let store = Store::new(config(evict)).unwrap();
            let mut local = store.local();
            for n in 1000..2000 {
                assert!(store_one(&mut local, n, 0, 1000));
            }
            for version in 0..600 {
                let n = rng.random_range(0..8);
                let len = rng.random_range(most / 4..most);
                let done = store_one(&mut local, n, version, len);
                assert!(done, "{evict} {most} {version} {len} {:?}", store.stats());
            }
            let lost = (1000..2000).filter(|&n| !lives(&local, n)).count();
            println!("evict {evict}, up to {most} bytes: {lost} lost, {:?}", store.stats());
            assert_eq!((lost, store.stats().evictions), (0, 0));
        }
    }
}

/// Items that were begun and never finished leave nothing behind.
#[test]
#[cfg_attr(miri, ignore)]
fn abandoned_items_leave_nothing() {
    let store = Store::new(config(false)).unwrap();
    let mut local = store.local();
    let fill = |local: &mut Local| {
        let stored = (0..10_000).take_while(|&n| store_one(local, n, 0, 10_000)).count();
        for n in 0..stored as u64 {
            local.lock(&key(n)).remove();
        }
        stored
    };
    let before = fill(&mut local);
    for _ in 0..60 {
        local.quiesce();
        let hold = |local: &mut Local, n: u64, len: usize| {
            let k = key(n);
            local.reserve(&k, len, 0, 0).ok()
        };
        // Several at once: none but the last can be taken back by the run it is in.
        let _held: Vec<_> = (0..4).filter_map(|n| hold(&mut local, n, 900_000)).collect();
        let _more: Vec<_> = (0..9).filter_map(|n| hold(&mut local, n, 20_000)).collect();
    }
    let after = fill(&mut local);
    assert!(after * 20 > before * 19, "{after} items have room, {before} had before");
}

/// Each thread keeps chunks open; together they do not lock the memory up.
#[test]
#[cfg_attr(miri, ignore)]
fn many_threads_leave_room() {
    for threads in [4, 32, 128] {
        let store = Store::new(Config { threads, chunk: None, ..config(true) }).unwrap();
        let mut locals: Vec<_> = (0..threads).map(|_| store.local()).collect();
        locals.iter_mut().for_each(Local::offline);
        for version in 0..20 {
            for (i, local) in locals.iter_mut().enumerate() {
                for len in [2000, if version % 5 == 0 { 500_000 } else { 20_000 }] {
                    let n = version * 1000 + (i * 2 + len % 3) as u64;
                    assert!(
                        store_one(local, n, version, len),
                        "{threads} {version} {i} {len} {:?}",
                        store.stats()
                    );
                    local.offline();
                }
            }
        }
    }
}
