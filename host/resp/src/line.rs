//! Commands that are a line of words, for people.

use super::word::c_string;

/// The words of a line; `None`: its quotes are not in pairs. Between double quotes `\xff`, `\n`, `\r`,
/// `\t`, `\b`, `\a` mean what they mean in C, between single ones only `\'` is special.
pub fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let line = c_string(line);
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        while line.get(at).copied().is_some_and(is_space) {
            at += 1;
        }
        if at == line.len() {
            return Some(words);
        }
        let mut word = Vec::new();
        at = take_word(line, at, &mut word)?;
        words.push(word);
    }
}

/// The word that begins at `at`; returns where it ends.
fn take_word(line: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    let mut quote = None;
    loop {
        let byte = line.get(at).copied();
        match (quote, byte) {
            (None, None) => return Some(at),
            (Some(_), None) => return None,
            (Some(b'"'), Some(b'\\')) => {
                let escaped = line.get(at + 1).copied()?;
                let hex = |i: usize| line.get(at + i).and_then(|d| char::from(*d).to_digit(16));
                if let (b'x', Some(high), Some(low)) = (escaped, hex(2), hex(3)) {
                    word.push((high << 4 | low) as u8);
                    at += 4;
                    continue;
                }
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => other,
                });
                at += 2;
            }
            (Some(b'\''), Some(b'\\')) if line.get(at + 1) == Some(&b'\'') => {
                word.push(b'\'');
                at += 2;
            }
            (Some(open), Some(byte)) if open == byte => {
                // Behind a closing quote there is a blank, or nothing.
                return line.get(at + 1).is_none_or(|b| is_space(*b)).then_some(at + 1);
            }
            (None, Some(b'"' | b'\'')) => {
                quote = byte;
                at += 1;
            }
            (None, Some(byte)) if is_space(byte) => return Some(at),
            (_, Some(byte)) => {
                word.push(byte);
                at += 1;
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The same command in the form of a program's.
pub fn encode(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_redis_splits() {
        let split = |line: &str| {
            let words = words(line.as_bytes())?;
            Some(words.iter().map(|w| w.escape_ascii().to_string()).collect::<Vec<_>>().join("|"))
        };
        for (line, expect) in [
            ("", Some("")),
            ("  get \t a ", Some("get|a")),
            ("set a \"b c\"", Some("set|a|b c")),
            ("a\"b c\" d", Some("ab c|d")),
            ("\"\\x41\\n\\q\\\"\"", Some("A\\nq\\\"")),
            ("\"\\x4\"", Some("x4")),
            ("'a\\'b\\n'", Some("a\\'b\\\\n")),
            ("''", Some("")),
            ("\"a\"b", None),
            ("'a'b", None),
            ("\"a", None),
            ("'a", None),
            ("\"a\\", None),
            ("a\0 b", Some("a")),
        ] {
            assert_eq!(split(line).as_deref(), expect, "{line:?}");
        }
    }
}
