//! Miss ratio of a trace: big-endian 32-bit key ids on standard input, one a request, objects of
//! equal size; a key that is missing is stored.
//!
//! `xz -dc web12.trace.xz | cargo run --release -p wirekv-store --example trace -- 5`
//!
//! Arguments: size of the cache in percent of the trace's keys (10), objects a chunk (8), share of
//! ways that objects take when the cache is full, in percent (50).

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use wirekv_store::{Config, Store};

const VALUE: [u8; 8] = [0; 8];

/// A store whose log has `chunks` chunks.
fn store(chunks: usize, chunk: usize, buckets: usize) -> Arc<Store> {
    let mut memory = 4096 + buckets * 64 + chunks * (chunk + 128);
    loop {
        let config = Config {
            chunk: Some(chunk),
            buckets: Some(buckets),
            item_max: chunk,
            ..Config::new(memory)
        };
        let store = Store::new(config).expect("a store");
        match store.stats().chunks as usize {
            n if n > chunks => memory -= (n - chunks) * chunk / 2 + 1,
            n if n < chunks => memory += (chunks - n) * chunk / 2 + 1,
            _ => return store,
        }
    }
}

fn main() {
    let argument = |i: usize, usual: usize| {
        std::env::args().nth(i).map_or(usual, |text| text.parse().expect("a number"))
    };
    let (percent, objects_a_chunk, fill) = (argument(1, 10), argument(2, 8), argument(3, 50));
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).expect("a trace");
    let requests: Vec<[u8; 4]> = bytes.chunks_exact(4).map(|id| id.try_into().unwrap()).collect();
    let keys = requests.iter().collect::<HashSet<_>>().len();
    let objects = keys * percent / 100;

    let chunk = (objects_a_chunk * Store::footprint(4, VALUE.len(), 0, 0)).next_power_of_two();
    let size = Store::footprint(4, VALUE.len(), 0, 0);
    let store = store(objects * size / chunk, chunk, (objects * 100 / fill).div_ceil(8));
    let mut local = store.local();
    let (mut misses, mut items) = (0u64, 0u64);
    for (n, key) in requests.iter().enumerate() {
        let hash = local.hash(key);
        match local.get(key, hash) {
            Some(item) => local.hit(&item),
            None => {
                misses += 1;
                let mut room = local.reserve(key, VALUE.len(), 0, 0).expect("room");
                room.value().copy_from_slice(&VALUE);
                local.lock_for(&room).link(room, None).expect("a way");
            }
        }
        local.quiesce();
        if n % 1024 == 0 {
            items = items.max(store.stats().items);
        }
    }
    let stats = store.stats();
    println!(
        "{} requests, {keys} keys, room for {} objects in {} chunks (most seen {items}): \
         miss ratio {:.4}",
        requests.len(),
        stats.log_bytes as usize / size,
        stats.chunks,
        misses as f64 / requests.len() as f64,
    );
    println!("{stats:?}");
}
