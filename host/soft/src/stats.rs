//! What `stats` says.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use crate::options::{Secure, PIECE};
use wirekv_log::warn;
use wirekv_memcache::lines::{NOT_SET, OFF, OF_A_SLAB};
use wirekv_metrics::Usage;
use wirekv_proto::events::{Refused, Watching};
use wirekv_proto::{Counters, Protocol, Server, Told, MEMCACHED_VERSION};
use wirekv_resp::{Facts, Shown};

use crate::shared::{Counted, Shared, FIRST_SECOND};

impl Shared {
    /// `stats`: names and values in memcached's order, as far as they mean something here.
    pub fn general(
        &self,
        own: Option<(usize, &Counters)>,
        line: &mut dyn FnMut(&str, &dyn Display),
    ) {
        self.general_of(&self.recent(), self.sum(own), line);
    }

    /// The same, of what was counted since whenever.
    pub fn general_of(
        &self,
        recent: &Counted,
        counters: Counters,
        line: &mut dyn FnMut(&str, &dyn Display),
    ) {
        let o = &self.options;
        let store = &recent.store;
        let now = self.store.now();
        let usage = Usage::now();
        line("pid", &std::process::id());
        line("uptime", &(now.saturating_sub(FIRST_SECOND)));
        line("time", &(self.epoch + i64::from(now)));
        line("version", &MEMCACHED_VERSION);
        line("pointer_size", &usize::BITS);
        line("rusage_user", &format_args!("{:.6}", usage.user.as_secs_f64()));
        line("rusage_system", &format_args!("{:.6}", usage.system.as_secs_f64()));
        line("max_connections", &o.max_conns);
        line("curr_connections", &self.open.load(Relaxed));
        line("total_connections", &recent.opened);
        line("rejected_connections", &recent.rejected);
        line("connection_structures", &self.open.load(Relaxed));
        line("reserved_fds", &(o.files() - o.max_conns as u64));
        for (name, value) in counters.each() {
            line(name, &value);
        }
        line("auth_cmds", &recent.logins.0);
        line("auth_errors", &recent.logins.1);
        line("idle_kicks", &recent.kicked);
        if !self.keys.is_empty() {
            let any = |secure: &Option<Secure>| secure.as_ref().is_some_and(|s| s.sessions);
            if any(&o.access.tls) || any(&o.access.redis_tls) {
                line("ssl_new_sessions", &recent.tls.sessions);
            }
            line("ssl_handshake_errors", &recent.tls.handshake_errors);
            line("ssl_handshake_timeouts", &recent.tls.handshake_timeouts);
            line("ssl_proto_errors", &recent.tls.protocol_errors);
            line("time_since_server_cert_refresh", &self.keys.age());
        }
        line("bytes_read", &recent.read);
        line("bytes_written", &recent.written);
        line("limit_maxbytes", &o.memory);
        let accepting = !self.stopping() && self.starved.lock().unwrap().is_none();
        let (watchers, sent, skipped) = self.events.counts();
        line("accepting_conns", &u8::from(accepting));
        line("listen_disabled_num", &recent.starvations);
        line("time_in_listen_disabled_us", &recent.starved_us);
        line("threads", &o.threads);
        line("hash_power_level", &store.ways.max(1).ilog2());
        line("hash_bytes", &store.index_bytes);
        line("hash_is_expanding", &0);
        line("bytes", &store.bytes);
        line("curr_items", &store.items);
        line("total_items", &store.total_items);
        line("expired_unfetched", &store.expired_unfetched);
        line("evicted_unfetched", &store.evicted_unfetched);
        line("evictions", &store.evictions);
        line("reclaimed", &store.reclaimed);
        line("log_watcher_skipped", &skipped);
        line("log_watcher_sent", &sent);
        line("log_watchers", &watchers);
        // What memcached has no names for.
        line("log_bytes", &store.log_bytes);
        line("log_relocations", &store.relocations);
        line("ghost_hits", &store.ghost_hits);
        line("index_moves", &store.index_moves);
        line("index_evictions", &store.index_evictions);
        line("unread_kicks", &recent.overflown);
        line("udp_ignored", &recent.withheld.ignored);
        line("udp_errors_limited", &recent.withheld.limited);
        line("not_allowed", &recent.strangers);
        line("udp_not_allowed", &recent.withheld.strangers);
        line("udp_errors_to_services", &recent.withheld.services);
    }

