//! The `soft` body: WireKV's store and protocols over kernel sockets.
//!
//! One thread accepts connections and keeps the time, `-t` threads serve them. A thread takes what
//! its event loop brings in groups: input of up to 16 connections is read and parsed, the store's
//! lines that the requests need are fetched at the same time, the requests are executed, each
//! connection's replies are written in one gathered write.

mod conn;
mod datagrams;
mod io;
mod listen;
mod metrics;
mod options;
mod stats;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use mio::Waker;
use wirekv_protocol::{Engine, Settings};
use wirekv_store::{Config, Store};

use listen::{Acceptor, Sockets};
pub use options::Options;
use stats::{Shared, FIRST_SECOND};
use worker::{Inbox, Worker};

/// The memcached whose protocols these are.
pub const VERSION: &str = "1.6.38";

/// A running server.
pub struct Soft {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    acceptor: Arc<Waker>,
    inboxes: Vec<Arc<Inbox>>,
    threads: Vec<JoinHandle<Result<()>>>,
}

/// Seconds on the store's clock, which begins at the call: no jump of the wall clock moves it.
pub fn clock() -> Box<dyn Fn() -> u32 + Send> {
    let start = Instant::now();
    Box::new(move || FIRST_SECOND + start.elapsed().as_secs() as u32)
}

impl Soft {
    /// Opens the sockets and starts the threads. `clock` is asked once a second; `on_shutdown` is
    /// called when a client sends `shutdown`, and should lead to `stop`.
    pub fn start(
        options: Options,
        clock: Box<dyn Fn() -> u32 + Send>,
        on_shutdown: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Soft> {
        let mut sockets = Sockets::open(&options)?;
        let addresses = sockets.addresses();
        let store = Store::new(Config {
            item_max: options.item_max,
            mean_item: options.mean_item,
            threads: options.threads,
            evict: options.evict,
            cas: options.cas,
            ..Config::new(options.memory)
        })?;
        store.set_now(clock());
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = unix.as_secs() as i64 - i64::from(store.now());
        let settings = Arc::new(Settings {
            version: VERSION.into(),
            epoch,
            item_max: options.item_max,
            protocol: options.protocol,
            cas: options.cas,
            shutdown: options.shutdown,
            flush: options.flush,
            ..Settings::default()
        });
        let metrics = options.metrics;
        let shared =
            Arc::new(Shared::new(options, VERSION.into(), store.clone(), epoch, on_shutdown));

        let mut workers = Vec::new();
        let mut udp = std::mem::take(&mut sockets.udp);
        for number in 0..shared.options.threads {
            let engine = Engine::new(store.local(), settings.clone());
            workers.push(Worker::new(number, engine, shared.clone(), std::mem::take(&mut udp))?);
        }
        let inboxes: Vec<_> = workers.iter().map(Worker::inbox).collect();
        let acceptor = Acceptor::new(sockets, inboxes.clone(), shared.clone(), clock)?;
        let waker = acceptor.waker();
        if let Some(address) = metrics {
            metrics::serve(address, shared.clone())?;
        }

        let mut threads = Vec::new();
        for worker in workers {
            let name = format!("worker {}", threads.len());
            threads.push(Builder::new().name(name).spawn(|| worker.run())?);
        }
        threads.push(Builder::new().name("accept".into()).spawn(|| acceptor.run())?);
        Ok(Soft { shared, addresses, acceptor: waker, inboxes, threads })
    }

    /// The TCP addresses that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Calls `line` with name and value of each of memcached's general statistics.
    pub fn stats(&self, mut line: impl FnMut(&str, &str)) {
        self.shared.general(None, &mut |name, value| line(name, &value.to_string()));
    }

    /// Ends all threads; connections are closed.
    pub fn stop(self) -> Result<()> {
        self.shared.stop();
        self.acceptor.wake()?;
        for inbox in &self.inboxes {
            inbox.waker.wake()?;
        }
        for thread in self.threads {
            thread.join().expect("no thread panics").context("a thread failed")?;
        }
        Ok(())
    }
}
