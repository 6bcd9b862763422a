//! What all threads know together, and what `stats` says of it.

use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use slab::Slab;
use wirekv_protocol::{Counters, Protocol, Server};
use wirekv_store::Store;

use crate::conn::{Conn, Told};
use crate::options::Options;

/// What one thread counts. It alone writes the sums; anyone reads them.
#[derive(Default)]
#[repr(align(128))]
struct Thread {
    counters: Mutex<Counters>,
    /// The reset that `counters` begin after.
    resets: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

pub struct Shared {
    pub options: Options,
    pub version: String,
    pub store: Arc<Store>,
    /// UNIX time of the store clock's second 0.
    pub epoch: i64,
    threads: Vec<Thread>,
    resets: AtomicU64,
    stop: AtomicBool,
    /// Wakes whoever waits for the end.
    pub on_shutdown: Box<dyn Fn() + Send + Sync>,
    verbosity: AtomicU32,
    open: AtomicUsize,
    opened: AtomicU64,
    rejected: AtomicU64,
    kicked: AtomicU64,
    starved: Mutex<Option<Instant>>,
    starvations: AtomicU64,
    starved_us: AtomicU64,
    conns: Mutex<Slab<Arc<Told>>>,
    /// What had been counted at the last `stats reset`.
    base: Mutex<Counted>,
}

/// What `stats reset` sets back and which is not a thread's counter of requests.
#[derive(Clone, Default)]
struct Counted {
    store: wirekv_store::Stats,
    opened: u64,
    rejected: u64,
    kicked: u64,
    starvations: u64,
    starved_us: u64,
    read: u64,
    written: u64,
}

impl Shared {
    pub fn new(
        options: Options,
        version: String,
        store: Arc<Store>,
        epoch: i64,
        on_shutdown: Box<dyn Fn() + Send + Sync>,
    ) -> Shared {
        Shared {
            threads: (0..options.threads).map(|_| Thread::default()).collect(),
            verbosity: AtomicU32::new(options.verbosity),
            options,
            version,
            store,
            epoch,
            resets: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            on_shutdown,
            open: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            kicked: AtomicU64::new(0),
            starved: Mutex::default(),
            starvations: AtomicU64::new(0),
            starved_us: AtomicU64::new(0),
            conns: Mutex::default(),
            base: Mutex::default(),
        }
    }

    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Publishes a thread's counters, or begins them anew after a reset.
    pub fn exchange(&self, number: usize, counters: &mut Counters) {
        let thread = &self.threads[number];
        let resets = self.resets.load(Relaxed);
        if thread.resets.load(Relaxed) != resets {
            thread.resets.store(resets, Relaxed);
            *counters = Counters::default();
        }
        *thread.counters.lock().unwrap() = *counters;
    }

    pub fn bytes(&self, number: usize, read: usize, written: usize) {
        let add = |sum: &AtomicU64, n: usize| sum.store(sum.load(Relaxed) + n as u64, Relaxed);
        add(&self.threads[number].read, read);
        add(&self.threads[number].written, written);
    }

    /// A connection is accepted, if there may be one more.
    pub fn admit(&self) -> bool {
        if self.open.fetch_add(1, Relaxed) < self.options.max_conns {
            self.opened.fetch_add(1, Relaxed);
            return true;
        }
        self.open.fetch_sub(1, Relaxed);
        self.rejected.fetch_add(1, Relaxed);
        false
    }

    /// Whether connections wait that cannot be accepted now.
    pub fn starved(&self, now: bool) {
        let mut since = self.starved.lock().unwrap();
        match *since {
            None if now => {
                *since = Some(Instant::now());
                self.starvations.fetch_add(1, Relaxed);
            }
            Some(start) if !now => {
                *since = None;
                self.starved_us.fetch_add(start.elapsed().as_micros() as u64, Relaxed);
            }
            _ => {}
        }
    }

    /// Where `stats conns` finds a connection, until it is closed.
    pub fn tell(&self, told: Arc<Told>) -> usize {
        self.conns.lock().unwrap().insert(told)
    }

    pub fn closed(&self, conn: &Conn) {
        self.open.fetch_sub(1, Relaxed);
        self.conns.lock().unwrap().remove(conn.number);
    }

    pub fn idle_kick(&self) {
        self.kicked.fetch_add(1, Relaxed);
    }

    /// Counters of all threads; `own` in place of what thread `number` published.
    fn sum(&self, own: Option<(usize, &Counters)>) -> Counters {
        let mut sum = Counters::default();
        let resets = self.resets.load(Relaxed);
        for (n, thread) in self.threads.iter().enumerate() {
            match own {
                Some((number, counters)) if number == n => sum.add(counters),
                _ if thread.resets.load(Relaxed) == resets => {
                    sum.add(&thread.counters.lock().unwrap());
                }
                _ => {}
            }
        }
        sum
    }

