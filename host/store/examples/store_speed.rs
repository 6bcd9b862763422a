//! Nanoseconds an operation, one thread: `cargo run --release -p wirekv-store --example store_speed`.
//! Arguments: keys (1000000), bytes of an item's value (36), threads (1).

use std::hint::black_box;
use std::time::{Duration, Instant};

use wirekv_store::{Config, Hash, Local, Store};

const KEY: usize = 64;
const BATCH: usize = 16;

/// Key texts of a fixed length, one behind another.
struct Keys(Vec<u8>);

impl Keys {
    fn new(count: usize) -> Self {
        let text = |n: usize| format!("{:0>1$}", n * 7919, KEY).into_bytes();
        Self((0..count).flat_map(text).collect())
    }

    /// The same keys in another order. Requests come from a buffer that is read from front to back;
    /// so do these.
    fn reordered(&self, order: &[u32]) -> Self {
        Self(order.iter().flat_map(|&n| self.get(n as usize)).copied().collect())
    }

    fn get(&self, n: usize) -> &[u8] {
        &self.0[n * KEY..][..KEY]
    }
}

/// Numbers below `count` in random order, each once.
fn shuffled(count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in (1..count).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(i, ((state >> 32) as usize * (i + 1)) >> 32);
    }
    order
}

/// This thread's time on a processor.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is there to be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The best of five runs, in time on the processor.
fn time(name: &str, operations: usize, mut run: impl FnMut()) {
    let nanoseconds = (0..5).map(|_| {
        let start = processor_time();
        run();
        (processor_time() - start).as_nanos() as f64 / operations as f64
    });
    println!("{name:32} {:7.1} ns", nanoseconds.fold(f64::MAX, f64::min));
}

fn set(local: &mut Local, key: &[u8], value: &[u8]) {
    let mut room = local.reserve(key, value.len(), 0, 0).expect("room");
    room.value().copy_from_slice(value);
    local.lock_for(&room).link(room, None).expect("a way");
}

fn main() {
    let argument = |i: usize, usual: usize| {
        std::env::args().nth(i).map_or(usual, |text| text.parse().expect("a number"))
    };
    let (count, value, threads) = (argument(1, 1_000_000), argument(2, 36), argument(3, 1));
    let keys = Keys::new(count);
    let shuffled = keys.reordered(&shuffled(count));
    let value = vec![7u8; value];
    let item = Store::footprint(KEY, value.len(), 0, 0);
    println!("{count} keys of {KEY} bytes, values of {} bytes, batches of {BATCH}", value.len());

    let memory = count * (item + 8) * 5 / 4 + (8 << 20);
    let mean_item = KEY + value.len();
    let store = Store::new(Config { mean_item, threads, ..Config::new(memory) }).unwrap();
    let mut local = store.local();
    let hashes = |local: &Local, keys: &Keys, from: usize| -> [Hash; BATCH] {
        let hashes = std::array::from_fn(|i| {
            let hash = local.hash(keys.get(from + i));
            local.prefetch_buckets(hash);
            hash
        });
        hashes.iter().for_each(|&hash| local.prefetch_item(hash));
        hashes
    };
    let count = count / BATCH * BATCH;
    time("set, batched, first and again", count, || {
        for from in (0..count).step_by(BATCH) {
            hashes(&local, &keys, from);
            for i in 0..BATCH {
                set(&mut local, keys.get(from + i), &value);
            }
            local.quiesce();
        }
    });
    time("set, batched, random order", count, || {
        for from in (0..count).step_by(BATCH) {
            hashes(&local, &shuffled, from);
            for i in 0..BATCH {
                set(&mut local, shuffled.get(from + i), &value);
            }
            local.quiesce();
        }
    });
    let missing = (0..count).filter(|&n| {
        let key = keys.get(n);
        local.get(key, local.hash(key)).is_none()
    });
    println!("{} of {count} are missing", missing.count());

    for len in [8, 16, 32, 64] {
        time(&format!("hash of {len} bytes"), count, || {
            for n in 0..count {
                black_box(local.hash(black_box(&keys.get(n)[KEY - len..])));
            }
        });
    }
    let batched = |local: &mut Local| {
        for from in (0..count).step_by(BATCH) {
            for (i, &hash) in hashes(local, &shuffled, from).iter().enumerate() {
                if let Some(item) = local.get(shuffled.get(from + i), hash) {
                    local.hit(&item);
                    black_box(item.value());
                }
            }
            local.quiesce();
        }
    };
    time("get, hit, batched", count, || batched(&mut local));
    time("get, hit, one by one", count, || {
        for n in 0..count {
            let key = shuffled.get(n);
            if let Some(item) = local.get(key, local.hash(key)) {
                local.hit(&item);
                black_box(item.value());
            }
        }
        local.quiesce();
    });
    time("get, hit, the same 16 keys", count, || {
        for n in 0..count {
            let key = shuffled.get(n % BATCH);
            if let Some(item) = local.get(key, local.hash(key)) {
                local.hit(&item);
                black_box(item.value());
            }
        }
        local.quiesce();
    });
    let absent: Vec<Vec<u8>> = (0..1 << 16).map(|n| format!("{n:0>64x}").into_bytes()).collect();
    time("get, miss, one by one", absent.len(), || {
        for key in &absent {
            black_box(local.get(key, local.hash(key)).is_some());
        }
    });
    if let Ok(maps) = std::fs::read_to_string("/proc/self/smaps_rollup") {
        maps.lines()
            .filter(|line| line.starts_with("AnonHuge"))
            .for_each(|line| println!("{line}"));
    }
    if threads > 1 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| batched(&mut store.local()));
            }
        });
        let rate = (threads * count) as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{:32} {rate:7.1} M/s in all", format!("get, batched, {threads} threads"));
    }
    drop(local);
    drop(store);

    // Half of the room: every set evicts.
    let memory = count * (item + 8) / 2;
    let store = Store::new(Config { mean_item, ..Config::new(memory) }).unwrap();
    let mut local = store.local();
    time("set, evicting", count, || {
        for n in 0..count {
            let key = shuffled.get(n);
            set(&mut local, key, &value);
        }
    });
    println!("{:?}", store.stats());
}
