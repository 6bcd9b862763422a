//! Was anything done to a key? Nothing is missed, and nothing else counts.

mod common;

use common::{key, rng, rounds, set, tiny};
use rand::Rng;
use wirekv_store::{Config, Fields, Store, Watch};

/// Each way in which a key changes, and what changes nothing.
#[test]
fn each_change() {
    let store = Store::new(tiny(1 << 20, 4096, 64)).unwrap();
    let mut local = store.local();
    let fresh = |local: &mut wirekv_store::Local| {
        set(local, b"key", b"value", 0, 0).unwrap();
        set(local, b"soon", b"value", 0, store.now() + 10).unwrap();
    };
    fresh(&mut local);
    let watch = local.watch(0, b"key");
    // Nothing: other keys, the same key of another database, reading, marks.
    set(&mut local, b"yek", b"value", 0, 0).unwrap();
    let room = local.reserve_in(1, b"key", 0, Fields::default()).unwrap();
    local.lock_for(&room).link(room, None).unwrap();
    local.hit(&local.get(b"key", local.hash(b"key")).unwrap());
    local.lock(b"key").set_stale(true);
    store.flush_db(1);
    assert!(watch.is_unchanged(&local));
    // The same value.
    fresh(&mut local);
    assert!(!watch.is_unchanged(&local));

    let watch = local.watch(0, b"key");
    local.lock(b"key").remove();
    assert!(!watch.is_unchanged(&local));
    fresh(&mut local);
    assert!(!watch.is_unchanged(&local), "removed and stored again");

    let watch = local.watch(0, b"key");
    store.flush();
    assert!(!watch.is_unchanged(&local));
    fresh(&mut local);
    assert!(!watch.is_unchanged(&local), "flushed and stored again");

    let (exptime, watch) = (store.now() + 10, local.watch(0, b"soon"));
    assert!(watch.is_unchanged(&local));
    assert!(local.lock(b"soon").touch(exptime));
    assert!(!watch.is_unchanged(&local), "an expiry set to what it was");

    let watch = local.watch(0, b"soon");
    store.set_now(exptime - 1);
    assert!(watch.is_unchanged(&local));
    store.set_now(exptime);
    assert!(!watch.is_unchanged(&local), "its time has come");
    assert!(local.lock(b"soon").item().is_none());
    assert!(!watch.is_unchanged(&local));

    // There is none: expired ones that are cleared away change nothing.
    set(&mut local, b"soon", b"value", 0, exptime + 10).unwrap();
    store.set_now(exptime + 10);
    let watch = local.watch(0, b"soon");
    assert!(local.lock(b"soon").item().is_none());
    store.flush_all_dbs();
    assert!(watch.is_unchanged(&local));
    set(&mut local, b"soon", b"value", 0, 0).unwrap();
    local.lock(b"soon").remove();
    assert!(!watch.is_unchanged(&local), "stored and removed again");
}

/// Many watches of few keys, against counting every change.
#[test]
fn as_counted() {
    let mut rng = rng("as_counted");
    let store = Store::new(Config { evict: false, ..tiny(1 << 20, 4096, 64) }).unwrap();
    let mut local = store.local();
    let mut changes = [0u64; 20];
    let mut watches: Vec<(usize, u64, Watch)> = Vec::new();
    for _ in 0..rounds(50_000) {
        let n = rng.random_range(0..changes.len());
        let k = key(n as u64);
        match rng.random_range(0..10) {
            0..3 => {
                set(&mut local, &k, b"v", 0, 0).unwrap();
                changes[n] += 1;
            }
            3 => changes[n] += u64::from(local.lock(&k).remove()),
            4 => changes[n] += u64::from(local.lock(&k).expire(0)),
            5..8 => watches.push((n, changes[n], local.watch(0, &k))),
            _ if watches.is_empty() => {}
            8 => drop(watches.swap_remove(rng.random_range(0..watches.len()))),
            _ => {
                let (n, before, watch) = &watches[rng.random_range(0..watches.len())];
                assert_eq!(watch.is_unchanged(&local), changes[*n] == *before);
            }
        }
        if watches.len() > 100 {
            watches.truncate(50);
        }
        local.quiesce();
    }
}
