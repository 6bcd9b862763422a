//! Where the fields of ways and items are, and what a file of `-e` must agree with.
//! Made by spec/gen.py from spec/items.toml: `make spec`.

#![allow(dead_code, reason = "not every field is read by its number")]

/// Of all that a later process reads.
pub(crate) const HASH: u64 = 0x1fb8be3b20ab4d99;

/// The lowest bit of each field of a way, and how many it has.
pub(crate) mod way {
    pub const GHOST: u32 = 0;
    pub const GHOST_BITS: u32 = 6;
    pub const LINES: u32 = 6;
    pub const LINES_BITS: u32 = 6;
    pub const USES: u32 = 12;
    pub const USES_BITS: u32 = 2;
    pub const PLACE: u32 = 14;
    pub const PLACE_BITS: u32 = 36;
    pub const TAG: u32 = 50;
    pub const TAG_BITS: u32 = 14;
}

/// The lowest bit of each field of an item's first word, and how many it has.
pub(crate) mod word {
    pub const CAS: u32 = 0;
    pub const CAS_BITS: u32 = 48;
    pub const FETCHED: u32 = 48;
    pub const ACTIVE: u32 = 49;
    pub const STALE: u32 = 50;
    pub const WIN: u32 = 51;
    pub const DEAD: u32 = 52;
    pub const BINARY: u32 = 53;
    pub const FLAGS: u32 = 60;
    pub const LONG: u32 = 61;
    pub const EXPIRY: u32 = 62;
    pub const WIDE: u32 = 63;
}

/// The lowest bit of each field of the word with an item's lengths, and how many it has.
pub(crate) mod lengths {
    pub const KEY: u32 = 0;
    pub const KEY_BITS: u32 = 8;
    pub const PLACE: u32 = 8;
    pub const PLACE_BITS: u32 = 4;
    pub const VALUE: u32 = 12;
    pub const VALUE_BITS: u32 = 20;
}

/// Bytes that every item begins with.
pub(crate) const HEADER: usize = 16;
