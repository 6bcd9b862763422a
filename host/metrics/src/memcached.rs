//! memcached's statistics, under the names that memcached_exporter (github.com/prometheus/memcached_exporter) has given
//! them: dashboards and rules for that work here, too.

use std::collections::HashMap;
use std::fmt::Display;

use crate::text::{Kind, Text};
use Kind::{Counter, Gauge};

/// Lines of `stats`, `stats items` and `stats slabs`, counted from the start of the server.
#[derive(Default)]
pub struct Statistics(HashMap<String, String>);

impl Statistics {
    /// One line.
    pub fn line(&mut self, name: &str, value: &dyn Display) {
        self.0.insert(name.into(), value.to_string());
    }

    /// What a line says.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// Families of one sample: the line, its name, what it is.
const ONE: &[(&str, &str, Kind, &str)] = &[
    // For Prometheus' linter no counter: its name does not end as theirs.
    ("uptime", "uptime_seconds", Gauge, "Since the start of the server."),
    ("time", "time_seconds", Gauge, "The server's clock, since the UNIX epoch."),
    ("rusage_user", "process_user_cpu_seconds_total", Counter, "User CPU time."),
    ("rusage_system", "process_system_cpu_seconds_total", Counter, "System CPU time."),
    ("bytes_read", "read_bytes_total", Counter, "Bytes that came from clients."),
    ("bytes_written", "written_bytes_total", Counter, "Bytes that went to clients."),
    ("curr_connections", "current_connections", Gauge, "Connections that are open."),
    ("max_connections", "max_connections", Gauge, "Connections that there may be at once (-c)."),
    ("total_connections", "connections_total", Counter, "Connections that were opened."),
    ("rejected_connections", "connections_rejected_total", Counter, "Connections beyond -c."),
    (
        "conn_yields",
        "connections_yielded_total",
        Counter,
        "Turns that ended before a client's requests did (-R).",
    ),
    (
        "listen_disabled_num",
        "connections_listener_disabled_total",
        Counter,
        "Times that no connection could be accepted.",
    ),
    ("accepting_conns", "accepting_connections", Gauge, "1 while connections are accepted."),
    ("bytes", "current_bytes", Gauge, "Bytes of the items that are there."),
    ("limit_maxbytes", "limit_bytes", Gauge, "Bytes for items and their index (-m)."),
    ("total_malloced", "malloced_bytes", Gauge, "Bytes of the log, in which items are."),
    ("curr_items", "current_items", Gauge, "Items that are there."),
    ("total_items", "items_total", Counter, "Items that were stored."),
    ("evictions", "items_evicted_total", Counter, "Items that were dropped to make room."),
    ("reclaimed", "items_reclaimed_total", Counter, "Expired items whose room was used again."),
    (
        "store_too_large",
        "item_too_large_total",
        Counter,
        "Items that were refused as longer than -I.",
    ),
    ("store_no_memory", "item_no_memory_total", Counter, "Items for which there was no room."),
];

/// Those that count by class: memcached's slabs. Here is one class.
const CLASS: &[(&str, &str, Kind, &str)] = &[
    ("items:1:number", "slab_current_items", Gauge, "Items of the class."),
    ("items:1:evicted", "slab_items_evicted_total", Counter, "Items dropped to make room."),
    (
        "items:1:evicted_unfetched",
        "slab_items_evicted_unfetched_total",
        Counter,
        "Of these, those that nobody had read.",
    ),
    (
        "items:1:expired_unfetched",
        "slab_items_expired_unfetched_total",
        Counter,
        "Items that expired before anybody read them.",
    ),
    (
        "items:1:outofmemory",
        "slab_items_outofmemory_total",
        Counter,
        "Items for which there was no room.",
    ),
    (
        "items:1:reclaimed",
        "slab_items_reclaimed_total",
        Counter,
        "Expired items whose room was used again.",
    ),
    (
        "items:1:mem_requested",
        "slab_mem_requested_bytes",
        Gauge,
        "Bytes of the items that are there.",
    ),
    ("1:chunk_size", "slab_chunk_size_bytes", Gauge, "Bytes of a chunk of the log."),
    ("1:chunks_per_page", "slab_chunks_per_page", Gauge, "Chunks of a page."),
    ("1:total_pages", "slab_current_pages", Gauge, "Pages of the log."),
    ("1:total_chunks", "slab_current_chunks", Gauge, "Chunks of the log."),
    ("1:used_chunks", "slab_chunks_used", Gauge, "Chunks in which items are."),
    ("1:free_chunks", "slab_chunks_free", Gauge, "Chunks in which none are."),
    ("1:free_chunks_end", "slab_chunks_free_end", Gauge, "Chunks of a page that is used in part."),
];

/// Commands that hit or miss an item.
const COMMANDS: &[&str] = &["get", "delete", "incr", "decr", "cas", "touch"];

/// Writes what there is of them: a line that is not there has no sample.
pub fn memcached(statistics: &Statistics, text: &mut Text) {
    text.one("memcached_up", Gauge, "The server answers; always 1.", 1);
    if let Some(version) = statistics.get("version") {
        text.family(
            "memcached_version",
            Gauge,
            "The memcached whose protocols these are; always 1.",
        );
        text.sample("memcached_version", &[("version", version)], 1);
    }
    for (line, name, kind, help) in ONE {
        if let Some(value) = statistics.get(line) {
            text.one(&format!("memcached_{name}"), *kind, help, value);
        }
    }
    for (line, name, kind, help) in CLASS {
        if let Some(value) = statistics.get(line) {
            let name = format!("memcached_{name}");
            text.family(&name, *kind, help);
            text.sample(&name, &[("slab", "1")], value);
        }
    }
    commands(
        statistics,
        "memcached_commands_total",
        "Commands, by what became of them.",
        "",
        &[],
        text,
    );
    if statistics.get("1:cmd_set").is_some() {
        let (name, help) =
            ("memcached_slab_commands_total", "Commands that found an item of the class.");
        commands(statistics, name, help, "1:", &[("slab", "1")], text);
    }
}

/// `cmd_set` counts `cas`, too, but here a command is counted once.
fn commands(
    statistics: &Statistics,
    name: &str,
    help: &str,
    class: &str,
    labels: &[(&str, &str)],
    text: &mut Text,
) {
    let number = |line: &str| statistics.number(&format!("{class}{line}"));
    text.family(name, Counter, help);
    let mut sample = |command: &str, status: &str, value: Option<u64>| {
        if let Some(value) = value {
            let labels = [labels, &[("command", command), ("status", status)]].concat();
            text.sample(name, &labels, value);
        }
    };
    for command in COMMANDS {
        sample(command, "hit", number(&format!("{command}_hits")));
        sample(command, "miss", number(&format!("{command}_misses")));
    }
    sample("cas", "badval", number("cas_badval"));
    sample("flush", "hit", number("cmd_flush"));
    let cas = ["cas_misses", "cas_hits", "cas_badval"].map(|line| number(line).unwrap_or(0));
    let sets = number("cmd_set").map(|sets| sets.saturating_sub(cas.iter().sum()));
    sample("set", "hit", sets);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cas_is_no_set() {
        let mut statistics = Statistics::default();
        for (line, value) in
            [("cmd_set", 10), ("cas_hits", 1), ("cas_misses", 2), ("cas_badval", 3)]
        {
            statistics.line(line, &value);
        }
        let mut text = Text::default();
        memcached(&statistics, &mut text);
        let text = text.finish();
        for sample in [
            "memcached_up 1\n",
            "memcached_commands_total{command=\"set\",status=\"hit\"} 4\n",
            "memcached_commands_total{command=\"cas\",status=\"badval\"} 3\n",
        ] {
            assert!(text.contains(sample), "{text}");
        }
        assert!(!text.contains("uptime") && !text.contains("slab"), "{text}");
    }
}
