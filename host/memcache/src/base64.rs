//! Base64 as memcached's meta commands take it for keys.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// No letter of base64.
const OTHER: u8 = 0x80;

static VALUES: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut i = 0;
    while i < 64 {
        table[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    // Counts as a letter; what it stands for is taken back in the end.
    table[b'=' as usize] = 0;
    table
};

/// Decodes into `to` and returns the length. Other bytes are passed over, and what follows a
/// padded group is not looked at. None: not base64, or nothing.
pub fn decode(text: &[u8], to: &mut [u8]) -> Option<usize> {
    let letters = || text.iter().filter(|b| VALUES[**b as usize] != OTHER);
    if letters().count() % 4 != 0 || letters().count() / 4 * 3 > to.len() + 2 {
        return None;
    }
    let (mut len, mut group, mut count, mut pad) = (0, 0u32, 0, 0);
    for letter in letters() {
        group = group << 6 | u32::from(VALUES[*letter as usize]);
        count += 1;
        pad += usize::from(*letter == b'=');
        if count == 4 {
            if pad > 2 {
                return None;
            }
            let bytes = &group.to_be_bytes()[1..4 - pad];
            to.get_mut(len..len + bytes.len())?.copy_from_slice(bytes);
            len += bytes.len();
            if pad > 0 {
                break;
            }
            (group, count) = (0, 0);
        }
    }
    (len > 0).then_some(len)
}

/// Calls `put` with each group of four letters.
pub fn encode(bytes: &[u8], mut put: impl FnMut(&[u8])) {
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, b| word << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        let mut text = [b'='; 4];
        for (i, letter) in text[..=group.len()].iter_mut().enumerate() {
            *letter = ALPHABET[(word >> (18 - 6 * i) & 63) as usize];
        }
        put(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut to = [0; 250];
        decode(text, &mut to).map(|len| to[..len].to_vec())
    }

    #[test]
    fn there_and_back() {
        for len in 1..20 {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 37 + 200) as u8).collect();
            let mut text = Vec::new();
            encode(&bytes, |group| text.extend_from_slice(group));
            assert_eq!(decoded(&text), Some(bytes));
        }
    }

    #[test]
    fn forgives_what_memcached_forgives() {
        assert_eq!(decoded(b"YWE="), Some(b"aa".to_vec()));
        assert_eq!(decoded(b"Y!W-E="), Some(b"aa".to_vec()));
        assert_eq!(decoded(b"YWE=YWE="), Some(b"aa".to_vec()));
        for bad in [&b""[..], b"!", b"YW", b"YWE", b"Y===", b"===="] {
            assert_eq!(decoded(bad), None, "{}", bad.escape_ascii());
        }
    }
}
