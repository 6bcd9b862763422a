//! Patterns of KEYS, SCAN, CONFIG GET and COMMAND LIST: `*`, `?`, `[a-z]`, `[^a]`, `\`, as Redis
//! reads them.
//!
//! A pattern is read once, into steps. A step that is no `*` takes a byte, so what has more of
//! them than a text can have bytes is known to match nothing, and is not kept; a class is a set
//! of 256 bits, however long it was. When a text does not fit, only the last `*` takes a byte
//! more: if the steps behind it fit somewhere, the place that is nearest is as good as any other.
//! So a text of n bytes costs at most n * n tests of a bit, whatever the pattern is; of keys, with
//! their 250 bytes, some 16 us at worst.

/// Longer texts than keys are matched with names and settings, which are all shorter.
const TEXT_MAX: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// `*`.
    Many,
    /// `?`.
    One,
    Byte(u8),
    /// Its number.
    Class(u16),
}

/// A pattern that is ready to be matched.
pub struct Pattern {
    steps: Vec<Step>,
    classes: Vec<[u64; 4]>,
    nocase: bool,
    /// More bytes than texts have: it matches none.
    too_long: bool,
}

impl Pattern {
    /// For keys.
    pub fn new(pattern: &[u8]) -> Pattern {
        Pattern::with_case(pattern, false)
    }

    /// For names: `A` is `a`.
    pub fn of_names(pattern: &[u8]) -> Pattern {
        Pattern::with_case(pattern, true)
    }

    fn with_case(mut rest: &[u8], nocase: bool) -> Pattern {
        let mut pattern =
            Pattern { steps: Vec::new(), classes: Vec::new(), nocase, too_long: false };
        let mut bytes = 0;
        while let [first, behind @ ..] = rest {
            rest = behind;
            let step = match first {
                b'*' if pattern.steps.last() == Some(&Step::Many) => continue,
                b'*' => Step::Many,
                b'?' => Step::One,
                b'[' => {
                    let (class, behind) = class(behind, nocase);
                    rest = behind;
                    pattern.classes.push(class);
                    Step::Class(pattern.classes.len() as u16 - 1)
                }
                b'\\' => match rest.split_first() {
                    Some((escaped, behind)) => {
                        rest = behind;
                        pattern.byte(*escaped)
                    }
                    None => Step::Byte(b'\\'),
                },
                byte => pattern.byte(*byte),
            };
            bytes += usize::from(step != Step::Many);
            if bytes > TEXT_MAX {
                pattern.too_long = true;
                break;
            }
            pattern.steps.push(step);
        }
        pattern
    }

    fn byte(&self, byte: u8) -> Step {
        Step::Byte(if self.nocase { byte.to_ascii_lowercase() } else { byte })
    }

    /// Whether a text of at most 256 bytes matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        if self.too_long || text.len() > TEXT_MAX {
            return false;
        }
        if text.is_empty() {
            // As in Redis: not even `*` matches nothing at all.
            return self.steps.is_empty();
        }
        let (mut step, mut at) = (0, 0);
        // Behind the last `*`: a step, and where it was tried last.
        let mut again = None;
        while at < text.len() {
            match self.steps.get(step) {
                Some(Step::Many) => {
                    step += 1;
                    again = Some((step, at));
                }
                Some(one) if self.fits(*one, text[at]) => {
                    step += 1;
                    at += 1;
                }
                _ => {
                    let Some((behind, from)) = again else { return false };
                    step = behind;
                    at = from + 1;
                    again = Some((behind, at));
                }
            }
        }
        self.steps[step..].iter().all(|step| *step == Step::Many)
    }

    fn fits(&self, step: Step, byte: u8) -> bool {
        match step {
            Step::Many | Step::One => true,
            Step::Byte(b) if self.nocase => b == byte.to_ascii_lowercase(),
            Step::Byte(b) => b == byte,
            Step::Class(n) => {
                self.classes[usize::from(n)][usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
            }
        }
    }
}

/// The bytes of a class, and what follows its `]`. The end of the pattern ends a class too.
fn class(mut rest: &[u8], nocase: bool) -> ([u64; 4], &[u8]) {
    let mut set = [0u64; 4];
    let mut add = |byte: u8| set[usize::from(byte >> 6)] |= 1 << (byte & 63);
    let not = rest.first() == Some(&b'^');
    if not {
        rest = &rest[1..];
    }
    loop {
        rest = match rest {
            [b'\\', byte, behind @ ..] => {
                add(*byte);
                behind
            }
            [b']', behind @ ..] => {
                rest = behind;
                break;
            }
            [] => break,
            [from, b'-', to, behind @ ..] => {
                // C's `char` has a sign, and a range may be given from either end.
                let (from, to) = (*from as i8, *to as i8);
                let (from, to) = (from.min(to), from.max(to));
                let lower = |c: i8| (c as u8).to_ascii_lowercase() as i8;
                for byte in 0..=255u8 {
                    let inside = match nocase {
                        true => (lower(from)..=lower(to)).contains(&lower(byte as i8)),
                        false => (from..=to).contains(&(byte as i8)),
                    };
                    if inside {
                        add(byte);
                    }
                }
                behind
            }
            [byte, behind @ ..] => {
                add(*byte);
                if nocase {
                    add(byte.to_ascii_lowercase());
                    add(byte.to_ascii_uppercase());
                }
                behind
            }
        };
    }
    if not {
        set = set.map(|word| !word);
    }
    (set, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case() {
        for (pattern, text, expect) in [
            ("MaxMemory*", "maxmemory-policy", true),
            ("[A-C]x", "bX", true),
            ("[a-c]x", "BX", true),
            ("[Zb]", "z", true),
            ("[\\Z]", "z", false),
            ("\\AB", "ab", true),
            ("[^a]", "A", false),
        ] {
            assert_eq!(Pattern::of_names(pattern.as_bytes()).matches(text.as_bytes()), expect);
        }
    }

    /// What took Redis before 7.0.9 an exponential time, and other hostile ones.
    #[test]
    fn costs_are_bounded() {
        let text = vec![b'a'; 250];
        let stars = b"a*".repeat(120);
        for pattern in [
            [&stars[..], b"b"].concat(),
            b"*a".repeat(100_000),
            b"*[^b]".repeat(200),
            [b"*".repeat(100_000), b"b".to_vec()].concat(),
            [b"[".to_vec(), b"x".repeat(1_000_000), b"]*b".to_vec()].concat(),
        ] {
            let ready = Pattern::new(&pattern);
            assert!(ready.steps.len() <= 2 * TEXT_MAX + 2 && ready.classes.len() <= TEXT_MAX + 1);
            for _ in 0..10 {
                ready.matches(&text);
            }
        }
        assert!(Pattern::new(&stars).matches(&text));
        assert!(!Pattern::new(&[&stars[..], b"b"].concat()).matches(&text));
    }
}
