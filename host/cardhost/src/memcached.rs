//! What gates leave of memcached's protocols to this program. The same code as in the software body reads it.

use wirekv_memcache::binary::{self, HEADER};
use wirekv_memcache::Session;
use wirekv_proto::{Engine, Next, Out, Parse};

use crate::stats::Stats;

const ERROR: &[u8] = b"ERROR\r\n";
/// So many words of a command are looked at.
const WORDS: usize = 3;

/// What this program says to a request as the card hands it over: words with a space between, or a binary `stat`.
pub fn reply(text: &[u8], engine: &mut Engine, stats: &mut Stats) -> Vec<u8> {
    let is_binary = text.first() == Some(&binary::REQUEST) && text.len() >= HEADER;
    let input = if is_binary { packet(text) } else { line(text) };
    let Some(input) = input else { return ERROR.to_vec() };
    let (mut session, mut out) = (Session::default(), Out::new());
    let Parse::Request(mut request) = session.parse(&input, engine) else { return Vec::new() };
    while session.execute(&mut request, &input, engine, stats, &mut out) == Next::Full {}
    out.to_vec()
}

/// The line, if it asks for what there is here. The other commands that come are about what there is not, as slabs.
fn line(text: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<&[u8]> = text.split(|b| *b == b' ').take(WORDS).collect();
    let is_known = matches!(words[0], b"stats" | b"shutdown");
    is_known.then(|| [&words.join(&b' ')[..], b"\r\n"].concat())
}

/// The request with a key as long as it is here: the card cuts off what is too long to be a statistic's name.
fn packet(text: &[u8]) -> Option<Vec<u8>> {
    let mut packet = text.to_vec();
    let key = u16::try_from(text.len() - HEADER).ok()?;
    packet[2..4].copy_from_slice(&key.to_be_bytes());
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::options::Options;
    use crate::redis::Redis;

    fn says(text: &[u8]) -> Vec<u8> {
        let options = Options { idle_timeout: 7, ..Options::default() };
        let mut engine = Redis::new(&options, Arc::default()).unwrap().memcached();
        reply(text, &mut engine, &mut Stats::new(options))
    }

    #[test]
    fn general_has_memcacheds_shape() {
        let text = String::from_utf8(says(b"stats")).unwrap();
        assert!(text.starts_with("STAT pid "));
        assert!(text.contains("\r\nSTAT version 1.6.38\r\n"));
        assert!(text.contains("\r\nSTAT limit_maxbytes 67108864\r\n"));
        assert!(text.contains("\r\nSTAT hash_power_level 20\r\nSTAT hash_bytes 8388608\r\n"));
        assert!(text.ends_with("\r\nEND\r\n"));
        for line in text.trim_end().split("\r\n") {
            assert!(line == "END" || line.split(' ').count() == 3, "{line}");
        }
    }

    #[test]
    fn lines() {
        let long = [&b"stats settings "[..], &[b'x'; 200]].concat();
        let settings = String::from_utf8(says(&long)).unwrap();
        assert!(settings.contains("STAT item_size_max 1048576\r\n"));
        assert!(settings.contains("STAT idle_timeout 7\r\n"));
        let slabs = String::from_utf8(says(b"stats slabs")).unwrap();
        assert!(slabs.starts_with("STAT 1:chunk_size 64\r\nSTAT 1:chunks_per_page 786432\r\n"));
        assert!(slabs.ends_with("STAT active_slabs 1\r\nSTAT total_malloced 50331648\r\nEND\r\n"));
        for (line, answer) in [
            ("stats reset", "RESET\r\n"),
            ("stats items", "END\r\n"),
            ("stats sizes", "STAT sizes_status disabled\r\nEND\r\n"),
            ("stats detail dump", "END\r\n"),
            ("stats detail", "CLIENT_ERROR usage: stats detail on|off|dump\r\n"),
            ("stats cachedump 1 1", "CLIENT_ERROR bad command line\r\n"),
            ("stats nonsense", "ERROR\r\n"),
            ("statsx", "ERROR\r\n"),
            ("shutdown", "ERROR: shutdown not enabled\r\n"),
            ("slabs reassign 1 2", "ERROR\r\n"),
            ("cache_memlimit 64", "ERROR\r\n"),
        ] {
            assert_eq!(String::from_utf8(says(line.as_bytes())).unwrap(), answer, "{line}");
        }
    }

    #[test]
    fn binary_stat() {
        let says = |key: &[u8], len: u16| {
            let mut packet = [0; HEADER];
            (packet[0], packet[1]) = (binary::REQUEST, 0x10);
            packet[2..4].copy_from_slice(&len.to_be_bytes());
            packet[8..12].copy_from_slice(&u32::from(len).to_be_bytes());
            packet[12..16].copy_from_slice(b"tag!");
            let text = says(&[&packet[..], key].concat());
            assert_eq!(&text[12..16], b"tag!");
            (u16::from_be_bytes([text[6], text[7]]), text[HEADER..].to_vec())
        };
        assert_eq!(says(b"items", 5), (0, Vec::new()));
        assert_eq!(says(b"nonsense", 8), (1, b"Not found".to_vec()));
        // The end of its name is not here.
        assert_eq!(says(&[b'x'; 226], 250), (1, b"Not found".to_vec()));
        assert!(says(b"sizes", 5).1.starts_with(b"sizes_statusdisabled"));
        assert!(says(b"settings of all", 15).1.starts_with(b"maxbytes67108864"));
    }
}
