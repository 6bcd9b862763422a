//! Lines of `stats` that say the same whatever serves.

/// Settings of memcached that are off here for good.
pub const OFF: &[&str] = &[
    "dump_enabled",
    "inline_ascii_response",
    "lru_crawler",
    "lru_maintainer_thread",
    "lru_segmented",
    "proxy_enabled",
    "proxy_uring_enabled",
    "slab_reassign",
    "ssl_kernel_tls",
    "temp_lru",
    "track_sizes",
];
/// Settings of memcached that name a file or number that is not set.
pub const NOT_SET: &[&str] = &["num_napi_ids"];

/// Counters that memcached has for each slab class.
pub const OF_A_SLAB: &[&str] = &[
    "get_hits",
    "cmd_set",
    "delete_hits",
    "incr_hits",
    "decr_hits",
    "cas_hits",
    "cas_badval",
    "touch_hits",
];