    fn counted(&self) -> Counted {
        Counted {
            store: self.store.stats(),
            opened: self.opened.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            kicked: self.kicked.load(Relaxed),
            starvations: self.starvations.load(Relaxed),
            starved_us: self.starved_us.load(Relaxed),
            read: self.threads.iter().map(|t| t.read.load(Relaxed)).sum(),
            written: self.threads.iter().map(|t| t.written.load(Relaxed)).sum(),
        }
    }

    /// What counts since the last `stats reset`.
    fn recent(&self) -> Counted {
        let base = self.base.lock().unwrap();
        let mut now = self.counted();
        now.opened -= base.opened;
        now.rejected -= base.rejected;
        now.kicked -= base.kicked;
        now.starvations -= base.starvations;
        now.starved_us -= base.starved_us;
        now.read -= base.read;
        now.written -= base.written;
        now.store.total_items -= base.store.total_items;
        now.store.expired_unfetched -= base.store.expired_unfetched;
        now.store.evicted_unfetched -= base.store.evicted_unfetched;
        now.store.evictions -= base.store.evictions;
        now.store.reclaimed -= base.store.reclaimed;
        now.store.full -= base.store.full;
        now
    }

    /// `stats`: names and values in memcached's order, as far as they mean something here.
    pub fn general(
        &self,
        own: Option<(usize, &Counters)>,
        line: &mut dyn FnMut(&str, &dyn Display),
    ) {
        let o = &self.options;
        let recent = self.recent();
        let store = &recent.store;
        let now = self.store.now();
        let usage = usage();
        line("pid", &std::process::id());
        line("uptime", &(now.saturating_sub(FIRST_SECOND)));
        line("time", &(self.epoch + i64::from(now)));
        line("version", &self.version);
        line("pointer_size", &usize::BITS);
        line("rusage_user", &format_args!("{}.{:06}", usage.0 / 1_000_000, usage.0 % 1_000_000));
        line("rusage_system", &format_args!("{}.{:06}", usage.1 / 1_000_000, usage.1 % 1_000_000));
        line("max_connections", &o.max_conns);
        line("curr_connections", &self.open.load(Relaxed));
        line("total_connections", &recent.opened);
        line("rejected_connections", &recent.rejected);
        line("connection_structures", &self.open.load(Relaxed));
        line("reserved_fds", &(o.files() - o.max_conns as u64));
        for (name, value) in self.sum(own).each() {
            line(name, &value);
        }
        line("auth_cmds", &0);
        line("auth_errors", &0);
        line("idle_kicks", &recent.kicked);
        line("bytes_read", &recent.read);
        line("bytes_written", &recent.written);
        line("limit_maxbytes", &o.memory);
        let accepting = !self.stopping() && self.starved.lock().unwrap().is_none();
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
        // What memcached has no names for.
        line("log_bytes", &store.log_bytes);
        line("log_relocations", &store.relocations);
        line("ghost_hits", &store.ghost_hits);
        line("index_moves", &store.index_moves);
        line("index_evictions", &store.index_evictions);
    }

