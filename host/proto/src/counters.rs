//! What a thread counts for `stats`, under memcached's names.

/// One thread's counters. Those of all threads are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[rustfmt::skip]
pub struct Counters {
    pub cmd_get: u64, pub cmd_set: u64, pub cmd_flush: u64, pub cmd_touch: u64, pub cmd_meta: u64,
    pub get_hits: u64, pub get_misses: u64, pub get_expired: u64, pub get_flushed: u64,
    pub delete_hits: u64, pub delete_misses: u64,
    pub incr_hits: u64, pub incr_misses: u64, pub decr_hits: u64, pub decr_misses: u64,
    pub cas_hits: u64, pub cas_misses: u64, pub cas_badval: u64,
    pub touch_hits: u64, pub touch_misses: u64,
    pub store_too_large: u64, pub store_no_memory: u64,
    /// For whoever serves connections: one had its share of requests and more were there.
    pub conn_yields: u64,
}

impl Counters {
    /// Adds another thread's.
    pub fn add(&mut self, other: &Counters) {
        for ((_, sum), (_, more)) in self.each_mut().into_iter().zip(other.each()) {
            *sum += more;
        }
    }
}

macro_rules! each {
    ($($name:ident)*) => {
        impl Counters {
            /// Names, as `stats` shows them, and values.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }

            fn each_mut(&mut self) -> Vec<(&'static str, &mut u64)> {
                vec![$((stringify!($name), &mut self.$name)),*]
            }
        }
    };
}

each! {
    cmd_get cmd_set cmd_flush cmd_touch cmd_meta get_hits get_misses get_expired get_flushed
    delete_hits delete_misses incr_hits incr_misses decr_hits decr_misses cas_hits cas_misses
    cas_badval touch_hits touch_misses store_too_large store_no_memory conn_yields
}
