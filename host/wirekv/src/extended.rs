//! `-o`: memcached's list of further options.

use std::path::PathBuf;
use std::str::FromStr;

/// What `-o` knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extended {
    IdleTimeout(u32),
    DropPrivileges(bool),
    Crawler(bool),
    /// Of TLS: files, mode of verification, least version, earlier sessions, kilobytes.
    Chain(PathBuf),
    Key(PathBuf),
    Authorities(PathBuf),
    Verify(u8),
    LeastVersion(u8),
    Sessions,
    Piece(u16),
    /// Kilobytes of lines that wait for a client that watches.
    WatchBuffer(u32),
    /// Tunes what memcached has and this server does not.
    Ignored,
}

impl FromStr for Extended {
    type Err = String;

    fn from_str(text: &str) -> Result<Extended, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let number = |least: f64, most: f64| {
            let number = value.and_then(|text| text.parse().ok());
            number.is_some_and(|number| (least..=most).contains(&number))
        };
        const MANY: f64 = u32::MAX as f64;
        // What memcached would refuse is refused though nobody needs it: it is a mistake.
        let right = match name {
            "idle_timeout" => match value.and_then(|text| text.parse().ok()) {
                Some(seconds) => return Ok(Extended::IdleTimeout(seconds)),
                None => false,
            },
            "ssl_chain_cert" | "ssl_key" | "ssl_ca_cert" => {
                match (name, value.filter(|file| !file.is_empty()).map(PathBuf::from)) {
                    ("ssl_chain_cert", Some(file)) => return Ok(Extended::Chain(file)),
                    ("ssl_key", Some(file)) => return Ok(Extended::Key(file)),
                    (_, Some(file)) => return Ok(Extended::Authorities(file)),
                    (_, None) => false,
                }
            }
            "ssl_verify_mode" => match value.and_then(|text| text.parse().ok()) {
                Some(mode @ 0..=3) => return Ok(Extended::Verify(mode)),
                _ => false,
            },
            "ssl_min_version" => match value.and_then(|text| text.parse().ok()) {
                Some(version @ 2..=3) => return Ok(Extended::LeastVersion(version)),
                Some(0..=1) => return Err(OLD_TLS.into()),
                _ => false,
            },
            "ssl_wbuf_size" => match value.and_then(|text| text.parse().ok()) {
                Some(size @ 1..=1024) => return Ok(Extended::Piece(size)),
                _ => false,
            },
            "ssl_session_cache" => return Ok(Extended::Sessions),
            // PEM.
            "ssl_keyformat" => value == Some("1"),
            "drop_privileges" => return Ok(Extended::DropPrivileges(true)),
            "no_drop_privileges" => return Ok(Extended::DropPrivileges(false)),
            "lru_crawler" => return Ok(Extended::Crawler(true)),
            "no_lru_crawler" => return Ok(Extended::Crawler(false)),
            "inline_ascii_resp" | "lru_maintainer" => true,
            "maxconns_fast" | "modern" | "slab_reassign" | "track_sizes" => true,
            "no_inline_ascii_resp" => true,
            "no_lru_maintainer" | "no_maxconns_fast" | "no_modern" | "no_slab_reassign" => true,
            "no_chunked_items" | "no_hashexpand" | "no_slab_automove" => true,
            "resp_obj_mem_limit" => true,
            "hash_algorithm" => matches!(value, Some("jenkins" | "murmur3" | "xxh3")),
            "hashpower" => number(12.0, 32.0),
            "hot_lru_pct" | "warm_lru_pct" => number(1.0, 79.0),
            "hot_max_factor" | "warm_max_factor" => number(f64::MIN_POSITIVE, MANY),
            "lru_crawler_sleep" => number(0.0, 1e6),
            "lru_crawler_tocrawl" | "read_buf_mem_limit" => number(0.0, MANY),
            "slab_automove" => value.is_none() || number(0.0, 2.0),
            "slab_automove_freeratio" => number(0.0, MANY),
            "slab_automove_ratio" => number(f64::MIN_POSITIVE, 1.0),
            "slab_automove_window" => number(3.0, MANY),
            "slab_chunk_max" => number(1.0, MANY),
            "slab_sizes" => value.is_some_and(|list| {
                let sizes: Result<Vec<u32>, _> = list.split('-').map(str::parse).collect();
                sizes.is_ok_and(|sizes| sizes.is_sorted_by(|a, b| a < b))
            }),
            "tail_repair_time" => number(10.0, MANY),
            "temporary_ttl" => number(-MANY, MANY),
            "watcher_logbuf_size" => match value.and_then(|text| text.parse().ok()) {
                Some(kilobytes @ 1..=WATCH_BUFFER) => return Ok(Extended::WatchBuffer(kilobytes)),
                _ => false,
            },
            "worker_logbuf_size" => number(0.0, MANY),
            _ => {
                let known =
                    "there is idle_timeout=SECONDS, drop_privileges, ssl_*, and what tunes memcached";
                return Err(format!("'{name}' is not known; {known}"));
            }
        };
        match value {
            _ if right => Ok(Extended::Ignored),
            Some(value) => Err(format!("'{value}' is no value of {name}")),
            None => Err(format!("{name} needs a value")),
        }
    }
}