    fn settings(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        let o = &self.options;
        let yes = |on: bool| if on { "yes" } else { "no" };
        let port = |list: &[std::net::SocketAddr]| list.first().map_or(0, |a| a.port());
        line("maxbytes", &o.memory);
        line("maxconns", &o.max_conns);
        line("tcpport", &port(&o.tcp));
        line("udpport", &port(&o.udp));
        match o.tcp.first() {
            Some(address) => line("inter", &address.ip()),
            None => line("inter", &"NULL"),
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
        line("chunk_size", &o.mean_item);
        line("num_threads", &o.threads);
        // The first thread serves all UDP sockets.
        line("num_threads_per_udp", &1);
        line("stat_key_prefix", &":");
        line("detail_enabled", &"no");
        line("cas_enabled", &yes(o.cas));
        line("tcp_backlog", &o.backlog);
        let protocol = match o.protocol {
            Protocol::Auto => "auto-negotiate",
            Protocol::Ascii => "ascii",
            Protocol::Binary => "binary",
        };
        line("binding_protocol", &protocol);
        line("auth_enabled_sasl", &"no");
        line("auth_enabled_ascii", &"no");
        line("item_size_max", &o.item_max);
        line("maxconns_fast", &"yes");
        let store = self.store.stats();
        line("hashpower_init", &store.ways.max(1).ilog2());
        line("hash_algorithm", &"nh");
        line("slab_chunk_max", &store.chunk);
        line("flush_enabled", &yes(o.flush));
        line("idle_timeout", &o.idle_timeout.unwrap_or(0));
        line("reqs_per_event", &o.batch);
        line("client_flags_size", &4);
        // What monitoring looks for, and what this server does not have.
        for name in OFF {
            line(name, &"no");
        }
        for name in NOT_SET {
            line(name, &"(null)");
        }
    }

    /// All items are of one class: the log knows no others.
    fn items(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        let s = self.recent().store;
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
    fn slabs(&self, own: (usize, &Counters), line: &mut dyn FnMut(&str, &dyn Display)) {
        let s = self.store.stats();
        line("1:chunk_size", &s.chunk);
        line("1:chunks_per_page", &1);
        line("1:total_pages", &s.chunks);
        line("1:total_chunks", &s.chunks);
        line("1:used_chunks", &(s.chunks - s.chunks_free));
        line("1:free_chunks", &s.chunks_free);
        line("1:free_chunks_end", &0);
        for (name, value) in self.sum(Some(own)).each() {
            if OF_A_SLAB.contains(&name) {
                line(&format!("1:{name}"), &value);
            }
        }
        line("active_slabs", &1);
        line("total_malloced", &s.log_bytes);
    }

    fn list_conns(&self, line: &mut dyn FnMut(&str, &dyn Display)) {
        let now = self.store.now();
        for (n, told) in self.conns.lock().unwrap().iter() {
            let silent = now.saturating_sub(told.last.load(Relaxed));
            line(&format!("{n}:addr"), &told.peer);
            line(&format!("{n}:listen_addr"), &told.listener);
            line(&format!("{n}:state"), &"conn_read");
            line(&format!("{n}:secs_since_last_cmd"), &silent);
        }
    }
}

/// Settings of memcached that are off here for good.
const OFF: &[&str] = &[
    "dump_enabled",
    "inline_ascii_response",
    "lru_crawler",
    "lru_maintainer_thread",
    "lru_segmented",
    "proxy_enabled",
    "proxy_uring_enabled",
    "slab_reassign",
    "ssl_enabled",
    "ssl_kernel_tls",
    "ssl_session_cache",
    "temp_lru",
    "track_sizes",
];
/// Settings of memcached that name a file or number that is not set.
const NOT_SET: &[&str] = &["memory_file", "num_napi_ids", "ssl_chain_cert", "ssl_key"];

/// Counters that memcached has for each slab class.
const OF_A_SLAB: &[&str] = &[
    "get_hits",
    "cmd_set",
    "delete_hits",
    "incr_hits",
    "decr_hits",
    "cas_hits",
    "cas_badval",
    "touch_hits",
];

/// The store's clock begins here, as memcached's: no time that a client gives is in the past then.
pub const FIRST_SECOND: u32 = 2;

/// CPU time of this process, user and system, in microseconds.
fn usage() -> (i64, i64) {
    // SAFETY: the call fills the structure it is given.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let micros = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
    (micros(usage.ru_utime), micros(usage.ru_stime))
}

/// The engines' way to what the server knows.
pub struct Answers<'a> {
    pub shared: &'a Shared,
    pub number: usize,
}

impl Server for Answers<'_> {
    fn stats(&mut self, args: &[u8], own: &Counters, line: &mut dyn FnMut(&[u8], &[u8])) -> bool {
        let mut text = |name: &str, value: &dyn Display| {
            line(name.as_bytes(), value.to_string().as_bytes());
        };
        match args {
            b"" => self.shared.general(Some((self.number, own)), &mut text),
            b"settings" => self.shared.settings(&mut text),
            b"items" => self.shared.items(&mut text),
            b"slabs" => self.shared.slabs((self.number, own), &mut text),
            b"sizes" => text("sizes_status", &"disabled"),
            b"conns" => self.shared.list_conns(&mut text),
            _ => return false,
        }
        true
    }

    fn reset(&mut self) {
        let resets = self.shared.resets.fetch_add(1, Relaxed) + 1;
        self.shared.threads[self.number].resets.store(resets, Relaxed);
        *self.shared.base.lock().unwrap() = self.shared.counted();
    }

    fn verbosity(&mut self, level: u32) {
        self.shared.verbosity.store(level, Relaxed);
    }

    /// The memory is one mapping from the start on, and keeps its size.
    fn memory(&mut self, megabytes: u32) -> bool {
        megabytes as usize == self.shared.options.memory >> 20
    }

    fn shutdown(&mut self, _graceful: bool) {
        (self.shared.on_shutdown)();
    }
}
