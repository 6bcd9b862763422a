//! Which keys are asked for, and how large keys and values are.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{bail, Context, Result};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};
use wirekv_load::etc;

use crate::table::LINE;

/// Bytes of keys and values.
#[derive(Clone)]
pub enum Sizes {
    /// All are as large.
    Equal(usize, usize),
    /// Each key's own.
    Each(Arc<Vec<(u8, u16)>>),
}

/// Of an entry that is neither key nor value, and the longest value of one.
const ENTRY_HEADER: usize = 20;
const ENTRY_VALUE_MAX: usize = 1024;

impl Sizes {
    /// Those of Facebook's pool ETC, for so many keys.
    pub fn etc(keys: u32, seed: u64) -> Sizes {
        let mut dice = SmallRng::seed_from_u64(seed);
        // Of (0, 1]: neither logarithm nor power is infinite.
        let mut uniform = || 1.0 - dice.random::<f64>();
        let each = |_| {
            let key = etc::key_size(uniform()).round().clamp(8.0, 250.0) as u8;
            (key, etc::value_size(uniform(), uniform()).min(f64::from(u16::MAX)) as u16)
        };
        Sizes::Each(Arc::new((0..keys).map(each).collect()))
    }

    /// Bytes of a key and of its value.
    pub fn of(&self, key: u32) -> (usize, usize) {
        match self {
            Sizes::Equal(key, value) => (*key, *value),
            Sizes::Each(each) => {
                let (key, value) = each[key as usize];
                (key.into(), value.into())
            }
        }
    }

    /// Those of the keys that stand so far behind, of so many keys, for the keys themselves.
    pub fn moved(&self, by: u32, keys: u32) -> Sizes {
        let each = |key| {
            let (key, value) = self.of((key + by) % keys);
            (key as u8, value as u16)
        };
        Sizes::Each(Arc::new((0..keys).map(each).collect()))
    }

    /// Lines of a key's entry; none if it is too long for one.
    pub fn lines(&self, key: u32) -> Option<u32> {
        let (key, value) = self.of(key);
        (value <= ENTRY_VALUE_MAX).then(|| ((ENTRY_HEADER + key + value) as u32).div_ceil(LINE))
    }
}

/// A request: its key, and whether it is a write.
pub type Request = (u32, bool);

/// Keys by Zipf's law.
pub fn zipf(keys: u32, exponent: f64, seed: u64) -> Result<impl Iterator<Item = u32>> {
    let zipf = Zipf::new(f64::from(keys), exponent)?;
    let mut dice = SmallRng::seed_from_u64(seed);
    // Ranks begin with 1.
    Ok(std::iter::from_fn(move || Some(zipf.sample(&mut dice) as u32 - 1)))
}

/// So many GETs for a write, which are requests of the stream as well; 0: none is a write.
pub fn with_writes(
    keys: impl Iterator<Item = u32>,
    gets: u32,
    seed: u64,
) -> impl Iterator<Item = Request> {
    let mut dice = SmallRng::seed_from_u64(seed);
    keys.map(move |key| (key, gets != 0 && dice.random_range(0..=gets) == 0))
}

/// A trace's keys, numbered as they first come: 32-bit numbers, big end first, packed by xz if the name says so.
pub fn trace(path: &Path) -> Result<Vec<u32>> {
    let what = || format!("read {}", path.display());
    let bytes = if path.extension().is_some_and(|e| e == "xz") {
        let xz = Command::new("xz").arg("-dc").arg(path).output().context("run xz")?;
        if !xz.status.success() {
            bail!("{}: {}", what(), String::from_utf8_lossy(&xz.stderr).trim());
        }
        xz.stdout
    } else {
        std::fs::read(path).with_context(what)?
    };
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        bail!("{}: not a whole number of 32-bit keys", what());
    }
    let mut numbers = HashMap::new();
    let key = |four: &[u8]| {
        let next = numbers.len() as u32;
        *numbers.entry([four[0], four[1], four[2], four[3]]).or_insert(next)
    };
    Ok(bytes.chunks_exact(4).map(key).collect())
}
