//! The `soft` body: WireKV's store and protocols over kernel sockets.
//!
//! One thread accepts connections and keeps the time, one makes the store's memory resident ahead of
//! its use, `-t` threads serve connections. A thread takes what
//! its event loop brings in groups: input of up to 16 connections is read and parsed, the store's
//! lines that the requests need are fetched at the same time, the requests are executed, each
//! connection's replies are written in one gathered write.

mod confine;
mod conn;
mod datagrams;
mod dialect;
mod io;
mod keys;
mod listen;
mod metrics;
mod options;
mod passwords;
mod shared;
mod stats;
mod time;
mod timing;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod worker;

use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{mpsc, Arc};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{anyhow, Context, Result};
use keys::Keys;
use listen::{Acceptor, Sockets, Spoken};
use mio::Waker;
pub use options::{Access, Options, Secure, Verify, PIECE};
use passwords::Passwords;
use shared::{Shared, FIRST_SECOND};
pub use time::Clock;
use time::Time;
use wirekv_memcache::watch;
pub use wirekv_proto::events::BUFFER as WATCH_BUFFER;
use wirekv_proto::{Events, Prefixes, Settings, MEMCACHED_VERSION};
use wirekv_resp::{Common, Engine};
use wirekv_store::{Config, Error as StoreError, Store};
use worker::{Inbox, Worker};

/// A running server.
pub struct Soft {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    redis: Vec<SocketAddr>,
    acceptor: Arc<Waker>,
    time: Arc<Time>,
    inboxes: Vec<Arc<Inbox>>,
    /// The first accepts.
    threads: Vec<JoinHandle<Result<()>>>,
}

/// A thread that ends before its time, be it in a panic, is the end of the server.
struct EndsServer(Arc<Shared>);

impl Drop for EndsServer {
    fn drop(&mut self) {
        if !self.0.stopping() {
            (self.0.on_shutdown)();
        }
    }
}