    fn settings(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        let o = &self.options;
        let yes = |on: bool| if on { "yes" } else { "no" };
        let port = |list: &[std::net::SocketAddr]| list.first().map_or(0, |a| a.port());
        line("maxbytes", &o.memory);
        line("maxconns", &o.max_conns);
        let first = o.memcached().next();
        line("tcpport", &first.map_or(0, |a| a.port()));
        line("udpport", &port(&o.udp));
        match first {
            Some(address) => line("inter", &address.ip()),
            None => line("inter", &"NULL"),
        }
        match &o.file {
            Some(path) => line("memory_file", &path.display()),
            None => line("memory_file", &"(null)"),
        }
        line("verbosity", &self.verbosity.load(Relaxed));
        line("oldest", &0);
        line("evictions", &if o.evict { "on" } else { "off" });
        match &o.unix {
            Some((path, mode)) => {
                line("domain_socket", &path.display());
                line("umask", &format_args!("{mode:o}"));
            }
            None => {
                line("domain_socket", &"NULL");
                line("umask", &700);
            }
        }
        line("shutdown_command", &yes(o.shutdown));
        line("growth_factor", &"1.25");
        line("chunk_size", &o.least_item);
        line("num_threads", &o.threads);
        // The first thread serves all UDP sockets.
        line("num_threads_per_udp", &1);
        line("stat_key_prefix", &self.prefixes.delimiter());
        line("detail_enabled", &yes(self.prefixes.is_on()));
        line("cas_enabled", &yes(o.cas));
        line("tcp_backlog", &o.backlog);
        let protocol = match o.protocol {
            Protocol::Auto => "auto-negotiate",
            Protocol::Ascii => "ascii",
            Protocol::Binary => "binary",
        };
        line("binding_protocol", &protocol);
        line("auth_enabled_sasl", &yes(o.access.sasl));
        match &o.access.users {
            Some(file) => line("auth_enabled_ascii", &file.display()),
            None => line("auth_enabled_ascii", &"no"),
        }
        line("item_size_max", &o.item_max);
        line("maxconns_fast", &"yes");
        let store = self.store.stats();
        line("hashpower_init", &store.ways.max(1).ilog2());
        line("hash_algorithm", &"nh");
        line("slab_chunk_max", &store.chunk);
        line("flush_enabled", &yes(o.flush));
        line("idle_timeout", &o.idle_timeout.unwrap_or(0));
        line("watcher_logbuf_size", &self.events.size());
        line("reqs_per_event", &o.batch);
        line("client_flags_size", &4);
        let file = |path: Option<&PathBuf>, none: &str| {
            path.map_or_else(|| none.into(), |path| path.display().to_string())
        };
        let tls = o.access.tls.as_ref();
        line("ssl_enabled", &yes(tls.is_some()));
        line("ssl_chain_cert", &file(tls.map(|tls| &tls.chain), "(null)"));
        line("ssl_key", &file(tls.and_then(|tls| tls.key.as_ref()), "(null)"));
        line("ssl_verify_mode", &tls.map_or(0, |tls| tls.verify as u8));
        line("ssl_keyformat", &1);
        line("ssl_ciphers", &"NULL");
        line("ssl_ca_cert", &file(tls.and_then(|tls| tls.authorities.as_ref()), "NULL"));
        line("ssl_wbuf_size", &tls.map_or(PIECE, |tls| tls.piece));
        line("ssl_session_cache", &yes(tls.is_some_and(|tls| tls.sessions)));
        let only_13 = tls.is_some_and(|tls| tls.only_13);
        line("ssl_min_version", &if only_13 { "tlsv1.3" } else { "tlsv1.2" });
        // What monitoring looks for, and what this server does not have.
        for name in OFF {
            line(name, &"no");
        }
        for name in NOT_SET {
            line(name, &"(null)");
        }
    }

    /// What Redis' clients can ask for.
    fn facts(&self, own: (usize, &Counters)) -> Facts {
        let o = &self.options;
        let recent = self.recent();
        let usage = Usage::now();
        let bind = o.redis.iter().map(|address| address.ip().to_string());
        let socket = o.unix_redis.as_ref().map(|(path, _)| path.display().to_string());
        Facts {
            port: o.redis.first().map_or(0, |address| address.port()),
            bind: bind.collect::<Vec<_>>().join(" "),
            unix_socket: socket.unwrap_or_default(),
            threads: o.threads,
            backlog: o.backlog,
            max_conns: o.max_conns,
            idle_timeout: o.idle_timeout.unwrap_or(0),
            memory: o.memory,
            item_max: o.item_max,
            knows_peers: true,
            open: self.open.load(Relaxed),
            opened: recent.opened,
            rejected: recent.rejected,
            read: recent.read,
            written: recent.written,
            cpu_user: usage.user.as_micros() as u64,
            cpu_system: usage.system.as_micros() as u64,
            // It gives nothing back.
            resident: usage.resident,
            counters: self.sum(Some(own)),
            evicts: o.evict,
            debug: o.debug,
            evictions: recent.store.evictions,
            reclaimed: recent.store.reclaimed,
        }
    }

    /// All items are of one class: the log knows no others.
    pub fn items(&self, s: &wirekv_store::Stats, line: &mut dyn FnMut(&str, &dyn Display)) {
        if s.items == 0 {
            return;
        }
        line("items:1:number", &s.items);
        line("items:1:mem_requested", &s.bytes);
        line("items:1:evicted", &s.evictions);
        line("items:1:evicted_unfetched", &s.evicted_unfetched);
        line("items:1:expired_unfetched", &s.expired_unfetched);
        line("items:1:reclaimed", &s.reclaimed);
        line("items:1:outofmemory", &s.full);
    }

