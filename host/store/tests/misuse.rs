//! What the types do not rule out ends in a panic or a miss, not in memory that is somebody else's.

mod common;

use common::{check, key, set, sized, tiny, value};
use wirekv_store::{HashKey, Store};

fn stores() -> [std::sync::Arc<Store>; 2] {
    // They have the same hash key: nothing else tells their items apart.
    [4 << 20, 1 << 20].map(|memory| Store::new(tiny(memory, 4096, 64)).unwrap())
}

#[test]
#[should_panic(expected = "a reservation of another store")]
fn a_reservation_of_another_store() {
    let [one, other] = stores().map(|store| store.local());
    let (mut one, other) = (one, other);
    let room = one.reserve(b"key", 100, 0, 0).unwrap();
    let _ = other.lock(b"key").link(room, None);
}

/// The other store is gone, and its reservation is not.
#[test]
#[should_panic(expected = "a reservation of another store")]
fn a_reservation_of_a_store_that_is_gone() {
    let room = stores()[0].local().reserve(b"key", 100, 0, 0).unwrap();
    let store = stores()[0].clone();
    let _ = store.local().lock(b"key").link(room, None);
}

#[test]
#[should_panic(expected = "a reservation of another key")]
fn a_reservation_of_another_key() {
    let mut local = stores()[0].local();
    let room = local.reserve(b"key", 100, 0, 0).unwrap();
    let _ = local.lock(b"yek").link(room, None);
}

/// An item is hit where it was found.
#[test]
fn an_item_of_another_store() {
    let [one, other] = stores().map(|store| store.local());
    let (mut one, mut other) = (one, other);
    for n in 0..200 {
        set(&mut one, &key(n), &value(&key(n), n, 50), 0, 0).unwrap();
    }
    for n in 0..200 {
        other.hit(&one.get(&key(n), one.hash(&key(n))).unwrap());
    }
    for n in 0..200 {
        assert!(one.get(&key(n), one.hash(&key(n))).unwrap().fetched());
        set(&mut other, &key(n), &value(&key(n), n, 50), 0, 0).unwrap();
        assert_eq!(check(&key(n), other.get(&key(n), other.hash(&key(n))).unwrap().value()), n);
    }
}

/// Another key's hash finds nothing, and nothing is stored by it.
#[test]
fn the_hash_of_another_key() {
    let mut local = stores()[0].local();
    set(&mut local, b"key", b"one", 0, 0).unwrap();
    assert!(local.get(b"key", local.hash(b"yek")).is_none());
    assert!(local.get(b"key", HashKey::random().hash(b"key")).is_none());
    assert!(local.get(b"yek", local.hash(b"key")).is_none());
    assert!(!local.lock(b"yek").remove());
    assert_eq!(local.get(b"key", local.hash(b"key")).unwrap().value(), b"one");
}

/// A length that an item cannot say.
#[test]
fn a_value_of_four_gigabytes() {
    let store = Store::new(sized(6 << 30)).unwrap();
    assert!(store.local().reserve(b"key", (1 << 32) + 5, 0, 0).is_err());
}
