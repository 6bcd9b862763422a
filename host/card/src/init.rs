//! Brings a card up: addresses, memory layout, secrets, then the enable bit.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::{csr, Card, CardError};

/// Bytes of a connection's ring, one for each direction.
const RING_BYTES: u64 = 64 * 1024;
const LINE_BYTES: u64 = 64;
/// Most clocks that host software holds the store for a command, and once more to write what it changed: 4 ms
/// at 250 MHz.
const HOLD_CLOCKS: u32 = 1 << 20;

/// How the card's memory is divided. The regions follow each other, each starting where AXI ports
/// to separate memories could also put it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// log2 of the number of buckets.
    pub index_bits: u32,
    pub log_lines: u32,
    pub index_base: u64,
    pub log_base: u64,
    pub rx_ring_base: u64,
    pub tx_ring_base: u64,
    /// Bytes from address 0 to the end of the last region.
    pub total: u64,
}

impl Layout {
    /// Bytes that a connection takes beside the items: its two rings.
    pub const BYTES_A_CONN: u64 = 2 * RING_BYTES;

    /// Divides `item_bytes` between index and log: the index is the largest power of two that is
    /// no more than an eighth. None when it is too small or too large for the card's registers.
    pub fn new(item_bytes: u64, conns: u32) -> Option<Layout> {
        let buckets = item_bytes / 8 / LINE_BYTES;
        let index_bits = buckets.checked_ilog2().filter(|b| (4..=27).contains(b))?;
        let index_bytes = LINE_BYTES << index_bits;
        let log_lines = (item_bytes - index_bytes) / LINE_BYTES;
        let log_lines = u32::try_from(log_lines).ok().filter(|l| *l < 1 << 26)?;
        let log_base = index_bytes;
        let log_end = log_base + u64::from(log_lines) * LINE_BYTES;
        let rx_ring_base = log_end.next_multiple_of(RING_BYTES);
        let tx_ring_base = rx_ring_base + u64::from(conns) * RING_BYTES;
        Some(Layout {
            index_bits,
            log_lines,
            index_base: 0,
            log_base,
            rx_ring_base,
            tx_ring_base,
            total: tx_ring_base + u64::from(conns) * RING_BYTES,
        })
    }
}

/// What a client must not know or guess.
#[derive(Clone, Debug)]
pub struct Seeds {
    pub tcp_secret: [u32; 4],
    pub hash_mix: [u64; 2],
    pub hash_nh: [u32; 32],
}

impl Seeds {
    /// From the operating system.
    pub fn random() -> Result<Seeds, CardError> {
        Seeds::fill(|| getrandom::u64().map_err(CardError::NoRandomness))
    }

    /// The same seeds for the same number, for runs that can be repeated.
    pub fn repeatable(seed: u64) -> Seeds {
        let mut state = seed;
        // splitmix64
        Seeds::fill(|| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            Ok(z ^ (z >> 31))
        })
        .expect("no source of errors")
    }

    fn fill(mut next: impl FnMut() -> Result<u64, CardError>) -> Result<Seeds, CardError> {
        let mut seeds = Seeds { tcp_secret: [0; 4], hash_mix: [0; 2], hash_nh: [0; 32] };
        for word in seeds.tcp_secret.iter_mut().chain(&mut seeds.hash_nh) {
            *word = next()? as u32;
        }
        for word in &mut seeds.hash_mix {
            *word = next()? | 1; // multipliers are odd
        }
        Ok(seeds)
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub mac: [u8; 6],
    pub ip: Ipv4Addr,
    /// Beside that of the link. Unspecified: none.
    pub ip6: Ipv6Addr,
    pub tcp_port: u16,
    /// Of Redis' protocol; 0: off.
    pub redis_port: u16,
    /// Redis' clients have to be let in.
    pub guard: bool,
    /// The card's items are copies of another server's.
    pub upstream: bool,
    /// 0: UDP off.
    pub udp_port: u16,
    pub mtu: u16,
    /// Of which it is a member beside the untagged network; 0: none.
    pub vlan: u16,
    /// Limit of an item's size, memcached's `-I`.
    pub item_max: u32,
    pub max_conns: u32,
    pub time_wait_ms: u32,
    /// Silence before the first keep-alive probe; 0: none is sent.
    pub keep_alive_seconds: u16,
    /// Time without a request after which a connection is closed; 0: it stays.
    pub idle_seconds: u16,
    /// Since the UNIX epoch.
    pub time: Duration,
    pub layout: Layout,
    /// Memory holds anything, so that of the index has to become zero first: always, but where a simulated one is zero.
    pub zero_index: bool,
}

