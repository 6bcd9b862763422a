//! Keyed 64-bit hash of a key, the function of `rtl/store/index/hash.sv`: NH (RFC 4418, section 5.2.2)
//! over beats of 64 bytes, finalised with secret odd multipliers.
//!
//! Nearly all keys fit into one beat, most into half of one; these have a path without a loop over
//! beats. All of
//! it is plain integer arithmetic on registers.

/// 32 NH words and two odd multipliers.
#[derive(Clone, Debug)]
pub struct HashKey {
    pub nh: [u32; 32],
    pub mix: [u64; 2],
}

impl HashKey {
    /// A key drawn from the operating system, so that no client can aim at a bucket.
    pub fn random() -> Self {
        let mut bytes = [0u8; 144];
        getrandom::fill(&mut bytes).expect("the operating system has randomness");
        let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
        Self {
            nh: std::array::from_fn(word),
            mix: [32, 34].map(|i| (u64::from(word(i)) | u64::from(word(i + 1)) << 32) | 1),
        }
    }

    /// Hash of a key of up to 256 bytes.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> Hash {
        let len = key.len();
        let (low, high) = if len <= 32 { (self.short(key), 0) } else { self.long(key) };
        let mut h = low.wrapping_add(len as u64);
        h ^= h >> 32;
        h = h.wrapping_mul(self.mix[0]).wrapping_add(high);
        h ^= h >> 29;
        h = h.wrapping_mul(self.mix[1]);
        Hash(h ^ h >> 32)
    }

    /// One beat whose upper half is zeros.
    #[inline]
    fn short(&self, key: &[u8]) -> u64 {
        let m = if key.len() <= 16 { [padded(key), 0] } else { [whole(key), padded(&key[16..])] };
        let mut sum = 0u64;
        for i in 0..8 {
            let a = ((m[i / 4] >> (32 * (i % 4))) as u32).wrapping_add(self.nh[i]);
            sum = sum.wrapping_add(u64::from(a) * u64::from(self.nh[i + 8]));
        }
        sum
    }

    /// Sums of beats 0 and 1 and of beats 2 and 3. Beats 0 and 2 take words 0..16 of the key.
    #[inline(never)]
    fn long(&self, key: &[u8]) -> (u64, u64) {
        let (low, high) = self.nh.split_at(16);
        if key.len() <= 64 {
            return (beat(key, low), 0);
        }
        let mut sums = [0u64; 2];
        for (pair, sum) in key.chunks(128).zip(&mut sums) {
            let (first, second) = pair.split_at(pair.len().min(64));
            *sum = beat(first, low);
            if !second.is_empty() {
                *sum = sum.wrapping_add(beat(second, high));
            }
        }
        (sums[0], sums[1])
    }
}

/// NH of one beat, padded with zeros.
#[inline(always)]
fn beat(bytes: &[u8], k: &[u32]) -> u64 {
    let k: &[u32; 16] = k.try_into().unwrap();
    let quarter = |n: usize| match bytes.len() {
        len if len >= n + 16 => whole(&bytes[n..]),
        len if len > n => padded(&bytes[n..]),
        _ => 0,
    };
    let (a, b) = ([quarter(0), quarter(16)], [quarter(32), quarter(48)]);
    let mut sum = 0u64;
    for i in 0..8 {
        let a = ((a[i / 4] >> (32 * (i % 4))) as u32).wrapping_add(k[i]);
        let b = ((b[i / 4] >> (32 * (i % 4))) as u32).wrapping_add(k[i + 8]);
        sum = sum.wrapping_add(u64::from(a) * u64::from(b));
    }
    sum
}

#[inline(always)]
fn whole(bytes: &[u8]) -> u128 {
    u128::from_le_bytes(bytes[..16].try_into().unwrap())
}

