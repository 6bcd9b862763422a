//! What the memory holds, and what happens when there is none.

mod common;

use common::*;
use wirekv_store::{Config, Error, Full, Local, Store};

/// Stores small items until the first one is dropped for want of a way, or until the index counts
/// as crowded.
#[test]
#[cfg_attr(miri, ignore)]
fn fill_at_the_first_forced_eviction() {
    let config = Config { evict: false, buckets: Some(1 << 14), ..sized(64 << 20) };
    let store = Store::new(config).unwrap();
    let mut local = store.local();
    let mut n = 0u64;
    while set(&mut local, &n.to_le_bytes(), b"value", 0, 0).is_some() {
        n += 1;
    }
    let stats = store.stats();
    let fill = stats.items as f64 / stats.ways as f64;
    println!("fill at the first item without a way: {:.2} %", 100.0 * fill);
    assert!(fill > 0.95);
}

#[test]
fn pins_hold_bytes() {
    let mut rng = rng("pins_hold_bytes");
    let store = Store::new(tiny(64 << 10, 1024, 64)).unwrap();
    let mut local = store.local();
    let mut pins = Vec::new();
    let (mut refused, mut full) = (0, 0);
    for version in 0..2000 {
        let k = key(version);
        let v = value(&k, version, any_len(&mut rng, 300));
        if set(&mut local, &k, &v, 0, 0).is_none() {
            full += 1;
            continue;
        }
        let item = local.get(&k, local.hash(&k)).unwrap();
        match item.pin() {
            Some(pin) => pins.push((k, version, pin)),
            None => refused += 1,
        }
    }
    let stats = store.stats();
    println!("{} pins, {refused} refused, {full} full, {stats:?}", pins.len());
    assert!(refused > 0 && stats.chunks_pinned <= stats.chunks / 2);
    assert_eq!(full, 0, "half of the chunks can always be used");
    // They hold though the store is gone.
    drop((local, store));
    for (k, version, pin) in &pins {
        assert_eq!(check(k, pin), *version);
    }
}

/// Few large items in an index that has room for the ghosts of many: only those of the last ones
/// that were dropped are remembered.
#[test]
#[cfg_attr(miri, ignore)]
fn ghosts_do_not_outnumber_items() {
    let store = Store::new(tiny(1 << 20, 4096, 4096)).unwrap();
    let mut local = store.local();
    let last = 8000;
    for n in 0..last {
        set(&mut local, &key(n), &[0; 1000], 0, 0).unwrap();
    }
    let items = store.stats().items;
    let mut known = |keys: &mut dyn Iterator<Item = u64>| {
        let before = store.stats().ghost_hits;
        let gone: Vec<u64> =
            keys.filter(|&n| local.get(&key(n), local.hash(&key(n))).is_none()).take(100).collect();
        assert_eq!(gone.len(), 100);
        for n in gone {
            set(&mut local, &key(n), &[0; 1000], 0, 0).unwrap();
        }
        store.stats().ghost_hits - before
    };
    let (young, old) = (known(&mut (0..last).rev()), known(&mut (0..last)));
    println!("{items} items; of 100 keys each, ghosts of {young} just dropped, {old} long ago");
    assert!(items < 800 && young > 80 && old < 10);
}

/// Keys that nobody asks for fill half of the log; one more is written again and again.
#[test]
fn replaced_items_make_room_before_live_ones_do() {
    let store = Store::new(tiny(64 << 10, 1024, 64)).unwrap();
    let mut local = store.local();
    let log = store.stats().log_bytes;
    let mut keys = 0;
    while store.stats().bytes < log / 2 {
        let k = key(keys);
        set(&mut local, &k, &value(&k, 0, 100), 0, 0).unwrap();
        keys += 1;
    }
    for version in 0..log / 20 {
        let k = key(u64::MAX);
        set(&mut local, &k, &value(&k, version, 100), 0, 0).unwrap();
    }
    let stats = store.stats();
    assert_eq!(stats.evictions, 0, "{stats:?}");
    for n in 0..keys {
        let k = key(n);
        let item = local.get(&k, local.hash(&k)).expect("it was never dropped");
        assert_eq!(check(&k, item.value()), 0);
    }
}

#[test]
fn full_is_an_error() {
    let store = Store::new(tiny(32 << 10, 1024, 64)).unwrap();
    let mut local = store.local();
    let mut held = Vec::new();
    let error = loop {
        let k = key(held.len() as u64);
        match local.reserve(&k, 200, 0, 0) {
            Ok(room) => held.push(room),
            Err(error) => break error,
        }
    };
    assert_eq!(error, Full);
    assert!(held.len() > 50 && store.stats().full > 0);
    // Given back, there is room again.
    held.truncate(10);
    for n in 0..1000 {
        let k = key(n);
        set(&mut local, &k, &value(&k, n, 200), 0, 0).unwrap();
    }
    // One that lives longer than the store may still be filled.
    let mut room = held.pop().unwrap();
    drop((local, store));
    room.value().fill(1);
}

