//! Expiry to the millisecond, and memcached's seconds on the same clock.

mod common;

use common::{rng, rounds, set, tiny};
use rand::Rng;
use wirekv_store::{Config, Fields, Lookup, Store};

const EPOCH: u64 = 1_700_000_000_123;

fn store() -> std::sync::Arc<Store> {
    Store::new(Config { epoch: EPOCH, ..tiny(1 << 20, 4096, 64) }).unwrap()
}

#[test]
fn to_the_millisecond() {
    let store = store();
    let mut local = store.local();
    assert_eq!((store.now(), store.now_ms()), (2, EPOCH + 2000));
    let expiry = EPOCH + 4567;
    let fields = Fields { expiry, flags: 7, ..Fields::default() };
    let mut room = local.reserve_in(3, b"key", 5, fields).unwrap();
    room.value().copy_from_slice(b"value");
    local.lock_for(&room).link(room, None).unwrap();
    for ms in 2001..4567 {
        store.set_clock(ms);
        let item = local.get(b"key", local.hash_in(3, b"key")).expect("its time has not come");
        assert_eq!((item.expiry(), item.exptime(), item.flags()), (expiry, 5, 7));
        assert_eq!(u64::from(store.now()), ms / 1000);
    }
    store.set_clock(4567);
    assert!(matches!(local.look_up(b"key", local.hash_in(3, b"key")), Lookup::Expired));
    // Nothing brings it back.
    store.set_clock(3000);
    assert_eq!(store.now_ms(), expiry);
    assert!(local.lock_in(3, b"key").item().is_none());
}

/// An item whose expiry is given in seconds is there until the clock says that second.
#[test]
fn memcached_seconds() {
    let mut rng = rng("memcached_seconds");
    let store = store();
    let mut local = store.local();
    let mut ms = 2000;
    for _ in 0..rounds(2000) {
        let exptime = store.now() + rng.random_range(1..5);
        assert_eq!(store.to_exptime(store.to_expiry(exptime)), exptime);
        set(&mut local, b"key", b"value", 0, exptime).unwrap();
        for _ in 0..5 {
            ms += rng.random_range(1..1500);
            store.set_clock(ms);
            let item = local.get(b"key", local.hash(b"key"));
            assert_eq!(item.is_some(), store.now() < exptime);
            assert!(item.is_none_or(|item| item.exptime() == exptime));
        }
        local.quiesce();
    }
    assert_eq!((store.to_expiry(0), store.to_exptime(0)), (0, 0));
    // Before the clock's 0 is long ago, and not never.
    assert_eq!(store.to_exptime(1), 1);
}

/// In place where there is a field for it.
#[test]
fn another_expiry() {
    let store = store();
    let mut local = store.local();
    set(&mut local, b"never", b"value", 0, 0).unwrap();
    set(&mut local, b"once", b"value", 0, 100).unwrap();
    assert!(!local.lock(b"never").expire(EPOCH + 9999));
    assert!(local.lock(b"never").expire(0));
    assert!(local.lock(b"once").expire(EPOCH + 9999));
    assert_eq!(local.get(b"once", local.hash(b"once")).unwrap().expiry(), EPOCH + 9999);
    store.set_clock(9998);
    assert!(local.lock(b"once").expire(0));
    store.set_clock(1_000_000);
    assert!(local.get(b"once", local.hash(b"once")).is_some());
}