/// Programs a card that has just come out of reset and enables it.
pub fn init(card: &mut dyn Card, set: &Settings, seeds: &Seeds) -> Result<(), CardError> {
    let id = card.read_csr(csr::ID)?;
    if id != csr::ID_VALUE {
        return Err(CardError::NotACard(id));
    }
    let has = card.read_csr(csr::CONNS)?;
    if set.max_conns > has {
        return Err(CardError::TooManyConnections { has, wanted: set.max_conns });
    }
    if set.udp_port != 0 && card.read_csr(csr::VARIANT)? & csr::VARIANT_UDP == 0 {
        return Err(CardError::NoUdp);
    }
    if set.upstream && card.read_csr(csr::VARIANT)? & csr::VARIANT_UPSTREAM == 0 {
        return Err(CardError::NoUpstream);
    }

    let mac = set.mac.iter().fold(0u64, |m, b| m << 8 | u64::from(*b));
    let lines = |bytes: u64| (bytes / LINE_BYTES) as u32;
    let l = &set.layout;
    for (addr, value) in [
        (csr::MAC_LOW, mac as u32),
        (csr::MAC_HIGH, (mac >> 32) as u32),
        (csr::IP, u32::from(set.ip)),
        (csr::TCP_PORT, u32::from(set.tcp_port)),
        (csr::REDIS_PORT, u32::from(set.redis_port)),
        (csr::REDIS_CLIENTS, if set.guard { csr::REDIS_CLIENTS_GUARD } else { 0 }),
        (csr::UPSTREAM, set.upstream.into()),
        (csr::UDP_PORT, u32::from(set.udp_port)),
        (csr::HOLD_MAX, HOLD_CLOCKS),
        (csr::MTU, u32::from(set.mtu)),
        (csr::VLAN, u32::from(set.vlan)),
        (csr::INDEX_BASE, lines(l.index_base)),
        (csr::LOG_BASE, lines(l.log_base)),
        (csr::RX_RING_BASE, lines(l.rx_ring_base)),
        (csr::TX_RING_BASE, lines(l.tx_ring_base)),
        (csr::INDEX_BITS, l.index_bits),
        (csr::LOG_LINES, l.log_lines),
        (csr::ITEM_MAX, set.item_max),
        (csr::MAX_CONNS, set.max_conns),
        (csr::TIME_WAIT_MS, set.time_wait_ms),
        (csr::KEEP_ALIVE_SECONDS, set.keep_alive_seconds.into()),
        (csr::IDLE_SECONDS, set.idle_seconds.into()),
    ] {
        card.write_csr(addr, value)?;
    }
    set_time(card, set.time)?;
    write_words(card, csr::IP6_FIXED, (0..4).map(|n| (u128::from(set.ip6) >> (32 * n)) as u32))?;
    write_words(card, csr::TCP_SECRET, seeds.tcp_secret)?;
    let mix = seeds.hash_mix.iter().flat_map(|m| [*m as u32, (*m >> 32) as u32]);
    write_words(card, csr::HASH_MIX, mix)?;
    write_words(card, csr::HASH_NH, seeds.hash_nh)?;
    if set.zero_index {
        zero_index(card, l.index_bits)?;
    }
    card.write_csr(csr::ENABLE, 1)?;
    // The answer comes behind the write's effect: the card takes frames from now on.
    card.read_csr(csr::ENABLE).map(drop)
}

/// Has the card make its index zero. A look at the card takes it four clocks at least, so memory may take 64 clocks for a
/// line of each port before it counts as silent.
fn zero_index(card: &mut dyn Card, index_bits: u32) -> Result<(), CardError> {
    card.write_csr(csr::INDEX_ZERO, 1)?;
    for _ in 0..100_000 + (8u64 << index_bits) {
        let status = card.read_csr(csr::STATUS)?;
        if status & csr::STATUS_ZEROING == 0 {
            let refused = status & csr::STATUS_REFUSED != 0;
            return if refused { Err(CardError::MemoryRefuses) } else { Ok(()) };
        }
    }
    Err(CardError::MemorySilent)
}

