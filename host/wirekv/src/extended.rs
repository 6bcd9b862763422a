//! `-o`: memcached's list of further options.

use std::str::FromStr;

/// What `-o` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extended {
    IdleTimeout(u32),
    DropPrivileges(bool),
    Crawler(bool),
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
            "watcher_logbuf_size" | "worker_logbuf_size" => number(0.0, MANY),
            _ => {
                let known =
                    "there is idle_timeout=SECONDS, drop_privileges, and what tunes memcached";
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
