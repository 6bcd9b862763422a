//! Several keys as one step, for writers and for readers that take no lock.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use common::{key, meanwhile, rng, rounds, set, tiny};
use rand::Rng;
use wirekv_store::{Config, Fields, Full, Local, Reservation, Store};

fn pause() -> Duration {
    Duration::from_millis(if cfg!(miri) { 50 } else { 1500 })
}

fn room(local: &mut Local, key: &[u8], value: &[u8]) -> Result<Reservation, Full> {
    let mut room = local.reserve_in(0, key, value.len(), Fields::default())?;
    room.value().copy_from_slice(value);
    Ok(room)
}

fn number(local: &Local, key: &[u8]) -> Option<u64> {
    let item = local.get(key, local.hash(key))?;
    Some(u64::from_le_bytes(item.value().try_into().unwrap()))
}

/// Some keys are set to a number that only grows; whoever sees one of them sees no older one in
/// another, in whatever order it looks.
#[test]
fn nobody_sees_a_part() {
    const KEYS: u64 = 6;
    let mut seeds = rng("nobody_sees_a_part");
    let store = Store::new(Config { threads: 4, ..tiny(1 << 18, 1024, 16) }).unwrap();
    let (stop, next) = (AtomicBool::new(false), AtomicU64::new(1));
    let seen = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in [true, true, false, false] {
            let (store, stop, next, seen) = (&store, &stop, &next, &seen);
            let mut rng = common::fork(&mut seeds);
            scope.spawn(move || {
                let mut local = store.local();
                let mut last = 0;
                while !stop.load(Relaxed) {
                    local.quiesce();
                    if writer {
                        let keys: Vec<_> = (0..KEYS).map(key).collect();
                        let hashes: Vec<_> = keys.iter().map(|key| local.hash(key)).collect();
                        // What else is there moves, and is evicted.
                        let other = key(rng.random_range(100..1000));
                        set(&mut local, &other, &[0; 300], 0, 0);
                        let rooms = keys.iter().map(|key| room(&mut local, key, &[0; 8]));
                        let Ok(mut rooms) = rooms.collect::<Result<Vec<_>, _>>() else { continue };
                        local.lock_all(&hashes);
                        let number = next.fetch_add(1, Relaxed).to_le_bytes();
                        rooms.iter_mut().for_each(|room| room.value().copy_from_slice(&number));
                        local.link_all(rooms).unwrap();
                        if rng.random_bool(0.2) {
                            // For want of a way one may have pushed out another.
                            for key in &keys {
                                local.lock(key).remove();
                            }
                        }
                        local.unlock_all();
                    } else {
                        let mut order: Vec<_> = (0..KEYS).collect();
                        order.sort_by_key(|_| rng.random::<u32>());
                        for n in order {
                            // Eviction may take any.
                            if let Some(number) = number(&local, &key(n)) {
                                assert!(number >= last, "{number} after {last}");
                                last = number;
                                seen.fetch_add(1, Relaxed);
                            }
                        }
                    }
                }
            });
        }
        meanwhile(pause(), || next.load(Relaxed) > 1000 && seen.load(Relaxed) > 1000);
        stop.store(true, Relaxed);
    });
    println!("{} steps, {} seen", next.load(Relaxed), seen.load(Relaxed));
    assert!(cfg!(miri) || (next.load(Relaxed) > 1000 && seen.load(Relaxed) > 1000));
}

/// Money goes from account to account, read and written under the locks, with room set aside; none
/// comes, none goes.
#[test]
fn sums_stay() {
    const ACCOUNTS: u64 = 20;
    let mut seeds = rng("sums_stay");
    let config = Config { evict: false, threads: 4, ..tiny(1 << 20, 1024, 40) };
    let store = Store::new(config).unwrap();
    let mut local = store.local();
    for n in 0..ACCOUNTS {
        set(&mut local, &key(n), &1000u64.to_le_bytes(), 0, 0).unwrap();
    }
    local.offline();
    let steps = rounds(20_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (store, mut rng) = (&store, common::fork(&mut seeds));
            scope.spawn(move || {
                let mut local = store.local();
                for _ in 0..steps {
                    local.quiesce();
                    let mut all: Vec<_> = (0..ACCOUNTS).collect();
                    all.sort_by_key(|_| rng.random::<u32>());
                    all.truncate(rng.random_range(1..6));
                    let keys: Vec<_> = all.into_iter().map(key).collect();
                    let hashes: Vec<_> = keys.iter().map(|key| local.hash(key)).collect();
                    let sizes: Vec<_> =
                        keys.iter().map(|key| Store::footprint(key.len(), 8, 0, 1)).collect();
                    if local.set_aside(&sizes).is_err() {
                        continue;
                    }
                    local.lock_all(&hashes);
                    let sum: u64 = keys.iter().map(|key| number(&local, key).unwrap()).sum();
                    let mut left = sum;
                    for (i, key) in keys.iter().enumerate() {
                        let part =
                            if i + 1 == keys.len() { left } else { rng.random_range(0..=left) };
                        left -= part;
                        let room =
                            room(&mut local, key, &part.to_le_bytes()).expect("it was set aside");
                        local.lock_for(&room).link(room, None).unwrap();
                    }
                    local.unlock_all();
                }
            });
        }
    });
    let local = store.local();
    let sum: u64 = (0..ACCOUNTS).map(|n| number(&local, &key(n)).unwrap()).sum();
    assert_eq!(sum, 1000 * ACCOUNTS);
}