/// Kilobytes.
const WATCH_BUFFER: u32 = 64 << 10;
const OLD_TLS: &str = "ssl_min_version: versions below TLS 1.2 (2) are not served";

/// What the last word says that says anything of it.
fn said<T>(words: &[Extended], of: impl Fn(&Extended) -> Option<T>) -> Option<T> {
    words.iter().rev().find_map(of)
}

/// Seconds; none for 0.
pub fn idle_timeout(words: &[Extended]) -> Option<u32> {
    let idle = |word: &Extended| match word {
        Extended::IdleTimeout(seconds) => Some(*seconds),
        _ => None,
    };
    said(words, idle).filter(|seconds| *seconds > 0)
}

/// Bytes.
#[cfg(feature = "soft")]
pub fn watch_buffer(words: &[Extended]) -> usize {
    let size = |word: &Extended| match word {
        Extended::WatchBuffer(kilobytes) => Some((*kilobytes as usize) << 10),
        _ => None,
    };
    said(words, size).unwrap_or(wirekv_soft::WATCH_BUFFER)
}

/// What the words say of TLS on these addresses, with -Z.
#[cfg(feature = "soft")]
pub fn secure(
    words: &[Extended],
    addresses: Vec<std::net::SocketAddr>,
) -> anyhow::Result<wirekv_soft::Secure> {
    use wirekv_soft::{Secure, Verify, PIECE};
    let file = |word: &Extended| match word {
        Extended::Chain(file) => Some(file.clone()),
        _ => None,
    };
    let key = |word: &Extended| match word {
        Extended::Key(file) => Some(file.clone()),
        _ => None,
    };
    let authorities = |word: &Extended| match word {
        Extended::Authorities(file) => Some(file.clone()),
        _ => None,
    };
    let verify = |word: &Extended| match word {
        Extended::Verify(0) => Some(Verify::No),
        Extended::Verify(1) => Some(Verify::IfGiven),
        Extended::Verify(_) => Some(Verify::Yes),
        _ => None,
    };
    let least = |word: &Extended| match word {
        Extended::LeastVersion(version) => Some(*version),
        _ => None,
    };
    let piece = |word: &Extended| match word {
        Extended::Piece(kilobytes) => Some(usize::from(*kilobytes) << 10),
        _ => None,
    };
    let chain = said(words, file)
        .ok_or_else(|| anyhow::anyhow!("-Z: -o ssl_chain_cert=FILE names the certificate"))?;
    let secure = Secure {
        addresses,
        chain,
        key: said(words, key),
        authorities: said(words, authorities),
        verify: said(words, verify).unwrap_or(Verify::No),
        only_13: said(words, least) == Some(3),
        sessions: words.contains(&Extended::Sessions),
        piece: said(words, piece).unwrap_or(PIECE),
    };
    anyhow::ensure!(
        secure.verify == Verify::No || secure.authorities.is_some(),
        "-o ssl_verify_mode: -o ssl_ca_cert=FILE names who signs the certificates of clients"
    );
    Ok(secure)
}

/// The first word that is of no use without TLS.
#[cfg(feature = "soft")]
pub fn of_tls(words: &[Extended]) -> bool {
    use Extended::{Authorities, Chain, Key, LeastVersion, Piece, Sessions, Verify};
    let is = |word: &Extended| {
        matches!(
            word,
            Chain(_) | Key(_) | Authorities(_) | Verify(_) | LeastVersion(_) | Piece(_) | Sessions
        )
    };
    words.iter().any(is)
}

#[cfg(feature = "soft")]
pub fn drops_privileges(words: &[Extended]) -> bool {
    let drop = |word: &Extended| match word {
        Extended::DropPrivileges(drop) => Some(*drop),
        _ => None,
    };
    said(words, drop).unwrap_or(false)
}

#[cfg(feature = "soft")]
pub fn crawls(words: &[Extended]) -> bool {
    let crawler = |word: &Extended| match word {
        Extended::Crawler(on) => Some(*on),
        _ => None,
    };
    said(words, crawler).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_what_is_wrong() {
        for (text, why) in [
            ("nonsense", "'nonsense' is not known"),
            ("ext_path=/dev/null:1G", "'ext_path' is not known"),
            ("hashpower", "hashpower needs a value"),
            ("idle_timeout=x", "'x' is no value of idle_timeout"),
            ("hot_max_factor=0", "'0' is no value of hot_max_factor"),
            ("slab_sizes=200-100", "'200-100' is no value of slab_sizes"),
        ] {
            let error = text.parse::<Extended>().unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
