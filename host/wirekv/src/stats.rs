//! What `stats` says, from the card's counters.

use std::fmt::Display;
use std::net::IpAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wirekv_card::csr::Totals;
use wirekv_net::Refused;

/// The memcached whose protocol the card speaks.
const VERSION: &str = "1.6.38";

/// Settings that `stats` reports.
#[derive(Clone, Debug)]
pub struct Told {
    pub limit_bytes: u64,
    pub max_conns: u32,
    pub tcp_port: u16,
    pub udp_port: u16,
    pub inter: IpAddr,
    pub verbosity: u8,
    pub item_max: u64,
    /// Seconds; 0: none.
    pub idle_timeout: u32,
    pub buckets: u64,
}

/// memcached's name for a figure, and the card's counters that make it up.
const COUNTED: &[(&str, &[&str])] = &[
    ("total_connections", &["TcpOpened"]),
    ("idle_kicks", &["TcpIdle"]),
    ("rejected_connections", &["TcpFullLimit", "TcpFullNoId", "TcpFullNoWay"]),
    ("cmd_get", &["StoreGetHits", "StoreGetMisses"]),
    ("cmd_set", &["StoreSets"]),
    ("cmd_flush", &["StoreFlushes"]),
    ("cmd_touch", &["StoreTouchHits", "StoreTouchMisses"]),
    ("get_hits", &["StoreGetHits"]),
    ("get_misses", &["StoreGetMisses"]),
    ("get_expired", &["StoreExpired"]),
    ("delete_misses", &["StoreDeleteMisses"]),
    ("delete_hits", &["StoreDeleteHits"]),
    ("incr_misses", &["StoreIncrMisses"]),
    ("incr_hits", &["StoreIncrHits"]),
    ("decr_misses", &["StoreDecrMisses"]),
    ("decr_hits", &["StoreDecrHits"]),
    ("cas_misses", &["StoreCasMisses"]),
    ("cas_hits", &["StoreCasHits"]),
    ("cas_badval", &["StoreCasBadval"]),
    ("touch_hits", &["StoreTouchHits"]),
    ("touch_misses", &["StoreTouchMisses"]),
    ("store_too_large", &["StoreTooLarge"]),
    ("store_no_memory", &["StoreNoMemory"]),
    ("total_items", &["StoreItems"]),
    ("evictions", &["StoreEvictions"]),
];

pub struct Stats {
    told: Told,
    start: Instant,
    pub totals: Totals,
    /// What became of frames that came to the host.
    pub refused: Refused,
    /// Connections open now.
    pub open: u32,
    /// Clocks that the card has run.
    pub clocks: u64,
    /// Exchanges with the card that walks took.
    pub walks: u64,
    /// What the figures of `COUNTED` were at the last `stats reset`.
    reset: Vec<u64>,
}

impl Stats {
    pub fn new(told: Told) -> Stats {
        let reset = vec![0; COUNTED.len()];
        let (totals, refused) = (Totals::default(), Refused::default());
        Stats { told, start: Instant::now(), totals, refused, open: 0, clocks: 0, walks: 0, reset }
    }

    fn counted(&self) -> Vec<u64> {
        let sum = |names: &[&str]| names.iter().map(|n| self.totals.get(n)).sum();
        COUNTED.iter().map(|(_, names)| sum(names)).collect()
    }

    /// Entries of the index, with those whose items the log has dropped since.
    fn items(&self) -> u64 {
        let total = |name| self.totals.get(name);
        total("StoreInserts").saturating_sub(total("StoreRemovals") + total("StoreEvictions"))
    }

    /// Answers `stats`, `stats SUB` and `stats SUB ARGUMENT`.
    pub fn reply(&mut self, sub: Option<&[u8]>, argument: Option<&[u8]>) -> Vec<u8> {
        match sub {
            None => self.general(),
            Some(b"reset") => {
                self.reset = self.counted();
                b"RESET\r\n".to_vec()
            }
            Some(b"settings") => self.settings(),
            // Nothing is kept by class of size, so there is nothing to list.
            Some(b"items") => b"END\r\n".to_vec(),
            Some(b"slabs") => {
                Lines::default().stat("active_slabs", 0).stat("total_malloced", 0).end()
            }
            // Everything that the card counts, by the names of the folders' enums.
            Some(b"card") => {
                let all = self.totals.iter();
                let lines = all.fold(Lines::default(), |lines, (c, n)| lines.stat(c.name, n));
                lines
                    .stat("HostResets", self.refused.resets)
                    .stat("HostUnreachable", self.refused.unreachable)
                    .stat("HostHeld", self.refused.held)
                    .stat("HostFragments", self.refused.fragments)
                    .stat("HostIpOptions", self.refused.options)
                    .stat("HostOthers", self.refused.others)
                    .stat("HostClocks", self.clocks)
                    .stat("HostWalks", self.walks)
                    .end()
            }
            Some(b"sizes") => Lines::default().stat("sizes_status", "disabled").end(),
            Some(b"detail") => match argument {
                Some(b"on" | b"off") => b"OK\r\n".to_vec(),
                Some(b"dump") => b"END\r\n".to_vec(),
                _ => b"CLIENT_ERROR usage: stats detail on|off|dump\r\n".to_vec(),
            },
            Some(b"cachedump") => b"CLIENT_ERROR bad command line\r\n".to_vec(),
            Some(_) => b"ERROR\r\n".to_vec(),
        }
    }

