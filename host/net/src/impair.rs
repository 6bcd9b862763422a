//! A bad wire: drops, duplicates, reorders and damages frames, repeatably.

use std::str::FromStr;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const ETHERNET_HEADER: usize = 14;
/// A frame that is held back is overtaken by at most so many others.
const OVERTAKERS: u32 = 3;

/// Probabilities, each for every frame in each direction, and the seed of the dice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impair {
    pub drop: f64,
    pub dup: f64,
    pub reorder: f64,
    /// One random bit of the IP packet is flipped.
    pub damage: f64,
    pub seed: u64,
}

impl FromStr for Impair {
    type Err = String;

    /// `drop=0.01,dup=0.01,reorder=0.01,damage=0.01,seed=7`, any of them.
    fn from_str(text: &str) -> Result<Impair, String> {
        let mut impair = Impair::default();
        for part in text.split(',') {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("'{part}' is not NAME=VALUE"))?;
            if name == "seed" {
                impair.seed =
                    value.parse().map_err(|_| format!("seed '{value}' is not a number"))?;
                continue;
            }
            let chance = value
                .parse()
                .ok()
                .filter(|p| (0.0..=1.0).contains(p))
                .ok_or_else(|| format!("'{value}' is not a probability between 0 and 1"))?;
            match name {
                "drop" => impair.drop = chance,
                "dup" => impair.dup = chance,
                "reorder" => impair.reorder = chance,
                "damage" => impair.damage = chance,
                _ => return Err(format!("'{name}' is none of drop, dup, reorder, damage, seed")),
            }
        }
        Ok(impair)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub dropped: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub damaged: u64,
}

/// One direction of a bad wire.
pub struct BadWire {
    impair: Impair,
    dice: SmallRng,
    /// Frames held back, each with the number of frames that may still overtake it.
    held: Vec<(u32, Vec<u8>)>,
    pub counts: Counts,
}

impl BadWire {
    pub fn new(impair: Impair, direction: u64) -> BadWire {
        let seed = impair.seed.wrapping_mul(2).wrapping_add(direction);
        BadWire {
            impair,
            dice: SmallRng::seed_from_u64(seed),
            held: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Passes on what comes out of the wire because `frame` went in.
    pub fn carry(&mut self, frame: &[u8], out: &mut impl FnMut(&[u8])) {
        let i = self.impair;
        if self.dice.random_bool(i.drop) {
            self.counts.dropped += 1;
        } else {
            let mut frame = frame.to_vec();
            if frame.len() > ETHERNET_HEADER && self.dice.random_bool(i.damage) {
                let byte = self.dice.random_range(ETHERNET_HEADER..frame.len());
                frame[byte] ^= 1 << self.dice.random_range(0..8);
                self.counts.damaged += 1;
            }
            let copies = 1 + u32::from(self.dice.random_bool(i.dup));
            self.counts.duplicated += u64::from(copies - 1);
            for _ in 0..copies {
                if self.dice.random_bool(i.reorder) {
                    let overtakers = self.dice.random_range(1..=OVERTAKERS);
                    self.held.push((overtakers, frame.clone()));
                    self.counts.reordered += 1;
                } else {
                    out(&frame);
                    self.overtaken(out);
                }
            }
        }
    }

    fn overtaken(&mut self, out: &mut impl FnMut(&[u8])) {
        self.held.retain_mut(|(overtakers, frame)| {
            *overtakers -= 1;
            if *overtakers == 0 {
                out(frame);
            }
            *overtakers > 0
        });
    }

    /// Nothing follows for now: held frames come out.
    pub fn release(&mut self, out: &mut impl FnMut(&[u8])) {
        for (_, frame) in self.held.drain(..) {
            out(&frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(impair: Impair, frames: u32) -> (Vec<Vec<u8>>, Counts) {
        let mut wire = BadWire::new(impair, 0);
        let mut got = Vec::new();
        for n in 0..frames {
            let mut frame = vec![0u8; 60];
            frame[..4].copy_from_slice(&n.to_be_bytes());
            wire.carry(&frame, &mut |f| got.push(f.to_vec()));
        }
        wire.release(&mut |f| got.push(f.to_vec()));
        (got, wire.counts)
    }

    fn number(frame: &[u8]) -> u32 {
        u32::from_be_bytes(frame[..4].try_into().unwrap())
    }

    #[test]
    fn a_good_wire_changes_nothing() {
        let (got, counts) = carried(Impair::default(), 100);
        assert!(got.iter().map(|f| number(f)).eq(0..100));
        assert_eq!(counts, Counts::default());
    }

    #[test]
    fn reordering_loses_nothing_and_moves_little() {
        let (got, counts) = carried(Impair { reorder: 0.2, seed: 3, ..Impair::default() }, 1000);
        let numbers: Vec<u32> = got.iter().map(|f| number(f)).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..1000));
        assert_ne!(numbers, sorted);
        assert!(counts.reordered > 100);
    }

    #[test]
    fn damage_is_one_bit_of_the_packet() {
        let (got, counts) = carried(Impair { damage: 1.0, seed: 5, ..Impair::default() }, 200);
        assert_eq!(counts.damaged, 200);
        for f in got {
            assert_eq!(f[ETHERNET_HEADER..].iter().map(|b| b.count_ones()).sum::<u32>(), 1);
        }
    }

    #[test]
    fn rates_and_repeatability() {
        let bad = Impair { drop: 0.1, dup: 0.1, reorder: 0.1, damage: 0.1, seed: 9 };
        let (got, counts) = carried(bad, 10_000);
        for n in [counts.dropped, counts.duplicated, counts.reordered, counts.damaged] {
            assert!((800..1200).contains(&n), "{counts:?}");
        }
        assert_eq!(got.len() as u64, 10_000 - counts.dropped + counts.duplicated);
        assert_eq!(carried(bad, 10_000).0, got);
    }

    #[test]
    fn parsing() {
        let i: Impair = "drop=0.01,damage=1,seed=7".parse().unwrap();
        assert_eq!(i, Impair { drop: 0.01, damage: 1.0, seed: 7, ..Impair::default() });
        for bad in ["", "drop", "drop=2", "drop=x", "lose=0.1", "seed=-1"] {
            assert!(bad.parse::<Impair>().is_err(), "{bad}");
        }
    }
}
