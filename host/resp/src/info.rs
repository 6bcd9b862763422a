//! INFO: the sections that dashboards and redis_exporter read, with Redis' names for what there is.
//! What Redis counts and this server has not (replication, scripts, files) is left out, but for
//! the lines that tell readers so: no replicas, nothing to save, no cluster.

use std::fmt::Write;

use wirekv_store::DATABASES;

use super::call::Call;
use super::facts::Facts;
use super::rows;
use super::table::{self, Command};
use super::{word, Error, VERSION};

pub const COMMAND: Command = Command::new(rows::INFO, info);

type Tell = fn(&mut Call<'_>, &Facts, &mut String);

/// Sections, in order, and whether they are told when none is named.
const SECTIONS: &[(&str, bool, Tell)] = &[
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, cpu),
    ("Modules", true, |_, _, _| {}),
    ("Commandstats", false, command_stats),
    ("Errorstats", true, error_stats),
    ("Latencystats", false, |_, _, _| {}),
    ("Cluster", true, |_, _, text| text.push_str("cluster_enabled:0\r\n")),
    ("Keyspace", true, keyspace),
];

macro_rules! lines {
    ($to:expr, $($name:literal: $value:expr,)*) => {
        // A string takes what is written to it.
        $(let _ = write!($to, concat!($name, ":{}\r\n"), $value);)*
    };
}

fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let names = call.args.vec(1);
    let is = |name: &str| names.iter().any(|n| word::is(n, name));
    let (all, default) = (is("all") || is("everything"), names.is_empty() || is("default"));
    let facts = call.server.facts(&call.engine.counters);
    let mut text = String::new();
    for (name, by_default, tell) in SECTIONS {
        if all || (default && *by_default) || is(name) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            let _ = write!(text, "# {name}\r\n");
            tell(call, &facts, &mut text);
        }
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// `1.50M`
pub fn human(bytes: u64) -> String {
    let units = [("B", 0), ("K", 10), ("M", 20), ("G", 30), ("T", 40)];
    let (unit, shift) =
        units.iter().rev().find(|(_, shift)| bytes >> shift > 0).unwrap_or(&units[0]);
    match shift {
        0 => format!("{bytes}B"),
        _ => format!("{:.2}{unit}", bytes as f64 / (1u64 << shift) as f64),
    }
}

fn server(call: &mut Call<'_>, facts: &Facts, text: &mut String) {
    let common = &call.engine.common;
    let (uptime, now) = (common.uptime_ms() / 1000, common.unix_us());
    let arch = (usize::BITS, std::env::consts::OS, std::env::consts::ARCH);
    lines! { text,
        "redis_version": VERSION,
        "redis_git_sha1": "00000000",
        "redis_git_dirty": 0,
        "redis_mode": "standalone",
        "server_name": "wirekv",
        "wirekv_version": env!("CARGO_PKG_VERSION"),
        "os": format_args!("{} {}", arch.1, arch.2),
        "arch_bits": arch.0,
        "multiplexing_api": "epoll",
        "process_id": std::process::id(),
        "process_supervised": "no",
        "run_id": common.run_id(),
        "tcp_port": facts.port,
        "server_time_usec": now,
        "uptime_in_seconds": uptime,
        "uptime_in_days": uptime / 86_400,
        "executable": "",
        "config_file": "",
        "io_threads_active": u8::from(facts.threads > 1),
    }
}

fn clients(call: &mut Call<'_>, facts: &Facts, text: &mut String) {
    let connected = call.server.connections().len();
    lines! { text,
        "connected_clients": connected,
        "cluster_connections": 0,
        "maxclients": facts.max_conns,
        "blocked_clients": 0,
        "tracking_clients": 0,
        "clients_in_timeout_table": 0,
        "connections_of_all_protocols": facts.open,
    }
}

fn memory(call: &mut Call<'_>, facts: &Facts, text: &mut String) {
    let store = call.engine.local.store().stats();
    let used = store.bytes + store.index_bytes;
    let overhead = store.index_bytes;
    lines! { text,
        "used_memory": used,
        "used_memory_human": human(used),
        "used_memory_rss": facts.resident,
        "used_memory_rss_human": human(facts.resident),
        "used_memory_overhead": overhead,
        "used_memory_startup": store.index_bytes,
        "used_memory_dataset": store.bytes,
        "used_memory_dataset_perc":
            format_args!("{:.2}%", 100.0 * store.bytes as f64 / used.max(1) as f64),
        "maxmemory": facts.memory,
        "maxmemory_human": human(facts.memory as u64),
        "maxmemory_policy": facts.policy(),
        "mem_fragmentation_ratio":
            format_args!("{:.2}", facts.resident as f64 / used.max(1) as f64),
        "mem_fragmentation_bytes": facts.resident as i64 - used as i64,
        "mem_allocator": "wirekv",
        "active_defrag_running": 0,
        "lazyfree_pending_objects": 0,
    }
}

