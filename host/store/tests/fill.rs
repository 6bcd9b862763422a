//! How full the index gets before it has to refuse or to evict.

mod common;

use common::{set, sized};
use wirekv_store::{Config, Store};

/// Without eviction: the share of its ways that are taken when the first key finds none.
#[test]
#[cfg_attr(miri, ignore)]
fn before_the_first_refusal() {
    for (buckets, least) in [(100usize, 0.9), (1 << 10, 0.9), (1 << 14, 0.9), (1 << 17, 0.9)] {
        let memory = (8 * buckets * 40 + (8 << 20)).next_multiple_of(1 << 20);
        let buckets = Some(buckets);
        let config = Config { evict: false, buckets, item_max: 1024, ..sized(memory) };
        let store = Store::new(config).unwrap();
        let mut local = store.local();
        let full = |&n: &u64| set(&mut local, &n.to_le_bytes(), b"", 0, 0).is_none();
        let items = (0..).find(full).unwrap();
        let fill = items as f64 / store.stats().ways as f64;
        println!("{} ways: {:.2} % taken", store.stats().ways, 100.0 * fill);
        assert!(fill > least);
    }
}

/// With it, as new keys come for ever: how many are pushed out for want of a way, while there is room
/// for them.
#[test]
#[cfg_attr(miri, ignore)]
fn as_keys_come_and_go() {
    let config = Config { mean_item: 8, item_max: 1024, ..sized(32 << 20) };
    let store = Store::new(config).unwrap();
    let mut local = store.local();
    let keys = 8 * store.stats().ways;
    for n in 0..keys {
        set(&mut local, &n.to_le_bytes(), b"", 0, 0).unwrap();
    }
    let stats = store.stats();
    let share = stats.index_evictions as f64 / stats.evictions as f64;
    let fill = stats.items as f64 / stats.ways as f64;
    println!("{:.2} % taken, {:.4} % of evictions for want of a way", 100.0 * fill, 100.0 * share);
    assert!(share < 0.01);
}