    fn general(&self) -> Vec<u8> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (user, system) = cpu_seconds();
        let mut lines = Lines::default()
            .stat("pid", std::process::id())
            .stat("uptime", self.start.elapsed().as_secs())
            .stat("time", now.as_secs())
            .stat("version", VERSION)
            .stat("pointer_size", usize::BITS)
            .stat("rusage_user", format_args!("{user:.6}"))
            .stat("rusage_system", format_args!("{system:.6}"))
            .stat("max_connections", self.told.max_conns)
            .stat("curr_connections", self.open);
        let counted = COUNTED.iter().zip(self.counted()).zip(&self.reset);
        for (((name, _), total), reset) in counted {
            lines = lines.stat(name, total - reset);
        }
        lines
            .stat("curr_items", self.items())
            .stat("limit_maxbytes", self.told.limit_bytes)
            .stat("accepting_conns", 1)
            .stat("threads", 1)
            .stat("hash_power_level", (self.told.buckets * 8).ilog2())
            .stat("hash_bytes", self.told.buckets * 64)
            .stat("hash_is_expanding", 0)
            .end()
    }

    fn settings(&self) -> Vec<u8> {
        let t = &self.told;
        Lines::default()
            .stat("maxbytes", t.limit_bytes)
            .stat("maxconns", t.max_conns)
            .stat("tcpport", t.tcp_port)
            .stat("udpport", t.udp_port)
            .stat("inter", t.inter)
            .stat("verbosity", t.verbosity)
            .stat("evictions", "on")
            .stat("domain_socket", "NULL")
            .stat("shutdown_command", "no")
            .stat("num_threads", 1)
            .stat("detail_enabled", "no")
            .stat("cas_enabled", "yes")
            .stat("auth_enabled_sasl", "no")
            .stat("auth_enabled_ascii", "no")
            .stat("item_size_max", t.item_max)
            .stat("flush_enabled", "yes")
            .stat("idle_timeout", t.idle_timeout)
            .end()
    }
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn stat(mut self, name: &str, value: impl Display) -> Lines {
        self.0.push_str(&format!("STAT {name} {value}\r\n"));
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push_str("END\r\n");
        self.0.into_bytes()
    }
}

/// CPU time of this process, user and system.
fn cpu_seconds() -> (f64, f64) {
    // SAFETY: the call fills the structure it is given.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirekv_card::csr::counter_index;

    fn stats() -> Stats {
        Stats::new(Told {
            limit_bytes: 64 << 20,
            max_conns: 1024,
            tcp_port: 11211,
            udp_port: 0,
            inter: IpAddr::from([127, 0, 0, 1]),
            verbosity: 0,
            item_max: 1 << 20,
            idle_timeout: 0,
            buckets: 1 << 17,
        })
    }

    #[test]
    fn counters_exist() {
        let items = ["StoreInserts", "StoreRemovals", "StoreEvictions"];
        for name in COUNTED.iter().flat_map(|(_, names)| *names).chain(&items) {
            assert!(counter_index(name).is_some(), "the card has no counter {name}");
        }
    }

    #[test]
    fn general_has_memcacheds_shape() {
        let text = String::from_utf8(stats().reply(None, None)).unwrap();
        assert!(text.starts_with("STAT pid "));
        assert!(text.contains("\r\nSTAT version 1.6.38\r\n"));
        assert!(text.contains("\r\nSTAT limit_maxbytes 67108864\r\n"));
        assert!(text.ends_with("\r\nEND\r\n"));
        for line in text.trim_end().split("\r\n") {
            assert!(line == "END" || line.split(' ').count() == 3, "{line}");
        }
    }

    #[test]
    fn subcommands() {
        let mut s = stats();
        assert_eq!(s.reply(Some(b"reset"), None), b"RESET\r\n");
        assert_eq!(s.reply(Some(b"nonsense"), None), b"ERROR\r\n");
        let settings = String::from_utf8(s.reply(Some(b"settings"), None)).unwrap();
        assert!(settings.contains("STAT item_size_max 1048576\r\n"));
    }
}
