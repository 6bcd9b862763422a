//! The card's register map: byte addresses on its AXI4-Lite port, every register 32 bits wide.
//! `rtl/card/csr.sv` is the other end of this list.

use crate::{Card, CardError};

/// Reads `ID_VALUE` on every WireKV card.
pub const ID: u32 = 0x000;
pub const ID_VALUE: u32 = 0x574B_5631; // "WKV1"
/// Connections this build of the card has room for.
pub const CONNS: u32 = 0x004;
/// Bit 0: nothing in flight. Bit 1: a timer is running. Bit 2: one for which each tick has to come when it is due.
pub const STATUS: u32 = 0x008;
/// Open connections.
pub const OPEN_CONNS: u32 = 0x00C;
/// Bit 0: the card answers. Set last.
pub const ENABLE: u32 = 0x010;
/// UNIX time: `set_time` writes it, behind the milliseconds of the present second.
pub const UNIX_SECONDS: u32 = 0x014;
pub const MAC_LOW: u32 = 0x018;
pub const MAC_HIGH: u32 = 0x01C;
pub const IP: u32 = 0x020;
pub const TCP_PORT: u32 = 0x024;
pub const REDIS_PORT: u32 = 0x0B0;
/// Most clocks that the request port may hold the store, twice at most; 0: never.
pub const HOLD_MAX: u32 = 0x0B4;
/// Bit 0: entries of the index move from even buckets to odd ones only.
pub const ONE_WAY: u32 = 0x0B8;
/// How the card treats Redis' clients: bits `GUARD` and `PAUSE`.
pub const REDIS_CLIENTS: u32 = 0x0BC;
/// Gates run nothing of those that come from now on, until host software lets them in.
pub const GUARD: u32 = 1 << 0;
/// Gates run no command of theirs.
pub const PAUSE: u32 = 1 << 1;
/// The answer to the last question about a connection: bit 31 flips with each; `THERE`: there is
/// that one; `LEFT`: its client will send no more.
pub const ABOUT: u32 = 0x0C0;
pub const THERE: u32 = 1 << 16;
pub const LEFT: u32 = 1 << 17;
/// So many milliseconds, up to `SECOND`, have passed for which no ticks were delivered.
pub const SLEPT: u32 = 0x0C8;
pub const SECOND: u32 = 1000;
/// 0: UDP off.
pub const UDP_PORT: u32 = 0x028;
/// Largest IP packet the card sends.
pub const MTU: u32 = 0x02C;
/// VLAN of which the card is a member beside the untagged network; 0: none.
pub const VLAN: u32 = 0x0C4;
/// Where the four regions of the card's memory start, in lines of 64 bytes.
pub const INDEX_BASE: u32 = 0x030;
pub const LOG_BASE: u32 = 0x034;
pub const RX_RING_BASE: u32 = 0x038;
pub const TX_RING_BASE: u32 = 0x03C;
/// log2 of the number of 64-byte buckets.
pub const INDEX_BITS: u32 = 0x040;
pub const LOG_LINES: u32 = 0x044;
/// Limit of an item's size, memcached's `-I`.
pub const ITEM_MAX: u32 = 0x048;
/// Connections accepted at once (at most `CONNS`).
pub const MAX_CONNS: u32 = 0x04C;
pub const MILLISECONDS: u32 = 0x050;
pub const TIME_WAIT_MS: u32 = 0x054;
/// Seconds of silence before the first keep-alive probe; 0: none is sent.
pub const KEEP_ALIVE_SECONDS: u32 = 0x058;
/// Seconds without a request after which a connection is closed; 0: it stays.
pub const IDLE_SECONDS: u32 = 0x05C;
pub const MOST_IDLE_SECONDS: u32 = 65_000;
/// Four words: the secret behind initial sequence numbers and SYN cookies.
pub const TCP_SECRET: u32 = 0x060;
/// Two odd 64-bit multipliers of the hash's finaliser, low word first.
pub const HASH_MIX: u32 = 0x080;
/// IPv6 addresses, four words each, low word first; all zero for none.
pub const IP6_FIXED: u32 = 0x090;
pub const IP6_AUTO: u32 = 0x0A0;
/// The 32 words of the hash's NH key.
pub const HASH_NH: u32 = 0x100;

/// An event counter of the card. It wraps.
#[derive(Debug)]
pub struct Counter {
    /// As the RTL's enum calls it, without the word "Count": `NetRxFrames`.
    pub name: &'static str,
    pub addr: u32,
    pub what: &'static str,
}

/// All counters, in the order of their addresses.
pub static COUNTERS: &[Counter] = include!(concat!(env!("OUT_DIR"), "/counters.rs"));

/// Where in `COUNTERS` a counter stands.
pub fn counter_index(name: &str) -> Option<usize> {
    COUNTERS.iter().position(|c| c.name == name)
}

/// The counters' totals since the start, whatever their registers wrapped to. They have to be
/// updated before one of them can wrap twice.
pub struct Totals {
    last: Vec<u32>,
    totals: Vec<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Totals { last: vec![0; COUNTERS.len()], totals: vec![0; COUNTERS.len()] }
    }
}

impl Totals {
    pub fn update(&mut self, card: &mut dyn Card) -> Result<(), CardError> {
        for (n, counter) in COUNTERS.iter().enumerate() {
            let now = card.read_csr(counter.addr)?;
            self.totals[n] += u64::from(now.wrapping_sub(self.last[n]));
            self.last[n] = now;
        }
        Ok(())
    }

    /// The total of a counter; 0 for one that this card does not have.
    pub fn get(&self, name: &str) -> u64 {
        counter_index(name).map_or(0, |n| self.totals[n])
    }

    /// All totals with their counters.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Counter, u64)> + '_ {
        COUNTERS.iter().zip(self.totals.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_from_the_rtl() {
        assert_eq!(COUNTERS[0].name, "NetRxFrames");
        assert_eq!(COUNTERS[0].addr, 0x200);
        assert_eq!(COUNTERS[0].what, "frames from the wire");
        assert!(COUNTERS.windows(2).all(|w| w[0].addr < w[1].addr));
        assert!(COUNTERS.iter().all(|c| c.addr < 0x440));
        assert_eq!(counter_index("NoSuchCounter"), None);
    }
}
