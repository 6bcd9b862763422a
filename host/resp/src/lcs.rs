//! LCS: the longest common subsequence of two values. No store here: the command parses with
//! [`Lcs::parse`], looks both up (a key that is not there is `b""`), and runs.
//!
//! The usual table of lengths, of which Redis keeps all with 32 bits each, grows along a row by 0
//! or 1 from one cell to the next. So a row is a set of bits, and the next one comes of it with
//! five operations for 64 cells (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004).
//! The set is enough to walk back, too: where two bytes differ, Redis goes up only if the cell
//! above is larger than the left one, which is where the row grows. Redis' own limit of the
//! table, 512 MiB, is 2^27 cells: 16 MiB of bits here, and some milliseconds.

use super::{number, word, Error, SYNTAX};

const BOTH: Error = "ERR If you want both the length and indexes, please just use IDX.";
const TOO_LONG: Error = "ERR Insufficient memory, transient memory for LCS exceeds \
                         proto-max-bulk-len";
/// Cells of Redis' table at most.
const CELLS: u64 = (512 << 20) / 4;

/// What LCS is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lcs {
    pub only_len: bool,
    pub indices: bool,
    pub with_match_len: bool,
    min_match_len: i64,
}

/// Bytes that both have: the first and the last index in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    pub a: (usize, usize),
    pub b: (usize, usize),
}

impl Match {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.a.1 - self.a.0 + 1
    }
}

/// What LCS found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub len: usize,
    /// Where neither the length alone nor indices are wanted.
    pub text: Vec<u8>,
    /// Where indices are wanted: the last one first.
    pub matches: Vec<Match>,
}

impl Lcs {
    /// From the arguments behind the keys.
    pub fn parse(args: &[&[u8]]) -> Result<Lcs, Error> {
        let mut lcs = Lcs::default();
        let mut rest = args.iter();
        while let Some(name) = rest.next() {
            if word::is(name, "idx") {
                lcs.indices = true;
            } else if word::is(name, "len") {
                lcs.only_len = true;
            } else if word::is(name, "withmatchlen") {
                lcs.with_match_len = true;
            } else if let (true, Some(len)) = (word::is(name, "minmatchlen"), rest.next()) {
                lcs.min_match_len = number::argument(len)?;
            } else {
                return Err(SYNTAX);
            }
        }
        if lcs.only_len && lcs.indices {
            Err(BOTH)
        } else {
            Ok(lcs)
        }
    }

    pub fn find(&self, a: &[u8], b: &[u8]) -> Result<Found, Error> {
        if (a.len() as u64 + 1).saturating_mul(b.len() as u64 + 1) > CELLS {
            return Err(TOO_LONG);
        }
        if a.is_empty() || b.is_empty() {
            return Ok(Found::default());
        }
        let table = Table::new(a, b, !self.only_len);
        let mut found = Found { len: table.len(), ..Found::default() };
        if !self.only_len {
            table.walk_back(a, b, |run| {
                if !self.indices {
                    // From the last byte to the first.
                    found.text.extend(a[run.a.0..=run.a.1].iter().rev());
                } else if run.len() as i64 >= self.min_match_len {
                    found.matches.push(run);
                }
            });
            found.text.reverse();
        }
        Ok(found)
    }
}

/// Of each row (or of the last one) where it does not grow: bit j is 0 where the prefix of `b`
/// with j + 1 bytes has more in common with that of `a` than the one with j.
struct Table {
    bits: Vec<u64>,
    row: usize,
}

impl Table {
    fn new(a: &[u8], b: &[u8], keeps_rows: bool) -> Table {
        let row = b.len().div_ceil(64);
        // Where in `b` each byte of `a` is.
        let mut number = [usize::MAX; 256];
        let mut count = 0;
        for byte in a {
            let number = &mut number[usize::from(*byte)];
            if *number == usize::MAX {
                *number = count;
                count += 1;
            }
        }
        let mut places = vec![0u64; count * row];
        for (j, byte) in b.iter().enumerate() {
            let number = number[usize::from(*byte)];
            if number != usize::MAX {
                places[number * row + j / 64] |= 1 << (j % 64);
            }
        }
        let mut bits = vec![u64::MAX; if keeps_rows { (a.len() + 1) * row } else { row }];
        for (i, byte) in a.iter().enumerate() {
            let places = &places[number[usize::from(*byte)] * row..][..row];
            if keeps_rows {
                bits.copy_within(i * row..(i + 1) * row, (i + 1) * row);
            }
            let at = if keeps_rows { (i + 1) * row } else { 0 };
            let mut carry = false;
            for (v, m) in bits[at..at + row].iter_mut().zip(places) {
                let u = *v & m;
                let (sum, first) = v.overflowing_add(u);
                let (sum, second) = sum.overflowing_add(u64::from(carry));
                carry = first || second;
                *v = sum | (*v & !m);
            }
        }
        Table { bits, row }
    }

    /// The last row's sum.
    fn len(&self) -> usize {
        let last = &self.bits[self.bits.len() - self.row..];
        last.iter().map(|word| word.count_zeros() as usize).sum()
    }

    /// Calls `run` for each run of bytes in common, the last one first: the one of the longest
    /// subsequences that Redis finds.
    fn walk_back(&self, a: &[u8], b: &[u8], mut run: impl FnMut(Match)) {
        let (mut i, mut j) = (a.len(), b.len());
        let mut open: Option<Match> = None;
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                i -= 1;
                j -= 1;
                let seen = open.get_or_insert(Match { a: (i, i), b: (j, j) });
                (seen.a.0, seen.b.0) = (i, j);
                continue;
            }
            if let Some(run_of) = open.take() {
                run(run_of);
            }
            // The row grows here: so the cell above has what the left one lacks.
            if self.bits[i * self.row + (j - 1) / 64] >> ((j - 1) % 64) & 1 == 0 {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        if let Some(run_of) = open {
            run(run_of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_table_is_bounded_as_in_redis() {
        let side = vec![b'a'; 11_583];
        let lcs = Lcs { indices: true, ..Lcs::default() };
        assert_eq!(lcs.find(&side, &side[1..]).unwrap().matches[0].len(), 11_582);
        let more = vec![b'b'; 11_588];
        assert_eq!(lcs.find(&side, &more), Err(TOO_LONG));
        let long = vec![b'a'; 1 << 26];
        let lcs = Lcs { only_len: true, ..Lcs::default() };
        assert_eq!(lcs.find(b"a", &long[1..]).unwrap().len, 1);
        assert_eq!(lcs.find(b"a", &long), Err(TOO_LONG));
    }
}