/// Whatever sizes were set aside can be reserved, in any order, and what is not taken comes back.
#[test]
fn room_that_was_set_aside() {
    let mut rng = rng("room_that_was_set_aside");
    let store = Store::new(Config { item_max: 8192, ..tiny(1 << 19, 1024, 200) }).unwrap();
    let mut local = store.local();
    for turn in 0..rounds(2000) as u64 {
        let mut lens: Vec<usize> = (0..rng.random_range(1..40))
            .map(|_| match rng.random_range(0..20) {
                0 => rng.random_range(400..5000),
                _ => rng.random_range(0..300),
            })
            .collect();
        let keys: Vec<_> = (0..lens.len() as u64).map(|n| key(turn % 7 * 50 + n)).collect();
        let hashes: Vec<_> = keys.iter().map(|key| local.hash(key)).collect();
        let size = |(len, key): (&usize, &Vec<u8>)| Store::footprint(key.len(), *len, 0, 0);
        let sizes: Vec<_> = lens.iter().zip(&keys).map(size).collect();
        local.set_aside(&sizes).expect("most can be evicted");
        local.lock_all(&hashes);
        for i in (1..lens.len()).rev() {
            // Lengths are those, the order is not.
            let j = rng.random_range(0..=i);
            if keys[i].len() == keys[j].len() {
                lens.swap(i, j);
            }
        }
        for (key, &len) in keys.iter().zip(&lens) {
            if rng.random_bool(0.1) {
                continue;
            }
            // Less is right, too.
            let len = if rng.random_bool(0.1) { len / 2 } else { len };
            let room = room(&mut local, key, &vec![turn as u8; len]).expect("it was set aside");
            local.lock_for(&room).link(room, None).unwrap();
            assert_eq!(local.get(key, local.hash(key)).unwrap().value(), vec![turn as u8; len]);
        }
        local.unlock_all();
        local.quiesce();
    }
    let s = store.stats();
    let all = s.chunks_free + s.chunks_small + s.chunks_main + s.chunks_limbo + s.chunks_lent;
    assert_eq!(all, s.chunks, "{s:?}");
}

/// Steps for which room is set aside take no more of it than they need: nothing has to go.
#[test]
fn many_steps_in_little_room() {
    const KEYS: u64 = 700;
    let store = Store::new(tiny(1 << 18, 4096, 200)).unwrap();
    let mut local = store.local();
    for turn in 0..rounds(20_000) as u64 {
        let two = [turn, turn * 7 + 1].map(|n| key(n % KEYS));
        let hashes = two.each_ref().map(|key| local.hash(key));
        let sizes = two.each_ref().map(|key| Store::footprint(key.len(), 100, 0, 0));
        local.set_aside(&sizes).unwrap();
        local.lock_all(&hashes);
        for key in &two {
            let room = room(&mut local, key, &[turn as u8; 100]).expect("it was set aside");
            local.lock_for(&room).link(room, None).unwrap();
        }
        local.unlock_all();
        local.quiesce();
        assert_eq!(store.stats().evictions, 0, "{turn}: {:?}", store.stats());
    }
}

/// More than was set aside is refused, and does not wait for anybody.
#[test]
fn no_more_than_was_set_aside() {
    let store = Store::new(tiny(1 << 16, 1024, 16)).unwrap();
    let mut local = store.local();
    let hash = local.hash(b"key");
    local.set_aside(&[100]).unwrap();
    local.lock_all(&[hash]);
    let taken = (0..100).map(|_| room(&mut local, b"key", &[0; 500])).take_while(Result::is_ok);
    assert!(taken.count() < 4);
    local.unlock_all();
}

/// Without eviction, in an index that is full: all or none.
#[test]
fn all_or_none() {
    let mut rng = rng("all_or_none");
    let config = Config { evict: false, ..tiny(1 << 20, 4096, 8) };
    let mut refused = 0;
    for _ in 0..rounds(300) {
        let store = Store::new(config.clone()).unwrap();
        let mut local = store.local();
        for n in 0..rng.random_range(40..60) {
            set(&mut local, &key(n), &0u64.to_le_bytes(), 0, 0);
        }
        for turn in 1..20u64 {
            let numbers: Vec<u64> =
                (0..rng.random_range(1..12)).map(|_| rng.random_range(0..80)).collect();
            let before: Vec<_> = (0..80).map(|n| number(&local, &key(n))).collect();
            let rooms =
                numbers.iter().map(|&n| room(&mut local, &key(n), &turn.to_le_bytes()).unwrap());
            let rooms: Vec<_> = rooms.collect();
            let hashes: Vec<_> = numbers.iter().map(|&n| local.hash(&key(n))).collect();
            local.lock_all(&hashes);
            let done = local.link_all(rooms).is_ok();
            local.unlock_all();
            refused += usize::from(!done);
            for n in 0..80 {
                let set = done && numbers.contains(&n);
                let wanted = if set { Some(turn) } else { before[n as usize] };
                assert_eq!(number(&local, &key(n)), wanted);
            }
        }
        let there = (0..80).filter(|&n| number(&local, &key(n)).is_some()).count();
        assert_eq!(store.keys(0), there as u64);
    }
    assert!(cfg!(miri) || refused > 100);
}

#[test]
#[should_panic(expected = "not among those locked")]
fn another_key() {
    let store = Store::new(Config { threads: 100, ..tiny(1 << 20, 1024, 4096) }).unwrap();
    let mut local = store.local();
    let hash = local.hash(b"key");
    local.lock_all(&[hash]);
    for n in 0..10 {
        let _ = local.lock(&key(n));
    }
}