    /// One class, of the log's chunks; a page is a chunk.
    pub fn slabs(&self, counters: Counters, line: &mut dyn FnMut(&str, &dyn Display)) {
        let s = self.store.stats();
        line("1:chunk_size", &s.chunk);
        line("1:chunks_per_page", &1);
        line("1:total_pages", &s.chunks);
        line("1:total_chunks", &s.chunks);
        line("1:used_chunks", &(s.chunks - s.chunks_free));
        line("1:free_chunks", &s.chunks_free);
        line("1:free_chunks_end", &0);
        for (name, value) in counters.each() {
            if OF_A_SLAB.contains(&name) {
                line(&format!("1:{name}"), &value);
            }
        }
        line("active_slabs", &1);
        line("total_malloced", &s.log_bytes);
    }

    /// Those from a number on, some of them: there may be very many.
    fn list_conns(&self, from: u64, line: &mut dyn FnMut(&str, &dyn Display)) -> Told {
        let now = self.store.now();
        let conns = self.conns.lock().unwrap();
        let (from, to) = (from as usize, from as usize + CONNS_TOLD);
        for (n, told) in (from..to).filter_map(|n| Some((n, conns.get(n)?))) {
            let silent = now.saturating_sub(told.last.load(Relaxed));
            if told.peer.starts_with("udp:") {
                line(&format!("{n}:UDP"), &"UDP");
            }
            line(&format!("{n}:addr"), &told.peer);
            if !told.listener.is_empty() {
                line(&format!("{n}:listen_addr"), &told.listener);
            }
            line(&format!("{n}:state"), &told.state());
            line(&format!("{n}:secs_since_last_cmd"), &silent);
        }
        if to < conns.capacity() {
            return Told::Part(to as u64);
        }
        Told::All
    }
}

/// Connections that `stats conns` tells of at a time.
const CONNS_TOLD: usize = 64;

/// The engines' way to what the server knows.
pub struct Answers<'a> {
    pub shared: &'a Shared,
    pub number: usize,
    /// The connection's; datagrams have none.
    pub watching: Option<&'a mut Option<Watching>>,
}

impl Server for Answers<'_> {
    fn stats(
        &mut self,
        args: &[u8],
        from: u64,
        own: &Counters,
        line: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Told {
        let mut text = |name: &str, value: &dyn Display| {
            line(name.as_bytes(), value.to_string().as_bytes());
        };
        match args {
            b"" => self.shared.general(Some((self.number, own)), &mut text),
            b"settings" => self.shared.settings(&mut text),
            b"items" => self.shared.items(&self.shared.recent().store, &mut text),
            b"slabs" => self.shared.slabs(self.shared.sum(Some((self.number, own))), &mut text),
            b"sizes" => text("sizes_status", &"disabled"),
            b"conns" => return self.shared.list_conns(from, &mut text),
            _ => return Told::Nothing,
        }
        Told::All
    }

    fn reset(&mut self, own: &mut Counters) {
        self.shared.reset(self.number, own);
    }

    fn refresh_certs(&mut self) -> Option<bool> {
        if self.shared.keys.is_empty() {
            return None;
        }
        let renewed = self.shared.renew_certificates();
        if let Err(e) = &renewed {
            warn!("refresh_certs: {e:#}");
        }
        Some(renewed.is_ok())
    }

    fn watch(&mut self, kinds: u32) -> Result<(), Refused> {
        let watching = self.watching.as_deref_mut().ok_or(Refused::Forbidden)?;
        *watching = Some(self.shared.events.watch(kinds)?);
        Ok(())
    }

    fn unwatch(&mut self) {
        if let Some(watching) = self.watching.as_deref_mut() {
            *watching = None;
        }
    }

    fn verbosity(&mut self, level: u32) {
        self.shared.verbosity.store(level, Relaxed);
        wirekv_log::set_verbosity(level);
    }

    /// The memory is one mapping from the start on, and keeps its size.
    fn memory(&mut self, megabytes: u32) -> bool {
        megabytes as usize == self.shared.options.memory >> 20
    }

    fn shutdown(&mut self, _graceful: bool) {
        (self.shared.on_shutdown)();
    }
}

impl wirekv_resp::Server for Answers<'_> {
    fn connections(&mut self) -> Vec<Arc<Shown>> {
        let conns = self.shared.conns.lock().unwrap();
        conns.iter().filter_map(|(_, told)| told.redis.clone()).collect()
    }

    fn wake(&mut self) {
        self.shared.killed();
    }

    fn facts(&mut self, own: &Counters) -> Facts {
        self.shared.facts((self.number, own))
    }
}
