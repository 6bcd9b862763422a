//! What `stats` says, from the card's counters.

use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use wirekv_card::csr::{self, Totals};
use wirekv_card::{Card, CardError};
use wirekv_memcache::lines::{NOT_SET, OFF, OF_A_SLAB};
use wirekv_metrics::{memcached, Kind, Process, Statistics, Text, Usage};
use wirekv_net::{Refused, Strangers, WireCounts};
use wirekv_proto::{Counters, Server, Told, MEMCACHED_VERSION};
use Kind::{Counter, Gauge};

use crate::mover::Mover;
use crate::options::Options;
use crate::runner::unix_time;

/// A bucket has eight ways, and 64 bytes.
const WAYS_BITS: u32 = 3;

/// Bytes of a line of the card's memory.
const LINE: u64 = 64;

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
    /// What has passed, where it passes this program.
    wire: Option<WireCounts>,
    reset: Reset,
}

/// What the figures were at the last `stats reset`.
struct Reset {
    /// Those of `COUNTED`.
    counted: Vec<u64>,
    wire: WireCounts,
    /// Connections and datagrams of those who are not served.
    strangers: [u64; 2],
}

impl Default for Reset {
    fn default() -> Reset {
        Reset { counted: vec![0; COUNTED.len()], wire: WireCounts::default(), strangers: [0; 2] }
    }
}

