//! A store in a file, over several processes' lives: what a model has, the file has.

#![cfg(not(any(miri, feature = "shuttle")))]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use wirekv_store::{Config, Error, Store};

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("wirekv-store-{}-{name}", std::process::id()))
}

fn config(path: &Path) -> Config {
    let config = Config { item_max: 100_000, chunk: Some(16 << 10), ..Config::new(4 << 20) };
    Config { file: Some(path.into()), epoch: 1_000_000, ..config }
}

/// All items that are there are as the model has them; says how many they are.
fn found(store: &Arc<Store>, model: &HashMap<Vec<u8>, Vec<u8>>) -> usize {
    let local = store.local();
    let live = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        let item = local.get(key, local.hash(key))?;
        assert_eq!(item.value(), value);
        Some(())
    };
    model.iter().filter_map(live).count()
}

fn put(store: &Arc<Store>, key: &[u8], value: &[u8]) {
    let mut local = store.local();
    let mut room = local.reserve(key, value.len(), 0, 0).unwrap();
    room.value().copy_from_slice(value);
    local.lock(key).link(room, None).unwrap();
}

#[test]
fn lives() {
    let path = path("lives");
    let _ = fs::remove_file(&path);
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut model, mut left) = (HashMap::new(), 0);
    for life in 0..30 {
        let store = Store::new(config(&path)).unwrap();
        assert_eq!(store.begins_empty_for(), None);
        assert_eq!(store.resumed().is_some(), life > 0);
        // As many as there were, and the same: evicting has stopped where it was.
        assert_eq!(found(&store, &model), left);
        assert_eq!(store.stats().items as usize, left);
        store.begin().unwrap();
        store.set_clock(10_000 * (life + 1));
        for _ in 0..rng.random_range(0..2000) {
            let key = rng.random_range(0..4000u32).to_le_bytes().to_vec();
            let longest = if rng.random_range(0..200) == 0 { 90_000 } else { 2000 };
            let value = vec![rng.random(); rng.random_range(0..longest)];
            put(&store, &key, &value);
            model.insert(key, value);
        }
        left = found(&store, &model);
        // A thread that holds the store may still change it.
        let local = store.local();
        assert!(store.save().is_err());
        drop(local);
        assert!(store.save().unwrap());
    }
    assert!(left > 0 && left < model.len(), "{left} of {}", model.len());
    fs::remove_file(&path).unwrap();
}

#[test]
fn what_was_not_saved_is_not_there() {
    let path = path("unsaved");
    let _ = fs::remove_file(&path);
    for life in 0..4 {
        let store = Store::new(config(&path)).unwrap();
        assert_eq!(store.begins_empty_for().is_some(), life > 0, "{:?}", store.begins_empty_for());
        assert!(store.local().get(b"key", store.local().hash(b"key")).is_none());
        store.begin().unwrap();
        put(&store, b"key", b"value");
    }
    // One that only looked has changed nothing.
    let store = Store::new(config(&path)).unwrap();
    put(&store, b"key", b"value");
    store.save().unwrap();
    drop(store);
    for _ in 0..2 {
        drop(Store::new(config(&path)).unwrap());
    }
    let store = Store::new(config(&path)).unwrap();
    assert_eq!(store.local().get(b"key", store.local().hash(b"key")).unwrap().value(), b"value");
    let other = Store::new(config(&path));
    assert!(matches!(other.err(), Some(Error::File(..))));
    fs::remove_file(&path).unwrap();
}