/// Up to 16 bytes, little-endian, zeros above: two loads that overlap, no copy through memory.
#[inline(always)]
fn padded(bytes: &[u8]) -> u128 {
    let len = bytes.len();
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let word = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    match len {
        16.. => whole(bytes),
        8..=15 => {
            let top = long(len - 8) >> (8 * (15 - len)) >> 8;
            u128::from(long(0)) | u128::from(top) << 64
        }
        4..=7 => u128::from(word(0) | (word(len - 4) >> (8 * (8 - len))) << 32),
        0 => 0,
        _ => {
            let byte = |at: usize| u128::from(bytes[at]);
            byte(0) | byte(len / 2) << (8 * (len / 2)) | byte(len - 1) << (8 * (len - 1))
        }
    }
}

/// A key's hash. The index takes its bucket from bits 32..64, the tag from 0..14 and the ghost's
/// fingerprint from 14..26. Of a key of a store, bits 28..32 are its database's place (see `swap`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(u64);

#[inline]
fn mix(place: u8) -> u64 {
    u64::from(place).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Bits that nothing else is taken from.
const SPARE: u64 = 0x3f << 26;

impl Hash {
    /// All of it, for who divides it otherwise: the card's index.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Of a key, for its database's place: the same key in different ones has different buckets and
    /// tags.
    #[inline]
    pub(crate) fn in_place(self, place: u8) -> Hash {
        Hash((self.0 ^ mix(place)) & !SPARE | u64::from(place) << 28)
    }

    /// The same key's in another place.
    #[cold]
    pub(crate) fn at(self, place: u8) -> Hash {
        Hash(self.0 ^ mix(self.place())).in_place(place)
    }

    #[inline]
    pub(crate) fn place(self) -> u8 {
        (self.0 >> 28 & 15) as u8
    }

    #[inline]
    pub(crate) fn high(self) -> u64 {
        self.0 >> 32
    }

    /// 1..2^14: an empty way (all zeros) matches no tag.
    #[inline]
    pub(crate) fn tag(self) -> u64 {
        (self.0 & 0x3fff).max(1)
    }

    /// 1..2^12.
    #[inline]
    pub(crate) fn fingerprint(self) -> u64 {
        (self.0 >> 14 & 0xfff).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digits).collect()
    }

    /// The vectors that `tb/store/hash_model.py` writes and the RTL is checked against.
    #[test]
    fn as_the_rtl() {
        let json = include_str!("../../../tb/store/hash_vectors.json");
        let file: serde_json::Value = serde_json::from_str(json).unwrap();
        let number =
            |value: &serde_json::Value| u64::from_str_radix(value.as_str().unwrap(), 16).unwrap();
        let key = HashKey {
            nh: std::array::from_fn(|i| number(&file["nh"][i]) as u32),
            mix: std::array::from_fn(|i| number(&file["mix"][i])),
        };
        for vector in file["vectors"].as_array().unwrap() {
            let text = bytes(vector["key"].as_str().unwrap());
            assert_eq!(key.hash(&text).0, number(&vector["hash"]), "{} bytes", text.len());
        }
    }

    /// Every length from 0 to 255 against the definition in its plainest form.
    #[test]
    fn every_length() {
        let key = HashKey::random();
        let text: Vec<u8> =
            (0..255u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        for len in 0..=255 {
            let mut padded = text[..len].to_vec();
            padded.resize(len.next_multiple_of(64).max(64), 0);
            let mut sums = [0u64; 2];
            for (n, beat) in padded.chunks(64).enumerate() {
                let m = |i: usize| u32::from_le_bytes(beat[4 * i..4 * i + 4].try_into().unwrap());
                let a = |i: usize| u64::from(m(i).wrapping_add(key.nh[16 * (n % 2) + i]));
                for i in 0..8 {
                    sums[n / 2] = sums[n / 2].wrapping_add(a(i) * a(i + 8));
                }
            }
            let mut h = sums[0].wrapping_add(len as u64);
            h ^= h >> 32;
            h = h.wrapping_mul(key.mix[0]).wrapping_add(sums[1]);
            h ^= h >> 29;
            h = h.wrapping_mul(key.mix[1]);
            assert_eq!(key.hash(&text[..len]).0, h ^ (h >> 32), "{len} bytes");
        }
    }
}