fn persistence(_: &mut Call<'_>, _: &Facts, text: &mut String) {
    lines! { text,
        "loading": 0,
        "async_loading": 0,
        "rdb_changes_since_last_save": 0,
        "rdb_bgsave_in_progress": 0,
        "rdb_last_save_time": 0,
        "rdb_last_bgsave_status": "ok",
        "rdb_last_bgsave_time_sec": -1,
        "rdb_current_bgsave_time_sec": -1,
        "aof_enabled": 0,
        "aof_rewrite_in_progress": 0,
        "aof_rewrite_scheduled": 0,
        "aof_last_rewrite_time_sec": -1,
        "aof_current_rewrite_time_sec": -1,
        "aof_last_bgrewrite_status": "ok",
        "aof_last_write_status": "ok",
    }
}

fn stats(call: &mut Call<'_>, facts: &Facts, text: &mut String) {
    let common = &call.engine.common;
    let rates = common.rates();
    let errors: u64 = common.stats.errors().iter().map(|(_, count)| count).sum();
    lines! { text,
        "total_connections_received": facts.opened,
        "total_commands_processed": common.stats.calls(),
        "instantaneous_ops_per_sec": rates.commands,
        "total_net_input_bytes": facts.read,
        "total_net_output_bytes": facts.written,
        "instantaneous_input_kbps": format_args!("{:.2}", rates.read as f64 / 1024.0),
        "instantaneous_output_kbps": format_args!("{:.2}", rates.written as f64 / 1024.0),
        "rejected_connections": facts.rejected,
        "expired_keys": facts.reclaimed,
        "evicted_keys": facts.evictions,
        "evicted_clients": 0,
        "keyspace_hits": facts.counters.get_hits,
        "keyspace_misses": facts.counters.get_misses,
        "pubsub_channels": 0,
        "pubsub_patterns": 0,
        "latest_fork_usec": 0,
        "total_forks": 0,
        "total_error_replies": errors,
    }
}

fn replication(call: &mut Call<'_>, _: &Facts, text: &mut String) {
    lines! { text,
        "role": "master",
        "connected_slaves": 0,
        "master_failover_state": "no-failover",
        "master_replid": call.engine.common.run_id(),
        "master_replid2": "0".repeat(40),
        "master_repl_offset": 0,
        "second_repl_offset": -1,
        "repl_backlog_active": 0,
        "repl_backlog_size": 0,
        "repl_backlog_first_byte_offset": 0,
        "repl_backlog_histlen": 0,
    }
}

fn cpu(_: &mut Call<'_>, facts: &Facts, text: &mut String) {
    let seconds = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    lines! { text,
        "used_cpu_sys": seconds(facts.cpu_system),
        "used_cpu_user": seconds(facts.cpu_user),
        "used_cpu_sys_children": seconds(0),
        "used_cpu_user_children": seconds(0),
    }
}

fn command_stats(call: &mut Call<'_>, _: &Facts, text: &mut String) {
    let sums = call.engine.common.stats.sums();
    for (name, sum) in table::full_names().zip(sums) {
        if sum.calls + sum.rejected + sum.failed > 0 {
            let _ = write!(
                text,
                "cmdstat_{name}:calls={},usec={},usec_per_call={:.2},rejected_calls={},\
                 failed_calls={}\r\n",
                sum.calls,
                sum.micros(),
                sum.micros_per_call(),
                sum.rejected,
                sum.failed
            );
        }
    }
}

fn error_stats(call: &mut Call<'_>, _: &Facts, text: &mut String) {
    for (kind, count) in call.engine.common.stats.errors() {
        let _ = write!(text, "errorstat_{kind}:count={count}\r\n");
    }
}

fn keyspace(call: &mut Call<'_>, _: &Facts, text: &mut String) {
    for db in 0..DATABASES {
        let store = call.engine.local.store();
        let (keys, expiring) = (store.keys(db as u8), store.expiring(db as u8));
        if keys > 0 {
            let _ = write!(text, "db{db}:keys={keys},expires={expiring}\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_bytes() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.00K"),
            (1 << 20, "1.00M"),
            (3 << 29, "1.50G"),
            (u64::MAX, "16777216.00T"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }
}
