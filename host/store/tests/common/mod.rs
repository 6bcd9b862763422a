//! What the tests share.
#![allow(dead_code)]

use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use wirekv_store::{Config, HashKey, Local};

/// Of all that is drawn: 1, or `WIREKV_SEED`.
pub fn seed() -> u64 {
    let seed = std::env::var("WIREKV_SEED").ok().filter(|seed| !seed.is_empty());
    seed.map_or(1, |seed| seed.parse().expect("WIREKV_SEED is a number"))
}

/// A generator whose seed is printed.
pub fn rng(name: &str) -> SmallRng {
    let seed = seed();
    println!("{name}: seed {seed}: again with WIREKV_SEED={seed}");
    SmallRng::seed_from_u64(seed)
}

/// A store whose hash the seed draws, too.
pub fn sized(memory: usize) -> Config {
    let mut rng = SmallRng::seed_from_u64(!seed());
    let seed = HashKey { nh: rng.random(), mix: rng.random::<[u64; 2]>().map(|mix| mix | 1) };
    Config { seed, ..Config::new(memory) }
}

/// Rounds of a test: fewer in an interpreter, more if `ROUNDS` says so.
pub fn rounds(usual: usize) -> usize {
    let factor: usize = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    if cfg!(miri) {
        usual / 100
    } else {
        usual * factor
    }
}

/// Lets others work so long, and on until they have met enough: on a busy machine they may wait for a processor. A
/// minute later it ends all the same.
pub fn meanwhile(pause: Duration, enough: impl Fn() -> bool) {
    std::thread::sleep(pause);
    let end = Instant::now() + Duration::from_secs(60);
    while !cfg!(miri) && !enough() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A store in which everything happens all the time.
pub fn tiny(memory: usize, chunk: usize, buckets: usize) -> Config {
    Config { chunk: Some(chunk), buckets: Some(buckets), item_max: chunk, ..sized(memory) }
}

pub fn key(n: u64) -> Vec<u8> {
    // Lengths differ, so that all of the hash's paths are used.
    let mut key = format!("key-{n}-").into_bytes();
    key.resize(key.len() + (n % 40) as usize, b'k');
    key
}

/// A value that says whose it is and is wrong if any of its bytes is.
pub fn value(key: &[u8], version: u64, len: usize) -> Vec<u8> {
    let mut value = version.to_le_bytes().to_vec();
    value.extend(key.iter().copied().cycle().zip(0u8..).map(|(k, i)| k ^ i).take(255));
    let mut state = version.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while value.len() < len {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(key.len() as u64);
        value.push((state >> 56) as u8);
    }
    value.truncate(len.max(8));
    value
}

/// The version that a value claims, if the rest of it agrees.
pub fn check(key: &[u8], bytes: &[u8]) -> u64 {
    let version = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert!(bytes == value(key, version, bytes.len()), "a value of another key or version");
    version
}

pub fn set(local: &mut Local, key: &[u8], value: &[u8], flags: u32, exptime: u32) -> Option<u64> {
    let mut room = local.reserve(key, value.len(), flags, exptime).ok()?;
    room.value().copy_from_slice(value);
    local.lock_for(&room).link(room, None).ok()
}

pub fn any_len(rng: &mut SmallRng, most: usize) -> usize {
    match rng.random_range(0..10) {
        0 => rng.random_range(8..most),
        1..4 => rng.random_range(8..300.min(most)),
        _ => rng.random_range(8..64.min(most)),
    }
}

pub fn fork(rng: &mut SmallRng) -> SmallRng {
    SmallRng::seed_from_u64(rng.random())
}
