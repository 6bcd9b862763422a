//! The server's figures for Prometheus.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use wirekv_metrics::{memcached, Asked, HotKeys, Kind, Latencies, Process, Statistics, Text};
use Kind::{Counter, Gauge};

use crate::shared::Shared;

/// Lines of `stats` that memcached_exporter has no name for.
const MORE: &[(&str, &str, Kind, &str)] = &[
    ("cmd_meta", "meta_commands_total", Counter, "Meta commands."),
    ("cmd_touch", "touch_commands_total", Counter, "Commands that touch an item, gat among them."),
    ("get_expired", "get_expired_total", Counter, "Of the misses of get: the item had expired."),
    ("get_flushed", "get_flushed_total", Counter, "Of the misses of get: the item was flushed."),
    (
        "idle_kicks",
        "connections_idle_closed_total",
        Counter,
        "Connections closed as idle (-o idle_timeout).",
    ),
    (
        "unread_kicks",
        "connections_unread_closed_total",
        Counter,
        "Connections closed for replies that their clients did not take.",
    ),
    ("auth_cmds", "auth_commands_total", Counter, "Attempts of memcached's clients to log in."),
    ("auth_errors", "auth_errors_total", Counter, "Of these, those that failed."),
    ("threads", "threads", Gauge, "Threads that serve (-t)."),
    ("hash_bytes", "index_bytes", Gauge, "Bytes of the index."),
    ("log_bytes", "log_bytes", Gauge, "Bytes of the log, in which items are."),
    (
        "log_relocations",
        "log_relocations_total",
        Counter,
        "Items that were copied to the head of a log.",
    ),
    (
        "ghost_hits",
        "ghost_hits_total",
        Counter,
        "Items that came back soon after they were dropped.",
    ),
    ("index_moves", "index_moves_total", Counter, "Entries moved to their other bucket."),
    (
        "index_evictions",
        "index_evictions_total",
        Counter,
        "Items dropped because both buckets were full.",
    ),
];

/// Of datagrams that were not answered: the line, and why.
const WITHHELD: &[(&str, &str)] = &[
    ("udp_ignored", "no_request"),
    ("udp_errors_limited", "error_limit"),
    ("udp_errors_to_services", "service_port"),
];

/// Answers Prometheus, in a thread of its own.
pub fn serve(address: SocketAddr, shared: Arc<Shared>) -> Result<()> {
    let process = Process::default();
    let listed = shared.clone();
    let allows = move |from| {
        let allowed = listed.options.allows(from);
        if !allowed {
            listed.not_allowed();
        }
        allowed
    };
    wirekv_metrics::serve(address, allows, false, move |asked, reply| match asked {
        _ if shared.stopping() => {}
        Asked::Figures => reply.send(figures(&shared, &process).finish()),
        Asked::Keys => {
            let keys = shared.timed(|sum: &mut HotKeys, own| sum.add(&own.keys));
            reply.send(keys.tell());
        }
        // There are no gates here.
        Asked::Mark(_) | Asked::Trace => {}
    })
}

fn figures(shared: &Shared, process: &Process) -> Text {
    let (counted, counters) = (shared.counted(), shared.sum_ever());
    let mut statistics = Statistics::default();
    let mut line = |name: &str, value: &dyn std::fmt::Display| statistics.line(name, value);
    shared.general_of(&counted, counters, &mut line);
    shared.items(&counted.store, &mut line);
    shared.slabs(counters, &mut line);
    let mut text = Text::default();
    process.tell("soft", &mut text);
    memcached(&statistics, &mut text);
    for (line, name, kind, help) in MORE {
        if let Some(value) = statistics.get(line) {
            text.one(&format!("wirekv_{name}"), *kind, help, value);
        }
    }
    let name = "wirekv_connections_listener_disabled_seconds_total";
    let seconds = counted.starved_us as f64 / 1e6;
    text.one(name, Counter, "Time in which no connection could be accepted.", seconds);
    text.one(
        "wirekv_index_ways",
        Gauge,
        "Items that the index has places for.",
        counted.store.ways,
    );
    let name = "wirekv_udp_withheld_total";
    text.family(name, Counter, "Datagrams that were not answered, and errors that were not sent.");
    for (line, reason) in WITHHELD {
        if let Some(value) = statistics.get(line) {
            text.sample(name, &[("reason", reason)], value);
        }
    }
    let latencies = shared.timed(|sum: &mut Latencies, own| sum.add(&own.latencies));
    latencies.tell(&mut text);
    text
}
