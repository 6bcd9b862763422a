//! How long keys, lines and items may be, in every protocol.

use crate::Settings;

/// Longest key.
pub const KEY_MAX: usize = 250;
/// Longest line of a command, but for `get` with many keys.
pub const MAX_LINE: usize = 2048;
/// memcached's header of an item, CAS unique and line end included, which counts for `-I`.
const OVERHEAD: usize = 59;

/// An item's size in memcached, which `-I` limits.
pub fn size(settings: &Settings, key: usize, value: u64, flags: u32) -> u64 {
    let unique = if settings.cas { 0 } else { 8 };
    (OVERHEAD - unique + key + if flags == 0 { 0 } else { 4 }) as u64 + value
}

/// Longest value that an item of such a size has room for, whatever its flags are.
pub fn value_max(item_max: usize, key: usize) -> usize {
    item_max.saturating_sub(OVERHEAD + 4 + key)
}

/// Whether memcached would refuse such an item.
pub fn too_large(settings: &Settings, key: usize, value: u64, flags: u32) -> bool {
    size(settings, key, value, flags) > settings.item_max as u64
}