impl Stats {
    pub fn new(options: Options) -> Stats {
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
            wire: None,
            reset: Reset::default(),
        }
    }

    /// Looks at the card.
    pub fn look(&mut self, card: &mut Mover, walks: u64) -> Result<(), CardError> {
        self.totals.update(card)?;
        self.clocks = card.clock();
        self.walks = walks;
        self.open = card.read_csr(csr::OPEN_CONNS)?;
        self.refused = card.refuser.counts;
        self.wire = self.options.carries.then_some(card.wire.counts);
        Ok(())
    }

    fn counted(&self) -> Vec<u64> {
        let sum = |names: &[&str]| names.iter().map(|n| self.totals.get(n)).sum();
        COUNTED.iter().map(|(_, names)| sum(names)).collect()
    }

    /// Connections and datagrams of those who are not served.
    fn strangers(&self) -> [u64; 2] {
        let Strangers { connections, datagrams } = &*self.options.strangers;
        [connections, datagrams].map(|count| count.load(Relaxed))
    }

    /// Entries of the index, with those whose items the log has dropped since.
    fn items(&self) -> u64 {
        let total = |name| self.totals.get(name);
        total("StoreInserts").saturating_sub(total("StoreRemovals") + total("StoreEvictions"))
    }

    fn general(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        self.general_since(&self.reset, line);
    }

    fn general_since(&self, reset: &Reset, line: &mut dyn FnMut(&str, &dyn Display)) {
        let usage = Usage::now();
        line("pid", &std::process::id());
        line("uptime", &self.start.elapsed().as_secs());
        line("time", &unix_time().as_secs());
        line("version", &MEMCACHED_VERSION);
        line("pointer_size", &usize::BITS);
        line("rusage_user", &format_args!("{:.6}", usage.user.as_secs_f64()));
        line("rusage_system", &format_args!("{:.6}", usage.system.as_secs_f64()));
        line("max_connections", &self.options.max_conns);
        line("curr_connections", &self.open);
        line("connection_structures", &self.open);
        let counted = COUNTED.iter().zip(self.counted()).zip(&reset.counted);
        for (((name, _), total), reset) in counted {
            line(name, &(total - reset));
        }
        if let Some(wire) = &self.wire {
            line("bytes_read", &(wire.bytes_to_card - reset.wire.bytes_to_card));
            line("bytes_written", &(wire.bytes_from_card - reset.wire.bytes_from_card));
        }
        line("curr_items", &self.items());
        line("limit_maxbytes", &self.options.memory);
        line("auth_cmds", &0);
        line("auth_errors", &0);
        line("accepting_conns", &1);
        // It refuses who is too many, and listens on.
        let [connections, datagrams] = self.strangers();
        line("not_allowed", &(connections - reset.strangers[0]));
        line("udp_not_allowed", &(datagrams - reset.strangers[1]));
        line("listen_disabled_num", &0);
        line("time_in_listen_disabled_us", &0);
        line("threads", &1);
        line("hash_power_level", &(self.options.index_bits + WAYS_BITS));
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
        line("oldest", &0);
        line("evictions", &"on");
        line("domain_socket", &"NULL");
        line("umask", &700);
        line("shutdown_command", &"no");
        line("num_threads", &1);
        line("num_threads_per_udp", &1);
        line("stat_key_prefix", &":");
        line("detail_enabled", &"no");
        line("cas_enabled", &"yes");
        line("binding_protocol", &"auto-negotiate");
        line("auth_enabled_sasl", &"no");
        line("auth_enabled_ascii", &"no");
        line("item_size_max", &o.item_max);
        line("maxconns_fast", &"yes");
        line("hashpower_init", &(o.index_bits + WAYS_BITS));
        line("hash_algorithm", &"nh");
        line("flush_enabled", &"yes");
        line("idle_timeout", &o.idle_timeout);
        line("client_flags_size", &4);
        // Nothing of these is the hardware's.
        for name in OFF.iter().chain(&["ssl_enabled", "ssl_session_cache"]) {
            line(name, &"no");
        }
        for name in NOT_SET.iter().chain(&["memory_file", "ssl_chain_cert", "ssl_key"]) {
            line(name, &"(null)");
        }
    }

    /// All items are of one class: the log knows no others.
    fn items_of_class(&self, reset: &Reset, line: &mut dyn FnMut(&str, &dyn Display)) {
        if self.items() == 0 {
            return;
        }
        line("items:1:number", &self.items());
        line("items:1:evicted", &self.since(reset, "evictions"));
        line("items:1:outofmemory", &self.since(reset, "store_no_memory"));
    }

    /// One class, whose one page is the log; a chunk is a line of it.
    fn slabs(&self, reset: &Reset, line: &mut dyn FnMut(&str, &dyn Display)) {
        let lines = self.options.log_bytes / LINE;
        line("1:chunk_size", &LINE);
        line("1:chunks_per_page", &lines);
        line("1:total_pages", &1);
        line("1:total_chunks", &lines);
        for name in OF_A_SLAB {
            line(&format!("1:{name}"), &self.since(reset, name));
        }
        line("active_slabs", &1);
        line("total_malloced", &self.options.log_bytes);
    }

    /// A figure of `COUNTED`.
    fn since(&self, reset: &Reset, name: &str) -> u64 {
        let place = COUNTED.iter().position(|(n, _)| *n == name).expect("it is counted");
        self.counted()[place] - reset.counted[place]
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
            b"items" => self.items_of_class(&self.reset, &mut text),
            b"slabs" => self.slabs(&self.reset, &mut text),
            _ => return Told::Nothing,
        }
        Told::All
    }

    fn reset(&mut self, own: &mut Counters) {
        *own = Counters::default();
        let wire = self.wire.unwrap_or_default();
        self.reset = Reset { counted: self.counted(), wire, strangers: self.strangers() };
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

/// For Prometheus.
impl Stats {
    pub fn metrics(&self, process: &Process, busy: Duration) -> Text {
        let mut statistics = Statistics::default();
        let mut line = |name: &str, value: &dyn Display| statistics.line(name, value);
        let start = Reset::default();
        self.general_since(&start, &mut line);
        self.items_of_class(&start, &mut line);
        self.slabs(&start, &mut line);
        let mut text = Text::default();
        process.tell(if self.options.carries { "sim" } else { "card" }, &mut text);
        memcached(&statistics, &mut text);
        let mut one = |name: &str, kind, help: &str, value: f64| {
            text.one(&format!("wirekv_{name}"), kind, help, value);
        };
        one("card_clocks_total", Counter, "Clocks that the card has run.", self.clocks as f64);
        one(
            "card_busy_seconds_total",
            Counter,
            "Time in which this program let it run.",
            busy.as_secs_f64(),
        );
        one(
            "index_entries",
            Gauge,
            "Entries of the index, with those whose items the log has dropped.",
            self.items() as f64,
        );
        one(
            "index_ways",
            Gauge,
            "Entries that it has places for.",
            (1u64 << (self.options.index_bits + WAYS_BITS)) as f64,
        );
        one("index_bytes", Gauge, "Bytes of the index.", (64u64 << self.options.index_bits) as f64);
        one(
            "log_bytes",
            Gauge,
            "Bytes of the log. It is full once store_laps_total is not 0.",
            self.options.log_bytes as f64,
        );
        one(
            "walk_exchanges_total",
            Counter,
            "Exchanges with the card that walks took.",
            self.walks as f64,
        );
        if let Some(wire) = &self.wire {
            text.family("wirekv_wire_frames_total", Counter, "Frames between network and card.");
            for (direction, n) in [("in", wire.to_card), ("out", wire.from_card)] {
                text.sample("wirekv_wire_frames_total", &[("direction", direction)], n);
            }
        }
        self.counters(&mut text);
        text
    }

    /// All of docs/COUNTERS.md: drops by cause, waits by stage, and each other counter under its name.
    fn counters(&self, text: &mut Text) {
        let (drops, waits) = ("wirekv_card_dropped_total", "wirekv_card_wait_clocks_total");
        text.family(drops, Counter, "Frames and segments that the card has dropped, by counter.");
        let is_drop = |what: &str| what.starts_with("dropped");
        for (counter, n) in self.totals.iter().filter(|(counter, _)| is_drop(counter.what)) {
            text.sample(drops, &[("cause", counter.name)], n);
        }
        text.family(waits, Counter, "Clocks in which a stage of the card waited, by counter.");
        let is_wait = |what: &str| what.starts_with("clocks in which");
        for (counter, n) in self.totals.iter().filter(|(counter, _)| is_wait(counter.what)) {
            text.sample(waits, &[("stage", counter.name)], n);
        }
        for (counter, n) in self.totals.iter() {
            if !is_drop(counter.what) && !is_wait(counter.what) {
                let help = format!("{}: {}.", counter.name, counter.what);
                text.one(&format!("wirekv_card{}_total", snake(counter.name)), Counter, &help, n);
            }
        }
        let r = &self.refused;
        text.family(
            "wirekv_host_frames_total",
            Counter,
            "Frames that the card has left to the host, by what became of them.",
        );
        for (fate, n) in [
            ("reset", r.resets),
            ("unreachable", r.unreachable),
            ("held", r.held),
            ("fragment", r.fragments),
            ("ip_options", r.options),
            ("other", r.others),
        ] {
            text.sample("wirekv_host_frames_total", &[("fate", fate)], n);
        }
    }
}

/// `NetRxFrames` as `_net_rx_frames`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
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
