//! Resident memory an item, in a process of its own.

mod common;

use common::{set, sized};
use wirekv_store::{Config, Store};

/// This process' resident bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
#[cfg_attr(miri, ignore)]
fn bytes_an_item() {
    // The third is the default; an index made for the items spares the most.
    let cases = [
        (16, 32, 56, 85.0),
        (36, 195, 56, 283.0),
        (64, 1024, 88, 1220.0),
        (64, 1024, 1000, 1130.0),
    ];
    for (key_len, value_len, mean_item, most) in cases {
        let memory = 256 << 20;
        let before = resident();
        let store = Store::new(Config { mean_item, ..sized(memory) }).unwrap();
        let mut local = store.local();
        let value = vec![1; value_len];
        for n in 0..memory / (key_len + value_len) * 2 {
            let key = format!("{n:0>key_len$}");
            set(&mut local, key.as_bytes(), &value, 0, 0).unwrap();
        }
        let stats = store.stats();
        let bytes = (resident() - before) as f64 / stats.items as f64;
        println!(
            "{key_len}/{value_len}: {} items, {bytes:.1} bytes resident an item, {:.1} mapped; \
             {stats:?}",
            stats.items,
            stats.memory as f64 / stats.items as f64
        );
        assert!(stats.memory <= memory as u64);
        assert!(bytes < most);
    }
}
