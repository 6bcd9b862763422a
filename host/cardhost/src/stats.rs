//! What `stats` says, from the card's counters.

use std::fmt::Display;
use std::time::Instant;

use wirekv_card::csr::Totals;
use wirekv_net::Refused;
use wirekv_proto::{Counters, Server, Told, MEMCACHED_VERSION};

use crate::options::Options;
use crate::runner::unix_time;

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
    options: Options,
    start: Instant,
    pub totals: Totals,
    /// What became of frames that came to the host.
    pub refused: Refused,
    /// Datagrams that found no room before another server.
    pub lost: u64,
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
    pub fn new(options: Options) -> Stats {
        let reset = vec![0; COUNTED.len()];
        let (totals, refused) = (Totals::default(), Refused::default());
        Stats {
            options,
            start: Instant::now(),
            totals,
            refused,
            lost: 0,
            open: 0,
            clocks: 0,
            walks: 0,
            reset,
        }
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

    fn general(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        let (user, system) = cpu_seconds();
        line("pid", &std::process::id());
        line("uptime", &self.start.elapsed().as_secs());
        line("time", &unix_time().as_secs());
        line("version", &MEMCACHED_VERSION);
        line("pointer_size", &usize::BITS);
        line("rusage_user", &format_args!("{user:.6}"));
        line("rusage_system", &format_args!("{system:.6}"));
        line("max_connections", &self.options.max_conns);
        line("curr_connections", &self.open);
        let counted = COUNTED.iter().zip(self.counted()).zip(&self.reset);
        for (((name, _), total), reset) in counted {
            line(name, &(total - reset));
        }
        line("curr_items", &self.items());
        line("limit_maxbytes", &self.options.memory);
        line("accepting_conns", &1);
        line("threads", &1);
        // A bucket has eight ways, and 64 bytes.
        line("hash_power_level", &(self.options.index_bits + 3));
        line("hash_bytes", &(64u64 << self.options.index_bits));
        line("hash_is_expanding", &0);
    }

    fn settings(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        let o = &self.options;
        line("maxbytes", &o.memory);
        line("maxconns", &o.max_conns);
        line("tcpport", &o.tcp_port);
        line("udpport", &o.udp_port);
        line("inter", &o.address);
        line("verbosity", &o.verbosity);
        line("evictions", &"on");
        line("domain_socket", &"NULL");
        line("shutdown_command", &"no");
        line("num_threads", &1);
        line("detail_enabled", &"no");
        line("cas_enabled", &"yes");
        line("auth_enabled_sasl", &"no");
        line("auth_enabled_ascii", &"no");
        line("item_size_max", &o.item_max);
        line("flush_enabled", &"yes");
        line("idle_timeout", &o.idle_timeout);
    }

    /// Everything that the card counts, by the names of the folders' enums.
    fn card(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        for (counter, n) in self.totals.iter() {
            line(counter.name, &n);
        }
        line("HostResets", &self.refused.resets);
        line("HostUnreachable", &self.refused.unreachable);
        line("HostHeld", &self.refused.held);
        line("HostFragments", &self.refused.fragments);
        line("HostIpOptions", &self.refused.options);
        line("HostOthers", &self.refused.others);
        line("HostLostDatagrams", &self.lost);
        line("HostClocks", &self.clocks);
        line("HostWalks", &self.walks);
    }
}

impl Server for Stats {
    fn stats(
        &mut self,
        args: &[u8],
        _from: u64,
        _own: &Counters,
        line: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Told {
        let mut text = |name: &str, value: &dyn Display| {
            line(name.as_bytes(), value.to_string().as_bytes());
        };
        match args {
            b"" => self.general(&mut text),
            b"settings" => self.settings(&mut text),
            b"card" => self.card(&mut text),
            b"sizes" => text("sizes_status", &"disabled"),
            // Nothing is kept by class of size, so there is nothing to list.
            b"items" => {}
            b"slabs" => {
                text("active_slabs", &0);
                text("total_malloced", &0);
            }
            _ => return Told::Nothing,
        }
        Told::All
    }

    fn reset(&mut self) {
        self.reset = self.counted();
    }

    fn shutdown(&mut self, _graceful: bool) {}
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

    #[test]
    fn counters_exist() {
        let items = ["StoreInserts", "StoreRemovals", "StoreEvictions"];
        for name in COUNTED.iter().flat_map(|(_, names)| *names).chain(&items) {
            assert!(counter_index(name).is_some(), "the card has no counter {name}");
        }
    }
}
