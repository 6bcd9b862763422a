//! Replies in Redis' protocol.

/// Commands whose replies tell of times, or of how bytes came.
const TELLING: &[&[u8]] =
    &[b"TIME", b"INFO", b"CLIENT", b"SLOWLOG", b"LATENCY", b"LOLWUT", b"RANDOMKEY", b"MEMORY"];

pub fn depends_on_time(data: &[u8]) -> bool {
    let within = |name: &[u8]| data.windows(name.len()).any(|word| word.eq_ignore_ascii_case(name));
    TELLING.iter().any(|name| within(name))
}

/// One way found a line or a command too long, the end of which, or another mistake in it, another
/// way has seen.
pub fn too_long(replies: &[&Vec<u8>; 2]) -> bool {
    let errors = [b"-ERR Protocol error: too big", b"-ERR Protocol error: command"];
    let within = |text: &[u8]| text.windows(28).any(|part| errors.iter().any(|e| part == *e));
    replies.iter().any(|reply| within(reply))
}

/// Replies are whole.
pub fn check_replies(mut rest: &[u8]) {
    while !rest.is_empty() {
        rest = reply(rest, 0);
    }
}

fn reply(bytes: &[u8], depth: usize) -> &[u8] {
    assert!(depth < 32, "arrays in arrays without an end");
    let end = bytes.windows(2).position(|pair| pair == b"\r\n").expect("a whole line");
    let (line, rest) = (&bytes[1..end], &bytes[end + 2..]);
    let number = || -> i64 {
        let text = std::str::from_utf8(line).expect("a number");
        text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
    };
    let many = |count: i64| (0..count).fold(rest, |rest, _| reply(rest, depth + 1));
    match bytes[0] {
        b'+' | b'-' | b',' => {
            assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
            rest
        }
        b':' => {
            number();
            rest
        }
        b'$' | b'=' if line == b"-1" => rest,
        b'$' | b'=' => rest[number() as usize..].strip_prefix(b"\r\n").expect("a string's end"),
        b'*' | b'~' => many(number()),
        b'%' => many(2 * number()),
        b'_' if line.is_empty() => rest,
        b'#' if line == b"t" || line == b"f" => rest,
        other => panic!("no reply begins with {}", other.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use crate::fuzz_resp;

    const WORDS: &[&str] = &[
        "get", "set", "mget", "mset", "del", "incr", "append", "getrange", "setrange", "hello",
        "multi", "exec", "watch", "select", "expire", "scan", "client", "reply", "off", "on",
        "skip", "reset", "quit", "ping", "echo", "a", "b", "key", "0", "1", "3", "-1", "px", "nx",
        "get", "100000", "'", "\"", "\\x41", "command", "docs", "auth", "flushall", "bitfield",
        "setbit", "u8", "lcs",
    ];

    /// Requests of both forms, lengths that are wrong, and other bytes between them.
    #[test]
    fn random_requests() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) as usize) % n
        };
        for _ in 0..2000 {
            let mut data = vec![below(256) as u8];
            for _ in 0..below(20) {
                let mut words: Vec<String> =
                    (0..1 + below(5)).map(|_| WORDS[below(WORDS.len())].to_string()).collect();
                if below(4) == 0 {
                    words.push("v".repeat(below(300)));
                }
                let inline = below(3) == 0;
                if inline {
                    data.extend(words.join(" ").bytes());
                    data.extend_from_slice([&b"\r\n"[..], b"\n"][below(2)]);
                    continue;
                }
                data.extend(format!("*{}\r\n", words.len() + below(20) / 19).bytes());
                for word in words {
                    let len = word.len() + below(50) / 49;
                    data.extend(format!("${len}\r\n{word}\r\n").bytes());
                }
                if below(20) == 0 {
                    data.push(below(256) as u8);
                }
            }
            fuzz_resp(&data);
        }
    }
}
