//! The card's registers: byte addresses on its AXI4-Lite port, every one 32 bits wide.

mod map;

pub use map::*;

use crate::{Card, CardError};

/// An event counter of the card. It wraps.
#[derive(Debug)]
pub struct Counter {
    /// As the RTL's enum calls it, without the word "Count": `NetRxFrames`.
    pub name: &'static str,
    pub addr: u32,
    pub what: &'static str,
}

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
    fn counters_are_in_order() {
        assert_eq!(COUNTERS[0].name, "NetRxFrames");
        assert_eq!(COUNTERS[0].addr, 0x200);
        assert_eq!(COUNTERS[0].what, "frames from the wire");
        assert!(COUNTERS.windows(2).all(|w| w[0].addr < w[1].addr));
        assert!(COUNTERS.iter().all(|c| c.addr < 0x440));
        assert_eq!(counter_index("NoSuchCounter"), None);
    }
}