/// Tells the card the time since the UNIX epoch. Its clock counts on from there, and never goes back: if
/// it is ahead, it waits.
pub fn set_time(card: &mut dyn Card, time: Duration) -> Result<(), CardError> {
    card.write_csr(csr::MILLISECONDS, time.subsec_millis())?;
    card.write_csr(csr::UNIX_SECONDS, time.as_secs() as u32)
}

fn write_words(
    card: &mut dyn Card,
    base: u32,
    words: impl IntoIterator<Item = u32>,
) -> Result<(), CardError> {
    for (n, word) in words.into_iter().enumerate() {
        card.write_csr(base + 4 * n as u32, word)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;

    #[test]
    fn sixty_four_mib() {
        let l = Layout::new(64 << 20, 1024).unwrap();
        assert_eq!(l.index_bits, 17);
        assert_eq!(u64::from(l.log_lines), (56 << 20) / 64);
        assert_eq!(l.rx_ring_base, 64 << 20);
        assert_eq!(l.total, (64 << 20) + 2 * (64 << 20));
    }

    #[test]
    fn index_is_at_most_an_eighth() {
        let l = Layout::new(100 << 20, 16).unwrap();
        assert_eq!(LINE_BYTES << l.index_bits, 8 << 20);
        assert_eq!(l.log_base, 8 << 20);
    }

    #[test]
    fn rings_begin_where_one_may() {
        let l = Layout::new((1 << 20) + 64, 16).unwrap();
        assert_eq!(u64::from(l.log_lines) * LINE_BYTES + l.log_base, (1 << 20) + 64);
        assert_eq!(l.rx_ring_base, (1 << 20) + RING_BYTES);
    }

    #[test]
    fn memory_out_of_range() {
        assert_eq!(Layout::new(1024, 16), None);
        assert_eq!(Layout::new(6 << 30, 16), None);
    }

    #[test]
    fn repeatable_seeds() {
        let (a, b) = (Seeds::repeatable(7), Seeds::repeatable(7));
        assert_eq!(a.hash_nh, b.hash_nh);
        assert_ne!(a.hash_nh, Seeds::repeatable(8).hash_nh);
        assert!(a.hash_mix.iter().all(|m| m % 2 == 1));
    }

    /// A card of which STATUS alone says something.
    struct Zeroing {
        looks: u32,
        status: u32,
        begun: bool,
    }

    impl Card for Zeroing {
        fn read_csr(&mut self, addr: u32) -> Result<u32, CardError> {
            assert!(self.begun && addr == csr::STATUS);
            self.looks = self.looks.saturating_sub(1);
            Ok(if self.looks > 0 { csr::STATUS_ZEROING } else { self.status })
        }
        fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError> {
            assert_eq!((addr, value, self.begun), (csr::INDEX_ZERO, 1, false));
            self.begun = true;
            Ok(())
        }
        fn send(&mut self, _: Port, _: &[u8]) {}
        fn backlog(&self, _: Port) -> usize {
            0
        }
        fn advance(&mut self, _: u64) {}
        fn receive(&mut self, _: Port, _: &mut dyn FnMut(&[u8])) {}
        fn tick(&mut self) {}
        fn idle(&self) -> bool {
            true
        }
        fn timers(&self) -> bool {
            false
        }
        fn short_timers(&self) -> bool {
            false
        }
        fn clock(&self) -> u64 {
            0
        }
    }

    #[test]
    fn waits_until_the_index_is_zero() {
        let mut card = Zeroing { looks: 1000, status: csr::STATUS_IDLE, begun: false };
        zero_index(&mut card, 4).unwrap();
        assert_eq!(card.looks, 0);
    }

    #[test]
    fn memory_that_refuses_or_is_silent() {
        let mut card = Zeroing { looks: 5, status: csr::STATUS_REFUSED, begun: false };
        assert!(matches!(zero_index(&mut card, 4), Err(CardError::MemoryRefuses)));
        let mut card = Zeroing { looks: u32::MAX, status: 0, begun: false };
        assert!(matches!(zero_index(&mut card, 4), Err(CardError::MemorySilent)));
    }
}