/// A thread that neither quiesces nor goes offline is waited for, but not for ever.
#[test]
fn another_thread_is_not_waited_for_for_ever() {
    let store = Store::new(tiny(32 << 10, 1024, 64)).unwrap();
    let mut idle = store.local();
    let mut local = store.local();
    let mut store_one = |n: u64| set(&mut local, &key(n), &value(&key(n), n, 200), 0, 0);
    let first = (0..1000).find(|&n| store_one(n).is_none());
    assert!(first.is_some_and(|n| n > 50), "{first:?}");
    idle.offline();
    for n in 0..1000 {
        store_one(n).unwrap();
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn large_items_up_to_the_limit() {
    let item_max = 8 << 20;
    let store = Store::new(Config { item_max, ..sized(64 << 20) }).unwrap();
    let mut local = store.local();
    for n in 0..300u64 {
        let k = key(n);
        let len = if n % 3 == 0 { item_max - 300 } else { 1000 + 7919 * n as usize };
        let v = value(&k, n, len);
        set(&mut local, &k, &v, 0, 0).unwrap();
        assert_eq!(check(&k, local.get(&k, local.hash(&k)).unwrap().value()), n);
        local.quiesce();
    }
    println!("{:?}", store.stats());
    let k = key(0);
    assert!(local.reserve(&k, 80 << 20, 0, 0).is_err());
}

/// Without eviction, room comes back from what was replaced, removed or has expired.
#[test]
fn without_eviction_room_comes_back() {
    let store = Store::new(Config { evict: false, ..tiny(64 << 10, 1024, 64) }).unwrap();
    let mut local = store.local();
    let fill = |local: &mut Local, version: u64, exptime: u32| {
        (0..10_000)
            .take_while(|&n| {
                let k = key(n);
                set(local, &k, &value(&k, version, 200), 0, exptime).is_some()
            })
            .count()
    };
    let first = fill(&mut local, 1, 10);
    assert!(first > 100);
    store.set_now(11);
    let second = fill(&mut local, 2, 0);
    assert!(second * 10 > first * 9, "{second} of {first}");
    for n in 0..second as u64 {
        let k = key(n);
        assert_eq!(check(&k, local.get(&k, local.hash(&k)).unwrap().value()), 2);
        if n % 2 == 0 {
            local.lock(&k).remove();
        }
    }
    for n in 0..second as u64 / 3 {
        let k = key(20_000 + n);
        set(&mut local, &k, &value(&k, n, 200), 0, 0).unwrap();
    }
    assert_eq!(store.stats().evictions, 0);
}

#[test]
fn impossible_stores() {
    let error = |config| Store::new(config).err();
    assert!(matches!(error(sized(1000)), Some(Error::Memory(..))));
    assert!(matches!(error(tiny(1 << 20, 1000, 8)), Some(Error::Chunk(1000))));
    let config = Config { item_max: 1 << 30, ..sized(64 << 20) };
    assert!(matches!(error(config), Some(Error::Memory(..))));
}

/// memcached's rules: what was stored before dies, what is stored after lives; a delayed flush
/// takes what was last used before its second.
#[test]
fn flush() {
    let store = Store::new(tiny(64 << 10, 1024, 64)).unwrap();
    let mut local = store.local();
    let alive = |key: &[u8]| {
        let local = store.local();
        local.get(key, local.hash(key)).is_some()
    };
    store.set_now(100);
    set(&mut local, b"a", b"1", 0, 0);
    store.flush();
    assert!(!alive(b"a"));
    set(&mut local, b"b", b"1", 0, 0);
    assert!(alive(b"b"), "stored in the flush's second, but after it");
    store.flush_at(110);
    assert!(alive(b"b") && !alive(b"a"), "what is dead stays dead");
    store.set_now(108);
    assert!(alive(b"b"));
    store.set_now(109);
    assert!(!alive(b"b"));
    store.set_now(110);
    set(&mut local, b"c", b"1", 0, 0);
    assert!(alive(b"c"));
    // An abandoned reservation and one linked after a flush.
    let room = local.reserve(b"d", 1, 0, 0).unwrap();
    store.flush();
    assert!(!alive(b"c"));
    local.lock(b"d").link(room, None).unwrap();
    assert!(alive(b"d"));
    drop(local.reserve(b"e", 1, 0, 0));
}

/// A client's own unique may need 64 bits; copies and touches keep it.
#[test]
fn wide_uniques() {
    let store = Store::new(tiny(64 << 10, 1024, 64)).unwrap();
    let mut local = store.local();
    let room = local.reserve_wide(b"k", 3, 7, 0).unwrap();
    assert_eq!(local.lock(b"k").link(room, Some(u64::MAX)), Ok(u64::MAX));
    let entry = local.lock(b"k");
    let item = entry.item().unwrap();
    assert_eq!((item.cas(), item.flags(), item.key()), (u64::MAX, 7, b"k".as_slice()));
    assert!(entry.touch(0) && !entry.touch(9));
}