/// The store's clock, which begins at the call: no jump of the wall clock moves it. Its milliseconds
/// begin when the wall clock's do, or what a client counts from that would be up to two of them off.
pub fn clock() -> Clock {
    let (start, unix) = (Instant::now(), unix_time());
    let began = Duration::new(FIRST_SECOND.into(), unix.subsec_nanos() % 1_000_000);
    Box::new(move || (began + start.elapsed()).as_millis() as u64)
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Soft {
    /// Opens the sockets and starts the threads. `clock` is asked before each group of requests, and
    /// once a second; `on_shutdown` is called when a client sends `shutdown` or a thread fails, and should lead to `stop`.
    pub fn start(
        mut options: Options,
        clock: Clock,
        on_shutdown: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Soft> {
        let keys = Keys::read(&options)?;
        let mut sockets = Sockets::open(&options, &keys)?;
        // With the ports that the kernel chose, for `stats settings`.
        options.tcp = sockets.addresses(Spoken::Memcached, false);
        if let Some(secure) = &mut options.access.tls {
            secure.addresses = sockets.addresses(Spoken::Memcached, true);
        }
        let addresses = options.memcached().copied().collect();
        let mut redis = sockets.addresses(Spoken::Redis, false);
        redis.extend(sockets.addresses(Spoken::Redis, true));
        let began = clock();
        let unix = unix_time();
        let epoch_ms = (unix.as_millis() as u64).saturating_sub(began);
        let store = Store::new(Config {
            epoch: epoch_ms,
            file: options.file.clone(),
            item_max: options.item_max,
            mean_item: options.least_item + options::MEAN_OVER_LEAST,
            threads: options.threads,
            evict: options.evict,
            cas: options.cas,
            resident: options.resident,
            ..Config::new(options.memory)
        })
        .map_err(|e| {
            anyhow!(if matches!(e, StoreError::File(..)) {
                format!("-e {e}")
            } else {
                e.to_string()
            })
        })?;
        // With the items of another process its clock goes on, as if it had run meanwhile; never back.
        let ahead = store.resumed().map_or(0, |ended| {
            let gone = epoch_ms.saturating_sub(store.epoch_ms());
            gone.max(ended.saturating_sub(began))
        });
        let clock: Clock = Box::new(move || clock() + ahead);
        store.set_clock(clock());
        if let (Some(path), Some(why)) = (&options.file, store.begins_empty_for()) {
            eprintln!("wirekv: -e {}: {why}; it begins empty", path.display());
        }
        let epoch = unix.as_secs() as i64 - i64::from(store.now());
        let prefixes = Arc::new(match options.delimiter {
            Some(delimiter) => Prefixes::new(delimiter, true),
            None => Prefixes::default(),
        });
        let events = Arc::new(Events::new(options.watch_buffer));
        let passwords = Passwords::read(&options)?;
        let common = Common::new(&passwords.of_redis, options.protected, options.debug);
        let common = Arc::new(common.with_users(passwords.users.clone()));
        let settings = Arc::new(Settings {
            version: MEMCACHED_VERSION.into(),
            epoch,
            item_max: options.item_max,
            protocol: options.protocol,
            cas: options.cas,
            evict: options.evict,
            crawler: options.crawler,
            shutdown: options.shutdown,
            flush: options.flush,
            prefixes: prefixes.clone(),
            events: events.clone(),
            users: passwords.users.clone(),
            sasl: options.access.sasl,
            ..Settings::default()
        });
        let of_all = settings.clone();
        store.tell_evictions(Box::new(move |item, now| watch::evicted(&of_all, item, now)));
        let (metrics, resident) = (options.metrics, options.resident);
        let shared = Arc::new(Shared::new(
            options,
            store.clone(),
            common.clone(),
            (prefixes, events),
            (keys, passwords.users),
            (clock, epoch),
            on_shutdown,
        ));

        sockets.tell(&shared)?;

        let mut workers = Vec::new();
        let mut udp = std::mem::take(&mut sockets.udp);
        for number in 0..shared.options.threads {
            let engine = Engine::new(store.local(), settings.clone(), common.clone());
            workers.push(Worker::new(number, engine, shared.clone(), std::mem::take(&mut udp))?);
        }
        let inboxes: Vec<_> = workers.iter().map(Worker::inbox).collect();
        let _ = shared.inboxes.set(inboxes.clone());
        let time = Arc::new(Time { shared: shared.clone(), inboxes: inboxes.clone() });
        let acceptor =
            Acceptor::new(sockets, inboxes.clone(), shared.clone(), time.clone(), common)?;
        let waker = acceptor.waker();
        if let Some(address) = metrics {
            metrics::serve(address, shared.clone())?;
        }

        store.begin().context("-e")?;
        // Each thread drops its end when it has what it needs from the system.
        let (up, all_up) = mpsc::channel::<()>();
        let mut threads = Vec::new();
        let mut thread = |name: String, work: Box<dyn FnOnce() -> Result<()> + Send>| {
            let shared = shared.clone();
            let work = move || {
                let _ends_server = EndsServer(shared);
                work()
            };
            threads.push(Builder::new().name(name).spawn(work)?);
            anyhow::Ok(())
        };
        let accept_up = up.clone();
        thread("accept".into(), Box::new(|| acceptor.run(accept_up)))?;
        for (number, worker) in workers.into_iter().enumerate() {
            let up = up.clone();
            thread(format!("worker {number}"), Box::new(|| worker.run(up)))?;
        }
        drop(up);
        if !resident {
            // It may end when it likes.
            let populate = move || {
                store.populate();
                Ok(())
            };
            threads.push(Builder::new().name("populate".into()).spawn(populate)?);
        }
        // Nobody sends: this is the end of the last.
        let _ = all_up.recv();
        Ok(Soft { shared, addresses, redis, acceptor: waker, time, inboxes, threads })
    }

    /// The TCP addresses on which it listens to memcached's clients.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// And to those of Redis.
    pub fn redis_addresses(&self) -> &[SocketAddr] {
        &self.redis
    }

    /// Calls `line` with name and value of each of memcached's general statistics.
    pub fn stats(&self, mut line: impl FnMut(&str, &str)) {
        self.shared.general(None, &mut |name, value| line(name, &value.to_string()));
    }

    /// Reads certificates and passwords again. Connections that are there go on.
    pub fn renew(&self) -> Result<()> {
        self.shared.renew()
    }

    /// Asks the clock now; otherwise it is the next second's matter that a clock was set.
    pub fn tick(&self) {
        self.time.tick();
    }

    /// Leaves the process no system calls but those that serving takes, and, with `removes_files` or a
    /// UNIX domain socket, those that remove a file.
    pub fn confine(&self, removes_files: bool) -> Result<()> {
        let options = &self.shared.options;
        let unix = options.unix.is_some() || options.unix_redis.is_some();
        self.shared.confined.store(true, Relaxed);
        confine::confine(removes_files || unix, options.file.is_some())
    }

    /// Serves what clients have sent so far, within five seconds; ends all threads. With a file (`-e`), all items are in
    /// it then.
    pub fn stop(self) -> Result<()> {
        self.shared.stop();
        self.shared.store.end_populating();
        self.acceptor.wake()?;
        let mut threads = self.threads.into_iter();
        let join = |thread: JoinHandle<Result<()>>| {
            thread.join().map_err(|_| anyhow!("a thread panicked"))?
        };
        threads.next().map_or(Ok(()), join)?;
        self.shared.close();
        for inbox in &self.inboxes {
            inbox.waker.wake()?;
        }
        threads.try_for_each(join)?;
        self.shared.store.save().context("-e: the items are lost")?;
        Ok(())
    }
}
